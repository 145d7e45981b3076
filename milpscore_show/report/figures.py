"""Figures of a card on data: every threshold, observed shares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pandas import DataFrame

from milpscore.core.card import TotalCuts
from milpscore.core.design import FloatArray, IntArray
from milpscore.scorecard import calibration_table
from milpscore_show.report.subject import Subject

MOST_CUTS = 400
"""So many thresholds are listed at most."""

MOST_TOTALS = 60
"""So many totals have a line of their own in the table of risks."""


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


def cuts_of(subject: Subject) -> Cuts:
    """Confusion counts at every total that occurs, or at :data:`MOST_CUTS` of them."""
    counted = subject.counted
    totals, hit = subject.totals[counted], subject.positive[counted]
    weight = subject.design.weight[counted]
    cuts = TotalCuts.of(totals)
    distinct, rows = cuts.distinct, subject.design.rows[counted]
    below, mass = (
        np.array([cuts.below(amount * side) for side in (hit, ~hit)]) for amount in (rows, weight)
    )
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


def calibration_of(subject: Subject, few: int = 12) -> tuple[DataFrame, str]:
    """Observed shares by total, sparse totals pooled beyond ``few``; and a sentence if so."""
    distinct = len(np.unique(subject.totals[subject.counted]))
    each = distinct <= few
    least = 1 if each else max(5, int(subject.design.rows[subject.counted].sum()) // 20)
    table = calibration_table(
        subject.card,
        subject.totals,
        subject.positive,
        subject.design.weight,
        min_rows=least,
        counts=subject.design.rows,
    )
    if len(table) == distinct:
        return table, ""
    said = f"{distinct} totals pooled into {len(table)} points of {least} rows or more"
    return table, said
