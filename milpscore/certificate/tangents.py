"""Tangents below a risk score's objective, re-derived from the raw data; what a set of them proves.

Written from the definitions alone: nothing here knows the engines whose bounds it re-proves.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError, NotApplicableError
from milpscore.core.program import Program
from milpscore.core.result import Termination
from milpscore.core.statement import Statement
from milpscore.losses import RiskLoss

_EPS = float(np.finfo(np.float64).eps)
_BATCH = 2**22
"""Most row scores computed at once."""

Status = Literal["proved", "refuted", "not proved", "not checked"]
"""What became of a part of a certificate."""

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
    """objective >= constant + slope . w + slope_b b + (terms, and penalties that are sums)."""

    constant: float
    slope: FloatArray
    slope_b: float


@dataclass(frozen=True)
class Tangents:
    """loss + (a penalty that is no sum) >= constant_t + slope_t . w + slope_b_t b at every card."""

    constant: FloatArray  # lowered by what rounding can have added; -inf where one overflowed
    slope: FloatArray  # (T, p)
    slope_b: FloatArray

    def __getitem__(self, k: int) -> Tangent:
        """One of them."""
        return Tangent(float(self.constant[k]), self.slope[k], float(self.slope_b[k]))


class Rows:
    """The distinct rows of a risk score's data."""

    def __init__(self, statement: Statement) -> None:
        loss, design, rule = statement.loss, statement.design, statement.intercept
        if not isinstance(loss, RiskLoss) or loss.name not in CURVES:
            raise NotApplicableError(
                f"there are no tangents below the {loss.name} loss of {statement.formulation}"
            )
        self.curve, self.scale = CURVES[loss.name], float(loss.fixed)
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

    def tangents(self, w: FloatArray, b: FloatArray) -> Tangents:
        """The tangents that touch the loss at several points."""
        size = max(1, _BATCH // len(self.y))
        parts = [self._part(w[k : k + size], b[k : k + size]) for k in range(0, len(b), size)]
        if not parts:
            return Tangents(np.zeros(0), np.zeros((0, self.X.shape[1])), np.zeros(0))
        constant, slope, slope_b = (np.concatenate(each) for each in zip(*parts, strict=True))
        if self.omega is not None:
            own = [self.omega(point, g) for point, g in zip(w, slope, strict=True)]
            added = np.array(own).reshape(slope.shape)
            # a norm's tangent passes through 0; its slope may leave the dual ball by a rounding
            constant = constant - 64 * len(self.most) * _EPS * (np.abs(added) @ self.most)
            slope = slope + added
        return Tangents(constant, slope, slope_b)

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


# ------------------------------------------------------------------ the tangents of a master


def points_of_tangents(program: Program) -> list[Any]:
    """Where the tangents of a solved program's master touch its loss, in twelve digits.

    A point missed by a little makes another tangent, as valid as any.
    """
    found = []
    for v in program.touched:
        w = np.array([float(f"{each:.12g}") for each in v[:-1]])
        where = np.flatnonzero(w)
        found.append([where.tolist(), w[where].tolist(), float(v[-1])])
    return found


def prove_by_tangents(
    program: Program, points: list[Any], goal: float, time_limit: float, random_state: int
) -> tuple[Status, str]:
    """Whether the master of re-derived tangents proves that no card lies below ``goal``.

    Its solution is looked at: where the tangents underrate it, its own is added and the master
    solved again, by HiGHS with presolve off.
    """
    from milpscore.solvers import load
    from milpscore.solvers.finish import absolute_gap
    from milpscore.solvers.options import Options
    from milpscore.verify import evaluate

    statement, started = program.statement, time.perf_counter()
    rows = Rows(statement)
    read = [read_point(point, rows.X.shape[1]) for point in points]
    w = np.array([point for point, _ in read]).reshape(-1, rows.X.shape[1])
    b = np.array([intercept for _, intercept in read])
    _add(program, rows.tangents(w, b))
    seen: set[Card] = set()
    reached, further = -math.inf, 0
    while (left := time_limit - (time.perf_counter() - started)) > 0:
        session = load(program)
        options = Options(time_limit=left, random_state=random_state, presolve=False)
        outcome = session.run(options, absolute_gap(statement))
        reached = max(reached, outcome.dual_bound)
        if reached >= goal:
            return "proved", (
                f"{len(points)} tangents were re-derived from the data, {further} more found; "
                f"HiGHS (presolve off, seed {random_state}) proves {reached:.9g} of their master"
            )
        if outcome.values is None or outcome.termination is Termination.INFEASIBLE:
            break
        session.load_values(outcome.values)
        card = program.card()
        verdict = evaluate(statement, card)
        if verdict.feasible and verdict.objective < goal:
            return "refuted", f"a card reaches {verdict.objective:.9g}, below the bound {goal:.9g}"
        if card in seen:
            break
        seen.add(card)
        further += 1
        _add(
            program,
            rows.tangents(
                card.coefficients.astype(np.float64)[None, :], np.array([float(card.intercept)])
            ),
        )
    return "not proved", (
        f"the master of the re-derived tangents reached {max(reached, 0.0):.9g} of {goal:.9g} "
        f"within {time_limit:g} s: raise the time limit"
    )


def _add(program: Program, tangents: Tangents) -> None:
    """Rows height >= tangent in the model; a norm's height counts with its weight."""
    m = program.model
    p = tangents.slope.shape[1]
    height = m.eta if m.component("norm") is None else m.eta + m.lam * m.norm
    for c, g, slope_b in zip(tangents.constant, tangents.slope, tangents.slope_b, strict=True):
        if not math.isfinite(c):
            continue
        body = sum((float(g[j]) * m.w[j] for j in range(p) if g[j]), start=0.0)
        m.cuts.add(height - body - float(slope_b) * m.b >= float(c))


def read_point(entry: Any, columns: int) -> tuple[FloatArray, float]:
    """A point ``[columns, values, b]`` of the evidence as w of shape (p,) and b."""
    w = np.zeros(columns)
    try:
        where, values, b = entry
        at = np.array(where, dtype=np.int64)
        if len(at) != len(values) or (len(at) and not 0 <= at.min() <= at.max() < columns):
            raise ValueError("columns and values do not match")
        w[at] = np.array(values, dtype=np.float64)
        if not (math.isfinite(b) and np.isfinite(w).all()):
            raise ValueError("a point is not finite")
    except (TypeError, ValueError, IndexError, OverflowError) as error:
        raise DataError(f"the evidence is damaged ({error}): make the certificate again") from error
    return w, float(b)
