"""What a certificate proves on the given data, in words derived from its bound."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from milpscore.certificate import Verification
from milpscore.core.design import FloatArray, common_step
from milpscore.core.errors import listing
from milpscore.core.result import CLAIM_TOLERANCE, claim_of, relative_gap
from milpscore.report.subject import Subject
from milpscore.scorecard.rendering import finite, number, printable, rounded_down, signed
from milpscore.verify import evaluate

Standing = Literal["optimal", "gap", "feasible", "none", "other data", "contradicted"]

_AGREE = 1e-9
"""Recorded and recomputed figures may differ by so much, relatively."""


@dataclass(frozen=True)
class Proof:
    """What is known of better cards."""

    standing: Standing
    headline: str
    own: str = ""
    sentences: tuple[str, ...] = ()  # what stands below the headline, after ``own``

    @property
    def warns(self) -> bool:
        """Whether nothing is claimed because something speaks against it."""
        return self.standing in ("other data", "contradicted")


@dataclass(frozen=True)
class Least:
    """The least weight of errors that a bound leaves."""

    amount: Fraction
    in_rows: bool

    @property
    def refusal(self) -> str:
        """What no card does, as a verb with its object."""
        figure = number(float(self.amount))
        if not self.in_rows:
            return f"makes errors that weigh less than {figure} in all"
        return f"makes fewer than {figure} error{'' if self.amount == 1 else 's'}"


def least_errors(share: float, weight: FloatArray, slack: float = CLAIM_TOLERANCE) -> Least:
    """The errors that a card must make whose mean 0-1 loss is at least ``share``."""
    counted = weight[weight > 0]
    alike = bool(np.ptp(counted) == 0)
    total = float(len(counted)) if alike else math.fsum(counted)
    needed = (share - slack) * total
    unit = Fraction(1) if alike else common_step(counted[:, None])
    if needed <= 0:
        return Least(Fraction(0), alike)
    if unit is None:
        return Least(Fraction(rounded_down(needed)), alike)
    return Least(math.ceil(needed / float(unit)) * unit, alike)


def proof_of(subject: Subject, verification: Verification | None = None) -> Proof:
    """What is proved of the card, checked against the data where it can be."""
    record = subject.record
    if not record or record.get("claim") is None:
        return Proof("none", "This card carries no certificate: nothing is known of better cards.")
    if not subject.same_data:
        return _other_data(subject)
    against = _contradiction(subject, verification)
    if against:
        return Proof(
            "contradicted",
            "The certificate is not to be believed: nothing is claimed for this card.",
            sentences=(f"Why: {against}.",),
        )
    objective, bound = float(record["objective"]), finite(record.get("bound"))
    claim = str(claim_of(True, objective, -math.inf if bound is None else bound, trivial=0.0))
    rest = _rest(subject, verification, bound)
    if claim == "feasible" or bound is None:
        own = _this_card(subject)
        return Proof("feasible", f"{own} Nothing is proved about better cards.", sentences=rest)
    proved = _errors_proved(subject, bound) if _loss_name(subject) == "zero_one" else []
    own = _this_card(subject)
    if not proved:
        proved, own = [_objective_proved(subject, bound)], f"This card has {objective:.6g}."
    if claim == "optimal":
        headline, *more = (f"{each}: proved." for each in proved)
        return Proof("optimal", headline, own, (*more, *rest))
    headline = f"{proved[0]}: so much is proved, and no more."
    more = [f"{each}: proved too." for each in proved[1:]]
    distance = (
        "Whether a better card exists is not known: with its penalty this card has a loss of "
        f"{objective:.6g}, and the bound is {rounded_down(bound)} (gap "
        f"{relative_gap(objective, bound):.1%})."
    )
    return Proof("gap", headline, own, (*more, distance, *rest))


# ---------------------------------------------------------------- what speaks against it


def _other_data(subject: Subject) -> Proof:
    """The data are not the card's, or cannot be told to be."""
    head = "These are not the data the card was certified on"
    if subject.same_data is None:
        head = "These are not known to be the data the card was certified on"
        why = "The card does not name the data it was certified on."
    elif subject.absent:
        absent = listing(map(printable, subject.absent))
        why = f"These data lack columns the card was made from: {absent}."
    else:
        why = "The fingerprint of these data is not the one on the card."
    return Proof(
        "other data",
        f"{head}: its certificate is not claimed for them.",
        sentences=(why, "Every figure on this page was computed from the data given here."),
    )


def _contradiction(subject: Subject, verification: Verification | None) -> str:
    """What disproves the certificate on its own data; empty where nothing does."""
    record = subject.record
    if subject.broken:
        return subject.broken
    for part in verification.parts if verification else ():
        if part.status == "refuted":
            return f"{part.name}: {part.sentence}"
    figures = {name: finite(record.get(name)) for name in ("objective", "loss", "penalty")}
    if any(value is None or value < 0 for value in figures.values()):
        return "it states no objective, loss or penalty"
    objective, loss, penalty = (float(value or 0.0) for value in figures.values())
    for name, said, true in (
        *_recomputed(subject, loss, penalty),
        ("objective", objective, loss + penalty),
    ):
        if not abs(said - true) <= _AGREE * max(1.0, abs(true)):
            return f"the {name} it records is {said:.9g}, on these data it is {true:.9g}"
    bound = finite(record.get("bound"))
    if bound is not None and bound > objective + CLAIM_TOLERANCE * max(1.0, abs(objective)):
        return f"its bound {bound:.9g} lies above the card's own objective {objective:.9g}"
    broken = () if subject.statement is None else subject.statement.violations(subject.card.card)
    return f"the statement does not allow the card ({broken[0]})" if broken else ""


def _recomputed(subject: Subject, loss: float, penalty: float) -> list[tuple[str, float, float]]:
    """(name, recorded, recomputed) of what the data tell."""
    if subject.statement is not None:
        found = evaluate(subject.statement, subject.card.card)
        return [("loss", loss, found.loss), ("penalty", penalty, found.penalty)]
    if _loss_name(subject) == "zero_one" and subject.card.rule.step is not None:
        weight = subject.design.weight
        return [("loss", loss, math.fsum(weight[subject.wrong]) / math.fsum(weight))]
    return []


# ---------------------------------------------------------------- what is proved


def _errors_proved(subject: Subject, bound: float) -> list[str]:
    """What no card does, without a full stop; empty where the bound leaves no errors at all.

    A card's loss is its objective without its penalty, so a bound on objectives leaves every card
    at least the bound minus the most penalty any card may have; and every card that pays no more
    penalty than this one at least the bound minus this one's.
    """
    weight = subject.design.weight
    allowed, own = subject.allowed, float(subject.record["penalty"])
    most = None if allowed is None else allowed.get("most_penalty")
    none, here = f"No card {_kind(subject)}", " on these data"
    like = least_errors(bound - own, weight)
    every = None if most is None else least_errors(bound - float(most), weight)
    proved = []
    if every is not None and every.amount > 0:
        proved.append(f"{none} {every.refusal}{here}")
    if like.amount > 0 and (every is None or like.amount > every.amount):
        cards, where = ("None", "") if proved else (none, here)
        proved.append(f"{cards} that pays no more penalty than this one {like.refusal}{where}")
    return proved


def _objective_proved(subject: Subject, bound: float) -> str:
    """What objective no card has, without a full stop."""
    name = _loss_name(subject)
    loss = f"mean {printable(name.replace('_', ' '))} loss" if name else "loss"
    what = f"a {loss} plus penalty" if subject.record.get("penalty") else f"a {loss}"
    return f"No card {_kind(subject)} has {what} below {rounded_down(bound)} on these data"


def _kind(subject: Subject) -> str:
    """Which cards a bound speaks of, as the words after "No card"."""
    allowed = subject.allowed
    formulation = printable(str(subject.record.get("formulation", ""))).replace("_", "-")
    if allowed is None:
        return f"that the program {formulation!r} allowed (its limits are not in the card's file)"
    parts = []
    if allowed.get("max_terms") is not None:
        limit, card = int(allowed["max_terms"]), subject.card
        single = len(card.features) == len(card.columns)  # a feature is a column
        word = ("term" if single else "column") + ("" if limit == 1 else "s")
        parts.append(f"at most {limit} {word}{'' if single else ' with points'}")
    low, high = int(allowed["coef_min"]), int(allowed["coef_max"])
    parts.append(signed(f"points in {low}..{high}"))
    if not allowed.get("uniform", True):
        parts[-1] += " (some columns narrower)"
    if allowed.get("constraints"):
        count = int(allowed["constraints"])
        parts.append(f"the {count} constraint{'' if count == 1 else 's'} asked for")
    return "with " + (
        " and ".join(parts) if len(parts) < 3 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    )


def _this_card(subject: Subject) -> str:
    """The card's own errors, counted on the data."""
    wrong, counted = int(subject.wrong.sum()), int(subject.counted.sum())
    said = f"This card makes {wrong} error{'' if wrong == 1 else 's'} in {counted} rows"
    if subject.weighted:
        weight = subject.design.weight
        said += f", of weight {number(math.fsum(weight[subject.wrong]))} in "
        said += number(math.fsum(weight))
    return said + "."


def _rest(
    subject: Subject, verification: Verification | None, bound: float | None
) -> tuple[str, ...]:
    """Where the bound holds, whose it is, and how to prove it again."""
    record: Mapping[str, Any] = subject.record
    said = []
    caveat = record.get("caveat")
    if caveat and bound is not None:
        said.append(f"The bound holds {printable(str(caveat)).rstrip('.')}.")
    fingerprint = "These data have the card's fingerprint"
    if _recomputed(subject, 0.0, 0.0):
        said.append(f"{fingerprint}, and the card's loss was computed again on them.")
    else:
        said.append(
            f"{fingerprint}; what the card's file says of its loss was taken as it stands: the "
            "certificate is needed to compute it again."
        )
    if bound is None:
        return tuple(said)
    solver = f"the solver {printable(str(record.get('solver') or ''))!r}"
    if verification is not None and verification.proved:
        said.append(f"The bound, found by {solver}, was proved again for this page.")
    elif verification is not None:
        failed = ", ".join(verification.failed)
        said.append(f"The bound was found by {solver}; proving it again failed at: {failed}.")
    else:
        said.append(
            f"The bound was found by {solver}; it was not proved again for this page "
            "('milpscore verify' does that with the certificate)."
        )
    return tuple(said)


def _loss_name(subject: Subject) -> str:
    """The loss that was minimised; empty where it is not known."""
    return str((subject.allowed or {}).get("loss") or subject.record.get("loss_name") or "")
