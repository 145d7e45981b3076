"""Tangents below a risk score's objective: where the leaves of a certificate draw their lines."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.statement import Statement


@dataclass(frozen=True)
class ScoreTangent:
    """loss + jumps >= constant + (s slope + fixed) . w + s slope_b b at cards (w, b), scale 1/s."""

    constant: float
    slope: FloatArray
    slope_b: float
    fixed: FloatArray


class TangentRows:
    """The distinct rows of a logistic risk score's data."""

    def __init__(self, statement: Statement) -> None:
        rows = statement.design.merged
        self.y, self.X = rows.y.astype(np.float64), rows.X
        self.share = rows.weight / rows.weight.sum()

    def tangent(self, w: FloatArray, b: float, slope: float) -> ScoreTangent:
        """Return the line that touches the loss at a point."""
        t = self.y * slope * (self.X @ w + b)
        small = np.exp(-np.abs(t))
        value = np.maximum(-t, 0.0) + np.log1p(small)
        pull = -self.y * np.where(t > 0, small, 1.0) / (1.0 + small)
        with np.errstate(invalid="ignore", over="ignore"):
            constant = float(((value - pull * self.y * t) * self.share).sum())
            gradient = (pull * self.share) @ self.X
        if not (math.isfinite(constant) and np.isfinite(gradient).all()):
            return ScoreTangent(-math.inf, np.zeros_like(w), 0.0, np.zeros_like(w))
        return ScoreTangent(constant, gradient, float(pull @ self.share), np.zeros_like(w))
