"""One run of the ternary paper's figures: every margin on one draw of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from milpscore.core.card import Card, DecisionRule
from milpscore.core.design import Design, FloatArray, IntArray
from milpscore.core.errors import OptionError
from milpscore.data import make_design, make_ternary
from milpscore.formulations import convex_rounding, hinge
from milpscore.rounding import derandomised, nearest, randomised
from milpscore.rounding.expectations import held_losses
from milpscore.search import hill_climbing, local_search
from milpscore.search.points import neighbours
from milpscore.solvers import load, solve
from milpscore.solvers.session import set_option
from milpscore.verify import evaluate

if TYPE_CHECKING:
    from milpscore.core.program import Program
    from milpscore.core.result import Result
    from milpscore.core.statement import Statement

POINTS = ("vertex", "interior")
CARDS = (
    "nearest",
    "best_of_draws",
    "derandomised",
    "local_search",
    "hill_climbing",
    "exact",
)
METHODS = ("relaxed", "draw_of_interior", "draw", *CARDS)

BINARY = {"vertex": 1e-9, "interior": 1e-4}
"""Distance to 0 or 1 of a binary weight; a barrier nears its bounds only so far."""

ORDER = 1e-7
"""Two objectives closer than this count as equal: the LP's is one of floating point."""


@dataclass(frozen=True)
class TernaryRuns:
    """The runs; a run's results follow from the settings and its number.

    Parameters
    ----------
    gammas : tuple of float, ascending
    n_samples, n_features : int
    n_draws, n_restarts : int
    time_limit : float
        Seconds for each exact program.
    node_limit : int or None
    random_state : int
    """

    gammas: tuple[float, ...]
    n_samples: int
    n_features: int
    n_draws: int
    n_restarts: int
    time_limit: float
    node_limit: int | None
    random_state: int

    def __post_init__(self) -> None:
        if not self.gammas or not np.isfinite(self.gammas).all() or self.gammas[0] <= 0:
            raise OptionError("gammas must be finite positive numbers, and at least one.")
        for name in ("n_draws", "n_restarts"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name}={getattr(self, name)}; use at least 1.")

    def settings(self) -> dict[str, Any]:
        return dict(vars(self))

    def __call__(self, run: int) -> dict[str, Any]:
        drawing, rounding = np.random.SeedSequence([self.random_state, run]).spawn(2)
        X, y = make_ternary(self.n_samples, self.n_features, random_state=drawing)
        design = make_design(X, y)
        seed = int(rounding.generate_state(1)[0] % 2**31)
        return {
            "seed": [self.random_state, run],
            "largest_l1": float(np.abs(design.X).sum(axis=1).max()),
            "margins": [self._margin(design, gamma, seed) for gamma in self.gammas],
        }

    def _margin(self, design: Design, gamma: float, seed: int) -> dict[str, Any]:
        """All methods at one margin."""
        relaxed, weights = _relaxations(design, gamma)
        exact = hinge(design, margin=gamma, weights="ternary", intercept="zero")
        statement = exact.statement
        w = relaxed.coefficients
        interior = weights["interior"].reshape(-1, 2) @ np.array([1.0, -1.0])
        cards = self._cards(statement, w, seed)
        best = min(cards.values(), key=lambda card: evaluate(statement, card).objective)
        proved = solve(
            exact, warm_start=best, time_limit=self.time_limit, node_limit=self.node_limit,
            progress=False,
        )  # fmt: skip
        assert proved.card is not None  # a verified start was handed in
        cards["exact"] = proved.card
        points = np.stack([cards[name].coefficients for name in CARDS])
        draws = {
            "draw": _draws(statement, w, self.n_draws, seed),
            "draw_of_interior": _draws(statement, interior, self.n_draws, seed),
        }
        objectives = {name: evaluate(statement, card).objective for name, card in cards.items()}
        objectives |= {name: float(_losses(statement, each).mean()) for name, each in draws.items()}
        errors = dict(zip(CARDS, _errors(design, points).tolist(), strict=True))
        errors |= {name: float(_errors(design, each).mean()) for name, each in draws.items()}
        errors["relaxed"] = float(_errors(design, w[None, :])[0])
        return {
            "gamma": gamma,
            "objectives": {**objectives, "relaxed": relaxed.objective},
            "errors": errors,
            "bound": max(proved.dual_bound, relaxed.dual_bound),
            "claim": str(proved.claim),
            "weights": {name: each.tolist() for name, each in weights.items()},
        }

    def _cards(self, statement: Statement, w: FloatArray, seed: int) -> dict[str, Card]:
        """The card of each rounding and search."""
        drawn = randomised(statement, w, n_draws=self.n_draws, random_state=seed)
        climbed = hill_climbing(statement, n_restarts=self.n_restarts, random_state=seed)
        found = {
            "nearest": nearest(statement, w, 0.0),
            "best_of_draws": drawn.card,
            "derandomised": derandomised(statement, w, 0.0).card,
            "local_search": local_search(statement).card,
            "hill_climbing": climbed.card,
        }
        # nothing limits the terms and the intercept is 0: every rounding is a card
        return {name: card for name, card in found.items() if card is not None}


def in_order(objectives: dict[str, float], bound: float) -> bool:
    """Whether relaxed <= bound <= exact <= each of the others, and no draw's mean lies below."""
    exact = objectives["exact"]
    rounded = min(objectives[name] for name in METHODS if name not in ("relaxed", "exact"))
    steps = (objectives["relaxed"], bound, exact, rounded)
    return all(low <= high + ORDER for low, high in pairwise(steps))


def count_binary(weights: Sequence[float] | FloatArray, point: str) -> int:
    """How many of the doubled weights are 0 or 1."""
    c = np.asarray(weights, dtype=np.float64)
    return int((np.minimum(np.abs(c), np.abs(1.0 - c)) <= BINARY[point]).sum())


def _relaxations(design: Design, gamma: float) -> tuple[Result, dict[str, FloatArray]]:
    """The LP's result at a vertex, and the doubled weights there and at an interior point.

    Where several weights are optimal, the simplex answers a vertex, whose weights are binary but
    for as many as there are rows; CVXOPT, the paper's solver, answers a point within. Presolve
    would join the two copies of a feature at a bound, so that it is left out there.
    """
    program = convex_rounding(design, margin=gamma, intercept="zero")
    vertex = solve(program, progress=False)
    weights = {"vertex": _doubled(program)}
    session = load(program)
    set_option(session.highs, "solver", "ipm")
    set_option(session.highs, "run_crossover", "off")
    solve(session, presolve=False, progress=False)
    return vertex, {**weights, "interior": _doubled(program)}


def _doubled(program: Program) -> FloatArray:
    """The weights c in [0, 1]^d as the last solve left them."""
    model = program.model
    return np.array([model.c[d].value for d in model.D], dtype=np.float64)


def _draws(statement: Statement, w: FloatArray, n_draws: int, seed: int) -> IntArray:
    """The draws of :func:`randomised`, one a row."""
    low, high, fraction = neighbours(statement, w)
    up = np.random.default_rng(seed).random((n_draws, len(low))) < fraction
    return np.where(up, high, low)


def _losses(statement: Statement, points: IntArray) -> FloatArray:
    """Mean hinge loss of each row of points, the intercept being 0."""
    return held_losses(statement, points, 0.0)


def _errors(design: Design, points: FloatArray | IntArray) -> FloatArray:
    """Share of wrong answers on the training rows; a total of 0 is positive."""
    rule = DecisionRule(Fraction(0), design.step)
    wrong = [
        rule.positive(rule.totals(design.X, row)) != (design.y > 0) for row in np.asarray(points)
    ]
    return np.asarray(np.array(wrong, dtype=np.float64).mean(axis=1))
