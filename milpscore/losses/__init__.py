"""Losses of the score s = w.x + b, one a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.losses._hinge import Hinge
    from milpscore.losses._links import LINKS, link_of
    from milpscore.losses._logistic import Logistic
    from milpscore.losses._multinomial import Multinomial
    from milpscore.losses._poisson import Poisson
    from milpscore.losses._probit import Probit
    from milpscore.losses._registry import LOSSES, loss_class, smooth_loss
    from milpscore.losses._risk import RiskLoss
    from milpscore.losses._smoothed_hinge import SmoothedHinge
    from milpscore.losses._squared import Squared
    from milpscore.losses._squared_hinge import SquaredHinge
    from milpscore.losses._zero_one import ZeroOne

__all__ = [
    "LINKS",
    "LOSSES",
    "Hinge",
    "Logistic",
    "Multinomial",
    "Poisson",
    "Probit",
    "RiskLoss",
    "SmoothedHinge",
    "Squared",
    "SquaredHinge",
    "ZeroOne",
    "link_of",
    "loss_class",
    "smooth_loss",
]

_EXPORTS = {
    "LINKS": "milpscore.losses._links",
    "LOSSES": "milpscore.losses._registry",
    "Hinge": "milpscore.losses._hinge",
    "Logistic": "milpscore.losses._logistic",
    "Multinomial": "milpscore.losses._multinomial",
    "Poisson": "milpscore.losses._poisson",
    "Probit": "milpscore.losses._probit",
    "RiskLoss": "milpscore.losses._risk",
    "SmoothedHinge": "milpscore.losses._smoothed_hinge",
    "Squared": "milpscore.losses._squared",
    "SquaredHinge": "milpscore.losses._squared_hinge",
    "ZeroOne": "milpscore.losses._zero_one",
    "link_of": "milpscore.losses._links",
    "loss_class": "milpscore.losses._registry",
    "smooth_loss": "milpscore.losses._registry",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
