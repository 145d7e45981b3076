"""A card in files: JSON and back without losing anything, words for its lines, one SELECT."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct

from milpscore.core.card import RELATIVE_ROUNDING
from milpscore.core.design import as_fraction
from milpscore.core.errors import (
    DataError,
    OptionError,
    did_you_mean,
    listing,
    optional,
    require_ending,
)
from milpscore.core.reading import Head, parsed, settings_of, text_of, typed
from milpscore.core.result import relative_gap
from milpscore.core.writing import printable, replacing, write_text
from milpscore.data.columns import ColumnFile, column_content
from milpscore.scorecard.rendering import FeatureLines, Row, page_of

if TYPE_CHECKING:
    from milpscore.scorecard._card import Scorecard
    from milpscore.scorecard.risks import RiskScale

Unseen = Literal["null", "zero"]
Levels = Sequence[tuple[Fraction | None, bool | int | float | str]]

# --- JSON -----------------------------------------------------------------------------------------

SCHEMA_VERSION = 2
"""Raised whenever a reader of the previous layout would misread a card."""

_KIND = "milpscore.scorecard"
_NotFinite = Literal["nan", "inf", "-inf"]


def card_to_json(card: Scorecard) -> str:
    """The card as one JSON object in standard JSON (no NaN, no infinities).

    Fractions are text (``"3/10"``), an open end of an interval is ``null``, labels keep their
    JSON type, and the data are named by their fingerprint. ``lines`` repeats the card as it is
    printed, for readers other than milpscore.
    """
    content = {
        "kind": _KIND,
        "schema_version": SCHEMA_VERSION,
        "title": card.title,
        "classes": list(card.classes),
        "threshold": card.threshold,
        "fitted_threshold": card.fitted_threshold,
        "step": card.step,
        "columns": [
            {**column_content(column), "points": points}
            for column, points in zip(card.columns, card.points, strict=True)
        ],
        "blocks": card.blocks,
        "base_points": card.base_points,
        "divisor": card.divisor,
        "flags": card.flags,
        "words": card.words,
        "outcome": card.outcome,
        "in_full": card.in_full,
        "lines": [
            {"feature": row.feature, "condition": row.condition, "points": row.points}
            for lines in card.lines
            for row in lines.printed
        ],
        "fingerprint": card.fingerprint,
        "risk": None if card.risk is None else vars(card.risk),
        "certificate": _encoded(card.certificate),
    }
    return json.dumps(
        content, indent=2, ensure_ascii=False, allow_nan=False, default=Fraction.__str__
    )


class _Column(ColumnFile, forbid_unknown_fields=True, kw_only=True):
    """A column and its points."""

    points: Any


class _Limits(Struct):
    """Which cards a bound speaks of, as far as sentences read it."""

    loss: str | None = None
    max_terms: int | None = None
    coef_min: int | None = None
    coef_max: int | None = None
    uniform: bool | None = None
    cut: bool | None = None
    jumps: bool | None = None
    rules: list[str] = []
    counts_errors: bool | None = None
    scale: float | tuple[float, float] | Literal["any"] | None = None
    most_penalty: float | None = None


class _Decision(Struct):
    """How a decision was chosen."""

    by: str
    sensitivity: float
    specificity: float


class _Recorded(Struct):
    """What sentences and pages read of a certificate; it may hold more."""

    allowed: _Limits | None = None
    constraints: list[dict[str, Any]] = []
    decision: _Decision | None = None
    equal_rows: bool | None = None
    objective: float | None = None
    bound: float | None = None
    gap: float | None = None
    errors: Annotated[int, Meta(ge=0)] | None = None
    n_rows: Annotated[int, Meta(ge=0, le=2**31)] | None = None
    rarer_rows: Annotated[int, Meta(ge=0, le=2**31)] | None = None
    lines: Annotated[int, Meta(ge=0, le=2**31)] | None = None
    terms: int | None = None
    nodes: int | None = None
    random_state: int | None = None
    changes: Annotated[int, Meta(ge=0, le=2**31)] | None = None
    point_changes: Annotated[int, Meta(ge=0, le=2**31)] | None = None
    points_from: int | None = None
    points_to: int | None = None


class _File(Head, forbid_unknown_fields=True, kw_only=True):
    """A card's file."""

    columns: list[_Column]
    threshold: Fraction
    fitted_threshold: Fraction | None
    blocks: tuple[tuple[int, ...], ...]
    classes: tuple[bool | int | float | str, bool | int | float | str]
    step: Fraction | None
    certificate: dict[str, Any]
    fingerprint: str
    title: str
    base_points: dict[str, int]
    divisor: int
    flags: tuple[int, ...]
    words: dict[str, Any]
    outcome: str
    in_full: bool = False
    risk: dict[str, Any] | None = None
    lines: tuple[Any, ...] = ()  # the points in words, for other readers


def card_fields(text: str) -> dict[str, Any]:
    """The arguments of ``Scorecard`` from the text of :func:`card_to_json`."""
    hint = "give a card saved by 'milpscore fit --out'"
    try:
        head = parsed(text, Head, "this")
    except DataError as error:
        raise DataError(f"{error}; {hint}") from error
    if head.kind != _KIND:
        raise DataError(f"this JSON is not a scorecard; {hint}")
    if head.schema_version != SCHEMA_VERSION:
        raise DataError(
            f"the card has schema_version {head.schema_version!r}, this milpscore reads "
            f"{SCHEMA_VERSION}; use the milpscore that wrote it, or save it again"
        )
    try:
        found = parsed(text, _File, "the card's JSON")
        certificate = _decoded(found.certificate)
        plain = {k: v for k, v in certificate.items() if not isinstance(v, Fraction)}
        _refuse_other_gap(typed(plain, _Recorded, "the card's certificate"))
        risk = None if found.risk is None else _risk(found.risk)
    except DataError as error:
        raise DataError(f"{error}; save the card again") from error
    kept = {name: getattr(found, name) for name in _File.__struct_fields__}
    kept = {
        name: value
        for name, value in kept.items()
        if name not in (*Head.__struct_fields__, "lines")
    }
    return kept | {
        "certificate": certificate,
        "risk": risk,
        "columns": tuple(column.made() for column in found.columns),
        "points": tuple(column.points for column in found.columns),
    }


def _refuse_other_gap(recorded: _Recorded) -> None:
    """Refuse a certificate whose gap is not that of its objective and bound."""
    objective, bound, gap = recorded.objective, recorded.bound, recorded.gap
    if objective is None or bound is None or gap is None:
        return
    wrong = abs(relative_gap(objective, bound) - gap) > 1e-9 * max(1.0, abs(gap))
    if wrong and math.isfinite(objective + bound + gap):
        raise DataError(
            f"the card's certificate is damaged (a gap of {gap:g} for an objective of "
            f"{objective:g} and a bound of {bound:g})"
        )


def _risk(content: dict[str, Any]) -> RiskScale:
    """Risks; pandas is loaded for a card that has some."""
    from milpscore.scorecard.risks import RiskScale

    # each has a default, but a card that was saved has them all
    if missing := [each.name for each in fields(RiskScale) if each.name not in content]:
        raise DataError(f"the card's risks are damaged (without {listing(missing)})")
    found: RiskScale = typed(content, RiskScale, "the card's risks")
    return found


def _encoded(value: Any) -> Any:
    """A certificate entry in standard JSON: fractions and non-finite numbers become tagged text."""
    if isinstance(value, Mapping):
        return {key: _encoded(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_encoded(entry) for entry in value]
    if isinstance(value, Fraction):
        return {"$fraction": str(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": str(value)}
    return value


def _decoded(value: Any) -> Any:
    """The inverse of :func:`_encoded`."""
    if isinstance(value, list):
        return [_decoded(entry) for entry in value]
    if not isinstance(value, Mapping):
        return value
    if value.keys() == {"$fraction"}:
        return typed(value["$fraction"], Fraction, "the card's certificate")
    if value.keys() == {"$float"}:
        return float(typed(value["$float"], _NotFinite, "the card's certificate"))
    return {key: _decoded(entry) for key, entry in value.items()}


# --- files ----------------------------------------------------------------------------------------


def write_card(card: Scorecard, path: str | Path, theme: str) -> Path:
    """The card in the form that the file's name asks for."""
    path = Path(path)
    writers: dict[str, Callable[[], str]] = {
        ".txt": lambda: card.to_text() + "\n",
        ".md": card.to_markdown,
        ".tex": card.to_latex,
        ".html": lambda: page_of(card.title, card.to_html()),
        ".sql": lambda: card.to_sql() + ";\n",
        ".json": lambda: card.to_json() + "\n",
    }
    pictures = (".png", ".svg", ".pdf")
    require_ending(path.name, (*writers, ".xlsx", *pictures))
    kind = path.suffix.lower()
    if kind == ".xlsx":
        return card.spreadsheet(path)
    if kind in pictures:
        from matplotlib import rc_context

        from milpscore.scorecard._picture import STYLE

        titles = {} if kind == ".png" else {"Title": printable(card.title)}
        dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(kind, {})
        # equal cards are equal bytes
        with rc_context(STYLE), replacing(path) as part:
            card.figure(theme).savefig(part, dpi=200, metadata={**titles, **dated})
    else:
        write_text(path, writers[kind]())
    return path


def read_words(path: str | Path) -> dict[str, Any]:
    """Words for features and their lines from a file.

    Parameters
    ----------
    path : str or Path
        JSON or TOML such as ``{"age": {"name": "Age", "unit": "years", "lines": {">= 60": "60 or
        older"}}}``, or CSV with the header ``feature,name,unit,column,line,text``.

    Returns
    -------
    dict
        As :meth:`milpscore.Scorecard.with_words` takes them.

    Raises
    ------
    DataError
        If the file cannot be read.
    """
    path = Path(path)
    try:
        if path.suffix.lower() == ".csv":
            lines = text_of(path, encoding="utf-8-sig").splitlines()
            return _words_of_rows(csv.DictReader(lines), path)
        found = settings_of(path, "JSON")
    except DataError as error:
        raise DataError(
            f"{error}; words are JSON or TOML such as "
            '{"age": {"name": "Age", "unit": "years", "lines": {">= 60": "60 or older"}}}, or CSV '
            "with the header feature,name,unit,column,line,text"
        ) from error
    if not isinstance(found, dict):
        raise DataError(f"{str(path)!r} holds no mapping from features to their words")
    return found


def _words_of_rows(table: csv.DictReader[str], path: Path) -> dict[str, Any]:
    """Words from a table: a name or unit of a feature, or a text for one of its lines, a row."""
    rows, header = list(table), set(table.fieldnames or ())
    odd = sorted(header - {"feature", "name", "unit", "column", "line", "text"})
    if odd or "feature" not in header or not all(row["feature"] for row in rows):
        raise DataError(
            f"{str(path)!r} needs the header feature,name,unit,column,line,text (only feature is a "
            f"must), and a feature in every row{f'; it has {listing(odd)}' if odd else ''}"
        )
    words: dict[str, Any] = {}
    for row in rows:
        own = words.setdefault(str(row["feature"]), {})
        own |= {key: row[key] for key in ("name", "unit", "column") if row.get(key)}
        if row.get("line"):
            own.setdefault("lines", {})[row["line"]] = row.get("text") or ""
    return words


# --- SQL ------------------------------------------------------------------------------------------

# Lines are indented after names are written; a line break within a name must not be. Names cannot
# hold NUL, so it stands for their line breaks until the statement is complete.
_BREAK = "\x00"


def card_sql(
    card: Scorecard,
    table: str | Sequence[str],
    dialect: str,
    keys: Sequence[str],
    unseen: Unseen,
    levels: Levels = (),
) -> str:
    """The statement described at :meth:`milpscore.Scorecard.to_sql`.

    ``levels`` are the answers from a threshold on, the highest first; the lowest has none.
    """
    if unseen not in ("null", "zero"):
        raise OptionError(f"unseen must be 'null' or 'zero' in SQL, not {unseen!r}")
    negative, positive = card.classes
    levels = levels or ((card.threshold, positive), (None, negative))
    writer = _Writer(card, unseen, levels, typed=dialect != "sqlite")
    statement = writer.statement(table, keys)
    if dialect != "ansi":
        statement = _translated(statement, dialect)
    return f"{writer.comment()}\n{statement}"


def survival_sql(
    card: Scorecard,
    table: str | Sequence[str],
    dialect: str,
    keys: Sequence[str],
    unseen: Unseen,
    scale: float,
    hazards: Sequence[tuple[float, Sequence[float]]],
    odds: bool = False,
) -> str:
    """Return the statement of a survival card.

    ``hazards`` holds stated times with the hazard accumulated by each, or with the ``odds`` in the
    intervals before.
    """
    writer = _Writer(
        card,
        unseen,
        ((None, ""),),
        typed=dialect != "sqlite",
        hazards=(scale, tuple(hazards), odds),
    )
    statement = writer.statement(table, keys)
    if dialect != "ansi":
        statement = _translated(statement, dialect)
    said = [f"risk_{k} is the probability of an event by {_literal(time)}."
            for k, (time, _) in enumerate(hazards, 1)]  # fmt: skip
    nothing = "scores nothing" if unseen == "zero" else "makes total and risks NULL"
    said += [f"A NULL the card does not foresee, or a category it does not know, {nothing}.",
             f"It needs the function{'s EXP and LN' if odds else ' EXP'}."]  # fmt: skip
    return "\n".join([*(f"-- {line}" for line in (printable(card.title), *said)), statement])


def _translated(statement: str, dialect: str) -> str:
    """Portable SQL in the words of a database's own."""
    sqlglot = optional(
        "sqlglot",
        f"dialect={dialect!r} needs sqlglot: pip install 'milpscore[sql]'; the dialect 'ansi' "
        "needs nothing, and is read by most databases",
    )
    known = sorted(each.value for each in sqlglot.Dialects if each.value)
    if dialect not in known:
        hint = did_you_mean(dialect, known)
        there = ", ".join(["ansi", *known])
        raise OptionError(f"unknown SQL dialect {dialect!r}; {hint}there are {there}")
    (found,) = sqlglot.transpile(statement, write=dialect, pretty=True)
    return str(found)


def _quoted(text: str, mark: str = "'") -> str:
    """Text as a literal, with the marks inside it doubled; between other marks a name."""
    if "\x00" in text:
        raise DataError(f"SQL cannot hold the NUL character in {text!r}; rename the column")
    return f"{mark}{text.replace(mark, mark + mark)}{mark}".replace("\n", _BREAK)


def _name(name: str) -> str:
    """A name of the data or of a result."""
    return _quoted(name, '"')


@dataclass(frozen=True)
class _Writer:
    """Writes one card; ``absolute`` adds up the sizes of the summands instead.

    ``typed`` says that a column of numbers holds numbers alone. SQLite's columns hold any value,
    and a cast makes 12 of '12abc' and 0 of ''.
    """

    card: Scorecard
    unseen: Unseen
    levels: Levels
    absolute: bool = False
    typed: bool = True
    # of a survival card: its scale, and stated times with the hazard accumulated by each
    hazards: tuple[float, tuple[tuple[float, Sequence[float]], ...], bool] | None = None

    def statement(self, table: str | Sequence[str], keys: Sequence[str]) -> str:
        """The whole SELECT, with the total computed in a derived table."""
        place = ".".join(map(_name, [table] if isinstance(table, str) else table))
        own = (each["column"] for each in self.card.words.values() if "column" in each)
        taken = {text.casefold() for text in (*keys, *self.card.features, *own)}
        total, prediction, size, risk = (
            _name(_fresh(alias, taken)) for alias in ("total", "prediction", "size", "risk")
        )
        carried = [_name(key) for key in keys]
        inner = [f'"source".{key}' for key in carried]
        inner.append(f"{_indented(self._sum())} AS {total}")
        if self.card.rule.step is None:
            inner.append(f"{_indented(replace(self, absolute=True)._sum())} AS {size}")
        if self.hazards is not None:
            outer = [*carried, total, *self._stated(total, taken)]
        else:
            outer = [*carried, total, f"{_indented(self._prediction(total, size))} AS {prediction}"]
        if self._has_risk():
            outer.append(f"{_indented(self._risk(total))} AS {risk}")
        listed = ",\n  ".join
        derived = f'SELECT\n  {listed(inner)}\nFROM {place} AS "source"'
        statement = f'SELECT\n  {listed(outer)}\nFROM (\n  {_indented(derived)}\n) AS "scored"'
        return statement.replace(_BREAK, "\n")

    def comment(self) -> str:
        """What the statement decides, and what it says of NULL."""
        card = self.card
        *reached, (_, last) = [(T, printable(str(label))) for T, label in self.levels]
        said = [f"{label} if total >= {_literal(T)}, otherwise" for T, label in reached]
        lines = [printable(card.title), *said[:-1], f"{said[-1]} {last}."]
        if self.unseen == "null":
            lines += [
                "A NULL the card does not foresee, or a category it does not know, makes total",
                "and prediction NULL.",
            ]
        else:
            lines += [
                "A NULL or a category the card does not know scores nothing; a NULL number that",
                "counts by the unit makes total and prediction NULL.",
            ]
        if self._has_risk():
            positive = printable(str(card.classes[1]))
            lines.append(f"risk is the probability of {positive}; it needs the function EXP.")
        if not card.counts_whole and card.rule.step is not None:
            cuts = [_literal(replace(card.rule, threshold=as_fraction(T)).cut) for T, _ in reached]
            many = len(cuts) > 1
            lines += [
                f"{', '.join(cuts)} {'are' if many else 'is'} the threshold{'s' * many} less a "
                "thousandth of a step of the",
                "data, so that rounding cannot lose a tie.",
            ]
        return "\n".join(f"-- {line}" for line in lines)

    def _prediction(self, total: str, size: str) -> str:
        """The label of a total."""
        branches = [f"WHEN {total} IS NULL THEN NULL"]
        for T, label in self.levels[:-1]:
            rule = replace(self.card.rule, threshold=as_fraction(T))
            if rule.step is None:
                distance = f"{total} - {_literal(rule.threshold)}"
                reached = f"{distance} >= -{_literal(RELATIVE_ROUNDING)} * {size}"
            else:
                cut = rule.threshold if self.card.counts_whole else rule.cut
                reached = f"{total} >= {_literal(cut)}"
            branches.append(f"WHEN {reached} THEN {self._label(label)}")
        return _case(branches, self._label(self.levels[-1][1]))

    def _has_risk(self) -> bool:
        """Whether the card has risks that SQL can compute."""
        return self.card.risk is not None and self.card.risk.link == "logistic"

    def _risk(self, total: str) -> str:
        """The logistic risk of a total; EXP must neither overflow nor underflow."""
        scale = 1.0 if self.card.risk is None else self.card.risk.scale
        wide = f"CAST({total} AS DOUBLE PRECISION)"
        below = f"({_literal(self.card.fitted_rule.threshold)} - {wide}) / {_literal(scale, 'E0')}"
        return (
            f"CASE\n  WHEN {total} IS NULL THEN NULL\n"
            f"  WHEN {below} > 700 THEN 0.0\n  WHEN {below} < -700 THEN 1.0\n"
            f"  ELSE 1.0 / (1.0 + EXP({below}))\nEND"
        )

    def _stated(self, total: str, taken: set[str]) -> list[str]:
        """The risks of a total at the stated times; EXP must not overflow."""
        assert self.hazards is not None
        scale, hazards, odds = self.hazards
        score = f"CAST({total} AS DOUBLE PRECISION) / {_literal(scale, 'E0')}"
        made = []
        for k, (_, parts) in enumerate(hazards, 1):
            certain = "1.0" if any(parts) else "0.0"
            each = [f"{_literal(part, 'E0')} * EXP({score})" for part in parts if part or not odds]
            power = "".join(f" - LN(1.0 + {part})" for part in each) if odds else f"-{each[0]}"
            risk = (
                f"CASE\n  WHEN {total} IS NULL THEN NULL\n  WHEN {score} > 700 THEN {certain}\n"
                f"  ELSE 1.0 - EXP({power or '0.0'})\nEND"
            )
            made.append(f"{_indented(risk)} AS {_name(_fresh(f'risk_{k}', taken))}")
        return made

    def _label(self, label: bool | int | float | str) -> str:
        """A class label as a literal."""
        if isinstance(label, bool):
            return "TRUE" if label else "FALSE"
        return _quoted(label) if isinstance(label, str) else _literal(label)

    def _sum(self) -> str:
        """The sum over the features; of absolute values and |T| where ``absolute``."""
        summands = [self._feature(lines) for lines in self.card.lines]
        if self.absolute:
            summands.append(_literal(max(abs(as_fraction(T)) for T, _ in self.levels[:-1])))
        return "\n+ ".join(summands) or "0"

    def _points(self, points: int) -> int:
        """Points, or their size."""
        return abs(points) if self.absolute else points

    def _feature(self, lines: FeatureLines) -> str:
        """The points of one feature, or what it counts where it has no value."""
        column = self.card.words.get(lines.name, {}).get("column", lines.name)
        cell = f'"source".{_name(column)}'
        cells = next((c.cells for c in self.card.columns if c.feature == lines.name), None)
        na, spelt = ((), ()) if cells is None else (cells.na, cells.spelt)
        if {row.kind for row in lines.everything} <= {"category", "missing"}:
            value, first, infinite = self._text(cell), "", ""
            for mark in na:
                value = f"NULLIF({value}, {_quoted(mark)})"
            if spelt:
                steps = " ".join(f"WHEN {_quoted(a)} THEN {_quoted(b)}" for a, b in spelt)
                value = f"CASE {value} {steps} ELSE {value} END"
            known = f"LOWER({value}) <> 'nan'"  # where missing numbers are no NULL
        else:
            value = f"CAST({cell} AS DOUBLE PRECISION)"
            for mark in filter(re.compile(r"[-+]?\d*\.?\d+").fullmatch, na):
                value = f"NULLIF({value}, {mark})"
            odd = f"WHEN TYPEOF({cell}) IN ('text', 'blob') THEN NULL\n  "
            first = "" if self.typed else odd
            # infinite values lie beyond, in some databases NaN too; in others NaN lies nowhere
            largest = "1.7976931348623157E308"
            known = f"{value} BETWEEN -{largest} AND {largest}"
            infinite = f"\n  WHEN {value} < -{largest} OR -{value} < -{largest} THEN NULL"
        bases = [self._points(lines.base), *[0] * len(lines.groups)]
        parts = [self._group(value, *each) for each in zip(lines.groups, bases, strict=False)]
        added = "\n  + ".join(_indented(part) for part in parts) or "0"
        # a NULL scores the points for missing values, or nothing, or makes the total NULL
        if_null: int | str = "NULL"
        if lines.missing:
            if_null = self._points(lines.missing.points)
        elif self.unseen == "zero" and all(row.kind != "numeric" for row in lines.everything):
            if_null = 0
        refused = infinite if if_null != "NULL" else ""
        return f"CASE\n  {first}WHEN {known} THEN {added}{refused}\n  ELSE {if_null}\nEND"

    def _text(self, cell: str) -> str:
        """A cell as text; in SQLite a whole number reads alike in either type, and no bytes do."""
        if not self.typed:
            whole = f"TYPEOF({cell}) = 'real' AND {cell} = CAST({cell} AS BIGINT)"
            cell = (
                f"CASE WHEN {whole} THEN CAST({cell} AS BIGINT)"
                f" WHEN TYPEOF({cell}) = 'blob' THEN 'bytes ' || HEX({cell}) ELSE {cell} END"
            )
        return f"CAST({cell} AS VARCHAR)"

    def _group(self, value: str, rows: Sequence[Row], base: int) -> str:
        """The points of the row that applies, else ``base``; NULL or 0 for what is unknown."""
        row = rows[0]
        if row.kind == "numeric":
            return f"{self._points(row.points)} * {f'ABS({value})' if self.absolute else value}"
        known = {category for row in rows for category in row.categories}
        branches = [
            f"WHEN {self._test(value, row, known)} THEN {self._points(row.points)}" for row in rows
        ]
        # a number between the lines counts the base points, what the card does not know nothing
        known_number = row.kind == "interval"
        unknown = str(base) if known_number else "NULL" if self.unseen == "null" else "0"
        return _case(branches, unknown)

    def _test(self, value: str, row: Row, known: Collection[str]) -> str:
        """Whether a row applies to a known value; ``known`` are all categories of the feature."""
        if row.kind == "interval":
            return _between(value, row.lower, row.upper)
        if row.kind == "flag":
            return f"{value} = {row.lower:g}"
        truth = {"True": ("true", "1", "t"), "False": ("false", "0", "f")}
        if set(row.categories) <= truth.keys():
            # Databases store truth values as words or as 1 and 0; both are understood.
            words = ", ".join(f"'{text}'" for each in row.categories for text in truth[each])
            return f"LOWER({value}) IN ({words})"
        # and whole numbers that stand among floats as 3.0
        whole = [each for each in row.categories if self.typed and each.lstrip("-").isdecimal()]
        floats = [text for each in whole if (text := f"{each}.0") not in known]
        *first, last = map(_quoted, (*row.categories, *floats))
        return f"{value} IN ({', '.join([*first, last])})" if first else f"{value} = {last}"


def _between(value: str, lower: float, upper: float) -> str:
    """The test lower <= value < upper, without its infinite ends."""
    tests = [f"{value} >= {_literal(lower)}"] if math.isfinite(lower) else []
    tests += [f"{value} < {_literal(upper)}"] if math.isfinite(upper) else []
    return " AND ".join(tests) or f"{value} IS NOT NULL"


def _case(branches: Sequence[str], otherwise: str) -> str:
    """A CASE expression over several lines."""
    lines = "\n".join(f"  {branch}" for branch in branches)
    return f"CASE\n{lines}\n  ELSE {otherwise}\nEND"


def _literal(value: Any, whole: str = "") -> str:
    """A number that reads back as the same float; an exponent keeps decimals from being exact."""
    exact = as_fraction(value)
    if exact.denominator == 1:
        return f"{exact.numerator}{whole}"
    return f"{Decimal(repr(float(value))):f}E0"


def _indented(text: str) -> str:
    """Text whose lines after the first are moved two to the right."""
    return text.replace("\n", "\n  ")


def _fresh(alias: str, taken: set[str]) -> str:
    """A name for a result column that no data column has; it is taken afterwards."""
    while alias in taken:
        alias = f"card_{alias}"
    taken.add(alias)
    return alias
