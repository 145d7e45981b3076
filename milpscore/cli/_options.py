"""The options several commands share, each described once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from milpscore.formulations import FORMULATIONS

DATA_PANEL = "Data"
MODEL_PANEL = "Card"
SOLVE_PANEL = "Solve"
OUTPUT_PANEL = "Output"


class Encoding(StrEnum):
    """How bins become columns."""

    onehot = "onehot"
    cumulative = "cumulative"


class Missing(StrEnum):
    """What a missing value means."""

    error = "error"
    bin = "bin"


class ClassWeight(StrEnum):
    """How the classes weigh."""

    balanced = "balanced"


def spelt(formulation: str) -> str:
    """A formulation's name as it is typed on the command line."""
    return formulation.replace("_", "-")


NAMES = [spelt(name) for name in FORMULATIONS]

Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA.csv",
        help="CSV file with a header line; commas, semicolons or tabs; UTF-8.",
        show_default=False,
    ),
]
Target = Annotated[
    str,
    typer.Option(
        metavar="COL",
        help="Column with the two labels.",
        rich_help_panel=DATA_PANEL,
        show_default=False,
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        metavar="VALUE",
        help="Label to score; by default 1, True, or the last of the two in order.",
        rich_help_panel=DATA_PANEL,
    ),
]
Bins = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=2,
        help="Cut numeric columns into about N bins at quantiles (between all values where there "
        "are ten or fewer).",
        rich_help_panel=DATA_PANEL,
    ),
]
Thresholds = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help='Cut points by column: JSON {"Age": \\[30, 45]}, or CSV with the header '
        "feature,threshold. Other columns follow --bins, or stay as they are.",
        rich_help_panel=DATA_PANEL,
    ),
]
EncodingOption = Annotated[
    Encoding | None,
    typer.Option(
        "--encoding",
        help="Bins as one column each (onehot, the default), or a column 'Age >= 40' for each cut "
        "(cumulative).",
        rich_help_panel=DATA_PANEL,
    ),
]
MissingOption = Annotated[
    Missing,
    typer.Option(
        "--missing",
        help="Refuse missing values, or give them a column of their own.",
        rich_help_panel=DATA_PANEL,
    ),
]
WeightsColumn = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column with the weights of the rows; it is then no feature.",
        rich_help_panel=DATA_PANEL,
    ),
]
ClassWeightOption = Annotated[
    ClassWeight | None,
    typer.Option(
        "--class-weight",
        help="Let both classes weigh the same in total.",
        rich_help_panel=DATA_PANEL,
    ),
]
Formulation = Annotated[
    str,
    typer.Option(metavar="NAME", help=f"One of {', '.join(NAMES)}.", rich_help_panel=MODEL_PANEL),
]
CoefMin = Annotated[
    int | None,
    typer.Option(help="Least points of a column.", rich_help_panel=MODEL_PANEL),
]
CoefMax = Annotated[
    int | None,
    typer.Option(help="Most points of a column.", rich_help_panel=MODEL_PANEL),
]
MaxTerms = Annotated[
    int | None,
    typer.Option(min=0, help="At most so many columns with points.", rich_help_panel=MODEL_PANEL),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any other argument of the formulation, its value read as JSON (say l0_penalty=0.01 "
        "or intercept=real); may be repeated. 'milpscore list' shows the keys.",
        rich_help_panel=MODEL_PANEL,
    ),
]
Constraints = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Operational constraints, TOML or YAML: signs, ranges, how many of a group, order "
        "along bins, limits on errors and totals.",
        rich_help_panel=MODEL_PANEL,
    ),
]
TimeLimit = Annotated[
    float,
    typer.Option(metavar="SECONDS", min=0, help="Seconds of solving.", rich_help_panel=SOLVE_PANEL),
]
MipGap = Annotated[
    float,
    typer.Option(
        min=0,
        help="Relative gap at which to stop; 0 asks for a proof.",
        rich_help_panel=SOLVE_PANEL,
    ),
]
NodeLimit = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Branch-and-bound nodes at which to stop; unlike seconds, the same on every machine.",
        rich_help_panel=SOLVE_PANEL,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        min=0, help="Seed of the solver and of every random choice.", rich_help_panel=SOLVE_PANEL
    ),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", help="No progress and no warnings.", rich_help_panel=OUTPUT_PANEL
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="One JSON object on standard output, everything else on standard error.",
        rich_help_panel=OUTPUT_PANEL,
    ),
]
