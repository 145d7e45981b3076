from .conflicts import Conflict as Conflict, conflict as conflict
from .engine import Outcome as Outcome, Solver as Solver, load as load, solve as solve
from .hull_covers import add_hull_covers as add_hull_covers, broken_covers as broken_covers
from .objectives import (
    Stage as Stage,
    epsilon_front as epsilon_front,
    lexicographic as lexicographic,
    minimax as minimax,
    minimize as minimize,
)
from .options import SOLVERS as SOLVERS, Options as Options
from .session import Session as Session
