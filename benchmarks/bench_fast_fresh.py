"""Risk scores without a proof on forty sets nobody tuned to: ours beside imodels and FasterRisk.

Three to ten terms, points in [-5, 5]; the judge is that of bench_risk_fast.py. On
every set, for every number of terms, everybody fits in turn, again and again, one thread each, so
that what else the machine does falls on all alike; times are medians of CPU time, the first fits
left out. imodels' FastRiskScoreClassifier takes the columns as they are, FasterRisk gives the best
card of its pool, fitted once. Half of the sets may be tuned on; the other half is what counts,
and stands apart.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

# first of all: it limits the threads before NumPy is loaded
from bench_risk_fast import REACH, RIVALS, judged as judge  # isort: skip

import numpy as np
from _common import Kept, Report, arguments, median, rival_python
from _fresh_sets import REPORT, TUNE, rows_of
from _rival_fits import RivalFits

TERMS = (3, 5, 8, 10)
ROUNDS, ENOUGH_SECONDS = 7, 1.5
"""Fits of everybody, after the first; no more once they have taken so long."""
MOST_LOSS, MOST_MEDIAN, MOST_WORST = 1e-4, 1.5, 3.0
NOTHING = 1e-6
"""Losses below it are those of totals that part the classes."""


def main() -> None:
    settings = arguments(__doc__ or "", _own_arguments)
    report = Report("Fast risk scores on fresh sets: ours beside imodels and FasterRisk", settings)
    halves = {"tune": list(TUNE), "report": list(REPORT)}
    chosen = [settings.half] if settings.half else list(halves)
    names = [name for half in chosen for name in halves[half]][:: 5 if settings.quick else 1]
    terms = TERMS[1:2] if settings.quick else TERMS
    kept = Kept(settings.kept, "set", "terms", "by")
    rivals = {
        rival: RivalFits(rival, python)
        for rival in RIVALS
        if (python := rival_python(rival)) is not None
    }
    for rival in RIVALS:
        if rival not in rivals:
            report.note(f"{rival} was not run: its figures, if any, are kept of an earlier run")
    for name in names:
        for most in terms:
            runners = [by for by in rivals if kept.get(name, most, by) is None]
            if runners or kept.get(name, most, "milpscore") is None:
                for record in in_turn(name, most, [rivals[by] for by in runners]):
                    kept.add(record)
            known = [kept.get(name, most, by) for by in ("milpscore", *RIVALS)]
            report.records += [record for record in known if record is not None]
    for each in rivals.values():
        each.close()
    for half in chosen:
        rows = compared([r for r in report.records if r["set"] in halves[half]])
        report.tables.append((f"The {half} half", rows))
        if rows:
            _targets(report, half, rows)
    report.note(
        "Losses are mean logistic losses with the best real slope and intercept of a card's "
        f"totals; those below {NOTHING:g} count as 0. Times are medians of the CPU time of warm "
        "fits, everybody's in turn (FasterRisk: its only fit). Our time is that of make_design "
        "and fast_risk_card.",
    )
    report.finish()


def _own_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--half", choices=("tune", "report"), help="one half of the sets alone")
    parser.add_argument("--kept", type=Path, help="a file of finished cases, to go on from")


def in_turn(name: str, terms: int, rivals: list[RivalFits]) -> list[dict[str, Any]]:
    """Everybody's card of a set, judged, and the CPU times of their fits."""
    found: dict[str, dict[str, Any]] = {}
    times: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        X, y = rows_of(name)
        file = Path(folder) / "rows.npz"
        np.savez(file, X=X, y=np.where(y > 0, 1, -1))
        for turn in range(ROUNDS + 1):
            if turn > 2 and sum(map(sum, times.values())) > ENOUGH_SECONDS:
                break
            found["milpscore"], taken = ours(name, X, y, terms)
            times["milpscore"].append(taken)
            for rival in rivals:
                if rival.rival == "fasterrisk" and turn > 0:
                    continue
                reply = rival.fit(file, terms, REACH)
                times[rival.rival].append(reply.pop("cpu"))
                found[rival.rival] = {
                    "set": name, "terms": terms, "by": rival.rival,
                    "version": RIVALS[rival.rival], **reply,
                }  # fmt: skip
    records = []
    for by, record in found.items():
        warm = times[by][1:] or times[by]
        figures = judge({**record, "times": [(each, each) for each in warm]})
        del record["points"]  # of wide tables they are most of the file
        record["re-calibrated"] = figures["re-calibrated"]
        records.append({**record, "CPU ms": 1e3 * median(warm), "fits": len(warm)})
    return records


def ours(name: str, X: Any, y: Any, terms: int) -> tuple[dict[str, Any], float]:
    """Our card of a set, and the CPU seconds from its rows to the card."""
    from milpscore.data import make_design
    from milpscore.search import fast_risk_card

    began = time.process_time()
    found = fast_risk_card(make_design(X, y), terms, -REACH, REACH)
    taken = time.process_time() - began
    shift = float(found.card.intercept) / found.scale
    points = found.card.coefficients.tolist()
    record = {"set": name, "terms": terms, "by": "milpscore", "points": points}
    return {**record, "slope": 1.0 / found.scale, "shift": shift}, taken


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
        row["ms"] = f"{mine['CPU ms']:.1f}"
        for rival, each in found.items():
            row[f"{rival} ms"] = f"{each['CPU ms']:.1f}"
        if "imodels" in found:
            row["x imodels"] = f"{mine['CPU ms'] / found['imodels']['CPU ms']:.2f}"
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
