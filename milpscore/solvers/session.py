"""A program inside HiGHS: compiled once, edited in place, run in a thread that can be stopped."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import highspy
import numpy as np
import pyomo.environ as pyo
from pyomo.repn import generate_standard_repn
from pyomo.repn.plugins.standard_form import RowEntry
from scipy import sparse

from milpscore.core.clock import Clock
from milpscore.core.design import BoolArray, FloatArray, IntArray
from milpscore.core.errors import FormulationError, NotApplicableError
from milpscore.core.program import (
    Kind,
    Program,
    difference,
    standard_form,
    stated_objective,
    variables,
)
from milpscore.core.result import Termination
from milpscore.core.statement import RULES
from milpscore.losses import ZeroOne
from milpscore.solvers.engine import Listener, Outcome, Solver, Task
from milpscore.solvers.options import Options
from milpscore.solvers.policy import POLICY
from milpscore.solvers.running import (
    Judge,
    Watch,
    add_rows,
    configure,
    highs_of,
    is_feasible,
    limit_run,
    run_watched,
    self_test,
    set_integrality,
    set_option,
    termination_of,
)
from milpscore.verify import check

FREE_SCALE = (
    "a scale that is left to the card is that of its least mean loss, and another objective may "
    "need another one: give {scale}"
)


class Session:
    """A compiled program inside HiGHS.

    Re-solving after :meth:`relax`, :meth:`restore` or :meth:`set` edits the program where it is;
    nothing is compiled again. A model edited in any other way is compiled anew by its next solve.

    Parameters
    ----------
    program : Program
        Its Pyomo model is compiled to standard form and passed to HiGHS in one call.

    Attributes
    ----------
    load_seconds : float
        Compiling and passing the model.
    scale : float
        HiGHS holds every cost times this power of two: with costs of 1/n its absolute tolerances
        would be coarse. Bounds, objectives and duals are divided by it when they are read.
    unit, stretch : ndarray of shape (columns,), (rows,)
        A variable is ``unit`` times its column here, and rows are ``stretch`` times the model's:
        1 but for small numbers (:class:`Units`).
    doubt : str
        What HiGHS may drop all the same, so that its bounds prove nothing; else empty.
    blur : float
        What numbers within its tolerances can hide of a bound.
    tolerance : float
        HiGHS's feasibility tolerance in its search.

    Raises
    ------
    FormulationError
        For a model that is not linear, an integer without finite bounds, another objective.
    SelfTestError
        Where the installed HiGHS gives wrong answers.
    """

    def __init__(self, program: Program) -> None:
        self.version = self_test()
        self.tolerance, self.owned = POLICY.mip_tolerance, False
        self.tangents: set[tuple[int, bytes]] = set()  # of its rows: curve and point
        started = time.perf_counter()
        self.program = program
        self.kind: Kind = program.kind
        # for the re-check as well, as long as no row is added
        self.form = form = _compiled(program.model)
        self.columns: list[Any] = form.columns
        # each row's Pyomo constraint and its end: -1 lower, 0 both, 1 upper
        self.rows: list[RowEntry] = list(form.rows)
        self.cost: FloatArray = form.c.toarray().ravel()
        self.offset = float(form.c_offset[0])
        self.matrix = form.A
        rhs = np.asarray(form.rhs, dtype=np.float64)
        ends = np.array([row.bound_type for row in self.rows], dtype=np.int64)
        self.row_lower = np.where(ends <= 0, rhs, -np.inf)
        self.row_upper = np.where(ends >= 0, rhs, np.inf)
        self.col_lower = _ends([var.lb for var in self.columns], -np.inf)
        self.col_upper = _ends([var.ub for var in self.columns], np.inf)
        # a relaxation has no integers, those a user added to it after relaxing included
        self.integral = self._whole(self.columns)
        # HiGHS gives wrong optima where an integer column has fractional bounds
        whole, near = self.integral, POLICY.whole_tolerance
        self.col_lower[whole] = np.ceil(self.col_lower[whole] - near)
        self.col_upper[whole] = np.floor(self.col_upper[whole] + near)
        self._choose_units()
        self._position = {id(var): j for j, var in enumerate(self.columns)}
        every = variables(program.model)
        self.idle = [v for v in every if id(v) not in self._position and not v.fixed]
        self._require_finite_ranges()
        self.own = program.own_objective
        self._require_known_objective()
        program.require_apart()
        self.state = program.state()
        self.covers: sparse.csr_array | None = None  # made before the first search
        self.scale = _cost_scale(self.cost)
        self.highs = self.copy(relaxed=False)
        self.load_seconds = time.perf_counter() - started

    def refresh(self) -> None:
        """Compile the model again if it was edited since: relaxed as it was, nothing else kept."""
        if difference(self.state, self.program.state()):
            self._compile_again()

    def _compile_again(self) -> None:
        """Start anew from the model as it stands, without the tangents found before."""
        kind = self.kind
        self.program.drop_tangents()
        self.__init__(self.program)  # type: ignore[misc]
        if kind == "relaxed" != self.kind:
            self.relax()

    @contextmanager
    def otherwise(self) -> Iterator[Session]:
        """For as long as this lasts, runs are at the other tolerance."""
        self.tolerance = POLICY.other_tolerance
        try:
            yield self
        finally:
            self.tolerance = POLICY.mip_tolerance

    def _whole(self, wanted: list[Any]) -> Any:
        """Which of these variables are to be whole, as a mask."""
        exact = self.kind == "exact"
        return np.array([exact and not var.is_continuous() for var in wanted], dtype=bool)

    def without_loops(self, options: Options) -> Options:
        """Return options without presolve where columns or terms reach beyond what may be whole."""
        # presolve makes real columns whole that can be nothing else, and reduces rows of whole ones
        ends = np.abs(np.r_[self.col_lower, self.col_upper, self.matrix.data])
        far = self.integral.any() and ends[np.isfinite(ends)].max(initial=0.0) > POLICY.max_integer
        return replace(options, presolve=False) if far else options

    def _require_finite_ranges(self) -> None:
        """Wrong answers on unbounded integers are an open report against HiGHS: refuse them."""
        reach = np.maximum(np.abs(self.col_lower), np.abs(self.col_upper))
        for j in np.flatnonzero(self.integral & (reach > POLICY.max_integer))[:1]:
            name = self.columns[j].name
            if not math.isfinite(reach[j]):
                raise FormulationError(
                    f"integer variable {name} has no finite bounds: give it some"
                )
            raise FormulationError(
                f"integer variable {name} reaches {reach[j]:.2g}; HiGHS runs on without end beyond "
                f"{POLICY.max_integer:.0e}: give the columns a larger unit, bin them, or narrow "
                "the variable's bounds"
            )

    def _choose_units(self) -> None:
        """Change the arrays to units in which HiGHS drops nothing; say what it may drop still."""
        statement = self.program.statement
        reach = np.maximum(np.abs(self.col_lower), np.abs(self.col_upper))
        # a master of tangents has units of its own
        real = ~self.integral & (not self.program.takes_tangents)
        ends = np.where(np.isfinite(self.row_lower), self.row_lower, self.row_upper)
        # of errors only the threshold's gap counts; slacks are paid for to the last digit
        harmless = 0.01 if isinstance(statement.loss, ZeroOne) else 1e-6
        units = units_of(self.matrix, ends, reach, real, harmless)
        self.unit, self.stretch = units.column, units.row
        # what HiGHS would drop is left out: rows give way by as much
        heard = sparse.csc_array(self.matrix, copy=True)
        heard.data[units.idle] = 0.0
        heard.eliminate_zeros()
        self.matrix = sparse.csc_array(heard * self.stretch[:, None] * self.unit[None, :])
        self.row_lower = (self.row_lower - units.spare) * self.stretch
        self.row_upper = (self.row_upper + units.spare) * self.stretch
        self.col_lower, self.col_upper = self.col_lower / self.unit, self.col_upper / self.unit
        self.cost = self.cost * self.unit
        self._spare(np.arange(len(self.columns)))
        # whether a model's own numbers stand here
        given = bool((units.column == 1.0).all() and (units.row == 1.0).all())
        self.plain = given and not np.any(units.spare)
        errors = isinstance(statement.loss, ZeroOne)
        self.doubt, self.blur = "", 0.0 if errors else units.blur
        if units.lost is not None:
            self.doubt = (
                f"HiGHS drops numbers as small as the {self._entry(*units.lost)}, so that its "
                "bound is not used: multiply that column by a power of ten, or bin it"
            )
        elif units.wide is not None and not errors:
            self.doubt = (
                f"HiGHS's arithmetic does not reach as far as the {self._entry(*units.wide)}, so "
                "that its bound is not used: divide that column by a power of ten, or bin it"
            )

    def _entry(self, row: int, column: int, entry: float) -> str:
        """An entry of the matrix in words, with the names of its column and row."""
        points = self.program.layout.points(self.program.model)
        names = self.program.statement.design.names
        known = {id(var): name for var, name in zip(points, names, strict=True)}
        name = known.get(id(self.columns[column]), self.columns[column].name)
        return f"{entry:.3g} of {name} in row {self.rows[row].constraint.name}"

    def copy(self, *, relaxed: bool) -> Any:
        """A ``highspy.Highs`` of its own with the compiled arrays, without integers if relaxed."""
        cost = self.cost * self.scale, self.offset * self.scale
        columns, rows = (self.col_lower, self.col_upper), (self.row_lower, self.row_upper)
        return highs_of(self.matrix, cost, columns, rows, None if relaxed else self.integral)

    def position(self, var: Any) -> int:
        """Column of a Pyomo variable; KeyError where the compiled program does not use it."""
        return self._position[id(var)]

    def include(self, wanted: list[Any]) -> None:
        """Give variables no row and no cost speaks of a column: rows added later may need them."""
        new = [var for var in wanted if any(var is idle for idle in self.idle)]
        if not new:
            return
        low, high = _ends([v.lb for v in new], -np.inf), _ends([v.ub for v in new], np.inf)
        first = len(self.columns)
        self._position |= {id(var): first + k for k, var in enumerate(new)}
        self.idle = [idle for idle in self.idle if id(idle) not in self._position]
        self.columns = [*self.columns, *new]
        self.cost = np.append(self.cost, np.zeros(len(new)))
        self.unit = np.append(self.unit, np.ones(len(new)))
        self.col_lower = np.append(self.col_lower, low)
        self.col_upper = np.append(self.col_upper, high)
        self.integral = np.append(self.integral, self._whole(new))
        empty = sparse.csc_array((self.matrix.shape[0], len(new)))
        self.matrix = sparse.csc_array(sparse.hstack([self.matrix, empty]))
        self._require_finite_ranges()
        self.highs.addVars(len(new), low, high)
        set_integrality(self.highs, self.integral & (self.kind == "exact"))

    def append(self, constraints: list[Any], matrix: Any, lower: FloatArray) -> None:
        """Add rows ``matrix @ x >= lower``, which are ``constraints`` of the model, in place."""
        if not constraints:
            return
        self.form = None
        rows, upper = sparse.csr_array(matrix), np.full(len(lower), np.inf)
        self.rows = [*self.rows, *(RowEntry(constraint, -1) for constraint in constraints)]
        self.row_lower = np.append(self.row_lower, lower)
        self.row_upper = np.append(self.row_upper, upper)
        self.stretch = np.append(self.stretch, np.ones(len(lower)))
        self.matrix = sparse.csc_array(sparse.vstack([self.matrix, rows]))
        add_rows(self.highs, rows, lower, upper)

    @contextmanager
    def beside(self, rows: sparse.csr_array) -> Iterator[None]:
        """For as long as this lasts, HiGHS holds rows ``rows @ x >= 1`` that every card meets."""
        first, more = self.highs.getNumRow(), rows.shape[0]
        add_rows(self.highs, rows, np.ones(more), np.full(more, np.inf))
        try:
            yield
        finally:
            self.highs.deleteRows(more, np.arange(first, first + more, dtype=np.int32))

    def relax(self) -> None:
        """Drop integrality, in place."""
        set_integrality(self.highs, np.zeros_like(self.integral))
        self.kind = "relaxed"

    def restore(self) -> None:
        """Bring integrality back, in place."""
        if self.program.kind == "relaxed":
            raise NotApplicableError(
                "this session was made from a relaxed program: load program.exact()"
            )
        set_integrality(self.highs, self.integral)
        self.kind = "exact"

    def set(self, **values: Any) -> None:
        """Change arguments in place, as :meth:`Program.set` does, in HiGHS included.

        What cannot be edited there (rules, rows of your own, units of small numbers, another model)
        is compiled anew.
        """
        self.refresh()
        parts = self.program.change(values, self.state)
        # rows of a user's own may speak of loss and penalty, whose entries change; a master of
        # tangents has entries of its intercepts
        own = bool(self.program.own_rows())
        anew = bool(parts) and (self.program.takes_tangents or not self.plain)
        if parts is None or own or anew or RULES in parts:
            self._compile_again()
            return
        self.state = self.program.state()
        cost, offset = self._objective()
        changed = np.flatnonzero(cost != self.cost).astype(np.int32)
        if len(changed):
            self.highs.changeColsCost(len(changed), changed, cost[changed] * self.scale)
        self.highs.changeObjectiveOffset(offset * self.scale)
        self.cost, self.offset = cost, offset
        self._edit_ends(parts)

    def _edit_ends(self, parts: frozenset[str]) -> None:
        """Read the ends of columns and rows of these parts of the model again."""
        edited = {id(self.program.model.component(name)) for name in parts}
        held = [j for j, var in enumerate(self.columns) if id(var.parent_component()) in edited]
        columns, near = np.array(held, dtype=np.int32), POLICY.whole_tolerance
        low = _ends([self.columns[j].lb for j in held], -np.inf)
        high = _ends([self.columns[j].ub for j in held], np.inf)
        whole = self.integral[columns]
        self.col_lower[columns] = np.where(whole, np.ceil(low - near), low)
        self.col_upper[columns] = np.where(whole, np.floor(high + near), high)
        self._spare(columns)
        owners = (id(row.constraint.parent_component()) for row in self.rows)
        rows = np.array([i for i, owner in enumerate(owners) if owner in edited], dtype=np.int32)
        moved = [self.rows[i].constraint for i in rows.tolist()]
        self.row_lower[rows] = _ends([row.lb for row in moved], -np.inf)
        self.row_upper[rows] = _ends([row.ub for row in moved], np.inf)
        self.form = None  # its right-hand sides are those of before
        if len(columns):
            ends = self.col_lower[columns], self.col_upper[columns]
            self.highs.changeColsBounds(len(columns), columns, *ends)
        if len(rows):
            self.highs.changeRowsBounds(len(rows), rows, self.row_lower[rows], self.row_upper[rows])

    def _spare(self, columns: Any) -> None:
        """Let slacks that are paid for reach a little further."""
        # a row may need all of a slack's range: divided by a small entry, its rounding is not less
        # than HiGHS's tolerance, and a whole column loses its last value
        paid = ~self.integral & (self.cost > 0.0) & (self.col_upper > 0.0)
        further = np.where(paid, 1.0 + POLICY.spare_reach, 1.0)
        self.col_upper[columns] = (self.col_upper * further)[columns]

    def _objective(self) -> tuple[FloatArray, float]:
        """Costs of the objective, stated or a user's own, as its Params stand now."""
        model = self.program.model
        linear = (
            stated_objective(model) if self.own is None else generate_standard_repn(self.own.expr)
        )
        cost = np.zeros(len(self.columns))
        for var, coefficient in zip(linear.linear_vars, linear.linear_coefs, strict=True):
            cost[self._position[id(var)]] += coefficient
        return cost * self.unit, float(linear.constant)

    def _require_known_objective(self) -> None:
        """A bound on any other objective than those known would say nothing about cards."""
        scales = self.program.statement.scales
        if self.own is not None and self.program.takes_tangents and scales is not None:
            raise FormulationError(FREE_SCALE, scale=1.0)
        if self.own is not None and not self.own.is_minimizing():
            raise FormulationError(f"{self.own.name} is maximised: minimise its negative")
        edit = self.program.edited()
        if edit.startswith(("the parameter", "the expression")):
            raise FormulationError(
                f"{edit} in the model, and what is claimed of a card would not be its objective: "
                "change weights with program.set, or state a new program"
            )
        cost, offset = self._objective()
        if not np.allclose(np.r_[cost, offset], np.r_[self.cost, self.offset], 1e-9, 0.0):
            raise FormulationError(
                "the model's objective is not the one that was stated (model.loss + "
                "model.penalty): change weights with program.set or a new program, or write the "
                "model to a file and solve it elsewhere"
            )

    def vector(self) -> FloatArray:
        """The model's current values as columns here; NaN where a variable has none."""
        held = [np.nan if v.value is None else v.value for v in self.columns]
        return np.array(held, dtype=np.float64) / self.unit

    def load_values(self, values: FloatArray) -> None:
        """Write a solution vector, shape (columns,), back into the Pyomo model."""
        # variables no row and no cost speaks of are not compiled: they get the value nearest to 0
        for var in self.idle:
            low, high = _ends([var.lb, var.ub], 0.0)
            var.set_value(min(max(0.0, low), high), skip_validation=True)
        for var, value in zip(self.columns, (values * self.unit).tolist(), strict=True):
            if not var.fixed:  # fixed after the session was made: the re-check compares the two
                var.set_value(value, skip_validation=True)

    def store_duals(self, outcome: Outcome) -> None:
        """Write duals and reduced costs into the model's Suffixes ``dual`` and ``rc``."""
        model = self.program.model
        for name in ("dual", "rc"):
            if model.component(name) is None:
                model.add_component(name, pyo.Suffix(direction=pyo.Suffix.IMPORT))
            model.component(name).clear()
        assert outcome.row_dual is not None
        assert outcome.col_dual is not None
        for row, value in zip(self.rows, (outcome.row_dual * self.stretch).tolist(), strict=True):
            model.dual[row.constraint] = model.dual.get(row.constraint, 0.0) + value
        for var, value in zip(self.columns, (outcome.col_dual / self.unit).tolist(), strict=True):
            model.rc[var] = value

    def objective_of(self, values: FloatArray) -> float:
        """The cost of a vector of shape (columns,)."""
        return float(self.cost @ values + self.offset)

    def dual_bound_of(
        self, row_dual: FloatArray, low: FloatArray | None = None, high: FloatArray | None = None
    ) -> float:
        """Return a lower bound on the LP from any row duals, by the program's own arrays."""
        # for every y: min c.x >= sum of y's best row ends + sum_j min over the column's range of
        # (c - A'y)_j x_j; duals that point to an infinite end are set to 0 first
        y = np.where((row_dual > 0) & np.isinf(self.row_lower), 0.0, row_dual)
        y = np.where((y < 0) & np.isinf(self.row_upper), 0.0, y)
        ends = np.where(y > 0, self.row_lower, np.where(y < 0, self.row_upper, 0.0))
        reduced = self.cost - self.matrix.T @ y
        # what rounding can do to a reduced cost, so that the bound stays one
        noise = 1e-13 * (np.abs(self.cost) + abs(self.matrix).T @ np.abs(y))
        low = self.col_lower if low is None else low
        high = self.col_upper if high is None else high
        end = np.where(reduced > 0, low, high)
        open_ = ~np.isfinite(end)
        if np.any(np.abs(reduced[open_]) > POLICY.free_tolerance):
            return -np.inf  # an unbounded column could still improve: these duals prove nothing
        best = reduced[~open_] * end[~open_]
        ends_known = (np.abs(np.where(np.isfinite(end), end, 0.0)) for end in (low, high))
        reach = np.maximum(*ends_known)
        return float(self.offset + y @ ends + best.sum() - (noise * reach).sum())

    def run(
        self, options: Options, absolute_gap: float = 0.0, start: FloatArray | None = None,
        listeners: Sequence[Listener] = (), judge: Judge | None = None,
        since: Clock | None = None,
    ) -> Outcome:  # fmt: skip
        """Run HiGHS, from a complete feasible point ``start``, to an absolute gap."""
        # what belongs to the run and went before it began at ``since``
        # listeners get each TracePoint from the solver's thread, with the objective of the best
        # point so far by the word of the ``judge``
        highs = self.highs
        highs.clearSolver()  # a second run is to know nothing of the first one
        if self.owned:
            highs.resetOptions()
        self.owned = bool(options.own("highs"))
        tolerance = self.tolerance if self._is_mip else POLICY.lp_tolerance
        configure(highs, self.without_loops(options), absolute_gap * self.scale, tolerance)
        # the log callbacks that carry bounds and nodes fire only with output on
        set_option(highs, "output_flag", True)
        set_option(highs, "log_file", options.log_file or "")
        limit_run(highs, options.clock.left, options.node_limit, mip=self._is_mip)
        first = None
        if start is not None:
            first = self.objective_of(start)
            solution = highspy.HighsSolution()
            solution.col_value = start.tolist()
            highs.setSolution(solution)
        watch = Watch(options.clock, self.scale, first, listeners, judge, since)
        stops = highs.cbMipInterrupt, highs.cbSimplexInterrupt, highs.cbIpmInterrupt
        improving = highs.cbMipImprovingSolution, watch.incumbent
        stopping = ((channel, watch.interrupt) for channel in stops)
        receivers = (*stopping, (highs.cbMipLogging, watch.log), improving)
        interrupted = run_watched(highs, watch, receivers)
        outcome = self.outcome(interrupted, options.loose_gap or options.mip_gap_abs)
        outcome.seconds, outcome.trace = watch.seconds, watch.trace
        outcome.start_taken = start is None or watch.start_taken
        closed = outcome.termination in (Termination.COMPLETED, Termination.GAP_REACHED)
        if start is not None and closed and self._is_mip:
            # HiGHS 1.15.1 calls a start optimal where presolve leaves only points of equal cost;
            # 1.16.0 may hand out the start beside the bound of a better point
            most = max(absolute_gap, options.loose_gap * abs(self.objective_of(start)))
            if not outcome.nodes or self._apart(outcome) > most + 1e-6:
                again = self.run(options, absolute_gap, None, listeners, judge)
                again.seconds += outcome.seconds
                return again
        return outcome

    def _apart(self, outcome: Outcome) -> float:
        """How far above its bound the point of an outcome lies, relatively beyond 1."""
        if outcome.values is None:
            return math.inf
        value = self.objective_of(outcome.values)
        return (value - outcome.dual_bound) / max(1.0, abs(value))

    @property
    def _is_mip(self) -> bool:
        """Whether there is anything to branch on: an exact program may have lost its integers."""
        return self.kind == "exact" and bool(self.integral.any())

    def outcome(self, interrupted: bool, mip_gap: float) -> Outcome:
        """Read HiGHS's answer; a point counts only where HiGHS calls it feasible."""
        highs, is_mip = self.highs, self._is_mip
        info, answer = highs.getInfo(), highs.getSolution()
        termination = termination_of(highs)
        if termination is Termination.INTERRUPTED and not interrupted:
            termination = Termination.TIME_LIMIT  # our own watchdog
        found = is_feasible(info) and answer.value_valid
        closed = not is_mip or mip_gap == 0 or info.mip_gap <= 1e-9
        if termination is Termination.COMPLETED and found and not closed:
            termination = Termination.GAP_REACHED
        outcome = Outcome(termination, nodes=max(int(info.mip_node_count), 0))
        if found:
            outcome.values = np.asarray(answer.col_value, dtype=np.float64)
        if is_mip:
            outcome.dual_bound = float(info.mip_dual_bound) / self.scale
        elif answer.dual_valid:
            outcome.row_dual = np.asarray(answer.row_dual) / self.scale
            outcome.col_dual = np.asarray(answer.col_dual) / self.scale
            if self.kind == "exact":
                outcome.dual_bound = self.dual_bound_of(outcome.row_dual)
        return outcome


class SessionSolver(Solver):
    """A solver that works on a session."""

    loads = True
    takes_own_options = True

    def version(self) -> str:
        """The version of HiGHS."""
        return self_test()


class Highs(SessionSolver):
    """HiGHS alone; what it shows of its points is what a re-check says of their cards."""

    checks = True

    def solve(self, task: Task) -> Outcome:
        """One run."""
        from milpscore.solvers.finish import absolute_gap
        from milpscore.solvers.hull_covers import hull_covers

        gap = absolute_gap(task.program, task.options)

        def judge(values: FloatArray) -> float:
            task.loaded.load_values(values)
            verdict = check(task.program, task.program.card(), form=task.form)
            return verdict.objective if verdict.feasible else math.inf

        if task.kind != "exact":
            return task.loaded.run(task.options, gap, task.vector, task.listeners)
        session, since = task.loaded, Clock()
        try:
            if session.covers is None or session.covers.shape[1] < len(session.columns):
                session.covers = hull_covers(session, task.options)
        except KeyboardInterrupt:
            return Outcome(Termination.INTERRUPTED, seconds=since.seconds)
        with session.beside(session.covers):
            return session.run(task.options, gap, task.vector, task.listeners, judge, since)


def _compiled(model: Any) -> Any:
    """The model's standard form; a FormulationError where it is not a linear program."""
    try:
        form = standard_form(model)
    except ValueError as error:  # Pyomo's errors for nonlinear rows and other parts among them
        raise FormulationError(
            f"the model is not a linear program with whole numbers: {' '.join(str(error).split())}"
            "; write what you added as linear constraints"
        ) from error
    if form.c.shape[0] != 1:
        raise FormulationError("the model needs exactly one active objective")
    return form


def _cost_scale(cost: FloatArray) -> float:
    """The power of two that brings the least nonzero cost up to about ``LEAST_COST``."""
    # 1 on a few hundred rows: there HiGHS proves more with the small costs (haberman, 5,000 nodes:
    # bound 0.102 unscaled, 0.071 scaled up to 1)
    sizes = np.abs(cost[cost != 0])
    if not len(sizes):
        return 1.0
    return float(2.0 ** np.clip(np.floor(np.log2(POLICY.least_cost / sizes.min())), 0, 20))


def _ends(values: list[Any], missing: float) -> FloatArray:
    """Ends of ranges as floats, ``missing`` where there is none."""
    return np.array([missing if v is None else v for v in values], dtype=np.float64)


# -- units -----------------------------------------------------------------------------------------
#
# HiGHS drops matrix entries of 1e-9 and below, after its presolve has brought each row's largest
# entry to about 1; and its tolerances, some 1e-7, are absolute. A program in small numbers is
# therefore stated to it in other units: powers of two, so that nothing is rounded.


@dataclass(frozen=True)
class Units:
    """A variable is ``column`` times HiGHS's; HiGHS's rows are ``row`` times the model's.

    ``lost`` holds the (row, column, entry) that HiGHS may drop although they count; ``blur`` is
    what entries within its tolerances move a row by at most, as a share of the row's end. ``wide``
    is such an entry of a term too large for its arithmetic. ``idle`` marks entries that it may drop
    and that do not count, in the order of the matrix, and ``spare`` is what they move each row by.
    """

    column: FloatArray
    row: FloatArray
    idle: BoolArray
    spare: FloatArray
    lost: tuple[int, int, float] | None
    wide: tuple[int, int, float] | None
    blur: float


def units_of(
    matrix: sparse.csc_array, rhs: FloatArray, reach: FloatArray, real: BoolArray, harmless: float
) -> Units:
    """Return units for rows ``matrix @ x ~ rhs`` over columns of sizes up to ``reach``."""
    # Only columns in ``real`` have a choice. What is lost counts where it moves a row by more than
    # ``harmless`` times the least end of a row.
    known = np.where(np.isfinite(reach), reach, 1.0)
    narrow = real & (known > 0) & (known < POLICY.small_numbers)
    column = np.where(narrow, 2.0 ** np.floor(np.log2(np.where(narrow, known, 1.0))), 1.0)
    entries = sparse.coo_array(matrix)
    at: IntArray = np.asarray(entries.row, dtype=np.int64)
    terms = np.abs(entries.data) * known[entries.col]
    # a column fixed at 0 is gone before a row is looked at
    sizes = np.where(terms > 0, np.abs(entries.data) * column[entries.col], 0.0)
    ends = np.abs(rhs)
    quantum = harmless * float(ends[ends > 0].min(initial=math.inf))
    quantum = quantum if math.isfinite(quantum) else 0.0
    heard = terms > np.maximum(quantum, np.finfo(np.float64).eps * _of_rows(at, terms, len(rhs)))
    largest = np.maximum(_of_rows(at, terms, len(rhs), each=False), ends)
    # the least number that decides: an entry, or the row's end
    smallest = np.full(len(rhs), np.inf)
    np.minimum.at(smallest, at[heard], sizes[heard])
    low = np.minimum(largest, np.where(ends > 0, ends, np.inf))
    small = (largest > 0) & ((low < POLICY.small_numbers) | (smallest < POLICY.least_entry))
    wanted = np.maximum(-np.floor(np.log2(np.where(small, low, 1.0))), 0.0)
    seen = np.isfinite(smallest) & small
    wanted = np.maximum(
        wanted, np.ceil(np.log2(POLICY.least_entry / np.where(seen, smallest, 1.0)))
    )
    most = np.floor(np.log2(POLICY.most_term / np.where(small, largest, 1.0)))
    row = np.where(small, 2.0 ** np.maximum(np.minimum(wanted, most), 0.0), 1.0)
    dropped = (terms > 0) & (sizes <= POLICY.dropped_share * _of_rows(at, sizes, len(rhs)))
    idle = ~heard & dropped
    spare = np.asarray(np.bincount(at, terms * idle, len(rhs)), dtype=np.float64)
    unheard = np.bincount(at, weights=terms * ~heard, minlength=len(rhs))
    blur = float(np.divide(unheard, ends, out=np.zeros(len(rhs)), where=ends > 0).max(initial=0.0))
    lost = np.flatnonzero(heard & dropped)
    # an end that no unit brings above HiGHS's tolerances: it can tell nothing of this row
    lost = np.append(
        lost, np.flatnonzero(((ends > 0) & (ends * row < POLICY.least_end))[at] & heard)
    )
    far = np.flatnonzero((ends > 0)[at] & (terms * row[at] > POLICY.widest_term))

    def largest_of(some: IntArray, by: FloatArray) -> tuple[int, int, float] | None:
        if not len(some):
            return None
        k = int(some[np.argmax(by[some])])
        return int(at[k]), int(entries.col[k]), float(entries.data[k])

    wide = largest_of(far, np.abs(entries.data))
    return Units(column, row, idle, spare, largest_of(lost, terms), wide, blur)


def _of_rows(at: IntArray, sizes: FloatArray, rows: int, *, each: bool = True) -> FloatArray:
    """The largest size in each entry's row, or in each row."""
    largest = np.zeros(rows)
    np.maximum.at(largest, at, sizes)
    return largest[at] if each else largest
