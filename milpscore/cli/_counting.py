"""A live count of solves on standard error: done, failed, time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from milpscore.cli._common import say

Tell: TypeAlias = Callable[[int, int, int], None]
"""Called with how many are done, have failed, and there are in all."""

_LINE_SECONDS = 5.0
"""Between two lines where standard error is no terminal."""


@contextmanager
def counting(title: str, what: str, quiet: bool) -> Iterator[Tell | None]:
    """A progress bar in a terminal, a line now and then elsewhere, nothing where quiet.

    Parameters
    ----------
    title : str
    what : str
        What is counted, say "runs".
    quiet : bool
    """
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _bar(title, what) as tell:
            yield tell
    else:
        yield _lines(title, what)


def _lines(title: str, what: str) -> Tell:
    """The first count, the last, and those in between that are some seconds apart."""
    spoken = -_LINE_SECONDS

    def tell(done: int, failed: int, total: int) -> None:
        nonlocal spoken
        now = time.monotonic()
        if done + failed < total and now - spoken < _LINE_SECONDS:
            return
        spoken = now
        say(f"{title}: {done} of {total} {what}{f', {failed} failed' if failed else ''}")

    return tell


@contextmanager
def _bar(title: str, what: str) -> Iterator[Tell]:
    """A bar with counts and the time left."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[counts]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task(title, total=None, counts="")

        def tell(done: int, failed: int, total: int) -> None:
            counts = f"{done} of {total} {what}" + (f", {failed} failed" if failed else "")
            progress.update(bar, total=total, completed=done + failed, counts=counts)

        yield tell
