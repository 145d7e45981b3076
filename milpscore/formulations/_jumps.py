"""Jumps between neighbouring columns, and the whole points that a program of them relaxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from milpscore.core.conic import ConicProgram
from milpscore.core.design import Design, FloatArray, IntArray
from milpscore.core.errors import FormulationError, NotApplicableError
from milpscore.core.program import Program
from milpscore.formulations.building import MAX_COEFFICIENT
from milpscore.losses import Hinge

Blocks = Sequence[Sequence[int]]


def neighbours(blocks: Blocks) -> tuple[IntArray, IntArray]:
    """Every column that has a next one in its block, and that next one."""
    pairs = [pair for block in blocks for pair in pairwise(block)]
    positions = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return positions[:, 0], positions[:, 1]


def whole_points(program: ConicProgram, blocks: Blocks, into: FloatArray) -> Program:
    """The fused lasso over whole points that a program of weighted jumps relaxes.

    A constant moves freely between a block and the intercept: the first bin of every block is 0.
    The ranges follow from the empty card. A better card's jumps cost less than it loses, so the
    points of a bin are at most that loss over lam and the least weight of a jump on the way there;
    bins that hold no row, up to the end of their block, repeat the points before them.

    Parameters
    ----------
    program : ConicProgram
        Under the hinge loss.
    blocks : sequence of sequences of int
        Ordered bins; every column in exactly one.
    into : ndarray of shape (p,)
        The weight of the jump into every column.

    Raises
    ------
    NotApplicableError
        Where the intercept is fixed, or a row lies in no bin or several: then a constant matters.
    FormulationError
        Where nothing bounds the points, or the bound is too large.
    """
    from milpscore.formulations._fused_lasso import fused_lasso

    statement = program.statement
    assert isinstance(statement.design, Design)
    assert isinstance(statement.loss, Hinge)
    _require_shifts(program, blocks)
    lam, margin = float(statement.arguments["lam"]), statement.loss.margin
    reaches = _reaches(program, blocks, lam * into)
    made = fused_lasso(
        statement.design,
        lam=lam,
        weights=into,
        margin=margin,
        coef_min=(-reaches).tolist(),
        coef_max=reaches.tolist(),
        intercept="real",
    )
    return replace(made, least={"lam": lam})


def _require_shifts(program: ConicProgram, blocks: Blocks) -> None:
    """Refuse where a constant cannot move between a block and the intercept."""
    if not program.statement.intercept:
        raise NotApplicableError(
            f"{program.formulation} with the intercept fixed at 0 is no fused lasso, whose first "
            "bins have 0 points: state it with intercept=True"
        )
    starts, order = np.cumsum([0, *map(len, blocks)])[:-1], [j for block in blocks for j in block]
    in_bins = np.add.reduceat(program.statement.merged.X[:, order], starts, axis=1)
    if np.any(in_bins != 1.0):
        raise NotApplicableError(
            "a row lies in no bin of some feature, or in several: fused_lasso's points, 0 in every "
            "first bin, would mean something else; bin the data with milpscore.data.Binner"
        )


def _reaches(program: ConicProgram, blocks: Blocks, costs: FloatArray) -> IntArray:
    """The most points, up or down, that every column can be worth, shape (p,)."""
    statement = program.statement
    margin = statement.loss.margin  # type: ignore[attr-defined]
    nothing = np.zeros(len(statement.columns))
    lost = min(statement.mean_loss(nothing, b) for b in (-margin, margin))
    filled = np.asarray(np.any(statement.merged.X != 0, axis=0))
    reaches = np.zeros(len(statement.columns), dtype=np.int64)
    for block in map(list, blocks):
        matters = np.logical_or.accumulate(filled[block][::-1])[::-1]
        cost = np.where(matters, costs[block], np.inf)
        cost[0] = np.inf
        least = np.minimum.accumulate(cost)
        for k in np.flatnonzero(least == 0)[:1]:
            raise FormulationError(
                f"the jump into {statement.columns[block[k]].name} costs nothing, so nothing "
                "bounds its points: give it a weight > 0, or state fused_lasso with coef_min and "
                "coef_max"
            )
        reach = lost / least * (1 + 1e-9)
        if reach.max() > MAX_COEFFICIENT:
            raise FormulationError(
                f"jumps are so cheap that points reach {reach.max():.2g}: raise lam, or state "
                "fused_lasso with coef_min and coef_max"
            )
        reaches[block] = np.ceil(reach)
    return reaches
