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

PROXIMAL_COLUMNS = (
    "surrogate", "surrogate_lam", "surrogate_objective", "surrogate_loss", "surrogate_gap",
)  # fmt: skip
"""What the row "proximal" adds: figures of the smooth model behind its card."""

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


def table_of(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    """Return rows as a table whose counts are whole numbers."""
    table = pd.DataFrame(rows, columns=list(columns))
    counts = ("terms", "rows", "columns", "integers", "nonzeros", "nodes", "random_state")
    return table.astype({name: "Int64" for name in counts if name in table})


def figures_of(result: Result, columns: Sequence[str], unit: float = 1.0) -> dict[str, Any]:
    """Return a result's figures by the columns that have them; points are whole ``unit``s."""
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
    """Return the row of a program that was not solved, or that there is none of."""
    return {**place, "claim": "none", "verified": False, "message": message}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Answers side by side.

    Attributes
    ----------
    table : DataFrame
        One row per answer.
    results : mapping from (formulation, kind), or (realisation, solver), to Result
        The answers.
    names : tuple of str
        The design columns, in the order of the results' coefficients.
    savings : DataFrame or None
        What a proximal start saved, if ``savings`` was asked for.
    programs : mapping from formulation to Program
        The exact ones that could be stated.
    """

    table: pd.DataFrame
    results: Mapping[tuple[str, str], Result] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    savings: pd.DataFrame | None = None
    programs: Mapping[str, Program] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return the table's leading columns as text."""
        return self._leading().to_string()

    def _repr_html_(self) -> str:
        return str(self._leading().to_html(float_format="{:.6g}".format))

    def to_latex(self) -> str:
        """Return the columns that fit a page as a LaTeX table, for ``booktabs``."""
        shown = self._leading().drop(columns="message", errors="ignore")
        head = [str(name).replace("_", " ") for name in shown]
        rows = [head, *([_in_latex(value) for value in row] for row in shown.to_numpy().tolist())]
        first, *lines = (" & ".join(row) + r" \\" for row in rows)
        columns = "".join("r" if shown[name].dtype.kind in "fi" else "l" for name in shown)
        return "\n".join([
            rf"\begin{{tabular}}{{{columns}}}", r"\toprule", first, r"\midrule", *lines,
            r"\bottomrule", r"\end{tabular}", "",
        ])  # fmt: skip

    def _leading(self) -> pd.DataFrame:
        """Return the columns one reads first, as far as the table has them."""
        first = ("formulation", "kind", "realisation", "solver", "claim", "objective", "bound",
                 "gap", "terms", "train_auc", "cv_auc", "solve_seconds",
                 "message")  # fmt: skip
        return self.table[[name for name in first if name in self.table]]


def _in_latex(value: Any) -> str:
    """Return a figure with six digits, or a name whose underscores LaTeX reads as such."""
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.6g}"
    return "" if value is None else str(value).replace("_", r"\_")
