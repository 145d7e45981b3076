"""A card of ordered classes: one total, and the group it falls into."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from milpscore.core.card import Card
from milpscore.core.design import FloatArray, IntArray, as_fraction, plain_label
from milpscore.core.errors import DataError, NotApplicableError, require_ending
from milpscore.core.program import Program
from milpscore.core.reading import parsed, text_of
from milpscore.core.result import Result
from milpscore.core.writing import printable, write_text
from milpscore.data.ordinal import OrdinalDesign, thresholds_of
from milpscore.scorecard._card import Names, Scorecard, Unseen
from milpscore.scorecard.certified import allowed_cards, with_least_zero
from milpscore.scorecard.policy import POLICY
from milpscore.scorecard.rendering import (
    card_html,
    exact_number,
    number,
    reading_sentences,
    rounded_down,
    table_lines,
    text_table,
)

if TYPE_CHECKING:
    from milpscore.scorecard._calculator import Decisions

KIND = "milpscore.ordinal_card"


@dataclass(frozen=True, repr=False)
class OrdinalCard:
    """Points for features, and the ordered class that a total falls into.

    Attributes
    ----------
    card : Scorecard
        The points; its threshold is the first one.
    levels : tuple
        The classes, the lowest first.
    thresholds : tuple of Fraction
        In order, one less than there are levels: a row has level k iff its total reaches the k-th
        threshold, counted from 1, and not the next one.
    observed : tuple of tuples of int
        Training rows of each group (as the card answers), by their own level.

    Raises
    ------
    DataError
        The parts do not fit together.
    """

    card: Scorecard
    levels: tuple[Any, ...]
    thresholds: tuple[Fraction, ...]
    observed: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        given = tuple(map(as_fraction, self.thresholds))
        fits = len(given) == len(self.levels) - 1 >= 1 and list(given) == sorted(set(given))
        shape = {len(self.levels)} if self.observed else set()
        if not fits or {len(self.observed), *map(len, self.observed)} - {0, *shape}:
            raise DataError(
                f"{len(self.levels)} levels need one threshold less, in order, and as many groups "
                f"of rows; got {len(given)} thresholds and {len(self.observed)} groups"
            )
        if self.card.threshold != given[0]:
            raise DataError("the card's threshold is not the first one")
        object.__setattr__(self, "thresholds", given)
        object.__setattr__(self, "levels", tuple(map(plain_label, self.levels)))

    def score(self, X: Any, feature_names: Names = None, unseen: Unseen = "error") -> FloatArray:
        """Totals of rows of raw data; see :meth:`milpscore.Scorecard.score`."""
        return self.card.score(X, feature_names, unseen)

    def groups(self, totals: FloatArray) -> IntArray:
        """The place among the levels of each total of :meth:`score`, shape (n,)."""
        reached = [replace(self.card.rule, threshold=T).positive(totals) for T in self.thresholds]
        return np.asarray(np.sum(reached, axis=0, dtype=np.int64))

    def predict(
        self, X: Any, feature_names: Names = None, unseen: Unseen = "error"
    ) -> npt.NDArray[Any]:
        """The level of each row of raw data. Arguments as for :meth:`score`.

        Returns
        -------
        ndarray of shape (n,)
        """
        alike = len(set(map(type, self.levels))) == 1
        names = np.array(self.levels, dtype=None if alike else object)
        return names[self.groups(self.score(X, feature_names, unseen))]

    @property
    def ranges(self) -> tuple[str, ...]:
        """The totals of each group, as they are printed."""
        if not self.card.counts_whole:
            ends = [exact_number(T) for T in self.thresholds]
            inner = [f"{a} to below {b}" for a, b in pairwise(ends)]
            return (f"< {ends[0]}", *inner, f"≥ {ends[-1]}")
        cuts = [-(-T.numerator // T.denominator) for T in self.thresholds]
        text = [exact_number(Fraction(cut)) for cut in cuts]
        last = [exact_number(Fraction(cut - 1)) for cut in cuts]
        inner = [a if a == b else f"{a} to {b}" for a, b in zip(text, last[1:], strict=False)]
        return (f"≤ {last[0]}", *inner, f"≥ {text[-1]}")

    def __repr__(self) -> str:
        """Title and size; :meth:`to_text` shows the card."""
        return f"<OrdinalCard {self.card.title!r}: {len(self.levels)} groups>"

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """The card as plain text: points, groups with observed shares, certificate."""
        card = self.card
        said = [*reading_sentences(card), *self._certified()]
        parts = [printable(card.title), "", *text_table(card), ""]
        return "\n".join([*parts, *table_lines(self._groups), "", *said])

    def to_html(self, design: OrdinalDesign | None = None) -> str:
        """The card as an HTML fragment: a form and its groups.

        With the rows of a ``design`` how many of each class have each total, where these are few.
        """
        tables = [("The class of each total", self._groups)]
        if design is not None and len(rows := self._by_total(design)) <= POLICY.most_ordinal_totals:
            tables.append(("Rows of each class by total", rows))
        foot = (*reading_sentences(self.card), *self._certified())
        return card_html(self.card, foot, tables=tables)

    def _repr_html_(self) -> str:
        return self.to_html()

    def page(self, design: OrdinalDesign | None = None) -> str:
        """:meth:`to_html` as a page of its own."""
        from milpscore.scorecard.rendering import page_of

        return page_of(self.card.title, self.to_html(design))

    def to_sql(
        self,
        table: str | Sequence[str] = "data",
        dialect: str = "ansi",
        keys: Sequence[str] = (),
        unseen: Literal["null", "zero"] = "null",
    ) -> str:
        """One SELECT that computes ``total`` and ``prediction``; as :meth:`Scorecard.to_sql`."""
        from milpscore.scorecard._export import card_sql

        reached = reversed([*zip(self.thresholds, self.levels[1:], strict=True)])
        levels = [*reached, (None, self.levels[0])]
        return card_sql(self.card, table, dialect, keys, unseen, levels)

    def write(self, path: str | Path) -> Path:
        """Write the card as .txt, .html, .sql, .json or .xlsx, by its ending; return the path."""
        path = Path(path)
        writers: dict[str, Callable[[], str]] = {
            ".txt": lambda: self.to_text() + "\n",
            ".html": self.page,
            ".sql": lambda: self.to_sql() + ";\n",
            ".json": lambda: self.to_json() + "\n",
        }
        require_ending(path.name, (*writers, ".xlsx"))
        if path.suffix.lower() == ".xlsx":
            return self.spreadsheet(path)
        return write_text(path, writers[path.suffix.lower()]())

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
    def _decisions(self) -> Decisions:
        """The groups as forms that add up need them."""
        from milpscore.scorecard._calculator import Decisions

        names = tuple(printable(str(level)) for level in self.levels)
        cuts = tuple(replace(self.card, threshold=T) for T in self.thresholds)
        return Decisions(names, cuts, (*reading_sentences(self.card), *self._certified()))

    def _by_total(self, design: OrdinalDesign) -> list[list[str]]:
        """How many rows of each class have each total, and the group they fall into."""
        counted = design.row_weight > 0
        totals, codes = self.card.score_design(design.base.X)[counted], design.codes[counted]
        distinct, place = np.unique(totals, return_inverse=True)
        names = [printable(str(level)) for level in self.levels]
        counts = np.zeros((len(distinct), len(names)), dtype=np.int64)
        np.add.at(counts, (place.ravel(), codes), 1)
        lines = zip(distinct.tolist(), self.groups(distinct).tolist(), *counts.T, strict=True)
        return [
            ["Total", "Group", *names],
            *([number(t), names[g], *map(str, of)] for t, g, *of in lines),
        ]

    @property
    def _groups(self) -> list[list[str]]:
        """The groups with their totals and the shares observed in them, under a head."""
        names = [printable(str(level)) for level in self.levels]
        head = ["Group", "Total"]
        rows = [[name, total] for name, total in zip(names, self.ranges, strict=True)]
        if self.observed:
            head += ["Rows", *(f"observed {name}" for name in names)]
            for row, counts in zip(rows, self.observed, strict=True):
                of = sum(counts)
                row += [str(of), *(f"{n / of:.0%}" if of else "" for n in counts)]
        return [head, *rows]

    def _certified(self) -> list[str]:
        """What is known of the answers and of the proof; nothing without a certificate."""
        known = self.card.certificate
        if "mean_distance" not in known:
            return []
        right = known["n_rows"] - known["errors"]
        said = [
            f"Answers: {right} of {known['n_rows']} training rows fall into their own group "
            f"({right / known['n_rows']:.1%}); they lie {known['mean_distance']:.3g} groups off on "
            "average."
        ]
        allowed, bound = known["allowed"], known["bound"]
        terms = allowed["max_terms"]
        kind = "" if terms is None else f" of at most {terms} terms"
        proved = "Nothing is proved of other cards."
        if bound is not None and bound > 0:
            proved = f"No card{kind} has an objective below {rounded_down(bound)}."
        if known["claim"] == "optimal":
            proved = f"No card{kind} does better: proved."
        figures = f"Objective {number(known['objective'])} (loss {number(known['loss'])})"
        return [*said, f"{figures}, claim {known['claim']}. {proved}"]

    def to_json(self) -> str:
        """The card as JSON text, read back by :meth:`from_json`."""
        content = {
            "kind": KIND,
            "levels": list(self.levels),
            "thresholds": [str(T) for T in self.thresholds],
            "observed": self.observed,
            "card": json.loads(self.card.to_json()),
        }
        return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The card written by :meth:`to_json`.

        Raises
        ------
        DataError
            If the text is not such a card, or is damaged.
        """
        found = parsed(text, _OrdinalFile, "the ordinal card's JSON")
        if found.kind != KIND:
            raise DataError("this JSON is not an ordinal card: give one of OrdinalCard.save")
        card = Scorecard.from_json(json.dumps(found.card))
        return cls(card, found.levels, found.thresholds, found.observed)

    def save(self, path: str | Path) -> Path:
        """Write the JSON text to a file in UTF-8 and return its path."""
        write_text(path, self.to_json() + "\n")
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a card written by :meth:`save`; DataError where the file holds none."""
        return cls.from_json(text_of(Path(path)))


class _OrdinalFile(Struct, forbid_unknown_fields=True):
    """An ordinal card's file."""

    kind: str
    levels: tuple[bool | int | float | str, ...]
    thresholds: tuple[Fraction, ...]
    observed: tuple[tuple[int, ...], ...]
    card: dict[str, Any]


def ordinal_card(program: Program, result: Result, title: str = "Scorecard") -> OrdinalCard:
    """The card of a solved ordinal program, with its groups counted over the training rows.

    Parameters
    ----------
    program : Program
        Of :func:`milpscore.formulations.ordinal`.
    result : Result
    title : str

    Returns
    -------
    OrdinalCard
        The certificate of its ``card`` has ``mean_distance``, the weighted mean of how many groups
        answers lie off, beside the result's summary; ``errors`` are rows in a group not theirs.

    Raises
    ------
    NotApplicableError
        The program is another one, or the result has no card.
    """
    statement = program.statement
    design, found = statement.design, result.card
    if not isinstance(design, OrdinalDesign):
        raise NotApplicableError(f"{program.formulation} has no ordered classes: see `ordinal`")
    if found is None:
        raise NotApplicableError(f"the result has no card to show: {result.message}")
    base, own = design.base, design.features
    limit = statement.max_terms
    shown = replace(
        statement, design=base, coef_min=statement.coef_min[:own],
        coef_max=statement.coef_max[:own],
        max_terms=None if limit is None else limit - design.gaps,
    )  # fmt: skip
    first = Card(found.coefficients[:own], found.intercept)
    gaps = found.coefficients[own:].tolist()
    card = with_least_zero(Scorecard.from_card(first, base, title=title), shown)
    shift = card.threshold - found.threshold
    thresholds = tuple(T + shift for T in thresholds_of(design, found.threshold, gaps))
    made = OrdinalCard(card, design.levels, thresholds)
    groups = made.groups(card.score_design(base.X))
    counted, off = base.weight > 0, np.abs(groups - design.codes)
    observed = np.zeros((len(design.levels),) * 2, dtype=np.int64)
    np.add.at(observed, (groups[counted], design.codes[counted]), 1)
    certificate = {
        **result.summary(),
        "terms": card.terms,
        "errors": int((off[counted] > 0).sum()),
        "n_rows": int(counted.sum()),
        "mean_distance": float(off @ base.weight) / float(base.weight.sum()),
        "equal_rows": base.equal_rows,
        "allowed": allowed_cards(shown),
        "constraints": [each.as_mapping() for each in statement.constraints],
    }
    return replace(
        made, card=replace(card, certificate=certificate),
        observed=tuple(map(tuple, observed.tolist())),
    )  # fmt: skip
