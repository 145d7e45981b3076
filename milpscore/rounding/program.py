"""From a relaxed program to a verified card: solve, round, re-check; savings by such a start."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from milpscore.core.card import Card
from milpscore.core.clock import Clock
from milpscore.core.design import FloatArray
from milpscore.core.errors import NotApplicableError, OptionError, Registry, SizeError
from milpscore.core.program import Program, integrality_demanded
from milpscore.core.result import CLAIM_TOLERANCE, Claim, Result, Termination, claim_of
from milpscore.core.statement import Statement
from milpscore.losses import Hinge
from milpscore.rounding.draws import (
    derandomised,
    held_losses,
    nearest,
    randomised,
    rounding_bounds,
)
from milpscore.rounding.scaled import golovin
from milpscore.search.moves import local_search
from milpscore.search.points import RoundedCard, nearest_points, repaired
from milpscore.search.starts import find_start, proximal_start, work_within
from milpscore.solvers import conflict, solve
from milpscore.solvers.finish import why_infeasible
from milpscore.solvers.options import Options
from milpscore.solvers.policy import POLICY as SOLVING
from milpscore.verify import Evaluation, check, evaluate

if TYPE_CHECKING:
    from pandas import DataFrame


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
        Most row totals a search may compute: the same card on every machine.
    """

    w: FloatArray
    b: float
    random_state: int = 0
    max_work: float = 1e8


RequestRounding: TypeAlias = "Callable[[Statement, Request], RoundedCard]"


def _derandomised(statement: Statement, request: Request) -> RoundedCard:
    return derandomised(statement, request.w, request.b, estimator="auto")


def _local_search(statement: Statement, request: Request) -> RoundedCard:
    return local_search(statement, intercept="best", max_work=request.max_work)


def _golovin(statement: Statement, request: Request) -> RoundedCard:
    return golovin(statement, random_state=request.random_state)


ROUNDINGS: Registry[RequestRounding] = Registry("rounding", {})
"""From name to a function of a Statement and a Request; each can be a row of a comparison."""

ROUNDINGS.register("derandomised", _derandomised)
# these ignore the relaxation: they start without weights, or learn their own
ROUNDINGS.register("local_search", _local_search)
ROUNDINGS.register("golovin", _golovin)


def attempt(
    statement: Statement, function: RequestRounding, request: Request
) -> tuple[RoundedCard | None, str]:
    """The rounding's card, None if it does not apply, and why there is none."""
    try:
        rounding = function(statement, request)
    except (NotApplicableError, SizeError) as error:
        return None, str(error)
    return rounding, rounding.refusal


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

    Candidates are the nearest rounding, N randomised ones and the empty card; under constraints
    also the nearest rounding repaired until it meets them. Each is checked against the statement
    and the model's constraints, those a user added included, and for integrality, although the
    model is relaxed. Variables a user added keep the LP's values.

    Parameters
    ----------
    program : Program
        A relaxed program, or an exact one, whose relaxation is solved.
    n_draws : int
        Draws of the randomised rounding.
    roundings : sequence of str
        Names of further candidates from :data:`milpscore.rounding.ROUNDINGS`, say
        ``["derandomised", "local_search"]``. The message says why one does not apply.
    random_state : int
        Seed of the draws and of the solver.
    solver, progress, **options :
        As in :func:`milpscore.solvers.solve`. ``time_limit=0`` gives the empty card.

    Returns
    -------
    Result
        The bound is the LP's; ``origin`` is "nearest", "randomised", "repaired", "empty card" or
        one of ``roundings``. The claim is at most ``gap``, unless card and bound meet. The card's
        values are left in ``program.model``.

    Raises
    ------
    OptionError, SolverError
        As :func:`milpscore.solvers.solve`; OptionError also for a bad ``n_draws``, or an unknown
        name in ``roundings``.

    References
    ----------
    Chevaleyre, Koriche & Zucker (2013), Figure 1.
    """
    clock = Clock.of(options.pop("time_limit", Options.time_limit))
    named = {name: ROUNDINGS[name] for name in roundings}
    relaxed_program = program if program.kind == "relaxed" else program.relaxed()
    relaxed = solve(
        relaxed_program, solver, progress=progress, random_state=random_state, time_limit=clock,
        **options,
    )  # fmt: skip
    started = time.perf_counter()
    statement, w, b = program.statement, relaxed.coefficients, relaxed.intercept
    candidates: dict[str, Iterable[Card]] = {}
    notes = ["" if w.size else "no relaxed solution to round"]
    if w.size:
        drawn = randomised(statement, w, n_draws=n_draws, random_state=random_state)
        notes.append(drawn.counts)
        candidates = {
            "nearest": (nearest(statement, w, b),),
            "randomised": drawn.cards(statement),
            "repaired": mended(statement, w),
        }
        request = Request(w, b, random_state, work_within(clock.left))
        for name, function in named.items():
            found, why = attempt(statement, function, request)
            candidates[name] = found.cards if found is not None else ()
            notes.append(f"{name}: {why}" if why else "")
    candidates["empty card"] = (statement.empty_card(),)
    return rounded_result(
        program, relaxed, candidates, message=_joined(*notes), started=started, clock=clock
    )


def round_by_name(
    program: Program,
    relaxed: Result,
    names: Sequence[str] = ("randomised", "nearest"),
    *,
    n_draws: int = 100,
    random_state: int = 0,
    max_work: float = 1e8,
    time_limit: float = math.inf,
) -> tuple[dict[str, Result], dict[str, dict[str, Any]]]:
    """Round a relaxation by each of the named methods: results and proved figures by name."""
    # all bounds come from the relaxation, and the empty card is not a candidate; after the time
    # limit only the first draw is checked
    clock = Clock.of(time_limit)
    beside = ("randomised", "nearest", "proximal")
    registered = {name: ROUNDINGS[name] for name in names if name not in beside}
    statement, w, b = program.statement, relaxed.coefficients, relaxed.intercept
    request = Request(w, b, random_state, max_work / max(len(registered), 1))
    results: dict[str, Result] = {}
    figures: dict[str, dict[str, Any]] = {}
    for name in names:
        began, message, figures[name] = time.perf_counter(), "", {}
        origins: dict[str, Iterable[Card]] = {}
        found: RoundedCard | None = None
        if name == "proximal":
            found = find_start(statement, max_work=max_work, time_limit=clock.left)
            message = (
                "" if found else "no proximal path: too little time, or no rounded card is allowed"
            )
        elif w.size and name == "randomised":
            # an intercept is held at one scale only
            held_at = b if statement.scales is None else None
            drawn = randomised(
                statement, w, intercept=held_at, n_draws=n_draws, random_state=random_state
            )
            origins, message, figures[name] = {name: drawn.cards(statement)}, drawn.counts, {}
            figures[name] = _held_figures(drawn.held_loss, drawn.bounds, "expected", "sharp")
        elif w.size and name == "nearest":
            origins = {name: [nearest(statement, w, b)], "repaired": mended(statement, w)}
            if isinstance(statement.loss, Hinge):
                held = held_losses(statement, nearest_points(statement, w)[None, :], b)
                bounds = rounding_bounds(statement, w, b)
                figures[name] = _held_figures(float(held[0]), bounds, "sure")
        elif w.size:
            found, message = attempt(statement, registered[name], request)
        if found is not None:
            origins, figures[name] = {name: found.cards}, found.figures
        results[name] = rounded_result(
            program, relaxed, origins, message=message, started=began, clock=clock
        )
        if name in registered and found is None and w.size:
            # a method that does not apply does not refuse a card: more draws would not help
            results[name] = replace(results[name], message=message)
    return results, figures


def _held_figures(held: float, bounds: Mapping[str, float], *names: str) -> dict[str, float]:
    """The loss with the intercept held and the bounds it obeys; empty without bounds."""
    if not bounds:
        return {}
    return {"rounding_loss": held} | {f"{name}_bound": bounds[f"{name}_bound"] for name in names}


def mended(statement: Statement, w: FloatArray) -> tuple[Card, ...]:
    """Under constraints, the nearest rounding of w, shape (p,), repaired until it meets them."""
    if not statement.constraints:
        return ()
    card = repaired(statement, nearest_points(statement, w))
    return () if card is None else (card,)


@dataclass(frozen=True)
class _Passed:
    """The first card of a group that passes every check."""

    origin: str
    card: Card
    evaluation: Evaluation


def rounded_result(
    program: Program,
    relaxed: Result,
    candidates: Mapping[str, Iterable[Card]],
    *,
    message: str,
    started: float,
    clock: Clock,
) -> Result:
    """The best candidate that meets every constraint, with the relaxation's bound."""
    # candidates are cards by origin, best first: the first of each that passes is used
    notes, passed = [message], []
    demanded = integrality_demanded(program.model) if program.is_built else nullcontext()
    with demanded:
        for origin, cards in candidates.items():
            found, refused = _first_feasible(program, origin, cards, clock)
            notes.append(refused)
            passed += [found] if found is not None else []
        best = min(passed, key=lambda each: each.evaluation.objective, default=None)
        if best is not None:
            best = _simplified(program, best)
            program.fill(best.card)
    common: dict[str, Any] = {
        "kind": "rounded",
        "solve_seconds": relaxed.solve_seconds + time.perf_counter() - started,
        "warm_start": "none",
        "caveat": program.statement.caveat,
    }
    if best is None:
        reasons = _joined(*notes, _why(program, relaxed, clock))
        return replace(relaxed, **common, **_no_card(relaxed), message=reasons)
    figures, card = best.evaluation, best.card
    bound, doubt = _trusted_bound(program, relaxed, figures.objective)
    return replace(
        relaxed,
        **common,
        **figures.fields(program.statement, card),
        claim=claim_of(True, figures.objective, bound, trivial=0.0),
        dual_bound=bound,
        origin=best.origin,
        message=_joined(*notes, doubt),
    )


def _first_feasible(
    program: Program, origin: str, cards: Iterable[Card], clock: Clock
) -> tuple[_Passed | None, str]:
    """The first card that meets every constraint, and what was refused; one check if late."""
    reasons: list[str] = []
    found, hurried = None, ""
    for card in cards:
        if reasons and clock.is_up:
            hurried = ", the others not checked for lack of time"
            break
        evaluation = check(program, card)
        if evaluation.feasible:
            found = _Passed(origin, card, evaluation)
            break
        reasons.append(evaluation.violations[0])
    return found, f"{origin}: {len(reasons)} refused ({reasons[0]}){hurried}" if reasons else ""


def _simplified(program: Program, best: _Passed) -> _Passed:
    """A card that is as good and easier to read, if the builder knows one."""
    simpler = program.simplify(program.statement, best.card)
    if simpler == best.card:
        return best
    again = check(program, simpler)
    if again.feasible and again.objective <= best.evaluation.objective:
        return _Passed(best.origin, simpler, again)
    return best


def _trusted_bound(program: Program, relaxed: Result, objective: float) -> tuple[float, str]:
    """The LP's bound, or 0, which always holds, if a verified card contradicts it."""
    if relaxed.termination is Termination.INFEASIBLE:
        return 0.0, "the solver calls the relaxation infeasible although this card was verified"
    bound = max(relaxed.dual_bound, 0.0)
    excess = bound - objective
    if excess > CLAIM_TOLERANCE * max(1.0, objective) and not program.statement.caveat:
        return 0.0, f"the relaxation's bound {bound:.9g} lies above a verified card: it is refused"
    return min(bound, objective), ""


def _no_card(relaxed: Result) -> dict[str, Any]:
    """Fields of a result without a card; the relaxation's bound stays."""
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


def _why(program: Program, relaxed: Result, clock: Clock) -> str:
    """Why there is no card, and what to do next."""
    if relaxed.termination is Termination.INFEASIBLE:
        if program.statement.constraints:
            return why_infeasible(program, clock)
        return (
            "no card meets every constraint, not even with real weights: loosen one of those you "
            "added, or the coefficient and intercept ranges"
        )
    if not relaxed.coefficients.size:
        return f"{relaxed.termination.sentence} Raise it, or loosen a constraint"
    clash = None
    if program.statement.constraints:
        clash = conflict(program, time_limit=min(clock.left, SOLVING.conflict_seconds))
    if clash is not None:
        return clash.sentence
    return (
        "no rounded card meets every constraint: raise n_draws, loosen a constraint, or solve the "
        "exact program, program.exact()"
    )


def _joined(*parts: str) -> str:
    """The nonempty parts as one message."""
    return "; ".join(part for part in parts if part)


def savings_table(
    programs: Mapping[str, Program], seeds: Sequence[int], time_limit: float, **options: Any
) -> DataFrame:
    """Stack :func:`warm_start_savings` of several exact programs, column ``formulation`` first."""
    import pandas as pd

    tables = []
    for name, program in programs.items():
        table = pd.DataFrame([{"start": "proximal", "warm_start": "none was found"}])
        if (card := proximal_start(program)) is not None:
            table = warm_start_savings(
                program, seeds=seeds, start=card, time_limit=time_limit, **options
            )
        table.insert(0, "formulation", name)
        tables.append(table)
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def warm_start_savings(
    program: Program,
    *,
    seeds: Sequence[int] = (0, 1, 2),
    within: float = 0.01,
    start: Card | None = None,
    solver: str = "auto",
    time_limit: float = Options.time_limit,
    **options: Any,
) -> DataFrame:
    """Solve with and without a proximal start, once a seed, and say when a good card was known.

    A card is good where its objective is at most ``within`` above the best one that either solve
    of the seed ended with.

    Parameters
    ----------
    program : Program
        An exact program.
    seeds : sequence of int
        Seeds of the solver; HiGHS's path through a tree depends much on it.
    within : float
        Relative, not negative; where the best objective is 0 only that will do.
    start : Card, optional
        By default :func:`proximal_start`'s, found once; its seconds are charged to every solve
        that uses it.
    solver, time_limit, **options :
        As in :func:`milpscore.solvers.solve`, for each of the 2 * len(seeds) solves.

    Returns
    -------
    DataFrame
        Two rows a seed, ``start`` "none" and "proximal" (or "given"), with columns seed, start,
        warm_start (what the solver made of it), start_objective, first_seconds and first_nodes (to
        the first good card, the start's own seconds included; NaN where there was none), then
        solve_seconds, nodes, objective, bound, claim.

    Raises
    ------
    OptionError
        For no seeds, a negative ``within``, or where no start was found and none is given.
    """
    import pandas as pd

    if not len(seeds) or not within >= 0:
        raise OptionError("name at least one seed, and a share within >= 0, say 0.01")
    began = time.perf_counter()
    card, origin = (start, "given") if start is not None else (proximal_start(program), "proximal")
    start_seconds = time.perf_counter() - began if start is None else 0.0
    if card is None:
        raise OptionError("no proximal start was found for this program: pass one as start")
    start_objective = evaluate(program.statement, card).objective
    rows = []
    for seed in seeds:
        common = {"random_state": seed, "time_limit": time_limit, "progress": False, **options}
        solved = {
            "none": solve(program, solver, **common),
            origin: solve(program, solver, warm_start=card, **common),
        }
        best = min(result.objective for result in solved.values())
        good = best + within * abs(best)
        for name, result in solved.items():
            given = (math.nan, 0.0) if name == "none" else (start_objective, start_seconds)
            rows.append({"seed": seed, "start": name} | _first_good(result, good, *given))
    return pd.DataFrame(rows)


def _first_good(
    result: Result, good: float, start_objective: float, start_seconds: float
) -> dict[str, Any]:
    """Seconds and nodes until a solve knew a good card; NaN if it never did."""
    good += 1e-9 * max(1.0, abs(good))
    first, nodes = math.nan, math.nan
    known = [point for point in result.trace if point.objective <= good]
    if result.warm_start == "accepted" and start_objective <= good:
        first, nodes = start_seconds, 0
    elif known:
        first, nodes = start_seconds + known[0].seconds, known[0].nodes
    elif result.objective <= good:  # found after the last report
        first, nodes = start_seconds + result.solve_seconds, result.nodes
    return {
        "warm_start": result.warm_start,
        "start_objective": start_objective,
        "first_seconds": first,
        "first_nodes": nodes,
        "solve_seconds": result.solve_seconds,
        "nodes": result.nodes,
        "objective": result.objective,
        "bound": result.dual_bound,
        "claim": str(result.claim),
    }
