"""PhysioNet 2012 with its holes: four ways to a card, beside each other on new rows.

A bin for the missing; that and lines for the missing beside age or GCS ("Lactate missing and Age >=
65"); the medians in the holes; five imputed tables in one program (weights 1/5, patients drawn
together). Imputations are scikit-learn's IterativeImputer, learned on the rows of the fit. Five
folds; risks of new rows are means over their imputed tables. Features: worst values of the first
day, their last ones where SAPS has none.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from _common import SEED, Report, arguments
from _paths import MORE
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

IMPUTED, TERMS, SECONDS = 5, 8, 60.0
CUTS = {"Age": [65, 80], "GCS_min": [9]}
FEATURES = (
    "Age", "ICUType", "GCS_min", "HR_max", "NISysABP_min", "SysABP_min", "RespRate_max", "Temp_min",
    "Urine_min", "BUN_max", "Creatinine_max", "Glucose_max", "HCO3_min", "Platelets_min", "WBC_max",
    "Na_min", "K_max", "PaO2_min", "FiO2_max", "Albumin_min", "Bilirubin_max", "Lactate_max",
    "TroponinT_max",
)  # fmt: skip


def physionet() -> tuple[pd.DataFrame, Any]:
    """Features with holes, and the deaths."""
    frame = pd.read_csv(MORE / "physionet2012a.csv")
    return frame[list(FEATURES)], frame["died_in_hospital"].to_numpy()


def filled(
    train: pd.DataFrame, other: pd.DataFrame, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One draw of what may stand in the holes of both."""
    imputer = IterativeImputer(
        sample_posterior=True,
        max_iter=5,
        random_state=seed,
        min_value=train.min().to_numpy(),
        max_value=train.max().to_numpy(),
    )
    made = imputer.fit_transform(train), imputer.transform(other)
    return [pd.DataFrame(each, columns=train.columns).round(2) for each in made]


class Ways:
    """Ways to a card of a table with holes; each returns the model and the risks of new rows."""

    def __init__(self, seconds: float, terms: int) -> None:
        self.options: dict[str, Any] = {"time_limit": seconds, "max_terms": terms}

    def _model(self, **more: Any) -> Any:
        from milpscore import RiskScoreClassifier
        from milpscore.data import Binner

        return RiskScoreClassifier(
            **self.options, **more, binner=Binner(n_bins=5, missing="bin", encoding="onehot")
        )

    def bin(self, X: pd.DataFrame, y: Any, new: pd.DataFrame) -> tuple[Any, Any]:
        """A bin for the missing values of each feature."""
        model = self._model().fit(X, y)
        return model, model.predict_proba(new)[:, 1]

    def products(self, X: pd.DataFrame, y: Any, new: pd.DataFrame) -> tuple[Any, Any]:
        """The same, and lines for the missing beside others."""
        from milpscore.holes import missing_products

        products = missing_products(X, CUTS, min_rows=50)
        model = self._model(constraints=products.constraints).fit(products.added_to(X), y)
        return model, model.predict_proba(products.added_to(new))[:, 1]

    def single(self, X: pd.DataFrame, y: Any, new: pd.DataFrame) -> tuple[Any, Any]:
        """The median of the rows of the fit in every hole."""
        middle = X.median()
        model = self._model().fit(X.fillna(middle), y)
        return model, model.predict_proba(new.fillna(middle))[:, 1]

    def stacked(self, X: pd.DataFrame, y: Any, new: pd.DataFrame) -> tuple[Any, Any]:
        """Imputed tables in one program."""
        from milpscore.holes import stack_imputations

        both = [filled(X, new, seed) for seed in range(IMPUTED)]
        made = stack_imputations([first for first, _ in both], y)
        model = self._model().fit(made.X, made.y, sample_weight=made.weight)
        return model, np.mean([model.predict_proba(each)[:, 1] for _, each in both], axis=0)


def main() -> None:
    settings = arguments(__doc__ or "")
    report = Report("PhysioNet 2012 with its holes", settings)
    X, y = physionet()
    seconds = settings.time_limit or (5.0 if settings.quick else SECONDS)
    folds = list(StratifiedKFold(5, shuffle=True, random_state=SEED).split(X, y))
    ways, rows = Ways(seconds, TERMS), []
    named = {
        "a bin for the missing": ways.bin,
        "and products of the missing": ways.products,
        "medians in the holes": ways.single,
        "five imputed tables": ways.stacked,
    }
    for name, way in named.items():
        found, risks = [], np.full(len(y), np.nan)
        began = time.process_time()
        for train, test in folds[: 1 if settings.quick else None]:
            model, risk = way(X.iloc[train], y[train], X.iloc[test])
            risks[test] = risk
            result = model.result_
            gap = (result.objective - result.dual_bound) / result.objective
            found.append(
                (
                    roc_auc_score(y[test], risk),
                    gap,
                    model.scorecard_.terms,
                    int(np.count_nonzero(model.scorecard_.points)),
                )
            )
        spent = time.process_time() - began
        auc, gap, features, lines = np.array(found).T
        done = np.isfinite(risks)
        brier = float(((risks[done] - y[done]) ** 2).mean())
        logit = np.log(np.clip(risks[done], 1e-6, 1 - 1e-6) / np.clip(1 - risks[done], 1e-6, 1))
        from sklearn.linear_model import LogisticRegression

        slope = float(LogisticRegression(C=np.inf).fit(logit[:, None], y[done]).coef_[0, 0])
        rows.append({
            "": name, "AUC, new rows": f"{auc.mean():.4f}", "least": f"{auc.min():.4f}",
            "most": f"{auc.max():.4f}", "Brier": f"{brier:.4f}", "slope": f"{slope:.2f}",
            "stated - observed": f"{risks[done].mean() - y[done].mean():+.4f}",
            "features": f"{features.mean():.1f}", "lines": f"{lines.mean():.1f}",
            "open": f"{gap.mean():.1%}", "CPU s": f"{spent / len(found):.0f}",
        })  # fmt: skip
    report.tables.append((f"At most {TERMS} columns, {seconds:g} s a fit", rows))
    report.records += rows
    report.finish()


if __name__ == "__main__":
    main()
