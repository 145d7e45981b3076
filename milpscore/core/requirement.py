"""What a requirement of a card, beyond ranges and terms, must offer."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from milpscore.core.design import FloatArray, IntArray

if TYPE_CHECKING:
    from milpscore.core.card import Card
    from milpscore.core.statement import Statement

BoolArray = npt.NDArray[np.bool_]

RULES = "rules"
"""The block of a model that holds the rows of the requirements, each under its ``key``."""


class Requirement(Protocol):
    """A requirement bound to a design; see :mod:`milpscore.constraints` for those there are."""

    @property
    def name(self) -> str:
        """What messages call it; no two of a statement share one."""
        ...

    @property
    def key(self) -> str:
        """The component of the model's block ``rules`` that holds its rows."""
        ...

    @property
    def limits_answers(self) -> bool:
        """Whether the intercept matters to it, as it does to a limit on errors."""
        ...

    def violation(self, statement: Statement, card: Card) -> str:
        """A sentence where the card breaks it, from exact totals of the raw rows; else empty."""
        ...

    def allows(self, points: IntArray) -> BoolArray:
        """Which rows of ``points``, shape (V, p), meet whatever needs no intercept; shape (V,)."""
        ...

    def allows_answers(self, positive: BoolArray) -> BoolArray:
        """Which columns of answers to the merged rows, shape (m, V), keep to the limits on errors.

        Returns
        -------
        ndarray of bool, shape (V,)
        """
        ...

    def allows_cuts(self, place: IntArray, cuts: int) -> BoolArray:
        """Which of the ways to cut sorted totals keep to the limits on errors.

        Parameters
        ----------
        place : ndarray of shape (n,)
            For each raw row the position of its total among the distinct ones.
        cuts : int
            Cut k, of 0..cuts-1, answers positive from the k-th distinct total on.

        Returns
        -------
        ndarray of bool, shape (cuts,)
        """
        ...

    def allows_support(self, included: Collection[int], excluded: Collection[int]) -> bool:
        """Whether a card may still meet it.

        Parameters
        ----------
        included, excluded : collections of column indices
            Columns that surely have points, and that surely have none. A column whose points are
            still free, 0 among them, belongs to neither.
        """
        ...

    def tightened(self, lower: IntArray, upper: IntArray) -> tuple[IntArray, IntArray]:
        """The ranges of all points, shape (p,), cut down to what it allows one by one."""
        ...

    def excess(self, points: IntArray) -> FloatArray:
        """How far rows of points, shape (V, p), are from meeting it: 0 where they do."""
        ...

    def as_mapping(self) -> dict[str, Any]:
        """What it demands, as the entry of a file of constraints."""
        ...
