from .draws import (
    Rounding as Rounding,
    combine as combine,
    derandomised as derandomised,
    expected_loss as expected_loss,
    nearest as nearest,
    randomised as randomised,
    rounding_bounds as rounding_bounds,
)
from .program import (
    ROUNDINGS as ROUNDINGS,
    Request as Request,
    round_program as round_program,
    warm_start_savings as warm_start_savings,
)
from .scaled import golovin as golovin, scaled_rounding as scaled_rounding
