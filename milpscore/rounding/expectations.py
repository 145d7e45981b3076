"""What rounding costs: bounds, exact expectations, and a rounding that keeps its promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from milpscore.core.card import FloatTotals, GridTotals
from milpscore.core.design import FloatArray, IntArray, as_fraction, on_grid
from milpscore.core.errors import NotApplicableError, OptionError, SizeError
from milpscore.core.statement import Statement
from milpscore.losses import Hinge
from milpscore.search.points import (
    RoundedCard,
    merged_totals,
    neighbours,
    rounded_card,
    within_ranges,
)

MAX_CELLS = 2_000_000
"""Most probabilities a table may hold: merged rows times totals a row can take."""

Estimator: TypeAlias = Literal["pessimistic", "exact", "auto"]
Order: TypeAlias = Literal["uncertain", "given"]


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

    The first holds for nearest rounding, surely. The other two hold for the
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
    slack = np.maximum(0.0, loss.margin - rows.y * (rows.X @ values + b))
    lp_loss = float(share @ slack / loss.margin)
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
    sums = _RandomTotals(statement, w, b)
    return sums.expectation(sums.joined(sums.nothing, sums.columns), sums.fixed)


@dataclass(frozen=True)
class _Law:
    """Of each merged row, the law of the part of its total that is still open.

    ``probability[i, t]``, shape (m, S), is that of ``least[i] + t``, in units of the data's step.
    """

    least: IntArray
    probability: FloatArray


class _RandomTotals:
    """Totals of the merged rows under random rounding, some columns decided, the others open.

    ``fixed`` (m,) are the totals of the decided part, at first with every weight rounded down;
    ``moves`` (m, p) is what rounding a weight up adds, in units of the data's step.
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
        self.fixed: IntArray = self.counts @ self.low
        down = np.minimum(self.moves[:, self.columns], 0).sum(axis=1)
        self.origin = int((self.fixed + down).min())
        span = int((self.fixed + down + reach).max()) - self.origin + self.size
        self.table = _losses(statement, self.origin, span, b)
        self.side = (rows.y > 0).astype(np.int64)

    @property
    def nothing(self) -> _Law:
        """The law with no column open: all is 0."""
        probability = np.zeros((len(self.share), self.size))
        probability[:, 0] = 1.0
        return _Law(np.zeros(len(self.share), dtype=np.int64), probability)

    def joined(self, law: _Law, columns: IntArray) -> _Law:
        """The law with more columns open."""
        probability, least = law.probability, law.least.copy()
        for j in columns.tolist():
            move, f = self.moves[:, j], float(self.fraction[j])
            probability = _shifted(probability, np.abs(move), np.where(move > 0, f, 1.0 - f))
            least += np.minimum(move, 0)
        return _Law(least, probability)

    def expectation(self, law: _Law, fixed: IntArray) -> float:
        """The mean loss expected when the decided part of each total is ``fixed``, shape (m,)."""
        windows = np.lib.stride_tricks.sliding_window_view(self.table, self.size, axis=1)
        losses = windows[self.side, fixed + law.least - self.origin]
        return float(self.share @ np.einsum("ms,ms->m", law.probability, losses))


def _shifted(law: FloatArray, shift: IntArray, upwards: FloatArray) -> FloatArray:
    """Each row's probabilities (m, S) after a move up by ``shift`` with probability ``upwards``."""
    moved = law * (1.0 - upwards)[:, None]
    for by in np.unique(shift).tolist():
        rows = np.flatnonzero(shift == by)
        moved[rows, by:] += law[rows, : law.shape[1] - by] * upwards[rows, None]
    return moved


def _losses(statement: Statement, origin: int, span: int, b: float) -> FloatArray:
    """Losses of a negative and of a positive row at ``span`` totals from ``origin`` on; (2, S)."""
    unit, held = statement.design.step, as_fraction(float(b))
    assert unit is not None
    counts = origin + np.arange(span, dtype=np.int64)
    found = []
    for side in (-1, 1):
        y = np.full(span, side, dtype=np.int64)
        if isinstance(statement.loss, Hinge) or not hasattr(statement.loss, "exact_rows"):
            # continuous in the total: a rounding error in it is one in the loss
            totals = FloatTotals(counts.astype(np.float64) * float(unit), 0.0)
            found.append(statement.loss.rows(totals, held, y))
        else:
            losses, scale = statement.loss.exact_rows(GridTotals(counts, unit), held, y)
            found.append(np.asarray(losses, dtype=np.float64) * float(scale))
    return np.stack(found)


def held_losses(statement: Statement, points: IntArray, b: float) -> FloatArray:
    """Mean loss of each row of points, shape (N, p), with the real intercept b held; shape (N,)."""
    rows, held = statement.design.merged, as_fraction(float(b))
    means = [
        float(rows.weight @ statement.loss.rows(FloatTotals(total, 0.0), held, rows.y))
        for _, totals in merged_totals(statement, points)
        for total in totals.T
    ]
    return np.array(means, dtype=np.float64) / float(rows.weight.sum())


def derandomised(
    statement: Statement,
    w: npt.ArrayLike,
    b: float,
    *,
    estimator: Estimator = "pessimistic",
    order: Order = "uncertain",
) -> RoundedCard:
    r"""Fix one coordinate after another at the value that keeps an estimate of the loss least.

    The pessimistic estimator is, given the columns fixed so far,

    .. math:: U = L(\hat w, b) + \frac1\gamma \sum_i \frac{s_i}{S}
        \sqrt{(E \langle c - \hat w, x_i \rangle)^2 + \mathrm{Var} \langle c, x_i \rangle}

    At the start it is the sharp bound of :func:`rounding_bounds`, and of the two values of a
    column one does not raise it, because sqrt(m^2 + v) is concave in the second moment. At the
    end the variance is 0 and the loss Lipschitz: L(c, b) <= U <= sharp bound, without any chance.
    The exact estimator is E L(c, b) itself, by :func:`expected_loss`'s dynamic programming.

    Parameters
    ----------
    statement : Statement
        With the hinge loss for the pessimistic estimator; for the exact one any loss, and data on
        a grid, such as whole numbers.
    w : array of shape (p,)
        Real weights, say those of a relaxed result.
    b : float
        Their intercept, held.
    estimator : {"pessimistic", "exact", "auto"}
        "auto" is the pessimistic one under the hinge loss, else the exact one.
    order : {"uncertain", "given"}
        Columns by falling f(1-f) times the mean square of the change they make, or as they stand.

    Returns
    -------
    RoundedCard
        ``trace[k]`` is the estimator after k columns were fixed: it never rises, and its last entry
        bounds ``held_loss`` (under the exact estimator it is ``held_loss``). Also ``estimator``;
        ``order``, the columns that were not whole, as they were fixed; ``promise``, the estimator
        at the start; ``held_loss``, the mean loss of ``points`` with the intercept held at b, at
        most the promise. The card has the best allowed intercept, and fewer terms where
        ``max_terms`` asks for it. On equals the value closer to 0 is taken, so that a change of all
        signs changes nothing else.

    Raises
    ------
    OptionError
        For an unknown estimator or order.
    NotApplicableError, SizeError
        Where the estimator cannot be computed.
    FormulationError
        For weights of another shape, or not finite.

    References
    ----------
    Chevaleyre, Koriche & Zucker (2013), proof of Proposition 1, inequalities (2) to (4): the
    estimator; the print draws at random. Method: Raghavan, "Probabilistic construction of
    deterministic algorithms", JCSS 37 (1988).
    """
    if estimator not in get_args(Estimator) or order not in get_args(Order):
        raise OptionError(
            f"estimator={estimator!r}, order={order!r}: use one of "
            f"{', '.join(get_args(Estimator))} and of {', '.join(get_args(Order))}"
        )
    if estimator == "auto":
        estimator = "pessimistic" if isinstance(statement.loss, Hinge) else "exact"
    fixing: _Pessimistic | _Exact
    if estimator == "pessimistic":
        fixing = _Pessimistic(statement, w, b)
    else:
        fixing = _Exact(statement, w, b)
    low, high, fraction = neighbours(statement, w)
    columns = _ordered(statement, order, fraction, high - low)
    trace = [fixing.value(), *fixing.run(columns, np.abs(high) < np.abs(low))]
    points = np.where(fixing.up, high, low)
    held = trace[-1]
    if isinstance(statement.loss, Hinge):
        held = float(held_losses(statement, points[None, :], b)[0])
    proved = {"sharp_bound": trace[0]} if estimator == "pessimistic" else {}
    return rounded_card(
        "derandomised", statement, points, w, trace, figures={"rounding_loss": held, **proved},
        estimator=estimator, order=columns, promise=trace[0], held_loss=held,
    )  # fmt: skip


def _ordered(statement: Statement, order: Order, fraction: FloatArray, width: IntArray) -> IntArray:
    """The columns that are not whole, in the order they are to be fixed."""
    columns = np.flatnonzero(fraction > 0)
    if order == "given":
        return columns
    rows = statement.design.merged
    variance = fraction * (1.0 - fraction) * width.astype(np.float64) ** 2
    doubt = (variance * (rows.weight @ rows.X**2))[columns]
    return columns[np.argsort(-doubt, kind="stable")]


class _Pessimistic:
    """U with each merged row's mean and variance kept up to date."""

    def __init__(self, statement: Statement, w: npt.ArrayLike, b: float) -> None:
        loss = statement.loss
        if not isinstance(loss, Hinge):
            raise NotApplicableError(
                f"the pessimistic estimator needs the hinge loss, not {loss.name} (of "
                f"{statement.formulation}): take estimator='exact' on data on a grid"
            )
        low, high, self.fraction = neighbours(statement, w)
        rows = statement.design.merged
        width = (high - low).astype(np.float64)
        self.X, self.width = rows.X, width
        self.share = rows.weight / rows.weight.sum()
        self.scaled_share = self.share / loss.margin
        scores = rows.X @ (low + self.fraction * width) + b
        slack = np.maximum(0.0, loss.margin - rows.y * scores)
        self.real_loss = float(self.scaled_share @ slack)
        self.mean = np.zeros(len(self.share))
        self.variance = rows.X**2 @ (self.fraction * (1.0 - self.fraction) * width**2)
        self.up = np.zeros(len(low), dtype=bool)

    def value(self) -> float:
        """U as it stands."""
        return self._estimate(self.mean, self.variance)

    def run(self, columns: IntArray, up_on_ties: Any) -> list[float]:
        """Fix the columns in this order; U after each."""
        return [self._fix(j, bool(up_on_ties[j])) for j in columns.tolist()]

    def _fix(self, j: int, up_on_tie: bool) -> float:
        f = float(self.fraction[j])
        move = self.X[:, j] * self.width[j]
        # a difference of equal sums can fall below 0 in floating point
        variance = np.maximum(self.variance - f * (1.0 - f) * move**2, 0.0)
        down, up = self.mean - f * move, self.mean + (1.0 - f) * move
        values = self._estimate(down, variance), self._estimate(up, variance)
        self.up[j] = _goes_up(*values, up_on_tie)
        self.mean, self.variance = (up if self.up[j] else down), variance
        return values[int(self.up[j])]

    def _estimate(self, mean: FloatArray, variance: FloatArray) -> float:
        return self.real_loss + float(self.scaled_share @ np.sqrt(mean**2 + variance))


class _Exact:
    """E L(c, b) given the columns fixed so far."""

    def __init__(self, statement: Statement, w: npt.ArrayLike, b: float) -> None:
        self.sums = _RandomTotals(statement, w, b)
        self.fixed = self.sums.fixed
        self.up = np.zeros(len(self.sums.fraction), dtype=bool)

    def value(self) -> float:
        """The expectation with every column still open."""
        sums = self.sums
        return sums.expectation(sums.joined(sums.nothing, sums.columns), self.fixed)

    def run(self, columns: IntArray, up_on_ties: Any) -> list[float]:
        """Fix the columns in this order; the expectation after each."""
        trace: list[float] = []
        if len(columns):
            self._decide(columns, self.sums.nothing, up_on_ties, trace)
        return trace

    def _decide(self, columns: IntArray, later: _Law, up_on_ties: Any, trace: list[float]) -> None:
        """Fix these columns while the law of all later ones is ``later``.

        By halves: p columns cost p log p joinings and log p tables, where one table per column
        would not fit and leaving a column out of a law again is unstable.
        """
        if len(columns) == 1:
            trace.append(self._fix(int(columns[0]), later, bool(up_on_ties[columns[0]])))
            return
        first, second = columns[: len(columns) // 2], columns[len(columns) // 2 :]
        self._decide(first, self.sums.joined(later, second), up_on_ties, trace)
        self._decide(second, later, up_on_ties, trace)

    def _fix(self, j: int, later: _Law, up_on_tie: bool) -> float:
        above = self.fixed + self.sums.moves[:, j]
        values = self.sums.expectation(later, self.fixed), self.sums.expectation(later, above)
        self.up[j] = _goes_up(*values, up_on_tie)
        self.fixed = above if self.up[j] else self.fixed
        return values[int(self.up[j])]


def _goes_up(down: float, up: float, up_on_tie: bool) -> bool:
    """Whether the upper value is the better one."""
    return up < down or (up == down and up_on_tie)
