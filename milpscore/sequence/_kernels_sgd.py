"""Stochastic gradient steps compiled: one sequence at a time, the penalties paid when met.

Import it where it is used; without numba the same loops run as plain Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.jit import compiled

# |score| beyond which exp is cut: a sequence that far out is badly fitted, and its step still right
# in direction.
_STEEP = 300.0


@compiled
def pay(values: Any, paid: Any, faded: Any, owed: float, decay: float) -> None:
    """Bring parameters up to the present penalties.

    L2 as exp(-the decay since their last visit); then L1 by clipping at zero, up to what is owed in
    all and was not paid yet (Tsuruoka et al. 2009, fig. 2).
    """
    for j in range(len(values)):
        value = values[j]
        if faded[j] != decay:
            value *= np.exp(faded[j] - decay)
            faded[j] = decay
        if value > 0.0:
            lower = max(0.0, value - (owed + paid[j]))
        elif value < 0.0:
            lower = min(0.0, value + (owed - paid[j]))
        else:
            lower = 0.0
        paid[j] += lower - value
        values[j] = lower


@compiled
def fill_scores(t: int, length: int, data: Any, theta: Any, E: Any, W: Any) -> None:
    """exp of the scores of a sequence: ``W`` a line a position, ``E`` a matrix a position."""
    mu, lam = theta
    unigram_ptr, unigram_ids, bigram_ptr, bigram_ids = data
    L = W.shape[1]
    for r in range(length):
        line = W[r]
        line[:] = 0.0
        for k in range(unigram_ptr[t + r], unigram_ptr[t + r + 1]):
            row = mu[unigram_ids[k]]
            for y in range(L):
                line[y] += row[y]
        for y in range(L):
            line[y] = np.exp(min(max(line[y], -_STEEP), _STEEP))
        flat = E[r].reshape(L * L)
        flat[:] = 0.0
        for k in range(bigram_ptr[t + r], bigram_ptr[t + r + 1]):
            row = lam[bigram_ids[k]]
            for j in range(L * L):
                flat[j] += row[j]
        for j in range(L * L):
            # most of lambda is zero, and exp is what costs most
            flat[j] = np.exp(min(max(flat[j], -_STEEP), _STEEP)) if flat[j] != 0.0 else 1.0


@compiled
def sweep_sequence(length: int, E: Any, W: Any, ahead: Any, behind: Any, scale: Any) -> None:
    """Scaled forward vectors, and backward vectors times exp(mu)."""
    L = W.shape[1]
    for r in range(length):
        line = ahead[r]
        if r == 0:
            line[:] = 1.0
        else:
            line[:] = 0.0
            for y0 in range(L):
                factor = ahead[r - 1, y0]
                for y in range(L):
                    line[y] += factor * E[r, y0, y]
        total = 0.0
        for y in range(L):
            line[y] *= W[r, y]
            total += line[y]
        scale[r] = total
        line /= total
    for r in range(length - 1, -1, -1):
        line = behind[r]
        if r == length - 1:
            line[:] = 1.0
        else:
            for y0 in range(L):
                total = 0.0
                for y in range(L):
                    total += E[r + 1, y0, y] * behind[r + 1, y]
                line[y0] = total
        for y in range(L):
            line[y] *= W[r, y] / scale[r]


@compiled
def pay_all(t: int, end: int, data: Any, theta: Any, paid: Any, faded: Any, debts: Any) -> None:
    """:func:`pay` for the rows of all observations of a sequence."""
    unigram_ptr, unigram_ids, bigram_ptr, bigram_ids = data
    for k in range(unigram_ptr[t], unigram_ptr[end]):
        u = unigram_ids[k]
        pay(theta[0][u], paid[0][u], faded[0][u], debts[0], debts[1])
    for k in range(bigram_ptr[t], bigram_ptr[end]):
        b = bigram_ids[k]
        pay(theta[1][b], paid[1][b], faded[1][b], debts[0], debts[1])


@compiled
def take_step(
    t: int, length: int, rate: float, labels: Any, data: Any, theta: Any, rooms: Any, pairs: Any
) -> None:
    """One step against the gradient of a sequence, whose vectors are in ``rooms``."""
    mu, lam = theta
    unigram_ptr, unigram_ids, bigram_ptr, bigram_ids = data
    E, W, ahead, behind, scale = rooms
    L = W.shape[1]
    flat, singles = pairs.reshape(L * L), np.empty(L)
    for r in range(length):
        for y in range(L):
            singles[y] = rate * ahead[r, y] * behind[r, y] * scale[r] / W[r, y]
        singles[labels[t + r]] -= rate
        for k in range(unigram_ptr[t + r], unigram_ptr[t + r + 1]):
            row = mu[unigram_ids[k]]
            for y in range(L):
                row[y] -= singles[y]
        if bigram_ptr[t + r] == bigram_ptr[t + r + 1]:
            continue
        for y0 in range(L):
            for y in range(L):
                pairs[y0, y] = rate * ahead[r - 1, y0] * E[r, y0, y] * behind[r, y]
        pairs[labels[t + r - 1], labels[t + r]] -= rate
        for k in range(bigram_ptr[t + r], bigram_ptr[t + r + 1]):
            row = lam[bigram_ids[k]]
            for j in range(L * L):
                row[j] -= flat[j]


@compiled
def epoch(
    order: Any,
    rates: Any,
    rho1: float,
    rho2: float,
    offsets: Any,
    labels: Any,
    data: Any,
    theta: Any,
    paid: Any,
    faded: Any,
    debts: Any,
    rooms: Any,
) -> None:
    """A step for each sequence of ``order``, with its rate of ``rates``.

    ``theta``, ``paid`` and ``faded`` are pairs of arrays like (mu, lambda by rows); ``debts`` holds
    the L1 and the L2 penalty owed by now. A sequence bears rho / N of the penalties: both are given
    so.
    """
    E, W, ahead, behind, scale = rooms
    pairs = np.empty((W.shape[1], W.shape[1]))
    for n in range(len(order)):
        t, end = offsets[order[n]], offsets[order[n] + 1]
        pay_all(t, end, data, theta, paid, faded, debts)
        fill_scores(t, end - t, data, theta, E, W)
        sweep_sequence(end - t, E, W, ahead, behind, scale)
        take_step(t, end - t, rates[n], labels, data, theta, rooms, pairs)
        debts[0] += rates[n] * rho1
        debts[1] += rates[n] * rho2
        pay_all(t, end, data, theta, paid, faded, debts)
