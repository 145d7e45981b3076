"""Cross-validated accuracy and AUC of all models of a path at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError
from milpscore.losses import smooth_loss
from milpscore.proximal._operators import as_operator
from milpscore.proximal._problem import Smooth, prepare
from milpscore.proximal._result import ProximalResult
from milpscore.proximal._table import held_out

Fits: TypeAlias = Callable[[Smooth], list[ProximalResult]]


def across_folds(
    X: Any, y: Any, smooth: Smooth, sample_weight: Any, cv: Any, random_state: Any
) -> Callable[[Fits], dict[str, FloatArray]] | None:
    """Prepare the folds; the answer maps "fit all models on these rows" to the two columns.

    Raises
    ------
    OptionError
        ``cv`` is no number of folds, or the loss is not one of two classes.
    """
    if cv is None:
        return None
    if smooth_loss(smooth.loss).task != "classification":
        raise OptionError("cv reports accuracy and AUC, which need a classification loss.")
    operator = as_operator(X)
    signs = np.where(np.asarray(y, dtype=np.float64) > 0, 1.0, -1.0)
    weight = np.ones(len(signs)) if sample_weight is None else np.asarray(sample_weight, float)
    splits = _splits(signs, cv, random_state)

    def run(fits: Fits) -> dict[str, FloatArray]:
        parts = []
        for train, test in splits:
            part = prepare(
                operator.take(train),
                signs[train],
                smooth.loss,
                sample_weight=weight[train],
                intercept=smooth.intercept,
            )
            results = fits(part)
            w = np.stack([result.coefficients for result in results], axis=1)
            b = np.array([result.intercept for result in results])
            scores = operator.take(test).matvec(w) + b
            parts.append(held_out(scores, signs[test], weight[test]))
        mean = np.mean(np.array(parts), axis=0)
        return {"cv_accuracy": mean[0], "cv_auc": mean[1]}

    return run


def _splits(y: FloatArray, cv: Any, random_state: Any) -> list[tuple[IntArray, IntArray]]:
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        from sklearn.model_selection import StratifiedKFold

        least = int(min((y > 0).sum(), (y <= 0).sum()))
        if not 2 <= cv <= least:
            raise OptionError(
                f"cv={cv}; use 2 folds or more, and at most {least}, the rows of the rarer class."
            )
        folds = StratifiedKFold(int(cv), shuffle=True, random_state=random_state)
        return [(train, test) for train, test in folds.split(np.zeros((len(y), 1)), y)]
    if isinstance(cv, Iterable):
        return [(np.asarray(train), np.asarray(test)) for train, test in cv]
    raise OptionError(f"cv={cv!r}; use a number of folds or pairs (train, test) of row positions.")
