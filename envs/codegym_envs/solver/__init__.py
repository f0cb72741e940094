"""Writing code: see `codegym_envs.solver.env`."""
