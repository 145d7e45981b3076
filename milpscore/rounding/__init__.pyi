from ._combine import combine as combine
from ._derandomised import Derandomised as Derandomised, derandomised as derandomised
from ._randomised import Rounding as Rounding, nearest as nearest, randomised as randomised
from ._registry import ROUNDINGS as ROUNDINGS, Request as Request
from ._savings import warm_start_savings as warm_start_savings
from .expectations import expected_loss as expected_loss, rounding_bounds as rounding_bounds
from .program import round_program as round_program
from .regressions import (
    Golovin as Golovin,
    ScaledRounding as ScaledRounding,
    golovin as golovin,
    rounded_lasso as rounded_lasso,
    rounded_logistic as rounded_logistic,
    rounded_ridge as rounded_ridge,
    scaled_rounding as scaled_rounding,
)
