"""Figures 3, 4, 7 and 8 of the ternary paper over the margin, with the exact optimum beside."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.runner import Progress, Results, RunStore, finish_runs
from experiments.ternary.runs import METHODS, POINTS, TernaryRuns, count_binary, in_order
from experiments.ternary.shape import shape_of
from milpscore.core.design import FloatArray

if TYPE_CHECKING:
    import pandas as pd

GAMMAS = (0.1, 0.5, 1.0, 2.0, 5.0, 7.5, 10.0, 15.0, 20.0, 25.0, 35.0, 50.0, 75.0, 100.0, 200.0)


@dataclass(frozen=True, eq=False)
class TernaryFigures:
    """The relaxation, its roundings, the searches and the exact optimum over the margin.

    Attributes
    ----------
    runs : DataFrame
        One row a run, gamma and method: objective (mean hinge loss; of draws their mean), error
        (share of wrong answers on the training rows), and, the same for all methods of a run and
        gamma, the exact program's bound and claim, and in_order: whether relaxed <= bound <= exact
        <= every rounding.
    binary : DataFrame
        One row a gamma, Figure 3: doubled weights that are 0 or 1, mean and least over the runs, at
        a vertex of the LP's optima and at an interior point, out of ``dimension``.
    summary : DataFrame
        One row a gamma, Figures 7 and 8: mean error of every method.
    objectives : DataFrame
        One row a gamma: mean objective of every method.
    proofs : DataFrame
        One row a gamma: means of the relaxation's objective, of the bound and of the exact
        program's objective, how many runs have a proved optimum, and in how many the order holds.
    shape : DataFrame
        One row a statement of the paper: figure, reproduced ("yes", "no"), statement, and here
        (what was measured).
    gammas : ndarray of shape (g,), ascending
    weights : ndarray of shape (runs, g, 2, dimension)
        The doubled weights, Figure 4: those of the vertex, then those of the interior point.
    """

    runs: pd.DataFrame
    binary: pd.DataFrame
    summary: pd.DataFrame
    objectives: pd.DataFrame
    proofs: pd.DataFrame
    shape: pd.DataFrame
    gammas: FloatArray
    weights: FloatArray


def ternary_figures(
    runs: int = 10,
    *,
    out: str | os.PathLike[str] | None = None,
    gammas: Sequence[float] = GAMMAS,
    n_samples: int = 38,
    n_features: int = 69,
    n_draws: int = 100,
    n_restarts: int = 10,
    time_limit: float = 5.0,
    node_limit: int | None = None,
    n_jobs: int = 1,
    random_state: int = 0,
    progress: Progress | None = None,
) -> TernaryFigures:
    """Repeat Figures 3, 4, 7 and 8: binary weights, path and errors as functions of the margin.

    Data of :func:`milpscore.data.make_ternary`, the paper's being private; ternary weights,
    threshold 0. The relaxation is the LP over the doubled features. The figures' curve after
    rounding is one draw of randomised rounding: here the mean of ``n_draws`` draws of the weights
    at a vertex, and at an interior point as the paper's solver gives it; beside it stand nearest
    rounding, the best of the draws, derandomised rounding (all of the vertex), the paper's local
    search, random-restart hill climbing, and what the paper could not show: the best ternary
    weights of all, with the bound that was proved within the limits. It starts from the best card
    of the others.

    Parameters
    ----------
    runs : int
        Draws of the data; the paper has one set.
    out : path-like, optional
        A file of finished runs, which are not done again.
    gammas : sequence of float
        Margins, in the unit of the data.
    n_samples, n_features : int
    n_draws : int
        Draws of randomised rounding.
    n_restarts : int
        Climbs of hill climbing.
    time_limit, node_limit :
        Of each exact program. Where time stops one, its card and bound depend on the machine; a
        limit on nodes does not.
    n_jobs : int
    random_state : int
    progress : callable, optional
        ``progress(done, total)``.

    Returns
    -------
    TernaryFigures

    Raises
    ------
    OptionError
        A parameter lies outside its range, or ``out`` holds runs with other settings.
    DataError
        ``out`` cannot be read.

    References
    ----------
    Chevaleyre, Koriche & Zucker, "Learning linear classifiers with ternary weights from metagenomic
    data" (2013), sec. 3.1, 4 and 5, Figures 3, 4, 7 and 8.
    """
    margins = tuple(np.sort(np.asarray(gammas, dtype=np.float64).ravel()).tolist())
    work = TernaryRuns(
        margins, n_samples, n_features, n_draws, n_restarts, time_limit, node_limit, random_state
    )
    store = RunStore(out, "ternary-figures", work.settings())
    finished = finish_runs(store, work, runs, n_jobs=n_jobs, progress=progress)
    return _figures(finished, np.array(margins))


def _figures(finished: Results, gammas: FloatArray) -> TernaryFigures:
    import pandas as pd

    table = pd.DataFrame([row for run, result in finished.items() for row in _rows(run, result)])
    weights = np.array(
        [
            [[margin["weights"][point] for point in POINTS] for margin in result["margins"]]
            for result in finished.values()
        ]
    )
    return TernaryFigures(
        runs=table,
        binary=_binary(weights, gammas),
        summary=_wide(table, "error"),
        objectives=_wide(table, "objective"),
        proofs=_proofs(table),
        shape=shape_of(table, weights, gammas),
        gammas=gammas,
        weights=weights,
    )


def _rows(run: int, result: dict[str, Any]) -> list[dict[str, Any]]:
    """One row a margin and method."""
    return [
        {
            "run": run,
            "gamma": margin["gamma"],
            "method": method,
            "objective": margin["objectives"][method],
            "error": margin["errors"][method],
            "bound": margin["bound"],
            "claim": margin["claim"],
            "in_order": in_order(margin["objectives"], margin["bound"]),
            # of Proposition 1: X_1 / (2 gamma), on the mean loss
            "slack": result["largest_l1"] / (2 * margin["gamma"]),
        }
        for margin in result["margins"]
        for method in METHODS
    ]


def _binary(weights: FloatArray, gammas: FloatArray) -> pd.DataFrame:
    """Figure 3."""
    import pandas as pd

    columns: dict[str, Any] = {"gamma": gammas}
    for k, point in enumerate(POINTS):
        counts = np.array([[count_binary(c, point) for c in run[:, k]] for run in weights])
        columns |= {point: counts.mean(axis=0), f"least_{point}": counts.min(axis=0)}
    return pd.DataFrame({**columns, "dimension": weights.shape[-1]})


def _wide(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Means over the runs, a row a gamma, a column a method."""
    means = table.pivot_table(index="gamma", columns="method", values=column)
    return means[list(METHODS)].rename_axis(columns=None).reset_index()


def _proofs(table: pd.DataFrame) -> pd.DataFrame:
    """What is proved of the objectives."""
    wide = _wide(table, "objective")[["gamma", "relaxed", "exact"]]
    once = table[table["method"] == "exact"]
    grouped = once.assign(proved=once["claim"] == "optimal").groupby("gamma")
    wide.insert(2, "bound", grouped["bound"].mean().to_numpy())
    for column in ("proved", "in_order"):
        wide[column] = grouped[column].sum().to_numpy()
    return wide
