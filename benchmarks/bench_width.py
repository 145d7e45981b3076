"""Risk scores of wide and of long tables: when there is a card, a bound above 0, a small gap.

Generated tables of planted points, 0/1 columns or measured ones that are cut, and scikit-learn's
digits and breast cancer. Sets marked "work" may be looked at while the search is worked on, and
generated ones at other seeds (``--seed``); the others are for the report. Points in [-5, 5] at any
scale. Every search runs in a process of its own on one thread; its trace gives the seconds. How the
seconds to a first bound above 0 grow is fitted as powers of rows, columns and terms.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from _common import Report, arguments, in_child
from _fresh_sets import Rows, bundled, gaussian, planted

REACH, TERMS = 5, (3, 5, 8, 12)
ROWS, COLUMNS = (300, 3000, 30_000), (30, 100, 300, 1000, 3000)
MOST_CELLS = 30_000_000
GAPS = (0.1, 0.01, 1e-4)


def table_of(kind: str, n: int, p: int, seed: int) -> tuple[Any, np.ndarray, Any]:
    """Rows, labels, and how to cut the columns, if they are cut."""
    from milpscore.data import Binner

    if kind == "planted":
        return *planted(n, p, 5, 0.5, seed), None
    if kind == "measured":
        X, y = gaussian(n, max(p // 9, 1), seed)
        return pd.DataFrame(X).add_prefix("x"), y, Binner()
    X, y = SETS[kind]()
    return pd.DataFrame(X[:, np.ptp(X, axis=0) > 0]).add_prefix("x"), y, Binner(20)


SETS: dict[str, Callable[[], Rows]] = {
    "digits, 3 (work)": lambda: bundled("digits", lambda y: y == 3),
    "digits, 8": lambda: bundled("digits", lambda y: y == 8),
    "breast cancer": lambda: bundled("breast_cancer", lambda y: y == 0),
}


def case(kind: str, n: int, p: int, k: int, seed: int, limit: float) -> dict[str, Any]:
    """One search: the seconds of its trace to a card, a bound above 0, and each gap."""
    from milpscore.data import make_design
    from milpscore.formulations import risk_score
    from milpscore.solvers import solve

    _search(risk_score(*planted(60, 4, 2, 0.5, 0), max_terms=2, scale="auto"), 10.0, solve)
    X, y, binner = table_of(kind, n, p, seed)
    design = make_design(X, y) if binner is None else binner.fit_design(X, y)
    program = risk_score(
        design, max_terms=k, coef_min=-REACH, coef_max=REACH, scale="auto", l0_penalty=1e-6
    )
    result = _search(program, limit, solve)
    share = float(np.mean(design.y > 0))
    none = -share * np.log(share) - (1.0 - share) * np.log(1.0 - share) - 1e-9
    sure = 2e-6 * k  # the price of terms does not bound the loss

    def first(reached: Callable[[Any], bool]) -> float | None:
        return next((point.seconds for point in result.trace if reached(point)), None)

    line = {"table": kind, "rows": design.shape[0], "columns": design.shape[1], "terms": k}
    line["card"] = first(lambda point: point.objective < none)
    line["bound > 0"] = first(lambda point: point.dual_bound > sure)
    for gap in GAPS:
        line[f"gap {gap:g}"] = first(partial(_within, gap))
    return {**line, "objective": result.objective, "bound": result.dual_bound, "gap": result.gap,
            "nodes": result.nodes}  # fmt: skip


def _within(gap: float, point: Any) -> bool:
    return bool(point.objective - point.dual_bound <= gap * point.objective)


def _search(program: Any, limit: float, solve: Callable[..., Any]) -> Any:
    return solve(program, "tree", time_limit=limit, progress=False)


def growth(lines: list[dict[str, Any]], what: str) -> dict[str, Any]:
    """Powers of rows, columns and terms that fit the seconds to ``what`` best."""
    met = [line for line in lines if line[what]]
    row: dict[str, Any] = {"seconds to": what, "searches": len(met)}
    if len(met) < 8:
        return row
    sizes = np.log([[line[size] for size in ("rows", "columns", "terms")] for line in met])
    powers = np.linalg.lstsq(
        np.c_[sizes, np.ones(len(met))], np.log([line[what] for line in met]), rcond=None
    )[0]
    return row | dict(zip(("rows", "columns", "terms"), powers.round(2), strict=False))


def main() -> None:
    settings = arguments(__doc__ or "", _options)
    limit = settings.time_limit or (5.0 if settings.quick else 60.0)
    report = Report("Wide and long tables: card, bound, gap", settings)
    shapes = [
        (kind, n, p, k)
        for kind in ("planted", "measured")
        for n in settings.rows or (ROWS[:1] if settings.quick else ROWS)
        for p in settings.columns or (COLUMNS[:1] if settings.quick else COLUMNS)
        for k in settings.terms or (TERMS[:1] if settings.quick else TERMS)
        if n * p <= MOST_CELLS
    ]
    shapes += [(name, 0, 0, k) for name in SETS for k in (5, 10) if not settings.quick]
    lines = []
    for kind, n, p, k in shapes:
        seed = n + p + k + (0 if settings.seed is None else settings.seed)
        lines.append(in_child(case, kind, n, p, k, seed, limit, patience=20 * limit + 120))
        print(lines[-1], flush=True)
    report.records = lines
    report.tables = [
        (f"Seconds to each state, at most {limit:g} s a search", lines),
        ("Growth of the seconds", [growth(lines, what) for what in ("card", "bound > 0")]),
    ]
    tall = [line for line in lines if line["rows"] > line["columns"]]
    soon = [line for line in tall if line["bound > 0"] is not None and line["bound > 0"] <= 2.0]
    report.target(
        "more rows than columns: a bound above 0 within 2 s", f"{len(tall)} of {len(tall)}",
        f"{len(soon)} of {len(tall)}", len(soon) == len(tall),
    )  # fmt: skip
    report.note("sets marked 'work' may be looked at while the search is worked on")
    report.finish()


def _options(parser: argparse.ArgumentParser) -> None:
    for name in ("rows", "columns", "terms"):
        parser.add_argument(f"--{name}", nargs="+", type=int)
    parser.add_argument("--seed", type=int, help="added to the seed of every table")


if __name__ == "__main__":
    main()
