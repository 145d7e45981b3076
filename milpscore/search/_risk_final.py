"""From whole points to a card: the scale and intercept they are best with, and what they reach."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.statement import Statement
from milpscore.search._risk_columns import Columns, Groups
from milpscore.verify import evaluate

_PARTED = 1e-9
_EXACT = 1e-12


@dataclass(frozen=True, eq=False)
class FastRisk:
    """A heuristic risk score, its scale fitted where that was free.

    Attributes
    ----------
    card : Card
        Points and intercept, both in points.
    scale : float
        Points in one unit of the score: a risk is 1 / (1 + exp(-(w.x + b) / scale)).
    statement : Statement
        The one the card was found for, its loss at ``scale``.
    loss, objective : float
        Of the card at its scale, recomputed on the raw rows.
    recalibrated : float
        The least mean logistic loss over a real slope >= 0 and a real intercept of the card's
        totals; 0 is approached, not reached, where the totals part the classes.
    refits, rounded : int
        Supports given real weights, and those of them whose points were searched: the work done.
    """

    card: Card
    scale: float
    statement: Statement
    loss: float
    objective: float
    recalibrated: float
    refits: int
    rounded: int


def rescaled(statement: Statement, scale: float) -> Statement:
    """The statement with its loss at another scale."""
    arguments = {**statement.arguments, "scale": scale}
    loss = replace(statement.loss, scale=scale)  # type: ignore[type-var]
    return replace(statement, loss=loss, arguments=arguments)


@dataclass(frozen=True, eq=False)
class Finish:
    """Cards of whole points for one statement.

    Attributes
    ----------
    statement : Statement
    columns : Columns
    scale : float
        0 where it is free.
    rule : ndarray of shape (3,)
        The intercept's bounds and step.
    """

    statement: Statement
    columns: Columns
    scale: float
    rule: FloatArray

    def answer(self, w: IntArray, refits: int, rounded: int) -> FastRisk:
        """The card of these points with its best scale and intercept."""
        if not self.scale:
            w = self._reduced(w)
        from milpscore.search._risk_kernels import loss_of

        groups, totals, offset = self._totals(w)
        least, slope, shift = self._line(groups, totals)
        if self.scale:
            scale, b = self.scale, self._intercept(groups, totals, offset)
        elif slope > 0:
            scale, b = self._fitted(groups, totals, offset, shift / slope - offset)
        else:
            scale, b = 1.0, self.statement.intercept.nearest(shift - offset)
        loss = loss_of((totals + (offset + float(b))) / scale, *groups.sides)
        statement = rescaled(self.statement, scale)
        return FastRisk(
            card=Card(w, b),
            scale=scale,
            statement=statement,
            loss=loss,
            objective=loss + statement.penalty(w),
            recalibrated=min(least, loss),
            refits=refits,
            rounded=rounded,
        )

    def bound(self, answer: FastRisk) -> FastRisk:
        """The answer with the intercept its statement itself would take."""
        card = answer.statement.with_best_intercept(answer.card.coefficients)
        figures = evaluate(answer.statement, card)
        return replace(answer, card=card, loss=figures.loss, objective=figures.objective)

    def objective(self, w: IntArray) -> float:
        """The objective of points with their best scale and intercept."""
        from milpscore.search._risk_kernels import loss_of

        groups, totals, offset = self._totals(w)
        if not self.scale:
            return self._line(groups, totals)[0] + self.statement.penalty(w)
        b = float(self._intercept(groups, totals, offset))
        scores = (totals + offset + b) / self.scale
        return loss_of(scores, *groups.sides) + self.statement.penalty(w)

    def _totals(self, w: IntArray) -> tuple[Groups, FloatArray, float]:
        """The groups of the columns used, their centred totals, and what centring took off."""
        order = np.flatnonzero(w).tolist()
        groups = self.columns.groups(order)
        totals = groups.patterns @ w[order].astype(np.float64)
        return groups, totals, float(w[order] @ self.columns.means[order])

    def _line(self, groups: Groups, totals: FloatArray) -> tuple[float, float, float]:
        """Least loss over slope and intercept of centred totals, the slope, and the shift."""
        from milpscore.search._risk_kernels import best_line

        spread = float(np.ptp(totals)) or 1.0
        start = self.columns.log_odds
        return best_line(totals, *groups.sides, 1.0 / spread, start, math.inf, _PARTED, _EXACT)

    def _intercept(self, groups: Groups, totals: FloatArray, offset: float) -> Fraction:
        """The best intercept allowed at the fixed scale."""
        from milpscore.search._risk_points import fitted_loss

        _, _, shift = fitted_loss(
            totals, offset, *groups.sides, 1.0 / self.scale, self.columns.log_odds, math.inf,
            0.0, self.scale, self.rule,
        )  # fmt: skip
        return self.statement.intercept.nearest(shift * self.scale - offset)

    def _fitted(
        self, groups: Groups, totals: FloatArray, offset: float, b: float
    ) -> tuple[float, Fraction]:
        """Scale and intercept of a free card: of the allowed ones next to b the best."""
        from milpscore.search._risk_kernels import best_slope

        rule = self.statement.intercept
        step = rule.step or Fraction(0)
        fits = []
        for value in sorted({rule.nearest(Fraction(b) + k * step) for k in (-1, 0, 1)}):
            scores = totals + (offset + float(value))
            loss, slope = best_slope(scores, *groups.sides, _PARTED)
            if slope > 0:
                fits.append((loss, value, slope))
        if not fits:  # no allowed intercept leaves the points any use
            return 1.0, rule.nearest(Fraction(b))
        _, value, slope = min(fits)
        return 1.0 / slope, value

    def _reduced(self, w: IntArray) -> IntArray:
        """Points divided by their greatest common divisor, where that is allowed."""
        divisor = int(np.gcd.reduce(w))
        if divisor <= 1:
            return w
        smaller = w // divisor
        fine = bool(self.statement.allows(smaller[None, :])[0])
        cheaper = self.statement.penalty(smaller) <= self.statement.penalty(w)
        return smaller if fine and cheaper else w
