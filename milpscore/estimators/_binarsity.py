"""Estimators with the binarsity penalty: a step function a feature, few steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from milpscore.core.design import Column, FloatArray
from milpscore.core.errors import DataError
from milpscore.core.terms import SmoothLoss
from milpscore.data import BinnedDesign, Binner, apply_columns
from milpscore.data.binned import MAX_BINS
from milpscore.data.checking import refuse_missing, to_numbers
from milpscore.data.columns import Unseen
from milpscore.estimators._penalised import PenalisedModel
from milpscore.estimators._penalised_cv import PenalisedClassifierCVBase, PenalisedRegressorCVBase
from milpscore.estimators._penalised_tasks import PenalisedClassifierBase, PenalisedRegressorBase
from milpscore.penalties import Binarsity, data_driven_weights
from milpscore.proximal.engine import Algorithm, Maker

# rows of which a feature's one-hot columns are written out at a time
_ROWS = 1 << 16


class _Binarsity(PenalisedModel):
    """One-hot bins, kept as one-byte codes, and the penalty's weights found in them."""

    n_bins: int
    thresholds: Any
    max_distinct: int
    unseen: Unseen

    def _binner(self) -> Binner:
        return Binner(
            self.n_bins,
            thresholds=self.thresholds,
            max_distinct=self.max_distinct,
            unseen=self.unseen,
        )

    def _values(self, frame: pd.DataFrame) -> BinnedDesign:
        """The bin of every row in every feature."""
        codes = np.empty((len(frame), len(self._blocks)), dtype=np.uint8, order="F")
        for f, block in enumerate(self._blocks):
            columns = [self.columns_[j] for j in block]
            if len(block) > MAX_BINS:
                raise DataError(
                    f"feature {columns[0].feature!r} has {len(block)} bins, more than the"
                    f" {MAX_BINS} a code of one byte tells apart; use fewer, or merge categories."
                )
            codes[:, f] = bin_codes(columns, frame[[columns[0].feature]], self.unseen)
        return BinnedDesign(codes, tuple(len(block) for block in self._blocks))

    def _maker(self, design: Any, weight: FloatArray) -> Maker:
        in_bins = design.rmatvec(weight)
        counts = [in_bins[list(block)] for block in design.blocks]
        self.penalty_weights_ = data_driven_weights(counts, design.blocks)
        return lambda lam: Binarsity(lam, blocks=design.blocks, weights=self.penalty_weights_)

    def complexity(self) -> int:
        """The number of jumps between neighbouring bins."""
        rows = np.atleast_2d(self.coef_)
        jumps = [np.diff(rows[:, list(block)], axis=1) for block in self._blocks]
        return sum(int(np.count_nonzero(jump)) for jump in jumps)


def bin_codes(columns: Sequence[Column], frame: pd.DataFrame, unseen: Unseen) -> npt.NDArray[Any]:
    """The bin of each row in one feature; the number of bins where a row lies in none."""
    series = frame.iloc[:, 0]
    if all(column.kind == "interval" for column in columns):
        numbers = to_numbers(series)
        found = np.searchsorted([column.lower for column in columns[1:]], numbers, side="right")
        absent = np.isnan(numbers)
        if absent.any() and unseen == "error":
            refuse_missing({str(series.name): int(absent.sum())})
        return np.where(absent, len(columns), found)
    block = [tuple(range(len(columns)))]
    parts = [
        BinnedDesign.from_onehot(
            apply_columns(columns, frame.iloc[start : start + _ROWS], unseen=unseen), block
        ).codes[:, 0]
        for start in range(0, len(frame), _ROWS)
    ]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint8)


class BinarsityClassifier(_Binarsity, PenalisedClassifierBase):
    """Additive classification: the score of a feature is a step function of its bins.

    Parameters
    ----------
    lam : float
        The jumps' own weights are those of :func:`milpscore.penalties.data_driven_weights`.
    n_bins, thresholds, max_distinct, unseen :
        As in :class:`milpscore.data.Binner`; the bins are found anew in each ``fit``. Text,
        boolean and categorical features have one bin a category, in their order.
    loss, fit_intercept, tol, max_iter, algorithm :
        As in :class:`PenalisedModel`, where the attributes are listed too.
    class_weight :
        As in :class:`PenalisedClassifierBase`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, p)
        One entry a bin; those of a feature sum to 0.
    penalty_weights_ : ndarray of shape (p,)
        Weight of the jump into each bin.

    References
    ----------
    Alaya, Bussy, Gaiffas & Guilloux, "Binarsity: a penalization for one-hot encoded features",
    JMLR 20 (2019).
    """

    def __init__(
        self,
        *,
        lam: float = 0.1,
        n_bins: int = 10,
        thresholds: Mapping[str, Sequence[float]] | None = None,
        max_distinct: int = 10,
        unseen: Unseen = "error",
        loss: str | SmoothLoss = "logistic",
        class_weight: Mapping[Any, float] | str | None = None,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int | None = None,
        algorithm: Algorithm = "auto",
    ) -> None:
        self.lam = lam
        self.n_bins = n_bins
        self.thresholds = thresholds
        self.max_distinct = max_distinct
        self.unseen = unseen
        self.loss = loss
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.algorithm = algorithm


class BinarsityRegressor(_Binarsity, PenalisedRegressorBase):
    """Additive regression: the score of a feature is a step function of its bins.

    Parameters
    ----------
    lam, n_bins, thresholds, max_distinct, unseen :
        As in :class:`BinarsityClassifier`.
    loss, fit_intercept, tol, max_iter, algorithm :
        As in :class:`PenalisedModel`, where the attributes are listed too.
    """

    def __init__(
        self,
        *,
        lam: float = 0.1,
        n_bins: int = 10,
        thresholds: Mapping[str, Sequence[float]] | None = None,
        max_distinct: int = 10,
        unseen: Unseen = "error",
        loss: str | SmoothLoss = "squared",
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int | None = None,
        algorithm: Algorithm = "auto",
    ) -> None:
        self.lam = lam
        self.n_bins = n_bins
        self.thresholds = thresholds
        self.max_distinct = max_distinct
        self.unseen = unseen
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.algorithm = algorithm


class BinarsityClassifierCV(PenalisedClassifierCVBase):
    """A :class:`BinarsityClassifier` whose ``lam`` is cross-validated over its path.

    Parameters
    ----------
    estimator, lams, n_lams, ratio, cv, scoring, n_jobs, random_state :
        As in :class:`PenalisedModelCV`; the bins are found in each fold.
    """

    template = BinarsityClassifier


class BinarsityRegressorCV(PenalisedRegressorCVBase):
    """A :class:`BinarsityRegressor` whose ``lam`` is cross-validated over its path.

    Parameters
    ----------
    estimator, lams, n_lams, ratio, cv, scoring, n_jobs, random_state :
        As in :class:`PenalisedModelCV`; the bins are found in each fold.
    """

    template = BinarsityRegressor
