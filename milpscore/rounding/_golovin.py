"""Online learning on a coarse grid: unbiased randomised rounding and randomised counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.statement import Statement
from milpscore.losses import Logistic
from milpscore.rounding._request import Request
from milpscore.rounding._scaled import ScaledRounding, scaled_rounding

_DRAWN = 1024
"""Rows whose random numbers are drawn at once."""

_HIGHEST = 255
"""A counter is one byte in the paper."""


@dataclass(frozen=True, eq=False)
class Golovin(ScaledRounding):
    """Weights on a per-coordinate grid, and the card that they give when scaled and rounded.

    ``weights`` and ``intercept`` are those of the columns as they are; ``trace`` and ``scales`` are
    of the scaling.

    Attributes
    ----------
    multiples : ndarray of int64, shape (p + 1,)
        The weights, the intercept last, as multiples of their grids: all that is stored of them.
    grid : ndarray of float64, shape (p + 1,), read-only
        The final resolution of each, in units of the columns as they are.
    counters : ndarray of int64, shape (p + 1,)
        The randomised counters; ``counts`` are what they estimate.
    counts : ndarray of float64, shape (p + 1,), read-only
    losses : ndarray of float64, read-only
        Mean logistic loss of the grid weights at the start and after each pass.
    """

    multiples: IntArray
    grid: FloatArray
    counters: IntArray
    counts: FloatArray
    losses: FloatArray


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
) -> Golovin:
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
        Its raw rows are learnt from, in a new random order each pass.
    n_passes : int
    learning_rate : float
        alpha, > 0.
    resolution : float
        Grid over learning rate, > 0.
    base : float
        B of the counters, > 1; the closer to 1, the more exact they count.
    radius : float
        R, > 0, of the scaled weights.
    n_scales : int
        As in :func:`scaled_rounding`.
    random_state : int or Generator

    Returns
    -------
    Golovin
        The per-coordinate grids are no common unit, so the card is made as any other regression's:
        scaled into the ranges and rounded.

    Raises
    ------
    OptionError
        For a parameter outside its range.
    NotApplicableError
        Where only one class has weight.

    References
    ----------
    Golovin, Sculley, McMahan & Young, "Large-scale learning with less RAM via randomization",
    ICML 2013 (named in Belahcene et al. 2020, sec. 1).
    """
    _refuse(n_passes, learning_rate, resolution, base, radius)
    generator = np.random.default_rng(random_state)
    learner = _Learner(statement, learning_rate, resolution, base, radius)
    losses = [learner.loss()]
    for _ in range(int(n_passes)):
        learner.learn(generator)
        losses.append(learner.loss())
    weights = learner.beta / learner.unit
    card = scaled_rounding(
        statement,
        weights[:-1],
        intercept=weights[-1],
        n_scales=n_scales,
        method="golovin",
        random_state=None if isinstance(random_state, np.random.Generator) else random_state,
    )
    counts = learner.counted()
    for array in (counts, grid := learner.grid / learner.unit, history := np.array(losses)):
        array.flags.writeable = False
    return Golovin(
        **vars(card),
        multiples=np.rint(learner.beta / learner.grid).astype(np.int64),
        grid=grid,
        counters=learner.counters,
        counts=counts,
        losses=history,
    )


def round_request(statement: Statement, request: Request) -> Golovin:
    """The row ``golovin`` of a comparison: it knows no LP."""
    return golovin(statement, random_state=request.random_state)


def random_round(values: FloatArray, grid: FloatArray, chance: FloatArray) -> FloatArray:
    """Values moved to a neighbouring multiple of their grid, unbiased.

    Parameters
    ----------
    values, grid : arrays of one shape
    chance : array of that shape, uniform on [0, 1)

    Returns
    -------
    ndarray
        The upper neighbour with probability (value - lower) / grid.
    """
    ratio = values / grid
    below = np.floor(ratio)
    rounded: FloatArray = (below + (chance < ratio - below)) * grid
    return rounded


class _Learner:
    """The grid weights, the intercept last, and their counters."""

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
        values = np.arange(_HIGHEST + 1)
        self.rise = base ** -values.astype(np.float64)
        self.rise[-1] = 0.0
        self.estimate = (base ** values.astype(np.float64) - base) / (base - 1.0)
        self.rates = learning_rate / np.sqrt(np.maximum(self.estimate, 0.0) + 1.0)
        # R over the least power of two that makes the grid fine enough
        finest = np.ceil(np.log2(radius / (resolution * self.rates)))
        self.grids = radius * 2.0 ** -np.maximum(finest, 0.0)
        self.counters = np.ones(len(self.unit), dtype=np.int64)
        self.beta = np.zeros(len(self.unit))

    @property
    def grid(self) -> FloatArray:
        """The resolution of each weight."""
        return self.grids[self.counters]

    def counted(self) -> FloatArray:
        """What the counters estimate."""
        return self.estimate[self.counters]

    def loss(self) -> float:
        """Mean weighted logistic loss of the grid weights."""
        values = Logistic().value(self.X @ self.beta, self.y)
        return float(self.weight @ values / self.weight.sum())

    def learn(self, generator: np.random.Generator) -> None:
        """One pass over the rows in a random order.

        Each row is answered with the weights the row before left: the loop is the algorithm.
        """
        order = generator.permutation(len(self.y))
        for start in range(0, len(order), _DRAWN):
            rows = order[start : start + _DRAWN]
            chances = generator.random((len(rows), 2, len(self.unit)))
            for i, (counting, rounding) in zip(rows.tolist(), chances, strict=True):
                self._step(i, counting, rounding)

    def _step(self, i: int, counting: FloatArray, rounding: FloatArray) -> None:
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


def _refuse(
    n_passes: int, learning_rate: float, resolution: float, base: float, radius: float
) -> None:
    """Refuse parameters outside their ranges."""
    if isinstance(n_passes, bool) or not hasattr(n_passes, "__index__") or n_passes < 1:
        raise OptionError(f"n_passes must be a whole number >= 1, got {n_passes!r}")
    positive = {"learning_rate": learning_rate, "resolution": resolution, "radius": radius}
    for name, value in positive.items():
        if isinstance(value, bool) or not (math.isfinite(value) and value > 0):
            raise OptionError(f"{name} must be a number > 0, got {value!r}")
    if isinstance(base, bool) or not (math.isfinite(base) and 1.0 < base <= 2.0):
        raise OptionError(f"base must be a number in (1, 2], got {base!r}")
