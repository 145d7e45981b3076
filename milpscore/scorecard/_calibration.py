"""The calibration table: the risk a card states for each total, beside what was observed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError
from milpscore.data.checking import row_weights
from milpscore.scorecard._card import Scorecard

Z95 = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""

COLUMNS = ("total", "risk", "observed", "lower", "upper", "rows", "positives", "weight")


def calibration_table(
    card: Scorecard,
    totals: npt.ArrayLike,
    positive: npt.ArrayLike,
    sample_weight: Any = None,
    *,
    min_rows: int = 1,
) -> pd.DataFrame:
    """The stated risk and the observed share of each total.

    Parameters
    ----------
    card : Scorecard
    totals : array of shape (n,)
        Of :meth:`Scorecard.score`, of training rows or others.
    positive : array of bool, shape (n,)
        Whether each row is of the positive class.
    sample_weight : array of shape (n,), optional
        Rows of weight zero are left out.
    min_rows : int
        Neighbouring totals are put together until a line has so many rows; ``total`` and ``risk``
        then are weighted means.

    Returns
    -------
    DataFrame
        Sorted by ``total``. ``risk`` is NaN for a card without risks; ``observed`` is the weighted
        share of positive rows, ``lower`` and ``upper`` its 95 % interval (:func:`wilson`, with
        (sum s)^2 / sum s^2 rows where weights differ), ``rows`` and ``positives`` count rows.

    Raises
    ------
    DataError
        If the arrays differ in length, or the weights cannot be used.
    """
    values = np.asarray(totals, dtype=np.float64)
    hit = np.asarray(positive, dtype=bool)
    if values.ndim != 1 or values.shape != hit.shape:
        raise DataError(
            f"totals and positive are vectors of one length, not {values.shape} and {hit.shape}"
        )
    weight = row_weights(sample_weight, len(values))
    kept = weight > 0
    values, hit, weight = values[kept], hit[kept], weight[kept]
    risk = np.full(len(values), np.nan) if card.risk is None else card.risks(values)
    line = _lines(values, min_rows)

    def added(amount: FloatArray) -> FloatArray:
        return np.bincount(line, weights=amount).astype(np.float64)

    mass = added(weight)
    share = added(weight * hit) / mass
    lower, upper = wilson(share, mass**2 / added(weight**2))
    rows = np.bincount(line)
    return pd.DataFrame(
        {
            "total": np.where(rows == 1, added(values), added(weight * values) / mass),
            "risk": added(weight * risk) / mass,
            "observed": share,
            "lower": lower,
            "upper": upper,
            "rows": rows,
            "positives": np.bincount(line[hit], minlength=len(rows)),
            "weight": mass,
        },
        columns=list(COLUMNS),
    )


def wilson(share: FloatArray, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Wilson's 95 % interval of a proportion.

    Parameters
    ----------
    share, rows : ndarrays of one shape
        Observed proportions, and of how many rows (> 0).

    Returns
    -------
    (lower, upper) : ndarrays of that shape, in [0, 1]

    Notes
    -----
    Reference: Wilson, "Probable inference, the law of succession, and statistical inference",
    JASA 22 (1927). Unlike the normal approximation it does not shrink to a point at 0 and 1.
    """
    spread = Z95**2 / rows
    centre = (share + spread / 2) / (1 + spread)
    half = np.sqrt(np.maximum(share * (1 - share), 0.0) * spread + spread**2 / 4) / (1 + spread)
    return np.clip(centre - half, 0.0, share), np.clip(centre + half, share, 1.0)


def _lines(totals: FloatArray, min_rows: int) -> npt.NDArray[np.intp]:
    """The line of each row: equal totals together, sparse ones with their neighbours."""
    distinct, where, counts = np.unique(totals, return_inverse=True, return_counts=True)
    line = np.zeros(len(distinct), dtype=np.intp)
    current, held = 0, 0
    for k, count in enumerate(counts.tolist()):
        line[k], held = current, held + count
        if held >= min_rows:
            current, held = current + 1, 0
    if held and current:  # too few rows are left over at the end: they join the line before
        line[line == current] = current - 1
    return np.asarray(line[where], dtype=np.intp)
