from .engine import (
    Outcome as Outcome,
    Solver as Solver,
    load as load,
    solve as solve,
)
from .options import SOLVERS as SOLVERS, Options as Options
from .session import Conflict as Conflict, Session as Session, conflict as conflict
