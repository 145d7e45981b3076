"""Smooth losses: derivatives by finite differences, conjugates by their definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from milpscore.core.errors import OptionError
from milpscore.losses import (
    LOSSES,
    Logistic,
    Multinomial,
    Poisson,
    Probit,
    SmoothedHinge,
    Squared,
    SquaredHinge,
    smooth_loss,
)
from milpscore.losses.lines import LossRows, best_lines

SMOOTH: list[Any] = [
    Squared(),
    Logistic(),
    SquaredHinge(),
    SmoothedHinge(),
    SmoothedHinge(0.25),
    Poisson(),
    Probit(),
]
IDS = ["squared", "logistic", "squared_hinge", "smoothed_hinge", "narrow", "poisson", "probit"]
each = pytest.mark.parametrize("loss", SMOOTH, ids=IDS)


def cases(loss: Any, count: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    z = np.concatenate([3 * rng.normal(size=count), [-30.0, 30.0, 0.1, 5.0]])
    if loss.task == "classification":
        y = np.where(rng.random(len(z)) < 0.5, -1.0, 1.0)
    elif loss.task == "count":
        y = rng.poisson(2.0, len(z)).astype(float)
    else:
        y = rng.normal(size=len(z))
    return z, y


@each
def test_derivatives_are_those_of_finite_differences(loss: Any) -> None:
    z, y = cases(loss)
    e = 1e-5
    size = np.maximum(1.0, np.abs(loss.value(z, y)))
    slope = (loss.value(z + e, y) - loss.value(z - e, y)) / (2 * e)
    bend = (loss.gradient(z + e, y) - loss.gradient(z - e, y)) / (2 * e)
    np.testing.assert_array_less(np.abs(loss.gradient(z, y) - slope) / size, 1e-8)
    smooth = np.abs(loss.hessian(z + e, y) - loss.hessian(z - e, y)) < 1e-3 * size
    np.testing.assert_array_less(np.abs(loss.hessian(z, y) - bend)[smooth] / size[smooth], 1e-6)
    assert loss.hessian(z, y).max() <= loss.curvature + 1e-12
    assert loss.hessian(z, y).min() >= 0


@each
def test_gradient_writes_to_out(loss: Any) -> None:
    z, y = cases(loss)
    out = np.empty_like(z)
    expected = loss.gradient(z, y)
    assert loss.gradient(z, y, out=out) is out
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(loss.gradient(z, y, out=z), expected)


@each
def test_fenchel_young(loss: Any) -> None:
    z, y = cases(loss)
    u = loss.gradient(z, y)
    size = np.maximum(1.0, np.abs(loss.value(z, y)))
    equal = loss.value(z, y) + loss.conjugate(u, y) - u * z
    np.testing.assert_allclose(equal / size, 0.0, atol=1e-13)
    # with any other allowed u it is an inequality
    other = loss.gradient(np.random.default_rng(1).permutation(z), y)
    assert np.isfinite(loss.conjugate(other, y)).all()
    assert (loss.value(z, y) + loss.conjugate(other, y) - other * z >= -1e-12 * size).all()
    assert np.isfinite(loss.conjugate(0.3 * u, y)).all()  # the domain is convex and holds 0


@each
def test_conjugate_is_the_supremum(loss: Any) -> None:
    z, y = cases(loss, 10)
    u = loss.gradient(np.clip(z, -4, 4), y)
    for one_u, one_y in zip(u, y, strict=True):
        at = np.array([one_y])

        def negative(t: float, at: np.ndarray = at, one_u: float = one_u) -> float:
            return float(loss.value(np.array([t]), at)[0] - one_u * t)

        found = minimize_scalar(
            negative, bounds=(-40, 40), method="bounded", options={"xatol": 1e-9}
        )
        assert loss.conjugate(np.array([one_u]), at)[0] == pytest.approx(-found.fun, abs=1e-8)


@each
def test_conjugate_is_infinite_outside_its_domain(loss: Any) -> None:
    _, y = cases(loss)
    outside = {"classification": 1.5 * y, "count": -y - 0.5}.get(loss.task)
    if outside is None:
        assert np.isfinite(loss.conjugate(1e6 * y, y)).all()
        return
    assert np.isinf(loss.conjugate(outside, y)).all()


@each
def test_far_scores_neither_overflow_nor_turn_to_nan(loss: Any) -> None:
    z = np.array([-1e4, -700.0, 700.0, 1e4])
    for sign in (-1.0, 1.0):
        y = np.full(4, sign if loss.task == "classification" else 1.0)
        assert not np.isnan(loss.value(z, y)).any()
        assert not np.isnan(loss.gradient(z, y)).any()
        assert not np.isnan(loss.hessian(z, y)).any()
    if loss.task == "classification":
        assert loss.value(np.array([1e4]), np.ones(1))[0] == 0
        assert loss.gradient(np.array([1e4]), np.ones(1))[0] == 0


def test_small_losses_keep_their_digits() -> None:
    z, y = np.array([40.0]), np.ones(1)
    assert Logistic().value(z, y)[0] == pytest.approx(np.exp(-40.0), rel=1e-12)
    assert Logistic().hessian(z, y)[0] == pytest.approx(np.exp(-40.0), rel=1e-12)
    assert Probit().value(np.array([10.0]), y)[0] == pytest.approx(norm.sf(10.0), rel=1e-12)
    # -log Phi(-z) is about z^2/2 + log(z sqrt(2 pi))
    far = 1e5
    expected = far**2 / 2 + np.log(far * np.sqrt(2 * np.pi))
    assert Probit().value(np.array([-far]), y)[0] == pytest.approx(expected, rel=1e-12)


def test_values_are_those_of_scikit_learn() -> None:
    from sklearn.metrics import log_loss, mean_poisson_deviance

    rng = np.random.default_rng(3)
    z = rng.normal(size=50)
    y = np.where(rng.random(50) < 0.5, -1.0, 1.0)
    probability = 1 / (1 + np.exp(-z))
    assert Logistic().value(z, y).mean() == pytest.approx(log_loss(y, probability), rel=1e-12)
    probit = norm.cdf(z)
    assert Probit().value(z, y).mean() == pytest.approx(log_loss(y, probit), rel=1e-12)
    counts = 1.0 + rng.poisson(2, 50)
    # the deviance is twice the loss above that of the saturated model z = log y
    above = Poisson().value(z, counts) - Poisson().value(np.log(counts), counts)
    assert 2 * above.mean() == pytest.approx(mean_poisson_deviance(counts, np.exp(z)), rel=1e-12)


def test_smoothed_hinge_lies_under_the_hinge() -> None:
    z = np.linspace(-3, 3, 301)
    hinge = np.maximum(0, 1 - z)
    for s in (1.0, 0.1, 1e-6):
        below = hinge - SmoothedHinge(s).value(z, np.ones(301))
        assert below.min() >= -1e-15
        assert below.max() <= s / 2 + 1e-15


@pytest.mark.parametrize("smoothing", [0.0, -1.0, float("nan"), float("inf")])
def test_smoothing_must_be_positive(smoothing: float) -> None:
    with pytest.raises(OptionError, match="positive number"):
        SmoothedHinge(smoothing)


class TestMultinomial:
    rng = np.random.default_rng(5)
    z = 2 * rng.normal(size=(40, 4))
    y = rng.integers(0, 4, 40).astype(float)
    loss = Multinomial()

    def test_derivatives(self) -> None:
        e = 1e-6
        gradient, diagonal = self.loss.gradient(self.z, self.y), self.loss.hessian(self.z, self.y)
        for k in range(4):
            step = e * np.eye(4)[k]
            up, down = self.z + step, self.z - step
            slope = (self.loss.value(up, self.y) - self.loss.value(down, self.y)) / (2 * e)
            bend = (self.loss.gradient(up, self.y) - self.loss.gradient(down, self.y)) / (2 * e)
            np.testing.assert_allclose(gradient[:, k], slope, atol=1e-8)
            np.testing.assert_allclose(diagonal[:, k], bend[:, k], atol=1e-8)
        weight = np.full(40, 1 / 40)
        table = self.loss.mean_hessian(self.z, self.y, weight)
        np.testing.assert_allclose(np.diag(table), diagonal.mean(axis=0))
        np.testing.assert_allclose(table.sum(axis=0), 0, atol=1e-14)
        assert np.linalg.eigvalsh(table).max() <= self.loss.curvature

    def test_fenchel_young(self) -> None:
        u = self.loss.gradient(self.z, self.y)
        equal = self.loss.value(self.z, self.y) + self.loss.conjugate(u, self.y)
        np.testing.assert_allclose(equal, (u * self.z).sum(axis=1), atol=1e-12)
        assert np.isinf(self.loss.conjugate(u + 0.5, self.y)).all()

    def test_two_classes_are_the_logistic_loss(self) -> None:
        z, y = self.z[:, 0], np.where(self.y > 1, 1.0, -1.0)
        pair = np.stack([np.zeros_like(z), z], axis=1)
        np.testing.assert_allclose(
            self.loss.value(pair, (y + 1) / 2), Logistic().value(z, y), rtol=1e-12
        )

    def test_far_scores(self) -> None:
        z = np.array([[1e4, -1e4, 0.0]])
        assert self.loss.value(z, np.array([1.0]))[0] == 2e4
        assert np.isfinite(self.loss.gradient(z, np.array([1.0]))).all()


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_registry_names_agree(name: str) -> None:
    assert LOSSES[name]().name == name
    assert LOSSES[name.replace("_", "-")] is LOSSES[name]


def test_smooth_loss_reads_names_and_instances() -> None:
    assert smooth_loss("smoothed_hinge", smoothing=0.5) == SmoothedHinge(0.5)
    loss = Logistic()
    assert smooth_loss(loss) is loss
    with pytest.raises(OptionError, match="there are hinge, logistic"):
        smooth_loss("cauchy")
    with pytest.raises(OptionError, match="'zero_one' has no derivative; use one of logistic"):
        smooth_loss("zero_one")


@pytest.mark.parametrize("seed", range(6))
def test_the_cheapest_of_many_lines_is_found_early(seed: int) -> None:
    """With charges the cheapest column is what it is without; no other one looks cheaper."""
    rng = np.random.default_rng(seed)
    totals = rng.integers(-6, 7, size=(40, 50)).astype(float)
    y = np.where(totals[:, 7] + rng.logistic(size=40) * (seed % 3) > 0, 1.0, -1.0)
    rows = LossRows(Logistic(), np.full(40, 1 / 40), y)
    charges = rng.uniform(0.0, 0.05, size=50)
    ends = (0.01, 3.0), (-50.0, 50.0)
    every = best_lines(rows, totals, *ends).losses + charges
    early = best_lines(rows, totals, *ends, charges).losses + charges
    assert np.argmin(early) == np.argmin(every)
    assert early.min() == pytest.approx(every.min(), rel=1e-12)
    assert (early >= every - 1e-12).all()
