from ._binarsity_comparison import (
    BinarsityComparison as BinarsityComparison,
    binarsity_comparison as binarsity_comparison,
)
from ._binarsity_models import PathOptions as PathOptions
from ._binarsity_toys import BinarsityToys as BinarsityToys, binarsity_toys as binarsity_toys
from ._bound_curves import (
    BoundCurves as BoundCurves,
    bound_curves as bound_curves,
    seconds_to_gap as seconds_to_gap,
)
from ._card_learners import (
    ConvexRounding as ConvexRounding,
    RiskScore as RiskScore,
    Rounded as Rounded,
    Slim as Slim,
    default_learners as default_learners,
)
from ._diarem_recovery import DiaremRecovery as DiaremRecovery, diarem_recovery as diarem_recovery
from ._errors import StudyError as StudyError
from ._experiments import run_experiment as run_experiment
from ._facets_grid_study import (
    FacetsFigure3 as FacetsFigure3,
    FacetsTable2 as FacetsTable2,
    facets_figure3 as facets_figure3,
    facets_table2 as facets_table2,
)
from ._facets_table1 import FacetsTable1 as FacetsTable1, facets_table1 as facets_table1
from ._figure2 import EyeFigure2 as EyeFigure2, eye_figure2 as eye_figure2
from ._figure4 import (
    EyeFigure4 as EyeFigure4,
    eye_figure4a as eye_figure4a,
    eye_figure4b as eye_figure4b,
)
from ._file import load_study as load_study
from ._learners import (
    Facets as Facets,
    Learner as Learner,
    LinearModel as LinearModel,
    Penalised as Penalised,
    lasso as lasso,
    logistic as logistic,
    ridge as ridge,
)
from ._nested_cv import NestedCV as NestedCV, nested_cv as nested_cv
from ._profiles import data_profile as data_profile, performance_profile as performance_profile
from ._protocol import Protocol as Protocol
from ._registry import EXPERIMENTS as EXPERIMENTS, experiment_function as experiment_function
from ._report import (
    StudyReport as StudyReport,
    export_study as export_study,
    read_study as read_study,
    study_table as study_table,
)
from ._rivals import (
    RIVALS as RIVALS,
    RivalCard as RivalCard,
    fit_rival as fit_rival,
    recalibrated_loss as recalibrated_loss,
    rival_rows as rival_rows,
)
from ._runs import RunStore as RunStore, finish_runs as finish_runs
from ._score_fits import FusedLassoOptions as FusedLassoOptions
from ._score_learning import ScoreLearning as ScoreLearning, score_learning as score_learning
from ._slim_strength import (
    STRENGTHS as STRENGTHS,
    slim_program as slim_program,
    slim_strength as slim_strength,
)
from ._spec import ExperimentStudy as ExperimentStudy, Study as Study
from ._sqlite import FIGURES as FIGURES
from ._study import Counts as Counts, run_study as run_study
from ._table2 import EyeTable as EyeTable, eye_table2 as eye_table2
from ._ternary import TernaryFigures as TernaryFigures, ternary_figures as ternary_figures
