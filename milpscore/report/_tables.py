"""The page's tables as plain text; the template gives them captions and scopes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pandas import DataFrame

from milpscore.certificate import Verification
from milpscore.core.errors import NotApplicableError
from milpscore.report.figures import Checks, Cuts
from milpscore.report.subject import Subject
from milpscore.scorecard.rendering import exact_number, number, printable, signed

DASH = "\u2013"
"""Stands where there is no figure."""

_KINDS = {
    "exact": "exact",
    "relaxed": "LP relaxation",
    "randomised": "randomised rounding",
    "nearest": "nearest rounding",
    "proximal": "from a proximal path",
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


def verification_table(verification: Verification) -> Table:
    """What each part of a certificate came to."""
    rows = [(part.name, str(part.status), part.sentence) for part in verification.parts]
    return Table("The certificate, part by part", ("Part", "Status", "Why"), rows, words=3)


def threshold_label(subject: Subject, cuts: Cuts, k: int) -> str:
    """The k-th threshold in words."""
    if k == cuts.own:
        return f"{exact_number(subject.card.threshold)} or more"
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


def comparison_table(frame: DataFrame) -> tuple[Table, list[str]]:
    """Exact beside relaxed beside rounded, and why a row has no card."""
    wanted = {"formulation", "kind", "claim", "objective", "bound", "gap", "terms",
              "train_accuracy", "solve_seconds"}  # fmt: skip
    lacking = wanted - set(frame.columns)
    if lacking:
        raise NotApplicableError(
            f"this is not a comparison, it lacks {', '.join(sorted(lacking))}: pass the table of "
            "milpscore.compare"
        )
    held_out = "cv_accuracy" in frame and bool(frame["cv_accuracy"].notna().any())
    records: list[Any] = frame.to_dict("records")
    rows = [_comparison_row(row, held_out) for row in records]
    heads = ["Program", "Kind", "Claim", "Objective", "Bound", "Gap", "Terms", "Right",
             *(["Right, held out"] if held_out else []), "Seconds"]  # fmt: skip
    made = Table("Exact programs, their relaxations, and rounded cards", heads, rows, words=3)
    return made, [
        f"{row['formulation']}: {row['message']}"
        for row in records
        if row["claim"] == "none" and row.get("message")
    ]


def _comparison_row(row: dict[str, Any], held_out: bool) -> list[str]:
    """One program as text; an LP has a bound, and no claim about cards."""
    relaxed = row["kind"] == "relaxed"
    return [
        str(row["formulation"]).replace("_", "-"),
        _KINDS.get(str(row["kind"]), str(row["kind"])),
        "bound only" if relaxed else str(row["claim"]),
        figure(row["objective"], "{:.5f}"),
        figure(row["bound"], "{:.5f}"),
        "" if relaxed else figure(row["gap"], "{:.1%}"),
        figure(row["terms"], "{:.0f}"),
        figure(row["train_accuracy"], "{:.1%}"),
        *([figure(row["cv_accuracy"], "{:.1%}")] if held_out else []),
        figure(row["solve_seconds"], "{:.2f}"),
    ]


def pool_table(pool: Any) -> Table:
    """Ranges of points and reliance over a pool of cards."""
    ranges = getattr(pool, "importance", None)
    wanted = {"share": "Cards that use it", "min_points": "Least points",
              "max_points": "Most points", "min_reliance": "Least reliance",
              "max_reliance": "Most reliance"}  # fmt: skip
    if not isinstance(ranges, DataFrame) or not set(wanted) <= set(ranges.columns):
        raise NotApplicableError("this is not a pool of cards: pass what pools.pool returns")
    used = ranges[ranges["share"] > 0]
    rows = [
        (
            str(name),
            f"{row['share']:.0%}",
            signed(str(int(row["min_points"]))),
            signed(str(int(row["max_points"]))),
            f"{row['min_reliance']:.4f}",
            f"{row['max_reliance']:.4f}",
        )
        for name, row in zip(used.index, used.to_dict("records"), strict=True)
    ][:_MOST_ROWS]
    unused = len(ranges) - len(used)
    note = f"; {unused} columns have points in none" if unused else ""
    return Table(f"Ranges over the pool{note}", ["Column", *wanted.values()], rows)


def checks_table(checks: Checks, subject: Subject) -> Table:
    """The data checks as lines of a table."""
    negative, positive = (printable(str(label)) for label in subject.card.classes)
    least = f"{checks.least_wrong:.2%}"
    if checks.least_errors is not None:
        least = f"{checks.least_errors} ({least})"
    rows = [
        (
            "Rows",
            str(checks.rows) + (f", {checks.weightless} of weight 0" * bool(checks.weightless)),
        ),
        ("Columns", str(checks.columns)),
        (f"Class {positive}", f"{checks.positives} ({_share(checks, subject)})"),
        (f"Class {negative}", str(checks.negatives)),
        ("Rows that repeat an earlier one", str(checks.repeats)),
        ("Different rows of values", str(checks.patterns)),
        ("Rows with the values of a row of the other class", str(checks.contradicted)),
        ("Least errors of any rule on these columns", least),
        ("Constant columns", _names(checks.constant)),
        ("Missing values", _missing(checks)),
    ]
    return Table("Data checks", ("Check", "Found"), rows, words=2)


def _share(checks: Checks, subject: Subject) -> str:
    """The share of positives."""
    share = f"{checks.positive_share:.1%}"
    return f"{share} of the weight" if subject.weighted else share


def _missing(checks: Checks) -> str:
    """Missing values by feature."""
    if checks.missing is None:
        return "cannot be told from a design"
    return _names(tuple(f"{name} ({count})" for name, count in checks.missing.items()))


def _names(names: Sequence[str], most: int = 8) -> str:
    """Some names, and how many more."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) + more) or "none"


def figure(value: Any, form: str) -> str:
    """A number in its form, a dash where there is none."""
    if value is None or not np.isscalar(value) or isinstance(value, str):
        return DASH
    number_ = float(value)  # type: ignore[arg-type]
    return signed(form.format(number_)) if math.isfinite(number_) else DASH
