"""One set, cut into training, validation and test rows, and every method on it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

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
from experiments.sets import named_set
from milpscore.core.design import FloatArray, IntArray
from milpscore.data import Binner, make_design
from milpscore.metrics import accuracy, auc, nonzeros

Part = tuple[pd.DataFrame, IntArray]


@dataclass(frozen=True, eq=False)
class Parts:
    """Training, validation and test rows: tables, and labels of 0 and 1."""

    train: Part
    validation: Part
    test: Part


def named_parts(folder: str, name: str, seed: list[int]) -> Parts:
    """A named set, its rows drawn class by class."""
    from sklearn.model_selection import train_test_split

    X, y = named_set(folder, name)
    state = int(np.random.default_rng(seed).integers(2**31))
    options = {"random_state": state}
    train, rest = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, **options)
    validation, test = train_test_split(rest, test_size=0.5, stratify=y[rest], **options)
    return Parts(*((X.iloc[rows], y[rows]) for rows in (train, validation, test)))


def drawn_parts(n_samples: int, n_features: int, n_relevant: int, seed: list[int]) -> Parts:
    """A generated set; its rows are in no order."""
    X, y, _ = make_additive_steps(
        n_samples, n_features, n_relevant=n_relevant, random_state=np.random.default_rng(seed)
    )
    half, most = n_samples // 2, (3 * n_samples) // 4
    cuts = (slice(0, half), slice(half, most), slice(most, n_samples))
    return Parts(*((X[cut], y[cut].to_numpy()) for cut in cuts))


def compared(parts: Parts, n_bins: int, options: PathOptions) -> dict[str, Any]:
    """Every method's measures on the test rows."""
    load_kernels()  # or the first method would pay for the others
    with warnings.catch_warnings():
        # a feature with one value in the training rows is left out, or a bin that is always 1
        warnings.filterwarnings("ignore", "feature .* has fewer than two distinct values")
        binner = Binner(n_bins).fit(parts.train[0])
    every = (parts.train, parts.validation, parts.test)
    train, validation, test = ((binned(binner, X), y) for X, y in every)
    blocks = train[0].blocks
    methods = {}
    for method in METHODS:
        chosen = choose(method, train, validation, options)
        jumps = count_jumps(chosen.coefficients, blocks)
        methods[method] = {**_measures(chosen, *test), "jumps": jumps}
    raw = _standardised(every)
    for method in RAW_METHODS:
        chosen = choose(method, raw[0], raw[1], options)
        methods[method] = {**_measures(chosen, *raw[2]), "jumps": None}
    return {
        "set": {
            "rows": sum(len(y) for _, y in every),
            "features": parts.train[0].shape[1],
            "columns": train[0].shape[1],
            "positive": float(np.mean(np.concatenate([y for _, y in every]))),
        },
        "methods": methods,
    }


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


def _standardised(every: tuple[Part, ...]) -> list[tuple[FloatArray, IntArray]]:
    """The columns themselves, text one-hot, with the training rows' means and deviations."""
    tables = [X for X, _ in every]
    # all tables together: a category may be missing from one of them
    whole = make_design(pd.concat(tables, ignore_index=True), np.concatenate([y for _, y in every]))
    parts = np.split(whole.X, np.cumsum([len(table) for table in tables])[:-1])
    mean, spread = parts[0].mean(axis=0), parts[0].std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    return [((part - mean) / scale, y) for part, (_, y) in zip(parts, every, strict=True)]
