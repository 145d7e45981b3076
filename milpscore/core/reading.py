"""Files of ours, read within limits: JSON by a typed layout, arrays in npz, rows of SQLite.

Whoever hands a card or a model on may have damaged it, or mean harm. So the size of a file is
looked at before it is read, the entries and the depth of a text before it is parsed, the shape of
an array before there is room for it; a fraction is not a power of ten that takes an hour to write
out; and every entry has the type its layout states, or the file is refused as a whole, in one line.
"""

from __future__ import annotations

import json
import re
import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeVar

import msgspec
import numpy as np

from milpscore.core.errors import DataError, MissingDependencyError

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")


@dataclass(frozen=True)
class ReadingLimits:
    """Limits on files that others may have written."""

    max_bytes: int = 64_000_000  # of a file of text
    max_settings_bytes: int = 1_000_000
    max_entries: int = 2_000_000  # of lists and mappings; an empty list takes 64 bytes of memory
    max_depth: int = 40  # lists and mappings inside each other
    max_digits: int = 300  # of a number
    shown_characters: int = 60  # of a damaged entry in a message
    # size of an unpacked archive: this multiple of its own bytes, plus a constant
    unpacked_ratio: int = 30
    unpacked_bytes: int = 16_000_000


LIMITS = ReadingLimits()


class Head(msgspec.Struct):
    """What a file in JSON says it is."""

    kind: Any = None
    version: Any = None
    schema_version: Any = None
    format_version: Any = None


# --- texts ----------------------------------------------------------------------------------------


def text_of(path: Path, *, most: int = LIMITS.max_bytes, encoding: str = "utf-8") -> str:
    """Return the text of a file; DataError where it is too large or not in UTF-8."""
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise DataError(f"{str(path)!r} has more than {most / 1e6:g} MB, which no such file has")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise DataError(f"{str(path)!r} is not UTF-8 text ({error})") from error


def parsed(
    text: str | bytes, layout: type[T] | Any = Any, what: str = "the file", whole: int = 0
) -> Any:
    """Return a text of JSON as a value of ``layout``, a type that msgspec understands.

    Fractions are text such as "3/10". A DataError says that the text is not JSON, that an object
    repeats a key, or where what it holds does not fit the layout. A file of ``whole`` bytes may
    have as many entries.
    """
    try:
        data = text.encode() if isinstance(text, str) else text
        refuse_bulk(data, what, whole)
        json.loads(data, object_pairs_hook=partial(_unique, what))
        return msgspec.json.decode(data, type=layout, dec_hook=_by_hand)
    except (msgspec.MsgspecError, ValueError) as error:
        damaged = isinstance(error, msgspec.ValidationError)
        raise DataError(f"{what} is {'damaged' if damaged else 'not JSON'} ({error})") from error


def _unique(what: str, pairs: list[tuple[str, Any]]) -> None:
    """Refuse an object that repeats a key: readers differ in which of its values they take."""
    if len(dict(pairs)) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise DataError(
            f"{what} is damaged (an object repeats the key {twice[: LIMITS.shown_characters]!r})"
        )


def typed(value: Any, layout: type[T] | Any, what: str) -> Any:
    """Return a value that is read already, held to ``layout`` as :func:`parsed` does."""
    try:
        return msgspec.convert(value, layout, dec_hook=_by_hand)
    except msgspec.ValidationError as error:
        raise DataError(f"{what} is damaged ({error})") from error


def refuse_bulk(data: bytes, what: str, whole: int = 0) -> None:
    """Refuse JSON of too many entries, or too deep, before it is parsed."""
    bare = re.sub(rb'"(?:[^"\\]|\\.)*+(?:"|\Z)', b"", data, flags=re.DOTALL)  # without strings
    entries = bare.count(b",") + bare.count(b"[") + bare.count(b"{")
    if re.search(rf"(?<!\d)\d{{{LIMITS.max_digits}}}".encode(), bare):
        raise DataError(f"{what} is damaged (a number has more than {LIMITS.max_digits} digits)")
    # a step up per opening bracket, one down per closing one, and nothing else
    up_or_down, others = bytes.maketrans(b"[{]}", b"\1\1\xff\xff"), set(range(256)) - set(b"[{]}")
    steps = np.frombuffer(bare.translate(up_or_down, bytes(others)), dtype=np.int8)
    if len(data) > max(LIMITS.max_bytes, LIMITS.unpacked_ratio * whole) or entries > max(
        LIMITS.max_entries, whole
    ):
        raise DataError(f"{what} is damaged (it has {entries:,} entries in {len(data):,} bytes)")
    if steps.size and int(steps.cumsum(dtype=np.int32).max()) > LIMITS.max_depth:
        raise DataError(f"{what} is damaged (it is nested deeper than {LIMITS.max_depth})")


# --- settings -------------------------------------------------------------------------------------


def settings_of(path: Path, other: Literal["JSON", "TOML"] = "TOML") -> Any:
    """What a file of settings holds, by its ending: .json, .toml, .yaml, .yml, else ``other``.

    FileNotFoundError passes: who asked for the file knows by which name.
    """
    kinds = {".json": "JSON", ".toml": "TOML", ".yaml": "YAML", ".yml": "YAML"}
    kind = kinds.get(path.suffix.lower(), other)
    try:
        text = text_of(path, most=LIMITS.max_settings_bytes, encoding="utf-8-sig")
    except FileNotFoundError:
        raise
    except (OSError, DataError) as error:
        raise DataError(f"{path.name} cannot be read ({_said(error)})") from error
    try:
        found = {"JSON": parsed, "TOML": _toml, "YAML": _yaml}[kind](text)
    except (ValueError, RecursionError) as error:  # what is not JSON, TOML or YAML alike
        raise DataError(f"{path.name} is no {kind} ({_said(error)})") from error
    level = [found]
    for _ in range(LIMITS.max_depth):
        lists = [each for each in level if isinstance(each, dict | list)]
        level = [v for each in lists for v in (each.values() if isinstance(each, dict) else each)]
    if level:
        raise DataError(f"{path.name} is nested deeper than {LIMITS.max_depth}")
    return found


def _toml(text: str) -> Any:
    """TOML; the tables of a dotted key are refused first, since each costs those before it."""
    import tomllib

    if re.search(rf"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{LIMITS.max_depth}}}", text):
        raise ValueError(f"a key names tables nested deeper than {LIMITS.max_depth}")
    return tomllib.loads(text)


def _yaml(text: str) -> Any:
    """YAML without references, a few of which can stand for more than there is memory."""
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            "YAML needs PyYAML (pip install pyyaml); or write TOML, which needs nothing"
        ) from error
    refuse_bulk(text.encode(), "it")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, loader)):
            raise ValueError("write out what a reference such as *name stands for")
        return yaml.load(text, loader)  # either one is a safe loader
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error


# --- fractions ------------------------------------------------------------------------------------


def exact(value: Any) -> Fraction:
    """A fraction from text such as "3/10" or from a whole number; ValueError for anything else."""
    text = str(value) if type(value) is int else value
    form = r"[+-]?\d{1,400}(?:/\d{1,400}|(?:\.\d{1,400})?(?:[eE][+-]?\d{1,3})?)"
    if not isinstance(text, str) or not re.fullmatch(form, text) or not text.isascii():
        shown = repr(value)
        raise ValueError(f"{shown[: LIMITS.shown_characters]} is not a fraction such as '3/10'")
    try:
        found = Fraction(text)
    except ZeroDivisionError as error:
        raise ValueError(f"{text[: LIMITS.shown_characters]!r} divides by zero") from error
    largest = Fraction(10) ** 300
    if found and not 1 / largest < abs(found) < largest:
        raise ValueError(f"{text[: LIMITS.shown_characters]!r} is beyond what a card can hold")
    return found


def _by_hand(kind: Any, value: Any) -> Any:
    """What msgspec asks about the types it does not know."""
    if kind is Fraction:
        return value if isinstance(value, Fraction) else exact(value)
    raise NotImplementedError(f"no file of ours holds a {kind}")


# --- arrays ---------------------------------------------------------------------------------------


def arrays(file: IO[bytes], wanted: Mapping[str, str], what: str) -> dict[str, Any]:
    """Return the vectors of an npz file by name, each of the one type wanted, such as "<f8"."""
    size = file.seek(0, 2)
    # zipfile answers a flag, method or version it does not know with NotImplementedError, and an
    # encrypted member with RuntimeError; NumPy reads the header of an array with the tokenizer
    damages = (
        ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError,
        RuntimeError, tokenize.TokenError, SyntaxError, OverflowError, TypeError, MemoryError,
    )  # fmt: skip
    try:
        with zipfile.ZipFile(file) as archive:
            members = {name: archive.getinfo(f"{name}.npy") for name in wanted}
            whole = sum(each.file_size for each in members.values())
            if whole > LIMITS.unpacked_ratio * size + LIMITS.unpacked_bytes:
                raise ValueError(f"{size:,} bytes would unpack to {whole:,}")
            return {name: _vector(archive, members[name], wanted[name]) for name in wanted}
    except damages as error:
        raise DataError(f"{what} is damaged ({_said(error)})") from error


def _vector(archive: zipfile.ZipFile, member: zipfile.ZipInfo, wanted: str) -> Any:
    """Return a vector of an archive whose header agrees with its bytes."""
    with archive.open(member) as stream:
        if np.lib.format.read_magic(stream)[0] != 1:
            raise ValueError("a version of arrays that is not ours")
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        bytes_left = member.file_size - stream.tell()
        if dtype != np.dtype(wanted) or len(shape) != 1 or shape[0] * dtype.itemsize != bytes_left:
            raise ValueError(f"{member.filename} has the shape {shape} of {dtype}")
        return np.frombuffer(stream.read(), dtype=dtype)


# --- rows of SQLite -------------------------------------------------------------------------------


def rows(
    connection: sqlite3.Connection, query: str, layout: type[T], what: str, *given: Any
) -> list[T]:
    """Return the rows a query finds, each held to ``layout``, a struct with ``array_like``."""
    found: Iterable[Any] = connection.execute(query, given)
    kept: list[T] = typed([list(row) for row in found], list[layout], what)  # type: ignore[valid-type]
    return kept


def _said(error: BaseException) -> str:
    """What an error says, in one short line."""
    return " ".join((str(error) or type(error).__name__).split())[:200]
