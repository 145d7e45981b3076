"""Whole points around a point: polishing a card, and finding what a master still underrates."""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import FloatArray
from milpscore.core.statement import Statement

_TRIED = 24
"""Neighbours evaluated at each step of a polish, the most promising of the quadratic model."""

_STEPS = 200


class Neighbourhood:
    """Points one or two moves from a point; a move is one step of one coefficient.

    Parameters
    ----------
    statement : Statement
    loss : Any
    """

    def __init__(self, statement: Statement, loss: Any) -> None:
        self.statement, self.loss = statement, loss
        self.rows = statement.design.merged
        self.sorted = {j: np.array(v, np.float64) for j, v in statement.coef_sets.items()}
        self.low = statement.coef_min.astype(np.float64)
        self.high = statement.coef_max.astype(np.float64)

    def nearest(self, w: FloatArray) -> FloatArray:
        """The allowed coefficients nearest to real ones, shape (p,); max_terms may be broken."""
        whole = np.clip(np.rint(w), self.low, self.high) + 0.0
        for j, values in self.sorted.items():
            whole[j] = values[int(np.abs(values - w[j]).argmin())]
        return whole

    def whole(self, v: FloatArray) -> FloatArray:
        """(w, b), shape (p + 1,), with whole coefficients and an intercept on its grid."""
        rule = self.statement.intercept
        last = float(rule.nearest(float(v[-1]))) if rule.step is not None else v[-1]
        return np.append(np.rint(v[:-1]) + 0.0, last)

    def card(self, v: FloatArray) -> Card:
        """The card of (w, b), shape (p + 1,)."""
        intercept = self.statement.intercept.nearest(float(v[-1]))
        return Card(np.rint(v[:-1]).astype(np.int64), intercept)

    def with_intercepts(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(w, b) with the best intercept of each row of ``points``, and the objectives.

        Parameters
        ----------
        points : ndarray of shape (V, p)

        Returns
        -------
        (ndarray of shape (V, p + 1), ndarray of shape (V,))
        """
        rows, loss = self.rows, self.statement.loss
        rule: Any = self.statement.intercept
        with np.errstate(over="ignore", invalid="ignore"):
            best, _ = loss.best_intercepts(rows.X @ points.T, rows.y, rows.weight, rule)
        full = np.column_stack([points, best])
        penalty = np.array([self.statement.penalty(w) for w in points])
        return full, self.loss.values(full) + penalty

    def polish(self, w: FloatArray) -> tuple[FloatArray, float]:
        """Descend from whole coefficients w, shape (p,), while one or two moves help.

        Returns
        -------
        (ndarray of shape (p + 1,), float)
            (w, b) and its objective.
        """
        full, objectives = self.with_intercepts(w[None, :])
        v, best = full[0], float(objectives[0])
        for _ in range(_STEPS):
            moves = self._allowed(v[:-1], self._moves(v[:-1], swaps=True))
            if not len(moves) or not np.isfinite(best):
                break
            tried = moves[np.argsort(self._promise(v, moves), kind="stable")[:_TRIED]]
            full, objectives = self.with_intercepts(v[:-1] + tried)
            k = int(objectives.argmin())
            if not objectives[k] < best - 1e-12 * (1.0 + abs(best)):
                break
            v, best = full[k], float(objectives[k])
        return v, best

    def around(self, v: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """Allowed points one or two moves from v, shape (V, p + 1), the intercept's included.

        Parameters
        ----------
        v, low, high : ndarrays of shape (p + 1,)
        """
        w = v[:-1]
        moves = np.vstack([np.zeros_like(w)[None, :], self._moves(w, swaps=False)])
        moves = self._allowed(w, moves)
        step = self.statement.intercept.step
        few = np.count_nonzero(moves, axis=1) < 2
        parts = [np.column_stack([moves, np.zeros(len(moves))])]
        if step is not None:
            for sign in (-1.0, 1.0):
                shift = np.full(int(few.sum()), sign * float(step))
                parts.append(np.column_stack([moves[few], shift]))
        points = v + np.vstack(parts)[1:]
        return np.asarray(points[np.all((points >= low) & (points <= high), axis=1)])

    def _promise(self, v: FloatArray, moves: FloatArray) -> FloatArray:
        """What a quadratic model, the intercept following, says each move changes."""
        _, gradient, hessian = self.loss.expansion(v)
        g, bend = gradient[:-1], hessian[:-1, :-1]
        if self.statement.intercept.kind != "zero" and hessian[-1, -1] > 0:
            cross = hessian[:-1, -1] / hessian[-1, -1]
            g = g - cross * gradient[-1]
            bend = bend - np.outer(cross, hessian[-1, :-1])
        return np.asarray(moves @ g + 0.5 * np.einsum("vi,vi->v", moves @ bend, moves))

    def _moves(self, w: FloatArray, *, swaps: bool) -> FloatArray:
        """Single steps, pairs of them and, with ``swaps``, terms changing places; shape (V, p)."""
        p = len(w)
        single = []
        for sign in (-1.0, 1.0):
            steps = np.full(p, sign)
            for j, values in self.sorted.items():
                further = values[(values - w[j]) * sign > 0]
                steps[j] = (further[0] if sign > 0 else further[-1]) - w[j] if len(further) else 0
            single.append(np.diag(steps))
        ones = np.vstack(single)
        first, second = np.triu_indices(len(ones), 1)
        apart = first % p != second % p if p else first != second
        parts = [ones, ones[first[apart]] + ones[second[apart]]]
        if swaps:
            parts.append(_exchanges(w))
        return np.vstack(parts)

    def _allowed(self, w: FloatArray, moves: FloatArray) -> FloatArray:
        """The moves that keep to ranges, sets, terms, and constraints but limits on errors."""
        points = w + moves
        fine = np.all((points >= self.low) & (points <= self.high), axis=1)
        for j, values in self.sorted.items():
            fine &= np.isin(points[:, j], values)
        if self.statement.max_terms is not None:
            fine &= np.count_nonzero(points, axis=1) <= self.statement.max_terms
        if self.statement.constraints and fine.any():
            fine[fine] = self.statement.allows(np.rint(points[fine]).astype(np.int64))
        return np.asarray(moves[fine])


def _exchanges(w: FloatArray) -> FloatArray:
    """Every used coefficient to 0, alone or in exchange for another of its size; shape (V, p)."""
    parts = []
    unused = np.flatnonzero(w == 0)
    for j in np.flatnonzero(w):
        dropped = np.zeros_like(w)
        dropped[j] = -w[j]
        parts.append(dropped[None, :])
        for size in {1.0, abs(float(w[j]))}:
            for sign in (-size, size):
                placed = np.tile(dropped, (len(unused), 1))
                placed[np.arange(len(unused)), unused] = sign
                parts.append(placed)
    return np.vstack(parts) if parts else np.empty((0, len(w)))
