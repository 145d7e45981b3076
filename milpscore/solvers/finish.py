"""From a solver's outcome to a result: re-check every candidate card, claim what that allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from milpscore.core.card import Card
from milpscore.core.clock import Clock
from milpscore.core.design import FloatArray, as_fraction
from milpscore.core.program import Program
from milpscore.core.result import CLAIM_TOLERANCE, Claim, Result, Termination, claim_of
from milpscore.core.statement import InterceptRule, Statement
from milpscore.losses import Hinge, ZeroOne
from milpscore.penalties import L0, L1, L2, Facets, WeightedL1
from milpscore.penalties.points import BlockTV
from milpscore.search.points import repaired
from milpscore.search.starts import fast_cards, fast_work, first_card, start_card, work_within
from milpscore.solvers.engine import Line, Outcome, Task
from milpscore.solvers.options import Options
from milpscore.solvers.policy import POLICY
from milpscore.verify import Evaluation, check, evaluate
from milpscore.verify.cards import model_violations

Candidate = tuple[str, Card, Evaluation]
"""Where a card came from, the card, and its re-checked figures."""


def objective_step(statement: Statement) -> float:
    """Return the step of the grid that every card's objective lies on; 0 where there is none."""
    # 0-1 loss: shares of the weight and prices of points; hinge loss of a row: a multiple of
    # gcd(steps of totals and intercept, margin) / margin; smooth losses take any value
    loss, design, grid = statement.loss, statement.design, statement.intercept.step
    unit = Fraction(1)
    if isinstance(loss, Hinge):
        if grid is None or design.step is None:
            return 0.0
        margin = as_fraction(float(loss.margin))
        unit = _divisor([design.step, grid, margin]) / margin
    elif not isinstance(loss, ZeroOne):
        return 0.0
    prices = [_prices(term) for term in statement.penalties]
    if None in prices:
        return 0.0
    share = _divisor(list(design.exact_weight.values())) / design.exact_sum
    return float(_divisor([unit * share, *(price for each in prices for price in each or ())]))


def _prices(term: Any) -> list[Fraction] | None:
    """Return amounts that a penalty of whole points is a sum of; None where it is not."""
    base, lam = getattr(term, "base", term), as_fraction(float(term.lam))
    if isinstance(base, WeightedL1 | BlockTV) and base.weights is not None:
        return [lam * as_fraction(weight) for weight in set(base.weights.tolist())]
    if isinstance(base, L0 | L1 | L2 | Facets | BlockTV):
        return [lam / 2 if isinstance(base, L2) else lam]
    return None


def _divisor(values: Sequence[Fraction]) -> Fraction:
    """Return the greatest common divisor of rational numbers."""
    common = math.lcm(*(value.denominator for value in values))
    return Fraction(math.gcd(*(int(value * common) for value in values)), common)


def absolute_gap(program: Program, options: Options) -> float:
    """Return the absolute gap to stop at: one asked for, or one that no better card fits into."""
    return max(options.mip_gap_abs, 0.49 * _step_of(program))


def _step_of(program: Program) -> float:
    """Return the step of the objective's grid; 0 for an objective of the user's own."""
    return objective_step(program.statement) if program.own_objective is None else 0.0


def _rounding_of(program: Program, figures: Evaluation) -> float:
    """Return the gap that rounding may leave of an own objective; of smooth ones that are 0."""
    if program.own_objective is None:  # asked first: the rest would make the model
        return 0.0
    linear = not program.takes_tangents or abs(figures.objective) <= POLICY.own_rounding
    return POLICY.own_rounding if linear else 0.0


def least_of(program: Program) -> float:
    """Return what no objective is below: losses and penalties are never negative."""
    return 0.0 if program.own_objective is None else -math.inf


def with_start(task: Task, start: Card | None) -> tuple[Task, str]:
    """The task with its warm start, loaded into the model; "accepted", or why it was left out."""
    if start is None:
        return task, "none"
    if task.kind == "relaxed":
        return task, "rejected: a relaxation takes no card"
    evaluation = check(task.program, start, form=task.form)
    if not evaluation.feasible:
        return task, f"rejected: {evaluation.violations[0]}"
    if task.session is None:
        return replace(task, start=start), "accepted"
    vector = task.session.vector()
    if np.isnan(vector).any():
        name = task.session.columns[int(np.flatnonzero(np.isnan(vector))[0])].name
        return task, f"rejected: variable {name} was added and has no value; set one"
    return replace(task, start=start, vector=vector), "accepted"


def finished(
    task: Task, outcome: Outcome, start: Card | None, common: dict[str, Any],
    first: Card | None = None,
) -> Result:  # fmt: skip
    """Round, re-check, compare with the empty, first and start card, refused or not, and claim."""
    if task.kind == "relaxed":
        return _relaxed(task, outcome, common)
    own, stated = outcome.card, math.nan
    if outcome.values is not None and np.isfinite(outcome.values).all():
        task.loaded.load_values(outcome.values)
        own, stated = task.program.card(), task.loaded.objective_of(outcome.values)
    return _of_card(task, outcome, own, stated, start, common, first)


def _relaxed(task: Task, outcome: Outcome, common: dict[str, Any]) -> Result:
    """A relaxation's solution with its bound recomputed from the duals."""
    if outcome.values is None:
        message = "; ".join([f"no solution: {outcome.termination.sentence}", *outcome.remarks])
        return Result(**common, claim=Claim.NONE, verified=False, message=message)
    program, session = task.program, task.loaded
    session.load_values(outcome.values)
    objective = session.objective_of(outcome.values)
    loss, penalty = float(program.model.loss()), float(program.model.penalty())
    least = least_of(program)
    broken = model_violations(program.model, integrality=False)
    bound = -math.inf
    if outcome.row_dual is not None:
        bound = min(max(session.dual_bound_of(outcome.row_dual), least), objective)
        session.store_duals(outcome)
    w, b = program.coefficients()
    claim = claim_of(not broken, objective, bound, trivial=least)
    cut = "" if claim is Claim.OPTIMAL else outcome.termination.stop
    return Result(
        **{**common, "bound_source": "evidence"}, verified=not broken, claim=claim,
        objective=objective, loss=loss, penalty=penalty, dual_bound=bound, coefficients=w,
        intercept=b, terms=program.statement.design.count_terms(w),
        message="; ".join(filter(None, [*broken, cut])),
    )  # fmt: skip


def _of_card(
    task: Task, outcome: Outcome, own: Card | None, stated: float, start: Card | None,
    common: dict[str, Any], first: Card | None,
) -> Result:  # fmt: skip
    """Return the best verified card; ``own`` is the solver's, ``stated`` the cost it states."""
    program = task.program
    doubt = getattr(task.session, "doubt", "")
    wrong = "" if doubt else _misjudged(task, outcome, own, stated)
    best, refused = _best_verified(program, own, start, first)
    own_refused = [text for text in refused if text.startswith("the solver was refused")]
    if best is None:
        common = {**common, "refused": "; ".join(own_refused)}
        return _without_card(task, common, own, [*refused, *outcome.remarks])
    (origin, card, figures), message = best, ""
    if own is not None and origin != "solver" and not own_refused:
        message = f"the {origin} is better than the solver's card"
    least = bound = least_of(program)
    if not doubt and not wrong:
        bound, wrong = _trusted_bound(program, outcome, common["solver"], figures.objective)
    if outcome.termination is not Termination.ERROR:  # else it claims nothing
        common = {**common, "refused": "; ".join(filter(None, [*own_refused, wrong]))}
    doubt = doubt or wrong
    bound -= getattr(task.session, "blur", 0.0)
    # a bound above a verified card is too high by that much at least
    bound = max(min(bound, 2 * figures.objective - bound), least)
    if figures.objective - bound < max(0.5 * _step_of(program), _rounding_of(program, figures)):
        bound = figures.objective  # no objective lies between
    if (own_objective := program.own_objective) is not None:
        message = f"what is minimised is the model's {own_objective.name}; {message}".rstrip("; ")
    if doubt:
        common = {**common, "bound_source": "trivial"}
    claim = claim_of(True, figures.objective, bound, trivial=least)
    cut = "" if claim is Claim.OPTIMAL else outcome.termination.stop
    far = (
        "what the cards lose overflows: bring columns nearer to 1, or intercept_bounds nearer to 0"
    )
    refused += [far] * math.isinf(figures.objective)
    ended = outcome.termination is Termination.COMPLETED and claim is not Claim.OPTIMAL
    if ended and program.takes_tangents and common["solver"] == "highs":
        refused.append(
            "HiGHS sees the loss by the model's tangents alone and is through with these: the "
            "solvers tree and outer_approximation bound the loss itself"
        )
    return Result(
        **common, **figures.fields(program.statement, card), dual_bound=bound, origin=origin,
        claim=claim,
        message="; ".join(filter(None, [message, *refused, doubt, *outcome.remarks, cut])),
    )  # fmt: skip


def first_for(wanted: bool, program: Program, options: Options, line: Line) -> Card | None:
    """Return a first card for a solver that is given none, if wanted; None for the empty one."""
    statement, clock, card = program.statement, options.clock, None
    if not wanted:
        return None
    line.phase("a first card")
    if isinstance(statement.loss, ZeroOne):
        card = fast_cards(statement, fast_work(clock))[0]
    elif isinstance(statement.loss, Hinge):
        within = clock.part(POLICY.first_share)
        card = start_card(program, max_work=work_within(clock), time_limit=within)
    return None if card is None or not card.nonzeros else card


def keeping_limits(program: Program, time_limit: float) -> tuple[Card | None, str]:
    """Return a card that keeps to the limits on errors, why there is none, or neither."""
    # An objective over all rows leads no search to the few cards a subgroup's limit allows: where
    # no card is known, the rows of one limit are searched at a time for the least that they can
    # cost, among all cards the other rules allow.
    statement, clock = program.statement, Clock.of(time_limit)
    limits = [limit for each in statement.constraints for limit in each.limits]
    card = first_card(statement) if limits else None
    if not limits or card is not None or program.kind != "exact":
        return card, ""
    best: Card | None = None
    for paid, allowed, name in limits:
        alone = _of_errors(statement, np.asarray(paid, dtype=np.float64))
        if alone is None:
            continue
        # what pays if it is answered negative, or positive, is wrong where it does; of a gap these
        # are rows of both groups
        share = (allowed - float(paid[paid < 0].sum())) / float(np.abs(paid).sum())
        bound, found = _least(alone, share, clock.part(POLICY.limit_share))
        if bound > share + 1e-9:
            return None, (
                f"no card meets '{name}' within the ranges and max_terms: every card answers at "
                f"least {bound:.4g} of that weight wrongly, where {share:.4g} is allowed; loosen it"
            )
        if found is not None:
            mended = statement.with_best_intercept(found.coefficients)
            best = best if statement.violations(mended) else mended
    return best, ""


def _of_errors(statement: Statement, paid: FloatArray) -> Statement | None:
    """The least that rows pay over the cards of a statement; None off the data's grid."""
    sides = np.where(paid == 0.0, statement.design.y, np.where(paid < 0.0, -1, 1))
    design = replace(statement.design, weight=np.abs(paid), y=sides)
    step = design.step
    if step is None:
        return None
    # every threshold between totals, beyond the intercepts that the statement allows, too
    ends = np.maximum(np.abs(statement.coef_min), np.abs(statement.coef_max))
    most = Fraction(float((np.abs(design.merged.X) @ ends).max(initial=0.0)))
    reach = (most // step + 1) * step
    return replace(
        statement, formulation="slim", design=design, loss=ZeroOne(), penalties=(),
        intercept=InterceptRule("grid", -reach, reach, step),
        constraints=tuple(each for each in statement.constraints if not each.limits_answers),
    )  # fmt: skip


def _least(statement: Statement, enough: float, clock: Clock) -> tuple[float, Card | None]:
    """The tree's bound on the least cost, and its card; a card that costs ``enough`` ends it."""
    from milpscore.solvers.trees.shared.answer import Tree  # loads numba

    bound, found = 0.0, None
    program = Program(statement, None, None)  # type: ignore[arg-type]  # the tree needs no model
    for nodes in (1, None):
        options = Options(time_limit=clock, node_limit=nodes)
        outcome = Tree().solve(Task(program, options, start=found))
        bound, found = max(bound, outcome.dual_bound), outcome.card or found
        if found is not None and evaluate(statement, found).loss <= enough:
            break
    return bound, found


def _misjudged(task: Task, outcome: Outcome, own: Card | None, stated: float) -> str:
    """Why a solver that counts its own card wrongly is not believed about the others."""
    program, statement = task.program, task.program.statement
    if outcome.values is not None and not math.isfinite(stated):
        return "the solver's point holds what is not a number: its bound is not used"
    if own is None or not math.isfinite(stated) or program.takes_tangents:
        return ""  # tangents bound the loss from below: there the solver counts too little
    if statement.caveat and program.own_objective is None:
        # the model may charge more than the card as printed, never less
        true = evaluate(statement, statement.with_best_intercept(own.coefficients)).objective
        wrong = true - stated
    else:
        program.fill(own)
        true = program.charged()
        wrong = true - stated
        wrong = abs(wrong) if outcome.termination is Termination.COMPLETED else wrong
    if not wrong > CLAIM_TOLERANCE * max(1.0, abs(true)):
        return ""
    return (
        f"the solver counts {stated:.9g} for its own card, the data give {true:.9g}: its bound is "
        "not used"
    )


def _trusted_bound(
    program: Program, outcome: Outcome, solver: str, charged: float
) -> tuple[float, str]:
    """The solver's bound, or the trivial one and why where a verified card contradicts it."""
    least = least_of(program)
    if outcome.termination is Termination.INFEASIBLE:
        return least, f"{solver} calls the program infeasible although this card was verified"
    if outcome.termination is Termination.ERROR or math.isnan(outcome.dual_bound):
        return least, f"{solver} stopped with an error: its bound is not used"
    if program.is_built:
        # it holds the card's values: its objective is the card's own, or more under a caveat
        charged = program.charged()
    if outcome.dual_bound - charged > CLAIM_TOLERANCE * max(1.0, abs(charged)):
        return least, (
            f"{solver} claims the bound {outcome.dual_bound:.9g}, above the verified objective "
            f"{charged:.9g}: the bound is refused"
        )
    return max(outcome.dual_bound, least), ""


def _best_verified(
    program: Program, own: Card | None, start: Card | None, first: Card | None
) -> tuple[Candidate | None, list[str]]:
    """The best card that passes every check, its values left in the model; and what was refused."""
    # beside each card stand simpler and better-cut forms: a solver's T may sit exactly on a total,
    # where floating-point data leave the answer open
    statement = program.statement
    candidates: list[Candidate] = []
    cards = {"solver": own, "fast card": first, "warm start": start}
    cards["empty card"] = statement.empty_card()
    for origin, card in cards.items():
        if card is None or len(card.coefficients) != statement.design.shape[1]:
            continue
        recut = statement.with_best_intercept(card.coefficients)
        forms = (program.simplify(statement, recut), program.simplify(statement, card), recut, card)
        for form in dict.fromkeys(forms):
            stated = program.own_objective is None
            figures = evaluate(statement, form) if stated else check(program, form)
            candidates.append((origin, form, figures))
    candidates.sort(key=lambda each: (not each[2].feasible, each[2].objective))
    refused: dict[str, str] = {}
    beyond: tuple[Candidate, str] | None = None
    for origin, card, figures in candidates:
        if beyond is not None and figures.objective > beyond[0][2].objective:
            break
        verdict = check(program, card)
        if verdict.feasible:
            refused.pop(origin, None)  # only another form of the same card failed
            return (origin, card, verdict), list(refused.values())
        refused[origin] = f"the {origin} was refused: {verdict.violations[0]}"
        if beyond is None and _only_the_model_refuses(program, figures, verdict.violations):
            why = "the rows of the data verify this card, the model cannot state it"
            beyond = (origin, card, figures), f"{why} ({verdict.violations[0]})"
    if beyond is None:
        return None, list(refused.values())
    best, why = beyond
    refused.pop(best[0])
    return best, [why, *refused.values()]


def _only_the_model_refuses(
    program: Program, figures: Evaluation, violations: tuple[str, ...]
) -> bool:
    """Whether a card obeys the statement and breaks but a row added for solvers' sake."""
    # off the grid a model keeps totals away from the threshold; the card as printed need not
    rows = all(text.startswith("constraint ") for text in violations)
    own = bool(program.statement.caveat) and rows and figures.feasible
    return own and not program.added_by_user()


_NO_CARD = "no card meets every constraint"


def why_infeasible(program: Program, time_limit: float) -> str:
    """Return which constraints conflict, if that can be found, and what to do next."""
    from milpscore.solvers.conflicts import conflict

    found = None
    if program.statement.constraints or program.own_rows():
        seconds = min(Clock.of(time_limit).left, POLICY.conflict_seconds)
        found = conflict(program, time_limit=seconds)
    if found is not None and found.names:
        return found.sentence
    return (
        f"{_NO_CARD}: loosen one of those you added, max_terms, or the coefficient and intercept "
        "ranges"
    )


def _without_card(
    task: Task, common: dict[str, Any], own: Card | None, remarks: list[str]
) -> Result:
    """The answer where no card meets every constraint, with what to do next."""
    ended = common["termination"]
    if doubt := getattr(task.session, "doubt", ""):
        message = f"no card was found, and none is ruled out: {doubt}"
        common = {**common, "termination": Termination.INACCURATE, "trace": ()}
    elif any(text.startswith("no card meets ") for text in remarks):
        message = ""  # it is proved, and said
    elif ended is Termination.INFEASIBLE or (ended is Termination.COMPLETED and own is None):
        if _overflows(task.program.statement):
            message = "cards are allowed, but what they lose overflows: divide the largest columns"
            common = {**common, "termination": Termination.INACCURATE, "trace": ()}
        else:
            message = why_infeasible(task.program, task.options.clock)
            if ended is not Termination.INFEASIBLE and message.startswith(_NO_CARD):
                # tangents ran out, and no point of theirs was a card, which proves nothing
                message = "no card was found, and none is ruled out: use solver='tree'"
                common = {**common, "termination": Termination.INACCURATE, "trace": ()}
    elif ended.cut and (words := _ruled_out(task)):
        message = words
        common = {**common, "termination": Termination.INFEASIBLE}
    elif ended.stop:
        message = "no card was found before the stop: raise the limit or pass a warm start"
    else:
        message = _none_ruled_out(task.program)
        if ended is not Termination.ERROR:
            common = {**common, "termination": Termination.INACCURATE, "trace": ()}
    message = "; ".join(filter(None, [*remarks, message]))
    return Result(**common, claim=Claim.NONE, verified=False, message=message)


def _none_ruled_out(program: Program) -> str:
    """Why a solver that nothing stopped left no card, and what to do next."""
    if program.added_by_user():
        why = (
            "what was added to the model may ask a variable for a value that no card gives it (an "
            "error z may be 1 where the card does not err): state it of w, or with constraints"
        )
    else:
        why = "pass a warm start, or use another solver"
    return f"no card was found, and none is ruled out: {why}"


def _ruled_out(task: Task) -> str:
    """Why there is no card, by HiGHS, if a tree was cut short before it knew; else empty."""
    from milpscore.solvers.conflicts import conflict

    program, left = task.program, min(task.options.clock.left, POLICY.conflict_seconds)
    # off the grid the model lacks cards that may be printed
    asked = program.statement.constraints and not program.statement.caveat
    if task.session is not None or not asked or program.effort >= left:
        return ""
    found = conflict(program, time_limit=left)
    return "" if found is None else f"{found.sentence}; that is HiGHS's word alone"


def _overflows(statement: Statement) -> bool:
    """Whether an allowed card of few points loses more than floats can hold."""
    with np.errstate(over="ignore", invalid="ignore"):
        card = repaired(statement, np.zeros(len(statement.coef_min), np.int64))
        return card is not None and not math.isfinite(evaluate(statement, card).objective)
