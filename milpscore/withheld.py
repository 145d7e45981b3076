"""A card of counts whose small cells are withheld, with what holds for every filling of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from milpscore.core.card import FloatTotals
from milpscore.core.clock import Clock
from milpscore.core.design import FloatArray
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.program import Program
from milpscore.core.result import Result
from milpscore.data import read_counts
from milpscore.fitting import fit_card
from milpscore.formulations import BEYOND, any_scale
from milpscore.solvers.options import Options


@dataclass(frozen=True, eq=False)
class Withheld:
    """A card, and what is proved of it for every filling of the withheld cells.

    Attributes
    ----------
    program, result :
        The program of the counts with every withheld cell in the middle of its range, and its
        answer with the card.
    least, most : float
        The ends of the card's objective over all fillings; each of them is attained, but for whole
        numbers of rows.
    bound : float
        No card has a smaller objective for any filling, at any of the ``scales``.
    scales : (float, float) or None
        The scales that the bound holds for; None if it holds for all, or the cards have none.
    rows : (int, int)
        All rows, at least and at most.
    """

    program: Program
    result: Result
    least: float
    most: float
    bound: float
    scales: tuple[float, float] | None
    rows: tuple[int, int]

    def __str__(self) -> str:
        low, high = self.rows
        said = (
            f"{low:,} to {high:,} rows: for every filling of the withheld cells the objective of "
            f"the card lies from {self.least:.6g} to {self.most:.6g}, and that of no card below "
            f"{self.bound:.6g}"
        )
        if self.scales is None:
            return f"{said}."
        return f"{said}, at scales from {self.scales[0]:.3g} to {self.scales[1]:.3g}."


def fit_withheld(
    paths: Sequence[str | Path],
    formulation: str = "risk_score",
    *,
    time_limit: float = Options.time_limit,
    progress: bool | None = None,
    **arguments: Any,
) -> Withheld:
    r"""Fit a card to counts whose small cells are withheld, with bounds for every filling.

    The card is the best one for the middle of the ranges. With counts :math:`c` between
    :math:`l` and :math:`u`, losses of at least 0 and a penalty of at least 0,

    .. math:: \frac{\sum_i c_i \ell_i}{\sum_i c_i} + P \ge
        \frac{\sum_i l_i}{\sum_i u_i} \left(\frac{\sum_i l_i \ell_i}{\sum_i l_i} + P\right),

    and the bracket is bounded for all cards by a second search, of the least counts.

    Parameters
    ----------
    paths : sequence of path
        Files of :func:`milpscore.data.write_counts`, some with ``withhold``.
    formulation : str
        An exact one of two classes.
    time_limit : float
        Seconds in all.
    progress : bool, optional
    **arguments :
        Arguments of the formulation.

    Returns
    -------
    Withheld

    Raises
    ------
    OptionError
        No card was found.
    NotApplicableError
        The formulation has no exact cards, or a constraint limits errors, which depend on the
        filling.
    """
    clock = Clock.of(time_limit)
    middle, fewest, most = (
        read_counts(*paths, withheld=end) for end in ("middle", "least", "most")
    )
    given: dict[str, Any] = {**arguments, "progress": progress}
    program, result = fit_card(middle, formulation, time_limit=clock.part(0.5), **given)
    if program.kind != "exact":
        raise NotApplicableError(f"{formulation} has no exact cards to hold a bound against")
    if program.statement.limits_errors:
        raise NotApplicableError("limits on errors depend on the withheld cells: leave them out")
    if result.card is None:
        raise OptionError(f"no card was found: {result.message}")
    other, low = fit_card(fewest, formulation, time_limit=max(clock.left, 0.0), **given)
    ends = fewest.merged.weight, most.merged.weight
    share = float(ends[0].sum() / ends[1].sum())
    bound, scales = low.dual_bound, other.statement.scales
    everywhere = scales is None or any_scale(other.statement, bound)
    if scales is not None and everywhere:
        bound -= BEYOND  # what scales beyond the range searched may gain
    card, rows = result.card, most.merged
    loss = program.statement.loss_of(card)
    totals = FloatTotals(rows.X @ card.coefficients.astype(np.float64), 0.0)
    lost = np.asarray(loss.rows(totals, card.intercept, rows.y), dtype=np.float64)
    penalty = program.statement.penalty(card.coefficients)
    return Withheld(
        program, result, penalty - _largest_mean(-lost, *ends),
        penalty + _largest_mean(lost, *ends), share * max(bound, 0.0),
        None if everywhere or scales is None else (float(scales.lower), float(scales.upper)),
        (int(ends[0].sum()), int(ends[1].sum())),
    )  # fmt: skip


def _largest_mean(lost: FloatArray, least: FloatArray, most: FloatArray) -> float:
    """Return the largest mean of losses with counts between ends: the dearest cells are full."""
    order = np.argsort(-lost)
    more = (most - least)[order]
    sums = np.r_[0.0, np.cumsum(more * lost[order])] + float(least @ lost)
    return float((sums / (np.r_[0.0, np.cumsum(more)] + float(least.sum()))).max())
