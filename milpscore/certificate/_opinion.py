"""A second opinion on a bound: the program solved again by another engine, or another seed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from milpscore.core.errors import NotApplicableError
from milpscore.core.program import Program

_FIRST = 0.25
"""Share of the time for each engine but the last, which made the card and may be the only fast one.
"""


def second_opinion(
    program: Program,
    engine: Mapping[str, Any],
    bound: float,
    allowance: float,
    time_limit: float,
    random_state: int,
) -> tuple[str, str]:
    """Whether solving anew proves the bound.

    Parameters
    ----------
    program : Program
        A fresh one.
    engine : mapping
        What made the certificate; its ``solver`` is tried last, where no other one proves it.
    bound, allowance : float
        A bound is met within the allowance.
    time_limit : float
        Seconds.
    random_state : int

    Returns
    -------
    (str, str)
        "proved", "refuted" or "not proved", and a sentence.
    """
    from milpscore.solvers import solve

    started, failed = time.perf_counter(), ""
    names = _engines(program, str(engine.get("solver", "")))
    for name in names:
        left = max(time_limit - (time.perf_counter() - started), 0.0)
        seconds = left if name == names[-1] else _FIRST * time_limit
        try:
            result = solve(
                program,
                name,
                progress=False,
                presolve=False,
                time_limit=seconds,
                random_state=random_state,
            )
        except NotApplicableError:
            continue  # this engine does not take the program: the next one is asked
        how = "by another engine" if name != engine.get("solver") else "with another seed"
        said = f"solved again {how} ({name}, seed {random_state}, presolve off)"
        if result.dual_bound >= bound - allowance:
            return "proved", f"{said}: bound {result.dual_bound:.9g}, {bound:.9g} was claimed"
        if result.kind == "exact" and result.verified and result.objective < bound - allowance:
            return "refuted", f"{said}: a card reaches {result.objective:.9g}, below {bound:.9g}"
        failed = (
            f"{said}: bound {max(result.dual_bound, 0.0):.9g} of {bound:.9g} within {time_limit:g} "
            "s: raise the time limit"
        )
    return "not proved", failed or f"no engine takes {program.formulation}"


def _engines(program: Program, used: str) -> list[str]:
    """The engines to ask, the one that made the card last."""
    if program.kind == "relaxed":
        return ["highs"]
    convex = program.model.component("cuts") is not None
    names = ["tree", "outer_approximation"] if convex else ["tree", "highs"]
    return sorted(names, key=lambda name: name == used)
