"""Figures of a card on data: every threshold, the ROC curve, totals by class, data checks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pandas import DataFrame

from milpscore.core.design import FloatArray, IntArray
from milpscore.report.subject import Subject
from milpscore.scorecard import calibration_table
from milpscore.scorecard.certified import round_up

MOST_CUTS = 400
"""So many thresholds are listed at most."""

DRAWS = 1000
"""Bootstrap draws of the band."""

_GRID = np.linspace(0.0, 1.0, 101)
_CELLS = 4_000_000


@dataclass(frozen=True)
class Cuts:
    """What the card would answer at m other thresholds; arrays have the shape (m,)."""

    thresholds: FloatArray  # ascending: positive from this total on; the last is infinite
    own: int  # which of them answers as the card does
    true_positive: IntArray  # rows of positive weight, as the next three
    false_positive: IntArray
    false_negative: IntArray
    true_negative: IntArray
    sensitivity: FloatArray  # shares of the weight, as the next two
    specificity: FloatArray
    error: FloatArray
    left_out: int  # totals that occur and are not listed


@dataclass(frozen=True)
class Roc:
    """The ROC curve of the totals, from (0, 0) to (1, 1); straight lines halve ties."""

    false: FloatArray  # rates, shape (m,)
    true: FloatArray
    grid: FloatArray  # false rates, shape (g,)
    lower: FloatArray  # the pointwise 95 % band of the true rate at them
    upper: FloatArray
    area: float
    area_lower: float  # its 95 % interval
    area_upper: float
    draws: int


@dataclass(frozen=True)
class Histogram:
    """Rows of positive weight by class in bins of the totals, each of shape (b,)."""

    left: FloatArray
    right: FloatArray
    negative: IntArray
    positive: IntArray


def cuts_of(subject: Subject) -> Cuts:
    """Confusion counts at every total that occurs, or at :data:`MOST_CUTS` of them."""
    counted = subject.counted
    totals, hit = subject.totals[counted], subject.positive[counted]
    weight = subject.design.weight[counted]
    distinct, where = np.unique(totals, return_inverse=True)
    below = _below(where, len(distinct), hit, subject.design.rows[counted])
    mass = _below(where, len(distinct), hit, weight)
    own = int(np.searchsorted(distinct, float(subject.card.rule.cut)))
    kept = np.arange(len(distinct) + 1)
    if len(kept) > MOST_CUTS:
        even = np.linspace(0, len(distinct), MOST_CUTS - 1).round().astype(np.intp)
        kept = np.unique(np.r_[even, own])
    (missed, turned), (missed_weight, turned_weight) = below[:, kept], mass[:, kept]
    (positives, negatives), (positive_weight, negative_weight) = below[:, -1], mass[:, -1]
    wrong = missed_weight + negative_weight - turned_weight
    return Cuts(
        thresholds=np.r_[distinct, np.inf][kept],
        own=int(np.flatnonzero(kept == own)[0]),
        true_positive=(positives - missed).astype(np.int64),
        false_positive=(negatives - turned).astype(np.int64),
        false_negative=missed.astype(np.int64),
        true_negative=turned.astype(np.int64),
        sensitivity=1 - missed_weight / positive_weight,
        specificity=turned_weight / negative_weight,
        error=wrong / (positive_weight + negative_weight),
        left_out=len(distinct) + 1 - len(kept),
    )


def _below(
    where: npt.NDArray[np.intp],
    count: int,
    hit: npt.NDArray[np.bool_],
    amount: FloatArray | IntArray,
) -> FloatArray:
    """Positives and negatives below each distinct total and below none, shape (2, count + 1)."""
    rows = [np.bincount(where, weights=amount * side, minlength=count) for side in (hit, ~hit)]
    return np.concatenate([np.zeros((2, 1)), np.cumsum(rows, axis=1)], axis=1)


def roc_of(subject: Subject, random_state: int = 0, draws: int = DRAWS) -> Roc:
    """The curve, and a percentile band of a bootstrap of the rows within each class.

    Rows of one total and one weight are drawn together, by their number, which is the same as
    drawing rows.
    """
    random = np.random.default_rng(random_state)
    counted = subject.counted
    totals, weight = subject.totals[counted], subject.design.weight[counted]
    hit, own = subject.positive[counted], subject.design.rows[counted]
    distinct, where = np.unique(-totals, return_inverse=True)  # the highest total comes first
    count = len(distinct)
    masses = [np.bincount(where, weights=weight * side, minlength=count) for side in (~hit, hit)]
    false, true = (_rates(mass[None].astype(np.float64))[0] for mass in masses)
    band = np.empty((draws, len(_GRID)))
    areas = np.empty(draws)
    step = max(1, _CELLS // max(count, len(totals)))
    for first in range(0, draws, step):
        part = slice(first, min(first + step, draws))
        size = part.stop - part.start
        drawn = [
            _rates(_resampled(where[side], weight[side], own[side], count, size, random))
            for side in (~hit, hit)
        ]
        areas[part] = _area(*drawn)
        band[part] = [np.interp(_GRID, x, y) for x, y in zip(*drawn, strict=True)]
    lower, upper = np.percentile(band, [2.5, 97.5], axis=0)
    low, high = np.percentile(areas, [2.5, 97.5])
    area = float(_area(false[None], true[None])[0])
    return Roc(false, true, _GRID, lower, upper, area, float(low), float(high), draws)


def _resampled(
    where: npt.NDArray[np.intp],
    weight: FloatArray,
    own: IntArray,
    count: int,
    size: int,
    random: np.random.Generator,
) -> FloatArray:
    """Weight of some rows at each total in ``size`` bootstrap samples, shape (size, count).

    ``own``: how many rows each stands for, of ``weight`` together.
    """
    pairs = np.stack([where.astype(np.float64), weight / own])
    groups, place = np.unique(pairs, axis=1, return_inverse=True)
    rows = np.bincount(place.ravel(), weights=own)
    drawn = random.multinomial(int(rows.sum()), rows / rows.sum(), size=size) * groups[1]
    place = groups[0].astype(np.intp)
    starts = np.flatnonzero(np.r_[True, np.diff(place) > 0])
    found = np.zeros((size, count))
    found[:, place[starts]] = np.add.reduceat(drawn, starts, axis=1)
    return found


def _rates(mass: FloatArray) -> FloatArray:
    """Cumulative shares along the totals, from 0 to 1, shape (draws, m + 1)."""
    summed = np.cumsum(mass, axis=1)
    return np.concatenate([np.zeros((len(mass), 1)), summed / summed[:, -1:]], axis=1)


def _area(false: FloatArray, true: FloatArray) -> FloatArray:
    """Areas below curves by the trapezium rule, shape (draws,)."""
    height = true[:, 1:] + true[:, :-1]
    found: FloatArray = (np.diff(false, axis=1) * height).sum(axis=1) / 2
    return found


def histogram_of(subject: Subject, most: int = 40) -> Histogram:
    """Rows of each class at each total, or in bins of equal width where totals are many."""
    counted = subject.counted
    totals, hit = subject.totals[counted], subject.positive[counted]
    own = subject.design.rows[counted]
    distinct = np.unique(totals)
    gaps = np.diff(distinct)
    width = float(gaps.min()) if gaps.size else 1.0
    span = float(distinct[-1] - distinct[0])
    cut = float(subject.card.threshold)
    if span / width > most:
        width = float(round_up(span / most))
        # the threshold is the end of a bin, so that none straddles it
        first = cut + np.floor((distinct[0] - cut) / width) * width
    else:
        first = distinct[0] - width / 2
    count = max(int(np.floor((distinct[-1] - first) / width + 1e-9)) + 1, 1)
    place = np.clip(np.floor((totals - first) / width + 1e-9).astype(np.intp), 0, count - 1)
    left = first + width * np.arange(count)
    rows = [
        np.bincount(place[side], weights=own[side], minlength=count).astype(np.int64)
        for side in (~hit, hit)
    ]
    return Histogram(left, left + width, *rows)


def calibration_of(subject: Subject) -> DataFrame:
    """Observed shares by total, sparse totals put together where there are many."""
    counted = subject.totals[subject.counted]
    few = len(np.unique(counted)) <= 12
    return calibration_table(
        subject.card,
        subject.totals,
        subject.positive,
        subject.design.weight,
        min_rows=1 if few else max(5, int(subject.design.rows[subject.counted].sum()) // 20),
        counts=subject.design.rows,
    )
