"""Solves beside each other: a comparison's bounds and coefficients, a study's accuracy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import NotApplicableError
from milpscore.core.result import Result
from milpscore_show.plots import drawing
from milpscore_show.plots.drawing import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from milpscore.comparison import Comparison
    from milpscore_study.profiles import BoundCurves

_MARKERS = {"randomised": ("D", 7), "nearest": ("v", 9), "proximal": ("P", 9)}
_KINDS = {
    "exact": ("#000000", ""),
    "relaxed": ("#56B4E9", ""),
    "randomised": ("#E69F00", "////"),
    "nearest": ("#009E73", "...."),
    "proximal": ("#CC79A7", "xxxx"),
}
"""Colour and hatch of each realisation's bars."""


@drawing.styled
def comparison_figure(comparison: Comparison, *, max_columns: int = 12) -> Figure:
    """Bounds over time above, the coefficients of every formulation below.

    Parameters
    ----------
    comparison : Comparison
        From :func:`milpscore.compare`.
    max_columns : int
        Columns drawn for each formulation.

    Raises
    ------
    NotApplicableError
        Where it has no results.
    """
    known = drawing.results_of(comparison)
    formulations = list(
        dict.fromkeys(name for (name, _), result in known.items() if result.coefficients.size)
    )
    lower = max(-(-len(formulations) // 2), 1)
    figure = drawing.figure_of(None, 12.5, 4.2 + 4.8 * lower)
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


@drawing.styled
def bounds_over_time(results: Comparison | Results | Result, ax: Axes | None = None) -> Axes:
    """Best objective and proven bound of each exact solve, second by second.

    The solid line is the best card, the dashed line the bound, and the band between them what is
    still open. A dotted line is the LP's bound; a diamond and a triangle are the randomised and
    the nearest rounding, at the second they were ready.

    Parameters
    ----------
    results : Comparison, mapping, or Result
        What :func:`milpscore.compare` answers, its results, or one of them.

    Raises
    ------
    NotApplicableError
        Where there is nothing to draw.
    """
    known = drawing.results_of(results)
    ax = drawing.axes(ax)
    colours = _colours(known)
    drawn = [
        _draw_result(ax, kind, result, colours[name]) for (name, kind), result in known.items()
    ]
    if not any(drawn):
        raise NotApplicableError("no result has a card or a bound to draw: raise the time limit")
    drawing.plain_log(ax)
    ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
    ax.legend(handles=_legend_of_bounds(known), **drawing.LEGEND_BESIDE)
    return drawing.finish(ax, "Best card and proven bound", "seconds of solving", "objective")


def _colours(known: Results) -> dict[str, str]:
    """A colour for each formulation, in their order."""
    names = dict.fromkeys(name for name, _ in known)
    return {name: drawing.colour_of(k) for k, name in enumerate(names)}


def _draw_result(ax: Axes, kind: str, result: Result, colour: str) -> bool:
    """Steps of an exact solve, a line for a relaxation, a marker for a rounding; False for none."""
    if kind == "relaxed" and math.isfinite(result.dual_bound):
        ax.axhline(result.dual_bound, color=colour, linestyle=":", linewidth=1.2)
        return True
    if kind in _MARKERS and result.card is not None:
        marker, size = _MARKERS[kind]
        ax.plot(
            max(result.solve_seconds, drawing.EARLIEST), result.objective, marker=marker,
            markersize=size, color=colour, markeredgecolor="white", linestyle="none", zorder=3,
        )  # fmt: skip
        return True
    if kind != "exact":
        return False
    seconds, best, bound = drawing.bound_steps(result)
    if np.isnan(best).all() and np.isnan(bound).all():
        return False
    ax.step(seconds, best, where="post", color=colour, linewidth=2.0)
    ax.step(seconds, bound, where="post", color=colour, linewidth=1.6, linestyle="--")
    ax.fill_between(seconds, bound, best, step="post", color=colour, alpha=0.10, linewidth=0)
    ax.plot(seconds[-1], result.objective, marker="o", markersize=5, color=colour)
    return True


def _legend_of_bounds(known: Results) -> list[Any]:
    """Colours name formulations with their claims, styles name what a line is."""
    entries = []
    for name, colour in _colours(known).items():
        exact = known.get((name, "exact"))
        claim = "" if exact is None else f" ({exact.claim})"
        entries.append(
            drawing.legend_entry(drawing.spaced(name) + claim, color=colour, linewidth=4)
        )
    entries += drawing.legend_of_lines(linewidth=2.0, marker="o", markersize=5)
    kinds = {kind for _, kind in known}
    if "relaxed" in kinds:
        entries.append(drawing.legend_entry("LP bound", linewidth=1.2, linestyle=":"))
    for kind in (kind for kind in _MARKERS if kind in kinds):
        marker, size = _MARKERS[kind]
        entries.append(
            drawing.legend_entry(
                f"{kind} rounding", marker=marker, markersize=size, linestyle="none"
            )
        )
    return entries


# --- coefficients ---------------------------------------------------------------------------------


@drawing.styled
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
    formulation : str, optional
        Default: the first one that has coefficients.
    names : tuple of str, optional
        Names of the design columns; a comparison brings its own.
    max_columns : int
        Only ``most`` columns are drawn, those with the largest coefficients, in the design's
        order; the axis counts the others.

    Raises
    ------
    NotApplicableError
        Where the formulation is not among the results, or has no coefficients.
    """
    known = drawing.results_of(results)
    if names is None:
        names = getattr(results, "names", None)
    name, values = _coefficients_of(known, formulation)
    p = len(next(iter(values.values())))
    labels = list(names) if names is not None else [f"column {j + 1}" for j in range(p)]
    size = np.max(np.abs(list(values.values())), axis=0)
    used = np.flatnonzero(size > 1e-9)
    shown = np.sort(used[np.argsort(-size[used], kind="stable")[:max_columns]])
    ax = drawing.axes(ax)
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
    drawing.name_rows(ax, [labels[j] for j in shown], "no column has points")
    more = len(used) - len(shown)
    if shown.size:  # above the axes: bars may lie anywhere inside
        ax.legend(ncols=(len(values) + 1) // 2, **drawing.LEGEND_ABOVE)
    words = "coefficient (points)" + (f"\n{more} smaller ones not shown" if more else "")
    return drawing.finish(ax, f"{drawing.spaced(name)}: coefficients", words, "", pad=34)


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


# --- studies --------------------------------------------------------------------------------------

_STYLES = ("-", "--", "-.", ":")
_SHAPES = ("o", "s", "^", "D", "v", "X")


@drawing.styled
def study_figure(table: DataFrame) -> Figure:
    """Accuracy over terms, a panel for each data set.

    Parameters
    ----------
    table : DataFrame
        Of :func:`milpscore_study.study_table`.

    Raises
    ------
    NotApplicableError
        No solve is done yet.
    """
    done = table[table["status"] == "done"] if "data" in table else table[:0]
    names = list(dict.fromkeys(done["data"])) if len(done) else []
    if not names:
        raise NotApplicableError("no solve of this study is done: there is nothing to draw yet")
    figure, panels = _panels(None, len(names), (4.6, 3.6))
    for ax, name in zip(panels, names, strict=True):
        accuracy_over_terms(done[done["data"] == name], ax).set_title(
            drawing.wrapped(str(name), 44)
        )
    return figure


@drawing.styled
def accuracy_over_terms(table: DataFrame, ax: Axes | None = None) -> Axes:
    """Mean accuracy over mean terms, a point for each model and point of its grid.

    Parameters
    ----------
    table : DataFrame
        Rows of :func:`milpscore_study.study_table` of one data set. Rows held out are counted where
        there are folds, else the training rows; bars are the standard deviation over folds and
        seeds.
    ax : Axes, optional
    """
    ax = drawing.axes(ax)
    held_out = table[table["test_accuracy"].notna()]
    measure, rows = ("test_accuracy", held_out) if len(held_out) else ("train_accuracy", table)
    grid = [name for name in rows.columns if str(name).startswith("parameters.")]
    for k, (model, own) in enumerate(rows.groupby("model", sort=False)):
        points = own.groupby(grid, dropna=False, sort=True) if grid else own.groupby("model")
        terms = points["terms"].mean().astype(float)
        mean, spread = points[measure].mean(), points[measure].std().fillna(0.0)
        order = terms.to_numpy().argsort(kind="stable")
        line, shape = _STYLES[k % len(_STYLES)], _SHAPES[k % len(_SHAPES)]
        ax.errorbar(
            terms.to_numpy()[order], mean.to_numpy()[order], yerr=spread.to_numpy()[order],
            color=drawing.colour_of(k), linestyle=line, marker=shape,
            markersize=max(10 - 3 * k, 4), linewidth=1, capsize=2, label=str(model),
        )  # fmt: skip
    words = "accuracy on held-out rows" if len(held_out) else "accuracy on training rows"
    drawing.in_whole_numbers(ax.xaxis)
    ax.legend()
    return drawing.finish(ax, "", "terms", words)


@drawing.styled
def performance_profile(profile: DataFrame, ax: Axes | None = None) -> Axes:
    """Draw a performance or data profile as steps, over a logarithmic axis.

    Parameters
    ----------
    profile : DataFrame
        Of :func:`milpscore_study.performance_profile` or :func:`milpscore_study.data_profile`.

    Raises
    ------
    NotApplicableError
        No solver solved any problem.
    """
    ratios = profile.index.name == "tau"
    shares = profile.loc[profile.index > 0]
    if shares.empty or not (shares.to_numpy() > 0).any():
        raise NotApplicableError("no solver solved any problem: raise the time limit")
    ax = drawing.axes(ax)
    reach = float(shares.index[-1])
    end = reach * max(1.05, (reach / float(shares.index[0])) ** 0.05)
    for k, name in enumerate(shares.columns):
        ax.step(
            [*shares.index, end], [*shares[name], shares[name].iloc[-1]], where="post",
            color=drawing.colour_of(k), linestyle=_STYLES[k // len(drawing.PALETTE) % len(_STYLES)],
            linewidth=1.8, label=drawing.spaced(str(name)),
        )  # fmt: skip
    ax.set_xlim(float(shares.index[0]), end)
    drawing.plain_log(ax, 2.0 if ratios else 10.0)
    ax.set_ylim(0.0, 1.03)
    ax.legend(**drawing.LEGEND_BESIDE)
    title = "Performance profile" if ratios else "Data profile"
    words = "ratio to the best solver" if ratios else "budget"
    return drawing.finish(ax, title, words, "share of problems solved")


@drawing.styled
def profiles_figure(profiles: Mapping[str, DataFrame], figure: Figure | None = None) -> Figure:
    """Performance profiles side by side.

    Parameters
    ----------
    profiles : mapping from name, or none, to DataFrame
        Of :func:`milpscore_study.performance_profile`; one without any proof is left out.

    Raises
    ------
    NotApplicableError
        No solver solved any problem.
    """
    shown = {name: each for name, each in profiles.items() if (each.to_numpy() > 0).any()}
    if not shown:
        raise NotApplicableError("no solver solved any problem: raise the time limit")
    figure, panels = _panels(figure, len(shown), (6.2, 3.4))
    for ax, (name, profile) in zip(panels, shown.items(), strict=True):
        performance_profile(profile, ax)
        ax.set_title(f"{drawing.spaced(name)}: time to a proof" if name else "Time to a proof")
    return figure


@drawing.styled
def bound_curves(curves: BoundCurves, figure: Figure | None = None) -> Figure:
    """Best objective and bound over time, one panel a set: the median and range over the seeds.

    Solid lines are the best card, dashed ones the bound; the bands hold all seeds.

    Parameters
    ----------
    curves : BoundCurves
        Of :func:`milpscore_study.bound_curves`.
    """
    return _over_time(curves, figure, {"objective": "-", "bound": "--"}, "objective")


@drawing.styled
def gap_curves(curves: BoundCurves, figure: Figure | None = None) -> Figure:
    """What is open between best card and bound over time, one panel a set.

    The gap is |card - bound| / max(|card|, |bound|), all of it while one of them is missing. Lines
    are medians over the seeds, bands hold all of them.

    Parameters
    ----------
    curves : BoundCurves
        Of :func:`milpscore_study.bound_curves`.
    """
    figure = _over_time(curves, figure, {"gap": "-"}, "gap")
    for ax in figure.axes:
        ax.set_ylim(-0.02, 1.02)
        drawing.in_percent(ax.yaxis)
    return figure


@drawing.styled
def race_figure(profiles: Mapping[str, DataFrame], curves: BoundCurves) -> Figure:
    """Performance profiles of a race, one per formulation, above its bounds over time.

    Parameters
    ----------
    profiles : mapping from formulation to DataFrame
        Of :func:`milpscore_study.performance_profile`; one without any proof is left out.
    curves : BoundCurves
        Of :meth:`milpscore_study.Race.curves`.
    """
    shown = sum(bool((each.to_numpy() > 0).any()) for each in profiles.values())
    if not shown:
        return bound_curves(curves)
    sets = curves.curves["set"].nunique()
    above, below = 3.4, 3.0 * -(-sets // _across(sets)) + 0.6
    figure = drawing.figure_of(None, max(4.2 * _across(sets), 6.2 * shown), above + below)
    parts: Any = figure.subfigures(2, 1, height_ratios=[above, below])
    profiles_figure(profiles, parts[0])
    bound_curves(curves, parts[1])
    return figure


def _across(count: int) -> int:
    """So many of these panels stand side by side."""
    return 2 if count == 4 else min(3, count)


def _panels(
    figure: Figure | None, count: int, size: tuple[float, float], more: float = 0.0
) -> tuple[Figure, list[Axes]]:
    """So many panels of a size, in rows of three at most; no others are left in the figure."""
    across = _across(count)
    down = -(-count // across)
    figure = drawing.figure_of(figure, size[0] * across, size[1] * down + more)
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for ax in panels[count:]:
        ax.remove()
    return figure, list(panels[:count])


def _over_time(
    curves: BoundCurves, figure: Figure | None, lines: Mapping[str, str], words: str
) -> Figure:
    """Columns of the curves in their styles, a panel a set: medians, and bands over all seeds."""
    sets = list(curves.curves["set"].unique())
    formulations = list(curves.curves["formulation"].unique())
    figure, panels = _panels(figure, len(sets), (4.2, 3.0), 0.6)
    seen = curves.curves[np.isfinite(curves.curves["objective_low"])]["seconds"]
    first = min(float(seen.min()), curves.horizon / 10) if len(seen) else curves.horizon / 10
    for ax, data in zip(panels, sets, strict=True):
        part = curves.curves[curves.curves["set"] == data]
        for k, name in enumerate(formulations):
            _draw_curves(ax, part[part["formulation"] == name], drawing.colour_of(k), lines)
        ax.set_xlim(first, curves.horizon)
        drawing.plain_log(ax)
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
        ax.set_title(drawing.wrapped(drawing.spaced(data), 44), fontsize="medium")
        drawing.tidy(ax)
    across = _across(len(sets))
    for ax in panels[max(0, len(sets) - across) :]:
        ax.set_xlabel("seconds of solving")
    for ax in panels[::across]:
        ax.set_ylabel(words)
    entries = [
        drawing.legend_entry(drawing.spaced(name), color=drawing.colour_of(k), linewidth=4)
        for k, name in enumerate(formulations)
    ]
    entries += drawing.legend_of_lines() if len(lines) > 1 else []
    figure.legend(handles=entries, loc="outside lower center", ncols=6)
    return figure


def _draw_curves(ax: Axes, steps: DataFrame, colour: str, lines: Mapping[str, str]) -> None:
    """One formulation: its lines with their bands."""
    seconds = steps["seconds"].to_numpy()
    for name, style in lines.items():
        # what is not finite leaves a gap in the line
        part = steps[[name, f"{name}_low", f"{name}_high"]].replace([np.inf, -np.inf], np.nan)
        line, low, high = part.to_numpy(dtype=float).T
        ax.step(seconds, line, where="post", color=colour, linestyle=style, linewidth=1.6)
        ax.fill_between(seconds, low, high, step="post", color=colour, alpha=0.12, linewidth=0)
