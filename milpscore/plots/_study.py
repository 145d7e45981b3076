"""What came of a study: accuracy over terms for each data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milpscore.core.errors import NotApplicableError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL = (4.6, 3.6)
_COLUMNS = 3


def study_figure(table: pd.DataFrame) -> Figure:
    """Accuracy over terms, a panel for each data set.

    Parameters
    ----------
    table : DataFrame
        Of :func:`milpscore.study.study_table`.

    Returns
    -------
    matplotlib Figure

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
    wide = min(len(names), _COLUMNS)
    high = -(-len(names) // wide)
    size = (_PANEL[0] * wide, _PANEL[1] * high)
    figure, axes = plt.subplots(high, wide, figsize=size, squeeze=False, layout="constrained")
    for ax, name in zip(axes.flat, names, strict=False):
        accuracy_over_terms(done[done["data"] == name], ax).set_title(name, loc="left")
    for ax in axes.flat[len(names) :]:
        ax.remove()
    return figure


def accuracy_over_terms(table: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Mean accuracy over mean terms, a point for each model and point of its grid.

    Parameters
    ----------
    table : DataFrame
        Rows of :func:`milpscore.study.study_table` of one data set. Rows held out are counted where
        there are folds, else the training rows; bars are the standard deviation over folds and
        seeds.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    import matplotlib.pyplot as plt

    ax = plt.gca() if ax is None else ax
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
    ax.set_xlabel("terms")
    ax.set_ylabel("accuracy on held-out rows" if len(held_out) else "accuracy on training rows")
    ax.legend(fontsize="small", frameon=False)
    return ax
