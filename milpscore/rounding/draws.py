"""Rounding to the nearest and at random, bounds on what it costs, and a derandomised one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from milpscore.core.card import Card, FloatTotals, GridTotals, card_totals
from milpscore.core.design import Design, FloatArray, IntArray, as_fraction, on_grid
from milpscore.core.errors import (
    FormulationError,
    NotApplicableError,
    OptionError,
    SizeError,
    is_whole,
)
from milpscore.core.statement import InterceptRule, Statement
from milpscore.losses import Hinge, ZeroOne
from milpscore.losses.hazards import SurvivalLoss
from milpscore.search.points import (
    RoundedCard,
    best_objectives,
    limit_terms,
    merged_totals,
    nearest_points,
    neighbours,
    read_only,
    rounded_card,
    seed_of,
    within_ranges,
)
from milpscore.verify import Evaluation, evaluate
from milpscore.verify.cards import mean_loss

MAX_CELLS = 2_000_000
"""Most probabilities a table may hold: merged rows times totals a row can take."""

Estimator: TypeAlias = Literal["pessimistic", "exact", "auto"]
Order: TypeAlias = Literal["uncertain", "given"]


def rounding_bounds(statement: Statement, w: npt.ArrayLike, b: float) -> dict[str, float]:
    r"""Return bounds on the mean hinge loss of rounded weights, the intercept held at b.

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

    The first always holds for nearest rounding. The other two hold for the *expectation* over
    randomised draws: single draws exceed them. If weights are ternary, x' is the doubled row, so
    that :math:`X_2 = \sqrt2 \max_i \|x_i\|_2`; else it is the row itself. All three describe the
    rounded weights before terms are dropped for ``max_terms``. The best real intercept can only
    lower the loss; with the best *whole* intercept a card may exceed a bound.

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
    expected_loss : the expectation itself, for data on a grid.
    derandomised : a card that keeps the sharp bound without chance.

    Raises
    ------
    NotApplicableError
        For another loss than the hinge.
    FormulationError
        If ``w`` has another shape or is not finite.

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
    r"""Return the exact expectation of the mean loss of randomly rounded weights, b held.

    Each weight goes up with probability equal to its fractional part, else down, independently. On
    a grid a row's total takes few values; their probabilities follow one weight at a time from

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
        If rows times totals exceed :data:`MAX_CELLS`.
    FormulationError
        If ``w`` has another shape or is not finite.
    """
    sums = _RandomTotals(statement, w, b)
    return sums.expectation(sums.joined(sums.nothing, sums.columns), sums.fixed)


@dataclass(frozen=True)
class _Law:
    """Law of the open part of each merged row's total, in units of the data's step."""

    least: IntArray  # (m,)
    probability: FloatArray  # (m, S), entry (i, t) that of least[i] + t


class _RandomTotals:
    """Totals of the merged rows under random rounding, some columns decided, the others open."""

    # fixed (m,): totals of the decided part, at first with every weight rounded down;
    # moves (m, p): what rounding a weight up adds, in units of the data's step

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
        """The law without open columns: 0 for sure."""
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
        """The expected mean loss if the decided part of each total is ``fixed``, shape (m,)."""
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
    tables = []
    for side in (-1, 1):
        y = np.full(span, side, dtype=np.int64)
        if isinstance(statement.loss, Hinge) or not hasattr(statement.loss, "exact_rows"):
            # continuous in the total: a rounding error in it is one in the loss
            tables.append(statement.loss.rows(GridTotals(counts, unit).floats, held, y))
        else:
            losses, scale = statement.loss.exact_rows(GridTotals(counts, unit), held, y)
            tables.append(np.asarray(losses, dtype=np.float64) * float(scale))
    return np.stack(tables)


def held_losses(statement: Statement, points: IntArray, b: float) -> FloatArray:
    """Mean loss of each row of points, shape (N, p), with the real intercept b held; shape (N,)."""
    rows, held, loss = statement.design.merged, as_fraction(float(b)), statement.loss
    each = (FloatTotals(t, 0.0) for _, some in merged_totals(statement, points) for t in some.T)
    if isinstance(loss, SurvivalLoss):
        return np.array([loss.exact_mean(totals, held, rows.y) for totals in each])
    means = [float(rows.weight @ loss.rows(totals, held, rows.y)) for totals in each]
    return np.array(means, dtype=np.float64) / float(rows.weight.sum())


def derandomised(
    statement: Statement,
    w: npt.ArrayLike,
    b: float,
    *,
    estimator: Estimator = "pessimistic",
    order: Order = "uncertain",
) -> RoundedCard:
    r"""Fix one coordinate after another at the value of least estimated loss.

    Given the columns fixed so far, the pessimistic estimator is

    .. math:: U = L(\hat w, b) + \frac1\gamma \sum_i \frac{s_i}{S}
        \sqrt{(E \langle c - \hat w, x_i \rangle)^2 + \mathrm{Var} \langle c, x_i \rangle}

    At the start it is the sharp bound of :func:`rounding_bounds`. One of a column's two values does
    not raise it, because sqrt(m^2 + v) is concave in the second moment. At the end the variance is
    0 and the loss Lipschitz, so that L(c, b) <= U <= sharp bound, without chance. The exact
    estimator is E L(c, b) itself, by the dynamic programming of :func:`expected_loss`.

    Parameters
    ----------
    statement : Statement
        The pessimistic estimator needs the hinge loss, the exact one data on a grid, such as whole
        numbers.
    w : array of shape (p,)
        Real weights, say those of a relaxed result.
    b : float
        Their intercept, held.
    estimator : {"pessimistic", "exact", "auto"}
        "auto" is the pessimistic one under the hinge loss, else the exact one.
    order : {"uncertain", "given"}
        Columns by falling f(1-f) times the mean square of the change they make, or in their order.

    Returns
    -------
    RoundedCard
        ``trace[k]`` is the estimator after k columns: it never rises, and its last entry bounds
        ``held_loss`` (and equals it under the exact estimator). Also ``estimator``; ``order``, the
        columns that were not whole, as they were fixed; ``promise``, the estimator at the start;
        ``held_loss``, the mean loss of ``points`` with the intercept held at b, at most the
        promise. The card has the best allowed intercept, and at most ``max_terms`` terms. Ties go
        to the value closer to 0, so that changing all signs changes nothing else.

    Raises
    ------
    OptionError
        For an unknown estimator or order.
    NotApplicableError, SizeError
        If the estimator cannot be computed.
    FormulationError
        If ``w`` has another shape or is not finite.

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
    fixing: _Pessimistic | _ExactExpectation
    if estimator == "pessimistic":
        fixing = _Pessimistic(statement, w, b)
    else:
        fixing = _ExactExpectation(statement, w, b)
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
    """The columns that are not whole, in the order of fixing."""
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


class _ExactExpectation:
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
        """Fix these columns while the law of all later ones is ``later``."""
        # by halves: p log p joinings and log p tables, where one table per column would not fit
        # and leaving a column out of a law again is unstable
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


@dataclass(frozen=True, eq=False)
class Rounding:
    """The outcome of N draws.

    Attributes
    ----------
    card : Card or None
        The best one; None if every draw was discarded.
    evaluation : Evaluation or None
        Its exact figures.
    points : ndarray of int64, shape (q, p)
        The distinct vectors of points left after repair, best first.
    n_draws, n_distinct : int
        Draws, and distinct vectors of points among them.
    n_repaired, n_discarded : int
        Draws with too many terms: repaired by dropping the terms of least LP weight, or discarded
        if those may not be 0. Draws that break a constraint, limits on errors under every intercept
        included, are discarded too.
    mean_loss : float
        Mean loss over the draws left, each with its best allowed intercept.
    held_loss : float
        Mean loss over all draws before repair, the intercept held at the LP's; NaN without one.
    random_state : int or None
        None for a Generator.
    trace : ndarray of float64, shape (n_draws,), read-only
        Objective of each draw after repair with its best allowed intercept, in the order drawn;
        infinite if discarded.
    bounds : mapping
        :func:`rounding_bounds` of the weights: ``sharp_bound`` and ``expected_bound`` bound the
        expectation of ``held_loss``. Empty without an intercept or the hinge loss.
    """

    card: Card | None
    evaluation: Evaluation | None
    points: IntArray
    n_draws: int
    n_distinct: int
    n_repaired: int
    n_discarded: int
    mean_loss: float
    held_loss: float
    random_state: int | None
    trace: FloatArray
    bounds: Mapping[str, float]

    @property
    def objective(self) -> float:
        """Objective of the best card, NaN without one."""
        return float("nan") if self.evaluation is None else self.evaluation.objective

    def cards(self, statement: Statement) -> Iterator[Card]:
        """Iterate over the cards of all ``points``, best first.

        Parameters
        ----------
        statement : Statement
            The statement the draws were made for.
        """
        return map(statement.with_best_intercept, self.points)

    @property
    def counts(self) -> str:
        """The draws in words."""
        return (
            f"{self.n_draws} draws, {self.n_distinct} distinct, {self.n_repaired} repaired, "
            f"{self.n_discarded} discarded"
        )


def nearest(statement: Statement, w: npt.ArrayLike, b: float | None = None) -> Card:
    """Round every weight to the closest allowed value, without drawing.

    Parameters
    ----------
    statement : Statement
        Its ranges and sets say which values are allowed; terms of least absolute weight beyond
        ``max_terms`` are dropped.
    w : array of shape (p,)
        Real weights, say those of a relaxed result.
    b : float, optional
        The LP's intercept: the closest allowed one is taken unless another is better.

    Returns
    -------
    Card
        With the allowed intercept of least loss. A weight half-way between two values (within 1e-9)
        goes to the one closer to 0, so that changing all signs changes nothing else. The card
        exceeds ``max_terms`` only if more columns than that cannot be 0; it may break a constraint,
        which only the re-check finds.

    Raises
    ------
    FormulationError
        If ``w`` has another shape or is not finite.

    See Also
    --------
    rounding_bounds : what this rounding always obeys under the hinge loss.
    """
    points, _ = limit_terms(statement, nearest_points(statement, w)[None, :], w)
    best = statement.with_best_intercept(points[0])
    if b is None or statement.scales is not None:  # an intercept is held at one scale only
        return best
    close = Card(points[0], statement.intercept.nearest(b))
    if any(constraint.violation(statement, close) for constraint in statement.constraints):
        return best
    return close if mean_loss(statement, close)[0] <= mean_loss(statement, best)[0] else best


def randomised(
    statement: Statement,
    w: npt.ArrayLike,
    *,
    intercept: float | None = None,
    n_draws: int = 100,
    random_state: Any = 0,
) -> Rounding:
    """Draw whole weights whose expectation is w, and keep the best card.

    Each weight is rounded up with probability equal to its fractional part, else down,
    independently. For binary weights this is the paper's draw; for ternary ones the paper's on
    doubled features, the pair (c+, c-) of a feature reduced to (max(w, 0), max(-w, 0)): the
    expectation is the same and the variance never larger.

    Parameters
    ----------
    statement : Statement
    w : array of shape (p,)
        Real weights, say those of a relaxed result.
    intercept : float, optional
        The LP's intercept b, for ``held_loss`` and ``bounds``.
    n_draws : int
        At least 1.
    random_state : int or Generator

    Returns
    -------
    Rounding

    Raises
    ------
    FormulationError
        If ``w`` has another shape or is not finite.
    OptionError
        If ``n_draws`` is not a whole number >= 1.

    References
    ----------
    Chevaleyre, Koriche & Zucker (2013), Figure 1, steps (2) and (3). The paper returns one draw;
    here the best of N is returned, judged exactly.
    """
    if not is_whole(n_draws, 1):
        raise OptionError(f"{{n_draws}} must be a whole number >= 1, got {n_draws!r}", n_draws=...)
    generator = np.random.default_rng(random_state)
    low, high, fraction = neighbours(statement, w)
    up = generator.random((int(n_draws), len(low))) < fraction
    drawn, which = np.unique(np.where(up, high, low), axis=0, return_inverse=True)
    times = np.bincount(which.ravel(), minlength=len(drawn)).astype(np.int64)
    repaired, feasible = limit_terms(statement, drawn, w)
    changed = (repaired != drawn).any(axis=1)
    points, kept_times, places = _distinct(repaired[feasible], times[feasible])
    losses, sums = best_objectives(statement, points)
    objectives = np.full(len(drawn), np.inf)
    objectives[feasible] = sums[places]
    within = np.isfinite(losses)
    beyond = int(kept_times[~within].sum())
    kept_times, losses = kept_times[within], losses[within]
    judged, ordered = _judged(statement, points[within], sums[within])
    held = float("nan")
    if intercept is not None:
        held = _average(held_losses(statement, drawn, intercept), times)
    hinge = isinstance(statement.loss, Hinge)
    return Rounding(
        card=judged[0][0] if judged else None,
        evaluation=judged[0][1] if judged else None,
        points=ordered,
        n_draws=int(n_draws),
        n_distinct=len(drawn),
        n_repaired=int(times[changed & feasible].sum()),
        n_discarded=int(times[~feasible].sum()) + beyond,
        mean_loss=_average(losses, kept_times),
        held_loss=held,
        random_state=seed_of(random_state),
        trace=read_only(objectives[which.ravel()]),
        bounds=rounding_bounds(statement, w, intercept) if hinge and intercept is not None else {},
    )


def _judged(
    statement: Statement, points: IntArray, objectives: FloatArray
) -> tuple[list[tuple[Card, Evaluation]], IntArray]:
    """The five best cards in exact order, and all vectors of points, best first."""
    # the order of the others comes from sums in floating point
    order = np.argsort(objectives, kind="stable")
    cards = [statement.with_best_intercept(points[k]) for k in order[:5]]
    judged = sorted(
        ((card, evaluate(statement, card)) for card in cards), key=lambda pair: pair[1].objective
    )
    first = [card.coefficients for card, _ in judged]
    return judged, np.array([*first, *points[order[5:]]], dtype=np.int64).reshape(points.shape)


def _distinct(points: IntArray, times: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Distinct rows, how often each was drawn, and which of them each row is."""
    rows, inverse = np.unique(points, axis=0, return_inverse=True)
    inverse = inverse.ravel()
    drawn = np.bincount(inverse, weights=times, minlength=len(rows)).astype(np.int64)
    return rows, drawn, inverse


def _average(values: FloatArray, times: IntArray) -> float:
    """Mean over the draws, NaN without any."""
    return float(values @ times / times.sum()) if times.sum() else float("nan")


def combine(design: Design, cards: Mapping[str, Card]) -> Card:
    """Sum the points of per-feature cards and cut the totals by the best separator.

    Parameters
    ----------
    design : Design
        The binned data all cards were learnt on.
    cards : mapping from raw feature to Card
        Each has p points, 0 for other features, as the programs of
        :func:`milpscore.formulations.fused_lasso_by_feature` give them. Their intercepts do not
        count.

    Returns
    -------
    Card
        Its threshold has the least weighted 0-1 loss.

    Raises
    ------
    FormulationError
        For an unknown feature, a card of another length, or points on another feature.

    References
    ----------
    Sokolovska, Chevaleyre & Zucker, score learning, steps 3 and 4: sum the scores, then find an
    optimal separator between the two classes.
    """
    points = np.zeros(design.shape[1], dtype=np.int64)
    for feature, card in cards.items():
        _require_own_columns(design, feature, card)
        points += card.coefficients
    totals = card_totals(design.X, design.step, Card(points, Fraction(0)))
    grid, (values, unit) = isinstance(totals, GridTotals), totals.in_units
    low, high = Fraction(values.min().item()), Fraction(values.max().item())
    rule = InterceptRule(
        "grid" if grid else "real", -(high + 1) * unit, -low * unit, unit if grid else None
    )
    b = ZeroOne().best_intercept(totals, design.y, design.weight, rule)
    return Card(points, b)


def _require_own_columns(design: Design, feature: str, card: Card) -> None:
    """Refuse a card with points on another feature, or of another length."""
    own = np.array([column.feature == feature for column in design.columns])
    if not own.any():
        known = sorted({column.feature for column in design.columns})
        raise FormulationError(f"combine: no feature {feature!r} in the design; there are {known}")
    if len(card.coefficients) != len(own):
        raise FormulationError(
            f"combine: the card of {feature!r} has {len(card.coefficients)} points, the design "
            f"{len(own)} columns: pass cards learnt on this design"
        )
    if np.any(card.coefficients[~own]):
        raise FormulationError(
            f"combine: the card of {feature!r} has points on other features; learn it with "
            f"fused_lasso(design, features=[{feature!r}])"
        )
