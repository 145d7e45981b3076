"""From a table to a design: reading, checking, binning, doubling, and generators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.data._applying import apply_columns
    from milpscore.data._binned import BinnedDesign
    from milpscore.data._binning import Binner
    from milpscore.data._credible import (
        CredibleData,
        make_collinearity_sweep,
        make_known_share_sweep,
        make_random_groups,
        make_twins,
    )
    from milpscore.data._design import make_design
    from milpscore.data._diabetes import DiabetesTruth, make_diabetes_cohort
    from milpscore.data._doubling import double_features, undouble
    from milpscore.data._generators import make_planted_score, make_ternary
    from milpscore.data._labels import encode_labels
    from milpscore.data._reading import read_frame, read_table
    from milpscore.data._steps import StepFunctions, make_additive_steps
    from milpscore.data._thresholds import read_thresholds

__all__ = [
    "BinnedDesign",
    "Binner",
    "CredibleData",
    "DiabetesTruth",
    "StepFunctions",
    "apply_columns",
    "double_features",
    "encode_labels",
    "make_additive_steps",
    "make_collinearity_sweep",
    "make_design",
    "make_diabetes_cohort",
    "make_known_share_sweep",
    "make_planted_score",
    "make_random_groups",
    "make_ternary",
    "make_twins",
    "read_frame",
    "read_table",
    "read_thresholds",
    "undouble",
]

_EXPORTS = {
    "BinnedDesign": "milpscore.data._binned",
    "Binner": "milpscore.data._binning",
    "CredibleData": "milpscore.data._credible",
    "DiabetesTruth": "milpscore.data._diabetes",
    "StepFunctions": "milpscore.data._steps",
    "apply_columns": "milpscore.data._applying",
    "double_features": "milpscore.data._doubling",
    "encode_labels": "milpscore.data._labels",
    "make_additive_steps": "milpscore.data._steps",
    "make_collinearity_sweep": "milpscore.data._credible",
    "make_design": "milpscore.data._design",
    "make_diabetes_cohort": "milpscore.data._diabetes",
    "make_known_share_sweep": "milpscore.data._credible",
    "make_planted_score": "milpscore.data._generators",
    "make_random_groups": "milpscore.data._credible",
    "make_ternary": "milpscore.data._generators",
    "make_twins": "milpscore.data._credible",
    "read_frame": "milpscore.data._reading",
    "read_table": "milpscore.data._reading",
    "read_thresholds": "milpscore.data._thresholds",
    "undouble": "milpscore.data._doubling",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
