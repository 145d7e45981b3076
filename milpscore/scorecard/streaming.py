"""Apply a card to tables of any size: Parquet in, Parquet or CSV out, some rows at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from milpscore.core.errors import (
    DataError,
    MilpscoreError,
    MissingDependencyError,
    OptionError,
    near_matches,
)
from milpscore.data.sources import parquet_files

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
        asked = "probabilities" if probabilities else "groups"
        raise OptionError(f"{asked} needs risks, and this card only decides: fit a risk_score")
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


def predict_parquet(
    card: Scorecard,
    source: str | Path,
    out: str | Path | None,
    *,
    keep: Sequence[str] = (),
    unseen: Unseen = "error",
    scores: bool = False,
    probabilities: bool = False,
    groups: bool = False,
    tell: Tell | None = None,
) -> int:
    """Apply a card to Parquet of any size.

    Rows keep their order. As many are in memory at a time as 131,072 and the columns that the card
    reads. The file is there when all rows are answered, or not at all.

    Parameters
    ----------
    card : Scorecard
    source : path
        A file of Parquet, a folder of such, or several named with ``*``.
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
    tell : callable, optional
        Called with the rows done and all rows.

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
        PyArrow is not installed.
    """
    pa, files = _files(source)
    layout = files[0].schema_arrow
    answer = answers_of(
        card, unseen=unseen, scores=scores, probabilities=probabilities, groups=groups
    )
    # the answers to no rows: refuses columns that are not there, and has the types of all
    raw = _raw_names(layout.names, keep)
    read = [name for name in layout.names if name.strip() in {*card.features, *keep}]
    none = answer(_frame(pa, layout.empty_table().select(read)))
    refuse_taken(keep, none)
    kept = [layout.field(raw[name]).with_name(name) for name in keep]
    typed = [pa.field(str(name), _type(pa, card, none, name)) for name in none.columns]
    schema, total, done = pa.schema([*kept, *typed]), sum(f.metadata.num_rows for f in files), 0
    with _written(out, schema) as write:
        for batch in _batches(pa, files, read, str(source)):
            rows = pa.Table.from_batches([batch])
            try:
                found = answer(_frame(pa, rows))
            except MilpscoreError as error:
                where = f"rows {done + 1} to {done + len(batch)} of {str(source)!r}"
                raise type(error)(f"{where}: {error}") from error
            own = [rows.column(raw[name]) for name in keep]
            answers = [_column(pa, found[field.name], field.type) for field in typed]
            write(pa.Table.from_arrays([*own, *answers], schema=schema))
            done += len(batch)
            if tell is not None:
                tell(done, total)
    return done


def _files(source: str | Path) -> tuple[Any, list[Any]]:
    """PyArrow, and the files of a source, opened one by one: a data set reads ahead of who asks."""
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            "Parquet needs PyArrow: pip install 'milpscore[parquet]'; CSV needs nothing"
        ) from error
    found = []
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
        yield _csv(sys.stdout)
        return
    out = Path(out)
    part = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        if out.suffix.lower() in (".parquet", ".pq"):
            from pyarrow.parquet import ParquetWriter

            with ParquetWriter(part, schema) as writer:
                yield writer.write_table
        else:
            with part.open("w", encoding="utf-8", newline="") as file:
                yield _csv(file)
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)


def _csv(file: IO[str]) -> Callable[[Any], None]:
    """Write tables below one header."""
    header = True

    def write(table: Any) -> None:
        nonlocal header
        table.to_pandas().to_csv(file, index=False, header=header, lineterminator="\n")
        header = False

    return write
