"""How far the risks a card states would lie elsewhere, were the card made again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from milpscore.core.design import FloatArray
from milpscore.core.errors import NotApplicableError, OptionError, is_whole
from milpscore.core.program import Program
from milpscore.pools import BOOTSTRAPS
from milpscore.pools.nearly_best import Pool, intercepts_of, points_of, risks_of
from milpscore.pools.redraws import CardsAgain, Redrawn, redrawn
from milpscore.scorecard import Scorecard


@dataclass(frozen=True, eq=False)
class RiskIntervals:
    """The risks a card states, and those of the cards made again.

    Attributes
    ----------
    totals : DataFrame
        A row per total that occurs: ``total``, the stated ``risk``, ``lower`` and ``upper`` (the
        interval of the mean risk that cards made again state for these rows), ``rows``; and with a
        pool ``pool_least`` and ``pool_most``, the ends of that mean over its cards.
    rows : DataFrame
        The same per distinct row of the data, for an instability plot.
    level : float
    samples : Redrawn
        ``asked``, ``failed`` (how often a sample gave no card, per reason) and ``interrupted``.
    """

    totals: pd.DataFrame
    rows: pd.DataFrame
    level: float
    samples: Redrawn[FloatArray]


@dataclass(frozen=True)
class _RisksAgain:
    """Makes the card on a sample, and states the risks of the rows X."""

    again: CardsAgain
    X: FloatArray

    def __call__(self, random: np.random.Generator) -> FloatArray:
        card = self.again.card(self.again.sample(random))
        return card.risks(card.score_design(self.X)).astype(np.float32)


def risk_intervals(
    program: Program,
    card: Scorecard,
    *,
    level: float = 0.95,
    pool: Pool | None = None,
    patients: Any = None,
    bootstraps: int = BOOTSTRAPS,
    n_jobs: int = 1,
    random_state: int = 0,
    progress: bool | None = None,
) -> RiskIntervals:
    """Return an interval for every risk that a card states, by making the card again.

    The card is made again (in fast mode) on bootstrap samples of its rows. Each of those cards
    states a risk for every row; the rows of one total have a mean of them, whose quantiles over the
    samples are the interval. It holds what Wilson's interval of the observed share does not: that
    lines, points and scale were chosen by the same rows.

    Parameters
    ----------
    program : Program
        What the card was made with.
    card : Scorecard
        With risks, of the program's design.
    level : float in (0, 1)
    pool : Pool, optional
        The program's: adds the range over its cards.
    patients : array of shape (n,), optional
        Whose row each is; the rows of a patient are drawn together.
    bootstraps, n_jobs, random_state, progress :
        As in :func:`stability`.

    Returns
    -------
    RiskIntervals

    Raises
    ------
    NotApplicableError
        The card states no risks, or the program does not know its arguments.
    OptionError
        For a level or a number of samples out of range, or if no sample gave a card.

    References
    ----------
    Riley and Collins, "Stability of clinical prediction models", Biometrical Journal 65 (2023): the
    instability plot.
    """
    if card.risk is None or getattr(program.statement.loss, "coupled", False):
        raise NotApplicableError("this card states no risks of two classes: there is no interval")
    if not program.arguments:
        raise NotApplicableError("this program does not know its arguments: build it anew")
    if not is_whole(bootstraps, 2):
        raise OptionError(f"bootstraps must be a whole number >= 2, got {bootstraps!r}")
    if not 0.0 < level < 1.0:
        raise OptionError(f"level must lie between 0 and 1, got {level!r}")
    design = program.statement.design
    merged = design.merged
    X, place = np.unique(merged.X, axis=0, return_inverse=True)
    counts = merged.sums(design.rows)
    counts = np.bincount(place.ravel(), counts, len(X)).astype(np.float64)
    work = _RisksAgain(CardsAgain.of(program, random_state, patients), X)
    samples = redrawn(work, bootstraps, n_jobs=n_jobs, random_state=random_state, progress=progress)
    if len(samples.made) < 2:
        raise OptionError(f"fewer than two samples gave a card: {dict(samples.failed)}")
    totals = card.score_design(X)
    distinct, line = np.unique(totals, return_inverse=True)
    again, good = np.array(samples.made), None if pool is None else _pool_risks(pool, X)
    rows = _table(totals, card, counts, again, good, level)
    by_total = [_means(risks, line, counts) for risks in (again, good) if risks is not None]
    mass = np.bincount(line, weights=counts).astype(np.float64)
    means = _table(distinct, card, mass, by_total[0], by_total[1] if pool else None, level)
    return RiskIntervals(means, rows, level, samples)


def risk_spread(risks: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return both ends of what the middle ``level`` of cards (rows of risks) state; (m,) each."""
    tail = (1.0 - level) / 2.0
    lower, upper = np.quantile(risks, [tail, 1.0 - tail], axis=0)
    return lower, upper


def _table(
    totals: FloatArray, card: Scorecard, rows: FloatArray, again: FloatArray,
    good: FloatArray | None, level: float,
) -> pd.DataFrame:  # fmt: skip
    """Lay out stated risks beside those of cards made again, and of a pool's cards."""
    lower, upper = risk_spread(again, level)
    figures: dict[str, Any] = {
        "total": totals, "risk": card.risks(totals), "lower": lower, "upper": upper,
        "rows": np.rint(rows).astype(np.int64),
    }  # fmt: skip
    if good is not None:
        figures |= {"pool_least": good.min(axis=0), "pool_most": good.max(axis=0)}
    return pd.DataFrame(figures)


def _means(risks: FloatArray, line: Any, counts: FloatArray) -> FloatArray:
    """Return the mean risk per line of each card (rows of risks), by the rows' counts."""
    mass = np.bincount(line, weights=counts).astype(np.float64)
    return np.array([np.bincount(line, weights=own * counts) / mass for own in risks])


def _pool_risks(pool: Pool, X: FloatArray) -> FloatArray:
    """Return the risks that the cards of a pool state for rows X; shape (V, m)."""
    scores = X @ points_of(pool.cards, X.shape[1]).T.astype(np.float64) + intercepts_of(pool.cards)
    risks = risks_of(pool.statement, pool.cards, scores)
    if risks is None or not len(pool):
        raise NotApplicableError("the pool has no cards that state risks")
    return risks.T
