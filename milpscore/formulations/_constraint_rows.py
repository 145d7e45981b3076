"""Operational constraints as rows of a model: one way to write each of the forms there are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo

from milpscore.constraints.parts import (
    Answers,
    AppliedConstraint,
    Ordered,
    Part,
    Points,
    Totals,
    Used,
    wrong_rows,
)
from milpscore.core.card import Card
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import FormulationError
from milpscore.core.statement import RULES, Statement
from milpscore.formulations.building import Ranges
from milpscore.formulations.card_model import PointVariables, linear
from milpscore.formulations.policy import POLICY

Group = tuple[int, ...]


def add_constraints(
    m: Any, statement: Statement, points: PointVariables, wrong: Sequence[Any] | None = None
) -> None:
    """Add the rows of every constraint under its key in the block ``m.rules``."""
    if not statement.constraints:
        return
    m.add_component(RULES, pyo.Block())
    rows = _Rows(m, statement, points, wrong)
    for number, bound in enumerate(statement.constraints):
        assert isinstance(bound, AppliedConstraint)
        listed = pyo.ConstraintList()
        rows.block.add_component(bound.key, listed)
        for at, part in enumerate(bound.parts):
            rows.add(listed, part, (number, at))


class _Rows:
    """Writes parts into a model; what several need (used, wrong) is made once."""

    def __init__(
        self, m: Any, statement: Statement, points: PointVariables, wrong: Sequence[Any] | None
    ) -> None:
        self.m, self.statement, self.points, self.wrong = m, statement, points, wrong
        self.block = b = m.component(RULES)
        b.used = pyo.Var(pyo.Any, domain=pyo.Binary, dense=False)
        b.positive = pyo.Var(pyo.Any, domain=pyo.Binary, dense=False)
        b.negative = pyo.Var(pyo.Any, domain=pyo.Binary, dense=False)
        b.wrong = pyo.Var(pyo.Any, domain=pyo.Binary, dense=False)
        b.most = pyo.Var(pyo.Any, dense=False)
        b.least = pyo.Var(pyo.Any, dense=False)
        b.links = pyo.ConstraintList()
        self.linked: set[tuple[str, Group]] = set()
        self.w = [points.of(j) for j in range(len(statement.coef_min))]

    def add(self, rows: Any, part: Part, key: tuple[int, int]) -> None:
        """Add the rows of one part."""
        if isinstance(part, Points):
            self._points(rows, part)
        elif isinstance(part, Ordered):
            for a, b in part.pairs:
                factors = np.zeros(len(self.w))
                factors[[a, b]] = -1.0, 1.0
                rows.add(self.points.linear(factors) >= 0)
        elif isinstance(part, Used):
            self._used(rows, part)
        elif isinstance(part, Answers):
            self._answers(rows, part)
        else:
            self._totals(rows, part, key)

    def _points(self, rows: Any, part: Points) -> None:
        for j in part.columns:
            if part.lower is not None:
                rows.add(self.w[j] >= part.lower)
            if part.upper is not None:
                rows.add(self.w[j] <= part.upper)

    def _used(self, rows: Any, part: Used) -> None:
        terms = []
        for group, factor in zip(part.groups, part.factors, strict=True):
            from_above = part.upper is not None if factor > 0 else part.lower is not None
            from_below = part.lower is not None if factor > 0 else part.upper is not None
            terms.append(factor * self._flag(group, from_above, from_below))
        total = sum(terms)
        if part.lower is not None:
            rows.add(total >= part.lower)
        if part.upper is not None:
            rows.add(total <= part.upper)

    def _flag(self, group: Group, from_above: bool, from_below: bool) -> Any:
        """Return a binary that is 1 if the group has points (above), and only then (below)."""
        counted = self.m.component("alpha") is not None and len(group) == 1
        flag = self.m.alpha[group[0]] if counted else self.block.used[_index(group)]
        if from_above and not counted and ("above", group) not in self.linked:
            self.linked.add(("above", group))
            for j in group:
                low, high = self._range(j)
                if high > 0:
                    self.block.links.add(self.w[j] - high * flag <= 0)
                if low < 0:
                    self.block.links.add(self.w[j] - low * flag >= 0)
        if from_below and ("below", group) not in self.linked:
            self.linked.add(("below", group))
            signs = [sign for j in group for sign in self._signs(j)]
            self.block.links.add(flag - sum(signs) <= 0)
        return flag

    def _signs(self, j: int) -> list[Any]:
        """Return binaries for the signs of w_j: at most one is 1, and only if w_j has points."""
        low, high = self._range(j)
        signs = []
        if high >= 1:
            signs.append(self.block.positive[j])
        if low <= -1:
            signs.append(self.block.negative[j])
        if not signs or ("signs", (j,)) in self.linked:
            return signs
        self.linked.add(("signs", (j,)))
        if high >= 1:
            self.block.links.add(self.w[j] - (1 - low) * self.block.positive[j] >= low)
        if low <= -1:
            self.block.links.add(self.w[j] + (1 + high) * self.block.negative[j] <= high)
        most = 1 if self.m.component("alpha") is None else self.m.alpha[j]
        self.block.links.add(sum(signs) - most <= 0)
        return signs

    def _range(self, j: int) -> tuple[int, int]:
        return int(self.statement.coef_min[j]), int(self.statement.coef_max[j])

    def _answers(self, rows: Any, part: Answers) -> None:
        """Add up what wrong rows cost; a negative one that errs is not answered negative."""
        merged = self.statement.design.merged
        paid = merged.sums(part.paid)
        cost, limit = paid * merged.y, part.limit - paid[merged.y < 0].sum().item()
        counted = np.flatnonzero(cost)
        unit = max(1.0, float(np.abs(cost).max(initial=0.0)) / POLICY.large_cost)
        flags = self._flags(counted.tolist())
        self._link_right([i for i in counted.tolist() if cost[i] < 0])
        if flags:
            rows.add(linear(flags, cost[counted] / unit) <= limit / unit)

    def _flags(self, wanted: list[int]) -> list[Any]:
        """Return the binaries of merged rows, 1 where the card errs."""
        if self.wrong is not None:
            return [self.wrong[i] for i in wanted]
        new = [i for i in wanted if ("wrong", (i,)) not in self.linked]
        if new:
            self._link_wrong(new)
            self.linked |= {("wrong", (i,)) for i in new}
        return [self.block.wrong[i] for i in wanted]

    def _link_wrong(self, new: list[int]) -> None:
        """positive: w.x + b + M e >= 0; negative: w.x + b - M e <= -delta."""
        m, rows = self.m, self.statement.design.merged
        X, y = rows.X[new], rows.y[new]
        big_m, delta = counting(self.statement, X, y)
        for i, row, label, reach in zip(new, X, y.tolist(), big_m.tolist(), strict=True):
            flag = self.block.wrong[i]
            if reach <= 0:
                flag.setub(0)  # no allowed card errs on this row
            elif label > 0:
                self.block.links.add(self.points.linear(row) + m.b + reach * flag >= 0)
            else:
                self.block.links.add(self.points.linear(row) + m.b - reach * flag <= -delta)

    def _link_right(self, wanted: list[int]) -> None:
        """Where errors pay off: positive: w.x + b + M e <= M - delta; negative: w.x + b >= M e - M.

        M frees a row that is answered rightly from what an error would demand.
        """
        new = [i for i in wanted if ("right", (i,)) not in self.linked]
        self.linked |= {("right", (i,)) for i in new}
        if not new:
            return
        rows, b = self.statement.design.merged, self._cut()
        X, y, flags = rows.X[new], rows.y[new], self._flags(new)
        big_m, delta = counting(self.statement, X, -y)
        for flag, row, label, reach in zip(flags, X, y.tolist(), big_m.tolist(), strict=True):
            if reach <= 0:
                flag.setlb(1)  # every allowed card errs on this row
            elif label > 0:
                self.block.links.add(self.points.linear(row) + b + reach * flag <= reach - delta)
            else:
                self.block.links.add(self.points.linear(row) + b - reach * flag >= -reach)

    def _cut(self) -> Any:
        """Return b, by which w.x + b is below 0 where a card answers negative."""
        if self.m.component("b") is not None:
            return self.m.b
        step = self.statement.intercept.step
        if step is None:
            raise FormulationError(
                "limits on gaps need totals on a grid: bin the columns, or round decimals"
            )
        return -float(step) * self.m.T

    def _totals(self, rows: Any, part: Totals, key: tuple[int, int]) -> None:
        """most_f >= values . w_f for all values a feature has, and the sum of them bounded."""
        unit = _unit(part)
        ends = ((part.upper, self.block.most, 1), (part.lower, self.block.least, -1))
        for end, variables, side in ends:
            if end is None:
                continue
            sums = []
            for at, (columns, values) in enumerate(part.features):
                extreme = variables[(*key, at)]
                reach = unit * float(np.abs(values).max(initial=0.0)) * self._size(columns)
                extreme.setlb(-reach)
                extreme.setub(reach)
                sums.append(extreme)
                for row in values.astype(np.float64) * unit:
                    factors = np.zeros(len(self.w))
                    factors[list(columns)] = row
                    self.block.links.add(side * (extreme - self.points.linear(factors)) >= 0)
            rows.add(side * sum(sums) <= side * end * unit)

    def _size(self, columns: Group) -> float:
        """Return the most points that some columns can have together."""
        reach = Ranges.of(self.statement).reach
        return float(sum(reach[j] for j in columns))


def _unit(part: Totals) -> float:
    """Return the unit of a part's values; the rows of a model hold them in the data's own size."""
    return 1.0 if part.unit is None else float(part.unit)


def _index(group: Group) -> Any:
    """Return a group as the index of a variable."""
    return group if len(group) > 1 else group[0]


def _least_distance(statement: Statement) -> float:
    """Return how far w.x + b stays below 0 if it is below: by the grid of totals and intercepts."""
    rule, step = statement.intercept, statement.design.step
    if rule.step is None and statement.scales is None:
        raise FormulationError(
            "limits on errors need an intercept on a grid: use {intercept} or 'zero', or "
            "of a risk score {scale}",
            intercept="integer",
            scale="auto",
        )
    if step is None:
        raise FormulationError(
            "limits on errors need data on a grid, on which a total just below the threshold can "
            "be parted from one at it: bin the columns or round decimals (X.round(2)), or use slim "
            "with {threshold_gap}",
            threshold_gap=...,
        )
    if rule.step is None:
        return float(step)  # the model's b is where the totals are cut, and lies on their grid
    denominator = math.lcm(step.denominator, rule.step.denominator)
    counts = (int(step * denominator), int(rule.step * denominator))
    return math.gcd(*counts) / denominator


def cut_range(statement: Statement) -> tuple[float, float]:
    """Return the ends of the model's b, by which errors are counted."""
    rule, step = statement.intercept, statement.design.step
    low, high = float(rule.lower), float(rule.upper)
    if statement.scales is None or rule.step is not None or step is None:
        return low, high
    # at a free scale b only cuts the totals: one cut below or beyond all of them is enough
    least, most = Ranges.of(statement).totals(statement.design.merged.X)
    first, last = -float(most.max(initial=0.0)), -float(least.min(initial=0.0))
    # both ends moved: all intercepts may lie on one side of every cut
    return min(max(low, first), last) - float(step), max(min(high, last), first)


def counting(statement: Statement, X: FloatArray, y: IntArray) -> tuple[FloatArray, float]:
    """Return the big-M of rows X (m, p) whose errors are counted, and the step between scores."""
    delta = _least_distance(statement)
    least, most = Ranges.of(statement).totals(X)
    low, high = cut_range(statement)
    big_m = np.where(y > 0, -(least + low), most + high + delta)
    # a solver's tolerance must not excuse a row
    if big_m.max(initial=0.0) * POLICY.integrality_tolerance >= delta / 2:
        raise FormulationError(
            f"big_m {big_m.max():.3g} times the integrality tolerance reaches half of the step "
            f"{delta:g} between totals, so errors cannot be counted: bin the columns, or narrow "
            "the coefficients"
        )
    return big_m, delta


def fill_constraints(m: Any, statement: Statement, card: Card) -> None:
    """Set every variable of the constraints to what the card implies."""
    b, w = m.component(RULES), card.coefficients
    for index, flag in b.used.items():
        group = index if isinstance(index, tuple) else (index,)
        flag.set_value(int(np.any(w[list(group)] != 0)), skip_validation=True)
    for j, flag in b.positive.items():
        flag.set_value(int(w[j] > 0), skip_validation=True)
    for j, flag in b.negative.items():
        flag.set_value(int(w[j] < 0), skip_validation=True)
    if len(b.wrong):
        rows, step = statement.design.merged, statement.design.step
        errs = wrong_rows(rows.X, rows.y, step, card)
        for i, flag in b.wrong.items():
            flag.set_value(int(errs[i]), skip_validation=True)
    for variables, side in ((b.most, 1), (b.least, -1)):
        for (number, at, feature), extreme in variables.items():
            part = statement.constraints[number].parts[at]
            columns, values = part.features[feature]
            sums = side * _unit(part) * (values @ w[list(columns)])
            extreme.set_value(side * float(sums.max()), skip_validation=True)
