"""The checker's enclosures of exponentials and logarithms, held against another library's.

mpmath's intervals at 80 digits are a million million times narrower than what the checker
believes of 34 decimal digits: its enclosures have to hold them whole, and not be wide.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st
from mpmath import iv
from mpmath.libmp import to_rational

from milpscore_check.cards import GRID
from milpscore_check.proof import ONE, height, loss_at, softplus

SCORES = st.one_of(
    st.fractions(min_value=-120, max_value=120, max_denominator=10**12),
    st.fractions(min_value=-(10**12), max_value=10**12, max_denominator=10**6),
    st.floats(min_value=-1e300, max_value=1e300).map(Fraction),
    st.floats(min_value=-1e-3, max_value=1e-3).map(Fraction),
)


@pytest.fixture(autouse=True)
def digits() -> Any:
    """80 digits, for these tests only."""
    before, iv.dps = iv.dps, 80
    yield
    iv.dps = before


def exact(q: Fraction) -> Any:
    """A rational number as an interval."""
    return iv.mpf(q.numerator) / q.denominator


def ends(x: Any) -> tuple[Fraction, Fraction]:
    """The ends of an interval as rational numbers."""
    low, high = (Fraction(*map(int, to_rational(end))) for end in x._mpi_)
    return low, high


def log_one_plus_exp(q: Fraction) -> tuple[Fraction, Fraction]:
    """log(1 + e^q), within a part in 1e70."""
    size = -abs(q)
    low, high = ends(iv.log(1 + iv.exp(exact(max(size, Fraction(-1000))))))
    # e^-1000 < 1e-400 is beyond all digits here
    return max(q, Fraction(0)) + (0 if size < -1000 else low), max(q, Fraction(0)) + high


@settings(deadline=None, max_examples=400)
@given(q=SCORES)
@example(q=Fraction(0))
@example(q=Fraction(-100))
@example(q=Fraction(100))
@example(q=Fraction(-100) - Fraction(1, 10**30))
@example(q=Fraction(1, 10**300))
@example(q=Fraction(-(10**300)))
@example(q=Fraction(10**300))
def test_a_logistic_loss_is_enclosed(q: Fraction) -> None:
    low, high = softplus(q)
    least, most = log_one_plus_exp(q)
    assert low <= least <= most <= high
    assert high - low <= Fraction(6, 10**28)
    assert loss_at("logistic", q, -1) == (low, high)
    assert loss_at("logistic", -q, 1) == (low, high)


@settings(deadline=None, max_examples=400)
@given(data=st.data(), one=st.sampled_from([ONE, 3 * ONE, 9973 * ONE, 10_000_000 * ONE]))
def test_an_entropy_lies_below_and_near(data: st.DataObject, one: int) -> None:
    """-a log a - (1 - a) log(1 - a) at a = k / one: never above it, and near."""
    near_an_end = st.integers(0, 10**6) | st.integers(one - 10**6, one)
    k = data.draw(near_an_end | st.integers(0, one))
    found = Fraction(height("logistic", k, one), 1 << GRID)
    parts = [Fraction(part, one) for part in (k, one - k) if part]
    least, _ = ends(-sum((exact(a) * iv.log(exact(a)) for a in parts), iv.mpf(0)))
    assert found <= max(least, 0)
    assert least - found <= min(parts) * Fraction(1, 1 << 26) + Fraction(1, ONE)


@pytest.mark.parametrize("k", [0, ONE])
def test_a_certain_row_has_no_entropy(k: int) -> None:
    assert height("logistic", k, ONE) in (-1, 0)  # 0, or the unit below
