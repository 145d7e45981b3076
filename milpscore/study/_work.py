"""One solve of a study, wherever it is done: fit, judge on all rows, keep the card."""

from __future__ import annotations

import json
import math
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from milpscore import metrics
from milpscore.study._data_sets import DataSet
from milpscore.study._spec import Limits, ModelSpec, Study, Task
from milpscore.study._sqlite import FIGURES

if TYPE_CHECKING:
    from milpscore.core.design import Design
    from milpscore.core.result import Result
    from milpscore.data.folds import Fold, Split
    from milpscore.study._fits import Fit

_KEPT = 4
"""Folds whose designs a process keeps: the tasks on the same rows follow one another."""


@dataclass(eq=False)
class Part:
    """The rows of a fold: the design fitted, the rows held out, and where both lie in the table."""

    train: Design
    test: Fold | None
    split: Split | None


@dataclass(eq=False)
class StudyWork:
    """What a worker needs for any task of a study; it keeps the folds it has made.

    Parameters
    ----------
    study : Study
    sets : mapping of str to DataSet
    """

    study: Study
    sets: Mapping[str, DataSet]
    _parts: OrderedDict[tuple[str, int | None], Part] = field(default_factory=OrderedDict)

    def __getstate__(self) -> dict[str, Any]:
        """What travels to another process: no folds, they are made there."""
        return {**vars(self), "_parts": OrderedDict()}

    def __call__(self, task: Task) -> dict[str, Any]:
        """Do a task.

        Returns
        -------
        dict
            ``result`` (figures), ``card`` and ``certificate`` as JSON holds them, or None.
        """
        data, part = self.sets[task.data], self._part(task)
        model = next(each for each in self.study.models if each.name == task.model)
        if model.family == "estimator":
            found = _by_estimator(model, task, data, part, self.study.limits)
        else:
            found = _by_fit(model, task, data, part, self.study)
        identity = {name: value for name, value in task.identity.items() if name != "seed"}
        found["result"] = plain({**identity, **found["result"]})
        return found

    def _part(self, task: Task) -> Part:
        """The rows of the task."""
        place = (task.data, task.fold)
        if place not in self._parts:
            part = _cut(self.sets[task.data], self.study, task.fold)
            while len(self._parts) >= _KEPT:
                self._parts.popitem(last=False)
            self._parts[place] = part
            return part
        return self._parts[place]


def _cut(data: DataSet, study: Study, fold: int | None) -> Part:
    """The rows of a fold; the binning is fitted on the training rows."""
    design = data.design()
    if fold is None:
        return Part(design, None, None)
    split = data.splits(design, study.folds)[fold]
    held_out = data.fold(design, split)
    return Part(held_out.train, held_out, split)


def _by_fit(
    model: ModelSpec, task: Task, data: DataSet, part: Part, study: Study
) -> dict[str, Any]:
    """A formulation's or a proximal model's answer."""
    from milpscore.scorecard import certified_card
    from milpscore.study._fits import fit_model

    fit = fit_model(model, task, part.train, study.limits, data.expert)
    result, card, certificate = fit.result, None, fit.result.summary()
    figures = _figures(result)
    if result.coefficients.size:
        figures |= _judged(result, part)
    if result.card is not None:
        statement = None if fit.program is None else fit.program.statement
        shown = certified_card(part.train, result, title=task.model, statement=statement)
        card, certificate = json.loads(shown.to_json()), dict(shown.certificate)
        if study.certificates:
            certificate = _evidence(fit, data)
    return {"result": figures, "card": card, "certificate": plain(certificate)}


def _evidence(fit: Fit, data: DataSet) -> dict[str, Any]:
    """The whole certificate, with what proves the bound."""
    from milpscore.certificate import certify

    spec = data.spec
    source = {
        "target": spec.target, "weights_column": spec.weights,
        "class_weight": spec.class_weight, "missing": spec.missing,
    }  # fmt: skip
    made = certify(
        fit.program,  # type: ignore[arg-type]  # a result with a card has a program
        fit.result,
        source={key: value for key, value in source.items() if value is not None},
    )
    content: dict[str, Any] = json.loads(made.to_text())
    return content


def _figures(result: Result) -> dict[str, Any]:
    """A result's own figures."""
    summary = result.summary()
    figures = {name: summary[name] for name in FIGURES if name in summary}
    build = result.build_seconds + result.load_seconds
    return {**figures, "build_seconds": build, "solve_seconds": result.solve_seconds}


def _judged(result: Result, part: Part) -> dict[str, Any]:
    """How an answer does: a card by its exact rule, real coefficients by w.x + b >= 0."""
    design = part.train
    rule = result.rule(design.step)
    found: dict[str, Any] = {}
    rows = {"train": (design.X, design.y, design.weight)}
    if part.test is not None:
        rows["test"] = (part.test.X, part.test.y, part.test.weight)
    for name, (X, y, weight) in rows.items():
        totals = rule.totals(X, result.coefficients)
        found |= _scored(name, y > 0, rule.positive(totals), totals, weight)
    return found


def _scored(name: str, truth: Any, answered: Any, scores: Any, weight: Any) -> dict[str, Any]:
    """Accuracy, AUC and errors of answers on some rows; no AUC where they hold one class."""
    counted = weight > 0
    both = len(np.unique(truth[counted])) == 2
    return {
        f"{name}_accuracy": metrics.accuracy(truth, answered, weight),
        f"{name}_auc": metrics.auc(truth, scores, weight) if both else None,
        f"{name}_errors": int((truth != answered)[counted].sum()),
        f"{name}_rows": int(counted.sum()),
    }


def _by_estimator(
    model: ModelSpec, task: Task, data: DataSet, part: Part, limits: Limits
) -> dict[str, Any]:
    """A scikit-learn estimator's answer: the raw rows in, its own binning inside."""
    from milpscore.data.checking import as_frame

    table, design = as_frame(data.X), data.design()
    train = np.flatnonzero(design.weight > 0) if part.split is None else part.split[0]
    estimator = _estimator(model, task, data, limits)
    began = time.perf_counter()
    weight = design.weight[train]
    estimator.fit(table.iloc[train], design.y[train], sample_weight=weight)
    seconds = time.perf_counter() - began
    figures = {"solve_seconds": seconds, "verified": False, **_own_figures(estimator)}
    rows = {"train": train} | ({} if part.split is None else {"test": part.split[1]})
    for name, places in rows.items():
        scores = np.asarray(estimator.decision_function(table.iloc[places]))
        answered = np.asarray(estimator.predict(table.iloc[places])) > 0
        truth = design.y[places] > 0
        figures |= _scored(name, truth, answered, scores, design.weight[places])
    card = getattr(estimator, "scorecard_", None)
    return {
        "result": figures,
        "card": None if card is None else json.loads(card.to_json()),
        "certificate": None if card is None else plain(dict(card.certificate)),
    }


def _estimator(model: ModelSpec, task: Task, data: DataSet, limits: Limits) -> Any:
    """The unfitted estimator, with the study's limits, seed and binning where it takes them."""
    from milpscore import estimators

    estimator = getattr(estimators, model.what)(**model.arguments, **task.parameters)
    inner = estimator
    if "estimator" in estimator.get_params(deep=False):
        inner = type(estimator).template()
        estimator.set_params(estimator=inner)
    ours = {
        "time_limit": limits.time_limit, "node_limit": limits.node_limit,
        "threads": limits.threads, "random_state": task.seed, "binner": data.binner(),
    }  # fmt: skip
    if data.expert is not None:
        ours["expert"] = data.expert
    for each in {id(one): one for one in (inner, estimator)}.values():
        takes = each.get_params(deep=False)
        given = {**model.arguments, **task.parameters}
        each.set_params(**{k: v for k, v in ours.items() if k in takes and k not in given})
    return estimator


def _own_figures(estimator: Any) -> dict[str, Any]:
    """The figures of an estimator that has a result of this library's own kind."""
    from milpscore.core.result import Result

    result = getattr(estimator, "result_", None)
    if isinstance(result, Result):
        own = _figures(result)
        return {name: own[name] for name in own if not name.endswith("_seconds")}
    named = {"objective": "objective", "loss": "loss", "penalty": "penalty", "gap": "gap"}
    found = {name: getattr(result, source, None) for name, source in named.items()}
    return {**found, "bound": getattr(result, "dual_objective", None)}


def plain(value: Any) -> Any:
    """A value as JSON can hold it: null for a number that is not finite."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)
