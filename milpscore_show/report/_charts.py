"""The page's charts: matplotlib figures as SVG text with a title and a description."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray
from milpscore.core.errors import NotApplicableError
from milpscore.scorecard.rendering import number
from milpscore_show.plots import (
    bounds_over_time,
    calibration,
    decision_curve,
    drawing,
    roc_curve,
    totals_by_class,
)
from milpscore_show.plots.drawing import Results
from milpscore_show.report.figures import Cuts
from milpscore_show.report.measures import (
    GRID,
    Estimate,
    Gathered,
    Roc,
    condensed,
    net_benefits,
    smoothed,
)
from milpscore_show.report.subject import Subject

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

BLUE, ORANGE, GREEN = drawing.PALETTE[:3]
_OF_SET = ((BLUE, "line blue", "-", "o"), (GREEN, "line green dashed", "--", "s"))
"""Colour, key of the legend, line and marker of the first set of data and the second."""

Legend = tuple[tuple[str, str], ...]
# text stays text, which a screen reader reads, and equal figures are equal bytes
_STYLE: Any = {"svg.fonttype": "none", "svg.hashsalt": "milpscore", "font.size": 9}


@dataclass(frozen=True)
class Chart:
    """One picture as text, its legend, and where the mark that a script moves is at each cut."""

    svg: str
    moves: FloatArray  # (cuts, 2): across and down, in the picture's units
    legend: Legend = ()  # the classes of a sample in the page's style, and what it stands for


def roc_chart(found: Mapping[str, tuple[Gathered, Roc, Estimate]], cuts: Cuts) -> Chart:
    """A curve for each set of data, the first with its band; the mark is the card's threshold."""
    figure, ax = axes()
    false, true = 1 - cuts.specificity, cuts.sensitivity
    legend: list[tuple[str, str]] = []
    said = "Sensitivity against one minus specificity over all thresholds."
    for (name, (given, roc, area)), (colour, key, line, _) in zip(
        found.items(), _OF_SET, strict=False
    ):
        y, mass = given.by_class
        totals, cut = np.tile(given.totals, 2), None if legend else cuts.thresholds[cuts.own]
        roc_curve(y, totals, ax, weight=mass, threshold=cut, color=colour, linestyle=line)
        if not legend:
            ax.lines[-1].set_gid("mark")
            ax.fill_between(GRID, roc.lower, roc.upper, color=colour, alpha=0.16, linewidth=0)
        shown = f"{area.value:.3f} ({area.lower:.3f} to {area.upper:.3f})"
        legend.append((key, f"{name}: area {shown}"))
        said += f" {name}: the area below the curve is {shown}."
    said += (
        f" At the card's threshold sensitivity is {true[cuts.own]:.1%} and specificity "
        f"{cuts.specificity[cuts.own]:.1%}."
    )
    legend += [
        ("band blue", f"{next(iter(found))}: pointwise 95 % band"),
        ("dot orange", "the threshold"),
        ("line grey dotted", "chance"),
    ]
    moves = _moves(ax, false, true, cuts)
    return chart_of(figure, "fig-roc", "ROC curve of the totals", said, moves, tuple(legend))


def agreement_chart(found: Mapping[str, Gathered], ici: Mapping[str, Estimate]) -> Chart:
    """The smooth share of positives at each stated risk, for each set of data."""
    figure, ax = axes()
    most = max(float(given.risk.max()) for given in found.values() if given.risk is not None)
    ax.plot([0, most], [0, most], color="0.55", linewidth=1, linestyle=":")
    legend: list[tuple[str, str]] = []
    said = "Share of positive rows at each stated risk."
    for (name, given), (colour, key, line, marker) in zip(found.items(), _OF_SET, strict=False):
        assert given.risk is not None
        risk, mass = condensed(given.risk, given.mass[None])
        curve = smoothed(risk, mass)[0]
        dense = len(risk) > 40
        style: Any = {"markersize": 0 if dense else 4, "markeredgecolor": "white"}
        ax.plot(risk, curve, color=colour, linestyle=line, marker=marker, **style)
        value = ici[name].value
        legend.append((key, f"{name}: smooth observed share, ICI {value:.3f}"))
        said += f" {name}: the mean distance from the stated risk is {value:.3f}."
    ax.set_xlabel("stated risk")
    ax.set_ylabel("observed share")
    drawing.in_percent(ax.xaxis, ax.yaxis)
    legend.append(("line grey dotted", "as it should be: observed as stated"))
    title = "Calibration: observed share at each stated risk"
    return chart_of(figure, "fig-agreement", title, said, legend=tuple(legend))


def benefit_chart(found: Mapping[str, Gathered]) -> Chart:
    """Net benefit of the card, of acting on all rows and on none."""
    figure, ax = axes()
    legend: list[tuple[str, str]] = []
    said = "Net benefit against the risk from which one would act."
    for (name, given), (colour, key, line, _) in zip(found.items(), _OF_SET, strict=False):
        y, mass = given.by_class
        decision_curve(y, given.stated, ax, weight=mass, color=colour, linestyle=line)
        legend += [(key, f"{name}: the card")]
        legend += [(f"{key.removesuffix(' dashed')} dotted", f"{name}: act on all")]
        said += f" {name}: {worth(given)}"
    legend.append(("line ink", "act on none"))
    return chart_of(figure, "fig-benefit", "Decision curve", said, legend=tuple(legend))


def worth(given: Gathered) -> str:
    """From which to which risk acting by the card is worth more than acting on all or none."""
    risks = np.arange(1, 100) / 100
    own = net_benefits(given, risks)
    better = own["card"] > np.maximum(own["all"], own["none"]) + 1e-12
    if not better.any():
        return "At no risk from 1 % to 99 % is the card worth more than acting on all or on none."
    ends = np.flatnonzero(np.diff(np.r_[False, better, False]))
    spans = [f"{risks[a]:.0%}" + (f" to {risks[b - 1]:.0%}" if b - 1 > a else "")
             for a, b in ends.reshape(-1, 2)]  # fmt: skip
    more = f" and {len(spans) - 4} narrower spans" if len(spans) > 4 else ""
    return (
        "Acting by the card is worth more than acting on all or on none where one would act from a "
        f"risk of {', '.join(spans[:4])}{more}."
    )


def totals_chart(subject: Subject, cuts: Cuts) -> Chart:
    """Positive rows upwards, negative rows downwards, the threshold between them."""
    negative, positive = subject.names
    figure, ax = axes()
    counted, cut = subject.counted, float(subject.card.rule.cut)
    totals, rows = subject.totals[counted], subject.design.rows[counted]
    totals_by_class(subject.positive[counted], totals, ax, counts=rows, threshold=cut, labels=None)
    ax.lines[-1].set_gid("mark")
    places = drawing.cut_places(np.unique(totals), cuts.thresholds, ax.get_xlim())
    said = (
        f"Rows at each total: {positive} upwards, {negative} downwards. The card's threshold is "
        f"{number(float(subject.card.threshold))}."
    )
    moves = _moves(ax, places, np.zeros(len(places)), cuts)
    legend = (
        ("bar orange", f"{positive}, upwards"),
        ("bar blue hollow", f"{negative}, downwards"),
        ("line ink dashed", "the threshold"),
    )
    return chart_of(figure, "fig-totals", "Totals by class", said, moves, legend)


def calibration_chart(subject: Subject, table: DataFrame, pooled: str) -> Chart:
    """Observed shares with their intervals; the line is the risk the card states, if any."""
    figure, ax = axes()
    calibration(table, ax, title="")
    if (drawn := ax.get_legend()) is not None:
        drawn.remove()  # the legend below the picture says it
    total, observed = table["total"].to_numpy(float), table["observed"].to_numpy(float)
    positive = subject.names[1]
    ax.set_ylabel(f"share of {drawing.wrapped(positive, 28)}")
    stated = subject.card.risk is not None
    title = "Stated risk and observed share by total" if stated else "Observed share by total"
    said = (
        f"Share of {positive} among the rows of each total with its 95 % interval, for totals "
        f"{number(total.min())} to {number(total.max())}: from {observed[0]:.0%} to "
        f"{observed[-1]:.0%}. The figures stand in the table below."
    )
    legend = [
        ("dot orange", "observed share, its size grows with the rows"),
        ("line grey", "Wilson's 95 % interval; one half"),
    ]
    legend += [("line blue", "the risk the card states")] * stated
    if pooled:
        ax.set_xlabel(f"mean total of pooled neighbours ({len(table)} points)")
        said += f" {pooled}."
        legend.append(("", f"{pooled}, each at its mean total"))
    return chart_of(figure, "fig-calibration", title, said, legend=tuple(legend))


def bounds_chart(results: Results, formulation: str, key: str) -> Chart | None:
    """Best card and proven bound of one exact solve; None where there is nothing to draw."""
    exact = results.get((formulation, "exact"))
    if exact is None:
        return None
    figure, ax = axes()
    shown = {
        key: result
        for key, result in results.items()
        if key[0] == formulation and key[1] in ("exact", "relaxed")
    }
    try:
        bounds_over_time(shown, ax)
    except NotApplicableError:
        return None
    if (drawn := ax.get_legend()) is not None:
        drawn.remove()  # the legend below the picture says it
    ax.set_title("", loc="left")
    if exact.solve_seconds < 10 * min((point.seconds for point in exact.trace), default=0.0):
        ax.set_xscale("linear")
    levels = np.concatenate([np.ravel(line.get_ydata()) for line in ax.lines]).astype(np.float64)
    low, high = np.nanmin(levels), np.nanmax(levels)
    margin = 0.15 * (high - low) or 0.15 * abs(high) or 1.0
    ax.set_ylim(max(low - margin, 0.0), high + margin)
    said = (
        f"After {exact.solve_seconds:.2g} seconds the best card has objective "
        f"{exact.objective:.6g} and the proven bound is {exact.dual_bound:.6g}: {exact.claim}."
    )
    legend = [
        ("line blue", "the best card so far"),
        ("line blue dashed", "the proven bound"),
        ("band blue", "what is open between them"),
    ]
    legend += [("line blue dotted", "the bound of the LP")] * ((formulation, "relaxed") in results)
    title = f"Best card and bound over time, {drawing.spaced(formulation)}"
    return chart_of(figure, key, title, said, legend=tuple(legend))


def axes() -> tuple[Figure, Axes]:
    """An empty picture that belongs to no window."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_STYLE):
        figure = Figure(figsize=(5.4, 3.3), layout="constrained")
        return figure, figure.subplots()


def chart_of(
    figure: Figure,
    key: str,
    title: str,
    said: str,
    moves: FloatArray | None = None,
    legend: Legend = (),
) -> Chart:
    """The figure as one ``svg`` element whose ids begin with ``key``."""
    from matplotlib import rc_context

    for ax in figure.axes:
        ax.set_title("", loc="left")  # the page has one below the picture
        drawing.tidy(ax)
    text = io.StringIO()
    with rc_context(_STYLE):
        figure.savefig(text, format="svg", metadata=dict.fromkeys(("Creator", "Date")))
    svg = text.getvalue()
    size = re.search(r'viewBox="([^"]+)"', svg)
    body = svg[svg.index(">", svg.index("<svg")) + 1 :]
    body = re.sub(r"<(metadata|style).*?</\1>", "", body, flags=re.DOTALL)
    body = body.replace("xlink:href", "href")
    body = re.sub(r'(?<=\bid=")', f"{key}-", body)
    body = re.sub(r'(?<=href="#)|(?<=url\(#)', f"{key}-", body)
    head = (
        f'<svg id="{key}" viewBox="{size[1] if size else ""}" role="img" '
        f'aria-labelledby="{key}-title {key}-desc">\n<title id="{key}-title">{escape(title)}'
        f'</title>\n<desc id="{key}-desc">{escape(said)}</desc>'
    )
    return Chart(head + body.rstrip(), np.zeros((0, 2)) if moves is None else moves, legend)


def _moves(ax: Axes, x: npt.ArrayLike, y: npt.ArrayLike, cuts: Cuts) -> FloatArray:
    """How far the mark goes from the card's cut to each cut, in points; SVG counts downwards."""
    ax.set_title("", loc="left")  # before the layout is final
    ax.figure.draw_without_rendering()  # type: ignore[union-attr]
    pixels = ax.transData.transform(np.column_stack([x, y]))
    points = (pixels - pixels[cuts.own]) * 72 / ax.figure.dpi
    return np.asarray(points * [1, -1])
