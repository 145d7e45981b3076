"""Forward-backward by logarithms, for sequences whose scores would leave the floating-point range.

One sequence at a time and a NumPy step a position: slow, and taken only where it must be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.sequence._data import IdArray, SequenceData


@dataclass(frozen=True, eq=False)
class LogSweep:
    """Normalised log forward and backward vectors of one sequence.

    Attributes
    ----------
    log_z : float
    alpha, beta : ndarray of shape (n, L)
        log alpha_t and log beta_t, each up to a constant.
    """

    data: SequenceData
    start: int
    lam: FloatArray
    mu_scores: FloatArray
    alpha: FloatArray
    beta: FloatArray
    log_z: float

    def singles(self) -> FloatArray:
        """Posterior of each label at each position, shape (n, L)."""
        joint = self.alpha + self.beta
        posterior: FloatArray = np.exp(joint - _log_sum(joint, 1)[:, None])
        return posterior

    def pair(self, t: int) -> FloatArray:
        """Posterior of (y', y) at the t-th position of the sequence, t > 0."""
        joint = (
            self.alpha[t - 1][:, None]
            + pair_scores(self.data, self.lam, self.start + t)
            + (self.mu_scores[t] + self.beta[t])
        )
        posterior: FloatArray = np.exp(joint - _log_sum(joint.reshape(-1), 0))
        return posterior


def _log_sum(values: FloatArray, axis: int) -> FloatArray:
    """Log of the sum of exponentials of finite numbers; SciPy's checks cost ten times the sum."""
    top = values.max(axis=axis, keepdims=True)
    total = np.log(np.exp(values - top).sum(axis=axis))
    return np.asarray(total + top.squeeze(axis))


def pair_ids(data: SequenceData, position: int) -> IdArray:
    """The bigram observations that hold at a position."""
    return data.bigram_ids[data.bigram_ptr[position] : data.bigram_ptr[position + 1]]


def pair_scores(data: SequenceData, lam: FloatArray, position: int) -> FloatArray:
    """Sum of lambda over the observations that hold at a position, shape (L, L)."""
    scores: FloatArray = lam[pair_ids(data, position)].sum(axis=0)
    return scores


def log_sweep(data: SequenceData, index: int, scores: FloatArray, lam: FloatArray) -> LogSweep:
    """Run both recursions over sequence ``index``.

    Parameters
    ----------
    scores : ndarray of shape (n, L)
        Sum of mu at each of its positions.
    lam : ndarray of shape (n_bigrams, L, L)
    """
    start, n = int(data.offsets[index]), len(scores)
    alpha, beta = scores.copy(), np.zeros_like(scores)
    log_z = 0.0
    for t in range(n):
        if t:
            arriving = alpha[t - 1][:, None] + pair_scores(data, lam, start + t)
            alpha[t] += _log_sum(arriving, 0)
        norm = float(_log_sum(alpha[t], 0))
        alpha[t] -= norm
        log_z += norm
    for t in range(n - 1, 0, -1):
        leaving = pair_scores(data, lam, start + t) + (scores[t] + beta[t])
        beta[t - 1] = _log_sum(leaving, 1)
        beta[t - 1] -= beta[t - 1].max()
    return LogSweep(data, start, lam, scores, alpha, beta, log_z)
