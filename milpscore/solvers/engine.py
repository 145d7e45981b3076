"""What a solver is: it takes a task and answers an outcome, which ``solve`` re-checks."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from milpscore._version import __version__
from milpscore.core.card import Card
from milpscore.core.design import FloatArray
from milpscore.core.program import Kind, Program
from milpscore.core.result import Termination, TracePoint

if TYPE_CHECKING:
    from milpscore.solvers.session import Session

Listener = Callable[[TracePoint], None]


@dataclass
class Outcome:
    """What a solver answers, before any re-check; it fills in what it knows.

    Attributes
    ----------
    termination : Termination
    status : str
        The solver's own word.
    card : Card or None
        Of a solver that answers with a card.
    values : ndarray or None
        By column of the session, or of the standard conic form; only a feasible point.
    point : (ndarray of shape (p,), float) or None
        Real coefficients and intercept, of a conic program.
    row_dual, col_dual : ndarray or None
        Duals of rows and reduced costs.
    dual_bound : float
    bound_source : str
        As in :class:`milpscore.core.result.Result`.
    start_taken : bool
        False where the solver had a start and did not take it up.
    load_seconds : float
        Compiling what the solver reads.
    residuals : mapping
        As in :class:`milpscore.core.result.Result`.
    remarks : tuple of str
        For the result's message.
    """

    termination: Termination
    status: str = ""
    card: Card | None = None
    values: FloatArray | None = None
    point: tuple[FloatArray, float] | None = None
    row_dual: FloatArray | None = None
    col_dual: FloatArray | None = None
    dual_bound: float = -math.inf
    bound_source: str = "solver"
    nodes: int = 0
    seconds: float = 0.0
    load_seconds: float = 0.0
    start_taken: bool = True
    residuals: Mapping[str, float] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    trace: Sequence[TracePoint] = ()


class Progress:
    """The clock and the trace of one run, told to whoever listens."""

    def __init__(self, time_limit: float = math.inf, listeners: Sequence[Listener] = ()) -> None:
        self.time_limit, self.listeners = time_limit, listeners
        self.started = time.perf_counter()
        self.trace: list[TracePoint] = []

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def remaining(self) -> float:
        """Seconds left."""
        return self.time_limit - self.seconds

    def note(self, objective: float, bound: float, nodes: int) -> None:
        """Record where the search stands, where objective or bound moved."""
        last = self.trace[-1] if self.trace else None
        if last and (last.objective, last.dual_bound) == (objective, bound):
            return
        self.trace.append(TracePoint(self.seconds, objective, bound, nodes))
        for each in self.listeners:
            each(self.trace[-1])


@dataclass(frozen=True)
class Task:
    """One program to be solved, and how.

    ``options`` are ConicOptions for conic programs, else Options. ``start`` is a warm start that
    meets every constraint, ``vector`` the same by column of ``session``, which is the program
    inside HiGHS for solvers that ask for it. ``listeners`` are told each TracePoint.
    """

    program: Program
    options: Any
    start: Card | None = None
    vector: FloatArray | None = None
    session: Session | None = None
    listeners: Sequence[Listener] = ()

    @property
    def kind(self) -> Kind:
        """Exact or relaxed, as it is to be solved."""
        return self.program.kind if self.session is None else self.session.kind

    @property
    def loaded(self) -> Session:
        """The session, which is there for a solver that ``loads``."""
        assert self.session is not None
        return self.session

    def progress(self) -> Progress:
        """A clock that starts now, and an empty trace."""
        return Progress(self.options.time_limit, self.listeners)


class Solver(ABC):
    """A way to solve programs; ``SOLVERS.register("mine", Mine)`` makes one known by name.

    Attributes
    ----------
    conic : bool
        Takes conic programs, else Pyomo's.
    loads : bool
        Reads the program inside HiGHS (``task.session``), relaxed or exact; else it reads an exact
        program by itself.
    clock : bool
        Can be stopped by a time limit.

    Examples
    --------
    >>> class Empty(Solver):
    ...     def solve(self, task):
    ...         return Outcome(Termination.HEURISTIC, card=task.program.statement.empty_card())
    >>> SOLVERS.register("empty", Empty)                   # doctest: +SKIP
    >>> solve(program, "empty")                            # doctest: +SKIP
    """

    conic = False
    loads = False
    clock = True

    def version(self) -> str:
        """The solver's version; MissingDependencyError where it is not installed."""
        return __version__

    def refuse(self, task: Task) -> None:  # noqa: B027 - most solvers take whatever is loaded
        """Raise NotApplicableError, naming another solver, for what this one cannot hold."""

    @abstractmethod
    def solve(self, task: Task) -> Outcome:
        """The outcome of one run within the task's options."""
