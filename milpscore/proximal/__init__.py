"""Penalised linear models by proximal algorithms: single fits, paths and grids, with gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.proximal._facets_grid import FacetsGrid, facets_grid
    from milpscore.proximal._fit import fit_proximal
    from milpscore.proximal._path import ProximalPath, path
    from milpscore.proximal._result import ProximalPoint, ProximalResult, Stop

__all__ = [
    "FacetsGrid",
    "ProximalPath",
    "ProximalPoint",
    "ProximalResult",
    "Stop",
    "facets_grid",
    "fit_proximal",
    "path",
]

_EXPORTS = {
    "FacetsGrid": "milpscore.proximal._facets_grid",
    "ProximalPath": "milpscore.proximal._path",
    "ProximalPoint": "milpscore.proximal._result",
    "ProximalResult": "milpscore.proximal._result",
    "Stop": "milpscore.proximal._result",
    "facets_grid": "milpscore.proximal._facets_grid",
    "fit_proximal": "milpscore.proximal._fit",
    "path": "milpscore.proximal._path",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
