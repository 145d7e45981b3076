"""Where columns are cut, and which are left out: what a Binner learns, free of scikit-learn."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from numbers import Integral
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from milpscore.core.design import Column, Design, FloatArray, unmasked
from milpscore.core.errors import DataError, Message, OptionError, listing, near_matches
from milpscore.data.cells import questioned, with_cells
from milpscore.data.checking import (
    CODES,
    as_frame,
    categories_of,
    distinct_rows,
    far_value,
    known_rows,
    missing_counts,
    named_features,
    odd_text,
    ordering,
    raw_kind,
    reading_remarks,
    refuse_missing,
    row_weights,
    to_numbers,
    why_useless,
    zero_one_names,
)
from milpscore.data.columns import (
    Unseen,
    bin_columns,
    category_columns,
    check_thresholds,
    column_values,
    missing_column,
    numeric_column,
    quantile_cuts,
    refuse_equal_names,
    short_cuts,
    step_columns,
)
from milpscore.data.designs import classed, doubts
from milpscore.data.policy import POLICY

_CHOICES = {
    "encoding": ("onehot", "cumulative"),
    "missing": ("error", "bin"),
    "unseen": ("error", "zero"),
    "useless": ("drop", "keep"),
}


_UNCOMMON = "text of many categories, none of them frequent"
_QUESTIONS = ("identifier", "text of its own in most rows", _UNCOMMON, CODES)
"""Reasons to leave a feature out that its user may know better."""

_ASK_BACK = "Name it beside the others in {features}."

_READ_OTHERWISE = ("is read as numbers", "far outside its other values", "is text, though most")
"""What is said of columns whose cells may mean something else."""


def questions(remarks: Sequence[str]) -> list[str]:
    """Return the remarks that ask whether a feature was rightly left out, or rightly read."""
    asked = (_ASK_BACK, *_READ_OTHERWISE)
    return [
        remark
        for remark in remarks
        if any(part in getattr(remark, "template", remark) for part in asked)
    ]


_AUTO = ("n_bins", "auto")
_BINS = ((120, 3), (200, 5), (math.inf, 10))
"""Rows of the rarer class below which these bins per feature do as well on other rows as more."""
ENOUGH = _BINS[-2][0]
"""Rows of the rarer class beyond which more of them change nothing."""

_SHOWN = 8
"""Columns left out that are named."""


@dataclass(frozen=True)
class Made:
    """Columns feature by feature, their blocks, remarks, what was left out and why, given cuts."""

    columns: list[Column]
    blocks: list[tuple[int, ...]]
    remarks: list[str]
    left_out: dict[str, str]
    cuts: Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Learned:
    """Columns, the bins of each feature in order, and what should be said about them.

    ``unlike``: no column says what another says, or nothing. ``values`` are those of the columns
    on all rows; None where they were learned of some.
    """

    columns: tuple[Column, ...]
    blocks: tuple[tuple[int, ...], ...]
    remarks: tuple[str, ...]
    unlike: bool
    values: FloatArray | None


@dataclass(frozen=True, kw_only=True)
class Cutting:
    """How a table becomes columns: the parameters of :class:`milpscore.data.Binner`."""

    n_bins: int | Literal["auto"] | None = "auto"
    thresholds: Mapping[str, Sequence[float]] | None = None
    encoding: Literal["onehot", "cumulative"] = "cumulative"
    missing: Literal["error", "bin"] = "bin"
    max_distinct: int = 10
    digits: int | None = 4
    useless: Literal["drop", "keep"] = "drop"
    unseen: Unseen = "zero"
    features: Sequence[str] | None = None

    def design(self, X: Any, y: Any, *, sample_weight: Any = None, **labels: Any) -> Design:
        """The design of a table in the columns learned of it."""
        frame = as_frame(X)
        return self.design_of(
            frame, self.learned(frame, sample_weight, y), y, sample_weight, **labels
        )

    def design_of(
        self, frame: pd.DataFrame, learned: Learned, y: Any, sample_weight: Any, **labels: Any
    ) -> Design:
        """The design of a table in columns that were learned of it."""
        values = learned.values
        if values is None:
            values = column_values(learned.columns, frame, self.unseen)
        own = classed(y, len(frame), sample_weight, **labels)
        more = () if learned.unlike else doubts(values, learned.columns)
        return Design(
            values, columns=learned.columns, blocks=learned.blocks,
            warnings=(*learned.remarks, *more), **own,
        )  # fmt: skip

    def learned(self, frame: pd.DataFrame, sample_weight: Any = None, y: Any = None) -> Learned:
        """The columns of a table whose names are clean; of labels the number alone counts."""
        self.check()
        frame = questioned(frame)
        if self.missing == "error":
            refuse_missing(missing_counts(frame))
        weight = row_weights(sample_weight, len(frame))
        counted = weight > 0
        if not counted.all():
            frame, weight = frame.loc[counted], weight[counted]
        cumulative = self.encoding == "cumulative"
        plain, numbers = zero_one_names(frame) if cumulative else (frozenset[str](), None)
        table = frame if numbers is None else numbers
        bins = cache(lambda: bins_for(_rarer(table, y, counted)))
        kept, orders = named_features(frame), ordering(y, counted)
        made = self.columns_of(frame, lambda name: weight, plain, kept, orders, bins, len(frame))
        made.remarks[:0] = reading_remarks(frame)
        uncut = len(plain) == frame.shape[1] and not self.thresholds
        values = _values(made.columns, frame, numbers if uncut else None)
        learned = self.without_repeated(made, values, len(frame), bool(counted.all()))
        return replace(learned, columns=tuple(with_cells(learned.columns, frame)))

    def columns_of(
        self,
        table: Any,
        weights: Callable[[str], FloatArray],
        plain: Collection[str],
        kept: Collection[str],
        orders: Callable[[pd.Series[Any]], bool],
        bins: Callable[[], int],
        count: int,
    ) -> Made:
        """The columns of each feature by its own values: those of all rows, or each value once.

        ``table`` maps names to the values and ``weights`` to their weights; ``plain`` are columns
        of 0 and 1, ``kept`` are never left out, ``orders`` says whether numbers order the label,
        ``count`` is the number of rows, and ``bins`` how many bins to make.
        """
        cuts, cumulative = self._checked_thresholds(table), self.encoding == "cumulative"
        made = Made([], [], [], {}, cuts)
        for name in table:
            if cumulative and name in plain and name not in cuts:
                made.columns.append(numeric_column(name))
                continue
            series = table[name]
            if self.drops(name, kept) and (why := why_useless(series, count, orders)):
                made.left_out[name] = why
                continue
            found, remark = self._columns_of(series, cuts.get(name), weights(name), bins, count)
            many = len(found) > POLICY.many_categories and self.drops(name, kept)
            if many and raw_kind(series) == "text":
                found, remark = _grouped(series, found, weights(name))
                if not found:
                    made.left_out[name] = _UNCOMMON
                    continue
            if remark:
                made.remarks.append(remark)
            block = tuple(
                len(made.columns) + k
                for k, c in enumerate(found)
                if c.kind in {"interval", "category"}
            )
            if block and self.encoding == "onehot":
                made.blocks.append(block)
            made.columns.extend(found)
        refuse_equal_names(made.columns)
        return made

    def without_repeated(
        self, made: Made, values: FloatArray, count: int, complete: bool = True
    ) -> Learned:
        """What was made of ``count`` rows, less the columns whose values repeat others.

        ``complete``: these are the values of all rows.
        """
        columns, blocks, left_out = made.columns, made.blocks, made.left_out
        unlike = False
        if self.useless == "drop" and columns:
            fixed = {j for block in blocks for j in block}
            # a card that knows no column for missing values refuses them
            fixed |= {
                j for j, c in enumerate(columns) if c.feature in made.cuts or c.kind == "missing"
            }
            unlike = not fixed
            if repeated := _repeated(values, columns, fixed):
                left_out |= _named(columns, repeated)
                values = np.delete(values, list(repeated), axis=1)
                columns, blocks = _without(columns, blocks, repeated)
        if not columns:
            raise DataError(
                f"every feature has one value only ({{n_samples}}) or is of no use to a"
                f" card: {_listed(left_out)}, so there is nothing to cut; use more rows, other"
                ' features, or useless="keep" (--raw).',
                n_samples=count,
            )
        made.remarks[:0] = said_of(left_out)
        every = values if complete else None
        return Learned(tuple(columns), tuple(blocks), tuple(made.remarks), unlike, every)

    def drops(self, name: str, kept: Collection[str] = ()) -> bool:
        """Return whether a feature is left out if it is of no use to a card."""
        asked = (*kept, *(self.features or ()), *(self.thresholds or {}))
        return self.useless == "drop" and name not in asked

    def check(self) -> None:
        """Refuse parameters outside their ranges."""
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise OptionError(
                    f"{{argument}}; use one of {allowed}.", argument=name, value=getattr(self, name)
                )
        asked = self.features or ()
        if isinstance(asked, str) or not all(isinstance(name, str) for name in asked):
            raise OptionError("{features}; use a list of names.", features=asked)
        numbers = (
            ("n_bins", 2, 'of at least 2, "auto" or None'),
            ("max_distinct", 0, ">= 0"),
            ("digits", 1, "of at least 1, or None"),
        )
        for name, least, words in numbers:
            value = getattr(self, name)
            whole = isinstance(value, Integral) and not isinstance(value, bool)
            named = (value is None and name != "max_distinct") or (name, value) == _AUTO
            if not ((whole and value >= least) or named):
                raise OptionError(
                    f"{{argument}}; use a whole number {words}.", argument=name, value=value
                )

    def _checked_thresholds(self, table: Any) -> dict[str, list[float]]:
        cuts = check_thresholds(self.thresholds or {})
        for what, names in (("thresholds", cuts), ("features", self.features or ())):
            for name in names:
                if name not in table:
                    raise DataError(
                        f"{what} name {name!r}, which is not a column;"
                        f" {near_matches(name, list(table))}"
                    )
        for feature in cuts:
            if raw_kind(table[feature]) != "numeric":
                raise DataError(
                    f"thresholds name {feature!r}, which is not numeric; its categories become"
                    " columns without thresholds."
                )
        return cuts

    def _columns_of(
        self,
        series: pd.Series[Any],
        given: list[float] | None,
        weight: FloatArray,
        bins: Callable[[], int],
        count: int,
    ) -> tuple[list[Column], str | None]:
        """Columns of one feature, and what should be said about it."""
        name = str(series.name)
        remark = odd_text(series, count)
        known = known_rows(series)
        if raw_kind(series) != "numeric":
            columns = category_columns(series)
        else:
            values = to_numbers(series)[known]
            remark = far_value(name, values, weight[known])
            cuts = self._cuts(values, weight[known], bins) if given is None else np.array(given)
            if cuts is None:
                columns = [numeric_column(name)]
            elif self.encoding == "onehot":
                columns = bin_columns(name, cuts.tolist())
            else:
                columns = step_columns(name, cuts.tolist())
            if cuts is not None and not len(cuts):
                fate = f"becomes {listing(c.name for c in columns)}" if columns else "is left out"
                remark = f"feature {name!r} {self._why_uncut(series, values)} and {fate}."
        if not known.all():
            columns.append(missing_column(name))
        return columns, remark

    def _why_uncut(self, series: pd.Series[Any], values: FloatArray) -> str:
        """Return why no cut parts the values of a feature."""
        if len(np.unique(values)) > 1:
            return f"has values that numbers of {self.digits} digits do not part (digits=None does)"
        return f"holds {CODES}," if series.nunique() > 1 else "has fewer than two distinct values"

    def _cuts(
        self, values: FloatArray, weight: FloatArray, bins: Callable[[], int]
    ) -> FloatArray | None:
        """Cut points of a feature without thresholds; None leaves it as it is."""
        if self.n_bins is None:
            return None
        distinct = np.unique(values + 0.0)
        if self.encoding == "cumulative" and np.array_equal(distinct, (0.0, 1.0)):
            return None  # beside missing values, or as booleans
        if len(distinct) <= max(self.max_distinct, 1):
            cuts = distinct[1:]
        else:
            count = bins() if self.n_bins == "auto" else int(self.n_bins)
            cuts = quantile_cuts(values, count, weight)
        return cuts if self.digits is None else short_cuts(values, cuts, int(self.digits))


def _grouped(
    series: pd.Series[Any], columns: list[Column], weight: FloatArray
) -> tuple[list[Column], str | None]:
    """The frequent categories of a text column of many, the others known without a column."""
    codes, texts = categories_of(series)
    mass = np.bincount(codes[codes >= 0], weight[codes >= 0], minlength=len(texts))
    frequent = np.flatnonzero(mass >= POLICY.frequent_rows)
    own = set(
        np.sort(
            frequent[np.argsort(-mass[frequent], kind="stable")][: POLICY.many_categories]
        ).tolist()
    )
    rest = tuple(text for k, text in enumerate(texts) if k not in own)
    found = [c for k, c in enumerate(columns) if k in own or c.kind != "category"]
    if not own:
        return [], None
    found[0] = replace(found[0], others=rest)
    said = (
        f"text column {str(series.name)!r} has {len(texts)} categories: the {len(own)} most"
        f" frequent have a column each, the other {len(rest)} none. --features keeps all."
    )
    odd = odd_text(series) or ""
    return found, f"{said} {odd[0].upper()}{odd[1:]}" if _READ_OTHERWISE[-1] in odd else said


def _listed(left_out: Mapping[str, str]) -> str:
    """Features with the reasons they are left out for; of many the first."""
    said = ", ".join(f"{name!r} ({why})" for name, why in [*left_out.items()][:_SHOWN])
    return said + (f" and {len(left_out) - _SHOWN} more" if len(left_out) > _SHOWN else "")


def said_of(left_out: Mapping[str, str]) -> list[str]:
    """What is said of the features that are left out, if there are any."""
    if not left_out:
        return []
    asked = [name for name, why in left_out.items() if why in _QUESTIONS]
    back = f" Is {listing(asked)} a measurement? {_ASK_BACK}" if asked else ""
    said = f"left out, of no use to a card: {_listed(left_out)}.{back}"
    return [Message(said, features=...)]


def _values(
    columns: Sequence[Column], frame: pd.DataFrame, numbers: FloatArray | None
) -> FloatArray:
    """The values of columns; ``numbers`` are those of columns of 0 and 1, where all are."""
    if numbers is not None:
        return np.array(numbers, order="C")  # nobody else's to change
    return column_values(columns, frame) if columns else np.empty((len(frame), 0))


def bins_for(rarer: float) -> int:
    """Bins a feature by the distinct rows of the rarer label; past ``ENOUGH`` they stay."""
    return next(bins for below, bins in _BINS if rarer < below)


def _rarer(table: pd.DataFrame | FloatArray, y: Any, counted: npt.NDArray[np.bool_]) -> float:
    """The distinct rows of the rarer of two labels; else half of all distinct rows."""
    labels = None if y is None else np.asarray(unmasked(y)).ravel()
    if labels is not None and len(labels) == len(counted):
        codes, found = pd.factorize(labels[counted])
        if len(found) == 2:
            return min(distinct_rows(table[codes == k], ENOUGH) for k in (0, 1))
    return distinct_rows(table, 2 * ENOUGH) / 2


def _repeated(
    values: FloatArray, columns: Sequence[Column], fixed: Collection[int]
) -> dict[int, str]:
    """Columns that say nothing or what another says, or its reverse, and why; ``fixed`` stay.

    Of two categories the second is kept ("yes" rather than "no"), else the column that comes first.
    """
    found: dict[int, str] = {}
    first: dict[tuple[bool, bytes], int] = {}
    differ = values != values[:1]
    varied = differ.any(axis=0)
    logical = ((values == 0.0) | (values == 1.0)).all(axis=0)
    packed = np.packbits(np.ascontiguousarray(differ.T), axis=1)
    for j in _second_first(columns):
        if not varied[j]:
            why = "one value"
        else:
            text = (packed[j] if logical[j] else values[:, j] + 0.0).tobytes()
            k = first.setdefault((bool(logical[j]), text), j)
            same = bool(values[0, j] == values[0, k])
            why = "" if k == j else f"{'as' if same else 'the reverse of'} {columns[k].name!r}"
        if why and j not in fixed:
            found[j] = why
    return dict(sorted(found.items()))


def _named(columns: Sequence[Column], repeated: Mapping[int, str]) -> dict[str, str]:
    """What is said of repeated columns: of cuts only where none of a feature is left."""
    kept = {column.feature for j, column in enumerate(columns) if j not in repeated}
    return {
        columns[j].feature if columns[j].kind == "step" else columns[j].name: why
        for j, why in repeated.items()
        if columns[j].kind != "step" or columns[j].feature not in kept
    }


def _second_first(columns: Sequence[Column]) -> list[int]:
    """All positions in order, but the second category of two before the first."""
    places: dict[str, list[int]] = {}
    for j, column in enumerate(columns):
        if column.kind == "category":
            places.setdefault(column.feature, []).append(j)
    order = list(range(len(columns)))
    for pair in places.values():
        if len(pair) == 2:
            order[pair[0]], order[pair[1]] = pair[1], pair[0]
    return order


def _without(
    columns: Sequence[Column], blocks: Sequence[Sequence[int]], gone: Collection[int]
) -> tuple[list[Column], list[tuple[int, ...]]]:
    """Columns and blocks without some columns; a feature's categories stay known without them."""
    kept = [j for j in range(len(columns)) if j not in gone]
    place = {j: k for k, j in enumerate(kept)}
    others: dict[str, list[str]] = {}
    for j in gone:
        if columns[j].others:
            others.setdefault(columns[j].feature, []).extend(columns[j].others)
        if (category := columns[j].category) is not None:
            others.setdefault(columns[j].feature, []).append(category)
    made = [
        replace(columns[j], others=(*columns[j].others, *others.pop(columns[j].feature)))
        if columns[j].kind == "category" and columns[j].feature in others
        else columns[j]
        for j in kept
    ]
    return made, [tuple(place[j] for j in block) for block in blocks]
