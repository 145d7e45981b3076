"""The losses and links by name, and what a name or an instance of a loss means."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from milpscore.core.errors import OptionError, Registry

if TYPE_CHECKING:
    from milpscore.core.design import FloatArray
    from milpscore.core.statement import SmoothLoss

LOSSES: Registry[Any] = Registry(
    "loss",
    {
        "hinge": "milpscore.losses._cards:Hinge",
        "logistic": "milpscore.losses._smooth:Logistic",
        "multinomial": "milpscore.losses._smooth:Multinomial",
        "poisson": "milpscore.losses._smooth:Poisson",
        "probit": "milpscore.losses._smooth:Probit",
        "smoothed_hinge": "milpscore.losses._smooth:SmoothedHinge",
        "squared": "milpscore.losses._smooth:Squared",
        "squared_hinge": "milpscore.losses._smooth:SquaredHinge",
        "zero_one": "milpscore.losses._cards:ZeroOne",
    },
)
"""Name -> class of every loss."""

EXACT_ONLY = frozenset({"hinge", "zero_one"})
"""Losses without a derivative: the exact programs use them, the proximal algorithms cannot."""

LINKS: Registry[Callable[[FloatArray], FloatArray]] = Registry(
    "link",
    {
        "logistic": "milpscore.losses._smooth:sigmoid",
        "probit": "milpscore.losses._smooth:normal_distribution",
    },
)
"""Loss name -> the probability of the class +1 at score z; 1/2 at 0 and symmetric about it.

Only the losses that are minus the log of such a probability have one: squared and hinge-like losses
order rows, and the Poisson loss counts.
"""


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
    found = LOSSES[loss](**options) if isinstance(loss, str) else loss
    if not hasattr(found, "gradient"):
        raise OptionError(
            f"the loss {getattr(found, 'name', found)!r} has no derivative; use one of"
            f" {', '.join(sorted(set(LOSSES) - EXACT_ONLY))}."
        )
    smooth: SmoothLoss = found
    return smooth


def link_of(loss: Any) -> str | None:
    """The key of LINKS for a loss, a risk loss or a name; None where it has no probabilities."""
    base = getattr(loss, "base", loss)
    name = base if isinstance(base, str) else str(getattr(base, "name", None))
    return LINKS.name_of(name) if name in LINKS else None
