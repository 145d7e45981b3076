"""The roundings by name, and what each is told; adding one is a file and one entry here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from milpscore.core.errors import NotApplicableError, Registry, SizeError

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


@dataclass(frozen=True)
class _Row:
    """The function at ``home``, told these parts of a request and these arguments."""

    home: str
    told: tuple[str, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, statement: Statement, request: Request) -> RoundedCard:
        module, _, name = self.home.partition(":")
        told = {part: getattr(request, part) for part in self.told}
        found: RoundedCard = getattr(import_module(module), name)(
            statement, **told, **self.arguments
        )
        return found


_BEST = {"intercept": "best"}
_REGRESSION = "milpscore.rounding.regressions:rounded_regression"

ROUNDINGS: Registry[RequestRounding] = Registry("rounding", {})
"""From name to a function of a Statement and a Request; each can be a row of a comparison."""

for _name, _row in {
    "derandomised": _Row(
        "milpscore.rounding.expectations:derandomised", ("w", "b"), {"estimator": "auto"}
    ),
    # these know no relaxation: they begin with no weights, or learn their own
    "local_search": _Row("milpscore.search:local_search", ("max_work",), _BEST),
    "hill_climbing": _Row("milpscore.search:hill_climbing", ("random_state", "max_work"), _BEST),
    "golovin": _Row("milpscore.rounding.regressions:golovin", ("random_state",)),
    "rounded_logistic": _Row(_REGRESSION, (), {"kind": "logistic"}),
    "rounded_lasso": _Row(_REGRESSION, (), {"kind": "lasso"}),
    "rounded_ridge": _Row(_REGRESSION, (), {"kind": "ridge"}),
}.items():
    ROUNDINGS.register(_name, _row)


def attempt(
    statement: Statement, function: RequestRounding, request: Request
) -> tuple[RoundedCard | None, str]:
    """What a rounding gave, None where it does not apply, and why there is no card."""
    try:
        found = function(statement, request)
    except (NotApplicableError, SizeError) as error:
        return None, str(error)
    return found, found.refusal
