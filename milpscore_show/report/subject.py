"""What a page speaks of: the card, the given data, and whether these are the card's own."""

from __future__ import annotations

import hmac
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from milpscore.certificate import Certificate
from milpscore.core.card import Card
from milpscore.core.design import Design, FloatArray, as_fraction
from milpscore.core.errors import DataError, NotApplicableError
from milpscore.core.program import Program
from milpscore.core.statement import Statement
from milpscore.core.writing import printable
from milpscore.data import apply_columns, make_design
from milpscore.data.cells import read_cells
from milpscore.data.checking import category_text, encode_labels, missing_counts
from milpscore.formulations.restating import restate
from milpscore.scorecard import Scorecard
from milpscore.scorecard.certified import allowed_cards, risk_scale, shown_card
from milpscore.scorecard.claims import known_limits
from milpscore.scorecard.rendering import class_names, finite


@dataclass(frozen=True, eq=False)
class Subject:
    """A card beside data."""

    card: Scorecard
    design: Design
    totals: FloatArray
    absent: tuple[str, ...]
    program: Program | None  # that the card was found with
    broken: str  # why the certificate's file cannot be believed; empty where it can
    raw: pd.DataFrame | None  # the table as the card reads it; None of a design or an array

    @property
    def statement(self) -> Statement | None:
        """What the program minimises over which cards."""
        return None if self.program is None else self.program.statement

    @cached_property
    def missing(self) -> Mapping[str, int] | None:
        """The columns of the table that lack values; None where nobody can tell."""
        return None if self.raw is None else missing_counts(self.raw)

    def place(self, column: str) -> int | None:
        """Where a column of the card stands in the design; None where the data lack it."""
        return {name: j for j, name in enumerate(self.design.names)}.get(column)

    @property
    def record(self) -> Mapping[str, Any]:
        """What is claimed and proved, by the names of tables and JSON."""
        return self.card.certificate

    @property
    def same_data(self) -> bool | None:
        """Whether the data have the card's fingerprint; None where the card has none."""
        if not self.card.fingerprint:
            return None
        return hmac.compare_digest(self.design.fingerprint, self.card.fingerprint)

    @cached_property
    def allowed(self) -> Mapping[str, Any] | None:
        """Which cards the bound speaks of; None where it is not known."""
        if self.statement is not None:
            risk = self.card.risk
            found = None if risk is None else risk.scale
            return allowed_cards(self.statement, found, finite(self.record.get("bound")) or 0.0)
        return known_limits(self.record)

    @cached_property
    def bare(self) -> Card:
        """The card as the statement knows it."""
        free = self.statement is not None and self.statement.scales is not None
        card = _bare(self.card, free)
        design = self.design if self.statement is None else self.statement.design
        # the threshold of pairs is 0
        return card if design.unpaired is design else replace(card, intercept=Fraction(0))

    @property
    def names(self) -> tuple[str, str]:
        """The negative and the positive class in the card's words."""
        outcome = printable(self.card.outcome)
        return (f"not {outcome}", outcome) if outcome else class_names(self.card)

    @cached_property
    def counted(self) -> npt.NDArray[np.bool_]:
        """Rows of positive weight, shape (n,)."""
        return np.asarray(self.design.weight > 0)

    @cached_property
    def positive(self) -> npt.NDArray[np.bool_]:
        """Rows of the positive class, shape (n,)."""
        return np.asarray(self.design.y > 0)

    @cached_property
    def wrong(self) -> npt.NDArray[np.bool_]:
        """Rows of positive weight the card answers wrongly, shape (n,)."""
        answered = self.card.rule.positive(self.totals)
        return np.asarray((answered != self.positive) & self.counted)

    @property
    def weighted(self) -> bool:
        """Whether the counted rows differ in weight."""
        return not self.design.equal_rows


def subject_of(
    given: Scorecard | Certificate,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    class_weight: Any = None,
    certificate: Certificate | None = None,
    program: Program | None = None,
) -> Subject:
    """Read a card, its certificate and data together."""
    proof = given if isinstance(given, Certificate) else certificate
    card = given if isinstance(given, Scorecard) else card_of(given)
    kept = _kept(card, X)
    design = design_of(card, kept, X, y, sample_weight, class_weight)
    if proof is not None:
        if isinstance(given, Scorecard):
            _require_same_card(card, proof)
        card = replace(card, certificate=_record(proof, card))
        if isinstance(given, Certificate):
            card = _with_risks(replace(card, step=design.step), proof, design)
        if program is None and design.fingerprint == card.fingerprint:
            program = restate(proof.statement, design)
    if program is not None and program.statement.design.unpaired.fingerprint != card.fingerprint:
        raise DataError(
            "the program speaks of other data than the card: give the one the card was found with"
        )
    intact = proof is None or proof.content_digest() == proof.digest
    return Subject(
        card=card,
        design=design,
        totals=card.totals(design.X, kept),
        absent=tuple(dict.fromkeys(c.feature for j, c in enumerate(card.columns) if j not in kept)),
        program=program,
        broken=""
        if intact
        else "the certificate's file was changed after it was written: its digest differs",
        raw=_as_read(card, X),
    )


def _as_read(card: Scorecard, X: Any) -> pd.DataFrame | None:
    """A table, its cells as the card's columns read them; None of a design or an array."""
    if not isinstance(X, pd.DataFrame):
        return None
    cells = {column.feature: column.cells for column in card.columns}
    made = X.copy(deep=False)
    for name in X.columns:
        if (how := cells.get(str(name).strip())) is not None:
            made[name] = read_cells(X[name], how)
    return made


def card_of(given: Any) -> Scorecard:
    """The card inside a certificate, on no grid yet: the data know it."""
    if not isinstance(given, Certificate):
        raise NotApplicableError(
            f"a report is made of a Scorecard or a Certificate, not of a {type(given).__name__}: "
            "an estimator has its card as scorecard_"
        )
    formulation = str(given.statement.get("formulation", "")).replace("_", "-")
    target = given.data.get("target")
    return Scorecard(
        columns=given.columns,
        points=tuple(given.points.coefficients.tolist()),
        threshold=given.points.threshold,
        blocks=tuple(tuple(block) for block in given.data["blocks"]),
        classes=tuple(given.data["classes"]),
        step=None,
        fingerprint=given.fingerprint,
        title=f"{target}, scored by {formulation}" if target else "Scorecard",
    )


def _record(proof: Certificate, card: Scorecard) -> dict[str, Any]:
    """The certificate by the names of tables and JSON, the card's own figures kept where it has."""
    return {
        **card.certificate,
        "formulation": proof.statement.get("formulation"),
        "claim": proof.claim,
        "verified": True,
        "objective": proof.objective,
        "loss": proof.loss,
        "penalty": proof.penalty,
        "bound": proof.bound,
        "bound_source": proof.bound_source,
        "caveat": proof.caveat,
        "solver": f"{proof.engine.get('solver', '')} {proof.engine.get('version', '')}".strip(),
        "evidence": proof.evidence.get("kind"),
    }


def _bare(card: Scorecard, scaled: bool) -> Card:
    """The bare card, with its scale where that is the card's own."""
    if not scaled or card.risk is None:
        return card.card
    scale = card.risk.scale
    if card.divisor > 1:  # a third of a decimal, three times, is a hair off it
        scale = float(f"{card.divisor * scale:.15g}")
    return replace(card.card, scale=as_fraction(scale))


def _require_same_card(card: Scorecard, proof: Certificate) -> None:
    own, held = _bare(card, proof.points.scale is not None), proof.points
    # a card's file holds its scale as a float, a certificate exactly
    same = replace(own, scale=None) == replace(held, scale=None)
    same = same and math.isclose(own.scale or 1, held.scale or 1, rel_tol=1e-12)
    same = same and [c.name for c in card.columns] == [c.name for c in proof.columns]
    if not same or (card.fingerprint and card.fingerprint != proof.fingerprint):
        raise DataError(
            "the certificate is not that of this card: give the two files one 'milpscore fit' wrote"
        )


def _with_risks(card: Scorecard, proof: Certificate, design: Design) -> Scorecard:
    """A card read from a certificate, on its training rows as ``fit`` prints it."""
    if len(design.names) != len(card.columns):
        return card
    statement = restate(proof.statement, design).statement
    if design.fingerprint == card.fingerprint:
        shown = shown_card(statement, proof.points, card.title)
        return replace(shown, certificate={**card.certificate, **shown.certificate})
    scale = risk_scale(card, design, statement.loss_of(proof.points))
    return replace(card, risk=scale and replace(scale, rows=(), shares=()))


def _kept(card: Scorecard, X: Any) -> Sequence[int]:
    """Positions of the columns whose raw feature the data have, or whose points need it."""
    everything = range(len(card.columns))
    if not isinstance(X, pd.DataFrame):
        return everything
    known = {str(name).strip() for name in X.columns}
    used = {column.feature for column in card.used_columns}
    return [j for j in everything if card.columns[j].feature in known | used]


def design_of(
    card: Scorecard, kept: Sequence[int], X: Any, y: Any, sample_weight: Any, class_weight: Any
) -> Design:
    """The data in some of the card's columns."""
    columns = tuple(card.columns[j] for j in kept)
    if isinstance(X, Design):
        if any(part is not None for part in (y, sample_weight, class_weight)):
            raise DataError("a Design already holds classes and weights: leave the others out")
        if X.names != tuple(column.name for column in columns):
            raise DataError(
                "the design has other columns than the card: give the one it was fit on"
            )
        design = X
    else:
        if y is None:
            raise DataError("a report needs the labels: give y beside X, or a Design")
        place = {j: k for k, j in enumerate(kept)}
        names = list(dict.fromkeys(column.feature for column in columns))
        _refuse_other_labels(encode_labels(y)[1], card.classes)
        design = make_design(
            apply_columns(columns, X, feature_names=names),
            y,
            sample_weight=sample_weight,
            class_weight=class_weight,
            positive=card.classes[1],
            columns=columns,
            blocks=[[place[j] for j in block] for block in card.blocks if set(block) <= set(kept)],
        )
    for label, own in zip(design.classes, card.classes, strict=True):
        _refuse_other_labels([label], [own])
    return design


def _refuse_other_labels(labels: Sequence[Any], classes: Sequence[Any]) -> None:
    """Raise DataError unless labels are the card's; 1, 1.0, True and "1" are one."""
    known = {*classes, *map(category_text, classes)}
    if not all(label in known or category_text(label) in known for label in labels):
        raise DataError(
            f"the data's labels are {list(labels)}, the card answers {list(classes)}: give data "
            "with the card's labels"
        )


def program_again(
    proof: Certificate, X: Any, y: Any, *, sample_weight: Any = None, class_weight: Any = None
) -> Program:
    """The program a certificate states, on data as they are given to a report."""
    card = card_of(proof)
    design = design_of(card, range(len(card.columns)), X, y, sample_weight, class_weight)
    return restate(proof.statement, design)
