"""HiGHS behind the common interface: exact programs to verified cards, relaxations to bounds."""

from __future__ import annotations

import math
from collections.abc import Callable

import pyomo.environ as pyo

from milpscore.core.card import Card
from milpscore.core.result import (
    Claim,
    Result,
    Termination,
    TracePoint,
    claim_of,
)
from milpscore.solvers._finish import absolute_gap, common_fields, exact_result, start_vector
from milpscore.solvers._highs_run import Outcome, run
from milpscore.solvers._options import Options
from milpscore.solvers._progress import progress_line
from milpscore.solvers._session import Session
from milpscore.verify import model_violations

Callback = Callable[[TracePoint], None]


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
    vector, note = start_vector(session, start)
    if options.time_limit == 0:
        outcome = nothing_run(Termination.TIME_LIMIT)
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
    if session.kind == "relaxed":
        return relaxed_result(session, options, outcome, note)
    return exact_result(session, options, outcome, start, note)


def _all_of(receivers: list[Callback]) -> Callback | None:
    """One receiver that calls them all."""

    def receive(point: TracePoint) -> None:
        for each in receivers:
            each(point)

    return receive if receivers else None


def nothing_run(termination: Termination) -> Outcome:
    """The outcome of a run that was not started."""
    return Outcome(termination)


def relaxed_result(
    session: Session, options: Options, outcome: Outcome, note: str, solver: str = "highs"
) -> Result:
    """A relaxation's solution with its bound recomputed from the duals."""
    common = common_fields(session, options, outcome, note, solver)
    if outcome.values is None:
        reason = outcome.termination.sentence
        return Result(**common, claim=Claim.NONE, verified=False, message=f"no solution: {reason}")
    program = session.program
    session.load_values(outcome.values)
    objective = float(session.cost @ outcome.values + session.offset)
    loss = float(pyo.value(program.model.loss))
    broken = model_violations(program.model, integrality=False)
    bound = -math.inf
    if outcome.row_dual is not None:
        # losses and penalties are never negative
        bound = min(max(session.dual_bound_of(outcome.row_dual), 0.0), objective)
        _store_duals(session, outcome)
    w, b = program.coefficients()
    return Result(
        **common,
        claim=claim_of(not broken, objective, bound, trivial=0.0),
        verified=not broken,
        objective=objective,
        loss=loss,
        penalty=max(objective - loss, 0.0),
        dual_bound=bound,
        bound_source="evidence",
        coefficients=w,
        intercept=b,
        terms=program.statement.design.count_terms(w),
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
