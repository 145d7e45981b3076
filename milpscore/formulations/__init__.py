"""One program a file: Pyomo for LP and MILP. A formulation knows no solver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.formulations._convex_rounding import convex_rounding
    from milpscore.formulations._fused_lasso import fused_lasso, fused_lasso_by_feature
    from milpscore.formulations._hinge import hinge
    from milpscore.formulations._registry import FORMULATIONS, builder
    from milpscore.formulations._slim import slim
    from milpscore.formulations._sparse_rounding import sparse_rounding

__all__ = [
    "FORMULATIONS",
    "builder",
    "convex_rounding",
    "fused_lasso",
    "fused_lasso_by_feature",
    "hinge",
    "slim",
    "sparse_rounding",
]

_EXPORTS = {
    "FORMULATIONS": "milpscore.formulations._registry",
    "builder": "milpscore.formulations._registry",
    "convex_rounding": "milpscore.formulations._convex_rounding",
    "fused_lasso": "milpscore.formulations._fused_lasso",
    "fused_lasso_by_feature": "milpscore.formulations._fused_lasso",
    "hinge": "milpscore.formulations._hinge",
    "slim": "milpscore.formulations._slim",
    "sparse_rounding": "milpscore.formulations._sparse_rounding",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
