"""Experiments of many runs, kept in a file and resumable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore._lazy import lazy_exports

if TYPE_CHECKING:
    from milpscore.study._figure2 import EyeFigure2, eye_figure2
    from milpscore.study._figure4 import EyeFigure4, eye_figure4a, eye_figure4b
    from milpscore.study._protocol import Protocol
    from milpscore.study._runs import RunStore, finish_runs
    from milpscore.study._table2 import EyeTable, eye_table2

__all__ = [
    "EyeFigure2",
    "EyeFigure4",
    "EyeTable",
    "Protocol",
    "RunStore",
    "eye_figure2",
    "eye_figure4a",
    "eye_figure4b",
    "eye_table2",
    "finish_runs",
]

_EXPORTS = {
    "EyeFigure2": "milpscore.study._figure2",
    "EyeFigure4": "milpscore.study._figure4",
    "EyeTable": "milpscore.study._table2",
    "Protocol": "milpscore.study._protocol",
    "RunStore": "milpscore.study._runs",
    "eye_figure2": "milpscore.study._figure2",
    "eye_figure4a": "milpscore.study._figure4",
    "eye_figure4b": "milpscore.study._figure4",
    "eye_table2": "milpscore.study._table2",
    "finish_runs": "milpscore.study._runs",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
