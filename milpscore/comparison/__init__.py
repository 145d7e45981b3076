"""Tables that lay answers side by side: formulations, and the realisations of one statement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.comparison._compare import COLUMNS, PROXIMAL_COLUMNS, compare
    from milpscore.comparison._family import KINDS, PROXIMAL
    from milpscore.comparison._realisations import REALISATION_COLUMNS, compare_realisations

__all__ = [
    "COLUMNS",
    "KINDS",
    "PROXIMAL",
    "PROXIMAL_COLUMNS",
    "REALISATION_COLUMNS",
    "compare",
    "compare_realisations",
]

_EXPORTS = {
    "COLUMNS": "milpscore.comparison._compare",
    "KINDS": "milpscore.comparison._family",
    "PROXIMAL": "milpscore.comparison._family",
    "PROXIMAL_COLUMNS": "milpscore.comparison._compare",
    "REALISATION_COLUMNS": "milpscore.comparison._realisations",
    "compare": "milpscore.comparison._compare",
    "compare_realisations": "milpscore.comparison._realisations",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
