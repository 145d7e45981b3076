"""The pool: its cards, what is proved of them, and what they say of the features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from milpscore.core.card import Card
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import OptionError
from milpscore.core.statement import Statement
from milpscore.pools._figures import (
    groups_of,
    intercepts_of,
    losses_of,
    penalties_of,
    points_of,
    reliance_of,
    with_points,
)

if TYPE_CHECKING:
    from milpscore.solvers.tree._all_cards import Stopped

FIGURES = (
    "objective", "loss", "penalty", "terms", "nonzeros", "decisions", "scores", "intercept",
)  # fmt: skip
"""The columns of a pool's table before the points."""

RANGES = ("share", "min_points", "max_points", "min_reliance", "max_reliance")
"""The columns of a pool's tables of importance."""

_WHY: dict[Stopped, str] = {
    "complete": "",
    "time_limit": "the time limit was reached: raise time_limit, or lower epsilon",
    "node_limit": "the node limit was reached: raise node_limit, or lower epsilon",
    "card_limit": "the limit on cards was reached: raise max_cards, or lower epsilon",
    "interrupted": "it was interrupted",
}


@dataclass(frozen=True, eq=False, repr=False)
class Pool:
    """The cards within a relative epsilon of the best one.

    Attributes
    ----------
    statement : Statement
        What was searched.
    cards : tuple of Card
        By objective, the best first.
    epsilon : float
    threshold : float
        (1 + epsilon) times the best objective: the most a card of the pool has; infinite without
        one.
    complete_up_to : float
        Every card with a smaller objective is in the pool; ``threshold`` where it is complete.
    stopped : {"complete", "time_limit", "node_limit", "card_limit", "interrupted"}
        Why the search ended; it may have been proved complete all the same.
    every_intercept : bool
        Whether points w stand once for every whole intercept, and not with their best one only.
    nodes : int
        Relaxations solved, those for the optimum included.
    seconds : float
    """

    statement: Statement
    cards: tuple[Card, ...]
    epsilon: float
    threshold: float
    complete_up_to: float
    stopped: Stopped
    every_intercept: bool
    nodes: int
    seconds: float

    def __len__(self) -> int:
        """How many cards."""
        return len(self.cards)

    def __repr__(self) -> str:
        """Size and what is proved; the cards stay out."""
        within = f"{len(self)} cards within {self.epsilon:g} of {self.optimum:.6g}"
        return f"<Pool of {within}: {self.missing}>"

    @property
    def complete(self) -> bool:
        """Whether no card is missing."""
        return self.complete_up_to >= self.threshold

    @property
    def optimum(self) -> float:
        """The least objective in the pool; infinite without cards."""
        return float(self.objectives.min(initial=math.inf))

    @property
    def proved(self) -> bool:
        """Whether :attr:`optimum` is that of all cards."""
        return self.complete_up_to >= self.optimum

    @property
    def missing(self) -> str:
        """What is proved of the cards that are not in the pool, in words."""
        if self.complete:
            return "complete, no card is missing" if self.cards else "no card is allowed"
        why = _WHY[self.stopped]
        if not math.isfinite(self.complete_up_to):
            return f"nothing is proved, {why}"
        known = f"complete up to objective {self.complete_up_to:.6g} of {self.threshold:.6g}"
        if not self.cards:
            return (
                f"no card was found, {why}; none has an objective below {self.complete_up_to:.6g}"
            )
        better = "" if self.proved else "; a better card than its best may be missing"
        return f"{known}{better}; {why}"

    @cached_property
    def points(self) -> IntArray:
        """Whole coefficients, shape (cards, p)."""
        return points_of(self.cards, self.statement.design.shape[1])

    @cached_property
    def losses(self) -> FloatArray:
        """Mean weighted losses, shape (cards,)."""
        return losses_of(self.statement, self.points, intercepts_of(self.cards))

    @cached_property
    def objectives(self) -> FloatArray:
        """Losses with their penalties, shape (cards,)."""
        return self.losses + self._penalties

    @cached_property
    def _penalties(self) -> FloatArray:
        return penalties_of(self.statement, self.points)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row a card, the best first: :data:`FIGURES`, then the points of every column.

        ``terms`` counts raw features, ``nonzeros`` columns. Cards with one number in ``decisions``
        answer every row of the data alike (as a card and its multiples do), cards with one number
        in ``scores`` give every row the same score. A design column that is called like one of the
        figures stands as "<name> (points)".
        """
        design = self.statement.design
        decisions, scores = groups_of(self.statement, self.points, intercepts_of(self.cards))
        figures: dict[str, Any] = {
            "objective": self.objectives,
            "loss": self.losses,
            "penalty": self._penalties,
            "terms": [design.count_terms(w) for w in self.points],
            "nonzeros": np.count_nonzero(self.points, axis=1),
            "decisions": decisions,
            "scores": scores,
            "intercept": intercepts_of(self.cards),
        }
        return with_points(figures, self.points, design.names)

    def distinct(self, by: Literal["decisions", "scores"] = "decisions") -> pd.DataFrame:
        """The best card of each group that is alike on the data.

        Parameters
        ----------
        by : {"decisions", "scores"}
            Alike in every answer, or in every score.

        Returns
        -------
        DataFrame
            Rows of :attr:`table`, with their index.

        Raises
        ------
        OptionError
        """
        if by not in ("decisions", "scores"):
            raise OptionError(f"by must be 'decisions' or 'scores', got {by!r}")
        return self.table.drop_duplicates(by)

    @cached_property
    def importance(self) -> pd.DataFrame:
        """Ranges over the pool for each design column; without rows where there is no card.

        ``share`` of the cards that use it, ``min_points`` and ``max_points``, and
        ``min_reliance`` to ``max_reliance``: the rise of a card's loss once the column's points
        are 0 and the intercept is refitted (0 where a card does not use it).
        """
        names = self.statement.design.names
        return self._ranges({name: [j] for j, name in enumerate(names)}, "column")

    @cached_property
    def feature_importance(self) -> pd.DataFrame:
        """As :attr:`importance`, for raw features: all columns of one lose their points at once."""
        columns: dict[str, list[int]] = {}
        for j, column in enumerate(self.statement.design.columns):
            columns.setdefault(column.feature, []).append(j)
        return self._ranges(columns, "feature")

    def _ranges(self, columns: dict[str, list[int]], kind: str) -> pd.DataFrame:
        """One row for each group of columns."""
        if not self.cards:
            columns = {}
        rows = [self._range(np.array(group)) for group in columns.values()]
        index = pd.Index(list(columns), name=kind, dtype=object)
        return pd.DataFrame(rows, index=index, columns=list(RANGES))

    def _range(self, columns: IntArray) -> dict[str, Any]:
        """What the cards say of some columns."""
        points = self.points[:, columns]
        reliance = reliance_of(self.statement, self.points, self.losses, columns)
        return {
            "share": float(points.any(axis=1).mean()),
            "min_points": int(points.min()),
            "max_points": int(points.max()),
            "min_reliance": float(reliance.min()),
            "max_reliance": float(reliance.max()),
        }


def by_objective(statement: Statement, cards: Sequence[Card]) -> tuple[list[Card], FloatArray]:
    """The cards in the order of their objectives, ties by points, and the objectives."""
    points = points_of(cards, statement.design.shape[1])
    b = intercepts_of(cards)
    values = losses_of(statement, points, b) + penalties_of(statement, points)
    # to twelve digits: rounding must not order what ties
    keys = [(float(f"{values[i]:.12g}"), tuple(points[i].tolist()), b[i]) for i in range(len(b))]
    order = sorted(range(len(b)), key=keys.__getitem__)
    return [cards[i] for i in order], values[order]
