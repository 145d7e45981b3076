"""What all estimators of whole points share: a program that was solved, and its card's totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from milpscore.core.card import Card
from milpscore.core.design import Column, Design, FloatArray, IntArray
from milpscore.core.errors import Registry, SolverError
from milpscore.core.program import Program
from milpscore.core.result import Result
from milpscore.data import Binner, apply_columns
from milpscore.data.checking import default_names, missing_counts, refuse_missing, validated_frame
from milpscore.estimators._base import OnDesign, parameters, seed_of, values_of
from milpscore.fitting import MAX_TERMS
from milpscore.formulations import FORMULATIONS
from milpscore.formulations.building import encoding_for
from milpscore.scorecard import Scorecard
from milpscore.solvers.options import Options

if TYPE_CHECKING:
    from milpscore.certificate import Certificate
    from milpscore.constraints import Constraint

PerColumn: TypeAlias = int | Sequence[int] | Mapping[str, int]

_SOLVER_OPTIONS = ("mip_gap", "mip_gap_abs", "node_limit", "threads", "client", "memory_limit")
_NOT_FOR_BUILDERS = ("binner", "class_weight", "threshold_by")


@parameters
class Solved:
    """Parameters of every card."""

    constraints: Sequence[Constraint] = ()
    binner: Binner | Literal["auto"] | None = "auto"
    solver: str = "auto"
    time_limit: float = Options.time_limit
    threads: int = Options.threads
    random_state: Any = Options.random_state
    verbose: bool = False


@parameters
class Exact(Solved):
    """Parameters of the cards that a branch and bound finds."""

    use_start: bool = True
    mip_gap: float = Options.mip_gap
    mip_gap_abs: float = Options.mip_gap_abs
    node_limit: int | None = Options.node_limit
    client: Any = Options.client
    memory_limit: int | str | None = Options.memory_limit
    heuristic: bool = False
    polish: bool = False


@parameters
class Rounded(Solved):
    """Parameters of the cards that are rounded from an LP."""

    n_draws: int = 100


@parameters
class Ranged:
    """The range of points."""

    coef_min: PerColumn = -5
    coef_max: PerColumn = 5


@parameters
class Pointed(Ranged):
    """What points may be, and how many columns have some."""

    coef_sets: Mapping[str, Sequence[int]] | None = None
    max_terms: int | None = MAX_TERMS


@parameters
class Risky(Pointed):
    """Parameters of the cards of risks, whose scale is fitted."""

    scale: float | Literal["auto"] | Sequence[float] = "auto"
    max_cuts: int | Mapping[str, int] | None = None
    l0_penalty: float = 1e-6
    penalty: Literal["none", "l1", "l2", "facets", "eye", "tv", "binarsity"] = "none"
    lam: float = 0.0
    expert: Any = None


class SolvedModel(OnDesign):
    """An estimator whose ``fit`` states a program, solves it and keeps the card."""

    formulation: Any
    _builders: ClassVar[Registry[Any]] = FORMULATIONS

    binner: Binner | Literal["auto"] | None

    result_: Result
    binner_: Binner
    coef_: IntArray
    warnings_: tuple[str, ...]
    n_features_in_: int
    feature_names_in_: npt.NDArray[np.object_]
    _program: Program | None
    _stated: tuple[str, Design, dict[str, Any]]

    @property
    def program_(self) -> Program:
        """What was solved, stated anew where this estimator was loaded from a pickle."""
        check_is_fitted(self)
        if self._program is None:
            name, design, arguments = self._stated
            self._program = self._builders[name](design, **arguments)
        return self._program

    def certificate(self, **options: Any) -> Certificate:
        """The certificate of the fit, with evidence where the formulation has some.

        Parameters
        ----------
        **options :
            As in :func:`milpscore.certificate.certify`.

        Returns
        -------
        Certificate
        """
        from milpscore.certificate import certify

        return certify(self.program_, self.result_, **options)

    def _points(self) -> Scorecard:
        """The card whose points make the totals."""
        raise TypeError(f"{type(self).__name__} must define _points")  # pragma: no cover

    def _totals(self, X: Any) -> FloatArray:
        """Totals of rows of raw data, shape (n,)."""
        check_is_fitted(self)
        if isinstance(X, Design):
            return self._points().score_design(values_of(X, self._columns))
        frame = validated_frame(self, X, reset=False)
        if self.binner_.missing == "error":
            refuse_missing(missing_counts(frame))
        # as on the printed card, no line is for a value that no column foresees
        unseen: Any = "nan" if self.binner_.unseen == "zero" else self.binner_.unseen
        return self._points().score_design(apply_columns(self._columns, frame, unseen=unseen))

    def _binner(self) -> Binner | None:
        if not isinstance(self.binner, str) or self.binner != "auto":
            return super()._binner()
        return Binner(**encoding_for(self._builders[self.formulation]))

    def _named_columns(self) -> tuple[Sequence[Column], Sequence[str]]:
        names = getattr(self, "feature_names_in_", default_names(self.n_features_in_))
        return self._columns, list(names)

    @property
    def _columns(self) -> tuple[Column, ...]:
        """The columns that have points: by cuts, where jumps are penalised."""
        return self._stated[1].columns

    def _arguments(self) -> dict[str, Any]:
        """Arguments of :func:`milpscore.fitting.fit_card`, the builder's own among them."""
        given: dict[str, Any] = self.get_params(deep=False)
        for name in _NOT_FOR_BUILDERS:
            given.pop(name, None)
        given["options"] = {name: given.pop(name) for name in _SOLVER_OPTIONS if name in given}
        given["progress"] = bool(given.pop("verbose"))
        given["random_state"] = seed_of(given["random_state"])
        if "use_start" in given:
            given["warm_start"] = given.pop("use_start")
        return given

    def _keep(self, program: Program, result: Result) -> Card:
        """Set the attributes that every fit fills, and return the card of the result."""
        self.n_features_in_ = self.binner_.n_features_in_
        if hasattr(self.binner_, "feature_names_in_"):
            self.feature_names_in_ = self.binner_.feature_names_in_
        elif hasattr(self, "feature_names_in_"):  # of an earlier fit
            del self.feature_names_in_
        if result.card is None:
            raise SolverError(f"{self.formulation} gave no card: {result.message}")
        design = program.statement.design
        self._program, self.result_, self.warnings_ = program, result, design.warnings
        self._stated = (program.formulation, design, dict(program.arguments))
        return result.card

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the program, whose rules are code."""
        state: dict[str, Any] = super().__getstate__()
        return {**state, "_program": None} if "_program" in state else state
