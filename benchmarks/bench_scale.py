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
    reply = "(u0 >= 2)::INTEGER + (u1 >= 3)::INTEGER + (u2 >= 4)::INTEGER >= 2"
    label = f"({reply}) <> (hash(i, 'y') % 100 < 7)" if mixed else "x0 > 0.4"
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


def again(path: str) -> dict[str, Any]:
    """Reading alone, once more."""
    from milpscore.data import Binner, read_patterns

    read_patterns(path, "y", features=["x0"])
    began, own = time.perf_counter(), time.process_time()
    read_patterns(path, "y", binner=Binner(BINS), memory_limit=LIMIT)
    return _seconds(began, own)


def fitted(path: str, merged: bool) -> dict[str, Any]:
    """A fast card of a table in memory, or of its file, which is merged."""
    import pandas as pd

    from milpscore.data import Binner
    from milpscore.estimators import RiskScoreClassifier

    frame = pd.read_parquet(path)
    X, y = frame.drop(columns="y"), frame["y"]
    model = RiskScoreClassifier(heuristic=True, binner=Binner(BINS), time_limit=3600)
    model.fit(X[:1000], y[:1000])  # kernels
    began, own = time.perf_counter(), time.process_time()
    model = model.fit(path, "y") if merged else model.fit(X, y)
    return {**_seconds(began, own), "objective": model.result_.objective}


def sampled(path: str) -> dict[str, Any]:
    """A card for a table whose rows do not merge, and the bound of a sample."""
    from milpscore.data import Binner
    from milpscore.sampling import fit_sample

    began, own = time.perf_counter(), time.process_time()
    reading = {"binner": Binner(BINS), "memory_limit": LIMIT}
    found = fit_sample(path, "y", rows=20_000, time_limit=60, reading=reading)
    bound = found.bound
    assert bound is not None
    return {
        **_seconds(began, own), "objective": found.result.objective, "bound": bound.bound,
        "proved": bound.sample_bound, "rows": int(found.design.rows.sum()),
    }  # fmt: skip


def descended(path: str) -> dict[str, Any]:
    """A path over lam of all rows, out of core."""
    from milpscore.data import Binner, stored_rows
    from milpscore.penalties import L1
    from milpscore.proximal import path_out_of_core

    began, own = time.perf_counter(), time.process_time()
    cuts = Binner(BINS, encoding="onehot")
    with stored_rows(path, "y", binner=cuts, memory_limit=LIMIT) as rows:
        stored = _seconds(began, own)["cpu"]
        found = path_out_of_core(rows, penalty=L1, n_lams=10, ratio=0.05)
    table = found.table
    return {
        **_seconds(began, own), "stored": stored, "gap": float(table["gap"].max()),
        "passes": int(table["iterations"].max()), "terms": int(table["terms"].max()),
    }  # fmt: skip


def refused(path: str) -> dict[str, Any]:
    """How long it takes to learn that rows do not merge."""
    from milpscore.core.errors import SizeError
    from milpscore.data import Binner, read_patterns

    began, own = time.perf_counter(), time.process_time()
    try:
        read_patterns(path, "y", binner=Binner(BINS), memory_limit=LIMIT)
    except SizeError as error:
        return {**_seconds(began, own), "said": str(error).partition(" distinct")[0]}
    raise RuntimeError("rows without pattern were merged")


def _both(*runs: dict[str, float]) -> str:
    """The seconds of several runs, the CPU's between brackets."""
    return " / ".join(f"{run['wall']:.1f} ({run['cpu']:.1f})" for run in runs)


def _seconds(began: float, own: float) -> dict[str, float]:
    return {"wall": time.perf_counter() - began, "cpu": time.process_time() - own}


def main() -> None:
    settings = arguments(__doc__ or "", _options)
    report = Report("Tables beyond memory, beside DuckDB's bare group-by", settings)
    share = 0.01 if settings.quick else settings.share
    tables, turned, held = [], [], []
    for most, columns in ((1e8, 12), (1e7, 30)):
        rows = int(most * share)
        with tempfile.TemporaryDirectory(dir=settings.folder) as folder:
            path = str(Path(folder) / "table.parquet")
            size = in_child(make, path, rows, columns, True, patience=3600)["gigabytes"]
            ours = in_child(read, path, patience=3600)
            cuts = {f"x{j}": ours["cuts"].get(f"x{j}", []) for j in range(columns)}
            plain, second, last = (
                in_child(job, *given, patience=3600)
                for job, *given in ((bare, path, columns, cuts), (again, path),
                                    (bare, path, columns, cuts))
            )  # fmt: skip
            ratio = (ours["cpu"] + second["cpu"]) / (plain["cpu"] + last["cpu"])
            name = f"{rows:,} x {columns}"
            tables.append({
                "table": name, "GB": size, "patterns": ours["patterns"],
                "bare": _both(plain, last), "read": _both(ours, second), "ratio": f"{ratio:.2f}",
                "tree": f"{ours['tree']:.1f} ({ours['tree_cpu']:.1f})", "claim": ours["claim"],
                "peak": f"{ours['reading_mb']:.0f} MB", "with tree": f"{ours['peak_mb']:.0f} MB",
                "bare peak": f"{plain['peak_mb']:.0f} MB",
            })  # fmt: skip
            report.records += [{"table": name, "bare": [plain, last], "again": second, **ours}]
            print(f"{name}: {ours}, bare {plain}", flush=True)
            report.target(f"{name}: reading", "3x the bare scan", f"{ratio:.2f}x", ratio <= 3)
            report.target(f"{name}: memory", "2 GB", f"{ours['reading_mb']:.0f} MB",
                          ours["reading_mb"] <= 2000)  # fmt: skip
            report.target(f"{name}: rows", f"{rows}", f"{ours['rows']}", ours["rows"] == rows)
            report.target(f"{name}: claim", "optimal", ours["claim"], ours["claim"] == "optimal")
            if columns == 30 and rows > 2e6:  # of fewer rows no more than a million are distinct
                in_child(make, path, rows, columns, False, patience=3600)
                reply = in_child(refused, path, patience=3600)
                turned.append({
                    "table": f"{name}, noise",
                    "seconds": f"{reply['wall']:.1f} ({reply['cpu']:.1f})",
                    "peak": f"{reply['peak_mb']:.0f} MB", "said": reply["said"],
                })  # fmt: skip
                report.records += [{"table": f"{name}, noise", "refused": reply}]
                glanced = "rows looked at" in reply["said"]  # no pass was made over the features
                got = (
                    f"{reply['cpu']:.1f} CPU s; the bare scan of the other took {plain['cpu']:.1f}"
                )
                report.target(f"{name}, noise: refused", "within the first pass", got, glanced)
                for what, job in (("card and bound of a sample", sampled), ("path", descended)):
                    found = in_child(job, path, patience=7200)
                    report.records += [{"table": f"{name}, noise", what: found}]
                    held.append({
                        "what": what, "seconds": f"{found['wall']:.1f} ({found['cpu']:.1f})",
                        "peak": f"{found['peak_mb']:.0f} MB",
                        "found": f"objective {found['objective']:.4f}, bound {found['bound']:.4f}"
                        if "bound" in found else f"10 models, {found['passes']} passes, gaps up to "
                        f"{found['gap']:.1e}, codes stored in {found['stored']:.1f} CPU s",
                    })  # fmt: skip
                    print(f"{what}: {found}", flush=True)
    rows = int(1e6 * share)
    with tempfile.TemporaryDirectory(dir=settings.folder) as folder:
        path = str(Path(folder) / "table.parquet")
        in_child(make, path, rows, 12, True, patience=3600)
        whole, parts = (in_child(fitted, path, merged, patience=3600) for merged in (False, True))
        memory = [{
            "table": f"{rows:,} x 12", "in memory": f"{whole['wall']:.1f} ({whole['cpu']:.1f})",
            "the file, merged": f"{parts['wall']:.1f} ({parts['cpu']:.1f})",
            "one answer": str(whole["objective"] == parts["objective"]),
        }]  # fmt: skip
        report.records += [{"table": f"{rows:,} x 12", "memory": whole, "merged": parts}]
    report.tables = [
        ("Wall seconds (CPU seconds)", tables), ("Refused", turned),
        ("What holds where rows do not merge", held), ("A fast card, reading and all", memory),
    ]  # fmt: skip
    report.note(
        f"memory_limit {LIMIT}, about {BINS} bins a column; the ratio is that of CPU seconds, "
        "reading beside the bare scan, two runs of each in turns; the tree's seconds are those of "
        "fit_card with five terms. The sample has 20,000 rows, its bound 95 % confidence."
    )
    if share != 1:
        report.note(f"Tables of {share:g} times the rows they are to have.")
    report.finish()


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--share", type=float, default=1.0, help="of the rows")
    parser.add_argument("--folder", type=Path, help="where the tables are written meanwhile")


if __name__ == "__main__":
    main()
