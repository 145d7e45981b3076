"""What a certificate proves on the given data, in words derived from its bound."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from milpscore.certificate import Verification
from milpscore.core.errors import listing
from milpscore.core.result import CLAIM_TOLERANCE, claim_of, relative_gap
from milpscore.core.writing import printable
from milpscore.scorecard import claims
from milpscore.scorecard.rendering import finite, number, rounded_down
from milpscore.verify import evaluate
from milpscore_show.report.subject import Subject

Standing = Literal["optimal", "gap", "feasible", "none", "other data", "contradicted"]


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
    proved, in_errors = _proved(subject, bound)
    own = _this_card(subject) if in_errors else f"This card has {objective:.6g}."
    if claim == "optimal":
        headline, *more = (f"{each}: proved." for each in proved)
        return Proof("optimal", headline, own, (*more, *rest))
    headline = f"{proved[0]}: that is proved, and no more."
    more = [f"{each}: proved too." for each in proved[1:]]
    distance = (
        "Whether a better card exists is not known: with its penalty this card has a loss of "
        f"{objective:.6g}, and the bound is {rounded_down(bound)} (gap "
        f"{relative_gap(objective, bound):.1%})."
    )
    return Proof("gap", headline, own, (*more, distance, *rest))


# ---------------------------------------------------------------- what speaks against it


def _other_data(subject: Subject) -> Proof:
    """Return the proof's text if the data are not the card's, or not known to be."""
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
        if not abs(said - true) <= 1e-9 * max(1.0, abs(true)):
            return f"the {name} it records is {said:.9g}, on these data it is {true:.9g}"
    bound = finite(record.get("bound"))
    if bound is not None and bound > objective + CLAIM_TOLERANCE * max(1.0, abs(objective)):
        return f"its bound {bound:.9g} lies above the card's own objective {objective:.9g}"
    broken = () if subject.statement is None else subject.statement.violations(subject.bare)
    return f"the statement does not allow the card ({broken[0]})" if broken else ""


def _recomputed(subject: Subject, loss: float, penalty: float) -> list[tuple[str, float, float]]:
    """(name, recorded, recomputed) of what the data tell."""
    if subject.statement is not None:
        found = evaluate(subject.statement, subject.bare)
        return [("loss", loss, found.loss), ("penalty", penalty, found.penalty)]
    if _counts_errors(subject) and subject.card.rule.step is not None:
        weight = subject.design.weight
        return [("loss", loss, math.fsum(weight[subject.wrong]) / math.fsum(weight))]
    return []


# ---------------------------------------------------------------- what is proved


def _proved(subject: Subject, bound: float) -> tuple[list[str], bool]:
    """What no card does, without full stops, and whether it is said in errors."""
    record, allowed = subject.record, subject.allowed
    kind, here = claims.changed_cards(record) or claims.kind_of_cards(allowed), " on these data"
    if allowed is None and not claims.changed_cards(record):
        formulation = printable(str(record.get("formulation", ""))).replace("_", "-")
        kind = f"that the program {formulation!r} allowed (its limits are not in the card's file)"
    if _counts_errors(subject):
        design, penalty = subject.design, float(record["penalty"])
        if said := claims.errors_proved(kind, allowed, bound, penalty, design.weight, design.rows):
            return [said[0] + here, *said[1:]], True
    return [claims.objective_proved(kind, {**record, "allowed": allowed}, bound) + here], False


def _this_card(subject: Subject) -> str:
    """The card's own errors, counted on the data."""
    rows = subject.design.rows
    wrong, counted = int(rows[subject.wrong].sum()), int(rows[subject.counted].sum())
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
    said = [few] if (few := claims.few_events(record)) else []
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


def _counts_errors(subject: Subject) -> bool:
    """Whether the loss that was minimised counts errors."""
    return bool((subject.allowed or {}).get("counts_errors"))
