"""The model of a statement, made when it is first needed: a search needs none."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from milpscore.core.card import Card
from milpscore.core.design import FloatArray
from milpscore.core.program import Layout, Parting, Program
from milpscore.core.statement import RULES, InterceptRule, Statement
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
Ends = tuple[float, float]
"""The least and the largest value of a variable."""


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


_OWN_ENDS, _FREE = "_own_ends", (-math.inf, math.inf)

DOCS = {
    "J": "columns of the design", "I": "merged rows", "I_pos": "merged rows of the positive class",
    "I_neg": "merged rows of the negative class", "Q": "pairs of equal rows of both classes",
    "w": "points of each column", "c": "weights of columns, or of both signs of columns",
    "b": "intercept", "T": "threshold, in steps of the data's grid",
    "alpha": "1 if the column has points", "above_zero": "1 if its points are above 0",
    "below_zero": "1 if its points are below 0", "choice": "1 if the points are this value",
    "size": "at least the size of the points", "z": "1 if the card errs on the row",
    "xi": "what the row's score lacks of the margin", "eta": "at least what is charged of a chain",
    "ramp": "what the size of the points exceeds a kink by", "loss": "mean weighted loss",
    "penalty": "prices of terms and points", "l0_penalty": "price of a term",
    "l1_penalty": "price of a point", "lam": "weight of the penalty",
    "objective": "loss and penalty", "used_above": "no points above 0 without the term",
    "used_below": "no points below 0 without the term", "at_most_k_terms": "limit on terms",
    "one_sign": "points have one sign", "signed_above": "points above 0 have their sign",
    "signed_below": "points below 0 have theirs", "one_choice": "one value of each set",
    "chosen_value": "the points are the value chosen", "size_above": "size >= points",
    "size_below": "size >= minus points", "margin_rows": "scores reach the margin, or pay",
    "positive_rows": "positive rows reach the threshold, or are errors",
    "negative_rows": "negative rows stay below it, or are errors",
    "contradictions": "equal rows of both classes: one of them is an error",
    "pair_covers": "nearby rows of both classes: an error, or points that tell them apart",
    "theta": "points of each bin", "cuts": "tangents of the loss",
    "ramp_rows": "ramps of the sizes",
    "priority": "what is branched first: signs and terms, then points and thresholds, then errors",
}  # fmt: skip
"""What the components of models are."""

PRIORITIES = {
    "alpha": 2, "above_zero": 2, "below_zero": 2, "choice": 2, "w": 1, "T": 1,
}  # fmt: skip
"""Where rows have binaries of their errors: the order in which solvers should branch, 0 last."""


class CardModel:
    """The model of a statement while it is built."""

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        self.m = pyo.ConcreteModel(name=statement.formulation)
        self.implied: dict[str, Implied] = {}
        self.points: PointVariables
        self._holder = ""
        self.slacks: RowTotals | None = None  # the totals of rows whose hinge loss has slacks
        # the variable that cuts the totals, and its ends by a statement
        self.cut: tuple[str, Callable[[Statement], Ends]] | None = None
        self.parting: Callable[[Any], Parting] | None = None  # for rows that a solver adds

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
        return signs_of(m, self.statement)

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
            bounds=_ends(self.statement),
        )
        self.cut = "b", _ends

    def add_hinge_loss(self, totals: RowTotals) -> None:
        """b, the slacks xi of the merged rows of these totals, and their mean ``m.loss``."""
        m, rows = self.m, self.statement.design.merged
        slacks = HingeSlacks(self.statement, totals)
        y, gamma = rows.y, slacks.margin
        ends = slacks.ends()
        m.I = pyo.RangeSet(0, len(y) - 1)
        m.margin = pyo.Param(initialize=gamma, mutable=True)  # for rows added later
        self.add_intercept()
        m.xi = pyo.Var(m.I, bounds=lambda m, i: ends[i])
        m.loss = pyo.Expression(expr=linear([m.xi[i] for i in m.I], slacks.share()))
        sign = y.astype(np.float64).tolist()

        m.margin_rows = pyo.Constraint(
            m.I,
            rule=lambda m, i: (
                self.points.linear(rows.X[i] * sign[i]) + sign[i] * m.b + m.xi[i] >= gamma
            ),
        )
        self.slacks = totals

    def program(
        self,
        penalty: Any,
        *,
        wrong: str | None = None,
        intercept: Callable[[Any], float] = lambda m: float(m.b.value),
        **options: Any,
    ) -> Program:
        """Return the finished program: constraints, the objective ``m.loss`` + penalty, the layout.

        ``wrong`` names the binaries of merged rows, 1 if the card errs, if the model has them;
        ``intercept`` reads b from a model's values; ``options`` are the Program's.
        """
        m, statement = self.m, self.statement
        held = HeldModel(
            statement, self._holder, self.points.signs, self.implied, wrong, self.cut, self.slacks
        )
        held.add_constraints(m, statement)
        m.penalty = pyo.Expression(expr=penalty)
        m.objective = pyo.Objective(expr=m.loss + m.penalty, sense=pyo.minimize)
        if m.component("z") is not None:
            # not exported by itself: the writer of LP files warns of what it cannot write
            m.priority = pyo.Suffix(direction=pyo.Suffix.LOCAL, datatype=pyo.Suffix.INT)
            for name, rank in PRIORITIES.items():
                if (part := m.component(name)) is not None:
                    m.priority.update((each, rank) for each in part.values())
        for name, words in DOCS.items():
            if (part := m.component(name)) is not None:
                part.doc = words
        layout = Layout(
            lambda m: (held.points(m), intercept(m)),
            held.fill,
            held.expressions,
            held.narrow,
            self.parting,
        )
        # the penalties whose weights are mutable Params of the same name
        weights = {term.name: term.name for term in statement.penalties if term.lam > 0}
        options = {"parameters": weights, **options}
        return Program(statement, m, layout, **options)

    def _weight_of(self, name: str) -> float:
        """Return the weight of the penalty called ``name``, 0 if the statement has none."""
        return sum(term.lam for term in self.statement.penalties if term.name == name)


def signs_of(m: Any, statement: Statement) -> tuple[list[Any], list[Any]]:
    """The variables of a model that are 1 where w_j is above, and below 0; None without any."""
    signed, alpha = frozenset(m.J_signs), m.component("alpha")
    low, high = statement.coef_min.tolist(), statement.coef_max.tolist()
    above = [m.above_zero[j] if j in signed else alpha[j] if high[j] > 0 else None for j in m.J]
    below = [m.below_zero[j] if j in signed else alpha[j] if low[j] < 0 else None for j in m.J]
    return above, below


@dataclass(frozen=True, eq=False)
class HingeSlacks:
    """The slacks xi_i >= margin - y_i (w.x_i + b) of a statement's merged rows."""

    statement: Statement
    totals: RowTotals

    @property
    def margin(self) -> float:
        """The papers' gamma."""
        loss = self.statement.loss
        assert isinstance(loss, Hinge)
        return float(loss.margin)

    def largest(self) -> FloatArray:
        """Return the most each can be: the margin minus the worst score in the row's direction."""
        y, rule, (least, most) = (
            self.statement.design.merged.y,
            self.statement.intercept,
            self.totals,
        )
        worst = np.where(y > 0, least + float(rule.lower), -most - float(rule.upper))
        return np.maximum(self.margin - worst, 0.0)

    def ends(self) -> list[Ends]:
        """Return the least and the most each can be."""
        return [(0.0, most) for most in self.largest().tolist()]

    def share(self) -> FloatArray:
        """Return what each costs in the mean loss."""
        weight = self.statement.design.merged.weight
        return np.asarray(weight / (float(weight.sum()) * self.margin))

    def of(self, card: Card) -> FloatArray:
        """Return the slacks of a card."""
        rows = self.statement.design.merged
        scores = card.totals(rows.X) + float(card.intercept)
        return np.maximum(0.0, self.margin - rows.y * scores)


@dataclass(frozen=True, eq=False)
class HeldModel:
    """What a finished model, or a copy of it, holds of cards; and how it is narrowed."""

    statement: Statement  # the one it was built for
    holder: str
    signs: FloatArray
    implied: Mapping[str, Implied]
    wrong: str | None
    cut: tuple[str, Callable[[Statement], Ends]] | None
    slacks: RowTotals | None

    def variables(self, m: Any) -> PointVariables:
        """The variables of the points."""
        return PointVariables(list(m.component(self.holder).values()), self.signs)

    def points(self, m: Any) -> FloatArray:
        """Return the points by the variables' values."""
        values = np.array([x.value for x in m.component(self.holder).values()], dtype=np.float64)
        return np.asarray(values.reshape(-1, len(self.signs)) @ self.signs)

    def expressions(self, m: Any) -> list[Any]:
        """Return the variable or the expression of each column's points."""
        held = self.variables(m)
        several = len(self.signs) > 1
        return [held.of(j) for j in range(self.statement.shape[1])] if several else held.variables

    def fill(self, m: Any, statement: Statement, card: Card) -> None:
        """Set every variable to what a card implies."""
        for name, rule in self.implied.items():
            if m.component(name) is not None:
                _set_values(m.component(name), rule(card))
        if self.slacks is not None:
            _set_values(m.xi, HingeSlacks(statement, self.slacks).of(card))
        if statement.constraints:
            from milpscore.formulations._constraint_rows import fill_constraints

            fill_constraints(m, statement, card)

    def add_constraints(self, m: Any, statement: Statement) -> None:
        """Add the rows of a statement's constraints."""
        if statement.constraints:
            from milpscore.formulations._constraint_rows import add_constraints

            wrong = None if self.wrong is None else list(m.component(self.wrong).values())
            add_constraints(m, statement, self.variables(m), wrong)

    def narrow(
        self, m: Any, old: Statement, new: Statement, arguments: Mapping[str, Any]
    ) -> frozenset[str] | None:
        """Edit the model to a statement of fewer cards, and name the parts that changed.

        ``old`` is what it states: other ends of variables were set by hand, and stay in force.

        None where it holds too few cards for it: what was derived from ranges and limits, big-M
        first of all, is valid for all the cards that it was built for.
        """
        # errors counted next to rows' totals are none that a limit or a range of T may speak of
        beside = m.component("beside_rows") is not None
        limited = new.limits_errors
        bounded = arguments.get("intercept_bounds") is not None
        if (beside and (limited or bounded)) or not (self._holds(m, new) and _is_as(m, old)):
            return None
        # 1. points, and how many of them
        parts = {self.holder} if len(self.signs) == 1 else set()
        if parts:
            move_ends(m, m.component(self.holder).values(), _ranges(old), _ranges(new))
        if new.max_terms is not None:
            parts.add("at_most_k_terms")
            m.at_most_k_terms.set_value((None, m.at_most_k_terms.body, new.max_terms))
        # 2. where totals are cut
        if self.cut is not None:
            name, ends_of = self.cut
            move_ends(m, [m.component(name)], [ends_of(old)], [ends_of(new)])
            parts.add(name)
        # 3. slacks as far as the intercepts now reach; the hinge loss by its margin
        if self.slacks is not None:
            was, slacks = HingeSlacks(old, self.slacks), HingeSlacks(new, self.slacks)
            move_ends(m, m.xi.values(), was.ends(), slacks.ends())
            parts.add("xi")
            if m.margin.value != slacks.margin:
                m.margin.set_value(slacks.margin)
                m.loss.set_value(linear(list(m.xi.values()), slacks.share()))
                for row in m.margin_rows.values():
                    row.set_value((slacks.margin, row.body, None))
                parts.add("margin_rows")
        # 4. rules, which are few, anew
        rules = {RULES} if m.component(RULES) is not None or new.constraints else set()
        m.del_component(RULES)
        _clear_answers(m)
        self.add_constraints(m, new)
        return frozenset(parts | rules)

    def _holds(self, m: Any, new: Statement) -> bool:
        """Whether the model was built for all cards of a statement, on the same rows."""
        old = self.statement
        # slacks are made anew; whatever else depends on the loss knows but the one it was built for
        loss = (self.slacks is not None and isinstance(new.loss, Hinge)) or new.loss == old.loss
        terms = [term.name for term in new.penalties] == [term.name for term in old.penalties]
        same = old.design is new.design and loss and terms and new.caveat == old.caveat
        return same and self._holds_points(m, new) and self._holds_cuts(new.intercept)

    def _holds_points(self, m: Any, new: Statement) -> bool:
        """Whether the points of a statement lie within those that the model was built for."""
        old = self.statement
        limits = [math.inf if each.max_terms is None else each.max_terms for each in (new, old)]
        limited = new.max_terms is None or m.component("at_most_k_terms") is not None
        above, below = new.coef_min - old.coef_min, old.coef_max - new.coef_max
        # points that several variables make together have no bounds of their own
        ends = np.concatenate([above, below])
        ranges = bool((ends >= 0).all() and (len(self.signs) == 1 or not ends.any()))
        sets = dict(new.coef_sets) == dict(old.coef_sets)
        return limits[0] <= limits[1] and limited and ranges and sets

    def _holds_cuts(self, new: InterceptRule) -> bool:
        """Whether the intercepts of a rule are among those that the model was built for."""
        old = self.statement.intercept
        if (new.kind, new.step) != (old.kind, old.step):
            return False
        within = old.lower <= new.lower <= new.upper <= old.upper
        return new == old if self.cut is None else self.slacks is not None or within


def _ends(statement: Statement) -> Ends:
    """Return the least and the largest intercept."""
    return float(statement.intercept.lower), float(statement.intercept.upper)


def _ranges(statement: Statement) -> Iterable[Ends]:
    """Return the least and the most points of each column."""
    return zip(statement.coef_min.tolist(), statement.coef_max.tolist(), strict=True)


def _is_as(m: Any, stated: Statement) -> bool:
    """Whether the rows whose ends are edited have those of a statement, and none set by hand."""
    limit, margin = m.component("at_most_k_terms"), m.component("margin")
    limited = limit is None or limit.ub == stated.max_terms
    return limited and (
        margin is None or all(row.lb == margin.value for row in m.margin_rows.values())
    )


def _clear_answers(m: Any) -> None:
    """Forget the duals of a model before a change, which hold rows that are gone."""
    for suffix in m.component_objects(pyo.Suffix):
        if suffix.import_enabled():
            suffix.clear()


def move_ends(m: Any, held: Iterable[Any], was: Iterable[Ends], now: Iterable[Ends]) -> None:
    """Move variables from their stated ends to new ones, within those that were set by hand."""
    # an end other than the stated one was set by hand; a copy of the model remembers it, too
    own: dict[str, Ends] = getattr(m, _OWN_ENDS, {})
    for variable, stated, new in zip(held, was, now, strict=True):
        mine = own.get(variable.name, _FREE) if own else _FREE
        due = max(stated[0], mine[0]), min(stated[1], mine[1])
        low, high = (_FREE[k] if end is None else end for k, end in enumerate(variable.bounds))
        mine = (mine[0] if low == due[0] else low), (mine[1] if high == due[1] else high)
        if mine != _FREE:
            own[variable.name] = mine
        variable.setlb(max(new[0], mine[0]))
        variable.setub(min(new[1], mine[1]))
    setattr(m, _OWN_ENDS, own)


def _set_values(variable: Any, values: Any) -> None:
    """Set a variable, indexed or not, to values by index; domains are not checked."""
    if not variable.is_indexed():
        variable.set_value(values, skip_validation=True)
        return
    by_index = values if isinstance(values, Mapping) else values.tolist()
    for index, entry in variable.items():
        entry.set_value(by_index[index], skip_validation=True)
