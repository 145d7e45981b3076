"""A file of results: one table in SQLite, one writer at a time, each row kept when it is made."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import secrets
import socket
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct, to_builtins

from milpscore._version import __version__
from milpscore.core.errors import DataError, MilpscoreError, OptionError
from milpscore.core.reading import LIMITS, parsed, rows

Status: TypeAlias = Literal["done", "failed"]

APPLICATION_ID = 0x6D707363
"""The letters "mpsc": identify a file of results among SQLite databases."""

LAYOUT = 3
"""Raised whenever another milpscore would misread a file."""


class Figures(Struct, forbid_unknown_fields=True):
    """What is kept of a solve, besides its task, card and certificate."""

    objective: float | None = None
    loss: float | None = None
    penalty: float | None = None
    bound: float | None = None
    bound_source: str | None = None
    gap: float | None = None
    claim: str | None = None
    verified: bool | None = None
    terms: int | None = None
    train_accuracy: float | None = None
    train_auc: float | None = None
    test_accuracy: float | None = None
    test_auc: float | None = None
    train_errors: int | None = None
    test_errors: int | None = None
    train_rows: int | None = None
    test_rows: int | None = None
    build_seconds: float | None = None
    solve_seconds: float | None = None
    nodes: int | None = None
    termination: str | None = None
    solver: str | None = None
    message: str | None = None
    lp_bound: float | None = None
    root_bound: float | None = None
    refused: str | None = None
    caveat: str | None = None


FIGURES = Figures.__struct_fields__


class Writer(Struct, forbid_unknown_fields=True):
    """Who writes to a file."""

    token: str
    host: str
    pid: int


class Head(Struct):
    """What a file says its rows are of."""

    experiment: str
    settings: dict[str, Any]
    planned: int | None = None
    writer: Writer | None = None


BUSY_SECONDS = 30.0
"""How long a commit waits for a reader to be done."""

_SYNC_SECONDS = 5.0
"""At most so long are rows committed without waiting for the disk."""

_SHOWN = 5
"""Changed settings named in a refusal."""

_TABLE = """
CREATE TABLE solves (
    key TEXT NOT NULL PRIMARY KEY,
    number INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('study', 'done', 'failed')),
    seed INTEGER,
    result TEXT,
    card TEXT,
    certificate TEXT,
    error TEXT,
    traceback TEXT,
    seconds REAL,
    versions TEXT NOT NULL,
    finished TEXT NOT NULL
)
"""
"""A row a solve; the one numbered -1 says what the others are of and who writes them."""

_READABLE = ("data", "model", "parameters", "fold", *FIGURES)
_VIEW = (
    "CREATE VIEW figures AS SELECT key, number, status, seed, "
    + ", ".join(f"json_extract(result, '$.{name}') AS {name}" for name in _READABLE)
    + ", error, seconds FROM solves WHERE number >= 0 ORDER BY number"
)
"""For those who read the file with SQL."""


class StudyError(MilpscoreError, RuntimeError):
    """A study cannot go on: a full disk, another writer, lost workers; finished rows are kept."""


@lru_cache(maxsize=1)
def versions() -> Mapping[str, str]:
    """What a row's numbers may depend on."""
    import numpy
    import scipy

    packages = {"numpy": numpy.__version__, "scipy": scipy.__version__}
    return {"milpscore": __version__, **packages, "python": platform.python_version()}


@dataclass(frozen=True)
class Answer:
    """What came of one item: content, or an error with its traceback; where and how long."""

    item: Any
    content: Mapping[str, Any] | None
    error: str = ""
    traceback: str = ""
    seconds: float | None = None
    versions: Mapping[str, str] = field(default_factory=versions)

    @property
    def status(self) -> Status:
        """Done, or failed."""
        return "failed" if self.content is None else "done"


class Store:
    """What is finished of a study with one set of settings; without a path, in memory only.

    One process writes at a time; a process that is killed loses the solves in flight and nothing
    else. Versions may differ between rows, settings may not: OptionError where a file has others,
    Raise DataError if it is not a file of results, or damaged.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        experiment: str,
        settings: Mapping[str, Any],
        planned: int | None = None,
    ) -> None:
        self.path = None if path is None else Path(path)
        self.experiment = experiment
        # through JSON once, so that tuples compare with the lists that are read back
        self.settings: dict[str, Any] = json.loads(json.dumps(dict(settings), allow_nan=False))
        self.planned = planned
        self.status: dict[str, Status] = {}
        self._writer: tuple[sqlite3.Connection, str] | None = None
        self._synced = 0.0
        if self.path is not None and not is_new(self.path):
            with opened(self.path) as connection:
                self._checked_head(connection, self.path)
                self._load(connection)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the file as its only writer; what it holds by then is read again."""
        if self.path is None:
            yield
            return
        with locked(self.path):
            make_table(self.path)
            with opened(self.path) as connection, _logged(connection):
                token = self._introduce(connection, self.path)
                self._load(connection)
                self._writer = connection, token
                try:
                    yield
                finally:
                    self._writer = None

    def commit(
        self, key: str, number: int, answer: Answer, *, seed: int | None = None, **kept: Any
    ) -> None:
        """Write a finished solve to the disk; a failed one is replaced, a finished one never.

        ``kept`` are its result, card and certificate, as JSON can hold them.
        """
        values = (
            key, number, answer.status, seed,
            *(_text(kept.get(name)) for name in ("result", "card", "certificate")),
            answer.error or None, answer.traceback or None, answer.seconds,
            _text(answer.versions), _now(),
        )  # fmt: skip
        if self.path is not None:
            if self._writer is None:
                raise StudyError("rows are written inside 'with store.writing()' only")
            connection, token = self._writer
            with speaking(self.path):
                self._write(connection, self.path, token, values)
        self.status[key] = answer.status

    def _write(
        self, connection: sqlite3.Connection, path: Path, token: str, values: tuple[Any, ...]
    ) -> None:
        """One row in a transaction; every few seconds the disk is waited for.

        The system has every commit at once, so that a killed process loses none; a power cut costs
        the rows of some seconds and damages nothing.
        """
        due = time.monotonic() - self._synced >= _SYNC_SECONDS
        connection.execute(f"PRAGMA synchronous = {'FULL' if due else 'NORMAL'}")
        with transaction(connection):
            writer = connection.execute(
                "SELECT json_extract(result, '$.writer.token') FROM solves WHERE number = -1"
            ).fetchone()
            if writer != (token,):
                raise StudyError(
                    f"another process has taken {str(path)!r} over: leave the study to it"
                )
            connection.execute(
                "DELETE FROM solves WHERE key = ? AND status = 'failed'", (values[0],)
            )
            connection.execute(f"INSERT INTO solves VALUES ({', '.join('?' * 12)})", values)
        if due:
            self._synced = time.monotonic()

    def _load(self, connection: sqlite3.Connection) -> None:
        """Read what is finished."""
        query = "SELECT key, status FROM solves WHERE number >= 0"
        self.status = dict(rows(connection, query, tuple[str, Status], str(self.path)))

    def _introduce(self, connection: sqlite3.Connection, path: Path) -> str:
        """Record in the file what it is of and who writes it; return the writer's token."""
        with transaction(connection):
            head = self._checked_head(connection, path) or Head(self.experiment, self.settings)
            if self.planned is not None:
                head.planned = self.planned
            token = secrets.token_hex(8)
            head.writer = Writer(token, socket.gethostname(), os.getpid())
            connection.execute(
                "INSERT INTO solves (key, number, status, result, versions, finished) "
                "VALUES ('study', -1, 'study', ?, ?, ?) "
                "ON CONFLICT (key) DO UPDATE SET result = excluded.result",
                (_text(to_builtins(head)), _text(versions()), _now()),
            )
        return token

    def _checked_head(self, connection: sqlite3.Connection, path: Path) -> Head | None:
        """What the file says it is of, refused where it is of something else."""
        head, _ = head_of(connection, path)
        if head is None:
            return None
        if head.experiment != self.experiment:
            raise OptionError(
                f"{str(path)!r} holds runs of {head.experiment}, not of {self.experiment}: name "
                "another file"
            )
        if changed := changes(head.settings, self.settings):
            shown = ", ".join(changed[:_SHOWN])
            more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
            raise OptionError(
                f"{str(path)!r} holds runs with other settings, {shown}{more}: name another file, "
                "or use those settings"
            )
        return head


def head_of(connection: sqlite3.Connection, path: Path) -> tuple[Head | None, str]:
    """What a file's rows are of, and since when; None where it does not say yet."""
    query = "SELECT result, finished FROM solves WHERE number = -1"
    for text, created in rows(connection, query, tuple[str, str], str(path)):
        return parsed(text, Head, str(path)), created
    return None, ""


# --- the file ------------------------------------------------------------------------------------


def connect(path: Path) -> sqlite3.Connection:
    """A connection whose transactions are begun and ended by hand."""
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LIMITS.max_bytes)
    return connection


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file beside a file of results; it ends with the process that holds it."""
    from filelock import FileLock, Timeout

    if not path.parent.is_dir():  # the lock would make it
        raise StudyError(f"there is no folder {str(path.parent)!r} for {path.name}: make it first")
    lock = FileLock(f"{path}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise StudyError(
            f"{_writer_of(path)} is writing to {str(path)!r}: wait for it, stop it, or name "
            "another file"
        ) from error
    except OSError as error:
        raise StudyError(
            f"{str(path)!r} cannot be written ({error}): check the folder and the rights"
        ) from error
    try:
        yield
    finally:
        # removed while it is held: who waits for the old one sees that it has gone
        if os.name != "nt":
            Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


def _writer_of(path: Path) -> str:
    """Who writes to a file, in words."""
    head = None
    if not is_new(path):
        with opened(path) as connection:
            head, _ = head_of(connection, path)
    if head is None or head.writer is None:
        return "another process"
    writer = head.writer
    here = writer.host == socket.gethostname()
    return f"process {writer.pid} on {'this machine' if here else writer.host}"


@contextmanager
def _logged(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit to a write-ahead log while a study runs, and leave one plain file behind.

    The plain journal waits for the disk three times a commit, which costs more than a small solve.
    Others read meanwhile. The log needs shared memory: all who open the file are on one machine.
    """
    connection.execute("PRAGMA journal_mode = WAL")
    try:
        yield
    finally:
        if connection.in_transaction:  # Ctrl-C came just as one began
            connection.rollback()
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
    """A connection to an existing file of results, checked, and closed at the end."""
    if not path.is_file():
        raise DataError(f"there is no file {str(path)!r}: check the name, or run the study first")
    with speaking(path), closing(connect(path)) as connection:
        (owner,) = connection.execute("PRAGMA application_id").fetchone()
        if owner != APPLICATION_ID:
            raise DataError(
                f"{str(path)!r} is a SQLite database of another program (application_id {owner}): "
                "name another file"
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
        # a view in the table's place, or a trigger, could compute for ever
        laid_out = connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type")
        own = [("table", "solves", _TABLE.strip()), ("view", "figures", _VIEW)]
        if [each for each in laid_out.fetchall() if each[0] != "index"] != own:
            raise _damaged(path, "its table is not laid out as a study's")
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


def make_table(path: Path) -> None:
    """Lay out a new file, or leave one that is there as it is."""
    if not is_new(path):
        return
    with speaking(path), closing(connect(path)) as connection, transaction(connection):
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {LAYOUT}")
        connection.execute(_TABLE)
        connection.execute(_VIEW)


def is_new(path: Path) -> bool:
    """Whether there is no file, or one in which nothing has been written yet."""
    return not path.exists() or path.stat().st_size == 0


_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_CLOSED = (
    sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR,
)  # fmt: skip


@contextmanager
def speaking(path: Path) -> Iterator[None]:
    """Say in our words what SQLite says of a file."""
    try:
        yield
    except UnicodeDecodeError as error:  # of text in the file, which SQLite passes on
        raise _damaged(path, error) from error
    except sqlite3.Error as error:
        # extended codes keep the primary one in their last byte
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        name = repr(str(path))
        if code == sqlite3.SQLITE_NOTADB:
            raise DataError(
                f"{name} is not an SQLite file, or a damaged one: name another file"
            ) from error
        if code == sqlite3.SQLITE_FULL:
            raise StudyError(
                f"there is no room for {name} ({error}); the rows before are kept: make room, and "
                "run the same again"
            ) from error
        if code in _BUSY:
            raise StudyError(
                f"another program has locked {name} for {BUSY_SECONDS:g} s: close it, and run the "
                "same again"
            ) from error
        if code in _CLOSED:
            raise StudyError(
                f"{name} cannot be read or written ({error}): check the disk and the rights"
            ) from error
        if code == sqlite3.SQLITE_CONSTRAINT:
            raise
        raise _damaged(path, error) from error


def _damaged(path: Path, what: object) -> DataError:
    """What is said of a damaged file."""
    said = " ".join(str(what).split())
    return DataError(
        f"{str(path)!r} is damaged ({said}): restore a copy, save what can be read with 'sqlite3 "
        f"{path.name} .recover', or name another file"
    )


# --- settings ------------------------------------------------------------------------------------


def key_of(identity: Mapping[str, Any]) -> str:
    """Return a hash that identifies a solve, independent of the order of its keys."""
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What differs between two sets of settings, a text each; null is as good as absent."""
    before, now = dict(_flat(old)), dict(_flat(new))
    return [
        f"{key}={before.get(key)!r} (now {now.get(key)!r})"
        for key in sorted({*before, *now})
        if before.get(key) != now.get(key)
    ]


def _flat(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Settings with dotted keys: ``limits.threads``, ``data[0].csv``."""
    if isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _flat(entry, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(value, list) and any(isinstance(entry, Mapping) for entry in value):
        for place, entry in enumerate(value):
            yield from _flat(entry, f"{prefix}[{place}]")
    elif value is not None:
        yield prefix, value


def _text(value: Mapping[str, Any] | None) -> str | None:
    """JSON, or None."""
    return None if value is None else json.dumps(value, allow_nan=False)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
