from ._answer import Pool as Pool
from ._front import Front as Front, pareto as pareto
from ._pool import pool as pool
