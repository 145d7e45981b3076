"""Proxes where floating point bites: numbers that are none, plateaus that meet, flat directions."""

from __future__ import annotations

import numpy as np
import pytest
from penalty_cases import FEATURES, every_form, make

from milpscore.core.errors import OptionError
from milpscore.formulations import risk_score
from milpscore.penalties import EYE, Binarsity, WeightedTV
from milpscore.proximal import fit_proximal
from milpscore.solvers import load
from milpscore.solvers.options import Options
from milpscore.solvers.tangents import Master


@pytest.mark.parametrize("form", every_form(), ids=lambda form: f"{form[0]}-{form[1]}")
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_prox_refuses_what_is_no_number(form: tuple[str, int], bad: float) -> None:
    y = np.ones(FEATURES)
    y[3] = bad
    with pytest.raises(OptionError, match="finite"):
        make(*form, np.random.default_rng(0)).prox(y, 0.5)


def test_fused_neighbours_of_weighted_tv_are_one_value() -> None:
    """On a grid many plateaus meet exactly: neighbours then are equal, not an ulp apart."""
    rng = np.random.default_rng(0)
    met = 0
    for _ in range(1500):
        n = int(rng.integers(2, 12))
        y, weights = rng.integers(-20, 21, n) / 10, rng.integers(0, 6, n - 1) / 10
        jumps = np.diff(WeightedTV(0.3, weights=weights).prox(y, 1.0))
        apart = np.abs(jumps[jumps != 0]).min(initial=np.inf)
        # levels are multiples of 1/100 over at most eleven entries: no two are nearer by nature
        assert apart > 1e-5
        met += int((jumps == 0).sum())
    assert met > 500


def test_an_ulp_between_two_plateaus() -> None:
    y = np.array([-0.5, 0.2, 0.4, -1.9, -2.0, 1.4, -1.4])
    x = WeightedTV(0.2).prox(y, 0.5)
    exact = [-0.4, 0.2, 0.2, -1.85, -1.85, 1.2, -1.3]
    np.testing.assert_allclose(x, exact, rtol=1e-14)
    assert x[1] == x[2]
    assert x[3] == x[4]
    centred = Binarsity(0.2, blocks=[range(7)]).prox(y, 0.5)
    assert centred[1] == centred[2]


def test_eye_on_nine_collinear_rows_takes_few_steps() -> None:
    """Flat losses and collinear columns: the search goes on along its way, models stay short."""
    rng = np.random.default_rng(13)
    rank = int(rng.integers(1, 3))
    base = rng.integers(-3, 4, size=(9, rank)).astype(float)
    X = base @ rng.integers(-3, 4, size=(rank, 4)).astype(float)
    y = np.array([0, 1, 0, 1, 1, 0, 1, 1, 1])
    calls = 0

    class Counted(EYE):
        def prox(self, w, step, out=None):  # type: ignore[no-untyped-def]
            nonlocal calls
            calls += 1
            return super().prox(w, step, out)

    for loss in ("squared_hinge", "logistic", "squared"):
        for lam in (1e-8, 1e-3):
            found = fit_proximal(X, y, loss=loss, penalty=Counted(lam, expert=[1, 1, 1, 0]))
            assert found.converged
    assert calls < 5000


def test_slopes_highs_would_drop_move_into_a_tangent_s_constant() -> None:
    """A light norm's row is scaled down: slopes beyond 1e-9 in it may be below 1e-9 to HiGHS."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (40, 4)), rng.integers(0, 2, 40)
    ends = {"coef_min": -10_000, "coef_max": 10_000}
    program = risk_score(X, y, scale=1, penalty="eye", lam=1e-8, expert=[1, 1, 1, 1], **ends)
    master = Master(load(program), Options(), 1.0)
    master.add(np.array([1.0, 9000.0, 0.0, -300.0, 0.0]), "point")
    cut = next(cut for cut in master.cuts if cut.curve == 1)
    known = cut.entries[cut.entries != 0] / master.unit[master.top[1]]
    assert np.abs(known).min() > 1e-9
    lost = cut.tangent.gradient - cut.entries
    assert lost.any()
    assert cut.constant <= cut.tangent.constant - np.abs(lost) @ np.array([10_000] * 4 + [0])
