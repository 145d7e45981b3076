"""How differently cards treat groups of rows, which of a pool do least, and what that costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from milpscore.constraints import MaxGap
from milpscore.core.card import Card
from milpscore.core.clock import Clock
from milpscore.core.design import BoolArray, Design, FloatArray, IntArray
from milpscore.core.errors import DataError, NotApplicableError, OptionError
from milpscore.core.jit import heeding_interrupts
from milpscore.core.program import Program
from milpscore.core.result import Result, Termination
from milpscore.data.ordinal import OrdinalDesign
from milpscore.pools._front import sharpened
from milpscore.pools.nearly_best import (
    Pool,
    answers_of,
    intercepts_of,
    is_positive,
    points_of,
    risks_of,
)
from milpscore.scorecard.certified import unpaired_card
from milpscore.solvers import solve
from milpscore.solvers.options import Options

GapKind = Literal["selection", "tpr", "fpr", "calibration"]


@dataclass(frozen=True)
class Fairest:
    """The card of a pool with the least gap between groups.

    Attributes
    ----------
    place : int
        Position of the card in the pool; 0 is the best.
    card : Card
    gap, loss : float
        Gap and mean loss of that card.
    best_gap, best_loss : float
        Gap and mean loss of the best card of the pool.
    proved : bool
        Whether the pool is complete: then no card within its epsilon has a smaller gap.
    """

    place: int
    card: Card
    gap: float
    loss: float
    best_gap: float
    best_loss: float
    proved: bool


def group_gaps(pool: Pool, by: Any) -> pd.DataFrame:
    """Return how differently each card of a pool treats groups of the rows it was made from.

    Parameters
    ----------
    pool : Pool
        A pool of cards with two answers.
    by : array or Series of shape (n,)
        The group of each row of the program's data; values that are missing are a group.

    Returns
    -------
    DataFrame
        A row per card, in the order of the pool: ``objective`` and ``loss``, and the largest less
        the smallest of all groups of ``selection`` (share answered positive), ``tpr`` (of the
        positive rows, sensitivity) and ``fpr`` (of the others); ``calibration`` is the largest
        distance of a group's mean risk from its share of positives, NaN without risks. Rows count
        by their weights; a group without rows of a label has no rate of it.

    Raises
    ------
    DataError
        There is not one group per row, or one group only.
    NotApplicableError
        The pool's cards decide nothing, as those of times to an event, or its rows are merged.
    """
    statement = pool.statement
    design, cards = statement.design.unpaired, pool.cards
    if getattr(statement.loss, "coupled", False):
        raise NotApplicableError("cards of times to an event decide nothing: there are no gaps")
    codes, names = checked_groups(design, by)
    paired = design is not statement.design
    if paired:  # cards of an AUC answer from the total of the fewest errors
        cards = tuple(unpaired_card(design, card.coefficients) for card in cards)
    sides = {
        "selection": np.ones(len(codes), dtype=bool), "tpr": design.y > 0, "fpr": design.y < 0
    }  # fmt: skip
    weights = {
        name: _of_groups(codes, len(names), np.where(own, design.weight, 0.0))
        for name, own in sides.items()
    }
    gaps = {name: np.empty(len(pool)) for name in get_args(GapKind)}
    points, intercepts = points_of(cards, design.shape[1]), intercepts_of(cards)
    width = max(1, 4_000_000 // len(codes))  # of bounded memory
    for first in range(0, len(pool), width):
        part = slice(first, first + width)
        scores = design.X @ points[part].T.astype(np.float64) + intercepts[part]
        answers = (
            is_positive(scores, design.step)
            if paired
            else answers_of(statement, cards[part], scores)
        )
        for name, own in weights.items():
            gaps[name][part] = _spread(own, answers)
        gaps["calibration"][part] = _miscalibrated(pool, part, scores, weights)
    figures = {"objective": pool.objectives, "loss": pool.losses, **gaps}
    return pd.DataFrame(figures)


def checked_groups(design: Design, by: Any) -> tuple[IntArray, list[Any]]:
    """Return each row's group as a number, (n,), and the groups; see :func:`group_gaps`."""
    if isinstance(design, OrdinalDesign) and design.gaps:
        raise NotApplicableError("gaps between groups are of two answers, not of ordered classes")
    if design.counts is not None:
        raise NotApplicableError("the rows of this table are merged: their groups are not known")
    codes, names = pd.factorize(np.asarray(by), use_na_sentinel=False)
    if codes.shape != design.y.shape:
        raise DataError(f"{len(design.y)} rows need one group each, got {codes.shape}")
    if len(names) < 2:
        raise DataError("all rows are of one group: there is nothing to compare")
    return np.asarray(codes, dtype=np.int64), list(names)


def fairest(pool: Pool, by: Any, gap_in: GapKind = "tpr") -> Fairest:
    """Return the card of a pool with the least gap between groups, the better of equals.

    Parameters
    ----------
    pool : Pool
    by : array or Series of shape (n,), or DataFrame
        As for :func:`group_gaps`; or what that returned.
    gap_in : {"selection", "tpr", "fpr", "calibration"}

    Returns
    -------
    Fairest

    Raises
    ------
    OptionError
        For another gap, one the cards do not have, or an empty pool.
    """
    if gap_in not in get_args(GapKind):
        raise OptionError(
            f"{{gap_in}} must be one of {', '.join(get_args(GapKind))}, got {gap_in!r}",
            gap_in=...,
        )
    table = by if isinstance(by, pd.DataFrame) else group_gaps(pool, by)
    if not len(table) or table[gap_in].isna().all():
        raise OptionError(f"no card of the pool has a gap in {gap_in}")
    place = int(np.nanargmin(table[gap_in].round(12).to_numpy()))
    return Fairest(
        place, pool.cards[place], float(table[gap_in][place]), float(table["loss"][place]),
        float(table[gap_in][0]), float(table["loss"][0]), pool.complete,
    )  # fmt: skip


def gap_front(
    program: Program,
    by: Any,
    rates: Iterable[str] = ("tpr",),
    gaps: Iterable[float] = (0.0, 0.02, 0.05, 0.1, 0.2),
    *,
    time_limit: float = Options.time_limit,
    solver: str = "auto",
    **options: Any,
) -> pd.DataFrame:
    """Return what equal treatment costs: the best card within each limit on the gap of groups.

    Parameters
    ----------
    program : Program
        Exact, of two classes; its own constraints stay.
    by : str, or array of shape (n,)
        As :class:`milpscore.constraints.MaxGap` takes it.
    rates : iterable of {"tpr", "fpr", "selection"}
        Each of them is limited; ``("tpr", "fpr")`` are equalised odds.
    gaps : iterable of float in [0, 1]
        The limits.
    time_limit : float
        Seconds in all; what one limit leaves goes to the next ones.
    solver, **options :
        As in :func:`milpscore.solvers.solve`.

    Returns
    -------
    DataFrame
        A row per limit, the strictest first: ``limit``, ``objective``, ``loss``, ``dual_bound``,
        ``mip_gap``, ``claim`` and the Result. A card within a stricter limit starts the next
        search, and a bound for a looser one holds for it as well. After an interrupt (Ctrl-C): the
        limits so far.

    Raises
    ------
    NotApplicableError
        The program cannot be stated anew with a further constraint.
    FormulationError
        As MaxGap does.
    """
    if program.restated is None:
        raise NotApplicableError("this program does not know its arguments: build it anew")
    asked, own = sorted({*map(float, gaps)}), program.arguments.get("constraints") or ()
    limited = list(rates)
    clock, results, start = Clock.of(time_limit), dict[int, Result](), None
    with heeding_interrupts():  # between the solves: the limits that are done stay
        for at, limit in enumerate(asked):
            rules = [*own, *(MaxGap(rate, by, limit) for rate in limited)]
            stated = program.restated({**program.arguments, "constraints": rules})
            left = clock.left / (len(asked) - at)
            results[at] = solve(stated, solver, warm_start=start, time_limit=left, **options)
            start = results[at].card or start
            if results[at].termination is Termination.INTERRUPTED:
                break
    known = sharpened(results)  # a bound for a looser limit holds for a stricter one
    figures = [
        (each.objective, each.loss, each.dual_bound, each.gap, str(each.claim), each)
        for each in known.values()
    ]
    names = ["objective", "loss", "dual_bound", "mip_gap", "claim", "result"]
    table = pd.DataFrame(figures, columns=names)
    table.insert(0, "limit", asked[: len(known)])
    return table


def _of_groups(codes: Any, count: int, weight: FloatArray) -> FloatArray:
    """Return each row's share of its group's weight in that group's row, (groups, n)."""
    found = np.zeros((count, len(codes)))
    found[codes, np.arange(len(codes))] = weight
    sums = found.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.asarray(found / np.where(sums > 0.0, sums, np.nan))


def _spread(shares: FloatArray, answers: BoolArray) -> FloatArray:
    """Return the largest less the smallest rate of groups, per card; NaN for less than two."""
    rates = shares[~np.isnan(shares).any(axis=1)] @ answers.astype(np.float64)
    return (
        rates.max(axis=0) - rates.min(axis=0) if len(rates) > 1 else np.full(rates.shape[1], np.nan)
    )


def _miscalibrated(
    pool: Pool, part: slice, scores: FloatArray, weights: dict[str, FloatArray]
) -> FloatArray:
    """Return the largest distance of a group's mean risk from its share of positives, per card."""
    risks = risks_of(pool.statement, pool.cards[part], scores)
    if risks is None:
        return np.full(scores.shape[1], np.nan)
    shares = weights["selection"]
    off = shares @ (risks - (pool.statement.design.y > 0)[:, None])
    return np.asarray(np.abs(off[~np.isnan(shares).any(axis=1)]).max(axis=0))
