"""Forward-backward of a block's sequences alone, compiled, and the derivatives at its positions.

Import it where it is used. Without numba the same loops run as plain Python, with the products of
whole matrices left to NumPy: right, but slow.

``world`` is (chain, state, sets, blocks, working, rooms):

chain = (offsets, set of unigram, set of bigram observations at each position);
state = (forward, backward, scale, ready, opened): normalised vectors of each position; forward ones
hold before position ready[i] in sequence i, backward ones from position opened[i] on;
sets = (weights, ptr, earlier, later, values): exp(mu) of each unigram set; of each bigram set the
entries of exp(lambda) that may differ from 1, either a list of (earlier, later) labels or, where
there are L^2 of them, the whole matrix;
blocks, working = the arrays of :class:`._blocks.Blocks` and :class:`._blocks.Working`;
rooms = a vector to work in, and ones.

``span`` = (mu_a, mu_b, lam_a, lam_b) are the working parameters looked at, mu's in front.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.jit import compiled, has_numba

# From this many labels on BLAS multiplies quicker than plain loops.
_BLAS_FROM = 24


if has_numba():

    @compiled
    def times(vector: Any, matrix: Any, line: Any) -> None:
        """``line`` = ``vector`` times ``matrix``."""
        L = len(vector)
        if L >= _BLAS_FROM:
            np.dot(vector, matrix, line)
            return
        line[:] = 0.0
        for y0 in range(L):
            factor = vector[y0]
            for y in range(L):
                line[y] += factor * matrix[y0, y]

    @compiled
    def times_back(matrix: Any, vector: Any, line: Any) -> None:
        """``line`` = ``matrix`` times ``vector``."""
        L = len(vector)
        if L >= _BLAS_FROM:
            np.dot(matrix, vector, line)
            return
        for y0 in range(L):
            total = 0.0
            for y in range(L):
                total += matrix[y0, y] * vector[y]
            line[y0] = total

else:

    def times(vector: Any, matrix: Any, line: Any) -> None:
        """``line`` = ``vector`` times ``matrix``."""
        np.dot(vector, matrix, line)

    def times_back(matrix: Any, vector: Any, line: Any) -> None:
        """``line`` = ``matrix`` times ``vector``."""
        np.dot(matrix, vector, line)


@compiled
def product(one: Any, two: Any) -> float:
    """The inner product; four sums side by side are not bound to the order of one."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    n = len(one)
    whole = n - n % 4
    for k in range(0, whole, 4):
        a += one[k] * two[k]
        b += one[k + 1] * two[k + 1]
        c += one[k + 2] * two[k + 2]
        d += one[k + 3] * two[k + 3]
    for k in range(whole, n):
        a += one[k] * two[k]
    return (a + b) + (c + d)


@compiled
def forward(block: int, again: bool, world: Any, logs: Any) -> None:
    """Forward vectors up to the last position of a block in each of its sequences.

    From where they do not hold, or ``again`` from the block's first position. ``logs`` gets log Z
    of each sequence but for what does not depend on the positions from the first to the last; the
    backward vectors there must hold.
    """
    offsets, unigrams, bigrams = world[0]
    vectors, behind, scale, ready, _ = world[1]
    weights, ptr, earlier, later, values = world[2]
    group_ptr, group_seq, group_occ, position = world[3][:4]
    ones = world[5][1]
    L = vectors.shape[1]
    for g in range(group_ptr[block], group_ptr[block + 1]):
        i = group_seq[g]
        begin, end = position[group_occ[g]], position[group_occ[g + 1] - 1] + 1
        for t in range(begin if again else ready[i], end):
            line, weight, s = vectors[t], weights[unigrams[t]], bigrams[t]
            a, b = ptr[s], ptr[s + 1]
            if t == offsets[i] or a == b:
                line[:] = weight
            else:
                before = vectors[t - 1]
                if b - a == L * L:
                    times(before, values[a:b].reshape(L, L), line)
                else:
                    line[:] = 1.0
                    for k in range(a, b):
                        line[later[k]] += before[earlier[k]] * (values[k] - 1.0)
                for y in range(L):
                    line[y] *= weight[y]
            total = product(line, ones)
            scale[t] = total
            factor = 1.0 / total
            for y in range(L):
                line[y] *= factor
        ready[i] = max(ready[i], end)
        mass, log = product(vectors[end - 1], behind[end - 1]), 0.0
        for t in range(begin, end):
            mass *= scale[t]
            if not 1e-100 < mass < 1e100:
                log += np.log(mass)
                mass = 1.0
        logs[g - group_ptr[block]] = log + np.log(mass)


@compiled
def backward(block: int, world: Any) -> None:
    """Backward vectors down to the first position of a block in each of its sequences."""
    _, unigrams, bigrams = world[0]
    _, vectors, _, _, opened = world[1]
    weights, ptr, earlier, later, values = world[2]
    group_ptr, group_seq, group_occ, position = world[3][:4]
    room, ones = world[5]
    L = vectors.shape[1]
    for g in range(group_ptr[block], group_ptr[block + 1]):
        i = group_seq[g]
        begin = position[group_occ[g]]
        for t in range(opened[i] - 1, begin - 1, -1):
            after, weight, line = vectors[t + 1], weights[unigrams[t + 1]], vectors[t]
            a, b = ptr[bigrams[t + 1]], ptr[bigrams[t + 1] + 1]
            if a == b:
                line[:] = 1.0
                continue
            for y in range(L):
                room[y] = weight[y] * after[y]
            if b - a == L * L:
                times_back(values[a:b].reshape(L, L), room, line)
            else:
                line[:] = product(room, ones)
                for k in range(a, b):
                    line[earlier[k]] += room[later[k]] * (values[k] - 1.0)
            # of any size that stays in range: posteriors are divided by their sum
            factor = 1.0 / product(line, ones)
            for y in range(L):
                line[y] *= factor
        opened[i] = min(opened[i], begin)


@compiled
def derivatives(block: int, span: Any, world: Any, logs: Any, first: Any, second: Any) -> None:
    """First and diagonal second derivatives of sum_i log Z_i by the parameters ``span``.

    ``logs`` is :func:`forward`'s. Occurrences in one sequence count as independent (slide "Hessian
    Approximation").
    """
    backward(block, world)
    forward(block, False, world, logs)
    unigrams = world[0][1]
    ahead, behind, scale = world[1][:3]
    weights, values = world[2][0], world[2][4]
    group_ptr, _, group_occ, position, times_held, pair = world[3][:6]
    map_ptr, entry, y_at, y0_at = world[4]
    room = world[5][0]
    L = ahead.shape[1]
    mu_a, mu_b, lam_a, lam_b = span
    n_mu = mu_b - mu_a
    first[:] = 0.0
    second[:] = 0.0
    for g in range(group_ptr[block], group_ptr[block + 1]):
        for o in range(group_occ[g], group_occ[g + 1]):
            t, held = position[o], times_held[o]
            here, after = ahead[t], behind[t]
            factor = 1.0 / product(here, after)
            for k in range(n_mu):
                y = y_at[mu_a + k]
                p = here[y] * after[y] * factor
                first[k] += held * p
                second[k] += held * held * p * (1.0 - p)
            e = pair[o]
            if e < 0 or lam_a == lam_b:
                continue
            weight, before = weights[unigrams[t]], ahead[t - 1]
            factor /= scale[t]
            for y in range(L):
                room[y] = weight[y] * after[y] * factor
            start = map_ptr[e]
            for k in range(lam_b - lam_a):
                p = before[y0_at[lam_a + k]] * values[entry[start + k]] * room[y_at[lam_a + k]]
                first[n_mu + k] += held * p
                second[n_mu + k] += held * held * p * (1.0 - p)


@compiled
def column_derivatives(
    block: int, span: Any, theta: Any, world: Any, mass: Any, first: Any, second: Any
) -> None:
    """First and second derivatives of sum_i log Z_i by the column shifts of a block.

    The shift of label y moves all nonzero lambda with the later label y down and, where the block
    has it, mu of y up, which makes up for most of it: a direction in which the loss hardly bends,
    and that steps of single parameters follow but slowly. The vectors at the block's positions must
    hold. ``theta`` is of the parameters ``span`` alone.
    """
    unigrams = world[0][1]
    ahead, behind, scale = world[1][:3]
    weights, values = world[2][0], world[2][4]
    group_ptr, _, group_occ, position, times_held, pair = world[3][:6]
    map_ptr, entry, y_at, y0_at = world[4]
    room = world[5][0]
    L = ahead.shape[1]
    mu_a, mu_b, lam_a, lam_b = span
    n_mu = mu_b - mu_a
    first[:] = 0.0
    second[:] = 0.0
    for o in range(group_occ[group_ptr[block]], group_occ[group_ptr[block + 1]]):
        t, held, e = position[o], times_held[o], pair[o]
        here, after = ahead[t], behind[t]
        factor = 1.0 / product(here, after)
        mass[:] = 0.0
        for k in range(n_mu):
            y = y_at[mu_a + k]
            mass[y] = here[y] * after[y] * factor
        if e >= 0:
            weight, before = weights[unigrams[t]], ahead[t - 1]
            for y in range(L):
                room[y] = weight[y] * after[y] * factor / scale[t]
            start = map_ptr[e]
            for k in range(lam_b - lam_a):
                if theta[n_mu + k] != 0.0:
                    y = y_at[lam_a + k]
                    mass[y] -= before[y0_at[lam_a + k]] * values[entry[start + k]] * room[y]
        for y in range(L):
            p = held * mass[y]
            first[y] += p
            second[y] += abs(p) * max(held - abs(p), 0.0)
