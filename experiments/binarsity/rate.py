"""How fast the risk of binarsity falls with the rows, beside its oracle inequality."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import expit, log_expit

from experiments.binarsity.data import make_additive_steps
from experiments.binarsity.models import PathOptions, choose, scores
from experiments.runner import Experiment, Finding, Result, Results, means_of
from milpscore.data import BinnedDesign

METHODS = ("binarsity", "group_l1", "lasso", "ridge")
_TEST_ROWS = 20_000


class BinarsityRate(Experiment, frozen=True, kw_only=True):
    """Excess risk of penalties on the same one-hot bins over the number of rows.

    Log odds are a sum of step functions of ``n_features`` features that jump between bins, so that
    the truth is a model of the class. The risk is the mean Kullback-Leibler divergence of a model's
    probabilities from the true ones on 20,000 fresh rows; lam has the least logistic loss on as
    many fresh rows as train. The oracle inequality bounds it, up to a constant, by the number of
    jumps times log(d) / n: ``share`` is the risk in these units, ``slope`` the power of n that fits
    the mean risks, -1 by the inequality; a penalty that does not fuse bins pays for each of them.

    Tables: ``summary`` (a row per size and method) and ``rates`` (a row per method).

    References
    ----------
    Alaya, "Binarsity: a penalization for one-hot encoded features" (seminar, 2018), the oracle
    inequality for generalised linear models.
    """

    sizes: tuple[int, ...] = (500, 1000, 2000, 4000, 8000, 16_000, 32_000)
    n_features: int = 2
    n_bins: int = 50
    n_jumps: int = 3
    options: PathOptions = PathOptions()

    name = "binarsity-rate"
    repetitions = 5

    def __call__(self, run: int) -> Result:
        """One truth, and a model of every method for every size."""
        rng = np.random.default_rng([self.random_state, run])
        *_, truth = make_additive_steps(2, self.n_features, n_jumps=self.n_jumps, random_state=rng)
        sizes = (self.n_bins,) * self.n_features
        most = max(self.sizes)
        codes = rng.integers(0, self.n_bins, (2 * most + _TEST_ROWS, self.n_features))
        odds = truth.score((codes + 0.5) / self.n_bins)
        y = (rng.random(len(odds)) < expit(odds)).astype(np.int64)

        def part(start: int, count: int) -> BinnedDesign:
            return BinnedDesign(codes[start : start + count].astype(np.uint8), sizes)

        test, real = part(2 * most, _TEST_ROWS), odds[2 * most :]
        found: Result = {}
        for n in self.sizes:
            train = part(0, n), y[:n]
            validation = part(most, n), y[most : most + n]
            for method in METHODS:
                chosen = choose(method, train, validation, self.options)
                fitted = scores(test, chosen.coefficients, chosen.intercept)
                risk = expit(real) * (log_expit(real) - log_expit(fitted))
                risk += expit(-real) * (log_expit(-real) - log_expit(-fitted))
                found[f"{n} {method}"] = float(risk.mean())
        return found

    def finding(self, results: Results) -> Finding:
        """Means over the runs, and the powers of n."""
        unit = self.n_features * self.n_jumps * np.log(self.n_features * self.n_bins)
        rows = [
            {"run": run, "n": n, "method": method, "risk": result[f"{n} {method}"],
             "share": result[f"{n} {method}"] * n / unit}
            for run, result in results.items()
            for n in self.sizes
            for method in METHODS
        ]  # fmt: skip
        runs = pd.DataFrame(rows)
        summary = means_of(runs, ["n", "method"], ["risk", "share"])
        rates = [
            {
                "method": method,
                "slope": float(np.polyfit(np.log(at["n"]), np.log(at["risk"]), 1)[0]),
            }
            for method, at in summary.groupby("method", sort=False)
        ]
        return Finding(runs=runs, summary=summary, rates=pd.DataFrame(rates))
