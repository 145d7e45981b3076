"""Apply a card to files of any size, Parquet or CSV in and out, some rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from milpscore.core.errors import (
    DataError,
    MilpscoreError,
    OptionError,
    near_matches,
    optional,
)
from milpscore.core.writing import data_output, replacing
from milpscore.data.cells import disguised, without_marks
from milpscore.data.sources import Ask, is_file, literal, opened, parquet_files, quoted
from milpscore_check.table import TRUTH

if TYPE_CHECKING:
    from milpscore.scorecard._card import Scorecard

BATCH = 1 << 17
"""Rows that are in memory at a time."""

Unseen: TypeAlias = Literal["error", "zero"]
Tell: TypeAlias = "Callable[[int, int], None]"
"""Called with the rows done and all rows."""

Answers: TypeAlias = "Callable[[pd.DataFrame], pd.DataFrame]"


def answers_of(
    card: Scorecard,
    *,
    unseen: Unseen = "error",
    scores: bool = False,
    probabilities: bool = False,
    groups: bool = False,
) -> Answers:
    """What a card says of the rows of a table, a column each: total, prediction, risk, ..."""
    if card.risk is None and (probabilities or groups):
        raise OptionError(
            "{argument} needs risks, and this card only decides: fit a risk score",
            argument="probabilities" if probabilities else "groups",
        )
    risk = card.risk

    def answer(frame: pd.DataFrame) -> pd.DataFrame:
        totals = card.score(frame, unseen=unseen)
        found: dict[str, Any] = {}
        if scores:
            found["total"] = totals.astype(np.int64) if card.counts_whole else totals
        found["prediction"] = card.labels(totals)
        if risk is not None:
            found["risk"] = above = card.risks(totals)
            if probabilities:
                each = zip(card.classes, (1.0 - above, above), strict=True)
                found |= {f"probability of {label}": values for label, values in each}
            if groups:
                names = np.array(card.risk_lines[0][1:], dtype=object)
                found["risk group"] = names[risk.group(totals)]
        return pd.DataFrame(found)

    return answer


def refuse_taken(kept: Sequence[str], answers: pd.DataFrame) -> None:
    """Refuse to keep a column that is called as an answer is."""
    if taken := [name for name in kept if name in answers.columns]:
        raise OptionError(f"the table has a column {taken[0]!r} as the answers do: rename it")


def predict_file(
    card: Scorecard,
    source: str | Path,
    out: str | Path | None,
    *,
    keep: Sequence[str] = (),
    unseen: Unseen = "error",
    scores: bool = False,
    probabilities: bool = False,
    groups: bool = False,
    decimal: str = ".",
    encoding: str = "utf-8",
    na: Sequence[str] = (),
    memory_limit: int | str | None = None,
    tell: Tell | None = None,
    look: Callable[[pd.DataFrame], None] | None = None,
) -> int:
    """Apply a card to a file of any size.

    Rows keep their order. As many are in memory at a time as 131,072 and the columns that the card
    reads. The file is there when all rows are answered, or not at all.

    Parameters
    ----------
    card : Scorecard
    source : path
        A file of Parquet, a folder of such, or several named with ``*``; or a CSV file, whose
        columns are read as the card needs them, and kept as they are written.
    out : path or None
        A name that ends in ``.parquet`` is written as such, any other as CSV; None writes CSV to
        standard output.
    keep : sequence of str
        Columns of the table to keep before the answers.
    unseen : {"error", "zero"}
        As :meth:`Scorecard.score`.
    scores, probabilities, groups : bool
        Add ``total``, a probability for each label, the group of the risk table; a risk score has
        ``risk`` in any case.
    na : sequence of str
        What stands for a missing value besides what the card knows.
    decimal, encoding, memory_limit
        Of CSV, as for :func:`milpscore.data.read_patterns`.
    tell : callable, optional
        Called with the rows done and all rows, which are not known of CSV.
    look : callable, optional
        Called with the features of the rows that were answered.

    Returns
    -------
    int
        Rows.

    Raises
    ------
    DataError
        The table cannot be read, or the card has no answer for a row; the message names the rows.
    OptionError
        A column to keep is called as an answer is.
    MissingDependencyError
        PyArrow is not installed, or DuckDB, which reads CSV.
    """
    answer = answers_of(
        card, unseen=unseen, scores=scores, probabilities=probabilities, groups=groups
    )
    text = partial(_csv_rows, decimal=decimal, encoding=encoding, memory_limit=memory_limit)
    opened, done = _parquet_rows if is_file(source) else text, 0
    with opened(card, source, keep) as (none, kept, total, batches):
        # the answers to no rows: refuses columns that are not there, and has the types of all
        nothing = answer(none)
        refuse_taken(keep, nothing)
        pa = _pyarrow()
        typed = [pa.field(str(name), _type(pa, card, nothing, name)) for name in nothing.columns]
        schema = pa.schema([*kept, *typed])
        with _written(out, schema) as write:
            for rows, own in batches:
                frame = rows.apply(without_marks, na=na) if na else rows
                try:
                    found = answer(frame)
                except MilpscoreError as error:
                    where = f"rows {done + 1} to {done + len(frame)} of {str(source)!r}"
                    raise type(error)(f"{where}: {error}") from error
                answers = [_column(pa, found[field.name], field.type) for field in typed]
                write(pa.Table.from_arrays([*own, *answers], schema=schema))
                done += len(frame)
                if look is not None:
                    look(frame)
                if tell is not None:
                    tell(done, max(done, total))
    return done


@contextmanager
def _parquet_rows(
    card: Scorecard, source: str | Path, keep: Sequence[str]
) -> Iterator[tuple[pd.DataFrame, list[Any], int, Iterator[tuple[pd.DataFrame, list[Any]]]]]:
    """No rows, the fields to keep, how many rows there are, and these with what is kept of them."""
    pa, files = _files(source)
    layout = files[0].schema_arrow
    raw = _raw_names(layout.names, keep)
    read = [name for name in layout.names if name.strip() in {*card.features, *keep}]
    kept = [layout.field(raw[name]).with_name(name) for name in keep]

    def batches() -> Iterator[tuple[pd.DataFrame, list[Any]]]:
        for batch in _batches(pa, files, read, str(source)):
            rows = pa.Table.from_batches([batch])
            yield _frame(pa, rows), [rows.column(raw[name]) for name in keep]

    total = sum(file.metadata.num_rows for file in files)
    yield _frame(pa, layout.empty_table().select(read)), kept, total, batches()


@contextmanager
def _csv_rows(
    card: Scorecard, source: str | Path, keep: Sequence[str], **reading: Any
) -> Iterator[tuple[pd.DataFrame, list[Any], int, Iterator[tuple[pd.DataFrame, list[Any]]]]]:
    """The same of CSV: numbers where the card compares, text elsewhere and where it is kept."""
    kinds: dict[str, set[str]] = {}
    for column in card.columns:
        kinds.setdefault(column.feature, set()).add(column.kind)
    numbers = {name for name, own in kinds.items() if not own <= {"category", "missing"}}
    numbers -= disguised(card.columns)
    truth = {
        name
        for name in set(kinds) - numbers
        if {c.category for c in card.columns if c.feature == name} <= {"True", "False", None}
    }
    types = {name: "DOUBLE" if name in numbers else "VARCHAR" for name in kinds}
    types |= dict.fromkeys(keep, "VARCHAR")
    pa, point = _pyarrow(), literal(reading["decimal"])
    with opened(source, types=types, **reading) as rows:
        _raw_names(list(rows.types), keep)
        read = [name for name in kinds if name in rows.types]
        keys = [
            f"replace({quoted(name)}, {point}, '.')::DOUBLE"
            if name in numbers and name in keep
            else quoted(name)
            for name in read
        ]

        def frame_of(columns: Sequence[Any]) -> pd.DataFrame:
            made = {name: column.to_pandas() for name, column in zip(read, columns, strict=True)}
            truths = {name: made[name].map(TRUTH, na_action="ignore") for name in truth & {*made}}
            return pd.DataFrame({**made, **truths})

        def batches() -> Iterator[tuple[pd.DataFrame, list[Any]]]:
            ask = Ask("reading", [*keys, *map(quoted, keep)], grouped=False)
            for batch in rows.batches(ask, BATCH):
                columns = batch.columns
                yield frame_of(columns[: len(read)]), columns[len(read) :]

        none = {name: "float64" if name in numbers else "object" for name in read}
        kept = [pa.field(name, pa.string()) for name in keep]
        yield pd.DataFrame(columns=read).astype(none), kept, 0, batches()


def _pyarrow() -> Any:
    """PyArrow, or an error that says how to install it."""
    return optional("pyarrow", "files of any size need PyArrow: pip install 'milpscore[parquet]'")


def _files(source: str | Path) -> tuple[Any, list[Any]]:
    """PyArrow, and the files of a source, opened one by one: a data set reads ahead of who asks."""
    pa, found = _pyarrow(), []
    from pyarrow.parquet import ParquetFile

    for file in parquet_files(source):
        try:
            # with a buffer, all that was read of a file stays in memory
            found.append(ParquetFile(file, pre_buffer=False))
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(str(file), error) from error
    if odd := [file for file in found if not file.schema_arrow.equals(found[0].schema_arrow)]:
        raise DataError(
            f"{len(odd)} of the {len(found)} files of {str(source)!r} have other columns or types "
            "than the first: write them alike"
        )
    return pa, found


def _unreadable(source: str, error: Exception) -> DataError:
    said = " ".join(str(error).split())[:300]
    return DataError(f"{source!r} cannot be read as Parquet ({said}): write it again")


def _raw_names(names: Sequence[str], keep: Sequence[str]) -> dict[str, str]:
    """What the columns to keep are called in the table, where blanks may stand around names."""
    known = {name.strip(): name for name in names}
    for name in keep:
        if name not in known:
            raise DataError(f"there is no column {name!r}; {near_matches(name, known)}")
    return {name: known[name] for name in keep}


def _frame(pa: Any, rows: Any) -> pd.DataFrame:
    """Rows for pandas; exact decimals, which databases like, as the floats that cards count in."""
    for place, field in enumerate(rows.schema):
        if pa.types.is_decimal(field.type):
            rows = rows.set_column(place, field.name, rows.column(place).cast(pa.float64()))
    found: pd.DataFrame = rows.to_pandas()
    return found


def _type(pa: Any, card: Scorecard, none: pd.DataFrame, name: str) -> Any:
    """The type of a column of answers."""
    if name == "prediction" and len({type(label) for label in card.classes}) == 1:
        return pa.scalar(card.classes[0]).type
    kind = none[name].dtype.kind
    return {"i": pa.int64(), "f": pa.float64()}.get(kind, pa.string())


def _column(pa: Any, values: pd.Series[Any], kind: Any) -> Any:
    """Answers of a type; labels of different types are text."""
    plain = kind != pa.string()
    return pa.array(values.to_numpy() if plain else values.map(str).tolist(), type=kind)


def _batches(pa: Any, files: Sequence[Any], columns: Sequence[str], what: str) -> Iterator[Any]:
    """The rows, some at a time, in their order."""
    for file in files:
        batches = file.iter_batches(BATCH, columns=list(columns), use_threads=False)
        while True:
            try:
                batch = next(batches, None)
            except (pa.ArrowException, OSError) as error:
                raise _unreadable(what, error) from error
            if batch is None:
                break
            yield batch


@contextmanager
def _written(out: str | Path | None, schema: Any) -> Iterator[Callable[[Any], None]]:
    """What takes tables in turn; its file appears at the end, and only if nothing went wrong."""
    if out is None:
        yield _csv(data_output())
        return
    with replacing(out) as part:
        if part.suffix.lower() in (".parquet", ".pq"):
            from pyarrow.parquet import ParquetWriter

            with ParquetWriter(part, schema) as writer:
                yield writer.write_table
        else:
            with part.open("w", encoding="utf-8", newline="") as file:
                yield _csv(file)


def _csv(file: IO[str]) -> Callable[[Any], None]:
    """Write tables below one header."""
    header = True

    def write(table: Any) -> None:
        nonlocal header
        table.to_pandas().to_csv(file, index=False, header=header, lineterminator="\n")
        header = False

    return write
