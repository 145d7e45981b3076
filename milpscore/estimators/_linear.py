"""Penalised linear estimators: any penalty with a prox, and Facets, EYE and binarsity by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, field, fields
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError, OptionError
from milpscore.core.statement import LAM, ProxPenalty, SmoothLoss
from milpscore.data import BinnedDesign, Binner
from milpscore.data.binned import MAX_BINS, bin_codes
from milpscore.data.columns import Expert, Unseen, expert_vector
from milpscore.estimators._base import parameters
from milpscore.estimators._penalised import (
    PenalisedClassifierBase,
    PenalisedModel,
    PenalisedRegressorBase,
)
from milpscore.penalties import (
    EYE,
    PENALTIES,
    Binarsity,
    Facets,
    StronglyConvexFacets,
    data_driven_weights,
)
from milpscore.proximal.engine import Algorithm, Maker, as_maker


@parameters
class _Fitted:
    """Parameters of every penalised model."""

    fit_intercept: bool = True
    tol: float = 1e-6
    max_iter: int | None = None
    algorithm: Algorithm = "auto"


@parameters
class _Classified(_Fitted):
    """Parameters of every classifier."""

    loss: str | SmoothLoss = "logistic"
    class_weight: Mapping[Any, float] | str | None = None


@parameters
class _Regressed(_Fitted):
    """Parameters of every regressor."""

    loss: str | SmoothLoss = "squared"


@parameters
class _AnyPenalty(PenalisedModel):
    """The meaning of ``penalty`` and ``lam``."""

    penalty: Any = field(default=None, kw_only=False)
    lam: float | None = None
    binner: Binner | None = None

    def _maker(self, design: Any, weight: FloatArray) -> Maker:
        given = "l1" if self.penalty is None else self.penalty
        if isinstance(given, str):
            return _named(given)

        def replaced(lam: float) -> ProxPenalty:
            # not sooner: a penalty without a lam (a box) can be fitted all the same
            return as_maker(given)(lam)

        return replaced

    def _penalty(self, maker: Maker) -> ProxPenalty:
        if self.lam is not None:
            return maker(self.lam)
        if self.penalty is None or isinstance(self.penalty, str | type):
            return maker(LAM)
        own: ProxPenalty = self.penalty
        return own


@parameters
class PenalisedClassifier(_AnyPenalty, _Classified, PenalisedClassifierBase):
    """Linear classification under any penalty of :mod:`milpscore.penalties`.

    Parameters
    ----------
    penalty : penalty, str or class, optional
        An instance, or a name of ``milpscore.penalties.PENALTIES`` or a class where lam is all it
        needs. None is "l1".
    lam : float, optional
        The penalty's weight. None leaves an instance its own, and is 0.01 for a name.
    loss, fit_intercept, tol, max_iter, algorithm, binner :
        As in :class:`PenalisedModel`, where the attributes are listed too.
    class_weight :
        As in :class:`PenalisedClassifierBase`.

    Examples
    --------
    >>> from milpscore.estimators import PenalisedClassifier
    >>> from milpscore.penalties import Facets
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> model = PenalisedClassifier(Facets(0.2)).fit(X, y)
    >>> model.coef_.round(6), bool(model.result_.gap <= 1e-6)
    (array([[1.]]), True)
    """


@parameters
class PenalisedRegressor(_AnyPenalty, _Regressed, PenalisedRegressorBase):
    """Linear regression under any penalty of :mod:`milpscore.penalties`.

    Parameters
    ----------
    penalty, lam :
        As in :class:`PenalisedClassifier`.
    loss, fit_intercept, tol, max_iter, algorithm, binner :
        As in :class:`PenalisedModel`, where the attributes are listed too.
    """


@parameters
class _Facets(PenalisedModel):
    """The meaning of ``gamma`` and ``eps``."""

    lam: float = LAM
    gamma: float = 1.0
    eps: float = 0.0
    binner: Binner | None = None

    def _maker(self, design: Any, weight: FloatArray) -> Maker:
        if self.eps == 0:
            return lambda lam: Facets(lam, self.gamma)
        return lambda lam: StronglyConvexFacets(lam, eps=self.eps, gamma=self.gamma)


@parameters
class FacetsClassifier(_Facets, _Classified, PenalisedClassifierBase):
    """Linear classification with coefficients that prefer the multiples of ``gamma``.

    Parameters
    ----------
    lam : float
    gamma : float
        The unit of the coefficient grid: whole numbers where gamma = 1.
    eps : float
        0 is :class:`milpscore.penalties.Facets`; beyond it, up to 1,
        :class:`milpscore.penalties.StronglyConvexFacets`, whose optimum is unique.
    loss, fit_intercept, tol, max_iter, algorithm, binner :
        As in :class:`PenalisedModel`, where the attributes are listed too.
    class_weight :
        As in :class:`PenalisedClassifierBase`.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker, "Learning interpretable models using soft integrity
    constraints" (2020).
    """


@parameters
class FacetsRegressor(_Facets, _Regressed, PenalisedRegressorBase):
    """Linear regression with coefficients that prefer the multiples of ``gamma``.

    Parameters
    ----------
    lam, gamma, eps :
        As in :class:`FacetsClassifier`.
    loss, fit_intercept, tol, max_iter, algorithm, binner :
        As in :class:`PenalisedModel`, where the attributes are listed too.
    """


@parameters
class _Eye(PenalisedModel):
    """The meaning of ``expert``."""

    lam: float = LAM
    expert: Expert = None
    binner: Binner | None = None

    def _maker(self, design: Any, weight: FloatArray) -> Maker:
        known = expert_vector(self.expert, self.columns_, self._features)
        return lambda lam: EYE(lam, expert=known)


@parameters
class EyeClassifier(_Eye, _Classified, PenalisedClassifierBase):
    """Linear classification that favours the features an expert knows to matter.

    Parameters
    ----------
    lam : float
    expert : sequence of names, mapping of name to number, or array of numbers in [0, 1], optional
        What is known: the names of the features (or of single design columns) that matter; or a
        number a name, 1 for known and 0 for unknown; or such numbers, one a feature or one a
        design column. None: nothing is known, which is the lasso with 2 lam.
    loss, fit_intercept, tol, max_iter, algorithm, binner :
        As in :class:`PenalisedModel`, where the attributes are listed too.
    class_weight :
        As in :class:`PenalisedClassifierBase`.

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (2018).
    """


@parameters
class EyeRegressor(_Eye, _Regressed, PenalisedRegressorBase):
    """Linear regression that favours the features an expert knows to matter.

    Parameters
    ----------
    lam, expert :
        As in :class:`EyeClassifier`.
    loss, fit_intercept, tol, max_iter, algorithm, binner :
        As in :class:`PenalisedModel`, where the attributes are listed too.
    """


@parameters
class _Binarsity(PenalisedModel):
    """One-hot bins, kept as one-byte codes, and the penalty's weights found in them."""

    lam: float = LAM
    n_bins: int = 10
    thresholds: Mapping[str, Sequence[float]] | None = None
    max_distinct: int = 10
    unseen: Unseen = "error"

    # rows of which a feature's one-hot columns are written out at a time
    rows_at_once: ClassVar[int] = 1 << 16

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
            codes[:, f] = bin_codes(
                columns, frame[[columns[0].feature]], self.unseen, self.rows_at_once
            )
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


@parameters
class BinarsityClassifier(_Binarsity, _Classified, PenalisedClassifierBase):
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


@parameters
class BinarsityRegressor(_Binarsity, _Regressed, PenalisedRegressorBase):
    """Additive regression: the score of a feature is a step function of its bins.

    Parameters
    ----------
    lam, n_bins, thresholds, max_distinct, unseen :
        As in :class:`BinarsityClassifier`.
    loss, fit_intercept, tol, max_iter, algorithm :
        As in :class:`PenalisedModel`, where the attributes are listed too.
    """


def _named(name: str) -> Maker:
    """The penalty of a name as a function of lam.

    Raises
    ------
    OptionError
        There is none of that name, or lam is not all it needs.
    """
    found: Any = PENALTIES[name]
    needed = [f.name for f in fields(found) if f.default is MISSING]
    if needed != ["lam"]:
        more = ", ".join(field for field in needed if field != "lam")
        raise OptionError(
            f"the penalty {name!r} needs {more}; pass an instance, milpscore.penalties."
            f"{found.__name__}({', '.join(f'{field}=...' for field in needed)})."
        )
    made: Maker = found
    return made
