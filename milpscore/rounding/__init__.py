"""Roads from a relaxed solution to an integer card: by chance or not, and by search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.rounding._bounds import rounding_bounds
    from milpscore.rounding._combine import combine
    from milpscore.rounding._derandomised import Derandomised, derandomised
    from milpscore.rounding._expectation import expected_loss
    from milpscore.rounding._golovin import Golovin, golovin
    from milpscore.rounding._hill_climbing import HillClimbing, hill_climbing
    from milpscore.rounding._local_search import LocalSearch, local_search
    from milpscore.rounding._nearest import nearest
    from milpscore.rounding._outcome import RoundedCard
    from milpscore.rounding._program import round_program
    from milpscore.rounding._proximal import ProximalStart, find_start, proximal_start
    from milpscore.rounding._randomised import Rounding, randomised
    from milpscore.rounding._registry import ROUNDINGS, rounding_function
    from milpscore.rounding._regressions import rounded_lasso, rounded_logistic, rounded_ridge
    from milpscore.rounding._request import Request
    from milpscore.rounding._risk_final import FastRisk
    from milpscore.rounding._risk_search import fast_risk_card
    from milpscore.rounding._savings import warm_start_savings
    from milpscore.rounding._scaled import ScaledRounding, scaled_rounding
    from milpscore.rounding._start import start_card
    from milpscore.solvers._coordinate_descent import coordinate_descent

__all__ = [
    "ROUNDINGS",
    "Derandomised",
    "FastRisk",
    "Golovin",
    "HillClimbing",
    "LocalSearch",
    "ProximalStart",
    "Request",
    "RoundedCard",
    "Rounding",
    "ScaledRounding",
    "combine",
    "coordinate_descent",
    "derandomised",
    "expected_loss",
    "fast_risk_card",
    "find_start",
    "golovin",
    "hill_climbing",
    "local_search",
    "nearest",
    "proximal_start",
    "randomised",
    "round_program",
    "rounded_lasso",
    "rounded_logistic",
    "rounded_ridge",
    "rounding_bounds",
    "rounding_function",
    "scaled_rounding",
    "start_card",
    "warm_start_savings",
]

_EXPORTS = {
    "ROUNDINGS": "milpscore.rounding._registry",
    "Derandomised": "milpscore.rounding._derandomised",
    "FastRisk": "milpscore.rounding._risk_final",
    "Golovin": "milpscore.rounding._golovin",
    "HillClimbing": "milpscore.rounding._hill_climbing",
    "LocalSearch": "milpscore.rounding._local_search",
    "ProximalStart": "milpscore.rounding._proximal",
    "Request": "milpscore.rounding._request",
    "RoundedCard": "milpscore.rounding._outcome",
    "Rounding": "milpscore.rounding._randomised",
    "ScaledRounding": "milpscore.rounding._scaled",
    "combine": "milpscore.rounding._combine",
    "coordinate_descent": "milpscore.solvers._coordinate_descent",
    "derandomised": "milpscore.rounding._derandomised",
    "expected_loss": "milpscore.rounding._expectation",
    "fast_risk_card": "milpscore.rounding._risk_search",
    "find_start": "milpscore.rounding._proximal",
    "golovin": "milpscore.rounding._golovin",
    "hill_climbing": "milpscore.rounding._hill_climbing",
    "local_search": "milpscore.rounding._local_search",
    "nearest": "milpscore.rounding._nearest",
    "proximal_start": "milpscore.rounding._proximal",
    "randomised": "milpscore.rounding._randomised",
    "round_program": "milpscore.rounding._program",
    "rounded_lasso": "milpscore.rounding._regressions",
    "rounded_logistic": "milpscore.rounding._regressions",
    "rounded_ridge": "milpscore.rounding._regressions",
    "rounding_function": "milpscore.rounding._registry",
    "rounding_bounds": "milpscore.rounding._bounds",
    "scaled_rounding": "milpscore.rounding._scaled",
    "start_card": "milpscore.rounding._start",
    "warm_start_savings": "milpscore.rounding._savings",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
