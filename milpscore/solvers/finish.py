"""From a solver's outcome to a result: re-check every candidate card, name what conflicts."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo

from milpscore.core.card import Card
from milpscore.core.design import IntArray
from milpscore.core.errors import is_number
from milpscore.core.program import Program
from milpscore.core.result import CLAIM_TOLERANCE, Claim, Result, Termination, claim_of
from milpscore.core.statement import RULES, Statement
from milpscore.solvers.engine import Outcome, Task
from milpscore.solvers.options import Options, require
from milpscore.solvers.session import (
    Session,
    configure,
    is_feasible,
    set_option,
    termination_of,
)
from milpscore.verify import Evaluation, check, evaluate
from milpscore.verify.cards import model_violations

CONFLICT_SECONDS = 10.0
"""Spent at most on naming the constraints that conflict."""


Candidate = tuple[str, Card, Evaluation]
"""Where a card came from, the card, and its re-checked figures."""


def absolute_gap(statement: Statement) -> float:
    """An absolute gap below half the smallest step of the objective, and within the claim."""
    design = statement.design
    steps = [design.weight[design.weight > 0].min() / design.weight.sum()]
    steps += [step for p in statement.penalties if (step := getattr(p, "step", p.lam)) > 0]
    return float(min(0.49 * min(steps), 0.5 * CLAIM_TOLERANCE))


def with_start(task: Task, start: Card | None) -> tuple[Task, str]:
    """The task with its warm start, the vector of it too; and "accepted", or why it was left out.

    Where it is accepted the model holds its values.
    """
    if start is None:
        return task, "none"
    if task.kind == "relaxed":
        return task, "rejected: a relaxation takes no card"
    evaluation = check(task.program, start)
    if not evaluation.feasible:
        return task, f"rejected: {evaluation.violations[0]}"
    if task.session is None:
        return replace(task, start=start), "accepted"
    vector = task.session.vector()
    if np.isnan(vector).any():
        name = task.session.columns[int(np.flatnonzero(np.isnan(vector))[0])].name
        return task, f"rejected: variable {name} was added and has no value; set one"
    return replace(task, start=start, vector=vector), "accepted"


def finished(task: Task, outcome: Outcome, start: Card | None, common: dict[str, Any]) -> Result:
    """Round, re-check, compare with the empty card and the start, and claim.

    Parameters
    ----------
    task : Task
    outcome : Outcome
    start : Card or None
        The warm start, refused as it stands or not.
    common : dict
        Further fields: ``solver``, ``solver_version``, ``warm_start``.
    """
    program, session = task.program, task.session
    common = {
        **common,
        "formulation": program.formulation,
        "kind": task.kind,
        "termination": outcome.termination,
        "nodes": outcome.nodes,
        "build_seconds": program.build_seconds,
        "load_seconds": 0.0 if session is None else session.load_seconds,
        "solve_seconds": outcome.seconds,
        "random_state": task.options.random_state,
        "caveat": program.statement.caveat,
        "bound_source": outcome.bound_source,
        "trace": tuple(outcome.trace),
        "options": task.options.as_dict(),
    }
    if task.kind == "relaxed":
        return _relaxed(task.loaded, outcome, common)
    own = outcome.card
    if outcome.values is not None and np.isfinite(outcome.values).all():
        task.loaded.load_values(outcome.values)
        own = program.card()
    return _of_card(program, outcome, own, start, common)


def _relaxed(session: Session, outcome: Outcome, common: dict[str, Any]) -> Result:
    """A relaxation's solution with its bound recomputed from the duals."""
    if outcome.values is None:
        message = f"no solution: {outcome.termination.sentence}"
        return Result(**common, claim=Claim.NONE, verified=False, message=message)
    program = session.program
    session.load_values(outcome.values)
    objective = session.objective_of(outcome.values)
    loss = float(pyo.value(program.model.loss))
    broken = model_violations(program.model, integrality=False)
    bound = -math.inf
    if outcome.row_dual is not None:
        # losses and penalties are never negative
        bound = min(max(session.dual_bound_of(outcome.row_dual), 0.0), objective)
        _store_duals(session, outcome)
    w, b = program.coefficients()
    return Result(
        **{**common, "bound_source": "evidence"},
        claim=claim_of(not broken, objective, bound, trivial=0.0),
        verified=not broken,
        objective=objective,
        loss=loss,
        penalty=max(objective - loss, 0.0),
        dual_bound=bound,
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


def _of_card(
    program: Program, outcome: Outcome, own: Card | None, start: Card | None, common: dict[str, Any]
) -> Result:
    """The best verified card; ``own`` is the solver's."""
    best, refused = _best_verified(program, own, start)
    if best is None:
        return _without_card(common, program, own, [*refused, *outcome.remarks])
    (origin, card, figures), message = best, ""
    solver_refused = any(text.startswith("the solver was refused") for text in refused)
    if own is not None and origin != "solver" and not solver_refused:
        message = f"the {origin} is better than the solver's card"
    bound, doubt = _trusted_bound(program, outcome, common["solver"])
    bound = min(bound, figures.objective)
    return Result(
        **common,
        claim=claim_of(True, figures.objective, bound, trivial=0.0),
        verified=True,
        objective=figures.objective,
        loss=figures.loss,
        penalty=figures.penalty,
        dual_bound=bound,
        card=card,
        coefficients=card.coefficients.astype(np.float64),
        intercept=float(card.intercept),
        terms=program.statement.design.count_terms(card.coefficients),
        origin=origin,
        message="; ".join(filter(None, [message, *refused, doubt, *outcome.remarks])),
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
) -> tuple[Candidate | None, list[str]]:
    """The best card that passes every check, its values left in the model; and what was refused.

    Beside the solver's card stand the start, the empty card, and simpler or better-cut forms of
    each: a solver's T may sit exactly on a total, where floating-point data leave the answer open,
    so the intercept is also re-set by a sweep over the totals.
    """
    statement = program.statement
    candidates: list[Candidate] = []
    cards = {"solver": own, "warm start": start, "empty card": statement.empty_card()}
    for origin, card in cards.items():
        if card is None or len(card.coefficients) != statement.design.shape[1]:
            continue
        recut = statement.with_best_intercept(card.coefficients)
        forms = (program.simplify(statement, recut), program.simplify(statement, card), recut, card)
        candidates += [(origin, form, evaluate(statement, form)) for form in dict.fromkeys(forms)]
    candidates.sort(key=lambda each: (not each[2].feasible, each[2].objective))
    refused: dict[str, str] = {}
    for origin, card, _ in candidates:
        verdict = check(program, card)
        if verdict.feasible:
            refused.pop(origin, None)  # only another form of the same card failed
            return (origin, card, verdict), list(refused.values())
        refused[origin] = f"the {origin} was refused: {verdict.violations[0]}"
    return None, list(refused.values())


def why_infeasible(program: Program, time_limit: float) -> str:
    """Which constraints conflict, where that can be told, and what to do next."""
    from milpscore.solvers.finish import conflict

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
    common: dict[str, Any], program: Program, own: Card | None, remarks: list[str]
) -> Result:
    """The answer where no card meets every constraint, with what to do next."""
    ended = common["termination"]
    if ended is Termination.INFEASIBLE or (ended is Termination.COMPLETED and own is None):
        message = why_infeasible(program, common["options"]["time_limit"])
    else:
        message = "no card was found before the stop: raise the limit or pass a warm start"
    message = "; ".join([*remarks, message])
    return Result(**common, claim=Claim.NONE, verified=False, message=message)


_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Conflict:
    """Constraints of which no card meets all.

    Attributes
    ----------
    names : tuple of str
        Empty where the program has no card even without any of them.
    smallest : bool
        No conflict among the constraints has fewer members; else only each member is known to
        matter, or not even that where the time ran out.
    irreducible : bool
        Without any one of these the others can be met.
    """

    names: tuple[str, ...]
    smallest: bool
    irreducible: bool

    @property
    def sentence(self) -> str:
        """What conflicts, and what to do next."""
        if not self.names:
            return (
                "no card meets the ranges, max_terms and rows of the program, even without its "
                "constraints: widen these"
            )
        listed = ", ".join(f"'{name}'" for name in self.names)
        if len(self.names) == 1:
            return f"no card meets {listed} within the ranges and max_terms: loosen one of them"
        how = "a smallest conflicting subset"
        if not self.smallest:
            how = "none of them superfluous, though a smaller conflict may exist"
            how = how if self.irreducible else "perhaps not all of them needed: time ran out"
        return f"no card meets {listed} together ({how}): loosen one of them"


def conflict(program: Program, *, time_limit: float = 10.0) -> Conflict | None:
    """A smallest set of constraints that no card meets together.

    A deletion filter finds a set without superfluous members; then all smaller sets are tried,
    but those that some point found so far meets. Only ranges, terms, constraints and the rows a
    user added decide, not the objective.

    Parameters
    ----------
    program : Program
        Integrality is demanded, also of a relaxed one.
    time_limit : float
        Seconds; what is not decided by then is said in the answer.

    Returns
    -------
    Conflict or None
        None where all constraints can be met together, or that could not be decided in time.

    Raises
    ------
    OptionError
        For a time limit that is not a number >= 0.
    """
    fine = is_number(time_limit) and time_limit >= 0
    require(fine, "time_limit", time_limit, "a number of seconds >= 0")
    search = ConflictSearch(program, time.perf_counter() + time_limit)
    everything = frozenset(range(len(search.names)))
    if search.possible(everything) is not False:
        return None
    if search.possible(frozenset()) is False:
        return Conflict((), smallest=True, irreducible=True)
    found, irreducible = search.irreducible(everything)
    smaller, smallest = search.smaller(everything, len(found))
    chosen = found if smaller is None else smaller
    names = tuple(search.names[k] for k in sorted(chosen))
    return Conflict(names, smallest, irreducible or smallest)


class ConflictSearch:
    """One HiGHS without an objective, in which the rows of constraints come and go."""

    def __init__(self, program: Program, deadline: float) -> None:
        exact = program if program.kind == "exact" else program.exact()
        self.session = Session(exact)
        self.deadline = deadline
        self.names = [each.name for each in exact.statement.constraints]
        self.rows = self._rows_of([each.key for each in exact.statement.constraints])
        self.met: list[frozenset[int]] = []
        self.highs = self.session.copy(relaxed=False)
        configure(self.highs, Options(), 0.0)
        count = len(self.session.columns)
        self.highs.changeColsCost(count, np.arange(count, dtype=np.int32), np.zeros(count))

    def _rows_of(self, keys: list[str]) -> list[IntArray]:
        """The compiled rows of each constraint."""
        block = self.session.program.model.component(RULES)
        place = {id(block.component(key)): k for k, key in enumerate(keys)} if keys else {}
        owner = np.array(
            [place.get(id(row.constraint.parent_component()), -1) for row in self.session.rows],
            dtype=np.int64,
        )
        return [np.flatnonzero(owner == k) for k in range(len(keys))]

    def possible(self, kept: Iterable[int]) -> bool | None:
        """Whether some card meets these constraints; None where the time did not suffice."""
        chosen = frozenset(kept)
        if any(chosen <= met for met in self.met):
            return True
        left = self.deadline - time.perf_counter()
        if left <= 0:
            return None
        self._keep(chosen)
        self.highs.clearSolver()
        set_option(self.highs, "time_limit", left)
        self.highs.run()
        if termination_of(self.highs) is Termination.INFEASIBLE:
            return False
        answer = self.highs.getSolution()
        if not is_feasible(self.highs.getInfo()) or not answer.value_valid:
            return None
        self.met.append(chosen | self._met_at(np.asarray(answer.col_value, dtype=np.float64)))
        return True

    def _keep(self, chosen: frozenset[int]) -> None:
        """Bound the rows of these constraints, and free those of the others."""
        session = self.session
        for k, rows in enumerate(self.rows):
            for i in rows.tolist():
                low, high = session.row_lower[i], session.row_upper[i]
                ends = (low, high) if k in chosen else (-np.inf, np.inf)
                self.highs.changeRowBounds(i, *map(float, ends))

    def _met_at(self, values: np.ndarray) -> frozenset[int]:
        """The constraints a point meets."""
        session = self.session
        activity = session.matrix @ values
        over = np.maximum(session.row_lower - activity, activity - session.row_upper)
        return frozenset(k for k, rows in enumerate(self.rows) if np.all(over[rows] <= _TOLERANCE))

    def irreducible(self, everything: frozenset[int]) -> tuple[frozenset[int], bool]:
        """A conflict every member of which matters, and whether that was decided for each."""
        found, decided = everything, True
        for k in sorted(everything):
            answer = self.possible(found - {k})
            if answer is False:
                found -= {k}
            decided &= answer is not None
        return found, decided

    def smaller(self, everything: frozenset[int], size: int) -> tuple[frozenset[int] | None, bool]:
        """A smallest conflict of fewer members, and whether all that are smaller were decided."""
        for fewer in range(1, size):
            decided = True
            for members in itertools.combinations(sorted(everything), fewer):
                if time.perf_counter() > self.deadline:
                    return None, False
                answer = self.possible(members)
                if answer is False:
                    return frozenset(members), decided
                decided &= answer is not None
            if not decided:
                return None, False
        return None, True
