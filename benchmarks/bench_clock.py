"""Wall clock against the time limit: every call ends within its limit, a tenth of it and 1 s.

Forty cases: raw and binned columns, 10^5 rows, 2,000 columns, and rules, by four ways to a card,
at limits of 2, 5 and 10 s, through an estimator or ``fit_card``. Kernels are compiled before;
seconds in which they are loaded stand outside the clock, as they do for a user. With ``--kept``
every finished case is written to a file at once, and a later run begins where that one ended.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from _common import Kept, Report, arguments, in_child

KINDS = ("raw", "binned", "rows", "columns", "rules")
WAYS = ("slim", "risk_score", "hinge", "heuristic")
LIMITS = ((2.0, 10.0), (5.0, 10.0), (2.0, 5.0), (5.0, 2.0))


def table(kind: str) -> tuple[Any, Any]:
    """X and y of one kind, generated with a fixed seed."""
    import numpy as np

    rng = np.random.default_rng(0)
    rows, columns = {"rows": (100_000, 30), "columns": (600, 2_000)}.get(kind, (3_000, 15))
    if kind in ("raw", "binned", "rows"):
        X = rng.normal(size=(rows, columns)).round(2)
    else:
        X = (rng.random((rows, columns)) < 0.2).astype(np.float64)
    score = X[:, :5] @ np.array([2.0, -1.5, 1.0, 1.0, -0.5])
    return X, (score + rng.logistic(size=rows) > np.median(score)).astype(int)


def fitted(kind: str, way: str, limit: float, cpu: bool) -> dict[str, Any]:
    """One timed call, after a small one of the same way that compiles and imports."""
    import numpy as np

    from milpscore.core.clock import Clock
    from milpscore.core.jit import making

    now = time.process_time if cpu else time.perf_counter
    Clock.now, making.now = staticmethod(now), now  # type: ignore[misc, method-assign]
    small = np.random.default_rng(1).integers(0, 2, size=(60, 4)).astype(float)
    _call("rules" if kind == "rules" else "raw", way, small, small[:, 0].astype(int), 2.0)
    X, y = table(kind)
    begun, made = (time.perf_counter(), time.process_time()), making.seconds
    result = _call(kind, way, X, y, limit)
    wall, own = time.perf_counter() - begun[0], time.process_time() - begun[1]
    kernels = making.seconds - made
    return {
        "data": kind,
        "way": way,
        "limit": limit,
        "wall": wall,
        "cpu": own,
        "kernels": kernels,
        "over": (own if cpu else wall) - kernels - limit,
        "solver": result.solver,
        "claim": str(result.claim),
        "objective": result.objective,
    }


def _call(kind: str, way: str, X: Any, y: Any, limit: float) -> Any:
    """The call from its first line to its last; binning inside."""
    from milpscore.constraints import AtMost, Sign
    from milpscore.data import Binner, make_design
    from milpscore.estimators import HingeClassifier, RiskScoreClassifier, SlimClassifier
    from milpscore.fitting import fit_card

    if kind in ("raw", "binned") and way != "heuristic":
        made = {"slim": SlimClassifier, "risk_score": RiskScoreClassifier, "hinge": HingeClassifier}
        binner = Binner(4, encoding="cumulative") if kind == "binned" else None
        return made[way](binner=binner, time_limit=limit).fit(X, y).result_
    design = make_design(X, y)
    names = list(design.names)
    rules = [Sign(names[1], "-"), AtMost(1, names[:3])] if kind == "rules" else []
    formulation = "risk_score" if way == "heuristic" else way
    return fit_card(
        design, formulation, max_terms=5, constraints=rules, time_limit=limit,
        heuristic=way == "heuristic", progress=False,
    )[1]  # fmt: skip


def cases(settings: argparse.Namespace) -> list[tuple[str, str, float]]:
    """The cases asked for: data, way, limit."""
    return [
        (kind, way, limit)
        for kind in settings.kinds or KINDS
        for way, limits in zip(WAYS, LIMITS, strict=True)
        for limit in (limits[:1] if settings.quick else limits)
    ]


def main() -> None:
    settings = arguments(__doc__ or "", _options)
    report = Report("One clock: seconds of a call against its limit", settings)
    kept = Kept(settings.kept, "data", "way", "limit")
    rows = [
        kept.get(*case)
        or kept.add(in_child(fitted, *case, settings.cpu, patience=20 * case[2] + 300))
        for case in cases(settings)
    ]
    report.records = rows
    shown = ("wall", "cpu", "kernels", "over")
    table = [
        {**{k: f"{v:.2f}" if k in shown else v for k, v in row.items()}, "met": _met(row)}
        for row in rows
    ]
    face = "CPU seconds of the process, the machine being busy" if settings.cpu else "wall clock"
    report.tables = [(f"By the {face}", table)]
    met = sum(map(_met, rows))
    wanted = f"all {len(rows)} calls within their limit, a tenth of it and 1 s"
    report.target("one clock", wanted, f"{met} of {len(rows)}", met == len(rows))
    report.finish()


def _met(row: dict[str, Any]) -> bool:
    """Whether the call kept to its limit, a tenth of it and 1 s."""
    return bool(row["over"] <= 0.1 * row["limit"] + 1.0)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kinds", nargs="+", choices=KINDS, help="only these data")
    parser.add_argument("--kept", type=Path, help="a file of finished cases, to go on from")
    parser.add_argument(
        "--cpu", action="store_true", help="count the CPU's seconds: for a busy machine"
    )


if __name__ == "__main__":
    main()
