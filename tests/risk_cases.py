"""Tiny risk scores and their optima by enumeration, from the formulas alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from milpscore.core.design import Design

LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "logistic": lambda z, y: np.logaddexp(0.0, -y * z),
    "squared": lambda z, y: 0.5 * np.square(z - y),
    "squared_hinge": lambda z, y: 0.5 * np.square(np.maximum(0.0, 1.0 - y * z)),
    "poisson": lambda z, y: np.exp(z) - (y + 1) / 2 * z,
}


def omega(kind: str, w: Any, known: Any) -> float:
    """The penalty of whole points without its weight."""
    sizes = np.abs(np.asarray(w, dtype=float))
    if kind == "l1":
        return float(sizes.sum())
    if kind == "l2":
        return float(np.square(sizes).sum() / 2)
    if kind == "facets":
        return float((np.square(sizes) + sizes).sum() / 2)
    if kind == "eye":
        a = float(((1 - known) * sizes).sum())
        return a + math.hypot(a, float(np.linalg.norm(known * sizes)))
    return 0.0


def least(loss: str, total: Any, data: Design, scale: float, kind: str) -> float:
    """The least mean loss over the allowed intercepts of one vector of totals."""
    share = data.weight / data.weight.sum()

    def mean(b: float) -> float:
        return float(share @ LOSSES[loss]((total + b) / scale, data.y))

    if kind == "zero":
        return mean(0.0)
    if kind == "integer":
        return min(mean(float(b)) for b in range(-30, 31))
    low, high = -40.0, 40.0  # golden section on a convex function
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    for _ in range(120):
        first, second = high - ratio * (high - low), low + ratio * (high - low)
        if mean(first) <= mean(second):
            high = second
        else:
            low = first
    return mean((low + high) / 2)


def optimum(
    data: Design,
    *,
    loss: str = "logistic",
    scale: float = 1.0,
    values: tuple[int, ...] = (-2, -1, 0, 1, 2),
    sets: dict[int, tuple[int, ...]] | None = None,
    max_terms: int | None = None,
    l0_penalty: float = 1e-6,
    penalty: str = "none",
    lam: float = 0.0,
    known: Any = None,
    intercept: str = "integer",
    allowed: Callable[[tuple[int, ...]], bool] = lambda w: True,
) -> float:
    """The least objective over every card; infinite where none is allowed."""
    best = math.inf
    ranges = [(sets or {}).get(j, values) for j in range(data.X.shape[1])]
    for w in itertools.product(*ranges):
        terms = sum(v != 0 for v in w)
        if (max_terms is not None and terms > max_terms) or not allowed(w):
            continue
        charge = l0_penalty * terms + lam * omega(penalty, w, known)
        if charge < best:
            total = data.X @ np.array(w, dtype=float)
            best = min(best, charge + least(loss, total, data, scale, intercept))
    return best


def small(seed: int, p: int = 3, n: int = 14) -> Design:
    """Weighted rows of a few values, both classes, repeated rows."""
    from designs import design

    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 0.0, 0.5, 1.0, 2.0], size=(n, p))
    X[n // 2 :] = X[rng.integers(0, n // 2, size=n - n // 2)]
    y = np.where(X[:, 0] + rng.normal(size=n) > 0.3, 1, -1)
    y[:2] = 1, -1
    return design(X, y, rng.integers(1, 4, size=n).astype(float))
