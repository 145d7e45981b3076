"""Classifiers whose answer is a card: one base, one dataclass of parameters a formulation."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from milpscore import scorecard
from milpscore.core.card import DecisionRule
from milpscore.core.clock import Clock
from milpscore.core.design import Design, FloatArray, IntArray, plain_label
from milpscore.core.errors import (
    DataError,
    FormulationError,
    Registry,
    SizeError,
    TooManyPatternsError,
)
from milpscore.core.program import Program
from milpscore.core.result import Result
from milpscore.core.statement import LAM, SmoothLoss, Statement
from milpscore.data import Binner
from milpscore.data.binner import named_table
from milpscore.data.checking import (
    MAX_CELLS,
)
from milpscore.data.sources import at_size
from milpscore.estimators._base import (
    Decided,
    class_labels,
    given_design,
    parameters,
    rows_by_name,
    warn_of_questions,
    warn_of_unproved,
)
from milpscore.estimators._solved import (
    Exact,
    PerColumn,
    Pointed,
    Ranged,
    Risky,
    Rounded,
    SolvedModel,
)
from milpscore.fitting import FORMULATION, MAX_TERMS, fit_card, with_few_terms
from milpscore.losses import RiskLoss
from milpscore.scorecard import Scorecard, certified_card
from milpscore.scorecard.certified import printed_divisor
from milpscore.scorecard.decisions import DecisionBy, is_rare, one_answer

if TYPE_CHECKING:
    import pandas as pd


Intercept = Literal["zero", "integer", "real"]


@dataclass(frozen=True, eq=False)
class _Shown:
    """What a fit shows of its verified card, made where it is first asked for."""

    statement: Statement
    result: Result
    threshold_by: str | None

    @cached_property
    def card(self) -> Scorecard:
        """The card with what is claimed of it."""
        return certified_card(
            self.statement.design, self.result, statement=self.statement,
            threshold_by=self.threshold_by,
        )  # fmt: skip

    @cached_property
    def risks(self) -> pd.DataFrame:
        """The calibration table of the training rows."""
        design, card = self.statement.design, self.card
        return scorecard.calibration_table(
            card, card.score_design(design.X), design.y > 0, design.weight, counts=design.rows
        )

    def __getstate__(self) -> dict[str, Any]:
        """What is shown; the statement, whose rules are code, stays behind."""
        return {"card": self.card, "risks": self.risks}


@parameters
class _Answering:
    """Parameters of the cards that answer with a class."""

    class_weight: Mapping[Any, float] | str | None = None
    threshold_by: str | None = None


class CardClassifier(_Answering, Decided, SolvedModel):
    """Base of the estimators: binary labels, integer points, a certificate.

    A subclass names its ``formulation``; its parameters are those of the builder, by the builder's
    own names, and the ones below. The positive label is ``classes_[1]``, the last in order, as
    everywhere in scikit-learn.

    Parameters
    ----------
    constraints, class_weight :
        As in the builders.
    binner : Binner, "auto" or None
        Makes the design columns; "auto" is ``Binner()``. It is cloned and fitted in each ``fit``,
        so that in a cross-validation every fold finds its own cuts; the parameters of one that
        is given are reached as ``binner__n_bins`` and so on. None takes numbers as they are, and
        one column a category of all other features.
    use_start : bool
        Exact programs only: give the solver a card found by a heuristic. (scikit-learn's
        ``warm_start`` means something else: to go on from the last call of ``fit``.)
    heuristic : bool
        Exact programs only: no solver runs and nothing is proved; the card is found within
        milliseconds, and its claim is "feasible".
    polish : bool
        With ``heuristic``: improve that card by the searches a solve starts from.
    threshold_by : str or None
        From which total the answer is positive: "youden", "prevalence", "cost=10:1" or
        "net-benefit=10%", chosen on the training rows; None is "prevalence" for a risk score and
        otherwise the fit's own. See :func:`milpscore.scorecard.certified_card`.
    n_draws : int
        Relaxed programs only: draws of the randomised rounding.
    solver : str
        As in :func:`milpscore.solve`.
    time_limit : float
        Seconds. A solve that hits it can end elsewhere in a second run; one that ends on its own
        or at ``node_limit`` cannot.
    mip_gap : float
        Exact programs only: relative gap at which the solver may stop; by default what the claim
        "optimal" allows.
    mip_gap_abs : float
        Exact programs only: absolute gap at which the solver may stop.
    node_limit : int or None
        Exact programs only: branch-and-bound nodes.
    threads : int
        Processes of the tree search; threads of HiGHS, whose runs are then not reproducible.
    client : str, distributed.Client or None
        Exact programs only: a Dask cluster, by its scheduler's address, whose workers search the
        tree together. (A client itself works as well, but is not to be cloned or pickled.)
    memory_limit : int or str or None
        Exact programs only: what the tree search may keep open nodes in, such as "2GB".
    random_state : int, RandomState instance or None
        Seed of the solver and of the rounding.
    verbose : bool
        Show a progress line on standard error.

    Attributes
    ----------
    scorecard_ : Scorecard
        The card, to be printed, saved, or turned into SQL.
    result_ : Result
        Claim, objective, bound, gap, times.
    program_ : Program
        What was solved. A loaded pickle states it anew when it is asked for.
    classes_ : ndarray of shape (2,)
        The labels in order; the second is the positive one.
    coef_ : ndarray of int64, shape (1, p)
        Points of the scorecard, in the order of ``get_feature_names_out()``: those of the result,
        but for a common divisor that only the range of scales kept in.
    intercept_ : ndarray of shape (1,)
        -T. ``decision_function`` is half a step of the data's grid above
        ``coef_ @ x + intercept_``, because a tie is positive.
    binner_ : Binner
        Fitted.
    warnings_ : tuple of str
        Constant, duplicate and suspicious columns; all are legal.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where ``fit`` was given names.
    """

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"max_terms": (1, 2, 3, 4, 5)}
    default_scoring: ClassVar[str] = "accuracy"

    time_limit: float
    _shown: Any  # what there is of the card: a _Shown, or of ordered classes an OrdinalCard

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """State the program on the data, solve it, and keep the best verified card.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix, list of rows, or table of another library, (n, q)
            Relations of DuckDB, large files, and tables whose columns would not fit into memory are
            read as by :func:`milpscore.data.read_patterns`, and with too many distinct rows fitted
            as by :func:`milpscore.sampling.fit_all_rows`. Or a Design, whose columns, classes and
            weights are used as they are.
        y : array of shape (n,), or str
            Two distinct labels, or the name of their column in X.
        sample_weight : array of shape (n,) or str, optional
            Finite, non-negative. A row of weight 2 counts as two rows.

        Returns
        -------
        CardClassifier
            Itself.

        Raises
        ------
        DataError, FormulationError, SizeError, OptionError
            The data or a parameter cannot be used; all are ``ValueError``.
        SolverError
            No card meets every requirement, or none was found.

        Warns
        -----
        ConvergenceWarning
            The solver stopped before the card was proved to be the best to ``mip_gap``; the message
            says how far from it the card may be, and what to do.
        UserWarning
            The card answers all training rows alike, as it does where one class is rare; it scores
            the more frequent of two words; or a column may mean something else than was read.
        """
        clock = Clock.of(self.time_limit)
        if self.threshold_by is not None:
            DecisionBy.of(self.threshold_by)
        self.binner_ = self._binner() or Binner.raw()
        try:
            fitted = self._design(X, y, sample_weight), self.formulation
            program, result = fit_card(*fitted, **{**self._arguments(), "time_limit": clock})
        except TooManyPatternsError:
            if sample_weight is not None or not hasattr(self, "heuristic"):
                raise
            program, result = self._fit_all_rows(X, y, clock)
        design = program.statement.design.unpaired
        self._take(program, result)
        warn_of_unproved(self, [result])
        # who gives a Design has chosen the label
        warn_of_questions(self, self.warnings_, None if isinstance(X, Design) else design)
        if is_rare(design) and (odd := one_answer(*self._answered(program, result), design)):
            warnings.warn(f"{type(self).__name__}: {odd}.", UserWarning, stacklevel=2)
        return self

    def _answered(self, program: Program, result: Result) -> tuple[IntArray, DecisionRule]:
        """Points and rule of the answers; without the card if these are the fit's own."""
        card, step = result.card, program.statement.design.step
        chosen = self.threshold_by is not None or isinstance(program.statement.loss, RiskLoss)
        if card is None or chosen or step is None or program.formulation == "auc":
            return self.coef_[0], self.scorecard_.bare_rule
        return card.coefficients, DecisionRule(card.threshold, step)

    def _design(self, X: Any, y: Any, sample_weight: Any) -> Design:
        """Return the design of the binner, merged if its rows would not fit into memory."""
        if (design := given_design(X, y, sample_weight)) is not None:
            self.binner_ = Binner.raw()._take(design)
            self.classes_ = np.array(design.classes)
            return design
        given = {"sample_weight": sample_weight, "class_weight": self.class_weight}
        try:
            if not at_size(X) and not self._wide(X):
                X, y, given["sample_weight"] = rows_by_name(X, y, sample_weight)
                labels, self.classes_ = class_labels(y)
                return self.binner_.fit_design(X, labels, positive=self.classes_[1], **given)
        except SizeError:
            pass  # too many rows, but perhaps not too many distinct ones: merged as below
        design = self.binner_.fit_patterns(X, y, positive=max, **given)
        self.classes_ = np.array(design.classes)
        return design

    def _wide(self, X: Any) -> bool:
        """Whether the bins of a table in memory would not fit into it, if each feature has all."""
        bins: Any = 2 if self.binner_.n_bins is None else self.binner_.n_bins
        cells = math.prod(getattr(X, "shape", (0,))) * (9 if bins == "auto" else bins - 1)
        return cells > MAX_CELLS and find_spec("duckdb") is not None

    def _fit_all_rows(self, X: Any, y: Any, clock: Clock) -> tuple[Program, Result]:
        """Return the card of a table of too many patterns; the binner is that of its features."""
        from milpscore.sampling import fit_all_rows

        table, names = named_table(X, y=y)
        program, result = fit_all_rows(
            table, str(names["y"]), self.formulation, class_weight=self.class_weight,
            reading={"binner": self.binner_, "positive": max, "progress": False},
            **{**self._arguments(), "time_limit": clock},
        )  # fmt: skip
        design = self.binner_.take_table(program.statement.design, X, names)
        self.classes_ = np.array(design.classes)
        return program, result

    def _take(self, program: Program, result: Result) -> None:
        """Set the attributes a fit fills."""
        card = self._keep(program, result)
        for label in program.statement.design.classes:
            plain_label(label)  # refused here where no card can carry it
        self._shown = _Shown(program.statement, result, self.threshold_by)
        divisor = printed_divisor(program.statement, card.coefficients)
        self.coef_ = card.coefficients[np.newaxis, :] // divisor

    def decision_function(self, X: Any) -> FloatArray:
        """w.x - T + step/2: > 0 exactly where the answer is positive, and never 0.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix, list of rows, or Design, shape (n, q)

        Returns
        -------
        ndarray of shape (n,)
            See :meth:`milpscore.scorecard.Scorecard.decision_function` for data on no grid.

        Raises
        ------
        DataError
            The columns are not those of ``fit``, or a value has no stated result.
        """
        totals = self._totals(X)  # this looks first whether there is a card
        return self.scorecard_.rule.decision(totals)

    def _probabilities(self, X: Any) -> FloatArray:
        """One minus the risk of each row's total, and the risk, shape (n, 2)."""
        risk = self.scorecard_.risks(self._totals(X))
        return np.column_stack([1.0 - risk, risk])

    @property
    def intercept_(self) -> FloatArray:
        """-T of the decision for ``coef_``."""
        return np.array([float(-self.scorecard_.bare_rule.threshold)])

    @property
    def scorecard_(self) -> Scorecard:
        """The card, made where it is first asked for."""
        check_is_fitted(self)
        card: Scorecard = self._shown.card
        return card

    def report(self, path: str | Path | None = None, **options: Any) -> str:
        """The page about the card on its training rows.

        Parameters
        ----------
        path : str or Path, optional
            Where to write it.
        **options :
            As in :func:`milpscore_show.report.report`: ``validation=(X, y)`` for other rows,
            ``by=X["sex"]`` for subgroups, ``bootstraps``, ``outcome``, ``population`` and so on.

        Returns
        -------
        str
            The page.
        """
        from milpscore_show.report import report

        program = self.program_
        given = {"program": program, "result": self.result_, **options}
        return report(self.scorecard_, program.statement.design.unpaired, path=path, **given)

    def _points(self) -> Scorecard:
        return self.scorecard_

    def complexity(self) -> int:
        """What the one-standard-error rule makes small: the number of nonzero points."""
        return int(np.count_nonzero(self.coef_))

    def __sklearn_tags__(self) -> Any:
        """Two classes only."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@parameters
class SlimClassifier(Exact, Pointed, CardClassifier):
    """The integer score with the fewest (weighted) training errors, terms penalised.

    Parameters
    ----------
    coef_min, coef_max, coef_sets, max_terms, max_cuts, l0_penalty, l1_penalty, penalty, lam, \
intercept_bounds, threshold_gap, big_m, pair_covers, constraints, class_weight :
        As in :func:`milpscore.formulations.slim`.
    binner, use_start, heuristic, polish, threshold_by, solver, time_limit, mip_gap, mip_gap_abs, \
node_limit, threads, client, memory_limit, random_state, verbose :
        As in :class:`CardClassifier`, where the attributes are listed too.

    Examples
    --------
    >>> from milpscore.estimators import SlimClassifier
    >>> X, y = [[0, 1], [1, 1], [1, 0], [0, 0]], [0, 1, 1, 0]
    >>> card = SlimClassifier(max_terms=1).fit(X, y)
    >>> card.coef_.tolist(), str(card.result_.claim)
    ([[1, 0]], 'optimal')
    """

    formulation = "slim"

    max_cuts: int | Mapping[str, int] | None = None
    l0_penalty: float = 1e-3
    l1_penalty: float = 0.0
    penalty: Literal["none", "tv", "binarsity"] = "none"
    lam: float = 0.0
    intercept_bounds: Sequence[float] | None = None
    threshold_gap: float | None = None
    big_m: Literal["joint", "row"] = "joint"
    pair_covers: bool = True


@parameters
class HingeClassifier(Exact, Ranged, CardClassifier):
    """The integer score of least hinge loss.

    Parameters
    ----------
    margin, weights, coef_min, coef_max, max_terms, l0_penalty, l1_penalty, intercept, \
intercept_bounds, constraints, class_weight :
        As in :func:`milpscore.formulations.hinge`.
    binner, use_start, heuristic, polish, threshold_by, solver, time_limit, mip_gap, mip_gap_abs, \
node_limit, threads, client, memory_limit, random_state, verbose :
        As in :class:`CardClassifier`, where the attributes are listed too.
    """

    formulation = "hinge"

    margin: float = 1.0
    weights: Literal["binary", "ternary"] | None = None
    max_terms: int | None = MAX_TERMS
    l0_penalty: float = 0.0
    l1_penalty: float = 0.0
    intercept: Intercept = "integer"
    intercept_bounds: Sequence[float] | None = None


@parameters
class RiskScoreClassifier(Exact, Risky, CardClassifier):
    """The integer score of least logistic loss: its total is a risk, not only a decision.

    The risk of a row is 1 / (1 + exp(-(total - T) / scale)), and it is answered positive where the
    risk is high: at least the share of positives, unless ``threshold_by`` says otherwise. With
    ``class_weight`` or ``sample_weight`` the risks are those of the population so weighted.

    Parameters
    ----------
    loss, scale, coef_min, coef_max, coef_sets, max_terms, max_cuts, l0_penalty, penalty, lam, \
expert, intercept, intercept_bounds, constraints, class_weight :
        As in :func:`milpscore.formulations.risk_score`.
    binner, use_start, heuristic, polish, threshold_by, solver, time_limit, mip_gap, mip_gap_abs, \
node_limit, threads, client, memory_limit, random_state, verbose :
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
    default_scoring = "neg_log_loss"

    loss: str | SmoothLoss = "logistic"
    intercept: Intercept | None = None
    intercept_bounds: Sequence[float] | None = None

    @property
    def risk_table_(self) -> pd.DataFrame:
        """The calibration table of the training rows, made where it is first asked for."""
        check_is_fitted(self)
        table: pd.DataFrame = self._shown.risks
        return table

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
        return scorecard.calibration_table(self.scorecard_, totals, positive, sample_weight)


@parameters
class FacetsHingeClassifier(Exact, CardClassifier):
    """The integer score of least hinge loss and Facets penalty.

    Parameters
    ----------
    lam, gamma, margin, coef_min, coef_max, max_terms, intercept, intercept_bounds, \
constraints, class_weight :
        As in :func:`milpscore.formulations.facets_hinge`.
    binner, use_start, heuristic, polish, threshold_by, solver, time_limit, mip_gap, mip_gap_abs, \
node_limit, threads, client, memory_limit, random_state, verbose :
        As in :class:`CardClassifier`, where the attributes are listed too.
    """

    formulation = "facets_hinge"
    default_grid: ClassVar = {"lam": (0.003, 0.01, 0.03, 0.1, 0.3)}

    lam: float = LAM
    gamma: float = 1.0
    margin: float = 1.0
    coef_min: PerColumn | None = None
    coef_max: PerColumn | None = None
    max_terms: int | None = MAX_TERMS
    intercept: Intercept = "real"
    intercept_bounds: Sequence[float] | None = None


@parameters
class FusedLassoClassifier(Exact, Ranged, CardClassifier):
    """The integer score of least hinge loss and few jumps between neighbouring bins.

    Parameters
    ----------
    lam, margin, coef_min, coef_max, reference, features, weights, intercept, intercept_bounds, \
constraints, class_weight :
        As in :func:`milpscore.formulations.fused_lasso`.
    binner, use_start, heuristic, polish, threshold_by, solver, time_limit, mip_gap, mip_gap_abs, \
node_limit, threads, client, memory_limit, random_state, verbose :
        As in :class:`CardClassifier`, where the attributes are listed too; ``binner="auto"``
        stands for ``Binner(encoding="onehot")``.
    """

    formulation = "fused_lasso"
    default_grid: ClassVar = {"lam": (0.001, 0.003, 0.01, 0.03, 0.1)}

    lam: float = LAM
    margin: float = 1.0
    reference: Literal["first", "lowest"] = "first"
    features: Sequence[str] | None = None
    weights: Sequence[float] | Literal["data"] | None = None
    intercept: Intercept = "integer"
    intercept_bounds: Sequence[float] | None = None

    def complexity(self) -> int:
        """The number of jumps between neighbouring bins."""
        points = self.coef_[0]
        return sum(int(np.count_nonzero(np.diff(points[list(b)]))) for b in self.scorecard_.blocks)


@parameters
class ConvexRoundingClassifier(Rounded, CardClassifier):
    """The best card among roundings of the LP over the hull of binary or ternary weights.

    Parameters
    ----------
    margin, weights, intercept, intercept_bounds, constraints, class_weight :
        As in :func:`milpscore.formulations.convex_rounding`.
    binner, threshold_by, n_draws, solver, time_limit, threads, random_state, verbose :
        As in :class:`CardClassifier`, where the attributes are listed too.
    """

    formulation = "convex_rounding"
    default_grid: ClassVar = {"margin": (0.5, 1.0, 2.0)}

    margin: float = 1.0
    weights: Literal["binary", "ternary"] = "ternary"
    intercept: Intercept = "integer"
    intercept_bounds: Sequence[float] | None = None


@parameters
class SparseRoundingClassifier(Rounded, CardClassifier):
    """The best card among roundings of the LP over weights with at most ``max_terms`` terms.

    Parameters
    ----------
    max_terms, margin, weights, intercept, intercept_bounds, constraints, class_weight :
        As in :func:`milpscore.formulations.sparse_rounding`; the builder has no default
        for ``max_terms``.
    binner, threshold_by, n_draws, solver, time_limit, threads, random_state, verbose :
        As in :class:`CardClassifier`, where the attributes are listed too.
    """

    formulation = "sparse_rounding"

    max_terms: int = MAX_TERMS
    margin: float = 1.0
    weights: Literal["binary", "ternary"] = "ternary"
    intercept: Intercept = "integer"
    intercept_bounds: Sequence[float] | None = None


@parameters
class FormulationClassifier(Exact, CardClassifier):
    """The card of any formulation by its name, one registered by a user included.

    Parameters
    ----------
    formulation : str
        A name of :data:`milpscore.formulations.FORMULATIONS`.
    arguments : mapping
        The builder's own.
    binner, use_start, heuristic, polish, threshold_by, solver, time_limit, mip_gap, mip_gap_abs, \
node_limit, threads, client, memory_limit, random_state, verbose :
        As in :class:`CardClassifier`, where the attributes are listed too.
    """

    formulation: str = FORMULATION
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def _arguments(self) -> dict[str, Any]:
        given = super()._arguments()
        del given["formulation"]
        if not given["constraints"]:
            del given["constraints"]  # a builder need not take any
        arguments = with_few_terms(self.formulation, given.pop("arguments"))
        return {**given, **arguments}


_OWN = (
    ConvexRoundingClassifier,
    FacetsHingeClassifier,
    FusedLassoClassifier,
    HingeClassifier,
    RiskScoreClassifier,
    SlimClassifier,
    SparseRoundingClassifier,
)
ESTIMATORS: Registry[type[CardClassifier]] = Registry(
    "estimator for",
    {
        **{each.formulation: f"{__name__}:{each.__name__}" for each in _OWN},
        "ordinal": "milpscore.estimators._ordinal:OrdinalScoreClassifier",
    },
    FormulationError,
)
"""The estimator of each formulation that has one of its own; FormulationClassifier takes all."""
