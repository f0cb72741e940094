"""What comes with codegym, registered through the same hooks as a stranger's plugins."""

from __future__ import annotations

from codegym.hookspecs import Register, hookimpl

__all__: list[str] = []

DATASETS = {
    "acecode": "functions:load_acecode",
    "apps": "taco:load_apps",
    "bigcodebench": "bigcodebench:load",
    "bigcodebench-instruct": "bigcodebench:load_instruct",
    "codecontests": "codecontests:load",
    "cruxeval-i": "cruxeval:load_input",
    "cruxeval-o": "cruxeval:load_output",
    "humaneval": "humaneval:load",
    "humaneval+": "evalplus:load_humaneval_plus",
    "jsonl": "row:load",
    "kodcode": "functions:load_kodcode",
    "listfuncs": "listfuncs:load",
    "livecodebench": "livecodebench:load",
    "mbpp": "functions:load_mbpp",
    "mbpp+": "evalplus:load_mbpp_plus",
    "taco": "taco:load_taco",
    "tarot": "tarot:load",
    "ult": "functions:load_ult",
}
"""By name: the module and the function."""
OPERATORS = {
    "arithmetic": "Arithmetic",
    "boundary": "Boundary",
    "break_continue": "BreakContinue",
    "conditional": "Conditional",
    "constant": "Constant",
    "logical": "Logical",
    "method_pair": "MethodPair",
    "negation": "Negation",
    "relational": "Relational",
    "return_none": "ReturnNone",
    "slice_bound": "SliceBound",
    "statement_deletion": "StatementDeletion",
    "text": "Text",
}
"""By name: the class."""


SUITE_REWARDS = {
    "assertion_quality": ("assertion_quality", 0.0),
    "cgft": ("CgftReward", 0.0),
    "counterexample": ("counterexample", 0.0),
    "coverage_delta": ("coverage_delta", 0.0),
    "cure": ("cure", -1.0),
    "discrimination": ("discrimination", 0.0),
    "incremental_mutation": ("incremental_mutation", 0.0),
    "mutation_score": ("mutation_score", 0.0),
    "soundness": ("soundness", 0.0),
    "utrl": ("utrl", 0.0),
    "validity": ("validity", 0.0),
}
"""By name: the function or class, and the least value."""


@hookimpl
def codegym_register_sandboxes(register: Register) -> None:
    """Add the sandboxes that need nothing but this machine, or a service."""
    register("http", "codegym.sandbox.http:HttpSandbox")
    register("local", "codegym.sandbox.local:LocalSandbox")
    register("subprocess", "codegym.sandbox.local:SubprocessSandbox")


@hookimpl
def codegym_register_tasks(register: Register) -> None:
    """Add the datasets."""
    for name, target in DATASETS.items():
        register(name, f"codegym.datasets.{target}")


@hookimpl
def codegym_register_generators(register: Register) -> None:
    """Add the generator that needs nothing but a server."""
    register("openai", "codegym.generation.openai:OpenAIGenerator")


@hookimpl
def codegym_register_operators(register: Register) -> None:
    """Add the mutation operators."""
    for name, kind in OPERATORS.items():
        register(name, f"codegym.mutation.operators:{kind}")


@hookimpl
def codegym_register_rewards(register: Register) -> None:
    """Add the rewards."""
    register("all_passed", "codegym.rewards:all_passed", weight=1.0, range=(0.0, 1.0))
    register("fraction_passed", "codegym.rewards:fraction_passed", weight=1.0, range=(0.0, 1.0))
    register("format", "codegym.rewards:Format", weight=1.0, range=(0.0, 1.0))
    register("length", "codegym.rewards:Length", weight=1.0, range=(-1.0, 0.0))
    register("parses", "codegym.rewards:parses", weight=1.0, range=(0.0, 1.0))
    register("tiers", "codegym.rewards:TierReward", weight=1.0)
    for name, (target, least) in SUITE_REWARDS.items():
        register(name, f"codegym.selfplay.suite_rewards:{target}", weight=1.0, range=(least, 1.0))
    register("redundancy", "codegym.selfplay.suite_rewards:Redundancy", weight=1.0, range=(-1.0, 0.0))


@hookimpl
def codegym_register_curricula(register: Register) -> None:
    """Add the curricula: the portfolio of TAROT, and those of a digest of it."""
    for policy in (
        "avg_reward",
        "basic_only",
        "bi_weighted",
        "ce_weighted",
        "ce_weighted_reverse",
        "complex_only",
        "edge_only",
        "uniform_forward",
    ):
        register(policy, "codegym.curricula:tarot_policy", policy=policy)
    register("digest_capability", "codegym.curricula:CapabilityCurriculum")
    register("digest_decay", "codegym.curricula:DecayCurriculum")
    register("digest_transition", "codegym.curricula:TransitionCurriculum")
