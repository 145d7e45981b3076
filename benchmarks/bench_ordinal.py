"""Ordered classes: which engine proves the best card, and whether ``auto`` takes that one.

DiaRem's five groups, with and without noise, from its own cuts and from all 21 of the recovery
(bench_diarem), and the six sets with three levels each: the negative class, and the positive one
parted at the median of the first column, which is left out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from _common import SETS, Report, arguments, uci

DIAREM_CUTS = {"age": (40, 50, 60), "hba1c": (6.5, 7, 9), "other_drugs": (1,)}
ENGINES = ("tree", "highs", "auto")


def diarem(n: int, noise: float, every_cut: bool) -> Any:
    """Patients whose group is that of DiaRem's total, give or take a point or two."""
    from experiments.scores.data import make_diabetes_cohort
    from experiments.scores.recovery import GRID
    from milpscore.data import Binner
    from milpscore.data.ordinal import by_boundaries

    X, _, truth = make_diabetes_cohort(n, random_state=1)
    rounding = np.rint(np.random.default_rng(0).normal(0, noise, n))
    level = np.digitize(truth.total + rounding, [3, 8, 13, 18])
    cuts: Any = GRID if every_cut else DIAREM_CUTS
    base = Binner(thresholds=cuts, encoding="cumulative").fit_design(X, level > 0)
    return by_boundaries(base, level, range(5))


def three_levels(name: str) -> Any:
    """A set with three levels; None where it is absent."""
    from milpscore.data import make_ordinal_design

    if (design := uci(name)) is None:
        return None
    first = design.X[:, 0]
    level = (design.y > 0) * (1 + (first > np.median(first)))
    return make_ordinal_design(design.X[:, 1:], level)


def cases() -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Name, design and arguments of every program."""
    points: dict[str, Any] = {"coef_min": 0, "coef_max": 10}
    for n, noise, every_cut in ((300, 0.0, False), (300, 1.0, False), (1000, 1.0, False),
                                (3000, 0.0, True)):  # fmt: skip
        name = f"DiaRem, {n} rows, noise {noise:g}, {21 if every_cut else 8} cuts"
        design = diarem(n, noise, every_cut)
        yield f"{name}, any terms", design, {**points, "max_terms": None, "l0_penalty": 1e-4}
        if not every_cut:
            yield f"{name}, three terms", design, {**points, "max_terms": 3}
    for name in SETS:
        if (design := three_levels(name)) is not None:
            yield f"{name}, three terms", design, {"max_terms": 3}


def main() -> None:
    settings = arguments(__doc__ or "")
    from milpscore.formulations import ordinal
    from milpscore.solvers import solve

    limit = settings.time_limit or 30.0
    small = ordinal(diarem(60, 1.0, False), coef_min=0, coef_max=2, max_terms=2)
    for engine in ENGINES[:2]:  # compiles what is compiled
        solve(small, engine, time_limit=60.0, progress=False)
    report = Report("Ordered classes: the tree or HiGHS", settings, [])
    right = 0
    lines = []
    for name, design, given in cases():
        program = ordinal(design, **given)
        found: dict[str, dict[str, Any]] = {}
        for engine in ENGINES:
            began = time.process_time()
            result = solve(program, engine, time_limit=limit, progress=False)
            found[engine] = {
                "case": name, "engine": engine, "answered": result.solver,
                "claim": str(result.claim), "gap": result.gap, "objective": result.objective,
                "cpu": time.process_time() - began,
            }  # fmt: skip
            report.records.append(found[engine])
            print(found[engine], flush=True)
        best = min(ENGINES[:2], key=lambda e: (round(found[e]["gap"], 4), found[e]["cpu"]))
        taken = found["auto"]["answered"]
        right += best == taken
        reply = {
            engine: f"{found[engine]['cpu']:.1f} s"
            if found[engine]["claim"] == "optimal"
            else f"gap {found[engine]['gap']:.0%}"
            for engine in ENGINES[:2]
        }
        lines.append({"case": name, "rows (i, k)": design.shape[0], **reply, "auto takes": taken})
    report.tables = [(f"CPU to the proof, or the gap after {limit:g} s of wall clock", lines)]
    report.target("auto takes the better engine", f"{len(lines)}", f"{right}", right == len(lines))
    report.finish()


if __name__ == "__main__":
    main()
