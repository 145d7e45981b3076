"""Reading tables: clean names, the target, missing values, cut points from files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from milpscore.core.errors import DataError, OptionError
from milpscore.data import encode_labels, make_design, read_frame, read_table, read_thresholds


def write(tmp_path: Path, text: str, name: str = "data.csv", encoding: str = "utf-8") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_file_is_split(tmp_path: Path, separator: str, encoding: str) -> None:
    text = "label, Age ,größe\n0,30,1.5\n1,40,2.5\n".replace(",", separator)
    X, y = read_table(write(tmp_path, text, encoding=encoding), "label")
    assert list(X.columns) == ["Age", "größe"]
    assert X.to_numpy().tolist() == [[30, 1.5], [40, 2.5]]
    assert y.tolist() == [0, 1]
    assert y.name == "label"


def test_a_frame_reads_like_its_file(tmp_path: Path) -> None:
    frame = pd.DataFrame({"y": ["no", "yes"], "a": [1.0, 2.0], "b": ["u", "v"]})
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    before = frame.copy()
    for reread, given in zip(read_table(str(path), " y "), read_table(frame, "y"), strict=True):
        assert isinstance(given, pd.DataFrame | pd.Series)
        assert reread.to_csv() == given.to_csv()
    pd.testing.assert_frame_equal(frame, before)


def test_a_quoted_header_may_hold_the_separator(tmp_path: Path) -> None:
    path = write(tmp_path, '"y","Age, years"\n0,1\n1,2\n')
    assert list(read_frame(path).columns) == ["y", "Age, years"]


def test_names_that_are_not_text_become_text() -> None:
    frame = pd.DataFrame([[0, 5], [1, 6]], columns=[7, 25])
    X, y = read_table(frame, "7")
    assert list(X.columns) == ["25"]
    assert y.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (",y,a\n0,0,2\n1,1,4\n", "column number 1 has no name.*row index, drop it"),
        ("y,a,\n0,1,2\n1,3,4\n", "column number 3 has no name"),
        ("y,a\n0,1,2\n1,3,4\n", "more fields than the header"),
        ("y,a\n0,1\n1,3,4\n", "cannot read|more fields"),
        ("y,a\n0,1,2,3\n1,3,4,5\n", "more fields than the header"),
        ("y,a\n", "no rows below it"),
        ("", "cannot read"),
        ("y\n0\n1\n", "no column is left"),
        ("Y,a\n0,1\n1,2\n", "no column 'y'; did you mean 'Y'"),
        ("label,a\n0,1\n1,2\n", "no column 'y'; the columns are 'label', 'a'"),
        ("y,a\n0,1\n,2\n", "1 missing label"),
        ("y,a\n0,1\n0,2\n", "in all 2 row"),
        ("y,a\n0,1\n1,2\n2,2\n", "3 distinct labels.*positive="),
    ],
)
def test_refused_files(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_table(write(tmp_path, text), "y")


def test_missing_values_pass_unless_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "y,a,b\n0,1,\n1,,\n")
    X, _ = read_table(path, "y")
    assert X.isna().sum().tolist() == [1, 2]
    with pytest.raises(DataError, match=r"'a' \(1\), 'b' \(2\).*missing='bin'"):
        read_table(path, "y", missing="error")


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot read .*absent\.csv.*Check the path"):
        read_frame(tmp_path / "absent.csv")
    with pytest.raises(DataError, match=r"not in UTF-8 \(byte 0xf6\)\. Save it as UTF-8"):
        read_frame(write(tmp_path, "y,größe\n0,1\n", encoding="latin-1"))


def test_near_matches_are_named() -> None:
    frame = pd.DataFrame({"Malignant": [0, 1], "Age": [1, 2]})
    with pytest.raises(DataError, match="did you mean 'Malignant'"):
        read_table(frame, "malignent")


def test_missing_values_pass_where_a_bin_is_promised() -> None:
    frame = pd.DataFrame({"y": [0, 1], "a": [1, None]})
    X, _ = read_table(frame, "y", missing="bin")
    assert X["a"].isna().tolist() == [False, True]
    with pytest.raises(OptionError, match="missing='drop'"):
        read_table(frame, "y", missing="drop")  # type: ignore[call-overload]


def test_weights_are_no_feature() -> None:
    frame = pd.DataFrame({"y": [0, 1], "w": [2.0, 3.0], "a": [1, 5]})
    X, y, weight = read_table(frame, "y", weights="w")
    assert list(X.columns) == ["a"]
    assert y.tolist() == [0, 1]
    assert weight.tolist() == [2.0, 3.0]
    with pytest.raises(DataError, match="no column 'v'"):
        read_table(frame, "y", weights="v")
    with pytest.raises(DataError, match="both the labels and the weights"):
        read_table(frame, "y", weights="y")


def test_positive_is_checked() -> None:
    frame = pd.DataFrame({"y": ["a", "b"], "x": [1, 2]})
    read_table(frame, "y", positive="a")
    with pytest.raises(DataError, match="positive='c'"):
        read_table(frame, "y", positive="c")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cuts.json", '{"Age": [45, 30, 30], " Dose ": [0.5]}'),
        ("cuts.txt", '{"Age": [30, 45], "Dose": [0.5]}'),
        ("cuts.csv", "feature,threshold\nAge,30\nAge,45\n\nDose,0.5\n"),
        ("cuts.csv", "Feature , Threshold\r\nAge, 45\r\nDose,.5\r\nAge,3e1\r\n"),
    ],
)
def test_thresholds_are_read(tmp_path: Path, name: str, text: str) -> None:
    assert read_thresholds(write(tmp_path, text, name)) == {"Age": [30.0, 45.0], "Dose": [0.5]}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", '{"Age": [30', "not JSON"),
        ("a.json", "[30]", "an object is expected"),
        ("a.json", "{}", "not one cut point"),
        ("a.json", '{"Age": 30}', "must be a list"),
        ("a.json", '{"Age": "30"}', "must be a list"),
        ("a.json", '{"Age": []}', "'Age' are empty"),
        ("a.json", '{"Age": [true]}', "True of 'Age'"),
        ("a.json", '{"Age": [null]}', "None of 'Age'"),
        ("a.json", '{"Age": [NaN]}', "nan of 'Age'"),
        ("a.json", '{"Age": [1], "Age": [2]}', "'Age' occur twice"),
        ("a.csv", "Age,30\n", "first line must be feature,threshold"),
        ("a.csv", "", "first line must be"),
        ("a.csv", "feature,threshold\n", "not one cut point"),
        ("a.csv", "feature,threshold\nAge,30,45\n", "line 2 has 3 fields"),
        ("a.csv", "feature,threshold\nAge,old\n", "'old' of 'Age'"),
        ("a.csv", "feature,threshold\nAge,inf\n", "'inf' of 'Age'"),
    ],
)
def test_refused_thresholds(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read_thresholds(write(tmp_path, text, name))
    assert name in str(caught.value)


def test_thresholds_file_is_absent(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot read thresholds"):
        read_thresholds(tmp_path / "absent.json")


def test_frame_with_unusable_columns() -> None:
    with pytest.raises(DataError, match="several levels"):
        read_frame(pd.DataFrame(np.ones((1, 2)), columns=[["a", "a"], ["b", "c"]]))
    unnamed = pd.DataFrame({"y": [0, 1], "a": [1, 2], None: [1, 1]})
    with pytest.raises(DataError, match="column number 3 has no name"):
        read_table(unnamed, "y")
    assert list(read_table(unnamed, "y", drop=["#3"])[0]) == ["a"]
    assert list(read_frame(unnamed)) == ["y", "a", "#3"]


def test_names_used_again_are_numbered_and_copies_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a, y,a,a ,a.2,,,\n1,0,2,1,5,,,7\n3,1,4,3,6,,,8\n")
    assert list(read_frame(path)) == ["a", "y", "a.3", "a.4", "a.2", "#6", "#7", "#8"]
    X, _ = read_table(path, "y", drop=["#8"])
    assert list(X) == ["a", "a.3", "a.2"]
    said = " ".join(make_design(X, [0, 1]).warnings)
    assert "without name and value: '#6', '#7'; 'a.4', a copy of 'a'." in said
    assert "used again are numbered: 'a.3'" in said
    assert list(read_table(path, "#2", features=["#4", "a.3"])[0]) == ["a.4", "a.3"]
    with pytest.raises(DataError, match=r"number 8 has no name.*--drop #8"):
        read_table(path, "y")


def test_lines_of_other_lengths_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('y,a,b\n0,"1\n",2\n1,3\n\n1,5,6\n')
    X, y = read_table(path, "y")
    assert any("(3): line 4 has 2;" in text for text in make_design(X.fillna(0), y).warnings)
    path.write_text("y,a,b\n0,1,2\n1,3,4,5\n1,5,6\n")
    with pytest.raises(DataError, match=r"more fields.*\(3\): line 3 has 4"):
        read_table(path, "y")


def test_decimal_signs_and_encodings(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes("größe;ort;y\n1,5;Köln;0\n2,25;Zürich;1\n".encode("cp1252"))
    X, y = read_table(path, "y", decimal=",", encoding="cp1252")
    assert X["größe"].tolist() == [1.5, 2.25]
    assert X["ort"].tolist() == ["Köln", "Zürich"]
    assert y.tolist() == [0, 1]
    with pytest.raises(DataError, match=r"UTF-8 .*0xf6.*encoding='cp1252'"):
        read_table(path, "y")
    for option in ({"decimal": ";"}, {"encoding": "klingon"}):
        with pytest.raises(OptionError, match="is unknown; use"):
            read_table(path, "y", **option)
    path.write_bytes("a;y\n1,5;0\n2,25;1\n".encode("utf-16"))
    assert read_frame(path, decimal=",", encoding="utf-16")["a"].tolist() == [1.5, 2.25]


def test_features_are_chosen_or_left_out() -> None:
    frame = pd.DataFrame({"id": [7, 8], "a": [1, 2], "b": [3, np.nan], "w": [1, 2], "y": [0, 1]})
    X, _, weight = read_table(frame, "y", weights="w", drop=["id", " b "])
    assert (list(X), weight.tolist()) == (["a"], [1, 2])  # b may be missing, it is not read
    assert list(read_table(frame, "y", features=["a", "id"])[0]) == ["a", "id"]
    for given, words in (
        ({"drop": ["c"]}, "no column 'c'"),
        ({"features": ["y"]}, "'y' is named for two uses"),
        ({"features": ["a"], "drop": ["a"]}, "'a' is named for two uses"),
        ({"drop": ["id", "a", "b", "w"]}, "no column is left"),
    ):
        with pytest.raises(DataError, match=words):
            read_table(frame, "y", **given)


def test_one_label_against_all_others() -> None:
    frame = pd.DataFrame({"a": range(6), "y": [0, 1, 2, 0, 1, 2]})
    for positive in (2, "2"):
        _, y = read_table(frame, "y", positive=positive)
        assert y.tolist() == ["not 2", "not 2", "2"] * 2
        assert encode_labels(y, positive)[1] == ("not 2", "2")
    with pytest.raises(DataError, match="positive=3 is not a label of 'y'; there are '0', '1'"):
        read_table(frame, "y", positive=3)


def test_missing_labels_and_weights_are_counted_as_lines(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text('a,w,y\n\n"two\nlines",1,0\nx,-1,1\nx,much,1\nx,1,\n')
    with pytest.raises(DataError, match=r"'y' has 1 missing label.* line of the file 7:"):
        read_table(path, "y")
    path.write_text(path.read_text().rstrip() + "1\n")
    with pytest.raises(DataError, match=r"'w' has 2 value.* line of the file 5, 6:"):
        read_table(path, "y", weights="w")
    with pytest.raises(DataError, match=r"'y' has 1 missing label.*row\(s\) 1 \(counted from 0\):"):
        read_table(frame := pd.DataFrame({"a": [1, 2], "y": [1, None]}), "y")
    frame.to_csv(tmp_path / "data.csv.gz", index=False)
    with pytest.raises(DataError, match=r"'y' has 1 missing label.*row\(s\) 2 \(counted from 1\):"):
        read_table(tmp_path / "data.csv.gz", "y")
