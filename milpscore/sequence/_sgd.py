"""SGD with the cumulative L1 penalty, a sequence a step."""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.sequence._data import SequenceData
from milpscore.sequence._prepared import Prepared, known_labels
from milpscore.sequence._stopping import Objective, Status
from milpscore.sequence._trace import Recorder, TrainOptions, TrainResult, train_by

# Rates tried on a sample, and its size.
_RATES = 0.8 * 0.5 ** np.arange(8)
_SAMPLE = 500
# So fast do the rates fall: as 1 / (1 + this times epochs).
_FALL = 0.2
# An epoch that does not lower the objective is dropped, and the rate is cut by this factor.
_CUT = 0.5
_LEAST_SHARE = 1e-9


def sgd(
    data: SequenceData | Prepared, rho1: float = 0.0, rho2: float = 0.0, **options: Any
) -> TrainResult:
    """Train by stochastic gradient descent, an epoch an iteration.

    A step is the gradient of one sequence; the L1 norm is the cumulative penalty of Tsuruoka et
    al., which makes exact zeros, the L2 norm an exponential decay. Both are paid when a feature is
    next met. The first rate is the best of eight on a sample of 500 sequences. It falls as
    1 / (1 + epochs / 5); an epoch that does not lower the objective is dropped and the rate halved.
    Quick to be near the optimum, slow to reach it.

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
    Tsuruoka, Tsujii & Ananiadou, "Stochastic gradient descent training for L1-regularized
    log-linear models with cumulative penalty" (2009), figs 1 and 2. The calibration is Bottou's.
    """
    return train_sgd(data, TrainOptions(rho1=rho1, rho2=rho2, **options))


def train_sgd(data: SequenceData | Prepared, options: TrainOptions) -> TrainResult:
    """The same with its options in one object, see :func:`sgd`."""
    return train_by(_run, data, options)


class _Epochs:
    """The data as the kernels want them, and the room that they need."""

    def __init__(self, objective: Objective) -> None:
        data = objective.prepared.data
        self.objective, self.layout = objective, data.layout
        self.offsets, self.labels = data.offsets, known_labels(data)
        self.data = (data.unigram_ptr, data.unigram_ids, data.bigram_ptr, data.bigram_ids)
        self.full = np.flatnonzero(data.lengths)
        most, L = int(data.lengths.max(initial=0)), data.n_labels
        self.rooms = (
            np.empty((most, L, L)), *(np.empty((most, L)) for _ in range(3)), np.empty(most)
        )  # fmt: skip

    def run(self, theta: FloatArray, order: IntArray, rates: FloatArray) -> FloatArray:
        """The parameters after a step for each sequence of ``order``; all penalties are paid."""
        from milpscore.sequence import _kernels_sgd

        n, objective = max(len(self.full), 1), self.objective
        theta = theta.copy()
        paid, faded = np.zeros_like(theta), np.zeros_like(theta)
        debts = np.zeros(2)
        _kernels_sgd.epoch(
            order,
            rates,
            objective.rho1 / n,
            objective.rho2 / n,
            self.offsets,
            self.labels,
            self.data,
            self._rows(theta),
            self._rows(paid),
            self._rows(faded),
            debts,
            self.rooms,
        )
        _kernels_sgd.pay(theta, paid, faded, debts[0], debts[1])
        return theta

    def _rows(self, vector: FloatArray) -> tuple[FloatArray, FloatArray]:
        mu, lam = self.layout.split(vector)
        return mu, lam.reshape(self.layout.n_bigrams, self.layout.n_labels**2)


def _calibrated(epochs: _Epochs, theta: FloatArray, rng: np.random.Generator) -> float:
    """The rate after whose steps a sample's objective is lowest."""
    objective = epochs.objective
    chosen = rng.permutation(epochs.full)[:_SAMPLE]
    if not len(chosen):
        return float(_RATES[0])
    share = len(chosen) / len(epochs.full)
    sample = Prepared(objective.prepared.data.subset(chosen))
    judge = Objective(sample, objective.rho1 * share, objective.rho2 * share)
    values = []
    for rate in _RATES:
        after = epochs.run(theta, chosen, np.full(len(chosen), rate))
        values.append(judge.penalised(after, judge.smooth(after)[0]))
    return float(_RATES[int(np.argmin(values))])


def _run(objective: Objective, start: FloatArray, recorder: Recorder) -> Status:
    theta = start
    smooth, gradient = objective.smooth(theta)
    value = objective.penalised(theta, smooth)
    status = recorder.note(0, theta, value, objective.distance(theta, gradient))
    if status is not None:
        return status
    rng = np.random.default_rng(recorder.options.random_state)
    epochs = _Epochs(objective)
    n = len(epochs.full)
    first = rate = _calibrated(epochs, theta, rng)
    iteration, age = 0, 0.0
    while True:
        order = rng.permutation(epochs.full)
        rates = rate / (1.0 + _FALL * (age + np.arange(n) / max(n, 1)))
        new = epochs.run(theta, order, rates)
        smooth, gradient = objective.smooth(new)
        reached = objective.penalised(new, smooth)
        iteration += 1
        status = recorder.note(iteration, new, reached, objective.distance(new, gradient))
        if status is not None:
            return status
        if reached < value:
            theta, value = new, reached
            age += 1.0
        else:
            rate *= _CUT
            if rate < _LEAST_SHARE * first:
                return Status.STALLED
