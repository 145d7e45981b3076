"""One penalised linear model, fitted to a stated duality gap."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np

from milpscore.core.errors import OptionError
from milpscore.core.statement import ProxPenalty, SmoothLoss
from milpscore.proximal.duality import ProximalResult
from milpscore.proximal.engine import Algorithm, Options, solve
from milpscore.proximal.operators import with_ones
from milpscore.proximal.problem import Primal, Smooth, prepare, shaped

Start: TypeAlias = "ProximalResult | tuple[Any, Any] | None"


def fit_proximal(
    X: Any,
    y: Any,
    *,
    loss: str | SmoothLoss = "logistic",
    penalty: ProxPenalty,
    sample_weight: Any = None,
    intercept: bool | Literal["penalised"] = True,
    tol: float = Options.tol,
    max_iter: int | None = Options.max_iter,
    algorithm: Algorithm = Options.algorithm,
    start: Start = None,
) -> ProximalResult:
    """Minimise the weighted mean loss plus a penalty, with a bound on the distance to the optimum.

    min over w, b of sum_i s_i loss(y_i, x_i.w + b) / sum_i s_i + penalty(w); b is free and
    unpenalised. Equal rows are merged first, which changes nothing but the time.

    Parameters
    ----------
    X : array, DataFrame of numbers, SciPy sparse, or BinnedDesign, shape (n, p)
    y : array of shape (n,)
        -1/+1 or 0/1 for a classification loss, real numbers, counts, or classes 0..K-1 for the
        multinomial loss.
    loss : str or SmoothLoss
        A name of ``milpscore.losses.LOSSES`` or an instance, say ``SmoothedHinge(0.5)``.
    penalty : ProxPenalty
        Of ``milpscore.penalties``. For the multinomial loss it is summed over the classes.
    sample_weight : array of shape (n,), optional
        Finite, not negative; rows of weight 0 count for nothing.
    intercept : bool or "penalised"
        True leaves b free, False fixes it at 0. "penalised" makes b the last coefficient the
        penalty sees, that of a column of ones: weights or expert marks then have p + 1 entries.
    tol : float
        Relative duality gap (primal - dual) / max(|primal|, 1e-12) wanted.
    max_iter : int, optional
        Newton steps (default 500; 200 for "newton") or proximal steps (20,000 for FISTA, 100,000
        for ISTA).
    algorithm : {"auto", "fista", "ista", "newton", "working_set"}
        "auto" takes the working set for separable penalties, Newton steps for norms of up to 500
        columns (EYE, OWL), and FISTA for all others.
    start : ProximalResult or (coefficients, intercept), optional
        A warm start.

    Returns
    -------
    ProximalResult
        Always with its gap; ``termination`` says why it stopped.

    Raises
    ------
    DataError
        The data cannot be used as given.
    OptionError
        A parameter lies outside its range, or the algorithm cannot treat the penalty.

    Examples
    --------
    >>> import numpy as np
    >>> from milpscore.penalties import L1
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> fit_proximal(X, [0, 0, 1, 1], penalty=L1(0.1)).coefficients.round(3)
    array([1.386])
    """
    options = Options(tol, max_iter, algorithm)
    if isinstance(intercept, str):
        if intercept != "penalised":
            raise OptionError(f'intercept={intercept!r}; use True, False or "penalised".')
        smooth = prepare(with_ones(X), y, loss, sample_weight=sample_weight, intercept=False)
        start = _joined(start)
    else:
        smooth = prepare(X, y, loss, sample_weight=sample_weight, intercept=intercept)
    at, step = _start(start, smooth)
    found, _ = solve(smooth, shaped(penalty, smooth), options, start=at, step=step)
    return _parted(found) if isinstance(intercept, str) else found


def _joined(start: Start) -> Start:
    """A start whose intercept is the last coefficient."""
    if start is None:
        return None
    if isinstance(start, ProximalResult):
        start = (start.coefficients, start.intercept)
    w, b = np.asarray(start[0], dtype=np.float64), np.asarray(start[1], dtype=np.float64)
    return np.concatenate([w, b[np.newaxis]]), np.zeros(b.shape)


def _parted(found: ProximalResult) -> ProximalResult:
    """The last coefficient as the intercept."""
    last = found.coefficients[-1]
    return replace(
        found,
        coefficients=found.coefficients[:-1],
        intercept=float(last) if np.ndim(last) == 0 else np.array(last),
    )


def _start(start: Start, smooth: Smooth) -> tuple[Primal, float]:
    """The point to begin with, checked, and a step length to try (0: none is known)."""
    if start is None:
        return smooth.null, 0.0
    if isinstance(start, ProximalResult):
        w, b, step = start.coefficients, start.intercept, start.step
    else:
        (w, b), step = start, 0.0
    shape = smooth.coefficient_shape
    w, b = np.array(w, dtype=np.float64), np.array(b, dtype=np.float64)
    if w.shape != shape or b.shape != shape[1:]:
        raise OptionError(
            f"start has coefficients of shape {w.shape} and an intercept of shape {b.shape}; this"
            f" problem needs {shape} and {shape[1:]}."
        )
    if not (np.isfinite(w).all() and np.isfinite(b).all()):
        raise OptionError("start holds numbers that are not finite; leave it out.")
    return smooth.settled(w, smooth.X.matvec(w), b), step
