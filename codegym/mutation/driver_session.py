"""Running pytest's items one by one, many times over, without reports.

An item is set up, run and torn down as pytest does it, fixtures, parameters, classes and all; what is left
out is what renders and records. Items that need more of pytest's hooks than that (``caplog``, marks that
filter warnings, hooks of a conftest) get them.

Runs inside the guest: standard library and pytest only.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import itertools
import os
import shutil
import unittest
import unittest.case
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Final

import pytest
from _pytest import outcomes
from _pytest.config import _prepareconfig
from _pytest.skipping import evaluate_skip_marks, evaluate_xfail_marks
from _pytest.tmpdir import tmppath_result_key
from _pytest.warnings import catch_warnings_for_item

from codegym.mutation.driver_compile import StepBudgetExceeded

__all__ = ["ASSERTION", "ERROR", "PASSED", "SKIPPED", "TIMEOUT", "Collection", "Runner", "following"]

PASSED, SKIPPED, ASSERTION, ERROR, TIMEOUT = "passed", "skipped", "assertion", "error", "timeout"
ARGUMENTS: Final = (
    *(
        "-c",
        os.devnull,
        "--assert=plain",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:terminal",
        "-p",
        "no:faulthandler",
    ),
    *("-p", "no:unraisableexception", "-p", "no:threadexception", "-p", "no:pastebin", "-p", "no:junitxml"),
    *("-p", "no:stepwise", "-p", "no:doctest", "--capture=no", "--continue-on-collection-errors"),
)
AUTOLOAD: Final = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"
HOOKS: Final = (
    "pytest_runtest_setup",
    "pytest_runtest_call",
    "pytest_runtest_teardown",
    "pytest_pyfunc_call",
)
HOOK_FIXTURES: Final = frozenset({"caplog"})
HOOK_MARKS: Final = ("filterwarnings",)
ORACLES: Final = (AssertionError, outcomes.Failed)
SKIPS: Final = (outcomes.Skipped, unittest.SkipTest)


class Plugin:
    """What pytest must know of us, and what we must know of the item that it runs."""

    def __init__(self) -> None:
        """Begin to watch blocks that expect exceptions."""
        self.errors: list[str] = []
        """What could not be collected."""
        self.subtest: BaseException | None = None
        """What a subtest of the running item raised."""
        self.unexpected: BaseException | None = None
        """What the running item raised where it expects another exception."""
        group = getattr(pytest, "RaisesGroup", None)
        for context in (type(pytest.raises(KeyboardInterrupt)), unittest.case._AssertRaisesContext, group):
            if context is not None:
                self._watch_context(context)

    def _watch_context(self, context: Any) -> None:
        """Learn of exceptions that leave a block which expects one."""
        leave = context.__exit__

        def watched(expecting: Any, kind: Any, error: Any, traceback: Any) -> Any:
            passed = leave(expecting, kind, error, traceback)
            if not passed:
                self.unexpected = error
            return passed

        context.__exit__ = watched

    def pytest_collectreport(self, report: Any) -> None:
        """Note what could not be collected."""
        if report.failed:
            self.errors.append(f"{report.nodeid}: {str(report.longrepr)[-1000:]}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: Any) -> bool | None:
        """Run a test that is a coroutine function."""
        if not inspect.iscoroutinefunction(pyfuncitem.obj):
            return None
        names = pyfuncitem._fixtureinfo.argnames
        asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        """Note what subtests raise: nobody else asks for reports here."""
        if call.excinfo is not None and self.subtest is None and not isinstance(call.excinfo.value, SKIPS):
            self.subtest = call.excinfo.value


class Collection:
    """A session of pytest that is ready to collect: begun once, before the processes that use it are
    forked.
    """

    def __init__(self, folder: str) -> None:
        """Begin a session.

        Args:
            folder: Where the tests lie.
        """
        os.environ[AUTOLOAD] = "1"
        self.plugin = Plugin()
        self.config: Any = _prepareconfig([*ARGUMENTS, f"--rootdir={folder}", folder], [self.plugin])
        self.config._do_configure()
        self.session: Any = pytest.Session.from_config(self.config)
        self.config.hook.pytest_sessionstart(session=self.session)
        del os.environ[AUTOLOAD]

    def collect(self, paths: Sequence[str]) -> list[str]:
        """Import the tests.

        Args:
            paths: Their files.

        Returns:
            What could not be collected.
        """
        self.config.args = list(paths)
        try:
            self.config.hook.pytest_collection(session=self.session)
        except BaseException as error:  # a test module may do anything
            self.plugin.errors.append(f"{type(error).__name__}: {error}"[:1000])
        return self.plugin.errors


class Runner:
    """Runs the items of one session.

    Attributes:
        items: In the order of collection.
        ids: Their node ids.
    """

    def __init__(
        self, collection: Collection, is_program: Callable[[str], bool], left: Callable[[], int]
    ) -> None:
        """Sort out which items can run.

        Args:
            collection: After it has collected.
            is_program: Whether a file name is one of the program under test.
            left: Steps that are left; negative when a budget was exceeded.
        """
        session = collection.session
        self.items: list[Any] = list(getattr(session, "items", ()))
        self.ids: list[str] = [item.nodeid for item in self.items]
        self._stack = session._setupstate
        self._session = session
        self._plugin, self._is_program, self._left = collection.plugin, is_program, left
        self._hooked = [needs_hooks(item) for item in self.items]

    def is_wanted(self, index: int) -> bool:
        """Whether a test is run at all: not one that is marked to be skipped, or to fail."""
        item = self.items[index]
        return not (evaluate_skip_marks(item) or evaluate_xfail_marks(item))

    def run(self, index: int, following: int | None) -> str:
        """Run one item.

        Args:
            index: Which.
            following: Which comes next, so that what both share need not be torn down; None for the last.

        Returns:
            PASSED, SKIPPED, ASSERTION, ERROR or TIMEOUT.
        """
        item = self.items[index]
        following_item = None if following is None else self.items[following]
        self._plugin.subtest = self._plugin.unexpected = None
        with self._surroundings(index, item):
            raised = self._phases(item, following_item, self._hooked[index])
        if self._left() < 0:
            return TIMEOUT  # whatever became of it
        raised = raised or self._plugin.subtest
        return PASSED if raised is None else self._kind(raised)

    def _surroundings(self, index: int, item: Any) -> Any:
        if not self._hooked[index]:
            return contextlib.nullcontext()
        return catch_warnings_for_item(item.config, item.ihook, when="runtest", item=item)

    def _phases(self, item: Any, following: Any, hooked: bool) -> BaseException | None:
        """Setup, call and teardown; returns the first exception."""
        if not item.__dict__.get("_request"):
            item._initrequest()
        item.stash[tmppath_result_key] = {}
        hook = item.ihook
        raised = None
        try:
            if hooked:
                hook.pytest_runtest_setup(item=item)
                hook.pytest_runtest_call(item=item)
            else:
                self._stack.setup(item)
                item.runtest()
        except BaseException as error:
            raised = error
        caught = item.__dict__.pop("_excinfo", None)  # unittest keeps exceptions to itself
        if caught and raised is None:
            raised = caught[0].value
        try:
            if hooked:
                hook.pytest_runtest_teardown(item=item, nextitem=following)
            else:
                self._stack.teardown_exact(following)
        except BaseException as error:
            raised = raised or error
        item._request = False
        item.funcargs = None
        return raised

    def _kind(self, error: BaseException) -> str:
        """What an exception says of the test that it ended."""
        if isinstance(error, SKIPS):
            return SKIPPED
        if isinstance(error, StepBudgetExceeded):
            return TIMEOUT
        if isinstance(error, BaseExceptionGroup):
            kinds = {self._kind(one) for one in error.exceptions}
            return next(kind for kind in (TIMEOUT, ASSERTION, ERROR, SKIPPED) if kind in kinds)
        if error is self._plugin.unexpected:
            return ASSERTION
        if isinstance(error, ORACLES) and not self._is_program(raised_in(error.__traceback__)):
            return ASSERTION
        return ERROR

    def clean_up(self) -> None:
        """Tear down what a broken test has left set up, and remove its folders."""
        while self._stack.stack:
            with contextlib.suppress(BaseException):
                self._stack.teardown_exact(None)
        factory = self._session.config._tmp_path_factory
        if factory._basetemp is not None:
            for name in os.listdir(factory._basetemp):
                shutil.rmtree(os.path.join(factory._basetemp, name), ignore_errors=True)


def needs_hooks(item: Any) -> bool:
    """Whether an item needs more than setup, run and teardown."""
    if not HOOK_FIXTURES.isdisjoint(getattr(item, "fixturenames", ())):
        return True
    if any(item.get_closest_marker(name) for name in HOOK_MARKS) or not hasattr(item, "_initrequest"):
        return True
    implementations = itertools.chain.from_iterable(
        getattr(item.ihook, name).get_hookimpls() for name in HOOKS
    )
    return any(not is_known(implementation.plugin) for implementation in implementations)


def is_known(plugin: Any) -> bool:
    """Whether a plugin is ours or pytest's own."""
    name = getattr(plugin, "__name__", type(plugin).__module__)
    return (
        isinstance(plugin, Plugin)
        or name.startswith("_pytest.")
        or type(plugin).__module__.startswith("_pytest.")
    )


def raised_in(traceback: TracebackType | None) -> str:
    """The file of the frame that raised."""
    filename = ""
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        traceback = traceback.tb_next
    return filename


def following(order: Sequence[int]) -> list[tuple[int, int | None]]:
    """Each with the one after it."""
    return list(itertools.zip_longest(order, order[1:]))
