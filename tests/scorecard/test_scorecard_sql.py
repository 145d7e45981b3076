"""The SQL text, run by SQLite, decides every row as ``predict`` does."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from milpscore import Scorecard
from milpscore.core.card import Card
from milpscore.core.design import Column
from milpscore.core.errors import DataError, OptionError
from milpscore.data import Binner, make_design

ODD_NAMES = [
    'say "hi"',
    "it's",
    "select",
    "group by; DROP TABLE data --",
    "Größe 身高",
    "total",
    "prediction",
    "back`tick\\",
    "[bracket]",
    "a\nline",
    "%s {x} $1 :p ?",
]


def run(card: Scorecard, frame: pd.DataFrame, table: str = "data", **options) -> pd.DataFrame:
    """Rows of the statement's answer in the order of the frame."""
    with closing(sqlite3.connect(":memory:")) as connection:
        stored = frame.assign(**{"row id": range(len(frame))})
        name = '"' + table.replace('"', '""') + '"'
        columns = ", ".join('"' + column.replace('"', '""') + '"' for column in stored.columns)
        connection.execute(f"CREATE TABLE {name} ({columns})")
        marks = ", ".join("?" * len(stored.columns))
        rows = stored.astype(object).where(stored.notna(), None).to_numpy().tolist()
        connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        answer = connection.execute(card.to_sql(table, keys=["row id"], **options))
        names = [entry[0] for entry in answer.description]
        return pd.DataFrame(answer.fetchall(), columns=names, dtype=object).sort_values(
            "row id", ignore_index=True
        )


def expected(card: Scorecard, frame: pd.DataFrame, unseen: str = "error") -> list[object]:
    """Each row's label from ``predict``; None where ``predict`` refuses the row."""
    answers: list[object] = []
    for k in range(len(frame)):
        try:
            answers.append(card.predict(frame.iloc[[k]], unseen=unseen)[0].item())
        except DataError:
            answers.append(None)
    return answers


def random_columns(name: str, kind: str) -> list[Column]:
    if kind == "numeric":
        return [Column(f"{name}|value", name)]
    if kind == "steps":
        cuts = [0.3, 0.7, 1.1]
        return [Column(f"{name}|>={cut}", name, "step", lower=cut) for cut in cuts]
    if kind == "bins":
        edges = [-np.inf, -0.1, 0.3, 0.9, np.inf]
        return [
            Column(f"{name}|{low}", name, "interval", lower=low, upper=high)
            for low, high in pairwise(edges)
        ]
    texts = ["it's", 'a "b"', "x\\y", ""] if kind == "texts" else ["False", "True"]
    return [Column(f"{name}|{text}", name, "category", category=text) for text in texts]


def random_values(kind: str, n: int, rng: np.random.Generator) -> Sequence[object]:
    if kind == "texts":
        return rng.choice(np.array(["it's", 'a "b"', "x\\y", "", "unseen"], dtype=object), n)
    if kind == "truth":
        return rng.integers(0, 2, n).astype(bool).astype(object)
    return rng.integers(-20, 21, n) / 10


@pytest.mark.parametrize("unseen", ["error", "zero"])
@pytest.mark.parametrize("seed", range(12))
def test_sql_agrees_with_predict(seed, unseen):
    rng = np.random.default_rng(seed)
    columns: list[Column] = []
    blocks: list[tuple[int, ...]] = []
    data: dict[str, Sequence[object]] = {}
    kinds = ["numeric", "steps", "bins", "texts", "truth", "numeric", "bins"]
    names = rng.permutation(ODD_NAMES)[: len(kinds)]
    for name, kind in zip(names.tolist(), kinds, strict=True):
        start = len(columns)
        columns += random_columns(name, kind)
        if kind == "bins":
            blocks.append(tuple(range(start, len(columns))))
        values = pd.Series(random_values(kind, 60, rng), dtype=object)
        values[rng.random(60) < 0.08] = None
        if rng.random() < 0.5:
            columns.append(Column(f"{name}|missing", name, "missing"))
        data[name] = values if kind in {"texts", "truth"} else values.astype(float)
    frame = pd.DataFrame(data)
    points = rng.integers(-3, 4, len(columns)) * (rng.random(len(columns)) < 0.7)
    step = Fraction(1, 10) if seed % 4 else None
    threshold = Fraction(int(rng.integers(-10, 30)), 10)
    card = Scorecard(tuple(columns), points, threshold, blocks, ("no", "it's yes"), step)
    answer = run(card, frame, unseen="null" if unseen == "error" else "zero")
    wanted = expected(card, frame, unseen)
    label = [name for name in answer.columns if name.endswith("prediction")][-1]
    assert answer[label].tolist() == wanted
    assert len(set(wanted)) > 1
    known = [k for k, label in enumerate(wanted) if label is not None]
    total = [name for name in answer.columns if name.endswith("total")][-1]
    np.testing.assert_allclose(
        answer[total].iloc[known].astype(float), card.score(frame.iloc[known], unseen=unseen)
    )


@pytest.mark.parametrize("step", [Fraction(1, 10), None])
def test_ties_of_decimal_sums_are_positive_in_sql(step):
    columns = tuple(Column(name, name) for name in "abc")
    grid = np.array(np.meshgrid(*[np.arange(-9, 10) / 10] * 3)).reshape(3, -1).T
    frame = pd.DataFrame(grid, columns=list("abc"))
    card = Scorecard(columns, (1, 3, -2), Fraction(3, 10), step=step)
    exact = np.rint(grid * 10).astype(int) @ [1, 3, -2] >= 3
    assert run(card, frame)["prediction"].tolist() == exact.astype(int).tolist()
    assert card.predict(frame).tolist() == exact.astype(int).tolist()


def test_a_threshold_off_the_grid_decides_alike():
    frame = pd.DataFrame({"a": [0.2, 0.3, 0.4, 0.5]})
    for threshold in (Fraction(30001, 100000), Fraction(39999, 100000), Fraction(2, 5)):
        card = Scorecard((Column("a", "a"),), (1,), threshold, step=Fraction(1, 10))
        assert run(card, frame)["prediction"].tolist() == [0, 0, 1, 1]
        assert card.predict(frame).tolist() == [0, 0, 1, 1]


def test_null_is_stated_and_a_bin_for_it_scores():
    columns = (Column("a>=1", "a", "step", lower=1), Column("b", "b"), Column("c", "c"))
    frame = pd.DataFrame({"a": [1.0, None, 1], "b": [1, 1, None], "c": [None, None, None]})
    refusing = Scorecard(columns, (2, 1, 0), 2)
    answer = run(refusing, frame)
    assert answer["total"].tolist() == [3, None, None]
    assert answer["prediction"].tolist() == [1, None, None]
    assert "IS NULL THEN NULL" in refusing.to_sql()
    foreseen = (*columns, Column("a missing", "a", "missing"), Column("b missing", "b", "missing"))
    card = Scorecard(foreseen, (2, 1, 0, 5, 0), 2)
    assert run(card, frame)["total"].tolist() == [3, 6, 2] == card.score(frame).tolist()


@pytest.mark.parametrize("classes", [(0, 1), (-1.5, 2.25), (False, True), ("it's", "--x")])
def test_labels_are_literals(classes):
    card = Scorecard((Column("a", "a"),), (1,), 1, classes=classes)
    frame = pd.DataFrame({"a": [0.0, 1.0]})
    assert run(card, frame)["prediction"].tolist() == list(classes)


def test_names_cannot_leave_their_quotes():
    table = 'da"ta; DROP TABLE x --'
    for name in ODD_NAMES:
        card = Scorecard(
            (Column("c", name),), (1,), 1, title="t\n; DROP TABLE data;", classes=("a\n;b", "c")
        )
        answer = run(card, pd.DataFrame({name: [0.0, 1.0]}), table=table)
        assert answer.iloc[:, -1].tolist() == ["a\n;b", "c"]
        comments = card.to_sql().split("\nSELECT\n")[0].split("\n")
        assert all(line.startswith("--") for line in comments)


def test_mysql_quotes_with_backticks_and_escapes_backslashes():
    columns = (Column("c", "a`b", "category", category="x\\'y"),)
    sql = Scorecard(columns, (1,), 1).to_sql(dialect="mysql")
    assert "CAST(`source`.`a``b` AS CHAR) = 'x\\\\''y'" in sql


def test_a_missing_column_is_an_error_of_the_database():
    card = Scorecard((Column("a", "a"),), (1,), 1)
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        run(card, pd.DataFrame({"b": [1.0]}))


def test_a_card_without_points_and_a_qualified_table():
    card = Scorecard((Column("a", "a"),), (0,), 0)
    assert run(card, pd.DataFrame({"a": [None, 1.0]}))["prediction"].tolist() == [1, 1]
    assert 'FROM "main"."da.ta" AS' in card.to_sql(("main", "da.ta"))


def test_unknown_options_are_refused():
    card = Scorecard((Column("a", "a"),), (1,), 1)
    with pytest.raises(OptionError, match="dialect"):
        card.to_sql(dialect="basic")
    with pytest.raises(OptionError, match="unseen"):
        card.to_sql(unseen="error")
    with pytest.raises(DataError, match="NUL"):
        Scorecard((Column("a", "a\0"),), (1,), 1).to_sql()


@pytest.mark.filterwarnings("ignore:left out, of no use:UserWarning")
@pytest.mark.parametrize("encoding", ["onehot", "cumulative"])
def test_from_a_table_to_a_design_to_a_card_to_a_typed_database(encoding):
    rng = np.random.default_rng(3)
    n = 200
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 90, n),
            "dose, mg": np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 50, n) / 10),
            "smokes": rng.random(n) < 0.5,
            "ward": rng.choice(["north", "it's south"], n),
            "stage": pd.Categorical(rng.integers(1, 4, n)),
        }
    )
    binner = Binner(n_bins=4, encoding=encoding, missing="bin").fit(frame)
    y = rng.choice(["ill", "well"], n)
    design = make_design(binner.transform(frame), y, columns=binner.columns_, blocks=binner.blocks_)
    points = rng.integers(-3, 4, design.shape[1])
    card = Scorecard.from_card(Card(points, Fraction(-1)), design)
    totals = card.score(frame)
    np.testing.assert_array_equal(totals, design.X @ points)
    np.testing.assert_array_equal(totals, card.score_design(design.X))
    predicted = card.predict(frame)
    assert set(predicted) == {"ill", "well"}
    with closing(sqlite3.connect(":memory:")) as connection:
        frame.astype({"stage": int}).to_sql("patients", connection, index_label="id")
        answer = pd.read_sql(card.to_sql("patients", keys=["id"]), connection).sort_values("id")
    assert answer["prediction"].tolist() == predicted.tolist()
    assert answer["total"].tolist() == totals.tolist()


def test_columns_with_blanks_around_their_names_are_told_and_can_be_named():
    frame = pd.DataFrame({" age ": [20, 40, 60, 80], "sex": [0, 1, 0, 1]})
    y = [0, 0, 1, 1]
    for made in (make_design(frame, y), Binner(2, useless="keep").fit_design(frame, y)):
        assert any("' age '" in remark and '"column"' in remark for remark in made.warnings)
    assert not any("around" in remark for remark in make_design(frame[["sex"]], y).warnings)
    card = Scorecard((Column("age", "age"), Column("sex", "sex")), (1, 2), 50)
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        run(card, frame.rename(columns={"sex": "gender"}))
    named = card.with_words({"age": {"column": " age "}})
    assert run(named, frame)["prediction"].tolist() == card.predict(frame).tolist()
    assert Scorecard.from_json(named.to_json()) == named
