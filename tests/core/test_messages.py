"""One text in the words of Python and in those of a command."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from milpscore.cli.common import speller
from milpscore.core.errors import DataError, Message, MissingDependencyError, OptionError

OPTIONS = ("max_terms", "seed", "csv_encoding", "encoding")


@pytest.mark.parametrize(
    ("text", "arguments", "python", "command"),
    [
        ("{max_terms} is few", {"max_terms": 1}, "max_terms=1 is few", "--max-terms 1 is few"),
        ("raise {max_terms}", {"max_terms": ...}, "raise max_terms", "raise --max-terms"),
        ("no {random_state}", {"random_state": ...}, "no random_state", "no --seed"),
        ("take {loss}", {"loss": "mine"}, "take loss='mine'", "take --set loss=mine"),
        ("not {max_terms}", {"max_terms": None}, "not max_terms=None", "not --set max_terms=null"),
        ("{gamma} > {odd}", {"gamma": ..., "odd": 2}, "gamma > odd=2", "gamma > odd=2"),
        ("{encoding}", {"encoding": "cp1252"}, "encoding='cp1252'", "--csv-encoding cp1252"),
        ("{X} or {None}, {braces}", {}, "X or None, {braces}", "the table or null, {braces}"),
    ],
)
def test_arguments_are_spelt_for_whoever_reads(
    text: str, arguments: dict[str, Any], python: str, command: str
) -> None:
    error = DataError(text, **arguments)
    assert str(error) == python
    assert error.for_command(speller(OPTIONS)) == command
    assert pickle.loads(pickle.dumps(error)).for_command(speller(OPTIONS)) == command


def test_an_argument_whose_name_the_caller_knows() -> None:
    error = OptionError("{argument} must be positive", argument="max_terms", value=0)
    assert str(error) == "max_terms=0 must be positive"
    assert error.for_command(speller(OPTIONS)) == "--max-terms 0 must be positive"
    assert str(MissingDependencyError("{argument}", argument="lam")) == "lam"
    assert isinstance(Message("as it is"), str)
    inside = OptionError("{argument}, not {lam}", argument="label", value="{lam} {X}", lam=1)
    assert str(inside) == "label='{lam} {X}', not lam=1"  # a value keeps its braces
