from .conflicts import Conflict as Conflict, conflict as conflict
from .engine import Outcome as Outcome, Solver as Solver, load as load, solve as solve
from .options import SOLVERS as SOLVERS, Options as Options
from .session import Session as Session
