"""How a card's totals part the classes: ROC curve, decision curve, rows at each total."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from milpscore.core.design import BoolArray, FloatArray
from milpscore.core.errors import DataError
from milpscore.data.checking import row_weights
from milpscore.metrics import net_benefit
from milpscore.scorecard.certified import round_up
from milpscore_show.plots import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_BINS = 40
_RISKS = np.linspace(0.005, 0.99, 198)


@drawing.styled
def roc_curve(
    y: npt.ArrayLike,
    totals: npt.ArrayLike,
    ax: Axes | None = None,
    *,
    weight: npt.ArrayLike | None = None,
    threshold: float | None = None,
    label: str = "",
    **line: Any,
) -> Axes:
    """Sensitivity against one minus specificity over all thresholds; straight lines halve ties.

    Parameters
    ----------
    y : array-like, shape (n,)
        Classes, positive where > 0; both must be there.
    totals : array-like, shape (n,)
        ``card.score(X)``, or any score.
    ax : Axes, optional
        Default: the current one. A second curve on the same Axes leaves out the line of chance.
    weight : array-like, shape (n,), optional
    threshold : float, optional
        Mark what the card does: positive from this total on.
    label : str
        For the legend; the area is put beside it.
    **line
        As in :meth:`matplotlib.axes.Axes.plot`.

    Raises
    ------
    DataError
        A class is missing, or the lengths differ.
    """
    from sklearn.metrics import auc, roc_curve

    positive, score, mass = _rows(y, totals, weight)
    false, true, _ = roc_curve(positive, score, sample_weight=mass, drop_intermediate=False)
    ax = drawing.axes(ax)
    if not ax.lines:
        ax.plot([0, 1], [0, 1], color="0.55", linewidth=1, linestyle=":")
    if label:
        label = f"{label}: area {auc(false, true):.3f}"
    ax.plot(false, true, **{"linewidth": 1.6, **line}, label=label or None)
    if threshold is not None:
        acted = mass * (score >= threshold)
        at = [acted[side].sum() / mass[side].sum() for side in (~positive, positive)]
        ax.plot(*at, "o", color=drawing.PALETTE[1], markeredgecolor="white", zorder=3)
    drawing.in_percent(ax.xaxis, ax.yaxis)
    if label:
        ax.legend(loc="lower right")
    return drawing.finish(ax, "ROC curve", "1 \u2212 specificity", "sensitivity")


@drawing.styled
def decision_curve(
    y: npt.ArrayLike,
    risk: npt.ArrayLike,
    ax: Axes | None = None,
    *,
    weight: npt.ArrayLike | None = None,
    label: str = "",
    **line: Any,
) -> Axes:
    """Net benefit of acting by stated risks, on everybody and on nobody.

    Parameters
    ----------
    y : array-like, shape (n,)
        Classes, positive where > 0; both must be there.
    risk : array-like, shape (n,)
        Stated risks; 0 and 1 of a card that only decides.
    ax : Axes, optional
        Default: the current one; further cards may be drawn on it.
    weight : array-like, shape (n,), optional
    label : str
        For the legend.
    **line
        As in :meth:`matplotlib.axes.Axes.plot`.

    Raises
    ------
    DataError
        A class is missing, or the lengths differ.

    References
    ----------
    Vickers & Elkin, "Decision curve analysis", Medical Decision Making 26 (2006).
    """
    positive, stated, mass = _rows(y, risk, weight)
    ax = drawing.axes(ax)
    known = [np.asarray(each.get_ydata(), dtype=np.float64) for each in ax.lines]
    most = ax.get_xlim()[1] if known else 0.0
    if not known:
        ax.axhline(0, color="0.1", linewidth=0.8, label="act on nobody" if label else None)
    own = net_benefit(positive, stated, _RISKS, mass)
    every = net_benefit(positive, np.ones(len(mass)), _RISKS, mass)
    (drawn,) = ax.plot(_RISKS, own, **{"linewidth": 1.6, **line}, label=label or None)
    ax.plot(
        _RISKS, every, color=drawn.get_color(), linewidth=1, linestyle=":",
        label="act on everybody" if label and not known else None,
    )  # fmt: skip
    top = max(float(each.max()) for each in (own, every, *known))
    ax.set_xlim(0, max(most, min(1.15 * float(stated.max()), 1.0)))
    ax.set_ylim(-0.25 * top, 1.08 * top)
    drawing.in_percent(ax.xaxis)
    if label:
        ax.legend(ncols=3, **drawing.LEGEND_ABOVE)
    pad = 22 if label else None
    return drawing.finish(
        ax, "Decision curve", "risk from which one would act", "net benefit", pad=pad
    )


@drawing.styled
def totals_by_class(
    y: npt.ArrayLike,
    totals: npt.ArrayLike,
    ax: Axes | None = None,
    *,
    counts: npt.ArrayLike | None = None,
    threshold: float | None = None,
    labels: tuple[str, str] | None = ("negative", "positive"),
) -> Axes:
    """Rows at each total, the positive upwards and the negative downwards.

    Parameters
    ----------
    y : array-like, shape (n,)
        Classes, positive where > 0.
    totals : array-like, shape (n,)
        ``card.score(X)``. Where they are many they are put together in bins of equal width, of
        which none straddles the threshold.
    counts : array-like, shape (n,), optional
        Rows that each stands for; default 1.
    threshold : float, optional
        The card answers positive from this total on: a dashed line below it.
    labels : (str, str) or None
        Of the negative and the positive class; None leaves out the legend.

    Raises
    ------
    DataError
        There are no rows, or the lengths differ.
    """
    positive, total, rows = _rows(y, totals, counts, both=False)
    edges = _edges(np.unique(total), threshold)
    width, middle = np.diff(edges), (edges[1:] + edges[:-1]) / 2
    place = np.clip(np.searchsorted(edges, total + 1e-9, side="right") - 1, 0, len(middle) - 1)
    below, above = (
        np.bincount(place[side], weights=rows[side], minlength=len(middle))
        for side in (~positive, positive)
    )
    ax = drawing.axes(ax)
    names = labels or (None, None)
    ax.bar(middle, above, 0.84 * width, color=drawing.PALETTE[1], label=names[1])
    # hollow bars differ from full ones in black and white
    hollow: dict[str, Any] = {
        "facecolor": "white",
        "edgecolor": drawing.PALETTE[0],
        "linewidth": 1.2,
    }
    ax.bar(middle, -below, 0.84 * width, **hollow, label=names[0])
    ax.axhline(0, color="0.1", linewidth=0.8)
    if threshold is not None:
        at = drawing.cut_places(np.unique(total), np.array([threshold]), edges)
        ax.axvline(
            at[0], color="0.1", linewidth=1.2, linestyle="--", label="threshold" if labels else None
        )
    most = 1.15 * max(above.max(), below.max(), 1)
    ax.set_xlim(edges[0], edges[-1])
    ax.set_ylim(-most, most)
    drawing.in_whole_numbers(ax.xaxis, ax.yaxis, nbins=6)
    ax.yaxis.set_major_formatter(lambda value, _: f"{abs(value):.0f}")
    if labels:
        ax.legend(ncols=3, **drawing.LEGEND_ABOVE)
    return drawing.finish(
        ax, "Totals by class", "total (points)", "rows", pad=22 if labels else None
    )


def _rows(
    y: npt.ArrayLike, values: npt.ArrayLike, weight: npt.ArrayLike | None, both: bool = True
) -> tuple[BoolArray, FloatArray, FloatArray]:
    """Classes, values and weights of rows that have a weight."""
    positive, score = np.asarray(y, dtype=np.float64) > 0, np.asarray(values, dtype=np.float64)
    if len(positive) != len(score):
        raise DataError(f"{len(positive)} classes and {len(score)} totals: one each")
    rows = row_weights(weight, len(score))
    kept = rows > 0
    positive, score, rows = positive[kept], score[kept], rows[kept]
    if not len(score) or (both and (positive.all() or not positive.any())):
        raise DataError("there must be rows of both classes" if both else "there are no rows")
    return positive, score, rows


def _edges(distinct: FloatArray, threshold: float | None) -> FloatArray:
    """Ends of the bars: a bar a total, or bins where they are many."""
    gaps = np.diff(distinct)
    width = float(gaps.min()) if gaps.size else 1.0
    span = float(distinct[-1] - distinct[0])
    first = float(distinct[0]) - width / 2
    if span / width > _MOST_BINS:
        width = float(round_up(span / _MOST_BINS))
        cut = float(distinct[0]) if threshold is None else threshold
        first = cut + float(np.floor((distinct[0] - cut) / width)) * width
    count = max(int(np.floor((distinct[-1] - first) / width + 1e-9)) + 1, 1)
    return np.asarray(first + width * np.arange(count + 1))
