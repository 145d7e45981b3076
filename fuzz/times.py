"""Survival scores of random small tables, held against every card and forged bounds."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from fuzz.meaning import Array
from fuzz.running import Counts, Wrong

ROWS, COLUMNS = 24, 4
ROOM = 1e-6
"""Relative room of a claim, and of a scan over slopes."""


def table(rng: np.random.Generator) -> dict[str, Any]:
    """Draw columns, times with ties, events, entries and weights."""
    n, p = int(rng.integers(2, ROWS)), int(rng.integers(1, COLUMNS + 1))
    kind = rng.integers(4)
    X = {
        0: rng.integers(0, 2, (n, p)),
        1: rng.integers(-2, 3, (n, p)),
        2: rng.normal(size=(n, p)).round(1),
        3: rng.choice([0.0, 1.0, 1e-3, 250.0], (n, p)),
    }[int(kind)].astype(np.float64)
    time = rng.choice([rng.exponential(size=n), rng.integers(1, 6, n) / 4.0]).round(3) + 0.001
    event = rng.random(n) < rng.choice([0.2, 0.7, 1.0])
    event[int(rng.integers(n))] = True
    given: dict[str, Any] = {"X": X, "time": time, "event": event}
    if rng.random() < 0.3:
        given["entry"] = np.where(rng.random(n) < 0.5, 0.5 * time, 0.0)
    if rng.random() < 0.4:
        weight = rng.choice([0.0, 0.25, 1.0, 2.0, 3.5], n)
        weight[event] = np.maximum(weight[event], 0.25)
        given["sample_weight"] = weight
    return given


def options(rng: np.random.Generator, p: int) -> dict[str, Any]:
    """Draw the arguments of the builder."""
    most = int(rng.integers(1, 4 if p < 4 else 3))
    drawn: dict[str, Any] = {
        "coef_min": -most, "coef_max": most, "l0_penalty": float(rng.choice([0.0, 1e-3, 0.05])),
        "times": [3, "events", 1, 20][int(rng.integers(4))],
        "exposure": str(rng.choice(["time", "at_risk", "discrete"])),
        "scale": ["auto", 1.0, (0.5, 50.0), 0.05][int(rng.integers(4))],
    }  # fmt: skip
    if rng.random() < 0.5:
        drawn["max_terms"] = int(rng.integers(0, p + 1))
    if rng.random() < 0.3:
        drawn |= {"penalty": str(rng.choice(["l1", "l2"])), "lam": 0.01}
    return drawn


def meaning(given: dict[str, Any], cuts: Array, kind: str) -> tuple[Array, Array, Array]:
    """Return exposures over their units, weights of events, and all weights, by definition."""
    n = len(given["time"])
    weight = np.asarray(given.get("sample_weight", np.ones(n)), dtype=np.float64)
    entry = np.asarray(given.get("entry", np.zeros(n)))
    exposed, dead = np.zeros((2, n, len(cuts)))
    for k, (start, end) in enumerate(zip([0.0, *cuts[:-1]], cuts, strict=True)):
        logs = 0.0
        for i, (time, event) in enumerate(zip(given["time"], given["event"], strict=True)):
            here = bool(event) and start < time <= end
            lived = max(0.0, min(time, end) - max(entry[i], start))
            if kind != "time":
                lived = float(entry[i] < end and (time >= end or here))
            exposed[i, k], dead[i, k] = weight[i] * lived, weight[i] * here
            if here and weight[i] > 0:
                logs += weight[i] * math.log(lived)
        if kind != "discrete" and (events := float(dead[:, k].sum())) > 0:
            exposed[:, k] /= events * math.exp(logs / events)
    return exposed, dead, exposed if kind == "discrete" else weight


def chances(at_risk: Array, dead: Array, scores: Array) -> float:
    """Return minus the log-likelihood of an interval at its best intercept."""
    if dead.sum() >= at_risk.sum() * (1.0 - 1e-12):
        return 0.0
    own = at_risk > 0
    e, d, z = at_risk[own], dead[own], scores[own]
    flat, events = math.log(d.sum() / (e - d).sum()), float(d.sum())
    low, high = flat - float(z.max()) - 1e-9, flat - float(z.min()) + 1e-9
    b = brentq(lambda b: float(e @ expit(b + z)) - events, low, high, xtol=1e-12)
    return float(d @ np.logaddexp(0.0, -b - z) + (e - d) @ np.logaddexp(0.0, b + z))


def lost(parts: tuple[Array, Array, Array], scores: Array) -> float:
    """Return the mean loss of scores."""
    exposed, dead, weight = parts
    if weight.ndim == 2:
        events = np.flatnonzero(dead.sum(axis=0))
        found = sum(chances(exposed[:, k], dead[:, k], scores) for k in events)
        return found / float(weight.sum())
    total = -float(dead.sum(axis=1) @ scores)
    for k in np.flatnonzero(dead.sum(axis=0)):
        own = exposed[:, k] > 0
        top = scores[own].max()
        sums = exposed[own, k] @ np.exp(scores[own] - top)
        total += dead[:, k].sum() * (math.log(sums) + top)
    return total / float(weight.sum())


def least(program: Any, parts: tuple[Array, Array, Array]) -> float:
    """Return the least objective of any card, slopes by golden section."""
    statement = program.statement
    X, scales, found = statement.design.X, statement.scales, math.inf
    ranges = [range(a, b + 1) for a, b in zip(*statement.ranges, strict=True)]
    points = np.array(list(itertools.product(*ranges)))
    for w in points[statement.allows(points)]:
        totals, penalty = X @ w, float(statement.penalty(w))
        if scales is None:
            ends = (-math.log(statement.loss.scale),) * 2
        else:
            ends = -math.log(scales.upper), -math.log(scales.lower)
        value = lost(parts, math.exp(ends[0]) * totals)
        low, high, golden = *ends, (math.sqrt(5.0) - 1.0) / 2.0
        for _ in range(60 if high > low else 0):
            a, b = high - golden * (high - low), low + golden * (high - low)
            first, second = (lost(parts, math.exp(end) * totals) for end in (a, b))
            low, high = (low, b) if first <= second else (a, high)
        value = min(value, *(lost(parts, math.exp(end) * totals) for end in (low, high, ends[1])))
        found = min(found, value + penalty)
    return found


def check_times(rng: np.random.Generator, counts: Counts) -> None:
    """Solve one table, and hold claim, bound and evidence against every card."""
    from milpscore.certificate import certify
    from milpscore.certificate.cards import exact_rows
    from milpscore.core.errors import MilpscoreError
    from milpscore.formulations import survival_score
    from milpscore.solvers import solve
    from milpscore_check.cards import Cards
    from milpscore_check.proof import prove

    given = table(rng)
    drawn = options(rng, given["X"].shape[1])
    counts.instances += 1
    try:
        program = survival_score(**given, **drawn)
    except MilpscoreError:
        counts.answers["refused"] += 1
        return
    loss: Any = program.statement.loss
    intervals = loss.base.intervals
    true = least(program, meaning(given, intervals.cuts, intervals.kind))
    solver = str(rng.choice(["tree", "tree", "outer_approximation"]))
    nodes = None if rng.random() < 0.7 else int(rng.integers(1, 20))
    result = solve(program, solver, progress=False, node_limit=nodes, time_limit=120)
    counts.solves += 1
    counts.answers[f"{solver} {result.claim}"] += 1
    said = f"{given!r}\n{drawn!r}, {solver}, {nodes} nodes:\n"
    room = ROOM * max(abs(true), 1e-9) + 1e-12
    if result.dual_bound > true + room:
        raise Wrong("bound", f"{said}the bound {result.dual_bound!r} lies above {true!r}")
    if result.verified and result.objective < true - room:
        raise Wrong("objective", f"{said}the card's {result.objective!r} lies below {true!r}")
    if str(result.claim) == "optimal" and result.objective > true + 2.0 * room:
        raise Wrong("optimal", f"{said}{result.objective!r} is not {true!r}")
    if result.card is None or rng.random() < 0.5:
        return
    made = certify(program, result, time_limit=20, progress=False)
    counts.answers[f"evidence {made.evidence['kind']}"] += 1
    if made.evidence["kind"] != "leaves" or made.bound is None:
        return
    rows, p = exact_rows(program.statement.design), program.statement.shape[1]
    cards = Cards(made.cards, p)
    for goal, holds in ((made.bound, True), (true * (1.0 + 1e-5) + 1e-9, False)):
        proved, why = prove(rows, cards, made.evidence, Fraction(goal))
        if proved is not holds:
            raise Wrong("evidence", f"{said}of {goal!r}, where {true!r} is least: {proved}, {why}")
