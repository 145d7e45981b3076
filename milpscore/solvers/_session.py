"""A program handed over to HiGHS once, then edited in place and solved again."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from scipy import sparse

from milpscore.core.algebra import standard_form, stated_objective, variables
from milpscore.core.design import FloatArray
from milpscore.core.errors import FormulationError, NotApplicableError, SolverError
from milpscore.core.program import Kind, Program
from milpscore.solvers._options import Options
from milpscore.solvers._self_test import self_test

_CONTINUOUS, _INTEGER = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger

WHOLE_TOLERANCE = 1e-9
"""A bound of an integer column this close to a whole number is that number."""

MAX_INTEGER = 1e9
"""Beyond 2^31 HiGHS 1.15.1 loops in presolve, deaf to time limits and interrupts."""

FREE_TOLERANCE = 1e-9
"""A reduced cost below this counts as 0 for a column without finite bounds."""

LEAST_COST = 2.0**-9
"""HiGHS's dual tolerance is 1e-7, whatever the costs: much smaller ones than this are scaled up."""


@dataclass(frozen=True)
class RowEnd:
    """The Pyomo constraint behind a compiled row, and its end: -1 lower, 0 both, 1 upper."""

    constraint: Any
    end: int


class Session:
    """A compiled program inside HiGHS.

    Re-solving after :meth:`relax`, :meth:`restore` or :meth:`set` edits the program where it is;
    nothing is compiled again. Constraints added to ``program.model`` later need a new session.

    Parameters
    ----------
    program : Program
        Its Pyomo model is compiled to standard form and handed over in one call.

    Attributes
    ----------
    handover_seconds : float
        Compiling and passing the model.
    scale : float
        HiGHS holds every cost times this power of two: with costs of 1/n its absolute tolerances
        would be coarse. Bounds, objectives and duals are divided by it when they are read.
    """

    def __init__(self, program: Program) -> None:
        self.version = self_test()
        started = time.perf_counter()
        self.program = program
        self.kind: Kind = program.kind
        form = _compiled(program.model)
        self.columns: list[Any] = form.columns
        self.rows = [RowEnd(row.constraint, row.bound_type) for row in form.rows]
        self.cost: FloatArray = form.c.toarray().ravel()
        self.offset = float(form.c_offset[0])
        self.matrix = form.A
        rhs = np.asarray(form.rhs, dtype=np.float64)
        ends = np.array([row.end for row in self.rows], dtype=np.int64)
        self.row_lower = np.where(ends <= 0, rhs, -np.inf)
        self.row_upper = np.where(ends >= 0, rhs, np.inf)
        self.col_lower = _bounds([var.lb for var in self.columns], -np.inf)
        self.col_upper = _bounds([var.ub for var in self.columns], np.inf)
        # a relaxation has no integers, those a user added to it after relaxing included
        self.integral = np.array(
            [self.kind == "exact" and not var.is_continuous() for var in self.columns], dtype=bool
        )
        # HiGHS gives wrong optima where an integer column has fractional bounds
        self.col_lower[self.integral] = np.ceil(self.col_lower[self.integral] - WHOLE_TOLERANCE)
        self.col_upper[self.integral] = np.floor(self.col_upper[self.integral] + WHOLE_TOLERANCE)
        self._position = {id(var): j for j, var in enumerate(self.columns)}
        self.idle = [
            var
            for var in variables(program.model)
            if id(var) not in self._position and not var.fixed
        ]
        self._require_finite_ranges()
        self._require_stated_objective()
        self.scale = _cost_scale(self.cost)
        self.highs = self.copy(relaxed=False)
        self.handover_seconds = time.perf_counter() - started

    def _require_finite_ranges(self) -> None:
        """Wrong answers on unbounded integers are an open report against HiGHS: refuse them."""
        wide = self.integral & ~(np.isfinite(self.col_lower) & np.isfinite(self.col_upper))
        if wide.any():
            name = self.columns[int(np.flatnonzero(wide)[0])].name
            raise FormulationError(f"integer variable {name} has no finite bounds: give it some")
        reach = np.maximum(np.abs(self.col_lower), np.abs(self.col_upper))
        for j in np.flatnonzero(self.integral & (reach > MAX_INTEGER))[:1]:
            raise FormulationError(
                f"integer variable {self.columns[j].name} reaches {reach[j]:.2g}; HiGHS runs on "
                f"without end beyond {MAX_INTEGER:.0e}: give the columns a larger unit, bin them, "
                "or narrow the variable's bounds"
            )

    def copy(self, *, relaxed: bool) -> Any:
        """A HiGHS of its own with the compiled arrays, handed over in one call.

        Parameters
        ----------
        relaxed : bool
            Leave integrality out.

        Returns
        -------
        highspy.Highs
        """
        lp = highspy.HighsLp()
        lp.num_row_, lp.num_col_ = self.matrix.shape
        lp.col_cost_, lp.offset_ = self.cost * self.scale, self.offset * self.scale
        lp.col_lower_, lp.col_upper_ = self.col_lower, self.col_upper
        lp.row_lower_, lp.row_upper_ = self.row_lower, self.row_upper
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = self.matrix.indptr
        lp.a_matrix_.index_ = self.matrix.indices
        lp.a_matrix_.value_ = self.matrix.data
        if not relaxed:
            lp.integrality_ = [
                _INTEGER if whole else _CONTINUOUS for whole in self.integral.tolist()
            ]
        highs = highspy.Highs()
        set_option(highs, "output_flag", False)
        if highs.passModel(lp) == highspy.HighsStatus.kError:
            raise SolverError(
                f"HiGHS refused the model, whose numbers reach {self._largest():.2g}: beyond 1e15 "
                "give the columns a larger unit or bin them; else write it with "
                "program.write('x.lp') and look"
            )
        return highs

    def _largest(self) -> float:
        """The largest number in the matrix."""
        return float(np.abs(self.matrix.data).max(initial=0.0))

    def position(self, var: Any) -> int:
        """Column of a Pyomo variable; KeyError where the compiled program does not use it."""
        return self._position[id(var)]

    def include(self, wanted: list[Any]) -> None:
        """Give variables no row and no cost speaks of a column: rows added later may need them."""
        new = [var for var in wanted if any(var is idle for idle in self.idle)]
        if not new:
            return
        low, high = _bounds([v.lb for v in new], -np.inf), _bounds([v.ub for v in new], np.inf)
        whole = np.array([self.kind == "exact" and not v.is_continuous() for v in new], dtype=bool)
        first = len(self.columns)
        self._position |= {id(var): first + k for k, var in enumerate(new)}
        self.idle = [idle for idle in self.idle if id(idle) not in self._position]
        self.columns = [*self.columns, *new]
        self.cost = np.append(self.cost, np.zeros(len(new)))
        self.col_lower, self.col_upper = (
            np.append(self.col_lower, low),
            np.append(self.col_upper, high),
        )
        self.integral = np.append(self.integral, whole)
        empty = sparse.csc_array((self.matrix.shape[0], len(new)))
        self.matrix = sparse.csc_array(sparse.hstack([self.matrix, empty]))
        self._require_finite_ranges()
        self.highs.addVars(len(new), low, high)
        self._integrality(self.integral & (self.kind == "exact"))

    def append(self, constraints: list[Any], matrix: Any, lower: FloatArray) -> None:
        """Add rows ``matrix @ x >= lower``, the model's ``constraints``, in place.

        Parameters
        ----------
        constraints : list of Pyomo constraints, already part of ``program.model``
        matrix : sparse array of shape (len(constraints), columns)
        lower : ndarray of shape (len(constraints),)
        """
        if not constraints:
            return
        rows = sparse.csr_array(matrix)
        self.rows = [*self.rows, *(RowEnd(constraint, -1) for constraint in constraints)]
        self.row_lower = np.append(self.row_lower, lower)
        self.row_upper = np.append(self.row_upper, np.full(len(lower), np.inf))
        self.matrix = sparse.csc_array(sparse.vstack([self.matrix, rows]))
        self.highs.addRows(
            len(lower),
            lower,
            np.full(len(lower), np.inf),
            rows.nnz,
            rows.indptr[:-1].astype(np.int32),
            rows.indices.astype(np.int32),
            rows.data,
        )

    def apply(self, options: Options, absolute_gap: float) -> None:
        """Set every option of a run."""
        configure(self.highs, options, absolute_gap * self.scale)
        # the log callbacks that carry bounds and nodes fire only with output on
        set_option(self.highs, "output_flag", True)
        set_option(self.highs, "log_file", options.log_file or "")
        # HiGHS counts the seconds of an LP from the first run on, those of a MIP run by run
        is_mip = self.kind == "exact" and bool(self.integral.any())
        spent = 0.0 if is_mip else self.highs.getRunTime()
        set_option(self.highs, "time_limit", spent + float(options.time_limit))
        nodes = 2**31 - 1 if options.node_limit is None else int(options.node_limit)
        set_option(self.highs, "mip_max_nodes", nodes)

    def relax(self) -> None:
        """Drop integrality, in place."""
        self._integrality(np.zeros_like(self.integral))
        self.kind = "relaxed"

    def restore(self) -> None:
        """Bring integrality back, in place."""
        if self.program.kind == "relaxed":
            raise NotApplicableError(
                "this session was made from a relaxed program: load program.exact()"
            )
        self._integrality(self.integral)
        self.kind = "exact"

    def _integrality(self, integral: Any) -> None:
        kinds = np.where(integral, int(_INTEGER), int(_CONTINUOUS)).astype(np.uint8)
        count = len(self.columns)
        self.highs.changeColsIntegrality(count, np.arange(count, dtype=np.int32), kinds)

    def set(self, **weights: float) -> None:
        """Change penalty weights in place, as :meth:`Program.set` does, costs in HiGHS included.

        Only the objective's cost vector is touched.
        """
        self.program.set(**weights)
        cost, offset = self._objective()
        changed = np.flatnonzero(cost != self.cost).astype(np.int32)
        if len(changed):
            self.highs.changeColsCost(len(changed), changed, cost[changed] * self.scale)
        self.highs.changeObjectiveOffset(offset * self.scale)
        self.cost, self.offset = cost, offset

    def _objective(self) -> tuple[FloatArray, float]:
        """Costs of the stated objective as its Params stand now."""
        linear = stated_objective(self.program.model)
        cost = np.zeros(len(self.columns))
        for var, coefficient in zip(linear.linear_vars, linear.linear_coefs, strict=True):
            cost[self._position[id(var)]] += coefficient
        return cost, float(linear.constant)

    def _require_stated_objective(self) -> None:
        """A bound on any other objective would say nothing about the cards of the statement."""
        cost, offset = self._objective()
        if not np.allclose(np.r_[cost, offset], np.r_[self.cost, self.offset], 1e-9, 0.0):
            raise FormulationError(
                "the model's objective is not the one that was stated (model.loss + "
                "model.penalty): change weights with program.set or a new program, or write the "
                "model to a file and solve it elsewhere"
            )

    def vector(self) -> FloatArray:
        """The model's current values in column order; NaN where a variable has none."""
        return np.array(
            [np.nan if v.value is None else v.value for v in self.columns], dtype=np.float64
        )

    def load_values(self, values: FloatArray) -> None:
        """Write a solution vector back into the Pyomo model.

        Variables no row and no cost speaks of are not compiled; they take the value nearest to 0.
        """
        for var in self.idle:
            var.set_value(min(max(0, _or(var.lb, 0)), _or(var.ub, 0)), skip_validation=True)
        for var, value in zip(self.columns, values.tolist(), strict=True):
            if not var.fixed:  # fixed after the hand-over: the re-check compares the two
                var.set_value(value, skip_validation=True)

    def dual_bound_of(
        self,
        row_dual: FloatArray,
        col_lower: FloatArray | None = None,
        col_upper: FloatArray | None = None,
    ) -> float:
        """A lower bound on the LP from any row duals, recomputed with the program's own arrays.

        For every y: min c.x >= sum of y's best row ends + sum_j min over the column's range of
        (c - A'y)_j x_j. Duals that point to an infinite end are set to 0 first.
        """
        y = np.where((row_dual > 0) & np.isinf(self.row_lower), 0.0, row_dual)
        y = np.where((y < 0) & np.isinf(self.row_upper), 0.0, y)
        ends = np.where(y > 0, self.row_lower, np.where(y < 0, self.row_upper, 0.0))
        reduced = self.cost - self.matrix.T @ y
        # what rounding can do to a reduced cost, so that the bound stays one
        noise = 1e-13 * (np.abs(self.cost) + abs(self.matrix).T @ np.abs(y))
        low = self.col_lower if col_lower is None else col_lower
        high = self.col_upper if col_upper is None else col_upper
        end = np.where(reduced > 0, low, high)
        open_ = ~np.isfinite(end)
        if np.any(np.abs(reduced[open_]) > FREE_TOLERANCE):
            return -np.inf  # an unbounded column could still improve: these duals prove nothing
        best = reduced[~open_] * end[~open_]
        reach = np.maximum(
            np.abs(np.where(np.isfinite(low), low, 0.0)),
            np.abs(np.where(np.isfinite(high), high, 0.0)),
        )
        return float(self.offset + y @ ends + best.sum() - (noise * reach).sum())


def _compiled(model: Any) -> Any:
    """The model's standard form; a FormulationError where it is not a linear program."""
    try:
        form = standard_form(model)
    except ValueError as error:  # Pyomo's errors for nonlinear rows and other parts among them
        raise FormulationError(
            f"the model is no linear program with whole numbers: {' '.join(str(error).split())}; "
            "write what you added as linear constraints"
        ) from error
    if form.c.shape[0] != 1:
        raise FormulationError("the model needs exactly one active objective")
    return form


def set_option(highs: Any, name: str, value: bool | int | float | str) -> None:
    """Set one HiGHS option; highspy only returns an error for a bad one, this raises it."""
    if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
        raise SolverError(f"HiGHS refused option {name}={value!r}")


def configure(highs: Any, options: Options, absolute_gap: float) -> None:
    """Set what every HiGHS of a run shares: gaps, threads, seed, presolve, a quiet console."""
    set_option(highs, "log_to_console", False)
    set_option(highs, "mip_rel_gap", float(options.mip_gap))
    set_option(highs, "mip_abs_gap", absolute_gap)
    # HiGHS prunes this far below its incumbent: at the default of 1e-6 an optimum proved to the
    # last digit misses the claim
    set_option(highs, "mip_feasibility_tolerance", 1e-7)
    # after a root restart HiGHS 1.15.1 can call a card optimal that is not (integer equality rows)
    set_option(highs, "mip_allow_restart", False)
    set_option(highs, "threads", int(options.threads))
    set_option(highs, "random_seed", int(options.random_state))
    set_option(highs, "presolve", "on" if options.presolve else "off")


def _cost_scale(cost: FloatArray) -> float:
    """The power of two that brings the least nonzero cost up to about ``LEAST_COST``.

    1 on a few hundred rows: there HiGHS proves more with the small costs (haberman, 5,000 nodes:
    bound 0.102 unscaled, 0.071 scaled up to 1).
    """
    sizes = np.abs(cost[cost != 0])
    if not len(sizes):
        return 1.0
    return float(2.0 ** np.clip(np.floor(np.log2(LEAST_COST / sizes.min())), 0, 20))


def _or(bound: float | None, missing: float) -> float:
    """A bound, or ``missing`` where there is none."""
    return missing if bound is None else bound


def _bounds(values: list[Any], missing: float) -> FloatArray:
    """Bounds as floats, None meaning there is none."""
    return np.array([missing if v is None else v for v in values], dtype=np.float64)
