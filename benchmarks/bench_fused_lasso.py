"""The time to prove the fused-lasso score of breastcancer, promised within 10 s.

Every value (deciles where there are more than 10) one-hot, points -5..5, b in [-20, 20],
lam 0.01. No rival states this program.
"""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

from _common import DATA, SEED, Report, arguments, in_child, percent, present

from milpscore.data import Binner, read_frame, read_table
from milpscore.fitting import fit_card
from milpscore.solvers import load, solve

GIVEN: dict[str, Any] = {
    "lam": 0.01,
    "coef_min": -5,
    "coef_max": 5,
    "intercept_bounds": [-20, 20],
}


def main() -> None:
    settings = arguments(__doc__ or "")
    limit = settings.time_limit or 10.0
    settings.time_limit = limit
    report = Report("fused_lasso: a proof on breastcancer", settings)
    sets, absent = present(["breastcancer"])
    report.note(*absent)
    for name in sets:
        answer = in_child(run, name, limit, patience=4 * limit + 60)
        report.records.append(answer)
        keys = ("claim", "objective", "bound", "LP", "jumps", "terms", "bins")
        row = {"set": name, **{key: answer[key] for key in keys}}
        row |= {key: f"{answer[key]:.5f}" for key in ("objective", "bound", "LP")}
        row["gap"] = percent(answer["gap"])
        row |= {f"{k} s": f"{answer[f'{k}_seconds']:.2f}" for k in ("build", "solve", "LP")}
        row["all s"] = f"{answer['seconds']:.2f}"
        report.tables.append((f"Answer after at most {limit:g} s", [row]))
        report.target(
            "proved optimal",
            "0.11589, LP 0.11200, 5 jumps, within 10 s",
            f"{answer['claim']} {answer['objective']:.5f}, LP {answer['LP']:.5f}, "
            f"{answer['jumps']} jumps, {answer['solve_seconds']:.2f} s",
            answer["claim"] == "optimal"
            and abs(answer["objective"] - 0.11589) < 1e-5
            and abs(answer["LP"] - 0.11200) < 1e-5
            and answer["jumps"] == 5
            and answer["solve_seconds"] <= 10,
        )
    report.note("`all s`: from the rows in memory: binning, build, start, hand-over, solve, check.")
    report.finish()


def run(name: str, limit: float) -> dict[str, Any]:
    """The exact program with its start, and its LP relaxation."""
    frame = read_frame(DATA / f"{name}.csv")
    X, y = read_table(frame, frame.columns[0])
    started = time.perf_counter()
    design = Binner(n_bins=10, max_distinct=10, encoding="onehot").fit_design(X, y)
    program, result = fit_card(
        design, "fused_lasso", progress=False, time_limit=limit, random_state=SEED, **GIVEN
    )
    seconds = time.perf_counter() - started
    session = load(program)
    session.relax()
    relaxed = solve(session, time_limit=limit, progress=False)
    w = result.coefficients
    jumps = sum(w[a] != w[b] for block in design.blocks for a, b in pairwise(block))
    return {
        "claim": str(result.claim),
        "objective": result.objective,
        "loss": result.loss,
        "bound": result.dual_bound,
        "gap": result.gap,
        "LP": relaxed.objective,
        "jumps": int(jumps),
        "total_variation": sum(
            abs(int(w[a]) - int(w[b])) for block in design.blocks for a, b in pairwise(block)
        ),
        "terms": sum(len({int(w[j]) for j in block}) > 1 for block in design.blocks),
        "bins": sum(len(block) for block in design.blocks),
        "warm_start": result.warm_start,
        "build_seconds": result.build_seconds,
        "solve_seconds": result.solve_seconds,
        "LP_seconds": relaxed.solve_seconds,
        "seconds": seconds,
        "size": vars(program.size),
    }


if __name__ == "__main__":
    main()
