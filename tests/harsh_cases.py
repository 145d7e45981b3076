"""Over five hundred proximal problems of 50 rows and 20 columns that are hard on purpose.

Every form of every penalty, under every smooth loss, on columns that are collinear, on classes that
a line parts, and on columns of sizes ten powers of ten apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from milpscore.losses import LOSSES, smooth_loss
from milpscore.losses.registry import EXACT_ONLY
from milpscore.penalties import PENALTIES

Array = np.ndarray
ROWS, COLUMNS = 50, 20
KINDS = ("collinear", "separable", "scaled")
SMOOTH = tuple(sorted(set(LOSSES) - EXACT_ONLY))
_BLOCKS = tuple(tuple(range(a, a + 4)) for a in range(0, COLUMNS, 4))

# name -> arguments beside lam, drawn; gammas and boxes are in units of a coefficient's size
_Draw = Callable[[np.random.Generator], dict[str, Any]]
FORMS: dict[str, tuple[_Draw, ...]] = {
    "adaptive_l1": (
        lambda rng: {"initial": rng.normal(size=COLUMNS)},
        lambda rng: {"initial": rng.normal(size=COLUMNS) * (rng.random(COLUMNS) < 0.7)},
    ),
    "alpha_facets": (
        lambda rng: {"alpha": (1.0, 2.0), "gamma": 10.0 ** rng.uniform(-2, 1)},
        lambda rng: {"alpha": tuple(rng.uniform(0.1, 2, 4)), "gamma": 10.0 ** rng.uniform(-2, 1)},
    ),
    "binarsity": (
        lambda rng: {"blocks": _BLOCKS},
        lambda rng: {"blocks": _BLOCKS, "weights": rng.uniform(0.1, 2, COLUMNS)},
    ),
    "box": (lambda rng: {"lower": -1.0, "upper": 2.0},),
    "elastic_net": (lambda rng: {"l1_ratio": 0.5}, lambda rng: {"l1_ratio": 0.01}),
    "eye": (
        lambda rng: {"expert": rng.integers(0, 2, COLUMNS)},
        lambda rng: {"expert": rng.uniform(0, 1, COLUMNS)},
    ),
    "facets": (lambda rng: {}, lambda rng: {"gamma": 10.0 ** rng.uniform(-2, 1)}),
    "group_l1": (lambda rng: {"blocks": _BLOCKS},),
    "l1": (lambda rng: {},),
    "l2": (lambda rng: {},),
    "naive_credibility": (
        lambda rng: {"expert": rng.integers(0, 2, COLUMNS), "beta": 0.5},
        lambda rng: {"expert": rng.uniform(0, 1, COLUMNS), "beta": 0.3},
    ),
    "owl": (
        lambda rng: {"weights": np.linspace(1.0, 0.1, COLUMNS)},
        lambda rng: {"weights": np.eye(1, COLUMNS)[0]},
    ),
    "scf": (lambda rng: {"eps": 0.2}, lambda rng: {"eps": 0.01, "gamma": 0.1}),
    "sparse_hull": (lambda rng: {"max_terms": 3},),
    "weighted_l1": (lambda rng: {"weights": np.r_[0.0, rng.uniform(0, 2, COLUMNS - 1)]},),
    "weighted_l2": (lambda rng: {"weights": np.r_[0.0, rng.uniform(0, 2, COLUMNS - 1)]},),
    "weighted_tv": (
        lambda rng: {},
        lambda rng: {"weights": np.r_[0.0, rng.uniform(0, 2, COLUMNS - 2)]},
    ),
}
_SETS = {"box", "sparse_hull"}
_SHARES = (1e-1, 1e-2, 1e-3, 1e-4)


@dataclass(frozen=True, eq=False)
class Harsh:
    """One problem; ``name`` says which."""

    name: str
    X: Array
    y: Array
    loss: str
    penalty: Any


def columns(kind: str, rng: np.random.Generator) -> Array:
    """Columns of a kind; those that parted classes go with are plain."""
    X = rng.normal(size=(ROWS, COLUMNS))
    if kind == "collinear":
        X[:, 5:10] = X[:, :5]  # the same again
        X[:, 10:13] = X[:, :3] + 1e-7 * rng.normal(size=(ROWS, 3))  # nearly
        X[:, 13] = X[:, :5].sum(axis=1)
        X[:, 14] = 1.0
        X[:, 15] = 100.0 + 1e-3 * X[:, 3]
        X[:, 16] = 0.0
    elif kind == "scaled":
        X *= 10.0 ** rng.uniform(-5, 5, COLUMNS)
    return X


def answers(task: str, kind: str, X: Array, rng: np.random.Generator) -> Array:
    """Answers that follow the columns; exactly so where a line is to part them."""
    size = np.linalg.norm(X, axis=0)
    used = np.arange(COLUMNS) % 3 == 0
    total = X @ np.where(used, rng.normal(size=COLUMNS) / np.maximum(size, 1e-9), 0.0)
    total *= 2.0 / max(float(total.std()), 1e-9)
    if kind != "separable":
        total = total + rng.logistic(size=ROWS)
    total -= np.median(total)
    if task == "classification":
        return np.where(total > 0, 1.0, -1.0)
    if task == "count":
        if kind == "separable":
            return np.where(total > 0, 5.0, 0.0)
        return rng.poisson(np.exp(np.clip(total, -3, 3))).astype(np.float64)
    if task == "multinomial":
        return np.digitize(total, np.quantile(total, [0.4, 0.7])).astype(np.float64)
    return total


def bank() -> list[Harsh]:
    """All cases, the same at every call."""
    cases = []
    for name, forms in FORMS.items():
        for form, draw in enumerate(forms):
            for loss in SMOOTH:
                for kind in KINDS:
                    label = f"{name}-{form}-{loss}-{kind}"
                    cases.append(_case(label, name, draw, loss, kind, len(cases)))
    return cases


def _case(label: str, name: str, draw: _Draw, loss: str, kind: str, seed: int) -> Harsh:
    """A case of its own seed; lam is a share of the gradient where all coefficients are zero."""
    rng = np.random.default_rng(seed)
    X = columns(kind, rng)
    y = answers(smooth_loss(loss).task, kind, X, rng)
    arguments = draw(rng)
    if name in _SETS:
        return Harsh(label, X, y, loss, PENALTIES[name](**arguments))
    lam = float(rng.choice(_SHARES)) * float(np.abs(X.T @ (y - y.mean())).max()) / ROWS
    return Harsh(label, X, y, loss, PENALTIES[name](lam, **arguments))
