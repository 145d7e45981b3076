"""Figure 3 of the EYE paper: what penalties make of least squares on an orthonormal design."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from experiments.runner import Experiment, Finding, Result, Results
from milpscore.core.design import FloatArray
from milpscore.core.statement import ProxPenalty
from milpscore.penalties import EYE, L1, L2, ElasticNet
from milpscore.proximal import fit_proximal

_TOL = 1e-12


class EyeFigure3(Experiment, frozen=True, kw_only=True):
    """Least squares under EYE, the lasso, the elastic net and the ridge where X'X = I.

    ``weight`` is the print's n lambda; half of the ``n_features`` are known. A run draws an
    orthonormal design and answers, fits every penalty, and holds the coefficients against what eq.
    10 of the paper makes of the coefficients of least squares (:func:`implied`).

    Tables: ``runs`` (a row per run, penalty and feature) and ``summary`` (a row per penalty, EYE's
    known features apart: share of exact zeros, the largest least-squares coefficient that became
    one, the least that did not, the largest distance from the formula).

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (2018), Figure 3 and sec. 7.4.
    """

    n_samples: int = 60
    n_features: int = 12
    weight: float = 1.0
    spread: float = 1.5
    """Standard deviation of the least-squares coefficients."""

    name = "eye-figure3"
    repetitions = 20
    figure = "experiments.eye.plots:shrinkage_figure"

    def penalties(self, expert: FloatArray, lam: float) -> dict[str, ProxPenalty]:
        """What is compared; the elastic net weighs both of its parts by a half."""
        return {
            "eye": EYE(lam, expert=expert),
            "l1": L1(lam),
            "elastic_net": ElasticNet(lam, l1_ratio=0.5),
            "l2": L2(lam),
        }

    def __call__(self, run: int) -> Result:
        """One design."""
        rng = np.random.default_rng([self.random_state, run])
        n, p = self.n_samples, self.n_features
        X = np.linalg.qr(rng.normal(size=(n, p)))[0]
        noise = rng.normal(size=n)
        ols = self.spread * rng.normal(size=p)
        y = X @ ols + noise - X @ (X.T @ noise)
        expert = (np.arange(p) % 2).astype(np.float64)
        every = self.penalties(expert, self.weight / n)  # a fit's loss is a mean over the rows
        return {
            "ols": ols.tolist(),
            "known": expert.tolist(),
            "fits": {
                name: fit_proximal(
                    X, y, loss="squared", penalty=penalty, intercept=False, tol=_TOL
                ).coefficients.tolist()
                for name, penalty in every.items()
            },
        }

    def finding(self, results: Results) -> Finding:
        """Every coefficient beside the formula's."""
        parts = []
        for run, result in results.items():
            ols, known = np.array(result["ols"]), np.array(result["known"])
            for name, values in result["fits"].items():
                fitted = np.array(values)
                part = pd.DataFrame({"run": run, "penalty": name, "ols": ols, "fitted": fitted})
                formula = implied(name, ols, known, self.weight, fitted)
                kind = np.where(known > 0, "known", "unknown") if name == "eye" else "all"
                parts.append(part.assign(features=kind, error=np.abs(fitted - formula)))
        runs = pd.concat(parts, ignore_index=True)
        summary = [
            {
                "penalty": name,
                "features": kind,
                "zero": float((part["fitted"] == 0).mean()),
                "largest_zero": part["ols"].abs()[part["fitted"] == 0].max(),
                "least_kept": part["ols"].abs()[part["fitted"] != 0].min(),
                "largest_error": part["error"].max(),
            }
            for (name, kind), part in runs.groupby(["penalty", "features"], sort=False)
        ]
        return Finding(runs=runs, summary=pd.DataFrame(summary), weight=self.weight)


def implied(name: str, ols: FloatArray, r: FloatArray, weight: float, w: FloatArray) -> FloatArray:
    """What an optimum w must be by the coefficients of least squares, shape (p,).

    For EYE this is eq. 10, which holds w on both sides: with a = |(1 - r) w|_1 and
    Z = sqrt(a^2 + |r w|_2^2), each coefficient is soft(ols, weight (1 - r)(1 + a / Z)) over
    1 + weight r^2 / Z. Where w = 0 the equation says nothing, and 0 is taken.
    """
    if name == "l2":
        return ols / (1.0 + weight)
    if name != "eye":
        share = 1.0 if name == "l1" else 0.5
        return _soft(ols, share * weight) / (1.0 + (1.0 - share) * weight)
    a = float(np.abs((1.0 - r) * w).sum())
    z = float(np.hypot(a, np.linalg.norm(r * w)))
    if z == 0:
        return np.zeros_like(ols)
    return _soft(ols, weight * (1.0 - r) * (1.0 + a / z)) / (1.0 + weight * r**2 / z)


def one_unknown(unknown: Any, known: Any, weight: float) -> tuple[FloatArray, FloatArray]:
    """EYE's shrinkage of one unknown feature beside known ones whose norm is ``known``.

    EYE is then |u| + |(u, v)|_2, the sparse group lasso of one group, so that its prox is that of
    the lasso and, after it, that of the norm: with A = soft(unknown, weight) and R = |(A, known)|
    both become (1 - weight / R)_+ times (A, known). An unknown feature is 0 up to ``weight`` at
    least; known ones are 0 together or not at all.
    """
    soft = _soft(np.asarray(unknown, dtype=np.float64), weight)
    length = np.hypot(soft, known)
    factor = np.maximum(1.0 - weight / np.maximum(length, 1e-300), 0.0)
    return np.asarray(factor * soft), np.asarray(factor * known)


def _soft(values: FloatArray, threshold: Any) -> FloatArray:
    return np.asarray(np.sign(values) * np.maximum(np.abs(values) - threshold, 0.0))
