"""The roundings by name; adding one is a new file and one line here."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from milpscore.core.errors import NotApplicableError, OptionError, SizeError

if TYPE_CHECKING:  # the names alone are read by the command line, which must start at once
    from milpscore.core.statement import Statement
    from milpscore.rounding._outcome import RoundedCard
    from milpscore.rounding._request import Request

RequestRounding: TypeAlias = "Callable[[Statement, Request], RoundedCard]"

ROUNDINGS: dict[str, str] = {
    "derandomised": "milpscore.rounding._derandomised:round_request",
    "local_search": "milpscore.rounding._local_search:round_request",
    "hill_climbing": "milpscore.rounding._hill_climbing:round_request",
    "golovin": "milpscore.rounding._golovin:round_request",
    "rounded_logistic": "milpscore.rounding._regressions:logistic_request",
    "rounded_lasso": "milpscore.rounding._regressions:lasso_request",
    "rounded_ridge": "milpscore.rounding._regressions:ridge_request",
}
"""Those that answer a Request with a RoundedCard; each can be a row of a comparison."""


def rounding_function(name: str) -> RequestRounding:
    """The rounding called ``name``; hyphens count as underscores.

    Parameters
    ----------
    name : str

    Returns
    -------
    callable
        From a Statement and a Request to a RoundedCard.

    Raises
    ------
    OptionError
        Where there is none; the message lists those there are.
    """
    key = name.replace("-", "_")
    if key not in ROUNDINGS:
        raise OptionError(f"no rounding {name!r}; there are {', '.join(ROUNDINGS)}")
    module, _, function = ROUNDINGS[key].partition(":")
    found: RequestRounding = getattr(import_module(module), function)
    return found


def attempt(
    statement: Statement, function: RequestRounding, request: Request
) -> tuple[RoundedCard | None, str]:
    """What one rounding gave, and why there is no card.

    Parameters
    ----------
    statement : Statement
    function : callable
        Of :func:`rounding_function`.
    request : Request

    Returns
    -------
    (RoundedCard or None, str)
        None where the rounding does not apply; the reason is empty where there is a card.
    """
    try:
        found = function(statement, request)
    except (NotApplicableError, SizeError) as error:
        return None, str(error)
    return found, found.refusal
