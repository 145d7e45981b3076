"""A beam over supports: real weights of few columns under logistic loss, the best sets kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray
from milpscore.search._risk_columns import Columns, Groups
from milpscore.search._risk_supports import Support, SupportRules

_ENOUGH = 1e-4
_STEPS = 12
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Known:
    """Real weights of a support: columns in the order of ``weights``, intercept, loss.

    ``floor`` is the loss with the least that points of these columns cost, ``key`` the columns in
    rising order.
    """

    order: Support
    weights: FloatArray
    intercept: float
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
        beam: list[Model] = [self.model(self.forced)]
        self.known[tuple(sorted(self.forced))] = beam[0]
        yield beam[0].loss
        for size in range(len(self.forced) + 1, self.limit + 1):
            found: set[Support] = set()
            for model in beam:
                found |= self.extend(model)
            if not found:
                return
            best = self._distinct(found)
            before = beam[0].loss
            yield self.known[best[0]].loss
            if size == self.limit or self.known[best[0]].loss >= before - _SAME:
                return
            beam = [self._grouped(self.known[key]) for key in best]

    def _distinct(self, found: set[Support]) -> list[Support]:
        """The best supports, of those with one and the same loss (twin columns) only one."""
        kept: list[Support] = []
        for known in sorted((self.known[key] for key in found), key=attrgetter("loss", "key")):
            if not kept or known.loss > self.known[kept[-1]].loss + _SAME:
                kept.append(known.key)
            if len(kept) == self.width:
                break
        return kept

    def exchange(self, key: Support) -> None:
        """Refit supports with one column of this one exchanged for another."""
        known = self.known[key]
        for n, j in enumerate(known.order):
            if j not in self.forced:
                rest = known.order[:n] + known.order[n + 1 :]
                model = self.model(rest, np.delete(known.weights, n), known.intercept)
                self.extend(model, without=j)

    def extend(self, model: Model, without: int = -1) -> set[Support]:
        """Refit the support with each of the most promising columns; the new supports' keys."""
        from milpscore.search._risk_kernels import expand, newton_gains

        c, groups = self.columns, model.groups
        gains = newton_gains(
            groups.cells, groups.patterns, c.weights, model.weights, model.intercept,
            c.rows, c.deltas, c.starts, self.lower, self.upper,
        )  # fmt: skip
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
                groups.cells, groups.patterns, groups.totals, model.weights, model.intercept,
                np.array(new), c.rows, c.codes, c.deltas, c.starts, c.values, c.widths, c.modes,
                c.weights, self.lower[bounds], self.upper[bounds], _ENOUGH, _STEPS,
            )  # fmt: skip
            self.refits += len(new)
            before = model.floor - model.loss
            for j, loss, weights in zip(new, losses.tolist(), found, strict=True):
                price = before + float(self.prices[j])
                self.known[keys[j]] = Known(
                    (*model.order, j), weights[:-1], float(weights[-1]), loss, loss + price, keys[j]
                )
        return set(keys.values())

    def _grouped(self, known: Known) -> Model:
        """The model as it was left, with the rows grouped."""
        groups = self.columns.groups(known.order)
        return Model(
            known.order, known.weights, known.intercept, known.loss, known.floor, known.key, groups
        )

    def remembered(self, key: Support) -> Model:
        """The model of a support that was refitted before, refined."""
        known = self.known[key]
        return self.model(known.order, known.weights, known.intercept)

    def model(
        self, order: Support, weights: FloatArray | None = None, intercept: float | None = None
    ) -> Model:
        """Group the rows by the support's columns and refit, from the given weights."""
        from milpscore.search._risk_kernels import refit

        groups = self.columns.groups(order)
        start = self.columns.log_odds if intercept is None else intercept
        lower, upper = self.lower[list(order)], self.upper[list(order)]
        w = np.clip(np.zeros(len(order)) if weights is None else weights, lower, upper)
        loss, c = refit(groups.patterns, *groups.sides, w, start, lower, upper, _ENOUGH, _STEPS)
        self.refits += 1
        return Model(order, w, c, loss, loss + self._price(order), tuple(sorted(order)), groups)

    def _price(self, order: Support) -> float:
        return float(self.prices[list(order)].sum())
