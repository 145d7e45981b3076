"""The checker reads a table of any size in passes: the rows it merges are those of the table.

Each is held against the definition, row by row, whatever the file and however its parts are cut.
"""

from __future__ import annotations

import gzip
import sys
import tracemalloc
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from milpscore.certificate import Certificate, certify, verify_certificate
from milpscore.constraints import MaxErrors, MaxFPR
from milpscore.data import Binner, read_patterns, read_table
from milpscore.formulations import hinge, risk_score, slim
from milpscore.solvers import solve
from milpscore_check import Refused, check, proved, table as tables
from milpscore_check.rows import Rows
from milpscore_check.table import Table


def patients(n: int = 300, seed: int = 0) -> pd.DataFrame:
    """Decimals, whole numbers, words, truth values and holes, with labels in words and weights."""
    random = np.random.default_rng(seed)
    age, sex = random.integers(20, 90, n), random.choice(["f", "m"], n)
    ill = (age > 55) + (sex == "m") + random.random(n) > 1.5
    ward = random.choice(np.array(["A", "B", "NA ward", None], dtype=object), n)
    return pd.DataFrame({
        "age": age, "dose": random.normal(size=n).round(2), "sex": sex, "ward": ward,
        "smoker": random.random(n) < 0.3, "stays": random.integers(0, 4, n),
        "counts": random.choice([0, 0.5, 2], n), "outcome": np.where(ill, "ill", "well"),
    })  # fmt: skip


def column(feature: str, kind: str, low: str = "-inf", high: str = "inf", **given: Any) -> Any:
    """A column as a certificate states it."""
    return {"feature": feature, "kind": kind, "lower": low, "upper": high,
            "category": None, "others": [], **given}  # fmt: skip


COLUMNS = [
    column("age", "step", "40.0"), column("ward", "category", category="A"),
    column("age", "interval", "40.0", "60.0"), column("dose", "step", "0.01"),
    column("ward", "missing"), column("smoker", "category", category="True"),
    column("stays", "numeric"), column("age", "interval", "-inf", "30.0"),
]  # fmt: skip


def by_definition(frame: pd.DataFrame) -> list[list[Fraction]]:
    """Those columns of each row."""
    return [
        [Fraction(v) for v in (
            int(age >= 40), int(ward == "A"), int(40 <= age < 60), int(dose >= 0.01),
            int(pd.isna(ward)), int(smoker), int(stays), int(age < 30),
        )]
        for age, ward, dose, smoker, stays in frame[["age", "ward", "dose", "smoker", "stays"]]
        .itertuples(index=False)
    ]  # fmt: skip


def written(frame: pd.DataFrame, folder: Path) -> dict[str, Path]:
    """One table in every kind of file."""
    frame.to_csv(folder / "one.csv", index=False)
    frame.to_parquet(folder / "one.parquet", row_group_size=50)
    with gzip.open(folder / "one.csv.gz", "wb") as packed:
        packed.write((folder / "one.csv").read_bytes())
    (folder / "parts").mkdir()
    for k in range(3):
        frame.iloc[100 * k : 100 * k + 100].to_parquet(folder / "parts" / f"{k}.parquet")
    return {file.name: file for file in folder.iterdir()}


@pytest.mark.parametrize("file", ["one.csv", "one.csv.gz", "one.parquet", "parts"])
@pytest.mark.parametrize("block", [1, 7, 50_000])
@pytest.mark.parametrize("class_weight", [None, "balanced", {"ill": 3.0, "well": 0.5}])
def test_rows_are_merged_as_the_table_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, block: int, class_weight: Any
) -> None:
    monkeypatch.setattr(tables, "_BLOCK", block)
    frame = patients()
    source = {"columns": COLUMNS, "classes": ["well", "ill"], "class_weight": class_weight}
    path = written(frame, tmp_path)[file]
    wanted = {0, 5, 99, 100, 299}
    rows = Rows(Table(path, "utf-8", "."), source, "outcome", "counts")
    data = rows.merged(wanted)
    assert rows.count == 300
    x, weight = by_definition(frame), [Fraction(w) for w in frame["counts"]]
    y = [1 if label == "ill" else -1 for label in frame["outcome"]]
    total = {c: sum(w for w, own in zip(weight, y, strict=True) if own == c) for c in (-1, 1)}
    factor = {c: Fraction(1) for c in total}
    if class_weight == "balanced":
        factor = {c: Fraction(sum(total.values()), 2) / total[c] for c in total}
    elif class_weight:
        factor = {-1: Fraction(1, 2), 1: Fraction(3)}
    mass: dict[Any, Fraction] = defaultdict(Fraction)
    for own, c, w in zip(x, y, weight, strict=True):
        mass[*own, c] += w * factor[c]
    mass = {row: w for row, w in mass.items() if w > 0}
    made = [(*own, c) for own, c in zip(zip(*data.columns, strict=True), data.classes, strict=True)]
    assert [Fraction(v, data.unit) for row in made for v in row[:-1]] == [
        v for row in made for v in row[:-1]
    ]
    assert dict(zip(made, (own for *_, own in data.parts), strict=True)) == mass
    shares = {row: Fraction(s, data.whole) for row, s in zip(made, data.share, strict=True)}
    assert shares == {row: w / sum(mass.values()) for row, w in mass.items()}
    counted = Counter((*own, c) for own, c, w in zip(x, y, weight, strict=True) if w > 0)
    assert dict(zip(made, (n for _, n, _ in data.parts), strict=True)) == counted
    # rows that go by their place, unless they count for nothing
    assert data.named.keys() == {i for i in wanted if weight[i] > 0}
    for i, (k, n, w) in data.named.items():
        assert (made[k], n, w) == ((*x[i], y[i]), 1, weight[i] * factor[y[i]])


def test_merged_rows_go_by_their_order(tmp_path: Path) -> None:
    frame = patients()
    frame.sample(frac=1, random_state=1).to_parquet(tmp_path / "t.parquet")
    source = {"columns": COLUMNS, "classes": ["well", "ill"], "merged": True}
    data = Rows(Table(tmp_path / "t.parquet", "utf-8", "."), source, "outcome", None).merged({3})
    made = [*zip(*data.columns, data.classes, strict=True)]
    assert made == sorted(made)
    both = zip(by_definition(frame), frame["outcome"], strict=True)
    counts = Counter((*own, 1 if label == "ill" else -1) for own, label in both)
    assert data.named == {k: (k, counts[row], Fraction(counts[row])) for k, row in enumerate(made)}


@pytest.mark.parametrize("merged", [False, True])
def test_a_row_that_there_is_not_is_refused(tmp_path: Path, merged: bool) -> None:
    patients(50).to_csv(tmp_path / "t.csv", index=False)
    source = {"columns": COLUMNS, "classes": ["well", "ill"], "merged": merged}
    rows = Rows(Table(tmp_path / "t.csv", "utf-8", "."), source, "outcome", None)
    with pytest.raises(Refused, match="there is no row 50"):
        rows.merged({50})


@pytest.mark.parametrize("build", [hinge, risk_score, slim])
def test_certificates_of_merged_rows_are_proved_from_every_file(tmp_path: Path, build: Any) -> None:
    """The rows were never in memory; multipliers go by the order of the distinct ones."""
    frame = patients().drop(columns="counts")
    files = written(frame, tmp_path)
    design = read_patterns(
        files["one.parquet"], "outcome", binner=Binner(n_bins=4), positive="ill",
    )  # fmt: skip
    assert design.counts is not None
    program = build(design, max_terms=3, coef_min=-3, coef_max=3)
    made = certify(
        program, solve(program, progress=False), progress=False, source={"target": "outcome"}
    )
    assert made.data["merged"]
    assert made.evidence["kind"] == "leaves"
    if build is hinge:
        assert any(point[4][0] for point in made.evidence["points"])
    path = made.to_json(tmp_path / "made.json")
    for file in files.values():
        assert proved(check(file, path)), check(file, path)
    assert verify_certificate(Certificate.from_json(path), design).proved
    X, y = read_table(files["one.csv"], "outcome", missing="bin")
    assert verify_certificate(made, X, y).proved  # rows that were read one by one


@pytest.mark.parametrize(
    "rules",
    [[MaxErrors(count=140)], [MaxErrors(share=0.45)], [MaxFPR(0.6)]],
)
def test_limits_on_errors_of_merged_rows_are_checked(tmp_path: Path, rules: Any) -> None:
    """Counts and shares are of the table's rows, not of the distinct ones."""
    frame = patients()[["sex", "smoker", "stays", "outcome"]]
    frame.to_parquet(tmp_path / "t.parquet")
    design = read_patterns(tmp_path / "t.parquet", "outcome", positive="ill")
    assert design.counts is not None
    assert len(design.y) < 40
    program = slim(design, max_terms=2, constraints=rules)
    made = certify(
        program, solve(program, progress=False), progress=False, source={"target": "outcome"}
    )
    assert made.evidence["kind"] == "leaves"
    assert proved(check(tmp_path / "t.parquet", made.to_json(tmp_path / "made.json")))
    (rule,) = made.cards["rules"]
    wrong = round(made.loss * len(frame))
    name, least = ("count", wrong - 1) if rule["count"] else ("share", "0.01")
    tight = {**made.cards, "rules": [{**rule, name: least}]}
    forged = Certificate(**{**vars(made), "cards": tight}).sealed()
    found = check(tmp_path / "t.parquet", forged.to_json(tmp_path / "made.json"))
    assert found[2] == ("card", "refuted", f"it breaks {rule['name']!r}")


def test_memory_does_not_grow_with_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten times the rows take the memory of a block and of the distinct ones."""
    monkeypatch.setattr(tables, "_BLOCK", 500)
    peaks = []
    for times in (1, 10):
        many = pd.concat([patients(2000)] * times)
        many.to_csv(tmp_path / "t.csv", index=False)
        source = {"columns": COLUMNS, "classes": ["well", "ill"]}
        tracemalloc.start()
        Rows(Table(tmp_path / "t.csv", "utf-8", "."), source, "outcome", None).merged(())
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


def test_what_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = patients(20)
    frame.assign(day=pd.Timestamp("2020-01-01")).to_parquet(tmp_path / "t.parquet")
    days = {"columns": [column("day", "category", category="x")], "classes": ["well", "ill"]}
    table = Table(tmp_path / "t.parquet", "utf-8", ".")
    with pytest.raises(Refused, match="type datetime is neither a number nor a text"):
        Rows(table, days, "outcome", None)
    (tmp_path / "parts").mkdir()
    frame.to_parquet(tmp_path / "parts" / "0.parquet")
    frame.rename(columns={"age": "years"}).to_parquet(tmp_path / "parts" / "1.parquet")
    source = {"columns": COLUMNS, "classes": ["well", "ill"]}
    with pytest.raises(Refused, match=r"1\.parquet has other columns than 0\.parquet"):
        Rows(Table(tmp_path / "parts", "utf-8", "."), source, "outcome", None)
    for content in (b"", b"PAR1 and so on"):
        (tmp_path / "bad.parquet").write_bytes(content)
        with pytest.raises(Refused, match="cannot be read as Parquet"):
            Table(tmp_path / "bad.parquet", "utf-8", ".")
    (tmp_path / "bad.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n")[:-6])
    with pytest.raises(Refused, match="cannot be read as CSV"):
        next(Table(tmp_path / "bad.csv.gz", "utf-8", ".").blocks(["a", "b"]))
    (tmp_path / "empty").mkdir()
    with pytest.raises(Refused, match="no Parquet files"):
        Table(tmp_path / "empty", "utf-8", ".")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(Refused, match="pip install pyarrow"):
        Table(tmp_path / "t.parquet", "utf-8", ".")
