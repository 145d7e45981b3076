"""One support: its patterns merged into cells, and the compiled walk over its weights.

At level d of the walk the first d columns are decided, and a *group* is the patterns that agree on
all others: whatever is decided next adds the same to each of their totals, so they keep their
order. The *curve* of a group is D(t) = the net weight of its patterns with a total below t; its
errors at threshold t are D(t) plus its negative net weight, and the sum over the groups of their
least errors is a bound. With all columns decided there is one group, and the bound is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.jit import compiled, inner
from milpscore.solvers.trees.zero_one.descent import sort_places
from milpscore.solvers.trees.zero_one.policy import POLICY
from milpscore.solvers.trees.zero_one.rows import Patterns

FINISHED, FOUND, PAUSED = 0, 1, 2

LEVEL = np.dtype([
    ("begin", np.int64), ("end", np.int64),  # its groups, begin..end-1 of all levels' groups
    # the column decided at this level: its least and largest value, how many weights it may take
    ("least", np.int64), ("most", np.int64), ("count", np.int64),
    # the least penalty of it and of those decided after it, and what a point of it costs
    ("tail", np.float64), ("price", np.float64),
    ("next", np.int64),  # the weight tried next
    # what is decided: the least total, the weights' common divisor, what their points cost
    ("low", np.int64), ("divisor", np.int64), ("size", np.float64),
    # where the level's curves begin, the room for each, their length
    ("curves", np.int64), ("stride", np.int64), ("length", np.int64),
], align=True)  # fmt: skip
"""A level of the walk; the last one, with all decided, has no column."""

GROUP = np.dtype([
    ("child", np.int64), ("end", np.int64),  # its groups of the level before: child..end-1
    ("value", np.int64),  # its value in the column decided next
    ("negative", np.int64),  # its negative net weight
    ("least", np.int64),  # the least errors any threshold of its own leaves
    ("rest", np.int64),  # that of the children of all later groups, seen at the level before
], align=True)  # fmt: skip


class Rules(NamedTuple):
    """What the walk over weights keeps to."""

    primitive: bool  # whether weights with a common divisor are skipped
    t_low: int  # thresholds
    t_high: int
    unit: float
    level: float  # objectives less than this below the cutoff are level with it


class TotalGroups(NamedTuple):
    """The groups of level 0 where totals are sorted."""

    net: NDArray[Any]  # (cells,): net weight
    label: IntArray  # (k + 1, cells): their group at every level
    totals: IntArray  # (k + 1, cells): scratch
    order: IntArray  # (2, cells): scratch


class Parts(NamedTuple):
    """What totals are beyond whole steps, in 2^-``bits`` of one, where they are compared finely."""

    bits: int
    value: IntArray  # the decided column's, for every group
    totals: IntArray  # (k + 1, cells)
    # of the totals at hand (cells,): steps rounded down, what is beyond, and that of the last cell
    whole: IntArray
    left: IntArray
    reached: IntArray  # seen in each group


class Place(NamedTuple):
    """A piece of a walk: at each level down to its own the weight tried next, and their end."""

    nexts: tuple[int, ...]  # above its own level, the weight the piece lies below
    counts: tuple[int, ...]


class Cuts(NamedTuple):
    """The rows of a support by its columns, to judge cards within limits on errors."""

    values: IntArray  # (c, k)
    signed: FloatArray  # (1 + L, c): positive less negative rows, and paid if answered negative
    least: FloatArray  # (1 + L,): wrong, and paid, where every answer is positive
    most: FloatArray  # (1 + L,): allowed


class Walk:
    """The weights of one support, depth first; :meth:`run` goes on where it stopped.

    Handicaps are decided first, and then columns of many values, far apart: the groups left to the
    end are few and large, and what each cannot avoid says much. Where patterns are priced,
    ``truth`` are those without prices: a card is found only where some threshold keeps to the
    limits on errors.
    """

    def __init__(
        self, patterns: Patterns, columns: IntArray, signs: Sequence[int] | None = None,
        truth: Patterns | None = None,
    ) -> None:  # fmt: skip
        self.patterns = p = patterns
        self.rules = Rules(p.primitive, *p.window, p.unit, p.level)
        spread = p.X[:, columns].std(axis=0)
        free = ~np.isin(columns, p.handicaps)
        order = np.lexsort((-spread, -p.cards[columns], free))
        self.columns = columns[order]
        self.signs = np.zeros(len(columns), int) if signs is None else np.array(signs, int)[order]
        k = len(columns)
        self.levels = np.zeros(k + 1, LEVEL)
        net, label = self._group()
        # patterns alike in all these columns: no weights part them
        lost = int(np.abs(p.net.astype(np.int64)).sum() - np.abs(net.astype(np.int64)).sum()) // 2
        self.fixed = p.least + p.l0 * k + lost * p.unit
        self._list_weights()
        self._lay_out_curves(net, label)
        # the level, the nodes and the curve entries so far
        self.progress = np.zeros(3, dtype=np.int64)
        self.truth = None if truth is None or truth.bits else truth
        self.cuts = None if self.truth is None else self._find_cuts(self.truth)

    def _group(self) -> tuple[NDArray[Any], IntArray]:
        """Lay out the levels' groups; return (net weight of level 0's, group at each level)."""
        p, levels, k = self.patterns, self.levels, len(self.columns)
        m = len(p.net)
        labels, counts = [np.zeros(m, np.int64)], [1]
        for j in self.columns[::-1]:  # equal labels in all columns from this one on
            keys = labels[0] * p.cards[j] + p.codes[j]
            known, label = np.unique(keys, return_inverse=True)
            labels.insert(0, label.ravel())
            counts.insert(0, len(known))
        levels["end"] = np.cumsum(counts)
        levels["begin"][1:] = levels["end"][:-1]
        self.groups = np.zeros(int(levels["end"][-1]), GROUP)
        parts = np.zeros(len(self.groups), np.int64)
        _, sample = np.unique(labels[0], return_index=True)
        net = np.bincount(labels[0], weights=p.net, minlength=counts[0])
        cell_label = np.array([label[sample] for label in labels])
        negative = np.maximum(-net, 0.0).astype(np.int64)
        for d in range(k + 1):
            own = self.groups[levels["begin"][d] : levels["end"][d]]
            np.add.at(own["negative"], cell_label[d], negative)
            if d < k:
                j = self.columns[d]
                own["value"][labels[d]] = p.values[j, p.codes[j]]
                if p.parts is not None:
                    part = parts[levels["begin"][d] : levels["end"][d]]
                    part[labels[d]] = p.parts[j, p.codes[j]]
                levels["least"][d], levels["most"][d] = own["value"].min(), own["value"].max()
            if d:  # labels ascend, so the groups that make up one are neighbours
                parent = np.zeros(counts[d - 1], np.int64)
                parent[cell_label[d - 1]] = cell_label[d]
                own["child"] = np.searchsorted(parent, np.arange(counts[d]))
                own["end"] = np.append(own["child"][1:], counts[d - 1])
        self.parts: Parts | None = None
        if p.parts is not None:
            totals, rows = (np.zeros((many, counts[0]), np.int64) for many in (k + 1, 3))
            self.parts = Parts(p.bits, parts, totals, *rows)
        return np.rint(net).astype(p.net.dtype), cell_label

    def _find_cuts(self, truth: Patterns) -> Cuts:
        """The merged rows by the columns."""
        rows = truth.rows[:, self.columns]
        values, label = np.unique(rows, axis=0, return_inverse=True)
        each = [truth.signed, *(paid for paid, _ in truth.limits)]
        signed = [np.bincount(label.ravel(), some, len(values)) for some in each]
        least = np.zeros(len(signed))
        least[0] = -np.minimum(truth.signed, 0).sum()
        # sums may round in another order
        most = [m + POLICY.surely * float(np.abs(paid).sum()) for paid, m in truth.limits]
        return Cuts(values, np.array(signed), least, np.array([0.0, *most]))

    def _may_beat(self, cutoff: float) -> bool:
        """Whether some threshold of the card the walk stands at keeps to limits and cutoff."""
        assert self.truth is not None
        assert self.cuts is not None
        w = self.weights[np.arange(len(self.columns)), self.levels["next"][:-1] - 1]
        charge = self.truth.l0 * len(w) + float(self.truth.price[self.columns] @ np.abs(w))
        self.cuts.most[0] = (cutoff - charge) / self.truth.unit + POLICY.surely
        return bool(may_keep(self.cuts, w))

    def _list_weights(self) -> None:
        """The nonzero weights of each column in the order they are tried, and their least size."""
        every = [self.patterns.points[j] for j in self.columns.tolist()]
        points = [v[v * s >= 0] for v, s in zip(every, self.signs.tolist(), strict=True)]
        k = len(points)
        self.levels["count"][:k] = [len(values) for values in points]
        self.weights = np.zeros((k, int(self.levels["count"].max())), dtype=np.int64)
        for d, values in enumerate(points):
            self.weights[d, : len(values)] = values
        price = self.levels["price"][:k] = self.patterns.price[self.columns]
        least = price * [float(np.abs(values).min()) for values in points]
        self.levels["tail"][:k] = np.cumsum(least[::-1])[::-1]

    def _lay_out_curves(self, net: NDArray[Any], label: IntArray) -> None:
        """Room for every level's curves, or for totals where curves would be too long."""
        levels, k = self.levels, len(self.columns)
        span = np.abs(self.weights).max(axis=1) * (levels["most"] - levels["least"])[:k]
        levels["stride"] = np.append(2, 2 + np.cumsum(span))
        levels["length"][0] = 2
        groups = levels["end"] - levels["begin"]
        cells = int(groups[0])
        size = [int(g) * int(s) for g, s in zip(groups, levels["stride"], strict=True)]
        last = int(groups[k - 1]) * int(levels["stride"][k])
        self.curves: NDArray[Any] | None = None
        self.cells: TotalGroups | None = None
        short = sum(size) <= POLICY.most_curves and self.parts is None
        if short and last <= POLICY.curve_per_cell * cells + POLICY.small_curves:
            levels["curves"] = np.cumsum([0, *size[:-1]])
            self.curves = np.zeros(sum(size), net.dtype)
            # no total yet: every cell's curve is one step, and no cell errs alone
            self.curves[1 : 2 * cells : 2] = net
        else:
            totals, order = np.zeros((k + 1, cells), np.int64), np.zeros((2, cells), np.int64)
            self.cells = TotalGroups(net, label, totals, order)

    @property
    def nodes(self) -> int:
        """Partial and complete weight vectors bounded so far."""
        return int(self.progress[1])

    @property
    def spent(self) -> int:
        """Curve entries so far."""
        return int(self.progress[2])

    def places(self) -> list[Place]:
        """What a paused walk has left, in two pieces where siblings wait further up."""
        d, counts = int(self.progress[0]), self.levels["count"].tolist()
        nexts = self.levels["next"].tolist()
        top = next((e for e in range(d + 1) if nexts[e] < counts[e]), None)
        if top is None:
            return []
        path = [at - 1 for at in nexts[:d]]
        rest = Place((*path[:top], nexts[top]), tuple(counts[: top + 1]))
        if top == d:
            return [rest]
        counts[top] = nexts[top]
        return [Place((*path, nexts[d]), tuple(counts[: d + 1])), rest]

    def resume(self, place: Place, cutoff: float) -> None:
        """Go to a place in a fresh walk, or as far towards it as ``cutoff`` allows."""
        levels, d = self.levels, len(place.nexts) - 1
        at = d
        for e, index in enumerate(place.nexts[:-1]):
            levels["next"][e], levels["count"][e] = index, index + 1
            self.run(cutoff, 1 << 61, e + 1)
            if self.progress[0] != e + 1:
                at = e
                break
        levels["next"][: at + 1] = [i + (e < d) for e, i in enumerate(place.nexts[: at + 1])]
        levels["count"][: d + 1] = place.counts
        self.progress[0], self.progress[1] = at, 0

    @property
    def w(self) -> IntArray:
        """The card the walk stands at, shape (p,)."""
        w = np.zeros(len(self.patterns.points), dtype=np.int64)
        k = len(self.columns)
        w[self.columns] = self.weights[np.arange(k), self.levels["next"][:k] - 1]
        return w

    def run(self, cutoff: float, budget: int, most_nodes: float) -> int:
        """Walk to a card below ``cutoff`` (FOUND), the end (FINISHED), or the limits (PAUSED)."""
        # ``budget`` counts the curve entries of this call, ``most_nodes`` the nodes of all calls
        before, most = self.spent, int(min(most_nodes, 1 << 62))
        while True:
            status = dive(
                self.levels, self.groups, self.weights, self.curves, self.cells, self.parts,
                self.progress, self.rules, cutoff - self.fixed, budget - self.spent + before, most,
            )  # fmt: skip
            if status != FOUND or self.cuts is None or self._may_beat(cutoff):
                return int(status)


@compiled
def may_keep(cuts: Any, w: Any) -> bool:
    """Whether some cut of the totals of weights w keeps all sums of wrong rows to ``most``."""
    c, sums = len(cuts.values), cuts.least.copy()
    totals = np.zeros(c, np.int64)
    for at in range(c):
        for a in range(len(w)):
            totals[at] += w[a] * cuts.values[at, a]
    order = np.argsort(totals)
    for place in range(c + 1):
        if place in (0, c) or totals[order[place]] > totals[order[place - 1]]:
            kept = True
            for r in range(len(sums)):
                kept = kept and sums[r] <= cuts.most[r]
            if kept:
                return True
        if place < c:
            for r in range(len(sums)):
                sums[r] += cuts.signed[r, order[place]]
    return False


@compiled
def dive(
    levels: Any, groups: Any, weights: Any, curves: Any, cells: Any, parts: Any, progress: Any,
    rules: Any, cutoff: float, budget: int, most_nodes: int,
) -> int:  # fmt: skip
    """Walk on until a card below ``cutoff`` is met, all are seen, or the budget is spent."""
    # ``levels`` (k + 1,) are of LEVEL, ``groups`` of GROUP; ``weights`` (k, C) in the order tried.
    # ``curves`` hold all levels' ones; where totals span too much, ``cells`` sort them instead;
    # ``parts`` are None unless totals are finer than steps. ``progress`` (3,): the level, nodes and
    # entries so far; ``cutoff``: less the terms' penalty and the unavoidable errors.
    k = len(levels) - 1
    spent = 0
    d = progress[0]
    status = FINISHED
    while d >= 0:
        here, below = levels[d], levels[d + 1]
        if spent > budget or progress[1] >= most_nodes:
            status = PAUSED
            break
        if here.next >= here.count:
            d -= 1
            continue
        weight = weights[d, here.next]
        here.next += 1
        a, divisor = here.divisor, abs(weight)
        while a != 0:  # the greatest common divisor
            a, divisor = divisor % a, a
        leaf = d == k - 1
        below.divisor = divisor
        below.size = here.size + here.price * abs(weight)
        # errors, in units, that a card of at least this price may have
        limit = (cutoff - rules.level - below.size - below.tail) / rules.unit
        if limit <= 0.0 or (leaf and rules.primitive and divisor > 1):
            continue
        progress[1] += 1
        errors = least_errors(levels, groups, curves, cells, parts, d, weight, rules, limit)
        work = (below.end - below.begin) * below.length  # 0 where totals are sorted
        spent += work if work > 0 else 16 * levels[0].end
        if errors >= limit:
            continue
        if leaf:
            status = FOUND
            break
        d += 1
        below.next = 0
        # from here on the groups of the next level know what those after them cannot avoid
        later = 0
        for g in range(levels[d + 1].end - 1, levels[d + 1].begin - 1, -1):
            groups[g].rest = later
            for child in range(below.begin + groups[g].child, below.begin + groups[g].end):
                later += groups[child].least
    progress[0] = d
    progress[2] += spent
    return status


@inner
def least_errors(
    levels: Any, groups: Any, curves: Any, cells: Any, parts: Any, d: int, weight: int, rules: Any,
    limit: float,
) -> Any:  # fmt: skip
    """Sum the least errors of the groups of level d + 1 once column d has this weight."""
    errors = 0
    if curves is None:
        pass
    else:
        errors = shift_curves(levels, groups, curves, d, weight, rules, limit)
    if cells is None:
        pass
    else:
        errors = sort_totals(levels, groups, cells, parts, d, weight, rules)
    return errors


@inner
def shift_curves(
    levels: Any, groups: Any, curves: Any, d: int, weight: int, rules: Any, limit: float
) -> Any:
    """Lay the curves of level d + 1 once column d has this weight; sum their least errors."""
    # a child's curve moves right by weight * value - lowest, and its end is held from there on; the
    # sum ends where the groups seen, with ``rest`` of the others, reach ``limit``
    here, below = levels[d], levels[d + 1]
    length, lowest = here.length, min(weight * here.least, weight * here.most)
    below.low = here.low + lowest
    below.length = new_length = length + abs(weight) * (here.most - here.least)
    # all groups but the last one may still move apart, so any threshold is open to them; those
    # before and beyond a curve answer as its ends do
    first, last = 0, new_length - 1
    if d + 2 == len(levels):
        first = min(max(rules.t_low - below.low, 0), last)
        last = min(max(rules.t_high - below.low, 0), last)
    total = 0
    for g in range(below.begin, below.end):
        start = below.curves + (g - below.begin) * below.stride
        curve = curves[start : start + new_length]
        for t in range(new_length):
            curve[t] = 0
        for child in range(groups[g].child, groups[g].end):
            shift = weight * groups[here.begin + child].value - lowest
            at = here.curves + child * here.stride
            source, target = curves[at : at + length], curve[shift : shift + length]
            for t in range(length):
                target[t] += source[t]
            end = source[length - 1]
            if end != 0:
                rest = curve[shift + length :]
                for t in range(len(rest)):
                    rest[t] += end
        least = curve[first]
        window = curve[first : last + 1]
        for t in range(len(window)):
            least = min(least, window[t])
        groups[g].least = least + groups[g].negative
        total += groups[g].least
        if total + groups[g].rest >= limit:
            return total + groups[g].rest
    return total


@inner
def carry(levels: Any, cells: Any, parts: Any, d: int, weight: int) -> Any:
    """Totals of level d + 1 in whole steps, rounded down; writes what they are beyond."""
    begin, label, bits = levels[d].begin, cells.label, parts.bits
    for cell in range(len(cells.net)):
        part = parts.totals[d, cell] + weight * parts.value[begin + label[d, cell]]
        parts.totals[d + 1, cell] = part
        parts.whole[cell] = cells.totals[d + 1, cell] + (part >> bits)
        parts.left[cell] = part - ((part >> bits) << bits)
    return parts.whole


@inner
def sort_parts(total: Any, left: Any, order: Any) -> None:
    """Put places of equal totals in the order of what they are beyond."""
    for at in range(1, len(order)):
        cell, to = order[at], at
        while to > 0 and total[order[to - 1]] == total[cell] and left[order[to - 1]] > left[cell]:
            order[to] = order[to - 1]
            to -= 1
        order[to] = cell


@inner
def sort_totals(
    levels: Any, groups: Any, cells: Any, parts: Any, d: int, weight: int, rules: Any
) -> Any:
    """The same from the cells' totals, which are sorted: for totals that span too much."""
    here, below = levels[d], levels[d + 1]
    label, totals, leaf = cells.label, cells.totals, d + 2 == len(levels)
    n = len(cells.net)
    far = 1 << 61  # beyond all totals and errors
    low, high = (rules.t_low, rules.t_high) if leaf else (-far, far)
    for cell in range(n):
        value = groups[here.begin + label[d, cell]].value
        totals[d + 1, cell] = totals[d, cell] + weight * value
    if parts is None:
        total, step = totals[d + 1], 1
        row = sort_places(total, cells.order)
    else:
        total, step = carry(levels, cells, parts, d, weight), 0
        row = sort_places(total, cells.order)
        sort_parts(total, parts.left, cells.order[row])
    count = below.end - below.begin
    reached, change = np.empty(count, np.int64), np.zeros(count, np.int64)
    best = np.empty(count, np.int64)
    for g in range(count):
        reached[g], best[g] = -far, far
    for at in range(n):
        cell = cells.order[row, at]
        g = label[d + 1, cell]
        beyond = total[cell] > reached[g]
        if parts is None:
            pass
        else:
            beyond = beyond or parts.left[cell] > parts.reached[g]
            parts.reached[g] = parts.left[cell]
        if beyond:
            # thresholds from the total before this one to it leave the same errors
            if max(reached[g] + step, low) <= min(total[cell], high):
                best[g] = min(best[g], change[g])
            reached[g] = total[cell]
        change[g] += cells.net[cell]
    errors = 0
    for g in range(count):
        if high >= reached[g] + step:
            best[g] = min(best[g], change[g])
        groups[below.begin + g].least = best[g] + groups[below.begin + g].negative
        errors += groups[below.begin + g].least
    return errors
