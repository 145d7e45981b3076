"""One solve of a study, wherever it is done: load and cut the data, fit, judge, keep the card.

What may be fitted goes by the name of an estimator, a kind says how it is answered:

==============  =========================================================================
name of         kinds, the first of which is the default
==============  =========================================================================
a formulation   ``card``: as its estimator and ``milpscore fit`` do; ``exact`` and
                ``relaxed``: that program alone; ``randomised`` and ``nearest``: its LP,
                rounded; ``heuristic``: no solver runs; ``race``: the exact program, rows
                and columns in an order of the seed's, no start, one solver's word
a penalty       ``proximal``: as its estimator does; where there is a conic program also
                ``relaxed``: that program; ``exact``: over whole numbers
a classifier    ``estimator``: scikit-learn's way, from raw rows, binned inside;
                ``cross_validated``: inside OneStandardErrorCV, called with ``search``
==============  =========================================================================
"""

from __future__ import annotations

import inspect
import json
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from milpscore import (
    certificate,
    constraints,
    estimators,
    formulations,
    losses,
    metrics,
    penalties,
    proximal,
    scorecard,
    solvers,
)
from milpscore.core.design import Design
from milpscore.core.errors import DataError, FormulationError, OptionError, Registry
from milpscore.core.result import Result, Termination, claim_of
from milpscore.core.writing import as_json
from milpscore.data import (
    Binner,
    SurvivalDesign,
    in_steps,
    read_frame,
    read_patterns,
    read_table,
    read_times,
    survival_target,
)
from milpscore.data.binner import (
    Split,
    binned_design,
    folds_of,
    refuse_folds,
    stratified_splits,
)
from milpscore.data.checking import as_frame
from milpscore.data.columns import expert_vector
from milpscore.data.sources import at_size
from milpscore.fitting import fit_card, with_few_terms
from milpscore.formulations.strength import slim_program
from milpscore.losses.registry import EXACT_ONLY
from milpscore.scorecard.certified import unpaired
from milpscore.search import start_card
from milpscore.search.starts import work_within
from milpscore_study._race import measured
from milpscore_study._spec import RACE, DataSpec, FoldSpec, Limits, ModelSpec, Study, Task, unlike
from milpscore_study.store import FIGURES, key_of

if TYPE_CHECKING:
    from milpscore.core.conic import ConicProgram
    from milpscore.core.program import Program

CARD_KINDS = ("card", "exact", "relaxed", "randomised", "nearest", "heuristic", RACE)
CONIC_KINDS = ("relaxed", "exact")
ESTIMATOR_KINDS = ("estimator", "cross_validated")

_OF_DATA = ("X", "y", "sample_weight", "class_weight", "positive")
_OF_LIMITS = ("time_limit", "node_limit", "threads", "random_state", "binner", "class_weight")
_NO_MODEL = ("box", "sparse_hull")
_SOLVER_OPTIONS = {
    "card": ("solver", "n_draws", "mip_gap", "mip_gap_abs", "strength"),
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
    """What a name and a kind (empty: the first) stand for."""
    found = list(_called(name))
    if not found:
        raise OptionError(f"estimator: {unlike(name, _every_name())}")
    for each in found:
        if not kind or kind in each.kinds:
            return each
    raise OptionError(f"kind: {unlike(kind, [k for each in found for k in each.kinds])}")


def _called(name: str) -> list[Made]:
    """Everything of a name; case, hyphens and underscores of a short one do not count."""
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
    return (
        ("card", CARD_KINDS, formulations.FORMULATIONS),
        ("card", CARD_KINDS, formulations.SURVIVAL_FORMULATIONS),
        ("proximal", ("proximal",), penalties.PENALTIES),
        ("conic", CONIC_KINDS, formulations.CONIC_FORMULATIONS),
    )


def _classifiers() -> list[str]:
    """The classifiers of milpscore.estimators."""
    return [e for e in dir(estimators) if e.endswith("Classifier") and e != "CardClassifier"]


def _every_name() -> list[str]:
    """All names a study may use."""
    short = {name for *_, registry in _registries() for name in registry} - {*_NO_MODEL}
    return [*sorted(short), *_classifiers()]


def checked_names(
    name: str, kind: str, arguments: Mapping[str, Any], grid: Mapping[str, Any]
) -> tuple[str, str, str]:
    """A model's estimator as it is registered, its kind, and what it is called by default."""
    made = made_by(name, kind)
    _check_keys(made, arguments, grid)
    for key in {"loss", "solver"}.intersection(_SOLVER_OPTIONS[made.family]):
        asked = [arguments[key]] if key in arguments else grid.get(key, [])
        choices = _choices(key, made.family == "conic") if asked else []
        for value in asked:
            plain = str(value).replace("-", "_")
            if plain not in choices and not (key == "solver" and _of_others(str(value), choices)):
                raise OptionError(f"{key}: {unlike(value, choices)}")
    try:
        with_constraints(arguments)
    except (FormulationError, TypeError) as error:
        raise OptionError(f"arguments, constraints: {error}") from error
    if "strength" in {*arguments, *grid} and (made.name, kind) != ("slim", RACE):
        raise OptionError("strength goes with slim of kind = 'race' only: leave it out")
    if kind != "cross_validated" and "search" in arguments:
        raise OptionError("search goes with kind = 'cross_validated' only: leave it out")
    first = _called(name)[0].kinds[0]
    kind = kind or first
    return made.name, kind, made.name if kind == first else f"{made.name} ({kind})"


def _check_keys(made: Any, arguments: Mapping[str, Any], grid: Mapping[str, Any]) -> None:
    """Refuse keys that an estimator does not know, keys given twice, and keys that it lacks."""
    known, needed = made.arguments()
    for what, given in (("arguments", arguments), ("grid", grid)):
        for key in given:
            if key not in known:
                raise OptionError(f"{what}: no key {unlike(key, known)}")
    if both := [key for key in grid if key in arguments]:
        raise OptionError(f"{both[0]} stands in arguments and in grid: keep one")
    if missing := [key for key in needed if key not in {*arguments, *grid}]:
        raise OptionError(f"{made.name} needs {', '.join(missing)} in arguments or grid")


def _choices(key: str, conic: bool) -> list[str]:
    """The losses or solvers a study may name."""
    if key == "loss":
        smooth = [name for name in losses.LOSSES if name not in EXACT_ONLY]
        return [name for name in smooth if losses.smooth_loss(name).task == "classification"]
    known = solvers.SOLVERS
    return ["auto", *(name for name in known if known[name].conic == conic)]


def _of_others(solver: str, choices: list[str]) -> bool:
    """Whether a solver is pyomo:NAME or cvxpy:NAME, for programs that such solvers take."""
    prefix, colon, _ = solver.partition(":")
    of_cones = {"pyomo": False, "cvxpy": True}.get(prefix)
    return bool(colon) and of_cones is not None and of_cones == ("clarabel" in choices)


def with_constraints(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments, tables of constraints made constraints."""
    if "constraints" not in arguments:
        return dict(arguments)
    return {
        **arguments,
        "constraints": tuple(map(constraints.make_constraint, arguments["constraints"])),
    }


def classifier(model: ModelSpec, task: Task, limits: Limits, binner: Any, expert: Any) -> Any:
    """The unfitted classifier of a model; limits, seed, binner, expert where it takes them."""
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
    return estimators.OneStandardErrorCV(made, random_state=task.seed, **search)


# --- fits ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fit:
    """A result, the program it answers (None for a proximal model)."""

    result: Result
    program: Program | ConicProgram | None


def fit_model(
    model: ModelSpec, task: Task, design: Design, limits: Limits, expert: Any = None
) -> Fit:
    """Fit a model that is not a classifier of scikit-learn's kind to a design.

    ``expert`` is known of the features where the model asks and the study does not say.
    """
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
    if "strength" in options:
        program = slim_program(design, options.pop("strength"), **arguments)
    else:
        program = made.make(design, **arguments)
    if kind in ("exact", RACE):
        program = program if program.kind == "exact" else program.exact()
    if kind == RACE:
        within["random_state"] = seed if solvers.SOLVERS[solver].seeded else 0
        result = solvers.solve(
            program, solver, second_opinion=False, progress=False, **within, **options
        )
        return Fit(result, program)
    if kind == "exact":
        start = start_card(program, max_work=work_within(limits.time_limit))
        result = solvers.solve(
            program, solver, warm_start=start, progress=False, **within, **options
        )
        return Fit(result, program)
    relaxed = program if program.kind == "relaxed" else program.relaxed()
    result = solvers.solve(relaxed, solver, progress=False, **within, **options)
    if kind in ("randomised", "nearest") and result.termination is not Termination.INTERRUPTED:
        from milpscore.rounding.program import round_by_name

        rounded, _ = round_by_name(
            relaxed, result, [kind], n_draws=n_draws, random_state=seed,
            time_limit=limits.time_limit,
        )  # fmt: skip
        result = rounded[kind]
    return Fit(result, program)


def _conic(
    made: Made, kind: str, arguments: dict[str, Any], options: dict[str, Any], design: Design,
    limits: Limits,
) -> Fit:  # fmt: skip
    """A conic program's answer, or its exact program's."""
    program = made.make(design, **arguments)
    if kind == "exact":
        program, options = program.exact(), {"progress": False}
    return Fit(solvers.solve(program, time_limit=limits.time_limit, **options), program)


def _proximal(
    made: Made, arguments: dict[str, Any], options: dict[str, Any], design: Design
) -> Fit:
    """A penalised model with its duality gap."""
    found = proximal.fit_proximal(
        design.X, design.y, penalty=made.make(**arguments), sample_weight=design.weight,
        **{"loss": "logistic", **options},
    )  # fmt: skip
    terms = design.count_terms(np.asarray(found.coefficients))
    return Fit(result_of(found, made.name, terms), None)


def result_of(found: proximal.ProximalResult, name: str, terms: int) -> Result:
    """A proximal model's answer as the solvers give theirs."""
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
        features = list(dict.fromkeys(column.feature for column in design.columns))
        arguments["expert"] = expert_vector(arguments["expert"], design.columns, features)
    if "blocks" in asked and "blocks" not in arguments:
        if not design.blocks:
            raise OptionError(f"{made.name} needs bins: add bins or thresholds to the data set")
        arguments["blocks"] = design.blocks
    return arguments


GENERATORS: Registry[Any] = Registry(
    "generator",
    {
        "planted_score": "milpscore.data:make_planted_score",
        "ternary": "milpscore.data:make_ternary",
    },
)
"""Makers of data sets by the name a study uses; any other is named as "module:function"."""

_KEPT = 4
_MOST_POINTS = 200
"""Folds whose designs a process keeps: the tasks on the same rows follow one another."""


# --- data sets -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DataSet:
    """A loaded data set: a table, shape (n, q), labels, weights, what an expert knows (q,)."""

    spec: DataSpec
    X: Any
    y: Any
    sample_weight: Any = None
    expert: Any = None

    def binner(self) -> Any:
        """An unfitted one, or None where columns are used as they are."""
        spec = self.spec
        if spec.bins is None and spec.thresholds is None and spec.missing == "error":
            return None
        return Binner(
            spec.bins, thresholds=spec.thresholds, encoding=spec.encoding or "onehot",
            missing=spec.missing, useless="keep", unseen="error",
        )  # fmt: skip

    def permuted(self, seed: int) -> DataSet:
        """The same rows and columns in another order; in their own for the seed 0."""
        if seed == 0:
            return self
        if isinstance(self.X, Design):
            refuse_folds(self.X, "another order of rows")
        table, rng = as_frame(self.X), np.random.default_rng(seed)
        rows, columns = (rng.permutation(size) for size in table.shape)
        weight, expert = self.sample_weight, self.expert
        return replace(
            self,
            X=table.iloc[rows, columns].reset_index(drop=True),
            y=np.asarray(self.y)[rows],
            sample_weight=None if weight is None else np.asarray(weight)[rows],
            expert=None if expert is None else np.asarray(expert)[columns],
        )

    def design(self) -> Design:
        """The design of all rows."""
        if isinstance(self.X, Design):  # merged while it was read
            return self.X
        return binned_design(
            self.X, self.y, self.binner(),
            sample_weight=self.sample_weight, class_weight=self.spec.class_weight,
            positive=None if self.spec.time else self.spec.positive,
        )  # fmt: skip

    def part(self, folds: FoldSpec, number: int | None) -> Part:
        """The rows of a fold, or all of them; binned on the training rows alone."""
        design = self.design()
        if number is None:
            return Part(design, None, None)
        cv: Any = folds.number
        if not folds.stratified:
            cv = KFold(folds.number, shuffle=True, random_state=folds.seed)
        dealt, splits = stratified_splits(design, cv, folds.seed)
        split = splits[number]
        (fold,) = folds_of(dealt, [split], self.X, self.binner(), self.sample_weight)
        return Part(fold.train, fold.test, split)


@dataclass(eq=False)
class Part:
    """The rows of a fold: the design fitted, the rows held out, and where both lie in the table."""

    train: Design
    test: Design | None
    split: Split | None


def load_data_set(spec: DataSpec) -> DataSet:
    """Read or make a data set."""
    try:
        return _loaded(spec)
    except (DataError, OptionError) as error:
        raise type(error)(f"data {spec.name}: {error}") from error


def _loaded(spec: DataSpec) -> DataSet:
    """The data set itself."""
    if spec.csv is not None and spec.time is not None:
        return _with_times(spec, spec.time)
    if spec.csv is not None and at_size(spec.path(), rows=True):
        found = DataSet(spec, None, None)
        design = read_patterns(
            spec.path(), str(spec.target), positive=spec.positive, weights=spec.weights,
            class_weight=spec.class_weight, binner=found.binner(), progress=False,
        )  # fmt: skip
        return replace(found, X=design)
    if spec.csv is not None:
        X, y, *rest = read_table(
            spec.path(), str(spec.target), positive=spec.positive, missing=spec.missing,
            weights=spec.weights,
        )  # fmt: skip
        return DataSet(spec, X, y, rest[0] if rest else None)
    if spec.generator is None:
        return _bundled(spec)
    made = _generator(spec.generator)(**spec.arguments, random_state=spec.seed or 0)
    if isinstance(made, tuple):
        return DataSet(spec, made[0], made[1])
    return DataSet(spec, made.X, made.y, expert=made.expert)


def _with_times(spec: DataSpec, time: str) -> DataSet:
    """A table of times to an event."""
    own = [time, *filter(None, [spec.entry])]
    shared: dict[str, Any] = {"positive": spec.positive, "weights": spec.weights, "drop": own}
    if at_size(spec.path(), rows=True):
        found = DataSet(spec, None, None)
        design = read_times(
            spec.path(), str(spec.target), time, spec.entry, binner=found.binner(), progress=False,
            **{**shared, "drop": ()},
        )  # fmt: skip
        return replace(found, X=design)
    frame = read_frame(spec.path())
    X, event, *rest = read_table(
        spec.path(), str(spec.target), ordered=True, missing=spec.missing,
        **{**shared, "positive": None},
    )  # fmt: skip
    entry = None if spec.entry is None else frame[spec.entry]
    y = survival_target(event, frame[time], entry, spec.positive)
    return DataSet(spec, X, y, rest[0] if rest else None)


def _bundled(spec: DataSpec) -> DataSet:
    """A set of scikit-learn's; of several classes one against the rest."""
    found = getattr(datasets, f"load_{spec.bundled}")(as_frame=True)
    names = [str(name) for name in found.target_names]
    y = np.array(names, dtype=object)[found.target.to_numpy()]
    if spec.positive is not None and str(spec.positive) not in names:
        raise OptionError(f"positive: {unlike(str(spec.positive), names)}")
    if len(names) == 2:
        return DataSet(spec, found.data, y)
    if spec.positive is None:
        raise OptionError(
            f"{spec.bundled} has {len(names)} classes: name the positive one of {', '.join(names)}"
        )
    one = str(spec.positive)
    return DataSet(spec, found.data, np.where(y == one, one, f"not {one}"))


def _generator(name: str) -> Any:
    """A maker of data sets, by its registered name or as "module:function"."""
    if name in GENERATORS:
        return GENERATORS[name]
    module, _, function = name.partition(":")
    if not function:
        raise OptionError(f"generator: {unlike(name, GENERATORS)}; or name module:function")
    try:
        return getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise OptionError(f"generator: {name!r} cannot be imported ({error})") from error


def check_generator(name: str, arguments: Mapping[str, Any]) -> None:
    """Refuse a generator there is not, and arguments it does not take or lacks."""
    parameters = dict(inspect.signature(_generator(name)).parameters)
    for ours in ("random_state", "return_card"):
        parameters.pop(ours, None)
    for key in arguments:
        if key not in parameters:
            raise OptionError(f"arguments: no key {unlike(key, parameters)}")
    missing = [k for k, p in parameters.items() if p.default is p.empty and k not in arguments]
    if missing:
        raise OptionError(f"arguments: {', '.join(missing)} is missing")


# --- a task --------------------------------------------------------------------------------------


@dataclass(eq=False)
class StudyWork:
    """What a worker needs for any task of a study; it keeps the folds it has made."""

    study: Study
    sets: Mapping[str, DataSet]
    _parts: OrderedDict[tuple[str, int | None, int], Part] = field(default_factory=OrderedDict)
    _lp_bounds: dict[str, float] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        """What travels to another process: no folds, they are made there."""
        return {**vars(self), "_parts": OrderedDict(), "_lp_bounds": {}}

    def __call__(self, task: Task) -> dict[str, Any]:
        """Do a task: ``result`` (figures), ``card`` and ``certificate`` as JSON holds them."""
        model = next(each for each in self.study.models if each.name == task.model)
        data, part = self.sets[task.data], self._part(task, model.kind == RACE)
        if model.kind in ESTIMATOR_KINDS:
            found = self._by_estimator(model, task, data, part)
        else:
            found = self._by_design(model, task, data, part)
        return {**found, "result": as_json({**task.place, **found["result"]})}

    def _part(self, task: Task, raced: bool) -> Part:
        """The rows of the task, in the order it asks for."""
        place = (task.data, task.fold, task.seed if raced else 0)
        if place not in self._parts:
            part = self.sets[task.data].permuted(place[2]).part(self.study.folds, task.fold)
            while len(self._parts) >= _KEPT:
                self._parts.popitem(last=False)
            self._parts[place] = part
        return self._parts[place]

    def _by_design(self, model: ModelSpec, task: Task, data: DataSet, part: Part) -> dict[str, Any]:
        """An answer on the fold's design: figures, card, certificate."""
        fit = fit_model(model, task, part.train, self.study.limits, data.expert)
        part = _as_stated(part, fit)
        result, card, certificate = fit.result, None, fit.result.summary()
        figures = _figures(result)
        if model.kind == RACE:
            figures |= measured(fit.program, result, self.study.limits)
            figures["lp_bound"] = self._lp_bound(model, task, fit)
        if result.coefficients.size:
            figures |= _judged(result, part)
        if result.card is not None:
            shown, certificate = _shown(fit, part.train, task.model)
            card = json.loads(shown.to_json())
            if self.study.certificates:
                certificate = _evidence(fit, data)
        return {"result": figures, "card": card, "certificate": as_json(certificate)}

    def _lp_bound(self, model: ModelSpec, task: Task, fit: Fit) -> float:
        """The bound of a raced program's LP, the same whatever its solver and its order."""
        stated = {k: v for k, v in (model.arguments | task.parameters).items() if k != "solver"}
        key = key_of({"data": task.data, "estimator": model.estimator, "arguments": stated})
        if key not in self._lp_bounds:
            relaxed: Any = fit.program.relaxed()  # type: ignore[union-attr]  # a card's program
            found = solvers.solve(relaxed, time_limit=self.study.limits.time_limit, progress=False)
            self._lp_bounds[key] = found.dual_bound
        return self._lp_bounds[key]

    def _by_estimator(
        self, model: ModelSpec, task: Task, data: DataSet, part: Part
    ) -> dict[str, Any]:
        """A classifier's answer: the raw rows in, its own binning inside."""
        limits, design = self.study.limits, data.design()
        given: dict[str, tuple[Any, Design]]  # the table a classifier reads, and its answers
        if design.counts is not None:
            both = {"train": part.train, "test": part.test}
            given = {name: (each, each) for name, each in both.items() if each is not None}
        else:
            table, places = as_frame(data.X), part.split or (np.flatnonzero(design.weight > 0),)
            given = {
                name: (table.iloc[rows], design.of_rows(rows))
                for name, rows in zip(("train", "test"), places, strict=False)
            }
        estimator = classifier(model, task, limits, data.binner(), data.expert)
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the row holds the gap
            if design.counts is not None:
                estimator.fit(part.train)
            else:
                X, rows = given["train"]
                estimator.fit(X, rows.y, sample_weight=rows.weight)
        seconds = time.perf_counter() - began
        figures = {"verified": False, **_figures(estimator.result_), "solve_seconds": seconds}
        for name, (X, rows) in given.items():
            scores = np.asarray(estimator.decision_function(X))
            answered, positive = np.asarray(estimator.predict(X)), estimator.classes_[1]
            figures |= _scored(
                name, rows.y > 0, answered == positive, scores, rows.weight, rows.rows
            )
        card = getattr(estimator, "scorecard_", None)
        return {
            "result": figures,
            "card": None if card is None else json.loads(card.to_json()),
            "certificate": None if card is None else as_json(dict(card.certificate)),
        }


def _shown(fit: Fit, design: Design, title: str) -> tuple[Any, dict[str, Any]]:
    """The card as it is printed, and what is known of it."""
    if isinstance(design, SurvivalDesign):
        timed = scorecard.survival_card(cast("Program", fit.program), fit.result, title)
        return timed, dict(timed.card.certificate)
    statement = None if fit.program is None else fit.program.statement
    plain = scorecard.certified_card(design, fit.result, title=title, statement=statement)
    return plain, dict(plain.certificate)


def _evidence(fit: Fit, data: DataSet) -> dict[str, Any]:
    """The whole certificate, with what proves the bound."""
    spec = data.spec
    source = {
        "target": spec.target, "weights_column": spec.weights,
        "class_weight": spec.class_weight, "missing": spec.missing, "time": spec.time,
        "entry": spec.entry, "positive": None if spec.positive is None else str(spec.positive),
    }  # fmt: skip
    made = certificate.certify(
        fit.program,  # type: ignore[arg-type]  # a result with a card has a program
        fit.result,
        source={key: value for key, value in source.items() if value is not None},
        progress=False,
    )
    content: dict[str, Any] = json.loads(made.to_text())
    return content


def _figures(result: Result | Any) -> dict[str, Any]:
    """A result's own figures; of a proximal one as of a solver's."""
    if not isinstance(result, Result):
        terms = int(np.count_nonzero(result.coefficients))
        result = result_of(result, "", terms)
    summary = result.summary()
    figures = {name: summary[name] for name in FIGURES if name in summary}
    build = result.build_seconds + result.load_seconds
    points = list(result.trace)
    if len(points) > _MOST_POINTS:  # what held once holds on: fewer steps say nothing false
        points = [points[k] for k in np.linspace(0, len(points) - 1, _MOST_POINTS).astype(int)]
    trace = [(p.seconds, p.objective, p.dual_bound, p.nodes) for p in points]
    times = {"build_seconds": build, "solve_seconds": result.solve_seconds}
    return {**figures, **times, "trace": trace}


def _as_stated(part: Part, fit: Fit) -> Part:
    """A fold in the columns that a program was stated on: by cuts, where it penalises jumps."""
    design = None if fit.program is None else fit.program.statement.design
    design = design.unpaired if isinstance(design, Design) else design
    if not isinstance(design, Design) or design.columns == part.train.columns:
        return part
    test = None if part.test is None else in_steps(part.test)
    return replace(part, train=design, test=test)


def _judged(result: Result, part: Part) -> dict[str, Any]:
    """How an answer does: a card by its exact rule, real coefficients by w.x + b >= 0.

    The AUC of times to an event is Harrell's C.
    """
    design, result = unpaired(part.train, result)
    rule = result.rule(design.step)
    found: dict[str, Any] = {}
    for name, rows in {"train": design, "test": part.test}.items():
        if rows is not None:
            totals = rule.totals(rows.X, result.coefficients)
            if isinstance(rows, SurvivalDesign):
                found |= {
                    f"{name}_auc": metrics.concordance_of(rows, totals),
                    f"{name}_rows": int(rows.rows[rows.weight > 0].sum()),
                }
                continue
            answered = rule.positive(totals)
            found |= _scored(name, rows.y > 0, answered, totals, rows.weight, rows.rows)
    return found


def _scored(
    name: str, truth: Any, answered: Any, scores: Any, weight: Any, count: Any
) -> dict[str, Any]:
    """Accuracy, AUC and errors of answers on some rows; no AUC where they hold one class."""
    counted = weight > 0
    both = len(np.unique(truth[counted])) == 2
    return {
        f"{name}_accuracy": metrics.accuracy(truth, answered, weight),
        f"{name}_auc": metrics.auc(truth, scores, weight) if both else None,
        f"{name}_errors": int(count[(truth != answered) & counted].sum()),
        f"{name}_rows": int(count[counted].sum()),
    }
