"""What several commands do: report errors, write JSON and figures, note Ctrl-C, count solves."""

from __future__ import annotations

import json
import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import typer

from milpscore.core.errors import DataError, OptionError

if TYPE_CHECKING:
    from milpscore.core.design import Design

NO_CARD, BAD_INPUT, INTERRUPTED = 1, 2, 130


def say(text: str) -> None:
    """Write one line to standard error."""
    typer.echo(text, err=True)


def complain(message: str) -> int:
    """Report bad input in one line on standard error; the exit code for it."""
    say(f"Error: {' '.join(message.split())}")
    return BAD_INPUT


def print_json(content: Mapping[str, Any]) -> None:
    """Write one strictly valid JSON object to standard output."""
    typer.echo(json.dumps(strict(content), indent=2, allow_nan=False))


def strict(value: Any) -> Any:
    """A value as JSON can hold it: null for a number that is not finite."""
    if isinstance(value, Mapping):
        return {str(key): strict(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [strict(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else float(value)
    return value


def tell_warnings(design: Design, quiet: bool) -> None:
    """Say on standard error what is odd about the data but legal."""
    if not quiet:
        for warning in design.warnings:
            say(f"Warning: {warning}")


def require_folder(path: Path | None) -> None:
    """Refuse a place that cannot be written before an hour of solving, not after it."""
    if path is None:
        return
    if path.is_dir():
        raise DataError(f"{str(path)!r} is a folder: name a file in it")
    if not path.parent.is_dir():
        raise DataError(f"there is no folder {str(path.parent)!r}: make it first")


@contextmanager
def noting_interrupts() -> Iterator[threading.Event]:
    """Yield an event that is set by Ctrl-C, also where the solve ends by itself at that moment."""
    seen = threading.Event()
    previous = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> None:
        seen.set()
        raise KeyboardInterrupt

    # A job started in the background ignores Ctrl-C, and goes on doing so.
    if previous is signal.SIG_IGN or threading.current_thread() is not threading.main_thread():
        yield seen
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, previous)


def require_drawable(plot: Path | None) -> None:
    """Refuse a figure that could not be saved before the solving, not after it.

    Matplotlib is told here to do without a screen.
    """
    if plot is None:
        return
    require_folder(plot)
    import matplotlib
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.get_supported_filetypes()
    if plot.suffix.lstrip(".").lower() not in known:
        raise OptionError(f"--plot {plot}: the name must end in one of {', '.join(sorted(known))}")
    matplotlib.use("Agg")


def save_figure(figure: Any, plot: Path) -> None:
    """Save a figure that was drawn after :func:`require_drawable`, and say so."""
    figure.savefig(plot, dpi=150)
    say(f"The figure was saved in {plot}.")


Tell: TypeAlias = Callable[[int, int, int], None]
"""Called with how many are done, have failed, and there are in all."""

_LINE_SECONDS = 5.0
"""Between two lines where standard error is not a terminal."""


@contextmanager
def counting(title: str, what: str, quiet: bool) -> Iterator[Tell | None]:
    """A progress bar in a terminal, a line now and then elsewhere, nothing where quiet."""
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
