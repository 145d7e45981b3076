"""One run of HiGHS: in a thread of its own, watched, interruptible, its progress recorded."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import highspy
import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.result import Termination, TracePoint
from milpscore.solvers._options import Options
from milpscore.solvers._session import Session

Progress = Callable[[TracePoint], None]

_GRACE = 0.5
"""Seconds past the time limit after which our own watchdog stops HiGHS."""

_STATUS = highspy.HighsModelStatus
_TERMINATION = {
    _STATUS.kOptimal: Termination.COMPLETED,
    _STATUS.kInfeasible: Termination.INFEASIBLE,
    _STATUS.kUnbounded: Termination.UNBOUNDED,
    _STATUS.kUnboundedOrInfeasible: Termination.INFEASIBLE,
    _STATUS.kTimeLimit: Termination.TIME_LIMIT,
    _STATUS.kSolutionLimit: Termination.NODE_LIMIT,
    _STATUS.kIterationLimit: Termination.ITERATION_LIMIT,
    _STATUS.kInterrupt: Termination.INTERRUPTED,
    _STATUS.kModelEmpty: Termination.COMPLETED,
}


@dataclass
class Outcome:
    """What HiGHS answered, before any re-check.

    Attributes
    ----------
    values : ndarray or None
        Only where HiGHS itself says the point is feasible.
    """

    termination: Termination
    values: FloatArray | None = None
    row_dual: FloatArray | None = None
    col_dual: FloatArray | None = None
    dual_bound: float = -math.inf
    nodes: int = 0
    seconds: float = 0.0
    start_taken: bool = False
    trace: list[TracePoint] = field(default_factory=list)


class Watch:
    """Callbacks of one run: progress in, the wish to stop out."""

    def __init__(
        self, scale: float, start_objective: float | None, progress: Progress | None
    ) -> None:
        self.stop = threading.Event()
        self.error: BaseException | None = None
        self.trace: list[TracePoint] = []
        self.scale = scale
        self.start_objective = start_objective
        self.start_taken = False
        self.started = time.perf_counter()
        self._progress = progress

    def interrupt(self, event: Any) -> None:
        """Tell HiGHS whether to stop."""
        if self.stop.is_set():
            event.interrupt()

    def log(self, event: Any) -> None:
        """Record incumbent, bound and nodes."""
        self._record(event.data_out)

    def incumbent(self, event: Any) -> None:
        """Record an improving solution, and whether it is the start that was handed in."""
        found = event.data_out.objective_function_value / self.scale
        if (
            self.start_objective is not None
            and not self.start_taken
            and not self.trace_has_incumbent()
        ):
            self.start_taken = found <= self.start_objective + 1e-9 * max(
                1.0, abs(self.start_objective)
            )
        self._record(event.data_out, found)

    def trace_has_incumbent(self) -> bool:
        """Whether some incumbent was seen already."""
        return any(np.isfinite(point.objective) for point in self.trace)

    def _record(self, data: Any, objective: float | None = None) -> None:
        point = TracePoint(
            seconds=time.perf_counter() - self.started,
            objective=float(data.mip_primal_bound / self.scale if objective is None else objective),
            dual_bound=float(data.mip_dual_bound) / self.scale,
            nodes=max(int(data.mip_node_count), 0),
        )
        self.trace.append(point)
        if self._progress is not None:
            try:
                self._progress(point)
            except BaseException as error:  # noqa: BLE001 raised again after the run: none may travel through C++
                self.error = error
                self.stop.set()


def run(
    session: Session,
    options: Options,
    absolute_gap: float,
    start: FloatArray | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Run HiGHS on a session.

    Parameters
    ----------
    session : Session
    options : Options
    absolute_gap : float
        Absolute gap at which HiGHS may stop.
    start : ndarray of shape (columns,), optional
        A complete feasible point.
    progress : callable, optional
        Called with each :class:`TracePoint`, from the solver's thread.

    Returns
    -------
    Outcome
    """
    highs = session.highs
    session.apply(options, absolute_gap)
    start_objective = None
    if start is not None:
        start_objective = float(session.cost @ start + session.offset)
        solution = highspy.HighsSolution()
        solution.col_value = start.tolist()
        highs.setSolution(solution)
    watch = Watch(session.scale, start_objective, progress)
    subscriptions = (
        (highs.cbMipInterrupt, watch.interrupt),
        (highs.cbSimplexInterrupt, watch.interrupt),
        (highs.cbIpmInterrupt, watch.interrupt),
        (highs.cbMipLogging, watch.log),
        (highs.cbMipImprovingSolution, watch.incumbent),
    )
    for channel, receiver in subscriptions:
        channel.subscribe(receiver)
    try:
        interrupted = run_watched(highs, watch, options.time_limit)
    finally:
        for channel, receiver in subscriptions:
            channel.unsubscribe(receiver)
    seconds = time.perf_counter() - watch.started
    if watch.error is not None:
        raise watch.error
    return _outcome(session, watch, seconds, interrupted, options)


def run_watched(highs: Any, watch: Watch, time_limit: float) -> bool:
    """Run in a thread so that Ctrl-C and the watchdog act at once; True after Ctrl-C."""
    # Up to Python 3.12 a Ctrl-C inside Thread.join marks a running thread as ended: HiGHS would be
    # read, and the process ended, under its feet. An event tells the truth.
    done = threading.Event()

    def work() -> None:
        try:
            highs.run()
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            watch.error = error
        finally:
            done.set()

    interrupted = False
    threading.Thread(target=work, name="highs", daemon=True).start()
    while not done.is_set():
        try:
            done.wait(0.02 if time.perf_counter() - watch.started < 1 else 0.1)
            if time.perf_counter() - watch.started > time_limit + _GRACE:
                watch.stop.set()
        except KeyboardInterrupt:
            interrupted = True
            watch.stop.set()
    return interrupted


def _outcome(
    session: Session, watch: Watch, seconds: float, interrupted: bool, options: Options
) -> Outcome:
    """Read HiGHS's answer; a point counts only where HiGHS calls it feasible."""
    highs = session.highs
    info, status = highs.getInfo(), highs.getModelStatus()
    termination = _TERMINATION.get(status, Termination.ERROR)
    if termination is Termination.INTERRUPTED and not interrupted:
        termination = Termination.TIME_LIMIT  # our own watchdog
    answer = highs.getSolution()
    feasible = (
        info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        and answer.value_valid
    )
    # an exact program may have lost its integers: fixed, or in no row and no cost
    integral = session.kind == "exact" and bool(session.integral.any())
    optimal = feasible and termination is Termination.COMPLETED
    bound = float(info.mip_dual_bound) / session.scale if integral else -np.inf
    if optimal and integral and info.mip_gap > 1e-9 and options.mip_gap > 0:
        termination = Termination.GAP_REACHED
    with_duals = not integral and answer.dual_valid
    if with_duals and session.kind == "exact":
        bound = session.dual_bound_of(np.asarray(answer.row_dual) / session.scale)
    return Outcome(
        termination=termination,
        values=np.asarray(answer.col_value, dtype=np.float64) if feasible else None,
        row_dual=np.asarray(answer.row_dual) / session.scale if with_duals else None,
        col_dual=np.asarray(answer.col_dual) / session.scale if with_duals else None,
        dual_bound=bound,
        nodes=max(int(info.mip_node_count), 0),
        seconds=seconds,
        start_taken=watch.start_taken,
        trace=watch.trace,
    )
