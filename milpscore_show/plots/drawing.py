"""What the figures share: the Axes they take, colours, labels, and how they are tidied."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, wraps
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from milpscore.comparison import Comparison
from milpscore.core.design import FloatArray
from milpscore.core.errors import NotApplicableError
from milpscore.core.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Key = tuple[str, str]
Results = Mapping[Key, Result]

P = ParamSpec("P")
T = TypeVar("T")

# Okabe & Ito's palette, told apart with every common form of colour blindness; markers and line
# styles repeat what the colours say.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")


LEGEND_ABOVE: dict[str, Any] = {
    "loc": "lower left", "bbox_to_anchor": (0.0, 0.995), "borderaxespad": 0.2, "borderpad": 0.0,
    "columnspacing": 1.2, "handlelength": 1.4,
}  # fmt: skip
"""Above the axes, where whatever is drawn may lie anywhere inside."""

LEGEND_BESIDE: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}

_NULL = "0.86"


@cache
def _style() -> Any:
    from matplotlib import rc_params_from_file

    file = Path(__file__).with_name("style.mplstyle")
    return rc_params_from_file(file, use_default_template=False)


_GIVEN = {
    "Axes": ("ax", "\nax : Axes, optional\n    Default: the current one."),
    "Figure": ("figure", "\nfigure : Figure, optional\n    An empty one; by default a new one."),
}


def styled(draw: Callable[P, T]) -> Callable[P, T]:
    """A function that draws in the one style of all figures; its docstring gets what they share."""

    @wraps(draw)
    def drawn(*given: P.args, **named: P.kwargs) -> T:
        from matplotlib import rc_context

        with rc_context(_style()):
            return draw(*given, **named)

    kind = draw.__annotations__["return"]
    if draw.__doc__ and kind in _GIVEN:
        own, *rest = re.split(r"(?=\n\nRaises\n)", cleandoc(draw.__doc__), maxsplit=1)
        name, said = _GIVEN[kind]
        said *= name in draw.__annotations__ and f"\n{name} : " not in own
        drawn.__doc__ = "".join([own, said, f"\n\nReturns\n-------\n{kind}", *rest])
    return drawn


def colour_of(place: int) -> str:
    """The colour of one of several: the palette, then the same darker, and again."""
    from matplotlib.colors import to_hex, to_rgb

    turn, k = divmod(place, len(PALETTE))
    red, green, blue = (0.5**turn * part for part in to_rgb(PALETTE[k]))
    return to_hex((red, green, blue))


def results_of(given: Comparison | Results | Result) -> Results:
    """(formulation, kind) -> Result, from a comparison, a mapping or one result."""
    if isinstance(given, Result):
        return {(given.formulation, given.kind): given}
    found: Results = given.results if isinstance(given, Comparison) else given
    if not found:
        raise NotApplicableError(
            "there are no results to draw: pass what milpscore.compare answers"
        )
    return found


def axes(ax: Axes | None) -> Axes:
    """The given Axes, or the current one."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.gca()


def figure_of(figure: Figure | None, width: float, height: float) -> Figure:
    """The given figure, or a new one of this size in inches."""
    if figure is not None:
        return figure
    import matplotlib.pyplot as plt

    return plt.figure(figsize=(width, height))


def in_percent(*shares: Any) -> None:
    """Say the shares along these axes in per cent."""
    from matplotlib.ticker import PercentFormatter

    for axis in shares:
        axis.set_major_formatter(PercentFormatter(xmax=1.0))


def in_whole_numbers(*counts: Any, **style: Any) -> None:
    """Put ticks at whole numbers alone along these axes."""
    from matplotlib.ticker import MaxNLocator

    for axis in counts:
        axis.set_major_locator(MaxNLocator(integer=True, **style))


def spaced(name: str) -> str:
    """A registry's name as words."""
    return name.replace("_", " ")


def wrapped(label: str, width: int = 34) -> str:
    """The whole label, on further lines where it is long; a dollar sign starts no mathematics."""
    lines = [""]
    for part in re.findall(r"[^ _,/|]+[ _,/|]?|[ _,/|]", label):
        if len(lines[-1]) + len(part.rstrip()) > width and lines[-1].strip():
            lines.append("")
        lines[-1] += part
    return "\n".join(line.strip() for line in lines).replace("$", r"\$")


def tidy(ax: Axes) -> None:
    """Leave only the two spines that carry ticks."""
    ax.spines[["top", "right"]].set_visible(False)


def name_rows(ax: Axes, labels: list[str], empty: str) -> None:
    """Whole points across and a label for each row, the first on top; ``empty`` without rows."""
    ax.axvline(0, color="0.3", linewidth=0.8, zorder=0)
    in_whole_numbers(ax.xaxis)
    ax.set_yticks(range(len(labels)), [wrapped(label) for label in labels])
    ax.set_ylim(max(len(labels), 1) - 0.5, -0.5)
    if not labels:
        ax.set_xlim(-1, 1)
        ax.text(0.05, 0.0, empty, va="center")


def legend_entry(label: str, **style: Any) -> Any:
    """An entry of a legend, grey unless styled otherwise."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **{"color": "0.35", **style})


def legend_of_lines(**more: Any) -> list[Any]:
    """The entries that name what a line is, whatever its colour; ``more`` styles the first."""
    return [
        legend_entry("best card", **{"linewidth": 1.6, **more}),
        legend_entry("proven bound", linewidth=1.6, linestyle="--"),
    ]


def finish(ax: Axes, title: str, x: str, y: str, **style: Any) -> Axes:
    """The axes with a title on the left and labels, tidied."""
    ax.set_title(title, **style)
    ax.set(xlabel=x, ylabel=y)
    tidy(ax)
    return ax


def cut_places(distinct: FloatArray, cuts: FloatArray, ends: Any) -> FloatArray:
    """Where the line of each threshold stands among totals: halfway to the total below it."""
    places = np.r_[ends[0], (distinct[1:] + distinct[:-1]) / 2, ends[-1]]
    return np.asarray(places[np.searchsorted(distinct, cuts)])


EARLIEST = 1e-3
"""Seconds before which nothing is told apart."""


def bound_steps(result: Result) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Ascending seconds, best objective and bound so far (NaN before there is any), shape (m,)."""
    points = sorted(result.trace, key=lambda point: point.seconds)
    end = max(result.solve_seconds, EARLIEST)
    seconds = np.array([*(max(p.seconds, EARLIEST) for p in points), end])
    best = _so_far([*(p.objective for p in points), result.objective], np.fmin)
    bound = _so_far([*(p.dual_bound for p in points), result.dual_bound], np.fmax)
    return np.minimum(seconds, end), best, bound


def _so_far(values: list[float], better: Any) -> FloatArray:
    """Running best; NaN until there is a finite value."""
    finite = np.where(np.isfinite(values), values, np.nan)
    return np.asarray(better.accumulate(finite), dtype=np.float64)


def plain_log(ax: Axes, base: float = 10.0) -> None:
    """A logarithmic x axis that says .2 and 30, not powers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_xscale("log", base=base)
    low, high = ax.get_xlim()
    steps = (1.0, 2.0, 5.0) if base == 10 and high < 1000 * low else (1.0,)
    ax.xaxis.set_major_locator(LogLocator(base, subs=steps))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def draw_map(
    ax: Axes, x: FloatArray, y: FloatArray, values: Any, ends: tuple[float | None, float | None]
) -> Any:
    """Draw cells of masked values (y, x) over logarithmic axes, and return their colour bar."""
    # the masked ones, null models, are grey; the bar's arrow marks values below the first end
    ax.set_facecolor(_NULL)
    mesh = ax.pcolormesh(
        log_edges(x), log_edges(y), values, cmap="viridis", rasterized=True, vmin=ends[0],
        vmax=ends[1],
    )  # fmt: skip
    ax.set_xscale("log")
    ax.set_yscale("log")
    if values.mask.any():
        ax.text(0.02, 0.98, "grey: null models", transform=ax.transAxes, va="top", fontsize="small")
    below = ends[0] is not None and bool(values.count()) and float(values.min()) < ends[0]
    return ax.figure.colorbar(mesh, ax=ax, pad=0.02, extend="min" if below else "neither")


def log_edges(centres: FloatArray) -> FloatArray:
    """Borders of cells around the points of an axis, half-way between them in the logarithm."""
    logs = np.log(centres)
    if len(logs) == 1:
        return np.asarray(np.exp([logs[0] - 0.5, logs[0] + 0.5]))
    middle = (logs[1:] + logs[:-1]) / 2
    return np.asarray(np.exp(np.r_[2 * logs[0] - middle[0], middle, 2 * logs[-1] - middle[-1]]))
