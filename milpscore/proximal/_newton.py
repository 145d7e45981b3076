"""Proximal Newton steps for penalties that no coordinate descent can treat."""

from __future__ import annotations

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.terms import ProxPenalty
from milpscore.proximal._certificate import Certificate, certify
from milpscore.proximal._problem import Primal, Smooth
from milpscore.proximal._quadratic import Quadratic
from milpscore.proximal._result import Stop
from milpscore.proximal._run import Run, start_run

_INNER_STEPS = 3000
_INNER_TOL = 1e-2
_SHORTEST = 1e-6
# a full step near the optimum moves the objective by less than its rounding
_ROUNDING = 1e-13
_IDLE = 3
# least curvature of a row, as a share of its weight
_FLOORS = (1e-13, 1e-9, 1e-6)


def proximal_newton(
    smooth: Smooth, penalty: ProxPenalty, *, tol: float, max_iter: int, start: Primal
) -> tuple[Run, Certificate]:
    """Minimise with any penalty that has a prox, a quadratic model of the loss at a time.

    Each model, on the p x p Gram matrix with the intercept eliminated, is minimised by FISTA with
    restarts to a hundredth of its first residual; a line search guards the step. Where margins are
    large the loss hardly bends along most rows, and first-order steps on the loss itself take tens
    of thousands of passes over the data where this takes tens.

    Parameters
    ----------
    smooth : Smooth
        Of one score a row.
    penalty : ProxPenalty
    tol : float
        Relative duality gap wanted.
    max_iter : int
        Newton steps.
    start : Primal

    Returns
    -------
    Run, Certificate
        The last point, and how it was reached.

    References
    ----------
    Lee, Sun, Saunders, "Proximal Newton-type methods for minimizing composite functions", SIAM J.
    Optim. 24 (2014); O'Donoghue and Candes, "Adaptive restart for accelerated gradient schemes",
    Found. Comput. Math. 15 (2015).
    """
    run = start_run(smooth, "newton", tol)
    at = start
    point = certify(smooth, penalty, at)
    stop = run.look(0, point)
    done = idle = 0
    while stop is None and done < max_iter:
        done += 1
        following = _step(smooth, penalty, at)
        if following is None:
            stop = Stop.STALLED
            break
        idle = 0 if _cost(penalty, following) < _cost(penalty, at) else idle + 1
        at = following
        point = certify(smooth, penalty, at, point.dual)
        stop = run.look(done, point)
        if stop is None and idle >= _IDLE:
            stop = Stop.STALLED
    return run.end(done, stop or Stop.ITERATION_LIMIT), point


def _step(smooth: Smooth, penalty: ProxPenalty, at: Primal) -> Primal | None:
    """One Newton step with its line search; None where no step descends.

    A loss that is straight in places (the hinges) makes the model singular: where its step does not
    descend, rows are given more curvature. Not before: with large margins little is all there is.
    """
    curvature = smooth.row_hessian(at.eta + at.b)
    if not np.isfinite(curvature).all():
        return None
    for floor in _FLOORS:
        rows = np.maximum(curvature, floor * smooth.weight)
        quadratic = Quadratic(smooth.X, rows, smooth.intercept)
        target = _model_minimiser(quadratic.gram, at.gradient, penalty, at.w)
        found = _searched(smooth, penalty, at, target)
        if found is not None:
            return found
    return None


def _cost(penalty: ProxPenalty, at: Primal) -> float:
    """Mean loss plus penalty."""
    return at.loss + float(penalty.value(at.w))


def _model_minimiser(
    gram: FloatArray, gradient: FloatArray, penalty: ProxPenalty, w: FloatArray
) -> FloatArray:
    """Nearly the x that minimises gradient.(x - w) + (x - w)'gram(x - w)/2 + penalty(x)."""
    bend = float(np.linalg.eigvalsh(gram)[-1]) * (1 + 1e-7) + 1e-300
    step = 1.0 / bend
    x, ahead, speed, first = w.copy(), w, 1.0, 0.0
    for k in range(_INNER_STEPS):
        slope = gradient + gram @ (ahead - w)
        new = penalty.prox(ahead - step * slope, step)
        residual = float(np.abs(new - ahead).max(initial=0.0)) * bend
        first = residual if k == 0 else first
        if residual <= _INNER_TOL * first and k:
            return new
        if (ahead - new) @ (new - x) > 0:  # the momentum points uphill
            speed, x, ahead = 1.0, new, new
            continue
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * speed * speed))
        ahead = new + (speed - 1.0) / faster * (new - x)
        x, speed = new, faster
    return x


def _searched(
    smooth: Smooth, penalty: ProxPenalty, at: Primal, target: FloatArray
) -> Primal | None:
    """The first point on the way back from ``target`` that is no worse; None where there is none.

    The objective is convex: along the segment to the model's minimiser it falls at first.
    """
    cost, length = _cost(penalty, at), 1.0
    while length > _SHORTEST:
        w = target if length == 1.0 else at.w + length * (target - at.w)
        new = smooth.settled(w, smooth.X.matvec(w), at.b)
        if _cost(penalty, new) <= cost + _ROUNDING * abs(cost):
            return new
        length /= 2.0
    return None
