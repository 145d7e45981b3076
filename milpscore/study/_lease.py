"""One writer at a time: who writes to a file of results says so in it, and that it is alive."""

from __future__ import annotations

import os
import secrets
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from milpscore.study._errors import StudyError
from milpscore.study._sqlite import connect, transaction

BEAT_SECONDS = 5.0
"""Between two signs of life."""

STALE_SECONDS = 60.0
"""After the last sign of life of a writer that cannot be looked up."""

_HELD: set[str] = set()
"""Tokens of this process: a lease in its number's name with another token is a dead one's, or one
that could not be given back on a full disk."""


@contextmanager
def leased(connection: sqlite3.Connection, path: Path) -> Iterator[str]:
    """Hold the right to write; its token has to be shown to :func:`require_lease` at each commit.

    A writer on this machine holds its lease as long as its process lives; one elsewhere, until its
    last sign of life is :data:`STALE_SECONDS` old.

    Raises
    ------
    StudyError
        Another process holds the lease.
    """
    token = secrets.token_hex(8)
    with transaction(connection):
        _refuse_second(connection, path)
        row = (token, socket.gethostname(), os.getpid(), _process_start(os.getpid()), time.time())
        connection.execute("REPLACE INTO lease VALUES (1, ?, ?, ?, ?, ?)", row)
    _HELD.add(token)
    over = threading.Event()
    beating = threading.Thread(target=_beat, args=(path, token, over), daemon=True)
    beating.start()
    try:
        yield token
    finally:
        over.set()
        beating.join()
        _HELD.discard(token)
        with transaction(connection):
            connection.execute("DELETE FROM lease WHERE token = ?", (token,))


def require_lease(connection: sqlite3.Connection, path: Path, token: str) -> None:
    """Refuse to write once another process has taken over; called inside the transaction.

    Raises
    ------
    StudyError
    """
    held = connection.execute("SELECT 1 FROM lease WHERE token = ?", (token,)).fetchone()
    if held is None:
        raise StudyError(
            f"another process has taken {str(path)!r} over, because this one gave no sign of life: "
            "leave the study to it"
        )


def _beat(path: Path, token: str, over: threading.Event) -> None:
    """Signs of life, while the main thread may be in a long solve.

    This connection waits for the disk, which then has the rows before as well.
    """
    with closing(connect(path)) as connection:
        while not over.wait(BEAT_SECONDS):
            try:
                connection.execute(
                    "UPDATE lease SET heartbeat = ? WHERE token = ?", (time.time(), token)
                )
            except sqlite3.Error:
                # The main thread's next commit meets the same trouble, and says so.
                continue


def _refuse_second(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a second writer."""
    holder = connection.execute("SELECT token, host, pid, started, heartbeat FROM lease").fetchone()
    if holder is None:
        return
    token, host, pid, started, heartbeat = holder
    own = host == socket.gethostname() and pid == os.getpid()
    if own and token not in _HELD:
        return
    silent = time.time() - heartbeat
    if not _alive(host, pid, started, silent):
        return
    here = "this machine" if host == socket.gethostname() else host
    raise StudyError(
        f"process {pid} on {here} is writing to {str(path)!r} (last sign of life {silent:.0f} s "
        "ago): wait for it, stop it, or name another file; a dead process's claim on another "
        f"machine ends after {STALE_SECONDS:g} s"
    )


def _alive(host: str, pid: int, started: str | None, silent: float) -> bool:
    """Whether a writer may still be at work."""
    if host != socket.gethostname() or os.name == "nt":  # there, signal 0 is Ctrl-C
        return silent < STALE_SECONDS
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return silent < STALE_SECONDS  # a process of another user, perhaps under a reused number
    now = _process_start(pid)
    if started is None or now is None:
        return silent < STALE_SECONDS
    return now == started


def _process_start(pid: int) -> str | None:
    """When a process started, in ticks since boot: tells a reused number. None outside Linux."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *fields = text.rpartition(")")[2].split()
    return "dead" if state == "Z" else fields[18]
