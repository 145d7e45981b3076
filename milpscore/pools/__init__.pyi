from ._front import Front as Front, pareto as pareto
from ._pool import Pool as Pool, pool as pool
