"""The re-check of a conic program: objective, constraints and a bound, from the raw data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from milpscore.core.conic import ConicProgram, ConicStatement
from milpscore.core.design import FloatArray
from milpscore.losses import Hinge
from milpscore.proximal.duality import duality_gap
from milpscore.proximal.operators import as_operator
from milpscore.proximal.problem import Smooth
from milpscore.verify.cards import FEASIBILITY_TOLERANCE, Evaluation


def evaluate_conic(statement: ConicStatement, w: FloatArray, b: float) -> Evaluation:
    """Loss, penalty and objective of real w, shape (p,), and b, from the raw rows.

    A compensated sum; ``violations`` where a number is not finite.
    """
    loss, penalty = statement.mean_loss(w, b), float(statement.penalty.value(w))
    broken = () if math.isfinite(loss + penalty) else ("the objective is not a finite number",)
    return Evaluation(loss, penalty, loss + penalty, broken, exact=False)


def added_violations(program: ConicProgram, limit: int = 5) -> tuple[str, ...]:
    """At most ``limit`` sentences for constraints a user added that the model's values break."""
    broken = []
    for constraint in program.added:
        size = max(
            (float(np.abs(np.asarray(part.value)).max(initial=0.0)) for part in constraint.args
             if part.value is not None),
            default=0.0,
        )  # fmt: skip
        try:
            excess = float(np.max(constraint.violation(), initial=0.0))
        except ValueError:  # CVXPY's error for variables without values
            broken.append(f"constraint {constraint} uses a variable without a value")
            continue
        # "not <=" rather than ">": a value that is not a number is outside
        if not excess <= FEASIBILITY_TOLERANCE * max(1.0, size):
            broken.append(f"constraint {constraint} is broken by {excess:.3g}")
    return tuple(broken[:limit])


def smooth_part(statement: ConicStatement) -> Smooth:
    """The statement's loss over its merged rows, as the proximal algorithms see it.

    For the hinge loss only its dual is of use: it has no gradient.
    """
    rows = statement.merged
    loss: Any = statement.loss
    return Smooth(as_operator(rows.X), rows.y, rows.weight, loss, statement.intercept)


def fenchel_bound(
    statement: ConicStatement, w: FloatArray, b: float, row_duals: FloatArray | None = None
) -> float:
    """A lower bound on the objective of every w and b, whatever constraints were added.

    By Fenchel duality with the row derivatives u at (w, b), see
    :func:`milpscore.proximal.duality.duality_gap`; constraints can only raise the minimum.

    ``row_duals``, shape (m,), are duals of the merged rows' margin constraints, from any solver;
    the hinge loss needs them. -inf where there is no bound.
    """
    smooth = smooth_part(statement)
    if not isinstance(statement.loss, Hinge):
        point = smooth.settled(w, smooth.X.matvec(w), np.asarray(b, dtype=np.float64))
        return duality_gap(smooth, statement.penalty, point).dual
    if row_duals is None or not np.isfinite(row_duals).all():
        return -math.inf
    return _hinge_bound(smooth, statement, row_duals)


def _hinge_bound(smooth: Smooth, statement: ConicStatement, row_duals: FloatArray) -> float:
    """The bound of dual shares in [0, 1], made exactly feasible first."""
    margin = statement.loss.margin  # type: ignore[attr-defined]
    share = np.clip(row_duals * margin / smooth.weight, 0.0, 1.0)
    if statement.intercept:
        # the weighted shares of the two classes must agree, or the intercept is not at its best
        positive = smooth.y > 0
        pull = smooth.weight * share
        up, down = float(pull[positive].sum()), float(pull[~positive].sum())
        if min(up, down) == 0.0:
            share[:] = 0.0
        else:
            share[positive] *= min(1.0, down / up)
            share[~positive] *= min(1.0, up / down)
    u = -smooth.y * share / margin
    gradient = smooth.X.rmatvec(smooth.weight * u)
    scale = float(statement.penalty.dual_scale(-gradient))
    conjugate = float(statement.penalty.conjugate(-scale * gradient))
    if not math.isfinite(conjugate):
        return -math.inf
    return smooth.dual(np.clip(scale, 0.0, 1.0) * u) - conjugate


def null_point(statement: ConicStatement) -> tuple[FloatArray, float]:
    """No coefficients at all, with the best intercept."""
    p = statement.merged.X.shape[1]
    w = np.zeros(p)
    if not statement.intercept:
        return w, 0.0
    if isinstance(statement.loss, Hinge):
        # one of the two margins: the loss is piecewise linear in b with kinks there
        margin = float(statement.loss.margin)
        return w, min((-margin, margin), key=lambda b: statement.mean_loss(w, b))
    return w, float(smooth_part(statement).null.b)


def check_conic(program: ConicProgram) -> Evaluation:
    """Verify the values another solver left in ``program.model``.

    ``violations`` names added constraints that are broken, and an objective that is not the one of
    the raw data.
    """
    w, b = program.coefficients()
    found = evaluate_conic(program.statement, w, b)
    broken = [*found.violations, *added_violations(program)]
    claimed = program.model.objective.value
    if claimed is not None and not abs(claimed - found.objective) <= FEASIBILITY_TOLERANCE * max(
        1.0, abs(found.objective)
    ):
        broken.append(
            f"the model's objective is {float(claimed):.9g} where the raw data give "
            f"{found.objective:.9g}: it was changed, or the solution is not converged"
        )
    return Evaluation(found.loss, found.penalty, found.objective, tuple(broken), exact=False)
