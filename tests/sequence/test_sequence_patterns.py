"""Patterns: what each line sees, its errors; vocabularies; sequences as users give them."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milpscore.core.errors import DataError
from milpscore_sequence.coding import Occurrences, Vocabulary, as_tokens, check_labels, observe
from milpscore_sequence.patterns import (
    default_patterns,
    parse_patterns,
    resolve_patterns,
)

X = [[("The", "D"), ("Cat-9", "N"), ("sat", "V")], [("Go", "V")]]


def seen(line: str, data: Any = X) -> list[str]:
    """What one unigram pattern observes at each position."""
    unigrams, _ = observe(parse_patterns(line), as_tokens(data))
    order = np.argsort(unigrams.positions, kind="stable")
    return [unigrams.names[code] for code in unigrams.codes[order]]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("u1:%x[0,0]", ["u1:The", "u1:Cat-9", "u1:sat", "u1:Go"]),
        ("U1:%x[0,1]", ["U1:D", "U1:N", "U1:V", "U1:V"]),
        ("u:w=%X[0,0]", ["u:w=the", "u:w=cat-9", "u:w=sat", "u:w=go"]),
        ("u1:%x[-1,0]", ["u1:_B-1", "u1:The", "u1:Cat-9", "u1:_B-1"]),
        ("u1:%x[+2,1]", ["u1:V", "u1:_B+1", "u1:_B+2", "u1:_B+2"]),
        ("u1:%X[-2,0]", ["u1:_B-2", "u1:_B-1", "u1:the", "u1:_B-2"]),
        ("u1:%x[-1,1]/%x[0,1]", ["u1:_B-1/D", "u1:D/N", "u1:N/V", "u1:_B-1/V"]),
        ('u1:%t[0,0,"^\\u\\l*$"]', ["u1:true", "u1:false", "u1:false", "u1:true"]),
        ('u1:%t[-1,0,"^."]', ["u1:false", "u1:true", "u1:true", "u1:false"]),
        ('u1:%m[0,0,"^.?.?"]', ["u1:Th", "u1:Ca", "u1:sa", "u1:Go"]),
        ('u1:%M[0,0,"^.?.?"]', ["u1:th", "u1:ca", "u1:sa", "u1:go"]),
        ('u1:%m[0,0,"\\d+$"]', ["u1:", "u1:9", "u1:", "u1:"]),
        ('u1:%m[1,0,"\\p"]', ["u1:-", "u1:", "u1:_B+1", "u1:_B+1"]),
        ('u1:%t[0,0,"[\\p\\d]"]', ["u1:false", "u1:true", "u1:false", "u1:false"]),
        ('u1:%t[0,0,"\\A"]', ["u1:false", "u1:true", "u1:false", "u1:false"]),
        ('u1:%t[0,0,"a#|\\""] # quotes keep a #', ["u1:false"] * 4),
        ("u:%x[0,1]", ["u:%x[0,1]=D", "u:%x[0,1]=N", "u:%x[0,1]=V", "u:%x[0,1]=V"]),
        ("u:bias", ["u:bias"] * 4),
    ],
)
def test_what_a_line_sees(line: str, expected: list[str]) -> None:
    assert seen(line) == expected


def test_classes_know_letters_beyond_ascii() -> None:
    assert seen('u1:%t[0,0,"^\\u\\l\\a$"]', [["Été", "été", "E9t"]]) == [
        "u1:true",
        "u1:false",
        "u1:false",
    ]


def test_against_a_plain_loop() -> None:
    rng = np.random.default_rng(0)
    data = [[(f"w{a}", f"p{a % 3}") for a in rng.integers(0, 9, n)] for n in (5, 0, 1, 7)]
    lines = ["u1:%x[-2,0]|%x[1,1]", "*2:%x[0,0]", "b3:%x[-1,1]", "b"]
    unigrams, bigrams = observe(parse_patterns(lines), as_tokens(data))

    def token(sequence: list[tuple[str, str]], at: int, column: int) -> str:
        if at < 0:
            return f"_B{at}"
        return sequence[at][column] if at < len(sequence) else f"_B+{at - len(sequence) + 1}"

    want_u, want_b, place = set(), set(), 0
    for sequence in data:
        for t in range(len(sequence)):
            both = f"*2:{token(sequence, t, 0)}"
            want_u |= {(place, f"u1:{token(sequence, t - 2, 0)}|{token(sequence, t + 1, 1)}")}
            want_u |= {(place, both)}
            if t > 0:
                want_b |= {(place, f"b3:{token(sequence, t - 1, 1)}"), (place, both), (place, "b")}
            place += 1
    for found, want in ((unigrams, want_u), (bigrams, want_b)):
        names = [found.names[code] for code in found.codes]
        assert set(zip(found.positions.tolist(), names, strict=True)) == want


def test_rows_that_are_one_object_are_those_of_equal_objects() -> None:
    rows = [("a", "x"), ("b", "x"), ("a", "x")]
    shared = [[rows[k] for k in at] for at in ((0, 1, 0), (2, 1, 1))]
    apart = [[list(row) for row in sequence] for sequence in shared]
    for one, two in zip(as_tokens(shared).columns, as_tokens(apart).columns, strict=True):
        assert one.values == two.values
        np.testing.assert_array_equal(one.codes, two.codes)
    wrong = ("c", 3)
    with pytest.raises(DataError, match="sequence 0, position 2: the token 3"):
        as_tokens([[rows[0], rows[0], wrong], [wrong]])


def test_default_patterns_are_both_kinds_of_every_column() -> None:
    lines = [pattern.line for pattern in default_patterns(2)]
    assert lines == ["u:%x[0,0]", "b:%x[0,0]", "u:%x[0,1]", "b:%x[0,1]", "b"]
    assert [pattern.plain for pattern in default_patterns(1)] == [False, False, True]


def test_comments_and_blank_lines_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    path.write_text("# head\n\n  u1:%x[0,0]  # the word\n   # more\nb\n", encoding="utf-8")
    assert [pattern.line for pattern in resolve_patterns(path, 1)] == ["u1:%x[0,0]", "b"]
    assert resolve_patterns(path, 1) == resolve_patterns("u1:%x[0,0]\nb", 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x:%x[0,0]", "line 1: 'x:%x[0,0]' begins with 'x'; a pattern begins with u, b or *"),
        ("b\n\nu:%x[0]", "line 3: '%x[0]' is not a reference; expected %x[row,col]"),
        ("u:%y[0,0]", "expected %x[row,col], %m[row,col,"),
        ("u:100%", "'%' is not a reference"),
        ("u:%x[0,-1]", "is not a reference"),
        ('u:%x[0,0,"a"]', "%x takes no regular expression"),
        ("u:%t[0,0]", "%t needs a regular expression"),
        ('u:%m[0,0,"("]', "'(' is not a regular expression (missing )"),
        ('u:%t[0,0,"[\\U]"]', "cannot stand between brackets"),
        ("b\nu:x\nb:again", "line 3: 'b:again' is a second bigram without references, after line"),
        ("# nothing", "there is no pattern; write a line such as"),
    ],
)
def test_errors_name_file_and_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "my patterns.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(message)) as caught:
        resolve_patterns(path, 1)
    assert "my patterns.txt" in str(caught.value)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    path.write_bytes(b"u:\xe9")
    with pytest.raises(DataError, match="line 1: byte 0xe9 is not UTF-8"):
        resolve_patterns(path, 1)
    with pytest.raises(DataError, match="cannot read"):
        resolve_patterns(tmp_path / "none.txt", 1)


def test_a_column_that_is_not_there() -> None:
    with pytest.raises(DataError, match="refers to column 2, but the sequences have 2"):
        resolve_patterns(["u:%x[0,2]"], 2)


def test_equal_texts_are_one_observation_and_count_once() -> None:
    data = [["a", "a", "b"]]
    unigrams, _ = observe(parse_patterns("u:w=%x[-1,0]\nu:w=%x[0,0]"), as_tokens(data))
    vocabulary = Vocabulary.learn(unigrams)
    ptr, ids = vocabulary.encode(unigrams, 3)
    names = [{vocabulary.names[i] for i in ids[a:b]} for a, b in itertools.pairwise(ptr)]
    assert names == [{"u:w=_B-1", "u:w=a"}, {"u:w=a"}, {"u:w=a", "u:w=b"}]
    assert ptr.tolist() == [0, 2, 3, 5]


def test_vocabulary_drops_what_training_did_not_see() -> None:
    patterns = parse_patterns("u1:%x[0,0]\nb2:%x[0,0]\nb")
    unigrams, bigrams = observe(patterns, as_tokens([["a", "b", "a"], ["c"]]))
    first, second = Vocabulary.learn(unigrams), Vocabulary.learn(bigrams)
    assert first.names == ("u1:a", "u1:b", "u1:c")
    # c only ever opens a sequence, where no bigram is
    assert second.names == ("b2:a", "b2:b", "b")
    unigrams, bigrams = observe(patterns, as_tokens([["z", "a", "z"]]))
    assert first.encode(unigrams, 3)[1].tolist() == [0]
    ptr, ids = second.encode(bigrams, 3)
    assert (ptr.tolist(), ids.tolist()) == ([0, 0, 2, 3], [0, 2, 2])


def test_min_count_counts_positions() -> None:
    counted = Occurrences(["a", "b"], np.array([0, 0, 1, 2]), np.array([0, 0, 1, 1]))
    assert Vocabulary.learn(counted, 2).names == ("b",)
    assert Vocabulary.learn(counted, 3).names == ()


def test_named_features_as_sklearn_crfsuite_writes_them() -> None:
    data = [[{"word": "a", "title": True, "digit": False, "one": 1, "no": 0}, {"word": "b"}]]
    unigrams, bigrams = observe((), as_tokens(data))
    assert unigrams.names == ["word:a", "title", "one", "word:b"]
    assert unigrams.positions.tolist() == [0, 0, 0, 1]
    assert (bigrams.names, bigrams.positions.tolist()) == (["b"], [1])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("abc", "X must be a list of sequences, got str"),
        (["abc"], r"X\[0\] is a str, not a list of positions: .* use list\(X\[0\]\)"),
        ([["a"], [1]], "sequence 1, position 0: the token 1 is a int where a text"),
        ([["a", ("a",)]], "sequence 0, position 1"),
        ([[("a", "b")], [("a",)]], "sequence 1, position 0 has 1 columns where .* has 2"),
        ([[("a", 3)]], "sequence 0, position 0: the token 3 is a int"),
        ([[()]], "at least one"),
        ([["a", {"w": "a"}]], "sequence 0, position 1"),
        ([[{"w": "a"}, "a"]], "where a mapping of features was expected"),
        ([[{"w": 0.5}]], "the feature 'w' is the number 0.5; .* cut numbers into classes"),
        ([[{"w": ["a"]}]], "the feature 'w' is a list"),
        ([[{3: "a"}]], "the feature name 3 is not text"),
    ],
)
def test_refused_sequences(data: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        as_tokens(data)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([["A"]], "y has 1 sequences of labels for 2"),
        ([["A"], ["A"]], "sequence 0 has 2 positions and 1 labels"),
        ([["A", 1], ["A"]], "sequence 0, position 1: the label 1 is a int"),
        ([["A", "B"], "A"], r"y\[1\] is a str"),
    ],
)
def test_refused_labels(labels: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        check_labels(labels, np.array([0, 2, 3]))
