"""The table of exact, relaxed and rounded programs: its order, its figures and its limits."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold

import milpscore
from milpscore import formulations, metrics, rounding
from milpscore.comparison import Comparison
from milpscore.comparison.answers import COLUMNS, KINDS
from milpscore.constraints import AtLeast
from milpscore.core.clock import Clock
from milpscore.core.errors import DataError, FormulationError, OptionError
from milpscore.core.result import Termination
from milpscore.data import Binner, make_design, make_planted_score
from milpscore.fitting import fit_card
from milpscore.solvers import solve

ALL = ("slim", "hinge", "convex_rounding", "sparse_rounding", "fused_lasso")


def planted(n: int = 60, p: int = 4, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    X, y, _ = make_planted_score(n, p, n_terms=2, max_points=3, noise=0.1, random_state=seed)
    return X, y


@pytest.fixture(scope="module")
def answer() -> Comparison:
    """All five formulations on binned data, with cross-validation."""
    X, y = planted()
    return milpscore.compare(
        X, y, binner=Binner(3, encoding="onehot"), formulations=ALL,
        arguments={"hinge": {"weights": "ternary"}},
        max_terms=3, lam=0.02, time_limit=300, cv=3, n_draws=50,
    )  # fmt: skip


@pytest.fixture(scope="module")
def table(answer: Comparison) -> pd.DataFrame:
    return answer.table


def test_one_row_a_program(answer: Comparison, table: pd.DataFrame) -> None:
    assert list(table.columns) == list(COLUMNS)
    assert list(zip(table["formulation"], table["kind"], strict=True)) == [
        (name, kind) for name in ALL for kind in KINDS
    ]
    assert table["verified"].all()
    assert set(table.loc[table["kind"] == "relaxed", "claim"]) == {"optimal"}
    assert set(answer.results) == {(name, kind) for name in ALL for kind in KINDS}


def in_order(table: pd.DataFrame) -> None:
    objective = table.pivot_table(index="formulation", columns="kind", values="objective")
    for rounded in ("randomised", "nearest"):
        assert (objective["exact"] <= objective[rounded] + 1e-9).all()
    assert (objective["relaxed"] <= objective["exact"] + 1e-9).all()


def test_a_latex_table(answer: Comparison, table: pd.DataFrame) -> None:
    first, top, head, middle, *lines, bottom, last, end = answer.to_latex().split("\n")
    assert (top, middle, bottom) == (r"\toprule", r"\midrule", r"\bottomrule")
    assert (last, end) == (r"\end{tabular}", "")
    assert len(lines) == len(table)
    count = head.count("&") + 1
    assert first == rf"\begin{{tabular}}{{{first.rpartition('{')[2][:-1]}}}"
    assert len(first.rpartition("{")[2]) - 1 == count
    for line, name in zip(lines, table["formulation"], strict=True):
        assert line.startswith(name.replace("_", r"\_") + " & ")
        assert line.endswith(r" \\")
        assert line.count("&") == count - 1


def test_relaxed_exact_rounded_in_order(table: pd.DataFrame) -> None:
    in_order(table)
    cards = table[table["kind"] != "relaxed"]
    assert (cards["bound"] <= cards["objective"]).all()
    assert (cards["integrity"] == 1).all()


def test_the_order_holds_without_time_for_a_proof() -> None:
    X, y = planted(150, 8, seed=3)
    options = {"node_limit": 0, "presolve": False}
    names = ["slim", "hinge"]
    found = milpscore.compare(
        X, y, formulations=names, time_limit=300, cv=None, max_terms=3, options=options
    )
    in_order(found.table)
    # HiGHS is not trusted to find what rounding found: the exact solve starts from it
    for name in names:
        assert found.results[name, "exact"].warm_start == "accepted"


def test_ternary_hinge_and_sparse_rounding_are_one_statement(table: pd.DataFrame) -> None:
    exact = table[table["kind"] == "exact"].set_index("formulation")
    hinge, sparse = exact.loc["hinge"], exact.loc["sparse_rounding"]
    assert hinge["claim"] == sparse["claim"] == "optimal"
    assert hinge["objective"] == pytest.approx(sparse["objective"])
    # the L1 ball of the doubled weights is the hull of the k-sparse ones: not a looser relaxation
    relaxed = table[table["kind"] == "relaxed"].set_index("formulation")["objective"]
    assert relaxed["sparse_rounding"] >= relaxed["hinge"] - 1e-9


def test_figures_recomputed_from_the_coefficients(answer: Comparison, table: pd.DataFrame) -> None:
    X, y = planted()
    design = Binner(3, encoding="onehot").fit_design(X, y)
    for (name, kind), result in answer.results.items():
        row = table[(table["formulation"] == name) & (table["kind"] == kind)].iloc[0]
        w, b = result.coefficients, result.intercept
        answered = design.X @ w + b >= -1e-9
        assert row["train_accuracy"] == pytest.approx(np.mean(answered == (y.to_numpy() == 1)))
        assert row["train_auc"] == pytest.approx(metrics.auc(y, design.X @ w))
        features = {c.feature for c, v in zip(design.columns, w, strict=True) if abs(v) > 1e-9}
        flat = {design.columns[b[0]].feature for b in design.blocks if np.ptp(w[list(b)]) <= 1e-9}
        assert row["terms"] == len(features - flat)
        assert row["magnitude"] == pytest.approx(np.abs(w).sum())
        if name == "slim" and kind != "relaxed":
            assert row["loss"] == pytest.approx(1 - row["train_accuracy"])
    exact = answer.results["slim", "exact"]
    relaxed = answer.results["slim", "relaxed"]
    row = table[(table["formulation"] == "slim") & (table["kind"] == "exact")].iloc[0]
    assert row["integrality_gap"] == pytest.approx(
        (exact.objective - relaxed.objective) / exact.objective
    )


def test_sizes_are_the_program_s(table: pd.DataFrame) -> None:
    X, y = planted()
    size = formulations.slim(Binner(3, encoding="onehot").fit_design(X, y), max_terms=3).size
    rows = table[table["formulation"] == "slim"].set_index("kind")
    assert rows.loc["exact", ["rows", "columns", "integers", "nonzeros"]].tolist() == [
        size.rows, size.columns, size.integers, size.nonzeros,
    ]  # fmt: skip
    assert rows.loc["relaxed", "integers"] == 0


def test_rounding_loss_beside_its_bounds(table: pd.DataFrame) -> None:
    rows = table.set_index(["formulation", "kind"])
    for name in ALL[1:]:
        lp_loss = rows.loc[(name, "relaxed"), "loss"]
        nearest, drawn = rows.loc[(name, "nearest")], rows.loc[(name, "randomised")]
        assert nearest["rounding_loss"] <= nearest["sure_bound"]
        assert lp_loss <= drawn["sharp_bound"] <= drawn["expected_bound"]
        assert drawn["rounding_loss"] >= lp_loss - 1e-9
        assert math.isnan(nearest["sharp_bound"])
        assert math.isnan(drawn["sure_bound"])
    assert rows.loc["slim", ["rounding_loss", "sure_bound", "sharp_bound"]].isna().all(axis=None)


def test_the_relaxation_s_row_is_that_of_solve() -> None:
    X, y = planted(seed=5)
    found = milpscore.compare(
        X, y, formulations=["hinge"], time_limit=300, cv=None, binner=None
    ).table
    alone = solve(formulations.hinge(X, y).relaxed())
    assert found.set_index("kind").loc["relaxed", "objective"] == pytest.approx(alone.objective)
    assert found["cv_accuracy"].isna().all()


def test_cross_validation_by_hand() -> None:
    X, y = planted(seed=2)
    values, signs = X.to_numpy(float), np.where(y.to_numpy() == 1, 1, -1)
    accuracies, areas = [], []
    folds = StratifiedKFold(3, shuffle=True, random_state=7)
    for train, test in folds.split(values, signs):
        program = formulations.convex_rounding(values[train], signs[train])
        relaxed = solve(program)
        card = rounding.nearest(program.statement, relaxed.coefficients, relaxed.intercept)
        totals = values[test] @ card.coefficients
        accuracies.append(np.mean((totals >= float(card.threshold)) == (signs[test] > 0)))
        areas.append(metrics.auc(signs[test], totals))
    found = milpscore.compare(
        X, y, formulations=["convex_rounding"], cv=3, random_state=7, time_limit=300, binner=None
    ).table.set_index("kind")
    assert found.loc["nearest", "cv_accuracy"] == pytest.approx(np.mean(accuracies))
    assert found.loc["nearest", "cv_auc"] == pytest.approx(np.mean(areas))


class Spy(Binner):
    """Remembers how many rows it was fitted on."""

    fitted: ClassVar[list[int]] = []

    def fit_design(self, X: Any, y: Any, **weights: Any) -> Any:
        self.fitted.append(len(X))
        return super().fit_design(X, y, **weights)


def test_the_binner_is_fitted_again_inside_every_fold() -> None:
    X, y = planted(30)
    Spy.fitted.clear()
    binner = Spy(2)
    milpscore.compare(X, y, binner=binner, formulations=["convex_rounding"], cv=3, time_limit=300)
    assert Spy.fitted == [30, 20, 20, 20]
    assert not hasattr(binner, "columns_")


def test_a_category_only_a_test_row_has_scores_nothing() -> None:
    X, y = planted(30)
    X = X.assign(colour=["red"] * 15 + ["blue"] * 14 + ["green"])
    found = milpscore.compare(
        X,
        y,
        binner=Binner(2, encoding="onehot"),
        formulations=["convex_rounding"],
        cv=3,
        time_limit=300,
    ).table
    assert found["cv_accuracy"].notna().all()


def test_what_cannot_be_stated_is_a_row_with_its_reason() -> None:
    X, y = planted(30)
    answer = milpscore.compare(X, y, formulations=["fused-lasso", "slim"], cv=None, time_limit=300)
    found = answer.table
    assert found.loc[0, ["formulation", "claim"]].tolist() == ["fused_lasso", "none"]
    assert "bin the data first" in found.loc[0, "message"]
    assert len(found) == 5
    assert ("fused_lasso", "exact") not in answer.results
    with pytest.raises(FormulationError, match="bin the data first"):
        milpscore.compare(X, y, formulations=["fused_lasso"], cv=None)


def test_a_column_that_vanishes_in_a_fold_is_reported() -> None:
    X, y = planted(30)
    X = X.assign(rare=[0.0] * 29 + [7.0])
    name = Binner(2, encoding="onehot").fit_design(X, y).names[-1]
    found = milpscore.compare(
        X,
        y,
        binner=Binner(2, encoding="onehot"),
        formulations=["hinge"],
        cv=3,
        time_limit=300,
        coef_max={name: 2},
    ).table
    assert found["cv_auc"].isna().all()
    assert found["message"].str.contains("not cross-validated").all()
    assert found["verified"].all()


def test_weights_count_as_repeated_rows() -> None:
    X, y = planted(40, 3)
    weight = np.arange(40) % 3
    twice = np.repeat(np.arange(40), weight)
    asked = {"formulations": ["slim", "hinge"], "cv": None, "time_limit": 300}
    one = milpscore.compare(X, y, sample_weight=weight, **asked).table
    two = milpscore.compare(X.iloc[twice], y.iloc[twice], **asked).table
    columns = ["objective", "loss", "train_accuracy", "train_auc"]
    exact = one["kind"].isin(["exact", "relaxed"])
    pd.testing.assert_frame_equal(one.loc[exact, columns], two.loc[exact, columns])


def test_the_same_seed_gives_the_same_table() -> None:
    X, y = planted(40, 3)
    one, two = (
        milpscore.compare(
            X, y, formulations=["slim", "hinge"], cv=2, time_limit=300, random_state=3, max_terms=2
        )
        for _ in range(2)
    )
    seconds = [c for c in COLUMNS if c.endswith("_seconds")]
    pd.testing.assert_frame_equal(one.table.drop(columns=seconds), two.table.drop(columns=seconds))


def test_a_design_is_taken_as_it_is() -> None:
    X, y = planted(30)
    design = make_design(X, y)
    found = milpscore.compare(design, formulations=["slim"], cv=2, time_limit=300).table
    assert found["cv_accuracy"].notna().all()
    with pytest.raises(DataError, match="binned already"):
        milpscore.compare(design, binner=Binner(encoding="onehot"))


def test_no_time_gives_verified_empty_cards() -> None:
    X, y = planted(30)
    found = milpscore.compare(X, y, cv=None, time_limit=0).table.set_index(["formulation", "kind"])
    for name in ("slim", "hinge"):
        assert found.loc[(name, "exact"), "claim"] == "feasible"
        assert found.loc[(name, "relaxed"), "claim"] == "none"
        assert "time limit" in found.loc[(name, "nearest"), "message"]


def test_the_seconds_are_those_of_the_whole_table(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hand:
        at = 0.0

    given = []

    def slow(*args: Any, **kwargs: Any) -> Any:
        given.append(kwargs["time_limit"])
        Hand.at += given[-1]  # it takes whatever it gets
        return solve(*args, **{**kwargs, "time_limit": 0})

    monkeypatch.setattr(Clock, "now", staticmethod(lambda: Hand.at))
    monkeypatch.setattr("milpscore.comparison._compare.solve", slow)
    X, y = planted(30)
    milpscore.compare(X, y, formulations=["slim", "hinge"], cv=2, time_limit=2, binner=None)
    assert len(given) == 12  # two formulations, three tables each, LP and card
    assert Hand.at == sum(given) <= 2 + 1e-9
    assert max(given) <= 1.2


def test_after_an_interrupt_the_rows_so_far_are_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        calls.append(kwargs["time_limit"])
        result = solve(*args, **kwargs)
        return replace(result, termination=Termination.INTERRUPTED) if len(calls) == 2 else result

    monkeypatch.setattr("milpscore.comparison._compare.solve", interrupted)
    X, y = planted(30)
    found = milpscore.compare(X, y, formulations=["slim", "hinge"], cv=3, time_limit=300).table
    assert len(calls) == 2
    assert found["formulation"].tolist() == ["slim"] * 4 + ["hinge"]
    assert found.loc[:3, "verified"].all()
    assert found.loc[:3, "message"].str.contains("not cross-validated: interrupted").all()
    assert found.loc[4, ["claim", "message"]].tolist() == ["none", "not run: interrupted"]


def test_the_lp_bound_counts_for_the_exact_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*args: Any, **kwargs: Any) -> Any:
        limit = 0 if kwargs["warm_start"] is not None else kwargs["time_limit"]
        return solve(*args, **{**kwargs, "time_limit": limit})

    monkeypatch.setattr("milpscore.comparison._compare.solve", stopped)
    X, y = planted()
    found = milpscore.compare(X, y, formulations=["hinge"], cv=None, binner=None).table
    found = found.set_index("kind")
    assert found.loc["exact", "bound"] == found.loc["relaxed", "bound"] > 0
    assert found.loc["exact", "claim"] == "gap"
    assert found.loc["exact", "bound_source"] == "evidence"


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"formulations": ["slimm"]}, FormulationError, "no formulation 'slimm'"),
        ({"formulations": []}, FormulationError, "at least one"),
        ({"coef_mim": 1}, FormulationError, "'coef_mim'"),
        ({"arguments": {"slim": {"margin": 2}}}, FormulationError, "slim has no argument 'margin'"),
        ({"arguments": {"fused_lasso": {}}}, FormulationError, "not among"),
        ({"cv": 1}, OptionError, "folds from 2"),
        ({"cv": 1000}, OptionError, "rarer class"),
        ({"time_limit": -1}, OptionError, "time_limit"),
        ({"options": {"gap": 0}, "cv": None}, OptionError, "mip_gap"),
        ({"options": {"random_state": 1}}, OptionError, "argument of its own"),
    ],
)
def test_bad_arguments_are_refused(
    arguments: dict[str, Any], error: type[Exception], match: str
) -> None:
    X, y = planted(30)
    with pytest.raises(error, match=match):
        milpscore.compare(X, y, **arguments)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_under_constraints_the_best_rounded_card_is_the_one_a_fit_returns(seed: int) -> None:
    X, y, _ = make_planted_score(60, 5, n_terms=3, max_points=3, noise=0.15, random_state=seed)
    rules = [AtLeast(2, ["x2", "x4", "x5"])]
    asked: dict[str, Any] = {"n_draws": 3, "constraints": rules, "random_state": 0}
    _, fitted = fit_card(make_design(X, y), "convex_rounding", progress=False, **asked)
    found = milpscore.compare(X, y, formulations=["convex_rounding"], cv=None, binner=None, **asked)
    results = found.results
    rounded = [results["convex_rounding", kind] for kind in ("randomised", "nearest")]
    assert fitted.origin == "repaired"
    best = min((r for r in rounded if r.verified), key=lambda r: r.objective)
    assert best.origin == "repaired"
    assert best.card == fitted.card
    assert results["convex_rounding", "exact"].objective <= best.objective + 1e-9


def test_more_roundings_become_rows() -> None:
    X, y = make_planted_score(80, 4, n_terms=2, noise=0.1, random_state=1)[:2]
    names = ["derandomised", "local-search", "golovin"]
    table = milpscore.compare(
        X, y, formulations=["hinge"], roundings=names, cv=None, coef_min=-1, coef_max=1
    ).table
    by_kind = table.set_index("kind")
    for name in names:
        row = by_kind.loc[name.replace("-", "_")]
        assert row["verified"]
        assert row["objective"] >= by_kind.loc["exact", "objective"] - 1e-9
        assert row["objective"] >= by_kind.loc["relaxed", "objective"] - 1e-9
    wide = milpscore.compare(
        X, y, formulations=["hinge"], roundings=["local_search"], cv=None
    ).table
    none = wide.set_index("kind").loc["local_search"]
    assert (none["claim"], pd.isna(none["terms"])) == ("none", True)
    assert none["message"].endswith("take coordinate_descent")
    with pytest.raises(OptionError, match="derandomised"):
        milpscore.compare(X, y, roundings=["sideways"])
    with pytest.raises(OptionError, match="local_search is given twice"):
        milpscore.compare(X, y, roundings=["local_search", "local-search"])
