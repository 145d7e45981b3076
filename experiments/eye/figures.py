"""Figures 2 and 4 of the EYE paper: twins over lam; credibility over correlation and knowledge."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import pandas as pd

from experiments.eye.data import (
    TENTHS,
    CredibleData,
    make_collinearity_sweep,
    make_known_share_sweep,
    make_twins,
)
from experiments.eye.descent import adadelta
from experiments.eye.measures import log_ratio
from experiments.eye.methods import (
    METHODS,
    EyeExperiment,
    Printed,
    of_eye,
    of_naive,
    times,
)
from experiments.eye.table2 import credibility, differences
from experiments.runner import Experiment, Finding, Result, Results
from milpscore.core.design import FloatArray
from milpscore.core.statement import ProxPenalty
from milpscore.metrics import accuracy
from milpscore.penalties import EYE, NaiveCredibility
from milpscore.proximal import path

Curve: TypeAlias = tuple[FloatArray, FloatArray, float | None]
"""Coefficients (m, p) and intercepts (m,) of one penalty along lam, and the largest gap."""

_TEST_ROWS = 10_000
_NULL = 1e-12


class EyeFigure2(Experiment, frozen=True, kw_only=True):
    """Log ratio and accuracy of the naive penalty and of EYE over lam, on two equal features.

    The paper does not say on which rows it measures the accuracy; here they are 10,000 drawn
    afresh. Its curves come from a stochastic optimiser (``by="print"``: ADADELTA on subgradients,
    as in Table 2), ours are optima up to ``tol``: the optimal weight of EYE's unknown twin is 0,
    its log ratio infinite, and a finite ratio is what the tolerance leaves.

    Tables: ``runs`` (a row per run, penalty, beta, NaN for EYE, and lam; log_ratio is NaN for the
    null model) and ``summary`` (a row per curve: share of models with a coefficient, among them the
    credible ones, log_ratio > 0; the largest lam at which fewer than half are; mean accuracy over
    all lam, and over the upper half of the grid).

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (2018), sec. 4.3.1 and Figure 2.
    """

    n_samples: int = 100
    betas: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    lams: tuple[float, ...] = tuple(np.geomspace(1.0, 1e-4, 25).tolist())
    tol: float = 1e-8
    by: Literal["exact", "print"] = "exact"
    intercept: bool = True
    printed: Printed = Printed()

    name = "eye-figure2"
    repetitions = 10
    figure = "experiments.eye.plots:twins_figure"

    def __call__(self, run: int) -> Result:
        """The models of one draw."""
        drawing, testing, starting = np.random.SeedSequence([self.random_state, run]).spawn(3)
        train = make_twins(self.n_samples, random_state=drawing)
        test = make_twins(_TEST_ROWS, random_state=testing)
        lams = sorted(self.lams, reverse=True)
        every = self._solved if self.by == "exact" else self._descended
        found = every(train, np.array(lams), np.random.default_rng(starting))
        models = []
        for beta, (coefficients, intercepts, gap) in zip((None, *self.betas), found, strict=True):
            answered = test.X @ coefficients.T + intercepts >= 0
            models.append(
                {
                    "beta": beta,
                    "coefficients": coefficients.tolist(),
                    "accuracy": [accuracy(test.y == 1, right) for right in answered.T],
                    "gap": gap,
                }
            )
        return {"lams": lams, "models": models}

    def _solved(self, train: CredibleData, lams: FloatArray, rng: Any) -> list[Curve]:
        """EYE and the naive penalty of every beta along lam: the optima."""
        penalties: list[ProxPenalty] = [EYE(1.0, expert=train.expert)]
        penalties += [NaiveCredibility(1.0, expert=train.expert, beta=beta) for beta in self.betas]
        paths = [
            path(
                train.X, train.y, penalty=penalty, lams=lams, tol=self.tol,
                intercept=self.intercept,
            )
            for penalty in penalties
        ]  # fmt: skip
        return [
            (found.coefficients, found.intercepts, float(found.table["gap"].max()))
            for found in paths
        ]

    def _descended(self, train: CredibleData, lams: FloatArray, rng: Any) -> list[Curve]:
        """The same as the print's optimiser leaves them; there is no gap."""
        slopes = [of_eye(train.expert), *(of_naive(train.expert, beta) for beta in self.betas)]
        W, b = adadelta(
            train.X, train.y, [times(lam, slope) for slope in slopes for lam in lams.tolist()],
            epochs=self.printed.epochs, batch=self.printed.batch, intercept=self.intercept,
            random_state=rng,
        )  # fmt: skip
        shape = len(slopes), len(lams)
        pairs = zip(W.T.reshape(*shape, -1), b.reshape(shape), strict=True)
        return [(coefficients, intercepts, None) for coefficients, intercepts in pairs]

    def finding(self, results: Results) -> Finding:
        """Every model, and every curve."""
        rows = [
            {
                "run": run,
                "penalty": "eye" if model["beta"] is None else "naive",
                "beta": np.nan if model["beta"] is None else model["beta"],
                "lam": lam,
                "known": w[0],
                "unknown": w[1],
                "log_ratio": log_ratio(w, [1, 0]),
                "accuracy": right,
                "gap": model["gap"],
            }
            for run, result in results.items()
            for model in result["models"]
            for lam, w, right in zip(
                result["lams"], model["coefficients"], model["accuracy"], strict=True
            )
        ]
        runs = pd.DataFrame(rows)
        curves = runs.groupby(["penalty", "beta"], dropna=False, sort=True)
        large = np.median(runs["lam"].unique())
        summary = [
            {"penalty": penalty, "beta": beta, **_curve(part, large)}
            for (penalty, beta), part in curves
        ]
        return Finding(runs=runs, summary=pd.DataFrame(summary))


def _curve(curve: pd.DataFrame, large: float) -> dict[str, float]:
    """What a curve says."""
    alive = curve[curve["known"].abs() + curve["unknown"].abs() > _NULL]
    credible = (alive["log_ratio"] > 0).groupby(alive["lam"]).mean()
    failing = credible.index[credible < 0.5]
    return {
        "not_null": len(alive) / len(curve),
        "credible": float((alive["log_ratio"] > 0).mean()),
        "fails_at_lam": float(failing.max()) if len(failing) else np.nan,
        "accuracy": float(curve["accuracy"].mean()),
        "accuracy_large_lam": float(curve.loc[curve["lam"] >= large, "accuracy"].mean()),
    }


class _Figure4(EyeExperiment, frozen=True, kw_only=True):
    """Symmetric KL by group; tables: ``summary`` (means), ``aucs``, paired ``differences``."""

    repetitions = 10
    figure = "experiments.eye.plots:groups_figure"
    label: ClassVar[str]
    groups: ClassVar[tuple[float, ...]]

    def finding(self, results: Results) -> Finding:
        """The groups of every run."""
        runs = pd.DataFrame(
            [
                {"run": run, "method": method, self.label: at, "sym_kl": value}
                for run, result in results.items()
                for method in METHODS
                # groups that are irrelevant come after these
                for at, value in zip(
                    self.groups, credibility(result, method, self.smoothing), strict=False
                )
            ]
        )
        aucs = pd.DataFrame(
            [
                {"run": run, "method": method, "auc": result["methods"][method]["auc"]}
                for run, result in results.items()
                for method in METHODS
            ]
        )
        means = runs.pivot_table(index=self.label, columns="method", values="sym_kl")
        return Finding(
            label=self.label,
            runs=runs,
            aucs=aucs,
            summary=means[list(METHODS)].rename_axis(columns=None).reset_index(),
            differences=differences(aucs, ("auc",)),
        )


class EyeFigure4a(_Figure4, frozen=True, kw_only=True):
    """Ten groups whose correlation grows from 0 to 0.9; all else as in Table 2 (sec. 4.3.2)."""

    name = "eye-figure4a"
    label = "correlation"
    groups = TENTHS

    def drawn(self, n: int, seed: np.random.SeedSequence) -> CredibleData:
        """A group a correlation."""
        return make_collinearity_sweep(n, random_state=seed)


class EyeFigure4b(_Figure4, frozen=True, kw_only=True):
    """Groups of alike features, none to all of them known; all else as in Table 2 (sec. 4.3.3).

    The groups without a part in the label are not shown. At ``correlation=1``, which the paper
    speaks of, optima are not unique wherever a penalty sees only the sum of their sizes (L1,
    weighted L1, EYE among unknown features): what an algorithm answers is one of many.
    """

    correlation: float = 0.99

    name = "eye-figure4b"
    label = "known features"
    groups = tuple(range(11))

    def drawn(self, n: int, seed: np.random.SeedSequence) -> CredibleData:
        """A group a number of known features, and as many that are irrelevant."""
        return make_known_share_sweep(n, correlation=self.correlation, random_state=seed)
