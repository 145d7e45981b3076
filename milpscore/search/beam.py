"""A beam over supports: real weights of few columns under logistic loss, the best sets kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray, IntArray, MergedRows
from milpscore.core.statement import Statement

if TYPE_CHECKING:
    from milpscore.search.risk_kernels import Coded, Groups

Support = tuple[int, ...]

_LEVELS = 256
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class SupportRules:
    """What the constraints of a statement say of supports before any points are known."""

    statement: Statement
    limit: int

    def demanded(self) -> Support:
        """Columns without which no card meets the constraints."""
        p = self.statement.design.shape[1]
        return tuple(j for j in range(p) if not self._fine((), (j,)))

    def grows(self, key: Support) -> bool:
        """Whether a support, or one that it grows into, may hold an allowed card."""
        return not self.statement.constraints or self._fine(
            key, self._rest(key) if len(key) >= self.limit else ()
        )

    def holds(self, key: Support) -> bool:
        """Whether points on these columns alone, some of them 0 perhaps, may be allowed."""
        return self._fine((), self._rest(key))

    def _fine(self, used: Support, unused: Support) -> bool:
        return all(c.allows_support(used, unused) for c in self.statement.constraints)

    def _rest(self, key: Support) -> Support:
        """The columns outside; none where no constraint asks."""
        if not self.statement.constraints:
            return ()
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
        from milpscore.search.risk_kernels import Coded

        share = rows.weight / rows.weight.sum()
        means = share @ rows.X
        codes, values, widths = _coded(rows.X)
        modes = np.array([np.bincount(each, minlength=1).argmax() for each in codes], np.int64)
        base = values[np.arange(len(modes)), modes]
        off = codes != modes[:, None].astype(np.uint8)
        wide = np.flatnonzero(widths == 0)
        off[wide] = rows.X.T[wide] != base[wide, None]
        column, row = np.nonzero(off)
        coded = Coded(
            weights=np.stack([np.where(rows.y > 0, share, 0.0), np.where(rows.y > 0, 0.0, share)]),
            values=values - means[:, None],
            widths=widths,
            modes=modes,
            starts=np.concatenate([[0], np.cumsum(np.count_nonzero(off, axis=1))]),
            rows=row.astype(np.int32),
            codes=codes[off],
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
        from milpscore.search.risk_kernels import Groups, part

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
        from milpscore.search.risk_kernels import moments

        sums = moments(groups, self.coded, groups.patterns @ w[:-1] + w[-1])
        (gx, hx, hxx), (slope, mass, _) = sums[:, :-1], sums[:, -1]
        mass += 1e-300
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

    Attributes
    ----------
    columns : Columns
    lower, upper : ndarrays of shape (p,)
        Bounds on the real weights; infinite where a free slope leaves only the sign.
    usable : ndarray of bool, shape (p,)
    forced : tuple of int
        Columns whose points cannot be 0.
    prices : ndarray of shape (p,)
        The least that any points of a column cost.
    limit : int
        Most terms.
    width : int
        Supports kept of each size.
    tried : int
        Columns whose addition to a support is refitted, of those that promise most.
    rules : SupportRules
        Supports they rule out are not refitted.
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
    known: dict[Support, Known] = field(default_factory=dict)
    refits: int = 0

    def levels(self) -> Iterator[float]:
        """Add columns one at a time up to the limit; the least loss of each size."""
        beam = [self.model(self.forced)]
        self.known[beam[0].key] = beam[0]
        yield beam[0].loss
        for size in range(len(self.forced) + 1, self.limit + 1):
            found: set[Support] = set()
            for model in beam:
                found |= self.extend(model)
            if not found:
                return
            best = self._distinct(found)
            before = beam[0].loss
            yield best[0].loss
            if size == self.limit or best[0].loss >= before - _SAME:
                return
            beam = [self._grouped(each) for each in best]

    def _distinct(self, found: set[Support]) -> list[Known]:
        """The best supports, of those with one and the same loss (twin columns) only one."""
        kept: list[Known] = []
        for known in sorted((self.known[key] for key in found), key=attrgetter("loss", "key")):
            if not kept or known.loss > kept[-1].loss + _SAME:
                kept.append(known)
            if len(kept) == self.width:
                break
        return kept

    def exchange(self, key: Support) -> None:
        """Refit supports with one column of this one exchanged for another."""
        known = self.known[key]
        for n, j in enumerate(known.order):
            if j not in self.forced:
                rest = known.order[:n] + known.order[n + 1 :]
                self.extend(self.model(rest, np.delete(known.w, n)), without=j)

    def extend(self, model: Model, without: int = -1) -> set[Support]:
        """Refit the support with each of the most promising columns; the new supports' keys."""
        from milpscore.search.risk_kernels import expand

        columns = self.columns
        gains = columns.gains(model.groups, model.w, self.lower, self.upper)
        gains[~self.usable] = 0.0
        gains[[*model.order, *([without] if without >= 0 else [])]] = 0.0
        # a stable order, so that equal columns do not change places
        ranked = np.argsort(-gains, kind="stable")
        promising = ranked[gains[ranked] > 1e-12].tolist()
        keyed = ((j, tuple(sorted((*model.order, j)))) for j in promising)
        keys = dict(islice((pair for pair in keyed if self.rules.grows(pair[1])), self.tried))
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
        return set(keys.values())

    def _grouped(self, known: Known) -> Model:
        """The model as it was left, with the rows grouped."""
        groups = self.columns.groups(known.order)
        return Model(known.order, known.w, known.loss, known.floor, known.key, groups)

    def remembered(self, key: Support) -> Model:
        """The model of a support that was refitted before, refined."""
        return self.model(self.known[key].order, self.known[key].w)

    def model(self, order: Support, start: FloatArray | None = None) -> Model:
        """Group the rows by the support's columns and refit, from the given weights (t + 1,)."""
        from milpscore.search.risk_kernels import refit

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
