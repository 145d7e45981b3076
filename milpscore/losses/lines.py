"""The best slope and intercept of given totals under a smooth loss, many cards at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from milpscore.core.design import BoolArray, FloatArray
from milpscore.core.statement import SmoothLoss


@dataclass(frozen=True)
class LinesPolicy:
    """What Newton's method for slope and intercept is tuned with."""

    steps: int = 200
    halvings: int = 40  # of one step
    final_steps: int = 2  # whole ones, at the end
    flat: float = 1e-16  # a step that promises less, of the loss or of 1e-3, is not taken
    # a column may fall by this multiple of what a step promises: half of it if losses are
    # quadratic, all of it where they are exponential
    hope: float = 4.0
    ridge: float = 1e-13  # added to second derivatives


POLICY = LinesPolicy()


class Lines(NamedTuple):
    """Scores slope * total + intercept and their mean losses, all of shape (V,)."""

    slopes: FloatArray
    intercepts: FloatArray
    losses: FloatArray


class LossRows(NamedTuple):
    """Weights that sum to 1, of shape (n, 1), and answers as the loss reads them, (n, 1)."""

    loss: SmoothLoss
    share: FloatArray
    answers: FloatArray

    def mean(self, z: FloatArray) -> FloatArray:
        """Return mean losses of scores of shape (n, V); infinite where they overflow."""
        values = self.loss.value(z, np.broadcast_to(self.answers, z.shape))
        with np.errstate(invalid="ignore", over="ignore"):
            means = (self.share * values).sum(axis=0)
        return np.where(np.isnan(means), np.inf, means)


def best_lines(
    rows: LossRows,
    totals: FloatArray,
    slopes: tuple[float, float],
    thresholds: tuple[float, float],
    charges: FloatArray | None = None,
) -> Lines:
    """Minimise the mean loss of s * total + c over s within ``slopes``, c / s in ``thresholds``."""
    # The feasible (s, c) are a cone cut by two lines, so that a minimiser beyond one of its sides
    # is one on that side. With ``charges`` (V,), what each column costs beside, only the cheapest
    # column is wanted: those that promise too little to be it are left early, above their least.
    lines = _newton(rows, totals, slopes, np.ones(totals.shape[1], np.bool_), charges)
    for end, sign in zip(thresholds, (1.0, -1.0), strict=True):
        beyond = np.flatnonzero(sign * (end * lines.slopes - lines.intercepts) > 0.0)
        if len(beyond):
            fixed = _newton(rows, totals[:, beyond] + end, slopes, np.zeros(len(beyond), np.bool_))
            lines.slopes[beyond], lines.losses[beyond] = fixed.slopes, fixed.losses
            lines.intercepts[beyond] = fixed.slopes * end
    return lines


def held_slopes(rows: LossRows, scores: FloatArray, slopes: tuple[float, float]) -> FloatArray:
    """Return per column the s within ``slopes`` of least mean loss of s * score, (V,)."""
    return _newton(rows, scores, slopes, np.zeros(scores.shape[1], np.bool_)).slopes


def _newton(
    rows: LossRows,
    totals: FloatArray,
    slopes: tuple[float, float],
    free: BoolArray,
    charges: FloatArray | None = None,
) -> Lines:
    """Minimise by Newton's method with halved steps; c is 0 where not ``free``."""
    # 1) Start from centred and scaled totals: slope and intercept hardly move each other.
    middle = np.where(free, (rows.share * totals).sum(axis=0), 0.0)
    spread = np.abs(totals - middle).max(axis=0, initial=0.0)
    spread[spread == 0.0] = 1.0
    t = (totals - middle) / spread
    low, high = slopes[0] * spread, slopes[1] * spread
    a, c = np.clip(1.0, low, high), np.zeros(totals.shape[1])
    value = rows.mean(a * t + c)
    # where exponentials are huge, an intercept at which none is
    lower = -(a * t).max(axis=0, initial=0.0)
    at_lower = rows.mean(a * t + lower)
    better = free & (at_lower < value)
    c, value = np.where(better, lower, c), np.where(better, at_lower, value)
    # 2) Steps of the columns still open, each halved until its loss falls.
    open_ = np.arange(len(a))
    for _ in range(POLICY.steps):
        if not len(open_):
            break
        da, dc, promised = _step(rows, t[:, open_], (a, c, low, high), free, open_)
        fine = promised > POLICY.flat * (1e-3 + np.abs(value[open_]))
        if charges is not None:
            costs = value + charges
            fine &= costs[open_] - POLICY.hope * promised <= costs.min()
        size, moved = np.ones(len(open_)), np.zeros(len(open_), np.bool_)
        for _halving in range(POLICY.halvings):
            tried = np.flatnonzero(fine & ~moved)
            if not len(tried):
                break
            which, h = open_[tried], size[tried]
            new_a, new_c = a[which] + h * da[tried], c[which] + h * dc[tried]
            new = rows.mean(new_a * t[:, which] + new_c)
            better = new <= value[which] - 1e-4 * h * promised[tried]
            done = which[better]
            a[done], c[done], value[done] = new_a[better], new_c[better], new[better]
            moved[tried[better]] = True
            size[tried] = 0.5 * h
        open_ = open_[moved]
    # 3) Whole steps where the value no longer decides, for gradients as small as rounding leaves.
    columns = np.arange(len(a))
    for _ in range(POLICY.final_steps):
        da, dc, promised = _step(rows, t, (a, c, low, high), free, columns)
        new_a, new_c = a + da, c + dc
        new = rows.mean(new_a * t + new_c)
        fine = (promised <= 1e-9 * (1e-3 + value)) & (new <= value + 1e-15 * (1e-3 + value))
        a, c, value = np.where(fine, new_a, a), np.where(fine, new_c, c), np.where(fine, new, value)
    slope = np.clip(a / spread, *slopes)
    return Lines(slope, c - a * middle / spread, value)


def _step(
    rows: LossRows,
    t: FloatArray,
    state: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    free: BoolArray,
    columns: np.ndarray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return Newton steps of slope and intercept, and what they promise, at some columns."""
    a, c, low, high = (values[columns] for values in state)
    z = a * t + c
    answers = np.broadcast_to(rows.answers, z.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        u = rows.share * rows.loss.gradient(z, answers)
        bend = rows.share * rows.loss.hessian(z, answers)
    g_a, g_c = (u * t).sum(axis=0), np.where(free[columns], u.sum(axis=0), 0.0)
    h_aa, h_ac, h_cc = (bend * t * t).sum(axis=0), (bend * t).sum(axis=0), bend.sum(axis=0)
    h_aa, h_cc = h_aa + POLICY.ridge, h_cc + POLICY.ridge
    loose = free[columns]
    with np.errstate(all="ignore"):
        determinant = np.maximum(h_aa * h_cc - h_ac * h_ac, POLICY.ridge * h_aa * h_cc)
        both = (h_ac * g_c - h_cc * g_a) / determinant
        da = np.where(loose, both, -g_a / h_aa)
        # a step beyond an end stops there, and the intercept follows
        da = np.clip(da, low - a, high - a)
        dc = np.where(loose, -(g_c + h_ac * da) / h_cc, 0.0)
        promised = -(g_a * da + g_c * dc)
    # no step where derivatives overflow
    known = np.isfinite(promised)
    da, dc, promised = (np.where(known, step, 0.0) for step in (da, dc, promised))
    return da, dc, promised
