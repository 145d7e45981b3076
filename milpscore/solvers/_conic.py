"""Conic programs: choose a solver, run it, polish, re-check, ask for a second opinion."""

from __future__ import annotations

import math
import time
import warnings
from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from milpscore.core.conic import (
    ConeForm,
    ConicProgram,
    ConicStatement,
    WeightedRows,
    compiled,
    load_values,
)
from milpscore.core.design import FloatArray
from milpscore.core.errors import (
    MissingDependencyError,
    NotApplicableError,
    OptionError,
    SolverError,
    near_matches,
)
from milpscore.core.result import CLAIM_TOLERANCE, Claim, Result, Termination, claim_of
from milpscore.core.statement import InterceptRule
from milpscore.losses import Hinge
from milpscore.proximal import ProximalResult, fit_proximal
from milpscore.proximal.engine import Algorithm
from milpscore.solvers.engine import Outcome, Solver, Task
from milpscore.solvers.options import SOLVERS, ConicOptions
from milpscore.solvers.policy import POLICY
from milpscore.verify import Evaluation
from milpscore.verify.cards import (
    added_violations,
    evaluate_conic,
    fenchel_bound,
    null_point,
    smooth_part,
)


def solve_conic(task: Task, solver: str, second_opinion: bool) -> Result:
    """Solve a conic program; where "auto" fails, by another solver as well."""
    program: Any = task.program
    program.require_stated()
    moved = program.restore_parameters()
    options: ConicOptions = task.options
    name, reason = _choose(options) if solver == "auto" else (SOLVERS.name_of(solver), "")
    if options.time_limit == 0:
        nothing = Outcome(Termination.TIME_LIMIT, "not started", bound_source="evidence")
        return _result(task, name, nothing, reason, moved)
    outcome, remarks = _run(task, name), [reason, moved]
    failures = Termination.INACCURATE, Termination.ERROR, Termination.ITERATION_LIMIT
    if solver == "auto" and outcome.termination in failures:
        other = _another(name, options)
        if other is not None:
            remarks.append(f"{name} stopped with {outcome.status!r}, so {other} was asked as well")
            second = _run(task, other)
            if _cost(program, second) <= _cost(program, outcome):
                outcome, name = second, other
            elif outcome.point is not None:
                program.load(*outcome.point)
    result = _result(task, name, outcome, *remarks)
    return _with_opinion(task, result, name) if second_opinion else result


def _run(task: Task, name: str) -> Outcome:
    """One solver's outcome."""
    engine = SOLVERS[name]()
    if not engine.clock and math.isfinite(task.options.time_limit):
        raise OptionError(
            f"{name} cannot be stopped by the clock: use {{max_iter}}, or {{solver}}, which "
            "knows a {time_limit}",
            max_iter=...,
            solver="clarabel",
            time_limit=...,
        )
    engine.refuse(task)
    return engine.solve(task)


def _choose(options: ConicOptions) -> tuple[str, str]:
    """The solver ``auto`` means, and why."""
    if math.isfinite(options.time_limit):
        return "clarabel", "auto: clarabel, because ECOS cannot be stopped by the clock"
    try:
        SOLVERS["ecos"]().version()
    except MissingDependencyError as error:
        return "clarabel", f"auto: clarabel, because {error}"
    return "ecos", "auto: ecos, the first choice for cones"


def _another(name: str, options: ConicOptions) -> str | None:
    """The conic solver to ask besides ``name``; None where there is none."""
    other = "clarabel" if name != "clarabel" else "ecos"
    engine = SOLVERS[other]()
    if not engine.clock and math.isfinite(options.time_limit):
        return None
    try:
        engine.version()
    except MissingDependencyError:
        return None
    return other


def _cost(program: ConicProgram, outcome: Outcome) -> float:
    """The objective of an outcome's point; infinite without one."""
    point = outcome.point
    return math.inf if point is None else evaluate_conic(program.statement, *point).objective


class ConeSolver(Solver):
    """A solver of the standard conic form: it states ``run``, all else is done here."""

    conic = True

    @abstractmethod
    def run(self, form: ConeForm, options: ConicOptions) -> Outcome:
        """Solve a standard form: ``values`` is x (q,), ``row_dual`` z (m,) with c + A'z = 0."""

    def solve(self, task: Task) -> Outcome:
        """The outcome, and where that leaves a gap the better one of two."""
        # a solver's tolerances are absolute below 1: where the optimum is tiny (little penalty,
        # separable classes) it stops too early, and goes further with its costs scaled up
        program: Any = task.program
        options: ConicOptions = task.options
        first = self._attempt(program, options)
        left = options.time_limit - first.seconds
        retried = Termination.COMPLETED, Termination.INACCURATE, Termination.ERROR
        if first.termination not in retried or left <= 0 or not _leaves_gap(program, first):
            return first
        again = self._attempt(program, replace(options, time_limit=left), scale=POLICY.cost_scale)
        better = _cost(program, again) <= _cost(program, first)
        chosen, other = (again, first) if better else (first, again)
        return replace(
            chosen, seconds=first.seconds + again.seconds,
            dual_bound=max(chosen.dual_bound, other.dual_bound),
            load_seconds=first.load_seconds + again.load_seconds,
            remarks=(*chosen.remarks, f"solved again with the costs times {POLICY.cost_scale:g}"),
        )  # fmt: skip

    def _attempt(self, program: ConicProgram, options: ConicOptions, scale: float = 1.0) -> Outcome:
        """One solve; the cone grows until it states the penalty at the point found."""
        seconds, load_seconds = 0.0, 0.0
        remarks: tuple[str, ...] = ()
        for _ in range(POLICY.most_growths):
            started = time.perf_counter()
            form = compiled(program.model)
            load_seconds += time.perf_counter() - started
            try:
                # the program with its costs scaled has the duals scaled
                outcome = self.run(replace(form, c=form.c * scale), options)
            except KeyboardInterrupt:
                outcome = Outcome(Termination.INTERRUPTED, "interrupted")
            seconds += outcome.seconds
            outcome = replace(outcome, seconds=seconds, load_seconds=load_seconds, remarks=remarks)
            outcome.bound_source = "evidence"
            if outcome.values is None or outcome.row_dual is None:
                return outcome
            x, z = outcome.values, outcome.row_dual / scale
            load_values(program.model, form, x, z, float(form.c @ x))
            outcome.residuals = form.residuals(x, z)
            growth = program.grow()
            if not growth:
                break
            outcome.remarks = remarks = (*remarks, growth)
        w, b = program.coefficients()
        outcome.dual_bound = fenchel_bound(program.statement, w, b, _row_duals(program))
        outcome.point = polished(program, w, b, options.zero_tol)
        outcome.dual_bound = max(outcome.dual_bound, _bound_nearby(program, outcome))
        _consider_solver_bound(program, outcome, form.dual_bound(x, z))
        return outcome


def _leaves_gap(program: ConicProgram, outcome: Outcome) -> bool:
    """Whether the point is missing, or further from its bound than solvers agree on."""
    if outcome.point is None:
        return True
    objective = _cost(program, outcome)
    # with constraints added the bound is the solver's own, which is not as close
    close = CLAIM_TOLERANCE if program.added else POLICY.good_bound
    return not objective - outcome.dual_bound <= close * max(abs(objective), 1e-12)


def _bound_nearby(program: ConicProgram, outcome: Outcome) -> float:
    """A bound from points near a good one, by the proximal path; -inf where it has none."""
    # a Fenchel bound at a point is off by as much as the point is, an objective by the square of
    # that: a few proximal steps on gives the bound the objective deserves
    statement, objective = program.statement, _cost(program, outcome)
    good = objective - outcome.dual_bound <= POLICY.good_bound * abs(objective)
    if good or not hasattr(statement.loss, "gradient"):
        return -math.inf
    options = ConicOptions(tol=POLICY.good_bound, max_iter=POLICY.nearby_steps)
    return _fit_statement(statement, statement.merged, options, outcome.point).dual_objective


def _fit_statement(
    statement: ConicStatement, rows: WeightedRows, options: ConicOptions, start: Any = None,
    algorithm: Algorithm = "auto",
) -> ProximalResult:  # fmt: skip
    """The proximal fit of a statement on its raw or merged rows."""
    loss: Any = statement.loss
    return fit_proximal(
        rows.X, rows.y, loss=loss, penalty=statement.penalty, sample_weight=rows.weight,
        intercept=statement.intercept, tol=options.tol, max_iter=options.max_iter, start=start,
        algorithm=algorithm,
    )  # fmt: skip


def _row_duals(program: ConicProgram) -> FloatArray | None:
    """Duals of the hinge loss's margin rows."""
    if not program.own or program.own[0].dual_value is None:
        return None
    return np.asarray(program.own[0].dual_value, dtype=np.float64)


def _consider_solver_bound(program: ConicProgram, outcome: Outcome, own: float) -> None:
    """Take the solver's own dual objective where our bound leaves a gap, and say so."""
    # ours knows nothing of added constraints, and is -inf where a direction of w is not penalised
    objective = _cost(program, outcome)
    open_gap = objective - outcome.dual_bound > CLAIM_TOLERANCE * max(1.0, abs(objective))
    sound = outcome.residuals["dual"] <= POLICY.dual_tolerance
    completed = outcome.termination is Termination.COMPLETED
    if open_gap and sound and completed and own > outcome.dual_bound:
        outcome.dual_bound, outcome.bound_source = own, "solver"


def _judged(
    program: ConicProgram, point: tuple[FloatArray, float]
) -> tuple[Evaluation, tuple[str, ...]]:
    """The figures of a point, its values left in the model, and what it breaks."""
    program.load(*point)
    found = evaluate_conic(program.statement, *point)
    return found, (*found.violations, *added_violations(program))


def _best_point(
    program: ConicProgram, name: str, outcome: Outcome
) -> tuple[tuple[FloatArray, float] | None, Evaluation | None, str, list[str]]:
    """The better of the solver's point and the empty model: point, figures, origin, remarks."""
    remarks = []
    point, figures = outcome.point, None
    if point is not None:
        figures, broken = _judged(program, point)
        if broken:
            remarks.append(f"the solver's point was refused: {broken[0]}")
            figures = None
    empty = null_point(program.statement)
    empty_figures, broken = _judged(program, empty)
    if broken or (figures is not None and empty_figures.objective >= figures.objective):
        return point, figures, "solver", remarks
    if outcome.termination is Termination.INFEASIBLE:
        remarks.append(f"{name} calls the program infeasible although w = 0 is not")
    elif point is not None:
        remarks.append("the model without terms is better than the solver's point")
    return empty, empty_figures, "empty card", remarks


def _result(task: Task, name: str, outcome: Outcome, *remarks: str) -> Result:
    """Re-check the point, compare it with the model without terms, and claim."""
    program: Any = task.program
    statement = program.statement
    point, figures, origin, further = _best_point(program, name, outcome)
    said = [*remarks, *outcome.remarks, *further]
    common = {**task.account(outcome, name), "kind": "relaxed", "origin": origin}
    if figures is None or point is None:
        message = "; ".join(filter(None, [*said, _advice(outcome)]))
        return Result(**common, claim=Claim.NONE, verified=False, message=message)
    program.load(*point)
    objective, bound = figures.objective, outcome.dual_bound
    trivial = -math.inf if statement.loss.task == "count" else 0.0
    if bound - objective > CLAIM_TOLERANCE * max(1.0, abs(objective)):
        said.append(f"the bound {bound:.9g} lies above a verified point: it is refused")
        bound = trivial
    bound = max(min(bound, objective), trivial)
    claim = claim_of(True, objective, bound, trivial)
    if claim is Claim.OPTIMAL and outcome.termination is Termination.INACCURATE:
        claim = Claim.GAP
    (w, b), design = point, statement.design
    terms = int(np.count_nonzero(w)) if design is None else design.count_terms(w)
    return Result(
        **common, claim=claim, verified=True, objective=objective, loss=figures.loss,
        penalty=figures.penalty, dual_bound=bound, coefficients=w, intercept=b, terms=terms,
        message="; ".join(filter(None, said)),
    )  # fmt: skip


def _advice(outcome: Outcome) -> str:
    """What to do where there is no answer."""
    if outcome.termination is Termination.INFEASIBLE:
        return "no coefficients meet the constraints you added: loosen one of them"
    if outcome.termination is Termination.UNBOUNDED:
        return "the objective falls without end: raise lam, or drop what you added"
    return f"no answer ({outcome.status}): scale the columns, raise lam, or use solver='proximal'"


def _with_opinion(task: Task, result: Result, name: str) -> Result:
    """The result with what another solver says; the model keeps the result's values."""
    program: Any = task.program
    other = _another(name, task.options)
    if other is None:
        limited = math.isfinite(task.options.time_limit)
        why = "cannot keep the time limit" if limited else "is not installed"
        return result.with_remark(f"no second opinion: ECOS {why}")
    second = _result(task, other, _run(task, other))
    if result.verified:
        program.load(result.coefficients, result.intercept)
    return result.with_opinion(second)


def _outcome(
    ended: tuple[str, Termination], x: Any, z: Any, has_point: bool, **counts: Any
) -> Outcome:
    """An outcome with x and its duals z, where they are a point of finite numbers."""
    x, z = np.asarray(x, dtype=np.float64), np.asarray(z, dtype=np.float64)
    status, termination = ended
    if not has_point or not (np.isfinite(x).all() and np.isfinite(z).all()):
        return Outcome(termination, status, **counts)
    return Outcome(termination, status, values=x, row_dual=z, **counts)


class Ecos(ConeSolver):
    """ECOS: the first choice for cones."""

    clock = False

    # exit flags of ECOS: every member is here, and an unknown one is an error
    TERMINATIONS: ClassVar[dict[int, tuple[str, Termination]]] = {
        0: ("optimal", Termination.COMPLETED),
        1: ("primal infeasible", Termination.INFEASIBLE),
        2: ("dual infeasible", Termination.UNBOUNDED),
        10: ("close to optimal", Termination.INACCURATE),
        11: ("close to primal infeasible", Termination.INACCURATE),
        12: ("close to dual infeasible", Termination.INACCURATE),
        -1: ("maximum iterations", Termination.ITERATION_LIMIT),
        -2: ("numerical problems", Termination.ERROR), -3: ("outside the cone", Termination.ERROR),
        -4: ("interrupted", Termination.INTERRUPTED), -7: ("unknown problem", Termination.ERROR),
    }  # fmt: skip
    NO_POINT = (1, 2, 11, 12, -4, -7)

    def version(self) -> str:
        """The installed version; MissingDependencyError where there is none."""
        try:
            import ecos
        except ImportError as error:
            raise MissingDependencyError(
                "ECOS is not installed (it is GPLv3, and has wheels up to Python 3.12 only): pip "
                "install 'milpscore[ecos]', or use {solver}",
                solver="clarabel",
            ) from error
        return str(ecos.__version__)

    def run(self, form: ConeForm, options: ConicOptions) -> Outcome:
        """Solve a standard form."""
        self.version()
        import ecos

        # ECOS takes the entries of an exponential cone as (x, z, y)
        order = np.arange(len(form.b))
        tail = order[form.exp_start :].reshape(-1, 3)[:, [0, 2, 1]].ravel()
        order, equal = np.concatenate([order[: form.exp_start], tail]), form.zero
        cones = {"l": form.nonneg, "q": list(form.soc), "e": form.exp}
        settings: dict[str, Any] = dict.fromkeys(("feastol", "abstol", "reltol"), options.tol)
        if options.max_iter is not None:
            settings["max_iters"] = options.max_iter
        rows = form.A.tocsr()[order]
        equalities = (sparse.csc_matrix(rows[:equal]), form.b[order][:equal]) if equal else ()
        below = sparse.csc_matrix(rows[equal:]), form.b[order][equal:]
        settings["verbose"] = options.verbose
        settings |= own_words("ecos", options, settings, _ECOS)
        answer = ecos.solve(form.c, *below, cones, *equalities, **settings)
        flag = int(answer["info"]["exitFlag"])
        ended = self.TERMINATIONS.get(flag, (f"exit flag {flag}", Termination.ERROR))
        z = np.empty(len(form.b))
        z[order] = np.concatenate([np.ravel(answer["y"]), np.ravel(answer["z"])])
        seconds = float(answer["info"]["timing"]["runtime"])
        return _outcome(ended, answer["x"], z, flag not in self.NO_POINT, seconds=seconds)


_ECOS = {"abstol_inacc", "reltol_inacc", "feastol_inacc"}


def own_words(
    solver: str, options: ConicOptions, ours: Iterable[str], known: Collection[str]
) -> dict[str, Any]:
    """Return the options in a solver's own words; OptionError for ours, and for unknown ones."""
    given = options.own(solver)
    for name in given:
        if name in {"max_iters", *ours}:
            raise OptionError(
                f"{solver}'s {name} is set by milpscore: use tol, max_iter, time_limit or verbose"
            )
        if name not in known:
            raise OptionError(
                f"{solver} has no option {name!r}; {near_matches(name, known, 'options')}"
            )
    return given


class Clarabel(ConeSolver):
    """Clarabel: the second opinion on cones, and the first where ECOS is absent."""

    # statuses of Clarabel: every member is here, and an unknown one is an error
    TERMINATIONS: ClassVar[dict[str, Termination]] = {
        "Solved": Termination.COMPLETED, "PrimalInfeasible": Termination.INFEASIBLE,
        "DualInfeasible": Termination.UNBOUNDED, "MaxIterations": Termination.ITERATION_LIMIT,
        "MaxTime": Termination.TIME_LIMIT, "CallbackTerminated": Termination.INTERRUPTED,
        **dict.fromkeys(("Unsolved", "NumericalError"), Termination.ERROR),
        **dict.fromkeys(("AlmostSolved", "AlmostPrimalInfeasible", "AlmostDualInfeasible",
                         "InsufficientProgress"), Termination.INACCURATE),
    }  # fmt: skip
    NO_POINT = ("Unsolved", "PrimalInfeasible", "DualInfeasible",
                "AlmostPrimalInfeasible", "AlmostDualInfeasible")  # fmt: skip

    def version(self) -> str:
        """The installed version."""
        import clarabel

        return str(clarabel.__version__)

    def run(self, form: ConeForm, options: ConicOptions) -> Outcome:
        """Solve a standard form."""
        import clarabel

        settings = clarabel.DefaultSettings()
        settings.verbose = options.verbose
        settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = options.tol
        if options.max_iter is not None:
            settings.max_iter = options.max_iter
        if math.isfinite(options.time_limit):
            settings.time_limit = options.time_limit
        ours = "verbose", "tol_feas", "tol_gap_abs", "tol_gap_rel", "max_iter", "time_limit"
        known = [name for name in dir(settings) if not name.startswith("_") and name != "default"]
        for name, value in own_words("clarabel", options, ours, known).items():
            try:
                setattr(settings, name, value)
            except TypeError as error:
                raise OptionError(f"Clarabel does not take {name}={value!r}: {error}") from error
        cones: list[Any] = []
        if form.zero:
            cones.append(clarabel.ZeroConeT(form.zero))
        if form.nonneg:
            cones.append(clarabel.NonnegativeConeT(form.nonneg))
        cones += [clarabel.SecondOrderConeT(size) for size in form.soc]
        cones += [clarabel.ExponentialConeT() for _ in range(form.exp)]
        no_squares = sparse.csc_matrix((len(form.c), len(form.c)))
        solver = clarabel.DefaultSolver(no_squares, form.c, form.A, form.b, cones, settings)
        answer = solver.solve()
        status, seconds = str(answer.status), float(answer.solve_time)
        ended = status, self.TERMINATIONS.get(status, Termination.ERROR)
        return _outcome(ended, answer.x, answer.z, status not in self.NO_POINT, seconds=seconds)


class OutsideCone(NamedTuple):
    """A solver of CVXPY's, and its words for our options, parted by blanks."""

    plugin: str  # its name there
    package: str  # its name for pip
    tol: str = ""  # empty: it has no word, or none is known
    max_iter: str = ""
    time_limit: str = ""
    nest: str = ""  # the option of CVXPY that holds all others


OUTSIDE = {
    "scs": OutsideCone("SCS", "scs", "eps_abs eps_rel", "max_iters", "time_limit_secs"),
    "mosek": OutsideCone(
        "MOSEK", "Mosek",
        " ".join(f"MSK_DPAR_INTPNT_CO_TOL_{k}" for k in ("PFEAS", "DFEAS", "REL_GAP", "MU_RED")),
        "MSK_IPAR_INTPNT_MAX_ITERATIONS", "MSK_DPAR_OPTIMIZER_MAX_TIME", "mosek_params",
    ),
    "copt": OutsideCone("COPT", "coptpy", "FeasTol DualTol RelGap", "BarIterLimit", "TimeLimit"),
    # these two have no exponential cones
    "cvxopt": OutsideCone("CVXOPT", "cvxopt", "abstol reltol feastol", "max_iters"),
    "qoco": OutsideCone("QOCO", "qoco", "abstol reltol", "max_iters"),
}  # fmt: skip
"""Other people's conic solvers with names of their own; ``cvxpy:NAME`` is any other."""


class CvxpySolver(ConeSolver):
    """Other people's conic solvers: whatever CVXPY has installed, asked for the standard form."""

    clock = False
    name: ClassVar[str]
    row: ClassVar[OutsideCone]

    TERMINATIONS: ClassVar[dict[str, Termination]] = {
        "optimal": Termination.COMPLETED, "infeasible": Termination.INFEASIBLE,
        "unbounded": Termination.UNBOUNDED, "user_limit": Termination.ITERATION_LIMIT,
        **dict.fromkeys(("optimal_inaccurate", "infeasible_inaccurate", "unbounded_inaccurate",
                         "infeasible_or_unbounded"), Termination.INACCURATE),
    }  # fmt: skip

    def __init__(self) -> None:
        import cvxpy as cp
        from cvxpy.reductions.solvers.defines import CONIC_SOLVERS

        if self.row.plugin not in CONIC_SOLVERS:
            known = ", ".join(sorted(name.lower() for name in CONIC_SOLVERS))
            raise OptionError(
                f"CVXPY knows no conic solver {self.row.plugin.lower()!r}; it knows {known}"
            )
        if self.row.plugin not in cp.installed_solvers():
            named = self.name in OUTSIDE
            how = f"pip install {self.row.package}" if named else "see CVXPY's page on its solvers"
            raise MissingDependencyError(f"{self.name} is not installed: {how}")

    def version(self) -> str:
        """The installed version."""
        try:
            return version(self.row.package)
        except PackageNotFoundError:
            return "unknown"

    def refuse(self, task: Task) -> None:
        """Refuse options for which the solver has no word here."""
        for name in ("tol", "max_iter"):
            if not getattr(self.row, name) and getattr(task.options, name) != getattr(
                ConicOptions, name
            ):
                raise NotApplicableError(f"{self.name} has no option {name} here: leave it out")

    def run(self, form: ConeForm, options: ConicOptions) -> Outcome:
        """Solve a standard form, which is one more problem of CVXPY's."""
        import cvxpy as cp

        x = cp.Variable(len(form.c))
        cones = _cones(form, x)
        problem = cp.Problem(cp.Minimize(form.c @ x), [cone for _, cone in cones])
        words_given = self._translated(options)
        try:
            problem.get_problem_data(self.row.plugin, solver_opts=dict(words_given))
        except cp.error.SolverError as error:
            raise NotApplicableError(
                f"{self.name} does not take the cones of this program: use 'clarabel' or 'scs'"
            ) from error
        began = time.perf_counter()
        try:
            with warnings.catch_warnings():
                # what CVXPY says of an inaccurate answer is in its status
                warnings.simplefilter("ignore", UserWarning)
                problem.solve(solver=self.row.plugin, verbose=options.verbose, **words_given)
        except cp.error.SolverError as error:
            text = " ".join(str(error).split())[:300]
            return Outcome(Termination.ERROR, text, seconds=time.perf_counter() - began)
        except Exception as error:  # each solver has errors of its own, licences among them
            text = " ".join(str(error).split())[:300]
            raise SolverError(f"{self.name} failed, called by CVXPY: {text}") from error
        seconds, status = time.perf_counter() - began, str(problem.status)
        ended = self.TERMINATIONS.get(status, Termination.ERROR)
        if status == "user_limit" and seconds >= options.time_limit:
            ended = Termination.TIME_LIMIT
        if x.value is None:
            return Outcome(ended, status, seconds=seconds)
        z = np.zeros(len(form.b))  # a solver without duals leaves the bound to the data
        for rows, cone in cones:
            duals = [each.value for each in cone.dual_variables]
            if all(each is not None for each in duals):
                z[rows] = np.concatenate([np.ravel(each) for each in duals])
        return _outcome((status, ended), x.value, z, True, seconds=seconds)

    def _translated(self, options: ConicOptions) -> dict[str, Any]:
        """The options in the solver's words."""
        asked = {"tol": options.tol, "max_iter": options.max_iter}
        if math.isfinite(options.time_limit):
            asked["time_limit"] = options.clock.left
        words_given = {
            key: value
            for name, value in asked.items()
            if value is not None
            for key in getattr(self.row, name).split()
        }
        own = options.own(self.name)
        if both := sorted(own.keys() & words_given.keys()):
            raise OptionError(f"{self.name}'s {both[0]} is set by milpscore: use tol or max_iter")
        words_given |= own
        return {self.row.nest: words_given} if self.row.nest else words_given


def _cones(form: ConeForm, x: Any) -> list[tuple[Any, Any]]:
    """The rows of b - A x in each cone, in the order of its duals, and CVXPY's constraint."""
    import cvxpy as cp

    slack, at, order = form.b - form.A @ x, form.zero, np.arange(len(form.b))
    found: list[tuple[Any, Any]] = []
    if form.zero:
        found.append((order[:at], cp.Zero(form.A[:at] @ x - form.b[:at])))
    if form.nonneg:
        rows = order[at : at + form.nonneg]
        found.append((rows, cp.NonNeg(slack[at : at + form.nonneg])))
        at += form.nonneg
    for size in form.soc:
        found.append((order[at : at + size], cp.SOC(slack[at], slack[at + 1 : at + size])))
        at += size
    if form.exp:
        parts = [order[at + k :: 3] for k in range(3)]
        cone = cp.ExpCone(*(slack[at + k :: 3] for k in range(3)))
        found.append((np.concatenate(parts), cone))
    return found


@cache
def through_cvxpy(plugin: str) -> type[CvxpySolver]:
    """The conic solver of a name in ``OUTSIDE``, or of any of CVXPY's, which gets no option."""
    row = OUTSIDE.get(plugin) or OutsideCone(plugin.upper(), plugin)
    name = plugin if plugin in OUTSIDE else f"cvxpy:{plugin}"
    content = {"name": name, "row": row, "clock": bool(row.time_limit)}
    return type(f"Cvxpy_{plugin}", (CvxpySolver,), content)


class Proximal(Solver):
    """The proximal path, to the duality gap ``tol``."""

    conic = True
    clock = False

    TERMINATIONS: ClassVar[dict[Termination, Termination]] = {
        Termination.GAP_REACHED: Termination.COMPLETED,
        Termination.CONVERGED: Termination.COMPLETED,
        Termination.STALLED: Termination.INACCURATE,
        Termination.ITERATION_LIMIT: Termination.ITERATION_LIMIT,
    }

    def refuse(self, task: Task) -> None:
        """Refuse added constraints and losses that are not smooth."""
        added, loss = task.program.added_by_user(), task.program.statement.loss
        if added:
            raise NotApplicableError(
                f"the proximal path cannot hold the constraint {added}: use {{solver}} or "
                "'clarabel'",
                solver="ecos",
            )
        if not hasattr(loss, "gradient"):
            raise NotApplicableError(
                f"the {loss.name} loss has no derivative, which the proximal path needs: use "
                "{solver} or 'clarabel'",
                solver="ecos",
            )

    def solve(self, task: Task) -> Outcome:
        """Fit the statement."""
        statement: Any = task.program.statement
        found = _fit_statement(statement, statement.rows, task.options)
        return Outcome(
            self.TERMINATIONS[found.termination], str(found.termination),
            point=(found.coefficients, float(found.intercept)), seconds=found.seconds,
            dual_bound=found.dual_objective, bound_source="evidence",
        )  # fmt: skip


# -- from an interior point to exact zeros and exact multiples of gamma ---------------------------


Point = tuple[FloatArray, float]


def polished(program: ConicProgram, w: FloatArray, b: float, zero_tol: float) -> Point:
    """Return (w, b) with negligible coefficients at 0 or on gamma's grid, also in the model."""
    # First a few proximal steps where nothing was added: they leave exact zeros and multiples of
    # gamma, and never raise the objective. Then every coefficient that moves no score by more than
    # ``zero_tol`` of the largest is snapped; what breaks a constraint or costs more is not taken.
    statement = program.statement
    base = statement.penalty.prox(w, 0.0), b  # into the penalty's domain: sums of 0 and the like
    best, cost = base, evaluate_conic(statement, *base).objective
    limit = cost + POLICY.polish_slack * max(1.0, abs(cost))
    for candidate in _candidates(program, base, zero_tol):
        program.load(*candidate)
        value = evaluate_conic(statement, *candidate).objective
        if value <= limit and not added_violations(program):
            best = candidate
    program.load(*best)
    return best


def _candidates(program: ConicProgram, base: Point, zero_tol: float) -> Iterator[Point]:
    """Points to try, each simpler than the one before."""
    statement = program.statement
    free = not program.added
    at = base
    if free and not isinstance(statement.loss, Hinge):
        options = ConicOptions(max_iter=POLICY.polish_steps)
        found = _fit_statement(statement, statement.merged, options, base, "ista")
        at = found.coefficients, float(found.intercept)
        yield at
    snapped = _snapped(statement, at[0], zero_tol)
    if not np.array_equal(snapped, at[0]):
        yield snapped, at[1]
        if free and statement.intercept:
            yield snapped, _best_intercept(statement, snapped, at[1])


def _snapped(statement: ConicStatement, w: FloatArray, zero_tol: float) -> FloatArray:
    """Coefficients moved to 0 or to the grid where no score changes by more than the tolerance."""
    reach = np.abs(statement.merged.X).max(axis=0, initial=0.0)
    allowed = zero_tol * max(1.0, float((np.abs(w) * reach).max(initial=0.0)))
    gamma = getattr(statement.penalty, "gamma", math.inf)
    target = np.rint(w / gamma) * gamma if math.isfinite(gamma) else np.zeros_like(w)
    near = np.abs(w - target) * np.maximum(reach, np.finfo(float).tiny) <= allowed
    return np.where(near, target, w) + 0.0


def _best_intercept(statement: ConicStatement, w: FloatArray, b: float) -> float:
    """The intercept that minimises the loss of coefficients w."""
    smooth = smooth_part(statement)
    if not isinstance(statement.loss, Hinge):
        return float(smooth.settled(w, smooth.X.matvec(w), np.asarray(b)).b)
    far = Fraction(10**15)
    real = InterceptRule("real", -far, far, None)
    totals = smooth.X.matvec(w)[:, None]
    answers = smooth.y.astype(np.int64)
    best, _ = statement.loss.best_intercepts(totals, answers, smooth.weight, real)
    return float(best[0])
