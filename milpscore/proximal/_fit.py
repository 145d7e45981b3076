"""One penalised linear model, fitted to a stated duality gap."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np

from milpscore.core.design import IntArray
from milpscore.core.errors import OptionError
from milpscore.core.terms import ProxPenalty, Ramps, SmoothLoss
from milpscore.proximal._certificate import Certificate
from milpscore.proximal._gradient import proximal_gradient
from milpscore.proximal._newton import proximal_newton
from milpscore.proximal._operators import BinnedOperator, with_ones
from milpscore.proximal._problem import Primal, Smooth, prepare, shaped
from milpscore.proximal._result import ProximalResult
from milpscore.proximal._run import Run
from milpscore.proximal._working_set import working_set

Algorithm: TypeAlias = Literal["auto", "fista", "ista", "newton", "working_set"]
Start: TypeAlias = "ProximalResult | tuple[Any, Any] | None"

ALGORITHMS: tuple[Algorithm, ...] = ("auto", "fista", "ista", "newton", "working_set")
MAX_ITER = {"working_set": 500, "newton": 200, "fista": 20_000, "ista": 100_000}

# columns, and multiplications for one Gram matrix, up to which Newton steps are the quicker
_NEWTON_COLUMNS = 500
_NEWTON_WORK = 1e10

# pairs of bins to count for one Gram matrix of a binned design, beyond which FISTA is quicker
_MOST_PAIRS = 50_000_000


def fit_proximal(
    X: Any,
    y: Any,
    *,
    loss: str | SmoothLoss = "logistic",
    penalty: ProxPenalty,
    sample_weight: Any = None,
    intercept: bool | Literal["penalised"] = True,
    tol: float = 1e-6,
    max_iter: int | None = None,
    algorithm: Algorithm = "auto",
    start: Start = None,
) -> ProximalResult:
    """Minimise the weighted mean loss plus a penalty, with a certificate.

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
    check_options(tol, max_iter, algorithm)
    as_column = isinstance(intercept, str)
    if isinstance(intercept, str):
        if intercept != "penalised":
            raise OptionError(f'intercept={intercept!r}; use True, False or "penalised".')
        X, start, free = with_ones(X), _joined(start), False
    else:
        free = intercept
    smooth = prepare(X, y, loss, sample_weight=sample_weight, intercept=free)
    at, step = _start(start, smooth)
    run, point = solve(
        smooth, shaped(penalty, smooth), tol, max_iter, algorithm, start=at, step=step
    )
    found = run.result(point)
    return _parted(found) if as_column else found


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


def solve(
    smooth: Smooth,
    penalty: ProxPenalty,
    tol: float,
    max_iter: int | None,
    algorithm: Algorithm,
    *,
    start: Primal,
    step: float = 0.0,
    hint: IntArray | None = None,
) -> tuple[Run, Certificate]:
    """Fit a problem that was prepared already; what :func:`fit_proximal` and the paths share."""
    ramps = ramps_of(penalty, smooth)
    chosen = _choose(algorithm, penalty, ramps, smooth)
    limit = MAX_ITER[chosen] if max_iter is None else max_iter
    if chosen == "working_set" and ramps is not None:
        return working_set(smooth, penalty, ramps, tol=tol, max_iter=limit, start=start, hint=hint)
    if chosen == "newton":
        return proximal_newton(smooth, penalty, tol=tol, max_iter=limit, start=start)
    return proximal_gradient(
        smooth,
        penalty,
        momentum=chosen == "fista",
        tol=tol,
        max_iter=limit,
        start=start,
        step=step,
    )


def ramps_of(penalty: ProxPenalty, smooth: Smooth) -> Ramps | None:
    """The penalty coefficient by coefficient, or None where it has no such form."""
    made = getattr(penalty, "ramps", None)
    if made is None or smooth.n_classes:
        return None
    ramps: Ramps = made(smooth.X.shape[1])
    return ramps


def check_options(tol: float, max_iter: int | None, algorithm: str) -> None:
    """Refuse options outside their range.

    Raises
    ------
    OptionError
    """
    if not (isinstance(tol, int | float) and math.isfinite(tol) and tol > 0):
        raise OptionError(f"tol={tol!r}; use a positive relative gap, say 1e-6.")
    if max_iter is not None and not (isinstance(max_iter, int | np.integer) and max_iter >= 0):
        raise OptionError(f"max_iter={max_iter!r}; use a whole number, or None for the default.")
    if algorithm not in ALGORITHMS:
        raise OptionError(f"no algorithm {algorithm!r}; there are {', '.join(ALGORITHMS)}.")


def _choose(
    algorithm: Algorithm, penalty: ProxPenalty, ramps: Ramps | None, smooth: Smooth
) -> Literal["fista", "ista", "newton", "working_set"]:
    if algorithm == "newton" and smooth.n_classes:
        raise OptionError(
            "the multinomial loss has no Newton steps here; use algorithm='fista' or 'auto'."
        )
    if algorithm == "working_set" and ramps is None:
        why = "the multinomial loss" if smooth.n_classes else f"the penalty {penalty.name!r}"
        raise OptionError(
            f"the working set goes coefficient by coefficient, which {why} does not allow; use"
            " algorithm='fista' or 'auto'."
        )
    if algorithm != "auto":
        return algorithm
    if ramps is None:
        rows, columns = smooth.X.shape
        small = columns <= _NEWTON_COLUMNS and rows * columns**2 <= _NEWTON_WORK
        newton = penalty.is_norm and small and not smooth.n_classes
        return "newton" if newton and not isinstance(smooth.X, BinnedOperator) else "fista"
    if isinstance(smooth.X, BinnedOperator):
        features = len(smooth.X.X.n_bins)
        if features * features * smooth.X.shape[0] > _MOST_PAIRS:
            return "fista"
    return "working_set"


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
