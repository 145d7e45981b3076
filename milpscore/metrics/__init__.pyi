from ._classification import (
    accuracy as accuracy,
    auc as auc,
    gap as gap,
    hinge_loss as hinge_loss,
    zero_one_loss as zero_one_loss,
)
from ._coefficients import (
    integrity as integrity,
    magnitude as magnitude,
    nonzeros as nonzeros,
    total_variation as total_variation,
)
from ._credibility import (
    average_precision as average_precision,
    credibility_by_group as credibility_by_group,
    gini as gini,
    log_ratio as log_ratio,
    near_zero_share as near_zero_share,
    symmetric_kl as symmetric_kl,
)
from ._selection import bootstrap_auc as bootstrap_auc, sparsest_accurate as sparsest_accurate
