"""Constraint on totals: what the points of a card can add up to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from milpscore.constraints._base import Constraint
from milpscore.constraints._names import feature_columns, features
from milpscore.constraints.parts import Part, Totals
from milpscore.core.design import Design
from milpscore.core.errors import FormulationError
from milpscore.core.grid import as_fraction, on_grid


@dataclass(frozen=True)
class TotalRange(Constraint):
    """Bounds on every total a card can give, whatever combination of values a person has.

    A feature adds what its columns have together in some row, so of one-hot bins the points of a
    single bin; features combine freely. Totals that occur in the data lie within as well.

    Parameters
    ----------
    lower, upper : float, optional
        At least one of them, in points times the data's units, as the card prints totals.
    name : str, optional
    """

    kind: ClassVar[str] = "total_range"
    lower: float | None = None
    upper: float | None = None

    def __post_init__(self) -> None:
        if self.lower is None and self.upper is None:
            raise FormulationError("TotalRange needs lower, upper, or both")
        for end in ("lower", "upper"):
            value = getattr(self, end)
            if value is not None and not _finite(value):
                raise FormulationError(f"TotalRange: {end} must be a finite number, got {value!r}")
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise FormulationError(
                f"TotalRange: lower {self.lower} is larger than upper {self.upper}"
            )

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        ends = [f"{word} {end:g}" for word, end in (("from", self.lower), ("to", self.upper))
                if end is not None]  # fmt: skip
        return f"totals {' '.join(ends)}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """The distinct values of each feature, in steps of the data where there is a grid."""
        rows, step = design.merged.X, design.step
        found = []
        for feature in features(design):
            columns = feature_columns(design, feature, "TotalRange")
            values = np.unique(rows[:, list(columns)] + 0.0, axis=0)
            if len(columns) == 1:
                values = values[[0, -1]]  # a product is largest at an end
            found.append((columns, values if step is None else on_grid(values, step)))
        lower = None if self.lower is None else as_fraction(self.lower)
        upper = None if self.upper is None else as_fraction(self.upper)
        if step is None:
            ends = [None if end is None else float(end) for end in (lower, upper)]
            return (Totals(tuple(found), ends[0], ends[1], None),)
        low = None if lower is None else math.ceil(lower / step)
        high = None if upper is None else math.floor(upper / step)
        return (Totals(tuple(found), low, high, step),)


def _finite(value: Any) -> bool:
    """Whether it is a finite number."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return number and math.isfinite(value)
