"""A card as JSON text, and back, without losing anything."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from milpscore.core.design import Column, ColumnKind
from milpscore.core.errors import DataError
from milpscore.scorecard.risks import RiskScale

if TYPE_CHECKING:
    from milpscore.scorecard._card import Scorecard


def plain_label(label: Any) -> bool | int | float | str:
    """A class label as a plain Python value."""
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise DataError(
        f"a card cannot carry the label {label!r} of type {type(label).__name__}; "
        "recode the target as text, whole numbers or true/false"
    )


def plain_points(points: Any) -> tuple[int, ...]:
    """Points as Python integers."""
    given = tuple(points)
    try:
        whole = tuple(int(value) for value in given)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"points must be whole numbers: {error}") from error
    if any(a != b for a, b in zip(whole, given, strict=True)):
        raise DataError("points must be whole numbers; round the coefficients first")
    return whole


def plain_value(value: Any) -> Any:
    """A certificate entry as plain Python: NumPy scalars and arrays, tuples and enums unpacked."""
    if isinstance(value, np.generic):
        return plain_value(value.item())
    if isinstance(value, Enum):
        return plain_value(value.value)
    if isinstance(value, Mapping):
        return {str(key): plain_value(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain_value(entry) for entry in value]
    if value is None or isinstance(value, bool | int | float | str | Fraction):
        return value
    raise DataError(
        f"a certificate cannot carry a value of type {type(value).__name__}; "
        "give it as a number, text, list or mapping"
    )


SCHEMA_VERSION = 1
"""Raised whenever a reader of the previous layout would misread a card."""

_KIND = "milpscore.scorecard"


def card_to_json(card: Scorecard) -> str:
    """The card as one JSON object in standard JSON (no NaN, no infinities).

    Fractions are text (``"3/10"``), an open end of an interval is ``null``, labels keep their
    JSON type, and the data are named by their fingerprint.
    """
    content = {
        "kind": _KIND,
        "schema_version": SCHEMA_VERSION,
        "title": card.title,
        "classes": list(card.classes),
        "threshold": card.threshold,
        "step": card.step,
        "columns": [
            {
                **vars(column),
                "lower": column.lower if math.isfinite(column.lower) else None,
                "upper": column.upper if math.isfinite(column.upper) else None,
                "points": points,
            }
            for column, points in zip(card.columns, card.points, strict=True)
        ],
        "blocks": card.blocks,
        "fingerprint": card.fingerprint,
        "risk": None if card.risk is None else vars(card.risk),
        "certificate": _encoded(card.certificate),
    }
    return json.dumps(
        content, indent=2, ensure_ascii=False, allow_nan=False, default=Fraction.__str__
    )


def card_fields(text: str) -> dict[str, Any]:
    """The arguments of ``Scorecard`` from the text of :func:`card_to_json`."""
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(
            f"this is not JSON ({error}); give a file written by save() or 'milpscore fit --out'"
        ) from error
    if not isinstance(content, dict) or content.get("kind") != _KIND:
        raise DataError(
            "this JSON is not a scorecard; give a file written by save() or 'milpscore fit --out'"
        )
    version = content.get("schema_version")
    if version != SCHEMA_VERSION:
        raise DataError(
            f"the card has schema_version {version!r}, this milpscore reads {SCHEMA_VERSION}; "
            "use the milpscore that wrote it, or save it again"
        )
    try:
        return {
            "columns": tuple(_column_from_json(entry) for entry in content["columns"]),
            "points": tuple(entry["points"] for entry in content["columns"]),
            "threshold": Fraction(content["threshold"]),
            "blocks": tuple(tuple(map(int, block)) for block in content["blocks"]),
            "classes": tuple(content["classes"]),
            "step": None if content["step"] is None else Fraction(content["step"]),
            "certificate": _decoded(dict(content["certificate"].items())),
            "fingerprint": _text(content["fingerprint"]),
            "title": _text(content["title"]),
            "risk": _risk_from_json(content["risk"]) if content.get("risk") else None,
        }
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        raise DataError(
            f"the card's JSON is damaged ({type(error).__name__}: {error}); save the card again"
        ) from error


def _column_from_json(content: Mapping[str, Any]) -> Column:
    """A column, the ``null`` of an open end read as infinity."""
    known = {field.name: content[field.name] for field in fields(Column)}
    for name in ("name", "feature", *(["category"] if known["kind"] == "category" else [])):
        _text(known[name])
    if known["kind"] not in get_args(ColumnKind):
        raise ValueError(f"unknown kind of column {known['kind']!r}")
    known["lower"] = -math.inf if known["lower"] is None else float(known["lower"])
    known["upper"] = math.inf if known["upper"] is None else float(known["upper"])
    return Column(**known)


def _risk_from_json(content: Mapping[str, Any]) -> RiskScale:
    """Risks; their fractions are text."""
    return RiskScale(**{field.name: content[field.name] for field in fields(RiskScale)})


def _text(value: Any) -> str:
    """The value, if it is text."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _encoded(value: Any) -> Any:
    """A certificate entry in standard JSON: fractions and non-finite numbers become tagged text."""
    if isinstance(value, Mapping):
        return {key: _encoded(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_encoded(entry) for entry in value]
    if isinstance(value, Fraction):
        return {"$fraction": str(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": str(value)}
    return value


def _decoded(value: Any) -> Any:
    """The inverse of :func:`_encoded`."""
    if isinstance(value, list):
        return [_decoded(entry) for entry in value]
    if not isinstance(value, Mapping):
        return value
    if value.keys() == {"$fraction"}:
        return Fraction(value["$fraction"])
    if value.keys() == {"$float"}:
        return float(value["$float"])
    return {key: _decoded(entry) for key, entry in value.items()}
