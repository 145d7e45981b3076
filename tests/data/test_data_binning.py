"""The Binner and the columns it makes, against their definitions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from milpscore.core.design import Column
from milpscore.core.errors import DataError, OptionError
from milpscore.data import Binner, apply_columns, read_patterns, read_table
from milpscore.data.columns import quantile_cuts, short_cut

AGES = pd.DataFrame({"Age": [20, 30, 40, 45, 60], "Sex": ["m", "f", "f", "m", "f"]})
CUTS = {"Age": [45, 30]}


@pytest.mark.filterwarnings("ignore:feature 'x[0-9]+' has fewer:UserWarning")
@pytest.mark.filterwarnings("ignore:left out, of no use:UserWarning")
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        Binner(),
        Binner.raw(),
        Binner(encoding="onehot"),
        Binner(encoding="cumulative", missing="error", digits=None, useless="keep", unseen="error"),
        Binner(missing="bin", unseen="zero", encoding="onehot"),
        Binner(n_bins=None, encoding="onehot"),
        Binner(n_bins=10, max_distinct=0, encoding="onehot"),
    ]
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def value_by_definition(column: Column, value: Any) -> float:
    absent = pd.isna(value)
    match column.kind:
        case "missing":
            return float(absent)
        case "category":
            return float(not absent and str(value) == column.category)
        case "interval":
            return float(not absent and column.lower <= value < column.upper)
        case "step":
            return float(not absent and value >= column.lower)
        case "numeric":
            return 0.0 if absent else float(value)


def table_by_definition(columns: tuple[Column, ...], frame: pd.DataFrame) -> list[list[float]]:
    rows: Iterator[dict[str, Any]] = iter(frame.to_dict("records"))  # type: ignore[arg-type]
    return [[value_by_definition(c, row[c.feature]) for c in columns] for row in rows]


def test_bins_of_given_thresholds() -> None:
    binner = Binner(thresholds=CUTS, encoding="onehot").fit(AGES)
    assert binner.columns_ == (
        Column("Age < 30", "Age", "interval", upper=30.0),
        Column("30 <= Age < 45", "Age", "interval", lower=30.0, upper=45.0),
        Column("Age >= 45", "Age", "interval", lower=45.0),
        Column("Sex = f", "Sex", "category", category="f"),
        Column("Sex = m", "Sex", "category", category="m"),
    )
    assert binner.blocks_ == ((0, 1, 2), (3, 4))
    out = binner.transform(AGES)
    assert isinstance(out, pd.DataFrame)
    assert list(out.columns) == [column.name for column in binner.columns_]
    assert out.to_numpy().tolist() == [
        [1, 0, 0, 0, 1],
        [0, 1, 0, 1, 0],
        [0, 1, 0, 1, 0],
        [0, 0, 1, 0, 1],
        [0, 0, 1, 1, 0],
    ]


def test_steps_of_given_thresholds() -> None:
    binner = Binner(thresholds=CUTS, encoding="cumulative", useless="keep").fit(AGES)
    assert list(binner.get_feature_names_out()) == ["Age >= 30", "Age >= 45", "Sex = f", "Sex = m"]
    assert binner.blocks_ == ()
    assert np.asarray(binner.transform(AGES))[:, :2].tolist() == [
        [0, 0], [1, 0], [1, 0], [1, 1], [1, 1],
    ]  # fmt: skip


def test_names_print_numbers_as_written() -> None:
    X = pd.DataFrame({"x": [0.0, 1.0]})
    names = (
        Binner(thresholds={"x": [0.1, -2, 1e-7, 1e20]}, encoding="onehot")
        .fit(X)
        .get_feature_names_out()
    )
    assert list(names) == [
        "x < -2",
        "-2 <= x < 1e-07",
        "1e-07 <= x < 0.1",
        "0.1 <= x < 100000000000000000000",
        "x >= 100000000000000000000",
    ]


def test_cuts_are_the_shortest_numbers_that_part_the_same_rows() -> None:
    assert short_cut(0.2010, 0.201492537313433, 4) == 0.2012
    assert short_cut(0.20145, 0.201492537313433, 4) == 0.2015  # no number of four digits parts them
    assert short_cut(4.8, 4.9, 4) == 4.9
    assert short_cut(38.0, 39.0, 4) == 39.0
    assert short_cut(38.0, 40.0, 4) == 40.0
    assert short_cut(0.0, 5.0, 4) == 5.0  # as it was written, where that is as short
    assert short_cut(1.96, 9.97, 4) == 6.0
    assert short_cut(-3.0, 7.0, 4) == 0.0
    assert short_cut(-7.31, -7.294, 4) == -7.3
    assert short_cut(123456.0, 123457.0, 4) == 123500.0


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
def test_a_short_cut_parts_the_two_or_has_as_many_digits_as_allowed(a: float, b: float) -> None:
    below, at = sorted((a + 0.0, b + 0.0))
    if below == at:
        return
    whole = short_cut(below, at, 17)
    assert below < whole <= at
    cut = short_cut(below, at, 4)
    assert len(Decimal(repr(cut)).normalize().as_tuple().digits) <= 4
    if below < cut <= at:
        assert cut == whole
        shorter = [float(f"{below:.{k}e}") for k in range(3)] + [
            float(f"{at:.{k}e}") for k in range(3)
        ]
        digits = len(Decimal(repr(cut)).normalize().as_tuple().digits)
        for other in shorter:
            found = len(Decimal(repr(other)).normalize().as_tuple().digits)
            assert not below < other <= at or found >= digits


def test_the_default_binner_cuts_at_short_numbers_and_names_what_it_leaves_out() -> None:
    rng = np.random.default_rng(0)
    n = 700
    X = pd.DataFrame(
        {
            "patient_id": rng.permutation(n) + 10_000,
            "visit": pd.date_range("2020-01-01", periods=n).strftime("%Y-%m-%d"),
            "born": pd.date_range("1950-01-01", periods=n),
            "site": "A",
            "note": [f"text {k}" for k in range(n)],
            "crp": rng.lognormal(size=n),
            "big": rng.integers(10**6, 10**7, n),
            "sex": rng.choice(["female", "male"], n),
            "smoker": rng.random(n) < 0.3,
            "city": rng.choice(["x", "y", "z"], n),
            "flag": rng.integers(0, 2, n),
            "age": rng.integers(20, 90, n),
        }
    )
    X["no_flag"] = 1 - X["flag"]
    with pytest.warns(UserWarning, match="left out, of no use to a card") as caught:
        binner = Binner().fit(X)
    (said,) = caught
    for why in (
        "'patient_id' (identifier)", "'visit' (dates)", "'born' (dates)", "'site' (one value)",
        "'note' (text of its own in most rows)", "'sex = female' (the reverse of 'sex = male')",
        "'smoker = False' (the reverse of 'smoker = True')",
        "'no_flag' (the reverse of 'flag')",
    ):  # fmt: skip
        assert why in str(said.message)
    kept = dict.fromkeys(column.feature for column in binner.columns_)
    assert list(kept) == ["crp", "big", "sex", "smoker", "city", "flag", "age"]
    for column in binner.columns_:
        if column.kind == "step":
            assert len(Decimal(repr(column.lower)).normalize().as_tuple().digits) <= 4
    cuts = [c.lower for c in binner.columns_ if c.feature == "crp"]
    shares = [float((X["crp"] >= cut).mean()) for cut in cuts]
    np.testing.assert_allclose(shares, np.arange(9, 0, -1) / 10, atol=2 / n)
    assert len([c for c in binner.columns_ if c.feature == "age"]) == 9
    with pytest.warns(UserWarning, match="left out"):
        few = Binner().fit(X[:300])
    assert len([c for c in few.columns_ if c.feature == "age"]) == 4
    # a category without a column of its own stays known
    strict = clone(binner).set_params(unseen="error")
    with pytest.warns(UserWarning, match="left out"):
        strict.fit(X)
    assert np.isfinite(np.asarray(strict.transform(X))).all()
    with pytest.raises(DataError, match=r"'sex' holds 'none', unseen.*'male', 'female'"):
        strict.transform(X.assign(sex="none"))


def test_what_is_counted_does_not_depend_on_weights() -> None:
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"x": rng.normal(size=60), "age": rng.integers(0, 40, 60)})
    weight = rng.integers(1, 4, 60)
    weighted = Binner().fit(X, sample_weight=weight)
    repeated = Binner().fit(X.loc[X.index.repeat(weight)])
    scaled = Binner().fit(X, sample_weight=weight / weight.sum())
    assert weighted.columns_ == repeated.columns_ == scaled.columns_


def test_a_feature_that_others_follow_from_is_no_identifier() -> None:
    rng = np.random.default_rng(0)
    age = rng.integers(20, 80, 1000)
    X = pd.DataFrame({"age": age, "senior": (age >= 65).astype(int)})
    y = (rng.uniform(size=1000) < np.where(age > 50, 0.9, 0.1)).astype(int)
    for frame, labels in ((X, y), (X, None), (X[["age"]], y)):
        assert "age" in {column.feature for column in Binner().fit(frame, labels).columns_}


def test_numbers_that_order_the_label_are_no_identifier() -> None:
    rng = np.random.default_rng(1)
    count = rng.permutation(np.arange(150, 350))  # each value once, close together
    y = (count + rng.normal(0, 20, 200) > 250).astype(int)
    X = pd.DataFrame({"platelets": count, "x": rng.normal(size=200)})
    assert "platelets" in {column.feature for column in Binner().fit(X, y).columns_}
    with pytest.warns(UserWarning, match=r"'platelets' .identifier.*in features"):
        binner = Binner().fit(X, rng.permutation(y))
    assert "platelets" not in {column.feature for column in binner.columns_}


def test_a_feature_asked_for_by_name_is_never_left_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"no": np.arange(100), "x": rng.normal(size=100).round(1)})
    X.assign(y=rng.integers(0, 2, 100)).to_csv(tmp_path / "data.csv", index=False)
    table, y = read_table(tmp_path / "data.csv", "y", features=["no", "x"])
    assert "no" in {column.feature for column in Binner().fit(table, y).columns_}
    with pytest.warns(UserWarning, match="'no' .identifier."):
        Binner().fit(*read_table(tmp_path / "data.csv", "y"))
    asked = read_patterns(tmp_path / "data.csv", "y", features=["no", "x"], binner=Binner())
    assert "no" in {column.feature for column in asked.columns}


def test_codes_beyond_doubles_are_called_what_they_are() -> None:
    codes = 2**60 + np.arange(50) % 7  # one double
    X = pd.DataFrame({"code": codes, "x": np.arange(50) % 9})
    for binner in (Binner(), Binner(useless="keep")):
        with pytest.warns(
            UserWarning, match=r"'code' .*whole numbers beyond 2\^53, which are codes"
        ):
            binner.fit(X)
    stamps = pd.DataFrame({"stamp": 2**60 + np.r_[1, 10**16 * np.arange(50)]})  # two in one double
    assert Binner().fit(stamps, stamps["stamp"] > stamps["stamp"].median()).columns_


def test_values_that_short_cuts_do_not_part_are_called_so() -> None:
    X = pd.DataFrame({"second": 1_700_000_000 + 7 * np.arange(60), "x": np.arange(60) % 9})
    with pytest.warns(UserWarning, match=r"'second' has values that numbers of 4 digits do not"):
        Binner(useless="keep").fit(X)
    assert len(Binner(digits=None, useless="keep").fit(X).columns_) > 8


def drawn_table(rng: np.random.Generator) -> tuple[pd.DataFrame, Any]:
    """Numbers, numbers of rows, text, categories and what follows from others; labels of one."""
    n, columns = int(rng.integers(30, 300)), {}
    for j in range(int(rng.integers(2, 6))):
        values: Any = rng.integers(0, int(rng.choice([2, 5, 60, n])), n)
        kind = rng.integers(0, 7)
        if kind == 0:
            values = rng.permutation(n) + int(rng.integers(0, 1000))
        elif kind == 1 and columns:
            values = (pd.factorize(next(iter(columns.values())))[0] >= 3).astype(int)
        elif kind == 2:
            values = np.array([f"t{v}" for v in values], dtype=object)
        elif kind == 3:
            values = values + 2**53 * rng.integers(0, 2)
        elif kind == 4 and columns:
            values = next(iter(columns.values()))
        columns[f"c{j}" if rng.random() < 0.9 else f"c{j} id"] = values
    X = pd.DataFrame(columns)
    score = X.iloc[:, int(rng.integers(X.shape[1]))].rank()
    y = (score + rng.normal(0, 0.3 * n, n) > score.median()).astype(int)
    y[:2] = 0, 1
    return X, y


@pytest.mark.parametrize("seed", range(40))
def test_what_is_left_out_is_useless_or_named_as_a_question(seed: int) -> None:
    X, y = drawn_table(np.random.default_rng(seed))
    design = Binner().fit_design(X, y)
    (said,) = [text for text in design.warnings if text.startswith("left out")] or [""]
    question = said.partition(" Is ")[2]
    kept = {column.tobytes() for column in design.X.T}
    kept |= {(1.0 - column).tobytes() for column in design.X.T}
    away = set(X) - {column.feature for column in design.columns}
    whole = Binner(useless="keep").fit_design(X, y)
    for column, values in zip(whole.columns, whole.X.T, strict=True):
        if column.feature in away and f"{column.feature!r}" not in question:
            assert len(set(values)) == 1 or values.tobytes() in kept, (column.name, said)
    asked = Binner(features=[name for name in X if repr(name) in question]).fit_design(X, y)
    assert not any("Name it" in text for text in asked.warnings)
    assert len(asked.columns) >= len(design.columns)


def test_features_that_are_asked_back_have_to_be_columns() -> None:
    X = pd.DataFrame({"age": np.arange(30)})
    with pytest.raises(DataError, match=r"features name 'Age'.*did you mean 'age'"):
        Binner(features=["Age"]).fit(X)
    with pytest.raises(OptionError, match="use a list of names"):
        Binner(features="age").fit(X)


def test_a_table_read_by_patterns_leaves_out_the_same_features(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    count = rng.permutation(np.arange(150, 350))
    X = pd.DataFrame({"count": count, "no": np.arange(200), "x": rng.integers(0, 9, 200)})
    X["y"] = (count + rng.normal(0, 20, 200) > 250).astype(int)
    X.to_csv(tmp_path / "data.csv", index=False)
    for binner in (Binner(), Binner(features=["no"])):
        small = binner.fit_design(X.drop(columns="y"), X["y"])
        large = read_patterns(tmp_path / "data.csv", "y", binner=binner)
        assert {c.feature for c in small.columns} == {c.feature for c in large.columns}
        assert ("no" in {c.feature for c in small.columns}) == (binner.features is not None)
        assert small.warnings == large.warnings


@pytest.mark.parametrize("encoding", ["onehot", "cumulative"])
def test_few_distinct_values_are_all_parted(encoding: Any) -> None:
    X = pd.DataFrame({"d": [3, 1, 2, 2, 7, 3]})
    binner = Binner(2, encoding=encoding, max_distinct=4).fit(X)
    values = np.asarray(binner.transform(X))
    assert len({tuple(row) for row in values.tolist()}) == 4
    assert len(binner.columns_) == (4 if encoding == "onehot" else 3)
    few = Binner(2, encoding=encoding, max_distinct=3).fit(X)
    assert len(few.columns_) == (2 if encoding == "onehot" else 1)


def test_zero_one_columns() -> None:
    X = pd.DataFrame({"b": [0, 1, 1], "c": [0.0, 1.0, 0.0], "d": [1, 2, 1]})
    one_hot = Binner(encoding="onehot").fit(X)
    assert list(one_hot.get_feature_names_out())[:2] == ["b < 1", "b >= 1"]
    assert one_hot.blocks_ == ((0, 1), (2, 3), (4, 5))
    cumulative = Binner(encoding="cumulative", useless="keep").fit(X)
    assert [(c.name, c.kind) for c in cumulative.columns_] == [
        ("b", "numeric"),
        ("c", "numeric"),
        ("d >= 2", "step"),
    ]


def test_numeric_features_may_stay_as_they_are() -> None:
    binner = Binner(None, thresholds={"Age": [30]}, encoding="onehot", useless="keep").fit(
        AGES.assign(Dose=[0.5] * 5)
    )
    assert [c.kind for c in binner.columns_] == ["interval"] * 2 + ["category"] * 2 + ["numeric"]
    assert binner.blocks_ == ((0, 1), (2, 3))


@pytest.mark.parametrize("seed", range(20))
def test_quantile_cuts_take_the_nearest_places(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, rng.integers(2, 30), 40).astype(float)
    weight = rng.integers(1, 4, 40).astype(float)
    n_bins = int(rng.integers(2, 8))
    places = sorted(set(values.tolist()))[1:]
    expected = set()
    for k in range(1, n_bins):
        goal = weight.sum() * k / n_bins
        expected.add(min(places, key=lambda v: (abs(weight[values < v].sum() - goal), v)))
    cuts = quantile_cuts(values, n_bins, weight)
    assert cuts.tolist() == sorted(expected)
    repeated = np.repeat(values, weight.astype(int))
    assert quantile_cuts(repeated, n_bins).tolist() == cuts.tolist()


def test_quantile_bins_are_even_and_never_empty() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.permutation(100), "tied": np.repeat([0, 0, 0, 1, 9], 20)})
    binner = Binner(4, max_distinct=2, encoding="onehot", digits=None, useless="keep")
    out = np.asarray(binner.fit_transform(X))
    assert out[:, :4].sum(axis=0).tolist() == [25, 25, 25, 25]
    assert out[:, 4:].sum(axis=0).tolist() == [60, 20, 20]


# a value that repeats far outside the rest is reported, and stays a number
@pytest.mark.filterwarnings("ignore:column 'x' has:UserWarning")
@given(
    st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=40),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=10),
    st.integers(2, 6),
    st.integers(0, 5),
)
def test_every_finite_number_lies_in_one_bin(
    train: list[float], new: list[float], n_bins: int, max_distinct: int
) -> None:
    if len(set(train)) < 2:
        train = [0.0, 1.0]
    X = pd.DataFrame({"x": train})
    plain: Any = {"max_distinct": max_distinct, "digits": None, "useless": "keep"}
    one_hot = Binner(n_bins, encoding="onehot", **plain).fit(X)
    steps = Binner(n_bins, encoding="cumulative", **plain).fit(X)
    both = pd.DataFrame({"x": [*train, *new]})
    bins = np.asarray(one_hot.transform(both))
    assert (bins.sum(axis=1) == 1).all()
    assert (bins[: len(train)].sum(axis=0) > 0).all()
    if steps.columns_[0].kind == "step":
        # A row's bin is the number of steps it has passed.
        assert (
            np.asarray(steps.transform(both)).sum(axis=1).tolist() == bins.argmax(axis=1).tolist()
        )


@pytest.mark.parametrize("encoding", ["onehot", "cumulative"])
@pytest.mark.parametrize("seed", range(4))
def test_columns_against_their_definition(seed: int, encoding: Any) -> None:
    rng = np.random.default_rng(seed)
    n = 60

    def holes(values: Any) -> pd.Series:
        return pd.Series(values, dtype=object).mask(rng.random(n) < 0.2).infer_objects()

    X = pd.DataFrame(
        {
            "real": holes(rng.normal(size=n)),
            "few": holes(rng.integers(0, 4, n)),
            "flag": holes(rng.integers(0, 2, n)),
            "text": holes(rng.choice(["u", "v", "w"], n)),
            "whole": rng.normal(size=n),
            "bool": rng.random(n) < 0.5,
        }
    )
    binner = Binner(3, encoding=encoding, missing="bin", max_distinct=5, useless="keep").fit(X)
    names = [c.feature for c in binner.columns_ if c.kind == "missing"]
    assert names == ["real", "few", "flag", "text"]
    assert not {j for b in binner.blocks_ for j in b} & {
        j for j, c in enumerate(binner.columns_) if c.kind == "missing"
    }
    out = np.asarray(binner.transform(X))
    assert out.tolist() == table_by_definition(binner.columns_, X)
    shuffled = X[X.columns[::-1]].assign(other=1)
    np.testing.assert_array_equal(apply_columns(binner.columns_, shuffled), out)
    if encoding == "onehot":
        for feature in X.columns:
            members = [j for j, c in enumerate(binner.columns_) if c.feature == feature]
            assert (out[:, members].sum(axis=1) == 1).all()


def test_missing_values() -> None:
    X = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": ["u", None, "v"], "c": [1, 2, 3]})
    with pytest.raises(DataError, match=r"'a' \(1\), 'b' \(1\).*missing='bin'"):
        Binner(missing="error", encoding="onehot").fit(X)
    binner = Binner(missing="bin", encoding="onehot", unseen="error").fit(X)
    assert list(binner.get_feature_names_out()) == [
        "a < 3", "a >= 3", "a missing", "b = u", "b = v", "b missing",
        "c < 2", "2 <= c < 3", "c >= 3",
    ]  # fmt: skip
    late = X.assign(c=[1, np.nan, 3])
    with pytest.raises(DataError, match=r"'c' \(1\)"):
        binner.transform(late)
    kind = clone(binner).set_params(unseen="zero").fit(X)
    assert np.asarray(kind.transform(late))[1, -3:].tolist() == [0, 0, 0]


def test_a_missing_number_is_never_read_as_zero() -> None:
    columns = (Column("a", "a"),)
    X = pd.DataFrame({"a": [1.0, np.nan]})
    for unseen in ("error", "zero"):
        with pytest.raises(DataError, match=r"'a' \(1\)"):
            apply_columns(columns, X, unseen=unseen)
    foreseen = (*columns, Column("a missing", "a", "missing"))
    assert apply_columns(foreseen, X).tolist() == [[1, 0], [0, 1]]


def test_unseen_categories() -> None:
    binner = Binner(thresholds=CUTS, encoding="onehot", unseen="error").fit(AGES)
    new = AGES.assign(Sex=["m", "f", "x", "m", "y"])
    with pytest.raises(DataError, match=r"'Sex' holds 'x', 'y', unseen.*known: 'f', 'm'"):
        binner.transform(new)
    zero = binner.set_params(unseen="zero")
    assert np.asarray(zero.transform(new))[:, 3:].sum(axis=1).tolist() == [1, 1, 0, 1, 0]


def test_declared_categories_may_be_absent() -> None:
    declared = pd.CategoricalDtype(["lo", "mid", "hi"], ordered=True)
    X = pd.DataFrame({"g": pd.Categorical(["hi", "lo"], dtype=declared)})
    binner = Binner(encoding="onehot").fit(X)
    assert list(binner.get_feature_names_out()) == ["g = lo", "g = mid", "g = hi"]
    narrow = pd.DataFrame({"g": pd.Categorical(["hi"], categories=["hi", "other"])})
    assert np.asarray(binner.transform(narrow)).tolist() == [[0, 0, 1]]
    assert np.asarray(binner.transform(pd.DataFrame({"g": ["mid"]}))).tolist() == [[0, 1, 0]]


def test_categories_read_alike_however_stored() -> None:
    columns = Binner(encoding="onehot").fit(pd.DataFrame({"g": pd.Categorical([1, 2])})).columns_
    for stored in ([1, 2], [1.0, 2.0], ["1", "2"], [1, "2"], pd.array([1, 2], dtype="Int64")):
        assert apply_columns(columns, pd.DataFrame({"g": stored})).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ({"age": [1]}, "'Age' are missing.*did you mean 'age'"),
        ({"Age": ["old"]}, "'Age' holds text or categories .'old'.*numbers"),
        ({"Age": ["35"]}, "pandas.to_numeric"),
        ({"Age": [np.inf]}, "'Age' holds 1 infinite"),
        ({"Age": [np.nan]}, r"'Age' \(1\)"),
        ({"Age": [pd.Timestamp(0)]}, "'Age' holds datetime"),
    ],
)
def test_scoring_refuses(X: dict[str, list[Any]], message: str) -> None:
    columns = Binner(None, thresholds=CUTS, encoding="onehot").fit(AGES[["Age"]]).columns_
    with pytest.raises(DataError, match=message):
        apply_columns(columns, pd.DataFrame(X))


def test_scoring_looks_at_needed_columns_only() -> None:
    columns = (Column("a >= 2", "a", "step", lower=2.0),)
    odd = pd.DataFrame([[1, 2, 3, 4, 5]], columns=["b", " a", "b", "", None])
    assert apply_columns(columns, odd).tolist() == [[1]]
    with pytest.raises(DataError, match="more than once: 'a'"):
        apply_columns(columns, pd.DataFrame([[1, 2]], columns=["a", "a "]))


def test_scoring_arrays_and_empty_tables() -> None:
    columns = (Column("p >= 2", "p", "step", lower=2.0), Column("q", "q"))
    X = np.array([[1.0, 5.0], [2.0, 6.0]])
    assert apply_columns(columns, X, feature_names=["p", "q"]).tolist() == [[0, 5], [1, 6]]
    assert apply_columns(columns, X[:0], feature_names=["p", "q"]).shape == (0, 2)
    assert apply_columns((), X).shape == (2, 0)
    with pytest.raises(DataError, match=r"'p', 'q' are missing.*columns are 'x0', 'x1'"):
        apply_columns(columns, X)
    with pytest.raises(DataError, match="2 columns but 1 names"):
        apply_columns(columns, X, feature_names=["p"])
    empty = pd.DataFrame({"s": pd.Series([], dtype=str)})
    assert apply_columns((Column("s = u", "s", "category", category="u"),), empty).shape == (0, 1)


def test_a_feature_is_read_in_one_way() -> None:
    columns = (Column("a = 1", "a", "category", category="1"), Column("a", "a"))
    with pytest.raises(DataError, match="use one or the other"):
        apply_columns(columns, pd.DataFrame({"a": [1]}))
    with pytest.raises(OptionError, match="unseen='skip'"):
        apply_columns(columns, pd.DataFrame({"a": [1]}), unseen="skip")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_bins": 1}, OptionError, "n_bins=1"),
        ({"n_bins": 2.5}, OptionError, "n_bins=2.5"),
        ({"n_bins": True}, OptionError, "n_bins=True"),
        ({"max_distinct": -1}, OptionError, "max_distinct=-1"),
        ({"encoding": "thermometer"}, OptionError, "encoding='thermometer'"),
        ({"missing": "drop"}, OptionError, "missing='drop'"),
        ({"unseen": "skip"}, OptionError, "unseen='skip'"),
        ({"thresholds": {"age": [3]}}, DataError, "which is not a column; did you mean 'Age'"),
        ({"thresholds": {"Sex": [3]}}, DataError, "'Sex', which is not numeric"),
        ({"thresholds": {"Age": []}}, DataError, "'Age' are empty"),
        ({"thresholds": {"Age": [np.nan]}}, DataError, "nan of 'Age'"),
        ({"thresholds": {"Age": 3}}, DataError, "must be a list"),
        ({"thresholds": [3]}, DataError, "must map a feature"),
    ],
)
def test_refused_parameters(parameters: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Binner(**parameters).fit(AGES)


def test_one_value_only() -> None:
    X = pd.DataFrame({"a": [1, 2], "one": [5, 5], "none": [np.nan, np.nan]})
    with pytest.warns(UserWarning, match="fewer than two distinct") as caught:
        binner = Binner(missing="bin", encoding="onehot", useless="keep").fit(X)
    assert [str(warning.message) for warning in caught] == list(binner.warnings_)
    assert binner.warnings_[0] == (
        "feature 'one' has fewer than two distinct values and becomes 'one (any value)'."
    )
    assert list(binner.get_feature_names_out())[2:] == [
        "one (any value)", "none (any value)", "none missing",
    ]  # fmt: skip
    assert binner.columns_[2].lower == -math.inf
    with pytest.warns(UserWarning, match="fewer than two distinct") as caught:
        steps = Binner(encoding="cumulative", missing="bin", useless="keep").fit(X)
    assert "'one' has fewer than two distinct values and is left out" in str(caught[0].message)
    assert list(steps.get_feature_names_out()) == ["a >= 2", "none missing"]
    with pytest.raises(DataError, match="every feature has one value only"):
        Binner(encoding="cumulative", useless="keep").fit(X[["one"]])
    with pytest.raises(DataError, match=r"every feature has one value only.*'one' \(one value\)"):
        Binner().fit(X[["one"]])


def test_rows_of_weight_zero_do_not_count() -> None:
    X = pd.DataFrame({"a": [1, 2, 3, 4], "s": ["u", "v", "u", "w"]})
    weighted = Binner(encoding="onehot").fit(X, sample_weight=[1, 1, 1, 0])
    assert weighted.columns_ == Binner(encoding="onehot").fit(X[:3]).columns_


def test_fit_design() -> None:
    y = ["no", "yes", "yes", "no", "yes"]
    design = Binner(thresholds=CUTS, encoding="onehot", useless="keep").fit_design(
        AGES.assign(one=1), y, sample_weight=[1, 2, 1, 1, 1], class_weight="balanced", positive="no"
    )
    assert design.shape == (5, 6)
    assert design.blocks == ((0, 1, 2), (3, 4), (5,))
    assert design.classes == ("yes", "no")
    assert design.y.tolist() == [1, -1, -1, 1, -1]
    np.testing.assert_allclose(design.weight, [1.5, 1.5, 0.75, 1.5, 0.75])
    assert design.warnings[0].startswith("feature 'one' has fewer than two distinct values")
    assert "constant" in design.warnings[1]


def test_bins_are_placed_anew_in_every_fold() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=90), "s": rng.choice(["u", "v"], 90)})
    y = (X["x"] + (X["s"] == "u") > 0.4).to_numpy()
    pipe = make_pipeline(Binner(8, encoding="onehot"), LogisticRegression())
    assert cross_val_score(pipe, X, y, cv=3).mean() > 0.8
    assert pipe.fit(X, y)[:-1].get_feature_names_out()[0].startswith("x < ")


@pytest.mark.data
def test_breastcancer_by_values(uci: Any) -> None:
    X, y = uci("breastcancer")
    design = Binner(10, max_distinct=10, encoding="onehot").fit_design(X, y)
    distinct = [X[name].nunique() for name in X.columns]
    assert [len(block) for block in design.blocks] == distinct
    assert max(distinct) == 10
    assert (design.X.sum(axis=1) == X.shape[1]).all()


@pytest.mark.parametrize(("rarer", "bins"), [(119, 3), (120, 5), (199, 5), (200, 10)])
def test_bins_go_by_the_rows_of_the_rarer_label(rarer: int, bins: int) -> None:
    x = np.random.default_rng(3).normal(size=600)
    y = np.where(np.arange(600) < rarer, "ill", "well")
    assert len(Binner().fit(x[:, None], y).columns_) == bins - 1
    assert len(Binner().fit_design(x[:, None], y).columns) == bins - 1
    # rows that weigh nothing or come twice do not count
    weight = np.where(np.arange(600) < rarer, 1.0, 2.0)
    weight[rarer // 2 : rarer] = 0.0
    assert len(Binner().fit(x[:, None], y, weight).columns_) == 2
    twice = np.concatenate([x[: rarer // 2], x[: rarer // 2], x[rarer:]])
    labels = np.where(np.arange(len(twice)) < 2 * (rarer // 2), "ill", "well")
    assert len(Binner().fit(twice[:, None], labels).columns_) == 2
    # without two labels half of the rows stand for the rarer ones
    for none in (None, x):
        assert (
            len(
                Binner()
                .fit(x[: 2 * rarer, None], None if none is None else none[: 2 * rarer])
                .columns_
            )
            == bins - 1
        )
