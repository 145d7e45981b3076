"""Step functions of two features recovered in many bins by binarsity and its rivals."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from experiments.binarsity.data import StepFunctions, make_additive_steps
from experiments.binarsity.models import (
    METHODS,
    PathOptions,
    binned,
    choose,
    count_jumps,
    scores,
)
from experiments.binarsity.signal import LEAST_JUMP, matched
from milpscore.core.design import FloatArray
from milpscore.data import Binner
from milpscore.metrics import auc

_TEST_ROWS = 20_000
_FEATURES = 2
# places at which a step function is compared with the true one
_PLACES = (np.arange(2000) + 0.5) / 2000


def steps_run(
    seed: int, n_samples: int, n_bins: int, n_jumps: int, near: int, options: PathOptions
) -> dict[str, Any]:
    """One draw, fitted by every method; lam is chosen on as many rows drawn afresh.

    Parameters
    ----------
    seed : int
    n_samples, n_bins, n_jumps : int
        Of the training rows, of each feature.
    near : int
        Bins within which a found threshold counts as a true one.
    options : PathOptions
    """
    rows = 2 * n_samples + _TEST_ROWS
    table, labels, truth = make_additive_steps(rows, _FEATURES, n_jumps=n_jumps, random_state=seed)
    binner = Binner(n_bins, max_distinct=0).fit(table[:n_samples])
    ends = [0, n_samples, 2 * n_samples, rows]
    parts = [slice(a, b) for a, b in pairwise(ends)]
    train, validation, test = ((binned(binner, table[p]), labels[p].to_numpy()) for p in parts)
    cuts = [np.array([binner.columns_[j].lower for j in block[1:]]) for block in binner.blocks_]
    methods = {}
    for method in METHODS:
        chosen = choose(method, train, validation, options)
        levels = [
            _centred(chosen.coefficients[list(block)], cut)
            for block, cut in zip(train[0].blocks, cuts, strict=True)
        ]
        methods[method] = {
            "auc": auc(test[1], scores(test[0], chosen.coefficients, chosen.intercept)),
            "lam": chosen.lam,
            "at_edge": chosen.at_edge,
            "gap": chosen.gap,
            "jumps": count_jumps(chosen.coefficients, train[0].blocks, LEAST_JUMP),
            **_recovery(truth, StepFunctions(tuple(cuts), tuple(levels)), near / n_bins),
            "levels": [each.tolist() for each in levels],
        }
    return {
        "cuts": [each.tolist() for each in cuts],
        "thresholds": [each.tolist() for each in truth.thresholds],
        "truth": [truth.values(f, _inside(cut)).tolist() for f, cut in enumerate(cuts)],
        "methods": methods,
    }


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
    errors, recalls, precisions = [], [], []
    for feature in range(_FEATURES):
        gaps = found.values(feature, _PLACES) - truth.values(feature, _PLACES)
        errors.append(float(np.mean(gaps**2)))
        jumps = np.abs(np.diff(found.levels[feature])) > LEAST_JUMP
        match = matched(truth.thresholds[feature], found.thresholds[feature][jumps], near)
        recalls.append(match["recall"])
        precisions.append(match["precision"])
    told = [each for each in precisions if each is not None]
    return {
        "rmse": float(np.sqrt(np.mean(errors))),
        "recall": float(np.mean(recalls)),
        "precision": float(np.mean(told)) if told else None,
    }
