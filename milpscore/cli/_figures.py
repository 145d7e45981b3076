"""Figures on the command line: refused early where they could not be saved, drawn off screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from milpscore.cli._common import require_folder
from milpscore.core.errors import OptionError


def require_drawable(plot: Path | None) -> None:
    """Refuse a figure that could not be saved before the solving, not after it.

    Matplotlib is told here to do without a screen.

    Raises
    ------
    DataError, OptionError
        There is no such folder, or Matplotlib does not know the file's ending.
    """
    if plot is None:
        return
    require_folder(plot)
    import matplotlib
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.get_supported_filetypes()
    if plot.suffix.lstrip(".").lower() not in known:
        raise OptionError(f"--plot {plot}: the name must end in one of {', '.join(sorted(known))}")
    matplotlib.use("Agg")


def save_figure(figure: Any, plot: Path) -> None:
    """Save a figure that was drawn after :func:`require_drawable`."""
    figure.savefig(plot, dpi=150)
