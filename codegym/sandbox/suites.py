"""Test code that defines tests instead of running them: functions, unittest's cases, what needs pytest.

Runs inside the sandbox: standard library only, and pytest where test code asks for it.
"""

from __future__ import annotations

import builtins
import linecache
import os
import sys
import types
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["NoTestsError", "run_defined"]

NOT_PLAIN: Final = 0x20 | 0x80 | 0x200
"""Code flags of generators, coroutines and asynchronous generators."""


class NoTestsError(Exception):
    """Test code that was to be run by pytest defines no test that pytest finds."""


def run_defined(module: types.ModuleType, names: Mapping[str, Any]) -> None:
    """Run the tests that a module defines, up to the first that fails.

    Test functions without arguments are called; unittest's cases are run by unittest; and whatever needs
    more, as fixtures, parameters, marks or coroutines do, is run by pytest.

    Args:
        module: Test code, executed.
        names: What it finds defined when pytest executes it again.

    Raises:
        BaseException: What the first test raised that did not pass.
    """
    own = [value for value in vars(module).values() if getattr(value, "__module__", None) == module.__name__]
    functions = [f for f in own if isinstance(f, types.FunctionType) and f.__name__.startswith("test")]
    classes = [kind for kind in own if isinstance(kind, type)]
    cases = [kind for kind in classes if is_unittest(kind)]
    if any(kind.__name__.startswith("Test") and kind not in cases for kind in classes) or not all(
        map(is_simple, functions)
    ):
        run_pytest(module, names)
        return
    for function in functions:
        function()
    for case in cases:
        run_unittest(case)


def is_unittest(kind: type) -> bool:
    """Whether a class is one of unittest's; without importing unittest for it."""
    return "unittest" in sys.modules and issubclass(kind, sys.modules["unittest"].TestCase)


def is_simple(function: types.FunctionType) -> bool:
    """Whether a test is run by calling it. Looks at what `inspect` would look at, without its import."""
    code = function.__code__
    needed = code.co_argcount + code.co_kwonlyargcount
    needed -= len(function.__defaults__ or ()) + len(function.__kwdefaults__ or ())
    return not (needed or code.co_flags & NOT_PLAIN or hasattr(function, "pytestmark"))


def run_unittest(case: type) -> None:
    """Run all tests of a case; raises the first failure."""
    import unittest

    class Result(unittest.TestResult):
        """Keeps the first exception."""

        first: BaseException | None = None

        def keep(self, error: Any) -> None:
            self.first = self.first or error[1]

        def addError(self, test: Any, err: Any) -> None:
            self.keep(err)

        def addFailure(self, test: Any, err: Any) -> None:
            self.keep(err)

        def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
            if err is not None:
                self.keep(err)

        def addUnexpectedSuccess(self, test: Any) -> None:
            self.first = self.first or AssertionError(f"{test.id()} was expected to fail")

    result = Result()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    if result.first is not None:
        raise result.first


def run_pytest(module: types.ModuleType, names: Mapping[str, Any]) -> None:
    """Have pytest collect and run test code; raises the first failure.

    Raises:
        ModuleNotFoundError: The sandbox has no pytest.
        NoTestsError: pytest finds no test.
    """
    import pytest

    class Failures:
        """A plugin that keeps the first exception."""

        first: BaseException | None = None

        def pytest_exception_interact(self, call: Any) -> None:
            self.first = self.first or call.excinfo.value

    source = "".join(linecache.getlines(str(module.__file__)))
    path = os.path.join(os.getcwd(), f"test_{os.path.basename(str(module.__file__))}")
    with open(path, "w", encoding="utf-8", errors="surrogatepass") as file:
        file.write(source)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    failures = Failures()
    options = ["-x", "-p", "no:terminal", "-p", "no:cacheprovider", "-c", os.devnull]
    before = {name: vars(builtins)[name] for name in names if name in vars(builtins)}
    vars(builtins).update(names)
    try:
        status = pytest.main([*options, "--rootdir", os.getcwd(), path], plugins=[failures])
    finally:
        for name in names:
            del vars(builtins)[name]
        vars(builtins).update(before)
        os.unlink(path)
    if failures.first is not None:
        raise failures.first
    if status != pytest.ExitCode.OK:
        raise NoTestsError(f"pytest ends with {pytest.ExitCode(status).name}")
