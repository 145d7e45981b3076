"""Input and answer of every tree search, and the solver that runs the one a loss asks for."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import IntArray
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.result import CLAIM_TOLERANCE, Termination, TracePoint, relative_gap
from milpscore.core.statement import Statement
from milpscore.core.writing import write_text
from milpscore.losses import RiskLoss, ZeroOne
from milpscore.penalties import L0
from milpscore.solvers.engine import Listener, Outcome, Progress, Solver, Task


@dataclass(frozen=True)
class SharedPolicy:
    """What every tree search is tuned with, measured by benchmarks/bench_risk.py."""

    most_trace: int = 10_000  # moments of the trace; beyond it every second one is forgotten
    # values that all coefficients together may take: each has a place in the tables
    most_points: int = 2_000_000
    # bits of the first of two whole numbers that hold a total where columns have no step
    first_bits: int = 58
    second_bits: int = 60  # bits of the second one
    zero_noise: float = 1e-12  # what rounding leaves open of a smooth loss next to 0
    # share of the gap at which nodes are closed, so that rounding never leaves it just unproved
    gap_share: float = 0.999
    node_bytes: int = 128  # bytes of a node's number and its place in the heap
    parts_ahead: int = 3  # parts that are out per worker, so that a slow one keeps nobody waiting
    # nanoseconds of counted work in a part: long beside its way, short beside a search
    part_work: float = 1.5e9
    # times that processes are replaced: a part that kills its process would kill the next one too
    most_replacements: int = 3
    triples_written: int = 1 << 15  # triples written in one go
    triples_counted: int = 100_000  # triples counted between two looks at the work


POLICY = SharedPolicy()
"""What runs are tuned with; tests set another."""


def half_of_free() -> float:
    """Half the bytes that are free, for this machine and for this container; 2^31 if untold."""
    meminfo = Path("/proc/meminfo")
    free = 2.0**32
    if meminfo.exists():
        free = 1024.0 * int(meminfo.read_text().partition("MemAvailable:")[2].split()[0])
    most, used = (Path("/sys/fs/cgroup") / name for name in ("memory.max", "memory.current"))
    if most.exists() and (limit := most.read_text().strip()) != "max":
        free = min(free, float(limit) - float(used.read_text()))
    return max(free, 0.0) / 2


@dataclass(frozen=True)
class Limits:
    """When a search ends; the gap to reach is max(gap_abs, gap_rel |objective|)."""

    time_limit: float = math.inf
    node_limit: int | None = None  # relaxations solved; under the 0-1 loss weight vectors bounded
    gap_abs: float = 0.0
    gap_rel: float = 0.0
    # beyond these open nodes, or bytes of them, a search no longer goes best first
    most_open: int | None = None
    memory: float = field(default_factory=half_of_free)

    def __post_init__(self) -> None:
        for name in ("time_limit", "node_limit", "gap_abs", "gap_rel", "most_open", "memory"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise OptionError(f"{{argument}} must be >= 0, got {value!r}", argument=name)

    def most_of(self, thing: Any, *parts: Any) -> int:
        """How many like a thing with these parts may be open."""
        if self.most_open is not None:
            return self.most_open
        # each has a number and a place in a heap
        size = sum(map(sys.getsizeof, (thing, *parts))) + POLICY.node_bytes
        return int(min(self.memory / size, sys.maxsize))

    def cutoff(self, objective: float) -> float:
        """Return what a bound must reach beside a card: the objective less the gap asked for."""
        if not math.isfinite(objective):
            return objective
        gap = max(self.gap_abs, self.gap_rel * abs(objective))
        return objective - POLICY.gap_share * gap

    @property
    def nodes(self) -> float:
        """The node limit, infinite without one."""
        return math.inf if self.node_limit is None else self.node_limit


@dataclass(frozen=True, eq=False)
class Answer:
    """What a search found and proved."""

    card: Card | None
    objective: float
    bound: float  # no allowed card is below it; in a search for all ``cards``, none but these
    nodes: int
    termination: Termination
    trace: list[TracePoint] = field(default_factory=list)
    cards: list[Card] = field(default_factory=list)
    seconds: float = 0.0
    supports: int = 0  # bounded by their cells
    opened: int = 0  # those of which the weights were searched

    @property
    def gap(self) -> float:
        """(objective - bound) / |objective|, 0 where both are 0."""
        return relative_gap(self.objective, self.bound)


def check_start(statement: Statement, start: Card | None) -> None:
    """Refuse a card that is not allowed."""
    if start is not None and (broken := statement.violations(start)):
        raise OptionError(f"start is not allowed ({broken[0]}): pass another card, or none")


def check_cutoff(cutoff: float, most_cards: int) -> None:
    """Refuse what no search for all cards can keep to."""
    if not math.isfinite(cutoff):
        raise OptionError(
            f"cutoff must be a finite number, got {cutoff!r}: search for a card first"
        )
    if most_cards < 1:
        raise OptionError(f"most_cards must be >= 1, got {most_cards!r}")


def most_terms(statement: Statement, objective: float = math.inf) -> int:
    """Return the most terms a card as good as an objective can have: prices leave no more room."""
    p = statement.shape[1]
    limit = p if statement.max_terms is None else min(statement.max_terms, p)
    price = sum(term.lam for term in statement.penalties if isinstance(term, L0))
    if not price > 0 or not math.isfinite(objective):
        return limit
    rows, least = statement.design.merged, 0.0
    if isinstance(statement.loss, ZeroOne):  # of rows that contradict each other the lighter ones
        least = float(rows.weight[rows.conflicts].min(axis=1).sum() / rows.weight.sum())
    return min(limit, int(max(objective - least, 0.0) / price))


def largest_sums(values: Any, free: Any, spare: int) -> Any:
    """Sum each row's values, of the ``free`` columns the ``spare`` largest above 0."""
    optional = np.maximum(values[:, free], 0)
    if 0 < spare < optional.shape[1]:
        optional = -np.partition(-optional, spare, axis=1)
    return values[:, ~free].sum(axis=1) + optional[:, :spare].sum(axis=1)


class Scale(NamedTuple):
    """The step in which totals are compared, and the bits of it that a second number holds."""

    step: Fraction
    bits: int


def scale_of(statement: Statement) -> Scale | None:
    """Return how totals are compared to the last digit; None if they have too many digits."""
    # a float is a whole number of powers of two: two whole numbers hold every total
    design = statement.design
    step = statement.intercept.step or design.fine_step
    if step is not None:
        return Scale(step, 0)
    ends = np.maximum(np.abs(statement.coef_min), np.abs(statement.coef_max)).astype(float)
    reach = float(np.abs(design.X).max(axis=0) @ ends)
    bits = POLICY.second_bits - math.frexp(float(ends.sum()))[1]
    at = math.frexp(reach)[1] - POLICY.first_bits - bits
    fits = math.isfinite(reach) and bits > 0 and -1000 < at <= min(design.last_bit, 0)
    return Scale(Fraction(1, 1 << -at), bits) if fits else None


def choices_of(statement: Statement) -> list[IntArray]:
    """The values each coefficient may take, ascending; OptionError for none or too many."""
    lower, upper = statement.ranges
    most = int((upper - lower + 1).sum())
    if most > POLICY.most_points:
        raise OptionError(
            f"the coefficients take {most} values together, above {POLICY.most_points}: narrow the "
            "ranges"
        )
    choices = [np.arange(lower[j], upper[j] + 1, dtype=np.int64) for j in range(len(lower))]
    for j, allowed in statement.coef_sets.items():
        choices[j] = np.array(sorted(allowed), dtype=np.int64)
    for j, values in enumerate(choices):
        if not len(values):
            raise OptionError(f"feature {j} has no value to take: its range or set is empty")
    return choices


class SearchClock(Progress):
    """A search's time, its trace, and why it ended."""

    def __init__(self, limits: Limits, listeners: Sequence[Listener] = ()) -> None:
        super().__init__(limits.time_limit, listeners)
        self.limits = limits
        self.termination = Termination.COMPLETED

    def out(self, nodes: int) -> bool:
        """Whether time or nodes are used up; sets the termination."""
        if self.remaining <= 0:
            self.termination = Termination.TIME_LIMIT
        elif nodes >= self.limits.nodes:
            self.termination = Termination.NODE_LIMIT
        else:
            return False
        return True

    def tell(self, point: TracePoint, news: bool = True) -> None:
        """Show a moment, and keep it where it is news."""
        if news:
            if len(self.trace) >= POLICY.most_trace:
                del self.trace[1:-1:2]
            self.trace.append(point)
        self.show(point)

    def interrupted(self) -> None:
        """Take note that the user pressed Ctrl-C."""
        self.termination = Termination.INTERRUPTED


_WIDTHS = {"seconds": 9, "nodes": 12, "open": 10, "depth": 6, "best": 14, "bound": 14, "gap": 8}


class SearchLog:
    """A listener that writes a line a second, and one for every better card, to a file."""

    def __init__(self, path: str) -> None:
        self.path, self.written, self.best = path, -math.inf, math.inf
        write_text(path, " ".join(f"{name:>{n}}" for name, n in _WIDTHS.items()) + "\n")

    def __call__(self, point: TracePoint) -> None:
        """Write a moment of the search, where it is time."""
        if point.seconds < self.written + 1.0 and point.objective >= self.best:
            return
        self.write(point)

    def write(self, point: TracePoint) -> None:
        """Write a moment of the search."""
        self.written, self.best = point.seconds, point.objective
        ends = point.objective, point.dual_bound
        gap = f"{relative_gap(*ends):8.2%}" if all(map(math.isfinite, ends)) else ""
        with Path(self.path).open("a", encoding="utf-8") as file:
            counts = f"{point.nodes:12d} {point.open_nodes:10d} {point.depth:6d}"
            figures = f"{point.seconds:9.2f} {counts} {ends[0]:14.8g} {ends[1]:14.8g} {gap}"
            file.write(f"{figures.rstrip()}\n")


class Tree(Solver):
    """Tree search, of exact programs from the statement alone.

    The bound is recomputed at every node; ``threads`` are processes that share the open nodes.
    """

    spreads = True
    caveats = False

    def refuse(self, task: Task) -> None:
        """Refuse by name what the tree cannot see or hold: other losses, a changed model."""
        program = task.program
        statement = program.statement
        if isinstance(statement.loss, ZeroOne) and scale_of(statement) is None:
            raise NotApplicableError(
                "the tree search compares totals to the last digit, and these columns have too "
                "many: round them, bring them to like sizes, or use {solver}",
                solver="highs",
            )
        if not isinstance(statement.loss, RiskLoss | ZeroOne):
            raise NotApplicableError(
                f"the tree search has no bounds for the {statement.loss.name} loss: use {{solver}}",
                solver="highs",
            )
        change = program.added_by_user()
        if change:
            other = "highs" if isinstance(statement.loss, ZeroOne) else "outer_approximation"
            raise NotApplicableError(
                f"the tree search works from the statement and cannot see that {change}: use "
                "{solver}",
                solver=other,
            )

    def solve(self, task: Task) -> Outcome:
        """Search the merged rows."""
        statement, options = task.program.statement, task.options
        zero = isinstance(statement.loss, ZeroOne)
        limits = Limits(
            options.time_limit,
            options.node_limit,
            gap_abs=max(options.mip_gap_abs, 0.0 if zero else POLICY.zero_noise),
            # errors are counted to the last digit, smooth losses to half of what a claim allows
            gap_rel=max(options.loose_gap, 0.0 if zero else 0.5 * CLAIM_TOLERANCE),
            memory=half_of_free() if options.memory is None else options.memory,
        )
        answer = _search(statement, limits, task)
        ended, gap = answer.termination, answer.objective - max(answer.bound, 0.0)
        asked = options.loose_gap or options.mip_gap_abs
        if ended is Termination.COMPLETED and asked and gap > CLAIM_TOLERANCE * answer.objective:
            ended = Termination.GAP_REACHED
        return Outcome(
            ended, card=answer.card, dual_bound=answer.bound, nodes=answer.nodes,
            seconds=answer.seconds, trace=answer.trace,
            # leaves that rest on limits on errors are beyond a certificate's checker, which off the
            # grid counts the model's cards alone
            bound_source="solver" if statement.limits_errors or statement.caveat else "evidence",
        )  # fmt: skip


def _search(statement: Statement, limits: Limits, task: Task) -> Answer:
    """Run the tree that the loss asks for, within what the constraints leave of the ranges."""
    narrow = statement.narrowed()
    if narrow is None:
        return Answer(None, math.inf, math.inf, 0, Termination.INFEASIBLE)
    statement = narrow
    options = task.options
    logs = [] if options.log_file is None else [SearchLog(options.log_file)]
    given: dict[str, Any] = {
        "start": task.start, "listeners": [*task.listeners, *logs],
        "jobs": options.threads, "client": options.client,
    }  # fmt: skip
    if isinstance(statement.loss, ZeroOne):
        from milpscore.solvers.trees.zero_one import tree as zero_one

        answer = zero_one.search(statement, limits, random_state=options.random_state, **given)
    else:
        from milpscore.solvers.trees.risk import tree as risk

        answer = risk.search(statement, limits, **given)
    for log in logs:
        log.write(TracePoint(answer.seconds, answer.objective, answer.bound, answer.nodes))
    return answer
