"""Many solves: accuracy over terms of a study, performance profiles, and bounds over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from milpscore.core.errors import NotApplicableError
from milpscore.plots.drawing import (
    LEGEND,
    PALETTE,
    axes as current,
    finish,
    legend_of_lines,
    spaced,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from milpscore.study.profiles import BoundCurves

_STYLES = ("-", "--", "-.", ":")
_ACROSS = 3
_PANEL = (4.6, 3.6)
_SIZE = (4.2, 3.0)


def study_figure(table: DataFrame) -> Figure:
    """Accuracy over terms, a panel for each data set.

    Parameters
    ----------
    table : DataFrame
        Of :func:`milpscore.study.study_table`.

    Returns
    -------
    Figure

    Raises
    ------
    NotApplicableError
        No solve is done yet.
    """
    import matplotlib.pyplot as plt

    done = table[table["status"] == "done"] if "data" in table else table[:0]
    names = list(dict.fromkeys(done["data"])) if len(done) else []
    if not names:
        raise NotApplicableError("no solve of this study is done: there is nothing to draw yet")
    wide = min(len(names), _ACROSS)
    high = -(-len(names) // wide)
    size = (_PANEL[0] * wide, _PANEL[1] * high)
    figure, axes = plt.subplots(high, wide, figsize=size, squeeze=False, layout="constrained")
    for ax, name in zip(axes.flat, names, strict=False):
        accuracy_over_terms(done[done["data"] == name], ax).set_title(name, loc="left")
    for ax in axes.flat[len(names) :]:
        ax.remove()
    return figure


def accuracy_over_terms(table: DataFrame, ax: Axes | None = None) -> Axes:
    """Mean accuracy over mean terms, a point for each model and point of its grid.

    Parameters
    ----------
    table : DataFrame
        Rows of :func:`milpscore.study.study_table` of one data set. Rows held out are counted where
        there are folds, else the training rows; bars are the standard deviation over folds and
        seeds.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    ax = current(ax)
    held_out = table[table["test_accuracy"].notna()]
    measure, rows = ("test_accuracy", held_out) if len(held_out) else ("train_accuracy", table)
    grid = [name for name in rows.columns if str(name).startswith("parameters.")]
    for model, own in rows.groupby("model", sort=False):
        points = own.groupby(grid, dropna=False, sort=True) if grid else own.groupby("model")
        terms = points["terms"].mean().astype(float)
        mean, spread = points[measure].mean(), points[measure].std().fillna(0.0)
        order = terms.to_numpy().argsort(kind="stable")
        ax.errorbar(
            terms.to_numpy()[order], mean.to_numpy()[order], yerr=spread.to_numpy()[order],
            marker="o", markersize=4, linewidth=1, capsize=2, label=str(model),
        )  # fmt: skip
    words = "accuracy on held-out rows" if len(held_out) else "accuracy on training rows"
    ax.set(xlabel="terms", ylabel=words)
    ax.legend(**LEGEND)
    return ax


def performance_profile(profile: DataFrame, ax: Axes | None = None) -> Axes:
    """Draw a performance or data profile as steps, over a logarithmic axis.

    Parameters
    ----------
    profile : DataFrame
        Of :func:`milpscore.study.performance_profile` or :func:`milpscore.study.data_profile`.
    ax : Axes, optional
        Default: the current one.

    Returns
    -------
    Axes

    Raises
    ------
    NotApplicableError
        No solver solved any problem.
    """
    ratios = profile.index.name == "tau"
    shares = profile.loc[profile.index > 0]
    if shares.empty or not (shares.to_numpy() > 0).any():
        raise NotApplicableError("no solver solved any problem: raise the time limit")
    ax = current(ax)
    reach = float(shares.index[-1])
    end = reach * max(1.05, (reach / float(shares.index[0])) ** 0.05)
    for k, name in enumerate(shares.columns):
        ax.step(
            [*shares.index, end], [*shares[name], shares[name].iloc[-1]], where="post",
            color=PALETTE[k % len(PALETTE)], linestyle=_STYLES[k // len(PALETTE) % len(_STYLES)],
            linewidth=1.8, label=spaced(str(name)),
        )  # fmt: skip
    ax.set_xscale("log", base=2 if ratios else 10)
    ax.set_xlim(float(shares.index[0]), end)
    ax.set_ylim(0.0, 1.03)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), **LEGEND)
    title = "Performance profile" if ratios else "Data profile"
    words = "ratio to the best solver" if ratios else "budget"
    return finish(ax, title, words, "share of problems solved")


def bound_curves(curves: BoundCurves, figure: Figure | None = None) -> Figure:
    """Best objective and bound over time, one panel a set: the median and range over the seeds.

    Solid lines are the best card, dashed ones the bound; the bands hold all seeds.

    Parameters
    ----------
    curves : BoundCurves
        Of :func:`milpscore.study.bound_curves`.
    figure : Figure, optional
        Default: a new one.

    Returns
    -------
    Figure
    """
    import matplotlib.pyplot as plt

    sets = list(curves.curves["set"].unique())
    formulations = list(curves.curves["formulation"].unique())
    across = min(_ACROSS, len(sets))
    down = -(-len(sets) // across)
    if figure is None:
        size = (_SIZE[0] * across, _SIZE[1] * down + 0.6)
        figure = plt.figure(figsize=size, layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    seen = curves.curves[np.isfinite(curves.curves["objective_low"])]["seconds"]
    first = min(float(seen.min()), curves.horizon / 10) if len(seen) else curves.horizon / 10
    for ax, data in zip(panels, sets, strict=False):
        part = curves.curves[curves.curves["set"] == data]
        for k, name in enumerate(formulations):
            _draw(ax, part[part["formulation"] == name], PALETTE[k % len(PALETTE)])
        ax.set_xscale("log")
        ax.set_xlim(first, curves.horizon)
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
        ax.set_title(spaced(data), loc="left", fontsize="medium")
        tidy(ax)
    for ax in panels[len(sets) :]:
        ax.set_visible(False)
    for ax in panels[max(0, len(sets) - across) : len(sets)]:
        ax.set_xlabel("seconds of solving")
    for ax in panels[: len(sets) : across]:
        ax.set_ylabel("objective")
    _legend(figure, formulations)
    return figure


def _draw(ax: Axes, steps: DataFrame, colour: str) -> None:
    """One formulation: two lines with their bands."""
    seconds = steps["seconds"].to_numpy()
    for name, style in (("objective", "-"), ("bound", "--")):
        # what is not finite leaves a gap in the line
        part = steps[[name, f"{name}_low", f"{name}_high"]].replace([np.inf, -np.inf], np.nan)
        line, low, high = part.to_numpy(dtype=float).T
        ax.step(seconds, line, where="post", color=colour, linestyle=style, linewidth=1.6)
        ax.fill_between(seconds, low, high, step="post", color=colour, alpha=0.12, linewidth=0)


def _legend(figure: Figure, formulations: list[str]) -> None:
    from matplotlib.lines import Line2D

    entries = [
        Line2D([], [], color=PALETTE[k % len(PALETTE)], linewidth=4, label=spaced(name))
        for k, name in enumerate(formulations)
    ]
    entries += legend_of_lines()
    figure.legend(handles=entries, loc="outside lower center", ncols=6, **LEGEND)
