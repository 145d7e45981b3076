"""HiGHS behind the common interface: exact programs to verified cards, relaxations to bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo

from milpscore.core.card import Card
from milpscore.core.program import Program
from milpscore.core.result import (
    CLAIM_TOLERANCE,
    Claim,
    Result,
    SolutionStatus,
    Termination,
    TracePoint,
    claim_of,
)
from milpscore.core.statement import Statement
from milpscore.solvers._highs_run import Outcome, run
from milpscore.solvers._options import Options
from milpscore.solvers._progress import progress_line
from milpscore.solvers._session import Session
from milpscore.verify import Evaluation, check, evaluate, model_violations

Callback = Callable[[TracePoint], None]


@dataclass(frozen=True)
class _Candidate:
    """A card with its re-checked figures and where it came from."""

    origin: str
    card: Card
    evaluation: Evaluation


def solve_session(
    session: Session,
    options: Options,
    start: Card | None,
    progress: bool | None,
    callback: Callback | None,
) -> Result:
    """Solve what a session holds.

    Parameters
    ----------
    session : Session
    options : Options
    start : Card or None
        A warm start.
    progress : bool or None
    callback : callable or None

    Returns
    -------
    Result
    """
    vector, note = _start_vector(session, start)
    if options.time_limit == 0:
        outcome = _nothing(Termination.TIME_LIMIT)
    else:
        with progress_line(session.program.formulation, progress) as line:
            receivers = [receive for receive in (line, callback) if receive is not None]
            outcome = run(
                session,
                options,
                absolute_gap(session.program.statement),
                vector,
                _all_of(receivers),
            )
        if vector is not None:
            note = "accepted" if outcome.start_taken else "rejected: HiGHS did not take it up"
    if outcome.values is not None:
        session.load_values(outcome.values)
    finish = _relaxed_result if session.kind == "relaxed" else _exact_result
    return finish(session, options, outcome, start, note)


def _all_of(receivers: list[Callback]) -> Callback | None:
    """One receiver that calls them all."""

    def receive(point: TracePoint) -> None:
        for each in receivers:
            each(point)

    return receive if receivers else None


def absolute_gap(statement: Statement) -> float:
    """An absolute gap below half the smallest step of the objective, and within the claim."""
    design = statement.design
    steps = [design.weight[design.weight > 0].min() / design.weight.sum()]
    steps += [term.lam for term in statement.penalties if term.lam > 0]
    return float(min(0.49 * min(steps), 0.5 * CLAIM_TOLERANCE))


def _nothing(termination: Termination) -> Outcome:
    """The outcome of a run that was not started."""
    return Outcome(termination, SolutionStatus.NONE, None, None, None, -math.inf, 0, 0.0, False)


def _start_vector(session: Session, start: Card | None) -> tuple[Any, str]:
    """The complete vector of a warm start, or why there is none."""
    if start is None:
        return None, "none"
    if session.kind == "relaxed":
        return None, "rejected: a relaxation takes no card"
    evaluation = check(session.program, start)
    if not evaluation.feasible:
        return None, f"rejected: {evaluation.violations[0]}"
    vector = session.vector()
    if np.isnan(vector).any():
        name = session.columns[int(np.flatnonzero(np.isnan(vector))[0])].name
        return None, f"rejected: variable {name} was added and has no value; set one"
    return vector, "accepted"


def _exact_result(
    session: Session, options: Options, outcome: Outcome, start: Card | None, note: str
) -> Result:
    """Round, re-check, compare with the empty card and the start, and claim."""
    program = session.program
    statement = program.statement
    own = program.card() if outcome.values is not None else None
    best, refused = _best_verified(program, own, start)
    bound = (
        max(outcome.dual_bound, 0.0)
        if outcome.termination is not Termination.INFEASIBLE
        else -math.inf
    )
    if best is None:
        return _without_card(session, options, outcome, note, refused)
    figures = best.evaluation
    message = ""
    if own is not None and best.origin != "solver":
        message = f"the {best.origin} is better than the solver's card"
    contradiction = bound - figures.objective
    if contradiction > CLAIM_TOLERANCE * max(1.0, figures.objective) and not statement.caveat:
        message = (
            f"HiGHS claims the bound {bound:.9g}, above the verified objective "
            f"{figures.objective:.9g}: the bound is refused"
        )
        bound = 0.0
    if outcome.termination is Termination.INFEASIBLE:
        message = "HiGHS calls the program infeasible although this card was verified: no bound"
        bound = 0.0
    bound = min(bound, figures.objective)
    return Result(
        **_common(session, options, outcome, note),
        claim=claim_of(True, figures.objective, bound, trivial=0.0),
        verified=True,
        objective=figures.objective,
        loss=figures.loss,
        penalty=figures.penalty,
        dual_bound=bound,
        card=best.card,
        coefficients=best.card.coefficients.astype(np.float64),
        intercept=float(best.card.intercept),
        origin=best.origin,
        message="; ".join(filter(None, [message, *refused])),
    )


def _best_verified(
    program: Program, own: Card | None, start: Card | None
) -> tuple[_Candidate | None, list[str]]:
    """The best card that passes every check, its values left in the model; and what was refused.

    Beside the solver's card stand the start, the empty card, and simpler or better-cut forms of
    each: a solver's T may sit exactly on a total, where floating-point data leave the answer open,
    so the intercept is also re-set by a sweep over the totals.
    """
    statement = program.statement
    candidates: list[_Candidate] = []
    for origin, card in (
        ("solver", own),
        ("warm start", start),
        ("empty card", statement.empty_card()),
    ):
        if card is None:
            continue
        recut = statement.with_best_intercept(card.coefficients)
        forms = (program.simplify(statement, recut), program.simplify(statement, card), recut, card)
        candidates += [
            _Candidate(origin, form, evaluate(statement, form)) for form in dict.fromkeys(forms)
        ]
    refused: dict[str, str] = {}
    for candidate in sorted(
        candidates, key=lambda c: (not c.evaluation.feasible, c.evaluation.objective)
    ):
        verdict = check(program, candidate.card)
        if verdict.feasible:
            return replace(candidate, evaluation=verdict), list(refused.values())
        refused[candidate.origin] = f"the {candidate.origin} was refused: {verdict.violations[0]}"
    return None, list(refused.values())


def _without_card(
    session: Session, options: Options, outcome: Outcome, note: str, refused: list[str]
) -> Result:
    """The answer where no card meets every constraint, with what to do next."""
    if outcome.termination is Termination.INFEASIBLE:
        message = (
            "no card meets every constraint: loosen one of those you added, max_terms, or the "
            "coefficient and intercept ranges"
        )
    else:
        message = "no card was found before the stop: raise the limit or pass a warm start"
    return Result(
        **_common(session, options, outcome, note),
        claim=Claim.NONE,
        verified=False,
        message="; ".join([*refused, message]),
    )


def _relaxed_result(
    session: Session, options: Options, outcome: Outcome, start: Card | None, note: str
) -> Result:
    """A relaxation's solution with its bound recomputed from the duals."""
    common = _common(session, options, outcome, note)
    if outcome.values is None:
        reason = outcome.termination.sentence
        return Result(**common, claim=Claim.NONE, verified=False, message=f"no solution: {reason}")
    program = session.program
    objective = float(session.cost @ outcome.values + session.offset)
    loss = float(pyo.value(program.model.loss))
    broken = tuple(v for v in model_violations(program.model) if "whole number" not in v)
    bound = -math.inf
    if outcome.row_dual is not None:
        bound = min(session.dual_bound_of(outcome.row_dual), objective)
        _store_duals(session, outcome)
    w, b = program.coefficients()
    return Result(
        **common,
        claim=claim_of(not broken, objective, bound, trivial=-math.inf),
        verified=not broken,
        objective=objective,
        loss=loss,
        penalty=objective - loss,
        dual_bound=bound,
        bound_source="evidence",
        coefficients=w,
        intercept=b,
        message="; ".join(broken),
    )


def _store_duals(session: Session, outcome: Outcome) -> None:
    """Duals and reduced costs into the model's Suffixes ``dual`` and ``rc``."""
    model = session.program.model
    for name in ("dual", "rc"):
        if model.component(name) is None:
            model.add_component(name, pyo.Suffix(direction=pyo.Suffix.IMPORT))
    model.dual.clear()
    model.rc.clear()
    assert outcome.row_dual is not None
    assert outcome.col_dual is not None
    for row, value in zip(session.rows, outcome.row_dual.tolist(), strict=True):
        model.dual[row.constraint] = model.dual.get(row.constraint, 0.0) + value
    for var, value in zip(session.columns, outcome.col_dual.tolist(), strict=True):
        model.rc[var] = value


def _common(session: Session, options: Options, outcome: Outcome, note: str) -> dict[str, Any]:
    """The fields every result has."""
    program = session.program
    return {
        "formulation": program.formulation,
        "kind": session.kind,
        "termination": outcome.termination,
        "solution": outcome.solution,
        "nodes": outcome.nodes,
        "build_seconds": program.build_seconds,
        "handover_seconds": session.handover_seconds,
        "solve_seconds": outcome.seconds,
        "solver": "highs",
        "solver_version": session.version,
        "random_state": options.random_state,
        "warm_start": note,
        "caveat": program.statement.caveat,
        "trace": tuple(outcome.trace),
        "options": options.as_dict(),
    }
