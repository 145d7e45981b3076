"""From a relaxed program to a verified card: solve the LP, round, re-check, claim."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from milpscore.core.algebra import integrality_demanded
from milpscore.core.card import Card
from milpscore.core.design import FloatArray
from milpscore.core.program import Program
from milpscore.core.result import (
    CLAIM_TOLERANCE,
    Claim,
    Result,
    Termination,
    claim_of,
)
from milpscore.core.statement import Statement
from milpscore.losses import Hinge
from milpscore.rounding._randomised import nearest, randomised
from milpscore.rounding._registry import ROUNDINGS, Request, attempt
from milpscore.rounding.expectations import held_losses, rounding_bounds
from milpscore.search.points import nearest_points, repaired
from milpscore.search.starts import find_start, work_within
from milpscore.solvers import conflict, solve
from milpscore.solvers.finish import CONFLICT_SECONDS, why_infeasible
from milpscore.verify import Evaluation, check


def round_program(
    program: Program,
    *,
    n_draws: int = 100,
    roundings: Sequence[str] = (),
    random_state: int = 0,
    solver: str = "auto",
    progress: bool | None = None,
    **options: Any,
) -> Result:
    """Solve the LP of a program, round it, and return the best card that meets every constraint.

    Candidates are the nearest rounding, N randomised ones and the empty card; where the statement
    has constraints, also the nearest rounding changed until it meets them. Each is checked
    with the statement and with the model's own constraints, those a user added included, and with
    integrality, although the model is relaxed. Variables a user added keep the LP's values.

    Parameters
    ----------
    program : Program
        A relaxed program; of an exact one the relaxation is solved.
    n_draws : int
        Draws of the randomised rounding.
    roundings : sequence of str
        Further candidates by their names in :data:`milpscore.rounding.ROUNDINGS`, say
        ``["derandomised", "local_search"]``. One that does not apply says why in the message.
    random_state : int
        Seed of the draws and of the solver.
    solver, progress, **options :
        As in :func:`milpscore.solvers.solve`. ``time_limit=0`` gives the empty card.

    Returns
    -------
    Result
        Its bound is the LP's, its ``origin`` "nearest", "randomised", "repaired", "empty card" or
        the name of one of ``roundings``.
        The claim is at most ``gap``, unless card and bound meet. The card's values are left in
        ``program.model``.

    Raises
    ------
    OptionError, SolverError
        As :func:`milpscore.solvers.solve`; OptionError also for a bad ``n_draws``, or an unknown
        name in ``roundings``.

    References
    ----------
    Chevaleyre, Koriche & Zucker (2013), Figure 1.
    """
    named = {name: ROUNDINGS[name] for name in roundings}
    relaxed_program = program if program.kind == "relaxed" else program.relaxed()
    relaxed = solve(
        relaxed_program, solver, progress=progress, random_state=random_state, **options
    )
    started = time.perf_counter()
    statement = program.statement
    candidates: dict[str, Iterable[Card]] = {}
    counts = "" if relaxed.coefficients.size else "no relaxed solution to round"
    if relaxed.coefficients.size:
        w, b = relaxed.coefficients, relaxed.intercept
        drawn = randomised(statement, w, n_draws=n_draws, random_state=random_state)
        candidates = {"nearest": (nearest(statement, w, b),), "randomised": drawn.cards(statement)}
        counts = drawn.counts
        candidates["repaired"] = mended(statement, w)
        seconds = max(relaxed.options["time_limit"] - relaxed.solve_seconds, 0.0)
        request = Request(w, b, random_state, work_within(seconds))
        for name, function in named.items():
            found, why = attempt(statement, function, request)
            candidates[name] = found.cards if found is not None else ()
            counts = _joined(counts, f"{name}: {why}" if why else "")
    candidates["empty card"] = (statement.empty_card(),)
    seconds_left = relaxed.options["time_limit"] - relaxed.solve_seconds
    return rounded_result(
        program, relaxed, candidates, message=counts, started=started, patience=seconds_left
    )


def mended(statement: Statement, w: FloatArray) -> tuple[Card, ...]:
    """Under constraints the nearest rounding of w, shape (p,), changed until it meets them."""
    if not statement.constraints:
        return ()
    card = repaired(statement, nearest_points(statement, w))
    return () if card is None else (card,)


@dataclass(frozen=True)
class _Found:
    """The first card of a group that passes every check, and what was refused before it."""

    origin: str
    card: Card | None
    evaluation: Evaluation | None
    refused: int
    reason: str
    hurried: bool


def rounded_result(
    program: Program,
    relaxed: Result,
    candidates: Mapping[str, Iterable[Card]],
    *,
    message: str = "",
    started: float | None = None,
    patience: float = math.inf,
) -> Result:
    """The best candidate that meets every constraint, with the relaxation's bound.

    Parameters
    ----------
    program : Program
        Exact or relaxed; its constraints, and the integrality of the statement, are demanded.
    relaxed : Result
        Of the program's relaxation.
    candidates : mapping from origin to cards, best first
        Of each origin the first card that passes is used.
    message : str
        Put first in the result's message.
    started : float, optional
        ``time.perf_counter()`` when rounding began; default now.
    patience : float
        Seconds after which no more than the first card of each origin is checked.

    Returns
    -------
    Result
    """
    started = time.perf_counter() if started is None else started
    deadline = started + patience
    with integrality_demanded(program.model):
        found = [_first_feasible(program, *group, deadline) for group in candidates.items()]
        passed = [f for f in found if f.evaluation is not None]
        best = min(passed, key=lambda f: f.evaluation.objective, default=None)  # type: ignore[union-attr]
        best = None if best is None else _simplified(program, best)
        if best is not None:
            assert best.card is not None
            program.fill(best.card)
    refused = [
        f"{f.origin}: {f.refused} refused ({f.reason})"
        + (", the others not checked for lack of time" if f.hurried else "")
        for f in found
        if f.refused
    ]
    common: dict[str, Any] = {
        "kind": "rounded",
        "solve_seconds": relaxed.solve_seconds + time.perf_counter() - started,
        "warm_start": "none",
        "caveat": program.statement.caveat,
    }
    if best is None:
        reasons = _joined(message, *refused, _why(program, relaxed))
        return replace(relaxed, **common, **_no_card(relaxed), message=reasons)
    assert best.card is not None
    assert best.evaluation is not None
    figures = best.evaluation
    bound, doubt = _trusted_bound(program, relaxed, figures.objective)
    return replace(
        relaxed,
        **common,
        claim=claim_of(True, figures.objective, bound, trivial=0.0),
        verified=True,
        objective=figures.objective,
        loss=figures.loss,
        penalty=figures.penalty,
        dual_bound=bound,
        card=best.card,
        coefficients=best.card.coefficients.astype(np.float64),
        intercept=float(best.card.intercept),
        terms=program.statement.design.count_terms(best.card.coefficients),
        origin=best.origin,
        message=_joined(message, *refused, doubt),
    )


def _first_feasible(
    program: Program, origin: str, cards: Iterable[Card], deadline: float
) -> _Found:
    """The first of these cards, best first, that meets every constraint."""
    refused, reason = 0, ""
    for card in cards:
        if refused and time.perf_counter() > deadline:
            return _Found(origin, None, None, refused, reason, hurried=True)
        evaluation = check(program, card)
        if evaluation.feasible:
            return _Found(origin, card, evaluation, refused, reason, hurried=False)
        refused += 1
        reason = reason or evaluation.violations[0]
    return _Found(origin, None, None, refused, reason, hurried=False)


def _simplified(program: Program, best: _Found) -> _Found:
    """A card that is as good and easier to read, where the builder knows one."""
    assert best.card is not None
    assert best.evaluation is not None
    simpler = program.simplify(program.statement, best.card)
    if simpler == best.card:
        return best
    again = check(program, simpler)
    if again.feasible and again.objective <= best.evaluation.objective:
        return replace(best, card=simpler, evaluation=again)
    return best


def _trusted_bound(program: Program, relaxed: Result, objective: float) -> tuple[float, str]:
    """The LP's bound (0 always holds), or 0 where a verified card contradicts it."""
    if relaxed.termination is Termination.INFEASIBLE:
        return 0.0, "the solver calls the relaxation infeasible although this card was verified"
    bound = max(relaxed.dual_bound, 0.0)
    excess = bound - objective
    if excess > CLAIM_TOLERANCE * max(1.0, objective) and not program.statement.caveat:
        return 0.0, f"the relaxation's bound {bound:.9g} lies above a verified card: it is refused"
    return min(bound, objective), ""


def _no_card(relaxed: Result) -> dict[str, Any]:
    """The fields of an answer without a card; the relaxation's bound stays."""
    nan = float("nan")
    infeasible = relaxed.termination is Termination.INFEASIBLE
    return {
        "claim": Claim.NONE,
        "verified": False,
        "objective": nan,
        "loss": nan,
        "penalty": nan,
        "dual_bound": -math.inf if infeasible else relaxed.dual_bound,
        "coefficients": np.empty(0),
        "intercept": nan,
        "terms": 0,
        "origin": "none",
    }


def _why(program: Program, relaxed: Result) -> str:
    """Why there is no card, and what to do next."""
    limit = relaxed.options["time_limit"]
    if relaxed.termination is Termination.INFEASIBLE:
        if program.statement.constraints:
            return why_infeasible(program, limit)
        return (
            "no card meets every constraint, not even with real weights: loosen one of those you "
            "added, or the coefficient and intercept ranges"
        )
    if not relaxed.coefficients.size:
        return f"{relaxed.termination.sentence} Raise it, or loosen a constraint"
    clash = None
    if program.statement.constraints:
        clash = conflict(program, time_limit=min(limit, CONFLICT_SECONDS))
    if clash is not None:
        return clash.sentence
    return (
        "no rounded card meets every constraint: raise n_draws, loosen a constraint, or solve the "
        "exact program, program.exact()"
    )


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


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
        By name what the method proves, as :attr:`milpscore.search.RoundedCard.figures` has it.

    Raises
    ------
    OptionError
        For an unknown name.
    """
    functions = {name: ROUNDINGS[name] for name in names}
    if not relaxed.coefficients.size:
        return {name: rounded_result(program, relaxed, {}) for name in names}, {}
    request = Request(
        relaxed.coefficients,
        relaxed.intercept,
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
