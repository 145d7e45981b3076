"""One self-contained HTML page about a card: the card itself, its proof, and how it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.report._report import report

__all__ = ["report"]

_EXPORTS = {"report": "milpscore.report._report"}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
