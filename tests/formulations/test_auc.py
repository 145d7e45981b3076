"""`auc`: 1 - AUC against enumeration, the buffered AUC, and the card for the rows themselves."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from sklearn.metrics import roc_auc_score

from milpscore.certificate import Certificate, certify, verify_certificate
from milpscore.comparison import compare
from milpscore.constraints import MaxErrors, MaxFPR, MaxGap, MinTPR, Sign, TotalRange
from milpscore.core.errors import DataError, FormulationError
from milpscore.core.result import Claim
from milpscore.data import Binner, PairDesign, make_design, make_pair_design
from milpscore.estimators import FormulationClassifier
from milpscore.formulations import auc
from milpscore.pools import group_gaps, pool
from milpscore.pools.redraws import CardsAgain
from milpscore.scorecard import Scorecard, certified_card
from milpscore.solvers import solve
from milpscore.verify import evaluate
from milpscore_check.report import check as check_file
from milpscore_check.values import Refused

REACH = 2
EVERY = list(product(range(-REACH, REACH + 1), repeat=3))
ASKED: dict[str, Any] = {"coef_min": -REACH, "coef_max": REACH}


def table(seed: int) -> tuple[pd.DataFrame, Any, Any]:
    """Rows with repeats and ties, labels and weights."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(16, 3))
    y = np.where(X[:, 0] - X[:, 1] + 1.0 * rng.normal(size=16) > 0, "yes", "no")
    y[:2] = "no", "yes"
    return pd.DataFrame(X, columns=["a", "b", "c"]), y, rng.integers(1, 4, size=16)


def area(X: pd.DataFrame, y: Any, weight: Any, w: Any) -> float:
    """The AUC, a tie counting half, as scikit-learn has it."""
    return float(roc_auc_score(y == "yes", X.to_numpy() @ np.array(w), sample_weight=weight))


def lacking(X: pd.DataFrame, y: Any, weight: Any, w: Any, margin: float = 1.0) -> float:
    """The mean of max(0, margin - w.(x_i - x_k)) / margin, pair by pair."""
    totals = X.to_numpy() @ np.array(w, dtype=float)
    sums = np.zeros(2)
    for i, k in product(np.flatnonzero(y == "yes"), np.flatnonzero(y == "no")):
        pair = float(weight[i] * weight[k])
        sums += pair, pair * max(0.0, margin - (totals[i] - totals[k])) / margin
    return float(sums[1] / sums[0])


@pytest.mark.parametrize("engine", ["tree", "highs"])
@pytest.mark.parametrize("seed", range(4))
def test_the_objective_is_one_minus_the_largest_auc(seed: int, engine: str) -> None:
    X, y, weight = table(seed)
    program = auc(X, y, sample_weight=weight, l0_penalty=0.01, max_terms=2, **ASKED)
    result = solve(program, engine, progress=False)
    costs = [
        1.0 - area(X, y, weight, w) + 0.01 * np.count_nonzero(w)
        for w in EVERY
        if np.count_nonzero(w) <= 2
    ]
    assert result.claim is Claim.OPTIMAL
    assert result.objective == pytest.approx(min(costs), abs=1e-9)
    assert result.card is not None
    assert result.loss == pytest.approx(1.0 - area(X, y, weight, result.card.coefficients))
    assert solve(program.relaxed(), "highs", progress=False).objective <= min(costs) + 1e-9


def test_class_weights_move_no_auc() -> None:
    X, y, weight = table(5)
    plain, balanced = (
        solve(auc(X, y, sample_weight=weight, class_weight=own, **ASKED), "tree", progress=False)
        for own in (None, "balanced")
    )
    assert plain.objective == pytest.approx(balanced.objective, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_hinge_is_the_mean_lack_of_the_margin_and_no_less_than_one_minus_the_auc(
    seed: int,
) -> None:
    X, y, weight = table(seed)
    given: dict[str, Any] = {"sample_weight": weight, "l0_penalty": 0.0, **ASKED}
    program = auc(X, y, loss="hinge", margin=2.0, **given)
    for w in EVERY:
        card = program.statement.with_best_intercept(np.array(w))
        assert evaluate(program.statement, card).loss == pytest.approx(
            lacking(X, y, weight, w, 2.0), abs=1e-12
        )
        assert lacking(X, y, weight, w, 2.0) >= 1.0 - area(X, y, weight, w) - 1e-12
    exact = solve(program, progress=False)
    assert exact.objective == pytest.approx(
        min(lacking(X, y, weight, w, 2.0) for w in EVERY), abs=1e-7
    )
    assert exact.objective >= solve(auc(X, y, **given), progress=False).objective - 1e-9
    buffered = solve(program.relaxed(), "highs", progress=False)
    w = buffered.coefficients
    assert buffered.objective <= exact.objective + 1e-7
    assert buffered.objective == pytest.approx(lacking(X, y, weight, w, 2.0), abs=1e-7)
    assert buffered.objective >= 1.0 - area(X, y, weight, w) - 1e-9


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_without_a_range_that_binds_the_relaxed_hinge_is_the_buffered_auc(seed: int) -> None:
    X, y, weight = table(seed)
    program = auc(
        X, y, loss="hinge", sample_weight=weight, coef_min=-50, coef_max=50, l0_penalty=0.0
    )
    found = solve(program.relaxed(), "highs", progress=False)
    assert np.abs(found.coefficients).max() < 50
    places = list(product(np.flatnonzero(y == "yes"), np.flatnonzero(y == "no")))
    apart = np.array([X.to_numpy()[i] - X.to_numpy()[k] for i, k in places])
    share = np.array([float(weight[i] * weight[k]) for i, k in places])
    share /= share.sum()

    def one_less_buffered(w: Any) -> float:
        # the buffered probability that a pair is out of order: min over a >= 0 of E (1 - a w.d)+,
        # which is piecewise linear in a
        totals = apart @ w
        kinks = np.append(0.0, 1.0 / totals[totals > 1e-9])
        return float((share @ np.maximum(0.0, 1.0 - kinks * totals[:, None])).min())

    assert found.objective == pytest.approx(one_less_buffered(found.coefficients), abs=1e-6)
    lp = linprog(  # the same by another solver, stated pair by pair
        np.r_[np.zeros(3), share],
        A_ub=np.hstack([-apart, -np.eye(len(places))]),
        b_ub=-np.ones(len(places)),
        bounds=[(None, None)] * 3 + [(0, None)] * len(places),
    )
    assert found.objective == pytest.approx(lp.fun, abs=1e-7)
    rng = np.random.default_rng(seed)
    for w in rng.normal(size=(20, 3)):
        assert one_less_buffered(w) >= found.objective - 1e-7


def test_real_weights_may_order_rows_as_no_whole_points_do() -> None:
    # two positive rows beside one of zeros: a total above 0 for both needs 1/2 < b / a < 2/3
    X, y = pd.DataFrame({"a": [2, -1, 0], "b": [-3, 2, 0]}), np.array(["yes", "yes", "no"])
    given: dict[str, Any] = {"coef_min": 0, "coef_max": 1, "l0_penalty": 0.0}
    buffered = auc(X, y, loss="hinge", margin=0.2, **given).relaxed()
    assert solve(buffered, "highs", progress=False).objective == pytest.approx(0.0, abs=1e-9)
    assert solve(auc(X, y, **given), progress=False).objective == 0.5


# ------------------------------------------------------------------ the card of the rows


def errors_at(X: pd.DataFrame, y: Any, weight: Any, w: Any, threshold: float) -> float:
    """The weight of the rows on which a card errs."""
    answered = X.to_numpy() @ np.array(w) >= threshold
    return float(weight[answered != (y == "yes")].sum())


@pytest.mark.parametrize("loss", ["zero_one", "hinge"])
def test_the_shown_card_errs_least_on_the_rows_of_all_thresholds(loss: Any) -> None:
    X, y, weight = table(1)
    program = auc(X, y, loss=loss, sample_weight=weight, **ASKED)
    result = solve(program, progress=False)
    assert result.card is not None
    assert result.card.threshold == 0
    card = certified_card(program.statement.design, result, statement=program.statement)
    w = result.card.coefficients
    least = min(errors_at(X, y, weight, w, T) for T in range(-20, 21))
    assert errors_at(X, y, weight, w, float(card.card.threshold)) == least
    assert card.points == tuple(w.tolist())
    assert card.certificate["n_rows"] == len(X)
    assert card.certificate["errors"] == int((card.predict(X) != y).sum())
    assert card.fingerprint == make_design(X, y, sample_weight=weight).fingerprint
    # the rows themselves are as good as their pairs, with or without the statement
    again = certified_card(make_design(X, y, sample_weight=weight), result)
    assert again.threshold == card.threshold
    assert "ranking loss" in str(card)


def test_the_decision_of_the_card_may_be_chosen() -> None:
    X, y, weight = table(2)
    program = auc(X, y, sample_weight=weight, **ASKED)
    result = solve(program, progress=False)
    design, statement = program.statement.design, program.statement
    card = certified_card(design, result, statement=statement, threshold_by="cost=50:1")
    assert (card.predict(X)[y == "yes"] == "yes").all()


def test_bins_stay_bins_and_terms_are_features() -> None:
    X, y, _ = table(3)
    design = Binner(thresholds={"a": [1, 2], "b": [1]}, encoding="onehot").fit_design(X, y)
    program = auc(design, max_terms=2)
    assert isinstance(program.statement.design, PairDesign)
    result = solve(program, progress=False)
    card = certified_card(program.statement.design, result, statement=program.statement)
    assert card.columns == design.columns
    assert isinstance(card, Scorecard)
    assert len(card.predict(X)) == len(X)
    assert result.loss == pytest.approx(1.0 - roc_auc_score(y == "yes", card.score(X)), abs=1e-9)


def test_rules_of_points_speak_of_the_rows() -> None:
    X, y, weight = table(0)
    rules = [TotalRange(0, 4), Sign("b", "+")]
    result = solve(
        auc(X, y, sample_weight=weight, constraints=rules, l0_penalty=0.0, **ASKED), progress=False
    )

    def fits(w: Any) -> bool:
        reach = [sum(f(0, v * top) for v, top in zip(w, X.max(), strict=True)) for f in (min, max)]
        return reach[0] >= 0 and reach[1] <= 4 and w[1] >= 0

    assert X.min().eq(0).all()
    best = min(1.0 - area(X, y, weight, w) for w in EVERY if fits(w))
    assert result.claim is Claim.OPTIMAL
    assert result.objective == pytest.approx(best, abs=1e-9)


def test_of_a_threshold_chosen_afterwards_nothing_is_said_to_be_proved() -> None:
    X, y, weight = table(2)
    program = auc(X, y, sample_weight=weight, **ASKED)
    given: dict[str, Any] = {"statement": program.statement, "threshold_by": "cost=50:1"}
    card = certified_card(program.statement.design, solve(program, progress=False), **given)
    assert "what is claimed and proved speaks of the points alone." in str(card)


def test_without_a_grid_the_claim_speaks_of_differences_of_totals() -> None:
    X, y, _ = table(2)
    caveat = auc(X, y, threshold_gap=0.5).statement.caveat
    assert caveat.startswith("among cards whose totals differ between the classes by 0.5 or more, ")


def test_gaps_between_groups_are_those_of_the_printed_cards() -> None:
    X, y, _ = table(1)
    X = X.assign(a=2 * X["a"] + 1, b=2 * X["b"] + 1, c=2 * X["c"] + 1)  # of whole differences of 2
    found = pool(auc(X, y, **ASKED), epsilon=1.0, progress=False)
    by = np.arange(16) % 2
    gaps = group_gaps(found, by)
    assert len(gaps) == len(found) > 2
    for card, selection in zip(found.cards, gaps["selection"], strict=True):
        totals = X.to_numpy() @ card.coefficients
        cuts = [totals >= T for T in np.unique([*totals, totals.max() + 1])]
        least = min((cut != (y == "yes")).sum() for cut in cuts)
        spreads = [
            abs(cut[by == 0].mean() - cut[by == 1].mean())
            for cut in cuts
            if (cut != (y == "yes")).sum() == least
        ]
        assert np.isclose(spreads, selection).any()


@pytest.mark.parametrize(
    "rule", [MaxErrors("a >= 1", 0), MaxFPR(0.2), MinTPR(0.8), MaxGap("fpr", "c", 0.1)], ids=str
)
def test_limits_on_errors_are_refused(rule: Any) -> None:
    X, y, _ = table(0)
    with pytest.raises(FormulationError, match="limits on errors need a threshold"):
        auc(X, y, constraints=[rule])


def test_bad_arguments_are_refused() -> None:
    X, y, weight = table(0)
    with pytest.raises(FormulationError, match="loss must be one of zero_one, hinge"):
        auc(X, y, loss="logistic")  # type: ignore[arg-type]
    with pytest.raises(FormulationError, match="margin must be a finite number > 0"):
        auc(X, y, loss="hinge", margin=0.0)
    with pytest.raises(FormulationError, match="margin is of the hinge loss: add loss='hinge'"):
        auc(X, y, margin=2.0)
    with pytest.raises(DataError, match="already holds classes and weights"):
        auc(make_pair_design(X, y), sample_weight=weight)


# ------------------------------------------------------------------ the rest of the package


def test_the_estimator_answers_with_the_threshold_of_the_rows() -> None:
    X, y, _ = table(1)
    model = FormulationClassifier(formulation="auc", binner=None, arguments=ASKED).fit(X, y)
    w = model.coef_[0]
    least = min(errors_at(X, y, np.ones(len(y)), w, T) for T in range(-20, 21))
    assert (model.predict(X) != y).sum() == least
    assert model.result_.loss == pytest.approx(1.0 - area(X, y, np.ones(len(y)), w))


def test_a_comparison_judges_the_card_on_the_rows() -> None:
    X, y, _ = table(1)
    found = compare(X, y, formulations=["auc"], binner=None, cv=None, roundings=(), progress=False)
    exact, relaxed = (found.table.set_index("kind").loc[kind] for kind in ("exact", "relaxed"))
    w = found.results["auc", "exact"].coefficients
    assert exact["train_auc"] == pytest.approx(area(X, y, np.ones(len(y)), w))
    least = min(errors_at(X, y, np.ones(len(y)), w, T) for T in range(-40, 41))
    assert exact["train_accuracy"] == pytest.approx(1.0 - least / len(y))
    assert np.isnan(relaxed["train_accuracy"])


def test_samples_are_of_rows_not_of_pairs() -> None:
    X, y, _ = table(1)
    again = CardsAgain.of(auc(X, y, **ASKED), random_state=0)
    sample = again.sample(np.random.default_rng(0))
    assert sample.rows.sum() == len(X)
    assert again.card(sample).certificate["n_rows"] == len(X)


def test_a_certificate_is_proved_from_the_table(tmp_path: Path) -> None:
    X, y, weight = table(1)
    program = auc(X, y, sample_weight=weight, max_terms=2, **ASKED)
    result = solve(program, progress=False)
    (tmp_path / "proof.json").write_text(certify(program, result, progress=False).to_text())
    proof = Certificate.from_json(tmp_path / "proof.json")
    assert proof.evidence["kind"] == "leaves"
    report = verify_certificate(proof, X, y, sample_weight=weight)
    assert {part.status for part in report.parts} == {"proved"}, str(report)
    other = verify_certificate(proof, X.assign(a=X["a"] + X["b"]), y, sample_weight=weight)
    assert "refuted" in {part.status for part in other.parts}
    X.assign(y=y).to_csv(tmp_path / "table.csv", index=False)
    with pytest.raises(Refused, match="it is of pairs of rows"):
        check_file(tmp_path / "table.csv", tmp_path / "proof.json", "y")
