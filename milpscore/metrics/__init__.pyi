from ._classification import (
    accuracy as accuracy,
)
from ._classification import (
    auc as auc,
)
from ._classification import (
    gap as gap,
)
from ._classification import (
    hinge_loss as hinge_loss,
)
from ._classification import (
    zero_one_loss as zero_one_loss,
)
from ._coefficients import (
    integrity as integrity,
)
from ._coefficients import (
    magnitude as magnitude,
)
from ._coefficients import (
    nonzeros as nonzeros,
)
from ._coefficients import (
    total_variation as total_variation,
)
from ._credibility import (
    average_precision as average_precision,
)
from ._credibility import (
    credibility_by_group as credibility_by_group,
)
from ._credibility import (
    gini as gini,
)
from ._credibility import (
    log_ratio as log_ratio,
)
from ._credibility import (
    near_zero_share as near_zero_share,
)
from ._credibility import (
    symmetric_kl as symmetric_kl,
)
from ._selection import bootstrap_auc as bootstrap_auc
from ._selection import sparsest_accurate as sparsest_accurate
