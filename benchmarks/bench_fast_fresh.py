"""Risk scores without a proof on forty sets nobody tuned to: ours beside imodels and FasterRisk.

Three to ten terms, points in [-5, 5], one run of everybody as in bench_risk_fast.py (environments
and judge are the same): of imodels' FastRiskScoreClassifier the warm fit of columns as they are,
of FasterRisk the best card of its pool. Half of the sets may be tuned on; the other half is what
counts, and stands apart.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from typing import Any

import numpy as np
from _common import Report, arguments, in_child, median
from _fresh_sets import REPORT, TUNE
from bench_risk_fast import RIVALS, judged as judge, ours, rival_arguments, rival_records

TERMS = (3, 5, 8, 10)
MOST_LOSS, MOST_MEDIAN, MOST_WORST = 1e-4, 1.5, 3.0
NOTHING = 1e-6
"""Losses below it are those of totals that part the classes."""


def main() -> None:
    settings = arguments(__doc__ or "", _own_arguments)
    report = Report("Fast risk scores on fresh sets: ours beside imodels and FasterRisk", settings)
    limit = settings.time_limit or 900.0
    halves = {"tune": list(TUNE), "report": list(REPORT)}
    chosen = [settings.half] if settings.half else list(halves)
    names = [name for half in chosen for name in halves[half]][:: 5 if settings.quick else 1]
    records = []
    for terms in TERMS[1:2] if settings.quick else TERMS:
        for name in names:
            records.append(in_child(ours, name, 3, terms, patience=limit))
            for rival in RIVALS:
                fits = 4 if rival == "imodels" else 1
                records += rival_records(
                    report, rival, getattr(settings, rival), [name], fits - 1, limit, terms
                )
            print(name, terms, flush=True)
    for record in records:
        record.update(judge(record))
        del record["points"]  # of wide tables they are most of the file
    report.records = records
    for half in chosen:
        rows = compared([r for r in records if r["set"] in halves[half]])
        report.tables.append((f"The {half} half", rows))
        if rows:
            _targets(report, half, rows)
    report.note(
        "Losses are mean logistic losses with the best real slope and intercept of a card's "
        f"totals; those below {NOTHING:g} count as 0. Times are CPU time of a warm fit, the best "
        "of three (FasterRisk: the first). Our time is that of make_design and fast_risk_card.",
    )
    report.finish()


def _own_arguments(parser: argparse.ArgumentParser) -> None:
    rival_arguments(parser)
    parser.add_argument("--half", choices=("tune", "report"), help="one half of the sets alone")


def compared(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line a set and number of terms: everybody's loss and time."""
    by: dict[tuple[str, int], dict[str, Any]] = defaultdict(dict)
    for record in records:
        by[record["set"], record["terms"]][record["by"]] = record
    rows = []
    for (name, terms), found in sorted(by.items(), key=lambda pair: pair[0][0]):
        mine = found.pop("milpscore")
        row: dict[str, Any] = {"set": name, "k": terms, "loss": f"{mine['re-calibrated']:.6f}"}
        row |= {rival: f"{each['re-calibrated']:.6f}" for rival, each in found.items()}
        best = min((each["re-calibrated"] for each in found.values()), default=np.nan)
        above = (mine["re-calibrated"] - best) / max(best, NOTHING)
        row["above the best"] = f"{above:+.1e}" if mine["re-calibrated"] > NOTHING else "0"
        row["ms"] = f"{mine['least CPU ms']:.1f}"
        for rival, each in found.items():
            row[f"{rival} ms"] = f"{each['least CPU ms']:.1f}"
        if "imodels" in found:
            row["x imodels"] = f"{mine['least CPU ms'] / found['imodels']['least CPU ms']:.2f}"
        rows.append(row)
    return rows


def _targets(report: Report, half: str, rows: list[dict[str, Any]]) -> None:
    """The three figures that count, of one half."""
    above = [float(row["above the best"]) for row in rows]
    behind = sum(value > MOST_LOSS for value in above)
    report.target(
        f"{half}: loss above the best rival, relative",
        f"never more than {MOST_LOSS:g}",
        f"{behind} of {len(rows)} more, worst {max(above):.1e}; below it by as much on "
        f"{sum(value < -MOST_LOSS for value in above)}",
        behind == 0,
    )
    ratios = [float(row["x imodels"]) for row in rows if "x imodels" in row]
    if ratios:
        for word, got, most in (
            ("median", median(ratios), MOST_MEDIAN), ("worst", max(ratios), MOST_WORST)
        ):  # fmt: skip
            report.target(f"{half}: {word} fit time beside imodels", f"<= {most:g}x", f"{got:.2f}x",
                          got <= most)  # fmt: skip


if __name__ == "__main__":
    main()
