"""Proximal gradient steps: ISTA, and FISTA with backtracking and adaptive restart."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.terms import ProxPenalty
from milpscore.proximal._certificate import Certificate, certify
from milpscore.proximal._problem import Primal, Smooth
from milpscore.proximal._result import Stop
from milpscore.proximal._run import Run, start_run

_LOOK_EVERY = 10
_MORE_CURVATURE = 2.0
_LESS_CURVATURE = 0.8
# differences of mean losses below this share of them are not trusted
_ROUNDING = 1e-9
_SLACK = 1e-3
_STEEPEST = 1e300


@dataclass(eq=False)
class _Iterate:
    """A point of the centred problem: z = X w + b, where b + means.w moves freely of w."""

    w: FloatArray
    b: FloatArray
    eta: FloatArray
    value: float = np.nan


@dataclass(eq=False)
class _State:
    """What one proximal step hands to the next.

    ``bend`` estimates the curvature in w, ``mass`` that of the intercept per unit of it: after
    centring, intercept and coefficients hardly touch, and each gets a step of its own.
    """

    smooth: Smooth
    penalty: ProxPenalty
    now: _Iterate
    bend: float
    mass: float
    ahead: _Iterate = field(init=False)
    speed: float = 1.0

    def __post_init__(self) -> None:
        self.ahead = self.now


def proximal_gradient(
    smooth: Smooth,
    penalty: ProxPenalty,
    *,
    momentum: bool,
    tol: float,
    max_iter: int,
    start: Primal,
    step: float = 0.0,
) -> tuple[Run, Certificate]:
    """Minimise by proximal gradient steps with backtracking.

    Works for every penalty with a prox and every design. A free intercept is moved in centred
    columns, which is an exact change of variables: b = c - means.w.

    Parameters
    ----------
    smooth : Smooth
    penalty : ProxPenalty
    momentum : bool
        False: ISTA. True: FISTA, its momentum dropped whenever it points uphill.
    tol : float
        Relative duality gap wanted.
    max_iter : int
        Proximal steps.
    start : Primal
    step : float
        A step length to try first; 0 takes one from the columns' variances.

    Returns
    -------
    Run, Certificate
        The last point, and how it was reached.

    References
    ----------
    Beck and Teboulle, "A fast iterative shrinkage-thresholding algorithm for linear inverse
    problems", SIAM J. Imaging Sci. 2 (2009); O'Donoghue and Candes, "Adaptive restart for
    accelerated gradient schemes", Found. Comput. Math. 15 (2015), the gradient scheme. The papers
    on Facets (Belahcene et al. 2020, eqs 10, 11, 18; eq. 11 omits lambda) use the same steps.
    """
    run = start_run(smooth, "fista" if momentum else "ista", tol)
    point = certify(smooth, penalty, start)
    state = _begin(smooth, penalty, start, step)
    stop = run.look(0, point)
    done, last = 0, 0
    while stop is None and done < max_iter:
        done += 1
        rested = not _advance(state, momentum)
        if rested or done - last >= _interval(done) or done == max_iter:
            last = done
            now = state.now
            at = smooth.settled(now.w, now.eta, now.b)
            point = certify(smooth, penalty, at, point.dual)
            stop = run.look(done, point)
            if stop is None and rested:
                stop = Stop.STALLED
    return run.end(done, stop or Stop.ITERATION_LIMIT, 1.0 / state.bend), point


def _interval(done: int) -> int:
    """Steps between two looks at the gap: a look costs about one step."""
    return max(_LOOK_EVERY, done // 10)


def _begin(smooth: Smooth, penalty: ProxPenalty, point: Primal, step: float) -> _State:
    variances = smooth.X.squares(smooth.weight)
    if smooth.intercept:
        variances = variances - smooth.means**2
    largest = max(float(variances.max(initial=0.0)), 1e-12)
    top = float((smooth.row_hessian(point.eta + point.b)).sum(axis=0).max())
    curvature = smooth.loss.curvature if np.isfinite(smooth.loss.curvature) else max(top, 1e-12)
    now = _Iterate(point.w, point.b, point.eta, point.loss)
    bend = 1.0 / step if step > 0 else curvature * largest
    return _State(smooth, penalty, now, bend, 1.0 / largest)


def _advance(state: _State, momentum: bool) -> bool:
    """One proximal step; False where nothing moves any more."""
    smooth, ahead, old = state.smooth, state.ahead, state.now
    z = ahead.eta + ahead.b
    value = smooth.value(z)
    rows = smooth.row_gradient(z, out=z)
    gradient = smooth.X.rmatvec(rows)
    pull: FloatArray = np.zeros_like(old.b)
    if smooth.intercept:
        pull = rows.sum(axis=0)
        gradient -= np.multiply.outer(smooth.means, pull)
    new, move = _backtrack(state, ahead, value, gradient, pull)
    if not move.any() and not (pull * (new.b - ahead.b)).any():
        return _drop_momentum(state)
    if momentum and float(np.vdot(ahead.w - new.w, new.w - old.w)) > 0:
        # the momentum points uphill: forget it, and let the curvature shrink again
        state.speed, state.now, state.ahead = 1.0, new, new
        state.bend *= _LESS_CURVATURE
        return True
    state.now = state.ahead = new
    if momentum:
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * state.speed**2))
        factor = (state.speed - 1.0) / faster
        state.speed = faster
        if factor > 0:
            state.ahead = _Iterate(
                new.w + factor * (new.w - old.w),
                new.b + factor * (new.b - old.b),
                new.eta + factor * (new.eta - old.eta),
            )
    return True


def _drop_momentum(state: _State) -> bool:
    """At rest from a point ahead, look from the point itself; at rest from there is the end."""
    if state.ahead is state.now:
        return False
    state.ahead, state.speed = state.now, 1.0
    return True


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
        z = eta + b
        reached = smooth.value(z)
        rise = reached - linear
        if abs(rise) + parabola <= _ROUNDING * abs(value):
            # a small difference of large numbers, all rounding: its second-order part instead
            rise = 0.5 * smooth.bend(z, z - ahead.eta - ahead.b)
        if rise <= parabola * (1.0 + _SLACK) or state.bend > _STEEPEST:
            return _Iterate(w, b, eta, reached), move
        state.bend *= _MORE_CURVATURE
