"""What cards share whose totals mean more than yes or no: groups, or risks at stated times."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from msgspec import Struct

from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError, require_ending
from milpscore.core.reading import parsed, text_of
from milpscore.core.writing import printable, write_text
from milpscore.scorecard._card import Names, Scorecard, Unseen
from milpscore.scorecard.rendering import (
    card_html,
    number,
    page_of,
    rounded_down,
    table_lines,
    text_table,
)

if TYPE_CHECKING:
    from milpscore.scorecard._calculator import Decisions

Table = tuple[str, list[list[str]]]
"""A caption, and rows of cells under a head."""


class TotalsFile(Struct, forbid_unknown_fields=True):
    """What every file of such a card holds."""

    kind: str
    card: dict[str, Any]


@dataclass(frozen=True, repr=False)
class TotalsCard(ABC):
    """Points for features, its ``card``, beside a table of what their totals mean."""

    file_kind: ClassVar[str]
    named: ClassVar[str]
    file: ClassVar[type[TotalsFile]]

    card: Scorecard

    @abstractmethod
    def tables(self) -> list[Table]:
        """Return the tables printed below the points; the first is part of the text."""

    @property
    @abstractmethod
    def sentences(self) -> list[str]:
        """How the card is read, and what is known of it."""

    @abstractmethod
    def to_sql(
        self,
        table: str | Sequence[str] = "data",
        dialect: str = "ansi",
        keys: Sequence[str] = (),
        unseen: Literal["null", "zero"] = "null",
    ) -> str:
        """One SELECT that computes the card; as :meth:`milpscore.Scorecard.to_sql`."""

    @abstractmethod
    def _content(self) -> dict[str, Any]:
        """Return what the file holds beside kind and card."""

    @classmethod
    @abstractmethod
    def _of(cls, card: Scorecard, found: Any) -> Self:
        """Return the card of a file."""

    def score(self, X: Any, feature_names: Names = None, unseen: Unseen = "error") -> FloatArray:
        """Totals of rows of raw data; see :meth:`milpscore.Scorecard.score`."""
        return self.card.score(X, feature_names, unseen)

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """The card as plain text: points, what totals mean, certificate."""
        parts = [printable(self.card.title), "", *text_table(self.card), ""]
        return "\n".join([*parts, *table_lines(self.tables()[0][1]), "", *self.sentences])

    def to_html(self) -> str:
        """The card as an HTML fragment: a form and its tables."""
        return card_html(self.card, self.sentences, tables=self.tables())

    def _repr_html_(self) -> str:
        return self.to_html()

    def page(self) -> str:
        """:meth:`to_html` as a page of its own."""
        return page_of(self.card.title, self.to_html())

    def _writers(self, path: Path) -> dict[str, Callable[[], Any]]:
        """Return what writes each kind of file."""
        return {
            ".txt": lambda: write_text(path, self.to_text() + "\n"),
            ".html": lambda: write_text(path, self.page()),
            ".sql": lambda: write_text(path, self.to_sql() + ";\n"),
            ".json": lambda: self.save(path),
            ".xlsx": lambda: self.spreadsheet(path),
        }

    def write(self, path: str | Path) -> Path:
        """Write the card as its ending says (.txt, .html, .sql, .json, ...); return the path."""
        path = Path(path)
        writers = self._writers(path)
        require_ending(path.name, tuple(writers))
        writers[path.suffix.lower()]()
        return path

    def calculator(self, path: str | Path | None = None) -> str:
        """The card as one HTML page that adds up; as :meth:`Scorecard.calculator`."""
        from milpscore.scorecard._calculator import calculator_page

        page = calculator_page(self.card, self._decisions)
        if path is not None:
            write_text(Path(path), page)
        return page

    def spreadsheet(self, path: str | Path) -> Path:
        """Write the card as a workbook that adds up; as :meth:`Scorecard.spreadsheet`."""
        from milpscore.scorecard._spreadsheet import write_spreadsheet

        return write_spreadsheet(self.card, self._decisions, path)

    @property
    @abstractmethod
    def _decisions(self) -> Decisions:
        """What forms that add up say of a total."""

    def to_json(self) -> str:
        """The card as JSON text, read back by :meth:`from_json`."""
        content = {
            "kind": self.file_kind, **self._content(), "card": json.loads(self.card.to_json())
        }  # fmt: skip
        return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The card written by :meth:`to_json`.

        Raises
        ------
        DataError
            If the text is not such a card, or is damaged.
        """
        found = parsed(text, cls.file, f"the {cls.named}'s JSON")
        if found.kind != cls.file_kind:
            raise DataError(f"this JSON is not {cls.named}: give one of {cls.__name__}.save")
        return cls._of(Scorecard.from_json(json.dumps(found.card)), found)

    def save(self, path: str | Path) -> Path:
        """Write the JSON text to a file in UTF-8 and return its path."""
        write_text(path, self.to_json() + "\n")
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a card written by :meth:`save`; DataError where the file holds none."""
        return cls.from_json(text_of(Path(path)))


def proof_sentence(known: Mapping[str, Any], bound: float | None, allowed: str = "") -> str:
    """Return objective, claim and bound; ``allowed`` says more of the cards that were allowed."""
    terms = known["allowed"]["max_terms"]
    kind = ("" if terms is None else f" of at most {terms} terms") + allowed
    proved = "Nothing is proved of other cards."
    if bound is not None and bound > 0:
        proved = f"No card{kind} has an objective below {rounded_down(bound)}."
    if known["claim"] == "optimal":
        proved = f"No card{kind} does better: proved."
    bare = known.get("loss_without_points")
    without = "" if bare is None else f"; {number(bare)} without points"
    objective, loss = number(known["objective"]), number(known["loss"])
    return f"Objective {objective} (loss {loss}{without}), claim {known['claim']}. {proved}"
