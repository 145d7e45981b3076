"""What several commands do: read data, read settings, report errors, write JSON, note Ctrl-C."""

from __future__ import annotations

import inspect
import json
import math
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from milpscore.cli._options import ClassWeight, Encoding, Missing, spelt
from milpscore.core.errors import DataError, FormulationError, OptionError
from milpscore.formulations import FORMULATIONS

if TYPE_CHECKING:
    from milpscore.core.design import Design

NO_CARD, BAD_INPUT, INTERRUPTED = 1, 2, 130

_OPTION_OF = {
    "class_weight": "--class-weight",
    "constraints": "--constraints",
    "positive": "--positive",
    "sample_weight": "--weights-column",
}
"""Builders take these too; on the command line they have options of their own."""


def say(text: str) -> None:
    """Write one line to standard error."""
    typer.echo(text, err=True)


def complain(message: str) -> int:
    """Report bad input in one line on standard error; the exit code for it."""
    say(f"Error: {' '.join(message.split())}")
    return BAD_INPUT


def print_json(content: Mapping[str, Any]) -> None:
    """Write one strictly valid JSON object to standard output."""
    typer.echo(json.dumps(strict(content), indent=2, allow_nan=False))


def strict(value: Any) -> Any:
    """A value as JSON can hold it: null for a number that is not finite."""
    if isinstance(value, Mapping):
        return {str(key): strict(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [strict(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else float(value)
    return value


def formulation_key(name: str) -> str:
    """The registry's name of a formulation as it was typed.

    Raises
    ------
    FormulationError
        Where there is none; the message names the nearest.
    """
    key = name.replace("-", "_")
    if name in FORMULATIONS:
        return FORMULATIONS.name_of(name)
    close = get_close_matches(key, FORMULATIONS, n=1)
    hint = f"did you mean {spelt(close[0])}? " if close else ""
    known = ", ".join(map(spelt, FORMULATIONS))
    raise FormulationError(f"there is no formulation {name!r}; {hint}there are {known}")


def settable(formulation: str) -> tuple[str, ...]:
    """Arguments of a builder that describe the card rather than the data."""
    names = inspect.signature(FORMULATIONS[formulation]).parameters
    return tuple(name for name in names if name not in ("X", "y", *_OPTION_OF))


def builder_arguments(
    formulation: str, settings: Sequence[str] | None, **options: int | None
) -> dict[str, Any]:
    """Arguments for a builder from ``--set`` and from the options that were given.

    Parameters
    ----------
    formulation : str
        A name of the registry.
    settings : sequence of str, optional
        Texts ``key=value``.
    **options : int or None
        Options with a name of their own; None where not given.

    Raises
    ------
    FormulationError, OptionError
        For an argument the formulation does not take, one given twice, or text without ``=``.
    """
    known = settable(formulation)
    arguments = {name: value for name, value in options.items() if value is not None}
    for name in arguments:
        if name not in known:
            raise FormulationError(
                f"{spelt(formulation)} takes no --{spelt(name)}; it takes {', '.join(known)}"
            )
    for text in settings or ():
        key, value = parse_setting(text)
        require_known(key, known, f"{spelt(formulation)} has no argument")
        if key in arguments:
            raise OptionError(f"{key} is given twice: keep one of the two")
        arguments[key] = value
    return arguments


def require_known(key: str, known: Sequence[str], refusal: str) -> None:
    """Refuse an argument that is not known, naming the nearest.

    Raises
    ------
    FormulationError, OptionError
        The latter where an option of the command line is the place for it.
    """
    if key in _OPTION_OF:
        raise OptionError(f"--set {key}: use {_OPTION_OF[key]} instead")
    if key not in known:
        close = get_close_matches(key, known, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise FormulationError(f"{refusal} {key!r}; {hint}known are {', '.join(known)}")


def constraints_of(path: Path | None) -> dict[str, Any]:
    """The builder's argument for a file of constraints; empty without one."""
    if path is None:
        return {}
    from milpscore.constraints import read_constraints

    return {"constraints": read_constraints(path)}


def parse_setting(text: str) -> tuple[str, Any]:
    """Key and value of one ``--set``; a value that is no JSON is the text itself."""
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals or not key:
        raise OptionError(f"--set {text!r}: write key=value, for example --set margin=2")
    try:
        return key, json.loads(value, parse_constant=_refuse)
    except ValueError:
        return key, value.strip()


def _refuse(constant: str) -> Any:
    """NaN and Infinity are no JSON, though Python reads them."""
    raise ValueError(constant)


@dataclass(frozen=True)
class Table:
    """A table as it was read, and how it is to be binned.

    Attributes
    ----------
    X : DataFrame of shape (n, q)
    y : Series of shape (n,)
    binner : Binner or None
        Unfitted; None where columns are used as they are.
    given : mapping
        ``sample_weight``, ``class_weight`` and ``positive``, as ``make_design`` takes them.
    """

    X: Any
    y: Any
    binner: Any
    given: dict[str, Any]

    def design(self) -> Design:
        """The design of the whole table."""
        from milpscore.data import make_design

        if self.binner is None:
            return make_design(self.X, self.y, **self.given)
        found: Design = self.binner.fit_design(self.X, self.y, **self.given)
        return found


def read_data(
    data: Path,
    target: str,
    *,
    positive: str | None,
    bins: int | None,
    thresholds: Path | None,
    encoding: Encoding | None,
    missing: Missing,
    weights_column: str | None,
    class_weight: ClassWeight | None,
) -> Table:
    """Read what a command works on.

    Columns are used as they are unless ``bins`` or ``thresholds`` asks for binarisation.

    Raises
    ------
    DataError, OptionError
        The data or the thresholds cannot be used, or an encoding is given without bins.
    """
    from milpscore.data import Binner, read_table, read_thresholds

    if encoding is not None and bins is None and thresholds is None:
        raise OptionError(
            "--encoding says how bins become columns: add --bins N or --thresholds FILE"
        )
    cuts = None if thresholds is None else read_thresholds(thresholds)
    X, y, *rest = read_table(
        data, target, positive=positive, missing=missing.value, weights=weights_column
    )
    binner = None
    if bins is not None or cuts is not None or missing is Missing.bin:
        binner = Binner(
            bins,
            thresholds=cuts,
            encoding=(encoding or Encoding.onehot).value,
            missing=missing.value,
        )
    weight = None if class_weight is None else class_weight.value
    given = {
        "sample_weight": rest[0] if rest else None,
        "class_weight": weight,
        "positive": positive,
    }
    return Table(X, y, binner, given)


def require_bins(formulation: str, design: Design, encoding: Encoding | None) -> None:
    """Say in the command line's own words what fused lasso needs.

    Raises
    ------
    FormulationError
        Where the formulation works on bins and the design has none.
    """
    if formulation != "fused_lasso" or design.blocks:
        return
    if encoding is Encoding.cumulative:
        raise FormulationError("fused-lasso needs one-hot bins: drop --encoding cumulative")
    raise FormulationError("fused-lasso needs bins: add --bins N or --thresholds FILE")


def tell_warnings(design: Design, quiet: bool) -> None:
    """Say on standard error what is odd about the data but legal."""
    if not quiet:
        for warning in design.warnings:
            say(f"Warning: {warning}")


def require_folder(path: Path | None) -> None:
    """Refuse a place that cannot be written before an hour of solving, not after it.

    Raises
    ------
    DataError
        Where the folder does not exist, or ``path`` is one.
    """
    if path is None:
        return
    if path.is_dir():
        raise DataError(f"{str(path)!r} is a folder: name a file in it")
    if not path.parent.is_dir():
        raise DataError(f"there is no folder {str(path.parent)!r}: make it first")


@contextmanager
def noting_interrupts() -> Iterator[threading.Event]:
    """Yield an event that is set by Ctrl-C, also where the solve ends by itself at that moment."""
    seen = threading.Event()
    previous = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> None:
        seen.set()
        raise KeyboardInterrupt

    # A job started in the background ignores Ctrl-C, and goes on doing so.
    if previous is signal.SIG_IGN or threading.current_thread() is not threading.main_thread():
        yield seen
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, previous)
