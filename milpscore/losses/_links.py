"""From scores to risks, for the losses that are minus the log of a probability of the classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.losses._risk import RiskLoss
from milpscore.losses._sigmoid import sigmoid


def _normal(z: FloatArray) -> FloatArray:
    """The normal distribution function."""
    from scipy.special import ndtr

    return np.asarray(ndtr(z), dtype=np.float64)


LINKS: dict[str, Callable[[FloatArray], FloatArray]] = {"logistic": sigmoid, "probit": _normal}
"""Loss name -> the probability of the class +1 at score z; 1/2 at 0 and symmetric about it.

Squared and hinge-like losses order rows, and the Poisson one counts: none says a probability of two
classes.
"""


def link_of(loss: Any) -> str | None:
    """The key of :data:`LINKS` for a risk score's loss.

    Parameters
    ----------
    loss : RiskLoss, SmoothLoss, Loss or str

    Returns
    -------
    str or None
        None where the loss is no likelihood of two classes.
    """
    base = loss.base if isinstance(loss, RiskLoss) else loss
    name = base.replace("-", "_") if isinstance(base, str) else getattr(base, "name", None)
    return name if name in LINKS else None
