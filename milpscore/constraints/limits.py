"""The constraints on answers: limits on errors, and on how differently groups are answered."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import Any, ClassVar

import numpy as np

from milpscore.constraints.parts import (
    Answers,
    Constraint,
    Part,
    columns_of,
    listed,
    whole_number,
)
from milpscore.constraints.subgroups import Where, plain_where, rows_where, words
from milpscore.core.design import (
    BoolArray,
    Design,
    FloatArray,
    IntArray,
    as_fraction,
    common_step,
    on_grid,
)
from milpscore.core.errors import FormulationError

RATES = {"tpr": "true positive rate", "fpr": "false positive rate", "selection": "selection rate"}
"""The rates that groups are compared by, and how sentences name them."""

_CLASSES = {"tpr": [1], "fpr": [-1], "selection": [-1, 1]}

MOST_GROUPS = 12
"""Groups that gaps are limited between: each two of them are two limits."""


@dataclass(frozen=True)
class _Rate(Constraint):
    """A limit on the share of one class that is answered wrongly."""

    label: ClassVar[int]
    phrase: ClassVar[str]
    of: ClassVar[str]
    value: float
    where: Where = None

    def __post_init__(self) -> None:
        self._store(value=_share(self.value, self.title), where=plain_where(self.where, self.title))

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        return f"{self.phrase} {self.value:g}{words(self.where)}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """Limit the weight of the rows of this class that are answered wrongly."""
        rows = rows_where(design, self.where, self.title) & (design.y == self.label)
        if not rows.any():
            which = "negative" if self.label < 0 else "positive"
            raise FormulationError(f"{self.title}: no {which} row{words(self.where)}; widen it")
        share = as_fraction(self.value)
        most = share if self.label < 0 else 1 - share
        return (_limited(design, rows, most, self.sentence, self.of),)


@dataclass(frozen=True)
class MaxFPR(_Rate):
    """A limit on the (weighted) share of negative rows that are answered positive.

    Parameters
    ----------
    value : float in [0, 1]
    where : str, sequence of str, or n truth values, optional
        The rows it speaks of, as in :class:`MaxErrors`. Default: all.
    name : str, optional
    """

    kind: ClassVar[str] = "max_fpr"
    label: ClassVar[int] = -1
    phrase: ClassVar[str] = "false positive rate <="
    of: ClassVar[str] = ""


@dataclass(frozen=True)
class MinTPR(_Rate):
    """A least (weighted) share of positive rows that are answered positive.

    Parameters
    ----------
    value : float in [0, 1]
    where, name :
        As in :class:`MaxFPR`.
    """

    kind: ClassVar[str] = "min_tpr"
    label: ClassVar[int] = 1
    phrase: ClassVar[str] = "true positive rate >="
    of: ClassVar[str] = " missed"


@dataclass(frozen=True)
class MaxErrors(Constraint):
    """A limit on the errors within a subgroup.

    Parameters
    ----------
    where : str, sequence of str, or n truth values, optional
        The subgroup: conditions on design columns or raw features that must all hold, such as
        ``"Age >= 40"`` or the name of a 0/1 column, or one truth value per row; default all rows.
    share : float in [0, 1], optional
        Largest share of the subgroup's weight.
    count : int, optional
        Largest number of its rows, each counted once; rows of weight 0 do not count. Give either
        share or count.
    name : str, optional
    """

    kind: ClassVar[str] = "max_errors"
    where: Where = None
    share: float | None = None
    count: int | None = None

    def __post_init__(self) -> None:
        self._store(where=plain_where(self.where, "MaxErrors"))
        if (self.share is None) == (self.count is None):
            raise FormulationError("MaxErrors needs share or count, one of the two")
        if self.share is not None:
            self._store(share=_share(self.share, "MaxErrors: share"))
        else:
            self._store(count=whole_number(self.count, "MaxErrors: count", 0))

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        limit = f"at most {self.count} errors"
        if self.share is not None:
            limit = f"errors <= {self.share:g}"
        return f"{limit}{words(self.where)}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """Limit the weight, or the number, of wrong rows."""
        rows = rows_where(design, self.where, "MaxErrors")
        if self.share is not None:
            return (_limited(design, rows, as_fraction(self.share), self.sentence),)
        assert self.count is not None
        cost = np.where(rows, design.rows, 0)
        return (_wrong(design, cost, min(self.count, int(cost.sum())), self.sentence, 1.0, ""),)


@dataclass(frozen=True)
class MaxGap(Constraint):
    """A limit on how differently groups of rows are answered: equal opportunity, equalised odds.

    Between any two groups, the (weighted) shares that are answered positive differ by at most
    ``value``. Groups without rows of the class that counts have no share, and no limit.

    Parameters
    ----------
    rate : {"tpr", "fpr", "selection"}
        The share answered positive among the positive rows, the negative rows, or all rows. Limits
        on the first two together are equalised odds (Hardt, Price and Srebro 2016), a limit on
        "selection" is demographic parity.
    by : str, or n labels
        A raw feature or a design column, the values of which are the groups; or each row's group.
        A column that must not have points is taken out by :class:`Exclude`.
    value : float in [0, 1]
    name : str, optional
    """

    kind: ClassVar[str] = "max_gap"
    rate: str
    by: str | Sequence[Any]
    value: float

    def __post_init__(self) -> None:
        if self.rate not in RATES:
            raise FormulationError(
                f"MaxGap: rate must be one of {listed(RATES)}, got {self.rate!r}"
            )
        labels = self.by if isinstance(self.by, str) else tuple(np.asarray(self.by).tolist())
        self._store(by=labels, value=_share(self.value, "MaxGap: value"))

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        groups = f"by {self.by}" if isinstance(self.by, str) else f"of {len(set(self.by))} groups"
        return f"gap in {RATES[self.rate]} {groups} <= {self.value:g}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """Limit, for every two groups, the share of one less that of the other."""
        counted = (design.weight > 0) & np.isin(design.y, _CLASSES[self.rate])
        groups = [rows & counted for rows in self._groups(design)]
        groups = [rows for rows in groups if rows.any()]
        if len(groups) < 2:
            raise FormulationError(
                f"MaxGap: fewer than two groups have a {RATES[self.rate]}; choose another by"
            )
        pairs = list(permutations(groups, 2))
        return tuple(self._less(_weights(design, a | b)[0], a, b) for a, b in pairs)

    def _less(self, weight: IntArray | FloatArray, one: BoolArray, other: BoolArray) -> Answers:
        """Limit the share of one group that is answered positive less that of the other."""
        sums = [weight[rows].sum().item() for rows in (one, other)]
        share = as_fraction(self.value)
        if isinstance(sums[0], int) and (product := sums[0] * sums[1]) < 2**52:
            # shares at a common denominator: whole numbers
            paid = np.where(other, weight * sums[0], 0) - np.where(one, weight * sums[1], 0)
            limit = math.floor(share * product + Fraction(1, 10**9))
            return Answers(paid, limit, self.sentence, 1.0 / product)
        paid = np.where(other, weight / sums[1], 0.0) - np.where(one, weight / sums[0], 0.0)
        return Answers(paid, float(share), self.sentence, 1.0)

    def _groups(self, design: Design) -> list[BoolArray]:
        """Return the rows of each group."""
        if isinstance(self.by, str):
            values = design.X[:, list(columns_of(design, self.by, "MaxGap"))]
            _, codes = np.unique(values, axis=0, return_inverse=True)
        elif len(self.by) != len(design.y):
            raise FormulationError(
                f"MaxGap: {len(self.by)} labels for {len(design.y)} rows; where rows are split "
                "into folds, name a column instead"
            )
        else:
            _, codes = np.unique([repr(label) for label in self.by], return_inverse=True)
        count = int(codes.max()) + 1
        if count > MOST_GROUPS:
            raise FormulationError(
                f"MaxGap: {count} groups are more than {MOST_GROUPS}; name a column of fewer values"
            )
        return [codes.ravel() == group for group in range(count)]

    def as_mapping(self) -> dict[str, Any]:
        """Return the entry of a file that makes it; labels of rows only by their number."""
        mapping = super().as_mapping()
        if not isinstance(self.by, str):
            mapping["by"] = f"{len(set(self.by))} groups of {len(self.by)} rows"
        return mapping


def _limited(
    design: Design, rows: BoolArray, share: Fraction, sentence: str, of: str = ""
) -> Answers:
    """Limit the wrong share of these rows' weight, in whole numbers if the weights allow."""
    cost, total = _weights(design, rows)
    limit = float(share) * total
    if isinstance(total, int):
        # 1/3 as a float lies below a third: one of three rows meets it all the same
        limit = math.floor(share * total + Fraction(1, 10**9))
    return _wrong(design, cost, limit, sentence, 1.0 / total, of)


def _weights(design: Design, rows: BoolArray) -> tuple[IntArray | FloatArray, int | float]:
    """Return the weights of these rows, 0 elsewhere, and their sum: whole numbers on a grid."""
    weight = np.where(rows, design.weight, 0.0)
    step = common_step(weight)
    if step is not None:
        counts = on_grid(weight, step)
        if (total := int(counts.sum())) < 2**52:
            return counts, total
    return weight, math.fsum(weight)


def _wrong(design: Design, cost: Any, limit: float, sentence: str, unit: float, of: str) -> Answers:
    """Limit what wrongly answered rows cost."""
    # a negative row that is answered negative is one less that errs
    taken = cost[design.y < 0].sum().item()
    return Answers(cost * design.y, limit - taken, sentence, unit, of, taken)


def _share(value: Any, argument: str) -> float:
    """Return a number in [0, 1]; FormulationError for anything else."""
    fine = isinstance(value, int | float | np.number | Fraction) and not isinstance(value, bool)
    if not fine or not 0 <= value <= 1:
        raise FormulationError(f"{argument} must be a share between 0 and 1, got {value!r}")
    return float(value)
