"""Lines below a risk score's objective, computed from the raw data with room for every rounding.

Written from the definitions alone: nothing here knows the engines whose bounds it re-proves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import NotApplicableError
from milpscore.core.statement import Statement

_EPS = float(np.finfo(np.float64).eps)
_BATCH = 2**22
"""Most row scores computed at once."""

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
"""The losses whose lines can be re-derived, as functions of score and answer."""


@dataclass(frozen=True)
class Lines:
    """loss + (a penalty that is no sum) >= constant_t + slope_t . w + slope_b_t b at every card.

    Attributes
    ----------
    constant, slope_b : ndarrays of shape (T,)
        The constant is lowered by what rounding can have added; -inf where a line overflowed.
    slope : ndarray of shape (T, p)
    """

    constant: FloatArray
    slope: FloatArray
    slope_b: FloatArray


class Rows:
    """The distinct rows of a risk score's data.

    Parameters
    ----------
    statement : Statement

    Raises
    ------
    NotApplicableError
        For a loss or a penalty without lines here.
    """

    def __init__(self, statement: Statement) -> None:
        loss, design, rule = statement.loss, statement.design, statement.intercept
        if statement.formulation != "risk_score" or loss.name not in CURVES:
            raise NotApplicableError(
                f"there are no lines below the {loss.name} loss of {statement.formulation}"
            )
        self.curve, self.scale = CURVES[loss.name], float(getattr(loss, "scale", 1.0))
        signs = design.y.astype(np.float64)
        answers = (signs + 1.0) / 2.0 if loss.name == "poisson" else signs
        counted = design.weight > 0
        both = np.column_stack([answers, design.X])[counted] + 0.0  # -0.0 and 0.0 are one value
        distinct, which = np.unique(both, axis=0, return_inverse=True)
        weight = np.bincount(which.ravel(), weights=design.weight[counted])
        self.y, self.X = distinct[:, 0], np.ascontiguousarray(distinct[:, 1:])
        self.share = weight / weight.sum()
        low, high = statement.ranges
        most = np.maximum(np.abs(low), np.abs(high)).astype(np.float64)
        most_b = max(abs(float(rule.lower)), abs(float(rule.upper)))
        self.reach = (np.abs(self.X) @ most + most_b) / self.scale
        self.omega = _norm_of(statement)
        self.most = most

    def lines(self, w: FloatArray, b: FloatArray) -> Lines:
        """The lines that touch the loss at several points.

        Parameters
        ----------
        w : ndarray of shape (T, p)
        b : ndarray of shape (T,)

        Returns
        -------
        Lines
        """
        size = max(1, _BATCH // len(self.y))
        parts = [self._part(w[k : k + size], b[k : k + size]) for k in range(0, len(b), size)]
        if not parts:
            return Lines(np.zeros(0), np.zeros((0, self.X.shape[1])), np.zeros(0))
        constant, slope, slope_b = (np.concatenate(each) for each in zip(*parts, strict=True))
        if self.omega is not None:
            own = [self.omega(point, g) for point, g in zip(w, slope, strict=True)]
            added = np.array(own).reshape(slope.shape)
            # a norm's line passes through 0; its slope may leave the dual ball by a rounding
            constant = constant - 64 * len(self.most) * _EPS * (np.abs(added) @ self.most)
            slope = slope + added
        return Lines(constant, slope, slope_b)

    def _part(self, w: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Constants, slopes and slopes in b of one batch.

        Each row's tangent is taken at its score as computed, which is as valid as at the true one;
        what rounds are the loss and its slope there, and sums over rows and columns.
        """
        z = (w @ self.X.T + b[:, None]) / self.scale
        value, slope = self.curve(z, self.y)
        with np.errstate(invalid="ignore", over="ignore"):
            pull = slope * self.share
            constant = ((value - slope * z) * self.share).sum(axis=1)
            sizes = np.abs(value) + np.abs(slope) * (np.abs(z) + self.reach)
            sizes = (sizes * self.share).sum(axis=1)
            slack = 4.0 * _EPS * (sum(self.X.shape) + 64) * sizes
            gradient, pull_b = pull @ self.X / self.scale, pull.sum(axis=1) / self.scale
        fine = np.isfinite(constant - slack) & np.isfinite(gradient).all(axis=1)
        return (
            np.where(fine, constant - slack, -np.inf),
            np.where(fine[:, None], gradient, 0.0),
            np.where(fine, pull_b, 0.0),
        )


def _norm_of(statement: Statement) -> Callable[[FloatArray, FloatArray], FloatArray] | None:
    """The line of EYE, the one penalty here that is no sum over the coefficients."""
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
    root = float(np.sqrt(a * a + np.sum((known * w) ** 2)))
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
