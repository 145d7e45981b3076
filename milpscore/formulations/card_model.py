"""The model of a statement, made when it is first needed: a search needs none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from milpscore.core.card import Card
from milpscore.core.design import FloatArray
from milpscore.core.program import Layout, Program
from milpscore.core.statement import Statement
from milpscore.formulations.building import Ranges, RowTotals
from milpscore.losses import Hinge


def linear(variables: Sequence[Any], coefficients: FloatArray) -> LinearExpression:
    """sum_j coefficients_j * variables_j over the nonzero coefficients, as Python floats."""
    nonzero = np.flatnonzero(coefficients)
    return LinearExpression(
        constant=0.0,
        linear_coefs=coefficients[nonzero].tolist(),
        linear_vars=[variables[j] for j in nonzero.tolist()],
    )


Implied = Callable[[Card], Any]
"""A variable's values by its index as a card implies them: an array, a mapping, or one number."""


@dataclass(frozen=True, eq=False)
class PointVariables:
    """How a model holds the points: w_j = sum_s signs_s x_{j s}, x in the order of the columns."""

    variables: list[Any]
    signs: FloatArray = field(default_factory=lambda: np.ones(1))

    def linear(self, factors: FloatArray) -> Any:
        """sum_j factors_j w_j, factors of shape (p,)."""
        spread = np.repeat(factors, len(self.signs)) * np.tile(self.signs, len(factors))
        return linear(self.variables, spread)

    def of(self, j: int) -> Any:
        """w_j."""
        factors = np.zeros(len(self.variables) // len(self.signs))
        factors[j] = 1.0
        return self.linear(factors)


class CardModel:
    """The model of a statement while it is built."""

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        self.m = pyo.ConcreteModel(name=statement.formulation)
        self.implied: dict[str, Implied] = {}
        self.points: PointVariables
        self._holder = ""

    def variable(self, name: str, implied: Implied, *index: Any, **options: Any) -> Any:
        """Add a variable, and what a card makes of it."""
        variable = pyo.Var(*index, **options)
        self.m.add_component(name, variable)
        self.implied[name] = implied
        return variable

    def weight(self, name: str, value: float) -> Any:
        """Add a penalty's weight as a mutable Param."""
        weight = pyo.Param(initialize=value, mutable=True, within=pyo.NonNegativeReals)
        self.m.add_component(name, weight)
        return weight

    def add_points(self, name: str = "w") -> None:
        """The columns ``m.J`` and their whole points within the statement's ranges."""
        m, low, high = self.m, self.statement.coef_min.tolist(), self.statement.coef_max.tolist()
        m.J = pyo.RangeSet(0, len(low) - 1)
        w = self.variable(
            name,
            lambda card: card.coefficients,
            m.J,
            domain=pyo.Integers,
            bounds=lambda m, j: (low[j], high[j]),
        )
        self.hold_points(name, [w[j] for j in m.J])

    def hold_points(
        self, name: str, variables: Sequence[Any], signs: Sequence[float] = (1.0,)
    ) -> None:
        """Record which variable holds the points: w_j = sum_s signs_s x_{j s}."""
        self._holder = name
        self.points = PointVariables(list(variables), np.array(signs))
        # also of terms that somebody counts later, in a model that had no use for them
        self.implied["alpha"] = lambda card: (card.coefficients != 0).astype(np.int64)

    def add_terms(self) -> Any:
        """alpha_j = 1 where w_j may differ from 0; sets of points; the limit. C_0 sum_j alpha_j."""
        m, statement = self.m, self.statement
        self._add_sets()
        l0_penalty = self._weight_of("l0_penalty")
        if l0_penalty == 0 and statement.max_terms is None:
            return 0.0
        # where 0 is an end of the range, a used term has at least one point
        lower = [low if low < 0 else max(low, 1) for low in statement.coef_min.tolist()]
        upper = [high if high > 0 else min(high, -1) for high in statement.coef_max.tolist()]
        self.weight("l0_penalty", l0_penalty)
        self.variable("alpha", self.implied["alpha"], m.J, domain=pyo.Binary)

        m.used_above = pyo.Constraint(m.J, rule=lambda m, j: m.w[j] - upper[j] * m.alpha[j] <= 0)
        m.used_below = pyo.Constraint(m.J, rule=lambda m, j: m.w[j] - lower[j] * m.alpha[j] >= 0)

        terms = sum(m.alpha[j] for j in m.J)
        if statement.max_terms is not None:
            m.at_most_k_terms = pyo.Constraint(expr=terms <= statement.max_terms)
        return m.l0_penalty * terms

    def add_signs(self) -> tuple[list[Any], list[Any]]:
        """Binaries that are 1 where w_j is above, and below 0; None where it cannot be.

        alpha_j is their sum: where the points have one sign, it is the sign itself.
        """
        m = self.m
        ends = zip(self.statement.coef_min.tolist(), self.statement.coef_max.tolist(), strict=True)
        low, high = (list(each) for each in zip(*ends, strict=True))
        alpha = m.component("alpha")
        both = [j for j in m.J if alpha is None or low[j] < 0 < high[j]]
        m.J_signs = pyo.Set(initialize=both, within=m.J)
        for name, side in (("above_zero", 1), ("below_zero", -1)):
            implied = partial(lambda side, card: (side * card.coefficients > 0).astype(int), side)
            self.variable(name, implied, m.J_signs, domain=pyo.Binary)
        up, down = m.above_zero, m.below_zero

        m.signed_above = pyo.Constraint(
            m.J_signs, rule=lambda m, j: m.w[j] - max(high[j], 0) * up[j] + down[j] <= 0
        )
        m.signed_below = pyo.Constraint(
            m.J_signs, rule=lambda m, j: m.w[j] - min(low[j], 0) * down[j] - up[j] >= 0
        )
        m.one_sign = pyo.Constraint(
            m.J_signs,
            rule=lambda m, j: (
                up[j] + down[j] <= 1 if alpha is None else up[j] + down[j] - alpha[j] == 0
            ),
        )
        signed = frozenset(both)
        above = [up[j] if j in signed else alpha[j] if high[j] > 0 else None for j in m.J]
        below = [down[j] if j in signed else alpha[j] if low[j] < 0 else None for j in m.J]
        return above, below

    def _add_sets(self) -> None:
        """w_j equals exactly one value of its explicit set."""
        m, sets = self.m, self.statement.coef_sets
        if not sets:
            return
        pairs = [(j, v) for j in sets for v in sets[j]]
        m.choice_index = pyo.Set(dimen=2, initialize=pairs)
        self.variable(
            "choice",
            lambda card: {(j, v): int(card.coefficients[j] == v) for j, v in pairs},
            m.choice_index,
            domain=pyo.Binary,
        )
        m.J_sets = pyo.Set(initialize=list(sets), within=m.J)

        m.one_choice = pyo.Constraint(
            m.J_sets, rule=lambda m, j: sum(m.choice[j, v] for v in sets[j]) == 1
        )
        m.chosen_value = pyo.Constraint(
            m.J_sets, rule=lambda m, j: m.w[j] - sum(v * m.choice[j, v] for v in sets[j]) == 0
        )

    def add_l1(self) -> Any:
        """C_1 sum_j size_j; nothing is added for a zero penalty."""
        l1_penalty = self._weight_of("l1_penalty")
        if l1_penalty == 0:
            return 0.0
        self.weight("l1_penalty", l1_penalty)
        self.add_sizes()
        return self.m.l1_penalty * sum(self.m.size[j] for j in self.m.J)

    def sizes(self, term: Any) -> Any:
        """sum_j weights_j size_j of a weighted or plain L1 penalty, its own weight left out."""
        self.add_sizes()
        size = [self.m.size[j] for j in self.m.J]
        weights = getattr(term.base, "weights", None)
        return sum(size) if weights is None else linear(size, weights)

    def add_sizes(self) -> list[int]:
        """size_j >= |w_j|; the most each can be."""
        m = self.m
        largest = Ranges.of(self.statement).reach
        if m.component("size") is not None:
            return largest
        self.variable(
            "size", lambda card: np.abs(card.coefficients), m.J, bounds=lambda m, j: (0, largest[j])
        )

        m.size_above = pyo.Constraint(m.J, rule=lambda m, j: m.size[j] - m.w[j] >= 0)
        m.size_below = pyo.Constraint(m.J, rule=lambda m, j: m.size[j] + m.w[j] >= 0)

        return largest

    def add_intercept(self) -> None:
        """The intercept ``m.b`` within the statement's rule."""
        rule = self.statement.intercept
        self.variable(
            "b",
            lambda card: float(card.intercept),
            domain=pyo.Reals if rule.step is None else pyo.Integers,
            bounds=(float(rule.lower), float(rule.upper)),
        )

    def add_hinge_loss(self, totals: RowTotals) -> None:
        """b, the slacks xi of the merged rows of these totals, and their mean ``m.loss``."""
        m, rows, rule = self.m, self.statement.design.merged, self.statement.intercept
        loss = self.statement.loss
        assert isinstance(loss, Hinge)
        gamma, y = float(loss.margin), rows.y
        smallest, largest = totals
        # the largest slack: margin minus the worst score in the row's direction
        worst = np.where(y > 0, smallest + float(rule.lower), -largest - float(rule.upper))
        xi_max = np.maximum(gamma - worst, 0.0).tolist()
        m.I = pyo.RangeSet(0, len(y) - 1)
        self.add_intercept()
        self.variable(
            "xi",
            lambda card: np.maximum(0.0, gamma - y * (card.totals(rows.X) + float(card.intercept))),
            m.I,
            bounds=lambda m, i: (0.0, xi_max[i]),
        )
        share = rows.weight / (float(rows.weight.sum()) * gamma)
        m.loss = pyo.Expression(expr=linear([m.xi[i] for i in m.I], share))
        sign = y.astype(np.float64).tolist()

        m.margin_rows = pyo.Constraint(
            m.I,
            rule=lambda m, i: (
                self.points.linear(rows.X[i] * sign[i]) + sign[i] * m.b + m.xi[i] >= gamma
            ),
        )

    def program(
        self,
        penalty: Any,
        *,
        wrong: Sequence[Any] | None = None,
        intercept: Callable[[Any], float] = lambda m: float(m.b.value),
        **options: Any,
    ) -> Program:
        """Return the finished program: constraints, the objective ``m.loss`` + penalty, the layout.

        ``wrong``: per merged row a binary that is 1 if the card errs, if the model has them;
        ``intercept`` reads b from a model's values; ``options`` are the Program's.
        """
        m, statement = self.m, self.statement
        if statement.constraints:
            from milpscore.formulations._constraint_rows import add_constraints

            add_constraints(m, statement, self.points, wrong)
        m.penalty = pyo.Expression(expr=penalty)
        m.objective = pyo.Objective(expr=m.loss + m.penalty, sense=pyo.minimize)
        holder, signs, implied = self._holder, self.points.signs, self.implied

        def read(m: Any) -> tuple[FloatArray, float]:
            values = np.array([x.value for x in m.component(holder).values()], dtype=np.float64)
            return values.reshape(-1, len(signs)) @ signs, intercept(m)

        def points(m: Any) -> list[Any]:
            held = PointVariables(list(m.component(holder).values()), signs)
            doubled = len(signs) > 1
            return [held.of(j) for j in range(statement.shape[1])] if doubled else held.variables

        def fill(m: Any, statement: Statement, card: Card) -> None:
            for name, rule in implied.items():
                if m.component(name) is not None:
                    _set_values(m.component(name), rule(card))
            if statement.constraints:
                from milpscore.formulations._constraint_rows import fill_constraints

                fill_constraints(m, statement, card)

        # the penalties whose weights are mutable Params of the same name
        weights = {term.name: term.name for term in statement.penalties if term.lam > 0}
        options = {"parameters": weights, **options}
        return Program(statement, m, Layout(read=read, fill=fill, points=points), **options)

    def _weight_of(self, name: str) -> float:
        """Return the weight of the penalty called ``name``, 0 if the statement has none."""
        return sum(term.lam for term in self.statement.penalties if term.name == name)


def _set_values(variable: Any, values: Any) -> None:
    """Set a variable, indexed or not, to values by index; domains are not checked."""
    if not variable.is_indexed():
        variable.set_value(values, skip_validation=True)
        return
    by_index = values if isinstance(values, Mapping) else values.tolist()
    for index, entry in variable.items():
        entry.set_value(by_index[index], skip_validation=True)
