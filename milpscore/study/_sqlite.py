"""A file of results as SQLite holds it: its layout, its checks, its errors in our words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from milpscore.core.errors import DataError
from milpscore.study._errors import StudyError

APPLICATION_ID = 0x6D707363
"""The letters "mpsc": tells a file of results from any other SQLite database."""

LAYOUT = 1
"""Raised whenever an older milpscore would misread a file."""

BUSY_SECONDS = 30.0
"""How long a commit waits for a reader to be done."""

FIGURES = (
    "objective", "loss", "penalty", "bound", "bound_source", "gap", "claim", "verified", "terms",
    "train_accuracy", "train_auc", "test_accuracy", "test_auc", "train_errors", "test_errors",
    "train_rows", "test_rows", "build_seconds", "solve_seconds", "nodes", "termination", "solver",
    "message",
)  # fmt: skip
"""What is kept of a solve, besides its task, card and certificate."""

_TABLES = """
CREATE TABLE study (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    experiment TEXT NOT NULL,
    settings TEXT NOT NULL,
    settings_hash TEXT NOT NULL,
    planned INTEGER,
    request TEXT,
    created TEXT NOT NULL
);
CREATE TABLE solves (
    key TEXT NOT NULL UNIQUE,
    number INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
    seed INTEGER,
    result TEXT,
    card TEXT,
    certificate TEXT,
    error TEXT,
    traceback TEXT,
    seconds REAL,
    versions TEXT NOT NULL,
    finished TEXT NOT NULL
);
CREATE TABLE lease (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    token TEXT NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    started TEXT,
    heartbeat REAL NOT NULL
);
"""

_READABLE = ("data", "model", "parameters", "fold", *FIGURES)

_VIEW = (
    "CREATE VIEW figures AS SELECT key, number, status, seed, "
    + ", ".join(f"json_extract(result, '$.{name}') AS {name}" for name in _READABLE)
    + ", error, seconds FROM solves ORDER BY number"
)
"""For those who read the file with SQL."""

_FULL = (sqlite3.SQLITE_FULL,)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_CLOSED = (
    sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR,
)  # fmt: skip


def connect(path: Path) -> sqlite3.Connection:
    """A connection whose transactions are begun and ended by hand."""
    return sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)


@contextmanager
def quick_commits(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit to a write-ahead log while a study runs, and leave one plain file behind.

    The plain journal waits for the disk three times a commit, which costs more than a small solve.
    With the log, and ``synchronous = NORMAL``, the system has a commit at once, so that a killed
    process loses none; the disk has it at the writer's next sign of life, a commit of its own that
    waits, so that a power cut costs the rows of some seconds and damages nothing. Others read
    meanwhile. The log needs shared memory: all who open the file have to be on one machine.
    """
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    try:
        yield
    finally:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            connection.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError as error:
            # someone reads it just now: the file stays with its log until it is written again
            if error.sqlite_errorcode & 0xFF not in _BUSY:
                raise


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to an existing file of results, checked, and closed at the end.

    Raises
    ------
    DataError
        The file is none of ours, or damaged.
    StudyError
        The disk is full, or the file cannot be opened, or is locked.
    """
    with speaking(path):
        refuse_other_files(path)
        with closing(connect(path)) as connection:
            _check(connection, path)
            yield connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # a full disk may have ended the transaction already
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def make_tables(path: Path) -> None:
    """Lay out a new file, or leave one that is there as it is."""
    if not is_new(path):
        return
    with speaking(path), closing(connect(path)) as connection, transaction(connection):
        if connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID:
            return  # another process was faster
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {LAYOUT}")
        for statement in (*_TABLES.split(";\n"), _VIEW):
            if statement.strip():
                connection.execute(statement)


def is_new(path: Path) -> bool:
    """Whether there is no file, or one in which nothing has been written yet."""
    return not path.exists() or path.stat().st_size == 0


def refuse_other_files(path: Path) -> None:
    """Refuse what is no SQLite file.

    Raises
    ------
    DataError
    """
    if not path.is_file():
        raise DataError(f"there is no file {str(path)!r}: check the name, or run the study first")
    with path.open("rb") as file:
        start = file.read(16)
    if start == b"SQLite format 3\0":
        return
    if start.lstrip().startswith(b"{"):
        raise DataError(
            f"{str(path)!r} holds runs as lines of JSON, which milpscore wrote before it kept them "
            "in SQLite and no longer reads: name another file, say "
            f"{path.with_suffix('.sqlite').name}, and the runs are done again"
        )
    raise DataError(f"{str(path)!r} is no SQLite file, or a damaged one: name another file")


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse databases of others, of a later milpscore, and damaged ones."""
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    if owner != APPLICATION_ID:
        raise DataError(
            f"{str(path)!r} is a SQLite database of another program (application_id {owner}): name "
            "another file"
        )
    (layout,) = connection.execute("PRAGMA user_version").fetchone()
    if layout != LAYOUT:
        raise DataError(
            f"{str(path)!r} has layout {layout}, this milpscore reads layout {LAYOUT}: use the "
            "milpscore that wrote it, or name another file"
        )
    (state,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if state != "ok":
        raise _damaged(path, state)


def _damaged(path: Path, what: object) -> DataError:
    said = " ".join(str(what).split())
    return DataError(
        f"{str(path)!r} is damaged ({said}): restore a copy, save what can be read with 'sqlite3 "
        f"{path.name} .recover', or name another file"
    )


@contextmanager
def speaking(path: Path) -> Iterator[None]:
    """Say in our words what SQLite says of a file.

    Raises
    ------
    DataError, StudyError
    """
    try:
        yield
    except sqlite3.Error as error:
        # extended codes keep the primary one in their last byte
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _DAMAGED:
            raise _damaged(path, error) from error
        if code in _FULL:
            raise StudyError(
                f"there is no room for {str(path)!r} ({error}); the rows before are kept: make "
                "room, and run the same again"
            ) from error
        if code in _BUSY:
            raise StudyError(
                f"another program has locked {str(path)!r} for {BUSY_SECONDS:g} s: close it, and "
                "run the same again"
            ) from error
        if code in _CLOSED:
            raise StudyError(
                f"{str(path)!r} cannot be read or written ({error}): check the disk and the rights"
            ) from error
        raise
