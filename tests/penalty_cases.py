"""One factory for every registered penalty, and slow prox steps written from the definitions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from milpscore.penalties import PENALTIES

Array = np.ndarray
BLOCKS = ((0, 1, 2), (4, 3), (5,), (6, 7))
FEATURES = 8
# Names with more than one form worth the general tests.
FORMS: dict[str, list[Callable[[np.random.Generator], dict[str, Any]]]] = {
    "adaptive_l1": [lambda rng: {"initial": rng.normal(size=8)},
                    lambda rng: {"initial": np.r_[0.0, rng.normal(size=7)]}],
    "alpha_facets": [lambda rng: {"alpha": (1.0, 2.0)},
                     lambda rng: {"alpha": tuple(rng.uniform(0.1, 2, 4)), "gamma": 0.3}],
    "binarsity": [lambda rng: {"blocks": BLOCKS},
                  lambda rng: {"blocks": BLOCKS, "weights": rng.uniform(0.1, 2, 8)}],
    "box": [lambda rng: {"lower": -1.0, "upper": 0.5},
            lambda rng: {"lower": -rng.uniform(0, 1, 8), "upper": np.r_[np.inf, np.zeros(7)]}],
    "elastic_net": [lambda rng: {"l1_ratio": 0.3}, lambda rng: {"l1_ratio": 1.0}],
    "eye": [lambda rng: {"expert": rng.integers(0, 2, 8)},
            lambda rng: {"expert": np.r_[0.0, 0.5, 1.0, rng.uniform(0, 1, 5)]}],
    "facets": [lambda rng: {}, lambda rng: {"gamma": 0.3}],
    "group_l1": [lambda rng: {"blocks": BLOCKS},
                 lambda rng: {"blocks": BLOCKS, "weights": rng.uniform(0.3, 2, 4)}],
    "l1": [lambda rng: {}],
    "l2": [lambda rng: {}],
    "naive_credibility": [lambda rng: {"expert": rng.uniform(0, 1, 8), "beta": 0.6}],
    "owl": [lambda rng: {"weights": np.sort(rng.uniform(0, 1, 8))[::-1]},
            lambda rng: {"weights": np.eye(1, 8)[0]}],
    "scf": [lambda rng: {"eps": 0.2}, lambda rng: {"eps": 0.01, "gamma": 0.3}],
    "sparse_hull": [lambda rng: {"max_terms": 3},
                    lambda rng: {"max_terms": 2, "weights": "binary"}],
    "weighted_l1": [lambda rng: {"weights": np.r_[0.0, rng.uniform(0, 2, 7)]},
                    lambda rng: {"weights": rng.uniform(0.1, 2, 8)}],
    "weighted_l2": [lambda rng: {"weights": rng.uniform(0, 2, 8)}],
    "weighted_tv": [lambda rng: {}, lambda rng: {"weights": np.r_[0.0, rng.uniform(0, 2, 6)]}],
}  # fmt: skip
INDICATORS = {"box", "sparse_hull"}


def make(name: str, form: int, rng: np.random.Generator, lam: float = 0.7) -> Any:
    """A penalty of eight coefficients."""
    arguments = FORMS[name][form](rng)
    return PENALTIES[name](*(() if name in INDICATORS else (lam,)), **arguments)


def every_form() -> list[tuple[str, int]]:
    return [(name, form) for name, forms in FORMS.items() for form in range(len(forms))]


def awkward(rng: np.random.Generator, rows: int, columns: int) -> Array:
    """Ties, zeros, whole numbers, tiny and large entries, plain noise: a mix by rows."""
    y = rng.normal(size=(rows, columns)) * rng.choice([0.1, 1.0, 3.0, 20.0], size=(rows, 1))
    kind = rng.integers(0, 6, size=rows)
    y[kind == 1] = np.rint(y[kind == 1])
    y[kind == 2] = np.repeat(y[kind == 2][:, :1], columns, axis=1)
    y[kind == 3] *= rng.integers(0, 2, size=y[kind == 3].shape)
    y[kind == 4] = np.sort(y[kind == 4], axis=1)
    return y


# --- prox steps from the definitions -------------------------------------------------------------


def scalar_prox(y: Array, slope: Callable[[Array], Array]) -> Array:
    """The x with y in x + slope(x), for an odd slope given at x >= 0 from the right: bisection."""
    goal = np.abs(y)
    low, high = np.zeros_like(goal), goal.copy()
    for _ in range(1200):
        middle = (low + high) / 2
        if np.all((middle == low) | (middle == high)):
            break
        below = middle + slope(middle) < goal
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.copysign(np.where(slope(np.zeros_like(goal)) >= goal, 0.0, high), y)


def chain_prox(y: Array, width: Array) -> Array:
    """Weighted total variation of short rows: of all sign patterns the one that meets KKT."""
    rows, n = y.shape
    best, least = np.zeros_like(y), np.full(rows, np.inf)
    for pattern in product((-1, 0, 1), repeat=n - 1):
        sign = np.array(pattern)
        labels = np.r_[0, np.cumsum(sign != 0)]
        pull = np.zeros_like(y)
        pull[:, :-1] += sign * width
        pull[:, 1:] -= sign * width
        member = labels == np.arange(labels[-1] + 1)[:, None]
        x = ((y + pull) @ (member / member.sum(axis=1)[:, None]).T)[:, labels]
        dual = -np.cumsum(y - x, axis=1)[:, :-1]
        jump = np.diff(x, axis=1)
        broken = np.maximum(np.maximum(np.abs(dual) - width, 0.0), np.maximum(-sign * jump, 0.0))
        worst = broken.max(axis=1, initial=0.0)
        better = worst < least
        best[better], least[better] = x[better], worst[better]
    return best


def sorted_prox(y: Array, weights: Array) -> Array:
    """OWL by the minimax formula of isotonic regression, one row."""
    order = np.argsort(-np.abs(y), kind="stable")
    v = np.abs(y)[order] - weights
    n = len(v)
    means = np.array(
        [[v[a : b + 1].mean() if b >= a else -np.inf for b in range(n)] for a in range(n)]
    )
    x = np.zeros(n)
    for i in range(n):
        x[order[i]] = max(min(means[a, i:].max() for a in range(i + 1)), 0.0)
    return np.copysign(x, y)


def eye_prox(y: Array, r: Array, mu: Array) -> Array:
    """EYE by two nested bisections over rows of y, r in [0, 1]^p, mu of shape (rows, 1).

    x(Z, s) = sign(y)(|y| - mu (1-r)(1+s))_+ / (1 + mu r^2 / Z): s from a = Z s, Z from
    a^2 + b^2 = Z^2.
    """
    size = np.abs(y)

    def inner(z: Array) -> Array:
        low, high = np.zeros_like(z), np.full_like(z, 1.0)
        for _ in range(60):
            s = (low + high) / 2
            x = np.maximum(size - mu * (1 - r) * (1 + s), 0) / (1 + mu * r * r / z)
            above = ((1 - r) * x).sum(axis=1, keepdims=True) > z * s
            low, high = np.where(above, s, low), np.where(above, high, s)
        return np.maximum(size - mu * (1 - r) * (1 + high), 0) / (1 + mu * r * r / z)

    high = np.log(np.linalg.norm(size, axis=1, keepdims=True) * np.sqrt(y.shape[1]) + 1e-30)
    low = high - 30.0  # never far below the answer, where the sums are rounding
    for _ in range(70):
        z = np.exp((low + high) / 2)
        x = inner(z)
        length = np.hypot(((1 - r) * x).sum(axis=1), np.linalg.norm(r * x, axis=1))[:, None]
        low, high = (np.where(length > z, np.log(z), low), np.where(length > z, high, np.log(z)))
    return np.copysign(inner(np.exp(high)), y)


def hull_prox(y: Array, budget: float) -> Array:
    """{|x| <= 1, sum |x| <= budget} by bisection on the multiplier, rows of y."""
    size = np.abs(y)
    low, high = np.zeros((len(y), 1)), size.max(axis=1, keepdims=True)
    for _ in range(200):
        tau = (low + high) / 2
        over = np.clip(size - tau, 0, 1).sum(axis=1, keepdims=True) > budget
        low, high = np.where(over, tau, low), np.where(over, high, tau)
    fits = np.clip(size, 0, 1).sum(axis=1, keepdims=True) <= budget
    return np.copysign(np.clip(size - np.where(fits, 0.0, high), 0, 1), y)
