"""Constraints on answers: false positive rate, true positive rate, errors in a subgroup."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from milpscore.constraints._base import Constraint, require_count
from milpscore.constraints._where import Where, plain_where, rows_where, words
from milpscore.constraints.parts import Part, Wrong
from milpscore.core.design import BoolArray, Design
from milpscore.core.errors import FormulationError
from milpscore.core.grid import as_fraction, common_step, on_grid

_EXACT = 2**52

_NEARLY = Fraction(1, 10**9)
"""1/3 as a float lies below a third: one of three rows meets it all the same."""


@dataclass(frozen=True)
class MaxFPR(Constraint):
    """A limit on the (weighted) share of negative rows that are answered positive.

    Parameters
    ----------
    value : float in [0, 1]
    where : str, sequence of str, or n truth values, optional
        The rows it speaks of; see :func:`milpscore.constraints.rows_where`. Default: all.
    name : str, optional
    """

    kind: ClassVar[str] = "max_fpr"
    value: float
    where: Where = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _share(self.value, "MaxFPR"))
        object.__setattr__(self, "where", plain_where(self.where, "MaxFPR"))

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        return f"false positive rate <= {self.value:g}{words(self.where)}"  # type: ignore[arg-type]

    def parts(self, design: Design) -> tuple[Part, ...]:
        """A limit on the weight of false positives."""
        rows = _rows_of_class(design, self.where, -1, "MaxFPR")
        limited = _limited(design, rows, as_fraction(self.value), self.sentence)
        return (limited,)


@dataclass(frozen=True)
class MinTPR(Constraint):
    """A least (weighted) share of positive rows that are answered positive.

    Parameters
    ----------
    value : float in [0, 1]
    where, name :
        As in :class:`MaxFPR`.
    """

    kind: ClassVar[str] = "min_tpr"
    value: float
    where: Where = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _share(self.value, "MinTPR"))
        object.__setattr__(self, "where", plain_where(self.where, "MinTPR"))

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        return f"true positive rate >= {self.value:g}{words(self.where)}"  # type: ignore[arg-type]

    def parts(self, design: Design) -> tuple[Part, ...]:
        """A limit on the weight of missed positives."""
        rows = _rows_of_class(design, self.where, 1, "MinTPR")
        return (_limited(design, rows, 1 - as_fraction(self.value), self.sentence, " missed"),)


@dataclass(frozen=True)
class MaxErrors(Constraint):
    """A limit on the errors within a subgroup.

    Parameters
    ----------
    where : str, sequence of str, or n truth values, optional
        The subgroup: conditions on design columns or raw features that must all hold, such as
        ``"Age >= 40"`` or the name of a 0/1 column, or one truth value a row; default all rows.
    share : float in [0, 1], optional
        Of the subgroup's weight.
    count : int, optional
        Of its rows, whatever their weights; rows of weight 0 do not count. Give one of the two.
    name : str, optional
    """

    kind: ClassVar[str] = "max_errors"
    where: Where = None
    share: float | None = None
    count: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "where", plain_where(self.where, "MaxErrors"))
        if (self.share is None) == (self.count is None):
            raise FormulationError("MaxErrors needs share or count, one of the two")
        if self.share is not None:
            object.__setattr__(self, "share", _share(self.share, "MaxErrors: share"))
        else:
            object.__setattr__(self, "count", require_count(self.count, "MaxErrors: count"))

    @property
    def sentence(self) -> str:
        """What it demands, in words."""
        limit = f"{self.count} errors" if self.share is None else f"errors <= {self.share:g}"
        said = f"at most {limit}" if self.share is None else limit
        return f"{said}{words(self.where)}"  # type: ignore[arg-type]

    def parts(self, design: Design) -> tuple[Part, ...]:
        """A limit on the weight, or the number, of wrong rows."""
        rows = rows_where(design, self.where, "MaxErrors")  # type: ignore[arg-type]
        if self.share is not None:
            return (_limited(design, rows, as_fraction(self.share), self.sentence),)
        assert self.count is not None
        cost = rows.astype(np.int64)
        return (Wrong(cost, self.count, self.sentence, 1.0, ""),)


def _rows_of_class(design: Design, where: Any, label: int, argument: str) -> BoolArray:
    """The counted rows of a subgroup that belong to one class."""
    rows = rows_where(design, where, argument) & (design.y == label)
    if not rows.any():
        which = "negative" if label < 0 else "positive"
        raise FormulationError(f"{argument}: no {which} row{words(where)}; widen it")
    return np.asarray(rows)


def _limited(
    design: Design, rows: BoolArray, share: Fraction, sentence: str, of: str = ""
) -> Wrong:
    """At most a share of these rows' weight may be wrong, in whole numbers where weights allow."""
    weight = np.where(rows, design.weight, 0.0)
    step = common_step(weight)
    if step is not None:
        cost = on_grid(weight, step)
        total = int(cost.sum())
        if total < _EXACT:
            limit = math.floor(share * total + _NEARLY)
            return Wrong(cost, limit, sentence, 1.0 / total, of)
    total_weight = math.fsum(weight)
    return Wrong(weight, float(share) * total_weight, sentence, 1.0 / total_weight, of)


def _share(value: Any, argument: str) -> float:
    """A number in [0, 1].

    Raises
    ------
    FormulationError
        For anything else.
    """
    fine = isinstance(value, int | float | np.number | Fraction) and not isinstance(value, bool)
    if not fine or not 0 <= value <= 1:
        raise FormulationError(f"{argument} must be a share between 0 and 1, got {value!r}")
    return float(value)
