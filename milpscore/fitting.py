"""From a design to a verified card: the one road that estimators and the command line share."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from milpscore._version import __version__
from milpscore.core.card import Card
from milpscore.core.design import Design
from milpscore.core.errors import FormulationError, OptionError
from milpscore.core.program import Program
from milpscore.core.result import Claim, Result, Termination
from milpscore.core.statement import Statement
from milpscore.formulations import FORMULATIONS
from milpscore.losses import RiskLoss
from milpscore.rounding import round_program
from milpscore.search import fast_risk_card, start_card
from milpscore.search.starts import work_within
from milpscore.solvers import solve
from milpscore.solvers.options import Options
from milpscore.verify import check

MAX_TERMS = 5
"""Terms of a card that is fitted for a person, unless asked otherwise: builders set no limit."""


def fit_card(
    design: Design,
    formulation: str = "slim",
    *,
    warm_start: bool = True,
    progress: bool | None = None,
    n_draws: int = 100,
    solver: str = "auto",
    time_limit: float = Options.time_limit,
    random_state: int = 0,
    options: dict[str, Any] | None = None,
    heuristic: bool = False,
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
        Hand a card found by integer coordinate descent to the solver.
    progress : bool, optional
        Show a progress line; default: in a terminal.
    n_draws : int
        Draws of the randomised rounding.
    solver, time_limit, random_state :
        As in :func:`milpscore.solvers.solve`.
    options : dict, optional
        Further solver options.
    heuristic : bool
        Exact programs only: no solver runs; the verified start card is the answer, its claim
        "feasible".
    **arguments :
        The builder's own arguments.

    Returns
    -------
    (Program, Result)

    Raises
    ------
    OptionError
        For ``heuristic`` with a relaxed program, or options that cannot be used.
    """
    program = FORMULATIONS[formulation](design, **arguments)
    chosen = {"time_limit": time_limit, "random_state": random_state, **(options or {})}
    if heuristic:
        return program, heuristic_result(program, Options.of(chosen))
    if program.kind == "relaxed":
        return program, round_program(
            program, solver=solver, n_draws=n_draws, progress=progress, **chosen
        )
    start = start_card(program, max_work=work_within(time_limit)) if warm_start else None
    return program, solve(program, solver, warm_start=start, progress=progress, **chosen)


def heuristic_result(program: Program, options: Options) -> Result:
    """The better of the start card and the empty card, re-checked, and nothing proved.

    Parameters
    ----------
    program : Program
        An exact one.
    options : Options
        ``time_limit`` bounds the work of the start.

    Returns
    -------
    Result
        Claim ``feasible``, or ``none`` where no card meets every constraint.

    Raises
    ------
    OptionError
        For a relaxed program, which has a rounding of its own.
    """
    if program.kind == "relaxed":
        raise OptionError(
            f"{program.formulation} is rounded from its LP and has no start to keep: leave "
            "heuristic out"
        )
    started = time.perf_counter()
    start = start_card(program, max_work=work_within(options.time_limit))
    empty = program.statement.empty_card()
    candidates = (start, *_fast_cards(program.statement), empty)
    cards = [card for card in candidates if card is not None]
    checked = [(card, check(program, card)) for card in cards]
    sound = [(card, figures) for card, figures in checked if figures.feasible]
    common: dict[str, Any] = {
        "formulation": program.formulation,
        "kind": "exact",
        "termination": Termination.HEURISTIC,
        "build_seconds": program.build_seconds,
        "solve_seconds": time.perf_counter() - started,
        "solver": "heuristic",
        "solver_version": __version__,
        "random_state": options.random_state,
        "caveat": program.statement.caveat,
        "options": options.as_dict(),
    }
    if not sound:
        broken = "; ".join(dict.fromkeys(f.violations[0] for _, f in checked))
        message = f"the heuristic found no card that meets every constraint ({broken}): solve it"
        return Result(
            **common, claim=Claim.NONE, verified=False,
            message=message,
        )  # fmt: skip
    card, figures = min(sound, key=lambda pair: pair[1].objective)
    program.fill(card)
    return Result(
        **common,
        claim=Claim.FEASIBLE,
        verified=True,
        objective=figures.objective,
        loss=figures.loss,
        penalty=figures.penalty,
        card=card,
        coefficients=card.coefficients.astype(np.float64),
        intercept=float(card.intercept),
        terms=program.statement.design.count_terms(card.coefficients),
        origin="empty card" if card is empty else "heuristic",
    )


def _fast_cards(statement: Statement) -> list[Card]:
    """The card of the beam over supports, where the loss is the logistic one."""
    loss = statement.loss
    if not isinstance(loss, RiskLoss) or loss.base.name != "logistic":
        return []
    try:
        return [fast_risk_card(statement).card]
    except FormulationError:  # it found no card at all: the other candidates stand
        return []
