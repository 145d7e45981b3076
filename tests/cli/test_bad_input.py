"""What cannot be used is refused, and the text says what to do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from designs import binned, design, noisy

from milpscore.core.design import Design
from milpscore.core.errors import DataError, FormulationError, MilpscoreError, SizeError
from milpscore.core.program import Program
from milpscore.data import make_design
from milpscore.formulations import (
    FORMULATIONS,
    auc,
    building,
    convex_rounding,
    facets_hinge,
    fused_lasso,
    fused_lasso_by_feature,
    hinge,
    ordinal,
    risk_score,
    slim,
    sparse_rounding,
)
from milpscore.formulations.policy import FormulationPolicy
from milpscore.solvers import solve

X = np.array([[0.0, 1], [1, 1], [1, 0], [2, 1]])
Y = np.array([0, 1, 0, 1])

BUILDERS: dict[str, Callable[..., Program]] = {
    "auc": auc,
    "convex_rounding": convex_rounding,
    "facets_hinge": facets_hinge,
    "fused_lasso": fused_lasso,
    "hinge": hinge,
    "ordinal": ordinal,
    "risk_score": risk_score,
    "slim": slim,
    "sparse_rounding": lambda *data, **rest: sparse_rounding(*data, max_terms=1, **rest),
}


def replaced(value: Any) -> Any:
    table = X.astype(object)
    table[1, 0] = value
    return table


def refused(call: Callable[[], Any], *words: str) -> None:
    """The call raises an error of ours whose text holds every word."""
    with pytest.raises(MilpscoreError) as caught:
        call()
    assert isinstance(caught.value, ValueError)
    text = str(caught.value)
    assert "\n" not in text
    for word in words:
        assert word in text, text


def test_every_builder_is_tried() -> None:
    assert set(BUILDERS) == set(FORMULATIONS)


# ------------------------------------------------------------------ the data


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize(
    ("table", "labels", "words"),
    [
        (replaced(np.nan), Y, ("missing",)),
        (replaced(np.inf), Y, ("finite",)),
        (X, np.zeros(4), ("class",)),
        (X, [0, 1, 2, 1], ("3",)),
        (X, [0, 1, np.nan, 1], ("missing",)),
        (X[:, 0], Y, ()),
        (X[:3], Y, ("3", "4")),
        (np.zeros((4, 0)), Y, ()),
        (np.zeros((0, 2)), [], ()),
        (X, None, ()),
    ],
    ids=[
        "nan",
        "inf",
        "one class",
        "three",
        "nan label",
        "1-d",
        "rows",
        "no columns",
        "no rows",
        "y",
    ],
)
def test_bad_tables(name: str, table: Any, labels: Any, words: tuple[str, ...]) -> None:
    if (name, words) == ("ordinal", ("3",)):
        return  # three ordered classes are what it is for
    refused(lambda: BUILDERS[name](table, labels), *words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sample_weight": [1, 1, -1, 1]}, ("sample_weight", "negative")),
        ({"sample_weight": [0, 0, 0, 0]}, ("weight",)),
        ({"sample_weight": [0, 1, 0, 1]}, ("class",)),
        ({"sample_weight": [1, 1, np.nan, 1]}, ("sample_weight",)),
        ({"sample_weight": [1, 1]}, ("sample_weight",)),
        ({"class_weight": "even"}, ("class_weight", "balanced")),
        ({"class_weight": {7: 1}}, ("class_weight",)),
        ({"positive": "yes"}, ("positive",)),
    ],
)
def test_bad_weights_and_labels(options: dict[str, Any], words: tuple[str, ...]) -> None:
    refused(lambda: slim(X, Y, **options), *words)


def test_column_names_twice() -> None:
    refused(lambda: slim(pd.DataFrame(X, columns=["a", "a"]), Y), "a")


def test_constant_and_duplicate_columns_warn_and_are_used() -> None:
    table = pd.DataFrame({"x": [0, 1, 1, 2], "same": [0, 1, 1, 2], "one": [1, 1, 1, 1]})
    made = make_design(table, Y)
    text = " ".join(made.warnings)
    assert "same" in text
    assert "one" in text
    assert solve(slim(made)).verified


@pytest.mark.parametrize("odd", ["a b", 'quo"te', "x[0] <= 3", "ünï", "a\nb", "-", "1"])
def test_odd_names_can_be_used_by_name(odd: str, tmp_path: Any) -> None:
    made = make_design(pd.DataFrame({odd: [0, 1, 1, 2], "z": [1, 1, 0, 1]}), Y)
    name = made.names[0]
    program = slim(made, coef_max={name: 0}, coef_sets={"z": [0, 3]})
    result = solve(program)
    assert result.card is not None
    assert result.card.coefficients[0] <= 0
    assert program.write(tmp_path / "odd.lp").stat().st_size > 0


def test_a_finished_design_takes_no_labels_or_weights() -> None:
    made = noisy()
    options: tuple[dict[str, Any], ...] = (
        {"y": np.ones(30)},
        {"sample_weight": np.ones(30)},
        {"class_weight": "balanced"},
        {"positive": 1},
    )
    for extra in options:
        refused(partial(slim, made, **extra), "already holds", "make_design")


# ------------------------------------------------------------------ ranges of points


@pytest.mark.parametrize("build", [slim, hinge])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"coef_min": 2, "coef_max": 1}, ("x0", "coef_min 2", "coef_max 1")),
        ({"coef_min": [0, 3], "coef_max": [1, 2]}, ("x1",)),
        ({"coef_min": {"x9": 0}}, ("coef_min", "'x9'")),
        ({"coef_max": [1, 2, 3]}, ("coef_max", "(2)", "(3,)")),
        ({"coef_max": 2.5}, ("coef_max", "whole")),
        ({"coef_max": np.inf}, ("coef_max", "finite")),
        ({"coef_max": np.nan}, ("coef_max", "finite")),
        ({"coef_max": "five"}, ("coef_max", "'five'")),
        ({"coef_max": None}, ("coef_max",)),
        ({"coef_max": 10**6}, ("coef_max", "10000")),
        ({"coef_max": {"x0": "a"}}, ("coef_max",)),
        ({"max_terms": -1}, ("max_terms", "whole number >= 0")),
        ({"max_terms": 1.5}, ("max_terms",)),
        ({"max_terms": "2"}, ("max_terms",)),
        ({"max_terms": True}, ("max_terms",)),
        ({"l0_penalty": -1e-3}, ("l0_penalty", ">= 0")),
        ({"l0_penalty": np.inf}, ("l0_penalty", "finite")),
        ({"l1_penalty": np.nan}, ("l1_penalty", "finite")),
        ({"l1_penalty": "0"}, ("l1_penalty",)),
        ({"intercept_bounds": 5}, ("intercept_bounds", "[lower, upper]")),
        ({"intercept_bounds": [1, 0]}, ("intercept_bounds",)),
        ({"intercept_bounds": [0, np.inf]}, ("intercept_bounds", "finite")),
        ({"intercept_bounds": [1, 2, 3]}, ("intercept_bounds",)),
        ({"intercept_bounds": [0.2, 0.8]}, ("intercept_bounds", "widen")),
        ({"intercept_bounds": "ab"}, ("intercept_bounds",)),
    ],
)
def test_bad_ranges(build: Any, options: dict[str, Any], words: tuple[str, ...]) -> None:
    refused(lambda: build(X, Y, **options), *words)


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        ({"x9": [0, 1]}, ("coef_sets", "'x9'")),
        ({"x0": []}, ("coef_sets['x0']", "list of whole numbers")),
        ({"x0": [0, 0.5]}, ("coef_sets['x0']", "0.5")),
        ({"x0": [0, np.nan]}, ("coef_sets['x0']",)),
        ({"x0": "012"}, ("coef_sets['x0']",)),
        ({"x0": 3}, ("coef_sets['x0']",)),
        ([0, 1], ("coef_sets must map",)),
    ],
)
def test_bad_sets(sets: Any, words: tuple[str, ...]) -> None:
    refused(lambda: slim(X, Y, coef_sets=sets), *words)


# ------------------------------------------------------------------ the losses


@pytest.mark.parametrize("margin", [0, -1, np.inf, np.nan, "1", None, True])
@pytest.mark.parametrize("name", ["hinge", "facets_hinge", "convex_rounding", "sparse_rounding"])
def test_bad_margins(name: str, margin: Any) -> None:
    refused(lambda: BUILDERS[name](X, Y, margin=margin), "margin must be a finite number > 0")


@pytest.mark.parametrize("name", ["hinge", "convex_rounding", "sparse_rounding"])
def test_bad_kinds(name: str) -> None:
    refused(lambda: BUILDERS[name](X, Y, weights="quaternary"), "['binary', 'ternary']")
    refused(lambda: BUILDERS[name](X, Y, weights=["binary"]), "['binary', 'ternary']")
    refused(lambda: BUILDERS[name](X, Y, intercept="whole"), "'integer', 'zero' or 'real'")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scale": 0}, ("scale must be a finite number > 0",)),
        ({"scale": "2"}, ("scale must be a finite number > 0",)),
        ({"loss": "logit"}, ("'logit'", "logistic")),
        ({"loss": "hinge"}, ("no derivative", "logistic")),
        ({"loss": "multinomial"}, ("two classes",)),
        ({"penalty": "l0"}, ("penalty must be one of", "facets")),
        ({"lam": 0.1}, ("needs a penalty", "l1")),
        ({"lam": -0.1}, ("lam must be a finite number >= 0",)),
        ({"penalty": "eye", "lam": 0.1}, ("expert",)),
        ({"expert": ["x0"]}, ("penalty='eye'",)),
        ({"intercept": "whole"}, ("'integer', 'zero' or 'real'",)),
        ({"max_terms": -1}, ("max_terms", "whole number >= 0")),
        ({"coef_max": 2.5}, ("coef_max", "whole")),
    ],
)
def test_bad_risk_scores(options: dict[str, Any], words: tuple[str, ...]) -> None:
    refused(lambda: risk_score(X, Y, **options), *words)


def test_sparse_rounding_needs_its_k() -> None:
    refused(lambda: sparse_rounding(X, Y), "max_terms=k", "convex_rounding")


def test_fused_lasso_needs_bins() -> None:
    refused(lambda: fused_lasso(X, Y), "bin the data first (Binner)")
    half = Design(X, np.array([-1, 1, -1, 1]), np.ones(4), noisy(p=2).columns, ((0,),))
    refused(lambda: fused_lasso(half), "bin the data first")
    refused(lambda: fused_lasso_by_feature(noisy()), "bin the data first")
    refused(lambda: fused_lasso(binned(), features=["age"]), "'age'", "['f0', 'f1']")
    refused(lambda: fused_lasso(binned(), features="f0"), "list of raw features")
    refused(lambda: BUILDERS["fused_lasso"](binned(), reference="mean"), "'first' or 'lowest'")
    refused(lambda: fused_lasso(binned(), lam=-1), "lam must be a finite number >= 0")
    refused(lambda: fused_lasso(binned(), margin=0), "margin")
    refused(
        lambda: fused_lasso(binned(), reference="lowest", coef_min=-3, coef_max=-1),
        "widen coef_min",
    )


# ------------------------------------------------------------------ sizes and grids


@pytest.mark.parametrize("name", BUILDERS)
def test_too_large_comes_with_an_estimate(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "POLICY", FormulationPolicy(max_nonzeros=10))
    made = binned()
    with pytest.raises(SizeError, match=r"distinct rows x \d+ columns .* s and .* GB.*bin the col"):
        assert BUILDERS[name](made).model is None  # that of slim, which a tree does without


def test_a_program_beyond_a_milp_is_refused_before_it_is_built() -> None:
    rng = np.random.default_rng(0)
    wide = design(rng.normal(size=(2000, 6000)), np.tile([1, -1], 1000))
    with pytest.raises(SizeError, match=r"12000000|1.2e\+07"):
        hinge(wide)


def test_a_threshold_gap_must_be_more_than_the_tolerance() -> None:
    decimals = np.round(np.random.default_rng(0).normal(size=(4, 2)), 2)
    refused(lambda: slim(decimals, Y, threshold_gap=0), "a zero gap proves nothing")
    refused(lambda: slim(decimals, Y, threshold_gap=-1), "threshold_gap must be")
    refused(
        lambda: slim(decimals, Y, threshold_gap=1e-9), "integrality tolerance", "bin the columns"
    )
    refused(lambda: slim(X, Y, intercept_bounds=[1e7, 1e9]), "integrality tolerance")
    wide = slim(decimals, Y, threshold_gap=0.05)
    assert "0.05 below T" in wide.statement.caveat
    assert not slim(decimals, Y).statement.caveat


def test_errors_are_also_built_in_ones() -> None:
    for kind in (DataError, FormulationError, SizeError):
        assert issubclass(kind, ValueError)
    assert issubclass(SizeError, FormulationError)


def test_an_unknown_argument_is_an_error() -> None:
    with pytest.raises(TypeError, match="max_term"):
        FORMULATIONS["slim"](X, Y, max_term=3)
