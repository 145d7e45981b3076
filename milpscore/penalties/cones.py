"""The penalties that are no sums over the coefficients, and the hull, as rows of cones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.penalties._chains import _Chains
from milpscore.penalties._norms import EYE, OWL, GroupL1, SparseHull

Row = tuple[dict[int, float], float]  # entries by column, and an offset


@dataclass(eq=False)
class PenaltyCones:
    """penalty(w) = min over t of cost.t where rows of (w, t), offset included, lie in cones."""

    p: int
    extra: int = 0  # auxiliary variables t
    cost: dict[int, float] = field(default_factory=dict)
    zero: list[Row] = field(default_factory=list)  # rows that are 0
    signs: list[Row] = field(default_factory=list)  # rows that are not negative
    # lists whose first row is at least the length of the others
    lengths: list[list[Row]] = field(default_factory=list)
    # the columns whose size an auxiliary variable has
    like: dict[int, list[int]] = field(default_factory=dict)
    dear: FloatArray = field(init=False)  # what a unit of a column costs at least
    most: FloatArray = field(init=False)  # sizes a set allows

    def __post_init__(self) -> None:
        self.dear, self.most = np.zeros(self.p), np.full(self.p, np.inf)

    def one(self, cost: float, like: list[int]) -> int:
        """Add an auxiliary variable with a cost, of the size of some columns."""
        at = self.p + self.extra
        self.extra += 1
        self.cost[at], self.like[at] = cost, like
        return at

    def above(self, t: int, entries: dict[int, float], *others: int) -> None:
        """Require the sum of t and other variables to be at least |entries|."""
        free = dict.fromkeys((t, *others), 1.0)
        for sign in (1.0, -1.0):
            self.signs.append((free | {j: -sign * a for j, a in entries.items()}, 0.0))


def cone_form(penalty: Any, p: int) -> PenaltyCones | None:
    """Return the cones of a penalty of p coefficients; None if it has none, or too many."""
    form = PenaltyCones(p)
    fillers: dict[type, Callable[[PenaltyCones, Any], bool]] = {
        SparseHull: _hull, _Chains: _chains, OWL: _owl, GroupL1: _groups, EYE: _eye,
    }  # fmt: skip
    for kind, fill in fillers.items():
        if isinstance(penalty, kind):
            return form if fill(form, penalty) else None
    return None


def _hull(form: PenaltyCones, penalty: SparseHull) -> bool:
    size = list(range(form.p))
    if penalty.weights == "ternary":
        size = [form.one(0.0, [j]) for j in size]
        for j, t in enumerate(size):
            form.above(t, {j: 1.0})
    else:
        form.signs += [({j: 1.0}, 0.0) for j in size]
    form.signs += [({t: -1.0}, 1.0) for t in size]
    form.signs.append((dict.fromkeys(size, -1.0), float(penalty.max_terms)))
    form.most[:] = 1.0
    return True


def _chains(form: PenaltyCones, penalty: _Chains) -> bool:
    if getattr(penalty, "shared", False):  # a form is of one class
        return False
    order, widths, blocks = penalty.chains(form.p)
    for k in np.flatnonzero(widths):
        a, b = int(order[k]), int(order[k + 1])
        form.above(form.one(penalty.lam * float(widths[k]), [a, b]), {a: -1.0, b: 1.0})
        form.dear[[a, b]] += penalty.lam * float(widths[k])
    form.zero += [(dict.fromkeys(block, 1.0), 0.0) for block in blocks]
    return True


def _owl(form: PenaltyCones, penalty: OWL) -> bool:
    p, every = form.p, list(range(form.p))
    falls = penalty.lam * (penalty.weights - np.append(penalty.weights[1:], 0.0))
    if p * np.count_nonzero(falls) > 20_000:  # rows: first-order steps are quicker
        return False
    for k in np.flatnonzero(falls):
        # the sum of the k + 1 largest sizes: (k + 1) r + sum_j (|w_j| - r)_+
        r = form.one(float(falls[k]) * (k + 1), every)
        for j in every:
            s = form.one(float(falls[k]), [j])
            form.above(s, {j: 1.0}, r)
            form.signs.append(({s: 1.0}, 0.0))
    form.dear[:] = penalty.lam * float(penalty.weights[0])
    return True


def _groups(form: PenaltyCones, penalty: GroupL1) -> bool:
    for block, weight in zip(penalty.blocks, penalty.block_weights, strict=True):
        cost = penalty.lam * float(weight)
        t = form.one(cost, list(block))
        form.lengths.append([({t: 1.0}, 0.0), *(({j: 1.0}, 0.0) for j in block)])
        form.dear[list(block)] = cost
    return True


def _eye(form: PenaltyCones, penalty: EYE) -> bool:
    r, total = penalty.expert, {}
    for j in np.flatnonzero(r < 1).tolist():
        t = form.one(penalty.lam * float(1 - r[j]), [j])
        form.above(t, {j: 1.0})
        total[t] = float(1 - r[j])
    z = form.one(penalty.lam, list(range(form.p)))
    rows: list[Row] = [({z: 1.0}, 0.0), *([(total, 0.0)] if total else [])]
    form.lengths.append([*rows, *(({j: float(r[j])}, 0.0) for j in np.flatnonzero(r).tolist())])
    form.dear[:] = penalty.lam * np.maximum(2 * (1 - r), r)
    return True


@dataclass(frozen=True, eq=False)
class Cones:
    """A form for the coefficients of all classes: these, then all auxiliary variables."""

    cost: FloatArray  # (m,)
    rows: Any  # (k, m), sparse
    offset: FloatArray  # (k,)
    zero: int
    signs: int
    lengths: list[int]
    unit: FloatArray  # (m,): the size of every variable


def stacked(form: PenaltyCones, copies: int, size: FloatArray, room: float) -> Cones:
    """Return copies of a form side by side, their variables in units of their sizes."""
    # ``size`` (copies p,) is how large the loss lets a coefficient become, ``room`` how large the
    # penalty may become
    from scipy.sparse import csc_array

    p, extra = form.p, form.extra
    unit = np.ones(copies * (p + extra))
    entries: list[tuple[int, int, float]] = []
    offsets: list[float] = []

    def place(j: int, copy: int) -> int:
        return copy * p + j if j < p else copies * p + copy * extra + j - p

    def add(row: Row, copy: int) -> None:
        entries.extend((len(offsets), place(j, copy), a) for j, a in row[0].items())
        offsets.append(row[1])

    cost = np.zeros(len(unit))
    with np.errstate(divide="ignore"):
        limit = np.minimum(form.most, room / form.dear)
    for copy in range(copies):
        part = slice(copy * p, copy * p + p)
        unit[part] = np.minimum(size[part], np.where(limit > 0, limit, np.inf))
        for j, value in form.cost.items():
            cost[place(j, copy)] = value
            unit[place(j, copy)] = max(unit[place(k, copy)] for k in form.like[j])
    for rows in (form.zero, form.signs):
        for copy in range(copies):
            for row in rows:
                add(row, copy)
    for copy in range(copies):
        for length in form.lengths:
            for row in length:
                add(row, copy)
    # none where the penalty weighs nothing
    at, columns, values = map(list, zip(*entries, strict=True)) if entries else ([], [], [])
    table = csc_array((values, (at, columns)), shape=(len(offsets), len(cost)))
    sizes = [len(length) for length in form.lengths] * copies
    zero, signs = copies * len(form.zero), copies * len(form.signs)
    return Cones(cost, table, np.array(offsets), zero, signs, sizes, unit)
