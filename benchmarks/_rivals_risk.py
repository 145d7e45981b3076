"""A rival's risk scores, run by the Python of its own environment: nothing of ours is imported.

python _rivals_risk.py RIVAL FOLDER TERMS REACH RUNS SET...    prints one line of JSON per set
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

Answer = dict[str, Any]


def imodels(X: Any, y: Any, terms: int, reach: int) -> Callable[[], Answer]:
    """FastRiskScoreClassifier on the columns as they are."""
    from imodels import FastRiskScoreClassifier

    def fit() -> Answer:
        model = FastRiskScoreClassifier(k=terms, max_points=reach, binarize=False).fit(X, y)
        return {
            "points": model.coef_.tolist(),
            "slope": float(model.scale_),
            "shift": float(model.intercept_),
        }

    return fit


def fasterrisk(X: Any, y: Any, terms: int, reach: int) -> Callable[[], Answer]:
    """RiskScoreOptimizer; of its pool the card it puts first."""
    from fasterrisk.fasterrisk import RiskScoreOptimizer

    signs = np.where(y > 0, 1, -1)

    def fit() -> Answer:
        model = RiskScoreOptimizer(X, signs, k=terms, lb=-reach, ub=reach)
        model.optimize()
        multiplier, intercept, points = model.get_models(0)
        return {
            "points": np.asarray(points, dtype=float).ravel().tolist(),
            "slope": 1.0 / float(multiplier),
            "shift": float(np.ravel(intercept)[0]) / float(multiplier),
        }

    return fit


RIVALS = {"imodels": imodels, "fasterrisk": fasterrisk}


def main() -> None:
    rival, folder, terms, reach, runs, *names = sys.argv[1:]
    warnings.simplefilter("ignore")
    for name in names:
        table = pd.read_csv(Path(folder) / f"{name}.csv")
        X, y = table.iloc[:, 1:].to_numpy(float), table.iloc[:, 0].to_numpy()
        fit = RIVALS[rival](X, y, int(terms), int(reach))
        times: list[tuple[float, float]] = []
        answer: Answer = {}
        began = time.perf_counter()
        # a rival that takes seconds is not run more often than it takes to see that
        while len(times) < 2 or (len(times) <= int(runs) and time.perf_counter() - began < 10):
            cpu, wall = time.process_time(), time.perf_counter()
            with contextlib.redirect_stdout(io.StringIO()):
                answer = fit()
            times.append((time.process_time() - cpu, time.perf_counter() - wall))
        line = {"set": name, "version": version(rival), "times": times, **answer}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
