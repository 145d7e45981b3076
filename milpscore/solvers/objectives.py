"""Objectives of one's own: the worst group, one after the other, and one against a limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.repn import generate_standard_repn

from milpscore.core.card import Card
from milpscore.core.design import Design, FloatArray
from milpscore.core.errors import NotApplicableError, OptionError, is_number
from milpscore.core.program import Program
from milpscore.core.result import Result
from milpscore.core.statement import Statement
from milpscore.losses import Hinge, RiskLoss, ZeroOne
from milpscore.solvers.engine import solve
from milpscore.solvers.policy import POLICY
from milpscore.solvers.session import FREE_SCALE
from milpscore.verify.cards import mean_loss

Expression = Callable[[Any], Any]
"""Makes a linear Pyomo expression of a model."""

OWN = "own_objective"

READY: dict[str, Expression] = {
    "objective": lambda m: m.loss + m.penalty,
    "loss": lambda m: m.loss,
    "penalty": lambda m: m.penalty,
    "terms": lambda m: sum(m.alpha[j] for j in m.J),
    "points": lambda m: sum(m.size[j] for j in m.J),
}
"""Objectives with a name; "terms" and "points" need a price of them, or a limit, in the program."""


def minimize(program: Program, objective: str | Expression) -> Program:
    """Return a copy of a program that minimises another linear objective.

    Parameters
    ----------
    program : Program
        One of a linear loss (``slim``, ``hinge``, ...), or a risk score of fixed scale. It stays as
        it is, and the copy keeps the constraints that were added to it.
    objective : str or callable
        A name of :data:`READY` or a function of the model, say ``lambda m: m.loss + 0.1 * m.w[0]``.

    Returns
    -------
    Program
        ``solve`` takes HiGHS, outer approximation for a smooth loss (or a solver that you name),
        and its result claims the value of this objective; ``loss`` and ``penalty`` of the result
        stay those of the statement. Tangents bound a smooth loss from below alone: an objective
        that falls as the loss rises is not bounded.

    Raises
    ------
    NotApplicableError
        For a conic program, a free scale, or an objective whose parts the model lacks.
    OptionError
        For an unknown name.
    """
    expression = _expression(objective)
    copy = _copy(program)
    _state(copy.model, _made(expression, copy, objective))
    return copy


def minimax(program: Program, over: Any) -> Program:
    r"""Return a copy of a program that minimises the mean loss of the worst group of rows.

    .. math::

        \min\ v + \text{penalty}, \qquad
        v \ge \tfrac{1}{S_g} \sum_{i \in g} s_i \ell_i \quad \text{for every group } g

    Parameters
    ----------
    program : Program
        Under the 0-1 or the hinge loss (``slim``, ``hinge``, ``fused_lasso``, ...), or a risk score
        of fixed scale (``risk_score(scale=1.0)``), whose outer approximation then draws tangents of
        every group's loss.
    over : array of shape (n,)
        The group of each row, in the order of the design's rows: a site, say.

    Returns
    -------
    Program

    Raises
    ------
    NotApplicableError
        For another loss, and a free scale.
    OptionError
        For another number of labels than rows.

    Notes
    -----
    Reference: Ben-Tal, El Ghaoui & Nemirovski, "Robust optimization" (2009), for the epigraph of a
    maximum; the groups' errors of a card are recounted by rows.
    """
    design, loss = program.statement.design, program.statement.loss
    smooth = isinstance(loss, RiskLoss) and not loss.coupled
    if not (smooth or isinstance(loss, ZeroOne | Hinge)) or program.formulation == "ordinal":
        raise NotApplicableError(
            "minimax needs a 0-1, a hinge or a risk score's loss of two classes, not that of "
            f"{program.formulation}"
        )
    if program.is_built and program.model.component("worst") is not None:
        raise NotApplicableError("the model has a part called 'worst' already: start from another")
    groups = np.asarray(over)
    if groups.shape != (len(design.y),):
        raise OptionError(
            f"over needs one group for each of the {len(design.y)} rows, got {groups.shape}"
        )
    _, group = np.unique(groups.astype(str), return_inverse=True)
    inside = [group == g for g in range(int(group.max()) + 1)]
    inside = [rows for rows in inside if design.weight[rows].sum() > 0]
    merged = design.merged
    each = np.array([merged.sums(design.weight * rows) for rows in inside])
    copy = _copy(program)
    m = copy.model
    if smooth:
        parts = [design.of_rows(np.flatnonzero(rows)) for rows in inside]
        _add_worst_tangents(copy, each, parts)
        return copy
    share = each / each.sum(axis=1, keepdims=True)
    held = "z" if isinstance(loss, ZeroOne) else "xi"
    unit = 1.0 if isinstance(loss, ZeroOne) else m.margin  # which may be changed later
    losses = list(m.component(held).values())
    m.worst = pyo.Var(doc="mean loss of the worst group")
    m.worst_rows = pyo.ConstraintList(doc="the worst group loses as much as each")
    for row in share:
        used = np.flatnonzero(row)
        m.worst_rows.add(unit * m.worst >= sum(float(row[i]) * losses[i] for i in used.tolist()))

    def fill(m: Any, statement: Statement, card: Card) -> None:
        values = np.array([part.value for part in m.component(held).values()], dtype=np.float64)
        now = getattr(statement.loss, "margin", 1.0)
        m.worst.set_value(float((share / now @ values).max()))

    copy.fillers = (*copy.fillers, fill)
    _state(m, m.worst + m.penalty)
    return copy


def _add_worst_tangents(program: Program, weights: FloatArray, parts: Sequence[Design]) -> None:
    """Minimise the worst group's smooth loss: of merged rows by weights, of the parts' raw rows."""
    m = program.model
    m.worst = pyo.Var(bounds=(0, None), doc="mean loss of the worst group")
    m.worst_cuts = pyo.ConstraintList(doc="tangents of the groups' mean losses")
    program.stated |= {"worst_cuts"}
    program.groups = tuple(weights)

    def fill(m: Any, statement: Statement, card: Card) -> None:
        losses = [mean_loss(replace(statement, design=part), card)[0] for part in parts]
        m.worst.set_value(max(losses), skip_validation=True)

    program.fillers = (*program.fillers, fill)
    _state(m, m.worst + m.penalty)


@dataclass(frozen=True)
class Stage:
    """One objective of several: its name or place, the least value, and the result that has it."""

    name: str
    value: float
    result: Result


def lexicographic(
    program: Program,
    objectives: Sequence[str | Expression],
    *,
    tolerance: float = 0.0,
    solver: str = "auto",
    **options: Any,
) -> tuple[Stage, ...]:
    """Minimise one objective after the other, each among the best cards of those before.

    Parameters
    ----------
    program : Program
    objectives : sequence of str or callable
        As in :func:`minimize`, the most important first.
    tolerance : float
        By how much of its value an objective may be given up for those after it.
    solver, **options :
        As in :func:`milpscore.solvers.solve`; a time limit is that of each objective.

    Returns
    -------
    tuple of Stage
        One for each objective that was reached, the last one with the answer. A stage without a
        proof says so by its result's claim: those after it hold among cards as good as its card.

    Raises
    ------
    OptionError
        Without objectives, or for a tolerance below 0.
    """
    if not objectives or not tolerance >= 0.0:
        raise OptionError("lexicographic needs objectives, and a tolerance >= 0")
    stages: list[Stage] = []
    current, card = program, None
    for place, objective in enumerate(objectives):
        current = minimize(current, objective)
        result = solve(current, solver, warm_start=card, **options)
        name = objective if isinstance(objective, str) else f"objective {place + 1}"
        stages.append(Stage(name, result.objective, result))
        if result.card is None:
            break
        card, m = result.card, current.model
        body = m.component(OWN).expr
        linear = generate_standard_repn(body)
        most = result.objective * (1.0 + math.copysign(tolerance, result.objective))
        end = most - linear.constant
        # an end of nothing but rounding is one at 0: HiGHS would hear no number so small
        noise = POLICY.end_noise * max(map(abs, [linear.constant, *linear.linear_coefs]))
        end = 0.0 if abs(end) <= noise else end + POLICY.own_rounding
        m.add_component(f"kept_{place + 1}", pyo.Constraint(expr=body - linear.constant <= end))
    return tuple(stages)


def epsilon_front(
    program: Program,
    second: str | Expression,
    limits: Sequence[float],
    *,
    solver: str = "auto",
    **options: Any,
) -> tuple[Stage, ...]:
    """Minimise the program's objective under each of several limits on another one.

    Parameters
    ----------
    program : Program
    second : str or callable
        What is limited, as in :func:`minimize`.
    limits : sequence of float
        The most it may be, epsilon; solved from the largest to the least.
    solver, **options :
        As in :func:`milpscore.solvers.solve`, for each limit.

    Returns
    -------
    tuple of Stage
        One for each limit, in that order: its value is the limit. Every point has a bound, so that
        the curve through the bounds lies below whatever cards there are.

    Raises
    ------
    OptionError
        Without limits, or for one that is not a number.

    Notes
    -----
    Reference: Haimes, Lasdon & Wismer, "On a bicriterion formulation of the problems of integrated
    system identification and system optimization", IEEE Transactions on SMC 1 (1971).
    """
    if not len(limits) or not all(map(is_number, limits)):
        raise OptionError(f"limits must be numbers, at least one, got {limits!r}")
    expression = _expression(second)
    copy = _copy(program)
    m = copy.model
    m.epsilon = pyo.Param(initialize=float(max(limits)), mutable=True)
    m.epsilon_row = pyo.Constraint(expr=_made(expression, copy, second) <= m.epsilon)
    stages: list[Stage] = []
    card: Card | None = None
    for limit in sorted(map(float, limits), reverse=True):
        m.epsilon.set_value(limit)
        result = solve(copy, solver, warm_start=card, **options)
        stages.append(Stage(f"at most {limit:g}", limit, result))
        card = result.card
    return tuple(stages)


def _state(m: Any, objective: Any) -> None:
    """Make an expression the one objective of a model."""
    for each in m.component_data_objects(pyo.Objective, active=True):
        each.deactivate()
    m.del_component(OWN)
    m.add_component(OWN, pyo.Objective(expr=objective))


def _copy(program: Program) -> Program:
    """Return a copy with a model of its own."""
    if program.conic:
        raise NotApplicableError(
            f"{program.formulation} is a conic program, and another objective needs a linear one: "
            "state slim, hinge or a risk score"
        )
    if program.takes_tangents and program.statement.scales is not None:
        raise NotApplicableError(FREE_SCALE, scale=1.0)
    return program.exact() if program.kind == "exact" else program.relaxed()


def _expression(objective: str | Expression) -> Expression:
    """Return the function of an objective."""
    if isinstance(objective, str):
        if objective not in READY:
            raise OptionError(f"no objective {objective!r}: known are {', '.join(READY)}")
        return READY[objective]
    if not callable(objective):
        raise OptionError(f"an objective is a name or a function of the model, not {objective!r}")
    return objective


def _made(expression: Expression, program: Program, objective: str | Expression) -> Any:
    """Make an expression of a program's model, which may lack its parts."""
    try:
        return expression(program.model)
    except AttributeError as error:
        need = {"terms": "max_terms or l0_penalty", "points": "l1_penalty"}
        hint = need.get(str(objective), "those parts")
        raise NotApplicableError(
            f"the model of {program.formulation} lacks what the objective speaks of ({error}): "
            f"state the program with {hint}"
        ) from error
