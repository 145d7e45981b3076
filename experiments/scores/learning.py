"""Score learning of the slides: fused-lasso scores by feature and jointly, and how they part."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.means import means_of
from experiments.runner import Progress, Results, RunStore, finish_runs
from experiments.scores.fits import SCORE_METHODS, FusedLassoOptions, Learnt, learn
from experiments.sets import BUNDLED, folder_of, named_set, sets_here
from milpscore.core.design import Design, FloatArray, IntArray
from milpscore.core.errors import OptionError
from milpscore.data import Binner
from milpscore.data.folds import Fold, binned_design, folds_of, stratified_splits
from milpscore.metrics import accuracy, auc
from milpscore.scorecard import Scorecard

if TYPE_CHECKING:
    import pandas as pd

SETS = ("mushroom", "breastcancer", BUNDLED)


@dataclass(frozen=True, eq=False)
class ScoreLearning:
    """Scores learnt on several sets.

    Attributes
    ----------
    runs : DataFrame
        One row a repetition, set, method and fold: accuracy and auc on the rows held out, terms,
        bins (after merging), proved, gap.
    summary : DataFrame
        One row a set and method: accuracy and auc over the folds.
    scores : DataFrame
        One row a set and method, of the score of all rows: accuracy on these same rows, features,
        terms, one-hot columns, bins of its features left after merging, the most points of a bin
        (top), the separator, and whether every program was proved optimal.
    points : DataFrame
        One row a set, method, feature and bin left after merging, of the scores of all rows: bin
        and points. Features without points are left out.
    cards : mapping of (set, method) to Scorecard
        The scores of all rows.
    totals : mapping of (set, method) to DataFrame
        Rows by total and class: total, negative, positive.
    notes : DataFrame
        Columns about and note: sets left out.
    """

    runs: pd.DataFrame
    summary: pd.DataFrame
    scores: pd.DataFrame
    points: pd.DataFrame
    cards: Mapping[tuple[str, str], Scorecard]
    totals: Mapping[tuple[str, str], pd.DataFrame]
    notes: pd.DataFrame


@dataclass(frozen=True)
class _Scores:
    """The scores of all rows of each set, then those of each fold; a run's number says which."""

    folder: str
    sets: tuple[str, ...]
    n_bins: int
    folds: int
    options: FusedLassoOptions
    random_state: int

    def settings(self) -> dict[str, Any]:
        """All but the folder: moving the data changes nothing."""
        return {name: value for name, value in asdict(self).items() if name != "folder"}

    def place(self, run: int) -> tuple[str, int, int | None]:
        """Set, repetition and fold of a run; no fold: all rows."""
        if run < len(self.sets):
            return self.sets[run], 0, None
        repetition, rest = divmod(run - len(self.sets), len(self.sets) * self.folds)
        at, fold = divmod(rest, self.folds)
        return self.sets[at], repetition, fold

    def total(self, runs: int) -> int:
        """All runs of so many repetitions."""
        return len(self.sets) * (1 + runs * self.folds)

    def __call__(self, run: int) -> dict[str, Any]:
        name, repetition, fold = self.place(run)
        X, y = named_set(self.folder, name)
        with warnings.catch_warnings():
            # a feature with one value in these rows gets no points, or one bin
            warnings.filterwarnings("ignore", "feature .* has fewer than two distinct values")
            binner = Binner(self.n_bins)
            design = binned_design(X, y, binner)
            if fold is None:
                return {
                    m: self._whole(learn(m, design, self.options), design) for m in SCORE_METHODS
                }
            splits = stratified_splits(design, self.folds, self.random_state + repetition)
            (part,) = folds_of(design, [splits[fold]], X, binner)
        return {m: _held_out(learn(m, part.train, self.options), part) for m in SCORE_METHODS}

    def _whole(self, learnt: Learnt, design: Design) -> dict[str, Any]:
        """The card as JSON, and how many rows of either class have which total."""
        card = Scorecard.from_card(learnt.card, design, title="Fused-lasso score")
        totals = card.score_design(design.X)
        return {
            **_measures(learnt, card, totals, design.y),
            "columns": design.shape[1],
            "card": card.to_json(),
            "totals": by_total(totals, design.y).to_dict("list"),
        }


def score_learning(
    runs: int = 1,
    *,
    out: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    sets: Sequence[str] = SETS,
    n_bins: int = 4,
    folds: int = 5,
    options: FusedLassoOptions | None = None,
    n_jobs: int = 1,
    random_state: int = 0,
    progress: Progress | None = None,
) -> ScoreLearning:
    """Repeat the score learning: points and bins at once, feature by feature and jointly.

    Each feature's values are bins where there are at most ten, else ``n_bins`` quantile bins;
    categories of text are bins in alphabetical order, which the fused lasso then takes for an order
    (the slides do not say how they treat the mushrooms). Points are whole and not negative, as
    printed. The slides sum the scores of all features and look for the best separator; the joint
    program has them in one objective.

    Parameters
    ----------
    runs : int
        Repetitions of the cross-validation, each with folds of its own.
    out : path-like, optional
        A file of finished runs; those it holds are not done again.
    data : path-like, optional
        The folder of the sets, NAME.csv with the label first; default: the variable
        ``MILPSCORE_DATA``. Sets that are not in it are left out, and the notes say so.
    sets : sequence of str
        "wdbc" is scikit-learn's breast cancer set, which is always there.
    n_bins, folds : int
    options : FusedLassoOptions, optional
    n_jobs : int
    random_state : int
    progress : callable, optional
        ``progress(done, total)`` in scores of all rows and of folds.

    Returns
    -------
    ScoreLearning

    Raises
    ------
    OptionError
        A parameter lies outside its range, or ``out`` holds runs with other settings.
    DataError
        A file cannot be read.

    References
    ----------
    Sokolovska, Chevaleyre & Zucker, score learning: eqs. 1-5, the algorithm, and "The obtained
    scores: Mushrooms and Breast Cancer Data Sets".
    """
    if runs < 1 or folds < 2:
        raise OptionError(f"runs={runs}, folds={folds}; use at least 1 and at least 2.")
    here, absent = sets_here(folder_of(data), sets)
    if not here:
        raise OptionError("none of the sets is there: see data= and MILPSCORE_DATA, or take 'wdbc'")
    scores = _Scores(
        folder_of(data), here, n_bins, folds, options or FusedLassoOptions(), random_state
    )
    store = RunStore(out, "score-learning", scores.settings())
    finished = finish_runs(store, scores, scores.total(runs), n_jobs=n_jobs, progress=progress)
    return _learning(finished, scores, absent)


def _measures(learnt: Learnt, card: Scorecard, totals: FloatArray, y: IntArray) -> dict[str, Any]:
    """What a score is worth on rows whose totals are given; y is -1/+1."""
    answers = card.rule.positive(totals)
    return {
        "accuracy": float(accuracy(y > 0, answers)),
        "auc": float(auc(y > 0, totals)),
        "terms": card.terms,
        "bins": len(conditions(card)),
        "proved": learnt.proved,
        "gap": learnt.gap,
    }


def _held_out(learnt: Learnt, part: Fold) -> dict[str, Any]:
    """The same on the rows held out."""
    card = Scorecard.from_card(learnt.card, part.train)
    return _measures(learnt, card, card.score_design(part.X), part.y)


def conditions(card: Scorecard) -> list[tuple[str, str, int]]:
    """(feature, condition, points) of every bin that is left after merging equal neighbours.

    Neighbouring categories merge as intervals do.
    """
    found = []
    for rows in card.rows:
        start = 0
        for at, row in enumerate(rows):
            last = at + 1 == len(rows)
            if last or row.kind != "category" or rows[at + 1].points != row.points:
                merged = rows[start : at + 1]
                names = ", ".join(each.category for each in merged)
                words = f"= {names}" if row.kind == "category" else row.condition()
                found.append((row.feature, words, row.points))
                start = at + 1
    return found


def _learning(finished: Results, scores: _Scores, absent: list[dict[str, str]]) -> ScoreLearning:
    import pandas as pd

    rows, whole, points = [], [], []
    cards, totals = {}, {}
    for run, result in finished.items():
        name, repetition, fold = scores.place(run)
        for method in SCORE_METHODS:
            found = dict(result[method])
            if fold is not None:
                rows.append(
                    {"run": repetition, "set": name, "method": method, "fold": fold, **found}
                )
                continue
            card = Scorecard.from_json(found["card"])
            cards[name, method] = card
            totals[name, method] = pd.DataFrame(found["totals"])
            whole.append({"set": name, "method": method, **_of_all_rows(card, found)})
            points += [
                {"set": name, "method": method, "feature": feature, "points": worth, "bin": words}
                for feature, words, worth in conditions(card)
            ]
    runs = pd.DataFrame(rows)
    summary = means_of(runs, ["set", "method"], ["accuracy", "auc"]).drop(columns="runs")
    return ScoreLearning(
        runs,
        summary,
        pd.DataFrame(whole),
        pd.DataFrame(points),
        cards,
        totals,
        pd.DataFrame(absent, columns=["about", "note"]),
    )


def _of_all_rows(card: Scorecard, found: Mapping[str, Any]) -> dict[str, Any]:
    """What the summary says of a score of all rows."""
    return {
        "accuracy": found["accuracy"],
        "features": len(card.features),
        "terms": found["terms"],
        "columns": found["columns"],
        "bins": found["bins"],
        "top": max(card.points),
        "separator": int(card.threshold),
        "proved": found["proved"],
    }


def by_total(totals: FloatArray, positive: IntArray) -> pd.DataFrame:
    """Rows of either class by total; columns total, negative, positive.

    Parameters
    ----------
    totals : ndarray of shape (n,)
        Whole numbers, not negative.
    positive : ndarray of shape (n,)
        1 for the positive class, else 0 or -1.
    """
    import pandas as pd

    whole = np.rint(totals).astype(np.int64)
    count = int(whole.max()) + 1
    sides = (np.bincount(whole[(positive == 1) == side], minlength=count) for side in (False, True))
    return pd.DataFrame(
        dict(zip(("total", "negative", "positive"), (np.arange(count), *sides), strict=True))
    )
