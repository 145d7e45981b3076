"""A page for the ward: what is known of a patient, the total and the risk, and nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from milpscore.core.writing import printable
from milpscore.scorecard.rendering import (
    FeatureLines,
    Row,
    answers,
    attainable_totals,
    least_positive,
    templates,
)

if TYPE_CHECKING:
    from milpscore.scorecard._card import Scorecard


def calculator_page(card: Scorecard, decisions: Decisions) -> str:
    """Return one HTML file that asks for each feature with points and adds up."""
    fields = [_content(field) for field in card_fields(card)]
    risk = card.risk and {"half": float(card.fitted_rule.threshold), "scale": card.risk.scale,
                          "link": card.risk.link}  # fmt: skip
    stated = decisions.stated
    content = {
        "fields": fields, "risk": risk, "outcome": f"Risk of {answers(card)[1]}",
        "stated": None if stated is None else vars(stated),
        "answers": decisions.names, "cuts": [float(least_positive(cut)) for cut in decisions.cuts],
        "tolerance": 0 if attainable_totals(card) is not None else 1e-9,
    }  # fmt: skip
    safe = json.dumps(content).replace("<", "\\u003c")  # which could close the script element
    page: str = templates("milpscore.scorecard")("calculator.html").render(
        title=printable(card.title), fields=fields, content=safe
    )
    return page


@dataclass(frozen=True)
class StatedRisks:
    """Risks at stated times of a total T: 1 - exp(-sum h exp(T / scale)) over a time's ``steps``.

    With ``odds`` it is 1 - prod 1 / (1 + h exp(T / scale)).
    """

    scale: float
    odds: bool
    names: tuple[str, ...]
    steps: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Decisions:
    """The decisions of a card in rising order, and what the form says below its lines."""

    names: tuple[str, ...]
    cuts: tuple[Scorecard, ...]  # the card with the threshold of each decision but the first
    notes: tuple[str, ...] = ()
    stated: StatedRisks | None = None  # in the place of decisions


@dataclass(frozen=True)
class Field:
    """What is asked for: a number that all groups of lines read, or a choice of one group."""

    label: str
    unit: str
    groups: tuple[tuple[Row, ...], ...]
    in_full: tuple[bool, ...]  # whether a group is printed with its rows of no points
    chosen: bool
    base: int = 0  # what a number counts where no line of the first group is for it
    missing: Row | None = None  # None: the value must be known


def card_fields(card: Scorecard) -> Iterator[Field]:
    """Yield what a card asks for: the one view of every form that adds up."""
    units = {column.feature: column.cells.unit for column in card.columns if column.cells}
    for lines in card.lines:
        if lines.printed:
            yield from _fields(lines, units.get(lines.name, ""))


def _fields(lines: FeatureLines, written: str) -> Iterator[Field]:
    """Yield a number to type, or a choice per group of lines."""
    rows = [row for group in lines.groups for row in group]
    label = (rows or lines.everything)[0].feature
    unit = next((row.unit for row in rows if row.unit), printable(written))
    if any(row.kind in ("interval", "numeric") for row in rows):
        yield Field(label, unit, lines.groups, lines.in_full, False, lines.base, lines.missing)
        return
    for k, (group, full) in enumerate(zip(lines.groups, lines.in_full, strict=True)):
        # a missing value counts its points once
        missing = replace(lines.missing, points=0) if k and lines.missing else lines.missing
        yield Field(label, unit, (group,), (full,), True, missing=missing)


def _content(field: Field) -> dict[str, Any]:
    """Return a field as the page reads it; null: a value that must be known."""
    shared = {"label": field.label, "unit": field.unit}
    missing = None if field.missing is None else field.missing.points
    if not field.chosen:
        groups = [[_span(row) for row in group] for group in field.groups]
        return {**shared, "groups": groups, "base": field.base, "missing": missing}
    unknown = [] if missing is None else [("unknown", missing)]
    rows = [row for group in field.groups for row in group]
    return {**shared, "options": [*(each for row in rows for each in _answers(row)), *unknown]}


def _answers(row: Row) -> list[tuple[str, int]]:
    """Return what can be chosen, yes and no for 1 and 0."""
    truth = {"1": "yes", "0": "no"} if row.kind == "flag" else {}
    return [(truth.get(text, text), points) for text, points in options(row)]


def _span(row: Row) -> dict[str, Any]:
    """Return the values a line is for, and its points."""
    low, high = row.lower, row.upper
    if row.kind == "flag":
        high = math.nextafter(low, math.inf)
    ends = {"lower": low if math.isfinite(low) else None,
            "upper": high if math.isfinite(high) else None}  # fmt: skip
    return {**ends, "points": row.points, "unit": row.kind == "numeric"}


def options(row: Row) -> list[tuple[str, int]]:
    """Return what can be chosen: each category, or the line in the user's words."""
    if row.kind == "category" and not row.text and not row.excluded and len(row.categories) > 1:
        return [(printable(category), row.points) for category in row.categories]
    return [(row.condition.removeprefix("= "), row.points)]
