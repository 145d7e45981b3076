"""Outer approximation: a master of tangents on HiGHS, tightened until it meets the best card.

Tangents come first from the continuous optimum and the cutting planes around it, then from
mixed-integer rounds: at every whole point that HiGHS reports, at the real optimum of its support
and at its polished form. The incumbent cuts off what cannot be better. It runs where rows were
added by hand, for written files, and as the second opinion.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import FloatArray
from milpscore.core.errors import NotApplicableError
from milpscore.core.result import CLAIM_TOLERANCE, Termination
from milpscore.search import coordinate_descent
from milpscore.search.moves import Neighbourhood
from milpscore.search.starts import first_card
from milpscore.solvers.engine import Outcome, Task
from milpscore.solvers.options import Options
from milpscore.solvers.policy import POLICY
from milpscore.solvers.session import SessionSolver
from milpscore.solvers.tangents import OWN_LEVEL, Master, TimeIsUpError, vector_of
from milpscore.verify import Evaluation, check, evaluate


class OuterApproximation(SessionSolver):
    """Tangents of a convex term; they stay in the session, and in the model's ``cuts``."""

    checks = True

    def refuse(self, task: Task) -> None:
        """Refuse a model without convex terms to be bounded by tangents."""
        if not task.program.takes_tangents:
            raise NotApplicableError(
                f"outer_approximation adds tangents of a convex loss to model.cuts, which "
                f"{task.program.formulation} has none of: use {{solver}}",
                solver="highs",
            )
        statement = task.program.statement
        if statement.scales is not None and statement.arguments.get("penalty") == "eye":
            raise NotApplicableError(
                "outer_approximation has no tangents of a norm of the points where their scale is "
                "free: use {solver}, or give a scale",
                solver="tree",
            )

    def solve(self, task: Task) -> Outcome:
        """Search the exact program, or solve its relaxation."""
        search = _TangentSearch(task)
        return search.relaxed() if task.kind == "relaxed" else search.exact(task.start)


class _TangentSearch:
    """The master, the incumbent and the bound."""

    def __init__(self, task: Task) -> None:
        self.session = task.loaded
        self.options: Options = task.options
        self.progress = task.progress()
        self.statement = task.program.statement
        empty = evaluate(self.statement, self.statement.empty_card()).objective
        level = empty if self.session.own is None else OWN_LEVEL
        self.master = Master(self.session, self.options, level)
        self.neighbourhood = Neighbourhood(self.statement, self.master.loss)
        if self.statement.scales is not None:
            w = task.program.model.w
            self.points = np.array([self.session.position(each) for each in w.values()])
        self.best, self.bound = math.inf, -math.inf
        self.values: FloatArray | None = None
        self.seen: set[bytes] = set()
        self.descents = POLICY.vain_descents  # left that may find nothing better
        self.refused: set[Card] = set()
        self.supports: set[tuple[int, ...]] = set()
        self.infeasible = False
        self.nodes = 0

    # -- the two kinds ---------------------------------------------------------------------------

    def relaxed(self) -> Outcome:
        """Cutting planes until the bound meets a point of the boxed relaxation."""
        termination = Termination.COMPLETED
        center: FloatArray | None = None
        try:
            self.master.set_anchor()
            tolerance = 1e-9 * max(1.0, self.master.ceiling)
            most = 5 * POLICY.most_planes
            center = self.master.cutting_planes(tolerance, most, self.progress)[0]
            if self.progress.remaining <= 0:
                termination = Termination.TIME_LIMIT
        except TimeIsUpError:
            termination = Termination.TIME_LIMIT
        except KeyboardInterrupt:
            termination = Termination.INTERRUPTED
        heights = None if center is None else self.master.lifted(center)
        self.master.store_cuts()
        left = replace(self.options, time_limit=max(self.progress.remaining, 1.0))
        outcome = self.session.run(left)
        if termination is not Termination.COMPLETED:
            outcome.termination = termination
        if heights is not None and np.isfinite(heights).all() and outcome.values is not None:
            outcome.values = heights
        outcome.seconds = self.progress.seconds
        return outcome

    def exact(self, start: Card | None) -> Outcome:
        """Rounds of the master until nothing better than the incumbent is left."""
        termination = Termination.COMPLETED
        try:
            try:
                self.master.set_anchor()
                self._first_cards(start)
                self.master = self.master.fitted(self.best)
                self._cut(1e-3)
                self._refresh()
                termination = self._search()
            except TimeIsUpError:
                termination = Termination.TIME_LIMIT
            self._report()
        except KeyboardInterrupt:  # a listener's at the last report included
            termination = Termination.INTERRUPTED
        self.master.store_cuts()
        return self._outcome(termination)

    def _outcome(self, termination: Termination) -> Outcome:
        """What was found, in the form every engine answers."""
        remarks: tuple[str, ...] = ()
        if self.infeasible and not math.isfinite(self.best):
            termination = Termination.INFEASIBLE
        ended = termination in (Termination.COMPLETED, Termination.INFEASIBLE)
        if ended and not math.isfinite(self.best) and self.master.overflowed:
            termination = Termination.INACCURATE
            remarks = (
                "numerical trouble: the loss leaves the range of numbers where its tangents would "
                "be needed, so that no card is ruled out: give the columns a larger unit",
            )
        if termination is Termination.UNBOUNDED:
            remarks = (
                "tangents bound a loss from below, and the objective falls as it rises: without "
                "that part it has a bound",
            )
        proved = self.best - self.bound <= 2 * POLICY.claim_share * CLAIM_TOLERANCE * abs(self.best)
        if termination is Termination.COMPLETED and not proved:
            termination = Termination.GAP_REACHED
        clock = self.progress
        return Outcome(
            termination, values=self.values, dual_bound=self.bound, nodes=self.nodes,
            seconds=clock.seconds, trace=clock.trace, remarks=remarks,
        )  # fmt: skip

    # -- before the rounds -----------------------------------------------------------------------

    def _first_cards(self, start: Card | None) -> None:
        """The start, the card of fewest points, the rounded continuous optimum, a greedy card."""
        for card in (start, first_card(self.statement)):
            if card is not None:
                self._consider(card)
        weight = np.abs(self.master.anchor[:-1]) * self.statement.design.merged.X.std(axis=0)
        limit = self.statement.max_terms
        leading = np.argsort(-weight, kind="stable")[:limit]
        for support in (leading, self._greedy_support(limit)):
            self._look_at(self._best_of(tuple(sorted(int(j) for j in support))))

    def _best_of(self, support: tuple[int, ...]) -> FloatArray:
        """The real optimum of a support, its tangent added where it is new."""
        low, high = self.master.ranges_of(support)
        v = self.master.loss.minimiser(low, high, self.master.anchor)
        if support not in self.supports:
            self.supports.add(support)
            self.master.add(v, "support")
        return v

    def _greedy_support(self, limit: int | None) -> list[int]:
        """A support grown by the term that promises most, the loss re-fitted each time."""
        chosen: list[int] = []
        master = self.master
        v = np.clip(np.zeros(len(master.low)), master.low, master.high)
        for _ in range(len(v) - 1 if limit is None else limit):
            v = master.loss.minimiser(*master.ranges_of(tuple(chosen)), v)
            _, gradient, hessian = master.loss.expansion(v)
            bend = np.maximum(np.diag(hessian)[:-1], 1e-12)
            if not (np.isfinite(gradient).all() and np.isfinite(bend).all()):
                break
            gain = np.square(gradient[:-1]) / bend
            gain[chosen] = -1.0
            if gain.max(initial=-1.0) <= 0:
                break
            chosen.append(int(gain.argmax()))
        return chosen

    # -- rounds ----------------------------------------------------------------------------------

    @property
    def _gap_allowed(self) -> float:
        """The distance of bound and incumbent at which nothing is left to do."""
        if not math.isfinite(self.best):
            return 0.0
        asked = max(self.options.loose_gap * abs(self.best), self.options.mip_gap_abs)
        # the answer's bound is lowered by what HiGHS cannot see: the gap asked for holds after it
        claimed = POLICY.claim_share * CLAIM_TOLERANCE * abs(self.best)
        if self.session.own is not None and abs(self.best) <= POLICY.own_rounding:
            claimed = max(claimed, 0.5 * POLICY.own_rounding)  # an optimum of 0 is met, too
        return max(claimed, asked - self.session.blur)

    @property
    def _cutoff(self) -> float:
        """Only cards at most this costly are still looked for."""
        return self.best - self._gap_allowed if math.isfinite(self.best) else math.inf

    def _search(self) -> Termination:
        """Rounds until the bound meets the incumbent or a limit stops them."""
        patience = POLICY.improvements
        while not self.infeasible and self.best - self.bound > self._gap_allowed * (1 + 1e-9):
            limit = self.options.node_limit
            left = None if limit is None else limit - self.nodes
            if left is not None and left <= 0:
                return Termination.NODE_LIMIT
            self.master = self.master.fitted(self.best)
            before, cuts = self.best, len(self.master.cuts)
            self.master.cut_off(self._cutoff)
            found, points = self.master.solve(self.progress.remaining, left, patience)
            self._take(found, points)
            if found.termination in (Termination.INTERRUPTED, Termination.UNBOUNDED):
                return found.termination
            new = len(self.master.cuts) > cuts
            if not new and found.termination is Termination.COMPLETED:
                return Termination.COMPLETED  # its points were refused: the bound is what is left
            patience = POLICY.improvements if new else 10 * patience
            if self.best < before:
                self._refresh()
            self._report()
        return Termination.COMPLETED

    def _take(self, found: Outcome, points: list[FloatArray]) -> None:
        """Take a round's bound, and tangents at its points and at their polished forms."""
        self.nodes += found.nodes
        if found.termination is Termination.INFEASIBLE:
            self._nothing_left()
            return
        self._raise_bound(found.dual_bound)
        distinct = {self._found(x).tobytes(): x for x in points}
        for x in distinct.values():
            self.session.load_values(x)
            card = self.session.program.card()
            v = self._found(x) if card.scale is None else vector_of(card)
            self.refused.discard(card)  # variables a user added may have better values here
            self._consider(card)
            self._touch(v)
            if card.scale is not None:  # the master's slope and intercept need not be the card's
                self._touch(self.master.point(x))
            self._best_of(tuple(np.flatnonzero(card.coefficients).tolist()))
            self._look_at(v)

    def _found(self, x: FloatArray) -> FloatArray:
        """Return what distinguishes the cards of two vectors: the whole (w, b), or w alone."""
        if self.statement.scales is None:
            return self.neighbourhood.whole(self.master.point(x))
        return np.asarray(np.rint(x[self.points]))

    def _nothing_left(self) -> None:
        """No point costs so little as the cutoff."""
        if math.isfinite(self.best):
            self.bound = max(self.bound, self._cutoff - POLICY.hidden_tolerance * self.master.level)
            self.bound = max(self.bound, self.best - self._gap_allowed)
        self.infeasible = True

    def _look_at(self, v: FloatArray) -> None:
        """Polish the coefficients nearest to v; the card found is considered, its tangent added."""
        if self.statement.scales is not None:
            card = self._rounded(v[:-1])
            v = vector_of(card)
        else:
            v, _ = self.neighbourhood.polish(self.neighbourhood.nearest(v[:-1]))
            card = self.neighbourhood.card(v)
        self._consider(card)  # first: what is known to cost less than a tangent's point draws it in
        self._touch(v)

    def _rounded(self, w: FloatArray) -> Card:
        """The best of several roundings of real coefficients whose scale is free, improved."""
        statement, reach = self.statement, np.abs(w).max(initial=0.0)
        most = float(np.abs([statement.coef_min, statement.coef_max]).max(initial=1))
        sizes = np.linspace(0.2, 1.0, POLICY.roundings) * (most / reach if reach > 0 else 0.0)
        near = {each.tobytes(): each for each in (self.neighbourhood.nearest(w * k) for k in sizes)}
        cards = [statement.with_best_intercept(each.astype(np.int64)) for each in near.values()]
        best = min(cards, key=lambda card: evaluate(statement, card).objective)
        if statement.violations(best) or self.descents <= 0:
            return best
        found = coordinate_descent(statement, best, max_work=POLICY.descent_totals)
        if evaluate(statement, found).objective >= self.best:
            self.descents -= 1
        return found

    def _touch(self, v: FloatArray) -> None:
        """Add the tangent at a whole point not yet seen."""
        key = v.tobytes()
        if key not in self.seen:
            self.seen.add(key)
            self.master.add(v, "point")

    # -- incumbent and bound ----------------------------------------------------------------------

    def _consider(self, card: Card) -> None:
        """Take a card as the incumbent where its re-check says it is better."""
        if card in self.refused or not self._figures(card).objective < self.best:
            return
        evaluation = check(self.session.program, card, form=self.session.form)
        if not evaluation.feasible:
            self.refused.add(card)
            return
        self.best, self.values = evaluation.objective, self.session.vector()
        # not the lesser of the two: the first ceiling may be that of a point no rule allows
        self.master.ceiling = self.best
        self._report()

    def _figures(self, card: Card) -> Evaluation:
        """Recompute a card's figures, its objective the one that is minimised."""
        if self.session.own is None:
            return evaluate(self.statement, card)
        return check(self.session.program, card, form=self.session.form)

    def _raise_bound(self, bound: float) -> None:
        """A bound over the points below the cutoff says the cutoff of all others."""
        if not math.isnan(bound):
            self.bound = max(self.bound, min(bound, self._cutoff, self.best))

    def _cut(self, share: float) -> None:
        """Cutting planes until the relaxation is solved to this share of the ceiling."""
        tolerance = share * self.master.ceiling
        _, _, value = self.master.cutting_planes(tolerance, POLICY.most_planes, self.progress)
        self._raise_bound(value)

    def _refresh(self) -> None:
        """Cut again below the incumbent, and drop the tangents that no longer bear on it."""
        if not math.isfinite(self.best):
            return
        self._cut(1e-4)
        room = max(self.best - self.bound, 0.0) * self.master.factor
        self.master.forget(POLICY.plane_share * room)

    def _report(self) -> None:
        """Record and show where the search stands."""
        self.progress.note(self.best, self.bound, self.nodes)
