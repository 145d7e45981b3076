"""CRFs along a sequence of rho1, each trained from the one before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import OptionError
from milpscore.sequence._data import SequenceData
from milpscore.sequence._model import value_and_gradient
from milpscore.sequence._prepared import Prepared, prepare
from milpscore.sequence._trace import TrainOptions, TrainResult
from milpscore.sequence._trainers import trainer

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False)
class CrfPath:
    """CRFs of falling rho1.

    Attributes
    ----------
    rho1s : ndarray
        Descending.
    results : list of TrainResult
    table : DataFrame
        A row each: rho1, objective, active, active_mu, active_lambda, new (active where the row
        above was not), gone (the reverse), distance, status, iterations, seconds, token_error.
    """

    rho1s: FloatArray
    results: list[TrainResult]
    table: DataFrame


def rho1_max(data: SequenceData | Prepared) -> float:
    """The least rho1 at which no feature is active: the largest gradient at theta = 0.

    Parameters
    ----------
    data : SequenceData or Prepared
        With labels.
    """
    ready = prepare(data)
    _, gradient = value_and_gradient(ready, ready.layout.zeros())
    return float(np.abs(gradient).max(initial=0.0))


def crf_path(
    data: SequenceData | Prepared,
    rho1s: Iterable[float] | int = 20,
    rho2: float = 0.0,
    *,
    solver: str = "owlqn",
    ratio: float = 1e-3,
    **options: Any,
) -> CrfPath:
    """Train along falling rho1, each from the parameters of the one before.

    Parameters
    ----------
    data : SequenceData or Prepared
        With labels.
    rho1s : iterable of float, or int
        In any order; a number means so many from :func:`rho1_max` down to ``ratio`` times it, in
        equal steps of their logarithm.
    rho2 : float
    solver : str
        A name of :data:`TRAINERS`.
    ratio : float
        In (0, 1), for a number of values.
    **options
        See :class:`TrainOptions`; ``start`` is for the largest rho1, ``time_limit`` for each.

    Returns
    -------
    CrfPath

    Raises
    ------
    DataError
        Labels are missing or were never seen in training.
    OptionError
        No values, one outside its range, or an unknown solver.
    """
    ready, train = prepare(data), trainer(solver)
    values = _values(ready, rho1s, ratio)
    given = TrainOptions(rho1=float(values[0]), rho2=rho2, **options)
    results: list[TrainResult] = []
    for rho1 in values.tolist():
        start = results[-1].theta if results else given.start
        results.append(train(ready, replace(given, rho1=rho1, start=start)))
    return CrfPath(values, results, _table(values, results, ready.layout.n_mu))


def _values(ready: Prepared, rho1s: Iterable[float] | int, ratio: float) -> FloatArray:
    if isinstance(rho1s, int | np.integer):
        if rho1s < 1 or not 0.0 < ratio < 1.0:
            raise OptionError(f"give 1 value or more and a ratio in (0, 1), got {rho1s}, {ratio}")
        return rho1_max(ready) * np.geomspace(1.0, ratio, int(rho1s))
    values = np.unique(np.array(list(rho1s), dtype=np.float64))[::-1]
    if not len(values) or not (np.isfinite(values).all() and values[-1] >= 0.0):
        raise OptionError(f"rho1s must be finite numbers >= 0, one at least, got {values}")
    return values


def _table(rho1s: FloatArray, results: list[TrainResult], n_mu: int) -> DataFrame:
    import pandas as pd

    rows = []
    before = np.zeros(len(results[0].theta), dtype=bool)
    for rho1, result in zip(rho1s.tolist(), results, strict=True):
        active = result.theta != 0.0
        last = min(result.trace, key=lambda row: row.objective)
        rows.append(
            {
                "rho1": rho1,
                "objective": result.objective,
                "active": result.active,
                "active_mu": int(active[:n_mu].sum()),
                "active_lambda": int(active[n_mu:].sum()),
                "new": int((active & ~before).sum()),
                "gone": int((before & ~active).sum()),
                "distance": result.distance,
                "status": str(result.status),
                "iterations": result.trace[-1].iteration,
                "seconds": result.seconds,
                "token_error": last.token_error,
            }
        )
        before = active
    return pd.DataFrame(rows)
