"""The vectorised neighbourhood: the objective of every small change of points at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from milpscore.core.card import Card
from milpscore.core.design import FloatArray, IntArray, as_fraction
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.statement import Statement, best_losses
from milpscore.losses import Hinge
from milpscore.penalties import L0, L1
from milpscore.search.points import changed

HeldOrBest: TypeAlias = Literal["held", "best"]

IMPROVEMENT = 1e-12
"""A fall of the objective below this share of max(1, objective) is rounding noise, not a fall."""

_BLOCK = 1 << 16
"""Entries of the matrix swept at a time: they and as many results stay in the cache."""

_TRIALS = 4_000_000
"""Entries of the matrix of trial totals made at a time."""

_TRIED = 24
"""Neighbours evaluated at each step of a polish, the most promising of the quadratic model."""

_STEPS = 200


def hinge_sweep(A: FloatArray, u: FloatArray, shifts: npt.ArrayLike) -> FloatArray:
    """sum_i max(0, u_i - shift_kj A_ij) for A (n, d), u (n,) and shifts (K, d); shape (K, d).

    One pass over A, by blocks of rows that stay in the cache, all columns of a block at once. The
    terms are non-negative, so that a small sum keeps its digits.
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

    Each card has the intercept ``-threshold`` ("held", hinge loss only) or its best allowed one
    ("best"); after ``max_work`` row totals `spent` is true.
    """

    def __init__(
        self, statement: Statement, intercept: HeldOrBest, threshold: float, max_work: float
    ) -> None:
        if intercept not in get_args(HeldOrBest):
            raise OptionError(f"intercept must be 'held' or 'best', got {intercept!r}")
        self.statement, self.held = statement, intercept == "held"
        self.rows = statement.design.merged
        self.work_left = max_work
        self.threshold = float("nan")
        if not self.held:
            return
        loss, exact = statement.loss, _held_intercept(statement, threshold)
        if not isinstance(loss, Hinge):
            raise NotApplicableError(
                f"intercept='held' needs the hinge loss, not {loss.name} (of "
                f"{statement.formulation}): take intercept='best'"
            )
        self.b, self.margin, self.threshold = float(exact), loss.margin, -float(exact)
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
        """s_i (margin - y_i (total_i + b)) of each row, shape (m,)."""
        slack: FloatArray = self.share * (self.margin - self.rows.y * (totals + self.b))
        return slack

    def _with_best_intercepts(
        self, w: IntArray, totals: FloatArray, shifts: IntArray, allowed: npt.NDArray[np.bool_]
    ) -> FloatArray:
        """The loss after each allowed change, infinite after the others; shape (K, p)."""
        losses = np.full(shifts.shape, np.inf)
        which, columns = np.nonzero(allowed)
        limited = any(each.limits_answers for each in self.statement.constraints)
        chunk = max(1, _TRIALS // max(len(totals), 1))
        for start in range(0, len(columns), chunk):
            k, j = which[start : start + chunk], columns[start : start + chunk]
            by = shifts[k, j]
            trial = totals[:, None] + self.rows.X[:, j] * by
            # only limits on errors look at the points themselves
            points = changed(w, j, by) if limited else np.broadcast_to(w, (len(j), len(w)))
            losses[k, j] = best_losses(self.statement, trial, points)
        return losses


def _held_intercept(statement: Statement, threshold: float) -> Fraction:
    """b = -threshold, refused where the statement does not allow it."""
    rule = statement.intercept
    if not np.isfinite(threshold):
        raise OptionError(f"threshold must be a finite number, got {threshold!r}")
    exact = -as_fraction(threshold)
    if not rule.allows(exact):
        raise OptionError(
            f"threshold {threshold:g} means intercept {-threshold:g}, which is not an allowed "
            f"{rule.kind} value in [{rule.lower}, {rule.upper}]: choose another, or take "
            "intercept='best'"
        )
    return exact


@dataclass(frozen=True, eq=False)
class Descent:
    """Where a descent ended: ``points`` (p,), the objective from the start on, its moves.

    ``complete`` is false where it ended for lack of work.
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

    ``shifts_from`` gives the shifts (K, p) tried on points w (p,), 0 for none. Of equal moves the
    first of the K, then the first column, is taken.
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
            fine[part] = statement.allows(changed(w, part[1], shifts[part]))
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
            for k, j in np.argwhere(allowed).tolist():
                moved = w.copy()
                moved[j] = after[k, j]
                found[k, j] += term.value(moved)
    return found


class MeanLoss(Protocol):
    """The mean loss over the merged rows as a function of v = (w, b), shape (p + 1,)."""

    def values(self, points: FloatArray) -> FloatArray:
        """Mean losses of several points, shape (V, p + 1)."""
        ...

    def expansion(self, v: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Value, gradient (p + 1,) and Hessian (p + 1, p + 1) at v."""
        ...


class Neighbourhood:
    """Points one or two moves from a point; a move is one step of one coefficient."""

    def __init__(self, statement: Statement, loss: MeanLoss) -> None:
        self.statement, self.loss = statement, loss
        self.rows = statement.design.merged
        self.sorted = {j: np.array(v, np.float64) for j, v in statement.coef_sets.items()}

    def nearest(self, w: FloatArray) -> FloatArray:
        """The allowed coefficients nearest to real ones, shape (p,); max_terms may be broken."""
        whole = np.clip(np.rint(w), self.statement.coef_min, self.statement.coef_max) + 0.0
        for j, values in self.sorted.items():
            whole[j] = values[int(np.abs(values - w[j]).argmin())]
        return whole

    def whole(self, v: FloatArray) -> FloatArray:
        """(w, b), shape (p + 1,), with whole coefficients and an intercept on its grid."""
        rule = self.statement.intercept
        last = float(rule.nearest(float(v[-1]))) if rule.step is not None else v[-1]
        return np.append(np.rint(v[:-1]) + 0.0, last)

    def card(self, v: FloatArray) -> Card:
        """The card of (w, b), shape (p + 1,)."""
        intercept = self.statement.intercept.nearest(float(v[-1]))
        return Card(np.rint(v[:-1]).astype(np.int64), intercept)

    def with_intercepts(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(w, b), shape (V, p + 1), with the best intercept of each row (V, p); the objectives."""
        rows, loss = self.rows, self.statement.loss
        rule: Any = self.statement.intercept
        with np.errstate(over="ignore", invalid="ignore"):
            best, _ = loss.best_intercepts(rows.X @ points.T, rows.y, rows.weight, rule)
        full = np.column_stack([points, best])
        penalty = np.array([self.statement.penalty(w) for w in points])
        return full, self.loss.values(full) + penalty

    def polish(self, w: FloatArray) -> tuple[FloatArray, float]:
        """Descend from coefficients w, shape (p,), while one or two moves help: (w, b), objective.

        Of the moves those of which a quadratic model promises most are evaluated.
        """
        full, objectives = self.with_intercepts(w[None, :])
        v, best = full[0], float(objectives[0])
        for _ in range(_STEPS):
            moves = self._allowed(v[:-1], self._moves(v[:-1], swaps=True))
            if not len(moves) or not np.isfinite(best):
                break
            tried = moves[np.argsort(self._promise(v, moves), kind="stable")[:_TRIED]]
            full, objectives = self.with_intercepts(v[:-1] + tried)
            k = int(objectives.argmin())
            if not objectives[k] < best - IMPROVEMENT * (1.0 + abs(best)):
                break
            v, best = full[k], float(objectives[k])
        return v, best

    def around(self, v: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """Allowed points one or two moves from v, shape (V, p + 1), the intercept's included.

        They stay between ``low`` and ``high``, shape (p + 1,) as v is.
        """
        w = v[:-1]
        moves = np.vstack([np.zeros_like(w)[None, :], self._moves(w, swaps=False)])
        moves = self._allowed(w, moves)
        step = self.statement.intercept.step
        parts = [np.column_stack([moves, np.zeros(len(moves))])]
        if step is not None:
            few = moves[np.count_nonzero(moves, axis=1) < 2]
            for shift in (-float(step), float(step)):
                parts.append(np.column_stack([few, np.full(len(few), shift)]))
        points = v + np.vstack(parts)[1:]
        return np.asarray(points[np.all((points >= low) & (points <= high), axis=1)])

    def _promise(self, v: FloatArray, moves: FloatArray) -> FloatArray:
        """What a quadratic model, the intercept following, says each move changes."""
        _, gradient, hessian = self.loss.expansion(v)
        g, bend = gradient[:-1], hessian[:-1, :-1]
        if self.statement.intercept.kind != "zero" and hessian[-1, -1] > 0:
            cross = hessian[:-1, -1] / hessian[-1, -1]
            g = g - cross * gradient[-1]
            bend = bend - np.outer(cross, hessian[-1, :-1])
        return np.asarray(moves @ g + 0.5 * np.einsum("vi,vi->v", moves @ bend, moves))

    def _moves(self, w: FloatArray, *, swaps: bool) -> FloatArray:
        """Single steps, pairs of them and, with ``swaps``, terms changing places; shape (V, p)."""
        p = len(w)
        single = []
        for sign in (-1.0, 1.0):
            steps = np.full(p, sign)
            for j, values in self.sorted.items():
                further = values[(values - w[j]) * sign > 0]
                steps[j] = (further[0] if sign > 0 else further[-1]) - w[j] if len(further) else 0
            single.append(np.diag(steps))
        ones = np.vstack(single)
        first, second = np.triu_indices(len(ones), 1)
        apart = first % p != second % p if p else first != second
        parts = [ones, ones[first[apart]] + ones[second[apart]]]
        if swaps:
            parts.append(_exchanges(w))
        return np.vstack(parts)

    def _allowed(self, w: FloatArray, moves: FloatArray) -> FloatArray:
        """The moves that keep to ranges, sets, terms, and constraints but limits on errors."""
        points = np.rint(w + moves).astype(np.int64)
        return np.asarray(moves[self.statement.allows(points)])


def _exchanges(w: FloatArray) -> FloatArray:
    """Every used coefficient to 0, alone or in exchange for another of its size; shape (V, p)."""
    parts = []
    unused = np.flatnonzero(w == 0)
    for j in np.flatnonzero(w):
        dropped = np.zeros_like(w)
        dropped[j] = -w[j]
        parts.append(dropped[None, :])
        for size in {1.0, abs(float(w[j]))}:
            for sign in (-size, size):
                placed = np.tile(dropped, (len(unused), 1))
                placed[np.arange(len(unused)), unused] = sign
                parts.append(placed)
    return np.vstack(parts) if parts else np.empty((0, len(w)))
