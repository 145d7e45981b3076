"""A risk score without a proof: supports by a beam, whole points by many scales and moves."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import attrgetter, itemgetter
from typing import Any, Literal, TypeAlias

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import Design, FloatArray, IntArray
from milpscore.core.errors import FormulationError, NotApplicableError, OptionError
from milpscore.core.statement import InterceptRule, Statement
from milpscore.losses import Logistic, RiskLoss
from milpscore.losses.lines import LossRows, held_slopes
from milpscore.penalties import L0
from milpscore.search.beam import (
    Beam,
    Columns,
    Groups,
    Known,
    Score,
    fitted_loss,
)
from milpscore.search.moves import coordinate_descent
from milpscore.search.points import AllowedPoints, Support, SupportRules, repaired_points
from milpscore.search.policy import POLICY, TUNED, Work
from milpscore.search.swaps import Entries, SwapRows, improve, rounded
from milpscore.verify import evaluate

Scale: TypeAlias = float | Literal["free"]


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
    cut : str
        What ``time_limit``, or the most terms this search looks at, cut short; empty if nothing.
    """

    card: Card
    scale: float
    statement: Statement
    loss: float
    objective: float
    recalibrated: float
    refits: int
    rounded: int
    cut: str = ""


def fast_risk_card(
    problem: Statement | Design,
    max_terms: int | None = None,
    coef_min: int | None = None,
    coef_max: int | None = None,
    *,
    scale: Scale | None = None,
    beam: int = 8,
    tried: int = 20,
    n_rounded: int = 6,
    time_limit: float = math.inf,
) -> FastRisk:
    """Return a risk score of small logistic loss in milliseconds, without a bound.

    Size by size, up to the most terms:

    1. Real weights on few columns: forward selection by what a Newton step along each column
       would save, the best supports of each size kept.
    2. Whole points for each of the best supports: its real weights times many multipliers,
       rounded, the best rounding by the loss itself.
    3. The best cards are improved by moves of one column's points, or of two: other points, more,
       or another column. All moves are priced by first and second derivatives of the loss in
       which slope and intercept follow, and the most promising ones judged by the loss.

    Nothing is drawn at random; the work is bounded by ``beam``, ``tried``, ``n_rounded`` and, on
    large tables, ``time_limit``, and counted without a clock: every machine finds the same card.

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
        Supports of each size that are refitted; under constraints, for each one kept.
    n_rounded : int
        Supports of each size whose points are searched.
    time_limit : float
        The work allowed, as the seconds it takes on a free machine. After half of it the search
        goes on with one support of each size, so that all terms are reached; ``cut`` says so.

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
    imodels (FastRiskScoreClassifier, version 3.0): moves of whole points, priced before judged.
    """
    work = Work.of(time_limit)
    counts = {"beam": beam, "tried": tried, "n_rounded": n_rounded}
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
    least = 0.0 if free or statement.scales is None else statement.scales.lower
    search = _Search(statement, work, free, least, beam=beam, tried=tried, n_rounded=n_rounded)
    return search.run().best()


def fast_risk_cards(statement: Statement, least: float, time_limit: float) -> tuple[Card, Card]:
    """Return the fast risk score at scales from ``least`` on, and the best card at any scale."""
    search = _Search(statement, Work.of(time_limit), least=least).run()
    held = search.best()
    return held.card, search.steeper(held)


def fast_points(
    statement: Statement, work: Work, multiples: int = 1, near: Card | None = None
) -> IntArray:
    """Return points (V, p) for any loss: the best fast risk scores per size, and no points."""
    # the caller judges ``multiples`` of each: as many are returned as the work left reaches for;
    # a loss of rows that lose together is searched as it is near a card
    loss: Any = statement.loss
    coupled = getattr(loss, "coupled", False)
    design = loss.base.as_decisions(near) if coupled else statement.design
    plain = replace(
        _plain_statement(design, None, None, None), coef_min=statement.coef_min,
        coef_max=statement.coef_max, coef_sets=statement.coef_sets, max_terms=statement.max_terms,
        constraints=statement.constraints,
    )  # fmt: skip
    search = _Search(plain, work).run()
    by_size: dict[int, list[tuple[int, ...]]] = {}
    for w in sorted(search.found, key=lambda w: (search.found[w], w)):
        by_size.setdefault(int(np.count_nonzero(w)), []).append(w)
    each = POLICY.judge_steps * multiples * len(design.merged.y) * (search.beam.limit + 1)
    judged = int(min(max(work.left / each, 1), POLICY.judged_points))
    points = [w for size in by_size.values() for w in size[:judged]]
    return np.array([*points, (0,) * design.shape[1]], dtype=np.int64)


def _own_statement(statement: Statement, *own: int | None) -> Statement:
    """Return the given statement, refused where it is not one of a logistic risk score."""
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
    """Return a design's logistic risk score with a real intercept and no penalty."""
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
    """Return a whole number from ``least`` on, or an error."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        raise error(f"{name} must be a whole number >= {least}, got {value!r}")
    return int(value)


def _rescaled(statement: Statement, scale: float) -> Statement:
    """Return the statement with its loss at another scale."""
    arguments = {**statement.arguments, "scale": scale}
    loss = replace(statement.loss, scale=scale)  # type: ignore[type-var]
    return replace(statement, loss=loss, arguments=arguments)


@dataclass(frozen=True, eq=False)
class _Finish:
    """From whole points to a card: the scale and intercept they are best with."""

    statement: Statement
    columns: Columns
    score: Score
    least: float
    """The least scale, where it is free."""

    def objective(self, w: IntArray) -> float:
        """Return the objective of points with their best scale and intercept."""
        groups, totals, offset = self._totals(w)
        if not self.score.scale:
            return self._line(groups, totals, self.score.steepest)[0] + self.statement.penalty(w)
        b = float(self._intercept(groups, totals, offset))
        loss = self._loss(groups, (totals + offset + b) / self.score.scale)
        return loss + self.statement.penalty(w)

    def answer(self, w: IntArray, refits: int, rounded: int) -> tuple[FastRisk, bool]:
        """Return the card of these points, with the intercept that limits on errors leave."""
        scale = self.score.scale
        w = w if scale else self._reduced(w)
        groups, totals, offset = self._totals(w)
        least, slope, shift = self._line(groups, totals)
        if slope > self.score.steepest:
            _, slope, shift = self._line(groups, totals, self.score.steepest)
        if scale:
            b = self._intercept(groups, totals, offset)
        elif slope > 0:
            scale, b = max(1.0 / slope, self.least), Fraction(shift / slope - offset)
            if self.statement.intercept.nearest(b) != b:
                scale, b = self._fitted(groups, totals + offset, float(b))
        else:
            scale, b = 1.0, self.statement.intercept.nearest(shift - offset)
        statement, card = _rescaled(self.statement, scale), Card(w, b)
        if self.statement.scales is not None:
            statement, card = self.statement, Card(w, b, Fraction(scale))
        loss = self._loss(groups, (totals + (offset + float(b))) / scale)
        objective, allowed = loss + statement.penalty(w), not statement.violations(card)
        if not allowed:
            card = statement.with_best_intercept(w)
            figures = evaluate(statement, card)
            loss, objective, allowed = figures.loss, figures.objective, figures.feasible
        least = min(least, loss)
        found = FastRisk(card, scale, statement, loss, objective, least, refits, rounded)
        return found, allowed

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

    def freed(self, w: IntArray) -> tuple[float, Card]:
        """Return the objective of points at the best of all scales, and their card there."""
        groups, totals, offset = self._totals(w)
        least, slope, shift = self._line(groups, totals)
        scale = 1.0 / max(slope, 1e-300)
        card = Card(w, Fraction(shift * scale - offset), Fraction(scale))
        return least + self.statement.penalty(w), card

    def _line(
        self, groups: Groups, totals: FloatArray, steepest: float = math.inf
    ) -> tuple[float, float, float]:
        """Least loss over slope and intercept of centred totals, the slope, and the shift."""
        slope, parted = (
            1.0 / (float(np.ptp(totals)) or 1.0),
            POLICY.parted_loss if steepest == math.inf else 0,
        )
        exact = self.score._replace(
            scale=0.0, steepest=steepest, parted=float(parted), enough=POLICY.exact_decrement
        )
        return fitted_loss(totals, 0.0, groups.sides, slope, self.columns.log_odds, math.inf, exact)

    def _intercept(self, groups: Groups, totals: FloatArray, offset: float) -> Fraction:
        """Return the best intercept allowed at the fixed scale."""
        scale = self.score.scale
        _, _, shift = fitted_loss(
            totals, offset, groups.sides, 1.0 / scale, self.columns.log_odds, math.inf, self.score
        )
        return self.statement.intercept.nearest(shift * scale - offset)

    def _fitted(self, groups: Groups, totals: FloatArray, b: float) -> tuple[float, Fraction]:
        """Scale and intercept of a free card: of the allowed ones next to b the best."""
        rule = self.statement.intercept
        step = rule.step or Fraction(0)
        values = sorted({rule.nearest(Fraction(b) + k * step) for k in (-1, 0, 1)})
        rows = LossRows(Logistic(), groups.sides.ravel(), np.repeat([1.0, -1.0], len(totals)))
        scores = np.tile(totals, 2)[:, None] + np.array([float(value) for value in values])
        slopes = held_slopes(rows, scores, (0.0, self.score.steepest))
        losses = np.where(slopes > 0, rows.mean(slopes * scores), np.inf)
        k = int(np.argmin(losses))
        if losses[k] == np.inf:  # no allowed intercept leaves the points any use
            return 1.0, rule.nearest(Fraction(b))
        return max(1.0 / float(slopes[k]), self.least), values[k]

    def _reduced(self, w: IntArray) -> IntArray:
        """Divide points by their greatest common divisor, if that is allowed and costs no more."""
        divisor = int(np.gcd.reduce(w))
        if divisor <= 1:
            return w
        # one of the smaller points may have to add no more to the score than it may
        if (steepest := self.score.steepest) < math.inf:
            groups, totals, _ = self._totals(w)
            if divisor * self._line(groups, totals, steepest)[1] > steepest:
                return w
        smaller = w // divisor
        fine = bool(self.statement.allows(smaller[None, :])[0])
        cheaper = self.statement.penalty(smaller) <= self.statement.penalty(w)
        return smaller if fine and cheaper else w


class _Search:
    """What was found so far: points with their objectives on the merged rows."""

    def __init__(
        self, statement: Statement, work: Work, scale: float = 0.0, least: float = 0.0, *,
        beam: int = 8, tried: int = 20, n_rounded: int = 6,
    ) -> None:  # fmt: skip
        self.statement, self.n_rounded, self.work = statement, n_rounded, work
        self.columns = Columns.of(statement.design.merged)
        self.allowed = AllowedPoints.of(statement, scale, least)
        lower, upper = self.allowed.real_bounds
        limit = len(lower) if statement.max_terms is None else statement.max_terms
        self.rules = SupportRules(statement)
        forced = tuple(sorted({*self.allowed.forced, *self.rules.demanded()}))
        if len(forced) > limit:
            raise FormulationError(
                f"{len(forced)} columns cannot have 0 points, but at most {limit} terms are "
                "allowed: raise {max_terms} or let their ranges include 0",
                max_terms=...,
            )
        self.beam = Beam(
            columns=self.columns,
            lower=lower,
            upper=upper,
            reach=self.allowed.reach,
            usable=self.allowed.usable,
            forced=forced,
            prices=self.allowed.least_price,
            limit=max(len(forced), min(limit, POLICY.most_terms)),
            width=beam,
            tried=tried,
            rules=self.rules,
            work=work,
        )
        rule = statement.intercept
        shares = self.columns.coded.weights.sum(axis=1)
        self.constant = -float(shares @ np.log(shares))
        # at log 2 times the least weight every row lies on its side
        parted = math.log(2.0) * float(self.columns.coded.weights.sum(axis=0).min())
        self.score = Score(
            scale, 1.0 / least if least else math.inf,
            float(rule.lower), float(rule.upper), float(rule.step or 0),
            0.0 if scale or least else parted, TUNED.nearly_done,
        )  # fmt: skip
        self.finish = _Finish(statement, self.columns, self.score, least)
        coded = self.columns.coded
        self.rows = SwapRows(
            Entries(
                coded.weights, coded.starts, coded.rows, coded.deltas, coded.widths == 2
            ),
            self.allowed.choices, self.score, self.columns.grid,
            self.columns.modes, self.columns.means, self.allowed.nothing,
        )  # fmt: skip
        self.movable = np.flatnonzero(self.allowed.usable)
        self.rounded: dict[tuple[int, ...], float] = {}
        self.states: dict[tuple[int, ...], FloatArray] = {}
        self.indices: dict[tuple[int, ...], IntArray] = {}
        self.found: dict[tuple[int, ...], float] = {}
        self.barred: set[tuple[int, ...]] = set()
        self.done: set[Support] = set()
        self.least, self.size = math.inf, len(forced)
        self.most = min(limit, int(self.allowed.usable.sum()))
        self.narrow_from: int | None = None

    def run(self) -> _Search:
        """Grow supports size by size, round the best ones, move points and columns of the cards."""
        # nothing depends on the sizes to come, so that a limit raised never costs a card
        for loss in self.beam.levels():
            # 1) Round the best supports of this size to cards; end once one parts the classes.
            if loss < self.score.parted:  # real weights part the classes: do whole points?
                self._round(self.n_rounded)
                if self.least < self.score.parted:
                    return self
            self._round(self.n_rounded if self.work.plenty else 1)

            # 2) Improve the best cards by moves, and go on to the next size.
            self._improve()
            self.size += 1
            if self.narrow_from is None and not self.work.plenty:
                self.narrow_from = self.size
        # 3) Say what a limit cut short; mend the best cards if constraints allow none of them.
        self.work.cut = self._cut()
        if self.least == math.inf and self.statement.constraints:
            self._mend()
        return self

    def _cut(self) -> str:
        """Return what a limit kept the search from, and what to do; empty if nothing."""
        reached, limit = self.size - 1, self.beam.limit
        if self.work.is_up and reached < limit:
            return (
                f"the fast search used up its work at {reached} of {limit} terms: raise time_limit"
            )
        if self.narrow_from is not None and self.narrow_from <= reached:
            return (
                f"the fast search went on from {self.narrow_from} terms with one set of columns "
                "per size, for lack of work: raise time_limit"
            )
        if reached == limit < self.most and self.beam.growing:
            return (
                f"the fast search looks at cards of at most {limit} terms, and {self.most} are "
                "allowed: only a solver looks at larger ones"
            )
        return ""

    def _improve(self) -> None:
        """Move points of the best cards rounded last and of the best of all; pairs of the best."""
        starts = sorted(self.rounded, key=lambda w: (self.rounded[w], w))[: POLICY.most_starts]
        if self.found and not self.statement.constraints:
            starts.append(min(self.found, key=lambda w: (self.found[w], w)))
        near = self.least <= POLICY.nearly_parted * self.constant
        # ways of listing moves, the first and the last, and how many cards they improve
        ways = [(0, 0, 3), (1, 1, 2), *([(2, 2, 1)] if near else [])]
        for first, last, kept in ways if self.work.plenty else [(0, 0, 1)]:
            after = {self._improved(w, first, last) for w in starts[:kept]}
            starts = sorted(after, key=lambda w: (self.found[w], w))
        self.rounded = {}

    def _improved(self, w: tuple[int, ...], first: int, last: int) -> tuple[int, ...]:
        """Return the points that moves in some ways lead to."""
        if self.work.is_up or self.least <= 0.0:
            return w
        passes = POLICY.single_passes if last == 0 else POLICY.paired_passes
        self.work.spend(passes * (self.beam.entries + (self.size + 2) * self.beam.rows))
        index, state = self.indices[w].copy(), self.states[w].copy()
        movable = np.flatnonzero(w) if self.statement.constraints else self.movable
        improve(self.rows, index, state, movable, self.size, first, last)
        found = self._keep(index, state)
        support = tuple(j for j, points in enumerate(found) if points)
        if support not in self.beam.known:
            self.beam.support(support)
        return found

    def _ranked(self, below: float = math.inf) -> list[Known]:
        """Supports by their real weights' loss and the least their points can cost."""
        known = (each for each in self.beam.known.values() if each.floor < below)
        return sorted(known, key=attrgetter("lost", "floor", "key"))

    def _round(self, most: int) -> None:
        """Search the points of the most promising supports not searched yet."""
        for known in self._ranked(self.least):
            # no points of a support whose floor is not below the best can be better
            if known.floor >= self.least or known.key in self.done or not known.key:
                continue
            if most == 0 or self.least <= 0.0 or self.work.is_up:
                return
            if self.rules.holds(known.key):
                self._points(known)
                self.done.add(known.key)
                most -= 1

    def _points(self, known: Known) -> None:
        """Whole points for one support: its real weights at many scales, judged by the loss."""
        order = np.array(known.order, dtype=np.int64)
        index = self.allowed.nothing.copy()
        state = np.empty(3)
        bounds = self.beam.lower, self.beam.upper
        _, w, groups = self.columns.refit(order, known.w[None, :], *bounds)
        rounded(self.rows, groups.patterns, groups.sides, order, w[0], index, state)
        size, terms = groups.patterns.shape
        self.work.spend(self.beam.rows + POLICY.roundings * size * (terms + 10))
        self.beam.refits += 1
        self.rounded[self._keep(index, state)] = float(state[0])

    def _keep(self, index: IntArray, state: FloatArray) -> tuple[int, ...]:
        """Remember points; those the constraints do not allow are no card to beat."""
        w = self.allowed.choices.values[np.arange(len(index)), index].astype(np.int64)
        key = tuple(w.tolist())
        if key not in self.states or state[0] < self.found[key]:  # a mended card has no state
            self.found[key], self.states[key], self.indices[key] = float(state[0]), state, index
        if self.statement.constraints and not self.statement.allows(w[None, :])[0]:
            self.barred.add(key)
        else:
            self.least = min(self.least, float(state[0]))
        return key

    def _mend(self) -> None:
        """Search the supports of the nearest allowed points to what was found, and of the least."""
        ranked = sorted(self.found, key=lambda w: (self.found[w], w))[: POLICY.mended_points]
        starts = [np.array(w, dtype=np.int64) for w in ranked]
        starts += [self._signs(known) for known in self._ranked()[: POLICY.mended_points]]
        starts.append(self._nothing)
        mended: dict[tuple[int, ...], IntArray] = {}
        for start in starts:
            w = repaired_points(self.statement, start)
            if w is not None and self.statement.allows(w[None, :])[0]:
                mended.setdefault(tuple(w.tolist()), w)
        for w in mended.values():
            key = tuple(np.flatnonzero(w).tolist())
            objective = self.finish.objective(w)
            self.found[tuple(w.tolist())] = objective
            self.least = min(self.least, objective)
            if key and key not in self.done:
                self.beam.support(key)
                self._points(self.beam.known[key])
                self.done.add(key)
        self._improve()

    @property
    def _nothing(self) -> IntArray:
        """No points, shape (p,)."""
        return np.zeros(len(self.allowed.choices.counts), dtype=np.int64)

    def _signs(self, known: Known) -> IntArray:
        """Points 1 and -1 by the signs of a support's real weights."""
        w = self._nothing
        w[list(known.order)] = np.where(known.w[:-1] < 0, -1, 1)
        return w

    def best(self) -> FastRisk:
        """The best card found that meets every requirement, or the empty one if that is better."""
        for w in self._candidates():
            answer, allowed = self._answer(w)
            if not allowed:
                continue
            if answer.objective < self.constant:
                return answer
            # a whole intercept can cost a card more than its points save
            nothing, allowed = self._answer(self._nothing)
            return nothing if allowed and nothing.objective <= answer.objective else answer
        raise FormulationError(
            "no card within the ranges, sets and limits was found: loosen one of them, or solve "
            "the exact program, which proves whether there is one"
        )

    def steeper(self, held: FastRisk) -> Card:
        """The best card found whatever its scale, if it is steeper than the one held, else that."""
        end = TUNED.loose_slope * self.score.steepest
        bound = [w for w, state in self.states.items() if state[1] >= end]
        bound.sort(key=lambda w: (self.found[w], w))
        freed = [
            self.finish.freed(np.array(w, dtype=np.int64)) for w in bound[: POLICY.mended_points]
        ]
        objective, card = min(freed, key=itemgetter(0), default=(math.inf, held.card))
        return card if objective < held.objective - POLICY.least_gain else held.card

    def _answer(self, w: IntArray) -> tuple[FastRisk, bool]:
        """Return the card of these points, and whether it is allowed."""
        answer, allowed = self.finish.answer(w, self.beam.refits, len(self.done))
        return replace(answer, cut=self.work.cut), allowed

    def _descended(self, w: IntArray) -> FastRisk:
        """Return the card of these points, changed at its own scale while that helps."""
        found, _ = self._answer(w)
        for _ in range(POLICY.most_turns):
            self.work.spend(POLICY.turn_steps)
            card = coordinate_descent(found.statement, found.card, max_work=POLICY.descent_totals)
            after, _ = self._answer(card.coefficients)
            if after.objective >= found.objective - POLICY.least_gain:
                break
            found = after
        return found

    def _candidates(self) -> Iterator[IntArray]:
        """Points by their objective, no points among them."""
        total = self.found
        if any(not isinstance(term, L0) for term in self.statement.penalties):
            # what the prices of single columns leave out of the penalties
            total = {
                w: objective + self.statement.penalty(np.array(w)) - self.allowed.price(np.array(w))
                for w, objective in self.found.items()
            }
        ranked = sorted(total, key=lambda w: (total[w], w))
        least = self.beam.known[()].loss if () in self.beam.known else math.inf
        if self.statement.constraints:  # the beam looks at supports, not at points, for them
            points = np.array([*ranked, (0,) * len(self._nothing)], dtype=np.int64)
            share = POLICY.descent_share * self.work.steps
            most = self.work.spent + min(share, self.work.left)
            near = [
                self._descended(w)
                for k, w in enumerate(points[self.statement.allows(points)][: POLICY.mended_points])
                # without a limit the best alone descends: each takes seconds
                if self.work.spent < most and (k == 0 or math.isfinite(most))
            ]
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
