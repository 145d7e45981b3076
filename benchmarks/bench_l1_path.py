"""Penalised paths and OWL, beside skglm, glum, celer and sortedl1.

One thread. Every racer runs at the loosest of its tolerances 1e-3, 1e-3.5, ... 1e-11 at which its
worst relative duality gap, computed here, is at most 1e-6 (whole decades where a run takes more
than a second); then all take turns, and a figure is the
median of their CPU seconds. The first call (imports, compiling or reading code) is reported
apart. ``--only PATTERN`` runs some of the rows.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from typing import Any

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
for name in THREADS:  # before NumPy is loaded, here and in the children
    os.environ[name] = "1"

from _common import Report, arguments, in_child  # noqa: E402
from _paths import GAP, LARGE, MORE, RACERS, RACES, Race, run_all  # noqa: E402


def main() -> None:
    settings = arguments(__doc__ or "", _options)
    report = Report("Penalised paths and OWL", settings, list(RACERS)[1:])
    races = [race for race in [*RACES, LARGE] if re.search(settings.only, label(race))]
    if settings.quick and not settings.only:
        races = [race for race in races if race.runs == 5]
    limit = settings.time_limit or 120.0
    rows = _kept(report, {label(race) for race in races}) if settings.only else []
    # one child for the small ones: a rival compiles for half a minute in each
    together = [race for race in races if race is not LARGE]
    for part in filter(None, (together, [race for race in races if race is LARGE])):
        try:
            found = in_child(run_all, part, limit, settings.quick, patience=7200.0)
        except RuntimeError as error:
            report.note(str(error)[-200:])
            continue
        for race, answer in zip(part, found["answers"], strict=True):
            for by, each in answer["by"].items():
                row = {"race": label(race), "shape": answer["shape"], "by": by, **each}
                rows.append(row | {"peak MB": found["peak_mb"] if race is LARGE else None})
    order = {label(race): k for k, race in enumerate([*RACES, LARGE])}
    rows.sort(key=lambda row: order.get(row["race"], len(order)))
    for name in dict.fromkeys(row["race"] for row in rows):
        compare(report, name, {row["by"]: row for row in rows if row["race"] == name})
    report.records = rows
    report.tables = [("CPU seconds", [_cells(row) for row in rows])]
    if settings.only:
        report.note(f"of this run: the rows of {settings.only!r}; others as last measured")
    report.note(f"ionosphere, physionet2012a and adult_raw are read from {MORE.name}")
    report.finish()


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--only", default="", help="a pattern of rows' names; the results' other rows are kept"
    )


def _kept(report: Report, again: set[str]) -> list[dict[str, Any]]:
    """The rows of the results there are, but for those that are run again."""
    if report.out is None or not report.out.is_file():
        return []
    old = json.loads(report.out.read_text())["records"]
    return [row for row in old if row["race"] not in again]


def label(race: Race) -> str:
    """What is fitted, in words."""
    what = "L1" if race.falling is None else f"OWL to {race.falling}"
    how = f"{len(race.shares)} lams" if race.together else f"{len(race.shares)} single fits"
    free = "" if race.intercept else ", no intercept"
    return f"{race.name}: {race.loss}, {what}, {how}{free}"


def compare(report: Report, race: str, by: dict[str, dict[str, Any]]) -> None:
    """The target: the quickest rival's CPU seconds over ours."""
    mine = by["milpscore"]
    rivals = {name: each["cpu"] for name, each in by.items() if name != "milpscore"}
    if not rivals:
        return
    best = min(rivals, key=lambda name: rivals[name])
    ratio = rivals[best] / mine["cpu"]
    report.target(
        f"{race}: {best} / ours",
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
        "peak MB": row["peak MB"] or "",
    }


if __name__ == "__main__":
    main()
