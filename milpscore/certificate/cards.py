"""The cards and rows of a statement in exact numbers, nothing left to a builder's defaults."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any, cast

import numpy as np

from milpscore.constraints.parts import (
    AppliedConstraint,
    Ordered,
    Part,
    Points,
    Totals,
    Used,
    Wrong,
)
from milpscore.core.design import Design, as_fraction
from milpscore.core.statement import Statement
from milpscore.losses import Hinge, RiskLoss, ZeroOne
from milpscore.penalties import EYE, L1, L2, Facets
from milpscore.penalties.ramps import BlockTV
from milpscore_check.proof import Data


def plain_cards(statement: Statement) -> dict[str, Any]:
    """Loss, values, penalties, intercepts, scales and rules of a statement, numbers as text."""
    low, high = statement.ranges
    rule, scales = statement.intercept, statement.scales
    ends = (scales.lower, scales.upper) if scales is not None else None
    fixed = statement.loss.scale if isinstance(statement.loss, RiskLoss) and not ends else 1
    return {
        "loss": _loss(statement),
        "ranges": [[int(a), int(b)] for a, b in zip(low, high, strict=True)],
        "sets": {str(j): [int(v) for v in values] for j, values in statement.coef_sets.items()},
        "max_terms": statement.max_terms,
        **_penalties(statement),
        "intercept": {
            "lower": str(rule.lower),
            "upper": str(rule.upper),
            # of a single intercept the step says nothing
            "step": None if rule.step is None or rule.lower == rule.upper else str(rule.step),
        },
        "scale": [str(as_fraction(end)) for end in ends or (fixed, fixed)],
        "gap": _gap(statement),
        "rules": [
            {"name": each.name, **_rule(part, each.constraint)}
            for each in cast("tuple[AppliedConstraint, ...]", statement.constraints)
            for part in each.parts
            if not isinstance(part, Points)  # they stand in the ranges
        ],
    }


def exact_rows(design: Design) -> Data:
    """The rows of a design, every double read as the decimal it prints as."""
    known = {v: as_fraction(v) for v in np.unique(design.X).tolist()}
    columns = [[known[v] for v in column] for column in design.X.T.tolist()]
    return Data(columns, design.y.tolist(), [as_fraction(w) for w in design.weight.tolist()])


def _loss(statement: Statement) -> dict[str, Any]:
    """The loss by name, a hinge's margin in points."""
    loss = statement.loss
    if isinstance(loss, Hinge):
        return {"kind": "hinge", "margin": str(as_fraction(float(loss.margin)))}
    return {"kind": loss.name}


def _gap(statement: Statement) -> str:
    """How far below the threshold negative totals stay, where the data lie on no grid; else 0."""
    if not isinstance(statement.loss, ZeroOne) or statement.intercept.step is not None:
        return "0"
    return str(as_fraction(float(statement.caveat.split(" below T")[0].split()[-1])))


def _penalties(statement: Statement) -> dict[str, Any]:
    """What a term, so many points, jumps and an expert's features cost."""
    largest = int(max(map(abs, [*statement.ranges[0].tolist(), *statement.ranges[1].tolist(), 0])))
    made: dict[str, Any] = {"l0_penalty": "0", "eye": None, "jumps": [], "other": []}
    table = [Fraction(0)] * (largest + 1)
    for term in statement.penalties:
        base, lam = getattr(term, "base", term), as_fraction(float(term.lam))
        if isinstance(base, EYE):
            marks = [str(as_fraction(r)) for r in np.asarray(base.expert).tolist()]
            made["eye"] = {"lam": str(lam), "expert": marks}
        elif isinstance(base, BlockTV):
            made["jumps"] = _jumps(base, lam)
        elif term.name == "l0_penalty":
            made["l0_penalty"] = str(lam)
        elif not isinstance(base, L1 | L2 | Facets):
            made["other"].append(term.name)
        else:
            # at whole points these are whole multiples of lam / 2
            unit = type(base)(1.0)
            for k in range(largest + 1):
                table[k] += lam * Fraction(float(unit.value(np.array([k]))))
    return {**made, "points": [str(cost) for cost in table]}


def _jumps(tv: BlockTV, lam: Fraction) -> list[list[Any]]:
    """Neighbours, and what each point of difference between them costs."""
    weights = None if tv.weights is None else np.asarray(tv.weights).tolist()
    return [
        [a, b, str(lam if weights is None else lam * as_fraction(weights[b]))]
        for block in tv.blocks
        for a, b in pairwise(block)
    ]


def _rule(part: Part, constraint: Any) -> dict[str, Any]:
    """One part of a constraint."""
    if isinstance(part, Used):
        groups = [list(group) for group in part.groups]
        ends = {"lower": part.lower, "upper": part.upper}
        return {"kind": "used", "groups": groups, "factors": list(part.factors), **ends}
    if isinstance(part, Ordered):
        return {"kind": "ordered", "pairs": [list(pair) for pair in part.pairs]}
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
        return {"kind": "totals", "features": features, "lower": low, "upper": high}
    if not isinstance(part, Wrong):
        return {"kind": type(part).__name__}  # of somebody's own, which the checker refuses
    rows = np.flatnonzero(part.cost > 0)
    label = {"max_fpr": -1, "min_tpr": 1}.get(constraint.kind, 0)
    count = getattr(constraint, "count", None)
    share = getattr(constraint, "value", getattr(constraint, "share", None))
    if share is not None:
        share = str(1 - as_fraction(share) if label > 0 else as_fraction(share))
    given = None if len(rows) == len(part.cost) else rows.tolist()
    return {"kind": "errors", "rows": given, "label": label, "count": count, "share": share}
