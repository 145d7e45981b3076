"""One 0-1 statement as six programs, from the weakest to the strongest."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from milpscore.core.design import Design
from milpscore.core.program import Program
from milpscore.core.result import Result
from milpscore.data import make_design
from milpscore.formulations.strength import STRENGTHS, slim_program
from milpscore.solvers import Session, solve
from milpscore.solvers.running import set_option

SWITCHES = ((True, True), (True, False), (False, True), (False, False))
"""(presolve, cuts)."""

Run: TypeAlias = tuple[str, bool, bool, int]
"""Strength, presolve, cuts, seed."""

_CUTS = "mip_allow_cut_separation_at_nodes"


def slim_strength(
    X: Any,
    y: Any = None,
    *,
    strengths: Sequence[str] = STRENGTHS,
    switches: Sequence[tuple[bool, bool]] = SWITCHES,
    seeds: Sequence[int] = (0,),
    time_limit: float = 10.0,
    node_limit: int | None = None,
    **arguments: Any,
) -> pd.DataFrame:
    """Solve one 0-1 statement in several strengths, with presolve and cuts on and off.

    Default runs compare a solver's repair of a weak program with a strong one; with presolve and
    cuts off the programs themselves are compared. HiGHS has no switch for the cuts at the root:
    ``cuts`` False forbids those at all other nodes, and ``lp_bound`` is the bound without any. No
    run has a warm start.

    Each of the seeds permutes the rows and is HiGHS's random_seed; 0 leaves the rows as they are.
    The limits are of each solve, X, y and the arguments those of :func:`slim`.

    Returns
    -------
    DataFrame
        One row a strength, presolve, cuts and seed: rows, binaries, nonzeros, lp_bound, objective,
        bound, gap, nodes, seconds, build_seconds, claim.
        ``attrs["results"]`` maps (strength, presolve, cuts, seed) to the Result.
    """
    design = X if isinstance(X, Design) else make_design(X, y)
    rows: list[dict[str, Any]] = []
    results: dict[Run, Result] = {}
    for seed, strength in product(seeds, strengths):
        began = time.perf_counter()
        program = slim_program(_permuted(design, seed), strength, **arguments)
        built, size = time.perf_counter() - began, program.size
        bound = solve(program.relaxed(), "highs", time_limit=time_limit).dual_bound
        limits = {"time_limit": time_limit, "node_limit": node_limit, "random_state": seed}
        for (presolve, cuts), result in _switched(program, switches, limits):
            results[strength, presolve, cuts, seed] = result
            rows.append(
                {
                    "strength": strength,
                    "presolve": presolve,
                    "cuts": cuts,
                    "seed": seed,
                    "objective": result.objective,
                    "bound": result.dual_bound,
                    "gap": result.gap,
                    "nodes": result.nodes,
                    "seconds": result.solve_seconds,
                    "claim": str(result.claim),
                    "build_seconds": built,
                    "rows": size.rows,
                    "binaries": len(program.model.z),
                    "nonzeros": size.nonzeros,
                    "lp_bound": bound,
                }
            )
    table = pd.DataFrame(rows)
    table.attrs["results"] = results
    return table


def _permuted(design: Design, seed: int) -> Design:
    """The rows in another order; in their own for the seed 0."""
    if seed == 0:
        return design
    order = np.random.default_rng(seed).permutation(len(design.y))
    X, y, weight = design.X[order], design.y[order], design.weight[order]
    return replace(design, X=X, y=y, weight=weight)


def _switched(
    program: Program, switches: Sequence[tuple[bool, bool]], limits: dict[str, Any]
) -> Iterator[tuple[tuple[bool, bool], Result]]:
    """The program solved once for each pair of switches, each time in a HiGHS of its own."""
    for presolve, cuts in switches:
        session = Session(program)
        set_option(session.highs, _CUTS, cuts)
        yield (
            (presolve, cuts),
            solve(session, "highs", presolve=presolve, progress=False, **limits),
        )
