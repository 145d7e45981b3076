"""Options in groups: what several commands share stands once, as the fields of dataclasses."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeAlias,
    cast,
    get_type_hints,
)

import typer

from milpscore.cli.common import lasting, names_of, require_columns, require_outputs, spelt
from milpscore.core.errors import DataError, OptionError, SizeError
from milpscore.formulations import FORMULATIONS, SURVIVAL_FORMULATIONS, card_builder, card_name
from milpscore.solvers.options import Options, require_solver

if TYPE_CHECKING:
    from milpscore.core.design import Design

DATA = "Data"
CARD = "Card"
SOLVE = "Solve"
OUTPUT = "Output"

# on the command line these arguments of builders are options of their own
_OPTION_OF = {
    "class_weight": "--class-weight",
    "constraints": "--constraints",
    "positive": "--positive",
    "sample_weight": "--weights-column",
}


class Asked(NamedTuple):
    """A parameter of a command: its default (``...``: there is none), and Typer's own."""

    default: Any
    info: Any
    over: str | None = None  # of a file to write: the input it may replace, or an empty text


def option(panel: str | None, help: str, *names: str, default: Any = None, **more: Any) -> Any:
    """An option under the heading of its panel."""
    return Asked(default, typer.Option(*names, help=help, rich_help_panel=panel, **more))


def seconds(help: str, default: float = Options.time_limit) -> Any:
    """A limit of time."""
    return option(SOLVE, help, metavar="SECONDS", min=0, default=default)


def file(help: str, panel: str = OUTPUT) -> Any:
    """A file, or none."""
    return option(panel, help, metavar="FILE")


def output_file(
    help: str, *names: str, panel: str | None = OUTPUT, over: str = "", **more: Any
) -> Any:
    """A file to write: no input of the command but ``over``, and no other output of it."""
    return option(panel, help, *names, **{"metavar": "FILE", **more})._replace(over=over)


def argument(metavar: str, help: str, default: Any = ..., over: str | None = None) -> Any:
    """A positional argument."""
    return Asked(default, typer.Argument(metavar=metavar, help=help, show_default=False), over)


def featured(example: str, *names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an example, and put the options that matter first in its help."""

    def mark(command: Callable[..., None]) -> Callable[..., None]:
        vars(command)["featured"] = example, names
        return command

    return mark


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with its dataclass parameters spelt out as options, one per field.

    Typer reads the signature made here; the command itself gets the dataclasses.
    """
    hints = get_type_hints(command)
    example, first = vars(command).get("featured", ("", ()))
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    signature: list[inspect.Parameter] = []
    written: dict[str, str] = {}
    for name, own in inspect.signature(command).parameters.items():
        types = get_type_hints(groups[name]) if name in groups else hints
        asked = fields(groups[name]) if name in groups else (own,)
        for each in asked:
            default, kind = each.default, types[each.name]
            if isinstance(default, Asked):
                if default.over is not None:
                    written[each.name] = default.over
                default, info = default.default, copy(default.info)
                if default is False and not info.param_decls:
                    info.param_decls = (f"--{spelt(each.name)}",)  # and no --no-...
                if each.name in first:
                    info.rich_help_panel = "Most used"
                kind = Annotated[kind, info]
            signature.append(
                inspect.Parameter(
                    each.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=inspect.Parameter.empty if default is ... else default,
                    annotation=kind,
                )
            )

    def called(**given: Any) -> None:
        require_outputs({**given, "sites": map(Path, names_of(given.get("sites")))}, written)
        with lasting(given, written) as files:
            given.update(files)
            made = {
                name: kind(**{field.name: given.pop(field.name) for field in fields(kind)})
                for name, kind in groups.items()
            }
            command(**made, **given)

    signature.sort(key=lambda own: first.index(own.name) if own.name in first else len(first))
    summary, _, more = inspect.cleandoc(command.__doc__ or "").partition("\n\n")
    shown = f"Example: {example}" if example else ""
    called.__doc__ = "\n\n".join(filter(None, [summary, shown, more]))
    called.__name__ = command.__name__
    called.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in signature}
    return called


# ---------------------------------------------------------------- the table

DATA_FILE = argument(
    "DATA",
    "CSV file with a header line (commas, semicolons or tabs; UTF-8), Excel, or Parquet: a file, a "
    "folder or a pattern such as 'year/*.parquet'. Any size: large tables are read in passes.",
)
WEIGHTS_COLUMN = option(
    DATA, "Column with the weights of the rows; it is then no feature.", metavar="COL"
)
ClassWeight: TypeAlias = Literal["balanced"]
CLASS_WEIGHT = option(DATA, "Let both classes weigh the same in total.")

Cost: TypeAlias = Literal["absolute", "squared", "zero_one"]
Sign: TypeAlias = Literal[".", ","]
DECIMAL = option(DATA, "What stands before the decimals of the file; a point unless given.")
CSV_ENCODING = option(
    DATA, "Encoding of the file, say cp1252 or latin-1; UTF-8 unless given.", metavar="NAME"
)

NA = option(
    DATA,
    "What stands for a missing value, besides empty cells, say -999,9999,n/k.",
    metavar="A,B,C",
)
SHEET = option(DATA, "Of a workbook of Excel; the first unless given.", metavar="NAME")
READING_MEMORY = option(
    DATA,
    "What reading a table too large for memory may take of it, say 8GB; 2GB unless given.",
    metavar="BYTES",
)


@dataclass(frozen=True)
class FileOptions:
    """How a CSV file is written, and what reading it may take."""

    decimal: Sign | None = DECIMAL
    csv_encoding: str | None = CSV_ENCODING
    reading_memory: str | None = READING_MEMORY
    na: str | None = NA
    sheet: str | None = SHEET

    def __post_init__(self) -> None:
        if self.reading_memory is not None:
            from milpscore.data.sources import bytes_of

            bytes_of(self.reading_memory)

    @property
    def reading(self) -> dict[str, Any]:
        """What was said of it, as read_frame takes it."""
        said: dict[str, Any] = {
            "decimal": self.decimal, "encoding": self.csv_encoding, "sheet": self.sheet,
            "na": tuple(names_of(self.na)) or None,
        }  # fmt: skip
        return {name: value for name, value in said.items() if value is not None}


@dataclass(frozen=True)
class ColumnOptions:
    """The labels of a table and their weights, and how its columns are cut."""

    target: str = option(
        DATA, "Column with the two labels.", metavar="COL", show_default=False, default=...
    )
    positive: str | None = option(
        DATA, "Label to score; by default 1, True or yes, or the rarer of the two.", metavar="VALUE"
    )
    bins: int | None = option(
        DATA,
        "Cut numeric columns into about N bins at quantiles, between all values where there are "
        "ten or fewer, at numbers of few digits.",
        metavar="N",
        min=2,
    )
    thresholds: Path | None = option(
        DATA,
        'Cut points by column: JSON {"Age": \\[30, 45]}, or CSV with the header '
        "feature,threshold. Other columns are treated as without it.",
        metavar="FILE",
    )
    encoding: Literal["onehot", "cumulative"] | None = option(
        DATA, "A column 'Age >= 40' for each cut (cumulative), or one for each bin (onehot)."
    )
    missing: Literal["error", "bin"] | None = option(
        DATA, "Refuse missing values, or give them a column of their own; the latter but for --raw."
    )
    weights_column: str | None = WEIGHTS_COLUMN
    class_weight: ClassWeight | None = CLASS_WEIGHT


@dataclass(frozen=True)
class TableOptions(ColumnOptions, FileOptions):
    """The table and its labels; columns as they are unless cuts are asked for."""

    data: Path = DATA_FILE
    drop: str | None = option(
        DATA,
        "Columns that are no features, say what is known too late; #8 is the eighth.",
        metavar="A,B,C",
    )
    features: str | None = option(
        DATA, "The features, in place of all other columns.", metavar="A,B,C"
    )
    id: str | None = option(DATA, "Names of rows, or of patients; not a feature.", metavar="COL")
    thousands: Literal[".", ",", "'", " "] | None = option(
        DATA, "What stands between thousands, where the numbers do not show it."
    )
    as_spelled: bool = option(
        DATA, "Keep categories apart that differ in blanks or capitals alone.", default=False
    )
    sites: str | None = option(
        DATA, "If DATA are counts ('milpscore counts'): those of further sites.", metavar="A,B,C"
    )

    @property
    def reading(self) -> dict[str, Any]:
        """What was said of the file, as read_frame takes it."""
        said = {"thousands": self.thousands, "as_spelled": self.as_spelled or None}
        return {**super().reading, **{k: v for k, v in said.items() if v is not None}}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.counted:
            named = [*names_of(self.drop), *names_of(self.features)]
            used = self.target, self.weights_column, self.id, *named
            require_columns(self.data, *used, encoding=self.csv_encoding or "utf-8")

    @property
    def counted(self) -> bool:
        """Whether the table is given as counts of its patterns."""
        return self.sites is not None or self.data.suffix == ".json"

    def read(
        self, rows: bool = False, ordered: bool = False, **default: Any
    ) -> tuple[Any, Any, Any, dict[str, Any]]:
        """X of shape (n, q), y, how it is cut or None, and what make_design takes beside.

        Of a large table the design of its distinct rows, and nothing beside; of one that fits into
        memory its ``rows`` where these are needed.
        """
        from milpscore.data import encode_labels, read_table, read_thresholds
        from milpscore.data.sources import at_size

        if self.counted:
            from milpscore.cli.sites import pooled_sites

            return pooled_sites(self), None, None, {}
        cuts = None if self.thresholds is None else read_thresholds(self.thresholds)
        cutting = self.cutting(cuts, **default)
        if at_size(self.data, rows=rows):
            return self._patterns(cutting), None, None, {}
        X, y, *rest = read_table(
            self.data,
            self.target,
            positive=self.positive,
            ordered=ordered,
            missing="error" if cutting is None else cutting.missing,
            weights=self.weights_column,
            drop=self.left_out,
            features=names_of(self.features) or None,
            **self.reading,
        )
        given = {
            "sample_weight": rest[0] if rest else None,
            "class_weight": self.class_weight,
            "positive": self.positive if ordered else encode_labels(y, self.positive)[1][1],
        }
        return X, y, cutting, given

    def cutting(self, cuts: dict[str, list[float]] | None, **default: Any) -> Any:
        """How the table is cut, or None where no column is."""
        from milpscore.data.cut_points import Cutting

        if self.bins is None and cuts is None:
            if self.encoding is not None:
                raise OptionError(
                    "--encoding says how bins become columns: add --bins N or --thresholds FILE"
                )
            if self._missing == "error":
                return None
        return Cutting(
            n_bins=self.bins,
            thresholds=cuts,
            encoding=self.encoding or "onehot",
            missing=self._missing,
            useless="keep",
            unseen="error",
        )

    @property
    def _missing(self) -> Literal["error", "bin"]:
        """What becomes of missing values where columns are not cut as ``fit`` cuts them."""
        return self.missing or "bin"

    def table(
        self, formulation: str = "", rows: bool = False, **more: Any
    ) -> tuple[Any, Any, Any, dict[str, Any]]:
        """The table as `read` gives it, its bins as a formulation reads them."""
        from milpscore.formulations.building import encoding_for

        default = encoding_for(card_builder(formulation)) if formulation else {}
        return self.read(rows, formulation == ORDERED, **default, **more)

    def design(self, formulation: str = "", table: Any = None, rows: bool = False) -> Design:
        """The design of the whole table, read already or not."""
        from milpscore.data import make_design

        X, y, cutting, given = self.table(formulation, rows) if table is None else table
        if y is None:
            return cast("Design", X)
        try:
            found: Design = (make_design if cutting is None else cutting.design)(X, y, **given)
        except SizeError:  # too many rows, but perhaps not too many distinct ones
            found = self._patterns(cutting)
        return found

    def _patterns(self, cutting: Any) -> Design:
        """The design of the table's distinct rows."""
        from milpscore.data import read_patterns

        return read_patterns(
            self.data, self.target, weights=self.weights_column, class_weight=self.class_weight,
            **self.streamed(cutting),
        )  # fmt: skip

    def sampled(self, formulation: str, rows: int, **fitting: Any) -> Any:
        """Return a card for a table of too many patterns, by a sample of ``rows`` rows."""
        from milpscore.formulations.building import encoding_for
        from milpscore.sampling import fit_sample

        if self.class_weight is not None:
            raise OptionError("--sample draws rows that weigh the same: leave out --class-weight")
        reading = self._drawn("--sample", **encoding_for(FORMULATIONS[formulation]))
        return fit_sample(
            self.data, self.target, formulation, rows=rows, reading=reading, **fitting
        )

    def all_rows(self, formulation: str, **fitting: Any) -> tuple[Any, Any]:
        """Return program and result for all rows of a table of too many patterns."""
        from milpscore.formulations.building import encoding_for
        from milpscore.sampling import fit_all_rows

        reading = self._drawn("--weights-column", **encoding_for(FORMULATIONS[formulation]))
        return fit_all_rows(
            self.data, self.target, formulation, class_weight=self.class_weight, reading=reading,
            **fitting,
        )  # fmt: skip

    def stored(self) -> Any:
        """The rows of a table of too many patterns, in a temporary file."""
        from milpscore.data import stored_rows

        given = self._drawn("a path out of core")
        return stored_rows(self.data, self.target, class_weight=self.class_weight, **given)

    def _drawn(self, what: str, **default: Any) -> dict[str, Any]:
        """How rows that are not merged are read."""
        from milpscore.data import read_thresholds

        if self.weights_column is not None:
            raise OptionError(f"{what} takes rows that weigh the same: leave out --weights-column")
        cuts = None if self.thresholds is None else read_thresholds(self.thresholds)
        return self.streamed(self.cutting(cuts, **default))

    def streamed(self, cutting: Any) -> dict[str, Any]:
        """How a table is read in passes."""
        return {
            "positive": self.positive, "drop": self.left_out,
            "features": names_of(self.features) or None, "memory_limit": self.reading_memory,
            "binner": cutting, **self.reading,
        }  # fmt: skip

    @staticmethod
    def names(table: Any) -> list[str]:
        """The names of the features of a table that was read."""
        if table[1] is None:
            return list(dict.fromkeys(column.feature for column in table[0].columns))
        return list(map(str, table[0].columns))

    @property
    def left_out(self) -> list[str]:
        """Columns that are no features."""
        return [*names_of(self.drop), *filter(None, [self.id])]

    @property
    def source(self) -> dict[str, Any]:
        """How the table was read, for a certificate."""
        kept = ("decimal", "encoding", "sheet", "as_spelled")
        written = {k: v for k, v in self.reading.items() if k in kept}
        further = {
            "positive": self.positive,
            "drop": self.left_out,
            "features": names_of(self.features),
            **written,
        }
        return {
            **{name: value for name, value in further.items() if value},
            "target": self.target,
            "weights_column": self.weights_column,
            "class_weight": self.class_weight,
            "missing": "error" if self.missing == "error" else "bin",
        }


@dataclass(frozen=True)
class DataOptions(TableOptions):
    """The table, its labels, and how its columns become those of a card."""

    target: str = option(
        DATA, "Column with the two labels; with --time, whether the event was seen.",
        "--target", "--event", metavar="COL", show_default=False, default=...,
    )  # fmt: skip
    time: str | None = option(
        DATA,
        "Column with the time of the event, or until which none was seen: the card is a survival "
        "score, and --event names the column that says which.",
        metavar="COL",
    )
    entry: str | None = option(
        DATA, "With --time: column with the time a row came under observation.", metavar="COL"
    )
    raw: bool = option(
        DATA,
        "Columns as they are: numbers by the unit, a column for each category, nothing left out. "
        "Otherwise numbers are cut into 10 bins, 5 or 3 of few rows, and "
        "identifiers, dates and repetitions left out.",
        default=False,
    )

    @property
    def left_out(self) -> list[str]:
        """Columns that are no features, those with times among them."""
        return [*super().left_out, *filter(None, [self.time, self.entry])]

    @property
    def source(self) -> dict[str, Any]:
        """How the table was read, for a certificate."""
        times = {"time": self.time, "entry": self.entry}
        return {**super().source, **{name: own for name, own in times.items() if own is not None}}

    def read(
        self, rows: bool = False, ordered: bool = False, *, times: Any = None, **default: Any
    ) -> tuple[Any, Any, Any, dict[str, Any]]:
        """The table; with ``times`` of events y holds these, or is None where they were merged."""
        if self.time is None:
            return super().read(rows, ordered, **default)
        from milpscore.cli.survival import timed_table

        return timed_table(self, partial(super().read, True, True, **default), times, default)

    def design(
        self, formulation: str = "", table: Any = None, rows: bool = False, *, times: Any = None
    ) -> Design:
        """The design of the whole table."""
        if self.time is not None:
            from milpscore.cli.survival import timed_design
            from milpscore.formulations.building import encoding_for

            table = self.table(formulation, times=times) if table is None else table
            return timed_design(self, table, times, encoding_for(card_builder(formulation)))
        return super().design(formulation, table, rows)

    @property
    def _missing(self) -> Literal["error", "bin"]:
        """Refuse missing values in raw columns: none of them says so."""
        return self.missing or "error"

    def cutting(self, cuts: dict[str, list[float]] | None, **default: Any) -> Any:
        """The default way with what was asked for; as without it where columns stay raw."""
        from milpscore.data.cut_points import Cutting

        if self.raw:
            if self.bins is not None:
                raise OptionError("--raw leaves numbers uncut: leave out --bins, or --raw")
            return super().cutting(cuts)
        asked: Any = {"n_bins": self.bins, "encoding": self.encoding, "missing": self.missing}
        asked = {k: v for k, v in asked.items() if v is not None}
        return Cutting(thresholds=cuts, **{**default, **asked})


@dataclass(frozen=True)
class ClassOptions(DataOptions):
    """The same of two classes or of ordered ones."""

    levels: str | None = option(
        DATA,
        "Of an ordinal card: the classes from the lowest to the highest; a must for text.",
        metavar="A,B,C",
    )
    cost: Cost = option(
        DATA,
        "Of an ordinal card: what a row costs whose answer is off, by how many classes, the square "
        "of that, or 1.",
        default="absolute",
    )

    def design(
        self, formulation: str = "", table: Any = None, rows: bool = False, *, times: Any = None
    ) -> Design:
        """The design of the whole table; of ordered classes by their boundaries."""
        if formulation != ORDERED:
            if self.levels is not None or self.cost != "absolute":
                raise OptionError(
                    "--levels and --cost are of ordered classes: add --formulation ordinal"
                )
            return super().design(formulation, table, rows, times=times)
        from milpscore.data import make_design
        from milpscore.data.ordinal import by_boundaries, ordered_codes

        if self.positive is not None:
            raise OptionError("ordered classes have no --positive one: give --levels")
        X, y, cutting, given = self.table(formulation, rows) if table is None else table
        if y is None:
            raise DataError("ordered classes need every row: give a table that fits into memory")
        codes, levels = ordered_codes(y, names_of(self.levels) or None)
        made = make_design if cutting is None else cutting.design
        base = made(X, codes > 0, sample_weight=given["sample_weight"])
        return by_boundaries(base, codes, levels, self.cost, self.class_weight)


# ---------------------------------------------------------------- the card

NAMES = [spelt(name) for name in (*FORMULATIONS, *SURVIVAL_FORMULATIONS)]
ORDERED = "ordinal"
"""The formulation that takes a target of more than two labels."""


@dataclass(frozen=True)
class CardOptions:
    """The formulation, and what its card must be like."""

    formulation: str = option(
        CARD, f"One of {', '.join(NAMES)}.", metavar="NAME", default="risk-score"
    )
    settings: list[str] | None = option(
        CARD,
        "Any other argument of the formulation, its value read as JSON (say l0_penalty=0.01 "
        "or intercept=real); may be repeated. 'milpscore list' shows the keys.",
        "--set",
        metavar="KEY=VALUE",
    )
    constraints: Path | None = file(
        "Operational constraints, TOML or YAML: signs, ranges, how many of a group, order "
        "along bins, limits on errors and totals.",
        CARD,
    )

    def __post_init__(self) -> None:
        card_name(self.formulation)

    @property
    def name(self) -> str:
        """The registry's name of the formulation."""
        return card_name(self.formulation)

    def arguments(self, limits: LimitOptions) -> dict[str, Any]:
        """The builder's arguments from the options and ``--set``."""
        from milpscore.fitting import require_known, with_few_terms

        name, known = spelt(self.name), settable(self.name)
        arguments: dict[str, Any] = dict(limits.given)
        for each in arguments:
            require_known(each, known, f"{name} takes no --{spelt(each)}:")
        for key, value in settings_of(self.settings).items():
            require_known(key, known, f"{name} has no argument")
            if key in arguments:
                raise OptionError("{argument} is given twice: keep one of the two", argument=key)
            arguments[key] = value
        return with_few_terms(self.name, arguments) | constraints_of(self.constraints)


@dataclass(frozen=True)
class LimitOptions:
    """Limits of the points, which most formulations have."""

    coef_min: int | None = option(CARD, "Least points of a column.")
    coef_max: int | None = option(CARD, "Most points of a column.")
    max_terms: int | None = option(
        CARD,
        "Maximal number of columns with points; 5 unless given, --set max_terms=null for no limit.",
        min=0,
    )
    max_cuts: int | None = option(CARD, "Maximal number of cuts per feature.", min=0)
    penalty: str | None = option(
        CARD,
        "What is charged besides terms: tv or binarsity, of risk-score and slim, merge bins of "
        "nearly equal points, so that cuts and points are found together; of risk-score also l1, "
        "l2 or facets.",
        metavar="NAME",
    )
    lam: float | None = option(CARD, "Weight of the penalty.", min=0)

    @property
    def given(self) -> dict[str, Any]:
        """Those that were asked for."""
        return {name: value for name, value in vars(self).items() if value is not None}


def settable(formulation: str) -> tuple[str, ...]:
    """Arguments of a builder that describe the card rather than the data."""
    names = inspect.signature(card_builder(formulation)).parameters
    timed = "time", "event", "entry"
    return tuple(name for name in names if name not in ("X", "y", *timed, *_OPTION_OF))


def settings_of(
    texts: Sequence[str] | None, instead: Mapping[str, str] = _OPTION_OF
) -> dict[str, Any]:
    """What ``--set`` was given; a value that is not JSON is the text itself."""
    if not texts:
        return {}
    from milpscore.core.reading import parsed  # loads NumPy

    found: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals or not key:
            raise OptionError(f"--set {text!r}: write key=value, for example --set margin=2")
        if (name := key.rpartition(".")[2]) in instead:
            raise OptionError(f"--set {key}: use {instead[name]} instead")
        if key in found:
            raise OptionError(f"{key} is given twice: keep one of the two")
        try:
            found[key] = parsed(value)
        except DataError:
            found[key] = _as_number(value)
    return found


def _as_number(text: str) -> float | str:
    """A number that JSON writes otherwise, such as .5, or the text."""
    return float(text) if re.fullmatch(r"[+-]?(\d+\.?|\d*\.\d+)", text.strip()) else text.strip()


def constraints_of(path: Path | None) -> dict[str, Any]:
    """The builder's argument for a file of constraints; empty without one."""
    if path is None:
        return {}
    from milpscore.constraints import read_constraints

    return {"constraints": read_constraints(path)}


SETTINGS = option(
    CARD,
    "An argument of every formulation that has it (l0_penalty=0.01), or of one (hinge.margin=2); "
    "the value is read as JSON; may be repeated.",
    "--set",
    metavar="KEY=VALUE",
)


def numbers_of(name: str, text: str) -> list[float]:
    """Numbers that were given with commas between them, of the option of this name."""
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise OptionError(f"{name} {text!r}: give a list of numbers with commas, 1,0.1") from error


# ---------------------------------------------------------------- the solve, and what is written

TIME_LIMIT = seconds("Seconds of solving.")
MIP_GAP = option(
    SOLVE,
    "Relative gap at which to stop; the default is what the claim 'optimal' allows.",
    min=0,
    default=Options.mip_gap,
)
MIP_GAP_ABS = option(SOLVE, "Absolute gap at which to stop.", min=0, default=Options.mip_gap_abs)
NODE_LIMIT = option(
    SOLVE,
    "Branch-and-bound nodes at which to stop; unlike seconds, the same on every machine.",
    min=0,
    default=Options.node_limit,
)
SEED = option(
    SOLVE, "Seed of the solver and of every random choice.", min=0, default=Options.random_state
)
PLOT = output_file("Draw a figure of it (png, pdf or svg).")


@dataclass(frozen=True)
class SolveOptions:
    """Which solver runs, and for how long."""

    solver: str = option(
        SOLVE,
        "auto, or one that 'milpscore list' names; the answer is checked the same.",
        metavar="NAME",
        default="auto",
    )
    time_limit: float = TIME_LIMIT
    mip_gap: float = MIP_GAP
    mip_gap_abs: float = MIP_GAP_ABS
    node_limit: int | None = NODE_LIMIT
    threads: int = option(
        SOLVE,
        "Processes of the tree search, or threads of HiGHS, whose runs then differ.",
        min=1,
        default=Options.threads,
    )
    dask: str | None = option(
        SOLVE,
        "Let the workers of this Dask scheduler search the tree together, say tcp://host:8786.",
        metavar="ADDRESS",
    )
    memory_limit: str | None = option(
        SOLVE,
        "What the tree search may keep open nodes in, say 4GB; by default half of what is free.",
        metavar="BYTES",
        default=Options.memory_limit,
    )
    seed: int = SEED

    def __post_init__(self) -> None:
        require_solver(self.solver)
        if self.dask is not None and self.threads != 1:
            raise OptionError("--threads and --dask: the workers of the scheduler search, keep one")

    @property
    def options(self) -> dict[str, Any]:
        """What has no argument of its own."""
        return {
            "mip_gap": self.mip_gap, "mip_gap_abs": self.mip_gap_abs,
            "node_limit": self.node_limit, "threads": self.threads, "client": self.dask,
            "memory_limit": self.memory_limit,
        }  # fmt: skip


QUIET = option(OUTPUT, "No progress and no warnings.", "--quiet", "-q", default=False)
JSON = option(
    OUTPUT, "One JSON object on standard output, everything else on standard error.", default=False
)


@dataclass(frozen=True)
class QuietOption:
    """Silence."""

    quiet: bool = QUIET

    @property
    def progress(self) -> bool | None:
        """Progress option of solvers: None shows a line in a terminal."""
        return False if self.quiet else None


@dataclass(frozen=True)
class OutputOptions(QuietOption):
    """How the answer is written."""

    json: bool = JSON
