"""Pair covers: a card errs on one of two rows of either class, unless its columns part them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.program import Parting
from milpscore.core.statement import Statement
from milpscore.formulations.building import Ranges
from milpscore.formulations.card_model import CardModel, signs_of
from milpscore.formulations.policy import POLICY


def add_pair_covers(
    model: CardModel, X: FloatArray, gap: float, boundary: IntArray | None = None
) -> None:
    r"""Add a row per pair of nearby merged rows, :math:`x_i` positive, :math:`x_k` negative.

    Where neither is an error, w.x_i > w.x_k, and some column of the difference pays for it:

    .. math:: z_i + z_k + \sum_{x_{ij} > x_{kj}} w^+_j + \sum_{x_{ij} < x_{kj}} w^-_j \ge 1

    with binaries :math:`w^\pm_j` for the signs of the points, whatever else the card must meet.
    Rows of several thresholds are paired within the ``boundary`` that each of them is about. A
    solver may add more of the kind: right rows of opposite classes lie ``gap`` apart.
    """
    import pyomo.environ as pyo

    above, below = model.add_signs()
    errors = list(model.m.z.values())
    merged = model.statement.design.merged
    boundary = np.zeros(len(X), np.int64) if boundary is None else boundary
    members = [np.flatnonzero(boundary == k) for k in np.unique(boundary)]
    model.parting = PartedRows(model.statement, X, boundary, gap)
    near = [rows[nearest_pairs(X[rows], merged.y[rows], merged.weight[rows])] for rows in members]
    pairs = np.concatenate(near)

    def cover(m: Any, q: int) -> Any:
        i, k = pairs[q].tolist()
        apart = X[i] - X[k]
        parting = [above[j] for j in np.flatnonzero(apart > 0).tolist()]
        parting += [below[j] for j in np.flatnonzero(apart < 0).tolist()]
        return errors[i] + errors[k] + sum(sign for sign in parting if sign is not None) >= 1

    model.m.pair_covers = pyo.Constraint(pyo.RangeSet(0, len(pairs) - 1), rule=cover)


@dataclass(frozen=True, eq=False)
class PartedRows:
    """What parts the merged rows of a statement, for a copy of its model."""

    statement: Statement
    X: FloatArray
    boundary: IntArray
    gap: float

    def __call__(self, m: Any) -> Parting:
        """Return it with the variables of a model."""
        p = self.X.shape[1]
        above, below = (signs[:p] for signs in signs_of(m, self.statement))
        reach = np.array(Ranges.of(self.statement).reach[:p], dtype=np.float64)
        y = self.statement.design.merged.y
        errors = list(m.z.values())
        return Parting(errors, above, below, self.X, y, self.boundary, reach, self.gap)


def nearest_pairs(X: FloatArray, y: IntArray, weight: FloatArray) -> IntArray:
    """Return pairs (positive, negative) of rows: the nearest ones of either row, but for equals.

    Nearest are rows that differ in the fewest columns, and by the least there.
    """
    sides = [np.flatnonzero(y > 0), np.flatnonzero(y < 0)]
    # the heaviest rows of a class that is too large: their errors cost most
    sides = [rows[np.argsort(-weight[rows], kind="stable")] for rows in sides]
    sides = [np.sort(rows[: POLICY.compared_rows]) for rows in sides]
    found = [np.empty((0, 2), np.int64)]
    apart_of = _differing(X)
    for turn in (1, -1):
        first, second = sides[::turn]
        for start in range(0, len(first), POLICY.compared_at_once):
            rows = first[start : start + POLICY.compared_at_once]
            apart = apart_of(rows, second)
            apart[apart == 0.0] = np.inf
            for _ in range(min(POLICY.near_rows, len(second))):
                nearest = apart.argmin(axis=1)[:, None]
                some = np.isfinite(np.take_along_axis(apart, nearest, 1)).ravel()
                pairs = np.stack([rows[some], second[nearest.ravel()[some]]], axis=1)
                found.append(pairs[:, ::turn])
                np.put_along_axis(apart, nearest, np.inf, 1)
    return np.unique(np.concatenate(found), axis=0)


def _differing(X: FloatArray) -> Callable[[IntArray, IntArray], FloatArray]:
    """Return what counts the columns in which rows differ, and below 1 how far they lie apart."""
    low, width = X.min(axis=0), np.ptp(X, axis=0)
    two_valued = ((low == X) | (low + width == X)).all(axis=0)
    bits = (low != X)[:, two_valued].astype(np.float64)
    ones = bits.sum(axis=1)
    rest = X[:, ~two_valued]
    scaled = rest / (width[~two_valued] * (X.shape[1] + 1.0))

    def apart(first: IntArray, second: IntArray) -> FloatArray:
        counted = ones[first][:, None] + ones[second] - 2.0 * bits[first] @ bits[second].T
        if rest.shape[1]:
            counted += rest.shape[1] * cdist(rest[first], rest[second], "hamming")
            counted += cdist(scaled[first], scaled[second], "cityblock")
        return np.asarray(counted)

    return apart
