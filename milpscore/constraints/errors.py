"""Constraints on answers: error rates, and the rows of a subgroup they are counted on."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from milpscore.constraints._base import Constraint, known_names, nearest, whole_number
from milpscore.constraints.parts import Part, Wrong
from milpscore.core.design import BoolArray, Column, Design, as_fraction, common_step, on_grid
from milpscore.core.errors import FormulationError

_EXACT = 2**52

_NEARLY = Fraction(1, 10**9)
"""1/3 as a float lies below a third: one of three rows meets it all the same."""


Where = str | Sequence[str] | Sequence[bool] | BoolArray | None

_OPERATOR = re.compile(r"<=|>=|==|!=|=|<|>")
_COMPARE = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


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
        """A limit on the weight of the rows of this class that are answered wrongly."""
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
        limit = f"{self.count} errors" if self.share is None else f"errors <= {self.share:g}"
        said = f"at most {limit}" if self.share is None else limit
        return f"{said}{words(self.where)}"

    def parts(self, design: Design) -> tuple[Part, ...]:
        """A limit on the weight, or the number, of wrong rows."""
        rows = rows_where(design, self.where, "MaxErrors")
        if self.share is not None:
            return (_limited(design, rows, as_fraction(self.share), self.sentence),)
        assert self.count is not None
        cost = rows.astype(np.int64)
        return (Wrong(cost, self.count, self.sentence, 1.0, ""),)


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
    """A number in [0, 1]; FormulationError for anything else."""
    fine = isinstance(value, int | float | np.number | Fraction) and not isinstance(value, bool)
    if not fine or not 0 <= value <= 1:
        raise FormulationError(f"{argument} must be a share between 0 and 1, got {value!r}")
    return float(value)


# ------------------------------------------------------------------ subgroups


def plain_where(where: Any, argument: str) -> tuple[str, ...] | tuple[bool, ...] | None:
    """A subgroup as a tuple of conditions or of truth values; None for all rows."""
    if where is None:
        return None
    if isinstance(where, str):
        return (where,)
    given = list(where) if isinstance(where, Iterable) else []
    if given and all(isinstance(entry, str) for entry in given):
        return tuple(given)
    if given and all(isinstance(entry, bool | np.bool_) for entry in given):
        return tuple(bool(entry) for entry in given)
    raise FormulationError(
        f"{argument}: where needs conditions such as 'Age >= 40', the name of a 0/1 column, or one "
        f"truth value a row, got {type(where).__name__}"
    )


def words(where: Any) -> str:
    """The subgroup for a sentence."""
    if where is None:
        return ""
    if isinstance(where[0], str):
        return f" where {' and '.join(where)}"
    return f" in a subgroup of {sum(where)} rows"


def rows_where(design: Design, where: Any, argument: str) -> BoolArray:
    """The rows of positive weight that belong to a subgroup, shape (n,).

    All of several conditions must hold. A condition is the name of a 0/1 column, or compares a
    column or a raw feature: ``Age >= 40``, ``Sex = male``. Of binned data only what the bins tell
    apart can be asked. FormulationError where a name or cut is unknown, a mask has another length,
    or no row is left; ``argument`` is the constraint, for its text.
    """
    counted = design.weight > 0
    if where is None:
        inside = np.ones(len(counted), dtype=bool)
    elif isinstance(where[0], str):
        inside = np.logical_and.reduce([_holds(design, text, argument) for text in where])
    elif len(where) != len(counted):
        raise FormulationError(
            f"{argument}: the mask has {len(where)} entries for {len(counted)} rows; where rows "
            "are split into folds, name a condition instead"
        )
    else:
        inside = np.array(where, dtype=bool)
    if not (inside & counted).any():
        raise FormulationError(f"{argument}: no row of positive weight{words(where)}; widen it")
    return np.asarray(inside & counted)


def _holds(design: Design, text: str, argument: str) -> BoolArray:
    """The rows for which one condition holds."""
    known = known_names(design)
    condition = text.strip()
    if condition in known:
        return _is_one(design, condition, argument)
    for match in _OPERATOR.finditer(condition):
        name, value = condition[: match.start()].strip(), condition[match.end() :].strip()
        if name in known and value:
            sign = "==" if match.group() == "=" else match.group()
            return _compared(design, name, sign, value, argument)
    found = _OPERATOR.search(condition)
    name = condition if found is None else condition[: found.start()].strip()
    raise FormulationError(f"{argument}: where names {name!r}; {nearest(name, known)}")


def _own(design: Design, name: str) -> list[int]:
    """The columns of a name, its own before its feature's."""
    own = [j for j, column in enumerate(design.columns) if column.name == name]
    return own or [j for j, column in enumerate(design.columns) if column.feature == name]


def _is_one(design: Design, name: str, argument: str) -> BoolArray:
    """The rows where a 0/1 column is 1."""
    own = _own(design, name)
    values = design.X[:, own]
    if len(own) > 1 or not np.isin(values, (0.0, 1.0)).all():
        raise FormulationError(
            f"{argument}: {name} is no 0/1 column; compare it, for example '{name} >= 1'"
        )
    return np.asarray(values[:, 0] == 1.0)


def _compared(design: Design, name: str, sign: str, value: str, argument: str) -> BoolArray:
    """The rows where a column or feature compares as asked."""
    own = _own(design, name)
    columns = [design.columns[j] for j in own]
    kinds = {column.kind for column in columns}
    if "category" in kinds:
        return _category(design, own, sign, value, argument)
    try:
        number = float(value)
    except ValueError:
        raise FormulationError(
            f"{argument}: {name} is compared with {value!r}, no number"
        ) from None
    if kinds == {"numeric"} and len(own) == 1:
        return np.asarray(_COMPARE[sign](design.X[:, own[0]], number))
    if "interval" in kinds:
        return _in_bins(design, own, sign, number, argument)
    if "step" in kinds:
        return _past_cut(design, own, sign, number, argument)
    raise FormulationError(f"{argument}: the values of {name} are not known: pass a mask")


def _category(design: Design, own: list[int], sign: str, value: str, argument: str) -> BoolArray:
    """The rows of one category, or of any other."""
    text = value.strip("'\"")
    wanted = [j for j in own if design.columns[j].category == text]
    if sign not in ("==", "!=") or not wanted:
        known = [column.category for column in (design.columns[j] for j in own) if column.category]
        raise FormulationError(
            f"{argument}: {design.columns[own[0]].feature} has the values {', '.join(known)}; ask "
            f"for one of them with =, not {sign} {text}"
        )
    chosen = [j for j in own if (j in wanted) == (sign == "==")]
    return np.asarray((design.X[:, chosen] == 1.0).any(axis=1))


def _in_bins(design: Design, own: list[int], sign: str, number: float, argument: str) -> BoolArray:
    """The rows whose bin lies on one side of a number."""
    chosen = []
    for j in own:
        column = design.columns[j]
        if column.kind != "interval":
            continue
        inside = _bin_holds(column, sign, number)
        if inside is None:
            raise _undecided(design, own, sign, number, argument)
        if inside:
            chosen.append(j)
    return np.asarray((design.X[:, chosen] == 1.0).any(axis=1))


def _bin_holds(column: Column, sign: str, number: float) -> bool | None:
    """Whether all values of a bin [lower, upper) compare as asked, or none; None where some do."""
    low, high = column.lower, column.upper
    whole = {
        ">=": low >= number,
        ">": low > number,
        "<": high <= number,
        "<=": high <= number,
    }.get(sign, False)
    none = {
        ">=": high <= number,
        ">": high <= number,
        "<": low >= number,
        "<=": low > number,
    }.get(sign, False)
    if whole == none:
        return None
    return whole


def _past_cut(design: Design, own: list[int], sign: str, number: float, argument: str) -> BoolArray:
    """The rows on one side of a cut that is a column."""
    cut = [j for j in own if design.columns[j].kind == "step" and design.columns[j].lower == number]
    if sign not in (">=", "<") or not cut:
        raise _undecided(design, own, sign, number, argument)
    past = design.X[:, cut[0]] == 1.0
    missing = [
        j
        for j, column in enumerate(design.columns)
        if column.kind == "missing" and column.feature == design.columns[cut[0]].feature
    ]
    known = ~(design.X[:, missing] == 1.0).any(axis=1)
    return np.asarray((past if sign == ">=" else ~past) & known)


def _undecided(
    design: Design, own: list[int], sign: str, number: float, argument: str
) -> FormulationError:
    """The bins do not tell."""
    cuts = sorted({c.lower for c in (design.columns[j] for j in own) if np.isfinite(c.lower)})
    return FormulationError(
        f"{argument}: the bins of {design.columns[own[0]].feature} do not tell {sign} {number:g}; "
        f"they are cut at {', '.join(f'{cut:g}' for cut in cuts)}: use >= or < one of these, or "
        "pass a mask"
    )
