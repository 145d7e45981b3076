"""Solve a program: what a solver is, which one runs, and what may be claimed of its answer."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from milpscore._version import __version__
from milpscore.core.card import Card
from milpscore.core.clock import Clock
from milpscore.core.cluster import one_thread
from milpscore.core.design import FloatArray
from milpscore.core.errors import NotApplicableError
from milpscore.core.program import Kind, Program
from milpscore.core.result import (
    CLAIM_TOLERANCE,
    Claim,
    Result,
    Termination,
    TracePoint,
    claim_of,
    relative_gap,
)
from milpscore.core.statement import Statement
from milpscore.losses import RiskLoss, ZeroOne
from milpscore.solvers.options import SOLVERS, ConicOptions, Options, require, require_solver
from milpscore.solvers.policy import POLICY

if TYPE_CHECKING:
    from milpscore.solvers.session import Session


Listener = Callable[[TracePoint], object]


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
    """The deadline and the trace of one run, for its listeners."""

    def __init__(
        self, time_limit: float = math.inf, listeners: Sequence[Listener] = (),
        since: Clock | None = None,
    ) -> None:  # fmt: skip
        self.deadline, self.listeners = Clock.of(time_limit), listeners
        self._own = Clock() if since is None else since
        self.trace: list[TracePoint] = []

    @property
    def seconds(self) -> float:
        """Seconds since this run started, which may be later than the call."""
        return self._own.seconds

    @property
    def remaining(self) -> float:
        """Seconds left of the call."""
        return self.deadline.left

    def note(self, objective: float, bound: float, nodes: int) -> None:
        """Record where the search stands, where objective or bound moved."""
        last = self.trace[-1] if self.trace else None
        if last and (last.objective, last.dual_bound) == (objective, bound):
            return
        self.trace.append(TracePoint(self.seconds, objective, bound, nodes))
        self.show(self.trace[-1])

    def show(self, point: TracePoint) -> None:
        """Give a point to the listeners; KeyboardInterrupt if one of them asks to stop."""
        if self.asked_to_stop(point):
            raise KeyboardInterrupt

    def asked_to_stop(self, point: TracePoint) -> bool:
        """Give a point to the listeners; whether one of them returns True."""
        answers = [each(point) for each in self.listeners]
        return any(isinstance(answer, bool | np.bool_) and answer for answer in answers)


@dataclass(frozen=True)
class Task:
    """One program to be solved, and how."""

    program: Program
    options: Any  # ConicOptions for conic programs, else Options
    start: Card | None = None  # a warm start that meets every constraint
    vector: FloatArray | None = None  # the same, by column of the session
    session: Session | None = None  # the program inside HiGHS, for solvers that ask for it
    listeners: Sequence[Listener] = ()  # each gets every TracePoint

    @property
    def kind(self) -> Kind:
        """Exact or relaxed, as it is to be solved."""
        return self.program.kind if self.session is None else self.session.kind

    @property
    def loaded(self) -> Session:
        """The session, which is there for a solver that ``loads``."""
        assert self.session is not None
        return self.session

    @property
    def form(self) -> Any:
        """The model's rows as the session compiled them; None without one."""
        return None if self.session is None else self.session.form

    def account(self, outcome: Outcome, name: str) -> dict[str, Any]:
        """What a result says of the run of the solver of this name, whatever came of it."""
        engine = SOLVERS[name]
        return {
            "formulation": self.program.formulation, "kind": self.kind, "solver": name,
            "termination": outcome.termination, "nodes": outcome.nodes,
            "build_seconds": self.program.build_seconds, "solve_seconds": outcome.seconds,
            "load_seconds": outcome.load_seconds + getattr(self.session, "load_seconds", 0.0),
            "solver_version": engine().version(),
            "random_state": getattr(self.options, "random_state", 0),
            "caveat": self.program.statement.caveat if engine.caveats else "",
            "bound_source": outcome.bound_source, "trace": tuple(outcome.trace),
            "options": self.options.as_dict(), "residuals": outcome.residuals,
        }  # fmt: skip

    def progress(self) -> Progress:
        """A run that starts now, with an empty trace."""
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
    checks : bool
        The objectives it reports are of re-checked cards.
    spreads : bool
        Searches on the workers of ``Options.client`` where there is one.
    caveats : bool
        Bounds the model, with the statement's caveat; else all cards.
    seeded : bool
        Takes a seed.
    takes_own_options : bool
        Takes ``Options.options`` in its own words.

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
    checks = False
    spreads = False
    caveats = True
    seeded = True
    takes_own_options = False

    def version(self) -> str:
        """The solver's version; MissingDependencyError where it is not installed."""
        return __version__

    def refuse(self, task: Task) -> None:  # noqa: B027 - most solvers take whatever is loaded
        """Raise NotApplicableError, naming another solver, for what this one cannot hold."""

    @abstractmethod
    def solve(self, task: Task) -> Outcome:
        """The outcome of one run within the task's options."""


def load(program: Program) -> Session:
    """Load a program into HiGHS, to be edited in place and solved several times.

    Tangents that earlier solves put into the model are taken out; the session's own stay.

    Parameters
    ----------
    program : Program

    Returns
    -------
    Session
        Pass it to :func:`solve` in place of the program.

    Raises
    ------
    NotApplicableError
        For a conic program.
    """
    if program.conic:
        raise NotApplicableError(
            "a conic program needs no session: change it with program.set and solve it again, "
            "nothing is compiled twice"
        )
    program.drop_tangents()
    return _session_of(program)


def _session_of(program: Program) -> Session:
    """The program inside HiGHS, as its model stands."""
    from milpscore.solvers.session import Session

    return Session(program)


def solve(
    program: Program | Session,
    solver: str = "auto",
    *,
    warm_start: Card | Result | None = None,
    progress: bool | None = None,
    callback: Callable[[TracePoint], object] | None = None,
    second_opinion: bool | None = None,
    **options: Any,
) -> Result:
    """Solve a program and re-check the answer from the raw data.

    Parameters
    ----------
    program : Program or Session
    solver : str
        For Pyomo's programs "highs"; "support_tree", which decides terms first, with an LP bound
        at every node; "tree", a search with convex bounds from the statement alone; or
        "outer_approximation", tangents of a smooth loss added to HiGHS's program. "auto" takes the
        tree for smooth losses and, under the 0-1 loss, where a limit or price leaves less than half
        of the supports, or cards are fewer by points than by the rows they err on; tangents where
        constraints were added to a smooth loss's model by hand; the support tree for many rows
        with few integers, and HiGHS for the rest. For conic programs "ecos", "clarabel" or
        "proximal"; "auto" takes ECOS where it is installed, and asks Clarabel as well where that
        fails. Solvers of others by Pyomo: "cbc", "glpk", "scip", "gurobi", "cplex", "xpress" or
        "pyomo:NAME"; by CVXPY: "scs", "mosek", "copt", "cvxopt", "qoco" or "cvxpy:NAME". Or a name
        of your own (``SOLVERS.register``). ``Result.solver`` says which ran.
    warm_start : Card or Result, optional
        A card to start from; every auxiliary variable is computed from it.
    progress : bool, optional
        Show a progress line; default: where standard error is a terminal.
    callback : callable, optional
        Called with each :class:`milpscore.core.result.TracePoint`, from the solver's thread. The
        solve stops, as at Ctrl-C, where it returns True.
    second_opinion : bool, optional
        True: solve with another solver as well and report the relative difference; for exact
        programs the better bound of the two is kept. By default a proof that is HiGHS's word alone
        is asked for once more, of another engine or with another seed, for as long again as it
        took and a second; ``bound_source`` says "second" where the two agree, and a disagreement
        takes the claim down. False: it is left at one solver's word.
    **options :
        Fields of :class:`milpscore.solvers.options.Options`: ``time_limit=30``,
        ``mip_gap=1e-6``, ``mip_gap_abs=0``, ``node_limit``, ``threads=1``, ``client`` (of a Dask
        cluster whose workers then search the tree together), ``memory_limit``,
        ``random_state=0``, ``presolve=True``, ``log_file``, ``cutoff``, ``options`` of the solver's
        own (``{"highs": {"mip_heuristic_effort": 0.2}}``), ``verbose=False``, or ``tee``: show
        the solver's log; for conic programs of
        :class:`milpscore.solvers.options.ConicOptions`: ``tol=1e-9``, ``max_iter``,
        ``time_limit``, ``zero_tol=1e-6``, ``verbose=False``.

    Returns
    -------
    Result
        Never worse than the empty card or the warm start where those meet every constraint.

    Raises
    ------
    OptionError
        For an unknown solver or option, and a warm start that is not a card.
    NotApplicableError
        For a program that the solver cannot hold.
    SolverError
        Where the solver fails its self-test or refuses the model.
    """
    _require_fitting(program, solver)
    if program_of(program).conic:
        from milpscore.solvers._conic import solve_conic

        if warm_start is not None:
            raise NotApplicableError("interior-point solvers take no warm start: leave it out")
        task = Task(program_of(program), ConicOptions.of(options))
        return solve_conic(task, solver, bool(second_opinion))
    if isinstance(warm_start, Result):
        if warm_start.card is None:
            raise NotApplicableError(
                "the warm start holds no card: pass a Result with one, or a Card"
            )
        warm_start = warm_start.card
    wanted = "a Card, such as Card(points, intercept), a Result that holds one, or None"
    require(warm_start is None or isinstance(warm_start, Card), "warm_start", warm_start, wanted)
    checked, start = Options.of(options), warm_start
    result, task = _run(program, solver, checked, start, progress, callback)
    unheard = [name for name in checked.options or () if SOLVERS.name_of(name) != result.solver]
    if unheard:
        result = result.with_remark(
            f"the options of {', '.join(unheard)} were not used: {result.solver} ran"
        )
    edit = task.program.edited()
    if edit and not edit.startswith("the objective"):  # another one is named, the same is none
        result = result.with_remark(
            f"the model was changed by hand ({edit}): the claim is of the model as it stands"
        )
    if second_opinion is None and _rests_on_one_word(result, task):
        if task.session is not None:
            return _asked_again(task, result, progress)
        return result.with_remark(f"the bound is {result.solver}'s word alone")
    return _with_opinion(program, result, checked) if second_opinion else result


def _require_fitting(program: Program | Session, solver: str) -> None:
    """Refuse an unknown solver, and one of the wrong kind of program."""
    if solver == "auto":
        return
    require_solver(solver)
    conic = SOLVERS[solver].conic
    wanted = program_of(program).conic
    if conic == wanted:
        return
    others = ", ".join(name for name in SOLVERS if SOLVERS[name].conic == wanted)
    name = program_of(program).formulation
    if wanted:
        raise NotApplicableError(
            f"{solver} solves linear programs in Pyomo, {name} is a conic program: use {others}, "
            "cvxpy:NAME, or program.exact() where there is one"
        )
    raise NotApplicableError(
        f"{solver} solves conic programs, {name} is a mixed-integer linear one: use {others}, "
        "or pyomo:NAME"
    )


def _run(
    program: Program | Session, solver: str, options: Options, start: Card | None,
    progress: bool | None, callback: Listener | None, led: bool = True,
) -> tuple[Result, Task]:  # fmt: skip
    """Return one solver's answer on a Pyomo program, ``led`` by a first card, and its task."""
    from milpscore.solvers.finish import finished, first_for, with_start

    of = program_of(program)
    shown = progress_line(of.formulation, progress, options.clock, options.verbose)
    with shown as line, one_thread:
        led = led and start is None and program.kind == "exact"
        zero = led and solver in ("auto", "tree") and isinstance(of.statement.loss, ZeroOne)
        first = first_for(zero, of, options, line)
        name, task, outcome = _loaded(program, solver, options, line, start or first)
        engine, clock, began = SOLVERS[name](), options.clock, options.clock.seconds
        engine.refuse(task)
        _require_spreading(name, options)
        _require_heard(solver, name, options)
        task, note = with_start(task, start)
        task, _ = with_start(task, first)
        checked = clock.seconds - began
        task, outcome = _with_limits_kept(task, outcome, line)
        # the other trees find one by themselves; it may take longer than all of a small program
        led = led and task.start is None and engine.loads
        dear = outcome is not None or of.effort > POLICY.first_seconds
        first = first or first_for(led and dear, of, options, line)
        outcome = outcome and _bounded(of, outcome, clock, line)
        began = clock.seconds
        task, _ = with_start(task, first if led else None)
        checked += clock.seconds - began
        if outcome is None:
            outcome = _searched(name, task, line, callback, checked)
            if note == "accepted" and not outcome.start_taken:
                note = f"rejected: {name} did not take it up"
        late = led and not dear and bool(outcome.termination.cut)
        first = first or first_for(late, of, options, line)
        line.phase("re-check")
        account = {**task.account(outcome, name), "warm_start": note}
        return finished(task, outcome, task.start or start, account, first), task


def _bounded(program: Program, outcome: Outcome, clock: Clock, line: Line) -> Outcome:
    """The outcome of a program that is too large for a model, with a bound that needs none."""
    if outcome.termination is not Termination.TIME_LIMIT or not clock:
        return outcome
    from milpscore.solvers.hinge_bound import hinge_bound

    line.phase("a bound without a model")
    bound = hinge_bound(program.statement, clock)
    return replace(outcome, dual_bound=bound, bound_source="evidence") if bound else outcome


def _require_spreading(name: str, options: Options) -> None:
    """Refuse workers for a solver that has no use for them."""
    if options.client is not None and not SOLVERS[name].spreads:
        raise NotApplicableError(
            f"{name} searches in this process alone: leave client out, or use {{solver}}",
            solver="tree",
        )


def _require_heard(solver: str, name: str, options: Options) -> None:
    """Refuse options in the words of a solver that takes none, or is not the one asked for."""
    given = {SOLVERS.name_of(each) for each in options.options or {}}
    named = solver != "auto" or not given
    if given and (name in given or named) and not SOLVERS[name].takes_own_options:
        raise NotApplicableError(
            f"{name} has no options of its own: leave them out, or use {{solver}}", solver="highs"
        )
    if given and named and name not in given:
        raise NotApplicableError(
            f"the options are those of {', '.join(sorted(given))}, and {name} was asked to solve"
        )


def _searched(
    name: str, task: Task, line: Line, callback: Listener | None, checked: float
) -> Outcome:
    """Run the solver of a name; ``checked`` are the seconds the start took to check."""
    from milpscore.verify import evaluate

    engine, options, program = SOLVERS[name](), task.options, task.program
    known = math.inf
    if task.start is not None and program.own_objective is None:
        known = evaluate(program.statement, task.start).objective
    line.phase(f"{name} searches", engine.checks, known)
    # what the first re-check took, the last one takes again, for a few forms of a card
    reserve = 4 * checked + (0.5 * program.effort if engine.loads else 0.0)
    barred = task.start is None and program.statement.violations(program.statement.empty_card())
    if barred and math.isfinite(options.clock.left):
        reserve += POLICY.why_share * options.clock.left  # to say why, should there be no card
    within = Clock(max(options.clock.left - reserve, 0.7 * options.clock.left))
    # HiGHS shows a log of its own
    show = None if options.verbose and name == "highs" else line.show
    cutoff = _Cutoff(math.inf if options.cutoff is None else options.cutoff)
    wanted = (show, callback, None if options.cutoff is None else cutoff)
    listeners = [each for each in wanted if each is not None]
    outcome = engine.solve(
        replace(task, options=replace(options, time_limit=within), listeners=listeners)
    )
    if cutoff.reached and outcome.termination is Termination.INTERRUPTED:
        return replace(outcome, termination=Termination.CUTOFF)
    return outcome


class _Cutoff:
    """A listener that stops a search whose bound has reached an objective."""

    def __init__(self, objective: float) -> None:
        self.objective, self.reached = objective, False

    def __call__(self, point: TracePoint) -> bool:
        """Whether to stop."""
        self.reached = self.reached or point.dual_bound >= self.objective
        return self.reached


def _with_limits_kept(
    task: Task, outcome: Outcome | None, line: Line
) -> tuple[Task, Outcome | None]:
    """The task with a card that keeps to the limits on errors, or a proof that there is none."""
    from milpscore.solvers.finish import keeping_limits, with_start

    needed = task.program.statement.limits_errors and task.kind == "exact" and task.start is None
    if outcome is not None or not needed:
        return task, outcome
    line.phase("a card within the limits on errors")
    card, reason = keeping_limits(task.program, task.options.clock.part(POLICY.limits_share))
    if reason:
        return task, Outcome(Termination.INFEASIBLE, remarks=(reason,))
    return with_start(task, card)[0], None


def _loaded(
    program: Program | Session, solver: str, options: Options, line: Line, card: Card | None
) -> tuple[str, Task, Outcome | None]:
    """The solver's name, its task, and an outcome where the time is too short to begin."""
    of, clock = program_of(program), options.clock
    spreads = options.client is not None
    name = "tree" if solver == "auto" and _tree_takes(program, spreads, card) else solver
    session = None
    outcome = None if clock else Outcome(Termination.TIME_LIMIT)
    loads = name == "auto" or SOLVERS[name].loads
    unmade = isinstance(program, Program) and not of.is_built
    if loads and unmade and of.effort > POLICY.model_share * clock:
        name = "highs" if name == "auto" else name
        remark = "a limit of 0 s leaves nothing to be searched: raise time_limit for a search"
        if clock:
            remark = (
                f"making and compiling the model takes about {of.effort:.2g} s, too long for a "
                f"limit of {clock:g} s: raise time_limit, or bin the columns so that rows merge"
            )
        outcome = Outcome(Termination.TIME_LIMIT, remarks=(remark,))
    elif loads:
        line.phase("making the model")
        if not isinstance(program, Program):
            session = program
            session.refresh()
        else:  # HiGHS alone bounds the tangents that are there; other engines begin without
            session = _session_of(program) if name == "highs" else load(program)
        name = _choose(session) if name == "auto" else name
    elif program.kind != "exact":
        raise NotApplicableError(
            f"{name} solves exact programs, and {of.formulation} is a relaxed one: use {{solver}}",
            solver="highs",
        )
    return SOLVERS.name_of(name), Task(of, options, session=session), outcome


def _tree_takes(
    program: Program | Session, spreads: bool = False, card: Card | None = None
) -> bool:
    """Whether the tree is the solver of choice, a card being known: its bounds hold."""
    of = program_of(program)
    statement = of.statement
    fitting = isinstance(statement.loss, RiskLoss)
    asked = of.arguments.get("threshold_gap") is not None  # of the model's cards alone
    if isinstance(statement.loss, ZeroOne) and not asked:
        from milpscore.solvers.trees.shared.answer import scale_of

        fitting = (spreads or _by_points(statement, card)) and scale_of(statement) is not None
    return program.kind == "exact" and fitting and not of.added_by_user()


def _by_points(statement: Statement, card: Card | None) -> bool:
    """Whether cards better than one are fewer by terms and points than by the rows they err on."""
    # the first are what the tree chooses, the second what HiGHS does: a limit or a price of terms
    # does little for its bound
    from milpscore.solvers.trees.shared.answer import most_terms
    from milpscore.verify import evaluate

    known = evaluate(statement, card or statement.empty_card())
    objective = known.objective if known.feasible else math.inf
    if 2 * most_terms(statement, objective) < statement.shape[1]:
        return True  # of all supports less than half are left
    lower, upper = statement.ranges
    terms = np.maximum(np.abs(lower), np.abs(upper)) * np.abs(statement.design.X).max(axis=0)
    if terms.max(initial=0.0) > POLICY.widest_term:
        return True  # HiGHS rounds such terms away
    points = sum(math.log(1.0 + values) for values in (upper - lower).tolist())
    rows = len(statement.design.merged.y)
    wrong = min(objective, 0.5) * rows
    return points <= math.lgamma(rows + 1) - math.lgamma(wrong + 1) - math.lgamma(rows - wrong + 1)


def _choose(session: Session) -> str:
    """What ``auto`` means for a program in HiGHS."""
    from milpscore.solvers._support_tree import SupportTree

    if session.program.takes_tangents:
        return "outer_approximation"  # HiGHS alone would bound the tangents there are
    return "support_tree" if SupportTree.suits(session) else "highs"


def _with_opinion(program: Program | Session, result: Result, options: Options) -> Result:
    """The result with what another exact engine says; the better bound of the two is kept."""
    of = program_of(program)
    other = "outer_approximation" if of.takes_tangents else "highs"
    other = other if result.solver == "tree" else "tree"
    try:
        asked = replace(options, client=None, options=None, cutoff=None)
        second, _ = _run(program, other, asked, None, False, None, False)
    except NotApplicableError as error:
        return result.with_remark(f"no second opinion: {error}")
    if result.card is not None:
        of.fill(result.card)
    result = result.with_opinion(second)
    both = result.verified and second.verified
    if not both:
        return result
    if result.bound_source == "solver" and {result.claim, second.claim} == {Claim.OPTIMAL}:
        result = replace(result, bound_source="second")
    if not result.dual_bound < second.dual_bound <= result.objective:
        return result
    claim = claim_of(True, result.objective, second.dual_bound, trivial=0.0)
    return replace(
        result, dual_bound=second.dual_bound, bound_source="second", claim=claim,
        caveat=second.caveat or result.caveat,
    )  # fmt: skip


def _rests_on_one_word(result: Result, task: Task) -> bool:
    """Whether nothing but what one engine says of its own search stands behind a proof."""
    if task.session is not None and _rules_out(result) and task.kind == "exact":
        return True
    proved = result.claim is Claim.OPTIMAL and task.kind == "exact"
    # losses and penalties are never negative: 0 needs no proof
    beyond = result.objective > 0.0 or task.program.own_objective is not None
    return proved and beyond and result.bound_source == "solver"


def _rules_out(result: Result) -> bool:
    """Whether a result says that there is no card."""
    return result.card is None and result.termination is Termination.INFEASIBLE


def _asked_again(task: Task, result: Result, progress: bool | None) -> Result:
    """The result after another engine, or the same with another seed, searched for better cards."""
    from milpscore.solvers.finish import least_of

    options, program = task.options, task.program
    other = _another(task, result.solver)
    seconds, nodes = _again_within(result, options)
    if seconds <= 0:
        word = "that there is none" if _rules_out(result) else "the bound"
        return result.with_remark(f"{word} is {result.solver}'s word alone: no time was left")
    again = replace(
        options, time_limit=Clock(seconds), node_limit=nodes, presolve=not options.presolve,
        cutoff=None, random_state=(options.random_state + 1) % 2**31,
        options=options.options if other == result.solver else None,
    )  # fmt: skip
    loads = SOLVERS[other].loads
    # without a start, which would lead HiGHS the same way again
    with task.loaded.otherwise() if loads else nullcontext(program) as what:
        second, _ = _run(what, other, again, None, progress, None, False)
    result = replace(result, solve_seconds=result.solve_seconds + second.solve_seconds)
    none, allowed = _rules_out(result), CLAIM_TOLERANCE * abs(result.objective)
    if second.verified and (none or second.objective < result.objective - allowed):
        said = "the program infeasible" if none else f"a card of {result.objective:.9g} optimal"
        unproved = replace(
            second, dual_bound=least_of(program), bound_source="trivial", claim=Claim.FEASIBLE
        )
        return unproved.with_remark(
            f"{result.solver} called {said}, {other} found this one: neither bound is used"
        )
    if none:
        return result
    program.fill(result.card)  # type: ignore[arg-type]
    how = f"{other}, seed {again.random_state}"
    if loads:
        allowed = max(allowed, POLICY.other_tolerance / task.loaded.scale)  # of the second run
    if second.dual_bound >= result.objective - allowed:
        found = second.objective if second.verified else math.inf  # within what a claim allows
        return replace(result, bound_source="second", dual_bound=min(result.dual_bound, found))
    if second.termination in (Termination.COMPLETED, Termination.INFEASIBLE):
        least = least_of(program)
        bound = max(second.dual_bound, least)
        claim = claim_of(True, result.objective, bound, trivial=least)
        return replace(result, dual_bound=bound, bound_source="second", claim=claim).with_remark(
            f"{result.solver} proved {result.dual_bound:.9g}, a second run ({how}) no more than "
            f"{bound:.9g}: that is the bound"
        )
    spent = f"{seconds:.1f} s" if math.isfinite(seconds) else f"{second.nodes} nodes"
    return result.with_remark(
        f"the bound is {result.solver}'s word alone: a second run ({how}) reached "
        f"{max(second.dual_bound, least_of(program)):.6g} in {spent}"
    )


def _again_within(result: Result, options: Options) -> tuple[float, int | None]:
    """Seconds and nodes of a second run: nodes alone where they alone end the first one."""
    if options.node_limit is not None and math.isinf(options.time_limit):
        nodes = int(POLICY.again_share * result.nodes) + POLICY.again_nodes
        return math.inf, min(nodes, options.node_limit)
    again = POLICY.again_share * result.solve_seconds + POLICY.again_seconds
    return min(again, 0.9 * options.clock.left), options.node_limit


def _another(task: Task, solver: str) -> str:
    """The engine to ask beside this one: one that searches otherwise, where there is one."""
    if solver == "outer_approximation" and _tree_takes(task.program):
        return "tree"
    own = solver in ("highs", "tree", "outer_approximation")
    return solver if own else "highs"


def program_of(program: Program | Session) -> Program:
    """The program itself, loaded or not."""
    return program if isinstance(program, Program) else program.program


class Line:
    """Progress of a call: its phase, the share of its time, the best card."""

    def __init__(self, title: str, clock: Clock, write: Callable[[str], None]) -> None:
        self.title, self.clock, self.write = title, clock, write
        self.now, self.checked, self.point, self.verified = "", True, "", math.inf

    def phase(self, name: str, checked: bool = True, verified: float = math.inf) -> None:
        """Begin a phase that shows re-checked cards (``checked``), ``verified`` being known."""
        self.now, self.checked, self.point, self.verified = name, checked, "", verified
        self._say()

    def show(self, point: TracePoint) -> None:
        """Show a moment of the search."""
        self.point = _described(point, self.checked, self.verified)
        self._say()

    def _say(self) -> None:
        share = f", {self.clock.seconds / self.clock:.0%} of {self.clock:g} s" if self.clock else ""
        self.write(f"{self.title}: {self.now}{share}{self.point}")


@contextmanager
def progress_line(
    title: str, wanted: bool | None, clock: Clock, verbose: bool = False
) -> Iterator[Line]:
    """A live line on standard error, by default (None) where that is a terminal; or a line each."""
    if verbose:
        yield Line(title, clock, lambda text: _tell(f"{text}\n"))
        return
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield Line(title, clock, lambda text: None)
        return
    from rich.console import Console

    with Console(stderr=True).status(title) as status:
        yield Line(title, clock, status.update)


def _tell(line: str) -> None:
    """A line of a log, at once."""
    sys.stderr.write(line)
    sys.stderr.flush()


def _described(point: TracePoint, checked: bool, verified: float) -> str:
    """One moment of a search in words: the best card that was re-checked, and what is proved."""
    found = point.objective
    # losses and penalties are never negative
    bound = max(point.dual_bound, 0.0) if math.isfinite(point.dual_bound) else point.dual_bound
    same = math.isclose(found, verified, rel_tol=1e-9)
    best = min(found, verified) if checked or same else verified
    shown, low = (f"{v:.6g}" if math.isfinite(v) else "none yet" for v in (best, bound))
    gap = ""
    if math.isfinite(best) and math.isfinite(bound):
        gap = f"  gap {100 * relative_gap(best, bound):.2f}%"
    beyond = "" if found >= best or same else f" ({found:.6g} still to be verified)"
    return f"  verified objective {shown}{beyond}  bound {low}{gap}  nodes {point.nodes}"
