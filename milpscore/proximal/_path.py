"""A whole regularisation path, warm-started from the null model down."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError
from milpscore.core.terms import ProxPenalty, SmoothLoss
from milpscore.proximal._fit import Algorithm, check_options, ramps_of, solve
from milpscore.proximal._folds import across_folds
from milpscore.proximal._problem import Primal, Smooth, prepare, shaped
from milpscore.proximal._result import ProximalResult
from milpscore.proximal._table import model_row

if TYPE_CHECKING:
    import pandas as pd

Progress: TypeAlias = Callable[[int, int], None]
Maker: TypeAlias = Callable[[float], ProxPenalty]


@dataclass(frozen=True, eq=False)
class ProximalPath:
    """The models of a path, from the largest lam to the smallest.

    Attributes
    ----------
    table : DataFrame
        One row a lam: lam, terms, integrity, magnitude (sum of absolute coefficients), loss,
        penalty, objective, gap, null, integral, iterations, termination, seconds, and with ``cv``
        cv_accuracy and cv_auc.
    lams : ndarray of shape (m,)
    coefficients : ndarray of shape (m, p), or (m, p, K)
    intercepts : ndarray of shape (m,), or (m, K)
    results : tuple of ProximalResult
    """

    table: pd.DataFrame
    lams: FloatArray
    coefficients: FloatArray
    intercepts: FloatArray
    results: tuple[ProximalResult, ...]


def path(
    X: Any,
    y: Any,
    *,
    loss: str | SmoothLoss = "logistic",
    penalty: ProxPenalty | Maker,
    lams: Sequence[float] | FloatArray | None = None,
    n_lams: int = 30,
    ratio: float = 0.01,
    sample_weight: Any = None,
    intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int | None = None,
    algorithm: Algorithm = "auto",
    cv: Any = None,
    random_state: Any = None,
    progress: Progress | None = None,
) -> ProximalPath:
    """Fit a model for each of many lam, each started from the one before.

    Parameters
    ----------
    X, y, loss, sample_weight, intercept, tol, max_iter, algorithm
        As for :func:`fit_proximal`.
    penalty : penalty, class or function
        An instance (its lam is replaced), or anything that makes a penalty from lam: the class
        ``L1``, or ``lambda lam: EYE(lam, expert=r)``.
    lams : sequence of float, optional
        Penalty weights; they are used in descending order. By default ``n_lams`` of them in
        geometric progression from lambda_max, where the model is just null, to ratio * lambda_max.
    n_lams : int
    ratio : float in (0, 1)
    cv : int or iterable of (train, test), optional
        Adds the mean accuracy and AUC on rows left out, the folds being stratified by class (a
        classification loss only).
    random_state : int, optional
        Shuffles the folds of an integer ``cv``.
    progress : callable, optional
        ``progress(done, total)`` after each model.

    Returns
    -------
    ProximalPath

    Raises
    ------
    DataError
        The data cannot be used as given.
    OptionError
        A parameter lies outside its range, or the penalty has no finite lambda_max (say L2): give
        ``lams`` then.
    """
    check_options(tol, max_iter, algorithm)
    maker = as_maker(penalty)
    smooth = prepare(X, y, loss, sample_weight=sample_weight, intercept=intercept)
    steps = _lams(smooth, maker, lams, n_lams, ratio)
    folds = across_folds(X, y, smooth, sample_weight, cv, random_state)
    results = descend_path(smooth, maker, steps, tol, max_iter, algorithm, progress)
    table = _table(steps, results, float(getattr(maker(steps[0]), "gamma", 1.0)))
    if folds is not None:
        table = table.assign(
            **folds(lambda part: descend_path(part, maker, steps, tol, max_iter, algorithm, None))
        )
    return ProximalPath(
        table=table,
        lams=steps,
        coefficients=np.stack([result.coefficients for result in results]),
        intercepts=np.stack([result.intercept for result in results]),
        results=tuple(results),
    )


def descend_path(
    smooth: Smooth,
    maker: Maker,
    lams: FloatArray,
    tol: float,
    max_iter: int | None,
    algorithm: Algorithm,
    progress: Progress | None,
) -> list[ProximalResult]:
    """The fits themselves; ``lams`` descend."""
    results: list[ProximalResult] = []
    at, step = smooth.null, 0.0
    before: ProxPenalty | None = None
    for lam in lams.tolist():
        penalty = shaped(maker(lam), smooth)
        hint = _strong_rule(smooth, at, before, penalty)
        run, point = solve(
            smooth, penalty, tol, max_iter, algorithm, start=at, step=step, hint=hint
        )
        at, step, before = point.at, run.step, penalty
        results.append(run.result(point))
        if progress is not None:
            progress(len(results), len(lams))
    return results


def as_maker(penalty: Any) -> Maker:
    """What makes the penalty from lam.

    Raises
    ------
    OptionError
        There is no lam to vary.
    """
    if isinstance(penalty, type) or (callable(penalty) and not is_dataclass(penalty)):
        made: Maker = penalty
        return made
    if is_dataclass(penalty) and any(field.name == "lam" for field in fields(penalty)):
        template: Any = penalty
        return lambda lam: replace(template, lam=lam)
    raise OptionError(
        f"{penalty!r} has no lam to vary; pass a penalty of milpscore.penalties with one, its"
        " class, or a function of lam."
    )


def _lams(
    smooth: Smooth,
    maker: Maker,
    lams: Sequence[float] | FloatArray | None,
    n_lams: int,
    ratio: float,
) -> FloatArray:
    if lams is not None:
        given = np.sort(np.asarray(lams, dtype=np.float64).ravel())[::-1]
        if not len(given) or not np.isfinite(given).all() or given[-1] < 0:
            raise OptionError("lams must be finite numbers, not negative, and at least one.")
        return given
    if not (isinstance(n_lams, int | np.integer) and n_lams >= 1):
        raise OptionError(f"n_lams={n_lams!r}; use a whole number from 1 on.")
    if not 0 < ratio < 1:
        raise OptionError(f"ratio={ratio!r}; use a number between 0 and 1, say 0.01.")
    top = float(shaped(maker(1.0), smooth).lambda_max(smooth.null.gradient))
    if not np.isfinite(top):
        raise OptionError(
            "no finite lam makes the model null with this penalty, so a path has no beginning;"
            " give lams."
        )
    # with nothing to explain every lam gives the null model
    top = top if top > 0 else 1.0
    return top * np.geomspace(1.0, ratio, n_lams) if n_lams > 1 else np.array([top])


def _strong_rule(
    smooth: Smooth, at: Primal, before: ProxPenalty | None, penalty: ProxPenalty
) -> IntArray | None:
    """Columns that may enter: those whose gradient could reach the new threshold.

    Tibshirani et al., "Strong rules for discarding predictors in lasso-type problems" (2012). It
    only proposes; the certificate looks at every column.
    """
    old = None if before is None else ramps_of(before, smooth)
    new = ramps_of(penalty, smooth)
    if old is None or new is None:
        return None
    threshold = 2.0 * new.weight * new.slopes[0] - old.weight * old.slopes[0]
    return np.flatnonzero((np.abs(at.gradient) >= threshold) & (at.w == 0))


def _table(lams: FloatArray, results: list[ProximalResult], unit: float) -> pd.DataFrame:
    import pandas as pd

    rows = [
        {"lam": lam, **model_row(result, unit)}
        for lam, result in zip(lams.tolist(), results, strict=True)
    ]
    return pd.DataFrame(rows)
