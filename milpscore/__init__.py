"""Integer scoring systems with certificates: exact programs beside their relaxations.

Everything below is imported when first used, so ``import milpscore`` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports
from milpscore._version import __version__

if TYPE_CHECKING:
    from milpscore import (
        certificate,
        constraints,
        data,
        estimators,
        formulations,
        losses,
        metrics,
        penalties,
        plots,
        pools,
        proximal,
        report,
        rounding,
        scorecard,
        sequence,
        solvers,
        study,
        verify,
    )
    from milpscore.comparison import compare, compare_realisations
    from milpscore.scorecard import Scorecard
    from milpscore.solvers import solve
    from milpscore.verify import check

__all__ = [
    "Scorecard",
    "__version__",
    "certificate",
    "check",
    "compare",
    "compare_realisations",
    "constraints",
    "data",
    "estimators",
    "formulations",
    "losses",
    "metrics",
    "penalties",
    "plots",
    "pools",
    "proximal",
    "report",
    "rounding",
    "scorecard",
    "sequence",
    "solve",
    "solvers",
    "study",
    "verify",
]

# A public function never shares its module's name: the import system binds the module there.
_EXPORTS = {
    "Scorecard": "milpscore.scorecard",
    "check": "milpscore.verify",
    "compare": "milpscore.comparison",
    "compare_realisations": "milpscore.comparison",
    "solve": "milpscore.solvers",
}
_SUBPACKAGES = (
    "certificate",
    "constraints",
    "data",
    "estimators",
    "formulations",
    "losses",
    "metrics",
    "penalties",
    "plots",
    "pools",
    "proximal",
    "report",
    "rounding",
    "scorecard",
    "sequence",
    "solvers",
    "study",
    "verify",
)
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS, _SUBPACKAGES)
