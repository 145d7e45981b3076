"""The errors milpscore raises, and the registries of things by name."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Generic, TypeVar, cast


class Message(str):
    """A text in the words of Python, which a command can say in those of its options.

    In the template, ``{max_terms}`` stands for an argument passed by keyword: ``max_terms=5`` with
    its value, ``max_terms`` alone if the value is an ellipsis. ``{argument}`` stands for the one
    whose name is passed as ``argument``, its value as ``value``. ``{None}``, ``{True}``,
    ``{False}``, ``{X}``, ``{y}`` and ``{Binner}`` are words that commands call otherwise. Other
    braces stay as they are.
    """

    template: str
    arguments: dict[str, Any]

    def __new__(
        cls, template: str, argument: str | None = None, value: Any = ..., **arguments: Any
    ) -> Message:
        """Make the text for Python."""
        if argument is not None:
            template = template.replace("{argument}", f"{{{argument}}}")
            arguments[argument] = value
        arguments = dict.fromkeys(("None", "True", "False", "X", "y", "Binner"), ...) | arguments
        message = super().__new__(cls, _filled(template, arguments, _in_python))
        message.template, message.arguments = template, arguments
        return message

    def for_command(self, spell: Callable[[str, Any], str]) -> str:
        """Return the text with every argument as ``spell(name, value)`` writes it."""
        return _filled(self.template, self.arguments, spell)


def _filled(template: str, arguments: Mapping[str, Any], spell: Callable[[str, Any], str]) -> str:
    """Return the template with its arguments spelt; a value's own braces stay."""
    return re.sub(
        r"\{([^{}]+)\}",
        lambda f: spell(f[1], arguments[f[1]]) if f[1] in arguments else f[0],
        template,
    )


def _in_python(name: str, value: Any) -> str:
    """Return an argument as Python writes it."""
    return name if value is ... else f"{name}={value!r}"


class MilpscoreError(Exception):
    """Base of every error raised on purpose by milpscore.

    Its text is a `Message`: arguments are named by keyword, as in
    ``OptionError("{argument} must be positive", argument="lam")``.
    """

    def __init__(self, message: str = "", **arguments: Any) -> None:
        if not isinstance(message, Message):
            message = Message(message, **arguments)
        super().__init__(message)

    def for_command(self, spell: Callable[[str, Any], str]) -> str:
        """Return the text with every argument as ``spell(name, value)`` writes it."""
        return cast(Message, self.args[0]).for_command(spell)


class DataError(MilpscoreError, ValueError):
    """The data cannot be used as given; the message says which column or row, and what to do."""


class FormulationError(MilpscoreError, ValueError):
    """A formulation cannot be stated with these arguments."""


class SizeError(FormulationError):
    """The program would be too large to build; the message carries the estimate."""


class TooManyPatternsError(SizeError):
    """A table has too many distinct rows for an exact answer; the message says what holds."""


class OptionError(MilpscoreError, ValueError):
    """An option has an unknown name or a value outside its range."""


class SolverError(MilpscoreError, RuntimeError):
    """A solver failed, or returned something that cannot be interpreted."""


class SelfTestError(SolverError):
    """The installed solver gives wrong answers on a problem with a known optimum."""


class NotApplicableError(MilpscoreError, RuntimeError):
    """The operation has no meaning for this object (say, a card read from an unsolved program)."""


class MissingDependencyError(MilpscoreError, ImportError):
    """An optional package is absent; the message names the extra to install."""


def optional(module: str, need: str) -> Any:
    """Return a module of an optional package; ``need`` says who needs it, and how to install it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingDependencyError(need) from error


Thing = TypeVar("Thing")


_LISTED = 50
"""Names that a message lists, at most."""


class Registry(Mapping[str, Thing], Generic[Thing]):
    """A mapping from name to thing; case, hyphens and underscores of a name do not count.

    ``kind`` is what the things are, for messages; ``homes`` maps names to "module:attribute",
    imported when asked for, so that names alone cost nothing; ``error`` is raised for an unknown
    name, naming the nearest and all there are.

    >>> LOSSES = Registry("loss", {"logistic": "milpscore.losses:Logistic"})
    >>> LOSSES.register("mine", MyLoss)  # doctest: +SKIP
    """

    def __init__(
        self, kind: str, homes: Mapping[str, str], error: type[MilpscoreError] = OptionError
    ) -> None:
        self.kind = kind
        self._error = error
        self._homes: dict[str, str | Thing] = dict(homes)

    def register(self, name: str, thing: str | Thing) -> None:
        """Add a thing, or say where it lies as "module:attribute"; not under a name taken."""
        if name in self:
            raise self._error(f"there is a {self.kind} called {name!r} already")
        self._homes[name] = thing

    def remove(self, name: str) -> None:
        """Take out what was registered under a name; the registry's error where nothing was."""
        del self._homes[self.name_of(name)]

    def name_of(self, name: str) -> str:
        """Return the name as it was registered; the registry's error where there is none."""
        known = {_folded(each): each for each in self._homes}
        if (found := known.get(_folded(name))) is not None:
            return found
        close = get_close_matches(_folded(name), known, n=1)
        hint = f"did you mean {known[close[0]]}? " if close else ""
        every = ", ".join(self._homes) if len(known) <= _LISTED else f"{len(known)} of them"
        raise self._error(f"no {self.kind} {name!r}; {hint}there are {every}")

    def __getitem__(self, name: str) -> Thing:
        found = self._homes[key := self.name_of(name)]
        if isinstance(found, str):
            module, _, attribute = found.partition(":")
            found = self._homes[key] = cast(Thing, getattr(import_module(module), attribute))
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and _folded(name) in map(_folded, self._homes)

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)

    def __repr__(self) -> str:
        return f"<Registry of {self.kind}: {', '.join(self._homes)}>"


def _folded(name: str) -> str:
    """Return a name without case, hyphens and underscores."""
    return name.lower().replace("_", "").replace("-", "")


def homes(room: str, names: str) -> dict[str, str]:
    """Where the things of a room lie that are exported by their own names, parted by blanks."""
    return {name: f"{room}:{name}" for name in names.split()}


# ------------------------------------------------------------------ questions that lead to errors


def is_number(value: Any) -> bool:
    """Whether the value is a real number that a float can hold, NaN and truth values excluded."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    try:
        return real and not math.isnan(value)
    except OverflowError:
        return False


def is_whole(value: Any, least: float) -> bool:
    """Whether the value is a whole number of at least ``least``."""
    return hasattr(value, "__index__") and not isinstance(value, bool) and int(value) >= least


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question that names the nearest of the known names; empty where none is near."""
    return "".join(
        f"did you mean {close!r}? " for close in get_close_matches(name, list(known), n=1)
    )


def listing(names: Iterable[Any], limit: int = 5) -> str:
    """Quote the first names and count the rest, for messages."""
    quoted = [repr(name) for name in names]
    rest = len(quoted) - limit
    shown = ", ".join(quoted[:limit])
    return f"{shown} and {rest} more" if rest > 0 else shown


def places(rows: Iterable[int]) -> str:
    """Name the first rows of an array by their indices, and count the rest, for messages."""
    return f"row(s) {listing(rows)} (counted from 0)"


def require_ending(name: str, endings: Sequence[str]) -> None:
    """Raise OptionError for a file name that ends in none of these, upper case or not."""
    if not name.lower().endswith(tuple(endings)):
        *first, last = endings
        known = f"{', '.join(first)} or {last}" if first else last
        raise OptionError(f"cannot write {name}: the name must end in {known}")


def near_matches(name: str, names: Collection[str], what: str = "columns") -> str:
    """Say which of ``names`` were perhaps meant by ``name``, for messages; all if none is near."""
    names = sorted(names) if isinstance(names, set | frozenset) else names
    by_lower = {other.lower(): other for other in names}
    near = get_close_matches(name.lower(), list(by_lower), n=3, cutoff=0.6)
    if near:
        return f"did you mean {listing(by_lower[match] for match in near)}?"
    return f"the {what} are {listing(names, 10)}."
