from ._facets_grid import FacetsGrid as FacetsGrid, facets_grid as facets_grid
from ._fit import fit_proximal as fit_proximal
from ._path import ProximalPath as ProximalPath, path as path
from ._result import ProximalPoint as ProximalPoint, ProximalResult as ProximalResult, Stop as Stop
