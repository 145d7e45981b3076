"""The one function of this room: a card, its proof and its figures as a page."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pandas import DataFrame

from milpscore._version import __version__
from milpscore.certificate import Certificate, Verification
from milpscore.comparison import Comparison
from milpscore.core.errors import NotApplicableError
from milpscore.core.result import Result
from milpscore.core.statement import Statement
from milpscore.plots.drawing import Results, results_of
from milpscore.report._charts import (
    Chart,
    bounds_chart,
    calibration_chart,
    moves_of,
    roc_chart,
    totals_chart,
)
from milpscore.report.figures import Cuts, calibration_of, cuts_of, histogram_of, roc_of
from milpscore.report.proof import Proof, proof_of
from milpscore.report.subject import Subject, subject_of
from milpscore.scorecard import Scorecard
from milpscore.scorecard.rendering import (
    card_html,
    card_style,
    class_names,
    exact_number,
    finite,
    least_positive,
    number,
    printable,
    reading_sentences,
    signed,
    templates,
)

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
        card, X, y, sample_weight=sample_weight, class_weight=class_weight,
        certificate=certificate, statement=statement,
    )  # fmt: skip
    results = {} if comparison is None else comparison.results
    page: str = templates("milpscore.report")("page.html").render(
        version=__version__,
        dash=DASH,
        card_style=card_style(),
        subject=subject,
        **_card_part(subject, proof_of(subject, verification)),
        parts=None if verification is None else _parts_table(verification),
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
    foot = [*reading_sentences(card), proof.headline, *([proof.own] if proof.own else [])]
    if card.fingerprint:
        foot.append(f"Data: SHA-256 {card.fingerprint[:16]}\u2026")
    sheet = card_html(card, foot, styled=False)
    return {"title": printable(card.title), "size": size, "sheet": sheet, "proof": proof}


def _figures_part(subject: Subject, random_state: int) -> dict[str, Any]:
    """Charts, the confusion matrix and the other thresholds."""
    cuts, roc, shares = cuts_of(subject), roc_of(subject, random_state), calibration_of(subject)
    curve, totals = roc_chart(roc, cuts), totals_chart(subject, histogram_of(subject), cuts)
    negative, positive = class_names(subject.card)
    answers = [_answer(subject, cuts, k, curve, totals) for k in range(len(cuts.thresholds))]
    return {
        "positive": positive,
        "negative": negative,
        "cuts": answers,
        "own": answers[cuts.own],
        "own_cut": cuts.own,
        # a "<" inside a script element could close it
        "cuts_json": json.dumps(answers, ensure_ascii=True).replace("<", "\\u003c"),
        "thresholds": thresholds_table(subject, cuts),
        "totals_chart": totals,
        "roc_chart": curve,
        "shares_chart": calibration_chart(subject, shares),
        "shares": shares_table(subject, shares),
        "draws": roc.draws,
        "seed": random_state,
    }


def _answer(subject: Subject, cuts: Cuts, k: int, curve: Chart, totals: Chart) -> dict[str, Any]:
    """What the script shows at the k-th threshold."""
    label = threshold_label(subject, cuts, k)
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
        table = comparison_table(comparison.table)
        told = comparison.table.query("claim == 'none' and message != ''").to_dict("records")
        notes = [f"{row['formulation']}: {row['message']}" for row in told]
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
    table = pool_table(pool)
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


# --- tables ---------------------------------------------------------------------------------------

DASH = "–"
"""Stands where there is no figure."""

_KINDS = {
    "relaxed": "LP relaxation",
    "randomised": "randomised rounding",
    "nearest": "nearest rounding",
    "proximal": "from a proximal path",
}
_COMPARED = {
    "formulation": ("Program", ""),
    "kind": ("Kind", ""),
    "claim": ("Claim", ""),
    "objective": ("Objective", ".5f"),
    "bound": ("Bound", ".5f"),
    "gap": ("Gap", ".1%"),
    "terms": ("Terms", ".0f"),
    "train_accuracy": ("Right", ".1%"),
    "cv_accuracy": ("Right, held out", ".1%"),
    "solve_seconds": ("Seconds", ".2f"),
}
"""Columns of a comparison: what stands above them, and the form of their figures."""

_POOLED = {
    "share": ("Cards that use it", ".0%"),
    "min_points": ("Least points", ".0f"),
    "max_points": ("Most points", ".0f"),
    "min_reliance": ("Least reliance", ".4f"),
    "max_reliance": ("Most reliance", ".4f"),
}
_MOST_ROWS = 200


@dataclass
class Table:
    """Cells made printable; the first ``words`` columns hold words, the others figures."""

    caption: str
    heads: Iterable[str]
    rows: Iterable[Iterable[str]]
    words: int = 1
    marked: int | None = None  # the row that is the card's own

    def __post_init__(self) -> None:
        self.caption, self.heads = printable(self.caption), [*map(printable, self.heads)]
        self.rows = [[*map(printable, row)] for row in self.rows]


def _in_form(row: Mapping[Any, Any], forms: Mapping[str, tuple[str, str]]) -> list[str]:
    """Figures of a row of a frame in their forms, a dash where there is none; words as they are."""
    cells = ((row[name], form) for name, (_, form) in forms.items())
    return [
        str(value) if not form
        else signed(format(float(value), form)) if finite(value) is not None
        else DASH
        for value, form in cells
    ]  # fmt: skip


def _parts_table(verification: Verification) -> Table:
    """What each part of a certificate came to."""
    rows = [(part.name, str(part.status), part.sentence) for part in verification.parts]
    return Table("The certificate, part by part", ("Part", "Status", "Why"), rows, words=3)


def threshold_label(subject: Subject, cuts: Cuts, k: int) -> str:
    """The k-th threshold in words."""
    if k == cuts.own:
        return f"{exact_number(least_positive(subject.card))} or more"
    value = float(cuts.thresholds[k])
    return f"{number(value)} or more" if math.isfinite(value) else "never"


def thresholds_table(subject: Subject, cuts: Cuts) -> Table:
    """Every threshold with its confusion counts."""
    rows = [
        (
            threshold_label(subject, cuts, k) + (" (the card)" if k == cuts.own else ""),
            *(str(int(side[k])) for side in (cuts.true_positive, cuts.false_positive,
                                             cuts.false_negative, cuts.true_negative)),
            *(f"{side[k]:.1%}" for side in (cuts.sensitivity, cuts.specificity, cuts.error)),
        )
        for k in range(len(cuts.thresholds))
    ]  # fmt: skip
    note = f"; {cuts.left_out} totals between these are left out" if cuts.left_out else ""
    heads = ("Positive from", "True positive", "False positive", "False negative",
             "True negative", "Sensitivity", "Specificity", "Error")  # fmt: skip
    return Table(f"What other thresholds would answer{note}", heads, rows, marked=cuts.own)


def shares_table(subject: Subject, found: DataFrame) -> Table:
    """The figures behind the calibration chart."""
    stated = subject.card.risk is not None
    rows = [
        (
            f"{row['total']:.6g}",
            *([f"{row['risk']:.1%}"] if stated else []),
            f"{row['observed']:.1%}",
            f"{row['lower']:.1%} to {row['upper']:.1%}",
            str(int(row["rows"])),
        )
        for row in found.to_dict("records")
    ]
    heads = ["Total", *(["Stated risk"] if stated else []), "Observed", "95 % interval", "Rows"]
    return Table("Observed share by total", heads, rows)


def comparison_table(frame: DataFrame) -> Table:
    """Exact beside relaxed beside rounded; an LP has a bound, and no claim about cards."""
    held_out = "cv_accuracy" in frame and bool(frame["cv_accuracy"].notna().any())
    forms = {k: form for k, form in _COMPARED.items() if held_out or k != "cv_accuracy"}
    lacking = forms.keys() - set(frame.columns)
    if lacking:
        raise NotApplicableError(
            f"this is not a comparison, it lacks {', '.join(sorted(lacking))}: pass the table of "
            "milpscore.compare"
        )
    shown = frame.assign(
        formulation=frame["formulation"].str.replace("_", "-"),
        kind=frame["kind"].replace(_KINDS),
        claim=frame["claim"].astype(str).mask(frame["kind"] == "relaxed", "bound only"),
    )
    rows = [_in_form(row, forms) for row in shown.to_dict("records")]
    heads = [head for head, _ in forms.values()]
    return Table("Exact programs, their relaxations, and rounded cards", heads, rows, words=3)


def pool_table(pool: Any) -> Table:
    """Ranges of points and reliance over a pool of cards."""
    ranges = getattr(pool, "importance", None)
    if not isinstance(ranges, DataFrame) or not _POOLED.keys() <= set(ranges.columns):
        raise NotApplicableError("this is not a pool of cards: pass what pools.pool returns")
    used = ranges[ranges["share"] > 0]
    records = used.head(_MOST_ROWS).to_dict("records")
    rows = [[str(used.index[k]), *_in_form(row, _POOLED)] for k, row in enumerate(records)]
    unused = len(ranges) - len(used)
    note = f"; {unused} columns have points in none" if unused else ""
    heads = ["Column", *(head for head, _ in _POOLED.values())]
    return Table(f"Ranges over the pool{note}", heads, rows)


def _data_part(subject: Subject) -> dict[str, Any]:
    """What is odd about the data in the card's columns, over the rows of positive weight."""
    design, counted = subject.design, subject.counted
    merged, weight = design.merged, design.weight
    own, every = design.rows[counted], int(design.rows.sum())
    rows, hits = int(own.sum()), int(own[subject.positive[counted]].sum())
    pairs = merged.conflicts
    conflicting = int(own[np.isin(merged.inverse[counted], pairs)].sum())
    whole = math.fsum(weight)
    lost = math.fsum(merged.weight[pairs].min(axis=1)) if len(pairs) else 0.0
    least, share = f"{lost / whole:.2%}", f"{math.fsum(weight[subject.positive]) / whole:.1%}"
    if subject.weighted:
        share += " of the weight"
    else:
        least = f"{round(lost * rows / whole)} ({least})"
    constant = np.flatnonzero(np.ptp(design.X[counted], axis=0) == 0).tolist()
    missing = "cannot be told from a design"
    if subject.missing is not None:
        missing = _names([f"{name} ({count})" for name, count in subject.missing.items()])
    weightless = every - rows
    negative, positive = class_names(subject.card)
    found = {
        "Rows": f"{every}" + f", {weightless} of weight 0" * bool(weightless),
        "Columns": design.shape[1],
        f"Class {positive}": f"{hits} ({share})",
        f"Class {negative}": rows - hits,
        "Rows that repeat an earlier one": rows - len(merged.y),
        "Different rows of values": len(merged.y) - len(pairs),
        "Rows with the values of a row of the other class": conflicting,
        "Least errors of any rule on these columns": least,
        "Constant columns": _names([design.names[j] for j in constant]),
        "Missing values": missing,
    }
    remarks = []
    if conflicting:
        remarks.append(
            f"{conflicting} rows have the values of a row of the other class: no rule on "
            "these columns answers all of them rightly."
        )
    if subject.absent:
        remarks.append(
            f"These data lack {len(subject.absent)} feature(s) the card knows and gives no points."
        )
    table = Table("Data checks", ("Check", "Found"), [(k, str(v)) for k, v in found.items()], 2)
    return {"remarks": remarks, "checks": table}


def _names(names: Sequence[str], most: int = 8) -> str:
    """Some names, and how many more."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) + more) or "none"
