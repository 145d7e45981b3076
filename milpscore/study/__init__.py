"""Studies and experiments of many solves, kept in a file of results and resumable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.study._binarsity_comparison import BinarsityComparison, binarsity_comparison
    from milpscore.study._binarsity_models import PathOptions
    from milpscore.study._binarsity_toys import BinarsityToys, binarsity_toys
    from milpscore.study._bound_curves import BoundCurves, bound_curves, seconds_to_gap
    from milpscore.study._card_learners import (
        ConvexRounding,
        RiskScore,
        Rounded,
        Slim,
        default_learners,
    )
    from milpscore.study._diarem_recovery import DiaremRecovery, diarem_recovery
    from milpscore.study._errors import StudyError
    from milpscore.study._experiments import run_experiment
    from milpscore.study._facets_grid_study import (
        FacetsFigure3,
        FacetsTable2,
        facets_figure3,
        facets_table2,
    )
    from milpscore.study._facets_table1 import FacetsTable1, facets_table1
    from milpscore.study._figure2 import EyeFigure2, eye_figure2
    from milpscore.study._figure4 import EyeFigure4, eye_figure4a, eye_figure4b
    from milpscore.study._file import load_study
    from milpscore.study._learners import (
        Facets,
        Learner,
        LinearModel,
        Penalised,
        lasso,
        logistic,
        ridge,
    )
    from milpscore.study._nested_cv import NestedCV, nested_cv
    from milpscore.study._profiles import data_profile, performance_profile
    from milpscore.study._protocol import Protocol
    from milpscore.study._registry import EXPERIMENTS, experiment_function
    from milpscore.study._report import StudyReport, export_study, read_study, study_table
    from milpscore.study._rivals import RIVALS, RivalCard, fit_rival, recalibrated_loss, rival_rows
    from milpscore.study._runs import RunStore, finish_runs
    from milpscore.study._score_fits import FusedLassoOptions
    from milpscore.study._score_learning import ScoreLearning, score_learning
    from milpscore.study._slim_strength import STRENGTHS, slim_program, slim_strength
    from milpscore.study._spec import ExperimentStudy, Study
    from milpscore.study._sqlite import FIGURES
    from milpscore.study._study import Counts, run_study
    from milpscore.study._table2 import EyeTable, eye_table2
    from milpscore.study._ternary import TernaryFigures, ternary_figures

__all__ = [
    "EXPERIMENTS",
    "FIGURES",
    "RIVALS",
    "STRENGTHS",
    "BinarsityComparison",
    "BinarsityToys",
    "BoundCurves",
    "ConvexRounding",
    "Counts",
    "DiaremRecovery",
    "ExperimentStudy",
    "EyeFigure2",
    "EyeFigure4",
    "EyeTable",
    "Facets",
    "FacetsFigure3",
    "FacetsTable1",
    "FacetsTable2",
    "FusedLassoOptions",
    "Learner",
    "LinearModel",
    "NestedCV",
    "PathOptions",
    "Penalised",
    "Protocol",
    "RiskScore",
    "RivalCard",
    "Rounded",
    "RunStore",
    "ScoreLearning",
    "Slim",
    "Study",
    "StudyError",
    "StudyReport",
    "TernaryFigures",
    "binarsity_comparison",
    "binarsity_toys",
    "bound_curves",
    "data_profile",
    "default_learners",
    "diarem_recovery",
    "experiment_function",
    "export_study",
    "eye_figure2",
    "eye_figure4a",
    "eye_figure4b",
    "eye_table2",
    "facets_figure3",
    "facets_table1",
    "facets_table2",
    "finish_runs",
    "fit_rival",
    "lasso",
    "load_study",
    "logistic",
    "nested_cv",
    "performance_profile",
    "read_study",
    "recalibrated_loss",
    "ridge",
    "rival_rows",
    "run_experiment",
    "run_study",
    "score_learning",
    "seconds_to_gap",
    "slim_program",
    "slim_strength",
    "study_table",
    "ternary_figures",
]

_EXPORTS = {
    "BinarsityComparison": "milpscore.study._binarsity_comparison",
    "BinarsityToys": "milpscore.study._binarsity_toys",
    "BoundCurves": "milpscore.study._bound_curves",
    "ConvexRounding": "milpscore.study._card_learners",
    "Counts": "milpscore.study._study",
    "DiaremRecovery": "milpscore.study._diarem_recovery",
    "EXPERIMENTS": "milpscore.study._registry",
    "ExperimentStudy": "milpscore.study._spec",
    "EyeFigure2": "milpscore.study._figure2",
    "EyeFigure4": "milpscore.study._figure4",
    "EyeTable": "milpscore.study._table2",
    "FIGURES": "milpscore.study._sqlite",
    "Facets": "milpscore.study._learners",
    "FacetsFigure3": "milpscore.study._facets_grid_study",
    "FacetsTable1": "milpscore.study._facets_table1",
    "FacetsTable2": "milpscore.study._facets_grid_study",
    "FusedLassoOptions": "milpscore.study._score_fits",
    "Learner": "milpscore.study._learners",
    "LinearModel": "milpscore.study._learners",
    "NestedCV": "milpscore.study._nested_cv",
    "PathOptions": "milpscore.study._binarsity_models",
    "Penalised": "milpscore.study._learners",
    "Protocol": "milpscore.study._protocol",
    "RIVALS": "milpscore.study._rivals",
    "RiskScore": "milpscore.study._card_learners",
    "RivalCard": "milpscore.study._rivals",
    "Rounded": "milpscore.study._card_learners",
    "RunStore": "milpscore.study._runs",
    "STRENGTHS": "milpscore.study._slim_strength",
    "ScoreLearning": "milpscore.study._score_learning",
    "Slim": "milpscore.study._card_learners",
    "Study": "milpscore.study._spec",
    "StudyError": "milpscore.study._errors",
    "StudyReport": "milpscore.study._report",
    "TernaryFigures": "milpscore.study._ternary",
    "binarsity_comparison": "milpscore.study._binarsity_comparison",
    "binarsity_toys": "milpscore.study._binarsity_toys",
    "bound_curves": "milpscore.study._bound_curves",
    "data_profile": "milpscore.study._profiles",
    "default_learners": "milpscore.study._card_learners",
    "diarem_recovery": "milpscore.study._diarem_recovery",
    "experiment_function": "milpscore.study._registry",
    "export_study": "milpscore.study._report",
    "eye_figure2": "milpscore.study._figure2",
    "eye_figure4a": "milpscore.study._figure4",
    "eye_figure4b": "milpscore.study._figure4",
    "eye_table2": "milpscore.study._table2",
    "facets_figure3": "milpscore.study._facets_grid_study",
    "facets_table1": "milpscore.study._facets_table1",
    "facets_table2": "milpscore.study._facets_grid_study",
    "finish_runs": "milpscore.study._runs",
    "fit_rival": "milpscore.study._rivals",
    "lasso": "milpscore.study._learners",
    "load_study": "milpscore.study._file",
    "logistic": "milpscore.study._learners",
    "nested_cv": "milpscore.study._nested_cv",
    "performance_profile": "milpscore.study._profiles",
    "read_study": "milpscore.study._report",
    "recalibrated_loss": "milpscore.study._rivals",
    "ridge": "milpscore.study._learners",
    "rival_rows": "milpscore.study._rivals",
    "run_experiment": "milpscore.study._experiments",
    "run_study": "milpscore.study._study",
    "score_learning": "milpscore.study._score_learning",
    "seconds_to_gap": "milpscore.study._bound_curves",
    "slim_program": "milpscore.study._slim_strength",
    "slim_strength": "milpscore.study._slim_strength",
    "study_table": "milpscore.study._report",
    "ternary_figures": "milpscore.study._ternary",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
