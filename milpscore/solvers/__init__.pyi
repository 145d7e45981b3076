from ._conflict import Conflict as Conflict, conflict as conflict
from ._options import Options as Options
from ._self_test import self_test as self_test
from ._session import Session as Session
from ._solve import SOLVERS as SOLVERS, load as load, solve as solve
