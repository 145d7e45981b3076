"""A piecewise-constant signal recovered from noise by total variation."""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.penalties import WeightedTV, data_driven_weights

SIGNAL_METHODS = ("noisy", "tv", "weighted_tv")
"""The signal as it is; with equal weights; with those of the slides."""

# below it a jump is rounding
LEAST_JUMP = 1e-6

_SHIFT = 0.3
_LAMS = np.geomspace(100.0, 1e-2, 60)


def signal_run(
    rng: np.random.Generator, n_points: int, n_jumps: int, noise: float, near: int
) -> dict[str, Any]:
    """One signal, and how near each method comes to it.

    Parameters
    ----------
    rng : Generator
    n_points, n_jumps : int
    noise : float
        Standard deviation; jumps have sizes of 0.5 to 1.5.
    near : int
        Points within which a found jump counts as a true one.
    """
    truth = _drawn(rng, n_points, n_jumps)
    noisy, again = truth + noise * rng.normal(size=(2, n_points))
    real = np.flatnonzero(np.diff(truth)) + 1
    methods = {}
    for method in SIGNAL_METHODS:
        fitted = _denoised(method, noisy, again)
        places = np.flatnonzero(np.abs(np.diff(fitted)) > LEAST_JUMP) + 1
        methods[method] = {
            "rmse": float(np.sqrt(np.mean((fitted - truth) ** 2))),
            "jumps": len(places),
            **matched(real, places, near),
            "fitted": fitted.tolist(),
        }
    return {"truth": truth.tolist(), "noisy": noisy.tolist(), "methods": methods}


def matched(
    real: IntArray | FloatArray, found: IntArray | FloatArray, near: float
) -> dict[str, Any]:
    """Recall and precision of found places: one within ``near`` of a true one is right.

    The precision is None where nothing was found.
    """
    if not len(found):
        return {"recall": 0.0, "precision": None}
    apart = np.abs(np.asarray(real, dtype=float)[:, None] - np.asarray(found, dtype=float))
    close = apart <= near + 1e-12
    return {
        "recall": float(close.any(axis=1).mean()),
        "precision": float(close.any(axis=0).mean()),
    }


def _drawn(rng: np.random.Generator, n_points: int, n_jumps: int) -> FloatArray:
    """Levels between jumps at places near the even ones."""
    even = (np.arange(1, n_jumps + 1) + rng.uniform(-_SHIFT, _SHIFT, n_jumps)) / (n_jumps + 1)
    jumps = rng.uniform(0.5, 1.5, n_jumps) * rng.choice([-1.0, 1.0], n_jumps)
    levels = np.concatenate([[0.0], np.cumsum(jumps)])
    return np.asarray(
        levels[np.searchsorted(np.rint(even * n_points), np.arange(n_points), "right")]
    )


def _denoised(method: str, noisy: FloatArray, again: FloatArray) -> FloatArray:
    """The recovery whose lam comes nearest to the same signal with fresh noise."""
    if method == "noisy":
        return noisy
    weights = None
    if method == "weighted_tv":
        every = data_driven_weights([np.ones(len(noisy))], [range(len(noisy))])
        weights = every[1:] / every.max()
    fits = [WeightedTV(lam, weights).prox(noisy, 1.0) for lam in _LAMS.tolist()]
    return fits[int(np.argmin([((fit - again) ** 2).sum() for fit in fits]))]
