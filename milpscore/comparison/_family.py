"""One statement's answers: its LP, the roundings of that, and the exact solve they start."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from milpscore.core.card import Card
from milpscore.core.design import Design
from milpscore.core.errors import OptionError
from milpscore.core.program import Program
from milpscore.core.result import Result, Termination, claim_of
from milpscore.formulations import FORMULATIONS
from milpscore.rounding.program import round_both_ways, round_by_name, round_from_path
from milpscore.search import start_card
from milpscore.search.starts import work_within
from milpscore.solvers import load, solve
from milpscore.verify import evaluate

KINDS = ("exact", "relaxed", "randomised", "nearest")
"""The rows of each formulation, in this order."""

PROXIMAL = "proximal"
"""The row that ``compare(..., proximal=True)`` adds to each formulation, after the others."""

_CV_SHARE = 0.5
"""Share of the seconds that goes to cross-validation."""


@dataclass
class Run:
    """What every solve of the table shares, and whether one of them was interrupted."""

    n_draws: int
    random_state: int
    solver: str
    progress: bool | None
    options: dict[str, Any]
    proximal: bool = False
    roundings: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """The rows of each formulation."""
        return (*KINDS, *self.roundings, *((PROXIMAL,) if self.proximal else ()))


@dataclass(frozen=True)
class Seconds:
    """Seconds of solving for one formulation on all rows, and in one fold."""

    whole: float
    fold: float

    @classmethod
    def shared(cls, time_limit: float, formulations: int, folds: int) -> Seconds:
        """The shares of a total."""
        if isinstance(time_limit, bool) or not time_limit >= 0:
            raise OptionError(f"time_limit must be a number of seconds >= 0, got {time_limit!r}")
        share = time_limit / max(formulations, 1)
        if not folds:
            return cls(share, 0.0)
        return cls(share * (1 - _CV_SHARE), share * _CV_SHARE / folds)


@dataclass(frozen=True)
class Family:
    """The four answers to one statement, the size of its program, and the rounding figures."""

    program: Program
    results: dict[str, Result]
    size: dict[str, int]
    rounding: dict[str, dict[str, Any]]


def exact_program(name: str, design: Design, arguments: Mapping[str, Any]) -> Program:
    program = FORMULATIONS[name](design, **arguments)
    return program if program.kind == "exact" else program.exact()


def solve_family(program: Program, run: Run, seconds: float) -> Family:
    """The LP, its roundings, and the exact solve that starts from the best card so far."""
    deadline = time.perf_counter() + seconds

    def left() -> float:
        return 0.0 if run.interrupted else max(deadline - time.perf_counter(), 0.0)

    def answer(warm_start: Card | None = None) -> Result:
        result = solve(
            session,
            run.solver,
            warm_start=warm_start,
            progress=run.progress,
            time_limit=left(),
            random_state=run.random_state,
            **run.options,
        )
        run.interrupted |= result.termination is Termination.INTERRUPTED
        return result

    session = load(program)
    rows, columns = session.matrix.shape
    size = {"rows": rows, "columns": columns, "nonzeros": int(session.matrix.nnz),
            "integers": int(session.integral.sum())}  # fmt: skip
    session.relax()
    relaxed = answer()
    session.restore()
    rounded, figures = round_both_ways(
        program, relaxed, n_draws=run.n_draws, random_state=run.random_state, patience=left()
    )
    named, proved = round_by_name(
        program,
        relaxed,
        run.roundings,
        n_draws=run.n_draws,
        random_state=run.random_state,
        max_work=work_within(seconds),
    )
    rounded |= named
    figures |= proved
    if run.proximal:
        rounded[PROXIMAL], figures[PROXIMAL] = round_from_path(
            program, relaxed, max_work=work_within(seconds)
        )
    heuristic = start_card(program, max_work=work_within(seconds))
    start = _best_card(program, [heuristic, *(r.card for r in rounded.values())])
    exact = _with_bound_of(relaxed, answer(start))
    return Family(program, {"exact": exact, "relaxed": relaxed, **rounded}, size, figures)


def _with_bound_of(relaxed: Result, exact: Result) -> Result:
    """The exact result with the LP's bound where that is the better one.

    A solve that stops before its root relaxation is done knows less than the LP solved before.
    """
    if not exact.verified or not exact.dual_bound < relaxed.dual_bound <= exact.objective:
        return exact
    bound = relaxed.dual_bound
    return replace(
        exact,
        dual_bound=bound,
        bound_source=relaxed.bound_source,
        claim=claim_of(True, exact.objective, bound, trivial=0.0),
    )


def _best_card(program: Program, cards: Iterable[Card | None]) -> Card | None:
    """The card of least objective, None where there is none."""
    present = [card for card in cards if card is not None]
    return min(present, key=lambda c: evaluate(program.statement, c).objective, default=None)
