"""The bound from the points of tangents: each tangent re-derived, the master solved anew."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from milpscore.certificate._lines import Lines, Rows
from milpscore.core.card import Card
from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError
from milpscore.core.program import Program
from milpscore.core.result import Termination

_NEWTON = 60
_HALVINGS = 40


def points_of_tangents(program: Program) -> list[Any]:
    """Where the tangents of a solved program's master touch its loss.

    A master keeps gradients; the point is where the loss has that gradient, found by Newton's
    method. A point missed by a little makes another tangent, as valid as any.

    Parameters
    ----------
    program : Program
        Its model holds ``cuts``.

    Returns
    -------
    list
        ``[columns, values, b]`` of each.
    """
    statement = program.statement
    gradients = _gradients(program)
    rows, loss = Rows(statement), statement.loss
    X = np.column_stack([rows.X, np.ones(len(rows.y))]) / rows.scale
    base: Any = loss.base  # type: ignore[attr-defined]
    found = []
    v = np.zeros(X.shape[1])
    for g in gradients:
        v = _point_of(base, X, rows.y, rows.share, g, v)
        w, b = np.array([float(f"{each:.12g}") for each in v[:-1]]), float(v[-1])
        where = np.flatnonzero(w)
        found.append([where.tolist(), w[where].tolist(), b])
        v = v if np.isfinite(v).all() else np.zeros(X.shape[1])
    return [point for point in found if np.isfinite([*point[1], point[2]]).all()]


def _gradients(program: Program) -> list[FloatArray]:
    """Of every row of ``model.cuts``, solved for the height: its slope in (w, b)."""
    from pyomo.repn import generate_standard_repn

    m, p = program.model, program.statement.design.shape[1]
    place = {id(m.w[j]): j for j in range(p)} | {id(m.b): p}
    found = []
    for index in m.cuts:
        form = generate_standard_repn(m.cuts[index].body)
        parts = {id(v): float(c) for v, c in zip(form.linear_vars, form.linear_coefs, strict=True)}
        height = parts.get(id(m.eta), 0.0)
        if height == 0.0:
            continue
        gradient = np.zeros(p + 1)
        for key, coefficient in parts.items():
            if key in place:
                gradient[place[key]] = -coefficient / height
        found.append(gradient)
    return found


def _point_of(
    base: Any, X: FloatArray, y: FloatArray, share: FloatArray, g: FloatArray, start: FloatArray
) -> FloatArray:
    """The minimiser of loss(v) - g . v, near which the loss has the gradient g."""

    def height(v: FloatArray) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            value = float(share @ base.value(X @ v, y) - g @ v)
        return value if math.isfinite(value) else math.inf

    v, here = start.copy(), height(start)
    for _ in range(_NEWTON):
        z = X @ v
        slope = (share * base.gradient(z, y)) @ X - g
        if np.abs(slope).max() <= 1e-13:
            break
        bent = X.T @ ((share * base.hessian(z, y))[:, None] * X)
        bent[np.diag_indices_from(bent)] += 1e-14 * (1.0 + np.trace(bent))
        move = np.linalg.lstsq(bent, slope, rcond=None)[0]
        for k in range(_HALVINGS):
            trial = v - 0.5**k * move
            there = height(trial)
            if there < here:
                break
        else:
            break
        v, here = trial, there
    return v


def prove_by_tangents(
    program: Program, points: list[Any], goal: float, time_limit: float, random_state: int
) -> tuple[str, str]:
    """Whether the master of re-derived tangents proves that no card lies below ``goal``.

    Its solution is looked at: where the tangents underrate it, its own is added and the master
    solved again, by HiGHS with presolve off.

    Parameters
    ----------
    program : Program
        A fresh one, whose model is written to.
    points : list
        As of :func:`points_of_tangents`.
    goal : float
    time_limit : float
        Seconds.
    random_state : int

    Returns
    -------
    (str, str)
        "proved", "refuted" or "not proved", and a sentence.
    """
    from milpscore.solvers import load
    from milpscore.solvers.finish import absolute_gap
    from milpscore.solvers.options import Options
    from milpscore.verify import evaluate

    statement, started = program.statement, time.perf_counter()
    rows = Rows(statement)
    w, b = _read(points, rows.X.shape[1])
    _add(program, rows.lines(w, b))
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
            rows.lines(
                card.coefficients.astype(np.float64)[None, :], np.array([float(card.intercept)])
            ),
        )
    return "not proved", (
        f"the master of the re-derived tangents reached {max(reached, 0.0):.9g} of {goal:.9g} "
        f"within {time_limit:g} s: raise the time limit"
    )


def _add(program: Program, lines: Lines) -> None:
    """Rows height >= line in the model; a norm's height counts with its weight."""
    m = program.model
    p = lines.slope.shape[1]
    height = m.eta if m.component("norm") is None else m.eta + m.lam * m.norm
    for c, g, slope_b in zip(lines.constant, lines.slope, lines.slope_b, strict=True):
        if not math.isfinite(c):
            continue
        body = sum((float(g[j]) * m.w[j] for j in range(p) if g[j]), start=0.0)
        m.cuts.add(height - body - float(slope_b) * m.b >= float(c))


def _read(points: list[Any], columns: int) -> tuple[FloatArray, FloatArray]:
    """The points as arrays."""
    w, b = np.zeros((len(points), columns)), np.zeros(len(points))
    try:
        for t, (where, values, intercept) in enumerate(points):
            at = np.array(where, dtype=np.int64)
            if len(at) != len(values) or (len(at) and not 0 <= at.min() <= at.max() < columns):
                raise ValueError("columns and values do not match")
            w[t, at], b[t] = np.array(values, dtype=np.float64), float(intercept)
    except (TypeError, ValueError, IndexError, OverflowError) as error:
        raise DataError(f"the evidence is damaged ({error}): make the certificate again") from error
    return w, b
