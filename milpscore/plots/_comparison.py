"""A comparison: bounds second by second, coefficients side by side, and both on one figure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import NotApplicableError
from milpscore.core.result import Result
from milpscore.plots.drawing import (
    EARLIEST,
    LEGEND,
    LEGEND_ABOVE,
    PALETTE,
    Results,
    axes,
    bound_steps,
    finish,
    legend_of_lines,
    name_rows,
    results_of,
    spaced,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from milpscore.comparison import Comparison

_MARKERS = {"randomised": ("D", 7), "nearest": ("v", 9), "proximal": ("P", 9)}
_KINDS = {
    "exact": ("#000000", ""),
    "relaxed": ("#56B4E9", ""),
    "randomised": ("#E69F00", "////"),
    "nearest": ("#009E73", "...."),
    "proximal": ("#CC79A7", "xxxx"),
}
"""Colour and hatch of each realisation's bars."""


def comparison_figure(comparison: Comparison, *, max_columns: int = 12) -> Figure:
    """Bounds over time above, the coefficients of every formulation below.

    Parameters
    ----------
    comparison : Comparison
        From :func:`milpscore.compare`.
    max_columns : int
        Columns drawn for each formulation.

    Returns
    -------
    Figure

    Raises
    ------
    NotApplicableError
        Where it has no results.
    """
    import matplotlib.pyplot as plt

    known = results_of(comparison)
    formulations = list(
        dict.fromkeys(name for (name, _), result in known.items() if result.coefficients.size)
    )
    lower = max(-(-len(formulations) // 2), 1)
    figure = plt.figure(figsize=(12.5, 4.2 + 4.8 * lower), layout="constrained")
    parts: Any = figure.subfigures(2, 1, height_ratios=[4.2, 4.8 * lower])
    top, bottom = parts
    bounds_over_time(comparison, top.add_subplot())
    grid = bottom.add_gridspec(lower, 2)
    for k, name in enumerate(formulations):
        alone = k % 2 == 0 and k == len(formulations) - 1
        cell = grid[k // 2, :] if alone else grid[k // 2, k % 2]
        coefficients(
            comparison, bottom.add_subplot(cell), formulation=name, max_columns=max_columns
        )
    return figure


# --- bounds ---------------------------------------------------------------------------------------


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
    colours = _colours(known)
    drawn = [
        _draw_result(ax, kind, result, colours[name]) for (name, kind), result in known.items()
    ]
    if not any(drawn):
        raise NotApplicableError("no result has a card or a bound to draw: raise the time limit")
    ax.set_xscale("log")
    ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
    ax.legend(
        handles=_legend_of_bounds(known), loc="upper left", bbox_to_anchor=(1.0, 1.0), **LEGEND
    )
    return finish(ax, "Best card and proven bound", "seconds of solving", "objective")


def _colours(known: Results) -> dict[str, str]:
    """A colour for each formulation, in their order."""
    names = dict.fromkeys(name for name, _ in known)
    return {name: PALETTE[k % len(PALETTE)] for k, name in enumerate(names)}


def _draw_result(ax: Axes, kind: str, result: Result, colour: str) -> bool:
    """Steps of an exact solve, a line for a relaxation, a marker for a rounding; False for none."""
    if kind == "relaxed" and math.isfinite(result.dual_bound):
        ax.axhline(result.dual_bound, color=colour, linestyle=":", linewidth=1.2)
        return True
    if kind in _MARKERS and result.card is not None:
        marker, size = _MARKERS[kind]
        ax.plot(
            max(result.solve_seconds, EARLIEST), result.objective, marker=marker, markersize=size,
            color=colour, markeredgecolor="white", linestyle="none", zorder=3,
        )  # fmt: skip
        return True
    if kind != "exact":
        return False
    seconds, best, bound = bound_steps(result)
    if np.isnan(best).all() and np.isnan(bound).all():
        return False
    ax.step(seconds, best, where="post", color=colour, linewidth=2.0)
    ax.step(seconds, bound, where="post", color=colour, linewidth=1.6, linestyle="--")
    ax.fill_between(seconds, bound, best, step="post", color=colour, alpha=0.10, linewidth=0)
    ax.plot(seconds[-1], result.objective, marker="o", markersize=5, color=colour)
    return True


def _legend_of_bounds(known: Results) -> list[Any]:
    """Colours name formulations with their claims, styles name what a line is."""
    from matplotlib.lines import Line2D

    def entry(label: str, **style: Any) -> Line2D:
        return Line2D([], [], label=label, **{"color": "0.35", **style})

    entries = []
    for name, colour in _colours(known).items():
        exact = known.get((name, "exact"))
        claim = "" if exact is None else f" ({exact.claim})"
        entries.append(entry(spaced(name) + claim, color=colour, linewidth=4))
    entries += legend_of_lines(linewidth=2.0, marker="o", markersize=5)
    kinds = {kind for _, kind in known}
    if "relaxed" in kinds:
        entries.append(entry("LP bound", linewidth=1.2, linestyle=":"))
    for kind in (kind for kind in _MARKERS if kind in kinds):
        marker, size = _MARKERS[kind]
        entries.append(entry(f"{kind} rounding", marker=marker, markersize=size, linestyle="none"))
    return entries


# --- coefficients ---------------------------------------------------------------------------------


def coefficients(
    results: Comparison | Results | Result,
    ax: Axes | None = None,
    *,
    formulation: str | None = None,
    names: tuple[str, ...] | None = None,
    max_columns: int = 15,
) -> Axes:
    """Coefficients of one formulation, exact, relaxed and rounded side by side.

    Parameters
    ----------
    results : Comparison, mapping, or Result
        What :func:`milpscore.compare` answers, its results, or one of them.
    ax : Axes, optional
        Default: the current one.
    formulation : str, optional
        Default: the first one that has coefficients.
    names : tuple of str, optional
        Names of the design columns; a comparison brings its own.
    max_columns : int
        Only so many columns are drawn, those with the largest coefficients, in the design's
        order; the axis counts the others.

    Returns
    -------
    Axes

    Raises
    ------
    NotApplicableError
        Where the formulation is not among the results, or has no coefficients.
    """
    known = results_of(results)
    if names is None:
        names = getattr(results, "names", None)
    name, values = _coefficients_of(known, formulation)
    p = len(next(iter(values.values())))
    labels = list(names) if names is not None else [f"column {j + 1}" for j in range(p)]
    size = np.max(np.abs(list(values.values())), axis=0)
    used = np.flatnonzero(size > 1e-9)
    shown = np.sort(used[np.argsort(-size[used], kind="stable")[:max_columns]])
    ax = axes(ax)
    height = 0.84 / len(values)
    at = np.arange(len(shown), dtype=np.float64)
    for k, (kind, w) in enumerate(values.items()):
        colour, hatch = _KINDS[kind]
        ax.barh(
            at + (k - (len(values) - 1) / 2) * height, w[shown], height=height, color=colour,
            hatch=hatch, edgecolor="white", linewidth=0.4, label=kind,
        )  # fmt: skip
    for row in at[1:]:
        ax.axhline(row - 0.5, color="0.9", linewidth=0.8, zorder=0)
    name_rows(ax, [labels[j] for j in shown], "no column has points")
    more = len(used) - len(shown)
    if shown.size:  # above the axes: bars may lie anywhere inside
        ax.legend(ncols=(len(values) + 1) // 2, **LEGEND_ABOVE)
    words = "coefficient (points)" + (f"\n{more} smaller ones not shown" if more else "")
    return finish(ax, f"{spaced(name)}: coefficients", words, "", pad=34)


def _coefficients_of(known: Results, formulation: str | None) -> tuple[str, dict[str, FloatArray]]:
    """The formulation drawn, and its coefficients by kind."""
    wanted = None if formulation is None else formulation.replace("-", "_")
    for name in dict.fromkeys(name for name, _ in known):
        if wanted not in (None, name):
            continue
        values = {
            kind: known[name, kind].coefficients
            for kind in _KINDS
            if (name, kind) in known and known[name, kind].coefficients.size
        }
        if values:
            return name, values
    there = sorted({name for name, _ in known})
    raise NotApplicableError(
        f"no coefficients of {formulation or 'any formulation'} to draw; there are results of "
        f"{', '.join(there)}"
    )
