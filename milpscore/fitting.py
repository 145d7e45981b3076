"""From a design to a verified card: the one way that estimators and the command line share."""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping, Sequence
from typing import Any

from milpscore.core.clock import Clock
from milpscore.core.design import Design
from milpscore.core.errors import FormulationError, OptionError, did_you_mean
from milpscore.core.program import Program
from milpscore.core.result import Result
from milpscore.formulations import FORMULATIONS, gentle_scale, over_gentle_scales
from milpscore.losses import RiskLoss
from milpscore.search import start_card
from milpscore.search.starts import FAST, fast_cards, heuristic_result, work_within
from milpscore.solvers import solve
from milpscore.solvers.engine import progress_line
from milpscore.solvers.options import Options
from milpscore.verify import evaluate

_START = 0.1
"""Share of the time limit that the start may take."""

MAX_TERMS = 5
"""Terms of a card that is fitted for a person, unless asked otherwise: builders set no limit."""


FORMULATION = "risk_score"
"""What is fitted unless another formulation is named."""


def with_few_terms(formulation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A builder's arguments, the terms limited where it takes a limit and none was asked for."""
    takes = "max_terms" in inspect.signature(FORMULATIONS[formulation]).parameters
    return {**({"max_terms": MAX_TERMS} if takes else {}), **arguments}


def require_known(argument: str, known: Sequence[str], refusal: str) -> None:
    """Raise FormulationError for an argument that is not known, naming the nearest."""
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
    solved as LPs and rounded, the LP's optimum being the bound.

    Parameters
    ----------
    design : Design
    formulation : str
        A name of :data:`milpscore.formulations.FORMULATIONS`; hyphens count as underscores.
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
        Exact programs only: no solver runs; a verified card found within milliseconds (those of
        :func:`milpscore.search.fast_risk_card`) is the answer, its claim "feasible".
    polish : bool
        With ``heuristic``: improve that card by the searches a solve starts from.
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
    told = Options.of({"time_limit": time_limit, "random_state": random_state, **(options or {})})
    if polish and not heuristic:
        raise OptionError("polish improves a heuristic card: ask for heuristic as well")
    clock = told.clock
    program = FORMULATIONS[formulation](design, **arguments)
    if heuristic and program.kind == "relaxed":
        raise OptionError(
            f"{program.formulation} is rounded from its LP and has no start to keep: leave "
            "heuristic out"
        )
    within = clock.part(FAST if heuristic else _START)
    program, fast = with_fast_card(program, told, within)
    if heuristic:
        if fast is None or polish:
            began = time.perf_counter()
            card = fast_cards(program.statement, within)[0] if fast is None else fast.card
            fast = heuristic_result(
                program, card, began, polish=polish, time_limit=clock, options=told.as_dict()
            )
        return program, fast
    chosen = {**vars(told), "time_limit": clock}
    if program.kind == "relaxed":
        from milpscore.rounding import round_program

        return program, round_program(
            program, solver=solver, n_draws=n_draws, progress=progress, **chosen
        )
    start = None
    if warm_start:
        with progress_line(program.formulation, progress, clock, told.verbose) as line:
            line.phase("start")
            if fast is None or not within.is_up:
                start = start_card(program, max_work=work_within(clock), time_limit=within)
            if fast is not None:
                # a proof that is cut short must not answer worse than fast mode
                empty = program.statement.empty_card()
                cards = [card for card in (fast.card, start, empty) if card]
                start = min(cards, key=lambda card: evaluate(program.statement, card).objective)
    return program, solve(program, solver, warm_start=start, progress=progress, **chosen)


def with_fast_card(
    program: Program, told: Options, within: Clock | None = None
) -> tuple[Program, Result | None]:
    """A risk score's program, at the scales its fast card asks for, and that card; else None.

    See :func:`milpscore.formulations.over_gentle_scales`. ``within`` is the time for it: by default
    that of a start.
    """
    if program.kind != "exact" or not isinstance(program.statement.loss, RiskLoss):
        return program, None
    began, clock = time.perf_counter(), told.clock
    time_limit = clock.part(_START) if within is None else within
    held, any_scale = fast_cards(program.statement, time_limit, gentle_scale(program))
    if any_scale is not held:
        program = over_gentle_scales(program, any_scale)
    options = told.as_dict()
    return program, heuristic_result(program, held, began, time_limit=clock, options=options)
