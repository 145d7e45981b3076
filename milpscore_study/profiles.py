"""How fast solvers are: profiles over many problems, and gaps over time with their integrals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError, NotApplicableError, OptionError
from milpscore.core.result import Result
from milpscore_show.plots.drawing import EARLIEST, bound_steps

if TYPE_CHECKING:
    import pandas as pd

Key: TypeAlias = tuple[str, str, int]
"""Set, formulation (or any name of what is compared), seed."""

_PLACES = 80


# --- profiles -------------------------------------------------------------------------------------


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


def primal_integral(steps: Sequence[tuple[float, float]], best: float, until: float) -> float:
    r"""Seconds lost to cards that are worse than the best: the integral of the primal gap.

    .. math::

        \int_0^{T} \gamma(t)\, dt, \qquad
        \gamma = |f - f^*| / \max(|f|, |f^*|), \quad \gamma = 1 \text{ without a card}

    Parameters
    ----------
    steps : sequence of (float, float)
        Seconds, ascending, and the objective of the card at hand from then on.
    best : float
        f*, of the best card that is known.
    until : float
        T in seconds.

    Returns
    -------
    float
        Between 0 and T.

    References
    ----------
    Berthold, "Measuring the impact of primal heuristics", Operations Research Letters 41 (2013).
    """
    lost, gap, before = 0.0, 1.0, 0.0
    for seconds, objective in steps:
        at = min(seconds, until)
        lost += gap * (at - before)
        before = at
        if math.isfinite(objective):
            size = max(abs(objective), abs(best))
            gap = abs(objective - best) / size if size else 0.0
    return lost + gap * (until - before)


def shifted_geometric_mean(values: Any, shift: float) -> float:
    """exp(mean(log(v + shift))) - shift of positive numbers, missing ones left out."""
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    if not len(known):
        return math.nan
    return float(shift * np.expm1(np.log1p(known / shift).mean()))


# --- bounds over time -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BoundCurves:
    """Gaps over time of many solves."""

    runs: pd.DataFrame
    summary: pd.DataFrame
    curves: pd.DataFrame
    horizon: float


def seconds_to_gap(result: Result, gap: float) -> float:
    """Seconds until the relative gap between best objective and bound was first so small.

    Parameters
    ----------
    result : Result
    gap : float
        As :attr:`Result.gap`.

    Returns
    -------
    float
        Infinite where it never was.
    """
    seconds, best, bound = bound_steps(result)
    reached = np.flatnonzero(best - bound <= gap * np.maximum(np.abs(best), 1e-10))
    return float(seconds[reached[0]]) if len(reached) else np.inf


def bound_curves(
    results: Mapping[Key, Result],
    *,
    horizon: float | None = None,
    reference: Mapping[str, float] | None = None,
    same_statement: bool = True,
) -> BoundCurves:
    r"""Gaps over time and their integrals, over sets, formulations and seeds.

    With the best known objective :math:`f^*`, the best objective so far :math:`f(t)` and the bound
    :math:`g(t)`, the gap between two numbers is :math:`\gamma(a, b) = |a - b| / \max(|a|, |b|)`, 0
    where they are equal and 1 where one is missing or their signs differ;

    .. math::

        P = \int_0^T \gamma(f(t), f^*)\,dt, \quad D = \int_0^T \gamma(g(t), f^*)\,dt, \quad
        G = \int_0^T \gamma(f(t), g(t))\,dt.

    Parameters
    ----------
    results : mapping from (set, formulation, seed) to Result
    horizon : float, optional
        T in seconds, the time limit all had; default: the longest solve. A solve that ended sooner
        keeps its last answer.
    reference : mapping from set to float, optional
        Best known objectives; default: the best of the results.
    same_statement : bool
        All formulations of a set minimise the same over the same cards, and the best of all is
        everybody's reference. False: each formulation has its own.

    Returns
    -------
    BoundCurves

    Raises
    ------
    NotApplicableError
        There are no results, or a set without any card and without a reference.
    OptionError
        The horizon is not positive, or a reference is given where every formulation has its own.

    References
    ----------
    Berthold, "Measuring the impact of primal heuristics", Operations Research Letters 41 (2013),
    eqs. 1 and 2: the primal integral. The other two put the bound in the place of the incumbent,
    and of the optimum.
    """
    if not results:
        raise NotApplicableError("there are no results: solve something first")
    if reference is not None and not same_statement:
        raise OptionError("reference holds one objective a set: leave it out, or same_statement")
    longest = max(result.solve_seconds for result in results.values())
    end = max(longest, EARLIEST) if horizon is None else float(horizon)
    if not (np.isfinite(end) and end > 0):
        raise OptionError(f"horizon={horizon!r}; use a positive number of seconds.")
    known = _references(results, reference or {}, same_statement)
    runs = _runs(results, known, end)
    return BoundCurves(runs, _summary(runs), _curves(results, end), end)


def _references(
    results: Mapping[Key, Result], given: Mapping[str, float], same: bool
) -> dict[Key, float]:
    """The best known objective that each result is measured by."""
    best: dict[tuple[str, str], float] = {}
    for (data, formulation, _), result in results.items():
        place = (data, "" if same else formulation)
        best.setdefault(place, float(given.get(data, np.inf)))
        if result.verified:
            best[place] = min(best[place], result.objective)
    for (data, formulation), value in best.items():
        if not np.isfinite(value):
            what = " ".join(filter(None, [data, formulation]))
            raise NotApplicableError(
                f"{what}: no result has a card, so there is no objective to measure by: raise the "
                "time limit, or pass reference"
            )
    return {key: best[key[0], "" if same else key[1]] for key in results}


def relative_distance(a: npt.ArrayLike, b: npt.ArrayLike) -> FloatArray:
    """Gap in [0, 1] between numbers: 1 where one is missing (NaN) or their signs differ."""
    first, second = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(b, np.float64))
    size = np.maximum(np.abs(first), np.abs(second))
    gap = np.abs(first - second) / np.where(size > 0, size, 1.0)
    return np.where(np.isnan(gap) | (first * second < 0), 1.0, gap)


def _integral(seconds: FloatArray, gap: FloatArray, end: float) -> float:
    """Integral of a step function that is 1 before its first step and keeps its last value."""
    times = np.minimum(np.r_[0.0, seconds, end], end)
    return float(np.diff(times) @ np.r_[1.0, gap])


def _runs(results: Mapping[Key, Result], known: Mapping[Key, float], end: float) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for key, result in results.items():
        seconds, best, bound = bound_steps(result)
        best_known = known[key]
        gaps = {
            "primal_integral": relative_distance(best, best_known),
            "dual_integral": relative_distance(bound, best_known),
            "gap_integral": relative_distance(best, bound),
        }
        rows.append(
            {
                "set": key[0],
                "formulation": key[1],
                "seed": key[2],
                "objective": result.objective,
                "bound": result.dual_bound,
                "reference": best_known,
                "seconds": result.solve_seconds,
                **{name: _integral(seconds, gap, end) for name, gap in gaps.items()},
            }
        )
    return pd.DataFrame(rows)


def _summary(runs: pd.DataFrame) -> pd.DataFrame:
    integrals = [name for name in runs.columns if name.endswith("_integral")]
    grouped = runs.groupby(["set", "formulation"], sort=False)[integrals]
    table = grouped.agg(["median", "min", "max"])
    table.columns = ["_".join(parts) for parts in table.columns]
    return table.assign(seeds=grouped.size()).reset_index()


def _curves(results: Mapping[Key, Result], end: float) -> pd.DataFrame:
    """Every formulation's steps, read off at common moments."""
    import pandas as pd

    moments = np.geomspace(min(EARLIEST, end / 2), end, _PLACES)
    values: dict[tuple[str, str], list[FloatArray]] = {}
    for (data, formulation, _), result in results.items():
        seconds, best, bound = bound_steps(result)
        at = np.searchsorted(seconds, moments, side="right") - 1
        read = [
            np.where((at >= 0) & ~np.isnan(steps[at]), steps[at], missing)
            for steps, missing in ((best, np.inf), (bound, -np.inf))
        ]
        values.setdefault((data, formulation), []).append(np.stack(read))
    tables = []
    for (data, formulation), seeds in values.items():
        objective, bound = np.stack(seeds, axis=1)
        known = np.isfinite(objective) & np.isfinite(bound)
        gap = relative_distance(*(np.where(known, each, np.nan) for each in (objective, bound)))
        columns = {
            f"{name}{suffix}": of(each, axis=0)
            for name, each in (("objective", objective), ("bound", bound), ("gap", gap))
            for suffix, of in (("", _median), ("_low", np.min), ("_high", np.max))
        }
        frame = pd.DataFrame({"seconds": moments, **columns})
        tables.append(frame.assign(set=data, formulation=formulation))
    whole = pd.concat(tables, ignore_index=True)
    return whole[["set", "formulation", *whole.columns[:-2]]]


def _median(values: FloatArray, axis: int) -> FloatArray:
    """The median; of an even number the lower one, as the mean with an infinity says nothing."""
    ordered = np.sort(values, axis=axis)
    return np.asarray(np.take(ordered, (values.shape[axis] - 1) // 2, axis=axis))
