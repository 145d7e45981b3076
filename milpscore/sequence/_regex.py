r"""Regular expressions of patterns: Python's, with Wapiti's classes ``\a \l \u \p``."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache

from milpscore.core.errors import DataError

_CLASSES: dict[str, Callable[[str], bool]] = {
    "a": str.isalpha,
    "l": str.islower,
    "u": str.isupper,
    "w": str.isalnum,
    # C's ispunct counts symbols too.
    "p": lambda char: unicodedata.category(char)[0] in "PS",
}
_BRACKETS = r"\[\^?\]?(?:\\.|[^\]\\])*\]"
_TOKEN = re.compile(rf"(?P<brackets>{_BRACKETS})|\\(?P<escaped>.)", flags=re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", flags=re.DOTALL)
# Beyond the basic plane lie few letters, and the classes would take a second to list.
_LAST = 0xFFFF


def compile_regex(text: str, where: str) -> re.Pattern[str]:
    r"""Compile a pattern's regular expression.

    The classes ``\a`` (letter), ``\l`` (lower case), ``\u`` (upper case), ``\w`` (letter or digit)
    and ``\p`` (punctuation or symbol) are those of Wapiti, their capitals the complements. All else
    is as in :mod:`re`: also ``\d``, ``\s``, brackets, groups and counts, which Wapiti has not.

    Parameters
    ----------
    text : str
    where : str
        Source and line, for the message.

    Raises
    ------
    DataError
        It is no regular expression.
    """

    def translated(match: re.Match[str]) -> str:
        if match["brackets"] is not None:
            return _ESCAPE.sub(lambda inner: _inside(inner, where), match["brackets"])
        name = match["escaped"]
        if name.lower() not in _CLASSES:
            return match.group()
        return f"[{'' if name.islower() else '^'}{_ranges(name.lower())}]"

    try:
        return re.compile(_TOKEN.sub(translated, text))
    except re.error as error:
        raise DataError(
            f"{where}: {text!r} is no regular expression ({error.msg}): correct it, or write a "
            "backslash before a character that stands for itself"
        ) from error


def _inside(match: re.Match[str], where: str) -> str:
    """A class between brackets."""
    name = match[1]
    if name.lower() not in _CLASSES:
        return match.group()
    if name.isupper():
        raise DataError(
            f"{where}: the complement \\{name} cannot stand between brackets; write it outside "
            "them, or the brackets as [^...]"
        )
    return _ranges(name)


@cache
def _ranges(name: str) -> str:
    """The characters of a class, as they stand between brackets."""
    holds = _CLASSES[name]
    found: list[tuple[int, int]] = []
    for code in range(_LAST + 1):
        if not holds(chr(code)):
            continue
        if found and found[-1][1] == code - 1:
            found[-1] = (found[-1][0], code)
        else:
            found.append((code, code))
    return "".join(f"\\u{first:04x}-\\u{last:04x}" for first, last in found)
