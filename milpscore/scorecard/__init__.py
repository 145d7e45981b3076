"""Integer scorecards as people use them: apply, print, save, export."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.scorecard._calibration import calibration_table
    from milpscore.scorecard._card import Scorecard
    from milpscore.scorecard._certified import certified_card
    from milpscore.scorecard._diarem import DIAREM_GROUPS, RemissionGroup, diarem
    from milpscore.scorecard._risk import RiskScale

__all__ = [
    "DIAREM_GROUPS",
    "RemissionGroup",
    "RiskScale",
    "Scorecard",
    "calibration_table",
    "certified_card",
    "diarem",
]

_EXPORTS = {
    "DIAREM_GROUPS": "milpscore.scorecard._diarem",
    "RemissionGroup": "milpscore.scorecard._diarem",
    "RiskScale": "milpscore.scorecard._risk",
    "Scorecard": "milpscore.scorecard._card",
    "calibration_table": "milpscore.scorecard._calibration",
    "certified_card": "milpscore.scorecard._certified",
    "diarem": "milpscore.scorecard._diarem",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
