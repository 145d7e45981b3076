"""Conic programs: choose a solver, run it, polish, re-check, ask for a second opinion."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import numpy as np

from milpscore.core.cone_form import ConeForm, compiled, load_values
from milpscore.core.conic import ConicProgram, ConicStatement
from milpscore.core.design import FloatArray
from milpscore.core.errors import MissingDependencyError
from milpscore.core.result import (
    CLAIM_TOLERANCE,
    Claim,
    Result,
    SecondOpinion,
    Termination,
    claim_of,
)
from milpscore.proximal import fit_proximal
from milpscore.search.polish import polished
from milpscore.solvers._cone_outcome import ConeOutcome, residuals, solver_bound
from milpscore.solvers._conic_options import CONIC_SOLVERS, ConicOptions
from milpscore.verify._card import Evaluation
from milpscore.verify._conic import added_violations, evaluate_conic, fenchel_bound, null_point

MAX_GROWTHS = 30
"""How often a cone may be enlarged and solved again; every time it at least doubles."""

_COST_SCALE = 100.0
_RETRIED = (Termination.COMPLETED, Termination.INACCURATE, Termination.ERROR)
_GOOD_BOUND = 1e-8
_NEARBY_STEPS = 200

_DUAL_TOLERANCE = 1e-6
"""A solver's own dual objective counts as a bound only with a residual below this."""


@dataclass(eq=False)
class Answer:
    """What one solver found: the point in the program's terms, a bound, and how it went."""

    outcome: ConeOutcome
    solver: str
    version: str
    point: tuple[FloatArray, float] | None = None
    bound: float = -math.inf
    bound_source: str = "evidence"
    residuals: Mapping[str, float] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    compile_seconds: float = 0.0


def solve_conic(
    program: ConicProgram, solver: str, options: ConicOptions, second_opinion: bool
) -> Result:
    """Solve a conic program.

    Parameters
    ----------
    program : ConicProgram
    solver : {"auto", "ecos", "clarabel", "proximal"}
    options : ConicOptions
    second_opinion : bool
        Solve with another solver too.

    Returns
    -------
    Result
        ``kind`` is "relaxed".
    """
    program.require_stated()
    program.restore_parameters()
    name, reason = _choose(options) if solver == "auto" else (solver, "")
    if options.time_limit == 0:
        outcome = ConeOutcome(Termination.TIME_LIMIT, "not started")
        return _result(program, Answer(outcome, name, _version(name)), options, [reason])
    answer = _answer(program, name, options)
    remarks = [reason]
    if solver == "auto" and answer.outcome.termination in _FAILURES:
        other = _another(name, options)
        if other is not None:
            remarks.append(
                f"{name} stopped with {answer.outcome.status!r}, so {other} was asked as well"
            )
            second = _answer(program, other, options)
            if _better(program, second, answer):
                answer, name = second, other
            elif answer.point is not None:
                program.load(*answer.point)
    result = _result(program, answer, options, remarks)
    return _with_opinion(program, result, name, options) if second_opinion else result


_FAILURES = (Termination.INACCURATE, Termination.ERROR, Termination.ITERATION_LIMIT)


def _choose(options: ConicOptions) -> tuple[str, str]:
    """The solver ``auto`` means, and why."""
    if math.isfinite(options.time_limit):
        return "clarabel", "auto: clarabel, because ECOS cannot be stopped by the clock"
    try:
        _version("ecos")
    except MissingDependencyError as error:
        return "clarabel", f"auto: clarabel, because {error}"
    return "ecos", "auto: ecos, the first choice for cones"


def _another(name: str, options: ConicOptions) -> str | None:
    """The conic solver to ask besides ``name``; None where there is none."""
    other = "clarabel" if name != "clarabel" else "ecos"
    if other == "ecos" and math.isfinite(options.time_limit):
        return None
    try:
        _version(other)
    except MissingDependencyError:
        return None
    return other


def _version(name: str) -> str:
    version: str = import_module(CONIC_SOLVERS[name]).version()
    return version


def _answer(program: ConicProgram, name: str, options: ConicOptions) -> Answer:
    """One solver's answer, and where that leaves a gap the better one of two.

    A solver's tolerances are absolute below 1: where the optimum is tiny (little penalty, separable
    classes) it stops too early, or gives up, and goes further with its costs scaled up.
    """
    module = import_module(CONIC_SOLVERS[name])
    if hasattr(module, "run_program"):
        outcome, point, bound = module.run_program(program, options)
        return Answer(outcome, name, _version(name), point, bound)
    answer = _attempt(program, module, name, options)
    left = options.time_limit - answer.outcome.seconds
    if answer.outcome.termination not in _RETRIED or left <= 0 or not _leaves_gap(program, answer):
        return answer
    rest = replace(options, time_limit=left)
    again = _attempt(program, module, name, rest, scale=_COST_SCALE)
    chosen, other = (again, answer) if _better(program, again, answer) else (answer, again)
    return replace(
        chosen,
        outcome=replace(chosen.outcome, seconds=answer.outcome.seconds + again.outcome.seconds),
        bound=max(chosen.bound, other.bound),
        compile_seconds=answer.compile_seconds + again.compile_seconds,
        remarks=(*chosen.remarks, f"solved again with the costs times {_COST_SCALE:g}"),
    )


def _leaves_gap(program: ConicProgram, answer: Answer) -> bool:
    """Whether the point is missing, or further from its bound than solvers agree on."""
    if answer.point is None:
        return True
    objective = evaluate_conic(program.statement, *answer.point).objective
    # with constraints added the bound is the solver's own, which is not as close
    close = CLAIM_TOLERANCE if program.added else _GOOD_BOUND
    return not objective - answer.bound <= close * max(abs(objective), 1e-12)


def _attempt(
    program: ConicProgram, module: Any, name: str, options: ConicOptions, scale: float = 1.0
) -> Answer:
    """One solve; the cone grows until it states the penalty at the point found."""
    answer = Answer(ConeOutcome(Termination.ERROR, "not started"), name, _version(name))
    for _ in range(MAX_GROWTHS):
        started = time.perf_counter()
        form = compiled(program.model)
        answer.compile_seconds += time.perf_counter() - started
        try:
            outcome = _scaled_run(module, form, options, scale)
        except KeyboardInterrupt:
            outcome = ConeOutcome(Termination.INTERRUPTED, "interrupted")
        answer.outcome = replace(outcome, seconds=outcome.seconds + answer.outcome.seconds)
        if outcome.x is None or outcome.z is None:
            return answer
        load_values(program.model, form, outcome.x, outcome.z, float(form.c @ outcome.x))
        answer.residuals = residuals(form, outcome)
        growth = program.grow()
        if not growth:
            break
        answer.remarks = (*answer.remarks, growth)
    w, b = program.coefficients()
    answer.bound = fenchel_bound(program.statement, w, b, _row_duals(program))
    answer.point = polished(program, w, b, options.zero_tol)
    answer.bound = max(answer.bound, _bound_nearby(program.statement, answer))
    _consider_solver_bound(program.statement, form, answer)
    return answer


def _scaled_run(module: Any, form: ConeForm, options: ConicOptions, scale: float) -> ConeOutcome:
    """One run on the program with its costs times ``scale``; the duals are scaled back."""
    outcome: ConeOutcome = module.run(replace(form, c=form.c * scale), options)
    if outcome.z is None:
        return outcome
    return replace(outcome, z=outcome.z / scale)


def _bound_nearby(statement: ConicStatement, answer: Answer) -> float:
    """A bound from points near a good one, by the proximal path; -inf where it has none.

    A Fenchel bound at a point is off by as much as the point is, an objective by the square of
    that: a few proximal steps on gives the bound the objective deserves.
    """
    assert answer.point is not None
    if not hasattr(statement.loss, "gradient"):
        return -math.inf
    objective = evaluate_conic(statement, *answer.point).objective
    if objective - answer.bound <= _GOOD_BOUND * abs(objective):
        return -math.inf
    rows = statement.merged
    near = fit_proximal(
        rows.X,
        rows.y,
        loss=statement.loss,  # type: ignore[arg-type]
        penalty=statement.penalty,
        sample_weight=rows.weight,
        intercept=statement.intercept,
        tol=_GOOD_BOUND,
        max_iter=_NEARBY_STEPS,
        start=answer.point,
    )
    return near.dual_objective


def _row_duals(program: ConicProgram) -> FloatArray | None:
    """Duals of the hinge loss's margin rows."""
    if not program.own or program.own[0].dual_value is None:
        return None
    return np.asarray(program.own[0].dual_value, dtype=np.float64)


def _consider_solver_bound(statement: ConicStatement, form: ConeForm, answer: Answer) -> None:
    """Take the solver's own dual objective where our bound leaves a gap, and say so.

    Ours knows nothing of added constraints, and has none where a direction of w is not penalised.
    """
    assert answer.point is not None
    objective = evaluate_conic(statement, *answer.point).objective
    open_gap = objective - answer.bound > CLAIM_TOLERANCE * max(1.0, abs(objective))
    sound = answer.residuals["dual"] <= _DUAL_TOLERANCE
    if open_gap and sound and answer.outcome.termination is Termination.COMPLETED:
        own = solver_bound(form, answer.outcome)
        if own > answer.bound:
            answer.bound, answer.bound_source = own, "solver"


def _better(program: ConicProgram, one: Answer, other: Answer) -> bool:
    """Whether the point of ``one`` is better than that of ``other``."""
    if one.point is None or other.point is None:
        return other.point is None
    statement = program.statement
    return (
        evaluate_conic(statement, *one.point).objective
        <= evaluate_conic(statement, *other.point).objective
    )


def _judged(
    program: ConicProgram, point: tuple[FloatArray, float]
) -> tuple[Evaluation, tuple[str, ...]]:
    """The figures of a point, its values left in the model, and what it breaks."""
    program.load(*point)
    found = evaluate_conic(program.statement, *point)
    return found, (*found.violations, *added_violations(program))


def _result(
    program: ConicProgram, answer: Answer, options: ConicOptions, remarks: list[str]
) -> Result:
    """Re-check the point, compare it with the model without terms, and claim."""
    statement, outcome = program.statement, answer.outcome
    remarks = [*remarks, *answer.remarks]
    point, origin = answer.point, "solver"
    broken: tuple[str, ...] = ("no point",)
    figures = None
    if point is not None:
        figures, broken = _judged(program, point)
        if broken:
            remarks.append(f"the solver's point was refused: {broken[0]}")
    empty = null_point(statement)
    empty_figures, empty_broken = _judged(program, empty)
    if not empty_broken and (broken or figures is None or
                             empty_figures.objective < figures.objective):  # fmt: skip
        if outcome.termination is Termination.INFEASIBLE:
            remarks.append(f"{answer.solver} calls the program infeasible although w = 0 is not")
        elif point is not None:
            remarks.append("the model without terms is better than the solver's point")
        point, figures, broken, origin = empty, empty_figures, (), "empty card"
    common = _common(program, answer, options, origin)
    if figures is None or point is None or broken:
        remarks.append(_advice(outcome))
        return Result(
            **common, claim=Claim.NONE, verified=False, message="; ".join(filter(None, remarks))
        )
    program.load(*point)
    bound, claim = min(answer.bound, figures.objective), Claim.FEASIBLE
    trivial = -math.inf if statement.loss.task == "count" else 0.0
    if answer.bound - figures.objective > 1e-6 * max(1.0, abs(figures.objective)):
        bound = trivial
        remarks.append(f"the bound {answer.bound:.9g} lies above a verified point: it is refused")
    bound = max(bound, trivial)
    claim = claim_of(True, figures.objective, bound, trivial)
    if claim is Claim.OPTIMAL and outcome.termination is Termination.INACCURATE:
        claim = Claim.GAP
    return Result(
        **common,
        claim=claim,
        verified=True,
        objective=figures.objective,
        loss=figures.loss,
        penalty=figures.penalty,
        dual_bound=bound,
        bound_source=answer.bound_source,
        coefficients=point[0],
        intercept=point[1],
        terms=_terms(program, point[0]),
        message="; ".join(filter(None, remarks)),
    )


def _terms(program: ConicProgram, w: FloatArray) -> int:
    """Raw features that matter; without a design, nonzero coefficients."""
    design = program.statement.design
    return int(np.count_nonzero(w)) if design is None else design.count_terms(w)


def _advice(outcome: ConeOutcome) -> str:
    """What to do where there is no answer."""
    if outcome.termination is Termination.INFEASIBLE:
        return "no coefficients meet the constraints you added: loosen one of them"
    if outcome.termination is Termination.UNBOUNDED:
        return "the objective falls without end: raise lam, or drop what you added"
    return f"no answer ({outcome.status}): scale the columns, raise lam, or use solver='proximal'"


def _common(
    program: ConicProgram, answer: Answer, options: ConicOptions, origin: str
) -> dict[str, Any]:
    """The fields every conic result has."""
    outcome = answer.outcome
    return {
        "formulation": program.formulation,
        "kind": "relaxed",
        "termination": outcome.termination,
        "nodes": 0,
        "build_seconds": program.build_seconds,
        "handover_seconds": answer.compile_seconds,
        "solve_seconds": outcome.seconds,
        "solver": answer.solver,
        "solver_version": answer.version,
        "origin": origin,
        "caveat": program.statement.caveat,
        "options": options.as_dict(),
        "residuals": answer.residuals,
    }


def _with_opinion(
    program: ConicProgram, result: Result, name: str, options: ConicOptions
) -> Result:
    """The result with what another solver says; the model keeps the result's values."""
    other = _another(name, options)
    if other is None:
        why = (
            "cannot keep the time limit"
            if math.isfinite(options.time_limit)
            else "is not installed"
        )
        text = f"no second opinion: ECOS {why}"
        return replace(result, message="; ".join(filter(None, [result.message, text])))
    second = _result(program, _answer(program, other, options), options, [])
    difference = math.inf
    if result.verified and second.verified:
        scale = max(abs(result.objective), 1e-10)
        difference = abs(second.objective - result.objective) / scale
    if result.verified:
        program.load(result.coefficients, result.intercept)
    opinion = SecondOpinion(
        other, second.termination, second.objective, second.dual_bound, difference
    )
    return replace(result, second_opinion=opinion)
