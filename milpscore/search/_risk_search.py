"""A risk score without a proof: supports by a beam, whole points by many scales and descent."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from operator import attrgetter
from typing import Any, Literal, TypeAlias

import numpy as np

from milpscore.core.design import Design, IntArray
from milpscore.core.errors import FormulationError, NotApplicableError, OptionError
from milpscore.core.statement import InterceptRule, Statement
from milpscore.losses import Logistic, RiskLoss
from milpscore.penalties import L0
from milpscore.search._risk_allowed import AllowedPoints
from milpscore.search._risk_beam import Beam, Model
from milpscore.search._risk_columns import Columns
from milpscore.search._risk_final import FastRisk, Finish, rescaled
from milpscore.search._risk_repair import allowed_descent, mended_points
from milpscore.search._risk_supports import Support, SupportRules

Scale: TypeAlias = float | Literal["free"]

_CANDIDATES = 12
_DESCENTS = 2
_SLACK = 1e-10
_MOST_TERMS = 30
_MENDED = 8
"""Points found, and supports, from which allowed ones are sought where none was allowed."""


def fast_risk_card(
    problem: Statement | Design,
    max_terms: int | None = None,
    coef_min: int | None = None,
    coef_max: int | None = None,
    *,
    scale: Scale | None = None,
    beam: int = 8,
    tried: int = 12,
    n_rounded: int = 24,
    n_exchanged: int = 1,
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
        Most supports whose points are searched.
    n_exchanged : int
        Supports whose columns are exchanged, of the best; those of the best card come on top.

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
    check_counts(beam=beam, tried=tried, n_rounded=n_rounded, n_exchanged=n_exchanged + 1)
    statement = _statement(problem, max_terms, coef_min, coef_max)
    fixed = _scale(statement, scale, free=isinstance(problem, Design))
    if fixed:
        statement = rescaled(statement, fixed)
    search = _Search(statement, fixed, beam, tried, n_rounded)
    search.run(n_exchanged)
    return search.best()


def check_counts(**counts: int) -> None:
    """Raise OptionError for any count that is no whole number >= 1."""
    for name, value in counts.items():
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
            raise OptionError(f"{name} must be a whole number >= 1, got {value!r}")


def _statement(
    problem: Statement | Design,
    max_terms: int | None,
    coef_min: int | None,
    coef_max: int | None,
) -> Statement:
    """The given statement, or the plain one of a design."""
    if isinstance(problem, Statement):
        if any(part is not None for part in (max_terms, coef_min, coef_max)):
            raise OptionError(
                "a statement brings its own max_terms, coef_min and coef_max: give them to its "
                "builder"
            )
        loss = problem.loss
        if not (isinstance(loss, RiskLoss) and isinstance(loss.base, Logistic)):
            raise NotApplicableError(
                f"the fast search is for the logistic loss of risk_score, not the {loss.name} "
                f"loss of {problem.formulation}: take milpscore.search.start_card"
            )
        return problem
    p, reach = problem.shape[1], Fraction(10**12)
    lower = _whole("coef_min", -5 if coef_min is None else coef_min, -math.inf)
    upper = _whole("coef_max", 5 if coef_max is None else coef_max, lower)
    terms = p if max_terms is None else _whole("max_terms", max_terms, 0)
    return Statement(
        formulation="risk_score",
        design=problem,
        loss=RiskLoss(Logistic()),  # type: ignore[arg-type]
        penalties=(L0(0.0),),
        coef_min=np.full(p, lower),
        coef_max=np.full(p, upper),
        intercept=InterceptRule("real", -reach, reach, None),
        max_terms=terms if terms < p else None,
    )


def _whole(name: str, value: Any, least: float) -> int:
    """A whole number from ``least`` on, or FormulationError."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        raise FormulationError(f"{name} must be a whole number >= {least}, got {value!r}")
    return int(value)


def _scale(statement: Statement, scale: Scale | None, *, free: bool) -> float:
    """The fixed scale, or 0 for a free one."""
    if scale is None:
        return 0.0 if free else float(statement.loss.scale)  # type: ignore[attr-defined]
    if scale == "free":
        return 0.0
    if isinstance(scale, str) or not (math.isfinite(scale) and scale > 0):
        raise OptionError(f"scale must be a finite number > 0 or 'free', got {scale!r}")
    return float(scale)


class _Search:
    """What was found so far: points with their objectives on the merged rows."""

    def __init__(
        self, statement: Statement, scale: float, beam: int, tried: int, n_rounded: int
    ) -> None:
        self.statement, self.scale = statement, scale
        self.n_rounded = n_rounded
        self.columns = Columns.of(statement.design.merged)
        self.allowed = AllowedPoints.of(statement)
        lower, upper = self.allowed.real_bounds(scale)
        limit = len(lower) if statement.max_terms is None else statement.max_terms
        self.rules = SupportRules(statement, min(limit, _MOST_TERMS))
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
        )
        rule = statement.intercept
        self.rule = np.array([float(rule.lower), float(rule.upper), float(rule.step or 0)])
        self.finish = Finish(statement, self.columns, scale, self.rule)
        # below it no row lies on the wrong side, and a free slope leaves no loss
        weights = self.columns.weights.sum(axis=0)
        self.parted = 0.0 if scale else math.log(2.0) * float(weights.min())
        self.found: dict[tuple[int, ...], float] = {}
        self.barred: set[tuple[int, ...]] = set()
        self.done: set[Support] = set()
        self.least = math.inf

    def run(self, n_exchanged: int) -> None:
        """Beam, exchanges and points; then exchanges around the best card while they help."""
        for loss in self.beam.levels():
            if loss < self.parted:  # the totals of real weights part the classes: do whole points?
                self._round(self.n_rounded)
                if self.least < self.parted:
                    return
        exchanged: set[Support] = set()
        for key in self._ranked()[:n_exchanged]:
            self.beam.exchange(key)
            exchanged.add(key)
        self._round(self.n_rounded)
        if self.least == math.inf and self.statement.constraints:
            self._mend()
        for _ in range(3 if self.found else 0):
            best = min(self.found, key=lambda w: (w in self.barred, self.found[w], w))
            key = tuple(np.flatnonzero(best).tolist())
            if key in exchanged or key not in self.beam.known or self.least <= 0.0:
                return
            before = self.least
            self.beam.exchange(key)
            exchanged.add(key)
            self._round(max(1, self.n_rounded // 4))
            if self.least >= before - _SLACK:
                return

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
            if self.beam.known[key].floor >= self.least:
                return  # no points of this support, nor of any after it, can be better
            if not self.rules.holds(key):
                continue
            self._points(self.beam.remembered(key))
            self.done.add(key)
            most -= 1

    def _points(self, model: Model) -> None:
        """Whole points for one support."""
        from milpscore.search._risk_points import round_support

        order = list(model.order)
        multipliers = self.allowed.multipliers(order, model.weights, self.scale)
        points, objectives = round_support(
            model.groups.patterns, self.columns.means[order], *model.groups.sides, model.weights,
            model.intercept, self.allowed.values[order], self.allowed.counts[order],
            self.allowed.prices[order], multipliers, self.parted, self.scale, self.rule,
            _CANDIDATES, _DESCENTS, model.loss, self.least,
        )  # fmt: skip
        for index, objective in zip(points, objectives, strict=True):
            if objective < math.inf:
                w = np.zeros(len(self.allowed.counts), dtype=np.int64)
                w[order] = self.allowed.values[order, index].astype(np.int64)
                self._keep(w, float(objective))

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
        starts.append(np.zeros(len(self.allowed.counts), dtype=np.int64))
        for w in mended_points(self.statement, starts):
            key = tuple(np.flatnonzero(w).tolist())
            self._keep(w, self.finish.objective(w))
            if key and key not in self.done:
                self.beam.known.setdefault(key, self.beam.model(key))
                self._points(self.beam.remembered(key))
                self.done.add(key)

    def _signs(self, key: Support) -> IntArray:
        """Points 1 and -1 by the signs of a support's real weights."""
        w = np.zeros(len(self.allowed.counts), dtype=np.int64)
        known = self.beam.known[key]
        w[list(known.order)] = np.where(known.weights < 0, -1, 1)
        return w

    def best(self) -> FastRisk:
        """The best card found that meets every requirement, or the empty one if that is better."""
        for w in self._candidates():
            answer = self._answer(w)
            if answer.statement.violations(answer.card):
                continue
            # a whole intercept can cost a card more than its points save
            nothing = self._answer(np.zeros_like(w))
            better = nothing.objective <= answer.objective
            return nothing if better and not self.statement.violations(nothing.card) else answer
        raise FormulationError(
            "no card within the ranges, sets and limits was found: loosen one of them, or solve "
            "the exact program, which proves whether there is one"
        )

    def _answer(self, w: IntArray) -> FastRisk:
        """The card of these points; where limits on errors bind, with the intercept they leave."""
        answer = self.finish.answer(w, self.beam.refits, len(self.done))
        if answer.statement.violations(answer.card):
            return self.finish.bound(answer)
        return answer

    def _candidates(self) -> Iterator[IntArray]:
        """Points by their objective, no points among them."""
        statement = self.statement
        extra = {
            w: statement.penalty(np.array(w)) - self.allowed.price(np.array(w)) for w in self.found
        }
        ranked = sorted(self.found, key=lambda w: (self.found[w] + extra[w], w))
        empty = np.zeros(len(self.allowed.counts), dtype=np.int64)
        least = self.beam.known[()].loss if () in self.beam.known else math.inf
        if statement.constraints:
            starts = [*(np.array(w, dtype=np.int64) for w in ranked), empty]
            stops = allowed_descent(statement, self.allowed, starts, self.finish.objective)
            yield from (w for _, w in stops)
        shown = False
        for w in ranked:
            if not shown and self.found[w] + extra[w] >= least:
                yield empty
                shown = True
            yield np.array(w, dtype=np.int64)
        if not shown:
            yield empty
