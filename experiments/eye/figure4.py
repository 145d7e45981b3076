"""Figure 4 of the EYE paper: credibility over the correlation, and over the share known."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.eye.data import TENTHS, make_collinearity_sweep, make_known_share_sweep
from experiments.eye.fitted import Experiment, group_places
from experiments.eye.measures import EPS, credibility_by_group
from experiments.eye.protocol import METHODS, Protocol
from experiments.runner import Progress, Results, RunStore, finish_runs

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class EyeFigure4:
    """Credibility by group over several runs.

    Attributes
    ----------
    label : str
        What tells the groups apart: "correlation" or "known features".
    runs : DataFrame
        One row a run, method and group: run, method, ``label``, sym_kl.
    aucs : DataFrame
        One row a run and method: run, method, auc on the test rows.
    summary : DataFrame
        One row a group: ``label`` and the mean sym_kl of every method.
    differences : DataFrame
        Paired differences of the AUCs, as in :class:`EyeTable`.
    """

    label: str
    runs: pd.DataFrame
    aucs: pd.DataFrame
    summary: pd.DataFrame
    differences: pd.DataFrame


def eye_figure4a(
    runs: int = 10,
    *,
    out: str | os.PathLike[str] | None = None,
    n_samples: int = 5000,
    protocol: Protocol | None = None,
    eps: float = EPS,
    n_jobs: int = 1,
    random_state: int = 0,
    progress: Progress | None = None,
) -> EyeFigure4:
    """Repeat Figure 4a: symmetric KL of ten groups whose correlation grows from 0 to 0.9.

    Data of :func:`milpscore.data.make_collinearity_sweep`; all else as in :func:`eye_table2`.

    Parameters
    ----------
    runs : int
        Draws of the data; the paper does not say how many it made.
    out, n_samples, protocol, eps, n_jobs, random_state, progress
        As for :func:`eye_table2`.

    Returns
    -------
    EyeFigure4

    Raises
    ------
    OptionError, DataError
        As :func:`eye_table2`.

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (2018), sec. 4.3.2 and Figure 4a.
    """
    arguments = {"n_samples": n_samples}
    experiment = Experiment(
        make_collinearity_sweep, arguments, protocol or Protocol(), random_state
    )
    store = RunStore(out, "eye-figure4a", experiment.settings())
    finished = finish_runs(store, experiment, runs, n_jobs=n_jobs, progress=progress)
    return _figure(finished, "correlation", list(TENTHS), eps)


def eye_figure4b(
    runs: int = 10,
    *,
    out: str | os.PathLike[str] | None = None,
    n_samples: int = 5000,
    correlation: float = 1.0,
    protocol: Protocol | None = None,
    eps: float = EPS,
    n_jobs: int = 1,
    random_state: int = 0,
    progress: Progress | None = None,
) -> EyeFigure4:
    """Repeat Figure 4b: symmetric KL of groups of equal features, none to all of them known.

    Data of :func:`milpscore.data.make_known_share_sweep`; all else as in :func:`eye_table2`. Where
    features are equal, optima are not unique wherever a penalty sees only the sum of their sizes
    (L1, weighted L1, EYE among unknown features): what an algorithm answers is one of many. Descent
    by proximal steps gives equal features equal weights, the working set takes one of them; a
    ``correlation`` a little below 1, say 0.99, leaves no such choice.

    Parameters
    ----------
    runs : int
        Draws of the data; the paper does not say how many it made.
    correlation : float in [0, 1]
        Between the features of a group.
    out, n_samples, protocol, eps, n_jobs, random_state, progress
        As for :func:`eye_table2`.

    Returns
    -------
    EyeFigure4

    Raises
    ------
    OptionError, DataError
        As :func:`eye_table2`.

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (2018), sec. 4.3.3 and Figure 4b.
    """
    arguments = {"n_samples": n_samples, "correlation": correlation}
    experiment = Experiment(make_known_share_sweep, arguments, protocol or Protocol(), random_state)
    store = RunStore(out, "eye-figure4b", experiment.settings())
    finished = finish_runs(store, experiment, runs, n_jobs=n_jobs, progress=progress)
    return _figure(finished, "known features", list(range(11)), eps)


def _figure(finished: Results, label: str, labels: list[Any], eps: float) -> EyeFigure4:
    import pandas as pd

    from experiments.eye.summary import differences

    rows, aucs = [], []
    for run, result in finished.items():
        expert = np.array(result["expert"], dtype=np.float64)
        groups = group_places(result["sizes"])
        for method in METHODS:
            found = result["methods"][method]
            w = np.array(found["coefficients"], dtype=np.float64)
            each = credibility_by_group(w, expert, groups, eps=eps).tolist()
            rows += [
                {"run": run, "method": method, label: at, "sym_kl": value}
                for at, value in zip(labels, each, strict=True)
            ]
            aucs.append({"run": run, "method": method, "auc": found["auc"]})
    table, areas = pd.DataFrame(rows), pd.DataFrame(aucs)
    means = table.pivot_table(index=label, columns="method", values="sym_kl")
    summary = means[list(METHODS)].rename_axis(columns=None).reset_index()
    return EyeFigure4(label, table, areas, summary, differences(areas, ("auc",)))
