from ._credibility import (
    average_precision as average_precision,
    credibility_by_group as credibility_by_group,
    symmetric_kl as symmetric_kl,
)
from ._measures import (
    Rubin as Rubin,
    SelectionStability as SelectionStability,
    accuracy as accuracy,
    auc as auc,
    auc_variance as auc_variance,
    concordance as concordance,
    concordance_of as concordance_of,
    gap as gap,
    hinge_loss as hinge_loss,
    integrity as integrity,
    magnitude as magnitude,
    net_benefit as net_benefit,
    nonzeros as nonzeros,
    rubin as rubin,
    selection_stability as selection_stability,
    total_variation as total_variation,
    zero_one_loss as zero_one_loss,
)
