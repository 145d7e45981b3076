"""What every registered penalty must satisfy, whatever its formula."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from penalty_cases import FEATURES, FORMS, INDICATORS, awkward, every_form, make

from milpscore.core.errors import OptionError
from milpscore.penalties import PENALTIES

CASES = 60


@pytest.fixture(params=every_form(), ids=lambda form: f"{form[0]}-{form[1]}")
def form(request: pytest.FixtureRequest) -> tuple[str, int]:
    return request.param


@pytest.fixture
def rng(form: tuple[str, int]) -> np.random.Generator:
    return np.random.default_rng([form[1], *form[0].encode()])


def draws(form: tuple[str, int], rng: np.random.Generator) -> list[tuple[Any, np.ndarray, float]]:
    """(penalty, point, step), the points awkward ones."""
    points = awkward(rng, CASES, FEATURES)
    steps = rng.choice([1e-3, 0.3, 1.0, 4.0], size=CASES)
    return [(make(*form, rng), y, float(t)) for y, t in zip(points, steps, strict=True)]


def test_every_registered_penalty_is_tested() -> None:
    assert set(FORMS) == set(PENALTIES)


def test_registry_finds_the_class() -> None:
    assert PENALTIES["weighted-tv"].__name__ == "WeightedTV"
    with pytest.raises(OptionError, match="there are adaptive_l1"):
        PENALTIES["no_such"]


def test_zero_costs_nothing(form: tuple[str, int], rng: np.random.Generator) -> None:
    penalty = make(*form, rng)
    assert penalty.value(np.zeros(FEATURES)) == 0.0
    assert isinstance(penalty.name, str)


def test_prox_beats_its_neighbourhood(form: tuple[str, int], rng: np.random.Generator) -> None:
    for penalty, y, t in draws(form, rng):
        x = penalty.prox(y, t)
        least = ((x - y) @ (x - y)) / 2 + t * penalty.value(x)
        assert np.isfinite(least)
        for other in (y, np.zeros(FEATURES), *(x + d for d in rng.normal(size=(4, 8)) * 0.01)):
            cost = ((other - y) @ (other - y)) / 2 + t * penalty.value(other)
            assert cost >= least - 1e-12 * (1 + abs(least))


def test_prox_is_firmly_nonexpansive(form: tuple[str, int], rng: np.random.Generator) -> None:
    penalty = make(*form, rng)
    points = awkward(rng, CASES, FEATURES)
    images = np.array([penalty.prox(y, 0.8) for y in points])
    dy, dx = points[1:] - points[:-1], images[1:] - images[:-1]
    size = (dy * dy).sum(axis=1)
    assert np.all((dx * dy).sum(axis=1) >= (dx * dx).sum(axis=1) - 1e-13 * size - 1e-14)


def test_moreau_identity(form: tuple[str, int], rng: np.random.Generator) -> None:
    """(y - prox) / t is a subgradient: Fenchel and Young hold with equality."""
    for penalty, y, t in draws(form, rng):
        x = penalty.prox(y, t)
        z = (y - x) / t
        z[np.abs(y - x) <= 1e-14 * np.abs(y).max()] = 0.0
        # what is on the border of the domain is pulled inside by the rounding of z
        scale = penalty.dual_scale(z)
        assert scale >= 1 - 1e-9 * (1 + np.abs(y).sum() / t / penalty.lam)
        gap = penalty.value(x) + penalty.conjugate(scale * z) - scale * (x @ z)
        size = 1 + abs(x) @ abs(z)
        assert abs(gap) <= 1e-9 * size * (1 + np.abs(y).sum() / t)


def test_fenchel_young_inequality(form: tuple[str, int], rng: np.random.Generator) -> None:
    for penalty, y, _ in draws(form, rng):
        w = penalty.prox(y, 0.5)
        z = rng.normal(size=FEATURES)
        z *= penalty.dual_scale(z)
        assert penalty.value(w) + penalty.conjugate(z) >= w @ z - 1e-12 * (1 + abs(w) @ abs(z))


def test_dual_scale_is_the_largest(form: tuple[str, int], rng: np.random.Generator) -> None:
    for penalty, z, _ in draws(form, rng):
        t = penalty.dual_scale(z)
        assert 0 <= t <= 1
        assert np.isfinite(penalty.conjugate(t * z)) or t == 0 == (form[0] != "box")
        if 0 < t < 1:
            assert penalty.conjugate(1.001 * t * z) == np.inf


def test_subgradients_at_prox_points(form: tuple[str, int], rng: np.random.Generator) -> None:
    for penalty, y, t in draws(form, rng):
        x = penalty.prox(y, t)
        distance = np.linalg.norm(penalty.subdiff_distance(x, (x - y) / t))
        assert distance <= 1e-11 * (1 + np.abs(y).sum()) / t


def test_distance_is_that_of_an_infinitesimal_step(
    form: tuple[str, int], rng: np.random.Generator
) -> None:
    """(prox_t(w + t z) - w) / t tends to z less its projection on the subdifferential."""
    for penalty, y, _ in draws(form, rng)[:30]:
        w = penalty.prox(y, 1.0)
        z = rng.normal(size=FEATURES)
        near, far = (np.linalg.norm(penalty.prox(w + t * z, t) - w) / t for t in (1e-7, 2e-7))
        # a norm bends the more the nearer its argument is to zero: what is linear in t goes away
        limit = 2 * near - far
        distance = np.linalg.norm(penalty.subdiff_distance(w, -z))
        assert distance == pytest.approx(limit, abs=2e-6 * (1 + np.abs(w).max()))


def test_lambda_max_is_sharp(form: tuple[str, int], rng: np.random.Generator) -> None:
    for _ in range(20):
        penalty, g = make(*form, rng), rng.normal(size=FEATURES)
        if form[0] == "weighted_tv":
            g[0] = 0.0 if form[1] else g[0]  # an empty weight makes the first a chain of its own
            g[1:] -= g.sum() / 7
        limit = penalty.lambda_max(g)
        zero = np.zeros(FEATURES)
        if form[0] in INDICATORS:
            assert limit == (0.0 if np.allclose(penalty.subdiff_distance(zero, g), 0) else np.inf)
        elif np.isinf(limit):
            assert np.any(replace(penalty, lam=1e9).prox(-g, 1.0))
        else:
            above, below = (replace(penalty, lam=limit * f) for f in (1 + 1e-9, 0.99))
            assert np.linalg.norm(above.subdiff_distance(zero, g)) <= 1e-9
            assert np.linalg.norm(below.subdiff_distance(zero, g)) > 1e-6
            assert np.abs(above.prox(-g, 1.0)).max() <= 1e-9
            assert np.abs(below.prox(-g, 1.0)).max() > 1e-6


def test_norms_are_norms(form: tuple[str, int], rng: np.random.Generator) -> None:
    penalty = make(*form, rng)
    if not penalty.is_norm:
        return
    for _ in range(CASES):
        v, w = rng.normal(size=(2, FEATURES))
        assert penalty.value(-3 * v) == pytest.approx(3 * penalty.value(v))
        assert penalty.value(v + w) <= penalty.value(v) + penalty.value(w) + 1e-12
        assert penalty.value(v) > 0
        # the dual norm is the largest product over the unit ball, and some w reaches it
        z = rng.normal(size=FEATURES)
        size = penalty.dual_norm(z)
        assert abs(w @ z) <= size * penalty.value(w) / penalty.lam * (1 + 1e-12)
        reached = penalty.prox(z, 0.999 * size / penalty.lam)
        ratio = reached @ z / (penalty.value(reached) / penalty.lam)
        assert ratio == pytest.approx(size, rel=2e-3)


def test_a_long_step_minimises_the_penalty(form: tuple[str, int], rng: np.random.Generator) -> None:
    penalty = make(*form, rng)
    y = rng.normal(size=FEATURES)
    assert penalty.value(penalty.prox(y, 1e14)) <= 1e-10
    if form[0] not in INDICATORS and np.isfinite(penalty.value(y)):
        np.testing.assert_allclose(penalty.prox(y, 1e-14), y, atol=2e-13)
        np.testing.assert_allclose(penalty.prox(y, 0.0), y, rtol=4e-15)


def test_prox_writes_where_it_is_told(form: tuple[str, int], rng: np.random.Generator) -> None:
    penalty, y = make(*form, rng), rng.normal(size=FEATURES) * 3
    before = y.copy()
    wanted = penalty.prox(y, 0.4)
    np.testing.assert_array_equal(y, before)
    room, wide = np.empty(FEATURES), np.empty((FEATURES, 2))
    assert penalty.prox(y, 0.4, out=room) is room
    penalty.prox(y, 0.4, out=wide[:, 0])
    own = y.copy()
    penalty.prox(own, 0.4, out=own)
    for answer in (room, wide[:, 0], own):
        np.testing.assert_array_equal(answer, wanted)
    whole = np.array([1, 0, 2, -3, 0, 4, 5, -6])
    np.testing.assert_array_equal(penalty.prox(whole, 0.4), penalty.prox(whole * 1.0, 0.4))


def test_separable_distances_come_by_coefficient(
    form: tuple[str, int], rng: np.random.Generator
) -> None:
    penalty = make(*form, rng)
    w = penalty.prox(rng.normal(size=FEATURES), 0.1)
    distance = penalty.subdiff_distance(w, rng.normal(size=FEATURES))
    assert np.shape(distance) == ((FEATURES,) if penalty.separable else ())


def test_ramps_say_the_same_as_value(form: tuple[str, int], rng: np.random.Generator) -> None:
    penalty = make(*form, rng)
    if not hasattr(penalty, "ramps"):
        return
    ramps = penalty.ramps(FEATURES)
    w = rng.normal(size=FEATURES) * 2
    w[ramps.weight > 1e200] = 0.0  # an infinite weight
    size, total = np.abs(w), 0.5 * float(ramps.ridge @ (w * w))
    for k in range(200):
        m = len(ramps.slopes)
        slope = ramps.slopes[k] if k < m else ramps.slopes[-1] + (k - m + 1) * ramps.growth
        span = np.clip(size - k * ramps.gamma, 0, ramps.gamma if k < 199 else np.inf)
        if k == 199:
            break
        total += float((np.where(size > 0, ramps.weight, 0.0) * slope * span).sum())
        if not ramps.growth and k >= m - 1:
            rest = np.maximum(size - (k + 1) * ramps.gamma, 0)
            total += float((np.where(size > 0, ramps.weight, 0.0) * slope * rest).sum())
            break
    assert total == pytest.approx(penalty.value(w))


@pytest.mark.parametrize("lam", [-1.0, np.nan, np.inf, "1", True, None])
def test_wrong_weights_are_refused(form: tuple[str, int], lam: Any) -> None:
    if form[0] in INDICATORS:
        return
    arguments = FORMS[form[0]][form[1]](np.random.default_rng(0))
    with pytest.raises(OptionError, match="lam must be a finite number >= 0"):
        PENALTIES[form[0]](lam, **arguments)


def test_wrong_calls_are_refused(form: tuple[str, int], rng: np.random.Generator) -> None:
    penalty, y = make(*form, rng), np.ones(FEATURES)
    for step in (-0.1, np.nan):
        with pytest.raises(OptionError, match="step"):
            penalty.prox(y, step)
    for out in (np.empty(3), np.empty(FEATURES, dtype=np.float32), [0.0] * FEATURES):
        with pytest.raises(OptionError, match="out must be"):
            penalty.prox(y, 1.0, out=out)
    sized = {"weights", "expert", "initial", "blocks"} & {f.name for f in fields(penalty)}
    if any(isinstance(getattr(penalty, f), np.ndarray | tuple) for f in sized):
        for call in (penalty.value, lambda w: penalty.prox(w, 1.0), penalty.conjugate):
            with pytest.raises(OptionError, match="fixes them at"):
                call(np.ones(FEATURES + 1))


def test_wrong_shapes_of_vectors_are_refused(
    form: tuple[str, int], rng: np.random.Generator
) -> None:
    penalty = make(*form, rng)
    if not penalty.separable:
        with pytest.raises(OptionError, match="shape"):
            penalty.value(np.ones((FEATURES, 2)))


def test_separable_penalties_take_a_column_a_class(
    form: tuple[str, int], rng: np.random.Generator
) -> None:
    penalty = make(*form, rng)
    if not penalty.separable:
        return
    w = penalty.prox(rng.normal(size=(FEATURES, 3)), 0.1)
    columns = [np.ascontiguousarray(w[:, k]) for k in range(3)]
    assert penalty.value(w) == pytest.approx(sum(penalty.value(c) for c in columns))
    assert penalty.prox(w, 0.3) == pytest.approx(
        np.column_stack([penalty.prox(c, 0.3) for c in columns])
    )
    z = w * 0.01
    assert penalty.conjugate(z) == pytest.approx(sum(penalty.conjugate(c * 0.01) for c in columns))
    assert np.shape(penalty.subdiff_distance(w, z)) == (FEATURES, 3)
