"""The bound from the leaves of a tree: every split covers its box, every leaf has a tangent.

A proof lists the nodes of a tree in preorder. A node is null where its parent's tangent (or the
statement's constraints) already closes it, else ``[columns, values, b, split]``: the point where
its tangent touches the loss, and ``[column, value]`` where it is split into the cards with at most
that value and those above, or null for a leaf. Boxes are no part of it: they follow from the
splits, so that no card can be left out.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from milpscore.certificate.tangents import Rows, Tangent, Tangents, read_point
from milpscore.core.card import Card
from milpscore.core.design import BoolArray, FloatArray, IntArray
from milpscore.core.errors import DataError, NotApplicableError
from milpscore.core.statement import InterceptRule, Statement

# ------------------------------------------------------------------ boxes of cards

_EPS = float(np.finfo(np.float64).eps)
INTERCEPT = -1
"""The number by which a split names the intercept."""


@dataclass
class Box:
    """Cards with w_j between two of its allowed values and b in an interval."""

    low: IntArray  # positions among the allowed values
    high: IntArray
    used: BoolArray  # whether 0 is ruled out
    b_low: float
    b_high: float

    def copy(self) -> Box:
        """A box of its own."""
        return Box(self.low.copy(), self.high.copy(), self.used.copy(), self.b_low, self.b_high)


class Space:
    """Every card a risk score's statement allows."""

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        p = statement.design.shape[1]
        low, high = statement.ranges
        choices = [
            np.array(
                [v for v in statement.coef_sets[j] if low[j] <= v <= high[j]]
                if j in statement.coef_sets
                else range(int(low[j]), int(high[j]) + 1)
            )
            for j in range(p)
        ]
        width = max((len(each) for each in choices), default=1) or 1
        # each coefficient's allowed values, ascending, padded
        self.values, self.real = np.zeros((p, width)), np.zeros((p, width), dtype=bool)
        for j, each in enumerate(choices):
            self.values[j, : len(each)], self.real[j, : len(each)] = each, True
        self.count = self.real.sum(axis=1)
        self.is_zero = self.real & (self.values == 0)
        self.terms = p if statement.max_terms is None else min(statement.max_terms, p)
        self.cost = self._costs()
        self.at = np.arange(width)
        rule = statement.intercept
        self.step = None if rule.step is None else float(rule.step)
        self.b_low, self.b_high = float(rule.lower), float(rule.upper)
        if rule.step is not None:
            self.b_low = float(math.ceil(rule.lower / rule.step) * rule.step)
            self.b_high = float(math.floor(rule.upper / rule.step) * rule.step)
        self.most = np.abs(self.values).max(axis=1, initial=0.0)
        self.largest_b = max(abs(self.b_low), abs(self.b_high))
        self.largest_cost = float(self.cost.max(axis=1, initial=0.0).sum())

    def _costs(self) -> FloatArray:
        """The table of single costs."""
        statement, size = self.statement, np.abs(self.values)
        cost = np.where(self.values != 0, float(statement.penalties[0].lam), 0.0)
        if len(statement.penalties) > 1:
            lam, kind = float(statement.penalties[1].lam), statement.arguments["penalty"]
            shapes = {"l1": size, "l2": size**2 / 2, "facets": (size**2 + size) / 2}
            cost += lam * shapes.get(kind, np.zeros_like(size))
        return cost

    def all_cards(self) -> Box:
        """The box of every card."""
        return Box(
            np.zeros(len(self.values), dtype=np.int64),
            (self.count - 1).astype(np.int64),
            np.zeros(len(self.values), dtype=bool),
            self.b_low,
            self.b_high,
        )

    def halves(self, box: Box, j: int, value: float) -> tuple[Box, Box]:
        """The cards of a box with w_j (or b) at most ``value``, and those above: all of them."""
        below, above = box.copy(), box.copy()
        if j == INTERCEPT:
            if self.step is None:
                below.b_high, above.b_low = min(box.b_high, value), max(box.b_low, value)
            else:
                k = math.floor(value / self.step + 1e-9)
                below.b_high = min(box.b_high, k * self.step)
                above.b_low = max(box.b_low, (k + 1) * self.step)
            return below, above
        last = int(np.searchsorted(self.values[j, : self.count[j]], value, side="right")) - 1
        below.high[j], above.low[j] = min(box.high[j], last), max(box.low[j], last + 1)
        return below, above

    def inside(self, box: Box) -> BoolArray:
        """Which values a box holds, shape (p, K)."""
        within = (self.at >= box.low[:, None]) & (self.at <= box.high[:, None])
        return np.asarray(within & ~(box.used[:, None] & self.is_zero))

    def empty(self, box: Box) -> bool:
        """Whether no card is left by ranges, limit on terms and constraints."""
        inside = self.inside(box)
        if box.b_low > box.b_high or not inside.any(axis=1).all():
            return True
        must = ~(inside & self.is_zero).any(axis=1)
        if must.sum() > self.terms:
            return True
        return bool(self.statement.constraints) and self._forbidden(box, inside, must)

    def _forbidden(self, box: Box, inside: BoolArray, must: BoolArray) -> bool:
        """Whether the constraints rule the whole box out."""
        never = (inside & ~self.is_zero).sum(axis=1) == 0
        included, excluded = np.flatnonzero(must).tolist(), np.flatnonzero(never).tolist()
        if not all(c.allows_support(included, excluded) for c in self.statement.constraints):
            return True
        if not (inside.sum(axis=1) == 1).all():
            return False
        w = self.values[inside].astype(np.int64)
        if not self.statement.allows(w[None, :])[0]:
            return True
        if self.step is None or box.b_low < box.b_high:
            return False
        return bool(self.statement.violations(Card(w, self.statement.intercept.nearest(box.b_low))))

    def tighten(self, tangent: Tangent, box: Box, goal: float) -> bool:
        """Drop from a box, in place, what a tangent puts at ``goal`` or more; True if all went."""
        if not math.isfinite(tangent.constant):
            return self.empty(box)
        price = tangent.slope[:, None] * self.values + self.cost
        size = np.abs(tangent.slope) @ self.most + abs(tangent.slope_b) * self.largest_b
        size += abs(tangent.constant) + self.largest_cost
        base = tangent.constant - 8.0 * _EPS * (len(self.values) + 8) * float(size)
        while not self.empty(box):
            inside = self.inside(box)
            least, totals = self._least(price, inside)
            ends = tangent.slope_b * box.b_low, tangent.slope_b * box.b_high
            bound = base + min(ends) + least
            if bound >= goal:
                return True
            kept = inside & ~(base + min(ends) + totals >= goal)
            self._shorten(tangent.slope_b, box, goal - bound)
            if (kept == inside).all():
                return False
            if not kept.any(axis=1).all():
                return True
            box.low = kept.argmax(axis=1).astype(np.int64)
            box.high = (len(self.at) - 1 - kept[:, ::-1].argmax(axis=1)).astype(np.int64)
            gone = (inside & self.is_zero & ~kept).any(axis=1)
            if (self.inside(box) == inside).all() and not (gone & ~box.used).any():
                return False
            box.used |= gone
        return True

    def _least(self, price: FloatArray, inside: BoolArray) -> tuple[float, FloatArray]:
        """The least sum of prices over the cards of a box, and that with each single value."""
        nonzero = np.where(inside & ~self.is_zero, price, np.inf).min(axis=1, initial=np.inf)
        may = (inside & self.is_zero).any(axis=1)
        room = self.terms - int((~may).sum())
        gain = np.where(may, np.minimum(nonzero, 0.0), 0.0)
        order = np.sort(gain[may])
        least = float(nonzero[~may].sum() + order[:room].sum())
        last = float(order[room - 1]) if 0 < room <= len(order) else 0.0
        following = float(order[room]) if 0 < room < len(order) else 0.0
        # a value of w_j takes the place of what w_j itself, or the last one counted, contributes
        own = np.where(may, np.minimum(gain, last), nonzero)
        totals = least - own[:, None] + price
        without = np.where(gain <= last, least - gain + min(following, 0.0), least)
        if room == 0:
            totals[may], without = np.inf, np.full(len(gain), least)
        return least, np.where(self.is_zero, without[:, None], totals)

    def _shorten(self, slope_b: float, box: Box, room: float) -> None:
        """Move the intercept's dearer end in to where the tangent stays within ``room``."""
        if slope_b == 0.0 or box.b_low == box.b_high:
            return
        reach = room / abs(slope_b) * (1.0 + 1e-9)
        if self.step is not None:
            reach = math.floor(reach / self.step + 1e-9) * self.step
        if slope_b > 0:
            box.b_high = min(box.b_high, box.b_low + reach)
        else:
            box.b_low = max(box.b_low, box.b_high - reach)


# ------------------------------------------------------------------ checking a tree

_BATCH = 4096


def prove_by_leaves(statement: Statement, nodes: list[Any], goal: float) -> tuple[bool, str]:
    """Whether a tree proves that no card of the statement has an objective below ``goal``."""
    space, rows = Space(statement), Rows(statement)
    tangents = _TangentsOf(rows, nodes)
    pending: list[tuple[Box | None, Tangent | None]] = [(space.all_cards(), None)]
    leaves = 0
    for number, node in enumerate(nodes):
        if not pending:
            return False, f"the tree ends before its node {number}"
        box, tangent = pending.pop()
        closed = box is None or _closed(space, box, tangent, goal)
        if node is not None:
            tangent = tangents[number]
            closed = closed or _closed(space, box, tangent, goal)
        split = None if node is None else node[3]
        if split is None:
            leaves += 1
            if not closed:
                return False, f"leaf {leaves} (node {number}) does not prove the bound {goal:.9g}"
            continue
        j, value = _split(split, len(space.values))
        halves = (None, None) if closed or box is None else space.halves(box, j, value)
        pending += [(halves[1], tangent), (halves[0], tangent)]
    if pending:
        return False, f"{len(pending)} parts of the tree are missing: cards are left out"
    return True, (
        f"{leaves} leaves cover every card, and each one's tangent, re-derived from the data, "
        f"proves {goal:.9g}"
    )


def _closed(space: Space, box: Box | None, tangent: Tangent | None, goal: float) -> bool:
    """Whether nothing below the goal is left in the box, which is shortened."""
    if box is None:
        return True
    return space.empty(box) if tangent is None else space.tighten(tangent, box, goal)


class _TangentsOf:
    """The tangents of a list of nodes, computed a batch at a time."""

    def __init__(self, rows: Rows, nodes: list[Any]) -> None:
        self.rows, self.nodes, self.first = rows, nodes, -_BATCH
        self.tangents: Tangents | None = None

    def __getitem__(self, number: int) -> Tangent:
        """The tangent of one node."""
        if self.tangents is None or not 0 <= number - self.first < _BATCH:
            self.first = number
            batch = self.nodes[number : number + _BATCH]
            points = [_point(node, self.rows.X.shape[1]) for node in batch]
            w, b = np.array([p for p, _ in points]), np.array([p for _, p in points])
            self.tangents = self.rows.tangents(w, b)
        return self.tangents[number - self.first]


def _point(node: Any, columns: int) -> tuple[FloatArray, float]:
    """Where a node's tangent touches; 0 for a node without one."""
    if node is None:
        return np.zeros(columns), 0.0
    if not isinstance(node, list) or len(node) != 4:
        raise DataError("the evidence is damaged (a node of a tree): make the certificate again")
    return read_point(node[:3], columns)


def _split(split: Any, columns: int) -> tuple[int, float]:
    """Column and value of a split."""
    try:
        j, value = int(split[0]), float(split[1])
    except (TypeError, ValueError, LookupError, OverflowError) as error:
        raise DataError(f"the evidence is damaged ({error}): make the certificate again") from error
    if not INTERCEPT <= j < columns or not math.isfinite(value):
        raise DataError(f"the evidence is damaged (split {split!r}): make the certificate again")
    return j, value


# ------------------------------------------------------------------ growing a tree

MARGIN = 1e-9
"""Leaves are closed this much above the bound they are to prove: other machines round otherwise."""

_BYTES_A_NUMBER = 12
_WHOLE = 1e-7


def grow_tree(statement: Statement, bound: float, time_limit: float, most_bytes: int) -> list[Any]:
    """The nodes of a tree that proves ``bound``, in the form of :func:`prove_by_leaves`.

    An engine's own leaves do not cover all cards: between splits it drops what some inner tangent
    puts above the best card. Here the points of its relaxations are kept at every node, and each
    box is the verifier's own.
    """
    space, rows, engine = Space(statement), Rows(statement), _Engine(statement)
    goal = bound + MARGIN * max(1.0, abs(bound))
    spread = rows.X.std(axis=0) if rows.X.size else np.zeros(rows.X.shape[1])
    started, size = time.perf_counter(), 0
    nodes: list[Any] = []
    pending: list[tuple[Box, Tangent | None, Any]] = [(space.all_cards(), None, None)]
    while pending:
        if time.perf_counter() - started > time_limit:
            raise NotApplicableError(
                f"its leaves were not grown within {time_limit:.3g} s ({len(nodes)} nodes stand, "
                f"{len(pending)} parts are open): raise the time limit"
            )
        if size > most_bytes:
            raise NotApplicableError(f"its leaves would take more than {most_bytes / 1e6:g} MB")
        box, tangent, parent = pending.pop()
        if space.empty(box) if tangent is None else space.tighten(tangent, box, goal):
            nodes.append(None)
            continue
        w, b, node = engine.point(parent, space, box, goal)
        tangent = rows.tangents(w[None, :], np.array([b]))[0]
        where = np.flatnonzero(w)
        split = None
        if not space.tighten(tangent, box, goal):
            split = _choose(space, box, w, b, tangent, spread)
            low, high = space.halves(box, *split)
            pending += [(high, tangent, node), (low, tangent, node)]
        nodes.append([where.tolist(), w[where].tolist(), b, None if split is None else [*split]])
        size += _BYTES_A_NUMBER * (2 * len(where) + 3)
    return nodes


class _Engine:
    """The relaxations of the tree search, as a source of points: nothing rests on them."""

    def __init__(self, statement: Statement) -> None:
        from milpscore.solvers.tree.arrays import Arrays
        from milpscore.solvers.tree.relaxation import Relaxation

        self.statement = statement
        self.arrays = Arrays(statement)
        self.relaxation = Relaxation(self.arrays)

    def point(
        self, parent: Any, space: Space, box: Box, goal: float
    ) -> tuple[FloatArray, float, Any]:
        """The minimiser of a box's relaxation in nine digits, and the node it was found at."""
        from milpscore.solvers.tree.relaxation import IN, OPEN, OUT, Node

        node = Node.root(self.arrays) if parent is None else parent.child()
        inside = space.inside(box)
        may = (inside & space.is_zero).any(axis=1)
        low = space.values[np.arange(len(may)), box.low]
        high = space.values[np.arange(len(may)), box.high]
        node.lo, node.hi = self._positions(low), self._positions(high)
        node.status = np.where(may, np.where(low == high, OUT, OPEN), IN).astype(np.int8)
        node.b_lo, node.b_hi = box.b_low, box.b_high
        # without the parent's tangent, by which the engine would close the node and keep its point
        node.bound = node.constant = -math.inf
        self.relaxation.solve(node, goal)
        if (low == high).all():
            node.w, node.b = low.copy(), self._best_intercept(low, box)
        w = np.array([float(f"{v:.9g}") for v in np.clip(node.w, low, high)])
        b = float(f"{min(max(node.b, box.b_low), box.b_high):.9g}")
        return np.clip(w, low, high), min(max(b, box.b_low), box.b_high), node

    def _best_intercept(self, w: FloatArray, box: Box) -> float:
        """The intercept of a box, on its step or not, where points w cost least."""
        statement = self.statement
        rows, loss = statement.design.merged, statement.loss
        real = InterceptRule("real", Fraction(box.b_low), Fraction(box.b_high), None)
        best, _ = loss.best_intercepts((rows.X @ w)[:, None], rows.y, rows.weight, real)
        return float(best[0])

    def _positions(self, values: FloatArray) -> Any:
        """Where the engine's tables hold these values."""
        return (self.arrays.points >= values[:, None]).argmax(axis=1).astype(np.int64)


def _choose(
    space: Space, box: Box, w: FloatArray, b: float, tangent: Tangent, spread: FloatArray
) -> tuple[int, float]:
    """Where to split a box: an undecided feature at 0, else the most fractional coordinate."""
    width = box.high - box.low
    undecided = (space.inside(box) & space.is_zero).any(axis=1) & (width > 0)
    size = np.where(undecided, np.abs(w) * spread, 0.0)
    if size.any():
        j = int(size.argmax())
        return j, _beside_zero(space, box, j, w[j] > 0)
    off = np.array([_off(space, box, j, w[j]) for j in range(len(w))]) * spread
    free_b = space.step is not None and box.b_low < box.b_high
    off_b = abs(b / space.step - round(b / space.step)) if free_b and space.step else 0.0
    if max(float(off.max(initial=0.0)), off_b) <= _WHOLE:
        if undecided.any():
            j = int(np.where(undecided, np.abs(tangent.slope) * space.most, -1.0).argmax())
            return j, _beside_zero(space, box, j, tangent.slope[j] < 0)
        if width.any():
            return _below(space, box, int(width.argmax()), w)
        card = space.values[np.arange(len(w)), box.low]
        if (w != card).any() or not box.b_low <= b <= box.b_high:
            return INTERCEPT, box.b_high  # one card is left, and its own tangent was not drawn yet
        if not free_b or space.step is None:
            raise NotApplicableError("a single card reaches below it")
        off_b = 1.0
    if off.max(initial=0.0) >= off_b:
        return _below(space, box, int(off.argmax()), w)
    assert space.step is not None
    value = math.floor(b / space.step + _WHOLE) * space.step
    return INTERCEPT, float(min(max(value, box.b_low), box.b_high - space.step))


def _beside_zero(space: Space, box: Box, j: int, positive: bool) -> float:
    """The value after which to split so that the points of one sign are parted from 0."""
    zero = int(space.is_zero[j].argmax())
    positive = (positive and zero < box.high[j]) or zero == box.low[j]
    return float(space.values[j, zero if positive else zero - 1])


def _off(space: Space, box: Box, j: int, value: float) -> float:
    """How far a coefficient lies from its allowed values, as a share of their gap."""
    values = space.values[j, box.low[j] : box.high[j] + 1]
    if len(values) < 2:
        return 0.0
    k = min(max(int(np.searchsorted(values, value)), 1), len(values) - 1)
    part = float((value - values[k - 1]) / (values[k] - values[k - 1]))
    return max(0.0, min(part, 1.0 - part))


def _below(space: Space, box: Box, j: int, w: FloatArray) -> tuple[int, float]:
    """The split of a coefficient at its own value."""
    values = space.values[j, : box.high[j]]
    k = int(np.searchsorted(values, w[j] + _WHOLE, side="right")) - 1
    return j, float(values[max(k, int(box.low[j]))])
