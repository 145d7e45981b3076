"""Cut points: given by the user, read from a file, or placed at quantiles."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError
from milpscore.data.checking import listing


def quantile_cuts(values: FloatArray, n_bins: int, weight: FloatArray | None = None) -> FloatArray:
    """Cut points that part the values into bins of about equal weight.

    A cut is a value that occurs, so that it prints as it was written and no bin is empty. Of all
    places between two neighbouring values, the one whose share below comes nearest to ``k/n_bins``
    is taken (the lower one of two equally near); places taken twice count once.
    """
    distinct, inverse = np.unique(values + 0.0, return_inverse=True)
    if len(distinct) < 2:
        return distinct[:0]
    below = np.cumsum(np.bincount(inverse, weights=weight))
    goals = below[-1] * np.arange(1, n_bins) / n_bins
    shares = below[:-1]
    after = np.clip(np.searchsorted(shares, goals), 0, len(shares) - 1)
    before = np.maximum(after - 1, 0)
    nearer_before = goals - shares[before] <= np.abs(shares[after] - goals)
    chosen = np.where(nearer_before, before, after)
    return np.asarray(distinct[1:][np.unique(chosen)])


def check_thresholds(thresholds: Mapping[str, Any]) -> dict[str, list[float]]:
    """Check cut points by feature: finite numbers, sorted, each once."""
    if not isinstance(thresholds, Mapping):
        raise DataError("thresholds must map a feature to its cut points, as {'Age': [30, 45]}.")
    return {
        str(feature).strip(): _ascending(str(feature), cuts) for feature, cuts in thresholds.items()
    }


def _ascending(feature: str, cuts: Any) -> list[float]:
    if isinstance(cuts, (str, bytes)) or not isinstance(cuts, Iterable):
        raise DataError(f"thresholds of {feature!r} must be a list of numbers, not {cuts!r}.")
    numbers = [_number(feature, cut) for cut in cuts]
    if not numbers:
        raise DataError(f"thresholds of {feature!r} are empty; give a cut point or drop the entry.")
    return sorted(set(numbers))


def _number(feature: str, cut: Any) -> float:
    refused = isinstance(cut, (bool, np.bool_))
    try:
        number = float(cut) + 0.0
    except (TypeError, ValueError):
        refused, number = True, math.nan
    if refused or not math.isfinite(number):
        raise DataError(f"threshold {cut!r} of {feature!r} is not a finite number; correct it.")
    return number


def read_thresholds(path: str | PathLike[str]) -> dict[str, list[float]]:
    """Read cut points from a file.

    Parameters
    ----------
    path : path
        Either JSON, an object from feature to list of numbers, ``{"Age": [30, 45]}``; or CSV with
        the header ``feature,threshold`` and one cut point a line.

    Returns
    -------
    dict of feature name to ascending cut points

    Raises
    ------
    DataError
        The file cannot be read, has another form, or holds a cut that is not a finite number.
    """
    place = Path(path)
    try:
        text = place.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"cannot read thresholds from {str(place)!r}: {error}. Check the path, and save the "
            "file in UTF-8."
        ) from error
    is_json = place.suffix.lower() == ".json" or text.lstrip()[:1] in {"{", "["}
    try:
        found = _from_json(text) if is_json else _from_csv(text)
        if not found:
            raise DataError("there is not one cut point in it.")
        return check_thresholds(found)
    except DataError as error:
        raise DataError(f"thresholds file {str(place)!r}: {error}") from error


def _from_json(text: str) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice = sorted({key for key, _ in pairs if sum(other == key for other, _ in pairs) > 1})
        if twice:
            raise DataError(f"feature(s) {listing(twice)} occur twice; join their lists.")
        return dict(pairs)

    try:
        found = json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise DataError(f"this is not JSON: {error}.") from error
    if not isinstance(found, dict):
        raise DataError('an object is expected, as {"Age": [30, 45]}.')
    return found


def _from_csv(text: str) -> dict[str, list[str]]:
    lines = list(csv.reader(text.splitlines()))
    header = [cell.strip().lower() for cell in lines[0]] if lines else []
    if header != ["feature", "threshold"]:
        raise DataError("the first line must be feature,threshold; one cut point a line follows.")
    cuts: dict[str, list[str]] = {}
    for number, line in enumerate(lines[1:], start=2):
        if not line:
            continue
        if len(line) != 2:
            raise DataError(f"line {number} has {len(line)} fields; two are needed.")
        cuts.setdefault(line[0].strip(), []).append(line[1])
    return cuts
