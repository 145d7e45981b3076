"""The card as a spreadsheet: its formulas give every row the card's total, risk and answer."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from milpscore.cli.app import app
from milpscore.core.design import Column
from milpscore.core.errors import MissingDependencyError, OptionError
from milpscore.data import Binner
from milpscore.scorecard import OrdinalCard, RiskScale, Scorecard, SurvivalCard
from milpscore.scorecard.rendering import decisions

openpyxl = pytest.importorskip("openpyxl")


class Empty(float):
    """An empty cell, which counts as 0."""


class Text(str):
    """Text in a cell, which is greater than every number."""

    __slots__ = ()

    def __lt__(self, other: Any) -> bool:
        return not isinstance(other, int | float) and str(self) < other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __sub__(self, other: Any) -> float:
        return math.nan  # an error in a sheet


class Truths(list[Any]):
    """Truth values of several cells, which two minus signs turn into numbers."""

    def __neg__(self) -> Truths:
        return Truths(-value for value in self)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, Empty)


def text_of(value: Any) -> str:
    return f"{value:g}" if is_number(value) else "" if isinstance(value, Empty) else value


# What the sheet's functions are in Python; of its operators only "=" has another sign.
FUNCTIONS: dict[str, Any] = {
    "IF": lambda test, yes, no: yes if test else no,
    "AND": lambda *tests: all(tests),
    "OR": lambda *tests: any(tests),
    "NOT": lambda test: not test,
    "ISNUMBER": is_number,
    "ISBLANK": lambda value: isinstance(value, Empty),
    "EXACT": lambda value, cells: Truths(text_of(value) == text_of(cell) for cell in cells),
    "SUMPRODUCT": sum,
    "SUM": sum,
    "COUNTIF": lambda cells, text: sum(cell == text for cell in cells),
    "EXP": math.exp,
    "LN": np.log,
    "MIN": min,
    "NORMSDIST": NormalDist().cdf,
}


def value_of(sheet: Any, cell: str) -> Any:
    """The value of a cell, its formula translated to Python."""
    own = sheet[cell]
    if own.value is None:
        return Empty()
    if own.data_type != "f":
        return own.value if is_number(own.value) else Text(own.value)
    parts = re.split(r'("[^"]*")', own.value[1:].replace("$", ""))
    for k in range(0, len(parts), 2):
        text = re.sub(r"(?<![<>])=", "==", parts[k])
        text = re.sub(r"\b([A-Z]+\d+):([A-Z]+\d+)\b", r"cells('\1', '\2')", text)
        parts[k] = re.sub(r"(?<!')\b([A-Z]{1,2}\d+)\b", r"cell('\1')", text)

    def cells(first: str, last: str) -> Any:
        held = [value_of(sheet, one.coordinate) for (one,) in sheet[f"{first}:{last}"]]
        numbers = all(isinstance(each, int | float) for each in held)
        return np.array(held, dtype=float if numbers else object)

    names = {**FUNCTIONS, "cells": cells, "cell": lambda at: value_of(sheet, at)}
    value = eval("".join(parts), names)
    return Text(value) if isinstance(value, str) else value


def table(rows: int = 40) -> pd.DataFrame:
    random = np.random.default_rng(5)
    frame = pd.DataFrame({
        "age": random.integers(20, 90, rows).astype(float),
        "dose": random.normal(0, 2, rows).round(2),
        "=sex": random.choice(["f", "g", '=1+"1"'], rows),
        "stage": random.choice(["I", "II", "X"], rows),
        "ckd": random.integers(0, 2, rows),
        "sodium": random.integers(120, 150, rows) / 10,
    })  # fmt: skip
    frame.loc[::7, "age"] = np.nan
    frame.loc[::9, "stage"] = None
    return frame


def made(seed: int = 2, **more: Any) -> Scorecard:
    """A card of cuts, categories, a flag and a number by the unit, with random points."""
    frame = table()
    binned = frame[["age", "dose", "=sex", "stage"]]
    binner = Binner(missing="bin", n_bins=4, useless="keep", **more).fit(binned)
    own = (*binner.columns_, Column("ckd", "ckd", "numeric"), Column("sodium", "sodium", "numeric"))
    points = [int(w) for w in np.random.default_rng(seed).integers(-4, 5, len(own))]
    points[-2:] = [2, 3]
    card = Scorecard(
        own, tuple(points), 41, binner.blocks_, ("well", "ill"), "1/10",
        base_points={"age": 4, "dose": -2}, flags=(len(own) - 2,),
    )  # fmt: skip
    words = {"age": {"name": "Age", "unit": "years"}, "stage": {"lines": {"= II": "=two"}}}
    card = card.with_words(words, title="=Ward", outcome='"illness"')
    return replace(card, risk=RiskScale("logistic", 2.5, (-2, 2)))


def opened(card: Scorecard, folder: Path) -> Any:
    return openpyxl.load_workbook(card.spreadsheet(folder / "card.xlsx")).active


def inputs(sheet: Any) -> dict[str, str]:
    """The cell for each value by the name of its variable."""
    return {sheet[f"A{k}"].value: f"D{k}" for k in range(8, sheet.max_row) if sheet[f"E{k}"].value}


def entered(sheet: Any, card: Scorecard, row: dict[str, Any]) -> None:
    """A row of the table as somebody types it."""
    cells = inputs(sheet)
    for name, value in row.items():
        label = card.words.get(name, {}).get("name", name)
        if label not in cells:
            continue
        own = sheet[cells[label]]
        own.value = None if pd.isna(value) else "=two" if value == "II" else value
        if isinstance(value, str) and not pd.isna(value):
            own.data_type = "s"


@pytest.mark.parametrize("link", ["logistic", "probit", None])
@pytest.mark.parametrize("encoding", ["onehot", "cumulative"])
def test_every_row_gets_the_total_the_risk_and_the_answer_of_the_card(
    encoding: str, link: str | None, tmp_path: Path
) -> None:
    card = made(encoding=encoding)
    card = replace(card, risk=link and RiskScale(link, 2.5, (-2, 2)))
    sheet, frame = opened(card, tmp_path), table()
    totals, answered = card.score(frame), card.predict(frame)
    assert set(answered) == {"well", "ill"}
    words = dict(zip(card.classes, decisions(card), strict=True))
    for k, row in enumerate(frame.to_dict("records")):
        entered(sheet, card, row)
        assert value_of(sheet, "D3") == pytest.approx(totals[k], abs=1e-9)
        assert value_of(sheet, "D5") == words[answered[k]]
        if link:
            stated = card.risks(totals[k : k + 1])[0]
            assert value_of(sheet, "D4") == pytest.approx(stated, abs=1e-9)


def test_every_row_gets_its_group_of_an_ordinal_card(tmp_path: Path) -> None:
    card = replace(made(encoding="onehot"), risk=None)
    ordered = OrdinalCard(card, ("=mild", 2, "grave"), (card.threshold, card.threshold + 6))
    path = ordered.write(tmp_path / "card.xlsx")
    sheet, frame = openpyxl.load_workbook(path).active, table()
    groups = ordered.predict(frame)
    assert set(groups) == set(ordered.levels)
    for row, group in zip(frame.to_dict("records"), groups, strict=True):
        entered(sheet, card, row)
        assert value_of(sheet, "D5") == str(group)


@pytest.mark.parametrize("kind", ["time", "discrete"])
def test_every_row_gets_the_risks_of_a_survival_card(kind: Any, tmp_path: Path) -> None:
    plain = replace(made(encoding="onehot"), risk=None)
    card = SurvivalCard(plain, 6.5, (1.0, 2.5, 4.0), (0.1, 0.25, 0.4), kind, (0.5, 2.5, 4.0))
    sheet, frame = openpyxl.load_workbook(card.write(tmp_path / "card.xlsx")).active, table()
    totals = card.score(frame)
    assert len(np.unique(totals)) > 10
    for k, row in enumerate(frame.to_dict("records")):
        entered(sheet, plain, row)
        assert value_of(sheet, "D3") == pytest.approx(totals[k], abs=1e-9)
        stated = [value_of(sheet, f"D{line}") for line in (4, 5, 6)]
        assert stated == pytest.approx(card.risks(totals[k : k + 1])[0], abs=1e-12)
    assert [sheet[f"A{line}"].value for line in (4, 5, 6, 7)] == [
        "Risk by 0.5", "Risk by 2.5", "Risk by 4", None,
    ]  # fmt: skip


def test_a_tie_on_a_grid_stays_one(tmp_path: Path) -> None:
    column = Column("dose", "dose", "numeric")
    card = Scorecard((column,), (3,), "9/10", (), ("well", "ill"), "1/10")
    sheet = opened(card, tmp_path)
    for dose, says in ((0.3, "ill"), (0.1 * 3, "ill"), (0.299, "well")):  # 3 * 0.3 < 0.9
        sheet["D8"] = dose
        assert (card.predict(pd.DataFrame({"dose": [dose]}))[0], value_of(sheet, "D5")) == (
            says, says,
        )  # fmt: skip


def test_a_gap_between_bins_counts_what_the_card_counts_there(tmp_path: Path) -> None:
    columns = (Column("a", "x", "interval", 0, 10), Column("b", "x", "interval", 20, 30))
    card = Scorecard(columns, (-5, 2), 4, ((0, 1),), base_points={"x": 5})
    sheet = opened(card, tmp_path)
    for x in (-1.0, 0.0, 10.0, 15.0, 20.0, 30.0):
        sheet["D8"] = x
        assert value_of(sheet, "D3") == card.score(pd.DataFrame({"x": [x]}))[0]


def test_what_is_absent_or_unknown_leaves_the_total_empty(tmp_path: Path) -> None:
    card = made(encoding="onehot")
    sheet = opened(card, tmp_path)
    row = table().dropna().to_dict("records")[0]
    for name, value in (
        ("dose", None), ("dose", "much"), ("=sex", "F"), ("=sex", None), ("ckd", 2),
        ("sodium", None),
    ):  # fmt: skip
        entered(sheet, card, {**row, name: value})
        cells = inputs(sheet)
        assert [value_of(sheet, cell) for cell in ("D3", "D4", "D5")] == ["", "", ""]
        checks = {label: value_of(sheet, f"G{cell[1:]}") for label, cell in cells.items()}
        assert {label for label, said in checks.items() if said} == {name}
    entered(sheet, card, row)
    assert value_of(sheet, "D5") in decisions(card)


def test_lines_and_words_are_those_of_the_card_and_text_is_never_a_formula(tmp_path: Path) -> None:
    card = made(encoding="onehot")
    sheet = opened(card, tmp_path)
    conditions = [sheet[f"B{k}"].value for k in range(8, sheet.max_row)]
    printed = [row.condition for lines in card.lines for row in lines.printed]
    assert [text for text in conditions if text] == printed
    texts = [cell for row in sheet for cell in row if cell.data_type == "s"]
    assert {"=Ward", "=sex", "=two"} < {cell.value for cell in texts}
    assert {cell.column_letter for row in sheet for cell in row if cell.data_type == "f"} <= set(
        "DEFG"
    )
    assert not sheet.protection.sheet


def test_a_card_without_points_adds_up_to_nothing(tmp_path: Path) -> None:
    card = made(encoding="onehot")
    bare = replace(card, points=(0,) * len(card.points), base_points={}, risk=None)
    sheet = opened(bare, tmp_path)
    assert (value_of(sheet, "D3"), value_of(sheet, "D5")) == (0, "not")


def test_the_command_writes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card, out = made(encoding="onehot"), tmp_path / "ward.xlsx"
    path = str(card.save(tmp_path / "card.json"))
    given = ["card", path, "--format", "xlsx", "--out"]
    run = CliRunner().invoke
    assert run(app, given[:-1]).exit_code == 2
    assert "must end in .xlsx" in run(app, [*given, str(tmp_path / "a.html")]).output
    assert "spreadsheet was written" in run(app, [*given, str(out), "--title", "Mine"]).output
    assert openpyxl.load_workbook(out).active["A1"].value == "Mine"
    with pytest.raises(OptionError, match="must end in"):
        card.spreadsheet(tmp_path / "a.ods")
    assert openpyxl.load_workbook(card.write(tmp_path / "b.xlsx")).active["A1"].value == "=Ward"
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'milpscore\[excel\]'"):
        card.spreadsheet(out)
    assert run(app, [*given, str(out)]).exit_code == 2
