"""What a study may fit, each by the name of an estimator, and how the name's program is answered.

==============  =========================================================================
name of         kinds, the first of which is the default
==============  =========================================================================
a formulation   ``card``: as its estimator and ``milpscore fit`` do; ``exact`` and
                ``relaxed``: that program alone; ``randomised`` and ``nearest``: its LP,
                rounded; ``heuristic``: no solver runs
a penalty       ``proximal``: as its estimator does; where there is a conic program also
                ``relaxed``: that program; ``exact``: over whole numbers
a classifier    ``estimator``: scikit-learn's way, from raw rows, binned inside;
                ``cross_validated``: inside OneStandardErrorCV, called with ``search``
==============  =========================================================================
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from milpscore.core.errors import FormulationError, OptionError
from milpscore.study._spec import Limits, ModelSpec, Task, unlike

if TYPE_CHECKING:
    from milpscore.core.conic import ConicProgram
    from milpscore.core.design import Design
    from milpscore.core.errors import Registry
    from milpscore.core.program import Program
    from milpscore.core.result import Result
    from milpscore.proximal import ProximalResult

CARD_KINDS = ("card", "exact", "relaxed", "randomised", "nearest", "heuristic")
CONIC_KINDS = ("relaxed", "exact")
ESTIMATOR_KINDS = ("estimator", "cross_validated")

_OF_DATA = ("X", "y", "sample_weight", "class_weight", "positive")
_OF_LIMITS = ("time_limit", "node_limit", "threads", "random_state", "binner", "class_weight")
_NO_MODEL = ("box", "sparse_hull")
_SOLVER_OPTIONS = {
    "card": ("solver", "n_draws", "mip_gap"),
    "proximal": ("loss", "tol", "max_iter", "algorithm"),
    "conic": ("solver",),
    "estimator": ("search",),
}
"""Arguments beside those of the builder, the penalty or the class."""


# --- names ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Made:
    """What a name stands for: one family of kinds, and the callable that takes the arguments."""

    name: str
    family: str
    kinds: tuple[str, ...]
    make: Callable[..., Any]

    def arguments(self) -> tuple[list[str], list[str]]:
        """Arguments a study may give, and those it must give.

        What speaks of columns may come from the data set: a generator's expert, the bins.
        """
        parameters = inspect.signature(self.make).parameters
        ours = _OF_LIMITS if self.family == "estimator" else _OF_DATA
        own = [name for name in parameters if name not in ours]
        needed = [name for name in own if parameters[name].default is inspect.Parameter.empty]
        known = [*own, *_SOLVER_OPTIONS[self.family]]
        return known, [name for name in needed if name not in ("expert", "blocks")]


def made_by(name: str, kind: str) -> Made:
    """What a name and a kind (empty: the first) stand for.

    Raises
    ------
    OptionError
        Where there is none; the message names the nearest.
    """
    found = list(_called(name))
    if not found:
        raise OptionError(f"estimator: {unlike(name, _every_name())}")
    for each in found:
        if not kind or kind in each.kinds:
            return each
    raise OptionError(f"kind: {unlike(kind, [k for each in found for k in each.kinds])}")


def _called(name: str) -> list[Made]:
    """Everything of a name; case, hyphens and underscores of a short one do not count."""
    from milpscore import estimators

    found = [
        Made(registry.name_of(name), family, kinds, registry[name])
        for family, kinds, registry in _registries()
        if name in registry and registry.name_of(name) not in _NO_MODEL
    ]
    if name in _classifiers():
        found.append(Made(name, "estimator", ESTIMATOR_KINDS, getattr(estimators, name)))
    return found


def _registries() -> tuple[tuple[str, tuple[str, ...], Registry[Any]], ...]:
    """Family, kinds and registry of the short names."""
    from milpscore.formulations import CONIC_FORMULATIONS, FORMULATIONS
    from milpscore.penalties import PENALTIES

    return (
        ("card", CARD_KINDS, FORMULATIONS),
        ("proximal", ("proximal",), PENALTIES),
        ("conic", CONIC_KINDS, CONIC_FORMULATIONS),
    )


def _classifiers() -> list[str]:
    """The classifiers of milpscore.estimators."""
    from milpscore import estimators

    return [e for e in dir(estimators) if e.endswith("Classifier") and e != "CardClassifier"]


def _every_name() -> list[str]:
    """All names a study may use."""
    short = {name for *_, registry in _registries() for name in registry} - {*_NO_MODEL}
    return [*sorted(short), *_classifiers()]


def checked_names(
    name: str, kind: str, arguments: Mapping[str, Any], grid: Mapping[str, Any]
) -> tuple[str, str, str]:
    """A model's estimator as it is registered, its kind, and what it is called by default.

    Raises
    ------
    OptionError
        An unknown estimator, kind, solver, loss or argument, named with the nearest valid one; a
        missing one; one that stands in arguments and in grid; constraints that are none.
    """
    made = made_by(name, kind)
    known, needed = made.arguments()
    for what, given in (("arguments", arguments), ("grid", grid)):
        for key in given:
            if key not in known:
                raise OptionError(f"{what}: no key {unlike(key, known)}")
    if both := [key for key in grid if key in arguments]:
        raise OptionError(f"{both[0]} stands in arguments and in grid: keep one")
    if missing := [key for key in needed if key not in {*arguments, *grid}]:
        raise OptionError(f"{made.name} needs {', '.join(missing)} in arguments or grid")
    for key, choices in _choices(made.family).items():
        for value in [arguments[key]] if key in arguments else grid.get(key, []):
            if str(value).replace("-", "_") not in choices:
                raise OptionError(f"{key}: {unlike(value, choices)}")
    try:
        with_constraints(arguments)
    except (FormulationError, TypeError) as error:
        raise OptionError(f"arguments, constraints: {error}") from error
    if kind != "cross_validated" and "search" in arguments:
        raise OptionError("search goes with kind = 'cross_validated' only: leave it out")
    first = _called(name)[0].kinds[0]
    kind = kind or first
    return made.name, kind, made.name if kind == first else f"{made.name} ({kind})"


def _choices(family: str) -> dict[str, list[str]]:
    """The names some arguments must be of."""
    if family == "proximal":
        from milpscore.losses import LOSSES, smooth_loss
        from milpscore.losses.registry import EXACT_ONLY

        smooth = [name for name in LOSSES if name not in EXACT_ONLY]
        return {"loss": [name for name in smooth if smooth_loss(name).task == "classification"]}
    if family == "estimator":
        return {}
    from milpscore.solvers import SOLVERS

    conic = family == "conic"
    return {"solver": ["auto", *(name for name in SOLVERS if SOLVERS[name].conic == conic)]}


def with_constraints(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments, tables of constraints made constraints."""
    if "constraints" not in arguments:
        return dict(arguments)
    from milpscore.constraints import make_constraint

    return {**arguments, "constraints": tuple(map(make_constraint, arguments["constraints"]))}


def classifier(model: ModelSpec, task: Task, limits: Limits, binner: Any, expert: Any) -> Any:
    """The unfitted classifier of a model; limits, seed, binner, expert where it takes them."""
    from milpscore.estimators import OneStandardErrorCV

    given = with_constraints({**model.arguments, **task.parameters})
    search = given.pop("search", {})
    made = made_by(model.estimator, model.kind).make(**given)
    ours = {
        "time_limit": limits.time_limit, "node_limit": limits.node_limit,
        "threads": limits.threads, "random_state": task.seed, "binner": binner,
    }  # fmt: skip
    takes = made.get_params(deep=False)
    # a risk score knows an expert under the penalty of that name alone
    if expert is not None and takes.get("penalty", "eye") == "eye":
        ours["expert"] = expert
    made.set_params(**{k: v for k, v in ours.items() if k in takes and k not in given})
    if model.kind == "estimator":
        return made
    return OneStandardErrorCV(made, random_state=task.seed, **search)


# --- fits ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fit:
    """A result, the program it answers (None for a proximal model)."""

    result: Result
    program: Program | ConicProgram | None


def fit_model(
    model: ModelSpec, task: Task, design: Design, limits: Limits, expert: Any = None
) -> Fit:
    """Fit a model that is no classifier of scikit-learn's kind to a design.

    ``expert`` is known of the features where the model asks and the study does not say.

    Raises
    ------
    KeyboardInterrupt
        The solve was interrupted: what it has by then is no result.
    MilpscoreError
        The model cannot be fitted.
    """
    from milpscore.core.result import Termination

    made = made_by(model.estimator, model.kind)
    given = with_constraints({**model.arguments, **task.parameters})
    options = {name: given.pop(name) for name in _SOLVER_OPTIONS[made.family] if name in given}
    arguments = _of_columns(made, given, design, expert)
    if made.family == "proximal":
        fit = _proximal(made, arguments, options, design)
    elif made.family == "conic":
        fit = _conic(made, model.kind, arguments, options, design, limits)
    else:
        fit = _card(made, model.kind, arguments, options, design, limits, task.seed)
    if fit.result.termination is Termination.INTERRUPTED:
        raise KeyboardInterrupt
    return fit


def _card(
    made: Made, kind: str, arguments: dict[str, Any], options: dict[str, Any], design: Design,
    limits: Limits, seed: int,
) -> Fit:  # fmt: skip
    """A card formulation's answer."""
    from milpscore.core.result import Termination
    from milpscore.fitting import fit_card, with_few_terms
    from milpscore.rounding.program import round_by_name
    from milpscore.search import start_card
    from milpscore.search.starts import work_within
    from milpscore.solvers import solve

    arguments = with_few_terms(made.name, arguments)
    solver, n_draws = options.pop("solver", "auto"), options.pop("n_draws", 100)
    options |= {"node_limit": limits.node_limit, "threads": limits.threads}
    within: dict[str, Any] = {"time_limit": limits.time_limit, "random_state": seed}
    if kind in ("card", "heuristic"):
        program, result = fit_card(
            design, made.name, progress=False, n_draws=n_draws, solver=solver, options=options,
            heuristic=kind == "heuristic", **within, **arguments,
        )  # fmt: skip
        return Fit(result, program)
    program = made.make(design, **arguments)
    if kind == "exact":
        program = program if program.kind == "exact" else program.exact()
        start = start_card(program, max_work=work_within(limits.time_limit))
        result = solve(program, solver, warm_start=start, progress=False, **within, **options)
        return Fit(result, program)
    relaxed = program if program.kind == "relaxed" else program.relaxed()
    result = solve(relaxed, solver, progress=False, **within, **options)
    if kind in ("randomised", "nearest") and result.termination is not Termination.INTERRUPTED:
        rounded, _ = round_by_name(
            relaxed, result, [kind], n_draws=n_draws, random_state=seed,
            patience=limits.time_limit,
        )  # fmt: skip
        result = rounded[kind]
    return Fit(result, program)


def _conic(
    made: Made, kind: str, arguments: dict[str, Any], options: dict[str, Any], design: Design,
    limits: Limits,
) -> Fit:  # fmt: skip
    """A conic program's answer, or its exact program's."""
    from milpscore.solvers import solve

    program = made.make(design, **arguments)
    if kind == "exact":
        program, options = program.exact(), {"progress": False}
    return Fit(solve(program, time_limit=limits.time_limit, **options), program)


def _proximal(
    made: Made, arguments: dict[str, Any], options: dict[str, Any], design: Design
) -> Fit:
    """A penalised model with its duality gap."""
    from milpscore.proximal import fit_proximal

    found = fit_proximal(
        design.X, design.y, penalty=made.make(**arguments), sample_weight=design.weight,
        **{"loss": "logistic", **options},
    )  # fmt: skip
    terms = design.count_terms(np.asarray(found.coefficients))
    return Fit(result_of(found, made.name, terms), None)


def result_of(found: ProximalResult, name: str, terms: int) -> Result:
    """A proximal model's answer as the solvers give theirs."""
    from milpscore.core.result import Result, Termination, claim_of

    return Result(
        formulation=name,
        kind="relaxed",
        claim=claim_of(True, found.objective, found.dual_objective, trivial=0.0),
        termination=Termination.COMPLETED if found.converged else Termination.ITERATION_LIMIT,
        verified=True,
        objective=found.objective,
        loss=found.loss,
        penalty=found.penalty,
        dual_bound=found.dual_objective,
        coefficients=np.asarray(found.coefficients),
        intercept=float(np.asarray(found.intercept)),
        terms=terms,
        solve_seconds=found.seconds,
        solver=found.algorithm,
        message=found.termination.sentence,
    )


def _of_columns(made: Made, arguments: dict[str, Any], design: Design, expert: Any) -> Any:
    """Arguments, those that speak of columns filled in from the data where they are not given."""
    if made.family == "card":
        return arguments
    asked = inspect.signature(made.make).parameters
    if "expert" in asked and "expert" not in arguments:
        if expert is None:
            raise OptionError(
                f"{made.name} needs expert: put expert = ['A', 'B'], the known features, into "
                "arguments"
            )
        arguments = {**arguments, "expert": expert}
    if made.family == "conic":
        return arguments
    if "expert" in asked:
        from milpscore.data.columns import expert_vector

        features = list(dict.fromkeys(column.feature for column in design.columns))
        arguments["expert"] = expert_vector(arguments["expert"], design.columns, features)
    if "blocks" in asked and "blocks" not in arguments:
        if not design.blocks:
            raise OptionError(f"{made.name} needs bins: add bins or thresholds to the data set")
        arguments["blocks"] = design.blocks
    return arguments
