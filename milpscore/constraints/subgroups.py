"""The rows a limit on errors speaks of: conditions on columns and features, or a mask."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from milpscore.constraints.parts import columns_of, known_names
from milpscore.core.design import BoolArray, Column, Design
from milpscore.core.errors import FormulationError, near_matches

Where = str | Sequence[str] | Sequence[bool] | BoolArray | None

_COMPARE = {"<=": np.less_equal, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
            "=": np.equal, "<": np.less, ">": np.greater}  # fmt: skip
"""The comparisons a condition may make, longer signs before their beginnings."""


def plain_where(where: Any, argument: str) -> tuple[str, ...] | tuple[bool, ...] | None:
    """Return a subgroup as a tuple of conditions or of truth values; None for all rows."""
    if where is None:
        return None
    if isinstance(where, str):
        return (where,)
    entries = list(where) if isinstance(where, Iterable) else []
    if entries and all(isinstance(entry, str) for entry in entries):
        return tuple(entries)
    if entries and all(isinstance(entry, bool | np.bool_) for entry in entries):
        return tuple(bool(entry) for entry in entries)
    raise FormulationError(
        f"{argument}: where needs conditions such as 'Age >= 40', the name of a 0/1 column, or one "
        f"truth value per row, got {type(where).__name__}"
    )


def words(where: Any) -> str:
    """Name a subgroup in a sentence."""
    if where is None:
        return ""
    if isinstance(where[0], str):
        return f" where {' and '.join(where)}"
    return f" in a subgroup of {sum(where)} rows"


def rows_where(design: Design, where: Any, argument: str) -> BoolArray:
    """Return the rows of positive weight for which all conditions hold, shape (n,)."""
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
    """Return the rows for which one condition holds: a 0/1 column, or a comparison."""
    known, signs = known_names(design), re.compile("|".join(_COMPARE))
    condition = text.strip()
    if condition in known:
        return _is_one(design, condition, argument)
    for match in signs.finditer(condition):
        name, value = condition[: match.start()].strip(), condition[match.end() :].strip()
        if name in known and value:
            sign = "==" if match.group() == "=" else match.group()
            at = list(columns_of(design, name, argument))
            return _Condition(design, name, at, sign, value, argument).rows()
    first = signs.search(condition)
    name = condition if first is None else condition[: first.start()].strip()
    raise FormulationError(f"{argument}: where names {name!r}; {near_matches(name, known)}")


def _is_one(design: Design, name: str, argument: str) -> BoolArray:
    """Return the rows at which a 0/1 column is 1."""
    columns = list(columns_of(design, name, argument))
    values = design.X[:, columns]
    if len(columns) > 1 or not np.isin(values, (0.0, 1.0)).all():
        raise FormulationError(
            f"{argument}: {name} is not a 0/1 column; compare it, for example '{name} >= 1'"
        )
    return np.asarray(values[:, 0] == 1.0)


@dataclass(frozen=True)
class _Condition:
    """A comparison such as ``Age >= 40`` with the columns that its name stands for."""

    design: Design
    name: str
    at: list[int]
    sign: str
    value: str
    argument: str  # the constraint, for messages

    @property
    def columns(self) -> list[Column]:
        """The columns of the name."""
        return [self.design.columns[j] for j in self.at]

    def rows(self) -> BoolArray:
        """Return the rows at which it holds."""
        kinds = {column.kind for column in self.columns}
        if "category" in kinds:
            return self._category()
        try:
            number = float(self.value)
        except ValueError:
            raise FormulationError(
                f"{self.argument}: {self.name} is compared with {self.value!r}, which is not a "
                "number"
            ) from None
        if kinds == {"numeric"} and len(self.at) == 1:
            return np.asarray(_COMPARE[self.sign](self.design.X[:, self.at[0]], number))
        if "interval" in kinds:
            return self._in_bins(number)
        if "step" in kinds:
            return self._past_cut(number)
        raise FormulationError(
            f"{self.argument}: the values of {self.name} are not known: pass a mask"
        )

    def _category(self) -> BoolArray:
        """Return the rows of one category, or of any other."""
        text, columns = self.value.strip("'\""), self.columns
        wanted = [j for j, c in zip(self.at, columns, strict=True) if c.category == text]
        others = [other for column in columns for other in column.others]
        if self.sign not in ("==", "!=") or not (wanted or others == [text]):
            known = [*(column.category for column in columns if column.category), *others]
            raise FormulationError(
                f"{self.argument}: {columns[0].feature} has the values {', '.join(known)}; ask for "
                f"one of them that has a column, with =, not {self.sign} {text}"
            )
        # the one category without a column is where no column of the feature is 1
        inside = (self.design.X[:, wanted or self.at] == 1.0).any(axis=1) == bool(wanted)
        return np.asarray(inside if self.sign == "==" else ~inside)

    def _in_bins(self, number: float) -> BoolArray:
        """Return the rows whose bin lies on one side of a number."""
        bins = [j for j in self.at if self.design.columns[j].kind == "interval"]
        inside = [_bin_holds(self.design.columns[j], self.sign, number) for j in bins]
        if None in inside:
            raise self._undecided(number)
        chosen = [j for j, holds in zip(bins, inside, strict=True) if holds]
        return np.asarray((self.design.X[:, chosen] == 1.0).any(axis=1))

    def _past_cut(self, number: float) -> BoolArray:
        """Return the rows on one side of a cut that is a column."""
        X, columns = self.design.X, self.design.columns
        cut = [j for j in self.at if columns[j].kind == "step" and columns[j].lower == number]
        if self.sign not in (">=", "<") or not cut:
            raise self._undecided(number)
        past, feature = X[:, cut[0]] == 1.0, columns[cut[0]].feature
        missing = [j for j, c in enumerate(columns) if c.kind == "missing" and c.feature == feature]
        known = ~(X[:, missing] == 1.0).any(axis=1)
        return np.asarray((past if self.sign == ">=" else ~past) & known)

    def _undecided(self, number: float) -> FormulationError:
        """Return the error for a comparison that the bins do not decide."""
        cuts = sorted({column.lower for column in self.columns if np.isfinite(column.lower)})
        shown = ", ".join(f"{cut:g}" for cut in cuts)
        return FormulationError(
            f"{self.argument}: the bins of {self.columns[0].feature} do not decide {self.sign} "
            f"{number:g}; they are cut at {shown}: use >= or < one of these, or pass a mask"
        )


def _bin_holds(column: Column, sign: str, number: float) -> bool | None:
    """Return whether all values of a bin [lower, upper) compare as asked; None if only some do."""
    low, high = column.lower, column.upper
    whole, none = {
        ">=": (low >= number, high <= number),
        ">": (low > number, high <= number),
        "<": (high <= number, low >= number),
        "<=": (high <= number, low > number),
    }.get(sign, (False, False))
    return None if whole == none else whole
