"""The experiments of the EYE paper on small draws: findings follow from the runs."""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt

from experiments.eye.data import make_random_groups
from experiments.eye.figures import EyeFigure2
from experiments.eye.methods import (
    METHODS,
    Protocol,
    choose,
    split_rows,
)
from experiments.eye.shrinkage import EyeFigure3, implied, one_unknown
from experiments.eye.table3 import EXPERT, EyeTable3, marks_of
from milpscore.penalties import EYE
from milpscore_study import StudyError

TINY = Protocol(
    n_lams=3, unknown_weights=(1.0, 3.0), l1_ratios=(0.5,), n_bootstrap=30, tol=1e-3, ratio=0.05
)


@pytest.mark.parametrize("method", METHODS)
def test_the_chosen_model_is_one_of_the_method(method: str) -> None:
    data = make_random_groups(400, mean_groups=2, mean_size=4, random_state=1)
    split = split_rows(data, TINY)
    assert [len(part) for part in (split.train, split.validation, split.test)] == [200, 100, 100]
    found = choose(method, data, split, TINY, 0)
    sweeps = {"weighted_l1": 2, "weighted_l2": 2, "owl": 2}
    assert found.n_candidates == 3 * sweeps.get(method, 1)
    assert 1 <= found.n_kept <= found.n_candidates
    assert found.worst_gap <= TINY.tol
    assert found.coefficients.shape == data.expert.shape
    again = choose(method, data, split, TINY, 0)
    np.testing.assert_array_equal(found.coefficients, again.coefficients)


def test_figure2_finds_where_the_naive_penalty_turns() -> None:
    """With both weights nonzero 2 (1 - beta) known = 2 beta, whatever lam."""
    lams = (1.0, 0.1, 0.01, 0.001)
    found = EyeFigure2(betas=(0.3, 0.6), lams=lams, n_samples=60, random_state=1).run(2)
    assert len(found.runs) == 2 * 3 * 4
    naive = found.runs[(found.runs["penalty"] == "naive") & (found.runs["unknown"] > 1e-3)]
    assert len(naive) >= 8
    np.testing.assert_allclose(naive["known"], naive["beta"] / (1 - naive["beta"]), rtol=1e-3)
    np.testing.assert_allclose(naive["log_ratio"], np.log(naive["known"] / naive["unknown"]))
    rows = found.summary.set_index("penalty")
    assert rows.loc["eye", "credible"] == 1
    assert np.isnan(rows.loc["eye", "fails_at_lam"])
    assert (rows.loc["naive", "credible"] < 1).all()
    assert rows.loc["naive", "fails_at_lam"].is_monotonic_decreasing
    assert ((found.runs["accuracy"] > 0.5) & (found.runs["accuracy"] <= 1)).all()


def test_figure3_follows_from_the_prox() -> None:
    """Eq. 10 at every optimum; one unknown feature is the lasso's prox, then the norm's."""
    rng = np.random.default_rng(4)
    for trial in range(40):
        ols, r = 2.0 * rng.normal(size=6), rng.choice([0.0, 0.3, 1.0], 6)
        w = EYE(0.7, expert=r).prox(ols, 1.0)
        np.testing.assert_allclose(implied("eye", ols, r, 0.7, w), w, atol=1e-9)
        first = np.r_[0.0, np.ones(3)]
        unknown, known = one_unknown(ols[0], np.linalg.norm(ols[1:4]), 0.7 + 0.1 * trial)
        w = EYE(0.7 + 0.1 * trial, expert=first).prox(ols[:4], 1.0)
        assert w[0] == pytest.approx(unknown, abs=1e-12)
        assert np.linalg.norm(w[1:]) == pytest.approx(known, abs=1e-12)
    found = EyeFigure3(n_samples=20, n_features=6).run(3)
    rows = found.summary.set_index(["penalty", "features"])
    assert (rows["largest_error"] < 1e-9).all()
    assert rows.loc[("l1", "all"), "largest_zero"] <= 1 <= rows.loc[("l1", "all"), "least_kept"]
    assert rows.loc[("eye", "unknown"), "zero"] > rows.loc[("l1", "all"), "zero"]
    assert rows.loc[("eye", "known"), "zero"] == rows.loc[("l2", "all"), "zero"] == 0
    left, right = EyeFigure3().draw(found).axes
    assert [line.get_label() for line in left.lines[:3]] == ["L1", "elastic net", "L2"]
    lasso = right.lines[0]  # nothing known: the lasso with twice the weight
    np.testing.assert_allclose(lasso.get_ydata(), np.maximum(lasso.get_xdata() - 2, 0), atol=1e-12)
    plt.close("all")


def test_table3_ranks_known_features(tmp_path: Path) -> None:
    """A file of the print's shape in the second of two folders, with values missing."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(240, 6))
    died = (X[:, 0] + X[:, 1] + rng.normal(size=240) > 0.8).astype(int)
    names = [*EXPERT, "pH_min", "Urine_max", "MechVent_max", "Height"]
    frame = pd.DataFrame(rng.normal(size=(240, len(names))), columns=names)
    frame["Age"], frame["worst_HR"] = X[:, 0], X[:, 1]
    frame["pH_min"] = X[:, 1] + 0.05 * rng.normal(size=240)
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    # as in the file: nothing but 1 is recorded
    for name in ("MechVent_max", "worst_MechVent"):
        frame[name] = frame[name].where(frame[name] > 0).clip(1, 1)
    frame.insert(0, "died", died)
    (tmp_path / "more").mkdir()
    file = tmp_path / "more" / "physionet2012a.csv"
    frame.to_csv(file, index=False)
    folders = f"{tmp_path}{os.pathsep}{tmp_path / 'more'}"
    asked = ("expert_only", "eye", "permuted", "l1", "expert_coded")
    found = EyeTable3(data=folders, protocol=TINY, methods=asked).run(2)
    rows = found.summary.set_index("method")
    assert tuple(rows.index) == asked
    assert rows.loc["expert_only", "average_precision"] == 1
    assert rows.loc["eye", "average_precision"] > 0.5
    assert rows.loc["eye", "runs"] == 2
    assert rows.loc["eye", "paper_average_precision"] == 0.671
    assert np.isnan(rows.loc["expert_coded", "average_precision"])
    assert (rows[["auc"]] > 0.5).all(axis=None)
    assert len(found.curve) == TINY.n_lams
    assert (found.curve["average_precision"] <= 1).all()

    # ventilation is one of the known features that count, unless its missing values are its mean
    flat = EyeTable3(data=folders, protocol=TINY, methods=("expert_only",), ventilation="mean")
    assert flat.run(2).summary.loc[0, "average_precision"] < 1

    frame.rename(columns={"Age": "age"}).to_csv(file, index=False)
    with pytest.raises(StudyError, match="no feature 'Age': did you mean 'age'"):
        EyeTable3(data=folders, protocol=TINY).run(1)
    with pytest.raises(StudyError, match=r"no physionet2012a\.csv"):
        EyeTable3(data=str(tmp_path), protocol=TINY).run(1)


def test_table3_marks_the_features_of_the_file() -> None:
    default = Path(__file__).parents[3] / "shared" / "data-more"
    file = Path(os.environ.get("MILPSCORE_DATA_MORE", default)) / "physionet2012a.csv"
    if not file.is_file():
        pytest.skip(f"the table of the challenge is not there: {file}")
    names = pd.read_csv(file, nrows=0).columns[1:]
    marks = marks_of(names)
    assert marks.sum() == len(EXPERT) == 16
    assert set(names[marks == 0].str.startswith("worst_")) == {False}
