"""Ways to state a slim program and hand it to HiGHS; each answers its CPU seconds and its HiGHS."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import _textbook
import numpy as np
from _common import with_rivals

from milpscore.core.design import Design
from milpscore.formulations import slim
from milpscore.solvers import load

Clock = dict[str, float]


def ours(design: Design) -> tuple[Clock, Any]:
    """milpscore: the builder, then one passModel from the compiled standard form."""
    started = time.process_time()
    program = slim(design)
    built = time.process_time()
    session = load(program)
    ended = time.process_time()
    return {"build": built - started, "handover": ended - built}, session.highs


def appsi(design: Design, model: Any = None) -> tuple[Clock, Any]:
    """Pyomo's appsi interface, on a plain Pyomo model or the given one."""
    from pyomo.contrib.appsi.solvers import Highs

    return _by_interface(Highs, design, model)


def contrib(design: Design, model: Any = None) -> tuple[Clock, Any]:
    """Pyomo's newer interface, on a plain Pyomo model or the given one."""
    from pyomo.contrib.solver.solvers.highs import Highs

    return _by_interface(Highs, design, model)


def _by_interface(interface: Any, design: Design, model: Any) -> tuple[Clock, Any]:
    started = time.process_time()
    if model is None:
        model = plain_pyomo(design)
    built = time.process_time()
    solver = interface()
    solver.set_instance(model)
    ended = time.process_time()
    return {"build": built - started, "handover": ended - built}, solver._solver_model


def same_model_ours(design: Design) -> tuple[Clock, Any]:
    """Our hand-over alone, of our own model."""
    return ours(design)


def same_model_appsi(design: Design) -> tuple[Clock, Any]:
    """Appsi on our model."""
    return appsi(design, slim(design).model)


def same_model_contrib(design: Design) -> tuple[Clock, Any]:
    """The newer interface on our model."""
    return contrib(design, slim(design).model)


def linopy(design: Design) -> tuple[Clock, Any]:
    """linopy with arrays, handed over by its own to_highspy."""
    with_rivals()
    import linopy as lp
    import pandas as pd
    import xarray as xr

    started = time.process_time()
    n, p = design.shape
    J, I = pd.RangeIndex(p, name="j"), pd.RangeIndex(n, name="i")  # noqa: E741
    box = 5 * design.X.sum(axis=1)
    signs = xr.DataArray(design.y.astype(float), coords=[I])
    m = lp.Model()
    w = m.add_variables(lower=-5, upper=5, coords=[J], integer=True, name="w")
    alpha = m.add_variables(binary=True, coords=[J], name="alpha")
    T = m.add_variables(lower=-box.max(), upper=box.max() + 1, integer=True, name="T")
    z = m.add_variables(binary=True, coords=[I], name="z")
    big_m = xr.DataArray(box + box.max() + 1, coords=[I])
    rows = xr.DataArray(design.X * design.y[:, None], coords=[I, J])
    m.add_constraints((rows * w).sum("j") - signs * T + big_m * z >= (1 - signs) / 2, name="rows")
    m.add_constraints(w - 5 * alpha <= 0, name="above")
    m.add_constraints(w + 5 * alpha >= 0, name="below")
    m.add_objective(z.sum() / n + 1e-3 * alpha.sum())
    built = time.process_time()
    highs = m.to_highspy()
    ended = time.process_time()
    return {"build": built - started, "handover": ended - built}, highs


def bare_pass_model(design: Design) -> tuple[Clock, Any]:
    """The floor: arrays by NumPy and SciPy, one passModel; no algebra, no check."""
    started = time.process_time()
    arrays = _textbook.slim(design.X, design.y, reach=5, max_terms=design.shape[1], l0_penalty=1e-3)
    built = time.process_time()
    highs = arrays.load()
    ended = time.process_time()
    return {"build": built - started, "handover": ended - built}, highs


def bare_add_rows(design: Design) -> tuple[Clock, Any]:
    """The floor by addCols and addRows."""
    import highspy

    started = time.process_time()
    arrays = _textbook.slim(design.X, design.y, reach=5, max_terms=design.shape[1], l0_penalty=1e-3)
    A = arrays.matrix
    built = time.process_time()
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    count, none = len(arrays.cost), np.array([], dtype=np.int32)
    highs.addCols(
        count,
        arrays.cost,
        arrays.column_lower,
        arrays.column_upper,
        0,
        np.zeros(count, dtype=np.int32),
        none,
        np.array([]),
    )
    highs.addRows(
        A.shape[0],
        arrays.row_lower,
        arrays.row_upper,
        A.nnz,
        A.indptr[:-1].astype(np.int32),
        A.indices.astype(np.int32),
        A.data,
    )
    highs.changeColsIntegrality(
        count, np.arange(count, dtype=np.int32), np.ones(count, dtype=np.uint8)
    )
    ended = time.process_time()
    return {"build": built - started, "handover": ended - built}, highs


def plain_pyomo(design: Design) -> Any:
    """The same program as a careful user of Pyomo writes it: one LinearExpression a row."""
    import pyomo.environ as pyo
    from pyomo.core.expr.numeric_expr import LinearExpression

    n, p = design.shape
    X, y = design.X, design.y
    box = (5 * X.sum(axis=1)).tolist()
    top = max(box)
    m = pyo.ConcreteModel()
    m.I, m.J = pyo.RangeSet(0, n - 1), pyo.RangeSet(0, p - 1)
    m.w = pyo.Var(m.J, domain=pyo.Integers, bounds=(-5, 5))
    m.alpha = pyo.Var(m.J, domain=pyo.Binary)
    m.T = pyo.Var(domain=pyo.Integers, bounds=(-top, top + 1))
    m.z = pyo.Var(m.I, domain=pyo.Binary)
    w = [m.w[j] for j in m.J]

    def row(m: Any, i: int) -> Any:
        sign = float(y[i])
        body = LinearExpression(
            constant=0.0,
            linear_coefs=[*(X[i] * sign).tolist(), -sign, box[i] + top + 1],
            linear_vars=[*w, m.T, m.z[i]],
        )
        return body >= (1 - sign) / 2

    m.rows = pyo.Constraint(m.I, rule=row)
    m.above = pyo.Constraint(m.J, rule=lambda m, j: m.w[j] - 5 * m.alpha[j] <= 0)
    m.below = pyo.Constraint(m.J, rule=lambda m, j: m.w[j] + 5 * m.alpha[j] >= 0)
    m.objective = pyo.Objective(
        expr=LinearExpression(
            constant=0.0,
            linear_coefs=[1 / n] * n + [1e-3] * p,
            linear_vars=[m.z[i] for i in m.I] + [m.alpha[j] for j in m.J],
        )
    )
    return m


METHODS: dict[str, Callable[[Design], tuple[Clock, Any]]] = {
    "milpscore": ours,
    "Pyomo + appsi": appsi,
    "Pyomo + contrib.solver": contrib,
    "linopy": linopy,
    "bare highspy passModel": bare_pass_model,
    "bare highspy addRows": bare_add_rows,
    "our model by milpscore": same_model_ours,
    "our model by appsi": same_model_appsi,
    "our model by contrib.solver": same_model_contrib,
}
