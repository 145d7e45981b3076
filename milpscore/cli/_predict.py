"""``milpscore predict``: a saved card applied to a table."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from milpscore.cli import _options as options
from milpscore.cli._common import require_folder


class Unseen(StrEnum):
    """What a value means that the card does not foresee."""

    error = "error"
    zero = "zero"


CardFile = Annotated[
    Path,
    typer.Argument(
        metavar="CARD.json", help="Card saved by 'milpscore fit --out'.", show_default=False
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the CSV here instead of to standard output."),
]
Scores = Annotated[bool, typer.Option("--scores", help="Add the column 'total'.")]
UnseenOption = Annotated[
    Unseen,
    typer.Option(
        "--unseen",
        help="A category or missing value the card does not foresee: an error, or no points.",
    ),
]


def predict_command(
    card: CardFile,
    data: options.Data,
    out: Out = None,
    scores: Scores = False,
    unseen: UnseenOption = Unseen.error,
) -> None:
    """Apply a saved card to a CSV file; the answers are CSV, one line a row.

    Columns are found by name; those the card has no points for may be
    absent. A risk score adds the column 'risk', the probability of the
    positive label.
    """
    import pandas as pd

    from milpscore.data import read_frame
    from milpscore.scorecard import Scorecard

    require_folder(out)
    loaded = Scorecard.load(card)
    totals = loaded.score(read_frame(data), unseen=unseen.value)
    table = pd.DataFrame({"prediction": loaded.labels(totals)})
    if loaded.risk is not None:
        table["risk"] = loaded.risks(totals)
    if scores:
        whole = bool((totals == totals.round()).all())
        table.insert(0, "total", totals.astype("int64") if whole else totals)
    table.to_csv(sys.stdout if out is None else out, index=False, lineterminator="\n")
