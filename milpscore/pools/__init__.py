"""Not one card but many: all that are nearly optimal, and the best one of every size.

References
----------
Fisher, Rudin & Dominici, "All models are wrong, but many are useful" (2019): the ranges of a
variable's importance over all good models. Semenova, Rudin & Parr, "On the existence of simpler
machine learning models" (2022): the set of models within epsilon of the best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.pools._answer import Pool
    from milpscore.pools._front import Front, pareto
    from milpscore.pools._pool import pool

__all__ = ["Front", "Pool", "pareto", "pool"]

_EXPORTS = {
    "Front": "milpscore.pools._front",
    "Pool": "milpscore.pools._answer",
    "pareto": "milpscore.pools._front",
    "pool": "milpscore.pools._pool",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
