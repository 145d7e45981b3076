"""The scorecard of a solved program, with the cards its bound speaks of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from milpscore.core.design import Design
from milpscore.core.errors import NotApplicableError
from milpscore.core.result import Result
from milpscore.core.statement import Statement
from milpscore.losses import RiskLoss
from milpscore.penalties import L0, L1
from milpscore.scorecard._card import Scorecard
from milpscore.scorecard.risks import risk_scale
from milpscore.verify.cards import mean_loss


def certified_card(
    design: Design, result: Result, title: str = "Scorecard", *, statement: Statement | None = None
) -> Scorecard:
    """The scorecard of a result, training errors counted as the printed card answers.

    Parameters
    ----------
    design : Design
        What the program was stated on.
    result : Result
    title : str
    statement : Statement, optional
        Of the program: its constraints, and which cards it allows, stand in the certificate; a
        risk score's card then knows its risks, and its certificate the name of the loss and what
        the loss would be without points.

    Returns
    -------
    Scorecard
        Its certificate is the result's summary with ``errors`` and ``n_rows``, both over the rows
        of positive weight, and ``terms`` counted in raw features.

    Raises
    ------
    NotApplicableError
        The result has no card.
    """
    if result.card is None:
        raise NotApplicableError(f"the result has no card to show: {result.message}")
    card = Scorecard.from_card(result.card, design, title=title)
    counted = design.weight > 0
    wrong = card.rule.positive(card.score_design(design.X)) != (design.y > 0)
    certificate = {
        **result.summary(),
        "terms": card.terms,
        "errors": int(wrong[counted].sum()),
        "n_rows": int(counted.sum()),
    }
    if statement is None:
        return replace(card, certificate=certificate)
    certificate["allowed"] = allowed_cards(statement)
    if statement.constraints:
        certificate["constraints"] = [each.as_mapping() for each in statement.constraints]
    if isinstance(statement.loss, RiskLoss):
        certificate["loss_name"] = statement.loss.name
        certificate["loss_without_points"] = mean_loss(statement, statement.empty_card())[0]
    risk = risk_scale(card, design, statement.loss)
    return replace(card, certificate=certificate, risk=risk)


def allowed_cards(statement: Statement) -> dict[str, Any]:
    """The cards a bound speaks of, in the terms a sentence about it needs."""
    lower, upper = statement.ranges
    alike = bool(np.all(lower == lower[:1]) and np.all(upper == upper[:1]))
    return {
        "loss": statement.loss.name,
        "columns": len(lower),
        "max_terms": statement.max_terms,
        "coef_min": int(lower.min(initial=0)) if not alike else int(lower[0]),
        "coef_max": int(upper.max(initial=0)) if not alike else int(upper[0]),
        "uniform": alike and not statement.coef_sets,
        "constraints": len(statement.constraints),
        "most_penalty": most_penalty(statement),
    }


def most_penalty(statement: Statement) -> float | None:
    """The most that penalties on terms and points can charge an allowed card."""
    lower, upper = statement.ranges
    largest = np.maximum(np.abs(lower), np.abs(upper)).astype(np.float64)
    charge = np.zeros(len(largest))
    for term in statement.penalties:
        if isinstance(term, L0):
            charge += term.lam * (largest > 0)
        elif isinstance(term, L1):
            charge += term.lam * largest
        else:
            return None
    terms = len(charge) if statement.max_terms is None else statement.max_terms
    return float(np.sort(charge)[::-1][:terms].sum())
