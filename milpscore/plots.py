"""Figures of a comparison: each function takes an Axes and gives it back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import NotApplicableError
from milpscore.core.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

Key = tuple[str, str]
Results = Mapping[Key, Result]

# Okabe & Ito's palette, told apart with every common form of colour blindness; markers and line
# styles repeat what the colours say.
_FORMULATION_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_KIND_COLOURS = {
    "exact": "#000000",
    "relaxed": "#56B4E9",
    "randomised": "#E69F00",
    "nearest": "#009E73",
}
_KIND_HATCHES = {"exact": "", "relaxed": "", "randomised": "////", "nearest": "...."}
_MARKERS = {"randomised": ("D", 7), "nearest": ("v", 9)}
_EARLIEST = 1e-3


def bounds_over_time(results: DataFrame | Results | Result, ax: Axes | None = None) -> Axes:
    """Best objective and proven bound of each exact solve, second by second.

    The solid line is the best card, the dashed line the bound, and the band between them what is
    still open. A dotted line is the LP's bound; a diamond and a triangle are the randomised and
    the nearest rounding, at the second they were ready.

    Parameters
    ----------
    results : DataFrame, mapping, or Result
        The table of :func:`milpscore.compare`, its ``attrs["results"]``, or one result.
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
    known = _results(results)
    ax = _axes(ax)
    formulations = list(dict.fromkeys(name for name, _ in known))
    drawn = False
    for k, name in enumerate(formulations):
        colour = _FORMULATION_COLOURS[k % len(_FORMULATION_COLOURS)]
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
    _tidy(ax)
    return ax


def coefficients(
    results: DataFrame | Results | Result,
    ax: Axes | None = None,
    *,
    formulation: str | None = None,
    names: tuple[str, ...] | None = None,
    max_columns: int = 15,
) -> Axes:
    """Coefficients of one formulation, exact, relaxed and rounded side by side.

    Parameters
    ----------
    results : DataFrame, mapping, or Result
        The table of :func:`milpscore.compare`, its ``attrs["results"]``, or one result.
    ax : Axes, optional
        Default: the current one.
    formulation : str, optional
        Default: the first one that has coefficients.
    names : tuple of str, optional
        Names of the design columns; a table brings its own.
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
    from matplotlib.ticker import MaxNLocator

    known = _results(results)
    if names is None:
        names = getattr(results, "attrs", {}).get("names")
    name, values = _coefficients_of(known, formulation)
    p = len(next(iter(values.values())))
    labels = list(names) if names is not None else [f"column {j + 1}" for j in range(p)]
    size = np.max(np.abs(list(values.values())), axis=0)
    used = np.flatnonzero(size > 1e-9)
    shown = np.sort(used[np.argsort(-size[used], kind="stable")[:max_columns]])
    ax = _axes(ax)
    height = 0.84 / len(values)
    at = np.arange(len(shown), dtype=np.float64)
    for k, (kind, w) in enumerate(values.items()):
        ax.barh(
            at + (k - (len(values) - 1) / 2) * height,
            w[shown],
            height=height,
            color=_KIND_COLOURS[kind],
            hatch=_KIND_HATCHES[kind],
            edgecolor="white",
            linewidth=0.4,
            label=kind,
        )
    for row in at[1:]:
        ax.axhline(row - 0.5, color="0.9", linewidth=0.8, zorder=0)
    ax.axvline(0, color="0.3", linewidth=0.8)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_yticks(at, [_short(labels[j]) for j in shown])
    ax.set_ylim(max(len(shown), 1) - 0.5, -0.5)
    more = len(used) - len(shown)
    ax.set_xlabel("coefficient (points)" + (f"\n{more} smaller ones not shown" if more else ""))
    ax.set_title(f"{_spaced(name)}: coefficients", loc="left", pad=34)
    # above the axes: bars may lie anywhere inside
    ax.legend(
        frameon=False, fontsize="small", ncols=2, columnspacing=1.2, handlelength=1.4,
        loc="lower left", bbox_to_anchor=(0.0, 0.995), borderaxespad=0.2, borderpad=0.0,
    )  # fmt: skip
    _tidy(ax)
    return ax


def comparison_figure(table: DataFrame, *, max_columns: int = 12) -> Figure:
    """Bounds over time above, the coefficients of every formulation below.

    Parameters
    ----------
    table : DataFrame
        From :func:`milpscore.compare`.
    max_columns : int
        Columns drawn for each formulation.

    Returns
    -------
    Figure

    Raises
    ------
    NotApplicableError
        Where the table carries no results.
    """
    import matplotlib.pyplot as plt

    known = _results(table)
    formulations = list(
        dict.fromkeys(name for (name, _), result in known.items() if result.coefficients.size)
    )
    lower = max(-(-len(formulations) // 2), 1)
    figure = plt.figure(figsize=(12.5, 4.2 + 4.8 * lower), layout="constrained")
    parts: Any = figure.subfigures(2, 1, height_ratios=[4.2, 4.8 * lower])
    top, bottom = parts
    bounds_over_time(table, top.add_subplot())
    grid = bottom.add_gridspec(lower, 2)
    for k, name in enumerate(formulations):
        alone = k % 2 == 0 and k == len(formulations) - 1
        cell = grid[k // 2, :] if alone else grid[k // 2, k % 2]
        coefficients(table, bottom.add_subplot(cell), formulation=name, max_columns=max_columns)
    return figure


def _results(given: DataFrame | Results | Result) -> Results:
    """(formulation, kind) -> Result, from a table, a mapping or one result."""
    if isinstance(given, Result):
        return {(given.formulation, given.kind): given}
    found: Results = given if isinstance(given, Mapping) else given.attrs.get("results", {})
    if not found:
        raise NotApplicableError(
            "there are no results to draw: pass the table of milpscore.compare as it came (some "
            "DataFrame operations drop attrs), or its attrs['results']"
        )
    return found


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.gca()


def _draw_solve(ax: Axes, name: str, result: Result, colour: str) -> bool:
    """Incumbent and bound of one solve as steps; False where there is neither."""
    points = sorted(result.trace, key=lambda point: point.seconds)
    end = max(result.solve_seconds, _EARLIEST)
    seconds = np.array([*(max(p.seconds, _EARLIEST) for p in points), end])
    best = _best_so_far([*(p.objective for p in points), result.objective], np.fmin)
    bound = _best_so_far([*(p.dual_bound for p in points), result.dual_bound], np.fmax)
    if np.isnan(best).all() and np.isnan(bound).all():
        return False
    seconds = np.minimum(seconds, end)
    ax.step(seconds, best, where="post", color=colour, linewidth=2.0)
    ax.step(seconds, bound, where="post", color=colour, linewidth=1.6, linestyle="--")
    ax.fill_between(seconds, bound, best, step="post", color=colour, alpha=0.10, linewidth=0)
    ax.plot(end, result.objective, marker="o", markersize=5, color=colour)
    return True


def _best_so_far(values: list[float], better: Any) -> FloatArray:
    """Running best; NaN until there is a finite value."""
    finite = np.where(np.isfinite(values), values, np.nan)
    return np.asarray(better.accumulate(finite), dtype=np.float64)


def _draw_roundings(ax: Axes, known: Results, name: str, colour: str) -> bool:
    """One marker for each rounded card of a formulation."""
    drawn = False
    for kind, (marker, size) in _MARKERS.items():
        result = known.get((name, kind))
        if result is not None and result.card is not None:
            seconds = max(result.solve_seconds, _EARLIEST)
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
        colour = _FORMULATION_COLOURS[k % len(_FORMULATION_COLOURS)]
        entries.append(Line2D([], [], color=colour, linewidth=4, label=_spaced(name) + claim))
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


def _coefficients_of(known: Results, formulation: str | None) -> tuple[str, dict[str, FloatArray]]:
    """The formulation drawn, and its coefficients by kind."""
    wanted = None if formulation is None else formulation.replace("-", "_")
    for name in dict.fromkeys(name for name, _ in known):
        if wanted not in (None, name):
            continue
        values = {
            kind: known[name, kind].coefficients
            for kind in _KIND_COLOURS
            if (name, kind) in known and known[name, kind].coefficients.size
        }
        if values:
            return name, values
    there = sorted({name for name, _ in known})
    raise NotApplicableError(
        f"no coefficients of {formulation or 'any formulation'} to draw; there are results of "
        f"{', '.join(there)}"
    )


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _short(label: str, length: int = 42) -> str:
    """The label with its middle left out where it is long: the cuts stand at its ends."""
    half = (length - 1) // 2
    return label if len(label) <= length else f"{label[:half]}…{label[-half:]}"


def _tidy(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
