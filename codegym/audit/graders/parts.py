"""Parts of packages that need more than an audit does, and tests as several graders take them."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from codegym.audit.entry import Entry
from codegym.core import Raises

__all__ = ["as_texts", "load_part"]


def load_part(package: str, path: str) -> ModuleType:
    """Import one module or package out of a package, without the package itself.

    Args:
        package: The top-level package.
        path: Where it is in there: a file, or a folder.

    Raises:
        ImportError: The package is not installed, or has no such part.
    """
    name = f"codegym_audited_{package}"
    if name in sys.modules:
        return sys.modules[name]
    top = importlib.util.find_spec(package)
    if top is None or not top.submodule_search_locations:
        raise ImportError(f"no module named {package!r}")
    place = Path(next(iter(top.submodule_search_locations)), path)
    file, folders = (place / "__init__.py", [str(place)]) if place.is_dir() else (place, None)
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=folders)
    if spec is None or spec.loader is None or not file.is_file():
        raise ImportError(f"{package!r} has no {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def as_texts(entry: Entry) -> tuple[list[str], list[str], str | None] | str:
    """Inputs and outputs as the graders of APPS and LiveCodeBench take them: text, or JSON for calls.

    Returns:
        Inputs, outputs, and the function's name where there is one; or why the tests cannot be put so.
    """
    task = entry.task()
    if entry.style not in ("call", "stdio"):
        return "it calls functions and runs scripts only"
    if entry.style == "stdio":
        return [test.stdin for test in task.tests], [test.expected for test in task.tests], None
    if task.entry_point != "f" or (task.compare and task.compare.rule == "judge"):
        return "it has no such comparison"
    if any(
        test.kwargs or test.answer != "return" or isinstance(test.expected, Raises) for test in task.tests
    ):
        return "it has no such tests"
    try:
        inputs = ["\n".join(as_json(value) for value in test.args) for test in task.tests]
        return inputs, [as_json(test.expected) for test in task.tests], "f"
    except (TypeError, ValueError):
        return "its tests are JSON"


def as_json(value: Any) -> str:
    """A value as JSON that reads back as the same value."""
    text = json.dumps(value, allow_nan=False)
    if json.loads(text) != value:
        raise ValueError("not the same in JSON")
    return text
