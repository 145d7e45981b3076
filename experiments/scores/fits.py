"""Fused-lasso scores of a binned design: learnt feature by feature, and jointly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import Design, IntArray
from milpscore.core.errors import SolverError
from milpscore.core.result import Claim, Result
from milpscore.fitting import fit_card
from milpscore.rounding import combine

SCORE_METHODS = ("by_feature", "joint")
"""As the slides' algorithm prints it; all features in one program."""


@dataclass(frozen=True)
class FusedLassoOptions:
    """What is asked of every program.

    Attributes
    ----------
    lam : float
        Price of a jump by one point, beside the mean hinge loss: the slides' lambda / n.
    margin : float
        1 in the slides.
    most_points : int
        Points lie in 0, ..., most_points.
    node_limit : int or None
        The same on every machine, unlike seconds.
    time_limit : float
        Seconds of each program; what they cut off is not deterministic.
    """

    lam: float = 0.01
    margin: float = 1.0
    most_points: int = 10
    node_limit: int | None = 2000
    time_limit: float = 300.0

    def fit(self, design: Design) -> Result:
        """The score of a design; the lowest bin of each feature has 0 points.

        Raises
        ------
        SolverError
            The limits leave no card.
        """
        _, result = fit_card(
            design, "fused_lasso", lam=self.lam, margin=self.margin, coef_min=0,
            coef_max=self.most_points, reference="lowest", progress=False,
            time_limit=self.time_limit, options={"node_limit": self.node_limit},
        )  # fmt: skip
        if result.card is None:
            raise SolverError(f"{result.message or result.termination}: raise the limits")
        return result


@dataclass(frozen=True)
class Learnt:
    """A card, whether all of its programs were proved optimal, and their largest gap."""

    card: Card
    proved: bool
    gap: float


def learn(method: str, design: Design, options: FusedLassoOptions) -> Learnt:
    """The score by one of :data:`SCORE_METHODS`.

    Feature by feature, each program sees its own bins only, so that rows that agree in them are
    one; the points are summed and the totals cut where the fewest rows are wrong.

    Parameters
    ----------
    method : str
    design : Design
        Every column in a block of bins.
    options : FusedLassoOptions
    """
    if method == "joint":
        results = [options.fit(design)]
        card = results[0].card
    else:
        results = [options.fit(_only(design, block)) for block in design.blocks]
        card = summed(design, [_points(result) for result in results])
    assert card is not None
    proved = all(result.claim is Claim.OPTIMAL for result in results)
    return Learnt(card, proved, max(float(result.gap) for result in results))


def _only(design: Design, block: tuple[int, ...]) -> Design:
    """The design of one feature."""
    own = list(block)
    return replace(
        design,
        X=design.X[:, own],
        columns=tuple(design.columns[j] for j in own),
        blocks=(tuple(range(len(own))),),
    )


def summed(design: Design, points: Sequence[IntArray]) -> Card:
    """The card of each feature's points, its separator where the fewest rows are wrong.

    Parameters
    ----------
    design : Design
    points : sequence of int arrays
        Those of each block's bins.
    """
    cards = {}
    for block, own in zip(design.blocks, points, strict=True):
        every = np.zeros(design.shape[1], dtype=np.int64)
        every[list(block)] = own
        cards[design.columns[block[0]].feature] = Card(every, Fraction(0))
    return combine(design, cards)


def _points(result: Result) -> IntArray:
    """The points of a result that has a card."""
    assert result.card is not None
    return result.card.coefficients
