"""CRF++-style patterns: what is observed at a position, written as a line of text."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

from milpscore.core.errors import DataError

PatternSource: TypeAlias = str | os.PathLike[str] | Iterable[str]

_REFERENCE = re.compile(
    r"""%(?P<command>[xXmMtT])\[\s*(?P<row>[+-]?\d+)\s*,\s*(?P<column>\d+)\s*"""
    r"""(?:,\s*"(?P<regex>(?:[^"\\]|\\.)*)"\s*)?\]"""
)
_QUOTED_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<comment>(?:^|\s)#.*$)')
_SHAPES = '%x[row,col], %m[row,col,"regex"] or %t[row,col,"regex"]'

# Wapiti's classes of characters.
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


@dataclass(frozen=True)
class Reference:
    """One reference: the token ("x"), the part that matches ("m"), whether it matches ("t")."""

    command: str
    row: int  # relative to the position (-1: the one before)
    column: int  # from 0
    lower: bool = False  # written in upper case: the answer is put in lower case
    regex: re.Pattern[str] | None = None  # None for "x"

    def answer(self, token: str) -> str:
        """What stands for the reference where it points at ``token``."""
        if self.regex is not None:
            match = self.regex.search(token)
            if self.command == "t":
                return "false" if match is None else "true"
            token = "" if match is None else match.group()
        return token.lower() if self.lower else token

    def beyond(self, padding: str) -> str:
        """What stands for it where it points outside the sequence."""
        return "false" if self.command == "t" else padding


@dataclass(frozen=True)
class Pattern:
    """One line, as written without comment and outer blanks, and what it is made of."""

    line: str
    kind: str  # "u" joins what is observed with the label, "b" with two in a row, "*" does both
    parts: tuple[str | Reference, ...]  # what an observation's name is put together from

    @property
    def references(self) -> tuple[Reference, ...]:
        """The references, from left to right."""
        return tuple(part for part in self.parts if isinstance(part, Reference))

    @property
    def n_columns(self) -> int:
        """Columns it needs."""
        return max((reference.column + 1 for reference in self.references), default=0)

    @property
    def plain(self) -> bool:
        """Whether it looks at no token: a plain ``b`` gives the label-to-label weights."""
        return not self.references


def default_patterns(n_columns: int) -> tuple[Pattern, ...]:
    """Unigrams and bigrams of every column, as in the source's models, and the plain bigram."""
    lines = [f"{kind}:%x[0,{column}]" for column in range(n_columns) for kind in "ub"]
    return parse_patterns([*lines, "b"])


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file; DataError names the line that is not UTF-8."""
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


def parse_patterns(lines: str | Iterable[str], source: str = "patterns") -> tuple[Pattern, ...]:
    """Read patterns, one on each line, as in CRF++ and Wapiti.

    A line begins with ``u`` (unigram), ``b`` (bigram) or ``*`` (both), in either case; then may
    come an identifier; then texts and references. Blank lines, and what follows a ``#`` at the
    start of a line or after a blank, are left out. Two patterns that give the same text share
    their observations (a bag of words: ``u:word=%x[-1,0]`` and ``u:word=%x[1,0]``), except that a
    pattern which begins with a reference right after ``u:`` is told apart by its own line.

    Parameters
    ----------
    lines : str or iterable of str
        A text is split into its lines.
    source : str
        What error messages call the lines, say the file's name.

    Raises
    ------
    DataError
        A line is not a pattern, or there is none; the message names source and line.
    """
    rows = lines.split("\n") if isinstance(lines, str) else list(lines)
    found: list[Pattern] = []
    plain_at = None
    for number, raw in enumerate(rows, start=1):
        text = _without_comment(raw).strip()
        if not text:
            continue
        where = f"{source}, line {number}"
        pattern = _parsed(text, where)
        if pattern.plain and pattern.kind != "u":
            if plain_at is not None:
                raise DataError(
                    f"{where}: {text!r} is a second bigram without references, after line "
                    f"{plain_at}: they say the same, drop one"
                )
            plain_at = number
        found.append(pattern)
    if not found:
        raise DataError(f"{source}: there is no pattern; write a line such as 'u:%x[0,0]'")
    return tuple(found)


def resolve_patterns(given: PatternSource | None, n_columns: int) -> tuple[Pattern, ...]:
    """The patterns of an argument: None for the default, a text, lines, or a path object."""
    # DataError where one cannot be read, or refers to a column the data do not have.
    if given is None:
        return default_patterns(n_columns)
    if isinstance(given, os.PathLike):
        patterns = parse_patterns(read_text(given).split("\n"), str(given))
    else:
        patterns = parse_patterns(given)
    for pattern in patterns:
        if pattern.n_columns > n_columns:
            raise DataError(
                f"the pattern {pattern.line!r} refers to column {pattern.n_columns - 1}, but the "
                f"sequences have {n_columns} (0 to {n_columns - 1}): columns count from 0, and "
                "the label is none of them"
            )
    return patterns


def _without_comment(text: str) -> str:
    """The line up to its comment; a # inside quotes belongs to a regular expression."""
    for match in _QUOTED_OR_COMMENT.finditer(text):
        if match["comment"] is not None:
            return text[: match.start()]
    return text


def _parsed(text: str, where: str) -> Pattern:
    """One line as a pattern."""
    kind = text[0].lower()
    if kind not in "ub*":
        raise DataError(
            f"{where}: {text!r} begins with {text[0]!r}; a pattern begins with u, b or *, for "
            "example 'u:%x[0,0]' (a file of patterns is given as a pathlib.Path)"
        )
    parts = _split(text, where)
    # Without an identifier the line itself keeps observations of two patterns apart.
    if len(parts) > 1 and parts[0] in {text[0], text[0] + ":"}:
        parts[0] = f"{text}="
    return Pattern(text, kind, tuple(part for part in parts if part != ""))


def _split(text: str, where: str) -> list[str | Reference]:
    """Texts and references in turn; the first entry is always a text."""
    parts: list[str | Reference] = []
    start = 0
    while (at := text.find("%", start)) >= 0:
        match = _REFERENCE.match(text, at)
        if match is None:
            raise DataError(f"{where}: {text[at:]!r} is not a reference; expected {_SHAPES}")
        parts += [text[start:at], _reference(match, where)]
        start = match.end()
    return [*parts, text[start:]]


def _reference(match: re.Match[str], where: str) -> Reference:
    """One reference, checked."""
    command = match["command"].lower()
    expression = match["regex"]
    if (command == "x") != (expression is None):
        needs = "takes no" if command == "x" else "needs a"
        raise DataError(
            f"{where}: %{command} {needs} regular expression, got {match.group()!r}; "
            f"expected {_SHAPES}"
        )
    regex = None if expression is None else _compiled(expression, where)
    lower = match["command"].isupper()
    return Reference(command, int(match["row"]), int(match["column"]), lower, regex)


def _compiled(text: str, where: str) -> re.Pattern[str]:
    """Compile a pattern's regular expression; DataError, naming ``where``, if it is wrong."""
    # The classes \a (letter), \l (lower case), \u (upper case), \w (letter or digit) and \p
    # (punctuation or symbol) are those of Wapiti, their capitals the complements. All else is as in
    # `re`: also \d, \s, brackets, groups and counts, which Wapiti has not.

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
            f"{where}: {text!r} is not a regular expression ({error.msg}): correct it, or write a "
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
