from ._coordinate_descent import coordinate_descent as coordinate_descent
from ._hill_climbing import HillClimbing as HillClimbing, hill_climbing as hill_climbing
from ._local_search import LocalSearch as LocalSearch, local_search as local_search
from ._risk import FastRisk as FastRisk, fast_risk_card as fast_risk_card
from .points import RoundedCard as RoundedCard
from .starts import (
    ProximalStart as ProximalStart,
    find_start as find_start,
    proximal_start as proximal_start,
    start_card as start_card,
)
