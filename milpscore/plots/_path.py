"""A regularisation path: coefficients as the penalty's weight falls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.plots.drawing import PALETTE, axes, short, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from milpscore.proximal import ProximalPath

_STYLES = ("-", "--", ":")
_MOST_LEVELS = 24
_LABEL_HEIGHT = 0.045


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
    ax : Axes, optional
        Default: the current one.
    names : sequence of str, optional
        Names of the columns, of length p.
    unit : float, optional
        Draw the levels of a coefficient grid, say ``gamma`` of the Facets penalty.
    max_labels : int
        The columns with the largest coefficients are coloured and labelled, the others grey.

    Returns
    -------
    Axes

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
    ax = axes(ax)
    size = np.abs(w).max(axis=0)
    used = np.flatnonzero(size > 0)
    leading = used[np.argsort(-size[used], kind="stable")[:max_labels]]
    for j in np.setdiff1d(used, leading):
        ax.plot(path.lams, w[:, j], color="0.75", linewidth=0.8, zorder=1)
    style = {}
    for rank, j in enumerate(leading.tolist()):
        line = _STYLES[(rank // len(PALETTE)) % len(_STYLES)]
        style[j] = PALETTE[rank % len(PALETTE)]
        ax.plot(path.lams, w[:, j], color=style[j], linestyle=line, linewidth=1.6, label=labels[j])
    ax.axhline(0, color="0.3", linewidth=0.8, zorder=0)
    _scale(ax, path.lams)
    if unit is not None:
        _draw_levels(ax, w, unit)
    _label_ends(ax, w[-1], leading.tolist(), labels, style)
    rest = len(used) - len(leading)
    ax.set_xlabel("lam" + (f"\n{rest} smaller columns in grey" if rest else ""))
    ax.set_ylabel("coefficient")
    ax.set_title("Regularisation path", loc="left")
    tidy(ax)
    return ax


def _scale(ax: Axes, lams: FloatArray) -> None:
    """Weaker penalties to the right; lam = 0 has no logarithm."""
    if lams[-1] > 0:
        ax.set_xscale("log")
    if len(lams) > 1:
        ax.set_xlim(lams[0], lams[-1])
    ax.margins(y=0.06)


def _draw_levels(ax: Axes, w: FloatArray, unit: float) -> None:
    """The grid's levels as ticks and lines, where they can be told apart."""
    low, high = np.floor(w.min() / unit), np.ceil(w.max() / unit)
    if high - low > _MOST_LEVELS:
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
    low, high = ax.get_ylim()
    order = sorted(leading, key=lambda j: ends[j])
    least = (high - low) * _LABEL_HEIGHT
    at = ends[order].copy()
    for k in range(1, len(at)):
        at[k] = max(at[k], at[k - 1] + least)
    # the stack grew upwards: half of that back centres it on the lines
    at -= 0.5 * float((at - ends[order]).max())
    for j, height in zip(order, at.tolist(), strict=True):
        ax.annotate(
            short(labels[j], 28), xy=(1.0, ends[j]), xytext=(1.02, height),
            xycoords=("axes fraction", "data"), textcoords=("axes fraction", "data"),
            color=style[j], fontsize="small", va="center", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": style[j], "linewidth": 0.5,
                        "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
