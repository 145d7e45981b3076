"""The losses by name; adding one is a new file and one line here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from milpscore.core.errors import OptionError

if TYPE_CHECKING:
    from milpscore.core.terms import SmoothLoss

LOSSES: dict[str, str] = {
    "hinge": "milpscore.losses._hinge:Hinge",
    "logistic": "milpscore.losses._logistic:Logistic",
    "multinomial": "milpscore.losses._multinomial:Multinomial",
    "poisson": "milpscore.losses._poisson:Poisson",
    "probit": "milpscore.losses._probit:Probit",
    "smoothed_hinge": "milpscore.losses._smoothed_hinge:SmoothedHinge",
    "squared": "milpscore.losses._squared:Squared",
    "squared_hinge": "milpscore.losses._squared_hinge:SquaredHinge",
    "zero_one": "milpscore.losses._zero_one:ZeroOne",
}

EXACT_ONLY = frozenset({"hinge", "zero_one"})
"""Losses without a derivative: the exact programs use them, the proximal algorithms cannot."""


def loss_class(name: str) -> type[Any]:
    """The class of the loss called ``name``; hyphens count as underscores.

    Raises
    ------
    OptionError
        Where there is none; the message lists those there are.
    """
    key = name.replace("-", "_")
    if key not in LOSSES:
        raise OptionError(f"no loss {name!r}; there are {', '.join(sorted(LOSSES))}.")
    module, _, attribute = LOSSES[key].partition(":")
    found: type[Any] = getattr(import_module(module), attribute)
    return found


def smooth_loss(loss: str | SmoothLoss, **options: Any) -> SmoothLoss:
    """The loss with a derivative that is meant by a name or an instance.

    Parameters
    ----------
    loss : str or SmoothLoss
    **options
        Parameters of the class (``smoothing=``), for a name only.

    Returns
    -------
    SmoothLoss

    Raises
    ------
    OptionError
        The name is unknown, or the loss has no derivative.
    """
    found = loss_class(loss)(**options) if isinstance(loss, str) else loss
    if not hasattr(found, "gradient"):
        raise OptionError(
            f"the loss {getattr(found, 'name', found)!r} has no derivative; use one of"
            f" {', '.join(sorted(set(LOSSES) - EXACT_ONLY))}."
        )
    smooth: SmoothLoss = found
    return smooth
