"""``milpscore studio``: a page on this machine in which a card is edited and questioned."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from milpscore.cli.common import require_file, say, spelt, tell_warnings
from milpscore.cli.groups import (
    CARD,
    NODE_LIMIT,
    OUTPUT,
    TIME_LIMIT,
    CardOptions,
    DataOptions,
    LimitOptions,
    QuietOption,
    featured,
    option,
)
from milpscore.cli.survival import survival_options
from milpscore.core.errors import OptionError

if TYPE_CHECKING:
    from milpscore.core.design import Design

_OWN = {"--port": 1, "--no-browser": 0, "--time-limit": 1, "--node-limit": 1, "--quiet": 0,
        "-q": 0, "--max-terms": 1, "--constraints": 1, "--title": 1, "--card": 1}  # fmt: skip
"""Options that the command which makes a card again leaves out, and how many values they have."""


@featured(
    "milpscore studio patients.csv --target ill --max-terms 5",
    "target",
    "formulation",
    "max_terms",
    "time_limit",
    "port",
)
def studio_command(
    *,
    data: DataOptions,
    card: CardOptions,
    limits: LimitOptions,
    output: QuietOption,
    time_limit: float = TIME_LIMIT,
    node_limit: int | None = NODE_LIMIT,
    card_in_use: Path | None = option(
        CARD,
        "Begin with the points of a saved card, over its columns; the way back keeps its price.",
        "--card",
        metavar="CARD.json",
    ),
    title: str | None = option(OUTPUT, "What stands above the card.", metavar="TEXT"),
    port: int = option(
        OUTPUT, "Port of the page; 0 takes any that is free.", default=0, min=0, max=65535
    ),
    no_browser: bool = option(OUTPUT, "Print the address alone.", default=False),
) -> None:
    """Edit a card on a page and ask what each wish costs, with proofs.

    The page is served to this machine alone, under an address with a token.
    Points, threshold and limits are changed by hand; locked lines, forbidden
    and demanded features and rules are wishes, and the price of each is
    proved. Limits of time and nodes are those of one search. Ctrl-C ends it.
    """
    from milpscore_show.studio import Desk
    from milpscore_show.studio.hub import Hub
    from milpscore_show.studio.server import require_web, serve

    require_web()
    card = survival_options(card, data)
    arguments = card.arguments(limits)
    arguments["max_terms"] = arguments.get("max_terms")
    in_use = None
    if card_in_use is None:
        design = data.design(card.name, times=arguments.get("times"))
    else:
        design, in_use = _of_card(card_in_use, data, arguments)
    tell_warnings(design, output.quiet)
    desk = Desk(
        design, card.name, title=title or f"{data.target}, scored by {spelt(card.name)}",
        source=data.source, command=command_to_fit(sys.argv[1:]), in_use=in_use, **arguments,
    )  # fmt: skip
    hub = Hub(desk, time_limit=time_limit, node_limit=node_limit)
    hub.ask("free")

    def ready(address: str) -> None:
        say(f"The studio is open at {address}")
        say("Ctrl-C ends it.")
        if not no_browser:
            import webbrowser

            webbrowser.open(address)

    serve(hub, port, ready)


def _of_card(
    path: Path, data: DataOptions, arguments: dict[str, Any]
) -> tuple[Design, tuple[int, ...]]:
    """The table's design by a card's columns, and its points, which the ranges are widened to."""
    from milpscore.cli.saved import loaded_card
    from milpscore.cli.sites import design_like
    from milpscore.formulations.building import LEAST, MOST
    from milpscore.scorecard import OrdinalCard, SurvivalCard

    if data.thresholds is not None or data.bins is not None:
        raise OptionError("--card brings its own cuts: leave out --thresholds and --bins")
    require_file(path)
    loaded = loaded_card(path)
    if isinstance(loaded, OrdinalCard):
        raise OptionError("cards of ordered classes cannot be questioned")
    if isinstance(loaded, SurvivalCard) != (data.time is not None):
        raise OptionError("a card in use of times takes --time COL, and any other card none")
    loaded = loaded.card if isinstance(loaded, SurvivalCard) else loaded
    ends = {"coef_min": min(LEAST, *loaded.points), "coef_max": max(MOST, *loaded.points)}
    for name, end in ends.items():
        arguments.setdefault(name, end)
    if arguments["max_terms"] is not None:
        used = sum(map(bool, loaded.points))
        arguments["max_terms"] = max(arguments["max_terms"], used)
    return design_like(data, loaded, "--card", path), loaded.points


def command_to_fit(given: list[str]) -> str:
    """The command that fits such a card, from the one that opened the studio."""
    kept: list[Any] = ["milpscore", "fit"]
    left = iter(given[1:])
    for word in left:
        name, equals, _ = word.partition("=")
        if name not in _OWN:
            kept.append(word)
        elif not equals:
            for _ in range(_OWN[name]):
                next(left, None)
    return shlex.join(kept)
