"""A risk score without a proof: supports by a beam, whole points by many scales and descent."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from operator import attrgetter
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import expit

from milpscore.core.card import Card
from milpscore.core.clock import Clock
from milpscore.core.design import Design, FloatArray, IntArray
from milpscore.core.errors import FormulationError, NotApplicableError, OptionError
from milpscore.core.statement import InterceptRule, Statement
from milpscore.losses import Logistic, RiskLoss
from milpscore.penalties import L0
from milpscore.search.beam import (
    NEARLY_DONE,
    Beam,
    Choices,
    Columns,
    Groups,
    Model,
    Score,
    Support,
    SupportRules,
    Whole,
    fitted_loss,
    judge,
)
from milpscore.search.moves import coordinate_descent
from milpscore.search.points import repaired_points
from milpscore.verify import evaluate

Scale: TypeAlias = float | Literal["free"]

_CANDIDATES = 12
"""Roundings of a support whose loss is computed; so many of them are improved."""
_DESCENTS = 2
_MODEL_STEPS = 8

_BETTER = 1e-9
_MOST_TERMS = 30
_JUDGED = 8
"""Points of each size that are judged by another loss."""
_MENDED = 8
"""Points found, and supports, from which allowed ones are sought where none was allowed."""
_TURNS = 5
_DESCENT_WORK = 1e6
"""Row totals a descent under constraints may compute, at each of so many scales at most."""
_WIDEST = 1000
"""Of wider ranges the search takes whole points up to this size, and the bounds themselves."""
_PARTED = 1e-9
_EXACT = 1e-12

_FREE = np.linspace(0.2, 1.6, 36)
_FIXED = np.linspace(0.6, 1.4, 9)


@dataclass(frozen=True, eq=False)
class FastRisk:
    """A heuristic risk score, its scale fitted where that was free.

    Attributes
    ----------
    card : Card
        Points and intercept, both in points.
    scale : float
        Points in one unit of the score: a risk is 1 / (1 + exp(-(w.x + b) / scale)).
    statement : Statement
        The one the card was found for, its loss at ``scale``.
    loss, objective : float
        Of the card at its scale, recomputed on the raw rows.
    recalibrated : float
        The least mean logistic loss over a real slope >= 0 and a real intercept of the card's
        totals; 0 is approached, not reached, where the totals part the classes.
    refits, rounded : int
        Supports given real weights, and those of them whose points were searched: the work done.
    """

    card: Card
    scale: float
    statement: Statement
    loss: float
    objective: float
    recalibrated: float
    refits: int
    rounded: int


def fast_risk_card(
    problem: Statement | Design,
    max_terms: int | None = None,
    coef_min: int | None = None,
    coef_max: int | None = None,
    *,
    scale: Scale | None = None,
    beam: int = 8,
    tried: int = 12,
    n_rounded: int = 8,
    n_exchanged: int = 1,
    time_limit: float = math.inf,
) -> FastRisk:
    r"""A risk score of small logistic loss in milliseconds, without a bound.

    1. Real weights on few columns: forward selection by what a Newton step along each column
       would save, the best supports of each size kept, then exchanges of one column.
    2. Whole points for each of the best supports: its real weights times many multipliers are
       rounded and improved by coordinate descent in the quadratic model of the loss, in which a
       direction v of free length costs

       .. math:: L(w^*) + \tfrac12 \left( w^{*\top} H w^* - \frac{(v^\top H w^*)^2}{v^\top H v}
           \right), \qquad H = \nabla^2 L(w^*);

       with a fixed scale, :math:`L(w^*) + \tfrac12 (v / \sigma - w^*)^\top H (v / \sigma - w^*)`.
    3. The best of them are improved on the loss itself, one point or two at a time; slope and
       intercept, or the intercept alone, follow.

    Nothing is drawn at random; the work is bounded by ``beam``, ``tried``, ``n_rounded`` and
    ``n_exchanged``, so that every machine finds the same card.

    Parameters
    ----------
    problem : Statement or Design
        A statement of ``risk_score`` with logistic loss, or a design and the next three.
    max_terms : int, optional
    coef_min, coef_max : int, optional
        Default -5 and 5. For a Design only: a statement brings its own.
    scale : float or "free", optional
        Points in one unit of the score; "free" fits it. Default: the statement's; "free" for a
        Design.
    beam : int
        Supports kept of each size.
    tried : int
        Columns tried at each of them.
    n_rounded : int
        Supports of each size whose points are searched.
    n_exchanged : int
        Supports of each size whose columns are exchanged; that of the best card comes on top.
    time_limit : float
        Seconds after which the best card so far is the answer.

    Returns
    -------
    FastRisk
        Never worse than the empty card, where that is allowed, at the same scale.

    Raises
    ------
    NotApplicableError
        For another loss than the logistic one.
    FormulationError
        Where no card within the ranges, sets and limits was found.
    OptionError
        For arguments a statement does not take, or numbers out of range.

    References
    ----------
    Liu, Zhong, Li, Seltzer & Rudin, "FasterRisk", NeurIPS 2022: the beam and the multipliers.
    Ustun & Rudin (2019), section 4: rounding that looks at the loss, and polishing.
    """
    clock = Clock.of(time_limit)
    counts = {"beam": beam, "tried": tried, "n_rounded": n_rounded, "n_exchanged": n_exchanged + 1}
    for name, value in counts.items():
        _whole(name, value, 1, OptionError)
    if isinstance(problem, Design):
        statement = _plain_statement(problem, max_terms, coef_min, coef_max)
        scale = "free" if scale is None else scale
    else:
        statement = _own_statement(problem, max_terms, coef_min, coef_max)
        own: Any = "free" if statement.scales else statement.loss.scale  # type: ignore[attr-defined]
        scale = own if scale is None else scale
    if scale != "free":
        if isinstance(scale, str) or not (math.isfinite(scale) and scale > 0):
            raise OptionError(f"scale must be a finite number > 0 or 'free', got {scale!r}")
        statement = _rescaled(statement, float(scale))
    free = 0.0 if scale == "free" else float(scale)
    search = _Search(statement, free, beam, tried, n_rounded, clock)
    search.run(n_exchanged)
    return search.best()


def fast_points(statement: Statement, time_limit: float = math.inf) -> IntArray:
    """Points (V, p) of the fast risk scores of the same ranges, sets, terms and constraints.

    Whatever the statement's own loss is: the best of each size, and no points at all. With more
    terms allowed there are only more of them.
    """
    design = statement.design
    plain = replace(
        _plain_statement(design, None, None, None), coef_min=statement.coef_min,
        coef_max=statement.coef_max, coef_sets=statement.coef_sets, max_terms=statement.max_terms,
        constraints=statement.constraints,
    )  # fmt: skip
    search = _Search(plain, 0.0, 8, 12, 8, Clock.of(time_limit))
    search.run(1)
    by_size: dict[int, list[tuple[int, ...]]] = {}
    for w in sorted(search.found, key=lambda w: (search.found[w], w)):
        by_size.setdefault(int(np.count_nonzero(w)), []).append(w)
    points = [w for size in by_size.values() for w in size[:_JUDGED]]
    return np.array([*points, (0,) * design.shape[1]], dtype=np.int64)


def _own_statement(statement: Statement, *own: int | None) -> Statement:
    """The given statement, refused where it is not one of a logistic risk score."""
    if any(part is not None for part in own):
        raise OptionError(
            "a statement brings its own max_terms, coef_min and coef_max: give them to its builder"
        )
    loss = statement.loss
    if not (isinstance(loss, RiskLoss) and isinstance(loss.base, Logistic)):
        raise NotApplicableError(
            f"the fast search is for the logistic loss of risk_score, not the {loss.name} loss of "
            f"{statement.formulation}: take milpscore.search.start_card"
        )
    return statement


def _plain_statement(
    design: Design, max_terms: int | None, coef_min: int | None, coef_max: int | None
) -> Statement:
    """A design's logistic risk score with a real intercept and no penalty."""
    p, reach = design.shape[1], Fraction(10**12)
    lower = _whole("coef_min", -5 if coef_min is None else coef_min, -math.inf)
    upper = _whole("coef_max", 5 if coef_max is None else coef_max, lower)
    terms = p if max_terms is None else _whole("max_terms", max_terms, 0)
    return Statement(
        formulation="risk_score",
        design=design,
        loss=RiskLoss(Logistic(), 1.0),  # type: ignore[arg-type]
        penalties=(L0(0.0),),
        coef_min=np.full(p, lower),
        coef_max=np.full(p, upper),
        intercept=InterceptRule("real", -reach, reach, None),
        max_terms=terms if terms < p else None,
    )


def _whole(name: str, value: Any, least: float, error: type[Exception] = FormulationError) -> int:
    """A whole number from ``least`` on, or an error."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        raise error(f"{name} must be a whole number >= {least}, got {value!r}")
    return int(value)


def _rescaled(statement: Statement, scale: float) -> Statement:
    """The statement with its loss at another scale."""
    arguments = {**statement.arguments, "scale": scale}
    loss = replace(statement.loss, scale=scale)  # type: ignore[type-var]
    return replace(statement, loss=loss, arguments=arguments)


@dataclass(frozen=True, eq=False)
class AllowedPoints:
    """The points each column may have, in rising order, and the ``scale`` (0: free) they are of.

    The price of a point is its penalty alone; what no penalty of one column at a time says is left
    to the final choice among the cards found.
    """

    choices: Choices
    scale: float

    @classmethod
    def of(cls, statement: Statement, scale: float) -> AllowedPoints:
        """The points a statement allows."""
        ends = zip(*(bound.tolist() for bound in statement.ranges), strict=True)
        lists = [
            _points(low, high, statement.coef_sets.get(j)) for j, (low, high) in enumerate(ends)
        ]
        counts = np.array([len(points) for points in lists], dtype=np.int64)
        values = np.full((len(lists), int(counts.max(initial=1))), np.inf)
        for j, points in enumerate(lists):
            values[j, : len(points)] = points
        inside = np.arange(values.shape[1]) < counts[:, None]
        return cls(Choices(values, _prices(statement, values, inside), counts), scale)

    @cached_property
    def _nonzero(self) -> npt.NDArray[np.bool_]:
        """Which of the entries are meant and not 0, shape (p, V)."""
        values, _, counts = self.choices
        used: npt.NDArray[np.bool_] = (np.arange(values.shape[1]) < counts[:, None]) & (values != 0)
        return used

    @cached_property
    def nothing(self) -> IntArray:
        """Positions of the points closest to 0, shape (p,)."""
        values = self.choices.values
        found: IntArray = _nearest_indices(values, np.zeros((1, len(values))))[0]
        return found

    @property
    def usable(self) -> npt.NDArray[np.bool_]:
        """Columns that may have points other than 0, shape (p,)."""
        usable: npt.NDArray[np.bool_] = np.asarray(self._nonzero.any(axis=1))
        return usable

    @property
    def forced(self) -> Support:
        """Columns that may not have 0 points."""
        return tuple(np.flatnonzero(self._nonzero.sum(axis=1) == self.choices.counts).tolist())

    @property
    def least_price(self) -> FloatArray:
        """The cheapest points other than 0 of each column, shape (p,)."""
        least: FloatArray = np.where(self._nonzero, self.choices.prices, np.inf).min(axis=1)
        return least

    def price(self, w: IntArray) -> float:
        """The prices of points w, shape (p,), added up."""
        values, prices, counts = self.choices
        used = np.flatnonzero(w).tolist()
        return float(sum(prices[j, np.searchsorted(values[j, : counts[j]], w[j])] for j in used))

    def take(self, order: list[int]) -> Choices:
        """The choices of some columns."""
        return type(self.choices)(*(each[order] for each in self.choices))

    @property
    def real_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Bounds on real weights: points / scale, or their signs where the scale is free."""
        low, high = self._ends
        if self.scale > 0:
            return low / self.scale, high / self.scale
        return np.where(low < 0, -np.inf, 0.0), np.where(high > 0, np.inf, 0.0)

    @property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        values, counts = self.choices.values, self.choices.counts
        return values[:, 0], values[np.arange(len(counts)), counts - 1]

    def multipliers(self, order: list[int], w: FloatArray) -> FloatArray:
        """Points in one unit of the weights: around the scale, or up to beyond the ranges."""
        if self.scale > 0:
            return self.scale * _FIXED
        low, high = self._ends
        reach = np.where(w > 0, high[order], -low[order])
        fits = np.divide(reach, np.abs(w), out=np.full(len(w), np.inf), where=np.abs(w) > 1e-12)
        most = float(fits.min(initial=np.inf))
        return (most if np.isfinite(most) and most > 0 else 1.0) * _FREE


def _points(low: int, high: int, chosen: tuple[int, ...] | None) -> list[int]:
    """Whole numbers of a range, or the chosen ones."""
    if chosen is not None:
        return [v for v in chosen if low <= v <= high]
    if high - low <= 2 * _WIDEST:
        return list(range(low, high + 1))
    return sorted({low, high, *range(max(low, -_WIDEST), min(high, _WIDEST) + 1)})


def _prices(statement: Statement, values: FloatArray, inside: npt.NDArray[np.bool_]) -> FloatArray:
    """What each point alone costs, shape (p, V)."""
    prices, w = np.zeros_like(values), np.zeros(len(values))
    used = inside & (values != 0)
    for term in statement.penalties:
        if isinstance(term, L0):
            prices += np.where(used, term.lam, 0.0)
            continue
        nothing = term.value(w)
        for j, i in np.argwhere(used).tolist():
            w[j] = values[j, i]
            prices[j, i] += term.value(w) - nothing
            w[j] = 0.0
    return prices


@dataclass(frozen=True, eq=False)
class _Finish:
    """From whole points to a card: the scale and intercept they are best with."""

    statement: Statement
    columns: Columns
    score: Score

    def objective(self, w: IntArray) -> float:
        """The objective of points with their best scale and intercept."""
        groups, totals, offset = self._totals(w)
        if not self.score.scale:
            return self._line(groups, totals)[0] + self.statement.penalty(w)
        b = float(self._intercept(groups, totals, offset))
        loss = self._loss(groups, (totals + offset + b) / self.score.scale)
        return loss + self.statement.penalty(w)

    def answer(self, w: IntArray, refits: int, rounded: int) -> FastRisk:
        """The card of these points; where limits on errors bind, with the intercept they leave."""
        scale = self.score.scale
        w = w if scale else self._reduced(w)
        groups, totals, offset = self._totals(w)
        least, slope, shift = self._line(groups, totals)
        if scale:
            b = self._intercept(groups, totals, offset)
        elif slope > 0:
            scale, b = self._fitted(groups, totals + offset, shift / slope - offset)
        else:
            scale, b = 1.0, self.statement.intercept.nearest(shift - offset)
        statement, card = _rescaled(self.statement, scale), Card(w, b)
        if self.statement.scales is not None:
            statement, card = self.statement, Card(w, b, Fraction(scale))
        loss = self._loss(groups, (totals + (offset + float(b))) / scale)
        objective = loss + statement.penalty(w)
        if statement.violations(card):
            card = statement.with_best_intercept(w)
            figures = evaluate(statement, card)
            loss, objective = figures.loss, figures.objective
        return FastRisk(card, scale, statement, loss, objective, min(least, loss), refits, rounded)

    def _totals(self, w: IntArray) -> tuple[Groups, FloatArray, float]:
        """The groups of the columns used, their centred totals, and what centring took off."""
        order = np.flatnonzero(w).tolist()
        groups = self.columns.groups(order)
        totals = groups.patterns @ w[order].astype(np.float64)
        return groups, totals, float(w[order] @ self.columns.means[order])

    def _loss(self, groups: Groups, scores: FloatArray) -> float:
        """Mean logistic loss of the groups' scores."""
        up, down = groups.sides
        return float(up @ np.logaddexp(0.0, -scores) + down @ np.logaddexp(0.0, scores))

    def _line(self, groups: Groups, totals: FloatArray) -> tuple[float, float, float]:
        """Least loss over slope and intercept of centred totals, the slope, and the shift."""
        slope = 1.0 / (float(np.ptp(totals)) or 1.0)
        exact = self.score._replace(scale=0.0, parted=_PARTED, enough=_EXACT)
        return fitted_loss(totals, 0.0, groups.sides, slope, self.columns.log_odds, math.inf, exact)

    def _intercept(self, groups: Groups, totals: FloatArray, offset: float) -> Fraction:
        """The best intercept allowed at the fixed scale."""
        scale = self.score.scale
        _, _, shift = fitted_loss(
            totals, offset, groups.sides, 1.0 / scale, self.columns.log_odds, math.inf, self.score
        )
        return self.statement.intercept.nearest(shift * scale - offset)

    def _fitted(self, groups: Groups, totals: FloatArray, b: float) -> tuple[float, Fraction]:
        """Scale and intercept of a free card: of the allowed ones next to b the best."""
        rule = self.statement.intercept
        step = rule.step or Fraction(0)
        fits = []
        for value in sorted({rule.nearest(Fraction(b) + k * step) for k in (-1, 0, 1)}):
            loss, slope = _best_slope(totals + float(value), groups)
            if slope > 0:
                fits.append((loss, value, slope))
        if not fits:  # no allowed intercept leaves the points any use
            return 1.0, rule.nearest(Fraction(b))
        _, value, slope = min(fits)
        return 1.0 / slope, value

    def _reduced(self, w: IntArray) -> IntArray:
        """Points divided by their greatest common divisor, where that is allowed."""
        divisor = int(np.gcd.reduce(w))
        if divisor <= 1:
            return w
        smaller = w // divisor
        fine = bool(self.statement.allows(smaller[None, :])[0])
        cheaper = self.statement.penalty(smaller) <= self.statement.penalty(w)
        return smaller if fine and cheaper else w


def _best_slope(scores: FloatArray, groups: Groups) -> tuple[float, float]:
    """The least loss of slope * scores, slope >= 0: (loss, slope)."""
    up, down = groups.sides

    def rise(a: float) -> float:
        return float(scores @ ((up + down) * expit(a * scores) - up))

    low, high = 0.0, 1.0 / (float(np.abs(scores).max(initial=0.0)) or 1.0)
    if rise(low) >= 0:
        return float(np.log(2.0) * (up + down).sum()), 0.0
    while rise(high) < -_PARTED:  # below it every row is on its side: a rising slope costs nothing
        low, high = high, 2.0 * high
    a = float(brentq(rise, low, high)) if rise(high) > 0 else high
    return float(up @ np.logaddexp(0.0, -a * scores) + down @ np.logaddexp(0.0, a * scores)), a


class _Search:
    """What was found so far: points with their objectives on the merged rows."""

    def __init__(
        self,
        statement: Statement,
        scale: float,
        beam: int,
        tried: int,
        n_rounded: int,
        clock: Clock,
    ) -> None:
        self.statement, self.n_rounded, self.clock = statement, n_rounded, clock
        self.columns = Columns.of(statement.design.merged)
        self.allowed = AllowedPoints.of(statement, scale)
        lower, upper = self.allowed.real_bounds
        limit = len(lower) if statement.max_terms is None else statement.max_terms
        self.rules = SupportRules(statement)
        forced = tuple(sorted({*self.allowed.forced, *self.rules.demanded()}))
        if len(forced) > limit:
            raise FormulationError(
                f"{len(forced)} columns cannot have 0 points, but at most {limit} terms are "
                "allowed: raise max_terms or let their ranges include 0"
            )
        self.beam = Beam(
            columns=self.columns,
            lower=lower,
            upper=upper,
            usable=self.allowed.usable,
            forced=forced,
            prices=self.allowed.least_price,
            limit=max(len(forced), min(limit, _MOST_TERMS)),
            width=beam,
            tried=tried,
            rules=self.rules,
            clock=clock.part(0.5),
        )
        rule = statement.intercept
        # at log 2 times the least weight every row lies on its side
        parted = math.log(2.0) * float(self.columns.coded.weights.sum(axis=0).min())
        self.score = Score(
            scale, float(rule.lower), float(rule.upper), float(rule.step or 0),
            0.0 if scale else parted, NEARLY_DONE,
        )  # fmt: skip
        self.finish = _Finish(statement, self.columns, self.score)
        self.found: dict[tuple[int, ...], float] = {}
        self.barred: set[tuple[int, ...]] = set()
        self.done: set[Support] = set()
        self.least, self.size = math.inf, len(forced)

    def run(self, n_exchanged: int) -> None:
        """Size by size: grow supports, exchange a column of the best ones, search their points.

        Nothing depends on the sizes to come, so that a limit raised never costs a card.
        """
        exchanged: set[Support] = set()
        for loss in self.beam.levels():
            if loss < self.score.parted:  # real weights part the classes: do whole points?
                self._round(self.n_rounded)
                if self.least < self.score.parted:
                    return
            for known in self.beam.best(self.size)[:n_exchanged]:
                self.beam.exchange(known.key)
                exchanged.add(known.key)
            self._round(self.n_rounded)
            self._around_best(exchanged)
            self.size += 1
        if self.least == math.inf and self.statement.constraints:
            self._mend()

    def _around_best(self, exchanged: set[Support]) -> None:
        """Exchange a column of the best card, where its support was not the best one."""
        if not self.found or self.least <= 0.0:
            return
        best = min(self.found, key=lambda w: (w in self.barred, self.found[w], w))
        key = tuple(np.flatnonzero(best).tolist())
        if key in self.beam.known and key not in exchanged:
            exchanged.add(key)
            self.beam.exchange(key)
            self._round(max(1, self.n_rounded // 4))

    def _ranked(self) -> list[Support]:
        """Supports by their real weights' loss and the least their points can cost."""
        ranked = sorted(self.beam.known.values(), key=attrgetter("floor", "key"))
        return [known.key for known in ranked]

    def _round(self, most: int) -> None:
        """Search the points of the most promising supports not searched yet."""
        for key in self._ranked():
            if most == 0 or self.least <= 0.0:
                return
            if key in self.done or not key:
                continue
            if self.clock.is_up and self.done:
                return
            if self.beam.known[key].floor >= self.least:
                return  # no points of this support, nor of any after it, can be better
            if not self.rules.holds(key):
                continue
            self._points(self.beam.remembered(key))
            self.done.add(key)
            most -= 1

    def _points(self, model: Model) -> None:
        """Whole points for one support: many scales, a quadratic model, then the loss."""
        order, w, scale = list(model.order), model.w[:-1], self.score.scale
        choices = self.allowed.take(order)
        bend = _curvature(model)
        scaled = w * self.allowed.multipliers(order, w)[:, None]
        rounded = _distinct(_nearest_indices(choices.values, scaled))
        pull = bend @ w

        def modelled(indices: IntArray) -> FloatArray:
            v, price = _taken(choices, indices)
            square, along = ((v @ bend) * v).sum(axis=1), v @ pull
            if scale > 0.0:
                return np.asarray(0.5 * square / scale**2 - along / scale + price)
            along = np.maximum(along, 0.0)
            return np.asarray(price - 0.5 * along * along / np.maximum(square, 1e-300))

        # each rounding as it is, and improved in the model; the best ones are judged by the loss
        improved = _improved(choices, rounded, modelled)
        indices = _distinct(np.concatenate([rounded, improved]))
        found = indices[np.argsort(modelled(indices), kind="stable")[:_CANDIDATES]]
        whole = Whole(
            model.groups.patterns, model.groups.sides, self.columns.means[order], choices,
            self.score,
        )  # fmt: skip
        v, _ = _taken(choices, found)
        square = ((v @ bend) * v).sum(axis=1)
        along = np.maximum(v @ pull, 0.0)
        states = np.full((len(found), 3), math.inf)
        states[:, 1] = np.divide(along, square, out=np.zeros(len(v)), where=square > 0.0)
        states[:, 2] = model.w[-1]
        judge(whole, found, states, model.loss)
        incumbent = self.least
        for k in np.argsort(states[:, 0], kind="stable")[:_DESCENTS]:
            if 0.5 * (states[k, 0] + model.loss) <= incumbent and not self.clock.is_up:
                _descend(whole, found[k], self.allowed.nothing[order], states[k])
            points = self._nothing
            points[order] = _taken(choices, found[k : k + 1])[0][0].astype(np.int64)
            self._keep(points, float(states[k, 0]))

    def _keep(self, w: IntArray, objective: float) -> None:
        """Remember points; those the constraints do not allow are no card to beat."""
        key = tuple(w.tolist())
        self.found[key] = objective
        if self.statement.constraints and not self.statement.allows(w[None, :])[0]:
            self.barred.add(key)
        else:
            self.least = min(self.least, objective)

    def _mend(self) -> None:
        """Search the supports of the nearest allowed points to what was found, and of the least."""
        ranked = sorted(self.found, key=lambda w: (self.found[w], w))[:_MENDED]
        starts = [np.array(w, dtype=np.int64) for w in ranked]
        starts += [self._signs(key) for key in self._ranked()[:_MENDED]]
        starts.append(self._nothing)
        mended: dict[tuple[int, ...], IntArray] = {}
        for start in starts:
            w = repaired_points(self.statement, start)
            if w is not None and self.statement.allows(w[None, :])[0]:
                mended.setdefault(tuple(w.tolist()), w)
        for w in mended.values():
            key = tuple(np.flatnonzero(w).tolist())
            self._keep(w, self.finish.objective(w))
            if key and key not in self.done:
                self.beam.known.setdefault(key, self.beam.model(key))
                self._points(self.beam.remembered(key))
                self.done.add(key)

    @property
    def _nothing(self) -> IntArray:
        """No points, shape (p,)."""
        return np.zeros(len(self.allowed.choices.counts), dtype=np.int64)

    def _signs(self, key: Support) -> IntArray:
        """Points 1 and -1 by the signs of a support's real weights."""
        w, known = self._nothing, self.beam.known[key]
        w[list(known.order)] = np.where(known.w[:-1] < 0, -1, 1)
        return w

    def best(self) -> FastRisk:
        """The best card found that meets every requirement, or the empty one if that is better."""
        for w in self._candidates():
            answer = self._answer(w)
            if answer.statement.violations(answer.card):
                continue
            # a whole intercept can cost a card more than its points save
            nothing = self._answer(self._nothing)
            better = nothing.objective <= answer.objective
            return nothing if better and not self.statement.violations(nothing.card) else answer
        raise FormulationError(
            "no card within the ranges, sets and limits was found: loosen one of them, or solve "
            "the exact program, which proves whether there is one"
        )

    def _answer(self, w: IntArray) -> FastRisk:
        """The card of these points."""
        return self.finish.answer(w, self.beam.refits, len(self.done))

    def _descended(self, w: IntArray) -> FastRisk:
        """The card of these points, changed at its own scale while that helps."""
        found = self._answer(w)
        for _ in range(_TURNS):
            card = coordinate_descent(found.statement, found.card, max_work=_DESCENT_WORK)
            after = self._answer(card.coefficients)
            if after.objective >= found.objective - _BETTER:
                break
            found = after
        return found

    def _candidates(self) -> Iterator[IntArray]:
        """Points by their objective, no points among them."""
        # what the prices of single columns leave out of the penalties
        total = {
            w: objective + self.statement.penalty(np.array(w)) - self.allowed.price(np.array(w))
            for w, objective in self.found.items()
        }
        ranked = sorted(total, key=lambda w: (total[w], w))
        least = self.beam.known[()].loss if () in self.beam.known else math.inf
        if self.statement.constraints:  # the beam looks at supports, not at points, for them
            points = np.array([*ranked, (0,) * len(self._nothing)], dtype=np.int64)
            near = [self._descended(w) for w in points[self.statement.allows(points)][:_MENDED]]
            if near:
                yield min(near, key=attrgetter("objective")).card.coefficients
        shown = False
        for w in ranked:
            if not shown and total[w] >= least:
                yield self._nothing
                shown = True
            yield np.array(w, dtype=np.int64)
        if not shown:
            yield self._nothing


def _nearest_indices(values: FloatArray, targets: FloatArray) -> IntArray:
    """Positions of the values (t, V) closest to targets (M, t); the first of equal ones."""
    found: IntArray = np.abs(values - targets[:, :, None]).argmin(axis=2)
    return found


def _curvature(model: Model) -> FloatArray:
    """Second derivatives of the loss in the weights, the intercept following; shape (t, t)."""
    patterns, both = model.groups.patterns, model.groups.sides.sum(axis=0)
    e = np.exp(-np.abs(patterns @ model.w[:-1] + model.w[-1]))
    weighted = patterns * (both * e / ((1.0 + e) * (1.0 + e)))[:, None]
    mean = weighted.sum(axis=0)
    mass = (both * e / ((1.0 + e) * (1.0 + e))).sum() + 1e-300
    return np.ascontiguousarray(patterns.T @ weighted - np.outer(mean, mean) / mass)


def _distinct(indices: IntArray) -> IntArray:
    """The distinct rows, in the order they first occur."""
    return np.array(list(dict.fromkeys(map(tuple, indices.tolist()))), dtype=np.int64)


def _taken(choices: Choices, indices: IntArray) -> tuple[FloatArray, FloatArray]:
    """The points at ``indices`` (K, t), of their shape, and what each row of them costs, (K,)."""
    columns = np.arange(indices.shape[1])
    return choices.values[columns, indices], choices.prices[columns, indices].sum(axis=1)


def _improved(
    choices: Choices, indices: IntArray, value: Callable[[IntArray], FloatArray]
) -> IntArray:
    """Each row (M, t) moved by its best single step while that lowers its value."""
    t = indices.shape[1]
    at, best = indices.copy(), value(indices)
    steps = np.vstack([np.eye(t, dtype=np.int64), -np.eye(t, dtype=np.int64)])
    rows = np.arange(len(at))
    for _ in range(_MODEL_STEPS):
        near = np.clip(at[rows, None, :] + steps, 0, choices.counts - 1)
        values = value(near.reshape(-1, t)).reshape(len(rows), -1)
        k = values.argmin(axis=1)
        after = values[np.arange(len(rows)), k]
        better = after < best[rows] - _BETTER
        if not better.any():
            break
        rows, k, near, after = rows[better], k[better], near[better], after[better]
        at[rows], best[rows] = near[np.arange(len(rows)), k], after
    return at


def _descend(whole: Whole, index: IntArray, nothing: IntArray, state: FloatArray) -> None:
    """The best change of one column, or else of two, while the objective falls; all in place.

    ``state`` (3,) holds objective, slope and shift of the points at ``index`` (t,); ``nothing``
    (t,) are the indices of the points closest to 0.
    """
    eye = np.eye(len(index), dtype=np.int64)
    first, second = np.triu_indices(len(index), 1)
    pairs = np.concatenate([s * eye[first] + r * eye[second] for s in (1, -1) for r in (1, -1)])
    improved = True
    while improved:
        improved = False
        singles = np.concatenate([eye, -eye, (nothing - index) * eye])
        for moves in (singles, pairs):
            near = index + moves
            inside = ((near >= 0) & (near < whole.choices.counts)).all(axis=1)
            near = near[inside & (near != index).any(axis=1)]
            states = np.repeat(state[None, :], len(near), axis=0)
            judge(whole, near, states, 0.0)
            k = int(states[:, 0].argmin()) if len(near) else 0
            if len(near) and states[k, 0] < state[0] - _BETTER:
                index[:], state[:], improved = near[k], states[k], True
                break
