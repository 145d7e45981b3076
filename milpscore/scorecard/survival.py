"""A card of times to an event: one total, and the risk at stated times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from msgspec import Struct

from milpscore.core.card import Card
from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError, NotApplicableError, OptionError
from milpscore.core.program import Program
from milpscore.core.result import Result
from milpscore.core.statement import Statement
from milpscore.data.survival import SurvivalDesign
from milpscore.formulations import BEYOND
from milpscore.losses.hazards import ExposureKind, Intervals, SurvivalLoss
from milpscore.scorecard._card import Scorecard
from milpscore.scorecard.certified import allowed_cards, with_coprime_points, with_least_zero
from milpscore.scorecard.policy import POLICY
from milpscore.scorecard.rendering import number, reading_sentences
from milpscore.scorecard.totals import Table, TotalsCard, TotalsFile, proof_sentence
from milpscore.verify.cards import mean_loss

if TYPE_CHECKING:
    from milpscore.scorecard._calculator import Decisions


@dataclass(frozen=True)
class TotalGroup:
    """Training rows of some totals: what the card states of them, and what was seen.

    Attributes
    ----------
    least, most : float
        The ends of the totals.
    rows, events : int
    stated : tuple of float
        The mean of the rows' risks at each stated time.
    observed : tuple of float
        One minus the Kaplan-Meier estimate of the rows at each stated time; NaN beyond the last
        time any of them was seen.
    """

    least: float
    most: float
    rows: int
    events: int
    stated: tuple[float, ...]
    observed: tuple[float, ...]


class _GroupFile(Struct, forbid_unknown_fields=True):
    """A group in a survival card's file."""

    least: float
    most: float
    rows: int
    events: int
    stated: tuple[float, ...]
    observed: tuple[float | None, ...]


class _SurvivalFile(TotalsFile, forbid_unknown_fields=True):
    """A survival card's file."""

    scale: float
    cuts: tuple[float, ...]
    hazard: tuple[float, ...]
    exposure: ExposureKind
    times: tuple[float, ...]
    groups: tuple[_GroupFile, ...]


@dataclass(frozen=True, repr=False)
class SurvivalCard(TotalsCard):
    """Points for features, and the risk of an event by a time.

    The risk at time t of a total T is ``1 - exp(-H(t) exp(T / scale))``; in discrete time it is
    ``1 - prod_k 1 / (1 + h_k exp(T / scale))`` over the intervals that end by t. A higher total
    means an earlier event.

    Attributes
    ----------
    card : Scorecard
        The points; its threshold means nothing.
    scale : float
        Points of the printed card in one unit of the log of the hazard.
    cuts : tuple of float
        Ends of the intervals of time.
    hazard : tuple of float
        The hazard of a printed total of 0 accumulated up to each cut; in discrete time its odds of
        an event in each interval.
    kind : {"time", "at_risk", "discrete"}
        Whether it rises evenly within an interval or at its end, or time is discrete.
    times : tuple of float
        The times at which risks are printed.
    observed : tuple of TotalGroup
        The training rows by their totals.

    Raises
    ------
    DataError
        The parts do not fit together.
    """

    file_kind: ClassVar[str] = "milpscore.survival_card"
    named: ClassVar[str] = "a survival card"
    file: ClassVar[type[TotalsFile]] = _SurvivalFile

    scale: float
    cuts: tuple[float, ...]
    hazard: tuple[float, ...]
    kind: ExposureKind
    times: tuple[float, ...]
    observed: tuple[TotalGroup, ...] = ()

    def __post_init__(self) -> None:
        cuts, hazard = np.array(self.cuts), np.array(self.hazard)
        rising = len(cuts) == len(hazard) > 0 and (np.diff(cuts) > 0).all() and cuts[0] > 0
        summed = np.cumsum(hazard) if self.kind == "discrete" else hazard
        if not (rising and hazard.min() >= 0 and (np.diff(summed) >= 0).all() and self.scale > 0):
            raise DataError(
                "a survival card needs ascending cuts, as many accumulated hazards and a scale > 0"
            )
        if not self.times or not all(0 < time <= self.cuts[-1] for time in self.times):
            raise DataError(
                f"risks can be stated at times above 0 and up to {self.cuts[-1]:g}, "
                f"not at {list(self.times)}"
            )

    def accumulated(self, times: FloatArray, totals: FloatArray | float = 0.0) -> FloatArray:
        """Return minus the log of the probability of no event by each time, (n, len(times))."""
        with np.errstate(over="ignore", invalid="ignore"):
            grown = np.exp(np.atleast_1d(totals).astype(np.float64) / self.scale)[:, None]
            if self.kind == "time":
                ends, heights = np.append(0.0, self.cuts), np.append(0.0, self.hazard)
                power = np.interp(times, ends, heights) * grown
            else:
                steps = np.array(self.hazard) * grown
                if self.kind == "discrete":
                    steps = np.cumsum(np.log1p(steps), axis=1)
                before = np.searchsorted(self.cuts, times, side="right")
                power = np.column_stack([np.zeros(len(grown)), steps])[:, before]
        return np.asarray(np.nan_to_num(power, nan=0.0, posinf=np.inf))

    def risks(self, totals: FloatArray, at: Sequence[float] | None = None) -> FloatArray:
        """Return the probability of an event by each time, shape (n, number of times).

        Parameters
        ----------
        totals : array of shape (n,)
            Of :meth:`score`.
        at : sequence of float, optional
            Times, by default those of the card; at least 0 and up to the last cut.

        Raises
        ------
        OptionError
            A time lies beyond the last cut: the data say nothing of it.
        """
        asked = np.asarray(self.times if at is None else at, dtype=np.float64)
        if not ((asked >= 0) & (asked <= self.cuts[-1])).all():
            raise OptionError(
                f"the card knows risks at times from 0 to {self.cuts[-1]:g}, where the last event "
                "was seen"
            )
        return np.asarray(-np.expm1(-self.accumulated(asked, totals)))

    def __repr__(self) -> str:
        """Title and size; :meth:`to_text` shows the card."""
        times = ", ".join(map(number, self.times))
        return f"<SurvivalCard {self.card.title!r}: risks at {times}>"

    def tables(self) -> list[Table]:
        """Return the stated and observed risks of each group of totals."""
        return [("Risk of an event by total", self.table)]

    def to_sql(
        self,
        table: str | Sequence[str] = "data",
        dialect: str = "ansi",
        keys: Sequence[str] = (),
        unseen: Literal["null", "zero"] = "null",
    ) -> str:
        """One SELECT that computes ``total`` and ``risk_1``, ``risk_2``, ... at the stated times.

        Arguments as for :meth:`milpscore.Scorecard.to_sql`.
        """
        from milpscore.scorecard._export import survival_sql

        risks = [*zip(self.times, self._steps, strict=True)]
        odds = self.kind == "discrete"
        return survival_sql(self.card, table, dialect, keys, unseen, self.scale, risks, odds)

    @property
    def _steps(self) -> list[tuple[float, ...]]:
        """What the risk of a total of 0 is made of by each stated time: hazards, or odds."""
        if self.kind == "discrete":
            ends = np.searchsorted(self.cuts, self.times, side="right").tolist()
            return [self.hazard[:end] for end in ends]
        return [(each,) for each in self.accumulated(np.array(self.times))[0].tolist()]

    @property
    def _decisions(self) -> Decisions:
        """The risks as forms that add up need them."""
        from milpscore.scorecard._calculator import Decisions, StatedRisks

        names = tuple(f"Risk by {number(time)}" for time in self.times)
        stated = StatedRisks(self.scale, self.kind == "discrete", names, tuple(self._steps))
        return Decisions((), (), tuple(self.sentences), stated)

    @property
    def table(self) -> list[list[str]]:
        """Stated and observed risks of each group of totals as text, under a head."""
        at = [number(time) for time in self.times]
        head = ["Total", "Rows", "Events"]
        head += [text for time in at for text in (f"risk by {time}", "seen")]
        rows = []
        for group in self.observed:
            ends = number(group.least), number(group.most)
            cells = [ends[0] if ends[0] == ends[1] else " to ".join(ends)]
            cells += [str(group.rows), str(group.events)]
            for stated, seen in zip(group.stated, group.observed, strict=True):
                cells += [_percent(stated), "" if np.isnan(seen) else _percent(seen)]
            rows.append(cells)
        return [head, *rows]

    @property
    def sentences(self) -> list[str]:
        """How the card is read, and what is known of it."""
        known = self.card.certificate
        merged = ", their times merged within the cuts" if known.get("merged_times") else ""
        said = [
            *reading_sentences(self.card),
            "A higher total means an earlier event. 'seen' is the share with an event by then, as "
            f"Kaplan and Meier estimate it of the rows with these totals{merged}.",
        ]
        if "objective" not in known:
            return said
        scale, bound, kind = known["allowed"]["scale"], known["bound"], ""
        if bound is not None and scale == "any":
            bound -= BEYOND  # what scales beyond the range searched may gain
        if isinstance(scale, list) and scale[0] < scale[1]:
            low, high = (end / self.card.divisor for end in scale)
            kind = f", its scale from {number(low)} to {number(high)} points,"
        few = known["events"] < POLICY.events_per_line * known["lines"]
        events = "1 event" if known["events"] == 1 else f"{known['events']} events"
        warned = (
            [f"Only {events} for {known['lines']} line{'s' * (known['lines'] > 1)}: "
             f"fewer than {POLICY.events_per_line} each; "
             f"{max(1, known['events'] // POLICY.events_per_line)} would be right."]
            if few else []
        )  # fmt: skip
        return [
            *said,
            f"Made from {known['n_rows']} rows with {events}.",
            *warned,
            proof_sentence(known, bound, kind),
        ]

    def _content(self) -> dict[str, Any]:
        return {
            "scale": self.scale,
            "cuts": self.cuts,
            "hazard": self.hazard,
            "exposure": self.kind,
            "times": self.times,
            "groups": [
                {**vars(each), "observed": [None if np.isnan(o) else o for o in each.observed]}
                for each in self.observed
            ],
        }

    @classmethod
    def _of(cls, card: Scorecard, found: Any) -> Self:
        groups = tuple(
            TotalGroup(
                each.least, each.most, each.rows, each.events, each.stated,
                tuple(np.nan if seen is None else seen for seen in each.observed),
            )
            for each in found.groups
        )  # fmt: skip
        return cls(card, found.scale, found.cuts, found.hazard, found.exposure, found.times, groups)


def _percent(risk: float) -> str:
    """Return a risk as it is printed: in whole per cents, but near 0 and short of 1."""
    near = risk < 0.0995 or 0.99 < risk < 1.0
    return f"{risk:.1%}" if near else f"{risk:.0%}"


def kaplan_meier(
    time: FloatArray, event: Any, entry: FloatArray, weight: FloatArray, at: Sequence[float]
) -> FloatArray:
    """Return the share of rows without an event by each time; NaN after the last time seen.

    Parameters
    ----------
    time, event, entry, weight : arrays of shape (n,)
    at : sequence of float

    Returns
    -------
    ndarray of shape (len(at),)

    References
    ----------
    Kaplan & Meier, "Nonparametric estimation from incomplete observations", JASA 53 (1958), with
    rows at risk from their entry on.
    """
    ends = np.unique(time[event])
    order, begun = np.argsort(time), np.argsort(entry)
    left = np.append(0.0, np.cumsum(weight[order]))[np.searchsorted(time[order], ends)]
    came = np.append(0.0, np.cumsum(weight[begun]))[np.searchsorted(entry[begun], ends)]
    dead = np.bincount(np.searchsorted(ends, time[event]), weight[event], len(ends))
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.append(1.0, np.cumprod(1.0 - dead / (came - left)))
    asked = np.asarray(at, dtype=np.float64)
    found = steps[np.searchsorted(ends, asked, side="right")]
    return np.where(asked <= time.max(initial=0.0), found, np.nan)


def survival_card(
    program: Program,
    result: Result,
    title: str = "Scorecard",
    *,
    at: Sequence[float] | None = None,
) -> SurvivalCard:
    """The card of a solved survival score, with its risks beside what was seen.

    Parameters
    ----------
    program : Program
        Of :func:`milpscore.formulations.survival_score`.
    result : Result
    title : str
    at : sequence of float, optional
        The times at which risks are stated; by default round ones near the cuts that a quarter,
        half and three quarters of the cuts lie at or before, and these cuts in discrete time.

    Returns
    -------
    SurvivalCard

    Raises
    ------
    NotApplicableError
        The program is another one, or the result has no card.
    DataError
        A time is not above 0, or beyond the last event.
    """
    statement = program.statement
    design, loss = statement.design, statement.loss
    if not isinstance(loss, SurvivalLoss) or not isinstance(design, SurvivalDesign):
        raise NotApplicableError(
            f"{program.formulation} knows no times: state the program with survival_score"
        )
    if (found := result.card) is None:
        raise NotApplicableError(f"the result has no card to show: {result.message}")
    made = timed_card(statement, found, title, at)
    card, counted = made.card, design.weight > 0
    certificate = {
        **result.summary(),
        "terms": card.terms,
        "n_rows": int(design.rows[counted].sum()),
        "events": int(design.rows[design.event & counted].sum()),
        **({} if design.cuts is None else {"merged_times": True}),
        "equal_rows": design.equal_rows,
        "lines": int(np.count_nonzero(card.points)),
        "allowed": allowed_cards(statement, found.scale, result.dual_bound),
        "constraints": [each.as_mapping() for each in statement.constraints],
        "loss_name": statement.loss.name,
        "loss_without_points": mean_loss(statement, statement.empty_card())[0],
    }
    return replace(made, card=replace(card, certificate=certificate))


def timed_card(
    statement: Statement, found: Card, title: str, at: Sequence[float] | None = None
) -> SurvivalCard:
    """Return a card of a statement over times, of which nothing is claimed."""
    design, scaled = statement.design, statement.loss_of(found)
    assert isinstance(scaled, SurvivalLoss)
    assert isinstance(design, SurvivalDesign)
    base, intervals = scaled.base, scaled.base.intervals
    card = Scorecard.from_card(found, design, title=title)
    card = with_coprime_points(with_least_zero(card, statement), statement)
    scale = scaled.fixed / card.divisor
    # the baseline of the fit is that of its own totals; printed ones are moved by the base points
    scores = (design.X @ found.coefficients.astype(np.float64)) / scaled.fixed
    rates = base.raw.baseline(scores)
    length = np.diff(np.append(0.0, intervals.cuts)) if intervals.kind == "time" else 1.0
    hazard = rates * length / intervals.unit * np.exp(-sum(card.base_points.values()) / scale)
    if intervals.kind != "discrete":
        hazard = np.cumsum(hazard * float(design.weight.sum()))
    times = _times_near(intervals) if at is None else tuple(map(float, at))
    made = SurvivalCard(
        card, float(scale), tuple(intervals.cuts.tolist()), tuple(hazard.tolist()), intervals.kind,
        times,
    )  # fmt: skip
    return replace(made, observed=_groups(made, design))


def _times_near(intervals: Intervals) -> tuple[float, ...]:
    """Return times of two digits near the quarters of the cuts; in discrete time these cuts."""
    cuts = intervals.cuts
    near = cuts[np.ceil(np.array([0.25, 0.5, 0.75]) * len(cuts)).astype(np.int64) - 1].tolist()
    if intervals.kind != "discrete":  # else an interval may end just after a round time
        near = [min(float(f"{time:.2g}"), float(cuts[-1])) for time in near]
    return tuple(sorted({*near}))


def _groups(card: SurvivalCard, design: SurvivalDesign) -> tuple[TotalGroup, ...]:
    """Return the rows by their totals: each by itself where they are few, else ranges of them."""
    counted = design.weight > 0
    totals, weight = card.card.score_design(design.X)[counted], design.weight[counted]
    time, event, entry, rows = (
        part[counted] for part in (design.time, design.event, design.entry, design.rows)
    )
    risks, distinct = card.risks(totals), np.unique(totals)
    if len(distinct) <= POLICY.most_totals:
        place = np.searchsorted(distinct, totals)
    else:  # as many rows each as whole totals allow
        edges = np.unique(
            np.quantile(totals, np.arange(1, POLICY.most_ranges) / POLICY.most_ranges)
        )
        place = np.searchsorted(edges, totals, side="left")
    groups = []
    for k in np.unique(place).tolist():
        own = place == k
        seen = kaplan_meier(time[own], event[own], entry[own], weight[own], card.times)
        groups.append(
            TotalGroup(
                float(totals[own].min()), float(totals[own].max()), int(rows[own].sum()),
                int(rows[own & event].sum()),
                tuple(np.average(risks[own], 0, weight[own]).tolist()),
                tuple((1.0 - seen).tolist()),
            )
        )  # fmt: skip
    return tuple(groups)
