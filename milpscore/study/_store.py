"""The finished solves of one study with one set of settings, in a SQLite file."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from milpscore._version import __version__
from milpscore.core.errors import DataError, OptionError
from milpscore.study._errors import StudyError
from milpscore.study._lease import leased, require_lease
from milpscore.study._sqlite import (
    is_new,
    make_tables,
    opened,
    quick_commits,
    speaking,
    transaction,
)

Status: TypeAlias = Literal["done", "failed"]

_SHOWN = 5
"""Changed settings named in a refusal."""


@lru_cache(maxsize=1)
def _versions() -> tuple[tuple[str, str], ...]:
    import numpy
    import scipy

    return (
        ("milpscore", __version__),
        ("numpy", numpy.__version__),
        ("scipy", scipy.__version__),
        ("python", platform.python_version()),
    )


def versions() -> dict[str, str]:
    """What a row's numbers may depend on."""
    return dict(_versions())


@dataclass(frozen=True)
class Row:
    """A finished solve.

    Attributes
    ----------
    key : str
        Tells it from all others of its study.
    number : int
        Its place in the study.
    status : {"done", "failed"}
    result, card, certificate : mapping or None
        As JSON can hold them, without infinities and NaN.
    seed : int or None
    error, traceback : str
        Of a failed one.
    seconds : float or None
        It took where it was solved, everything included.
    versions : mapping
        Of milpscore, NumPy, SciPy and Python where it was solved.
    """

    key: str
    number: int
    status: Status
    result: Mapping[str, Any] | None = None
    card: Mapping[str, Any] | None = None
    certificate: Mapping[str, Any] | None = None
    seed: int | None = None
    error: str = ""
    traceback: str = ""
    seconds: float | None = None
    versions: Mapping[str, str] = field(default_factory=versions)


class Store:
    """What is finished of a study.

    One process writes at a time; each row is on the disk before :meth:`commit` returns, so that a
    process that is killed loses the solves in flight and nothing else. Versions may differ between
    rows, settings may not.

    Parameters
    ----------
    path : path-like or None
        The file; made with the first row. None keeps the rows in memory only.
    experiment : str
        What the rows are of.
    settings : mapping
        Whatever a row depends on besides its key, as JSON can hold it.
    planned : int, optional
        Solves of the whole study.

    Raises
    ------
    OptionError
        The file holds rows of another experiment or with other settings.
    DataError
        The file is no file of results, or damaged.
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
        if self.path is not None and not is_new(self.path):
            with opened(self.path) as connection:
                self._check(connection, self.path)
                self._load(connection)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the file as its only writer; what it holds by then is read again.

        Raises
        ------
        StudyError
            Another process is writing to it, or there is no room on the disk.
        """
        if self.path is None:
            yield
            return
        make_tables(self.path)
        with (
            opened(self.path) as connection,
            quick_commits(connection),
            leased(connection, self.path) as token,
        ):
            self._check(connection, self.path)
            self._introduce(connection)
            self._load(connection)
            self._writer = connection, token
            try:
                yield
            finally:
                self._writer = None

    def commit(self, row: Row) -> None:
        """Write a finished solve to the disk; a failed one is replaced, a finished one never.

        Raises
        ------
        StudyError
            Outside :meth:`writing`, after another process took over, or on a full disk.
        """
        values = (
            row.key, row.number, row.status, row.seed,
            _text(row.result), _text(row.card), _text(row.certificate),
            row.error or None, row.traceback or None, row.seconds, _text(row.versions), _now(),
        )  # fmt: skip
        if self.path is not None:
            if self._writer is None:
                raise StudyError("rows are written inside 'with store.writing()' only")
            connection, token = self._writer
            with speaking(self.path), transaction(connection):
                require_lease(connection, self.path, token)
                connection.execute(
                    "DELETE FROM solves WHERE key = ? AND status = 'failed'", (row.key,)
                )
                connection.execute(f"INSERT INTO solves VALUES ({', '.join('?' * 12)})", values)
        self.status[row.key] = row.status

    def _load(self, connection: sqlite3.Connection) -> None:
        """Read what is finished."""
        self.status = dict(connection.execute("SELECT key, status FROM solves ORDER BY number"))

    def _introduce(self, connection: sqlite3.Connection) -> None:
        """Say in the file what it is of."""
        with transaction(connection):
            if connection.execute("SELECT 1 FROM study").fetchone() is None:
                text = canonical(self.settings)
                what = (self.experiment, text, settings_hash(self.settings), self.planned, _now())
                connection.execute("INSERT INTO study VALUES (1, ?, ?, ?, ?, NULL, ?)", what)
            elif self.planned is not None:
                connection.execute("UPDATE study SET planned = ?", (self.planned,))

    def _check(self, connection: sqlite3.Connection, path: Path) -> None:
        """Refuse to mix."""
        found = connection.execute(
            "SELECT experiment, settings, settings_hash FROM study"
        ).fetchone()
        if found is None:
            return
        experiment, text, hashed = found
        if experiment != self.experiment:
            raise OptionError(
                f"{str(path)!r} holds runs of {experiment}, not of {self.experiment}: name another "
                "file"
            )
        if hashed == settings_hash(self.settings):
            return
        changed = changes(parsed(text, path), self.settings)
        shown = ", ".join(changed[:_SHOWN])
        more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
        raise OptionError(
            f"{str(path)!r} holds runs with other settings, {shown}{more}: name another file, or "
            "use those settings"
        )


def canonical(settings: Mapping[str, Any]) -> str:
    """Settings as one text, whatever the order of their keys."""
    return json.dumps(settings, sort_keys=True, separators=(",", ":"), allow_nan=False)


def settings_hash(settings: Mapping[str, Any]) -> str:
    """SHA-256 of settings; one that is null is as good as absent."""
    return hashlib.sha256(canonical(dict(flat(settings))).encode()).hexdigest()


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What differs between two sets of settings, a text each."""
    before, now = dict(flat(old)), dict(flat(new))
    return [
        f"{key}={before.get(key)!r} (now {now.get(key)!r})"
        for key in sorted({*before, *now})
        if before.get(key) != now.get(key)
    ]


def flat(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Settings with dotted keys: ``limits.threads``, ``data[0].csv``.

    Nulls and empty tables are left out.
    """
    if isinstance(value, Mapping):
        for key, entry in value.items():
            yield from flat(entry, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(value, list) and any(isinstance(entry, Mapping) for entry in value):
        for place, entry in enumerate(value):
            yield from flat(entry, f"{prefix}[{place}]")
    elif value is not None:
        yield prefix, value


def parsed(text: str, path: Path) -> Any:
    """JSON that a file of results holds.

    Raises
    ------
    DataError
        It was changed from outside.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        raise DataError(
            f"{str(path)!r} holds text that is no JSON ({error}): restore a copy, or name another "
            "file"
        ) from error


def _text(value: Mapping[str, Any] | None) -> str | None:
    """JSON, or None."""
    return None if value is None else json.dumps(value, allow_nan=False)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
