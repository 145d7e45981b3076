from .moves import (
    coordinate_descent as coordinate_descent,
    local_search as local_search,
)
from .points import RoundedCard as RoundedCard
from .risk import FastRisk as FastRisk, fast_risk_card as fast_risk_card
from .starts import proximal_start as proximal_start, start_card as start_card
