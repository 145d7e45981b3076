"""Other people's solvers: whatever Pyomo's factory reaches, asked with our options in its words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import pyomo.environ as pyo

from milpscore.core.errors import (
    MissingDependencyError,
    NotApplicableError,
    OptionError,
    SolverError,
)
from milpscore.core.result import Termination
from milpscore.solvers.engine import Outcome, Solver, Task
from milpscore.solvers.options import Options

_ENDS = pyo.TerminationCondition
_TERMINATION = {
    _ENDS.optimal: Termination.COMPLETED,
    _ENDS.infeasible: Termination.INFEASIBLE,
    _ENDS.infeasibleOrUnbounded: Termination.INFEASIBLE,  # finite ranges: never unbounded
    _ENDS.unbounded: Termination.UNBOUNDED,
    _ENDS.maxTimeLimit: Termination.TIME_LIMIT,
    _ENDS.maxIterations: Termination.ITERATION_LIMIT,
    _ENDS.maxEvaluations: Termination.NODE_LIMIT,
    _ENDS.userInterrupt: Termination.INTERRUPTED,
}


_CPLEX_NODE_LIMIT = (105, 106)
"""With a feasible point, and without one."""

_XPRESS_STOPS = {
    1: Termination.TIME_LIMIT,
    2: Termination.INTERRUPTED,
    3: Termination.NODE_LIMIT,
    4: Termination.ITERATION_LIMIT,
}
"""Its attribute stopstatus."""

Word: TypeAlias = tuple[str, Callable[[Any], Any]]
_NONE: Word = ("", str)


def _off(value: bool) -> str:
    return "on" if value else "off"


class Words(NamedTuple):
    """What a solver calls each of our options, and how it wants the value; no name: it has none."""

    time_limit: Word = _NONE
    mip_gap: Word = _NONE
    absolute_gap: Word = _NONE
    threads: Word = _NONE
    random_state: Word = _NONE
    node_limit: Word = _NONE
    presolve: Word = _NONE


class PyomoSolver(Solver):
    """A solver behind Pyomo's factory; its bound is its own word, its card is re-checked.

    ``plugins`` are its names in the factory, the best one first; ``install`` is what to do where
    none of them is there; ``duals``: it reports those of an LP;
    ``always`` are options it gets beside ours.
    """

    loads = True
    name: ClassVar[str]
    plugins: ClassVar[tuple[str, ...]]
    words: ClassVar[Words]
    install: ClassVar[str]
    duals: ClassVar[bool] = True
    always: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls) -> None:
        cls.seeded = bool(cls.words.random_state[0])

    def __init__(self) -> None:
        known = set(pyo.SolverFactory)
        reached = [plugin for plugin in self.plugins if plugin in known]
        if not reached:
            there = ", ".join(sorted(each for each in known if not each.startswith("_")))
            raise OptionError(f"Pyomo knows no solver {self.plugins[0]!r}; it knows {there}")
        for self.plugin in reached:
            self.solver = pyo.SolverFactory(self.plugin)
            if self.solver.available(exception_flag=False):
                return
        raise MissingDependencyError(f"{self.name} is not installed: {self.install}")

    def version(self) -> str:
        """Return the solver's version, as its plugin reports it."""
        words_given = self.solver.version()
        return ".".join(map(str, words_given)) if words_given else "unknown"

    def refuse(self, task: Task) -> None:
        """Refuse smooth losses, whose tangents are added while HiGHS runs."""
        if task.program.takes_tangents:
            raise NotApplicableError(
                f"{self.name} solves linear programs, and {task.program.formulation} has a smooth "
                "loss: use 'tree' or 'outer_approximation', or write the program with its tangents "
                "(program.write) and solve that file elsewhere"
            )
        if task.kind != task.program.kind:
            raise NotApplicableError(
                f"{self.name} reads the Pyomo model, which knows nothing of a session that was "
                "relaxed: solve program.relaxed()"
            )
        if task.kind == "relaxed" and not self.duals:
            raise NotApplicableError(
                f"{self.name} reports no duals to Pyomo, which prove a relaxation's bound: use "
                "'highs'"
            )

    def solve(self, task: Task) -> Outcome:
        """One run on the program's own Pyomo model."""
        options, session, model = task.options, task.loaded, task.program.model
        given: dict[str, Any] = {"logfile": options.log_file} if options.log_file else {}
        if not self.words.time_limit[0] and math.isfinite(options.time_limit):
            given["timelimit"] = options.clock.left
        start = task.vector is not None and getattr(self.solver, "warm_start_capable", bool)()
        if start and task.vector is not None:
            session.load_values(task.vector)
            given["warmstart"] = True
        if model.component("dual") is not None:
            model.del_component("dual")  # what another solver reported; not every plugin has duals
        if task.kind == "relaxed":
            model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
        words_given, progress = self._translated(task), task.progress()
        try:
            results = self.solver.solve(
                model, tee=options.verbose, load_solutions=False, options=words_given, **given
            )
        except KeyboardInterrupt:
            outcome = Outcome(Termination.INTERRUPTED)
        except Exception as error:  # each plugin has errors of its own, licences among them
            text = " ".join(str(error).split())[:300]
            raise SolverError(f"{self.name} failed, called by {self.plugin}: {text}") from error
        else:
            outcome = self._read(results, task)
        outcome.seconds, outcome.start_taken = progress.seconds, start
        return outcome

    def _translated(self, task: Task) -> dict[str, Any]:
        """The options in the solver's words; NotApplicableError for one that it does not have."""
        from milpscore.solvers.finish import absolute_gap

        options, words, words_given = task.options, self.words, dict(self.always)
        asked = {name: getattr(options, name) for name in words._fields if name != "absolute_gap"}
        limited = self.words.time_limit[0] and math.isfinite(options.time_limit)
        asked["time_limit"] = options.clock.left if limited else None
        asked["presolve"] = None if options.presolve else False
        if task.kind == "exact":
            asked["absolute_gap"] = absolute_gap(task.program.statement, options)
            asked["mip_gap"] = options.loose_gap
        else:
            del asked["mip_gap"], asked["node_limit"]
        for name, value in asked.items():
            if value is None:
                continue
            key, turned = getattr(words, name)
            if key:
                words_given[key] = turned(value)
            elif name != "absolute_gap" and getattr(options, name) != getattr(Options, name):
                raise NotApplicableError(f"{self.name} has no option {name} here: leave it out")
        return words_given

    def _read(self, results: Any, task: Task) -> Outcome:
        """What came of a run, by column of the session."""
        session, model = task.loaded, task.program.model
        condition, bound = results.solver.termination_condition, results.problem.lower_bound
        outcome = Outcome(self._ended(condition), status=str(condition), nodes=self._nodes(results))
        limited = task.options.node_limit is not None
        if limited and outcome.termination is Termination.ITERATION_LIMIT:
            outcome.termination = Termination.NODE_LIMIT  # plugins call it so
        if outcome.termination is Termination.INFEASIBLE:
            outcome.remarks = (f"that is {self.name}'s word alone",)
        if len(results.solution):
            results.solver.status = pyo.SolverStatus.ok  # any other is refused, or warned of
            model.solutions.load_from(results)
            values = session.vector()
            outcome.values = None if np.isnan(values).any() else values
        if task.kind == "exact":
            outcome.dual_bound = float(bound) if isinstance(bound, (int, float)) else -math.inf
        elif outcome.values is not None and len(model.dual):
            duals = [model.dual.get(row.constraint, 0.0) for row in session.rows]
            ends = np.array([row.bound_type for row in session.rows])
            # of a row with two ends, the dual belongs to the one that its sign speaks of
            row_dual = np.array(duals) / session.stretch
            outcome.row_dual = np.where(ends * row_dual > 0.0, 0.0, row_dual)
            outcome.col_dual = session.cost - session.matrix.T @ outcome.row_dual
        return outcome

    def _ended(self, condition: Any) -> Termination:
        """Why the run ended."""
        return _TERMINATION.get(condition, Termination.ERROR)

    def _nodes(self, results: Any) -> int:
        """How many nodes were searched, as its plugin or its own model counts; 0 if nobody does."""
        words_given = results.solver.statistics.branch_and_bound.number_of_bounded_subproblems
        return int(words_given) if isinstance(words_given, int | str) else 0


class Cbc(PyomoSolver):
    """CBC."""

    name, plugins, install = "cbc", ("cbc",), "apt install coinor-cbc"
    words = Words(
        time_limit=("sec", float),
        mip_gap=("ratio", float),
        absolute_gap=("allow", float),
        threads=("threads", int),
        random_state=("randomCbcSeed", int),
        node_limit=("maxNodes", int),
        presolve=("presolve", _off),
    )


class Glpk(PyomoSolver):
    """GLPK, which counts whole seconds."""

    name, plugins, install = "glpk", ("glpk",), "apt install glpk-utils"
    words = Words(
        time_limit=("tmlim", lambda seconds: max(1, math.ceil(seconds))),
        mip_gap=("mipgap", float),
        random_state=("seed", int),
    )


class Gurobi(PyomoSolver):
    """Gurobi."""

    name, plugins = "gurobi", ("gurobi_direct", "gurobi")
    install = "pip install gurobipy (a licence is needed beyond small programs)"
    words = Words(
        time_limit=("TimeLimit", float),
        mip_gap=("MIPGap", float),
        absolute_gap=("MIPGapAbs", float),
        threads=("Threads", int),
        random_state=("Seed", int),
        node_limit=("NodeLimit", int),
        presolve=("Presolve", int),
    )

    def _nodes(self, results: Any) -> int:
        return int(self.solver._solver_model.NodeCount)


class Cplex(PyomoSolver):
    """CPLEX."""

    name, plugins = "cplex", ("cplex_direct", "cplex")
    install = "pip install cplex (a licence is needed beyond small programs)"
    words = Words(
        time_limit=("timelimit", float),
        mip_gap=("mip_tolerances_mipgap", float),
        absolute_gap=("mip_tolerances_absmipgap", float),
        threads=("threads", int),
        random_state=("randomseed", int),
        node_limit=("mip_limits_nodes", int),
        presolve=("preprocessing_presolve", int),
    )

    def _nodes(self, results: Any) -> int:
        return int(self.solver._solver_model.solution.progress.get_num_nodes_processed())

    def _ended(self, condition: Any) -> Termination:
        """Why the run ended; the plugin takes a node limit for an error."""
        limited = self.solver._solver_model.solution.get_status() in _CPLEX_NODE_LIMIT
        return Termination.NODE_LIMIT if limited else super()._ended(condition)


class Xpress(PyomoSolver):
    """FICO Xpress."""

    name, plugins = "xpress", ("xpress_direct",)
    install = "pip install xpress (a licence is needed beyond small programs)"
    always: ClassVar[Mapping[str, Any]] = {"mipaddcutoff": 0.0}
    """By default it proves no more than its incumbent less 1e-5."""

    words = Words(
        time_limit=("timelimit", float),
        mip_gap=("miprelstop", float),
        absolute_gap=("mipabsstop", float),
        threads=("threads", int),
        random_state=("randomseed", int),
        node_limit=("maxnode", int),
        presolve=("presolve", int),
    )

    def _nodes(self, results: Any) -> int:
        return int(self.solver._solver_model.attributes.nodes)

    def _ended(self, condition: Any) -> Termination:
        """Why the run ended; the plugin calls every limit "other"."""
        known, stop = super()._ended(condition), self.solver._solver_model.attributes.stopstatus
        return _XPRESS_STOPS.get(stop, known) if known is Termination.ERROR else known


class Scip(PyomoSolver):
    """SCIP by PySCIPOpt."""

    name, plugins, install = "scip", ("scip_direct",), "pip install pyscipopt"
    duals = False
    words = Words(
        time_limit=("limits/time", float),
        mip_gap=("limits/gap", float),
        absolute_gap=("limits/absgap", float),
        random_state=("randomization/randomseedshift", int),
        node_limit=("limits/nodes", int),
        presolve=("presolving/maxrounds", int),
    )

    def _nodes(self, results: Any) -> int:
        return int(self.solver._solver_model.getNNodes())


@cache
def through_pyomo(plugin: str) -> type[PyomoSolver]:
    """The solver of any plugin of Pyomo's factory, which gets no option but the time limit."""
    return type(
        f"Pyomo_{plugin}",
        (PyomoSolver,),
        {
            "name": f"pyomo:{plugin}",
            "plugins": (plugin,),
            "words": Words(),
            "install": f"see Pyomo's page on {plugin}",
        },
    )
