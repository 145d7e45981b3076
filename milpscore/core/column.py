"""One design column: what it is called, and which raw feature and interval it comes from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

ColumnKind = Literal["numeric", "interval", "step", "category", "missing"]
"""How a design column reads its raw feature.

``numeric``   the raw value itself;
``interval``  1 iff ``lower <= value < upper`` (a bin of a one-hot block);
``step``      1 iff ``value >= lower`` (a cumulative threshold, "age >= 40");
``category``  1 iff the value equals ``category`` (one category of text or boolean data);
``missing``   1 iff the value is missing.
"""


@dataclass(frozen=True)
class Column:
    """A column of a design.

    Attributes
    ----------
    name : str
        Unique printable name, for example ``"Age in [40, 50)"``.
    feature : str
        The raw feature the column is computed from.
    kind : ColumnKind
        How the raw value becomes the column's value.
    lower, upper : float
        Bounds of the interval, closed on the left and open on the right; infinite where open-ended.
    category : str | None
        The category of a ``category`` column, as text.
    """

    name: str
    feature: str
    kind: ColumnKind = "numeric"
    lower: float = -math.inf
    upper: float = math.inf
    category: str | None = None

    @property
    def is_indicator(self) -> bool:
        """Whether the column only takes the values 0 and 1 by construction."""
        return self.kind != "numeric"
