"""What the tree search minimises, and what it answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import DataError, OptionError
from milpscore.core.result import Termination, TracePoint
from milpscore.core.terms import SmoothLoss

Accept = Callable[[IntArray, float], bool]
"""Whether a complete card (w, b) meets the constraints that are no part of the arrays."""

Possible = Callable[[IntArray], bool]
"""Whether any card with these decisions may be accepted: 1 in, 0 undecided, -1 out, shape (p,).

A feature "in" may still have 0 points, so only "out" is a promise: never answer False because too
many are in.
"""

Mend = Callable[[IntArray, float], tuple[IntArray, float] | None]
"""Another card that is accepted, made of one; None where none was found."""

_MOST_POINTS = 2_000_000


class ConvexTerm(Protocol):
    """lam * Omega: every separable convex penalty of milpscore, or any norm with a ``prox``.

    Of a separable one (``separable`` true) only the values count. Another one needs either
    ``subgradient(w)``, or ``prox``, ``conjugate`` and ``dual_scale``, as every norm of
    :mod:`milpscore.penalties` has; ``nearby(w)``, giving (weight, ridge), both of shape (p,), of a
    local model sum_j weight_j |w_j| + ridge_j w_j^2 / 2, makes the steps better.
    """

    @property
    def separable(self) -> bool:
        """Whether the penalty is a sum over the coefficients."""
        ...

    def value(self, w: FloatArray | IntArray) -> float:
        """lam * Omega(w); 0 at 0."""
        ...


@dataclass(frozen=True, eq=False)
class TreeProblem:
    """min sum_i s_i loss((w.x_i + b)/scale, y_i) + l0_penalty |w|_0 + penalty(w), w whole.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Finite; rows need not be distinct.
    y : ndarray of shape (n,)
        As the loss reads it: -1/+1 for classes.
    loss : SmoothLoss
        Convex and differentiable, one score a row.
    lower, upper : int arrays of shape (p,)
        Each coefficient's range.
    sample_weight : ndarray of shape (n,), optional
        Not negative; divided by its sum.
    sets : mapping of feature to whole numbers
        Replaces the range of those features.
    max_terms : int, optional
        At most so many nonzero coefficients.
    l0_penalty : float
        Paid by every nonzero coefficient.
    penalty : ConvexTerm, optional
    scale : float
        Points in one unit of the score.
    b_lower, b_upper : float
        Finite range of the intercept; both 0 for none.
    b_step : float, optional
        The intercept is a multiple of it; real where None.
    accept : callable, optional
        Of complete cards (w, b). Where the intercept is real it is asked at the best one only, so
        it must not depend on a real intercept.
    possible : callable, optional
        Of partial decisions, see :data:`Possible`.
    mend, descend : callables, optional
        Of complete cards, see :data:`Mend`: near one that is not accepted, and better than one that
        is. What they return is asked of ``accept`` like any other card.

    Raises
    ------
    DataError
        Arrays of unlike shapes, values that are not finite, weights below 0 or that sum to 0.
    OptionError
        Empty or unbounded ranges, a scale, step or l0_penalty that makes no sense.
    """

    X: FloatArray
    y: FloatArray
    loss: SmoothLoss
    lower: IntArray
    upper: IntArray
    sample_weight: FloatArray | None = None
    sets: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    max_terms: int | None = None
    l0_penalty: float = 0.0
    penalty: Any = None
    scale: float = 1.0
    b_lower: float = 0.0
    b_upper: float = 0.0
    b_step: float | None = None
    accept: Accept | None = None
    possible: Possible | None = None
    mend: Mend | None = None
    descend: Mend | None = None

    def __post_init__(self) -> None:
        """Check everything once, so that the engine need not."""
        self._check_arrays()
        self._check_options()
        self._check_ranges()

    @property
    def terms(self) -> int:
        """How many coefficients may be nonzero."""
        p = int(self.X.shape[1])
        return p if self.max_terms is None else min(self.max_terms, p)

    def choices(self, j: int) -> IntArray:
        """The values feature j may take, ascending."""
        if j in self.sets:
            return np.array(sorted({int(v) for v in self.sets[j]}), dtype=np.int64)
        return np.arange(int(self.lower[j]), int(self.upper[j]) + 1, dtype=np.int64)

    def intercepts(self) -> tuple[float, float]:
        """The least and the largest allowed intercept, on the step where there is one."""
        if self.b_step is None:
            return float(self.b_lower), float(self.b_upper)
        low = math.ceil(self.b_lower / self.b_step - 1e-9) * self.b_step
        return low, math.floor(self.b_upper / self.b_step + 1e-9) * self.b_step

    def _check_arrays(self) -> None:
        if self.X.ndim != 2 or len(self.X) == 0 or self.y.shape != self.X.shape[:1]:
            raise DataError(
                f"X has shape {self.X.shape} and y {self.y.shape}: give (n, p) and (n,), n >= 1"
            )
        if not (np.isfinite(self.X).all() and np.isfinite(self.y).all()):
            raise DataError("X and y must be finite: drop or bin the missing values first")
        weight = self.sample_weight
        if weight is not None and (
            weight.shape != self.y.shape
            or not np.isfinite(weight).all()
            or weight.min() < 0
            or weight.sum() <= 0
        ):
            raise DataError("sample_weight must be n finite numbers >= 0 with a positive sum")

    def _check_options(self) -> None:
        if not (math.isfinite(self.scale) and self.scale > 0):
            raise OptionError(f"scale must be a positive number, got {self.scale!r}")
        if not (math.isfinite(self.l0_penalty) and self.l0_penalty >= 0):
            raise OptionError(f"l0_penalty must be a finite number >= 0, got {self.l0_penalty!r}")
        if self.max_terms is not None and self.max_terms < 0:
            raise OptionError(f"max_terms must be >= 0, got {self.max_terms!r}")
        if not (math.isfinite(self.b_lower) and math.isfinite(self.b_upper)):
            raise OptionError("the intercept's range must be finite: give b_lower and b_upper")
        if self.b_step is not None and not (math.isfinite(self.b_step) and self.b_step > 0):
            raise OptionError(f"b_step must be a positive number or None, got {self.b_step!r}")
        low, high = self.intercepts()
        if low > high:
            raise OptionError(
                f"no intercept lies in [{self.b_lower}, {self.b_upper}] on step {self.b_step}: "
                "widen the range"
            )

    def _check_ranges(self) -> None:
        p = self.X.shape[1]
        if np.shape(self.lower) != (p,) or np.shape(self.upper) != (p,):
            raise OptionError(f"lower and upper must have shape ({p},), as X has {p} columns")
        total = 0
        for j in range(p):
            width = len(self.sets[j]) if j in self.sets else self.upper[j] - self.lower[j] + 1
            if width < 1:
                raise OptionError(f"feature {j} has no value to take: its range or set is empty")
            total += int(width)
        if total > _MOST_POINTS:
            raise OptionError(
                f"the coefficients take {total} values together, above {_MOST_POINTS}: narrow the "
                "ranges"
            )


@dataclass(frozen=True, eq=False)
class Point:
    """A dual point: the loss linearised at these coefficients (the others 0) and intercept.

    Where the loss of any row overflows there, all scores are first held to [-300, 300].
    """

    columns: IntArray
    values: FloatArray
    b: float


Outcome = Literal["split", "bound", "card", "rule", "open"]


@dataclass(frozen=True, eq=False)
class Step:
    """One node of the tree, for a certificate that replays it.

    Start from the parent's last box (the ranges, for the root), apply the decision, then fix and
    tighten by the parent's last line and by each of ``points`` in turn: whatever raises such a line
    to the final cutoff is dropped. Replayed with a lower cutoff every step only drops more.

    Attributes
    ----------
    node, parent : int
        Numbers; the root is 0, its parent -1.
    feature : int
        What the decision is about; -1 the intercept, -2 nothing (the root).
    lower, upper : float
        The range the decision leaves.
    inside : bool
        Whether the feature is in from here on.
    points : tuple of Point
    outcome : str
        "split" into the nodes that name it as parent; closed by its "bound"; a single "card";
        ruled out by a "rule" (possible or accept); or still "open".
    bound : float
        What was proved of it; infinite for a rule.
    """

    node: int
    parent: int
    feature: int
    lower: float
    upper: float
    inside: bool
    points: tuple[Point, ...]
    outcome: Outcome
    bound: float


@dataclass(frozen=True, eq=False)
class TreeAnswer:
    """What a search found and proved.

    Attributes
    ----------
    w, b : int array of shape (p,) and float, or None
        The best accepted card; None where none was found.
    objective : float
        Its objective, infinite without one.
    bound : float
        No accepted card is below it.
    nodes : int
        Nodes whose relaxation was solved.
    termination : Termination
    trace : list of TracePoint
    steps : list of Step
        The tree, where asked for, every parent before its parts.
    complete : bool
        Whether the steps are the whole tree.
    """

    w: IntArray | None
    b: float | None
    objective: float
    bound: float
    nodes: int
    termination: Termination
    trace: list[TracePoint]
    steps: list[Step]
    complete: bool

    @property
    def gap(self) -> float:
        """(objective - bound) / |objective|, 0 where both are 0."""
        if self.objective == self.bound:
            return 0.0
        return (self.objective - self.bound) / max(abs(self.objective), 1e-10)
