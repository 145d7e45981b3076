"""The roundings of one program side by side: of its LP, by name, and of a proximal path."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from milpscore.core.program import Program
from milpscore.core.result import Result
from milpscore.losses import Hinge
from milpscore.rounding._bounds import rounding_bounds
from milpscore.rounding._nearest import nearest, nearest_points
from milpscore.rounding._program import mended, rounded_result
from milpscore.rounding._proximal import find_start
from milpscore.rounding._randomised import held_losses, randomised
from milpscore.rounding._registry import attempt, rounding_function
from milpscore.rounding._request import Request


def round_both_ways(
    program: Program, relaxed: Result, *, n_draws: int, random_state: int, patience: float
) -> tuple[dict[str, Result], dict[str, dict[str, float]]]:
    """Round a relaxation by chance and to the nearest, each for itself.

    Parameters
    ----------
    program : Program
    relaxed : Result
        Of the program's relaxation.
    n_draws, random_state :
        As in :func:`randomised`.
    patience : float
        Seconds after which no more than the first of the draws is checked.

    Returns
    -------
    results : dict
        ``"randomised"`` and ``"nearest"``, each a Result; the empty card is no candidate. Under
        constraints the nearest rounding stands beside itself changed until it meets them.
    figures : dict
        Under the hinge loss for each of them ``rounding_loss`` and the bounds it obeys; see
        :func:`rounding_bounds`. Empty otherwise, and where there is no relaxed solution.
    """
    statement, w, b = program.statement, relaxed.coefficients, relaxed.intercept
    if not w.size:
        none = rounded_result(program, relaxed, {})
        return {"randomised": none, "nearest": none}, {}
    began = time.perf_counter()
    drawn = randomised(statement, w, intercept=b, n_draws=n_draws, random_state=random_state)
    draws = rounded_result(
        program, relaxed, {"randomised": drawn.cards(statement)},
        message=drawn.counts, started=began, patience=patience,
    )  # fmt: skip
    began = time.perf_counter()
    nearby = {"nearest": [nearest(statement, w, b)], "repaired": mended(statement, w)}
    single = rounded_result(program, relaxed, nearby, started=began)
    figures: dict[str, dict[str, float]] = {}
    if isinstance(statement.loss, Hinge):
        bounds = rounding_bounds(statement, w, b)
        at_nearest = held_losses(statement, nearest_points(statement, w)[None, :], b)
        figures = {
            "randomised": {
                "rounding_loss": drawn.held_loss,
                "expected_bound": bounds["expected_bound"],
                "sharp_bound": bounds["sharp_bound"],
            },
            "nearest": {
                "rounding_loss": float(at_nearest[0]),
                "sure_bound": bounds["sure_bound"],
            },
        }
    return {"randomised": draws, "nearest": single}, figures


def round_from_path(
    program: Program, relaxed: Result, *, max_work: float
) -> tuple[Result, dict[str, Any]]:
    """Round a proximal path, and keep the figures of the model behind the card.

    Parameters
    ----------
    program : Program
    relaxed : Result
        Of the program's relaxation: the bound comes from it, not from the smooth model.
    max_work : float
        As in :func:`find_start`.

    Returns
    -------
    result : Result
    figures : dict
        ``surrogate`` and its ``_lam``, ``_objective``, ``_loss`` and ``_gap``; empty without a
        card.
    """
    began = time.perf_counter()
    found = find_start(program.statement, max_work=max_work)
    if found is None:
        message = "no proximal path: too little time for it, or no rounded card is allowed"
        return rounded_result(program, relaxed, {}, message=message, started=began), {}
    result = rounded_result(program, relaxed, {"proximal": [found.card]}, started=began)
    return result, {
        "surrogate": found.surrogate,
        "surrogate_lam": found.lam,
        "surrogate_objective": found.surrogate_objective,
        "surrogate_loss": found.surrogate_loss,
        "surrogate_gap": found.surrogate_gap,
    }


def round_by_name(
    program: Program,
    relaxed: Result,
    names: Sequence[str],
    *,
    n_draws: int,
    random_state: int,
    max_work: float,
) -> tuple[dict[str, Result], dict[str, dict[str, float]]]:
    """Round by each of the named methods, each for itself.

    Parameters
    ----------
    program : Program
    relaxed : Result
        Of the program's relaxation: all bounds come from it.
    names : sequence of str
        Of :data:`milpscore.rounding.ROUNDINGS`.
    n_draws, random_state, max_work :
        As in :class:`milpscore.rounding.Request`; the work is shared equally.

    Returns
    -------
    results : dict
        A Result by name; without a card its message says why. The empty card is no candidate.
    figures : dict
        By name what the method proves, as :attr:`milpscore.rounding.RoundedCard.figures` has it.

    Raises
    ------
    OptionError
        For an unknown name.
    """
    functions = {name: rounding_function(name) for name in names}
    if not relaxed.coefficients.size:
        return {name: rounded_result(program, relaxed, {}) for name in names}, {}
    request = Request(
        relaxed.coefficients,
        relaxed.intercept,
        n_draws,
        random_state,
        max_work / max(len(names), 1),
    )
    results: dict[str, Result] = {}
    figures: dict[str, dict[str, float]] = {}
    for name, function in functions.items():
        began = time.perf_counter()
        found, why = attempt(program.statement, function, request)
        cards = found.cards if found is not None else ()
        result = rounded_result(program, relaxed, {name: cards}, message=why, started=began)
        # a method that does not apply refuses no card: more draws would not help
        results[name] = result if found is not None else replace(result, message=why)
        figures[name] = found.figures if found is not None else {}
    return results, figures
