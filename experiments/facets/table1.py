"""Table 1 of the Facets paper: accuracy by nested cross-validation, beside the printed figures."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import Lasso, RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from experiments.facets.grid import FacetsTable2, accuracies, scaled
from experiments.runner import Finding, Result, Results
from experiments.sets import OfSets, read_set
from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError, OptionError
from milpscore.estimators import (
    ConvexRoundingClassifier,
    PenalisedClassifier,
    RiskScoreClassifier,
    SlimClassifier,
)
from milpscore.formulations import slim
from milpscore.proximal import facets_grid
from milpscore.rounding import golovin

# Table 1 in its order, for the sets that are read here
PAPER_COLUMNS = ("convex_rounding", "golovin", "slim", "lasso", "ridge", "facets")
PAPER: dict[str, tuple[float, ...]] = {
    "adult": (0.75, 0.77, 0.82, 0.82, 0.82, 0.70),
    "bankruptcy": (0.98, 0.97, 0.99, 0.99, 0.99, 0.99),
    "breastcancer": (0.94, 0.95, 0.97, 0.97, 0.97, 0.97),
    "haberman": (0.75, 0.71, 0.71, 0.58, 0.63, 0.75),
    "mammo": (0.66, 0.60, 0.81, 0.80, 0.81, 0.80),
    "mushroom": (0.81, 0.99, 1.00, 1.00, 0.98, 0.92),
}
TERMS = (3, 5, 10)
_WHOLE = 1e-9
_ON_GRID = 1e-6  # where a fit of a real model counts as whole, as in Table 2


class FacetsTable1(OfSets, frozen=True, kw_only=True):
    """Accuracy of the paper's six learners and of a few more, in outer folds.

    "facets_print" are integral models of Table 2's grid, without intercept on standardised columns.
    The paper chooses parameters on a grid and does not say on which rows; here they are chosen on
    inner folds of the training rows, so that no test row has a part in any choice. Its heart and
    spambase sets are not read here. A run is one outer fold of one set; a repetition has folds of
    its own.

    Tables: ``summary`` (a row per set and learner: accuracy over all folds, the paper's, median
    terms, whole and empty models, seconds) and ``best`` (a row per set: the best learner of all,
    and of those whose models are all whole).

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker, "Learning interpretable models using soft integrity
    constraints" (2020), Table 1.
    """

    sets: tuple[str, ...] = (
        "bankruptcy", "haberman", "mammo", "breastcancer", "mushroom", "adult"
    )  # fmt: skip
    outer: int = 10
    inner: int = 3
    time_limit: float = 2.0
    """Seconds of each exact solve; what they cut off is not the same on every machine."""
    grid: tuple[int, int] = (16, 12)
    """Numbers of alphas and gammas of the Facets models."""
    learners: tuple[str, ...] = ()
    """Only these; all by default."""

    name = "facets-table1"
    repetitions = 1

    def total(self, repetitions: int) -> int:
        """A run a repetition, set and outer fold."""
        absent = [name for name in self.sets if name not in self.here]
        if absent:
            raise DataError(
                f"{self.folder!r} lacks {', '.join(f'{name}.csv' for name in absent)}: name the "
                "folder of the sets by data= or MILPSCORE_DATA, or name fewer sets"
            )
        unknown = set(self.learners) - set(every_learner(self, 0))
        if unknown:
            raise OptionError(f"no learner {', '.join(sorted(unknown))}")
        return repetitions * len(self.sets) * self.outer

    def place(self, run: int) -> tuple[int, str, int]:
        """Repetition, set and fold of a run."""
        repetition, rest = divmod(run, len(self.sets) * self.outer)
        k, fold = divmod(rest, self.outer)
        return repetition, self.sets[k], fold

    def __call__(self, run: int) -> Result:
        """Every learner on one outer fold."""
        repetition, name, fold = self.place(run)
        X, y = read_set(self.folder, name)
        seed = self.random_state + 1000 * repetition
        folds = StratifiedKFold(self.outer, shuffle=True, random_state=seed)
        split = list(folds.split(X, y))[fold]
        every = every_learner(self, seed)
        return {
            learner: _measured(every[learner], X, y, split) for learner in self.learners or every
        }

    def finding(self, results: Results) -> Finding:
        """Means over the folds."""
        rows = []
        for run, result in results.items():
            repetition, name, fold = self.place(run)
            about = {"run": repetition, "set": name, "fold": fold}
            rows += [{**about, "learner": learner, **row} for learner, row in result.items()]
        runs = pd.DataFrame(rows)
        grouped = runs.groupby(["set", "learner"], sort=False)
        summary = grouped.agg(
            accuracy=("accuracy", "mean"),
            accuracy_stdev=("accuracy", "std"),
            terms=("terms", "median"),
            folds=("fold", "size"),
            whole=("whole", "sum"),
            empty=("empty", "sum"),
            seconds=("seconds", "sum"),
        ).reset_index()
        printed = {
            (name, learner): value
            for name, values in PAPER.items()
            for learner, value in zip(PAPER_COLUMNS, values, strict=True)
        }
        printed |= {(name, "facets_print"): values[-1] for name, values in PAPER.items()}
        pairs = zip(summary["set"], summary["learner"], strict=True)
        summary.insert(4, "paper", [printed.get(pair, np.nan) for pair in pairs])
        best = [_best(name, part) for name, part in summary.groupby("set", sort=False)]
        return Finding(runs=runs, summary=summary, best=pd.DataFrame(best))


def every_learner(asked: FacetsTable1, random_state: int) -> dict[str, Any]:
    """The learners of Table 1, with a risk score, logistic regression and whole Facets models."""

    def searched(learner: Any, **grid: Any) -> GridSearchCV:
        folds = StratifiedKFold(asked.inner, shuffle=True, random_state=random_state + 1)
        return GridSearchCV(learner, grid, cv=folds, scoring="accuracy")

    def standardised(learner: Any) -> Pipeline:
        return Pipeline([("scale", StandardScaler()), ("model", learner)])

    limits = {"time_limit": asked.time_limit, "random_state": random_state, "binner": None}
    own: dict[str, Any] = {"inner": asked.inner, "grid": asked.grid, "random_state": random_state}
    return {
        "convex_rounding": ConvexRoundingClassifier(
            binner=None, random_state=random_state, time_limit=60.0
        ),
        "golovin": Golovin(random_state),
        "slim": searched(SlimClassifier(**limits), max_terms=TERMS),
        "risk_score": searched(
            RiskScoreClassifier(
                scale=1.0, heuristic=True, threshold_by="net-benefit=50%", **limits
            ),
            max_terms=TERMS,
        ),
        "lasso": searched(
            standardised(LassoClassifier()), model__alpha=np.geomspace(0.5, 1e-4, 12)
        ),
        "ridge": searched(standardised(RidgeClassifier()), model__alpha=np.geomspace(1e4, 0.1, 10)),
        "logistic": searched(
            standardised(PenalisedClassifier("l2")), model__lam=np.geomspace(1, 1e-4, 9)
        ),
        "facets": FacetsModel(**own),
        "facets_whole": FacetsModel(whole=True, **own),
        "facets_print": standardised(FacetsPrinted(inner=asked.inner, random_state=random_state)),
    }


class LassoClassifier(ClassifierMixin, Lasso):
    """Least squares on the classes -1 and 1 with an L1 penalty, as RidgeClassifier is with L2."""

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to labels 0 and 1."""
        super().fit(X, 2.0 * np.asarray(y) - 1.0)
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X: Any) -> Any:
        """0 or 1."""
        return (super().predict(X) >= 0).astype(int)


class _Linear(ClassifierMixin, BaseEstimator):
    """Answers 1 where w.x + b >= 0; whole coefficients are multiples of ``unit_``."""

    coef_: FloatArray
    intercept_: float
    unit_: float = 1.0

    def predict(self, X: Any) -> Any:
        """0 or 1."""
        return (np.asarray(X, dtype=float) @ self.coef_ + self.intercept_ >= -_WHOLE).astype(int)


class Golovin(_Linear):
    """Golovin's online learner, its threshold the best for the 0-1 loss."""

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Two passes over the rows."""
        statement = slim(np.asarray(X), y, coef_min=-5, coef_max=5).statement
        card = golovin(statement, n_passes=2, random_state=self.random_state).card
        assert card is not None  # nothing limits the terms
        self.coef_, self.intercept_ = card.coefficients.astype(float), float(card.intercept)
        self.classes_ = np.array([0, 1])
        return self


class FacetsModel(_Linear):
    """The model of a Facets grid with the best cross-validated accuracy; of whole ones if asked."""

    def __init__(
        self,
        *,
        whole: bool = False,
        inner: int = 3,
        grid: tuple[int, int] = (16, 12),
        tol: float = 1e-5,
        random_state: int = 0,
    ) -> None:
        self.whole = whole
        self.inner = inner
        self.grid = grid
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the grid to all rows and to the inner folds; ties go to the stronger penalty."""
        found = facets_grid(
            np.asarray(X, dtype=float), y, n_alpha=self.grid[0], n_gamma=self.grid[1],
            tol=self.tol, cv=self.inner, random_state=self.random_state,
        )  # fmt: skip
        score = found.heat_map("cv_accuracy")
        if self.whole:  # a null model is better than none
            score = np.where(found.heat_map("integral") > 0, score, -1.0 + found.heat_map("null"))
        row, column = np.argwhere(score >= score.max() - _WHOLE)[-1]
        self.coef_ = found.coefficients[row, column]
        self.intercept_, self.unit_ = float(found.intercepts[row, column]), found.gammas[column]
        self.classes_ = np.array([0, 1])
        return self


class FacetsPrinted(_Linear):
    """The print's model, of standardised columns, chosen where no test row has a part in it.

    The integral model of Table 2's grid, which has no intercept, with the best cross-validated
    accuracy; ties go to the larger alpha, then to the smaller beta. Null where none is integral.
    """

    def __init__(
        self, *, inner: int = 3, random_state: int = 0, protocol: FacetsTable2 | None = None
    ) -> None:
        self.inner = inner
        self.random_state = random_state
        self.protocol = protocol

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the grid to all rows, and its integral models to the inner folds."""
        asked = self.protocol or FacetsTable2(sets=())
        rows, labels = np.asarray(X, dtype=float), np.asarray(y)
        folds = StratifiedKFold(self.inner, shuffle=True, random_state=self.random_state + 1)
        splits = list(folds.split(rows, labels))
        best, betas = -1.0, np.array(asked.betas)
        self.coef_, self.intercept_, self.unit_ = np.zeros(rows.shape[1]), 0.0, 1.0
        for alpha in asked.alphas:
            every = asked.fitted(rows, labels, alpha, betas)
            whole = every.table["integral"].to_numpy()[::-1]
            if not whole.any():
                continue
            held = np.zeros(int(whole.sum()))
            for train, test in splits:
                part = asked.fitted(rows[train], labels[train], alpha, betas[whole])
                held += accuracies(part, scaled(rows[train], rows[test]), labels[test])
            if held.max() > best + _WHOLE:
                best, at = held.max(), len(betas) - 1 - np.flatnonzero(whole)[held.argmax()]
                self.coef_, self.unit_ = every.coefficients[0, at], every.gammas[at]
        self.classes_ = np.array([0, 1])
        return self


def _measured(learner: Any, X: pd.DataFrame, y: Any, split: Any) -> Result:
    """A learner on one outer fold."""
    found = cross_validate(learner, X, y, cv=[split], return_estimator=True, error_score="raise")
    (model,) = found["estimator"]
    model = getattr(model, "best_estimator_", model)
    model = model[-1] if isinstance(model, Pipeline) else model
    w = np.ravel(model.coef_)
    multiples = w / getattr(model, "unit_", 1.0)
    return {
        "accuracy": float(found["test_score"][0]),
        "terms": int(np.count_nonzero(w)),
        "whole": bool((np.abs(multiples - np.rint(multiples)) <= _ON_GRID).all()),
        "empty": not w.any(),
        "seconds": round(float(found["fit_time"][0]), 3),
    }


def _best(name: Any, summary: pd.DataFrame) -> dict[str, Any]:
    """Who is best on a set, of all and of those whose models are all whole."""
    row: dict[str, Any] = {"set": name}
    whole = summary[summary["whole"] == summary["folds"]]
    for key, part in (("best", summary), ("best_integer", whole)):
        accuracies = part.set_index("learner")["accuracy"]
        row[key] = accuracies.idxmax() if len(part) else ""
        row[f"{key}_accuracy"] = accuracies.max()
    return row
