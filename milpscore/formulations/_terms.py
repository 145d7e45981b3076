"""Parts several Pyomo builders share: terms counted by alpha, sets of points, sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo

from milpscore.core.design import IntArray
from milpscore.core.statement import Statement


def weight_of(statement: Statement, name: str) -> float:
    """The weight of the penalty called ``name``, 0 where the statement has none."""
    return sum(term.lam for term in statement.penalties if term.name == name)


def changeable(statement: Statement) -> dict[str, str]:
    """The penalties whose weights the model holds as mutable Params of the same name."""
    return {term.name: term.name for term in statement.penalties if term.lam > 0}


def add_terms(m: Any, statement: Statement) -> None:
    """alpha_j = 1 where w_j may differ from 0; the limit on terms; explicit sets of points.

    Adds the expression ``m.l0_term``, and ``m.alpha`` with ``m.l0_penalty`` where terms count.
    """
    _add_sets(m, statement)
    l0_penalty = weight_of(statement, "l0_penalty")
    if l0_penalty == 0 and statement.max_terms is None:
        m.l0_term = pyo.Expression(expr=0.0)
        return
    # where 0 is an end of the range, a used term has at least one point
    lower = [low if low < 0 else max(low, 1) for low in statement.coef_min.tolist()]
    upper = [high if high > 0 else min(high, -1) for high in statement.coef_max.tolist()]
    m.l0_penalty = pyo.Param(initialize=l0_penalty, mutable=True, within=pyo.NonNegativeReals)
    m.alpha = pyo.Var(m.J, domain=pyo.Binary)

    @m.Constraint(m.J)
    def used_above(m: Any, j: int) -> Any:
        return m.w[j] - upper[j] * m.alpha[j] <= 0

    @m.Constraint(m.J)
    def used_below(m: Any, j: int) -> Any:
        return m.w[j] - lower[j] * m.alpha[j] >= 0

    if statement.max_terms is not None:
        m.at_most_k_terms = pyo.Constraint(expr=sum(m.alpha[j] for j in m.J) <= statement.max_terms)
    m.l0_term = pyo.Expression(expr=m.l0_penalty * sum(m.alpha[j] for j in m.J))


def _add_sets(m: Any, statement: Statement) -> None:
    """w_j equals exactly one value of its explicit set."""
    if not statement.coef_sets:
        return
    sets = statement.coef_sets
    m.choice_index = pyo.Set(dimen=2, initialize=[(j, v) for j in sets for v in sets[j]])
    m.choice = pyo.Var(m.choice_index, domain=pyo.Binary)
    m.J_sets = pyo.Set(initialize=list(sets), within=m.J)

    @m.Constraint(m.J_sets)
    def one_choice(m: Any, j: int) -> Any:
        return sum(m.choice[j, v] for v in sets[j]) == 1

    @m.Constraint(m.J_sets)
    def chosen_value(m: Any, j: int) -> Any:
        return m.w[j] - sum(v * m.choice[j, v] for v in sets[j]) == 0


def fill_terms(m: Any, w: IntArray) -> None:
    """Set alpha and the choices from whole coefficients of shape (p,)."""
    if hasattr(m, "alpha"):
        for j in m.J:
            m.alpha[j].set_value(int(w[j] != 0), skip_validation=True)
    if hasattr(m, "choice"):
        for j, v in m.choice_index:
            m.choice[j, v].set_value(int(w[j] == v), skip_validation=True)


def add_l1(m: Any, statement: Statement) -> None:
    """The sizes and the expression ``m.l1_term``; nothing is added for a zero penalty."""
    l1_penalty = weight_of(statement, "l1_penalty")
    if l1_penalty == 0:
        m.l1_term = pyo.Expression(expr=0.0)
        return
    m.l1_penalty = pyo.Param(initialize=l1_penalty, mutable=True, within=pyo.NonNegativeReals)
    add_sizes(m, reach(statement))
    m.l1_term = pyo.Expression(expr=m.l1_penalty * sum(m.size[j] for j in m.J))


def reach(statement: Statement) -> list[int]:
    """The largest size of each coefficient."""
    largest: list[int] = np.maximum(np.abs(statement.coef_min), np.abs(statement.coef_max)).tolist()
    return largest


def add_sizes(m: Any, largest: list[int]) -> None:
    """size_j >= |w_j|, at most ``largest[j]``."""
    m.size = pyo.Var(m.J, bounds=lambda m, j: (0, largest[j]))

    @m.Constraint(m.J)
    def size_above(m: Any, j: int) -> Any:
        return m.size[j] - m.w[j] >= 0

    @m.Constraint(m.J)
    def size_below(m: Any, j: int) -> Any:
        return m.size[j] + m.w[j] >= 0


def fill_sizes(m: Any, w: IntArray) -> None:
    """Set the sizes, where there are any, from whole coefficients of shape (p,)."""
    if hasattr(m, "size"):
        for j in m.J:
            m.size[j].set_value(abs(int(w[j])), skip_validation=True)
