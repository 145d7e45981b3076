"""From a design to a verified card: the one way that estimators and the command line share."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from milpscore.core.clock import Clock
from milpscore.core.cluster import one_thread
from milpscore.core.design import Design
from milpscore.core.errors import FormulationError, OptionError, did_you_mean
from milpscore.core.program import Program
from milpscore.core.result import Claim, Result, Termination, claim_of
from milpscore.formulations import (
    card_builder,
    gentle_scale,
    over_gentle_scales,
)
from milpscore.losses import RiskLoss, ZeroOne
from milpscore.search.starts import (
    fast_cards,
    fast_work,
    heuristic_result,
    start_beside,
    work_within,
)
from milpscore.solvers import solve
from milpscore.solvers.engine import progress_line
from milpscore.solvers.options import Options
from milpscore.verify import evaluate

MAX_TERMS = 5
"""Default number of terms of a card fitted for a person; builders set no limit."""

FORMULATION = "risk_score"
"""Default formulation."""


def with_few_terms(formulation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A builder's arguments, with the default ``max_terms`` if the builder takes one."""
    takes = "max_terms" in inspect.signature(card_builder(formulation)).parameters
    return {**({"max_terms": MAX_TERMS} if takes else {}), **arguments}


def require_known(argument: str, known: Sequence[str], refusal: str) -> None:
    """Raise FormulationError for an unknown argument, naming the nearest known one."""
    if argument not in known:
        hint = did_you_mean(argument, known)
        raise FormulationError(f"{refusal} {argument!r}; {hint}known are {', '.join(known)}")


def fit_card(
    design: Design,
    formulation: str = FORMULATION,
    *,
    warm_start: bool = True,
    progress: bool | None = None,
    n_draws: int = 100,
    solver: str = "auto",
    time_limit: float = Options.time_limit,
    random_state: int = 0,
    options: dict[str, Any] | None = None,
    heuristic: bool = False,
    polish: bool = False,
    **arguments: Any,
) -> tuple[Program, Result]:
    """Build a formulation, solve it and return the best verified card.

    Exact programs are solved from a heuristic start; relaxed ones (convex and sparse rounding) are
    solved as LPs and rounded, with the LP's optimum as bound.

    Parameters
    ----------
    design : Design
    formulation : str
        A name of :data:`milpscore.formulations.FORMULATIONS`; hyphens count as underscores. Or
        "survival_score", for a SurvivalDesign.
    warm_start : bool
        Start the solver from the card of :func:`milpscore.search.start_card`.
    progress : bool, optional
        Show a progress line; default: in a terminal.
    n_draws : int
        Draws of the randomised rounding.
    solver, time_limit, random_state :
        As in :func:`milpscore.solvers.solve`.
    options : dict, optional
        Further solver options.
    heuristic : bool
        Exact programs only: return a verified card within milliseconds, without a solver (see
        :func:`milpscore.search.fast_risk_card`); its claim is "feasible".
    polish : bool
        With ``heuristic``: improve that card by the searches that a solve starts from.
    **arguments :
        The builder's own arguments.

    Returns
    -------
    (Program, Result)

    Raises
    ------
    OptionError
        For ``heuristic`` with a relaxed program, ``polish`` without it, or options that cannot be
        used.
    """
    settings = Options.of(
        {"time_limit": time_limit, "random_state": random_state, **(options or {})}
    )
    if polish and not heuristic:
        raise OptionError(
            "{polish} improves the card of {heuristic}: ask for both", polish=..., heuristic=...
        )
    clock = settings.clock
    program = card_builder(formulation)(design, **arguments)
    if heuristic and program.kind == "relaxed":
        raise OptionError(
            f"{program.formulation} is rounded from its LP and has no start to keep: leave "
            "heuristic out"
        )
    if heuristic:
        return _fast_result(program, settings, polish)
    within = clock.part(0.1)  # of the time, for the start
    program, fast = with_fast_card(program, settings)
    chosen = {**vars(settings), "time_limit": clock}
    if program.kind == "relaxed":
        from milpscore.rounding import round_program

        return program, round_program(
            program, solver=solver, n_draws=n_draws, progress=progress, **chosen
        )
    start = None
    if warm_start:
        with progress_line(program.formulation, progress, clock, settings.verbose) as line:
            line.phase("start")
            if fast is None or not within.is_up:
                held = None if fast is None else fast.card
                start = start_beside(program, held, work_within(clock), within)
            if fast is not None:
                # a proof that a limit cuts short must not answer worse than fast mode
                empty = program.statement.empty_card()
                cards = [card for card in (fast.card, start, empty) if card]
                start = min(cards, key=lambda card: evaluate(program.statement, card).objective)
    result = solve(program, solver, warm_start=start, progress=progress, **chosen)
    if not warm_start or fast is not None:
        return program, result
    if result.claim is Claim.OPTIMAL or result.termination is Termination.INTERRUPTED:
        return program, result
    return program, _no_worse(program, result, _fast_result(program, settings)[1])


def with_fast_card(program: Program, settings: Options) -> tuple[Program, Result | None]:
    """Return the program, over the scales its fast card asks for, and that card, if any."""
    # engines of other losses do without the compiled search: see `_no_worse`
    if program.kind != "exact" or not isinstance(program.statement.loss, RiskLoss | ZeroOne):
        return program, None
    return _fast_result(program, settings)


def _fast_result(
    program: Program, settings: Options, polish: bool = False
) -> tuple[Program, Result]:
    """Return the program and its fast card, the same on every machine, polished if asked."""
    began, statement = Clock(), program.statement  # which leaves out kernels that are made
    work = fast_work(settings.clock)
    least = 0.0 if statement.scales is None else gentle_scale(program)
    with one_thread:
        held, any_scale = fast_cards(statement, work, least)
        if any_scale is not held:
            program = over_gentle_scales(program, any_scale)
        return program, heuristic_result(
            program, held, began, cut=work.cut, polish=polish, time_limit=settings.clock,
            options=settings.as_dict(),
        )  # fmt: skip


def _no_worse(program: Program, result: Result, fast: Result) -> Result:
    """Return the solver's result, with the fast card if that is better than its own."""
    if not fast.verified or result.objective <= fast.objective:
        if result.card is not None:
            program.fill(result.card)
        return result
    bound, remark = max(result.dual_bound, 0.0), "the fast card is better than the solver's"
    level = math.isclose(bound, fast.objective, rel_tol=1e-9, abs_tol=1e-12)
    if bound > fast.objective and not level:
        result = replace(result, bound_source="trivial", refused=f"{result.solver}'s bound")
        bound, remark = 0.0, f"{remark}, and refutes the bound"
    names = ("verified", "objective", "loss", "penalty", "card", "coefficients", "intercept",
             "terms", "origin")  # fmt: skip
    better = replace(
        result, dual_bound=min(bound, fast.objective),
        claim=claim_of(True, fast.objective, bound, trivial=0.0),
        **{name: getattr(fast, name) for name in names},
    )  # fmt: skip
    return better.with_remark(remark)
