"""Tangents of the convex terms a linear program can only hold from below: a loss, a norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.statement import Statement

_EPS = float(np.finfo(np.float64).eps)
_NEWTON_STEPS = 60
_DIFFERENCE = 1e-6


@dataclass(frozen=True)
class Tangent:
    """term(v) >= gradient . v + constant at every v = (w, b), shape (p + 1,), within the ranges.

    The constant is lowered by what rounding can have added to it and to the gradient's products.
    """

    gradient: FloatArray
    constant: float


class Curve(Protocol):
    """A convex term of points v = (w, b), shape (p + 1,), that a variable of the model bounds."""

    def value(self, v: FloatArray) -> float:
        """The term at v; infinite where it overflows."""
        ...

    def tangent(self, v: FloatArray) -> Tangent | None:
        """The tangent at v; None where it is not finite."""
        ...


class LossCurve:
    """The mean of a ``RiskLoss`` over a statement's merged rows, as a function of (w, b)."""

    def __init__(self, statement: Statement) -> None:
        rows = statement.design.merged
        loss: Any = statement.loss
        self.base, self.scale = loss.base, float(loss.scale)
        self.X = np.column_stack([rows.X, np.ones(len(rows.y))]) / self.scale
        self.answers = loss.answers(rows.y)
        self.share = rows.weight / rows.weight.sum()
        rule = statement.intercept
        ends = np.maximum(np.abs(statement.coef_min), np.abs(statement.coef_max))
        self.reach = np.append(
            ends.astype(np.float64), max(abs(float(rule.lower)), abs(float(rule.upper)))
        )
        # the largest score a row can have within the ranges
        self._far = np.abs(self.X) @ self.reach

    def value(self, v: FloatArray) -> float:
        """Mean loss at v, shape (p + 1,)."""
        return self.of_scores(self.X @ v)

    def of_scores(self, z: FloatArray) -> float:
        """Mean loss of row scores z, shape (m,)."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean = float(self.share @ self.base.value(z, self.answers))
        return np.inf if np.isnan(mean) else mean

    def values(self, points: FloatArray) -> FloatArray:
        """Mean losses of several points, shape (V, p + 1)."""
        z = self.X @ points.T
        with np.errstate(over="ignore", invalid="ignore"):
            means = self.share @ self.base.value(z, self.answers[:, None])
        return np.where(np.isnan(means), np.inf, means)

    def tangent(self, v: FloatArray) -> Tangent | None:
        """The tangent at v, shape (p + 1,).

        Each row's tangent in its score is taken at the score as computed, so that only the sums
        round: by at most (m + 20) units of the last place of the sums of sizes, within the reach.
        """
        z = self.X @ v
        with np.errstate(over="ignore", invalid="ignore"):
            value = self.share * self.base.value(z, self.answers)
            slope = self.share * self.base.gradient(z, self.answers)
            gradient = slope @ self.X
            constant = float((value - slope * z).sum())
            sizes = float((np.abs(value) + np.abs(slope) * (np.abs(z) + self._far)).sum())
        if not np.isfinite(sizes):
            return None
        return Tangent(gradient, constant - (len(z) + 20) * _EPS * sizes)

    def expansion(self, v: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Value, gradient (p + 1,) and Hessian (p + 1, p + 1) at v."""
        z = self.X @ v
        with np.errstate(over="ignore", invalid="ignore"):
            value = float(self.share @ self.base.value(z, self.answers))
            gradient = (self.share * self.base.gradient(z, self.answers)) @ self.X
            bend = self.share * self.base.hessian(z, self.answers)
            hessian = self.X.T @ (bend[:, None] * self.X)
        return value, gradient, hessian

    def minimiser(self, low: FloatArray, high: FloatArray, start: FloatArray) -> FloatArray:
        """The real point of least mean loss between ``low`` and ``high``, shape (p + 1,).

        By projected Newton steps. A tangent is valid wherever it is taken, so nothing rests on the
        last digits.
        """
        v = np.clip(start, low, high)
        value, gradient, hessian = self.expansion(v)
        damping = 1e-10
        for _ in range(_NEWTON_STEPS):
            held = ((v <= low) & (gradient >= 0)) | ((v >= high) & (gradient <= 0))
            free = np.flatnonzero(~held & (low < high))
            if not len(free) or not np.abs(gradient[free]).max() > 1e-10 * (1.0 + abs(value)):
                break
            # a damped Newton step of the free coefficients, clipped to the ranges
            bend = hessian[np.ix_(free, free)]
            ridge = damping * (np.diag(bend) + np.diag(bend).max() + 1e-12)
            moved = v.copy()
            moved[free] -= np.linalg.solve(bend + np.diag(ridge), gradient[free])
            moved = np.clip(moved, low, high)
            found = self.value(moved)
            if not found < value:
                damping *= 100.0
                if damping > 1e6:
                    break
                continue
            gained, damping = value - found, max(damping / 100.0, 1e-10)
            v = moved
            value, gradient, hessian = self.expansion(v)
            if gained <= 1e-13 * (1.0 + abs(value)):
                break
        return v


class NormCurve:
    """A norm of the coefficients, a penalty of weight 1; the intercept is left out."""

    def __init__(self, norm: Any) -> None:
        self.norm = norm

    def value(self, v: FloatArray) -> float:
        """The norm of the coefficients of v, shape (p + 1,)."""
        return float(self.norm.value(v[:-1]))

    def tangent(self, v: FloatArray) -> Tangent | None:
        """A supporting hyperplane at v, through 0 as every norm's is.

        Norm(w) >= z . w wherever z lies in the dual ball: the slope at v, found by differences, is
        shrunk into it, so that its error costs tightness alone.
        """
        w = v[:-1].astype(np.float64)
        if not w.any():
            return None
        slope = np.zeros_like(w)
        for j in np.flatnonzero(w):
            step = np.zeros_like(w)
            step[j] = _DIFFERENCE * abs(w[j])
            slope[j] = (self.norm.value(w + step) - self.norm.value(w - step)) / (2 * step[j])
        inside = (1.0 - 1e-12) * self.norm.dual_scale(slope)
        return Tangent(np.append(inside * slope, 0.0), 0.0)
