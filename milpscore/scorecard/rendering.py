"""A card in print: its rows, the sentences below them, and text, Markdown, LaTeX and HTML of both.

Every kind of output is made of the same rows and sentences, in Unicode; only then is it escaped.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cache
from html import escape
from itertools import accumulate
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from milpscore.core.design import Column
from milpscore.core.writing import printable
from milpscore.scorecard.policy import POLICY

if TYPE_CHECKING:
    from milpscore.scorecard._card import Scorecard

HEADER = ("Variable", "Value", "Points")


def settle(record: Any, **values: Any) -> None:
    """Set the checked fields of a frozen record while it is made."""
    for name, value in values.items():
        object.__setattr__(record, name, value)


def signed(text: str) -> str:
    """A figure with the minus sign of print, which lines up with digits."""
    return text.replace("-", "\u2212")


def number(value: float) -> str:
    """A number for people: at most twelve significant digits, no trailing zeros."""
    return signed(f"{value:.12g}")


def exact_number(value: Fraction) -> str:
    """A whole number in full, any other as a decimal with at most twelve significant digits."""
    return signed(str(value.numerator)) if value.denominator == 1 else number(float(value))


def rounded_down(value: float) -> str:
    """At most six significant digits, rounded down so that the sentence stays true."""
    context = Context(prec=POLICY.digits, rounding=ROUND_FLOOR)
    floored = context.create_decimal(Decimal(repr(value)))
    return number(float(floored) + 0.0)  # -0.0 is printed as 0


def finite(value: Any) -> float | None:
    """The value as a finite float, or None."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        return None
    return float(value)


# --- rows -----------------------------------------------------------------------------------------

RowKind = Literal["numeric", "flag", "interval", "category", "missing"]


@dataclass(frozen=True)
class Row:
    """One printed line: a condition on one feature, and the points it is worth."""

    feature: str
    kind: RowKind
    points: int
    lower: float = -math.inf  # of a flag: the value it counts
    upper: float = math.inf
    categories: tuple[str, ...] = ()
    unit: str = ""
    text: str = ""  # stands in place of the condition
    excluded: tuple[str, ...] = ()  # the categories to name in place of these

    @property
    def condition(self) -> str:
        """The condition in words and signs."""
        return self.text or self.plain_condition

    @property
    def plain_condition(self) -> str:
        """The condition without the user's words for it."""
        unit = f" {self.unit}" if self.unit else ""
        if self.kind == "category":
            return _in_words(self.categories, self.excluded)
        if self.kind == "flag":
            # a name that states a condition, such as "age >= 40", is answered by yes or no
            states = re.search(r"[<>=≤≥?]", self.feature)
            return ("yes" if self.lower else "no") if states else f"= {number(self.lower)}"
        if self.kind in ("numeric", "missing"):
            return f"per {self.unit or 'unit'}" if self.kind == "numeric" else "missing"
        # closed on the left; infinite ends are left out
        if math.isinf(self.upper):
            return f"≥ {number(self.lower)}{unit}" if math.isfinite(self.lower) else "any value"
        below = f"< {number(self.upper)}{unit}"
        return f"{number(self.lower)} to {below}" if math.isfinite(self.lower) else below

    def means(self, condition: str) -> bool:
        """Whether this is the row of a condition as people type it."""
        return _plainly(self.plain_condition) == _plainly(condition)

    @property
    def points_text(self) -> str:
        """The points with the minus sign of print."""
        return signed(str(self.points))


def _in_words(categories: Sequence[str], excluded: Sequence[str]) -> str:
    """One of some categories, or none of others."""
    if set(categories) in ({"True"}, {"False"}):
        return "yes" if categories[0] == "True" else "no"
    *first, last = map(printable, excluded or categories)
    sign = "other than" if excluded else "="
    return f"{sign} {', '.join(first)} or {last}" if first else f"{sign} {last}"


@dataclass(frozen=True)
class Feature:
    """The design columns of one raw feature."""

    name: str
    positions: tuple[int, ...]
    blocks: tuple[tuple[int, ...], ...]

    @property
    def outside(self) -> tuple[int, ...]:
        """The columns that belong to no block of bins."""
        inside = {j for block in self.blocks for j in block}
        return tuple(j for j in self.positions if j not in inside)


@dataclass(frozen=True)
class FeatureLines:
    """What a feature is worth: of each group the row that applies, or what a missing value counts.

    A value that no row of the first group foresees counts ``base``, of another group nothing.
    """

    name: str
    groups: tuple[tuple[Row, ...], ...]
    in_full: tuple[bool, ...]  # whether a group is printed with its rows of no points
    missing: Row | None  # None where a missing value is not foreseen
    base: int = 0

    @property
    def everything(self) -> list[Row]:
        """All rows, those of no points included."""
        return [*(row for rows in self.groups for row in rows), *filter(None, [self.missing])]

    @property
    def printed(self) -> tuple[Row, ...]:
        """The rows to print; none where nothing has points. What is missing is always stated."""
        if not any(row.points for row in self.everything):
            return ()
        groups = zip(self.groups, self.in_full, strict=True)
        shown = [row for rows, full in groups for row in rows if full or row.points]
        return (*shown, *filter(None, [self.missing]))


def printed_rows(features: Sequence[FeatureLines]) -> tuple[tuple[Row, ...], ...]:
    """The printed rows by feature; of several that count 0 if missing, one line for all at last."""
    shown = [lines for lines in features if lines.printed]
    silent = {lines.name: lines.missing for lines in shown
              if lines.missing and not lines.missing.points and not lines.missing.text}  # fmt: skip
    if len(silent) < 2:
        return tuple(lines.printed for lines in shown)
    *names, last = [row.feature for row in silent.values()]
    every = "any variable" if len(silent) == len(shown) else f"{', '.join(names)} or {last}"
    rows = (lines.printed[: -1 if lines.name in silent else None] for lines in shown)
    return (*rows, (Row(every, "missing", 0),))


def card_features(
    columns: Sequence[Column], blocks: Sequence[Sequence[int]]
) -> tuple[Feature, ...]:
    """The raw features behind the columns, in the order in which they first appear."""
    members: dict[str, list[int]] = {}
    for position, column in enumerate(columns):
        members.setdefault(column.feature, []).append(position)
    bins: dict[str, list[tuple[int, ...]]] = {}
    for block in blocks:
        if block and all(columns[j].kind not in ("numeric", "step") for j in block):
            bins.setdefault(columns[block[0]].feature, []).append(tuple(block))
    for feature, found in bins.items():
        if len(found) == 1:  # the bin of missing values belongs to the only block
            missing = [j for j in members[feature] if columns[j].kind == "missing"]
            found[0] += tuple(j for j in missing if j not in found[0])
    return tuple(
        Feature(name, tuple(positions), tuple(bins.get(name, ())))
        for name, positions in members.items()
    )


def merged_rows(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Bins to print, equal neighbours merged: intervals in order, then categories, then missing."""
    merged: list[Row] = []
    order = ("interval", "category", "missing")
    for row in sorted(rows, key=lambda row: (order.index(row.kind), row.lower)):
        last = merged[-1] if merged else None
        if last is None or (last.kind, last.points) != (row.kind, row.points):
            merged.append(row)
        elif row.kind == "interval" and last.upper == row.lower:
            merged[-1] = replace(last, upper=row.upper)
        elif row.kind == "category":
            merged[-1] = replace(last, categories=last.categories + row.categories)
        else:
            merged.append(row)
    return tuple(merged)


def card_row(column: Column, points: int, *, feature: str | None = None, unit: str = "") -> Row:
    """One design column as a row; a step is the interval above it."""
    kind: RowKind = "interval"
    if column.kind != "step":
        kind = "numeric" if column.kind == "total" else column.kind
    categories = () if column.category is None else (column.category,)
    name = printable(column.feature) if feature is None else feature
    return Row(name, kind, points, column.lower, column.upper, categories, unit)


def feature_lines(card: Scorecard, feature: Feature) -> FeatureLines:
    """The rows of one feature in the user's words, its base points added to the first group."""
    label, base = card.words.get(feature.name, {}), card.base_points.get(feature.name, 0)
    cells = card.columns[feature.positions[0]].cells
    words = {
        "feature": printable(label.get("name", feature.name)),
        "unit": printable(label.get("unit", cells.unit if cells else "")),
    }
    rows = {j: card_row(card.columns[j], card.points[j], **words) for j in feature.positions}
    gone = [j for j in feature.positions if card.columns[j].kind == "missing"]
    blocks = [merged_rows(rows[j] for j in block if j not in gone) for block in feature.blocks]
    groups = [*blocks, *_loose_groups(card, feature, rows)]
    groups = [_told_briefly(rows) for rows in groups if rows]
    if groups and base:
        groups[0] = tuple(replace(row, points=row.points + base) for row in groups[0])
    missing = None
    if gone:
        missing = replace(rows[gone[0]], points=base + sum(card.points[j] for j in gone))
    texts = label.get("lines", {})

    def in_words(row: Row) -> Row:
        found = (text for line, text in texts.items() if row.means(line))
        return replace(row, text=printable(next(found, "")))

    return FeatureLines(
        feature.name,
        tuple(tuple(map(in_words, rows)) for rows in groups),
        tuple(card.in_full or k < len(blocks) for k in range(len(groups))),
        missing and in_words(missing),
        base,
    )


def _loose_groups(
    card: Scorecard, feature: Feature, rows: Mapping[int, Row]
) -> list[tuple[Row, ...]]:
    """The columns in no block: steps added up to intervals, categories of equal points together."""
    kinds = {j: card.columns[j].kind for j in feature.outside}
    groups: list[tuple[Row, ...]] = []
    steps = sorted((rows[j] for j, kind in kinds.items() if kind == "step"), key=lambda r: r.lower)
    if steps:
        ends = [row.lower for row in steps]
        totals = accumulate((row.points for row in steps), initial=0)
        cells = zip([-math.inf, *ends], [*ends, math.inf], totals, strict=True)
        own = [replace(steps[0], lower=a, upper=b, points=w) for a, b, w in cells if a < b]
        groups.append(merged_rows(own))
    for j in (j for j, kind in kinds.items() if kind == "numeric"):
        flag = replace(rows[j], kind="flag", lower=1.0)
        found = (flag, replace(flag, lower=0.0, points=0))
        groups.append(found if j in card.flags else (rows[j],))
    alike: dict[int, Row] = {}
    for row in (rows[j] for j, kind in kinds.items() if kind == "category"):
        known = alike.get(row.points, replace(row, categories=()))
        alike[row.points] = replace(known, categories=known.categories + row.categories)
    # categories without a column of their own are worth nothing, as those of no points are
    if others := tuple(text for j in kinds for text in card.columns[j].others):
        known = alike.get(0, replace(next(iter(alike.values())), points=0, categories=()))
        alike[0] = replace(known, categories=known.categories + others)
    in_words = (
        sorted(alike.values(), key=lambda row: row.points) if card.in_full else alike.values()
    )
    return [*groups, tuple(in_words)]


def _told_briefly(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """Return rows whose many categories are named by the few others there are."""

    def in_words(row: Row) -> Row:
        own = row.categories
        rest = tuple(text for other in rows if other is not row for text in other.categories)
        many = len(own) > max(len(rest), POLICY.most_categories)
        return replace(row, excluded=rest if many else ())

    return tuple(map(in_words, rows))


def _plainly(condition: str) -> str:
    """A condition as people type it: without blanks, in ASCII."""
    signs = str.maketrans({"≥": ">=", "≤": "<=", "−": "-", " ": ""})
    return condition.translate(signs)


def card_cells(card: Scorecard) -> list[list[tuple[str, str, str]]]:
    """Variable, condition and points of every row, by feature; its name stands in the first row."""
    return [
        [("" if k else row.feature, row.condition, row.points_text) for k, row in enumerate(rows)]
        for rows in card.rows
    ]


def card_line(card: Scorecard) -> str:
    """The lines with points side by side, for tables of cards."""
    said = []
    for rows in card.rows:
        worth = [f"{row.condition}: {row.points_text}" for row in rows if row.points]
        said.append(f"{rows[0].feature} {', '.join(worth)}")
    return "; ".join(said) or "no points"


# --- sentences ------------------------------------------------------------------------------------


def class_names(card: Scorecard) -> tuple[str, str]:
    """The negative and the positive label in print."""
    negative, positive = (printable(str(label)) for label in card.classes)
    return negative, positive


def answers(card: Scorecard) -> tuple[str, str]:
    """What a card says of a negative and of a positive row."""
    return ("not", printable(card.outcome)) if card.outcome else class_names(card)


def attainable_totals(card: Scorecard) -> list[int] | None:
    """Every total a row can have, in order; None where a number is unlimited."""
    found = {0}
    for lines in card.lines:
        if any(row.kind == "numeric" and row.points for row in lines.everything):
            return None
        bases, own = [lines.base, *[0] * len(lines.groups)], {0}
        for rows, base in zip(lines.groups, bases, strict=False):
            # a category may be one the card does not know
            worth = {row.points for row in rows} | ({base} if rows[0].kind == "category" else set())
            own = {a + b for a in own for b in worth}
        own |= {lines.missing.points} if lines.missing else set()
        found = {a + b for a in found for b in own}
    return sorted(found)


def least_positive(card: Scorecard) -> Fraction:
    """The threshold as a reader of the card needs it: a whole number where all totals are whole."""
    return Fraction(math.ceil(card.threshold)) if card.counts_whole else card.threshold


def decision_words(card: Scorecard) -> tuple[tuple[str, bool], ...]:
    """The decision rule in parts, and whether a part is one of the two answers.

    Sensitivity and specificity stand beside it where they are known.
    """
    figures = f" {said}" if (said := decision_figures(card)) else ""
    return (*_decision(card), (f".{figures}", False))


def decisions(card: Scorecard) -> tuple[str, str]:
    """What a card decides of a negative and of a positive row: with risks, a low or a high one."""
    if card.risk is None:
        return answers(card)
    return "low risk", f"high risk of {printable(card.outcome)}" if card.outcome else "high risk"


def _decision(card: Scorecard) -> tuple[tuple[str, bool], ...]:
    """The decision rule alone: of a card with risks, what is a high one."""
    negative, positive = decisions(card)
    risk = ""
    cut = least_positive(card)
    if card.risk is not None:
        risk = f" ({card.risks(np.array([float(cut)]))[0]:.1%} or more)"
    totals = attainable_totals(card)
    shown = exact_number(cut)
    if totals and totals[-1] < cut:
        return (("never ", False), (positive, True), (f", as no total reaches {shown}", False))
    if totals and totals[0] >= cut and len(totals) > 1:
        return (("always ", False), (positive, True), (f", as every total reaches {shown}", False))
    rest = f"{risk} if total ≥ {shown}, otherwise "
    return ((positive, True), (rest, False), (negative, True))


def decision_figures(card: Scorecard) -> str:
    """Sensitivity and specificity of the decision as a sentence; empty where they are unknown."""
    known = card.certificate.get("decision") or {}
    names = ("sensitivity", "specificity")
    shares = ", ".join(f"{name} {known[name]:.1%}" for name in names if name in known)
    return f"{shares.capitalize()} on the training rows." if shares else ""


def decision_sentence(card: Scorecard) -> str:
    """The decision rule in one line."""
    return "Decision: " + "".join(part for part, _ in decision_words(card))


def notes(card: Scorecard) -> tuple[str, ...]:
    """Everything else said below the table."""
    from milpscore.scorecard.claims import certificate_sentences

    return (*reading_sentences(card), *certificate_sentences(card.certificate))


def reading_sentences(card: Scorecard) -> tuple[str, ...]:
    """How the card is read."""
    if not card.rows:
        reading = "No variable has points: the total is 0 for every row."
    else:
        reading = "Total: the sum of the points of every line that applies."
        unit = next(
            (row.condition for rows in card.rows for row in rows if row.kind == "numeric"), ""
        )
        if unit:
            reading = f"{reading[:-1]}; '{unit}' means points times the value."
        if any(lines.missing and lines.printed for lines in card.lines):
            reading += " What is missing counts as stated; every other value must be known."
    return (reading, *_risk_sentences(card), *_chosen_decision(card))


def _chosen_decision(card: Scorecard) -> tuple[str, ...]:
    """How the decision was chosen, where the fit did not; empty where it did."""
    by = (card.certificate.get("decision") or {}).get("by")
    if not by or card.fitted_threshold is None:
        return ()
    if card.risk is None:
        of = f"total ≥ {exact_number(card.fitted_rule.threshold)}"
        of = "the points alone" if card.certificate.get("formulation") == "auc" else of
        end = f"; what is claimed and proved speaks of {of}"
    else:
        negative, positive = class_names(card)
        end = f"; high risk is answered by {positive}, low risk by {negative}"
    return (f"Decision chosen by {printable(str(by))}{end}.",)


def _risk_sentences(card: Scorecard) -> tuple[str, ...]:
    """What a risk is, and what stands below it; empty for a card without risks."""
    if card.risk is None:
        return ()
    positive, scale = answers(card)[1], f"{card.risk.scale:.6g}"
    half = card.fitted_rule.threshold
    distance = "total" if not half else f"(total − {signed(f'{float(half):.6g}')})"
    distance = distance.replace("− −", "+ ") + (f" / {scale}" if scale != "1" else "")
    formula = {
        "logistic": f"1 / (1 + exp(−{distance}))",
        "probit": f"the normal distribution function of {distance}",
    }[card.risk.link]
    said = [f"Risk: the probability of {positive}, {formula}."]
    if card.risk.rows:
        as_fitted = "" if card.certificate.get("equal_rows") else ", weighted as in the fit"
        said.append(f"Observed: the share of {positive} among the training rows{as_fitted}.")
    by_rows, by_weight = card.certificate.get("positive_shares", (0.0, 0.0))
    if not math.isclose(by_rows, by_weight):
        said.append(
            f"Risks are those of weighted rows: {by_weight:.1%} of their weight is {positive}, "
            f"{by_rows:.1%} of the rows are."
        )
    return tuple(said)


def risk_bars(card: Scorecard) -> tuple[list[float], list[bool]]:
    """The risk at the first total of each group, of the lowest at its last, and its answer."""
    if card.risk is None:
        return [], []
    edges = [float(edge) for edge in card.risk.edges]
    below = float(card.risk.least or 0)
    if edges and not card.risk.whole:
        below = edges[0] - float(card.risk.unit or 0)
    totals = np.array([below, *edges])
    return card.risks(totals).tolist(), card.rule.positive(totals).tolist()


# --- text -----------------------------------------------------------------------------------------


def card_text(card: Scorecard) -> str:
    """Title, tables, decision rule and certificate as lines of text without a final line break."""
    lines = [printable(card.title), "", *text_table(card), "", *_text_risk_table(card)]
    return "\n".join([*lines, decision_sentence(card), *notes(card)])


def text_table(card: Scorecard) -> list[str]:
    """The table; a rule stands between two features."""
    groups = card_cells(card)
    columns = zip(HEADER, *(cells for group in groups for cells in group), strict=True)
    widths = [max(map(_text_width, column)) for column in columns]
    rule = "-+-".join("-" * width for width in widths)
    lines = [_text_line(HEADER, widths, left=2)]
    for group in groups:
        lines += [rule, *(_text_line(cells, widths, left=2) for cells in group)]
    return lines if groups else [*lines, rule]


def table_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table of text under its head, all but the first two columns flush right."""
    widths = [max(map(_text_width, column)) for column in zip(*rows, strict=True)]
    head, *lines = (_text_line(cells, widths, left=2) for cells in rows)
    return [head, "-+-".join("-" * width for width in widths), *lines]


def _text_risk_table(card: Scorecard) -> list[str]:
    """The risks of the totals, in bands no wider than a terminal; empty without risks."""
    labels, *columns = zip(*card.risk_lines, strict=True) if card.risk else ((),)
    lines: list[str] = []
    while columns:
        widths = [max(map(_text_width, column)) for column in (labels, *columns)]
        fits = max(int((np.cumsum(np.add(widths, 3)) - 3 <= POLICY.line).sum()), 2)
        band = [labels, *columns[: fits - 1]]
        head, *rest = (_text_line(cells, widths, left=1) for cells in zip(*band, strict=True))
        lines += [head, "-+-".join("-" * width for width in widths[:fits]), *rest, ""]
        columns = columns[fits - 1 :]
    return lines


def _text_line(cells: Sequence[str], widths: Sequence[int], left: int) -> str:
    """One line of a table, all but the first ``left`` cells flush right."""
    gaps = [" " * (width - _text_width(cell)) for cell, width in zip(cells, widths, strict=False)]
    padded = [f"{cell}{gap}" for cell, gap in zip(cells[:left], gaps, strict=False)]
    padded += [f"{gap}{cell}" for cell, gap in zip(cells[left:], gaps[left:], strict=True)]
    return " | ".join(padded)


def _text_width(text: str) -> int:
    """Columns the text takes in a terminal: wide signs take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(mark) else 1 + (unicodedata.east_asian_width(mark) in "WF")
        for mark in text
    )


# --- Markdown and LaTeX ---------------------------------------------------------------------------


def escape_markdown(text: str) -> str:
    """The text with every sign that Markdown could read as markup behind a backslash."""
    return re.sub(r"([\\`*_{}\[\]<>|#$~&])", r"\\\1", text)


def card_markdown(card: Scorecard) -> str:
    """Bold title, pipe tables, decision rule and certificate as Markdown text."""
    table = _pipes(
        [HEADER, *(row for rows in card_cells(card) for row in rows)], "|:---|:---|---:|"
    )
    if risks := card.risk_lines:
        table += ["", *_pipes(risks, f"|:---|{'---:|' * (len(risks[0]) - 1)}")]
    said = "\n".join(f"- {escape_markdown(note)}" for note in notes(card))
    title, decision = map(escape_markdown, (printable(card.title), decision_sentence(card)))
    lines = "\n".join(table)
    return f"**{title}**\n\n{lines}\n\n**{decision}**\n\n{said}\n"


def _pipes(rows: Iterable[Iterable[str]], rule: str) -> list[str]:
    """A pipe table, the rule below its first row."""
    head, *rest = (f"| {' | '.join(map(escape_markdown, row))} |" for row in rows)
    return [head, rule, *rest]


_LATEX_SPECIAL = str.maketrans(
    {sign: f"\\{sign}" for sign in "{}$&#%_"}
    # a bracket after a line break would be read as its optional argument
    | {sign: f"{{{sign}}}" for sign in "[]*"}
    | {
        "\\": r"\textbackslash{}",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "`": r"\textasciigrave{}",
        '"': r"\textquotedblright{}",
        "≤": r"$\leq$",
        "≥": r"$\geq$",
        "−": "$-$",
    }
)


def escape_latex(text: str) -> str:
    """The text with every special character of LaTeX written as the character itself."""
    # LaTeX joins two hyphens, quotes or commas into one sign
    return re.sub(r"([-',])(?=\1)", r"\1{}", text.translate(_LATEX_SPECIAL))


def card_latex(card: Scorecard) -> str:
    """A ``table`` environment with plain horizontal rules; booktabs is not needed.

    Letters beyond ASCII are kept, as LaTeX reads UTF-8; scripts beyond the document's font need
    XeLaTeX or LuaLaTeX.
    """
    decision = "".join(part for part, _ in _decision(card))
    body = "\n\\hline\n".join("\n".join(map(_latex_row, rows)) for rows in card_cells(card))
    said = "\\\\\n".join(map(escape_latex, notes(card)))
    return "\n".join(
        [
            r"\begin{table}[htbp]",
            r"\centering",
            rf"\caption{{{escape_latex(printable(card.title))}}}",
            r"\begin{tabular}{llr}",
            r"\hline",
            _latex_row(HEADER),
            r"\hline",
            *([body, r"\hline"] if body else []),
            *(
                rf"\multicolumn{{3}}{{l}}{{{escape_latex(line)}}} \\"
                for line in (f"Decision: {decision}.", decision_figures(card))
                if line
            ),
            r"\hline",
            r"\end{tabular}",
            "",
            *_latex_risk_table(card.risk_lines),
            r"\medskip",
            r"\begin{minipage}{0.9\linewidth}\footnotesize\raggedright",
            said,
            r"\end{minipage}",
            r"\end{table}",
            "",
        ]
    )


def _latex_risk_table(lines: Sequence[Sequence[str]]) -> list[str]:
    """The risks of the totals as a second tabular, in bands that fit a page; empty without them."""
    columns = np.arange(1, len(lines[0])) if lines else np.arange(0)
    parts: list[str] = []
    for band in (
        np.array_split(columns, -(-len(columns) // POLICY.page_columns) or 1) if lines else ()
    ):
        head, *rest = (_latex_row([line[0], *(line[k] for k in band)]) for line in lines)
        parts += [
            r"\medskip",
            rf"\begin{{tabular}}{{l{'r' * len(band)}}}",
            *(r"\hline", head, r"\hline", *rest, r"\hline"),
            r"\end{tabular}",
            "",
        ]
    return parts


def _latex_row(cells: Iterable[str]) -> str:
    """One row of a tabular."""
    return " & ".join(map(escape_latex, cells)) + r" \\"


# --- HTML -----------------------------------------------------------------------------------------


@cache
def templates(package: str) -> Callable[[str], Any]:
    """The package's templates by name; they escape everything that is not marked safe."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    def finalize(value: Any) -> Any:
        return printable(value, "\n\xa0") if type(value) is str else value

    world = Environment(
        loader=PackageLoader(package), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=finalize,
    )  # fmt: skip
    return world.get_template


def card_html(
    card: Scorecard,
    foot: Sequence[str] | None = None,
    *,
    styled: bool = True,
    tables: Sequence[tuple[str, Sequence[Sequence[str]]]] = (),
) -> str:
    """The card as a form in one ``div``: a box beside every line, and one for the total.

    ``tables``, each with its caption and head, say what totals mean in place of the decision.

    Below it stand the sentences of ``foot``, by default everything that is known. A page that has
    the rules of ``card.css`` already leaves the style out.
    """
    made: str = templates("milpscore.scorecard")("card.html").render(
        card=card,
        header=HEADER,
        title=printable(card.title),
        decision=() if tables else decision_words(card),
        tables=tables,
        outcome=answers(card)[1],
        risks=[*zip(*card.risk_lines, strict=True)],
        bars=[f"{100 * risk:.1f}" for risk in risk_bars(card)[0]],
        foot=notes(card) if foot is None else foot,
        style=card_style() if styled else "",
    )
    return made


def page_of(title: str, body: str) -> str:
    """A card in HTML as a page of its own."""
    head = f'<meta charset="utf-8">\n<title>{escape(printable(title))}</title>'
    page = f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n<body>\n{body}\n'
    return f"{page}</body>\n</html>\n"


def card_style() -> str:
    """The rules for the classes of a card in HTML."""
    made: str = templates("milpscore.scorecard")("card.css").render()
    return made
