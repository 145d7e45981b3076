"""Table 2 of the EYE paper: random groups, an expert who may be wrong, six penalties."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.eye.data import make_random_groups
from experiments.eye.fitted import Experiment, measures
from experiments.eye.measures import EPS
from experiments.eye.protocol import Protocol
from experiments.runner import Progress, Results, RunStore, finish_runs

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class EyeTable:
    """The runs of Table 2 and what they say.

    Attributes
    ----------
    runs : DataFrame
        One row a run and method: sym_kl (summed over the groups), auc (on the test rows),
        average_precision, gini, near_zero_share, nonzeros, gap, n_groups, n_features, cpu_seconds
        and the chosen settings.
    summary : DataFrame
        One row a method: mean and stdev of sym_kl and auc beside the paper's.
    differences : DataFrame
        Paired differences, second minus first, between neighbours in the paper's order and between
        each method and EYE: mean, 95 % interval, p-value of a paired t test.
    sensitivity : DataFrame
        Mean summed sym_kl of every method (columns) for several eps (rows), over all groups and
        over the relevant ones.
    """

    runs: pd.DataFrame
    summary: pd.DataFrame
    differences: pd.DataFrame
    sensitivity: pd.DataFrame


def eye_table2(
    runs: int = 100,
    *,
    out: str | os.PathLike[str] | None = None,
    n_samples: int = 5000,
    correlation: float = 0.95,
    protocol: Protocol | None = None,
    eps: float = EPS,
    n_jobs: int = 1,
    random_state: int = 0,
    progress: Progress | None = None,
) -> EyeTable:
    """Repeat Table 2: the credibility and AUC of six penalties on random groups.

    A run draws a set of :func:`milpscore.data.make_random_groups` and cuts its rows into training
    (50 %), validation (25 %) and test (25 %), which the paper leaves open. Each method fits a path
    of lam, once for every value of what else it sweeps, to the training rows with the logistic
    loss; :func:`milpscore.metrics.sparsest_accurate` chooses on the validation rows; the test rows
    give the AUC. The sweeps are the paper's: unknown features weigh 1 to 3 times what known ones
    do in the weighted lasso and ridge, the share of L1 in the elastic net lies between 0 and 1, OWL
    has the sup norm and twice the weight for as many entries as there are known features.

    Parameters
    ----------
    runs : int
    out : path-like, optional
        A file of finished runs, one line each; runs it holds are not done again.
    n_samples : int
    correlation : float
    protocol : Protocol, optional
    eps : float
        Smoothing of the symmetric KL, see :func:`milpscore.metrics.symmetric_kl`. It is no setting
        of the runs, which keep the coefficients: any eps can be asked of a finished file.
    n_jobs : int
    random_state : int
    progress : callable, optional
        ``progress(done, total)``.

    Returns
    -------
    EyeTable

    Raises
    ------
    OptionError
        A parameter lies outside its range, or ``out`` holds runs with other settings.
    DataError
        ``out`` cannot be read.

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (2018), sec. 4.1, 4.2, 4.3.4 and Table 2.
    """
    arguments: dict[str, Any] = {"n_samples": n_samples, "correlation": correlation}
    experiment = Experiment(make_random_groups, arguments, protocol or Protocol(), random_state)
    store = RunStore(out, "eye-table2", experiment.settings())
    finished = finish_runs(store, experiment, runs, n_jobs=n_jobs, progress=progress)
    return _table(finished, eps)


def _table(finished: Results, eps: float) -> EyeTable:
    import pandas as pd

    from experiments.eye.summary import differences, sensitivity, summary

    rows = [row for run, result in finished.items() for row in measures(run, result, eps)]
    found = pd.DataFrame(rows)
    return EyeTable(found, summary(found), differences(found), sensitivity(finished))
