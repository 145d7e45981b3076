"""Compiled evaluation of a card's single changes under the 0-1 loss.

Import it where it is used, see :mod:`milpscore.solvers.tree._zero_one_kernels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.jit import compiled
from milpscore.solvers.tree._zero_one_kernels import shift_curves, sweep, window


@compiled
def least_errors(
    totals: Any, codes: Any, values: Any, net: Any, choices: Any, low: int, high: int
) -> Any:
    """Least net errors over thresholds in [low, high] with a column's weight set to each choice.

    Parameters
    ----------
    totals : int array of shape (m,), m >= 1
        Of the card without the column.
    codes, values : arrays of shape (m,), (cards,)
        The column: values[codes].
    choices : int array of shape (C,)

    Returns
    -------
    (errors, work)
        Int array of shape (C,), and how many array entries were passed, about.
    """
    errors = np.zeros(len(choices), np.int64)
    negative = np.zeros(1, np.int64)
    negative[0] = (np.abs(net).sum() - net.sum()) // 2
    start, cards = totals.min(), len(values)
    length = totals.max() - start + 2
    reach = np.abs(choices).max() * (values.max() - values.min())
    none, ends = np.zeros(1, np.int64), np.zeros(1, np.int64)
    if (length + reach) * cards > 4 * len(totals) + 4096:
        whole = np.zeros(len(totals), np.int64)
        for at in range(len(choices)):
            moved = totals + choices[at] * values[codes]
            errors[at] = sweep(moved, whole, net, negative, low, high, ends)
        return errors, 20 * len(totals) * len(choices)
    curves = np.zeros((cards, length), np.int64)
    for i in range(len(totals)):
        curves[codes[i], totals[i] - start + 1] += net[i]
    for c in range(cards):
        for at in range(1, length):
            curves[c, at] += curves[c, at - 1]
    target = np.zeros((1, length + reach), np.int64)
    first = np.array([0, cards])
    for at in range(len(choices)):
        weight = choices[at]
        least = (weight * values).min()
        new = length + abs(weight) * (values.max() - values.min())
        a, b = window(low, high, start + least, new)
        errors[at] = shift_curves(
            curves,
            length,
            values,
            first,
            negative,
            none,
            weight,
            least,
            target,
            new,
            a,
            b,
            np.inf,
            ends,
        )
    return errors, len(totals) + len(choices) * target.shape[1] * (cards + 1) // 4
