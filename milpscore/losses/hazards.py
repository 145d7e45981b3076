"""The losses of times to an event, the baseline profiled out: hazards, or chances by interval."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from milpscore.core.card import Card, FloatTotals, Totals
from milpscore.core.design import BoolArray, Design, FloatArray, IntArray
from milpscore.core.errors import NotApplicableError
from milpscore.core.statement import InterceptRule, ScaleRange
from milpscore.data.survival import SurvivalDesign
from milpscore.losses.kinds import RiskLoss


@dataclass(frozen=True)
class HazardsPolicy:
    """What sums of exponentials and the search for intercepts are tuned with."""

    far_score: float = 20.0  # scores of a card are held to it where weights grow with them
    least_sum: float = 1e-200  # below it a sum is taken anew, from the largest score it holds
    steps: int = 100  # of Newton's method; bisection alone would need fewer
    small: float = 1e-8  # a step that is the last: what it leaves is about its square
    certain: float = 1e15  # the odds of an event if all rows at risk have it


POLICY = HazardsPolicy()
_NONE = np.zeros(0, dtype=np.int64)

ExposureKind = Literal["time", "at_risk", "discrete"]


@dataclass(frozen=True, eq=False)
class Intervals:
    """What rows lived through between the cuts of time, per row of a design."""

    # (K,), ascending: an interval holds its end, and the first begins at 0
    cuts: FloatArray
    # what exposure is: the time a row was seen in an interval, or 1 where it was at risk; under
    # "discrete" what counts is the chance of an event in each
    kind: ExposureKind
    exposure: FloatArray  # (n, K), over ``unit``, so that the loss is never negative
    interval: IntArray  # (n,), of the row's event; -1 where none was seen
    # (K,): the events of the interval, weights included, times the geometric mean of the exposures
    # of the rows that have them; 1 under "discrete"
    unit: FloatArray

    @classmethod
    def of(cls, design: SurvivalDesign, cuts: FloatArray, kind: ExposureKind) -> Intervals:
        """Cut the times of a design's rows."""
        time, entry, event = design.time, design.entry, design.event & (design.weight > 0)
        starts = np.append(0.0, cuts[:-1])
        where = np.searchsorted(cuts, time)  # the interval that holds the time
        seen = event & (where < len(cuts))
        interval = np.where(seen, where, -1).astype(np.int64)
        if kind == "time":
            lived = np.minimum(time[:, None], cuts) - np.maximum(entry[:, None], starts)
            exposure = np.maximum(lived, 0.0)
        else:
            # events count as at the end of their interval, what is censored in one as before it
            through = (time[:, None] >= cuts) | (interval[:, None] == np.arange(len(cuts)))
            exposure = ((entry[:, None] < cuts) & through).astype(np.float64)
        if kind == "discrete":
            return cls(cuts, kind, exposure, interval, np.ones(len(cuts)))
        # the events of an interval times the geometric mean of the exposures of their rows
        rows = np.flatnonzero(seen)
        held, weight = interval[rows], design.weight[rows]
        events = np.bincount(held, weight, len(cuts))
        logs = np.bincount(held, weight * np.log(exposure[rows, held]), len(cuts))
        unit = np.where(events > 0, events * np.exp(logs / np.where(events > 0, events, 1.0)), 1.0)
        return cls(cuts, kind, exposure / unit, interval, unit)


@dataclass(frozen=True, eq=False)
class HazardRows:
    r"""The mean loss of rows that share a baseline: a :class:`milpscore.losses.lines.LossOfScores`.

    .. math:: F(z) = \sum_k D_k \log \sum_x e_{xk} e^{z_x} - \sum_x d_x z_x

    With :math:`p_{xk} = e_{xk} e^{z_x} / \sum e_{xk} e^{z_x}` its derivative is
    :math:`\sum_k D_k p_{xk} - d_x`, its second one
    :math:`\mathrm{diag}(\sum_k D_k p_k) - \sum_k D_k p_k p_k'`, which is positive semidefinite.
    """

    exposed: FloatArray  # (m, K): e, times the rows' weights
    died: FloatArray  # (m,): d, the weight of each row's events, as a share of that of all rows
    total: FloatArray  # (K,): D, the sum of d over the events of each interval

    def _sums(self, z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
        """Return exp(z - top), its sums over exposures, the logs of these with top; odd columns.

        Odd is a column of z, (n, V), where all that an interval exposes lies so far below the top
        that its sum underflows.
        """
        top = z.max(axis=0)
        grown = np.exp(z - top)
        sums = self.exposed.T @ grown
        if sums.min() >= POLICY.least_sum:  # as nearly always
            return grown, sums, np.log(sums) + top, _NONE
        small = (sums[self.total > 0] < POLICY.least_sum).any(axis=0)
        odd: IntArray = np.flatnonzero(small).astype(np.int64)
        # an interval that no row is exposed to has no events either
        sums = np.where(sums > 0.0, sums, 1.0)
        return grown, sums, np.log(sums) + top, odd

    def _logs(self, z: FloatArray) -> FloatArray:
        """Return the logs of the sums of scores (n,) interval by interval, (K,)."""
        from scipy.special import logsumexp

        some, found = self.total > 0.0, np.zeros(len(self.total))
        found[some] = logsumexp(z[:, None], axis=0, b=self.exposed[:, some])
        return found

    def _table(self, z: FloatArray, logs: FloatArray) -> FloatArray:
        """Return p at scores (n,) and the logs of the sums, (n, K); 0 where there are no events."""
        with np.errstate(divide="ignore"):
            powers = np.log(self.exposed[:, self.total > 0]) + z[:, None] - logs[self.total > 0]
        found = np.zeros(self.exposed.shape)
        found[:, self.total > 0] = np.exp(powers)
        return found

    def _values(self, z: FloatArray) -> FloatArray:
        """Return the logs of the sums, (K,) or (K, V)."""
        *_, logs, odd = self._sums(z)
        if not len(odd):
            return logs
        if z.ndim == 1:
            return self._logs(z)
        for v in odd:
            logs[:, v] = self._logs(z[:, v])
        return logs

    def mean(self, z: FloatArray) -> Any:
        """Return F at scores (n,), or (V,) at (n, V); infinite where a score is."""
        with np.errstate(over="ignore", invalid="ignore"):
            means = self.total @ self._values(z) - self.died @ z
        if z.ndim == 1:
            return float(means) if math.isfinite(means) else math.inf
        return np.where(np.isnan(means), np.inf, means)

    def terms(self, z: FloatArray) -> FloatArray:
        """Return what F is the sum of, and twice as much once more, cancelled: for its rounding."""
        logs = self._values(z)
        return np.concatenate([self.total * logs, -self.died * z, self.total, -self.total])

    def exact(self, z: FloatArray) -> float:
        """Return F at scores (n,), each sum rounded once."""
        parts = (-self.died * z).tolist()
        for events, exposed in zip(self.total.tolist(), self.exposed.T, strict=True):
            if events > 0.0:
                own = exposed > 0.0
                top = float(z[own].max())
                total = math.fsum((exposed[own] * np.exp(z[own] - top)).tolist())
                parts += [events * math.log(total), events * top]
        return math.fsum(parts)

    def baseline(self, z: FloatArray) -> FloatArray:
        """Return the best hazards of a score of 0 per unit of exposure, (K,), at scores (n,)."""
        top = float(z.max())
        sums = self.exposed.T @ np.exp(z - top)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(self.total > 0, self.total / sums, 0.0) * np.exp(-top))

    def _share(self, z: FloatArray) -> FloatArray:
        """Return sum_k D_k p_k at scores (n,) or (n, V), shape of z."""
        if z.ndim == 1:
            return self._share(z[:, None])[:, 0]
        grown, sums, _, odd = self._sums(z)
        share = np.asarray(grown * (self.exposed @ (self.total[:, None] / sums)))
        for v in odd:
            share[:, v] = self._table(z[:, v], self._logs(z[:, v])) @ self.total
        return share

    def pull(self, z: FloatArray) -> FloatArray:
        """Return the derivative of F."""
        died = self.died if z.ndim == 1 else self.died[:, None]
        return self._share(z) - died

    def size(self, z: FloatArray) -> float:
        """Return more than the sum of both parts of the derivative, which cancel.

        The farther apart scores lie, the more their exponentials round off.
        """
        return float(self.total.sum()) * (4.0 + 0.25 * float(np.ptp(z)))

    def bend(self, z: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Return (h, C), C of one column per interval."""
        grown, sums, _, odd = self._sums(z)
        table = grown[:, None] * self.exposed / sums
        if len(odd):
            table = self._table(z, self._logs(z))
        return table @ self.total, table * np.sqrt(self.total)

    def along(self, z: FloatArray, t: FloatArray) -> tuple[FloatArray, ...]:
        """Return first and second derivatives along the slope; F ignores what all scores share."""
        grown, sums, _, odd = self._sums(z)
        q = grown * (self.exposed @ (self.total[:, None] / sums))
        means = (self.exposed.T @ (grown * t)) / sums
        for v in odd:
            table = self._table(z[:, v], self._logs(z[:, v]))
            q[:, v], means[:, v] = table @ self.total, table.T @ t[:, v]
        nothing = np.zeros(z.shape[1])
        slope = ((q - self.died[:, None]) * t).sum(axis=0)
        bend = (q * t * t).sum(axis=0) - self.total @ (means * means)
        return slope, nothing, np.maximum(bend, 0.0), nothing, nothing

    def centre(self, totals: FloatArray) -> FloatArray:
        """Return 0: there is no intercept."""
        return np.zeros(totals.shape[1])

    def merged(self, labels: IntArray, first: IntArray) -> HazardRows:
        """Return the rows merged to groups."""
        from scipy.sparse import csr_array

        groups = csr_array(
            (np.ones(len(labels)), (labels, np.arange(len(labels)))), (len(first), len(labels))
        )
        return replace(self, exposed=groups @ self.exposed, died=groups @ self.died)

    def at_rows(self, merged: HazardRows, z: FloatArray, labels: IntArray) -> FloatArray:
        """Return the derivative in these rows' scores, those of their groups being z."""
        grown, sums, _, odd = merged._sums(z)
        if len(odd):
            return self._table(z[labels], merged._logs(z)) @ self.total - self.died
        return np.asarray(grown[labels] * (self.exposed @ (self.total / sums)) - self.died)


class _Fit(NamedTuple):
    """The best intercepts (K,) at some scores, and what they are found from.

    The chances of an event, (n, K); the g distinct scores, and the weight at risk at each in those
    intervals where rows differ.
    """

    levels: FloatArray
    chances: FloatArray
    distinct: FloatArray
    exposed: FloatArray


@dataclass(frozen=True, eq=False)
class PeriodRows(HazardRows):
    r"""The mean logistic loss of rows at risk, the best intercept in each interval.

    .. math:: F(z) = \sum_k \min_b \Bigl[ \sum_x e_{xk} \log(1 + e^{b + z_x}) - D_k b \Bigr]
        - \sum_x d_x z_x

    With :math:`p_{xk} = 1 / (1 + e^{-b_k - z_x})` its derivative is
    :math:`\sum_k e_{xk} p_{xk} - d_x`; with :math:`v_{xk} = e_{xk} p_{xk} (1 - p_{xk})` its second
    one is :math:`\mathrm{diag}(\sum_k v_k) - \sum_k v_k v_k' / \sum_x v_{xk}`. ``exposed`` is the
    weight at risk in each interval, and ``died``, ``total`` that of events, as shares of the
    weight at risk in all intervals.
    """

    @cached_property
    def _decided(self) -> BoolArray:
        """Intervals in which some rows at risk have the event, and some not; (K,)."""
        at_risk = self.exposed.sum(axis=0)
        return np.asarray((self.total > 0.0) & (self.total < at_risk * (1.0 - 1e-12)))

    def _at(self, z: FloatArray) -> _Fit:
        """Return the best intercepts at finite scores (n,): Newton's method within a bracket.

        Rows of one score are one row: a card has few scores.
        """
        from scipy.special import expit, logit

        distinct, place = np.unique(z, return_inverse=True)
        order = np.argsort(place, kind="stable")
        starts = np.searchsorted(place[order], np.arange(len(distinct)))
        own = self._decided
        exposed = np.add.reduceat(self.exposed[order][:, own], starts, axis=0)
        total, at_risk, at = self.total[own], exposed.sum(axis=0), distinct[:, None]
        flat = logit(total / at_risk)
        low, high = flat - distinct[-1], flat - distinct[0]
        b = np.clip(flat - distinct @ exposed / at_risk, low, high)
        for _ in range(POLICY.steps):
            p = expit(b + at)
            weighted = exposed * p
            excess = weighted.sum(axis=0) - total
            low, high = np.where(excess < 0.0, b, low), np.where(excess > 0.0, b, high)
            with np.errstate(divide="ignore", invalid="ignore"):
                step = b - excess / (weighted * (1.0 - p)).sum(axis=0)
            inside = (step > low) & (step < high)
            after = np.where(excess == 0.0, b, np.where(inside, step, (low + high) / 2.0))
            moved = np.where(inside, np.abs(after - b), (high - low) * 1e6)
            done = ((moved <= POLICY.small * np.maximum(1.0, np.abs(b))) | (excess == 0.0)).all()
            b = after
            if done:
                break
        levels = np.where(self.total > 0.0, math.inf, -math.inf)
        levels[own] = b
        return _Fit(levels, expit(levels + at)[place], distinct, exposed)

    def _lost(self, z: FloatArray) -> list[FloatArray]:
        """Return what F is the sum of at finite scores (n,), those of one score as one."""
        fit, own = self._at(z), self._decided
        b = fit.levels[own]
        # where all rows at risk have the event, their scores cancel
        all_died = self.exposed[:, (self.total > 0.0) & ~own].sum(axis=1)
        sums = np.logaddexp(0.0, b + fit.distinct[:, None]) * fit.exposed
        return [sums.ravel(), -self.total[own] * b, (all_died - self.died) * z]

    def levels(self, z: FloatArray) -> FloatArray:
        """Return the best intercepts at scores (n,), (K,); infinite where rows do not differ."""
        return self._at(z).levels

    def mean(self, z: FloatArray) -> Any:
        """Return F at scores (n,), or (V,) at (n, V); infinite where a score is."""
        if z.ndim == 1:
            finite = np.isfinite(z).all()
            return float(sum(part.sum() for part in self._lost(z))) if finite else math.inf
        return np.array([self.mean(column) for column in z.T])

    def terms(self, z: FloatArray) -> FloatArray:
        """Return what F is the sum of."""
        return np.concatenate(self._lost(z))

    def exact(self, z: FloatArray) -> float:
        """Return F, its terms' sum rounded once; any intercepts near the best give it."""
        return math.fsum(self.terms(z).tolist())

    def baseline(self, z: FloatArray) -> FloatArray:
        """Return the odds of an event in each interval at a score of 0, (K,), at scores (n,)."""
        with np.errstate(over="ignore"):
            return np.minimum(np.exp(self.levels(z)), POLICY.certain)

    def _share(self, z: FloatArray) -> FloatArray:
        """Return sum_k e_k p_k at scores (n,) or (n, V), shape of z."""
        if z.ndim == 1:
            return np.asarray((self.exposed * self._at(z).chances).sum(axis=1))
        return np.column_stack([self._share(column) for column in z.T])

    def _bends(self, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return v at chances (n, K), and its sums, 1 in place of 0."""
        v = self.exposed * p * (1.0 - p)
        sums = v.sum(axis=0)
        return v, np.where(sums > 0.0, sums, 1.0)

    def bend(self, z: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Return (h, C), C of one column per interval."""
        v, sums = self._bends(self._at(z).chances)
        return v.sum(axis=1), v / np.sqrt(sums)

    def along(self, z: FloatArray, t: FloatArray) -> tuple[FloatArray, ...]:
        """Return first and second derivatives along the slope; F ignores what all scores share."""
        slope, bend, nothing = np.zeros((3, z.shape[1]))
        for k, (own, along) in enumerate(zip(z.T, t.T, strict=True)):
            p = self._at(own).chances
            v, sums = self._bends(p)
            slope[k] = ((self.exposed * p).sum(axis=1) - self.died) @ along
            bend[k] = (v * (along[:, None] - along @ v / sums) ** 2).sum()
        return slope, nothing, bend, nothing, nothing

    def at_rows(self, merged: HazardRows, z: FloatArray, labels: IntArray) -> FloatArray:
        """Return the derivative in these rows' scores, those of their groups being z."""
        assert isinstance(merged, PeriodRows)
        return np.asarray((self.exposed * merged._at(z).chances[labels]).sum(axis=1) - self.died)


@dataclass(frozen=True, eq=False, repr=False)
class Hazards:
    """The base loss of :class:`SurvivalLoss`: the intervals of a design's rows.

    It has no value row by row: rows share the baseline that is profiled out.
    """

    name: ClassVar[str] = "survival"
    task: ClassVar[Any] = "survival"
    curvature: ClassVar[float] = math.inf

    design: SurvivalDesign
    intervals: Intervals

    def __repr__(self) -> str:
        """Return the cuts and the kind of exposure; rows stay out."""
        return f"Hazards({self.intervals.kind}, {self.intervals.cuts.tolist()})"

    @cached_property
    def raw(self) -> HazardRows:
        """The rows of the design as they are."""
        exposed = self.intervals.exposure * self.design.weight[:, None]
        died = np.where(self.intervals.interval >= 0, self.design.weight / self.whole, 0.0)
        if self.intervals.kind != "discrete":
            return HazardRows(exposed, died, self.total)
        return PeriodRows(exposed / self.whole, died, self.total)

    @cached_property
    def whole(self) -> float:
        """The weight of what the loss is the mean of: rows, or under "discrete" rows at risk."""
        weight = self.design.weight
        if self.intervals.kind == "discrete":
            weight = weight * self.intervals.exposure.sum(axis=1)
        return math.fsum(weight)

    @cached_property
    def total(self) -> FloatArray:
        """The weight of the events of each interval as a share of the whole, (K,)."""
        share = self.design.weight / self.whole
        at, count = self.intervals.interval, len(self.intervals.cuts)
        return np.array([math.fsum(share[at == k]) for k in range(count)])

    @cached_property
    def rows(self) -> HazardRows:
        """The merged rows of the design."""
        rows, raw = self.design.merged, self.raw
        exposed = np.column_stack([rows.sums(column) for column in raw.exposed.T])
        return replace(raw, exposed=exposed, died=rows.sums(raw.died))

    @cached_property
    def spread(self) -> float:
        """The largest sum of exposures in an interval, over that of a row with an event there.

        0 where each interval has an intercept, which moves as that of two classes does.
        """
        if self.intervals.kind == "discrete":
            return 0.0
        at, exposed = self.intervals.interval, self.raw.exposed
        rows = np.flatnonzero((at >= 0) & (self.design.weight > 0))
        ratios = exposed.sum(axis=0)[at[rows]] / exposed[rows, at[rows]]
        return float(ratios.max(initial=0.0))

    def as_decisions(self, near: Card | None = None) -> Design:
        """Return rows of two classes whose logistic loss resembles this one near a card.

        Each row stands twice: as an event, and as the events that its exposure lets expect at the
        card's baseline. Where scores are 0 the derivatives are proportional.
        """
        design, rows = self.design, self.raw
        z = np.zeros(len(rows.died))
        if near is not None:
            z = design.X @ near.coefficients.astype(np.float64) / float(near.scale or 1)
            z = np.clip(z - rows.died @ z / rows.died.sum(), -POLICY.far_score, POLICY.far_score)
        expected = (rows.pull(z) + rows.died) * np.exp(-z)
        weight = np.concatenate([rows.died, expected])
        sides = np.repeat([1, -1], len(rows.died))
        return Design(np.vstack([design.X, design.X]), sides, weight, design.columns, design.blocks)

    def of(self, y: IntArray) -> HazardRows:
        """Return the rows whose answers are this very array: the design's, or its merged ones."""
        if y is self.design.y:
            return self.raw
        if y is self.design.merged.y:
            return self.rows
        raise NotApplicableError("only the rows of the statement's own design have known times")


@dataclass(frozen=True)
class SurvivalLoss(RiskLoss):
    """The mean of minus the log of the likelihood of times, the baseline hazards profiled out.

    ``scale`` are points in one unit of the log of the hazard.
    """

    coupled: ClassVar[bool] = True
    base: Hazards  # type: ignore[assignment]

    @property
    def name(self) -> str:
        """The name in tables."""
        return "survival"

    def at(self, scale: float) -> SurvivalLoss:
        """Return the loss at one scale."""
        return SurvivalLoss(self.base, scale)

    def answers(self, y: IntArray) -> FloatArray:
        """Return zeros: rows of equal columns are one row, whatever became of them."""
        return np.zeros(len(y))

    def mean_rows(self, y: IntArray, weight: FloatArray) -> HazardRows:
        """Return the mean loss of the design's rows, or of its merged ones."""
        return self.base.of(y)

    def _distinct(
        self, totals: FloatArray, y: IntArray, weight: FloatArray
    ) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return all rows: their times differ."""
        return totals, y, weight

    def rows(self, totals: FloatTotals, intercept: Fraction, y: IntArray) -> FloatArray:
        """Raise: rows share a baseline, so that none has a loss of its own."""
        raise NotApplicableError("under the survival loss a row has no loss of its own")

    def exact_mean(self, totals: FloatTotals, intercept: Fraction, y: IntArray) -> float:
        """Return the mean loss, each sum rounded once."""
        return self.base.of(y).exact(totals.scores(intercept) / self.fixed)

    def best_intercept(
        self, totals: Totals, y: IntArray, weight: FloatArray, allowed: InterceptRule
    ) -> Fraction:
        """Return 0: the baseline holds what an intercept would."""
        return Fraction(0)

    def best_intercepts(
        self, totals: FloatArray, y: IntArray, weight: FloatArray, allowed: InterceptRule
    ) -> tuple[FloatArray, FloatArray]:
        """Return (zeros, mean losses), both of shape (V,), for totals of shape (n, V)."""
        if isinstance(self.scale, ScaleRange):
            return super().best_intercepts(totals, y, weight, allowed)
        return np.zeros(totals.shape[1]), self.base.of(y).mean(totals / self.scale)
