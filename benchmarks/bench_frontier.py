"""How far proofs reach: gaps of risk scores and of 0-1 slim at the sizes people have.

The six sets, raw and binned (five cumulative cuts a numeric column), and planted scores with noise
on correlated columns (of 0 and 1, or measured with all digits), at most 5, 8 and 10 terms, points
in [-5, 5], all by ``solver="auto"`` unless ``--solver`` names another one. Risk
scores are logistic at a free scale, as a plain fit makes them (``--scale 1`` fixes it). Kernels are
compiled before. The figures of merit: how many are proved, and the shifted geometric mean of the
gap where the time is up. ``--kept FILE`` writes every finished job at once and goes on from there;
``--before FILE`` lays the kept jobs of an earlier version beside these, ``--beside FILE`` those of
another engine alone (``--solver highs --kept FILE``), and says where that one is ahead.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from _common import SETS, Kept, Report, arguments, in_child, percent, present, uci

FORMULATIONS = ("risk_score", "slim")
TERMS = (5, 8, 10)
PLANTED = tuple(f"planted-{n}-{p}" for n, p in product((500, 5_000, 50_000), (60, 120)))
MEASURED = ("measured-200-10", "measured-1000-20")
GENERATED = (*PLANTED, *MEASURED)
TABLES = (*(f"{name}{binned}" for name in SETS for binned in ("", "-binned")), *GENERATED)
LEVELS = (0.05, 0.01, 1e-4)
BEHIND = 1.3
"""Times another engine's seconds: what takes longer is behind it."""

SHIFT = 1e-3
"""Added to a gap in the geometric mean, so that proofs do not count without end."""

JOB = ("table", "formulation", "terms")
"""What names a line of the table."""


def table(name: str) -> Any:
    """The design of one line of the table."""
    if name in GENERATED:
        made = _planted if name in PLANTED else _measured
        return made(*map(int, name.split("-")[1:]))
    design = uci(name.removesuffix("-binned"))
    if design is None or not name.endswith("-binned"):
        return design
    import pandas as pd

    from milpscore.data import Binner, make_design

    X = pd.DataFrame(design.X, columns=list(design.names))
    binner = Binner(6, encoding="cumulative", max_distinct=6).fit(X)
    return make_design(binner.transform(X), design.y)


def _planted(n: int, p: int) -> Any:
    """Columns of 0 and 1, correlated in groups of five; labels by chance from a score of five."""
    import numpy as np

    from milpscore.data import make_design

    rng = np.random.default_rng(n + p)
    common = np.repeat(rng.normal(size=(n, p // 5)), 5, axis=1)
    X = (common + rng.normal(size=(n, p)) > rng.normal(size=p)).astype(np.int8)
    chosen = rng.choice(p, 5, replace=False)
    total = X[:, chosen] @ np.array([5, -4, 3, -2, 2]) * 0.7
    return make_design(X, (total + rng.logistic(size=n) > np.median(total)).astype(int))


def _measured(n: int, p: int) -> Any:
    """Normal columns, correlated in groups of five; labels by chance from a score of three."""
    import numpy as np

    from milpscore.data import make_design

    rng = np.random.default_rng(n + p)
    X = np.repeat(rng.normal(size=(n, p // 5)), 5, axis=1) + rng.normal(size=(n, p))
    total = X[:, rng.choice(p, 3, replace=False)] @ np.array([3.0, -2.0, 2.0])
    return make_design(X, (total + rng.logistic(size=n) > 0).astype(int))


def searched(
    name: str, formulation: str, terms: int, limit: float, threads: int, scale: str, cpu: bool,
    solver: str,
) -> dict[str, Any]:  # fmt: skip
    """One job: the claim, and the moments at which the gap had fallen to each level."""
    from milpscore.core.clock import Clock
    from milpscore.core.jit import making
    from milpscore.formulations import FORMULATIONS as BUILDERS
    from milpscore.solvers import solve

    now = time.process_time if cpu else time.perf_counter
    Clock.now, making.now = staticmethod(now), now  # type: ignore[misc, method-assign]
    if cpu and solver not in ("auto", "tree"):
        _leave_to_the_watchdog()
    free: Any = scale if scale == "auto" else float(scale)
    given = {"scale": free, "l0_penalty": 1e-6} if formulation == "risk_score" else {}

    def answer(design: Any, terms: int, limit: float) -> Any:
        program = BUILDERS[formulation](design, max_terms=terms, coef_min=-5, coef_max=5, **given)
        return solve(
            program, solver, time_limit=limit, mip_gap=LEVELS[-1], threads=threads,
            second_opinion=False,
        )  # fmt: skip

    answer(_planted(60, 5), 2, 5.0)
    begun = now()
    design = table(name)
    read = now() - begun
    result = answer(design, terms, limit)
    reached = {
        f"to {100 * level:g} %": next(
            (t.seconds for t in result.trace if _gap(t.objective, t.dual_bound) <= level), None
        )
        for level in LEVELS
    }
    return {
        "table": name, "formulation": formulation, "terms": terms, "rows": design.shape[0],
        "columns": design.shape[1], "solver": result.solver, "claim": str(result.claim),
        "objective": result.objective, "bound": result.dual_bound,
        "gap": _gap(result.objective, result.dual_bound), "nodes": result.nodes,
        "seconds": now() - begun - read, **reached,
    }  # fmt: skip


def _leave_to_the_watchdog() -> None:
    """Have HiGHS stopped by our clock: its own knows nothing of the CPU's seconds."""
    from milpscore.solvers import session

    limited = session.limit_run

    def longer(highs: Any, seconds: float, nodes: int | None, *, mip: bool) -> None:
        limited(highs, 30.0 * seconds, nodes, mip=mip)

    session.limit_run = longer


def _gap(objective: float, bound: float) -> float:
    """The relative gap, at most 1; the card of a loss near 0 is proved within 1e-6."""
    if not (math.isfinite(objective) and math.isfinite(bound)):
        return 1.0
    away = objective - bound
    return 0.0 if away <= 1e-6 else min(away / max(abs(objective), 1e-10), 1.0)


def main() -> None:
    settings = arguments(__doc__ or "", _options)
    limit = settings.time_limit or (2.0 if settings.quick else 120.0)
    report = Report("How far proofs reach", settings)
    _, absent = present(SETS)
    report.note(*absent)
    missing = {sentence.split()[1] for sentence in absent}
    files = settings.kept, settings.before, settings.beside
    kept, before, beside = (Kept(file, *JOB) for file in files)
    rows = []
    for name, formulation, terms in product(
        settings.tables or (TABLES[:2] if settings.quick else TABLES),
        settings.formulations or FORMULATIONS,
        settings.terms or TERMS,
    ):
        if name.removesuffix("-binned") in missing:
            continue
        rows.append(
            kept.get(name, formulation, terms)
            or kept.add(
                in_child(
                    searched, name, formulation, terms, limit, settings.threads, settings.scale,
                    settings.cpu, settings.solver, patience=30 * limit + 300,
                )
            )
        )  # fmt: skip
    report.records = rows
    face = "CPU seconds, the machine being busy" if settings.cpu else "seconds"
    report.tables = [
        (
            f"{formulation}, {limit:g} {face}, {settings.threads} thread(s)",
            [_line(row, before, beside) for row in rows if row["formulation"] == formulation],
        )
        for formulation in FORMULATIONS
    ]
    report.note(*_merit(rows, before), *_behind(rows, beside))
    report.finish()


def _line(row: dict[str, Any], before: Kept, beside: Kept) -> dict[str, Any]:
    """One job's line, the gaps of the earlier version and of the other engine beside."""
    earlier, other = (kept.get(*(row[name] for name in JOB)) for kept in (before, beside))
    shown = {k: row[k] for k in ("table", "rows", "columns", "terms", "solver", "claim")}
    shown |= {"objective": f"{row['objective']:.6f}", "bound": f"{row['bound']:.6f}"}
    shown["gap"] = percent(row["gap"])
    if before.file is not None:
        shown["gap before"] = None if earlier is None else percent(earlier["gap"])
    if beside.file is not None:
        shown["gap alone"] = None if other is None else f"{other['solver']} {percent(other['gap'])}"
        shown["seconds alone"] = None if other is None else f"{_proved_in(other):.1f}"
    nodes = row["nodes"] or 0
    shown |= {"nodes": nodes, "nodes/s": f"{nodes / max(row['seconds'], 1e-3):.0f}"}
    moments = {k: row[k] for k in (f"to {100 * level:g} %" for level in LEVELS)}
    return {**shown, **moments, "seconds": f"{row['seconds']:.1f}"}


def _merit(rows: Sequence[dict[str, Any]], before: Kept) -> list[str]:
    """How many are proved, and the mean gap; of the jobs both versions did where there are two."""
    reply = []
    for formulation in FORMULATIONS:
        here = [row for row in rows if row["formulation"] == formulation]
        earlier = [before.get(*(row[name] for name in JOB)) for row in here]
        both = [row for row in earlier if row is not None]
        if both:
            here = [row for row, old in zip(here, earlier, strict=True) if old is not None]
        if here:
            reply.append(
                f"{formulation}: {_told(here)}" + (f"; before: {_told(both)}" if both else "")
            )
    return reply


def _proved_in(row: dict[str, Any]) -> float:
    """Seconds until a gap of 0.01 %, or all of them."""
    reached = row[f"to {100 * LEVELS[-1]:g} %"]
    return float(row["seconds"] if reached is None else reached)


def _behind(rows: Sequence[dict[str, Any]], beside: Kept) -> list[str]:
    """Where another engine alone has the smaller gap, or proves it sooner by more than BEHIND."""
    pairs = [(row, other) for row in rows if (other := beside.get(*(row[name] for name in JOB)))]
    if not pairs:
        return []
    late = []
    for row, other in pairs:
        sure = LEVELS[-1] * (1 + 1e-9)
        both = row["gap"] <= sure and other["gap"] <= sure
        # what ends within a tenth of a second is behind nobody
        slow = both and _proved_in(row) > max(BEHIND * _proved_in(other), 0.1)
        if slow or (not both and row["gap"] > max(other["gap"], sure)):
            late.append(" ".join(str(row[name]) for name in JOB))
    ends = f": {', '.join(late)}" if late else ""
    return [
        f"more than {BEHIND} times behind the other engine on {len(late)} of {len(pairs)}{ends}"
    ]


def _told(rows: Sequence[dict[str, Any]]) -> str:
    proved = sum(row["gap"] <= LEVELS[-1] * (1 + 1e-9) for row in rows)
    mean = math.exp(sum(math.log(row["gap"] + SHIFT) for row in rows) / len(rows)) - SHIFT
    return f"{proved} of {len(rows)} proved, mean gap {percent(mean)}"


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tables", nargs="+", choices=TABLES, help="only these tables")
    parser.add_argument("--formulations", nargs="+", choices=FORMULATIONS)
    parser.add_argument("--terms", nargs="+", type=int, help="only these limits on terms")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--solver", default="auto", help="another engine, to lay beside")
    parser.add_argument("--scale", default="auto", help="of risk scores: auto, or a number")
    parser.add_argument("--kept", type=Path, help="a file of finished jobs, to go on from")
    parser.add_argument("--before", type=Path, help="the kept jobs of an earlier version")
    parser.add_argument("--beside", type=Path, help="the kept jobs of another engine")
    parser.add_argument(
        "--cpu", action="store_true", help="count the CPU's seconds: for a busy machine"
    )


if __name__ == "__main__":
    main()
