"""The estimators: what they optimise, how they answer, and what they work together with."""

from __future__ import annotations

import inspect
import itertools
import pickle
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from milpscore.certificate import verify_certificate
from milpscore.core.errors import (
    DataError,
    FormulationError,
    NotApplicableError,
    OptionError,
    SolverError,
)
from milpscore.core.result import Claim
from milpscore.data import (
    Binner,
    apply_columns,
    make_design,
    make_ordinal_design,
    make_planted_score,
)
from milpscore.estimators import (
    ESTIMATORS,
    CardClassifier,
    ConvexRoundingClassifier,
    FusedLassoClassifier,
    HingeClassifier,
    OneStandardErrorCV,
    RiskScoreClassifier,
    SlimClassifier,
    SparseRoundingClassifier,
)
from milpscore.fitting import fit_card
from milpscore.formulations import FORMULATIONS
from milpscore.scorecard import Scorecard, certified_card
from milpscore.solvers import solve
from milpscore.verify import cards as verify

RAW = {name: {} if name == "fused_lasso" else {"binner": None} for name in ESTIMATORS}
ALL = [ESTIMATORS[name](**RAW[name]) for name in sorted(ESTIMATORS)]
EXACT = {"slim", "hinge", "facets_hinge", "fused_lasso", "ordinal", "risk_score"}
SHARED = {
    "binner", "solver", "threshold_by", "time_limit", "threads", "random_state", "verbose"
}  # fmt: skip
ONLY_EXACT = {
    "use_start", "mip_gap", "mip_gap_abs", "node_limit", "heuristic", "polish", "client",
    "memory_limit",
}  # fmt: skip
ONLY_RELAXED = {"n_draws"}

each = pytest.mark.parametrize("estimator", ALL, ids=lambda e: e.formulation)


@pytest.fixture(scope="module")
def planted() -> tuple[pd.DataFrame, pd.Series[Any]]:
    X, y, _ = make_planted_score(60, 4, n_terms=2, max_points=3, noise=0.1, random_state=3)
    return X, y


def fitted(estimator: Any, data: tuple[Any, Any], **fit_arguments: Any) -> Any:
    return clone(estimator).fit(*data, **fit_arguments)


# ------------------------------------------------------------------ parameters


def test_every_formulation_has_an_estimator() -> None:
    assert {*ESTIMATORS, "auc"} == set(FORMULATIONS)  # for that one FormulationClassifier is enough
    assert all(ESTIMATORS[name].formulation == name for name in ESTIMATORS)
    assert ESTIMATORS["fused-lasso"] is FusedLassoClassifier
    with pytest.raises(FormulationError, match="no estimator for 'sparse'"):
        ESTIMATORS["sparse"]


@each
def test_parameters_are_the_builders_own(estimator: CardClassifier) -> None:
    stated = inspect.signature(FORMULATIONS[estimator.formulation]).parameters
    wanted = set(stated) - {"X", "y", "sample_weight", "positive"}
    if estimator.formulation == "ordinal":
        wanted |= {"levels", "cost"}  # those of make_ordinal_design
        stated = {**inspect.signature(make_ordinal_design).parameters, **stated}
    exact = estimator.formulation in EXACT
    given = estimator.get_params(deep=False)
    assert set(given) == wanted | SHARED | (ONLY_EXACT if exact else ONLY_RELAXED)
    differing = {name for name in wanted if given[name] != stated[name].default}
    # a card that is fitted for a person has a few terms; a builder sets no limit of its own
    assert differing == {"max_terms"} & wanted


# ------------------------------------------------------------------ what is optimised


def test_slim_finds_the_best_of_all_cards() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (12, 2)).astype(float)
    y = rng.integers(0, 2, 12)
    y[:2] = 0, 1
    card = SlimClassifier(coef_min=-2, coef_max=2, l0_penalty=0.01).fit(X, y)
    best = min(
        np.mean((X @ w >= threshold) != y) + 0.01 * np.count_nonzero(w)
        for w in itertools.product(range(-2, 3), repeat=2)
        for threshold in range(-9, 10)
    )
    assert card.result_.objective == pytest.approx(best, abs=1e-12)
    assert str(card.result_.claim) == "optimal"


@each
def test_fit_answers_as_the_program_does(estimator: CardClassifier, planted: Any) -> None:
    model = fitted(estimator, planted)
    if estimator.formulation not in EXACT:
        assert model.result_.dual_bound <= model.result_.objective + 1e-9
        return
    binner = Binner(encoding="onehot") if estimator.binner == "auto" else Binner.raw()
    result = solve(FORMULATIONS[estimator.formulation](binner.fit_design(*planted)))
    if estimator.formulation == "risk_score":  # without a proof the start can be the better card
        assert model.result_.objective <= result.objective + 1e-9
        return
    assert str(model.result_.claim) == str(result.claim) == "optimal"
    assert model.result_.objective == pytest.approx(result.objective, abs=1e-9)


@each
def test_sample_weights_count_rows(estimator: CardClassifier, planted: Any) -> None:
    X, y = planted
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    weighted = fitted(estimator, planted, sample_weight=weight)
    repeated = fitted(estimator, (X.iloc[rows], y.iloc[rows]))
    assert weighted.result_.objective == pytest.approx(repeated.result_.objective, abs=1e-12)
    assert weighted.scorecard_.points == repeated.scorecard_.points
    # a real intercept is found by Newton's method, on rows summed in another order
    assert float(weighted.scorecard_.threshold) == pytest.approx(
        float(repeated.scorecard_.threshold), rel=1e-9
    )
    assert weighted.scorecard_.certificate["n_rows"] == np.count_nonzero(weight)


@each
def test_class_weights_are_sample_weights(estimator: CardClassifier, planted: Any) -> None:
    X, y = planted
    keep = np.r_[np.flatnonzero(y == 1)[:12], np.flatnonzero(y == 0)]
    data = X.iloc[keep], y.iloc[keep]
    positives = (data[1] == 1).mean()
    balanced = np.where(data[1] == 1, 0.5 / positives, 0.5 / (1 - positives))
    explicit = fitted(estimator, data, sample_weight=balanced).result_.objective
    for given in ("balanced", {1: 0.5 / positives, 0: 0.5 / (1 - positives)}):
        other = clone(estimator).set_params(class_weight=given).fit(*data)
        assert other.result_.objective == pytest.approx(explicit, abs=1e-9)
    plain = fitted(estimator, data).result_.objective
    assert explicit != pytest.approx(plain, abs=1e-6)


def test_a_card_that_cannot_exist_is_an_error(planted: Any) -> None:
    with pytest.raises(SolverError, match="no card"):
        SlimClassifier(coef_min=1, max_terms=1).fit(*planted)


def test_no_time_gives_the_empty_card(planted: Any) -> None:
    with pytest.warns(ConvergenceWarning, match=r"nothing is proved .* raise time_limit \(now 0 s"):
        model = SlimClassifier(time_limit=0, use_start=False).fit(*planted)
    assert not model.coef_.any()
    assert str(model.result_.claim) == "feasible"
    assert model.score(*planted) == max(np.mean(planted[1]), 1 - np.mean(planted[1]))


def test_a_gap_is_warned_of_with_its_size_and_what_to_do() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (80, 9)), rng.integers(0, 2, 80)
    model = HingeClassifier(node_limit=1, max_terms=None, binner=None)
    with pytest.warns(ConvergenceWarning) as seen:
        model.fit(X, y)
    (only,) = seen
    assert model.result_.claim is Claim.GAP
    assert f"the gap is {model.result_.gap:.1%}" in str(only.message)
    assert "raise node_limit" in str(only.message)
    assert only.filename == __file__
    # what is small enough is said by mip_gap, and then nobody is warned
    clone(model).set_params(mip_gap=1.0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="3 of 3 fits, the worst: ") as seen:
        OneStandardErrorCV(model, grid={"margin": [1.0]}, cv=2).fit(X, y)
    assert len(seen) == 1


def test_any_random_state_is_a_seed(planted: Any) -> None:
    seeds = [
        ConvexRoundingClassifier(random_state=state).fit(*planted).result_.random_state
        for state in (7, np.int64(7), np.random.RandomState(7), np.random.RandomState(7))
    ]
    assert seeds[:2] == [7, 7]
    assert seeds[2] == seeds[3]


# ------------------------------------------------------------------ how it answers


@each
def test_answers_agree_and_ties_are_positive(estimator: CardClassifier, planted: Any) -> None:
    X, y = planted
    model = fitted(estimator, planted)
    card, decision = model.scorecard_, model.decision_function(X)
    totals = card.score(X)
    assert (decision != 0).all()
    assert np.array_equal(model.predict(X) == 1, decision > 0)
    assert np.array_equal(model.predict(X) == 1, totals >= float(card.threshold))
    assert np.array_equal(model.predict(X), card.predict(X))
    assert model.score(X, y) == 1 - card.certificate["errors"] / len(y)
    if estimator.formulation == "slim":
        assert (totals == card.threshold).any()
    assert model.coef_.shape == (1, len(model.get_feature_names_out()))
    assert model.intercept_.shape == (1,)
    values = model.binner_.transform(X).to_numpy()
    linear = values @ model.coef_[0] + model.intercept_[0] + float(card.step) / 2
    assert np.allclose(decision, linear)


@each
def test_data_on_no_grid(estimator: CardClassifier) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=40) > 0
    if estimator.formulation == "ordinal":  # its thresholds lie on the grid of the totals
        with pytest.raises(DataError, match="totals on a grid"):
            clone(estimator).fit(X, y)
        return
    model = clone(estimator).fit(X, y)
    assert model.score(X, y) == 1 - model.scorecard_.certificate["errors"] / 40
    assert model.score(X, y) > 0.8
    assert model.score(X, y) >= max(y.mean(), 1 - y.mean())
    if estimator.formulation == "slim":
        # The loss that was verified is the share of errors the estimator makes.
        assert model.result_.loss == pytest.approx(1 - model.score(X, y), abs=1e-12)
        assert "threshold" in model.result_.caveat or "stay" in model.result_.caveat


def test_mostly_positive_rows_on_no_grid_keep_the_empty_card() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), np.arange(50) % 10 > 0
    with pytest.warns(UserWarning, match="answers True for every row"):
        model = SlimClassifier(max_terms=0).fit(X, y)
    assert model.result_.objective == pytest.approx(0.1)
    assert model.predict(X).all()


@pytest.mark.parametrize(
    "labels", [("no", "yes"), (0, 1), (-1, 1), (False, True), (1, 2), (2.0, 5.0)], ids=str
)
def test_labels_of_any_type(labels: tuple[Any, Any], planted: Any) -> None:
    X, y = planted
    named = np.array(labels)[y.to_numpy()]
    model = SlimClassifier(max_terms=2).fit(X, named)
    assert np.array_equal(model.classes_, np.unique(named))
    assert model.predict(X).dtype == named.dtype
    assert model.score(X, named) > 0.8
    positive = model.predict(X) == model.classes_[1]
    assert np.array_equal(model.decision_function(X) > 0, positive)


def test_labels_are_two_of_one_kind(planted: Any) -> None:
    X, y = planted
    with pytest.raises(DataError, match="Only binary classification"):
        SlimClassifier().fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        SlimClassifier().fit(X, np.where(y == 1, 0.5, 2.0))
    mixed = np.array(["a", 1], dtype=object)[y]
    with pytest.raises(DataError, match="cannot be ordered"):
        SlimClassifier().fit(X, mixed)
    assert not SlimClassifier().__sklearn_tags__().classifier_tags.multi_class


# ------------------------------------------------------------------ columns and bins


def mixed_table() -> tuple[pd.DataFrame, pd.Series[Any]]:
    age = np.tile([20, 35, 50, 65], 10)
    smoker = np.repeat(["yes", "no"], 20)
    y = pd.Series(np.where((age >= 50) & (smoker == "yes"), "ill", "healthy"))
    return pd.DataFrame({"Age": age, "Smoker": smoker}), y


def test_names_out_of_a_table_with_text() -> None:
    X, y = mixed_table()
    model = SlimClassifier(
        binner=Binner(thresholds={"Age": [50]}, encoding="onehot", unseen="error"),
        l0_penalty=0.001,
    ).fit(X, y)
    names = ["Age < 50", "Age >= 50", "Smoker = no", "Smoker = yes"]
    assert model.get_feature_names_out().tolist() == names
    assert model.feature_names_in_.tolist() == ["Age", "Smoker"]
    assert model.score(X, y) == 1
    assert model.classes_.tolist() == ["healthy", "ill"]
    unseen = X.assign(Smoker="sometimes")
    with pytest.raises(DataError, match="unseen in fitting"):
        model.predict(unseen)
    lenient = SlimClassifier(binner=Binner(unseen="zero", encoding="onehot")).fit(X, y)
    assert lenient.predict(unseen).shape == (len(y),)


def test_names_out_of_an_array(planted: Any) -> None:
    X, y = planted
    model = HingeClassifier(binner=None).fit(X.to_numpy(), y)
    assert not hasattr(model, "feature_names_in_")
    assert model.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3"]
    assert model.get_feature_names_out(["a", "b", "c", "d"]).tolist() == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="feature names should match"):
        HingeClassifier().fit(X, y).predict(X[X.columns[::-1]])


def test_one_card_for_table_array_and_sparse_matrix(planted: Any) -> None:
    X, y = planted
    cards = [
        HingeClassifier().fit(form, y).scorecard_.points
        for form in (X, X.to_numpy(), sparse.csr_array(X.to_numpy()), X.to_numpy().tolist())
    ]
    assert len(set(cards)) == 1


def test_missing_values_get_a_bin_where_asked() -> None:
    X, y = mixed_table()
    X = X.assign(Age=X["Age"].where(X["Age"] != 20))
    with pytest.raises(DataError, match="missing values"):
        SlimClassifier(binner=None).fit(X, y)
    model = SlimClassifier(binner=Binner(missing="bin", encoding="onehot")).fit(X, y)
    assert model.score(X, y) == 1


def test_bins_are_found_anew_in_every_fold() -> None:
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    y = (X["a"] > 0).astype(int)
    binner = Binner(n_bins=3, encoding="onehot")
    found = cross_validate(FusedLassoClassifier(binner=binner), X, y, cv=3, return_estimator=True)
    cuts = {tuple(c.lower for c in model.binner_.columns_) for model in found["estimator"]}
    assert len(cuts) == 3
    assert not hasattr(binner, "columns_")
    assert min(found["test_score"]) > 0.7


def test_binner_parameters_are_searched(planted: Any) -> None:
    search = GridSearchCV(
        FusedLassoClassifier(binner=Binner(max_distinct=0, encoding="onehot")),
        {"binner__n_bins": [2, 3], "lam": [0.01, 0.1]},
        cv=2,
    ).fit(*planted)
    assert set(search.best_params_) == {"binner__n_bins", "lam"}
    assert search.best_estimator_.binner_.n_bins == search.best_params_["binner__n_bins"]


def test_a_binner_must_be_one(planted: Any) -> None:
    with pytest.raises(OptionError, match=r"binner must be .auto., a"):
        SlimClassifier(binner=StandardScaler()).fit(*planted)  # type: ignore[arg-type]
    with pytest.raises(FormulationError, match="one-hot bins"):
        FusedLassoClassifier(binner=Binner(encoding="cumulative")).fit(*planted)


def test_odd_columns_are_named_without_a_warning(planted: Any) -> None:
    X, y = planted
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        odd = X.assign(same=1, copy=X.iloc[:, 0])
        model = SlimClassifier(binner=None).fit(odd, y)
        short = SlimClassifier().fit(odd, y)
    assert "constant" in model.warnings_[0]
    assert "duplicate" in model.warnings_[1]
    first = X.columns[0]
    assert short.warnings_ == (
        f"left out, of no use to a card: 'same' (one value), 'copy' (as {first!r}).",
    )


# ------------------------------------------------------------------ in company


@each
def test_pickled_and_cloned(estimator: CardClassifier, planted: Any) -> None:
    X, _ = planted
    model = fitted(estimator, planted)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert again.scorecard_ == model.scorecard_
    assert again.result_.claim is model.result_.claim
    assert not hasattr(clone(model), "scorecard_")
    assert clone(model).fit(*planted).scorecard_.points == model.scorecard_.points


@each
def test_certified_and_reported_also_after_a_pickle(
    estimator: CardClassifier, planted: Any, tmp_path: Path
) -> None:
    model = fitted(estimator, planted)
    loaded = pickle.loads(pickle.dumps(model))
    for one in (model, loaded):
        made = one.certificate(source={"target": "y"})
        assert made.objective == pytest.approx(model.result_.objective, abs=1e-12)
        assert made.statement["formulation"] == estimator.formulation
        page = one.report(tmp_path / "page.html", bootstraps=2)
        assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
        assert str(model.result_.claim) in page
    assert loaded.program_.arguments.keys() == model.program_.arguments.keys()
    found = verify_certificate(loaded.certificate(), *planted, time_limit=300)
    assert not [part for part in found.parts if part.status == "refuted"]


@each
def test_in_a_pipeline_and_a_search(estimator: CardClassifier, planted: Any) -> None:
    X, y = planted
    grid: dict[str, Any] = {"intercept_bounds": [(-3, 3), None]}
    if estimator.formulation == "ordinal":  # which needs one, and has several thresholds
        estimator, grid = clone(estimator).set_params(binner="auto"), {"spacing": [1, 2]}
    # Standardised data lie on no grid.
    chain = make_pipeline(StandardScaler(), clone(estimator).set_params(time_limit=300))
    scores = cross_validate(chain, X, y, cv=2, scoring=["accuracy", "roc_auc"])
    assert scores["test_accuracy"].shape == (2,)
    search = GridSearchCV(clone(estimator), grid, cv=2)
    assert search.fit(X, y).best_score_ > 0.5


def test_the_scorecard_tells_what_is_proved(planted: Any) -> None:
    X, y = planted
    model = SlimClassifier(max_terms=2, binner=None).fit(X, y)
    text = model.scorecard_.to_text()
    assert "Claim: optimal" in text
    assert f"{model.scorecard_.certificate['errors']} of {len(y)} rows" in text
    assert isinstance(model.scorecard_.threshold, Fraction)
    assert model.scorecard_.fingerprint == make_design(X, y).fingerprint


def test_sparse_rounding_keeps_its_limit(planted: Any) -> None:
    model = SparseRoundingClassifier(max_terms=1).fit(*planted)
    assert np.count_nonzero(model.coef_) <= 1
    with pytest.raises(FormulationError, match="max_terms"):
        SparseRoundingClassifier(max_terms=None).fit(*planted)  # type: ignore[arg-type]


def test_a_result_without_a_card_has_no_scorecard(planted: Any) -> None:
    relaxed = solve(FORMULATIONS["hinge"](make_design(*planted)).relaxed())
    with pytest.raises(NotApplicableError, match="no card"):
        certified_card(make_design(*planted), relaxed)


def test_the_certificate_counts_rows_of_positive_weight(planted: Any) -> None:
    X, y = planted
    weight = np.where(np.arange(len(y)) < 40, 1.0, 0.0)
    model = SlimClassifier(max_terms=2).fit(X, y, weight)
    certificate = model.scorecard_.certificate
    wrong = model.predict(X)[:40] != y[:40]
    assert (certificate["errors"], certificate["n_rows"]) == (wrong.sum(), 40)
    assert certificate["terms"] == model.scorecard_.terms


def patients(seed: int) -> tuple[pd.DataFrame, Any, Any]:
    """Numbers, holes, text, categories, truth values, copies and an identifier; some weigh 0."""
    rng = np.random.default_rng(seed)
    n = 150
    table = pd.DataFrame(
        {
            "id": np.arange(n) + 1000,
            "age": rng.integers(20, 90, n),
            "bmi": rng.normal(27, 5, n).round(1),
            "sex": rng.choice(["f", "m"], n),
            "smoker": rng.random(n) < 0.4,
            "site": pd.Categorical(rng.choice(["a", "b"], n), categories=["b", "a", "none"]),
            "lab": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "flag": rng.integers(0, 2, n),
        }
    )
    table["reverse"] = 1 - table["flag"]
    ill = table["age"] / 30 + table["smoker"] + rng.normal(size=n) > 2.4
    return table, ill.to_numpy(), None if seed % 2 else rng.integers(0, 3, n)


def flags(seed: int) -> tuple[Any, Any, Any]:
    """Columns of 0 and 1, one of them repeated and one without a 1."""
    rng = np.random.default_rng(seed)
    X = (rng.random((120, 8)) < 0.4).astype(float)
    X[:, 6], X[:, 7] = X[:, 2], 0.0
    return X, (X[:, 0] + X[:, 3] + rng.random(120) > 1.2).astype(int), None


BINNERS = [Binner(), Binner(3, encoding="onehot"), Binner(4, useless="keep"), Binner(None)]


@pytest.mark.filterwarnings("ignore:.*Is 'id' a measurement")
@pytest.mark.parametrize("binner", BINNERS, ids=["default", "onehot", "keep", "uncut"])
@pytest.mark.parametrize("make", [patients, flags])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_fast_fit_is_that_of_the_columns_as_anybody_reads_them(
    seed: int, make: Any, binner: Binner
) -> None:
    X, y, weight = make(seed)
    design = clone(binner).fit_design(X, y, sample_weight=weight)
    columns, blocks = design.columns, design.blocks
    again = make_design(
        apply_columns(columns, X, unseen="zero"), y, sample_weight=weight, columns=columns,
        blocks=blocks,
    )  # fmt: skip
    assert design.fingerprint == again.fingerprint
    assert set(again.warnings) <= set(design.warnings)
    for kind in (RiskScoreClassifier, SlimClassifier):
        model = kind(binner=binner, heuristic=True, max_terms=3).fit(X, y, weight)
        arguments = {"max_terms": 3, "heuristic": True}
        _, found = fit_card(again, kind.formulation, **arguments)
        assert found.card == model.result_.card
        assert found.objective == model.result_.objective
        assert model.scorecard_.fingerprint == again.fingerprint


def test_a_card_is_shown_when_it_is_asked_for_and_checked_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, checked = [], []
    from_card, mean_loss = Scorecard.from_card, verify.mean_loss
    monkeypatch.setattr(
        Scorecard, "from_card", lambda *given, **named: made.append(1) or from_card(*given, **named)
    )
    monkeypatch.setattr(
        verify, "mean_loss", lambda *given: checked.append(given[1]) or mean_loss(*given)
    )
    X, y, _ = flags(3)
    model = RiskScoreClassifier(heuristic=True)
    assert not hasattr(model, "scorecard_")
    assert not hasattr(model, "risk_table_")
    model.fit(X, y)
    assert model.result_.card in checked
    assert model.result_.verified
    assert not made
    before = dict(vars(model))
    model.predict_proba(X)
    shown = model.scorecard_
    assert model.scorecard_ is shown
    assert vars(model) == before
    assert len(made) == 1
    again = RiskScoreClassifier(heuristic=True).fit(X, y)
    loaded = pickle.loads(pickle.dumps(again))  # before it was ever shown
    assert str(loaded.scorecard_) == str(shown)
    assert loaded.scorecard_.risk == shown.risk
    pd.testing.assert_frame_equal(loaded.risk_table_, model.risk_table_)
    other = model.fit(X[:, :2], y).scorecard_
    assert other is not shown
    assert len(other.points) == 2


def test_a_fit_asks_after_a_feature_it_left_out_and_takes_it_back() -> None:
    rng = np.random.default_rng(0)
    age = rng.integers(20, 80, 400)
    X = pd.DataFrame({"age": age, "no": rng.permutation(400)})
    y = (np.abs(X["no"] - 200) < 80).astype(int)  # high in the middle: it orders no label
    with pytest.warns(UserWarning, match=r"SlimClassifier: left out.*Is 'no' a measurement\?"):
        lost = SlimClassifier(max_terms=2).fit(X, y)
    asked = SlimClassifier(max_terms=2, binner=Binner(features=["no"])).fit(X, y)
    assert (asked.predict(X) != y).sum() < (lost.predict(X) != y).sum() / 2
