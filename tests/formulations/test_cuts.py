"""Jumps between bins: bins, points and risks found together, in one program."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from experiments.scores.data import make_diabetes_cohort
from experiments.scores.diarem import diarem
from experiments.scores.recovery import GRID as DIAREM_GRID
from milpscore import solve
from milpscore.certificate import certify, verify_certificate
from milpscore.cli.app import app
from milpscore.constraints import Monotone, Range, Span, TotalRange
from milpscore.core.design import Column, Design, FloatArray, IntArray
from milpscore.core.errors import DataError, FormulationError
from milpscore.core.result import Claim, Result
from milpscore.data import Binner, in_steps, make_design
from milpscore.data.ordinal import by_boundaries
from milpscore.estimators import RiskScoreClassifier, SlimClassifier
from milpscore.fitting import fit_card
from milpscore.formulations import risk_score, slim
from milpscore.penalties import data_driven_weights
from milpscore.sampling import fit_sample
from milpscore.scorecard import Scorecard, certified_card, ordinal_card
from milpscore.solvers.trees.risk.hulls import Arrays
from milpscore.solvers.trees.risk.relaxation import IN, OUT, Node
from milpscore.verify import check as verify
from milpscore_check import check, proved
from milpscore_study import read_study, run_study

GRID = {"age": [30, 40], "bmi": [25]}
BINS = Binner(thresholds=GRID, encoding="onehot", useless="keep")
L0 = 1e-3


def cohort(seed: int, n: int = 24) -> tuple[pd.DataFrame, IntArray]:
    """Two numbers, a yes or no, and a label that leans on them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 50, n),
            "bmi": rng.integers(20, 30, n),
            "smoker": rng.choice(["no", "yes"], n),
        }
    )
    score = (X["age"] >= 40) * 2 + (X["bmi"] >= 25) - (X["smoker"] == "yes") + rng.normal(0, 1, n)
    y = (score > 0.7).to_numpy().astype(np.int64)
    y[:2] = 0, 1
    return X, y


def log_loss(totals: FloatArray, y: IntArray) -> FloatArray:
    """The least mean log loss of totals (n, V) over real intercepts, by bisection; (V,)."""
    low, high = np.full(totals.shape[1], -60.0), np.full(totals.shape[1], 60.0)
    for _ in range(60):
        b = (low + high) / 2
        rises = (1 / (1 + np.exp(-(totals + b))) - (y[:, None] > 0)).mean(axis=0) > 0
        low, high = np.where(rises, low, b), np.where(rises, b, high)
    return np.asarray(np.logaddexp(0, -y[:, None] * (totals + low)).mean(axis=0))


def errors(totals: FloatArray, y: IntArray) -> FloatArray:
    """The least share of errors over thresholds, a tie being positive; (V,)."""
    found = [((totals >= t) != (y[:, None] > 0)).mean(axis=0) for t in range(-20, 21)]
    return np.asarray(np.min(found, axis=0))


def best_by_bins(
    design: Design, penalty: str, lam: float, loss: Callable[..., FloatArray], fits: Any
) -> float:
    """The least objective over all whole points of the bins at most 2 apart, from the raw rows."""
    weights = np.ones(design.shape[1])
    if penalty == "binarsity":
        counts = [design.X[:, list(block)].sum(axis=0) for block in design.blocks]
        weights = data_driven_weights(counts, design.blocks)
    bins = [j for block in design.blocks for j in block[1:]]
    points = np.zeros((5 ** len(bins), design.shape[1]), dtype=np.int64)
    points[:, bins] = list(product(range(-2, 3), repeat=len(bins)))
    apart = [np.ptp(points[:, list(block)], axis=1) for block in design.blocks]
    pairs = [pair for block in design.blocks for pair in pairwise(block)]
    jumps = np.array([np.abs(points[:, a] - points[:, b]) for a, b in pairs]).T
    allowed = (np.max(apart, axis=0) <= 2) & fits(points, jumps > 0)
    points, jumps = points[allowed], jumps[allowed]
    charged = lam * jumps @ weights[[b for _, b in pairs]] + L0 * (jumps > 0).sum(axis=1)
    return float((loss(design.X @ points.T, design.y) + charged).min())


# jumps: two along age, then one along bmi and one of smokers
CASES: list[tuple[str, dict[str, Any], Any]] = [
    ("tv", {}, lambda w, cuts: True),
    ("tv", {"max_cuts": 1}, lambda w, cuts: cuts[:, :2].sum(axis=1) <= 1),
    ("binarsity", {"max_terms": 2}, lambda w, cuts: cuts.sum(axis=1) <= 2),
    (
        "tv",
        {"max_cuts": {"age": 1}, "constraints": [Monotone("age", "decreasing")]},
        lambda w, cuts: (cuts[:, :2].sum(axis=1) <= 1) & (np.diff(w[:, :3]) <= 0).all(axis=1),
    ),
]


@pytest.mark.parametrize("solver", ["tree", "outer_approximation"])
@pytest.mark.parametrize(("penalty", "limits", "fits"), CASES)
def test_a_risk_score_by_cuts_is_the_best_over_all_points_of_the_bins(
    penalty: Any, limits: dict[str, Any], fits: Any, solver: str
) -> None:
    for seed in (1, 2):
        design = BINS.fit_design(*cohort(seed))
        lam = 0.01 if penalty == "tv" else 0.05
        program = risk_score(
            design, penalty=penalty, lam=lam, coef_min=0, coef_max=2, l0_penalty=L0, scale=1.0,
            intercept="real", **limits,
        )  # fmt: skip
        found = solve(program, solver, time_limit=60, progress=False)
        assert found.claim is Claim.OPTIMAL
        wanted = best_by_bins(design, penalty, lam, log_loss, fits)
        assert found.objective == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("solver", ["tree", "highs"])
@pytest.mark.parametrize(("penalty", "limits", "fits"), CASES)
def test_the_fewest_errors_by_cuts_are_those_over_all_points_of_the_bins(
    penalty: Any, limits: dict[str, Any], fits: Any, solver: str
) -> None:
    for seed in (1, 2):
        design = BINS.fit_design(*cohort(seed))
        lam = 0.01 if penalty == "tv" else 0.05
        program = slim(
            design, penalty=penalty, lam=lam, coef_min=0, coef_max=2, l0_penalty=L0, **limits
        )
        found = solve(program, solver, time_limit=60, progress=False)
        assert found.claim is Claim.OPTIMAL
        wanted = best_by_bins(design, penalty, lam, errors, fits)
        assert found.objective == pytest.approx(wanted, abs=1e-9)


def test_bins_become_cuts_and_categories_stay() -> None:
    X = pd.DataFrame(
        {
            "age": [20.0, 35.0, 45.0, np.nan, 30.0],
            "smoker": ["no", "yes", "yes", "no", "no"],
            "ward": ["a", "b", "c", "c", "a"],
        }
    )
    bins = Binner(thresholds={"age": [30, 40]}, encoding="onehot", missing="bin", useless="keep")
    design = bins.fit_design(X, [0, 1, 1, 0, 1])
    steps = in_steps(design)
    assert steps.names == (
        "age >= 30", "age >= 40", "age missing", "smoker = yes", "ward = a", "ward = b", "ward = c",
    )  # fmt: skip
    np.testing.assert_array_equal(
        steps.X[:, :4], [[0, 0, 0, 0], [1, 0, 0, 1], [1, 1, 0, 1], [0, 0, 1, 0], [1, 0, 0, 0]]
    )
    assert steps.columns[3].others == ("no",)
    assert steps.blocks == ()
    assert in_steps(steps) is steps


def test_what_has_no_cuts_is_refused_by_name() -> None:
    X, y = cohort(1)
    design = BINS.fit_design(X, y)
    with pytest.raises(FormulationError, match="max_cuts counts columns 'feature >= cut'"):
        slim(design, max_cuts=1)
    with pytest.raises(FormulationError, match="no feature 'weight'"):
        slim(design, penalty="tv", max_cuts={"weight": 1})
    with pytest.raises(FormulationError, match="one whole number each"):
        risk_score(design, penalty="tv", coef_max={"smoker = yes": 3})
    with pytest.raises(FormulationError, match="needs a penalty: tv, binarsity"):
        slim(design, lam=0.1)
    raw = make_design(X[["age", "bmi"]], y)
    with pytest.raises(FormulationError, match="'age', 'bmi' count by the unit"):
        risk_score(raw, penalty="binarsity", lam=0.1)
    with pytest.raises(FormulationError, match="age counts by the unit and has no bins"):
        slim(raw, constraints=[Span(2, "age")])
    columns = tuple(Column(name, name) for name in ("a", "b"))
    odd = Design(np.eye(2), np.array([-1, 1]), np.ones(2), columns, ((0, 1),))
    with pytest.raises(DataError, match="'a', 'b': a block of bins holds intervals"):
        in_steps(odd)


def test_rules_speak_of_cuts() -> None:
    X, y = cohort(2, 60)
    design = BINS.fit_design(X, y)
    rules = [Range("age >= 40", 1, 1), Monotone("age")]
    program = risk_score(design, penalty="tv", lam=1e-3, coef_max=3, constraints=rules, scale=1.0)
    card = solve(program, time_limit=60, progress=False).card
    assert card is not None
    points = dict(zip(program.statement.design.names, card.coefficients.tolist(), strict=True))
    assert points["age >= 40"] == 1
    assert points["age >= 30"] >= 0


def test_a_node_drops_only_points_that_the_others_leave_no_room() -> None:
    rng, dropped, closed = np.random.default_rng(0), 0, 0
    X, y = cohort(5)
    design = BINS.fit_design(X, y)
    for rule in (Span(2, ["age", "bmi"]), TotalRange(-1, 3)):
        program = risk_score(
            in_steps(design), coef_min=-2, coef_max=2, constraints=[rule], max_terms=3
        )
        arrays = Arrays(program.statement)
        cards = np.array(list(product(range(-2, 3), repeat=arrays.p)))
        allowed = program.statement.allows(cards) & ((cards != 0).sum(axis=1) <= 3)
        for _ in range(60):
            node = Node.root(arrays)
            ends = np.sort(rng.integers(0, 5, (2, arrays.p)), axis=0)
            decided = (ends[0] > 2) | (ends[1] < 2)
            node.lo, node.hi, node.status[decided] = ends[0], ends[1], IN
            before = arrays.points[0, [node.lo, node.hi]]
            inside = allowed & ((cards >= before[0]) & (cards <= before[1])).all(axis=1)
            stays = node.narrow(arrays)
            closed += not stays
            low, high = arrays.points[0, [node.lo, node.hi]]
            dropped += stays and bool((low > before[0]).any() or (high < before[1]).any())
            held = inside & ((cards >= low) & (cards <= high)).all(axis=1)
            held &= ~(cards[:, node.status == OUT] != 0).any(axis=1)
            assert (held.sum() if stays else 0) == inside.sum()
    assert min(dropped, closed) > 5
    program = risk_score(design, penalty="tv", coef_min=0, coef_max=3)
    arrays = Arrays(program.statement)
    node = Node.root(arrays)
    node.lo[0], node.status[0] = arrays.zero[0] + 2, IN  # "age >= 30" has two points or three
    assert node.narrow(arrays)
    assert arrays.points[1, node.hi[1]] == 1  # and "age >= 40" one more at most


@pytest.mark.parametrize("build", [risk_score, slim])
@pytest.mark.parametrize("penalty", ["tv", "binarsity"])
def test_a_card_by_cuts_is_proved_from_the_file(build: Any, penalty: str, tmp_path: Path) -> None:
    X, y = cohort(3, 80)
    lam = 0.003 if penalty == "tv" else 0.02
    program = build(BINS.fit_design(X, y), penalty=penalty, lam=lam, coef_min=0, coef_max=4)
    result = solve(program, time_limit=60, progress=False)
    assert result.claim is Claim.OPTIMAL
    made = certify(program, result, source={"target": "y"})
    assert verify_certificate(made, X, y).proved
    assert verify_certificate(made, BINS.fit_design(X, y)).proved
    X.assign(y=y).to_csv(tmp_path / "cohort.csv", index=False)
    made.to_json(tmp_path / "card.json")
    assert proved(check(tmp_path / "cohort.csv", tmp_path / "card.json"))
    # a jump that costs less than stated is found out
    content = json.loads((tmp_path / "card.json").read_text())
    cards = content["cards"]
    key = "prices" if penalty == "binarsity" else "points"
    assert ("prices" in cards) == (penalty == "binarsity")
    cards[key] = ["0"] * len(cards[key])
    (tmp_path / "card.json").write_text(json.dumps(content))
    parts = check(tmp_path / "cohort.csv", tmp_path / "card.json")
    assert ("objective", "refuted") in [part[:2] for part in parts]


@pytest.mark.parametrize("made", [RiskScoreClassifier, SlimClassifier])
def test_classifiers_take_bins_and_cuts_alike(made: Any) -> None:
    X, y = cohort(4, 60)
    limits = {"penalty": "tv", "lam": 0.003, "coef_min": 0, "coef_max": 3, "max_cuts": 1}
    answers = []
    for encoding in ("onehot", "cumulative"):
        binner = Binner(thresholds=GRID, encoding=encoding)
        model = made(binner=binner, max_terms=None, time_limit=60, **limits).fit(X, y)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert list(model.get_feature_names_out()) == list(model.program_.statement.design.names)
        assert len(model.coef_[0]) == len(model.get_feature_names_out())
        assert model.certificate().claim == "optimal"
        answers.append(model)
    assert answers[0].result_.objective == pytest.approx(answers[1].result_.objective, abs=1e-6)
    assert [column.name for column in answers[0].scorecard_.columns] == [
        "age >= 30", "age >= 40", "bmi >= 25", "smoker = yes",
    ]  # fmt: skip


def test_the_command_line_penalises_jumps(tmp_path: Path) -> None:
    X, y = cohort(3, 80)
    X.assign(ill=y).to_csv(tmp_path / "cohort.csv", index=False)
    (tmp_path / "cuts.csv").write_text("feature,threshold\nage,30\nage,40\nbmi,25\n")
    told = [
        "fit", str(tmp_path / "cohort.csv"), "--target", "ill", "--thresholds",
        str(tmp_path / "cuts.csv"), "--encoding", "onehot", "--penalty", "tv", "--lam", "0.003",
        "--max-cuts", "1", "--coef-min", "0", "--coef-max", "3", "--quiet", "--out",
        str(tmp_path / "card.json"),
    ]  # fmt: skip
    found = CliRunner().invoke(app, told)
    assert found.exit_code == 0, found.output
    assert "age      | < 40  |      0\n         | ≥ 40  |      " in found.stdout
    card = Scorecard.load(tmp_path / "card.json")
    assert card.in_full
    assert "age      | < 40  |      0\n" in str(card)


STUDY = """
[folds]
number = 2
[limits]
time_limit = 60
[[data]]
csv = "cohort.csv"
target = "ill"
thresholds = {age = [30, 40], bmi = [25]}
encoding = "onehot"
[[models]]
estimator = "risk_score"
kind = "exact"
arguments = {penalty = "tv", lam = 0.003, coef_min = 0, coef_max = 3, scale = 1.0}
"""


def test_studies_and_samples_take_bins(tmp_path: Path) -> None:
    X, y = cohort(4, 400)
    X.assign(ill=y).to_csv(tmp_path / "cohort.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY)
    run_study(tmp_path / "study.toml", tmp_path / "out.sqlite")
    found = read_study(tmp_path / "out.sqlite").table()
    assert found["claim"].tolist() == ["optimal"] * 2
    assert (found["test_auc"] > 0.5).all()  # on rows in the columns of the bins
    limits: dict[str, Any] = {"penalty": "tv", "lam": 0.003, "coef_min": 0, "coef_max": 3}
    drawn = fit_sample(
        str(tmp_path / "cohort.csv"), "ill", "slim", rows=200, time_limit=60, progress=False,
        reading={"binner": BINS, "progress": False}, **limits,
    )  # fmt: skip
    assert drawn.result.claim is Claim.OPTIMAL
    assert drawn.design.blocks == ()
    with pytest.raises(FormulationError, match="weighs cuts by the rows above them"):
        fit_sample(str(tmp_path / "cohort.csv"), "ill", **{**limits, "penalty": "binarsity"})


def recovered(n: int, slope: float, **asked: Any) -> tuple[Scorecard, Result, float]:
    """The card learnt from noisy patients who follow DiaRem, and DiaRem's own objective."""
    X, y, _ = make_diabetes_cohort(n, slope=slope, random_state=1)
    design = Binner(thresholds=DIAREM_GRID, encoding="onehot").fit_design(X, y)
    program, result = fit_card(
        design, penalty="tv", coef_min=0, coef_max=10, max_terms=None, time_limit=600,
        constraints=[Monotone(["age", "hba1c", "other_drugs"])], progress=False, **asked,
    )  # fmt: skip
    statement = program.statement
    points = np.array([DIAREM.get(name, 0) for name in statement.design.names])
    true = statement.with_best_intercept(points)
    card = certified_card(statement.design, result, statement=statement)
    return card, result, verify(program, true).objective


DIAREM = {
    "age >= 40": 1, "age >= 50": 1, "age >= 60": 1, "hba1c >= 6.5": 2, "hba1c >= 7": 2,
    "hba1c >= 9": 2, "insulin = yes": 10, "other_drugs >= 1": 3,
}  # fmt: skip
PRICE = math.log(3000) / 6000
"""Schwarz's of a cut."""


@pytest.mark.slow
def test_three_thousand_patients_give_diarem_itself_where_a_point_says_much() -> None:
    # a point moves the log-odds by 1: DiaRem errs on one patient in ten
    card, result, own = recovered(
        3000, 1.0, lam=1e-6, l0_penalty=PRICE, options={"node_limit": 1000}
    )
    assert result.claim is Claim.OPTIMAL
    assert result.objective == pytest.approx(own, abs=1e-9)
    assert str(card).split("\n\n")[1].split("\n") == DIAREM_TABLE


@pytest.mark.slow
def test_three_thousand_patients_whose_groups_are_known_give_points_and_thresholds() -> None:
    X, _, truth = make_diabetes_cohort(3000, random_state=1)
    level = np.digitize(truth.total, [3, 8, 13, 18])
    base = Binner(thresholds=DIAREM_GRID, encoding="cumulative").fit_design(X, level > 0)
    program, result = fit_card(
        by_boundaries(base, level, range(5)), "ordinal", coef_min=0, coef_max=10, max_terms=None,
        l0_penalty=1e-4, time_limit=600, options={"node_limit": 1000}, progress=False,
    )  # fmt: skip
    assert result.claim is Claim.OPTIMAL
    found = ordinal_card(program, result)
    assert {name: v for name, v in found.card.coefficients.items() if v} == DIAREM
    assert list(map(int, found.thresholds)) == [3, 8, 13, 18]


@pytest.mark.slow
def test_three_thousand_noisier_patients_have_a_better_card_than_diarem() -> None:
    # at log-odds of 0.3 a point, its standard error is half a point: no search finds it again
    card, result, own = recovered(3000, 0.3, lam=1e-6, l0_penalty=PRICE, options={"node_limit": 1})
    assert result.objective < own - 1e-3
    fresh, _, _ = make_diabetes_cohort(5000, random_state=2)
    assert np.corrcoef(card.score(fresh), diarem().score(fresh))[0, 1] > 0.98


@pytest.mark.slow
def test_twenty_thousand_patients_give_diarem_itself() -> None:
    card, result, own = recovered(20_000, 0.3, lam=3e-5, options={"node_limit": 1000})
    assert result.claim is Claim.OPTIMAL
    assert result.objective == pytest.approx(own, abs=1e-9)
    fresh, _, _ = make_diabetes_cohort(5000, random_state=2)
    assert str(card).split("\n\n")[1].split("\n") == DIAREM_TABLE
    np.testing.assert_array_equal(card.score(fresh), diarem().score(fresh))


DIAREM_TABLE = [
    "Variable    | Value      | Points",
    "------------+------------+-------",
    "age         | < 40       |      0",
    "            | 40 to < 50 |      1",
    "            | 50 to < 60 |      2",
    "            | ≥ 60       |      3",
    "------------+------------+-------",
    "hba1c       | < 6.5      |      0",
    "            | 6.5 to < 7 |      2",
    "            | 7 to < 9   |      4",
    "            | ≥ 9        |      6",
    "------------+------------+-------",
    "insulin     | = no       |      0",
    "            | = yes      |     10",
    "------------+------------+-------",
    "other_drugs | < 1        |      0",
    "            | ≥ 1        |      3",
]
