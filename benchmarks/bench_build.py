"""The cost of stating a slim program and handing it to HiGHS.

n = 5,000 dense rows of whole numbers 1..49, p = 50, so that no two rows merge. CPU seconds and peak
memory, beside Pyomo's own HiGHS interfaces, linopy (`make bench-rivals`) and bare
highspy. Every method runs in a fresh process, after a tiny model that warms imports up; the median
of several runs, with Python's garbage collection as it is by default and switched off.
"""

from __future__ import annotations

import argparse
import gc
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
from _common import SEED, Report, arguments, in_child, median, peak_kb, resident_kb, rival_version
from _handover import METHODS, Clock

from milpscore.core.design import Column, Design
from milpscore.formulations import slim
from milpscore.solvers import load

BAR_US, BAR_KB = 6.0, 0.3
BAR_SAME_MODEL, BAR_BOTH = 2.0, 1.8
BAR_EDIT_MS = 5.0


def data(n: int, p: int) -> Design:
    """Random whole numbers, random classes."""
    rng = np.random.default_rng(SEED)
    X = rng.integers(1, 50, size=(n, p)).astype(np.float64)
    y = np.where(rng.random(n) < 0.5, 1, -1).astype(np.int64)
    return Design(X, y, np.ones(n), tuple(Column(f"x{j}", f"x{j}") for j in range(p)))


# --- what runs in a child ------------------------------------------------------------------------


def cpu(method: str, n: int, p: int, runs: int, collecting: bool) -> dict[str, Any]:
    """Median CPU seconds of building and handing over."""
    run = METHODS[method]
    run(data(20, p))
    clocks: list[Clock] = []
    highs: Any = None
    for _ in range(runs):
        design = data(n, p)
        del highs
        gc.collect()
        (gc.enable if collecting else gc.disable)()
        clock, highs = run(design)
        gc.enable()
        clocks.append(clock)
    return {
        "build": median([clock["build"] for clock in clocks]),
        "handover": median([clock["handover"] for clock in clocks]),
        "both": median([sum(clock.values()) for clock in clocks]),
        "runs": [sum(clock.values()) for clock in clocks],
        "rows": highs.getNumRow(),
        "columns": highs.getNumCol(),
        "nonzeros": highs.getNumNz(),
    }


def memory(method: str, n: int, p: int, traced: bool) -> dict[str, Any]:
    """Peak KB of one build and hand-over: of Python's heap (NumPy's too), or of the process."""
    run = METHODS[method]
    run(data(20, p))
    design = data(n, p)
    gc.collect()
    if traced:
        tracemalloc.start()
        _, highs = run(design)
        peak = tracemalloc.get_traced_memory()[1] / 1024
        tracemalloc.stop()
    else:
        _forget_peak()
        before = resident_kb()
        _, highs = run(design)
        peak = float(peak_kb() - before)
    return {"kb": peak, "kb_per_nonzero": peak / highs.getNumNz()}


def _forget_peak() -> None:
    """Let Linux count the peak from here on."""
    path = Path("/proc/self/clear_refs")
    if path.exists():
        path.write_text("5")


def edits(n: int, p: int, runs: int) -> dict[str, Any]:
    """Milliseconds (wall) of edits in place on a handed-over program, and of a rebuild."""
    load(slim(data(20, p)))
    started = time.perf_counter()
    session = load(slim(data(n, p)))
    rebuild = time.perf_counter() - started
    highs = session.highs
    taken: dict[str, list[float]] = {"relax": [], "restore": [], "set": []}
    for k in range(runs):
        for name, edit in (
            ("relax", session.relax),
            ("restore", session.restore),
            ("set", lambda: session.set(l0_penalty=1e-3 * (k + 2))),  # noqa: B023 called at once
        ):
            started = time.perf_counter()
            edit()
            taken[name].append(1e3 * (time.perf_counter() - started))
    # the edits have reached the same HiGHS object
    cost = np.asarray(highs.getLp().col_cost_)
    arrived = session.highs is highs and bool(np.isclose(cost, 1e-3 * (runs + 1)).sum() == p)
    medians = {name: median(times) for name, times in taken.items()}
    worst = {f"worst_{name}": max(times) for name, times in taken.items()}
    return {**medians, **worst, "rebuild": 1e3 * rebuild, "arrived": arrived}


# --- the report ----------------------------------------------------------------------------------


def main() -> None:
    settings = arguments((__doc__ or "").partition("\n")[0], _options)
    runs = settings.runs or (2 if settings.quick else 7)
    n, p = (500, 50) if settings.quick else (5000, 50)
    patience = settings.time_limit or 600.0
    report = Report(
        f"Building a slim program of {n:,} x {p} and handing it to HiGHS", settings, ["linopy"]
    )
    report.settings |= {"runs": runs, "n": n, "p": p}
    methods = list(METHODS)
    if rival_version("linopy") is None:
        methods.remove("linopy")
    measured = {}
    for method in methods:
        on = in_child(cpu, method, n, p, runs, True, patience=patience)
        off = in_child(cpu, method, n, p, runs, False, patience=patience)
        heap = in_child(memory, method, n, p, True, patience=patience)
        process = in_child(memory, method, n, p, False, patience=patience)
        measured[method] = {"on": on, "off": off, "heap": heap, "process": process}
        report.records.append({"method": method, **measured[method]})
        print(f"{method}: {on['both']:.3f} s CPU", flush=True)
    edited = in_child(edits, n, p, 20 if settings.quick else 100, patience=patience)
    report.records.append({"method": "edits in place", **edited})
    report.tables = [
        (
            "CPU seconds (median), peak memory per nonzero of one run; gc off: Python's garbage "
            "collection switched off",
            [
                _row(name, each, measured["milpscore"])
                for name, each in measured.items()
                if not name.startswith("our model")
            ],
        ),
        (
            "Handing over the same Pyomo model (milpscore's), CPU seconds",
            [
                _same_row(name, each, measured)
                for name, each in measured.items()
                if name.startswith("our model")
            ],
        ),
        (
            "Edits in place of a handed-over program, ms (wall), beside a rebuild",
            [
                {
                    "edit": name,
                    "median ms": edited[name],
                    "worst ms": edited[f"worst_{name}"],
                    "rebuild / edit": f"{edited['rebuild'] / edited[name]:.0f}x",
                }
                for name in ("relax", "restore", "set")
            ],
        ),
    ]
    add_targets(report, measured, edited)
    report.note(
        "`heap`: Python's allocations, NumPy's included (tracemalloc); `process`: growth of the "
        "resident peak, HiGHS's own copy of the model included.",
        "milpscore's builder, Pyomo's standard-form compiler and its contrib.solver pause the "
        "garbage collector themselves; `gc off` compares all without any collection.",
        "`milpscore`, Pyomo and linopy state the same rows; bare highspy states the textbook's, "
        "with one limit row more.",
    )
    report.finish()


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, help="runs per method (default 7)")


def _row(name: str, each: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    on, off = each["on"], each["off"]
    return {
        "method": name,
        "nonzeros": on["nonzeros"],
        "build": on["build"],
        "hand-over": on["handover"],
        "both": on["both"],
        "us / nonzero": on["both"] / on["nonzeros"] * 1e6,
        "x ours": f"{on['both'] / own['on']['both']:.2f}",
        "both, gc off": off["both"],
        "x ours, gc off": f"{off['both'] / own['off']['both']:.2f}",
        "heap KB / nonzero": each["heap"]["kb_per_nonzero"],
        "process KB / nonzero": each["process"]["kb_per_nonzero"],
    }


def _same_row(name: str, each: dict[str, Any], measured: dict[str, Any]) -> dict[str, Any]:
    own = measured["our model by milpscore"]
    return {
        "by": name.removeprefix("our model by "),
        "hand-over": each["on"]["handover"],
        "x ours": f"{each['on']['handover'] / own['on']['handover']:.2f}",
        "hand-over, gc off": each["off"]["handover"],
        "x ours, gc off": f"{each['off']['handover'] / own['off']['handover']:.2f}",
    }


def add_targets(report: Report, measured: dict[str, Any], edited: dict[str, Any]) -> None:
    """The figures the project promises, garbage collection as it is by default."""
    own = measured["milpscore"]
    us = own["on"]["both"] / own["on"]["nonzeros"] * 1e6
    report.target("CPU per nonzero", f"<= {BAR_US:g} us", f"{us:.2f} us", us <= BAR_US)
    for kind in ("heap", "process"):
        kb = own[kind]["kb_per_nonzero"]
        report.target(
            f"peak memory per nonzero ({kind})", f"<= {BAR_KB} KB", f"{kb:.3f} KB", kb <= BAR_KB
        )
    same = measured["our model by milpscore"]["on"]["handover"]
    for rival in ("appsi", "contrib.solver"):
        ratio = measured[f"our model by {rival}"]["on"]["handover"] / same
        report.target(
            f"the same model handed over, {rival} / ours",
            f">= {BAR_SAME_MODEL:g}x",
            f"{ratio:.2f}x",
            ratio >= BAR_SAME_MODEL,
        )
        ratio = measured[f"Pyomo + {rival}"]["on"]["both"] / own["on"]["both"]
        report.target(
            f"build and hand-over, Pyomo + {rival} / ours",
            f">= {BAR_BOTH}x",
            f"{ratio:.2f}x",
            ratio >= BAR_BOTH,
        )
    slowest = max(edited[name] for name in ("relax", "restore", "set"))
    report.target(
        "edits in place (relax, restore, set)",
        f"<= {BAR_EDIT_MS:g} ms",
        f"{slowest:.2f} ms",
        slowest <= BAR_EDIT_MS and edited["arrived"],
    )


if __name__ == "__main__":
    main()
