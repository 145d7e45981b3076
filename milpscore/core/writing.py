"""Files written whole or not at all: beside the one they replace, synced, then renamed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of a part file of the same ending, which becomes ``path`` at the end.

    After an error the part is removed, and what ``path`` held before stands as it was. Devices and
    pipes are written to directly.

    Raises
    ------
    OSError
        The file cannot be written: the disk is full, the folder is missing, ... It names ``path``.
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        yield target
        return
    target = target.resolve()  # a link goes on leading to its file
    part = target.with_name(f".{target.stem}.{os.getpid()}.part{target.suffix}")
    try:
        yield part
        if target.exists():
            shutil.copymode(target, part)
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(target)
    except OSError as error:
        if error.filename not in (None, str(part)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        part.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str, newline: str | None = None) -> Path:
    """Write a text in UTF-8, whole or not at all; see :func:`replacing`."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8", newline=newline)
    return Path(path)
