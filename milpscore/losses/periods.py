"""The loss of discrete times: the chance of an event in each interval, an intercept in each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from milpscore.core.design import BoolArray, FloatArray, IntArray
from milpscore.losses.hazards import HazardRows


@dataclass(frozen=True)
class PeriodsPolicy:
    """What the search for intercepts is tuned with."""

    steps: int = 100  # of Newton's method; bisection alone would need fewer
    small: float = 1e-8  # a step that is the last: what it leaves is about its square
    certain: float = 1e15  # the odds of an event if all rows at risk have it


POLICY = PeriodsPolicy()


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
    one is :math:`\mathrm{diag}(\sum_k v_k) - \sum_k v_k v_k' / \sum_x v_{xk}`.

    Attributes
    ----------
    exposed : ndarray of shape (m, K)
        The weight at risk in each interval, as a share of that in all of them.
    died, total : ndarrays of shape (m,) and (K,)
        The weight of events, as a share of the same.
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
