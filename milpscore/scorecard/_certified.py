"""The scorecard of a solved program, its certificate inside."""

from __future__ import annotations

from dataclasses import replace

from milpscore.core.design import Design
from milpscore.core.errors import NotApplicableError
from milpscore.core.result import Result
from milpscore.core.statement import Statement
from milpscore.losses import RiskLoss
from milpscore.scorecard._allowed import allowed_cards
from milpscore.scorecard._card import Scorecard
from milpscore.scorecard._risk_groups import risk_scale
from milpscore.verify import mean_loss


def certified_card(
    design: Design,
    result: Result,
    title: str = "Scorecard",
    *,
    statement: Statement | None = None,
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
    if statement is not None:
        certificate["allowed"] = allowed_cards(statement)
    if statement is not None and statement.constraints:
        certificate["constraints"] = [each.as_mapping() for each in statement.constraints]
    if statement is None or not isinstance(statement.loss, RiskLoss):
        return replace(card, certificate=certificate)
    certificate |= {
        "loss_name": statement.loss.name,
        "loss_without_points": mean_loss(statement, statement.empty_card())[0],
    }
    scale = risk_scale(card, design, statement.loss)
    return replace(card, certificate=certificate, risk=scale)
