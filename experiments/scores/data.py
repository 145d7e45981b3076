"""The DiaRem table, and an artificial cohort whose outcome follows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError

DIAREM_CUTS: Mapping[str, tuple[float, ...]] = {
    "age": (40.0, 50.0, 60.0),
    "hba1c": (6.5, 7.0, 9.0),
    "other_drugs": (1.0,),
}
"""Where the bins of a numeric variable begin; ages in years, HbA1c in per cent."""

DIAREM_POINTS: Mapping[str, tuple[int, ...]] = {
    "age": (0, 1, 2, 3),
    "hba1c": (0, 2, 4, 6),
    "other_drugs": (0, 3),
    "insulin": (0, 10),
}
"""Points of each bin; of insulin those of "no" and "yes"."""

DIAREM_SEPARATOR = 7
"""From this total on remission is the less likely answer."""

_VARIABLES = ("age", "hba1c", "insulin", "other_drugs")


@dataclass(frozen=True, eq=False)
class DiabetesTruth:
    """What the labels of a cohort were drawn from.

    Attributes
    ----------
    total : ndarray of int, shape (n,)
        The DiaRem total of each patient, 0 to 22.
    chance : ndarray of shape (n,)
        The chance of no remission.
    """

    total: IntArray
    chance: FloatArray


def make_diabetes_cohort(
    n_samples: int = 1000, *, slope: float = 0.3, midpoint: float = 7.0, random_state: Any = None
) -> tuple[pd.DataFrame, pd.Series[Any], DiabetesTruth]:
    """Make patients before bariatric surgery, and whether their diabetes persists.

    Age is normal with mean 48 and standard deviation 10, cut off at 18 and 75, in years; HbA1c is
    6 plus a gamma variable of mean 1.8, with one decimal, at most 14; 40 % take insulin, more with
    a high HbA1c; the count of other drugs than insulin and metformin is Poisson with mean 0.8. The
    total follows the DiaRem table; P(no remission) = 1 / (1 + exp(-slope (total - midpoint))).
    With the defaults the printed separator, 7, is the best there is, and the share of remissions
    falls with the total as published, somewhat faster at the upper end (7 % in the group 13-17,
    where 11 to 33 % are published).

    Parameters
    ----------
    n_samples : int
    slope : float
        > 0, log odds a point.
    midpoint : float
        The total at which both outcomes are equally likely.
    random_state : int, Generator or None

    Returns
    -------
    X : DataFrame of shape (n_samples, 4)
        age (years), hba1c (per cent), insulin ("no", "yes"), other_drugs (a count).
    y : Series of 0 and 1, shape (n_samples,)
        1: no remission. One row of each class at least.
    truth : DiabetesTruth

    Raises
    ------
    OptionError
        A parameter lies outside its range.

    References
    ----------
    Still et al., "Preoperative prediction of type 2 diabetes remission after Roux-en-Y gastric
    bypass surgery: a retrospective cohort study", Lancet Diabetes Endocrinol. 2 (2014); the table
    is in Sokolovska, Chevaleyre & Zucker's slides. The patients are not: no data are public.
    """
    if n_samples < 2:
        raise OptionError(f"n_samples={n_samples}; use at least 2, one a class.")
    if not (np.isfinite(slope) and slope > 0 and np.isfinite(midpoint)):
        raise OptionError(f"slope={slope}, midpoint={midpoint}; use finite ones, and slope > 0.")
    rng = np.random.default_rng(random_state)
    age = np.clip(np.rint(rng.normal(48.0, 10.0, n_samples)), 18, 75)
    hba1c = np.minimum(np.rint(10 * (6.0 + rng.gamma(1.5, 1.2, n_samples))) / 10, 14.0)
    insulin = rng.random(n_samples) < np.clip(0.4 + 0.1 * (hba1c - 7.8), 0.05, 0.95)
    drugs = rng.poisson(0.8, n_samples)
    X = pd.DataFrame(
        {
            "age": age.astype(np.int64),
            "hba1c": hba1c,
            "insulin": np.where(insulin, "yes", "no"),
            "other_drugs": drugs.astype(np.int64),
        }
    )
    total = diarem_totals(X)
    chance = 1.0 / (1.0 + np.exp(-slope * (total - midpoint)))
    y = (rng.random(n_samples) < chance).astype(np.int64)
    if y.min() == y.max():
        y[int(rng.integers(n_samples))] ^= 1
    return X, pd.Series(y, name="no_remission"), DiabetesTruth(total, np.asarray(chance))


def diarem_totals(X: pd.DataFrame) -> IntArray:
    """The DiaRem total of each row of a table with the four columns, shape (n,)."""
    points = [_points(name, X[name].to_numpy()) for name in _VARIABLES]
    return np.asarray(np.sum(points, axis=0), dtype=np.int64)


def _points(name: str, values: Any) -> Any:
    """The points of one variable."""
    table = np.array(DIAREM_POINTS[name])
    if name == "insulin":
        return table[(values == "yes").astype(np.intp)]
    return table[np.searchsorted(DIAREM_CUTS[name], values.astype(float), side="right")]
