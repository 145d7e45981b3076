"""What a card is worth on new rows: the line that `fit` ends with."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

from milpscore import worth
from milpscore.cli.app import app
from milpscore.constraints import Include
from milpscore.core.errors import DataError
from milpscore.data import make_design, read_patterns
from milpscore.data.cut_points import Cutting
from milpscore.fitting import fit_card

RNG = np.random.default_rng(3)
TABLE = pd.DataFrame({name: RNG.normal(size=400).round(2) for name in "abcdefgh"})
CHANCE = pd.Series(RNG.integers(0, 2, 400))
FOLLOWS = (TABLE.to_numpy() @ [3, 2, 2, 1, 1, 1, 1, 1] + RNG.normal(size=400) > 0).astype(int)


def worth_of(y: pd.Series[int] | np.ndarray, terms: int = 3) -> worth.Worth:
    """The worth of the fast card of some labels."""
    cutting = Cutting(n_bins=5)
    design = cutting.design(TABLE, np.asarray(y) > 0, positive=True)
    program, result = fit_card(design, heuristic=True, max_terms=terms)
    return worth.card_worth(program, result, TABLE, cutting)


def test_the_area_is_that_of_scikit_learn() -> None:
    weight = RNG.integers(1, 4, 400).astype(float)
    design = make_design(TABLE, CHANCE, sample_weight=weight)
    totals = TABLE["a"].round(0).to_numpy()
    wanted = roc_auc_score(CHANCE, totals, sample_weight=weight)
    assert worth._auc(design, totals) == pytest.approx(wanted, abs=1e-12)


def test_labels_by_chance_are_worth_nothing_on_new_rows() -> None:
    found = worth_of(CHANCE)
    assert found.auc > 0.6  # the choice of cuts and features flatters
    assert abs(found.auc_new - 0.5) < 0.1
    assert abs(found.auc_logistic - 0.5) < 0.1


def test_more_lines_are_advised_where_they_pay() -> None:
    found = worth_of(FOLLOWS, terms=2)
    assert found.auc > found.auc_new
    assert found.auc_larger is not None
    assert found.auc_larger > found.auc_new + 0.02
    assert found.larger_terms == 4
    assert found.auc_logistic > found.auc_larger
    assert str(found).endswith(f"4 terms {found.auc_larger:.3f}: raise --max-terms.")


def test_the_folds_part_the_rows_and_both_classes() -> None:
    design = make_design(TABLE, FOLLOWS)
    folds, sampled = worth._folds(design, np.random.default_rng(0))
    assert not sampled
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(400))
    for train, test in folds:
        assert not set(train) & set(test)
        assert abs(np.mean(design.y[test] > 0) - np.mean(design.y > 0)) < 0.02


def test_a_large_table_is_sampled_with_a_seed_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worth, "POLICY", worth.WorthPolicy(max_rows=200, min_rows=100))
    first, again = worth_of(FOLLOWS), worth_of(FOLLOWS)
    assert first == again
    assert (first.rows, first.sampled) == (200, True)
    assert "5 refits on 200 rows drawn by chance" in str(first)


def test_merged_rows_stand_as_often_as_they_were(tmp_path: Path) -> None:
    coarse = (TABLE > 0).astype(int).assign(y=FOLLOWS)
    coarse.to_csv(tmp_path / "t.csv", index=False)
    design = read_patterns(tmp_path / "t.csv", "y", binner=None)
    folds, _ = worth._folds(design, np.random.default_rng(0))
    dealt = np.bincount(np.concatenate([test for _, test in folds]), minlength=len(design.y))
    np.testing.assert_array_equal(dealt, design.rows)
    program, result = fit_card(design, heuristic=True, max_terms=3)
    found = worth.card_worth(program, result)
    assert 0.5 < found.auc_new < 1.0
    assert found.cut_anew  # as nothing is cut
    assert "cuts" not in str(found)


def test_cuts_that_stay_are_said() -> None:
    cutting = Cutting(n_bins=5)
    design = cutting.design(TABLE, FOLLOWS > 0, positive=True)
    rule = Include(columns=[design.columns[0].name])  # a cut that no refit finds again
    program, result = fit_card(design, heuristic=True, max_terms=3, constraints=[rule])
    found = worth.card_worth(program, result, TABLE, cutting)
    assert not found.cut_anew
    assert "(cuts not chosen anew, which flatters)" in str(found)
    assert found == worth.card_worth(program, result)
    program, result = fit_card(design, heuristic=True, max_terms=3)
    assert worth.card_worth(program, result, TABLE, cutting).cut_anew


def test_two_events_are_too_few() -> None:
    design = make_design(TABLE, np.arange(400) < 2)
    program, result = fit_card(design, heuristic=True, max_terms=2)
    with pytest.raises(DataError, match="has 2 rows, too few to judge"):
        worth.card_worth(program, result)


@pytest.mark.parametrize("formulation", ["risk-score", "slim"])
def test_fit_ends_with_it(tmp_path: Path, formulation: str) -> None:
    file = tmp_path / "t.csv"
    TABLE.assign(y=FOLLOWS).to_csv(file, index=False)
    command = [
        *("fit", str(file), "--target", "y", "--formulation", formulation, "--heuristic"),
        *("--max-terms", "3", "--bins", "4"),
    ]
    run = CliRunner().invoke
    done = run(app, command)
    assert done.exit_code == 0, done.output
    line = next(line for line in done.output.splitlines() if line.startswith("AUC "))
    said = json.loads(run(app, [*command, "--json"]).stdout)["worth"]
    assert f"{said['auc']:.3f} here, {said['auc_new']:.3f} on new rows" in line
    assert (said["larger_terms"], said["rows"]) == (6, 400)
    without = run(app, [*command, "--no-check"])
    assert "on new rows" not in without.output
    assert "worth" not in json.loads(run(app, [*command, "--no-check", "--json"]).stdout)


def test_ctrl_c_during_the_refits_keeps_the_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(worth, "card_worth", interrupted)
    TABLE.assign(y=FOLLOWS).to_csv(tmp_path / "t.csv", index=False)
    command = ["fit", str(tmp_path / "t.csv"), "--target", "y", "--heuristic"]
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "card.json")])
    assert done.exit_code == 0, done.output
    assert "the refits were interrupted" in done.output
    assert (tmp_path / "card.json").is_file()


def test_rows_of_one_name_are_left_out_together(tmp_path: Path) -> None:
    part = TABLE.iloc[:120].assign(y=CHANCE.iloc[:120], row=range(120))
    part.to_csv(tmp_path / "one.csv", index=False)
    stacked = pd.concat([part.assign(table=k) for k in range(4)])
    stacked.to_csv(tmp_path / "four.csv", index=False)
    found = {}
    for name, more in (("one", []), ("four", ["--drop", "table"]), ("loose", [])):
        path = tmp_path / f"{'four' if name == 'loose' else name}.csv"
        said = [*more, "--id", "row"] if name != "loose" else ["--drop", "table,row"]
        words = ["fit", path, "--target", "y", *said, "--bins", 5, "--heuristic", "--json"]
        done = CliRunner().invoke(app, [*map(str, words), "--out", str(tmp_path / f"{name}.json")])
        assert done.exit_code == 0, done.output
        card = json.loads((tmp_path / f"{name}.json").read_text())
        found[name] = json.loads(done.stdout)["worth"]["auc_new"], card["certificate"]["rarer_rows"]
    assert found["four"] == pytest.approx(found["one"])
    assert found["loose"][0] > found["one"][0] + 0.1  # each row has its copies among the others
    assert found["loose"][1] == 4 * found["one"][1]
    stacked["row"] = stacked["row"].astype(object).where(stacked["row"] > 4)
    stacked.to_csv(tmp_path / "some.csv", index=False)
    words = ["fit", tmp_path / "some.csv", "--target", "y", "--drop", "table", "--id", "row"]
    done = CliRunner().invoke(app, [*map(str, words), "--heuristic"])
    assert "Note: 20 rows without a name in row stand for themselves." in done.stderr
