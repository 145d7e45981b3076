"""What several commands do: tell errors, note Ctrl-C, count solves, print JSON and tables."""

from __future__ import annotations

import csv
import json
import math
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias

import typer

from milpscore.core.errors import DataError, Message, OptionError, near_matches, require_ending
from milpscore.core.writing import as_json, printable, replacing
from milpscore.formulations import FORMULATIONS

if TYPE_CHECKING:
    from pandas import DataFrame
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from milpscore.certificate import Certificate
    from milpscore.core.design import Design
    from milpscore.core.program import Program
    from milpscore.core.result import Result

NO_CARD, BAD_INPUT, INTERRUPTED = 1, 2, 130


def spelt(name: str) -> str:
    """A registered name as it is typed on the command line."""
    return name.replace("_", "-")


def say(text: str, quiet: bool = False) -> None:
    """Write one line to standard error, with control characters escaped; nothing where quiet."""
    if not quiet:
        typer.echo(printable(text), err=True)


def print_text(text: str) -> None:
    """Write lines to standard output, with all control characters but line ends escaped."""
    typer.echo(printable(text, "\n"))


def complain(message: str) -> int:
    """Report bad input in one line on standard error; the exit code for it."""
    say(f"Error: {' '.join(message.split())}")
    return BAD_INPUT


def names_of(text: str | None) -> list[str]:
    """Names that were given with commas between them; quotes hold a comma inside a name."""
    if text is None:
        return []
    try:
        names = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error as error:
        raise OptionError(
            f"{text!r} is not a list of names with commas between them ({error}): put a name that "
            'holds a line break in quotes, "..."'
        ) from error
    return [name.strip() for name in names if name.strip()]


def speller(options: Iterable[Any]) -> Callable[[str, Any], str]:
    """Return how messages of the library spell an argument in a command of these options."""
    known = {getattr(option, "name", option) for option in options}
    otherwise = {
        "random_state": "seed",
        "sample_weight": "weights_column",
        "n_draws": "draws",
        "rows": "sample",
    }
    words = {
        "None": "null",
        "True": "true",
        "False": "false",
        "X": "the table",
        "y": "the target",
        "Binner": "--bins N / --thresholds FILE",
    }

    def spell(name: str, value: Any) -> str:
        from milpscore.cli.groups import settable

        if name in words:
            return words[name]
        own = otherwise.get(name, name)
        if name == "encoding" and value not in (..., "onehot", "cumulative"):
            own = "csv_encoding"
        if name == "n_samples":
            return f"{value} rows"
        several = isinstance(value, list)
        shown = ",".join(map(str, value)) if several else str(value)
        text = "" if value is ... else words.get(shown, shown)
        if own in known and value is not None:
            return f"--{spelt(own)} {text}".rstrip()
        if text and any(name in settable(formulation) for formulation in FORMULATIONS):
            return f"--set {name}={text}"
        return f"{name}={text}" if text else name

    return spell


def print_json(content: Mapping[str, Any]) -> None:
    """Write one strictly valid JSON object in ASCII to standard output."""
    text = json.dumps(as_json(content), indent=2, allow_nan=False)
    typer.echo(text.replace("\x7f", "\\u007f"))  # the one control character that JSON leaves


def tell_warnings(design: Design, quiet: bool) -> None:
    """Say on standard error which label is scored, and what is odd about the data but legal."""
    if not quiet:
        if hasattr(design, "time"):
            counted = design.rows * (design.weight > 0)
            say(f"Events: {int(counted[design.y > 0].sum())} in {int(counted.sum())} rows.")
        elif len(design.classes) == 2 and not hasattr(design, "levels"):
            say(scored_label(design))
        for warning in design.warnings:
            spell = speller(("features", "na"))
            text = warning.for_command(spell) if isinstance(warning, Message) else warning
            say(f"Warning: {text}")


def scored_label(design: Design) -> str:
    """Which of two labels is scored, in how many of the rows."""
    counted = design.weight > 0
    rows, (other, label) = design.rows[counted], design.classes[:2]
    hits = int(rows[design.y[counted] > 0].sum())
    instead = "" if str(other) == f"not {label}" else f"; --positive {other} for the other"
    return f"Scored: {label!r} ({hits:,} of {int(rows.sum()):,} rows){instead}"


def require_file(path: Path) -> None:
    """Refuse a file that is not there before anything heavy is imported; OSError says why."""
    with path.open("rb"):
        pass


_LONGEST = 1_000_000  # characters of a header

_NO_HEADER = frozenset({".parquet", ".pq", ".xlsx", ".xlsm"})

_PACKED = {".bz2", ".gz", ".tar", ".xz", ".zip", ".zst"}


def require_columns(path: Path, *names: str | None, encoding: str = "utf-8") -> None:
    """Refuse a table that is not there, or lacks a column by its header, before heavy imports."""
    if path.suffix.lower() in _NO_HEADER or path.is_dir() or any(c in str(path) for c in "*?["):
        return  # Parquet: who reads it says what is not there
    try:
        require_file(path)
    except OSError as error:
        raise DataError(f"cannot read {str(path)!r}: {error.strerror}. Check the path.") from error
    if path.suffix in _PACKED:
        return
    if path.suffix.lower() == ".json":
        raise DataError(
            f"{path.name} is JSON, where a table is needed: name a file of CSV, Excel or Parquet"
        )
    try:
        with path.open(encoding=encoding.replace("utf-8", "utf-8-sig"), newline="") as lines:
            first = next(filter(str.strip, iter(lambda: lines.readline(_LONGEST), "")), "")
        header = next(csv.reader([first], delimiter=max(",;\t", key=first.count)), [])
    except (UnicodeDecodeError, LookupError, csv.Error):
        return  # who reads the whole file says where
    if len(first) == _LONGEST:
        return
    known = [name.strip() for name in header]
    made = re.compile(r"#\d+|.*\.\d+")  # by its place, or numbered: who reads it knows
    for name in filter(None, names):
        if made.fullmatch(name):
            continue
        if known and name.strip() not in known:
            raise DataError(f"there is no column {name.strip()!r}; {near_matches(name, known)}")


def require_outputs(given: Mapping[str, Any], written: Mapping[str, str]) -> None:
    """Refuse, before an hour of solving, files that cannot be written or would destroy another.

    ``given`` are all values of a command, ``written`` the names of its outputs, each with the name
    of the input that it may replace.
    """
    lists = {name: [each] if isinstance(each, Path) else each for name, each in given.items()}
    named = {
        name: [file for path in paths if isinstance(path, Path) for file in _files_of(path)]
        for name, paths in lists.items()
        if isinstance(paths, Iterable)
    }
    for name, replaced in written.items():
        for path in named.get(name, ()):
            if path.is_dir():
                raise DataError(f"{str(path)!r} is a folder: name a file in it")
            if not path.parent.is_dir():
                raise DataError(f"there is no folder {str(path.parent)!r}: make it first")
            for other in [each for each in named if each not in (name, replaced)]:
                if any(_is_same(path, each) for each in named[other]):
                    use = f"also --{spelt(other)}" if other in written else "read by this command"
                    raise OptionError(
                        f"--{spelt(name)} would overwrite {str(path)!r}, which is {use}: name "
                        "another file"
                    )


def _files_of(path: Path) -> Iterable[Path]:
    """The files of a name, of a folder, or of a pattern."""
    if not path.is_dir() and not any(sign in str(path) for sign in "*?["):
        return [path]
    from milpscore.data.sources import parquet_files

    try:
        return [path, *parquet_files(path)]
    except DataError:
        return [path]  # who reads it says what is not there


def _is_same(path: Path, other: Path) -> bool:
    """Whether two names lead to one file; devices and pipes take what several write."""
    if path.exists() and other.exists():
        return path.is_file() and path.samefile(other)
    return path.resolve() == other.resolve()


@contextmanager
def lasting(given: Mapping[str, Any], written: Container[str]) -> Iterator[dict[str, Path]]:
    """Yield files in place of the inputs that can be read only once, as pipes can."""
    pipes = {
        name: path
        for name, path in given.items()
        if isinstance(path, Path) and name not in written
        if path.is_fifo() or path.is_char_device() or path.is_socket()
    }
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="milpscore-")) if pipes else ""
        files = {name: Path(folder, f"{name} {path.name}") for name, path in pipes.items()}
        for name, path in pipes.items():
            with path.open("rb") as stream, files[name].open("wb") as file:
                shutil.copyfileobj(stream, file)
        yield files


def require_drawable(plot: Path | None) -> None:
    """Refuse a figure that could not be saved before the solving; no screen is needed."""
    if plot is None:
        return
    import matplotlib
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.get_supported_filetypes()
    require_ending(plot.name, [f".{kind}" for kind in sorted(known)])
    matplotlib.use("Agg")


def save_certificate(
    path: Path, program: Program, result: Result, source: dict[str, Any], progress: bool | None
) -> bool:
    """Save the card with the evidence for its bound; return whether there is any."""
    from milpscore.certificate import certify

    began = time.perf_counter()
    made = certify(program, result, source=source, progress=progress)
    made.to_json(path)
    say_evidence(path, made, time.perf_counter() - began, progress is False)
    return made.bound_source == "evidence"


def say_evidence(path: Path, made: Certificate, took: float, quiet: bool) -> None:
    """Say that a certificate was saved, with what evidence, and what verifying it will cost."""
    from milpscore.certificate import PROOF_SECONDS
    from milpscore_check.proof import CELLS

    evidence, data = made.evidence, made.data
    if evidence["kind"] == "none":
        reason = evidence.get("reason", "")
        cost = f"none ({reason}): 'milpscore verify' solves again, for at most {PROOF_SECONDS:g} s"
    else:
        leaves = max(sum(not isinstance(entry, list) for entry in evidence["tree"]), 1)
        # the engine lists choices of columns, the checker counts each again in plain Python
        counts = took >= 1.0 and CELLS in evidence["tree"]
        alone = len(data.get("levels") or ()) > 2 or data.get("pairs")  # the checker reads rows
        readers = f"'milpscore verify'{'' if alone else ' and milpscore-check'}"
        often = "ten times as long and more" if counts else "about as long at most"
        can = "can take" if counts else "takes" if alone else "take"
        cost = f"leaves ({leaves:,}), found in {took:.2g} s: {readers} {can} {often}"
        cost += "; milpscore-check does not read it" if alone else ""
    say(f"The certificate was saved in {path}; evidence: {cost}.", quiet)


def save_figure(figure: Any, plot: Path, quiet: bool = False) -> None:
    """Save a figure that was drawn after :func:`require_drawable`, and say so."""
    with replacing(plot) as part:
        figure.savefig(part, dpi=150)
    say(f"The figure was saved in {plot}.", quiet)


@contextmanager
def noting_interrupts() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C sets.

    Inside, Ctrl-C raises KeyboardInterrupt as well. Afterwards, while the command saves and prints
    what it has, a first one only sets the event: the handler stays to the end of the command.
    """
    seen = threading.Event()
    saving = False
    previous = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> None:
        late = saving and not seen.is_set()
        seen.set()
        if not late:
            raise KeyboardInterrupt

    # A job started in the background ignores Ctrl-C, and goes on doing so.
    if previous is signal.SIG_IGN or threading.current_thread() is not threading.main_thread():
        yield seen
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield seen
        saving = True
    finally:
        if not saving:
            signal.signal(signal.SIGINT, previous)


Tell: TypeAlias = Callable[[int, int, int], None]
"""Called with how many are done, have failed, and there are in all."""

_LINE_SECONDS = 5.0
"""Between two lines where standard error is not a terminal."""


@contextmanager
def counting(title: str, what: str, quiet: bool) -> Iterator[Tell | None]:
    """A progress bar in a terminal, a line now and then elsewhere, nothing where quiet."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _bar(title, what) as tell:
            yield tell
    else:
        yield _lines(title, what)


def _counts(done: int, failed: int, total: int, what: str) -> str:
    return f"{done} of {total} {what}{f', {failed} failed' if failed else ''}"


def _lines(title: str, what: str) -> Tell:
    """The first count, the last, and those in between that are some seconds apart."""
    spoken = -_LINE_SECONDS

    def tell(done: int, failed: int, total: int) -> None:
        nonlocal spoken
        now = time.monotonic()
        if done + failed == total or now - spoken >= _LINE_SECONDS:
            spoken = now
            say(f"{title}: {_counts(done, failed, total, what)}")

    return tell


@contextmanager
def _bar(title: str, what: str) -> Iterator[Tell]:
    """A bar with counts and the time left."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    words = TextColumn("{task.description}", markup=False)
    counts = TextColumn("{task.fields[counts]}")
    columns = (words, BarColumn(), counts, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task(printable(title), total=None, counts="")

        def tell(done: int, failed: int, total: int) -> None:
            said = _counts(done, failed, total, what)
            progress.update(bar, total=total, completed=done + failed, counts=said)

        yield tell


# ---------------------------------------------------------------- one printer for every table

WIDTH = 96
"""Columns used where standard output is not a terminal."""


@dataclass(frozen=True)
class PrintedColumn:
    """A printed column: its head, and how a row's value becomes text."""

    head: str
    form: str = "{}"
    words: bool = False  # words stand at the left, and may be folded

    def cell(self, value: Any) -> str:
        """Return the value in one line with control characters escaped, or a dash if missing."""
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            return "-"
        try:
            text = self.form.format(value)
        except (TypeError, ValueError):  # a missing value of pandas
            return "-"
        number = not isinstance(value, str) and not any(digit in text for digit in "123456789")
        return printable(text.removeprefix("-") if number else text)


def output() -> Console:
    """Return standard output, at most :data:`WIDTH` columns wide, which prints text as it is.

    Markup and names of emoji are not interpreted, and control characters but line ends are escaped.
    """
    from rich.console import Console

    class Plain(Console):
        def render_str(self, text: str, **style: Any) -> Text:
            return super().render_str(printable(text, "\n"), **style)

    console = Plain(highlight=False, soft_wrap=False, markup=False, emoji=False)
    console.width = min(console.width, WIDTH) if console.is_terminal else WIDTH
    return console


def table(
    rows: Iterable[Mapping[Any, Any]],
    columns: Mapping[str, PrintedColumn],
    *,
    title: str | None = None,
    green: Callable[[Mapping[Any, Any]], bool] = lambda row: False,
    section: str | None = None,
    gap: int = 1,
) -> Table:
    """Rows under their heads; with ``section`` a line of its own opens each of its values."""
    from rich import box
    from rich.table import Table

    made = Table(
        box=box.SIMPLE_HEAD, padding=(0, gap, 0, 0), pad_edge=False, show_edge=False,
        title=title and printable(title), title_justify="left",
    )  # fmt: skip
    for column in columns.values():
        side = "left" if column.words else "right"
        head = printable(column.head)
        made.add_column(head, justify=side, no_wrap=not column.words)  # type: ignore[arg-type]
    opened = None
    for row in rows:
        if section is not None and row[section] != opened:
            if opened is not None:
                made.add_section()
            opened = row[section]
            made.add_row(spelt(opened), style="bold")
        cells = [column.cell(row[name]) for name, column in columns.items()]
        made.add_row(*cells, style="green" if green(row) else "")
    return made


def plain_table(frame: DataFrame) -> Table:
    """Every column of a frame: names at the left, numbers to four digits at the right."""
    columns = {}
    for name in frame.columns:
        kind = frame[name].dtype.kind
        form = "{:.4g}" if kind == "f" else "{}"
        columns[name] = PrintedColumn(str(name).replace("_", " "), form, words=kind not in "fiu")
    return table(frame.to_dict("records"), columns)
