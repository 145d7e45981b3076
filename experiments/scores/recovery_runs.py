"""One cohort: the scores learnt from it, measured on fresh patients against DiaRem."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.binarsity.models import PathOptions, binned, choose
from experiments.binarsity.signal import matched
from experiments.scores.data import DIAREM_CUTS, DIAREM_POINTS, make_diabetes_cohort
from experiments.scores.fits import (
    SCORE_METHODS,
    FusedLassoOptions,
    Learnt,
    learn,
    summed,
)
from experiments.scores.learning import conditions
from milpscore.core.design import Design, FloatArray, IntArray
from milpscore.data import Binner
from milpscore.metrics import accuracy, auc
from milpscore.scorecard import Scorecard, diarem

if TYPE_CHECKING:
    import pandas as pd

DIAREM = "diarem"
RECOVERY_METHODS = (*SCORE_METHODS, "binarsity")
SCALE = 22
"""The largest total of DiaRem."""

GRID: Mapping[str, tuple[float, ...]] = {
    "age": (30, 35, 40, 45, 50, 55, 60, 65),
    "hba1c": (6.0, 6.5, 7.0, 7.5, 8.0, 8.5, 9.0, 9.5, 10.0),
    "other_drugs": (1, 2, 3),
}
"""Where bins may begin."""

_FRESH = 20_000


def recovery_run(size: int, seed: list[int], options: FusedLassoOptions) -> dict[str, Any]:
    """Every method's measures, card (as JSON) and points scaled to :data:`SCALE`, and DiaRem's.

    Parameters
    ----------
    size : int
        Patients.
    seed : list of int
    options : FusedLassoOptions
    """
    rng = np.random.default_rng([*seed, size])
    X, y, _ = make_diabetes_cohort(size, random_state=rng)
    others, labels, _ = make_diabetes_cohort(size, random_state=rng)
    binner = Binner(thresholds=GRID)
    design = binner.fit_design(X, y)
    fresh = fresh_cohort(seed)
    learnt = {method: learn(method, design, options) for method in SCORE_METHODS}
    learnt["binarsity"] = _rounded(binner, design, (X, y), (others, labels))
    answers: dict[str, Any] = {}
    for method, each in learnt.items():
        card = Scorecard.from_card(each.card, design, title=f"Remission score, {method}")
        scaled = _scaled(card.points, card.blocks)
        answers[method] = {
            **_measures(card, *fresh), "proved": each.proved, "card": card.to_json(),
            "scaled": scaled.tolist(),
        }  # fmt: skip
    answers[DIAREM] = {
        **_measures(diarem(), *fresh), "proved": True, "scaled": _published(design),
    }  # fmt: skip
    return answers


def fresh_cohort(seed: list[int]) -> tuple[pd.DataFrame, IntArray]:
    """The patients on whom a repetition's scores are measured."""
    X, y, _ = make_diabetes_cohort(_FRESH, random_state=np.random.default_rng([*seed, 0]))
    return X, y.to_numpy()


def _rounded(binner: Binner, design: Design, train: Any, validation: Any) -> Learnt:
    """Binarsity's logistic model, scaled so that the largest total is 22, and rounded."""
    rows, others = ((binned(binner, X), y.to_numpy()) for X, y in (train, validation))
    chosen = choose("binarsity", rows, others, PathOptions())
    points = np.rint(_scaled(chosen.coefficients, design.blocks)).astype(np.int64)
    card = summed(design, [points[list(block)] for block in design.blocks])
    return Learnt(card, chosen.gap <= PathOptions().tol, chosen.gap)


def _scaled(points: Any, blocks: Any) -> FloatArray:
    """Points with the least of each feature at 0 and a largest total of :data:`SCALE`."""
    w = np.array(points, dtype=np.float64)
    for block in blocks:
        w[list(block)] -= w[list(block)].min()
    top = sum(float(w[list(block)].max()) for block in blocks)
    return np.asarray(w * (SCALE / top if top > 0 else 0.0))


def _published(design: Design) -> list[float]:
    """DiaRem's points of every bin of the grid, none of which crosses one of its cuts."""
    points = []
    for column in design.columns:
        own = DIAREM_POINTS[column.feature]
        if column.kind == "category":
            points.append(float(own[column.category == "yes"]))
        else:
            points.append(float(own[bisect_right(DIAREM_CUTS[column.feature], column.lower)]))
    return points


def _measures(card: Scorecard, X: pd.DataFrame, y: IntArray) -> dict[str, Any]:
    """What a card is worth on fresh patients, and how near it comes to DiaRem."""
    published = diarem()
    totals, truth = card.score(X), published.score(X)
    answers = card.rule.positive(totals)
    spread = float(totals.std()) > 0
    return {
        "accuracy": float(accuracy(y == 1, answers)),
        "agreement": float((answers == published.rule.positive(truth)).mean()),
        "auc": float(auc(y, totals)),
        "correlation": float(np.corrcoef(totals, truth)[0, 1]) if spread else None,
        **_cuts_found(card),
        "bins": len(conditions(card)),
    }


def _cuts_found(card: Scorecard) -> dict[str, Any]:
    """Recall and precision of the true cuts, each feature's on a scale of its own."""
    lifts = {name: 1000.0 * k for k, name in enumerate(DIAREM_CUTS)}
    true = [lifts[name] + cut for name, cuts in DIAREM_CUTS.items() for cut in cuts]
    rows = (row for table in card.rows for row in table if row.kind == "interval")
    found = [lifts[row.feature] + row.lower for row in rows if np.isfinite(row.lower)]
    return matched(np.array(true), np.array(found), 0.0)
