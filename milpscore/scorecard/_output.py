"""How a card is shown and kept: text, HTML, Markdown, LaTeX, SQL, JSON and files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from milpscore.core.errors import DataError
from milpscore.scorecard._html import card_html
from milpscore.scorecard._json import card_fields, card_to_json
from milpscore.scorecard._latex import card_latex
from milpscore.scorecard._markdown import card_markdown
from milpscore.scorecard._sql import card_sql
from milpscore.scorecard._text import card_text

if TYPE_CHECKING:
    from milpscore.scorecard._card import Scorecard


class CardOutput:
    """The part of :class:`milpscore.Scorecard` that writes and reads."""

    def _scorecard(self) -> Scorecard:
        """Itself: only a Scorecard is made of this part."""
        return cast("Scorecard", self)

    def __repr__(self) -> str:
        """Title and size; :meth:`to_text` shows the card."""
        card = self._scorecard()
        used = sum(1 for points in card.points if points)
        return f"<Scorecard {card.title!r}: {used} lines, positive from {card.threshold}>"

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """The card as plain text: table, decision rule, risks where it has them, certificate."""
        return card_text(self._scorecard())

    def _repr_html_(self) -> str:
        return card_html(self._scorecard())

    def to_html(self) -> str:
        """The card as an HTML fragment in which everything is escaped."""
        return card_html(self._scorecard())

    def to_markdown(self) -> str:
        """The card as Markdown text with a pipe table."""
        return card_markdown(self._scorecard())

    def to_latex(self) -> str:
        """The card as a LaTeX ``table`` with horizontal rules; no package is needed."""
        return card_latex(self._scorecard())

    def to_sql(
        self,
        table: str | Sequence[str] = "data",
        dialect: str = "ansi",
        keys: Sequence[str] = (),
        unseen: Literal["null", "zero"] = "null",
    ) -> str:
        """One SELECT that computes ``total`` and ``prediction`` for every row of a table.

        A card with logistic risks adds the column ``risk``; SQL has no normal distribution
        function, so one with probit risks does not.

        Where :meth:`predict` raises an error for a row, the statement answers NULL: for a NULL in
        a used feature without a bin for missing values, and for a category the card does not
        know. With ``unseen="zero"`` both score nothing, as they do in :meth:`predict`; a NULL
        number that counts by the unit still makes the total NULL. Missing values must be NULL in
        the table, not NaN. A result column is called ``card_total``, ``card_prediction`` or
        ``card_risk`` where the data have a column of that name.

        Parameters
        ----------
        table : str or sequence of str
            Name of the table; a sequence is a qualified name such as ``("schema", "table")``.
        dialect : {"ansi", "mysql"}
            ``ansi`` suits SQLite, PostgreSQL, DuckDB, SQL Server and Snowflake, among others.
        keys : sequence of str
            Columns of the table to carry into the result.
        unseen : {"null", "zero"}

        Returns
        -------
        str
            The statement, without a closing semicolon, headed by comments.

        Raises
        ------
        OptionError
            For an unknown dialect or value of ``unseen``.
        DataError
            For a name with a NUL character.
        """
        return card_sql(self._scorecard(), table, dialect, keys, unseen)

    def to_json(self) -> str:
        """The card as JSON text (``schema_version`` 1), read back by :meth:`from_json`."""
        return card_to_json(self._scorecard())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The card written by :meth:`to_json`, equal to the original.

        Raises
        ------
        DataError
            If the text is no card, is damaged, or has another schema version.
        """
        made: Self = cast("Any", cls)(**card_fields(text))
        return made

    def save(self, path: str | Path) -> Path:
        """Write the JSON text to a file in UTF-8 and return its path."""
        path = Path(path)
        path.write_text(self.to_json() + "\n", encoding="utf-8")
        return path

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a card written by :meth:`save`.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        DataError
            If the file holds no card.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{str(path)!r} is no UTF-8 text; give a file written by save() or "
                "'milpscore fit --out'"
            ) from error
        return cls.from_json(text)
