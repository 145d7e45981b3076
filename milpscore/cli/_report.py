"""A solved program as the flat report that ``--json`` prints and the saved card carries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from milpscore.core.design import Design
    from milpscore.core.result import Result
    from milpscore.core.statement import Statement
    from milpscore.scorecard import Scorecard


def make_card(
    design: Design, result: Result, title: str, statement: Statement | None = None
) -> Scorecard | None:
    """The scorecard of a result, its certificate inside; None where the result has no card.

    The statement makes a risk score's card know its risks.
    """
    from milpscore.scorecard import certified_card

    if result.card is None:
        return None
    return certified_card(design, result, title, statement=statement)


def make_report(
    design: Design, result: Result, card: Scorecard | None, seconds: float
) -> dict[str, Any]:
    """Everything known about a solve, by the names used in JSON and tables.

    Parameters
    ----------
    design : Design
    result : Result
    card : Scorecard or None
        As made by :func:`make_card`.
    seconds : float
        From the design to the card: build, start, solve and re-check.

    Returns
    -------
    dict
        ``coefficients``, ``intercept`` and the like are None without a card; numbers may be
        infinite or NaN.
    """
    counted = int((design.weight > 0).sum())
    errors = None if card is None else card.certificate["errors"]
    about_card = {
        "coefficients": None if card is None else card.coefficients,
        "intercept": None if card is None else card.intercept,
        "threshold": None if card is None else card.threshold,
        "terms": None if card is None else card.terms,
        "bins": None if card is None else card.bins,
        "train_accuracy": None if errors is None else 1 - errors / counted,
        "errors": errors,
    }
    about_data = {
        "n_rows": counted,
        "n_columns": design.shape[1],
        "classes": list(design.classes),
        "fingerprint": design.fingerprint,
    }
    times = {
        "seconds": seconds,
        "build_seconds": result.build_seconds,
        "load_seconds": result.load_seconds,
        "solve_seconds": result.solve_seconds,
    }
    return {**result.summary(), **about_card, **about_data, **times}
