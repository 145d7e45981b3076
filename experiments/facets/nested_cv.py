"""Nested cross-validation: parameters chosen on inner folds, accuracy measured on outer ones."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.facets.card_learners import default_learners
from experiments.facets.learners import Learner, LinearModel
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError
from milpscore.data.folds import Fold, binned_design, folds_of, stratified_splits

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class NestedCV:
    """Accuracies of learners on rows that had no part in any choice.

    Attributes
    ----------
    folds : DataFrame
        One row an outer fold and learner: fold, learner, integer, accuracy, train_accuracy,
        inner_accuracy (of the chosen parameters; missing where there was no choice), parameters,
        terms, whole, empty, seconds.
    summary : DataFrame
        One row a learner: mean and standard deviation (over the folds, n - 1) of the accuracy,
        median terms, how many models were whole and how many empty, seconds of all folds.
    best, best_integer : str
        The learner of the best mean accuracy, of all and of those whose models are all whole.
    """

    folds: pd.DataFrame
    summary: pd.DataFrame
    best: str
    best_integer: str


@dataclass(frozen=True, eq=False)
class Held:
    """Training rows, and the rows held out with them."""

    fold: Fold
    inner: tuple[Fold, ...]


def nested_cv(
    X: Any,
    y: Any = None,
    *,
    learners: Sequence[Learner] | None = None,
    binner: Any = None,
    outer: int = 10,
    inner: int = 5,
    time_budget: float = 600.0,
    random_state: int = 0,
) -> NestedCV:
    """Cross-validate learners, each choosing its parameters by cross-validation of its own.

    On the training rows of every outer fold each entry of a learner's grid is fitted to the inner
    folds; the entry of the best mean accuracy there (the first one among equals: grids begin with
    the simplest model) is fitted again to all training rows, and meets the test rows once.
    Binning is fitted afresh in every fold, inner ones included. All folds are stratified and
    shuffled; all learners see the same.

    Parameters
    ----------
    X : table of shape (n, q), or Design
    y : array of shape (n,); None with a Design
    learners : sequence of Learner, optional
        Default: :func:`default_learners`.
    binner : Binner, optional
        Unfitted.
    outer, inner : int
        Numbers of folds.
    time_budget : float
        Seconds for everything. What solvers take depends on what is left of a fold's share; fits
        that know no limit are not cut short.
    random_state : int

    Returns
    -------
    NestedCV

    Raises
    ------
    OptionError
        Two learners share a name, there are none, or too few rows for the folds.
    DataError
        The data cannot be used as given.
    """
    chosen = tuple(learners) if learners is not None else default_learners(random_state)
    _refuse_names(chosen)
    rows: list[dict[str, Any]] = []
    began = time.perf_counter()
    for k in range(outer):
        left = time_budget - (time.perf_counter() - began)
        held = held_out(X, y, binner, outer, inner, k, random_state)
        found = fold_rows(held, chosen, left / (outer - k))
        rows += [{"fold": k, **row} for row in found]
    return summarised(rows)


def held_out(
    X: Any, y: Any, binner: Any, outer: int, inner: int, fold: int, random_state: int
) -> Held:
    """An outer fold with the inner folds of its training rows.

    Parameters
    ----------
    X, y, binner, outer, inner, random_state :
        As for :func:`nested_cv`.
    fold : int

    Returns
    -------
    Held
    """
    design = binned_design(X, y, binner)
    splits = stratified_splits(design, outer, random_state)
    train, test = splits[fold]
    (part,) = folds_of(design, [(train, test)], X, binner)
    # inner folds cut the training rows of the unbinned table: they bin for themselves
    within = stratified_splits(replace(design, **_taken(design, train)), inner, random_state + 1)
    pairs = [(train[a], train[b]) for a, b in within]
    return Held(part, tuple(folds_of(design, pairs, X, binner)))


def _taken(design: Any, rows: Any) -> dict[str, Any]:
    return {"X": design.X[rows], "y": design.y[rows], "weight": design.weight[rows]}


def fold_rows(held: Held, learners: Sequence[Learner], seconds: float) -> list[dict[str, Any]]:
    """One row a learner, for one outer fold.

    Parameters
    ----------
    held : Held
    learners : sequence of Learner
    seconds : float
        Shared by the learners; each one's solver gets an equal part of what is left.

    Returns
    -------
    list of dict
    """
    rows = []
    until = time.perf_counter() + seconds
    for k, learner in enumerate(learners):
        began = time.perf_counter()
        scores = _inner_accuracies(learner, held.inner)
        order = np.argsort(-scores, kind="stable").tolist()
        left = max(0.0, until - time.perf_counter()) / (len(learners) - k)
        at, model = learner.refit(held.fold.train, order, left)
        train = held.fold.train
        rows.append(
            {
                "learner": learner.name,
                "integer": learner.integer,
                "accuracy": _accuracy(model, held.fold.X, held.fold.y, held.fold.weight),
                "train_accuracy": _accuracy(model, train.X, train.y, train.weight),
                "inner_accuracy": float(scores[at]) if len(learner.grid) > 1 else None,
                "parameters": {name: _plain(v) for name, v in learner.grid[at].items()},
                "terms": train.count_terms(model.coefficients),
                "whole": model.whole,
                "empty": model.empty,
                "seconds": round(time.perf_counter() - began, 3),
            }
        )
    return rows


def summarised(rows: Sequence[dict[str, Any]]) -> NestedCV:
    """The rows of all folds as tables."""
    import pandas as pd

    folds = pd.DataFrame(rows)
    grouped = folds.groupby("learner", sort=False)
    summary = pd.DataFrame(
        {
            "integer": grouped["integer"].first(),
            "accuracy": grouped["accuracy"].mean(),
            "stdev": grouped["accuracy"].std(),
            "terms": grouped["terms"].median(),
            "folds": grouped.size(),
            "whole": grouped["whole"].sum(),
            "empty": grouped["empty"].sum(),
            "seconds": grouped["seconds"].sum(),
        }
    ).reset_index()
    whole = summary[summary["whole"] == summary["folds"]]
    return NestedCV(folds, summary, _best(summary), _best(whole))


def _best(summary: pd.DataFrame) -> str:
    """The learner of the highest accuracy; empty where there is none."""
    if summary.empty:
        return ""
    return str(summary["learner"].iloc[int(summary["accuracy"].argmax())])


def _inner_accuracies(learner: Learner, folds: Sequence[Fold]) -> FloatArray:
    """Mean accuracy of each entry of the grid; nothing is fitted where there is one only."""
    if len(learner.grid) == 1:
        return np.zeros(1)
    each = [
        [_accuracy(model, fold.X, fold.y, fold.weight) for model in learner.fit_grid(fold.train)]
        for fold in folds
    ]
    # what differs by rounding alone is equal, so that the simplest one wins
    return np.asarray(np.mean(each, axis=0).round(12))


def _accuracy(model: LinearModel, X: FloatArray, y: IntArray, weight: FloatArray) -> float:
    right = model.answers(X) == (y > 0)
    return float(weight @ right / weight.sum())


def _plain(value: Any) -> Any:
    """A number or text as JSON can hold it."""
    return value.item() if isinstance(value, np.generic) else value


def _refuse_names(learners: Sequence[Learner]) -> None:
    names = [learner.name for learner in learners]
    if not names or len(set(names)) < len(names):
        raise OptionError(f"learners need names of their own, and at least one: got {names}")
