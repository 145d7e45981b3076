"""Scores of the form of DiaRem learnt from cohorts whose truth is known."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.means import means_of
from experiments.runner import Progress, Results, RunStore, finish_runs
from experiments.scores.fits import FusedLassoOptions
from experiments.scores.learning import by_total
from experiments.scores.recovery_runs import (
    DIAREM,
    GRID,
    RECOVERY_METHODS,
    fresh_cohort,
    recovery_run,
)
from milpscore.core.errors import OptionError

if TYPE_CHECKING:
    import pandas as pd

    from milpscore.scorecard import Scorecard

SIZES = (200, 1000, 5000, 20_000)
LAM = 0.002

_MEASURES = ("accuracy", "auc", "correlation", "recall", "precision", "bins")


@dataclass(frozen=True, eq=False)
class DiaremRecovery:
    """Scores learnt from cohorts of several sizes, beside the table the cohorts follow.

    Attributes
    ----------
    runs : DataFrame
        One row a repetition, size and method, with the measures of the summary, the share of
        DiaRem's answers that are given too (agreement), and whether every program was proved
        optimal (binarsity: whether its path reached its gaps).
    summary : DataFrame
        One row a size and method, and one for DiaRem itself: on fresh patients the accuracy, the
        AUC and the correlation with DiaRem's totals; recall and precision of the true cuts among
        those of the card; bins after merging.
    points : DataFrame
        One row a feature and bin of the grid: DiaRem's points, and a column a method with the means
        over the repetitions of the largest size, every card scaled to DiaRem's largest total, 22
        (NAME_stdev: standard deviation).
    cards : mapping of str to Scorecard
        Each method's card from the largest cohort of repetition 0, and "diarem".
    totals : mapping of str to DataFrame
        Fresh patients by total of these cards: total, negative (remission), positive.
    """

    runs: pd.DataFrame
    summary: pd.DataFrame
    points: pd.DataFrame
    cards: Mapping[str, Scorecard]
    totals: Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class _Recovery:
    """One repetition of one size a run."""

    sizes: tuple[int, ...]
    options: FusedLassoOptions
    random_state: int

    def settings(self) -> dict[str, Any]:
        return {**asdict(self), "grid": {name: list(cuts) for name, cuts in GRID.items()}}

    def place(self, run: int) -> tuple[int, int]:
        """Repetition and size of a run."""
        repetition, at = divmod(run, len(self.sizes))
        return repetition, self.sizes[at]

    def __call__(self, run: int) -> dict[str, Any]:
        repetition, size = self.place(run)
        return recovery_run(size, [self.random_state, repetition], self.options)


def diarem_recovery(
    runs: int = 10,
    *,
    out: str | os.PathLike[str] | None = None,
    sizes: Sequence[int] = SIZES,
    options: FusedLassoOptions | None = None,
    n_jobs: int = 1,
    random_state: int = 0,
    progress: Progress | None = None,
) -> DiaremRecovery:
    """Learn a score of DiaRem's form from cohorts that follow DiaRem.

    The slides learn one from patients whose data are not public. Here cohorts come from
    :func:`milpscore.data.make_diabetes_cohort`, and the bins may begin every five years of age, at
    every half per cent of HbA1c and at every count of other drugs up to 3: the true cuts are among
    them. The fused-lasso programs are those of :func:`score_learning`; "binarsity" is for
    comparison: the logistic loss with binarsity, lam chosen on a cohort of the same size, the
    coefficients scaled to a largest total of 22 and rounded, the separator set where the fewest
    training rows are wrong.

    Parameters
    ----------
    runs : int
        Repetitions, each with cohorts of its own.
    out : path-like, optional
        A file of finished runs; those it holds are not done again.
    sizes : sequence of int
        Patients, 20 at least.
    options : FusedLassoOptions, optional
        Of the programs; by default lam is 0.002.
    n_jobs : int
    random_state : int
    progress : callable, optional
        ``progress(done, total)`` in cohorts.

    Returns
    -------
    DiaremRecovery

    Raises
    ------
    OptionError
        A parameter lies outside its range, or ``out`` holds runs with other settings.
    DataError
        ``out`` cannot be read.

    References
    ----------
    Sokolovska, Chevaleyre & Zucker, score learning, "Prediction of the Diabetes Remission"; Still
    et al., Lancet Diabetes Endocrinol. 2 (2014).
    """
    ascending = tuple(sorted({int(size) for size in sizes}))
    if runs < 1 or not ascending or ascending[0] < 20:
        raise OptionError(f"runs={runs}, sizes={sizes}; use at least 1 and cohorts of 20 or more.")
    recovery = _Recovery(ascending, options or FusedLassoOptions(lam=LAM), random_state)
    store = RunStore(out, "diarem-recovery", recovery.settings())
    total = runs * len(ascending)
    finished = finish_runs(store, recovery, total, n_jobs=n_jobs, progress=progress)
    return _recovery(finished, recovery)


def _recovery(finished: Results, recovery: _Recovery) -> DiaremRecovery:
    import pandas as pd

    from milpscore.scorecard import Scorecard, diarem

    rows, points = [], []
    for run, result in finished.items():
        repetition, size = recovery.place(run)
        for method, found in result.items():
            own = {name: found[name] for name in (*_MEASURES, "agreement", "proved")}
            rows.append({"run": repetition, "size": size, "method": method, **own})
            if size == recovery.sizes[-1] and method != DIAREM:
                points.append({"run": repetition, "method": method, "points": found["scaled"]})
    runs = pd.DataFrame(rows)
    runs[list(_MEASURES)] = runs[list(_MEASURES)].astype(float)
    shown = finished[len(recovery.sizes) - 1]
    cards = {m: Scorecard.from_json(shown[m]["card"]) for m in RECOVERY_METHODS}
    cards[DIAREM] = diarem()
    X, y = fresh_cohort([recovery.random_state, 0])
    totals = {name: by_total(card.score(X), y) for name, card in cards.items()}
    summary = means_of(runs, ["size", "method"], _MEASURES)
    return DiaremRecovery(runs, summary, _points(points, shown[DIAREM], cards), cards, totals)


def _points(
    found: list[dict[str, Any]], truth: Mapping[str, Any], cards: Mapping[str, Scorecard]
) -> pd.DataFrame:
    """The scaled points of every bin of the grid."""
    import pandas as pd

    from milpscore.scorecard.rows import merged_bins

    some = cards[RECOVERY_METHODS[0]]
    # one bin at a time: nothing merges
    words = [merged_bins(some.columns, some.points, [j])[0] for j in range(len(some.columns))]
    table = pd.DataFrame(
        {
            "feature": [row.feature for row in words],
            "bin": [row.condition() for row in words],
            DIAREM: truth["scaled"],
        }
    )
    for method in RECOVERY_METHODS:
        values = np.array([each["points"] for each in found if each["method"] == method])
        table[method] = values.mean(axis=0)
        spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.full(len(table), np.nan)
        table[f"{method}_stdev"] = spread
    return table
