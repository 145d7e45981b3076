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
from msgspec.structs import replace
from scipy import stats

from experiments.eye.data import make_known_share_sweep, make_random_groups
from experiments.eye.descent import adadelta
from experiments.eye.figures import EyeFigure2, EyeFigure4a, EyeFigure4b
from experiments.eye.measures import gini
from experiments.eye.methods import (
    METHODS,
    Printed,
    Protocol,
    choose,
    of_naive,
    printed_penalties,
    split_rows,
)
from experiments.eye.shrinkage import EyeFigure3, implied, one_unknown
from experiments.eye.table2 import PAPER, EyeTable2, differences
from experiments.eye.table3 import EXPERT, EyeTable3, marks_of
from experiments.runner import Finding, RunStore
from milpscore.core.errors import DataError, OptionError
from milpscore.metrics import auc, credibility_by_group
from milpscore.penalties import EYE, NaiveCredibility
from milpscore_study import StudyError, read_study

TINY = Protocol(
    n_lams=3, unknown_weights=(1.0, 3.0), l1_ratios=(0.5,), n_bootstrap=30, tol=1e-3, ratio=0.05
)
SMALL = EyeTable2(n_samples=300, protocol=TINY, random_state=5)


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


def test_weights_of_unknown_features_are_multiples() -> None:
    """A weight of 1 makes the weighted lasso the lasso: it is among the candidates."""
    data = make_random_groups(400, mean_groups=2, mean_size=4, random_state=1)
    split = split_rows(data, TINY)
    only = replace(TINY, unknown_weights=(1.0,))
    same = choose("weighted_l1", data, split, only, 0)
    lasso = choose("l1", data, split, TINY, 0)
    np.testing.assert_allclose(same.coefficients, lasso.coefficients, atol=1e-10)


def test_a_split_without_a_class_is_refused() -> None:
    data = make_random_groups(8, mean_groups=1, mean_size=2, random_state=0)
    rare = type(data)(data.X, np.eye(8, dtype=int)[0], data.expert, data.groups, data.theta)
    with pytest.raises(DataError, match="validation rows hold one class"):
        split_rows(rare, TINY)


@pytest.fixture(scope="module")
def table() -> Finding:
    return SMALL.run(3)


def test_table2_measures_the_models_of_its_runs(tmp_path: Path, table: Finding) -> None:
    file = tmp_path / "table2.sqlite"
    found = SMALL.run(3, out=file)
    pd.testing.assert_frame_equal(found.runs, table.runs)
    result = RunStore(file, "eye-table2", SMALL.settings()).results[1]
    drawing, _ = np.random.SeedSequence([5, 1]).spawn(2)
    data = make_random_groups(300, correlation=0.95, random_state=drawing)
    assert result["expert"] == data.expert.tolist()
    rows = table.runs[table.runs["run"] == 1].set_index("method")
    for method in METHODS:
        chosen = result["methods"][method]
        w = np.array(chosen["coefficients"])
        each = credibility_by_group(w, data.expert, data.groups, eps=0.01)
        assert rows.loc[method, "sym_kl"] == pytest.approx(each.sum())
        assert rows.loc[method, "gini"] == pytest.approx(gini(w))
        scores = data.X[225:] @ w + chosen["intercept"]
        assert rows.loc[method, "auc"] == pytest.approx(auc(data.y[225:], scores), abs=1e-3)

    # another smoothing of the same file needs no run
    other = replace(SMALL, eps=0.1).run(3, out=file)
    assert (other.runs["sym_kl"] < found.runs["sym_kl"] + 1e-12).all()
    assert read_study(file).done == 3
    with pytest.raises(OptionError, match="n_samples=300"):
        replace(SMALL, n_samples=301).run(3, out=file)


def test_table2_summarises_its_runs(table: Finding) -> None:
    wide = table.runs.pivot(index="run", columns="method", values="sym_kl")
    row = table.summary.set_index("method").loc["owl"]
    assert row["sym_kl"] == pytest.approx(wide["owl"].mean())
    assert row["sym_kl_stdev"] == pytest.approx(wide["owl"].std())
    assert row["paper_sym_kl"] == PAPER["owl"][0] == 3.125
    assert row["runs"] == 3
    pairs = table.differences.set_index(["measure", "first", "second"])
    assert len(pairs) == 2 * 9
    gap = pairs.loc[("sym_kl", "weighted_l1", "weighted_l2")]
    test = stats.ttest_rel(wide["weighted_l2"], wide["weighted_l1"])
    interval = test.confidence_interval()
    assert gap["mean"] == pytest.approx((wide["weighted_l2"] - wide["weighted_l1"]).mean())
    assert gap["p"] == pytest.approx(test.pvalue)
    assert (gap["low"], gap["high"]) == pytest.approx((interval.low, interval.high))
    every = table.sensitivity.set_index(["eps", "groups"])
    assert every.loc[(0.01, "all"), "owl"] == pytest.approx(wide["owl"].mean())
    assert (every.xs("relevant", level=1) <= every.xs("all", level=1) + 1e-12).all(axis=None)


def test_differences_of_one_run_or_of_none() -> None:
    rows = [{"run": run, "method": m, "auc": 0.9} for run in range(2) for m in METHODS]
    equal = differences(pd.DataFrame(rows), ("auc",))
    assert (equal["p"] == 1).all()
    assert (equal["low"] == 0).all()
    one = differences(pd.DataFrame(rows[: len(METHODS)]), ("auc",))
    assert one["low"].isna().all()


def test_figure4_goes_group_by_group() -> None:
    found = EyeFigure4b(n_samples=300, protocol=TINY, random_state=2).run(2)
    assert found.label == "known features"
    assert found.summary["known features"].tolist() == list(range(11))
    assert len(found.runs) == 2 * 11 * len(METHODS)
    part = found.runs[(found.runs["method"] == "l1") & (found.runs["known features"] == 4)]
    assert found.summary.loc[4, "l1"] == pytest.approx(part["sym_kl"].mean())
    assert set(found.differences["measure"]) == {"auc"}
    # the weighted ridge is unique: known features get equal weights, unknown ones a ninth or all
    drawing, _ = np.random.SeedSequence([2, 0]).spawn(2)
    data = make_known_share_sweep(300, correlation=1.0, random_state=drawing)
    tight = replace(TINY, tol=1e-9)
    chosen = choose("weighted_l2", data, split_rows(data, tight), tight, 0)
    for group in data.groups[1:10]:
        w, known = chosen.coefficients[group], data.expert[group] == 1
        ratio = chosen.settings["unknown"] ** 2
        np.testing.assert_allclose(w[known], w[~known].mean() * ratio, rtol=0.01)


PRINTED = replace(SMALL, by="print", n_samples=150, printed=Printed(alpha=0.05, epochs=4, batch=40))


def test_the_print_is_a_softmax_of_two_outputs_trained_by_adadelta() -> None:
    """Zeiler's algorithm on both outputs, the penalty on their difference, batches in order."""
    rng = np.random.default_rng(0)
    X, r = rng.normal(size=(150, 4)), np.array([1.0, 0.0, 1.0, 0.0])
    y = (rng.random(150) < 0.5).astype(int)
    every = printed_penalties(0.05, r)
    W, b = adadelta(
        X, y, [of for _, of in every.values()], epochs=3, batch=40,
        random_state=np.random.default_rng(7),
    )  # fmt: skip
    starts = np.random.default_rng(7).uniform(-0.5, 0.5, (2, 5, len(every)))
    rows = np.column_stack([X, np.ones(150)])
    for at, (penalty, _) in enumerate(every.values()):
        theta = starts[:, :, at].copy()
        squares, moves = np.zeros_like(theta), np.zeros_like(theta)
        for start in [0, 40, 80, 120] * 3:
            part, truth = rows[start : start + 40], y[start : start + 40]
            w = theta[1] - theta[0]
            chance = 1 / (1 + np.exp(-part @ w))
            slope = part.T @ (chance - truth) / len(part)
            # a penalty's slope where it has one, by differences
            for j in range(4):
                h = 1e-6 * np.eye(4)[j]
                slope[j] += (penalty.value(w[:4] + h) - penalty.value(w[:4] - h)) / 2e-6
            gradient = np.stack([-slope, slope])
            squares = 0.9 * squares + 0.1 * gradient**2
            step = np.sqrt(moves + 1e-6) / np.sqrt(squares + 1e-6) * gradient
            moves = 0.9 * moves + 0.1 * step**2
            theta -= step
        np.testing.assert_allclose([*W[:, at], b[at]], theta[1] - theta[0], rtol=1e-6)


def test_the_print_is_one_weight_on_fresh_rows(tmp_path: Path) -> None:
    file = tmp_path / "print.sqlite"
    found = PRINTED.run(2, out=file)
    drawing, _ = np.random.SeedSequence([5, 1]).spawn(2)
    data = make_random_groups(300, random_state=drawing)
    train, test = data.X[:150], data.X[150:]
    rows = found.runs[found.runs["run"] == 1].set_index("method")
    result = RunStore(file, "eye-table2", PRINTED.settings()).results[1]
    for method in METHODS:
        kept = result["methods"][method]
        w = np.array(kept["coefficients"])
        assert w.all()  # descent by subgradients leaves no zero
        each = credibility_by_group(w, data.expert, data.groups, eps=1e-7)
        assert rows.loc[method, "sym_kl"] == pytest.approx(each.mean())
        scores = (test - train.mean(axis=0)) / train.std(axis=0) @ w
        assert kept["auc"] == pytest.approx(auc(data.y[150:], scores), abs=1e-3)
        assert rows.loc[method, "lam"] == 0.05

    best = replace(PRINTED, by="optimum").run(1)
    assert (best.runs["gap"] <= TINY.tol).all()
    assert best.runs.set_index("method").loc["l1", "nonzeros"] < data.X.shape[1]


def test_figure4a_has_a_group_for_each_correlation() -> None:
    tiny = replace(TINY, n_lams=2)
    found = EyeFigure4a(n_samples=200, protocol=tiny).run(1)
    assert found.label == "correlation"
    np.testing.assert_allclose(found.summary["correlation"], np.arange(10) / 10)


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


def test_figure2_is_trained_as_in_print_too() -> None:
    """Long enough, ADADELTA comes near the optimum, with an intercept or without."""
    r = np.array([1.0, 0.0, 1.0])
    penalty, slope = NaiveCredibility(1.0, expert=r, beta=0.3), of_naive(r, 0.3)
    w = np.array([0.4, -0.2, 1.5])
    by_differences = [
        (penalty.value(w + h) - penalty.value(w - h)) / 2e-6 for h in 1e-6 * np.eye(3)
    ]
    np.testing.assert_allclose(slope(w), by_differences, atol=1e-8)
    for intercept in (True, False):
        asked = EyeFigure2(betas=(0.3,), lams=(0.1, 0.03), n_samples=60, intercept=intercept)
        exact = asked.run(1).runs
        printed = replace(asked, by="print", printed=Printed(epochs=2000)).run(1).runs
        for column in ("known", "unknown"):
            np.testing.assert_allclose(printed[column], exact[column], atol=0.06)
        assert printed["gap"].isna().all()


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


def test_figures_show_the_findings(table: Finding) -> None:
    figure = EyeTable2().draw(table)
    left, right = figure.axes
    assert left.get_xscale() == "log"
    assert next(label.get_text() for label in left.get_yticklabels()) == "EYE"
    printed = next(line for line in left.lines if line.get_label() == "printed")
    assert printed.get_xdata()[0] == 0.442
    assert "3 runs" in right.get_title(loc="left")
    # the first method stands at the top in both
    assert left.get_ylim()[0] > left.get_ylim()[1]

    found = EyeFigure4b(n_samples=300, protocol=TINY).run(1)
    (ax,) = EyeFigure4b().draw(found).axes
    assert len(ax.containers) == len(METHODS)
    drawn = np.asarray(ax.containers[0].lines[0].get_ydata(), dtype=float)
    np.testing.assert_allclose(drawn, found.summary["eye"])

    twins = EyeFigure2(betas=(0.5,), lams=(1.0, 0.1, 0.01), n_samples=60).run(1)
    left, right = EyeFigure2().draw(twins).axes
    naive = twins.runs[twins.runs["penalty"] == "naive"].sort_values("lam")
    np.testing.assert_allclose(left.lines[0].get_ydata(), naive["log_ratio"].clip(-5, 5))
    assert left.xaxis_inverted()
    np.testing.assert_allclose(right.lines[0].get_ydata(), naive["accuracy"])
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
