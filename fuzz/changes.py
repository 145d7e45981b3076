"""Least changes of random cards, held against every change of a small table."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import minimize

from fuzz.meaning import Array
from fuzz.running import Counts, Wrong

ROWS, COLUMNS, MOST = 40, 4, 3
ROOM = 1e-6
"""Relative room of a claim, and of an optimiser of slope and intercept."""


def lost(total: Array, y: Array, share: Array, ends: tuple[float, float]) -> float:
    """Return the least mean logistic loss of totals, the slope between two ends."""
    side = np.where(y == 1, -1.0, 1.0)

    def value(line: Array) -> tuple[float, Array]:
        z = side * (line[0] * total + line[1])
        pull = share * side / (1.0 + np.exp(-np.clip(z, -500.0, 500.0)))
        return float(share @ np.logaddexp(0.0, z)), np.array([pull @ total, pull.sum()])

    bounds = [ends, (None, None)]
    starts = (min(max(s, ends[0]), ends[1]) for s in (0.05, 1.0))
    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 1000}
    return min(
        float(minimize(value, (s, 0.0), jac=True, bounds=bounds, options=options).fun)
        for s in starts
    )


def hold(rung: Any, X: Array, y: Array, share: Array, true: float, given: str) -> None:
    """Hold a rung against the least loss of all cards that change as little."""
    room = ROOM * max(abs(true), 1e-9) + 1e-9
    risk = rung.card.predict_proba(X)[:, 1]
    with np.errstate(divide="ignore"):
        own = float(share @ -np.log(np.where(y == 1, risk, 1.0 - risk)))
    if abs(own - rung.loss) > 1e-7 * max(1.0, own):
        raise Wrong("risks", f"{given}{rung!r} states risks of loss {own!r}")
    if rung.bound > true + room:
        raise Wrong("bound", f"{given}{rung!r} lies above {true!r}")
    if rung.loss < true - room:
        raise Wrong("loss", f"{given}{rung!r} lies below {true!r}")
    if str(rung.result.claim) == "optimal" and rung.loss > true + 2.0 * room:
        raise Wrong("optimal", f"{given}{rung!r} is not {true!r}")
    if len(rung.changed) > rung.changes:
        raise Wrong("changes", f"{given}{rung!r}: {rung.changed!r}")


def check_changes(rng: np.random.Generator, counts: Counts) -> None:
    """Update one card, and hold each rung against every card that changes as little."""
    from milpscore import update
    from milpscore.certificate import certify
    from milpscore.certificate.cards import exact_rows, plain_cards
    from milpscore.core.design import Column
    from milpscore.core.errors import MilpscoreError
    from milpscore.scorecard import Scorecard
    from milpscore_check.cards import Cards
    from milpscore_check.proof import prove

    n, p = int(rng.integers(6, ROWS)), int(rng.integers(1, COLUMNS + 1))
    X = rng.integers(0, int(rng.integers(2, 4)), (n, p)).astype(np.float64)
    y, weight = rng.integers(0, 2, n), rng.choice([0.5, 1.0, 3.0], n)
    points, most = rng.integers(-MOST, MOST + 1, p), int(rng.integers(1, 3))
    changes = int(rng.integers(0, 3))
    points_most = int(rng.integers(0, 7)) if rng.random() < 0.4 else None
    names = [f"x{j}" for j in range(p)]
    card = Scorecard(
        tuple(Column(name, name) for name in names), tuple(points.tolist()), Fraction(0)
    )
    counts.instances += 1
    try:
        made = update(
            card, X, y, changes=changes, point_changes=points_most, coef_min=-most, coef_max=most,
            sample_weight=weight, progress=False,
        )  # fmt: skip
    except MilpscoreError:
        counts.answers["refused"] += 1
        return
    counts.solves += changes + 1
    share, given = (
        weight / weight.sum(),
        f"{X!r}\n{y!r}\n{weight!r}\n{points!r} {most} {changes} {points_most}:\n",
    )
    low, high = min(-most, points.min()), max(most, points.max())
    every = np.array(list(itertools.product(range(low, high + 1), repeat=p)))
    far = (every != points).sum(axis=1)
    if points_most is not None:
        far[np.abs(every - points).sum(axis=1) > points_most] = changes + 1
    scales: Any = made.rungs[0].program.statement.scales
    ends = 1.0 / float(scales.upper), 1.0 / float(scales.lower)
    losses = np.array([
        lost(X @ w, y, share, ends) if d <= changes else np.inf
        for w, d in zip(every, far, strict=True)
    ])  # fmt: skip
    for rung in made.rungs:
        counts.answers[f"rung {rung.result.claim}"] += 1
        hold(rung, X, y, share, float(losses[far <= rung.changes].min()), given)
    last = made.rungs[-1]
    if rng.random() < 0.5 or last.bound <= 0.0:
        return
    proof = certify(last.program, last.result, time_limit=20, progress=False)
    counts.answers[f"evidence {proof.evidence['kind']}"] += 1
    if proof.evidence["kind"] != "leaves" or proof.bound is None:
        return
    statement = last.program.statement
    cards = Cards(plain_cards(statement), statement.design.shape[1])
    true = float(losses[far <= last.changes].min())
    for goal, holds in ((proof.bound, True), (true * (1.0 + 1e-5) + 1e-8, False)):
        proved, why = prove(exact_rows(statement.design), cards, proof.evidence, Fraction(goal))
        if proved is not holds:
            raise Wrong("evidence", f"{given}of {goal!r}, where {true!r} is least: {proved}, {why}")
