"""A rival's fit, run by the Python of its own environment: nothing of milpscore is imported.

python child.py FOLDER    reads data.npz and settings.json there, writes answer.json
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

Answer = dict[str, Any]
Fit = Callable[[], Callable[[], Answer]]
"""Fits, which is timed, and returns what reads the answer, which is not."""

ENOUGH_SECONDS = 10.0


def imodels(X: Any, y: Any, terms: int, reach: int, seed: int) -> Fit:
    """FastRiskScoreClassifier on the columns as they are; it has no seed."""
    from imodels import FastRiskScoreClassifier  # type: ignore[import-not-found]

    def fit() -> Callable[[], Answer]:
        model = FastRiskScoreClassifier(k=terms, max_points=reach, binarize=False).fit(X, y > 0)
        return lambda: _answer(model.coef_, model.scale_, model.intercept_)

    return fit


def imodels_slim(X: Any, y: Any, terms: int, reach: int, seed: int) -> Fit:
    """SLIMClassifier, which knows no limit on terms or points."""
    from imodels import SLIMClassifier

    def fit() -> Callable[[], Answer]:
        model = SLIMClassifier().fit(X, (y > 0).astype(int)).model_
        return lambda: _answer(model.coef_, 1.0, model.intercept_)

    return fit


def fasterrisk(X: Any, y: Any, terms: int, reach: int, seed: int) -> Fit:
    """RiskScoreOptimizer; of its pool the card of least loss on the best line of its totals.

    That choice is ours, and counts for no time. It has no seed.
    """
    from fasterrisk.fasterrisk import (  # type: ignore[import-not-found]
        RiskScoreOptimizer,
    )

    def fit() -> Callable[[], Answer]:
        model = RiskScoreOptimizer(X, y, k=terms, lb=-reach, ub=reach)
        model.optimize()
        multipliers, intercepts, pool = model.get_models()

        def choose() -> Answer:
            best = 0
            if len(pool) > 1:
                best = int(np.argmin([_line_loss(X @ points, y) for points in pool]))
            multiplier = float(multipliers[best])
            return _answer(pool[best], 1.0 / multiplier, float(intercepts[best]) / multiplier)

        return choose

    return fit


FITS = {"fasterrisk": fasterrisk, "imodels": imodels, "imodels_slim": imodels_slim}


def _line_loss(totals: Any, y: Any) -> float:
    """Mean logistic loss of totals with the slope and intercept that suit them best."""
    z = np.column_stack([(totals - totals.mean()) / (totals.std() or 1.0), np.ones(len(y))])
    w, loss = np.zeros(2), float(np.log(2.0))
    for _ in range(30):
        rest = 1.0 / (1.0 + np.exp(y * (z @ w)))
        bend = (z * (rest * (1.0 - rest))[:, None]).T @ z + 1e-9 * np.eye(2)
        step, length = np.linalg.solve(bend, z.T @ (y * rest)), 1.0
        while True:
            after = float(np.logaddexp(0.0, -y * (z @ (w + length * step))).mean())
            if after <= loss or length < 1e-6:
                break
            length /= 2
        if loss - after < 1e-12:
            break
        w, loss = w + length * step, after
    return loss


def _answer(points: Any, slope: Any, shift: Any) -> Answer:
    return {
        "points": np.asarray(points, dtype=float).ravel().tolist(),
        "slope": float(slope),
        "shift": float(np.ravel(shift)[0]),
    }


def main() -> None:
    """Fit once, and again for warm times, but no longer than it takes to tell them."""
    folder = Path(sys.argv[1])
    asked = json.loads((folder / "settings.json").read_text())
    with np.load(folder / "data.npz") as data:
        X, y = data["X"], data["y"]
    np.random.seed(asked["random_state"])  # noqa: NPY002 what has no seed of its own draws from it
    times: list[tuple[float, float]] = []
    answer: Answer = {}
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        fit = FITS[asked["rival"]](X, y, asked["max_terms"], asked["reach"], asked["random_state"])
        while len(times) < min(2, asked["fits"]) or (
            len(times) < asked["fits"] and sum(wall for _, wall in times[1:]) < ENOUGH_SECONDS
        ):
            cpu, wall = time.process_time(), time.perf_counter()
            read = fit()
            times.append((time.process_time() - cpu, time.perf_counter() - wall))
        answer = read()
    notes = {" ".join(str(each.message).split()) for each in heard}
    answer |= {
        "version": version(asked["package"]),
        "times": times,
        "note": "; ".join(sorted(notes)),
    }
    (folder / "answer.json").write_text(json.dumps(answer))


if __name__ == "__main__":
    main()
