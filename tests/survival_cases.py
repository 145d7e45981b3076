"""Small tables of times to an event, and their loss by its definition."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit

from milpscore.data import SurvivalDesign, make_survival_design


def small_times(
    seed: int, rows: int = 40, columns: int = 3, *, late: bool = False, weighted: bool = False
) -> SurvivalDesign:
    """Rows of few values with ties in time, some censored, some that enter late or weigh more."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3 if seed % 2 else 2, (rows, columns)).astype(np.float64)
    score = X @ rng.normal(0.0, 0.8, columns)
    time = np.ceil(10.0 * rng.exponential(np.exp(-score))) / 4.0 + 0.25
    censored = np.ceil(rng.exponential(20.0, rows)) / 4.0 + 0.25
    entry = np.where(rng.random(rows) < 0.3, 0.2, 0.0) if late else None
    weight = rng.integers(1, 4, rows) / 2.0 if weighted else None
    event = time <= censored
    event[0] = True
    return make_survival_design(
        X, time=np.minimum(time, censored), event=event, entry=entry, sample_weight=weight
    )


def table_by_definition(
    design: SurvivalDesign, cuts: np.ndarray, kind: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return exposures over events and mean exposure of their rows, and events, all weighted."""
    exposed, dead = np.zeros((2, len(design.y), len(cuts)))
    for k, (start, end) in enumerate(zip([0.0, *cuts[:-1]], cuts, strict=True)):
        logs = 0.0
        for i, time in enumerate(design.time):
            ends_here = bool(design.event[i]) and start < time <= end
            if kind == "time":
                exposure = max(0.0, min(time, end) - max(design.entry[i], start))
            else:
                exposure = float(design.entry[i] < end and (time >= end or ends_here))
            weight = design.weight[i]
            exposed[i, k], dead[i, k] = weight * exposure, weight * ends_here
            if ends_here:
                logs += weight * math.log(exposure)
        if kind != "discrete" and (events := dead[:, k].sum()) > 0:
            exposed[:, k] /= events * math.exp(logs / events)
    return exposed, dead


def loss_by_definition(
    design: SurvivalDesign, cuts: np.ndarray, kind: str, scores: np.ndarray
) -> float:
    """Minus the profiled log-likelihood, interval by interval."""
    exposed, dead = table_by_definition(design, cuts, kind)
    return _loss(exposed, dead, scores, kind) / _whole(design, exposed, kind)


def _whole(design: SurvivalDesign, exposed: np.ndarray, kind: str) -> float:
    """What the loss is the mean of: rows, or rows at risk."""
    return float(exposed.sum() if kind == "discrete" else design.weight.sum())


def _loss(exposed: np.ndarray, dead: np.ndarray, scores: np.ndarray, kind: str) -> float:
    """Sum the table's likelihood."""
    events = dead.sum(axis=0)
    if kind == "discrete":
        return sum(_period(*each, scores) for each in zip(exposed.T, dead.T, strict=True))
    sums = (exposed * np.exp(scores)[:, None]).sum(axis=0)[events > 0]
    return float(events[events > 0] @ np.log(sums) - dead.sum(axis=1) @ scores)


def _period(at_risk: np.ndarray, dead: np.ndarray, scores: np.ndarray) -> float:
    """Minus the log-likelihood of one interval at its best intercept."""
    if dead.sum() in (0.0, at_risk.sum()):
        return 0.0  # an intercept without end leaves nothing

    def excess(b: float) -> float:
        return float(at_risk @ expit(b + scores) - dead.sum())

    flat, own = math.log(dead.sum() / (at_risk - dead).sum()), scores[at_risk > 0]
    b = brentq(excess, flat - own.max() - 1e-9, flat - own.min() + 1e-9, xtol=1e-13)
    z = b + scores
    return float(dead @ np.logaddexp(0.0, -z) + (at_risk - dead) @ np.logaddexp(0.0, z))


def best_by_enumeration(program: Any) -> float:
    """The least objective over every card, slopes by a fine scan and a bounded search."""
    statement = program.statement
    design, intervals = statement.design, statement.loss.base.intervals
    scales, kind = statement.scales, intervals.kind
    exposed, dead = table_by_definition(design, intervals.cuts, kind)
    whole = _whole(design, exposed, kind)
    least = math.inf
    ranges = [range(low, high + 1) for low, high in zip(*statement.ranges, strict=True)]
    points = np.array(list(itertools.product(*ranges)))
    for w in points[statement.allows(points)]:
        totals = design.X @ w

        def loss(log_slope: float, totals: np.ndarray = totals) -> float:
            return _loss(exposed, dead, math.exp(log_slope) * totals, kind) / whole

        if scales is None:
            found = loss(-math.log(statement.loss.scale))
        else:
            low, high = -math.log(scales.upper), min(-math.log(scales.lower), math.log(30.0))
            answer = minimize_scalar(
                loss,
                bounds=(low, high),
                method="bounded",
                options={"xatol": 1e-10},
            )
            found = min(answer.fun, loss(low), loss(high))
        least = min(least, found + statement.penalty(w))
    return least
