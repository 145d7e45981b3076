"""Penalised paths and OWL, beside skglm, glum, celer and sortedl1.

One thread. Every racer runs at the loosest of its tolerances 1e-3, 1e-3.5, ... 1e-11 at which its
worst relative duality gap, computed here, is at most 1e-6 (whole decades where a run takes more
than a second); then all take turns, and a figure is the
median of their CPU seconds. The first call (imports, compiling or reading compiled code) is told
apart. ``--only TEXT`` runs the rows with this text in their name.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
for name in THREADS:  # before NumPy is loaded, here and in the children
    os.environ[name] = "1"

from _common import Report, arguments, in_child  # noqa: E402
from _paths import GAP, LARGE, MORE, RACERS, RACES, Race, run  # noqa: E402


def main() -> None:
    settings = arguments(__doc__ or "", _options)
    report = Report("Penalised paths and OWL", settings, list(RACERS)[1:])
    rows: list[dict[str, Any]] = []
    races = [race for race in [*RACES, LARGE] if settings.only in label(race)]
    for race in races:
        if settings.quick and not settings.only and race.runs < 5:
            continue
        try:
            found = in_child(
                run, race, settings.time_limit or 120.0, settings.quick, patience=3600.0
            )
        except RuntimeError as error:
            report.note(f"{label(race)}: {error}")
            continue
        for by, each in found["by"].items():
            row = {"race": label(race), "shape": found["shape"], "by": by, **each}
            rows.append(row | {"peak MB": found["peak_mb"]})
            print("  ".join(f"{key}={value}" for key, value in rows[-1].items()), flush=True)
        compare(report, race, found["by"])
    report.records = rows
    report.tables = [("CPU seconds", [_cells(row) for row in rows])]
    report.note(f"ionosphere, physionet2012a and adult_raw are read from {MORE.name}")
    report.finish()


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", default="", help="rows whose name holds this text")


def label(race: Race) -> str:
    """What is fitted, in words."""
    what = "L1" if race.falling is None else f"OWL to {race.falling}"
    how = f"{len(race.shares)} lams" if race.together else f"{len(race.shares)} single fits"
    free = "" if race.intercept else ", no intercept"
    return f"{race.name}: {race.loss}, {what}, {how}{free}"


def compare(report: Report, race: Race, by: dict[str, dict[str, Any]]) -> None:
    """The target: the quickest rival's CPU seconds over ours."""
    mine = by["milpscore"]
    rivals = {name: each["cpu"] for name, each in by.items() if name != "milpscore"}
    if not rivals:
        return
    best = min(rivals, key=lambda name: rivals[name])
    ratio = rivals[best] / mine["cpu"]
    report.target(
        f"{label(race)}: {best} / ours",
        f">= 1.0, gap <= {GAP:.0e}",
        f"{ratio:.2f} ({rivals[best]:.3f} s / {mine['cpu']:.3f} s), gap {mine['gap']:.1e}"
        f" ({best} {by[best]['gap']:.1e})",
        ratio >= 1.0 and mine["gap"] <= GAP,
    )


def _cells(row: dict[str, Any]) -> dict[str, Any]:
    return {
        **{key: row[key] for key in ("race", "shape", "by")},
        "tol": f"{row['tol']:.1e}",
        "CPU s": f"{row['cpu']:.3f}",
        "first call s": f"{row['first']:.2f}",
        "worst gap": f"{row['gap']:.1e}",
        "terms at the end": row["terms"],
        "peak MB": row["peak MB"],
    }


if __name__ == "__main__":
    main()
