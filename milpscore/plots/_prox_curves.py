"""Proximity operators of one-dimensional penalties, drawn over their argument."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.terms import ProxPenalty
from milpscore.plots.drawing import PALETTE, axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 2001
_STYLES = ("-", "--", "-.", (0, (1, 1)))


def prox_curves(
    penalties: Mapping[str, ProxPenalty] | None = None,
    ax: Axes | None = None,
    *,
    step: float = 1.0,
    limit: float = 6.0,
) -> Axes:
    """Draw prox of step * penalty over [-limit, limit] for each penalty.

    Parameters
    ----------
    penalties : mapping from label to penalty, optional
        Separable ones; by default L1, L2 and Facets of weight 1, as in the source.
    ax : Axes, optional
        Default: the current one.
    step : float
        Positive.
    limit : float
        Positive.

    Returns
    -------
    Axes

    Raises
    ------
    NotApplicableError
        For a penalty that is no sum over the coefficients.
    OptionError
        For a limit that is not positive.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker (2020), Figure 2.
    """
    if not (np.isfinite(limit) and limit > 0):
        raise OptionError(f"limit={limit!r}; use a positive number, say 4")
    drawn = _defaults() if penalties is None else penalties
    for label, penalty in drawn.items():
        if not penalty.separable:
            raise NotApplicableError(
                f"the penalty {label!r} is no sum over coefficients, so it has no curve: draw its "
                "level_sets"
            )
    ax = axes(ax)
    x = np.linspace(-limit, limit, _POINTS)
    for level in range(-int(limit), int(limit) + 1):
        ax.axhline(level, color="0.92", linewidth=0.7, zorder=0)
    ax.plot(x, x, color="0.6", linewidth=0.9, linestyle=":", label="no penalty")
    for k, (label, penalty) in enumerate(drawn.items()):
        ax.plot(
            x, penalty.prox(x, step), label=label,
            color=PALETTE[k % len(PALETTE)], linestyle=_STYLES[k % len(_STYLES)], linewidth=1.8,
        )  # fmt: skip
    ax.set_aspect("equal")
    ax.set_xlim(-limit, limit)
    ax.set_ylim(-limit, limit)
    ax.set_xlabel("x")
    ax.set_ylabel("prox of the penalty" if step == 1 else f"prox of {step:g} times the penalty")
    ax.set_title("Proximity operators", loc="left")
    ax.legend(frameon=False, fontsize="small", loc="upper left")
    tidy(ax)
    return ax


def _defaults() -> dict[str, ProxPenalty]:
    from milpscore.penalties import L1, L2, Facets

    made: dict[str, ProxPenalty] = {"Facets": Facets(1.0), "L1": L1(1.0), "L2": L2(1.0)}
    return made
