"""SGD with a rate for each parameter and lazy L1, a sequence a step."""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.sequence._data import SequenceData
from milpscore.sequence._prepared import Prepared, known_labels
from milpscore.sequence._stopping import Objective, Status
from milpscore.sequence._trace import Recorder, TrainOptions, TrainResult, train_by

# Rates tried on a sample, its size, and the epochs of a trial. What is best in so few of them is
# half of what is best in some thirty.
_RATES = 4.0 * 0.5 ** np.arange(7)
_SAMPLE = 500
_TRIAL = 3
_LONGER = 2.0
# The common rate falls as 1 / (1 + epochs / this).
_FALL = 15.0
# Where so many epochs lowered the least objective by less than this share, more are no use.
_PATIENCE = 20
_SHARE = 1e-5


def sgd(
    data: SequenceData | Prepared, rho1: float = 0.0, rho2: float = 0.0, **options: Any
) -> TrainResult:
    """Train by stochastic gradient descent, an epoch an iteration.

    A step is the gradient of one sequence, by the rates of AdaGrad: the common rate over the root
    of 1 plus the sum of a parameter's squared gradients so far. The L1 and L2 norms are kept whole:
    parameters minimise the gradients met plus rho / N of both norms for each step made ("follow
    the proximally regularised leader"), in closed form and only when next needed. A zero stays one
    until its mean gradient is above rho1 / N. The common rate is calibrated by three epochs on a
    sample of 500 sequences, and falls as 1 / (1 + epochs / 15). The objective may rise in an epoch;
    the best end of an epoch is the answer. Quick to be near the optimum, slow to reach it: training
    stops as "flat" where twenty epochs lowered the objective by less than 1e-5 of itself.

    Parameters
    ----------
    data : SequenceData or Prepared
        With labels.
    rho1, rho2 : float
        Weights of |theta|_1 and |theta|_2^2 / 2 beside the summed loss.
    **options
        See :class:`TrainOptions`; ``random_state`` seeds the orders of the sequences.

    Returns
    -------
    TrainResult

    Raises
    ------
    DataError
        Labels are missing or were never seen in training, or the start is of another model.
    OptionError
        An option outside its range.

    References
    ----------
    McMahan, "Follow-the-regularized-leader and mirror descent: equivalence theorems and L1
    regularization" (2011), whose lazy L1 is the cumulative one of Tsuruoka, Tsujii & Ananiadou
    (2009) without its clipping; Duchi, Hazan & Singer, "Adaptive subgradient methods" (2011). The
    calibration is Bottou's.
    """
    return train_sgd(data, TrainOptions(rho1=rho1, rho2=rho2, **options))


def train_sgd(data: SequenceData | Prepared, options: TrainOptions) -> TrainResult:
    """The same with its options in one object, see :func:`sgd`."""
    return train_by(_run, data, options)


class Epochs:
    """The parameters on their way, with what the kernels need.

    Parameters
    ----------
    objective : Objective
    start : ndarray of shape (n_parameters,)
    rate : float

    Attributes
    ----------
    theta, duals, squares : ndarray of shape (n_parameters,)
        ``duals`` are the gradients met, less what the rates' fall took back; ``squares`` 1 plus the
        sum of their squares.
    debts : ndarray of shape (2,)
        The L1 and the L2 penalty owed by now.
    """

    def __init__(self, objective: Objective, start: FloatArray, rate: float) -> None:
        data = objective.prepared.data
        self.layout, self.offsets, self.labels = data.layout, data.offsets, known_labels(data)
        self.data = (data.unigram_ptr, data.unigram_ids, data.bigram_ptr, data.bigram_ids)
        self.full = np.flatnonzero(data.lengths)
        n = max(len(self.full), 1)
        self.rhos = (objective.rho1 / n, objective.rho2 / n)
        most, L = int(data.lengths.max(initial=0)), data.n_labels
        self.rooms = (
            np.empty((most, L, L)), *(np.empty((most, L)) for _ in range(3)), np.empty(most)
        )  # fmt: skip
        self.rate, self.debts = rate, np.zeros(2)
        self.theta = start.copy()
        self.squares, self.duals = np.ones_like(start), -start / rate

    def run(self, order: IntArray) -> None:
        """A step for each sequence of ``order``; then all penalties are paid."""
        from milpscore.sequence import _kernels_sgd

        state = tuple(map(self._rows, (self.theta, self.duals, self.squares)))
        _kernels_sgd.epoch(
            order,
            self.rate,
            self.rhos,
            self.offsets,
            self.labels,
            self.data,
            state,
            self.debts,
            self.rooms,
        )
        _kernels_sgd.settle(self.theta, self.duals, self.squares, self.rate, *self.debts)

    def change_rate(self, rate: float) -> None:
        """Go on by another rate from the same parameters."""
        at = np.flatnonzero(self.theta)
        held = self.theta[at]
        bend = np.sqrt(self.squares[at]) / rate + self.debts[1]
        self.duals[at] = -held * bend - np.sign(held) * self.debts[0]
        self.rate = rate

    def _rows(self, vector: FloatArray) -> tuple[FloatArray, FloatArray]:
        mu, lam = self.layout.split(vector)
        return mu, lam.reshape(self.layout.n_bigrams, self.layout.n_labels**2)


def _calibrated(objective: Objective, start: FloatArray, rng: np.random.Generator) -> float:
    """The rate to begin with, from those after whose epochs a sample's objective is lowest."""
    data = objective.prepared.data
    full = np.flatnonzero(data.lengths)
    chosen = rng.permutation(full)[:_SAMPLE]
    if not len(chosen):
        return float(_RATES[0])
    share = len(chosen) / len(full)
    judge = Objective(Prepared(data.subset(chosen)), objective.rho1 * share, objective.rho2 * share)
    orders = [rng.permutation(len(chosen)) for _ in range(_TRIAL)]
    values = []
    for rate in _RATES:
        epochs = Epochs(judge, start, float(rate))
        for order in orders:
            epochs.run(order)
        values.append(judge.penalised(epochs.theta, judge.smooth(epochs.theta)[0]))
    return _LONGER * float(_RATES[int(np.argmin(values))])


def _run(objective: Objective, start: FloatArray, recorder: Recorder) -> Status:
    smooth, gradient = objective.smooth(start)
    value = objective.penalised(start, smooth)
    status = recorder.note(0, start, value, objective.distance(start, gradient))
    if status is not None:
        return status
    rng = np.random.default_rng(recorder.options.random_state)
    first = _calibrated(objective, start, rng)
    epochs = Epochs(objective, start, first)
    least = [value]
    while True:
        epochs.run(rng.permutation(epochs.full))
        theta = epochs.theta.copy()
        smooth, gradient = objective.smooth(theta)
        value = objective.penalised(theta, smooth)
        age = len(least)
        status = recorder.note(age, theta, value, objective.distance(theta, gradient))
        if status is not None:
            return status
        least.append(min(value, least[-1]))
        if age > _PATIENCE and least[-1 - _PATIENCE] - least[-1] <= _SHARE * abs(least[-1]):
            return Status.FLAT
        epochs.change_rate(first / (1.0 + age / _FALL))
