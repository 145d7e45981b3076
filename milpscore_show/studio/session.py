"""A desk as a file: edits, wishes, cards and bounds, to be opened on the same data."""

from __future__ import annotations

import math
from dataclasses import asdict
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np

from milpscore.constraints import Constraint, make_constraint
from milpscore.core.card import Card
from milpscore.core.errors import DataError
from milpscore.core.reading import parsed
from milpscore.core.result import Result, Termination, claim_of
from milpscore.formulations.restating import plain_statement
from milpscore.scorecard.rendering import finite
from milpscore.verify import evaluate
from milpscore_show.studio._desk import Desk, Sheet
from milpscore_show.studio.questions import Question, Shelf, bound_of

KIND, VERSION = "milpscore.studio", 1


class _Asked(msgspec.Struct, forbid_unknown_fields=True):
    """A question."""

    rules: list[dict[str, Any]]
    max_terms: int | None

    def question(self) -> Question:
        return Question(tuple(map(make_constraint, self.rules)), self.max_terms)


class _Edited(_Asked, forbid_unknown_fields=True):
    """A sheet."""

    points: tuple[int, ...]
    threshold: Fraction | None
    locked: list[int]
    forbidden: list[str]
    demanded: list[str]


class _Proved(_Asked, forbid_unknown_fields=True):
    """The answer to a question, its card by its place among the cards; None: no card obeys."""

    card: int | None
    bound: float | None
    termination: Termination
    solver: str
    solver_version: str
    random_state: int


class _Pooled(_Asked, forbid_unknown_fields=True):
    """All cards of a question up to an objective."""

    cards: list[int]
    complete_up_to: float | None


class _Session(msgspec.Struct, forbid_unknown_fields=True):
    """The file."""

    kind: str
    version: int
    fingerprint: str
    program: dict[str, Any]
    sheet: _Edited
    cards: list[tuple[tuple[int, ...], Fraction, Fraction | None]]
    proved: list[_Proved]
    pools: list[_Pooled]


def _plain(rules: tuple[Constraint, ...], max_terms: int | None) -> dict[str, Any]:
    return {"rules": [rule.as_mapping() for rule in rules], "max_terms": max_terms}


def session_text(desk: Desk) -> str:
    """The desk's state, what is known of all cards included, as JSON; undo is left out."""
    sheet, ledger = desk.sheet, desk.ledger
    place = {card: k for k, card in enumerate(ledger.cards)}
    proved = [
        {**_plain(question.rules, question.max_terms), "termination": result.termination,
         "card": None if result.card is None else place[result.card],
         "bound": finite(bound_of(result)),
         "solver": result.solver, "solver_version": result.solver_version,
         "random_state": result.random_state}
        for question, result in ledger.results.values()
    ]  # fmt: skip
    pools = [
        {**_plain(shelf.question.rules, shelf.question.max_terms),
         "complete_up_to": finite(shelf.complete_up_to),
         "cards": [place[card] for card in shelf.cards]}
        for shelf in ledger.shelves
    ]  # fmt: skip
    content = {
        "kind": KIND, "version": VERSION, "fingerprint": desk.bench.design.fingerprint,
        "program": _program(desk),
        "sheet": {**asdict(sheet), **_plain(sheet.rules, sheet.max_terms),
                  "locked": sorted(sheet.locked)},
        "cards": [(c.coefficients.tolist(), c.intercept, c.scale) for c in ledger.cards],
        "proved": proved, "pools": pools,
    }  # fmt: skip
    return msgspec.json.encode(content, enc_hook=str).decode()


def _program(desk: Desk) -> dict[str, Any]:
    """The program without wishes and without a limit on terms: sessions of one program compare."""
    return plain_statement(desk.bench.program(Question()))


def _read(desk: Desk, text: str | bytes) -> _Session:
    """A session of this desk's data and options; DataError for any other."""
    read: _Session = parsed(text, _Session, "the session")
    if (read.kind, read.version) != (KIND, VERSION):
        raise DataError(f"this is not a session of the studio: {read.kind[:40]} {read.version}")
    if read.fingerprint != desk.bench.design.fingerprint:
        raise DataError("the session is of other data: open the studio on its own table")
    if read.program != _program(desk):
        raise DataError("the session was saved under other options: open the studio with these")
    columns, listed = len(desk.design.names), [k for pool in read.pools for k in pool.cards]
    listed += [each.card for each in read.proved if each.card is not None]
    sizes = {len(points) for points in (read.sheet.points, *(card[0] for card in read.cards))}
    places = set(read.sheet.locked) <= set(range(columns))
    if sizes != {columns} or not places or not set(listed) <= set(range(len(read.cards))):
        raise DataError("the session is damaged: its cards have other columns than the table")
    return read


def open_session(desk: Desk, text: str | bytes) -> None:
    """Take over a session, as one edit that can be undone; cards are recomputed from the rows."""
    read = _read(desk, text)
    cards = [Card(np.array(points), b, scale) for points, b, scale in read.cards]
    answers = [_answer(desk, each, cards) for each in read.proved]
    shelves = [
        Shelf(
            each.question(),
            tuple(cards[k] for k in each.cards),
            math.inf if each.complete_up_to is None else each.complete_up_to,
        )
        for each in read.pools
    ]
    sheet = read.sheet
    desk.put(
        Sheet(
            sheet.points, sheet.max_terms, sheet.threshold, frozenset(sheet.locked),
            tuple(sheet.forbidden), tuple(sheet.demanded), sheet.question().rules,
        )
    )  # fmt: skip
    desk.ledger.add(cards, desk.bench.statement(desk.free))
    for question, result in answers:
        desk.learn(question, result)
    for shelf in shelves:
        desk.learn(shelf.question, shelf)


def _answer(desk: Desk, read: _Proved, cards: list[Card]) -> tuple[Question, Result]:
    """The answer to a question, its card recomputed; the bound is the file's."""
    question, bound = read.question(), math.inf if read.bound is None else read.bound
    made: dict[str, Any] = {"objective": math.nan, "verified": False}
    if read.card is not None:
        statement = desk.bench.statement(question)
        found = evaluate(statement, cards[read.card])
        made = found.fields(statement, cards[read.card])
        if not found.feasible:
            raise DataError("the session is damaged: a card does not obey the wishes it answers")
    none = read.card is None and read.termination is Termination.INFEASIBLE
    if bound > made["objective"] * (1 + 1e-9) or (bound == math.inf) != none:
        raise DataError("the session is damaged: a bound lies above a card")
    result = Result(
        formulation=desk.bench.formulation, kind="exact", termination=read.termination,
        claim=claim_of(read.card is not None, made["objective"], bound, 0.0),
        dual_bound=-math.inf if none else bound,
        bound_source="outside (session)", solver=read.solver, solver_version=read.solver_version,
        random_state=read.random_state, **made,
    )  # fmt: skip
    return question, result
