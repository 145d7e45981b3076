"""A card inside somebody's own optimisation model: its total and its decision as linear rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from milpscore.core.design import Column
from milpscore.core.errors import FormulationError, did_you_mean, is_number, near_matches

if TYPE_CHECKING:
    from milpscore.scorecard._card import Scorecard


def embed(
    card: Scorecard,
    model: Any,
    inputs: Mapping[str, Any],
    *,
    name: str = "card",
    gap: float = 1e-4,
) -> Any:
    r"""Put a card into a Pyomo model of your own, as a Block with its total and its decision.

    .. math::

        & t = \sum_j w_j v_j + t_0, \qquad v_j = z_{jc} \text{ or } z_{jc} - z_{jc'} \\
        & x \ge c - (c - L)(1 - z_c), \qquad x \le c - \epsilon + (U - c + \epsilon)\, z_c \\
        & t \ge T - (T - \underline t)(1 - d), \qquad
          t \le T - \delta + (\overline t - T + \delta)\, d

    for every cut c of an input x in [L, U]: the big-M follow from the inputs' bounds. An integer
    input takes 1 for :math:`\epsilon` and the next whole number for c, and totals of whole values
    1 for :math:`\delta`, so that nothing is lost.

    Parameters
    ----------
    card : Scorecard
    model : pyomo.environ.ConcreteModel or Block
        Gets the Block, called ``name``.
    inputs : mapping from raw feature, or design column, to what it is in the model
        A variable or expression with finite bounds, or a number. Under a column's own name its
        value: of bins, cuts and categories 0 or 1. Under a feature's name the raw value; of text,
        a mapping from category to binary variables, or the category itself.
    name : str
    gap : float
        :math:`\epsilon` of inputs that are not integer, in their own units, and :math:`\delta`
        where totals are not whole: values nearer than this below a cut are left out, as a solver
        confuses them with it.

    Returns
    -------
    pyomo.environ.Block
        ``total`` (an Expression), ``positive`` (binary: 1 iff total >= T) and ``above`` (the
        binaries of the cuts, by feature and cut).

    Raises
    ------
    FormulationError
        For a used feature without an input, an input without finite bounds, or one that cannot be
        what the card reads.

    Examples
    --------
    >>> m = pyo.ConcreteModel()                                         # doctest: +SKIP
    >>> m.age = pyo.Var(bounds=(18, 90), domain=pyo.Integers)           # doctest: +SKIP
    >>> block = milpscore.embed(card, m, {"age": m.age})                # doctest: +SKIP
    >>> m.goal = pyo.Objective(expr=block.total)                        # doctest: +SKIP
    """
    import pyomo.environ as pyo

    if not (is_number(gap) and 0 < gap < math.inf):
        raise FormulationError(f"gap must be a finite number > 0, got {gap!r}")
    if model.component(name) is not None:
        raise FormulationError(f"the model has a component {name!r} already: give another name")
    block = pyo.Block(concrete=True)
    model.add_component(name, block)
    block.above = pyo.Var(pyo.Any, domain=pyo.Binary, dense=False)
    block.rows = pyo.ConstraintList()
    reader = _Reader(card, block, inputs, float(gap))
    values = {j: reader.value(j) for j, points in enumerate(card.points) if points}
    base = sum(card.base_points.values())
    total = base + sum(card.points[j] * value for j, value in values.items())
    block.total = pyo.Expression(expr=total)
    block.positive = pyo.Var(domain=pyo.Binary)
    reader.decide(base, values)
    return block


class _Reader:
    """Makes every value the card reads of the inputs; a cut that several lines share once."""

    def __init__(self, card: Scorecard, block: Any, inputs: Mapping[str, Any], gap: float) -> None:
        self.card, self.block, self.inputs, self.gap = card, block, inputs, gap

    def value(self, j: int) -> Any:
        """The value of a design column, a number or an expression."""
        column = self.card.columns[j]
        if column.name in self.inputs:
            own = _numeric(column.name, self.inputs[column.name])
            if (column.is_indicator or j in self.card.flags) and not _is_flag(own):
                raise FormulationError(
                    f"{column.name!r} is read as 0 or 1: give a binary variable, 0 or 1"
                )
            return own
        if column.feature not in self.inputs:
            known = sorted({column.feature, column.name})
            hint = did_you_mean(column.feature, self.inputs)
            raise FormulationError(
                f"the card reads {known[-1]!r}, and inputs have no {column.feature!r}; "
                f"{hint}they are {', '.join(map(str, self.inputs))}"
            )
        given = self.inputs[column.feature]
        if column.kind == "category":
            return self._category(column, given)
        given = _numeric(column.feature, given)
        if column.kind == "missing":
            return 0  # what has a value is not missing
        if column.kind == "step":
            return self._above(column.feature, given, column.lower)
        if column.kind == "interval":
            start = self._above(column.feature, given, column.lower)
            return start - self._above(column.feature, given, column.upper)
        return given

    def _category(self, column: Column, given: Any) -> Any:
        """Whether the input is one category."""
        if isinstance(given, str):
            alike = [c for c in self.card.columns if c.feature == column.feature and c.category]
            known = {str(text) for c in alike for text in (c.category, *c.others)}
            if given not in known:
                raise FormulationError(
                    f"{column.feature!r}: the card does not know the category {given!r}; "
                    f"{near_matches(given, known, 'categories')}"
                )
            return int(given == column.category)
        if not isinstance(given, Mapping) or column.category not in given:
            raise FormulationError(
                f"{column.feature!r} is read by category: give a mapping from category, "
                f"{column.category!r} among them, to a binary variable"
            )
        if not _is_flag(_numeric(str(column.category), given[column.category])):
            raise FormulationError(
                f"{column.feature!r}: {column.category!r} needs a binary variable, 0 or 1"
            )
        return given[column.category]

    def _above(self, feature: str, given: Any, cut: float) -> Any:
        """1 iff the input reaches a cut: a number where bounds decide it, else a binary."""
        low, high = self._bounds(feature, given)
        if math.isfinite(cut) and _is_whole(given):
            reached, short = float(math.ceil(cut)), math.ceil(cut) - 1.0
        else:
            reached, short = cut, cut - self.gap
        if low >= reached or high < reached:
            return int(low >= reached)
        above, rows = self.block.above, self.block.rows
        if (feature, cut) not in above:
            others = [other for name, other in above if name == feature]
            z = above[feature, cut]
            rows.add(given >= low + (reached - low) * z)
            rows.add(given <= short + (high - short) * z)
            for other in others:  # implied, and a help to the relaxation
                first, last = (other, cut) if other < cut else (cut, other)
                rows.add(above[feature, last] <= above[feature, first])
        return above[feature, cut]

    def _bounds(self, name: str, given: Any) -> tuple[float, float]:
        """The finite range of an input."""
        from pyomo.contrib.fbbt.expression_bounds_walker import ExpressionBoundsVisitor

        if is_number(given):
            return float(given), float(given)
        # of a fixed variable too its own bounds: it may be let go again
        low, high = ExpressionBoundsVisitor(use_fixed_var_values_as_bounds=False).walk_expression(
            given
        )
        if not (math.isfinite(low) and math.isfinite(high)):
            raise FormulationError(
                f"the input {name!r} lies in [{low:g}, {high:g}]: give it finite bounds, from "
                "which the big-M follow"
            )
        return float(low), float(high)

    def decide(self, base: int, values: dict[int, Any]) -> None:
        """positive = 1 iff total >= T."""
        ends = []
        for j, value in values.items():
            column, points = self.card.columns[j], self.card.points[j]
            flag = column.is_indicator and not is_number(value)
            low, high = (0.0, 1.0) if flag else self._bounds(column.name, value)
            ends.append(sorted((points * low, points * high)))
        low, high = (base + sum(each[side] for each in ends) for side in (0, 1))
        threshold = float(self.card.threshold)
        short = threshold - self.gap
        if all(map(_is_whole, values.values())):
            threshold = math.ceil(threshold)
            short = threshold - 1.0
        total, positive = self.block.total, self.block.positive
        if low >= threshold or high < threshold:
            positive.fix(int(low >= threshold))
            return
        self.block.rows.add(total >= low + (threshold - low) * positive)
        self.block.rows.add(total <= short + (high - short) * positive)


def _numeric(name: str, given: Any) -> Any:
    """An input that stands for a number, truth values as 0 and 1."""
    if isinstance(given, bool | np.bool_):
        return int(given)
    if not is_number(given) and not hasattr(given, "is_variable_type"):
        raise FormulationError(
            f"{name!r} is read as a number: give a variable, an expression or a number, not "
            f"{given!r}"
        )
    return given


def _is_whole(given: Any) -> bool:
    """Return whether an input only takes whole numbers, as far as the model states it."""
    if is_number(given):
        return float(given).is_integer()
    if given.is_variable_type():
        return bool(given.is_integer() or given.is_binary())
    if given.is_named_expression_type():
        return _is_whole(given.expr)
    # Pyomo's expressions that are whole where their parts are
    kinds = {"Linear", "Sum", "MonomialTerm", "Product", "Negation"}
    kind = type(given).__name__.removesuffix("Expression")
    return kind in kinds and all(map(_is_whole, given.args))


def _is_flag(given: Any) -> bool:
    """Whether an input only takes 0 and 1."""
    if is_number(given):
        return given in (0, 1)
    low, high = given.bounds if given.is_variable_type() else (None, None)
    return _is_whole(given) and low is not None and high is not None and 0 <= low <= high <= 1
