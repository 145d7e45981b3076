"""What every trainer takes, notes on its way, and answers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError, OptionError
from milpscore.core.jit import is_interrupt
from milpscore.sequence._data import SequenceData
from milpscore.sequence._prepared import Prepared, prepare
from milpscore.sequence._stopping import Objective, Status
from milpscore.sequence._viterbi import viterbi

TOL = 1e-4


@dataclass(frozen=True)
class TraceRow:
    """One look at a training; a list of these makes a DataFrame.

    Attributes
    ----------
    iteration : int
    seconds : float
        Of training; errors and callbacks are off the clock.
    objective : float
    active : int
        Parameters that are not zero.
    distance : float
        See :meth:`.Objective.distance`.
    token_error, sequence_error : float
        Shares of the training data decoded wrongly; nan where they were not looked at.
    dev_token_error, dev_sequence_error : float
        The same on the development data.
    """

    iteration: int
    seconds: float
    objective: float
    active: int
    distance: float
    token_error: float = math.nan
    sequence_error: float = math.nan
    dev_token_error: float = math.nan
    dev_sequence_error: float = math.nan


@dataclass(frozen=True, eq=False)
class TrainOptions:
    """What a trainer is asked for.

    Attributes
    ----------
    rho1, rho2 : float
        Weights of |theta|_1 and |theta|_2^2 / 2 beside the summed loss.
    start : ndarray of shape (n_parameters,) or None
        Parameters to begin with (a warm start), zeros by default.
    tol : float
        Relative distance of 0 to the subdifferential at which to stop; 0 to go on to the limits.
    max_iterations : int
    time_limit : float or None
        Seconds of training.
    dev : SequenceData, Prepared or None
        Data on which the errors are traced.
    keep_by_dev : bool
        Keep the model of the fewest token errors on ``dev``, the first among equals, instead of
        that of the lowest objective.
    errors_every : int
        Trace the errors each so many iterations, 0 for the last one only.
    callback : callable or None
        Called with each :class:`TraceRow`; training stops where it returns True.
    random_state : int, Generator or None
        For trainers that draw.

    Raises
    ------
    OptionError
        A value outside its range.
    """

    rho1: float = 0.0
    rho2: float = 0.0
    start: FloatArray | None = None
    tol: float = TOL
    max_iterations: int = 1000
    time_limit: float | None = None
    dev: SequenceData | Prepared | None = None
    keep_by_dev: bool = False
    errors_every: int = 0
    callback: Callable[[TraceRow], Any] | None = None
    random_state: Any = None

    def __post_init__(self) -> None:
        for name in ("rho1", "rho2", "tol", "max_iterations", "errors_every", "time_limit"):
            value = getattr(self, name)
            if value is not None and not (value >= 0 and math.isfinite(value)):
                raise OptionError(f"{name} must be finite and not negative, got {value}")
        if self.keep_by_dev and (self.dev is None or not self.errors_every):
            raise OptionError("keep_by_dev needs dev, and errors_every of 1 or more")


@dataclass(frozen=True, eq=False)
class TrainResult:
    """A trained CRF.

    Attributes
    ----------
    theta : ndarray of shape (n_parameters,)
        The parameters of the lowest objective seen, or of the fewest errors on ``dev``.
    objective : float
    active : int
        Parameters that are not zero.
    distance : float
        Relative distance of 0 to the subdifferential at ``theta``.
    status : Status
        "converged", "iteration_limit", "time_limit", "interrupted", "stopped", "stalled" or "flat".
    trace : tuple of TraceRow
    seconds : float
    """

    theta: FloatArray
    objective: float
    active: int
    distance: float
    status: Status
    trace: tuple[TraceRow, ...]
    seconds: float

    @property
    def converged(self) -> bool:
        """Whether ``tol`` was reached."""
        return self.status is Status.CONVERGED

    def summary(self) -> str:
        """One line: objective, active parameters, distance, why it stopped."""
        return (
            f"objective {self.objective:.8g}, {self.active} of {len(self.theta)} parameters active,"
            f" distance {self.distance:.1e}, {self.trace[-1].iteration} iterations in"
            f" {self.seconds:.3g} s. {self.status.sentence}"
        )


def decoding_errors(data: SequenceData | Prepared, theta: FloatArray) -> tuple[float, float]:
    """Shares of tokens, and of sequences, that the most probable labels get wrong.

    A label never seen in training is always wrong; without positions both are 0.

    Raises
    ------
    DataError
        The data has no labels.
    """
    ready = prepare(data)
    labels = ready.data.labels
    if labels is None:
        raise DataError("errors need labels: give labelled sequences, or leave them out")
    wrong = viterbi(ready, theta) != labels
    if not len(wrong):
        return 0.0, 0.0
    of_position = np.repeat(np.arange(ready.data.n_sequences), ready.data.lengths)
    return float(wrong.mean()), len(np.unique(of_position[wrong])) / ready.data.n_sequences


@dataclass(eq=False)
class Recorder:
    """The clock, the trace and the best model of one training.

    A trainer calls :meth:`note` once before its first iteration and after each, and returns the
    status that it answers. It must not write to a theta once noted.
    """

    objective: Objective
    options: TrainOptions
    trace: list[TraceRow] = field(default_factory=list)
    theta: FloatArray | None = None
    best: TraceRow | None = None
    _started: float = field(default_factory=time.perf_counter)
    _paused: float = 0.0

    def __post_init__(self) -> None:
        dev = self.options.dev
        self.dev = None if dev is None else prepare(dev)

    @property
    def seconds(self) -> float:
        """Seconds of training so far."""
        return time.perf_counter() - self._started - self._paused

    def note(
        self, iteration: int, theta: FloatArray, value: float, distance: float
    ) -> Status | None:
        """Note an iterate; say why to stop, None to go on.

        Parameters
        ----------
        iteration : int
        theta : ndarray of shape (n_parameters,)
        value : float
            The objective there.
        distance : float
            See :meth:`.Objective.distance`.
        """
        seconds = self.seconds
        since = time.perf_counter()
        every = self.options.errors_every
        row = TraceRow(
            iteration,
            seconds,
            value,
            int(np.count_nonzero(theta)),
            distance,
            *(self._errors(theta) if every and iteration % every == 0 else ()),
        )
        self.trace.append(row)
        if self.best is None or self._better(row, self.best):
            self.best, self.theta = row, theta
        asked = self.options.callback is not None and self.options.callback(row) is True
        self._paused += time.perf_counter() - since
        if distance <= self.options.tol:
            return Status.CONVERGED
        if asked:
            return Status.STOPPED
        if iteration >= self.options.max_iterations:
            return Status.ITERATION_LIMIT
        if self.options.time_limit is not None and seconds >= self.options.time_limit:
            return Status.TIME_LIMIT
        return None

    def _better(self, row: TraceRow, best: TraceRow) -> bool:
        """Whether a model is to be kept in place of the best one so far."""
        if not self.options.keep_by_dev:
            return row.objective <= best.objective
        if math.isnan(row.dev_token_error):  # its errors were not looked at
            return False
        return math.isnan(best.dev_token_error) or row.dev_token_error < best.dev_token_error

    def result(self, status: Status) -> TrainResult:
        """The best iterate, with its errors looked at if they were not."""
        if self.best is None or self.theta is None:
            raise RuntimeError("a trainer must note its start before it answers")
        seconds = self.seconds
        if math.isnan(self.best.token_error):
            row = self.best
            errors = self._errors(self.theta)
            self.best = TraceRow(
                row.iteration, row.seconds, row.objective, row.active, row.distance, *errors
            )
            self.trace[self.trace.index(row)] = self.best
        return TrainResult(
            theta=self.theta,
            objective=self.best.objective,
            active=self.best.active,
            distance=self.best.distance,
            status=status,
            trace=tuple(self.trace),
            seconds=seconds,
        )

    def _errors(self, theta: FloatArray) -> tuple[float, ...]:
        own = decoding_errors(self.objective.prepared, theta)
        return own if self.dev is None else own + decoding_errors(self.dev, theta)


Algorithm = Callable[[Objective, FloatArray, Recorder], Status]


def train_by(
    algorithm: Algorithm, data: SequenceData | Prepared, options: TrainOptions
) -> TrainResult:
    """Run an algorithm from its start; an interrupt from the keyboard keeps the best model.

    Raises
    ------
    DataError
        Labels are missing or were never seen in training, or the start is of another model.
    KeyboardInterrupt
        Before there was any model to keep.
    """
    ready = prepare(data)
    layout = ready.layout
    start = layout.zeros() if options.start is None else np.array(options.start, dtype=np.float64)
    layout.split(start)
    recorder = Recorder(Objective(ready, options.rho1, options.rho2), options)
    try:
        status = algorithm(recorder.objective, start, recorder)
    except (KeyboardInterrupt, SystemError) as error:
        if recorder.best is None or not is_interrupt(error):
            raise
        status = Status.INTERRUPTED
    return recorder.result(status)
