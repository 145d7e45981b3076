"""What a page speaks of: the card, the given data, and whether these are the card's own."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from milpscore.certificate import Certificate
from milpscore.comparison import Comparison, compare
from milpscore.constraints import make_constraint
from milpscore.core.card import Card
from milpscore.core.design import Design, FloatArray, as_fraction
from milpscore.core.errors import DataError, NotApplicableError
from milpscore.core.statement import Statement
from milpscore.data import apply_columns, make_design
from milpscore.data.checking import missing_counts
from milpscore.formulations.restating import restate
from milpscore.scorecard import Scorecard
from milpscore.scorecard.certified import allowed_cards, risk_scale
from milpscore.scorecard.claims import known_limits
from milpscore.solvers.options import Options

_CHANGED = "the certificate's file was changed after it was written: its digest differs"


@dataclass(frozen=True, eq=False)
class Subject:
    """A card beside data."""

    card: Scorecard
    design: Design
    totals: FloatArray
    absent: tuple[str, ...]
    statement: Statement | None
    broken: str  # why the certificate's file cannot be believed; empty where it can
    missing: Mapping[str, int] | None

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
            return allowed_cards(self.statement, None if risk is None else risk.scale)
        return known_limits(self.record)

    @cached_property
    def bare(self) -> Card:
        """The card as the statement knows it."""
        free = self.statement is not None and self.statement.scales is not None
        return _bare(self.card, free)

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
    statement: Statement | None = None,
) -> Subject:
    """Read a card, its certificate and data together."""
    proof = given if isinstance(given, Certificate) else certificate
    card = given if isinstance(given, Scorecard) else card_of(given)
    kept = _kept(card, X)
    design = design_of(card, kept, X, y, sample_weight, class_weight)
    totals = card.totals(design.X, kept)
    if proof is not None:
        if isinstance(given, Scorecard):
            _require_same_card(card, proof)
        card = replace(card, certificate=_record(proof, card))
        if isinstance(given, Certificate):
            card = _with_risks(replace(card, step=design.step), proof, design)
        if statement is None and design.fingerprint == card.fingerprint:
            statement = restate(proof.statement, design).statement
    if statement is not None and statement.design.fingerprint != card.fingerprint:
        raise DataError(
            "the statement speaks of other data than the card: give that of the program the card "
            "was found with"
        )
    intact = proof is None or proof.content_digest() == proof.digest
    return Subject(
        card=card,
        design=design,
        totals=totals,
        absent=tuple(dict.fromkeys(c.feature for j, c in enumerate(card.columns) if j not in kept)),
        statement=statement,
        broken="" if intact else _CHANGED,
        missing=missing_counts(X) if isinstance(X, pd.DataFrame) else None,
    )


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
    same = _bare(card, proof.points.scale is not None) == proof.points
    same = same and [c.name for c in card.columns] == [c.name for c in proof.columns]
    if not same or (card.fingerprint and card.fingerprint != proof.fingerprint):
        raise DataError(
            "the certificate is not that of this card: give the two files one 'milpscore fit' wrote"
        )


def _with_risks(card: Scorecard, proof: Certificate, design: Design) -> Scorecard:
    """A card read from a certificate, with its risks where its loss gives some."""
    if len(design.names) != len(card.columns):
        return card
    loss = restate(proof.statement, design).statement.loss_of(proof.points)
    scale = risk_scale(card, design, loss)
    if scale is not None and design.fingerprint != card.fingerprint:
        scale = replace(scale, rows=(), shares=())  # these are not its training rows
    return replace(card, risk=scale)


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
        design = make_design(
            apply_columns(columns, X, feature_names=names),
            y,
            sample_weight=sample_weight,
            class_weight=class_weight,
            positive=card.classes[1],
            columns=columns,
            blocks=[[place[j] for j in block] for block in card.blocks if set(block) <= set(kept)],
        )
    if str(design.classes[0]) != str(card.classes[0]):
        raise DataError(
            f"the data's labels are {list(design.classes)}, the card answers {list(card.classes)}: "
            "give data with the card's labels"
        )
    return design


def compared_again(
    proof: Certificate,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    class_weight: Any = None,
    time_limit: float = Options.time_limit,
    random_state: int = 0,
    progress: bool | None = None,
) -> Comparison:
    """What :func:`milpscore.compare` answers for the program a certificate states."""
    name = str(proof.statement["formulation"])
    arguments = dict(proof.statement["arguments"])
    if "constraints" in arguments:
        arguments["constraints"] = [make_constraint(each) for each in arguments["constraints"]]
    card = card_of(proof)
    design = design_of(card, range(len(card.columns)), X, y, sample_weight, class_weight)
    return compare(
        design,
        formulations=[name],
        arguments={name: arguments},
        time_limit=time_limit,
        cv=None,
        random_state=random_state,
        progress=progress,
    )
