"""The tables of a path and of a grid, as wide as a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.table import Table

_FORMS = {
    "lam": "{:.4g}",
    "alpha": "{:.4g}",
    "gamma": "{:.4g}",
    "terms": "{:d}",
    "integrity": "{:.0%}",
    "loss": "{:.5f}",
    "objective": "{:.5f}",
    "gap": "{:.1e}",
    "cv_accuracy": "{:.1%}",
    "cv_auc": "{:.3f}",
    "seconds": "{:.3f}",
}
_HEADS = {"integrity": "whole", "cv_accuracy": "held out", "cv_auc": "AUC"}
_MEASURES = ("terms", "integrity", "loss", "objective", "gap", "cv_accuracy", "cv_auc", "seconds")
_SHOWN = 10


def path_table(frame: DataFrame) -> Table:
    """One line a model of :func:`milpscore.proximal.path`; whole models are green."""
    return _table(frame, ("lam", *_MEASURES))


def grid_table(frame: DataFrame) -> Table:
    """The best models of :func:`milpscore.proximal.facets_grid` with whole coefficients only.

    Best held out where there was a cross-validation, else of least loss; where no model is whole,
    the best of all.
    """
    whole = frame[frame["integral"]]
    chosen = whole if len(whole) else frame[~frame["null"]]
    held_out = "cv_accuracy" in frame
    by = ["cv_accuracy", "terms"] if held_out else ["loss", "terms"]
    best = chosen.sort_values(by, ascending=[not held_out, True], kind="stable").head(_SHOWN)
    title = f"The best {len(best)} of them" if len(whole) else f"The best {len(best)} models"
    return _table(best, ("alpha", "gamma", *_MEASURES), title)


def _table(frame: DataFrame, columns: tuple[str, ...], title: str | None = None) -> Table:
    from rich import box
    from rich.table import Table

    shown = [name for name in columns if name in frame]
    table = Table(
        box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False,
        title=title, title_justify="left",
    )  # fmt: skip
    for name in shown:
        table.add_column(_HEADS.get(name, name), justify="right", no_wrap=True)
    for row in frame.to_dict("records"):
        table.add_row(
            *(_cell(row[name], _FORMS[name]) for name in shown),
            style="green" if row["integral"] else "",
        )
    return table


def _cell(value: Any, form: str) -> str:
    """A number in its form, a dash where there is none."""
    return "-" if math.isnan(value) else form.format(value)
