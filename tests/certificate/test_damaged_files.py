"""Whatever stands in a file, it is read or refused in one line: known cases, and a fixed share."""

from __future__ import annotations

import io
import json
import resource
import sqlite3
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fuzz.files import Kind, read, run, whole_files
from milpscore import Scorecard
from milpscore.certificate import Certificate
from milpscore.constraints import read_constraints
from milpscore.core.errors import DataError
from milpscore.core.reading import exact, parsed, settings_of, text_of
from milpscore_sequence import SparseCRF

SHARE = 15
"""Damaged files of each kind; ``make fuzz`` tries as many as there is time for."""

MEMORY = 200_000  # of ru_maxrss, in kB


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("whole")


@pytest.fixture(scope="module")
def kinds(folder: Path) -> dict[str, Kind]:
    return whole_files(folder)


@pytest.fixture
def bounded() -> Iterator[None]:
    """What a bad file may cost: CPU, for which a hang has no end, and memory."""
    began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert time.process_time() - began < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY


NAMES = [
    "risk.json", "slim.json", "risk.cert.json", "slim.cert.json", "m.npz", "m.json", "r.sqlite",
    "cuts.json", "words.json", "rules.toml", "rules.yaml", "study.toml",
]  # fmt: skip


def test_every_kind_of_file_is_tried(kinds: dict[str, Kind]) -> None:
    assert list(kinds) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_damaged_files_are_read_or_refused_in_one_line(
    name: str, kinds: dict[str, Kind], folder: Path
) -> None:
    kind = kinds[name]
    codes = read(kind, kind.data, folder)
    assert 2 not in codes
    refused = 0
    for number in range(SHARE):
        rng = np.random.default_rng([9, number, *name.encode()])
        codes = read(kind, kind.by(kind.data, rng), folder)
        refused += max(codes) > 0
    assert refused > SHARE / 3


# --- cards ----------------------------------------------------------------------------------------


def refused(*arguments: Any) -> str:
    """The one line with which a command refuses its input."""
    answer = run(*arguments)
    assert answer.exit_code == 2
    assert answer.exception is None or isinstance(answer.exception, SystemExit)
    (line,) = answer.stderr.splitlines()
    return line


def changed(
    kinds: dict[str, Kind], folder: Path, *way: Any, to: Any, name: str = "risk.json"
) -> Path:
    """A whole file of JSON with one entry changed."""
    content = json.loads(kinds[name].data)
    at = content
    for key in way[:-1]:
        at = at[key]
    at[way[-1]] = to
    path = folder / f"changed.{name}"
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("text", ["1e99999999", "-1e-99999999", "1/0", "1e999", "9" * 5000, "٣"])
@pytest.mark.parametrize("key", ["threshold", "step", "fitted_threshold"])
def test_fractions_that_take_for_ever_are_refused_at_once(
    key: str, text: str, kinds: dict[str, Kind], folder: Path, bounded: None
) -> None:
    assert f"damaged ({text[:3]!r}"[:12] in refused("card", changed(kinds, folder, key, to=text))


def test_fractions_that_are_some() -> None:
    assert [str(exact(text)) for text in ("3/10", "-7", 7, "0.25", "1e2")] == [
        "3/10", "-7", "7", "1/4", "100",
    ]  # fmt: skip
    for value in (True, 0.5, None, [], "", "1 ", "1/2/3", "0x1"):
        with pytest.raises(ValueError, match="not a fraction such as"):
            exact(value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000, "nested deeper"),
        ('{"a":' * 100_000, "nested deeper"),
        ('{"kind": "milpscore.scorecard", "title": ' + "9" * 5000 + "}", "300 digits"),
        ('{"kind": "milpscore.scorecard", "schema_version": 1e999}', "out of range"),
        ('{"kind": NaN}', "not JSON"),
        ("[" + "[]," * 3_000_000 + "1]", "entries"),
        ('"' + '\\"' * 1_000_000, "not JSON"),
    ],
    ids=["lists", "mappings", "5000 digits", "1e999", "nan", "millions of lists", "open text"],
)
def test_json_that_is_deep_long_or_none(
    text: str, said: str, tmp_path: Path, bounded: None
) -> None:
    path = tmp_path / "card.json"
    path.write_text(text)
    table = tmp_path / "d.csv"
    table.write_text("a,b\n1,2\n")
    for command in (("card", path), ("predict", path, table), ("report", path, table)):
        assert said in refused(*command)
    # what a certificate may hold at most is a matter of bytes
    others = {
        "out of range": "not JSON|not a certificate",
        "entries": "more than 8 MB",
        "nested deeper": "recursion|signs {",
        "not JSON": 'not JSON|signs "',
    }
    said = others.get(said, said)
    with pytest.raises(DataError, match=said):
        Certificate.from_json(path)


def test_every_entry_of_a_card_has_its_type(kinds: dict[str, Kind], folder: Path) -> None:
    """Each entry in turn becomes each of some values; none of them shows a traceback."""
    content = json.loads(kinds["risk.json"].data)
    for key in content:
        for value in (None, 3, "x", [1], {"a": [None]}, [[{}]]):
            answer = run("card", changed(kinds, folder, key, to=value))
            assert answer.exit_code in (0, 2)
            assert answer.exception is None or isinstance(answer.exception, SystemExit)


def test_a_table_of_one_endless_field(kinds: dict[str, Kind], folder: Path, bounded: None) -> None:
    path = folder / "endless.csv"
    path.write_text('"' + "a" * 2_000_000)
    for command in (("predict", folder / "risk.json", path), ("fit", path, "--target", "y")):
        assert refused(*command).startswith("Error: ")


def test_categories_of_a_column_that_has_none(kinds: dict[str, Kind], folder: Path) -> None:
    path = changed(kinds, folder, "columns", 0, "others", to=["x"])
    assert "categories do not agree" in refused("card", path)


def test_a_certificate_s_intercept_is_no_power_of_ten(
    kinds: dict[str, Kind], folder: Path, bounded: None
) -> None:
    path = changed(kinds, folder, "card", "intercept", to="1e99999999", name="risk.cert.json")
    with pytest.raises(DataError, match="holds no card"):
        _ = Certificate.from_json(path).points


# --- CRF models -----------------------------------------------------------------------------------


def packed(parts: dict[str, bytes], path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return path


def parts_of(kinds: dict[str, Kind]) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(kinds["m.npz"].data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("shape", ["(10000000000000,)", "(-1,)", "()", "(2, 2)", "('a',)"])
def test_arrays_with_other_shapes_than_they_have(
    shape: str, kinds: dict[str, Kind], tmp_path: Path, bounded: None
) -> None:
    parts = parts_of(kinds)
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
    path = packed({**parts, "weights.npy": head + bytes(16)}, tmp_path / "m.npz")
    with pytest.raises(DataError, match="is damaged"):
        SparseCRF.load(path)


def test_an_archive_that_unpacks_to_hundreds_of_times_its_size(
    kinds: dict[str, Kind], tmp_path: Path, bounded: None
) -> None:
    parts = parts_of(kinds)
    path = tmp_path / "m.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, part in parts.items():
            with archive.open(name, "w") as stream:
                stream.write(part)
                for _ in range(16 if name == "header.npy" else 0):
                    stream.write(bytes(2**24))
    assert path.stat().st_size < 3_000_000
    with pytest.raises(DataError, match="would unpack to 268"):
        SparseCRF.load(path)


def test_labels_that_ask_for_more_parameters_than_there_is_room(
    kinds: dict[str, Kind], tmp_path: Path, bounded: None
) -> None:
    content = json.loads(kinds["m.json"].data)
    content["labels"] = [f"L{k}" for k in range(20_000)]
    path = tmp_path / "m.json"
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match="parameters"):
        SparseCRF.load(path)


# --- files of results, and of settings ------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        "DROP TABLE solves",
        "ALTER TABLE solves RENAME COLUMN key TO name",
        "UPDATE solves SET result = '[1]' WHERE number = -1",
        "UPDATE solves SET result = '{}' WHERE number = -1",
        "UPDATE solves SET result = '3' WHERE number = 0",
        'UPDATE solves SET result = \'{"objective": "x"}\' WHERE number = 0',
        "UPDATE solves SET versions = '[]' WHERE number = 0",
        "UPDATE solves SET error = CAST(x'ff00' AS TEXT)",
        "UPDATE solves SET result = zeroblob(70000000) WHERE number = 0",
        "DROP TABLE solves; CREATE VIEW solves AS WITH RECURSIVE t(n) AS "
        "(SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n AS key, n AS number FROM t",
    ],
)
def test_files_of_results_laid_out_or_filled_by_somebody_else(
    change: str, kinds: dict[str, Kind], tmp_path: Path, bounded: None
) -> None:
    path = tmp_path / "r.sqlite"
    path.write_bytes(kinds["r.sqlite"].data)
    connection = sqlite3.connect(path)
    connection.executescript(change)
    connection.close()
    assert "damaged" in refused("study", "status", path)
    assert "damaged" in refused("study", "export", path, "--out", tmp_path / "out.csv")


def test_settings_nested_without_end(tmp_path: Path, bounded: None) -> None:
    for name, text in (
        ("a.toml", "a = " + "[" * 100_000),
        ("a.toml", ".".join(["a"] * 100_000) + " = 1"),
        ("a.toml", "a = " + "9" * 5000),
        ("a.json", "[" * 100_000),
        ("a.txt", "[[a"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(DataError, match=r"nested|is no"):
            settings_of(tmp_path / name)
    (tmp_path / "large.toml").write_bytes(b"#" * 1_100_000)
    with pytest.raises(DataError, match="more than 1 MB"):
        settings_of(tmp_path / "large.toml")


def test_yaml_s_references_are_refused(tmp_path: Path, bounded: None) -> None:
    pytest.importorskip("yaml", reason="PyYAML is optional")
    path = tmp_path / "rules.yaml"
    laughs = [
        "a0: &a0 [lol]",
        *(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 10)),
    ]
    for text in ("\n".join(laughs), "a: " + "[" * 100_000, "a: " + "9" * 5000):
        path.write_text(text)
        with pytest.raises(DataError, match="is no YAML"):
            read_constraints(path)


def test_texts_of_more_than_their_size_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text("12345")
    assert parsed(text_of(path, most=5)) == 12345
    with pytest.raises(DataError, match="more than"):
        text_of(path, most=4)
    path.write_bytes(b"\xff")
    with pytest.raises(DataError, match="UTF-8"):
        Scorecard.load(path)
