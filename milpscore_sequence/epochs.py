"""SGD with a rate for each parameter and lazy penalties; a step is the gradient of one sequence.

The rates are those of AdaGrad: the common rate over the root of 1 plus the sum of a parameter's
squared gradients so far. The L1 and L2 norms are kept whole: parameters minimise the gradients met
plus rho / N of both norms for each step made ("follow the proximally regularised leader", McMahan
2011, whose lazy L1 is the cumulative one of Tsuruoka, Tsujii & Ananiadou, 2009, without its
clipping), in closed form and only when next needed. A zero stays one until its mean gradient is
above rho1 / N. The common rate is calibrated by three epochs on a sample of 500 sequences (Bottou),
and falls as 1 / (1 + epochs / 15). The objective may rise in an epoch. Where five epochs lowered it
by less than a hundredth, steps of OWL-QN go on from the best end of an epoch to the optimum.

Import it where it is used: its kernels bring numba.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from milpscore.core.clock import Clock
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.jit import compiled, inner
from milpscore.core.result import Termination
from milpscore_sequence._data import Prepared, known_labels
from milpscore_sequence._kernels import times, times_back
from milpscore_sequence._whole_gradient import Iterate, finished
from milpscore_sequence.training import Objective, Recorder

# Rates tried on a sample, its size, and the epochs of a trial. What is best in so few of them is
# half of what is best in some thirty.
_RATES = 4.0 * 0.5 ** np.arange(7)
_SAMPLE = 500
_TRIAL = 3
_LONGER = 2.0
# The common rate falls as 1 / (1 + epochs / this).
_FALL = 15.0
# Epochs after which whole gradients go on, if they lowered the least objective by less than this
# share.
_PATIENCE = 5
_SHARE = 1e-2
# Sequences stepped by between two looks at the clock.
_AT_ONCE = 500
# |score| beyond which exp is cut: a sequence that far out is badly fitted, and its step still right
# in direction.
_STEEP = 300.0


class Walk(NamedTuple):
    """The arrays of an epoch: T positions, L labels, P parameters, R positions of the longest."""

    # ``unigrams`` and ``bigrams`` say where in theta the parameters of an observation begin: L of
    # them for a unigram observation, L^2 for a bigram one.
    offsets: Any  # (N + 1,): positions of the sequences
    labels: Any  # (T,)
    unigram_ptr: Any  # (T + 1,)
    unigrams: Any
    bigram_ptr: Any  # (T + 1,)
    bigrams: Any
    state: Any  # (3, P): theta, duals (the gradients met), squares (1 + sums of their squares)
    debts: Any  # (2,): the L1 and the L2 penalty owed by now
    E: Any  # (R, L, L): exp of the sums of lambda
    W: Any  # (R, L): exp of the sums of mu
    ahead: Any  # (R, L): forward vectors, scaled
    behind: Any  # (R, L): backward vectors times W / scale
    scale: Any  # (R,)


@compiled
def settle(start: int, end: int, rate: float, walk: Any) -> None:
    """Bring parameters start:end up to the gradients met and the penalties owed by now."""
    # The minimiser of dual w + owed |w| + (sqrt(squares) / rate + decay) w^2 / 2 (McMahan 2011,
    # theorem 6): all steps of L1 and L2 since the last visit in one, without a loop over them.
    # slices: indices that may be negative keep the compiler from vectorising
    theta, duals, squares = (
        walk.state[0, start:end], walk.state[1, start:end], walk.state[2, start:end]
    )  # fmt: skip
    owed, decay = walk.debts[0], walk.debts[1]
    for j in range(len(theta)):
        beyond = abs(duals[j]) - owed
        if beyond <= 0.0:
            theta[j] = 0.0
        else:
            value = beyond / (np.sqrt(squares[j]) / rate + decay)
            theta[j] = -value if duals[j] > 0.0 else value


@inner
def _descend(start: int, slopes: Any, rate: float, walk: Any) -> None:
    """Note the gradient at one occurrence: what is owed to it, and rates that fall with it."""
    end = start + len(slopes)
    theta, duals, squares = (
        walk.state[0, start:end], walk.state[1, start:end], walk.state[2, start:end]
    )  # fmt: skip
    for j in range(len(slopes)):
        slope = slopes[j]
        old = squares[j]
        new = old + slope * slope
        squares[j] = new
        duals[j] += slope
        if theta[j] != 0.0:
            duals[j] -= (np.sqrt(new) - np.sqrt(old)) / rate * theta[j]


@inner
def _fill_scores(first: int, length: int, walk: Any) -> None:
    """W and E of the positions of a sequence."""
    theta, L = walk.state[0], walk.W.shape[1]
    for r in range(length):
        t, line, flat = first + r, walk.W[r], walk.E[r].reshape(L * L)
        line[:] = 0.0
        for k in range(walk.unigram_ptr[t], walk.unigram_ptr[t + 1]):
            row = theta[walk.unigrams[k] : walk.unigrams[k] + L]
            for y in range(L):
                line[y] += row[y]
        for y in range(L):
            line[y] = np.exp(min(max(line[y], -_STEEP), _STEEP))
        flat[:] = 0.0
        for k in range(walk.bigram_ptr[t], walk.bigram_ptr[t + 1]):
            row = theta[walk.bigrams[k] : walk.bigrams[k] + L * L]
            for j in range(L * L):
                flat[j] += row[j]
        for j in range(L * L):
            # most of lambda is zero, and exp is what costs most
            flat[j] = np.exp(min(max(flat[j], -_STEEP), _STEEP)) if flat[j] != 0.0 else 1.0


@inner
def _forward_backward(length: int, walk: Any) -> None:
    """The scaled recursions of :mod:`._kernels` over one sequence."""
    E, W, ahead, behind, scale = walk.E, walk.W, walk.ahead, walk.behind, walk.scale
    L = W.shape[1]
    ahead[0] = 1.0
    for r in range(length):
        if r > 0:
            times(ahead[r - 1 : r], E[r], ahead[r : r + 1])
        total = 0.0
        for y in range(L):
            ahead[r, y] *= W[r, y]
            total += ahead[r, y]
        scale[r] = total
        for y in range(L):
            ahead[r, y] /= total
    behind[length - 1] = 1.0
    for r in range(length - 1, -1, -1):
        if r < length - 1:
            times_back(behind[r + 1 : r + 2], E[r + 1], behind[r : r + 1])
        for y in range(L):
            behind[r, y] *= W[r, y] / scale[r]


@inner
def _step(first: int, length: int, rate: float, pairs: Any, walk: Any) -> None:
    """Note the gradient of a sequence, whose vectors are there; ``pairs`` (L, L) is room."""
    ahead, behind, labels = walk.ahead, walk.behind, walk.labels
    L = ahead.shape[1]
    flat, singles = pairs.reshape(L * L), np.empty(L)
    for r in range(length):
        t = first + r
        for y in range(L):
            singles[y] = ahead[r, y] * behind[r, y] * walk.scale[r] / walk.W[r, y]
        singles[labels[t]] -= 1.0
        for k in range(walk.unigram_ptr[t], walk.unigram_ptr[t + 1]):
            _descend(walk.unigrams[k], singles, rate, walk)
        if walk.bigram_ptr[t] == walk.bigram_ptr[t + 1]:
            continue
        # p(y', y) = alpha_{t-1}(y') E(y', y) (w beta / scale)(y), less what was seen
        for y0 in range(L):
            for y in range(L):
                pairs[y0, y] = ahead[r - 1, y0] * walk.E[r, y0, y] * behind[r, y]
        pairs[labels[t - 1], labels[t]] -= 1.0
        for k in range(walk.bigram_ptr[t], walk.bigram_ptr[t + 1]):
            _descend(walk.bigrams[k], flat, rate, walk)


@compiled
def epoch(order: Any, rate: float, rho1: float, rho2: float, walk: Any) -> None:
    """A step for each sequence of ``order``, none empty; each bears rho1 and rho2 of the debts."""
    L = walk.W.shape[1]
    pairs = np.empty((L, L))
    for i in order:
        t, end = walk.offsets[i], walk.offsets[i + 1]
        for k in range(walk.unigram_ptr[t], walk.unigram_ptr[end]):
            settle(walk.unigrams[k], walk.unigrams[k] + L, rate, walk)
        for k in range(walk.bigram_ptr[t], walk.bigram_ptr[end]):
            settle(walk.bigrams[k], walk.bigrams[k] + L * L, rate, walk)
        _fill_scores(t, end - t, walk)
        _forward_backward(end - t, walk)
        _step(t, end - t, rate, pairs, walk)
        walk.debts[0] += rho1
        walk.debts[1] += rho2


class Epochs:
    """The parameters on their way from ``start`` by a common ``rate``."""

    def __init__(self, objective: Objective, start: FloatArray, rate: float) -> None:
        data, layout = objective.prepared.data, objective.prepared.layout
        self.full = np.flatnonzero(data.lengths)
        n, most, L = max(len(self.full), 1), int(data.lengths.max(initial=0)), data.n_labels
        self.rhos = (objective.rho1 / n, objective.rho2 / n)
        self.rate = rate
        room = np.empty((3, most, L))
        self.walk = Walk(
            offsets=data.offsets,
            labels=known_labels(data),
            unigram_ptr=data.unigram_ptr,
            unigrams=data.unigram_ids.astype(np.int64) * L,
            bigram_ptr=data.bigram_ptr,
            bigrams=layout.n_mu + data.bigram_ids.astype(np.int64) * L**2,
            state=np.stack([start, -start / rate, np.ones_like(start)]),
            debts=np.zeros(2),
            E=np.empty((most, L, L)),
            W=room[0],
            ahead=room[1],
            behind=room[2],
            scale=np.empty(most),
        )

    @property
    def theta(self) -> FloatArray:
        """The parameters (P,), a view."""
        return self.walk.state[0]  # type: ignore[no-any-return]

    @property
    def squares(self) -> FloatArray:
        """1 plus the sum of the squared gradients met (P,), a view."""
        return self.walk.state[2]  # type: ignore[no-any-return]

    def run(self, order: IntArray, clock: Clock) -> None:
        """A step for each sequence of ``order`` as long as there is time; all penalties paid."""
        for start in range(0, len(order), _AT_ONCE):
            if not clock.is_up:
                epoch(order[start : start + _AT_ONCE], self.rate, *self.rhos, self.walk)
        self.pay()

    def pay(self) -> None:
        """Bring all parameters up to the penalties owed by now."""
        settle(0, len(self.theta), self.rate, self.walk)

    def change_rate(self, rate: float) -> None:
        """Go on by another rate from the same parameters."""
        theta, duals, squares = self.walk.state
        owed, decay = self.walk.debts
        at = np.flatnonzero(theta)
        bend = np.sqrt(squares[at]) / rate + decay
        duals[at] = -theta[at] * bend - np.sign(theta[at]) * owed
        self.rate = rate


def _calibrated(
    objective: Objective, start: FloatArray, rng: np.random.Generator, clock: Clock
) -> float:
    """The rate to begin with, from those after whose epochs a sample's objective is lowest."""
    data = objective.prepared.data
    full = np.flatnonzero(data.lengths)
    chosen = rng.permutation(full)[:_SAMPLE]
    if not len(chosen):
        return float(_RATES[0])
    share = len(chosen) / len(full)
    judge = Objective(Prepared(data.subset(chosen)), objective.rho1 * share, objective.rho2 * share)
    orders = [rng.permutation(len(chosen)) for _ in range(_TRIAL)]
    values: list[float] = []
    for rate in _RATES:
        if values and clock.is_up:
            break
        epochs = Epochs(judge, start, float(rate))
        for order in orders:
            epochs.run(order, clock)
        values.append(judge.penalised(epochs.theta, judge.smooth(epochs.theta)[0]))
    return _LONGER * float(_RATES[int(np.argmin(values))])


def sgd(objective: Objective, start: FloatArray, recorder: Recorder) -> Termination:
    """Train by epochs; see the module."""
    now = best = Iterate.at(objective, start)
    rng = np.random.default_rng(recorder.options.random_state)
    first, epochs = 0.0, None
    least: list[float] = []
    while True:
        least.append(best.value)
        age = len(least)
        if age > _PATIENCE and least[-1 - _PATIENCE] - least[-1] <= _SHARE * abs(least[-1]):
            return finished(objective, best, recorder, age - 1)
        distance = objective.distance(now.theta, now.gradient)
        stop = recorder.note(age - 1, now.theta, now.value, distance)
        if stop is not None:
            return stop
        if epochs is None:
            first = _calibrated(objective, start, rng, recorder.clock)
            epochs = Epochs(objective, start, first)
        else:
            epochs.change_rate(first / (1.0 + (age - 1) / _FALL))
        epochs.run(rng.permutation(epochs.full), recorder.clock)
        now = Iterate.at(objective, epochs.theta.copy())
        best = min(now, best, key=lambda each: each.value)
