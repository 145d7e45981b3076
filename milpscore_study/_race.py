"""A race of solvers: every one on every program, as a study; what came of it, in tables."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.result import CLAIM_TOLERANCE, Result, Termination, TracePoint
from milpscore.formulations import FORMULATIONS
from milpscore.formulations.strength import STRENGTHS
from milpscore.solvers import SOLVERS, solve
from milpscore.solvers.options import Options
from milpscore_show.plots import race_figure
from milpscore_show.plots.drawing import EARLIEST
from milpscore_study._report import StudyReport, curves_of
from milpscore_study._spec import RACE, Limits, Study, study_of
from milpscore_study.instances import INSTANCE_TABLES, INSTANCES, names
from milpscore_study.profiles import (
    BoundCurves,
    performance_profile,
    primal_integral,
    shifted_geometric_mean,
)
from milpscore_study.store import key_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SECONDS_SHIFT, NODES_SHIFT = 1.0, 10.0
"""Added before a geometric mean is taken, so that what takes no time does not rule it."""


def race_study(
    data: Sequence[Mapping[str, Any]],
    formulations: Sequence[str],
    solvers: Sequence[str],
    *,
    seeds: int = 1,
    arguments: Mapping[str, Any] | None = None,
    time_limit: float = Options.time_limit,
    node_limit: int | None = Options.node_limit,
    threads: int = Options.threads,
) -> Study:
    """State a race: every solver on every formulation of every data set.

    Parameters
    ----------
    data : sequence of mapping
        As the ``[[data]]`` of a study's file (``docs/studies.md``), paths relative to here.
    formulations : sequence of str
        A name of :data:`milpscore.formulations.FORMULATIONS`; "slim:textbook" to
        "slim:joint_big_m" are the 0-1 program from its weakest form to its strongest
        (:func:`milpscore.formulations.strength.slim_program`), for solvers that read the program.
    solvers : sequence of str
        As in :func:`milpscore.solve`.
    seeds : int
        Runs of each. The seed is the solver's, and orders rows and columns; the first run leaves
        them as they are.
    arguments : mapping, optional
        Of every builder that takes them; "hinge.margin" is one builder's.
    time_limit, node_limit, threads
        Of each solve, as in :class:`milpscore.solvers.options.Options`.

    Returns
    -------
    Study
        To be given to :func:`run_study`, and what that answers to :class:`Race`.

    Raises
    ------
    OptionError
        A name is unknown, or an argument that no builder takes.
    """
    entrants = dict.fromkeys(
        (name, strength if SOLVERS[solver].loads else "", SOLVERS.name_of(solver))
        for name, strength in map(_with_strength, formulations)
        for solver in solvers
    )
    names = {name for name, _, _ in entrants}
    models = []
    for name, strength, solver in entrants:
        own = {"solver": solver, **({"strength": strength} if strength else {})}
        models.append(
            {
                "name": f"{_called(name, strength)} by {solver}",
                "estimator": name,
                "kind": RACE,
                "arguments": {**_taken(name, names, arguments or {}), **own},
            }
        )
    limits = {"time_limit": time_limit, "node_limit": node_limit, "threads": threads}
    return _stated(data, models, seeds, limits)


def instance_race(
    instances: Sequence[str], solvers: Sequence[str], *, seeds: int = 1, **limits: Any
) -> Study:
    """State a race on instances by name: every solver on each.

    Parameters
    ----------
    instances : sequence of str
        Names or patterns, as :func:`milpscore_study.instances.names` takes them.
    solvers, seeds
        As for :func:`race_study`.
    **limits
        ``time_limit``, ``node_limit`` and ``threads`` of each solve, likewise.

    Returns
    -------
    Study

    Raises
    ------
    OptionError
        A name is unknown, or a limit.
    """
    chosen = [INSTANCES[name] for name in names(*instances)]
    data: list[Mapping[str, Any]] = []
    for each in chosen:
        arguments = {"name": each.table, "rule": each.rule}
        bins = {} if each.bins is None else {"bins": each.bins}
        source = {"generator": INSTANCE_TABLES, "arguments": arguments}
        data.append({"name": each.name, **source, **bins})
    models: dict[str, dict[str, Any]] = {}
    for each, solver in product(chosen, map(SOLVERS.name_of, solvers)):
        arguments = {**each.arguments, "solver": solver}
        model = {"estimator": each.formulation, "kind": RACE, "arguments": arguments}
        own = models.setdefault(
            key_of(model), {"name": f"{each.name} by {solver}", **model, "data": []}
        )
        own["data"].append(each.name)
    return _stated(data, [*models.values()], seeds, limits)


def _stated(
    data: Sequence[Mapping[str, Any]],
    models: Sequence[Mapping[str, Any]],
    seeds: int,
    limits: Mapping[str, Any],
) -> Study:
    """The race as a study."""
    content = {
        "data": list(data),
        "models": models,
        "seeds": list(range(seeds)),
        "limits": dict(limits),
    }
    return study_of(content, "the race")


def _with_strength(name: str) -> tuple[str, str]:
    """A formulation and its strength, empty for the program as it is."""
    name, _, strength = name.partition(":")
    name, strength = FORMULATIONS.name_of(name), strength.replace("-", "_")
    if strength and (name != "slim" or strength not in STRENGTHS):
        raise OptionError(
            f"no formulation '{name}:{strength}'; strengths are of slim: "
            f"{', '.join(f'slim:{each}' for each in STRENGTHS)}"
        )
    return name, strength


def _called(name: str, strength: str) -> str:
    return f"{name}:{strength}" if strength else name


def _taken(name: str, names: set[str], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that are a builder's; OptionError for those that are nobody's."""
    known = {each: inspect.signature(FORMULATIONS[each]).parameters for each in names}
    found = {}
    for key, value in arguments.items():
        owner, dot, argument = key.rpartition(".")
        owner = FORMULATIONS.name_of(owner) if dot else ""
        if dot and owner not in names:
            raise OptionError(f"{key}: {owner} is not in this race")
        if not any(argument in known[each] for each in ([owner] if dot else names)):
            raise OptionError(f"no formulation of this race takes {argument!r}")
        if owner in ("", name) and argument in known[name]:
            found[argument] = value
    return found


# --- one solve ------------------------------------------------------------------------------------


def measured(program: Any, result: Result, limits: Limits) -> dict[str, Any]:
    """What a race asks of a solve, beside its answer."""
    return {
        "root_bound": _root_bound(program, result, limits),
        "refused": result.refused,
        "caveat": result.caveat,
    }


def _root_bound(program: Any, result: Result, limits: Limits) -> float | None:
    """The bound after the first node: on the way, or, of a solver that only answers, once more."""
    if result.nodes <= 1 and result.termination is Termination.COMPLETED:
        return result.dual_bound
    if result.trace:
        root = [p.dual_bound for p in result.trace if p.nodes <= 1 and math.isfinite(p.dual_bound)]
        return root[-1] if root else None
    try:
        again = solve(
            program, result.solver, second_opinion=False, progress=False, node_limit=1,
            time_limit=limits.time_limit, random_state=result.random_state, threads=limits.threads,
        )  # fmt: skip
    except NotApplicableError:  # it knows no limit of nodes
        return None
    return None if again.bound_source == "trivial" else again.dual_bound


# --- what came of it ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Race:
    """What came of a race, as far as it is.

    Parameters
    ----------
    report : StudyReport
        Of a study whose models are all of the kind "race".
    """

    report: StudyReport

    def __post_init__(self) -> None:
        if not self.report.is_race:
            raise NotApplicableError(f"{self.report.path.name} holds no race")

    def rows(self) -> pd.DataFrame:
        """A row a solve: the study's table with formulation, strength, solver and ``wrong``.

        ``wrong`` is what the re-check refused of the solver's claims, or which verified card of the
        same rows contradicts its bound; empty where its answer stands. ``primal_integral`` is that
        of :func:`milpscore_study.profiles.primal_integral`, until the time limit, against the
        ``best`` card of the race or, of an instance, that is known.
        """
        table = self.report.table()
        models = {model["name"]: model for model in self.report.settings["models"]}
        own = [models[name] for name in table["model"]]
        table["formulation"] = [model["estimator"] for model in own]
        table["strength"] = [model["arguments"].get("strength", "") for model in own]
        table["solver"] = [model["arguments"]["solver"] for model in own]
        best = table["objective"].where(table["verified"].eq(True), np.inf)
        best = best.groupby([table["data"], table["formulation"]]).transform("min")
        made = {each["name"]: each["generator"] for each in self.report.settings["data"]}
        known = [
            _known(name, each["arguments"]) if made[name] == INSTANCE_TABLES else math.inf
            for name, each in zip(table["data"], own, strict=True)
        ]
        table["best"] = np.minimum(best, known)
        rows = table.to_dict("records")
        table["wrong"] = [_wrong(row) for row in rows]
        until, traces = float(self.report.settings["limits"]["time_limit"]), self.report.traces()
        table["primal_integral"] = [
            _primal_integral(row, traces.get(row["key"], ()), until) for row in rows
        ]
        return table

    def table(self) -> pd.DataFrame:
        """A row a data set, formulation and solver: medians over the seeds.

        Returns
        -------
        DataFrame
            data, formulation, solver (with the strength), status (the claims, counted), objective
            (the best), bound, gap, nodes, root_bound, lp_bound, seconds, primal_integral, verified
            and wrong (both counted), error (of failed solves).
        """
        import pandas as pd

        made = []
        rows = self._named()
        for place, own in rows.groupby(["data", "formulation", "entrant"], sort=False):
            claims = own["claim"].where(own["status"] == "done", "failed").value_counts()
            medians = (
                "bound", "gap", "nodes", "root_bound", "lp_bound", "solve_seconds",
                "primal_integral",
            )  # fmt: skip
            found = {name: own[name].astype("float64").median() for name in medians}
            errors = own["error"].dropna()
            made.append(
                {
                    **dict(zip(("data", "formulation", "solver"), place, strict=True)),
                    "status": _counted(claims.to_dict()),
                    "objective": own["objective"].min(),
                    **found,
                    "verified": int(own["verified"].eq(True).sum()),
                    "wrong": int((own["wrong"] != "").sum()),
                    "error": errors.iloc[0] if len(errors) else "",
                }
            )
        return pd.DataFrame(made).rename(columns={"solve_seconds": "seconds"})

    def summary(self) -> pd.DataFrame:
        """A row a formulation and solver, over data sets and seeds.

        Returns
        -------
        DataFrame
            formulation, solver, solves, proved, wrong, failed, and shifted geometric means over the
            data sets of the medians over the seeds: seconds (shift 1, what is not proved counted as
            the time limit), nodes (shift 10) and primal_integral (shift 1).
        """
        import pandas as pd

        limit, rows = float(self.report.settings["limits"]["time_limit"]), self._named()
        proved = self._proved(rows)
        late = rows["solve_seconds"].clip(lower=limit)
        rows = rows.assign(
            proved=proved, seconds=rows["solve_seconds"].where(proved, late),
            nodes=rows["nodes"].astype("float64"), failed=rows["status"] == "failed",
            wrong=rows["wrong"] != "",
        )  # fmt: skip
        made = []
        for (formulation, entrant), own in rows.groupby(["formulation", "entrant"], sort=False):
            medians = own.groupby("data")[["seconds", "nodes", "primal_integral"]].median()
            made.append(
                {
                    "formulation": formulation,
                    "solver": entrant,
                    "solves": len(own),
                    **{name: int(own[name].sum()) for name in ("proved", "wrong", "failed")},
                    "seconds": shifted_geometric_mean(medians["seconds"], SECONDS_SHIFT),
                    "nodes": shifted_geometric_mean(medians["nodes"], NODES_SHIFT),
                    "primal_integral": shifted_geometric_mean(
                        medians["primal_integral"], SECONDS_SHIFT
                    ),
                }
            )
        return pd.DataFrame(made)

    def costs(self, formulation: str, by: str = "seconds") -> pd.DataFrame:
        """What each proof of a formulation cost, as :func:`performance_profile` takes it.

        Parameters
        ----------
        formulation : str
        by : {"seconds", "nodes"}

        Returns
        -------
        DataFrame
            A row a data set and seed, a column a solver that answered; infinite where nothing was
            proved, or the answer is wrong.
        """
        column, least = {"seconds": ("solve_seconds", EARLIEST), "nodes": ("nodes", 1.0)}[by]
        rows = self._named()
        rows = rows[rows["formulation"] == FORMULATIONS.name_of(formulation)]
        rows = rows[rows["entrant"].isin(rows["entrant"][rows["status"] == "done"])]
        cost = rows[column].astype("float64").clip(lower=least).where(self._proved(rows), np.inf)
        table = rows.assign(cost=cost).pivot(
            index=["data", "seed"], columns="entrant", values="cost"
        )
        return table[list(dict.fromkeys(rows["entrant"]))]

    def curves(self) -> BoundCurves:
        """Best card and bound over time of every solver, a set for each data set and formulation.

        A solver that reports nothing on its way has one step, at its end.
        """
        rows = self._named()
        where = rows["data"] + ", " + rows["formulation"]
        return curves_of(rows.assign(set=where, run=rows["seed"]), self.report.traces())

    def profiles(self) -> dict[str, pd.DataFrame]:
        """A performance profile of the seconds for each formulation."""
        names = dict.fromkeys(self.rows()["formulation"])
        return {name: performance_profile(self.costs(name)) for name in names}

    def figure(self) -> Figure:
        """A performance profile for each formulation, and bounds over time."""
        return race_figure(self.profiles(), self.curves())

    def _named(self) -> pd.DataFrame:
        """The rows, solver and strength in one name."""
        rows = self.rows()
        name = rows["solver"].where(
            rows["strength"] == "", rows["solver"] + ", " + rows["strength"]
        )
        return rows.assign(entrant=name)

    @staticmethod
    def _proved(rows: pd.DataFrame) -> pd.Series[bool]:
        """Whether each solve proved its card, and rightly."""
        return (rows["claim"] == "optimal") & (rows["wrong"] == "")


def _counted(claims: Mapping[Any, int]) -> str:
    """The claims, counted where they differ."""
    if len(claims) == 1:
        return str(*claims)
    return ", ".join(f"{count} {claim}" for claim, count in claims.items())


def _known(name: str, arguments: Mapping[str, Any]) -> float:
    """The objective of the best card known of an instance, if it is raced as it is stated."""
    if name not in INSTANCES:
        return math.inf
    instance, stated = INSTANCES[name], {k: v for k, v in arguments.items() if k != "solver"}
    same = key_of(stated) == key_of(instance.arguments)
    return math.inf if instance.known is None or not same else instance.known.objective


def _primal_integral(row: Mapping[Any, Any], trace: Sequence[TracePoint], until: float) -> float:
    """A solve's, NaN without an answer; a solver that only answers has one step, at its end."""
    if row["status"] != "done" or not math.isfinite(row["best"]):
        return math.nan
    steps = [(point.seconds, point.objective) for point in trace]
    if row["verified"]:  # cards on the way may be better on the solver's word than as re-checked
        steps.append((float(row["solve_seconds"]), float(row["objective"])))
    return primal_integral(steps, float(row["best"]), until)


def _wrong(row: Mapping[Any, Any]) -> str:
    """Why a solver's answer is wrong, or nothing."""
    if row["status"] != "done":
        return ""
    if isinstance(row["refused"], str) and row["refused"]:
        return row["refused"]
    best = float(row["best"])
    if not math.isfinite(best) or row["caveat"]:
        return ""  # off the grid a bound is over fewer cards than others may find
    if row["termination"] == str(Termination.INFEASIBLE):
        return f"no card, it says, where one of {best:.9g} was verified"
    if row["bound"] - best > CLAIM_TOLERANCE * max(1.0, abs(best)):
        return f"its bound {row['bound']:.9g} lies above a verified card of {best:.9g}"
    return ""
