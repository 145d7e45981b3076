"""Jumps between a feature's neighbouring bins, and limits on its cuts: what builders share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from milpscore.core.design import Design
from milpscore.core.errors import FormulationError, is_whole, listing
from milpscore.formulations.building import Constraints, PerColumn, Ranges, allowed, applied
from milpscore.penalties import L1, WeightedL1
from milpscore.penalties.points import PointPenalty

JUMPS = ("tv", "binarsity")
"""Penalties on jumps: under them a block of bins is stated by its cuts."""

MaxCuts = int | Mapping[str, int] | None


def jump_penalty(design: Design, kind: str, lam: float) -> PointPenalty:
    """Return lam times the total variation of every feature's points: the jumps at its cuts."""
    if kind == "tv":
        return PointPenalty(lam, L1)
    if counted := [c.name for c in design.columns if not c.is_indicator]:
        raise FormulationError(
            f"{{penalty}} weighs cuts, and {listing(counted)} count by the unit: bin them, "
            "or take 'tv'",
            penalty="binarsity",
        )
    # every jump is weighted by the rows above it, as data_driven_weights does for bins: there are
    # as many columns as there are bins and categories: the first ones have none of their own
    bins = {c.feature for c in design.columns if c.kind == "step" or c.others}
    rows = design.merged
    n = float(rows.weight.sum())
    share = rows.weight @ rows.X / n
    weights = np.sqrt(np.log(design.shape[1] + len(bins)) / n * share)
    return PointPenalty(lam, partial(WeightedL1, weights=weights))


def within(
    design: Design,
    penalty: str,
    coef_min: PerColumn,
    coef_max: PerColumn,
    coef_sets: Mapping[str, Sequence[int]] | None,
    max_terms: int | None,
    max_cuts: MaxCuts,
    constraints: Constraints,
) -> tuple[Ranges, tuple[Any, ...]]:
    """Return the coefficients and the rules that a builder's arguments allow."""
    from milpscore.constraints import AtMost, Span

    ranges = allowed(design, coef_min, coef_max, coef_sets, max_terms)
    cuts = _limits(design, max_cuts)
    rules: list[Any] = [
        AtMost(k, feature, name=f"at most {k} cuts of {feature}") for feature, k in cuts.items()
    ]
    if penalty in JUMPS:
        if any(isinstance(end, Mapping) or np.ndim(end) for end in (coef_min, coef_max)):
            raise FormulationError(
                "under {penalty} {coef_min} and {coef_max} are one whole number each, as "
                "the points of no two bins of a feature lie further apart than they do: limit "
                "single cuts by constraints (Range)",
                penalty=penalty,
                coef_min=...,
                coef_max=...,
            )
        # ranges are those of the bins' points, to which a constant may be added: no two bins of a
        # feature lie further apart than the ends of the range
        span = int(coef_max) - int(coef_min)  # type: ignore[arg-type]
        free = [j for j, c in enumerate(design.columns) if c.is_indicator]
        free = [j for j in free if j not in ranges.coef_sets]
        ranges.coef_min[free], ranges.coef_max[free] = -span, span
        several = {f: k for f, k in _cuts_of(design).items() if k > 1 and cuts.get(f, k) > 1}
        if several and (ranges.max_terms is None or ranges.max_terms > 1):
            rules.append(Span(span, list(several)))
    bound = applied(constraints, design)
    if rules:
        bound = applied([*(rule.constraint for rule in bound), *rules], design)
    return ranges, bound


def _cuts_of(design: Design) -> dict[str, int]:
    """Count the columns of each feature of bins or categories, except for missing values."""
    return Counter(c.feature for c in design.columns if c.kind in ("step", "category"))


def _limits(design: Design, max_cuts: MaxCuts) -> dict[str, int]:
    """Return the most cuts of each feature that has more of them."""
    if max_cuts is None:
        return {}
    if design.blocks:
        raise FormulationError(
            "{max_cuts} counts columns 'feature >= cut', and this design has bins: take "
            "{penalty}, under which bins are stated by their cuts, or bin with "
            "{encoding}",
            max_cuts=...,
            penalty="tv",
            encoding="cumulative",
        )
    counts = _cuts_of(design)
    limits = max_cuts if isinstance(max_cuts, Mapping) else dict.fromkeys(counts, max_cuts)
    for feature, k in limits.items():
        if feature not in {column.feature for column in design.columns}:
            raise FormulationError(f"max_cuts: there is no feature {feature!r} in the design")
        if not is_whole(k, 0):
            raise FormulationError(
                f"{{max_cuts}} must be a whole number >= 0, or one for each feature, "
                f"got {max_cuts!r}",
                max_cuts=...,
            )
    return {feature: int(k) for feature, k in limits.items() if counts.get(feature, 0) > k}
