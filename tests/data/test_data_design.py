"""Designs from raw tables: kinds of columns, refusals, remarks."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from milpscore.core.design import Column
from milpscore.core.errors import DataError, SizeError
from milpscore.data import Binner, make_design
from milpscore.data.checking import MAX_CELLS
from milpscore.estimators import RiskScoreClassifier
from milpscore.penalties import L1
from milpscore.proximal import fit_proximal

Y = [0, 1]


@pytest.mark.parametrize(
    "X",
    [
        [[1, 2.5], [3, -4]],
        np.array([[1, 2.5], [3, -4]]),
        np.array([[1, 2.5], [3, -4]], dtype=object),
        sparse.csr_matrix([[1, 2.5], [3, -4]]),
        sparse.coo_array([[1, 2.5], [3, -4]]),
        pd.DataFrame({"x0": [1, 3], "x1": [2.5, -4]}),
        pd.DataFrame({" x0": [1, 3], "x1 ": [Decimal("2.5"), Decimal(-4)]}),
        pd.DataFrame({"x0": [1, 3], "x1": [2.5, -4]}, index=[7, 7]),
        pd.DataFrame({"x0": [1, 3], "x1": [2.5, -4]}).convert_dtypes(),
        pd.DataFrame({"x0": [1, 3], "x1": [2.5, -4]}).astype(pd.SparseDtype("float64")),
    ],
)
def test_every_form_of_a_table_is_one_design(X: Any) -> None:
    design = make_design(X, Y)
    assert design.X.tolist() == [[1, 2.5], [3, -4]]
    assert design.X.dtype == np.float64
    assert design.X.flags.c_contiguous
    assert design.columns == (Column("x0", "x0"), Column("x1", "x1"))
    assert design.y.tolist() == [-1, 1]
    assert design.weight.tolist() == [1, 1]
    assert design.blocks == ()
    blank = isinstance(X, pd.DataFrame) and " x0" in X  # SQL is told that these have other names
    assert len(design.warnings) == blank


def test_the_data_are_copied() -> None:
    X = np.array([[1.0], [2.0]])
    design = make_design(X, Y)
    X[:] = 9
    assert design.X.tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        (["m", "f"], {"s = f": [0, 1], "s = m": [1, 0]}),
        ([True, False], {"s = False": [0, 1], "s = True": [1, 0]}),
        (pd.Series([True, False], dtype="boolean"), {"s = False": [0, 1], "s = True": [1, 0]}),
        (pd.Series([True, False], dtype=object), {"s = False": [0, 1], "s = True": [1, 0]}),
        (pd.Categorical([3, 10]), {"s = 3": [1, 0], "s = 10": [0, 1]}),
        (
            pd.Categorical(["lo", "hi"], ["lo", "mid", "hi"], ordered=True),
            {"s = lo": [1, 0], "s = mid": [0, 0], "s = hi": [0, 1]},
        ),
        (pd.Series([1, "a"], dtype=object), {"s = 1": [1, 0], "s = a": [0, 1]}),
    ],
)
def test_categories_become_columns(series: Any, expected: dict[str, list[int]]) -> None:
    design = make_design(pd.DataFrame({"s": series, "n": [5, 6]}), Y)
    assert dict(zip(design.names, design.X.T.tolist(), strict=True)) == {**expected, "n": [5, 6]}
    assert {c.kind for c in design.columns[:-1]} == {"category"}
    assert {c.feature for c in design.columns[:-1]} == {"s"}
    assert design.columns[-1] == Column("n", "n")


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (None, "X is None"),
        ([1, 2], "Reshape your data"),
        (pd.Series([1, 2]), "Reshape your data"),
        (np.ones((2, 1, 1)), "3 dimension"),
        ([[1, 2], [3]], "differ in length"),
        (np.empty((2, 0)), r"0 feature\(s\) \(shape=\(2, 0\)\)"),
        (np.empty((0, 2)), "0 row"),
        ([[1], [2], [3]], "X has 3 rows but y has 2"),
        ([[1], [np.inf]], "'x0' holds 1 infinite"),
        ([[1], [2**53 + 1]], "'x0' holds whole numbers beyond 2\\^53 .9007199254740993. that"),
        (pd.DataFrame({"a": pd.array([2**63 - 1, 0], "Int64")}), "Subtract a constant"),
        ([[1, 1], [np.nan, 2]], r"NaN.*'x0' \(1\).*missing='bin'"),
        (pd.DataFrame({"a": ["u", None]}), r"'a' \(1\)"),
        (pd.DataFrame({"a": pd.array([1, pd.NA], dtype="Int64")}), r"'a' \(1\)"),
        (np.array([[1j], [2]]), "Complex data not supported"),
        (pd.DataFrame({"d": pd.to_datetime(["2020-01-01", "2021-01-01"])}), "'d' holds datetime"),
        (pd.DataFrame({"d": pd.to_timedelta([1, 2])}), "'d' holds timedelta"),
        (pd.DataFrame({"d": [{"a": 1}, {"b": 2}]}), "neither numbers nor text"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "more than once: 'a'"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["1", 1]), "more than once: '1'"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", " "]), "number 2 has no name"),
        (pd.DataFrame({"a": ["b = c", "d"], "a = b": ["c", "d"]}), "both be called 'a = b = c'"),
    ],
)
def test_refused_tables(X: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        make_design(X, Y)


def test_all_columns_with_missing_values_are_named() -> None:
    frame = pd.DataFrame(np.full((2, 8), np.nan))
    with pytest.raises(DataError, match=r"'0' \(2\).*'4' \(2\) and 3 more"):
        make_design(frame, Y)


def test_too_large_is_refused_with_an_estimate() -> None:
    rows = MAX_CELLS // 100
    with pytest.raises(SizeError, match=r"would hold 500000 x 101 values, 0.4 GB"):
        make_design(sparse.csr_matrix((rows, 101)), Y)
    frame = pd.DataFrame({"id": [f"p{k}" for k in range(10_000)]})
    with pytest.raises(SizeError, match="10000 x 10000"):
        make_design(frame, np.arange(10_000) % 2)


def test_constant_and_duplicate_columns_are_named() -> None:
    X = pd.DataFrame({"a": [0.0, 1], "one": [1, 1], "b": [-0.0, 1], "c": [1, 0], "d": [0, 1]})
    constant, duplicate = make_design(X, Y).warnings
    assert constant.endswith("'one'")
    assert duplicate.endswith("'b' equals 'a', 'd' equals 'a'")
    wide = make_design(np.ones((2, 9)), Y).warnings
    assert wide[0].endswith("and 4 more")
    assert wide[1].endswith("and 3 more")


def test_numbers_spoilt_by_a_mark_are_noticed() -> None:
    X = pd.DataFrame({"age": ["30", "40", "old", "50"], "grade": ["a", "b", "1", "c"]})
    remarks = make_design(X, [0, 1, 0, 1]).warnings
    assert "column 'age' is text, though most of its values are numbers; not so 'old'" in remarks[0]
    assert not any("grade" in remark and "text" in remark for remark in remarks)


def test_decimal_commas_are_numbers() -> None:
    X = pd.DataFrame({"lactate": ["1,5", "0,7", "<0,5", "12,5"], "x": [1.0, 2.0, 3.0, 4.0]})
    design = make_design(X, [0, 1, 0, 1])
    assert design.X[:, 0].tolist() == [1.5, 0.7, 0.25, 12.5]
    assert any("'lactate' is read as numbers" in remark for remark in design.warnings)
    rows = [f"{k % 7},{k}" for k in range(40)]
    X = pd.DataFrame({"dose": rows, "few": ["1,5", "2"] * 20, "x": [0.5, 1.5] * 20})
    binner = Binner()
    binner.fit_design(X, [0, 1] * 20)
    assert {c.kind for c in binner.columns_} == {"step"}
    assert {c.feature for c in binner.columns_} == {"dose", "few"}
    plain = X.assign(dose=X.dose.str.replace(",", ".").astype(float), few=[1.5, 2.0] * 20)
    np.testing.assert_array_equal(binner.transform(X), binner.transform(plain))


def test_what_a_mask_hides_is_missing() -> None:
    hidden = np.ma.masked_array([[1, 2], [3, 999], [5, 6]], [[0, 0], [0, 1], [0, 0]])
    with pytest.raises(DataError, match=r"missing values.*'x1' \(1\)"):
        make_design(hidden, [0, 1, 1])
    design = Binner().fit_design(hidden, [0, 1, 1])
    assert design.X[:, [c.kind == "missing" for c in design.columns]].ravel().tolist() == [0, 1, 0]
    with pytest.raises(DataError, match=r"1 missing label.*row\(s\) 2"):
        make_design(hidden.data, np.ma.masked_array([0, 1, 7], [0, 0, 1]))
    weights = np.ma.masked_array([1.0, 2.0, 9.0], [0, 1, 0])
    with pytest.raises(DataError, match=r"finite.*row\(s\) 1"):
        make_design(hidden.data, [0, 1, 1], sample_weight=weights)
    with pytest.raises(DataError, match="missing or infinite"):
        fit_proximal(hidden, [0, 1, 1], penalty=L1(0.1))
    with pytest.raises(DataError, match="1 missing label"):
        RiskScoreClassifier().fit(hidden.data, np.ma.masked_array([0, 1, 7], [0, 0, 1]))


def test_identifiers_are_noticed() -> None:
    X = pd.DataFrame({"id": [f"p{i}" for i in range(20)], "x": range(20)})
    assert any(
        "'id'" in remark and "identifier" in remark
        for remark in make_design(X, [0, 1] * 10).warnings
    )


def test_given_columns() -> None:
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
    binner = Binner(encoding="onehot").fit(X)
    for values in (binner.transform(X), np.asarray(binner.transform(X))):
        design = make_design(values, [0, 1, 1], columns=binner.columns_, blocks=binner.blocks_)
        assert design.columns == binner.columns_
        assert design.blocks == ((0, 1, 2),)
        np.testing.assert_array_equal(design.X, np.eye(3))
    with pytest.raises(DataError, match="X has 1 columns but 3 were described"):
        make_design(X, [0, 1, 1], columns=binner.columns_)
    with pytest.raises(DataError, match=r"'a < 2', .* must be 0 or 1"):
        make_design(2 * np.eye(3), [0, 1, 1], columns=binner.columns_)


@pytest.mark.parametrize("blocks", [[(0, 0)], [(0,), (0, 1)], [(2,)], [(-1,)], [()]])
def test_refused_blocks(blocks: Any) -> None:
    with pytest.raises(DataError, match="block"):
        make_design([[1, 0], [0, 1]], Y, blocks=blocks)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("mammo", (961, 14)),
        ("bankruptcy", (250, 6)),
        ("haberman", (306, 3)),
        ("mushroom", (8124, 113)),
    ],
)
def test_uci_sets(uci: Any, name: str, shape: tuple[int, int]) -> None:
    X, y = uci(name)
    design = make_design(X, y)
    assert design.shape == shape
    assert design.step == 1
    np.testing.assert_array_equal(design.X, X.to_numpy())
    np.testing.assert_array_equal(design.y > 0, y > 0)
