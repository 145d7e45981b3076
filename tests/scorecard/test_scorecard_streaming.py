"""Parquet of any size: the answers that the card gives to the whole table, or no file."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tree_cases import set_policy
from typer.testing import CliRunner

from milpscore import Scorecard
from milpscore.cli.app import app
from milpscore.core.design import Column
from milpscore.core.errors import DataError, MilpscoreError, OptionError
from milpscore.data import sources
from milpscore.scorecard import streaming
from milpscore.scorecard.risks import RiskScale

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

COLUMNS = (
    Column("age >= 40", "age", "step", lower=40.0),
    Column("age missing", "age", "missing"),
    Column("a", "ward", "category", category="a's"),
    Column("b", "ward", "category", category="2"),
    Column("c", "well", "category", category="False"),
    Column("d", "well", "category", category="True"),
    Column("dose", "dose"),
)


def card_of(classes: tuple[Any, Any] = ("no", "yes"), by_unit: int = 2) -> Scorecard:
    risk = RiskScale(scale=1.5, edges=(Fraction(1), Fraction(4)))
    points = (3, 5, 2, -1, 1, 0, by_unit)
    return Scorecard(COLUMNS, points, Fraction(3), (), classes, Fraction(1, 4), risk=risk)


def table(n: int = 1000) -> Any:
    """Rows as databases keep them: decimals, nulls and NaN, dictionaries, a column nobody reads."""
    from decimal import Decimal

    rng = np.random.default_rng(0)
    age = rng.integers(20, 90, n).astype(float)
    age[::7], age[1::7] = np.nan, -0.0
    wards = ["a's", "2"]
    return pa.table(
        {
            " age ": pa.array(age),
            "ward": pa.array([wards[k] for k in rng.integers(0, 2, n)]).dictionary_encode(),
            "well": pa.array([bool(k) for k in rng.integers(0, 2, n)]),
            "dose": pa.array([Decimal(int(k)) / 4 for k in rng.integers(-20, 20, n)]),
            "id": pa.array(range(n), type=pa.int32()),
            "day": pa.array(np.arange(n), type=pa.timestamp("s")),
        }
    )


@pytest.fixture(autouse=True)
def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "BATCH", 64)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    pq.write_table(table(), tmp_path / "rows.parquet", row_group_size=300)
    return tmp_path / "rows.parquet"


def whole(card: Scorecard) -> tuple[pd.DataFrame, Any]:
    frame = table().to_pandas().astype({"dose": float})
    return frame, card.score(frame)


@pytest.mark.parametrize("classes", [("no", "yes"), (0, 1), (False, True), (-1.5, 2.0), ("no", 1)])
def test_answers_are_those_of_the_whole_table(
    stored: Path, tmp_path: Path, classes: tuple[Any, Any]
) -> None:
    card, out = card_of(classes), tmp_path / "out.parquet"
    told: list[tuple[int, int]] = []
    rows = streaming.predict_file(
        card, stored, out, keep=["id", "age", "day"], scores=True, probabilities=True, groups=True,
        tell=lambda *counts: told.append(counts),
    )  # fmt: skip
    assert rows == 1000
    assert told[-1] == (1000, 1000)
    assert len(told) > 5
    found = pq.read_table(out)
    frame, totals = whole(card)
    assert found.schema.field("id").type == pa.int32()
    assert found["id"].to_pylist() == list(range(1000))
    assert found["day"].type == pa.timestamp("ms") or found["day"].type == pa.timestamp("s")
    np.testing.assert_array_equal(found["age"].to_numpy(), frame[" age "])
    np.testing.assert_array_equal(found["total"].to_numpy(), totals)
    np.testing.assert_array_equal(found["risk"].to_numpy(), card.risks(totals))
    np.testing.assert_array_equal(found[f"probability of {classes[1]}"], card.risks(totals))
    labels = card.labels(totals).tolist()
    mixed = len({type(each) for each in classes}) > 1
    assert found["prediction"].to_pylist() == ([str(each) for each in labels] if mixed else labels)
    assert set(found["risk group"].to_pylist()) == set(card.risk_lines[0][1:])
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_folder_of_files_and_csv(stored: Path, tmp_path: Path) -> None:
    card, folder = card_of(by_unit=0), tmp_path / "parts"
    folder.mkdir()
    for k in range(4):
        pq.write_table(table().slice(250 * k, 250), folder / f"{k}.parquet")
    for source in (folder, folder / "*.parquet", stored):
        out = tmp_path / "out.csv"
        assert streaming.predict_file(card, source, out, keep=["id"], scores=True) == 1000
        found = pd.read_csv(out)
        _, totals = whole(card)
        assert found["id"].tolist() == list(range(1000))
        assert found["total"].dtype.kind == "i"
        np.testing.assert_array_equal(found["total"], totals)


def test_what_is_read_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "BATCH", 5000)
    rng, source = np.random.default_rng(0), tmp_path / "rows.parquet"
    rows = pa.table({name: rng.normal(size=200_000) for name in "ab"})
    pq.write_table(rows, source, row_group_size=5000)
    del rows
    held: list[int] = []
    card = Scorecard((Column("a", "a"), Column("b", "b")), (1, 2), Fraction(0), step=None)
    before = pa.total_allocated_bytes()
    streaming.predict_file(
        card, source, tmp_path / "out.parquet",
        tell=lambda done, total: held.append(pa.total_allocated_bytes() - before),
    )  # fmt: skip
    assert len(held) == 40
    assert max(held) < source.stat().st_size / 3


def changed(name: str, value: Any) -> Any:
    """The table with one value late in a column."""
    made = table()
    place = made.schema.get_field_index(name)
    values = made.column(place).to_pylist()
    values[900] = value
    return made.set_column(place, name, pa.array(values))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("ward", "c", r"rows 897 to 960 of .*'ward' holds 'c', unseen"),
        ("ward", None, r"rows 897 to 960 of .*'ward'.* missing"),
        (" age ", float("inf"), r"rows 897 to 960 of .*infinite"),
    ],
)
def test_a_row_without_an_answer_leaves_no_file(
    tmp_path: Path, name: str, value: Any, said: str
) -> None:
    source, out = tmp_path / "rows.parquet", tmp_path / "out.parquet"
    pq.write_table(changed(name, value), source)
    out.write_text("of yesterday")
    with pytest.raises(DataError, match=said):
        streaming.predict_file(card_of(), source, out)
    assert out.read_text() == "of yesterday"
    assert {path.name for path in tmp_path.iterdir()} == {"rows.parquet", "out.parquet"}
    if name == "ward":
        assert streaming.predict_file(card_of(), source, out, unseen="zero") == 1000


def test_what_cannot_be_read_or_kept(stored: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    content = stored.read_bytes()
    (tmp_path / "torn.parquet").write_bytes(content[: len(content) // 2])
    middle = bytearray(content)
    middle[200:3000] = b"\xff" * 2800
    (tmp_path / "damaged.parquet").write_bytes(bytes(middle))
    for name in ("torn", "damaged"):
        with pytest.raises(DataError, match=rf"{name}.parquet.* cannot be read as Parquet"):
            streaming.predict_file(card_of(), tmp_path / f"{name}.parquet", out)
    pq.write_table(table().drop_columns(["dose"]), tmp_path / "few.parquet")
    with pytest.raises(DataError, match="'dose'"):
        streaming.predict_file(card_of(), tmp_path / "few.parquet", out)
    with pytest.raises(DataError, match="no column 'idd'; did you mean 'id'"):
        streaming.predict_file(card_of(), stored, out, keep=["idd"])
    renamed = table().rename_columns([" age ", "ward", "well", "dose", "risk", "day"])
    pq.write_table(renamed, tmp_path / "risk.parquet")
    with pytest.raises(OptionError, match="'risk' as the answers do"):
        streaming.predict_file(card_of(), tmp_path / "risk.parquet", out, keep=["risk"])
    with pytest.raises(MilpscoreError, match="there is no file of Parquet"):
        streaming.predict_file(card_of(), tmp_path / "none.parquet", out)
    assert not out.exists()


def test_no_rows_are_a_table_with_the_same_columns(tmp_path: Path) -> None:
    pq.write_table(table().slice(0, 0), tmp_path / "none.parquet")
    out = tmp_path / "out.parquet"
    assert streaming.predict_file(card_of(), tmp_path / "none.parquet", out, keep=["id"]) == 0
    found = pq.read_schema(out)
    assert found.names == ["id", "prediction", "risk"]
    assert found.field("prediction").type == pa.string()


def test_the_command(stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card, out = card_of(), tmp_path / "out.parquet"
    saved = card.save(tmp_path / "card.json")

    def run(*more: object) -> Any:
        command = ["predict", saved, stored, "--id", "id", *more]
        return CliRunner().invoke(app, [str(each) for each in command])

    done = run("--out", out, "--scores")
    assert done.exit_code == 0, done.output
    assert "rows: 1000 of 1000 rows" in done.stderr
    np.testing.assert_array_equal(pq.read_table(out)["total"], whole(card)[1])
    assert len(run().stdout.splitlines()) == 1001
    out.unlink()

    def stopped(*given: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Scorecard, "risks", stopped)
    ended = run("--out", out)
    assert ended.exit_code == 130
    assert "no file was written" in ended.stderr
    assert not out.exists()


@pytest.mark.parametrize("decimal", [".", ","])
def test_text_is_answered_as_the_whole_table_is(tmp_path: Path, decimal: str) -> None:
    card, frame = card_of(), whole(card_of())[0].rename(columns={" age ": "age"})
    frame["ward"] = frame["ward"].astype(object)
    frame["id"] = [f"{k:06d}" for k in range(1000)]
    source, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    frame.drop(columns="day").to_csv(source, index=False, decimal=decimal, sep=";")
    rows = streaming.predict_file(
        card, source, out, keep=["id", "age"], scores=True, groups=True, decimal=decimal
    )
    assert rows == 1000
    found = pd.read_csv(out, dtype={"id": str, "age": str})
    totals = card.score(frame)
    np.testing.assert_array_equal(found["total"], totals)
    np.testing.assert_array_equal(found["prediction"], card.labels(totals))
    assert found["id"].tolist() == frame["id"].tolist()
    assert found["age"][0:2].isna().tolist() == [True, False]
    assert set(found["age"].dropna().str.replace(",", ".").astype(float)) <= set(frame["age"])
    parquet = tmp_path / "out.parquet"
    streaming.predict_file(card, source, parquet, keep=["id"], decimal=decimal)
    assert pq.read_table(parquet)["id"].to_pylist() == frame["id"].tolist()


def test_text_without_an_answer_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card, out = card_of(by_unit=0), tmp_path / "out.csv"
    frame = table().to_pandas().drop(columns="day").rename(columns={" age ": "age"})

    def refused(said: str, column: str, value: Any, **more: Any) -> None:
        changed = frame.astype({column: object})
        changed.loc[900, column] = value
        changed.to_csv(tmp_path / "rows.csv", index=False)
        with pytest.raises(MilpscoreError, match=said):
            streaming.predict_file(card, tmp_path / "rows.csv", out, **more)
        assert not out.exists()

    refused("rows 897 to 960 of .*'ward' holds 'c', unseen", "ward", "c")
    refused(r"Line: 902.*\"age\".*old", "age", "old")
    refused("'old'", "age", "old", keep=["age"])
    refused("no column 'idd'; did you mean 'id'", "age", 50, keep=["idd"])
    saved = card.save(tmp_path / "card.json")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    command = ["predict", str(saved), str(tmp_path / "rows.csv"), "--id", "id", "--scores"]
    small = CliRunner().invoke(app, command)
    set_policy(monkeypatch, sources, max_bytes_in_memory=0)
    large = CliRunner().invoke(app, command)
    assert large.exit_code == 0, large.output
    assert large.stdout == small.stdout
