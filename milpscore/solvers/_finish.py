"""From a solver's outcome to a result: re-check every candidate card, claim what that allows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyomo.environ as pyo

from milpscore._version import __version__
from milpscore.core.card import Card
from milpscore.core.program import Kind, Program
from milpscore.core.result import CLAIM_TOLERANCE, Claim, Result, Termination, claim_of
from milpscore.core.statement import Statement
from milpscore.solvers._highs_run import Outcome
from milpscore.solvers._options import Options
from milpscore.solvers._session import Session
from milpscore.verify import Evaluation, check, evaluate

CONFLICT_SECONDS = 10.0
"""Spent at most on naming the constraints that conflict."""


class Handed(Protocol):
    """What a result says of how a program reached its solver; every Session is one."""

    @property
    def program(self) -> Program:
        """The program."""
        ...

    @property
    def kind(self) -> Kind:
        """Exact or relaxed, as solved."""
        ...

    @property
    def version(self) -> str:
        """The solver's version."""
        ...

    @property
    def handover_seconds(self) -> float:
        """Seconds from the program to the solver."""
        ...


@dataclass(frozen=True)
class Direct:
    """A program that a solver of milpscore's own reads as it is."""

    program: Program
    version: str = __version__
    handover_seconds: float = 0.0

    @property
    def kind(self) -> Kind:
        """As the program is."""
        return self.program.kind


@dataclass(frozen=True)
class _Candidate:
    """A card with its re-checked figures and where it came from."""

    origin: str
    card: Card
    evaluation: Evaluation


def absolute_gap(statement: Statement) -> float:
    """An absolute gap below half the smallest step of the objective, and within the claim."""
    design = statement.design
    steps = [design.weight[design.weight > 0].min() / design.weight.sum()]
    steps += [step for p in statement.penalties if (step := getattr(p, "step", p.lam)) > 0]
    return float(min(0.49 * min(steps), 0.5 * CLAIM_TOLERANCE))


def start_vector(session: Session, start: Card | None) -> tuple[Any, str]:
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


def exact_result(
    session: Session,
    options: Options,
    outcome: Outcome,
    start: Card | None,
    note: str,
    solver: str = "highs",
) -> Result:
    """Round, re-check, compare with the empty card and the start, and claim.

    Parameters
    ----------
    session : Session
        Its model holds the values of ``outcome``.
    options : Options
    outcome : Outcome
    start : Card or None
        The warm start.
    note : str
        What became of it.
    solver : str

    Returns
    -------
    Result
    """
    own = None
    if outcome.values is not None and np.isfinite(outcome.values).all():
        session.load_values(outcome.values)
        own = session.program.card()
    return card_result(session, options, outcome, own, start, note, solver)


def card_result(
    handed: Handed,
    options: Options,
    outcome: Outcome,
    own: Card | None,
    start: Card | None,
    note: str,
    solver: str,
) -> Result:
    """The same for a solver that answers with a card; ``own`` is its card."""
    program = handed.program
    best, refused = _best_verified(program, own, start)
    if best is None:
        return _without_card(
            common_fields(handed, options, outcome, note, solver), program, own, refused
        )
    figures = best.evaluation
    message = ""
    solver_refused = any(text.startswith("the solver was refused") for text in refused)
    if own is not None and best.origin != "solver" and not solver_refused:
        message = f"the {best.origin} is better than the solver's card"
    bound, doubt = _trusted_bound(program, outcome, solver)
    bound = min(bound, figures.objective)
    return Result(
        **common_fields(handed, options, outcome, note, solver),
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
        message="; ".join(filter(None, [message, *refused, doubt])),
    )


def _trusted_bound(program: Program, outcome: Outcome, solver: str) -> tuple[float, str]:
    """The solver's bound, or the trivial 0 and why where a verified card contradicts it.

    The model holds that card's values. Its objective is the card's own, or more where the
    statement carries a caveat: no valid bound lies above it.
    """
    if outcome.termination is Termination.INFEASIBLE:
        return 0.0, f"{solver} calls the program infeasible although this card was verified"
    if outcome.termination is Termination.ERROR or math.isnan(outcome.dual_bound):
        return 0.0, f"{solver} stopped with an error: its bound is not used"
    charged = float(pyo.value(program.model.loss) + pyo.value(program.model.penalty))
    if outcome.dual_bound - charged > CLAIM_TOLERANCE * max(1.0, charged):
        return 0.0, (
            f"{solver} claims the bound {outcome.dual_bound:.9g}, above the verified objective "
            f"{charged:.9g}: the bound is refused"
        )
    return max(outcome.dual_bound, 0.0), ""


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
        if card is None or len(card.coefficients) != statement.design.shape[1]:
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
            refused.pop(candidate.origin, None)  # only another form of the same card failed
            return replace(candidate, evaluation=verdict), list(refused.values())
        refused[candidate.origin] = f"the {candidate.origin} was refused: {verdict.violations[0]}"
    return None, list(refused.values())


def why_infeasible(program: Program, time_limit: float) -> str:
    """Which constraints conflict, where that can be told, and what to do next."""
    from milpscore.solvers._conflict import conflict

    found = None
    if program.statement.constraints:
        found = conflict(program, time_limit=min(time_limit, CONFLICT_SECONDS))
    if found is not None and found.names:
        return found.sentence
    return (
        "no card meets every constraint: loosen one of those you added, max_terms, or the "
        "coefficient and intercept ranges"
    )


def _without_card(
    common: dict[str, Any], program: Program, own: Card | None, refused: list[str]
) -> Result:
    """The answer where no card meets every constraint, with what to do next."""
    ended = common["termination"]
    if ended is Termination.INFEASIBLE or (ended is Termination.COMPLETED and own is None):
        message = why_infeasible(program, common["options"]["time_limit"])
    else:
        message = "no card was found before the stop: raise the limit or pass a warm start"
    return Result(
        **common,
        claim=Claim.NONE,
        verified=False,
        message="; ".join([*refused, message]),
    )


def common_fields(
    handed: Handed, options: Options, outcome: Outcome, note: str, solver: str = "highs"
) -> dict[str, Any]:
    """The fields every result has."""
    program = handed.program
    return {
        "formulation": program.formulation,
        "kind": handed.kind,
        "termination": outcome.termination,
        "nodes": outcome.nodes,
        "build_seconds": program.build_seconds,
        "handover_seconds": handed.handover_seconds,
        "solve_seconds": outcome.seconds,
        "solver": solver,
        "solver_version": handed.version,
        "random_state": options.random_state,
        "warm_start": note,
        "caveat": program.statement.caveat,
        "trace": tuple(outcome.trace),
        "options": options.as_dict(),
    }
