"""Training a CRF: the objective, what every trainer takes and answers, paths of rho1."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from milpscore.core.clock import Clock
from milpscore.core.design import FloatArray
from milpscore.core.errors import OptionError, Registry, is_number, is_whole
from milpscore.core.jit import is_interrupt
from milpscore.core.result import Termination
from milpscore.core.statement import ProxPenalty
from milpscore_sequence._data import Prepared, SequenceData, prepare
from milpscore_sequence.inference import decoding_errors, value_and_gradient

if TYPE_CHECKING:
    from pandas import DataFrame

TOL, DELTA = 1e-4, 0.0
NUMBERS = ("rho1", "rho2", "tol", "delta")
# Iterations that `delta` looks back.
_PERIOD = 10


def check_ranges(options: Any, numbers: Iterable[str], whole: Mapping[str, int]) -> None:
    """Refuse attributes that are not numbers >= 0, or whole ones of a least value each."""
    for name in numbers:
        value = getattr(options, name)
        if not (is_number(value) and 0 <= value < math.inf):
            raise OptionError(
                f"{{argument}} must be a finite number >= 0, got {value!r}", argument=name
            )
    for name, least in whole.items():
        if not is_whole(value := getattr(options, name), least):
            raise OptionError(
                f"{{argument}} must be a whole number >= {least}, got {value!r}", argument=name
            )


@dataclass(frozen=True)
class TraceRow:
    """One look at a training; a list makes a DataFrame.

    ``active`` parameters are not zero, ``distance`` is `Objective.distance`; errors are shares of
    the training and of the development data decoded wrongly, nan where they were not looked at.
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

    @classmethod
    def table(cls, trace: Iterable[TraceRow]) -> DataFrame:
        """A trace as a table, its columns the fields."""
        import pandas as pd

        return pd.DataFrame(list(map(vars, trace)), columns=[each.name for each in fields(cls)])

    def __str__(self) -> str:
        """The look in words, without what was not looked at."""
        text = (
            f"iteration {self.iteration:4d}  objective {self.objective:.6g}  active {self.active}  "
            f"distance {self.distance:.1e}"
        )
        for name, share in (("error", self.token_error), ("dev", self.dev_token_error)):
            text += "" if math.isnan(share) else f"  {name} {share:.2%}"
        return f"{text}  {self.seconds:.1f} s"


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
    delta : float
        Stop where the last ten iterations lowered the objective by less than this share of itself,
        as CRFsuite's rule of this name; 0 for never.
    time_limit : float or None
        Seconds of the call; kernels that have to be compiled first stand outside.
    dev : SequenceData, Prepared or None
        Data on which the errors are traced.
    keep_by_dev : bool
        Keep the model of the fewest token errors on ``dev``, the first among equals, instead of
        that of the lowest objective.
    errors_every : int
        Trace the errors after this number of iterations, 0 for the last one only.
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
    delta: float = DELTA
    time_limit: float | None = None
    dev: SequenceData | Prepared | None = None
    keep_by_dev: bool = False
    errors_every: int = 0
    callback: Callable[[TraceRow], Any] | None = None
    random_state: Any = None

    def __post_init__(self) -> None:
        """Refuse values outside their ranges."""
        check_ranges(self, NUMBERS, {"max_iterations": 0, "errors_every": 0})
        if self.time_limit is not None and not self.time_limit >= 0:
            raise OptionError(
                f"{{time_limit}} must not be negative, got {self.time_limit}", time_limit=...
            )
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
    termination : Termination
        CONVERGED, ITERATION_LIMIT, TIME_LIMIT, INTERRUPTED, STOPPED, STALLED or FLAT.
    trace : tuple of TraceRow
    seconds : float
    """

    theta: FloatArray
    objective: float
    active: int
    distance: float
    termination: Termination
    trace: tuple[TraceRow, ...]
    seconds: float

    @property
    def converged(self) -> bool:
        """Whether ``tol`` was reached."""
        return self.termination is Termination.CONVERGED

    def summary(self) -> str:
        """One line: objective, active parameters, distance, why it stopped."""
        return (
            f"objective {self.objective:.8g}, {self.active} of {len(self.theta)} parameters active,"
            f" distance {self.distance:.1e}, {self.trace[-1].iteration} iterations in"
            f" {self.seconds:.3g} s. {self.termination.sentence}"
        )


def least_subgradient(theta: FloatArray, gradient: FloatArray, rho1: float) -> FloatArray:
    """The element of least norm of the subdifferential of smooth + rho1 |.|_1 at theta."""
    # The pseudo-gradient of Andrew & Gao (2007, eq. 4), from the smooth part's gradient.
    if rho1 == 0.0:
        return gradient
    least: FloatArray = gradient - np.clip(gradient, -rho1, rho1)
    active = np.flatnonzero(theta != 0.0)  # of floats themselves it takes twice as long
    least[active] = gradient[active] + rho1 * np.sign(theta[active])
    return least


class Objective:
    """sum_i -log p(y_i | x_i) + rho1 |theta|_1 + rho2/2 |theta|_2^2 on one data set."""

    def __init__(self, prepared: Prepared, rho1: float, rho2: float) -> None:
        self.prepared, self.rho1, self.rho2 = prepared, rho1, rho2
        self.evaluations = 0  # gradients computed so far

    def smooth(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient of all but the L1 norm."""
        if not theta.any():
            return self._at_zero[0], self._at_zero[1].copy()
        return self._evaluated(theta)

    def penalised(self, theta: FloatArray, smooth_value: float) -> float:
        """The objective, from the value of its smooth part."""
        return smooth_value + self.rho1 * float(np.abs(theta).sum())

    def distance(self, theta: FloatArray, gradient: FloatArray) -> float:
        """Relative distance of 0 to the subdifferential, from the gradient of the smooth part."""
        # The norm of its least element, over the same at theta = 0. Where theta = 0 is optimal the
        # unit is the norm of the gradient there.
        least = least_subgradient(theta, gradient, self.rho1)
        return float(np.linalg.norm(least)) / self.unit

    def ridged(
        self, value: float, gradient: FloatArray, theta: FloatArray
    ) -> tuple[float, FloatArray]:
        """Value and gradient with the squared norm."""
        if self.rho2:
            value += 0.5 * self.rho2 * float(theta @ theta)
            gradient += self.rho2 * theta
        return value, gradient

    @cached_property
    def counts(self) -> FloatArray:
        """How often the labelled sequences hold each parameter."""
        counts = self.prepared.layout.zeros()
        index, count = self.prepared.observed
        counts[index] = count
        return counts

    @cached_property
    def _at_zero(self) -> tuple[float, FloatArray]:
        """Value and gradient of the smooth part of the uniform model."""
        return self._evaluated(self.prepared.layout.zeros())

    @cached_property
    def unit(self) -> float:
        """What distances are measured in."""
        gradient = self._at_zero[1]
        least = least_subgradient(np.zeros_like(gradient), gradient, self.rho1)
        return float(np.linalg.norm(least)) or float(np.linalg.norm(gradient)) or 1.0

    def _evaluated(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """One evaluation of the smooth part."""
        self.evaluations += 1
        return self.ridged(*value_and_gradient(self.prepared, theta), theta)


@dataclass(eq=False)
class Recorder:
    """The clock, the trace and the best model of one training."""

    objective: Objective
    options: TrainOptions
    trace: list[TraceRow] = field(default_factory=list)
    theta: FloatArray | None = None
    best: TraceRow | None = None
    least: list[float] = field(default_factory=list)  # objectives so far, as they never rise
    clock: Clock = field(default_factory=Clock)

    def note(
        self, iteration: int, theta: FloatArray, value: float, distance: float
    ) -> Termination | None:
        """Note an iterate with its objective and distance; say why to stop, None to go on."""
        # A trainer calls it once before its first iteration and after each, and returns the reason
        # to stop that it answers. It must not write to a theta once noted.
        options, every = self.options, self.options.errors_every
        errors = self._errors(theta) if every and iteration % every == 0 else ()
        active = int(np.count_nonzero(theta))
        row = TraceRow(iteration, self.clock.seconds, value, active, distance, *errors)
        self.trace.append(row)
        self.least.append(min([value, *self.least[-1:]]))
        if self.best is None or self._better(row, self.best):
            self.best, self.theta = row, theta
        asked = options.callback is not None and options.callback(row) is True
        if distance <= options.tol:
            return Termination.CONVERGED
        if asked:
            return Termination.STOPPED
        if iteration >= options.max_iterations:
            return Termination.ITERATION_LIMIT
        if self.clock.is_up:
            return Termination.TIME_LIMIT
        if len(self.least) > _PERIOD:
            fall = self.least[-1 - _PERIOD] - self.least[-1]
            if fall <= options.delta * abs(self.least[-1]) and options.delta:
                return Termination.FLAT
        return None

    def stalled(self) -> Termination:
        """Why an iteration lowered nothing: a clock that is up ends it before its first step."""
        return Termination.TIME_LIMIT if self.clock.is_up else Termination.STALLED

    def result(self, termination: Termination) -> TrainResult:
        """The best iterate, with its errors looked at if they were not."""
        if self.best is None or self.theta is None:
            raise RuntimeError("a trainer must note its start before it answers")
        seconds, row = self.clock.seconds, self.best
        if math.isnan(row.token_error):
            looked = (row.iteration, row.seconds, row.objective, row.active, row.distance)
            at = self.trace.index(row)
            self.trace[at] = TraceRow(*looked, *self._errors(self.theta))
        return TrainResult(
            theta=self.theta,
            objective=row.objective,
            active=row.active,
            distance=row.distance,
            termination=termination,
            trace=tuple(self.trace),
            seconds=seconds,
        )

    def _better(self, row: TraceRow, best: TraceRow) -> bool:
        """Whether a model is to be kept in place of the best one so far."""
        if not self.options.keep_by_dev:
            return row.objective <= best.objective
        if math.isnan(row.dev_token_error):  # its errors were not looked at
            return False
        return math.isnan(best.dev_token_error) or row.dev_token_error < best.dev_token_error

    def _errors(self, theta: FloatArray) -> tuple[float, ...]:
        """Errors on the training data, and on the development data."""
        data = [self.objective.prepared, self.options.dev]
        return sum((decoding_errors(each, theta) for each in data if each is not None), ())


Algorithm: TypeAlias = Callable[[Objective, FloatArray, Recorder], Termination]

TRAINERS: Registry[Algorithm] = Registry(
    "trainer",
    {
        "owlqn": "milpscore_sequence._whole_gradient:owlqn",
        "sbcd": "milpscore_sequence.blocks:sbcd",
        "sgd": "milpscore_sequence.epochs:sgd",
    },
)
"""Algorithms by name: functions of (objective, start, recorder) that answer why they stopped."""


def train(
    data: SequenceData | Prepared,
    solver: str = "owlqn",
    *,
    penalty: ProxPenalty | None = None,
    **options: Any,
) -> TrainResult:
    """Train a CRF; an interrupt from the keyboard keeps the best model.

    Parameters
    ----------
    data : SequenceData or Prepared
        With labels.
    solver : str
        A name of :data:`TRAINERS`. "owlqn" takes quasi-Newton steps within an orthant, those of
        L-BFGS if rho1 = 0; "sbcd" descends by blocks of parameters, one for each observation
        symbol, and goes on by owlqn where that is quicker: its sweeps pay where symbols are few,
        not on text; "sgd" steps by single sequences, quick to be near the optimum.
    penalty : object of milpscore.penalties, optional
        A separable one in the place of rho1, rho2 and the solver: its weight counts against the
        summed loss, as rho1 does. Trained by accelerated proximal gradient steps.
    **options
        See :class:`TrainOptions`.

    Returns
    -------
    TrainResult

    Raises
    ------
    DataError
        Labels are missing or were never seen in training, or the start is of another model.
    OptionError
        There is no such trainer, an option lies outside its range, or the penalty does not fit.
    KeyboardInterrupt
        Before there was any model to keep.

    References
    ----------
    Andrew & Gao, "Scalable training of L1-regularized log-linear models" (2007): owlqn.
    Sokolovska (slides), "Blockwise Coordinate Descent"; Sokolovska, Lavergne, Cappe & Yvon,
    "Efficient learning of sparse conditional random fields" (2010): sbcd, with the line search of
    Tseng & Yun (2009), without which the step of a whole block may diverge. McMahan,
    "Follow-the-regularized-leader and mirror descent" (2011); Duchi, Hazan & Singer, "Adaptive
    subgradient methods" (2011): sgd. Beck & Teboulle, "A fast iterative shrinkage-thresholding
    algorithm" (2009); O'Donoghue & Candes (2015): penalties; for Facets Belahcene et al. (2020),
    eqs 10, 11 (which omits lambda), 12 and 18.
    """
    asked = TrainOptions(**options)
    clock = Clock.of(math.inf if asked.time_limit is None else asked.time_limit)
    name = TRAINERS.name_of(solver)
    if penalty is None:
        algorithm = TRAINERS[name]
    else:
        from milpscore_sequence._whole_gradient import by_penalty

        algorithm = by_penalty(penalty, asked)
    ready = prepare(data)
    layout = ready.layout
    start = layout.zeros() if asked.start is None else np.array(asked.start, dtype=np.float64)
    layout.split(start)
    _warm_up(name if penalty is None and name in _COMPILED else "owlqn")
    recorder = Recorder(Objective(ready, asked.rho1, asked.rho2), asked, clock=clock)
    try:
        termination = algorithm(recorder.objective, start, recorder)
    except (KeyboardInterrupt, SystemError) as error:
        if recorder.best is None or not is_interrupt(error):
            raise
        termination = Termination.INTERRUPTED
    return recorder.result(termination)


# Trainers with kernels of their own; the others have those of gradients and decoding.
_COMPILED = ("sbcd", "sgd")


@cache
def _warm_up(solver: str) -> None:
    """Train two labels at two positions: kernels are compiled, or loaded, before a clock runs."""
    offsets, each, bigrams, none = map(np.array, ([0, 2], [0, 1, 2], [0, 0, 1], [0]))
    tiny = Prepared(SequenceData(offsets, each, each[:2], bigrams, none, 2, 1, 2, each[:2]))
    objective = Objective(tiny, 0.1, 0.1)
    recorder = Recorder(objective, TrainOptions(max_iterations=1, errors_every=1, tol=0.0))
    TRAINERS[solver](objective, tiny.layout.zeros(), recorder)


@dataclass(frozen=True, eq=False)
class CrfPath:
    """CRFs of falling rho1, and a table of them.

    Its columns: rho1, objective, active, active_mu, active_lambda, new (active where the row above
    was not), gone (the reverse), distance, termination, iterations, seconds, token_error.
    """

    rho1s: FloatArray
    results: list[TrainResult]
    table: DataFrame


def rho1_max(data: SequenceData | Prepared) -> float:
    """The least rho1 at which no feature is active: the largest gradient at theta = 0.

    Parameters
    ----------
    data : SequenceData or Prepared
        With labels.
    """
    ready = prepare(data)
    _, gradient = value_and_gradient(ready, ready.layout.zeros())
    return float(np.abs(gradient).max(initial=0.0))


def crf_path(
    data: SequenceData | Prepared,
    rho1s: Iterable[float] | int = 20,
    rho2: float = 0.0,
    *,
    solver: str = "owlqn",
    ratio: float = 1e-3,
    **options: Any,
) -> CrfPath:
    """Train along falling rho1, each from the parameters of the one before.

    Parameters
    ----------
    data : SequenceData or Prepared
        With labels.
    rho1s : iterable of float, or int
        In any order; a number means that many from :func:`rho1_max` down to ``ratio`` times it, in
        equal steps of their logarithm.
    rho2 : float
    solver : str
        A name of :data:`TRAINERS`.
    ratio : float
        In (0, 1), for a number of values.
    **options
        See :class:`TrainOptions`; ``start`` is for the largest rho1, ``time_limit`` for each.

    Returns
    -------
    CrfPath

    Raises
    ------
    DataError
        Labels are missing or were never seen in training.
    OptionError
        No values, one outside its range, or an unknown solver.
    """
    ready = prepare(data)
    if isinstance(rho1s, int | np.integer):
        if rho1s < 1 or not 0.0 < ratio < 1.0:
            raise OptionError(f"give 1 value or more and a ratio in (0, 1), got {rho1s}, {ratio}")
        values = rho1_max(ready) * np.geomspace(1.0, ratio, int(rho1s))
    else:
        values = np.unique(np.array(list(rho1s), dtype=np.float64))[::-1]
    if not len(values) or not (np.isfinite(values).all() and values[-1] >= 0.0):
        raise OptionError(f"rho1s must be finite numbers >= 0, one at least, got {values}")
    results: list[TrainResult] = []
    for rho1 in values.tolist():
        results.append(train(ready, solver, rho1=rho1, rho2=rho2, **options))
        options["start"] = results[-1].theta
    return CrfPath(values, results, _path_table(values, results, ready.layout.n_mu))


def _path_table(rho1s: FloatArray, results: list[TrainResult], n_mu: int) -> DataFrame:
    """The table of a path."""
    import pandas as pd

    rows = []
    before = np.zeros(len(results[0].theta), dtype=bool)
    for rho1, result in zip(rho1s.tolist(), results, strict=True):
        active = result.theta != 0.0
        rows.append(
            {
                "rho1": rho1,
                "objective": result.objective,
                "active": result.active,
                "active_mu": int(active[:n_mu].sum()),
                "active_lambda": int(active[n_mu:].sum()),
                "new": int((active & ~before).sum()),
                "gone": int((before & ~active).sum()),
                "distance": result.distance,
                "termination": str(result.termination),
                "iterations": result.trace[-1].iteration,
                "seconds": result.seconds,
                "token_error": min(result.trace, key=lambda row: row.objective).token_error,
            }
        )
        before = active
    return pd.DataFrame(rows)
