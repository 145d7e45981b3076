"""Least changes of published cards: how far each number of changes is proved, and what it is worth.

SAPS I on PhysioNet 2012 (the worst values of the first day, urine and ventilation left out), and
DiaRem on patients made as in bench_diarem with a truth of another slope and two other points. Half
of the rows are for the changes, half are new. Beside them: changes found one by one, the best next
one each time (what a committee would do), and a new card of ten lines.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from _common import SEED, Report, arguments
from _paths import MORE
from sklearn.metrics import roc_auc_score

CHANGES, SECONDS = 5, 360.0


def saps() -> tuple[Any, pd.DataFrame, Any]:
    """SAPS I, its features and the deaths of PhysioNet 2012."""
    from milpscore.scorecard import PUBLISHED, published_card

    frame = pd.read_csv(MORE / "physionet2012a.csv")
    names = {"Age": "Age"} | {
        name: f"worst_{name}" for name in PUBLISHED["saps1"].points if name != "Age"
    }
    names["SysABP"] = "worst_NISysABP"
    card = published_card("saps1", names, allow_missing=True)
    return card, frame[[*names.values()]], frame["died_in_hospital"].to_numpy()


def diarem(rows: int = 4000) -> tuple[Any, pd.DataFrame, Any]:
    """DiaRem where younger patients fare worse and insulin counts less than it says."""
    from milpscore.scorecard import published_card

    rng = np.random.default_rng(SEED)
    X = pd.DataFrame(
        {
            "age": rng.normal(50, 10, rows).round(),
            "hba1c": rng.normal(7.5, 1.4, rows).round(1),
            "other_drugs": rng.integers(0, 2, rows),
            "insulin": (rng.random(rows) < 0.4).astype(int),
        }
    )
    card = published_card("diarem")
    total = card.score(X) - 5 * X["insulin"] + 2 * (X["age"] < 40)
    return card, X, (rng.random(rows) < 1 / (1 + np.exp(-(total - 6) / 2.5))).astype(int)


def one_by_one(card: Any, X: pd.DataFrame, y: Any) -> list[float]:
    """Losses of the best next change each time, from the card before."""
    from milpscore import update

    losses, now = [], card
    for _ in range(CHANGES):
        rung = update(now, X, y, changes=1, progress=False).rungs[-1]
        losses.append(rung.loss)
        now = rung.card
    return losses


def main() -> None:
    settings = arguments(__doc__ or "")
    report = Report("Least changes of cards in use", settings)
    from milpscore import update

    rows = []
    made = {"SAPS I, PhysioNet": saps, "DiaRem, made": diarem}
    for name, of in made.items():
        card, X, y = of()
        part = np.random.default_rng(SEED).permutation(len(X))
        here, there = np.array_split(part, 2)
        began = time.process_time()
        changed = update(
            card, X.iloc[here], y[here], changes=1 if settings.quick else CHANGES,
            time_limit=SECONDS, progress=False,
        )  # fmt: skip
        seconds = time.process_time() - began
        greedy = [] if settings.quick else one_by_one(card, X.iloc[here], y[here])
        for rung in changed.rungs:
            risk = rung.card.score(X.iloc[there])
            rows.append({
                "card": name, "changes": rung.changes, "loss": f"{rung.loss:.5f}",
                "bound": f"{rung.bound:.5f}", "claim": str(rung.result.claim),
                "one by one": f"{greedy[rung.changes - 1]:.5f}" if greedy and rung.changes else "",
                "AUC, new rows": f"{roc_auc_score(y[there], risk):.4f}",
                "changed": "; ".join(map(str, rung.changed)),
            })  # fmt: skip
        report.note(f"{name}: all numbers of changes in {seconds:.1f} s of CPU.")
    report.tables.append(("Each number of changes", rows))
    report.records += rows
    report.finish()


if __name__ == "__main__":
    main()
