"""Measures of a linear model in floating point: size, integrity, losses, accuracy, credibility.

Everything here is for looking and comparing. What a certificate rests on is recomputed exactly by
:mod:`milpscore.verify`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.metrics._classification import accuracy, auc, gap, hinge_loss, zero_one_loss
    from milpscore.metrics._coefficients import integrity, magnitude, nonzeros, total_variation
    from milpscore.metrics._credibility import (
        average_precision,
        credibility_by_group,
        gini,
        log_ratio,
        near_zero_share,
        symmetric_kl,
    )
    from milpscore.metrics._selection import bootstrap_auc, sparsest_accurate

__all__ = [
    "accuracy",
    "auc",
    "average_precision",
    "bootstrap_auc",
    "credibility_by_group",
    "gap",
    "gini",
    "hinge_loss",
    "integrity",
    "log_ratio",
    "magnitude",
    "near_zero_share",
    "nonzeros",
    "sparsest_accurate",
    "symmetric_kl",
    "total_variation",
    "zero_one_loss",
]

_EXPORTS = {
    "accuracy": "milpscore.metrics._classification",
    "auc": "milpscore.metrics._classification",
    "average_precision": "milpscore.metrics._credibility",
    "bootstrap_auc": "milpscore.metrics._selection",
    "credibility_by_group": "milpscore.metrics._credibility",
    "gap": "milpscore.metrics._classification",
    "gini": "milpscore.metrics._credibility",
    "hinge_loss": "milpscore.metrics._classification",
    "integrity": "milpscore.metrics._coefficients",
    "log_ratio": "milpscore.metrics._credibility",
    "magnitude": "milpscore.metrics._coefficients",
    "near_zero_share": "milpscore.metrics._credibility",
    "nonzeros": "milpscore.metrics._coefficients",
    "sparsest_accurate": "milpscore.metrics._selection",
    "symmetric_kl": "milpscore.metrics._credibility",
    "total_variation": "milpscore.metrics._coefficients",
    "zero_one_loss": "milpscore.metrics._classification",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
