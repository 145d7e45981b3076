"""What a comparison answers: its rows, its columns, and everything behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from milpscore.core.program import Program
from milpscore.core.result import Result
from milpscore.metrics import integrity, magnitude

KINDS = ("exact", "relaxed", "randomised", "nearest")
"""The rows of each formulation, in this order."""

PROXIMAL = "proximal"
"""The row that ``compare(..., proximal=True)`` adds to each formulation, after the others."""

PROXIMAL_COLUMNS = (
    "surrogate", "surrogate_lam", "surrogate_objective", "surrogate_loss", "surrogate_gap",
)  # fmt: skip
"""The row "proximal" adds them: figures of the smooth model behind its card, of no other row's."""

COLUMNS = (
    "formulation", "kind", "claim", "verified",
    "objective", "loss", "penalty", "bound", "bound_source", "gap", "integrality_gap",
    "integrity", "magnitude", "terms",
    "train_accuracy", "train_auc", "cv_accuracy", "cv_auc",
    "rounding_loss", "sure_bound", "expected_bound", "sharp_bound",
    "rows", "columns", "integers", "nonzeros",
    "build_seconds", "load_seconds", "solve_seconds", "nodes",
    "solver", "random_state", "termination", "origin", "message", "caveat",
)  # fmt: skip
"""The columns of the table, in this order."""

REALISATION_COLUMNS = (
    "realisation", "solver", "claim", "verified",
    "objective", "loss", "penalty", "bound", "gap", "difference", "integrality_gap",
    "integrity", "magnitude", "terms", "rows", "columns", "integers", "nonzeros",
    "build_seconds", "load_seconds", "solve_seconds", "termination", "message",
)  # fmt: skip
"""The columns of the table, in this order."""


def figures_of(result: Result, columns: Sequence[str], unit: float = 1.0) -> dict[str, Any]:
    """What a row says of a result, as far as its table has columns; points are whole ``unit``s."""
    figures = result.summary()
    for part in ("build_seconds", "load_seconds", "solve_seconds"):
        figures[part] = getattr(result, part)
    if result.coefficients.size:
        points = np.asarray(result.coefficients) / unit
        figures |= {"integrity": integrity(points), "magnitude": magnitude(points)}
    else:
        del figures["terms"]  # no card is not the card without terms
    return {name: figures[name] for name in columns if name in figures}


def no_answer(message: str, **place: str) -> dict[str, Any]:
    """The row of what was not solved, or is not there."""
    return {**place, "claim": "none", "verified": False, "message": message}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Answers laid side by side.

    Attributes
    ----------
    table : DataFrame
        One row an answer.
    results : mapping from (formulation, kind), or (realisation, solver), to Result
        Those that there are.
    names : tuple of str
        The design columns, in the order of the results' coefficients.
    savings : DataFrame or None
        What a proximal start saved, where that was asked for.
    programs : mapping from formulation to Program
        The exact ones that could be stated.
    """

    table: pd.DataFrame
    results: Mapping[tuple[str, str], Result] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    savings: pd.DataFrame | None = None
    programs: Mapping[str, Program] = field(default_factory=dict)

    def __repr__(self) -> str:
        """The table's leading columns as text."""
        return self._leading().to_string()

    def _repr_html_(self) -> str:
        return str(self._leading().to_html(float_format="{:.6g}".format))

    def _leading(self) -> pd.DataFrame:
        """The columns one reads first, as far as the table has them."""
        first = ("formulation", "kind", "realisation", "solver", "claim", "objective", "bound",
                 "gap", "terms", "train_accuracy", "cv_accuracy", "solve_seconds",
                 "message")  # fmt: skip
        return self.table[[name for name in first if name in self.table]]
