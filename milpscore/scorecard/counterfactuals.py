"""The least change of some inputs that gives a row another answer of its card."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pandas as pd

from milpscore.core.clock import Clock
from milpscore.core.design import Column, as_fraction, plain_label
from milpscore.core.errors import (
    DataError,
    FormulationError,
    NotApplicableError,
    OptionError,
    SolverError,
    listing,
    near_matches,
)
from milpscore.core.writing import printable
from milpscore.data.cells import read_cells
from milpscore.scorecard._card import Scorecard
from milpscore.scorecard.ordinal import OrdinalCard
from milpscore.scorecard.rendering import exact_number, number, signed

Per = Literal["unit", "bin"]


@dataclass(frozen=True)
class Change:
    """One input changed: from which value to which, at what cost, and what that adds in points."""

    feature: str
    old: Any
    new: Any
    cost: Fraction
    points: Fraction

    def __str__(self) -> str:
        added = signed(exact_number(self.points))
        sign = "+" if self.points > 0 else ""
        old, new = (printable(str(each)) for each in (self.old, self.new))
        return f"{printable(self.feature)} {old} → {new} ({sign}{added})"


@dataclass(frozen=True)
class Counterfactual:
    """Changes that together give the wanted answer, checked on the card.

    Attributes
    ----------
    changes : tuple of Change
    cost : Fraction
        Of them all.
    bound : float
        No other way, but those found before it and what contains them, costs less.
    total : Fraction
        After the changes.
    """

    changes: tuple[Change, ...]
    cost: Fraction
    bound: float
    total: Fraction

    @property
    def proved(self) -> bool:
        """Whether the bound meets the cost, up to a millionth of it."""
        return float(self.cost) - self.bound <= 1e-6 * max(1.0, float(self.cost))

    def __str__(self) -> str:
        how = "least" if self.proved else f"at least {number(self.bound)}"
        changed = "; ".join(map(str, self.changes))
        total = exact_number(self.total)
        return f"cost {number(float(self.cost))} ({how}), total {total}: {changed}"


@dataclass(frozen=True)
class Counterfactuals:
    """What gives a row another answer: the cheapest ways, or why there is none.

    Attributes
    ----------
    answer, wanted : label
    total : Fraction
        Of the row as it is.
    demand : str
        Which totals have the wanted answer.
    found : tuple of Counterfactual
        By cost; none contains the changes of another.
    reason : str
        Why there are no more; empty where nobody looked further.
    """

    answer: Any
    wanted: Any
    total: Fraction
    demand: str
    found: tuple[Counterfactual, ...]
    reason: str = ""

    def __iter__(self) -> Iterator[Counterfactual]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def __str__(self) -> str:
        """The answer as it is, the ways to the other one, and why there are no more."""
        answer, wanted = (printable(str(each)) for each in (self.answer, self.wanted))
        head = f"Total {exact_number(self.total)}: {answer}. For {wanted} ({self.demand}):"
        ways = [f"{at}. {each}" for at, each in enumerate(self.found, 1)]
        return "\n".join([head, *ways, *([printable(self.reason)] if self.reason else [])])


def counterfactual(
    card: Scorecard | OrdinalCard,
    row: Any,
    *,
    to: Any = None,
    costs: Mapping[str, Any] | None = None,
    per: Per = "unit",
    fixed: Collection[str] = (),
    directions: Mapping[str, str] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    units: Mapping[str, float] | None = None,
    k: int = 1,
    time_limit: float = 30.0,
) -> Counterfactuals:
    r"""The least change of inputs that turns a card's answer.

    With :math:`t` the row's total, :math:`\Delta_{fo}` what option o of feature f adds to it (a
    move into another bin changes all its columns at once) and :math:`c_{fo}` what it costs, and for
    features that count by the unit steps :math:`u_f, d_f` up and down of :math:`p_f` points each:

    .. math::

        \min\ & \sum_{f, o} c_{fo} v_{fo} + \sum_f c_f (u_f + d_f) \\
        & L \le t + \sum_{f, o} \Delta_{fo} v_{fo} + \sum_f p_f (u_f - d_f) \le U \\
        & \sum_o v_{fo} \le 1, \quad u_f \le D_f\, a_f, \quad d_f \le D_f\, b_f, \quad
            a_f + b_f \le 1 \\
        & \sum_{m \in A} m \le | A | - 1 & \text{for the moves } A \text{ of each way so far} \\
        & v_{fo}, a_f, b_f \in \{0, 1\}, \ u_f, d_f \in \mathbb N

    with L and U the ends of the wanted totals; all totals are counted in steps of the card's grid.

    Parameters
    ----------
    card : Scorecard or OrdinalCard
    row : mapping, Series, or DataFrame of one row
        Raw values by feature. A missing value stays missing.
    to : label, optional
        The wanted answer; of two classes the other one.
    costs : mapping from feature to number, or to a mapping from category to number
        What a unit (a bin, a category) of change costs, > 0; 1 for features it leaves out.
    per : {"unit", "bin"}
        Whether a move of a number into another bin costs by how far the value moves, or by how many
        bins, as the card shows them: neighbours of equal points are one. A change of category or of
        a 0/1 feature counts once.
    fixed : collection of str
        Features that cannot change.
    directions : mapping from feature to "+" or "-"
        Numbers that can only grow, or only fall: ``{"age": "+"}``.
    ranges : mapping from feature to (lower, upper), optional
        What a number can be changed to.
    units : mapping from feature to number, optional
        The least difference of a number; by default the last decimal of its value and cuts, and of
        a number that counts by the unit the step of the data. A move down into a bin ends one unit
        below the bin's end.
    k : int
        How many ways to find at most.
    time_limit : float
        Seconds.

    Returns
    -------
    Counterfactuals
        Each way checked on the card itself, its cost summed exactly; the bound is that of HiGHS.
        That no total is in reach is found by exact sums, without a solver.

    Raises
    ------
    DataError
        A feature, category or label is not known, or the row has no answer.
    FormulationError
        A cost is not above 0.
    OptionError
        Another ``per``, direction or k.
    NotApplicableError
        The card's totals lie on no grid, or the row has the wanted answer already.
    SolverError
        Time was up before a way was found, or the way fails the check.

    References
    ----------
    Ustun, Spangher & Liu, "Actionable recourse in linear classification", FAT* (2019), for the
    integer program of a linear score with immutable and one-way features.
    """
    if per not in ("unit", "bin"):
        raise OptionError(f"per={per!r} is unknown; use 'unit' or 'bin'")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise OptionError(f"k={k!r} must be a whole number >= 1")
    wishes = _Wishes(
        dict(costs or {}), per, frozenset(fixed), dict(directions or {}), dict(ranges or {}),
        dict(units or {}),
    )  # fmt: skip
    asked = _Question.of(card, row, to, wishes)
    model = _model(asked)
    found: list[Counterfactual] = []
    clock, reason = Clock.of(time_limit), asked.out_of_reach
    while not reason and len(found) < k:
        way = _solved(model, asked, clock)
        if way is None:
            reason = f"No {'further ' if found else ''}change of these inputs gives that answer."
            break
        found.append(way[0])
        model.known.add(sum(way[1]) <= len(way[1]) - 1)
    return Counterfactuals(
        asked.answer, asked.wanted, asked.total, asked.demand, tuple(found), reason
    )


@dataclass(frozen=True)
class _Wishes:
    """What may change, and what that costs."""

    costs: dict[str, Any]
    per: Per
    fixed: frozenset[str]
    directions: dict[str, str]
    ranges: dict[str, tuple[float, float]]
    units: dict[str, float]

    def check(self, card: Scorecard) -> None:
        """Refuse names the card does not know, and what is not a cost or direction."""
        named = (self.costs, self.fixed, self.directions, self.ranges, self.units)
        for name in (name for each in named for name in each):
            if name not in card.features:
                raise DataError(
                    f"the card knows no feature {name!r}: {near_matches(name, card.features)}"
                )
        for name, way in self.directions.items():
            if way not in ("+", "-"):
                raise OptionError(f"the direction of {name!r} is '+' or '-', got {way!r}")
        for name in self.costs:
            given = self.costs[name]
            for cost in given.values() if isinstance(given, Mapping) else [given]:
                _positive(cost, f"the cost of {name!r}")
        for name in self.units:
            _positive(self.units[name], f"the unit of {name!r}")

    def allow(self, feature: str, old: Any, new: Any) -> bool:
        """Whether a number may become another one."""
        way, (low, high) = (
            self.directions.get(feature),
            self.ranges.get(feature, (-math.inf, math.inf)),
        )
        fits = (way != "+" or new >= old) and (way != "-" or new <= old)
        return bool(fits and low <= new <= high)

    def cost(self, feature: str, category: str = "") -> Fraction:
        """Cost of one unit, bin or category."""
        given = self.costs.get(feature, 1)
        return as_fraction(given.get(category, 1) if isinstance(given, Mapping) else given)


def _positive(value: Any, what: str) -> None:
    """Raise FormulationError unless it is a finite number above 0."""
    plain = isinstance(value, int | float | Fraction) and not isinstance(value, bool)
    if not plain or not math.isfinite(value) or value <= 0:
        raise FormulationError(
            f"{{argument}} must be a finite number > 0, got {value!r}", argument=what
        )


@dataclass(frozen=True)
class _Linear:
    """A number that counts by the unit: at most ``steps`` steps of ``unit`` up and down."""

    feature: str
    old: Any
    unit: Fraction
    points: Fraction  # of one step up
    cost: Fraction  # of one step
    down: int
    up: int


@dataclass(frozen=True)
class _Question:
    """A row, its total, the totals that are wanted, and the moves there are."""

    card: Scorecard | OrdinalCard
    row: dict[str, Any]
    total: Fraction
    answer: Any
    wanted: Any
    lower: Fraction | None  # the wanted totals, both ends included
    upper: Fraction | None
    step: Fraction
    options: tuple[Change, ...]
    linear: tuple[_Linear, ...] = field(default=())

    @classmethod
    def of(cls, card: Scorecard | OrdinalCard, row: Any, to: Any, wishes: _Wishes) -> _Question:
        """What is asked of a card, everything named looked up."""
        points = card.card if isinstance(card, OrdinalCard) else card
        wishes.check(points)
        step = points.rule.step
        if step is None:
            raise NotApplicableError(
                "the card's totals lie on no grid, and a change may be rounding alone: "
                "fit it on binned or rounded data"
            )
        known = _as_read(points, _as_mapping(row))
        (total,) = _totals(points, [known], step)
        levels = card.levels if isinstance(card, OrdinalCard) else card.classes
        (answer,) = (plain_label(each) for each in card.predict(pd.DataFrame([known])))
        others = [level for level in levels if level != answer]
        if to is None and len(others) > 1:
            raise OptionError(
                f"{{to}} is needed: which answer is wanted, one of {listing(others)}", to=...
            )
        wanted = (
            others[0]
            if to is None
            else next((each for each in levels if str(each) == str(to)), None)
        )
        if wanted is None:
            raise DataError(f"the card has no answer {to!r}; it has {listing(levels)}")
        if wanted == answer:
            raise NotApplicableError(
                f"the card answers {answer!r} already: give another {{to}}", to=...
            )
        lower, upper = _ends(card, levels.index(wanted), step)
        options, linear = _moves(points, known, total, wishes, step)
        return cls(
            card, known, total, answer, wanted, lower, upper, step, tuple(options), tuple(linear)
        )

    @property
    def demand(self) -> str:
        """The wanted totals in words."""
        low, high = self.lower, self.upper
        if low is not None and high is not None:
            return f"total {exact_number(low)} to {exact_number(high)}"
        if low is not None:
            return f"total ≥ {exact_number(low)}"
        assert high is not None
        return f"total ≤ {exact_number(high)}"

    @property
    def out_of_reach(self) -> str:
        """Why no change of these inputs can do, by exact sums; empty where one may."""
        for end, side, word in ((self.lower, 1, "at most"), (self.upper, -1, "at least")):
            if end is None:
                continue
            best: dict[str, Fraction] = {}
            for move in self.options:
                best[move.feature] = max(best.get(move.feature, Fraction(0)), side * move.points)
            far = sum(best.values(), Fraction(0))
            for each in self.linear:
                ends = (side * each.points * each.up, -side * each.points * each.down)
                far += max(*ends, Fraction(0))
            if side * self.total + far < side * end:
                reached = exact_number(self.total + side * far)
                return (
                    f"No change of these inputs gives that answer: they bring the total to {word} "
                    f"{reached}."
                )
        return ""


def _as_mapping(row: Any) -> dict[str, Any]:
    """A row's values by name."""
    if isinstance(row, pd.DataFrame):
        if len(row) != 1:
            raise DataError(f"give one row, not {len(row)}: table.iloc[[0]], say")
        row = row.iloc[0]
    if not isinstance(row, Mapping | pd.Series):
        raise DataError("a row is a mapping from features to values, a Series, or a table of one")
    return {
        str(name): value.item() if isinstance(value, np.generic) else value
        for name, value in row.items()
    }


def _as_read(card: Scorecard, row: dict[str, Any]) -> dict[str, Any]:
    """A row with its numbers in disguise as numbers, its other spellings as the card's."""
    read = dict(row)
    for name, cells in {c.feature: c.cells for c in card.columns if c.feature in row}.items():
        value = read_cells(pd.Series([row[name]], name=name), cells).tolist()[0]
        known = isinstance(value, float) and math.isfinite(value)
        read[name] = _plain(as_fraction(value)) if known and cells else value
    return read


def _totals(card: Scorecard, rows: list[dict[str, Any]], step: Fraction) -> list[Fraction]:
    """Totals of rows, as exact multiples of the step."""
    scored = card.score(pd.DataFrame(rows))
    return [round(Fraction(total) / step) * step for total in scored.tolist()]


def _ends(
    card: Scorecard | OrdinalCard, level: int, step: Fraction
) -> tuple[Fraction | None, Fraction | None]:
    """The least and the largest total of the grid with an answer."""
    given = card.thresholds if isinstance(card, OrdinalCard) else (card.threshold,)
    cuts = [math.ceil(T / step) * step for T in given]
    lower = cuts[level - 1] if level > 0 else None
    return lower, cuts[level] - step if level < len(cuts) else None


def _moves(
    card: Scorecard, row: dict[str, Any], total: Fraction, wishes: _Wishes, step: Fraction
) -> tuple[list[Change], list[_Linear]]:
    """Every option of every feature that has points and may change."""
    options: list[Change] = []
    linear: list[_Linear] = []
    places = {column: j for j, column in enumerate(card.columns)}
    for feature in card.used_features:
        name = feature.name
        if name in wishes.fixed or bool(pd.isna(row[name])):
            continue
        columns = [card.columns[j] for j in feature.positions]
        counted = [c for c in columns if c.kind == "numeric" and places[c] not in card.flags]
        cut = [c for c in columns if c.kind in ("interval", "step")]
        if counted and len(columns) > 1 and any(c.kind != "missing" for c in columns[1:]):
            raise NotApplicableError(
                f"{name!r} counts by the unit and by bins at once: fit it in one way"
            )
        if counted:
            worth = Fraction(card.points[places[counted[0]]])
            linear.append(_by_unit(name, row[name], worth, wishes, step))
            continue
        if cut:
            candidates = _cells(name, row[name], _cuts(card, row, name, columns, step), wishes)
        else:
            candidates = _other_values(name, row[name], columns, wishes)
        changed = [{**row, name: new} for new, _ in candidates]
        added = [each - total for each in _totals(card, changed, step)] if changed else []
        options += [
            Change(name, row[name], new, cost, points)
            for (new, cost), points in zip(candidates, added, strict=True)
            if points
        ]
    return options, linear


def _other_values(
    name: str, value: Any, columns: Sequence[Column], wishes: _Wishes
) -> list[tuple[Any, Fraction]]:
    """Return the other values of a mark or a category, each with its cost."""
    if name in wishes.directions or name in wishes.ranges or name in wishes.units:
        raise OptionError(f"{name!r} is not a number: it has no direction, range or unit")
    if all(column.kind == "numeric" for column in columns):
        new = 0 if value == 1 else 1
        return [(new, wishes.cost(name, str(new)))]
    known = [text for each in columns for text in (each.category, *each.others) if text is not None]
    return [(text, wishes.cost(name, text)) for text in dict.fromkeys(known) if text != str(value)]


def _cuts(
    card: Scorecard, row: dict[str, Any], name: str, columns: list[Any], step: Fraction
) -> list[Fraction]:
    """Where the points of a number change: bins of equal points are one, as on the card."""
    ends = {end for c in columns for end in (c.lower, c.upper) if math.isfinite(end)}
    cuts = sorted(as_fraction(end) for end in ends)
    tried = [{**row, name: _plain(value)} for value in (cuts[0] - 1, *cuts)]
    totals = _totals(card, tried, step)
    return [cut for cut, low, high in zip(cuts, totals, totals[1:], strict=False) if low != high]


def _cells(
    name: str, old: Any, cuts: list[Fraction], wishes: _Wishes
) -> list[tuple[Any, Fraction]]:
    """The nearest value in each other bin, and what it costs."""
    value = as_fraction(old)
    unit = as_fraction(wishes.units.get(name, _last_decimal([value, *cuts])))
    here = sum(value >= cut for cut in cuts)
    low = wishes.ranges.get(name, (-math.inf, math.inf))
    found = []
    for cell in range(len(cuts) + 1):
        if cell == here:
            continue
        new = cuts[cell - 1] if cell > here else cuts[cell] - unit
        if cell > here and new < low[0]:
            new = as_fraction(low[0])
        if cell < here and new > low[1]:
            new = as_fraction(low[1])
        inside = sum(new >= cut for cut in cuts) == cell
        if not inside or not wishes.allow(name, value, new):
            continue
        moved = abs(new - value) if wishes.per == "unit" else Fraction(abs(cell - here))
        found.append((_plain(new), moved * wishes.cost(name)))
    return found


def _by_unit(name: str, old: Any, worth: Fraction, wishes: _Wishes, step: Fraction) -> _Linear:
    """The steps of a number that counts by the unit."""
    unit = as_fraction(wishes.units.get(name, step))
    if unit % step:
        raise FormulationError(f"the unit of {name!r} must be a multiple of {step}, the data's")
    low, high = wishes.ranges.get(name, (-math.inf, math.inf))
    if not (math.isfinite(low) and math.isfinite(high)):
        raise OptionError(
            f"{name!r} counts by the unit: say what it can be changed to, ranges={{{name!r}: "
            "(lower, upper)}"
        )
    value, way = as_fraction(old), wishes.directions.get(name)
    up = 0 if way == "-" else max(math.floor((as_fraction(high) - value) / unit), 0)
    down = 0 if way == "+" else max(math.floor((value - as_fraction(low)) / unit), 0)
    cost = wishes.cost(name) * (unit if wishes.per == "unit" else 1)
    return _Linear(name, old, unit, worth * unit, cost, down, up)


def _last_decimal(values: list[Fraction]) -> Fraction:
    """The unit of the last decimal that any of the values needs."""
    unit = Fraction(1)
    while any(value % unit for value in values) and unit > Fraction(1, 10**9):
        unit /= 10
    return unit


def _plain(value: Fraction) -> int | float:
    """A number as people write it."""
    return int(value) if value.denominator == 1 else float(value)


def _model(asked: _Question) -> Any:
    """The program: a switch for each option, and for each number up and down."""
    import pyomo.environ as pyo

    m: Any = pyo.ConcreteModel()
    m.v = pyo.Var(range(len(asked.options)), domain=pyo.Binary)
    m.F = pyo.RangeSet(0, len(asked.linear) - 1)
    steps = {(f, way): n for f, each in enumerate(asked.linear)
             for way, n in (("up", each.up), ("down", each.down))}  # fmt: skip
    m.moved = pyo.Var(list(steps), domain=pyo.Binary)
    m.steps = pyo.Var(list(steps), domain=pyo.NonNegativeIntegers)
    m.known, m.rows = pyo.ConstraintList(), pyo.ConstraintList()

    by_feature: dict[Any, list[Any]] = {}
    for o, option in enumerate(asked.options):
        by_feature.setdefault(option.feature, []).append(m.v[o])
    for f, each in enumerate(asked.linear):
        by_feature[each.feature] = [m.moved[f, "up"], m.moved[f, "down"]]
        for way in ("up", "down"):
            m.rows.add(m.steps[f, way] <= steps[f, way] * m.moved[f, way])
    for switches in by_feature.values():
        m.rows.add(sum(switches) <= 1)

    added = sum(int(o.points / asked.step) * m.v[i] for i, o in enumerate(asked.options))
    cost = sum(float(o.cost) * m.v[i] for i, o in enumerate(asked.options))
    for f, each in enumerate(asked.linear):
        worth = int(each.points / asked.step)
        added += worth * (m.steps[f, "up"] - m.steps[f, "down"])
        cost += float(each.cost) * (m.steps[f, "up"] + m.steps[f, "down"])
    if by_feature and asked.lower is not None:
        m.rows.add(added >= int((asked.lower - asked.total) / asked.step))
    if by_feature and asked.upper is not None:
        m.rows.add(added <= int((asked.upper - asked.total) / asked.step))
    m.least = pyo.Objective(expr=cost)
    return m


def _solved(m: Any, asked: _Question, clock: Clock) -> tuple[Counterfactual, list[Any]] | None:
    """The cheapest way that is left, checked, and its switches; None where there is none."""
    import pyomo.environ as pyo
    from pyomo.contrib.appsi.base import TerminationCondition
    from pyomo.contrib.appsi.solvers.highs import Highs

    from milpscore.solvers.running import release_threads, self_test

    self_test()
    release_threads()
    highs = Highs()
    highs.config.load_solution = False
    highs.config.time_limit = max(clock.left, 0.01)
    highs.highs_options = {"mip_rel_gap": 0.0, "random_seed": 0, "threads": 1}
    answer = highs.solve(m)
    release_threads()
    if answer.termination_condition in (
        TerminationCondition.infeasible, TerminationCondition.infeasibleOrUnbounded
    ):  # fmt: skip
        return None
    if answer.best_feasible_objective is None:
        raise SolverError(
            "no way was found in time: give it more with {time_limit}", time_limit=...
        )
    answer.solution_loader.load_vars()
    changes = [o for i, o in enumerate(asked.options) if round(pyo.value(m.v[i]))]
    on = [m.v[i] for i in range(len(asked.options)) if round(pyo.value(m.v[i]))]
    for f, each in enumerate(asked.linear):
        count = round(pyo.value(m.steps[f, "up"]) - pyo.value(m.steps[f, "down"]))
        if count:
            new = _plain(as_fraction(each.old) + count * each.unit)
            changes.append(
                Change(each.feature, each.old, new, abs(count) * each.cost, count * each.points)
            )
            on.append(m.moved[f, "up" if count > 0 else "down"])
    changed = {**asked.row, **{change.feature: change.new for change in changes}}
    table = pd.DataFrame([changed])
    if (said := plain_label(asked.card.predict(table)[0])) != asked.wanted:
        raise SolverError(f"HiGHS's way is answered {said!r}, not {asked.wanted!r}, by the card")
    points = asked.card.card if isinstance(asked.card, OrdinalCard) else asked.card
    (total,) = _totals(points, [changed], asked.step)
    cost = sum((change.cost for change in changes), Fraction(0))
    bound = answer.best_objective_bound
    low = -math.inf if bound is None else float(bound)
    return Counterfactual(tuple(changes), cost, low, total), on
