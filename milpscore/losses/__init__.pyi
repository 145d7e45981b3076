from ._cards import Hinge as Hinge, RiskLoss as RiskLoss, ZeroOne as ZeroOne
from ._smooth import (
    Logistic as Logistic,
    Multinomial as Multinomial,
    Poisson as Poisson,
    Probit as Probit,
    SmoothedHinge as SmoothedHinge,
    Squared as Squared,
    SquaredHinge as SquaredHinge,
)
from .registry import LINKS as LINKS, LOSSES as LOSSES, smooth_loss as smooth_loss
