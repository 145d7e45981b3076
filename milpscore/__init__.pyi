from . import (
    certificate as certificate,
    constraints as constraints,
    data as data,
    desk as desk,
    estimators as estimators,
    formulations as formulations,
    losses as losses,
    metrics as metrics,
    penalties as penalties,
    plots as plots,
    pools as pools,
    proximal as proximal,
    report as report,
    rounding as rounding,
    scorecard as scorecard,
    sequence as sequence,
    solvers as solvers,
    study as study,
    verify as verify,
)
from ._version import __version__ as __version__
from .comparison import compare as compare, compare_realisations as compare_realisations
from .desk import studio as studio
from .scorecard import Scorecard as Scorecard, embed as embed
from .solvers import solve as solve
from .verify import check as check
