"""Estimators of the risk score: integer points whose total is a probability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from milpscore.constraints import Constraint
from milpscore.core.design import Design, FloatArray
from milpscore.core.errors import DataError, NotApplicableError
from milpscore.core.terms import SmoothLoss
from milpscore.data import Binner, apply_columns
from milpscore.data.checking import validated_frame
from milpscore.estimators._base import CardClassifier
from milpscore.estimators._cv import CardClassifierCV
from milpscore.losses.registry import link_of
from milpscore.scorecard import calibration_table


def _says_probabilities(estimator: Any) -> bool:
    """Whether the loss is a likelihood of the two classes."""
    inner = getattr(estimator, "estimator", estimator)
    loss = "logistic" if inner is None else inner.loss
    if link_of(loss) is None:
        raise NotApplicableError(
            f"the loss {getattr(loss, 'name', loss)!r} is no likelihood of two classes and gives "
            "no probabilities: use loss='logistic' or 'probit'"
        )
    return True


class RiskScoreClassifier(CardClassifier):
    """The integer score of least logistic loss: its total is a risk, not only a decision.

    The risk of a row is 1 / (1 + exp(-(total - T) / scale)), and it is answered positive where the
    risk is at least 1/2. With ``class_weight`` or ``sample_weight`` the risks are those of the
    population so weighted.

    Parameters
    ----------
    loss, scale, coef_min, coef_max, coef_sets, max_terms, l0_penalty, penalty, lam, expert, \
intercept, intercept_bounds, class_weight :
        As in :func:`milpscore.formulations.risk_score`.
    heuristic : bool
        Keep the start card, found in a fraction of a second, and prove nothing: the claim is
        "feasible".
    binner, use_start, solver, time_limit, mip_gap, node_limit, threads, random_state, verbose :
        As in :class:`CardClassifier`, where the attributes are listed too.

    Attributes
    ----------
    risk_table_ : DataFrame
        The calibration table of the training rows, one line for each total that occurs: ``total``,
        ``risk`` (of the model), ``observed`` (weighted share of positive rows), ``lower`` and
        ``upper`` (95 % Wilson interval of that share), ``rows``, ``positives`` and ``weight``.

    Examples
    --------
    >>> from milpscore.estimators import RiskScoreClassifier
    >>> X, y = [[0], [0], [0], [1], [1], [1]], [0, 0, 1, 0, 1, 1]
    >>> card = RiskScoreClassifier().fit(X, y)
    >>> card.predict_proba([[0], [1]])[:, 1].round(2).tolist()
    [0.27, 0.73]
    """

    formulation = "risk_score"

    risk_table_: pd.DataFrame

    def __init__(
        self,
        *,
        loss: str | SmoothLoss = "logistic",
        scale: float = 1.0,
        coef_min: int | Sequence[int] | Mapping[str, int] = -5,
        coef_max: int | Sequence[int] | Mapping[str, int] = 5,
        coef_sets: Mapping[str, Sequence[int]] | None = None,
        max_terms: int | None = None,
        l0_penalty: float = 1e-6,
        penalty: Literal["none", "l1", "l2", "facets", "eye"] = "none",
        lam: float = 0.0,
        expert: Any = None,
        intercept: Literal["zero", "integer", "real"] = "integer",
        intercept_bounds: Sequence[float] | None = None,
        constraints: Sequence[Constraint] = (),
        class_weight: Mapping[Any, float] | str | None = None,
        heuristic: bool = False,
        binner: Binner | None = None,
        use_start: bool = True,
        solver: str = "auto",
        time_limit: float = 4.0,
        mip_gap: float = 0.0,
        node_limit: int | None = None,
        threads: int = 1,
        random_state: Any = 0,
        verbose: bool = False,
    ) -> None:
        self.loss = loss
        self.scale = scale
        self.coef_min = coef_min
        self.coef_max = coef_max
        self.coef_sets = coef_sets
        self.max_terms = max_terms
        self.l0_penalty = l0_penalty
        self.penalty = penalty
        self.lam = lam
        self.expert = expert
        self.intercept = intercept
        self.intercept_bounds = intercept_bounds
        self.constraints = constraints
        self.class_weight = class_weight
        self.heuristic = heuristic
        self.binner = binner
        self.use_start = use_start
        self.solver = solver
        self.time_limit = time_limit
        self.mip_gap = mip_gap
        self.node_limit = node_limit
        self.threads = threads
        self.random_state = random_state
        self.verbose = verbose

    def _describe(self, design: Design) -> None:
        """The calibration table of the training rows."""
        totals = self.scorecard_.score_design(design.X)
        self.risk_table_ = calibration_table(
            self.scorecard_, totals, design.y > 0, sample_weight=design.weight
        )

    @available_if(_says_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """The risk of each row's total, and one minus it.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or list of rows, shape (n, q)

        Returns
        -------
        ndarray of shape (n, 2)
            In the order of ``classes_``; the second is above 1/2 exactly where the answer is
            positive, a tie by one float.

        Raises
        ------
        DataError
            The columns are not those of ``fit``, or a value has no stated result.
        """
        totals = self._totals(X)
        risk = self.scorecard_.risks(totals)
        return np.column_stack([1.0 - risk, risk])

    @available_if(_says_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithm of :meth:`predict_proba`, shape (n, 2); -inf where a risk rounds to 0 or 1."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def calibration_table(self, X: Any, y: Any, sample_weight: Any = None) -> pd.DataFrame:
        """The table :attr:`risk_table_` of other rows, say of held-out ones.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or list of rows, shape (n, q)
        y : array of shape (n,)
            Labels among ``classes_``.
        sample_weight : array of shape (n,), optional

        Returns
        -------
        DataFrame

        Raises
        ------
        DataError
            The columns are not those of ``fit``, or a label is not one of the two.
        """
        totals, labels = self._totals(X), column_or_1d(y)
        if not np.isin(labels, self.classes_).all():
            raise DataError(f"y holds labels other than {self.classes_.tolist()}: leave them out")
        positive = labels == self.classes_[1]
        return calibration_table(self.scorecard_, totals, positive, sample_weight)

    def _totals(self, X: Any) -> FloatArray:
        """Totals of rows of raw data, shape (n,)."""
        check_is_fitted(self)
        frame = validated_frame(self, X, reset=False)
        values = apply_columns(self.binner_.columns_, frame, unseen=self.binner_.unseen)
        return self.scorecard_.score_design(values)


class RiskScoreClassifierCV(CardClassifierCV):
    """A :class:`RiskScoreClassifier` whose ``max_terms`` and others are cross-validated.

    Parameters
    ----------
    estimator, cv, scoring, n_jobs, random_state :
        As in :class:`CardClassifierCV`; ``scoring`` is the log likelihood unless given.
    max_terms, scale, l0_penalty, lam : sequence, optional
        The values to choose from; None keeps the estimator's own.
    """

    template = RiskScoreClassifier
    searched = ("max_terms", "scale", "l0_penalty", "lam")

    def __init__(
        self,
        estimator: RiskScoreClassifier | None = None,
        *,
        max_terms: Sequence[int] | None = (1, 2, 3, 4, 5),
        scale: Sequence[float] | None = None,
        l0_penalty: Sequence[float] | None = None,
        lam: Sequence[float] | None = None,
        cv: Any = 5,
        scoring: Any = "neg_log_loss",
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.max_terms = max_terms
        self.scale = scale
        self.l0_penalty = l0_penalty
        self.lam = lam
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.random_state = random_state

    @available_if(_says_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """As :meth:`RiskScoreClassifier.predict_proba`, of ``best_estimator_``."""
        check_is_fitted(self)
        found: FloatArray = self.best_estimator_.predict_proba(X)
        return found

    @available_if(_says_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithm of :meth:`predict_proba`, shape (n, 2)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))
