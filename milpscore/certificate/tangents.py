"""Tangents below a risk score's objective: where the leaves of a certificate draw their lines."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import NotApplicableError
from milpscore.core.statement import Statement
from milpscore.losses import RiskLoss

Curve = Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]


def _logistic(z: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """log(1 + exp(-y z)) and its slope."""
    t = y * z
    small = np.exp(-np.abs(t))
    return np.maximum(-t, 0.0) + np.log1p(small), -y * np.where(t > 0, small, 1.0) / (1.0 + small)


def _squared(z: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(y - z)^2 / 2 and its slope."""
    return 0.5 * (y - z) ** 2, z - y


def _squared_hinge(z: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """max(0, 1 - y z)^2 / 2 and its slope."""
    short = np.maximum(1.0 - y * z, 0.0)
    return 0.5 * short**2, -y * short


def _poisson(z: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """exp(z) - y z of y in {0, 1}, and its slope."""
    with np.errstate(over="ignore"):
        size = np.exp(z)
    return size - y * z, size - y


CURVES: dict[str, Curve] = {
    "logistic": _logistic,
    "poisson": _poisson,
    "squared": _squared,
    "squared_hinge": _squared_hinge,
}
"""The losses whose tangents can be re-derived, as functions of score and answer."""


@dataclass(frozen=True)
class Tangent:
    """loss + (penalties that are no sums) >= constant + (s slope + fixed) . w + s slope_b b.

    At every card (w, b) of scale 1 / s.
    """

    constant: float
    slope: FloatArray
    slope_b: float
    fixed: FloatArray


class Rows:
    """The distinct rows of a risk score's data."""

    def __init__(self, statement: Statement) -> None:
        loss, design = statement.loss, statement.design
        if not isinstance(loss, RiskLoss) or loss.name not in CURVES:
            raise NotApplicableError(
                f"there are no tangents below the {loss.name} loss of {statement.formulation}"
            )
        self.curve = CURVES[loss.name]
        signs = design.y.astype(np.float64)
        answers = (signs + 1.0) / 2.0 if loss.name == "poisson" else signs
        counted = design.weight > 0
        both = np.column_stack([answers, design.X])[counted] + 0.0  # -0.0 and 0.0 are one value
        distinct, which = np.unique(both, axis=0, return_inverse=True)
        weight = np.bincount(which.ravel(), weights=design.weight[counted])
        self.y, self.X = distinct[:, 0], np.ascontiguousarray(distinct[:, 1:])
        self.share = weight / weight.sum()
        self.omega = _norm_of(statement)

    def tangent(self, w: FloatArray, b: float, slope: float) -> Tangent:
        """The line that touches the loss at a point."""
        z = slope * (self.X @ w + b)
        value, pull = self.curve(z, self.y)
        with np.errstate(invalid="ignore", over="ignore"):
            constant = float(((value - pull * z) * self.share).sum())
            gradient = (pull * self.share) @ self.X
        if not (math.isfinite(constant) and np.isfinite(gradient).all()):
            return Tangent(-math.inf, np.zeros_like(w), 0.0, np.zeros_like(w))
        fixed = np.zeros_like(w) if self.omega is None else self.omega(w, slope * gradient)
        return Tangent(constant, gradient, float(pull @ self.share), fixed)


def _norm_of(statement: Statement) -> Callable[[FloatArray, FloatArray], FloatArray] | None:
    """The tangent of EYE, the one penalty here that is not a sum over the coefficients."""
    if statement.arguments["penalty"] != "eye":
        return None
    term = statement.penalties[1]
    expert = np.asarray(term.base.expert, dtype=np.float64)  # type: ignore[attr-defined]
    return lambda w, slope: eye_slope(w, slope, term.lam, expert)


def eye_slope(w: FloatArray, slope: FloatArray, lam: float, expert: FloatArray) -> FloatArray:
    """S with lam * EYE(v) >= s . v everywhere, touching at w and opposing ``slope`` where free.

    EYE is ||(1 - r) w||_1 + sqrt(||(1 - r) w||_1^2 + ||r w||_2^2).
    """
    known, unknown = expert, 1.0 - expert
    a = float(unknown @ np.abs(w))
    root = math.hypot(a, *(known * w).tolist())  # no square may vanish
    if root > 0:
        most, inner = lam * unknown * (1.0 + a / root), lam * known**2 * w / root
    else:
        # any (rho, q) of the unit disc does: q against the slope, what is left to rho
        q = -slope * known
        size = float(np.sqrt(q @ q))
        q = q / max(size, lam) if lam > 0 else np.zeros_like(q)
        most = lam * unknown * (1.0 + np.sqrt(max(0.0, 1.0 - float(q @ q))))
        inner = lam * known * q
    free = np.clip(-(slope + inner), -most, most)
    return np.asarray(np.where(w != 0, np.sign(w) * most, free) + inner)
