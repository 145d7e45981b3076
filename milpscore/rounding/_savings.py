"""What a warm start saves: time and nodes to the first good card, with it and without."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from milpscore.core.card import Card
from milpscore.core.errors import OptionError
from milpscore.core.program import Program
from milpscore.core.result import Result
from milpscore.search.starts import proximal_start
from milpscore.solvers import solve

if TYPE_CHECKING:
    from pandas import DataFrame


def savings_table(
    programs: Mapping[str, Program], seeds: Sequence[int], time_limit: float, **options: Any
) -> DataFrame:
    """:func:`warm_start_savings` of several formulations, one below the other.

    Parameters
    ----------
    programs : mapping from formulation to its exact program
    seeds : sequence of int
    time_limit : float
        Seconds of each solve.
    **options :
        ``solver`` and the solver's options.

    Returns
    -------
    DataFrame
        Column ``formulation`` first. A program for which no start was found has one row, whose
        ``warm_start`` says so.
    """
    import pandas as pd

    tables = []
    for name, program in programs.items():
        card = proximal_start(program)
        if card is None:
            table = pd.DataFrame([{"start": "proximal", "warm_start": "none was found"}])
        else:
            table = warm_start_savings(
                program, seeds=seeds, start=card, time_limit=time_limit, **options
            )
        table.insert(0, "formulation", name)
        tables.append(table)
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def warm_start_savings(
    program: Program,
    *,
    seeds: Sequence[int] = (0, 1, 2),
    within: float = 0.01,
    start: Card | None = None,
    solver: str = "auto",
    time_limit: float = 60.0,
    **options: Any,
) -> DataFrame:
    """Solve with and without a proximal start, once a seed, and say when a good card was known.

    A card is good where its objective is at most ``within`` above the best one that either solve
    of the seed ended with.

    Parameters
    ----------
    program : Program
        An exact program.
    seeds : sequence of int
        Seeds of the solver; HiGHS's path through a tree depends much on it.
    within : float
        Relative, not negative; where the best objective is 0 only that will do.
    start : Card, optional
        By default :func:`proximal_start`'s, found once; its seconds are charged to every solve
        that uses it.
    solver, time_limit, **options :
        As in :func:`milpscore.solvers.solve`, for each of the 2 * len(seeds) solves.

    Returns
    -------
    DataFrame
        Two rows a seed, ``start`` "none" and "proximal" (or "given"), with columns seed, start,
        warm_start (what the solver made of it), start_objective, first_seconds and first_nodes (to
        the first good card, the start's own seconds included; NaN where there was none), then
        solve_seconds, nodes, objective, bound, claim.

    Raises
    ------
    OptionError
        For no seeds, a negative ``within``, or where no start was found and none is given.
    """
    import pandas as pd

    if not len(seeds) or not within >= 0:
        raise OptionError("name at least one seed, and a share within >= 0, say 0.01")
    began = time.perf_counter()
    card, origin = (start, "given") if start is not None else (proximal_start(program), "proximal")
    start_seconds = time.perf_counter() - began if start is None else 0.0
    if card is None:
        raise OptionError("no proximal start was found for this program: pass one as start")
    rows = []
    for seed in seeds:
        common = {"random_state": seed, "time_limit": time_limit, "progress": False, **options}
        solved = {
            "none": solve(program, solver, **common),
            origin: solve(program, solver, warm_start=card, **common),
        }
        best = min(result.objective for result in solved.values())
        good = best + within * abs(best)
        for name, result in solved.items():
            given = None if name == "none" else card
            rows.append(
                {"seed": seed, "start": name}
                | _first_good(program, result, good, given, start_seconds)
            )
    return pd.DataFrame(rows)


def _first_good(
    program: Program, result: Result, good: float, given: Card | None, start_seconds: float
) -> dict[str, Any]:
    """When and after how many nodes a solve knew a good card."""
    from milpscore.verify import evaluate

    tolerance = 1e-9 * max(1.0, abs(good))
    accepted = given is not None and result.warm_start == "accepted"
    at_start = evaluate(program.statement, given).objective if given is not None else math.nan
    spent = 0.0 if given is None else start_seconds
    first, nodes = math.nan, math.nan
    if accepted and at_start <= good + tolerance:
        first, nodes = spent, 0
    else:
        known = [point for point in result.trace if point.objective <= good + tolerance]
        if known:
            first, nodes = spent + known[0].seconds, known[0].nodes
        elif result.objective <= good + tolerance:  # found after the last report
            first, nodes = spent + result.solve_seconds, result.nodes
    return {
        "warm_start": result.warm_start,
        "start_objective": at_start,
        "first_seconds": first,
        "first_nodes": nodes,
        "solve_seconds": result.solve_seconds,
        "nodes": result.nodes,
        "objective": result.objective,
        "bound": result.dual_bound,
        "claim": str(result.claim),
    }
