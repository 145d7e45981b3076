"""Pairs of rows of opposite classes as the rows of a design: their errors are 1 - AUC, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from milpscore.core.design import Design, on_grid
from milpscore.core.errors import DataError, SizeError
from milpscore.data.designs import make_design
from milpscore.data.policy import POLICY


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PairDesign(Design):
    """Differences of rows of opposite classes, in the columns of these rows.

    Attributes
    ----------
    base : Design
        The rows themselves, to which the points of a card are given.
    """

    base: Design

    @property
    def recipe(self) -> dict[str, Any]:
        """How it was made, for a certificate."""
        return {"pairs": True}

    @property
    def unpaired(self) -> Design:
        """The rows themselves."""
        return self.base


def make_pair_design(
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
) -> PairDesign:
    r"""Return the differences of all rows of opposite classes, both ways round.

    A positive row :math:`x_i` and a negative one :math:`x_k` give the positive row
    :math:`x_i - x_k` and the negative row :math:`x_k - x_i`, each of weight :math:`s_i s_k`. With
    the threshold held at 0, points w err on both where the negative row's total is the larger, on
    one where the totals are equal:

    .. math:: \frac{1}{2 S_+ S_-} \sum_{i, k} s_i s_k \bigl(
        [w \cdot x_i < w \cdot x_k] + [w \cdot x_i \le w \cdot x_k] \bigr) = 1 - \mathrm{AUC}(w)

    :func:`milpscore.formulations.auc` states the card of the largest AUC over these rows.

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
    PairDesign
        Of twice as many rows as there are pairs of distinct rows, and of the columns of X. It has
        no intercept to find; its ``base`` holds the rows of X.

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
    Programming 174 (2019), for the program over pairs.
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
    values, unit = rows.X, X.step
    if unit is not None:  # 0.3 - 0.1 is not 0.2: whole steps are subtracted, and read as decimals
        values = on_grid(rows.X, unit).astype(np.float64)
    apart = (values[above][:, None, :] - values[below]).reshape(-1, p)
    if unit is not None:
        apart = apart * unit.numerator / unit.denominator
    weight = np.outer(rows.weight[above], rows.weight[below]).ravel()
    return PairDesign(
        # a difference of 0 has one sign only
        np.concatenate([apart, -apart]) + 0.0,
        np.repeat(np.array([1, -1]), pairs),
        np.tile(weight, 2),
        X.columns,
        X.blocks,
        X.classes,
        X.warnings,
        base=X,
    )
