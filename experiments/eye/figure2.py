"""Figure 2 of the EYE paper: the naive penalty beside EYE on two equal features."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.eye.data import make_twins
from experiments.eye.measures import log_ratio
from experiments.runner import Progress, Results, RunStore, finish_runs
from milpscore.core.terms import ProxPenalty
from milpscore.metrics import accuracy
from milpscore.penalties import EYE, NaiveCredibility
from milpscore.proximal import path

if TYPE_CHECKING:
    import pandas as pd

BETAS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
LAMS = tuple(np.geomspace(1.0, 1e-4, 25).tolist())

_TEST_ROWS = 10_000
_NULL = 1e-12


@dataclass(frozen=True, eq=False)
class EyeFigure2:
    """The naive penalty and EYE over lam.

    Attributes
    ----------
    runs : DataFrame
        One row a run, penalty, beta (NaN for EYE) and lam: known and unknown (the two
        coefficients), log_ratio (infinite where one is 0, NaN for the null model) and accuracy on
        rows drawn afresh.
    summary : DataFrame
        One row a penalty and beta: share of the models with a coefficient, among those the share
        that is credible (log_ratio > 0), the largest lam at which fewer than half of the runs are,
        and the mean accuracy over all lam and over those in the upper half of the grid.
    """

    runs: pd.DataFrame
    summary: pd.DataFrame


@dataclass(frozen=True)
class _Twins:
    """One run; its results follow from the settings and the run's number."""

    n_samples: int
    betas: tuple[float, ...]
    lams: tuple[float, ...]
    tol: float
    random_state: int

    def settings(self) -> dict[str, Any]:
        return {
            "n_samples": self.n_samples,
            "betas": self.betas,
            "lams": self.lams,
            "tol": self.tol,
            "random_state": self.random_state,
        }

    def __call__(self, run: int) -> dict[str, Any]:
        drawing, testing = np.random.SeedSequence([self.random_state, run]).spawn(2)
        train = make_twins(self.n_samples, random_state=drawing)
        test = make_twins(_TEST_ROWS, random_state=testing)
        penalties: list[tuple[float | None, ProxPenalty]] = [(None, EYE(1.0, expert=train.expert))]
        penalties += [
            (beta, NaiveCredibility(1.0, expert=train.expert, beta=beta)) for beta in self.betas
        ]
        models = []
        for beta, penalty in penalties:
            found = path(train.X, train.y, penalty=penalty, lams=self.lams, tol=self.tol)
            answered = test.X @ found.coefficients.T + found.intercepts >= 0
            models.append(
                {
                    "beta": beta,
                    "coefficients": found.coefficients.tolist(),
                    "accuracy": [accuracy(test.y == 1, right) for right in answered.T],
                    "gap": float(found.table["gap"].max()),
                }
            )
        return {
            "seed": [self.random_state, run],
            "lams": sorted(self.lams, reverse=True),
            "models": models,
        }


def eye_figure2(
    runs: int = 10,
    *,
    out: str | os.PathLike[str] | None = None,
    n_samples: int = 100,
    betas: Sequence[float] = BETAS,
    lams: Sequence[float] = LAMS,
    tol: float = 1e-8,
    n_jobs: int = 1,
    random_state: int = 0,
    progress: Progress | None = None,
) -> EyeFigure2:
    """Repeat Figure 2: log ratio and accuracy of the naive penalty and of EYE over lam.

    Data of :func:`milpscore.data.make_twins`. The paper does not say on which rows it measures the
    accuracy; here they are 10,000 drawn afresh. Its curves come from a stochastic optimiser, ours
    are optima up to ``tol``: the optimal weight of EYE's unknown twin is 0, its log ratio infinite,
    and a finite ratio is what the tolerance leaves.

    Parameters
    ----------
    runs : int
        Draws of the data; the paper shows one.
    out : path-like, optional
        A file of finished runs, one line each; runs it holds are not done again.
    n_samples : int
    betas : sequence of float in (0, 1)
        Of the naive penalty.
    lams : sequence of float
    tol : float
        Relative duality gap at which a model is done.
    n_jobs : int
    random_state : int
    progress : callable, optional
        ``progress(done, total)``.

    Returns
    -------
    EyeFigure2

    Raises
    ------
    OptionError
        A parameter lies outside its range, or ``out`` holds runs with other settings.
    DataError
        ``out`` cannot be read.

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (2018), sec. 4.3.1 and Figure 2.
    """
    twins = _Twins(n_samples, tuple(betas), tuple(lams), tol, random_state)
    store = RunStore(out, "eye-figure2", twins.settings())
    return _figure(finish_runs(store, twins, runs, n_jobs=n_jobs, progress=progress))


def _figure(finished: Results) -> EyeFigure2:
    import pandas as pd

    rows = []
    for run, result in finished.items():
        for model in result["models"]:
            points = zip(result["lams"], model["coefficients"], model["accuracy"], strict=True)
            for lam, (known, unknown), right in points:
                beta = np.nan if model["beta"] is None else model["beta"]
                rows.append(
                    {
                        "run": run,
                        "penalty": "eye" if model["beta"] is None else "naive",
                        "beta": beta,
                        "lam": lam,
                        "known": known,
                        "unknown": unknown,
                        "log_ratio": log_ratio([known, unknown], [1, 0]),
                        "accuracy": right,
                        "gap": model["gap"],
                    }
                )
    table = pd.DataFrame(rows)
    return EyeFigure2(table, _summary(table))


def _summary(table: pd.DataFrame) -> pd.DataFrame:
    """One row a curve."""
    import pandas as pd

    large = table["lam"] >= np.median(table["lam"].unique())
    rows = []
    for (penalty, beta), curve in table.groupby(["penalty", "beta"], dropna=False, sort=True):
        alive = curve[curve["known"].abs() + curve["unknown"].abs() > _NULL]
        credible = (alive["log_ratio"] > 0).groupby(alive["lam"]).mean()
        failing = credible.index[credible < 0.5]
        rows.append(
            {
                "penalty": penalty,
                "beta": beta,
                "not_null": len(alive) / len(curve),
                "credible": float((alive["log_ratio"] > 0).mean()),
                "fails_at_lam": float(failing.max()) if len(failing) else np.nan,
                "accuracy": float(curve["accuracy"].mean()),
                "accuracy_large_lam": float(curve.loc[large[curve.index], "accuracy"].mean()),
            }
        )
    return pd.DataFrame(rows)
