"""One default a parameter, whichever door one comes in by."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import pytest

import milpscore
from milpscore.cli.app import COMMANDS
from milpscore.cli.groups import grouped
from milpscore.comparison import compare
from milpscore.core.result import CLAIM_TOLERANCE
from milpscore.core.statement import LAM
from milpscore.data import Binner
from milpscore.estimators import FormulationClassifier
from milpscore.fitting import MAX_TERMS, fit_card, with_few_terms
from milpscore.formulations import CONIC_FORMULATIONS, FORMULATIONS, SURVIVAL_FORMULATIONS
from milpscore.solvers.options import ConicOptions, Options
from milpscore_study import Study

SPELT = {"seed": "random_state", "draws": "n_draws"}
"""The command line's names of what has another name in Python."""

# sequences are a trade of their own, with the defaults of its rivals; figures have sizes, not rules
LEFT_OUT = ("sequence", "plots", "cli")

OF_THE_FORMULATION = {
    "coef_max",
    "coef_min",
    "intercept",
    "l0_penalty",
    "loss",
    "margin",
    "weights",
}
"""What a program is chosen for: test_estimators_fit compares each with its estimator."""

OF_THE_DOOR = {
    "arguments": "of one formulation, or by formulation",
    "by": "of one method",
    "certificate": "the card's own, or one to be shown",
    "blocks": "a card has none, a penalty must be told",
    "encoding": "of a file's text, or of bins",
    "format": "of a study's tables, or of a card's page",
    "name": "of a part of a model, or of a rule",
    "names": "an answer's own, or a choice",
    "out": "an array to fill, or a file to write",
    "outcome": "a card's own, or what it is to be",
    "savings": "seeds asked for, and what came of them",
    "seeds": "several runs of a study, or of one measurement",
    "source": "where rows came from",
    "step": "of a data grid, or of a line search",
    "title": "a text",
    "unit": "of a grid, or of a figure",
    "words": "a card's own, or what they are to be",
}
"""One word for different things."""

EXCEPTIONS = {
    ("random_state", "data.make_*"): "a generator without a seed draws afresh, as scikit-learn's",
    ("random_state", "rounding.scaled_rounding"): "nothing is drawn: a note in the answer",
    ("random_state", "search.RoundedCard"): "an answer's own",
    ("time_limit", "certificate.*"): "a proof takes as long as it takes: PROOF_SECONDS",
    ("time_limit", "command verify"): "likewise",
    ("time_limit", "solvers.conflict"): "a diagnosis, made inside other solves",
    ("time_limit", "solvers.ConicOptions"): "ECOS cannot be stopped by the clock",
    ("time_limit", "proximal.*"): "no card is solved: as long as it takes, unless a limit is given",
    ("time_limit", "search.*"): "work bounds a search, alike on every machine",
    ("max_terms", "builder *"): "a program says what it is told, no more",
    ("max_terms", "pools.pareto"): "the sizes to try",
    ("max_terms", "search.fast_risk_card"): "the statement's own, unless another is asked for",
    ("scale", "search.fast_risk_card"): "likewise",
    ("scale", "scorecard.RiskScale"): "a card's own",
    ("lam", "builder risk_score"): "no penalty unless one is named",
    ("lam", "builder slim"): "likewise",
    ("lam", "builder survival_score"): "likewise",
    ("lam", "estimators.SurvivalScoreEstimator"): "likewise",
    ("lam", "estimators.RiskScoreClassifier"): "likewise",
    ("lam", "estimators.SlimClassifier"): "likewise",
    ("lam", "estimators.Penalised*"): "None leaves a penalty its own; LAM for a name",
    ("penalty", "command path"): "l1: the one most ask for",
    ("penalty", "*risk_score"): "none unless one is named",
    ("penalty", "builder slim"): "likewise",
    ("penalty", "builder survival_score"): "likewise",
    ("penalty", "estimators.SurvivalScoreEstimator"): "likewise",
    ("penalty", "estimators.RiskScoreClassifier"): "likewise",
    ("penalty", "estimators.SlimClassifier"): "likewise",
    ("penalty", "search.proximal_start"): "the statement's own",
    ("eps", "estimators.Facets*"): "0 is Facets itself, which has no eps",
    ("eps", "search.local_search"): "another eps: of an improvement",
    ("cv", "proximal.*"): "a path needs none",
    ("cv", "command path"): "likewise",
    ("tol", "comparison.compare_realisations"): "differences of optima need sharper ones",
    ("tol", "solvers.ConicOptions"): "likewise",
    ("max_iter", "*"): "each algorithm's own",
    ("max_work", "search.start_card"): "a start must be quick",
    ("max_work", "search.proximal_start"): "likewise",
    ("max_work", "rounding.Request"): "likewise",
    ("n_bins", "data.BinnedDesign"): "an answer's own",
    ("binner", "estimators.Penalised*"): "real coefficients need no cuts",
    ("binner", "data.stored_rows"): "likewise",
    ("binner", "estimators.Eye*"): "likewise",
    ("binner", "estimators.Facets[CR]*"): "likewise",
    ("unseen", "data.Binner"): "a category that no training row has scores nothing",
    ("n_bins", "estimators.Binarsity*"): "its penalty merges bins, a card's does not",
    ("n_jobs", "estimators.OneStandardErrorCV"): "None: joblib's context decides",
    ("n_lams", "search.proximal_start"): "a start must be quick",
    ("n_terms", "data.make_*"): "of the card planted",
    ("reference", "study.bound_curves"): "another reference: known objectives",
    ("unseen", "scorecard.*.to_sql"): "SQL answers NULL, it cannot refuse",
    ("warm_start", "fit_card"): "whether, not which",
    ("formulations", "command *"): "a text with commas",
    ("roundings", "command *"): "a text with commas",
}
"""(parameter, door) -> why its default differs from that of the other doors."""


def doors() -> Iterator[tuple[str, Any]]:
    """Every public callable of every room, builder, command, and set of options."""
    rooms = [f"milpscore.{room.name}" for room in pkgutil.iter_modules(milpscore.__path__)]
    for full in (*rooms, "milpscore_study", "milpscore_show.report", "milpscore_show.plots"):
        room = full.rpartition(".")[2].removeprefix("milpscore_")
        if room.startswith("_") or room in LEFT_OUT:
            continue
        module = importlib.import_module(full)
        for name in getattr(module, "__all__", ()):
            found = getattr(module, name)
            if room == "formulations" or not callable(found):
                continue  # builders come from the registries
            if inspect.isclass(found) and issubclass(found, Exception):
                continue
            yield f"{room}.{name}", found
            if inspect.isclass(found):
                for method, function in vars(found).items():
                    if inspect.isfunction(function) and not method.startswith("_"):
                        yield f"{room}.{name}.{method}", function
    for registry in (FORMULATIONS, SURVIVAL_FORMULATIONS, CONIC_FORMULATIONS):
        yield from ((f"builder {name}", registry[name]) for name in registry)
    commands = ((name, COMMANDS[name]) for name in COMMANDS)
    yield from (
        (f"command {name}", grouped(found)) for name, found in commands if inspect.isfunction(found)
    )
    yield "solvers.ConicOptions", ConicOptions
    yield "fit_card", fit_card
    yield "study limits", type(inspect.signature(Study).parameters["limits"].default)


def defaults() -> dict[str, dict[str, Any]]:
    """Parameter -> door -> default; an option left out (None) is left to the library."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for door, function in doors():
        for parameter in inspect.signature(function).parameters.values():
            default = parameter.default
            unsaid = default is None and door.startswith("command ")
            if isinstance(default, str):
                default = default.replace("-", "_")  # as the command line spells names
            if default is not parameter.empty and not unsaid:
                found[SPELT.get(parameter.name, parameter.name)][door] = default
    return found


FOUND = defaults()


def excepted(name: str, door: str) -> bool:
    return any(name == each and fnmatchcase(door, pattern) for each, pattern in EXCEPTIONS)


@pytest.mark.parametrize("name", sorted(FOUND.keys() - OF_THE_FORMULATION - OF_THE_DOOR.keys()))
def test_one_default_a_parameter(name: str) -> None:
    by_default: dict[str, list[str]] = defaultdict(list)
    for door, default in FOUND[name].items():
        if not excepted(name, door):
            by_default[repr(default)].append(door)
    assert len(by_default) <= 1, by_default


def test_every_exception_is_one() -> None:
    for name, pattern in EXCEPTIONS:
        inside = {repr(v) for door, v in FOUND[name].items() if fnmatchcase(door, pattern)}
        usual = {repr(v) for door, v in FOUND[name].items() if not excepted(name, door)}
        assert inside, (name, pattern)
        assert inside - usual or len(inside) > 1, (name, pattern)
    assert OF_THE_DOOR.keys() <= FOUND.keys()


def test_the_defaults_themselves() -> None:
    assert (Options.time_limit, Options.mip_gap, Options.node_limit) == (30.0, 1e-6, None)
    assert (Options.mip_gap_abs, Options.mip_gap) == (0.0, CLAIM_TOLERANCE)
    assert (Options.threads, Options.random_state, MAX_TERMS, LAM) == (1, 0, 5, 0.01)
    for name in ("time_limit", "mip_gap", "mip_gap_abs", "node_limit", "threads", "random_state"):
        usual = [v for door, v in FOUND[name].items() if not excepted(name, door)]
        assert len(usual) > 4
        assert set(usual) == {getattr(Options, name)}


@pytest.mark.parametrize("name", list(FORMULATIONS))
def test_terms_are_few_by_every_door_for_a_person(name: str) -> None:
    takes = "max_terms" in inspect.signature(FORMULATIONS[name]).parameters
    assert with_few_terms(name, {}) == ({"max_terms": MAX_TERMS} if takes else {})
    assert with_few_terms(name, {"max_terms": None}) == {"max_terms": None}
    X, y = [[0, 1], [1, 1], [1, 0], [0, 0]], [0, 1, 1, 0]
    binner = Binner(2, encoding="onehot") if name == "fused_lasso" else None
    model = FormulationClassifier(formulation=name, binner=binner).fit(X, y)
    (program,) = compare(X, y, formulations=[name], binner=binner, cv=None).programs.values()
    for each in (model.program_, program):
        assert each.arguments.get("max_terms") == (MAX_TERMS if takes else None)
