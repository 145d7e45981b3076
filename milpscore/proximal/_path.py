"""Many models of one problem: a path over lam, and the grid of Facets models over two axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from milpscore.core.clock import Clock
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import DataError, OptionError
from milpscore.core.statement import ProxPenalty, SmoothLoss
from milpscore.losses import smooth_loss
from milpscore.penalties import OWL, Facets
from milpscore.penalties.ramps import Ramps
from milpscore.proximal.coordinate import POLICY, Memory
from milpscore.proximal.engine import (
    Algorithm,
    FitOptions,
    Maker,
    Progress,
    as_maker,
    part_of,
    solve,
)  # fmt: skip
from milpscore.proximal.operators import as_operator
from milpscore.proximal.problem import Primal, ProximalResult, Smooth, prepare, shaped

if TYPE_CHECKING:
    import pandas as pd

Fits: TypeAlias = Callable[[Smooth], list[ProximalResult]]
Column: TypeAlias = list[tuple[ProximalResult, Primal]]


@dataclass(frozen=True, eq=False)
class ProximalPath:
    """The models of a path, from the largest lam to the smallest.

    Attributes
    ----------
    table : DataFrame
        One row per lam: lam, terms, integrity, magnitude (sum of absolute coefficients), loss,
        penalty, objective, gap, null (every coefficient is zero), integral (none lies off the
        grid, and not all are zero), iterations, termination, seconds, and with ``cv`` cv_accuracy
        and cv_auc.
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

    def __repr__(self) -> str:
        lams = self.lams
        return f"<ProximalPath of {len(lams)} models, lam {lams[0]:.4g} to {lams[-1]:.4g}>"


@dataclass(frozen=True, eq=False)
class FacetsGrid:
    """All models of a grid.

    Attributes
    ----------
    table : DataFrame
        One row per model, gamma by gamma: alpha (= lam / gamma), gamma, beta (= lam / gamma^2),
        lam, then the columns of :class:`ProximalPath`. Integrity is that of w / gamma.
    alphas : ndarray of shape (a,), ascending
    gammas : ndarray of shape (c,), ascending
    coefficients : ndarray of shape (a, c, p), or (a, c, p, K)
    intercepts : ndarray of shape (a, c), or (a, c, K)
    """

    table: pd.DataFrame
    alphas: FloatArray
    gammas: FloatArray
    coefficients: FloatArray
    intercepts: FloatArray

    def __repr__(self) -> str:
        (a, b), (c, d) = self.alphas[[0, -1]], self.gammas[[0, -1]]
        models = f"{len(self.alphas)} x {len(self.gammas)} models"
        return f"<FacetsGrid of {models}, alpha {a:.4g} to {b:.4g}, gamma {c:.4g} to {d:.4g}>"

    def heat_map(self, column: str) -> FloatArray:
        """Return a column of the table as an array of shape (a, c)."""
        values = self.table[column].to_numpy(dtype=np.float64)
        return values.reshape(len(self.gammas), len(self.alphas)).T


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
    tol: float = FitOptions.tol,
    max_iter: int | None = FitOptions.max_iter,
    algorithm: Algorithm = FitOptions.algorithm,
    cv: Any = None,
    random_state: Any = 0,
    time_limit: float = math.inf,
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
        loss of classes only). With more than two classes the AUC is the mean of those of each class
        against the rest, by its probability.
    random_state : int, optional
        Shuffles the folds of an integer ``cv``.
    time_limit : float
        Seconds for the whole call, not with ``cv``. The path ends when they are over: the model at
        work stays, with the gap it has reached, and those after it are left out.
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
    options = FitOptions(tol, max_iter, algorithm, Clock.of(time_limit))
    if cv is not None and math.isfinite(options.clock):
        raise OptionError(
            "cv fits every model of the path in every fold: leave out {time_limit}.", time_limit=...
        )
    maker = as_maker(penalty)
    smooth = prepare(X, y, loss, sample_weight=sample_weight, intercept=intercept)
    weights = lams_of(smooth, maker, lams, n_lams, ratio)
    folds = _across_folds(X, y, smooth, sample_weight, cv, random_state)
    results = descended(smooth, maker, weights, options, progress)
    models = path_of(weights[: len(results)], results, maker)
    if folds is None:
        return models
    scores = folds(lambda part: descended(part, maker, weights, options))
    return replace(models, table=models.table.assign(**scores))


def path_of(lams: FloatArray, results: list[ProximalResult], maker: Maker) -> ProximalPath:
    """Return the path of these models."""
    unit = float(getattr(maker(float(lams[0])), "gamma", 1.0))
    return ProximalPath(
        table=_table([{"lam": lam} for lam in lams.tolist()], results, [unit] * len(lams)),
        lams=lams,
        coefficients=np.stack([result.coefficients for result in results]),
        intercepts=np.stack([result.intercept for result in results]),
        results=tuple(results),
    )


def descended(
    smooth: Smooth, maker: Maker, lams: FloatArray, options: FitOptions,
    progress: Progress | None = None,
) -> list[ProximalResult]:  # fmt: skip
    """Fit the models of a path, as far as the clock lets it go; ``lams`` descend."""
    results: list[ProximalResult] = []
    at, step = smooth.null, 0.0
    before: Ramps | OWL | None = None
    memory = Memory()
    past: list[tuple[float, Primal]] = []
    kind: type = object
    for lam in lams.tolist():
        # 1) The penalty, tried once per kind: the lengths of a kind's weights are its maker's.
        penalty = maker(lam)
        if smooth.n_classes or not results or type(penalty) is not kind:
            kind, penalty = type(penalty), shaped(penalty, smooth)
        part = part_of(penalty, smooth)
        # 2) Columns that may enter, and the better of the last point and one further on.
        hint = _strong_rule(at, before, part)
        ahead = _onwards(past, lam)
        start = at if ahead is None else _better(smooth, penalty, at, ahead)
        # 3) The fit.
        result, at = solve(
            smooth, penalty, options, start=start, step=step, hint=hint, part=part, memory=memory
        )
        step, before, past = result.step, part, [*past[-1:], (lam, at)]
        results.append(result)
        if progress is not None:
            progress(len(results), len(lams))
        if options.clock.is_up:
            break
    return results


def _onwards(past: list[tuple[float, Primal]], lam: float) -> FloatArray | None:
    """Return the coefficients that the last two fits of a path point to."""
    if len(past) < 2 or not past[0][0] > past[1][0] > lam:
        return None
    (far, old), (near, at) = past
    share = (near - lam) / (far - near)
    w = at.w + np.where((at.w != 0) & (old.w != 0), at.w - old.w, 0.0) * share
    return np.where(w * at.w < 0, 0.0, w)


def _better(smooth: Smooth, penalty: ProxPenalty, at: Primal, w: FloatArray) -> Primal:
    """Return the better of a point and other coefficients."""
    new = smooth.settled(w, smooth.X.matvec(w), at.b)
    better = new.loss + penalty.value(new.w) < at.loss + penalty.value(at.w)
    return new if better else at


def lams_of(
    smooth: Smooth,
    maker: Maker,
    lams: Sequence[float] | FloatArray | None,
    n_lams: int,
    ratio: float,
) -> FloatArray:
    """Return the weights of a path, descending."""
    if lams is not None:
        weights = np.sort(np.asarray(lams, dtype=np.float64).ravel())[::-1]
        if not len(weights) or not np.isfinite(weights).all() or weights[-1] < 0:
            raise OptionError("lams must be finite numbers, not negative, and at least one.")
        return weights
    _check_size("n_lams", n_lams)
    if not 0 < ratio < 1:
        raise OptionError(f"ratio={ratio!r}; use a number between 0 and 1, say 0.01.")
    top = float(shaped(maker(1.0), smooth).lambda_max(smooth.null.gradient))
    if not np.isfinite(top):
        raise OptionError(
            "no finite lam makes the model null with this penalty, so a path has no beginning;"
            " give {lams}.",
            lams=...,
        )
    # with nothing to explain every lam gives the null model
    top = top if top > 0 else 1.0
    return top * np.geomspace(1.0, ratio, n_lams) if n_lams > 1 else np.array([top])


def _strong_rule(at: Primal, old: Ramps | OWL | None, new: Ramps | OWL | None) -> IntArray | None:
    """Return columns that may enter: those whose gradient could reach the new threshold."""
    # Tibshirani et al., "Strong rules for discarding predictors in lasso-type problems" (2012). It
    # only proposes; the duality gap looks at every column.
    if old is None or new is None or len(at.w) <= POLICY.all_columns:
        return None
    if isinstance(old, OWL) and isinstance(new, OWL):
        # Larsson, Bogdan and Wallin, "The strong screening rule for SLOPE" (2020)
        wider = OWL(2.0 * new.lam - old.lam, weights=new.weights) if old.lam < 2 * new.lam else None
        if wider is None:
            return None
        return np.flatnonzero((wider.distance(np.zeros_like(at.w), at.gradient) > 0) & (at.w == 0))
    assert isinstance(old, Ramps)
    assert isinstance(new, Ramps)
    threshold = 2.0 * new.weight * new.slopes[0] - old.weight * old.slopes[0]
    return np.flatnonzero((np.abs(at.gradient) >= threshold) & (at.w == 0))


def facets_grid(
    X: Any,
    y: Any,
    *,
    loss: str | SmoothLoss = "logistic",
    penalty: Callable[[float, float], ProxPenalty] | None = None,
    n_alpha: int = 24,
    n_gamma: int = 100,
    alphas: Sequence[float] | FloatArray | None = None,
    gammas: Sequence[float] | FloatArray | None = None,
    sample_weight: Any = None,
    intercept: bool = True,
    tol: float = FitOptions.tol,
    max_iter: int | None = FitOptions.max_iter,
    algorithm: Algorithm = FitOptions.algorithm,
    cv: Any = None,
    random_state: Any = 0,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> FacetsGrid:
    """Fit Facets models over (alpha, gamma), alpha = lam / gamma, warm-started along both axes.

    Where alpha is at least the sup norm of the gradient at the intercept-only optimum, the model is
    null whatever gamma is: in these rows of the grid the first look at the gap ends the fit.

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
    options = FitOptions(tol, max_iter, algorithm)
    smooth = prepare(X, y, loss, sample_weight=sample_weight, intercept=intercept)
    top = float(np.abs(smooth.null.gradient).max())
    # 24 points lie 3 / 18.5 apart in the exponent of ten; at 18.5 the null model begins
    points = np.linspace(0.0, 23.0, _check_size("n_alpha", n_alpha))
    rows = _axis("alphas", alphas, top * 10.0 ** ((points - 18.5) * (3.0 / 18.5)))
    columns = _axis("gammas", gammas, np.geomspace(0.02, 2.0, _check_size("n_gamma", n_gamma)))
    work = _Work(penalty or Facets, rows, options)
    folds = _across_folds(X, y, smooth, sample_weight, cv, random_state)
    results = _all_columns(smooth, work, columns, n_jobs, progress)
    cells = [
        {"alpha": alpha, "gamma": gamma, "beta": alpha / gamma, "lam": alpha * gamma}
        for gamma in columns.tolist()
        for alpha in rows.tolist()
    ]
    table = _table(cells, results, [cell["gamma"] for cell in cells])
    if folds is not None:
        table = table.assign(**folds(lambda part: _all_columns(part, work, columns, n_jobs)))
    shape = len(columns), len(rows)
    w = np.stack([result.coefficients for result in results])
    b = np.stack([result.intercept for result in results])
    return FacetsGrid(
        table=table,
        alphas=rows,
        gammas=columns,
        coefficients=w.reshape(*shape, *w.shape[1:]).swapaxes(0, 1).copy(),
        intercepts=b.reshape(*shape, *b.shape[1:]).swapaxes(0, 1).copy(),
    )


@dataclass(frozen=True)
class _Work:
    """What the columns of the grid share."""

    penalty: Callable[[float, float], ProxPenalty]
    alphas: FloatArray
    options: FitOptions


def _all_columns(
    smooth: Smooth, work: _Work, gammas: FloatArray, n_jobs: int = 1,
    progress: Progress | None = None,
) -> list[ProximalResult]:  # fmt: skip
    """Fit every model, gamma by gamma, alpha ascending."""
    results: list[ProximalResult] = []
    parts: Iterable[list[ProximalResult]] = _in_turn(smooth, work, gammas)
    if n_jobs != 1:
        from joblib import Parallel, delayed, effective_n_jobs

        stretches = np.array_split(gammas, min(4 * effective_n_jobs(n_jobs), len(gammas)))
        pool = Parallel(n_jobs=n_jobs, return_as="generator")
        parts = pool(delayed(_all_columns)(smooth, work, stretch) for stretch in stretches)
    for part in parts:
        results += part
        if progress is not None:
            progress(len(results), len(gammas) * len(work.alphas))
    return results


def _in_turn(smooth: Smooth, work: _Work, gammas: FloatArray) -> Iterable[list[ProximalResult]]:
    """Fit one gamma after the other, each model started from its better neighbour."""
    before: Column | None = None
    for gamma in gammas.tolist():
        before = _column(smooth, work, gamma, before)
        yield [result for result, _ in before]


def _column(smooth: Smooth, work: _Work, gamma: float, before: Column | None) -> Column:
    """Fit the models of one gamma from the largest alpha down; return them ascending."""
    models: Column = []
    at, step = smooth.null, 0.0
    for i in range(len(work.alphas) - 1, -1, -1):
        penalty = shaped(work.penalty(float(work.alphas[i]) * gamma, gamma), smooth)
        if before is not None:
            at = min(at, before[i][1], key=lambda near: near.loss + float(penalty.value(near.w)))
        result, at = solve(smooth, penalty, work.options, start=at, step=step)
        step = result.step
        models.append((result, at))
    return models[::-1]


def _check_size(name: str, count: Any) -> int:
    """Return a whole number from 1 on."""
    if not (isinstance(count, int | np.integer) and count >= 1):
        raise OptionError("{argument}; use a whole number from 1 on.", argument=name, value=count)
    return int(count)


def _axis(name: str, axis: Sequence[float] | FloatArray | None, default: FloatArray) -> FloatArray:
    """Return an axis of the grid, ascending."""
    values = default if axis is None else np.sort(np.asarray(axis, dtype=np.float64).ravel())
    if not len(values) or not np.isfinite(values).all() or values[0] <= 0:
        raise OptionError(
            "{argument} must be finite positive numbers, and at least one.", argument=name
        )
    return values


def _table(
    keys: list[dict[str, float]], results: list[ProximalResult], units: list[float]
) -> pd.DataFrame:
    """Return one row per model: its parameters, then its measures in units of the grid."""
    import pandas as pd

    models = zip(keys, results, units, strict=True)
    rows = [{**key, **_measures(result, unit)} for key, result, unit in models]
    return pd.DataFrame({name: [row[name] for row in rows] for name in rows[0]})


def _measures(result: ProximalResult, unit: float) -> dict[str, Any]:
    """Return the measures of one model; a coefficient counts as integer if w / unit does."""
    from milpscore.metrics import integrity, magnitude

    w = result.coefficients
    null = not w.any()
    share = integrity(w / unit)
    return {
        "terms": int(np.count_nonzero(w)),
        "integrity": share,
        "magnitude": magnitude(w),
        "loss": result.loss,
        "penalty": result.penalty,
        "objective": result.objective,
        "gap": result.gap,
        "null": null,
        "integral": share == 1.0 and not null,
        "iterations": result.iterations,
        "termination": str(result.termination),
        "seconds": result.seconds,
    }


def _across_folds(
    X: Any, y: Any, smooth: Smooth, sample_weight: Any, cv: Any, random_state: Any
) -> Callable[[Fits], dict[str, FloatArray]] | None:
    """Prepare the folds; return what maps "fit all models on these rows" to accuracy and AUC."""
    if cv is None:
        return None
    if smooth_loss(smooth.loss).task not in {"classification", "multinomial"}:
        raise OptionError(
            "{cv} reports accuracy and AUC, which need a classification loss.", cv=...
        )
    operator, many = as_operator(X), smooth.n_classes
    answers = np.asarray(y, dtype=np.float64)
    answers = answers if many else np.where(answers > 0, 1.0, -1.0)
    weight = np.ones(len(answers)) if sample_weight is None else np.asarray(sample_weight, float)
    splits = _splits(answers, cv, random_state)

    def run(fits: Fits) -> dict[str, FloatArray]:
        parts = []
        for train, test in splits:
            part = prepare(
                operator.take(train), answers[train], smooth.loss,
                sample_weight=weight[train], intercept=smooth.intercept,
            )  # fmt: skip
            if part.n_classes != many:
                raise DataError("a class has no rows to be fitted to in some fold: use fewer folds")
            results = fits(part)
            w = np.stack([result.coefficients for result in results], axis=1)
            b = np.stack([result.intercept for result in results])
            scores = operator.take(test).matvec(w.reshape(len(w), -1))
            scores = scores.reshape(-1, *w.shape[1:]) + b
            parts.append(_held_out(scores, answers[test], weight[test]))
        mean = np.mean(np.array(parts), axis=0)
        return {"cv_accuracy": mean[0], "cv_auc": mean[1]}

    return run


def _splits(y: FloatArray, cv: Any, random_state: Any) -> list[tuple[IntArray, IntArray]]:
    """Return pairs (train, test) of row positions, stratified if ``cv`` is a number of folds."""
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        from sklearn.model_selection import StratifiedKFold

        least = int(np.unique(y, return_counts=True)[1].min())
        if not 2 <= cv <= least:
            raise OptionError(
                f"{{cv}}; use 2 folds or more, and at most {least}, the rows of the rarer class.",
                cv=cv,
            )
        folds = StratifiedKFold(int(cv), shuffle=True, random_state=random_state)
        return [(train, test) for train, test in folds.split(np.zeros((len(y), 1)), y)]
    if isinstance(cv, Iterable):
        return [(np.asarray(train), np.asarray(test)) for train, test in cv]
    raise OptionError("{cv}; use a number of folds or pairs (train, test) of row positions.", cv=cv)


def _held_out(
    scores: FloatArray, y: FloatArray, weight: FloatArray
) -> tuple[list[float], list[float]]:
    """Return accuracies and areas under the curve for scores (n, m), or (n, m, K) by class."""
    from scipy.special import softmax

    from milpscore.metrics import accuracy, auc

    many = scores.ndim == 3
    answered: npt.NDArray[Any] = scores.argmax(axis=2) if many else scores >= 0
    truth: npt.NDArray[Any] = y if many else y > 0
    ranks = softmax(scores, axis=2) if many else scores[:, :, None]
    sides = [y == k for k in range(scores.shape[2])] if many else [truth]
    hits = [accuracy(truth, column, weight) for column in answered.T]
    both = all(side.any() and not side.all() for side in sides)
    areas = [
        [auc(side, column, weight) if both else np.nan for column in ranks[:, :, k].T]
        for k, side in enumerate(sides)
    ]
    return hits, np.mean(areas, axis=0).tolist()
