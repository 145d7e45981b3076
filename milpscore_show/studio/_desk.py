"""The desk: a card that is edited, the wishes it is held to, and what is proved of both."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from milpscore.constraints import Constraint, Exclude, Include, Range, make_constraint
from milpscore.core.card import Card
from milpscore.core.design import Design, FloatArray, as_fraction
from milpscore.core.errors import NotApplicableError, OptionError, did_you_mean
from milpscore.core.result import CLAIM_TOLERANCE, Claim, Result, claim_of
from milpscore.core.statement import Statement
from milpscore.data import SurvivalDesign
from milpscore.fitting import FORMULATION, MAX_TERMS
from milpscore.formulations import gentle_scale
from milpscore.losses import RiskLoss
from milpscore.metrics import concordance_of
from milpscore.scorecard import Scorecard, SurvivalCard
from milpscore.scorecard.certified import shown_card
from milpscore.scorecard.survival import timed_card
from milpscore.verify import evaluate
from milpscore_show.studio.questions import Bench, Best, Gather, Ledger, Listen, Price, Question


@dataclass(frozen=True)
class Sheet:
    """What is edited: a card's points and threshold, and what every better card must keep to."""

    points: tuple[int, ...]
    max_terms: int | None
    threshold: Fraction | None = None
    locked: frozenset[int] = frozenset()
    forbidden: tuple[str, ...] = ()
    demanded: tuple[str, ...] = ()
    rules: tuple[Constraint, ...] = ()


@dataclass(frozen=True)
class TimedFigures:
    """What rows with times say of a card: C is Harrell's, NaN without scikit-survival."""

    totals: FloatArray  # (m,), distinct, ascending
    rows: int
    events: int
    concordance: float


@dataclass(frozen=True)
class Figures:
    """What the rows say of a card as it answers now."""

    totals: FloatArray  # (m,), distinct, ascending
    hits: FloatArray  # (m,), weight of positives at each total
    alarms: FloatArray  # (m,), of the others
    missed: int  # rows of positives that are answered negative
    alarmed: int  # rows of the others that are answered positive
    rows: int
    sensitivity: float
    specificity: float

    @property
    def errors(self) -> int:
        """Rows that are answered wrongly."""
        return self.missed + self.alarmed

    @property
    def curve(self) -> tuple[FloatArray, FloatArray]:
        """The ROC curve: shares of the others and of the positives at or above each total."""
        above = [np.append(np.cumsum(each[::-1]), 0.0) for each in (self.alarms, self.hits)]
        x, y = (np.concatenate([[0.0], each[:-1]]) / max(each[-2], 1e-300) for each in above)
        return x, y

    @property
    def auc(self) -> float:
        """The area under the curve."""
        from sklearn.metrics import auc

        return float(auc(*self.curve))


AnyFigures: TypeAlias = Figures | TimedFigures
Shown: TypeAlias = Scorecard | SurvivalCard


class Desk:
    """A card that can be questioned: the state behind ``milpscore studio``, free of any page.

    Edits say at once what the rows make of them. Wishes (points that are locked, features that are
    forbidden or demanded, rules) hold for every card that is searched; :meth:`ask` finds the best
    one, and :meth:`price` says what a wish costs, with a proof, from what is known by then.

    Parameters
    ----------
    design : Design
    formulation : {"risk_score", "slim", "survival_score"}
    title : str
    source : mapping, optional
        How the table was read, for certificates.
    command : str
        The command that fits such a card, to be exported with it.
    constraints : sequence of Constraint
        Rules to begin with; they can be dropped like any other.
    max_terms : int, optional
        None: no limit.
    in_use : sequence of int, optional
        The points of a card in use, column by column: the sheet begins with them, and
        :meth:`back` returns to them.
    **arguments :
        Further arguments of the builder.

    Attributes
    ----------
    sheet : Sheet
        The present state; earlier ones come back by :meth:`undo`.
    ledger : Ledger
        Every card and bound known so far.

    Raises
    ------
    NotApplicableError
        For another formulation.
    OptionError
        Points in use lie outside the ranges, or are not one per column.

    Examples
    --------
    >>> desk = Desk(make_design(X, y), max_terms=4)        # doctest: +SKIP
    >>> desk.ask()                                         # doctest: +SKIP
    >>> desk.forbid("age")                                 # doctest: +SKIP
    >>> desk.ask()                                         # doctest: +SKIP
    >>> print(desk.price("forbid age"))                    # doctest: +SKIP
    0.01312 worse (proved)
    """

    def __init__(
        self,
        design: Design,
        formulation: str = FORMULATION,
        *,
        title: str = "Scorecard",
        source: Mapping[str, Any] | None = None,
        command: str = "",
        constraints: Sequence[Constraint] = (),
        max_terms: int | None = MAX_TERMS,
        in_use: Sequence[int] | None = None,
        **arguments: Any,
    ) -> None:
        self.bench = Bench(design, formulation, arguments)
        self.ledger = Ledger(self.bench)
        self._given = arguments
        self.title, self.source, self.command = title, dict(source or {}), command
        free = Question((), max_terms)
        first = self.bench.settle(free)
        statement = self.bench.statement(free)
        self.design = statement.design  # by cuts, where jumps are penalised
        self.ledger.add([card for card in (first, statement.empty_card()) if card], statement)
        shown = self.ledger.best(free)[0] or statement.empty_card()
        self.in_use = None if in_use is None else _within(statement, in_use)
        points = self.in_use or tuple(shown.coefficients.tolist())
        self.sheet = Sheet(points, max_terms, rules=tuple(constraints))
        self.bench.statement(self.question)  # refuses a rule that makes no sense
        self._held: tuple[Any, tuple[Card, Shown, AnyFigures]] | None = None
        self._measured: dict[Card, AnyFigures] = {}
        self._past: list[Sheet] = []
        self._future: list[Sheet] = []
        self.revision = 0

    # ---------------------------------------------------------------- the state

    @property
    def wishes(self) -> dict[str, Constraint]:
        """Every wish by its key, such as "lock age", "forbid age", "demand age" or "rule 1"."""
        sheet, names = self.sheet, self.design.names
        found: dict[str, Constraint] = {}
        for j in sorted(sheet.locked):
            w = sheet.points[j]
            said = f"{w} point{'' if abs(w) == 1 else 's'} for {names[j]}"
            found[f"lock {names[j]}"] = Range(names[j], w, w, name=said)
        found |= {f"forbid {name}": Exclude(name) for name in sheet.forbidden}
        found |= {f"demand {name}": Include(name) for name in sheet.demanded}
        return found | {f"rule {k}": rule for k, rule in enumerate(sheet.rules, start=1)}

    @property
    def question(self) -> Question:
        """The best card that obeys all wishes."""
        return Question(tuple(self.wishes.values()), self.sheet.max_terms)

    @property
    def free(self) -> Question:
        """The best card without any wish."""
        return Question((), self.sheet.max_terms)

    def wish(self, key: str) -> Question:
        """The best card that obeys one wish; OptionError where there is none of this key."""
        wishes = self.wishes
        if key not in wishes:
            hint = did_you_mean(key, list(wishes))
            raise OptionError(f"there is no wish {key!r}; {hint}there are {', '.join(wishes)}")
        return Question((wishes[key],), self.sheet.max_terms)

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Names of the raw features."""
        return tuple(dict.fromkeys(column.feature for column in self.design.columns))

    def _place(self, column: str) -> int:
        names = self.design.names
        if column not in names:
            hint = did_you_mean(column, names)
            raise OptionError(f"there is no column {column!r}; {hint}look at the list of columns")
        return names.index(column)

    def _of(self, name: str) -> list[int]:
        """The columns of a feature, or the one of this name."""
        own = [j for j, column in enumerate(self.design.columns) if column.feature == name]
        return own or [self._place(name)]

    def put(self, sheet: Sheet) -> None:
        """Take a sheet, which is tried first: a rule that makes no sense changes nothing."""
        if sheet == self.sheet:
            return
        before, self.sheet = self.sheet, sheet
        try:
            self.bench.statement(self.question)
            self._look()
        except BaseException:  # Ctrl-C as well
            self.sheet = before
            raise
        self._past = [*self._past[-199:], before]
        self._future = []
        self.revision += 1

    # ---------------------------------------------------------------- edits

    def set_points(self, column: str, points: int) -> None:
        """Change the points of a column; one that is locked stays locked at the new ones."""
        j = self._place(column)
        lower, upper = self._ranges
        if not lower[j] <= points <= upper[j]:
            raise OptionError(f"{column}: points lie between {lower[j]} and {upper[j]}")
        changed = list(self.sheet.points)
        changed[j] = int(points)
        self.put(replace(self.sheet, points=tuple(changed)))

    @property
    def _ranges(self) -> tuple[Any, Any]:
        statement = self.bench.statement(self.free)
        return statement.coef_min, statement.coef_max

    def lock(self, column: str, hold: bool = True) -> None:
        """Hold a column at the points it has, in every card that is searched."""
        j = self._place(column)
        locked = self.sheet.locked | {j} if hold else self.sheet.locked - {j}
        free = tuple(n for n in self.sheet.forbidden if not hold or j not in self._of(n))
        kept = free if self.sheet.points[j] else self.sheet.forbidden
        self.put(replace(self.sheet, locked=locked, forbidden=kept))

    def forbid(self, name: str) -> None:
        """No points for a feature or column, at once and in every card that is searched."""
        own = self._of(name)
        points = tuple(0 if j in own else w for j, w in enumerate(self.sheet.points))
        self.put(
            replace(
                self.sheet, points=points, locked=self.sheet.locked - set(own),
                forbidden=(*dict.fromkeys((*self.sheet.forbidden, name)),),
                demanded=tuple(n for n in self.sheet.demanded if n != name),
            )
        )  # fmt: skip

    def demand(self, name: str) -> None:
        """Points for a feature or column, in every card that is searched."""
        self._of(name)
        self.put(
            replace(
                self.sheet, demanded=(*dict.fromkeys((*self.sheet.demanded, name)),),
                forbidden=tuple(n for n in self.sheet.forbidden if n != name),
            )
        )  # fmt: skip

    def add_rule(self, rule: Constraint | Mapping[str, Any]) -> None:
        """A rule of :mod:`milpscore.constraints`, or the entry of a file that makes one."""
        made = rule if isinstance(rule, Constraint) else make_constraint(rule)
        self.put(replace(self.sheet, rules=(*self.sheet.rules, made)))

    def drop(self, key: str) -> None:
        """Take a wish back."""
        self.wish(key)
        kind, _, name = key.partition(" ")
        sheet = self.sheet
        if kind == "lock":
            return self.lock(name, hold=False)
        if kind == "rule":
            kept = [rule for k, rule in enumerate(sheet.rules, start=1) if k != int(name)]
            return self.put(replace(sheet, rules=tuple(kept)))
        if kind == "forbid":
            left = tuple(each for each in sheet.forbidden if each != name)
            return self.put(replace(sheet, forbidden=left))
        left = tuple(each for each in sheet.demanded if each != name)
        return self.put(replace(sheet, demanded=left))

    def set_threshold(self, threshold: float | Fraction | None) -> None:
        """From which total, as it is printed, the answer is positive; None: the card's own."""
        if isinstance(self.shown, SurvivalCard):
            raise NotApplicableError("a survival score decides nothing: it has no threshold")
        if threshold is not None and not math.isfinite(threshold):
            raise OptionError(f"a threshold is a finite number, not {threshold}")
        chosen = None
        if threshold is not None:  # held as a threshold of the points on the sheet
            chosen = self.scorecard.fitted_total(as_fraction(threshold))
        if chosen is not None and not self._has_risks:
            rule = self.bench.statement(self.free).intercept
            chosen = -rule.nearest(-chosen)
        self.put(replace(self.sheet, threshold=chosen))

    def set_terms(self, most: int | None) -> None:
        """Limit the columns with points in every card that is searched; None: no limit."""
        if most is not None and most < 0:
            raise OptionError(f"the number of terms is 0 or more, not {most}")
        self.put(replace(self.sheet, max_terms=most))

    def take(self, best: bool = True) -> None:
        """Put the best known card that obeys all wishes (or, without ``best``, any) on the sheet.

        NotApplicableError where none is known: ask for it first.
        """
        card = self.ledger.best(self.question if best else self.free)[0]
        if card is None:
            raise NotApplicableError("no card is known that obeys these wishes: search for it")
        self.put(replace(self.sheet, points=tuple(card.coefficients.tolist()), threshold=None))

    def back(self) -> None:
        """Return to the points of the card in use; NotApplicableError where there is none."""
        if self.in_use is None:
            raise NotApplicableError("the desk was opened without a card in use")
        self.put(replace(self.sheet, points=self.in_use, threshold=None))

    def undo(self) -> None:
        """Take the last edit back."""
        self._step(self._past, self._future)

    def redo(self) -> None:
        """Do again what was taken back."""
        self._step(self._future, self._past)

    def _step(self, taken: list[Sheet], left: list[Sheet]) -> None:
        if taken:
            left.append(self.sheet)
            self.sheet = taken.pop()
            self.revision += 1

    @property
    def can_undo(self) -> bool:
        """Whether there is an edit to take back."""
        return bool(self._past)

    @property
    def can_redo(self) -> bool:
        """Whether there is one to do again."""
        return bool(self._future)

    # ---------------------------------------------------------------- what holds at once

    @property
    def _has_risks(self) -> bool:
        return isinstance(self.bench.statement(self.free).loss, RiskLoss)

    def _look(self) -> tuple[Card, Shown, AnyFigures]:
        """The card of the sheet, as it is printed, and what the rows say; kept until it changes."""
        sheet = self.sheet
        state = (sheet.points, sheet.threshold, self.question)
        if self._held is not None and self._held[0] == state:
            return self._held[1]
        points = np.array(sheet.points, dtype=np.int64)
        moved = sheet.threshold
        if moved is not None and not self._has_risks:
            card = Card(points, -moved)
        else:
            card = self.ledger.of_points(self.question, points)
        self.ledger.add([card], self.bench.statement(self.question))
        shown = self._shown(card, moved if self._has_risks else None)
        self._held = state, (card, shown, self._figures(shown))
        return self._held[1]

    def _shown(self, card: Card, moved: Fraction | None = None) -> Shown:
        """A card as every output prints it, with its own threshold unless that was moved."""
        statement = self.bench.statement(self.question)
        if isinstance(self.design, SurvivalDesign):
            return timed_card(statement, card, self.title)
        return shown_card(statement, card, self.title, moved=moved)

    def measured(self, question: Question) -> AnyFigures | None:
        """What the rows say of the best known card of a question; None without one."""
        card = self.ledger.best(question)[0]
        return None if card is None else self._figures_of(card)

    def _figures_of(self, card: Card) -> AnyFigures:
        """What the rows say of a card, measured once."""
        if card not in self._measured:
            self._measured[card] = self._figures(self._shown(card))
        return self._measured[card]

    def _figures(self, shown: Shown) -> AnyFigures:
        """Errors, rates and the weight of both classes at each total; of times their order."""
        design = self.design
        counted = design.weight > 0
        if isinstance(shown, SurvivalCard):
            assert isinstance(design, SurvivalDesign)
            held = design.of_rows(np.flatnonzero(counted))
            order = concordance_of(held, scores := shown.card.score_design(held.X))
            events = int(held.rows[held.event].sum())
            return TimedFigures(np.unique(scores), int(held.rows.sum()), events, order)
        totals = shown.score_design(design.X)[counted]
        hit, weight = design.y[counted] > 0, design.weight[counted]
        answer = shown.rule.positive(totals)
        known, where = np.unique(totals, return_inverse=True)
        hits, alarms = (
            np.bincount(where, weights=weight * each, minlength=len(known)).astype(np.float64)
            for each in (hit, ~hit)
        )
        rows = design.rows[counted]
        return Figures(
            known, hits, alarms, int(rows[hit & ~answer].sum()), int(rows[answer & ~hit].sum()),
            int(rows.sum()),
            float(weight[answer & hit].sum() / hits.sum()),
            float(weight[~answer & ~hit].sum() / alarms.sum()),
        )  # fmt: skip

    @property
    def card(self) -> Card:
        """The card of the sheet, with its best intercept and scale."""
        return self._look()[0]

    @property
    def shown(self) -> Shown:
        """The same as it is printed: with its features and risks."""
        return self._look()[1]

    @property
    def scorecard(self) -> Scorecard:
        """The same with its features, risks and threshold, points as they were typed."""
        shown = self.shown
        return shown.card if isinstance(shown, SurvivalCard) else shown

    @property
    def figures(self) -> AnyFigures:
        """What the rows say of it."""
        return self._look()[2]

    # ---------------------------------------------------------------- what is proved

    def ask(
        self, question: Question | None = None, listen: Listen | None = None, **limits: Any
    ) -> Result:
        """Search for the best card of a question, by default that of all wishes, and keep it."""
        task = self.best_of(question or self.question, **limits)
        result = task.run(self.bench, listen)
        self.learn(task.question, result)
        return result

    def best_of(self, question: Question, **limits: Any) -> Best:
        """The search that :meth:`ask` makes, started from the best known card."""
        card = self.ledger.best(question)[0]
        return Best(question, () if card is None else (card,), **limits)

    def gather(self, **limits: Any) -> None:
        """Search for every nearly best card without wishes, which answers many questions."""
        self.learn(self.free, Gather(self.free, **limits).run(self.bench))

    def learn(self, question: Question, answer: Any) -> None:
        """Take in what was found out."""
        if isinstance(answer, Result):
            self.ledger.learn(question, answer)
        else:
            self.ledger.shelve(answer)
        self.revision += 1

    def price(self, key: str | None = None) -> Price:
        """What a wish alone costs, or all of them together, as far as it is proved."""
        return self.ledger.price(self.question if key is None else self.wish(key), self.free)

    def price_in_use(self) -> Price:
        """How much worse the card in use is than the best card without wishes."""
        card = self._used()
        own = evaluate(self.bench.statement(self.free), card).objective
        best, bound = self.ledger.best(self.free)[1], self.ledger.bound(self.free)
        most = max(own - bound, 0.0)
        return Price(min(max(own - best, 0.0), most), most, CLAIM_TOLERANCE * (own + best))

    def measured_in_use(self) -> AnyFigures:
        """What the rows say of the card in use."""
        return self._figures_of(self._used())

    def _used(self) -> Card:
        """The card in use with its best intercept and scale."""
        if self.in_use is None:
            raise NotApplicableError("the desk was opened without a card in use")
        return self.ledger.of_points(self.free, np.array(self.in_use, dtype=np.int64))

    def to_be_asked(self, key: str | None = None) -> list[Question]:
        """The questions whose answers a price waits for."""
        asked = [self.free, self.question if key is None else self.wish(key)]
        return [q for q in dict.fromkeys(asked) if not self.is_settled(q)]

    def is_settled(self, question: Question) -> bool:
        """Whether its best card is known, and proved to be it; or that there is none."""
        best, bound = self.ledger.best(question)[1], self.ledger.bound(question)
        proved = math.isfinite(best) and claim_of(True, best, bound, 0.0) is Claim.OPTIMAL
        return proved or bound == math.inf

    # ---------------------------------------------------------------- what leaves

    def certified(self) -> tuple[Question, Result]:
        """The sheet's card as a result, with the best bound there is of a question it answers."""
        card = self.card
        for question in dict.fromkeys((self.question, self.free)):
            statement = self.bench.statement(question)
            found, known = evaluate(statement, card), self.ledger.results.get(question.key)
            if known is None or not found.feasible:
                continue
            bound = known[1].dual_bound  # infinite if there were no card, which this one belies
            bound = min(bound if math.isfinite(bound) else 0.0, found.objective)
            made = replace(
                known[1], **found.fields(statement, card), kind="exact", dual_bound=bound,
                claim=claim_of(True, found.objective, bound, 0.0), trace=(), origin="start",
            )  # fmt: skip
            return question, made
        broken = evaluate(self.bench.statement(self.free), card).violations
        raise NotApplicableError(
            f"nothing is proved of this card yet ({'; '.join(broken) or 'no search has ended'}): "
            "search for the best card first"
        )

    @property
    def settings(self) -> dict[str, Any]:
        """Return a builder's arguments for the sheet's card, beside rules and the command's."""
        arguments = {} if self.command else {
            k: v for k, v in self._given.items() if isinstance(v, str | int | float | list | tuple)
        }  # fmt: skip
        held, own = self.bench.scale, self.card.scale
        asked = [Question(self.pinned(), self.sheet.max_terms), self.question]
        least = max(gentle_scale(self.bench.program(each)) for each in asked)
        if (
            held is not None
            and own is not None
            and (
                self.bench.arguments.get("scale") != self._given.get("scale", "auto") or own < least
            )
        ):  # where a fit would state gentler scales
            arguments["scale"] = [held.lower, held.upper]
        if self.sheet.threshold is not None and not self._has_risks:
            arguments["intercept_bounds"] = [-float(self.sheet.threshold)] * 2
        return {**arguments, "max_terms": self.sheet.max_terms}

    def pinned(self) -> tuple[Constraint, ...]:
        """The wishes, with every point of the sheet's card: they leave this card alone."""
        names, points = self.design.names, self.sheet.points
        held = [Range(n, w, w) for n, w in zip(names, points, strict=True) if w]
        none = [n for n, w in zip(names, points, strict=True) if not w]
        rest = [Exclude(tuple(none))] if none else []
        rules = [r for r in self.wishes.values() if not isinstance(r, Range | Exclude)]
        return (*rules, *held, *rest)


def _within(statement: Statement, points: Sequence[int]) -> tuple[int, ...]:
    """Return points as whole numbers; OptionError where a card cannot have them."""
    found = np.asarray(points)
    if found.shape != (statement.shape[1],) or (found != found.astype(np.int64)).any():
        raise OptionError(
            f"{{in_use}} needs {statement.shape[1]} whole numbers, one for each column", in_use=...
        )
    if ((found < statement.coef_min) | (found > statement.coef_max)).any():
        raise OptionError(
            f"{{in_use}} has points from {found.min()} to {found.max()}, beyond the ranges: widen "
            "{coef_min} and {coef_max}",
            in_use=..., coef_min=..., coef_max=...,
        )  # fmt: skip
    return tuple(found.astype(np.int64).tolist())
