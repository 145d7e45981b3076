"""A rival's default on the folds of a table, run by the Python of its own environment.

python _defaults_rival.py imodels|fasterrisk FOLDER

FOLDER holds table.csv, kinds.json (which columns are text) and folds.npz (y, and the rows of
training and test of each fold); RIVAL.npz receives the scores and probabilities of each fold's test
rows, the number of terms, and the seconds of each fit.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

warnings.simplefilter("ignore")


def imodels(train: Any, y: Any, test: Any) -> tuple[Any, Any, int, float]:
    """FastRiskScoreClassifier as it comes: it bins by itself."""
    from imodels import FastRiskScoreClassifier  # type: ignore[import-not-found]

    began = time.perf_counter()
    model = FastRiskScoreClassifier().fit(train, y)
    seconds = time.perf_counter() - began
    score = model.decision_function(test)
    return score, model.predict_proba(test)[:, 1], len(model.points_), seconds


def fasterrisk(train: Any, y: Any, test: Any) -> tuple[Any, Any, int, float]:
    """RiskScoreOptimizer at its defaults with five terms, after its own way of cutting columns.

    It has no way with text or holes in text: those become one column a value first.
    """
    from fasterrisk.binarization_util import (  # type: ignore[import-not-found]
        convert_continuous_df_to_binary_df,
    )
    from fasterrisk.fasterrisk import RiskScoreClassifier, RiskScoreOptimizer

    began = time.perf_counter()
    text = [name for name in train if not pd.api.types.is_numeric_dtype(train[name])]
    known = pd.get_dummies(train, columns=text, dtype=float)
    later = pd.get_dummies(test, columns=text, dtype=float).reindex(columns=known.columns)
    numbers = [name for name in train if name not in text]
    later[later.columns.difference(numbers)] = later[later.columns.difference(numbers)].fillna(0)
    cut = convert_continuous_df_to_binary_df(known.astype(float))
    seen = pd.DataFrame({name: _rule(name, later) for name in cut.columns})
    model = RiskScoreOptimizer(cut.to_numpy(float), np.where(y > 0, 1.0, -1.0), k=5)
    model.optimize()
    multiplier, intercept, points = model.get_models(model_index=0)
    found = RiskScoreClassifier(multiplier, intercept, points, X_train=cut.to_numpy(float))
    seconds = time.perf_counter() - began
    rows = seen.to_numpy(float)
    return rows @ points, found.predict_prob(rows), int(np.count_nonzero(points)), seconds


def _rule(name: str, table: pd.DataFrame) -> Any:
    """A column of convert_continuous_df_to_binary_df on other rows."""
    if name.endswith("_isNaN"):
        return table[name.removesuffix("_isNaN")].isna().to_numpy(float)
    feature, _, cut = name.rpartition("<=")
    return (~(table[feature].fillna(0) > float(cut))).to_numpy(float)


def main() -> None:
    """Every fold."""
    fit, folder = globals()[sys.argv[1]], Path(sys.argv[2])
    kinds = json.loads((folder / "kinds.json").read_text())
    table = pd.read_csv(folder / "table.csv", dtype={k: object for k, v in kinds.items() if v})
    folds = np.load(folder / "folds.npz")
    y, count = folds["y"], int(folds["count"])
    answer: dict[str, Any] = {}
    for k in range(count):
        train, test = folds[f"train{k}"], folds[f"test{k}"]
        score, risk, terms, seconds = fit(table.iloc[train], y[train], table.iloc[test])
        answer |= {f"score{k}": score, f"risk{k}": risk, f"terms{k}": terms}
        answer[f"seconds{k}"] = seconds
        np.savez(folder / f"{sys.argv[1]}.npz", **answer)


if __name__ == "__main__":
    main()
