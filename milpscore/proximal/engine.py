"""One fit: proximal gradient steps, and which algorithm takes a problem."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from milpscore.core.clock import Clock
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError
from milpscore.core.result import Termination
from milpscore.core.statement import ProxPenalty, SmoothLoss
from milpscore.penalties import OWL
from milpscore.penalties.ramps import Ramps
from milpscore.proximal.operators import BinnedOperator, with_ones
from milpscore.proximal.problem import (
    ENDLESS,
    Primal,
    ProximalResult,
    Run,
    Smooth,
    parts,
    prepare,
    shaped,
)  # fmt: skip


@dataclass(frozen=True)
class FirstOrderPolicy:
    """First-order steps and the choice of the algorithm, measured by bench_prox.py."""

    first_look: int = 4  # steps before the first look at the gap if a step length is known
    look_every: int = 10  # least number of steps between two looks
    last_steps: int = 200  # for the last digits after stalled Newton steps
    more_curvature: float = 2.0  # factor after a step that was too long
    less_curvature: float = 0.8  # factor after a restart
    # on many rows a fit to every such row gives the start, if it has at least this number of rows,
    # in all and per class; its gap
    sample_stride: int = 32
    sample_rows: int = 1 << 14
    sample_per_class: int = 100
    sample_tol: float = 1e-3
    rounding: float = 1e-9  # share of the mean loss below which differences are not trusted
    slack: float = 1e-3  # relative, of the parabola above the loss
    steepest: float = 1e300  # curvature
    # Newton steps are quicker up to this number of coefficients, to fewer if the penalty is not a
    # norm or counts for every class, and up to these multiplications of a Gram matrix
    newton_columns: int = 500
    newton_few: int = 150
    newton_work: float = 1e10
    most_pairs: int = 50_000_000  # of bins to count for a Gram matrix; beyond, FISTA is quicker


POLICY = FirstOrderPolicy()


@dataclass(eq=False)
class _Iterate:
    """A point of the centred problem: z = X w + b, where b + means.w moves freely of w."""

    w: FloatArray
    b: FloatArray
    eta: FloatArray


@dataclass(eq=False)
class _State:
    """What one proximal step gives to the next."""

    smooth: Smooth
    penalty: ProxPenalty
    now: _Iterate
    ahead: _Iterate  # where the next step starts: the momentum has moved it beyond now
    bend: float  # curvature in w
    # that of the intercept, per unit of bend: after centring, intercept and coefficients hardly
    # touch, and each gets a step of its own
    mass: float
    speed: float = 1.0
    # rooms for the rows' derivatives and for eta ahead: fresh memory costs as much as a pass
    rows: FloatArray = field(init=False)
    room: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.rows, self.room = np.empty_like(self.now.eta), np.empty_like(self.now.eta)


def proximal_gradient(
    smooth: Smooth,
    penalty: ProxPenalty,
    *,
    momentum: bool,
    tol: float,
    max_iter: int,
    start: Primal | _Iterate,
    step: float = 0.0,
    clock: Clock = ENDLESS,
) -> Run:
    """Minimise by proximal gradient steps with backtracking, the first ``step`` long (0: any)."""
    # A free intercept is moved in centred columns, an exact change of variables: b = c - means.w.
    # Without ``momentum`` it is ISTA; with it FISTA (Beck and Teboulle, SIAM J. Imaging Sci. 2,
    # 2009; Belahcene et al. 2020, eqs 10, 11, 18; eq. 11 omits lambda), its momentum dropped
    # whenever it points uphill (O'Donoghue and Candes, Found. Comput. Math. 15, 2015, the gradient
    # scheme).
    state = _begin(smooth, penalty, start, step)
    run = Run(smooth, penalty, "fista" if momentum else "ista", tol, clock)
    if isinstance(start, Primal):
        run.look(0, start)
    done, due = 0, POLICY.first_look if step > 0 else POLICY.look_every
    while run.stop is None and done < max_iter:
        done += 1
        rested = not _advance(state, momentum)
        if rested or done in (due, max_iter) or run.clock.is_up:
            now = state.now
            run.look(done, smooth.settled(now.w, now.eta, now.b))
            due = done + _until_look(run)
            if run.stop is None and rested:
                run.stop = Termination.STALLED
    run.step = 1.0 / state.bend
    return run


def _until_look(run: Run) -> int:
    """Return the steps after which the gap should be small; a look costs as much as a step."""
    done = run.iterations
    most = max(POLICY.look_every, done // 10)
    if len(run.trace) < 2:
        return 2
    before, now = run.trace[-2:]
    if not 0.0 < now.gap < before.gap < np.inf:
        return most
    rate = math.log(now.gap / before.gap) / (now.iteration - before.iteration)
    wanted = math.ceil(math.log(run.tol / now.gap) / rate)
    return min(max(wanted, 2, done // 20), most)


def _begin(smooth: Smooth, penalty: ProxPenalty, point: Primal | _Iterate, step: float) -> _State:
    """Return the state at a point; its step, if unknown, from the columns' variances."""
    variances = smooth.squares
    if smooth.intercept:
        variances = variances - smooth.means**2
    largest = max(float(variances.max(initial=0.0)), 1e-12)
    curvature = smooth.loss.curvature
    if not np.isfinite(curvature):
        curvature = max(float(smooth.row_hessian(point.eta + point.b).sum(axis=0).max()), 1e-12)
    now = _Iterate(point.w, point.b, point.eta)
    bend = 1.0 / step if step > 0 else curvature * largest
    return _State(smooth, penalty, now, now, bend, 1.0 / largest)


def _advance(state: _State, momentum: bool) -> bool:
    """Take one proximal step; return False if nothing moves any more."""
    smooth, ahead, old = state.smooth, state.ahead, state.now
    # 1) The gradient at the point ahead.
    rows = state.rows
    value = smooth.value_and_rows(ahead.eta, ahead.b, out=rows)
    gradient = smooth.X.rmatvec(rows)
    pull: FloatArray = np.zeros_like(old.b)
    if smooth.intercept:
        pull = rows.sum(axis=0)
        gradient -= np.multiply.outer(smooth.means, pull)
    # 2) A step that is short enough.
    new, move = _backtrack(state, ahead, value, gradient, pull)
    if not move.any() and not (pull * (new.b - ahead.b)).any():
        # at rest from a point ahead, look from the point itself; at rest from there is the end
        rested = ahead is old
        state.ahead, state.speed = old, 1.0
        return not rested
    state.now = state.ahead = new
    # 3) The next point ahead, by the momentum.
    if not momentum:
        return True
    if float(np.vdot(ahead.w - new.w, new.w - old.w)) > 0:
        # the momentum points uphill: forget it, and let the curvature shrink again
        state.speed = 1.0
        state.bend *= POLICY.less_curvature
        return True
    state.speed, factor = faster(state.speed)
    if factor > 0:
        state.ahead = _Iterate(
            new.w + factor * (new.w - old.w),
            new.b + factor * (new.b - old.b),
            _beyond(new.eta, old.eta, factor, out=state.room),
        )
    return True


def faster(speed: float) -> tuple[float, float]:
    """Return Nesterov's next speed, and how far beyond the new point the next step starts."""
    following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * speed * speed))
    return following, (speed - 1.0) / following


def _beyond(new: FloatArray, old: FloatArray, factor: float, out: FloatArray) -> FloatArray:
    """Return new + factor (new - old)."""
    for k in parts(len(new)):
        part = np.subtract(new[k], old[k], out=out[k])
        part *= factor
        part += new[k]
    return out


def _backtrack(
    state: _State, ahead: _Iterate, value: float, gradient: FloatArray, pull: FloatArray
) -> tuple[_Iterate, FloatArray]:
    """Raise the curvature until the parabola lies above the loss at the new point."""
    smooth = state.smooth
    while True:
        w = state.penalty.prox(ahead.w - gradient / state.bend, 1.0 / state.bend)
        move = w - ahead.w
        b = ahead.b
        linear = value + float(np.vdot(gradient, move))
        parabola = 0.5 * state.bend * float(np.vdot(move, move))
        if smooth.intercept:
            # in centred columns the free constant is c = b + means.w
            heavy = state.bend * state.mass
            shift = -pull / heavy
            linear += float(np.vdot(pull, shift))
            parabola += 0.5 * heavy * float(np.vdot(shift, shift))
            b = b + shift - smooth.means @ move
        eta = smooth.X.matvec(w)
        rise = smooth.value(eta, b) - linear
        if abs(rise) + parabola <= POLICY.rounding * abs(value):
            # a small difference of large numbers, all rounding: its second-order part instead
            z = eta + b
            rise = 0.5 * smooth.bend(z, z - ahead.eta - ahead.b)
        if rise <= parabola * (1.0 + POLICY.slack) or state.bend > POLICY.steepest:
            return _Iterate(w, b, eta), move
        state.bend *= POLICY.more_curvature


Algorithm: TypeAlias = Literal["auto", "fista", "ista", "newton", "working_set"]
Maker: TypeAlias = Callable[[float], ProxPenalty]
Progress: TypeAlias = Callable[[int, int], None]

# the algorithms but "auto", and the default number of steps of each
MAX_ITER = {"working_set": 500, "newton": 200, "fista": 20_000, "ista": 100_000}


@dataclass(frozen=True)
class FitOptions:
    """How to fit, with the one default of each option."""

    tol: float = 1e-6  # relative gap
    max_iter: int | None = None  # None: that of MAX_ITER
    algorithm: Algorithm = "auto"
    clock: Clock = ENDLESS

    def __post_init__(self) -> None:
        tol, most = self.tol, self.max_iter
        if not (isinstance(tol, int | float) and math.isfinite(tol) and tol > 0):
            raise OptionError(f"tol={tol!r}; use a positive relative gap, say 1e-6.")
        if most is not None and not (isinstance(most, int | np.integer) and most >= 0):
            raise OptionError(
                "{max_iter}; use a whole number, or {None} for the default.", max_iter=most
            )
        if self.algorithm not in ("auto", *MAX_ITER):
            known = ", ".join(("auto", *MAX_ITER))
            raise OptionError(f"no algorithm {self.algorithm!r}; there are {known}.")


def solve(
    smooth: Smooth,
    penalty: ProxPenalty,
    options: FitOptions,
    *,
    start: Primal | _Iterate,
    step: float = 0.0,
    hint: IntArray | None = None,
    part: Ramps | OWL | None = None,
    memory: Any = None,
) -> tuple[ProximalResult, Primal]:
    """Fit a prepared problem from ``start``; return the answer, and its point for the next fit."""
    # ``step`` is a step length to try first (0: any), ``hint`` the columns a working set begins
    # with, ``part`` the answer of part_of if it is known, ``memory`` a coordinate.Memory
    part = part or part_of(penalty, smooth)
    chosen = _choose(options.algorithm, penalty, part, smooth)
    most = MAX_ITER[chosen] if options.max_iter is None else options.max_iter
    common: dict[str, Any] = {"tol": options.tol, "max_iter": most, "start": start}
    common["clock"] = Clock.of(options.clock)  # a process that is handed one gets a number
    if chosen == "working_set" and part is not None:
        from milpscore.proximal.coordinate import working_set

        run = working_set(smooth, penalty, part, hint=hint, memory=memory, **common)
        assert run.point is not None
        if run.stop is None and run.iterations < most:  # too many columns in use
            left = (MAX_ITER["fista"] if options.max_iter is None else most) - run.iterations
            run = _gone_on(run, left)
            run.algorithm = "fista"
    else:
        penalty.prox(start.w, 1.0)  # whatever it compiles stands outside the clock
        if chosen == "newton":
            from milpscore.proximal.newton import proximal_newton

            run = proximal_newton(smooth, penalty, ramps=_ramps_of(penalty, smooth), **common)
            if run.stop is Termination.STALLED:
                # the last digits, which cones do not give
                run = _gone_on(run, min(most - run.iterations, POLICY.last_steps))
        else:
            fast = chosen == "fista"
            run = proximal_gradient(smooth, penalty, momentum=fast, step=step, **common)
    assert run.point is not None
    return run.result(), run.point.at


def _gone_on(run: Run, most: int) -> Run:
    """Continue a run by first-order steps, unless it stalled and they do not mend that."""
    assert run.point is not None
    run.penalty.prox(run.point.at.w, 1.0)
    last = proximal_gradient(
        run.smooth, run.penalty, momentum=True, tol=run.tol, max_iter=most, start=run.point.at,
        clock=run.clock,
    )  # fmt: skip
    stalled = run.stop is Termination.STALLED
    return run if stalled and last.stop is not Termination.GAP_REACHED else run.followed(last)


def part_of(penalty: ProxPenalty, smooth: Smooth) -> Ramps | OWL | None:
    """Return the penalty as the working set reads it, or None if it has no such form."""
    if smooth.n_classes:
        return None
    return penalty if isinstance(penalty, OWL) else _ramps_of(penalty, smooth)


def _ramps_of(penalty: ProxPenalty, smooth: Smooth) -> Ramps | None:
    """Return the penalty of one class as the coordinate algorithms read it, or None."""
    form = getattr(getattr(penalty, "base", penalty), "ramps", None)
    ramps: Ramps | None = None if form is None else form(smooth.X.shape[1])
    return ramps


def _choose(
    algorithm: Algorithm, penalty: ProxPenalty, part: Ramps | OWL | None, smooth: Smooth
) -> str:
    """Return the algorithm asked for if it can treat the problem, or the quickest one."""
    if algorithm == "working_set" and part is None:
        why = "the multinomial loss" if smooth.n_classes else f"the penalty {penalty.name!r}"
        raise OptionError(
            f"the working set goes coefficient by coefficient, which {why} does not allow; use"
            " algorithm='fista' or 'auto'."
        )
    if algorithm != "auto":
        return algorithm
    binned = isinstance(smooth.X, BinnedOperator)
    rows, columns = smooth.X.shape
    if part is None or (isinstance(part, OWL) and part.weights[-1] == 0):
        # (clusters of collinear columns that cost nothing, as those of the sup norm, move slowly)
        size = columns * max(smooth.n_classes, 1)
        most = POLICY.newton_columns if penalty.is_norm else POLICY.newton_few
        small = size <= most and rows * size**2 <= POLICY.newton_work
        return "newton" if small and not binned else "fista"
    if isinstance(smooth.X, BinnedOperator):
        return "fista" if len(smooth.X.X.n_bins) ** 2 * rows > POLICY.most_pairs else "working_set"
    return "working_set"


def as_maker(penalty: Any) -> Maker:
    """Return what makes the penalty from lam: a class, a function, or an instance to vary."""
    if isinstance(penalty, type) or (callable(penalty) and not is_dataclass(penalty)):
        maker: Maker = penalty
        return maker
    if is_dataclass(penalty) and any(field.name == "lam" for field in fields(penalty)):
        template: Any = penalty
        return lambda lam: replace(template, lam=lam)
    raise OptionError(
        f"{penalty!r} has no lam to vary; pass a penalty of milpscore.penalties with one, its"
        " class, or a function of lam."
    )


Start: TypeAlias = "ProximalResult | tuple[Any, Any] | None"


def fit_proximal(
    X: Any,
    y: Any,
    *,
    loss: str | SmoothLoss = "logistic",
    penalty: ProxPenalty,
    sample_weight: Any = None,
    intercept: bool | Literal["penalised"] = True,
    tol: float = FitOptions.tol,
    max_iter: int | None = FitOptions.max_iter,
    algorithm: Algorithm = FitOptions.algorithm,
    start: Start = None,
    time_limit: float = math.inf,
) -> ProximalResult:
    """Minimise the weighted mean loss plus a penalty, with a bound on the distance to the optimum.

    min over w, b of sum_i s_i loss(y_i, x_i.w + b) / sum_i s_i + penalty(w); b is free and
    unpenalised. Equal rows are merged first, which changes nothing but the time.

    Parameters
    ----------
    X : array, DataFrame of numbers, SciPy sparse, or BinnedDesign, shape (n, p)
    y : array of shape (n,)
        -1/+1 or 0/1 for a classification loss, real numbers, counts, or classes 0..K-1 for the
        multinomial loss.
    loss : str or SmoothLoss
        A name of ``milpscore.losses.LOSSES`` or an instance, say ``SmoothedHinge(0.5)``.
    penalty : ProxPenalty
        Of ``milpscore.penalties``. For the multinomial loss it is summed over the classes.
    sample_weight : array of shape (n,), optional
        Finite, not negative; rows of weight 0 count for nothing.
    intercept : bool or "penalised"
        True leaves b free, False fixes it at 0. "penalised" makes b the last coefficient the
        penalty sees, that of a column of ones: weights or expert marks then have p + 1 entries.
    tol : float
        Relative duality gap (primal - dual) / max(|primal|, 1e-12) wanted.
    max_iter : int, optional
        Newton steps (default 500; 200 for "newton") or proximal steps (20,000 for FISTA, 100,000
        for ISTA).
    algorithm : {"auto", "fista", "ista", "newton", "working_set"}
        "auto" takes the working set for separable penalties and OWL, Newton steps for other norms
        of up to 500 columns (EYE), for all else and the multinomial loss of up to 150
        coefficients, and FISTA for what is larger.
    start : ProximalResult or (coefficients, intercept), optional
        A warm start. Without one FISTA on 524,288 rows or more starts from a fit to every 32nd.
    time_limit : float
        Seconds for the whole call; a fit that they end has the gap it has reached.

    Returns
    -------
    ProximalResult
        Always with its gap; ``termination`` says why it stopped.

    Raises
    ------
    DataError
        The data cannot be used as given.
    OptionError
        A parameter lies outside its range, or the algorithm cannot treat the penalty.

    Examples
    --------
    >>> import numpy as np
    >>> from milpscore.penalties import L1
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> fit_proximal(X, [0, 0, 1, 1], penalty=L1(0.1)).coefficients.round(3)
    array([1.386])
    """
    options = FitOptions(tol, max_iter, algorithm, Clock.of(time_limit))
    if isinstance(intercept, str):
        if intercept != "penalised":
            raise OptionError(
                '{intercept}; use {True}, {False} or "penalised".', intercept=intercept
            )
        smooth = prepare(with_ones(X), y, loss, sample_weight=sample_weight, intercept=False)
        start = _joined(start)
    else:
        smooth = prepare(X, y, loss, sample_weight=sample_weight, intercept=intercept)
    term = shaped(penalty, smooth)
    at: Primal | _Iterate
    at, step = _start(start, smooth) if start is not None else _from_sample(smooth, term, options)
    result, _ = solve(smooth, term, options, start=at, step=step)
    return _parted(result) if isinstance(intercept, str) else result


def _joined(start: Start) -> Start:
    """Return a start whose intercept is the last coefficient."""
    if start is None:
        return None
    if isinstance(start, ProximalResult):
        start = (start.coefficients, start.intercept)
    w, b = np.asarray(start[0], dtype=np.float64), np.asarray(start[1], dtype=np.float64)
    return np.concatenate([w, b[np.newaxis]]), np.zeros(b.shape)


def _parted(result: ProximalResult) -> ProximalResult:
    """Return the result with its last coefficient as the intercept."""
    last = result.coefficients[-1]
    intercept = float(last) if np.ndim(last) == 0 else np.array(last)
    return replace(result, coefficients=result.coefficients[:-1], intercept=intercept)


def _from_sample(
    smooth: Smooth, penalty: ProxPenalty, options: FitOptions
) -> tuple[Primal | _Iterate, float]:
    """Return where a fit to a sample of many rows ends, and its step; else the null model."""
    rows = np.arange(0, smooth.X.shape[0], POLICY.sample_stride)
    y = smooth.y[rows]
    sides = (y > 0, y < 0) if smooth.loss.task == "classification" else (y > 0,)
    if (
        len(rows) < POLICY.sample_rows
        or options.max_iter == 0
        or smooth.n_classes
        or min(np.count_nonzero(side) for side in sides) < POLICY.sample_per_class
        or _choose(options.algorithm, penalty, part_of(penalty, smooth), smooth) != "fista"
    ):
        return smooth.null, 0.0
    few = FitOptions(max(options.tol, POLICY.sample_tol), options.max_iter, "fista", options.clock)
    some = smooth.take(rows)
    result, at = solve(some, penalty, few, start=some.null)
    return _Iterate(at.w, at.b, smooth.X.matvec(at.w)), result.step


def _start(start: ProximalResult | tuple[Any, Any], smooth: Smooth) -> tuple[Primal, float]:
    """Return the point to begin with, checked, and a step length to try (0: unknown)."""
    if isinstance(start, ProximalResult):
        w, b, step = start.coefficients, start.intercept, start.step
    else:
        (w, b), step = start, 0.0
    shape = smooth.coefficient_shape
    w, b = np.array(w, dtype=np.float64), np.array(b, dtype=np.float64)
    if w.shape != shape or b.shape != shape[1:]:
        raise OptionError(
            f"start has coefficients of shape {w.shape} and an intercept of shape {b.shape}; this"
            f" problem needs {shape} and {shape[1:]}."
        )
    if not (np.isfinite(w).all() and np.isfinite(b).all()):
        raise OptionError("start holds numbers that are not finite; leave it out.")
    return smooth.settled(w, smooth.X.matvec(w), b), step
