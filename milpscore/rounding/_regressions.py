"""The plain rivals: a real-valued regression, scaled into the coefficient range and rounded."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.statement import Statement
from milpscore.rounding._request import Request
from milpscore.rounding._scaled import ScaledRounding, scaled_rounding

_MAX_ITER = 10_000


def rounded_logistic(
    statement: Statement, *, lam: float = 1e-3, n_scales: int = 200
) -> ScaledRounding:
    """L2-penalised logistic regression by scikit-learn, scaled and rounded to the nearest.

    Parameters
    ----------
    statement : Statement
        Its design gives the rows and weights, its ranges the card.
    lam : float
        Of mean log(1+exp(-y s)) + lam ||w||^2 / 2, > 0; scikit-learn's C is 1/(lam sum of weights).
    n_scales : int
        As in :func:`scaled_rounding`.

    Returns
    -------
    ScaledRounding

    Raises
    ------
    OptionError
        For ``lam`` <= 0, or a bad ``n_scales``.
    NotApplicableError
        Where only one class has weight.
    """
    from sklearn.linear_model import LogisticRegression

    X, y, weight = _rows(statement, lam)
    model = LogisticRegression(C=1.0 / (lam * weight.sum()), solver="newton-cholesky")
    model.set_params(max_iter=_MAX_ITER).fit(X, y, sample_weight=weight)
    return _rounded(statement, model.coef_[0], model.intercept_[0], n_scales, "rounded_logistic")


def rounded_lasso(
    statement: Statement, *, lam: float = 1e-2, n_scales: int = 200
) -> ScaledRounding:
    """Lasso on the classes -1 and +1 by scikit-learn, scaled and rounded to the nearest.

    Parameters
    ----------
    statement : Statement
    lam : float
        Of mean (y-s)^2/2 + lam ||w||_1, > 0; scikit-learn's alpha.
    n_scales : int
        As in :func:`scaled_rounding`.

    Returns
    -------
    ScaledRounding

    Raises
    ------
    OptionError, NotApplicableError
        As :func:`rounded_logistic`.
    """
    from sklearn.linear_model import Lasso

    X, y, weight = _rows(statement, lam)
    model = Lasso(alpha=lam, max_iter=_MAX_ITER).fit(X, y, sample_weight=weight)
    return _rounded(statement, model.coef_, model.intercept_, n_scales, "rounded_lasso")


def rounded_ridge(
    statement: Statement, *, lam: float = 1e-3, n_scales: int = 200
) -> ScaledRounding:
    """Ridge regression on the classes -1 and +1 by scikit-learn, scaled and rounded to the nearest.

    Parameters
    ----------
    statement : Statement
    lam : float
        Of mean (y-s)^2/2 + lam ||w||^2 / 2, > 0; scikit-learn's alpha is lam times the sum of
        weights.
    n_scales : int
        As in :func:`scaled_rounding`.

    Returns
    -------
    ScaledRounding

    Raises
    ------
    OptionError, NotApplicableError
        As :func:`rounded_logistic`.
    """
    from sklearn.linear_model import Ridge

    X, y, weight = _rows(statement, lam)
    model = Ridge(alpha=lam * weight.sum()).fit(X, y, sample_weight=weight)
    return _rounded(statement, model.coef_, model.intercept_, n_scales, "rounded_ridge")


def logistic_request(statement: Statement, request: Request) -> ScaledRounding:
    """The row ``rounded_logistic`` of a comparison: it knows no LP."""
    return rounded_logistic(statement)


def lasso_request(statement: Statement, request: Request) -> ScaledRounding:
    """The row ``rounded_lasso`` of a comparison: it knows no LP."""
    return rounded_lasso(statement)


def ridge_request(statement: Statement, request: Request) -> ScaledRounding:
    """The row ``rounded_ridge`` of a comparison: it knows no LP."""
    return rounded_ridge(statement)


def _rows(statement: Statement, lam: float) -> tuple[Any, Any, Any]:
    """The merged rows, with what cannot be fitted refused."""
    if isinstance(lam, bool) or not (math.isfinite(lam) and lam > 0):
        raise OptionError(f"lam must be a number > 0, got {lam!r}")
    rows = statement.design.merged
    if len(np.unique(rows.y)) < 2:
        raise NotApplicableError("a regression needs rows of both classes with weight above 0")
    return rows.X, rows.y, rows.weight


def _rounded(statement: Statement, w: Any, b: Any, n_scales: int, method: str) -> ScaledRounding:
    return scaled_rounding(statement, w, intercept=float(b), n_scales=n_scales, method=method)
