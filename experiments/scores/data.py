"""An artificial cohort whose outcome follows the DiaRem table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from experiments.scores.diarem import diarem
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError


@dataclass(frozen=True, eq=False)
class DiabetesTruth:
    """The DiaRem total of each patient, 0 to 22, and the probability of no remission."""

    total: IntArray
    probability: FloatArray


def make_diabetes_cohort(
    n_samples: int = 1000, *, slope: float = 0.3, midpoint: float = 7.0, random_state: Any = None
) -> tuple[pd.DataFrame, pd.Series[Any], DiabetesTruth]:
    """Patients before bariatric surgery, and whether their diabetes persists (1: no remission).

    Age is normal with mean 48 and standard deviation 10, cut off at 18 and 75, in years; HbA1c is
    6 plus a gamma variable of mean 1.8, with one decimal, at most 14; 40 % take insulin, more with
    a high HbA1c; the count of other drugs than insulin and metformin is Poisson with mean 0.8. The
    total follows the DiaRem table; P(no remission) = 1 / (1 + exp(-slope (total - midpoint))).
    With the defaults the printed separator, 7, is the best there is, and the share of remissions
    falls with the total as published, somewhat faster at the upper end (7 % in the group 13-17,
    where 11 to 33 % are published). The table is in the slides (after Still et al., Lancet Diabetes
    Endocrinol. 2, 2014); the patients are not: no data are public.
    Each class has a row at least.
    """
    if n_samples < 2:
        raise OptionError(f"n_samples={n_samples}; use at least 2: one per class is needed.")
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
    total = diarem().score(X).astype(np.int64)
    probability = 1.0 / (1.0 + np.exp(-slope * (total - midpoint)))
    y = (rng.random(n_samples) < probability).astype(np.int64)
    if y.min() == y.max():
        y[int(rng.integers(n_samples))] ^= 1
    return X, pd.Series(y, name="no_remission"), DiabetesTruth(total, np.asarray(probability))
