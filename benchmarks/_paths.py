"""The racers of bench_l1_path: an L1-logistic path by milpscore, skglm and glum."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _common import SEED, rival_version, uci, with_rivals

Path = tuple[np.ndarray, np.ndarray]
Racer = Callable[[np.ndarray, np.ndarray, np.ndarray, float], Path]


def problem(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and -1/+1 classes: a UCI set, "4600 x 57" (spambase's shape) or "2000 x 5000"."""
    if name == "adult":
        design = uci(name)
        if design is None:
            raise FileNotFoundError(name)
        return np.asfortranarray(design.X), design.y.astype(np.float64)
    rng = np.random.default_rng(SEED)
    n, p = (int(part) for part in name.split(" x "))
    if p < n:
        # counts of words: skewed, mostly zero
        X = np.exp(rng.normal(size=(n, p))) * (rng.random((n, p)) < 0.3)
        w = rng.normal(size=p) * (rng.random(p) < 0.5)
    else:
        X = rng.normal(size=(n, p))
        w = np.where(np.arange(p) < 50, rng.normal(size=p), 0.0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    total = X @ w
    y = np.where(total - np.median(total) + rng.logistic(size=n) > 0, 1.0, -1.0)
    return np.asfortranarray(X), y


def worst_gap(X: np.ndarray, y: np.ndarray, lams: np.ndarray, found: Path) -> float:
    """The largest relative duality gap on a path, each intercept re-optimised."""
    from milpscore.penalties import L1
    from milpscore.proximal.problem import duality_gap, prepare

    smooth = prepare(X, y, "logistic")
    gaps = []
    for lam, w, b in zip(lams, *found, strict=True):
        at = smooth.settled(w, smooth.X.matvec(w), np.asarray(b))
        gaps.append(duality_gap(smooth, L1(lam), at).gap)
    return max(gaps)


def ours(X: np.ndarray, y: np.ndarray, lams: np.ndarray, tol: float) -> Path:
    from milpscore.penalties import L1
    from milpscore.proximal import path

    found = path(X, y, penalty=L1, lams=lams, tol=tol)
    return found.coefficients, found.intercepts


def skglm(X: np.ndarray, y: np.ndarray, lams: np.ndarray, tol: float) -> Path:
    from skglm.datafits import Logistic
    from skglm.penalties import L1
    from skglm.solvers import ProxNewton
    from skglm.utils.jit_compilation import compiled_clone

    datafit, penalty = compiled_clone(Logistic()), compiled_clone(L1(1.0))
    solver = ProxNewton(tol=tol, max_iter=100, fit_intercept=True, warm_start=True)
    n, p = X.shape
    w, scores = np.zeros(p + 1), np.zeros(n)
    ws = []
    for lam in lams:
        penalty.alpha = lam
        w = solver.solve(X, y, datafit, penalty, w.copy(), scores)[0]
        scores = X @ w[:p] + w[p]
        ws.append(w)
    table = np.array(ws)
    return table[:, :p], table[:, p]


def glum(X: np.ndarray, y: np.ndarray, lams: np.ndarray, tol: float) -> Path:
    from glum import GeneralizedLinearRegressor

    model = GeneralizedLinearRegressor(
        family="binomial",
        l1_ratio=1.0,
        alpha_search=True,
        alphas=lams,
        gradient_tol=tol,
        max_iter=1000,
        copy_X=True,
    )
    model.fit(X, (y > 0).astype(np.float64))
    return np.asarray(model.coef_path_), np.asarray(model.intercept_path_)


TOLERANCES = [10.0 ** (-k / 2) for k in range(8, 21)]
RACERS: dict[str, Racer] = {"milpscore": ours, "skglm": skglm, "glum": glum}


def installed(name: str) -> bool:
    return name == "milpscore" or rival_version(name) is not None


def run(racer: str, name: str, n_lams: int, runs: int) -> dict[str, Any]:
    """The first tolerance with a worst gap of at most 1e-6, and its seconds."""
    import warnings

    from milpscore.penalties import L1
    from milpscore.proximal.problem import prepare

    with_rivals()
    warnings.simplefilter("ignore")  # a rival's notes on convergence; its gap is measured here
    X, y = problem(name)
    top = L1(1.0).lambda_max(prepare(X, y, "logistic").null.gradient)
    lams = top * np.geomspace(1.0, 0.01, n_lams)
    answer: dict[str, Any] = {"set": name, "by": racer}
    first = time.perf_counter()
    RACERS[racer](X, y, lams[:3], 1e-3)
    answer["first call s"] = time.perf_counter() - first
    for tol in (1e-6,) if racer == "milpscore" else TOLERANCES:
        cpu, wall = [], []
        for _ in range(runs):
            started = time.process_time(), time.perf_counter()
            found = RACERS[racer](X, y, lams, tol)
            cpu.append(time.process_time() - started[0])
            wall.append(time.perf_counter() - started[1])
        answer |= {"tol": tol, "CPU s": min(cpu), "s": min(wall)}
        answer["worst gap"] = worst_gap(X, y, lams, found)
        answer["terms at the end"] = int(np.count_nonzero(found[0][-1]))
        if answer["worst gap"] <= 1e-6:
            break
    return answer
