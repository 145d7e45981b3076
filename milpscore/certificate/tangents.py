"""Tangents below a risk score's objective: where the leaves of a certificate draw their lines."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import entr

from milpscore.certificate.policy import POLICY
from milpscore.core.design import FloatArray
from milpscore.core.statement import Statement
from milpscore.losses.lines import LossOfScores
from milpscore_check.hazards import FARTHEST
from milpscore_check.proof import ONE, SQUARES


@dataclass(frozen=True)
class ScoreTangent:
    """loss + jumps >= constant + (s slope + fixed) . w + s slope_b b at cards (w, b), scale 1/s."""

    constant: float
    slope: FloatArray
    slope_b: float
    fixed: FloatArray

    def prices(self, slope: float, values: FloatArray) -> FloatArray:
        """Return what each value of each column adds at a slope, shape (p, K)."""
        return np.asarray((slope * self.slope + self.fixed)[:, None] * values)


class TangentRows:
    """The distinct rows of a risk score's data, and its loss."""

    def __init__(self, statement: Statement) -> None:
        rows = statement.design.merged
        self.y, self.X = rows.y.astype(np.float64), rows.X
        self.share = rows.weight / rows.weight.sum()
        self.loss: Any = getattr(statement.loss, "base", None)
        loss: Any = statement.loss
        coupled = getattr(loss, "coupled", False)
        self.mean: LossOfScores | None = loss.mean_rows(rows.y, rows.weight) if coupled else None
        # at a free slope the checker levels a line by one row's multiplier, if that has room
        rule = statement.intercept
        self.levelled = statement.scales is not None and bool(rule.lower or rule.upper)

    def tangent(self, w: FloatArray, b: float, slope: float) -> ScoreTangent:
        """Return the line that touches the loss at a point."""
        with np.errstate(invalid="ignore", over="ignore"):
            z = slope * (self.X @ w + b)
            if self.mean is not None:
                z = np.maximum(z, z.max() - FARTHEST)  # as the checker does
                u = self.mean.pull(z)
                level = float(self.mean.mean(z) - u @ z)
                return ScoreTangent(level, u @ self.X, 0.0, np.zeros_like(w))
            value, pull = self.loss.value(z, self.y), self.loss.gradient(z, self.y)
            constant = float(((value - pull * z) * self.share).sum())
            gradient = (pull * self.share) @ self.X
        if not (math.isfinite(constant) and np.isfinite(gradient).all()):
            return self._none(w)
        slope_b = float(pull @ self.share)
        if self.levelled:
            # as the checker does: the multiplier with most room takes the line's pull along b
            parts = np.rint(-self.y * pull * ONE) / ONE
            square = self.loss.name in SQUARES
            at = int((parts if square else np.minimum(parts, 1.0 - parts)).argmax())
            excess, share = float((-self.y * self.share) @ parts), self.share[at]
            moved = parts[at] + self.y[at] * excess / share
            least = -math.inf if self.loss.name == "squared" else 0.0
            most = math.inf if square else 1.0
            room = POLICY.least_room / share
            if not least - room <= moved <= most + room:
                return self._none(w)
            ends = np.clip([parts[at], moved], least, most)
            before, after = self._heights(ends)
            constant += float(share * (after - before))
            gradient -= self.y[at] * share * float(ends[1] - ends[0]) * self.X[at]
        return ScoreTangent(constant, gradient, slope_b, np.zeros_like(w))

    def _heights(self, multipliers: FloatArray) -> FloatArray:
        """Return where the lines of some multipliers meet a margin of 0."""
        if self.loss.name in SQUARES:
            return multipliers - 0.5 * multipliers**2
        return np.asarray(entr(multipliers) + entr(1.0 - multipliers))

    def _none(self, w: FloatArray) -> ScoreTangent:
        """Return a line that says nothing."""
        return ScoreTangent(-math.inf, np.zeros_like(w), 0.0, np.zeros_like(w))
