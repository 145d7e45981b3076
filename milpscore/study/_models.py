"""What a study may fit: card formulations, conic programs, proximal models, estimators."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, TypeAlias

from milpscore.core.errors import FormulationError, OptionError
from milpscore.study._checks import chosen, refuse_unknown, unknown
from milpscore.study._spec import Family, ModelSpec

_Known: TypeAlias = tuple[str, list[str], list[str], tuple[str, ...]]
"""A name as the registry has it, the arguments, those it must have, the kinds."""

CARD_KINDS = ("card", "exact", "relaxed", "randomised", "nearest", "heuristic")
"""How a card formulation is answered.

``card``: as ``milpscore fit`` does, an exact program solved from a start, a relaxed one rounded;
``exact`` and ``relaxed``: that program alone; ``randomised`` and ``nearest``: its LP rounded;
``heuristic``: no solver runs.
"""

CONIC_KINDS = ("relaxed", "exact")

_FAMILIES: tuple[Family, ...] = ("formulation", "proximal", "estimator")
_OF_DATA = ("X", "y", "sample_weight", "class_weight", "positive")
_OF_LIMITS = ("time_limit", "node_limit", "threads", "random_state", "binner", "class_weight")
_NO_MODEL = ("box", "sparse_hull")
_KEYS: dict[str, tuple[str, ...]] = {
    "formulation": ("kind", "solver", "n_draws"),
    "proximal": ("loss", "tol"),
    "estimator": (),
}


def checked_model(found: Mapping[str, Any], given: Mapping[str, Any], where: str) -> ModelSpec:
    """A model from a file's entry.

    Parameters
    ----------
    found, given : mapping
        The entry with its defaults, and as it stands there.
    where : str

    Raises
    ------
    OptionError
        An unknown formulation, penalty, estimator, kind, solver or argument, named with the nearest
        valid one; a key that does not go with the others; an empty grid.
    """
    family = next(each for each in _FAMILIES if each == chosen(found, _FAMILIES, where))
    for other, keys in _KEYS.items():
        for key in keys:
            if other != family and key in given:
                raise OptionError(f"{where}: {key} does not go with {family}: leave it out")
    what, known, needed, kinds = _KNOWN[family](found[family], where)
    kind = kinds[0] if found["kind"] is None else found["kind"]
    if kind not in kinds:
        raise OptionError(f"{where}, kind: {unknown(kind, kinds)}")
    if family == "formulation":
        _check_solver(what, found["solver"], where)
    refuse_unknown(found["arguments"], known, f"{where}, arguments")
    refuse_unknown(found["grid"], known, f"{where}, grid")
    for key, values in found["grid"].items():
        if not isinstance(values, list) or not values:
            raise OptionError(f"{where}, grid, {key}: must be a list of values, got {values!r}")
        if key in found["arguments"]:
            raise OptionError(f"{where}: {key} stands in arguments and in grid: keep one")
    missing = [key for key in needed if key not in {*found["arguments"], *found["grid"]}]
    if missing:
        raise OptionError(f"{where}: {what} needs {', '.join(missing)} in arguments or grid")
    check_constraints(found["arguments"], where)
    name = found["name"] or (what if kind == kinds[0] else f"{what} ({kind})")
    return ModelSpec(
        name=name, family=family, what=what, kind=kind, solver=found["solver"],
        n_draws=found["n_draws"], loss=_checked_loss(found["loss"], where),
        tol=None if found["tol"] is None else float(found["tol"]),
        arguments=found["arguments"], grid=found["grid"],
    )  # fmt: skip


def with_constraints(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Builder arguments, tables of constraints made constraints."""
    if "constraints" not in arguments:
        return dict(arguments)
    from milpscore.constraints._file import make_constraint

    return {**arguments, "constraints": tuple(map(make_constraint, arguments["constraints"]))}


def check_constraints(arguments: Mapping[str, Any], where: str) -> None:
    """Refuse constraints that are none.

    Raises
    ------
    OptionError
    """
    try:
        with_constraints(arguments)
    except (FormulationError, TypeError) as error:
        raise OptionError(f"{where}, arguments, constraints: {error}") from error


def _known_formulation(name: str, where: str) -> _Known:
    """The registry's name of a formulation, its arguments and kinds."""
    from milpscore.formulations import CONIC_FORMULATIONS, FORMULATIONS

    for registry, kinds in ((FORMULATIONS, CARD_KINDS), (CONIC_FORMULATIONS, CONIC_KINDS)):
        if name in registry:
            return registry.name_of(name), *_own_arguments(registry[name]), kinds
    every = [*FORMULATIONS, *CONIC_FORMULATIONS]
    raise OptionError(f"{where}, formulation: {unknown(name, every)}")


def _own_arguments(made: Any) -> tuple[list[str], list[str]]:
    """What a builder takes besides the data, and what of it must be given.

    What speaks of columns may come from the data set: a generator's expert, the bins.
    """
    parameters = inspect.signature(made).parameters
    own = [name for name in parameters if name not in _OF_DATA]
    needed = [name for name in own if parameters[name].default is inspect.Parameter.empty]
    return own, [name for name in needed if name not in ("expert", "blocks")]


def _known_penalty(name: str, where: str) -> _Known:
    """The registry's name of a penalty and its arguments."""
    from milpscore.penalties._registry import PENALTIES, penalty_class

    key = name.replace("-", "_")
    every = [each for each in PENALTIES if each not in _NO_MODEL]
    if key not in every:
        raise OptionError(f"{where}, proximal: {unknown(name, every)}")
    return key, *_own_arguments(penalty_class(key)), ("relaxed",)


def _known_estimator(name: str, where: str) -> _Known:
    """A classifier's name and its parameters."""
    from milpscore import estimators

    every = [e for e in estimators.__all__ if e.endswith(("Classifier", "ClassifierCV"))]
    every = [e for e in every if not e.startswith("Card")]
    if name not in every:
        raise OptionError(f"{where}, estimator: {unknown(name, every)}")
    own = inspect.signature(getattr(estimators, name)).parameters
    known = [k for k in own if k not in _OF_LIMITS and k != "estimator"]
    return name, known, [], ("estimator",)


_KNOWN = {
    "formulation": _known_formulation,
    "proximal": _known_penalty,
    "estimator": _known_estimator,
}


def _check_solver(formulation: str, solver: str, where: str) -> None:
    """Refuse a solver that does not solve such programs."""
    from milpscore.formulations import FORMULATIONS
    from milpscore.solvers import SOLVERS

    conic = formulation not in FORMULATIONS
    every = ["auto", *(name for name in SOLVERS if SOLVERS[name].conic == conic)]
    if solver not in every:
        raise OptionError(f"{where}, solver: {unknown(solver, every)}")


def _checked_loss(name: str, where: str) -> str:
    """A smooth loss of two classes."""
    from milpscore.losses.registry import EXACT_ONLY, LOSSES

    key = name.replace("-", "_")
    every = [loss for loss in LOSSES if loss not in EXACT_ONLY | {"multinomial", "poisson"}]
    if key not in every:
        raise OptionError(f"{where}, loss: {unknown(name, every)}")
    return key
