"""Learners of integer cards for cross-validation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from experiments.facets.learners import (
    Facets,
    Learner,
    LinearModel,
    OfGrid,
    Params,
    lasso,
    logistic,
    ridge,
)
from milpscore.core.card import Card
from milpscore.core.design import Design
from milpscore.fitting import fit_card
from milpscore.formulations import slim
from milpscore.search import coordinate_descent, fast_risk_card, start_card
from milpscore.solvers import solve
from milpscore.verify import evaluate

_POINTS = (-5, 5)


def _model(card: Card) -> LinearModel:
    return LinearModel(card.coefficients.astype(np.float64), float(card.intercept))


@dataclass(frozen=True)
class Slim:
    """The 0-1 loss: a heuristic card for the choice, and an exact solve from it in the end.

    Parameters
    ----------
    max_terms : sequence of int
    l0_penalty : float
    coef_min, coef_max : int
    time_limit : float
        Seconds of the final solve, less where the budget says so; 0 for none.
    max_work : float
        Row totals of each heuristic, see :func:`milpscore.search.start_card`.
    random_state : int
    """

    max_terms: tuple[int, ...] = (3, 5, 10)
    l0_penalty: float = 1e-3
    coef_min: int = _POINTS[0]
    coef_max: int = _POINTS[1]
    time_limit: float = 5.0
    max_work: float = 3e6
    random_state: int = 0
    name: ClassVar[str] = "slim"
    integer: ClassVar[bool] = True

    @property
    def grid(self) -> Sequence[Params]:
        """One entry a limit on terms."""
        return [{"max_terms": limit} for limit in sorted(self.max_terms)]

    def fit_grid(self, train: Design) -> Sequence[LinearModel]:
        """Heuristic cards."""
        return [_model(self._start(self._program(train, params))) for params in self.grid]

    def refit(self, train: Design, order: Sequence[int], seconds: float) -> tuple[int, LinearModel]:
        """The best entry's card, improved by a solver where time is left."""
        program = self._program(train, self.grid[order[0]])
        card = self._start(program)
        limit = min(self.time_limit, seconds)
        if limit > 0:
            result = solve(
                program, warm_start=card, progress=False, time_limit=limit,
                random_state=self.random_state,
            )  # fmt: skip
            card = result.card or card
        return order[0], _model(card)

    def _program(self, train: Design, params: Params) -> Any:
        limit = min(params["max_terms"], train.shape[1])
        return slim(
            train, max_terms=limit, l0_penalty=self.l0_penalty, coef_min=self.coef_min,
            coef_max=self.coef_max,
        )  # fmt: skip

    def _start(self, program: Any) -> Card:
        """The better of two cards: the solver's usual start, and a polished risk score."""
        statement = program.statement
        limit = statement.max_terms or program.statement.design.shape[1]
        risk = fast_risk_card(statement.design, limit, self.coef_min, self.coef_max).card
        with_threshold = statement.with_best_intercept(risk.coefficients)
        polished = coordinate_descent(statement, with_threshold, max_work=self.max_work)
        usual = start_card(program, max_work=self.max_work)
        cards = [card for card in (usual, polished) if card is not None]
        return min(cards, key=lambda card: evaluate(statement, card).objective)


@dataclass(frozen=True)
class RiskScore(OfGrid):
    """Logistic risk scores of :func:`milpscore.search.fast_risk_card`, positive from 50 % on.

    Parameters
    ----------
    max_terms : sequence of int
    coef_min, coef_max : int
    """

    max_terms: tuple[int, ...] = (3, 5, 10)
    coef_min: int = _POINTS[0]
    coef_max: int = _POINTS[1]
    name: ClassVar[str] = "risk_score"
    integer: ClassVar[bool] = True

    @property
    def grid(self) -> Sequence[Params]:
        """One entry a limit on terms."""
        return [{"max_terms": limit} for limit in sorted(self.max_terms)]

    def fit_grid(self, train: Design) -> Sequence[LinearModel]:
        """One card an entry."""
        limits = [min(params["max_terms"], train.shape[1]) for params in self.grid]
        found = [fast_risk_card(train, k, self.coef_min, self.coef_max).card for k in limits]
        return [_model(card) for card in found]


@dataclass(frozen=True)
class ConvexRounding(OfGrid):
    """Chevaleyre's convex rounding: the hinge loss's LP, rounded to ternary weights.

    Parameters
    ----------
    margins : sequence of float
        Of the hinge loss.
    time_limit : float
        Seconds of each LP.
    random_state : int
        Of the draws.
    """

    margins: tuple[float, ...] = (1.0,)
    time_limit: float = 60.0
    random_state: int = 0
    name: ClassVar[str] = "convex_rounding"
    integer: ClassVar[bool] = True

    @property
    def grid(self) -> Sequence[Params]:
        """One entry a margin."""
        return [{"margin": margin} for margin in self.margins]

    def fit_grid(self, train: Design) -> Sequence[LinearModel]:
        """One card an entry; the empty one where the LP was not solved in time."""
        return list(self._models(train))

    def _models(self, train: Design) -> Iterator[LinearModel]:
        for params in self.grid:
            program, result = fit_card(
                train, "convex_rounding", progress=False, time_limit=self.time_limit,
                random_state=self.random_state, **params,
            )  # fmt: skip
            yield _model(result.card or program.statement.empty_card())


@dataclass(frozen=True)
class Rounded(OfGrid):
    """A regression scaled into the range of points and rounded, or Golovin's online learner.

    Parameters
    ----------
    name : str
        ``rounded_logistic``, ``rounded_lasso``, ``rounded_ridge`` or ``golovin``: functions of
        :mod:`milpscore.rounding`.
    coef_min, coef_max : int
    settings : mapping
        Of the function.
    """

    name: str
    coef_min: int = _POINTS[0]
    coef_max: int = _POINTS[1]
    settings: Mapping[str, Any] = field(default_factory=dict)
    integer: ClassVar[bool] = True

    @property
    def grid(self) -> Sequence[Params]:
        """There is nothing to choose."""
        return [{}]

    def fit_grid(self, train: Design) -> Sequence[LinearModel]:
        """The one card, its threshold the best for the 0-1 loss."""
        from milpscore import rounding

        statement = slim(train, coef_min=self.coef_min, coef_max=self.coef_max).statement
        found = getattr(rounding, self.name)(statement, **self.settings)
        return [_model(found.card)]


def default_learners(random_state: int = 0) -> tuple[Learner, ...]:
    """The learners of the Facets paper's Table 1, with a risk score and logistic regression.

    Parameters
    ----------
    random_state : int
        Of those that draw.
    """
    return (
        ConvexRounding(random_state=random_state),
        Rounded("golovin", settings={"n_passes": 2, "random_state": random_state}),
        Slim(random_state=random_state),
        RiskScore(),
        lasso(),
        ridge(),
        logistic(),
        Facets(),
        Facets(whole=True),
    )
