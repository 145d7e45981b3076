"""Labels become -1 and +1; class weights agree with scikit-learn's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.class_weight import compute_sample_weight

from milpscore.core.errors import DataError
from milpscore.data import encode_labels, make_design


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([0, 1, 0], (0, 1)),
        ([1, -1, 1], (-1, 1)),
        ([1, 2], (2, 1)),
        ([2, 3], (2, 3)),
        ([3.0, 2.0], (2.0, 3.0)),
        ([True, False], (False, True)),
        (["yes", "no"], ("no", "yes")),
        (["1", "2"], ("2", "1")),
        (np.array([b"a", b"b"]), (b"a", b"b")),
        (pd.Series(["b", "a"], dtype="category"), ("a", "b")),
        (pd.Series([True, False], dtype="boolean"), (False, True)),
        (pd.Series([5, 6], index=[9, 9]), (5, 6)),
        (np.array([1, "a"], dtype=object), ("a", 1)),
        (pd.Categorical([4, 3]), (3, 4)),
        (["nein", "ja", "nein"], ("nein", "ja")),
        (["alive", "dead", "dead"], ("dead", "alive")),
        (np.array([3, 3, 2]), (3, 2)),
        ([" Yes", "no", " Yes"], ("no", " Yes")),
        (["True", "False", "True"], ("False", "True")),
    ],
)
def test_which_label_is_positive(y: Any, classes: tuple[Any, Any]) -> None:
    signed, found = encode_labels(y)
    assert found == classes
    assert [type(label) for label in found] == [type(label) for label in classes]
    assert signed.dtype == np.int64
    assert signed.tolist() == [1 if label == classes[1] else -1 for label in list(y)]


@pytest.mark.parametrize(
    ("y", "positive", "classes"),
    [
        ([0, 1], 0, (1, 0)),
        ([0, 1], "0", (1, 0)),
        ([0, 1], 1.0, (0, 1)),
        ([0.0, 1.0], "0", (1.0, 0.0)),
        ([False, True], "False", (True, False)),
        ([False, True], 0, (True, False)),
        (["no", "yes"], "no", ("yes", "no")),
        (["1", "2"], 2, ("1", "2")),
    ],
)
def test_positive_chooses(y: list[Any], positive: Any, classes: tuple[Any, Any]) -> None:
    signed, found = encode_labels(y, positive)
    assert found == classes
    assert signed[y.index(classes[1])] == 1


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed"),
        ([1, 1], r"1 class\(es\) \(1\)"),
        ([], r"0 class\(es\)"),
        ([0, 1, 2], "type of the target is multiclass: 3 distinct labels"),
        ([0.5, 1.5, 2.5], "Unknown label type: continuous"),
        ([0, 1, np.nan], "1 missing label.*row.* 2"),
        (pd.Series(["a", None, "b"]), "1 missing label"),
        (pd.Series([1, 0, pd.NA], dtype="Int64"), "1 missing label"),
        ([0.0, np.inf], "infinity"),
        (np.zeros((3, 2)), "1d array"),
        (5, "1d array"),
        (pd.Series([[1], [2]]), "Unknown label type"),
    ],
)
def test_refused_labels(y: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        encode_labels(y)


def test_unknown_positive() -> None:
    with pytest.raises(DataError, match="'maybe' is not a label; the labels are 'no', 'yes'"):
        encode_labels(["no", "yes"], "maybe")


def test_a_column_vector_is_accepted_with_a_warning() -> None:
    with pytest.warns(DataConversionWarning, match="column-vector"):
        signed, _ = encode_labels(np.array([[0], [1]]))
    assert signed.tolist() == [-1, 1]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("class_weight", ["balanced", {"a": 3.0, "b": 0.5}, {"b": 2}, None])
def test_class_weights_agree_with_repeated_rows(seed: int, class_weight: Any) -> None:
    """Whole sample weights are repeated rows, for which scikit-learn states the weights."""
    rng = np.random.default_rng(seed)
    y = np.array(["a", "b", *rng.choice(["a", "b"], 10)])
    times = np.concatenate([[1, 1], rng.integers(0, 4, 10)])
    X = np.arange(12.0)[:, None]
    design = make_design(X, y, sample_weight=times, class_weight=class_weight)
    repeated = np.repeat(np.arange(12), times)
    parts = compute_sample_weight(class_weight, y[repeated])
    np.testing.assert_allclose(design.weight, np.bincount(repeated, parts, minlength=12))


def test_class_weight_of_a_label_written_otherwise() -> None:
    X, y = [[1], [2]], [False, True]
    for class_weight in ({1: 3.0}, {True: 3.0}, {"True": 3.0}):
        assert make_design(X, y, class_weight=class_weight).weight.tolist() == [1.0, 3.0]


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("even", "class_weight='even' is unknown"),
        ({0: -1}, "class_weight of 0 is -1"),
        ({0: np.nan}, "class_weight of 0 is nan"),
        ({0: np.inf}, "class_weight of 0 is inf"),
        ({0: "x"}, "use a number"),
        ({2: 1.0}, "names 2; the labels are"),
        ({0: 0}, "class 0 has no row of positive weight"),
        ([1, 2], "None, 'balanced', or a dict"),
    ],
)
def test_refused_class_weights(class_weight: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        make_design([[1], [2]], [0, 1], class_weight=class_weight)


@pytest.mark.parametrize(
    ("sample_weight", "message"),
    [
        ([1, -1], r"row\(s\) 1 \(counted from 0\) are not"),
        ([1, np.nan], "finite and non-negative"),
        ([1, np.inf], "finite and non-negative"),
        ([0, 0], "every sample_weight is zero"),
        ([1, 1, 1], r"shape \(3,\)"),
        ([[1], [1]], r"shape \(2, 1\)"),
        (["a", 1], "must hold numbers"),
        ([1, 0], "class 1 has no row of positive weight"),
    ],
)
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_refused_sample_weights(sample_weight: Any, message: str, class_weight: Any) -> None:
    with pytest.raises(DataError, match=message):
        make_design([[1], [2]], [0, 1], sample_weight=sample_weight, class_weight=class_weight)


def test_weights_are_copied() -> None:
    weight = np.array([1.0, 2.0])
    design = make_design([[1], [2]], [0, 1], sample_weight=weight)
    weight[:] = 9
    assert design.weight.tolist() == [1.0, 2.0]
