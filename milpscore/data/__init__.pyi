from ._generators import make_planted_score as make_planted_score, make_ternary as make_ternary
from .binner import Binner as Binner
from .checking import encode_labels as encode_labels
from .columns import apply_columns as apply_columns, read_thresholds as read_thresholds
from .counts import (
    CountsHead as CountsHead,
    counts_head as counts_head,
    read_counts as read_counts,
    read_sites as read_sites,
    write_counts as write_counts,
)
from .designs import (
    double_features as double_features,
    in_steps as in_steps,
    make_design as make_design,
    read_frame as read_frame,
    read_table as read_table,
    undouble as undouble,
)
from .merged_rows import (
    read_patterns as read_patterns,
    sample_patterns as sample_patterns,
    stored_rows as stored_rows,
)
from .merged_times import read_times as read_times
from .onehot_codes import BinnedDesign as BinnedDesign
from .ordinal import OrdinalDesign as OrdinalDesign, make_ordinal_design as make_ordinal_design
from .pairs import PairDesign as PairDesign, make_pair_design as make_pair_design
from .survival import (
    SurvivalDesign as SurvivalDesign,
    make_survival_design as make_survival_design,
    survival_target as survival_target,
)
