"""The exact law of the totals of randomly rounded weights, by dynamic programming."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from milpscore.core.card import FloatTotals, GridTotals
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import NotApplicableError, SizeError
from milpscore.core.grid import as_fraction, on_grid
from milpscore.core.statement import Statement
from milpscore.losses import Hinge
from milpscore.rounding._allowed import neighbours

MAX_CELLS = 2_000_000
"""Most probabilities a table may hold: merged rows times totals a row can take."""


def expected_loss(statement: Statement, w: npt.ArrayLike, b: float) -> float:
    r"""The exact expectation of the mean loss of randomly rounded weights, the intercept held.

    Each weight goes up with probability equal to its fractional part, down otherwise, independently
    of the others. On data that lie on a grid, the total of a row takes few values; their
    probabilities follow one weight at a time from

    .. math:: P_{J \cup \{j\}}(t) = (1 - f_j) P_J(t) + f_j P_J(t - (h_j - l_j) x_{ij})

    with :math:`l_j, h_j` the allowed values below and above the weight.

    Parameters
    ----------
    statement : Statement
        With any loss of a card.
    w : array of shape (p,)
        Real weights, say those of a relaxed result.
    b : float

    Returns
    -------
    float
        E L(c, b), up to rounding in floating point.

    Raises
    ------
    NotApplicableError
        For data on no grid.
    SizeError
        Where rows times totals exceed :data:`MAX_CELLS`.
    FormulationError
        For weights of another shape, or not finite.
    """
    sums = RandomTotals(statement, w, b)
    return sums.expectation(sums.random, sums.fixed())


@dataclass(frozen=True)
class Law:
    """Of each merged row, the law of the part of its total that is still open.

    Attributes
    ----------
    columns : ndarray of int64
        The columns still open.
    least : ndarray of int64, shape (m,)
        The smallest value, in units of the data's step.
    chance : ndarray of shape (m, S)
        Entry (i, t) is the probability of ``least[i] + t``.
    """

    columns: IntArray
    least: IntArray
    chance: FloatArray


class RandomTotals:
    """Totals of the merged rows under random rounding, some columns decided, the others open.

    Raises
    ------
    NotApplicableError, SizeError, FormulationError
        As :func:`expected_loss`.
    """

    def __init__(self, statement: Statement, w: npt.ArrayLike, b: float) -> None:
        self.low, high, self.fraction = neighbours(statement, w)
        self.columns = np.flatnonzero(self.fraction > 0)
        design = statement.design
        if design.step is None:
            raise NotApplicableError(
                "exact expectations need data on a grid, such as whole numbers: bin the features, "
                "or take estimator='pessimistic'"
            )
        rows = design.merged
        self.counts = on_grid(rows.X, design.step)
        self.share = rows.weight / rows.weight.sum()
        self.moves = self.counts * (high - self.low)
        reach = np.abs(self.moves[:, self.columns]).sum(axis=1)
        self.size = int(reach.max(initial=0)) + 1
        cells = self.size * len(self.share)
        if cells > MAX_CELLS:
            raise SizeError(
                f"exact expectations: {len(self.share)} distinct rows x {self.size} totals = "
                f"{cells} probabilities, more than {MAX_CELLS}: bin the features, or take "
                "estimator='pessimistic'"
            )
        start = self.counts @ self.low
        down = np.minimum(self.moves[:, self.columns], 0).sum(axis=1)
        self.origin = int((start + down).min())
        span = int((start + down + reach).max()) - self.origin + self.size
        self.table = _losses(statement, self.origin, span, b)
        self.side = (rows.y > 0).astype(np.int64)

    def fixed(self) -> IntArray:
        """Totals with every weight rounded down, in units of the step; shape (m,)."""
        found: IntArray = self.counts @ self.low
        return found

    @property
    def nothing(self) -> Law:
        """The law with no column open: all is 0."""
        chance = np.zeros((len(self.share), self.size))
        chance[:, 0] = 1.0
        return Law(np.empty(0, dtype=np.int64), np.zeros(len(self.share), dtype=np.int64), chance)

    @property
    def random(self) -> Law:
        """The law with every fractional column open."""
        return self.joined(self.nothing, self.columns)

    def joined(self, law: Law, columns: IntArray) -> Law:
        """The law with more columns open."""
        chance, least = law.chance, law.least.copy()
        for j in columns.tolist():
            move, f = self.moves[:, j], float(self.fraction[j])
            chance = _shifted(chance, np.abs(move), np.where(move > 0, f, 1.0 - f))
            least += np.minimum(move, 0)
        return Law(np.r_[law.columns, columns], least, chance)

    def expectation(self, law: Law, fixed: IntArray) -> float:
        """The mean loss expected when the decided part of each total is ``fixed``, shape (m,)."""
        windows = np.lib.stride_tricks.sliding_window_view(self.table, self.size, axis=1)
        losses = windows[self.side, fixed + law.least - self.origin]
        return float(self.share @ np.einsum("ms,ms->m", law.chance, losses))


def _shifted(chance: FloatArray, shift: IntArray, probability: FloatArray) -> FloatArray:
    """Each row's law after a move up by ``shift`` with the given probability."""
    moved = chance * (1.0 - probability)[:, None]
    for by in np.unique(shift).tolist():
        rows = np.flatnonzero(shift == by)
        width = chance.shape[1] - by
        moved[rows, by:] += chance[rows, :width] * probability[rows, None]
    return moved


def _losses(statement: Statement, origin: int, span: int, b: float) -> FloatArray:
    """Losses of a negative and of a positive row at ``span`` totals from ``origin`` on."""
    unit = statement.design.step
    assert unit is not None
    counts = origin + np.arange(span, dtype=np.int64)
    return np.stack([_losses_of(statement, counts, unit, b, side) for side in (-1, 1)])


def _losses_of(
    statement: Statement, counts: IntArray, unit: Fraction, b: float, side: int
) -> FloatArray:
    """Losses of rows of one class at exact totals."""
    y, held = np.full(len(counts), side, dtype=np.int64), as_fraction(float(b))
    if isinstance(statement.loss, Hinge) or not hasattr(statement.loss, "exact_rows"):
        # continuous in the total: a rounding error in it is one in the loss
        totals = FloatTotals(counts.astype(np.float64) * float(unit), 0.0)
        return statement.loss.rows(totals, held, y)
    losses, scale = statement.loss.exact_rows(GridTotals(counts, unit), held, y)
    return np.asarray(losses, dtype=np.float64) * float(scale)
