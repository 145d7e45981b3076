"""What the 0-1 tree minimises, and what it answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import DataError, OptionError
from milpscore.core.result import Termination, TracePoint, relative_gap

Accept = Callable[[IntArray, int], bool]
"""Whether a complete card (w, T) meets the constraints that are no part of the arrays."""

_MOST_VALUES = 1_000_000
_MOST_TOTAL = 1 << 60


@dataclass(frozen=True, eq=False)
class ZeroOneProblem:
    """min (weight in error)/S + l0_penalty |w|_0 + l1_penalty |w|_1 over whole w and T.

    A row is answered positive iff w.x >= T (a tie is positive); S is the sum of the weights.

    Attributes
    ----------
    X : int array of shape (n, p)
        Rows in units of the data's grid step, so that totals are whole; need not be distinct.
    y : int array of shape (n,)
        Classes, -1 or +1.
    lower, upper : int arrays of shape (p,)
        Each coefficient's range.
    sample_weight : ndarray of shape (n,), optional
        Not negative, with a positive sum; 1 each by default.
    sets : mapping of feature to whole numbers
        Replaces the range of those features.
    max_terms : int, optional
        At most so many nonzero coefficients.
    l0_penalty, l1_penalty : float
        Paid per nonzero coefficient, and per point.
    t_lower, t_upper : int, optional
        Bounds on T in units of the grid step; None for no bound.
    accept : callable, optional
        Of complete cards (w, T); asked of every T within the bounds that would improve, so both
        bounds are needed beside it.

    Raises
    ------
    DataError
        Arrays of unlike shapes, X not of whole numbers, y not -1/+1, weights that make no sense.
    OptionError
        Empty ranges or sets, penalties below 0, totals beyond 2^60.
    """

    X: IntArray
    y: IntArray
    lower: IntArray
    upper: IntArray
    sample_weight: FloatArray | None = None
    sets: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    max_terms: int | None = None
    l0_penalty: float = 0.0
    l1_penalty: float = 0.0
    t_lower: int | None = None
    t_upper: int | None = None
    accept: Accept | None = None

    def __post_init__(self) -> None:
        """Check everything once, so that the engine need not."""
        self._check_arrays()
        self._check_options()
        self._check_ranges()

    @property
    def terms(self) -> int:
        """How many coefficients may be nonzero."""
        p = self.X.shape[1]
        return int(p if self.max_terms is None else min(self.max_terms, p))

    @property
    def weight(self) -> FloatArray:
        """The rows' weights, shape (n,)."""
        if self.sample_weight is None:
            return np.ones(len(self.y))
        return np.asarray(self.sample_weight, dtype=np.float64)

    def choices(self, j: int) -> IntArray:
        """The values coefficient j may take, ascending."""
        if j in self.sets:
            return np.array(sorted({int(v) for v in self.sets[j]}), dtype=np.int64)
        return np.arange(int(self.lower[j]), int(self.upper[j]) + 1, dtype=np.int64)

    def allows(self, w: IntArray, threshold: int) -> bool:
        """Whether a card keeps ranges, terms and the bounds on T (``accept`` is not asked)."""
        if np.shape(w) != (self.X.shape[1],) or int(np.count_nonzero(w)) > self.terms:
            return False
        if any(int(v) not in self.choices(j) for j, v in enumerate(w)):
            return False
        return self.threshold_range[0] <= threshold <= self.threshold_range[1]

    @property
    def threshold_range(self) -> tuple[int, int]:
        """The bounds on T, so far out where there are none that no total is beyond."""
        return (
            -_MOST_TOTAL if self.t_lower is None else int(self.t_lower),
            _MOST_TOTAL if self.t_upper is None else int(self.t_upper),
        )

    def objective(self, w: IntArray, threshold: int) -> float:
        """The objective of a card, from the raw rows."""
        penalty = self.l0_penalty * np.count_nonzero(w) + self.l1_penalty * np.abs(w).sum()
        return self.error_weight(w, threshold) / math.fsum(self.weight) + float(penalty)

    def error_weight(self, w: IntArray, threshold: int) -> float:
        """The weight of the rows a card errs on, correctly rounded."""
        answer = np.where(self.X @ np.asarray(w, dtype=np.int64) >= threshold, 1, -1)
        return math.fsum(self.weight[answer != self.y])

    def _check_arrays(self) -> None:
        shape = np.shape(self.X)
        if len(shape) != 2 or shape[0] == 0 or np.shape(self.y) != shape[:1]:
            raise DataError(
                f"X has shape {shape} and y {np.shape(self.y)}: give (n, p) and (n,), n >= 1"
            )
        if not np.issubdtype(self.X.dtype, np.integer):
            raise DataError(
                f"X holds {self.X.dtype}, not whole numbers: divide it by the data's grid step, "
                "or bin the columns"
            )
        if not np.isin(self.y, (-1, 1)).all():
            raise DataError("y must hold -1 and +1 only")
        weight = self.weight
        if (
            weight.shape != np.shape(self.y)
            or not np.isfinite(weight).all()
            or weight.min() < 0
            or weight.sum() <= 0
        ):
            raise DataError("sample_weight must be n finite numbers >= 0 with a positive sum")

    def _check_options(self) -> None:
        for name in ("l0_penalty", "l1_penalty"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise OptionError(f"{name} must be a finite number >= 0, got {value!r}")
        if self.max_terms is not None and self.max_terms < 0:
            raise OptionError(f"max_terms must be >= 0, got {self.max_terms!r}")
        low, high = self.threshold_range
        if low > high:
            raise OptionError(f"no threshold lies in [{low}, {high}]: widen the bounds")
        if self.accept is not None and (self.t_lower is None or self.t_upper is None):
            raise OptionError("accept is asked of every threshold: give t_lower and t_upper")

    def _check_ranges(self) -> None:
        p = self.X.shape[1]
        if np.shape(self.lower) != (p,) or np.shape(self.upper) != (p,):
            raise OptionError(f"lower and upper must have shape ({p},), as X has {p} columns")
        values, largest = 0, 0
        for j in range(p):
            width = (
                len(self.sets[j]) if j in self.sets else int(self.upper[j]) - int(self.lower[j]) + 1
            )
            if width < 1:
                raise OptionError(f"feature {j} has no value to take: its range or set is empty")
            values += width
            if values > _MOST_VALUES:
                raise OptionError(
                    f"the coefficients take more than {_MOST_VALUES} values together: narrow the "
                    "ranges"
                )
            points = self.choices(j)
            size = max(abs(int(self.X[:, j].min())), abs(int(self.X[:, j].max())))
            largest += size * max(abs(int(points[0])), abs(int(points[-1])))
        if largest >= _MOST_TOTAL:
            raise OptionError("totals reach 2^60: give the columns a larger unit, or bin them")


@dataclass(frozen=True, eq=False)
class ZeroOneAnswer:
    """What a search found and proved.

    Attributes
    ----------
    w, threshold : int array of shape (p,) and int, or None
        The best accepted card; None where none was found.
    objective : float
        Its objective, infinite without one.
    error_weight : float
        The weight of the rows it errs on; NaN without one.
    bound : float
        No accepted card is below it.
    nodes : int
        Partial weight vectors bounded, complete ones among them.
    supports, opened : int
        Supports bounded by their cells, and those whose weights had to be walked.
    termination : Termination
    trace : list of TracePoint
    """

    w: IntArray | None
    threshold: int | None
    objective: float
    error_weight: float
    bound: float
    nodes: int
    supports: int
    opened: int
    termination: Termination
    trace: list[TracePoint]

    @property
    def gap(self) -> float:
        """(objective - bound) / |objective|, 0 where both are 0."""
        return relative_gap(self.objective, self.bound)
