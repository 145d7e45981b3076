"""The losses as CVXPY expressions; adding one is a function and one line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np

from milpscore.core.conic import RowLoss, WeightedRows
from milpscore.core.errors import FormulationError, OptionError
from milpscore.losses import Hinge, Logistic, Poisson, Squared

Expression = tuple[Any, list[Any]]
"""The loss, and the rows it needs."""


def _squared(rows: WeightedRows, z: Any, loss: RowLoss) -> Expression:
    """sum_i s_i (y_i - z_i)^2 / 2."""
    return cp.sum_squares(cp.multiply(np.sqrt(rows.weight / 2), rows.y - z)), []


def _logistic(rows: WeightedRows, z: Any, loss: RowLoss) -> Expression:
    """sum_i s_i log(1 + exp(-y_i z_i))."""
    return rows.weight @ cp.logistic(cp.multiply(-rows.y, z)), []


def _hinge(rows: WeightedRows, z: Any, loss: RowLoss) -> Expression:
    """sum_i s_i xi_i / margin with xi_i >= margin - y_i z_i; the rows' duals give a bound."""
    assert isinstance(loss, Hinge)
    xi = cp.Variable(len(rows.y), nonneg=True, name="xi")
    margin_rows = xi >= loss.margin - cp.multiply(rows.y, z)
    return (rows.weight / loss.margin) @ xi, [margin_rows]


def _poisson(rows: WeightedRows, z: Any, loss: RowLoss) -> Expression:
    """sum_i s_i (exp(z_i) - y_i z_i)."""
    return rows.weight @ (cp.exp(z) - cp.multiply(rows.y, z)), []


Expressed = Callable[[WeightedRows, Any, RowLoss], Expression]

CONIC_LOSSES: dict[str, tuple[type[Any], Expressed]] = {
    "hinge": (Hinge, _hinge),
    "logistic": (Logistic, _logistic),
    "poisson": (Poisson, _poisson),
    "squared": (Squared, _squared),
}
"""The loss's class, and its weighted sum over rows with scores z."""


def conic_loss(loss: str | RowLoss, margin: float | None) -> RowLoss:
    """The loss meant by a name or an instance.

    Parameters
    ----------
    loss : str or RowLoss
    margin : float or None
        Of the hinge loss, 1 by default.

    Raises
    ------
    OptionError
        For a loss that has no conic form.
    FormulationError
        Where a margin is given for another loss, or is not positive.
    """
    name = str(loss if isinstance(loss, str) else getattr(loss, "name", loss)).replace("-", "_")
    if name not in CONIC_LOSSES:
        raise OptionError(
            f"no conic form of the loss {name!r}; there are {', '.join(sorted(CONIC_LOSSES))}"
        )
    if name != "hinge":
        if margin is not None:
            raise FormulationError(f"margin={margin!r} belongs to the hinge loss, not to {name}")
        made: RowLoss = CONIC_LOSSES[name][0]() if isinstance(loss, str) else loss
        return made
    if isinstance(loss, Hinge):
        if margin is not None and margin != loss.margin:
            raise FormulationError(f"margin={margin!r} contradicts {loss!r}: give one of the two")
        margin = loss.margin
    from milpscore.formulations.building import check_margin

    margin = 1.0 if margin is None else margin
    check_margin(margin)
    return Hinge(float(margin))


def express(rows: WeightedRows, z: Any, loss: RowLoss) -> Expression:
    """The weighted sum of the loss as a CVXPY expression of the scores z, and its constraints."""
    return CONIC_LOSSES[loss.name][1](rows, z, loss)
