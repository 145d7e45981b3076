"""Solve a program: hand over, run, re-check, and claim only what the re-check allows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from milpscore.core.card import Card
from milpscore.core.conic import ConicProgram
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.program import Program
from milpscore.core.result import Result, SecondOpinion, TracePoint, claim_of
from milpscore.losses import RiskLoss, ZeroOne
from milpscore.solvers._conic_options import CONIC_SOLVERS, make_conic_options
from milpscore.solvers._options import Options, make_options

if TYPE_CHECKING:
    from milpscore.solvers._session import Session

SOLVERS: dict[str, str] = {
    "highs": "milpscore.solvers._highs",
    "outer_approximation": "milpscore.solvers._outer_approximation",
    "support_tree": "milpscore.solvers._support_tree",
    "tree": "milpscore.solvers._tree",
}
"""Solvers by name; adding one is a new file and one line here.

A file has ``solve_session``, or ``solve_program`` where it needs no program in HiGHS.
"""


TREE_ROWS, TREE_INTEGER_SHARE = 2000, 0.1
"""From so many rows on, and up to this share of integer columns, ``auto`` searches supports."""


_TREE_TERMS = 6
"""Up to so many terms ``auto`` searches the 0-1 loss by supports."""


def load(program: Program) -> Session:
    """Hand a program over to HiGHS, to be edited in place and solved several times.

    Parameters
    ----------
    program : Program

    Returns
    -------
    Session
        Pass it to :func:`solve` in place of the program.
    """
    from milpscore.solvers._session import Session

    if isinstance(program, ConicProgram):
        raise NotApplicableError(
            "a conic program needs no session: change it with program.set and solve it again, "
            "nothing is compiled twice"
        )
    return Session(program)


def solve(
    program: Program | Session,
    solver: str = "auto",
    *,
    warm_start: Card | Result | None = None,
    progress: bool | None = None,
    callback: Callable[[TracePoint], None] | None = None,
    second_opinion: bool = False,
    **options: Any,
) -> Result:
    """Solve a program and re-check the answer from the raw data.

    Parameters
    ----------
    program : Program or Session
    solver : str
        For Pyomo's programs "highs"; "support_tree", which decides terms first, with an LP bound
        at every node; "tree", a search with convex bounds from the statement alone; or
        "outer_approximation", tangents of a smooth loss added to HiGHS's program. "auto" takes the
        tree for smooth losses and, with up to six terms, for the 0-1 loss; tangents where
        constraints were added to a smooth loss's model by hand; the support tree for many rows
        with few integers, and HiGHS for the rest. For conic programs "ecos", "clarabel" or
        "proximal"; "auto" takes ECOS where it is installed, and asks Clarabel as well where that
        fails. ``Result.solver`` says which ran.
    warm_start : Card or Result, optional
        A card to start from; every auxiliary variable is computed from it.
    progress : bool, optional
        Show a progress line; default: where standard error is a terminal.
    callback : callable, optional
        Called with each :class:`milpscore.core.result.TracePoint`, from the solver's thread.
    second_opinion : bool
        Solve with another solver as well and report the relative difference; for exact programs
        the better bound of the two is kept.
    **options :
        ``time_limit=60``, ``mip_gap=0``, ``node_limit``, ``threads=1``, ``random_state=0``,
        ``presolve=True``, ``log_file``; for conic programs ``tol=1e-9``, ``max_iter``,
        ``time_limit``, ``zero_tol=1e-6``, ``verbose=False``.

    Returns
    -------
    Result
        Never worse than the empty card or the warm start where those meet every constraint.

    Raises
    ------
    OptionError
        For an unknown solver or option.
    SolverError
        Where the solver fails its self-test or refuses the model.
    """
    if solver not in ("auto", *SOLVERS, *CONIC_SOLVERS):
        there = ", ".join(["auto", *SOLVERS, *CONIC_SOLVERS])
        raise OptionError(f"unknown solver {solver!r}; there are {there}")
    if isinstance(program, ConicProgram):
        return _solve_conic(program, solver, warm_start, second_opinion, options)
    if solver in CONIC_SOLVERS:
        raise NotApplicableError(
            f"{solver} solves conic programs, {program_of(program).formulation} is a mixed-integer "
            f"linear one: use {', '.join(SOLVERS)}"
        )
    checked, start = make_options(options), _start_card(warm_start)
    result = _run(program, solver, checked, start, progress, callback)
    return _with_opinion(program, result, checked) if second_opinion else result


def _run(
    program: Program | Session,
    solver: str,
    options: Options,
    start: Card | None,
    progress: bool | None,
    callback: Callable[[TracePoint], None] | None,
) -> Result:
    """One solver's answer on a Pyomo program."""
    if solver == "auto" and _tree_takes(program):
        solver = "tree"
    if solver != "auto" and hasattr(direct := import_module(SOLVERS[solver]), "solve_program"):
        of = program_of(program) if program.kind == "exact" else program_of(program).relaxed()
        answer: Result = direct.solve_program(of, options, start, progress, callback)
        return answer
    session = load(program) if isinstance(program, Program) else program
    name = _choose(session) if solver == "auto" else solver
    run: Callable[..., Result] = import_module(SOLVERS[name]).solve_session
    return run(session, options, start, progress, callback)


def _tree_takes(program: Program | Session) -> bool:
    """Whether the tree search is the solver of choice: nothing added by hand, and its bounds hold.

    A smooth loss; or the 0-1 loss on a grid with a limit on terms, where the big-M relaxation
    proves little (breastcancer, 5 terms: proved in 2 s, by HiGHS a gap of 88 % after 60 s).
    """
    of = program_of(program)
    statement = of.statement
    most = statement.max_terms
    few = most is not None and most <= _TREE_TERMS and statement.intercept.kind == "grid"
    fitting = isinstance(statement.loss, RiskLoss) or (isinstance(statement.loss, ZeroOne) and few)
    return program.kind == "exact" and fitting and not of.added_by_user()


def _with_opinion(program: Program | Session, result: Result, options: Options) -> Result:
    """The result with what another exact engine says; the better bound of the two is kept."""
    tangents = program_of(program).model.component("cuts") is not None
    other = "tree" if result.solver != "tree" else "outer_approximation" if tangents else "highs"
    try:
        second = _run(program, other, options, None, False, None)
    except NotApplicableError as error:
        text = f"no second opinion: {error}"
        return replace(result, message="; ".join(filter(None, [result.message, text])))
    scale = max(abs(result.objective), 1e-10)
    both = result.verified and second.verified
    difference = abs(second.objective - result.objective) / scale if both else math.inf
    opinion = SecondOpinion(
        other, second.termination, second.objective, second.dual_bound, difference
    )
    if result.card is not None:
        program_of(program).fill(result.card)
    result = replace(result, second_opinion=opinion)
    if not both or not result.dual_bound < second.dual_bound <= result.objective:
        return result
    claim = claim_of(True, result.objective, second.dual_bound, trivial=0.0)
    return replace(result, dual_bound=second.dual_bound, bound_source="second opinion", claim=claim)


def program_of(program: Program | Session) -> Program:
    """The program itself, handed over or not."""
    return program if isinstance(program, Program) else program.program


def _solve_conic(
    program: ConicProgram,
    solver: str,
    warm_start: Card | Result | None,
    second_opinion: bool,
    options: dict[str, Any],
) -> Result:
    """Solve a conic program; what it cannot take is refused."""
    from milpscore.solvers._conic import solve_conic

    if solver in SOLVERS:
        raise NotApplicableError(
            f"{solver} solves linear programs in Pyomo, {program.formulation} is a conic program: "
            f"use {', '.join(CONIC_SOLVERS)}, or program.exact() where there is one"
        )
    if warm_start is not None:
        raise NotApplicableError("interior-point solvers take no warm start: leave it out")
    return solve_conic(program, solver, make_conic_options(options), second_opinion)


def _choose(session: Session) -> str:
    """The tree over supports where there are many rows, few integers and a limit on terms.

    There each LP is large and branching on big-M terms one by one proves little; measured on adult
    (hinge, 9,787 distinct rows): proved in 29 s, where HiGHS alone has a gap of 14 % after 60 s.
    With few rows HiGHS's own cuts and heuristics are faster.
    """
    if session.program.model.component("cuts") is not None:
        return "outer_approximation"  # HiGHS alone would bound the tangents there are
    limited = session.program.statement.max_terms is not None
    decides_terms = limited and session.program.model.component("alpha") is not None
    few_integers = session.integral.sum() <= TREE_INTEGER_SHARE * len(session.integral)
    if (
        session.kind == "exact"
        and decides_terms
        and few_integers
        and len(session.rows) >= TREE_ROWS
    ):
        return "support_tree"
    return "highs"


def _start_card(warm_start: Card | Result | None) -> Card | None:
    """The card of a warm start."""
    if isinstance(warm_start, Result):
        if warm_start.card is None:
            raise NotApplicableError(
                "the warm start holds no card: pass a Result with one, or a Card"
            )
        return warm_start.card
    return warm_start
