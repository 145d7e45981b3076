from ._solve import SOLVERS as SOLVERS, load as load, solve as solve
from .conflicts import Conflict as Conflict, conflict as conflict
from .engine import Outcome as Outcome, Solver as Solver
from .options import Options as Options
from .session import Session as Session
