"""Where leaves under the hinge loss draw their lines: by the duals of their boxes' programs."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from milpscore.certificate.cards import merged_names, plain_penalties
from milpscore.certificate.leaves import CardBox, Drawn, Source, Space, short
from milpscore.certificate.policy import POLICY
from milpscore.certificate.tangents import ScoreTangent
from milpscore.core.design import FloatArray
from milpscore.core.errors import NotApplicableError
from milpscore.core.statement import Statement
from milpscore.losses import Hinge
from milpscore.solvers.running import highs_of, run_here


class HingeLines(Source):
    """The hinge loss, penalties and limit on terms as a linear program whose ranges change."""

    def __init__(self, statement: Statement, space: Space) -> None:
        assert isinstance(statement.loss, Hinge)
        self.margin, self.space = float(statement.loss.margin), space
        rows = statement.design.merged
        self.X, self.y = rows.X, rows.y.astype(np.float64)
        self.share = rows.weight / rows.weight.sum()
        self.name = merged_names(statement.design)
        self.spread = self.X.std(axis=0) if self.X.size else np.zeros(space.p)
        # neighbours, and what a point of difference between them costs
        jumps = plain_penalties(statement)["jumps"]
        self.jumps = [(int(a), int(b), float(Fraction(c))) for a, b, c in jumps]
        self._state(statement)

    def _state(self, statement: Statement) -> None:
        """Columns w, alpha, b, xi, what points cost, jumps; rows of the margin and of the jumps."""
        space, (n, p), k = self.space, self.X.shape, len(self.jumps)
        w, alpha, b, xi = range(p), range(p, 2 * p), 2 * p, range(2 * p + 1, 2 * p + 1 + n)
        cost_of, eta = range(xi.stop, xi.stop + p), range(xi.stop + p, xi.stop + p + k)
        width = eta.stop
        low = np.where(space.real, space.values, np.inf).min(axis=1)
        high = np.where(space.real, space.values, -np.inf).max(axis=1)
        entries: list[tuple[dict[int, float], float]] = []
        for i in range(n):
            row = {w[j]: self.y[i] * self.X[i, j] for j in np.flatnonzero(self.X[i]).tolist()}
            entries.append(({**row, b: self.y[i], xi[i]: 1.0}, self.margin))
        for h, (left, right, _) in enumerate(self.jumps):
            entries.append(({eta[h]: 1.0, w[left]: -1.0, w[right]: 1.0}, 0.0))
            entries.append(({eta[h]: 1.0, w[left]: 1.0, w[right]: -1.0}, 0.0))
        l0 = float({t.name: t.lam for t in statement.penalties}.get("l0_penalty", 0.0))
        for j in range(p):
            entries.append(({alpha[j]: max(high[j], 0.0), w[j]: -1.0}, 0.0))
            entries.append(({alpha[j]: -min(low[j], 0.0), w[j]: 1.0}, 0.0))
            entries += self._chords(j, w[j], cost_of[j], l0)
        if space.terms < p:
            entries.append((dict.fromkeys(alpha, -1.0), -float(space.terms)))
        index = [column for row, _ in entries for column in row]
        data = [value for row, _ in entries for value in row.values()]
        start = np.cumsum([0, *(len(row) for row, _ in entries)])
        matrix = sparse.csc_array(sparse.csr_array((data, index, start), (len(entries), width)))
        cost, self.low, self.high = np.zeros(width), np.zeros(width), np.full(width, np.inf)
        cost[list(alpha)], cost[list(cost_of)] = l0, 1.0
        cost[list(xi)] = self.share / self.margin
        cost[list(eta)] = [c for *_, c in self.jumps]
        self.low[list(w)], self.high[list(w)], self.high[list(alpha)] = low, high, 1.0
        self.low[b], self.high[b] = space.b
        lower, upper = np.array([end for _, end in entries]), np.full(len(entries), np.inf)
        self.scale = 2.0 ** round(math.log2(max(n, 1)))
        self.highs = highs_of(
            matrix, (cost * self.scale, 0.0), (self.low, self.high), (lower, upper)
        )
        self.ranged = np.array([*w, *alpha, b], dtype=np.int32)

    def _chords(
        self, j: int, w: int, cost_of: int, l0: float
    ) -> list[tuple[dict[int, float], float]]:
        """Return the cost of points less that of a term: convex, by its chords."""
        values = self.space.values[j, self.space.real[j]]
        cost = self.space.cost[j, self.space.real[j]] - np.where(values != 0, l0, 0.0)
        chords = {}
        for (v0, c0), (v1, c1) in pairwise(zip(values.tolist(), cost.tolist(), strict=True)):
            slope = (c1 - c0) / (v1 - v0)
            if slope:
                chords[slope] = c0 - slope * v0
        return [({cost_of: 1.0, w: -slope}, end) for slope, end in chords.items()]

    def draw(
        self, parent: Any, box: CardBox, goal: float
    ) -> tuple[FloatArray, float, float, Drawn, Any]:
        """Return a box's optimum, the line of its duals there, and the basis."""
        space, p = self.space, self.space.p
        inside, at = space.inside(box), np.arange(p)
        low, high = space.values[at, box.low], space.values[at, box.high]
        must = ~(inside & space.is_zero).any(axis=1)
        never = (low == 0) & (high == 0)
        ends = (
            np.concatenate([low, must.astype(float), [box.b[0]]]),
            np.concatenate([high, (~never).astype(float), [box.b[1]]]),
        )
        self.highs.changeColsBounds(len(self.ranged), self.ranged, *ends)
        if parent is not None:
            self.highs.setBasis(parent)
        run_here(self.highs)
        answer = self.highs.getSolution()
        if not (answer.value_valid and answer.dual_valid):
            raise NotApplicableError("HiGHS does not solve the linear program of a box")
        values = np.asarray(answer.col_value)
        dual = np.asarray(answer.row_dual) / self.scale
        w = np.array([short(v) for v in np.clip(values[:p], low, high)])
        b = short(values[2 * p])
        drawn = self._line(w, b, dual)
        return w, b, 1.0, drawn, self.highs.getBasis()

    def _line(self, w: FloatArray, b: float, dual: FloatArray) -> Drawn:
        """Return the line of rounded duals, with those that the point does not determine."""
        n, k = len(self.y), len(self.jumps)
        t = self.y * (self.X @ w + b)
        expected = np.where(t < self.margin, 1.0, 0.0)
        a = np.clip(dual[:n] * self.margin / self.share, 0.0, 1.0)
        a = np.array([short(v, 12) for v in a])
        single = np.flatnonzero(
            (np.abs(t - self.margin) < POLICY.kink) | (np.abs(a - expected) > 1e-12)
        )
        a = np.where(np.isin(np.arange(n), single), a, expected)
        pull = -self.y * a * self.share / self.margin
        fixed, mu = np.zeros(len(w)), []
        for h, (left, right, cost) in enumerate(self.jumps):
            up, down = dual[n + 2 * h], dual[n + 2 * h + 1]
            share = float(np.clip((up - down) / cost, -1.0, 1.0)) if cost else 0.0
            mu.append(short(share, 12))
            fixed[left] += cost * mu[-1]
            fixed[right] -= cost * mu[-1]
        where = np.flatnonzero(w)
        entry = [where.tolist(), w[where].tolist(), b, 1.0 / self.margin]
        entry.append([self.name[single].tolist(), a[single].tolist()])
        if k:
            entry.append([list(range(k)), mu])
        line = ScoreTangent(float(a @ self.share), pull @ self.X, float(pull.sum()), fixed)
        return Drawn(line, entry)
