"""Risk scores without a proof: ours beside imodels' FastRiskScoreClassifier and FasterRisk.

Five terms, points in [-5, 5], the raw columns. Every card is re-calibrated by one and the same
code: a real slope and intercept on its totals. Each rival runs in a process of its own.

A second table fits our estimators in their fast mode, from the rows to a checked card;
bench_warm_fit.py times them on binned columns, beside imodels' own.
"""

from __future__ import annotations

import os
from typing import Any

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
for name in THREADS:  # before NumPy is loaded, here and in the children
    os.environ[name] = "1"

import time  # noqa: E402

import numpy as np  # noqa: E402
from _common import SETS, Report, arguments, in_child, median, present, rival_python  # noqa: E402
from _fresh_sets import rows_of  # noqa: E402

TERMS, REACH = 5, 5
RIVALS = {"imodels": "3.0.4", "fasterrisk": "0.1.10"}
MOST_LOSS, MOST_TIME = 1e-6, 3.0


def main() -> None:
    settings = arguments(__doc__ or "")
    report = Report("Fast risk scores: ours beside imodels and FasterRisk", settings, tuple(RIVALS))
    limit = settings.time_limit or 900.0
    names, absent = present(SETS)
    report.note(*absent)
    runs = 3 if settings.quick else 25
    records = []
    records += [in_child(ours, name, runs, patience=limit) for name in names]
    for rival in RIVALS:
        records += rival_records(report, rival, rival_python(rival), names, runs, limit)
    for record in records:
        record.update(judged(record))
        print({key: record[key] for key in ("by", "set", "re-calibrated", "CPU ms")}, flush=True)
    report.records = records
    report.tables = [
        ("Cards", [card_row(r) for name in names for r in records if r["set"] == name]),
        ("Fit time, median of the warm fits", times(records, names)),
    ]
    for name in names:
        compare(report, name, {r["by"]: r for r in records if r["set"] == name})
    quick = [in_child(estimators, name, runs, patience=limit) for name in names]
    report.tables.append(("Estimators with heuristic=True, columns as they are, warm", quick))
    report.note(
        "Our time is that of make_design and fast_risk_card from the rows in memory; rows are "
        "read before. The first fit, which compiles or reads what was compiled, stands apart.",
        "Times are compared in CPU time. A loss of 0 is that of totals that part the classes.",
    )
    report.finish()


def ours(name: str, runs: int, terms: int = TERMS) -> dict[str, Any]:
    """Our card, and the seconds of each fit."""
    from milpscore.data import make_design
    from milpscore.search import fast_risk_card

    X, y = rows_of(name)
    taken = []
    for _ in range(runs + 1):
        cpu, wall = time.process_time(), time.perf_counter()
        found = fast_risk_card(make_design(X, y), terms, -REACH, REACH)
        taken.append((time.process_time() - cpu, time.perf_counter() - wall))
    return {
        "set": name,
        "terms": terms,
        "by": "milpscore",
        "times": taken,
        "points": found.card.coefficients.tolist(),
        "slope": 1.0 / found.scale,
        "shift": float(found.card.intercept) / found.scale,
    }


def estimators(name: str, runs: int) -> dict[str, Any]:
    """Our estimators in their fast mode: median CPU time of a warm fit, and the objective."""
    from milpscore.estimators import RiskScoreClassifier, SlimClassifier

    X, y = rows_of(name)
    row: dict[str, Any] = {"set": name}
    for kind in (RiskScoreClassifier, SlimClassifier):
        model = kind(binner=None, max_terms=TERMS, heuristic=True)
        taken = []
        for _ in range(runs + 1):
            began = time.process_time()
            model.fit(X, y)
            taken.append(time.process_time() - began)
        row[f"{kind.formulation}: CPU ms"] = f"{1e3 * median(taken[1:]):.1f}"
        row[f"{kind.formulation}: objective"] = f"{model.result_.objective:.7f}"
    return row


def rival_records(
    report: Report,
    rival: str,
    python: str | None,
    names: list[str],
    runs: int,
    limit: float,
    terms: int = TERMS,
) -> list[dict[str, Any]]:
    """A rival's cards on all sets, or a note why there are none."""
    from experiments.rivals.fitting import fit_rival
    from milpscore.data import make_design

    if not python:
        return []
    records = []
    for name in names:
        card = fit_rival(
            make_design(*rows_of(name)), rival=rival, python=python, max_terms=terms, reach=REACH,
            fits=runs + 1, time_limit=limit,
        )  # fmt: skip
        if card.error:
            report.note(f"skipped: {rival} on {name}, {terms} terms: {card.error}")
            continue
        if card.version != RIVALS[rival]:
            report.note(f"{rival} is {card.version}, not {RIVALS[rival]}")
        records.append(
            {
                "set": name,
                "terms": terms,
                "by": rival,
                "version": card.version,
                "times": card.times,
                "points": card.points.tolist(),
                "slope": card.slope,
                "shift": card.shift,
            }
        )
    return records


def judged(record: dict[str, Any]) -> dict[str, Any]:
    """Losses of a card, own and re-calibrated, and the medians of its times."""
    from experiments.rivals.fitting import mean_logistic, recalibrated_loss

    X, y = rows_of(record["set"])
    points = np.array(record["points"])
    if np.count_nonzero(points) > record["terms"] or np.abs(points).max(initial=0) > REACH:
        raise RuntimeError(f"{record['by']}, {record['set']}: the card breaks the limits")
    totals, signs = X @ points, np.where(y > 0, 1, -1)
    first, *rest = record["times"]
    warm = rest or [first]
    return {
        "own loss": mean_logistic(record["slope"] * totals + record["shift"], signs),
        "re-calibrated": recalibrated_loss(totals, signs),
        "CPU ms": 1e3 * median([cpu for cpu, _ in warm]),
        "least CPU ms": 1e3 * min(cpu for cpu, _ in warm),
        "ms": 1e3 * median([wall for _, wall in warm]),
        "first fit s": first[1],
    }


def card_row(record: dict[str, Any]) -> dict[str, Any]:
    """One card of the table."""
    points = np.array(record["points"])
    used = np.flatnonzero(points)
    return {
        "set": record["set"],
        "by": record["by"],
        "re-calibrated loss": f"{record['re-calibrated']:.7f}",
        "own loss": f"{record['own loss']:.7f}",
        "terms": len(used),
        "points (column: points)": ", ".join(f"{j}: {points[j]:.0f}" for j in used),
    }


def times(records: list[dict[str, Any]], names: list[str]) -> list[dict[str, Any]]:
    """One line a set: milliseconds of everybody."""
    rows = []
    for name in names:
        row: dict[str, Any] = {"set": name}
        for record in records:
            if record["set"] == name:
                by = record["by"]
                row[f"{by}: CPU ms"] = f"{record['CPU ms']:.1f}"
                row[f"{by}: ms"] = f"{record['ms']:.1f}"
                row[f"{by}: first s"] = f"{record['first fit s']:.2f}"
        rows.append(row)
    return rows


def compare(report: Report, name: str, by: dict[str, dict[str, Any]]) -> None:
    """The two targets: loss beside each rival, time beside the faster one."""
    mine = by["milpscore"]
    rivals = {rival: by[rival] for rival in RIVALS if rival in by}
    if not rivals:
        return
    best = min(rivals, key=lambda rival: rivals[rival]["re-calibrated"])
    excess = mine["re-calibrated"] - rivals[best]["re-calibrated"]
    report.target(
        f"{name}: re-calibrated loss beside {best}",
        f"at most {MOST_LOSS:g} above",
        f"{mine['re-calibrated']:.7f} against {rivals[best]['re-calibrated']:.7f} ({excess:+.1e})",
        excess <= MOST_LOSS,
    )
    quick = min(rivals, key=lambda rival: rivals[rival]["CPU ms"])
    ratio = mine["CPU ms"] / rivals[quick]["CPU ms"]
    report.target(
        f"{name}: fit time beside {quick}",
        f"<= {MOST_TIME:g}x",
        f"{ratio:.2f}x ({mine['CPU ms']:.1f} ms / {rivals[quick]['CPU ms']:.1f} ms)",
        ratio <= MOST_TIME,
    )


if __name__ == "__main__":
    main()
