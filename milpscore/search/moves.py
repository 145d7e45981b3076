"""Single changes of points: what they cost, all at once, and the searches that follow them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from milpscore.core.card import Card
from milpscore.core.clock import Clock
from milpscore.core.design import FloatArray, IntArray, as_fraction
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.statement import Statement, best_losses
from milpscore.losses import Hinge
from milpscore.penalties import L0
from milpscore.penalties.points import BlockTV, point_prices
from milpscore.search.points import (
    RoundedCard,
    allowed_start,
    changed,
    rounded_card,
    shifts_within,
)
from milpscore.search.policy import POLICY
from milpscore.verify import evaluate

HeldOrBest: TypeAlias = Literal["held", "best"]


def hinge_sweep(A: FloatArray, u: FloatArray, shifts: npt.ArrayLike) -> FloatArray:
    """Return sum_i max(0, u_i - shift_kj A_ij) for A (n, d), u (n,) and shifts (K, d): (K, d)."""
    # one pass over A, by blocks of rows that stay in the cache; the terms are not negative, so that
    # a small sum keeps its digits
    n, d = A.shape
    factors = -np.asarray(shifts, dtype=np.float64)
    sums = np.zeros(factors.shape)
    height = max(1, POLICY.block_entries // max(d, 1))
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
    """The objective of points and of every single change of them, until ``max_work`` totals."""

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
                f"{{intercept}} needs the hinge loss, not {loss.name} (of "
                f"{statement.formulation}): take 'best'",
                intercept="held",
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
        """Return the objective after adding ``shifts[k, j]`` to point j alone; inf: not allowed."""
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
        """Return the loss after each allowed change, infinite after the others; shape (K, p)."""
        losses = np.full(shifts.shape, np.inf)
        which, columns = np.nonzero(allowed)
        limited = self.statement.limits_errors
        chunk = max(1, POLICY.trial_entries // max(len(totals), 1))
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
    """Where a descent ended."""

    points: IntArray  # (p,)
    trace: list[float]  # the objective from the start on
    moves: list[tuple[int, int]]
    complete: bool  # False if it ended for lack of work


def descend(
    table: MoveTable,
    start: IntArray,
    shifts_from: Callable[[IntArray], IntArray],
    factor: float = 1.0,
) -> Descent:
    """Take the best single change while the objective falls below ``factor`` times itself."""
    # ``shifts_from`` gives the shifts (K, p) tried on points w (p,), 0 for none; of equal moves the
    # first of the K, then the first column, is taken
    w = start.copy()
    totals: FloatArray = table.rows.X @ w.astype(np.float64)
    trace, moves = [table.objective(w, totals)], []
    complete = not len(w)
    while not (complete or table.spent):
        shifts = shifts_from(w)
        found = table.moves(w, totals, shifts)
        k, j = (int(i) for i in np.unravel_index(int(np.argmin(found)), found.shape))
        value, noise = float(found[k, j]), POLICY.noise * max(1.0, abs(trace[-1]))
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
        chunk = max(1, POLICY.trial_entries // max(len(w), 1))
        for start in range(0, len(columns), chunk):
            part = which[start : start + chunk], columns[start : start + chunk]
            fine[part] = statement.allows(changed(w, part[1], shifts[part]))
    return fine


def _penalties(
    statement: Statement, w: IntArray, shifts: IntArray, allowed: npt.NDArray[np.bool_]
) -> FloatArray:
    """Return the penalty after each single change, 0 where it is not allowed; shape (K, p)."""
    after = w + shifts
    found = np.zeros(shifts.shape)
    for term in statement.penalties:
        if isinstance(term, L0):
            found += term.lam * (np.count_nonzero(w) - (w != 0) + (after != 0))
        elif (prices := point_prices(term, len(w))) is not None:
            found += prices @ np.abs(w) + prices * (np.abs(after) - np.abs(w))
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
        """Return the card of (w, b), shape (p + 1,)."""
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
        """Descend from coefficients w (p,) while one or two moves help: (w, b), the objective."""
        full, objectives = self.with_intercepts(w[None, :])
        v, best = full[0], float(objectives[0])
        for _ in range(POLICY.polish_steps):
            # of all moves those are evaluated of which a quadratic model promises most
            moves = self._allowed(v[:-1], self._moves(v[:-1]))
            if not len(moves) or not np.isfinite(best):
                break
            tried = moves[np.argsort(self._promise(v, moves), kind="stable")[: POLICY.tried_moves]]
            full, objectives = self.with_intercepts(v[:-1] + tried)
            k = int(objectives.argmin())
            if not objectives[k] < best - POLICY.noise * (1.0 + abs(best)):
                break
            v, best = full[k], float(objectives[k])
        return v, best

    def _promise(self, v: FloatArray, moves: FloatArray) -> FloatArray:
        """What a quadratic model, the intercept following, says each move changes."""
        _, gradient, hessian = self.loss.expansion(v)
        g, bend = gradient[:-1], hessian[:-1, :-1]
        if self.statement.intercept.kind != "zero" and hessian[-1, -1] > 0:
            cross = hessian[:-1, -1] / hessian[-1, -1]
            g = g - cross * gradient[-1]
            bend = bend - np.outer(cross, hessian[-1, :-1])
        return np.asarray(moves @ g + 0.5 * np.einsum("vi,vi->v", moves @ bend, moves))

    def _moves(self, w: FloatArray) -> FloatArray:
        """Single steps, pairs of them, and terms changing places; shape (V, p)."""
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
        return np.vstack([ones, ones[first[apart]] + ones[second[apart]], _exchanges(w)])

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


def coordinate_descent(
    statement: Statement,
    card: Card | None = None,
    *,
    max_sweeps: int = 50,
    max_work: float = math.inf,
    time_limit: float = math.inf,
    swaps: bool = True,
) -> Card:
    """Change one coefficient or swap two, the best intercept following, until nothing helps.

    Every allowed value of a coordinate is tried at once against all merged rows. Bins of one
    feature move together from a bin on, so that jumps appear and vanish one at a time.

    Parameters
    ----------
    statement : Statement
    card : Card, optional
        Where to start; default no points. Must meet the statement's requirements.
    max_sweeps : int
    max_work : float
        Most row totals to compute; the best card so far is returned. Unlike seconds it stops at
        the same card on every machine.
    time_limit : float
        Seconds.
    swaps : bool
        Exchange used terms for others where their number is limited and nothing else helps.

    Returns
    -------
    Card
        Never worse than ``card`` in the statement's objective; deterministic.
    """
    start = statement.empty_card() if card is None else card
    search = _CoordinateSearch(statement, start, max_work, Clock.of(time_limit))
    for _ in range(max_sweeps):
        improved = search.sweep()
        if not improved and not (swaps and search.swap()):
            break
        if search.spent:
            break
    # the search judges in floating point, and cuts only at totals: the exact figures decide
    found = search.card()
    reached, before = evaluate(statement, found), evaluate(statement, start)
    return found if reached.feasible and reached.objective < before.objective else start


class _CoordinateSearch:
    """The current coefficients with their totals on the merged rows."""

    def __init__(self, statement: Statement, card: Card, max_work: float, clock: Clock) -> None:
        self.statement = statement
        self.rows = rows = statement.design.merged
        self.work_left, self.clock = max_work, clock
        self.limited = statement.limits_errors
        self.coupled = bool(getattr(statement.loss, "coupled", False))
        self.directions = _directions(statement)
        self.sides = np.where(rows.y > 0, rows.weight, 0.0), np.where(rows.y < 0, rows.weight, 0.0)
        self.coded: dict[int, tuple[FloatArray, FloatArray, IntArray]] = {}
        self.objective = np.inf
        self.w = card.coefficients.copy()
        self.at = self._placed(rows.X @ self.w.astype(np.float64))
        losses = best_losses(statement, self.at[0][:, None], self.w[None, :])
        self.objective = float(losses[0]) + statement.penalty(self.w)

    @property
    def spent(self) -> bool:
        """Whether the allowed work is done, or the time is up."""
        return self.work_left <= 0 or self.clock.is_up

    def card(self) -> Card:
        """Return the current coefficients with their exact best intercept."""
        return self.statement.with_best_intercept(self.w)

    def sweep(self) -> bool:
        """Try every direction once; whether anything improved."""
        improved = False
        for k in range(len(self.directions)):
            if self.spent:
                break
            improved |= self._best_of(self.w, self.at, k)
        return improved

    def swap(self) -> bool:
        """Where terms are limited: take the best exchange of one used term for another."""
        limit = self.statement.max_terms
        binds = limit is not None and np.count_nonzero(self.w) >= limit
        if not binds and not self.statement.constraints:
            return False
        lower, upper = self.statement.ranges
        for j in np.flatnonzero((self.w != 0) & (lower <= 0) & (upper >= 0)):
            without = self.w.copy()
            without[j] = 0
            at = self._placed(self.at[0] - self.rows.X[:, j] * float(self.w[j]))
            for k, direction in enumerate(self.directions):
                if self.spent:
                    return False
                first = direction[0]
                if first != j and not without[first] and self._best_of(without, at, k):
                    return True
        return False

    def _placed(self, totals: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
        """Totals (m,), the distinct ones of them, and which of these each row has."""
        low, whole = totals.min(initial=0.0), np.rint(totals)
        span = totals.max(initial=0.0) - low
        if span <= len(totals) / POLICY.spread_rows and np.array_equal(whole, totals):
            return totals, low + np.arange(span + 1.0), (totals - low).astype(np.int64)
        return totals, *np.unique(totals, return_inverse=True)

    def _column(self, k: int) -> tuple[FloatArray, FloatArray, IntArray]:
        """What one step along a direction adds to each row, as totals are placed."""
        if k not in self.coded:
            self.coded[k] = self._placed(self.rows.X[:, self.directions[k]].sum(axis=1))
        return self.coded[k]

    def _best_of(self, w: IntArray, at: tuple[FloatArray, FloatArray, IntArray], k: int) -> bool:
        """Move along one direction from w to its best value, if that beats the current card."""
        direction = self.directions[k]
        lower, upper = self.statement.ranges
        low = int((lower[direction] - w[direction]).max())
        high = int((upper[direction] - w[direction]).min())
        shifts = shifts_within(low, high, -int(w[direction[0]]))
        shifts = shifts[shifts != 0]
        candidates = np.repeat(w[None, :], len(shifts), axis=0)
        candidates[:, direction] += shifts[:, None]
        allowed = self.statement.allows(candidates)
        shifts, candidates = shifts[allowed], candidates[allowed]
        if not len(shifts):
            return False
        penalties = penalties_of(self.statement, candidates)
        objectives = penalties + self._losses(at, k, shifts, candidates, penalties)
        best = int(np.argmin(objectives))
        if objectives[best] >= self.objective - POLICY.noise:
            return False
        self.w, self.objective = candidates[best], float(objectives[best])
        self.at = self._placed(at[0] + self._column(k)[0] * float(shifts[best]))
        return True

    def _losses(
        self,
        at: tuple[FloatArray, FloatArray, IntArray],
        k: int,
        shifts: IntArray,
        candidates: IntArray,
        penalties: FloatArray,
    ) -> FloatArray:
        """Loss of each shift along a direction, (V,), with its best intercept."""
        statement, (totals, levels, place) = self.statement, at
        column, values, code = self._column(k)
        cells = len(levels) * len(values)
        # rows of one total and one value of the column that moves are one row, if that is fewer
        if self.limited or self.coupled or 2 * cells > len(totals):
            work = POLICY.limited_work if self.limited else 1
            self.work_left -= work * totals.size * len(shifts)
            trial = totals[:, None] + column[:, None] * shifts
            return best_losses(statement, trial, candidates, self.objective - penalties)
        both = [np.bincount(place * len(values) + code, side, cells) for side in self.sides]
        used = [np.flatnonzero(side) for side in both]
        cell, y = np.concatenate(used), np.repeat([1, -1], [len(each) for each in used])
        weight = np.concatenate([side[each] for side, each in zip(both, used, strict=True)])
        self.work_left -= POLICY.move_totals + len(totals) + len(cell) * len(shifts)
        trial = levels[cell // len(values), None] + values[cell % len(values), None] * shifts
        rule: Any = statement.intercept
        return np.asarray(statement.loss.best_intercepts(trial, y, weight, rule)[1])


def penalties_of(statement: Statement, points: IntArray) -> FloatArray:
    """Return the penalty of each row of points (V, p); shape (V,)."""
    found = np.zeros(len(points))
    for term in statement.penalties:
        if isinstance(term, L0):
            found += term.lam * np.count_nonzero(points, axis=1)
        elif (prices := point_prices(term, points.shape[1])) is not None:
            found += np.abs(points) @ prices
        else:  # of the whole vector: blocks, norms
            found += np.array([term.value(w) for w in points])
    return found


def _directions(statement: Statement) -> list[IntArray]:
    """Single columns; inside blocks also all bins from one on (a jump of the total variation)."""
    lower, upper = statement.ranges
    free = lower < upper
    singles = [np.array([j]) for j in np.flatnonzero(free)]
    tails = []
    if any(isinstance(term, BlockTV) for term in statement.penalties):
        for block in statement.design.blocks:
            bins = np.array(block)
            tails += [bins[start:] for start in range(1, len(bins) - 1) if free[bins[start:]].all()]
    return [*tails, *singles]


def local_search(
    statement: Statement,
    *,
    eps: float = 0.0,
    intercept: HeldOrBest = "held",
    threshold: float = 0.0,
    max_work: float = math.inf,
) -> RoundedCard:
    r"""From no weights, the best Hamming-1 move while f falls below (1 - eps / d^2) f.

    Weights lie in {0,1}; ternary ones are binary on the doubled features (x, -x), d = 2p. Adding or
    removing either copy of a feature changes its weight by one, and the pair (1, 1) moves as (0, 0)
    does, so the doubled columns need not be made: the moves are :math:`w_j \pm 1`. The objective of
    all d moves is one pass over the matrix.

    What holds at the end: no single move brings the objective searched below (1 - eps/d^2) times
    its value; with ``eps=0`` the weights are a Hamming-1 minimum. No ratio to the optimum is
    promised: the printed Theorem 4 is a bound for maximisation and cannot hold for a minimum.

    Parameters
    ----------
    statement : Statement
        Whose coefficients are {0,1} throughout, or {-1,0,1} throughout.
    eps : float
        At least 0; the larger, the sooner the search ends.
    intercept : {"held", "best"}
        ``held`` is the paper's r-threshold class, under the hinge loss: every card has threshold r,
        and only the card returned gets the best allowed intercept. ``best`` gives each card that is
        tried its best allowed intercept, under any loss; it sorts a column of totals per move.
    threshold : float
        r, where it is held; -r must be an allowed intercept.
    max_work : float
        Most row totals to compute.

    Returns
    -------
    RoundedCard
        ``trace[k]`` is the objective after k moves, with the intercept searched under; it includes
        the statement's penalties. Moves the statement does not allow are left out; where it does
        not allow a card without weights, the search starts at a few that it does. Also ``moves``, a
        tuple of (column, +1 or -1); ``eps``; ``dimension``, d; ``intercept``; ``threshold``, the r
        held or NaN; ``supermodular``, whether the loss searched surely is: weights in {0,1}, every
        x >= 0, the intercept held, and no penalty or requirement; ``complete``, whether the search
        ended by its own rule, and not for lack of work.

    Raises
    ------
    OptionError
        For a negative ``eps``, or an intercept that is not allowed.
    NotApplicableError
        For other coefficient ranges, or a held intercept without the hinge loss.

    References
    ----------
    Chevaleyre, Koriche & Zucker (2013), Figure 6 (its n is d here, its d too). Proposition 3, that
    the loss is supermodular, holds for x >= 0 and weights in {0,1}: on doubled features it fails.
    Erratum: the number of iterations can exceed d, since a feature may enter and leave again.
    """
    if isinstance(eps, bool) or not (math.isfinite(eps) and eps >= 0):
        raise OptionError(f"eps must be a number >= 0, got {eps!r}")
    ends = zip(statement.coef_min.tolist(), statement.coef_max.tolist(), strict=True)
    ranges = set(ends)
    if ranges not in ({(0, 1)}, {(-1, 1)}):
        raise NotApplicableError(
            f"local search needs weights in {{0,1}} or in {{-1,0,1}}, {statement.formulation} has "
            f"ranges {sorted(ranges)[:3]}: state it with weights='binary' or 'ternary', or take "
            "coordinate_descent"
        )
    binary, p = ranges == {(0, 1)}, statement.design.shape[1]
    dimension = p if binary else 2 * p
    table = MoveTable(statement, intercept, threshold, max_work)
    found = descend(
        table,
        allowed_start(statement, np.zeros(p, dtype=np.int64)),
        _flips if binary else _flips_of_pairs,
        factor=1.0 - eps / max(dimension, 1) ** 2,
    )
    return rounded_card(
        "local_search", statement, found.points, found.points, found.trace,
        moves=tuple(found.moves), eps=float(eps), dimension=dimension, intercept=intercept,
        threshold=table.threshold, supermodular=binary and table.held and _plain(statement),
        complete=found.complete,
    )  # fmt: skip


def _flips(w: IntArray) -> IntArray:
    """Return the change of each binary weight, shape (1, p)."""
    return 1 - 2 * w[None, :]


def _flips_of_pairs(w: IntArray) -> IntArray:
    """Return the changes of each ternary weight by one copy of its feature, shape (2, p)."""
    return np.where(w == 0, np.array([[1], [-1]]), np.stack([-w, np.zeros_like(w)]))


def _plain(statement: Statement) -> bool:
    """Whether nothing but a hinge loss of non-negative features is minimised."""
    alone = statement.max_terms is None and not statement.constraints and not statement.coef_sets
    nothing = all(not getattr(term, "lam", 1.0) for term in statement.penalties)
    return alone and nothing and bool((statement.design.merged.X >= 0).all())
