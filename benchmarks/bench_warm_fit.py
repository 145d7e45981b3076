"""Warm fits of estimators on binned columns: our fast mode beside imodels' own, in turn.

Five terms, points in [-5, 5], the six sets: once as columns of 0 and 1, by our cuts, which imodels
takes as they are, and once raw, so that each estimator cuts by itself. A fit is the call of
``fit`` from the table in memory to a checked card, the second and later ones of a process; a
process of ours and one of imodels take turns.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from _common import HERE, SETS, Report, arguments, in_child, median, present, rival_python
from bench_risk_fast import REACH, TERMS, rows_of

MOST_WARM, ROUNDS = 1.5, 2
WAYS = {"B": "columns of 0 and 1", "X": "raw columns, cut by the estimator"}


def main() -> None:
    settings = arguments(__doc__ or "")
    report = Report("Warm fits of estimators on binned columns", settings, ["imodels"])
    names, absent = present(SETS)
    report.note(*absent)
    python = rival_python("imodels")
    runs, limit = 3 if settings.quick else 15, settings.time_limit or 900.0
    names = names if python else []
    found = {name: beside(str(python), name, runs, limit) for name in names}
    for way, words in WAYS.items():
        rows = [row_of(name, found[name][way]) for name in names]
        report.tables.append((words.capitalize(), rows))
        for row in rows:
            ratio = float(row["ratio"])
            what = f"{row['set']}: warm fit beside imodels, {words}"
            report.target(what, f"<= {MOST_WARM:g}x", f"{ratio:.2f}x", ratio <= MOST_WARM)
    report.note(
        f"Medians of {ROUNDS * runs} warm fits in CPU time, in {ROUNDS} processes each; imodels' "
        "cuts are others than ours, so that losses on raw columns are of other cards.",
    )
    report.finish()


def beside(python: str, name: str, runs: int, limit: float) -> dict[str, Any]:
    """CPU seconds and losses of our estimator and imodels', a process of each in turn."""
    from milpscore.data import Binner

    X, y = rows_of(name)
    B = Binner().fit_design(X, y).X
    found: dict[str, Any] = {way: {"ours": [], "theirs": []} for way in WAYS}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        np.savez(folder / "data.npz", X=X, B=B, y=y, fits=runs + 1, terms=TERMS, reach=REACH)
        for _ in range(ROUNDS):
            ours = in_child(warm_fits, str(folder), patience=limit)
            subprocess.run(
                [python, str(HERE / "_warm_rival.py"), str(folder)],
                check=True, capture_output=True, timeout=limit,
            )  # fmt: skip
            theirs = json.loads((folder / "answer.json").read_text())
            for way, kept in found.items():
                kept["ours"] += ours[way]["times"][1:]
                kept["theirs"] += theirs[way]["times"][1:]
                kept["losses"] = ours[way]["loss"], theirs[way]["loss"]
    return found


def warm_fits(folder: str) -> dict[str, Any]:
    """Our estimator as often as imodels', at its defaults but for the fast mode."""
    from milpscore.estimators import RiskScoreClassifier

    data = dict(np.load(Path(folder) / "data.npz"))
    answer: dict[str, Any] = {}
    for way in WAYS:
        table, y, taken = data[way], data["y"], []
        for _ in range(int(data["fits"])):
            model = RiskScoreClassifier(heuristic=True, max_terms=TERMS)
            began = time.process_time()
            model.fit(table, y)
            taken.append(time.process_time() - began)
        answer[way] = {"times": taken, "loss": model.result_.loss}
    return answer


def row_of(name: str, found: dict[str, Any]) -> dict[str, Any]:
    """Medians of the warm fits of both."""
    mine, theirs = (1e3 * median(found[who]) for who in ("ours", "theirs"))
    return {
        "set": name,
        "milpscore: CPU ms": f"{mine:.1f}",
        "imodels: CPU ms": f"{theirs:.1f}",
        "ratio": f"{mine / theirs:.2f}",
        "milpscore: loss": f"{found['losses'][0]:.7f}",
        "imodels: loss": f"{found['losses'][1]:.7f}",
    }


if __name__ == "__main__":
    main()
