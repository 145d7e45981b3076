"""Pools: every risk score, and every card under the 0-1 loss, within 1 % of the best one.

Points in [-5, 5], whole intercept, at most 3 and 5 terms, one thread; compiled before. Each row
says how many cards there are, whether that is all of them, and in how many seconds.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from _common import SETS, Report, arguments, in_child, present, uci

EPSILON = 0.01
TERMS = (3, 5)


def enumerated(name: str, formulation: str, terms: int, limit: float) -> dict[str, Any]:
    """One pool; that of a small program first compiles what is compiled."""
    import numpy as np

    from milpscore.formulations import FORMULATIONS
    from milpscore.pools import pool

    build = FORMULATIONS[formulation]
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(40, 4))
    pool(build(X, X[:, 0] ^ (rng.random(40) < 0.2), max_terms=2), epsilon=0.1, progress=False)
    program = build(uci(name), max_terms=terms)
    begun, used = time.perf_counter(), time.process_time()
    found = pool(program, epsilon=EPSILON, time_limit=limit, progress=False)
    wall, cpu = time.perf_counter() - begun, time.process_time() - used
    shares = found.importance["share"]
    return {
        "set": name,
        "formulation": formulation,
        "terms": terms,
        "rows": len(program.statement.design.merged.y),
        "columns": program.statement.design.shape[1],
        "best": found.optimum,
        "threshold": found.threshold,
        "cards": len(found),
        "answer differently": len(found.distinct()),
        "columns used by some": int((shares > 0).sum()),
        "by all": int((shares == 1).sum()),
        "complete": found.complete,
        "complete up to": found.complete_up_to,
        "stopped": str(found.termination),
        "nodes": found.nodes,
        "CPU s": cpu,
        "wall s": wall,
    }


def main() -> None:
    settings = arguments(__doc__ or "", _options)
    limit = settings.time_limit or (5.0 if settings.quick else 60.0)
    report = Report("Pools: every card within 1 % of the best", settings)
    sets, absent = present(settings.sets or (SETS[:2] if settings.quick else SETS))
    report.note(*absent)
    rows = []
    for name in sets:
        for formulation in settings.formulation:
            for terms in TERMS:
                row = in_child(enumerated, name, formulation, terms, limit, patience=5 * limit + 60)
                rows.append(row)
                print("  ".join(f"{k}={v}" for k, v in row.items()), flush=True)
    report.records = rows
    for formulation in settings.formulation:
        table = [_line(row) for row in rows if row["formulation"] == formulation]
        report.tables.append((f"{formulation}, at most {limit:g} s a pool", table))
    done = sum(row["complete"] for row in rows if row["formulation"] == "risk_score")
    of = sum(row["formulation"] == "risk_score" for row in rows)
    if of:
        report.target("pools of risk scores that are complete", f"{of} of {of}",
                      f"{done} of {of}", done == of)  # fmt: skip
    report.note(
        "Where a pool is not complete, every card below the objective in 'complete' is in it.",
        "'used by all' counts the columns no card of the pool does without.",
    )
    report.finish()


def _options(parser: argparse.ArgumentParser) -> None:
    both = ("risk_score", "slim")
    parser.add_argument("--formulation", nargs="+", default=both, choices=both)
    parser.add_argument("--sets", nargs="+", choices=SETS, help="only these sets")


def _line(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the table."""
    bound = f"below {row['complete up to']:.6f} of {row['threshold']:.6f} ({row['stopped']})"
    return {
        **{key: row[key] for key in ("set", "rows", "columns", "terms")},
        "best": f"{row['best']:.6f}",
        "cards": row["cards"],
        "answer differently": row["answer differently"],
        "columns used": row["columns used by some"],
        "used by all": row["by all"],
        "complete": "yes" if row["complete"] else bound,
        "nodes": row["nodes"],
        "CPU s": f"{row['CPU s']:.2f}",
        "wall s": f"{row['wall s']:.2f}",
    }


if __name__ == "__main__":
    main()
