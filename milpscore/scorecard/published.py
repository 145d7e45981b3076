"""Cards written down by their points, and a few that are published, with their sources."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from milpscore.core.design import Column
from milpscore.core.errors import DataError, OptionError, is_whole, near_matches
from milpscore.data.columns import bin_columns, missing_column
from milpscore.scorecard._card import Scorecard

Points = int | Mapping[Any, int]
"""Points of a yes-or-no feature; or from each value on; or of each category."""


def card_of_points(
    points: Mapping[str, Points],
    *,
    threshold: int = 1,
    classes: tuple[Any, Any] = (0, 1),
    title: str = "Scorecard",
    allow_missing: bool = False,
) -> Scorecard:
    """See :meth:`milpscore.Scorecard.from_points`."""
    columns: list[Column] = []
    own: list[int] = []
    blocks, flags = list[tuple[int, ...]](), list[int]()
    for feature, given in points.items():
        first = len(columns)
        lines = _lines(feature, given)
        columns += [column for column, _ in lines]
        own += [worth for _, worth in lines]
        if not isinstance(given, Mapping):
            flags.append(first)
            continue
        if allow_missing:
            columns.append(missing_column(feature))
            own.append(0)
        blocks.append(tuple(range(first, len(columns))))
    return Scorecard(
        tuple(columns), tuple(own), Fraction(threshold), tuple(blocks), classes, title=title,
        flags=tuple(flags),
    )  # fmt: skip


def _lines(feature: str, given: Points) -> list[tuple[Column, int]]:
    """Return the columns of a feature with their points."""
    values = [*given.values()] if isinstance(given, Mapping) else [given]
    if not values or not all(is_whole(worth, -math.inf) for worth in values):
        raise DataError(f"the points of {feature!r} are not whole numbers: {given!r}")
    if not isinstance(given, Mapping):
        return [(Column(feature, feature), int(given))]
    if all(isinstance(key, str) for key in given):
        return [
            (Column(f"{feature} = {key}", feature, "category", category=str(key)), int(worth))
            for key, worth in given.items()
        ]
    ends = [float(key) for key in given]
    if any(math.isnan(end) for end in ends) or any(b <= a for a, b in pairwise(ends)):
        raise DataError(f"the values of {feature!r} from which points count must ascend: {ends}")
    rising = [*zip(ends, values, strict=True)]
    if rising[0][0] == -math.inf:
        worths, ends = values, ends[1:]
    else:
        worths = [0, *values]
    return [*zip(bin_columns(feature, ends), map(int, worths), strict=True)]


@dataclass(frozen=True)
class PublishedCard:
    """The facts of a published card: which values count how many points."""

    title: str
    source: str
    points: Mapping[str, Points]
    threshold: int
    note: str = ""


LOW = -math.inf

PUBLISHED = {
    "chads2": PublishedCard(
        "CHADS2: stroke in atrial fibrillation",
        "Gage et al., JAMA 285 (2001) 2864-2870",
        {"heart_failure": 1, "hypertension": 1, "age": {75: 1}, "diabetes": 1, "stroke": 2},
        2,
        "stroke: an earlier stroke or transient ischaemic attack",
    ),
    "diarem": PublishedCard(
        "DiaRem: no remission of diabetes after gastric bypass",
        "Still et al., Lancet Diabetes Endocrinol. 2 (2014) 38-45",
        {
            "age": {40: 1, 50: 2, 60: 3},
            "hba1c": {6.5: 2, 7: 4, 9: 6},
            "other_drugs": 3,
            "insulin": 10,
        },
        8,
        "hba1c in percent; other_drugs: sulfonylureas or insulin sensitisers but metformin",
    ),
    "findrisc": PublishedCard(
        "FINDRISC: diabetes within ten years",
        "Lindstrom & Tuomilehto, Diabetes Care 26 (2003) 725-731",
        {
            "age": {45: 2, 55: 3},
            "bmi": {25: 1, 30: 3},
            "waist": {94: 3, 102: 4},
            "blood_pressure_drugs": 2,
            "high_glucose": 5,
            "inactive": 2,
            "no_daily_vegetables": 1,
        },
        9,
        "waist in cm of men (women: 80 and 88); high_glucose: ever found",
    ),
    "saps1": PublishedCard(
        "SAPS I: death in intensive care",
        "Le Gall et al., Crit. Care Med. 12 (1984) 975-977",
        {
            "Age": {46: 1, 56: 2, 66: 3, 76: 4},
            "HR": {LOW: 4, 40: 3, 55: 2, 70: 0, 110: 2, 140: 3, 180: 4},
            "SysABP": {LOW: 4, 55: 2, 80: 0, 150: 2, 190: 4},
            "Temp": {LOW: 4, 30: 3, 32: 2, 34: 1, 36: 0, 38.5: 1, 39: 3, 41: 4},
            "RespRate": {LOW: 4, 6: 2, 10: 1, 12: 0, 25: 1, 35: 3, 50: 4},
            "BUN": {LOW: 1, 10: 0, 21: 1, 81: 2, 101: 3, 154: 4},
            "HCT": {LOW: 4, 20: 2, 30: 0, 46: 1, 50: 2, 60: 4},
            "WBC": {LOW: 4, 1: 2, 3: 0, 15: 1, 20: 2, 40: 4},
            "Glucose": {LOW: 4, 29: 3, 50: 2, 70: 0, 252: 1, 500: 3, 801: 4},
            "K": {LOW: 4, 2.5: 2, 3: 1, 3.5: 0, 5.5: 1, 6: 3, 7: 4},
            "Na": {LOW: 4, 110: 3, 120: 2, 130: 0, 151: 1, 156: 2, 161: 3, 180: 4},
            "HCO3": {LOW: 4, 5: 3, 10: 1, 20: 0, 30: 1, 40: 3},
            "GCS": {LOW: 4, 4: 3, 7: 2, 10: 1, 13: 0},
        },
        14,
        "the worst values of the first day; BUN and Glucose in mg/dL, rounded from mmol/L; urine "
        "and ventilation left out",
    ),
}
"""Published cards by their names; ``source`` says where the points stand."""


def published_card(
    name: str,
    features: Mapping[str, str] | None = None,
    *,
    classes: tuple[Any, Any] = (0, 1),
    allow_missing: bool = False,
) -> Scorecard:
    """A published card, its features by the names that a table has for them.

    Parameters
    ----------
    name : str
        One of :data:`PUBLISHED`.
    features : mapping, optional
        From the card's names of features to those of a table; others stay.
    classes : (label, label)
        The second is what a high total answers.
    allow_missing : bool
        A missing value counts nothing; else it is refused.

    Returns
    -------
    Scorecard
        It states no risks, and its threshold only parts low totals from high ones:
        :func:`milpscore.update` fits both to rows.

    Raises
    ------
    OptionError
        The card or a feature is unknown, or two features have one name.
    """
    if name not in PUBLISHED:
        raise OptionError(
            f"there is no published card {name!r}: {near_matches(name, PUBLISHED, 'cards')}"
        )
    known, named = PUBLISHED[name], dict(features or {})
    if unknown := sorted(named.keys() - known.points.keys()):
        near = near_matches(unknown[0], known.points, "features")
        raise OptionError(f"{name} has no feature {unknown[0]!r}: {near}")
    points = {named.get(feature, feature): own for feature, own in known.points.items()}
    if len(points) < len(known.points):
        raise OptionError(f"two features of {name} have one name: {named}")
    return card_of_points(
        points,
        threshold=known.threshold,
        classes=classes,
        title=known.title,
        allow_missing=allow_missing,
    )
