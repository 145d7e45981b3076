"""Small designs several test modules share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from milpscore.core.card import Card
from milpscore.core.design import Column, Design
from milpscore.data import make_design, make_planted_score


def design(X: Any, y: ArrayLike, weight: ArrayLike | None = None) -> Design:
    """A design of numeric columns x0, x1, ... as given, nothing checked."""
    table = np.asarray(X, dtype=np.float64)
    columns = tuple(Column(f"x{j}", f"x{j}") for j in range(table.shape[1]))
    weights = np.ones(len(table)) if weight is None else np.asarray(weight, dtype=np.float64)
    return Design(table, np.asarray(y, dtype=np.int64), weights, columns)


def card_of(points: Any, intercept: Any = 0) -> Card:
    """A card from a list of points and any number."""
    return Card(np.asarray(points), intercept)


def noisy(n: int = 30, p: int = 3, seed: int = 0, values: tuple[float, ...] = (0, 1, 2)) -> Design:
    """The first column speaks for the positive class, the second against it, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.choice(values, size=(n, p))
    y = np.where(X[:, 0] - X[:, 1] + 0.8 * rng.normal(size=n) > 0, 1, -1)
    y[:2] = 1, -1
    return design(X, y)


def binned(n: int = 14, seed: int = 0) -> Design:
    """Two one-hot blocks of three bins."""
    rng = np.random.default_rng(seed)
    parts: list[Any] = []
    columns: list[Column] = []
    blocks: list[tuple[int, ...]] = []
    for f in range(2):
        chosen = rng.integers(0, 3, size=n)
        chosen[:3] = 0, 1, 2
        blocks.append(tuple(range(len(columns), len(columns) + 3)))
        columns += [Column(f"f{f}b{k}", f"f{f}", "interval", k, k + 1) for k in range(3)]
        parts.append(np.eye(3)[chosen])
    y = np.where(rng.random(n) < 0.5, 1, -1)
    y[:2] = 1, -1
    return Design(np.hstack(parts), y.astype(np.int64), np.ones(n), tuple(columns), tuple(blocks))


def hard(n: int = 2000, p: int = 30) -> Design:
    """An instance no solver closes within seconds."""
    X, y, _ = make_planted_score(n, p, random_state=0)
    made: Any = make_design(X, y)
    assert isinstance(made, Design)
    return made
