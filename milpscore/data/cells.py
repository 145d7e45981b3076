"""What a table's cells mean: numbers in disguise, marks of missing values, spellings, codes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from milpscore.core.design import CellRules, Column, FloatArray, IntArray
from milpscore.core.errors import DataError, OptionError, listing, near_matches
from milpscore.data.policy import POLICY
from milpscore_check.cells import MARKS, folded, number_in, plain_cell, same_number

_ASKED, _CELLS, _SAID, _WRITTEN = (
    f"milpscore.{what}" for what in ("asked", "cells", "said", "written")
)
"""Notes on a DataFrame: cells were asked about, how they are read, what is said, how written."""

_CODES = {"atc", "cpt", "icd", "icd9", "icd10", "plz", "postcode", "postalcode", "zip", "zipcode"}
_OF_FILES = ("decimal", "encoding", "sheet", "thousands")
_SHOWN = 3
_SIGNS = (".", ".,", ",", ",.", ".'", ". ", ", ")


@dataclass(frozen=True)
class Writing:
    """How a table is written, where it does not say so itself."""

    na: tuple[str, ...] = ()
    thousands: str | None = None
    as_spelled: bool = False
    decimal: str = "."


def file_and_cells(written: Mapping[str, Any]) -> tuple[dict[str, Any], Writing]:
    """How a file is opened, and how its cells are read, of the arguments of ``read_frame``."""
    kept = {name: written[name] for name in _OF_FILES if name in written}
    cells = {name: value for name, value in written.items() if name not in ("encoding", "sheet")}
    if unknown := cells.keys() - {field.name for field in fields(Writing)}:
        name = min(unknown)
        raise OptionError(
            f"{name} is unknown; {near_matches(name, [*_OF_FILES, 'na', 'as_spelled'])}"
        )
    return kept, Writing(**{**cells, "na": tuple(cells.get("na", ()))})


Texts = Mapping[str, tuple[Sequence[str], IntArray]]
"""The distinct texts of columns and in how many rows each stands."""


def is_code(name: str) -> bool:
    """Whether a name says that its numbers are codes."""
    words = re.split(r"[\W_]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower().strip(" _"))
    return words[-1] in _CODES or "".join(words[-2:]) in _CODES


def are_codes(texts: Collection[str]) -> bool:
    """Whether all are digits of one width, and some begin with 0: a number would lose it."""
    wide = {len(text) for text in texts}
    return (
        len(wide) == 1
        and min(wide) > 1
        and (any(text[0] == "0" for text in texts) and all(map(str.isdigit, texts)))
    )


def in_threes(texts: Iterable[str]) -> bool:
    """Whether every point among some plain numbers may part thousands, and there are some."""
    found = [text.strip() for text in texts]
    parted = [text for text in found if "." in text]
    return bool(parted) and all(re.fullmatch(r"[+-]?[1-9]\d{0,2}\.\d{3}", text) for text in parted)


def may_be_thousands(values: FloatArray, commas: bool) -> bool:
    """Whether a file's numbers may be thousands, parted by points, that were read as decimals.

    They are doubted beside decimal commas in another column, or beside numbers from 100 up.
    """
    known = np.abs(values[np.isfinite(values)])
    whole = known % 1 == 0
    parted = known[~whole]
    if not len(parted) or known.max() >= 1000 or parted.min() < 1:
        return False
    wide = commas or bool((known[whole] >= 100).any())
    return wide and bool((np.abs(1000 * parted - np.round(1000 * parted)) < 1e-6).all())


def said_of(frame: pd.DataFrame) -> list[str]:
    """What was to be said of a table when it was read, and when its cells were asked about."""
    return list(frame.attrs.get(_SAID, ()))


def noted(frame: pd.DataFrame, *remarks: str, writing: Writing | None = None) -> pd.DataFrame:
    """The table with a note of how it is written, and of what is to be said of it."""
    notes: dict[Any, Any] = {**frame.attrs, _SAID: [*said_of(frame), *remarks]}
    frame.attrs = notes if writing is None else {**notes, _WRITTEN: writing}
    return frame


def with_cells(columns: Sequence[Column], frame: pd.DataFrame) -> list[Column]:
    """Columns that know how their features' cells are read."""
    writing = frame.attrs.get(_WRITTEN) or Writing()
    return cells_on(columns, frame.attrs.get(_CELLS, {}), writing.na)


def cells_on(
    columns: Sequence[Column], cells: Mapping[str, CellRules], na: Sequence[str]
) -> list[Column]:
    """Columns that know how their features' cells are read, and what is missing in all of them."""
    read = {
        c.feature: cells.get(c.feature, CellRules()) for c in columns if na or c.feature in cells
    }
    read = {name: replace(own, na=(*own.na, *na)) for name, own in read.items()}
    return [replace(c, cells=read.get(c.feature)) for c in columns] if read else list(columns)


def disguised(columns: Iterable[Column]) -> set[str]:
    """The features that have to be read as text, to be read as numbers in disguise."""
    return {c.feature for c in columns if c.cells is not None and c.cells.signs}


# ---------------------------------------------------------------- questions to the distinct texts


def questions(texts: Texts, writing: Writing) -> tuple[dict[str, CellRules], list[str]]:
    """How the cells of columns of text are to be read, where not as they are, and what is said."""
    possible = {name: _signs_of(name, *own, writing) for name, own in texts.items()}
    certain = [signs[0][0] for signs in possible.values() if len(signs) == 1 and signs[0] != "."]
    comma = writing.decimal == "," or certain.count(",") > certain.count(".")
    commas = comma or any(signs and {s[0] for s in signs} == {","} for signs in possible.values())
    cells: dict[str, CellRules] = {}
    said: list[str] = []
    for name, (own, rows) in texts.items():
        if signs := possible[name]:
            made = _numbers(own, rows, _chosen(signs, own, comma, commas, writing.thousands))
        else:
            made = CellRules() if writing.as_spelled else _spelt(own, rows)
        if made == CellRules():
            continue
        cells[name] = made
        said += filter(None, [_remark(name, own, rows, made), _shares(name, own, made)])
    return cells, said


def _signs_of(name: str, texts: Sequence[str], rows: IntArray, writing: Writing) -> list[str]:
    """The signs by which nearly all of some texts are numbers of one unit; empty for words."""
    known = [text for text in texts if (t := text.strip()) and t.casefold() not in MARKS]
    digits = [any(map(str.isdigit, text)) for text in known[: POLICY.odd_texts]]
    if is_code(name) or not known or sum(digits) < len(digits) / 2:
        return []
    known = known[:: 1 + len(known) // POLICY.texts_looked_at]
    if are_codes(known):
        return []
    weight = {text: int(count) for text, count in zip(texts, rows.tolist(), strict=True)}
    shares = {}
    for signs in _SIGNS:
        if writing.thousands and len(signs) > 1 and signs[1] != writing.thousands:
            continue
        units: dict[str, int] = {"": 0}
        for text in known:
            if (found := number_in(text, signs)) is not None:
                units[found[1]] = units.get(found[1], 0) + weight[text]
        plain = units.pop("")
        shares[signs] = plain + max(units.values(), default=0)
    rest = sum(weight[text] for text in known)
    most = max(shares.values())
    odd = sum(number_in(text, max(shares, key=shares.__getitem__)) is None for text in known)
    enough = most >= POLICY.number_share * rest and odd <= POLICY.odd_texts
    return [signs for signs, share in shares.items() if share == most] if enough else []


def _chosen(
    signs: list[str], texts: Sequence[str], comma: bool, commas: bool, thousands: str | None
) -> str:
    """One of the signs that fit equally well: commas part thousands unless the table says else."""
    if thousands and (asked := [s for s in signs if s[1:] == thousands]):
        return asked[0]
    if "." in signs and "," in signs:  # no sign in any number
        return "."
    if {",", ".,"} <= {*signs}:  # three digits behind every comma
        return "," if comma or any(text.strip().startswith("0,") for text in texts) else ".,"
    if {".", ",."} <= {*signs}:  # three digits behind every point
        return ",." if commas else "."
    return signs[0]


def _numbers(texts: Sequence[str], rows: IntArray, signs: str) -> CellRules:
    """How numbers in disguise are read; what is none is missing."""
    units: dict[str, int] = {}
    odd = []
    for text, count in zip(texts, rows.tolist(), strict=True):
        found = number_in(text, signs)
        if found is None and text.strip() and text.strip().casefold() not in MARKS:
            odd.append(text.strip())
        elif found and found[1]:
            units[found[1]] = units.get(found[1], 0) + count
    unit = max(units, key=units.__getitem__) if units else ""
    odd += [t.strip() for t in texts if (f := number_in(t, signs)) and f[1] not in ("", unit)]
    return CellRules(tuple(dict.fromkeys(odd)), signs, unit)


def _spelt(texts: Sequence[str], rows: IntArray) -> CellRules:
    """Spellings that differ in blanks or capitals alone, each as the most frequent one."""
    groups: dict[str, dict[str, int]] = {}
    for text, count in zip(texts, rows.tolist(), strict=True):
        ways = groups.setdefault(folded(text), {})
        ways[text] = ways.get(text, 0) + count
    pairs = []
    for ways in groups.values():
        if len(ways) > 1:
            trimmed: dict[str, int] = {}
            for text, count in ways.items():
                plain = " ".join(text.split())
                trimmed[plain] = trimmed.get(plain, 0) + count
            best = max(sorted(trimmed), key=trimmed.__getitem__)
            pairs += [(text, best) for text in ways if text != best]
    return CellRules(spelt=tuple(sorted(pairs)))


def folded_labels(y: pd.Series[Any], rows: Any = None) -> tuple[pd.Series[Any], list[str]]:
    """Labels of one spelling each, and what is said of it; ``rows`` are those of each label."""
    codes, found = pd.factorize(y)
    if not all(isinstance(label, str) for label in found):
        return y, []
    count = np.bincount(codes[codes >= 0], rows, minlength=len(found))
    spelt = _spelt([*found], count.astype(np.int64)).spelt
    if not spelt:
        return y, []
    said = _spellings(str(y.name), spelt).replace("one category", "one label")
    return y.replace(dict(spelt)), [said]


def _remark(name: str, texts: Sequence[str], rows: IntArray, cells: CellRules) -> str:
    """How the cells of a column are read, in one line; empty where anybody would."""
    if cells.spelt:
        return _spellings(name, cells.spelt)
    counts = dict(zip(texts, rows.tolist(), strict=True))
    odd = {text for text in texts if plain_cell(text, vars(cells)) == ""}
    read = [text for text in texts if text not in odd]
    disguised = [t for t in read if not same_number(str(plain_cell(t, vars(cells))), [t.strip()])]
    if not disguised and not odd:
        return _points(name, read) if cells.signs == "." else ""
    disguised.sort(key=lambda text: (-counts[text], text))
    below = [text for text in disguised if text.strip().startswith("<")]
    plain = [text for text in disguised if text not in below]
    parting = [text for text in plain if cells.signs[1:] and cells.signs[1:] in text]
    shown = [*(parting or plain)[:1], *below[:1]]
    said = [f"{text!r} is {plain_cell(text, vars(cells))}" for text in shown]
    if odd:
        rest = sum(counts[text] for text in odd)
        said.append(f"{listing(sorted(odd), _SHOWN)} ({rest} rows) missing")
    doubtful = shown and re.search(r"[.,]\d{3}\b", shown[0])
    doubt = " (--thousands and --decimal say otherwise)" if doubtful else ""
    return f"column {name!r} is read as numbers: {', '.join(said)}{doubt}."


def _shares(name: str, texts: Sequence[str], cells: CellRules) -> str:
    """The doubt about shares of one beside per cent, in one line; empty where there are none."""
    if cells.unit != "%":
        return ""
    found = {text: number for text in texts if (number := number_in(text, cells.signs))}
    shares = [text for text, (value, unit) in found.items() if not unit and 0 < value <= 1]
    percent = [text for text, (_, unit) in found.items() if unit]
    if not shares or min(found[text][0] for text in percent) <= 1:
        return ""
    return (
        f"column {name!r} is read as numbers, and has {shares[0]!r} beside {percent[0]!r}: if that"
        " is a share, write both alike."
    )


def _points(name: str, texts: Sequence[str]) -> str:
    """The doubt about points that may part thousands, in one line; empty where they do not."""
    if not in_threes(texts):
        return ""
    text = next(text for text in texts if "." in text).strip()
    return (
        f"column {name!r} is read as numbers: {text!r} is {text}, though three digits stand behind"
        " every point (--thousands . reads thousands)."
    )


def _spellings(name: str, spelt: Iterable[tuple[str, str]]) -> str:
    """Which spellings of a column's categories are one, in one line."""
    groups: dict[str, list[str]] = {}
    for spelling, text in spelt:
        groups.setdefault(text, []).append(spelling)
    shown = [f"{text!r} for {', '.join(map(repr, own))}" for text, own in groups.items()]
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return (
        f"column {name!r}: spellings that differ in blanks or capitals alone are one category:"
        f" {'; '.join(shown[:_SHOWN])}{more} (--as-spelled keeps them)."
    )


# ---------------------------------------------------------------- answers, on a DataFrame


def questioned(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with its cells read, and a note of how."""
    if frame.attrs.get(_ASKED):
        return frame
    writing = frame.attrs.get(_WRITTEN) or Writing()
    made: dict[str, Any] = {
        str(name): _as_code(frame[name])
        for name, kind in frame.dtypes.items()
        if kind.kind in "iuf" and is_code(str(name))
    }
    words = [n for n, kind in frame.dtypes.items() if str(kind).startswith(("object", "str"))]
    texts = {str(n): own for n in words if (own := _texts(frame[n])) is not None}
    cells, said = questions(texts, writing)
    made |= {name: read_cells(frame[name], own) for name, own in cells.items()}
    if not made:
        return frame
    found = frame.assign(**made)
    found.attrs = {**frame.attrs, _ASKED: True, _CELLS: cells}
    return noted(found, *said)


def _texts(series: pd.Series[Any]) -> tuple[list[str], IntArray] | None:
    """The distinct texts of a column, and in how many rows each stands; None for other values."""
    try:
        codes, found = pd.factorize(series)
    except TypeError:
        return None
    values = list(found)
    if not any(isinstance(value, str) for value in values) or any(
        not isinstance(value, str | int | float | np.number) or isinstance(value, bool | np.bool_)
        for value in values
    ):
        return None
    rows = np.bincount(codes[codes >= 0], minlength=len(values))
    return [_text(value) for value in values], rows


def _text(value: Any) -> str:
    """A value of a column of text."""
    whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value)) if whole else str(value)


def _as_code(series: pd.Series[Any]) -> pd.Series[Any]:
    """Numbers as codes."""
    return series.map(_text, na_action="ignore").astype(object).where(series.notna(), None)


def read_cells(series: pd.Series[Any], cells: CellRules | None) -> pd.Series[Any]:
    """A feature as its cells are to be read: numbers, or categories; marks are missing."""
    if cells is None:
        return series
    if series.dtype.kind in "iufb" or isinstance(series.dtype, pd.CategoricalDtype):
        return without_marks(series, cells.na)
    codes, found = pd.factorize(series)
    how = vars(cells)
    plain = [plain_cell(_text(value), how) for value in found]
    if bad := [str(value) for value, text in zip(found, plain, strict=True) if text is None]:
        raise DataError(
            f"column {series.name!r} holds {listing(bad)}, which is not a number as the others are:"
            " correct these cells, or name what stands for a missing value in --na."
        )
    if cells.signs:
        numbers: FloatArray = np.array([*(float(t or "nan") for t in plain), np.nan])
        return pd.Series(numbers[codes], index=series.index, name=series.name)
    values = np.array([*(t if t else None for t in plain), None], dtype=object)
    return pd.Series(values[codes], index=series.index, name=series.name, dtype=object)


def unitless(columns: Iterable[Column], frame: pd.DataFrame) -> list[str]:
    """What is said of numbers all without the unit that the card's data had."""
    said = []
    units = {c.feature: c.cells for c in columns if c.cells and c.cells.unit}
    for name in units.keys() & set(frame.columns):
        texts = map(_text, frame[name].dropna().unique().tolist())
        known = [found for text in texts if (found := number_in(text, units[name].signs))]
        if known and not any(unit for _, unit in known):
            unit = units[name].unit
            said.append(f"the numbers of {name!r} have no unit, and are read as if in {unit!r}.")
    return sorted(said)


def without_marks(series: pd.Series[Any], na: Sequence[str]) -> pd.Series[Any]:
    """A column with the marks of missing values as such."""
    if not na:
        return series
    found = series.unique().tolist()
    marks = [value for value in found if same_number(_text(value), na)]
    return series.mask(series.isin(marks)) if marks else series
