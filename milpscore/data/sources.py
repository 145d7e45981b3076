"""Tables of any size and kind, asked in SQL: files, and tables of other libraries.

DuckDB reads Parquet, CSV, Arrow, Polars, pandas and its own relations, within a limit of memory
beyond which it spills to a folder that is gone at the end.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from milpscore.core.design import CellRules
from milpscore.core.errors import (
    DataError,
    MissingDependencyError,
    OptionError,
    SizeError,
    near_matches,
    optional,
)
from milpscore.data.cells import Writing, is_code, questions
from milpscore.data.checking import as_frame, category_text, check_size
from milpscore.data.policy import POLICY
from milpscore_check.cells import pattern, tidy_names
from milpscore_check.table import MISSING, TRUTH

_PACKED_BY = {".parquet": 5, ".pq": 5, ".gz": 5, ".zst": 5, ".xlsx": 5}
"""About how many bytes of text a byte of such a file is."""

_EXCEL = frozenset({".xlsx", ".xlsm"})

_PARQUET = frozenset({".parquet", ".pq"})

PACKED = frozenset({".bz2", ".gz", ".tar", ".xz", ".zip", ".zst"})
"""Endings of the files that pandas unpacks."""

Tell = Callable[[str, float], None]
"""Called with what is done and how much of it, from 0 to 1; below 0: not known."""


@dataclass(frozen=True)
class Value:
    """One figure of a group: its SQL and its type."""

    text: str
    kind: str = "BIGINT"


@dataclass(frozen=True)
class Ask:
    """A question to the rows of ``data``: figures of each group of equal keys."""

    what: str
    keys: Sequence[str] = ()
    values: Sequence[Value] = ()
    where: str = ""
    most: int | None = None
    first: int | None = None  # limits the rows
    drawn: tuple[float, int] | None = None  # of each row with this chance, by this seed
    grouped: bool = True  # or each row for itself

    def text(self, source: str) -> str:
        """The question to all rows, or to a part of them."""
        names = [f"{key} AS k{j}" for j, key in enumerate(self.keys)]
        names += [f"({v.text})::{v.kind} AS v{j}" for j, v in enumerate(self.values)]
        inner = f"FROM data{f' WHERE {self.where}' if self.where else ''}"
        if self.first is not None:
            inner = f"FROM (SELECT * {inner} LIMIT {self.first})"
        if self.drawn is not None:
            share, seed = self.drawn
            # by a seed DuckDB draws on one thread, so that rows are drawn apart from one another
            inner = (
                f"FROM (SELECT * {inner}) TABLESAMPLE bernoulli({100 * share!r} PERCENT)"
                f" REPEATABLE ({seed})"
            )
        return f"WITH data AS ({source}) SELECT {', '.join(names)} {inner}{self._ends}"

    @property
    def _ends(self) -> str:
        # by place: a column of the table may be called k0
        grouped = f" GROUP BY {', '.join(str(j + 1) for j in range(len(self.keys)))}"
        limit = "" if self.most is None else f" LIMIT {self.most}"
        return f"{grouped if self.keys and self.grouped else ''}{limit}"


class AskedRows(Protocol):
    """Rows that can be asked; ``types`` are DuckDB's, by clean name."""

    types: dict[str, str]

    def ask(self, *asks: Ask) -> list[pd.DataFrame]:
        """The answers, each with columns k0, k1, ..., v0, v1, ..."""

    def question(
        self, features: Sequence[str], writing: Writing, known: Mapping[str, CellRules] | None
    ) -> tuple[dict[str, CellRules], list[str]]:
        """Read the cells of features as is known, or as their texts ask for; how, and remarks."""

    def glance(self, rows: int, of: int) -> AskedRows:
        """Return about ``rows`` of the rows, from several places, to be asked alone."""

    def batches(self, ask: Ask, rows: int) -> Iterator[Any]:
        """Yield the keys of all rows, about ``rows`` at a time, as tables of Arrow."""

    def frame(self) -> pd.DataFrame:
        """All rows, in memory."""


# ---------------------------------------------------------------- which tables

_LIBRARIES = {"_duckdb", "duckdb", "polars", "pyarrow"}


def is_table(source: Any) -> bool:
    """Return whether it is a table of Arrow, Polars or DuckDB; DataError for one of Dask."""
    kind = type(source)
    library = kind.__module__.partition(".")[0]
    if library in {"dask", "dask_expr"}:
        raise DataError(
            "a Dask DataFrame is not read as it is: write it with to_parquet(FOLDER) and give the "
            "folder, which is read in bounded memory, or give its compute()"
        )
    return library in _LIBRARIES and (hasattr(kind, "columns") or hasattr(kind, "schema"))


def is_file(source: Any) -> bool:
    """Whether it names Parquet: a file, a folder, or several with * or ?."""
    if isinstance(source, pd.DataFrame) or not isinstance(source, str | Path):
        return False
    path = Path(source)
    return path.suffix.lower() in _PARQUET or path.is_dir() or _is_pattern(path)


def is_excel(source: Any) -> bool:
    """Whether it names a workbook of Excel."""
    return isinstance(source, str | Path) and Path(source).suffix.lower() in _EXCEL


def excel_frame(source: str | Path, sheet: str | None) -> pd.DataFrame:
    """A sheet of a workbook, its first row that is not empty being the header."""
    if find_spec("openpyxl") is None:
        raise MissingDependencyError("Excel is read by openpyxl: pip install 'milpscore[excel]'")
    try:
        with pd.ExcelFile(source, engine="openpyxl") as book:
            if sheet is not None and sheet not in book.sheet_names:
                raise DataError(
                    f"no sheet {sheet!r}; {near_matches(sheet, [*map(str, book.sheet_names)])}"
                )
            raw = pd.read_excel(book, sheet or 0, header=None, dtype=object).dropna(how="all")
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        raise DataError(f"cannot read {str(source)!r} as a workbook: {error}.") from error
    if len(raw) < 2:
        raise DataError(f"{str(source)!r} has no rows below a header: name its --sheet")
    names = [None if pd.isna(name) else category_text(name) for name in raw.iloc[0]]
    return raw.iloc[1:].set_axis(names, axis=1).infer_objects().reset_index(drop=True)


def at_size(source: Any, *, rows: bool = False) -> bool:
    """Whether a table is too large to be read into memory as a whole, or may be.

    A file is merged sooner, for its time, unless somebody needs its ``rows``.
    """
    if isinstance(source, str | Path):
        files = parquet_files(source) if is_file(source) else [Path(source)]
        files = [file for file in files if file.is_file()]  # who reads it says what is not
        sizes = (f.stat().st_size * _PACKED_BY.get(f.suffix.lower(), 1) for f in files)
        return sum(sizes) > POLICY.max_bytes_in_memory or (
            not rows and _cells(files) > POLICY.merged_cells
        )
    room = type(source).__module__
    lazy = is_table(source) and (
        room.startswith(("duckdb", "_duckdb", "pyarrow._dataset", "polars.lazy"))
    )
    return lazy or (hasattr(source, "shape") and source.shape[0] > POLICY.max_rows_in_memory)


def _cells(files: Sequence[Path]) -> float:
    """About how many cells some files have; 0 where DuckDB is not there to merge them."""
    if not files or files[0].suffix.lower() in PACKED | _EXCEL or find_spec("duckdb") is None:
        return 0
    if files[0].suffix.lower() not in _PARQUET:
        with files[0].open("rb") as file:
            glance = file.read(1 << 16)
        lines, signs = glance.count(b"\n"), max(map(glance.count, (b",", b";", b"\t")))
        return files[0].stat().st_size * (lines + signs) / max(len(glance), 1)
    named = ", ".join(literal(str(file)) for file in files)
    package = duckdb_package()
    try:
        with package.connect() as connection:
            rows, leaves = connection.execute(
                f"SELECT sum(num_rows), max(columns) FROM parquet_file_metadata([{named}]),"
                f" (SELECT count(*) AS columns FROM parquet_schema({literal(str(files[0]))})"
                " WHERE num_children IS NULL OR num_children = 0)"
            ).fetchone()
    except package.Error:
        return 0  # who reads it says what is wrong
    return float(rows * leaves)


def with_columns(source: Any, **columns: Any) -> Any:
    """A table with further columns, for those libraries whose tables lie in order."""
    room = type(source).__module__.partition(".")[0]
    if room == "polars":
        import polars as pl

        if hasattr(source, "collect"):
            source = source.collect()
        return source.with_columns(**{name: pl.Series(each) for name, each in columns.items()})
    if hasattr(source, "append_column"):
        import pyarrow as pa

        for name, each in columns.items():
            held = each if isinstance(each, pa.Array | pa.ChunkedArray) else pa.array(each)
            source = source.append_column(name, held)
        return source
    if isinstance(source, str | Path) or is_table(source):
        raise DataError(
            "labels and weights beside a file, a Dataset or a relation may stand in another order:"
            " give the names of their columns in it, as fit(table, 'outcome')"
        )
    return as_frame(source).assign(**{name: np.asarray(each) for name, each in columns.items()})


def names_of(source: Any) -> list[str]:
    """The clean names of a table's columns."""
    with opened(source) as rows:
        return list(rows.types)


def frame_of(source: Any) -> pd.DataFrame:
    """A table of another library, or of Parquet, as a DataFrame; refused where it is too large."""
    if is_file(source) and find_spec("duckdb") is None and find_spec("pyarrow") is not None:
        from pyarrow import ArrowException
        from pyarrow.parquet import read_table

        try:
            parts = [read_table(f).to_pandas(ignore_metadata=True) for f in parquet_files(source)]
        except ArrowException as error:
            raise DataError(f"cannot read {str(source)!r} as Parquet: {_said(error)}") from error
        whole = pd.concat(parts, ignore_index=True)
        index = [name for name in whole if _INDEX.fullmatch(str(name))]
        plain: pd.DataFrame = whole.drop(columns=index)
        return plain
    with opened(source) as rows:
        (found,) = rows.ask(Ask("reading", values=[Value("count(*)")]))
        check_size(int(found["v0"][0]), len(rows.types), "the table in memory")
        return rows.frame()


# ---------------------------------------------------------------- DuckDB


def duckdb_package() -> Any:
    """DuckDB, or an error that says how to install it."""
    return optional(
        "duckdb",
        "Parquet, Arrow, Polars and tables of any size are read by DuckDB: pip install"
        " 'milpscore[scale]'",
    )


@contextmanager
def opened(
    source: Any,
    *,
    memory_limit: int | str | None = None,
    progress: bool | None = False,
    once: bool = True,
    decimal: str = ".",
    encoding: str = "utf-8",
    sheet: str | None = None,
    thousands: str | None = None,
    types: Mapping[str, str] | None = None,
) -> Iterator[AskedRows]:
    """The rows of a table, to be asked ``once`` or more often (text is then parsed once).

    ``types`` are those of columns of a CSV file, where they are known.
    """
    if is_excel(source):
        source = excel_frame(source, sheet)
    package, limit = duckdb_package(), bytes_of(memory_limit or POLICY.memory_limit)
    with TemporaryDirectory(prefix="milpscore-") as spill, _line(progress) as tell:
        try:
            with package.connect(config=_settings(limit, spill)) as connection:
                # progress is asked for, and not printed
                connection.execute("SET enable_progress_bar = true")
                connection.execute("SET enable_progress_bar_print = false")
                csv = decimal, encoding, types or {}, thousands
                yield _Duck(connection, source, tell, csv, once)
        except package.OutOfMemoryException as error:
            raise SizeError(
                f"reading takes more memory than {memory_limit or POLICY.memory_limit}: raise its"
                f" limit (--reading-memory), or name fewer features ({_said(error)})"
            ) from error
        except package.Error as error:
            raise DataError(f"the table cannot be read: {_said(error)}") from error


def _settings(limit: float, spill: str) -> dict[str, Any]:
    """How a connection is made; nothing is fetched from anywhere."""
    return {
        "memory_limit": f"{POLICY.duckdb_share * limit / 2**20:.0f}MiB",
        "temp_directory": spill,
        "preserve_insertion_order": False,
        "autoinstall_known_extensions": False,
    }


def bytes_of(limit: int | str) -> float:
    """A limit such as 4GB in bytes."""
    text = str(limit).strip().upper().removesuffix("B")
    unit = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}.get(text[-1:], 0.0)
    try:
        found = float(text[:-1]) * unit if unit else float(text)
    except ValueError:
        found = 0.0
    if not 1e8 <= found <= 1e15:
        raise OptionError(
            f"reading takes at least 100MB, not {str(limit)!r} (memory_limit, --reading-memory)"
        )
    return found


class _Duck:
    """Rows that DuckDB reads."""

    def __init__(
        self, connection: Any, source: Any, tell: Tell, csv: tuple[Any, ...], once: bool
    ) -> None:
        self.connection, self.tell, self.relation = connection, tell, None
        self.files: list[str] = []
        if type(source).__name__ == "RecordBatchReader":
            raise DataError("a RecordBatchReader is read once: give its table, or a Dataset")
        if type(source).__module__.startswith(("duckdb", "_duckdb")):
            self.relation = source  # of somebody else's connection
            described, reader = list(zip(source.columns, source.types, strict=True)), "source"
        else:
            reader = self._reader(source, *csv)
            described = self._all(f"DESCRIBE SELECT * FROM {reader}")
        # an index that pandas wrote is not a column
        described = [row for row in described if not _INDEX.fullmatch(str(row[0]))]
        raw = [str(name) for name, *_ in described]
        names = tidy_names(raw)
        self.types = {n: str(kind) for n, (_, kind, *_) in zip(names, described, strict=True)}
        chosen = ", ".join(f"{quoted(a)} AS {quoted(b)}" for a, b in zip(raw, names, strict=True))
        self.source, self.reader = f"SELECT {chosen} FROM {reader}", reader
        if reader.startswith("read_csv") and not once:
            self._run("parsing", f"CREATE TABLE parsed AS {self.source}")
            self.source = "SELECT * FROM parsed"

    def _reader(self, source: Any, *csv: Any) -> str:
        """What the rows are called in SQL."""
        if is_file(source):
            self.files = [literal(str(file)) for file in parquet_files(source)]
            return f"read_parquet([{', '.join(self.files)}])"
        if isinstance(source, str | Path):
            return _csv(source, *csv)
        table = source if is_table(source) else _arrow(as_frame(source))
        self.connection.register("source", table)
        return "source"

    def question(
        self, features: Sequence[str], writing: Writing, known: Mapping[str, CellRules] | None
    ) -> tuple[dict[str, CellRules], list[str]]:
        """Read the cells of features as is known, or as their texts ask for; how, and remarks."""
        codes = {n for n in features if is_code(n) and not self.types[n].startswith("VARCHAR")}
        said: list[str] = []
        if known is None:
            texts = {}
            for name in features:
                if self.types[name].startswith("VARCHAR"):
                    each = quoted(name)
                    found = self._run(
                        "looking",
                        f"SELECT {each} AS t, count(*) AS n FROM ({self.source}) WHERE {each} IS"
                        f" NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {POLICY.texts_read}",
                    ).to_pandas()
                    values = found["t"].tolist()
                    if not {*values} <= {*TRUTH}:
                        texts[name] = values, found["n"].to_numpy(np.int64)
            known, said = questions(texts, writing)
        cells = {n: known.get(n, CellRules()) for n in features if n in known or writing.na}
        cells = {n: replace(c, na=(*c.na, *writing.na)) for n, c in cells.items()}
        if not cells and not codes:
            return {}, said
        chosen = []
        for name, kind in self.types.items():
            own, text = quoted(name), kind.startswith("VARCHAR")
            if name in codes:
                own = f"{own}::BIGINT::VARCHAR"
                self.types[name] = "VARCHAR"
            elif name in cells:
                own = _cells_sql(own, cells[name], text)
                self.types[name] = "DOUBLE" if text and cells[name].signs else kind
            chosen.append(f"{own} AS {quoted(name)}")
        self.source = f"SELECT {', '.join(chosen)} FROM ({self.source})"
        return dict(known), said

    def ask(self, *asks: Ask) -> list[pd.DataFrame]:
        """The answers, one after the other."""
        return [self._run(ask.what, ask.text(self.source)).to_pandas() for ask in asks]

    def frame(self) -> pd.DataFrame:
        """All rows, in their order: labels may stand beside them."""
        self.connection.execute("SET preserve_insertion_order = true")
        found: pd.DataFrame = self._run("reading", self.source).to_pandas()
        return found

    def glance(self, rows: int, of: int) -> _Duck:
        """Return about ``rows`` of the rows, from several places, in memory."""
        text = f"{self.source} TABLESAMPLE system({100 * min(rows / of, 1.0)!r} PERCENT)"
        if self.files and "file_row_number" not in map(str.lower, self.types):
            text = " UNION ALL ".join(self._windows(rows))
        looked, made = self._run("looking", text), copy(self)
        self.connection.register("glance", looked)
        made.source, made.relation = "SELECT * FROM glance", None
        return made

    def batches(self, ask: Ask, rows: int) -> Iterator[Any]:
        """Yield the keys of all rows in their order, ``rows`` at a time."""
        self.connection.execute("SET preserve_insertion_order = true")
        text = ask.text(self.source)
        self.tell(ask.what, -1.0)
        theirs = self.relation
        asked = self.connection.sql(text) if theirs is None else theirs.query("source", text)
        yield from asked.to_arrow_reader(rows)

    def _windows(self, rows: int) -> Iterator[str]:
        """Rows that follow one another in Parquet, at some places: groups between are not read."""
        sizes = dict(
            self._all(
                f"SELECT file_name, num_rows FROM parquet_file_metadata([{', '.join(self.files)}])"
            )
        )
        ends = np.cumsum([sizes[file[1:-1].replace("''", "'")] for file in self.files])
        for start in (
            np.arange(POLICY.sampled_places) * int(ends[-1]) // POLICY.sampled_places
        ).tolist():
            k = int(np.searchsorted(ends, start, side="right"))
            first = start - int(ends[k - 1] if k else 0)
            reader = f"read_parquet({self.files[k]}, file_row_number=true)"
            text = self.source.replace(self.reader, reader, 1)
            last = first + rows // POLICY.sampled_places - 1
            yield f"{text} WHERE file_row_number BETWEEN {first} AND {last}"

    def _run(self, what: str, text: str) -> Any:
        """Run a statement in a thread, so that Ctrl-C and the line of progress are heard."""
        if self.relation is not None:
            self.tell(what, -1.0)
            return self.relation.query("source", text).to_arrow_table()
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(self._asked, text)
            try:
                while wait([running], timeout=0.2).not_done:
                    self.tell(what, self.connection.query_progress() / 100)
            except BaseException:
                self.connection.interrupt()
                raise
            return running.result()

    def _asked(self, text: str) -> Any:
        found = self.connection.sql(text)
        return None if found is None else found.to_arrow_table()

    def _all(self, text: str) -> list[Any]:
        found: list[Any] = self.connection.execute(text).fetchall()
        return found


def _arrow(frame: pd.DataFrame) -> Any:
    """A DataFrame for DuckDB, which reads some of its memory wrongly where rows stand in steps."""
    import pyarrow as pa

    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except pa.ArrowException as error:
        raise DataError(
            f"the table holds values of several types in a column ({_said(error)}): give each"
            " column one type"
        ) from error


_INDEX = re.compile(r"__index_level_\d+__")


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def _cells_sql(own: str, cells: CellRules, text: bool) -> str:
    """A column in SQL as its cells are read."""
    marks = [mark for mark in cells.na if text or re.fullmatch(r"[-+.\d]+", mark)]
    if not text:
        return f"CASE WHEN {own} IN ({', '.join(marks)}) THEN NULL ELSE {own} END" if marks else own
    bare = f"trim(regexp_replace({own}, '[\\s\\x{{A0}}\\x{{202F}}\\x{{2009}}]+', ' ', 'g'))"
    steps = [f"WHEN {bare} IN ({', '.join(map(literal, marks))}) THEN NULL"] if marks else []
    if not cells.signs:
        steps += [f"WHEN {own} = {literal(a)} THEN {literal(b)}" for a, b in cells.spelt]
        return f"CASE {' '.join(steps)} ELSE {own} END"
    shape = literal(f"^(?:{pattern(cells.signs)})$")
    mark, money, number, unit = (f"regexp_extract({bare}, {shape}, {k})" for k in (1, 2, 3, 4))
    if cells.signs[1:]:
        number = f"replace({number}, {literal(cells.signs[1:])}, '')"
    for sign, plain in ((cells.signs[0], "."), ("−", "-"), ("–", "-")):
        number = f"replace({number}, {literal(sign)}, {literal(plain)})"
    known = f"lower({money} || trim({unit}, ' +')) IN ('', {literal(cells.unit)})"
    half = f"CASE WHEN {mark} = '<' THEN 0.5 ELSE 1 END"
    steps.append(f"WHEN {known} THEN TRY_CAST({number} AS DOUBLE) * ({half})::DOUBLE")
    return f"CASE {' '.join(steps)} ELSE NULL END"


def _is_pattern(path: Path) -> bool:
    return any(sign in str(path) for sign in "*?[") and not path.exists()


def parquet_files(source: str | Path) -> list[Path]:
    """The Parquet files of a name, a folder or a pattern, in order."""
    path = Path(source)
    if path.is_dir():
        found = sorted(f for f in path.rglob("*") if f.suffix.lower() in _PARQUET)
    elif _is_pattern(path):
        found = sorted(Path(path.anchor or ".").glob(str(path.relative_to(path.anchor or "."))))
    else:
        found = [path]
    if not found or not all(file.is_file() for file in found):
        raise DataError(
            f"cannot read {str(source)!r}: there is no file of Parquet. Check the path."
        )
    return found


def _csv(
    source: str | Path, decimal: str, encoding: str, types: Mapping[str, str], thousands: str | None
) -> str:
    """The call that reads a CSV file as pandas would."""
    from milpscore.data.designs import coded_columns, header_of  # the same header and separator

    codec, separator, names = header_of(source, encoding)
    file = {"index_col": False, "encoding": codec, "sep": separator}
    names = tidy_names(names)
    codes = {*map(names.__getitem__, coded_columns(source, file)), *filter(is_code, names)}
    types = {**dict.fromkeys(codes, "VARCHAR"), **types}
    known = {"utf-8-sig": "utf-8", "iso8859-1": "latin-1", "utf-16": "utf-16"}
    if codec not in known:
        raise OptionError(
            "{encoding}: a file of this size is read in UTF-8, latin-1 or UTF-16; "
            "rewrite it, for example with iconv",
            encoding=encoding,
        )
    given = ", ".join(literal(name) for name in names)
    said = [f"{literal(n)}: '{types[n]}'" for n in names if n in types]
    typed = f" types={{{', '.join(said)}}}," if said else ""
    kinds = "" if thousands else "'DOUBLE', "
    return (
        f"read_csv({literal(str(source))}, header=true, delim={literal(separator)},"
        f" names=[{given}],{typed} decimal_separator={literal(decimal)}, quote='\"', escape='\"',"
        f" encoding={literal(known[codec])}, auto_type_candidates=[{kinds}'VARCHAR'],"
        f" nullstr=[{', '.join(map(literal, sorted(MISSING)))}])"
    )


# ---------------------------------------------------------------- what is said


def _said(error: BaseException) -> str:
    """What DuckDB says, in one line: what is wrong, and in which file, line or column."""
    lines = str(error).partition("\n\n")[0].partition("Possible solutions")[0].splitlines()
    return " ".join(" ".join(lines).split())[:400]


@contextmanager
def _line(wanted: bool | None) -> Iterator[Tell]:
    """A live line on standard error, by default (None) where that is a terminal."""
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield lambda what, share: None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading") as status:
        yield lambda what, share: status.update(
            f"reading: {what}{f' {share:.0%}' if share > 0 else ''}"
        )
