"""Figures 3, 4, 7 and 8 of the ternary paper over the margin, with the exact optimum beside."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from experiments.runner import Experiment, Finding, Result, Results
from experiments.ternary.climbing import hill_climbing
from experiments.ternary.shape import BINARY, ORDER, POINTS, count_binary, shape_of
from milpscore.core.card import Card, DecisionRule
from milpscore.core.design import Design, FloatArray, IntArray
from milpscore.core.errors import OptionError
from milpscore.core.program import Program
from milpscore.core.result import Result as Solved
from milpscore.core.statement import Statement
from milpscore.data import make_design, make_ternary
from milpscore.formulations import convex_rounding, hinge
from milpscore.rounding import derandomised, nearest, randomised
from milpscore.rounding.draws import held_losses
from milpscore.search import local_search
from milpscore.search.points import neighbours
from milpscore.solvers import load, solve
from milpscore.solvers.running import set_option
from milpscore.verify import evaluate

CARDS = ("nearest", "best_of_draws", "derandomised", "local_search", "hill_climbing", "exact")
METHODS = ("relaxed", "draw_of_interior", "draw", *CARDS)


class TernaryFigures(Experiment, frozen=True, kw_only=True):
    """Binary weights, path and errors as functions of the margin.

    Data of :func:`milpscore.data.make_ternary`, the paper's being private; ternary weights,
    threshold 0. The relaxation is the LP over the doubled features. The figures' curve after
    rounding is one draw of randomised rounding: here the mean of ``n_draws`` draws of the weights
    at a vertex, and at an interior point as the paper's solver gives it; beside it stand nearest
    rounding, the best of the draws, derandomised rounding (all of the vertex), the paper's local
    search, random-restart hill climbing, and what the paper could not show: the best ternary
    weights of all, with the bound that was proved within the limits (where seconds stop a solve,
    its card and bound depend on the machine; a limit on nodes does not). It starts from the best
    card of the others.

    Tables, a row per gamma: ``binary`` (Figure 3: doubled weights that are 0 or 1), ``summary``
    (Figures 7 and 8: mean error on the training rows), ``objectives``, ``proofs`` (in_order counts
    the runs with relaxed <= bound <= exact <= every rounding); ``shape`` (a row per statement of
    the paper). ``weights``, shape (runs, g, 2, dimension), are Figure 4's: at the vertex, then at
    the interior point.

    References
    ----------
    Chevaleyre, Koriche & Zucker, "Learning linear classifiers with ternary weights from metagenomic
    data" (2013), sec. 3.1, 4 and 5, Figures 3, 4, 7 and 8.
    """

    gammas: tuple[float, ...] = (
        0.1, 0.5, 1.0, 2.0, 5.0, 7.5, 10.0, 15.0, 20.0, 25.0, 35.0, 50.0, 75.0, 100.0, 200.0
    )  # fmt: skip
    n_samples: int = 38
    n_features: int = 69
    n_draws: int = 100
    n_restarts: int = 10
    time_limit: float = 5.0
    node_limit: int | None = None

    name = "ternary-figures"
    repetitions = 10
    figure = "experiments.ternary.plots:ternary_figure"

    def __post_init__(self) -> None:
        """Order the margins; refuse what no run could use."""
        margins = np.sort(np.asarray(self.gammas, dtype=np.float64).ravel())
        if not len(margins) or not np.isfinite(margins).all() or margins[0] <= 0:
            raise OptionError("gammas must be finite positive numbers, and at least one.")
        for name in ("n_draws", "n_restarts"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name}={getattr(self, name)}; use at least 1.")
        msgspec.structs.force_setattr(self, "gammas", tuple(margins.tolist()))

    def __call__(self, run: int) -> Result:
        """Every margin on one draw of the data."""
        drawing, rounding = np.random.SeedSequence([self.random_state, run]).spawn(2)
        X, y, _ = make_ternary(self.n_samples, self.n_features, random_state=drawing)
        design = make_design(X, y)
        seed = int(rounding.generate_state(1)[0] % 2**31)
        return {
            "largest_l1": float(np.abs(design.X).sum(axis=1).max()),
            "margins": [self._margin(design, gamma, seed) for gamma in self.gammas],
        }

    def finding(self, results: Results) -> Finding:
        """Every figure's table, and what the paper says of them."""
        runs = pd.DataFrame([row for run, result in results.items() for row in _rows(run, result)])
        weights = np.array(
            [
                [[margin["weights"][point] for point in POINTS] for margin in result["margins"]]
                for result in results.values()
            ]
        )
        gammas = np.array(self.gammas)
        return Finding(
            runs=runs, binary=_binary(weights, gammas), summary=_wide(runs, "error"),
            objectives=_wide(runs, "objective"), proofs=_proofs(runs),
            shape=shape_of(runs, weights, gammas), gammas=gammas, weights=weights,
        )  # fmt: skip

    def _margin(self, design: Design, gamma: float, seed: int) -> Result:
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
        assert proved.card is not None  # it started from a verified one
        cards["exact"] = proved.card
        points = np.stack([cards[name].coefficients for name in CARDS])
        draws = {
            "draw": _draws(statement, w, self.n_draws, seed),
            "draw_of_interior": _draws(statement, interior, self.n_draws, seed),
        }
        objectives = {name: evaluate(statement, card).objective for name, card in cards.items()}
        errors = dict(zip(CARDS, _errors(design, points).tolist(), strict=True))
        for name, each in draws.items():
            objectives[name] = float(held_losses(statement, each, 0.0).mean())
            errors[name] = float(_errors(design, each).mean())
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
        found = {
            "nearest": nearest(statement, w, 0.0),
            "best_of_draws": randomised(statement, w, n_draws=self.n_draws, random_state=seed).card,
            "derandomised": derandomised(statement, w, 0.0).card,
            "local_search": local_search(statement).card,
            "hill_climbing": hill_climbing(
                statement, n_restarts=self.n_restarts, random_state=seed
            ).card,
        }
        # nothing limits the terms and the intercept is 0: every rounding is a card
        return {name: card for name, card in found.items() if card is not None}


def in_order(objectives: dict[str, float], bound: float) -> bool:
    """Whether relaxed <= bound <= exact <= each of the others, and no draw's mean lies below."""
    exact = objectives["exact"]
    rounded = min(objectives[name] for name in METHODS if name not in ("relaxed", "exact"))
    steps = (objectives["relaxed"], bound, exact, rounded)
    return all(low <= high + ORDER for low, high in pairwise(steps))


def _relaxations(design: Design, gamma: float) -> tuple[Solved, dict[str, FloatArray]]:
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
    """The draws of :func:`randomised`, one per row."""
    low, high, fraction = neighbours(statement, w)
    up = np.random.default_rng(seed).random((n_draws, len(low))) < fraction
    return np.where(up, high, low)


def _errors(design: Design, points: FloatArray | IntArray) -> FloatArray:
    """Share of wrong answers on the training rows; a total of 0 is positive."""
    rule = DecisionRule(Fraction(0), design.step)
    wrong = [rule.positive(rule.totals(design.X, row)) != (design.y > 0) for row in points]
    return np.asarray(np.array(wrong, dtype=np.float64).mean(axis=1))


def _rows(run: int, result: Result) -> list[dict[str, Any]]:
    """One row a margin and method."""
    return [
        {
            "run": run,
            "gamma": margin["gamma"],
            "method": method,
            "objective": margin["objectives"][method],
            "error": margin["errors"][method],
            "bound": margin["bound"],
            "claim": margin["claim"],
            "in_order": in_order(margin["objectives"], margin["bound"]),
            # of Proposition 1: X_1 / (2 gamma), on the mean loss
            "slack": result["largest_l1"] / (2 * margin["gamma"]),
        }
        for margin in result["margins"]
        for method in METHODS
    ]


def _binary(weights: FloatArray, gammas: FloatArray) -> pd.DataFrame:
    """Figure 3: mean and least count over the runs, at either point of the LP's optima."""
    columns: dict[str, Any] = {"gamma": gammas}
    for k, point in enumerate(POINTS):
        counts = count_binary(weights[:, :, k], BINARY[point])
        columns |= {point: counts.mean(axis=0), f"least_{point}": counts.min(axis=0)}
    return pd.DataFrame({**columns, "dimension": weights.shape[-1]})


def _wide(runs: pd.DataFrame, column: str, methods: Sequence[str] = METHODS) -> pd.DataFrame:
    """Means over the runs, a row per gamma, a column a method."""
    means = runs.pivot_table(index="gamma", columns="method", values=column)
    return means[list(methods)].rename_axis(columns=None).reset_index()


def _proofs(runs: pd.DataFrame) -> pd.DataFrame:
    """What is proved of the objectives."""
    once = runs[runs["method"] == "exact"]
    grouped = once.assign(proved=once["claim"] == "optimal").groupby("gamma")
    wide = _wide(runs, "objective", ("relaxed", "exact"))
    wide.insert(2, "bound", grouped["bound"].mean().to_numpy())
    return wide.assign(**{key: grouped[key].sum().to_numpy() for key in ("proved", "in_order")})
