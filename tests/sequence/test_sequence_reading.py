"""Files of sequences, and the measures of what was predicted."""

from __future__ import annotations

import io
import random
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milpscore.core.errors import DataError, OptionError
from milpscore_sequence import (
    read_sequences,
    report,
    sequence_accuracy,
    span_scores,
    spans,
    token_accuracy,
    write_sequences,
)

TEXT = "The D B\nold  A\tI\n\n\n \nGo V O\r\n"


def written(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "data.txt"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_columns_and_label_last(tmp_path: Path) -> None:
    X, y = read_sequences(written(tmp_path, TEXT))
    assert X == [[("The", "D"), ("old", "A")], [("Go", "V")]]
    assert y == [["B", "I"], ["O"]]


def test_without_labels_and_with_a_mark_at_the_start(tmp_path: Path) -> None:
    path = written(tmp_path, b"\xef\xbb\xbfa\nb\n\nc")
    assert read_sequences(path, labelled=False) == ([[("a",), ("b",)], [("c",)]], None)


def test_a_no_break_space_is_part_of_a_token(tmp_path: Path) -> None:
    X, _ = read_sequences(written(tmp_path, "10\u00a0000 N\n"))
    assert X == [[("10\u00a0000",)]]


def test_tabs_leave_blanks_in_tokens(tmp_path: Path) -> None:
    X, y = read_sequences(written(tmp_path, "New York\tB\n\tO\n"), separator="\t")
    assert (X, y) == ([[("New York",), ("",)]], [["B", "O"]])


@pytest.mark.parametrize("separator", ["\t", " "])
def test_round_trip(separator: str, tmp_path: Path) -> None:
    X, y = read_sequences(written(tmp_path, TEXT))
    assert y is not None
    path = tmp_path / "again.txt"
    write_sequences(path, X, y, separator=separator)
    assert read_sequences(path) == (X, y)


def test_empty_columns_go_there_and_back_between_tabs(tmp_path: Path) -> None:
    X, y = [[("New York", "", "N"), ("", "", "x")], [("", "b", "")]], [["A", "B"], [""]]
    path = tmp_path / "again.txt"
    write_sequences(path, X, y)
    assert read_sequences(path, separator="\t") == (X, y)
    for nothing in ("", " "):
        with pytest.raises(DataError, match="sequence 1: a position of empty columns alone"):
            write_sequences(path, [["a"], [(nothing, "")]])


def test_columns_are_added_at_the_right() -> None:
    stream = io.StringIO()
    write_sequences(stream, [["a", "b"], ["c"]], [["A", "B"], ["C"]], [["1", "2"], ["3"]])
    assert stream.getvalue() == "a\tA\t1\nb\tB\t2\n\nc\tC\t3\n\n"


def test_lines_that_are_equal_are_one_row_and_every_label_stays_its_own(tmp_path: Path) -> None:
    X, y = read_sequences(written(tmp_path, "a x 1\nb x 2\n\na x 1\na x 2\n"))
    assert X == [[("a", "x"), ("b", "x")], [("a", "x"), ("a", "x")]]
    assert X[0][0] is X[1][0]
    assert y == [["1", "2"], ["1", "2"]]
    text = io.StringIO()
    write_sequences(text, [*X, []], [["3", "4"], ["4", "4"], []])
    assert text.getvalue() == "a\tx\t3\nb\tx\t4\n\na\tx\t4\na\tx\t4\n\n\n"


def test_a_wrong_token_is_found_wherever_it_stands() -> None:
    rng = random.Random(0)
    for wrong in ("a\tb", "\n", "a\r", "\t"):
        X = [[("a", "b")] * rng.randint(0, 3) for _ in range(20)]
        at = rng.choice([k for k, sequence in enumerate(X) if sequence])
        X[at][rng.randrange(len(X[at]))] = (wrong, "b")
        with pytest.raises(DataError, match=f"^sequence {at}: {re.escape(repr(wrong))}"):
            write_sequences(io.StringIO(), X)
    # a break in place of the line of an empty sequence
    with pytest.raises(DataError, match="sequence 1"):
        write_sequences(io.StringIO(), [[], ["a\n"]], [[], ["A"]])
    stream = io.StringIO()
    write_sequences(stream, [[], [("a", "b", "c"), ["d"]], []], [[], ["A", "B"], []])
    assert stream.getvalue() == "\na\tb\tc\tA\nd\tB\n\n\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a A\n\nb b B\n", "line 3: 3 columns where line 1 has 2: give every line the same"),
        ("a\nb\n", "has one column: with labels there are at least two, the label last"),
        ("\n \n", "holds no sequence"),
        (b"a A\nb\xe9 B\n", "line 2: byte 0xe9 is not UTF-8"),
    ],
)
def test_errors_name_file_and_line(content: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=re.escape(message)) as caught:
        read_sequences(written(tmp_path, content))
    assert "data.txt" in str(caught.value)


def test_more_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot read"):
        read_sequences(tmp_path / "none.txt")
    with pytest.raises(OptionError, match="separator=','"):
        read_sequences(written(tmp_path, TEXT), separator=",")
    for token in ("a b", "", "a\n"):
        with pytest.raises(DataError, match="cannot be written as one column"):
            write_sequences(io.StringIO(), [[(token, "b")]], separator=" ")
    with pytest.raises(DataError, match="sequence 0 has 1 positions and other numbers"):
        write_sequences(io.StringIO(), [["a"]], [["A", "B"]])
    with pytest.raises(OptionError, match="separator=';'"):
        write_sequences(io.StringIO(), [["a"]], separator=";")


def test_accuracies_by_hand() -> None:
    true, found = [["A", "B"], ["A"], []], [["A", "A"], ["A"], []]
    assert token_accuracy(true, found) == pytest.approx(2 / 3)
    assert sequence_accuracy(true, found) == pytest.approx(2 / 3)
    assert np.isnan(token_accuracy([], []))
    assert np.isnan(sequence_accuracy([], []))
    with pytest.raises(DataError, match="sequence 0 has 1 positions and 2 labels in y_pred"):
        token_accuracy([["A"]], [["A", "B"]])


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("B-X I-X O B-X B-X", [(0, 2, "X"), (3, 4, "X"), (4, 5, "X")]),  # IOB2
        ("I-X I-X B-X O I-Y I-X", [(0, 2, "X"), (2, 3, "X"), (4, 5, "Y"), (5, 6, "X")]),  # IOB1
        ("B-X I-X E-X S-X S-Y O", [(0, 3, "X"), (3, 4, "X"), (4, 5, "Y")]),  # BIOES
        ("E-X I-X S-X I-X", [(0, 1, "X"), (1, 2, "X"), (2, 3, "X"), (3, 4, "X")]),
        ("B-X I-Y E-Y", [(0, 1, "X"), (1, 3, "Y")]),
        ("B I O I", [(0, 2, ""), (3, 4, "")]),
        ("O O", []),
        ("", []),
        ("B-a-b I-a-b", [(0, 2, "a-b")]),
    ],
)
def test_spans_by_hand(labels: str, expected: list[tuple[int, int, str]]) -> None:
    assert spans(labels.split()) == expected


def test_span_scores_by_hand() -> None:
    # spans do not cross sequences: the second I-X begins one of its own
    true = [["B-X", "I-X"], ["I-X", "O"], ["B-Y", "O"]]
    found = [["B-X", "I-X"], ["I-X", "I-X"], ["B-X", "O"]]
    scores = span_scores(true, found)
    assert (scores["support"], scores["predicted"], scores["right"]) == (3, 3, 1)
    assert scores["precision"] == scores["recall"] == scores["f1"] == pytest.approx(1 / 3)
    with pytest.raises(DataError, match="the label 'NN' marks no span"):
        span_scores([["NN"]], [["NN"]])


def test_report_by_hand() -> None:
    table = report([["A", "A", "B"]], [["A", "B", "C"]]).set_index("name")
    assert (table["kind"] == "label").all()
    assert table["support"].to_dict() == {"A": 2, "B": 1, "C": 0}
    assert table["precision"].to_dict() == {"A": 1.0, "B": 0.0, "C": 0.0}
    assert table.loc["A", "recall"] == 0.5
    assert table.loc["A", "f1"] == pytest.approx(2 / 3)


def test_report_adds_spans_where_labels_mark_them() -> None:
    true, found = [["B-X", "O", "B-Y"]], [["B-X", "B-X", "O"]]
    table = report(true, found)
    by_name = table[table["kind"] == "span"].set_index("name")
    assert list(by_name.index) == ["X", "Y", "all"]
    assert by_name["f1"].tolist() == pytest.approx([2 / 3, 0, 0.5])
    assert set(report(true, found, by_span=False)["kind"]) == {"label"}
    with pytest.raises(DataError, match="marks no span"):
        report([["NN"]], [["NN"]], by_span=True)


@pytest.mark.parametrize(
    "text",
    [
        "a b\nc d\n\ne f\n",
        "\n\n a\tb \n\n\n \t \nc  d",
        "a b\r\nc d\r\n\r\ne f",
        "a\u00a0x b\nc \u00e9\n",
        "a\x0bx b\nc\x1cy d\n\ne\x1fz f\n",
        "a\rx b\nc d",
    ],
)
def test_fields_are_parted_by_blanks_and_tabs_alone(tmp_path, text):
    (tmp_path / "x.txt").write_bytes(text.encode())
    lines = [line.strip(" \t\r") for line in text.split("\n")]
    blank = [-1, *(at for at, line in enumerate(lines) if not line), len(lines)]
    wanted = [
        [tuple(re.split(r"[ \t]+", line)) for line in lines[a + 1 : b]]
        for a, b in pairwise(blank)
        if a + 1 < b
    ]
    rows, _ = read_sequences(tmp_path / "x.txt", labelled=False)
    assert rows == wanted
    X, y = read_sequences(tmp_path / "x.txt")
    assert [[row[:-1] for row in rows] for rows in wanted] == X
    assert y == [[row[-1] for row in rows] for rows in wanted]
