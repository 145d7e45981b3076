"""Fused-lasso scores of a binned design: learnt feature by feature, and jointly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from milpscore.core.card import Card
from milpscore.core.design import Design, FloatArray, IntArray
from milpscore.core.errors import SolverError
from milpscore.core.result import Claim, Result
from milpscore.fitting import fit_card
from milpscore.rounding import combine
from milpscore.scorecard import Scorecard

SCORE_METHODS = ("by_feature", "joint")
"""As the slides' algorithm prints it; all features in one program."""


class FusedLassoOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is asked of every program.

    ``lam`` is the price of a jump by one point, beside the mean hinge loss: the slides' lambda / n;
    points lie in 0, ..., ``most_points``. What seconds cut off is not the same on every machine.
    """

    lam: float = 0.01
    margin: float = 1.0
    most_points: int = 10
    node_limit: int | None = 2000
    time_limit: float = 300.0

    def fit(self, design: Design) -> Result:
        """The score of a design; the lowest bin of each feature has 0 points."""
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
    """The score of a design all of whose columns are bins, by one of :data:`SCORE_METHODS`.

    Feature by feature, each program sees its own bins only, so that rows that agree in them are
    one; the points are summed and the totals cut where the fewest rows are wrong.
    """
    parts = [design] if method == "joint" else [_only(design, block) for block in design.blocks]
    results = [options.fit(part) for part in parts]
    points = [result.card.coefficients for result in results if result.card is not None]
    joint = results[0].card if method == "joint" else None
    proved = all(result.claim is Claim.OPTIMAL for result in results)
    gap = max(float(result.gap) for result in results)
    return Learnt(joint or summed(design, points), proved, gap)


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
    """The card of each block's points, its separator where the fewest rows are wrong."""
    cards = {}
    for block, own in zip(design.blocks, points, strict=True):
        every = np.zeros(design.shape[1], dtype=np.int64)
        every[list(block)] = own
        cards[design.columns[block[0]].feature] = Card(every, Fraction(0))
    return combine(design, cards)


def conditions(card: Scorecard) -> list[tuple[str, str, int]]:
    """(feature, condition, points) of every bin that is left after merging equal neighbours."""
    return [(row.feature, row.condition, row.points) for rows in card.rows for row in rows]


def by_total(totals: FloatArray, positive: Any) -> pd.DataFrame:
    """Rows of either class by total: columns total (0, 1, ...), negative, positive.

    ``positive`` is 1 for the positive class, else 0 or -1.
    """
    whole = np.rint(totals).astype(np.int64)
    count = int(whole.max()) + 1
    sides = {
        name: np.bincount(whole[(np.asarray(positive) == 1) == side], minlength=count)
        for name, side in (("negative", False), ("positive", True))
    }
    return pd.DataFrame({"total": np.arange(count), **sides})
