"""The page about a card of times to an event: what it is worth on rows it is held against."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from milpscore.core.design import BoolArray, FloatArray
from milpscore.core.errors import DataError, optional
from milpscore.core.writing import write_text
from milpscore.data import apply_columns, survival_target
from milpscore.data.survival import entries_of, structured
from milpscore.metrics import concordance
from milpscore.scorecard import SurvivalCard, kaplan_meier
from milpscore.scorecard.rendering import card_html, number, page_of
from milpscore_show.plots.drawing import PALETTE
from milpscore_show.report._charts import axes, chart_of
from milpscore_show.report.population import named_values, splitter

Lines = list[list[str]]


@dataclass(frozen=True)
class TimedRows:
    """Rows a card is held against: times, totals, and the values of the lines with points."""

    card: SurvivalCard
    time: FloatArray
    event: BoolArray
    entry: FloatArray
    totals: FloatArray
    lines: pd.DataFrame

    @classmethod
    def of(cls, card: SurvivalCard, X: Any, y: Any, entry: Any) -> TimedRows:
        """Apply the card to rows."""
        event, time, *late = structured(y)
        plain = card.card
        # all columns of a feature: a category without points is known too
        scored = {c.feature for c, w in zip(plain.columns, plain.points, strict=True) if w}
        known = [k for k, column in enumerate(plain.columns) if column.feature in scored]
        columns = tuple(plain.columns[k] for k in known)
        values = apply_columns(columns, X, feature_names=plain.features)
        own = [j for j, k in enumerate(known) if plain.points[k]]
        lines = pd.DataFrame(values[:, own], columns=[columns[j].name for j in own])
        starts = late[0] if late else entries_of(entry, len(time))
        return cls(card, time, event, starts, card.score(X), lines)

    @property
    def thirds(self) -> Iterator[tuple[str, BoolArray]]:
        """The thirds of the rows by their totals, those that have rows: their totals, and which."""
        third = np.searchsorted(np.quantile(self.totals, [1 / 3, 2 / 3]), self.totals)
        for k in np.unique(third):
            ends = number(self.totals[third == k].min()), number(self.totals[third == k].max())
            yield " to ".join(dict.fromkeys(ends)), third == k


def survival_report(
    card: SurvivalCard,
    X: Any,
    y: Any,
    *,
    entry: Any = None,
    by: Any = None,
    path: str | Path | None = None,
) -> str:
    """One self-contained HTML page: the card, its order, its risks, and its hazards on some rows.

    Parameters
    ----------
    card : SurvivalCard
    X : DataFrame or array of raw data, shape (n, q)
        Rows the card is held against: those it was made from, or better others.
    y : structured array of shape (n,)
        Events and times, as scikit-survival has them.
    entry : array of shape (n,), optional
        When rows came under observation; concordance and Brier scores leave it out of account.
    by : str or array of shape (n,), optional
        Show the subgroups of a column of X, or of these values, apart.
    path : str or Path, optional
        Where to write the page.

    Returns
    -------
    str

    Raises
    ------
    MissingDependencyError
        scikit-survival or lifelines is not installed.
    """
    rows = TimedRows.of(card, X, y, entry)
    tables = [
        ("Risk of an event by total, on the rows of the fit", card.table),
        ("Order and errors on the rows of this page", order_of(rows)),
        *((f"Stated and seen risks by {number(t)}", calibration_of(rows, t)) for t in card.times),
        ("Whether a line's effect changes with time", proportionality_of(rows)),
    ]
    if by is not None:
        tables.append(subgroups_of(rows, X, by))
    body = card_html(card.card, card.sentences, tables=tables)
    for title, picture in (
        ("Rows without an event, by thirds of the totals", curves_of(rows)),
        (f"Net benefit by {number(card.times[-1])}", benefit_of(rows, card.times[-1])),
    ):
        body += f"\n<figure>{picture}<figcaption>{title}</figcaption></figure>"
    page = page_of(card.card.title, body)
    if path is not None:
        write_text(Path(path), page)
    return page


def order_of(rows: TimedRows) -> Lines:
    """Concordance, Brier scores and AUC at the stated times, by scikit-survival."""
    metrics, card = _module("sksurv.metrics", "scikit-survival"), rows.card
    y, time, totals = survival_target(rows.event, rows.time), rows.time, rows.totals
    last = min(card.cuts[-1], float(time.max()))
    harrell = partial(concordance, rows.event, time, totals)
    uno = partial(metrics.concordance_index_ipcw, y, y, totals, tau=last)
    found = [
        ["Rows, events", "", f"{len(time)}, {int(rows.event.sum())}"],
        ["C, Harrell", "", _defined(harrell)],
        ["C, Uno", f"up to {number(last)}", _defined(uno)],
    ]
    for t in (t for t in card.times if time.min() < t < time.max()):
        area = partial(metrics.cumulative_dynamic_auc, y, y, totals, [t])
        found.append(["AUC", f"at {number(t)}", _defined(area)])
    ends = time[rows.event]
    grid = np.unique(np.quantile(ends, np.linspace(0.1, 0.9, 30))) if len(ends) else ends
    grid = grid[(grid > time.min()) & (grid < time.max()) & (grid <= card.cuts[-1])]
    if len(grid) > 1:
        span = f"{number(grid[0])} to {number(grid[-1])}"
        score = partial(metrics.integrated_brier_score, y, y)
        mean = _defined(partial(score, 1.0 - card.risks(totals, grid), grid))
        alike = kaplan_meier(time, rows.event, rows.entry, np.ones(len(time)), grid)
        none = _defined(partial(score, np.tile(alike, (len(y), 1)), grid))
        found.append(["Brier score, integrated", span, mean])
        found.append(["the same, one curve for all", span, none])
    if rows.entry.any():
        found.append(["These figures leave out of account when rows came", "", ""])
    return [["Figure", "", "Value"], *found]


def calibration_of(rows: TimedRows, time: float) -> Lines:
    """Stated risks beside Kaplan and Meier's with their 95 % intervals, by lifelines."""
    risks = rows.card.risks(rows.totals, [time])
    found: Lines = [["Totals", "Rows", "stated", "seen", "95 %"]]
    for totals, own in rows.thirds:
        fit, seen = _curve(rows, own, timeline=[time]), ["", ""]
        if rows.time[own].max() >= time:  # beyond, lifelines draws the last share on
            low, high = 1.0 - fit.confidence_interval_survival_function_.to_numpy()[-1][::-1]
            seen = [f"{1.0 - float(fit.predict(time)):.1%}", f"{low:.1%} to {high:.1%}"]
        found.append([totals, str(int(own.sum())), f"{risks[own].mean():.1%}", *seen])
    return found


def proportionality_of(rows: TimedRows) -> Lines:
    """Schoenfeld's residuals against time, line by line, of Cox's model of the lines."""
    found: Lines = [["Line", "", "Hazard ratio, free", "p"]]
    lines = rows.lines.loc[:, rows.lines.nunique() > 1]
    if not len(lines.columns) or not rows.event.any():
        return found
    lifelines, statistics = _module("lifelines"), _module("lifelines.statistics", "lifelines")
    frame, late = lines.assign(_time=rows.time, _event=rows.event), {}
    if rows.entry.any():
        frame, late = frame.assign(_entry=rows.entry), {"entry_col": "_entry"}
    model = lifelines.CoxPHFitter(penalizer=1e-6).fit(frame, "_time", "_event", **late)
    ps: dict[str, float] = {}
    if not late:  # lifelines has no residuals of rows that come late
        tests = statistics.proportional_hazard_test(model, frame, "rank")
        ps = dict(zip(tests.name, np.atleast_1d(tests.p_value).tolist(), strict=True))
    ratios = np.exp(model.params_)
    for name in map(str, lines.columns):
        p = ps.get(name, math.nan)
        tested = "not tested" if math.isnan(p) else f"{p:.3f}"
        found.append([name, "", f"{ratios[name]:.2f}", tested])
    if late:
        found.append(["Rows that come late leave no residuals to test by", "", "", ""])
    return found


def subgroups_of(rows: TimedRows, X: Any, by: Any) -> tuple[str, Lines]:
    """Order, and stated risks beside Kaplan and Meier's, for each subgroup."""
    table = X if isinstance(X, pd.DataFrame) else None
    name, values = named_values(by, table, len(rows.time))
    heads = [text for t in rows.card.times for text in (f"stated by {number(t)}", "seen")]
    found: Lines = [["Subgroup", "Rows", "Events", "C, Harrell", *heads]]
    risks = rows.card.risks(rows.totals)
    for level, own in splitter(values)(values):
        time, event, weight = rows.time[own], rows.event[own], np.ones(int(own.sum()))
        free = kaplan_meier(time, event, rows.entry[own], weight, rows.card.times)
        order = _defined(partial(concordance, event, time, rows.totals[own]))
        each = [
            text
            for stated, seen in zip(risks[own].mean(axis=0), 1.0 - free, strict=True)
            for text in (f"{stated:.1%}", "" if np.isnan(seen) else f"{seen:.1%}")
        ]
        found.append([level, str(len(time)), str(int(event.sum())), order, *each])
    return f"Subgroups by {name}", found


def curves_of(rows: TimedRows) -> str:
    """Kaplan and Meier's curves by thirds of the totals, rows at risk below, by lifelines."""
    plotting = _module("lifelines.plotting", "lifelines")
    figure, ax = axes()
    fits = []
    for (totals, own), colour in zip(rows.thirds, PALETTE, strict=False):
        fit = _curve(rows, own, label=f"total {totals}")
        fits.append(fit.plot_survival_function(ax=ax, color=colour) and fit)
    ax.set_ylim(0.0, 1.0)
    plotting.add_at_risk_counts(*fits, ax=ax, rows_to_show=["At risk"])
    said = "Share of rows without an event over time, for each third of the totals."
    return chart_of(figure, "fig-curves", "Kaplan-Meier curves", said).svg


def net_benefit(rows: TimedRows, time: float, thresholds: Sequence[float]) -> FloatArray:
    """Net benefit of acting from each stated risk on, and of always acting, shape (2, V)."""
    # The share with an event among the rows acted on is Kaplan and Meier's (Vickers, Cronin, Elkin
    # & Gonen, "Extensions to decision curve analysis", BMC Medical Informatics 8, 2008); NaN where
    # none of them was seen up to the time.
    risk = rows.card.risks(rows.totals, [time])[:, 0]
    found = np.zeros((2, len(thresholds)))
    for v, p in enumerate(thresholds):
        for k, acted in enumerate((risk >= p, np.ones(len(risk), dtype=bool))):
            if acted.any():
                own = rows.time[acted], rows.event[acted], rows.entry[acted]
                free = float(kaplan_meier(*own, np.ones(int(acted.sum())), [time])[0])
                found[k, v] = acted.mean() * (1.0 - free - free * p / (1.0 - p))
    return found


def benefit_of(rows: TimedRows, time: float) -> str:
    """The decision curve at a time."""
    thresholds = np.linspace(0.01, 0.99, 99)
    card, everyone = net_benefit(rows, time, thresholds.tolist())
    figure, ax = axes()
    ax.plot(thresholds, card, color=PALETTE[0], label="the card")
    ax.plot(thresholds, everyone, color=PALETTE[1], linestyle="--", label="act on all")
    ax.axhline(0.0, color="0.55", linestyle=":", label="act on none")
    ax.set_ylim(-0.05, max(0.05, 1.1 * float(np.nanmax([card, everyone], initial=0.0))))
    ax.set_xlabel("risk from which one would act")
    ax.set_ylabel("net benefit")
    ax.legend(frameon=False)
    said = "Net benefit of acting by the card, on all and on none, by the risk that asks for it."
    return chart_of(figure, "fig-benefit", "Decision curve", said).svg


def _curve(rows: TimedRows, own: BoolArray, **given: Any) -> Any:
    """Return Kaplan and Meier's curve of some rows, by lifelines."""
    refused = _module("lifelines.exceptions", "lifelines").StatError
    try:
        return _module("lifelines").KaplanMeierFitter().fit(
            rows.time[own], rows.event[own], entry=rows.entry[own], **given
        )  # fmt: skip
    except refused as error:
        raise DataError(
            f"too few rows are seen at once for a curve of those with equal totals ({error}): give "
            "more rows, or leave out the entries"
        ) from error


def _defined(measure: Callable[[], Any]) -> str:
    """Return a figure, the first where there are several, or that the rows do not define it."""
    try:
        found = measure()
    except ValueError:  # so scikit-survival says it
        return "not defined"
    value = float(np.ravel(found[0] if isinstance(found, tuple) else found)[0])
    return "not defined" if math.isnan(value) else f"{value:.4f}"


def _module(name: str, package: str = "") -> Any:
    """Return a module of an optional package."""
    need = f"this page needs {package or name}: pip install 'milpscore[survival]'"
    return optional(name, need)
