from ._facets_grid import FacetsGrid as FacetsGrid
from ._facets_grid import facets_grid as facets_grid
from ._fit import fit_proximal as fit_proximal
from ._path import ProximalPath as ProximalPath
from ._path import path as path
from ._result import ProximalPoint as ProximalPoint
from ._result import ProximalResult as ProximalResult
from ._result import Stop as Stop
