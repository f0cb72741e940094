"""Writing tests: see `codegym_envs.verifier.env`."""
