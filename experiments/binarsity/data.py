"""Artificial data whose log odds are a sum of step functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from milpscore.core.design import FloatArray
from milpscore.core.errors import OptionError

# how far a jump may lie from the even places, in shares of the distance between them
_SHIFT = 0.3
_LEAST_JUMP, _MOST_JUMP = 0.5, 1.5


@dataclass(frozen=True, eq=False)
class StepFunctions:
    """One step function a feature, each with mean 0 over [0, 1].

    Attributes
    ----------
    thresholds : tuple of ndarray
        Where each function jumps, ascending; empty for a feature without effect.
    levels : tuple of ndarray
        One value more: that left of the first threshold, then from each threshold on.
    """

    thresholds: tuple[FloatArray, ...]
    levels: tuple[FloatArray, ...]

    def values(self, feature: int, x: npt.ArrayLike) -> FloatArray:
        """The function of a feature at each x, of the shape of x."""
        at = np.searchsorted(self.thresholds[feature], np.asarray(x, dtype=float), side="right")
        return np.asarray(self.levels[feature][at])

    def score(self, X: npt.ArrayLike) -> FloatArray:
        """The sum of all functions at each row of X, shape (n,)."""
        table = np.asarray(X, dtype=np.float64)
        total = np.zeros(len(table))
        for feature in range(table.shape[1]):
            total += self.values(feature, table[:, feature])
        return total


def make_additive_steps(
    n_samples: int = 1000,
    n_features: int = 2,
    *,
    n_relevant: int | None = None,
    n_jumps: int = 3,
    scale: float = 1.0,
    random_state: Any = None,
) -> tuple[pd.DataFrame, pd.Series[Any], StepFunctions]:
    """Labels 0/1 whose log odds are a sum of step functions of features uniform on [0, 1].

    A relevant feature's function (the first ``n_relevant``, by default all) has jumps of size 0.5
    to 1.5 times ``scale``, either way, at places that lie 0.4 / (n_jumps + 1) apart or more. The
    slides' toy n = 1000, p = 2 is of this kind; its functions are not printed.
    """
    relevant = n_features if n_relevant is None else n_relevant
    if n_samples < 2 or n_features < 1 or not 0 <= relevant <= n_features or n_jumps < 1:
        raise OptionError(
            f"n_samples={n_samples}, n_features={n_features}, n_relevant={n_relevant}, "
            f"n_jumps={n_jumps}; use at least 2 rows, 1 feature and 1 jump, and no more relevant "
            "features than there are."
        )
    if not scale > 0:
        raise OptionError(f"scale={scale}; use a positive size of jumps.")
    rng = np.random.default_rng(random_state)
    functions = [
        _steps(rng, n_jumps, scale) if j < relevant else (np.empty(0), np.zeros(1))
        for j in range(n_features)
    ]
    truth = StepFunctions(tuple(f[0] for f in functions), tuple(f[1] for f in functions))
    values = rng.random((n_samples, n_features))
    y = (truth.score(values) + rng.logistic(size=n_samples) > 0).astype(np.int64)
    if y.min() == y.max():
        y[int(rng.integers(n_samples))] ^= 1
    X = pd.DataFrame(values, columns=[f"x{j}" for j in range(1, n_features + 1)])
    return X, pd.Series(y, name="y"), truth


def _steps(rng: np.random.Generator, n_jumps: int, scale: float) -> tuple[FloatArray, FloatArray]:
    """Thresholds and levels of one function."""
    thresholds, levels = drawn_jumps(rng, n_jumps, scale)
    widths = np.diff(np.concatenate([[0.0], thresholds, [1.0]]))
    return thresholds, levels - widths @ levels


def drawn_jumps(
    rng: np.random.Generator, n_jumps: int, scale: float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """Places in (0, 1) near the even ones, and the levels between them, the first 0."""
    even = np.arange(1, n_jumps + 1) + rng.uniform(-_SHIFT, _SHIFT, n_jumps)
    jumps = rng.uniform(_LEAST_JUMP, _MOST_JUMP, n_jumps) * rng.choice([-1.0, 1.0], n_jumps) * scale
    return even / (n_jumps + 1), np.concatenate([[0.0], np.cumsum(jumps)])
