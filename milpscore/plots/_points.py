"""Coefficients of one formulation, exact, relaxed and rounded side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import NotApplicableError
from milpscore.core.result import Result
from milpscore.plots.drawing import Results, axes, results_of, short, spaced, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from milpscore.comparison import Comparison

_KIND_COLOURS = {
    "exact": "#000000",
    "relaxed": "#56B4E9",
    "randomised": "#E69F00",
    "nearest": "#009E73",
    "proximal": "#CC79A7",
}
_KIND_HATCHES = {
    "exact": "",
    "relaxed": "",
    "randomised": "////",
    "nearest": "....",
    "proximal": "xxxx",
}


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
    from matplotlib.ticker import MaxNLocator

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
    ax.set_yticks(at, [short(labels[j]) for j in shown])
    ax.set_ylim(max(len(shown), 1) - 0.5, -0.5)
    more = len(used) - len(shown)
    ax.set_xlabel("coefficient (points)" + (f"\n{more} smaller ones not shown" if more else ""))
    ax.set_title(f"{spaced(name)}: coefficients", loc="left", pad=34)
    if shown.size:  # above the axes: bars may lie anywhere inside
        ax.legend(
            frameon=False, fontsize="small", ncols=(len(values) + 1) // 2,
            columnspacing=1.2, handlelength=1.4,
            loc="lower left", bbox_to_anchor=(0.0, 0.995), borderaxespad=0.2, borderpad=0.0,
        )  # fmt: skip
    else:
        ax.set_xlim(-1, 1)
        ax.text(0.05, 0.0, "no column has points", va="center")
    tidy(ax)
    return ax


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
