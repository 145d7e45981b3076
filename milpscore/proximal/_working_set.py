"""Proximal Newton steps by coordinate descent on a growing working set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.terms import ProxPenalty, Ramps
from milpscore.proximal._certificate import Certificate, certify
from milpscore.proximal._operators import Operator
from milpscore.proximal._problem import Primal, Smooth
from milpscore.proximal._quadratic import Quadratic, descend, ramps_value, some
from milpscore.proximal._result import Stop
from milpscore.proximal._run import Run, start_run

_ALL_COLUMNS = 20
_FEWEST = 20
_INNER_STEPS = 10
_SWEEPS = 2000
_FLOOR = 1e-6


@dataclass(eq=False)
class _Panel:
    """The columns at work."""

    index: IntArray
    X: Operator
    ramps: Ramps
    quadratic: Quadratic | None = None


@dataclass(eq=False)
class _Point:
    """Coefficients, X w, intercept, mean loss and row derivatives."""

    w: FloatArray
    eta: FloatArray
    b: float
    loss: float
    rows: FloatArray


def working_set(
    smooth: Smooth,
    penalty: ProxPenalty,
    ramps: Ramps,
    *,
    tol: float,
    max_iter: int,
    start: Primal,
    hint: IntArray | None = None,
) -> tuple[Run, Certificate]:
    """Minimise with a separable penalty; columns that stay at zero are looked at only now and then.

    A round takes the columns in use and those farthest from optimal, solves the problem in these
    by proximal Newton steps (the quadratic model by coordinate descent, the intercept eliminated,
    a backtracking line search), then looks at all columns again.

    Parameters
    ----------
    smooth : Smooth
    penalty : ProxPenalty
    ramps : Ramps
        The same penalty coefficient by coefficient.
    tol : float
        Relative duality gap wanted.
    max_iter : int
        Newton steps.
    start : Primal
    hint : ndarray of int, optional
        Columns to put into the first working set.

    Returns
    -------
    Run, Certificate
        The last point, and how it was reached.

    References
    ----------
    Friedman, Hastie, Tibshirani, "Regularization paths for generalized linear models via coordinate
    descent", J. Stat. Softw. 33 (2010); Lee, Sun, Saunders, "Proximal Newton-type methods", SIAM J.
    Optim. 24 (2014); Bertrand et al., "Beyond L1: faster and better sparse models with skglm"
    (2022) for the choice of the working set by distance to the subdifferential.
    """
    run = start_run(smooth, "working_set", tol)
    point = certify(smooth, penalty, start)
    stop = run.look(0, point)
    done = 0
    panel: _Panel | None = None
    while stop is None and done < max_iter:
        panel = _choose(smooth, ramps, point, panel, hint)
        hint = None
        following, steps = _solve(smooth, panel, point, min(max_iter - done, _INNER_STEPS))
        if steps == 0:
            stop = Stop.STALLED
            break
        done += steps
        at = smooth.settled(following.w, following.eta, np.asarray(following.b))
        point = certify(smooth, penalty, at, point.dual)
        stop = run.look(done, point)
    return run.end(done, stop or Stop.ITERATION_LIMIT), point


def _choose(
    smooth: Smooth, ramps: Ramps, point: Certificate, old: _Panel | None, hint: IntArray | None
) -> _Panel:
    """The columns in use and the worst of the others, at least twice as many as are in use."""
    w = point.at.w
    p = len(w)
    if p <= _ALL_COLUMNS:
        return old or _Panel(np.arange(p), smooth.X, ramps)
    used = np.flatnonzero(w)
    size = min(p, max(2 * len(used), _FEWEST, 0 if old is None else len(old.index)))
    urgency = point.distance.copy()
    urgency[used] = np.inf
    if hint is not None:
        size = min(p, max(size, len(used) + len(hint)))
        urgency[hint] = np.maximum(urgency[hint], 1e300)
    if old is not None:
        urgency[old.index] = np.maximum(urgency[old.index], 1e-300)
    wanted = np.argpartition(-urgency, size - 1)[:size]
    wanted = np.sort(wanted[urgency[wanted] > 0])
    if old is not None and np.array_equal(wanted, old.index):
        return old
    return _Panel(wanted, smooth.X.columns(wanted), some(ramps, wanted))


def _solve(
    smooth: Smooth, panel: _Panel, certificate: Certificate, max_steps: int
) -> tuple[_Point, int]:
    """Newton steps on the panel until it is much closer to optimal than the whole was."""
    at = certificate.at
    point = _Point(at.w, at.eta, float(at.b), at.loss, at.u * smooth.weight)
    gradient = at.gradient[panel.index]
    whole = len(panel.index) == len(point.w)
    # where the panel is the whole, the next look at the gap costs nothing extra
    limit = 1 if whole else max_steps
    worst = certificate.worst
    target = 0.1 * worst
    steps = 0
    while steps < limit:
        following = _newton(smooth, panel, point, gradient, 1e-2 * worst)
        if following is None:
            break
        steps += 1
        point = following
        if steps == limit:
            break
        gradient = panel.X.rmatvec(point.rows)
        worst = _panel_distance(panel.ramps, point.w[panel.index], gradient)
        if worst <= target:
            break
    return point, steps


def _newton(
    smooth: Smooth, panel: _Panel, point: _Point, gradient: FloatArray, tol: float
) -> _Point | None:
    """One proximal Newton step with its line search; None where no step descends."""
    curvature = smooth.row_hessian(point.eta + point.b)
    # a loss that is straight in places (the hinges) would make the model singular
    np.maximum(curvature, _FLOOR * smooth.weight, out=curvature)
    if not np.isfinite(curvature).all():
        return None
    quadratic = panel.quadratic
    if quadratic is None or not quadratic.near(curvature):
        quadratic = panel.quadratic = Quadratic(panel.X, curvature, smooth.intercept)
    old = point.w[panel.index]
    new = descend(quadratic, point.rows, gradient, old, panel.ramps, tol, _SWEEPS)
    move = new - old
    shift = 0.0
    if smooth.intercept:
        shift = -float(quadratic.means @ move) - float(point.rows.sum()) / quadratic.mass
    if not move.any():
        return None
    return _line_search(smooth, panel, point, gradient, old, new, shift)


def _line_search(
    smooth: Smooth,
    panel: _Panel,
    point: _Point,
    gradient: FloatArray,
    old: FloatArray,
    new: FloatArray,
    shift: float,
) -> _Point | None:
    """Halve the step until the objective falls by a share of what the model promised."""
    move = new - old
    scores = panel.X.matvec(move)
    before = ramps_value(panel.ramps, old)
    after = ramps_value(panel.ramps, new)
    promised = float(gradient @ move) + shift * float(point.rows.sum()) + after - before
    length = 1.0
    part = new  # not old + (new - old), which would leave a plateau by a rounding
    while length > 1e-9:
        eta = point.eta + length * scores
        b = point.b + length * shift
        loss = smooth.value(eta + b)
        change = loss - point.loss + after - before
        if change <= 1e-4 * length * min(promised, 0.0) + 1e-14 * abs(point.loss):
            w = point.w.copy()
            w[panel.index] = part
            return _Point(w, eta, b, loss, smooth.row_gradient(eta + b))
        length *= 0.5
        part = old + length * move
        after = ramps_value(panel.ramps, part)
    return None


def _panel_distance(ramps: Ramps, w: FloatArray, gradient: FloatArray) -> float:
    """Largest distance of minus the gradient to the subdifferential, on the panel."""
    size = np.abs(w) / ramps.gamma
    whole = np.rint(size)
    size = np.where(np.abs(size - whole) <= 1e-12 * np.maximum(whole, 1.0), whole, size)
    k = np.floor(size)
    last = len(ramps.slopes) - 1

    def slope(piece: FloatArray) -> FloatArray:
        inside = ramps.slopes[np.clip(piece, 0, last).astype(np.int64)]
        return ramps.weight * (inside + ramps.growth * np.maximum(piece - last, 0.0))

    upper = slope(k) + ramps.ridge * np.abs(w)
    kink = (size == k) & (k > 0)
    lower = np.where(kink, slope(k - 1.0) + ramps.ridge * np.abs(w), upper)
    zero = w == 0
    pull = -gradient * np.where(zero, 1.0, np.sign(w))
    lower = np.where(zero, -upper, lower)
    return float(np.maximum(np.maximum(lower - pull, pull - upper), 0.0).max(initial=0.0))
