"""A bound under the hinge loss without a model: the dual of its rows, for tables too large for one.

For any a with 0 <= a_i <= s_i / (S margin), no card of at most k terms has an objective below

    margin sum a_i - sum of the k largest h_j(g_j) - max over b of b sum a_i y_i,

where g = sum a_i y_i x_i and h_j(g) is the largest g w - price(w) over the points w of column j.
The slopes of a smoothed loss at its minimiser are such an a, and near the best one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import minimize

from milpscore.core.clock import Clock
from milpscore.core.design import FloatArray
from milpscore.core.statement import Statement
from milpscore.losses import Hinge
from milpscore.search.points import AllowedPoints
from milpscore.search.policy import POLICY as SEARCH
from milpscore.solvers.policy import POLICY


def hinge_bound(statement: Statement, clock: Clock) -> float:
    """Return a bound on the objective of every card; 0 where there is none, or no time."""
    widest = max((high - low for low, high in zip(*statement.ranges, strict=True)), default=0)
    if not isinstance(statement.loss, Hinge) or widest > 2 * SEARCH.widest_range:
        return 0.0
    dual = _Dual(statement)
    bounds = (dual.bound(slopes) for slopes in dual.slopes(clock))
    return max(bounds, default=0.0)


class _Dual:
    """The merged rows, what their columns may have, and the dual's value."""

    def __init__(self, statement: Statement) -> None:
        rows, loss = statement.design.merged, statement.loss
        self.margin = float(loss.margin)  # type: ignore[attr-defined]
        self.signed = rows.y[:, None] * rows.X
        self.y, self.most = rows.y, rows.weight / (rows.weight.sum() * self.margin)
        self.values, self.prices, counts = AllowedPoints.of(statement, 1.0).choices
        self.meant = np.arange(self.values.shape[1]) < counts[:, None]
        self.values = np.where(self.meant, self.values, 0.0)
        self.ends = self.values.min(axis=1), np.where(self.meant, self.values, -np.inf).max(axis=1)
        rule, p = statement.intercept, len(counts)
        self.b = np.array([float(rule.lower), float(rule.upper)])
        self.optional = (self.meant & (self.values == 0.0)).any(axis=1)
        limit = p if statement.max_terms is None else statement.max_terms
        self.terms = max(limit - int((~self.optional).sum()), 0)
        self.limited = limit < p

    def bound(self, slopes: FloatArray) -> float:
        """Return the dual's value at slopes, shape (m,), or at slopes of equal sums per class."""
        sides = [float(slopes[self.y == side].sum()) for side in (-1, 1)]
        balanced = slopes * np.where(
            self.y > 0, min(1.0, sides[0] / max(sides[1], 1e-300)),
            min(1.0, sides[1] / max(sides[0], 1e-300)),
        )  # fmt: skip
        return max(self._bound(slopes), self._bound(balanced))

    def _bound(self, slopes: FloatArray) -> float:
        gradient, free = slopes @ self.signed, float(slopes @ self.y)
        worth = np.where(self.meant, gradient[:, None] * self.values - self.prices, -np.inf)
        most = worth.max(axis=1)
        chosen = np.sort(most[self.optional])[::-1][: self.terms]
        parts = [self.margin * float(slopes.sum()), -float(chosen.sum())]
        parts += [-float(most[~self.optional].sum()), -float((self.b * free).max())]
        return sum(parts) - POLICY.hinge_rounding * sum(map(abs, parts))

    def slopes(self, clock: Clock) -> Iterator[FloatArray]:
        """Yield slopes of the smoothed loss at minimisers, terms priced ever better."""
        low, high = self.ends
        p, lam, least = len(low), 0.0, 0.0
        reach = np.concatenate([np.maximum(high, 0.0), np.maximum(-low, 0.0)])
        inner = np.concatenate([np.maximum(low, 0.0), np.maximum(-high, 0.0)])
        limits = [*zip(inner.tolist(), reach.tolist(), strict=True), tuple(self.b.tolist())]
        # 1) A term and a point cost what is least for each of their points, as in the relaxation.
        each = np.where(self.values == 0.0, np.inf, self.prices) / np.abs(self.values).clip(1.0)
        sides = [np.where(s * self.values > 0.0, each, np.inf).min(axis=1) for s in (1, -1)]
        dear = np.where(reach > 0, np.concatenate(sides), 0.0)
        unit = np.where(np.tile(self.optional, 2) & (reach > 0), 1.0 / reach.clip(1.0), 0.0)
        x = np.clip(np.zeros(2 * p + 1), *map(np.array, zip(*limits, strict=True)))
        # 2) Halve the range of the price per term: 0 to what a term is worth to no column.
        along = self.most @ np.abs(self.signed)
        most = float((np.tile(along, 2) * reach).max(initial=0.0))
        for turn in range(POLICY.hinge_turns if self.limited else 1):
            for width in POLICY.hinge_widths if turn == 0 else POLICY.hinge_widths[-1:]:
                found = minimize(
                    self._smoothed, x, args=(width * self.margin, lam * unit + dear), jac=True,
                    method="L-BFGS-B", bounds=limits,
                    options={"maxiter": POLICY.hinge_steps, "maxcor": 20},
                )  # fmt: skip
                x = found.x
                yield self.most * self._short(x, width * self.margin)[1]
                if not clock:
                    return
            # 3) More terms than are allowed cost too little.
            used = float(unit @ x[:-1])
            if used > self.terms:
                least = lam
            else:
                most = lam
            if most == 0.0:
                return
            lam = 0.5 * (least + most)

    def _short(self, x: FloatArray, width: float) -> tuple[FloatArray, FloatArray]:
        """What each row lacks of the margin, and the share of its slope that this takes."""
        p = len(self.ends[0])
        short = self.margin - self.signed @ (x[:p] - x[p:-1]) - x[-1] * self.y
        return short, np.clip(short / width, 0.0, 1.0)

    def _smoothed(
        self, x: FloatArray, width: float, prices: FloatArray
    ) -> tuple[float, FloatArray]:
        """Loss whose kink is rounded over ``width``, and prices; with the gradient."""
        p, (short, part) = len(self.ends[0]), self._short(x, width)
        loss = self.most @ np.where(part < 1.0, 0.5 * width * part**2, short - 0.5 * width)
        slopes = self.most * part
        along = -(slopes @ self.signed)
        gradient = np.concatenate([along + prices[:p], -along + prices[p:], [-(slopes @ self.y)]])
        return float(loss + prices @ x[:-1]), gradient
