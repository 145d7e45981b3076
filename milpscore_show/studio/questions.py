"""What is asked of an engine, what its answers prove, and what follows from them for others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from milpscore.constraints import Constraint
from milpscore.core.card import Card
from milpscore.core.clock import Clock
from milpscore.core.design import Design, IntArray
from milpscore.core.errors import NotApplicableError, SolverError
from milpscore.core.program import Program
from milpscore.core.result import CLAIM_TOLERANCE, Result, Termination, TracePoint
from milpscore.core.statement import ScaleRange, Statement
from milpscore.fitting import with_fast_card
from milpscore.formulations import card_builder, card_name
from milpscore.pools.nearly_best import pool
from milpscore.search.starts import fast_cards, start_card, work_within
from milpscore.solvers import solve
from milpscore.solvers.options import Options
from milpscore.verify import evaluate

HELD = ("risk_score", "slim", "survival_score")
"""The formulations whose cards can be questioned: they have a search that keeps to every rule."""

Listen = Callable[[TracePoint], None]

_START = 0.1
"""Share of the time that a start may take."""


@dataclass(frozen=True, eq=False)
class Question:
    """The best card of those that keep to some rules and a limit on terms."""

    rules: tuple[Constraint, ...] = ()
    max_terms: int | None = None

    @cached_property
    def demands(self) -> frozenset[str]:
        """The rules as text; what a rule is called makes no difference."""
        return frozenset(map(demand, self.rules))

    @property
    def key(self) -> tuple[frozenset[str], float]:
        """Equal for questions with equal answers."""
        return self.demands, math.inf if self.max_terms is None else self.max_terms

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Question) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def within(self, other: Question) -> bool:
        """Whether the other question plainly allows every card that this one does."""
        return self.demands >= other.demands and self.key[1] <= other.key[1]


def demand(rule: Constraint) -> str:
    """What a rule demands, whatever it is called."""
    return repr(replace(rule, name=None))


class Bench:
    """States the program of every question, all over the same scales, so that bounds compare."""

    def __init__(
        self, design: Design, formulation: str, arguments: Mapping[str, Any],
        scale: ScaleRange | None = None,
    ) -> None:  # fmt: skip
        self.design, self.formulation = design, card_name(formulation)
        if self.formulation not in HELD:
            known = f"{', '.join(HELD[:-1])} and {HELD[-1]}"
            raise NotApplicableError(f"the studio questions cards of {known}, not of {formulation}")
        self.arguments, self.scale = dict(arguments), scale
        self._programs: dict[Any, Program] = {}

    def settle(self, question: Question) -> Card | None:
        """Settle the scales by the fast card of a question, which is the answer."""
        program, fast = with_fast_card(self._stated(question), Options())
        self.scale = program.statement.scales
        if self.scale is not None:
            self.arguments["scale"] = program.arguments.get("scale", "auto")
        self._programs[question.key] = program
        return None if fast is None else fast.card

    def _stated(self, question: Question, **more: Any) -> Program:
        given = {"constraints": question.rules, "max_terms": question.max_terms}
        build = card_builder(self.formulation)
        return build(self.design, **{**self.arguments, **given, **more})

    def program(self, question: Question) -> Program:
        """The question's program; FormulationError for a rule that makes no sense here."""
        found = self._programs.get(question.key)
        if found is None:
            found = self._stated(question)
            held = self.scale
            if held is not None and found.statement.scales != held:
                found = self._stated(question, scale=(held.lower, held.upper))
            self._programs[question.key] = found
        return found

    def statement(self, question: Question) -> Statement:
        """What the question's program states."""
        return self.program(question).statement


# ---------------------------------------------------------------- asking


@dataclass(frozen=True)
class Best:
    """Search for the best card."""

    question: Question
    starts: tuple[Card, ...] = ()
    time_limit: float = Options.time_limit
    node_limit: int | None = None

    def run(self, bench: Bench, listen: Listen | None = None) -> Result:
        """Return the verified answer of an engine, its bound reported on the way."""
        clock, program = Clock.of(self.time_limit), bench.program(self.question)
        statement = program.statement
        within = clock.part(_START)
        starts = [*self.starts, fast_cards(statement, within)[0]]
        judged = [(card, evaluate(statement, card)) for card in starts if card is not None]
        sound = [(card, found.objective) for card, found in judged if found.feasible]
        start = min(sound, key=lambda pair: pair[1])[0] if sound else None
        if start is None:
            start = start_card(program, max_work=work_within(clock), time_limit=within)
        return solve(
            program, warm_start=start, callback=listen, progress=False, time_limit=clock,
            node_limit=self.node_limit,
        )  # fmt: skip


@dataclass(frozen=True)
class Shelf:
    """All cards of a question up to an objective."""

    question: Question
    cards: tuple[Card, ...]
    complete_up_to: float


@dataclass(frozen=True)
class Gather:
    """Search for every card that is nearly the best."""

    question: Question
    epsilon: float = 0.02
    max_cards: int = 2000
    time_limit: float = Options.time_limit
    node_limit: int | None = None

    def run(self, bench: Bench, listen: Listen | None = None) -> Shelf:
        """The pool's cards, and up to which objective none is missing."""
        found = pool(
            bench.program(self.question), epsilon=self.epsilon, max_cards=self.max_cards,
            time_limit=self.time_limit, node_limit=self.node_limit, progress=False,
        )  # fmt: skip
        return Shelf(self.question, found.cards, found.complete_up_to)


# ---------------------------------------------------------------- what is known


@dataclass(frozen=True)
class Price:
    """How much worse the best card becomes by a wish: at least, and at most.

    ``least`` is infinite where it is proved that no card obeys, ``most`` where none is known that
    does. A price is proved where the two differ by no more than the ``tolerance`` of two claims.
    """

    least: float
    most: float
    tolerance: float = 0.0

    @property
    def proved(self) -> bool:
        """Whether nothing is left open."""
        return self.least == math.inf or self.most - self.least <= self.tolerance

    @property
    def known(self) -> bool:
        """Whether anything is."""
        return self.least > 0 or self.most < math.inf

    def __str__(self) -> str:
        """In words, no digit more than is proved."""
        if self.least == math.inf:
            return "no card obeys (proved)"
        if not self.known:
            return "not known yet"
        if self.proved and self.most <= self.tolerance:
            return "free (proved)"
        if self.proved:
            return f"{self.most:.5f} worse (proved)"
        if self.most == math.inf:
            return f"at least {down(self.least)} worse (proved)"
        lower = f"at least {down(self.least)} (proved)" if self.least >= 1e-5 else "perhaps nothing"
        return f"{lower}, at most {up(self.most)} worse"


def down(value: float) -> str:
    """Five decimals, rounded down."""
    return f"{math.floor(1e5 * value) / 1e5:.5f}"


def up(value: float) -> str:
    """Five decimals, rounded up."""
    return f"{math.ceil(1e5 * value) / 1e5:.5f}"


class Ledger:
    """Every card and bound there is, and what they say of any question."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.results: dict[Any, tuple[Question, Result]] = {}
        self.shelves: list[Shelf] = []
        self._cards: dict[Card, float] = {}
        self.cards: list[Card] = []  # the best first
        self._points: IntArray | None = None

    def add(self, cards: Iterable[Card], statement: Statement) -> None:
        """Keep cards with their objectives, which are alike for every question."""
        fresh = [card for card in cards if card not in self._cards]
        self._cards |= {card: evaluate(statement, card).objective for card in fresh}
        if fresh:
            self.cards = sorted(self._cards, key=self._cards.__getitem__)
            self._points = None

    def learn(self, question: Question, result: Result) -> None:
        """Take in the answer to a question, its card recomputed; a better bound is kept."""
        statement = self.bench.statement(question)
        if result.card is not None:
            found = evaluate(statement, result.card)
            if not found.feasible or not math.isclose(
                found.objective, result.objective, rel_tol=1e-9, abs_tol=1e-12
            ):
                raise SolverError(
                    f"the answer of {result.solver} is not what the rows say: {found}, "
                    f"{result.objective!r} was reported"
                )
            self.add([result.card], statement)
        before = self.results.get(question.key)
        if before is None or bound_of(result) >= bound_of(before[1]):
            self.results[question.key] = question, result

    def shelve(self, shelf: Shelf) -> None:
        """Take in a pool, with the multiples of its cards, which it leaves out."""
        statement = self.bench.statement(shelf.question)
        cards = [m for card in shelf.cards for m in _multiples(statement, card)]
        self.shelves.append(replace(shelf, cards=tuple(dict.fromkeys(cards))))
        self.add(cards, statement)

    def best(self, question: Question) -> tuple[Card | None, float]:
        """The best known card that obeys, and its objective; infinite without one."""
        if not self.cards:
            return None, math.inf
        if self._points is None:
            self._points = np.array([card.coefficients for card in self.cards])
        statement = self.bench.statement(question)
        for k in np.flatnonzero(statement.allows(self._points)).tolist():
            card = self.cards[k]
            if not statement.violations(card):
                return card, self._cards[card]
        return None, math.inf

    def of_points(self, question: Question, points: IntArray) -> Card:
        """The best card of these points: a known one that obeys, or the one of best intercept."""
        statement = self.bench.statement(question)
        fresh = statement.with_best_intercept(points)
        for card in self.cards:
            if np.array_equal(card.coefficients, points) and not statement.violations(card):
                own, other = self._cards[card], evaluate(statement, fresh)
                return fresh if other.feasible and other.objective < own - 1e-12 else card
        return fresh

    def bound(self, question: Question) -> float:
        """No card that obeys has a smaller objective; infinite where no card obeys."""
        known = [bound_of(result) for other, result in self.results.values()
                 if question.within(other)]  # fmt: skip
        known += [self._on(shelf, question) for shelf in self.shelves]
        return max([0.0, *known])

    def _on(self, shelf: Shelf, question: Question) -> float:
        """What a pool proves of a question that allows fewer cards."""
        if not question.within(shelf.question):
            return 0.0
        statement = self.bench.statement(question)
        # each of its points has one intercept: what else there is may keep to a limit on errors
        own = self.bench.statement(shelf.question)
        if sum(each.limits_answers for each in statement.constraints) > sum(
            each.limits_answers for each in own.constraints
        ):
            return 0.0
        if not shelf.cards:
            return shelf.complete_up_to
        fine = statement.allows(np.array([card.coefficients for card in shelf.cards]))
        objectives = np.array([self._cards[card] for card in shelf.cards])
        return float(min([shelf.complete_up_to, *objectives[fine].tolist()]))

    def price(self, question: Question, without: Question) -> Price:
        """What the rules cost that the first question has and the second one has not."""
        (_, dear), (_, cheap) = self.best(question), self.best(without)
        low, high = self.bound(without), self.bound(question)
        least = high - cheap if cheap < math.inf else (math.inf if high == math.inf else 0.0)
        most = max(dear - low, 0.0)
        tolerance = CLAIM_TOLERANCE * (dear + cheap) if most < math.inf else 0.0
        return Price(min(max(least, 0.0), most), most, tolerance)


def bound_of(result: Result) -> float:
    """No card is better; infinite where there is proved to be none."""
    if result.card is None and result.termination is Termination.INFEASIBLE:
        return math.inf
    return max(result.dual_bound, 0.0)


def _multiples(statement: Statement, card: Card) -> Iterable[Card]:
    """The card, and at a free scale its multiples within the ranges of points."""
    yield card
    if card.scale is None or not card.nonzeros:
        return
    points = card.coefficients
    k = 2
    while np.all((k * points >= statement.coef_min) & (k * points <= statement.coef_max)):
        yield Card(k * points, k * card.intercept, k * card.scale)
        k += 1
