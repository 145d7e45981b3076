"""Merged rows, against a dictionary from (row, class) to weight."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from milpscore.core.design import Column, Design, MergedRows, merge_rows

Key = tuple[tuple[float, ...], int]


def by_dictionary(X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> dict[Key, float]:
    sums: dict[Key, float] = defaultdict(float)
    for row, label, part in zip(X.tolist(), y.tolist(), weight.tolist(), strict=True):
        if part > 0:
            sums[tuple(value + 0.0 for value in row), label] += part
    return dict(sums)


def keys(merged: MergedRows) -> list[Key]:
    return [
        (tuple(row), label) for row, label in zip(merged.X.tolist(), merged.y.tolist(), strict=True)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_against_a_dictionary(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(1, 40)), int(rng.integers(1, 4))
    X = rng.choice([-1.0, -0.0, 0.0, 0.1, 0.3], size=(n, p))
    y = rng.choice([-1, 1], n)
    weight = rng.choice([0.0, 1.0, 0.5], n)
    expected = by_dictionary(X, y, weight)
    merged = merge_rows(X, y, weight)

    found = keys(merged)
    assert dict(zip(found, merged.weight.tolist(), strict=True)) == expected
    assert len(found) == len(expected)
    assert [row for row, _ in found] == sorted(row for row, _ in found)

    for i in range(n):
        if weight[i] == 0:
            assert merged.inverse[i] == -1
        else:
            assert found[merged.inverse[i]] == (tuple((X[i] + 0.0).tolist()), y[i])

    pairs = {(found[a], found[b]) for a, b in merged.conflicts}
    assert pairs == {((row, 1), (row, -1)) for row, label in expected if (row, -label) in expected}
    assert len(merged.conflicts) == len(pairs)


@pytest.mark.parametrize("seed", range(5))
def test_order_and_repeats_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (30, 3)).astype(float)
    y = rng.choice([-1, 1], 30)
    weight = rng.integers(0, 3, 30).astype(float)
    order = rng.permutation(np.repeat(np.arange(30), weight.astype(int)))
    one = merge_rows(X, y, weight)
    other = merge_rows(X[order], y[order], np.ones(len(order)))
    for name in ("X", "y", "weight", "conflicts"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_negative_zero_is_zero() -> None:
    merged = merge_rows(np.array([[0.0], [-0.0]]), [1, 1], np.ones(2))
    assert merged.X.tolist() == [[0.0]]
    assert not np.signbit(merged.X).any()
    assert merged.weight.tolist() == [2.0]


def test_no_columns_make_one_conflict() -> None:
    merged = merge_rows(np.empty((3, 0)), [1, -1, 1], np.array([1.0, 2.0, 4.0]))
    assert merged.X.shape == (2, 0)
    assert merged.y.tolist() == [-1, 1]
    assert merged.weight.tolist() == [2.0, 5.0]
    assert merged.conflicts.tolist() == [[1, 0]]
    assert merged.inverse.tolist() == [1, 0, 1]


@pytest.mark.parametrize("p", [0, 2])
def test_all_weights_zero_leaves_no_row(p: int) -> None:
    merged = merge_rows(np.ones((3, p)), [1, -1, 1], np.zeros(3))
    assert merged.X.shape == (0, p)
    assert merged.y.shape == merged.weight.shape == (0,)
    assert merged.conflicts.shape == (0, 2)
    assert merged.inverse.tolist() == [-1, -1, -1]


def test_conflicts_do_not_join_neighbouring_rows() -> None:
    # Row 0 occurs as positive only and row 1 as negative only: neighbours, yet no conflict.
    merged = merge_rows(np.array([[0.0], [1.0]]), [1, -1], np.ones(2))
    assert merged.conflicts.shape == (0, 2)


def test_design_names_its_data() -> None:
    columns = (Column("a", "a"), Column("b", "b"))
    X, y, weight = np.array([[0.1, 2.0], [0.3, 1.0]]), np.array([1, -1]), np.ones(2)
    design = Design(X, y, weight, columns)
    assert design.shape == (2, 2)
    assert design.names == ("a", "b")
    assert design.index("b") == design.index(1) == 1
    for wrong in ("c", 2, -1):
        with pytest.raises(KeyError):
            design.index(wrong)
    assert design.step is not None
    assert float(design.step) == 0.1
    assert design.fingerprint == Design(X.copy(), y, weight, columns).fingerprint
    others = [
        Design(X + 1, y, weight, columns),
        Design(X, -y, weight, columns),
        Design(X, y, 2 * weight, columns),
        Design(X, y, weight, (Column("a", "a"), Column("c", "b"))),
    ]
    assert len({design.fingerprint, *(other.fingerprint for other in others)}) == 5


@pytest.mark.parametrize(
    ("name", "raw", "merged"),
    [("mammo", 961, 146), ("bankruptcy", 250, 103), ("adult", 32561, 9787)],
)
@pytest.mark.data
def test_uci_sizes(uci, name: str, raw: int, merged: int) -> None:  # type: ignore[no-untyped-def]
    X, y = uci(name)
    values = X.to_numpy(np.float64)
    assert len(values) == raw
    found = merge_rows(values, np.where(y > 0, 1, -1), np.ones(raw))
    assert len(found.y) == merged
    assert found.weight.sum() == raw
