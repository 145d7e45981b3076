"""The plain command on tables as they arrive: what it says, and what its card is worth."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from messy_tables import TABLES, csv, excel, long_line, patients
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner, Result

from milpscore.certificate import Certificate
from milpscore.cli.app import app
from milpscore.core.errors import DataError
from milpscore.data import Binner, read_frame, read_patterns, read_table, sources
from milpscore.estimators import RiskScoreClassifier
from milpscore.formulations import FORMULATIONS
from milpscore_check.report import check


def run(*args: object) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args], catch_exceptions=False)


def fitted(path: Path, target: str, *options: object, quiet: bool = False) -> tuple[Result, Path]:
    """A card of the fast mode by the plain command, and its file."""
    out = path.with_suffix(".json")
    more = ("--quiet",) if quiet else ()
    done = run("fit", path, "--target", target, "--heuristic", "--out", out, *options, *more)
    assert done.exit_code == 0, done.output
    return done, out


def auc(card: Path, table: Path, target: str, *options: object) -> float:
    """What the risks of a card are worth on a table, by the command."""
    answers = card.with_suffix(".answers.csv")
    done = run("predict", card, table, "--out", answers, "--keep", target, *options)
    assert done.exit_code == 0, done.output
    found = pd.read_csv(answers)
    kept = json.loads(card.read_text())["classes"]
    return float(roc_auc_score(found[target].astype(str) == str(kept[1]), found["risk"]))


def of(name: str, folder: Path) -> tuple[Result, Path]:
    """Fit the messy table of a name, whose card is worth as much as that of the clean one."""
    made = TABLES[name]()
    clean, messy = made.write(folder)
    _, best = fitted(clean, made.target, quiet=True)
    done, card = fitted(messy, made.target, *made.options)
    worth = [auc(best, clean, made.target), auc(card, messy, made.target)]
    assert abs(worth[0] - worth[1]) < 0.01, worth
    return done, card


def part(path: Path, fold: int, held_out: bool) -> Path:
    """Write every third row of a file, or the others."""
    head, *rows = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [row for k, row in enumerate(rows) if (k % 3 == fold) == held_out]
    made = path.with_name(f"{path.stem}-{fold}-{held_out}.csv")
    made.write_text("".join([head, *kept]), encoding="utf-8")
    return made


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*TABLES} - {"few"}))  # whose two events are no fold
def test_new_rows_are_scored_as_well_as_those_of_the_clean_table(name: str, tmp_path: Path) -> None:
    made = TABLES[name]()
    worth = []
    for path, options in zip(made.write(tmp_path), ((), made.options), strict=True):
        folds = []
        for fold in range(3):
            train, test = (part(path, fold, held_out) for held_out in (False, True))
            _, card = fitted(train, made.target, *options, quiet=True)
            folds.append(auc(card, test, made.target))
        worth.append(sum(folds) / 3)
    assert worth[1] > worth[0] - 0.01, worth


def shown(card: Path) -> dict[str, Any]:
    """A saved card but for what depends on the clock."""
    return {**json.loads(card.read_text()), "certificate": None}


def features(card: Path) -> list[str]:
    return sorted({line["feature"] for line in json.loads(card.read_text())["lines"]})


def test_units_and_limits_of_detection(tmp_path: Path) -> None:
    done, card = of("ward", tmp_path)
    for said in (
        "column 'age' is read as numbers: '",
        "column 'sbp' is read as numbers: 'n/k' (24 rows) missing.",
        "'<5' is 2.5.",
        "column 'troponin' is read as numbers: 'pending' (13 rows) missing.",
    ):
        assert said in done.stderr
    assert {"age", "crp"} <= {*features(card)}
    columns = json.loads(card.read_text())["columns"]
    cells = {column["feature"]: column.get("cells") for column in columns}
    assert cells["age"] == {"na": [], "signs": ".", "unit": "years", "spelt": []}
    wrong = pd.read_csv(tmp_path / "messy.csv", dtype=str).assign(age="64 months")
    wrong.to_csv(tmp_path / "wrong.csv", index=False)
    refused = run("predict", card, tmp_path / "wrong.csv")
    assert refused.exit_code == 2
    assert "'64 months', which is not a number as the others are" in refused.output


def test_amounts_and_per_cent(tmp_path: Path) -> None:
    done, card = of("bank", tmp_path)
    assert "'income' is read as numbers: '€ 2,861' is 2861" in done.stderr
    assert "'debt' is read as numbers: '9,263' is 9263" in done.stderr
    assert "'use' is read as numbers: '42.3%' is 42.3." in done.stderr
    # three rows alone would say nothing of the commas: the card remembers
    few = pd.read_csv(tmp_path / "messy.csv", dtype=str).iloc[:3]
    few.to_csv(tmp_path / "few.csv", index=False)
    both = [pd.read_csv(path.with_suffix(".answers.csv"))["risk"] for path in (card,)]
    alone = tmp_path / "alone.csv"
    assert run("predict", card, tmp_path / "few.csv", "--out", alone).exit_code == 0
    assert pd.read_csv(alone)["risk"].tolist() == both[0][:3].tolist()


def test_labels_and_commas_of_another_language(tmp_path: Path) -> None:
    done, card = of("german", tmp_path)
    assert "Scored: 'ja' (223 of 1,200 rows); --positive nein for the other" in done.stderr
    assert "'crp' is read as numbers: '" in done.stderr
    assert "high risk is answered by ja, low risk by nein" in done.stdout
    assert {"crp", "sbp"} <= {*features(card)}


def test_an_export_of_a_spreadsheet(tmp_path: Path) -> None:
    done, _ = of("export", tmp_path)
    said = "left out: column(s) without name and value: '#3', '#11'; 'sbp.3', a copy of 'sbp'."
    assert said in done.stderr
    assert "column name(s) used again are numbered: 'sbp.2'." in done.stderr
    refused = run("fit", tmp_path / "messy.csv", "--target", "died")
    assert refused.exit_code == 2
    assert "column number 12 has no name" in refused.output


def test_numbers_that_stand_for_nothing(tmp_path: Path) -> None:
    done, card = of("sentinels", tmp_path)
    assert "--na" not in done.stderr
    lines = json.loads(card.read_text())["lines"]
    assert all("9999" not in str(line) and "-999" not in str(line) for line in lines)
    doubted, _ = fitted(tmp_path / "messy.csv", "died")
    assert "'sbp' has -999 (96 rows) far outside its other values" in doubted.stderr
    assert "'troponin' has 9999 (551 rows) far outside" in doubted.stderr


def test_categories_that_several_people_typed(tmp_path: Path) -> None:
    done, card = of("capitals", tmp_path)
    assert "column 'ward': spellings that differ in blanks or capitals alone" in done.stderr
    known = {c["category"] for c in json.loads(card.read_text())["columns"]} - {None}
    assert len(known) == 4
    table = pd.read_csv(tmp_path / "messy.csv").assign(sex="  mALE", ward="Stroke  unit")
    table.to_csv(tmp_path / "new.csv", index=False)
    assert run("predict", card, tmp_path / "new.csv").exit_code == 0
    apart, card = fitted(tmp_path / "messy.csv", "died", "--as-spelled")
    assert "spellings" not in apart.stderr
    known = {c["category"] for c in json.loads(card.read_text())["columns"]} - {None}
    assert len(known) > 12


def test_codes_and_words_of_many_levels(tmp_path: Path) -> None:
    done, card = of("codes", tmp_path)
    assert "'job' (text of many categories, none of them frequent)" in done.stderr
    assert "'postcode' has 240 categories: the 6 most frequent have a column each" in done.stderr
    codes = {c["category"] for c in json.loads(card.read_text())["columns"]}
    assert {"01067", "10115"} <= codes
    table = pd.read_csv(tmp_path / "messy.csv", dtype={"postcode": str})
    table.to_parquet(tmp_path / "t.parquet")
    _, other = fitted(tmp_path / "t.parquet", "died", quiet=True)
    assert shown(other) == shown(card)


def test_lines_that_end_early_are_named(tmp_path: Path) -> None:
    done, _ = of("ragged", tmp_path)
    said = "fewer fields than the header (7): line 4 has 5, line 90 has 5, line 700 has 5"
    assert said in done.stderr
    (tmp_path / "long.csv").write_text(long_line())
    refused = run("fit", tmp_path / "long.csv", "--target", "died")
    assert refused.exit_code == 2
    assert "(7): line 17 has 8" in refused.output


def test_a_workbook_is_read_as_its_csv(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    table = patients(300)
    (tmp_path / "t.csv").write_text(csv(table))
    book = excel(table.astype({"sbp": object}), tmp_path / "t.xlsx", "patients")
    _, card = fitted(tmp_path / "t.csv", "died", quiet=True)
    _, other = fitted(book, "died", "--sheet", "patients", quiet=True)
    assert shown(card) == shown(other)
    wrong = run("fit", book, "--target", "died", "--sheet", "patient")
    assert wrong.exit_code == 2
    assert "no sheet 'patient'; did you mean 'patients'" in wrong.output
    assert "there is no column 'died'" in run("fit", book, "--target", "died").output
    assert auc(card, tmp_path / "t.csv", "died") == auc(other, book, "died", "--sheet", "patients")


def test_without_openpyxl_a_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("milpscore.data.sources.find_spec", lambda name: None)
    (tmp_path / "t.xlsx").write_bytes(b"")
    refused = run("fit", tmp_path / "t.xlsx", "--target", "y")
    assert refused.exit_code == 2
    assert "pip install 'milpscore[excel]'" in refused.output


def test_parquet_is_read_without_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = patients(300).assign(when=pd.Timestamp("2020-01-01"))
    for k, part in enumerate((table[:100], table[100:])):
        part.to_parquet(tmp_path / f"t{k}.parquet")
    whole = read_frame(tmp_path / "t*.parquet")
    spec = sources.find_spec
    monkeypatch.setattr(sources, "find_spec", lambda name: None if name == "duckdb" else spec(name))
    monkeypatch.setattr(sources, "duckdb_package", None)
    pd.testing.assert_frame_equal(read_frame(tmp_path / "t*.parquet"), whole, check_dtype=False)
    fitted(tmp_path / "t1.parquet", "died", quiet=True)
    (tmp_path / "no.parquet").write_bytes(b"none")
    assert "cannot read" in run("fit", tmp_path / "no.parquet", "--target", "died").output


def holes(folder: Path) -> Path:
    table = patients(200).astype({"age": float})
    table.loc[::9, "age"] = table.loc[::7, "ward"] = None
    table.to_csv(path := folder / "holes.csv", index=False)
    return path


@pytest.mark.parametrize("formulation", [*FORMULATIONS])
def test_every_formulation_takes_missing_values(tmp_path: Path, formulation: str) -> None:
    more = ("--formulation", formulation.replace("_", "-"), "--time-limit", 0, "--quiet")
    done = run("fit", holes(tmp_path), "--target", "died", *more)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("penalty", ["l1", "binarsity", "weighted-tv"])
def test_a_path_takes_missing_values(tmp_path: Path, penalty: str) -> None:
    more = ("--penalty", penalty, "--n-lams", 3, "--json", *["--bins", 4] * (penalty != "l1"))
    done = run("path", holes(tmp_path), "--target", "died", *more)
    assert done.exit_code == 0, done.output
    assert run("path", tmp_path / "holes.csv", "--target", "died", "--missing", "error").exit_code


def test_a_race_takes_missing_values(tmp_path: Path) -> None:
    more = ("--solvers", "tree", "--time-limit", 1, "--quiet", "--out", tmp_path / "r.sqlite")
    done = run("race", holes(tmp_path), "--target", "died", "--formulations", "slim", *more)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("name", ["ward", "bank", "german", "sentinels", "capitals"])
def test_a_certificate_remembers_how_cells_are_read(tmp_path: Path, name: str) -> None:
    made = TABLES[name]()
    _, messy = made.write(tmp_path)
    proof = tmp_path / "proof.json"
    fitted(messy, made.target, *made.options, "--certificate", proof, "--max-terms", 2)
    read = Certificate.from_json(proof)
    assert any("cells" in column for column in read.data["columns"])
    verified = run("verify", proof, messy)
    assert "fingerprint" in verified.output
    assert "refuted" not in verified.output
    parts = {part: (status, said) for part, status, said in check(messy, proof)}
    assert parts["data"][0] == parts["card"][0] == parts["objective"][0] == "proved"


def test_python_reads_and_remembers_as_the_command_does(tmp_path: Path) -> None:
    made = TABLES["bank"]()
    clean, messy = made.write(tmp_path)
    X, y = read_table(messy, "default")
    plain, _ = read_table(clean, "default")
    with pytest.warns(UserWarning, match="is read as numbers"):
        model = RiskScoreClassifier(max_terms=3, heuristic=True).fit(X, y)
    best = RiskScoreClassifier(max_terms=3, heuristic=True).fit(plain, y)
    assert model.predict_proba(X)[:, 1] == pytest.approx(best.predict_proba(plain)[:, 1])
    assert model.predict(X.iloc[:2]).tolist() == model.predict(plain.iloc[:2]).tolist()
    card = model.scorecard_
    assert card.score(X).tolist() == card.score(plain).tolist()
    assert type(card).from_json(card.to_json()).score(X).tolist() == card.score(X).tolist()
    sql = RiskScoreClassifier(max_terms=3, heuristic=True)
    marked = read_table(TABLES["sentinels"]().write(tmp_path)[1], "died", na=["9999", "-999"])
    assert "NULLIF" in sql.fit(*marked).scorecard_.to_sql()


@pytest.mark.parametrize("name", ["ward", "bank", "sentinels", "capitals", "codes"])
def test_a_table_of_any_size_is_read_alike(tmp_path: Path, name: str) -> None:
    made = TABLES[name]()
    _, messy = made.write(tmp_path)
    written = {"na": ["-999", "9999"]} if name == "sentinels" else {}
    X, y = read_table(messy, made.target, **written)
    design = Binner().fit_design(X, y)
    patterns = read_patterns(messy, made.target, progress=False, **written)
    assert patterns.columns == design.columns
    assert patterns.fingerprint == design.fingerprint
    assert {*patterns.warnings} == {*design.warnings}


def test_two_deaths_are_too_few_for_any_line(tmp_path: Path) -> None:
    done, card = of("few", tmp_path)
    assert "Scored: 1 (2 of 25 rows); --positive 0 for the other" in done.stderr
    (said,) = [line for line in done.stdout.splitlines() if line.startswith("Too few events")]
    assert "the rarer label has 2 rows" in said
    assert "at ten per line they are enough for no line at all" in said
    assert "Too few events" in run("card", card).stdout
    lines = done.stdout.splitlines()
    assert lines.index(said) == [line.startswith("Claim: ") for line in lines].index(True) + 1


@pytest.mark.parametrize("scored", ["alive", "dead"])
def test_the_rarer_label_is_scored_however_a_table_is_read(tmp_path: Path, scored: Any) -> None:
    table = pd.DataFrame({"age": [1, 2, 3, 4], "end": ["alive", "dead", "alive", "dead"]})
    table = pd.concat([table, table.assign(end=scored), table], ignore_index=True)
    rarer = "dead" if scored == "alive" else "alive"
    table.to_csv(path := tmp_path / "t.csv", index=False)
    assert read_patterns(path, "end", progress=False).classes == (scored, rarer)
    done, _ = fitted(path, "end")
    assert f"Scored: '{rarer}' (4 of 12 rows); --positive {scored} for the other" in done.stderr


def test_an_estimator_warns_of_what_the_command_says(tmp_path: Path) -> None:
    X, y = read_table(TABLES["sentinels"]().write(tmp_path)[1], "died")
    X["crp"] = [f"{value} mg/l" for value in X.crp]
    labels = y.map({0: "nein", 1: "ja"})
    model = RiskScoreClassifier(max_terms=3, heuristic=True)
    with pytest.warns(UserWarning, match="RiskScoreClassifier") as seen:
        model.fit(X, labels)
    said = "\n".join(str(warning.message) for warning in seen)
    assert "'troponin' has 9999 (551 rows) far outside its other values" in said
    assert "say so (na=['9999'])" in said
    assert "'crp' is read as numbers" in said
    assert "scores 'nein', the last label in order (977 of 1,200 rows)" in said
    assert model.scorecard_.classes == ("ja", "nein")
    with pytest.warns(UserWarning, match="RiskScoreClassifier: column") as seen:
        model.fit(X, labels == "ja")
    assert not any("scores" in str(warning.message) for warning in seen)
    assert model.scorecard_.classes == (False, True)


def test_a_report_describes_the_table_as_the_card_reads_it(tmp_path: Path) -> None:
    table = TABLES["sentinels"]().clean.assign(troponin=lambda t: t.troponin.fillna(9999))
    table["crp"] = [f"{value} mg/l" if value >= 5 else "<5" for value in table.crp]
    table["sbp"] = table.sbp * 100
    table.to_csv(path := tmp_path / "t.csv", index=False)
    _, card = fitted(path, "died", "--na", "9999", "--max-terms", 5)
    page = tmp_path / "page.html"
    assert run("report", card, path, "--target", "died", "--out", page).exit_code == 0
    row = r'<th scope="row">(crp|troponin|sbp)</th><td[^>]*>([^<]*)<(.*)'
    rows = re.findall(row, page.read_text(encoding="utf-8"))
    described = {name: (what, rest) for name, what, rest in rows if "quartiles" in what}
    assert {*described} == {"crp", "troponin", "sbp"}
    assert "9999" not in described["troponin"][1]
    assert "e+" not in described["sbp"][1]


def thousands(folder: Path, commas: bool) -> Path:
    """A table with "760" and "1.240" in one column, and decimal commas in another or not."""
    table = patients().assign(died=lambda t: t.died.map({0: "nein", 1: "ja"}))
    parted = [f"{round(v) * 10:,}".replace(",", ".") for v in table.crp]
    table["lac"], table["crp"] = parted, table.crp.round()
    if commas:
        table["sbp"] = [f"{v:.1f}".replace(".", ",") for v in table.sbp + 0.5]
    table.to_csv(path := folder / "parted.csv", index=False, sep=";")
    return path


@pytest.mark.parametrize(
    ("commas", "options", "said"),
    [
        (True, (), r"'(\d)\.(\d{3})' is \1\2 \(--thousands and"),
        (False, ("--thousands", "."), r"'(\d)\.(\d{3})' is \1\2 \(--thousands and"),
        (False, (), r"'(\d\.\d{3})' is \1, though three digits stand behind every point"),
    ],
)
def test_points_that_may_part_thousands(
    tmp_path: Path, commas: bool, options: tuple[str, ...], said: str
) -> None:
    path, proof = thousands(tmp_path, commas), tmp_path / "proof.json"
    done, card = fitted(path, "died", *options, "--features", "lac,sbp,age", "--certificate", proof)
    assert re.search(f"'lac' is read as numbers: {said}", done.stderr)
    lac = [each for each in json.loads(card.read_text())["columns"] if each["feature"] == "lac"]
    assert any(10 < each["lower"] < 10000 for each in lac)
    assert {part: status for part, status, _ in check(path, proof)}["card"] == "proved"
    assert "refuted" not in run("verify", proof, path).output


def test_thousands_leave_labels_as_they_are(tmp_path: Path) -> None:
    patients(300).to_csv(path := tmp_path / "t.csv", index=False)
    assert read_table(path, "died", thousands=".")[1].dtype.kind == "i"


def test_three_decimals_alone_are_no_thousands(tmp_path: Path) -> None:
    table = patients(300).assign(share=lambda t: [f"{v / 1000:.3f}" for v in t.crp * 10])
    table.to_csv(path := tmp_path / "t.csv", index=False)
    assert read_table(path, "died")[0].share.dtype.kind == "f"


def test_marks_among_new_rows_are_doubted(tmp_path: Path) -> None:
    made = TABLES["sentinels"]()
    clean, messy = made.write(tmp_path)
    _, card = fitted(clean, made.target, "--features", "sbp,troponin", quiet=True)
    doubted = run("predict", card, messy)
    assert doubted.exit_code == 0
    assert "'sbp' has -999 (96 rows) far outside its other values" in doubted.stderr
    assert "say so (--na 9999)" in doubted.stderr
    one = pd.DataFrame({"sbp": [-999], "troponin": [12]})
    one.to_csv(tmp_path / "one.csv", index=False)
    one.to_parquet(tmp_path / "one.parquet")
    for path in (tmp_path / "one.csv", tmp_path / "one.parquet"):
        doubted = run("predict", card, path, "--out", tmp_path / "out.csv")
        assert "'sbp' has '-999', far from the card's cuts: if that stands" in doubted.stderr
        assert "Warning" not in run("predict", card, path, "--na", "-999").stderr
    assert "Warning" not in run("predict", card, clean).stderr


def test_a_cell_that_is_no_number_is_named(tmp_path: Path) -> None:
    _, card = fitted(TABLES["few"]().write(tmp_path)[0], "died", "--max-terms", 1)
    (name,) = features(card)
    pd.DataFrame({name: ["41", "about 70"]}).to_csv(tmp_path / "new.csv", index=False)
    refused = run("predict", card, tmp_path / "new.csv")
    assert refused.exit_code == 2
    assert "('about 70')" in refused.output


def test_a_comparison_of_few_rows_takes_fewer_folds(tmp_path: Path) -> None:
    path = TABLES["few"]().write(tmp_path)[0]
    more = ("--formulations", "slim", "--max-terms", 1, "--time-limit", 2)
    done = run("compare", path, "--target", "died", *more)
    assert done.exit_code == 0, done.output
    assert "Note: the rarer class has 2 row(s): 2 folds (--cv)." in done.stderr
    asked = run("compare", path, "--target", "died", *more, "--cv", 5)
    assert asked.exit_code == 2
    assert "folds from 2 to 2" in asked.output


@pytest.mark.parametrize("spelt", [True, False])
def test_labels_that_several_people_typed(tmp_path: Path, spelt: bool) -> None:
    table = patients()
    ways = ["ja", "ja ", "JA", "ja", " ja"], ["nein", "Nein", "nein", "NEIN", "nein"]
    table["died"] = [ways[1 - died][k % 5] for k, died in enumerate(table.died)]
    table.to_csv(path := tmp_path / "t.csv", index=False)
    if spelt:
        refused = run("fit", path, "--target", "died", "--as-spelled")
        assert refused.exit_code == 2
        assert "7 distinct labels" in refused.output
    options = ("--as-spelled", "--positive", "ja") if spelt else ()
    proof = tmp_path / "proof.json"
    done, card = fitted(path, "died", *options, "--certificate", proof, "--max-terms", 2)
    said = "column 'died': spellings that differ in blanks or capitals alone are one label: 'ja'"
    assert (said in done.stderr) == (not spelt)
    other = "not ja" if spelt else "nein"
    assert json.loads(card.read_text())["classes"] == [other, "ja"]
    assert ("(223 of 1,200 rows)" in done.stderr) == (not spelt)
    parts = {part: status for part, status, _ in check(path, proof)}
    assert parts["data"] == parts["card"] == parts["objective"] == "proved"
    assert "refuted" not in run("verify", proof, path).output
    patterns = read_patterns(path, "died", progress=False, as_spelled=spelt, positive="ja")
    assert patterns.classes == (other, "ja")
    table.replace({"died": dict.fromkeys(ways[1], "Ja")}).to_csv(path, index=False)
    for read in (read_table, partial(read_patterns, progress=False)):
        with pytest.raises(DataError, match=r"two labels: .* 'Ja' for .*\(--as-spelled keeps them"):
            read(path, "died")


def test_texts_that_keep_a_column_from_being_numbers_are_named(tmp_path: Path) -> None:
    table, rough = patients(), np.random.default_rng(0).random(1200) < 0.12
    table["sbp"] = [
        f"ca. {v:.0f}" if k else f"{v:.0f}" for v, k in zip(table.sbp, rough, strict=True)
    ]
    table.loc[::40, "sbp"] = "<70"
    table.to_csv(path := tmp_path / "t.csv", index=False)
    X, y = read_table(path, "died")
    (said,) = [each for each in Binner().fit_design(X, y).warnings if "'sbp'" in each]
    assert "most frequent have a column each" in said
    assert "Column 'sbp' is text, though most of its values are numbers; not so 'ca. 1" in said


def test_shares_beside_per_cent_are_doubted_and_units_shown(tmp_path: Path) -> None:
    table = patients()
    table["crp"] = [f"{value} mg/l" for value in table.crp]
    table["o2"] = [f"{80 + k % 20} %" if k % 9 else f"0.{80 + k % 20}" for k in range(1200)]
    table.to_csv(path := tmp_path / "t.csv", index=False)
    done, card = fitted(path, "died", "--features", "crp,age,o2")
    assert "'o2' is read as numbers, and has '0.80' beside '81 %': if that is a" in done.stderr
    page = tmp_path / "page.html"
    assert run("card", card, "--format", "calculator", "--out", page).exit_code == 0
    assert '"unit": "mg/l"' in page.read_text(encoding="utf-8")
    table["o2"] = [f"{80 + k % 20} %" if k % 9 else f"{80 + k % 20}" for k in range(1200)]
    table.to_csv(path, index=False)
    assert "write both alike" not in fitted(path, "died")[0].stderr


def test_a_line_that_ends_before_its_label_is_counted(tmp_path: Path) -> None:
    lines = csv(patients(50)).splitlines()
    lines[3] = lines[3].rpartition(",")[0]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    refused = run("fit", tmp_path / "t.csv", "--target", "died")
    assert refused.exit_code == 2
    assert "1 missing label(s), in line of the file 4" in refused.output
    assert "The file has fewer fields than the header (7): line 4 has 6" in refused.output


@pytest.mark.parametrize("target", ["died", "#7"])
def test_marks_of_missing_values_are_no_labels(tmp_path: Path, target: str) -> None:
    table = patients(300)
    table.loc[::9, "sbp"] = 0
    table.to_csv(path := tmp_path / "t.csv", index=False)
    X, y = read_table(path, target, na=["0"])
    assert y.tolist() == table.died.tolist()
    assert X.sbp.isna().sum() == 34
    fitted(path, target, "--na", "0")
    assert read_patterns(path, "died", na=["0"], progress=False).classes == (0, 1)
