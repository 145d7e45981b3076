"""Nested cross-validation: what is chosen where, and what the learners answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.facets.card_learners import ConvexRounding, RiskScore, Rounded, Slim
from experiments.facets.learners import Facets, LinearModel, lasso, logistic, ridge
from experiments.facets.nested_cv import nested_cv
from experiments.facets.table1 import facets_table1
from milpscore.core.errors import DataError, OptionError
from milpscore.data import Binner, make_design


def planted(seed: int = 0, n: int = 120) -> tuple[Any, Any]:
    """Four columns of 0..2; the label is a score of two of them, a tenth of the labels flipped."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(n, 4))
    y = (2 * X[:, 0] - X[:, 1] >= 1) ^ (rng.random(n) < 0.1)
    return X, y.astype(int)


LEARNERS = (
    ConvexRounding(),
    Rounded("golovin"),
    Rounded("rounded_logistic"),
    Rounded("rounded_lasso"),
    Rounded("rounded_ridge"),
    Slim(max_terms=(1, 2), time_limit=1.0),
    RiskScore(max_terms=(1, 2)),
    lasso(),
    ridge(),
    logistic(),
    Facets(n_alpha=8, n_gamma=5),
    Facets(whole=True, n_alpha=8, n_gamma=5),
)


def test_every_learner_is_measured_on_rows_it_never_saw() -> None:
    X, y = planted()
    found = nested_cv(X, y, learners=LEARNERS, outer=3, inner=2, time_budget=30)
    assert len(found.folds) == 3 * len(LEARNERS)
    summary = found.summary.set_index("learner")
    strong = ["slim", "risk_score", "logistic", "facets", "rounded_logistic"]
    assert (summary.loc[strong, "accuracy"] > 0.8).all()
    integer = summary[summary["integer"]]
    assert (integer["whole"] == 3).all()
    assert summary.loc[found.best, "accuracy"] == summary["accuracy"].max()
    assert summary.loc[found.best_integer, "accuracy"] == integer["accuracy"].max()
    each = found.folds[found.folds["learner"] == "slim"]
    assert summary.loc["slim", "stdev"] == pytest.approx(np.std(each["accuracy"], ddof=1))


def test_the_same_seed_gives_the_same_folds() -> None:
    X, y = planted()
    learners = [RiskScore(max_terms=(1, 2)), logistic()]
    runs = [
        nested_cv(X, y, learners=learners, outer=3, inner=2, random_state=seed).folds
        for seed in (1, 1, 2)
    ]
    columns = ["accuracy", "train_accuracy", "terms"]
    pd.testing.assert_frame_equal(runs[0][columns], runs[1][columns])
    assert not runs[0][columns].equals(runs[2][columns])


@dataclass
class Recorder:
    """A learner that notes the rows it is given; its second entry is right, the first wrong."""

    seen: list[Any] = field(default_factory=list)
    refitted: list[Any] = field(default_factory=list)
    name: str = "recorder"
    integer: bool = True
    grid: Sequence[Any] = ({"sign": -1}, {"sign": 1}, {"sign": 1, "also": "right"})

    def fit_grid(self, train: Any) -> list[LinearModel]:
        self.seen.append(train)
        return [LinearModel(each["sign"] * np.array([1.0, 0.0]), 0.0) for each in self.grid]

    def refit(self, train: Any, order: Sequence[int], seconds: float) -> tuple[int, LinearModel]:
        self.refitted.append(train)
        return order[0], self.fit_grid(train)[order[0]]


def test_parameters_are_chosen_on_inner_rows_alone() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.where(np.arange(60) < 30, -1, 1), np.arange(60)])
    X = X[rng.permutation(60)]
    y = (X[:, 0] > 0).astype(int)
    learner = Recorder()
    found = nested_cv(X, y, learners=[learner], outer=5, inner=3)
    assert found.folds["accuracy"].tolist() == [1.0] * 5
    # the first of two equals
    assert found.folds["parameters"].tolist() == [{"sign": 1}] * 5
    assert len(learner.refitted) == 5
    numbers = [set(train.X[:, 1].tolist()) for train in learner.refitted]
    for k, outer in enumerate(numbers):
        inner = learner.seen[4 * k : 4 * k + 3]
        assert all(set(train.X[:, 1].tolist()) < outer for train in inner)
        assert len(outer) == 48
    assert set.intersection(*numbers) == set()


def test_bins_come_from_the_training_rows_of_each_fold() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=90), "b": rng.normal(size=90)})
    y = (X["a"] > 0.3).astype(int).to_numpy()

    class Names(Recorder):
        def fit_grid(self, train: Any) -> list[LinearModel]:
            self.seen.append(train)
            return [LinearModel(np.zeros(train.shape[1]), 1.0) for _ in self.grid]

    learner = Names()
    nested_cv(X, y, learners=[learner], binner=Binner(4), outer=3, inner=2)
    cuts = {train.names for train in learner.seen}
    assert len(learner.seen) == 3 * (2 + 1)
    assert len(cuts) == len(learner.seen)


def test_facets_moves_thresholds_to_the_fewest_errors() -> None:
    X, y = planted(3)
    design = make_design(X, y)
    learner = Facets(n_alpha=6, n_gamma=3)
    models = learner.fit_grid(design)
    assert len(models) == len(learner.grid) == 2 * 18
    for own, moved in zip(models[:18], models[18:], strict=True):
        np.testing.assert_array_equal(own.coefficients, moved.coefficients)
        totals = X @ own.coefficients
        cuts = np.r_[np.unique(totals), totals.max() + 1]
        fewest = min(((totals >= cut - 1e-9) != (y > 0)).sum() for cut in cuts)
        assert (moved.answers(X) != (y > 0)).sum() == fewest


def test_time_that_is_used_up_leaves_the_heuristics(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("solved without time")

    monkeypatch.setattr("experiments.facets.card_learners.solve", refuse)
    X, y = planted()
    found = nested_cv(X, y, learners=[Slim(max_terms=(2,))], outer=2, inner=2, time_budget=0)
    assert (found.folds["accuracy"] > 0.7).all()


def test_names_must_differ() -> None:
    X, y = planted()
    with pytest.raises(OptionError, match="names of their own"):
        nested_cv(X, y, learners=[logistic(), logistic()])
    with pytest.raises(OptionError, match="names of their own"):
        nested_cv(X, y, learners=[])


def test_table1_is_resumed_and_stands_beside_the_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = planted(n=60)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.insert(0, "label", y)
    frame.to_csv(tmp_path / "haberman.csv", index=False)
    learners = (RiskScore(max_terms=(2,)), Facets(n_alpha=5, n_gamma=2))
    monkeypatch.setattr("experiments.facets.table1.default_learners", lambda random_state: learners)
    settings: dict[str, Any] = {"data": tmp_path, "sets": ["haberman"], "outer": 3, "inner": 2}
    calls: list[tuple[int, int]] = []
    for _ in range(2):
        found = facets_table1(
            out=tmp_path / "runs", progress=lambda *done: calls.append(done), **settings
        )
    assert calls == [(0, 3), (1, 3), (2, 3), (3, 3), (3, 3)]
    facets = found.summary.set_index("learner").loc["facets"]
    assert facets["paper"] == 0.75
    assert facets["folds"] == 3
    assert np.isnan(found.summary.set_index("learner").loc["risk_score", "paper"])
    assert found.best["best_integer"].tolist() == ["risk_score"]
    with pytest.raises(DataError, match="lacks adult"):
        facets_table1(data=tmp_path, sets=["adult"])
