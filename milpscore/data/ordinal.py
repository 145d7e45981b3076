"""Ordered classes as decisions between neighbours: a row for each row and each boundary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from milpscore.core.design import Column, Design, FloatArray, IntArray, plain_label
from milpscore.core.errors import DataError, OptionError, listing, places
from milpscore.data.checking import _one_dimensional, class_weights
from milpscore.data.designs import make_design

Cost = Literal["absolute", "squared", "zero_one"]
"""What a row of level c costs where d is answered: |c - d|, (c - d)^2, or 1 where they differ."""

_COSTS: Mapping[str, Callable[[IntArray], FloatArray]] = {
    "absolute": lambda far: np.abs(far).astype(np.float64),
    "squared": lambda far: far.astype(np.float64) ** 2,
    "zero_one": lambda far: (far != 0).astype(np.float64),
}

MOST_LEVELS = 20
"""Values of a target beyond which nobody reads a card with a threshold for each."""


@dataclass(frozen=True, eq=False, kw_only=True)
class OrdinalDesign(Design):
    """Rows (i, k), one for each row i and boundary k between levels: is it above, or is it not.

    Its columns are those of the features, and one "gap" for each boundary but the first, which is
    minus a step of the data in the rows of that boundary and of all above it. So a card of positive
    gaps d answers row (i, k) positive iff w . x_i >= T_1 + d_2 + ... + d_k = T_k.

    Attributes
    ----------
    levels : tuple
        The classes, the lowest first.
    codes : ndarray of shape (n,)
        The place of each row's class among them.
    origin : ndarray
        The row i of each row (i, k).
    row_weight : ndarray of shape (n,)
        The weights of the rows i, class weights multiplied in.
    cost : str
        What a wrong answer costs; see :func:`make_ordinal_design`.
    """

    levels: tuple[Any, ...]
    codes: IntArray
    origin: IntArray
    row_weight: FloatArray
    cost: Cost

    @property
    def features(self) -> int:
        """How many columns are those of the features."""
        return self.shape[1] - self.gaps

    @property
    def gaps(self) -> int:
        """How many columns are gaps: the boundaries but the first."""
        return len(self.levels) - 2

    @property
    def base(self) -> Design:
        """The rows before they were taken apart, and whether each is above the lowest level."""
        _, first = np.unique(self.origin, return_index=True)
        own = self.features
        return Design(
            self.X[first, :own], np.where(self.codes > 0, 1, -1), self.row_weight,
            self.columns[:own], self.blocks, self.classes, self.warnings,
        )  # fmt: skip

    @property
    def recipe(self) -> dict[str, Any]:
        """How it was made, for a certificate."""
        return {"levels": [plain_label(level) for level in self.levels], "cost": self.cost}


def make_ordinal_design(
    X: Any,
    y: Any,
    *,
    levels: Sequence[Any] | None = None,
    cost: Cost = "absolute",
    sample_weight: Any = None,
    class_weight: Mapping[Any, float] | str | None = None,
    columns: Sequence[Column] | None = None,
    blocks: Sequence[Sequence[int]] | None = None,
) -> OrdinalDesign:
    r"""A table whose labels are ordered, as the decisions between neighbouring levels.

    Row i of level :math:`c_i` becomes a row (i, k) for each boundary :math:`k = 1, \dots, K - 1`,
    positive where :math:`c_i \ge k` (levels are counted from 0), of weight

    .. math:: s_{ik} = s_i\, | C(c_i, k) - C(c_i, k - 1) |

    with C the cost of an answer. Where thresholds are ordered, the weights of the wrong decisions
    of a row add up to what its answer costs.

    Parameters
    ----------
    X : DataFrame, array or list of rows, shape (n, p)
    y : array of shape (n,)
        Two labels or more. Numbers are ordered as they are, and an ordered Categorical as it says.
    levels : sequence of labels, optional
        The labels from the lowest to the highest; a must for text.
    cost : {"absolute", "squared", "zero_one"}
        What a row costs whose answer is off: by how many levels, the square of that, or 1.
    sample_weight, class_weight, columns, blocks
        As for :func:`make_design`; a class weight is one of a level.

    Returns
    -------
    OrdinalDesign

    Raises
    ------
    DataError
        The labels have no order, or as for :func:`make_design`.
    OptionError
        ``cost`` is unknown.

    References
    ----------
    Li & Lin, "Ordinal regression by extended binary classification", NIPS 19 (2006), sec. 3, for
    the reduction and the weights of a convex cost.
    """
    codes, known = ordered_codes(y, levels)
    given = {"sample_weight": sample_weight, "columns": columns, "blocks": blocks}
    return by_boundaries(make_design(X, codes > 0, **given), codes, known, cost, class_weight)


def by_boundaries(
    base: Design,
    codes: IntArray,
    levels: Sequence[Any],
    cost: Cost = "absolute",
    class_weight: Mapping[Any, float] | str | None = None,
) -> OrdinalDesign:
    """Rows of known levels taken apart; ``base`` says whether each is above the lowest one."""
    if cost not in _COSTS:
        raise OptionError(f"{{cost}} is unknown; use {', '.join(get_args(Cost))}", cost=cost)
    if base.counts is not None:
        raise DataError("ordered classes need every row: pass a table that fits into memory")
    unit, gaps = base.step, len(levels) - 2
    if unit is None and gaps:
        raise DataError(
            "ordered classes need totals on a grid, and these decimals have none: bin the columns, "
            "or round them (X.round(2))"
        )
    weight = class_weights(class_weight, codes, base.weight, levels)
    charge, k = _COSTS[cost], np.arange(1, len(levels))
    steps = np.abs(charge(codes[:, None] - k) - charge(codes[:, None] - k + 1))
    row, at = np.nonzero(steps > 0)  # a decision that changes no cost is left out
    above = np.arange(gaps) < at[:, None]
    names = [f"gap below {level}" for level in levels[2:]]
    return OrdinalDesign(
        X=np.hstack([base.X[row], -float(unit or 1) * above]),
        y=np.where(codes[row] > at, 1, -1),
        weight=weight[row] * steps[row, at],
        columns=(*base.columns, *(Column(name, name) for name in names)),
        blocks=base.blocks,
        classes=tuple(levels) if not gaps else (levels[0], f"above {levels[0]}"),
        warnings=base.warnings,
        levels=tuple(levels),
        codes=codes,
        origin=row,
        row_weight=weight,
        cost=cost,
    )


def ordered_codes(y: Any, levels: Sequence[Any] | None = None) -> tuple[IntArray, tuple[Any, ...]]:
    """The place of each label among the levels, shape (n,), and the levels in order."""
    column = _one_dimensional(y)
    if column.isna().any():
        rows = np.flatnonzero(column.isna()).tolist()
        raise DataError(
            f"{{y}} has {len(rows)} missing label(s) (NaN), first at {places(rows)}. "
            "Drop these rows."
        )
    known = _levels_of(column) if levels is None else [plain_label(label) for label in levels]
    if len(known) < 2 or len(set(map(str, known))) < len(known):
        raise DataError(
            f"{{y}} has {len(column)} row(s) and {len(set(map(str, known)))} class(es), "
            f"{listing(known)}; a score needs two or more, each named once."
        )
    if len(known) > MOST_LEVELS:
        raise DataError(
            f"{{y}} has {len(known)} distinct values, and a card takes up to {MOST_LEVELS} ordered "
            "classes: cut it into a few groups first"
        )
    # levels from a command line are text, whatever the labels are
    place = {str(label): code for code, label in enumerate(known)}
    found = column.map(lambda label: place.get(str(plain_label(label)), -1)).to_numpy(np.int64)
    if (found < 0).any():
        odd = plain_label(column[found < 0].iloc[0])
        raise DataError(f"label {odd!r} is none of the levels {listing(known)}")
    if absent := [label for code, label in enumerate(known) if not (found == code).any()]:
        raise DataError(f"no row has the class {listing(absent)}: leave it out of the levels")
    first = [column.iloc[int(np.argmax(found == code))] for code in range(len(known))]
    return found, tuple(map(plain_label, first))


def _levels_of(column: pd.Series[Any]) -> list[Any]:
    """The labels in their own order; DataError where they have none."""
    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype) and kind.ordered:
        return [label for label in kind.categories if (column == label).any()]
    labels = [plain_label(label) for label in column.unique().tolist()]
    numbers = all(isinstance(label, bool | int | float) for label in labels)
    if not numbers and len(labels) > 2:
        raise DataError(
            f"the labels {listing(map(str, labels), 8)} are text, whose order nobody knows: give "
            "{levels} from the lowest to the highest",
            levels=...,
        )
    try:
        return sorted(labels)
    except TypeError as error:
        raise DataError(
            f"Unknown label type: the labels cannot be compared ({error}). Use numbers or text."
        ) from error


def thresholds_of(
    design: OrdinalDesign, threshold: Fraction, gaps: Sequence[int]
) -> tuple[Fraction, ...]:
    """All thresholds, from the first one and the gaps above it."""
    step, found = design.step or Fraction(1), [threshold]
    for gap in gaps:
        found.append(found[-1] + gap * step)
    return tuple(found)
