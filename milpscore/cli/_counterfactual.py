"""``milpscore counterfactual``: the least change of a row that turns a card's answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import typer

from milpscore.cli.common import (
    NO_CARD,
    names_of,
    print_json,
    print_text,
    require_columns,
    require_file,
)
from milpscore.cli.groups import (
    CARD,
    DATA,
    DATA_FILE,
    JSON,
    FileOptions,
    argument,
    featured,
    option,
    seconds,
)
from milpscore.core.errors import DataError, OptionError


@featured(
    "milpscore counterfactual card.json patients.csv --row 3 --fixed age",
    "row",
    "to",
    "fixed",
    "ranges",
    "k",
)
def counterfactual_command(
    *,
    card: Path = argument("CARD.json", "Card saved by 'milpscore fit --out'."),
    data: Path = DATA_FILE,
    written: FileOptions,
    row: int = option(DATA, "Which row of the table, counted from 1.", min=1, default=1),
    to: str | None = option(
        CARD, "The wanted answer; of two classes the other one.", metavar="LABEL"
    ),
    costs: str | None = option(
        CARD, "What a unit of change costs, 1 unless given: age=2,bmi=.5.", metavar="A=1,B=2"
    ),
    per: Literal["unit", "bin"] = option(
        CARD,
        "A number that moves into another bin costs by how far it moves, or by how many bins.",
        default="unit",
    ),
    fixed: str | None = option(CARD, "Features that cannot change.", metavar="A,B"),
    rising: str | None = option(CARD, "Numbers that can only grow, say age.", metavar="A,B"),
    falling: str | None = option(CARD, "Numbers that can only fall.", metavar="A,B"),
    ranges: str | None = option(
        CARD,
        "What numbers can be changed to; a must for those that count by the unit.",
        metavar="A=0:9,B=1:2",
    ),
    k: int = option(CARD, "How many ways to find at most.", min=1, default=1),
    time_limit: float = seconds("Seconds for all ways."),
    json: bool = JSON,
) -> None:
    """Find the least change of inputs that turns a card's answer.

    Each way is checked on the card, and its cost proved to be the least. Exit
    code 1: no change of these inputs does, which is said with its reason.
    """
    require_file(card)
    require_columns(data, encoding=written.csv_encoding or "utf-8")
    from milpscore.cli.saved import loaded_card
    from milpscore.data import read_frame
    from milpscore.data.cells import disguised
    from milpscore.scorecard import SurvivalCard, counterfactual

    directions = dict.fromkeys(names_of(rising), "+")
    if both := directions.keys() & set(names_of(falling)):
        raise OptionError(f"{sorted(both)[0]!r} cannot rise and fall only: name it once")
    directions |= dict.fromkeys(names_of(falling), "-")
    loaded = loaded_card(card)
    if isinstance(loaded, SurvivalCard):
        raise OptionError("a survival card gives no answer that could be another one")
    shown: Any = loaded if hasattr(loaded, "columns") else loaded.card  # of ordered classes
    table = read_frame(data, **written.reading, as_text=disguised(shown.columns))
    if row > len(table):
        raise DataError(f"the table has {len(table)} rows: there is no row {row}")
    found = counterfactual(
        loaded, table.iloc[[row - 1]], to=to,
        costs={name: _number(text) for name, text in _pairs(costs)}, per=per,
        fixed=names_of(fixed), directions=directions,
        ranges={name: _range(text) for name, text in _pairs(ranges)}, k=k, time_limit=time_limit,
    )  # fmt: skip
    if json:
        ways: list[dict[str, Any]] = [
            {
                "cost": float(way.cost),
                "bound": way.bound,
                "total": float(way.total),
                "changes": [
                    {**vars(each), "cost": float(each.cost), "points": float(each.points)}
                    for each in way.changes
                ],
            }
            for way in found
        ]
        content = {"answer": found.answer, "wanted": found.wanted, "total": float(found.total)}
        print_json({**content, "ways": ways, "reason": found.reason})
    else:
        print_text(str(found))
    if not found.found:
        raise typer.Exit(NO_CARD)


def _pairs(text: str | None) -> list[tuple[str, str]]:
    """Names and what is said of them."""
    made = [each.rpartition("=") for each in names_of(text)]
    for name, sign, _ in made:
        if not sign or not name:
            raise OptionError(f"{text!r}: write name=value, with commas between")
    return [(name.strip(), value.strip()) for name, _, value in made]


def _number(text: str) -> float:
    """A number; an OptionError for anything else."""
    try:
        return float(text)
    except ValueError:
        raise OptionError(f"{text!r} is not a number") from None


def _range(text: str) -> tuple[float, float]:
    """Both ends of a range."""
    low, sign, high = text.partition(":")
    if not sign:
        raise OptionError(f"{text!r} is not a range: write its ends, 0:9")
    return _number(low), _number(high)
