"""The card that a plain fit gives, beside those of the defaults of imodels and of FasterRisk.

Twenty tables (``_defaults_sets.py``), the same folds for everybody: ``RiskScoreClassifier()`` with
a limit of time, or with --fast its fast card, ``FastRiskScoreClassifier()``, and FasterRisk at five
terms after its own way of cutting columns, each rival in a process of its own.

The smaller a set, the more often it is cross-validated; FasterRisk, a fit of which takes seconds,
takes part in the first two, and is compared on those. The number of cuts was chosen on half of the
sets, marked in the table; the others were looked at afterwards. Probabilities are kept 1e-6 away
from 0 and 1 before their logarithm is taken.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import tempfile
import time
import warnings
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _common import Report, arguments, rival_python
from _defaults_sets import TUNED_ON, tables
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold

RIVALS = {"imodels": 6, "fasterrisk": 2}
"""Cross-validations a rival takes part in at most: a fit of FasterRisk takes seconds."""
FOLDS, BEHIND, TERMS, DIGITS = 5, 0.005, 5, 4
_ANSWERS = 4000  # of rows outside training that a small set is asked for
_CHILD = Path(__file__).with_name("_defaults_rival.py")
_ONE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def main() -> None:
    """All sets, all learners."""
    settings = arguments(__doc__ or "", _own)
    report = Report("The defaults: a plain fit beside its rivals'", settings, tuple(RIVALS))
    # of a fast card no time decides, and a start that is cut short would be measured otherwise
    given = {"heuristic": True} if settings.fast else {"time_limit": settings.time_limit or 30.0}
    names = settings.sets.split(",") if settings.sets else None
    rows: list[dict[str, Any]] = []
    for name, (X, y) in tables(names):
        folds = _folds(y, 1 if settings.quick else settings.repeats)
        found = {"milpscore": _ours(X, y, folds, given)}
        for rival, most in RIVALS.items():
            python = rival_python(rival)
            if python:
                kept = settings.keep and settings.keep / f"{rival}-{name}.json"
                reply = _theirs(rival, python, X, y, folds[: most * FOLDS], settings.patience, kept)
                if isinstance(reply, str):
                    report.note(f"{rival} on {name}: {reply}")
                else:
                    found[rival] = reply
        rows.append(_row(name, X, found))
        report.records.append({"set": name, **found})
        print(f"{name}: {rows[-1]}", flush=True)
    report.tables.append(("Means over the folds; * chosen on", rows))
    _judge(report, rows)
    parameters = ", ".join(f"{name}={value}" for name, value in given.items())
    report.note(f"rivals: {', '.join(RIVALS)}; ours is RiskScoreClassifier({parameters})")
    if settings.keep:
        report.note(
            "the rivals' figures are kept of an earlier run on the same folds, and their seconds"
            " with them"
        )
    report.finish()


def _own(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fast", action="store_true", help="the default's fast card, unproved")
    parser.add_argument("--sets", help="names, with commas between; default: all")
    parser.add_argument("--repeats", type=int, default=6, help="cross-validations at most")
    parser.add_argument(
        "--patience", type=float, default=900.0, help="seconds a rival has for a set"
    )
    parser.add_argument("--keep", type=Path, help="folder of the rivals' figures, used again")


def _folds(y: np.ndarray, repeats: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows of training and of test: the fewer rows, the more often they are gone through."""
    times = min(repeats, max(_ANSWERS // len(y), 1))
    return [
        (train, test)
        for seed in range(times)
        for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(y, y)
    ]


def _ours(
    X: pd.DataFrame, y: np.ndarray, folds: list[Any], given: dict[str, Any]
) -> dict[str, Any]:
    """A plain fit in every fold, and what its cards look like."""
    from milpscore.estimators import RiskScoreClassifier

    figures: list[tuple[float, ...]] = []
    for train, test in folds:
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a gap, or a card that says no to all
            model = RiskScoreClassifier(**given).fit(X.iloc[train], y[train])
        seconds = time.perf_counter() - began
        score = model.decision_function(X.iloc[test])
        risk = model.predict_proba(X.iloc[test])[:, 1]
        used = [c for c, w in zip(model.binner_.columns_, model.coef_[0], strict=True) if w]
        digits = max((_digits(c.lower) for c in used if c.kind == "step"), default=0)
        proved = float(str(model.result_.claim) == "optimal")
        figures.append((*_measures(y[test], score, risk), seconds, len(used), digits, proved))
    most = np.max(figures, axis=0)
    first = {len(folds[: repeats * FOLDS]): None for repeats in RIVALS.values()}
    return {**_summary(figures), "terms": int(most[3]), "digits": int(most[4]),
            "proved": float(np.mean([each[5] for each in figures])),
            "first": {count: _summary(figures[:count]) for count in first}}  # fmt: skip


def _digits(cut: float) -> int:
    """Significant digits of a cut as it prints."""
    return len(Decimal(repr(float(cut))).normalize().as_tuple().digits)


def _measures(y: np.ndarray, score: np.ndarray, risk: np.ndarray) -> tuple[float, float]:
    """AUC of the scores, as scikit-learn's scorer takes it of whoever has some; log loss."""
    return float(roc_auc_score(y, score)), float(log_loss(y, np.clip(risk, 1e-6, 1 - 1e-6)))


def _theirs(
    rival: str, python: str, X: pd.DataFrame, y: np.ndarray, folds: list[Any], patience: float,
    kept: Path | None,
) -> dict[str, Any] | str:  # fmt: skip
    """A rival's figures on the same folds, or what went wrong; ``kept`` may hold the figures."""
    parts = {f"{what}{k}": rows for k, pair in enumerate(folds)
             for what, rows in zip(("train", "test"), pair, strict=True)}  # fmt: skip
    asked = hashlib.sha256(b"".join(rows.tobytes() for rows in (y, *parts.values()))).hexdigest()
    if kept is not None and kept.is_file():
        held: dict[str, Any] = json.loads(kept.read_text())
        if held.pop("asked") == asked:
            return held
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        X.to_csv(folder / "table.csv", index=False)
        text = {
            str(c): not pd.api.types.is_numeric_dtype(X[c]) or X[c].dtype == bool for c in X.columns
        }
        (folder / "kinds.json").write_text(json.dumps(text))
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
                (*_measures(y[test], answer[f"score{k}"], answer[f"risk{k}"]),
                 *(float(answer[f"{what}{k}"])
                 for what in ("seconds", "terms")))
                for k, (_, test) in enumerate(folds)
            ]  # fmt: skip
    reply = {**_summary(figures), "terms": int(max(f[3] for f in figures))}
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps({**reply, "asked": asked}))
    return reply


def _summary(figures: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Mean AUC and log loss, the middle of the seconds, of AUC, loss and seconds by fold."""
    auc, loss = np.mean([f[:2] for f in figures], axis=0).tolist()
    seconds = float(np.median([f[2] for f in figures]))
    return {"auc": auc, "loss": loss, "seconds": seconds, "folds": len(figures)}


def _row(name: str, X: pd.DataFrame, found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A line of the table: everybody's figures, our lead in AUC on the folds a rival took part in.

    ``lead`` is that over the better one, ``proved`` the share of our cards proved to be the best.
    """
    ours = found["milpscore"]
    row: dict[str, Any] = {"set": f"{name}{'*' if name in TUNED_ON else ''}", "rows": len(X)}
    for what in ("auc", "loss", "seconds"):
        for by in ("milpscore", *RIVALS):
            row[f"{what} {by}"] = found.get(by, {}).get(what)
    for rival in RIVALS:
        theirs, same = found.get(rival), {}
        if theirs is not None:
            same = {k: ours["first"][theirs["folds"]][k] - theirs[k] for k in ("auc", "loss")}
        row |= {f"{what} over {rival}": same.get(what) for what in ("auc", "loss")}
    leads = [row[f"auc over {rival}"] for rival in RIVALS if rival in found]
    return {**row, "lead": min(leads, default=None), "terms": ours["terms"],
            "digits": ours["digits"], "proved": ours["proved"]}  # fmt: skip


def _judge(report: Report, rows: list[dict[str, Any]]) -> None:
    """The targets."""
    leads = [row["lead"] for row in rows if row["lead"] is not None]
    if leads:
        report.target("AUC beside the better rival, worst set", f">= {-BEHIND}",
                      f"{min(leads):+.4f}", min(leads) >= -BEHIND)  # fmt: skip
        behind = [row["set"] for row in rows if (row["lead"] or 0.0) < -BEHIND]
        report.target("sets on which it is further behind", "0", ", ".join(behind) or "0",
                      not behind)  # fmt: skip
        met = [row for row in rows if row["lead"] is not None]
        chosen = [row["lead"] for row in met if row["set"].endswith("*")]
        others = [row["lead"] for row in met if not row["set"].endswith("*")]
        for which, those in (("all", leads), ("chosen on", chosen), ("others", others)):
            mean = float(np.mean(those)) if those else 0.0
            report.target(f"mean AUC beside the better rival, {which}", "> 0", f"{mean:+.4f}",
                          mean > 0)  # fmt: skip
    for rival in RIVALS:
        both = [row for row in rows if row[f"auc {rival}"] is not None]
        if both:
            gain = float(np.mean([row[f"auc over {rival}"] for row in both]))
            loss = float(np.mean([row[f"loss over {rival}"] for row in both]))
            report.target(f"mean AUC above {rival}'s", "> 0", f"{gain:+.4f}", gain > 0)
            report.target(f"mean log loss below {rival}'s", "< 0", f"{loss:+.4f}", loss < 0)
    terms, digits = max(row["terms"] for row in rows), max(row["digits"] for row in rows)
    report.target("lines of a card", f"<= {TERMS}", str(terms), terms <= TERMS)
    report.target("digits of a cut", f"<= {DIGITS}", str(digits), digits <= DIGITS)


if __name__ == "__main__":
    main()
