"""The one function of this room: a card, its proof and its figures as a page."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from milpscore._version import __version__
from milpscore.certificate import Certificate, Verification
from milpscore.comparison import Comparison
from milpscore.core.errors import DataError
from milpscore.core.program import Program
from milpscore.core.result import Result
from milpscore.core.writing import printable, write_text
from milpscore.scorecard import Scorecard, rendering
from milpscore.scorecard.questions import order_of_rows
from milpscore_show.plots.drawing import Results, results_of
from milpscore_show.report import BOOTSTRAPS, _charts as charts, tables
from milpscore_show.report.figures import MOST_TOTALS, Cuts, calibration_of, cuts_of
from milpscore_show.report.measures import DRAWS, Gathered, performance_of
from milpscore_show.report.proof import Proof, proof_of
from milpscore_show.report.refits import Refits, refits_of, why_not
from milpscore_show.report.subject import Subject, subject_of
from milpscore_show.report.tripod import ticked

ONE_COLUMN, ONE_PAGE = 16, 34
"""Lines of a card and its risks that fit on a page at full size, and at a small one.

A longer card is printed smaller still, and in two columns.
"""

MOST_ASKED = 10
"""Features of a card whose orders are compared for the form."""

WARNING = "Not for clinical use before external validation."


def report(
    card: Scorecard | Certificate,
    X: Any,
    y: Any = None,
    *,
    path: str | Path | None = None,
    validation: Sequence[Any] | None = None,
    by: Any = None,
    risk_groups: Sequence[float] | None = None,
    certificate: Certificate | None = None,
    program: Program | None = None,
    result: Result | None = None,
    comparison: Comparison | None = None,
    pool: Any = None,
    verification: Verification | None = None,
    sample_weight: Any = None,
    class_weight: Any = None,
    title: str | None = None,
    outcome: str | None = None,
    population: str | None = None,
    author: str | None = None,
    date: str | None = None,
    bootstraps: int = BOOTSTRAPS,
    random_state: int = 0,
    progress: bool | None = None,
) -> str:
    """Write one self-contained HTML page about a card.

    The card stands first, with boxes that add up, and prints on a page of its own. Below it: what
    is proved, in a number derived from the bound; whom the data describe; how the card does, with
    intervals and corrected for optimism; calibration, risk groups, decision curve, subgroups; what
    stays of the card on other samples; a comparison and a pool where they are given; which items of
    TRIPOD the page answers; and the fingerprints of everything. The page loads nothing.

    Parameters
    ----------
    card : Scorecard or Certificate
    X : Design, DataFrame or array of shape (n, number of features)
        The data to report on. Where they have another fingerprint than the card's, the page says
        so, computes its figures from them, and claims nothing.
    y : array of shape (n,), the labels; None with a Design
    path : str or Path, optional
        Where to write the page, in UTF-8.
    validation : (X, y) or (X, y, sample_weight), optional
        Other rows, whose figures stand beside those of the data.
    by : str or array of shape (n,), optional
        Subgroups to show apart: a column of the tables, or a value for each row of the data. A
        number of many values is cut in thirds. For an array with a ``name`` the validation data
        have a column of that name.
    risk_groups : sequence of float, optional
        The risks at which a group begins, such as (0.05, 0.2). Default: those whose odds are half
        and twice the odds of the share of positives.
    certificate : Certificate, optional
        The card's; it says which cards the bound covers, and how to make the card again.
    program : Program, optional
        The program of the card, which says the same.
    result : Result, optional
        Of the solve, for its bound over time.
    comparison : Comparison, optional
        Of :func:`milpscore.compare`.
    pool : Pool, optional
        Of :func:`milpscore.pools.pool`.
    verification : Verification, optional
        Of :func:`milpscore.certificate.verify_certificate` on the same data.
    sample_weight, class_weight :
        As they were given to the builder; None with a Design.
    title, outcome : str, optional
        What stands above the card, and what a positive answer says; default: the card's own.
    population, author, date : str, optional
        Of whom, by whom and when; the date is today's unless given.
    bootstraps : int
        Samples of the rows on which the card is made again by fast mode, for the optimism of its
        figures and the stability of its features; 0: none. Ctrl-C ends it, and what there is
        counts. It needs the card's own data, and certificate or program.
    random_state : int
        Seed of the bootstraps.
    progress : bool, optional
        Show a progress line; default: in a terminal.

    Returns
    -------
    str
        The page.

    Raises
    ------
    DataError
        The data lack a feature with points or have other labels; card, certificate and program are
        not of one solve; the validation data are the card's own; ``by`` names no column.
    NotApplicableError
        ``card``, ``comparison`` or ``pool`` is something else.
    OptionError
        ``bootstraps`` is not a whole number, or ``risk_groups`` are not ascending risks.

    Examples
    --------
    >>> milpscore.report.report(clf.scorecard_, X, y, path="report.html")    # doctest: +SKIP
    """
    subject = subject_of(
        card, X, y, sample_weight=sample_weight, class_weight=class_weight,
        certificate=certificate, program=program,
    )  # fmt: skip
    subject = replace(subject, card=subject.card.with_words(None, title=title, outcome=outcome))
    subjects = {"Development" if subject.same_data else "These data": subject}
    if validation is not None:
        subjects["Validation"] = _validated(subject, validation, class_weight)
    named = None if pool is None else _pool_part(pool)
    refused = why_not(subject, bootstraps)
    refits = None if refused else refits_of(subject, bootstraps, random_state, progress)
    again = refits if refits and refits.made else None
    rows = {name: tables.gathered(each) for name, each in subjects.items()}
    checks, remarks = tables.checks_table(subject)
    results = {} if comparison is None else comparison.results
    proof = proof_of(subject, verification)
    known = {"population": population, "outcome": subject.card.outcome, "program": subject.program,
            "refits": again, "validation": validation,
            "subgroups": by is not None}  # fmt: skip
    there = {"card", "data", "performance", *(name for name, v in known.items() if v)}
    there |= {"certificate"} if subject.record.get("claim") is not None else set()
    page: str = rendering.templates("milpscore_show.report")("page.html").render(
        version=__version__,
        dash=tables.DASH,
        warning=WARNING,
        card_style=rendering.card_style(),
        subject=subject,
        subjects=subjects,
        about={
            "Outcome": rendering.answers(subject.card)[1],
            "Population": population or "not stated",
            "Author": author or "not stated",
            "Date": date or datetime.date.today().isoformat(),
        },
        several=len(subjects) > 1,
        weighted=[name for name, each in subjects.items() if each.weighted],
        **_card_part(subject, proof),
        power=tables.power_table(subject.card),
        rungs=tables.rungs_table(subject.record),
        sites=tables.sites_table(subject.record),
        parts=None if verification is None else tables.parts_table(verification),
        people=tables.population_tables(subjects),
        checks=checks,
        remarks=remarks,
        **_figures_part(subjects, rows, again, random_state),
        **_groups_part(subjects, rows, risk_groups),
        subgroups=[]
        if by is None
        else tables.subgroups_tables(subjects, by, random_state).values(),
        refused=refused,
        refits=refits,
        **_stability_part(subject, again, pool),
        **_comparison_part(comparison, results if result is None else results_of(result)),
        pool=named,
        tripod=ticked(there),
        hashes=_hashes(subjects, certificate if isinstance(card, Scorecard) else card),
    )
    if path is not None:
        write_text(path, page)
    return page


def _validated(subject: Subject, validation: Sequence[Any], class_weight: Any) -> Subject:
    """The same card beside other rows."""
    if len(validation) not in (2, 3):
        raise DataError("validation is (X, y), or (X, y, sample_weight)")
    X, y, *weights = validation
    other = subject_of(
        subject.card, X, y, sample_weight=weights[0] if weights else None,
        class_weight=class_weight,
    )  # fmt: skip
    if other.design.fingerprint == subject.design.fingerprint:
        raise DataError("the validation data are the rows reported on: give others, or leave it")
    return other


def _hashes(subjects: Mapping[str, Subject], certificate: Certificate | None) -> dict[str, str]:
    """Return what identifies the card, its data and its certificate."""
    subject = next(iter(subjects.values()))
    card = subject.card
    found = {
        "Card (SHA-256 of its JSON)": hashlib.sha256(card.to_json().encode()).hexdigest(),
        "Data of the card": card.fingerprint or tables.DASH,
        "Data given here": subject.design.fingerprint,
        "Fingerprints": {None: "the card names none", True: "the same", False: "different"}[
            subject.same_data
        ],
    }
    if len(subjects) > 1:
        found["Validation data"] = list(subjects.values())[1].design.fingerprint
    if certificate is not None:
        found["Certificate"] = certificate.digest
    return found


def _card_part(subject: Subject, proof: Proof) -> dict[str, Any]:
    """The card as it is printed, what its boxes add up to, and what is proved of it."""
    card = subject.card
    lines = sum(map(len, card.rows)) + (len(card.risk.edges) + 1 if card.risk else 0)
    size = "" if lines <= ONE_COLUMN else (" dense" if lines <= ONE_PAGE else " long")
    foot = [*rendering.reading_sentences(card), proof.headline, *([proof.own] if proof.own else [])]
    if card.risk is not None:
        foot.append("Blue bars: the stated risk.")
    foot += _asked(subject)
    sheet = rendering.card_html(card, foot, styled=False)
    return {
        "title": printable(card.title), "size": size, "sheet": sheet, "proof": proof,
        "boxes_json": _in_script(_boxes(card)),
    }  # fmt: skip


def _asked(subject: Subject) -> list[str]:
    """The order of questions that decides soonest, if every question has an end."""
    card, design = subject.card, subject.design
    used = {j for j, points in enumerate(card.points) if points}
    numbers = {j for j in used if card.columns[j].kind == "numeric"}
    if numbers - {*card.flags} or not 2 <= len(card.used_features) <= MOST_ASKED:
        return []
    values = np.zeros((len(design.y), len(card.columns)))
    values[:, [*used]] = design.X[:, [design.names.index(card.columns[j].name) for j in used]]
    return [order_of_rows(card, values, design.weight).sentence]


def _boxes(card: Scorecard) -> dict[str, Any]:
    """Return per printed line its points, whether it counts by the unit, and what it excludes."""
    kept = [
        [(k, row) for k, (rows, full) in enumerate(zip(each.groups, each.in_full, strict=True))
         for row in rows if full or row.points]
        for each in card.lines if each.printed
    ]  # fmt: skip
    kept += [[] for _ in card.rows[len(kept) :]]  # the line of what is missing anywhere
    features = [
        [{"points": row.points, "unit": row.kind == "numeric", "group": k,
          "says": f"{row.feature} {row.condition}"}
         for k, row in [*own, *((-1, row) for row in printed if row.kind == "missing")]]
        for own, printed in zip(kept, card.rows, strict=True)
    ]  # fmt: skip
    negative, positive = rendering.answers(card)
    risk = None
    if card.risk is not None and card.risk.link == "logistic":
        risk = [float(card.fitted_rule.threshold), card.risk.scale]
    whole = rendering.attainable_totals(card) is not None
    return {"features": features, "cut": float(rendering.least_positive(card)), "risk": risk,
            "answers": [negative, positive], "tolerance": 0 if whole else 1e-9}  # fmt: skip


def _in_script(content: Any) -> str:
    """JSON inside a script element, which a "<" could close."""
    return json.dumps(content, ensure_ascii=True).replace("<", "\\u003c")


def _stability_part(subject: Subject, again: Refits | None, pool: Any) -> dict[str, Any]:
    """The tables of what the cards made again choose and state."""
    return {
        "stability": again and tables.stability_table(subject, again, pool),
        "again": again and tables.again_table(subject, again),
    }


def _figures_part(
    subjects: Mapping[str, Subject], rows: Mapping[str, Gathered], again: Refits | None,
    random_state: int,
) -> dict[str, Any]:  # fmt: skip
    """Measures, charts, the confusion matrix and the other thresholds."""
    first, subject = next(iter(subjects.items()))
    several = len(subjects) > 1
    done = {name: performance_of(given, random_state) for name, given in rows.items()}
    found, areas = {}, {}
    for name, (figures, roc) in done.items():
        found[name], areas[name] = figures, (rows[name], roc, figures["auc"])
    cuts = cuts_of(subject)
    curve, totals = charts.roc_chart(areas, cuts), charts.totals_chart(subject, cuts)
    negative, positive = subject.names
    own = [_answer(subject, cuts, k, curve, totals) for k in range(len(cuts.thresholds))]
    agreement = None
    if subject.card.risk is not None:
        agreement = charts.agreement_chart(
            rows, {name: each["ici"] for name, each in found.items()}
        )
    return {
        "positive": positive,
        "negative": negative,
        "measures": tables.measures_table(found, again, first),
        "cuts": own,
        "own": own[cuts.own],
        "own_cut": cuts.own,
        "cuts_json": _in_script(own),
        "thresholds": tables.thresholds_table(subject, cuts),
        "totals_chart": totals,
        "roc_chart": curve,
        "agreement_chart": agreement,
        "shares_chart": charts.calibration_chart(subject, *calibration_of(subject)),
        "shares": [
            tables.shares_table(each, *calibration_of(each, MOST_TOTALS), name * several)
            for name, each in subjects.items()
        ],
        "draws": DRAWS,
        "seed": random_state,
    }  # fmt: skip


def _groups_part(
    subjects: Mapping[str, Subject], rows: Mapping[str, Gathered], asked: Sequence[float] | None
) -> dict[str, Any]:
    """Risk groups, cuts, and what acting by the card is worth."""
    groups, cuts = tables.groups_tables(subjects, rows, asked)
    return {
        "groups": groups, "cuts_table": cuts, "benefit_chart": charts.benefit_chart(rows),
        "benefits": tables.benefits_table(rows),
        "worth": [f"{name}. {charts.worth(given)}" if len(rows) > 1 else charts.worth(given)
                  for name, given in rows.items()],
    }  # fmt: skip


def _answer(
    subject: Subject, cuts: Cuts, k: int, curve: charts.Chart, totals: charts.Chart
) -> dict[str, Any]:
    """What the script shows at the k-th threshold."""
    label = tables.threshold_label(subject, cuts, k)
    own = " This is the card's threshold." if k == cuts.own else ""
    on_curve, on_totals = (np.round(each.moves[k], 1).tolist() for each in (curve, totals))
    return {
        "label": label,
        "text": f"Positive: {label}. Sensitivity {cuts.sensitivity[k]:.1%}, specificity "
        f"{cuts.specificity[k]:.1%}, error {cuts.error[k]:.1%}.{own}",
        "tp": int(cuts.true_positive[k]),
        "fp": int(cuts.false_positive[k]),
        "fn": int(cuts.false_negative[k]),
        "tn": int(cuts.true_negative[k]),
        "roc": on_curve,
        "totals": on_totals,
    }


def _comparison_part(comparison: Comparison | None, results: Results) -> dict[str, Any]:
    """Exact against relaxed, and bounds over time, as far as they are given."""
    compared = None
    if comparison is not None:
        table = tables.comparison_table(comparison.table)
        failures = comparison.table.query("claim == 'none' and message != ''").to_dict("records")
        notes = [f"{row['formulation']}: {row['message']}" for row in failures]
        compared = {"table": table, "notes": notes}
    solved = []
    for k, name in enumerate(dict.fromkeys(name for name, _ in results)):
        chart = charts.bounds_chart(results, name, f"fig-bounds-{k}")
        if chart is not None:
            solved.append((chart, name.replace("_", "-")))
    return {"compared": compared, "solved": solved}


def _pool_part(pool: Any) -> dict[str, Any]:
    """Ranges over the nearly optimal cards."""
    table = tables.pool_table(pool)
    missing = getattr(pool, "missing", None)
    known = f": {printable(missing)}" if isinstance(missing, str) else ""
    lie = "card lies" if len(pool) == 1 else "cards lie"
    return {
        "table": table,
        "said": (
            f"{len(pool)} {lie} within {pool.epsilon:.3g} of the best one, relatively{known}.",
            "Reliance: how much the mean loss of a card rises once the column has no points and "
            "the threshold is set anew.",
        ),
    }
