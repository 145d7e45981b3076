"""One run of HiGHS, in a thread that can be stopped, with what it reports on the way."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import highspy
import numpy as np

from milpscore.core.clock import Clock
from milpscore.core.design import FloatArray
from milpscore.core.errors import SolverError
from milpscore.core.result import TracePoint
from milpscore.solvers.engine import Listener, Progress
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
