"""The toy examples of the binarsity slides: a denoised signal, and thresholds of two features."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.binarsity.models import METHODS, PathOptions
from experiments.binarsity.signal import SIGNAL_METHODS, signal_run
from experiments.binarsity.steps import steps_run
from experiments.means import means_of
from experiments.runner import Progress, Results, RunStore, finish_runs

if TYPE_CHECKING:
    import pandas as pd

_OF_SIGNAL = ("rmse", "jumps", "recall", "precision")
_OF_STEPS = ("rmse", "auc", "jumps", "recall", "precision")


@dataclass(frozen=True, eq=False)
class BinarsityToys:
    """The two toys over several draws.

    Attributes
    ----------
    runs : DataFrame
        One row a run, toy and method, with the measures that the other two average.
    signal : DataFrame
        One row a method: rmse from the true signal, jumps found, recall (share of the true jumps
        with a found one within ``near`` points) and precision (share of the found ones with a true
        one).
    summary : DataFrame
        One row a method of the second toy: rmse of the step functions over [0, 1], auc on fresh
        rows, jumps found, recall and precision of the thresholds (within ``near`` bins).
    drawn : mapping of str to DataFrame
        Run 0, for figures: "signal" (truth, noisy and a column a method), "steps" (feature, lower,
        upper, truth and a column a method, with mean 0 in each feature) and "thresholds"
        (feature, threshold).
    """

    runs: pd.DataFrame
    signal: pd.DataFrame
    summary: pd.DataFrame
    drawn: Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class _Toys:
    """One draw of both toys; its results follow from the settings and the run's number."""

    n_samples: int
    n_bins: int
    n_jumps: int
    n_points: int
    noise: float
    near: int
    options: PathOptions
    random_state: int

    def settings(self) -> dict[str, Any]:
        return asdict(self)

    def __call__(self, run: int) -> dict[str, Any]:
        first, second = np.random.SeedSequence([self.random_state, run]).spawn(2)
        rng = np.random.default_rng(first)
        seed = int(np.random.default_rng(second).integers(2**31))
        return {
            "signal": signal_run(rng, self.n_points, self.n_jumps, self.noise, self.near),
            "steps": steps_run(
                seed, self.n_samples, self.n_bins, self.n_jumps, self.near, self.options
            ),
        }


def binarsity_toys(
    runs: int = 20,
    *,
    out: str | os.PathLike[str] | None = None,
    n_samples: int = 1000,
    n_bins: int = 100,
    n_jumps: int = 3,
    n_points: int = 500,
    noise: float = 0.5,
    near: int = 3,
    options: PathOptions | None = None,
    n_jobs: int = 1,
    random_state: int = 0,
    progress: Progress | None = None,
) -> BinarsityToys:
    """Repeat the toys: a signal recovered by total variation; n = 1000, p = 2, 100 bins each.

    The slides print neither the signal nor the functions. Here the signal has ``n_jumps`` jumps of
    0.5 to 1.5 in ``n_points`` points, and lam is the one that comes nearest to the same signal with
    fresh noise. The second toy is a logistic regression on the data of
    :func:`milpscore.data.make_additive_steps`; every penalty acts on the same one-hot bins, with a
    free intercept, and lam has the least logistic loss on
    ``n_samples`` fresh rows.

    Total variation does not see a constant, so that its model without the sum-to-zero constraint
    ("tv") is binarsity's, but for a constant that moves between block and intercept.

    Parameters
    ----------
    runs : int
        Draws of the data; the slides show one.
    out : path-like, optional
        A file of finished runs; those it holds are not done again.
    n_samples, n_bins, n_jumps : int
        Of the second toy; ``n_jumps`` in each feature, and in the signal.
    n_points : int
    noise : float
        Standard deviation of the signal's noise.
    near : int
        Points or bins within which a found jump counts as a true one.
    options : PathOptions, optional
    n_jobs : int
    random_state : int
    progress : callable, optional
        ``progress(done, total)``.

    Returns
    -------
    BinarsityToys

    Raises
    ------
    OptionError
        A parameter lies outside its range, or ``out`` holds runs with other settings.
    DataError
        ``out`` cannot be read.

    References
    ----------
    Alaya, "Binarsity: a penalization for one-hot encoded features" (seminar, 2018), the two toy
    examples.
    """
    toys = _Toys(
        n_samples, n_bins, n_jumps, n_points, noise, near, options or PathOptions(), random_state
    )
    store = RunStore(out, "binarsity-toys", toys.settings())
    finished = finish_runs(store, toys, runs, n_jobs=n_jobs, progress=progress)
    return _toys(finished)


def _toys(finished: Results) -> BinarsityToys:
    import pandas as pd

    rows = [
        {"run": run, "toy": toy, "method": method}
        | {key: found.get(key) for key in (*_OF_STEPS, "lam", "at_edge", "gap")}
        for run, result in finished.items()
        for toy in ("signal", "steps")
        for method, found in result[toy]["methods"].items()
    ]
    runs = pd.DataFrame(rows)
    numbers = list(dict.fromkeys((*_OF_SIGNAL, *_OF_STEPS, "lam", "gap")))
    runs[numbers] = runs[numbers].astype(float)
    signal, steps = (runs[runs["toy"] == toy] for toy in ("signal", "steps"))
    return BinarsityToys(
        runs,
        means_of(signal, ["method"], _OF_SIGNAL),
        means_of(steps, ["method"], _OF_STEPS),
        _drawn(finished[0]),
    )


def _drawn(result: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """The curves of one run."""
    import pandas as pd

    signal, steps = result["signal"], result["steps"]
    curves = {name: signal["methods"][name]["fitted"] for name in SIGNAL_METHODS[1:]}
    features = range(len(steps["cuts"]))
    tables = [
        pd.DataFrame(
            {
                "feature": feature,
                "lower": [0.0, *steps["cuts"][feature]],
                "upper": [*steps["cuts"][feature], 1.0],
                "truth": steps["truth"][feature],
                **{name: steps["methods"][name]["levels"][feature] for name in METHODS},
            }
        )
        for feature in features
    ]
    thresholds = [
        {"feature": feature, "threshold": threshold}
        for feature in features
        for threshold in steps["thresholds"][feature]
    ]
    return {
        "signal": pd.DataFrame({"truth": signal["truth"], "noisy": signal["noisy"], **curves}),
        "steps": pd.concat(tables, ignore_index=True),
        "thresholds": pd.DataFrame(thresholds),
    }
