from .kinds import (
    Hinge as Hinge,
    Logistic as Logistic,
    Multinomial as Multinomial,
    Poisson as Poisson,
    Probit as Probit,
    RiskLoss as RiskLoss,
    SmoothedHinge as SmoothedHinge,
    Squared as Squared,
    SquaredHinge as SquaredHinge,
    ZeroOne as ZeroOne,
    smooth_loss as smooth_loss,
)
from .registry import LINKS as LINKS, LOSSES as LOSSES
