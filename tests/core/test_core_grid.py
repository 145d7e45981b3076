"""The common step of data, against greatest common divisors of exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from milpscore.core.design import MAX_GRID_POINTS, common_step, on_grid


def step_by_definition(values: list[float]) -> Fraction | None:
    exact = [abs(Fraction(repr(value))) for value in values]
    common = math.lcm(*(value.denominator for value in exact))
    divisor = math.gcd(*(int(value * common) for value in exact))
    step = Fraction(divisor, common) or Fraction(1)
    return step if max(exact) / step <= MAX_GRID_POINTS else None


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([0.1, 0.3], Fraction(1, 10)),
        ([0.2, 0.6, -1.0], Fraction(1, 5)),
        ([2, 4, -6], Fraction(2)),
        ([1.5, 2.5], Fraction(1, 2)),
        ([0.0, -0.0], Fraction(1)),
        ([7.0], Fraction(7)),
        ([-0.25], Fraction(1, 4)),
        ([0.0, 2e9, 4e9], Fraction(2 * 10**9)),
        ([1e22, 3e22], Fraction(10**22)),
        ([1e-20, 3e-20], Fraction(1, 10**20)),
        ([1.0, 1e9], Fraction(1)),
        ([1.0, 1e9 + 1], None),
        ([0.1, 1 / 3], None),
        ([math.pi, math.e], None),
        ([0.5, 1e300], None),
    ],
)
def test_known_steps(values: list[float], step: Fraction | None) -> None:
    assert common_step(values) == step


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3)])
def test_no_values_have_step_one(shape: tuple[int, ...]) -> None:
    assert common_step(np.empty(shape)) == 1


@given(
    st.integers(0, 9),
    st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=12),
    st.integers(1, 50),
)
def test_decimals_match_the_definition(decimals: int, numbers: list[int], factor: int) -> None:
    values = [float(Fraction(number * factor, 10**decimals)) for number in numbers]
    assert common_step(values) == step_by_definition(values)


@given(st.lists(st.floats(-1e12, 1e12, allow_subnormal=False), min_size=1, max_size=6))
def test_any_floats_match_the_definition(values: list[float]) -> None:
    assert common_step(values) == step_by_definition(values)


@pytest.mark.parametrize("seed", range(3))
def test_random_reals_have_no_grid(seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert common_step(rng.normal(size=(50, 4))) is None
    # The odd value stands behind the sample that is looked at first.
    mostly = np.append(np.full(500, 0.5), rng.random())
    assert common_step(mostly) is None


def test_a_late_value_refines_the_step() -> None:
    values = np.append(np.full(500, 0.5), [0.25, 0.125])
    assert common_step(values) == Fraction(1, 8)
    assert common_step(np.append(np.zeros(500), 0.3)) == Fraction(3, 10)


@given(st.integers(0, 6), st.lists(st.integers(-(10**8), 10**8), min_size=1, max_size=10))
def test_on_grid_is_exact(decimals: int, numbers: list[int]) -> None:
    values = [float(Fraction(number, 10**decimals)) for number in numbers]
    step = common_step(values)
    assert step is not None
    found = on_grid(values, step)
    assert found.dtype == np.int64
    assert [int(k) * step for k in found] == [Fraction(n, 10**decimals) for n in numbers]
