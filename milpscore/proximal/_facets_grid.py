"""The grid of Facets models over penalty weight and coefficient unit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import OptionError
from milpscore.core.terms import ProxPenalty, SmoothLoss
from milpscore.proximal._certificate import certify
from milpscore.proximal._fit import Algorithm, check_options, solve
from milpscore.proximal._folds import across_folds
from milpscore.proximal._problem import Primal, Smooth, prepare, shaped
from milpscore.proximal._result import ProximalResult, Stop
from milpscore.proximal._run import start_run
from milpscore.proximal._table import model_row

if TYPE_CHECKING:
    import pandas as pd

Progress: TypeAlias = Callable[[int, int], None]
Maker: TypeAlias = Callable[[float, float], ProxPenalty]
Column: TypeAlias = list[tuple[ProximalResult, Primal]]

# where the null model lies on the default axis of 24 points, and how much one point is worth
_NULL_AT = 18.5
_PER_POINT = 3.0 / 18.5
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class FacetsGrid:
    """All models of a grid.

    Attributes
    ----------
    table : DataFrame
        One row a model, gamma by gamma: alpha (= lam / gamma), gamma, beta (= lam / gamma^2), lam,
        then the columns of :class:`ProximalPath`. Integrity is that of w / gamma.
    alphas : ndarray of shape (a,), ascending
    gammas : ndarray of shape (c,), ascending
    coefficients : ndarray of shape (a, c, p)
    intercepts : ndarray of shape (a, c)
    """

    table: pd.DataFrame
    alphas: FloatArray
    gammas: FloatArray
    coefficients: FloatArray
    intercepts: FloatArray

    def heat_map(self, column: str) -> FloatArray:
        """A column of the table as an array of shape (a, c)."""
        values = self.table[column].to_numpy(dtype=np.float64)
        return values.reshape(len(self.gammas), len(self.alphas)).T


def facets_grid(
    X: Any,
    y: Any,
    *,
    loss: str | SmoothLoss = "logistic",
    penalty: Maker | None = None,
    n_alpha: int = 24,
    n_gamma: int = 100,
    alphas: Sequence[float] | FloatArray | None = None,
    gammas: Sequence[float] | FloatArray | None = None,
    sample_weight: Any = None,
    intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int | None = None,
    algorithm: Algorithm = "auto",
    cv: Any = None,
    random_state: Any = None,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> FacetsGrid:
    """Fit Facets models over (alpha, gamma), alpha = lam / gamma, warm-started along both axes.

    Where alpha is at least the sup norm of the gradient at the intercept-only optimum, the model is
    null whatever gamma is: these rows of the grid are written down, not solved.

    Parameters
    ----------
    X, y, loss, sample_weight, intercept, tol, max_iter, algorithm, cv, random_state
        As for :func:`path`.
    penalty : callable, optional
        ``penalty(lam, gamma)``; default :class:`milpscore.penalties.Facets`. Its subdifferential at
        0 must be [-lam/gamma, lam/gamma], as for strongly convex Facets.
    n_alpha, n_gamma : int
        Sizes of the default axes: alpha_max 10^((i - 18.5) 3 / 18.5) for 24 points (the first one
        is alpha_max / 1000, the last five are null), the same span for other numbers; gamma from
        0.02 to 2 in geometric progression.
    alphas, gammas : sequence of float, optional
        The axes themselves, positive.
    n_jobs : int
        Processes, each with neighbouring values of gamma (joblib).
    progress : callable, optional
        ``progress(done, total)`` in models, as columns come in.

    Returns
    -------
    FacetsGrid

    Raises
    ------
    DataError
        The data cannot be used as given.
    OptionError
        A parameter lies outside its range.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker, "Learning interpretable models using soft integrity
    constraints" (2020), sec. 5-6 and Fig. 3. The paper prints no ranges for its axes.
    """
    check_options(tol, max_iter, algorithm)
    smooth = prepare(X, y, loss, sample_weight=sample_weight, intercept=intercept)
    top = float(np.abs(smooth.null.gradient).max())
    rows = _axis("alphas", alphas, top * 10.0 ** _exponents(n_alpha))
    columns = _axis("gammas", gammas, np.geomspace(0.02, 2.0, _size("n_gamma", n_gamma)))
    work = _Work(penalty or _facets, rows, top, tol, max_iter, algorithm)
    folds = across_folds(X, y, smooth, sample_weight, cv, random_state)
    results = _all_columns(smooth, work, columns, n_jobs, progress)
    table = _table(rows, columns, results)
    if folds is not None:
        table = table.assign(**folds(lambda part: _all_columns(part, work, columns, n_jobs, None)))
    shape = len(columns), len(rows)
    w = np.stack([result.coefficients for result in results])
    b = np.array([result.intercept for result in results])
    return FacetsGrid(
        table=table,
        alphas=rows,
        gammas=columns,
        coefficients=w.reshape(*shape, -1).transpose(1, 0, 2).copy(),
        intercepts=b.reshape(shape).T.copy(),
    )


@dataclass(frozen=True)
class _Work:
    """What every column of the grid needs."""

    penalty: Maker
    alphas: FloatArray
    top: float
    tol: float
    max_iter: int | None
    algorithm: Algorithm


def _facets(lam: float, gamma: float) -> ProxPenalty:
    from milpscore.penalties import Facets

    made: ProxPenalty = Facets(lam, gamma)
    return made


def _all_columns(
    smooth: Smooth,
    work: _Work,
    gammas: FloatArray,
    n_jobs: int,
    progress: Progress | None,
) -> list[ProximalResult]:
    """Every model, gamma by gamma, alpha ascending."""
    top = float(np.abs(smooth.null.gradient).max())
    work = replace(work, top=top)
    total = len(gammas) * len(work.alphas)
    if n_jobs == 1:
        found: list[ProximalResult] = []
        before: Column | None = None
        for gamma in gammas.tolist():
            before = _column(smooth, work, gamma, before)
            found += [result for result, _ in before]
            if progress is not None:
                progress(len(found), total)
        return found
    from joblib import Parallel, delayed, effective_n_jobs

    stretches = np.array_split(gammas, min(4 * effective_n_jobs(n_jobs), len(gammas)))
    pool = Parallel(n_jobs=n_jobs, return_as="generator")
    found = []
    for part in pool(delayed(_stretch)(smooth, work, stretch) for stretch in stretches):
        found += part
        if progress is not None:
            progress(len(found), total)
    return found


def _stretch(smooth: Smooth, work: _Work, gammas: FloatArray) -> list[ProximalResult]:
    return _all_columns(smooth, work, gammas, 1, None)


def _column(smooth: Smooth, work: _Work, gamma: float, before: Column | None) -> Column:
    """The models of one gamma, solved from the largest alpha down, returned ascending."""
    found: Column = []
    at, step = smooth.null, 0.0
    for i in range(len(work.alphas) - 1, -1, -1):
        alpha = float(work.alphas[i])
        penalty = shaped(work.penalty(alpha * gamma, gamma), smooth)
        if alpha >= work.top * (1.0 - _ROUNDING):
            found.append((_null(smooth, penalty, work.tol), smooth.null))
            continue
        if before is not None:
            at = min(at, before[i][1], key=lambda near: near.loss + float(penalty.value(near.w)))
        run, point = solve(
            smooth, penalty, work.tol, work.max_iter, work.algorithm, start=at, step=step
        )
        at, step = point.at, run.step
        found.append((run.result(point), at))
    return found[::-1]


def _null(smooth: Smooth, penalty: ProxPenalty, tol: float) -> ProximalResult:
    """The null model, which needs no solving: minus the gradient lies in the subdifferential."""
    run = start_run(smooth, "none", tol)
    point = certify(smooth, penalty, smooth.null)
    stop = run.look(0, point)
    return run.end(0, stop or Stop.DISTANCE_REACHED).result(point)


def _exponents(n_alpha: int) -> FloatArray:
    """Powers of ten that place alpha relative to alpha_max; 24 points a unit of 3 / 18.5 apart."""
    points = np.linspace(0.0, 23.0, _size("n_alpha", n_alpha))
    return np.asarray((points - _NULL_AT) * _PER_POINT)


def _size(name: str, count: Any) -> int:
    if not (isinstance(count, int | np.integer) and count >= 1):
        raise OptionError(f"{name}={count!r}; use a whole number from 1 on.")
    return int(count)


def _axis(name: str, given: Sequence[float] | FloatArray | None, default: FloatArray) -> FloatArray:
    values = default if given is None else np.sort(np.asarray(given, dtype=np.float64).ravel())
    if not len(values) or not np.isfinite(values).all() or values[0] <= 0:
        raise OptionError(f"{name} must be finite positive numbers, and at least one.")
    return values


def _table(alphas: FloatArray, gammas: FloatArray, results: list[ProximalResult]) -> pd.DataFrame:
    import pandas as pd

    cells = [(alpha, gamma) for gamma in gammas.tolist() for alpha in alphas.tolist()]
    rows = [
        {
            "alpha": alpha,
            "gamma": gamma,
            "beta": alpha / gamma,
            "lam": alpha * gamma,
            **model_row(result, gamma),
        }
        for (alpha, gamma), result in zip(cells, results, strict=True)
    ]
    return pd.DataFrame(rows)
