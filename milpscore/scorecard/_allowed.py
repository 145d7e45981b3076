"""Which cards a statement speaks of, as plain data that a saved certificate can carry."""

from __future__ import annotations

from typing import Any

import numpy as np

from milpscore.core.statement import Statement
from milpscore.penalties import L0, L1


def allowed_cards(statement: Statement) -> dict[str, Any]:
    """The cards a bound speaks of, in the terms a sentence about it needs.

    Parameters
    ----------
    statement : Statement

    Returns
    -------
    dict
        ``loss``, the loss's name; ``columns`` of the design; ``max_terms`` or None; ``coef_min``
        and ``coef_max``, the least and the most points any column may have; ``uniform``, whether
        every column may have all whole numbers between the two; ``constraints``, how many there
        are; ``most_penalty``, a number no allowed card's penalty exceeds, None where none is
        known.
    """
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
    """The most that penalties on terms and points can charge an allowed card.

    Parameters
    ----------
    statement : Statement

    Returns
    -------
    float or None
        None for a statement with another penalty.
    """
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
