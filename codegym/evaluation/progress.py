"""A progress bar on a terminal, and silence elsewhere."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

__all__ = ["progress_bar"]


@contextlib.contextmanager
def progress_bar(what: str, show: bool | None, total: int, done: int = 0) -> Iterator[Callable[[], None]]:
    """Show a bar on standard error.

    Args:
        what: What is going on, in one word.
        show: Whether to show it. None: if standard error is a terminal.
        total: How many there are.
        done: How many of them are done.

    Yields:
        A function that counts one more.
    """
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        item = bar.add_task(what, total=total, completed=done)
        yield lambda: bar.advance(item)
