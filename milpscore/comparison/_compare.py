"""Exact beside relaxed beside rounded: one table over several formulations."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from milpscore import metrics
from milpscore.comparison._family import Family, Run, Seconds, exact_program, solve_family
from milpscore.core.design import Design, FloatArray, IntArray
from milpscore.core.errors import FormulationError, OptionError
from milpscore.core.program import Program
from milpscore.core.result import Result, relative_gap
from milpscore.data.folds import Fold, binned_design, folds_of, stratified_splits
from milpscore.formulations import FORMULATIONS
from milpscore.rounding import ROUNDINGS
from milpscore.rounding._savings import savings_table

PROXIMAL_COLUMNS = (
    "surrogate", "surrogate_lam", "surrogate_objective", "surrogate_loss", "surrogate_gap",
)  # fmt: skip
"""The row "proximal" adds them: figures of the smooth model behind its card, of no other row's."""

COLUMNS = (
    "formulation", "kind", "claim", "verified",
    "objective", "loss", "penalty", "bound", "bound_source", "gap", "integrality_gap",
    "integrity", "magnitude", "terms",
    "train_accuracy", "train_auc", "cv_accuracy", "cv_auc",
    "rounding_loss", "sure_bound", "expected_bound", "sharp_bound",
    "rows", "columns", "integers", "nonzeros",
    "build_seconds", "load_seconds", "solve_seconds", "nodes",
    "solver", "random_state", "termination", "origin", "message", "caveat",
)  # fmt: skip
"""The columns of the table, in this order."""

_TEXTS = ("bound_source", "solver", "termination", "origin", "message", "caveat")
_COUNTS = ("terms", "rows", "columns", "integers", "nonzeros", "nodes", "random_state")
_DATA = ("X", "y", "sample_weight", "class_weight", "positive")


def compare(
    X: Any,
    y: Any = None,
    *,
    formulations: Sequence[str] = ("slim", "hinge"),
    arguments: Mapping[str, Mapping[str, Any]] | None = None,
    binner: Any = None,
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
    time_limit: float = 30.0,
    n_draws: int = 100,
    cv: Any = 5,
    random_state: int = 0,
    solver: str = "auto",
    progress: bool | None = None,
    proximal: bool = False,
    roundings: Sequence[str] = (),
    savings: Sequence[int] = (),
    options: Mapping[str, Any] | None = None,
    **common: Any,
) -> pd.DataFrame:
    """Solve each formulation exactly, relax it, round the relaxation, and lay all side by side.

    The four rows of a formulation speak of one statement on one design: ``exact``; ``relaxed``,
    its LP; ``randomised``, the best of N randomised roundings of that LP; ``nearest``, its
    deterministic rounding. The best rounded card, or a better one from coordinate descent, starts
    the exact solve, so that always ``relaxed <= exact <= randomised, nearest`` in the objective.

    Parameters
    ----------
    X : array, DataFrame of shape (n, q), or Design
    y : array of shape (n,), two labels; None with a Design
    formulations : sequence of str
        Names of :data:`milpscore.formulations.FORMULATIONS`. One that cannot be stated for these
        data (say, fused_lasso without bins) becomes a row with claim ``none`` and the reason.
    arguments : mapping from formulation to its builder's arguments, optional
        For example ``{"hinge": {"margin": 2}}``; they go before the common ones.
    binner : Binner, optional
        Unfitted; binarises X, and is fitted again inside every fold.
    sample_weight, class_weight, positive :
        As in :func:`milpscore.data.make_design`. Losses, accuracies and AUCs weigh rows alike.
    time_limit : float
        Seconds of solving for the whole table, shared equally by the formulations; half of each
        share goes to the solves on all rows, the other half equally to the folds. Building and
        checking come on top. After Ctrl-C the rows so far are returned.
    n_draws : int
        Draws of the randomised rounding.
    cv : int, splitter or None
        Stratified, shuffled folds; None or 0 for none. Every row is fitted again in each fold,
        within the fold's seconds, and its figures are means over the folds.
    random_state : int
        Seed of solver, rounding and folds.
    solver, progress :
        As in :func:`milpscore.solvers.solve`.
    proximal : bool
        Add a row ``proximal`` to each formulation: the card rounded from a proximal path
        (:func:`milpscore.search.find_start`), judged by the statement's own objective and the
        LP's bound. The columns :data:`PROXIMAL_COLUMNS` hold the smooth model's figures, which
        bound nothing.
    roundings : sequence of str
        Names of :data:`milpscore.rounding.ROUNDINGS`, such as "derandomised" or "local_search": a
        row each, judged as the other roundings are, and one more card the exact solve may start
        from. One that does not apply to a statement becomes a row with claim ``none`` and the
        reason.
    savings : sequence of int
        Seeds. For each, every exact program is solved twice more, in the seconds of its exact row:
        with and without a proximal start. ``attrs["savings"]`` then holds what
        :func:`milpscore.rounding.warm_start_savings` says of it.
    options : mapping, optional
        Further solver options.
    **common :
        Builder arguments for every formulation that has them, such as ``max_terms``.

    Returns
    -------
    DataFrame
        One row a program, with the columns :data:`COLUMNS`. ``integrality_gap`` is the exact
        objective above the LP's, relative as ``gap`` is (too large where the exact row is not
        ``optimal``); ``magnitude`` the L1 norm. Under the
        hinge loss ``rounding_loss`` is what the bounds speak of, the intercept held at the LP's
        and no term dropped: the mean over the draws, whose expectation obeys ``expected_bound``
        and ``sharp_bound``, and the loss of nearest rounding, which obeys ``sure_bound``; see
        :func:`milpscore.rounding.rounding_bounds`. ``attrs["results"]`` maps (formulation, kind)
        to the :class:`milpscore.core.result.Result`, ``attrs["names"]`` lists the design columns:
        :mod:`milpscore.plots` reads both. Clear ``attrs`` before writing to a format that stores
        it as JSON.

    Raises
    ------
    DataError, OptionError
    FormulationError
        For an unknown formulation or argument, or where no formulation at all can be stated.
    """
    for option in {"time_limit", "random_state"} & set(options or {}):
        raise OptionError(f"{option} is an argument of its own: leave it out of options")
    names = [name.replace("-", "_") for name in formulations]
    chosen = _arguments(names, arguments or {}, common)
    design = binned_design(
        X, y, binner, sample_weight=sample_weight, class_weight=class_weight, positive=positive
    )
    splits = stratified_splits(design, cv, random_state)
    seconds = Seconds.shared(time_limit, len(names), len(splits))
    more = _roundings(roundings)
    run = Run(n_draws, random_state, solver, progress, dict(options or {}), proximal, more)
    rows: list[dict[str, Any]] = []
    results: dict[tuple[str, str], Result] = {}
    refusals: list[FormulationError] = []
    programs: dict[str, Program] = {}
    for name in names:
        if run.interrupted:
            rows.append(_no_answer(name, "not run: interrupted"))
            continue
        try:
            program = exact_program(name, design, chosen[name])
        except FormulationError as error:
            refusals.append(error)
            rows.append(_no_answer(name, f"not stated: {error}"))
            continue
        programs[name] = program
        family = solve_family(program, run, seconds.whole)
        folds = folds_of(design, splits, X, binner, sample_weight)
        held_out, failure = _cross_validate(name, chosen[name], folds, run, seconds.fold)
        for kind in run.kinds:
            row = _row(name, kind, family, design) | held_out.get(kind, {})
            row["message"] = "; ".join(filter(None, [row["message"], failure]))
            rows.append(row)
            results[name, kind] = family.results[kind]
    if refusals and not results:
        raise refusals[0]
    columns = [*COLUMNS, *(PROXIMAL_COLUMNS if proximal else ())]
    texts = [*_TEXTS, *(("surrogate",) if proximal else ())]
    table = pd.DataFrame(rows, columns=columns).fillna(dict.fromkeys(texts, ""))
    table = table.astype(dict.fromkeys(_COUNTS, "Int64"))
    table.attrs.update(results=results, names=design.names)
    if len(savings) and not run.interrupted:
        table.attrs["savings"] = savings_table(
            programs, savings, seconds.whole, solver=solver, **run.options
        )
    return table


def _roundings(given: Sequence[str]) -> tuple[str, ...]:
    """Names of roundings as the registry has them, each there and given once."""
    names = tuple(name.replace("-", "_") for name in given)
    for name in names:
        ROUNDINGS.name_of(name)
        if names.count(name) > 1:
            raise OptionError(f"the rounding {name} is given twice: each makes one row")
    return names


def _arguments(
    names: Sequence[str], given: Mapping[str, Mapping[str, Any]], common: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Builder arguments of each formulation."""
    if not names:
        raise FormulationError(f"name at least one formulation of {sorted(FORMULATIONS)}")
    own = {name.replace("-", "_"): dict(values) for name, values in given.items()}
    for name in own:
        if name not in names:
            raise FormulationError(f"arguments for {name!r}, which is not among {list(names)}")
    known = {
        name: set(inspect.signature(FORMULATIONS[name]).parameters) - set(_DATA) for name in names
    }
    for argument in common:
        if not any(argument in accepted for accepted in known.values()):
            raise FormulationError(f"no formulation of {list(names)} has an argument {argument!r}")
    for name, values in own.items():
        for argument in values:
            if argument not in known[name]:
                raise FormulationError(
                    f"{name} has no argument {argument!r}; it has {sorted(known[name])}"
                )
    shared = {
        name: {k: v for k, v in common.items() if k in accepted} for name, accepted in known.items()
    }
    return {name: {**shared[name], **own.get(name, {})} for name in names}


def _no_answer(name: str, message: str) -> dict[str, Any]:
    """The one row of a formulation that was not solved."""
    return {
        "formulation": name,
        "kind": "exact",
        "claim": "none",
        "verified": False,
        "message": message,
    }


def _row(name: str, kind: str, family: Family, design: Design) -> dict[str, Any]:
    """One row of the table, cross-validation left out."""
    result = family.results[kind]
    figures = result.summary()
    row = {key: figures[key] for key in COLUMNS if key in figures}
    row |= {"formulation": name, "kind": kind, **family.size, **family.rounding.get(kind, {})}
    for part in ("build_seconds", "load_seconds", "solve_seconds"):
        row[part] = getattr(result, part)
    if kind != "exact":
        row["integers"] = 0
    elif math.isfinite(family.results["relaxed"].objective):
        row["integrality_gap"] = relative_gap(result.objective, family.results["relaxed"].objective)
    if result.coefficients.size:
        accuracy, area = _judge(result, design.step, design.X, design.y, design.weight)
        row |= {
            "integrity": metrics.integrity(result.coefficients),
            "magnitude": metrics.magnitude(result.coefficients),
            "train_accuracy": accuracy,
            "train_auc": area,
        }
    else:
        del row["terms"]  # no card is not the card without terms
    return row


def _judge(
    result: Result, step: Any, X: FloatArray, y: IntArray, weight: FloatArray
) -> tuple[float, float]:
    """Accuracy and AUC of an answer, a card by its exact rule, a relaxation by w.x + b >= 0."""
    rule = result.rule(step)
    totals = rule.totals(X, result.coefficients)
    return (
        metrics.accuracy(y > 0, rule.positive(totals), weight),
        metrics.auc(y, totals, weight),
    )


def _cross_validate(
    name: str,
    arguments: Mapping[str, Any],
    folds: Iterable[Fold],
    run: Run,
    seconds: float,
) -> tuple[dict[str, dict[str, float]], str]:
    """Mean accuracy and AUC over the folds by kind, or none and why.

    NaN where some fold has no answer of that kind.
    """
    scores: dict[str, list[tuple[float, float]]] = {kind: [] for kind in run.kinds}
    nothing = (float("nan"), float("nan"))
    for fold in folds:
        if run.interrupted:
            return {}, "not cross-validated: interrupted"
        try:
            program = exact_program(name, fold.train, arguments)
        except FormulationError as error:
            return {}, f"not cross-validated: on the training rows of a fold, {error}"
        for kind, result in solve_family(program, run, seconds).results.items():
            scores[kind].append(
                _judge(result, fold.train.step, fold.X, fold.y, fold.weight)
                if result.coefficients.size
                else nothing
            )
    if run.interrupted:
        return {}, "not cross-validated: interrupted"
    means = {kind: np.mean(found, axis=0).tolist() for kind, found in scores.items() if found}
    return {kind: {"cv_accuracy": m[0], "cv_auc": m[1]} for kind, m in means.items()}, ""
