"""A race to the proof: ours and the textbook program, each in a process of its own.

Seconds count from the rows in memory: build, start, hand-over and solve, for both alike.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import _textbook
import highspy
import numpy as np
from _common import SEED, in_child, percent, uci

from milpscore.core.card import Card
from milpscore.core.design import Design
from milpscore.core.errors import NotApplicableError
from milpscore.core.result import CLAIM_TOLERANCE, relative_gap
from milpscore.formulations import FORMULATIONS
from milpscore.search import start_card
from milpscore.search.starts import work_within
from milpscore.solvers import SOLVERS, load, solve
from milpscore.verify import evaluate

GAPS = (0.5, 0.2, 0.1, 0.05, 0.01, 0.0)
REACH = 5
"""Coefficients lie in [-5, 5]."""
MAX_TERMS = 5


@dataclass
class Trace:
    """Best objective and bound over time; every loss here is >= 0, so 0 is a bound from the start.

    HiGHS writes a line of its log too seldom to time a gap by: its interrupt callback, which comes
    all the time, is read too.
    """

    started: float = field(default_factory=time.perf_counter)
    objective: float = math.inf
    bound: float = 0.0
    scale: float = 1.0
    points: list[tuple[float, float, float]] = field(default_factory=list)

    def add(self, objective: float, bound: float) -> None:
        """Note a moment, if anything got better."""
        better = min(self.objective, objective), max(self.bound, bound)
        if better != (self.objective, self.bound):
            self.objective, self.bound = better
            self.points.append((self.seconds, *better))

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    def watch(self, highs: Any, scale: float = 1.0) -> None:
        """Listen to a HiGHS whose costs are ``scale`` times the program's."""
        self.scale = scale
        for channel in (highs.cbMipInterrupt, highs.cbMipLogging):
            channel.subscribe(self._receive)

    def _receive(self, event: Any) -> None:
        data = event.data_out
        primal = float(data.mip_primal_bound) / self.scale
        dual = float(data.mip_dual_bound) / self.scale
        self.add(primal if abs(primal) < 1e29 else math.inf, dual if dual < 1e29 else 0.0)

    def times_to_gap(self) -> dict[str, float]:
        """Seconds until each gap was first reached; infinite where it never was."""
        reached = {}
        for gap in GAPS:
            times = (t for t, objective, bound in self.points if _within(objective, bound, gap))
            reached[f"{gap:.0%}"] = next(times, math.inf)
        return reached

    def answer(self) -> dict[str, Any]:
        """What a child process hands back of a trace, thinned to 200 points."""
        kept = self.points[:: max(1, math.ceil(len(self.points) / 200))]
        return {"times": self.times_to_gap(), "trace": kept}


def _within(objective: float, bound: float, gap: float) -> bool:
    if not math.isfinite(objective):
        return False
    if objective - bound <= CLAIM_TOLERANCE * abs(objective):
        return True
    return relative_gap(objective, bound) <= gap


def ours(
    name: str, formulation: str, arguments: dict[str, Any], solver: str, limit: float
) -> dict[str, Any]:
    """The road of milpscore.fitting.fit_card, with the trace read off HiGHS."""
    design = _design(name)
    load(FORMULATIONS[formulation](_warm_up_design(), **arguments))
    trace = Trace()
    program = FORMULATIONS[formulation](design, **arguments)
    start = start_card(program, max_work=work_within(limit))
    started = trace.seconds
    session = load(program)
    if solver == "highs":  # another solver's HiGHS may be at work on a part of the program
        trace.watch(session.highs, session.scale)
    try:
        result = solve(
            session,
            solver,
            warm_start=start,
            progress=False,
            callback=lambda point: trace.add(point.objective, point.dual_bound),
            time_limit=max(limit - trace.seconds, 0.0),
            random_state=SEED,
        )
    except NotApplicableError as error:
        return {"refused": f"{name}, {solver}: refused: {error}"}
    seconds = trace.seconds
    if result.card is not None:
        trace.add(result.objective, result.dual_bound)
    return {
        **trace.answer(),
        "claim": str(result.claim),
        "objective": result.objective,
        "loss": result.loss,
        "bound": result.dual_bound,
        "gap": result.gap,
        "terms": result.terms,
        "nodes": result.nodes,
        "seconds": seconds,
        "start_seconds": started - program.build_seconds,
        "solve_seconds": result.solve_seconds,
        "warm_start": result.warm_start,
        "message": result.message,
        "rows": len(design.merged.y),
    }


def textbook(
    name: str, formulation: str, arguments: dict[str, Any], limit: float
) -> dict[str, Any]:
    """The textbook program handed straight to highspy, then its card in our own scales."""
    design = _design(name)
    trace = Trace()
    if formulation == "slim":
        program = _textbook.slim(
            design.X,
            design.y,
            reach=REACH,
            max_terms=MAX_TERMS,
            l0_penalty=arguments["l0_penalty"],
        )
    else:
        program = _textbook.hinge(
            design.X,
            design.y,
            reach=REACH,
            max_terms=MAX_TERMS,
            intercept=tuple(arguments["intercept_bounds"]),
        )
    highs = program.load()
    trace.watch(highs)
    steps = [1 / len(design.y), arguments.get("l0_penalty", 1.0)]
    for option, value in {
        "output_flag": True,  # without it no callback for the log comes
        "log_to_console": False,
        "threads": 1,
        "random_seed": SEED,
        "mip_rel_gap": 0.0,
        "mip_abs_gap": min(0.49 * min(steps), 0.5 * CLAIM_TOLERANCE),
        "time_limit": max(limit - trace.seconds, 0.0),
    }.items():
        if highs.setOptionValue(option, value) != highspy.HighsStatus.kOk:
            raise RuntimeError(f"HiGHS refused {option}={value!r}")
    before = trace.seconds
    highs.run()
    seconds = trace.seconds
    info, solution = highs.getInfo(), highs.getSolution()
    found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    objective = float(info.objective_function_value) if found else math.inf
    bound = max(float(info.mip_dual_bound), 0.0)
    trace.add(objective, bound)
    answer = {
        **trace.answer(),
        "objective": objective,
        "bound": bound,
        "gap": relative_gap(objective, bound) if found else math.inf,
        "seconds": seconds,
        "solve_seconds": seconds - before,
        "nodes": max(int(info.mip_node_count), 0),
        "rows": len(design.y),
        "true_objective": math.inf,
        "true_loss": math.inf,
        "terms": None,
    }
    if found and solution.value_valid:
        p = design.shape[1]
        values = np.rint(np.asarray(solution.col_value[: 2 * p + 1]))
        card = Card(values[:p].astype(np.int64), Fraction(int(values[2 * p])))
        verdict = evaluate(FORMULATIONS[formulation](design, **arguments).statement, card)
        answer |= {
            "true_objective": verdict.objective,
            "true_loss": verdict.loss,
            "terms": card.nonzeros,
        }
    return answer


def _design(name: str) -> Design:
    design = uci(name)
    if design is None:
        raise RuntimeError(f"{name} is absent")
    return design


def _warm_up_design() -> Design:
    """Four rows, to have every module imported before the clock starts."""
    from milpscore.data import make_design

    return make_design(np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [2.0, 1.0]]), [0, 1, 0, 1])


@dataclass(frozen=True)
class Race:
    """One set's race: the textbook program's answer, and ours by solver."""

    name: str
    limit: float
    rival: dict[str, Any]
    ours: dict[str, dict[str, Any]]
    refused: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        """All of it, for the JSON."""
        return {"set": self.name, "limit": self.limit, "ours": self.ours, "textbook": self.rival}

    def answer_rows(self) -> list[dict[str, Any]]:
        """Objective, bound and gap of every racer."""
        rows = []
        for solver, mine in self.ours.items():
            rows.append(
                {
                    "set": self.name,
                    "program": f"ours ({solver})",
                    "rows": mine["rows"],
                    "objective": f"{mine['objective']:.5f}",
                    "own objective": f"{mine['objective']:.5f}",
                    "bound": f"{mine['bound']:.5f}",
                    "gap": percent(mine["gap"]),
                    "claim": mine["claim"],
                    "terms": mine["terms"],
                    "nodes": mine["nodes"],
                    "solve s": f"{mine['solve_seconds']:.2f}",
                    "all s": f"{mine['seconds']:.2f}",
                    "peak MB": f"{mine['peak_mb']:.0f}",
                }
            )
        rival = self.rival
        found = math.isfinite(rival["objective"])
        rows.append(
            {
                "set": self.name,
                "program": "textbook",
                "rows": rival["rows"],
                "objective": f"{rival['true_objective']:.5f}" if found else "none",
                "own objective": f"{rival['objective']:.5f}" if found else "none",
                "bound": f"{rival['bound']:.5f}",
                "gap": percent(rival["gap"]),
                "claim": "-",
                "terms": rival["terms"],
                "nodes": rival["nodes"],
                "solve s": f"{rival['solve_seconds']:.2f}",
                "all s": f"{rival['seconds']:.2f}",
                "peak MB": f"{rival['peak_mb']:.0f}",
            }
        )
        return rows

    def time_rows(self) -> list[dict[str, Any]]:
        """Seconds to each gap, and how many times longer the textbook program took."""
        rows = []
        theirs = self.rival["times"]
        for solver, mine in self.ours.items():
            row: dict[str, Any] = {"set": self.name, "ours": solver}
            for gap, seconds in mine["times"].items():
                row[gap] = _compared(seconds, theirs[gap], self.limit)
            rows.append(row)
        return rows


def _compared(mine: float, theirs: float, limit: float) -> str:
    """Both times and the textbook's over ours; a limit on it where one of them never got there."""
    if math.isinf(mine) and math.isinf(theirs):
        return "neither"
    if math.isinf(theirs):
        return f"{mine:.2f} / never = >{limit / mine:.3g}x"
    if math.isinf(mine):
        return f"never / {theirs:.2f} = <{theirs / limit:.3g}x"
    return f"{mine:.2f} / {theirs:.2f} = {theirs / mine:.3g}x"


def race(
    name: str, formulation: str, arguments: dict[str, Any], solvers: list[str], limit: float
) -> Race:
    """Run all on one set, one after another."""
    patience = 3 * limit + 120
    mine = {
        solver: in_child(ours, name, formulation, arguments, solver, limit, patience=patience)
        for solver in solvers
    }
    rival = in_child(textbook, name, formulation, arguments, limit, patience=patience)
    refused = tuple(answer["refused"] for answer in mine.values() if "refused" in answer)
    running = {solver: answer for solver, answer in mine.items() if "refused" not in answer}
    return Race(name, limit, rival, running, refused)


def registered(wanted: list[str] | None) -> tuple[list[str], list[str]]:
    """The solvers to run (default: HiGHS, and the support tree where there is one), and a note."""
    asked = wanted or ["highs", "support_tree"]
    found = [name for name in asked if name in SOLVERS]
    missing = [f"skipped: solver {name} is not registered" for name in asked if name not in SOLVERS]
    return found, missing
