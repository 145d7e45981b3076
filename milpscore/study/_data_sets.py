"""The data sets of a study, loaded: tables, labels, how they are binned and cut into folds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from milpscore.core.errors import DataError, OptionError
from milpscore.study._checks import refuse_unknown, unknown
from milpscore.study._spec import DataSpec, FoldSpec

if TYPE_CHECKING:
    from milpscore.core.design import Design
    from milpscore.data.folds import Fold, Split

BUNDLED = ("breast_cancer", "digits", "iris", "wine")
"""Sets that come with scikit-learn."""

GENERATORS: dict[str, str] = {
    "planted_score": "milpscore.data:make_planted_score",
    "ternary": "milpscore.data:make_ternary",
}
"""Name in a study -> "module:function"; a study may also name such a place itself."""

_OURS = ("random_state", "return_card")


@dataclass(frozen=True, eq=False)
class DataSet:
    """A loaded data set.

    Attributes
    ----------
    spec : DataSpec
    X : table of shape (n, q)
    y : array of shape (n,), two labels
    sample_weight : array of shape (n,) or None
    expert : array of shape (q,) or None
        What a generator's expert knows.
    """

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
            spec.bins, thresholds=spec.thresholds, encoding=spec.encoding, missing=spec.missing
        )

    def design(self) -> Design:
        """The design of all rows."""
        from milpscore.data.folds import binned_design

        return binned_design(
            self.X, self.y, self.binner(),
            sample_weight=self.sample_weight, class_weight=self.spec.class_weight,
            positive=self.spec.positive,
        )  # fmt: skip

    def splits(self, design: Design, folds: FoldSpec) -> list[Split]:
        """Training and test rows of each fold."""
        from sklearn.model_selection import KFold

        from milpscore.data.folds import stratified_splits

        if folds.stratified:
            return stratified_splits(design, folds.number, folds.seed)
        splitter = KFold(folds.number, shuffle=True, random_state=folds.seed)
        return stratified_splits(design, splitter, folds.seed)

    def fold(self, design: Design, split: Split) -> Fold:
        """The design of a fold's training rows, binned by them alone, and its test rows."""
        from milpscore.data.folds import folds_of

        (found,) = folds_of(design, [split], self.X, self.binner(), self.sample_weight)
        return found


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
    if spec.source == "csv":
        from milpscore.data import read_table
        from milpscore.study._file import expanded

        path = expanded(spec.folder, spec.place, spec.name)
        X, y, *rest = read_table(
            path, str(spec.target), positive=spec.positive, missing=spec.missing,
            weights=spec.weights,
        )  # fmt: skip
        return DataSet(spec, X, y, rest[0] if rest else None)
    if spec.source == "bundled":
        return _bundled(spec)
    made = generator(spec.place, spec.name)(**spec.arguments, random_state=spec.seed)
    if isinstance(made, tuple):
        return DataSet(spec, made[0], made[1])
    return DataSet(spec, made.X, made.y, expert=made.expert)


def generator(name: str, where: str) -> Callable[..., Any]:
    """The generator called ``name``, or one of the caller's own, "module:function".

    Raises
    ------
    OptionError
        Where there is none.
    """
    if name not in GENERATORS and ":" not in name:
        raise OptionError(f"{where}, generator: {unknown(name, GENERATORS)}")
    module, _, attribute = GENERATORS.get(name, name).partition(":")
    try:
        found: Callable[..., Any] = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise OptionError(f"{where}, generator: {name!r} cannot be imported ({error})") from error
    return found


def generator_arguments(
    function: Callable[..., Any], arguments: Mapping[str, Any], where: str
) -> None:
    """Refuse arguments a generator does not take, or lacks.

    Raises
    ------
    OptionError
    """
    parameters = {k: p for k, p in inspect.signature(function).parameters.items() if k not in _OURS}
    refuse_unknown(arguments, parameters, f"{where}, arguments")
    missing = [k for k, p in parameters.items() if p.default is p.empty and k not in arguments]
    if missing:
        raise OptionError(f"{where}, arguments: {', '.join(missing)} is missing")


def _bundled(spec: DataSpec) -> DataSet:
    """A set of scikit-learn's; of several classes one against the rest."""
    import numpy as np
    from sklearn import datasets

    found = getattr(datasets, f"load_{spec.place}")(as_frame=True)
    names = [str(name) for name in found.target_names]
    y = np.array(names, dtype=object)[found.target.to_numpy()]
    if spec.positive is not None and str(spec.positive) not in names:
        raise OptionError(f"positive: {unknown(str(spec.positive), names)}")
    if len(names) == 2:
        return DataSet(spec, found.data, y)
    if spec.positive is None:
        raise OptionError(
            f"{spec.place} has {len(names)} classes: name the positive one of {', '.join(names)}"
        )
    one = str(spec.positive)
    return DataSet(spec, found.data, np.where(y == one, one, f"not {one}"))
