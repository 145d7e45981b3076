"""Small tables for the conic programs, and the arguments each formulation needs."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from milpscore.core.conic import ConicProgram
from milpscore.formulations import CONIC_FORMULATIONS

ROWS, COLUMNS = 40, 6
SMOOTH = ("logistic", "poisson", "squared")
LOSSES = ("hinge", *SMOOTH)
BLOCKS = ((0, 1, 2), (3, 4, 5))
EXPERT = (1.0, 0.5, 0.0, 0.0, 1.0, 0.25)

ARGUMENTS: dict[str, dict[str, Any]] = {
    "binarsity": {"blocks": BLOCKS, "weights": "data"},
    "elastic_net": {"l1_ratio": 0.4},
    "eye": {"expert": EXPERT},
    "facets": {"gamma": 0.25},
    "naive_credibility": {"expert": EXPERT, "beta": 0.4},
    "owl": {"weights": [3.0, 3.0, 2.0, 1.0, 0.5, 0.0]},
    "perspective": {"l0_penalty": 0.01, "max_terms": 3, "coef_max": 2},
    "strongly_convex_facets": {"gamma": 0.25, "eps": 0.1},
    "weighted_fused_lasso": {"weights": [1.0, 0.2, 0.5, 2.0, 1.0]},
    "weighted_l1": {"weights": [1.0, 2.0, 0.3, 0.5, 1.0, 1.5]},
    "weighted_l2": {"weights": [1.0, 2.0, 0.3, 0.5, 1.0, 1.5]},
}

CHANGED: dict[str, dict[str, Any]] = {
    "binarsity": {"lam": 0.02, "weights": [0.0, 1.0, 3.0, 0.0, 0.5, 0.2]},
    "elastic_net": {"lam": 0.02, "l1_ratio": 0.9},
    "eye": {"lam": 0.02, "expert": EXPERT[::-1]},
    "facets": {"lam": 0.02, "gamma": 0.4},
    "naive_credibility": {"lam": 0.02, "expert": EXPERT[::-1], "beta": 0.1},
    "owl": {"lam": 0.02, "weights": [4.0, 4.0, 4.0, 3.0, 1.0, 0.0]},
    "perspective": {"lam": 0.02, "l0_penalty": 0.03},
    "strongly_convex_facets": {"lam": 0.02, "gamma": 0.4, "eps": 0.7},
    "weighted_fused_lasso": {"lam": 0.02, "weights": [2.0, 1.0, 0.1, 0.3, 1.0]},
    "weighted_l1": {"lam": 0.02, "weights": [2.0, 0.1, 1.0, 1.0, 0.4, 0.6]},
    "weighted_l2": {"lam": 0.02, "weights": [2.0, 0.1, 1.0, 1.0, 0.4, 0.6]},
}
"""Other values of every argument that can be set in place."""


def table(name: str = "eye", loss: str = "logistic", seed: int = 0) -> tuple[Any, Any]:
    """X of shape (40, 6), one-hot in two blocks for binarsity, and answers for the loss."""
    rng = np.random.default_rng(seed)
    if name == "binarsity":
        codes = rng.integers(0, 3, size=(ROWS, 2))
        X = np.hstack([np.eye(3)[codes[:, 0]], np.eye(3)[codes[:, 1]]])
    else:
        X = rng.normal(size=(ROWS, COLUMNS))
    score = X @ np.array([1.0, -0.8, 0.5, 0.0, 0.1, 0.3])
    if loss == "squared":
        return X, score + 0.3 * rng.normal(size=ROWS)
    if loss == "poisson":
        return X, rng.poisson(np.exp(0.4 * score))
    return X, np.where(score + rng.normal(size=ROWS) > 0, 1, -1)


def make(name: str, loss: str = "logistic", **changes: Any) -> ConicProgram:
    """A program of the small table, lam = 0.05 unless said otherwise."""
    X, y = table(name, loss)
    return CONIC_FORMULATIONS[name](X, y, loss=loss, **{"lam": 0.05, **ARGUMENTS[name], **changes})


def stated_value(program: ConicProgram, w: Any, b: float) -> float:
    """The model's objective with w and b held and the auxiliary variables at their best."""
    held = [program.w == w]
    if program.statement.intercept:
        held.append(program.b == b)
    problem = cp.Problem(program.model.objective, [*program.model.constraints, *held])
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)


def compiled_once(program: ConicProgram) -> Any:
    """What CVXPY keeps of a compilation; the same object as long as nothing is compiled anew."""
    return program.model._cache.param_prog
