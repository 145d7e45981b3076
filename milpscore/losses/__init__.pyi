from ._hinge import Hinge as Hinge
from ._links import LINKS as LINKS, link_of as link_of
from ._logistic import Logistic as Logistic
from ._multinomial import Multinomial as Multinomial
from ._poisson import Poisson as Poisson
from ._probit import Probit as Probit
from ._registry import LOSSES as LOSSES, loss_class as loss_class, smooth_loss as smooth_loss
from ._risk import RiskLoss as RiskLoss
from ._smoothed_hinge import SmoothedHinge as SmoothedHinge
from ._squared import Squared as Squared
from ._squared_hinge import SquaredHinge as SquaredHinge
from ._zero_one import ZeroOne as ZeroOne
