"""The page's charts: ROC, calibration, totals by class, and bounds over time."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from pandas import DataFrame

from milpscore.core.design import FloatArray
from milpscore.core.result import Result
from milpscore.plots.drawing import Results, spaced
from milpscore.report._curves import Cuts, Histogram, Roc
from milpscore.report._subject import Subject
from milpscore.report._svg import BLUE, INK, ORANGE, Axis, Chart, linear, logarithmic
from milpscore.report._words import MINUS, short
from milpscore.scorecard import calibration_table
from milpscore.scorecard.rows import number, printable

_EARLIEST = 1e-3


def roc_chart(roc: Roc, cuts: Cuts) -> Chart:
    """The curve with its band; the mark stands at the card's threshold."""
    sensitivity, specificity = (
        float(side[cuts.own]) for side in (cuts.sensitivity, cuts.specificity)
    )
    chart = Chart(
        "fig-roc",
        "ROC curve of the totals",
        f"Sensitivity against one minus specificity over all thresholds. The area below the curve "
        f"is {roc.area:.3f}, 95 % interval {roc.area_lower:.3f} to {roc.area_upper:.3f}. At the "
        f"card's threshold sensitivity is {sensitivity:.1%} and specificity {specificity:.1%}.",
        linear(0, 1, f"1 {MINUS} specificity", percent=True),
        linear(0, 1, "sensitivity", percent=True),
    )
    chart.line([0, 1], [0, 1], "#8c8c8c", 1.0, "2 4")
    chart.band(roc.grid, roc.lower, roc.upper)
    chart.line(roc.false, roc.true, BLUE)
    chart.dots(1 - specificity, sensitivity, 6.0, ORANGE, "mark")
    chart.note(
        0.98, 0.06, f"area {roc.area:.3f} ({roc.area_lower:.3f} to {roc.area_upper:.3f})", "end"
    )
    return chart


def calibration_of(subject: Subject) -> DataFrame:
    """Observed shares by total, sparse totals put together where there are many."""
    counted = subject.totals[subject.counted]
    few = len(np.unique(counted)) <= 12
    return calibration_table(
        subject.card,
        subject.totals,
        subject.positive,
        subject.design.weight,
        min_rows=1 if few else max(5, len(counted) // 20),
    )


def calibration_chart(subject: Subject, table: DataFrame) -> Chart:
    """Observed shares with their intervals; the line is the risk the card states, if any."""
    total, risk, observed, lower, upper, rows = (
        table[name].to_numpy(dtype=np.float64)
        for name in ("total", "risk", "observed", "lower", "upper", "rows")
    )
    stated = subject.card.risk is not None
    positive = printable(str(subject.card.classes[1]))
    title = "Stated risk and observed share by total" if stated else "Observed share by total"
    chart = Chart(
        "fig-calibration",
        title,
        f"Share of {positive} among the rows of each total with its 95 % interval, for totals "
        f"{number(total.min())} to {number(total.max())}: from {observed[0]:.0%} to "
        f"{observed[-1]:.0%}. The figures stand in the table below.",
        linear(*_around(total), "total (points)", whole=_whole(total)),
        linear(0, 1, f"share of {short(positive)}", percent=True),
    )
    if stated:
        chart.line(total, risk, BLUE)
    chart.whiskers(total, lower, upper)
    chart.dots(total, observed, 3.0 + 4.0 * np.sqrt(rows / rows.max()), ORANGE)
    return chart


def histogram_chart(subject: Subject, found: Histogram, cuts: Cuts) -> Chart:
    """Positive rows upwards, negative rows downwards, the threshold between them."""
    negative, positive = (printable(str(label)) for label in subject.card.classes)
    most = float(max(found.positive.max(), found.negative.max(), 1))
    chart = Chart(
        "fig-totals",
        "Totals by class",
        f"Rows at each total: {positive} upwards, {negative} downwards. The card's threshold is "
        f"{number(float(subject.card.threshold))}.",
        linear(float(found.left[0]), float(found.right[-1]), "total (points)", whole=True),
        _mirrored(most),
    )
    chart.bars(found.left, found.right, found.positive, ORANGE)
    chart.bars(found.left, found.right, -found.negative, BLUE, hollow=True)
    chart.line([found.left[0], found.right[-1]], [0, 0], INK, 1.0)
    chart.rule(float(cut_places(subject, found, cuts)[cuts.own]), "mark")
    chart.note(float(found.left[0]), most * 1.16, f"↑ {short(positive, 40)}")
    chart.note(float(found.left[0]), -most * 1.24, f"↓ {short(negative, 40)}")
    return chart


def cut_places(subject: Subject, found: Histogram, cuts: Cuts) -> FloatArray:
    """Where the line of each threshold stands: halfway to the total below it."""
    distinct = np.unique(subject.totals[subject.counted])
    ends = np.r_[found.left[0], (distinct[1:] + distinct[:-1]) / 2, found.right[-1]]
    places: FloatArray = ends[np.searchsorted(distinct, cuts.thresholds)]
    return places


def bounds_chart(results: Results, formulation: str, key: str) -> Chart | None:
    """Best card and proven bound of one exact solve; None where there is nothing to draw."""
    exact = results.get((formulation, "exact"))
    if exact is None:
        return None
    seconds, best, bound = _steps(exact)
    relaxed = results.get((formulation, "relaxed"))
    levels = np.r_[best, bound]
    if not np.isfinite(levels).any():
        return None
    lp = relaxed.dual_bound if relaxed is not None else math.nan
    shown = np.r_[levels, lp if math.isfinite(lp) else np.nan]
    low, high = float(np.nanmin(shown)), float(np.nanmax(shown))
    margin = 0.15 * (high - low) or 0.15 * abs(high) or 1.0
    chart = Chart(
        key,
        f"Best card and bound over time, {spaced(formulation)}",
        f"After {seconds[-1]:.2g} seconds the best card has objective {exact.objective:.6g} and "
        f"the proven bound is {exact.dual_bound:.6g}: {exact.claim}.",
        _time_axis(float(seconds.min()), float(seconds.max())),
        linear(max(low - margin, 0.0), high + margin, "objective"),
    )
    known = np.isfinite(best) & np.isfinite(bound)
    chart.band(*_stairs(seconds[known], bound[known], best[known]))
    for values, colour, width, dash in ((best, ORANGE, 2.2, ""), (bound, BLUE, 2.0, "6 3")):
        finite = np.isfinite(values)
        if finite.any():
            x, y, _ = _stairs(seconds[finite], values[finite], values[finite])
            chart.line(x, y, colour, width, dash)
    if math.isfinite(lp):
        chart.line([chart.x.low, chart.x.high], [lp, lp], "#6b6b6b", 1.2, "2 3")
    return chart


def _time_axis(first: float, last: float) -> Axis:
    """Seconds, in equal factors where they span more than one power of ten."""
    label = "seconds of solving"
    return linear(0.0, last, label) if last < 10 * first else logarithmic(first, last, label)


def _steps(result: Result) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Seconds, best objective and best bound so far; NaN where there is none yet."""
    points = sorted(result.trace, key=lambda point: point.seconds)
    end = max(result.solve_seconds, _EARLIEST * 2)
    seconds = np.array([*(min(max(p.seconds, _EARLIEST), end) for p in points), end])
    best = np.array([*(p.objective for p in points), result.objective], dtype=np.float64)
    bound = np.array([*(p.dual_bound for p in points), result.dual_bound], dtype=np.float64)
    best, bound = (np.where(np.isfinite(v), v, np.nan) for v in (best, bound))
    return seconds, np.fmin.accumulate(best), np.fmax.accumulate(bound)


def _stairs(
    x: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same as steps that keep their value until the next point."""
    return np.repeat(x, 2)[1:], np.repeat(low, 2)[:-1], np.repeat(high, 2)[:-1]


def _around(values: FloatArray) -> tuple[float, float]:
    """Ends of an axis a little outside the values."""
    span = float(np.ptp(values)) or 1.0
    return float(values.min()) - 0.04 * span, float(values.max()) + 0.04 * span


def _whole(values: FloatArray) -> bool:
    """Whether all values are whole numbers."""
    return bool(np.array_equal(values, np.rint(values)))


def _mirrored(most: float) -> Axis:
    """An axis of counts in both directions, both written without a sign."""
    axis = linear(-most * 1.3, most * 1.3, "rows", whole=True)
    return replace(axis, ticks=tuple((v, text.lstrip(MINUS)) for v, text in axis.ticks))
