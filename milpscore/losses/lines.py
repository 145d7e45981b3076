"""The best slope and intercept of given totals under a smooth loss, many cards at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from milpscore.core.design import BoolArray, FloatArray, IntArray
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


class LossOfScores(Protocol):
    """The mean loss of rows as a function of their scores z, of shape (n,) or (n, V)."""

    def mean(self, z: FloatArray) -> Any:
        """Return the mean, a number or (V,); infinite where it overflows."""

    def terms(self, z: FloatArray) -> FloatArray:
        """Return what the mean at scores (n,) is the sum of; their sizes bound its rounding."""

    def pull(self, z: FloatArray) -> FloatArray:
        """Return the derivative of the mean in z, shape of z."""

    def size(self, z: FloatArray) -> float:
        """Return the sum of the sizes of what the derivative at z (n,) is computed from."""

    def bend(self, z: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Return (h, C): the second derivative at z (n,) is diag(h) - C C', or diag(h) alone."""

    def along(self, z: FloatArray, t: FloatArray) -> tuple[FloatArray, ...]:
        """Return five derivatives at z + a t + c, (n, V), per column: a, c, a a, a c, c c."""

    def centre(self, totals: FloatArray) -> FloatArray:
        """Return the totals' means, (V,): near them an intercept hardly moves the slope."""

    def merged(self, labels: IntArray, first: IntArray) -> LossOfScores:
        """Return the same of groups of rows, of which ``first`` holds one each."""

    def at_rows(self, merged: Any, z: FloatArray, labels: IntArray) -> FloatArray:
        """Return the derivative in these rows' scores, those of their groups being z."""


class LossRows(NamedTuple):
    """Rows of a loss that each lose by their own score: weights that sum to 1, and answers, (n,).

    It is a :class:`LossOfScores`.
    """

    loss: SmoothLoss
    share: FloatArray
    answers: FloatArray

    def _wide(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return shares and answers in the shape of z."""
        if z.ndim == 1:
            return self.share, self.answers
        return self.share[:, None], np.broadcast_to(self.answers[:, None], z.shape)

    def mean(self, z: FloatArray) -> Any:
        """Return mean losses of scores of shape (n,) or (n, V); infinite where they overflow."""
        share, answers = self._wide(z)
        values = self.loss.value(z, answers)
        if z.ndim == 1:
            return float(share @ values)
        with np.errstate(invalid="ignore", over="ignore"):
            means = (share * values).sum(axis=0)
        return np.where(np.isnan(means), np.inf, means)

    def terms(self, z: FloatArray) -> FloatArray:
        """Return row losses times their shares, (n,)."""
        return np.asarray(self.share * self.loss.value(z, self.answers))

    def pull(self, z: FloatArray) -> FloatArray:
        """Return the derivative of the mean."""
        share, answers = self._wide(z)
        return np.asarray(share * self.loss.gradient(z, answers))

    def size(self, z: FloatArray) -> float:
        """Return the sum of the sizes of the derivatives."""
        return float(np.abs(self.pull(z)).sum())

    def bend(self, z: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Return the second derivatives, each row's own."""
        return np.asarray(self.share * self.loss.hessian(z, self.answers)), None

    def along(self, z: FloatArray, t: FloatArray) -> tuple[FloatArray, ...]:
        """Return first and second derivatives along slope and intercept."""
        share, answers = self._wide(z)
        with np.errstate(over="ignore", invalid="ignore"):
            u = share * self.loss.gradient(z, answers)
            bend = share * self.loss.hessian(z, answers)
            return (
                (u * t).sum(axis=0), u.sum(axis=0),
                (bend * t * t).sum(axis=0), (bend * t).sum(axis=0), bend.sum(axis=0),
            )  # fmt: skip

    def centre(self, totals: FloatArray) -> FloatArray:
        """Return the weighted means of totals (n, V)."""
        return np.asarray((self.share[:, None] * totals).sum(axis=0))

    def merged(self, labels: IntArray, first: IntArray) -> LossRows:
        """Return the rows merged to groups, whose answers are those of ``first``."""
        share = np.bincount(labels, weights=self.share).astype(np.float64)
        return LossRows(self.loss, share, self.answers[first])

    def at_rows(self, merged: LossRows, z: FloatArray, labels: IntArray) -> FloatArray:
        """Return the derivative in these rows' scores, those of their groups being z."""
        return np.asarray(self.share * self.loss.gradient(z, merged.answers)[labels])


def best_lines(
    rows: LossOfScores,
    totals: FloatArray,
    slopes: tuple[float, float],
    thresholds: tuple[float, float],
    charges: FloatArray | None = None,
) -> Lines:
    """Minimise the mean loss of s * total + c over s within ``slopes``, c / s in ``thresholds``."""
    # The feasible (s, c) are a cone cut by two lines, so that a minimiser beyond one of its sides
    # is one on that side. With ``charges`` (V,), what each column costs beside, only the cheapest
    # column is wanted: those that promise too little to be it are left early, above their least.
    if thresholds[0] == thresholds[1]:
        held = np.zeros(totals.shape[1], np.bool_)
        slope, _, losses = _newton(rows, totals + thresholds[0], slopes, held, charges)
        return Lines(slope, slope * thresholds[0], losses)
    lines = _newton(rows, totals, slopes, np.ones(totals.shape[1], np.bool_), charges)
    for end, sign in zip(thresholds, (1.0, -1.0), strict=True):
        beyond = np.flatnonzero(sign * (end * lines.slopes - lines.intercepts) > 0.0)
        if len(beyond):
            fixed = _newton(rows, totals[:, beyond] + end, slopes, np.zeros(len(beyond), np.bool_))
            lines.slopes[beyond], lines.losses[beyond] = fixed.slopes, fixed.losses
            lines.intercepts[beyond] = fixed.slopes * end
    return lines


def held_slopes(rows: LossOfScores, scores: FloatArray, slopes: tuple[float, float]) -> FloatArray:
    """Return per column the s within ``slopes`` of least mean loss of s * score, (V,)."""
    return _newton(rows, scores, slopes, np.zeros(scores.shape[1], np.bool_)).slopes


def _newton(
    rows: LossOfScores,
    totals: FloatArray,
    slopes: tuple[float, float],
    free: BoolArray,
    charges: FloatArray | None = None,
) -> Lines:
    """Minimise by Newton's method with halved steps; c is 0 where not ``free``."""
    # 1) Start from centred and scaled totals: slope and intercept hardly move each other.
    middle = np.where(free, rows.centre(totals), 0.0)
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
    rows: LossOfScores,
    t: FloatArray,
    state: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    free: BoolArray,
    columns: np.ndarray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return Newton steps of slope and intercept, and what they promise, at some columns."""
    a, c, low, high = (values[columns] for values in state)
    z = a * t + c
    g_a, g_c, h_aa, h_ac, h_cc = rows.along(z, t)
    g_c = np.where(free[columns], g_c, 0.0)
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
