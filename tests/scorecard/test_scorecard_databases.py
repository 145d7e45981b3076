"""The SQL of a card, run by databases, gives the totals, answers and risks that the card gives."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from milpscore import Scorecard
from milpscore.core.design import Column
from milpscore.core.errors import DataError, MissingDependencyError, OptionError
from milpscore.scorecard.ordinal import OrdinalCard
from milpscore.scorecard.risks import RiskScale

duckdb = pytest.importorskip("duckdb")
sqlglot = pytest.importorskip("sqlglot")

HIGH = 0.1 + 0.2  # not 0.3

TYPES = {"f": "DOUBLE PRECISION", "O": "VARCHAR(40)", "b": "BOOLEAN", "i": "BIGINT"}

COLUMNS = (
    Column("a", 'say "hi"'),
    *(Column(f"b{cut}", "it's", "step", lower=cut) for cut in (-0.0, 0.3, HIGH, 5e-324)),
    Column("c0", "select", "interval", upper=-1e-300),
    Column("c1", "select", "interval", lower=-1e-300, upper=2.0**53),
    Column("c2", "select", "interval", lower=2.0**53),
    Column("c3", "select", "missing"),
    *(
        Column(f"d {text}", "group by; DROP TABLE data --", "category", category=text)
        for text in ("it's", 'a "b"', "x\\y", "", "%s {x} $1 :p ?")
    ),
    *(Column(f"e {text}", "Größe 身高", "category", category=text) for text in ("1", "-2", "2.5")),
    Column("e4", "Größe 身高", "missing"),
    *(Column(f"f {text}", "total", "category", category=text) for text in ("False", "True")),
    Column("g", "back`tick\\", "missing"),
)  # fmt: skip
POINTS = (2, 1, 2, -4, 8, 1, -3, 5, 7, 1, -2, 3, 4, -5, 2, -1, 6, 3, -2, 4, 9)
BLOCKS = ((5, 6, 7),)


def frame() -> pd.DataFrame:
    """A row for each awkward value of one feature, plain ones in the others."""
    values: dict[str, list[Any]] = {
        'say "hi"': [1.0, -0.0, 1e-300, -7.25, 123456.0, np.nan, np.inf, -np.inf],
        "it's": [1.0, -0.0, 0.0, 0.3, HIGH, np.nextafter(0.3, 0), 5e-324, np.nan, np.inf],
        "select": [1.0, -0.0, -1e-300, 2.0**53, 2.0**53 - 1, np.nan, np.inf, -np.inf, 1e308],
        "group by; DROP TABLE data --": [
            "it's", 'a "b"', "x\\y", "", "%s {x} $1 :p ?", "unseen", None,
        ],
        "Größe 身高": [1.0, -2.0, 2.5, 3.0, np.nan],
        "total": [True, False],
        "back`tick\\": [1.0, np.nan],
    }  # fmt: skip
    plain = {name: each[0] for name, each in values.items()}
    rows = [{**plain, name: value} for name, each in values.items() for value in each]
    return pd.DataFrame(rows).astype({"total": bool})


def card_of(step: Fraction | None = None) -> Scorecard:
    card = Scorecard(COLUMNS, POINTS, Fraction(19, 2), BLOCKS, ("no", "it's yes"), step)
    base = {"it's": 4, "group by; DROP TABLE data --": 3}  # no line of theirs is for what is unseen
    return replace(card, risk=RiskScale(scale=7 / 3), base_points=base)


def expected(card: Scorecard, table: pd.DataFrame, unseen: Any) -> list[tuple[Any, ...]]:
    """Total, answer and risk of each row; None where the card refuses it."""
    found: list[tuple[Any, ...]] = []
    for k in range(len(table)):
        try:
            totals = card.score(table.iloc[[k]], unseen=unseen)
        except DataError:
            found.append((None, None, None))
        else:
            found.append((totals[0], card.labels(totals)[0].item(), card.risks(totals)[0]))
    return found


def stored(connection: Any, table: pd.DataFrame, mark: str) -> None:
    """The table in a database, text that is missing as NULL, numbers as NaN or as NULL in turn."""

    def quoted(name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    types = [TYPES.get(dtype.kind, TYPES["O"]) for dtype in table.dtypes]
    names = [quoted(str(name)) for name in table.columns]
    declared = ", ".join(f"{name} {kind}" for name, kind in zip(names, types, strict=True))
    cursor = connection.cursor()
    cursor.execute(f'CREATE TABLE "da ta" ("row id" BIGINT, {declared})')
    rows = [
        (k, *(None if isinstance(v, float) and math.isnan(v) and k % 2 else v for v in row))
        for k, row in enumerate(table.astype(object).to_numpy().tolist())
    ]
    marks = ", ".join([mark] * (len(names) + 1))
    cursor.executemany(f'INSERT INTO "da ta" VALUES ({marks})', rows)


def held(connection: Any, sql: str) -> list[tuple[Any, ...]]:
    """What a statement answers, by row."""
    cursor = connection.cursor()
    cursor.execute(sql)
    return [row[1:] for row in sorted(cursor.fetchall())]


def agree(found: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]]) -> None:
    assert len(found) == len(wanted)
    assert {None} < {label for _, label, _ in wanted}
    for own, other in zip(found, wanted, strict=True):
        assert own[1] == other[1], (own, other)
        assert (own[0] is None) == (other[0] is None)
        if other[0] is not None:
            assert float(own[0]) == pytest.approx(float(other[0]), rel=1e-12)
            assert float(own[2]) == pytest.approx(float(other[2]), rel=1e-12, abs=1e-300)


@pytest.fixture
def postgres(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A private cluster of PostgreSQL, on a socket in a folder of its own, and a connection."""
    psycopg = pytest.importorskip("psycopg")
    places = [shutil.which("initdb"), *sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))]
    if not (found := [Path(place) for place in places if place]):
        request.node.user_properties.append(("outside program absent", "postgresql"))
        pytest.skip("PostgreSQL is not installed: apt install postgresql")
    programs = found[-1].parent
    # it refuses to run as root, and nobody else may look into pytest's folders
    user: dict[str, Any] = {"user": "nobody", "group": "nogroup"} if os.geteuid() == 0 else {}
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    if user:
        shutil.chown(folder, **user)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}

    def run(program: str, *arguments: str) -> None:
        subprocess.run([programs / program, *arguments], check=True, **quiet, **user)

    options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
    place = ["-D", str(folder / "cluster")]
    try:
        run("initdb", *place, "-A", "trust", "-U", "tests", "-E", "UTF8", "--no-sync", "--locale=C")
        run("pg_ctl", *place, "-w", "-o", options, "-l", str(folder / "log"), "start")
        try:
            with psycopg.connect(host=str(folder), user="tests", dbname="postgres") as connection:
                told = f"postgresql {connection.info.server_version // 10000}"
                request.node.user_properties.append(("outside program ran", told))
                yield connection
        finally:
            run("pg_ctl", *place, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder)


CASES = [(unseen, step) for unseen in ("error", "zero") for step in (None, Fraction(1, 4))]


def statement(card: Scorecard, dialect: str, unseen: str) -> str:
    kept = "null" if unseen == "error" else "zero"
    return card.to_sql("da ta", dialect, keys=["row id"], unseen=kept)  # type: ignore[arg-type]


def test_postgresql(postgres: Any) -> None:
    stored(postgres, frame(), "%s")
    for unseen, step in CASES:
        card = card_of(step)
        wanted = expected(card, frame(), unseen)
        for dialect in ("ansi", "postgres"):
            agree(held(postgres, statement(card, dialect, unseen)), wanted)


def test_duckdb_and_what_is_written_for_warehouses() -> None:
    with closing(duckdb.connect()) as connection:
        stored(connection, frame(), "?")
        for unseen, step in CASES:
            card = card_of(step)
            wanted = expected(card, frame(), unseen)
            for dialect in ("ansi", "duckdb"):
                agree(held(connection, statement(card, dialect, unseen)), wanted)
            for dialect in ("bigquery", "spark", "snowflake"):
                theirs = statement(card, dialect, unseen)
                (back,) = sqlglot.transpile(theirs, read=dialect, write="duckdb")
                agree(held(connection, back), wanted)


def test_sqlite() -> None:
    import sqlite3

    with closing(sqlite3.connect(":memory:")) as connection:
        stored(connection, frame(), "?")
        for unseen, step in CASES:
            card = card_of(step)
            wanted = expected(card, frame(), unseen)
            for dialect in ("ansi", "sqlite"):
                agree(held(connection, statement(card, dialect, unseen)), wanted)


NASTY: tuple[Any, ...] = (
    "", " ", "12abc", "1e3", " 5", "5", "0x10", "nan", "inf", "-inf", "NULL", "True", b"5", b"",
    None, 3, 0, -1, 3.0, -0.0, 0.5, 5e-324, 1e-300, 2**53, 10**18, 1e308, "b", "low", "1", "1.0",
)  # fmt: skip


def nasty_card(answers: int) -> Any:
    """A card of every kind of column, of two classes or of three ordered ones."""
    columns = (
        Column("n", "n"),
        Column("s", "s", "step", lower=0.5),
        Column("i0", "i", "interval", upper=1.0), Column("i1", "i", "interval", lower=1.0),
        Column("i2", "i", "missing"),
        Column("c = b", "c", "category", category="b"),
        Column("c = 1", "c", "category", category="1"),
    )  # fmt: skip
    card = Scorecard(columns, (1, 2, -3, 1, 4, 2, -1), Fraction(3), ((2, 3),), ("no", "yes"))
    if answers == 2:
        return replace(card, risk=RiskScale(scale=2.0))
    return OrdinalCard(card, ("low", "middle", "high"), (Fraction(3), Fraction(5)))


TEXTS = tuple(v for v in NASTY if isinstance(v, str) and v != "1.0")  # which DuckDB writes for 1

STORED: dict[str, dict[str, tuple[Any, ...]]] = {
    "sqlite": {"": NASTY},
    "duckdb": {
        "DOUBLE": (0.5, 0.0, -0.0, 1.0, 3.0, 5e-324, 1e-300, 1e308, math.nan, math.inf, -math.inf),
        "BIGINT": (0, 1, -1, 3, 2**53 + 1, 2**63 - 1), "HUGEINT": (0, 1, 3, 10**30, -(10**30)),
        "BOOLEAN": (True, False),
        "VARCHAR": TEXTS,
    },
    "postgres": {
        "DOUBLE PRECISION": (0.5, -0.0, 1.0, 3.0, 5e-324, 1e308, math.nan, math.inf, -math.inf),
        "BIGINT": (0, 1, -1, 3, 2**53 + 1, 2**63 - 1), "NUMERIC": (0, 1, 3, 10**30, -(10**30)),
        "VARCHAR": TEXTS,
    },
}  # fmt: skip
"""Types of columns, and values that they hold. A column of text holds categories alone."""


def hold_nasty_rows(connection: Any, database: str, answers: int, unseen: Any) -> None:
    """Hold the answers of 1,000 rows of odd values against those of ``predict``."""
    card, rng = nasty_card(answers), np.random.default_rng(answers)
    types = STORED[database]
    numbers = [kind for kind in types if kind != "VARCHAR"]
    texts = [kind for kind in types if kind not in ("DOUBLE", "DOUBLE PRECISION", "NUMERIC")]
    turns = max(len(numbers), len(texts))
    answer: dict[Any, Any] = {}
    for turn in range(turns):
        kinds = [numbers[(turn + k) % len(numbers)] for k in range(3)]
        kinds.append(texts[turn % len(texts)])
        values = [(*types[kind], None) for kind in kinds]
        plain = [[v for v in each if isinstance(v, int | float)] or each for each in values]
        rows = [
            [
                odd[rng.integers(len(odd))] if rng.random() < 0.2 else even[rng.integers(len(even))]
                for odd, even in zip(values, plain, strict=True)
            ]
            for _ in range(1000 // turns)
        ]
        cursor = connection.cursor()
        cursor.execute(f"DROP TABLE IF EXISTS t{turn}")
        declared = ", ".join(f"{name} {kind}" for name, kind in zip("nsic", kinds, strict=True))
        cursor.execute(f"CREATE TABLE t{turn} (k INTEGER, {declared})")
        mark = "%s" if database == "postgres" else "?"
        cursor.executemany(
            f"INSERT INTO t{turn} VALUES ({', '.join([mark] * 5)})",
            [(k, *row) for k, row in enumerate(rows)],
        )
        kept = "null" if unseen == "error" else "zero"
        cursor.execute(card.to_sql(f"t{turn}", database, keys=["k"], unseen=kept))
        told = sorted(cursor.fetchall(), key=lambda row: row[0])
        cursor.execute(f"SELECT n, s, i, c FROM t{turn} ORDER BY k")
        for row, found in zip(cursor.fetchall(), told, strict=True):
            key = tuple((type(v), repr(v)) for v in row)
            if key not in answer:
                frame = pd.DataFrame([row], columns=list("nsic"), dtype=object)
                try:
                    answer[key] = card.predict(frame, unseen=unseen)[0]
                except DataError:
                    answer[key] = None
            assert found[2] == answer[key], (kinds, row, found, answer[key])
    assert None in answer.values()
    assert len({*answer.values()}) > 1


@pytest.mark.parametrize("answers", [2, 3])
@pytest.mark.parametrize("unseen", ["error", "zero"])
def test_sqlite_gives_no_class_where_predict_refuses(answers: int, unseen: Any) -> None:
    import sqlite3

    with closing(sqlite3.connect(":memory:")) as connection:
        hold_nasty_rows(connection, "sqlite", answers, unseen)


@pytest.mark.parametrize("answers", [2, 3])
@pytest.mark.parametrize("unseen", ["error", "zero"])
def test_duckdb_gives_no_class_where_predict_refuses(answers: int, unseen: Any) -> None:
    with closing(duckdb.connect()) as connection:
        hold_nasty_rows(connection, "duckdb", answers, unseen)


def test_postgresql_gives_no_class_where_predict_refuses(postgres: Any) -> None:
    for answers in (2, 3):
        for unseen in ("error", "zero"):
            hold_nasty_rows(postgres, "postgres", answers, unseen)


def test_a_category_that_reads_like_a_float_keeps_its_own_points() -> None:
    columns = tuple(Column(f"c = {text}", "c", "category", category=text) for text in ("1", "1.0"))
    card = Scorecard(columns, (1, 4), Fraction(3), (), ("no", "yes"))
    with closing(duckdb.connect()) as connection:
        connection.execute("CREATE TABLE t AS SELECT * FROM (VALUES (0, '1'), (1, '1.0')) v(k, c)")
        told = connection.execute(card.to_sql("t", "duckdb", keys=["k"])).fetchall()
    frame = pd.DataFrame({"c": ["1", "1.0"]})
    assert [row[1] for row in sorted(told)] == card.score(frame).tolist() == [1, 4]


def test_dialects_and_what_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    card = card_of()
    assert "`da ta`" in statement(card, "spark", "error")
    with pytest.raises(
        OptionError, match=r"'postgresql'; did you mean 'postgres'\? there are ansi"
    ):
        statement(card, "postgresql", "error")
    monkeypatch.setitem(__import__("sys").modules, "sqlglot", None)
    with pytest.raises(MissingDependencyError, match=r"milpscore\[sql\]"):
        statement(card, "duckdb", "error")
    assert statement(card, "ansi", "error").startswith("-- Scorecard")
