"""Score learning and the DiaRem card."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")


from experiments.runner import Finding
from experiments.scores.data import make_diabetes_cohort
from experiments.scores.diarem import diarem
from experiments.scores.recovery import DiaremRecovery, graded_points
from milpscore.core.errors import OptionError
from milpscore.metrics import auc


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
