"""The page put together: the card first, then its proof, then how it does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from pandas import DataFrame

from milpscore._version import __version__
from milpscore.certificate import Verification
from milpscore.plots.drawing import Results
from milpscore.report import _tables as tables
from milpscore.report._charts import (
    bounds_chart,
    calibration_chart,
    calibration_of,
    cut_places,
    histogram_chart,
    roc_chart,
)
from milpscore.report._checks import checks_of
from milpscore.report._curves import Cuts, cuts_of, histogram_of, roc_of
from milpscore.report._proof import Proof, proof_of
from milpscore.report._style import SCRIPT, STYLE
from milpscore.report._subject import Subject
from milpscore.report._svg import Chart
from milpscore.report._words import DASH
from milpscore.scorecard.renderers import card_sheet
from milpscore.scorecard.risks import risk_columns
from milpscore.scorecard.rows import printable

ONE_COLUMN, ONE_PAGE = 16, 34
"""Lines of a card and its risks that fit on a page at full size, and at a small one.

A longer card is printed smaller still, and in two columns.
"""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


@dataclass(frozen=True)
class Extras:
    """What a page shows beside the card and the data, as far as it is given."""

    comparison: DataFrame | None = None
    results: Results | None = None
    pool: Any = None
    verification: Verification | None = None
    random_state: int = 0


def page_of(subject: Subject, extras: Extras) -> str:
    """The whole page as HTML text."""
    proof = proof_of(subject, extras.verification)
    title = escape(printable(subject.card.title))
    sections = [
        _card(subject, proof),
        _certificate(subject, proof, extras),
        _performance(subject, extras.random_state),
        _comparison(extras),
        _pool(extras.pool),
        _data(subject),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(sections)
        + f"</main>\n<footer><p>Made by milpscore {escape(__version__)}. This page holds "
        "everything it shows and loads nothing.</p></footer>\n"
        f"<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def _section(key: str, title: str, body: str) -> str:
    """A section under its heading."""
    return (
        f'<section id="{key}" aria-labelledby="{key}-head">\n<h2 id="{key}-head">{escape(title)}'
        f"</h2>\n{body}</section>\n"
    )


def _paragraphs(sentences: Sequence[str]) -> str:
    """Plain sentences, one paragraph each."""
    return "".join(f"<p>{escape(sentence)}</p>\n" for sentence in sentences)


def _card(subject: Subject, proof: Proof) -> str:
    """The card as it is printed."""
    card = subject.card
    lines = sum(map(len, card.rows)) + len(risk_columns(card))
    size = "" if lines <= ONE_COLUMN else (" dense" if lines <= ONE_PAGE else " long")
    foot = [proof.headline, *([proof.own] if proof.own else [])]
    if card.fingerprint:
        foot.append(f"Data: SHA-256 {card.fingerprint[:16]}…")
    return (
        f'<section class="card{size}" aria-labelledby="card-head">\n'
        f'<h1 id="card-head">{escape(printable(card.title))}</h1>\n{card_sheet(card, foot)}'
        "</section>\n"
    )


def _certificate(subject: Subject, proof: Proof, extras: Extras) -> str:
    """What is proved, and on which data."""
    said = [*([proof.own] if proof.own else []), *proof.sentences]
    warn = proof.standing in ("other data", "contradicted")
    kind = "warn" if warn else proof.standing
    head = escape(proof.headline)
    if warn:
        head = f"<strong>{head}</strong>"
    body = (
        f'<div class="proof {kind}">\n<p>{head}</p>\n{_paragraphs(said)}</div>\n'
        f"{_fingerprints(subject)}"
    )
    if extras.verification is not None:
        rows = [(part.name, part.status, part.sentence) for part in extras.verification.parts]
        body += tables.table(
            "The certificate, part by part", ("Part", "Status", "Why"), rows, words=3
        )
    return _section("certificate", "What is proved", body)


def _fingerprints(subject: Subject) -> str:
    """The fingerprints of card and data."""
    same = subject.same_data
    answer = "the card names none" if same is None else ("the same" if same else "different")
    return (
        f"<dl><dt>Data of the card</dt><dd>{escape(subject.card.fingerprint or DASH)}</dd>\n"
        f"<dt>Data given here</dt><dd>{escape(subject.design.fingerprint)}</dd>\n"
        f"<dt>Fingerprints</dt><dd>{answer}</dd></dl>\n"
    )


def _performance(subject: Subject, random_state: int) -> str:
    """Charts, the confusion matrix and the other thresholds."""
    cuts, roc = cuts_of(subject), roc_of(subject, random_state)
    found, shares = histogram_of(subject), calibration_of(subject)
    roc_figure, totals_figure = roc_chart(roc, cuts), histogram_chart(subject, found, cuts)
    shares_figure = calibration_chart(subject, shares)
    stated = subject.card.risk is not None
    note = " Shares and areas weigh the rows." if subject.weighted else ""
    trained = " These are the rows the card was made from." if subject.same_data else ""
    shares_note = (
        "Dots: observed share, with Wilson's 95 % interval; their size grows with the rows."
    )
    if stated:
        shares_note += " Line: the risk the card states."
    figures = [
        _figure(totals_figure, "Rows at each total, by class. Dashed: the threshold."),
        _figure(
            roc_figure,
            f"Band: pointwise 95 %, {roc.draws} bootstrap draws of rows, seed {random_state}. "
            "Dot: the threshold.",
        ),
        _figure(shares_figure, shares_note),
    ]
    places = cut_places(subject, found, cuts)
    data = _cut_data(subject, cuts, roc_figure, totals_figure, places)
    return _section(
        "performance",
        "How it does on these data",
        f"<p>Everything here was computed from the data given.{trained}{note}</p>\n"
        f'<div class="pair">\n<div>\n<h3>Answers at the threshold</h3>\n'
        f"{tables.confusion_table(subject, cuts)}{_slider(cuts, data)}</div>\n{figures[0]}"
        f"</div>\n<details><summary>All thresholds as a table</summary>\n"
        f"{tables.thresholds_table(subject, cuts)}</details>\n"
        f'<div class="pair">\n{figures[1]}{figures[2]}</div>\n'
        f"<details><summary>Observed shares as a table</summary>\n"
        f"{tables.calibration_rows(subject, shares)}</details>\n",
    )


def _figure(chart: Chart, caption: str) -> str:
    """A chart with its caption."""
    return f"<figure>\n{chart.svg()}\n<figcaption>{escape(caption)}</figcaption></figure>\n"


def _cut_data(
    subject: Subject, cuts: Cuts, roc: Chart, totals: Chart, places: Any
) -> list[dict[str, Any]]:
    """What the script shows at each threshold."""
    cx, cy, x = roc.across(1 - cuts.specificity), roc.down(cuts.sensitivity), totals.across(places)
    made = []
    for k in range(len(cuts.thresholds)):
        label = tables.threshold_label(subject, cuts, k)
        own = " This is the card's threshold." if k == cuts.own else ""
        made.append(
            {
                "label": label,
                "text": f"Positive: {label}. Sensitivity {cuts.sensitivity[k]:.1%}, specificity "
                f"{cuts.specificity[k]:.1%}, error {cuts.error[k]:.1%}.{own}",
                "tp": int(cuts.true_positive[k]),
                "fp": int(cuts.false_positive[k]),
                "fn": int(cuts.false_negative[k]),
                "tn": int(cuts.true_negative[k]),
                "cx": f"{cx[k]:.1f}",
                "cy": f"{cy[k]:.1f}",
                "x": f"{x[k]:.1f}",
            }
        )
    return made


def _slider(cuts: Cuts, data: list[dict[str, Any]]) -> str:
    """The answer at the card's threshold in words, and a slider that a script brings to life."""
    # a "<" inside a script element could close it
    text = json.dumps(data, ensure_ascii=True).replace("<", "\\u003c")
    last = len(cuts.thresholds) - 1
    return (
        f'<div class="slider" id="slider" hidden>\n<label for="cut">Try another threshold</label>\n'
        f'<input type="range" id="cut" min="0" max="{last}" step="1" value="{cuts.own}" '
        f'data-own="{cuts.own}" aria-describedby="cut-answer">\n'
        '<p><button type="button" id="cut-back">Back to the threshold of the card</button></p>\n'
        "</div>\n"
        f'<p><output id="cut-answer" for="cut" aria-live="polite">{escape(data[cuts.own]["text"])}'
        "</output></p>\n"
        f'<script type="application/json" id="cuts">{text}</script>\n'
    )


def _comparison(extras: Extras) -> str:
    """Exact against relaxed, and bounds over time, as far as they are given."""
    if extras.comparison is None and extras.results is None:
        return ""
    body = "" if extras.comparison is None else tables.comparison_table(extras.comparison)
    results = extras.results or {}
    names = list(dict.fromkeys(name for name, _ in results))
    charts = [bounds_chart(results, name, f"fig-bounds-{k}") for k, name in enumerate(names)]
    drawn = [
        _figure(
            chart,
            f"{names[k].replace('_', '-')}. Solid: the best card so far. Dashed: the proven bound. "
            "Between them lies what is open."
            + (" Dotted: the LP's bound." if (names[k], "relaxed") in results else ""),
        )
        for k, chart in enumerate(charts)
        if chart is not None
    ]
    if drawn:
        body += f'<h3>Bound over time</h3>\n<div class="pair">\n{"".join(drawn)}</div>\n'
    else:
        body += '<p class="note">No progress of a solve was handed over to draw.</p>\n'
    head = "The solve" if extras.comparison is None else "Exact against relaxed"
    return _section("comparison", head, body)


def _pool(pool: Any) -> str:
    """Ranges over the nearly optimal cards."""
    if pool is None:
        return ""
    missing = getattr(pool, "missing", None)
    known = f": {missing}" if isinstance(missing, str) else ""
    one = len(pool) == 1
    said = [
        f"{len(pool)} card{' lies' if one else 's lie'} within {pool.epsilon:.3g} of the best one, "
        f"relatively{known}.",
        "Reliance: how much the mean loss of a card rises once the column has no points and the "
        "threshold is set anew.",
    ]
    body = _paragraphs([printable(sentence) for sentence in said]) + tables.pool_table(pool)
    return _section("pool", "Nearly as good cards", body)


def _data(subject: Subject) -> str:
    """The data checks."""
    checks = checks_of(subject)
    said = []
    if checks.contradicted:
        said.append(
            f"{checks.contradicted} rows have the values of a row of the other class: no rule on "
            "these columns answers all of them rightly."
        )
    if subject.absent:
        said.append(
            f"These data lack {len(subject.absent)} feature(s) the card knows and gives no points."
        )
    body = _paragraphs(said) + tables.checks_table(checks, subject)
    return _section("data", "The data", body)
