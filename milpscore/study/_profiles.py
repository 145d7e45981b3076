"""Performance and data profiles: the share of problems a solver solves, over the time allowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


def performance_profile(times: Any, taus: Sequence[float] | None = None) -> pd.DataFrame:
    r"""Share of the problems that each solver solves within tau times the best solver's time.

    .. math::

        r_{ps} = t_{ps} / \min_{s'} t_{ps'}, \qquad
        \rho_s(\tau) = |\{p : r_{ps} \le \tau\}| / |P|

    Problems that no solver solved stay in the count: the curves then end below 1. Solvers with the
    same best time all have the ratio 1, so that the shares at 1 may sum to more than 1.

    Parameters
    ----------
    times : DataFrame or mapping of shape (problems, solvers)
        Positive seconds (or nodes, or any cost); infinite or missing where the solver failed.
    taus : sequence of float, optional
        Ratios from 1 on; default: every ratio at which a curve rises, 1 included.

    Returns
    -------
    DataFrame
        One row a tau (the index, ascending), one column a solver.

    Raises
    ------
    DataError
        There is no problem or no solver, or a cost is not positive.

    References
    ----------
    Dolan & More, "Benchmarking optimization software with performance profiles", Mathematical
    Programming 91 (2002), sec. 2. Their finite ratio r_M of a failure is infinite here.
    """
    names, costs = _costs(times)
    best = costs.min(axis=1, keepdims=True)
    # a problem that nobody solved has no best time, and infinite ratios
    ratios = np.where(np.isfinite(best), costs / np.where(np.isfinite(best), best, 1.0), np.inf)
    return _shares(names, ratios, 1.0, taus, "tau")


def data_profile(
    times: Any, budgets: Sequence[float] | None = None, unit: Sequence[float] | None = None
) -> pd.DataFrame:
    """Share of the problems that each solver solves within a budget, whatever the others need.

    Parameters
    ----------
    times : DataFrame or mapping of shape (problems, solvers)
        As for :func:`performance_profile`.
    budgets : sequence of float, optional
        Default: every cost at which a curve rises.
    unit : sequence of float, one for each problem, optional
        Costs are counted in it, say p + 1 evaluations; default 1.

    Returns
    -------
    DataFrame
        One row a budget (the index, ascending), one column a solver.

    Raises
    ------
    DataError
        As :func:`performance_profile`, or a unit is not positive or lacks a problem.

    References
    ----------
    More & Wild, "Benchmarking derivative-free optimization algorithms", SIAM Journal on
    Optimization 20 (2009), eq. 2.8.
    """
    names, costs = _costs(times)
    units = np.ones(len(costs)) if unit is None else np.asarray(unit, dtype=np.float64)
    if units.shape != (len(costs),) or not (np.isfinite(units) & (units > 0)).all():
        raise DataError(f"unit must hold {len(costs)} positive numbers, one for each problem.")
    return _shares(names, costs / units[:, None], 0.0, budgets, "budget")


def _costs(times: Any) -> tuple[list[Any], FloatArray]:
    """Solvers' names and their costs, shape (problems, solvers); failures are infinite."""
    import pandas as pd

    table = pd.DataFrame(times)
    if table.empty:
        raise DataError("times is empty: give one row a problem, one column a solver.")
    costs = table.to_numpy(dtype=np.float64, na_value=np.inf)
    costs = np.where(np.isnan(costs), np.inf, costs)
    if (costs <= 0).any():
        raise DataError(
            "a cost is not positive, and ratios to it have no meaning: set costs below what the "
            "clock can tell apart to that least time."
        )
    return list(table.columns), costs


def _shares(
    names: list[Any], values: FloatArray, least: float, at: Sequence[float] | None, axis: str
) -> pd.DataFrame:
    """The distribution of each column's values, ``least`` being the first place asked for."""
    import pandas as pd

    places = np.unique(np.r_[least, values[np.isfinite(values)]])
    if at is not None:
        places = np.unique(np.asarray(at, dtype=np.float64))
        if not len(places) or not np.isfinite(places).all() or places[0] < least:
            raise DataError(f"{axis}s must be finite numbers from {least:g} on.")
    ordered = np.sort(values, axis=0)
    counts = [np.searchsorted(column, places, side="right") for column in ordered.T]
    shares = np.stack(counts, axis=1) / len(values)
    return pd.DataFrame(shares, index=pd.Index(places, name=axis), columns=names)
