"""One class keeps every list of names."""

from __future__ import annotations

import sys

import pytest

from milpscore.core.errors import FormulationError, OptionError, Registry


def two() -> Registry[object]:
    return Registry("thing", {"ordered_dict": "collections:OrderedDict", "Fraction": "nowhere:F"})


def test_a_thing_is_imported_when_asked_for_and_not_before() -> None:
    things = two()
    assert list(things) == ["ordered_dict", "Fraction"]
    assert len(things) == 2
    assert "fraction" in things  # its home does not even exist
    assert things["Ordered-Dict"] is sys.modules["collections"].OrderedDict
    with pytest.raises(ModuleNotFoundError):
        things["Fraction"]


def test_an_unknown_name_names_the_nearest() -> None:
    with pytest.raises(OptionError, match=r"no thing .fractoin.; did you mean Fraction\?"):
        two()["fractoin"]
    with pytest.raises(FormulationError, match="no form 'x'; there are slim"):
        Registry("form", {"slim": "a:b"}, FormulationError)["x"]


def test_register_adds_and_never_replaces() -> None:
    things = two()
    things.register("mine", int)
    assert things["mine"] is int
    with pytest.raises(OptionError, match="called 'MINE' already"):
        things.register("MINE", float)
