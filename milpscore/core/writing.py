"""Files written whole or not at all; values as JSON holds them; text escaped for printing."""

from __future__ import annotations

import io
import math
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, TextIO


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


def printable(text: str, layout: str = "") -> str:
    """Escape what controls a terminal, breaks a line or reorders text, except for ``layout``."""
    return "".join(
        mark if mark.isprintable() or mark in layout else ascii(mark)[1:-1] for mark in text
    )


def data_output() -> TextIO:
    """Return standard output for data: as they are to a pipe or file, escaped on a terminal."""
    return _Terminal() if sys.stdout.isatty() else sys.stdout


class _Terminal(io.StringIO):
    """Standard output with all control characters but line ends and tabs escaped."""

    def write(self, text: str) -> int:
        return sys.stdout.write(printable(text, "\n\t"))


def as_json(value: Any) -> Any:
    """Return a value as JSON can hold it: null for a number that is not finite, else its text."""
    if isinstance(value, Mapping):
        return {str(key): as_json(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(entry) for entry in value]
    if hasattr(value, "tolist"):  # NumPy's
        return as_json(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else float(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)
