"""The rows of a printed card and the sentences below it: one model for every output."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any

from milpscore.core.design import Column, ColumnKind
from milpscore.metrics import gap

if TYPE_CHECKING:
    from milpscore.scorecard._card import Scorecard


def printable(text: str) -> str:
    """The text with line breaks and other control characters spelled out as escapes."""
    return "".join(
        mark if mark.isprintable() else mark.encode("unicode_escape").decode("ascii")
        for mark in text
    )


@dataclass(frozen=True)
class Style:
    """How one kind of output writes signs and foreign text."""

    escape: Callable[[str], str]
    less: str
    more: str
    at_most: str
    at_least: str


PLAIN = Style(escape=str, less="<", more=">", at_most="<=", at_least=">=")


@dataclass(frozen=True)
class Row:
    """One printed line: a condition on one feature, and the points it is worth."""

    feature: str
    kind: ColumnKind
    points: int
    lower: float = -math.inf
    upper: float = math.inf
    category: str = ""

    def condition(self, style: Style = PLAIN) -> str:
        """The condition in words and signs, escaped for ``style``."""
        if self.kind == "category":
            return f"= {style.escape(self.category)}"
        if self.kind in ("numeric", "missing"):
            return "per unit" if self.kind == "numeric" else "missing"
        # closed on the left; infinite ends are left out
        parts = [] if math.isinf(self.upper) else [f"{style.less} {number(self.upper)}"]
        if math.isfinite(self.lower):
            parts.insert(
                0, number(self.lower) if parts else f"{style.at_least} {number(self.lower)}"
            )
        return " to ".join(parts) or "any value"

    @property
    def points_text(self) -> str:
        """The points; those of steps carry a sign, because they add up."""
        return f"{self.points:+d}" if self.kind == "step" else str(self.points)


def settle(record: Any, **values: Any) -> None:
    """Set the checked fields of a frozen record while it is made."""
    for name, value in values.items():
        object.__setattr__(record, name, value)


def number(value: float) -> str:
    """A number for people: at most twelve significant digits, no trailing zeros."""
    return f"{value:.12g}"


@dataclass(frozen=True)
class Feature:
    """The design columns of one raw feature."""

    name: str
    positions: tuple[int, ...]
    blocks: tuple[tuple[int, ...], ...]

    @property
    def outside(self) -> tuple[int, ...]:
        """The columns that belong to no block of bins."""
        inside = {j for block in self.blocks for j in block}
        return tuple(j for j in self.positions if j not in inside)


def card_features(
    columns: Sequence[Column], blocks: Sequence[Sequence[int]]
) -> tuple[Feature, ...]:
    """The raw features behind the columns, in the order in which they first appear."""
    members: dict[str, list[int]] = {}
    for position, column in enumerate(columns):
        members.setdefault(column.feature, []).append(position)
    bins: dict[str, list[tuple[int, ...]]] = {}
    for block in blocks:
        if block and all(columns[j].kind not in ("numeric", "step") for j in block):
            bins.setdefault(columns[block[0]].feature, []).append(tuple(block))
    for feature, found in bins.items():
        if len(found) == 1:  # the bin of missing values belongs to the only block
            missing = [j for j in members[feature] if columns[j].kind == "missing"]
            found[0] += tuple(j for j in missing if j not in found[0])
    return tuple(
        Feature(name, tuple(positions), tuple(bins.get(name, ())))
        for name, positions in members.items()
    )


def merged_rows(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Bins to print: intervals in order, equal neighbours merged, then the other bins."""
    merged: list[Row] = []
    others: list[Row] = []
    for row in sorted(rows, key=lambda row: row.lower):
        last = merged[-1] if merged else None
        if row.kind != "interval":
            others.append(row)
        elif last and last.points == row.points and last.upper == row.lower:
            merged[-1] = replace(last, upper=row.upper)
        else:
            merged.append(row)
    return (*merged, *others)


def card_row(column: Column, points: int) -> Row:
    """One design column as a row."""
    return Row(
        feature=printable(column.feature),
        kind=column.kind,
        points=points,
        lower=column.lower,
        upper=column.upper,
        category=printable(column.category or ""),
    )


_DIGITS = 6


def decision_sentence(card: Scorecard, style: Style = PLAIN) -> str:
    """The decision rule in one line, escaped for ``style``."""
    negative, positive = (style.escape(printable(str(label))) for label in card.classes)
    return (
        f"Decision: {positive} if total {style.at_least} {exact_number(card.threshold)}, "
        f"otherwise {negative}."
    )


def notes(card: Scorecard) -> tuple[str, ...]:
    """Everything else said below the table, as plain sentences to be escaped by the renderer."""
    if not card.used_features:
        reading = "No variable has points: the total is 0 for every row."
    else:
        reading = "Total: the sum of the points of every line that applies."
        if any(row.kind == "numeric" for rows in card.rows for row in rows):
            reading = reading[:-1] + "; 'per unit' means points times the value."
    return (reading, *_risk_sentences(card), *certificate_sentences(card.certificate))


def _risk_sentences(card: Scorecard) -> tuple[str, ...]:
    """What a risk is, and what stands below it; empty for a card without risks."""
    if card.risk is None:
        return ()
    positive, scale = printable(str(card.classes[1])), number(card.risk.scale)
    distance = "total" if not card.threshold else f"(total - {exact_number(card.threshold)})"
    distance = distance.replace("- -", "+ ") + (f" / {scale}" if scale != "1" else "")
    formula = {
        "logistic": f"1 / (1 + exp(-{distance}))",
        "probit": f"the normal distribution function of {distance}",
    }[card.risk.link]
    said = [f"Risk: the probability of {positive}, {formula}."]
    if card.risk.rows:
        said.append(
            f"Observed: the share of {positive} among the training rows, weighted as in the fit."
        )
    return tuple(said)


def certificate_sentences(certificate: Mapping[str, Any]) -> tuple[str, ...]:
    """The certificate in plain words; empty where there is none.

    The proved figure is the recorded bound, rounded down. It is never taken from the objective,
    so a card whose bound lies below its objective shows it.
    """
    if not certificate:
        return ()
    said = (_claim(certificate), _objective(certificate), _errors(certificate), _kind(certificate))
    return tuple(sentence for sentence in said if sentence)


def exact_number(value: Fraction) -> str:
    """A whole number in full, any other as a decimal with at most twelve significant digits."""
    return str(value.numerator) if value.denominator == 1 else number(float(value))


def _claim(certificate: Mapping[str, Any]) -> str:
    """What is claimed, what was re-checked, and what no card can beat."""
    claim = printable(str(certificate.get("claim", "none")))
    verified = certificate.get("verified")
    checked = "" if verified is None else f" ({'' if verified else 'not '}re-checked on the data)"
    bound = finite(certificate.get("bound"))
    if bound is None or claim in ("feasible", "none"):
        return f"Claim: {claim}{checked}; nothing is proved about better cards."
    name = certificate.get("loss_name")
    what = f"mean {printable(str(name))} loss plus penalty" if name else "objective"
    proved = f"no card of this kind has {what} below {rounded_down(bound)}"
    source = certificate.get("bound_source")
    by = f" (bound: {printable(str(source))})" if source else ""
    return f"Claim: {claim}{checked}; proved: {proved}{by}."


def _objective(certificate: Mapping[str, Any]) -> str:
    """The card's own objective, its parts, and its distance to the bound."""
    objective = finite(certificate.get("objective"))
    if objective is None:
        return ""
    parts = [finite(certificate.get(name)) for name in ("loss", "penalty")]
    split = ""
    if None not in parts:
        name = certificate.get("loss_name")
        loss = f"mean {printable(str(name))} loss" if name else "loss"
        split = f" = {loss} {parts[0]:.{_DIGITS}g} + penalty {parts[1]:.{_DIGITS}g}"
    bound = finite(certificate.get("bound"))
    distance = "" if bound is None else f"; gap {max(gap(objective, bound), 0.0):.2%}"
    return f"Objective: {objective:.{_DIGITS}g}{split}{distance}."


def _errors(certificate: Mapping[str, Any]) -> str:
    """Training errors, where they were recorded; of a risk score what its points gain."""
    without = finite(certificate.get("loss_without_points"))
    if certificate.get("loss_name"):
        return "" if without is None else f"Without points the loss would be {without:.{_DIGITS}g}."
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


def finite(value: Any) -> float | None:
    """The value as a finite float, or None."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        return None
    return float(value)


def rounded_down(value: float) -> str:
    """At most six significant digits, rounded down so that the sentence stays true."""
    context = Context(prec=_DIGITS, rounding=ROUND_FLOOR)
    floored = context.create_decimal(Decimal(repr(value)))
    return number(float(floored) + 0.0)  # -0.0 is printed as 0
