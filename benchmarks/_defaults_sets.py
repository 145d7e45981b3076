"""The 20 tables of bench_defaults.py: six of UCI, six of scikit-learn's, eight generated ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from _common import DATA, SEED, SETS
from _fresh_sets import labels

Table = tuple[pd.DataFrame, np.ndarray]

TUNED_ON = (
    "adult", "bankruptcy", "breastcancer", "breast_cancer", "wine", "digits_even", "clinic",
    "threshold", "category", "hump",
)  # fmt: skip
"""The sets by which the defaults were chosen; the others were looked at afterwards."""


def tables(names: list[str] | None = None) -> Iterator[tuple[str, Table]]:
    """Name, table and labels 0/1 of every set that is there."""
    makers: dict[str, Callable[[], Table]] = {
        **{name: lambda name=name: _uci(name) for name in SETS},
        "breast_cancer": lambda: _bundled("breast_cancer", lambda y: y == 0),
        "wine": lambda: _bundled("wine", lambda y: y == 1),
        "iris": lambda: _bundled("iris", lambda y: y == 1),
        "digits_even": lambda: _bundled("digits", lambda y: y % 2 == 0),
        "digits_8": lambda: _bundled("digits", lambda y: y == 8),
        "diabetes": lambda: _bundled("diabetes", lambda y: y >= 200),
        **{maker.__name__.lstrip("_"): maker for maker in MADE},
    }
    for name, make in makers.items():
        if (names is None or name in names) and (
            name not in SETS or (DATA / f"{name}.csv").is_file()
        ):
            yield name, make()


def _uci(name: str) -> Table:
    table = pd.read_csv(DATA / f"{name}.csv")
    label = table.iloc[:, 0]
    return table.iloc[:, 1:], (label == label.max()).to_numpy(int)


def _bundled(name: str, positive: Callable[[Any], Any]) -> Table:
    from sklearn import datasets

    found = getattr(datasets, f"load_{name}")(as_frame=True)
    return found.data, positive(found.target).to_numpy(int)


# --- generated ---------------------------------------------------------------------------------


def _days(rng: np.random.Generator, n: int) -> pd.Series:
    days = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 1500, n), unit="D")
    return pd.Series(days.strftime("%Y-%m-%d"))


def _holes(rng: np.random.Generator, values: Any, share: float) -> pd.Series:
    column = pd.Series(values)
    return column.mask(rng.random(len(column)) < share)


def _clinic() -> Table:
    """Numbers, dates, notes and holes, as a clinic's export has them."""
    rng, n = np.random.default_rng(SEED + 1), 600
    age = rng.normal(60, 14, n).clip(18, 98).round()
    crp = rng.lognormal(1.5, 1.0, n)
    creatinine = rng.lognormal(0.0, 0.35, n)
    bmi = rng.normal(27, 5, n)
    sex = rng.choice(["female", "male"], n)
    smoker = rng.choice(["never", "former", "current"], n, p=[0.5, 0.3, 0.2])
    score = (
        0.05 * (age - 60) + 0.9 * np.log(crp) + 1.5 * np.log(creatinine)
        + 0.8 * (smoker == "current") + 0.4 * (sex == "male")
    )  # fmt: skip
    table = pd.DataFrame({
        "patient_id": 100_000 + rng.permutation(n), "admitted": _days(rng, n), "age": age,
        "sex": sex, "bmi": bmi.round(1), "crp": _holes(rng, crp, 0.1).round(2),
        "creatinine": creatinine.round(3), "smoker": smoker, "site": "A",
        "note": [f"seen by {k}" for k in rng.integers(0, 10**6, n)],
    })  # fmt: skip
    return table, labels(rng, score, 0.35)


def _threshold() -> Table:
    """A scoring system with cuts, among measurements that mean nothing."""
    rng, n = np.random.default_rng(SEED + 2), 1000
    X = rng.normal(size=(n, 15)).cumsum(axis=1) + 10
    cuts = [(0, 10.5, 2.0), (3, 9.0, -1.5), (6, 11.0, 1.0), (9, 12.0, 1.5), (12, 8.0, 1.0)]
    score = sum(points * (X[:, j] >= cut) for j, cut, points in cuts)
    return pd.DataFrame(X, columns=[f"m{j}" for j in range(15)]), labels(rng, score, 0.4)


def _category() -> Table:
    """Categories of two to thirty values, some of them missing."""
    rng, n = np.random.default_rng(SEED + 3), 2000
    table, score = {}, np.zeros(n)
    for k, levels in enumerate((2, 3, 5, 8, 12, 30)):
        share = rng.dirichlet(np.ones(levels) * 1.5)
        code = rng.choice(levels, n, p=share)
        score = score + rng.normal(0, 0.8, levels)[code]
        named = np.array([f"{chr(65 + k)}{level:02d}" for level in range(levels)], dtype=object)
        table[f"group{k}"] = _holes(rng, named[code], 0.05)
    table["score"] = rng.integers(0, 10, n)
    score = score + 0.2 * table["score"]
    return pd.DataFrame(table), labels(rng, score, 0.45)


def _hump() -> Table:
    """Effects that rise and fall again: low and high values are both bad."""
    rng, n = np.random.default_rng(SEED + 4), 1200
    X = rng.normal(size=(n, 8))
    score = 2.0 * (np.abs(X[:, 0]) > 1.2) + 1.2 * (np.abs(X[:, 1] - 0.3) > 1.0) + 0.8 * X[:, 2]
    names = ["sodium", "potassium", "ph", "pulse", "pressure", "glucose", "iron", "calcium"]
    return pd.DataFrame(X * [3, 0.5, 0.05, 12, 18, 30, 9, 0.2]
                        + [140, 4.2, 7.4, 75, 125, 100, 18, 2.4], columns=names), labels(
        rng, score, 0.3
    )  # fmt: skip


def _rare() -> Table:
    """Four in a hundred rows are positive; a record number and a constant column beside."""
    rng, n = np.random.default_rng(SEED + 5), 4000
    X = rng.exponential(size=(n, 10))
    score = 1.2 * np.log(X[:, 0] + 0.1) + 1.0 * (X[:, 1] > 2) + 0.5 * X[:, 2]
    table = pd.DataFrame(X.round(4), columns=[f"lab {j}" for j in range(10)])
    table.insert(0, "Record ID", np.arange(1, n + 1))
    return table.assign(unit="mg/dl"), labels(rng, score, 0.04)


def _linear() -> Table:
    """Twelve correlated measurements, all of which count a little."""
    rng, n = np.random.default_rng(SEED + 6), 1000
    X = rng.normal(size=(n, 12)) + rng.normal(size=(n, 1))
    score = X @ np.linspace(1.0, -0.6, 12)
    return pd.DataFrame(X * 1000 + 5000, columns=[f"x{j}" for j in range(12)]), labels(
        rng, score, 0.5
    )


def _holed() -> Table:
    """What was not measured says as much as what was."""
    rng, n = np.random.default_rng(SEED + 7), 1500
    X = rng.normal(50, 10, size=(n, 9)).round(1)
    table = pd.DataFrame(X, columns=[f"test_{j}" for j in range(9)])
    score = 0.08 * (X[:, 0] - 50) + 0.05 * (X[:, 1] - 50)
    for j in range(9):
        missing = rng.random(n) < 0.1 + 0.04 * j
        score = score + (1.3 if j in (2, 7) else 0.0) * missing
        table.loc[missing, f"test_{j}"] = np.nan
    table["when"] = pd.to_datetime(_days(rng, n))
    return table, labels(rng, score, 0.4)


def _small() -> Table:
    """A hundred and twenty rows, and mixed columns."""
    rng, n = np.random.default_rng(SEED + 8), 120
    age, dose = rng.integers(20, 90, n), rng.choice([0, 5, 10, 20], n)
    grade = pd.Categorical(rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"])
    score = 0.06 * (age - 55) + 1.2 * (grade == "high") + 0.05 * dose
    table = pd.DataFrame({
        "age": age, "dose": dose, "grade": grade, "treated": rng.random(n) < 0.5,
        "weight": rng.normal(75, 12, n).round(1), "height": rng.normal(1.72, 0.09, n).round(2),
    })  # fmt: skip
    return table, labels(rng, score, 0.4)


MADE = (_clinic, _threshold, _category, _hump, _rare, _linear, _holed, _small)
