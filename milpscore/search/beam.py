"""A beam over supports under logistic loss, and the compiled loops of the fast risk scores.

Rows that agree on the columns of a support are one row with a positive and a negative weight, so
a problem has tens of rows where the data have thousands. All loops are over scalars, which numba
compiles in a fraction of the time that array expressions take. Import it where it is used: it
loads numba.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from milpscore.core.clock import Clock
from milpscore.core.design import FloatArray, IntArray, MergedRows
from milpscore.core.jit import compiled, inner
from milpscore.core.statement import Statement

Support = tuple[int, ...]

_LEVELS = 256
_SAME = 1e-9

NEARLY_DONE = 1e-6
"""Newton's decrement from which one more step leaves an error far below a rounding's effect."""

_STEEPEST = 12.0
_LONGEST = 5.0
_FLAT = 1e-13
_FAR = 1e-9
_BETTER = 1e-9
_ENOUGH = 1e-4
_STEPS = 12


class Coded(NamedTuple):
    """Centred columns, of each only the entries off its most frequent value (its mode).

    ``weights`` (2, m): the rows' shares of the weight in the positive and the negative class;
    ``values`` (p, V): distinct centred values, the mode alone where there are too many to code;
    ``widths`` (p,): how many, 0 where there are too many; ``modes`` (p,): index of the mode;
    ``starts`` (p + 1,): column j's entries are starts[j]:starts[j + 1]; ``rows``, ``codes``,
    ``deltas`` (e,): an entry's row, the index of its value, and how far it lies off the mode.
    """

    weights: Any
    values: Any
    widths: Any
    modes: Any
    starts: Any
    rows: Any
    codes: Any
    deltas: Any


class Groups(NamedTuple):
    """Rows that agree on t columns: ``cells`` (m,) is each row's group, of which there are G.

    ``patterns`` (G, t): the groups' centred values; ``sides`` (2, G): their positive and negative
    weight.
    """

    cells: Any
    patterns: Any
    sides: Any


class Choices(NamedTuple):
    """Allowed points of t columns in rising order: ``values``, their ``prices`` (t, V), ``counts``.

    Of the V entries of column j the first ``counts[j]`` are meant.
    """

    values: Any
    prices: Any
    counts: Any


class Score(NamedTuple):
    """How totals become risks: the ``scale`` (0: slope and intercept are free), the intercept.

    With a fixed scale the intercept, in points, lies in [lower, upper] on multiples of ``step``
    (0: any). Below the loss ``parted`` no row is on its wrong side: a rising slope takes it to 0.
    Newton steps that promise less than ``enough`` are the last ones.
    """

    scale: float
    lower: float
    upper: float
    step: float
    parted: float
    enough: float


class Whole(NamedTuple):
    """A support on the way to whole points: its rows, and what its columns may have.

    ``patterns`` (G, t) and ``sides`` (2, G) as in `Groups`; ``means`` (t,): what centring took off.
    """

    patterns: Any
    sides: Any
    means: Any
    choices: Choices
    score: Score


@inner
def row_terms(z: float, up: float, down: float) -> tuple[float, float, float]:
    """up log(1 + exp(-z)) + down log(1 + exp(z)), and its first two derivatives."""
    e = math.exp(-abs(z))
    rest = 1.0 / (1.0 + e)
    probability = rest if z >= 0.0 else e * rest
    both = up + down
    loss = both * (math.log(1.0 + e) + max(z, 0.0)) - up * z
    return loss, both * probability - up, both * e * rest * rest


@inner
def line_sums(totals: Any, sides: Any, a: float, c: float) -> Any:
    """Loss of a * totals + c, gradient in (c, a), and Hessian (cc, ca, aa)."""
    loss, gc, ga, hcc, hca, haa = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(len(totals)):
        t = totals[i]
        value, slope, bend = row_terms(a * t + c, sides[0, i], sides[1, i])
        loss += value
        gc += slope
        ga += slope * t
        hcc += bend
        hca += bend * t
        haa += bend * t * t
    return loss, gc, ga, hcc, hca, haa


@inner
def best_line(
    totals: Any, sides: Any, slope: float, shift: float, cutoff: float, parted: float, enough: float
) -> tuple[float, float, float]:
    """The least loss of slope * totals + shift, slope >= 0: (loss, slope, shift).

    Newton's method from the given ones; the slope is held where ``parted`` is below 0. Ends early,
    with a loss that is too high, once twice the decrease that a step promises leaves it above
    ``cutoff``; and with the loss 0 once it falls below ``parted``. Of a step that promises less
    than ``enough`` the promise is believed.
    """
    held, up, down, widest = parted < 0.0, 0.0, 0.0, 1e-300
    for i in range(len(totals)):
        up += sides[0, i]
        down += sides[1, i]
        widest = max(widest, abs(totals[i]))
    odds = math.log((up + 1e-300) / (down + 1e-300))
    constant = row_terms(odds, up, down)[0]
    # where all rows are saturated there is no curvature to step by: start before that
    a, c = slope if held else min(slope, _STEEPEST / widest), shift
    loss, gc, ga, hcc, hca, haa = line_sums(totals, sides, a, c)
    if loss > constant and not held:  # from worse than no slope at all a step can lead anywhere
        a, c = 0.0, odds
        loss, gc, ga, hcc, hca, haa = line_sums(totals, sides, a, c)
    for _ in range(100):
        hcc, haa = hcc * (1.0 + _FLAT) + 1e-300, haa * (1.0 + _FLAT) + 1e-300
        det = hcc * haa - hca * hca
        if held or det <= 1e-14 * hcc * haa:  # or all totals equal, or no curvature left
            # saturated rows promise any step
            da, dc = 0.0, min(max(-gc / hcc, -_LONGEST), _LONGEST)
        else:
            da, dc = (hca * gc - hcc * ga) / det, (hca * ga - haa * gc) / det
        decrement = -(da * ga + dc * gc)
        if loss < parted:
            return 0.0, a, c
        if decrement <= 1e-16 or loss - decrement > cutoff:
            break
        if decrement <= min(enough, 0.01 * loss):
            a, c, loss = a + da, c + dc, loss - 0.5 * decrement
            break
        step, trial = 1.0, loss
        for _halving in range(30):
            trial, gc, ga, hcc, hca, haa = line_sums(totals, sides, a + step * da, c + step * dc)
            if trial <= loss - 0.1 * step * decrement:
                break
            step *= 0.5
        if trial > loss:
            break
        a, c, loss = a + step * da, c + step * dc, trial
    if a <= 0.0:  # a score that is better turned round is no score at all
        return constant, 0.0, odds
    return loss, a, c


@compiled
def fitted_loss(
    totals: Any, offset: float, sides: Any, slope: float, shift: float, cutoff: float, score: Score
) -> tuple[float, float, float]:
    """The least loss of totals in points: (loss, slope, shift), from the slope and shift given.

    With a fixed scale the intercept in points, shift * scale - offset, obeys the score's rule.
    """
    if score.scale <= 0.0:
        return best_line(totals, sides, slope, shift, cutoff, score.parted, score.enough)
    a = 1.0 / score.scale
    loss, _, c = best_line(totals, sides, a, shift, cutoff, -1.0, score.enough)
    if loss > cutoff:
        return loss, a, c
    b = min(max(c * score.scale - offset, score.lower), score.upper)
    if score.step > 0.0:
        # the better of the multiples of the step next to b, within the bounds
        least = math.ceil(score.lower / score.step - 1e-9) * score.step
        most = math.floor(score.upper / score.step + 1e-9) * score.step
        below = min(max(math.floor(b / score.step) * score.step, least), most)
        c, high = (below + offset) * a, (min(below + score.step, most) + offset) * a
        loss, above = line_sums(totals, sides, a, c)[0], line_sums(totals, sides, a, high)[0]
        if above < loss:
            loss, c = above, high
    elif b != c * score.scale - offset:
        c = (b + offset) * a
        loss = line_sums(totals, sides, a, c)[0]
    return loss, a, c


@compiled
def moments(coded: Coded, g: Any, h: Any) -> Any:
    """Sums of g x, h x and h x^2 by column, (3, p), x the distance off the mode; g, h (m,)."""
    sums = np.empty((3, len(coded.starts) - 1))
    for j in range(sums.shape[1]):
        gx, hx, hxx = 0.0, 0.0, 0.0
        for e in range(coded.starts[j], coded.starts[j + 1]):
            x, i = coded.deltas[e], coded.rows[e]
            gx += g[i] * x
            hx += h[i] * x
            hxx += h[i] * x * x
        sums[0, j], sums[1, j], sums[2, j] = gx, hx, hxx
    return sums


@inner
def tallied(groups: Groups, coded: Coded, j: int) -> Any:
    """Weight of both classes by (group, value of column j), shape (2, G V)."""
    width, mode = coded.widths[j], coded.modes[j]
    tally = np.zeros((2, len(groups.patterns) * width))
    for e in range(coded.starts[j], coded.starts[j + 1]):
        i = coded.rows[e]
        for side in range(2):
            tally[side, groups.cells[i] * width + coded.codes[e]] += coded.weights[side, i]
    # only entries off the mode are listed: the mode has the rest of the group's weight
    for group in range(len(groups.patterns)):
        for side in range(2):
            rest = groups.sides[side, group]
            for key in range(group * width, (group + 1) * width):
                rest -= tally[side, key]
            if rest > 1e-13 * groups.sides[side, group]:
                tally[side, group * width + mode] = rest
    return tally


@compiled
def part(groups: Groups, coded: Coded, columns: Any) -> Groups:
    """Part the groups by each of the columns; by one with too many values, row from row."""
    m = len(groups.cells)
    for j in columns:
        t, width, mode = groups.patterns.shape[1], coded.widths[j], coded.modes[j]
        single = width == 0 or width * len(groups.patterns) > 4 * m + 1024
        tally = coded.weights if single else tallied(groups, coded, j)
        # names: the new group of each (group, value) that occurs, or of each row
        names, kept = np.empty(tally.shape[1], np.int64), 0
        for key in range(len(names)):
            names[key] = kept if single or tally[0, key] + tally[1, key] > 0.0 else -1
            kept += names[key] >= 0
        patterns, sides = np.empty((kept, t + 1)), np.empty((2, kept))
        for key in range(len(names)):
            g = names[key]
            if g >= 0:
                old = groups.cells[key] if single else key // width
                for k in range(t):
                    patterns[g, k] = groups.patterns[old, k]
                patterns[g, t] = coded.values[j, mode if single else key % width]
                sides[0, g], sides[1, g] = tally[0, key], tally[1, key]
        cells = np.empty(m, np.int64)
        for i in range(m):
            cells[i] = i if single else names[groups.cells[i] * width + mode]
        for e in range(coded.starts[j], coded.starts[j + 1]):
            i = coded.rows[e]
            if single:
                patterns[i, t] += coded.deltas[e]
            else:
                cells[i] = names[groups.cells[i] * width + coded.codes[e]]
        groups = Groups(cells, patterns, sides)
    return groups


@inner
def boxed_step(bend: Any, gradient: Any, low: Any, high: Any) -> Any:
    """The d in [low, high] that minimises gradient'd + d'bend d/2, by coordinate descent.

    The columns are centred, so that the intercept hardly bends with them.
    """
    n = len(gradient)
    d, slope = np.zeros(n), gradient.copy()  # slope = gradient + bend d
    for _ in range(100):
        worst = 0.0
        for j in range(n):
            move = min(max(d[j] - slope[j] / bend[j, j], low[j]), high[j]) - d[j]
            if move != 0.0:
                d[j] += move
                for i in range(n):
                    slope[i] += move * bend[j, i]
                worst = max(worst, abs(move) * math.sqrt(bend[j, j]))
        if worst <= 1e-7:
            break
    return d


@inner
def weights_sums(patterns: Any, sides: Any, w: Any, gradient: Any, bend: Any) -> float:
    """The loss at weights w, the intercept last, shape (t + 1,); gradient and Hessian in place."""
    t, loss = len(w) - 1, 0.0
    for j in range(t + 1):
        gradient[j] = 0.0
        for k in range(t + 1):
            bend[j, k] = 0.0
    for i in range(len(patterns)):
        z = w[t]
        for j in range(t):
            z += w[j] * patterns[i, j]
        value, slope, curve = row_terms(z, sides[0, i], sides[1, i])
        loss += value
        gradient[t] += slope
        bend[t, t] += curve
        for j in range(t):
            x = patterns[i, j]
            gradient[j] += slope * x
            bend[t, j] += curve * x
            for k in range(j + 1):
                bend[j, k] += curve * x * patterns[i, k]
    for j in range(t + 1):
        for k in range(j):
            bend[k, j] = bend[j, k]
    return loss


@compiled
def refit(patterns: Any, sides: Any, w: Any, lower: Any, upper: Any) -> float:
    """Newton's method on weights w, the intercept last, in place: the loss.

    The weights, not the intercept, stay within ``lower`` and ``upper``, shape (t,). It ends once a
    step promises little; on rows that can be parted after some steps.
    """
    t = len(w) - 1
    gradient, bend = np.empty(t + 1), np.empty((t + 1, t + 1))
    low, high, moved = np.empty(t + 1), np.empty(t + 1), np.empty(t + 1)
    low[t], high[t] = -np.inf, np.inf
    loss = weights_sums(patterns, sides, w, gradient, bend)
    for _ in range(_STEPS):
        for j in range(t + 1):
            bend[j, j] = bend[j, j] * (1.0 + 1e-9) + 1e-12
        for j in range(t):
            low[j], high[j] = lower[j] - w[j], upper[j] - w[j]
        step = boxed_step(bend, gradient, low, high)
        decrement = 0.0
        for j in range(t + 1):
            decrement -= gradient[j] * step[j]
        if decrement <= 1e-15 or loss <= _FAR:
            break
        length, trial = 1.0, loss
        for _halving in range(30):
            for j in range(t + 1):
                moved[j] = w[j] + length * step[j]
            trial = weights_sums(patterns, sides, moved, gradient, bend)
            if trial <= loss - 0.1 * length * decrement:
                break
            length *= 0.5
        if trial > loss:
            break
        for j in range(t + 1):
            w[j] = moved[j]
        loss = trial
        if decrement <= _ENOUGH:
            break
    return loss


@compiled
def expand(
    groups: Groups, coded: Coded, w: Any, candidates: Any, lower: Any, upper: Any
) -> tuple[Any, Any]:
    """Refit a support's weights w (t + 1,) with each candidate column: losses (C,), w (C, t + 2).

    ``lower`` and ``upper`` are the candidates' bounds with the support's before them, (C, t + 1).
    """
    t = len(w) - 1
    losses, found = np.empty(len(candidates)), np.zeros((len(candidates), t + 2))
    for k in range(len(candidates)):
        parted = part(groups, coded, candidates[k : k + 1])
        for j in range(t):
            found[k, j] = w[j]
        found[k, t + 1] = w[t]
        losses[k] = refit(parted.patterns, parted.sides, found[k], lower[k], upper[k])
    return losses, found


@compiled
def judge(whole: Whole, indices: Any, states: Any, floor: float) -> None:
    """Objective, slope and shift of the points at ``indices`` (K, t), in ``states`` (K, 3).

    These hold an objective to beat, and slope and shift to begin with. Points that do not come
    half as near to the ``floor`` as the best of those before are given up early.
    """
    size, t = whole.patterns.shape
    totals, best = np.empty(size), np.inf
    for k in range(len(indices)):
        offset, price = 0.0, 0.0
        for i in range(size):
            totals[i] = 0.0
        for j in range(t):
            v = whole.choices.values[j, indices[k, j]]
            price += whole.choices.prices[j, indices[k, j]]
            offset += whole.means[j] * v
            for i in range(size):
                totals[i] += v * whole.patterns[i, j]
        cutoff = min(states[k, 0] - price, 2.0 * best - floor)
        loss, a, c = fitted_loss(
            totals, offset, whole.sides, states[k, 1], states[k, 2], cutoff, whole.score
        )
        states[k, 0], states[k, 1], states[k, 2] = loss + price, a, c
        best = min(best, loss + price)


# -- the beam --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SupportRules:
    """What the constraints of a statement say of supports before any points are known."""

    statement: Statement

    def demanded(self) -> Support:
        """Columns without which no card meets the constraints."""
        p = self.statement.design.shape[1]
        return tuple(j for j in range(p) if not self._fine((), (j,)))

    def first(self, keyed: Iterator[tuple[int, Support]], most: int) -> dict[int, Support]:
        """By column the first supports that may grow into allowed ones, and that may be one."""
        if not self.statement.constraints:
            return dict(islice(keyed, most))
        fine = [pair for pair in keyed if self._fine(pair[1], ())]
        whole = (pair for pair in fine if self._fine(pair[1], self._rest(pair[1])))
        return dict([*fine[:most], *islice(whole, most)])

    def holds(self, key: Support) -> bool:
        """Whether points on these columns alone, some of them 0 perhaps, may be allowed."""
        return not self.statement.constraints or self._fine((), self._rest(key))

    def _fine(self, used: Support, unused: Support) -> bool:
        return all(c.allows_support(used, unused) for c in self.statement.constraints)

    def _rest(self, key: Support) -> Support:
        """The columns outside."""
        outside = np.ones(self.statement.design.shape[1], dtype=bool)
        outside[list(key)] = False
        return tuple(np.flatnonzero(outside).tolist())


@dataclass(frozen=True, eq=False)
class Columns:
    """Merged rows as the beam reads them: ``coded`` columns minus their ``means``, shape (p,)."""

    coded: Coded
    means: FloatArray

    @classmethod
    def of(cls, rows: MergedRows) -> Columns:
        """Weighted distinct rows, centred and coded."""
        share = rows.weight / rows.weight.sum()
        means = share @ rows.X
        codes, values, widths = _coded(rows.X)
        modes = np.array([np.bincount(each, minlength=1).argmax() for each in codes], np.int64)
        base = values[np.arange(len(modes)), modes]
        unusual = codes != modes[:, None].astype(np.uint8)
        wide = np.flatnonzero(widths == 0)
        unusual[wide] = rows.X.T[wide] != base[wide, None]
        column, row = np.nonzero(unusual)
        coded = Coded(
            weights=np.stack([np.where(rows.y > 0, share, 0.0), np.where(rows.y > 0, 0.0, share)]),
            values=values - means[:, None],
            widths=widths,
            modes=modes,
            starts=np.concatenate([[0], np.cumsum(np.count_nonzero(unusual, axis=1))]),
            rows=row.astype(np.int32),
            codes=codes[unusual],
            deltas=rows.X[row, column] - base[column],
        )
        return cls(coded, means)

    @property
    def log_odds(self) -> float:
        """Score of the best constant risk."""
        up, down = self.coded.weights.sum(axis=1)
        return float(np.log(up / down))

    def groups(self, support: Sequence[int]) -> Groups:
        """Rows that agree on the support's columns; each for itself where values are too many."""
        weights = self.coded.weights
        together = Groups(
            np.zeros(weights.shape[1], np.int64), np.zeros((1, 0)), weights.sum(axis=1)[:, None]
        )
        return part(together, self.coded, np.array(support, dtype=np.int64))

    def gains(self, groups: Groups, w: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """What a Newton step within [low, high], (p,), along each column alone would save; (p,).

        The intercept follows: with g and h the first and second derivatives of the rows and
        M = sum h, a column x has gradient sum g x - sum g sum h x / M and curvature
        sum h x^2 - (sum h x)^2 / M.
        """
        risk = expit(groups.patterns @ w[:-1] + w[-1])
        both = self.coded.weights.sum(axis=0)
        g = both * risk[groups.cells] - self.coded.weights[0]
        h = both * (risk * (1.0 - risk))[groups.cells]
        slope, mass = g.sum(), h.sum() + 1e-300
        gx, hx, hxx = moments(self.coded, g, h)
        gradient = gx - slope / mass * hx
        curvature = hxx - hx * hx / mass
        # a column without curvature left tells nothing that the support does not
        told = curvature > 1e-13 * mass
        curvature = np.where(told, curvature, 1.0)
        step = np.clip(-gradient / curvature, low, high)
        return np.where(told, -(gradient * step + 0.5 * curvature * step * step), 0.0)


def _coded(X: FloatArray) -> tuple[npt.NDArray[np.uint8], FloatArray, IntArray]:
    """Codes (p, m), distinct values (p, V) and their number (p,), 0 above 256."""
    low, high = X.min(axis=0), X.max(axis=0)
    if (high - low).max(initial=0.0) < _LEVELS:
        shifted = X - low
        small = shifted.astype(np.uint8)
        if np.array_equal(small, shifted):  # whole numbers: no sorting needed
            widths = (high - low).astype(np.int64) + 1
            return np.ascontiguousarray(small.T), low[:, None] + np.arange(widths.max()), widths
    codes = np.zeros(X.shape[::-1], dtype=np.uint8)
    distinct, widths = [], np.zeros(X.shape[1], dtype=np.int64)
    for j in range(X.shape[1]):
        found, where, counts = np.unique(X[:, j], return_inverse=True, return_counts=True)
        if len(found) <= _LEVELS:
            codes[j], widths[j] = where, len(found)
        else:
            found = found[[counts.argmax()]]
        distinct.append(found)
    values = np.zeros((X.shape[1], max(map(len, distinct), default=1)))
    for j, found in enumerate(distinct):
        values[j, : len(found)] = found
    return codes, values, widths


@dataclass(frozen=True, eq=False)
class Known:
    """A support's real weights: its columns in their ``order``, the intercept last; the loss.

    ``floor`` is the loss with the least that points of these columns cost, ``key`` the columns in
    rising order.
    """

    order: Support
    w: FloatArray
    loss: float
    floor: float
    key: Support


@dataclass(frozen=True, eq=False)
class Model(Known):
    """The same with the rows grouped by the support's columns."""

    groups: Groups


@dataclass(eq=False)
class Beam:
    """Supports by forward selection and exchange; every one that was refitted is remembered.

    Real weights lie in ``lower``, ``upper`` (p,), infinite where a free slope leaves only the sign;
    ``usable`` (p,) may enter, ``forced`` columns must; ``prices`` (p,) are the least a column's
    points cost. Of each size up to ``limit`` so many as ``width`` are kept, and of a support the
    ``tried`` most promising columns refitted, unless ``rules`` rule it out or the clock has run
    out.
    """

    columns: Columns
    lower: FloatArray
    upper: FloatArray
    usable: npt.NDArray[np.bool_]
    forced: Support
    prices: FloatArray
    limit: int
    width: int
    tried: int
    rules: SupportRules
    clock: Clock = field(default_factory=Clock)
    known: dict[Support, Known] = field(default_factory=dict)
    refits: int = 0

    def levels(self) -> Iterator[float]:
        """Add columns one at a time up to the limit; the least loss of each size.

        What is known of a size depends on no larger limit: a search with more terms knows all that
        one with fewer does. Supports exchanged between two sizes may grow as well.
        """
        beam = [self.model(self.forced)]
        self.known[beam[0].key] = beam[0]
        yield beam[0].loss
        for size in range(len(self.forced) + 1, self.limit + 1):
            for model in beam:
                if not self.clock.is_up:
                    self.extend(model)
            best = self.best(size)
            if not best:
                return
            yield best[0].loss
            before, best = beam[0].loss, self.best(size)
            if size == self.limit or best[0].loss >= before - _SAME:
                return
            beam = [self._grouped(each) for each in best]

    def best(self, size: int) -> list[Known]:
        """The best supports of a size, of those with one and the same loss (twins) only one."""
        kept: list[Known] = []
        found = [known for known in self.known.values() if len(known.key) == size]
        for known in sorted(found, key=attrgetter("loss", "key")):
            if not kept or known.loss > kept[-1].loss + _SAME:
                kept.append(known)
            if len(kept) == self.width:
                break
        return kept

    def exchange(self, key: Support) -> None:
        """Refit supports with one column of this one exchanged for another."""
        known = self.known[key]
        for n, j in enumerate(known.order):
            if j not in self.forced and not self.clock.is_up:
                rest = known.order[:n] + known.order[n + 1 :]
                self.extend(self.model(rest, np.delete(known.w, n)), without=j)

    def extend(self, model: Model, without: int = -1) -> None:
        """Refit the support with each of the most promising columns; of an exchange with fewer."""
        most = self.tried if without < 0 else -(-self.tried // 3)
        columns = self.columns
        gains = columns.gains(model.groups, model.w, self.lower, self.upper)
        gains[~self.usable] = 0.0
        gains[[*model.order, *([without] if without >= 0 else [])]] = 0.0
        # a stable order, so that equal columns do not change places
        ranked = np.argsort(-gains, kind="stable")
        promising = ranked[gains[ranked] > 1e-12].tolist()
        keyed = ((j, tuple(sorted((*model.order, j)))) for j in promising)
        keys = self.rules.first(keyed, most)
        new = [j for j, key in keys.items() if key not in self.known]
        if new:
            bounds = np.array([[*model.order, j] for j in new])
            losses, found = expand(
                model.groups, columns.coded, model.w, np.array(new), self.lower[bounds],
                self.upper[bounds],
            )  # fmt: skip
            self.refits += len(new)
            before = model.floor - model.loss
            for j, loss, w in zip(new, losses.tolist(), found, strict=True):
                floor = loss + (before + float(self.prices[j]))
                self.known[keys[j]] = Known((*model.order, j), w, loss, floor, keys[j])

    def _grouped(self, known: Known) -> Model:
        """The model as it was left, with the rows grouped."""
        groups = self.columns.groups(known.order)
        return Model(known.order, known.w, known.loss, known.floor, known.key, groups)

    def remembered(self, key: Support) -> Model:
        """The model of a support that was refitted before, refined."""
        return self.model(self.known[key].order, self.known[key].w)

    def model(self, order: Support, start: FloatArray | None = None) -> Model:
        """Group the rows by the support's columns and refit, from the given weights (t + 1,)."""
        groups, chosen = self.columns.groups(order), list(order)
        w = np.zeros(len(order) + 1) if start is None else start.copy()
        if start is None:
            w[-1] = self.columns.log_odds
        lower, upper = self.lower[chosen], self.upper[chosen]
        w[:-1] = np.clip(w[:-1], lower, upper)
        loss = refit(groups.patterns, groups.sides, w, lower, upper)
        self.refits += 1
        floor = loss + float(self.prices[chosen].sum())
        return Model(order, w, loss, floor, tuple(sorted(order)), groups)
