"""Tables beyond memory: from Parquet to a proved risk score, beside DuckDB's bare group-by.

The tables are generated: columns of whole numbers and decimals in pairs that follow a few hidden
levels, so that rows repeat once they are binned, as those of real tables do; and one of columns
that have nothing to do with each other, which is to be refused. The ratio is that of reading (cuts
found, rows merged) to one bare scan that groups by the same bins with the cuts known beforehand.
Every part runs in a process of its own, whose peak memory is shown; files are removed at the end.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from _common import Report, arguments, in_child, peak_kb

LIMIT = "2GB"
BINS = 5
LEVELS = 6
HIDDEN = 3
DECIMALS = range(0, 12, 2)


def make(path: str, rows: int, columns: int, mixed: bool) -> dict[str, Any]:
    """Write a table: ``mixed`` columns follow hidden levels, others are noise."""
    import duckdb

    hidden = ", ".join(
        f"(hash(i * {HIDDEN} + {k}) % {LEVELS})::INTEGER AS u{k}" for k in range(HIDDEN)
    )
    noise = "(hash(i, {j}) % 800000)::DOUBLE / 1e6"
    parts = []
    for j in range(columns):
        if not mixed:
            parts.append(f"{noise.format(j=j)} AS x{j}")
            continue
        level = f"(u{j % HIDDEN} + {j % 3} * (u{j % HIDDEN} > {j % LEVELS})::INTEGER)"
        whole = f"{level} * 10"
        decimal = f"{level} + {noise.format(j=j)}"
        parts.append(f"{decimal if j in DECIMALS else whole} AS x{j}")
    told = "(u0 >= 2)::INTEGER + (u1 >= 3)::INTEGER + (u2 >= 4)::INTEGER >= 2"
    label = f"({told}) <> (hash(i, 'y') % 100 < 7)" if mixed else "x0 > 0.4"
    with tempfile.TemporaryDirectory() as spill, duckdb.connect() as con:
        names = ", ".join(f"u{k}" for k in range(HIDDEN))
        con.execute(f"SET memory_limit = '{LIMIT}'")
        con.execute(f"SET temp_directory = '{spill}'")
        con.execute(
            f"COPY (SELECT * EXCLUDE (i, {names}), ({label})::INTEGER AS y FROM (SELECT "
            f"{', '.join(parts)}, * FROM "
            f"(SELECT i, {hidden} FROM range({rows}) t(i)))) TO '{path}' (FORMAT parquet)"
        )
    return {"gigabytes": round(Path(path).stat().st_size / 1e9, 2)}


def bare(path: str, columns: int, cuts: dict[str, list[float]]) -> dict[str, Any]:
    """One scan that groups by bins whose cuts are known."""
    import duckdb

    keys = []
    for j in range(columns):
        steps = " ".join(f"WHEN x{j} < {c} THEN {k}" for k, c in enumerate(cuts[f"x{j}"]))
        if not steps:  # it said what another column says: whole numbers, few of them
            keys.append(f"x{j} AS k{j}")
            continue
        keys.append(f"CASE {steps} ELSE {len(cuts[f'x{j}'])} END AS k{j}")
    with tempfile.TemporaryDirectory() as spill, duckdb.connect() as con:
        con.execute(f"SET memory_limit = '{LIMIT}'")
        con.execute(f"SET temp_directory = '{spill}'")
        began, own = time.perf_counter(), time.process_time()
        found = con.execute(
            f"SELECT {', '.join(keys)}, y, count(*) FROM read_parquet('{path}') GROUP BY ALL"
        ).fetchall()
        return {**_seconds(began, own), "patterns": len(found)}


def read(path: str) -> dict[str, Any]:
    """The table as patterns, and the proof of a risk score on them."""
    from milpscore.data import Binner, read_patterns
    from milpscore.fitting import fit_card

    fit_card(read_patterns(path, "y", features=["x0"]), max_terms=1, time_limit=5)  # kernels
    began, own = time.perf_counter(), time.process_time()
    design = read_patterns(path, "y", binner=Binner(BINS), memory_limit=LIMIT)
    reading = {**_seconds(began, own), "reading_mb": round(peak_kb() / 1024, 1)}
    cuts: dict[str, list[float]] = {}
    for column in design.columns:
        cuts.setdefault(column.feature, []).append(float(column.lower))
    began, own = time.perf_counter(), time.process_time()
    _, result = fit_card(design, max_terms=5, time_limit=300)
    solving = _seconds(began, own)
    return {
        **reading, "patterns": len(design.y), "rows": int(design.rows.sum()), "cuts": cuts,
        "tree": solving["wall"], "tree_cpu": solving["cpu"], "claim": str(result.claim),
        "objective": result.objective, "bound": result.dual_bound,
    }  # fmt: skip


def refused(path: str) -> dict[str, Any]:
    """How long it takes to be told that rows do not merge."""
    from milpscore.core.errors import SizeError
    from milpscore.data import Binner, read_patterns

    began, own = time.perf_counter(), time.process_time()
    try:
        read_patterns(path, "y", binner=Binner(BINS), memory_limit=LIMIT)
    except SizeError as error:
        return {**_seconds(began, own), "said": str(error).partition(" in these")[0]}
    raise RuntimeError("rows without pattern were merged")


def _seconds(began: float, own: float) -> dict[str, float]:
    return {"wall": time.perf_counter() - began, "cpu": time.process_time() - own}


def main() -> None:
    settings = arguments(__doc__ or "", _options)
    report = Report("Tables beyond memory, beside DuckDB's bare group-by", settings)
    share = 0.01 if settings.quick else settings.share
    tables, turned = [], []
    for most, columns in ((1e8, 12), (1e7, 30)):
        rows = int(most * share)
        with tempfile.TemporaryDirectory(dir=settings.folder) as folder:
            path = str(Path(folder) / "table.parquet")
            size = in_child(make, path, rows, columns, True, patience=3600)["gigabytes"]
            ours = in_child(read, path, patience=3600)
            cuts = {f"x{j}": ours["cuts"].get(f"x{j}", []) for j in range(columns)}
            plain = in_child(bare, path, columns, cuts, patience=3600)
            ratio = ours["cpu"] / plain["cpu"]
            name = f"{rows:,} x {columns}"
            tables.append({
                "table": name, "GB": size, "patterns": ours["patterns"],
                "bare": f"{plain['wall']:.1f} ({plain['cpu']:.1f})",
                "read": f"{ours['wall']:.1f} ({ours['cpu']:.1f})", "ratio": f"{ratio:.2f}",
                "tree": f"{ours['tree']:.1f} ({ours['tree_cpu']:.1f})", "claim": ours["claim"],
                "peak": f"{ours['reading_mb']:.0f} MB", "with tree": f"{ours['peak_mb']:.0f} MB",
                "bare peak": f"{plain['peak_mb']:.0f} MB",
            })  # fmt: skip
            report.records += [{"table": name, "bare": plain, **ours}]
            print(f"{name}: {ours}, bare {plain}", flush=True)
            report.target(f"{name}: reading", "3x the bare scan", f"{ratio:.2f}x", ratio <= 3)
            report.target(f"{name}: memory", "2 GB", f"{ours['reading_mb']:.0f} MB",
                          ours["reading_mb"] <= 2000)  # fmt: skip
            report.target(f"{name}: rows", f"{rows}", f"{ours['rows']}", ours["rows"] == rows)
            report.target(f"{name}: claim", "optimal", ours["claim"], ours["claim"] == "optimal")
            if columns == 30:
                in_child(make, path, rows, columns, False, patience=3600)
                told = in_child(refused, path, patience=3600)
                turned.append({
                    "table": f"{name}, noise", "seconds": f"{told['wall']:.1f} ({told['cpu']:.1f})",
                    "peak": f"{told['peak_mb']:.0f} MB", "said": told["said"],
                })  # fmt: skip
    report.tables = [("Wall seconds (CPU seconds)", tables), ("Refused", turned)]
    report.note(
        f"memory_limit {LIMIT}, about {BINS} bins a column; the ratio is that of CPU seconds, "
        "reading beside the bare scan; the tree's seconds are those of fit_card with five terms."
    )
    if share != 1:
        report.note(f"Tables of {share:g} times the rows they are to have.")
    report.finish()


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--share", type=float, default=1.0, help="of the rows")
    parser.add_argument("--folder", type=Path, help="where the tables are written meanwhile")


if __name__ == "__main__":
    main()
