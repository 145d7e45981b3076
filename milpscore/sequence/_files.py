"""A fitted CRF in one file: compressed arrays (.npz), or JSON; neither runs code on loading."""

from __future__ import annotations

import json
import os
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from milpscore.core.errors import DataError
from milpscore.penalties import PENALTIES
from milpscore.sequence._features import Weights
from milpscore.sequence._vocabulary import Vocabulary

FORMAT_VERSION = 1
"""Raised whenever a reader of the previous layout would misread a model."""

_KIND = "milpscore.sequence"
_TEXTS = ("header", "unigrams", "bigrams")
_AGAIN = "give a file written by SparseCRF.save() or 'milpscore crf train'"

_DAMAGES = (
    ValueError,
    KeyError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
    # zipfile's word for a flag, method or version it does not know, as a flipped byte leaves them
    NotImplementedError,
    # NumPy reads an array's header with the tokenizer
    tokenize.TokenError,
)
"""What the readers below raise where a file is broken."""


def save_weights(path: str | os.PathLike[str], weights: Weights, about: Mapping[str, Any]) -> None:
    """Write a model; a name that ends in ``.json`` gives JSON, any other an npz archive.

    Parameters
    ----------
    path : path
        Written under exactly this name.
    weights : Weights
    about : mapping
        What else to keep, in JSON's types.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    active = np.flatnonzero(weights.theta)
    values = weights.theta[active]
    header = {
        "kind": _KIND,
        "format_version": FORMAT_VERSION,
        "labels": list(weights.labels),
        "plain": weights.plain,
        "about": dict(about),
    }
    lists = {"unigrams": list(weights.unigrams.names), "bigrams": list(weights.bigrams.names)}
    # written beside, then renamed: an interrupt never leaves half a model under the name
    target = Path(path)
    beside = target.with_name(target.name + ".part")
    try:
        if target.suffix == ".json":
            sparse = {"active": active.tolist(), "weights": values.tolist()}
            text = json.dumps({**header, **lists, **sparse}, ensure_ascii=False, allow_nan=False)
            beside.write_text(text, encoding="utf-8")
        else:
            texts: dict[str, Any] = {
                name: _as_bytes(entry) for name, entry in {"header": header, **lists}.items()
            }
            with beside.open("wb") as file:
                np.savez_compressed(file, active=active, weights=values, **texts)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def load_weights(path: str | os.PathLike[str]) -> tuple[Weights, dict[str, Any]]:
    """Read a model.

    Returns
    -------
    weights : Weights
    about : dict

    Raises
    ------
    DataError
        The file cannot be read, is no model, is damaged, or was written by a newer milpscore.
    """
    source = Path(path)
    try:
        raw = source.read_bytes()[:4]
        content = _from_npz(source) if raw[:2] == b"PK" else _from_json(source)
    except OSError as error:
        raise DataError(f"cannot read {str(path)!r}: {error.strerror}. Check the path.") from error
    except _DAMAGES as error:
        raise DataError(f"{str(path)!r} is no CRF model, or is damaged; {_AGAIN}") from error
    if not isinstance(content, dict) or content.get("kind") != _KIND:
        raise DataError(f"{str(path)!r} is no CRF model; {_AGAIN}")
    version = content.get("format_version")
    if version != FORMAT_VERSION:
        raise DataError(
            f"{str(path)!r} has format_version {version!r}, this milpscore reads {FORMAT_VERSION}: "
            "use the milpscore that wrote it, or train again"
        )
    try:
        return _weights(content), dict(content["about"])
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise DataError(
            f"{str(path)!r} is damaged ({type(error).__name__}: {error}); {_AGAIN}"
        ) from error


def penalty_to_json(penalty: Any) -> dict[str, Any] | None:
    """A penalty as its name and fields; of one not from milpscore only how it prints."""
    if penalty is None:
        return None
    name = next((name for name, made in PENALTIES.items() if made is type(penalty)), None)
    if name is None or not is_dataclass(penalty):
        return {"name": repr(penalty), "fields": None}
    given = {field.name: getattr(penalty, field.name) for field in fields(penalty) if field.init}
    plain = {key: np.asarray(value).tolist() for key, value in given.items() if value is not None}
    return {"name": name, "fields": plain}


def penalty_from_json(content: Mapping[str, Any] | None) -> Any:
    """The inverse of :func:`penalty_to_json`; None, with a warning, where it was not kept.

    Warns
    -----
    RuntimeWarning
        The penalty is not one of milpscore's.
    """
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


def _weights(content: Mapping[str, Any]) -> Weights:
    labels = tuple(map(_text, content["labels"]))
    plain = content["plain"]
    weights = Weights(
        np.zeros(0),
        labels,
        Vocabulary(tuple(map(_text, content["unigrams"]))),
        Vocabulary(tuple(map(_text, content["bigrams"]))),
        None if plain is None else _text(plain),
    )
    active = np.asarray(content["active"], dtype=np.int64)
    values = np.asarray(content["weights"], dtype=np.float64)
    theta = weights.layout.zeros()
    if active.shape != values.shape or active.ndim != 1 or not np.isfinite(values).all():
        raise ValueError("positions and weights do not belong together")
    if active.size and not (active.min() >= 0 and active.max() < len(theta)):
        raise ValueError("a weight belongs to no feature")
    theta[active] = values
    return Weights(theta, labels, weights.unigrams, weights.bigrams, weights.plain)


def _from_npz(path: Path) -> dict[str, Any]:
    # np.load on a name leaves the file open where the archive is broken
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        texts = {name: json.loads(archive[name].tobytes().decode()) for name in _TEXTS}
        arrays = {name: archive[name] for name in ("active", "weights")}
    header = texts.pop("header")
    return {**header, **texts, **arrays} if isinstance(header, dict) else {}


def _from_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _as_bytes(content: Any) -> np.ndarray:
    """JSON text as bytes: an array of texts would pad all to the longest."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    return np.frombuffer(text.encode("utf-8"), dtype=np.uint8)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value
