from ._bounds import rounding_bounds as rounding_bounds
from ._combine import combine as combine
from ._derandomised import Derandomised as Derandomised, derandomised as derandomised
from ._expectation import expected_loss as expected_loss
from ._golovin import Golovin as Golovin, golovin as golovin
from ._hill_climbing import HillClimbing as HillClimbing, hill_climbing as hill_climbing
from ._local_search import LocalSearch as LocalSearch, local_search as local_search
from ._nearest import nearest as nearest
from ._outcome import RoundedCard as RoundedCard
from ._program import round_program as round_program
from ._proximal import (
    ProximalStart as ProximalStart,
    find_start as find_start,
    proximal_start as proximal_start,
)
from ._randomised import Rounding as Rounding, randomised as randomised
from ._registry import ROUNDINGS as ROUNDINGS, rounding_function as rounding_function
from ._regressions import (
    rounded_lasso as rounded_lasso,
    rounded_logistic as rounded_logistic,
    rounded_ridge as rounded_ridge,
)
from ._request import Request as Request
from ._risk_final import FastRisk as FastRisk
from ._risk_search import fast_risk_card as fast_risk_card
from ._savings import warm_start_savings as warm_start_savings
from ._scaled import ScaledRounding as ScaledRounding, scaled_rounding as scaled_rounding
from ._start import coordinate_descent as coordinate_descent, start_card as start_card
