"""Run a case through the package and hold every claim against :mod:`fuzz.meaning`."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any
from unittest import mock
from uuid import uuid4

import numpy as np

from fuzz.meaning import (
    LEAST,
    MOST_CARDS,
    Case,
    Truth,
    enumerate_cards,
    figures,
    limits,
    penalty,
    size_of,
)
from milpscore import constraints
from milpscore.certificate import Certificate, certify, verify_certificate
from milpscore.core.card import Card
from milpscore.core.design import Column, Design
from milpscore.core.errors import MilpscoreError
from milpscore.core.result import Claim, Result, Termination, TracePoint
from milpscore.data.ordinal import by_boundaries
from milpscore.formulations import FORMULATIONS
from milpscore.pools import pareto, pool
from milpscore.solvers import solve
from milpscore.solvers.trees.risk import tree as risk
from milpscore.solvers.trees.risk.hulls import Arrays
from milpscore.solvers.trees.risk.limit_prices import ErrorLimits, card_bounds
from milpscore.solvers.trees.risk.relaxation import IN, OUT, Node
from milpscore.solvers.trees.risk.side_bounds import Sides
from milpscore.solvers.trees.risk.support_bounds import Enumeration
from milpscore.solvers.trees.zero_one import descent as descents, tree as zero_one
from milpscore.solvers.trees.zero_one.rows import Patterns
from milpscore.solvers.trees.zero_one.support_bounds import Supports

CLAIM = 1e-6
"""What a claim of optimality allows, relative to max(1, |objective|)."""

EXACT = 1e-9
"""What two computations of one figure may differ by, relative to the same."""


_MOST_POOL = 150
"""Cards of a pool beside a search."""


class Wrong(AssertionError):
    """A claim that does not hold; ``kind`` is what a smaller case must show as well."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind


@dataclass
class Counts:
    """What was run."""

    instances: int = 0
    solves: int = 0
    answers: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        said = ", ".join(f"{count} {answer}" for answer, count in self.answers.most_common())
        return f"{self.instances} instances, {self.solves} calls: {said}"


def design_of(case: Case) -> Design:
    """The data as the package holds them."""
    return Design(
        np.array(case.X, dtype=float),
        np.array(case.y, dtype=np.int64),
        np.array(case.weight, dtype=float),
        tuple(Column(*column) for column in case.columns),  # type: ignore[arg-type]
        case.blocks,
    )


def program_of(case: Case) -> Any:
    """The program, exact."""
    rules = [getattr(constraints, kind)(**given) for kind, given in case.rules]
    given = dict(case.arguments)
    design = design_of(replace(case, y=tuple(1 if c > 0 else -1 for c in case.y)))
    if case.form == "ordinal":
        levels, cost = range(max(case.y) + 1), given.pop("cost", "absolute")
        design = by_boundaries(design, np.array(case.y), levels, cost)
    return FORMULATIONS[case.form](design, constraints=rules, **given).exact()


def truth_of(case: Case, program: Any) -> Truth:
    """Every card of a program, within the class its caveat names."""
    scales = program.statement.scales
    stated = re.search(r"stay (\S+) below T", program.statement.caveat)
    # printed with six digits: a slightly larger gap holds no card that the class lacks
    gap = Fraction(stated[1]) * Fraction(100001, 100000) if stated else None
    ends = (1.0, 1.0) if scales is None else (scales.lower, scales.upper)
    return enumerate_cards(case, ends, gap)


def check(case: Case, counts: Counts) -> None:
    """Run a case; raise Wrong for a claim that does not hold, or any error not made on purpose."""
    counts.instances += 1
    try:
        program = program_of(case)
        truth = truth_of(case, program)
        TASKS[case.task](case, program, truth, counts)
    except MilpscoreError as error:
        if "please report this" in str(error):
            raise Wrong("an error to be reported", str(error)) from error
        counts.answers[f"refused ({type(error).__name__})"] += 1
    except (Wrong, ValueError):
        raise
    except Exception as error:
        raise Wrong(f"crash {type(error).__name__}", str(error)[:300]) from error


# ------------------------------------------------------------------ what a result says


def hold(
    case: Case, result: Result, truth: Truth, caveat: str, reported: Sequence[TracePoint] = ()
) -> None:
    """Every sentence of a result against the truth, and what was ``reported`` while it was made.

    Under a ``caveat`` of the program the truth is of the cards it names, and others may be better.
    """
    best, bound = truth.best, result.dual_bound
    said = f"{result.claim} of {result.solver}, objective {result.objective!r}, bound {bound!r}; "
    said += f"enumeration: {best!r} ({truth.card})"
    size = max(1.0, abs(best)) if math.isfinite(best) else 1.0
    if bound > best + CLAIM * size:
        raise Wrong("bound above the optimum", said)
    if bound > best + EXACT * size:
        raise Wrong("bound a hair above the optimum", said)
    none = result.termination is Termination.INFEASIBLE or "no card meets" in result.message
    if result.card is None and none and math.isfinite(best):
        raise Wrong("infeasible with a card", said)
    for point in (*result.trace, *reported):
        if point.dual_bound > best + CLAIM * size:
            raise Wrong("bound above the optimum on the way", f"{point}; {said}")
    if result.card is None:
        if result.claim is not Claim.NONE:
            raise Wrong("a claim without a card", said)
        return
    hold_card(case, result.card, (result.loss, result.penalty, result.objective), bool(caveat))
    if not caveat and result.objective < best - EXACT * size:
        raise Wrong("below the optimum", said)
    if result.claim is Claim.OPTIMAL:
        if result.objective > best + CLAIM * max(1.0, abs(result.objective)):
            raise Wrong("a false optimum", said)
        if result.objective - bound > CLAIM * max(1.0, abs(result.objective)) + 1e-12:
            raise Wrong("optimal with a gap", said)


def hold_card(case: Case, card: Any, reported: tuple[float, float, float], ties: bool) -> None:
    """A card's figures and what it must meet."""
    w = card.coefficients.tolist()
    own = figures(case, w, card.intercept, card.scale, ties)
    said = f"w = {w}, b = {card.intercept}, scale {card.scale}: reported {reported}, own {own}"
    if own.broken:
        raise Wrong("a card that breaks a rule", said)
    size = EXACT * max(1.0, own.most)
    loss, charge, objective = reported
    if not own.least - size <= loss <= own.most + size or abs(charge - own.penalty) > EXACT * max(
        1.0, own.penalty
    ):
        raise Wrong("another objective than the card's", said)
    if abs(objective - loss - charge) > EXACT * max(1.0, abs(objective)):
        raise Wrong("another objective than the card's", said)


def _solve(case: Case, program: Any, truth: Truth, counts: Counts) -> None:
    """One engine's answer, and that it is one at all where nothing stopped it."""
    reported: list[TracePoint] = []
    result = solve(program, case.engine, callback=reported.append, **case.options)
    counts.solves += 1
    counts.answers[str(result.claim)] += 1
    if program.statement.caveat and not result.caveat:  # proved without a gap below T
        truth = enumerate_cards(case)
    # what HiGHS itself says is doubted only at the end; numbers it cannot hold are named
    named = "HiGHS drops" in result.message
    ours = result.solver in ("tree", "outer_approximation") and not named
    hold(case, result, truth, program.statement.caveat, reported if ours else ())
    closed = result.claim is Claim.OPTIMAL or math.isinf(truth.best)
    late = result.termination is Termination.TIME_LIMIT  # the machine's business, no claim's
    counts.answers["late"] += late
    counts.answers["named"] += named
    excused = late or named or program.statement.caveat or loose(case, result)
    if tame(case) and not (closed or excused):
        raise Wrong("left open", f"{result.claim}: {result.message}; {truth.best!r}, {truth.card}")


def tame(case: Case) -> bool:
    """Whether an engine has every reason to end with a proof: no limit, no extreme number."""
    sizes = [abs(v) for row in case.X for v in row if v]
    sizes += [float(case.margin), 1.0, *(s for s in case.weight if s)]
    # an objective of almost nothing lies within a solver's tolerance, and not within a millionth
    priced = float(case.arguments.get("lam") or 1.0) >= 1e-6
    limited = {"node_limit", "mip_gap"} & set(case.options)
    return priced and not limited and max(sizes) <= 1e3 and min(sizes) >= 1e-2


def loose(case: Case, result: Result) -> bool:
    """Whether tangents leave a gap by their nature: over all scales limits on errors hold loosely.

    There a slope times an intercept is a variable of its own.
    """
    limited = any(True for _ in limits(case))
    return result.solver == "outer_approximation" and case.free_scale and limited


def _hold_supports(statement: Any, truth: Truth, counts: Counts) -> None:
    """No card below a cutoff is outside the supports that are left, or below their bounds."""
    arrays = Arrays(statement)
    ranked = np.sort(truth.objectives[np.isfinite(truth.objectives)])
    if not len(ranked):
        return
    best = Card(np.array(truth.points[int(np.argmin(truth.objectives))]), Fraction(0))
    for share in (0.0, 0.03, 0.1, 0.4):
        # limits on errors are priced at what bounds the best card
        supports = Enumeration(arrays, Node.root(arrays), limits=ErrorLimits(arrays), known=best)
        if not supports.applies:
            return
        counts.answers["enumerated"] += 1
        cutoff = float(ranked[int(share * (len(ranked) - 1))]) * (1 + 1e-7) + 1e-11
        supports.advance(cutoff, math.inf)
        nodes = [(bound, supports.node(bound, each)) for bound, each in supports.found]
        for w, value in zip(truth.points, truth.objectives.tolist(), strict=True):
            holding = [bound for bound, node in nodes if not w[node.status == OUT].any()]
            lost = not holding or min(holding) > value + EXACT * max(1.0, value)
            if value < cutoff - EXACT * max(1.0, value) and lost:
                raise Wrong("a support lost", f"{w} at {value!r} of {cutoff!r}: {holding}")
        if supports.bound > min(truth.best, cutoff) + EXACT * max(1.0, truth.best):
            raise Wrong("bound above the optimum", f"of all supports, {supports.bound!r}")


def _hold_counts(case: Case, statement: Any) -> None:
    """What the cells of every support lose, counted row by row; also with what its terms cost."""
    arrays = Arrays(statement)
    for charged in (False, True):
        supports = Enumeration(arrays, Node.root(arrays))
        if not (supports.applies and supports.size - len(supports.needed) >= 3):
            return
        charge = supports.charge.copy() if charged else np.zeros(len(supports.classes))
        cutoff = 500.0 * float(charge.max()) if charged else math.inf  # so low that terms count
        with mock.patch("milpscore.solvers.trees.risk.support_bounds.bound_supports"):
            supports.advance(cutoff, math.inf)
        every = math.comb(len(supports.classes), supports.size)
        few = len(supports.found) < every and not statement.constraints
        if not charged and (len(supports.found) > every or few):
            raise Wrong("a support lost", f"{len(supports.found)} of {every}")
        for bound, each in supports.found:
            cells: dict[tuple[float, ...], list[float]] = {}
            for x, y, share in zip(case.X, case.y, case.weight, strict=True):
                key = tuple(x[supports.classes[c][0]] for c in each)
                cells.setdefault(key, [0.0, 0.0])[y > 0] += share / math.fsum(case.weight)
            lost = math.fsum(LEAST[case.loss](n, p) for n, p in cells.values())
            lost += float(charge[list(each)].sum())
            if math.isfinite(bound) and abs(bound - lost) > EXACT * max(1.0, lost):
                raise Wrong("cells counted otherwise", f"{each}: {bound!r}, own {lost!r}")


def _hold_errors(case: Case, statement: Any, truth: Truth, counts: Counts) -> None:
    """No 0-1 card is outside the supports, or below their bounds, whatever errors are priced at."""
    best: dict[tuple[int, ...], float] = {}  # of every support
    for w, value in zip(truth.points, truth.objectives.tolist(), strict=True):
        key = tuple(np.flatnonzero(w).tolist())
        best[key] = min(best.get(key, math.inf), value)
    ranked = sorted(value for value in best.values() if math.isfinite(value))
    if statement.caveat or not ranked:
        return
    total, most = math.fsum(case.weight), [float(max(map(abs, c))) for c, _ in limits(case)]
    dear = [[share * total / cost for cost in most] for share in (0.05, 0.6)] if most else []
    for prices, every in ([], True), ([], False), *((each, True) for each in dear):
        patterns = Patterns(statement, every_card=every, prices=prices)
        for limit in {ranked[len(ranked) // 8] + 1e-6, ranked[len(ranked) // 2] + 1e-6}:
            supports = Supports(patterns)
            held: dict[tuple[int, ...], float] = {} if len(patterns.forced) else {(): 0.0}
            while supports.floor < limit:
                held |= {tuple(sorted(each)): bound for bound, each, _ in supports.more(limit)}
                supports.commit()
            counts.answers["supports of errors"] += len(held)
            for key, value in best.items() if every else ():
                if value < limit and not held.get(key, math.inf) <= value + EXACT:
                    said = f"{key} at {value!r} of {limit!r}: {held.get(key)}, prices {prices}"
                    raise Wrong("a support lost", said)
            if not min(held.values(), default=math.inf) <= ranked[0] + EXACT:
                raise Wrong("bound above the optimum", f"{min(held.values())!r} for all supports")


def _cells(case: Case, program: Any, truth: Truth, counts: Counts) -> None:
    """The supports alone, and a search that begins with them."""
    if case.form == "risk_score":
        _hold_counts(case, program.statement)
        _hold_supports(program.statement, truth, counts)
    else:
        _hold_errors(case, program.statement, truth, counts)
    with (
        tuned(risk, first_turn=0.0, turn_nodes=1, node_cost=1e9),
        mock.patch.object(descents.CoordinateDescent, "run"),
    ):
        _solve(case, program, truth, counts)


def _hold_sides(case: Case, statement: Any, truth: Truth, counts: Counts) -> None:
    """No card of a node is below what the sides of its cells say, limits on errors kept."""
    arrays = Arrays(statement)
    sides, root = Sides(arrays, ErrorLimits(arrays)), Node.root(arrays)
    if not (sides.known and len(truth.points)):
        return
    for k in range(0, len(truth.points), 1 + len(truth.points) // 6):
        w, node = truth.points[k], root.child()
        node.status[(w == 0) & (root.status != IN)] = OUT
        out, far = node.status == OUT, 1 + k % 2  # every other node is narrow
        at = np.array(
            [int(np.flatnonzero(p == v)[0]) for p, v in zip(arrays.points, w, strict=True)]
        )
        node.lo, node.hi = np.maximum(at - far, 0), np.minimum(at + far, arrays.hi)
        node.lo[out] = node.hi[out] = at[out]
        choice = np.arange(arrays.p)
        low, high = arrays.points[choice, node.lo], arrays.points[choice, node.hi]
        within = ((truth.points >= low) & (truth.points <= high)).all(axis=1)
        least = float(truth.objectives[within].min(initial=math.inf))
        if sides.bound(node, math.inf) is None:
            continue
        counts.answers["nodes bounded"] += 1
        if node.bound > least + EXACT * max(1.0, least):
            raise Wrong("a node bounded too high", f"{low} to {high}: {node.bound!r}, {least!r}")


def _limits(case: Case, program: Any, truth: Truth, counts: Counts) -> None:
    """Bounds on each card over all slopes within the limits on errors, and a search."""
    if case.free_scale and len(truth.points):
        arrays = Arrays(program.statement)
        root = Node.root(arrays)
        found = card_bounds(arrays, ErrorLimits(arrays), truth.points, (root.s_lo, root.s_hi))
        counts.answers["cards bounded"] += len(found)
        for w, low, value in zip(truth.points, found.tolist(), truth.objectives, strict=True):
            if low > value - penalty(case, w.tolist()) + EXACT * max(1.0, value):
                raise Wrong("a card bounded too high", f"{w}: {low!r}, loses {value!r}")
    if case.form == "risk_score":
        _hold_supports(program.statement, truth, counts)
        _hold_sides(case, program.statement, truth, counts)
    else:
        _hold_errors(case, program.statement, truth, counts)
    _solve(case, program, truth, counts)


class Here:
    """A client that does each task at once, as if it had ``workers`` workers."""

    def __init__(self, workers: int) -> None:
        self.workers, self.parts = workers, 0

    def nthreads(self) -> dict[str, int]:
        """As Dask's."""
        return {"here": self.workers}

    def submit(self, work: Any, *given: Any, pure: bool) -> Any:
        """Work, done."""
        done: Any = Future()
        self.parts += 1
        done.key = uuid4().hex
        done.set_result(work(*(g.result() if isinstance(g, Future) else g for g in given)))
        return done

    def cancel(self, futures: list[Any], force: bool) -> None:
        """Nothing runs."""


def tuned(module: Any, name: str = "POLICY", **fields: Any) -> Any:
    """A search under another policy."""
    return mock.patch.object(module, name, replace(getattr(module, name), **fields))


def _shared(case: Case, program: Any, truth: Truth, counts: Counts) -> None:
    """The tree in small parts, as several workers search it; 0-1 losses mostly with signs.

    No descent finds a 0-1 card, behind which a wrong bound would hide.
    """
    signed = case.form == "slim" and len(case.y) % 4 > 0
    every: dict[str, Any] = {"enumerate_always": -1.0, "pairs_share": math.inf} if signed else {}
    here = Here(1 + len(case.y) % 3)
    with (
        tuned(zero_one, alone=0.0, part_entries=300, part_visits=100, **every),
        tuned(risk, alone=0.0),
        tuned(risk, "SHARED", part_work=1e7),
        mock.patch.object(descents.CoordinateDescent, "run"),
    ):
        _solve(replace(case, options={**case.options, "client": here}), program, truth, counts)
        counts.answers["parts"] += here.parts
        if signed and len(truth.points) <= _MOST_POOL:
            _pool(case, program, truth, counts)


def _relax(case: Case, program: Any, truth: Truth, counts: Counts) -> None:
    """The relaxation's bound."""
    below = solve(program.relaxed(), **{k: v for k, v in case.options.items() if k == "time_limit"})
    counts.solves += 1
    counts.answers["relaxed"] += 1
    if below.dual_bound > truth.best + EXACT * max(1.0, abs(truth.best)):
        raise Wrong("relaxed bound above the optimum", f"{below.dual_bound!r} > {truth.best!r}")


def _pool(case: Case, program: Any, truth: Truth, counts: Counts) -> None:
    """Every card near the best one, each once."""
    epsilon = float(case.options.get("epsilon", 0.1))
    found = pool(program, epsilon=epsilon, time_limit=20.0)
    counts.solves += 1
    counts.answers["pool" if found.complete else "open pool"] += 1
    own = {
        tuple(w): v for w, v in zip(truth.points.tolist(), truth.objectives.tolist(), strict=True)
    }
    there = {}
    for card, loss, value in zip(found.cards, found.losses, found.objectives, strict=True):
        w = tuple(card.coefficients.tolist())
        hold_card(case, card, (float(loss), penalty(case, w), float(value)), ties=False)
        if w in there or value < own.get(w, math.inf) - EXACT * max(1.0, abs(value)):
            raise Wrong("a wrong card in the pool", f"{w} at {value!r}, own {own.get(w)!r}")
        there[w] = value
    most = found.complete_up_to - CLAIM * max(1.0, abs(found.complete_up_to))
    for w, value in own.items():
        if value < most and w not in there and not _stands_as_another(case, w, value, own, there):
            raise Wrong("a card missing in the pool", f"{w} at {value!r} of {most!r}")
    if found.complete and math.isfinite(truth.best) and not found.cards:
        raise Wrong("infeasible with a card", f"an empty pool; {truth.card}")


def _stands_as_another(
    case: Case, w: tuple[int, ...], value: float, own: dict[Any, float], there: dict[Any, Any]
) -> bool:
    """Whether a smaller multiple that costs no more stands for points at a free scale."""
    divisor = math.gcd(*w) if case.free_scale else 1
    least = tuple(v // max(divisor, 1) for v in w)
    return divisor > 1 and least in there and own[least] <= value + EXACT * max(1.0, value)


def _front(case: Case, program: Any, truth: Truth, counts: Counts) -> None:
    """The best card of every size."""
    found = pareto(program, solver=case.engine, time_limit=30.0, progress=False)
    for k, result in found.results.items():
        counts.solves += 1
        counts.answers[f"front {result.claim}"] += 1
        few = np.count_nonzero(truth.points, axis=1) <= k
        part = Truth(
            truth.points[few],
            truth.objectives[few],
            [b for b, kept in zip(truth.intercepts, few, strict=True) if kept],
            [s for s, kept in zip(truth.scales, few, strict=True) if kept],
        )
        limit = min(k, case.get("max_terms", k) if case.get("max_terms") is not None else k)
        smaller = replace(case, arguments={**case.arguments, "max_terms": limit})
        hold(smaller, result, part, program.statement.caveat)
        late = result.termination is Termination.TIME_LIMIT
        closed = result.claim is Claim.OPTIMAL or math.isinf(part.best)
        if tame(case) and not (closed or late or program.statement.caveat or loose(case, result)):
            raise Wrong("left open", f"{k} terms, {result.claim}: {result.message}; {part.card}")


# ------------------------------------------------------------------ certificates


def _certificate(case: Case, program: Any, truth: Truth, counts: Counts) -> None:
    """A certificate of an answer is not refuted; one that was made false is not accepted."""
    result = solve(program, case.engine, **case.options)
    if result.card is None or result.claim is not Claim.OPTIMAL:
        return
    if program.statement.caveat and not result.caveat:  # proved without a gap below T
        truth = enumerate_cards(case)
    hold(case, result, truth, program.statement.caveat)
    made = certify(program, result)
    design = program.statement.design

    def proved(certificate: Certificate) -> Any:
        counts.solves += 1
        return verify_certificate(certificate, design, time_limit=20.0)

    found = proved(made)
    counts.answers["proved" if found.proved else "unproved"] += 1
    if any(part.status == "refuted" for part in found.parts):
        raise Wrong("a true certificate refuted", found.to_text())
    for name, changed in tampered(case, made, truth):
        counts.answers["tampered"] += 1
        try:
            again = proved(changed.sealed())
        except MilpscoreError:
            continue
        if again.proved:
            raise Wrong(f"accepted: {name}", again.to_text())


def tampered(case: Case, made: Certificate, truth: Truth) -> Iterator[tuple[str, Certificate]]:
    """Certificates that say something false, and what."""
    best, bound = truth.best, made.bound
    away = 1e-5 * max(1.0, abs(best))
    for name in ("objective", "loss", "penalty"):
        yield f"another {name}", replace(made, **{name: getattr(made, name) + away})
    yield "a bound above the optimum", replace(made, bound=best + away)
    w, b = list(made.card["coefficients"]), Fraction(made.card["intercept"])
    scale = made.card.get("scale")
    own = {
        tuple(p): v for p, v in zip(truth.points.tolist(), truth.objectives.tolist(), strict=True)
    }
    for j in range(len(w)):
        for step in (-1, 1):
            moved = [v + step * (i == j) for i, v in enumerate(w)]
            # what a caveat leaves out may still be as good with the card's own threshold
            other = figures(case, moved, b, None if scale is None else Fraction(scale), ties=False)
            differs = other.broken or abs(other.most + other.penalty - made.objective) > away
            if differs and abs(own.get(tuple(moved), math.inf) - best) > away:
                card = {**made.card, "coefficients": moved}
                yield "another card", replace(made, card=card)
    for change in (Fraction(-3), Fraction(3)):
        other = figures(case, w, b + change, None if scale is None else Fraction(scale), ties=False)
        if other.broken or abs(other.most - made.loss) > away:
            yield (
                "another intercept",
                replace(made, card={**made.card, "intercept": str(b + change)}),
            )
    if bound is None:
        return
    yield from _freer_statements(case, made, bound)
    if made.evidence["kind"] == "leaves":
        nodes = list(made.evidence["tree"])
        for k in range(0, len(nodes), max(1, len(nodes) // 4)):
            rest = {**made.evidence, "tree": nodes[:k] + nodes[k + 1 :]}
            yield "a node dropped", replace(made, evidence=rest)


def _freer_statements(
    case: Case, made: Certificate, bound: float
) -> Iterator[tuple[str, Certificate]]:
    """The same claim of a statement that allows a better card."""
    freer: list[Case] = [
        replace(case, rules=case.rules[:k] + case.rules[k + 1 :]) for k in range(len(case.rules))
    ]
    for name in ("max_terms", "intercept_bounds"):
        if case.form != "sparse_rounding" and case.arguments.get(name) is not None:
            rest = {k: v for k, v in case.arguments.items() if k != name}
            freer.append(replace(case, arguments=rest))
    if isinstance(case.get("coef_max"), int) and "weights" not in case.arguments:
        freer.append(
            replace(case, arguments={**case.arguments, "coef_max": case.get("coef_max") + 1})
        )
    if case.get("l0_penalty"):
        freer.append(replace(case, arguments={**case.arguments, "l0_penalty": 0.0}))
    from milpscore.formulations.restating import plain_statement

    for other in freer:
        if size_of(other) > MOST_CARDS:
            continue
        program = program_of(other)
        if truth_of(other, program).best < bound - 1e-5 * max(1.0, abs(bound)):
            yield "a freer statement", replace(made, statement=plain_statement(program))


TASKS: dict[str, Callable[[Case, Any, Truth, Counts], None]] = {
    "solve": _solve,
    "cells": _cells,
    "limits": _limits,
    "shared": _shared,
    "relax": _relax,
    "pool": _pool,
    "front": _front,
    "verify": _certificate,
}
"""What can be asked of a case."""
