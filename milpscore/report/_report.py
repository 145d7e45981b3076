"""The one function of this room: a card, its proof and its figures as a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from milpscore._version import __version__
from milpscore.certificate import Certificate, Verification
from milpscore.comparison import Comparison
from milpscore.core.result import Result
from milpscore.core.statement import Statement
from milpscore.plots.drawing import Results, results_of
from milpscore.report import _tables as tables
from milpscore.report._charts import (
    Chart,
    bounds_chart,
    calibration_chart,
    moves_of,
    roc_chart,
    totals_chart,
)
from milpscore.report.figures import Cuts, calibration_of, checks_of, cuts_of, histogram_of, roc_of
from milpscore.report.proof import Proof, proof_of
from milpscore.report.subject import Subject, subject_of
from milpscore.scorecard import Scorecard
from milpscore.scorecard.rendering import card_html, card_style, printable, templates

ONE_COLUMN, ONE_PAGE = 16, 34
"""Lines of a card and its risks that fit on a page at full size, and at a small one.

A longer card is printed smaller still, and in two columns.
"""


def report(
    card: Scorecard | Certificate,
    X: Any,
    y: Any = None,
    *,
    path: str | Path | None = None,
    certificate: Certificate | None = None,
    statement: Statement | None = None,
    result: Result | None = None,
    comparison: Comparison | None = None,
    pool: Any = None,
    verification: Verification | None = None,
    sample_weight: Any = None,
    class_weight: Any = None,
    random_state: int = 0,
) -> str:
    """Write one self-contained HTML page about a card.

    The card stands first and prints on a page of its own. Below it: what is proved, in a number
    derived from the bound; what the card answers on the data, with bands; a comparison and a pool
    where they are given; and what the data are like. The page loads nothing.

    Parameters
    ----------
    card : Scorecard or Certificate
    X : Design, DataFrame or array of shape (n, number of features)
        The data to report on. Where they have another fingerprint than the card's, the page says
        so, computes its figures from them, and claims nothing.
    y : array of shape (n,), the labels; None with a Design
    path : str or Path, optional
        Where to write the page, in UTF-8.
    certificate : Certificate, optional
        Of the card; it tells which cards the bound speaks of.
    statement : Statement, optional
        ``program.statement``, which tells the same.
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
    random_state : int
        Seed of the bootstrap.

    Returns
    -------
    str
        The page.

    Raises
    ------
    DataError
        The data lack a feature with points or have other labels, or card, certificate and
        statement are not of one solve.
    NotApplicableError
        ``card``, ``comparison`` or ``pool`` is something else.

    Examples
    --------
    >>> milpscore.report.report(clf.scorecard_, X, y, path="report.html")    # doctest: +SKIP
    """
    subject = subject_of(
        card,
        X,
        y,
        sample_weight=sample_weight,
        class_weight=class_weight,
        certificate=certificate,
        statement=statement,
    )
    results = {} if comparison is None else comparison.results
    page: str = templates("milpscore.report")("page.html").render(
        version=__version__,
        dash=tables.DASH,
        card_style=card_style(),
        subject=subject,
        **_card_part(subject, proof_of(subject, verification)),
        parts=None if verification is None else tables.verification_table(verification),
        **_figures_part(subject, random_state),
        **_comparison_part(comparison, results if result is None else results_of(result)),
        pool=None if pool is None else _pool_part(pool),
        **_data_part(subject),
    )
    if path is not None:
        Path(path).write_text(page, encoding="utf-8")
    return page


def _card_part(subject: Subject, proof: Proof) -> dict[str, Any]:
    """The card as it is printed, and what is proved of it."""
    card = subject.card
    lines = sum(map(len, card.rows)) + (len(card.risk.edges) + 1 if card.risk else 0)
    size = "" if lines <= ONE_COLUMN else (" dense" if lines <= ONE_PAGE else " long")
    foot = [proof.headline, *([proof.own] if proof.own else [])]
    if card.fingerprint:
        foot.append(f"Data: SHA-256 {card.fingerprint[:16]}\u2026")
    title = printable(card.title)
    return {
        "title": title,
        "size": size,
        "sheet": card_html(card, foot, styled=False),
        "proof": proof,
    }


def _figures_part(subject: Subject, random_state: int) -> dict[str, Any]:
    """Charts, the confusion matrix and the other thresholds."""
    cuts, roc, shares = cuts_of(subject), roc_of(subject, random_state), calibration_of(subject)
    curve, totals = roc_chart(roc, cuts), totals_chart(subject, histogram_of(subject), cuts)
    negative, positive = (printable(str(label)) for label in subject.card.classes)
    answers = [_answer(subject, cuts, k, curve, totals) for k in range(len(cuts.thresholds))]
    return {
        "positive": positive,
        "negative": negative,
        "cuts": answers,
        "own": answers[cuts.own],
        "own_cut": cuts.own,
        # a "<" inside a script element could close it
        "cuts_json": json.dumps(answers, ensure_ascii=True).replace("<", "\\u003c"),
        "thresholds": tables.thresholds_table(subject, cuts),
        "totals_chart": totals,
        "roc_chart": curve,
        "shares_chart": calibration_chart(subject, shares),
        "shares": tables.shares_table(subject, shares),
        "draws": roc.draws,
        "seed": random_state,
    }


def _answer(subject: Subject, cuts: Cuts, k: int, curve: Chart, totals: Chart) -> dict[str, Any]:
    """What the script shows at the k-th threshold."""
    label = tables.threshold_label(subject, cuts, k)
    own = " This is the card's threshold." if k == cuts.own else ""
    on_curve, on_totals = moves_of((curve, totals), k)
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
        table, notes = tables.comparison_table(comparison.table)
        compared = {"table": table, "notes": notes}
    solved = []
    for k, name in enumerate(dict.fromkeys(name for name, _ in results)):
        chart = bounds_chart(results, name, f"fig-bounds-{k}")
        if chart is not None:
            caption = (
                f"{name.replace('_', '-')}. Solid: the best card so far. Dashed: the proven bound. "
                "Between them lies what is open."
            )
            lp = " Dotted: the LP's bound." if (name, "relaxed") in results else ""
            solved.append((chart, caption + lp))
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


def _data_part(subject: Subject) -> dict[str, Any]:
    """The data checks."""
    checks, remarks = checks_of(subject), []
    if checks.contradicted:
        remarks.append(
            f"{checks.contradicted} rows have the values of a row of the other class: no rule on "
            "these columns answers all of them rightly."
        )
    if subject.absent:
        remarks.append(
            f"These data lack {len(subject.absent)} feature(s) the card knows and gives no points."
        )
    return {"remarks": remarks, "checks": tables.checks_table(checks, subject)}
