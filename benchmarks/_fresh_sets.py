"""Forty sets nobody tuned to: scikit-learn's, generated ones, and variants of the six of UCI.

They stand in pairs of one kind: the search may be tuned on the first of a pair (TUNE), figures are
reported of the second (REPORT).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
from _common import DATA, SEED

Rows = tuple[np.ndarray, np.ndarray]


def rows_of(name: str) -> Rows:
    """Columns and labels of a fresh set, or of one of the six as it is."""
    if name in MAKERS:
        X, y = MAKERS[name]()
        return X[:, np.ptp(X, axis=0) > 0], y.astype(int)
    return _uci(name)


def _uci(name: str) -> Rows:
    table = pd.read_csv(DATA / f"{name}.csv")
    return table.iloc[:, 1:].to_numpy(float), (table.iloc[:, 0] > 0).to_numpy(int)


# --- ways to make another set of one -------------------------------------------------------------


def binned(rows: Rows, cuts: int) -> Rows:
    """0/1 columns x <= t, t at ``cuts`` quantiles of each column; one of a column of two values."""
    X, y = rows
    shares, made = np.arange(1, cuts + 1) / (cuts + 1), []
    for x in X.T:
        inner = np.unique(np.quantile(x, shares, method="lower"))
        ends = np.unique(x)[:1] if len(np.unique(x)) == 2 else inner[inner < x.max()]
        made += [x <= end for end in ends]
    return np.array(made, dtype=float).T, y


def resampled(rows: Rows, n: int, seed: int, flipped: float = 0.0) -> Rows:
    """``n`` rows drawn with replacement, a share of their labels turned round."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, len(rows[1]), n)
    return rows[0][drawn], rows[1][drawn] ^ (rng.random(n) < flipped)


def without(rows: Rows, columns: slice) -> Rows:
    """The rows without some columns."""
    return np.delete(rows[0], columns, axis=1), rows[1]


def bundled(name: str, positive: Callable[[np.ndarray], np.ndarray]) -> Rows:
    """A set of scikit-learn's."""
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return np.asarray(X, dtype=float), positive(y).astype(int)


def digits(first: int, second: int) -> Rows:
    """Two of the digits, pixels 0 to 16."""
    from sklearn import datasets

    X, y = datasets.load_digits(return_X_y=True)
    kept = (y == first) | (y == second)
    return X[kept], (y[kept] == first).astype(int)


# --- generated -----------------------------------------------------------------------------------


def labels(rng: np.random.Generator, score: np.ndarray, share: float) -> np.ndarray:
    """Draws of a logistic model, its intercept set so that about ``share`` are positive."""
    low, high = -50.0, 50.0
    for _ in range(60):
        middle = (low + high) / 2
        rate = (1 / (1 + np.exp(-(score + middle)))).mean()
        low, high = (middle, high) if rate < share else (low, middle)
    return (rng.random(len(score)) < 1 / (1 + np.exp(-(score + low)))).astype(int)


def planted(n: int, p: int, terms: int, steep: float, seed: int) -> Rows:
    """Correlated 0/1 columns, some of which have points."""
    rng = np.random.default_rng(SEED + seed)
    hidden = rng.normal(size=(n, 6)) @ rng.normal(size=(6, p)) + 1.5 * rng.normal(size=(n, p))
    X = (hidden > rng.normal(0.5, 1.5, p)).astype(float)
    points = rng.choice([-4, -3, -2, -1, 1, 2, 3, 4, 5], terms)
    return X, labels(rng, steep * X[:, rng.choice(p, terms, replace=False)] @ points, 0.4)


def clinic(n: int, seed: int) -> Rows:
    """A clinical table of 32 columns: measurements, counts, grades and yes/no."""
    rng = np.random.default_rng(SEED + seed)
    common = rng.normal(size=(n, 3))
    measured = common @ rng.normal(size=(3, 12)) + rng.normal(size=(n, 12))
    counts = rng.poisson(np.exp(0.4 * common @ rng.normal(size=(3, 6))))
    grades = np.clip(np.rint(1.5 + common @ rng.normal(size=(3, 4))), 0, 3)
    signs = common @ rng.normal(size=(3, 10)) + rng.normal(size=(n, 10)) > 0.6
    score = 0.8 * measured[:, 0] + np.maximum(measured[:, 3], 0) - 0.5 * counts[:, 1]
    score = score + 0.7 * grades[:, 2] + 1.2 * signs[:, 4] - 0.9 * signs[:, 7] + 0.6 * common[:, 0]
    X = np.hstack([(10 * measured + 80).round(1), counts, grades, signs])
    return X.astype(float), labels(rng, score, 0.46)


def words(n: int, p: int, seed: int) -> Rows:
    """Shares of words in texts: measured columns, most entries 0, a few very large."""
    rng = np.random.default_rng(SEED + seed)
    topic = rng.normal(size=(n, 4))
    present = topic @ rng.normal(size=(4, p)) + rng.logistic(size=(n, p)) > rng.normal(1.8, 1, p)
    X = np.where(present, rng.lognormal(-0.7, 1.1, size=(n, p)), 0.0).round(2)
    weight = rng.normal(0, 1.5, p) * (rng.random(p) < 0.5)
    return X, labels(rng, np.log1p(2 * X) @ weight + topic[:, 0], 0.4)


def gaussian(n: int, p: int, seed: int) -> Rows:
    """Correlated measurements, every one of which says a little."""
    rng = np.random.default_rng(SEED + seed)
    X = rng.normal(size=(n, p)) + rng.normal(size=(n, 5)) @ rng.normal(size=(5, p)) * 0.6
    return X.round(3), labels(rng, X @ (rng.normal(size=p) * rng.exponential(0.5, size=p)), 0.5)


def counts(n: int, p: int, seed: int) -> Rows:
    """Counts with long tails."""
    rng = np.random.default_rng(SEED + seed)
    X = rng.poisson(rng.gamma(1.0, 2.0, size=(n, 1)) * rng.exponential(1.0, size=p) + 0.2)
    return X.astype(float), labels(rng, 0.3 * X @ rng.normal(size=p), 0.35)


def rare(n: int, p: int, seed: int) -> Rows:
    """Four in a hundred rows are positive."""
    rng = np.random.default_rng(SEED + seed)
    X = rng.exponential(size=(n, p)).round(3)
    return X, labels(rng, np.log(X + 0.1) @ rng.normal(0, 0.7, p) + (X[:, 1] > 2), 0.04)


_cancer = partial(bundled, "breast_cancer", lambda y: y == 0)
_wine = partial(bundled, "wine", lambda y: y == 1)
_iris = partial(bundled, "iris", lambda y: y == 1)
_diabetes = partial(bundled, "diabetes", lambda y: y > 140)

TUNE: dict[str, Callable[[], Rows]] = {
    "cancer raw": _cancer,
    "diabetes raw": _diabetes,
    "wine binned": lambda: binned(_wine(), 5),
    "digits binned": lambda: binned(bundled("digits", lambda y: y % 2 == 0), 2),
    "iris raw": _iris,
    "planted 500": lambda: planted(500, 60, 8, 0.4, 11),
    "planted 300": lambda: planted(300, 40, 6, 0.6, 12),
    "clinic raw": lambda: clinic(303, 13),
    "clinic binned": lambda: binned(clinic(303, 14), 1),
    "words 4601": lambda: words(4601, 57, 15),
    "gaussian 400": lambda: gaussian(400, 100, 16),
    "counts 800": lambda: counts(800, 30, 17),
    "rare binned": lambda: binned(rare(4000, 10, 18), 4),
    "parted 250": lambda: planted(250, 80, 10, 2.0, 19),
    "adult drawn": lambda: resampled(_uci("adult"), 5000, 20),
    "mushroom hard": lambda: resampled(without(_uci("mushroom"), slice(21, 30)), 2000, 21),
    "mammo drawn": lambda: resampled(_uci("mammo"), 700, 22),
    "haberman binned": lambda: binned(_uci("haberman"), 9),
    "breastcancer binned": lambda: binned(_uci("breastcancer"), 5),
    "bankruptcy noisy": lambda: resampled(_uci("bankruptcy"), 250, 23, 0.05),
}
REPORT: dict[str, Callable[[], Rows]] = {
    "cancer binned": lambda: binned(_cancer(), 5),
    "diabetes binned": lambda: binned(_diabetes(), 9),
    "wine raw": _wine,
    "digits 3 or 8": lambda: digits(3, 8),
    "iris binned": lambda: binned(_iris(), 9),
    "planted 2000": lambda: planted(2000, 120, 12, 0.4, 31),
    "planted 5000": lambda: planted(5000, 30, 10, 0.3, 32),
    "clinic other": lambda: clinic(500, 33),
    "clinic wide": lambda: binned(clinic(303, 34), 3),
    "words binned": lambda: binned(words(4601, 57, 35), 3),
    "words 2000": lambda: words(2000, 57, 36),
    "gaussian 1000": lambda: gaussian(1000, 20, 37),
    "counts 3000": lambda: counts(3000, 15, 38),
    "rare raw": lambda: rare(3000, 12, 39),
    "parted 600": lambda: planted(600, 40, 8, 2.0, 40),
    "adult other": lambda: resampled(_uci("adult"), 8000, 41),
    "mushroom noisy": lambda: resampled(_uci("mushroom"), 3000, 42, 0.05),
    "mammo other": lambda: resampled(_uci("mammo"), 961, 43),
    "haberman drawn": lambda: resampled(_uci("haberman"), 306, 44),
    "breastcancer noisy": lambda: resampled(_uci("breastcancer"), 683, 45, 0.03),
}
MAKERS = {**TUNE, **REPORT}
