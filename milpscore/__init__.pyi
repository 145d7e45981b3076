from . import (
    certificate as certificate,
)
from . import (
    constraints as constraints,
)
from . import (
    data as data,
)
from . import (
    estimators as estimators,
)
from . import (
    formulations as formulations,
)
from . import (
    losses as losses,
)
from . import (
    metrics as metrics,
)
from . import (
    penalties as penalties,
)
from . import (
    plots as plots,
)
from . import (
    pools as pools,
)
from . import (
    proximal as proximal,
)
from . import (
    report as report,
)
from . import (
    rounding as rounding,
)
from . import (
    scorecard as scorecard,
)
from . import (
    sequence as sequence,
)
from . import (
    solvers as solvers,
)
from . import (
    study as study,
)
from . import (
    verify as verify,
)
from ._version import __version__ as __version__
from .comparison import compare as compare
from .comparison import compare_realisations as compare_realisations
from .scorecard import Scorecard as Scorecard
from .solvers import solve as solve
from .verify import check as check
