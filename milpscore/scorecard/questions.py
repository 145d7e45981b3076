"""The order of questions in which a card decides soonest, and when to stop asking."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from milpscore.core.design import FloatArray, as_fraction
from milpscore.core.errors import DataError, NotApplicableError, SizeError
from milpscore.data import apply_columns
from milpscore.scorecard._card import Scorecard
from milpscore.scorecard.policy import POLICY
from milpscore.scorecard.rendering import exact_number


@dataclass(frozen=True)
class Question:
    """One of the questions in their order.

    Attributes
    ----------
    feature : str
    positive_from, negative_below : Fraction or None
        After this question the answer is positive if the total so far is at least the first, and
        negative if it is below the second, whatever the others answer; None if no total is.
    undecided : float
        The share of rows that have to be asked on.
    """

    feature: str
    positive_from: Fraction | None
    negative_below: Fraction | None
    undecided: float


@dataclass(frozen=True, repr=False)
class QuestionOrder:
    """Questions in the order that decides soonest.

    Attributes
    ----------
    questions : tuple of Question
        The points of a feature count from its base points on, as the card prints them.
    expected : float
        How many questions a row takes on average: no order takes fewer.
    as_printed : float
        The same in the order of the card.
    """

    questions: tuple[Question, ...]
    expected: float
    as_printed: float

    @property
    def sentence(self) -> str:
        """The order and where to stop, as it stands on a form."""
        parts = []
        for question in self.questions[:-1]:
            stops = [
                said.format(exact_number(total))
                for said, total in (
                    ("{} or more", question.positive_from), ("below {}", question.negative_below)
                )
                if total is not None
            ]  # fmt: skip
            parts.append(f"{question.feature} (stop at {' or '.join(stops)})" if stops
                         else question.feature)  # fmt: skip
        parts.append(self.questions[-1].feature)
        return (
            f"Decided soonest, on average after {self.expected:.1f} of {len(parts)} questions, if "
            f"asked in this order: {', '.join(parts)}."
        )

    def to_text(self) -> str:
        """One line per question."""
        lines = [
            f"Ask in this order: {self.expected:.2f} of {len(self.questions)} questions on average "
            f"({self.as_printed:.2f} as printed)."
        ]
        for k, question in enumerate(self.questions, 1):
            stops = []
            if question.positive_from is not None:
                stops.append(f"{exact_number(question.positive_from)} or more (positive)")
            if question.negative_below is not None:
                stops.append(f"below {exact_number(question.negative_below)} (negative)")
            stop = f"stop if the total is {' or '.join(stops)}; " if stops else ""
            lines.append(f"{k}. {question.feature}: {stop}{question.undecided:.0%} go on")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<QuestionOrder of {len(self.questions)}: {self.expected:.2f} on average>"


def question_order(card: Scorecard, X: Any, sample_weight: Any = None) -> QuestionOrder:
    r"""Return the order of a card's features in which rows are decided soonest.

    Whether a row is decided after some questions depends on which were asked, and not on their
    order. With u(S) the share of rows that the features S leave undecided, an order takes
    :math:`\sum_S u(S)` questions on average, over the sets S that have been asked before each, the
    empty one first: a shortest path among all sets, which is found exactly (dynamic programming).

    Parameters
    ----------
    card : Scorecard
    X : DataFrame, array or list of rows, shape (n, q)
        Rows such as will be asked; raw data.
    sample_weight : array of shape (n,), optional

    Returns
    -------
    QuestionOrder

    Raises
    ------
    NotApplicableError
        A feature counts by the unit: its points have no end, and nothing is decided before it.
    SizeError
        The card has more than 14 features.
    DataError
        The card has no points, or weights do not fit.
    """
    values = apply_columns(card.columns, X, unseen="nan")
    return order_of_rows(card, values, sample_weight)


def order_of_rows(card: Scorecard, values: FloatArray, sample_weight: Any = None) -> QuestionOrder:
    """Return the order of :func:`question_order` from the values of the card's columns, (n, p)."""
    features = card.used_features
    if not features:
        raise DataError("the card has no points: there is nothing to ask")
    if len(features) > POLICY.most_questions:
        raise SizeError(
            f"{len(features)} features have too many orders: at most {POLICY.most_questions}"
        )
    weight = np.ones(len(values)) if sample_weight is None else np.asarray(sample_weight, float)
    if weight.shape != (len(values),) or not (weight >= 0).all() or not weight.sum() > 0:
        raise DataError("weights are one per row, not negative, and not all 0")
    share = weight / weight.sum()
    own = np.zeros((len(features), len(values)))
    ends = []
    for k, feature in enumerate(features):
        places, base = list(feature.positions), card.base_points.get(feature.name, 0)
        own[k] = base + values[:, places] @ np.array([card.points[j] for j in places], dtype=float)
        own[k] = np.nan_to_num(own[k])  # what the card does not know counts nothing
        reachable = [base + points for points in _reachable(card, places)]
        ends.append((min(reachable), max(reachable)))
    undecided = _undecided(card, own, np.array(ends, dtype=float), share)
    order = _shortest(undecided, len(features))
    printed = [*range(len(features))]
    threshold, rest = as_fraction(card.threshold), [*order]
    questions = []
    asked = 0
    for k in order:
        rest.remove(k)
        asked |= 1 << k
        low, high = (sum(ends[j][side] for j in rest) for side in (0, 1))
        least, most = (sum(own[side] for own in ends) for side in (0, 1))
        positive, negative = threshold - low, threshold - high
        questions.append(
            Question(
                features[k].name,
                positive if positive <= most - high else None,
                negative if negative > least - low else None,
                float(undecided[asked]),
            )
        )
    return QuestionOrder(
        tuple(questions), _length(undecided, order), _length(undecided, printed)
    )  # fmt: skip


def _reachable(card: Scorecard, places: list[int]) -> set[int]:
    """Return what the columns of a feature can count together."""
    columns = [(card.columns[j], card.points[j], j in card.flags) for j in places]
    found: set[int] = set()
    for column, points, flag in columns:
        if column.kind == "numeric":
            if not flag:
                raise NotApplicableError(
                    f"{column.feature!r} counts by the unit: nothing is decided before it is known"
                )
            found |= {0, points}
        if column.kind == "missing":
            found.add(points)
    edges = {
        end for column, *_ in columns for end in (column.lower, column.upper)
        if column.kind in ("interval", "step") and math.isfinite(end)
    }  # fmt: skip
    for value in (-math.inf, *edges) if edges else ():
        found.add(
            sum(
                points for column, points, _ in columns
                if column.kind in ("interval", "step") and column.lower <= value
                and (column.kind == "step" or value < column.upper)
            )
        )  # fmt: skip
    named = {column.category for column, *_ in columns if column.kind == "category"}
    for name in named:
        found.add(sum(points for column, points, _ in columns if column.category == name))
    # besides, a category without a column
    return found | ({0} if named else set())


def _undecided(card: Scorecard, own: FloatArray, ends: FloatArray, share: FloatArray) -> FloatArray:
    """Return the share of rows that each set of features leaves open, (2^k,), sets as bits."""
    patterns, place = np.unique(own.T, axis=0, return_inverse=True)
    weight = np.bincount(place.ravel(), share)
    found = np.empty(1 << len(own))
    for asked in range(len(found)):
        inside = (asked >> np.arange(len(own)) & 1).astype(bool)
        total = patterns[:, inside].sum(axis=1)
        low, high = (card.rule.positive(total + ends[~inside, side].sum()) for side in (0, 1))
        found[asked] = weight @ (high & ~low)
    return found


def _shortest(undecided: FloatArray, count: int) -> list[int]:
    """Return the order whose prefixes leave least open in sum."""
    best = np.full(1 << count, math.inf)
    last = np.zeros(1 << count, dtype=np.int64)
    best[0] = 0.0
    for asked in range(1, 1 << count):
        for k in range(count):
            before = asked ^ (1 << k)
            if asked >> k & 1 and best[before] + undecided[before] < best[asked] - 1e-15:
                best[asked], last[asked] = best[before] + undecided[before], k
    order, asked = [], (1 << count) - 1
    while asked:
        order.append(int(last[asked]))
        asked ^= 1 << int(last[asked])
    return order[::-1]


def _length(undecided: FloatArray, order: Iterable[int]) -> float:
    """Return how many questions an order takes on average."""
    asked, found = 0, 0.0
    for k in order:
        found += float(undecided[asked])
        asked |= 1 << k
    return found
