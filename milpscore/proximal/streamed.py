"""A path over lam for rows that do not fit into memory: their sums come from passes over a file.

A sample of the rows gives each model's start and the curvature of the loss near it; the gradient is
that of all rows, one pass for all models together. Each pass is followed by the minimiser of
gradient, sample's curvature and penalty, so that errors shrink by the sample's relative noise a
pass (Jordan, Lee & Yang, "Communication-efficient distributed statistical inference", JASA 114,
2019, whose surrogate this is to second order). Objective, gradient and gap are of all rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import OptionError
from milpscore.core.result import Termination, relative_gap
from milpscore.core.statement import ProxPenalty, SmoothLoss
from milpscore.proximal._path import ProximalPath, descended, lams_of, path_of
from milpscore.proximal.coordinate import Quadratic
from milpscore.proximal.engine import FitOptions, Maker, Progress, as_maker, part_of
from milpscore.proximal.newton import model_minimiser
from milpscore.proximal.operators import POLICY, DenseOperator
from milpscore.proximal.problem import ProximalPoint, ProximalResult, Smooth, prepare, shaped

if TYPE_CHECKING:
    from milpscore.data.row_store import Chunk, StoredRows


@dataclass(eq=False)
class _StreamedModel:
    """One lam's model, its best point and what all rows say there."""

    penalty: ProxPenalty
    w: FloatArray
    b: float
    curve: Quadratic  # the sample's curvature
    best: float = np.inf  # objective
    point: tuple[FloatArray, float] = (np.empty(0), 0.0)  # w and b of the best
    gradient: FloatArray = field(default_factory=lambda: np.empty(0))
    pull: float = 0.0  # derivative in b
    loss: float = np.inf
    dual: float = -np.inf
    steps: int = 0
    trace: list[ProximalPoint] = field(default_factory=list)

    @property
    def gap(self) -> float:
        """The relative gap of the best point."""
        return max(relative_gap(self.best, self.dual), 0.0)


def path_out_of_core(
    rows: StoredRows,
    *,
    loss: str | SmoothLoss = "logistic",
    penalty: ProxPenalty | Maker,
    lams: Sequence[float] | FloatArray | None = None,
    n_lams: int = 30,
    ratio: float = 0.01,
    tol: float = FitOptions.tol,
    random_state: int = 0,
    progress: Progress | None = None,
) -> ProximalPath:
    """Fit a path to the rows of a file, of which few are in memory at a time.

    Parameters
    ----------
    rows : StoredRows
        As :func:`milpscore.data.stored_rows` makes them.
    loss, penalty, lams, n_lams, ratio, tol
        As for :func:`path`; losses of two classes.
    random_state : int
        Draws the sample whose curvature is used; the answer depends on it within the gap.
    progress : callable, optional
        ``progress(done, total)``, models whose gap is small enough.

    Returns
    -------
    ProximalPath
        Objectives, gradients and gaps are of all rows.

    Raises
    ------
    OptionError
        As for :func:`path`; the loss is not one of two classes.
    """
    options, maker, began = FitOptions(tol), as_maker(penalty), time.perf_counter()
    summary = rows.summary
    size = max(POLICY.sample_least, int(POLICY.sample_work / max(len(summary.columns), 1) ** 2))
    X, y, weight = rows.sample(min(size, POLICY.sample_rows), random_state)
    some = prepare(X, y, loss, sample_weight=weight)
    if some.loss.task != "classification":
        raise OptionError(f"the loss {some.loss.name!r} is not one of two classes")
    # 1) Weights of the path: at w = 0 rows differ by their class alone, so that the means of both
    # say what all rows say. Starts from the sample.
    null = prepare(summary.X, summary.y, loss, sample_weight=summary.weight)
    weights = lams_of(null, maker, lams, n_lams, ratio)
    starts = descended(some, maker, weights, FitOptions(max(tol, POLICY.sample_gap)))
    mass = float(summary.weight.sum())
    models = []
    for lam, start in zip(weights.tolist(), starts, strict=True):
        w, b = np.asarray(start.coefficients), float(start.intercept)
        models.append(_StreamedModel(shaped(maker(lam), some), w, b, _curve(some, w, b)))
    # 2) One pass for objectives and gradients, a step of each model, a look at the gaps of those
    # that can hardly improve.
    pending, total = list(models), len(models)
    for _ in range(POLICY.most_passes):
        _look(rows, some, pending, mass)
        ready = [model for model in pending if _stepped(model, some, options.tol)]
        if ready:
            _bound(rows, some, ready, mass, began)
            done = [m for m in ready if m.gap <= options.tol or len(m.trace) > POLICY.most_looks]
            pending = [model for model in pending if model not in done]
            if progress is not None:
                progress(total - len(pending), total)
        if not pending:
            break
    if left := [model for model in pending if not np.isfinite(model.dual)]:
        _bound(rows, some, left, mass, began)
    seconds = time.perf_counter() - began
    results = [_result(model, options.tol, seconds / total) for model in models]
    return path_of(weights, results, maker)


def _curve(some: Smooth, w: FloatArray, b: float, times: float = 1.0) -> Quadratic:
    """Return the sample's curvature at a point."""
    X = some.X
    assert isinstance(X, DenseOperator)
    rows = some.row_hessian(X.matvec(w) + b)
    return Quadratic(X, times * np.maximum(rows, 1e-9 * some.weight), intercept=True, whole=True)


def _look(rows: StoredRows, some: Smooth, models: Sequence[_StreamedModel], mass: float) -> None:
    """Compute objective and gradient of all rows at each model's point; keep it if it is better."""
    value, pull = np.zeros(len(models)), np.zeros(len(models))
    slopes = np.zeros((len(models), len(models[0].w)))
    for part in rows.chunks():
        y, weight = part.y.astype(np.float64), part.weight / mass
        for k, model in enumerate(models):
            z = part.matvec(model.w) + model.b
            value[k] += float(weight @ some.loss.value(z, y))
            u = weight * some.loss.gradient(z, y)
            slopes[k] += part.rmatvec(u)
            pull[k] += float(u.sum())
    for k, model in enumerate(models):
        cost = value[k] + float(model.penalty.value(model.w))
        model.steps += 1
        if cost <= model.best:
            model.best, model.loss, model.point = cost, float(value[k]), (model.w, model.b)
            model.gradient, model.pull = slopes[k], float(pull[k])
        else:  # the step was too long for the curvature of all rows
            times = (
                POLICY.curvier * float(model.curve.mass) / float(_curve(some, *model.point).mass)
            )
            model.curve = _curve(some, *model.point, times)


def _stepped(model: _StreamedModel, some: Smooth, tol: float) -> bool:
    """Move to the minimiser around the best point; return whether that saves next to nothing."""
    w, b = model.point
    ramps, pull = part_of(model.penalty, some), np.array([model.pull])
    if ramps is not None:
        new = model.curve.descend(pull, model.gradient, w, ramps, 1e-3 * tol * model.best)
    else:
        slope = model.gradient - model.curve.means * model.pull
        new = model_minimiser(model.curve.gram, slope, model.penalty, w, abs(model.best))
    move = new - w
    shift = -float(model.curve.means @ move) - model.pull / model.curve.mass
    slope = model.gradient - model.curve.means * model.pull
    saved = -float(slope @ move) - 0.5 * float(move @ model.curve.gram @ move)
    saved += float(model.penalty.value(w)) - float(model.penalty.value(new))
    saved += 0.5 * model.pull**2 / model.curve.mass
    model.w, model.b = new, b + shift
    return saved <= POLICY.sure_share * tol * abs(model.best)


def _bound(
    rows: StoredRows, some: Smooth, models: Sequence[_StreamedModel], mass: float, began: float
) -> None:
    """Bound each model's gap at its best point by duality over all rows."""
    # The derivatives of one class are shrunk until those of both add up to zero, as they do where
    # the intercept is at its best; then all, into the domain of the penalty's conjugate. Two
    # passes: the factors come of sums over all rows.
    count, p = len(models), len(models[0].w)
    slopes, pulls = np.zeros((count, 2, p)), np.zeros((count, 2))
    for part, side, weight in _parts(rows, mass):
        for k, model in enumerate(models):
            u = weight * some.loss.gradient(part.matvec(model.point[0]) + model.point[1], side[2])
            for c in (0, 1):
                of_class = np.where(side[c], u, 0.0)
                slopes[k, c] += part.rmatvec(of_class)
                pulls[k, c] += float(of_class.sum())
    factors, conjugate = np.zeros((count, 2)), np.zeros(count)
    for k, model in enumerate(models):
        down, up = -pulls[k, 1], pulls[k, 0]  # of rows that pull b down, and up
        if down > 0 and up > 0:
            factors[k] = min(1.0, down / up), min(1.0, up / down)
        gradient = factors[k] @ slopes[k]
        scale = float(model.penalty.dual_scale(-gradient))
        factors[k] *= scale
        conjugate[k] = float(model.penalty.conjugate(-scale * gradient))
    value = np.zeros(count)
    for part, side, weight in _parts(rows, mass):
        for k, model in enumerate(models):
            u = some.loss.gradient(part.matvec(model.point[0]) + model.point[1], side[2])
            u = u * np.where(side[1], factors[k, 1], factors[k, 0])
            value[k] -= float(weight @ some.loss.conjugate(u, side[2]))
    for k, model in enumerate(models):
        if np.isfinite(conjugate[k]):
            model.dual = max(model.dual, float(value[k] - conjugate[k]))
        seconds = time.perf_counter() - began
        model.trace.append(ProximalPoint(model.steps, seconds, model.best, model.gap))


def _parts(
    rows: StoredRows, mass: float
) -> Iterator[tuple[Chunk, tuple[Any, Any, FloatArray], Any]]:
    """Yield rows with which are negative, which positive, their classes as floats, and weights."""
    for part in rows.chunks():
        positive = part.y > 0
        yield part, (~positive, positive, part.y.astype(np.float64)), part.weight / mass


def _result(model: _StreamedModel, tol: float, seconds: float) -> ProximalResult:
    """Return the model's best point, with its gap over all rows."""
    w, b = model.point
    distance = model.penalty.subdiff_distance(w, model.gradient)
    done = model.gap <= tol
    return ProximalResult(
        coefficients=w, intercept=b, objective=model.best, loss=model.loss,
        penalty=float(model.penalty.value(w)), dual_objective=model.dual, gap=model.gap,
        distance=float(np.max(distance, initial=0.0)), trace=tuple(model.trace),
        iterations=model.steps,
        termination=Termination.GAP_REACHED if done else Termination.ITERATION_LIMIT,
        algorithm="out_of_core", seconds=seconds,
    )  # fmt: skip
