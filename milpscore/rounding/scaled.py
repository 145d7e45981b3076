"""Real weights scaled into the ranges and rounded, and an online learner on a coarse grid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import NotApplicableError, OptionError, is_whole
from milpscore.core.statement import Statement
from milpscore.losses import Logistic
from milpscore.search.points import (
    RoundedCard,
    best_objectives,
    limit_terms,
    nearest_points,
    read_only,
    rounded_card,
    within_ranges,
)


def scaled_rounding(
    statement: Statement,
    w: npt.ArrayLike,
    *,
    intercept: float = float("nan"),
    n_scales: int = 200,
    method: str = "scaled",
    random_state: Any = None,
    **details: Any,
) -> RoundedCard:
    """Multiply by the scale whose nearest rounding has the least objective.

    The scales run evenly from the one at which the largest weight becomes 1/2 (below it every
    weight rounds to 0) to the one at which the first weight meets the end of its range.

    Parameters
    ----------
    statement : Statement
    w : array of shape (p,)
        Real weights; only their direction matters.
    intercept : float
        For the record.
    n_scales : int
        At least 1; 1 means the largest scale alone.
    method : str
        Name of the method in the result.
    random_state : int, optional
        The seed the weights came from, for the record.
    **details :
        Further details of the result.

    Returns
    -------
    RoundedCard
        ``trace[k]`` is the objective at ``scales[k]`` with the best allowed intercept, infinite if
        the statement does not allow the points; ties go to the smallest scale. Terms beyond the
        limit are dropped by least weight; scales that break a constraint are passed over if another
        keeps them all. Also ``weights`` and ``intercept`` as given; ``scale``, the one used, NaN if
        all weights are 0.

    Raises
    ------
    OptionError
        If ``n_scales`` is not a whole number >= 1.
    FormulationError
        If ``w`` has another shape or is not finite.
    """
    if not is_whole(n_scales, 1):
        raise OptionError(f"n_scales must be a whole number >= 1, got {n_scales!r}")
    within_ranges(statement, w)  # refuses weights of another shape, or infinite ones
    weights = np.asarray(w, dtype=np.float64)
    scales = _scales(statement, weights, int(n_scales))
    tried = scales if len(scales) else np.zeros(1)
    rounded = np.stack([nearest_points(statement, s * weights) for s in tried.tolist()])
    limited, feasible = limit_terms(statement, rounded, weights)
    distinct, which = np.unique(limited, axis=0, return_inverse=True)
    sums = best_objectives(statement, distinct)[1][which.ravel()]
    objectives = np.where(feasible, sums, np.inf)
    k = int(np.argmin(objectives))
    return rounded_card(
        method, statement, rounded[k], weights, objectives, random_state=random_state,
        weights=read_only(weights), intercept=float(intercept), scales=read_only(scales),
        scale=float(scales[k]) if len(scales) else float("nan"), **details,
    )  # fmt: skip


def _scales(statement: Statement, weights: FloatArray, n_scales: int) -> FloatArray:
    """Rising scales; none if no weight has room."""
    lower, upper = statement.ranges
    ends = np.where(weights > 0, upper, np.where(weights < 0, -lower, 0)).astype(np.float64)
    free = (weights != 0) & (ends > 0)
    if not free.any():
        return np.empty(0)
    most = float((ends[free] / np.abs(weights[free])).min())
    least = min(0.5 / float(np.abs(weights[free]).max()), most)
    return np.linspace(most, least, n_scales)[::-1]


def golovin(
    statement: Statement,
    *,
    n_passes: int = 5,
    learning_rate: float = 1.0,
    resolution: float = 0.5,
    base: float = 1.1,
    radius: float = 8.0,
    n_scales: int = 200,
    random_state: Any = 0,
) -> RoundedCard:
    r"""Online gradient descent of the logistic loss whose weights never leave a coarse grid.

    Implemented are the paper's two ideas: per coordinate, (1) ``RandomRound``, the unbiased
    rounding of :math:`\beta_j - \eta_j g_j`, cut to [-R, R], to a multiple of
    :math:`\epsilon_j \le` ``resolution`` :math:`\eta_j`; (2) learning rates
    :math:`\eta_j = \alpha / \sqrt{\tilde\tau_j + 1}` from Morris's randomised counter, which rises
    from C with probability base^-C, so that :math:`\tilde\tau = (B^C - B)/(B - 1)` estimates how
    often the coordinate was not 0 without bias. Not implemented: the paper's memory layouts, its
    rounding of the final model for prediction, and other losses.

    Every grid is R over a power of two, so that R lies on it and finer grids hold coarser ones.
    Columns are divided by their largest absolute value while learning.

    Parameters
    ----------
    statement : Statement
        The learner sees its raw rows, in a new random order each pass.
    n_passes : int
    learning_rate : float
        alpha, > 0.
    resolution : float
        Grid over learning rate, > 0.
    base : float
        B of the counters, > 1; the closer to 1, the more exact.
    radius : float
        R, > 0, of the scaled weights.
    n_scales : int
        As in :func:`scaled_rounding`.
    random_state : int or Generator

    Returns
    -------
    RoundedCard
        The per-coordinate grids share no unit, so the card is that of :func:`scaled_rounding`;
        ``weights`` and ``intercept`` belong to the columns as they are. Also, the intercept last,
        shape (p + 1,): ``multiples``, the weights as multiples of their grids, which is all that is
        stored; ``grid``, the final resolutions; ``counters``; ``counts``, what they estimate. And
        ``losses``, the mean logistic loss of the grid weights at the start and after each pass.

    Raises
    ------
    OptionError
        For a parameter outside its range.
    NotApplicableError
        If only one class has weight.

    References
    ----------
    Golovin, Sculley, McMahan & Young, "Large-scale learning with less RAM via randomization",
    ICML 2013 (named in Belahcene et al. 2020, sec. 1).
    """
    if not is_whole(n_passes, 1):
        raise OptionError(f"n_passes must be a whole number >= 1, got {n_passes!r}")
    positive = {"learning_rate": learning_rate, "resolution": resolution, "radius": radius}
    for name, value in positive.items():
        if isinstance(value, bool) or not (math.isfinite(value) and value > 0):
            raise OptionError(f"{{argument}} must be a number > 0, got {value!r}", argument=name)
    if isinstance(base, bool) or not (math.isfinite(base) and 1.0 < base <= 2.0):
        raise OptionError(f"base must be a number in (1, 2], got {base!r}")
    generator = np.random.default_rng(random_state)
    learner = _Learner(statement, learning_rate, resolution, base, radius)
    losses = [learner.loss()]
    for _ in range(int(n_passes)):
        learner.learn(generator)
        losses.append(learner.loss())
    weights = learner.beta / learner.unit
    return scaled_rounding(
        statement, weights[:-1], intercept=weights[-1], n_scales=n_scales, method="golovin",
        random_state=random_state,
        multiples=np.rint(learner.beta / learner.grid).astype(np.int64),
        grid=read_only(learner.grid / learner.unit),
        counters=learner.counters,
        counts=read_only(learner.estimate[learner.counters]),
        losses=read_only(losses),
    )  # fmt: skip


def random_round(values: FloatArray, grid: FloatArray, draws: FloatArray) -> FloatArray:
    """Round to neighbouring multiples of the grid, unbiased; ``draws`` are uniform."""
    ratio = values / grid
    below = np.floor(ratio)
    # up with probability (value - lower) / grid
    return np.asarray((below + (draws < ratio - below)) * grid)


class _Learner:
    """The grid weights ``beta``, the intercept last, and their counters; each (p + 1,)."""

    def __init__(
        self,
        statement: Statement,
        learning_rate: float,
        resolution: float,
        base: float,
        radius: float,
    ) -> None:
        design = statement.design
        kept = np.flatnonzero(design.weight > 0)
        if len(np.unique(design.y[kept])) < 2:
            raise NotApplicableError("golovin needs rows of both classes with weight above 0")
        largest = np.abs(design.X[kept]).max(axis=0)
        self.unit = np.r_[np.where(largest > 0, largest, 1.0), 1.0]
        self.X = np.column_stack([design.X[kept], np.ones(len(kept))]) / self.unit
        self.y = design.y[kept].astype(np.float64)
        self.weight = design.weight[kept] / design.weight[kept].mean()
        self.radius = radius
        # a counter has few values: what depends on it is looked up
        values = np.arange(256)  # one byte in the paper
        self.rise = base ** -values.astype(np.float64)
        self.rise[-1] = 0.0
        self.estimate = (base ** values.astype(np.float64) - base) / (base - 1.0)
        self.rates = learning_rate / np.sqrt(np.maximum(self.estimate, 0.0) + 1.0)
        # R over the least power of two that makes the grid fine enough
        finest = np.ceil(np.log2(radius / (resolution * self.rates)))
        self.grids = radius * 2.0 ** -np.maximum(finest, 0.0)
        self.counters: IntArray = np.ones(len(self.unit), dtype=np.int64)
        self.beta = np.zeros(len(self.unit))

    @property
    def grid(self) -> FloatArray:
        """The resolution of each weight."""
        return self.grids[self.counters]

    def loss(self) -> float:
        """Mean weighted logistic loss of the grid weights."""
        values = Logistic().value(self.X @ self.beta, self.y)
        return float(self.weight @ values / self.weight.sum())

    def learn(self, generator: np.random.Generator) -> None:
        """Pass over the rows in a random order; each sees the weights the row before left."""
        order = generator.permutation(len(self.y))
        for start in range(0, len(order), 1024):  # rows whose random numbers are drawn at once
            rows = order[start : start + 1024]
            draws = generator.random((len(rows), 2, len(self.unit)))
            for i, (counting, rounding) in zip(rows.tolist(), draws, strict=True):
                self._step(i, counting, rounding)

    def _step(self, i: int, counting: FloatArray, rounding: FloatArray) -> None:
        """Step along the gradient of row i; uniform draws for the counters and the rounding."""
        active = np.flatnonzero(self.X[i])
        x, beta, counters = self.X[i, active], self.beta[active], self.counters[active]
        margin = float(self.y[i] * (x @ beta))
        # 1 / (1 + exp(margin)), written so that no exponential overflows
        pull = 0.5 * (1.0 - math.tanh(0.5 * margin))
        pushed = beta + self.rates[counters] * (self.weight[i] * self.y[i] * pull) * x
        step = np.minimum(np.maximum(pushed, -self.radius), self.radius)
        counters = counters + (counting[active] < self.rise[counters])
        self.beta[active] = random_round(step, self.grids[counters], rounding[active])
        self.counters[active] = counters
