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
    from milpscore.rounding._randomised import Rounding, randomised
    from milpscore.rounding._start import start_card

__all__ = [
    "Rounding",
    "combine",
    "coordinate_descent",
    "nearest",
    "randomised",
    "round_program",
    "rounding_bounds",
    "start_card",
]

_EXPORTS = {
    "Rounding": "milpscore.rounding._randomised",
    "combine": "milpscore.rounding._combine",
    "coordinate_descent": "milpscore.rounding._coordinate_descent",
    "nearest": "milpscore.rounding._nearest",
    "randomised": "milpscore.rounding._randomised",
    "round_program": "milpscore.rounding._program",
    "rounding_bounds": "milpscore.rounding._bounds",
    "start_card": "milpscore.rounding._start",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
