"""Roads from a relaxed solution to an integer card: nearest, randomised, descent, combination."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.rounding._bounds import rounding_bounds
    from milpscore.rounding._combine import combine
    from milpscore.rounding._coordinate_descent import coordinate_descent
    from milpscore.rounding._nearest import nearest
    from milpscore.rounding._program import round_program
    from milpscore.rounding._proximal import ProximalStart, find_start, proximal_start
    from milpscore.rounding._randomised import Rounding, randomised
    from milpscore.rounding._risk_final import FastRisk
    from milpscore.rounding._risk_search import fast_risk_card
    from milpscore.rounding._savings import warm_start_savings
    from milpscore.rounding._start import start_card

__all__ = [
    "FastRisk",
    "ProximalStart",
    "Rounding",
    "combine",
    "coordinate_descent",
    "fast_risk_card",
    "find_start",
    "nearest",
    "proximal_start",
    "randomised",
    "round_program",
    "rounding_bounds",
    "start_card",
    "warm_start_savings",
]

_EXPORTS = {
    "FastRisk": "milpscore.rounding._risk_final",
    "ProximalStart": "milpscore.rounding._proximal",
    "Rounding": "milpscore.rounding._randomised",
    "combine": "milpscore.rounding._combine",
    "coordinate_descent": "milpscore.rounding._coordinate_descent",
    "fast_risk_card": "milpscore.rounding._risk_search",
    "find_start": "milpscore.rounding._proximal",
    "nearest": "milpscore.rounding._nearest",
    "proximal_start": "milpscore.rounding._proximal",
    "randomised": "milpscore.rounding._randomised",
    "round_program": "milpscore.rounding._program",
    "rounding_bounds": "milpscore.rounding._bounds",
    "start_card": "milpscore.rounding._start",
    "warm_start_savings": "milpscore.rounding._savings",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
