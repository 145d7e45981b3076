"""The ranges of an estimator's parameters."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

from milpscore.core.errors import OptionError
from milpscore.sequence._proximal import check_penalty

_NUMBERS = ("rho1", "rho2", "tol", "time_limit")
_WHOLE = {"min_count": 1, "max_iterations": 0, "patience": 1, "errors_every": 0}
_OPTIONAL = ("time_limit", "patience")


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Refuse parameters outside their ranges.

    Raises
    ------
    OptionError
        Naming the parameter and its range.
    """
    given = {
        name: value
        for name, value in parameters.items()
        if not (name in _OPTIONAL and value is None)
    }
    for name in _NUMBERS:
        value = given.get(name, 0.0)
        if not (_is_number(value, numbers.Real) and 0 <= value < float("inf")):
            raise OptionError(f"{name} must be a finite number >= 0, got {value!r}")
    for name, least in _WHOLE.items():
        value = given.get(name, least)
        if not (_is_number(value, numbers.Integral) and value >= least):
            raise OptionError(f"{name} must be a whole number >= {least}, got {value!r}")
    if parameters["penalty"] is not None:
        check_penalty(parameters["penalty"])


def _is_number(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)
