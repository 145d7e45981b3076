"""Derandomised rounding: the method of conditional expectations, one coordinate after another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.statement import Statement
from milpscore.losses import Hinge
from milpscore.rounding.expectations import Law, RandomTotals, held_losses
from milpscore.search.points import RoundedCard, completed, neighbours

Estimator: TypeAlias = Literal["pessimistic", "exact"]
Order: TypeAlias = Literal["uncertain", "given"]


@dataclass(frozen=True, eq=False)
class Derandomised(RoundedCard):
    """What the method of conditional expectations gave.

    ``trace[k]`` is the estimator after k columns were fixed: it never rises, and its last entry
    bounds ``held_loss`` (under the exact estimator it is ``held_loss``).

    Attributes
    ----------
    estimator : {"pessimistic", "exact"}
    order : ndarray of int64, shape (q,)
        The columns that were not whole, in the order they were fixed.
    promise : float
        The estimator at the start, ``trace[0]``.
    held_loss : float
        Mean loss of ``points`` with the intercept held at b: at most ``promise``.
    """

    estimator: Estimator
    order: IntArray
    promise: float
    held_loss: float

    @property
    def figures(self) -> dict[str, float]:
        """``rounding_loss``, and where the pessimistic estimator was used the ``sharp_bound``."""
        proved = {"sharp_bound": self.promise} if self.estimator == "pessimistic" else {}
        return {"rounding_loss": self.held_loss, **proved}


def derandomised(
    statement: Statement,
    w: npt.ArrayLike,
    b: float,
    *,
    estimator: Estimator = "pessimistic",
    order: Order = "uncertain",
) -> Derandomised:
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
    estimator : {"pessimistic", "exact"}
    order : {"uncertain", "given"}
        Columns by falling f(1-f) times the mean square of the change they make, or as they stand.

    Returns
    -------
    Derandomised
        The promise speaks of ``points`` with the intercept held; the card has the best allowed
        intercept, and fewer terms where ``max_terms`` asks for it. On equals the value closer to
        0 is taken, so that a change of all signs changes nothing else.

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
    fixing: _Pessimistic | _Exact
    if estimator == "pessimistic":
        fixing = _Pessimistic(statement, w, b)
    else:
        fixing = _Exact(statement, w, b)
    low, high, fraction = neighbours(statement, w)
    columns = _ordered(statement, order, fraction, high - low)
    trace = [fixing.value(), *fixing.run(columns, np.abs(high) < np.abs(low))]
    points = np.where(fixing.up, high, low)
    return Derandomised(
        method="derandomised",
        **completed(statement, points, w, trace),
        estimator=estimator,
        order=columns,
        promise=trace[0],
        held_loss=float(held_losses(statement, points[None, :], b)[0])
        if isinstance(statement.loss, Hinge)
        else trace[-1],
    )


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
        self.sums = RandomTotals(statement, w, b)
        self.fixed = self.sums.fixed()
        self.up = np.zeros(len(self.sums.fraction), dtype=bool)

    def value(self) -> float:
        """The expectation with every column still open."""
        return self.sums.expectation(self.sums.random, self.fixed)

    def run(self, columns: IntArray, up_on_ties: Any) -> list[float]:
        """Fix the columns in this order; the expectation after each."""
        trace: list[float] = []
        if len(columns):
            self._decide(columns, self.sums.nothing, up_on_ties, trace)
        return trace

    def _decide(self, columns: IntArray, later: Law, up_on_ties: Any, trace: list[float]) -> None:
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

    def _fix(self, j: int, later: Law, up_on_tie: bool) -> float:
        above = self.fixed + self.sums.moves[:, j]
        values = self.sums.expectation(later, self.fixed), self.sums.expectation(later, above)
        self.up[j] = _goes_up(*values, up_on_tie)
        self.fixed = above if self.up[j] else self.fixed
        return values[int(self.up[j])]


def _goes_up(down: float, up: float, up_on_tie: bool) -> bool:
    """Whether the upper value is the better one."""
    return up < down or (up == down and up_on_tie)
