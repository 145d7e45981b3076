"""The races of bench_l1_path: problems, racers, and a duality gap that no racer computes."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from _common import HERE, SEED, rival_version, uci, with_rivals

MORE = Path(os.environ.get("MILPSCORE_DATA_MORE", HERE.parents[1] / "shared" / "data-more"))
GAP = 1e-6
TOLERANCES = [10.0 ** (-k / 2) for k in range(6, 23)]
Models = list[tuple[np.ndarray, float]]


@dataclass(frozen=True)
class Race:
    """One row of the table: what is fitted, for which lam as shares of the largest, by whom."""

    name: str
    racers: tuple[str, ...]
    loss: str = "logistic"
    shares: tuple[float, ...] = tuple(np.geomspace(1.0, 0.01, 30).tolist())
    intercept: bool = True
    falling: float | None = None  # the last of OWL's weights, the first being 1; None: L1
    together: bool = True  # one path, or each lam by itself from nothing
    runs: int = 5


ALL = ("milpscore", "skglm", "glum")
FREE = ("milpscore", "skglm", "celer")  # celer's logistic loss has no intercept
SORTED = ("milpscore", "sortedl1")
SINGLE = (0.3, 0.1, 0.03)
RACES = [
    Race("303 x 33", ALL),
    Race("ionosphere", ALL),
    Race("physionet2012a", ALL),
    Race("adult", ALL, runs=3),
    Race("4600 x 57", ALL),
    Race("2000 x 5000", ("milpscore", "skglm")),
    Race("20000 x 20000 sparse", FREE, intercept=False, runs=3),
    Race("20000 x 20000 sparse", FREE[:2], loss="squared", intercept=False, runs=3),
    Race("adult, every value", FREE, intercept=False, runs=3),
    *[
        Race(name, SORTED, loss, SINGLE, falling=falling, together=False)
        for name in ("ionosphere", "physionet2012a", "1000 x 300 alike")
        for loss in ("squared", "logistic")
        for falling in (0.1, 0.5)
    ],
    *[
        Race("2000 x 5000 alike", SORTED, loss, SINGLE, falling=0.1, together=False, runs=3)
        for loss in ("squared", "logistic")
    ],
    *[
        Race(name, SORTED, loss, falling=0.1)
        for name in ("ionosphere", "1000 x 300 alike")
        for loss in ("squared", "logistic")
    ],
]
LARGE = Race("200000 x 50000 sparse", ("milpscore",), runs=1)


def problem(name: str, loss: str) -> tuple[Any, np.ndarray]:
    """Rows and -1/+1 classes, or real answers for the squared loss."""
    if "adult" in name or name in {"ionosphere", "physionet2012a"}:
        X, y = _table(name)
    else:
        X, y = _drawn(name)
    if loss == "squared" and set(np.unique(y)) == {-1.0, 1.0}:
        rng = np.random.default_rng(SEED)
        y = y + rng.normal(size=len(y))
    return X, y


def _drawn(name: str) -> tuple[Any, np.ndarray]:
    """Columns that follow each other ("alike"), sparse ones, counts of words, or independent."""
    rng = np.random.default_rng(SEED)
    n, p = (int(part) for part in name.split()[0::2][:2])
    if "sparse" in name:
        from scipy.sparse import random_array

        X = random_array((n, p), density=1e-3, format="csr", rng=rng, data_sampler=rng.normal)
        w = np.where(rng.random(p) < 0.02, 2.0 * rng.normal(size=p), 0.0)
        return X, np.where(X @ w + 0.5 * rng.logistic(size=n) > 0, 1.0, -1.0)
    if p < n and "alike" not in name:
        # counts of words: skewed, mostly zero
        X = np.exp(rng.normal(size=(n, p))) * (rng.random((n, p)) < 0.3)
        w = rng.normal(size=p) * (rng.random(p) < 0.5)
    else:
        X = rng.normal(size=(n, p))
        w = np.where(np.arange(p) < 50, rng.normal(size=p), 0.0)
    if "alike" in name:
        for j in range(1, p):
            X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
        w = rng.choice([-2.0, -1.0, 1.0, 2.0], p) * (rng.random(p) < 0.1)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    total = X @ w
    y = np.where(total - np.median(total) + rng.logistic(size=n) > 0, 1.0, -1.0)
    return np.asfortranarray(X), y


def _table(name: str) -> tuple[Any, np.ndarray]:
    """A table of people's: numbers standardised, missing ones at the mean, or every value 0/1."""
    import pandas as pd
    from scipy.sparse import csr_array
    from sklearn.preprocessing import OneHotEncoder

    if name == "adult":
        design = uci(name)
        if design is None:
            raise FileNotFoundError(name)
        return np.asfortranarray(design.X), design.y.astype(np.float64)
    file = "adult_raw" if name == "adult, every value" else name
    frame = pd.read_csv(MORE / f"{file}.csv")
    label = frame.pop(frame.columns[0] if file != "adult_raw" else "income")
    y = np.where(label == label.max(), 1.0, -1.0)
    if file == "adult_raw":
        return csr_array(OneHotEncoder().fit_transform(frame.astype(str))), y
    X = frame.to_numpy(dtype=np.float64)
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    X = X[:, X.std(axis=0) > 0]
    return np.asfortranarray((X - X.mean(axis=0)) / X.std(axis=0)), y


# --- the gap ------------------------------------------------------------------------------------


def omega(w: np.ndarray, weights: np.ndarray) -> float:
    """The sorted norm, of which L1 is the one with equal weights."""
    return float(weights @ np.sort(np.abs(w))[::-1])


def dual_omega(g: np.ndarray, weights: np.ndarray) -> float:
    return float((np.cumsum(np.sort(np.abs(g))[::-1]) / np.cumsum(weights)).max())


def relative_gap(
    X: Any, y: np.ndarray, race: Race, weights: np.ndarray, lam: float, model: Any
) -> float:
    """(primal - dual) / primal at the coefficients, with the best intercept for these."""
    w, b = model
    eta, n = X @ w, len(y)
    if race.loss == "squared":
        b = float(np.mean(y - eta)) if race.intercept else 0.0
        u = eta + b - y
        loss = 0.5 * float(u @ u) / n
    else:
        for _ in range(100 if race.intercept else 0):
            s = 1.0 / (1.0 + np.exp(y * (eta + b)))
            slope = -float(y @ s)
            if abs(slope) <= 1e-13 * n:
                break
            b -= slope / float(s @ (1.0 - s))
        z = y * (eta + (b if race.intercept else 0.0))
        s = 1.0 / (1.0 + np.exp(z))
        u = -y * s
        loss = float(np.logaddexp(0.0, -z).mean())
    push = dual_omega(X.T @ u / n, weights)
    t = min(1.0, lam / push) if push > 0 else 1.0
    if race.loss == "squared":
        dual = -float(t * (u @ y) + 0.5 * t * t * (u @ u)) / n
    else:
        a = np.clip(t * s, 1e-300, 1.0 - 1e-16)
        dual = -float(np.mean(a * np.log(a) + (1.0 - a) * np.log1p(-a)))
    primal = loss + lam * omega(w, weights)
    return (primal - dual) / primal


def largest_lam(X: Any, y: np.ndarray, race: Race, weights: np.ndarray) -> float:
    """The least lam for which w = 0 is optimal."""
    answers = y if race.loss == "squared" else 0.5 * y
    u = answers - answers.mean() if race.intercept else answers
    return dual_omega(X.T @ u / len(y), weights)


# --- the racers ---------------------------------------------------------------------------------


def ours(X: Any, y: np.ndarray, race: Race, lams: np.ndarray, tol: float) -> Models:
    from milpscore.penalties import L1, OWL
    from milpscore.proximal import fit_proximal, path

    p = X.shape[1]
    made = OWL(1.0, weights=np.linspace(1.0, race.falling, p)) if race.falling else L1(1.0)
    common: dict[str, Any] = {"loss": race.loss, "intercept": race.intercept, "tol": tol}
    if race.together:
        found = path(X, y, penalty=made, lams=lams, **common)
        return list(zip(found.coefficients, found.intercepts.tolist(), strict=True))
    fits = [fit_proximal(X, y, penalty=replace(made, lam=lam), **common) for lam in lams]
    return [(fit.coefficients, float(fit.intercept)) for fit in fits]


def skglm(X: Any, y: np.ndarray, race: Race, lams: np.ndarray, tol: float) -> Models:
    from skglm.datafits import Logistic, Quadratic
    from skglm.penalties import L1
    from skglm.solvers import AndersonCD, ProxNewton
    from skglm.utils.jit_compilation import compiled_clone

    datafit = compiled_clone(Logistic() if race.loss == "logistic" else Quadratic())
    penalty = compiled_clone(L1(1.0))
    common: dict[str, Any] = {"tol": tol, "fit_intercept": race.intercept, "warm_start": True}
    solver = (ProxNewton if race.loss == "logistic" else AndersonCD)(max_iter=200, **common)
    X = X if isinstance(X, np.ndarray) else X.tocsc()
    n, p = X.shape
    w, scores = np.zeros(p + race.intercept), np.zeros(n)
    found = []
    for lam in lams:
        penalty.alpha = lam
        w = solver.solve(X, y, datafit, penalty, w.copy(), scores)[0]
        b = float(w[p]) if race.intercept else 0.0
        scores = X @ w[:p] + b
        found.append((w[:p].copy(), b))
    return found


def celer(X: Any, y: np.ndarray, race: Race, lams: np.ndarray, tol: float) -> Models:
    from celer import celer_path
    from scipy.sparse import csc_matrix

    n = len(y)
    alphas = lams * n if race.loss == "logistic" else lams
    kind = "logreg" if race.loss == "logistic" else "lasso"
    X = X if isinstance(X, np.ndarray) else csc_matrix(X)
    coefficients = celer_path(X, y, pb=kind, alphas=alphas, tol=tol, max_iter=200)[1]
    return [(w, 0.0) for w in coefficients.T]


def glum(X: Any, y: np.ndarray, race: Race, lams: np.ndarray, tol: float) -> Models:
    from glum import GeneralizedLinearRegressor

    model = GeneralizedLinearRegressor(
        family="binomial", l1_ratio=1.0, alpha_search=True, alphas=lams, gradient_tol=tol,
        max_iter=1000, copy_X=True,
    )  # fmt: skip
    model.fit(X, (y > 0).astype(np.float64))
    return list(zip(model.coef_path_, model.intercept_path_, strict=True))


def sortedl1(X: Any, y: np.ndarray, race: Race, lams: np.ndarray, tol: float) -> Models:
    from sortedl1 import Slope

    assert race.falling
    weights = np.linspace(1.0, race.falling, X.shape[1])
    answers = y if race.loss == "squared" else (y > 0).astype(int)
    loss = "quadratic" if race.loss == "squared" else race.loss
    if race.together:
        model = Slope(lam=weights, loss=loss, tol=tol)
        # its early stops are off: every lam is answered
        off = {"tol_dev_change": 0.0, "tol_dev_ratio": 1.0, "max_clusters": 10**9}
        found = model.path(X, answers, alphas=lams, **off)
        coefficients, intercepts = found.coefs[:, 0, :].T, found.intercepts[0]
        return [(w, float(b)) for w, b in zip(coefficients, intercepts, strict=True)]
    models = []
    for lam in lams:
        model = Slope(lam=weights, alpha=lam, loss=loss, tol=tol).fit(X, answers)
        models.append((np.asarray(model.coef_), float(np.ravel(model.intercept_)[0])))
    return models


RACERS: dict[str, Callable[..., Models]] = {
    "milpscore": ours,
    "skglm": skglm,
    "glum": glum,
    "celer": celer,
    "sortedl1": sortedl1,
}


def installed(name: str) -> bool:
    return name == "milpscore" or rival_version(name) is not None


def run(race: Race, patience: float, quick: bool) -> dict[str, Any]:
    """All racers in turn, each at its loosest tolerance that keeps the gap on every lam.

    ``patience``: seconds of CPU after which no tighter tolerance of a racer is tried.
    """
    import warnings

    with_rivals()
    warnings.simplefilter("ignore")  # a rival's notes on convergence; its gap is measured here
    X, y = problem(race.name, race.loss)
    weights = np.linspace(1.0, race.falling or 1.0, X.shape[1])
    shares = race.shares[:: 3 if quick and race.together else 1]
    lams = largest_lam(X, y, race, weights) * np.asarray(shares)
    racers = [name for name in race.racers if installed(name)]
    tuned: dict[str, dict[str, Any]] = {}
    for name in racers:
        started = time.perf_counter()
        RACERS[name](X, y, race, lams[:2], 1e-3)
        tuned[name] = {"first": time.perf_counter() - started, "cpu": []}
        tolerances = [GAP] if name == "milpscore" else list(TOLERANCES)
        while tolerances:
            tol = tolerances.pop(0)
            began = time.process_time()
            found = RACERS[name](X, y, race, lams, tol)
            took = time.process_time() - began
            models = zip(lams, found, strict=True)
            gap = max(relative_gap(X, y, race, weights, lam, model) for lam, model in models)
            tuned[name] |= {"tol": tol, "gap": gap, "terms": int(np.count_nonzero(found[-1][0]))}
            tuned[name]["last"] = took
            if gap <= GAP or took > patience:
                break
            if took > 1.0:  # whole decades then
                tolerances = tolerances[1:]
    for _ in range(1 if quick else race.runs):
        for name in racers:
            if tuned[name]["last"] > patience:
                tuned[name]["cpu"] = [tuned[name]["last"]]
                continue
            began = time.process_time()
            RACERS[name](X, y, race, lams, tuned[name]["tol"])
            tuned[name]["cpu"].append(time.process_time() - began)
    shape = f"{X.shape[0]} x {X.shape[1]}"
    return {
        "shape": shape,
        "by": {
            name: {**each, "cpu": statistics.median(each["cpu"])} for name, each in tuned.items()
        },
    }


def run_all(races: list[Race], patience: float, quick: bool) -> dict[str, Any]:
    """Several races in one process, each said as it ends."""
    answers = []
    for race in races:
        answers.append(run(race, patience, quick))
        print(race.name, race.loss, answers[-1], file=sys.stderr, flush=True)
    return {"answers": answers}
