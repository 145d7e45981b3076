"""Means, paired intervals and tests over the runs of Table 2, beside the printed figures."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.eye.fitted import group_places
from experiments.eye.measures import credibility_by_group
from experiments.eye.protocol import METHODS
from experiments.runner import Results
from milpscore.core.design import FloatArray

if TYPE_CHECKING:
    import pandas as pd

# Table 2: mean and stdev of the summed symKL and of the AUC, in its order
PAPER = {
    "eye": (0.442, 0.128, 0.900, 0.044),
    "weighted_l1": (0.929, 0.147, 0.898, 0.044),
    "weighted_l2": (1.441, 0.241, 0.899, 0.045),
    "l1": (2.483, 0.440, 0.898, 0.044),
    "elastic_net": (2.673, 0.399, 0.893, 0.044),
    "owl": (3.125, 0.329, 0.900, 0.044),
}

SMOOTHINGS = (0.0, 1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.1)

# A group whose weight is smaller moves the log odds by less than 0.1 where all its features, highly
# correlated, rise by one standard deviation.
RELEVANT = 0.1


def summary(runs: pd.DataFrame) -> pd.DataFrame:
    """One row a method: ours and the paper's mean and stdev."""
    import pandas as pd

    grouped = runs.groupby("method", sort=False)
    table = pd.DataFrame(index=pd.Index(METHODS, name="method"))
    for column in ("sym_kl", "auc"):
        table[column] = grouped[column].mean()
        table[f"{column}_stdev"] = grouped[column].std()
    paper = pd.DataFrame.from_dict(PAPER, orient="index")
    names = ["paper_sym_kl", "paper_sym_kl_stdev", "paper_auc", "paper_auc_stdev"]
    table[names] = paper.loc[list(METHODS)].to_numpy()
    for column in ("average_precision", "gini", "near_zero_share"):
        table[column] = grouped[column].mean()
    table["runs"] = grouped["run"].nunique()
    return table.reset_index()


def differences(
    runs: pd.DataFrame, columns: tuple[str, ...] = ("sym_kl", "auc"), level: float = 0.95
) -> pd.DataFrame:
    """Paired differences between methods: mean, interval, p-value of the paired t test."""
    import pandas as pd

    rows = []
    for measure in columns:
        wide = runs.pivot(index="run", columns="method", values=measure)
        for first, second in _pairs():
            gaps = (wide[second] - wide[first]).to_numpy(dtype=np.float64)
            rows.append(
                {"measure": measure, "first": first, "second": second, **_paired(gaps, level)}
            )
    return pd.DataFrame(rows)


def sensitivity(finished: Results) -> pd.DataFrame:
    """Mean summed symKL of every method for each eps, over all and over the relevant groups."""
    import pandas as pd

    rows = []
    for eps in SMOOTHINGS:
        sums = [_sums(result, eps) for result in finished.values()]
        for at, groups in enumerate(("all", "relevant")):
            means = np.mean([run[:, at] for run in sums], axis=0)
            rows.append(
                {"eps": eps, "groups": groups, **dict(zip(METHODS, means.tolist(), strict=True))}
            )
    return pd.DataFrame(rows)


def _sums(result: dict[str, Any], eps: float) -> FloatArray:
    """Summed symKL of a run, shape (methods, 2): all groups, relevant groups."""
    expert = np.array(result["expert"], dtype=np.float64)
    groups = group_places(result["sizes"])
    relevant = np.abs(result["group_weights"]) >= RELEVANT
    sums = []
    for method in METHODS:
        w = np.array(result["methods"][method]["coefficients"], dtype=np.float64)
        each = credibility_by_group(w, expert, groups, eps=eps)
        sums.append([each.sum(), each[relevant].sum()])
    return np.array(sums)


def _pairs() -> Iterator[tuple[str, str]]:
    """Neighbours in the paper's order, then EYE with the others."""
    yield from pairwise(METHODS)
    for method in METHODS[2:]:
        yield METHODS[0], method


def _paired(gaps: FloatArray, level: float) -> dict[str, float]:
    """Mean, interval and p-value of paired differences; NaN where runs are too few."""
    from scipy import stats

    n, mean = len(gaps), float(gaps.mean())
    spread = float(gaps.std(ddof=1)) if n > 1 else np.nan
    error = spread / np.sqrt(n)
    reach = float(stats.t.ppf(0.5 + level / 2, n - 1)) * error if n > 1 else np.nan
    if error > 0:
        p = float(2 * stats.t.sf(abs(mean) / error, n - 1))
    else:
        # equal differences: no spread to measure the mean by
        p = 1.0 if mean == 0 else np.nan
    return {"mean": mean, "low": mean - reach, "high": mean + reach, "p": p}
