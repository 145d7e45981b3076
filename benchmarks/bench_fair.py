"""Equalised odds on adult: cards within a gap of .05, beside fairlearn's reductions and FAIM's way.

Two thirds of the rows are for the fits, the others are new. Cards have five lines, eight, or any
number of them (points to 10, .00001 per term). Groups by sex, and by race in three. Of
fairlearn: the exponentiated gradient over logistic regressions of all columns, of the card's own
columns (at the largest of five bounds with which its answers keep to .05), and over cards (eight
steps at bound .03, five seconds a card). FAIM's way: a thousand logistic regressions near the best
one, sampled from its normal approximation, and the most accurate within .05, if any. Then the front
of what each limit costs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from _common import DATA, SEED, Report, arguments, with_rivals
from sklearn.linear_model import LogisticRegression

LIMIT, LINES, SECONDS = 0.05, (5, 8, None), 60.0
LIMITS = (0.0, 0.02, 0.05, 0.1, 0.2)


def adult() -> tuple[pd.DataFrame, Any, dict[str, Any]]:
    """Adult's columns, its classes, and the groups."""
    frame = pd.read_csv(DATA / "adult.csv")
    race = np.where(frame["White"] == 1, "white", np.where(frame["Black"] == 1, "black", "other"))
    X = frame.drop(columns=["Over50K", "Female"])
    return X, frame["Over50K"].to_numpy(), {"sex": frame["Male"].to_numpy(), "race": race}


def gaps(answers: Any, y: Any, groups: Any) -> float:
    """The larger gap of equalised odds, of answers or of their chances."""
    spread = []
    for label in (0, 1):
        shares = [answers[(groups == g) & (y == label)].mean() for g in np.unique(groups)]
        spread.append(max(shares) - min(shares))
    return float(max(spread))


class Split:
    """A table parted into rows to fit and new rows."""

    def __init__(self, X: pd.DataFrame, y: Any, groups: Any) -> None:
        part = np.random.default_rng(SEED).permutation(len(X))
        cut = 2 * len(X) // 3
        self.fit, self.new = (
            (X.iloc[own].reset_index(drop=True), y[own], groups[own])
            for own in (part[:cut], part[cut:])
        )

    def row(self, name: str, chances: Any, seconds: float, more: str = "") -> dict[str, str]:
        """Accuracy and gaps of a function from columns to answers, or to their chances."""
        row = {"": name}
        for said, (X, y, groups) in (("", self.fit), (", new rows", self.new)):
            p = np.asarray(chances(X), dtype=np.float64)
            row[f"accuracy{said}"] = f"{np.where(y == 1, p, 1 - p).mean():.4f}"
            row[f"gap{said}"] = f"{gaps(p, y, groups):.4f}"
        return row | {"most accuracy": more, "CPU s": f"{seconds:.0f}"}


def cards(split: Split, lines: int | None, seconds: float) -> tuple[dict[str, str], list[str]]:
    """The best card within the limit, with its bound, and its columns; None: of any number."""
    from milpscore import solve
    from milpscore.constraints import MaxGap
    from milpscore.data import make_design
    from milpscore.formulations import slim

    X, y, groups = split.fit
    began = time.process_time()
    rules = [MaxGap(rate, groups, LIMIT) for rate in ("tpr", "fpr")]
    most = 5 if lines else 10
    program = slim(
        make_design(X, y), max_terms=lines, coef_min=-most, coef_max=most,
        l0_penalty=0 if lines else 1e-5, constraints=rules,
    )  # fmt: skip
    result = solve(program, "tree", time_limit=seconds, progress=False)
    card: Any = result.card

    def answers(table: pd.DataFrame) -> Any:
        return table.to_numpy() @ card.coefficients + float(card.intercept) >= 0

    spent = time.process_time() - began
    used = [X.columns[j] for j in np.flatnonzero(card.coefficients)]
    name = f"card of {lines} lines" if lines else f"card without a limit of lines ({len(used)})"
    return split.row(name, answers, spent, f"{1 - result.dual_bound:.4f}"), used


def reduced(
    split: Split, name: str, base: Any, columns: list[str] | None = None,
    bounds: Sequence[float] = (0.05, 0.04, 0.03, 0.02, 0.01), steps: int = 50,
) -> dict[str, str]:  # fmt: skip
    """The exponentiated gradient with the largest bound that keeps to the limit."""
    from fairlearn.reductions import EqualizedOdds, ExponentiatedGradient

    X, y, groups = split.fit
    columns = list(X.columns) if columns is None else columns
    began = time.process_time()
    for bound in bounds:
        limit = EqualizedOdds(difference_bound=bound)
        model = ExponentiatedGradient(base(), limit, max_iter=steps)
        model.fit(X[columns], y, sensitive_features=groups)
        kept = gaps(model._pmf_predict(X[columns])[:, 1], y, groups) <= LIMIT
        if kept:
            break
    mixed = int((model.weights_ > 0).sum())
    return split.row(
        f"{name} ({mixed} mixed, bound {bound})",
        lambda table: model._pmf_predict(table[columns])[:, 1], time.process_time() - began,
    )  # fmt: skip


def sampled(split: Split, draws: int = 1000) -> dict[str, str]:
    """The most accurate of many nearly best regressions within the limit, else the fairest."""
    X, y, groups = split.fit
    began = time.process_time()
    model = LogisticRegression(max_iter=2000, C=1.0).fit(X, y)
    A = np.column_stack([np.ones(len(X)), X.to_numpy(dtype=float)])
    w = np.r_[model.intercept_, model.coef_[0]]
    p = 1 / (1 + np.exp(-A @ w))
    covariance = np.linalg.inv(A.T @ (A * (p * (1 - p))[:, None]) + np.eye(len(w)))
    rng, best = np.random.default_rng(SEED), (True, np.inf, w)
    for _ in range(draws):
        # farther than the data's own uncertainty, as FAIM samples: up to 5 % more loss
        drawn = rng.multivariate_normal(w, covariance * rng.uniform(1.0, 60.0))
        if (
            np.logaddexp(0, -(2 * y - 1) * (A @ drawn)).mean()
            > 1.05 * np.logaddexp(0, -(2 * y - 1) * (A @ w)).mean()
        ):
            continue
        answers = A @ drawn >= 0
        gap = gaps(answers, y, groups)
        value = (gap > LIMIT, gap if gap > LIMIT else -float((answers == y).mean()), drawn)
        best = min(best, value, key=lambda each: each[:2])
    chosen = best[2]
    name = "FAIM's way: " + ("the fairest, beyond the limit" if best[0] else "within the limit")
    return split.row(
        name, lambda table: table.to_numpy() @ chosen[1:] + chosen[0] >= 0,
        time.process_time() - began,
    )  # fmt: skip


def front(split: Split, seconds: float) -> list[dict[str, str]]:
    """What each limit costs a card of five lines."""
    from milpscore.data import make_design
    from milpscore.formulations import slim
    from milpscore.pools import gap_front

    X, y, groups = split.fit
    program = slim(make_design(X, y), max_terms=LINES[0], coef_min=-5, coef_max=5, l0_penalty=0)
    found = gap_front(
        program, groups, ("tpr", "fpr"), LIMITS, solver="tree", time_limit=seconds * len(LIMITS),
        progress=False,
    )  # fmt: skip
    return [
        {
            "limit": f"{row.limit:g}", "accuracy": f"{1 - row.loss:.4f}",
            "most accuracy": f"{1 - row.dual_bound:.4f}", "claim": row.claim,
            "s": f"{row.result.solve_seconds:.0f}",
        }
        for row in found.itertuples()
    ]  # fmt: skip


def main() -> None:
    settings = arguments(__doc__ or "")
    report = Report("Equalised odds on adult", settings, ("fairlearn",))
    with_rivals()
    from milpscore.estimators import SlimClassifier

    seconds = settings.time_limit or (10.0 if settings.quick else SECONDS)

    def logistic() -> Any:
        return LogisticRegression(max_iter=2000, C=1.0)

    def exact() -> Any:
        return SlimClassifier(max_terms=LINES[0], l0_penalty=0.0, time_limit=seconds / 12)

    X, y, groups = adult()
    for by, own in groups.items():
        split, rows = Split(X, y, own), []
        for lines in LINES:
            row, columns = cards(split, lines, seconds)
            rows.append(row)
            if lines:
                name = f"fairlearn, regression of these {lines}"
                rows.append(reduced(split, name, logistic, columns))
        rows.append(reduced(split, "fairlearn, regression of 35 columns", logistic))
        if not settings.quick:
            few = {"bounds": (0.03,), "steps": 8}
            rows.append(reduced(split, "fairlearn, exact cards of 5 lines", exact, **few))
        rows.append(sampled(split, 50 if settings.quick else 1000))
        report.tables.append((f"By {by}: equalised odds within {LIMIT}", rows))
        report.tables.append((f"By {by}: what each limit costs five lines", front(split, seconds)))
        report.records += [{"by": by, **row} for row in rows]
    report.finish()


if __name__ == "__main__":
    main()
