"""What rounding can cost at most under the hinge loss: three guarantees."""

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
from milpscore.search.points import merged_totals, neighbours, within_ranges


def rounding_bounds(statement: Statement, w: npt.ArrayLike, b: float) -> dict[str, float]:
    r"""Bounds on the mean hinge loss of rounded weights, the intercept held at b.

    With :math:`L` the mean hinge loss (sample weights :math:`s_i` included, no factor n), margin
    :math:`\gamma`, :math:`f_j` the fractional part of :math:`w_j`, c the rounded weights (columns
    whose allowed values lie :math:`d_j` apart count as :math:`d_j x_{ij}`; mostly d = 1):

    .. math::

        \text{sure:} \quad & L(c, b) \le L(w, b) + \frac{X_1}{2\gamma},
            \qquad X_1 = \max_i \|x_i\|_1 \\
        \text{expected:} \quad & \mathbb E\, L(c, b) \le L(w, b) + \frac{X_2}{2\gamma},
            \qquad X_2 = \max_i \|x'_i\|_2 \\
        \text{sharp:} \quad & \mathbb E\, L(c, b) \le L(w, b) + \frac1\gamma
            \sum_i \frac{s_i}{S} \sqrt{\textstyle\sum_j x_{ij}^2 f_j (1 - f_j)}

    The first holds for nearest rounding, without any chance. The other two hold for the
    *expectation* over the draws of randomised rounding: single draws exceed them. Here x' is the
    doubled row where weights are ternary, so that :math:`X_2 = \sqrt2 \max_i \|x_i\|_2`, and the
    row itself otherwise. All three speak of the rounded weights before any term is dropped for
    ``max_terms``. The best real intercept can only lower the loss; the best *whole* intercept may
    lie above it, and such a card above a bound.

    Parameters
    ----------
    statement : Statement
        With the hinge loss.
    w : array of shape (p,)
        Real weights, say those of a relaxed result.
    b : float
        The LP's intercept.

    Returns
    -------
    dict
        ``lp_loss`` L(w, b), and ``sure_bound``, ``expected_bound``, ``sharp_bound``.

    See Also
    --------
    expected_loss : the expectation itself, on data that lie on a grid.
    derandomised : a card that keeps to the sharp bound without any chance.

    Raises
    ------
    NotApplicableError
        For a loss that is not Lipschitz in the score, such as the 0-1 loss.
    FormulationError
        For weights of another shape, or not finite.

    References
    ----------
    Chevaleyre, Koriche & Zucker (2013), Proposition 1. Its print has a factor m (the paper sums
    losses) and X_1 in place of X_2; inequality (5) of the proof gives X_2, and (4) the sharp form.
    The print does not say that the intercept is held.
    """
    loss = statement.loss
    if not isinstance(loss, Hinge):
        raise NotApplicableError(
            f"no rounding bound is known for the {loss.name} loss of {statement.formulation}: "
            "the bounds need the hinge loss (hinge, facets_hinge, convex_rounding, "
            "sparse_rounding, fused_lasso)"
        )
    rows = statement.design.merged
    share = rows.weight / rows.weight.sum()
    values = within_ranges(statement, w)
    low, high, fraction = neighbours(statement, w)
    # where a column takes any whole number a whole weight, too, has neighbours 1 apart
    apart = np.maximum(high - low, 1).astype(np.float64)
    squares = (rows.X * apart) ** 2
    lp_loss = _mean_hinge(rows.X @ values + b, rows.y, share, loss.margin)
    ternary = np.all(statement.coef_min == -1) and np.all(statement.coef_max == 1)
    x1 = (np.abs(rows.X) @ apart).max(initial=0.0)
    x2 = np.sqrt(squares.sum(axis=1).max(initial=0.0) * (2.0 if ternary else 1.0))
    deviation = np.sqrt(squares @ (fraction * (1.0 - fraction)))
    return {
        "lp_loss": lp_loss,
        "sure_bound": float(lp_loss + x1 / (2 * loss.margin)),
        "expected_bound": float(lp_loss + x2 / (2 * loss.margin)),
        "sharp_bound": float(lp_loss + share @ deviation / loss.margin),
    }


def _mean_hinge(
    scores: npt.NDArray[np.float64],
    y: npt.NDArray[np.int64],
    share: npt.NDArray[np.float64],
    margin: float,
) -> float:
    return float(share @ np.maximum(0.0, margin - y * scores) / margin)


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


def held_losses(statement: Statement, points: IntArray, b: float) -> FloatArray:
    """Mean loss of each row of points, shape (N, p), with the real intercept b held; shape (N,)."""
    rows, held = statement.design.merged, as_fraction(float(b))
    means = [
        float(rows.weight @ statement.loss.rows(FloatTotals(total, 0.0), held, rows.y))
        for _, totals in merged_totals(statement, points)
        for total in totals.T
    ]
    return np.array(means, dtype=np.float64) / float(rows.weight.sum())
