"""DiaRem: the published score of diabetes remission, as a card that can be applied."""

from __future__ import annotations

from fractions import Fraction

from milpscore.core.design import Column
from milpscore.data.columns import bin_columns
from milpscore.scorecard import Scorecard

_CUTS = {"age": (40.0, 50.0, 60.0), "hba1c": (6.5, 7.0, 9.0), "other_drugs": (1.0,)}
"""Where the bins of a numeric variable begin; ages in years, HbA1c in per cent."""

_POINTS = {"age": (0, 1, 2, 3), "hba1c": (0, 2, 4, 6), "other_drugs": (0, 3), "insulin": (0, 10)}
"""Points of each bin; of insulin those of "no" and "yes"."""

_SEPARATOR = 7
"""From this total on remission is the less likely answer."""

DIAREM_GROUPS = (
    (range(3), 0.88, 0.99),
    (range(3, 8), 0.64, 0.88),
    (range(8, 13), 0.23, 0.49),
    (range(13, 18), 0.11, 0.33),
    (range(18, 23), 0.02, 0.16),
)
"""Totals, and the least and the greatest share in remission over the published cohorts."""


def diarem() -> Scorecard:
    """The DiaRem score: age, HbA1c, insulin and other drugs before gastric bypass surgery.

    Totals go from 0 to 22, and a high one means that remission is unlikely: the card answers "no
    remission" from 7 points on. It is a published table to compare with and not fitted to any data
    here; nothing is claimed or proved of it. Columns: age (years), hba1c (per cent), insulin ("no"
    or "yes") and other_drugs (how many diabetes drugs besides insulin and metformin).

    The table gives HbA1c to one decimal ("6.5 - 6.9") and ages in years ("40-49"): here a bin goes
    up to where the next begins. The slides print ">60" and "> 9", which leaves out an age of 60 and
    an HbA1c of 9; as published they belong to the last bin. The separator 7 is the slides'; the
    publication divides totals into groups instead, :data:`DIAREM_GROUPS`.

    References
    ----------
    Still et al., "Preoperative prediction of type 2 diabetes remission after Roux-en-Y gastric
    bypass surgery: a retrospective cohort study", Lancet Diabetes Endocrinol. 2 (2014), 38-45; as
    printed by Sokolovska, Chevaleyre & Zucker, score learning.
    """
    columns: list[Column] = []
    blocks = []
    for name in _POINTS:
        made = _columns(name)
        blocks.append(tuple(range(len(columns), len(columns) + len(made))))
        columns += made
    return Scorecard(
        columns=tuple(columns),
        points=tuple(worth for each in _POINTS.values() for worth in each),
        threshold=Fraction(_SEPARATOR),
        blocks=tuple(blocks),
        classes=("remission", "no remission"),
        title="DiaRem: no remission of type 2 diabetes",
    )


def _columns(name: str) -> list[Column]:
    """The bins of a variable, in the order of its points."""
    if name in _CUTS:
        return bin_columns(name, list(_CUTS[name]))
    return [
        Column(f"{name} = {answer}", name, "category", category=answer) for answer in ("no", "yes")
    ]
