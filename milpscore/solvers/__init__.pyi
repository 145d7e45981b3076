from .engine import (
    SOLVERS as SOLVERS,
    Outcome as Outcome,
    Solver as Solver,
    load as load,
    solve as solve,
)
from .options import Options as Options
from .session import Conflict as Conflict, Session as Session, conflict as conflict
