"""All single changes of points at once: the objective of each, and the descent that takes one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.grid import as_fraction
from milpscore.core.statement import Statement, best_losses
from milpscore.losses import Hinge
from milpscore.penalties import L0, L1

HeldOrBest: TypeAlias = Literal["held", "best"]

IMPROVEMENT = 1e-12
"""A fall of the objective below this share of max(1, objective) is rounding noise, not a fall."""

_BLOCK = 1 << 16
"""Entries of the matrix swept at a time: they and as many results stay in the cache."""

_TRIALS = 4_000_000
"""Entries of the matrix of trial totals made at a time."""


def hinge_sweep(A: FloatArray, u: FloatArray, shifts: npt.ArrayLike) -> FloatArray:
    """sum_i max(0, u_i - shift_kj A_ij) of each column j and each of K shifts.

    One pass over A, by blocks of rows that stay in the cache, all columns of a block at once. The
    terms are non-negative, so that a small sum keeps its digits.

    Parameters
    ----------
    A : ndarray of shape (n, d), C-contiguous
    u : ndarray of shape (n,)
    shifts : array of shape (K, d)

    Returns
    -------
    ndarray of shape (K, d)
    """
    n, d = A.shape
    factors = -np.asarray(shifts, dtype=np.float64)
    sums = np.zeros(factors.shape)
    height = max(1, _BLOCK // max(d, 1))
    buffer = np.empty((height, d))
    for start in range(0, n, height):
        block, level = A[start : start + height], u[start : start + height, None]
        slack = buffer[: len(block)]
        for k, factor in enumerate(factors):
            np.multiply(block, factor, out=slack)
            slack += level
            np.maximum(slack, 0.0, out=slack)
            sums[k] += slack.sum(axis=0)
    return sums


class MoveTable:
    """The objective of points and of every single change of them.

    Parameters
    ----------
    statement : Statement
    intercept : {"held", "best"}
        Every card with the intercept ``-threshold``, or with its best allowed one.
    threshold : float
        The paper's r.
    max_work : float
        Row totals after which :attr:`spent` is true.

    Raises
    ------
    OptionError
        For an unknown ``intercept``, or a threshold the statement does not allow.
    NotApplicableError
        Where the intercept is held under another loss than the hinge.
    """

    def __init__(
        self, statement: Statement, intercept: HeldOrBest, threshold: float, max_work: float
    ) -> None:
        if intercept not in get_args(HeldOrBest):
            raise OptionError(f"intercept must be 'held' or 'best', got {intercept!r}")
        self.statement, self.held = statement, intercept == "held"
        self.rows = statement.design.merged
        self.work_left = max_work
        self.b = 0.0
        if not self.held:
            return
        loss, rule = statement.loss, statement.intercept
        if not isinstance(loss, Hinge):
            raise NotApplicableError(
                f"intercept='held' needs the hinge loss, not {loss.name} (of "
                f"{statement.formulation}): take intercept='best'"
            )
        exact = _intercept_of(threshold)
        if not rule.allows(exact):
            raise OptionError(
                f"threshold {threshold:g} means intercept {-threshold:g}, which is no allowed "
                f"{rule.kind} value in [{rule.lower}, {rule.upper}]: choose another, or take "
                "intercept='best'"
            )
        self.b, self.margin = float(exact), loss.margin
        self.share = self.rows.weight / (self.rows.weight.sum() * loss.margin)
        # the weights go into the matrix: they are not negative, so max(0, .) lets them through
        self.A = np.ascontiguousarray(self.rows.X * (self.share * self.rows.y)[:, None])

    @property
    def spent(self) -> bool:
        """Whether the allowed work is done."""
        return self.work_left <= 0

    def objective(self, w: IntArray, totals: FloatArray) -> float:
        """Objective of points w whose merged rows have these totals, shape (m,)."""
        if self.held:
            loss = float(np.maximum(self._slack(totals), 0.0).sum())
        else:
            loss = float(best_losses(self.statement, totals[:, None], w[None, :])[0])
        return loss + self.statement.penalty(w)

    def moves(self, w: IntArray, totals: FloatArray, shifts: IntArray) -> FloatArray:
        """Objective after adding ``shifts[k, j]`` to point j alone, shape (K, p).

        Infinite for a shift of 0 and wherever the statement does not allow the points.
        """
        allowed = allowed_moves(self.statement, w, shifts)
        if self.held:
            self.work_left -= shifts.size * len(totals)
            losses = hinge_sweep(self.A, self._slack(totals), shifts)
            losses[~allowed] = np.inf
        else:
            self.work_left -= int(allowed.sum()) * len(totals)
            losses = self._with_best_intercepts(w, totals, shifts, allowed)
        return losses + _penalties(self.statement, w, shifts, allowed)

    def _slack(self, totals: FloatArray) -> FloatArray:
        slack: FloatArray = self.share * (self.margin - self.rows.y * (totals + self.b))
        return slack

    def _with_best_intercepts(
        self, w: IntArray, totals: FloatArray, shifts: IntArray, allowed: npt.NDArray[np.bool_]
    ) -> FloatArray:
        losses = np.full(shifts.shape, np.inf)
        which, columns = np.nonzero(allowed)
        limited = any(each.limits_answers for each in self.statement.constraints)
        chunk = max(1, _TRIALS // max(len(totals), 1))
        for start in range(0, len(columns), chunk):
            k, j = which[start : start + chunk], columns[start : start + chunk]
            by = shifts[k, j]
            trial = totals[:, None] + self.rows.X[:, j] * by
            # only limits on errors look at the points themselves
            points = _changed(w, j, by) if limited else np.broadcast_to(w, (len(j), len(w)))
            losses[k, j] = best_losses(self.statement, trial, points)
        return losses


@dataclass(frozen=True, eq=False)
class Descent:
    """Where a descent ended.

    Attributes
    ----------
    points : ndarray of int64, shape (p,)
    trace : list of float
        The objective at the start and after each move.
    moves : list of (column, shift)
    complete : bool
        Whether it ended because no move falls far enough, and not for lack of work.
    """

    points: IntArray
    trace: list[float]
    moves: list[tuple[int, int]]
    complete: bool


def descend(
    table: MoveTable,
    start: IntArray,
    shifts_from: Callable[[IntArray], IntArray],
    factor: float = 1.0,
) -> Descent:
    """Take the best single change while the objective falls below ``factor`` times itself.

    Parameters
    ----------
    table : MoveTable
    start : ndarray of int64, shape (p,)
    shifts_from : w -> ndarray of int64, shape (K, p)
        The shifts tried on points w; 0 for none.
    factor : float
        At most 1.

    Returns
    -------
    Descent
        Of equal moves the first of the K, then the first column, is taken.
    """
    w = start.copy()
    totals: FloatArray = table.rows.X @ w.astype(np.float64)
    trace, moves = [table.objective(w, totals)], []
    complete = not len(w)
    while not (complete or table.spent):
        shifts = shifts_from(w)
        found = table.moves(w, totals, shifts)
        k, j = (int(i) for i in np.unravel_index(int(np.argmin(found)), found.shape))
        value, noise = float(found[k, j]), IMPROVEMENT * max(1.0, abs(trace[-1]))
        complete = not value < factor * trace[-1] - noise
        if complete:
            break
        by = int(shifts[k, j])
        w[j] += by
        totals = totals + table.rows.X[:, j] * by
        trace.append(value)
        moves.append((j, by))
    return Descent(w, trace, moves, complete)


def allowed_moves(statement: Statement, w: IntArray, shifts: IntArray) -> npt.NDArray[np.bool_]:
    """Which single changes lead to points the statement allows, limits on errors aside; (K, p)."""
    lower, upper = statement.ranges
    after = w + shifts
    fine: npt.NDArray[np.bool_] = (shifts != 0) & (after >= lower) & (after <= upper)
    for j, values in statement.coef_sets.items():
        fine[:, j] &= np.isin(after[:, j], values)
    if statement.max_terms is not None:
        terms = np.count_nonzero(w) - (w != 0) + (after != 0)
        fine &= terms <= statement.max_terms
    if statement.constraints:
        which, columns = np.nonzero(fine)
        chunk = max(1, _TRIALS // max(len(w), 1))
        for start in range(0, len(columns), chunk):
            part = which[start : start + chunk], columns[start : start + chunk]
            fine[part] = statement.allows(_changed(w, part[1], shifts[part]))
    return fine


def _penalties(
    statement: Statement, w: IntArray, shifts: IntArray, allowed: npt.NDArray[np.bool_]
) -> FloatArray:
    """The penalty after each single change, 0 where it is not allowed; shape (K, p)."""
    after = w + shifts
    found = np.zeros(shifts.shape)
    for term in statement.penalties:
        if isinstance(term, L0):
            found += term.lam * (np.count_nonzero(w) - (w != 0) + (after != 0))
        elif isinstance(term, L1):
            found += term.lam * (np.abs(w).sum() - np.abs(w) + np.abs(after))
        else:
            # a penalty of the whole vector (blocks, norms) is asked for each of them
            which, columns = np.nonzero(allowed)
            moves = zip(columns.tolist(), shifts[which, columns].tolist(), strict=True)
            found[which, columns] += [term.value(_with(w, j, by)) for j, by in moves]
    return found


def _changed(w: IntArray, columns: IntArray, shifts: IntArray) -> IntArray:
    """w with one point changed a row, shape (V, p)."""
    points = np.repeat(w[None, :], len(columns), axis=0)
    points[np.arange(len(columns)), columns] += shifts
    return points


def _with(w: IntArray, column: int, shift: int) -> IntArray:
    """w with one point changed, shape (p,)."""
    changed = w.copy()
    changed[column] += shift
    return changed


def _intercept_of(threshold: float) -> Fraction:
    """b = -r."""
    if not np.isfinite(threshold):
        raise OptionError(f"threshold must be a finite number, got {threshold!r}")
    return -as_fraction(threshold)
