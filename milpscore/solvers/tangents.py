"""Tangents of a loss and a norm, and the master that holds them inside one HiGHS."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import highspy
import numpy as np
from scipy import sparse

from milpscore.core.card import Card
from milpscore.core.design import FloatArray
from milpscore.core.result import Termination
from milpscore.core.statement import Statement
from milpscore.losses.lines import LossOfScores
from milpscore.solvers.engine import Outcome, Progress
from milpscore.solvers.options import Options
from milpscore.solvers.policy import POLICY
from milpscore.solvers.running import (
    Watch,
    configure,
    highs_of,
    is_feasible,
    limit_run,
    run_here,
    run_watched,
    set_integrality,
    set_option,
    termination_of,
)
from milpscore.solvers.session import Session


@dataclass(frozen=True)
class Tangent:
    """term(v) >= gradient . v + constant, rounding included, at every v = (w, b) in the ranges."""

    gradient: FloatArray
    constant: float
    at: FloatArray  # where it touches

    def without_tiny(self, most: float, reach: FloatArray) -> Tangent:
        """Return it without entries of up to ``most``, lower by what they are worth at most."""
        tiny = np.abs(self.gradient) <= most
        lost = float(np.abs(self.gradient[tiny]) @ np.maximum(reach[tiny], 1.0))
        gradient = np.where(tiny, 0.0, self.gradient)
        return replace(self, gradient=gradient, constant=self.constant - lost)


class LossCurve:
    """The mean of a ``RiskLoss`` over merged rows, by other weights for a group of them.

    It is a function of (w, b), which stands for the score's own, slope times points and intercept,
    if the scale is free.
    """

    def __init__(self, statement: Statement, group: FloatArray | None = None) -> None:
        rows = statement.design.merged
        loss: Any = statement.loss
        scales = statement.scales
        X, y, weight = rows.X, rows.y, rows.weight
        if group is not None:
            X, y, weight = X[group > 0], y[group > 0], group[group > 0]
        self.X = np.column_stack([X, np.ones(len(y))])
        if scales is None:
            self.X /= float(loss.fixed)
        self.rows: LossOfScores = loss.mean_rows(y, weight)
        rule = statement.intercept
        ends = np.maximum(np.abs(statement.coef_min), np.abs(statement.coef_max))
        self.reach = np.append(
            ends.astype(np.float64), max(abs(float(rule.lower)), abs(float(rule.upper)))
        )
        if scales is not None:
            self.reach /= scales.lower
        # the largest score a row can have within the ranges
        self._far = np.abs(self.X) @ self.reach

    def value(self, v: FloatArray) -> float:
        """Mean loss at v, shape (p + 1,)."""
        return self.of_scores(self.X @ v)

    def of_scores(self, z: FloatArray) -> float:
        """Mean loss of row scores z, shape (m,)."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean = float(self.rows.mean(z))
        return np.inf if np.isnan(mean) else mean

    def values(self, points: FloatArray) -> FloatArray:
        """Mean losses of several points, shape (V, p + 1)."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(self.rows.mean(self.X @ points.T))

    def tangent(self, v: FloatArray) -> Tangent | None:
        """The tangent at v, shape (p + 1,)."""
        # each row's tangent in its score is taken at the score as computed, so that only the sums
        # round: by at most (m + 20) units of the last place of the sums of sizes, within the reach
        z = self.X @ v
        with np.errstate(over="ignore", invalid="ignore"):
            value, slope = self.rows.terms(z), self.rows.pull(z)
            gradient = slope @ self.X
            constant = float(value.sum() - (slope * z).sum())
            far = float((np.abs(z) + self._far).max(initial=0.0))
            sizes = float(np.abs(value).sum()) + self.rows.size(z) * far
        if not np.isfinite(sizes):
            return None
        rounding = (len(z) + 20) * float(np.finfo(np.float64).eps) * sizes
        return Tangent(gradient, constant - rounding, v.copy())

    def expansion(self, v: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Value, gradient (p + 1,) and Hessian (p + 1, p + 1) at v."""
        z = self.X @ v
        with np.errstate(over="ignore", invalid="ignore"):
            value = float(self.rows.mean(z))
            gradient = self.rows.pull(z) @ self.X
            bend, shared = self.rows.bend(z)
            hessian = self.X.T @ (bend[:, None] * self.X)
            if shared is not None:
                common = self.X.T @ shared
                hessian -= common @ common.T
        return value, gradient, hessian

    def minimiser(self, low: FloatArray, high: FloatArray, start: FloatArray) -> FloatArray:
        """The real point of least mean loss between ``low`` and ``high``, by projected Newton."""
        # a tangent is valid wherever it is taken: nothing rests on the last digits
        v = np.clip(start, low, high)
        value, gradient, hessian = self.expansion(v)
        damping = 1e-10
        for _ in range(POLICY.newton_steps):
            held = ((v <= low) & (gradient >= 0)) | ((v >= high) & (gradient <= 0))
            free = np.flatnonzero(~held & (low < high))
            if not len(free) or not np.abs(gradient[free]).max() > 1e-10 * (1.0 + abs(value)):
                break
            # a damped Newton step of the free coefficients, clipped to the ranges
            bend = hessian[np.ix_(free, free)]
            ridge = damping * (np.diag(bend) + np.diag(bend).max() + 1e-12)
            moved = v.copy()
            moved[free] -= np.linalg.solve(bend + np.diag(ridge), gradient[free])
            moved = np.clip(moved, low, high)
            found = self.value(moved)
            if not found < value:
                damping *= 100.0
                if damping > 1e6:
                    break
                continue
            gained, damping = value - found, max(damping / 100.0, 1e-10)
            v = moved
            value, gradient, hessian = self.expansion(v)
            if gained <= 1e-13 * (1.0 + abs(value)):
                break
        return v


def vector_of(card: Card) -> FloatArray:
    """(w, b) of a card, in units of the score where it has a scale of its own; shape (p + 1,)."""
    v = np.append(card.coefficients.astype(np.float64), float(card.intercept))
    return v if card.scale is None else np.asarray(v / float(card.scale))


class NormCurve:
    """A norm of the coefficients, a penalty of weight 1; the intercept is left out."""

    def __init__(self, norm: Any) -> None:
        self.norm = norm

    def value(self, v: FloatArray) -> float:
        """The norm of the coefficients of v, shape (p + 1,)."""
        return float(self.norm.value(v[:-1]))

    def tangent(self, v: FloatArray) -> Tangent | None:
        """A supporting hyperplane at v, through 0 as every norm's is."""
        # norm(w) >= z . w wherever z lies in the dual ball: the slope at v, found by differences,
        # is shrunk into it, so that its error costs tightness alone
        w = v[:-1].astype(np.float64)
        if not w.any():
            return None
        slope = np.zeros_like(w)
        for j in np.flatnonzero(w):
            step = np.zeros_like(w)
            step[j] = POLICY.derivative_step * abs(w[j])
            slope[j] = (self.norm.value(w + step) - self.norm.value(w - step)) / (2 * step[j])
        inside = (1.0 - 1e-12) * self.norm.dual_scale(slope)
        return Tangent(np.append(inside * slope, 0.0), 0.0, v.copy())


OWN_LEVEL = 0.5 * POLICY.own_rounding * POLICY.scaled_objective / POLICY.hidden_tolerance
"""Size of an objective of a user's own, which may be 0: tolerances hide less than is rounded."""


class TimeIsUpError(Exception):
    """The time limit was reached inside a linear program; caught by the search."""


@dataclass(frozen=True)
class Cut:
    """A tangent of one of the curves, as a row: height - entries . v >= constant."""

    curve: int
    tangent: Tangent
    kind: str  # "point", "support" (the best one's), which stay; or "path"
    entries: FloatArray
    constant: float  # with the fixed points' share

    @property
    def key(self) -> tuple[int, bytes]:
        """The curve and the point: what is the same tangent."""
        return self.curve, self.tangent.at.tobytes()


class Master:
    """A session's rows, the tangents found so far, and a cutoff row, in a HiGHS of their own."""

    def __init__(self, session: Session, options: Options, level: float) -> None:
        self.session, self.options = session, options
        model, statement = session.program.model, session.program.statement
        self.loss = LossCurve(statement)
        self.curves: list[LossCurve | NormCurve] = [self.loss]
        heights, self.lists = [model.eta], [model.cuts]
        if model.component("norm") is not None:
            term: Any = next(t for t in statement.penalties if hasattr(t, "make"))
            self.curves.append(NormCurve(term.make(1.0)))
            heights, self.lists = [*heights, model.norm], [*self.lists, model.norm_cuts]
        for group in session.program.groups:
            self.curves.append(LossCurve(statement, group))
            heights, self.lists = [*heights, model.worst], [*self.lists, model.worst_cuts]
        self.heights = heights
        scaled = statement.scales is not None
        weights, intercept = (model.v, model.c) if scaled else (model.w, model.b)
        self.points = [*(weights[j] for j in model.J), intercept]
        wanted = {id(var): var for var in [*self.points, *heights] if not var.fixed}
        session.include(list(wanted.values()))
        # columns of (w, b) and of the curves' heights, -1 for those that are fixed
        self.where, self.top = (
            np.array([-1 if v.fixed else session.position(v) for v in each], dtype=np.int32)
            for each in (self.points, heights)
        )
        # what no row and no cost speaks of needs no tangents
        spoken = (session.cost != 0) | (np.diff(session.matrix.indptr) > 0)
        self.bounded = (self.top >= 0) & spoken[self.top]
        self.fixed = np.array([v.value if v.fixed else 0.0 for v in self.points], dtype=np.float64)
        # the ranges of (w, b), shape (p + 1,)
        self.low = np.where(self.where >= 0, session.col_lower[self.where], self.fixed)
        self.high = np.where(self.where >= 0, session.col_upper[self.where], self.fixed)
        self.cuts: list[Cut] = []  # in the order of HiGHS's rows after the session's own
        self.held = set(session.tangents)  # the keys of all tangents among its rows
        self.overflowed = False  # a tangent was out of reach: what is empty proves nothing
        # tangents beyond the loss ``ceiling`` are drawn in towards the anchor
        self.anchor = np.clip(np.zeros(len(self.low)), self.low, self.high)
        self.ceiling = math.inf
        self.factor = 2.0 ** round(math.log2(POLICY.scaled_objective / max(level, 1e-9)))
        # x = unit * x': every curve's variable costs 1 in the scaled objective
        self.unit = np.ones(len(session.columns))
        for top in self.top[self.top >= 0]:
            cost = session.cost[top] * self.factor
            self.unit[top] = 1.0 / 2.0 ** round(math.log2(cost)) if cost > 0 else 1.0
        self.cost = session.cost * self.factor * self.unit
        self.highs = self._loaded()
        self.rows = session.matrix.shape[0] + 1  # the cutoff row is the last that is not a tangent

    def _loaded(self) -> Any:
        """The session's rows, its columns in units of their own, and a free cutoff row."""
        session, unit = self.session, self.unit
        matrix = sparse.vstack([session.matrix * unit[None, :], self.cost[None, :]])
        columns = session.col_lower / unit, session.col_upper / unit
        rows = np.append(session.row_lower, -np.inf), np.append(session.row_upper, np.inf)
        cost = self.cost, session.offset * self.factor
        highs = highs_of(sparse.csc_array(matrix), cost, columns, rows)
        configure(highs, self.options, 0.1 * POLICY.hidden_tolerance, 0.1 * POLICY.hidden_tolerance)
        if self.options.log_file is not None or self.options.verbose:
            set_option(highs, "output_flag", True)
            set_option(highs, "log_file", self.options.log_file or "")
        # ranges are tightened here, cards polished here, and a round ends in a proof or in points:
        # HiGHS's presolve, its heuristics, and cuts below the root cost half of a round and spare
        # no other (measured on mammo)
        unwanted = ("feasibility_jump", "rins", "rens", "root_reduced_cost")
        settings: dict[str, Any] = {
            **{f"mip_heuristic_run_{each}": False for each in unwanted},
            "mip_rel_gap": 0.0, "presolve": "off", "mip_heuristic_effort": 0.0,
            "mip_allow_cut_separation_at_nodes": False,
        }  # fmt: skip
        for name, value in settings.items():
            set_option(highs, name, value)
        return highs

    @property
    def level(self) -> float:
        """One unit of the scaled objective, in the statement's."""
        return 1.0 / self.factor

    def point(self, x: FloatArray) -> FloatArray:
        """(w, b) of a vector of all columns, within the ranges."""
        v = np.where(self.where >= 0, x[self.where], self.fixed)
        return np.clip(v, self.low, self.high)

    def objective(self, x: FloatArray) -> float:
        """The cost of x with every curve's variable at its curve's true value."""
        return self.session.objective_of(self.lifted(x))

    def lifted(self, x: FloatArray) -> FloatArray:
        """A vector of all columns with every curve's variable at its curve's true value."""
        full, v = x.copy(), self.point(x)
        full[self.top[self.top >= 0]] = -np.inf
        for curve, top in zip(self.curves, self.top, strict=True):
            if top >= 0:
                full[top] = max(full[top], curve.value(v))  # of groups the worst
        return full

    def ranges_of(self, support: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
        """The ranges, everything outside the support held at 0 where 0 is allowed."""
        low, high = self.low.copy(), self.high.copy()
        outside = np.ones(len(low), dtype=bool)
        outside[[*support, len(low) - 1]] = False
        low[outside] = np.clip(0.0, low[outside], high[outside])
        high[outside] = low[outside]
        return low, high

    # -- tangents --------------------------------------------------------------------------------

    def add(self, v: FloatArray, kind: str, above: FloatArray | None = None) -> int:
        """Add every curve's tangent at v; with ``above``, only those that vector breaks."""
        added = 0
        for index in np.flatnonzero(self.bounded).tolist():
            curve = self.curves[index]
            # an objective of a user's own says nothing of the losses worth finding
            drawn = index == 0 and self.session.own is None
            tangent = curve.tangent(self._drawn_in(v) if drawn else v)
            if (
                tangent is None
                or not np.abs(tangent.gradient).max(initial=0.0) < POLICY.steepest_entry
            ):
                self.overflowed = True
                continue
            if above is not None:
                height = tangent.gradient @ self.point(above) + tangent.constant
                if height <= above[self.top[index]] + 1e-9 * self.level:
                    continue
            cut = Cut(index, tangent, kind, *self._row_of(tangent, index))
            if kind == "path" and cut.key in self.held:
                continue  # what breaks it does so within HiGHS's tolerances
            self._append(cut)
            added += 1
        return added

    def _drawn_in(self, v: FloatArray) -> FloatArray:
        """V itself, or where the segment to it from the anchor leaves the ceiling's level set."""
        # there the tangent supports the set of all points worth finding; far outside it would be
        # steep and, where the loss overflows, useless
        z, origin = self.loss.X @ v, self.loss.X @ self.anchor
        if self.loss.of_scores(z) <= self.ceiling or not math.isfinite(self.ceiling):
            return v
        inside, outside = 0.0, 1.0
        for _ in range(POLICY.newton_halvings):
            middle = 0.5 * (inside + outside)
            if self.loss.of_scores(origin + middle * (z - origin)) <= self.ceiling:
                inside = middle
            else:
                outside = middle
        return self.anchor + outside * (v - self.anchor)

    def _append(self, cut: Cut) -> None:
        """One row: height - gradient . v >= constant, in the scaled height."""
        stretch, entries = 1.0 / self.unit[self.top[cut.curve]], cut.entries
        known = np.flatnonzero(entries)
        columns = np.append(self.where[known], self.top[cut.curve]).astype(np.int32)
        values = np.append(-stretch * entries[known], 1.0)
        self.highs.addRow(stretch * cut.constant, np.inf, len(columns), columns, values)
        self.cuts.append(cut)
        self.held.add(cut.key)

    def _row_of(self, tangent: Tangent, curve: int) -> tuple[FloatArray, float]:
        """The gradient of the free points, and the constant with the fixed ones in it."""
        # a coefficient HiGHS would drop as too small in this row moves into the constant
        heard = tangent.without_tiny(2e-9 * self.unit[self.top[curve]], self.loss.reach)
        gradient, fixed = heard.gradient, self.where < 0
        constant = heard.constant + float(gradient[fixed] @ self.fixed[fixed])
        return np.where(fixed, 0.0, gradient), constant

    def forget(self, margin: float) -> None:
        """Drop path tangents over ``margin`` below the last LP's point."""
        activity = np.asarray(self.highs.getSolution().row_value)[self.rows :]
        if len(activity) != len(self.cuts):
            return
        gone = set()
        for k, cut in enumerate(self.cuts):
            lowest = cut.constant / self.unit[self.top[cut.curve]]
            if cut.kind == "path" and activity[k] - lowest > margin:
                gone.add(k)
        if gone:
            rows = self.rows + np.array(sorted(gone), dtype=np.int32)
            self.highs.deleteRows(len(rows), rows.astype(np.int32))
            self.cuts = [cut for k, cut in enumerate(self.cuts) if k not in gone]
            self.held = self.session.tangents | {cut.key for cut in self.cuts}

    def set_anchor(self) -> None:
        """Set the anchor, the continuous optimum within the ranges, and the first tangents."""
        constant = np.zeros(len(self.low))
        constant[-1] = vector_of(self.session.program.statement.empty_card())[-1]
        start = np.clip(constant, self.low, self.high)
        self.anchor = self.loss.minimiser(self.low, self.high, start)
        level = self.loss.value(start)
        self.ceiling = level if math.isfinite(level) else math.inf
        for share in (1.0, 0.5, 0.0):
            self.add(self.anchor + (1.0 - share) * (start - self.anchor), "support")

    def cutting_planes(
        self, tolerance: float, most: int, progress: Progress
    ) -> tuple[FloatArray | None, float, float]:
        """Take ``most`` cutting planes: the best point, its true objective, the LP's value."""
        # tangents are taken halfway between the LP's point and the best point so far, which is
        # feasible too: that is steadier than at the LP's point itself
        center: FloatArray | None = None
        best, value, hidden = math.inf, -math.inf, POLICY.hidden_tolerance * self.level
        vain, least, highest = 0, math.inf, -math.inf
        for _ in range(most):
            try:
                x, scaled = self.relax(progress.remaining)
            except TimeIsUpError:
                if center is None:
                    raise
                break  # with the best point so far
            if x is None or not len(x):
                break
            value = (scaled - POLICY.hidden_tolerance) * self.level
            center = x if center is None else center
            for trial in (x, 0.5 * (x + center)):
                objective = self.objective(trial)
                if objective < best:
                    center, best = trial, objective
            # HiGHS's tolerances hide what is less
            vain = 0 if best < least - hidden or value > highest + hidden else vain + 1
            if best - value <= max(tolerance, 2.0 * hidden) or vain >= POLICY.vain_planes:
                break
            least, highest = (best, value) if not vain else (least, highest)
            middle, end = self.point(0.5 * (x + center)), self.point(x)
            if not self.add(middle, "path", above=x) and not self.add(end, "path", above=x):
                if not self.ceiling < best:
                    break
                self.ceiling = best  # it was that of a point no row allows
        return center, best, value

    def fitted(self, best: float) -> Master:
        """Return the master in units that fit the best objective known: itself, where they do."""
        # far above ``scaled_objective`` HiGHS's tolerances are less than its rounding errors, and
        # what it calls infeasible need not be; far below they hide what is claimed
        unit = self.factor / POLICY.scaled_objective
        size = abs(best)
        least = max(size, 1.0 if self.session.own is None else OWN_LEVEL)
        if not math.isfinite(best) or (
            unit * size <= POLICY.scale_fit and unit * least >= 1.0 / POLICY.scale_fit
        ):
            return self
        other = Master(self.session, self.options, least)
        other.anchor, other.ceiling, other.overflowed = self.anchor, self.ceiling, self.overflowed
        for cut in self.cuts:
            entries, constant = other._row_of(cut.tangent, cut.curve)
            other._append(replace(cut, entries=entries, constant=constant))
        return other

    def cut_off(self, objective: float) -> None:
        """Only points of at most this cost count from now on."""
        most = (objective - self.session.offset) * self.factor
        self.highs.changeRowBounds(self.rows - 1, -np.inf, most)

    # -- runs ------------------------------------------------------------------------------------

    def relax(self, seconds: float) -> tuple[FloatArray | None, float]:
        """Solve the relaxation: (vector, value in HiGHS's scale); None if nothing is left."""
        if seconds <= 0:
            raise TimeIsUpError
        set_option(self.highs, "time_limit", self.highs.getRunTime() + seconds)
        run_here(self.highs)
        ended = termination_of(self.highs)
        if ended in (
            Termination.TIME_LIMIT, Termination.INTERRUPTED, Termination.ITERATION_LIMIT
        ):  # fmt: skip
            raise TimeIsUpError
        if self.highs.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
            return None, math.inf
        if ended is not Termination.COMPLETED:
            return np.empty(0), -math.inf  # nothing is known; the caller goes on without
        x = np.asarray(self.highs.getSolution().col_value, dtype=np.float64) * self.unit
        return x, float(self.highs.getInfo().objective_function_value)

    def solve(
        self, seconds: float, nodes: int | None, improvements: int
    ) -> tuple[Outcome, list[FloatArray]]:
        """Run HiGHS to at most ``improvements`` improving solutions; return every point found."""
        if seconds <= 0:
            raise TimeIsUpError
        is_mip = bool(self.session.integral.any())
        set_integrality(self.highs, self.session.integral)
        limit_run(self.highs, seconds, nodes, mip=is_mip)
        set_option(self.highs, "mip_max_improving_sols", improvements)
        found: list[FloatArray] = []
        watch = Watch(seconds)

        def keep(event: Any) -> None:
            found.append(np.array(event.data_out.mip_solution, dtype=np.float64))

        highs = self.highs
        stops = (
            (each, watch.interrupt) for each in (highs.cbMipInterrupt, highs.cbSimplexInterrupt)
        )
        interrupted = run_watched(highs, watch, (*stops, (highs.cbMipSolution, keep)))
        outcome = self._outcome(is_mip)
        if interrupted:
            outcome.termination = Termination.INTERRUPTED
        if is_feasible(self.highs.getInfo()):
            found.append(np.asarray(self.highs.getSolution().col_value, dtype=np.float64))
        set_integrality(self.highs, np.zeros_like(self.session.integral))
        return outcome, [x * self.unit for x in found if len(x) == len(self.unit)]

    def _outcome(self, is_mip: bool) -> Outcome:
        """HiGHS's bound, unscaled and lowered by what tolerances can hide."""
        info, ended = self.highs.getInfo(), termination_of(self.highs)
        value = float(info.mip_dual_bound if is_mip else info.objective_function_value)
        known = math.isfinite(value) and (is_mip or ended is Termination.COMPLETED)
        bound = (value - POLICY.hidden_tolerance) * self.level if known else -math.inf
        nodes = max(int(info.mip_node_count), 0) if is_mip else 1
        return Outcome(ended, dual_bound=bound, nodes=nodes)

    def store_cuts(self) -> None:
        """Write the tangents into the Pyomo model and the session: exported, they are seen."""
        for index, (rows, height) in enumerate(zip(self.lists, self.heights, strict=True)):
            new = {cut.key: cut for cut in self.cuts if cut.curve == index}
            own = [cut for key, cut in new.items() if key not in self.session.tangents]
            self.session.tangents.update(new)
            made = []
            for cut in own:
                # HiGHS, should it compile the row, is to drop nothing of it
                largest = max(1.0, float(np.abs(cut.tangent.gradient).max(initial=0.0)))
                least = POLICY.dropped_share * largest
                tangent = cut.tangent.without_tiny(least, self.loss.reach)
                slopes = zip(tangent.gradient.tolist(), self.points, strict=True)
                body = sum((g * v for g, v in slopes if g), start=0.0)
                made.append(rows.add(height - body >= tangent.constant))
            if index == 0:
                self.session.program.touched += [cut.tangent.at for cut in own]
            if not own:
                continue
            table = np.zeros((len(own), len(self.session.columns)))
            known = np.flatnonzero(self.where >= 0)
            table[:, self.where[known]] = -np.array([cut.entries for cut in own])[:, known]
            table[:, self.top[index]] = 1.0
            constants = np.array([cut.constant for cut in own])
            self.session.append(made, sparse.csr_array(table), constants)
        self.cuts = []
