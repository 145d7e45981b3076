"""A design: the checked matrix, its -1/+1 classes and weights, its columns, its grid."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from milpscore.core.errors import DataError

MAX_GRID_POINTS = 10**9
"""A grid finer than this across the data's range is indistinguishable from no grid."""


def common_step(values: npt.ArrayLike, most: int = MAX_GRID_POINTS) -> Fraction | None:
    """Greatest common divisor of all values, each read as the decimal it prints as.

    None where the largest one is more than ``most`` times that.
    """
    given = np.asarray(values, dtype=np.float64)
    if ((given == 0.0) | (given == 1.0)).all():
        return Fraction(1)
    array = np.abs(given).ravel()
    largest = Fraction(repr(float(array.max())))
    # The step of a part is at least the step of the whole: measured data are refused at once.
    if _fraction_step(array[:64], largest, most) is None:
        return None
    scaled = _scaled(array)
    if scaled is None:
        return _fraction_step(np.unique(array), largest, most)
    numbers, decimals = scaled
    step = Fraction(int(np.gcd.reduce(numbers)), 10**decimals)
    return step if largest / step <= most else None


def _scaled(array: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.int64], int] | None:
    """Non-negative values as whole multiples of a power of ten, and its number of decimals.

    None where some value has too many digits for this to be exact.
    """
    pending, digits = array, 15  # such a decimal is the shortest text of the double nearest to it
    for decimals in range(digits + 1):
        power = 10.0**decimals
        if array.max() * power >= 10.0**digits:
            return None
        pending = pending[np.rint(pending * power) / power != pending]
        if not pending.size:
            return np.rint(array * power).astype(np.int64), decimals
    return None


def _fraction_step(array: npt.NDArray[np.float64], largest: Fraction, most: int) -> Fraction | None:
    """Step of non-negative values one by one, given up as soon as it is too fine; 0 if all are."""
    step = Fraction(0)
    for value in array.tolist():
        step = _gcd(step, Fraction(repr(value)))
        if step and largest / step > most:
            return None
    return step


def _gcd(a: Fraction, b: Fraction) -> Fraction:
    """Greatest common divisor of two non-negative rationals."""
    whole = math.gcd(a.numerator * b.denominator, b.numerator * a.denominator)
    return Fraction(whole, a.denominator * b.denominator)


def on_grid(values: npt.ArrayLike, step: Fraction) -> npt.NDArray[np.int64]:
    """Return the values as whole multiples of ``step``."""
    array = np.asarray(values, dtype=np.float64)
    # The grid is bounded, so value * denominator / numerator is a few ulps from an integer.
    return np.rint(array * (step.denominator / step.numerator)).astype(np.int64)


def as_fraction(value: Any) -> Fraction:
    """An exact number: integers and fractions as they are, floats as the decimal they print as."""
    plain = value.item() if isinstance(value, np.generic) else value
    return Fraction(repr(plain)) if isinstance(plain, float) else Fraction(plain)


def unmasked(values: Any) -> Any:
    """What a masked array hides as missing, for nobody meant it to be read; all else as it is."""
    if not np.ma.is_masked(values):
        return values
    numbers = values.dtype.kind in "biuf"
    held = values.astype(np.result_type(values.dtype, np.float64) if numbers else object)
    return held.filled(np.nan)


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


ColumnKind = Literal["numeric", "interval", "step", "category", "missing", "total"]
"""How a design column reads its raw feature.

``numeric``   the raw value itself;
``interval``  1 iff ``lower <= value < upper`` (a bin of a one-hot block);
``step``      1 iff ``value >= lower`` (a cumulative threshold, "age >= 40");
``category``  1 iff the value equals ``category`` (one category of text or boolean data);
``missing``   1 iff the value is missing.
"""


@dataclass(frozen=True)
class CellRules:
    """How the cells of a feature are read that are not plain numbers or words.

    Attributes
    ----------
    na : tuple of str
        Cells that mean a missing value; numbers are compared by value.
    signs : str
        Of numbers in disguise: what stands before their decimals, then what stands between
        thousands, if anything does. Empty: plain numbers, or words.
    unit : str
        What stands around those numbers, in small letters.
    spelt : tuple of pairs of str
        Other spellings of categories, each with its category.
    """

    na: tuple[str, ...] = ()
    signs: str = ""
    unit: str = ""
    spelt: tuple[tuple[str, str], ...] = ()


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
    others : tuple of str
        Of a ``category`` column: further categories that are known and have no column of their own.
    cells : CellRules or None
        How the raw feature's cells are read; None: as they are.
    points : tuple of int
        Whole factors of the columns before it, whose sum a ``total`` column is; else empty.
    """

    name: str
    feature: str
    kind: ColumnKind = "numeric"
    lower: float = -math.inf
    upper: float = math.inf
    category: str | None = None
    others: tuple[str, ...] = ()
    cells: CellRules | None = None
    points: tuple[int, ...] = ()

    @property
    def is_indicator(self) -> bool:
        """Whether the column only takes the values 0 and 1 by construction."""
        return self.kind not in ("numeric", "total")


@dataclass(frozen=True)
class MergedRows:
    """The distinct (x, y) rows of a design with their summed weights."""

    X: FloatArray  # (m, p), in lexicographic order; a row of both classes occurs twice
    y: IntArray  # (m,), -1 or +1
    weight: FloatArray  # (m,); rows of weight zero are dropped
    inverse: IntArray  # (n,): for each raw row its merged row, or -1 where its weight is zero
    conflicts: IntArray  # (q, 2): (positive row, negative row) of equal x: any card errs on one

    def sums(self, values: FloatArray | IntArray) -> FloatArray:
        """What each row's raw rows have together, shape (m,), of values (n,)."""
        kept = self.inverse >= 0
        found = np.bincount(self.inverse[kept], values[kept], minlength=len(self.y))
        return np.asarray(found, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Design:
    """The data of a scoring problem, checked and ready to be put into a formulation.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Finite values, one column per :class:`Column`.
    y : ndarray of shape (n,)
        Classes, -1 or +1.
    weight : ndarray of shape (n,)
        Non-negative sample weights, class weights already multiplied in.
    columns : tuple of Column, length p
    blocks : tuple of tuples of int
        The ordered bins of each binned feature, as column indices; empty where nothing was binned.
    classes : (negative label, positive label)
        The two labels as the user wrote them.
    counts : ndarray of shape (n,) or None
        How many rows of the table each row stands for, where equal ones were merged while it was
        read (:func:`milpscore.data.read_patterns`); None: one each.
    class_factors : (Fraction, Fraction) or None
        The class weights that ``weight`` holds, of the negative and the positive class.
    """

    X: FloatArray
    y: IntArray
    weight: FloatArray
    columns: tuple[Column, ...]
    blocks: tuple[tuple[int, ...], ...] = ()
    classes: tuple[Any, Any] = (0, 1)
    warnings: tuple[str, ...] = field(default=())
    counts: IntArray | None = None
    class_factors: tuple[Fraction, Fraction] | None = None

    def __repr__(self) -> str:
        """Shape, blocks and labels; the values stay out."""
        (rows, columns), (negative, positive) = self.shape, self.classes
        blocks = f", {len(self.blocks)} blocks" if self.blocks else ""
        return f"<Design of {rows} rows x {columns} columns{blocks}: {positive!r} or {negative!r}>"

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, (n, p)."""
        return self.X.shape[0], self.X.shape[1]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(column.name for column in self.columns)

    @property
    def recipe(self) -> dict[str, Any]:
        """How it was made of the rows of a table, for a certificate; empty if it holds them."""
        return {}

    @property
    def unpaired(self) -> Design:
        """The rows of the table: itself, unless its rows are pairs of them."""
        return self

    def of_rows(self, rows: IntArray) -> Self:
        """Return the design of some of its rows."""
        counts = None if self.counts is None else self.counts[rows]
        return replace(
            self, X=self.X[rows], y=self.y[rows], weight=self.weight[rows], counts=counts
        )

    @cached_property
    def rows(self) -> IntArray:
        """How many rows of the table each row stands for, shape (n,)."""
        return np.ones(len(self.y), dtype=np.int64) if self.counts is None else self.counts

    @property
    def equal_rows(self) -> bool:
        """Whether all rows of the table that count weigh the same."""
        counted = self.weight > 0
        return bool(np.ptp(self.weight[counted] / self.rows[counted]) == 0)

    @cached_property
    def exact_weight(self) -> dict[tuple[int, float], Fraction]:
        """Return what the weights are in exact numbers, by class (-1 or +1) and weight.

        A sample weight is the decimal it prints as; n / (2 n_c), by which "balanced" multiplies it,
        is rarely a decimal.
        """
        found: dict[tuple[int, float], Fraction] = {}
        for side, factor in zip((-1, 1), self.class_factors or (None, None), strict=True):
            for weight in np.unique(self.weight[self.y == side]).tolist():
                found[side, weight] = as_fraction(weight)
                if factor:
                    own = float(f"{weight / float(factor):.15g}")
                    if own * float(factor) == weight:
                        found[side, weight] = as_fraction(own) * factor
        return found

    @cached_property
    def exact_sum(self) -> Fraction:
        """Return the sum of the exact weights."""
        total = Fraction(0)
        for side in (-1, 1):
            each, count = np.unique(self.weight[self.y == side], return_counts=True)
            for weight, times in zip(each.tolist(), count.tolist(), strict=True):
                total += self.exact_weight[side, weight] * times
        return total

    @cached_property
    def step(self) -> Fraction | None:
        """Greatest common divisor of all values, read as decimals; None where there is no grid."""
        return common_step(self.X)

    @cached_property
    def fine_step(self) -> Fraction | None:
        """The same of totals that are only compared: as fine as floats tell them apart."""
        return self.step or common_step(self.X, 10**11)

    @cached_property
    def last_bit(self) -> int:
        """The exponent of the last binary digit of any value."""
        mantissa, exponent = np.frexp(self.X[self.X != 0.0])
        if not len(mantissa):
            return 0
        digits = np.ldexp(mantissa, 53).astype(np.int64)
        last = np.log2((digits & -digits).astype(np.float64)).astype(np.int64)
        return int((last + exponent).min()) - 53

    @cached_property
    def merged(self) -> MergedRows:
        """Distinct weighted rows, and which pairs of them contradict each other."""
        return merge_rows(self.X, self.y, self.weight)

    @cached_property
    def widths(self) -> FloatArray:
        """Return per column the largest less the smallest value of rows with weight, shape (p,)."""
        X = self.merged.X
        found: FloatArray = X.max(axis=0) - X.min(axis=0)
        return found

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the distinct rows in order, their numbers and weights, and column names.

        It names the data of a card, the same in whatever order and parts they were read; so of
        weights, which may be added up in several ways, only seven digits count.
        """
        digest, merged = hashlib.sha256(), self.merged
        counts = merged.sums(self.rows).astype(np.int64)
        for array in (merged.X, merged.y, counts, merged.weight.astype(np.float32)):
            digest.update(np.ascontiguousarray(array).tobytes())
        digest.update("\x00".join(self.names).encode())
        return digest.hexdigest()

    def count_terms(self, w: npt.ArrayLike, tol: float = 1e-9) -> int:
        """Raw features that matter: points that differ within a block, or any on another column."""
        points = np.asarray(w, dtype=np.float64)
        binned = {j for block in self.blocks for j in block}
        used = {
            self.columns[block[0]].feature
            for block in self.blocks
            if np.ptp(points[list(block)]) > tol
        }
        others = np.flatnonzero(np.abs(points) > tol).tolist()
        used |= {self.columns[j].feature for j in others if j not in binned}
        return len(used)

    def index(self, column: str | int) -> int:
        """Position of a column given by name or position; KeyError where there is none."""
        if isinstance(column, str):
            return {name: j for j, name in enumerate(self.names)}[column]
        if not 0 <= column < len(self.columns):
            raise KeyError(column)
        return int(column)


def merge_rows(X: FloatArray, y: Sequence[int] | IntArray, weight: FloatArray) -> MergedRows:
    """Merge equal (x, y) rows into weighted rows and list the contradicting pairs."""
    y = np.asarray(y, dtype=np.int64)
    kept = np.flatnonzero(weight > 0)
    counted = X if len(kept) == len(X) else X[kept]
    first, x_of_row = _distinct_rows(counted)
    key = 2 * x_of_row + (y[kept] > 0)
    present = np.bincount(key) > 0
    keys = np.flatnonzero(present)
    inverse_kept = (np.cumsum(present) - 1)[key]
    merged_weight = _sums(inverse_kept, weight[kept], len(keys))
    inverse = np.full(len(y), -1, dtype=np.int64)
    inverse[kept] = inverse_kept
    # keys are sorted, so the two classes of one x are neighbours: negative first, then positive.
    same_x = np.flatnonzero(keys[1:] // 2 == keys[:-1] // 2)
    return MergedRows(
        X=counted[first[keys // 2]] + 0.0,  # -0.0 and 0.0 are one value
        y=np.where(keys % 2 == 1, 1, -1).astype(np.int64),
        weight=merged_weight,
        inverse=inverse,
        conflicts=np.stack([same_x + 1, same_x], axis=1).astype(np.int64),
    )


def _sums(group: IntArray, weight: FloatArray, count: int) -> FloatArray:
    """The sum of each group's weights, rounded once: the same in whatever order they come."""
    summed: FloatArray = np.bincount(group, weights=weight, minlength=count).astype(np.float64)
    if (np.floor(weight) == weight).all() and summed.max(initial=0.0) < 2.0**52:
        return summed  # no sum of whole numbers is rounded
    order = np.lexsort((weight, group))
    ordered, ends = weight[order], np.cumsum(np.bincount(group, minlength=count))
    starts = np.append(0, ends[:-1])
    summed = ordered[starts] * (ends - starts)  # of equal weights
    for k in np.flatnonzero(ordered[starts] != ordered[ends - 1]).tolist():
        summed[k] = math.fsum(ordered[starts[k] : ends[k]])
    return summed


def count_distinct(X: FloatArray) -> int:
    """Return the number of distinct rows of finite numbers."""
    return len(_distinct_rows(X)[0])


def _distinct_rows(X: FloatArray) -> tuple[IntArray, IntArray]:
    """A place of each distinct row, in lexicographic order, and the distinct row of each row."""
    if not X.size:
        return np.arange(len(X[:1])), np.zeros(len(X), dtype=np.int64)
    keys = _sorting_keys(X)
    order = np.lexsort(keys[::-1]) if len(keys) > 1 else np.argsort(keys[0])
    first = np.zeros(len(X), dtype=bool)
    first[0] = True
    for key in keys:
        ordered = key[order]
        first[1:] |= ordered[1:] != ordered[:-1]
    inverse = np.empty(len(X), dtype=np.int64)
    inverse[order] = np.cumsum(first) - 1
    return order[first], inverse


def _sorting_keys(X: FloatArray) -> list[FloatArray]:
    """Return columns by which rows sort as by those of X, those of small whole numbers packed."""
    # floats hold whole numbers below 2^53 exactly: several columns make one number, the first one
    # its highest digit, and a few keys are sorted instead of many columns
    packed = 2.0**52
    if ((X == 0.0) | (X == 1.0)).all():
        low, width = np.zeros(X.shape[1]), np.full(X.shape[1], 2.0)
        small = np.ones(X.shape[1], bool)
    else:
        low = X.min(axis=0)
        width = X.max(axis=0) - low + 1.0
        small = (width <= packed) & (np.abs(low) <= packed) & (np.floor(X) == X).all(axis=0)
    keys, start = [], 0
    while start < len(width):
        end, room = start, packed
        while end < len(width) and small[end] and width[end] <= room:
            room /= width[end]
            end += 1
        if end <= start + 1:
            keys.append(np.ascontiguousarray(X[:, start]))
            start += 1
            continue
        digits = np.append(np.cumprod(width[start + 1 : end][::-1])[::-1], 1.0)
        part = X[:, start:end]
        keys.append((part - low[start:end] if low[start:end].any() else part) @ digits)
        start = end
    return keys


def plain_label(label: Any) -> bool | int | float | str:
    """Return a class label as a plain Python value."""
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise DataError(
        f"neither card nor certificate can carry the label {label!r} of type "
        f"{type(label).__name__}; recode the target as text, whole numbers or true/false"
    )
