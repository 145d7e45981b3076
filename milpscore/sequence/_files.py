"""Files: sequences as columns of text, and a fitted model without any pickle."""

from __future__ import annotations

import json
import os
import re
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np

from milpscore.core.errors import DataError, OptionError
from milpscore.penalties import PENALTIES
from milpscore.sequence.coding import Coding, Vocabulary, Weights
from milpscore.sequence.patterns import read_text
from milpscore.sequence.training import TraceRow

if TYPE_CHECKING:
    from milpscore.sequence._crf import SparseCRF

Row: TypeAlias = tuple[str, ...]
Sentences: TypeAlias = list[list[Row]]

# str.split() would also cut at no-break spaces, which occur inside tokens.
_FIELD = re.compile(r"[^ \t]+")
_SEPARATORS = (None, "\t")

# Raised whenever a reader of the previous layout would misread a model.
_FORMAT_VERSION = 1
_KIND = "milpscore.sequence"
_TEXTS = ("header", "unigrams", "bigrams")
_AGAIN = "give a file written by SparseCRF.save() or 'milpscore crf train'"
# What readers of a broken file raise: zipfile answers a flag, method or version it does not know
# with NotImplementedError, and NumPy reads the header of an array with the tokenizer.
_DAMAGES = (
    ValueError,
    KeyError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    tokenize.TokenError,
)
_KEPT = {"objective": float, "status": str, "n_iter": int, "seconds": float}


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
    rows = _rows(path, separator)
    if not labelled:
        return rows, None
    if len(rows[0][0]) < 2:
        raise DataError(
            f"{str(path)!r} has one column: with labels there are at least two, the label last"
            + _tab_hint(separator)
        )
    X = [[row[:-1] for row in sequence] for sequence in rows]
    return X, [[row[-1] for row in sequence] for sequence in rows]


def _rows(path: str | os.PathLike[str], separator: str | None) -> Sentences:
    """All columns of a file."""
    if separator not in _SEPARATORS:
        raise OptionError(f"separator={separator!r} is unknown; use None (blanks) or a tab.")
    sequences: Sentences = [[]]
    first, width = 0, 0
    for number, raw in enumerate(read_text(path).split("\n"), start=1):
        line = raw.rstrip("\r")
        if not line.strip(" \t"):
            sequences.append([])
            continue
        row = tuple(_FIELD.findall(line) if separator is None else line.split(separator))
        if not width:
            first, width = number, len(row)
        if len(row) != width:
            raise DataError(
                f"{str(path)!r}, line {number}: {len(row)} columns where line {first} has {width}"
                f": give every line the same columns{_tab_hint(separator)}"
            )
        sequences[-1].append(row)
    if not width:
        raise DataError(f"{str(path)!r} holds no sequence: write one position on each line")
    return [sequence for sequence in sequences if sequence]


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
    """The lines of a file, checked."""
    for number, sequence in enumerate(X):
        try:
            added = [column[number] for column in labels]
            together = list(zip(sequence, *added, strict=True))
        except (IndexError, ValueError) as error:
            raise DataError(
                f"sequence {number} has {len(sequence)} positions and other numbers of labels: "
                "give each position one label"
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
                lost = not field and separator == " "  # several blanks part as one does
                if lost or any(mark in field for mark in (separator, "\n", "\r")):
                    raise DataError(
                        f"sequence {number}: {field!r} cannot be written as one column parted by "
                        f"{separator!r}: it must be a text without it and without line breaks"
                    )
            yield line + "\n"
        yield "\n"


def _tab_hint(separator: str | None) -> str:
    """What to try where columns are miscounted."""
    if separator is None:
        return ", or name the tab as separator where tokens hold blanks"
    return "; columns are parted by tabs here"


def save_model(model: SparseCRF, path: str | os.PathLike[str], compact: bool) -> None:
    """Write a fitted estimator; see :meth:`SparseCRF.save`."""
    weights = model.weights_.compact() if compact else model.weights_
    coding = model.coding_.to_json()
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
        **{name: getattr(model, f"{name}_") for name in _KEPT},
        "best_iteration": model.best_iteration_,
        "trace": [{k: v for k, v in row.items() if not np.isnan(v)} for row in trace],
    }
    header = {
        "kind": _KIND,
        "format_version": _FORMAT_VERSION,
        "labels": list(weights.labels),
        "plain": weights.plain,
        "about": about,
    }
    lists = {"unigrams": list(weights.unigrams.names), "bigrams": list(weights.bigrams.names)}
    active = np.flatnonzero(weights.theta)
    # written beside, then renamed: an interrupt never leaves half a model under the name
    target = Path(path)
    beside = target.with_name(target.name + ".part")
    try:
        if target.suffix == ".json":
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
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def load_model(kind: type[SparseCRF], path: str | os.PathLike[str]) -> SparseCRF:
    """Read what `save_model` wrote; DataError where it cannot be read, or is damaged."""
    content = _content(Path(path))
    try:
        weights, about = _weights(content), dict(content["about"])
        parameters = dict(about["parameters"])
        parameters["penalty"] = _penalty_from_json(parameters["penalty"])
        model = kind(**parameters)
        model.coding_ = Coding.from_json(about["coding"], weights)
        for name, as_type in _KEPT.items():
            setattr(model, f"{name}_", as_type(about[name]))
        best = about["best_iteration"]
        model.best_iteration_ = None if best is None else int(best)
        model.trace_ = TraceRow.table([TraceRow(**row) for row in about["trace"]])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise DataError(
            f"{str(path)!r} is damaged ({type(error).__name__}: {error}); {_AGAIN}"
        ) from error
    model.classes_ = np.array(weights.labels, dtype=object)
    model.theta_ = weights.theta
    return model


def _content(path: Path) -> Mapping[str, Any]:
    """What a model's file holds, of this kind and version."""
    try:
        # np.load on a name leaves the file open where the archive is broken
        with path.open("rb") as file:
            packed = file.read(2) == b"PK"
            file.seek(0)
            if packed:
                with np.load(file, allow_pickle=False) as archive:
                    texts = {name: json.loads(archive[name].tobytes().decode()) for name in _TEXTS}
                    arrays = {name: archive[name] for name in ("active", "weights")}
                content = {**dict(texts.pop("header")), **texts, **arrays}
            else:
                content = json.loads(file.read())
    except OSError as error:
        raise DataError(f"cannot read {str(path)!r}: {error.strerror}. Check the path.") from error
    except (*_DAMAGES, TypeError) as error:
        raise DataError(f"{str(path)!r} is not a CRF model, or is damaged; {_AGAIN}") from error
    if not isinstance(content, dict) or content.get("kind") != _KIND:
        raise DataError(f"{str(path)!r} is not a CRF model; {_AGAIN}")
    version = content.get("format_version")
    if version != _FORMAT_VERSION:
        raise DataError(
            f"{str(path)!r} has format_version {version!r}, this milpscore reads {_FORMAT_VERSION}:"
            " use the milpscore that wrote it, or train again"
        )
    return content


def _weights(content: Mapping[str, Any]) -> Weights:
    """The weights of a file; TypeError or ValueError where they do not fit together."""
    labels, unigrams, bigrams = (
        tuple(map(_text, content[name])) for name in ("labels", "unigrams", "bigrams")
    )
    plain = None if content["plain"] is None else _text(content["plain"])
    active = np.asarray(content["active"], dtype=np.int64)
    values = np.asarray(content["weights"], dtype=np.float64)
    if active.shape != values.shape or active.ndim != 1 or not np.isfinite(values).all():
        raise ValueError("positions and weights do not belong together")
    weights = Weights(np.zeros(0), labels, Vocabulary(unigrams), Vocabulary(bigrams), plain)
    theta = weights.layout.zeros()
    if active.size and not (active.min() >= 0 and active.max() < len(theta)):
        raise ValueError("a weight belongs to no feature")
    theta[active] = values
    return Weights(theta, labels, weights.unigrams, weights.bigrams, plain)


def _as_json(content: Any) -> bytes:
    """JSON text in UTF-8."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode("utf-8")


def _text(value: Any) -> str:
    """The value, which must be text."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _penalty_to_json(penalty: Any) -> dict[str, Any] | None:
    """A penalty as its name and fields; of one not from milpscore only how it prints."""
    if penalty is None:
        return None
    name = next((name for name, made in PENALTIES.items() if made is type(penalty)), None)
    if name is None or not is_dataclass(penalty):
        return {"name": repr(penalty), "fields": None}
    given = {field.name: getattr(penalty, field.name) for field in fields(penalty) if field.init}
    plain = {key: np.asarray(value).tolist() for key, value in given.items() if value is not None}
    return {"name": name, "fields": plain}


def _penalty_from_json(content: Mapping[str, Any] | None) -> Any:
    """The inverse of `_penalty_to_json`; None, with a RuntimeWarning, where it was not kept."""
    if content is None:
        return None
    if content["fields"] is None:
        warnings.warn(
            f"the model was trained with the penalty {content['name']}, which a file cannot hold: "
            "it predicts as before; set the penalty again before another fit",
            RuntimeWarning,
            stacklevel=4,
        )
        return None
    return PENALTIES[content["name"]](**content["fields"])
