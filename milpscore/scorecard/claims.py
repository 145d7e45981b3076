"""What a certificate says of a card and of all others, in words derived from its bound."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from milpscore.core.design import Design, FloatArray, IntArray, common_step
from milpscore.core.result import CLAIM_TOLERANCE, Termination, relative_gap
from milpscore.core.writing import printable
from milpscore.formulations import BEYOND
from milpscore.scorecard.policy import POLICY
from milpscore.scorecard.rendering import finite, number, rounded_down, signed


def certificate_sentences(certificate: Mapping[str, Any]) -> tuple[str, ...]:
    """The certificate in plain words; empty where there is none.

    The proved figure is derived from the recorded bound. It is never taken from the objective, so a
    card whose bound lies below its objective shows it.
    """
    if not certificate:
        return ()
    said = (
        _claim(certificate), few_events(certificate), _cut(certificate), _objective(certificate),
        _errors(certificate), _kind(certificate),
    )  # fmt: skip
    return tuple(sentence for sentence in said if sentence)


def _claim(certificate: Mapping[str, Any]) -> str:
    """What is claimed, what was re-checked, and what no card can beat."""
    claim = printable(str(certificate.get("claim", "none")))
    verified = certificate.get("verified")
    checked = "" if verified is None else f" ({'' if verified else 'not '}re-checked on the data)"
    bound = finite(certificate.get("bound"))
    if bound is None or claim in ("feasible", "none"):
        return f"Claim: {claim}{checked}; nothing is proved about better cards."
    proved = "; ".join(f"{each[0].lower()}{each[1:]}" for each in proved_of_all(certificate, bound))
    source = certificate.get("bound_source")
    if source == "evidence":  # a word for leaves that somebody can read
        kept = certificate.get("evidence")
        source = f"evidence, in {kept}" if kept else "solver"
    by = f" (bound: {printable(str(source))})" if source else ""
    return f"Claim: {claim}{checked}; proved: {proved}{by}."


def rarer_rows(design: Design) -> int:
    """Count the rows of the rarer label, those of weight 0 left out."""
    sides = [(design.weight > 0) & (design.y == side) for side in (-1, 1)]
    return min(int(design.rows[side].sum()) for side in sides)


def shares_of_positives(design: Design) -> list[float]:
    """Shares of the positive label by rows and by weight, those of weight 0 left out."""
    positive, counted = design.y > 0, design.weight > 0
    counts = design.rows * counted, design.weight
    return [math.fsum(each[positive]) / math.fsum(each) for each in counts]


def few_events(certificate: Mapping[str, Any]) -> str:
    """Whether the rarer label has fewer than ten rows per line; empty where it has, or is unknown.

    Ten events per variable: Peduzzi et al. (1996), J. Clin. Epidemiol. 49, 1373-1379.
    """
    events, lines = certificate.get("rarer_rows"), certificate.get("lines")
    if events is None or not lines or events >= POLICY.events_per_line * lines:
        return ""
    right = events // POLICY.events_per_line
    most = f"at most {right} line{'' if right == 1 else 's'}" if right else "no line at all"
    return (
        f"Too few events: the rarer label has {events} row{'' if events == 1 else 's'} for {lines} "
        f"line{'' if lines == 1 else 's'}; at ten per line they are enough for {most}, and the "
        "card need not hold on other rows."
    )


def _cut(certificate: Mapping[str, Any]) -> str:
    """Which limit cut the search short; empty if none did, or the card is proved all the same."""
    known = {str(each): each for each in Termination}
    ended = known.get(str(certificate.get("termination")))
    if remark := certificate.get("cut_short"):
        return printable(str(remark))
    if certificate.get("claim") == "optimal" or ended is None:
        return ""
    message = certificate.get("message") if ended is Termination.WORK_LIMIT else ""
    interrupted = ended.sentence.rstrip(".") if ended is Termination.INTERRUPTED else ""
    said = printable(str(message)) if message else ended.cut or interrupted
    return f"Cut short: {said}." if said else ""


def _objective(certificate: Mapping[str, Any]) -> str:
    """The card's own objective, its parts, and its distance to the bound."""
    objective = finite(certificate.get("objective"))
    if objective is None:
        return ""
    parts = [finite(certificate.get(name)) for name in ("loss", "penalty")]
    split = ""
    if None not in parts:
        loss, penalty = (signed(f"{part:.{POLICY.digits}g}") for part in parts)
        split = f" = {_loss_words(certificate)} {loss} + penalty {penalty}"
    bound = finite(certificate.get("bound"))
    distance = ""
    if bound is not None:
        gap = max(relative_gap(objective, bound), 0.0)
        distance = f"; gap {gap:.2%}"
        if gap > CLAIM_TOLERANCE:
            distance += f", in all {objective - bound:.3g}"
    return f"Objective: {objective:.{POLICY.digits}g}{split}{distance}."


def _loss_words(certificate: Mapping[str, Any]) -> str:
    """The loss that was minimised, of a risk score by its name."""
    name = certificate.get("loss_name")
    return f"mean {printable(str(name)).replace('_', ' ')} loss" if name else "loss"


def _errors(certificate: Mapping[str, Any]) -> str:
    """Training errors, where they were recorded; of a risk score what its points gain."""
    without = finite(certificate.get("loss_without_points"))
    if certificate.get("loss_name"):
        return (
            ""
            if without is None
            else f"Without points the loss would be {without:.{POLICY.digits}g}."
        )
    errors, rows = certificate.get("errors"), certificate.get("n_rows")
    if errors is None or rows is None:
        return ""
    return f"Training errors: {errors} of {rows} rows."


def _kind(certificate: Mapping[str, Any]) -> str:
    """The formulation, and where the bound speaks of fewer cards than all of its kind."""
    formulation = certificate.get("formulation")
    caveat = certificate.get("caveat")
    said = [f"Formulation: {printable(str(formulation))}."] if formulation else []
    said += [f"The bound holds {printable(str(caveat)).rstrip('.')}."] if caveat else []
    return " ".join(said)


# --- what no card does ----------------------------------------------------------------------------


def proved_of_all(certificate: Mapping[str, Any], bound: float) -> list[str]:
    """What no card does, without full stops: in errors where the loss counts equal rows."""
    allowed = known_limits(certificate)
    kind = changed_cards(certificate) or kind_of_cards(allowed)
    rows, penalty = certificate.get("n_rows"), finite(certificate.get("penalty"))
    if allowed and allowed.get("counts_errors") and certificate.get("equal_rows") and rows:
        count = np.array([rows])
        said = errors_proved(kind, allowed, bound, penalty or 0.0, count.astype(float), count)
        if said:
            return said
    return [objective_proved(kind, certificate, bound)]


def known_limits(certificate: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Which cards the bound speaks of; None where it is not recorded."""
    known = certificate.get("allowed")
    if not isinstance(known, Mapping):
        return None
    ends = [known.get(name) for name in ("coef_min", "coef_max")]
    return known if all(isinstance(end, int) for end in ends) else None


def changed_cards(certificate: Mapping[str, Any]) -> str:
    """Which cards the bound of an update speaks of, as the words after "no card"; else empty."""
    if (changes := certificate.get("changes")) is None:
        return ""
    lines = {0: "no line", 1: "at most one line"}.get(changes, f"at most {changes} lines")
    low, high = (signed(str(certificate.get(end))) for end in ("points_from", "points_to"))
    by = changed_points(certificate.get("point_changes"))
    return f"that changes {lines} of the card in use, {by}to points from {low} to {high},"


def changed_points(most: int | None) -> str:
    """By how much lines change together, as words before "to points from"; empty for any."""
    return "" if most is None else f"by at most {most} point{'s'[: most != 1]}, "


def kind_of_cards(allowed: Mapping[str, Any] | None) -> str:
    """Which cards a bound speaks of, as the words after "no card"."""
    if allowed is None:
        return "of this kind"
    parts = []
    column, jumps = allowed.get("cut", True), allowed.get("jumps", False)
    if (limit := allowed.get("max_terms")) is not None:
        word = "cut" if jumps else "column" if column else "term"
        parts.append(f"at most {limit} {word}{'' if limit == 1 else 's'}")
    low, high = (signed(str(allowed[end])) for end in ("coef_min", "coef_max"))
    narrower = "" if allowed.get("uniform", True) else " (some columns narrower)"
    parts.append(f"{'jumps' if jumps else 'points'} from {low} to {high}{narrower}")
    rules = [printable(str(rule)) for rule in allowed.get("rules", ())]
    if rules:
        more = len(rules) - POLICY.most_rules
        said = "; ".join(rules[: POLICY.most_rules]) + (f"; and {more} more" if more > 0 else "")
        parts.append(f"the rule{'' if len(rules) == 1 else 's'} “{said}”")
    *first, last = parts
    scale = _at_scale(allowed.get("scale"))
    return "with " + (f"{', '.join(first)} and {last}" if first else last) + scale


def _at_scale(scale: Any) -> str:
    """The scales a bound speaks of, between commas; empty where there is none."""
    if scale is None:
        return ""
    if scale == "any":
        return ", whatever the scale,"
    if isinstance(scale, list):
        return f", at any scale from {number(scale[0])} to {number(scale[1])},"
    return f", at a scale of {number(float(scale))},"


def objective_proved(kind: str, certificate: Mapping[str, Any], bound: float) -> str:
    """What objective no card has."""
    allowed = certificate.get("allowed")
    name = certificate.get("loss_name") or (allowed or {}).get("loss")
    what = "objective"
    if name:
        penalty = " plus penalty" if certificate.get("penalty") else ""
        what = f"{_loss_words({'loss_name': name})}{penalty}"
    if (allowed or {}).get("scale") == "any" or "changes" in certificate:
        bound -= BEYOND  # what scales beyond the range searched may gain
    return f"No card {kind} has {what} below {rounded_down(bound)}"


def errors_proved(
    kind: str,
    allowed: Mapping[str, Any] | None,
    bound: float,
    penalty: float,
    weight: FloatArray,
    count: IntArray,
) -> list[str]:
    """Say how many errors no card goes below; nothing if the bound leaves none at all."""
    # A card's loss is its objective without its penalty: every card's is at least the bound minus
    # the most penalty any card may have, and minus this card's if it pays no more than this one.
    most = None if allowed is None else allowed.get("most_penalty")
    like = least_errors(bound - penalty, weight, count)
    every = None if most is None else least_errors(bound - float(most), weight, count)
    proved = []
    if every is not None and every.amount > 0:
        proved.append(f"No card {kind} {every.refusal}")
    if like.amount > 0 and (every is None or like.amount > every.amount):
        cards = "None" if proved else f"No card {kind}"
        proved.append(f"{cards} that pays no more penalty than this one {like.refusal}")
    return proved


@dataclass(frozen=True)
class Least:
    """The least weight of errors that a bound leaves."""

    amount: Fraction
    rows: int | None  # None where rows differ in weight

    @property
    def refusal(self) -> str:
        """What no card does, as a verb with its object."""
        figure = number(float(self.amount))
        if self.rows is None:
            return f"makes errors that weigh less than {figure} in all"
        return f"misclassifies fewer than {figure} of {self.rows}"


def least_errors(
    share: float,
    weight: FloatArray,
    count: IntArray | None = None,
    slack: float = CLAIM_TOLERANCE,
) -> Least:
    """The errors that a card must make whose mean 0-1 loss is at least ``share``.

    By the weight of each row, or with ``count`` of each group of that many rows.
    """
    number = (np.ones(len(weight)) if count is None else count)[weight > 0]
    counted = weight[weight > 0]
    alike = bool(np.ptp(counted / number) == 0)
    total = float(number.sum()) if alike else math.fsum(counted)
    rows = int(number.sum()) if alike else None
    needed = (share - slack) * total
    unit = Fraction(1) if alike else common_step(counted[:, None])
    if needed <= 0:
        return Least(Fraction(0), rows)
    if unit is None:
        return Least(Fraction(rounded_down(needed)), rows)
    return Least(math.ceil(needed / float(unit)) * unit, rows)
