"""All cards within a relative epsilon of the optimum: the search, and figures of many cards."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from milpscore.core.card import Card
from milpscore.core.clock import Clock
from milpscore.core.design import BoolArray, FloatArray, IntArray, MergedRows
from milpscore.core.errors import NotApplicableError, OptionError, SolverError, is_number, is_whole
from milpscore.core.jit import heeding_interrupts
from milpscore.core.program import Program
from milpscore.core.result import Result, Termination
from milpscore.core.statement import ScaleRange, Statement
from milpscore.losses import LINKS, RiskLoss, ZeroOne
from milpscore.losses.kinds import link_of
from milpscore.scorecard.decisions import RISK_ROUNDING
from milpscore.solvers import solve
from milpscore.solvers.options import Options
from milpscore.solvers.trees.risk import tree as risk
from milpscore.solvers.trees.shared.answer import Answer, Limits
from milpscore.solvers.trees.zero_one import tree as zero_one
from milpscore.verify import evaluate


def points_of(cards: Sequence[Card], p: int) -> IntArray:
    """The cards' points, shape (V, p)."""
    return np.array([card.coefficients for card in cards], dtype=np.int64).reshape(-1, p)


def intercepts_of(cards: Sequence[Card]) -> FloatArray:
    """The cards' intercepts, shape (V,)."""
    return np.array([float(card.intercept) for card in cards])


def with_points(figures: Mapping[str, Any], points: IntArray, names: Sequence[str]) -> pd.DataFrame:
    """A table of figures followed by the points (V, p); a name in both gets "(points)"."""
    heads = [f"{name} (points)" if name in figures else name for name in names]
    return pd.concat([pd.DataFrame(figures), pd.DataFrame(points, columns=heads)], axis=1)


def penalties_of(statement: Statement, points: IntArray) -> FloatArray:
    """The cards' penalties, shape (V,)."""
    return np.array([statement.penalty(w) for w in points], dtype=np.float64)


def scores_in_parts(
    statement: Statement, points: IntArray | FloatArray, intercepts: FloatArray
) -> Iterator[tuple[slice, FloatArray]]:
    """Slices of the cards, and their scores w.x + b on the merged rows, shape (m, cards)."""
    X = statement.design.merged.X
    step = max(1, 2_000_000 // max(1, len(X)))  # of bounded memory
    for first in range(0, len(points), step):
        part = slice(first, first + step)
        yield part, X @ points[part].T.astype(np.float64) + intercepts[part]


def losses_of(statement: Statement, cards: Sequence[Card]) -> FloatArray:
    """Mean weighted losses of the cards; shape (V,)."""
    rows = statement.design.merged
    points, intercepts = points_of(cards, statement.design.shape[1]), intercepts_of(cards)
    losses = np.empty(len(points))
    mean = _mean_of(statement.loss, rows, statement.design.step)
    # a card with its own scale is scored in units of that
    scales = np.array([float(card.scale or 1) for card in cards])
    for part, scores in scores_in_parts(statement, points / scales[:, None], intercepts / scales):
        losses[part] = mean(scores)
    return losses


def _mean_of(
    loss: Any, rows: MergedRows, step: Fraction | None
) -> Callable[[FloatArray], FloatArray]:
    """Return what makes mean losses (V,) of scores of the merged rows, (m, V)."""
    if isinstance(loss, ZeroOne):
        share, positive = rows.weight / rows.weight.sum(), (rows.y > 0)[:, None]
        return lambda scores: np.asarray(share @ (is_positive(scores, step) != positive))
    mean, unit = loss.mean_rows(rows.y, rows.weight).mean, 1.0
    if not isinstance(loss.scale, ScaleRange):
        unit = loss.fixed
    return lambda scores: np.asarray(mean(scores / unit))


def is_positive(scores: FloatArray, step: Fraction | None) -> BoolArray:
    """Which scores answer positive, ties included even if rounding took from the sum."""
    return np.asarray(scores >= -_rounding(scores, step))


def answers_of(statement: Statement, cards: Sequence[Card], scores: FloatArray) -> BoolArray:
    """Answers (m, V) as the cards are printed: a risk is high from the share of positives on.

    Cards made within limits on answers keep the decision of their fit.
    """
    rows, fitted = statement.design.merged, is_positive(scores, statement.design.step)
    limited = statement.limits_errors
    risks = None if limited else risks_of(statement, cards, scores)
    if risks is None:
        return fitted
    share = rows.weight[rows.y > 0].sum() / rows.weight.sum()
    high = risks >= share - RISK_ROUNDING
    return np.where([card.coefficients.any() for card in cards], high, fitted)


def risks_of(statement: Statement, cards: Sequence[Card], scores: FloatArray) -> FloatArray | None:
    """Return the risks (m, V) that cards state at their scores; None if they state none."""
    loss, link = statement.loss, link_of(statement.loss)
    if link is None or not isinstance(loss, RiskLoss):
        return None
    scales = np.array([float(card.scale or loss.fixed) for card in cards])
    return np.asarray(LINKS[link](scores / scales))


def _rounding(scores: FloatArray, step: Fraction | None) -> float:
    """The error a sum may have; far below the data's step."""
    near = 1e-9 * float(1.0 + np.abs(scores).max(initial=0.0))
    return near if step is None else min(near, 1e-3 * float(step))


def groups_of(statement: Statement, cards: Sequence[Card]) -> tuple[IntArray, IntArray]:
    """Number the cards, from 0 in order, by their answers and by their scores; each (V,)."""
    decided: dict[bytes, int] = {}
    scored: dict[bytes, int] = {}
    points = points_of(cards, statement.design.shape[1])
    decisions, same = np.empty(len(points), np.int64), np.empty(len(points), np.int64)
    for part, scores in scores_in_parts(statement, points, intercepts_of(cards)):
        nothing = _rounding(scores, statement.design.step)
        positive = np.packbits(answers_of(statement, cards[part], scores), axis=0)
        whole = np.rint(scores / (2 * nothing)).astype(np.int64)
        at = range(*part.indices(len(points)))
        for k, i in enumerate(at):
            decisions[i] = decided.setdefault(positive[:, k].tobytes(), len(decided))
            same[i] = scored.setdefault(whole[:, k].tobytes(), len(scored))
    # a card of times to an event decides nothing but the order
    return (same if getattr(statement.loss, "coupled", False) else decisions), same


def reliance_of(
    statement: Statement, points: IntArray, losses: FloatArray, columns: IntArray
) -> FloatArray:
    """Rise of each card's loss, (V,), once some columns lose their points and b is refitted."""
    # below 0 for a card that is better without them; limits on errors do not bind the intercept
    rows = statement.design.merged
    risen = np.zeros(len(points))
    using = np.flatnonzero(points[:, columns].any(axis=1))
    bare = points[using].copy()
    bare[:, columns] = 0
    # cards that differ in these columns only lose the same
    distinct, back = np.unique(bare, axis=0, return_inverse=True)
    least = np.empty(len(distinct))
    for part, totals in scores_in_parts(statement, distinct, np.zeros(len(distinct))):
        _, least[part] = statement.loss.best_intercepts(
            totals, rows.y, rows.weight, statement.intercept
        )
    risen[using] = least[back.ravel()] - losses[using]
    return risen


def by_objective(statement: Statement, cards: Sequence[Card]) -> tuple[list[Card], FloatArray]:
    """The cards in the order of their objectives, ties by points, and the objectives."""
    points, b = points_of(cards, statement.design.shape[1]), intercepts_of(cards)
    values = losses_of(statement, cards) + penalties_of(statement, points)
    # to twelve digits: rounding must not order what ties
    keys = [(float(f"{values[i]:.12g}"), tuple(points[i].tolist()), b[i]) for i in range(len(b))]
    order = sorted(range(len(b)), key=keys.__getitem__)
    return [cards[i] for i in order], values[order]


def recheck(statement: Statement, cards: Sequence[Card], objectives: FloatArray) -> None:
    """Raise SolverError if a card breaks a requirement, or a sample of objectives is wrong."""

    def require_allowed(i: int, violations: Sequence[str]) -> None:
        if violations:
            raise SolverError(
                f"card {i} of the pool is not allowed ({violations[0]}): please report this"
            )

    for i in np.flatnonzero(~_allowed(statement, cards)).tolist():
        require_allowed(i, statement.violations(cards[i]))
    drawn = np.random.default_rng(0).choice(len(cards), size=min(len(cards), 20), replace=False)
    for i in sorted({0, len(cards) - 1, *drawn.tolist()}):
        again = evaluate(statement, cards[i])
        require_allowed(i, again.violations)
        if not abs(again.objective - objectives[i]) <= 1e-9 * max(1.0, abs(again.objective)):
            raise SolverError(
                f"card {i} of the pool has objective {objectives[i]!r} on merged rows and "
                f"{again.objective!r} on the raw ones: please report this"
            )


def _allowed(statement: Statement, cards: Sequence[Card]) -> BoolArray:
    """Which cards keep every requirement, as far as floating point decides."""
    points, intercepts = points_of(cards, statement.design.shape[1]), intercepts_of(cards)
    fine = np.asarray(statement.allows(points))
    fine &= [statement.intercept.allows(card.intercept) for card in cards]
    limits = [each for each in statement.constraints if each.limits_answers]
    if limits:
        for part, scores in scores_in_parts(statement, points, intercepts):
            positive = is_positive(scores, statement.design.step)
            fine[part] &= np.logical_and.reduce([each.allows_answers(positive) for each in limits])
    return fine


@dataclass(frozen=True, eq=False, repr=False)
class Pool:
    """The cards within a relative epsilon of the best one.

    Attributes
    ----------
    statement : Statement
        What was searched.
    cards : tuple of Card
        By objective, the best first.
    epsilon : float
    threshold : float
        (1 + epsilon) times the best objective: the most a card of the pool has; infinite without
        one.
    complete_up_to : float
        Every card with a smaller objective is in the pool; ``threshold`` where it is complete.
    termination : Termination
        Why the search ended; it may have been proved complete all the same.
    every_intercept : bool
        Whether points w stand once for every whole intercept, and not with their best one only.
    nodes : int
        Relaxations solved, those for the optimum included.
    seconds : float
    """

    statement: Statement
    cards: tuple[Card, ...]
    epsilon: float
    threshold: float
    complete_up_to: float
    termination: Termination
    every_intercept: bool
    nodes: int
    seconds: float

    def __len__(self) -> int:
        """How many cards."""
        return len(self.cards)

    def __repr__(self) -> str:
        """Size and what is proved; the cards stay out."""
        within = f"{len(self)} cards within {self.epsilon:g} of {self.optimum:.6g}"
        return f"<Pool of {within}: {self.missing}>"

    @property
    def complete(self) -> bool:
        """Whether no card is missing."""
        return self.complete_up_to >= self.threshold

    @property
    def optimum(self) -> float:
        """The least objective in the pool; infinite without cards."""
        return float(self.objectives.min(initial=math.inf))

    @property
    def proved(self) -> bool:
        """Whether :attr:`optimum` is that of all cards."""
        return self.complete_up_to >= self.optimum

    @property
    def missing(self) -> str:
        """What is proved of the cards that are not in the pool, in words."""
        if self.complete:
            return "complete, no card is missing" if self.cards else "no card is allowed"
        limit, option = {
            Termination.TIME_LIMIT: ("time limit", "time_limit"),
            Termination.NODE_LIMIT: ("node limit", "node_limit"),
            Termination.CARD_LIMIT: ("limit on cards", "max_cards"),
        }.get(self.termination, ("", ""))
        why = f"the {limit} was reached: raise {option}, or lower epsilon" if limit else ""
        if self.termination is Termination.INTERRUPTED:
            why = "it was interrupted"
        if not math.isfinite(self.complete_up_to):
            return f"nothing is proved, {why}"
        known = f"complete up to objective {self.complete_up_to:.6g} of {self.threshold:.6g}"
        if not self.cards:
            return (
                f"no card was found, {why}; none has an objective below {self.complete_up_to:.6g}"
            )
        better = "" if self.proved else "; a better card than its best may be missing"
        return f"{known}{better}; {why}"

    @cached_property
    def points(self) -> IntArray:
        """Whole coefficients, shape (cards, p)."""
        return points_of(self.cards, self.statement.design.shape[1])

    @cached_property
    def losses(self) -> FloatArray:
        """Mean weighted losses, shape (cards,)."""
        return losses_of(self.statement, self.cards)

    @cached_property
    def objectives(self) -> FloatArray:
        """Losses with their penalties, shape (cards,)."""
        return self.losses + self._penalties

    @cached_property
    def _penalties(self) -> FloatArray:
        return penalties_of(self.statement, self.points)

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row per card, the best first: its figures, then its points in every column.

        ``objective``, ``loss``, ``penalty``; ``terms`` (raw features) and ``nonzeros`` (columns);
        ``decisions`` and ``scores``, equal for cards that answer, or score, every row of the data
        alike; ``intercept``. A card of risks answers positive from the share of positives on, as it
        is printed. A design column with the name of a figure is called "<name> (points)".
        """
        design = self.statement.design
        decisions, scores = groups_of(self.statement, self.cards)
        figures: dict[str, Any] = {
            "objective": self.objectives,
            "loss": self.losses,
            "penalty": self._penalties,
            "terms": [design.count_terms(w) for w in self.points],
            "nonzeros": np.count_nonzero(self.points, axis=1),
            "decisions": decisions,
            "scores": scores,
            "intercept": intercepts_of(self.cards),
        }
        return with_points(figures, self.points, design.names)

    def distinct(self, by: Literal["decisions", "scores"] = "decisions") -> pd.DataFrame:
        """Return the best card of each group that is alike on the data.

        Parameters
        ----------
        by : {"decisions", "scores"}
            Alike in every answer, or in every score; OptionError for anything else.

        Returns
        -------
        DataFrame
            Rows of :attr:`table`, with their index.
        """
        if by not in ("decisions", "scores"):
            raise OptionError(f"by must be 'decisions' or 'scores', got {by!r}")
        return self.table.drop_duplicates(by)

    @cached_property
    def importance(self) -> pd.DataFrame:
        """Ranges over the pool per design column; no rows if the pool is empty.

        ``share`` of the cards that use the column, ``min_points`` and ``max_points``, and
        ``min_reliance`` to ``max_reliance``: the rise of a card's loss once the column's points
        are 0 and the intercept is refitted (0 for a card that does not use it).
        """
        names = self.statement.design.names
        return self._ranges({name: [j] for j, name in enumerate(names)}, "column")

    @cached_property
    def feature_importance(self) -> pd.DataFrame:
        """:attr:`importance` per raw feature, whose columns all lose their points at once."""
        columns: dict[str, list[int]] = {}
        for j, column in enumerate(self.statement.design.columns):
            columns.setdefault(column.feature, []).append(j)
        return self._ranges(columns, "feature")

    def _ranges(self, columns: dict[str, list[int]], kind: str) -> pd.DataFrame:
        """A row per group of columns."""
        if not self.cards:
            columns = {}
        rows = [self._range(np.array(group)) for group in columns.values()]
        index = pd.Index(list(columns), name=kind, dtype=object)
        names = ["share", "min_points", "max_points", "min_reliance", "max_reliance"]
        return pd.DataFrame(rows, index=index, columns=names)

    def _range(self, columns: IntArray) -> dict[str, Any]:
        """Ranges over the pool for a group of columns."""
        points = self.points[:, columns]
        reliance = reliance_of(self.statement, self.points, self.losses, columns)
        return {
            "share": float(points.any(axis=1).mean()),
            "min_points": int(points.min()),
            "max_points": int(points.max()),
            "min_reliance": float(reliance.min()),
            "max_reliance": float(reliance.max()),
        }


def pool(
    program: Program,
    *,
    epsilon: float = 0.01,
    max_cards: int = 10_000,
    time_limit: float = Options.time_limit,
    node_limit: int | None = None,
    every_intercept: bool = False,
    progress: bool | None = None,
) -> Pool:
    """Find every card whose objective is at most (1 + epsilon) times the best one.

    First find the optimum (in at most half of the seconds), then every card up to the threshold,
    lowest bounds first: if a limit stops the search, all cards below ``complete_up_to`` are in the
    pool. Equally good cards (multiples, twins of a column) are kept.

    Parameters
    ----------
    program : Program
        Exact: under a smooth loss (:func:`milpscore.formulations.risk_score`, ``survival_score``),
        or under the 0-1 loss of data on a grid (``slim``, ``auc``, ``ordinal``).
    epsilon : float
        Relative to the optimum, >= 0; 0 asks for every optimal card.
    max_cards : int
        End the search at this number of different points.
    time_limit : float
        Seconds in all.
    node_limit : int, optional
        Relaxations solved (under the 0-1 loss: weight vectors bounded) for the optimum, and again
        for the pool.
    every_intercept : bool
        Keep points w once per intercept within the threshold (under the 0-1 loss: per set of rows
        it errs on), not with their best intercept only. A real intercept is always the best one.
    progress : bool, optional
        Of the search for the optimum; default: where standard error is a terminal.

    Returns
    -------
    Pool
        An interrupt (Ctrl-C) ends the search and keeps its cards. Empty if no card meets every
        constraint, or none was found in time.

    Raises
    ------
    NotApplicableError
        For another loss, a relaxation, or a model that a user changed.
    OptionError
        For an option out of range.
    SolverError
        If the search and the raw data disagree on a card.
    """
    _check_options(epsilon, max_cards, time_limit)
    _refuse(program)
    statement = program.statement
    tree: Any = zero_one if isinstance(statement.loss, ZeroOne) else risk
    clock = Clock.of(time_limit)
    answer = Answer(None, math.inf, -math.inf, 0, Termination.INTERRUPTED)
    known: Result | None = None

    # 1) Find the optimum; after an interrupt outside the search, the verified empty card.
    with heeding_interrupts():
        known = solve(
            program, "tree", time_limit=time_limit / 2, node_limit=node_limit, progress=progress
        )
    best = known
    if best is None:
        best = solve(program, "tree", time_limit=0, progress=False)
        best = replace(best, termination=Termination.INTERRUPTED)

    # 2) Find every card up to the threshold.
    done = best.termination in (Termination.COMPLETED, Termination.INFEASIBLE)
    cards: list[Card] = []
    threshold, proved = math.inf, math.inf if done else best.dual_bound
    if best.card is not None:
        if best.termination is not Termination.INTERRUPTED:
            with heeding_interrupts():
                most = _threshold(best.objective, epsilon)
                answer = tree.search_all(
                    statement, Limits(clock.left, node_limit), cutoff=most, most_cards=max_cards
                )
        # the search for the optimum may know its card, and a bound, where this one ended early
        try:
            cards, threshold = _chosen(statement, answer, best.card, epsilon, every_intercept)
        except KeyboardInterrupt:  # once more: the cards are there, and only have to be sorted
            cards, threshold = _chosen(statement, answer, best.card, epsilon, every_intercept)
        proved = min(max(answer.bound, best.dual_bound), threshold)
    return Pool(
        statement=statement,
        cards=tuple(cards),
        epsilon=epsilon,
        threshold=threshold,
        complete_up_to=proved,
        termination=best.termination if best.card is None else answer.termination,
        every_intercept=every_intercept,
        nodes=int(best.nodes or 0) + answer.nodes,
        seconds=clock.seconds,
    )


def _refuse(program: Any) -> None:
    """Refuse by name what no tree search can enumerate."""
    if not isinstance(program, Program) or program.kind != "exact":
        raise NotApplicableError(
            "a pool is enumerated from an exact program of whole points: build one with "
            "risk_score(...) or slim(...)"
        )
    statement = program.statement
    if isinstance(statement.loss, ZeroOne) and statement.intercept.kind != "grid":
        raise NotApplicableError(
            "a pool under the 0-1 loss counts totals on the data's grid, and these columns have "
            "none: bin them, or round decimals"
        )
    if not isinstance(statement.loss, RiskLoss | ZeroOne):
        raise NotApplicableError(
            f"a pool is enumerated under a smooth loss or the 0-1 loss, and {program.formulation} "
            f"has the {statement.loss.name} loss: build a risk score on the same "
            "data ({loss} is nearest to hinge), or slim",
            loss="squared_hinge",
        )
    change = program.added_by_user()
    if change:
        raise NotApplicableError(
            f"a pool is enumerated from the statement, which cannot say that {change}: pass the "
            f"rule as {program.formulation}(..., constraints=[...])"
        )


def _check_options(epsilon: float, max_cards: int, time_limit: float) -> None:
    """Raise OptionError for an option out of range."""
    if not (is_number(epsilon) and math.isfinite(epsilon) and epsilon >= 0):
        raise OptionError(f"epsilon must be a finite number >= 0, got {epsilon!r}")
    if not is_whole(max_cards, 1):
        raise OptionError(f"max_cards must be a whole number >= 1, got {max_cards!r}")
    Options(time_limit=time_limit)  # a number of seconds


def _threshold(objective: float, epsilon: float) -> float:
    """The largest objective of the pool, rounding of sums allowed for."""
    return (1.0 + epsilon) * objective + 1e-11 * max(1.0, abs(objective))


def _chosen(
    statement: Statement, answer: Answer, best: Card, epsilon: float, every_intercept: bool
) -> tuple[list[Card], float]:
    """The cards within the threshold of the best, the best first, and the threshold."""
    cards = [card for card in answer.cards if _is_itself(statement, card)]
    known = {card.coefficients.tobytes() for card in cards}
    if best.coefficients.tobytes() not in known:
        cards.append(best)
    each_once = not every_intercept or statement.intercept.step is None
    if each_once and answer.termination is not Termination.COMPLETED:
        cards += _with_better_intercepts(statement, cards)
    cards, values = by_objective(statement, list(dict.fromkeys(cards)))
    threshold = _threshold(float(values[0]), epsilon)
    kept = [i for i, value in enumerate(values) if value <= threshold]
    if each_once:
        first: dict[bytes, int] = {}
        for i in kept:
            first.setdefault(cards[i].coefficients.tobytes(), i)
        kept = list(first.values())
    chosen = [cards[i] for i in kept]
    recheck(statement, chosen, values[kept])
    return chosen, threshold


def _is_itself(statement: Statement, card: Card) -> bool:
    """Whether no allowed card divides this one: at a free scale both are the same card."""
    smaller = card.coprime
    return smaller is card or bool(statement.violations(smaller))


def _with_better_intercepts(statement: Statement, cards: Sequence[Card]) -> list[Card]:
    """The best intercept of each w: a search that ended early may have met another one first."""
    # under the 0-1 loss a w is met with all its thresholds; under limits on errors the best
    # intercept may be out of bounds
    limited = statement.limits_errors
    if limited or isinstance(statement.loss, ZeroOne):
        return []
    if statement.scales is not None:
        return [statement.with_best_intercept(card.coefficients) for card in cards]
    rows, loss, rule = statement.design.merged, statement.loss, statement.intercept
    distinct = {card.coefficients.tobytes(): card for card in cards}
    points = points_of(list(distinct.values()), statement.design.shape[1])
    refitted: list[Card] = []
    for part, totals in scores_in_parts(statement, points, np.zeros(len(points))):
        intercepts, _ = loss.best_intercepts(totals, rows.y, rows.weight, rule)
        refitted += [
            Card(w, rule.nearest(float(b))) for w, b in zip(points[part], intercepts, strict=True)
        ]
    return refitted
