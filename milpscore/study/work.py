"""One solve of a study, wherever it is done: load and cut the data, fit, judge, keep the card."""

from __future__ import annotations

import inspect
import json
import math
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from milpscore import metrics
from milpscore.core.errors import DataError, OptionError, Registry
from milpscore.study import models
from milpscore.study._spec import DataSpec, FoldSpec, ModelSpec, Study, Task, unlike
from milpscore.study.store import FIGURES

if TYPE_CHECKING:
    from milpscore.core.design import Design
    from milpscore.core.result import Result
    from milpscore.data.folds import Fold, Split

GENERATORS: Registry[Any] = Registry(
    "generator",
    {
        "planted_score": "milpscore.data:make_planted_score",
        "ternary": "milpscore.data:make_ternary",
    },
)
"""Makers of data sets by the name a study uses; any other is named as "module:function"."""

_KEPT = 4
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
        from milpscore.data import Binner

        spec = self.spec
        if spec.bins is None and spec.thresholds is None and spec.missing == "error":
            return None
        return Binner(
            spec.bins, thresholds=spec.thresholds, encoding=spec.encoding or "onehot",
            missing=spec.missing,
        )  # fmt: skip

    def design(self) -> Design:
        """The design of all rows."""
        from milpscore.data.folds import binned_design

        return binned_design(
            self.X, self.y, self.binner(),
            sample_weight=self.sample_weight, class_weight=self.spec.class_weight,
            positive=self.spec.positive,
        )  # fmt: skip

    def part(self, folds: FoldSpec, number: int | None) -> Part:
        """The rows of a fold, or all of them; binned on the training rows alone."""
        from sklearn.model_selection import KFold

        from milpscore.data.folds import folds_of, stratified_splits

        design = self.design()
        if number is None:
            return Part(design, None, None)
        cv: Any = folds.number
        if not folds.stratified:
            cv = KFold(folds.number, shuffle=True, random_state=folds.seed)
        split = stratified_splits(design, cv, folds.seed)[number]
        (held_out,) = folds_of(design, [split], self.X, self.binner(), self.sample_weight)
        return Part(held_out.train, held_out, split)


@dataclass(eq=False)
class Part:
    """The rows of a fold: the design fitted, the rows held out, and where both lie in the table."""

    train: Design
    test: Fold | None
    split: Split | None


def load_data_set(spec: DataSpec) -> DataSet:
    """Read or make a data set.

    Raises
    ------
    DataError, OptionError
        It cannot be used as given; the message names it.
    """
    try:
        return _loaded(spec)
    except (DataError, OptionError) as error:
        raise type(error)(f"data {spec.name}: {error}") from error


def _loaded(spec: DataSpec) -> DataSet:
    """The data set itself."""
    if spec.csv is not None:
        from milpscore.data import read_table

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


def _bundled(spec: DataSpec) -> DataSet:
    """A set of scikit-learn's; of several classes one against the rest."""
    from sklearn import datasets

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
    """Refuse a generator there is not, and arguments it does not take or lacks.

    Raises
    ------
    OptionError
    """
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
    _parts: OrderedDict[tuple[str, int | None], Part] = field(default_factory=OrderedDict)

    def __getstate__(self) -> dict[str, Any]:
        """What travels to another process: no folds, they are made there."""
        return {**vars(self), "_parts": OrderedDict()}

    def __call__(self, task: Task) -> dict[str, Any]:
        """Do a task: ``result`` (figures), ``card`` and ``certificate`` as JSON holds them."""
        data, part = self.sets[task.data], self._part(task)
        model = next(each for each in self.study.models if each.name == task.model)
        if model.kind in models.ESTIMATOR_KINDS:
            found = self._by_estimator(model, task, data, part)
        else:
            found = self._by_design(model, task, data, part)
        return {**found, "result": plain({**task.place, **found["result"]})}

    def _part(self, task: Task) -> Part:
        """The rows of the task."""
        place = (task.data, task.fold)
        if place not in self._parts:
            part = self.sets[task.data].part(self.study.folds, task.fold)
            while len(self._parts) >= _KEPT:
                self._parts.popitem(last=False)
            self._parts[place] = part
        return self._parts[place]

    def _by_design(self, model: ModelSpec, task: Task, data: DataSet, part: Part) -> dict[str, Any]:
        """An answer on the fold's design: figures, card, certificate."""
        from milpscore.scorecard import certified_card

        fit = models.fit_model(model, task, part.train, self.study.limits, data.expert)
        result, card, certificate = fit.result, None, fit.result.summary()
        figures = _figures(result)
        if result.coefficients.size:
            figures |= _judged(result, part)
        if result.card is not None:
            statement = None if fit.program is None else fit.program.statement
            shown = certified_card(part.train, result, title=task.model, statement=statement)
            card, certificate = json.loads(shown.to_json()), dict(shown.certificate)
            if self.study.certificates:
                certificate = _evidence(fit, data)
        return {"result": figures, "card": card, "certificate": plain(certificate)}

    def _by_estimator(
        self, model: ModelSpec, task: Task, data: DataSet, part: Part
    ) -> dict[str, Any]:
        """A classifier's answer: the raw rows in, its own binning inside."""
        from milpscore.data.checking import as_frame

        table, design = as_frame(data.X), data.design()
        train = np.flatnonzero(design.weight > 0) if part.split is None else part.split[0]
        limits, binner = self.study.limits, data.binner()
        estimator = models.classifier(model, task, limits, binner, data.expert)
        began = time.perf_counter()
        estimator.fit(table.iloc[train], design.y[train], sample_weight=design.weight[train])
        seconds = time.perf_counter() - began
        figures = {"verified": False, **_figures(estimator.result_), "solve_seconds": seconds}
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


def _evidence(fit: models.Fit, data: DataSet) -> dict[str, Any]:
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


def _figures(result: Result | Any) -> dict[str, Any]:
    """A result's own figures; of a proximal one as of a solver's."""
    from milpscore.core.result import Result

    if not isinstance(result, Result):
        terms = int(np.count_nonzero(result.coefficients))
        result = models.result_of(result, "", terms)
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
