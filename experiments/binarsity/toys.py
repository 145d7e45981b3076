"""The toy examples of the binarsity slides: a denoised signal, and thresholds of two features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from experiments.binarsity.data import StepFunctions, drawn_jumps, make_additive_steps
from experiments.binarsity.models import (
    METHODS,
    PathOptions,
    binned,
    choose,
    count_jumps,
    matched,
    scores,
)
from experiments.runner import Experiment, Finding, Result, Results, means_of
from milpscore.core.design import FloatArray
from milpscore.data import Binner
from milpscore.metrics import auc
from milpscore.penalties import WeightedTV, data_driven_weights

SIGNAL_METHODS = ("noisy", "tv", "weighted_tv")
"""The signal as it is; with equal weights; with those of the slides."""

_OF_SIGNAL = ["rmse", "jumps", "recall", "precision"]
_OF_STEPS = ["rmse", "auc", "jumps", "recall", "precision"]
# below it a jump is rounding
_LEAST_JUMP = 1e-6
_LAMS = np.geomspace(100.0, 1e-2, 60)
_TEST_ROWS = 20_000
_FEATURES = 2
# places at which a step function is compared with the true one
_PLACES = (np.arange(2000) + 0.5) / 2000


class BinarsityToys(Experiment, frozen=True, kw_only=True):
    """A signal recovered by total variation, and a regression: n = 1000, p = 2, 100 bins each.

    The slides print neither the signal nor the functions. Here the signal has ``n_jumps`` jumps of
    0.5 to 1.5 in ``n_points`` points, and lam is the one that comes nearest to the same signal with
    fresh noise. The second toy is a logistic regression on the data of
    :func:`make_additive_steps`; every penalty acts on the same one-hot bins, with a free intercept,
    and lam has the least logistic loss on ``n_samples`` fresh rows. Total variation does not see a
    constant, so that its model without the sum-to-zero constraint ("tv") is binarsity's, but for a
    constant that moves between block and intercept.

    Tables: ``signal`` and ``summary`` (of the second toy), a row per method: rmse from the truth,
    auc on fresh rows, jumps found, recall and precision of the places (a found one within ``near``
    points or bins of a true one is right). ``drawn`` holds run 0 for the figure.

    References
    ----------
    Alaya, "Binarsity: a penalization for one-hot encoded features" (seminar, 2018), the two toy
    examples.
    """

    n_samples: int = 1000
    n_bins: int = 100
    n_jumps: int = 3
    n_points: int = 500
    noise: float = 0.5
    near: int = 3
    options: PathOptions = PathOptions()

    name = "binarsity-toys"
    repetitions = 20
    figure = "experiments.binarsity.plots:toys_figure"

    def __call__(self, run: int) -> Result:
        """One draw of both toys."""
        first, second = np.random.SeedSequence([self.random_state, run]).spawn(2)
        seed = int(np.random.default_rng(second).integers(2**31))
        return {"signal": self._signal(np.random.default_rng(first)), "steps": self._steps(seed)}

    def finding(self, results: Results) -> Finding:
        """Means over the draws, and the first draw."""
        kept = dict.fromkeys([*_OF_SIGNAL, *_OF_STEPS, "lam", "gap"])
        runs = pd.DataFrame(
            [
                {"run": run, "toy": toy, "method": method}
                | {key: found.get(key) for key in (*kept, "at_edge")}
                for run, result in results.items()
                for toy in ("signal", "steps")
                for method, found in result[toy]["methods"].items()
            ]
        ).astype(dict.fromkeys(kept, float))
        return Finding(
            runs=runs,
            signal=means_of(runs[runs["toy"] == "signal"], ["method"], _OF_SIGNAL),
            summary=means_of(runs[runs["toy"] == "steps"], ["method"], _OF_STEPS),
            drawn=_drawn(results[0]),
        )

    def _signal(self, rng: np.random.Generator) -> Result:
        """One signal, and how near each method comes to it."""
        places, levels = drawn_jumps(rng, self.n_jumps)
        at = np.searchsorted(np.rint(places * self.n_points), np.arange(self.n_points), "right")
        truth = levels[at]
        noisy, again = truth + self.noise * rng.normal(size=(2, self.n_points))
        real = np.flatnonzero(np.diff(truth)) + 1
        methods = {}
        for method in SIGNAL_METHODS:
            fitted = _denoised(method, noisy, again)
            found = np.flatnonzero(np.abs(np.diff(fitted)) > _LEAST_JUMP) + 1
            methods[method] = {
                "rmse": float(np.sqrt(np.mean((fitted - truth) ** 2))),
                "jumps": len(found),
                **matched(real, found, self.near),
                "fitted": fitted.tolist(),
            }
        return {"truth": truth.tolist(), "noisy": noisy.tolist(), "methods": methods}

    def _steps(self, seed: int) -> Result:
        """One draw, fitted by every method; lam is chosen on as many rows drawn afresh."""
        n = self.n_samples
        rows = 2 * n + _TEST_ROWS
        table, labels, truth = make_additive_steps(
            rows, _FEATURES, n_jumps=self.n_jumps, random_state=seed
        )
        binner = Binner(self.n_bins, max_distinct=0, encoding="onehot").fit(table[:n])
        parts = (slice(0, n), slice(n, 2 * n), slice(2 * n, rows))
        train, validation, test = ((binned(binner, table[p]), labels[p].to_numpy()) for p in parts)
        blocks = train[0].blocks
        cuts = [np.array([binner.columns_[j].lower for j in block[1:]]) for block in binner.blocks_]
        methods = {}
        for method in METHODS:
            chosen = choose(method, train, validation, self.options)
            w = chosen.coefficients
            levels = [
                _centred(w[list(block)], cut) for block, cut in zip(blocks, cuts, strict=True)
            ]
            found = StepFunctions(tuple(cuts), tuple(levels))
            methods[method] = {
                "auc": auc(test[1], scores(test[0], w, chosen.intercept)),
                "lam": chosen.lam,
                "at_edge": chosen.at_edge,
                "gap": chosen.gap,
                "jumps": count_jumps(w, blocks, _LEAST_JUMP),
                **_recovery(truth, found, self.near / self.n_bins),
                "levels": [each.tolist() for each in levels],
            }
        return {
            "cuts": [each.tolist() for each in cuts],
            "thresholds": [each.tolist() for each in truth.thresholds],
            "truth": [truth.values(f, _inside(cut)).tolist() for f, cut in enumerate(cuts)],
            "methods": methods,
        }


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


def _inside(cuts: FloatArray) -> FloatArray:
    """The middle of every bin of [0, 1]."""
    edges = np.concatenate([[0.0], cuts, [1.0]])
    return np.asarray((edges[1:] + edges[:-1]) / 2)


def _centred(levels: FloatArray, cuts: FloatArray) -> FloatArray:
    """Levels less their mean over [0, 1]: a constant belongs to the intercept."""
    widths = np.diff(np.concatenate([[0.0], cuts, [1.0]]))
    return np.asarray(levels - widths @ levels)


def _recovery(truth: StepFunctions, found: StepFunctions, near: float) -> dict[str, Any]:
    """Distance of the functions, and recall and precision of the thresholds; means over features.

    ``near`` is a length: quantile bins of uniform values are about equally wide.
    """
    errors, matches = [], []
    for feature in range(_FEATURES):
        gaps = found.values(feature, _PLACES) - truth.values(feature, _PLACES)
        errors.append(float(np.mean(gaps**2)))
        jumps = np.abs(np.diff(found.levels[feature])) > _LEAST_JUMP
        matches.append(matched(truth.thresholds[feature], found.thresholds[feature][jumps], near))
    known = [each["precision"] for each in matches if each["precision"] is not None]
    return {
        "rmse": float(np.sqrt(np.mean(errors))),
        "recall": float(np.mean([each["recall"] for each in matches])),
        "precision": float(np.mean(known)) if known else None,
    }


def _drawn(result: Result) -> dict[str, pd.DataFrame]:
    """The curves of one run: "signal", "steps" with mean 0 in each feature, and "thresholds"."""
    signal, steps = result["signal"], result["steps"]
    curves = {name: signal["methods"][name]["fitted"] for name in SIGNAL_METHODS[1:]}
    tables = [
        pd.DataFrame(
            {
                "feature": feature,
                "lower": [0.0, *cuts],
                "upper": [*cuts, 1.0],
                "truth": steps["truth"][feature],
                **{name: steps["methods"][name]["levels"][feature] for name in METHODS},
            }
        )
        for feature, cuts in enumerate(steps["cuts"])
    ]
    thresholds = pd.DataFrame({"threshold": steps["thresholds"]}).explode("threshold")
    return {
        "signal": pd.DataFrame({"truth": signal["truth"], "noisy": signal["noisy"], **curves}),
        "steps": pd.concat(tables, ignore_index=True),
        "thresholds": thresholds.rename_axis("feature").reset_index(),
    }
