"""``milpscore studio``: a page on this machine in which a card is edited and questioned."""

from __future__ import annotations

import shlex
import sys
from typing import Any

from milpscore.cli.common import say, spelt, tell_warnings
from milpscore.cli.groups import (
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

_OWN = {"--port": 1, "--no-browser": 0, "--time-limit": 1, "--node-limit": 1, "--quiet": 0,
        "-q": 0, "--max-terms": 1, "--constraints": 1, "--title": 1}  # fmt: skip
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
    arguments = card.arguments(limits)
    arguments["max_terms"] = arguments.get("max_terms")
    design = data.design(card.name)
    tell_warnings(design, output.quiet)
    desk = Desk(
        design, card.name, title=title or f"{data.target}, scored by {spelt(card.name)}",
        source=data.source, command=command_to_fit(sys.argv[1:]), **arguments,
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
