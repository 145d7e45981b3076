"""The card that a plain fit gives, beside those of the defaults of imodels and of FasterRisk.

Twenty tables (``_defaults_sets.py``), the same folds for everybody: ``RiskScoreClassifier()`` with
nothing but its limits set, ``FastRiskScoreClassifier()``, and FasterRisk at five terms after its
own way of cutting columns, each rival in an environment of its own, named by --imodels and
--fasterrisk (the Python of that environment) or by the variables MILPSCORE_IMODELS and
MILPSCORE_FASTERRISK:

    python -m venv DIR && DIR/bin/pip install imodels==3.0.4 six numba
    python -m venv DIR && DIR/bin/pip install fasterrisk==0.1.10

The number of cuts was chosen on half of the sets, marked in the table; the others were looked at
afterwards. Probabilities are kept 1e-6 away from 0 and 1 before their logarithm is taken.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _common import Report, arguments
from _defaults_sets import TUNED_ON, tables
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold

RIVALS = ("imodels", "fasterrisk")
FOLDS, BEHIND, TERMS, DIGITS = 5, 0.005, 5, 4
_CHILD = Path(__file__).with_name("_defaults_rival.py")
_ONE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def main() -> None:
    """All sets, all learners."""
    settings = arguments(__doc__ or "", _own)
    report = Report("The defaults: a plain fit beside its rivals'", settings)
    limit = settings.time_limit or 3.0
    names = settings.sets.split(",") if settings.sets else None
    rows: list[dict[str, Any]] = []
    for name, (X, y) in tables(names):
        folds = _folds(y, 1 if settings.quick else settings.repeats)
        found = {"milpscore": _ours(X, y, folds, limit)}
        for rival in RIVALS:
            python = getattr(settings, rival) or os.environ.get(f"MILPSCORE_{rival.upper()}")
            if python:
                told = _theirs(rival, python, X, y, folds, settings.patience)
                if isinstance(told, str):
                    report.note(f"{rival} on {name}: {told}")
                else:
                    found[rival] = told
        rows.append(_row(name, X, found))
        report.records.append({"set": name, **found})
        print(f"{name}: {rows[-1]}", flush=True)
    report.tables.append(("Means over the folds; * chosen on", rows))
    _judge(report, rows)
    report.note(f"rivals: {', '.join(RIVALS)}; a solve of ours takes at most {limit:g} s")
    report.finish()


def _own(parser: argparse.ArgumentParser) -> None:
    for rival in RIVALS:
        parser.add_argument(f"--{rival}", help="the Python of an environment that has it")
    parser.add_argument("--sets", help="names, with commas between; default: all")
    parser.add_argument("--repeats", type=int, default=2, help="cross-validations of small sets")
    parser.add_argument(
        "--patience", type=float, default=300.0, help="seconds a rival has for a set"
    )


def _folds(y: np.ndarray, repeats: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows of training and of test; a set of 3,000 rows and more is gone through once."""
    times = repeats if len(y) < 3000 else 1
    return [
        (train, test)
        for seed in range(times)
        for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(y, y)
    ]


def _ours(X: pd.DataFrame, y: np.ndarray, folds: list[Any], limit: float) -> dict[str, Any]:
    """A plain fit in every fold, and what its cards look like."""
    from milpscore.estimators import RiskScoreClassifier

    figures: list[tuple[float, ...]] = []
    for train, test in folds:
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the limit is short on purpose
            model = RiskScoreClassifier(time_limit=limit).fit(X.iloc[train], y[train])
        seconds = time.perf_counter() - began
        risk = model.predict_proba(X.iloc[test])[:, 1]
        used = [c for c, w in zip(model.binner_.columns_, model.coef_[0], strict=True) if w]
        digits = max((_digits(c.lower) for c in used if c.kind == "step"), default=0)
        figures.append((*_measures(y[test], risk), seconds, len(used), digits))
    auc, loss, *_ = np.mean(figures, axis=0)
    most = np.max(figures, axis=0)
    return {"auc": auc, "loss": loss, "seconds": float(np.median([f[2] for f in figures])),
            "terms": int(most[3]), "digits": int(most[4])}  # fmt: skip


def _digits(cut: float) -> int:
    """Significant digits of a cut as it prints."""
    return len(Decimal(repr(float(cut))).normalize().as_tuple().digits)


def _measures(y: np.ndarray, risk: np.ndarray) -> tuple[float, float]:
    return float(roc_auc_score(y, risk)), float(log_loss(y, np.clip(risk, 1e-6, 1 - 1e-6)))


def _theirs(
    rival: str, python: str, X: pd.DataFrame, y: np.ndarray, folds: list[Any], patience: float
) -> dict[str, Any] | str:
    """A rival's figures on the same folds, or what went wrong."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        X.to_csv(folder / "table.csv", index=False)
        text = {
            str(c): not pd.api.types.is_numeric_dtype(X[c]) or X[c].dtype == bool for c in X.columns
        }
        (folder / "kinds.json").write_text(json.dumps(text))
        parts = {f"{what}{k}": rows for k, pair in enumerate(folds)
                 for what, rows in zip(("train", "test"), pair, strict=True)}  # fmt: skip
        np.savez(folder / "folds.npz", y=y, count=len(folds), **parts)
        try:
            done = subprocess.run(
                [python, str(_CHILD), rival, str(folder)], capture_output=True, text=True,
                timeout=patience, env={**os.environ, **_ONE}, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"no answer after {patience:g} s"
        if done.returncode:
            return f"failed: {done.stderr.strip().splitlines()[-1]}"
        with np.load(folder / f"{rival}.npz") as answer:
            figures = [
                (
                    *_measures(y[test], answer[f"risk{k}"]),
                    answer[f"seconds{k}"],
                    answer[f"terms{k}"],
                )
                for k, (_, test) in enumerate(folds)
            ]
    auc, loss, *_ = np.mean(figures, axis=0)
    seconds = float(np.median([f[2] for f in figures]))
    return {"auc": auc, "loss": loss, "seconds": seconds, "terms": max(int(f[3]) for f in figures)}


def _told(answer: Any, fold: int) -> tuple[Any, Any]:
    """Seconds and terms of a rival's fit."""
    return answer[f"seconds{fold}"], answer[f"terms{fold}"]


def _row(name: str, X: pd.DataFrame, found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A line of the table: each learner's AUC and loss, our lead over the better AUC."""
    ours, others = found["milpscore"], [v for k, v in found.items() if k != "milpscore"]
    row: dict[str, Any] = {"set": f"{name}{'*' if name in TUNED_ON else ''}", "rows": len(X)}
    for what in ("auc", "loss", "seconds"):
        for by in ("milpscore", *RIVALS):
            row[f"{what} {by}"] = found.get(by, {}).get(what)
    best = max((each["auc"] for each in others), default=None)
    lead = None if best is None else ours["auc"] - best
    return {**row, "lead": lead, "terms": ours["terms"], "digits": ours["digits"]}


def _judge(report: Report, rows: list[dict[str, Any]]) -> None:
    """The targets."""
    leads = [row["lead"] for row in rows if row["lead"] is not None]
    if leads:
        worst = min(leads)
        report.target("AUC beside the better rival, worst set", f">= {-BEHIND}", f"{worst:+.4f}",
                      worst >= -BEHIND)  # fmt: skip
    for rival in RIVALS:
        both = [row for row in rows if row[f"auc {rival}"] is not None]
        if both:
            gain = np.mean([row["auc milpscore"] - row[f"auc {rival}"] for row in both])
            loss = np.mean([row["loss milpscore"] - row[f"loss {rival}"] for row in both])
            report.target(f"mean AUC above {rival}'s", "> 0", f"{gain:+.4f}", gain > 0)
            report.target(f"mean log loss below {rival}'s", "< 0", f"{loss:+.4f}", loss < 0)
    terms, digits = max(row["terms"] for row in rows), max(row["digits"] for row in rows)
    report.target("lines of a card", f"<= {TERMS}", str(terms), terms <= TERMS)
    report.target("digits of a cut", f"<= {DIGITS}", str(digits), digits <= DIGITS)


if __name__ == "__main__":
    main()
