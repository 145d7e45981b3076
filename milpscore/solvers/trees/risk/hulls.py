"""A statement under a smooth loss as arrays, and the compiled kernels of its relaxations."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from milpscore.constraints.parts import Totals, Used
from milpscore.core.card import Card
from milpscore.core.design import BoolArray, FloatArray, IntArray
from milpscore.core.jit import compiled, inner
from milpscore.core.statement import Statement
from milpscore.losses.lines import Lines, LossOfScores, best_lines
from milpscore.solvers.trees.risk.policy import POLICY
from milpscore.solvers.trees.shared.answer import choices_of, largest_sums
from milpscore.solvers.trees.shared.cell_counts import number_of


class Arrays:
    """What the search reads of a statement.

    Distinct rows (x, y): ``X`` (n, p) is over the loss's scale, column by column in memory, and
    ``slopes`` what X w is multiplied by: a range where the scale is left to the card, (1, 1)
    elsewhere. Intercepts are those of the score then (not in points), in ``offsets`` + slope *
    [``b_lower``, ``b_upper``], ``offset`` being the best one of no points. ``y`` and ``share`` (n,)
    are answers as the loss reads them, and weights that sum to 1. ``points``, ``table`` (p, K):
    choices, ascending, and a separable penalty at them, 0 behind the last, ``hi`` (p,); ``zero``
    (p,) is the place of 0, or -1. ``values``, ``charges`` (K, p) are the same place by place, with
    the cost of a term; ``is_zero`` says where the value is 0.
    """

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        risk: Any = statement.loss
        self.loss = risk.base
        weights: dict[str, Any] = {term.name: term for term in statement.penalties}
        lam = weights.get("lam")
        self.penalty = getattr(lam, "base", lam)
        self.separable = self.penalty is None or bool(self.penalty.separable)
        self.l0 = float(weights["l0_penalty"].lam) if "l0_penalty" in weights else 0.0
        scales, rule = statement.scales, statement.intercept
        self.scaled = scales is not None
        self.slopes = (1.0, 1.0) if scales is None else (1.0 / scales.upper, 1.0 / scales.lower)
        self.unit = 1.0 if self.scaled else 1.0 / risk.scale
        self.b_step = None if rule.step is None or self.scaled else float(rule.step)
        ends = rule.lower, rule.upper
        self.b_lower, self.b_upper = (float(rule.nearest(end)) for end in ends)
        self.offset = 0.0
        rows = statement.design.merged
        self.y = np.asarray(risk.answers(rows.y), dtype=np.float64)
        self.share = rows.weight / math.fsum(rows.weight)
        self.rows: LossOfScores = risk.mean_rows(rows.y, rows.weight)
        raw = by_columns(rows.X)
        self.X = raw if self.unit == 1.0 else raw * self.unit
        self.n, self.p = self.X.shape
        self.terms = self.p if statement.max_terms is None else min(statement.max_terms, self.p)
        self._tabulate()
        self._number_levels(raw)
        self._measure(rows.X, raw)

    def _tabulate(self) -> None:
        """Choices and penalties, padded to the longest; and the nonzeros of X, by columns."""
        choices = choices_of(self.statement)
        width = max((len(values) for values in choices), default=1)
        self.points, self.table = np.zeros((self.p, width)), np.zeros((self.p, width))
        self.hi = np.array([len(values) - 1 for values in choices], dtype=np.int64)
        self.zero = np.full(self.p, -1, np.int64)
        for j, values in enumerate(choices):
            self.points[j, : len(values)] = values
            self.zero[j] = next(iter(np.flatnonzero(values == 0)), -1)
        self.places = np.arange(width)[:, None]
        self.is_zero = self.places == self.zero
        self.values = np.ascontiguousarray(self.points.T)
        if self.penalty is not None and self.separable:
            w = np.zeros(self.p)
            for j, values in enumerate(choices):  # a sum, read one coefficient at a time
                for k, w[j] in enumerate(values):
                    self.table[j, k] = self.penalty.value(w)
                w[j] = 0.0
        self.charges = np.ascontiguousarray(self.table.T) + self.l0
        self._transposed: Any = self.X.T
        most = POLICY.sparse_share * self.X.size
        if self.X.size > POLICY.dense_entries and np.count_nonzero(self.X) < most:
            from scipy.sparse import csr_array

            self._transposed = csr_array(self.X.T)

    def _number_levels(self, raw: FloatArray) -> None:
        """Each column's values by number, for merging the rows alike in some columns."""
        self.codes: list[NDArray[Any]] = []
        for column in raw.T:
            codes: NDArray[Any] = column > column.min()
            if (codes & (column < column.max())).any():  # more than two values need sorting
                codes = np.unique(column, return_inverse=True)[1].ravel()
            self.codes.append(codes.astype(np.min_scalar_type(int(codes.max()))))
        self.levels = [int(codes.max()) + 1 for codes in self.codes]
        values, codes = np.unique(self.y, return_inverse=True)
        self._y_codes, self._y_levels = codes.ravel().astype(np.int64), len(values)
        self._table_of_keys = np.empty((2, 1 << (2 * self.n + 1).bit_length()), np.int64)

    def _measure(self, by_rows: FloatArray, raw: FloatArray) -> None:
        """Spreads of the columns, and what bounds every rounding error."""
        self.spread, largest = np.empty(self.p), np.empty(self.p)
        few = 1 + POLICY.dense_entries // max(self.n, 1)
        for at in range(0, self.p, few):
            part = raw[:, at : at + few]
            self.spread[at : at + few] = np.sqrt(self.share @ np.square(part - self.share @ part))
            largest[at : at + few] = np.abs(part).max(axis=0)
        self.most = np.abs(self.points).max(axis=1)
        # no allowed card scores any row beyond +-reach: its largest terms and the intercept
        few, every = 1 + POLICY.dense_entries // max(self.p, 1), np.ones(self.p, np.bool_)
        most = float(np.sort(largest * self.unit * self.most)[self.p - self.terms :].sum())
        self.reach = 0.0
        for at in range(0, self.n, few):
            part = np.abs(by_rows[at : at + few] * self.unit) * self.most
            self.reach = max(self.reach, float(largest_sums(part, every, self.terms).max()))
            if self.reach >= most:  # as far as the columns' largest values: no row goes farther
                break
        if not self.scaled:
            self.reach += max(abs(self.b_lower), abs(self.b_upper)) * self.unit
        elif self.statement.intercept.kind != "zero":
            # the best intercept leaves some score at or above the best constant one, and some at
            # or below it: whatever the slope, no score of it lies farther away than the totals do
            far = math.inf
            best = best_lines(self.rows, np.zeros((self.n, 1)), self.slopes, (-far, far))
            self.offset, self.b_lower, self.b_upper = best[1][0], -self.reach, self.reach
        # limits on errors hold intercepts back to where some score is 0
        ends = self.offset, 0.0 if self.statement.limits_errors else self.offset
        self.offsets = min(ends), max(ends)
        # a sum of n products, each a few roundings; doubled for the second order
        eps = float(np.finfo(np.float64).eps)
        self.gamma = 2.0 * (self.n + self.p + 64) * eps
        # sums over cells, which are at most n, and scores of real weights on them
        self.cell_gamma = 4.0 * (self.n + POLICY.most_cells) * eps
        far = self.reach + max(abs(self.b_lower), abs(self.b_upper)) * self.unit
        self.cell_reach = abs(self.offset) + 2.0 * self.slopes[1] * far
        charged = float(np.abs(self.table).max(axis=1, initial=0.0).sum()) + self.l0 * self.p
        self.table_slack = 64.0 * eps * (self.p + 4) * charged

    def merge(self, columns: IntArray, by_class: bool = True) -> tuple[IntArray, IntArray]:
        """Rows alike in these columns (and y): (their number for each row, a row of each)."""
        labels, first = np.empty(self.n, np.int64), np.empty(self.n, np.int64)
        keys, radix = np.zeros(self.n, np.int64), 1
        if by_class:
            keys, radix = self._y_codes.copy(), self._y_levels
        for j in columns:
            if radix * self.levels[j] > 2**62:  # keys reach beyond whole numbers: number them anew
                radix = number_keys(keys, self._table_of_keys, labels, first)
                keys[:] = labels
            keys += radix * self.codes[j].astype(np.int64)
            radix *= self.levels[j]
        found = number_keys(keys, self._table_of_keys, labels, first)
        return labels, first[:found].copy()

    def share_of(self, labels: IntArray) -> FloatArray:
        """The weight of each group of merged rows."""
        return np.bincount(labels, weights=self.share).astype(np.float64)

    def part(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """These rows and columns of X, both ascending; not to be written to."""
        if (len(rows), len(columns)) == self.X.shape:
            return self.X
        out = np.empty((len(rows), len(columns)))
        gather(self.X.T, rows, columns, out)
        return out

    def column_sums(self, u: FloatArray) -> FloatArray:
        """X'u, shape (p,)."""
        return np.asarray(self._transposed @ u)

    def lines(
        self, totals: FloatArray, rows: LossOfScores,
        slopes: tuple[float, float] | None = None, charges: FloatArray | None = None,
    ) -> Lines:  # fmt: skip
        """The best slopes, by default of all, and intercepts of the score; totals (n, V)."""
        rule = self.statement.intercept
        ends = float(rule.lower) * self.unit, float(rule.upper) * self.unit
        return best_lines(rows, totals, slopes or self.slopes, ends, charges)

    def intercepts(self, s: float, low: float, high: float) -> tuple[float, float]:
        """The ends of a node's range of intercepts at slope s."""
        return self.offsets[0] + s * low, self.offsets[1] + s * high

    def objective(self, w: IntArray, b: float, s: float = 1.0) -> float:
        """A card's objective, summed without rounding error of its own."""
        rows = self.rows.terms(self._scores(w, b, s))
        total = math.fsum(rows) if np.isfinite(rows).all() else math.inf
        return total + self.l0 * int(np.count_nonzero(w)) + self.penalised(w)

    def objective_of(self, card: Card) -> float:
        """The objective of a card of the statement's."""
        s = 1.0 if card.scale is None else 1.0 / float(card.scale)
        return self.objective(card.coefficients, float(card.intercept) * s, s)

    def limited_bound(self, card: Card, s_lo: float, s_hi: float) -> float:
        """Bound like :meth:`leaf_bound`, held back by limits on errors or the intercept's range."""
        # the card has the best allowed intercept, at an end of a range: among those as far from the
        # unlimited best one, or farther, losses fall nowhere but along s (w.x + b) with b held
        assert card.scale is not None
        s, b = 1.0 / float(card.scale), float(card.intercept)
        t = self.X @ card.coefficients.astype(np.float64) + b
        value, u = self.rows.terms(s * t), self.rows.pull(s * t)
        if not np.isfinite(u).all():
            return -math.inf
        along, pull, ends = math.fsum(u * t), abs(math.fsum(u)), [s_lo, s_hi]
        far = s_hi * float(np.abs(t).max())
        sizes = float(np.abs(value).sum()) + 4.0 * self.rows.size(s * t) * far
        # beside the card the loss may rise again, by more than rounding and `beside` hide
        near, beside = POLICY.near_slope, POLICY.beside_threshold
        ways = (-1.0, max(s * (1.0 - near), s_lo)), (1.0, min(s * (1.0 + near), s_hi))
        for side, end in ways:
            z = end * t
            there = self.rows.pull(z)
            if not np.isfinite(there).all():
                return -math.inf
            across = abs(math.fsum(there))
            hidden = 1e-9 * np.abs(there * t).sum() + beside * across
            hidden += self.gamma * self.share @ (np.abs(t) * (1.0 + np.abs(z)))
            if side * math.fsum(there * t) > hidden:
                ends[side > 0.0], pull = end, max(pull, across)
        room = max(ends[1] - s, 0.0) if along < 0 else max(s - ends[0], 0.0)
        lost = abs(along) * room + beside * ends[1] * pull
        return float(self.objective_of(card) - lost - self.gamma * sizes)

    def leaf_bound(self, w: IntArray, s_lo: float, s_hi: float) -> float:
        """Bound the objective of points w at slopes s_lo to s_hi, less what rounding may hide."""
        # convex in slope and intercept: nowhere does it fall faster than the best point's gradient
        totals = self.X @ w.astype(np.float64)
        lines = self.lines(totals[:, None], self.rows, (s_lo, s_hi))
        b, s = float(lines.intercepts[0]), float(lines.slopes[0])
        z = s * totals + b
        value, u = self.rows.terms(z), self.rows.pull(z)
        if not np.isfinite(u).all():
            return -math.inf  # the line found overflows, which says nothing of others
        g_b, g_s = math.fsum(u), math.fsum(u * totals)
        # where the best intercept lies at any of these slopes: see `_measure`
        low, high = self.offset - s_hi * totals.max(), self.offset - s_hi * totals.min()
        low, high = min(low, self.offset), max(high, self.offset)
        room_b = max(high - b, 0.0) if g_b < 0 else max(b - low, 0.0)
        room_s = max(s_hi - s, 0.0) if g_s < 0 else max(s - s_lo, 0.0)
        far = max(abs(low), abs(high), abs(b)) + s_hi * float(np.abs(totals).max())
        sizes = float(np.abs(value).sum()) + 4.0 * self.rows.size(z) * far
        held = self.statement.intercept.kind == "zero"
        lost = abs(g_s) * room_s + (0.0 if held else abs(g_b) * room_b)
        return float(self.objective(w, b, s) - lost - self.gamma * sizes)

    def intercept_slack(self, w: IntArray, b: float) -> float:
        """How far below a card's objective any other intercept can be: by its slope in b."""
        z = self._scores(w, b)
        u = self.rows.pull(z)
        error = self.gamma * self.rows.size(z) * self.unit
        slope = float(math.fsum(u)) * self.unit
        room = (self.b_upper - b) if slope < 0 else (b - self.b_lower)
        rounding = self.gamma * float(np.abs(self.rows.terms(z)).sum())
        return float(abs(slope) * room + 2.0 * error * (self.b_upper - self.b_lower) + rounding)

    def _scores(self, w: IntArray, b: float, s: float = 1.0) -> FloatArray:
        """The rows' scores (w.x + b) / scale."""
        return np.asarray(s * (self.X @ w.astype(np.float64)) + b * self.unit)

    def penalised(self, w: FloatArray | IntArray) -> float:
        """The penalty of w, 0 without one."""
        return 0.0 if self.penalty is None else float(self.penalty.value(w))

    def snap(self, b: float) -> float:
        """The nearest allowed intercept."""
        if self.b_step is not None:
            b = round(b / self.b_step) * self.b_step
        return min(max(b, self.b_lower), self.b_upper)

    def may_be_allowed(self, status: NDArray[np.int8]) -> bool:
        """Whether constraints leave a card with these decisions: only out (-1) is certain."""
        statement = self.statement
        if not statement.constraints:
            return True
        lower, upper = statement.ranges
        nothing: BoolArray = (lower == 0) & (upper == 0)
        out = np.flatnonzero((status < 0) | nothing).tolist()
        return all(each.allows_support((), out) for each in statement.constraints)

    @property
    def _parts(self) -> list[Any]:
        """The constraints' parts; a rule of somebody's own has none."""
        return [part for each in self.statement.constraints for part in getattr(each, "parts", ())]

    @cached_property
    def at_most(self) -> list[tuple[list[IntArray], int]]:
        """Groups of columns, and how many of them constraints let have points at most."""
        return [
            ([np.array(group, dtype=np.int64) for group in part.groups], part.upper)
            for part in self._parts
            if isinstance(part, Used) and part.upper is not None and {*part.factors} == {1}
        ]

    @cached_property
    def sums(self) -> list[Totals]:
        """The rules on sums of points, such as how far apart a feature's bins may lie."""
        return [part for part in self._parts if isinstance(part, Totals)]

    def without_room(self, lo: IntArray, hi: IntArray) -> list[IntArray] | None:
        """Return groups that choices lo..hi leave without points; None if too many have some."""
        surely, found = (self.zero < lo) | (self.zero > hi), []
        for groups, most in self.at_most:
            used = [bool(surely[group].any()) for group in groups]
            if sum(used) > most:
                return None
            if sum(used) == most:
                found += [group for group, own in zip(groups, used, strict=True) if not own]
        return found


class PointChoices(NamedTuple):
    """What m coefficients may be: coefficient j is one of ``points[j, lo[j] : hi[j] + 1]``."""

    points: FloatArray  # (m, K)
    table: FloatArray  # (m, K): what a penalty charges for them
    lo: IntArray
    hi: IntArray
    zero: IntArray  # the place of 0
    inside: BoolArray  # which ones are terms already


class Hulls(NamedTuple):
    """Convex envelopes of what m coefficients cost, each piecewise linear over its range."""

    knots: FloatArray  # (m, K): hull j passes through (knots[j, k], values[j, k]), k <= last[j]
    values: FloatArray
    slopes: FloatArray  # (m, K): behind each knot
    last: IntArray
    # (m, 2): an undecided coefficient pays for being a term, its hull running straight from 0 to
    # these (left, right); |w| over that end is the share of a term it uses
    ends: FloatArray


def new_hulls(m: int, width: int) -> Hulls:
    """Room for the hulls of m coefficients of at most ``width`` choices."""
    knots, values, slopes = np.zeros((3, m, width))
    return Hulls(knots, values, slopes, np.zeros(m, np.int64), np.zeros((m, 2)))


@inner
def lay_hulls(choices: Any, kappa: float, hulls: Any) -> None:
    """Fill ``hulls`` for :class:`PointChoices`: undecided coefficients but 0 pay ``kappa``."""
    points, table = choices.points, choices.table
    knots, values, slopes = hulls.knots, hulls.values, hulls.slopes
    for j in range(len(choices.lo)):
        lo, hi, zero = choices.lo[j], choices.hi[j], choices.zero[j]
        # a hull is the table itself from lo to left and from right to hi, and straight between 0
        # and these two; of a term it is all table, so that left = lo and right = lo leave no gap
        left, right, charge = lo, lo, 0.0
        if not choices.inside[j]:
            left, right, charge = zero, zero, kappa
            least = np.inf
            for k in range(zero + 1, hi + 1):
                cost = (table[j, k] + kappa) / points[j, k]
                if cost <= least:
                    least, right = cost, k
            least = np.inf
            for k in range(zero - 1, lo - 1, -1):
                cost = -(table[j, k] + kappa) / points[j, k]
                if cost <= least:
                    least, left = cost, k
        hulls.ends[j, 0], hulls.ends[j, 1] = points[j, left], points[j, right]
        last = -1
        for k in range(lo, hi + 1):
            if left < k < right and k != zero:
                continue
            last += 1
            knots[j, last] = points[j, k]
            values[j, last] = table[j, k] + (0.0 if k == zero else charge)
            if last > 0:
                rise = values[j, last] - values[j, last - 1]
                slopes[j, last - 1] = rise / (knots[j, last] - knots[j, last - 1])
        hulls.last[j] = last


@inner
def solve(a: Any, b: Any) -> None:
    """Solve the positive definite a x = b in place, by Cholesky's method."""
    m = len(b)
    for i in range(m):
        for j in range(i + 1):
            s = a[i, j]
            for q in range(j):
                s -= a[i, q] * a[j, q]
            a[i, j] = math.sqrt(max(s, 1e-300)) if i == j else s / a[j, j]
    for i in range(m):
        for q in range(i):
            b[i] -= a[i, q] * b[q]
        b[i] /= a[i, i]
    for i in range(m - 1, -1, -1):
        for q in range(i + 1, m):
            b[i] -= a[q, i] * b[q]
        b[i] /= a[i, i]


@inner
def minimise_face(gram: Any, grad: Any, w: Any, hulls: Any, ridge: float) -> int:
    """Move coefficients inside a piece of their hulls to their common minimum; count them."""
    # where columns nearly depend on each other, sweeps alone come to rest far from it
    m, f = len(w), 0
    at, piece = np.empty(m, np.int64), np.empty(m, np.int64)
    for j in range(m):
        k = 0
        while k < hulls.last[j] - 1 and hulls.knots[j, k + 1] < w[j]:
            k += 1
        if hulls.last[j] > 0 and hulls.knots[j, k] < w[j] < hulls.knots[j, k + 1]:
            at[f], piece[f] = j, k
            f += 1
    a, step = np.empty((f, f)), np.empty(f)
    for i in range(f):
        step[i] = -(grad[at[i]] + hulls.slopes[at[i], piece[i]])
        for c in range(i + 1):
            a[i, c] = gram[at[i], at[c]]
        a[i, i] += ridge
    solve(a, step)
    t = 1.0
    for i in range(f):
        j, k = at[i], piece[i] + (step[i] > 0.0)
        room = hulls.knots[j, k] - w[j]
        if abs(step[i]) * t > abs(room):
            t = room / step[i]
    for i in range(f):
        j, k = at[i], piece[i]
        new = min(max(w[j] + t * step[i], hulls.knots[j, k]), hulls.knots[j, k + 1])
        for c in range(m):
            grad[c] += (new - w[j]) * gram[j, c]
        w[j] = new
    return f


@inner
def nearest(hulls: Any, j: int, a: float, h: float) -> float:
    """Return the least of h/2 (x - a)^2 + hull j at x."""
    if hulls.last[j] <= 0:
        return float(hulls.knots[j, 0])
    # the first piece whose right end slopes upwards
    k, beyond = 0, hulls.last[j] - 1
    while k < beyond:
        middle = (k + beyond) // 2
        if h * (hulls.knots[j, middle + 1] - a) + hulls.slopes[j, middle] >= 0.0:
            beyond = middle
        else:
            k = middle + 1
    new = a - hulls.slopes[j, k] / h
    return float(min(max(new, hulls.knots[j, k]), hulls.knots[j, k + 1]))


@inner
def descend(gram: Any, grad: Any, w: Any, hulls: Any, work: float) -> float:
    """Descend by coordinates on grad'd + d'gram d/2 + hulls from w; return the work left."""
    m = len(w)
    if gram.ndim == 1:
        # a diagonal: each coordinate has its minimum at once, which numba knows when compiling
        for j in range(m):
            new = nearest(hulls, j, w[j] - grad[j] / gram[j], gram[j])
            grad[j] += (new - w[j]) * gram[j]
            w[j] = new
        return work - m
    flattest = 1e-300
    for j in range(m):
        flattest = max(flattest, 1e-13 * gram[j, j])
    for sweep in range(60):
        if sweep % 8 == 7:
            f = minimise_face(gram, grad, w, hulls, 100.0 * flattest)
            work -= f * f * (f / 6.0 + m)
        worst = 0.0
        for j in range(m):
            h = max(gram[j, j], flattest)
            new = nearest(hulls, j, w[j] - grad[j] / h, h)
            step = new - w[j]
            if step != 0.0:
                for i in range(m):
                    grad[i] += step * gram[j, i]
                w[j] = new
                worst = max(worst, abs(step) * h)
        work -= m * m
        if worst <= 1e-9 or work < 0.0:
            break
    return work


@compiled
def hull_cost(w: Any, inside: Any, hulls: Any) -> Any:
    """(sum of the hulls at w, sum of the undecided coefficients' shares of a term)."""
    total, used = 0.0, 0.0
    for j in range(len(w)):
        x = w[j]
        if not inside[j] and x != 0.0:
            used += min(1.0, x / hulls.ends[j, 1 if x > 0.0 else 0])
        k = 0
        while k < hulls.last[j] - 1 and hulls.knots[j, k + 1] < x:
            k += 1
        total += hulls.values[j, k]
        if hulls.last[j] > 0:
            total += hulls.slopes[j, k] * (x - hulls.knots[j, k])
    return total, used


@compiled
def solve_model(
    gram: Any, grad: Any, w: Any, choices: Any, hulls: Any, l0: float, budget: float, mu: float
) -> float:
    """Minimise grad'd + d'gram d/2 + hulls over w + d in a budget of terms; return its price."""
    # it is found by regula falsi from ``mu`` on; ``w``, ``grad`` and ``hulls`` follow it
    # beyond these multiplications the minimum is left where it is: no clock is heard inside
    undecided, work = 0, 5e8
    for j in range(len(w)):
        undecided += not choices.inside[j]
    if undecided <= budget:
        lay_hulls(choices, l0, hulls)
        descend(gram, grad, w, hulls, work)
        return 0.0
    # the multiplier lies in (low, high), where more and less than the budget is used
    low, used_low, high, used_high = 0.0, np.inf, np.inf, 0.0
    price = mu
    for _ in range(40):
        mu = price
        lay_hulls(choices, l0 + mu, hulls)
        work = descend(gram, grad, w, hulls, work)
        used = hull_cost(w, choices.inside, hulls)[1]
        if abs(used - budget) <= 1e-3 * max(budget, 0.1) or (mu == 0.0 and used <= budget):
            break
        if used > budget:
            low, used_low = mu, used
        else:
            high, used_high = mu, used
        if work < 0.0 or (high < np.inf and high - low <= 1e-9 * high):
            break
        if high == np.inf:
            price = max(2.0 * mu, 1e-6)
        elif used_low == np.inf:
            price = 0.5 * mu if mu > 1e-9 else 0.0
        else:
            part = (used_low - budget) / (used_low - used_high)
            price = low + (high - low) * min(max(part, 0.1), 0.9)
    return mu


def by_columns(X: FloatArray, dtype: Any = np.float64, less: Any = 0.0) -> NDArray[Any]:
    """Return X minus ``less`` (p,), column by column in memory."""
    # in blocks that stay in caches: NumPy copies whole tables to another order ten times slower
    out = np.empty(X.shape, dtype, order="F")
    few = 1 + POLICY.dense_entries // max(X.shape[1], 1)
    for at in range(0, len(X), few):
        out[at : at + few] = X[at : at + few] - less
    return out


@compiled
def gather(columns: Any, rows: Any, chosen: Any, out: Any) -> None:
    """Fill ``out`` (rows, chosen) with these entries of ``columns``, of which each is a row."""
    for i in range(len(rows)):
        for c in range(len(chosen)):
            out[i, c] = columns[chosen[c], rows[i]]


@compiled
def number_keys(keys: Any, table: Any, labels: Any, first: Any) -> int:
    """Number distinct keys by first occurrence, which ``first`` gets; return their number."""
    for slot in range(table.shape[1]):
        table[0, slot] = -1
    count = 0
    for i in range(len(keys)):
        labels[i] = number_of(keys[i], table, count)
        if labels[i] == count:
            first[count] = i
            count += 1
    return count
