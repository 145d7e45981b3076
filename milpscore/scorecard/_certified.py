"""The scorecard of a solved program, its certificate inside."""

from __future__ import annotations

from dataclasses import replace

from milpscore.core.design import Design
from milpscore.core.errors import NotApplicableError
from milpscore.core.result import Result
from milpscore.scorecard._card import Scorecard


def certified_card(design: Design, result: Result, title: str = "Scorecard") -> Scorecard:
    """The scorecard of a result, training errors counted as the printed card answers.

    Parameters
    ----------
    design : Design
        What the program was stated on.
    result : Result
    title : str

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
    return replace(card, certificate=certificate)
