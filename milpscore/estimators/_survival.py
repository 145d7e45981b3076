"""The estimator of times to an event, in scikit-survival's conventions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError, optional
from milpscore.data import Binner, SurvivalDesign
from milpscore.data.binner import timed_rows
from milpscore.data.survival import structured
from milpscore.estimators._base import (
    parameters,
    warn_of_questions,
    warn_of_unproved,
)
from milpscore.estimators._solved import Exact, Risky, SolvedModel
from milpscore.fitting import fit_card
from milpscore.formulations import SURVIVAL_FORMULATIONS
from milpscore.losses.hazards import ExposureKind
from milpscore.metrics import concordance
from milpscore.scorecard import Scorecard
from milpscore.scorecard.survival import SurvivalCard, survival_card


@parameters
class SurvivalScoreEstimator(Exact, Risky, SolvedModel):
    """The integer score of the most likely times to an event.

    ``predict`` answers with the log of a row's hazard relative to that of a total of 0: higher
    means earlier. ``y`` is a structured array of an event and a time, as
    ``sksurv.util.Surv.from_arrays`` or :func:`milpscore.data.survival_target` make it.

    Parameters
    ----------
    times, exposure, scale, coef_min, coef_max, coef_sets, max_terms, max_cuts, l0_penalty, \
penalty, lam, expert, constraints :
        As in :func:`milpscore.formulations.survival_score`.
    at : sequence of float, optional
        The times at which the card states risks.
    binner, use_start, heuristic, polish, solver, time_limit, mip_gap, mip_gap_abs, node_limit, \
threads, client, memory_limit, random_state, verbose :
        As in :class:`CardClassifier`; ``binner="auto"`` sees which rows have an event.

    Attributes
    ----------
    card_ : SurvivalCard
        The card, to be printed or saved.
    result_ : Result
    program_ : Program
    unique_times_ : ndarray of shape (K,)
        The cuts of time, at which survival functions are given.
    coef_ : ndarray of int64, shape (p,)
        Points of the card, in the order of ``get_feature_names_out()``.
    binner_ : Binner
    warnings_ : tuple of str
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where ``fit`` was given names.

    Examples
    --------
    >>> from milpscore.data import survival_target
    >>> from milpscore.estimators import SurvivalScoreEstimator
    >>> X, y = [[0], [0], [1], [1]], survival_target([1, 0, 1, 1], [5.0, 6.0, 1.0, 2.0])
    >>> model = SurvivalScoreEstimator(max_terms=1).fit(X, y)
    >>> bool(model.predict([[1]]) > model.predict([[0]]))
    True
    """

    formulation = "survival_score"
    _builders = SURVIVAL_FORMULATIONS

    times: Any = 20
    exposure: ExposureKind = "time"
    at: Sequence[float] | None = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, entry: Any = None) -> Self:
        """State the program on the data, solve it, and keep the best verified card.

        Parameters
        ----------
        X : DataFrame, array, list of rows, shape (n, q), or SurvivalDesign
        y : structured array of shape (n,)
            None with a design.
        sample_weight, entry : arrays of shape (n,), optional
            ``entry``: when each row came under observation.

        Returns
        -------
        SurvivalScoreEstimator
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
            The solver stopped before the card was proved to be the best.
        """
        self.binner_ = self._binner() or Binner.raw()
        design = self._design(X, y, sample_weight, entry)
        program, result = fit_card(design, self.formulation, **self._arguments())
        self._keep(program, result)
        self.card_: SurvivalCard = survival_card(program, result, at=self.at)
        self.coef_ = np.array(self.card_.card.points, dtype=np.int64)
        self.unique_times_: FloatArray = np.array(self.card_.cuts)
        warn_of_unproved(self, [result])
        warn_of_questions(self, self.warnings_)
        return self

    def predict(self, X: Any) -> FloatArray:
        """The log of each row's hazard relative to that of a total of 0, shape (n,).

        Parameters
        ----------
        X : DataFrame, array, list of rows, or design, shape (n, q)
        """
        return self._totals(X) / self.card_.scale

    def predict_risk(self, X: Any, at: Sequence[float] | None = None) -> FloatArray:
        """The probability of an event by each time, shape (n, number of times).

        Parameters
        ----------
        X : DataFrame, array, list of rows, or design, shape (n, q)
        at : sequence of float, optional
            Times, by default those at which the card states risks.
        """
        return self.card_.risks(self._totals(X), at)

    def predict_survival_function(self, X: Any, return_array: bool = False) -> Any:
        """The probability of no event by each of ``unique_times_``.

        Parameters
        ----------
        X : DataFrame, array, list of rows, or design, shape (n, q)
        return_array : bool
            Return an array of shape (n, K) instead of n step functions of scikit-survival.

        Returns
        -------
        ndarray
        """
        return self._functions(1.0 - self.predict_risk(X, self.card_.cuts), return_array)

    def predict_cumulative_hazard_function(self, X: Any, return_array: bool = False) -> Any:
        """The hazard accumulated up to each of ``unique_times_``; as the survival function."""
        hazards = self.card_.accumulated(self.unique_times_, self._totals(X))
        return self._functions(hazards, return_array)

    def score(self, X: Any, y: Any) -> float:
        """Harrell's index of concordance, by scikit-survival.

        Parameters
        ----------
        X : DataFrame, array, list of rows, or design, shape (n, q)
        y : structured array of shape (n,)

        Returns
        -------
        float
            Between 0 and 1; 1/2 if all totals are equal.
        """
        event, time, *_ = structured(y)
        return concordance(event, time, self.predict(X))

    def report(
        self, X: Any, y: Any, path: str | Path | None = None, *, entry: Any = None, by: Any = None
    ) -> str:
        """The page about the card on some rows, better others than those of the fit.

        Parameters as of :func:`milpscore_show.report.survival_report`.
        """
        from milpscore_show.report import survival_report

        check_is_fitted(self)
        return survival_report(self.card_, X, y, entry=entry, by=by, path=path)

    def _design(self, X: Any, y: Any, sample_weight: Any, entry: Any) -> SurvivalDesign:
        """Return the design of the binner, with times."""
        if isinstance(X, SurvivalDesign):
            if any(part is not None for part in (y, sample_weight, entry)):
                raise DataError("a SurvivalDesign already holds times and weights")
            self.binner_ = Binner.raw()._take(X)
            return X
        if y is None:
            raise DataError("y is needed: a structured array of events and times")
        return timed_rows(X, y, self.binner_, sample_weight, entry)

    def _functions(self, values: FloatArray, return_array: bool) -> npt.NDArray[Any]:
        """Return values at the cuts as they are, or as step functions."""
        if return_array:
            return values
        step = _sksurv("functions").StepFunction
        made = np.empty(len(values), dtype=object)
        for i, row in enumerate(values):
            made[i] = step(x=self.unique_times_, y=row)
        return made

    def _points(self) -> Scorecard:
        return self.card_.card

    def _arguments(self) -> dict[str, Any]:
        given = super()._arguments()
        del given["at"]
        return given


def _sksurv(module: str) -> Any:
    """Return a module of scikit-survival."""
    need = "this needs scikit-survival: pip install 'milpscore[survival]'"
    return optional(f"sksurv.{module}", need)
