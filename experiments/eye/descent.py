"""ADADELTA on subgradients, the optimiser of the EYE paper's print (its sec. 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from scipy.special import expit

from milpscore.core.design import FloatArray, IntArray

Subgradient: TypeAlias = Callable[[FloatArray], FloatArray]

# the decay and the floor of the method's own paper, a learning rate of 1
_DECAY = 0.9
_FLOOR = 1e-6


def adadelta(
    X: FloatArray,
    y: IntArray,
    subgradients: Sequence[Subgradient],
    *,
    epochs: int,
    batch: int,
    intercept: bool = True,
    random_state: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Logistic loss and a penalty a column, all descended side by side: (p, M) and (M,).

    The paper's model is a softmax of two outputs theta, of which the penalty sees the difference
    w = theta_1 - theta_0. Both have the same gradient but for its sign, so that both steps have one
    size and w takes each of them twice. No step ends at 0: where a lasso would be sparse, its
    weights stay small and change their signs.

    References
    ----------
    Zeiler, "ADADELTA: an adaptive learning rate method" (2012), Algorithm 1.
    """
    n, p = X.shape
    many = len(subgradients)
    reach = 1.0 / np.sqrt(p)
    # the intercept is the last row
    W = random_state.uniform(-reach, reach, (2, p + 1, many))
    W = W[1] - W[0]
    # without an intercept its row stays where it is: nothing pulls at a 0
    W[p] *= intercept
    rows = np.column_stack([X, np.full(n, float(intercept))])
    squares, moves = np.zeros_like(W), np.zeros_like(W)
    for _ in range(epochs):
        for start in range(0, n, batch):
            part, truth = rows[start : start + batch], y[start : start + batch, np.newaxis]
            gradient = part.T @ (expit(part @ W) - truth) / len(part)
            for at, subgradient in enumerate(subgradients):
                gradient[:p, at] += subgradient(W[:p, at])
            squares += (1.0 - _DECAY) * (gradient**2 - squares)
            step = np.sqrt((moves + _FLOOR) / (squares + _FLOOR)) * gradient
            moves += (1.0 - _DECAY) * (step**2 - moves)
            W -= 2.0 * step
    return W[:p], W[p]
