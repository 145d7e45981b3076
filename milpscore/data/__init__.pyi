from ._binning import Binner as Binner
from ._design import (
    double_features as double_features,
    make_design as make_design,
    undouble as undouble,
)
from ._generators import make_planted_score as make_planted_score, make_ternary as make_ternary
from ._reading import read_frame as read_frame, read_table as read_table
from .binned import BinnedDesign as BinnedDesign
from .columns import apply_columns as apply_columns
from .cuts import read_thresholds as read_thresholds
from .labels import encode_labels as encode_labels
