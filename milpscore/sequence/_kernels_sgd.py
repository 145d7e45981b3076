"""Stochastic gradient steps compiled: one sequence at a time, penalties paid when met.

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
def settle(theta: Any, duals: Any, squares: Any, rate: float, owed: float, decay: float) -> None:
    """Bring parameters up to the gradients met and the penalties owed by now.

    The minimiser of dual w + owed |w| + (sqrt(squares) / rate + decay) w^2 / 2 (McMahan 2011,
    theorem 6): all steps of L1 and L2 since the last visit in one, without a loop over them.
    """
    for j in range(len(theta)):
        beyond = abs(duals[j]) - owed
        if beyond <= 0.0:
            theta[j] = 0.0
        else:
            value = beyond / (np.sqrt(squares[j]) / rate + decay)
            theta[j] = -value if duals[j] > 0.0 else value


@compiled
def descend(theta: Any, duals: Any, squares: Any, slopes: Any, rate: float) -> None:
    """Note the gradient at one occurrence: what is owed to it, and rates that fall with it."""
    for j in range(len(theta)):
        slope = slopes[j]
        old = squares[j]
        new = old + slope * slope
        squares[j] = new
        duals[j] += slope
        if theta[j] != 0.0:
            duals[j] -= (np.sqrt(new) - np.sqrt(old)) / rate * theta[j]


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
def settle_all(t: int, end: int, data: Any, state: Any, rate: float, debts: Any) -> None:
    """:func:`settle` for the rows of all observations of a sequence."""
    theta, duals, squares = state
    unigram_ptr, unigram_ids, bigram_ptr, bigram_ids = data
    for k in range(unigram_ptr[t], unigram_ptr[end]):
        u = unigram_ids[k]
        settle(theta[0][u], duals[0][u], squares[0][u], rate, debts[0], debts[1])
    for k in range(bigram_ptr[t], bigram_ptr[end]):
        b = bigram_ids[k]
        settle(theta[1][b], duals[1][b], squares[1][b], rate, debts[0], debts[1])


@compiled
def take_step(
    t: int, length: int, rate: float, labels: Any, data: Any, state: Any, rooms: Any, pairs: Any
) -> None:
    """Note the gradient of a sequence, whose vectors are in ``rooms``."""
    theta, duals, squares = state
    unigram_ptr, unigram_ids, bigram_ptr, bigram_ids = data
    E, W, ahead, behind, scale = rooms
    L = W.shape[1]
    flat, singles = pairs.reshape(L * L), np.empty(L)
    for r in range(length):
        for y in range(L):
            singles[y] = ahead[r, y] * behind[r, y] * scale[r] / W[r, y]
        singles[labels[t + r]] -= 1.0
        for k in range(unigram_ptr[t + r], unigram_ptr[t + r + 1]):
            u = unigram_ids[k]
            descend(theta[0][u], duals[0][u], squares[0][u], singles, rate)
        if bigram_ptr[t + r] == bigram_ptr[t + r + 1]:
            continue
        for y0 in range(L):
            for y in range(L):
                pairs[y0, y] = ahead[r - 1, y0] * E[r, y0, y] * behind[r, y]
        pairs[labels[t + r - 1], labels[t + r]] -= 1.0
        for k in range(bigram_ptr[t + r], bigram_ptr[t + r + 1]):
            b = bigram_ids[k]
            descend(theta[1][b], duals[1][b], squares[1][b], flat, rate)


@compiled
def epoch(
    order: Any,
    rate: float,
    rhos: Any,
    offsets: Any,
    labels: Any,
    data: Any,
    state: Any,
    debts: Any,
    rooms: Any,
) -> None:
    """A step for each sequence of ``order``.

    ``state`` is (theta, duals, squares), each a pair of arrays like (mu, lambda by rows); ``debts``
    are the L1 and the L2 penalty owed by now. A sequence bears rho / N of the penalties: ``rhos``
    are given so.
    """
    E, W, ahead, behind, scale = rooms
    pairs = np.empty((W.shape[1], W.shape[1]))
    for i in order:
        t, end = offsets[i], offsets[i + 1]
        settle_all(t, end, data, state, rate, debts)
        fill_scores(t, end - t, data, state[0], E, W)
        sweep_sequence(end - t, E, W, ahead, behind, scale)
        take_step(t, end - t, rate, labels, data, state, rooms, pairs)
        debts[0] += rhos[0]
        debts[1] += rhos[1]
