"""Pairs of rows of opposite classes as the rows of a design: their errors are 1 - AUC, exactly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from milpscore.core.design import Column, Design
from milpscore.core.errors import DataError, SizeError
from milpscore.data.designs import make_design
from milpscore.data.policy import POLICY


def make_pair_design(
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
) -> Design:
    r"""Return the differences of all rows of opposite classes, both ways round.

    A positive row :math:`x_i` and a negative one :math:`x_k` give the positive row
    :math:`x_i - x_k` and the negative row :math:`x_k - x_i`, each of weight :math:`s_i s_k`. With
    the threshold held at 0, points w err on both where the negative row's total is the larger, on
    one where the totals are equal:

    .. math:: \frac{1}{2 S_+ S_-} \sum_{i, k} s_i s_k \bigl(
        [w \cdot x_i < w \cdot x_k] + [w \cdot x_i \le w \cdot x_k] \bigr) = 1 - \mathrm{AUC}(w)

    so that ``slim(make_pair_design(X, y), intercept_bounds=(0, 0))`` is the integer score of the
    largest AUC, and the relaxed ``hinge`` of these rows a linear program for its buffered version.

    Parameters
    ----------
    X : array, DataFrame of shape (n, p), or Design
        As in :func:`milpscore.data.make_design`; a Design holds labels and weights itself.
    y : array of shape (n,)
        Two labels; None with a Design.
    sample_weight, class_weight, positive
        As in :func:`milpscore.data.make_design`.

    Returns
    -------
    Design
        Of twice as many rows as there are pairs of distinct rows, and of the columns of X, which
        count by the unit. It has no intercept to find: points are what its cards say of X, and
        ``slim(X, y).statement.with_best_intercept(points)`` finds their threshold.

    Raises
    ------
    DataError
        If y is given beside a Design, or the table cannot be used.
    SizeError
        If the pairs would take more than ``DataPolicy.pair_cells`` numbers.

    Notes
    -----
    References: Mann & Whitney, "On a test of whether one of two random variables is stochastically
    larger than the other", Annals of Mathematical Statistics 18 (1947), for the sum over pairs;
    Norton & Uryasev, "Maximization of AUC and buffered AUC in binary classification", Mathematical
    Programming 174 (2019), for the linear program.
    """
    if not isinstance(X, Design):
        X = make_design(
            X, y, sample_weight=sample_weight, class_weight=class_weight, positive=positive
        )
    elif any(part is not None for part in (y, sample_weight, class_weight, positive)):
        raise DataError("a Design already holds labels and weights: pass it alone")
    rows = X.merged
    above, below = np.flatnonzero(rows.y > 0), np.flatnonzero(rows.y < 0)
    p, pairs = rows.X.shape[1], len(above) * len(below)
    if 2 * pairs * p > POLICY.pair_cells:
        raise SizeError(
            f"{len(above):,} positive and {len(below):,} negative distinct rows make {pairs:,} "
            f"pairs of {p} columns, above {POLICY.pair_cells:,} numbers: bin the columns so that "
            "more rows are equal, use fewer columns, or a sample of the rows"
        )
    apart = (rows.X[above][:, None, :] - rows.X[below]).reshape(-1, p)
    weight = np.outer(rows.weight[above], rows.weight[below]).ravel()
    return Design(
        # a difference of 0 has one sign only
        np.concatenate([apart, -apart]) + 0.0,
        np.repeat(np.array([1, -1]), pairs),
        np.tile(weight, 2),
        tuple(Column(name, name, "numeric", -math.inf, math.inf) for name in X.names),
        classes=X.classes,
    )
