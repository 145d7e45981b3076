"""The losses and links by name; nothing is imported for names alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from milpscore.core.errors import Registry

if TYPE_CHECKING:
    from milpscore.core.design import FloatArray

LOSSES: Registry[Any] = Registry(
    "loss",
    {
        "hinge": "milpscore.losses.kinds:Hinge",
        "logistic": "milpscore.losses.kinds:Logistic",
        "multinomial": "milpscore.losses.kinds:Multinomial",
        "poisson": "milpscore.losses.kinds:Poisson",
        "probit": "milpscore.losses.kinds:Probit",
        "smoothed_hinge": "milpscore.losses.kinds:SmoothedHinge",
        "squared": "milpscore.losses.kinds:Squared",
        "squared_hinge": "milpscore.losses.kinds:SquaredHinge",
        "zero_one": "milpscore.losses.kinds:ZeroOne",
    },
)
"""Name -> class of every loss."""

EXACT_ONLY = frozenset({"hinge", "zero_one"})
"""Losses without a derivative: the exact programs use them, the proximal algorithms cannot."""

LINKS: Registry[Callable[[FloatArray], FloatArray]] = Registry(
    "link",
    {
        "logistic": "milpscore.losses.kinds:sigmoid",
        "probit": "milpscore.losses.kinds:normal_distribution",
    },
)
"""Loss name -> the probability of the class +1 at score z; 1/2 at 0 and symmetric about it.

Only the losses that are minus the log of such a probability have one: squared and hinge-like losses
order rows, and the Poisson loss counts.
"""
