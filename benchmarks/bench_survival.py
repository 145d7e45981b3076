"""Survival scores: how far they are proved, and what they are worth beside rivals on new rows.

Proofs: five and eight terms at any scale, of the plain bins, by the tree within 60 s on one thread.
New rows: five repetitions of five folds of the same five terms by the fast mode (whose card is held
against the proved one above), beside AutoScore-Survival's recipe (Xie et al. 2022: a survival
forest ranks the features, the first ones are cut at quantiles, Cox's coefficients are divided by
the least and rounded), a Cox model of the same bins that is cut down to five columns and rounded,
and Cox's model of all features without bins. Every rival's total gets a Cox baseline of its own.
C is Harrell's; Brier scores are integrated between the tenth and the ninetieth percentile of the
times of events.

Needs scikit-survival and lifelines, which bring the tables: pip install 'milpscore[survival]'.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from _common import SEED, Report, arguments
from joblib import Parallel, delayed

WORK = ("rossi", "gbsg2", "veterans", "planted 1")
REPORTED = ("whas500", "flchain", "aids", "lung", "planted 2", "planted 3")
TERMS, SECONDS, FOLDS, REPEATS = 5, 60.0, 5, 5


def table_of(name: str) -> tuple[pd.DataFrame, Any]:
    """Features, and events with times as scikit-survival has them."""
    from milpscore.data import survival_target

    if name.startswith("planted"):
        return planted(int(name[-1]))
    if name in ("rossi", "lung"):
        from lifelines import datasets

        frame = datasets.load_rossi() if name == "rossi" else datasets.load_lung()
        time, event = ("week", "arrest") if name == "rossi" else ("time", "status")
        X = frame.drop(columns=[time, event])
        return X, survival_target(frame[event], frame[time])
    from sksurv import datasets

    load: dict[str, Callable[[], Any]] = {
        "gbsg2": datasets.load_gbsg2, "whas500": datasets.load_whas500,
        "flchain": datasets.load_flchain, "aids": datasets.load_aids,
        "veterans": datasets.load_veterans_lung_cancer,
    }  # fmt: skip
    X, y = load[name]()
    event, ends = (y[part] for part in y.dtype.names)
    kept = ends > 0
    X = X[kept].reset_index(drop=True).drop(columns=["chapter"], errors="ignore")
    for column in X.columns:
        if X[column].dtype.kind not in "fiub":
            X[column] = X[column].astype(str)
    return X, survival_target(event[kept], ends[kept].astype(np.float64))


def planted(seed: int, rows: int = 2000) -> tuple[pd.DataFrame, Any]:
    """A cohort whose hazard is that of a card of five lines among twelve features."""
    from milpscore.data import survival_target

    rng = np.random.default_rng([SEED, seed])
    X = pd.DataFrame(rng.normal(size=(rows, 12)).round(2), columns=[f"x{j}" for j in range(12)])
    cuts, points = rng.normal(0.0, 0.7, 5), rng.integers(1, 6, 5) * rng.choice([-1, 1], 5)
    total = (X.to_numpy()[:, :5] >= cuts) @ points
    time = rng.exponential(np.exp(-total / 4.0))
    lost = rng.uniform(0.0, np.quantile(time, 0.8), rows)
    return X, survival_target(time <= lost, np.minimum(time, lost).round(4) + 1e-3)


def proofs_of(name: str, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """How far cards of the whole table are proved."""
    from milpscore.data import Binner
    from milpscore.data.survival import structured, timed
    from milpscore.fitting import fit_card

    X, y = table_of(name)
    event, ends, *_ = structured(y)
    base = Binner().fit_design(X, event.astype(int), positive=1)
    design = timed(base, event, ends, np.zeros(len(ends)))
    records = []
    for size in sizes:
        given: dict[str, Any] = {"max_terms": size, "progress": False}
        began = time.process_time()
        _, fast = fit_card(design, "survival_score", heuristic=True, **given)
        middle = time.process_time()
        _, result = fit_card(design, "survival_score", time_limit=SECONDS, **given)
        seconds = time.process_time() - middle
        records.append({
            "set": name, "rows": len(design.y), "columns": design.shape[1], "terms": size,
            "objective": result.objective, "gap": result.gap, "claim": str(result.claim),
            "nodes": result.nodes, "CPU s": seconds, "fast CPU s": middle - began,
            "fast card": fast.objective / result.objective - 1.0,
        })  # fmt: skip
    return records


# ------------------------------------------------------------------ rivals


class Total:
    """A rival's total of lines, with a baseline by Cox's model of it."""

    def __init__(self, lines: int, totals: Callable[[pd.DataFrame], Any], X: Any, y: Any) -> None:
        from sksurv.linear_model import CoxPHSurvivalAnalysis

        self.lines, self.totals = lines, totals
        held = totals(X)[:, None].astype(np.float64)
        self.model = CoxPHSurvivalAnalysis(alpha=1e-6).fit(held, y)

    def predict(self, X: pd.DataFrame) -> Any:
        """Risk scores."""
        return self.totals(X)

    def curves(self, X: pd.DataFrame, times: Any) -> Any:
        """Survival functions at times, (n, number of times)."""
        found = self.model.predict_survival_function(self.totals(X)[:, None].astype(np.float64))
        return np.array([curve(np.clip(times, *curve.domain)) for curve in found])


def dummies(X: pd.DataFrame, like: list[str] | None = None) -> pd.DataFrame:
    """All features as numbers, missing ones by their mean."""
    wide = pd.get_dummies(X, drop_first=True, dtype=float)
    wide = wide.fillna(wide.mean())
    return wide if like is None else wide.reindex(columns=like, fill_value=0.0)


def autoscore(X: pd.DataFrame, y: Any, most: int) -> Total:
    """AutoScore-Survival's recipe with scikit-survival's forest: at most ``most`` features."""
    from sklearn.inspection import permutation_importance
    from sksurv.ensemble import RandomSurvivalForest
    from sksurv.linear_model import CoxPHSurvivalAnalysis

    wide = dummies(X)
    part = np.random.default_rng(SEED).permutation(len(wide))[:1500]
    forest = RandomSurvivalForest(100, min_samples_leaf=15, random_state=SEED)
    forest.fit(wide.iloc[part], y[part])
    rank = permutation_importance(forest, wide.iloc[part], y[part], n_repeats=3, random_state=SEED)
    chosen = [wide.columns[j] for j in np.argsort(-rank.importances_mean)[:most]]
    cuts = {}
    for name in chosen:
        values = np.unique(np.quantile(wide[name], [0.05, 0.2, 0.8, 0.95]))
        cuts[name] = values[values > wide[name].min()]

    def lines(rows: pd.DataFrame) -> Any:
        held = dummies(rows, list(wide.columns))
        parts = [(held[name].to_numpy()[:, None] >= cuts[name]) for name in chosen]
        # each value belongs to one bin, as in AutoScore's table
        bins = [
            np.diff(np.column_stack([part, np.zeros(len(held), bool)]) * -1.0) for part in parts
        ]
        return np.column_stack(bins)

    coefficients = CoxPHSurvivalAnalysis(alpha=0.01).fit(lines(X), y).coef_
    unit = np.abs(coefficients[np.abs(coefficients) > 1e-3]).min(initial=np.inf)
    points = np.rint(coefficients / unit) if np.isfinite(unit) else coefficients
    points = np.rint(points * min(1.0, 100.0 / max(np.abs(points).max(), 1.0)))
    return Total(int(np.count_nonzero(points)), lambda rows: lines(rows) @ points, X, y)


def rounded_cox(X: pd.DataFrame, y: Any, most: int) -> Total:
    """Cox's model of our bins, the least coefficients dropped one by one, rounded to points."""
    from sksurv.linear_model import CoxPHSurvivalAnalysis

    from milpscore.data import Binner, apply_columns
    from milpscore.data.survival import structured

    event, *_ = structured(y)
    binner = Binner()
    design = binner.fit_design(X, event.astype(int), positive=1)
    left = np.arange(design.shape[1])
    while True:
        coefficients = CoxPHSurvivalAnalysis(alpha=0.01).fit(design.X[:, left], y).coef_
        if len(left) <= most:
            break
        size = np.abs(coefficients) * design.X[:, left].std(axis=0)
        left = np.delete(left, np.argsort(size)[: max(1, (len(left) - most) // 4)])
    points = np.zeros(design.shape[1])
    points[left] = np.rint(5.0 * coefficients / max(np.abs(coefficients).max(), 1e-9))

    def totals(rows: pd.DataFrame) -> Any:
        return apply_columns(design.columns, rows, unseen="zero") @ points

    return Total(int(np.count_nonzero(points)), totals, X, y)


def full_cox(X: pd.DataFrame, y: Any) -> Total:
    """Cox's model of all features as they are."""
    from sksurv.linear_model import CoxPHSurvivalAnalysis

    wide = dummies(X)
    mean, spread = wide.mean(), wide.std().replace(0.0, 1.0)
    fitted = CoxPHSurvivalAnalysis(alpha=0.1).fit((wide - mean) / spread, y)

    def totals(rows: pd.DataFrame) -> Any:
        return ((dummies(rows, list(wide.columns)) - mean) / spread).to_numpy() @ fitted.coef_

    return Total(wide.shape[1], totals, X, y)


class Ours:
    """The fast survival score."""

    def __init__(self, X: pd.DataFrame, y: Any) -> None:
        from milpscore.estimators import SurvivalScoreEstimator

        self.model = SurvivalScoreEstimator(max_terms=TERMS, heuristic=True).fit(X, y)
        self.lines = int(np.count_nonzero(self.model.coef_))

    def predict(self, X: pd.DataFrame) -> Any:
        """Risk scores."""
        return self.model.predict(X)

    def curves(self, X: pd.DataFrame, times: Any) -> Any:
        """Survival functions at times."""
        return 1.0 - self.model.predict_risk(X, np.minimum(times, self.model.unique_times_[-1]))


def followed(train: Any, test: Any) -> tuple[Any, Any]:
    """Both followed up to the same time, as weights by the censoring of one of them need it."""
    from milpscore.data import survival_target

    end = min(train["time"].max(), test["time"].max())
    return tuple(  # type: ignore[return-value]
        survival_target(part["event"] & (part["time"] < end), np.minimum(part["time"], end))
        for part in (train, test)
    )


def folds_of(name: str, repeat: int) -> list[dict[str, Any]]:
    """Every method on the folds of one repetition."""
    warnings.simplefilter("ignore")
    from sklearn.model_selection import StratifiedKFold
    from sksurv.metrics import concordance_index_censored, integrated_brier_score

    X, y = table_of(name)
    records = []
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=repeat)
    for train, test in folds.split(X, y["event"]):
        here, there = X.iloc[train].reset_index(drop=True), X.iloc[test].reset_index(drop=True)
        seen, new = followed(y[train], y[test])
        grid = np.unique(np.quantile(new["time"][new["event"]], np.linspace(0.1, 0.9, 25)))
        made = {
            "milpscore": Ours(here, y[train]),
            "AutoScore-Survival": autoscore(here, y[train], TERMS),
            "Cox, rounded": rounded_cox(here, y[train], TERMS),
            "Cox, all features": full_cox(here, y[train]),
        }
        for by, model in made.items():
            scores = model.predict(there)
            found = concordance_index_censored(y["event"][test], y["time"][test], scores)[0]
            brier = integrated_brier_score(seen, new, model.curves(there, grid), grid)
            records.append({
                "set": name, "by": by, "C": found, "Brier": brier, "lines": model.lines
            })  # fmt: skip
    return records


def main() -> None:
    warnings.simplefilter("ignore")
    settings = arguments(__doc__ or "")
    report = Report("Survival scores: proofs, and new rows beside rivals", settings)
    names = WORK[:1] if settings.quick else (*WORK, *REPORTED)
    proofs = [
        row for name in names for row in proofs_of(name, (TERMS,) if settings.quick else (5, 8))
    ]
    report.tables.append(("Proofs within 60 s", [
        {
            **row, "objective": f"{row['objective']:.5f}", "gap": f"{row['gap']:.2%}",
            "CPU s": f"{row['CPU s']:.1f}", "fast CPU s": f"{row['fast CPU s']:.2f}",
            "fast card": f"{row['fast card']:+.2%}",
        }
        for row in proofs
    ]))  # fmt: skip
    report.records += proofs
    work = [(name, repeat) for name in names for repeat in range(1 if settings.quick else REPEATS)]
    made = Parallel(n_jobs=2, return_as="generator")(delayed(folds_of)(*each) for each in work)
    folds: list[dict[str, Any]] = []
    for each, part in zip(work, made, strict=True):
        folds += part
        print(*each, pd.DataFrame(part).groupby("by")[["C", "Brier"]].mean().to_dict("index"))
    report.records += folds
    frame = pd.DataFrame(folds)
    mean = frame.groupby(["set", "by"], sort=False)[["C", "Brier", "lines"]].mean()
    rows = []
    for name in names:
        row: dict[str, Any] = {"set": name, "half": "work" if name in WORK else "reported"}
        for by in dict.fromkeys(frame["by"]):
            own = mean.loc[(name, by)]
            row[by] = f"{own['C']:.4f} / {own['Brier']:.4f} ({own['lines']:.0f})"
        rows.append(row)
    report.tables.append(("C / integrated Brier score (lines), mean over the folds", rows))
    for by in ("AutoScore-Survival", "Cox, rounded", "Cox, all features"):
        for half in dict.fromkeys(row["half"] for row in rows):
            own = [name for name in names if (name in WORK) == (half == "work")]
            c = [mean.loc[(n, "milpscore")]["C"] - mean.loc[(n, by)]["C"] for n in own]
            b = [mean.loc[(n, "milpscore")]["Brier"] - mean.loc[(n, by)]["Brier"] for n in own]
            report.note(
                f"Beside {by}, {half} half: C {np.mean(c):+.4f} on average, from {min(c):+.4f} to "
                f"{max(c):+.4f}; Brier score {np.mean(b):+.4f} (lower is better)."
            )
    report.finish()


if __name__ == "__main__":
    main()
