"""One 0-1 statement as six programs, from the weakest to the strongest, for comparisons."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from milpscore.core.design import Design, FloatArray, IntArray, MergedRows, on_grid
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.program import Program
from milpscore.core.statement import Statement
from milpscore.formulations._slim import slim
from milpscore.formulations.policy import POLICY

STRENGTHS = ("textbook", "row_big_m", "merged", "conflicts", "covers", "joint_big_m")
"""From the weakest to the strongest; see :func:`slim_program`."""


class _RawRows(Design):
    """A design whose equal rows are not merged."""

    @cached_property
    def merged(self) -> MergedRows:
        """The rows of positive weight in their order."""
        rows = np.flatnonzero(self.weight > 0)
        inverse = np.full(len(self.y), -1, dtype=np.int64)
        inverse[rows] = np.arange(len(rows))
        pairs = np.empty((0, 2), dtype=np.int64)
        return MergedRows(self.X[rows], self.y[rows], self.weight[rows], inverse, pairs)


class _UnpairedRows(Design):
    """A design whose contradicting pairs are not named."""

    @cached_property
    def merged(self) -> MergedRows:
        """The merged rows without the pairs."""
        return replace(super().merged, conflicts=np.empty((0, 2), dtype=np.int64))


def slim_program(design: Design, strength: str = "joint_big_m", **arguments: Any) -> Program:
    r"""State :func:`milpscore.formulations.slim` in one of six strengths.

    All six allow the same cards with the same objective; their LP bounds grow from one to the
    next, and never fall. HiGHS gets them as they are: without the hull covers that it gets beside
    :func:`slim` itself.

    ``textbook``
        One z_i per row and one big-M for all rows, from the full box of coefficients.
    ``row_big_m``
        Per row the least M that frees it, ``max_terms`` taken into account.
    ``merged``
        Equal rows with equal labels share one weighted z_i.
    ``conflicts``
        Also z_i + z_k = 1 where :math:`x_i = x_k` and the labels differ, and for pairs of dominated
        rows: with :math:`w \cdot (x_i - x_k) \le 0` for every allowed w, z_i + z_k >= 1 for i
        positive and k negative, z_i >= z_k for both positive, z_k >= z_i for both negative. Free
        signs leave no row dominated; coefficients with signs (``coef_min`` or ``coef_max`` 0) do.
    ``covers``
        Also, for nearby rows of opposite classes, that one of them is an error or points tell them
        apart, by their signs: free signs lose nothing here.
    ``joint_big_m``
        Also per row the least M that frees it where the threshold is next to a row's total for the
        same points: the default of :func:`slim`, and the dominated rows.

    References
    ----------
    Ustun & Rudin, "Supersparse linear integer models for optimized medical scoring systems",
    Machine Learning 102 (2016), eq. 2 for the textbook program (its margin as :func:`slim` has it)
    and sec. 3.4 for the big-M.
    """
    if strength not in STRENGTHS:
        raise OptionError(f"unknown strength {strength!r}; there are {', '.join(STRENGTHS)}")
    content = {field.name: getattr(design, field.name) for field in fields(Design)}
    kinds = (_RawRows, _RawRows, _UnpairedRows, Design, Design, Design)
    kind = dict(zip(STRENGTHS, kinds, strict=True))[strength]
    rank = STRENGTHS.index(strength)
    tightening: dict[str, Any] = {
        "pair_covers": rank >= STRENGTHS.index("covers"),
        "big_m": "joint" if strength == "joint_big_m" else "row",
    }
    program = slim(kind(**content), **tightening, **arguments)
    if program.statement.intercept.kind != "grid":
        raise NotApplicableError(
            "the strengths are compared on data with a grid, and these columns have none: bin "
            "them, or round decimals"
        )
    program.layout = replace(program.layout, parting=None)
    if strength == "textbook":
        _use_one_big_m(program)
    if rank >= STRENGTHS.index("conflicts"):
        _add_dominated(program)
    return program


# --- textbook ------------------------------------------------------------------------------------


def _use_one_big_m(program: Program) -> None:
    """Write the rows again with the one M of the full box, without regard to max_terms."""
    import pyomo.environ as pyo

    from milpscore.formulations.card_model import linear

    m, statement = program.model, program.statement
    X = _grid_rows(statement)
    low, high = (ends.astype(np.float64) for ends in (statement.coef_min, statement.coef_max))
    box = float(np.maximum(np.abs(low), np.abs(high)) @ np.abs(X).max(axis=0, initial=0.0))
    M = box + max(abs(m.T.lb), abs(m.T.ub)) + 1
    w = [m.w[j] for j in m.J]
    for i in m.I:
        m.z[i].setub(1)
    m.del_component(m.positive_rows)
    m.del_component(m.negative_rows)

    def positive(m: Any, i: int) -> Any:
        return linear(w, X[i]) - m.T + M * m.z[i] >= 0

    def negative(m: Any, i: int) -> Any:
        return linear(w, X[i]) - m.T - M * m.z[i] <= -1

    m.positive_rows = pyo.Constraint(m.I_pos, rule=positive)
    m.negative_rows = pyo.Constraint(m.I_neg, rule=negative)


def _grid_rows(statement: Statement) -> FloatArray:
    """Return the program's rows in units of the data's step."""
    rows, step = statement.design.merged, statement.intercept.step
    assert step is not None
    return on_grid(rows.X, step).astype(np.float64)


# --- dominated rows ------------------------------------------------------------------------------


def _add_dominated(program: Program) -> None:
    """Add rows for pairs (i, k) whose difference no allowed w scores above 0."""
    import pyomo.environ as pyo

    m, rows = program.model, program.statement.design.merged
    positive, negative = np.flatnonzero(rows.y > 0), np.flatnonzero(rows.y < 0)
    X = _grid_rows(program.statement)
    ranges = program.statement.ranges
    clash = _without(_dominated(X, ranges, positive, negative), rows.conflicts)
    up = _covering(_dominated(X, ranges, positive, positive))
    down = _covering(_dominated(X, ranges, negative, negative))
    implied = np.vstack([up, down[:, ::-1]])
    clash, implied = (_heaviest(pairs, rows.weight) for pairs in (clash, implied))
    m.clashes = pyo.Constraint(
        pyo.RangeSet(0, len(clash) - 1),
        rule=lambda m, q: m.z[int(clash[q, 0])] + m.z[int(clash[q, 1])] >= 1,
    )
    m.implications = pyo.Constraint(
        pyo.RangeSet(0, len(implied) - 1),
        rule=lambda m, q: m.z[int(implied[q, 0])] - m.z[int(implied[q, 1])] >= 0,
    )


def _dominated(
    X: FloatArray, ranges: tuple[IntArray, IntArray], first: IntArray, second: IntArray
) -> IntArray:
    """Return pairs (i in first, k in second), i != k, with max over w of w.(x_i - x_k) <= 0."""
    reach = np.zeros((len(first), len(second)))
    for j, (low, high) in enumerate(zip(*(ends.tolist() for ends in ranges), strict=True)):
        step = X[first, j][:, None] - X[second, j]
        reach += np.maximum(low * step, high * step)
    a, b = np.nonzero(reach <= 0)
    pairs = np.stack([first[a], second[b]], axis=1)
    return np.asarray(pairs[pairs[:, 0] != pairs[:, 1]])


def _covering(pairs: IntArray) -> IntArray:
    """Return the pairs of an order that do not follow from two others of it."""
    if not len(pairs):
        return pairs
    names, places = np.unique(pairs, return_inverse=True)
    below = np.zeros((len(names), len(names)), dtype=np.float32)
    a, b = places.reshape(-1, 2).T
    # rows that dominate each other have the same total: one direction orders them
    both = np.isin(a * len(names) + b, b * len(names) + a)
    ordered = (a < b) | ~both
    below[a[ordered], b[ordered]] = 1.0
    direct = (below > 0) & ((below @ below) == 0)
    return np.asarray(names[np.argwhere(direct)])


def _without(pairs: IntArray, known: IntArray) -> IntArray:
    """Return the pairs that are not among the known ones."""
    count = int(max(pairs.max(initial=0), known.max(initial=0))) + 1
    return np.asarray(pairs[~np.isin(pairs @ [count, 1], known @ [count, 1])])


def _heaviest(pairs: IntArray, weight: FloatArray) -> IntArray:
    """Return at most ``POLICY.max_pairs`` pairs, those whose lighter row weighs most."""
    order = np.argsort(-weight[pairs].min(axis=1), kind="stable")
    return pairs[order[: POLICY.max_pairs]]
