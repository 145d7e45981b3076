"""The rules that benchmarks and tests try one at a time."""

from __future__ import annotations

import numpy as np

from milpscore.constraints import (
    AtLeast,
    AtMost,
    EitherOr,
    Exactly,
    Exclude,
    Implies,
    Include,
    MaxErrors,
    MaxFeatures,
    MaxFPR,
    MinTPR,
    Monotone,
    Range,
    Sign,
    TotalRange,
)
from milpscore.constraints.parts import Constraint
from milpscore.core.design import Design


def rules(design: Design) -> dict[str, Constraint]:
    """One rule of each kind that docs/constraints.md lists, by a name for the table."""
    names, X = list(design.names), design.X
    binary = [j for j in range(len(names)) if set(np.unique(X[:, j])) <= {0.0, 1.0}]
    group = names[binary[0]] if binary else f"{names[0]} > {float(np.median(X[:, 0])):g}"
    found: dict[str, Constraint] = {
        "Sign +": Sign(names, "+"),
        "Sign -": Sign(names[0], "-"),
        "Range 2 to 4": Range(names[0], 2, 4),
        "AtMost 1 of 3": AtMost(1, names[:3]),
        "AtLeast 2 of 3": AtLeast(2, names[:3]),
        "Exactly 2 of 3": Exactly(2, names[:3]),
        "EitherOr": EitherOr(names[0], names[1]),
        "EitherOr, neither": EitherOr(names[0], names[1], neither=True),
        "EitherOr, both": EitherOr(names[0], names[1], both=True),
        "Implies": Implies(names[0], names[1]),
        "MaxFeatures 2": MaxFeatures(2),
        "MaxFPR .05": MaxFPR(0.05),
        "MinTPR .95": MinTPR(0.95),
        "MaxFPR .1 of a group": MaxFPR(0.1, where=group),
        "MaxErrors .05 of a group": MaxErrors(group, share=0.05),
        "MaxErrors .1 of a group": MaxErrors(group, share=0.1),
        "MaxErrors .2 of a group": MaxErrors(group, share=0.2),
        "TotalRange -10 to 10": TotalRange(-10, 10),
        "TotalRange 0 to 10": TotalRange(0, 10),
        "Include 2": Include(names[:2]),
        "Exclude 1": Exclude(names[0]),
    }
    if design.blocks:
        found["Monotone"] = Monotone(design.columns[design.blocks[0][0]].feature)
    return found
