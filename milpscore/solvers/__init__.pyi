from .engine import (
    SOLVERS as SOLVERS,
    Outcome as Outcome,
    Solver as Solver,
    load as load,
    solve as solve,
)
from .finish import Conflict as Conflict, conflict as conflict
from .options import Options as Options
from .session import Session as Session
