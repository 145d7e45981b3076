"""Table 2 of the EYE paper: random groups, an expert who may be wrong, six penalties."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from scipy import stats

from experiments.eye.data import CredibleData, make_random_groups, places
from experiments.eye.measures import gini, near_zero_share
from experiments.eye.methods import METHODS, EyeExperiment
from experiments.runner import Finding, Result, Results, means_of
from milpscore.core.design import FloatArray
from milpscore.metrics import average_precision, credibility_by_group, nonzeros

# mean and stdev of the summed symKL and of the AUC, in the paper's order
PAPER = {
    "eye": (0.442, 0.128, 0.900, 0.044),
    "weighted_l1": (0.929, 0.147, 0.898, 0.044),
    "weighted_l2": (1.441, 0.241, 0.899, 0.045),
    "l1": (2.483, 0.440, 0.898, 0.044),
    "elastic_net": (2.673, 0.399, 0.893, 0.044),
    "owl": (3.125, 0.329, 0.900, 0.044),
}
SMOOTHINGS = (0.0, 1e-7, 1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.1)

Gather: TypeAlias = Callable[[FloatArray], Any]
"""The sum or the mean of a run's groups."""

# A group whose weight is smaller moves the log odds by less than 0.1 where all its features, highly
# correlated, rise by one standard deviation.
RELEVANT = 0.1
LEVEL = 0.95


class EyeTable2(EyeExperiment, frozen=True, kw_only=True):
    """The credibility and AUC of six penalties on random groups.

    A run draws a set of :func:`make_random_groups` and cuts its rows into training (50 %),
    validation (25 %) and test (25 %), which the paper leaves open. Each method fits a path of lam,
    once for every value of what else it sweeps, to the training rows with the logistic loss;
    :func:`sparsest_accurate` chooses on the validation rows; the test rows give the AUC. The sweeps
    are the paper's: unknown features weigh 1 to 3 times what known ones do in the weighted lasso
    and ridge, the share of L1 in the elastic net lies between 0 and 1, OWL has the sup norm and
    twice the weight for as many entries as there are known features.

    That is ``by="exact"``; with "print" or "optimum" all is as in :class:`Printed`, the divergence
    a mean over the groups.

    Tables: ``summary`` (ours beside the paper's mean and stdev), ``differences`` (paired, between
    neighbours in the paper's order and with EYE: 95 % interval, p-value of a paired t test),
    ``sensitivity`` (mean symKL for several eps, over all and over the relevant groups).

    References
    ----------
    Wang, Oh, Wang & Wiens, "Learning credible models" (2018), sec. 4.1, 4.2, 4.3.4 and Table 2.
    """

    correlation: float = 0.95

    name = "eye-table2"
    repetitions = 100
    figure = "experiments.eye.plots:table2_figure"

    def drawn(self, n: int, seed: np.random.SeedSequence) -> CredibleData:
        """Random groups."""
        return make_random_groups(n, correlation=self.correlation, random_state=seed)

    def finding(self, results: Results) -> Finding:
        """The runs, and what they say."""
        gather = np.sum if self.by == "exact" else np.mean
        rows = [
            row
            for run, result in results.items()
            for row in _measures(run, result, self.smoothing, gather)
        ]
        runs = pd.DataFrame(rows)
        return Finding(
            runs=runs, summary=_summary(runs), differences=differences(runs),
            sensitivity=_sensitivity(results, gather),
        )  # fmt: skip


def credibility(result: Result, method: str, eps: float) -> FloatArray:
    """Symmetric KL of every group of a finished run."""
    w = np.array(result["methods"][method]["coefficients"], dtype=np.float64)
    expert = np.array(result["expert"], dtype=np.float64)
    return credibility_by_group(w, expert, places(result["sizes"]), eps=eps)


def _measures(run: int, result: Result, eps: float, gather: Gather) -> list[dict[str, Any]]:
    """The measures of sec. 4.1 of a finished run, one row a method."""
    expert = np.array(result["expert"], dtype=np.float64)
    rows = []
    for method, found in result["methods"].items():
        w = np.array(found["coefficients"], dtype=np.float64)
        rows.append(
            {
                "run": run,
                "method": method,
                "sym_kl": float(gather(credibility(result, method, eps))),
                "auc": found["auc"],
                "average_precision": average_precision(w, expert) if expert.any() else np.nan,
                "gini": gini(w),
                "near_zero_share": near_zero_share(w),
                "nonzeros": nonzeros(w),
                "gap": found["gap"],
                "n_groups": len(result["sizes"]),
                "n_features": len(w),
                **found["settings"],
            }
        )
    return rows


def _summary(runs: pd.DataFrame) -> pd.DataFrame:
    """One row a method: ours and the paper's mean and stdev."""
    ours = means_of(runs, ["method"], ["sym_kl", "auc"]).set_index("method")
    names = ["paper_sym_kl", "paper_sym_kl_stdev", "paper_auc", "paper_auc_stdev"]
    paper = pd.DataFrame.from_dict(PAPER, orient="index", columns=names)
    others = runs.groupby("method")[["average_precision", "gini", "near_zero_share"]].mean()
    table = ours.drop(columns="runs").join(paper).join(others).assign(runs=ours["runs"])
    return table.loc[list(METHODS)].reset_index()


def differences(runs: pd.DataFrame, columns: tuple[str, ...] = ("sym_kl", "auc")) -> pd.DataFrame:
    """Paired differences between methods: mean, interval, p-value of the paired t test."""
    pairs = [*pairwise(METHODS), *((METHODS[0], method) for method in METHODS[2:])]
    rows = []
    for measure in columns:
        wide = runs.pivot(index="run", columns="method", values=measure)
        for first, second in pairs:
            gaps = (wide[second] - wide[first]).to_numpy(dtype=np.float64)
            rows.append({"measure": measure, "first": first, "second": second, **_paired(gaps)})
    return pd.DataFrame(rows)


def _paired(gaps: FloatArray) -> dict[str, float]:
    """Mean, interval and p-value of paired differences; NaN where runs are too few."""
    mean = float(gaps.mean())
    if len(gaps) < 2:
        return {"mean": mean, "low": np.nan, "high": np.nan, "p": 1.0 if mean == 0 else np.nan}
    if not np.ptp(gaps):  # no spread to measure the mean by
        return {"mean": mean, "low": mean, "high": mean, "p": 1.0 if mean == 0 else np.nan}
    test = stats.ttest_1samp(gaps, 0.0)
    low, high = test.confidence_interval(LEVEL)
    return {"mean": mean, "low": float(low), "high": float(high), "p": float(test.pvalue)}


def _sensitivity(results: Results, gather: Gather) -> pd.DataFrame:
    """Mean symKL of every method for each eps, over all and over the relevant groups."""
    rows = []
    for eps in SMOOTHINGS:
        for groups in ("all", "relevant"):
            means = {
                method: np.mean(
                    [_gathered(run, method, eps, groups, gather) for run in results.values()]
                )
                for method in METHODS
            }
            rows.append({"eps": eps, "groups": groups, **means})
    return pd.DataFrame(rows)


def _gathered(result: Result, method: str, eps: float, groups: str, gather: Gather) -> float:
    """The symKL of a run."""
    counted = np.abs(result["group_weights"]) >= (RELEVANT if groups == "relevant" else 0.0)
    return float(gather(credibility(result, method, eps)[counted]))
