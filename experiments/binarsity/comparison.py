"""Binarsity against its rivals: accuracy, AUC and seconds on several sets, up to many rows."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split

from experiments.binarsity.data import make_additive_steps
from experiments.binarsity.models import (
    METHODS,
    RAW_METHODS,
    Chosen,
    PathOptions,
    binned,
    choose,
    count_jumps,
    load_kernels,
    scores,
)
from experiments.runner import Finding, Result, Results, means_of
from experiments.sets import BUNDLED, OfSets, read_joined
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError
from milpscore.data import Binner, make_design
from milpscore.metrics import accuracy, auc, nonzeros

TREES: dict[str, Any] = {
    "random_forest": RandomForestClassifier,
    "boosting": HistGradientBoostingClassifier,
}

Part = tuple[pd.DataFrame, IntArray]
"""A table, and labels of 0 and 1."""


class BinarsityComparison(OfSets, frozen=True, kw_only=True):
    """Accuracy, AUC and seconds of binarsity and its rivals on named and on generated sets.

    Half of the rows train, a quarter chooses lam by the logistic loss, a quarter tests; bins are
    found in the training rows. Binarsity, total variation without the sum constraint ("tv", the
    sources' group TV), the group lasso by feature, the lasso and the ridge act on the same one-hot
    bins; "raw_lasso" and "raw_ridge" on the columns themselves, standardised, with text one-hot,
    and so do a random forest and boosted trees at scikit-learn's defaults, on training rows alone.
    All linear models have the logistic loss and a free intercept. The slides' figures are pictures
    without a table; of their nine sets Ionosphere and Adult are here, Adult also in a version whose
    columns others made 0 and 1. Generated sets of :func:`make_additive_steps`, with as many rows as
    ``sizes`` says, stand for the large ones. Seconds are those of the whole path, without binning,
    one thread of CPU; besides them nothing depends on the machine.

    Tables: ``sets``, ``summary`` (a row per set and method), ``notes`` (sets left out).

    References
    ----------
    Alaya, "Binarsity: a penalization for one-hot encoded features" (seminar, 2018), "Real data" and
    "Computing time comparisons".
    """

    sets: tuple[str, ...] = (
        "ionosphere", "adult_raw", BUNDLED, "haberman", "breastcancer", "mammo", "mushroom", "adult"
    )  # fmt: skip
    sizes: tuple[int, ...] = (1000, 10_000, 100_000)
    n_bins: int = 50
    n_features: int = 8
    n_relevant: int = 4
    options: PathOptions = PathOptions()

    name = "binarsity-comparison"
    repetitions = 3
    figure = "experiments.binarsity.plots:comparison_figure"

    def total(self, repetitions: int) -> int:
        """A run a repetition and set."""
        if not self._names:
            raise OptionError("there is no set to compare on: name some in sets, or give sizes.")
        return repetitions * len(self._names)

    def __call__(self, run: int) -> Result:
        """One repetition on one set."""
        repetition, at = divmod(run, len(self._names))
        seed = [self.random_state, repetition]
        if at < len(self.here):
            parts = _named_parts(*read_joined(self.folder, self.here[at]), seed)
        else:
            size = self.sizes[at - len(self.here)]
            parts = _drawn_parts(size, self.n_features, self.n_relevant, seed)
        return _compared(parts, self.n_bins, self.options)

    def finding(self, results: Results) -> Finding:
        """Means over the repetitions."""
        rows, sets = [], {}
        for run, result in results.items():
            repetition, at = divmod(run, len(self._names))
            name = self._names[at]
            sets[name] = {"set": name, **result["set"]}
            rows += [
                {"run": repetition, "set": name, "method": method, **found}
                for method, found in result["methods"].items()
            ]
        runs = pd.DataFrame(rows).astype({"jumps": float})
        return Finding(
            runs=runs,
            sets=pd.DataFrame(list(sets.values())),
            summary=means_of(runs, ["set", "method"], ["accuracy", "auc", "seconds", "jumps"]),
            notes=self.notes(),
        )

    @property
    def _names(self) -> tuple[str, ...]:
        """The sets of a repetition, in the order of its runs."""
        return (*self.here, *(f"steps {size}" for size in self.sizes))


def _named_parts(X: pd.DataFrame, y: IntArray, seed: list[int]) -> tuple[Part, ...]:
    """Training, validation and test rows of a set, drawn class by class."""
    state = int(np.random.default_rng(seed).integers(2**31))
    train, rest = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=state)
    validation, test = train_test_split(rest, test_size=0.5, stratify=y[rest], random_state=state)
    return tuple((X.iloc[rows], y[rows]) for rows in (train, validation, test))


def _drawn_parts(
    n_samples: int, n_features: int, n_relevant: int, seed: list[int]
) -> tuple[Part, ...]:
    """The same of a generated set, whose rows are in no order."""
    X, y, _ = make_additive_steps(
        n_samples, n_features, n_relevant=n_relevant, random_state=np.random.default_rng(seed)
    )
    half, most = n_samples // 2, (3 * n_samples) // 4
    cuts = (slice(0, half), slice(half, most), slice(most, n_samples))
    return tuple((X[cut], y[cut].to_numpy()) for cut in cuts)


def _compared(parts: tuple[Part, ...], n_bins: int, options: PathOptions) -> Result:
    """Every method's measures on the test rows."""
    load_kernels()  # or the first method would pay for the others
    with warnings.catch_warnings():
        # a feature with one value in the training rows is left out, or a bin that is always 1
        warnings.filterwarnings("ignore", ".*one value")
        binner = Binner(n_bins, encoding="onehot").fit(parts[0][0])
    train, validation, test = ((binned(binner, X), y) for X, y in parts)
    methods = {}
    for method in METHODS:
        chosen = choose(method, train, validation, options)
        jumps = count_jumps(chosen.coefficients, train[0].blocks)
        methods[method] = {**_measures(chosen, *test), "jumps": jumps}
    raw = _standardised(parts)
    for method in RAW_METHODS:
        methods[method] = {
            **_measures(choose(method, raw[0], raw[1], options), *raw[2]), "jumps": None
        }  # fmt: skip
    for method, trees in TREES.items():
        started = time.process_time()
        model = trees(random_state=0).fit(raw[0][0], raw[0][1])
        seconds = round(time.process_time() - started, 3)
        chance = model.predict_proba(raw[2][0])[:, 1]
        methods[method] = {
            "accuracy": float(accuracy(raw[2][1] == 1, chance >= 0.5)),
            "auc": float(auc(raw[2][1], chance)),
            "seconds": seconds,
            "jumps": None,
        }
    labels = np.concatenate([y for _, y in parts])
    about = {
        "rows": len(labels),
        "features": parts[0][0].shape[1],
        "columns": train[0].shape[1],
        "positive": float(labels.mean()),
    }
    return {"set": about, "methods": methods}


def _measures(chosen: Chosen, X: Any, y: IntArray) -> dict[str, Any]:
    """Accuracy, AUC and what it took."""
    totals = scores(X, chosen.coefficients, chosen.intercept)
    return {
        "accuracy": float(accuracy(y == 1, totals >= 0)),
        "auc": float(auc(y, totals)),
        "seconds": chosen.cpu_seconds,
        "lam": chosen.lam,
        "at_edge": chosen.at_edge,
        "gap": chosen.gap,
        "nonzeros": nonzeros(chosen.coefficients),
    }


def _standardised(parts: tuple[Part, ...]) -> list[tuple[FloatArray, IntArray]]:
    """The columns themselves, text one-hot, with the training rows' means and deviations."""
    tables = [X for X, _ in parts]
    # all tables together: a category may be missing from one of them
    whole = make_design(pd.concat(tables, ignore_index=True), np.concatenate([y for _, y in parts]))
    values = np.split(whole.X, np.cumsum([len(table) for table in tables])[:-1])
    mean, spread = values[0].mean(axis=0), values[0].std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    return [((each - mean) / scale, y) for each, (_, y) in zip(values, parts, strict=True)]
