"""Files: sequences as columns of text, and a fitted model without any pickle."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import accumulate, chain, compress, zip_longest
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import numpy as np
from msgspec import Meta, Struct, structs

from milpscore.core.design import IntArray
from milpscore.core.errors import DataError, OptionError
from milpscore.core.reading import Head, arrays, parsed, typed
from milpscore.core.writing import replacing, write_text
from milpscore.penalties import PENALTIES
from milpscore_sequence._data import first_seen, pointer
from milpscore_sequence.coding import (
    Coding,
    Vocabulary,
    Weights,
    in_sequences,
    numbered,
    same_objects,
    uncollected,
)
from milpscore_sequence.patterns import read_text
from milpscore_sequence.training import TraceRow

if TYPE_CHECKING:
    from milpscore_sequence._crf import SparseCRF

Row: TypeAlias = tuple[str, ...]
Sentences: TypeAlias = list[list[Row]]
Model = TypeVar("Model")

# str.split() would also cut at no-break spaces, which occur inside tokens.
_FIELD = re.compile(r"[^ \t]+")
_SEPARATORS = (None, "\t")

# Raised whenever a reader of the previous layout would misread a model.
_FORMAT_VERSION = 1
_KIND = "milpscore.sequence"
_AGAIN = "give a file written by SparseCRF.save() or 'milpscore crf train'"
KEPT = ("objective", "status", "n_iter", "seconds", "best_iteration")
_ARRAYS = {
    **dict.fromkeys(("header", "unigrams", "bigrams"), "|u1"), "active": "<i8", "weights": "<f8",
}  # fmt: skip
_MOST_PARAMETERS = 10_000_000
_PER_BYTE = 1000
"""Maximal parameters of a model, in all or per byte of its file."""


class _Coding(Struct, forbid_unknown_fields=True):
    """What, beside vocabularies and labels, makes the coding."""

    n_columns: Annotated[int, Meta(ge=0)] | None
    patterns: list[str]


class _About(Struct, forbid_unknown_fields=True):
    """How a model was trained."""

    coding: _Coding
    parameters: dict[str, Any]
    objective: float
    status: str
    n_iter: int
    seconds: float
    best_iteration: int | None
    trace: list[TraceRow]


class _Header(Struct, forbid_unknown_fields=True):
    """What a model's file holds, its long lists apart."""

    labels: tuple[str, ...]
    plain: str | None
    about: _About
    kind: Any = None
    format_version: Any = None


class _Whole(_Header, kw_only=True):
    """A model's file in JSON."""

    unigrams: tuple[str, ...]
    bigrams: tuple[str, ...]
    active: list[int]
    weights: list[float]


class _Penalty(Struct, forbid_unknown_fields=True):
    """A penalty's name and fields, as far as a file can hold them."""

    name: str
    fields: dict[str, Any] | None


def read_sequences(
    path: str | os.PathLike[str], *, labelled: bool = True, separator: str | None = None
) -> tuple[Sentences, list[list[str]] | None]:
    """Read the columns and the labels of a file.

    Parameters
    ----------
    path : path
        Text in UTF-8; one position per line, blank lines between sequences, the same number of
        columns on every line.
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
    with uncollected():
        columns, codes, offsets = _columns(path, separator)
        if labelled and len(columns) < 2:
            raise DataError(
                f"{str(path)!r} has one column: with labels there are at least two, the label last"
                + _tab_hint(separator)
            )
        at = codes.tolist()
        rows = list(zip(*columns[: len(columns) - labelled], strict=True))
        X = in_sequences(list(map(rows.__getitem__, at)), offsets)
        if not labelled:
            return X, None
        return X, in_sequences(list(map(columns[-1].__getitem__, at)), offsets)


def _columns(
    path: str | os.PathLike[str], separator: str | None
) -> tuple[list[list[str]], IntArray, IntArray]:
    """The columns of the lines that differ, which of these each is, where sequences begin."""
    if separator not in _SEPARATORS:
        raise OptionError(f"separator={separator!r} is unknown; use None (blanks) or a tab.")
    raw = [line.rstrip("\r") for line in read_text(path).split("\n")]
    lines, of_line = numbered(raw)
    rows = [_FIELD.findall(line) if separator is None else line.split(separator) for line in lines]
    blank = np.array([not line.strip(" \t") for line in lines])
    widths = np.where(blank, 0, list(map(len, rows)))[of_line]
    full = widths > 0
    if not full.any():
        raise DataError(f"{str(path)!r} holds no sequence: write one position on each line")
    first = int(full.argmax())
    wrong = np.flatnonzero(full & (widths != widths[first]))
    if wrong.size:
        raise DataError(
            f"{str(path)!r}, line {wrong[0] + 1}: {widths[wrong[0]]} columns where line "
            f"{first + 1} has {widths[first]}: give every line the same columns"
            f"{_tab_hint(separator)}"
        )
    columns = list(map(list, zip(*compress(rows, ~blank), strict=True)))
    codes = (np.cumsum(~blank) - 1)[of_line[full]]
    lengths = np.diff(np.flatnonzero(np.diff(full, prepend=False, append=False)))[::2]
    return columns, codes, pointer(lengths)


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
    text = _text(X, labels, separator)
    if isinstance(target, str | os.PathLike):
        write_text(target, text, newline="\n")
    else:
        target.write(text)


def _text(
    X: Sequence[Sequence[str | Sequence[str]]],
    labels: Sequence[Sequence[Sequence[str]]],
    separator: str,
) -> str:
    """The text of a file; each line that differs is made and checked once."""
    lengths = list(map(len, X))
    for column in labels:
        pairs = zip_longest(lengths, map(len, column))
        wrong = next((number for number, (own, other) in enumerate(pairs) if own != other), None)
        if wrong is not None:
            positions = lengths[wrong] if wrong < len(X) else 0
            raise DataError(
                f"sequence {wrong} has {positions} positions and other numbers of labels: "
                "give each position one label"
            )
    rows, codes = same_objects(list(chain.from_iterable(X)))
    columns = [(rows, codes), *(numbered(list(chain.from_iterable(each))) for each in labels)]
    for values, numbers in columns[1:]:
        codes = codes * len(values) + numbers
    codes, first = first_seen(codes)
    parts = [map(values.__getitem__, numbers[first].tolist()) for values, numbers in columns]
    ends = list(accumulate(lengths))
    sequences = np.searchsorted(ends, first, side="right").tolist()
    lines = [
        _line(fields, number, separator)
        for number, fields in zip(sequences, zip(*parts, strict=True), strict=True)
    ]
    # a blank line after each sequence
    whole = np.insert(codes, ends, len(lines)).tolist()
    return "".join(map([*lines, "\n"].__getitem__, whole))


def _line(fields: tuple[Any, ...], number: int, separator: str) -> str:
    """The line of a position of a sequence, refused where it could not be read back."""
    token, *labels = fields
    row = [*([token] if isinstance(token, str) else token), *labels]
    line = separator.join(row)
    if not line.strip(" \t"):
        raise DataError(
            f"sequence {number}: a position of empty columns alone would be read as the end of the "
            "sequence: write some text in one of them"
        )
    for field in row:
        lost = not field and separator == " "  # several blanks part as one does
        if lost or any(mark in field for mark in (separator, "\n", "\r")):
            raise DataError(
                f"sequence {number}: {field!r} cannot be written as one column parted by "
                f"{separator!r}: it must be a text without it and without line breaks"
            )
    return line + "\n"


def _tab_hint(separator: str | None) -> str:
    """What to try where columns are miscounted."""
    if separator is None:
        return ", or name the tab as separator where tokens hold blanks"
    return "; columns are parted by tabs here"


def save_model(model: SparseCRF, path: str | os.PathLike[str], compact: bool) -> None:
    """Write a fitted estimator; see :meth:`SparseCRF.save`."""
    weights = model.weights_.compact() if compact else model.weights_
    names, coding = weights.coding, weights.coding.to_json()
    seed = model.random_state
    parameters = model.get_params(deep=False) | {
        "penalty": _penalty_to_json(model.penalty),
        # a file of patterns need not be there when the model is read
        "patterns": None if model.patterns is None else coding["patterns"],
        "random_state": seed if isinstance(seed, int) else None,
    }
    trace = model.trace_.to_dict("records")
    about = {
        "coding": coding,
        # JSON does not know NumPy's numbers, nor NaN
        "parameters": {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in parameters.items()
        },
        **{name: getattr(model, f"{name}_") for name in KEPT},
        "trace": [{k: v for k, v in row.items() if not np.isnan(v)} for row in trace],
    }
    header = {
        "kind": _KIND,
        "format_version": _FORMAT_VERSION,
        "labels": list(names.labels),
        "plain": names.plain,
        "about": about,
    }
    lists = {"unigrams": list(names.unigrams.names), "bigrams": list(names.bigrams.names)}
    active = np.flatnonzero(weights.theta)
    with replacing(path) as beside:
        if beside.suffix == ".json":
            sparse = {"active": active.tolist(), "weights": weights.theta[active].tolist()}
            beside.write_bytes(_as_json({**header, **lists, **sparse}))
        else:
            # bytes, not an array of texts, which would pad all to the longest
            texts: dict[str, Any] = {
                name: np.frombuffer(_as_json(entry), dtype=np.uint8)
                for name, entry in {"header": header, **lists}.items()
            }
            with beside.open("wb") as file:
                np.savez_compressed(file, active=active, weights=weights.theta[active], **texts)


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A model's file, read and checked."""

    about: _About
    weights: Weights

    def parameters(self) -> dict[str, Any]:
        """Those of the estimator that was trained."""
        parameters = dict(self.about.parameters)
        penalty = typed(parameters.get("penalty"), _Penalty | None, "its penalty")
        return parameters | {"penalty": _penalty_from_json(penalty)}


def read_model(path: str | os.PathLike[str], make: Callable[[ModelFile], Model]) -> Model:
    """What ``make`` makes of a file `save_model` wrote; DataError where it is damaged."""
    what = repr(str(path))
    try:
        header, whole = _content(Path(path), f"{what} is not a CRF model, or")
        return make(ModelFile(header.about, _weights(header, whole)))
    except OSError as error:
        raise DataError(f"cannot read {what}: {error.strerror}. Check the path.") from error
    except (TypeError, ValueError, OverflowError) as error:
        said = str(error) if isinstance(error, DataError) else f"{what} is damaged ({error})"
        raise DataError(f"{said}; {_AGAIN}") from error


def _content(path: Path, what: str) -> tuple[_Whole, int]:
    """What a model's file holds, of this kind and version, and its size."""
    with path.open("rb") as file:
        packed = file.read(2) == b"PK"
        whole = file.seek(0, 2)
        lists = {}
        if packed:
            lists = arrays(file, _ARRAYS, what)
            text = lists.pop("header").tobytes()
        else:
            file.seek(0)
            text = file.read()
    head = parsed(text, Head, what, whole)
    if head.kind != _KIND:
        raise DataError(what.removesuffix(", or"))
    if head.format_version != _FORMAT_VERSION:
        raise DataError(
            f"{path.name!r} has format_version {head.format_version!r}, this milpscore reads "
            f"{_FORMAT_VERSION}: use the milpscore that wrote it, or train again"
        )
    if not packed:
        return parsed(text, _Whole, what, whole), whole
    names = {
        name: parsed(lists.pop(name).tobytes(), tuple[str, ...], what, whole)
        for name in ("unigrams", "bigrams")
    }
    header = parsed(text, _Header, what, whole)
    return _Whole(**structs.asdict(header), **names, **lists), whole


def _weights(header: _Whole, whole: int) -> Weights:
    """The weights of a file; ValueError where they do not fit together."""
    active, values = np.asarray(header.active), np.asarray(header.weights, dtype=np.float64)
    if active.shape != values.shape or not np.isfinite(values).all():
        raise ValueError("positions and weights do not belong together")
    vocabularies = Vocabulary(header.unigrams), Vocabulary(header.bigrams)
    if any(len(vocabulary) != len(set(vocabulary.names)) for vocabulary in vocabularies):
        raise ValueError("an observation is listed twice")
    reads = header.about.coding
    coding = Coding.read(reads.n_columns, reads.patterns, vocabularies, header.labels)
    if coding.layout.n_parameters > max(_MOST_PARAMETERS, _PER_BYTE * whole):
        raise ValueError(f"it would have {coding.layout.n_parameters:,} parameters")
    theta = coding.layout.zeros()
    if active.size and not (active.min() >= 0 and active.max() < len(theta)):
        raise ValueError("a weight belongs to no feature")
    theta[active.astype(np.int64)] = values
    return Weights(theta, coding)


def _as_json(content: Any) -> bytes:
    """JSON text in UTF-8."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode("utf-8")


def _penalty_to_json(penalty: Any) -> dict[str, Any] | None:
    """A penalty as its name and fields; of one not from milpscore only how it prints."""
    if penalty is None:
        return None
    name = next((name for name, kind in PENALTIES.items() if kind is type(penalty)), None)
    if name is None or not is_dataclass(penalty):
        return {"name": repr(penalty), "fields": None}
    given = {each.name: getattr(penalty, each.name) for each in fields(penalty) if each.init}
    plain = {key: np.asarray(value).tolist() for key, value in given.items() if value is not None}
    return {"name": name, "fields": plain}


def _penalty_from_json(content: _Penalty | None) -> Any:
    """The inverse of `_penalty_to_json`; None, with a RuntimeWarning, where it was not kept."""
    if content is None:
        return None
    if content.fields is None:
        warnings.warn(
            f"the model was trained with the penalty {content.name}, which a file cannot hold: "
            "it predicts as before; set the penalty again before another fit",
            RuntimeWarning,
            stacklevel=4,
        )
        return None
    return PENALTIES[content.name](**content.fields)
