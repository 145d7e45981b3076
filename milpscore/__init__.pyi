from . import (
    certificate as certificate,
    constraints as constraints,
    data as data,
    estimators as estimators,
    formulations as formulations,
    losses as losses,
    metrics as metrics,
    penalties as penalties,
    pools as pools,
    proximal as proximal,
    rounding as rounding,
    scorecard as scorecard,
    solvers as solvers,
    verify as verify,
)
from ._doors import (
    instances as instances,
    plots as plots,
    report as report,
    sequence as sequence,
    studio as studio,
    study as study,
)
from ._version import __version__ as __version__
from .comparison import compare as compare, compare_realisations as compare_realisations
from .estimators import (
    BinarsityClassifier as BinarsityClassifier,
    BinarsityRegressor as BinarsityRegressor,
    ConvexRoundingClassifier as ConvexRoundingClassifier,
    EyeClassifier as EyeClassifier,
    EyeRegressor as EyeRegressor,
    FacetsClassifier as FacetsClassifier,
    FacetsHingeClassifier as FacetsHingeClassifier,
    FacetsRegressor as FacetsRegressor,
    FusedLassoClassifier as FusedLassoClassifier,
    HingeClassifier as HingeClassifier,
    OrdinalScoreClassifier as OrdinalScoreClassifier,
    PenalisedClassifier as PenalisedClassifier,
    PenalisedRegressor as PenalisedRegressor,
    RiskScoreClassifier as RiskScoreClassifier,
    SlimClassifier as SlimClassifier,
    SparseRoundingClassifier as SparseRoundingClassifier,
    SurvivalScoreEstimator as SurvivalScoreEstimator,
)
from .scorecard import Scorecard as Scorecard, embed as embed
from .solvers import solve as solve
from .updating import update as update
from .verify import check as check
