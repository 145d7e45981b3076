"""Means and standard deviations over the runs of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def means_of(runs: pd.DataFrame, by: list[str], columns: Sequence[str]) -> pd.DataFrame:
    """One row a group, in the order they first appear.

    Parameters
    ----------
    runs : DataFrame
    by : list of str
    columns : sequence of str

    Returns
    -------
    DataFrame
        ``by``, then every column's mean and standard deviation (NAME_stdev, missing for one run)
        over the runs that have it, then the number of runs.
    """
    grouped = runs.groupby(by, sort=False)
    table = grouped.size().rename("runs").reset_index()[by]
    for column in columns:
        table[column] = grouped[column].mean().to_numpy()
        table[f"{column}_stdev"] = grouped[column].std().to_numpy()
    table["runs"] = grouped["run"].nunique().to_numpy()
    return table
