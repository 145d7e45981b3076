"""The re-check: whatever a solver says is recomputed from the raw data."""

from __future__ import annotations

from milpscore.verify._card import (
    FEASIBILITY_TOLERANCE,
    Evaluation,
    check,
    evaluate,
    mean_loss,
    model_violations,
)

__all__ = [
    "FEASIBILITY_TOLERANCE",
    "Evaluation",
    "check",
    "evaluate",
    "mean_loss",
    "model_violations",
]
