"""Folds of a design, the binning fitted again on the training rows of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from milpscore.core.design import Design, FloatArray, IntArray
from milpscore.core.errors import DataError, OptionError
from milpscore.data._design import make_design
from milpscore.data.checking import as_frame

Split = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]


@dataclass(frozen=True)
class Fold:
    """The design of the training rows, and the test rows in its columns."""

    train: Design
    X: FloatArray
    y: IntArray
    weight: FloatArray


def binned_design(
    X: Any,
    y: Any,
    binner: Any,
    *,
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
) -> Design:
    """The design itself, or one made from a table, binned where there is a binner."""
    weights = {"sample_weight": sample_weight, "class_weight": class_weight, "positive": positive}
    if isinstance(X, Design):
        if binner is not None:
            raise DataError("a Design is binned already: leave out binner, or pass the raw table")
        if y is not None or sample_weight is not None or class_weight is not None:
            raise DataError(
                "a Design already holds classes and weights: pass y and weights to make_design"
            )
        return X
    if binner is None:
        return make_design(X, y, **weights)
    design: Design = clone(binner).fit_design(X, y, **weights)
    return design


def stratified_splits(design: Design, cv: Any, random_state: int) -> list[Split]:
    """Training and test rows of each fold; rows of weight 0 are in none."""
    if cv is None or cv == 0:
        return []
    rows = np.flatnonzero(design.weight > 0)
    y = design.y[rows]
    if not hasattr(cv, "split"):
        smallest = int(min((y > 0).sum(), (y < 0).sum()))
        if isinstance(cv, bool) or not hasattr(cv, "__index__") or not 2 <= cv <= smallest:
            raise OptionError(
                f"cv must be None or a number of folds from 2 to {smallest}, the rows of the "
                f"rarer class, got {cv!r}"
            )
        cv = StratifiedKFold(int(cv), shuffle=True, random_state=random_state)
    return [(rows[train], rows[test]) for train, test in cv.split(rows[:, None], y)]


def folds_of(
    design: Design, splits: Sequence[Split], X: Any, binner: Any, sample_weight: Any = None
) -> Iterator[Fold]:
    """The folds of a design; with a binner its cuts come from the training rows alone."""
    for train, test in splits:
        y, weight = design.y[train], design.weight[train]
        if binner is None:
            fitted, held_out = replace(design, X=design.X[train], y=y), design.X[test]
        else:
            # a category that only test rows have scores 0: no training row could give it points
            table, fold = as_frame(X), clone(binner).set_params(unseen="zero")
            counted = None if sample_weight is None else np.asarray(sample_weight)[train]
            fitted = fold.fit_design(table.iloc[train], y, sample_weight=counted)
            held_out = np.asarray(fold.transform(table.iloc[test]), dtype=np.float64)
        yield Fold(replace(fitted, weight=weight), held_out, design.y[test], design.weight[test])
