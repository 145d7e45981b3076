"""The card of the largest AUC beside that of the least log loss, on rows that neither has seen.

Three terms, points in [-5, 5], stratified folds. The first is ``auc``, the second ``risk_score`` at
any scale; both by the tree, within the same seconds, and a proof within them is counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _common import SEED, Report, arguments
from _fresh_sets import rows_of

NAMES = ("haberman", "bankruptcy", "mammo", "breastcancer", "iris binned", "diabetes binned")
TERMS, FOLDS, SECONDS = 3, 5, 20.0


def fold_of(name: str, train: Any, test: Any) -> list[dict[str, Any]]:
    """Both cards of one fold: what they reach on its rows, and on the others."""
    from sklearn.metrics import roc_auc_score

    from milpscore.data import make_design
    from milpscore.formulations import auc, risk_score
    from milpscore.solvers import solve

    X, y = rows_of(name)
    design = make_design(X[train], y[train])
    common: dict[str, Any] = {"max_terms": TERMS, "l0_penalty": 0.0}
    programs = {
        "AUC": auc(design, **common),
        "log loss": risk_score(design, **common),
    }
    records = []
    for by, program in programs.items():
        result = solve(program, "tree", time_limit=SECONDS, progress=False)
        assert result.card is not None
        points = result.card.coefficients
        records.append(
            {
                "set": name,
                "by": by,
                "here": float(roc_auc_score(y[train], X[train] @ points)),
                "new rows": float(roc_auc_score(y[test], X[test] @ points)),
                "proved": result.gap == 0.0 or str(result.claim) == "optimal",
            }
        )
    return records


def main() -> None:
    from sklearn.model_selection import StratifiedKFold

    settings = arguments(__doc__ or "")
    report = Report("The largest AUC beside the least log loss, on new rows", settings)
    names = NAMES[:1] if settings.quick else NAMES
    for name in names:
        X, y = rows_of(name)
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(X, y)
        for train, test in folds:
            report.records += fold_of(name, train, test)
    rows = []
    for name in names:
        row: dict[str, Any] = {"set": name}
        for by in ("AUC", "log loss"):
            own = [each for each in report.records if (each["set"], each["by"]) == (name, by)]
            for where in ("here", "new rows"):
                row[f"{by}, {where}"] = f"{np.mean([each[where] for each in own]):.4f}"
            row[f"{by}, proved"] = f"{sum(each['proved'] for each in own)} of {len(own)}"
        rows.append(row)
    report.tables.append(("AUC of three terms", rows))
    gains = [float(row["AUC, new rows"]) - float(row["log loss, new rows"]) for row in rows]
    report.note(
        f"On new rows the card of the largest AUC is {np.mean(gains):+.4f} on average beside that "
        f"of the least log loss; it is ahead on {sum(g > 0 for g in gains)} of {len(gains)} sets."
    )
    report.finish()


if __name__ == "__main__":
    main()
