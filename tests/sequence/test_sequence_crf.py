"""SparseCRF: fit, predict, weights by name, early stopping, penalties, files."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import zipfile
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from milpscore.core.errors import DataError, OptionError
from milpscore.metrics import integrity
from milpscore.penalties import EYE, L1, L2, AlphaFacets, ElasticNet, Facets
from milpscore_sequence import SparseCRF, negative_log_likelihood, token_accuracy

WORDS = ["the", "a", "cat", "dog", "runs", "sleeps", "fast"]
TAGS = {"the": "D", "a": "D", "cat": "N", "dog": "N", "runs": "V", "sleeps": "V", "fast": "A"}


def corpus(n: int, seed: int, noise: float = 0.1) -> tuple[list[Any], list[list[str]]]:
    """Words whose label is mostly their own, B-/I- marks where words of one kind touch."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for length in rng.integers(1, 9, n):
        words = rng.choice(WORDS, length).tolist()
        kinds = [TAGS[w] if rng.random() > noise else str(rng.choice(list("DNVA"))) for w in words]
        before = ["", *kinds]
        y.append([f"{'I' if k == b else 'B'}-{k}" for k, b in zip(kinds, before, strict=False)])
        X.append([(word, word[-1]) for word in words])
    return X, y


X, Y = corpus(60, 0)
X_NEW, Y_NEW = corpus(25, 1)


@pytest.fixture(scope="module")
def fitted() -> SparseCRF:
    return SparseCRF(rho1=0.5, tol=1e-6, max_iterations=300).fit(X, Y)


def test_objective_is_the_stated_sum(fitted: SparseCRF) -> None:
    theta = fitted.theta_
    loss = negative_log_likelihood(fitted.encode(X, Y), theta)
    wanted = loss + 0.5 * np.abs(theta).sum() + fitted.rho2 / 2 * (theta**2).sum()
    assert fitted.objective_ == pytest.approx(wanted, rel=1e-10)
    assert fitted.n_active_ == np.count_nonzero(theta)
    assert 0 < fitted.n_active_ < fitted.n_features_ == len(theta)


def test_predictions_have_the_shape_of_the_input(fitted: SparseCRF) -> None:
    predicted = fitted.predict([*X_NEW, []])
    assert [len(sequence) for sequence in predicted] == [*map(len, X_NEW), 0]
    assert set(chain.from_iterable(predicted)) <= set(fitted.classes_)
    assert fitted.score(X_NEW, Y_NEW) == token_accuracy(Y_NEW, predicted[:-1])
    assert fitted.score(X_NEW, Y_NEW) > 0.7
    assert fitted.predict([]) == []
    assert fitted.predict([[]]) == [[]]


def brute(model: SparseCRF, sequence: list[Any]) -> dict[tuple[str, ...], float]:
    """p(labels) of one sequence from the weights by name alone, by listing all labellings."""
    state, plain, bigram = (
        model.state_features_,
        model.transition_features_,
        model.bigram_features_,
    )
    scores = {}
    for labels in product(model.classes_, repeat=len(sequence)):
        total = 0.0
        for t, columns in enumerate(sequence):
            names = [f"[0,{c}]={token}" for c, token in enumerate(columns)]
            total += sum(state.get((f"u:%x{name}", labels[t]), 0.0) for name in names)
            if t:
                pair = labels[t - 1 : t + 1]
                total += plain.get(pair, 0.0)
                total += sum(bigram.get((f"b:%x{name}", *pair), 0.0) for name in names)
        scores[labels] = np.exp(total)
    z = sum(scores.values())
    return {labels: score / z for labels, score in scores.items()}


def test_against_all_labellings_from_the_named_weights(fitted: SparseCRF) -> None:
    sequence = [("cat", "t"), ("cat", "t"), ("unseen", "t")]
    every = brute(fitted, sequence)
    ranked = sorted(every.items(), key=lambda item: -item[1])
    assert tuple(fitted.predict([sequence])[0]) == ranked[0][0]
    (best,) = fitted.predict_n_best([sequence], 4)
    assert [tuple(labels) for labels, _ in best] == [labels for labels, _ in ranked[:4]]
    assert [p for _, p in best] == pytest.approx([p for _, p in ranked[:4]])
    (marginals,) = fitted.predict_marginals([sequence])
    for t in range(3):
        for label in fitted.classes_:
            wanted = sum(p for labels, p in every.items() if labels[t] == label)
            assert marginals[t][label] == pytest.approx(wanted, abs=1e-12)


def test_n_best_lists_no_more_than_there_are(fitted: SparseCRF) -> None:
    one, none = fitted.predict_n_best([[("cat", "t")], []], 100)
    assert len(one) == len(fitted.classes_)
    assert sum(p for _, p in one) == pytest.approx(1.0)
    assert none == [([], 1.0)]
    with pytest.raises(OptionError, match="k must be at least 1, got 0"):
        fitted.predict_n_best([], 0)


def test_trace_has_a_row_an_iteration(fitted: SparseCRF) -> None:
    trace = fitted.trace_
    assert list(trace.columns) == [
        "iteration",
        "seconds",
        "objective",
        "active",
        "distance",
        "token_error",
        "sequence_error",
        "dev_token_error",
        "dev_sequence_error",
    ]
    assert len(trace) > 1
    assert trace["iteration"].is_monotonic_increasing
    assert trace["seconds"].is_monotonic_increasing
    assert trace["objective"].iloc[-1] == pytest.approx(fitted.objective_)
    assert trace["active"].iloc[-1] == fitted.n_active_
    assert trace["token_error"].iloc[-1] == pytest.approx(1 - fitted.score(X, Y))
    assert trace["dev_token_error"].isna().all()


def test_solvers_agree_where_both_apply() -> None:
    one = SparseCRF("owlqn", rho1=0.0, rho2=1.0, tol=1e-7, max_iterations=500).fit(X, Y)
    two = SparseCRF("sbcd", rho1=0.0, rho2=1.0, tol=1e-7, max_iterations=500).fit(X, Y)
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-6)


def test_unknown_solver_lists_those_there_are() -> None:
    with pytest.raises(OptionError, match=r"no trainer 'newton'.*owlqn.*sbcd"):
        SparseCRF("newton").fit(X, Y)


def test_the_elastic_net_as_a_penalty_reaches_the_same_optimum(fitted: SparseCRF) -> None:
    same = SparseCRF(
        penalty=ElasticNet(0.5 + fitted.rho2, l1_ratio=0.5 / (0.5 + fitted.rho2)),
        tol=1e-6,
        max_iterations=2000,
    ).fit(X, Y)
    assert same.objective_ == pytest.approx(fitted.objective_, rel=1e-6)
    assert same.status_ == "converged"


def test_facets_makes_weights_whole() -> None:
    facets = Facets(2.0)
    model = SparseCRF(penalty=facets, patterns=["u:%x[0,0]", "b"], tol=1e-5).fit(X, Y)
    theta = model.theta_
    loss = negative_log_likelihood(model.encode(X, Y), theta)
    assert model.objective_ == pytest.approx(loss + facets.value(theta))
    assert model.integrity_ == integrity(theta)
    lasso = SparseCRF(rho1=2.0, rho2=0.0, patterns=["u:%x[0,0]", "b"]).fit(X, Y).theta_
    used = theta[theta != 0]
    assert integrity(used) > 0.3
    assert integrity(lasso[lasso != 0]) < 0.05
    assert np.abs(theta).max() >= 2
    assert model.score(X_NEW, Y_NEW) > 0.7
    # no small move along a coordinate does better: the problem is convex, and the test not the
    # algorithm's own
    data = model.encode(X, Y)
    rng = np.random.default_rng(0)
    for at in rng.choice(len(theta), 40):
        for move in (-1e-3, 1e-3):
            other = theta.copy()
            other[at] += move
            moved = negative_log_likelihood(data, other) + facets.value(other)
            assert moved >= model.objective_ - 1e-5


def test_penalties_that_are_no_sum_over_coefficients_are_refused() -> None:
    with pytest.raises(OptionError, match="eye is not a sum over the coefficients"):
        SparseCRF(penalty=EYE(1.0, expert=np.ones(3))).fit(X, Y)
    with pytest.raises(OptionError, match="penalty='l1'"):
        SparseCRF(penalty="l1").fit(X, Y)


def test_dev_set_is_traced_and_stops_early() -> None:
    X_dev, y_dev = corpus(20, 2, noise=0.3)
    y_dev[0][0] = "never seen"
    model = SparseCRF(rho1=0.01, tol=1e-9, max_iterations=200, patience=3)
    model.fit(X, Y, X_dev, y_dev)
    errors = model.trace_["dev_token_error"].to_numpy()
    assert model.status_ == "stopped"
    best = int(np.argmin(errors))
    assert best == len(errors) - 1 - 3
    assert (errors[best + 1 :] >= errors[best]).all()
    assert model.best_iteration_ == model.trace_["iteration"].iloc[best]
    assert errors[best] < errors[-1]
    assert 1 - model.score(X_dev, y_dev) == pytest.approx(errors[best])
    assert model.objective_ == model.trace_["objective"].iloc[best]
    data = model.encode(X, Y)
    loss = negative_log_likelihood(data, model.theta_)
    assert model.objective_ == pytest.approx(
        loss + 0.01 * np.abs(model.theta_).sum() + model.rho2 / 2 * (model.theta_**2).sum()
    )


def test_errors_are_measured_as_often_as_asked() -> None:
    model = SparseCRF(max_iterations=7, tol=0.0, errors_every=3).fit(X, Y)
    measured = model.trace_.loc[model.trace_["token_error"].notna(), "iteration"].tolist()
    # the last one, too: it is the answer
    assert measured == [0, 3, 6, 7]
    trace = SparseCRF(max_iterations=3, errors_every=0).fit(X, Y).trace_
    assert trace["token_error"].notna().tolist() == [False, False, False, True]


def test_warm_start_continues_and_carries_weights_by_name() -> None:
    cold = SparseCRF(rho1=0.5, tol=1e-5, max_iterations=300).fit(X, Y)
    warm = SparseCRF(rho1=0.5, tol=1e-5, max_iterations=300, warm_start=True).fit(X, Y)
    again = warm.set_params(max_iterations=0).fit(X[::-1], Y[::-1])
    assert again.objective_ == pytest.approx(cold.objective_, rel=1e-6)
    assert again.state_features_ == pytest.approx(cold.state_features_)
    assert again.n_iter_ == 0


def test_limits_and_statuses() -> None:
    short = SparseCRF(max_iterations=2, tol=0.0).fit(X, Y)
    assert short.status_ == "iteration_limit"
    assert short.n_iter_ == 2
    none = SparseCRF(time_limit=0.0).fit(X, Y)
    assert none.status_ == "time_limit"
    assert len(none.predict(X_NEW)) == len(X_NEW)


class InterruptedFacets(Facets):
    """Facets whose sixth value is cut short by Ctrl-C."""

    looks = 0

    def value(self, w: Any) -> float:
        InterruptedFacets.looks += 1
        if InterruptedFacets.looks == 6:
            os.kill(os.getpid(), signal.SIGINT)
        return super().value(w)


def test_ctrl_c_keeps_the_best_model(monkeypatch: pytest.MonkeyPatch) -> None:
    class Standard:
        """Standard error on which the fourth line is answered by Ctrl-C."""

        lines = 0

        def write(self, text: str) -> None:
            self.lines += 1
            if self.lines == 4:
                os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(sys, "stderr", Standard())
    for penalty in (None, InterruptedFacets(0.5)):
        with pytest.warns(RuntimeWarning, match="interrupted"):
            model = SparseCRF(
                tol=0.0, max_iterations=50, penalty=penalty, verbose=penalty is None
            ).fit(X, Y)
        assert model.status_ == "interrupted"
        assert model.n_active_ > 0
        assert model.objective_ <= model.trace_["objective"].iloc[0]
        assert model.score(X_NEW, Y_NEW) > 0.3


def test_is_a_scikit_learn_estimator() -> None:
    model = SparseCRF("sbcd", rho1=0.0, rho2=0.3, penalty=None, patterns=["u:%x[0,0]", "b"])
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "theta_")
    assert copy.set_params(rho2=0.1).rho2 == 0.1
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        copy.predict(X)


def test_cross_validation_of_scikit_learn_runs() -> None:
    from sklearn.model_selection import cross_val_score

    scores = cross_val_score(SparseCRF(max_iterations=15, errors_every=0), X, Y, cv=3)
    assert scores.shape == (3,)
    assert scores.min() > 0.5


def test_named_features_and_plain_words() -> None:
    named = [[{"word": word, "last": last, "long": len(word) > 3} for word, last in s] for s in X]
    model = SparseCRF(max_iterations=60).fit(named, Y)
    assert model.score(named, Y) > 0.8
    assert ("word:cat", "B-N") in model.state_features_
    assert all(len(key) == 2 for key in model.transition_features_)
    assert model.bigram_features_ == {}
    with pytest.raises(DataError, match=r"trained on named features, .* have 2 columns"):
        model.predict(X)
    with pytest.raises(OptionError, match="patterns look at columns"):
        SparseCRF(patterns="b").fit(named, Y)
    words = [[word for word, _ in sequence] for sequence in X]
    assert SparseCRF(max_iterations=60).fit(words, Y).score(words, Y) > 0.8


@pytest.mark.parametrize("patterns", ["u:%x[0,0]", "b:%x[0,0]", "b"])
def test_one_kind_of_pattern_alone(patterns: str) -> None:
    model = SparseCRF(patterns=patterns, max_iterations=100).fit(X, Y)
    assert model.status_ == "converged"
    assert [len(sequence) for sequence in model.predict(X_NEW)] == list(map(len, X_NEW))
    assert model.trace_["objective"].iloc[-1] < model.trace_["objective"].iloc[0]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rho1": -1.0}, "rho1"),
        ({"rho2": float("nan")}, "rho2"),
        ({"min_count": 0}, "min_count"),
        ({"max_iterations": -1}, "max_iterations"),
        ({"tol": -1.0}, "tol"),
        ({"time_limit": -1.0}, "time_limit"),
        ({"patience": 0}, "patience"),
        ({"errors_every": -1}, "errors_every"),
        ({"patience": 2}, "patience.*X_dev"),
        ({"min_count": 10**6}, "min_count"),
    ],
)
def test_refused_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises((OptionError, DataError), match=message):
        SparseCRF(**parameters).fit(X, Y)


def test_refused_data() -> None:
    with pytest.raises(DataError, match="no position to learn from"):
        SparseCRF().fit([[]], [[]])
    with pytest.raises(DataError, match="sequences of labels"):
        SparseCRF().fit(X, Y[:-1])
    with pytest.raises(DataError, match="y_dev"):
        SparseCRF().fit(X, Y, X_NEW)
    with pytest.raises(DataError, match="sequences of labels for 25"):
        SparseCRF().fit(X, Y, X_NEW, Y_NEW[:-1])


@pytest.mark.parametrize("name", ["m.npz", "m.json", "model"])
def test_save_and_load(name: str, fitted: SparseCRF, tmp_path: Path) -> None:
    path = tmp_path / name
    fitted.save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]
    loaded = SparseCRF.load(path)
    assert np.array_equal(loaded.theta_, fitted.theta_)
    assert loaded.predict(X_NEW) == fitted.predict(X_NEW)
    assert loaded.get_params() == fitted.get_params()
    for attribute in ("objective_", "status_", "n_iter_", "n_columns_", "best_iteration_"):
        assert getattr(loaded, attribute) == getattr(fitted, attribute)
    assert loaded.trace_.equals(fitted.trace_)
    assert loaded.transition_features_ == fitted.transition_features_
    assert loaded.set_params(warm_start=True, max_iterations=0).fit(X, Y).objective_ == (
        pytest.approx(fitted.objective_)
    )


def test_compact_files_predict_the_same(tmp_path: Path) -> None:
    fitted = SparseCRF(rho1=6.0, max_iterations=50).fit(X, Y)
    fitted.save(tmp_path / "small.npz", compact=True)
    small = SparseCRF.load(tmp_path / "small.npz")
    assert small.n_features_ < fitted.n_features_
    assert small.n_active_ == fitted.n_active_
    assert small.predict_marginals(X_NEW)[3] == [
        pytest.approx(entry) for entry in fitted.predict_marginals(X_NEW)[3]
    ]


def test_a_model_with_a_penalty_and_a_file_of_patterns(tmp_path: Path) -> None:
    patterns = tmp_path / "p.txt"
    patterns.write_text("*w:%x[0,0]\nu:bias\nb\n", encoding="utf-8")
    model = SparseCRF(penalty=Facets(1.0), patterns=patterns, max_iterations=30).fit(X, Y)
    model.save(tmp_path / "m.npz")
    loaded = SparseCRF.load(tmp_path / "m.npz")
    assert loaded.penalty == Facets(1.0)
    assert loaded.patterns == ["*w:%x[0,0]", "u:bias", "b"]
    assert loaded.predict(X_NEW) == model.predict(X_NEW)


@pytest.mark.parametrize("penalty", [L1(0.5), L2(1.0), AlphaFacets(0.3, alpha=(1.0, 2.0))])
def test_a_saved_penalty_is_the_same(penalty: Any, tmp_path: Path) -> None:
    model = SparseCRF(penalty=penalty, max_iterations=3).fit(X, Y)
    model.save(tmp_path / "m.npz")
    loaded = SparseCRF.load(tmp_path / "m.npz").penalty
    assert type(loaded) is type(penalty)
    assert loaded.value(model.theta_) == penalty.value(model.theta_) > 0


def test_a_penalty_of_ones_own_is_not_kept_and_said_so(tmp_path: Path) -> None:
    class Own(Facets):
        def __repr__(self) -> str:
            return "Own()"

    model = SparseCRF(penalty=Own(0.5), max_iterations=3).fit(X, Y)
    model.save(tmp_path / "m.json")
    with pytest.warns(RuntimeWarning, match=r"the penalty Own\(\), which a file cannot hold"):
        loaded = SparseCRF.load(tmp_path / "m.json")
    assert loaded.penalty is None
    assert loaded.predict(X_NEW) == model.predict(X_NEW)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a CRF model"),
        (b"PK\x03\x04rubbish", "is not a CRF model"),
        (b'{"a": 1}', "is not a CRF model"),
        (b"[1]", "is not a CRF model"),
        (b"\x80\x04K\x01.", "is not a CRF model"),
    ],
)
def test_foreign_files(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        SparseCRF.load(path)
    assert "m.npz" in str(caught.value)


def test_damaged_and_newer_files(fitted: SparseCRF, tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    fitted.save(path)
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 2])
    with pytest.raises(DataError, match="is not a CRF model, or is damaged"):
        SparseCRF.load(path)
    np.savez(path, other=np.zeros(3))
    with pytest.raises(DataError, match="is not a CRF model"):
        SparseCRF.load(path)
    path = tmp_path / "m.json"
    fitted.save(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    for change, message in (
        ({"format_version": 2}, "this milpscore reads 1: use the milpscore that"),
        ({"active": [10**9], "weights": [1.0]}, "is damaged"),
        ({"active": [10**300], "weights": [1.0]}, "is damaged"),
        ({"labels": [1, 2]}, "is damaged"),
        ({"about": {}}, "is damaged"),
    ):
        path.write_text(json.dumps({**content, **change}), encoding="utf-8")
        with pytest.raises(DataError, match=re.escape(message)):
            SparseCRF.load(path)
    with pytest.raises(DataError, match="cannot read"):
        SparseCRF.load(tmp_path / "none.npz")


def test_a_flipped_byte_of_an_archive_is_told(fitted: SparseCRF, tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    fitted.save(path)
    raw = path.read_bytes()
    directory = raw.index(b"PK\x01\x02")
    # version, flags and method of the first entry: zipfile answers with NotImplementedError
    for at, value in ((6, 99), (8, 0x40), (10, 77)):
        damaged = bytearray(raw)
        damaged[directory + at] = value
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="is not a CRF model, or is damaged"):
            SparseCRF.load(path)


def test_an_array_header_that_is_no_python_is_told(fitted: SparseCRF, tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    fitted.save(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["active.npy"] = parts["active.npy"].replace(b"}", b" ", 1)
    with zipfile.ZipFile(path, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    with pytest.raises(DataError, match="is not a CRF model, or is damaged"):
        SparseCRF.load(path)


def test_dump_is_sorted_by_weight(fitted: SparseCRF) -> None:
    lines = [line.split("\t") for line in fitted.dump()]
    assert len(lines) == fitted.n_active_
    sizes = [abs(float(line[3])) for line in lines]
    assert sizes == sorted(sizes, reverse=True)
    named = {
        **{(name, "#", label): w for (name, label), w in fitted.state_features_.items()},
        **{("b", *pair): w for pair, w in fitted.transition_features_.items()},
        **fitted.bigram_features_,
    }
    assert {tuple(line[:3]): float(line[3]) for line in lines} == named
    assert list(fitted.dump(2)) == ["\t".join(line) for line in lines[:2]]
    table = fitted.features(3)
    assert table["weight"].tolist() == [float(line[3]) for line in lines[:3]]


def test_verbose_prints_a_line_an_iteration(capsys: pytest.CaptureFixture[str]) -> None:
    model = SparseCRF(max_iterations=4, verbose=True, errors_every=1).fit(X, Y, X_NEW, Y_NEW)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(model.trace_)
    assert all("objective" in line and "active" in line and "dev" in line for line in lines)


def test_the_page_prints_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "sequence.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", page, flags=re.DOTALL)
    exec(compile(code, "docs/sequence.md", "exec"), {})
    assert capsys.readouterr().out == shown
