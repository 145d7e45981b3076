"""``milpscore update``: a saved card on new rows."""

from __future__ import annotations

import hashlib
import json
import signal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from milpscore.cli.app import app
from milpscore.fitting import fit_card
from milpscore_check.report import check
from milpscore_check.values import Refused


def run(*arguments: object) -> Any:
    """Run the command line in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("update"), np.random.default_rng(0)
    paths = []
    for name, slope in (("old", 1.0), ("new", 2.5)):
        X = rng.integers(0, 2, (300, 3))
        score = X @ [1.5, 1.0, 0.0] + slope * X[:, 2] - 2.0
        ill = np.where(rng.random(300) < 1.0 / (1.0 + np.exp(-score)), "yes", "no")
        frame = pd.DataFrame(X, columns=["pain", "fever", "shock"]).assign(ill=ill)
        frame.to_csv(folder / f"{name}.csv", index=False)
        paths.append(folder / f"{name}.csv")
    card = folder / "card.json"
    done = run("fit", paths[0], "--target", "ill", "--max-terms", 2, "--out", card)
    assert done.exit_code == 0, done.output
    return card, paths[1]


def test_a_card_of_one_label_against_the_rest_is_updated(files, tmp_path):
    _, new = files
    frame = pd.read_csv(new)
    frame["ill"] = frame["ill"].where(frame["pain"] > 0, "perhaps")
    frame.to_csv(table := tmp_path / "three.csv", index=False)
    card = tmp_path / "card.json"
    given = "--max-terms", 1, "--no-check", "--out", card
    assert run("fit", table, "--target", "ill", "--positive", "no", *given).exit_code == 0
    done = run("update", card, table, "--target", "ill", "--changes", 1)
    assert done.exit_code == 0, done.output
    assert "1 changed" in done.stdout


def test_labels_that_the_card_does_not_answer_are_refused(files, tmp_path):
    card, new = files
    frame = pd.read_csv(new)
    frame["ill"] = frame["ill"].where(frame["pain"] > 0, "perhaps")
    frame.to_csv(table := tmp_path / "three.csv", index=False)
    done = run("update", card, table, "--target", "ill")
    assert done.exit_code == 2
    assert "the labels hold 'perhaps'; the card answers ['no', 'yes']" in done.stderr
    assert "recode the labels to these two" in done.stderr
    assert "positive" not in done.stderr


def test_a_card_with_a_line_for_missing_values_is_updated(files, tmp_path):
    _, new = files
    frame = pd.read_csv(new)
    frame["days"] = np.where(frame["pain"] > 0, np.nan, np.arange(len(frame)) % 9)
    frame.to_csv(table := tmp_path / "holes.csv", index=False)
    card, proof = tmp_path / "card.json", tmp_path / "proof.json"
    given = "--features", "days,shock", "--max-terms", 2, "--no-check", "--out", card
    assert run("fit", table, "--target", "ill", *given).exit_code == 0
    assert "days missing" in card.read_text()
    done = run("update", card, table, "--target", "ill", "--changes", 1, "--certificate", proof)
    assert done.exit_code == 0, done.output
    assert run("verify", proof, table).exit_code == 0


def test_a_card_is_updated_and_read_again(files, tmp_path):
    card, new = files
    done = run(
        "update", card, new, "--target", "ill", "--changes", 1, "--out", tmp_path / "newer.json"
    )
    assert done.exit_code == 0, done.output
    assert "as it states" in done.stdout
    assert "No change of at most one line, to points from -5 to 5, takes more than" in done.stdout
    assert run("predict", tmp_path / "newer.json", new).exit_code == 0
    shown = run("card", tmp_path / "newer.json")
    assert "no card that changes at most one line" in shown.stdout
    page = tmp_path / "page.html"
    done = run("report", tmp_path / "newer.json", new, "--target", "ill", "--out", page)
    assert done.exit_code == 0, done.output
    assert (
        "No card that changes at most one line of the card in use, to points from −5 to 5,"
        in page.read_text()
    )
    done = run(
        "update",
        card,
        new,
        "--target",
        "ill",
        "--point-changes",
        1,
        "--out",
        tmp_path / "near.json",
    )
    assert "No change of at most one line, by at most 1 point, to points" in done.stdout
    assert "by at most 1 point, to points from" in run("card", tmp_path / "near.json").stdout
    # and once more, from its own file
    again = run("update", tmp_path / "newer.json", new, "--target", "ill", "--changes", 0)
    assert again.exit_code == 0, again.output


def test_json_is_one_object(files):
    done = run("update", *files, "--target", "ill", "--changes", 1, "--json")
    rows = json.loads(done.stdout)["cards"]
    assert [row["changes"] for row in rows] == [None, None, 0, 1]
    assert rows[-1]["claim"] == "optimal"
    assert rows[-1]["loss"] <= rows[-2]["loss"] <= rows[0]["loss"]


@pytest.mark.parametrize("most", [1, 3])
def test_ctrl_c_ends_an_update_with_130(files, tmp_path, monkeypatch, most):
    out = tmp_path / "newer.json"

    def pressed(*given, **options):
        if options["max_terms"] == most:
            signal.raise_signal(signal.SIGINT)
        return fit_card(*given, **options)

    monkeypatch.setattr("milpscore.updating.fit_card", pressed)
    done = run("update", *files, "--target", "ill", "--changes", 3, "--out", out)
    assert done.exit_code == 130
    assert out.exists() == (most == 3)
    said = done.stdout if out.exists() else done.stderr
    assert "was interrupted at 2 of 3 changes" in said or "no file was written" in said


def test_what_cannot_be_updated_is_refused(files, tmp_path):
    card, new = files
    frame = pd.read_csv(new)
    frame.drop(columns="pain").to_csv(tmp_path / "short.csv", index=False)
    done = run("update", card, tmp_path / "short.csv", "--target", "ill")
    assert done.exit_code == 2
    assert "pain" in done.output
    frame.assign(ill="maybe").to_csv(tmp_path / "odd.csv", index=False)
    assert run("update", card, tmp_path / "odd.csv", "--target", "ill").exit_code == 2


def test_the_certificate_of_an_update_is_checked_from_the_table(files, tmp_path):
    card, new = files
    proof, newer = tmp_path / "proof.json", tmp_path / "newer.json"
    done = run(
        "update",
        card,
        new,
        "--target",
        "ill",
        "--changes",
        1,
        "--certificate",
        proof,
        "--out",
        newer,
    )
    assert done.exit_code == 0, done.output
    assert run("verify", proof, new).exit_code == 0
    assert run("verify", proof, new.with_name("old.csv")).exit_code == 1
    assert {part[1] for part in check(new, proof)} == {"proved"}
    assert json.loads(newer.read_text())["certificate"]["evidence"] == "proof.json"
    content = json.loads(proof.read_text())
    *others, total = content["data"]["columns"]
    assert total["kind"] == "total"
    loose = {**total, "points": total["points"][1:]}
    bare = {name: value for name, value in total.items() if name != "points"}
    heavy = {**total, "points": [total["points"][0] + 1, *total["points"][1:]]}
    for columns in (
        [*others, loose], [*others, bare], [total, *others], [*others, heavy],
        [*others, {**total, "kind": "numeric"}], [*others, {**total, "lower": "1.0"}],
        [{**others[0], "points": [1]}, *others[1:], total],
    ):  # fmt: skip
        content["data"]["columns"] = columns
        plain = {k: v for k, v in content.items() if k not in ("kind", "version", "digest")}
        sealed = json.dumps(plain, sort_keys=True, separators=(",", ":"))
        content["digest"] = hashlib.sha256(sealed.encode()).hexdigest()
        forged = tmp_path / "forged.json"
        forged.write_text(json.dumps(content))
        refused = run("verify", forged, new)
        assert refused.exit_code in (1, 2)
        assert refused.exception is None or isinstance(refused.exception, SystemExit)
        try:
            found = check(new, forged)
        except Refused:
            continue
        assert {part[1] for part in found} != {"proved"}, columns
