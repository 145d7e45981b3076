"""Score learning and the DiaRem card."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt

from experiments.runner import Finding
from experiments.scores.data import make_diabetes_cohort
from experiments.scores.diarem import DIAREM_GROUPS, diarem
from experiments.scores.fits import FusedLassoOptions, by_total, conditions, learn
from experiments.scores.learning import ScoreLearning
from experiments.scores.recovery import DiaremRecovery, graded_points
from milpscore.core.errors import DataError, OptionError
from milpscore.data import Binner, make_planted_score
from milpscore.formulations import fused_lasso
from milpscore.metrics import auc
from milpscore.scorecard import Scorecard
from milpscore.solvers import solve


def patients(rows: list[tuple[float, float, str, int]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["age", "hba1c", "insulin", "other_drugs"])


@pytest.mark.parametrize(
    ("patient", "total"),
    [
        ((39, 6.4, "no", 0), 0),
        ((40, 6.5, "no", 1), 6),
        ((49, 6.9, "no", 0), 3),
        ((50, 7.0, "no", 0), 6),
        ((59, 8.9, "no", 2), 9),
        ((60, 9.0, "yes", 1), 22),
        ((75, 6.4, "yes", 0), 13),
    ],
)
def test_diarem_adds_the_published_points(
    patient: tuple[float, float, str, int], total: int
) -> None:
    card, table = diarem(), patients([patient])
    assert card.score(table).tolist() == [total]
    wanted = "no remission" if total >= 7 else "remission"
    assert card.predict(table).tolist() == [wanted]


def test_diarem_is_a_card_like_any_other() -> None:
    card = diarem()
    assert (card.terms, card.bins) == (4, 12)
    assert Scorecard.from_json(card.to_json()) == card
    assert "no remission if total ≥ 7" in card.to_text()
    with pytest.raises(DataError, match="perhaps"):
        card.score(patients([(50, 7.0, "perhaps", 0)]))
    with pytest.raises(DataError, match="insulin"):
        card.score(patients([(50, 7.0, "no", 0)]).drop(columns="insulin"))
    # the groups part all totals
    ranges = [total for totals, _, _ in DIAREM_GROUPS for total in totals]
    assert ranges == list(range(23))
    assert all(least < most for _, least, most in DIAREM_GROUPS)


def test_a_cohort_follows_the_table() -> None:
    X, y, truth = make_diabetes_cohort(20_000, random_state=7)
    np.testing.assert_array_equal(diarem().score(X), truth.total)
    np.testing.assert_allclose(truth.probability, 1 / (1 + np.exp(-0.3 * (truth.total - 7))))
    for total in (3, 7, 12):
        rows = truth.total == total
        assert y[rows].mean() == pytest.approx(truth.probability[rows][0], abs=0.06)
    assert X["age"].between(18, 75).all()
    again, same, _ = make_diabetes_cohort(20_000, random_state=7)
    pd.testing.assert_frame_equal(X, again)
    pd.testing.assert_series_equal(y, same)
    for wrong in ({"n_samples": 1}, {"slope": 0}, {"midpoint": np.nan}):
        with pytest.raises(OptionError):
            make_diabetes_cohort(**wrong)


@pytest.fixture(scope="module")
def cohort() -> tuple[pd.DataFrame, Any]:
    X, y, _ = make_diabetes_cohort(150, random_state=2)
    return X, y.to_numpy()


def test_a_feature_alone_is_the_program_restricted_to_it(cohort: tuple[pd.DataFrame, Any]) -> None:
    design = Binner(3, encoding="onehot").fit_design(*cohort)
    options = FusedLassoOptions(most_points=4)
    found = learn("by_feature", design, options)
    assert found.proved
    for block in design.blocks:
        feature = design.columns[block[0]].feature
        whole = solve(
            fused_lasso(
                design, lam=options.lam, coef_min=0, coef_max=4, reference="lowest",
                features=[feature],
            ),
            progress=False,
        )  # fmt: skip
        assert whole.card is not None
        objective = whole.objective
        points = np.zeros(design.shape[1], dtype=np.int64)
        points[list(block)] = found.card.coefficients[list(block)]
        losses = [
            np.maximum(0, 1 - design.y * (design.X @ points + b)).mean() for b in range(-5, 6)
        ]
        jumps = np.abs(np.diff(points[list(block)])).sum()
        assert min(losses) + options.lam * jumps == pytest.approx(objective, abs=1e-7)


def test_alone_a_feature_has_two_levels_of_points(cohort: tuple[pd.DataFrame, Any]) -> None:
    """The hinge loss of a bin has its kinks at -1 and 1 only, and so has an optimum."""
    design = Binner(6, encoding="onehot").fit_design(*cohort)
    points = learn("by_feature", design, FusedLassoOptions(lam=0.001)).card.coefficients
    for block in design.blocks:
        assert set(points[list(block)]) <= {0, 2}


def test_neighbours_with_equal_points_are_one_bin() -> None:
    X = pd.DataFrame({"n": [1, 2, 3, 4] * 5, "c": ["a", "b", "c", "d"] * 5})
    design = Binner(encoding="onehot").fit_design(X, [0, 0, 1, 1] * 5)
    points = (0, 0, 2, 2, 1, 1, 1, 0)
    made = Scorecard(design.columns, points, threshold=Fraction(2), blocks=design.blocks)
    assert conditions(made) == [
        ("n", "< 3", 0), ("n", "≥ 3", 2), ("c", "= a, b or c", 1), ("c", "= d", 0)
    ]  # fmt: skip


def test_rows_are_counted_by_total() -> None:
    table = by_total(np.array([0.0, 2.0, 2.0, 1.0]), np.array([-1, 1, 1, -1]))
    assert table.to_dict("list") == {
        "total": [0, 1, 2], "negative": [1, 1, 0], "positive": [0, 0, 2]
    }  # fmt: skip


SCORES: dict[str, Any] = {"sets": ("tiny", "nowhere"), "folds": 2, "random_state": 1}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pd.DataFrame, Any]:
    """A folder with one set, its table and labels."""
    folder = tmp_path_factory.mktemp("sets")
    X, y, _ = make_planted_score(150, 5, n_terms=3, random_state=3)
    X.insert(0, "label", y)
    X.to_csv(folder / "tiny.csv", index=False)
    return folder, X.drop(columns="label"), y.to_numpy()


@pytest.fixture(scope="module")
def learning(tiny: tuple[Path, pd.DataFrame, Any]) -> Finding:
    return ScoreLearning(data=str(tiny[0]), **SCORES).run(1)


def test_scores_are_measured_on_rows_held_out(
    learning: Finding, tiny: tuple[Path, pd.DataFrame, Any]
) -> None:
    assert len(learning.runs) == 2 * 2
    assert learning.summary["method"].tolist() == ["by_feature", "joint"]
    row = learning.summary.set_index("method").loc["joint"]
    part = learning.runs[learning.runs["method"] == "joint"]
    assert row["accuracy"] == pytest.approx(part["accuracy"].mean())
    assert row["accuracy"] > 0.6
    whole = learning.scores.set_index("method")
    assert whole["proved"].all()
    _, X, y = tiny
    assert whole.loc["joint", "columns"] == sum(X.nunique())
    assert learning.notes["about"].tolist() == ["nowhere"]
    for method in ("by_feature", "joint"):
        card, totals = learning.cards["tiny", method], learning.totals["tiny", method]
        right = (card.predict(X) == y).mean()
        assert whole.loc[method, "accuracy"] == right
        assert totals[["negative", "positive"]].sum().tolist() == [(y == 0).sum(), (y == 1).sum()]
        beyond = totals["total"] >= card.threshold
        errors = totals.loc[beyond, "negative"].sum() + totals.loc[~beyond, "positive"].sum()
        assert 1 - errors / len(y) == pytest.approx(right)
        own = learning.points[learning.points["method"] == method]
        assert (own.groupby("feature")["points"].min() == 0).all()
        assert len(own) == whole.loc[method, "bins"]


def test_scores_resume(
    tmp_path: Path, learning: Finding, tiny: tuple[Path, pd.DataFrame, Any]
) -> None:
    file = tmp_path / "scores.sqlite"
    found = ScoreLearning(data=str(tiny[0]), **SCORES).run(1, out=file)
    pd.testing.assert_frame_equal(found.runs, learning.runs)
    pd.testing.assert_frame_equal(found.points, learning.points)
    kept = ScoreLearning(data=str(tiny[0]), **SCORES).run(1, out=file)
    pd.testing.assert_frame_equal(kept.summary, learning.summary)
    with pytest.raises(OptionError, match="n_bins=4"):
        ScoreLearning(data=str(tiny[0]), **{**SCORES, "n_bins": 3}).run(1, out=file)


def test_scores_name_absent_sets(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="none of the sets"):
        ScoreLearning(data=str(tmp_path), sets=("mushroom",)).run(1)
    with pytest.raises(OptionError, match="folds=1"):
        ScoreLearning(folds=1).run(1)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recovery") / "recovery.sqlite"


@pytest.fixture(scope="module")
def recovery(kept: Path) -> Finding:
    return DiaremRecovery(sizes=(150, 3000), random_state=5).run(1, out=kept)


def test_a_large_cohort_gives_diarem_back(recovery: Finding) -> None:
    rows = recovery.summary.set_index(["size", "method"])
    diarem_rows = recovery.runs[recovery.runs["method"] == "diarem"]
    assert (diarem_rows["agreement"] == 1).all()
    best = rows.loc[(3000, "diarem"), "accuracy"]
    for method in ("by_feature", "joint", "binarsity"):
        assert 0.6 < rows.loc[(3000, method), "accuracy"] <= best + 0.005
    assert rows.loc[(3000, "binarsity"), "correlation"] > 0.97
    points = recovery.points
    assert points["diarem"].max() == 10
    assert points.groupby("feature")["diarem"].nunique().to_dict() == {
        "age": 4, "hba1c": 4, "insulin": 2, "other_drugs": 2
    }  # fmt: skip
    np.testing.assert_allclose(
        points.groupby("feature")["joint"].max().sum(), 22, err_msg="scaled to the total"
    )
    table, card = recovery.totals["joint"], recovery.cards["joint"]
    X, y, _ = make_diabetes_cohort(20_000, random_state=np.random.default_rng([5, 0, 0]))
    assert table["positive"].sum() == y.sum()
    assert rows.loc[(3000, "joint"), "auc"] == pytest.approx(auc(y.to_numpy(), card.score(X)))


def test_graded_points_come_from_the_joint_program() -> None:
    card, claim = graded_points()
    assert claim == "optimal"
    points = {rows[0].feature: [(row.lower, row.points) for row in rows] for rows in card.rows}
    assert points["age"] == [(-np.inf, 0), (40, 1), (50, 2), (60, 3)]
    assert points["hba1c"] == [(-np.inf, 0), (6.5, 2), (7, 4), (9, 6)]
    assert points["other_drugs"] == [(-np.inf, 0), (1, 3)]
    assert [worth for _, worth in points["insulin"]] == [0, 7]


def test_recovery_resumes(kept: Path, recovery: Finding) -> None:
    found = DiaremRecovery(sizes=(150, 3000), random_state=5).run(1, out=kept)
    pd.testing.assert_frame_equal(found.runs, recovery.runs)
    pd.testing.assert_frame_equal(found.points, recovery.points)
    with pytest.raises(OptionError, match="random_state=5"):
        DiaremRecovery(sizes=(150, 3000), random_state=6).run(1, out=kept)
    with pytest.raises(OptionError, match="cohorts of 20"):
        DiaremRecovery(sizes=(5,)).run(1)


def test_figures_show_the_findings(learning: Finding, recovery: Finding) -> None:
    left, right = ScoreLearning().draw(learning).axes
    assert left.get_title(loc="left") == "tiny, by feature"
    drawn = sum(bar.get_height() for bar in right.patches)
    assert drawn == 150
    axes = DiaremRecovery().draw(recovery).axes
    assert [ax.get_title(loc="left") for ax in axes[:4]] == [
        "learnt: by feature", "learnt: joint", "learnt: binarsity", "DiaRem"
    ]  # fmt: skip
    (line,) = [each for each in axes[3].lines if each.get_label() == "separator"]
    assert line.get_xdata()[0] == 6.5
    plt.close("all")
