"""A page for the ward: what is known of a patient, the total and the risk, and nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
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


def calculator_page(card: Scorecard) -> str:
    """Return one HTML file that asks for each feature with points and adds up."""
    fields = [field for lines in card.lines if lines.printed for field in _fields(lines)]
    risk = card.risk and {"half": float(card.fitted_rule.threshold), "scale": card.risk.scale,
                          "link": card.risk.link}  # fmt: skip
    content = {
        "fields": fields, "risk": risk, "outcome": f"Risk of {answers(card)[1]}",
        "answers": answers(card), "cut": float(least_positive(card)),
        "tolerance": 0 if attainable_totals(card) is not None else 1e-9,
    }  # fmt: skip
    safe = json.dumps(content).replace("<", "\\u003c")  # which could close the script element
    page: str = templates("milpscore.scorecard")("calculator.html").render(
        title=printable(card.title), fields=fields, content=safe
    )
    return page


def _fields(lines: FeatureLines) -> Iterator[dict[str, Any]]:
    """Yield a number to type, or a choice per group of lines; null: a value that must be known."""
    rows = [row for group in lines.groups for row in group]
    missing = None if lines.missing is None else lines.missing.points
    label = (rows or lines.everything)[0].feature
    shared = {"label": label, "unit": next((row.unit for row in rows if row.unit), "")}
    if any(row.kind in ("interval", "numeric") for row in rows):
        groups = [[_span(row) for row in group] for group in lines.groups]
        yield {**shared, "groups": groups, "base": lines.base, "missing": missing}
        return
    for k, group in enumerate(lines.groups):
        options = [option for row in group for option in _options(row)]
        if missing is not None:
            options.append(("unknown", 0 if k else missing))
        yield {**shared, "options": options}


def _span(row: Row) -> dict[str, Any]:
    """Return the values a line is for, and its points."""
    low, high = row.lower, row.upper
    if row.kind == "flag":
        high = math.nextafter(low, math.inf)
    ends = {"lower": low if math.isfinite(low) else None,
            "upper": high if math.isfinite(high) else None}  # fmt: skip
    return {**ends, "points": row.points, "unit": row.kind == "numeric"}


def _options(row: Row) -> list[tuple[str, int]]:
    """Return what can be chosen: each category, or the line in the user's words."""
    if row.kind == "category" and not row.text and not row.excluded and len(row.categories) > 1:
        return [(printable(category), row.points) for category in row.categories]
    condition = {"= 1": "yes", "= 0": "no"}.get(row.condition, row.condition)
    return [(condition.removeprefix("= "), row.points)]
