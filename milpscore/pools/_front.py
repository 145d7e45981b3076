"""The best card of every size: loss against terms, each point with its own proof."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyomo.environ as pyo

from milpscore.certificate import Certificate, certify
from milpscore.core.card import Card
from milpscore.core.clock import Clock
from milpscore.core.errors import NotApplicableError, OptionError, SolverError, is_whole
from milpscore.core.jit import heeding_interrupts
from milpscore.core.program import Program
from milpscore.core.result import CLAIM_TOLERANCE, Result, Termination, claim_of
from milpscore.core.statement import Statement
from milpscore.formulations.restating import plain_statement, restate
from milpscore.losses import RiskLoss
from milpscore.pools.nearly_best import with_points
from milpscore.search import start_card
from milpscore.search.starts import work_within
from milpscore.solvers import solve
from milpscore.solvers.options import Options
from milpscore.verify import evaluate


@dataclass(frozen=True, eq=False, repr=False)
class Front:
    """The best card with at most k terms, for several k.

    Attributes
    ----------
    program : Program
        What was asked.
    programs : mapping from k to Program
        What was solved for each size.
    results : mapping from k to Result
        In the order of k. A bound is the best one known: no card of at most k terms is below what
        was proved for more of them.
    complete : bool
        Whether every size that was asked for was solved; an interrupt leaves the later ones out.
    seconds : float
    """

    program: Program
    programs: Mapping[int, Program]
    results: Mapping[int, Result]
    complete: bool
    seconds: float

    def __len__(self) -> int:
        """Number of sizes."""
        return len(self.results)

    def __repr__(self) -> str:
        """The sizes, and how many of them are proved."""
        proved = sum(str(result.claim) == "optimal" for result in self.results.values())
        return (
            f"<Front of {len(self)} sizes, {proved} of them proved, {len(self.best)} not dominated>"
        )

    @cached_property
    def dominated(self) -> dict[int, bool]:
        """Whether, per k, the card of another size is as good with as few terms.

        If two cards are equal in both, the one with the larger k is dominated. A size without a
        card is not.
        """
        cards = {k: (r.objective, r.card.nonzeros) for k, r in self.results.items() if r.card}
        found = dict.fromkeys(self.results, False)
        for k, (objective, terms) in cards.items():
            for other, (least, fewest) in cards.items():
                tie = CLAIM_TOLERANCE * abs(objective)
                better = least < objective - tie or fewest < terms or other < k
                found[k] |= better and fewest <= terms and least <= objective + tie
        return found

    @property
    def best(self) -> dict[int, Result]:
        """The results with a card that is not dominated."""
        dominated = self.dominated
        return {k: each for k, each in self.results.items() if each.card and not dominated[k]}

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row per size: max_terms, terms and nonzeros, figures, claim, dominated, the points.

        ``terms`` counts raw features, ``nonzeros`` columns; the points of a size without a card
        are 0.
        """
        if not self.results:
            return pd.DataFrame(columns=["max_terms"])
        rows = [self._row(k) for k in self.results]
        figures = {name: [row[name] for row in rows] for name in rows[0]}
        design = self.program.statement.design
        nothing = np.zeros(design.shape[1], dtype=np.int64)
        points = [nothing if r.card is None else r.card.coefficients for r in self.results.values()]
        return with_points(figures, np.array(points), design.names)

    def _row(self, k: int) -> dict[str, Any]:
        result = self.results[k]
        figures = ("objective", "loss", "penalty", "bound", "gap", "claim", "solver", "seconds")
        known = result.summary()
        return {
            "max_terms": k,
            "terms": result.terms,
            "nonzeros": 0 if result.card is None else result.card.nonzeros,
            **{name: known[name] for name in figures},
            "dominated": self.dominated[k],
            "intercept": result.intercept,
        }

    def certificate(self, k: int, **options: Any) -> Certificate:
        """Return the certificate of a size's card, see :func:`milpscore.certificate.certify`.

        Parameters
        ----------
        k : int
            A size that was solved.
        **options :
            As ``certify`` takes them: ``evidence``, ``source``, ``time_limit``, ``max_bytes``.

        Returns
        -------
        Certificate

        Raises
        ------
        OptionError
            For a size that was not solved.
        NotApplicableError, FormulationError
            As ``certify`` does: no card, or a model that was changed by hand.
        """
        if k not in self.results:
            raise OptionError(f"size {k!r} was not solved; there are {list(self.results)}")
        change = self.programs[k].added_by_user()
        if change:
            raise NotApplicableError(
                f"a certificate restates the program, and cannot tell that {change}: pass it as "
                "one of milpscore.constraints"
            )
        plain = plain_statement(self.program)
        plain["arguments"] = {**plain["arguments"], "max_terms": k}
        program = restate(plain, self.program.statement.design)
        return certify(program, _moved_into(program, self.results[k]), **options)


def pareto(
    program: Program,
    max_terms: int | Iterable[int] | None = None,
    *,
    solver: str = "auto",
    time_limit: float = Options.time_limit,
    progress: bool | None = None,
    **options: Any,
) -> Front:
    """Find the best card for every number of terms, loss against terms.

    Each size starts from the previous size's card; a bound for more terms holds for fewer.

    Parameters
    ----------
    program : Program
        Exact. What a user added to its model is kept.
    max_terms : int or iterable of int, optional
        The sizes k; a number means 0..k. Default: 0 up to the program's limit, or the number of
        columns.
    solver : str
        As in :func:`milpscore.solvers.solve`.
    time_limit : float
        Seconds in all; what an easy size leaves goes to later ones.
    progress : bool, optional
        Default: where standard error is a terminal.
    **options :
        Of the solver: ``mip_gap``, ``node_limit`` (each size's), ``random_state``, ...

    Returns
    -------
    Front
        After an interrupt (Ctrl-C): the sizes that are done, and what is known of the current one.

    Raises
    ------
    NotApplicableError
        For a relaxation, or a program whose terms cannot be counted.
    OptionError
        For sizes or a time limit out of range.
    """
    _refuse(program)
    sizes = _sizes(program, max_terms)
    clock = Clock.of(time_limit)
    programs: dict[int, Program] = {}
    results: dict[int, Result] = {}
    start: Card | None = None
    with heeding_interrupts():  # between the solves: the sizes that are done stay
        for at, k in enumerate(sizes):
            left = clock.left / (len(sizes) - at)
            limited = with_max_terms(program, k)
            start = _start(limited, start, left)
            result = solve(
                limited, solver, warm_start=start, time_limit=left, progress=progress, **options
            )
            programs[k], results[k] = limited, result
            start = result.card or start
            if result.termination is Termination.INTERRUPTED:
                break
    done = {k: result for k, result in results.items() if k in programs}
    interrupted = any(r.termination is Termination.INTERRUPTED for r in done.values())
    return Front(
        program=program,
        programs=programs,
        results=sharpened(done),
        complete=len(done) == len(sizes) and not interrupted,
        seconds=clock.seconds,
    )


def with_max_terms(program: Program, k: int) -> Program:
    """Return the program with at most k terms; what a user added stays."""
    # k is at most the program's own limit: ranges and big-M were derived from that one
    edit = program.edited()
    model = program.model.clone()
    if model.component("alpha") is None:
        _count_terms(model, program.statement)
    if model.component("at_most_k_terms") is not None:
        model.del_component("at_most_k_terms")
    model.at_most_k_terms = pyo.Constraint(expr=sum(model.alpha[j] for j in model.J) <= k)
    limited = replace(
        program,
        model=model,
        # as the builders say it: a limit that limits nothing is none
        statement=replace(program.statement, max_terms=k if k < len(model.J) else None),
        arguments={**program.arguments, "max_terms": k},
    )
    rows = {"at_most_k_terms", "alpha", "used_above", "used_below"}
    limited.remember(edit, also=frozenset(rows))
    return limited


def _count_terms(model: Any, statement: Statement) -> None:
    """Add alpha_j, 1 if w_j may differ from 0, to a model without it."""
    low, high = statement.coef_min.tolist(), statement.coef_max.tolist()
    model.alpha = pyo.Var(model.J, domain=pyo.Binary)
    model.used_above = pyo.Constraint(
        model.J, rule=lambda m, j: m.w[j] - max(high[j], 0) * m.alpha[j] <= 0
    )
    model.used_below = pyo.Constraint(
        model.J, rule=lambda m, j: m.w[j] - min(low[j], 0) * m.alpha[j] >= 0
    )


def _moved_into(program: Program, result: Result) -> Result:
    """Move a result into the intercepts a builder derives from fewer terms."""
    # what was proved over a wider range holds in a narrower one
    card, statement = result.card, program.statement
    if card is None or not statement.violations(card):
        return result
    moved = statement.with_best_intercept(card.coefficients)
    again = evaluate(statement, moved)
    if again.violations or abs(again.objective - result.objective) > 1e-9:
        raise SolverError(
            f"no intercept the builder allows with {statement.max_terms} terms is as good as "
            f"{card.intercept}: please report this"
        )
    return replace(result, card=moved, intercept=float(moved.intercept))


def _refuse(program: Any) -> None:
    """Refuse by name a program without terms to count."""
    if not isinstance(program, Program) or program.kind != "exact":
        raise NotApplicableError(
            "a front is made of exact programs of whole points: build one with risk_score(...), "
            "slim(...) or hinge(...)"
        )
    if program.model.component("alpha") is None and program.model.component("w") is None:
        raise NotApplicableError(
            f"{program.formulation} has no variable w for the points, so that its terms cannot be "
            "counted: take risk_score(...), slim(...) or hinge(...)"
        )


def _sizes(program: Program, given: int | Iterable[int] | None) -> list[int]:
    """The sizes asked for, ascending."""
    p, limit = program.statement.design.shape[1], program.statement.max_terms
    most = p if limit is None else limit
    wanted: Any = most if given is None else given
    if is_whole(wanted, 0):
        wanted = range(int(wanted) + 1)
    try:
        listed = list(wanted)
    except TypeError:
        listed = []
    if not listed or not all(is_whole(k, 0) for k in listed):
        raise OptionError(
            f"{{max_terms}} must be a whole number >= 0, or several, got {given!r}", max_terms=...
        )
    if max(listed) > most:
        raise OptionError(
            f"{{max_terms}} is beyond the program's {most} terms: build the program with more",
            max_terms=max(listed),
        )
    return sorted({int(k) for k in listed})


def _start(program: Program, before: Card | None, seconds: float) -> Card | None:
    """The better of the previous size's card and a heuristic one; a tree finds its own."""
    if isinstance(program.statement.loss, RiskLoss) or seconds == 0:
        return before
    found = start_card(program, max_work=work_within(seconds))
    cards = [card for card in (before, found) if card is not None]
    return min(cards, key=lambda c: evaluate(program.statement, c).objective, default=None)


def sharpened(results: Mapping[int, Result]) -> dict[int, Result]:
    """Return results with the best bounds known: one for more terms holds for fewer."""
    sharper: dict[int, Result] = {}
    bound, source = -np.inf, ""
    for k in sorted(results, reverse=True):
        result = results[k]
        if bound > result.dual_bound:
            result = _raised(result, bound, source)
        sharper[k] = result
        bound, source = result.dual_bound, result.bound_source
    return {k: sharper[k] for k in sorted(sharper)}


def _raised(result: Result, bound: float, source: str) -> Result:
    """A result with the bound over more cards; SolverError if its card is below that bound."""
    if result.card is None:
        return replace(result, dual_bound=bound, bound_source=source)
    if bound > result.objective + CLAIM_TOLERANCE * max(1.0, abs(result.objective)):
        raise SolverError(
            f"a card of objective {result.objective!r} lies below the bound {bound!r} that was "
            "proved over more cards: please report this"
        )
    # sums round: a bound stays at or below its card
    held = min(bound, result.objective)
    claim = claim_of(result.verified, result.objective, held, 0.0)
    return replace(result, dual_bound=held, bound_source=source, claim=claim)
