"""Score learning of the slides: fused-lasso scores by feature and jointly, and how they part."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

from experiments.runner import Finding, Result, Results, means_of
from experiments.scores.fits import (
    SCORE_METHODS,
    FusedLassoOptions,
    Learnt,
    by_total,
    conditions,
    learn,
)
from experiments.sets import BUNDLED, OfSets, read_joined
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError
from milpscore.data import Binner
from milpscore.data.binner import binned_design, folds_of, stratified_splits
from milpscore.metrics import accuracy, auc
from milpscore.scorecard import Scorecard


class ScoreLearning(OfSets, frozen=True, kw_only=True):
    """Points and bins at once, feature by feature and jointly.

    Each feature's values are bins where there are at most ten, else ``n_bins`` quantile bins;
    categories of text are bins in alphabetical order, which the fused lasso then takes for an order
    (the slides do not say how they treat the mushrooms). Points are whole and not negative, as
    printed. The slides sum the scores of all features and look for the best separator; the joint
    program has them in one objective. A repetition is a cross-validation with folds of its own; the
    scores of all rows come before them.

    Tables: ``summary`` (accuracy and auc held out), ``scores`` (of all rows, with their columns,
    bins left after merging, the most points of a bin and the separator), ``points`` (every bin of
    these scores), ``notes``. ``cards`` and ``totals`` have a card and its rows by total for each
    set and method.

    References
    ----------
    Sokolovska, Chevaleyre & Zucker, score learning: eqs. 1-5, the algorithm, and "The obtained
    scores: Mushrooms and Breast Cancer Data Sets".
    """

    sets: tuple[str, ...] = ("mushroom", "breastcancer", BUNDLED)
    n_bins: int = 4
    folds: int = 5
    options: FusedLassoOptions = FusedLassoOptions()

    name = "score-learning"
    repetitions = 1
    figure = "experiments.scores.plots:learning_figure"

    def total(self, repetitions: int) -> int:
        """A run a set, then a run a repetition, set and fold."""
        if self.folds < 2:
            raise OptionError(f"folds={self.folds}; use at least 2.")
        if not self.here:
            raise OptionError(
                "none of the sets is there: see data= and MILPSCORE_DATA, or take 'wdbc'"
            )
        return len(self.here) * (1 + repetitions * self.folds)

    def place(self, run: int) -> tuple[str, int, int | None]:
        """Set, repetition and fold of a run; no fold: all rows."""
        here = self.here
        if run < len(here):
            return here[run], 0, None
        repetition, rest = divmod(run - len(here), len(here) * self.folds)
        at, fold = divmod(rest, self.folds)
        return here[at], repetition, fold

    def __call__(self, run: int) -> Result:
        """The scores of all rows, or of a fold's training rows."""
        name, repetition, fold = self.place(run)
        X, y = read_joined(self.folder, name)
        with warnings.catch_warnings():
            # a feature with one value in these rows gets no points, or one bin
            warnings.filterwarnings("ignore", "feature .* has fewer than two distinct values")
            binner = Binner(self.n_bins, encoding="onehot")
            design = binned_design(X, y, binner)
            if fold is None:
                train, held_out, labels = design, design.X, design.y
            else:
                dealt, splits = stratified_splits(
                    design, self.folds, self.random_state + repetition
                )
                (part,) = folds_of(dealt, [splits[fold]], X, binner)
                train, held_out, labels = part.train, part.test.X, part.test.y
        answers = {}
        for method in SCORE_METHODS:
            learnt = learn(method, train, self.options)
            card = Scorecard.from_card(learnt.card, train, title="Fused-lasso score")
            totals = card.score_design(held_out)
            answers[method] = _measures(learnt, card, totals, labels)
            if fold is None:
                answers[method] |= {
                    "columns": train.shape[1],
                    "card": card.to_json(),
                    "totals": by_total(totals, labels).to_dict("list"),
                }
        return answers

    def finding(self, results: Results) -> Finding:
        """The scores of all rows, and means over the folds."""
        rows, scores, points, cards, totals = [], [], [], {}, {}
        for run, result in results.items():
            name, repetition, fold = self.place(run)
            for method, found in result.items():
                about = {"set": name, "method": method}
                if fold is not None:
                    rows.append({"run": repetition, **about, "fold": fold, **found})
                    continue
                card = Scorecard.from_json(found["card"])
                cards[name, method] = card
                totals[name, method] = pd.DataFrame(found["totals"])
                scores.append(about | _score(card, found))
                points += [
                    {**about, "feature": feature, "points": worth, "bin": words}
                    for feature, words, worth in conditions(card)
                ]
        runs = pd.DataFrame(rows)
        summary = means_of(runs, ["set", "method"], ["accuracy", "auc"]).drop(columns="runs")
        return Finding(
            runs=runs, summary=summary, scores=pd.DataFrame(scores), points=pd.DataFrame(points),
            notes=self.notes(), cards=cards, totals=totals,
        )  # fmt: skip


def _measures(learnt: Learnt, card: Scorecard, totals: FloatArray, y: IntArray) -> Result:
    """What a score is worth on rows whose totals are given; y is -1/+1."""
    return {
        "accuracy": float(accuracy(y > 0, card.rule.positive(totals))),
        "auc": float(auc(y > 0, totals)),
        "terms": card.terms,
        "bins": len(conditions(card)),
        "proved": learnt.proved,
        "gap": learnt.gap,
    }


def _score(card: Scorecard, found: Result) -> Result:
    """What is said of a score of all rows."""
    return {
        "accuracy": found["accuracy"],
        "features": len(card.features),
        "terms": found["terms"],
        "columns": found["columns"],
        "bins": found["bins"],
        "top": int(np.max(card.points)),
        "separator": int(card.threshold),
        "proved": found["proved"],
    }
