"""The classifier of ordered classes by one total and several thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from milpscore.core.design import Column, Design, FloatArray
from milpscore.core.errors import NotApplicableError, OptionError, listing
from milpscore.core.program import Program
from milpscore.core.result import Result
from milpscore.core.writing import write_text
from milpscore.data.ordinal import Cost, OrdinalDesign, by_boundaries, ordered_codes
from milpscore.estimators._base import class_labels, given_design, parameters, rows_by_name
from milpscore.estimators._cards import CardClassifier
from milpscore.estimators._solved import Exact, Pointed
from milpscore.scorecard.ordinal import OrdinalCard, ordinal_card


@parameters
class OrdinalScoreClassifier(Exact, Pointed, CardClassifier):
    """Ordered classes by one integer score and a threshold between each two of them.

    ``predict`` answers with a class, ``decision_function`` with the total.

    Parameters
    ----------
    levels : sequence of labels, optional
        The classes from the lowest to the highest; a must for more than two text labels.
    cost : {"absolute", "squared", "zero_one"}
        What a row costs whose answer is off: by how many levels, the square of that, or 1.
    loss, margin, coef_min, coef_max, coef_sets, max_terms, l0_penalty, spacing, big_m, \
pair_covers, constraints, class_weight :
        As in :func:`milpscore.formulations.ordinal`.
    binner, use_start, heuristic, polish, threshold_by, solver, time_limit, mip_gap, mip_gap_abs, \
node_limit, threads, client, memory_limit, random_state, verbose :
        As in :class:`CardClassifier`, where the attributes are listed too; ``threshold_by`` has to
        be None, and ``binner="auto"`` sees of the labels which rows are above the lowest class.

    Attributes
    ----------
    ordinal_card_ : OrdinalCard
        The card with its groups, to be printed or saved. ``scorecard_`` holds the points and the
        first threshold alone.
    thresholds_ : ndarray of shape (K - 1,)
    classes_ : ndarray of shape (K,)
        The levels, the lowest first.
    """

    formulation = "ordinal"

    levels: Sequence[Any] | None = None
    cost: Cost = "absolute"
    loss: Literal["zero_one", "hinge"] = "zero_one"
    margin: float = 1.0
    l0_penalty: float = 1e-3
    spacing: int = 1
    big_m: Literal["joint", "row"] = "joint"
    pair_covers: bool = True

    @property
    def thresholds_(self) -> FloatArray:
        """The thresholds of the printed card, in order."""
        return np.array([float(T) for T in self.ordinal_card_.thresholds])

    @property
    def ordinal_card_(self) -> OrdinalCard:
        """The card with its groups."""
        check_is_fitted(self)
        return cast("OrdinalCard", self._shown)

    def decision_function(self, X: Any) -> FloatArray:
        """Totals, shape (n,); of two classes less the threshold, as in :class:`CardClassifier`.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix, list of rows, or Design, shape (n, q)

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        return super().decision_function(X) if len(self.classes_) == 2 else self._totals(X)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each row: the number of thresholds its total reaches.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix, list of rows, or Design, shape (n, q)

        Returns
        -------
        ndarray of shape (n,)
        """
        totals = self._totals(X)
        return np.asarray(self.classes_[self.ordinal_card_.groups(totals)])

    def report(self, path: Any = None, **options: Any) -> str:
        """The page about the card: of more than two classes the groups, and rows by total.

        Of two classes see :meth:`CardClassifier.report`, whose options more classes do not have.
        """
        if len(self.classes_) == 2:
            return super().report(path, **options)
        if options:
            raise NotApplicableError(
                f"{listing(options)} speak of two classes: the page of ordered classes has none"
            )
        page = self.ordinal_card_.page(cast("OrdinalDesign", self._stated[1]))
        if path is not None:
            write_text(path, page)
        return page

    def _design(self, X: Any, y: Any, sample_weight: Any) -> Design:
        """The design of the binner, its rows taken apart by boundaries."""
        if self.threshold_by is not None:
            raise OptionError(
                "the thresholds of ordered classes are fitted: leave threshold_by out"
            )
        if (given := given_design(X, y, sample_weight)) is not None:
            if not isinstance(given, OrdinalDesign):
                codes = (given.y > 0).astype(np.int64)
                given = by_boundaries(given, codes, given.classes, self.cost)
            self.binner_ = self.binner_.raw()._take(given.base)
            self.classes_ = np.array(given.levels)
            return given
        X, y, sample_weight = rows_by_name(X, y, sample_weight)
        labels, _ = class_labels(y, two=False)
        codes, levels = ordered_codes(y if isinstance(y, pd.Series) else labels, self.levels)
        alike = len(set(map(type, levels))) == 1
        self.classes_ = np.array(levels, dtype=None if alike else object)
        base = self.binner_.fit_design(X, codes > 0, sample_weight=sample_weight)
        return by_boundaries(base, codes, levels, self.cost, self.class_weight)

    def _take(self, program: Program, result: Result) -> None:
        """Set the attributes a fit fills."""
        card = self._keep(program, result)
        self._shown = ordinal_card(program, result)
        self.coef_ = card.coefficients[np.newaxis, : len(self._columns)]

    @property
    def intercept_(self) -> FloatArray:
        """-T of the lowest threshold for ``coef_``."""
        check_is_fitted(self)
        assert self.result_.card is not None  # refused by `_take`
        return np.array([float(self.result_.card.intercept)])

    @property
    def _columns(self) -> tuple[Column, ...]:
        """The columns that have points, gaps left out."""
        design = cast("OrdinalDesign", self._stated[1])
        return design.columns[: design.features]

    def _arguments(self) -> dict[str, Any]:
        given = super()._arguments()
        del given["levels"], given["cost"]
        return given
