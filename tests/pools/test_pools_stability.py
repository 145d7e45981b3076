"""Which features are chosen on bootstrap samples: the index by its definition, and refits."""

import itertools
import math
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest

from milpscore.core.errors import DataError, NotApplicableError, OptionError
from milpscore.data import make_design
from milpscore.formulations import slim
from milpscore.metrics import selection_stability
from milpscore.penalties import L1
from milpscore.pools import pool, redraws, stability
from milpscore.proximal import path
from milpscore_sequence import SparseCRF


def pairwise_stability(Z):
    """For samples of one size Nogueira's index is Kuncheva's: overlaps corrected for chance."""
    k, d = int(Z[0].sum()), Z.shape[1]
    pairs = [float(a @ b) for a, b in itertools.combinations(Z.astype(int), 2)]
    return (np.mean(pairs) - k * k / d) / (k - k * k / d)


def test_the_index_is_kunchevas_where_sizes_agree():
    random = np.random.default_rng(0)
    for _ in range(20):
        d = int(random.integers(3, 9))
        k = int(random.integers(1, d))
        order = np.argsort(random.random((5, d)), axis=1)
        Z = order < k
        assert selection_stability(Z).value == pytest.approx(pairwise_stability(Z))


def test_the_index_is_its_definition_and_its_interval_covers():
    random = np.random.default_rng(1)
    shares = np.array([0.9, 0.8, 0.5, 0.2, 0.1, 0.1])
    mean = shares.mean()
    truth = 1 - (shares * (1 - shares)).mean() / (mean * (1 - mean))
    found = [selection_stability(random.random((60, 6)) < shares) for _ in range(400)]
    covered = np.mean([low <= truth <= high for _, low, high in found])
    assert 0.91 <= covered <= 0.98
    Z = random.random((7, 4)) < 0.5
    variances = Z.var(axis=0, ddof=1)
    k = Z.sum(axis=1).mean()
    given = 1 - variances.mean() / (k / 4 * (1 - k / 4))
    assert selection_stability(Z).value == pytest.approx(given)
    wide = np.hstack([Z, np.zeros((7, 3), dtype=bool)])
    assert selection_stability(Z, candidates=7) == pytest.approx(selection_stability(wide))


def test_the_index_of_equal_choices_is_one_and_of_all_or_none_undefined():
    Z = np.tile([True, False, True], (5, 1))
    assert selection_stability(Z) == (1.0, 1.0, 1.0)
    for same in (np.ones((5, 3)), np.zeros((5, 3)), Z[:1]):
        assert all(map(math.isnan, selection_stability(same)))
    with pytest.raises(DataError, match="not samples"):
        selection_stability(Z, candidates=2)


@pytest.fixture(scope="module")
def program() -> Any:
    random = np.random.default_rng(2)
    X = random.integers(0, 2, size=(60, 5)).astype(float)
    y = (X[:, 0] + X[:, 1] >= 1) ^ (random.random(60) < 0.15)
    return slim(make_design(X, y.astype(int)), coef_min=-2, coef_max=2, max_terms=2)


def test_cards_stand_beside_the_pool(program: Any):
    found = stability(program, pool=pool(program, epsilon=0.3), bootstraps=8, progress=False)
    table = found.frequency
    assert list(table.columns) == ["own", "bootstrap", "pool"]
    assert found.candidates == 5
    assert table["bootstrap"].sum() * 8 == sum(len(made[0]) for made in found.samples.made)
    assert set(table.index[table["own"]]) == found.own[0]
    assert (table["pool"] > 0).any()
    assert found.index.lower <= found.index.value <= found.index.upper


def test_workers_do_not_change_the_answer(program: Any):
    alone = stability(program, bootstraps=3, progress=False)
    with joblib.parallel_config("threading"):
        assert stability(program, bootstraps=3, n_jobs=2, progress=False) == alone


def test_ctrl_c_keeps_what_there_is(program: Any, monkeypatch: Any):
    drawn, counter = redraws.resampled, iter(range(9))

    def interrupted(design: Any, random: Any, patients: Any = None) -> Any:
        if next(counter) == 2:
            raise KeyboardInterrupt
        return drawn(design, random, patients)

    monkeypatch.setattr(redraws, "resampled", interrupted)
    found = stability(program, bootstraps=5, progress=False)
    assert found.samples.interrupted
    assert len(found.samples.made) == 2
    assert found.selected.shape[0] == 2


def test_a_path_has_a_share_and_an_index_for_each_lam():
    random = np.random.default_rng(3)
    X = pd.DataFrame(random.normal(size=(80, 4)), columns=list("abcd"))
    y = (X["a"] + 0.3 * random.normal(size=80) > 0).astype(int)
    found = stability(L1, X, y, n_lams=5, bootstraps=6, progress=False)
    assert found.frequency.shape == (len(found.features), 5)
    assert list(found.indices.columns) == ["value", "lower", "upper"]
    seed = np.random.SeedSequence(0).spawn(1)[0]
    counts = np.random.default_rng(seed).multinomial(80, np.full(80, 1 / 80))
    there = counts > 0
    again = path(X.to_numpy()[there], y.to_numpy()[there], penalty=L1, lams=list(found.lams),
                 sample_weight=counts[there])  # fmt: skip
    used = [frozenset(np.flatnonzero(w).tolist()) for w in again.coefficients]
    assert found.samples.made[0] == tuple(used)
    assert found.frequency.index[0] == "a"
    with pytest.raises(NotApplicableError, match="indices"):
        _ = found.index


def test_features_of_a_crf_are_counted_by_name():
    X = [["a", "b", "a"], ["b", "b"], ["a", "a", "b"], ["b", "a"]] * 3
    y = [["A", "B", "A"], ["B", "B"], ["A", "A", "B"], ["B", "A"]] * 3
    found = stability(SparseCRF(rho1=1.0, max_iterations=20), X, y, bootstraps=3, progress=False)
    assert found.candidates > len(found.features) > 0
    assert any(name[1] is None and name[2] == "A" for name in found.features)
    assert 0 <= found.index.value <= 1
    assert (found.frequency["bootstrap"] <= 1).all()


def test_what_cannot_be_made_again_is_refused(program: Any):
    with pytest.raises(OptionError, match="bootstraps"):
        stability(program, bootstraps=0)
    with pytest.raises(OptionError, match="only a path"):
        stability(program, n_lams=3)
    with pytest.raises(NotApplicableError, match="not a int"):
        stability(7, [[1.0]], [1])
