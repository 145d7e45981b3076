"""Penalties: their level sets, prox, path, and the grid of Facets models as heat maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.statement import ProxPenalty
from milpscore_show.plots import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from milpscore.proximal import FacetsGrid, ProximalPath

_TITLES = {
    "cv_accuracy": "CV accuracy",
    "cv_auc": "CV area under the curve",
    "integrity": "Integrity: share of whole coefficients",
    "magnitude": "Magnitude: sum of |w|",
    "terms": "Terms",
    "loss": "Training loss",
    "objective": "Objective",
    "gap": "Relative duality gap",
}


# --- shapes ---------------------------------------------------------------------------------------


@drawing.styled
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

    Raises
    ------
    OptionError
        For a limit that is not positive, or a penalty that does not take two coefficients.

    References
    ----------
    Belahcene et al. (2020), Figure 1; Wang et al., "Learning credible models" (2018), Figure 2.
    """
    if not (np.isfinite(limit) and limit > 0):
        raise OptionError(f"limit={limit!r}; use a positive number, say 3")
    if penalties is None:
        from milpscore.penalties import EYE, Facets, NaiveCredibility

        known = np.array([1.0, 0.0])
        penalties = {
            "Facets": Facets(1.0),
            "EYE, w1 known": EYE(1.0, expert=known),
            "naive, w1 known, beta 0.5": NaiveCredibility(1.0, expert=known, beta=0.5),
        }
    x = np.linspace(-limit, limit, 161)
    pairs = np.stack(np.meshgrid(x, x), axis=-1)
    figure = drawing.figure_of(figure, 3.6 * len(penalties), 3.9)
    panels = np.atleast_1d(figure.subplots(1, len(penalties), sharey=True))
    for panel, (title, penalty) in zip(panels, penalties.items(), strict=True):
        values = np.apply_along_axis(penalty.value, 2, pairs)
        edge = float(penalty.value(np.array([0.0, limit])))
        edge = min(edge, float(penalty.value(np.array([limit, 0.0]))))
        unit = float(penalty.value(np.array([1.0, 0.0])))
        levels = edge * np.linspace(0.0, 1.0, 8)[1:]
        panel.contour(x, x, values, levels=levels, colors=drawing.PALETTE[0], linewidths=0.9)
        if 0 < unit < values.max():
            panel.contour(x, x, values, levels=[unit], colors=drawing.PALETTE[1], linewidths=2.2)
        panel.axhline(0, color="0.85", linewidth=0.7, zorder=0)
        panel.axvline(0, color="0.85", linewidth=0.7, zorder=0)
        panel.set_aspect("equal")
        panel.set_title(title, fontsize="medium")
        panel.set_xlabel("w1")
    panels[0].set_ylabel("w2")
    return figure


@drawing.styled
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
    step : float
        Positive.
    limit : float
        Positive.

    Raises
    ------
    NotApplicableError
        For a penalty that is not a sum over the coefficients.
    OptionError
        For a limit that is not positive.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker (2020), Figure 2.
    """
    if not (np.isfinite(limit) and limit > 0):
        raise OptionError(f"limit={limit!r}; use a positive number, say 4")
    if penalties is None:
        from milpscore.penalties import L1, L2, Facets

        penalties = {"Facets": Facets(1.0), "L1": L1(1.0), "L2": L2(1.0)}
    for label, penalty in penalties.items():
        if not penalty.separable:
            raise NotApplicableError(
                f"the penalty {label!r} is not a sum over coefficients, so it has no curve: draw "
                "its level_sets"
            )
    ax = drawing.axes(ax)
    x = np.linspace(-limit, limit, 2001)
    for level in range(-int(limit), int(limit) + 1):
        ax.axhline(level, color="0.92", linewidth=0.7, zorder=0)
    ax.plot(x, x, color="0.6", linewidth=0.9, linestyle=":", label="no penalty")
    for k, (label, penalty) in enumerate(penalties.items()):
        ax.plot(
            x, penalty.prox(x, step), label=label,
            color=drawing.PALETTE[k % len(drawing.PALETTE)], linewidth=1.8,
            linestyle=("-", "--", "-.", (0, (1, 1)))[k % 4],
        )  # fmt: skip
    ax.set_aspect("equal")
    ax.set(xlim=(-limit, limit), ylim=(-limit, limit))
    ax.legend(loc="upper left")
    words = "prox of the penalty" if step == 1 else f"prox of {step:g} times the penalty"
    return drawing.finish(ax, "Proximity operators", "x", words)


# --- paths and grids ------------------------------------------------------------------------------


@drawing.styled
def regularisation_path(
    path: ProximalPath,
    ax: Axes | None = None,
    *,
    names: Sequence[str] | None = None,
    unit: float | None = None,
    max_labels: int = 12,
) -> Axes:
    """Draw every coefficient over lam, the penalty growing weaker to the right.

    Parameters
    ----------
    path : ProximalPath
        From :func:`milpscore.proximal.path`.
    names : sequence of str, optional
        Names of the columns, of length p.
    unit : float, optional
        Draw the levels of a coefficient grid, say ``gamma`` of the Facets penalty.
    max_labels : int
        The columns with the largest coefficients are coloured and labelled, the others grey.

    Raises
    ------
    NotApplicableError
        For the paths of a multinomial loss: draw one class at a time.
    OptionError
        For names of another number.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker (2020), Figure 3, right.
    """
    w = path.coefficients
    if w.ndim != 2:
        raise NotApplicableError(
            "a multinomial path has coefficients by class: draw one class k at a time, "
            "dataclasses.replace(path, coefficients=path.coefficients[:, :, k])"
        )
    labels = list(names) if names is not None else [f"column {j + 1}" for j in range(w.shape[1])]
    if len(labels) != w.shape[1]:
        raise OptionError(f"{len(labels)} names for {w.shape[1]} columns: give one each")
    ax = drawing.axes(ax)
    size = np.abs(w).max(axis=0)
    used = np.flatnonzero(size > 0)
    leading = used[np.argsort(-size[used], kind="stable")[:max_labels]]
    for j in np.setdiff1d(used, leading):
        ax.plot(path.lams, w[:, j], color="0.75", linewidth=0.8, zorder=1)
    style = {}
    for rank, j in enumerate(leading.tolist()):
        line = ("-", "--", ":")[(rank // len(drawing.PALETTE)) % 3]
        style[j] = drawing.PALETTE[rank % len(drawing.PALETTE)]
        ax.plot(path.lams, w[:, j], color=style[j], linestyle=line, linewidth=1.6, label=labels[j])
    ax.axhline(0, color="0.3", linewidth=0.8, zorder=0)
    if path.lams[-1] > 0:  # lam = 0 has no logarithm
        ax.set_xscale("log")
    if len(path.lams) > 1:
        ax.set_xlim(path.lams[0], path.lams[-1])
    ax.margins(y=0.06)
    if unit is not None:
        _draw_levels(ax, w, unit)
    _label_ends(ax, w[-1], leading.tolist(), labels, style)
    rest = len(used) - len(leading)
    words = "lam" + (f"\n{rest} smaller columns in grey" if rest else "")
    return drawing.finish(ax, "Regularisation path", words, "coefficient")


def _draw_levels(ax: Axes, w: FloatArray, unit: float) -> None:
    """The grid's levels as ticks and lines, where they can be told apart."""
    low, high = np.floor(w.min() / unit), np.ceil(w.max() / unit)
    if high - low > 24:
        return
    shown = ax.get_ylim()
    levels = np.arange(low, high + 1) * unit
    for level in levels:
        ax.axhline(level, color="0.8", linewidth=0.7, zorder=0)
    ax.set_yticks(levels)
    ax.set_ylim(shown)


def _label_ends(
    ax: Axes, ends: FloatArray, leading: list[int], labels: list[str], style: dict[int, str]
) -> None:
    """Names beside the lines' right ends, moved apart where lines end close together."""
    if not leading:
        return
    from scipy.optimize import isotonic_regression

    low, high = ax.get_ylim()
    order = sorted(leading, key=lambda j: ends[j])
    least = (high - low) * 0.045
    texts = [drawing.wrapped(labels[j], 28) for j in order]
    tall = least * np.array([1 + text.count("\n") for text in texts])
    # as near the ends as names of these heights can stand: least squares over ascending places
    centre = np.cumsum(tall) - 0.5 * tall
    at = isotonic_regression(ends[order] - centre).x + centre
    for j, text, height in zip(order, texts, at.tolist(), strict=True):
        ax.annotate(
            text, xy=(1.0, ends[j]), xytext=(1.02, height),
            xycoords=("axes fraction", "data"), textcoords=("axes fraction", "data"),
            color=style[j], fontsize="small", va="center", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": style[j], "linewidth": 0.5,
                        "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip


@drawing.styled
def facets_heat_maps(
    grid: FacetsGrid, *, measures: Sequence[str] | None = None, figure: Figure | None = None
) -> Figure:
    """Draw measures of every model of the grid side by side.

    Parameters
    ----------
    grid : FacetsGrid
        From :func:`milpscore.proximal.facets_grid`.
    measures : sequence of str, optional
        Columns of its table; by default the cross-validated accuracy (the training loss where the
        grid was made without ``cv``), the integrity and the number of terms.

    Raises
    ------
    NotApplicableError
        For a measure the table does not have.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker (2020), Figure 3.
    """
    first = "cv_accuracy" if "cv_accuracy" in grid.table else "loss"
    chosen = (first, "integrity", "terms") if measures is None else tuple(measures)
    figure = drawing.figure_of(figure, 4.6 * len(chosen), 4.0)
    panels = np.atleast_1d(figure.subplots(1, len(chosen), sharey=True))
    for k, (measure, panel) in enumerate(zip(chosen, panels, strict=True)):
        heat_map(grid, measure, panel)
        if k:
            panel.set_ylabel("")
    return figure


@drawing.styled
def heat_map(grid: FacetsGrid, measure: str, ax: Axes | None = None) -> Axes:
    """Draw a measure of every model over gamma and alpha, with a colour bar; null models are grey.

    Parameters
    ----------
    grid : FacetsGrid
    measure : str
        A column of the grid's table.

    Raises
    ------
    NotApplicableError
        For a measure the table does not have.
    """
    from matplotlib.ticker import MaxNLocator

    if measure not in grid.table:
        hint = " (pass cv= to facets_grid)" if measure.startswith("cv_") else ""
        known = ", ".join(str(name) for name in grid.table.columns)
        raise NotApplicableError(f"the grid has no {measure!r}{hint}; it has {known}")
    ax = drawing.axes(ax)
    values = np.ma.masked_where(grid.heat_map("null") > 0, grid.heat_map(measure))
    low, high = _range(measure, values)
    bar = drawing.draw_map(ax, grid.gammas, grid.alphas, values, (low, high))
    ax.set_xlabel("gamma, the unit of the coefficients")
    ax.set_ylabel("alpha = lam / gamma")
    ax.set_title(_TITLES.get(measure, measure.replace("_", " ")), fontsize="medium")
    if measure == "terms":
        bar.locator = MaxNLocator(integer=True)
        bar.update_ticks()
    return ax


def _range(measure: str, values: Any) -> tuple[float | None, float | None]:
    """Ends of the colour scale; None leaves them to the values."""
    if measure == "integrity":
        return 0.0, 1.0
    if not values.count():
        return None, None
    if values.min() == values.max():
        return float(values.min()) - 0.5, float(values.max()) + 0.5
    if measure.startswith("cv_"):
        return max(float(values.min()), float(values.max()) - 0.1), float(values.max())
    return None, None
