"""A card of ordered classes: one total, and the group it falls into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import numpy as np
import numpy.typing as npt

from milpscore.core.card import Card
from milpscore.core.design import FloatArray, IntArray, as_fraction, plain_label
from milpscore.core.errors import DataError, NotApplicableError
from milpscore.core.program import Program
from milpscore.core.result import Result
from milpscore.core.statement import Statement
from milpscore.core.writing import printable
from milpscore.data.ordinal import OrdinalDesign, thresholds_of
from milpscore.scorecard._card import Names, Scorecard, Unseen
from milpscore.scorecard.certified import allowed_cards, with_least_zero
from milpscore.scorecard.policy import POLICY
from milpscore.scorecard.rendering import (
    card_html,
    exact_number,
    number,
    page_of,
    reading_sentences,
)
from milpscore.scorecard.totals import Table, TotalsCard, TotalsFile, proof_sentence

if TYPE_CHECKING:
    from milpscore.scorecard._calculator import Decisions


class _OrdinalFile(TotalsFile, forbid_unknown_fields=True):
    """An ordinal card's file."""

    levels: tuple[bool | int | float | str, ...]
    thresholds: tuple[Fraction, ...]
    observed: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, repr=False)
class OrdinalCard(TotalsCard):
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

    file_kind: ClassVar[str] = "milpscore.ordinal_card"
    named: ClassVar[str] = "an ordinal card"
    file: ClassVar[type[TotalsFile]] = _OrdinalFile

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

    def tables(self, design: OrdinalDesign | None = None) -> list[Table]:
        """Return the groups; with a design its rows of each class by total too, if few."""
        tables = [("The class of each total", self._groups)]
        if design is not None and len(rows := self._by_total(design)) <= POLICY.most_ordinal_totals:
            tables.append(("Rows of each class by total", rows))
        return tables

    def to_html(self, design: OrdinalDesign | None = None) -> str:
        """The card as an HTML fragment; with the rows of a ``design`` these by total, if few."""
        return card_html(self.card, self.sentences, tables=self.tables(design))

    def page(self, design: OrdinalDesign | None = None) -> str:
        """:meth:`to_html` as a page of its own."""
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

    @property
    def _decisions(self) -> Decisions:
        """The groups as forms that add up need them."""
        from milpscore.scorecard._calculator import Decisions

        names = tuple(printable(str(level)) for level in self.levels)
        cuts = tuple(replace(self.card, threshold=T) for T in self.thresholds)
        return Decisions(names, cuts, tuple(self.sentences))

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

    @property
    def sentences(self) -> list[str]:
        """How the card is read, and what is known of its answers and of the proof."""
        known, said = self.card.certificate, reading_sentences(self.card)
        if "mean_distance" not in known:
            return [*said]
        right = known["n_rows"] - known["errors"]
        return [
            *said,
            f"Answers: {right} of {known['n_rows']} training rows fall into their own group "
            f"({right / known['n_rows']:.1%}); they lie {known['mean_distance']:.3g} groups off on "
            "average.",
            proof_sentence(known, known["bound"]),
        ]

    def _content(self) -> dict[str, Any]:
        return {
            "levels": list(self.levels),
            "thresholds": [str(T) for T in self.thresholds],
            "observed": self.observed,
        }

    @classmethod
    def _of(cls, card: Scorecard, found: Any) -> Self:
        return cls(card, found.levels, found.thresholds, found.observed)


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
    made, shown = _without_gaps(statement, found, title)
    card, base = made.card, design.base
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


def shown_levels(statement: Statement, card: Card) -> OrdinalCard:
    """A card of a statement of ordered classes: points from 0, and the total of each class."""
    return _without_gaps(statement, card, "Scorecard")[0]


def _without_gaps(statement: Statement, found: Card, title: str) -> tuple[OrdinalCard, Statement]:
    """The card with its gaps as thresholds, and the statement without them."""
    design = cast(OrdinalDesign, statement.design)
    base, own, limit = design.base, design.features, statement.max_terms
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
    return OrdinalCard(card, design.levels, thresholds), shown
