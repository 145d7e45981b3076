"""From which total a card answers positive, where that is not what the fit itself answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from milpscore.core.card import DecisionRule, TotalCuts
from milpscore.core.design import Design, FloatArray, IntArray, as_fraction
from milpscore.core.errors import Message, OptionError
from milpscore.scorecard.rendering import attainable_totals, number

if TYPE_CHECKING:
    from milpscore.scorecard._card import Scorecard

RARE = 0.25
"""A class of at most this share is rare."""

RISK_ROUNDING = 1e-9
"""What a risk may fall short by: one that was rounded to be typed must not lose its total."""

DEFAULT = "prevalence"
"""The decision of a card of risks for which no rule was given."""

Flags = npt.NDArray[np.bool_]

_HOW = (
    "use youden, prevalence, cost=10:1 (of a positive missed to one found in error), "
    "net-benefit=10% (the risk from which one would act) or net-benefit (from the share of "
    "positives)"
)


class DecisionBy(NamedTuple):
    """A rule for the decision: its name, its words, and the risk from which one would act."""

    name: str
    words: str
    risk: float | None = None

    @classmethod
    def of(cls, given: Any) -> DecisionBy:
        """The rule as people write it; OptionError for another."""
        name, _, value = str(given).lower().replace("_", "-").partition("=")
        try:
            if name == "youden" and not value:
                return cls(name, "Youden's index")
            if name in ("prevalence", "net-benefit") and not value:
                return cls("prevalence", "a risk of at least the share of positives")
            if name == "cost":
                missed, alarm = map(float, value.split(":"))
                if math.isfinite(missed + alarm) and min(missed, alarm) > 0:
                    words = f"a cost of {number(missed)} for a positive missed and {number(alarm)}"
                    return cls(name, f"{words} for one found in error", alarm / (missed + alarm))
            if name == "net-benefit":
                risk = float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
                if 0 < risk < 1:
                    return cls(name, f"the net benefit of acting from a risk of {risk:.3g}", risk)
        except ValueError:
            pass  # said below as for any other text
        raise OptionError(f"{{threshold_by}}; {_HOW}", threshold_by=given)


def with_decision(card: Scorecard, given: Any, design: Design, limited: bool = False) -> Scorecard:
    """The card with the decision a rule chooses on the rows of a design; points and risks stay.

    A card that knows risks answers positive from the first total with the risk from which one
    would act; one that only decides, from the total of least cost on these rows. Without a rule a
    card of risks takes :data:`DEFAULT`, for a calibrated card the cut of the largest Youden index;
    any other keeps the decision of its fit, as does one made within limits on answers: no other is
    known to keep to them.
    """
    counted = design.weight > 0
    totals, weight = card.score_design(design.X)[counted], design.weight[counted]
    positive: Flags = design.y[counted] > 0
    if given is None and (limited or card.risk is None or not any(card.points)):
        answered = card.rule.positive(totals)
        figures = decision_figures(answered, positive, weight)
        return _with_entries(card, decision={"by": "the fit", **figures})
    by = DecisionBy.of(DEFAULT if given is None else given)
    risk = by.risk
    if by.name == "prevalence":
        risk = float(weight[positive].sum() / weight.sum())
    if risk is not None and card.risk is not None:
        chosen = _first_of_risk(card, risk, totals)
    else:
        chosen = _best(card, totals, positive, weight, risk)
    return with_cut(card, chosen, by.words, design)


def with_cut(card: Scorecard, cut: Fraction, by: str, design: Design) -> Scorecard:
    """The card with a total chosen from which it answers positive, and what that gives."""
    counted = design.weight > 0
    made = replace(card, threshold=cut, fitted_threshold=card.fitted_rule.threshold)
    answered = made.rule.positive(card.score_design(design.X)[counted])
    positive: Flags = design.y[counted] > 0
    return _with_entries(
        made,
        errors=int(design.rows[counted][answered != positive].sum()),
        decision={"by": by, **decision_figures(answered, positive, design.weight[counted])},
    )


def decision_figures(answered: Flags, positive: Flags, weight: FloatArray) -> dict[str, float]:
    """Sensitivity and specificity of answers, NaN-free: 0 without rows of a class."""
    return {
        name: float(
            (weight * own * (answered == positive)).sum() / max((weight * own).sum(), 1e-300)
        )
        for name, own in (("sensitivity", positive), ("specificity", ~positive))
    }


def _with_entries(card: Scorecard, **entries: Any) -> Scorecard:
    """The card with entries in its certificate."""
    return replace(card, certificate={**card.certificate, **entries})


def decided_by_default(card: Scorecard) -> bool:
    """Whether a card's decision was chosen by :data:`DEFAULT`."""
    return bool(card.certificate.get("decision", {}).get("by") == DecisionBy.of(DEFAULT).words)


def is_rare(design: Design) -> bool:
    """Whether one class has at most :data:`RARE` of the weight."""
    share = design.weight[design.y > 0].sum() / design.weight.sum()
    return bool(min(share, 1 - share) <= RARE)


def one_answer(points: Sequence[int] | IntArray, rule: DecisionRule, design: Design) -> Message:
    """What to do about a card that answers alike though one class is rare; empty for others."""
    share = design.weight[design.y > 0].sum() / design.weight.sum()
    if not is_rare(design):
        return Message("")
    used, counted = np.flatnonzero(points), design.weight > 0
    totals = rule.totals(design.X[:, used], np.asarray(points)[used])
    answered = rule.positive(totals[counted])
    if answered.any() and not answered.all():
        return Message("")
    label, other = (design.classes[k] for k in (int(answered[0]), 1 - int(answered[0])))
    found = (
        f"the card answers {label!r} for every row, though {abs(answered[0] - share):.1%} of "
        f"them are {other!r}"
    )
    if not len(used):
        return Message(
            f"{found}, as it has no points: let both classes weigh the same by {{class_weight}}, "
            "or give it other columns",
            class_weight="balanced",
        )
    return Message(
        f"{found}: choose from which total the answer is positive, say by {{threshold_by}}, or let "
        "both classes weigh the same by {class_weight}",
        threshold_by="youden",
        class_weight="balanced",
    )


def _first_of_risk(card: Scorecard, risk: float, totals: FloatArray) -> Fraction:
    """The first total a row can have whose risk reaches one; above all of them where none does."""
    known = np.array(attainable_totals(card) or np.unique(totals), dtype=np.float64)
    reached = known[card.risks(known) >= risk - RISK_ROUNDING]
    return as_fraction(float(reached[0])) if len(reached) else _above(card, known)


def _best(
    card: Scorecard, totals: FloatArray, positive: Flags, weight: FloatArray, risk: float | None
) -> Fraction:
    """The total with the greatest Youden's index, or the least cost; the lowest of equal ones."""
    cuts = TotalCuts.of(totals)
    true, false = cuts.above(weight * positive), cuts.above(weight * ~positive)
    if risk is None:
        gain = true / max(true[0], 1e-300) - false / max(false[0], 1e-300)
    else:
        gain = (1 - risk) * true - risk * false
    best = int(np.flatnonzero(gain >= gain.max() - 1e-12 * max(1.0, abs(gain).max()))[0])
    known = cuts.distinct
    return as_fraction(float(known[best])) if best < len(known) else _above(card, known)


def _above(card: Scorecard, totals: FloatArray) -> Fraction:
    """A total no row has."""
    return as_fraction(float(totals[-1])) + (card.rule.step or 1)
