"""Files of sequences: a position a line, blank lines between sequences, the label last."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, TypeAlias

from milpscore.core.errors import DataError, OptionError

Row: TypeAlias = tuple[str, ...]
Sentences: TypeAlias = list[list[Row]]

# str.split() would also cut at no-break spaces, which occur inside tokens.
_FIELD = re.compile(r"[^ \t]+")
_SEPARATORS = (None, "\t")


def read_sequences(
    path: str | os.PathLike[str], *, labelled: bool = True, separator: str | None = None
) -> tuple[Sentences, list[list[str]] | None]:
    """Read the columns and the labels of a file.

    Parameters
    ----------
    path : path
        Text in UTF-8; a position a line, blank lines between sequences, the same number of columns
        on every line.
    labelled : bool
        Whether the last column is the label.
    separator : None or a tab
        None: columns are parted by any number of blanks and tabs. A tab: by each one tab, so that
        tokens may hold blanks.

    Returns
    -------
    X : list of lists of tuples of str
        The other columns.
    y : list of lists of str, or None
        The labels.

    Raises
    ------
    DataError
        The file cannot be read, is not in UTF-8, is empty, or its lines differ in columns; the
        message names file and line.
    OptionError
        ``separator`` is neither of the two.
    """
    rows = read_rows(path, separator=separator)
    if not labelled:
        return rows, None
    if len(rows[0][0]) < 2:
        raise DataError(
            f"{str(path)!r} has one column: with labels there are at least two, the label last"
            + _tab_hint(separator)
        )
    X = [[row[:-1] for row in sequence] for sequence in rows]
    return X, [[row[-1] for row in sequence] for sequence in rows]


def read_rows(path: str | os.PathLike[str], *, separator: str | None = None) -> Sentences:
    """All columns of a file, as :func:`read_sequences` reads them."""
    if separator not in _SEPARATORS:
        raise OptionError(f"separator={separator!r} is unknown; use None (blanks) or a tab.")
    sequences: Sentences = []
    current: list[Row] = []
    first, width = 0, 0
    for number, raw in enumerate(_decoded(path).split("\n"), start=1):
        line = raw.rstrip("\r")
        if not line.strip(" \t"):
            if current:
                sequences.append(current)
                current = []
            continue
        row = tuple(_FIELD.findall(line) if separator is None else line.split(separator))
        if not width:
            first, width = number, len(row)
        if len(row) != width:
            raise DataError(
                f"{str(path)!r}, line {number}: {len(row)} columns where line {first} has {width}"
                f": give every line the same columns{_tab_hint(separator)}"
            )
        current.append(row)
    if current:
        sequences.append(current)
    if not sequences:
        raise DataError(f"{str(path)!r} holds no sequence: write one position a line")
    return sequences


def write_sequences(
    target: str | os.PathLike[str] | IO[str],
    X: Sequence[Sequence[str | Sequence[str]]],
    *labels: Sequence[Sequence[str]],
    separator: str = "\t",
) -> None:
    """Write sequences so that :func:`read_sequences` with this separator reads them back.

    Parameters
    ----------
    target : path or text stream
    X : list of sequences
        Of texts, or of tuples of texts.
    *labels : lists of lists of str
        Columns to add at the right, say the labels.
    separator : str
        A tab, or a blank: then a column may not be empty.

    Raises
    ------
    DataError
        A token holds the separator or a line break, columns are empty where that cannot be read
        back, or lengths differ.
    OptionError
        ``separator`` is neither of the two.
    """
    if separator not in ("\t", " "):
        raise OptionError(f"separator={separator!r} is unknown; use a tab or a blank.")
    text = "".join(_lines(X, labels, separator))
    if isinstance(target, str | os.PathLike):
        Path(target).write_text(text, encoding="utf-8", newline="\n")
    else:
        target.write(text)


def _lines(
    X: Sequence[Sequence[str | Sequence[str]]],
    labels: Sequence[Sequence[Sequence[str]]],
    separator: str,
) -> Iterable[str]:
    for number, sequence in enumerate(X):
        try:
            added = [column[number] for column in labels]
            together = list(zip(sequence, *added, strict=True))
        except (IndexError, ValueError) as error:
            raise DataError(
                f"sequence {number} has {len(sequence)} positions and other numbers of labels: "
                "give one label a position"
            ) from error
        for token, *more in together:
            row = [*([token] if isinstance(token, str) else token), *more]
            line = separator.join(row)
            if not line.strip(" \t"):
                raise DataError(
                    f"sequence {number}: a position of empty columns alone would be read as the "
                    "end of the sequence: write some text in one of them"
                )
            for field in row:
                _require_column(field, separator, number)
            yield line + "\n"
        yield "\n"


def _require_column(field: str, separator: str, number: int) -> None:
    """Refuse a text of sequence ``number`` that would not be read back as one column."""
    lost = not field and separator == " "  # several blanks part as one does
    if lost or separator in field or "\n" in field or "\r" in field:
        raise DataError(
            f"sequence {number}: {field!r} cannot be written as one column parted by "
            f"{separator!r}: it must be a text without it and without line breaks"
        )


def _decoded(path: str | os.PathLike[str]) -> str:
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {str(path)!r}: {error.strerror}. Check the path.") from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{str(path)!r}, line {line}: byte {error.object[error.start]:#04x} is not UTF-8: save "
            "the file as UTF-8"
        ) from error


def _tab_hint(separator: str | None) -> str:
    return (
        ", or name the tab as separator where tokens hold blanks"
        if separator is None
        else "; columns are parted by tabs here"
    )
