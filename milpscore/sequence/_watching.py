"""What a person sees of a training: a line an iteration, and its trace as a table."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from milpscore.sequence._trace import TraceRow

if TYPE_CHECKING:
    from pandas import DataFrame


class Watch:
    """Prints a line an iteration, and asks to stop where patience runs out."""

    def __init__(self, patience: int | None, verbose: bool) -> None:
        self.patience, self.verbose = patience, verbose
        self.fewest, self.since = np.inf, 0

    def __call__(self, row: TraceRow) -> bool:
        if self.verbose:
            sys.stderr.write(_line(row) + "\n")
        if self.patience is None or np.isnan(row.dev_token_error):
            return False
        better = row.dev_token_error < self.fewest
        self.fewest = min(self.fewest, row.dev_token_error)
        self.since = 0 if better else self.since + 1
        return self.since >= self.patience


def _line(row: TraceRow) -> str:
    """One moment of a training in words."""
    text = (
        f"iteration {row.iteration:4d}  objective {row.objective:.6g}  active {row.active}  "
        f"distance {row.distance:.1e}"
    )
    for name, share in (("error", row.token_error), ("dev", row.dev_token_error)):
        text += "" if np.isnan(share) else f"  {name} {share:.2%}"
    return f"{text}  {row.seconds:.1f} s"


def trace_table(trace: Iterable[TraceRow]) -> DataFrame:
    """A row a look, its columns the fields of :class:`TraceRow`."""
    import pandas as pd

    return pd.DataFrame(list(map(vars, trace)), columns=[field.name for field in fields(TraceRow)])


def without_nan(row: Mapping[Any, Any]) -> dict[str, Any]:
    """What a trace row says; NaN is no JSON, and the default."""
    return {str(key): value for key, value in row.items() if not np.isnan(value)}
