"""The card's making again on bootstrap samples: optimism of its figures, and what stays of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from milpscore.core.clock import Clock
from milpscore.core.design import Design
from milpscore.core.errors import MilpscoreError, OptionError, is_whole
from milpscore.core.jit import heeding_interrupts
from milpscore.core.program import Program
from milpscore.fitting import fit_card
from milpscore.report.measures import OF_ANSWERS, Gathered, measured
from milpscore.report.subject import Subject
from milpscore.scorecard import Scorecard, certified_card
from milpscore.solvers.engine import progress_line


@dataclass(frozen=True)
class Refits:
    """What came of making the card again on bootstrap samples of its rows."""

    asked: int
    made: int  # cards
    failed: Mapping[str, int]  # why a sample gave none, and how often
    optimism: Mapping[str, float]  # of each measure, how much better it is where a card was made
    counted: Mapping[str, int]  # cards that have the measure on both sides
    uses: Mapping[str, float]  # share of the cards that give a feature points
    alike: float  # share of the cards with the card's own features
    answers: float  # mean share of the rows that get the card's answer; NaN of a chosen decision
    moved: float  # mean distance of a row's risk from the card's; NaN without risks

    @property
    def interrupted(self) -> bool:
        """Whether there are fewer samples than were asked for."""
        return self.made + sum(self.failed.values()) < self.asked


def why_not(subject: Subject, bootstraps: int) -> str:
    """Why a card cannot be made again, as the end of a sentence; empty where it can."""
    if not is_whole(bootstraps, 0):
        raise OptionError(f"bootstraps must be a whole number >= 0, got {bootstraps!r}")
    if not bootstraps:
        return "no bootstrap was asked for"
    if not subject.same_data:
        return "these are not known to be the rows it was made from"
    if subject.program is None:
        return "the program it was found with is not known: give its certificate"
    if not subject.program.arguments:
        return "its program does not know the arguments it was built with"
    return ""


def refits_of(
    subject: Subject, bootstraps: int, random_state: int, progress: bool | None
) -> Refits:
    """Make the card again on samples of its rows, by fast mode where its program is exact.

    Ctrl-C ends the drawing, and what there is counts.
    """
    program, design, card = subject.program, subject.design, subject.card
    assert program is not None  # see `why_not`
    random = np.random.default_rng(random_state)
    measure = _Measure(subject)
    kept: list[_Kept] = []
    failed: Counter[str] = Counter()
    with progress_line("bootstrap", progress, Clock(0)) as line, heeding_interrupts():
        for k in range(bootstraps):
            line.phase(f"card {k + 1} of {bootstraps}")
            sample = resampled(design, random)
            try:
                kept.append(measure.of(sample, _made(program, sample, random_state)))
            except MilpscoreError as error:
                failed[str(error).partition(";")[0]] += 1
    made = len(kept)
    chosen = card.fitted_threshold is not None  # afterwards, which is not done again
    all_differences = {
        name: np.array([each.differences[name] for each in kept])
        for name in (kept[0].differences if kept else ())
        if not (chosen and name in OF_ANSWERS)
    }
    finite = {name: v[np.isfinite(v)] for name, v in all_differences.items()}
    own = frozenset(feature.name for feature in card.used_features)
    features = Counter(name for each in kept for name in each.features)
    return Refits(
        asked=bootstraps,
        made=made,
        failed=dict(failed),
        optimism={name: float(v.mean()) for name, v in finite.items() if len(v)},
        counted={name: len(v) for name, v in finite.items()},
        uses={name: count / made for name, count in features.items()},
        alike=sum(each.features == own for each in kept) / made if made else math.nan,
        answers=math.nan if chosen or not made else float(np.mean([each.answers for each in kept])),
        moved=float(np.mean([each.moved for each in kept])) if made else math.nan,
    )


def resampled(design: Design, random: np.random.Generator) -> Design:
    """As many rows as there are of positive weight, drawn with replacement and counted."""
    rows = np.where(design.weight > 0, design.rows, 0)
    drawn = random.multinomial(int(rows.sum()), rows / rows.sum())
    there = np.flatnonzero(drawn)
    weight = design.weight[there] / design.rows[there] * drawn[there]
    return Design(
        design.X[there], design.y[there], weight, design.columns, design.blocks, design.classes,
        counts=drawn[there],
    )  # fmt: skip


def _made(program: Program, sample: Design, random_state: int) -> Scorecard:
    """The card of the same program on other rows."""
    arguments: dict[str, Any] = dict(program.arguments)
    again, result = fit_card(
        sample, program.formulation, heuristic=program.kind == "exact", progress=False,
        time_limit=math.inf, random_state=random_state, **arguments,
    )  # fmt: skip
    return certified_card(sample, result, statement=again.statement)


class _Kept(NamedTuple):
    """What is kept of a card that was made again."""

    differences: Mapping[str, float]  # of each measure: on its sample less on all rows
    features: frozenset[str]
    answers: float  # share of the rows that get the card's answer
    moved: float  # mean distance of a row's risk from the card's


class _Measure:
    """Measures cards that were made again, beside the card itself."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        design, card = subject.design, subject.card
        self.weight = design.weight / design.weight.sum()
        self.answer = card.rule.positive(subject.totals)
        self.risk = None if card.risk is None else card.risks(subject.totals)

    def of(self, sample: Design, card: Scorecard) -> _Kept:
        """A card on its sample and on the rows themselves."""
        found = []
        for design in (sample, self.subject.design):
            totals = card.score_design(design.X)
            given = Gathered.of(card, totals, design.y > 0, design.weight, design.rows)
            found.append(measured(given, given.mass[None]))
        seen, true = found
        moved = math.nan
        if self.risk is not None and card.risk is not None:
            moved = float(self.weight @ np.abs(card.risks(totals) - self.risk))
        return _Kept(
            {name: float(seen[name][0] - true[name][0]) for name in seen},
            frozenset(feature.name for feature in card.used_features),
            float(self.weight @ (card.rule.positive(totals) == self.answer)),
            moved,
        )
