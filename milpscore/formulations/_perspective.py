"""Ridge with a price or a limit of terms: the tightest relaxation, one column at a time."""

from __future__ import annotations

from typing import Any

import cvxpy as cp

from milpscore.core.conic import Cone, ConicProgram
from milpscore.core.errors import NotApplicableError
from milpscore.core.program import Program
from milpscore.core.statement import LAM
from milpscore.formulations._conic import ConicData, conic_builder
from milpscore.formulations._risk_score import risk_score
from milpscore.formulations.building import check_positive
from milpscore.penalties import Perspective


def _cone(w: Any, penalty: Perspective) -> Cone:
    p = w.shape[0]
    z = cp.Variable(p, nonneg=True, name="z")
    square = cp.Variable(p, nonneg=True, name="square")
    half, price = (cp.Parameter(nonneg=True, name=name) for name in ("half_lam", "l0_penalty"))
    rows = [z <= 1, w <= penalty.bound * z, -w <= penalty.bound * z]
    if penalty.max_terms is not None:
        rows.append(cp.sum(z) <= penalty.max_terms)
    if penalty.whole:
        rows.append(square >= z)  # the square of a nonzero whole number is at least 1
        for v in range(2, int(penalty.bound) + 1):
            above = square + v * (v - 1) * z
            rows += [above >= (2 * v - 1) * w, above >= -(2 * v - 1) * w]
    else:
        # w^2 <= square z
        rows.append(cp.SOC(square + z, cp.vstack([2 * w, square - z]), axis=0))
    return Cone(
        half * cp.sum(square) + price * cp.sum(z),
        rows,
        data=[(half, lambda e: e.lam / 2), (price, lambda e: e.l0_penalty)],
    )


def _points(program: ConicProgram) -> Program:
    """The risk score over whole points, at scale 1, that the program relaxes."""
    statement = program.statement
    penalty, design = statement.penalty, statement.design
    assert isinstance(penalty, Perspective)
    if design is None or not statement.intercept or penalty.bound != int(penalty.bound):
        raise NotApplicableError(
            "the integer program needs two classes (under the squared loss a Design), an "
            "intercept, and a whole {coef_max}",
            coef_max=...,
        )
    bound = int(penalty.bound)
    return risk_score(
        design, loss=statement.loss.name, scale=1.0, coef_min=-bound, coef_max=bound,
        max_terms=penalty.max_terms, l0_penalty=penalty.l0_penalty, penalty="l2",
        lam=penalty.lam, intercept="real",
    )  # fmt: skip


@conic_builder(
    _cone, exact_form=_points, exact_under=("logistic", "squared"),
    fixed=("max_terms", "coef_max", "whole"),
)  # fmt: skip
def perspective(
    data: ConicData,
    *,
    lam: float = LAM,
    l0_penalty: float = 0.0,
    max_terms: int | None = None,
    coef_max: float = 5,
    whole: bool = False,
) -> Perspective:
    r"""Ridge with a price, or a limit, of terms: the tight relaxation of its 0-1 program.

    .. math::

        \min\ & \tfrac1S \sum_i s_i\, \ell(y_i, w \cdot x_i + b)
            + \tfrac{\lambda}{2} \sum_j t_j + C_0 \sum_j z_j \\
        & w_j^2 \le t_j z_j, \quad |w_j| \le u z_j, \quad \sum_j z_j \le k, \quad 0 \le z_j \le 1

    With ``whole`` the cones are the lines through neighbouring whole points,

    .. math::

        t_j \ge (2 v - 1) |w_j| - v (v - 1) z_j \quad (v = 2, \dots, u), \qquad t_j \ge z_j

    and the program is linear but for the loss. With z in {0, 1}, and whole w, both are the same
    integer program, :meth:`exact`.

    Parameters
    ----------
    lam : float
        Of ridge, lam \|w\|^2 / 2.
    l0_penalty : float
        C_0, of each nonzero coefficient.
    max_terms : int, optional
        k.
    coef_max : float
        u, the largest coefficient; whole for ``whole`` and for the integer program.
    whole : bool
        Coefficients are points: the bound is that of the hull over whole points, never lower.

    Returns
    -------
    ConicProgram
        ``program.set(lam=, l0_penalty=)`` changes both in place; ``program.exact()`` is the risk
        score over whole points at scale 1 that it relaxes (logistic and squared loss).

    Notes
    -----
    Both are the closed convex hull of one column's (w_j, z_j, t_j); nothing that looks at one
    column at a time is tighter. The relaxation with w_j^2 <= t_j in place of the cone (ridge and
    |w_j| <= u z_j) is never higher, the hull over whole points never lower.

    References: Frangioni & Gentile (2006); Günlük & Linderoth, "Perspective reformulations of mixed
    integer nonlinear programs with indicator variables", Mathematical Programming 124 (2010).
    Pilanci, Wainwright & El Ghaoui (2015), whose Boolean relaxation has this bound where C_0 = 0
    and u does not bind.
    """
    check_positive(coef_max=coef_max)
    return Perspective(
        lam, bound=float(coef_max), max_terms=max_terms, l0_penalty=l0_penalty, whole=whole
    )
