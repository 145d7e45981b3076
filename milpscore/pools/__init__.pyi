from ._front import Front as Front, pareto as pareto
from .fairness import (
    Fairest as Fairest,
    fairest as fairest,
    gap_front as gap_front,
    group_gaps as group_gaps,
)
from .instability import RiskIntervals as RiskIntervals, risk_intervals as risk_intervals
from .nearly_best import Pool as Pool, pool as pool
from .redraws import Stability as Stability, stability as stability

BOOTSTRAPS: int
