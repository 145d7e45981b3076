"""HiGHS itself: how one is made, its options, and a run in a thread that can be stopped."""

from __future__ import annotations

import ctypes
import math
import os
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

import highspy
import numpy as np
from scipy import sparse

from milpscore.core.clock import Clock
from milpscore.core.design import FloatArray
from milpscore.core.errors import OptionError, SelfTestError, SolverError
from milpscore.core.result import Termination, TracePoint
from milpscore.solvers.engine import Listener, Progress
from milpscore.solvers.options import Options
from milpscore.solvers.policy import POLICY

Judge: TypeAlias = Callable[[FloatArray], float]
"""Return the objective of a point in HiGHS, infinite if it is not a card."""


class Watch(Progress):
    """What HiGHS calls back during one run: its progress comes in, the wish to stop goes out."""

    def __init__(
        self, time_limit: float, scale: float = 1.0, start_objective: float | None = None,
        listeners: Sequence[Listener] = (), judge: Judge | None = None,
        since: Clock | None = None,
    ) -> None:  # fmt: skip
        super().__init__(time_limit, listeners, since)
        self.judge, self.best = judge, math.inf
        self.stop = threading.Event()
        self.asked = False  # by a listener, to stop
        self.error: BaseException | None = None
        self.scale, self.start_objective = scale, start_objective
        self.start_taken = False

    def interrupt(self, event: Any) -> None:
        """Tell HiGHS whether to stop."""
        if self.stop.is_set():
            event.interrupt()

    def log(self, event: Any) -> None:
        """Record incumbent, bound and nodes."""
        self._record(event.data_out, event.data_out.mip_primal_bound)

    def incumbent(self, event: Any) -> None:
        """Record an improving solution; the first one may be the start."""
        found = event.data_out.objective_function_value
        first = self.start_objective
        if first is not None and not any(math.isfinite(point.objective) for point in self.trace):
            self.start_taken = found / self.scale <= first + 1e-9 * max(1.0, abs(first))
        self._record(event.data_out, found, improved=True)

    def _record(self, data: Any, objective: float, improved: bool = False) -> None:
        bound, nodes = float(data.mip_dual_bound) / self.scale, max(int(data.mip_node_count), 0)
        try:
            if improved and self.judge is not None:
                values = np.array(data.mip_solution, dtype=np.float64)
                self.best = min(self.best, self.judge(values))
            shown = float(objective / self.scale) if self.judge is None else self.best
            point = TracePoint(self.seconds, shown, min(bound, shown), nodes)
            self.trace.append(point)
            if self.asked_to_stop(point):
                self.asked = True
                self.stop.set()
        except BaseException as error:  # noqa: BLE001 raised again after the run: none may travel through C++
            self.error = error
            self.stop.set()


Receivers = Sequence[tuple[Any, Callable[[Any], None]]]


def run_watched(highs: Any, watch: Watch, receivers: Receivers) -> bool:
    """Run HiGHS in a thread so that Ctrl-C and the watchdog act at once; whether it was stopped."""
    # Up to Python 3.12 a Ctrl-C inside Thread.join marks a running thread as ended: HiGHS would be
    # read, and the process ended, under its feet. An event is reliable.
    done = threading.Event()

    def work() -> None:
        try:
            run_here(highs)
        except BaseException as error:  # noqa: BLE001 - raised again below
            watch.error = error
        finally:
            done.set()

    for channel, receiver in receivers:
        channel.subscribe(receiver)
    interrupted = False
    try:
        threading.Thread(target=work, name="highs", daemon=True).start()
        while not done.is_set():
            try:
                done.wait(0.02 if watch.seconds < 1 else 0.1)
                if watch.deadline.seconds > watch.deadline + POLICY.grace:
                    watch.stop.set()
            except KeyboardInterrupt:
                interrupted = True
                watch.stop.set()
    finally:
        for channel, receiver in receivers:
            channel.unsubscribe(receiver)
    if watch.error is not None:
        raise watch.error
    return interrupted or watch.asked


def release_threads() -> None:
    """Let the next run of HiGHS in this thread be on any number of threads."""
    # HiGHS keeps the number of a thread's first run, whoever made it, and refuses every other: so
    # before and after each run
    highspy.Highs.resetGlobalScheduler(True)


def run_here(highs: Any) -> None:
    """Run HiGHS in this thread, on the threads asked for; raise SolverError if it did not."""
    presolve = highs.getOptionValue("presolve")[1]
    try:
        for way in (presolve, "on"):
            set_option(highs, "presolve", way)
            release_threads()
            failed = highs.run() == highspy.HighsStatus.kError
            set_option(highs, "presolve", presolve)
            if not failed or highs.getModelStatus() != highspy.HighsModelStatus.kNotset:
                return
            highs.clearSolver()  # the simplex broke down: once more from nothing, presolved
    finally:
        release_threads()
    raise SolverError(
        "HiGHS broke down, as it may where numbers differ by many powers of ten: scale or bin the "
        "columns of the largest values, or use another solver; verbose=True shows its log"
    )


def set_option(highs: Any, name: str, value: bool | int | float | str) -> None:
    """Set one HiGHS option; highspy only returns an error for a bad one, this raises it."""
    if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
        raise SolverError(f"HiGHS refused option {name}={value!r}")


# -- HiGHS's own options, rows and answers ---------------------------------------------------------


def termination_of(highs: Any) -> Termination:
    """Why the last run of HiGHS stopped."""
    status = highspy.HighsModelStatus
    known = {
        status.kOptimal: Termination.COMPLETED,
        status.kInfeasible: Termination.INFEASIBLE,
        status.kUnbounded: Termination.UNBOUNDED,
        # finite ranges bound every stated objective: nothing but infeasibility is left
        status.kUnboundedOrInfeasible: Termination.INFEASIBLE,
        status.kTimeLimit: Termination.TIME_LIMIT,
        status.kSolutionLimit: Termination.NODE_LIMIT,
        status.kIterationLimit: Termination.ITERATION_LIMIT,
        status.kInterrupt: Termination.INTERRUPTED,
        status.kModelEmpty: Termination.COMPLETED,
    }
    return known.get(highs.getModelStatus(), Termination.ERROR)


def is_feasible(info: Any) -> bool:
    """Whether HiGHS calls the point it holds feasible."""
    status = info.primal_solution_status
    return bool(status == highspy.SolutionStatus.kSolutionStatusFeasible)


def highs_of(
    matrix: Any, cost: tuple[FloatArray, float], columns: tuple[FloatArray, FloatArray],
    rows: tuple[FloatArray, FloatArray], integral: Any = None,
) -> Any:  # fmt: skip
    """Return a silent ``highspy.Highs`` with a linear program: csc matrix, costs, ends."""
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = matrix.shape
    lp.col_cost_, lp.offset_ = cost
    lp.col_lower_, lp.col_upper_ = columns
    lp.row_lower_, lp.row_upper_ = rows
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = matrix.indptr.astype(np.int32)
    lp.a_matrix_.index_ = matrix.indices.astype(np.int32)
    lp.a_matrix_.value_ = matrix.data
    if integral is not None:
        real, whole = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger
        lp.integrality_ = [whole if each else real for each in integral.tolist()]
    _silence_the_banner()
    highs = highspy.Highs()
    set_option(highs, "output_flag", False)
    set_option(highs, "threads", 1)
    if highs.passModel(lp) == highspy.HighsStatus.kError:
        largest = float(np.abs(matrix.data).max(initial=0.0))
        raise SolverError(
            f"HiGHS refused the model, whose numbers reach {largest:.2g}: beyond 1e15 give the "
            "columns a larger unit or bin them; else write it with program.write('x.lp') and look"
        )
    return highs


@cache
def _silence_the_banner() -> None:
    """Make the process's first Highs, which prints two lines in 1.16.0."""
    # what a command writes to stdout is for the next program to read. The lines stand in C's own
    # buffer, so that it is emptied on both sides
    buffers = ctypes.CDLL("ucrtbase" if os.name == "nt" else None)
    if sys.stdout is not None:
        sys.stdout.flush()
    try:
        stdout = os.dup(1)
    except OSError:  # a process without a stdout, where nothing can be printed
        return
    try:
        with open(os.devnull, "wb") as nowhere:
            buffers.fflush(None)
            os.dup2(nowhere.fileno(), 1)
            highspy.Highs()
            buffers.fflush(None)
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)


def add_rows(highs: Any, rows: Any, lower: FloatArray, upper: FloatArray) -> None:
    """Add rows lower <= rows @ x <= upper, a sparse csr array, to a HiGHS."""
    start, index = rows.indptr[:-1].astype(np.int32), rows.indices.astype(np.int32)
    highs.addRows(len(lower), lower, upper, rows.nnz, start, index, rows.data)


def set_integrality(highs: Any, integral: Any) -> None:
    """Make the masked columns of a HiGHS whole and all others real."""
    of = highspy.HighsVarType
    kinds = np.where(integral, int(of.kInteger), int(of.kContinuous)).astype(np.uint8)
    highs.changeColsIntegrality(len(kinds), np.arange(len(kinds), dtype=np.int32), kinds)


def limit_run(highs: Any, seconds: float, nodes: int | None, *, mip: bool) -> None:
    """Limit the next run; HiGHS adds up the seconds of LPs, and counts a MIP's run by run."""
    set_option(highs, "time_limit", float(seconds) + (0.0 if mip else highs.getRunTime()))
    set_option(highs, "mip_max_nodes", 2**31 - 1 if nodes is None else int(nodes))


def configure(
    highs: Any, options: Options, absolute_gap: float, tolerance: float = POLICY.mip_tolerance
) -> None:
    """Set what every HiGHS of a run shares: gaps, threads, seed, presolve, the console."""
    set_option(highs, "log_to_console", options.verbose)
    set_option(highs, "mip_rel_gap", float(options.loose_gap))
    set_option(highs, "mip_abs_gap", absolute_gap)
    set_option(highs, "mip_feasibility_tolerance", tolerance)
    set_option(highs, "dual_feasibility_tolerance", 0.1 * tolerance)
    # after a root restart HiGHS 1.15.1 can call a card optimal that is not (integer equality rows)
    set_option(highs, "mip_allow_restart", False)
    set_option(highs, "threads", int(options.threads))
    set_option(highs, "random_seed", int(options.random_state))
    set_option(highs, "presolve", "on" if options.presolve else "off")
    for name, value in options.own("highs").items():
        if (ours := _OURS.get(name)) is not None:
            raise OptionError(f"HiGHS's {name} is set by milpscore: {ours}")
        set_option(highs, name, value)


_TRUST = "another value would make its claims unsafe"
_OURS = {
    "time_limit": "use time_limit", "mip_rel_gap": "use mip_gap", "mip_abs_gap": "use mip_gap_abs",
    "mip_max_nodes": "use node_limit", "threads": "use threads", "random_seed": "use random_state",
    "presolve": "use presolve", "log_file": "use log_file", "output_flag": "use verbose",
    "log_to_console": "use verbose", "mip_feasibility_tolerance": _TRUST,
    "primal_feasibility_tolerance": _TRUST, "dual_feasibility_tolerance": _TRUST,
    "mip_allow_restart": _TRUST, "objective_bound": "use cutoff", "objective_target": "use cutoff",
    "small_matrix_value": _TRUST, "large_matrix_value": _TRUST, "infinite_cost": _TRUST,
    "infinite_bound": _TRUST,
}  # fmt: skip
"""Options of HiGHS that are not a user's, and what is."""


@cache
def self_test() -> str:
    """HiGHS's version, once it solved min 2x + 3z, x + z >= 4.5, 0 <= x, z <= 10, z whole."""
    # the optimum is 9 at (4.5, 0); highspy 1.14.0 answers 15 (its presolve fixes z at 5)
    ends, rows = (np.zeros(2), np.full(2, 10.0)), (np.array([4.5]), np.array([np.inf]))
    matrix, cost = sparse.csc_array(np.ones((1, 2))), (np.array([2.0, 3.0]), 0.0)
    solver = highs_of(matrix, cost, ends, rows, np.array([False, True]))
    run_here(solver)
    answer = solver.getInfo().objective_function_value
    version = str(solver.version())
    if abs(answer - 9.0) > 1e-6:
        raise SelfTestError(
            f"HiGHS {version} answers {answer:g} on a two-variable program whose optimum is 9: "
            "install highspy 1.15.1 or later"
        )
    return version
