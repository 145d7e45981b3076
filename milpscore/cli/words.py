"""What a card is called, and what its lines say: options of the commands that print one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from milpscore.cli.common import say
from milpscore.cli.groups import OUTPUT, file, option
from milpscore.core.errors import listing

if TYPE_CHECKING:
    from milpscore.scorecard import Scorecard


@dataclass(frozen=True)
class WordOptions:
    """What a card is called, and what its lines say."""

    title: str | None = option(OUTPUT, "What stands above the card.", metavar="TEXT")
    outcome: str | None = option(
        OUTPUT, "What a positive answer says, such as 'heart disease'.", metavar="TEXT"
    )
    labels: Path | None = file(
        "Names, units and texts of the lines: JSON or TOML such as "
        '{"age": {"name": "Age", "unit": "years", "lines": {">= 60": "60 or older"}}}, or CSV with '
        "the header feature,name,unit,column,line,text."
    )

    def on(self, card: Scorecard, table: Iterable[str] = (), quiet: bool = False) -> Scorecard:
        """The card in these words, a remark for those it has no use for.

        Columns of the table that are no features of the card keep their words to themselves.
        """
        words = None
        if self.labels is not None:
            from milpscore.scorecard import read_words

            silent = set(table) - set(card.features)
            words = {k: own for k, own in read_words(self.labels).items() if k not in silent}
        made = card.with_words(words, title=self.title, outcome=self.outcome)
        if made.unused_words:
            say(f"Note: the card has no line for the labels {listing(made.unused_words)}.", quiet)
        return made

    def check(self, table: Iterable[str]) -> None:
        """Refuse labels of columns that are not there, before anything is solved."""
        if self.labels is not None:
            from milpscore.core.design import Column, as_fraction
            from milpscore.scorecard import Scorecard

            columns = tuple(Column(name, name) for name in dict.fromkeys(map(str, table)))
            Scorecard(columns, (0,) * len(columns), as_fraction(0)).with_words(self.labels)
