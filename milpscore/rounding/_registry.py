"""The roundings by name, and what each is told; adding one is a file and one entry here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from milpscore.core.errors import NotApplicableError, SizeError
from milpscore.core.registry import Registry

if TYPE_CHECKING:  # the names alone are read by the command line, which must start at once
    from milpscore.core.design import FloatArray
    from milpscore.core.statement import Statement
    from milpscore.search.points import RoundedCard


@dataclass(frozen=True, eq=False)
class Request:
    """A relaxed solution to round, and how much may be spent on it.

    Attributes
    ----------
    w : ndarray of shape (p,)
        Weights of the relaxation.
    b : float
        Its intercept.
    random_state : int
    max_work : float
        Most row totals a search may compute; it stops at the same card on every machine.
    """

    w: FloatArray
    b: float
    random_state: int = 0
    max_work: float = 1e8


RequestRounding: TypeAlias = "Callable[[Statement, Request], RoundedCard]"

_HERE = "milpscore.rounding._registry"

ROUNDINGS: Registry[RequestRounding] = Registry(
    "rounding",
    {
        "derandomised": f"{_HERE}:derandomised_row",
        "local_search": f"{_HERE}:local_search_row",
        "hill_climbing": f"{_HERE}:hill_climbing_row",
        "golovin": f"{_HERE}:golovin_row",
        "rounded_logistic": f"{_HERE}:logistic_row",
        "rounded_lasso": f"{_HERE}:lasso_row",
        "rounded_ridge": f"{_HERE}:ridge_row",
    },
)
"""From name to a function of a Statement and a Request; each can be a row of a comparison."""


def attempt(
    statement: Statement, function: RequestRounding, request: Request
) -> tuple[RoundedCard | None, str]:
    """What a rounding gave, None where it does not apply, and why there is no card."""
    try:
        found = function(statement, request)
    except (NotApplicableError, SizeError) as error:
        return None, str(error)
    return found, found.refusal


def derandomised_row(statement: Statement, request: Request) -> RoundedCard:
    """By the pessimistic estimator where the loss is the hinge, else by the exact one."""
    from milpscore.losses import Hinge
    from milpscore.rounding.expectations import derandomised

    hinge = isinstance(statement.loss, Hinge)
    return derandomised(
        statement, request.w, request.b, estimator="pessimistic" if hinge else "exact"
    )


def local_search_row(statement: Statement, request: Request) -> RoundedCard:
    """It starts from no weights and knows no LP, like all that follow."""
    from milpscore.search import local_search

    return local_search(statement, intercept="best", max_work=request.max_work)


def hill_climbing_row(statement: Statement, request: Request) -> RoundedCard:
    """Ten climbs, each card with its best intercept."""
    from milpscore.search import hill_climbing

    return hill_climbing(
        statement,
        intercept="best",
        random_state=request.random_state,
        max_work=request.max_work,
    )


def golovin_row(statement: Statement, request: Request) -> RoundedCard:
    """Online learning on a coarse grid."""
    from milpscore.rounding.regressions import golovin

    return golovin(statement, random_state=request.random_state)


def logistic_row(statement: Statement, request: Request) -> RoundedCard:
    """A rounded logistic regression."""
    from milpscore.rounding.regressions import rounded_regression

    return rounded_regression(statement, "logistic")


def lasso_row(statement: Statement, request: Request) -> RoundedCard:
    """A rounded lasso."""
    from milpscore.rounding.regressions import rounded_regression

    return rounded_regression(statement, "lasso")


def ridge_row(statement: Statement, request: Request) -> RoundedCard:
    """A rounded ridge regression."""
    from milpscore.rounding.regressions import rounded_regression

    return rounded_regression(statement, "ridge")
