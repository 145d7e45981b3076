"""The cards and rows of a statement in exact numbers, nothing left to a builder's defaults."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any, cast

import numpy as np

from milpscore.constraints.parts import (
    Answers,
    AppliedConstraint,
    Ordered,
    Part,
    Points,
    Totals,
    Used,
)
from milpscore.core.card import Card
from milpscore.core.design import Design, IntArray, as_fraction
from milpscore.core.statement import Statement
from milpscore.data.survival import SurvivalDesign
from milpscore.losses import Hinge, ZeroOne
from milpscore.losses.hazards import SurvivalLoss
from milpscore.penalties import L1, L2, Facets, WeightedL1
from milpscore.penalties.points import BlockTV
from milpscore_check.cards import LOSSES, Cards
from milpscore_check.hazards import Life
from milpscore_check.proof import Data

SMOOTH = LOSSES - {"hinge", "zero_one", "survival"}
"""Losses of risk scores whose lines and cells the checker knows."""


def plain_cards(statement: Statement) -> dict[str, Any]:
    """Return loss, values, penalties, intercepts, scales and rules, numbers as text."""
    low, high = statement.ranges
    rule, scales = statement.intercept, statement.scales
    loss = statement.loss
    # a hinge of margin m is one of margin 1 at a scale of m
    fixed = float(loss.margin) if isinstance(loss, Hinge) else getattr(loss, "scale", 1)
    ends = (fixed, fixed) if scales is None else (scales.lower, scales.upper)
    # the step matters only if there are two intercepts
    step = None if rule.step is None or rule.lower == rule.upper else str(rule.step)
    return {
        "loss": "hinge" if isinstance(loss, Hinge) else loss.name,
        "values": [
            _spans(statement.coef_sets.get(j), int(a), int(b))
            for j, (a, b) in enumerate(zip(low, high, strict=True))
        ],
        "max_terms": len(low) if statement.max_terms is None else statement.max_terms,
        **plain_penalties(statement),
        "intercept": [str(rule.lower), str(rule.upper), step],
        "scale": [str(as_fraction(end)) for end in ends],
        **_survival(loss),
        "gap": _gap(statement),
        "rules": [
            {"name": applied.name, **entry}
            for applied in cast("tuple[AppliedConstraint, ...]", statement.constraints)
            for part in applied.parts
            if not isinstance(part, Points)  # they stand among the values
            for entry in _rules(part, applied.constraint, statement.design)
        ],
    }


def _survival(loss: Any) -> dict[str, Any]:
    """Return how time is cut, under the loss of times to an event."""
    if not isinstance(loss, SurvivalLoss):
        return {}
    intervals = loss.base.intervals
    cuts = [str(as_fraction(cut)) for cut in intervals.cuts.tolist()]
    return {"survival": {"cuts": cuts, "exposure": intervals.kind}}


def _spans(allowed: Any, low: int, high: int) -> list[list[int]]:
    """Return allowed values as ranges of whole numbers, both ends included."""
    if allowed is None:
        return [[low, high]]
    return [[int(v), int(v)] for v in sorted(allowed) if low <= v <= high]


def row_numbers(design: Design) -> IntArray:
    """Return what evidence and rules call each row: its place, or its rank among merged rows.

    Merged rows are ordered by their columns, those of class -1 before those of class +1.
    """
    numbers = np.arange(len(design.y))
    if design.counts is not None:
        numbers[np.lexsort((design.y, *design.X.T[::-1]))] = numbers.copy()
    return numbers


def merged_names(design: Design) -> IntArray:
    """Return what evidence calls each merged row of a design: the number of its first raw one."""
    inverse = design.merged.inverse
    counted = np.flatnonzero(inverse >= 0)
    merged, first = np.unique(inverse[counted], return_index=True)
    names = np.zeros(len(design.merged.y), dtype=np.int64)
    names[merged] = row_numbers(design)[counted[first]]
    return names


def exact_rows(design: Design) -> Data:
    """Return the rows of a design, every double read as the decimal it prints as."""
    order = np.argsort(row_numbers(design))
    known = {v: as_fraction(v) for v in np.unique(design.X).tolist()}
    columns = [[known[v] for v in column] for column in design.X[order].T.tolist()]
    y, exact = design.y[order].tolist(), design.exact_weight
    weight = [exact[pair] for pair in zip(y, design.weight[order].tolist(), strict=True)]
    lives = None
    if isinstance(design, SurvivalDesign):
        each = zip(design.entry[order].tolist(), design.time[order].tolist(), strict=True)
        lives = [Life(as_fraction(start), as_fraction(end)) for start, end in each]
    return Data(columns, y, weight, design.rows[order].tolist(), lives=lives)


def outside_gap(statement: Statement, card: Card) -> str | None:
    """Return how a card breaks the threshold gap that its statement names, if it does."""
    if _gap(statement) == "0":
        return None
    cards = Cards(plain_cards(statement), statement.shape[1])
    entries = {"coefficients": card.coefficients.tolist(), "intercept": str(card.intercept)}
    return cards.broken(cards.card(entries), exact_rows(statement.design))


def _gap(statement: Statement) -> str:
    """Return how far below the threshold negative totals stay if data lie on no grid; else 0."""
    if not isinstance(statement.loss, ZeroOne) or statement.intercept.step is not None:
        return "0"
    return str(as_fraction(float(statement.caveat.split(" below T")[0].split()[-1])))


def plain_penalties(statement: Statement) -> dict[str, Any]:
    """Return what points and jumps cost, and the names of penalties that are neither."""
    largest = int(max(map(abs, [*statement.ranges[0].tolist(), *statement.ranges[1].tolist(), 0])))
    costs: dict[str, Any] = {"jumps": [], "other": []}
    table = [Fraction(0)] * (largest + 1)
    for term in statement.penalties:
        base, lam = getattr(term, "base", term), as_fraction(float(term.lam))
        if isinstance(base, WeightedL1):
            costs["prices"] = [str(lam * as_fraction(w)) for w in base.weights.tolist()]
        elif isinstance(base, BlockTV):
            costs["jumps"] = _jumps(base, lam)
        elif term.name == "l0_penalty":
            table[1:] = [cost + lam for cost in table[1:]]
        elif not isinstance(base, L1 | L2 | Facets):
            costs["other"].append(type(base).__name__)
        else:
            # at whole points these are whole multiples of lam / 2
            unit = type(base)(1.0)
            for k in range(largest + 1):
                table[k] += lam * Fraction(float(unit.value(np.array([k]))))
    return {**costs, "points": [str(cost) for cost in table]}


def _jumps(tv: BlockTV, lam: Fraction) -> list[list[Any]]:
    """Return neighbours, and what a point of difference between them costs."""
    weights = None if tv.weights is None else np.asarray(tv.weights).tolist()
    return [
        [a, b, str(lam if weights is None else lam * as_fraction(weights[b]))]
        for block in tv.blocks
        for a, b in pairwise(block)
    ]


def _rules(part: Part, constraint: Any, design: Design) -> list[dict[str, Any]]:
    """Return one part of a constraint as rules of the checker."""
    if isinstance(part, Ordered):  # w_a - w_b is at most 0
        at_most_0 = {"kind": "totals", "lower": None, "upper": "0"}
        return [{**at_most_0, "features": [[list(pair), [["1", "-1"]]]]} for pair in part.pairs]
    if isinstance(part, Used):
        groups = [list(group) for group in part.groups]
        ends = {"lower": part.lower, "upper": part.upper}
        return [{"kind": "used", "groups": groups, "factors": list(part.factors), **ends}]
    if isinstance(part, Totals):
        unit = part.unit or Fraction(1)
        features = [
            [list(columns), [[str(as_fraction(v) * unit) for v in row] for row in values.tolist()]]
            for columns, values in part.features
        ]
        low, high = (
            None if end is None else str(as_fraction(end) * unit)
            for end in (part.lower, part.upper)
        )
        return [{"kind": "totals", "features": features, "lower": low, "upper": high}]
    if not isinstance(part, Answers):
        return [{"kind": type(part).__name__}]  # an unknown kind, which the checker refuses
    if constraint.kind == "max_gap":
        one, other = (
            sorted(row_numbers(design)[side].tolist()) for side in (part.paid < 0, part.paid > 0)
        )
        most = str(as_fraction(constraint.value))
        return [{"kind": "gap", "rows": one, "others": other, "share": most}]
    rows = np.flatnonzero(part.paid)
    label = {"max_fpr": -1, "min_tpr": 1}.get(constraint.kind, 0)
    count = getattr(constraint, "count", None) and int(part.limit + part.before)
    share = getattr(constraint, "value", getattr(constraint, "share", None))
    if share is not None:
        share = str(1 - as_fraction(share) if label > 0 else as_fraction(share))
    listed = None if len(rows) == len(part.paid) else sorted(row_numbers(design)[rows].tolist())
    return [{"kind": "errors", "rows": listed, "label": label, "count": count, "share": share}]
