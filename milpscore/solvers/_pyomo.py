"""Other people's solvers: whatever Pyomo's factory reaches, asked with our options in its words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

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


@dataclass(frozen=True)
class Outside:
    """A solver of Pyomo's factory, and its words for our options."""

    OPTIONS: ClassVar[Mapping[str, Callable[[Any], Any]]] = {  # and what makes values of them
        **dict.fromkeys(("time_limit", "mip_gap", "absolute_gap"), float),
        **dict.fromkeys(("threads", "random_state", "node_limit", "presolve"), int),
    }
    plugins: tuple[str, ...]  # its names in the factory, the best one first
    install: str  # what to do where none of them is there
    words: str = "- - - - - - -"  # its names of ``OPTIONS``, in their order; "-" where it has none
    # what makes values of options, where ``OPTIONS`` does not
    turned: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    duals: bool = True  # it reports the duals of an LP
    always: Mapping[str, Any] = field(default_factory=dict)  # options it gets beside ours
    # read the nodes, and why it stopped (None: unknown), from the solver's own model
    nodes: Callable[[Any], Any] | None = None
    stops: Callable[[Any], Termination | None] | None = None

    @property
    def keys(self) -> dict[str, str]:
        """Its word per option that it has."""
        pairs = zip(self.OPTIONS, self.words.split(), strict=True)
        return {option: word for option, word in pairs if word != "-"}


def _licensed(package: str) -> str:
    return f"pip install {package} (a licence is needed beyond small programs)"


def _cplex_stop(model: Any) -> Termination | None:
    """A node limit, with a feasible point or without one: the plugin takes it for an error."""
    return Termination.NODE_LIMIT if model.solution.get_status() in (105, 106) else None


def _xpress_stop(model: Any) -> Termination | None:
    """The attribute stopstatus: the plugin calls every limit "other"."""
    stops = (
        Termination.TIME_LIMIT, Termination.INTERRUPTED, Termination.NODE_LIMIT,
        Termination.ITERATION_LIMIT,
    )  # fmt: skip
    return dict(enumerate(stops, 1)).get(model.attributes.stopstatus)


OUTSIDE = {
    "cbc": Outside(
        ("cbc",), "apt install coinor-cbc",
        "- ratio allow threads randomCbcSeed maxNodes presolve",  # the clock by Pyomo: elapsed
        turned={"presolve": lambda on: "on" if on else "off"},
    ),
    "glpk": Outside(
        ("glpk",), "apt install glpk-utils", "tmlim mipgap - - seed - -",
        turned={"time_limit": lambda seconds: max(1, math.ceil(seconds))},
    ),
    "gurobi": Outside(
        ("gurobi_direct", "gurobi"), _licensed("gurobipy"),
        "TimeLimit MIPGap MIPGapAbs Threads Seed NodeLimit Presolve",
        nodes=lambda model: model.NodeCount,
    ),
    "cplex": Outside(
        ("cplex_direct", "cplex"), _licensed("cplex"),
        "timelimit mip_tolerances_mipgap mip_tolerances_absmipgap threads randomseed "
        "mip_limits_nodes preprocessing_presolve",
        nodes=lambda model: model.solution.progress.get_num_nodes_processed(), stops=_cplex_stop,
    ),
    "xpress": Outside(
        ("xpress_direct",), _licensed("xpress"),
        "timelimit miprelstop mipabsstop threads randomseed maxnode presolve",
        always={"mipaddcutoff": 0.0},  # by default it proves no more than its incumbent less 1e-5
        nodes=lambda model: model.attributes.nodes, stops=_xpress_stop,
    ),
    "scip": Outside(
        ("scip_direct",), "pip install pyscipopt",
        "limits/time limits/gap limits/absgap - randomization/randomseedshift limits/nodes "
        "presolving/maxrounds",
        duals=False, nodes=lambda model: model.getNNodes(),
    ),
}  # fmt: skip
"""Other people's solvers with names of their own; ``pyomo:NAME`` is any other."""


class PyomoSolver(Solver):
    """A solver behind Pyomo's factory; its bound is its own word, its card is re-checked."""

    loads = True
    takes_own_options = True
    name: ClassVar[str]
    row: ClassVar[Outside]

    def __init__(self) -> None:
        known = set(pyo.SolverFactory)
        reached = [plugin for plugin in self.row.plugins if plugin in known]
        if not reached:
            there = ", ".join(sorted(each for each in known if not each.startswith("_")))
            raise OptionError(f"Pyomo knows no solver {self.row.plugins[0]!r}; it knows {there}")
        for self.plugin in reached:
            self.solver = pyo.SolverFactory(self.plugin)
            if self.solver.available(exception_flag=False):
                return
        raise MissingDependencyError(f"{self.name} is not installed: {self.row.install}")

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
        if task.kind == "relaxed" and not self.row.duals:
            raise NotApplicableError(
                f"{self.name} reports no duals to Pyomo, which prove a relaxation's bound: use "
                "'highs'"
            )

    def solve(self, task: Task) -> Outcome:
        """One run on the program's own Pyomo model."""
        options, session, model = task.options, task.loaded, task.program.model
        given: dict[str, Any] = {"logfile": options.log_file} if options.log_file else {}
        if "time_limit" not in self.row.keys and math.isfinite(options.time_limit):
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

        options, keys, given = task.options, self.row.keys, dict(self.row.always)
        asked = {name: getattr(options, name) for name in Outside.OPTIONS if name != "absolute_gap"}
        limited = "time_limit" in keys and math.isfinite(options.time_limit)
        asked["time_limit"] = options.clock.left if limited else None
        asked["presolve"] = None if options.presolve else False
        if task.kind == "exact":
            asked["absolute_gap"] = absolute_gap(task.program, options)
            asked["mip_gap"] = options.loose_gap
        else:
            del asked["mip_gap"], asked["node_limit"]
        for name, value in asked.items():
            if value is None:
                continue
            if name in keys:
                given[keys[name]] = self.row.turned.get(name, Outside.OPTIONS[name])(value)
            elif name != "absolute_gap" and getattr(options, name) != getattr(Options, name):
                raise NotApplicableError(f"{self.name} has no option {name} here: leave it out")
        for name, value in options.own(self.name).items():
            if name in given:
                raise OptionError(f"{self.name}'s {name} is set by milpscore, to {given[name]}")
            given[name] = value
        return given

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
        ends = pyo.TerminationCondition
        known = {
            ends.optimal: Termination.COMPLETED,
            ends.infeasible: Termination.INFEASIBLE,
            ends.infeasibleOrUnbounded: Termination.INFEASIBLE,  # finite ranges: never unbounded
            ends.unbounded: Termination.UNBOUNDED,
            ends.maxTimeLimit: Termination.TIME_LIMIT,
            ends.maxIterations: Termination.ITERATION_LIMIT,
            ends.maxEvaluations: Termination.NODE_LIMIT,
            ends.userInterrupt: Termination.INTERRUPTED,
        }.get(condition, Termination.ERROR)
        if known is not Termination.ERROR or self.row.stops is None:
            return known
        return self.row.stops(self.solver._solver_model) or known

    def _nodes(self, results: Any) -> int:
        """Return the nodes searched, as plugin or model counts them; 0 if neither does."""
        if self.row.nodes is not None:
            return int(self.row.nodes(self.solver._solver_model))
        counted = results.solver.statistics.branch_and_bound.number_of_bounded_subproblems
        return int(counted) if isinstance(counted, int | str) else 0


@cache
def through_pyomo(plugin: str) -> type[PyomoSolver]:
    """The solver of a name in ``OUTSIDE``, or of any plugin, which gets the time limit alone."""
    row = OUTSIDE.get(plugin) or Outside((plugin,), f"see Pyomo's page on {plugin}")
    name = plugin if plugin in OUTSIDE else f"pyomo:{plugin}"
    seeded = "random_state" in row.keys
    return type(f"Pyomo_{plugin}", (PyomoSolver,), {"name": name, "row": row, "seeded": seeded})
