"""A model fitted to a design: what each family of a study's models answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from milpscore.core.conic import ConicProgram
from milpscore.core.design import Design
from milpscore.core.errors import OptionError
from milpscore.core.program import Program
from milpscore.core.result import Result, Termination, claim_of
from milpscore.fitting import fit_card
from milpscore.formulations import CONIC_FORMULATIONS, FORMULATIONS
from milpscore.proximal._result import Stop
from milpscore.rounding.program import round_both_ways
from milpscore.search import start_card
from milpscore.search.starts import work_within
from milpscore.solvers import solve
from milpscore.study._models import with_constraints
from milpscore.study._spec import Limits, ModelSpec, Task


@dataclass(frozen=True)
class Fit:
    """A result, the program it answers (None for a proximal model), and what that was made with."""

    result: Result
    program: Program | ConicProgram | None
    arguments: Mapping[str, Any]


def fit_model(
    model: ModelSpec, task: Task, design: Design, limits: Limits, expert: Any = None
) -> Fit:
    """Fit a formulation or a proximal model.

    Parameters
    ----------
    model : ModelSpec
    task : Task
        For its parameters and seed.
    design : Design
    limits : Limits
    expert : array, optional
        What is known of the features where the model asks and the study does not say.

    Raises
    ------
    KeyboardInterrupt
        The solve was interrupted: what it has by then is no result.
    MilpscoreError
        The model cannot be fitted.
    """
    arguments = with_constraints({**model.arguments, **task.parameters})
    if model.family == "proximal":
        fit = _proximal(model, arguments, design, expert)
    elif model.what in FORMULATIONS:
        fit = _card(model, arguments, design, limits, task.seed)
    else:
        fit = _conic(model, arguments, design, limits, expert)
    if fit.result.termination is Termination.INTERRUPTED:
        raise KeyboardInterrupt
    return fit


def _card(
    model: ModelSpec, arguments: Mapping[str, Any], design: Design, limits: Limits, seed: int
) -> Fit:
    """A card formulation's answer."""
    rest: dict[str, Any] = {"node_limit": limits.node_limit, "threads": limits.threads}
    if model.kind in ("card", "heuristic"):
        program, result = fit_card(
            design, model.what, progress=False, n_draws=model.n_draws, solver=model.solver,
            time_limit=limits.time_limit, random_state=seed, options=rest,
            heuristic=model.kind == "heuristic", **arguments,
        )  # fmt: skip
        return Fit(result, program, arguments)
    options: dict[str, Any] = {"time_limit": limits.time_limit, "random_state": seed, **rest}
    program = FORMULATIONS[model.what](design, **arguments)
    if model.kind == "exact":
        program = program if program.kind == "exact" else program.exact()
        start = start_card(program, max_work=work_within(limits.time_limit))
        result = solve(program, model.solver, warm_start=start, progress=False, **options)
        return Fit(result, program, arguments)
    relaxed = program if program.kind == "relaxed" else program.relaxed()
    result = solve(relaxed, model.solver, progress=False, **options)
    if model.kind in ("randomised", "nearest") and result.termination != Termination.INTERRUPTED:
        both, _ = round_both_ways(
            relaxed, result, n_draws=model.n_draws, random_state=seed, patience=limits.time_limit
        )
        result = both[model.kind]
    return Fit(result, program, arguments)


def _conic(
    model: ModelSpec, arguments: dict[str, Any], design: Design, limits: Limits, expert: Any
) -> Fit:
    """A conic program's answer."""
    made = CONIC_FORMULATIONS[model.what]
    arguments = _with_expert(made, arguments, expert)
    program = made(design, **arguments)
    if model.kind == "exact":
        exact = program.exact()
        result = solve(exact, progress=False, time_limit=limits.time_limit)
        return Fit(result, exact, arguments)
    result = solve(program, model.solver, time_limit=limits.time_limit)
    return Fit(result, program, arguments)


def _proximal(model: ModelSpec, arguments: dict[str, Any], design: Design, expert: Any) -> Fit:
    """A penalised model with its duality gap."""
    from milpscore.penalties._registry import penalty_class
    from milpscore.proximal import fit_proximal

    made = penalty_class(model.what)
    penalty = made(**_of_columns(made, arguments, design, expert))
    tol: dict[str, Any] = {} if model.tol is None else {"tol": model.tol}
    found = fit_proximal(
        design.X, design.y, loss=model.loss, penalty=penalty, sample_weight=design.weight, **tol
    )
    coefficients = np.asarray(found.coefficients)
    stopped = found.termination in (Stop.GAP_REACHED, Stop.DISTANCE_REACHED)
    result = Result(
        formulation=model.what,
        kind="relaxed",
        claim=claim_of(True, found.objective, found.dual_objective, trivial=0.0),
        termination=Termination.COMPLETED if stopped else Termination.ITERATION_LIMIT,
        verified=True,
        objective=found.objective,
        loss=found.loss,
        penalty=found.penalty,
        dual_bound=found.dual_objective,
        coefficients=coefficients,
        intercept=float(found.intercept),
        terms=design.count_terms(coefficients),
        solve_seconds=found.seconds,
        solver=found.algorithm,
        message=found.termination.sentence,
    )
    return Fit(result, None, arguments)


def _of_columns(
    made: type, arguments: dict[str, Any], design: Design, expert: Any
) -> dict[str, Any]:
    """A penalty's arguments, those that speak of columns filled in from the design."""
    from milpscore.data.columns import expert_vector

    arguments = _with_expert(made, arguments, expert)
    if "expert" in arguments:
        features = list(dict.fromkeys(column.feature for column in design.columns))
        vector = expert_vector(arguments["expert"], design.columns, features)
        arguments = {**arguments, "expert": vector}
    if _asks(made, "blocks", arguments):
        if not design.blocks:
            raise OptionError(f"{made.__name__} needs bins: add bins or thresholds to the data set")
        arguments = {**arguments, "blocks": design.blocks}
    return arguments


def _with_expert(made: Any, arguments: dict[str, Any], expert: Any) -> dict[str, Any]:
    """Arguments with what a generator's expert knows, where an expert is asked for."""
    if not _asks(made, "expert", arguments):
        return arguments
    if expert is None:
        raise OptionError(
            f"{made.__name__} needs expert: put expert = ['A', 'B'], the known features, into "
            "arguments"
        )
    return {**arguments, "expert": expert}


def _asks(made: Any, argument: str, given: Mapping[str, Any]) -> bool:
    """Whether something takes an argument that was not given."""
    import inspect

    return argument in inspect.signature(made).parameters and argument not in given
