"""Level sets of penalties of two coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from milpscore.core.errors import OptionError
from milpscore.core.terms import ProxPenalty
from milpscore.plots.drawing import PALETTE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_POINTS = 161
_LEVELS = 6


def level_sets(
    penalties: Mapping[str, ProxPenalty] | None = None,
    *,
    limit: float = 3.0,
    figure: Figure | None = None,
) -> Figure:
    """Draw the level sets of each penalty of (w1, w2) in a panel of its own.

    The thick line is the level through (1, 0), so that shapes can be compared.

    Parameters
    ----------
    penalties : mapping from title to penalty of two coefficients, optional
        By default Facets, EYE with the first feature known to the expert, and the naive
        credibility penalty of the same features.
    limit : float
        Both coefficients run over [-limit, limit].
    figure : Figure, optional
        An empty one; by default a new one.

    Returns
    -------
    Figure

    Raises
    ------
    OptionError
        For a limit that is not positive, or a penalty that does not take two coefficients.

    References
    ----------
    Belahcene et al. (2020), Figure 1; Wang et al., "Learning credible models" (2018), Figure 2.
    """
    import matplotlib.pyplot as plt

    if not (np.isfinite(limit) and limit > 0):
        raise OptionError(f"limit={limit!r}; use a positive number, say 3")
    drawn = _defaults() if penalties is None else dict(penalties)
    x = np.linspace(-limit, limit, _POINTS)
    pairs = np.stack(np.meshgrid(x, x), axis=-1)
    if figure is None:
        figure = plt.figure(figsize=(3.6 * len(drawn), 3.9), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(drawn), sharey=True))
    for panel, (title, penalty) in zip(panels, drawn.items(), strict=True):
        values = np.apply_along_axis(penalty.value, 2, pairs)
        edge = float(penalty.value(np.array([0.0, limit])))
        edge = min(edge, float(penalty.value(np.array([limit, 0.0]))))
        unit = float(penalty.value(np.array([1.0, 0.0])))
        levels = edge * np.linspace(0.0, 1.0, _LEVELS + 2)[1:]
        panel.contour(x, x, values, levels=levels, colors=PALETTE[0], linewidths=0.9)
        if 0 < unit < values.max():
            panel.contour(x, x, values, levels=[unit], colors=PALETTE[1], linewidths=2.2)
        panel.axhline(0, color="0.85", linewidth=0.7, zorder=0)
        panel.axvline(0, color="0.85", linewidth=0.7, zorder=0)
        panel.set_aspect("equal")
        panel.set_title(title, loc="left", fontsize="medium")
        panel.set_xlabel("w1")
    panels[0].set_ylabel("w2")
    return figure


def _defaults() -> dict[str, ProxPenalty]:
    from milpscore.penalties import EYE, Facets, NaiveCredibility

    known = np.array([1.0, 0.0])
    made: dict[str, ProxPenalty] = {
        "Facets": Facets(1.0),
        "EYE, w1 known": EYE(1.0, expert=known),
        "naive, w1 known, beta 0.5": NaiveCredibility(1.0, expert=known, beta=0.5),
    }
    return made
