"""Damaged files: every kind of file that is read, ways to harm it, and the commands that read it.

Whatever a file holds, a command answers with exit code 0, 1 or 2, with one line where it refuses,
within :data:`HANGS` seconds of CPU.
"""

from __future__ import annotations

import io
import json
import signal
import sqlite3
import tempfile
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

from fuzz.cases import Random
from fuzz.running import Wrong
from milpscore.cli.app import app

HANGS = 20.0


class Hangs(BaseException):
    """A command took too long; nothing that it runs catches this."""


NASTY: tuple[Any, ...] = (
    None, True, 0, -1, 7, 2**62, -(2**63), 10**30, 10**400, 0.5, 1e308,
    -1e-320, "", "x", "0", "1/0", "1e99999999", "-3/7", "nan", "inf", "\x00", "a\nb",
    "9" * 5000, [], {}, [[]], [None], [1, "a"], {"a": 1},
    {"$fraction": "1e99999999"}, {"$float": "x"}, [[[[[[[[]]]]]]]], ["x"] * 50,
)  # fmt: skip
"""What is put in the place of an entry."""

RAW = (
    b"1e999", b"NaN", b"-Infinity", b"9" * 5000, b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe",
    b"\x00", b'"', b"}", b",,", b"[" + b"[]," * 500_000, b"1e99999999", b"\xed\xa0\x80", b"\\ud800",
)  # fmt: skip
"""What is put somewhere into the bytes."""


# --- ways to damage -------------------------------------------------------------------------------


def pick(rng: Random, things: Any) -> Any:
    """One of them."""
    return things[int(rng.integers(len(things)))]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the entries of a value of JSON stand."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in entries:
        yield (*path, key)
        if isinstance(entry, dict | list):
            yield from places(entry, (*path, key))


def harm(value: Any, rng: Random, times: int = 1) -> Any:
    """A value of JSON with that number of entries replaced, left out, renamed or doubled."""
    value = json.loads(json.dumps(value))
    for _ in range(times):
        found = list(places(value))
        if not found:
            return deepcopy(pick(rng, NASTY))
        *way, last = pick(rng, found)
        at = value
        for key in way:
            at = at[key]
        how = rng.integers(10)
        if how < 6:
            at[last] = deepcopy(pick(rng, NASTY))
        elif how == 6:
            del at[last]
        elif how == 7 and isinstance(at, dict):
            at[f"{last}x"] = at.pop(last)
        elif how == 8:  # an entry from elsewhere
            other: Any = value
            for key in pick(rng, found):
                other = other[key] if isinstance(other, dict | list) else other
            at[last] = json.loads(json.dumps(other))
        elif isinstance(at, list):
            at.append(at[last])
        elif isinstance(at[last], str):
            at[last] = at[last] + pick(rng, ("0", "x", "/3", "e99", "\n", "é", " "))
        elif isinstance(at[last], int | float):
            at[last] = at[last] * pick(rng, (-1, 2, 1000, 10**12))
    return value


def spoil(data: bytes, rng: Random) -> bytes:
    """Bytes with some changed, cut off, put in or doubled."""
    made = bytearray(data)
    at = int(rng.integers(len(made)))
    how = rng.integers(5)
    if how == 0:
        for _ in range(int(rng.integers(1, 9))):
            made[int(rng.integers(len(made)))] = int(rng.integers(256))
    elif how == 1:
        del made[at:]
    elif how == 2:
        made[at:at] = pick(rng, RAW)
    elif how == 3:
        made[at : at + int(rng.integers(1, 60))] = pick(rng, RAW)
    else:
        made[at:at] = made[at // 2 : at]
    return bytes(made)


def harm_json(data: bytes, rng: Random) -> bytes:
    """A text of JSON, harmed in its entries or its bytes."""
    if rng.integers(4) == 0:
        return spoil(data, rng)
    return json.dumps(harm(json.loads(data), rng, int(rng.integers(1, 4)))).encode()


HEADERS = (
    ("(10000000000000,)", "<f8"), ("(-1,)", "<f8"), ("()", "<f8"), ("(2, 2)", "<f8"),
    ("(3,)", "|O"),
    ("(3,)", "<i4"), ("(1e3,)", "<f8"), ("('a',)", "<f8"), ("(3,)", "nonsense"),
    ("(" * 300, "<f8"),
)  # fmt: skip


def harm_npz(data: bytes, rng: Random) -> bytes:
    """An archive of arrays, harmed in its bytes, its headers, its texts or its size."""
    how = rng.integers(5)
    if how == 0:
        return spoil(data, rng)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = pick(rng, list(parts))
    if how == 1:
        shape, dtype = pick(rng, HEADERS)
        text = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape}, }}"
        parts[name] = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
        parts[name] += bytes(24)
    elif how == 2:
        parts[name] = spoil(parts[name], rng)
    elif how == 3:
        texts = [each for each in parts if each[:-4] in ("header", "unigrams", "bigrams")]
        name = pick(rng, texts)
        content = np.load(io.BytesIO(parts[name])).tobytes()
        harmed = harm_json(content, rng)
        written = io.BytesIO()
        np.save(written, np.frombuffer(harmed, dtype=np.uint8))
        parts[name] = written.getvalue()
    elif rng.integers(20) == 0:  # a bomb of zeros
        parts[name] = parts[name] + bytes(60_000_000)
    else:
        parts.pop(name)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, part in parts.items():
            archive.writestr(each, part)
    return made.getvalue()


_SQL = (
    "DROP VIEW figures", "DROP TABLE solves", "DELETE FROM solves", "PRAGMA user_version = 99",
    "PRAGMA application_id = 1", "ALTER TABLE solves RENAME COLUMN key TO name",
    "ALTER TABLE solves ADD COLUMN more TEXT", "ALTER TABLE solves DROP COLUMN error",
    "DELETE FROM solves WHERE number = -1", "CREATE TABLE other (a)",
    "DROP TABLE solves; CREATE VIEW solves AS WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL "
    "SELECT n + 1 FROM t) SELECT n AS key, n AS number FROM t",
    "CREATE TRIGGER more AFTER INSERT ON solves BEGIN DELETE FROM solves; END",
    "UPDATE solves SET result = zeroblob(70000000)",
)  # fmt: skip
_CELLS = ("key", "number", "seed", "result", "card", "certificate", "error", "seconds", "versions",
          "finished")  # fmt: skip


def harm_results(data: bytes, rng: Random) -> bytes:
    """A file of results, harmed in its bytes, its layout, its cells or what these hold."""
    if (how := rng.integers(4)) == 0:
        return spoil(data, rng)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.sqlite"
        path.write_bytes(data)
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            if how == 1:
                connection.executescript(pick(rng, _SQL))
            else:
                _harm_cell(connection, rng, inside=bool(how == 2))
        except (sqlite3.Error, OverflowError, UnicodeError):
            connection.close()
            return spoil(data, rng)  # SQLite itself refused this one
        connection.close()
        return path.read_bytes()


def _harm_cell(connection: sqlite3.Connection, rng: Random, inside: bool) -> None:
    """Another value in one column of some rows, or inside the JSON it holds."""
    column = pick(rng, _CELLS if not inside else ("result", "card", "versions"))
    which = pick(rng, ("number >= 0", "number = -1", "number = 0"))
    if not inside:
        value = pick(rng, (None, 3, -1.5, "x", "", b"\xff\x00", "[1]", "{}", 2**62, "[" * 100_000))
    else:
        query = f"SELECT {column} FROM solves WHERE {which} AND {column} IS NOT NULL"
        found = connection.execute(query).fetchone()
        value = harm_json((found[0] if found else "{}").encode(), rng).decode(errors="replace")
    connection.execute(f"UPDATE solves SET {column} = ? WHERE {which}", (value,))


def harm_text(data: bytes, rng: Random) -> bytes:
    """TOML, YAML or CSV, harmed in its bytes and numbers."""
    if rng.integers(2):
        return spoil(data, rng)
    words = data.decode().split(" ")
    words[int(rng.integers(len(words)))] = str(pick(rng, NASTY))
    return " ".join(words).encode("utf-8", "replace")


# --- files and the commands that read them --------------------------------------------------------

Words = tuple[str, ...]


@dataclass
class Kind:
    """A kind of file: a whole one, how it is harmed, and the commands that read it."""

    name: str
    data: bytes
    by: Callable[[bytes, Random], bytes]
    commands: tuple[Words, ...]


def whole_files(folder: Path) -> dict[str, Kind]:
    """A small whole file of every kind."""
    rng = np.random.default_rng(0)
    table, seq = folder / "d.csv", folder / "s.txt"
    lines = ["age,sex,bp,y"]
    for _ in range(40):
        age, sex, bp = int(rng.integers(20, 80)), pick(rng, ("f", "m")), int(rng.integers(0, 2))
        lines.append(f"{age},{sex},{bp},{int(age / 40 + bp + rng.normal() > 1.5)}")
    table.write_text("\n".join(lines))
    seq.write_text("a X A\nb Y B\n\nb X A\na Y B\na X A\n")
    for kind, name in (("risk-score", "risk"), ("slim", "slim")):
        files = ("--out", folder / f"{name}.json", "--certificate", folder / f"{name}.cert.json")
        run("fit", table, "--target", "y", "--formulation", kind, "--time-limit", "2", *files, "-q")
    for model in ("m.npz", "m.json"):
        run("crf", "train", seq, "--model", folder / model, "--max-iterations", "3", "-q")
    study = (
        '[[data]]\nname = "d"\ngenerator = "planted_score"\narguments = {n_samples = 40, '
        'n_features = 6}\nseed = 1\n[[models]]\nestimator = "hinge"\narguments = {max_terms = 2}\n'
        '[[models]]\nestimator = "l1"\narguments = {lam = 0.1}\n[limits]\ntime_limit = 2\n'
    )
    (folder / "study.toml").write_text(study)
    run("study", "run", folder / "study.toml", "--out", folder / "r.sqlite", "-q")
    cuts = b'{"age": [30, 45.5, 60]}'
    labels = b'{"age": {"name": "Age", "lines": {">= 40": "old"}}}'
    rules = b'[[constraints]]\ntype = "at_most"\nk = 2\ncolumns = ["age", "bp"]\n'
    yaml = b"constraints:\n  - {type: at_most, k: 2, columns: [age, bp]}\n"
    t, s = str(table), str(seq)
    fit = ("fit", t, "--target", "y", "--formulation", "hinge", "--time-limit", "0", "-q")
    card: tuple[Words, ...] = (
        ("card", "FILE"),
        ("predict", "FILE", t, "--scores"),
        ("card", "FILE", "--out", "OUT.sql"),
        ("card", "FILE", "--out", "OUT.html"),
    )
    proof = (("verify", "FILE", t, "--time-limit", "0.2"),)
    tag = ("crf", "tag", "FILE", s)
    results = (("study", "status", "FILE"), ("study", "export", "FILE", "--out", "OUT.csv"))
    words = (("card", str(folder / "risk.json"), "--labels", "FILE"),)
    kinds = [
        Kind("risk.json", b"", harm_json, card),
        Kind("slim.json", b"", harm_json, card),
        Kind("risk.cert.json", b"", harm_json, proof),
        Kind("slim.cert.json", b"", harm_json, proof),
        Kind("m.npz", b"", harm_npz, (tag,)),
        Kind("m.json", b"", harm_json, (tag, ("crf", "dump", "FILE"))),
        Kind("r.sqlite", b"", harm_results, results),
        Kind("cuts.json", cuts, harm_json, ((*fit, "--thresholds", "FILE"),)),
        Kind("words.json", labels, harm_json, words),
        Kind("rules.toml", rules, harm_text, ((*fit, "--constraints", "FILE"),)),
        Kind("rules.yaml", yaml, harm_text, ((*fit, "--constraints", "FILE"),)),
        Kind("study.toml", b"", harm_text, (("study", "run", "FILE", "--out", "OUT.db", "-q"),)),
    ]  # fmt: skip
    for each in kinds:
        each.data = each.data or (folder / each.name).read_bytes()
    return {each.name: each for each in kinds}


def run(*arguments: Any) -> Any:
    """A command of the command line, in this process."""
    return CliRunner().invoke(app, [str(each) for each in arguments])


@contextmanager
def stopped(seconds: float) -> Iterator[None]:
    """Raise Hangs after some seconds of CPU, wherever it is."""

    def stop(number: int, frame: Any) -> None:
        raise Hangs(f"more than {seconds:g} s of CPU")

    previous = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)


def read(kind: Kind, data: bytes, folder: Path) -> list[int]:
    """Let the commands read a file: their exit codes; Wrong where one fails."""
    path = folder / f"harmed{Path(kind.name).suffix}"
    path.write_bytes(data)
    codes = []
    for command in kind.commands:
        words = [str(path) if word == "FILE" else word for word in command]
        words = [str(folder / word) if word.startswith("OUT.") else word for word in words]
        for left in folder.glob("OUT.*"):
            left.unlink()
        try:
            with stopped(HANGS), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answer = run(*words)
        except Hangs as error:
            raise Wrong(f"{kind.name} hangs {command[0]}", f"{error}; {data[:300]!r}") from error
        codes.append(answer.exit_code)
        raised, said = answer.exception, answer.stderr[:300]
        if raised is not None and not isinstance(raised, SystemExit):
            said = "".join(traceback.format_exception(raised)[-3:])[-900:]
            raise Wrong(f"{kind.name} crashes {command[0]}", f"{said}; {data[:300]!r}")
        lines = [line for line in answer.stderr.splitlines() if line.strip()]
        plain = answer.exit_code != 2 or (len(lines) == 1 and lines[0].startswith("Error: "))
        if answer.exit_code not in (0, 1, 2) or not plain:
            raise Wrong(f"{kind.name} ends {command[0]}", f"{answer.exit_code}: {said!r}")
    return codes
