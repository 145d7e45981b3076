"""Limits on errors at a price: what rows lose and pay together, from below by a convex function.

For any prices mu >= 0, a card within the limits has loss >= loss + sum of mu * (what its wrong rows
cost - what is allowed). Rows of one pattern x have one score z: together they lose a convex h(z)
and pay more on one side of z = 0 than on the other. The convex envelope of that over the scores a
node leaves is h on the cheap side, a line from (0, h(0)), and h + pay from where the line touches
it, or from the end of the range. Classes of one pattern priced apart would leave a gap that no
score can have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from milpscore.core.design import BoolArray, FloatArray, IntArray
from milpscore.core.statement import held_thresholds
from milpscore.losses.lines import LossRows, held_slopes
from milpscore.solvers.trees.risk.policy import POLICY
from milpscore.solvers.trees.shared.answer import largest_sums

if TYPE_CHECKING:
    from milpscore.solvers.trees.risk.hulls import Arrays
    from milpscore.solvers.trees.risk.relaxation import Node


class ErrorLimits:
    """A statement's limits on errors, as shares of all weight.

    ``cost`` (2, L, n): of the merged rows answered negative, and positive; ``allowed`` (L,),
    rounded up.
    """

    def __init__(self, arrays: Arrays) -> None:
        statement = arrays.statement
        rows = statement.design.merged
        limits = [limit for each in statement.constraints for limit in each.limits]
        sums = [rows.sums(np.asarray(paid, dtype=np.float64)) for paid, _, _ in limits]
        self.paid = np.array(sums).reshape(len(limits), arrays.n)
        total = float(rows.weight.sum())
        self.paid = self.paid / total
        self.cost = np.stack([np.maximum(self.paid, 0.0), np.maximum(-self.paid, 0.0)])
        self.allowed = np.array([allowed for _, allowed, _ in limits]) / total
        self.allowed = self.allowed + self.cost[1].sum(axis=1)
        self.allowed = self.allowed + 4.0 * arrays.gamma * np.abs(self.paid).sum(axis=1)
        self.positive = rows.y > 0
        self.least, self.most = arrays.X.min(axis=0), arrays.X.max(axis=0)
        # whether rounded totals keep the order of the exact ones
        step = statement.design.step
        self.ordered = step is not None and float(step) * arrays.unit > 1e-12 * arrays.reach

    def __len__(self) -> int:
        return len(self.paid)


class PricedPatterns:
    """The rows of a node by what its columns tell apart, priced.

    Of m patterns: a row each in ``first``, ``sure`` (m,) that each pays whatever its score, and
    what it ``pays`` (m,) beside that on one ``side`` (m,) of 0 (1 or -1). Where that has a kink,
    the envelope runs from ``start`` (m,) at 0 along ``chord`` (m,) to the score ``touch`` (m,).
    """

    def __init__(
        self, arrays: Arrays, limits: ErrorLimits, prices: FloatArray, columns: IntArray
    ) -> None:
        self.arrays, self.limits, self.columns = arrays, limits, columns
        self.labels, self.first = arrays.merge(columns, by_class=False)
        self.X, self.m = arrays.part(self.first, columns), len(self.first)
        positive = limits.positive
        sides = positive, ~positive
        self.shares = [group_sums(self.labels, arrays.share, self.m, some) for some in sides]
        # answered negative at scores below 0
        left, right = (group_sums(self.labels, prices @ cost, self.m) for cost in limits.cost)
        self.sure = np.minimum(left, right)
        self.pays, self.side = np.abs(right - left), np.where(right >= left, 1.0, -1.0)
        self.granted = float(prices @ limits.allowed)
        y = arrays.y
        self.answers = [float(y[some][0]) if some.any() else 0.0 for some in sides]

    def lost(self, z: FloatArray, part: str) -> FloatArray:
        """The patterns' losses at scores z, or a derivative."""
        of = getattr(self.arrays.loss, part)
        total = np.zeros(self.m)
        for share, answer in zip(self.shares, self.answers, strict=True):
            if share.any():
                total += share * of(z, np.full(self.m, answer))
        return total

    def bound_scores(self, low: FloatArray, high: FloatArray) -> None:
        """Lay the envelopes over these ranges of scores, each (m,)."""
        nothing = np.zeros(self.m)
        self.zero, self.flat = self.lost(nothing, "value"), self.lost(nothing, "gradient")
        end = np.where(self.side > 0, np.maximum(high, 0.0), np.minimum(low, 0.0))
        # patterns always on the paying side pay whatever the score
        self.always = (self.pays > 0.0) & np.where(self.side > 0, low > 0.0, high < 0.0)
        self.sure = self.sure + np.where(self.always, self.pays, 0.0)
        self.kinked = (self.pays > 0.0) & (end != 0.0) & ~self.always

        def short(t: FloatArray) -> BoolArray:
            """Whether a tangent at t passes above the value at 0; False where it overflows."""
            at_zero = self.lost(t, "value") + self.pays - t * self.lost(t, "gradient")
            return np.asarray(at_zero > self.zero)

        beyond = short(end)
        inner, outer = np.zeros(self.m), end.copy()
        for _ in range(POLICY.price_halvings):
            middle = 0.5 * (inner + outer)
            farther = short(middle)
            inner, outer = np.where(farther, middle, inner), np.where(farther, outer, middle)
        self.touch = np.where(beyond, end, outer)
        self.kinked &= self.touch != 0.0
        # no tangent lies below both sides there: the line goes on, should a relaxation go farther
        self.reach = np.where(beyond, np.inf, np.abs(self.touch))
        value, chord = self.lost(self.touch, "value") + self.pays, self.lost(self.touch, "gradient")
        # a tangent passes 0 a rounding below the value there
        self.start = np.where(beyond, self.zero, np.minimum(value - chord * self.touch, self.zero))
        with np.errstate(divide="ignore", invalid="ignore"):
            chord = np.where(beyond, (value - self.zero) / self.touch, chord)
        self.start = np.where(self.kinked, self.start, self.zero)
        self.chord = np.where(self.kinked, chord, self.flat)
        self.band = np.where(
            self.kinked, np.minimum(POLICY.kink_width, 0.5 * np.abs(self.touch)), 1.0
        )
        self.jump = np.abs(self.chord - self.flat)

    def _where(self, z: FloatArray) -> tuple[FloatArray, BoolArray, BoolArray]:
        """Return per score how far on the paying side, whether on the line, and beyond it."""
        far = self.side * z
        on = self.kinked & (far > 0.0) & (far < self.reach)
        return far, on, self.kinked & (far >= self.reach)

    def value(self, z: FloatArray) -> float:
        """What is lost and paid at scores z, kinks rounded off, less what is granted."""
        far, on, beyond = self._where(z)
        part = np.minimum(far, self.band)
        lost = self.lost(z, "value") + self.sure
        # along the slope at 0, bending to that of the line
        bent = 0.5 * self.jump * part * part / self.band + self.jump * (far - part)
        lost = np.where(on, self.zero + self.flat * z + bent + self.sure, lost)
        lost = np.where(beyond, lost + self.pays - 0.5 * self.jump * self.band, lost)
        return float(lost.sum()) - self.granted

    def slopes(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First and second derivatives, the second nowhere too small."""
        far, on, _ = self._where(z)
        part = np.clip(far / self.band, 0.0, 1.0)
        u = np.where(on, self.flat + part * (self.chord - self.flat), self.lost(z, "gradient"))
        steep = np.where(part < 1.0, self.jump / self.band, 0.0)
        bend = np.where(on, steep, self.lost(z, "hessian"))
        return u, np.maximum(bend, POLICY.least_bend * (self.shares[0] + self.shares[1]))

    def line(self, z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(values, slopes, scores) of lines below what is lost and paid by each pattern."""
        far, on, beyond = self._where(z)
        value = self.lost(z, "value") + np.where(beyond, self.pays, 0.0)
        value = np.where(self.kinked & (far <= 0.0), value - (self.zero - self.start), value)
        value = np.where(on, self.start, value) + self.sure
        return value, self.slopes(z)[0], np.where(on, 0.0, z)

    def excess(self, z: FloatArray) -> FloatArray:
        """Return per limit what its wrong rows cost at scores z beyond what is allowed."""
        far, on, beyond = self._where(z)
        part = np.where(beyond, 1.0, 0.0)
        part[on] = np.minimum(far[on] / np.abs(self.touch[on]), 1.0)
        positive = np.where(self.side > 0, part, 1.0 - part)
        positive = np.where(self.kinked, positive, (z > 0.0).astype(float))[self.labels]
        paid = self.limits.cost[0] @ (1.0 - positive) + self.limits.cost[1] @ positive
        return np.asarray(paid - self.limits.allowed)


def group_sums(labels: IntArray, values: FloatArray, m: int, some: Any = slice(None)) -> FloatArray:
    """Return the sum per group of merged rows, over some of the rows; shape (m,)."""
    return np.bincount(labels[some], values[some], m).astype(np.float64)


def card_bounds(
    arrays: Arrays, limits: ErrorLimits, points: IntArray, slopes: tuple[float, float]
) -> FloatArray:
    """Bound the loss of cards (V, p) at slopes in a range within the limits on errors; (V,)."""
    # Among thresholds that keep to the limits, the nearest ones to the unlimited best count: the
    # loss is convex, and rises along its gradient from there on.
    columns = np.flatnonzero(points.any(axis=0))
    labels, first = arrays.merge(columns)
    X, y = arrays.part(first, columns), arrays.y[first]
    share = arrays.share_of(labels)
    totals = X @ points[:, columns].T.astype(np.float64)
    rows = LossRows(arrays.loss, share, y)
    lines = arrays.lines(totals, rows, slopes)
    s, b = lines.slopes, lines.intercepts
    least = _below(arrays, y, share, totals, s, b, slopes, None)
    if not limits.ordered:
        return least
    each = zip(limits.paid, limits.cost[1].sum(axis=1), limits.allowed, strict=True)
    paid = [(group_sums(labels, own, len(first)), float(m - taken)) for own, taken, m in each]
    kept, ends = held_thresholds(totals, paid, -b / s)
    held = np.full(ends.shape, np.inf)
    for side, direction in enumerate((1.0, -1.0)):
        some = np.flatnonzero(~kept & np.isfinite(ends[side]))
        if len(some):
            shifted = totals[:, some] - ends[side, some]
            found = held_slopes(rows, shifted, slopes)
            b = np.zeros(len(some))
            held[side, some] = _below(arrays, y, share, shifted, found, b, slopes, direction)
    return np.where(kept, least, np.maximum(least, held.min(axis=0)))


def _below(
    arrays: Arrays, y: FloatArray, share: FloatArray, totals: FloatArray, s: FloatArray,
    b: FloatArray, slopes: tuple[float, float], direction: float | None,
) -> FloatArray:  # fmt: skip
    """Bound what slopes in a range lose by tangents at slopes s and scores b, less rounding."""
    # ``direction`` 1: scores above 0 only, -1: below; -inf where the loss falls towards that side
    z, answers = s * totals + b, np.broadcast_to(y[:, None], totals.shape)
    value, u = arrays.loss.value(z, answers), share[:, None] * arrays.loss.gradient(z, answers)
    g_b, g_s, size = u.sum(axis=0), (u * totals).sum(axis=0), np.abs(u).sum(axis=0)
    room = np.where(g_s < 0, np.maximum(slopes[1] - s, 0.0), np.maximum(s - slopes[0], 0.0))
    widest = np.abs(totals).max(axis=0, initial=0.0)
    # a best intercept leaves some score at or above the best constant one, some at or below
    ends = arrays.offset - slopes[1] * np.stack([totals.max(axis=0), totals.min(axis=0)])
    low, high = np.minimum(ends[0], arrays.offset), np.maximum(ends[1], arrays.offset)
    far = np.maximum(np.abs(low), np.abs(high)) + np.abs(b) + slopes[1] * widest
    lost = np.abs(g_s) * room + arrays.gamma * ((share @ np.abs(value)) + 8.0 * size * far)
    if direction is None and arrays.statement.intercept.kind != "zero":
        lost += np.abs(g_b) * np.where(g_b < 0, np.maximum(high - b, 0.0), np.maximum(b - low, 0.0))
    bound = np.asarray(share @ value - lost)
    return bound if direction is None else np.where(direction * g_b >= 0.0, bound, -np.inf)


def score_ranges(
    arrays: Arrays, node: Node, patterns: PricedPatterns
) -> tuple[FloatArray, FloatArray]:
    """The least and the largest score of each pattern over a node's cards."""
    X, columns, limits = patterns.X, patterns.columns, patterns.limits
    low_w = arrays.points[columns, node.lo[columns]]
    high_w = arrays.points[columns, node.hi[columns]]
    inside = node.status[columns] == 1
    spare = max(arrays.terms - int(inside.sum()), 0)

    def most(*products: FloatArray) -> FloatArray:
        """Return the largest sum over the columns, of as many optional ones as are left."""
        return np.asarray(largest_sums(np.maximum.reduce(products), ~inside, spare))

    if not arrays.scaled or arrays.statement.intercept.kind == "zero":
        ends = node.b_lo * arrays.unit, node.b_hi * arrays.unit
        high, low = most(X * low_w, X * high_w), -most(-X * low_w, -X * high_w)
        if arrays.scaled:
            ends = 0.0, 0.0
            low, high = np.minimum(low, 0.0) * node.s_hi, np.maximum(high, 0.0) * node.s_hi
        far = 1e-9 * (1.0 + np.abs(low) + np.abs(high) + abs(ends[0]) + abs(ends[1]))
        return low + ends[0] - far, high + ends[1] + far
    # a best allowed intercept leaves no score farther from 0, or from the best constant one, than
    # totals lie apart: beyond, the loss falls towards them and no answer changes
    top, bottom = limits.most[columns] - X, limits.least[columns] - X
    above = most(top * low_w, top * high_w, bottom * low_w, bottom * high_w)
    below = most(-top * low_w, -top * high_w, -bottom * low_w, -bottom * high_w)
    above, below = np.maximum(above, 0.0) * node.s_hi, np.maximum(below, 0.0) * node.s_hi
    far = 1e-9 * (1.0 + above + below)
    return min(arrays.offset, 0.0) - above - far, max(arrays.offset, 0.0) + below + far
