"""Sweeps of SBCD compiled: forward-backward around a block, its derivatives and its steps.

A block is an observation symbol: its row of mu and its matrix of lambda. One step takes all of its
mu, or all of its lambda, or the shifts of its columns (see `column_derivatives`); forward and
backward vectors are kept, and only those between this block's positions and the last one's are
made again. ``span`` = (a, m, b) are the working parameters looked at, mu a:m and lambda m:b.

Import it where it is used: numba takes its time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from milpscore.core.jit import compiled, inner


def _record(**fields: type) -> np.dtype[Any]:
    """A structured type of these fields."""
    return np.dtype(list(fields.items()))


# Fields that say where a run begins: it ends where that of the next record does.
POSITION = _record(unigrams=np.int64, bigrams=np.int64, scale=np.float64)
SEQUENCE = _record(ready=np.int64, opened=np.int64)
LABELS = _record(earlier=np.int64, later=np.int64)
BLOCK = _record(group=np.int64, mu_set=np.int64, lam_set=np.int64)
GROUP = _record(sequence=np.int64, occurrence=np.int64)
OCCURRENCE = _record(position=np.int64, times=np.int64, pair=np.int64)
MEMBER = _record(set=np.int64, times=np.int64)
PARAMETER = _record(theta=np.float64, count=np.float64, earlier=np.int64, later=np.int64)


class Index(NamedTuple):
    """Where the data hold the blocks."""

    blocks: Any  # (B + 1,) of BLOCK: first group, first member of mu's sets, of lambda's sets
    groups: Any  # (G + 1,) of GROUP: a sequence that holds the block, its first occurrence there
    occurrences: Any  # of OCCURRENCE: where, how often, which of lam_members (-1: no lambda)
    mu_members: Any  # of MEMBER: unigram sets that hold the block, and how often
    lam_members: Any  # of MEMBER: bigram sets


class World(NamedTuple):
    """The arrays of a sweep: T positions, N sequences, B blocks, P working parameters, L labels."""

    held: Index
    positions: Any  # (T,) of POSITION: sets of observations; what the forward vector was divided by
    sequences: Any  # (N,) of SEQUENCE: ahead holds before position ready, behind from opened on
    ahead: Any  # (T, L): forward vectors, of sum 1
    behind: Any  # (T, L): backward vectors, of any size that stays in range
    weights: Any  # (unigram sets, L): exp of the sum of mu
    set_ptr: Any  # (bigram sets + 1,): the entries of a set; L^2 of them are the whole matrix
    entries: Any  # of LABELS: where exp of the sum of lambda may differ from 1
    values: Any  # of the entries
    member_ptr: Any  # (lam_members + 1,): where in entry_of the lambda of a member begin
    entry_of: Any  # the entry of each working lambda of the block in the member's set
    ranges: Any  # (B + 1, 2): the working mu of block k are ranges[k, 0]:ranges[k, 1], its lambda
    #              ranges[k, 1]:ranges[k + 1, 0]
    parameters: Any  # (P,) of PARAMETER: value, observed count, labels (a mu has the later alone)
    by_label: Any  # (P,): the parameters of each block by their later label
    violations: Any  # (B, 2): squared norm of the least subgradient of mu, lambda when last met
    lengths: Any  # (B, 2): of their last steps
    rho1: float
    rho2: float
    steps: Any  # (4, widest block): room for first and second derivatives, the move, kinks
    columns: Any  # (3, L): room for masses, first and second derivatives of column shifts
    logs: Any  # (2, groups of the largest block): log Z before, and on trial
    room: Any  # (L,)


# From this many labels on BLAS multiplies quicker than plain loops.
_BLAS_FROM = 24
# Longest move of one parameter in one step: where p nears 0 or 1 the parabola knows nothing.
_FARTHEST = 4.0
# Share of the promised fall that a step must reach, and shortenings of a step.
_SUFFICIENT = 1e-3
_TRIALS = 25
# From this the line search keeps a step away: weights and entries stay in floating-point range.
_STEEPEST = np.exp(75.0)
# A listed entry keeps above it, or 1 + (entry - 1) would cancel; whole matrices need no such limit.
_LEAST_LISTED = np.exp(-14.0)
# Curvatures below are nil.
_FLAT = 1e-10


@inner
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


@inner
def _normalise(line: Any) -> float:
    """Divide a vector by its sum; answer the sum."""
    total = 0.0
    for y in range(len(line)):
        total += line[y]
    factor = 1.0 / total
    for y in range(len(line)):
        line[y] *= factor
    return total


@inner
def _forward(block: int, logs: Any, world: Any) -> None:
    """Forward vectors up to the last position of a block in each of its sequences."""
    # ``logs`` gets log Z of each sequence but for what does not depend on the positions from the
    # first to the last; the backward vectors at the last must hold.
    groups, occurrences = world.held.groups, world.held.occurrences
    positions, sequences, ahead = world.positions, world.sequences, world.ahead
    set_ptr, entries, values = world.set_ptr, world.entries, world.values
    L = ahead.shape[1]
    start = world.held.blocks[block].group
    for g in range(start, world.held.blocks[block + 1].group):
        i = groups[g].sequence
        begin = occurrences[groups[g].occurrence].position
        end = occurrences[groups[g + 1].occurrence - 1].position + 1
        for t in range(sequences[i].ready, end):
            line, weight = ahead[t], world.weights[positions[t].unigrams]
            a, b = set_ptr[positions[t].bigrams], set_ptr[positions[t].bigrams + 1]
            # alpha_t = w_t (alpha_{t-1} E_t), with E = 1 + (E - 1); first positions have no entries
            if b - a == L * L:
                before, E = ahead[t - 1], values[a:b].reshape(L, L)
                if L >= _BLAS_FROM:
                    np.dot(before, E, line)
                else:
                    line[:] = 0.0
                    for y0 in range(L):
                        for y in range(L):
                            line[y] += before[y0] * E[y0, y]
            else:
                line[:] = 1.0
                for k in range(a, b):
                    line[entries[k].later] += ahead[t - 1, entries[k].earlier] * (values[k] - 1.0)
            for y in range(L):
                line[y] *= weight[y]
            positions[t].scale = _normalise(line)
        sequences[i].ready = max(sequences[i].ready, end)
        # Z = (product of scales) alpha_{end-1} beta_{end-1}, its log taken before it leaves range
        mass, log = product(ahead[end - 1], world.behind[end - 1]), 0.0
        for t in range(begin, end):
            mass *= positions[t].scale
            if not 1e-100 < mass < 1e100:
                log += np.log(mass)
                mass = 1.0
        logs[g - start] = log + np.log(mass)


@inner
def _backward(block: int, world: Any) -> None:
    """Backward vectors down to the first position of a block in each of its sequences."""
    groups, occurrences = world.held.groups, world.held.occurrences
    positions, sequences, behind = world.positions, world.sequences, world.behind
    set_ptr, entries, values, room = world.set_ptr, world.entries, world.values, world.room
    L = behind.shape[1]
    for g in range(world.held.blocks[block].group, world.held.blocks[block + 1].group):
        i = groups[g].sequence
        begin = occurrences[groups[g].occurrence].position
        for t in range(sequences[i].opened - 1, begin - 1, -1):
            line, weight = behind[t], world.weights[positions[t + 1].unigrams]
            s = positions[t + 1].bigrams
            a, b = set_ptr[s], set_ptr[s + 1]
            # beta_t = E_{t+1} (w_{t+1} beta_{t+1}); posteriors are divided by their sum
            total = 0.0
            for y in range(L):
                room[y] = weight[y] * behind[t + 1, y]
                total += room[y]
            if b - a == L * L:
                E = values[a:b].reshape(L, L)
                if L >= _BLAS_FROM:
                    np.dot(E, room, line)
                else:
                    for y0 in range(L):
                        line[y0] = product(E[y0], room)
            else:
                line[:] = total
                for k in range(a, b):
                    line[entries[k].earlier] += room[entries[k].later] * (values[k] - 1.0)
            _normalise(line)
        sequences[i].opened = min(sequences[i].opened, begin)


@inner
def _leaving(o: int, world: Any) -> float:
    """Write w beta / (scale Z) at an occurrence to ``room``; answer 1 / (alpha beta)."""
    # alpha(y') E(y', y) room(y) is then the pair posterior, alpha(y) beta(y) times the answer the
    # posterior at the position.
    t = world.held.occurrences[o].position
    weight, after = world.weights[world.positions[t].unigrams], world.behind[t]
    factor = 1.0 / product(world.ahead[t], after)
    share = factor / world.positions[t].scale
    for y in range(len(after)):
        world.room[y] = weight[y] * after[y] * share
    return factor


@inner
def derivatives(block: int, span: Any, world: Any) -> None:
    """First and diagonal second derivatives of sum_i log Z_i by the parameters ``span``."""
    # To ``steps[0]`` and ``steps[1]``. Occurrences in one sequence count as independent (slide
    # "Hessian Approximation"): the second derivative is a sum of p (1 - p).
    _backward(block, world)
    _forward(block, world.logs[0], world)
    index, parameters, room = world.held, world.parameters, world.room
    a, m, b = span
    first, second = world.steps[0], world.steps[1]
    first[: b - a] = 0.0
    second[: b - a] = 0.0
    start = index.groups[index.blocks[block].group].occurrence
    end = index.groups[index.blocks[block + 1].group].occurrence
    for o in range(start, end):
        t, held, pair = (
            index.occurrences[o].position, index.occurrences[o].times, index.occurrences[o].pair
        )  # fmt: skip
        factor = _leaving(o, world)
        for k in range(a, m):
            y = parameters[k].later
            p = world.ahead[t, y] * world.behind[t, y] * factor
            first[k - a] += held * p
            second[k - a] += held * held * p * (1.0 - p)
        if pair < 0:
            continue
        entry = world.member_ptr[pair] - m
        for k in range(m, b):
            before = world.ahead[t - 1, parameters[k].earlier]
            p = before * world.values[world.entry_of[entry + k]] * room[parameters[k].later]
            first[k - a] += held * p
            second[k - a] += held * held * p * (1.0 - p)


@inner
def _column_derivatives(block: int, span: Any, world: Any) -> None:
    """First and second derivatives of sum_i log Z_i by the column shifts of a block."""
    # The shift of label y moves all nonzero lambda with the later label y down and, where the block
    # has it, mu of y up, which makes up for most of it: a direction in which the loss hardly bends,
    # and that steps of single parameters follow but slowly. The vectors at the block's positions
    # must hold. To ``columns[1]`` and ``columns[2]``.
    index, parameters, room = world.held, world.parameters, world.room
    mass, first, second = world.columns[0], world.columns[1], world.columns[2]
    a, m, b = span
    first[:] = 0.0
    second[:] = 0.0
    start = index.groups[index.blocks[block].group].occurrence
    end = index.groups[index.blocks[block + 1].group].occurrence
    for o in range(start, end):
        t, held, pair = (
            index.occurrences[o].position, index.occurrences[o].times, index.occurrences[o].pair
        )  # fmt: skip
        factor = _leaving(o, world)
        mass[:] = 0.0
        for k in range(a, m):
            y = parameters[k].later
            mass[y] = world.ahead[t, y] * world.behind[t, y] * factor
        if pair >= 0:
            entry = world.member_ptr[pair] - m
            for k in range(m, b):
                if parameters[k].theta != 0.0:
                    y, before = parameters[k].later, world.ahead[t - 1, parameters[k].earlier]
                    mass[y] -= before * world.values[world.entry_of[entry + k]] * room[y]
        for y in range(len(mass)):
            p = held * mass[y]
            first[y] += p
            second[y] += abs(p) * max(held - abs(p), 0.0)


@inner
def _shift(block: int, span: Any, length: float, world: Any) -> bool:
    """Multiply weights and entries by exp(length * move); False where one left its range."""
    index, weights, values, move = world.held, world.weights, world.values, world.steps[2]
    L = weights.shape[1]
    a, m, b = span
    inside = True
    for k in range(a, b):
        if move[k - a] == 0.0:
            continue
        once, y = np.exp(length * move[k - a]), world.parameters[k].later
        if k < m:
            for e in range(index.blocks[block].mu_set, index.blocks[block + 1].mu_set):
                s = index.mu_members[e].set
                weights[s, y] *= once ** index.mu_members[e].times
                inside = inside and 1.0 / _STEEPEST < weights[s, y] < _STEEPEST
            continue
        for e in range(index.blocks[block].lam_set, index.blocks[block + 1].lam_set):
            j, s = world.entry_of[world.member_ptr[e] + k - m], index.lam_members[e].set
            values[j] *= once ** index.lam_members[e].times
            whole = world.set_ptr[s + 1] - world.set_ptr[s] == L * L
            inside = (
                inside and (1.0 / _STEEPEST if whole else _LEAST_LISTED) < values[j] < _STEEPEST
            )
    return inside


@inner
def _unsettle(block: int, world: Any) -> None:
    """Say which vectors hold after a shift: those before the first and behind the last position."""
    groups, occurrences, sequences = world.held.groups, world.held.occurrences, world.sequences
    for g in range(world.held.blocks[block].group, world.held.blocks[block + 1].group):
        i = groups[g].sequence
        first = occurrences[groups[g].occurrence].position
        last = occurrences[groups[g + 1].occurrence - 1].position
        sequences[i].ready = min(sequences[i].ready, first)
        sequences[i].opened = max(sequences[i].opened, last)


@inner
def _direction(span: Any, farthest: float, world: Any) -> Any:
    """The step S(theta H - g, rho1) / (H + rho2) - theta of each parameter, to ``steps[2]``."""
    # ``steps[0]`` and ``steps[1]`` are g and H of the loss alone. Answers the slope of the
    # objective along it and the squared norm of the least subgradient.
    rho1, rho2, steps = world.rho1, world.rho2, world.steps
    a, _, b = span
    slope, violation = 0.0, 0.0
    for k in range(b - a):
        x, g, h = world.parameters[a + k].theta, steps[0, k], steps[1, k]
        smooth = g + rho2 * x
        if x > 0.0:
            least = smooth + rho1
        elif x < 0.0:
            least = smooth - rho1
        else:
            least = smooth - min(max(smooth, -rho1), rho1)
        violation += least * least
        curvature = max(h + rho2, _FLAT)
        # theta H - g with the H that is divided by, less rho2: the same but where H is nil
        aim = x * (curvature - rho2) - g
        target = (aim - min(max(aim, -rho1), rho1)) / curvature
        step = min(max(target - x, -farthest), farthest)
        steps[2, k] = step
        slope += smooth * step + rho1 * (abs(x + step) - abs(x))
    return slope, violation


@compiled
def best_shift(slope: float, curvature: float, kinks: Any, rho1: float, rho2: float) -> float:
    """The c of least slope c + curvature/2 c^2 + rho1 sum |c - k| + rho2/2 sum (c - k)^2."""
    # Sorts the kinks k. With j of the n kinks below it, c solves (curvature + n rho2) c = -slope +
    # rho2 sum k + rho1 (n - 2 j); where that lies beyond the next kink, c is on it or after it.
    n, pull = len(kinks), -slope
    for i in range(n):
        kink = kinks[i]
        pull += rho2 * kink
        at = i
        while at > 0 and kinks[at - 1] > kink:
            kinks[at] = kinks[at - 1]
            at -= 1
        kinks[at] = kink
    c = 0.0
    for j in range(n + 1):
        c = (pull + rho1 * (n - 2 * j)) / (curvature + rho2 * n)
        if j > 0 and c < kinks[j - 1]:
            return float(kinks[j - 1])
        if j == n or c <= kinks[j]:
            break
    return c


@inner
def _column_moves(span: Any, world: Any) -> float:
    """The moves of all column shifts of a block; answers the objective's slope along them."""
    parameters, by_label, move = world.parameters, world.by_label, world.steps[2]
    rho1, rho2 = world.rho1, world.rho2
    a, m, b = span
    move[: b - a] = 0.0
    slope, end = 0.0, a
    while end < b:
        # the parameters by_label[start:end] share their later label y
        start, y = end, parameters[by_label[end]].later
        size, smooth = 0, world.columns[1, y]
        while end < b and parameters[by_label[end]].later == y:
            j = by_label[end]
            if j < m or parameters[j].theta != 0.0:
                sign = 1.0 if j < m else -1.0
                # |theta + sign c| has its kink at -sign theta
                world.steps[3, size] = -sign * parameters[j].theta
                smooth -= sign * parameters[j].count
                size += 1
            end += 1
        curvature = world.columns[2, y]
        if size < 2 or curvature + rho2 < _FLAT:
            continue
        c = best_shift(smooth, curvature, world.steps[3, :size], rho1, rho2)
        c = min(max(c, -_FARTHEST), _FARTHEST)
        slope += smooth * c
        for k in range(start, end):
            j = by_label[k]
            x = parameters[j].theta
            if j < m or x != 0.0:
                step = c if j < m else -c
                move[j - a] = step
                slope += rho1 * (abs(x + step) - abs(x)) + rho2 * x * step
    return slope


@inner
def _search(block: int, span: Any, slope: float, length: float, world: Any) -> Any:
    """Move along ``steps[2]`` as far as the objective falls enough: the fall and the length."""
    # Where no length will do the fall is 0.
    rho1, rho2, move, parameters = world.rho1, world.rho2, world.steps[2], world.parameters
    a, _, b = span
    n_groups = world.held.blocks[block + 1].group - world.held.blocks[block].group
    done, fall, trial = 0.0, 0.0, 0
    while True:
        inside = _shift(block, span, length - done, world)
        _unsettle(block, world)
        done = length
        if trial == _TRIALS:
            break
        change = np.inf
        if inside:
            _forward(block, world.logs[1], world)
            change = 0.0
            for k in range(b - a):
                x, step = parameters[a + k].theta, length * move[k]
                change += rho1 * (abs(x + step) - abs(x)) + rho2 * step * (x + 0.5 * step)
                change -= step * parameters[a + k].count
            for g in range(n_groups):
                change += world.logs[1, g] - world.logs[0, g]
        if change <= _SUFFICIENT * length * slope:
            for k in range(b - a):
                parameters[a + k].theta += length * move[k]
            fall = -change
            break
        shorter = 0.25
        if change < np.inf:
            # the parabola through both values and the slope
            shorter = min(max(-0.5 * length * slope / (change - length * slope), 0.1), 0.6)
        trial += 1
        length *= shorter if trial < _TRIALS else 0.0  # in the end back to where it began
    return fall, length


@inner
def _step(block: int, kind: int, world: Any) -> float:
    """One step of a block's mu (kind 0) or lambda (kind 1): the fall of the objective."""
    middle = world.ranges[block, 1]
    span = (world.ranges[block, 0], middle, middle)
    if kind == 1:
        span = (middle, middle, world.ranges[block + 1, 0])
    derivatives(block, span, world)
    for k in range(span[2] - span[0]):
        world.steps[0, k] -= world.parameters[span[0] + k].count
    # without an occurrence the objective is the penalty alone: no parabola, one step is right
    unseen = world.held.blocks[block].group == world.held.blocks[block + 1].group
    slope, violation = _direction(span, np.inf if unseen else _FARTHEST, world)
    world.violations[block, kind] = violation
    if not slope < 0.0:
        return 0.0
    length = 1.0 if unseen else min(1.0, 2.0 * world.lengths[block, kind])
    fall, length = _search(block, span, slope, length, world)
    if fall > 0.0:
        world.lengths[block, kind] = length
    return float(fall)


@compiled
def sweep_blocks(order: Any, quiet: float, world: Any) -> Any:
    """Step all blocks in order: first their mu, then their lambda, then columns of both."""
    # Left out are parts whose squared violation was below ``quiet`` the last time. Answers the sum
    # of the squared violations met, and by how much the objective fell.
    total, fallen = 0.0, 0.0
    blocks, ranges = world.held.blocks, world.ranges
    for block in order:
        a, m, b = ranges[block, 0], ranges[block, 1], ranges[block + 1, 0]
        loud = False
        for kind in range(2):
            if (m == a) if kind == 0 else (b == m):
                continue
            if world.violations[block, kind] >= quiet:
                fallen += _step(block, kind, world)
                loud = True
            total += world.violations[block, kind]
        if not loud or b - m < 2 or blocks[block].group == blocks[block + 1].group:
            continue
        _backward(block, world)
        _forward(block, world.logs[0], world)
        _column_derivatives(block, (a, m, b), world)
        slope = _column_moves((a, m, b), world)
        if slope < 0.0:
            fallen += _search(block, (a, m, b), slope, 1.0, world)[0]
    return total, fallen
