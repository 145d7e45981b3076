"""Integer scorecards as people use them: apply, print, save, export."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.scorecard._card import Scorecard
    from milpscore.scorecard._certified import certified_card

__all__ = ["Scorecard", "certified_card"]

_EXPORTS = {
    "Scorecard": "milpscore.scorecard._card",
    "certified_card": "milpscore.scorecard._certified",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
