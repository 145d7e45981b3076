from ._points import (
    Rounding as Rounding,
    combine as combine,
    nearest as nearest,
    randomised as randomised,
)
from ._registry import ROUNDINGS as ROUNDINGS, Request as Request
from .expectations import (
    derandomised as derandomised,
    expected_loss as expected_loss,
    rounding_bounds as rounding_bounds,
)
from .program import (
    round_program as round_program,
    warm_start_savings as warm_start_savings,
)
from .regressions import (
    golovin as golovin,
    rounded_regression as rounded_regression,
    scaled_rounding as scaled_rounding,
)
