from ._answer import Pool as Pool
from ._front import Front as Front
from ._front import pareto as pareto
from ._pool import pool as pool
