"""The card's making again on bootstrap samples: optimism of its figures, and what stays of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from milpscore.core.design import Design, FloatArray
from milpscore.core.errors import OptionError, is_whole
from milpscore.data.checking import as_frame
from milpscore.data.cut_points import Cutting
from milpscore.metrics import SelectionStability, selection_stability
from milpscore.pools.redraws import CardsAgain, redrawn, resampled
from milpscore.scorecard import Scorecard
from milpscore.scorecard.decisions import decided_by_default
from milpscore_show.report.measures import OF_ANSWERS, Gathered, measured
from milpscore_show.report.subject import Subject


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
    stability: SelectionStability  # of the features
    totals: FloatArray  # every total that occurs
    risks: FloatArray  # (made, totals): what each card states for the rows of a total, on average
    anew: bool  # whether each sample was cut anew

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
    """Make the card again on samples of its rows, by fast mode where its program is exact."""
    program, card = subject.program, subject.card
    assert program is not None  # see `why_not`
    cutting = cutting_of(subject)
    drawn = redrawn(
        _Work(subject, CardsAgain.of(program, random_state), cutting), bootstraps,
        random_state=random_state, progress=progress,
    )  # fmt: skip
    kept = drawn.made
    made = len(kept)
    # a decision other than the default one is not chosen again
    chosen = card.fitted_threshold is not None and not decided_by_default(card)
    finite = _finite_differences(kept, chosen)
    own = frozenset(feature.name for feature in card.used_features)
    features = Counter(name for each in kept for name in each.features)
    return Refits(
        asked=bootstraps,
        made=made,
        failed=drawn.failed,
        optimism={name: float(v.mean()) for name, v in finite.items() if len(v)},
        counted={name: len(v) for name, v in finite.items()},
        uses={name: count / made for name, count in features.items()},
        alike=sum(each.features == own for each in kept) / made if made else math.nan,
        answers=math.nan if chosen or not made else float(np.mean([each.answers for each in kept])),
        moved=float(np.mean([each.moved for each in kept])) if made else math.nan,
        stability=selection_stability(
            [[name in each.features for name in features] for each in kept] if made else [[]],
            candidates=len(card.features),
        ),
        totals=np.unique(subject.totals),
        risks=np.array([each.risks for each in kept if each.risks is not None]),
        anew=cutting is not None,
    )


def cutting_of(subject: Subject) -> Cutting | None:
    """How the table was cut, if that is known; None of wishes that speak of single columns."""
    frame, design, program = _features(subject), subject.design, subject.program
    kinds = Counter(column.kind for column in design.columns)
    whole = frame is not None and design.counts is None and len(frame) == len(design.y)
    if not whole or program is None or not kinds["step"] + kinds["interval"]:
        return None
    given = (value for name, value in program.arguments.items() if name != "constraints")
    if program.statement.constraints or not all(
        value is None or isinstance(value, str | float | int | tuple) for value in given
    ):
        return None
    ends = Counter(c.feature for c in design.columns if c.kind in ("step", "interval"))
    encoding: Any = "onehot" if kinds["interval"] else "cumulative"
    weight, most = None if design.equal_rows else design.weight, max(ends.values())
    for bins in ("auto", most + (not kinds["interval"])):
        cutting = Cutting(n_bins=bins, encoding=encoding)
        columns = cutting.learned(as_frame(frame), weight, design.y).columns
        if {column.name for column in columns} == set(design.names):
            return cutting
    return None


def _features(subject: Subject) -> pd.DataFrame | None:
    """The card's features in the table."""
    if subject.raw is None:
        return None
    return subject.raw[[c for c in subject.raw if str(c).strip() in subject.card.features]]


class _Kept(NamedTuple):
    """What is kept of a card that was made again."""

    differences: Mapping[str, float]  # of each measure: on its sample less on all rows
    features: frozenset[str]
    answers: float  # share of the rows that get the card's answer
    moved: float  # mean distance of a row's risk from the card's
    risks: FloatArray | None  # mean risk of the rows of each total of the card; None without risks


class _Work:
    """Makes the card on a sample of the rows, and measures it beside the card itself."""

    def __init__(self, subject: Subject, again: CardsAgain, cutting: Cutting | None) -> None:
        self.subject, self.again, self.cutting = subject, again, cutting
        design, card = subject.design, subject.card
        self.weight = design.weight / design.weight.sum()
        self.answer = card.rule.positive(subject.totals)
        self.risk = None if card.risk is None else card.risks(subject.totals)
        self.frame = _features(subject)
        self.line = np.unique(subject.totals, return_inverse=True)[1]

    def __call__(self, random: np.random.Generator) -> _Kept:
        sample = resampled(self.again.design, random) if self.cutting is None else self.cut(random)
        return self.measured(sample, self.again.card(sample))

    def cut(self, random: np.random.Generator) -> Design:
        """A sample of the table, cut anew."""
        assert self.cutting is not None
        assert self.frame is not None
        design = self.again.design
        drawn = random.multinomial(int(np.sum(there := design.weight > 0)), there / there.sum())
        rows = np.flatnonzero(drawn)
        return self.cutting.design(
            self.frame.iloc[rows], design.y[rows], sample_weight=design.weight[rows] * drawn[rows]
        )

    def measured(self, sample: Design, card: Scorecard) -> _Kept:
        """A card on its sample and on the rows themselves."""
        found = []
        for design in (sample, self.subject.design):
            alike = design.names == sample.names
            totals = card.score_design(design.X) if alike else card.score(self.frame, unseen="zero")
            given = Gathered.of(card, totals, design.y > 0, design.weight, design.rows)
            found.append(measured(given, given.mass[None]))
        seen, true = found
        moved, risks = math.nan, None
        if self.risk is not None and card.risk is not None:
            own = card.risks(totals)
            moved = float(self.weight @ np.abs(own - self.risk))
            mass = np.bincount(self.line, weights=self.weight)
            with np.errstate(invalid="ignore"):  # a total of rows of weight 0 alone has no mean
                risks = np.bincount(self.line, weights=self.weight * own) / mass
        return _Kept(
            {name: float(seen[name][0] - true[name][0]) for name in seen},
            frozenset(feature.name for feature in card.used_features),
            float(self.weight @ (card.rule.positive(totals) == self.answer)),
            moved,
            risks,
        )


def _finite_differences(kept: Sequence[Any], chosen: bool) -> dict[str, FloatArray]:
    """Return differences by measure; of answers none if the decision was chosen afterwards."""
    found = {
        name: np.array([each.differences[name] for each in kept])
        for name in (kept[0].differences if kept else ())
        if not (chosen and name in OF_ANSWERS)
    }
    return {name: values[np.isfinite(values)] for name, values in found.items()}
