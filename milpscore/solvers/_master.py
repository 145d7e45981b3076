"""The master of an outer approximation: rows and tangents inside one HiGHS, edited in place."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np

from milpscore.core.design import FloatArray
from milpscore.solvers._highs_run import Watch, run_watched
from milpscore.solvers._master_rows import TOLERANCE, handed_over, linking_rows
from milpscore.solvers._options import Options
from milpscore.solvers._session import Session, set_option
from milpscore.solvers._tangents import Curve, LossCurve, NormCurve, Tangent

SCALED_OBJECTIVE = 512.0
"""HiGHS's tolerances are absolute: the master's objective is scaled to about this size."""

KEPT = ("point", "support")
"""Tangents that stay whatever happens: those at whole points, and at the best of a support."""

_HALVINGS = 30

_STATUS = highspy.HighsModelStatus
_UNSOLVED = (_STATUS.kTimeLimit, _STATUS.kInterrupt, _STATUS.kIterationLimit)


class TimeIsUpError(Exception):
    """The time limit was reached inside a linear program; caught by the search."""


@dataclass(frozen=True)
class Cut:
    """A tangent of one of the curves and why it was taken: "point", "support" or "path"."""

    curve: int
    tangent: Tangent
    kind: str


@dataclass(frozen=True)
class Round:
    """What one mixed-integer run of the master says.

    Attributes
    ----------
    status : highspy.HighsModelStatus
    bound : float
        No point of the master under its cutoff costs less.
    points : list of ndarrays of shape (columns,)
        Every feasible point HiGHS reported.
    nodes : int
    interrupted : bool
    """

    status: Any
    bound: float
    points: list[FloatArray]
    nodes: int
    interrupted: bool


class Master:
    """A session's rows, the tangents found so far, and a cutoff row, in a HiGHS of their own.

    Parameters
    ----------
    session : Session
    options : Options
    level : float
        About the objective's size.

    Attributes
    ----------
    low, high : ndarrays of shape (p + 1,)
        Current ranges of (w, b), tightened as the search goes on.
    cuts : list of Cut
        In the order of HiGHS's rows after the session's own.
    anchor, ceiling : ndarray of shape (p + 1,) and float
        A point of small loss, and the loss beyond which tangents are drawn in towards it.
    """

    def __init__(self, session: Session, options: Options, level: float) -> None:
        self.session, self.options = session, options
        model, statement = session.program.model, session.program.statement
        self.loss = LossCurve(statement)
        self.curves: list[Curve] = [self.loss]
        heights, self.lists = [model.eta], [model.cuts]
        if model.component("norm") is not None:
            term: Any = next(t for t in statement.penalties if hasattr(t, "make"))
            self.curves.append(NormCurve(term.make(1.0)))
            heights, self.lists = [*heights, model.norm], [*self.lists, model.norm_cuts]
        self.heights = heights
        self.points = [*(model.w[j] for j in model.J), model.b]
        session.include([var for var in [*self.points, *heights] if not var.fixed])
        self.where = np.array(
            [-1 if v.fixed else session.position(v) for v in self.points], dtype=np.int32
        )
        self.fixed = np.array([v.value if v.fixed else 0.0 for v in self.points], dtype=np.float64)
        self.top = np.array(
            [-1 if v.fixed else session.position(v) for v in heights], dtype=np.int32
        )
        known = self.where >= 0
        self.low, self.high = self.fixed.copy(), self.fixed.copy()
        self.low[known] = session.col_lower[self.where[known]]
        self.high[known] = session.col_upper[self.where[known]]
        self.cuts: list[Cut] = []
        self.anchor = np.clip(np.zeros(len(self.low)), self.low, self.high)
        self.ceiling = math.inf
        self.factor = 2.0 ** round(math.log2(SCALED_OBJECTIVE / max(level, 1e-9)))
        # x = unit * x': every curve's variable costs 1 in the scaled objective
        self.unit = np.ones(len(session.columns))
        for top in self.top[self.top >= 0]:
            cost = session.cost[top] * self.factor
            self.unit[top] = 1.0 / 2.0 ** round(math.log2(cost)) if cost > 0 else 1.0
        self.cost = session.cost * self.factor * self.unit
        self.highs = handed_over(session, options, self.unit, self.cost, self.factor)
        self.rows = session.matrix.shape[0] + 1  # the cutoff row is the last that is no tangent
        self._links = linking_rows(session, self.where)

    @property
    def level(self) -> float:
        """One unit of the scaled objective, in the statement's."""
        return 1.0 / self.factor

    def point(self, x: FloatArray) -> FloatArray:
        """(w, b) of a vector of all columns, within the present ranges."""
        v = np.where(self.where >= 0, x[self.where], self.fixed)
        return np.clip(v, self.low, self.high)

    def objective(self, x: FloatArray, v: FloatArray) -> float:
        """The cost of x with every curve's variable at its curve's value at v."""
        total = float(self.session.cost @ x + self.session.offset)
        for curve, top in zip(self.curves, self.top, strict=True):
            if top >= 0:
                total += self.session.cost[top] * (curve.value(v) - x[top])
        return total

    # -- tangents --------------------------------------------------------------------------------

    def add(self, v: FloatArray, kind: str, above: FloatArray | None = None) -> int:
        """Add every curve's tangent at v; with ``above``, only those that vector breaks."""
        added = 0
        for index, curve in enumerate(self.curves):
            tangent = curve.tangent(self._drawn_in(v) if index == 0 else v)
            if tangent is None or self.top[index] < 0:
                continue
            if above is not None:
                height = tangent.gradient @ self.point(above) + tangent.constant
                if height <= above[self.top[index]] + 1e-9 * self.level:
                    continue
            self._append(Cut(index, tangent, kind))
            added += 1
        return added

    def _drawn_in(self, v: FloatArray) -> FloatArray:
        """V itself, or where the segment to it from the anchor leaves the ceiling's level set.

        There the tangent supports the set of all points worth finding; far outside it would be
        steep and, where the loss overflows, useless.
        """
        z, origin = self.loss.X @ v, self.loss.X @ self.anchor
        if self.loss.of_scores(z) <= self.ceiling or not math.isfinite(self.ceiling):
            return v
        inside, outside = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (inside + outside)
            if self.loss.of_scores(origin + middle * (z - origin)) <= self.ceiling:
                inside = middle
            else:
                outside = middle
        return self.anchor + outside * (v - self.anchor)

    def _append(self, cut: Cut) -> None:
        """One row: height - gradient . v >= constant, in the scaled height."""
        stretch = 1.0 / self.unit[self.top[cut.curve]]
        entries, constant = self.entries(cut)
        known = np.flatnonzero(entries)
        self.highs.addRow(
            stretch * constant,
            np.inf,
            len(known) + 1,
            np.append(self.where[known], self.top[cut.curve]).astype(np.int32),
            np.append(-stretch * entries[known], 1.0),
        )
        self.cuts.append(cut)

    def entries(self, cut: Cut) -> tuple[FloatArray, float]:
        """The gradient of the free points, and the constant with the fixed ones in it."""
        gradient = cut.tangent.gradient
        known = self.where >= 0
        # a coefficient HiGHS would drop as too small moves into the constant
        tiny = known & (np.abs(gradient) < 1e-9 * self.level)
        reach = np.maximum(np.abs(self.loss.reach), 1.0)
        constant = cut.tangent.constant + float(gradient[~known] @ self.fixed[~known])
        constant -= float(np.abs(gradient[tiny]) @ reach[tiny])
        return np.where(known & ~tiny, gradient, 0.0), constant

    def heights_at(self, points: FloatArray) -> FloatArray:
        """What the loss tangents say of several points, shape (V, p + 1): a bound each."""
        own = [cut.tangent for cut in self.cuts if cut.curve == 0]
        if not own:
            return np.zeros(len(points))
        gradients = np.array([tangent.gradient for tangent in own])
        constants = np.array([tangent.constant for tangent in own])
        return np.asarray((points @ gradients.T + constants).max(axis=1))

    def forget(self, margin: float, first: int = 0) -> None:
        """Drop tangents of kind "path" that lie further than ``margin`` below the last LP's point.

        Parameters
        ----------
        margin : float
            In the scaled objective.
        first : int
            Tangents before this one stay.
        """
        activity = np.asarray(self.highs.getSolution().row_value)[self.rows :]
        if len(activity) != len(self.cuts):
            return
        drop = []
        for k in range(first, len(self.cuts)):
            cut = self.cuts[k]
            lowest = self.entries(cut)[1] / self.unit[self.top[cut.curve]]
            if cut.kind not in KEPT and activity[k] - lowest > margin:
                drop.append(k)
        if drop:
            rows = self.rows + np.array(drop, dtype=np.int32)
            self.highs.deleteRows(len(rows), rows.astype(np.int32))
            gone = set(drop)
            self.cuts = [cut for k, cut in enumerate(self.cuts) if k not in gone]

    # -- ranges ----------------------------------------------------------------------------------

    def narrow(self, j: int, low: float, high: float) -> None:
        """Set the range of the j-th point, in the linking rows too."""
        self.low[j], self.high[j] = low, high
        self.highs.changeColBounds(int(self.where[j]), low, high)
        for row, column, which, side in self._links:
            if which == j:
                end = max(high, 0.0) if side > 0 else min(low, 0.0)
                self.highs.changeCoeff(row, column, -end)

    def cut_off(self, objective: float) -> None:
        """Only points of at most this cost count from now on."""
        most = (objective - self.session.offset) * self.factor
        self.highs.changeRowBounds(self.rows - 1, -np.inf, most)

    # -- runs ------------------------------------------------------------------------------------

    def direct(self, column: int | None = None, sign: float = 1.0) -> None:
        """Minimise one column times ``sign``; None brings the objective back."""
        cost = self.cost if column is None else np.zeros_like(self.cost)
        if column is not None:
            cost[column] = sign
        every = np.arange(len(cost), dtype=np.int32)
        self.highs.changeColsCost(len(cost), every, cost)
        self.highs.changeObjectiveOffset(0.0 if column is not None else self._offset)

    @property
    def _offset(self) -> float:
        return self.session.offset * self.factor

    def relax(self, seconds: float) -> tuple[FloatArray | None, float]:
        """Solve the linear relaxation: (vector, value in HiGHS's scale); None if nothing is left.

        Raises
        ------
        TimeIsUpError
        """
        if seconds <= 0:
            raise TimeIsUpError
        set_option(self.highs, "time_limit", self.highs.getRunTime() + seconds)
        self.highs.run()
        status = self.highs.getModelStatus()
        if status in _UNSOLVED:
            raise TimeIsUpError
        if status == _STATUS.kInfeasible:
            return None, math.inf
        answer = self.highs.getSolution()
        if status != _STATUS.kOptimal:
            return np.empty(0), -math.inf  # nothing is known; the caller goes on without
        x = np.asarray(answer.col_value, dtype=np.float64) * self.unit
        return x, float(self.highs.getInfo().objective_function_value)

    def integers(self, wanted: bool) -> None:
        """Ask for whole numbers, or stop asking."""
        kinds = (self.session.integral & wanted).astype(np.uint8)
        every = np.arange(len(kinds), dtype=np.int32)
        self.highs.changeColsIntegrality(len(kinds), every, kinds)

    def solve(self, seconds: float, nodes: int | None, improvements: int) -> Round:
        """One mixed-integer run; at most so many improving solutions, then it stops.

        Parameters
        ----------
        seconds : float
        nodes : int or None
        improvements : int
        """
        if seconds <= 0:
            raise TimeIsUpError
        self.integers(True)
        is_mip = bool(self.session.integral.any())
        spent = 0.0 if is_mip else self.highs.getRunTime()
        set_option(self.highs, "time_limit", spent + seconds)
        set_option(self.highs, "mip_max_nodes", 2**31 - 1 if nodes is None else nodes)
        set_option(self.highs, "mip_max_improving_sols", improvements)
        found: list[FloatArray] = []
        watch = Watch(1.0, None, None)

        def keep(event: Any) -> None:
            found.append(np.array(event.data_out.mip_solution, dtype=np.float64))

        pairs = (
            (self.highs.cbMipInterrupt, watch.interrupt),
            (self.highs.cbSimplexInterrupt, watch.interrupt),
            (self.highs.cbMipSolution, keep),
        )
        for channel, receiver in pairs:
            channel.subscribe(receiver)
        try:
            interrupted = run_watched(self.highs, watch, seconds)
        finally:
            for channel, receiver in pairs:
                channel.unsubscribe(receiver)
        if watch.error is not None:
            raise watch.error
        return self._read(found, interrupted, is_mip)

    def _read(self, found: list[FloatArray], interrupted: bool, is_mip: bool) -> Round:
        """HiGHS's answer, unscaled, with the bound lowered by what tolerances can hide."""
        info, status = self.highs.getInfo(), self.highs.getModelStatus()
        if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
            found.append(np.asarray(self.highs.getSolution().col_value, dtype=np.float64))
        value = info.mip_dual_bound if is_mip else info.objective_function_value
        if not is_mip and status != _STATUS.kOptimal:
            value = -math.inf
        bound = (float(value) - TOLERANCE) * self.level
        self.integers(False)
        return Round(
            status,
            bound if math.isfinite(bound) else -math.inf,
            [x * self.unit for x in found if len(x) == len(self.unit)],
            max(int(info.mip_node_count), 0) if is_mip else 1,
            interrupted,
        )
