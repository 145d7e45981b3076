"""Best card and proven bound of exact solves, second by second."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from milpscore.core.errors import NotApplicableError
from milpscore.core.result import Result
from milpscore.plots.drawing import (
    EARLIEST,
    PALETTE,
    Results,
    axes,
    bound_steps,
    results_of,
    spaced,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from milpscore.comparison import Comparison

_MARKERS = {"randomised": ("D", 7), "nearest": ("v", 9), "proximal": ("P", 9)}


def bounds_over_time(results: Comparison | Results | Result, ax: Axes | None = None) -> Axes:
    """Best objective and proven bound of each exact solve, second by second.

    The solid line is the best card, the dashed line the bound, and the band between them what is
    still open. A dotted line is the LP's bound; a diamond and a triangle are the randomised and
    the nearest rounding, at the second they were ready.

    Parameters
    ----------
    results : Comparison, mapping, or Result
        What :func:`milpscore.compare` answers, its results, or one of them.
    ax : Axes, optional
        Default: the current one.

    Returns
    -------
    Axes

    Raises
    ------
    NotApplicableError
        Where there is nothing to draw.
    """
    known = results_of(results)
    ax = axes(ax)
    formulations = list(dict.fromkeys(name for name, _ in known))
    drawn = False
    for k, name in enumerate(formulations):
        colour = PALETTE[k % len(PALETTE)]
        exact = known.get((name, "exact"))
        drawn |= exact is not None and _draw_solve(ax, name, exact, colour)
        relaxed = known.get((name, "relaxed"))
        if relaxed is not None and math.isfinite(relaxed.dual_bound):
            ax.axhline(relaxed.dual_bound, color=colour, linestyle=":", linewidth=1.2)
            drawn = True
        drawn |= _draw_roundings(ax, known, name, colour)
    if not drawn:
        raise NotApplicableError("no result has a card or a bound to draw: raise the time limit")
    ax.set_xscale("log")
    ax.set_xlabel("seconds of solving")
    ax.set_ylabel("objective")
    ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
    ax.set_title("Best card and proven bound", loc="left")
    _legend_of_bounds(ax, known, formulations)
    tidy(ax)
    return ax


def _draw_solve(ax: Axes, name: str, result: Result, colour: str) -> bool:
    """Incumbent and bound of one solve as steps; False where there is neither."""
    seconds, best, bound = bound_steps(result)
    end = seconds[-1]
    if np.isnan(best).all() and np.isnan(bound).all():
        return False
    ax.step(seconds, best, where="post", color=colour, linewidth=2.0)
    ax.step(seconds, bound, where="post", color=colour, linewidth=1.6, linestyle="--")
    ax.fill_between(seconds, bound, best, step="post", color=colour, alpha=0.10, linewidth=0)
    ax.plot(end, result.objective, marker="o", markersize=5, color=colour)
    return True


def _draw_roundings(ax: Axes, known: Results, name: str, colour: str) -> bool:
    """One marker for each rounded card of a formulation."""
    drawn = False
    for kind, (marker, size) in _MARKERS.items():
        result = known.get((name, kind))
        if result is not None and result.card is not None:
            seconds = max(result.solve_seconds, EARLIEST)
            ax.plot(
                seconds, result.objective, marker=marker, markersize=size, color=colour,
                markeredgecolor="white", linestyle="none", zorder=3,
            )  # fmt: skip
            drawn = True
    return drawn


def _legend_of_bounds(ax: Axes, known: Results, formulations: list[str]) -> None:
    """Colours name formulations with their claims, styles name what a line is."""
    from matplotlib.lines import Line2D

    entries = []
    for k, name in enumerate(formulations):
        exact = known.get((name, "exact"))
        claim = "" if exact is None else f" ({exact.claim})"
        colour = PALETTE[k % len(PALETTE)]
        entries.append(Line2D([], [], color=colour, linewidth=4, label=spaced(name) + claim))
    grey: dict[str, Any] = {"color": "0.35"}
    entries += [
        Line2D([], [], **grey, linewidth=2.0, marker="o", markersize=5, label="best card"),
        Line2D([], [], **grey, linewidth=1.6, linestyle="--", label="proven bound"),
    ]
    kinds = {kind for _, kind in known}
    if "relaxed" in kinds:
        entries.append(Line2D([], [], **grey, linewidth=1.2, linestyle=":", label="LP bound"))
    entries += [
        Line2D(
            [],
            [],
            **grey,
            marker=marker,
            markersize=size,
            linestyle="none",
            label=f"{kind} rounding",
        )
        for kind, (marker, size) in _MARKERS.items()
        if kind in kinds
    ]
    ax.legend(
        handles=entries, frameon=False, fontsize="small", loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
    )  # fmt: skip
