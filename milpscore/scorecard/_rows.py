"""The rows of a printed card: one model for text, HTML, Markdown and LaTeX."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from milpscore.core.design import Column, ColumnKind


def printable(text: str) -> str:
    """The text with line breaks and other control characters spelled out as escapes."""
    return "".join(
        mark if mark.isprintable() else mark.encode("unicode_escape").decode("ascii")
        for mark in text
    )


@dataclass(frozen=True)
class Style:
    """How one kind of output writes signs and foreign text.

    Attributes
    ----------
    escape : callable
        Makes any printable text safe in this output.
    less, more, at_most, at_least : str
        The signs "less than", "greater than", "at most" and "at least", already escaped.
    """

    escape: Callable[[str], str]
    less: str
    more: str
    at_most: str
    at_least: str


PLAIN = Style(escape=str, less="<", more=">", at_most="<=", at_least=">=")


@dataclass(frozen=True)
class Row:
    """One printed line: a condition on one feature, and the points it is worth.

    Attributes
    ----------
    feature : str
        The raw feature's name, made printable.
    kind : ColumnKind
        ``numeric`` points count per unit, ``step`` points add to those of the lower steps.
    points : int
    lower, upper : float
        The interval of an ``interval`` row, neighbouring bins of equal points merged.
    category : str
        The category of a ``category`` row, made printable.
    """

    feature: str
    kind: ColumnKind
    points: int
    lower: float = -math.inf
    upper: float = math.inf
    category: str = ""

    def condition(self, style: Style = PLAIN) -> str:
        """The condition in words and signs, escaped for ``style``."""
        if self.kind == "category":
            return f"= {style.escape(self.category)}"
        if self.kind in ("interval", "step"):
            return _interval_text(self.lower, self.upper, style)
        return "per unit" if self.kind == "numeric" else "missing"

    @property
    def points_text(self) -> str:
        """The points; those of steps carry a sign, because they add up."""
        return f"{self.points:+d}" if self.kind == "step" else str(self.points)


def _interval_text(lower: float, upper: float, style: Style) -> str:
    """An interval closed on the left, its infinite ends left out."""
    parts = [] if math.isinf(upper) else [f"{style.less} {number(upper)}"]
    if math.isfinite(lower):
        parts.insert(0, number(lower) if parts else f"{style.at_least} {number(lower)}")
    return " to ".join(parts) or "any value"


def number(value: float) -> str:
    """A number for people: at most twelve significant digits, no trailing zeros."""
    return f"{value:.12g}"


@dataclass(frozen=True)
class Feature:
    """The design columns of one raw feature.

    Attributes
    ----------
    name : str
        The raw feature's name as the data have it.
    positions : tuple of int
        Its columns.
    blocks : tuple of tuples of int
        Those of them that are bins, block by block: each row of data lies in exactly one bin of a
        block. A bin for missing values belongs to the feature's only block.
    """

    name: str
    positions: tuple[int, ...]
    blocks: tuple[tuple[int, ...], ...]

    @property
    def outside(self) -> tuple[int, ...]:
        """The columns that belong to no block of bins."""
        inside = {j for block in self.blocks for j in block}
        return tuple(j for j in self.positions if j not in inside)


def card_features(
    columns: Sequence[Column], blocks: Sequence[Sequence[int]]
) -> tuple[Feature, ...]:
    """The raw features behind the columns, in the order in which they first appear.

    Parameters
    ----------
    columns : sequence of Column, length p
    blocks : sequence of sequences of int
        Ordered bins of each binned feature, as column positions. Cumulative steps add up, so a
        block of them is no block of bins and is passed over.

    Returns
    -------
    tuple of Feature
    """
    members: dict[str, list[int]] = {}
    for position, column in enumerate(columns):
        members.setdefault(column.feature, []).append(position)
    bins: dict[str, list[tuple[int, ...]]] = {}
    for block in blocks:
        if block and all(columns[j].kind not in ("numeric", "step") for j in block):
            bins.setdefault(columns[block[0]].feature, []).append(tuple(block))
    return tuple(
        Feature(name, tuple(positions), _completed(columns, positions, bins.get(name, [])))
        for name, positions in members.items()
    )


def _completed(
    columns: Sequence[Column], positions: Sequence[int], blocks: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], ...]:
    """The blocks, with the bin of missing values put into the only one."""
    if len(blocks) != 1:
        return tuple(blocks)
    missing = [j for j in positions if columns[j].kind == "missing" and j not in blocks[0]]
    return ((*blocks[0], *missing),)


def card_rows(
    columns: Sequence[Column], points: Sequence[int], blocks: Sequence[Sequence[int]]
) -> tuple[tuple[Row, ...], ...]:
    """The rows to print, one tuple for each raw feature, in the order of the columns.

    A feature none of whose columns has points is left out. The bins of a block are all shown,
    zeros too, with equal neighbours merged, as in the DiaRem table; of other columns only those
    with points.

    Parameters
    ----------
    columns : sequence of Column, length p
    points : sequence of int, length p
    blocks : sequence of sequences of int
        Ordered bins of each binned feature, as column positions.

    Returns
    -------
    tuple of tuples of Row
    """
    tables = []
    for feature in card_features(columns, blocks):
        if any(points[j] for j in feature.positions):
            rows = [row for block in feature.blocks for row in merged_bins(columns, points, block)]
            rows += [_row(columns[j], points[j]) for j in feature.outside if points[j]]
            tables.append(tuple(rows))
    return tuple(tables)


def merged_bins(
    columns: Sequence[Column], points: Sequence[int], block: Iterable[int]
) -> tuple[Row, ...]:
    """The bins of a block: intervals in order, equal neighbours merged, then the other bins.

    Parameters
    ----------
    columns : sequence of Column, length p
    points : sequence of int, length p
    block : iterable of int
        Positions of the block's columns.

    Returns
    -------
    tuple of Row
    """
    rows = [_row(columns[j], points[j]) for j in block]
    merged: list[Row] = []
    for row in sorted((row for row in rows if row.kind == "interval"), key=lambda row: row.lower):
        last = merged[-1] if merged else None
        if last and last.points == row.points and last.upper == row.lower:
            merged[-1] = replace(last, upper=row.upper)
        else:
            merged.append(row)
    return (*merged, *(row for row in rows if row.kind != "interval"))


def count_terms(
    columns: Sequence[Column], points: Sequence[int], blocks: Sequence[Sequence[int]]
) -> int:
    """Number of raw features that change the total.

    A feature counts where the points of a block of its bins are not all equal (equal ones are a
    constant), or where a column outside every block has points.
    """
    return sum(
        any(len({points[j] for j in block}) > 1 for block in feature.blocks)
        or any(points[j] for j in feature.outside)
        for feature in card_features(columns, blocks)
    )


def _row(column: Column, points: int) -> Row:
    """One design column as a row."""
    return Row(
        feature=printable(column.feature),
        kind=column.kind,
        points=points,
        lower=column.lower,
        upper=column.upper,
        category=printable(column.category or ""),
    )
