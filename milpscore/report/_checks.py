"""What the data are like: rows, classes, repeats, contradictions, constants, gaps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from milpscore.report._subject import Subject


@dataclass(frozen=True)
class Checks:
    """Counts over the rows of positive weight, in the card's columns.

    Attributes
    ----------
    rows, weightless : int
        Rows, and how many of them weigh nothing; the other figures leave the latter out.
    columns : int
    positives, negatives : int
    positive_share : float
        Of the weight.
    repeats : int
        Rows that say what an earlier one says: equal values and class.
    patterns : int
        Different rows of values.
    contradicted : int
        Rows that share their values with a row of the other class.
    least_wrong : float
        The least share of the weight any rule on these columns answers wrongly.
    least_errors : int or None
        The same in rows; None where rows differ in weight.
    constant : tuple of str
    missing : mapping from raw feature to its missing values, or None where it cannot be told
    """

    rows: int
    weightless: int
    columns: int
    positives: int
    negatives: int
    positive_share: float
    repeats: int
    patterns: int
    contradicted: int
    least_wrong: float
    least_errors: int | None
    constant: tuple[str, ...]
    missing: Mapping[str, int] | None


def checks_of(subject: Subject) -> Checks:
    """Count what is odd about the data."""
    design, counted = subject.design, subject.counted
    merged, weight = design.merged, design.weight
    rows, hit = int(counted.sum()), subject.positive & counted
    pairs = merged.conflicts
    lost = math.fsum(merged.weight[pairs].min(axis=1)) if len(pairs) else 0.0
    in_conflict = np.isin(merged.inverse[counted], pairs)
    whole = math.fsum(weight)
    each = float(weight[counted][0])
    return Checks(
        rows=len(weight),
        weightless=len(weight) - rows,
        columns=design.shape[1],
        positives=int(hit.sum()),
        negatives=rows - int(hit.sum()),
        positive_share=math.fsum(weight[hit]) / whole,
        repeats=rows - len(merged.y),
        patterns=len(merged.y) - len(pairs),
        contradicted=int(in_conflict.sum()),
        least_wrong=lost / whole,
        least_errors=None if subject.weighted else round(lost / each),
        constant=tuple(
            design.names[j] for j in np.flatnonzero(np.ptp(design.X[counted], axis=0) == 0).tolist()
        ),
        missing=subject.missing,
    )
