from ._binning import Binner as Binner
from ._credible import (
    CredibleData as CredibleData,
    make_collinearity_sweep as make_collinearity_sweep,
    make_known_share_sweep as make_known_share_sweep,
    make_random_groups as make_random_groups,
    make_twins as make_twins,
)
from ._design import (
    double_features as double_features,
    make_design as make_design,
    undouble as undouble,
)
from ._diabetes import DiabetesTruth as DiabetesTruth, make_diabetes_cohort as make_diabetes_cohort
from ._generators import make_planted_score as make_planted_score, make_ternary as make_ternary
from ._reading import read_frame as read_frame, read_table as read_table
from ._steps import StepFunctions as StepFunctions, make_additive_steps as make_additive_steps
from .binned import BinnedDesign as BinnedDesign
from .columns import apply_columns as apply_columns
from .cuts import read_thresholds as read_thresholds
from .labels import encode_labels as encode_labels
