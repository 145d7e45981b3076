from ._front import Front as Front, pareto as pareto
from .nearly_best import Pool as Pool, pool as pool
