"""Intervals of stated risks: how often they cover the true mean risk of a total, and their width.

Cohorts of a logistic truth, of 500 and of 1,000 rows; a card of five lines by fast mode, made
again on 100 bootstrap samples. Beside them Wilson's interval of the share observed at a total. Both
are weighted by rows; the truth is the mean risk of 200,000 people with that total.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from _common import Report, arguments

BETA = np.array([1.2, 0.9, -0.8, 0.7, 0.5, -0.4, 0.3, 0.0, 0.0, 0.0])
COHORTS, BOOTSTRAPS, ROWS = 200, 100, (500, 1000)


def cohort(rows: int, seed: int) -> tuple[pd.DataFrame, Any, Any]:
    """Columns, classes and true risks."""
    rng = np.random.default_rng(seed)
    X = (rng.random((rows, len(BETA))) < 0.4).astype(int)
    risk = 1 / (1 + np.exp(1.3 - X @ BETA))
    names = [f"x{j}" for j in range(len(BETA))]
    return pd.DataFrame(X, columns=names), (rng.random(rows) < risk).astype(int), risk


def main() -> None:
    settings = arguments(__doc__ or "")
    report = Report("Intervals of stated risks", settings)
    from milpscore.data import make_design
    from milpscore.fitting import fit_card
    from milpscore.pools import risk_intervals
    from milpscore.scorecard import calibration_table, certified_card

    whole, _, true = cohort(200_000, 10**6)
    rows = []
    for size in ROWS:
        began, seen = time.process_time(), []
        for seed in range(10 if settings.quick else COHORTS):
            X, y, _ = cohort(size, seed)
            design = make_design(X, y)
            program, result = fit_card(
                design, "risk_score", heuristic=True, progress=False, max_terms=5
            )
            card = certified_card(design, result, statement=program.statement)
            found = risk_intervals(
                program, card, bootstraps=BOOTSTRAPS, random_state=seed, progress=False
            )
            totals = card.score(whole)
            shares = calibration_table(card, card.score_design(design.X), y > 0, min_rows=1)
            for name, table in (("made again", found.totals), ("Wilson", shares)):
                for row in table.itertuples():
                    truth = true[totals == row.total].mean()
                    inside = row.lower <= truth <= row.upper
                    seen.append((name, inside, row.upper - row.lower, row.rows))
        frame = pd.DataFrame(seen, columns=["interval", "covers", "width", "rows"])
        for name, part in frame.groupby("interval", sort=False):
            rows.append({
                "rows": size, "interval": name,
                "covers": f"{np.average(part['covers'], weights=part['rows']):.1%}",
                "mean width": f"{np.average(part['width'], weights=part['rows']):.3f}",
                "totals": len(part),
            })  # fmt: skip
        report.note(f"{size} rows: {time.process_time() - began:.0f} s of CPU.")
    report.tables.append(("Coverage of the true mean risk of a total, 95 % asked", rows))
    report.records += rows
    report.finish()


if __name__ == "__main__":
    main()
