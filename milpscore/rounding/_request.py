"""What every registered rounding is told."""

from __future__ import annotations

from dataclasses import dataclass

from milpscore.core.design import FloatArray

WORK_PER_SECOND = 2e6
"""Row totals a start may compute for each second of a solve: less than a tenth of its time."""


def work_within(time_limit: float) -> float:
    """The work a start may do before a solve of so many seconds; the same on every machine."""
    return WORK_PER_SECOND * time_limit


@dataclass(frozen=True, eq=False)
class Request:
    """A relaxed solution to round, and how much may be spent on it.

    Attributes
    ----------
    w : ndarray of shape (p,)
        Weights of the relaxation.
    b : float
        Its intercept.
    n_draws : int
        Draws of a rounding by chance.
    random_state : int
    max_work : float
        Most row totals a search may compute; it stops at the same card on every machine.
    """

    w: FloatArray
    b: float
    n_draws: int = 100
    random_state: int = 0
    max_work: float = 1e8
