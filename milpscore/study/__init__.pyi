from ._binarsity_comparison import (
    BinarsityComparison as BinarsityComparison,
)
from ._binarsity_comparison import (
    binarsity_comparison as binarsity_comparison,
)
from ._binarsity_models import PathOptions as PathOptions
from ._binarsity_toys import BinarsityToys as BinarsityToys
from ._binarsity_toys import binarsity_toys as binarsity_toys
from ._bound_curves import (
    BoundCurves as BoundCurves,
)
from ._bound_curves import (
    bound_curves as bound_curves,
)
from ._bound_curves import (
    seconds_to_gap as seconds_to_gap,
)
from ._card_learners import (
    ConvexRounding as ConvexRounding,
)
from ._card_learners import (
    RiskScore as RiskScore,
)
from ._card_learners import (
    Rounded as Rounded,
)
from ._card_learners import (
    Slim as Slim,
)
from ._card_learners import (
    default_learners as default_learners,
)
from ._diarem_recovery import DiaremRecovery as DiaremRecovery
from ._diarem_recovery import diarem_recovery as diarem_recovery
from ._errors import StudyError as StudyError
from ._experiments import run_experiment as run_experiment
from ._facets_grid_study import (
    FacetsFigure3 as FacetsFigure3,
)
from ._facets_grid_study import (
    FacetsTable2 as FacetsTable2,
)
from ._facets_grid_study import (
    facets_figure3 as facets_figure3,
)
from ._facets_grid_study import (
    facets_table2 as facets_table2,
)
from ._facets_table1 import FacetsTable1 as FacetsTable1
from ._facets_table1 import facets_table1 as facets_table1
from ._figure2 import EyeFigure2 as EyeFigure2
from ._figure2 import eye_figure2 as eye_figure2
from ._figure4 import (
    EyeFigure4 as EyeFigure4,
)
from ._figure4 import (
    eye_figure4a as eye_figure4a,
)
from ._figure4 import (
    eye_figure4b as eye_figure4b,
)
from ._file import load_study as load_study
from ._learners import (
    Facets as Facets,
)
from ._learners import (
    Learner as Learner,
)
from ._learners import (
    LinearModel as LinearModel,
)
from ._learners import (
    Penalised as Penalised,
)
from ._learners import (
    lasso as lasso,
)
from ._learners import (
    logistic as logistic,
)
from ._learners import (
    ridge as ridge,
)
from ._nested_cv import NestedCV as NestedCV
from ._nested_cv import nested_cv as nested_cv
from ._profiles import data_profile as data_profile
from ._profiles import performance_profile as performance_profile
from ._protocol import Protocol as Protocol
from ._registry import EXPERIMENTS as EXPERIMENTS
from ._registry import experiment_function as experiment_function
from ._report import (
    StudyReport as StudyReport,
)
from ._report import (
    export_study as export_study,
)
from ._report import (
    read_study as read_study,
)
from ._report import (
    study_table as study_table,
)
from ._rivals import (
    RIVALS as RIVALS,
)
from ._rivals import (
    RivalCard as RivalCard,
)
from ._rivals import (
    fit_rival as fit_rival,
)
from ._rivals import (
    recalibrated_loss as recalibrated_loss,
)
from ._rivals import (
    rival_rows as rival_rows,
)
from ._runs import RunStore as RunStore
from ._runs import finish_runs as finish_runs
from ._score_fits import FusedLassoOptions as FusedLassoOptions
from ._score_learning import ScoreLearning as ScoreLearning
from ._score_learning import score_learning as score_learning
from ._slim_strength import (
    STRENGTHS as STRENGTHS,
)
from ._slim_strength import (
    slim_program as slim_program,
)
from ._slim_strength import (
    slim_strength as slim_strength,
)
from ._spec import ExperimentStudy as ExperimentStudy
from ._spec import Study as Study
from ._sqlite import FIGURES as FIGURES
from ._study import Counts as Counts
from ._study import run_study as run_study
from ._table2 import EyeTable as EyeTable
from ._table2 import eye_table2 as eye_table2
from ._ternary import TernaryFigures as TernaryFigures
from ._ternary import ternary_figures as ternary_figures
