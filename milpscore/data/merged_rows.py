"""A table of any size as a Design of weighted patterns, read in streaming passes.

A card on binned columns depends on the data through the distinct (codes, label) pairs and their
weights alone. So a first pass looks at types, ends and missing values, a second counts each
feature's values to place the cuts, and a third turns rows into codes and counts equal ones.
Counts are whole numbers and add up to the rows, in whatever order and parts these come.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from milpscore.core.design import CellRules, Column, Design, FloatArray, merge_rows
from milpscore.core.errors import (
    DataError,
    OptionError,
    SizeError,
    TooManyPatternsError,
    listing,
)
from milpscore.data.cells import Writing, cells_on, file_and_cells, folded_labels
from milpscore.data.checking import (
    MAX_CELLS,
    class_factors,
    encode_labels,
    lie_apart,
    positive_label,
    refuse_missing,
)
from milpscore.data.cut_points import ENOUGH, Cutting, Learned, Made, bins_for
from milpscore.data.designs import doubts, one_against_rest, refuse_nameless, uses
from milpscore.data.policy import POLICY
from milpscore.data.row_store import StoredRows, store
from milpscore.data.sources import Ask, AskedRows, Value, literal, opened, quoted
from milpscore.data.sql_codes import Reading, plain_values

_NUMBERS = (
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER",
    "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL",
)  # fmt: skip


def read_patterns(
    source: Any,
    target: str,
    *,
    positive: Any = None,
    weights: str | None = None,
    class_weight: Any = None,
    drop: Sequence[str] = (),
    features: Sequence[str] | None = None,
    binner: Any = "auto",
    columns: Sequence[Column] | None = None,
    blocks: Sequence[Sequence[int]] = (),
    memory_limit: int | str | None = None,
    progress: bool | None = None,
    **written: Any,
) -> Design:
    """Read a table of any size as a design of its distinct rows, with their counts.

    What every engine and report does with the design is what it would do with the table, whose
    rows the counts stand for. Cuts at quantiles are exact for features of up to 100,000 values,
    and where the rows times the features of more are up to 36 million; beyond, values are counted
    in 16,384 groups, and a cut may miss its share of the rows by those of one group: 0.2 % of them,
    unless values crowd in several places. ``thresholds`` are always exact.

    Parameters
    ----------
    source : path, DataFrame, or table of Arrow, Polars or DuckDB
        As for :func:`read_table`, of any size. Text is parsed once, and kept packed in a temporary
        folder meanwhile.
    target, positive, weights, drop, features, **written
        As for :func:`read_table`. Weights are added up to 18 decimals.
    class_weight
        As for :func:`make_design`.
    binner : Binner, "auto" or None
        How columns are cut: "auto" as ``Binner()`` does it, None leaves numbers as they are. It is
        not fitted.
    columns : sequence of Column, optional
        The columns to make, where they are known: the table is then read once.
    blocks : sequence of sequences of int
        Their blocks.
    memory_limit : int or str, optional
        What reading may take of the memory, by default 2GB; beyond it rows are spilt to a temporary
        folder. A relation of DuckDB keeps to the limit of its own connection.
    progress : bool, optional
        Show a line of progress; by default in a terminal. Ctrl-C stops the reading.

    Returns
    -------
    Design
        Sorted distinct rows; ``counts`` are the rows of the table behind each.

    Raises
    ------
    DataError
        The table cannot be read, or not be used as given; the message names file or column.
    SizeError
        There are too many distinct rows, or one feature has too many categories.
    MissingDependencyError
        DuckDB is not installed.
    """
    file, writing = file_and_cells(written)
    with opened(
        source, memory_limit=memory_limit, progress=progress, once=columns is not None, **file
    ) as rows:
        taken, named = uses(list(rows.types), target, weights, drop, features)
        if columns is not None:
            named = list(dict.fromkeys(column.feature for column in columns))
            uses(list(rows.types), target, weights, (), named)
        scan = _Scan(rows, named, taken[0], taken[1] if weights is not None else None, positive)
        scan.kept = named if features is not None else ()
        scan.question(writing, columns)
        if columns is not None:
            learned = Learned(tuple(columns), tuple(map(tuple, blocks)), (), True, None)
            return scan.design(learned, class_weight)
        return scan.cut(_cutting(binner), class_weight)


def sample_patterns(
    source: Any,
    target: str,
    rows: int,
    *,
    random_state: int = 0,
    positive: Any = None,
    drop: Sequence[str] = (),
    features: Sequence[str] | None = None,
    binner: Any = "auto",
    memory_limit: int | str | None = None,
    progress: bool | None = None,
    **written: Any,
) -> tuple[Design, int]:
    """Read about ``rows`` rows of a table, drawn by chance, in columns cut as all rows are.

    Each row is drawn with the same chance and apart from all others, so that of as many rows as
    were drawn every choice is as likely. No column is left out for repeating another among them.

    Parameters
    ----------
    source, target, positive, drop, features, binner, memory_limit, progress, **written
        As for :func:`read_patterns`.
    rows : int
        How many, about; fewer than the table has.
    random_state : int
        Seed of the draw.

    Returns
    -------
    (Design, int)
        The patterns drawn, and the rows of the table.

    Raises
    ------
    DataError, SizeError, MissingDependencyError
        As :func:`read_patterns`; DataError too if a column is not an indicator.
    OptionError
        The table has no more rows than asked for.
    """
    file, writing = file_and_cells(written)
    with opened(source, memory_limit=memory_limit, progress=progress, once=False, **file) as table:
        taken, named = uses(list(table.types), target, None, drop, features)
        scan, cutting = _Scan(table, named, taken[0], None, positive), _cutting(binner)
        scan.kept = named if features is not None else ()
        scan.question(writing)
        scan.check(cutting)
        if not 0 < rows < scan.count:
            raise OptionError(
                f"{{rows}}: the table has {scan.count:,} rows; a sample takes fewer", rows=rows
            )
        columns = scan.made(cutting)
        for column in columns.columns:
            if column.kind == "numeric" and scan.few.get(column.feature) != [0.0, 1.0]:
                raise DataError(
                    f"column {column.name!r} holds numbers as they are: what is proved on a sample"
                    " holds for all rows where columns are bins; leave out --raw, or binner=None"
                )
        learned = Learned(tuple(columns.columns), tuple(columns.blocks), (), True, None)
        drawn = rows / scan.count, int(random_state)
        return scan.design(learned, None, drawn=drawn), scan.count


@contextmanager
def stored_rows(
    source: Any,
    target: str,
    *,
    positive: Any = None,
    class_weight: Any = None,
    drop: Sequence[str] = (),
    features: Sequence[str] | None = None,
    binner: Any = None,
    memory_limit: int | str | None = None,
    progress: bool | None = None,
    **written: Any,
) -> Iterator[StoredRows]:
    """The rows of a table as codes in a temporary file, which is gone at the end.

    Parameters
    ----------
    source, target, positive, class_weight, drop, features, binner, memory_limit, progress, \
**written
        As for :func:`read_patterns`.

    Yields
    ------
    StoredRows
        Their columns, those that repeat others among them.

    Raises
    ------
    DataError, SizeError, MissingDependencyError
        As :func:`read_patterns`; SizeError too where text has more than 254 categories.
    """
    file, writing = file_and_cells(written)
    with (
        opened(
            source, memory_limit=memory_limit, progress=progress, once=False, **file
        ) as table,
        TemporaryDirectory(prefix="milpscore-") as folder,
    ):  # fmt: skip
        taken, named = uses(list(table.types), target, None, drop, features)
        scan, cutting = _Scan(table, named, taken[0], None, positive), _cutting(binner)
        scan.kept = named if features is not None else ()
        scan.question(writing)
        scan.check(cutting)
        yield store(scan, scan.made(cutting), Path(folder) / "rows", class_weight)


def _cutting(binner: Any) -> Cutting:
    """How columns are cut, checked."""
    from milpscore.data.binner import Binner, binner_of

    if not isinstance(binner, Cutting):
        binner = Cutting(**(binner_of(binner) or Binner.raw()).get_params(deep=False))
    cutting: Cutting = binner
    cutting.check()
    return cutting


@dataclass
class _Seen:
    """Figures of a feature from the first pass."""

    kind: str  # "number", "truth", "text", "date", or DuckDB's type where it is none of these
    missing: int
    least: Any
    most: Any
    distinct: float  # about


@dataclass
class _Labels:
    """The class of each label as it is read, -1 or +1; and the two as a card says them."""

    signs: dict[Any, int]
    classes: tuple[Any, Any]


@dataclass
class _Scan:
    """The passes over the rows of a table."""

    rows: AskedRows
    features: list[str]
    target: str
    weights: str | None
    positive: Any
    clean: set[str] = field(default_factory=set)
    """Features of numbers, all of them finite and none missing."""
    few: dict[str, list[float]] = field(default_factory=dict)
    """Features whose values, where they are few, are codes as they stand."""
    kept: Collection[str] = ()
    """Features that the user named: they are never left out."""
    glancing: Cutting | None = None
    """How columns will be cut, where a glance may tell that there are too many patterns."""

    cells: dict[str, CellRules] = field(default_factory=dict)
    writing: Writing = field(default_factory=Writing)
    said: list[str] = field(default_factory=list)
    """How cells are read, and what is to be said of that."""

    def question(self, writing: Writing, columns: Sequence[Column] | None = None) -> None:
        """Ask how cells are to be read, or read them as columns do that are known."""
        known = None
        if columns is not None:
            known = {c.feature: c.cells for c in columns if c.cells is not None}
        self.writing = writing
        self.cells, self.said = self.rows.question(self.features, writing, known)

    # ------------------------------------------------------------ the first pass

    @cached_property
    def seen(self) -> dict[str, _Seen]:
        """Types, ends and missing values of each feature; bad labels and weights are refused."""
        return self._look(self.features)

    def _look(self, features: Sequence[str]) -> dict[str, _Seen]:
        """Scan some features, labels and weights in the first pass."""
        label, weight = quoted(self.target), None if self.weights is None else self._weight
        values = [
            Value("count(*)"),
            Value(f"count_if({self._null(self.target)})"),
            Value(f"approx_count_distinct({label})"),
            Value("0" if weight is None else f"count_if(NOT coalesce({weight} >= 0, false))"),
            Value("0" if weight is None else f"count_if(isinf({weight}))"),
            Value("1" if weight is None else f"count_if({weight} > 0)"),
        ]
        whole = [name for name in features if self.kind_of(name) == "number" and weight is None]
        ends = [
            value
            for name in whole
            for value in (
                Value(f"count({quoted(name)})"),
                Value(f"min({quoted(name)})", "DOUBLE"),
                Value(f"max({quoted(name)})", "DOUBLE"),
            )
        ]
        # ends alone are in Parquet's own statistics
        scanned, *more = self.rows.ask(
            Ask("looking", values=values), *([Ask("looking", values=ends)] if ends else [])
        )
        figures = scanned.fillna(0).iloc[0].tolist()  # of no rows
        self.count = int(figures[0])
        self._check_rows(*map(int, figures[1:6]))
        # as many columns per feature as cuts make at least
        if self.glancing and self.count > POLICY.sure_factor * _most_patterns(2 * len(features)):
            self._glance(self.glancing)  # before anything looks at all rows
        found, figures = {}, more[0].iloc[0].tolist() if more else []
        for j, name in enumerate(whole):
            known, least, most = figures[3 * j : 3 * j + 3]
            if known == self.count and math.isfinite(least) and math.isfinite(most):
                self.clean.add(name)
                distinct = most - least + 1 if self.is_whole(name) else math.inf
                found[name] = _Seen("number", 0, least, most, distinct)
        return found | self._look_closer([n for n in features if n not in found], found)

    def _look_closer(self, features: Sequence[str], found: Mapping[str, _Seen]) -> dict[str, _Seen]:
        """Full scan: distinct counts of clean features; missing, infinite, ends of the rest."""
        many = [name for name, each in found.items() if each.distinct > POLICY.exact_values]
        values = [Value(f"approx_count_distinct({quoted(name)})") for name in many]
        for name in features:
            number = self.kind_of(name) == "number"
            read = self.number_of(name) if number else "NULL"
            infinite = f"count_if(isinf({read}))" if number else "0"
            values += [
                Value(f"approx_count_distinct({quoted(name)})"),
                Value(f"count_if({self._null(name)})"), Value(infinite),
                Value(f"min({read})", "DOUBLE"), Value(f"max({read})", "DOUBLE"),
            ]  # fmt: skip
        if not values:
            return {}
        (scanned,) = self.rows.ask(Ask("looking", values=values))
        figures, made = scanned.iloc[0].tolist(), {}
        for name, distinct in zip(many, figures, strict=False):
            made[name] = replace(found[name], distinct=distinct)
        for j, name in enumerate(features):
            start = len(many) + 5 * j
            distinct, missing, infinite, least, most = figures[start : start + 5]
            if infinite:
                raise DataError(
                    f"column {name!r} holds {int(infinite)} infinite value(s) (inf)."
                    " Replace them by finite numbers or mark them as missing."
                )
            made[name] = _Seen(self.kind_of(name), int(missing), least, most, distinct)
        return made

    @property
    def exact(self) -> bool:
        """Whether each value of each feature is counted, however many there are."""
        many = sum(each.distinct > POLICY.exact_values for each in self.seen.values())
        return self.count * many <= POLICY.exact_cells

    def is_whole(self, name: str) -> bool:
        """Whether a column holds whole numbers by its type."""
        return not self.rows.types[name].upper().startswith(("FLOAT", "DOUBLE", "DECIMAL"))

    def _check_rows(
        self, nameless: int, labels: int, bad: int, infinite: int, counted: int
    ) -> None:
        """Refuse an empty table, missing labels, many of them, and what is not a weight."""
        if not self.count:
            raise DataError("the table has no rows: check the filter or the file it comes from.")
        for column, wrong, what in (
            (self.target, nameless, "missing label(s)"),
            (self.weights, bad + infinite, "value(s) that can be no weight"),
        ):
            if wrong:
                raise DataError(
                    f"column {column!r} has {wrong} {what}: fill in, or drop these rows."
                )
        if not counted:
            raise DataError(f"every weight in column {self.weights!r} is zero.")
        if labels > POLICY.max_labels:
            raise DataError(
                f"column {self.target!r} has about {labels} distinct labels: a score needs two."
            )

    def kind_of(self, name: str) -> str:
        """What a column holds, by DuckDB's type."""
        kind = self.rows.types[name].upper()
        if kind.startswith(_NUMBERS) and not kind.endswith("]"):
            return "number"
        if kind.startswith(("DATE", "TIMESTAMP")) and not kind.endswith("]"):
            return "date"
        if kind.startswith(("VARCHAR", "ENUM", "UUID")) and not kind.endswith("]"):
            return "text"
        return "truth" if kind == "BOOLEAN" else kind

    def number_of(self, name: str) -> str:
        """A column of numbers in SQL, NULL where it is missing."""
        given = f"{quoted(name)}::DOUBLE"
        if name in self.clean:
            return given
        exact = self.rows.types[name].upper().startswith(("FLOAT", "DOUBLE"))
        return f"nullif({given} + 0, 'NaN'::DOUBLE)" if exact else given

    def _null(self, name: str) -> str:
        """Whether a value is missing."""
        return f"{self.key_of(name)} IS NULL{self._and}"

    def key_of(self, name: str) -> str:
        """A column in SQL as a key of groups."""
        kind = self.kind_of(name)
        if kind == "number":
            return self.number_of(name)
        return quoted(name) if kind in {"truth", "date"} else f"{quoted(name)}::VARCHAR"

    @property
    def _weight(self) -> str:
        assert self.weights is not None
        if self.kind_of(self.weights) != "number":
            raise DataError(f"column {self.weights!r} holds no numbers, which weights have to be.")
        return self.number_of(self.weights)

    @property
    def _and(self) -> str:
        """Return the condition that a row has weight, if there are weights."""
        return "" if self.weights is None else f" AND {self._weight} > 0"

    @property
    def _figures(self) -> list[Value]:
        """The number of rows, and their weight."""
        if self.weights is None:
            return [Value("count(*)")]
        return [
            Value("count(*)"),
            Value(f"sum({self._weight}::DECIMAL(38, 18))", "DECIMAL(38, 18)"),
        ]

    # ------------------------------------------------------------ labels

    @cached_property
    def labels(self) -> _Labels:
        """The labels of the table."""
        asked = Ask("counting labels", [self.key_of(self.target)], [Value("count(*)")])
        (found,) = self.rows.ask(asked)
        return self._labels(found["k0"], found["v0"])

    def _labels(self, raw: pd.Series[Any], rows: pd.Series[Any]) -> _Labels:
        """The class of each label, of labels and how many rows have them."""
        if raw.isna().any():
            self._check_rows(int(rows[raw.isna()].sum()), 0, 0, 0, 1)
        labels = plain_values(raw).rename(self.target)
        spelt = self.writing.as_spelled
        labels, said = (labels, []) if spelt else folded_labels(labels, rows.to_numpy())
        self.said = [*self.said, *said]
        each: dict[Any, int] = {}
        for label, count in zip(labels.tolist(), rows.tolist(), strict=True):
            each[label] = each.get(label, 0) + count
        two = [*each]
        if len(two) > 2 and (self.positive is None or callable(self.positive)):
            known = sorted(each.items(), key=str)
            shown = listing((f"{label} ({n} rows)" for label, n in known), 8)
            raise DataError(
                f"column {self.target!r} has {len(two)} distinct labels, {shown}: a score needs"
                " two. Name the one to score against all others with {positive}=LABEL, or give"
                " another column.",
                positive=...,
            )
        chosen = self.positive(two) if callable(self.positive) else self.positive
        if chosen is None and len(two) == 2:
            chosen = two[positive_label(two, None, lambda: [*each.values()])]
        signs, classes = encode_labels(one_against_rest(labels, chosen, said), chosen)
        return _Labels(dict(zip(raw.tolist(), signs.tolist(), strict=True)), classes)

    # ------------------------------------------------------------ the second pass

    def cut(self, cutting: Cutting, class_weight: Any) -> Design:
        """The design in the columns that a Cutting learns of the table."""
        self.glancing = cutting
        self.check(cutting)
        made = self.made(cutting)
        learned = Learned(tuple(made.columns), tuple(made.blocks), (), True, None)
        return self.design(
            learned, class_weight, lambda X: cutting.without_repeated(made, X, self.count)
        )

    def check(self, cutting: Cutting) -> None:
        """Look at types, ends and labels, and refuse missing values where they are not wanted."""
        seen, _ = self.seen, self.labels
        if cutting.missing == "error":
            refuse_missing({name: each.missing for name, each in seen.items() if each.missing})

    def made(self, cutting: Cutting) -> Made:
        """The columns that a Cutting makes of the table, feature by feature."""
        seen = self.seen
        useless = self._useless(cutting)
        scanned = self._values([name for name in self.features if name not in useless], cutting)
        table = {name: series for name, (series, _) in scanned.items()}
        plain = {
            name
            for name, series in table.items()
            if seen[name].kind == "number" and not seen[name].missing and len(series) == 2
            and np.array_equal(np.sort(series.to_numpy()), (0.0, 1.0))
        }  # fmt: skip
        self.few = {
            name: sorted(series.dropna().tolist())
            for name, series in table.items()
            if seen[name].kind == "number" and len(series) <= POLICY.coded_values
        }
        made = cutting.columns_of(
            table, lambda name: scanned[name][1], plain, self.kept,
            lambda series: self._orders(str(series.name)),
            cache(lambda: bins_for(self._rarer())), self.count,
        )  # fmt: skip
        made.columns[:] = cells_on(made.columns, self.cells, self.writing.na)
        made.remarks[:0] = self.said
        useless |= made.left_out
        made.left_out.clear()
        made.left_out.update((name, useless[name]) for name in self.features if name in useless)
        if not made.columns:
            cutting.without_repeated(made, np.empty((0, 0)), self.count)  # says what there was
        return made

    def _useless(self, cutting: Cutting) -> dict[str, str]:
        """Features that are of no use whatever their values, or have too many of them."""
        found: dict[str, str] = {}
        places = [f"#{k}" for k in range(1, len(self.rows.types) + 1)]
        nameless = {n for n, place in zip(self.rows.types, places, strict=True) if n == place}
        valued = [name for name, each in self.seen.items() if each.missing < self.count]
        refuse_nameless([name for name in valued if name in nameless])
        for name, each in self.seen.items():
            drops = cutting.drops(name, self.kept)
            known = self.count - each.missing
            most = 2 * each.distinct > known  # as many as rows, about
            if each.kind not in {"number", "truth", "text", "date"}:
                raise DataError(
                    f"column {name!r} holds {each.kind} values, which are neither numbers nor"
                    " text. Convert it, or drop it."
                )
            if each.kind == "date":
                if not drops:
                    raise DataError(
                        f"column {name!r} holds dates: convert it into days since a fixed day, or"
                        " drop it."
                    )
                found[name] = "dates"
            elif each.kind == "text" and each.distinct > POLICY.max_categories:
                if not (drops and most):
                    raise SizeError(
                        f"column {name!r} has about {each.distinct:.0f} categories, and each would"
                        f" make a column (limit {POLICY.max_categories}): put them into groups, or"
                        " drop it."
                    )
                found[name] = "text of its own in most rows"
            elif drops and each.kind == "number" and self._numbers_rows(each, known):
                found |= {} if self._orders(name) else {name: "identifier"}
        return found

    def _orders(self, name: str) -> bool:
        """Return whether the numbers of a feature order the label."""
        read = self.number_of(name)
        moved = f"({read} - {float(self.seen[name].least)!r})"
        figures = [Value("count(*)"), *(Value(f"sum({moved}^{k})", "DOUBLE") for k in (1, 2))]
        where = f"{read} IS NOT NULL{self._and}"
        (found,) = self.rows.ask(Ask(f"asking {name}", [self.key_of(self.target)], figures, where))
        return lie_apart(*found[["v0", "v1", "v2"]].to_numpy(dtype=np.float64).T)

    def _numbers_rows(self, seen: _Seen, known: int) -> bool:
        """Whether whole numbers were given out one by one, of a feature of many values."""
        if self.exact or seen.distinct <= POLICY.exact_values or 10 * seen.distinct < 9 * known:
            return False  # or its values are counted, and tell
        return bool(
            float(seen.least).is_integer()
            and float(seen.most).is_integer()
            and seen.most - seen.least < 3 * known
        )

    def _values(
        self, names: Sequence[str], cutting: Cutting
    ) -> dict[str, tuple[pd.Series[Any], FloatArray]]:
        """Return per feature its values and their weights, a missing one last."""
        asks, rounded = {}, set()
        for name in names:
            seen = self.seen[name]
            if seen.kind == "number" and name in (cutting.thresholds or {}):
                continue
            read = self.key_of(name)
            keys, values = [read], self._figures
            few = seen.distinct <= POLICY.exact_values or self.exact
            if seen.kind == "number" and not few:
                rounded.add(name)
                unit = POLICY.equal_groups / (seen.most - seen.least)
                keys = [f"floor(({read} - {seen.least!r}) * {unit!r})::INTEGER"]
                values = [*values, Value(f"min({read})", "DOUBLE")]
                values += [Value(f"max({read})", "DOUBLE")]
            where = "" if name in self.clean else f"{read} IS NOT NULL{self._and}"
            asks[name] = Ask(f"counting values of {name}", keys, values, where)
            if self._hardly_repeats(seen) and name not in rounded:
                asks[name] = Ask(f"reading {name}", keys, (), where, grouped=False)
        read_of = dict(zip(asks, self.rows.ask(*asks.values()), strict=True))
        answers = {n: t if asks[n].grouped else _counted(t) for n, t in read_of.items()}
        heavy = [
            name for name in rounded if _heaviest(answers[name]) > POLICY.heavy_share * self.count
        ]
        again = [replace(asks[name], keys=[_near(self.key_of(name))]) for name in heavy]
        for name, found in zip(heavy, self.rows.ask(*again) if again else (), strict=True):
            answers[name] = min(answers[name], found, key=_heaviest)
        return {name: self._series(name, answers.get(name), name in rounded) for name in names}

    def _hardly_repeats(self, seen: _Seen) -> bool:
        """Whether numbers are sorted in less time than grouped."""
        return (
            seen.kind == "number" and seen.distinct > POLICY.exact_values and self.weights is None
        )

    def _series(
        self, name: str, found: pd.DataFrame | None, rounded: bool
    ) -> tuple[pd.Series[Any], FloatArray]:
        """The values of a feature and their weights from the answer of the second pass."""
        seen = self.seen[name]
        if found is None:  # cuts are given: only that these are numbers matters
            values: pd.Series[Any] = pd.Series([seen.least, seen.most], dtype=np.float64)
            weight = np.ones(2)
        elif rounded:
            count, mass = found["v0"].to_numpy(float), self._mass(found)
            least, most = found.iloc[:, -2].to_numpy(float), found.iloc[:, -1].to_numpy(float)
            wide = least < most
            values = pd.Series(np.concatenate([least, most[wide]]))
            last = (mass / count)[wide]  # one row's worth at the upper end
            weight = np.concatenate([mass, last])
            weight[: len(mass)][wide] -= last
        else:
            values = plain_values(found["k0"]) if seen.kind != "number" else found["k0"]
            weight = self._mass(found)
        if seen.missing:
            known = values.dtype.kind in "fb" and seen.kind == "number"
            gap = pd.Series([np.nan if known else None], dtype=values.dtype if known else object)
            values = pd.concat([values.astype(gap.dtype), gap], ignore_index=True)
            weight = np.append(weight, 1.0)
        order = np.argsort(values.to_numpy(), kind="stable") if values.dtype.kind == "f" else None
        if order is not None:
            values, weight = values.iloc[order].reset_index(drop=True), weight[order]
        return values.rename(name), weight

    def _mass(self, found: pd.DataFrame) -> FloatArray:
        """The weights of an answer's groups."""
        column = "v0" if self.weights is None else "v1"
        return np.array(found[column], dtype=np.float64)

    def _distinct(self, enough: int, where: str = "") -> int:
        """Return the number of distinct rows of the features, or a lower bound."""
        where = f"{where}{self._and}".removeprefix(" AND ")
        keys = [self.key_of(name) for name in self.features]
        for first in (4 * enough, None):
            asked = Ask("looking for repeated rows", keys, (), where, enough, first)
            (found,) = self.rows.ask(asked)
            if len(found) >= enough or (first is not None and first >= self.count):
                break
        return len(found)

    def _rarer(self) -> int:
        """Distinct rows of the rarer class, or enough of them."""
        classes: dict[int, list[str]] = {-1: [], 1: []}
        for label, sign in self.labels.signs.items():
            classes[sign].append(literal(label) if isinstance(label, str) else str(label))
        return min(
            self._distinct(ENOUGH, f"{self.key_of(self.target)} IN ({', '.join(group)})")
            for group in classes.values()
        )

    # ------------------------------------------------------------ the last pass

    def groups(
        self, keys: list[str], figures: list[Value], columns: int, drawn: tuple[float, int] | None
    ) -> pd.DataFrame:
        """Figures of each group of equal keys; SizeError where a design cannot hold as many."""
        where, most = self._and.removeprefix(" AND "), _most_patterns(columns)
        asked = Ask("merging rows", keys, figures, where, most + 1, drawn=drawn)
        (found,) = self.rows.ask(asked)
        if len(found) > most:
            raise _too_many(f"more than {most:,}", most)
        return found

    def design(
        self,
        learned: Learned,
        class_weight: Any,
        relearn: Callable[[FloatArray], Learned] | None = None,
        drawn: tuple[float, int] | None = None,
    ) -> Design:
        """The patterns of the columns, their classes and weights; of the rows ``drawn`` alone."""
        reading = Reading.of(learned.columns, self)
        if relearn is None and self.weights is not None:
            self._look(())
        keys = [*reading.keys, self.key_of(self.target)]
        found = self.groups(keys, self._figures, len(learned.columns), drawn)
        target = found[f"k{len(keys) - 1}"]
        if "labels" not in vars(self):
            each = found["v0"].groupby(target, dropna=False).sum().reset_index()
            labels = self._labels(each.iloc[:, 0], each["v0"])
        else:
            labels = self.labels
        X = reading.values(found)
        if relearn is not None:
            learned = relearn(X)
            assert learned.values is not None
            X = learned.values
        y = np.array([labels.signs[label] for label in target.tolist()], dtype=np.int64)
        merged = merge_rows(X, y, self._mass(found))
        count = merged.sums(found["v0"].to_numpy(np.int64)).astype(np.int64)
        codes = (merged.y > 0).astype(np.int64)
        factors = class_factors(class_weight, codes, merged.weight, labels.classes)
        weight = merged.weight * np.array([float(factor) for factor in factors])[codes]
        remarks = () if learned.unlike else doubts(merged.X, learned.columns)
        return Design(
            merged.X, merged.y, weight, learned.columns, learned.blocks, labels.classes,
            (*learned.remarks, *remarks), count, (factors[0], factors[1]),
        )  # fmt: skip

    def _glance(self, cutting: Cutting) -> None:
        """Refuse a table of which some rows show that it has far too many patterns.

        At least the square of those seen once, over twice those seen twice, are unseen (Chao 1984).
        """
        rows = self.rows.glance(POLICY.sampled_rows, self.count)
        look = replace(self, rows=rows, clean=set(), few={}, glancing=None)
        look.labels = self.labels
        try:
            columns = look.made(cutting).columns
        except DataError:
            return  # of these rows; the passes look at all
        keys = [*Reading.of(columns, look).keys, look.key_of(look.target)]
        where = look._and.removeprefix(" AND ")
        (found,) = look.rows.ask(Ask("looking for patterns", keys, [Value("count(*)")], where))
        once, twice = (int((found["v0"] == times).sum()) for times in (1, 2))
        likely = min(self.count, len(found) + once * (once - 1) // (2 * (twice + 1)))
        if likely > POLICY.sure_factor * (most := _most_patterns(len(columns))):
            seen = f"of {look.count:,} rows looked at {len(found):,} differ"
            raise _too_many(f"some {likely:,} (estimated: {seen})", most)


def _most_patterns(columns: int) -> int:
    """Distinct rows beyond which no design of so wide rows is made."""
    return min(POLICY.max_patterns, MAX_CELLS // max(columns, 1))


def _too_many(how: str, most: int) -> TooManyPatternsError:
    """What to do about a table whose rows do not merge."""
    return TooManyPatternsError(
        f"the table has {how} distinct rows in these columns, too many for an exact answer (limit"
        f" {most:,}): bin measured columns (--bins 3), or name fewer features (--features)."
        " What holds at this size: `fit` without a column of weights (a fast card for all rows),"
        " milpscore.sampling.fit_sample, or --sample 100000 on the command line (a card for all"
        " rows, and a bound of 95 % confidence from a random sample), and"
        " milpscore path (penalised models of all rows, out of core)"
    )


def _counted(found: pd.DataFrame) -> pd.DataFrame:
    """The distinct values of a column of numbers, and how many rows have each."""
    values, counts = np.unique(found["k0"].to_numpy(np.float64), return_counts=True)
    return pd.DataFrame({"k0": values, "v0": counts})


def _heaviest(found: pd.DataFrame) -> int:
    """The rows of the largest group of several values."""
    wide = found.iloc[:, -2] < found.iloc[:, -1]
    return int(found["v0"][wide].max()) if wide.any() else 0


def _near(read: str) -> str:
    """A group of the numbers that differ by less than a 2000th, in their order."""
    part = f"floor(ln(abs({read})) * {POLICY.ratio_groups})::INTEGER"
    return (
        f"CASE WHEN {read} = 0 THEN 0 WHEN {read} > 0 THEN 4000000 + {part}"
        f" ELSE -4000000 - {part} END"
    )
