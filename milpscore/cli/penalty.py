"""A penalty as it is asked for on the command line: its name, the options it takes, the data."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from milpscore.cli.groups import setting, spelt
from milpscore.core.errors import DataError, OptionError
from milpscore.losses.registry import EXACT_ONLY, LOSSES
from milpscore.penalties import PENALTIES

if TYPE_CHECKING:
    from milpscore.core.design import Design
    from milpscore.core.statement import ProxPenalty

_NO_PATH = {"box", "sparse_hull"}
_NOT_FOR_TWO_CLASSES = EXACT_ONLY | {"multinomial", "poisson", "squared"}

GRID_PENALTIES = ("facets", "scf")
"""Those with a unit gamma and a first slope of lam / gamma."""

_BY_OPTION = {"gamma": "--gamma", "expert": "--expert-features", "blocks": "--bins"}


def penalty_names() -> list[str]:
    """Penalties with a weight lam; the others are sets, and a set makes no path."""
    return [spelt(name) for name in PENALTIES if name not in _NO_PATH]


def loss_names() -> list[str]:
    """The smooth losses of two classes."""
    return [spelt(name) for name in LOSSES if name not in _NOT_FOR_TWO_CLASSES]


def loss_key(name: str) -> str:
    """The registry's name of a loss as it was typed."""
    if (found := LOSSES.name_of(name)) in _NOT_FOR_TWO_CLASSES:
        raise OptionError(
            f"the loss {found} is not smooth or not of two classes; use {', '.join(loss_names())}"
        )
    return found


def penalty_maker(
    name: str,
    design: Design,
    *,
    gamma: float | None,
    expert: str | None,
    settings: Sequence[str] | None,
    binned: bool,
) -> Callable[..., ProxPenalty]:
    """What makes the penalty from lam (and gamma, where a grid varies it)."""
    made = _class_of(name)
    known = tuple(inspect.signature(made).parameters)[1:]
    given: dict[str, Any] = {}
    for key, value in map(setting, settings or ()):
        if key in given:
            raise OptionError(f"{key} is given twice: keep one of the two")
        if key in _BY_OPTION or key == "lam":
            instead = _BY_OPTION.get(key, "--lams")
            raise OptionError(f"--set {key}: use {instead} instead")
        if key not in known:
            takes = ", ".join(k for k in known if k not in _BY_OPTION) or "none"
            raise OptionError(f"{spelt(name)} has no argument {key!r} for --set; it has {takes}")
        given[key] = value
    for option, value in (("gamma", gamma), ("expert", expert)):
        if value is not None and option not in known:
            raise OptionError(f"{spelt(name)} takes no {_BY_OPTION[option]}: leave it out")
    if gamma is not None:
        given["gamma"] = gamma
    if expert is not None:
        given["expert"] = _known_columns(design, expert)
    if "blocks" in known:
        given |= _blocks(name, design, "weights" in given, binned)
    return _checked(made, name, given)


def _class_of(name: str) -> type[Any]:
    """The penalty's class."""
    if (found := PENALTIES.name_of(name)) in _NO_PATH:
        raise OptionError(f"{spelt(found)} is a set without a weight lam, and makes no path")
    made: type[Any] = PENALTIES[found]
    return made


def _known_columns(design: Design, expert: str) -> list[float]:
    """1 for every column of the features named, 0 else."""
    wanted = [part.strip() for part in expert.split(",") if part.strip()]
    features = {column.feature for column in design.columns}
    for one in wanted:
        if one not in features and one not in design.names:
            close = get_close_matches(one, sorted(features), n=1)
            hint = f"did you mean {close[0]!r}?" if close else "names are those of the columns."
            raise DataError(f"--expert-features: there is no feature {one!r}; {hint}")
    return [float(bool({c.feature, c.name} & set(wanted))) for c in design.columns]


def _blocks(name: str, design: Design, weighted: bool, binned: bool) -> dict[str, Any]:
    """Blocks of the design; binarsity's weights from the rows in each bin unless there are some."""
    if not binned or not design.blocks:
        raise OptionError(f"{spelt(name)} needs bins: add --bins N or --thresholds FILE")
    if sum(map(len, design.blocks)) != design.shape[1]:
        inside = {j for block in design.blocks for j in block}
        outside = next(column for j, column in enumerate(design.columns) if j not in inside)
        raise OptionError(
            f"{spelt(name)} needs every feature in one-hot bins, and {outside.feature!r} is not: "
            "use --bins N, without --encoding cumulative and --missing bin"
        )
    if weighted or spelt(name) != "binarsity":
        return {"blocks": design.blocks}
    from milpscore.penalties import data_driven_weights

    rows = design.weight @ design.X
    weights = data_driven_weights([rows[list(block)] for block in design.blocks], design.blocks)
    # only their proportions are given by the theory: lam reads best where the largest weight is 1
    return {"blocks": design.blocks, "weights": weights / weights.max()}


def _checked(made: type[Any], name: str, given: dict[str, Any]) -> Callable[..., ProxPenalty]:
    """The maker, tried once so that a wrong argument is found before any fitting."""
    parameters = list(inspect.signature(made).parameters.values())[1:]
    absent = [p.name for p in parameters if p.default is p.empty and p.name not in given]
    if absent:
        option = _BY_OPTION.get(absent[0], "--set")
        value = "A,B,C" if option == "--expert-features" else f"{absent[0]}=VALUE"
        raise OptionError(f"{spelt(name)} needs {absent[0]}: add {option} {value}")

    def make(lam: float, unit: float | None = None) -> ProxPenalty:
        found: ProxPenalty = made(lam, **(given if unit is None else {**given, "gamma": unit}))
        return found

    try:
        make(1.0)
    except TypeError as error:
        raise OptionError(f"{spelt(name)}: an argument is of the wrong kind ({error})") from error
    return make
