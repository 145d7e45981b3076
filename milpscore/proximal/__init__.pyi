from ._path import (
    FacetsGrid as FacetsGrid,
    ProximalPath as ProximalPath,
    facets_grid as facets_grid,
    path as path,
)
from .engine import fit_proximal as fit_proximal
from .problem import ProximalPoint as ProximalPoint, ProximalResult as ProximalResult
from .streamed import path_out_of_core as path_out_of_core
