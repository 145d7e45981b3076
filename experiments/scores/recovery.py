"""Scores of the form of DiaRem learnt from cohorts whose truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from experiments.binarsity.models import PathOptions, binned, choose, matched
from experiments.runner import Experiment, Finding, Result, Results, means_of
from experiments.scores.data import make_diabetes_cohort
from experiments.scores.diarem import diarem
from experiments.scores.fits import (
    SCORE_METHODS,
    FusedLassoOptions,
    Learnt,
    by_total,
    conditions,
    learn,
    summed,
)
from milpscore.core.design import Column, Design, FloatArray
from milpscore.core.errors import OptionError
from milpscore.data import Binner
from milpscore.formulations import fused_lasso
from milpscore.metrics import accuracy, auc
from milpscore.scorecard import Scorecard
from milpscore.solvers import solve

DIAREM = "diarem"
RECOVERY_METHODS = (*SCORE_METHODS, "binarsity")
SCALE = 22
"""The largest total of DiaRem."""

GRID: dict[str, tuple[float, ...]] = {
    "age": (30, 35, 40, 45, 50, 55, 60, 65),
    "hba1c": (6.0, 6.5, 7.0, 7.5, 8.0, 8.5, 9.0, 9.5, 10.0),
    "other_drugs": (1, 2, 3),
}
"""Where bins may begin."""

_FRESH = 20_000
_MEASURES = ["accuracy", "auc", "correlation", "recall", "precision", "bins"]


class DiaremRecovery(Experiment, frozen=True, kw_only=True):
    """A score of DiaRem's form learnt from cohorts that follow DiaRem.

    The slides learn one from patients whose data are not public. Here cohorts come from
    :func:`make_diabetes_cohort`, and the bins may begin every five years of age, at every half per
    cent of HbA1c and at every count of other drugs up to 3: the true cuts are among them. The
    fused-lasso programs are those of the score learning; "binarsity" is for comparison: the
    logistic loss with binarsity, lam chosen on a cohort of the same size, the coefficients scaled
    to a largest total of 22 and rounded, the separator set where the fewest training rows are
    wrong.

    Tables: ``summary`` (on 20,000 fresh patients, a row per size and method, and DiaRem itself:
    correlation of the totals with DiaRem's; recall and precision of the true cuts; bins after
    merging) and ``points`` (of every bin of the grid, means over the repetitions of the largest
    size, every card scaled to DiaRem's largest total). ``cards`` and ``totals`` are those of
    repetition 0.

    References
    ----------
    Sokolovska, Chevaleyre & Zucker, score learning, "Prediction of the Diabetes Remission"; Still
    et al., Lancet Diabetes Endocrinol. 2 (2014).
    """

    sizes: tuple[int, ...] = (200, 1000, 5000, 20_000)
    options: FusedLassoOptions = FusedLassoOptions(lam=0.002)

    name = "diarem-recovery"
    repetitions = 10
    figure = "experiments.scores.plots:recovery_figure"

    def total(self, repetitions: int) -> int:
        """A run a repetition and size."""
        if not self.sizes or min(self.sizes) < 20:
            raise OptionError(f"sizes={self.sizes}; use cohorts of 20 or more.")
        return repetitions * len(self._ascending)

    def settings(self) -> dict[str, Any]:
        """With the grid, on which everything depends."""
        return {**super().settings(), "sizes": self._ascending, "grid": GRID}

    def place(self, run: int) -> tuple[int, int]:
        """Repetition and size of a run."""
        repetition, at = divmod(run, len(self._ascending))
        return repetition, self._ascending[at]

    def __call__(self, run: int) -> Result:
        """Every method's measures, card and scaled points from one cohort, and DiaRem's."""
        repetition, size = self.place(run)
        rng = np.random.default_rng([self.random_state, repetition, size])
        X, y, _ = make_diabetes_cohort(size, random_state=rng)
        others, labels, _ = make_diabetes_cohort(size, random_state=rng)
        binner = Binner(thresholds=GRID, encoding="onehot")
        design = binner.fit_design(X, y)
        fresh = self._fresh(repetition)
        learnt = {method: learn(method, design, self.options) for method in SCORE_METHODS}
        learnt["binarsity"] = rounded_binarsity(binner, design, (X, y), (others, labels))
        answers: Result = {}
        for method, each in learnt.items():
            card = Scorecard.from_card(each.card, design, title=f"Remission score, {method}")
            answers[method] = {
                **_measures(card, *fresh), "proved": each.proved, "card": card.to_json(),
                "scaled": _scaled(card.points, card.blocks).tolist(),
            }  # fmt: skip
        published = [_published(column) for column in design.columns]
        answers[DIAREM] = {**_measures(diarem(), *fresh), "proved": True, "scaled": published}
        return answers

    def finding(self, results: Results) -> Finding:
        """Means over the repetitions, and the cards of the first."""
        rows = []
        for run, result in results.items():
            repetition, size = self.place(run)
            rows += [
                {"run": repetition, "size": size, "method": method, **found}
                for method, found in result.items()
            ]
        every = pd.DataFrame(rows).astype(dict.fromkeys(_MEASURES, float))
        kept = ["run", "size", "method", *_MEASURES, "agreement", "proved"]
        shown = results[len(self._ascending) - 1]
        cards = {name: Scorecard.from_json(shown[name]["card"]) for name in RECOVERY_METHODS}
        cards[DIAREM] = diarem()
        X, y = self._fresh(0)
        return Finding(
            runs=every[kept],
            summary=means_of(every, ["size", "method"], _MEASURES),
            points=_points(every[every["size"] == self._ascending[-1]], cards[SCORE_METHODS[0]]),
            cards=cards,
            totals={name: by_total(card.score(X), y) for name, card in cards.items()},
        )

    @property
    def _ascending(self) -> tuple[int, ...]:
        return tuple(sorted(set(self.sizes)))

    def _fresh(self, repetition: int) -> tuple[pd.DataFrame, Any]:
        """The patients on whom a repetition's scores are measured."""
        rng = np.random.default_rng([self.random_state, repetition, 0])
        X, y, _ = make_diabetes_cohort(_FRESH, random_state=rng)
        return X, y.to_numpy()


def graded_points(n_samples: int = 300, random_state: int = 0) -> tuple[Scorecard, str]:
    """The joint fused-lasso card of patients without noise, and what is claimed of it."""
    X, _, truth = make_diabetes_cohort(n_samples, random_state=random_state)
    grid = {"age": range(20, 80, 5), "hba1c": np.arange(6.0, 12.5, 0.5), "other_drugs": (1, 2, 3)}
    binner = Binner(thresholds={k: list(map(float, v)) for k, v in grid.items()}, encoding="onehot")
    design = binner.fit_design(X, (truth.total > 6.5).astype(int))
    program = fused_lasso(
        design, lam=1e-5, margin=0.5, intercept="real", coef_min=0, coef_max=SCALE
    )
    result = solve(program, time_limit=60, progress=False)
    assert result.card is not None
    return Scorecard.from_card(result.card, design), str(result.claim)


def rounded_binarsity(binner: Binner, design: Design, train: Any, validation: Any) -> Learnt:
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


def _published(column: Column) -> float:
    """DiaRem's points of a bin of the grid, none of which crosses one of its cuts."""
    rows = [row for rows in diarem().rows for row in rows if row.feature == column.feature]
    if column.kind == "category":
        return float(next(row.points for row in rows if column.category in row.categories))
    return float([row.points for row in rows if row.lower <= column.lower][-1])


def _measures(card: Scorecard, X: pd.DataFrame, y: Any) -> Result:
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
        **matched(_cuts(published), _cuts(card), 0.0),
        "bins": len(conditions(card)),
    }


def _cuts(card: Scorecard) -> FloatArray:
    """Where the bins of a card begin, each feature's on a scale of its own."""
    lifts = {name: 1000.0 * k for k, name in enumerate(GRID)}
    rows = (row for rows in card.rows for row in rows if row.kind == "interval")
    return np.array([lifts[row.feature] + row.lower for row in rows if np.isfinite(row.lower)])


def _points(found: pd.DataFrame, some: Scorecard) -> pd.DataFrame:
    """The scaled points of every bin of the grid; ``some`` card knows their words."""
    # one bin at a time: nothing merges
    words = [some.merged([j])[0] for j in range(len(some.columns))]
    scaled = {name: np.array(part.tolist()) for name, part in found.groupby("method")["scaled"]}
    table = pd.DataFrame(
        {
            "feature": [row.feature for row in words],
            "bin": [row.condition for row in words],
            DIAREM: scaled[DIAREM][0],
        }
    )
    for method in RECOVERY_METHODS:
        values = pd.DataFrame(scaled[method])
        table[method], table[f"{method}_stdev"] = values.mean(), values.std()
    return table
