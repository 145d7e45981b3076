"""A fitted estimator as the content of a model file, and back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from milpscore.core.errors import DataError
from milpscore.sequence._coding import Coding
from milpscore.sequence._files import load_weights, penalty_from_json, penalty_to_json, save_weights
from milpscore.sequence._trace import TraceRow
from milpscore.sequence._watching import trace_table, without_nan

if TYPE_CHECKING:
    from milpscore.sequence._crf import SparseCRF

_KEPT = {"objective": float, "status": str, "n_iter": int, "seconds": float}


def save_model(model: SparseCRF, path: str | os.PathLike[str], compact: bool) -> None:
    """Write a fitted estimator; see :meth:`SparseCRF.save`."""
    weights = model.weights_.compact() if compact else model.weights_
    coding = model.coding_.to_json()
    parameters = model.get_params(deep=False)
    seed = model.random_state
    parameters |= {
        "penalty": penalty_to_json(model.penalty),
        # a file of patterns need not be there when the model is read
        "patterns": None if model.patterns is None else coding["patterns"],
        "random_state": seed if isinstance(seed, int) else None,
    }
    about = {
        "coding": coding,
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        **{name: getattr(model, f"{name}_") for name in _KEPT},
        "best_iteration": model.best_iteration_,
        "trace": [without_nan(row) for row in model.trace_.to_dict("records")],
    }
    save_weights(path, weights, about)


def load_model(kind: type[SparseCRF], path: str | os.PathLike[str]) -> SparseCRF:
    """Read what :func:`save_model` wrote.

    Raises
    ------
    DataError
        The file cannot be read, is no model, is damaged, or was written by a newer milpscore.
    """
    weights, about = load_weights(path)
    try:
        parameters = dict(about["parameters"])
        parameters["penalty"] = penalty_from_json(parameters["penalty"])
        model = kind(**parameters)
        model.coding_ = Coding.from_json(
            about["coding"], weights.unigrams, weights.bigrams, weights.labels
        )
        for name, as_type in _KEPT.items():
            setattr(model, f"{name}_", as_type(about[name]))
        best = about["best_iteration"]
        model.best_iteration_ = None if best is None else int(best)
        model.trace_ = trace_table([TraceRow(**row) for row in about["trace"]])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"{str(path)!r} is damaged ({type(error).__name__}: {error}); train again"
        ) from error
    model.classes_ = np.array(weights.labels, dtype=object)
    model.theta_ = weights.theta
    return model


def _plain(value: Any) -> Any:
    """A parameter without NumPy's types, which JSON does not know."""
    return value.item() if isinstance(value, np.generic) else value
