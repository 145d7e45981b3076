"""A progress line in a terminal, silence elsewhere."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from milpscore.core.result import TracePoint, relative_gap


@contextmanager
def progress_line(title: str, wanted: bool | None) -> Iterator[Callable[[TracePoint], None] | None]:
    """A live line with incumbent, bound, gap and nodes on standard error.

    Parameters
    ----------
    title : str
    wanted : bool or None
        None shows it where standard error is a terminal.
    """
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status(title) as status:
        yield lambda point: status.update(f"{title}  {describe(point)}")


def describe(point: TracePoint) -> str:
    """One moment of a solve in words."""
    objective = f"{point.objective:.6g}" if math.isfinite(point.objective) else "none yet"
    bound = f"{point.dual_bound:.6g}" if math.isfinite(point.dual_bound) else "none yet"
    gap = ""
    if math.isfinite(point.objective) and math.isfinite(point.dual_bound):
        gap = f"  gap {100 * relative_gap(point.objective, point.dual_bound):.2f}%"
    return f"objective {objective}  bound {bound}{gap}  nodes {point.nodes}  {point.seconds:.1f} s"
