"""Tables of any size as weighted patterns: one answer by every reader, in every order and part."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.base import clone
from sklearn.model_selection import KFold
from tree_cases import set_policy
from typer.testing import CliRunner

from milpscore import proximal
from milpscore.cli.app import app
from milpscore.constraints import MaxErrors
from milpscore.core.design import Design
from milpscore.core.errors import (
    DataError,
    FormulationError,
    MissingDependencyError,
    OptionError,
    SizeError,
    TooManyPatternsError,
)
from milpscore.data import (
    Binner,
    make_design,
    merged_rows,
    read_patterns,
    read_table,
    row_store,
    sample_patterns,
    sources,
    stored_rows,
)
from milpscore.data.binner import folds_of, stratified_splits
from milpscore.data.cut_points import Cutting
from milpscore.estimators import (
    BinarsityClassifier,
    OneStandardErrorCV,
    PenalisedClassifier,
    RiskScoreClassifier,
)
from milpscore.fitting import fit_card
from milpscore.penalties import EYE, L1
from milpscore.proximal import streamed
from milpscore.sampling import fit_sample, sample_deviation
from milpscore_study import run_study

SETS = ("bankruptcy", "haberman", "breastcancer", "mammo", "mushroom", "adult")


def mixed(rows: int = 400, seed: int = 0) -> pd.DataFrame:
    """Numbers, text, truth values and gaps, with labels in words and weights."""
    random = np.random.default_rng(seed)
    age = random.integers(20, 90, rows).astype(float)
    age[random.random(rows) < 0.05] = np.nan
    frame = pd.DataFrame(
        {
            "age": age,
            "dose": np.round(np.exp(random.normal(size=rows)), 3),
            "sex": random.choice(["f", "m"], rows),
            "ward": random.choice(np.array(["A", "B", "C", None], dtype=object), rows),
            "smoker": random.random(rows) < 0.3,
            "flag": random.integers(0, 2, rows),
        }
    )
    risk = (frame["age"].fillna(50) > 55) + (frame["sex"] == "m") + random.random(rows)
    return frame.assign(outcome=np.where(risk > 1.5, "ill", "well"))


def written(frame: pd.DataFrame, folder: Path) -> dict[str, Any]:
    """One table by every reader, some of them shuffled or in parts."""
    shuffled = frame.sample(frac=1, random_state=1).reset_index(drop=True)
    (folder / "parts").mkdir()
    for k in range(3):
        shuffled.iloc[k::3].to_parquet(folder / "parts" / f"part{k}.parquet", row_group_size=50)
    frame.to_parquet(folder / "one.parquet")
    frame.to_csv(folder / "one.csv", index=False)
    arrow = pa.Table.from_pandas(shuffled)
    return {
        "csv": folder / "one.csv",
        "parquet": folder / "one.parquet",
        "folder": folder / "parts",
        "glob": str(folder / "parts" / "*.parquet"),
        "pandas": shuffled,
        "polars": pl.from_arrow(arrow),
        "lazy": pl.scan_parquet(folder / "one.parquet"),
        "arrow": arrow,
        "dataset": ds.dataset(folder / "parts"),
        "relation": duckdb.connect().read_parquet(str(folder / "one.parquet")),
    }


def same(found: Design, expected: Design) -> None:
    assert found.columns == expected.columns
    assert found.blocks == expected.blocks
    assert found.warnings == expected.warnings
    assert [*map(str, found.classes)] == [*map(str, expected.classes)]
    assert found.fingerprint == expected.fingerprint
    assert found.rows.sum() == len(expected.y)


@pytest.mark.parametrize("cuts", [{}, {"n_bins": 4, "encoding": "onehot", "useless": "keep"}])
def test_every_reader_gives_the_design_of_the_table_in_memory(
    tmp_path: Path, cuts: dict[str, Any]
) -> None:
    frame = mixed()
    expected = Cutting(**cuts).design(frame.drop(columns="outcome"), frame["outcome"])
    for source in written(frame, tmp_path).values():
        found = read_patterns(source, "outcome", binner=Binner(**cuts))
        same(found, expected)
        assert len(found.y) == len(expected.merged.y)


@pytest.mark.data
@pytest.mark.parametrize("name", SETS)
def test_the_six_sets_are_read_alike(
    name: str, uci: Callable[[str], tuple[Any, Any]], tmp_path: Path
) -> None:
    X, y = uci(name)
    frame = pd.concat([X, pd.Series(y, name="label")], axis=1)
    expected = Cutting().design(X, y)
    path = tmp_path / "table.parquet"
    frame.sample(frac=1, random_state=0).to_parquet(path, row_group_size=100)
    same(read_patterns(path, "label"), expected)
    same(read_patterns(pl.from_pandas(frame), "label"), expected)


def test_weights_classes_and_thresholds(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    frame = mixed().assign(w=random.integers(0, 4, 400))
    frame.to_parquet(path := tmp_path / "t.parquet")
    cuts = {"age": [40, 60.5]}
    X, y, w = read_table(path, "outcome", weights="w")
    expected = Cutting(thresholds=cuts).design(X, y, sample_weight=w, class_weight="balanced")
    given = {"weights": "w", "class_weight": "balanced"}
    found = read_patterns(path, "outcome", binner=Binner(thresholds=cuts), **given)
    assert found.fingerprint == expected.fingerprint
    assert found.rows.sum() == (w > 0).sum()
    again = read_patterns(path, "outcome", columns=found.columns, blocks=found.blocks, **given)
    assert again.fingerprint == found.fingerprint


def test_fractional_weights_add_up_in_any_order() -> None:
    frame = mixed().assign(w=np.random.default_rng(0).random(400))
    first = read_patterns(frame, "outcome", weights="w", features=["sex", "flag"])
    turned = read_patterns(frame[::-1], "outcome", weights="w", features=["sex", "flag"])
    assert first.fingerprint == turned.fingerprint
    X, y = frame[["sex", "flag"]], frame["outcome"]
    given = [make_design(X[::k], y[::k], sample_weight=frame["w"][::k]) for k in (1, -1)]
    assert given[0].fingerprint == given[1].fingerprint
    assert first.weight.sum() == pytest.approx(frame["w"].sum(), rel=1e-12)


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_merging_knows_no_order_and_no_parts(data: st.DataObject) -> None:
    rows = data.draw(st.integers(30, 60))
    frame = mixed(rows, data.draw(st.integers(0, 99)))[["age", "sex", "outcome"]]
    order = data.draw(st.permutations(range(rows)))
    ends = sorted(data.draw(st.sets(st.integers(1, rows - 1), max_size=4)))
    tables = [pa.Table.from_pandas(frame.iloc[order], preserve_index=False)]
    cut = [tables[0].slice(a, b - a) for a, b in zip([0, *ends], [*ends, rows], strict=True)]
    first = read_patterns(frame, "outcome", binner=Binner(3))
    second = read_patterns(pa.concat_tables(cut), "outcome", binner=Binner(3))
    assert first.fingerprint == second.fingerprint
    assert (first.counts == second.counts).all()


def test_cuts_of_many_values_are_near_and_the_same_in_any_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": np.exp(random.normal(size=5000)) - 1, "y": random.random(5000) < 0.4}
    )
    set_policy(monkeypatch, merged_rows, exact_values=100, exact_cells=4000)
    found = read_patterns(frame, "y")
    assert read_patterns(frame[::-1], "y").fingerprint == found.fingerprint
    shares = [float((frame["x"] < column.lower).mean()) for column in found.columns]
    assert shares == pytest.approx(np.arange(1, 10) / 10, abs=0.002)


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize("name", ["csv", "parquet", "folder", "polars", "relation"])
def test_what_cannot_be_merged_is_refused_by_a_glance(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_policy(monkeypatch, merged_rows, max_patterns=50)
    set_policy(monkeypatch, merged_rows, sampled_rows=160 if name in ("parquet", "folder") else 400)
    asked: list[str] = []
    run = sources.Ask.text
    monkeypatch.setattr(
        sources.Ask, "text", lambda ask, source: asked.append(ask.what) or run(ask, source)
    )
    source = written(mixed(), tmp_path)[name]
    with pytest.raises(TooManyPatternsError, match=r"some \d+ \(estimated: of \d+ rows looked at"):
        read_patterns(source, "outcome", binner=Binner(None, missing="bin"))
    assert "merging rows" not in asked
    few = Binner(2, missing="bin", max_distinct=0)
    set_policy(monkeypatch, merged_rows, max_patterns=190)
    assert read_patterns(source, "outcome", binner=few).rows.sum() == 400


def test_a_glance_that_sees_less_leaves_the_refusal_to_the_last_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame = mixed()
    columns = Cutting(digits=9).design(frame[["age", "dose"]], frame["outcome"]).columns
    set_policy(monkeypatch, merged_rows, max_patterns=50)
    with pytest.raises(
        TooManyPatternsError, match=r"more than 50 .*bin measured columns.*--sample"
    ):
        read_patterns(frame, "outcome", columns=columns)
    set_policy(monkeypatch, merged_rows, sampled_rows=8)
    same = pd.concat([frame.assign(age=30.0, dose=1.0, sex="f", flag=0)[:396], frame[:4]])
    assert read_patterns(same, "outcome", binner=Binner(3, missing="bin")).rows.sum() == 400


def test_many_categories_and_labels_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    set_policy(monkeypatch, merged_rows, max_categories=50)
    frame = mixed().assign(code=[f"c{k % 150}" for k in range(400)])
    with pytest.raises(SizeError, match=r"column 'code' has about 1.. categories"):
        read_patterns(frame, "outcome")
    named = mixed().assign(code=[f"c{k}" for k in range(400)])
    assert "'code' (text of its own in most rows)" in read_patterns(named, "outcome").warnings[0]
    frame.loc[399, "outcome"] = "dead"
    with pytest.raises(DataError, match=r"'outcome' has 3 distinct labels, 'dead \(1 rows\)'"):
        read_patterns(frame, "outcome")
    with pytest.raises(DataError, match="column 'outcome' has 1 missing label"):
        read_patterns(mixed().assign(outcome=[None, *mixed()["outcome"][1:]]), "outcome")


def test_faults_of_files_name_file_line_or_column(tmp_path: Path) -> None:
    path = tmp_path / "turns.csv"
    lines = [f"{k % 7},{k % 2}" for k in range(25_000)]
    path.write_text("\n".join(["a,y", *lines, "seven,1", ""]))
    with pytest.raises(DataError, match=r'Line: 25002.*column "a".*"seven"'):
        read_patterns(path, "y")
    broken = tmp_path / "broken.parquet"
    mixed().to_parquet(broken, compression="snappy")
    text = bytearray(broken.read_bytes())
    text[40:400] = b"\xff" * 360
    broken.write_bytes(bytes(text))
    with pytest.raises(DataError, match=r"broken\.parquet"):
        read_patterns(broken, "outcome")
    mixed().assign(age="old").to_parquet(tmp_path / "z.parquet")
    mixed().to_parquet(tmp_path / "a.parquet")
    broken.unlink()
    with pytest.raises(DataError, match=r'z.parquet".*"age"'):
        read_patterns(tmp_path, "outcome")
    with pytest.raises(DataError, match="there is no file of Parquet"):
        read_patterns(str(tmp_path / "*.pq"), "outcome")
    with pytest.raises(DataError, match="infinite value"):
        read_patterns(mixed().assign(dose=np.inf), "outcome")
    with pytest.raises(DataError, match="'day' holds dates"):
        read_patterns(
            mixed().assign(day=pd.Timestamp("2026-01-01")), "outcome", binner=Binner(useless="keep")
        )


def test_columns_without_a_name_are_those_of_a_table_in_memory(tmp_path: Path) -> None:
    table, path = "y,a,,b,\n" + "1,2,5,3,\n0,4,6,2,\n0,2,7,2,\n" * 30, tmp_path / "a.csv"
    path.write_text(table, encoding="utf-8")
    for read in (read_table, read_patterns):
        with pytest.raises(DataError, match=r"column number 3 has no name.*--drop #3"):
            read(path, "y")
    X, _ = read_table(path, "y", drop=["#3"])
    design = read_patterns(path, "y", drop=["#3"])
    assert {column.feature for column in design.columns} == set(X) == {"a", "b"}


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    mixed().to_csv(tmp_path / "t.csv", index=False)
    read_patterns(tmp_path / "t.csv", "outcome")
    with pytest.raises(DataError):
        read_patterns(tmp_path / "t.csv", "nothing")
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_without_duckdb_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingDependencyError, match=r"milpscore\[scale\]"):
        read_patterns(mixed(), "outcome")


@pytest.mark.parametrize("limit", ["1MB", "much", -1])
def test_a_limit_has_to_be_one(limit: Any) -> None:
    with pytest.raises(OptionError, match="memory_limit"):
        read_patterns(mixed(), "outcome", memory_limit=limit)


@pytest.mark.slow
def test_memory_stays_below_the_size_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "large.parquet"
    duckdb.connect().execute(
        "COPY (SELECT random() AS a, random() AS b, (random() * 50)::INTEGER AS c, "
        "random() < 0.3 AS y FROM range(20_000_000)) TO '" + str(path) + "' (FORMAT parquet)"
    )
    code = f"""
        import resource, pandas as pd
        from milpscore.data import Binner, read_patterns
        small = pd.DataFrame(dict(a=[1.5, 2.5] * 25, y=[False, True] * 25))
        read_patterns(small, "y")  # loads what is needed
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + {path.stat().st_size},) * 2)
        found = read_patterns({str(path)!r}, "y", binner=Binner(5), memory_limit="150MB")
        assert found.rows.sum() == 20_000_000, found
    """
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1"}  # arenas take room and no memory
    child = [sys.executable, "-c", textwrap.dedent(code)]
    subprocess.run(child, check=True, env=environment)


# ---------------------------------------------------------------- doors


def test_read_table_takes_every_kind(tmp_path: Path) -> None:
    frame = mixed()
    X, y = frame.drop(columns="outcome"), frame["outcome"]
    expected = Cutting().design(X, y).fingerprint
    for source in written(frame, tmp_path).values():
        assert Cutting().design(*read_table(source, "outcome")).fingerprint == expected
    assert not sources.at_size(tmp_path / "one.csv")
    assert not sources.at_size("nowhere.csv")
    ordered = pl.DataFrame({"a": range(300_000)})
    assert (sources.frame_of(ordered)["a"] == np.arange(300_000)).all()
    assert not sources.at_size(tmp_path / "parts")


@pytest.mark.filterwarnings("ignore:.*the card scores 'well', the last label")
def test_estimators_take_every_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = mixed(200)
    X, y = frame.drop(columns="outcome"), frame["outcome"]
    expected = RiskScoreClassifier(heuristic=True).fit(X, y)

    def check(model: RiskScoreClassifier) -> None:
        assert model.scorecard_.fingerprint == expected.scorecard_.fingerprint
        assert model.result_.objective == pytest.approx(expected.result_.objective, abs=1e-12)
        assert [*model.classes_] == ["ill", "well"]
        assert [*model.feature_names_in_] == [*X.columns]
        assert model.scorecard_.certificate["n_rows"] == 200
        assert model.scorecard_.certificate["errors"] == expected.scorecard_.certificate["errors"]
        pd.testing.assert_frame_equal(model.risk_table_, expected.risk_table_)

    model = RiskScoreClassifier(heuristic=True)
    for source in (pl.from_pandas(X), pa.Table.from_pandas(X)):
        check(model.fit(source, y))
        assert (model.predict(source) == expected.predict(X)).all()
    frame.to_parquet(path := tmp_path / "t.parquet")
    for source in (path, duckdb.connect().read_parquet(str(path)), pl.scan_parquet(path)):
        check(clone(model).fit(source, "outcome"))
    set_policy(monkeypatch, sources, max_rows_in_memory=100)
    for source in (X, pl.from_pandas(X), pa.Table.from_pandas(X)):
        check(clone(model).fit(source, y))
    monkeypatch.undo()
    monkeypatch.setattr("milpscore.data.checking.MAX_CELLS", 5000)  # the patterns fit, the rows not
    check(clone(model).fit(X, y))
    with pytest.raises(DataError, match="names of their columns"):
        model.fit(duckdb.connect().read_parquet(str(path)), y)


def test_the_command_line_reads_what_is_too_large_for_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = mixed()
    made = written(frame[["age", "sex", "flag", "outcome"]], tmp_path)
    answers, run = [], CliRunner()
    for name in ("csv", "folder"):
        proof, page = str(tmp_path / f"{name}.json"), str(tmp_path / f"{name}.html")
        if name == "folder":
            set_policy(monkeypatch, sources, max_bytes_in_memory=0)
        fit = ["fit", str(made[name]), "--target", "outcome", "--set", "max_terms=2", "--json"]
        found = run.invoke(app, [*fit, "--certificate", proof, "-q"])
        assert not found.exit_code, found.output
        answers.append(json.loads(found.stdout))
        checked = run.invoke(app, ["verify", proof, str(made["folder"])])
        assert "everything claimed was proved" in checked.output
        # bootstrap samples draw rows, or the rows of patterns: other draws
        told = ["report", proof, str(made["folder"]), "--out", page, "--bootstraps", "0"]
        assert not run.invoke(app, told).exit_code
    # merged rows are dealt to other folds
    unlike = {"seconds", "build_seconds", "load_seconds", "solve_seconds", "worth"}
    first, second = ({k: v for k, v in a.items() if k not in unlike} for a in answers)
    assert first == second
    pages = [(tmp_path / f"{name}.html").read_text() for name in ("csv", "folder")]
    # a page of merged rows shows features by bins, since their values are gone, and the digest of
    # a certificate that names merged rows
    raw = ("Missing values", 'data-head="Level"', "<dt>Certificate</dt>")
    lines = [[x for x in page.splitlines() if not any(y in x for y in raw)] for page in pages]
    assert lines[0] == lines[1]
    split = ["path", str(made["folder"]), "--target", "outcome", "--bins", "3", "--missing", "bin"]
    found = run.invoke(app, [*split, "--penalty", "l1", "--n-lams", "3", "--cv", "3", "--json"])
    assert all(row["cv_auc"] >= 0.5 for row in json.loads(found.stdout)["table"])
    refused = run.invoke(app, [*fit, "--reading-memory", "1MB"])
    assert refused.exit_code == 2
    assert "reading takes at least 100MB" in refused.output


def test_a_table_whose_columns_would_not_fit_is_verified_by_its_distinct_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proof, table, run = str(tmp_path / "c.json"), str(tmp_path / "t.parquet"), CliRunner()
    mixed(300).drop(columns=["ward", "age"]).rename(columns={"flag": "k0"}).to_parquet(table)
    fit = ["fit", table, "--target", "outcome", "--bins", "8", "--node-limit", "50"]
    assert run.invoke(app, [*fit, "--certificate", proof, "-q"]).exit_code == 0
    monkeypatch.setattr("milpscore.data.checking.MAX_CELLS", 1600)
    found = run.invoke(app, ["verify", proof, table])
    assert found.exit_code == 0, found.output
    assert "everything claimed was proved" in found.stdout


def test_a_study_reads_what_is_too_large_for_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = mixed()[["sex", "flag", "smoker", "outcome"]]
    frame.to_parquet(tmp_path / "t.parquet")
    text = """
        [[data]]
        csv = "t.parquet"
        target = "outcome"

        [[models]]
        estimator = "risk_score"
        arguments = { max_terms = 2 }
    """
    (tmp_path / "s.toml").write_text(textwrap.dedent(text))
    told = []
    for limit in (sources.POLICY.max_bytes_in_memory, 0):
        set_policy(monkeypatch, sources, max_bytes_in_memory=limit)
        report = run_study(tmp_path / "s.toml", tmp_path / f"{limit}.sqlite")
        told.append(report.table().iloc[0])
    for name in ("objective", "bound", "train_errors", "train_rows", "train_auc", "claim"):
        assert told[0][name] == told[1][name], name


# ---------------------------------------------------------------- rows that are dealt


def test_the_rows_of_patterns_are_dealt_to_folds_of_one_size() -> None:
    design = read_patterns(mixed(), "outcome", features=["sex", "flag", "smoker"])
    seen = []
    for seed in range(30):
        dealt, splits = stratified_splits(design, 3, seed)
        assert dealt.rows.sum() == dealt.weight.sum() == 400
        assert dealt.fingerprint == design.fingerprint
        for train, test in splits:
            assert dealt.rows[train].sum() + dealt.rows[test].sum() == 400
            for side in (-1, 1):
                rows = dealt.rows[test][dealt.y[test] == side].sum()
                assert abs(3 * rows - design.rows[design.y == side].sum()) < 3
        # of the first pattern's rows each fold gets a third, with the variance of such draws
        first = (design.X[0] == dealt.X).all(axis=1) & (dealt.y == design.y[0])
        seen.append(dealt.rows[np.intersect1d(np.flatnonzero(first), splits[0][1])].sum())
    count, class_rows = design.rows[0], design.rows[design.y == design.y[0]].sum()
    spread = count * (2 / 9) * (class_rows - count) / (class_rows - 1)
    assert np.mean(seen) == pytest.approx(count / 3, abs=4 * (spread / 30) ** 0.5)
    assert np.var(seen) == pytest.approx(spread, rel=0.8)
    (fold,) = folds_of(dealt, splits[:1], design, None)
    assert fold.train.rows.sum() + fold.test.rows.sum() == 400
    assert len(fold.train.y) == len(fold.train.merged.y)


def test_what_cannot_be_dealt_is_refused_by_name() -> None:
    frame = mixed().assign(w=np.random.default_rng(0).random(400))
    weighted = read_patterns(frame, "outcome", weights="w", features=["sex", "flag"])
    with pytest.raises(DataError, match="rows with weights"):
        stratified_splits(weighted, 3, 0)
    design = read_patterns(frame, "outcome", features=["sex", "flag"])
    with pytest.raises(DataError, match="a splitter of rows"):
        stratified_splits(design, KFold(3), 0)
    with pytest.raises(OptionError, match="from 2 to"):
        stratified_splits(design, 300, 0)
    with pytest.raises(DataError, match="leave out y"):
        RiskScoreClassifier().fit(design, frame["outcome"])
    with pytest.raises(OptionError, match="'multinomial' takes the rows"):
        PenalisedClassifier(loss="multinomial").fit(design)
    model = RiskScoreClassifier(heuristic=True).fit(design)
    with pytest.raises(DataError, match="other columns"):
        model.predict(read_patterns(frame, "outcome", features=["sex"]))


@pytest.mark.filterwarnings("ignore:.*the card scores 'well', the last label")
def test_searches_and_comparisons_take_merged_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = mixed()[["sex", "flag", "smoker", "outcome"]]
    frame.to_parquet(path := tmp_path / "t.parquet")
    X, y = frame.drop(columns="outcome"), frame["outcome"]
    set_policy(monkeypatch, sources, max_bytes_in_memory=0)
    for estimator in (RiskScoreClassifier(heuristic=True), PenalisedClassifier("l1")):
        options = {"cv": 4, "n_lams": 4, "ratio": 0.1}
        rows = OneStandardErrorCV(clone(estimator), **options).fit(X, y)
        merged = OneStandardErrorCV(clone(estimator), **options).fit(path, "outcome")
        assert merged.best_params_ == pytest.approx(rows.best_params_)
        gaps = merged.cv_results_["mean_test_score"] - rows.cv_results_["mean_test_score"]
        assert np.abs(gaps).max() < 0.03  # other folds, and no others: two draws of one law
        assert (merged.predict(X) == rows.predict(X)).all()
        again = OneStandardErrorCV(clone(estimator), **options).fit(path, "outcome")
        assert (again.cv_results_["mean_test_score"] == merged.cv_results_["mean_test_score"]).all()
    model = PenalisedClassifier("l1", lam=0.02)
    assert clone(model).fit(path, "outcome").coef_ == pytest.approx(clone(model).fit(X, y).coef_)
    binned = BinarsityClassifier(lam=0.01)
    assert clone(binned).fit(path, "outcome").coef_ == pytest.approx(clone(binned).fit(X, y).coef_)
    frame.loc[399, "outcome"] = "dead"
    frame.to_parquet(path)
    for each in (model, RiskScoreClassifier(heuristic=True)):
        with pytest.raises(DataError, match="3 distinct labels"):
            each.fit(path, "outcome")


@pytest.mark.filterwarnings("ignore:.*the card scores 'well', the last label")
def test_large_files_are_merged_for_their_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = written(mixed(), tmp_path)
    assert sources._cells([made["parquet"]]) == 400 * 7
    assert sources._cells([made["csv"]]) == pytest.approx(400 * 7, rel=0.02)
    set_policy(monkeypatch, sources, merged_cells=2000)
    for name in ("parquet", "csv", "folder"):
        assert sources.at_size(made[name])
        assert not sources.at_size(made[name], rows=True)
    frame, expected = mixed(), RiskScoreClassifier(heuristic=True)
    expected.fit(frame.drop(columns="outcome"), frame["outcome"])
    model = RiskScoreClassifier(heuristic=True).fit(made["csv"], "outcome")
    assert model.scorecard_.to_text() == expected.scorecard_.to_text()
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    assert not sources.at_size(made["csv"])


# ---------------------------------------------------------------- what a sample says of all rows


def noisy(rows: int = 30_000) -> pd.DataFrame:
    """Measured columns without a pattern, two of which matter."""
    random = np.random.default_rng(5)
    frame = pd.DataFrame({f"x{j}": random.random(rows).round(4) for j in range(6)})
    score = 3.0 * (frame["x1"] > 0.5) + 2.0 * (frame["x4"] > 0.3) - 2.5
    return frame.assign(y=(random.random(rows) < 1 / (1 + np.exp(-score))).astype(int))


@given(st.floats(1e-6, 5.0), st.integers(1, 10**6), st.floats(0.01, 0.999), st.floats(0.5, 9.0))
def test_what_a_draw_takes_off_is_what_hoeffdings_inequality_allows(
    proved: float, rows: int, confidence: float, largest: float
) -> None:
    p = min(proved / largest, 1.0)
    off = sample_deviation(p * largest, rows, confidence, largest)
    allowed = -np.log1p(-confidence) / rows
    assert 0 <= off <= largest * np.sqrt(allowed / 2) * (1 + 1e-9)
    q = p - off / largest
    if q > 0.01 * p and p <= 0.5:
        kl = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
        assert kl >= allowed * (1 - 1e-6) - 1e-12
    for part in (0.2, 0.6, 0.9):  # no smaller loss over the draw would have been taken further off
        assert sample_deviation(part * p * largest, rows, confidence, largest) <= off + 1e-12


def test_a_bound_from_a_sample_holds_as_often_as_it_says() -> None:
    """Of one fixed card: the mean over rows drawn less the deviation, beside the mean of all."""
    random = np.random.default_rng(0)
    losses = np.where(random.random(2000) < 0.1, 1.0, 0.0)
    above = 0
    for _ in range(400):
        drawn = random.choice(losses, 200, replace=False).mean()
        above += drawn - sample_deviation(drawn, 200, 0.8, 1.0) > losses.mean()
    assert above <= 0.2 * 400


@pytest.mark.parametrize("formulation", ["slim", "risk_score"])
def test_a_card_for_all_rows_and_a_bound_from_some(formulation: str, tmp_path: Path) -> None:
    frame = noisy()
    frame.to_parquet(path := tmp_path / "t.parquet")
    reading = {"binner": Binner(3, max_distinct=0), "progress": False}
    given = {"max_terms": 2, "coef_min": -3, "coef_max": 3, "l0_penalty": 1e-3}
    found = fit_sample(path, "y", formulation, rows=1500, reading=reading, **given)
    assert found.bound is not None
    assert found.bound.of == found.design.rows.sum() == 30_000
    assert found.bound.rows == pytest.approx(1500, abs=200)
    assert {column.feature for column in found.design.columns} == {"x1", "x4"}
    whole = read_patterns(path, "y", binner=Binner(3, max_distinct=0))
    _, best = fit_card(whole, formulation, time_limit=60, **given)
    assert found.bound.bound <= best.objective <= found.result.objective * (1 + 1e-9)
    assert found.bound.bound > 0.8 * best.objective - 0.05
    assert found.result.objective == pytest.approx(best.objective, rel=0.01)
    assert found.result.caveat.startswith("among cards of 'x1', 'x4' alone, chosen on")
    assert "95 % confidence, which is not a proof" in str(found.bound)
    again = fit_sample(path, "y", formulation, rows=1500, reading=reading, heuristic=True, **given)
    assert again.bound is None
    assert str(again.sample_result.claim) == "feasible"


def test_what_a_sample_says_nothing_of_is_refused_by_name(tmp_path: Path) -> None:
    noisy(500).to_parquet(path := tmp_path / "t.parquet")

    def refused(kind: type[Exception], said: str, **given: Any) -> None:
        with pytest.raises(kind, match=said):
            fit_sample(path, "y", **{"rows": 100, **given})

    refused(FormulationError, "hinge", formulation="hinge")
    refused(FormulationError, "squared loss has none", loss="squared")
    refused(FormulationError, "class_weight", class_weight="balanced")
    limit = {"constraints": [MaxErrors(share=0.4)], "max_terms": 1}
    refused(FormulationError, "a limit on errors", **limit, heuristic=True, formulation="slim")
    refused(OptionError, "confidence=1", confidence=1)
    refused(OptionError, r"rows=500: the table has 500 rows", rows=500)
    refused(DataError, "'x0' holds numbers as they are", reading={"binner": None})


def test_the_command_line_draws_a_sample(tmp_path: Path) -> None:
    noisy(8000).to_parquet(path := tmp_path / "t.parquet")
    run = CliRunner()
    fit = ["fit", str(path), "--target", "y", "--bins", "2", "--set", "max_terms=1", "-q"]
    found = run.invoke(app, [*fit, "--sample", "400", "--formulation", "slim"])
    assert "With 95 % confidence, which is not a proof, no card" in found.output
    assert "The bound holds among cards of 'x1' alone" in " ".join(found.output.split())
    answer = run.invoke(app, [*fit, "--sample", "400", "--confidence", ".8", "--json"])
    told = json.loads(answer.stdout)["sample"]
    assert told["confidence"] == 0.8
    assert told["bound"] < told["sample_bound"]
    for wrong, said in (
        (["--weights-column", "x0"], "leave out --weights-column"),
        (["--class-weight", "balanced"], "leave out --class-weight"),
        (["--raw"], "leave out"),
        (["--confidence", "2"], "--confidence"),
    ):
        kept = [each for each in fit if each not in ("--bins", "2")] if "--raw" in wrong else fit
        bad = run.invoke(app, [*kept, "--sample", "400", *wrong])
        assert bad.exit_code == 2
        assert said in bad.output
        assert bad.output.count("\n") == 1


# ---------------------------------------------------------------- rows out of core


@pytest.mark.parametrize("penalty", ["l1", "eye"])
def test_a_path_out_of_core_is_that_of_all_rows(
    penalty: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_store, "ROWS", 500)
    set_policy(monkeypatch, streamed, sample_rows=800)
    frame = mixed(3000)
    frame.to_parquet(path := tmp_path / "t.parquet")
    cutting = Cutting(thresholds={"age": [30, 50, 70]}, n_bins=None, encoding="onehot")
    X, y = frame.drop(columns="outcome"), frame["outcome"]
    design = cutting.design(X, y, class_weight="balanced")
    known = np.arange(design.shape[1]) % 2.0
    make = L1 if penalty == "l1" else lambda lam: EYE(lam, expert=known)
    with stored_rows(path, "outcome", binner=cutting, class_weight="balanced") as rows:
        assert rows.columns == design.columns
        assert rows.n_rows == rows.summary.rows.sum() == 3000
        sums = rows.summary.weight @ rows.summary.X
        assert sums == pytest.approx(design.weight @ design.X, rel=1e-9)
        drawn = rows.sample(3000, 0)
        assert np.sort(drawn[0] @ np.arange(1, design.shape[1] + 1)) == pytest.approx(
            np.sort(design.X @ np.arange(1, design.shape[1] + 1))
        )
        found = proximal.path_out_of_core(rows, penalty=make, n_lams=5, ratio=0.02)
    expected = proximal.path(
        design.X, design.y, penalty=make, sample_weight=design.weight, n_lams=5, ratio=0.02,
        tol=1e-9,
    )  # fmt: skip
    assert found.lams == pytest.approx(expected.lams)
    for ours, theirs in zip(found.results, expected.results, strict=True):
        assert ours.converged
        assert ours.objective == pytest.approx(theirs.objective, rel=1e-6)
        assert ours.dual_objective <= theirs.objective + 1e-12
        assert theirs.dual_objective <= ours.objective + 1e-12
    ours, theirs = (
        made.coefficients @ design.X.T + made.intercepts[:, None] for made in (found, expected)
    )
    assert ours == pytest.approx(theirs, abs=0.02)


def test_every_reader_stores_each_row(tmp_path: Path) -> None:
    frame = mixed(300)
    for source in written(frame, tmp_path).values():
        with stored_rows(source, "outcome", binner=Binner(3, missing="bin")) as rows:
            assert rows.n_rows == 300
            assert [*rows.summary.rows] == [*(frame["outcome"].value_counts()[["well", "ill"]])]
            assert rows.path.exists()
        assert not rows.path.parent.exists()


def test_the_command_fits_a_path_out_of_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noisy(3000).to_parquet(path := tmp_path / "t.parquet")
    run, given = CliRunner(), ["path", str(path), "--target", "y", "--penalty", "l1", "--json"]
    more = ["--n-lams", "3", "-q"]
    whole = json.loads(run.invoke(app, [*given, *more]).stdout)
    set_policy(monkeypatch, sources, max_bytes_in_memory=0)
    set_policy(monkeypatch, merged_rows, max_patterns=500)
    found = run.invoke(app, [*given, *more])
    assert "too many distinct rows to merge" in found.stderr
    told = json.loads(found.stdout)
    assert told["out_of_core"]
    assert told["n_rows"] == 3000
    for ours, theirs in zip(told["table"], whole["table"], strict=True):
        assert ours["objective"] == pytest.approx(theirs["objective"], rel=2e-6)
        assert ours["terms"] == theirs["terms"]
    for wrong, said in (
        (["--cv", "3"], "leave out --cv"),
        (["--grid", "2x2"], "leave out --grid"),
        (["--weights-column", "x0"], "leave out --weights-column"),
    ):
        keep = [each for each in given if each not in ("l1", "--penalty")]
        bad = run.invoke(app, [*keep, "--penalty", "facets", *wrong])
        assert bad.exit_code == 2
        assert said in bad.output


def test_a_seed_draws_the_same_rows(tmp_path: Path) -> None:
    noisy(4000).to_parquet(path := tmp_path / "t.parquet")
    first, of = sample_patterns(path, "y", 800, random_state=3, binner=Binner(9, digits=9))
    again, _ = sample_patterns(path, "y", 800, random_state=3, binner=Binner(9, digits=9))
    assert of == 4000
    assert first.rows.sum() == pytest.approx(800, abs=110)
    assert first.fingerprint == again.fingerprint


def test_a_frame_of_dask_is_refused_with_the_way_on() -> None:
    frame = dd.from_pandas(noisy(20), npartitions=2)
    for read in (read_patterns, read_table):
        with pytest.raises(DataError, match=r"to_parquet\(FOLDER\)"):
            read(frame, "y")


def test_a_command_that_read_a_file_ends_without_a_word_of_duckdbs(tmp_path: Path) -> None:
    mixed().to_parquet(tmp_path / "t.parquet")
    command = [sys.executable, "-m", "milpscore", "fit", str(tmp_path / "t.parquet")]
    done = subprocess.run(
        [*command, "--target", "nothing"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.splitlines() == [done.stderr.strip()]
    assert done.stderr.startswith("Error: there is no column 'nothing'")
