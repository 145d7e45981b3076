"""Outer approximation: a master of tangents on HiGHS, tightened until it meets the best card.

Tangents come first from the continuous optimum and the cutting planes around it, then from
mixed-integer rounds: at every whole point HiGHS reports, at the real optimum of its support, at
its polished form, and at neighbours the master still underrates. The incumbent cuts off what
cannot be better and shrinks the ranges of the points.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

import highspy
import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import FloatArray
from milpscore.core.errors import NotApplicableError
from milpscore.core.result import CLAIM_TOLERANCE, Result, Termination, TracePoint
from milpscore.search.neighbourhood import Neighbourhood
from milpscore.solvers._finish import exact_result, start_vector
from milpscore.solvers._hand_back import hand_back
from milpscore.solvers._highs import nothing_run, relaxed_result
from milpscore.solvers._highs_run import Outcome, run
from milpscore.solvers._master import Master, Round, TimeIsUpError
from milpscore.solvers._master_rows import TOLERANCE
from milpscore.solvers._options import Options
from milpscore.solvers._planes import (
    anchor,
    cutting_planes,
    greedy_support,
    ranges_of,
    with_true_heights,
)
from milpscore.solvers._progress import progress_line
from milpscore.solvers._session import Session
from milpscore.solvers._tighten import tighten
from milpscore.verify import check, evaluate

Callback = Callable[[TracePoint], None]

_ALLOWED = 0.4 * CLAIM_TOLERANCE
"""A bound this close to the incumbent cannot change the claim."""

_PLANES = 400
"""Most tangents of one cutting-plane loop."""

_IMPROVEMENTS = 10
"""Improving solutions after which a round stops: its tangents are outdated by then."""

_NEIGHBOURS = 100
"""Most tangents at neighbours a round."""

_TIGHTEN_EVERY = 10
"""Rounds without a better card between two looks at the ranges."""

_CLOSE = 0.02
"""Of tangents that are no whole point's, those within this share of the gap are kept."""


def solve_session(
    session: Session,
    options: Options,
    start: Card | None,
    progress: bool | None,
    callback: Callback | None,
) -> Result:
    """Solve a program whose model holds a convex term by tangents (``cuts``).

    Parameters
    ----------
    session : Session
        The tangents found stay in it and in ``program.model.cuts``.
    options : Options
        ``node_limit`` counts the nodes of all rounds. ``presolve`` is for LPs and MIPs solved
        once: rounds run without it, their ranges being tightened here.
    start : Card or None
    progress : bool or None
    callback : callable or None

    Returns
    -------
    Result
        ``solver`` is "outer_approximation". Of a relaxation, a point whose loss is the true one
        and a bound recomputed from the duals.

    Raises
    ------
    NotApplicableError
        For a model without ``cuts``.
    """
    if session.program.model.component("cuts") is None:
        raise NotApplicableError(
            f"outer_approximation adds tangents of a convex loss to model.cuts, which "
            f"{session.program.formulation} has none of: use solver='highs'"
        )
    vector, note = start_vector(session, start)
    if options.time_limit == 0:
        nothing = nothing_run(Termination.TIME_LIMIT)
        if session.kind == "relaxed":
            return relaxed_result(session, options, nothing, note, "outer_approximation")
        return exact_result(session, options, nothing, start, note, "outer_approximation")
    title = f"{session.program.formulation}, outer approximation"
    with progress_line(title, progress) as line:
        receivers = [receive for receive in (line, callback) if receive is not None]
        search = _Search(session, options, receivers)
        if session.kind == "relaxed":
            outcome = search.relaxed()
            return relaxed_result(session, options, outcome, note, "outer_approximation")
        outcome = search.exact(start if vector is not None else None)
    return exact_result(session, options, outcome, start, note, "outer_approximation")


class _Search:
    """The master, the incumbent and the bound."""

    def __init__(self, session: Session, options: Options, receivers: list[Callback]) -> None:
        self.session, self.options, self.receivers = session, options, receivers
        self.started = time.perf_counter()
        self.statement = session.program.statement
        empty = evaluate(self.statement, self.statement.empty_card()).objective
        self.master = Master(session, options, empty)
        self.neighbourhood = Neighbourhood(self.statement, self.master.loss)
        self.best, self.bound = math.inf, -math.inf
        self.values: FloatArray | None = None
        self.seen: set[bytes] = set()
        self.refused: set[Card] = set()
        self.supports: set[tuple[int, ...]] = set()
        self.infeasible = False
        self.rounds = self.nodes = 0
        self.trace: list[TracePoint] = []

    def remaining(self) -> float:
        """Seconds left."""
        return self.options.time_limit - (time.perf_counter() - self.started)

    # -- the two kinds ---------------------------------------------------------------------------

    def relaxed(self) -> Outcome:
        """Cutting planes until the bound meets a point of the boxed relaxation."""
        termination = Termination.COMPLETED
        center: FloatArray | None = None
        try:
            anchor(self.master)
            center, _, _ = cutting_planes(
                self.master, 1e-9 * max(1.0, self.master.ceiling), 5 * _PLANES, self.remaining
            )
        except TimeIsUpError:
            termination = Termination.TIME_LIMIT
        except KeyboardInterrupt:
            termination = Termination.INTERRUPTED
        heights = with_true_heights(self.master, center)
        hand_back(self.master)
        left = replace(self.options, time_limit=max(self.remaining(), 1.0))
        outcome = run(self.session, left, 0.0)
        if termination is not Termination.COMPLETED:
            outcome.termination = termination
        if heights is not None and outcome.values is not None:
            outcome.values = heights
        outcome.seconds = time.perf_counter() - self.started
        return outcome

    def exact(self, start: Card | None) -> Outcome:
        """Rounds of the master until nothing better than the incumbent is left."""
        termination = Termination.COMPLETED
        try:
            anchor(self.master)
            self._first_cards(start)
            _, _, value = cutting_planes(
                self.master, 1e-3 * self.master.ceiling, _PLANES, self.remaining
            )
            self._raise_bound(value)
            self._tighten()
            termination = self._search()
        except TimeIsUpError:
            termination = Termination.TIME_LIMIT
        except KeyboardInterrupt:
            termination = Termination.INTERRUPTED
        self._report()
        hand_back(self.master)
        return self._outcome(termination)

    def _outcome(self, termination: Termination) -> Outcome:
        """What was found, in the form every engine answers."""
        if self.infeasible and not math.isfinite(self.best):
            termination = Termination.INFEASIBLE
        if termination is Termination.COMPLETED and self.best - self.bound > 2 * _ALLOWED * max(
            1.0, abs(self.best)
        ):
            termination = Termination.GAP_REACHED
        return Outcome(
            termination=termination,
            values=self.values,
            dual_bound=self.bound,
            nodes=self.nodes,
            seconds=time.perf_counter() - self.started,
            start_taken=True,
            trace=self.trace,
        )

    # -- before the rounds -----------------------------------------------------------------------

    def _first_cards(self, start: Card | None) -> None:
        """The start, the empty card, the rounded continuous optimum, and a greedy card."""
        if start is not None:
            self._consider(start)
        empty = self.statement.empty_card()
        self._consider(empty)
        weight = np.abs(self.master.anchor[:-1]) * self.statement.design.merged.X.std(axis=0)
        limit = self.statement.max_terms
        leading = np.argsort(-weight, kind="stable")[:limit]
        for support in (leading, greedy_support(self.master, limit)):
            self._look_at(self._best_of(tuple(sorted(int(j) for j in support)))[:-1])

    def _best_of(self, support: tuple[int, ...]) -> FloatArray:
        """The real optimum of a support, its tangent added where it is new."""
        low, high = ranges_of(self.master, support)
        v = self.master.loss.minimiser(low, high, self.master.anchor)
        if support not in self.supports:
            self.supports.add(support)
            self.master.add(v, "support")
        return v

    # -- rounds ----------------------------------------------------------------------------------

    @property
    def _gap_allowed(self) -> float:
        """The distance of bound and incumbent at which nothing is left to do."""
        if not math.isfinite(self.best):
            return 0.0
        size = abs(self.best)
        return max(_ALLOWED * max(1.0, size), self.options.mip_gap * size)

    @property
    def _cutoff(self) -> float:
        """Only cards at most this costly are still looked for."""
        return self.best - self._gap_allowed if math.isfinite(self.best) else math.inf

    def _search(self) -> Termination:
        """Rounds until the bound meets the incumbent or a limit stops them."""
        patience, since = _IMPROVEMENTS, 0
        while not self.infeasible and self.best - self.bound > self._gap_allowed * (1 + 1e-9):
            left = None
            if self.options.node_limit is not None:
                left = self.options.node_limit - self.nodes
                if left <= 0:
                    return Termination.NODE_LIMIT
            before, cuts = self.best, len(self.master.cuts)
            self.master.cut_off(self._cutoff)
            found = self.master.solve(self.remaining(), left, patience)
            self._take(found)
            if found.interrupted:
                return Termination.INTERRUPTED
            new = len(self.master.cuts) > cuts
            if not new and found.status == highspy.HighsModelStatus.kOptimal:
                return Termination.COMPLETED  # its points were refused: the bound is what is left
            patience = _IMPROVEMENTS if new else 10 * patience
            since = 0 if self.best < before else since + 1
            if self.best < before or since % _TIGHTEN_EVERY == 0:
                self._tighten()
            self._report()
        return Termination.COMPLETED

    def _take(self, found: Round) -> None:
        """A round's bound, and tangents at its points and around them."""
        self.rounds += 1
        self.nodes += found.nodes
        if found.status == highspy.HighsModelStatus.kInfeasible:
            self._nothing_left()
            return
        self._raise_bound(found.bound)
        whole = self.neighbourhood.whole
        distinct = {whole(self.master.point(x)).tobytes(): x for x in found.points}
        centres = []
        for x in distinct.values():
            v = whole(self.master.point(x))
            self._touch(v)
            self.session.load_values(x)
            card = self.session.program.card()
            self.refused.discard(card)  # variables a user added may have better values here
            self._consider(card)
            self._best_of(tuple(np.flatnonzero(v[:-1]).tolist()))
            centres += [v, self._look_at(v[:-1])]
        self._around(centres)

    def _nothing_left(self) -> None:
        """No point costs so little as the cutoff."""
        if math.isfinite(self.best):
            self.bound = max(self.bound, self._cutoff - TOLERANCE * self.master.level)
            self.bound = max(self.bound, self.best - self._gap_allowed)
        self.infeasible = True

    def _look_at(self, w: FloatArray) -> FloatArray:
        """Polish the coefficients nearest to w; the card found is considered, its tangent added."""
        v, _ = self.neighbourhood.polish(self.neighbourhood.nearest(w))
        self._touch(v)
        self._consider(self.neighbourhood.card(v))
        return v

    def _touch(self, v: FloatArray) -> bool:
        """Add the tangent at a whole point not yet seen."""
        key = v.tobytes()
        if key in self.seen:
            return False
        self.seen.add(key)
        return self.master.add(v, "point") > 0

    def _around(self, centres: list[FloatArray]) -> None:
        """Tangents at neighbours the master still rates below the cutoff, and at theirs."""
        added, queue = 0, list(centres)
        until = self.remaining() * 0.9
        while queue and added < _NEIGHBOURS and self.remaining() > until:
            points = self.neighbourhood.around(queue.pop(0), self.master.low, self.master.high)
            if not len(points):
                continue
            penalty = np.array([self.statement.penalty(v[:-1]) for v in points])
            rated = self.master.heights_at(points) + penalty
            while added < _NEIGHBOURS and len(self.master.cuts):
                k = int(rated.argmin())
                if not rated[k] < self._cutoff:
                    break
                point, rated[k] = points[k], math.inf
                if not self._touch(point):
                    continue
                added += 1
                queue.append(point)
                self._consider_if_better(point)
                tangent = next(c.tangent for c in reversed(self.master.cuts) if c.curve == 0)
                own = points @ tangent.gradient + tangent.constant + penalty
                rated = np.maximum(rated, own)

    # -- incumbent, bound, ranges ----------------------------------------------------------------

    def _consider_if_better(self, v: FloatArray) -> None:
        """Consider a whole point whose loss over the merged rows beats the incumbent."""
        if self.master.loss.value(v) + self.statement.penalty(v[:-1]) < self.best:
            self._consider(self.neighbourhood.card(v))

    def _consider(self, card: Card) -> None:
        """Take a card as the incumbent where its re-check says it is better."""
        if card in self.refused:
            return
        objective = evaluate(self.statement, card).objective
        if not objective < self.best:
            return
        evaluation = check(self.session.program, card)
        if not evaluation.feasible:
            self.refused.add(card)
            return
        self.best, self.values = evaluation.objective, self.session.vector()
        self.master.ceiling = min(self.master.ceiling, self.best)
        self._report()

    def _raise_bound(self, bound: float) -> None:
        """A bound over the points below the cutoff says the cutoff of all others."""
        if not math.isnan(bound):
            self.bound = max(self.bound, min(bound, self._cutoff, self.best))

    def _tighten(self) -> None:
        """Shrink the ranges, then drop the tangents that no longer bear on the relaxation."""
        if not math.isfinite(self.best):
            return
        moved = tighten(self.master, self._cutoff, self.remaining)
        if moved is None:
            self._nothing_left()
            return
        if moved:
            self.supports.clear()
        _, _, value = cutting_planes(
            self.master, 1e-4 * self.master.ceiling, _PLANES, self.remaining
        )
        self._raise_bound(value)
        self.master.forget(_CLOSE * max(self.best - self.bound, 0.0) * self.master.factor)

    def _report(self) -> None:
        """Record and show where the search stands."""
        seconds = time.perf_counter() - self.started
        point = TracePoint(seconds, self.best, self.bound, self.nodes)
        same = self.trace and (point.objective, point.dual_bound, point.nodes) == (
            self.trace[-1].objective,
            self.trace[-1].dual_bound,
            self.trace[-1].nodes,
        )
        if same:
            return
        self.trace.append(point)
        for receive in self.receivers:
            receive(point)
