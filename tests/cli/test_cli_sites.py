"""Counts of several sites on the command line: the card of all rows, and of the other sites."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from milpscore import Scorecard, solve
from milpscore.cli.app import app
from milpscore.core.errors import OptionError
from milpscore.data import read_counts
from milpscore.fitting import fit_card
from milpscore.formulations import risk_score
from milpscore.metrics import auc
from milpscore.worth import site_worth


def run(*words: Any) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three sites' tables and counts, and all rows together."""
    folder, rng = tmp_path_factory.mktemp("sites"), np.random.default_rng(0)
    n = 600
    table = pd.DataFrame({"Age": rng.integers(20, 90, n), "Sex": rng.choice(["m", "f"], n)})
    risk = (table["Age"] - 50) / 20 + (table["Sex"] == "m") + rng.logistic(size=n)
    table["ill"] = (risk > 0.5).astype(int)
    table.to_csv(folder / "all.csv", index=False)
    (folder / "cuts.json").write_text(json.dumps({"Age": [35, 50, 65]}))
    for site in range(3):
        table.iloc[site::3].to_csv(folder / f"s{site}.csv", index=False)
        cuts = ("--like", folder / "s0.json") if site else ("--thresholds", folder / "cuts.json")
        out = folder / f"s{site}.json"
        found = run("counts", folder / f"s{site}.csv", "--target", "ill", *cuts, "--out", out)
        assert found.exit_code == 0, found.output
        assert "200 rows are counted as 16 patterns of" in found.output
    return folder


def test_the_card_of_all_sites_is_that_of_all_rows(sites: Path) -> None:
    further = f"{sites / 's1.json'},{sites / 's2.json'}"
    words = ("--target", "ill", "--max-terms", 2, "--json")
    pooled = run(
        "fit", sites / "s0.json", "--sites", further, *words, "--certificate", sites / "proof.json"
    )
    whole = run("fit", sites / "all.csv", "--thresholds", sites / "cuts.json", *words, "--no-check")
    made, own = json.loads(pooled.stdout), json.loads(whole.stdout)
    assert made["objective"] == own["objective"]
    assert made["claim"] == own["claim"] == "optimal"
    assert [site["rows"] for site in made["sites"]] == [200, 200, 200]
    assert run("verify", sites / "proof.json", sites / "all.csv").exit_code == 0


def test_the_report_shows_what_the_card_is_worth_at_each_site(sites: Path, tmp_path: Path) -> None:
    card, page = tmp_path / "card.json", tmp_path / "page.html"
    words = ("--sites", sites / "s1.json", "--target", "ill", "--max-terms", 2, "--out", card)
    assert run("fit", sites / "s0.json", *words).exit_code == 0
    done = run("report", card, sites / "s2.csv", "--target", "ill", "--out", page)
    assert done.exit_code == 0, done.output
    found = json.loads(card.read_text())["certificate"]["sites"]
    assert [each["site"] for each in found] == ["s0", "s1"]
    text = page.read_text()
    assert "Each site, by a card made from the other sites" in text
    assert f">{found[1]['auc_left_out']:.3f}</td>" in text


def test_each_site_is_judged_by_the_others(sites: Path) -> None:
    paths = [sites / f"s{site}.json" for site in range(3)]
    program = risk_score(read_counts(*paths), max_terms=2)
    result = solve(program, "tree")
    found = site_worth(program, result, paths)
    for site, each in enumerate(found):
        own, others = read_counts(paths[site]), read_counts(*(p for p in paths if p != paths[site]))
        _, again = fit_card(others, "risk_score", heuristic=True, max_terms=2, progress=False)
        scores = own.X @ again.card.coefficients + float(again.card.intercept)
        risks = 1 / (1 + np.exp(-scores / float(again.card.scale)))
        assert each.auc_left_out == pytest.approx(auc(own.y, scores, own.weight))
        assert each.stated == pytest.approx(np.average(risks, weights=own.weight))
        assert each.observed == pytest.approx(np.average(own.y > 0, weights=own.weight))
        assert f"Site s{site} (200 rows)" in str(each)
    with pytest.raises(OptionError, match="two at least"):
        site_worth(program, result, paths[:1])


def test_withheld_cells_are_named(sites: Path) -> None:
    out = sites / "small.json"
    cuts = ("--thresholds", sites / "cuts.json", "--withhold", 12, "--out", out)
    assert "are withheld" in run("counts", sites / "s0.csv", "--target", "ill", *cuts).output
    fit = ("fit", out, "--target", "ill", "--max-terms", 2, "--no-check")
    card = sites / "small-card.json"
    found = run(*fit, "--out", card)
    assert found.exit_code == 0
    said = " ".join(found.output.split())
    assert "The bound holds for the middle of" in said
    assert "withheld ranges" in said
    assert "withheld ranges" in Scorecard.load(card).certificate["caveat"]
    refused = run(*fit, "--certificate", sites / "no.json")
    assert refused.exit_code == 2
    assert "leave out --certificate" in " ".join(refused.output.split())
    assert not (sites / "no.json").exists()


def test_a_value_that_the_first_site_lacks_is_named(sites: Path) -> None:
    other = pd.read_csv(sites / "s1.csv").assign(Sex=lambda table: table["Sex"].replace("f", "x"))
    other.to_csv(sites / "odd.csv", index=False)
    cuts = ("--like", sites / "s0.json", "--out", sites / "odd.json")
    found = run("counts", sites / "odd.csv", "--target", "ill", *cuts)
    assert found.exit_code == 2
    assert "'x'" in found.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fit", "s0.json", "--target", "other"), "counts 'ill', not 'other'"),
        (("fit", "s0.json", "--target", "ill", "--bins", 3), "leave out --bins"),
        (("fit", "all.csv", "--sites", "s1.json", "--target", "ill"), "holds no counts"),
        (("fit", "none.json", "--target", "ill"), "none.json"),
        (("fit", "cuts.json", "--target", "ill"), "cuts.json"),
        (("counts", "s0.csv", "--target", "ill"), "say by --out"),
        (("counts", "s0.csv", "--target", "ill", "--like", "s0.json", "--bins", 3, "--out", "x"),
         "brings its own cuts"),
        (("counts", "s0.csv", "--target", "ill", "--positive", 0, "--like", "s0.json",
          "--out", "x.json"), "leave out --positive"),
    ],
)  # fmt: skip
def test_what_cannot_be_pooled_is_refused(
    sites: Path, words: tuple[Any, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sites)
    found = run(*words)
    assert found.exit_code == 2
    assert message in " ".join(found.output.split())
    assert "Traceback" not in found.output


def test_each_site_has_an_intercept_of_its_own(sites: Path, tmp_path: Path) -> None:
    counts = [sites / f"s{site}.json" for site in range(3)]
    done = run("sites", *counts, "--max-terms", 2, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert "Risk at each site:" in done.stdout
    assert (
        "no card with at most 2 columns and points from −5 to 5, whatever the scale, has mean"
        in (done.stdout)
    )
    assert "high risk" in run("card", tmp_path / "s1.card.json").stdout
    assert run("sites", *counts, "--out", tmp_path / "none").exit_code == 2
    assert "two files are called" in run("sites", counts[0], counts[0]).output
    assert "holds no counts" in run("sites", counts[0], sites / "s1.csv").output
    few = tmp_path / "few.json"
    like = ("--like", counts[0], "--withhold", 30, "--out", few)
    assert run("counts", sites / "s1.csv", "--target", "ill", *like).exit_code == 0
    assert "patterns are withheld" in run("sites", counts[0], few).output


def test_counts_are_described_in_json(sites: Path, tmp_path: Path) -> None:
    out = tmp_path / "again.json"
    words = ("--target", "ill", "--like", sites / "s0.json", "--out", out, "--json")
    said = json.loads(run("counts", sites / "s0.csv", *words).stdout)
    rows = np.array(json.loads(out.read_text())["counts"])
    ones = int((rows == 1).sum())
    about = {"rows": 200, "patterns": 16, "columns": said["columns"], "file": str(out)}
    assert said == {**about, "of_one_row": ones}
    said = json.loads(run("counts", sites / "s0.csv", *words, "--withhold", 5).stdout)
    assert said == {**about, "withheld": int((rows < 5).sum())}


def test_numbers_are_counted_as_fit_cuts_them(sites: Path, tmp_path: Path) -> None:
    words = ("counts", sites / "all.csv", "--target", "ill", "--out", tmp_path / "cut.json")
    assert run(*words).exit_code == 0
    assert "numeric" not in {column.kind for column in read_counts(tmp_path / "cut.json").columns}
    assert "--raw leaves numbers uncut" in run(*words, "--raw", "--bins", 3).stderr


def test_a_site_without_any_positive_is_counted_like_another(sites: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(sites / "s1.csv")
    parts = [tmp_path / "none.json", tmp_path / "all.json"]
    like = ("--target", "ill", "--like", sites / "s0.json")
    for value, out in enumerate(parts):
        own = frame[frame["ill"] == value].astype({"ill": float})  # 0.0 is the label 0
        own.to_csv(tmp_path / "own.csv", index=False)
        found = run("counts", tmp_path / "own.csv", *like, "--out", out)
        assert found.exit_code == 0, found.output
        assert {*json.loads(out.read_text())["y"]} == {2 * value - 1}
    assert read_counts(*parts).fingerprint == read_counts(sites / "s1.json").fingerprint
    frame.assign(ill=frame["ill"].map({0: "no", 1: "yes"})).to_csv(
        tmp_path / "odd.csv", index=False
    )
    for more in ((), ("--positive", "yes")):
        found = run("counts", tmp_path / "odd.csv", *like, *more, "--out", tmp_path / "odd.json")
        assert "s0.json has the labels 0 and 1: write them as there" in found.output


def test_a_site_counts_once(sites: Path) -> None:
    one = sites / "s0.json"
    found = run("fit", one, "--sites", f"{sites}/../{sites.name}/s0.json", "--target", "ill")
    assert found.exit_code == 2
    assert "s0.json is given twice" in found.output
    assert "needs the counts of two and more: name them" in run("sites", one).output


def test_no_time_gives_sites_a_card_without_points(sites: Path) -> None:
    found = run("sites", sites / "s0.json", sites / "s1.json", "--time-limit", 0)
    assert found.exit_code == 0, found.output
    assert "claim: feasible" in found.output.lower()
    assert "sex" not in found.output.lower()


def test_numbers_with_and_without_a_unit_are_not_pooled_in_silence(
    sites: Path, tmp_path: Path
) -> None:
    table = pd.read_csv(sites / "s0.csv")
    table.assign(Age=table["Age"].astype(str) + " years").to_csv(tmp_path / "u0.csv", index=False)
    count = ("counts", tmp_path / "u0.csv", "--target", "ill", "--out", tmp_path / "u0.json")
    assert run(*count, "--thresholds", sites / "cuts.json").exit_code == 0
    done = " ".join(run("sites", sites / "s1.json", tmp_path / "u0.json").stderr.split())
    assert "the former alone 'Age [years]', the latter alone 'Age'" in done
    assert "in the same unit" in done
    like = ("--target", "ill", "--like", tmp_path / "u0.json", "--out", tmp_path / "u1.json")
    done = run("counts", sites / "s1.csv", *like)
    assert done.exit_code == 0
    assert (
        "Warning: the numbers of 'Age' have no unit, and are read as if in 'years'" in done.stderr
    )
    assert "Warning" not in run("counts", tmp_path / "u0.csv", *like).stderr
