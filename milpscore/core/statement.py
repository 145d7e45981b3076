"""The statement of a scoring problem: what is minimised over which cards, free of any solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import Design, IntArray
from milpscore.core.requirement import BoolArray, Requirement
from milpscore.core.terms import Loss, Penalty
from milpscore.core.totals import card_totals

InterceptKind = Literal["zero", "integer", "real", "grid"]


@dataclass(frozen=True)
class InterceptRule:
    """The intercepts a program allows.

    Attributes
    ----------
    kind : {"zero", "integer", "real", "grid"}
        ``grid`` is a whole multiple of the data's step, so that every threshold that can matter
        is one of them.
    lower, upper : Fraction
        Finite bounds on b.
    step : Fraction or None
        b is a multiple of it; None for a real intercept.
    """

    kind: InterceptKind
    lower: Fraction
    upper: Fraction
    step: Fraction | None

    def nearest(self, value: float | Fraction) -> Fraction:
        """The allowed intercept closest to ``value``."""
        exact = Fraction(value)
        if self.step is not None:
            exact = round(exact / self.step) * self.step
            low = -((-self.lower) // self.step) * self.step
            high = (self.upper // self.step) * self.step
        else:
            low, high = self.lower, self.upper
        return min(max(exact, low), high)

    def allows(self, value: Fraction) -> bool:
        """Whether ``value`` lies within the bounds and on the step."""
        on_step = self.step is None or value % self.step == 0
        return on_step and self.lower <= value <= self.upper


@dataclass(frozen=True, eq=False)
class Statement:
    """min mean weighted loss + penalties over the integer cards allowed.

    Attributes
    ----------
    formulation : str
        Name of the builder.
    design : Design
    loss : Loss
    penalties : tuple of Penalty
    coef_min, coef_max : ndarray of int64, shape (p,)
        Finite bounds on every coefficient.
    intercept : InterceptRule
    coef_sets : mapping from column index to its sorted allowed values
        Columns not listed take any whole number within their bounds.
    max_terms : int or None
        At most so many nonzero coefficients.
    caveat : str
        What the bound speaks of where it is less than "all cards" (empty otherwise).
    constraints : tuple of Requirement
        What else a card must meet, bound to the design; see :mod:`milpscore.constraints`.
    """

    formulation: str
    design: Design
    loss: Loss
    penalties: tuple[Penalty, ...]
    coef_min: IntArray
    coef_max: IntArray
    intercept: InterceptRule
    coef_sets: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    max_terms: int | None = None
    caveat: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    constraints: tuple[Requirement, ...] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """Raw rows and columns, (n, p)."""
        return self.design.shape

    def penalty(self, w: Any) -> float:
        """Sum of the penalties of coefficients w (real or whole)."""
        return sum(term.value(w) for term in self.penalties)

    def empty_card(self) -> Card:
        """No points at all, with the better of "always positive" and "always negative"."""
        return self.with_best_intercept(np.zeros(self.design.shape[1], dtype=np.int64))

    def with_best_intercept(self, w: IntArray) -> Card:
        """The card of whole coefficients w, shape (p,), with the best intercept allowed.

        Limits on errors are kept where an intercept that keeps them was found.
        """
        from milpscore.core.intercepts import best_card

        design = self.design
        return best_card(self, w, card_totals(design.X, design.step, Card(w, Fraction(0))))

    @cached_property
    def ranges(self) -> tuple[IntArray, IntArray]:
        """Bounds on every coefficient, those that constraints put on single ones included.

        Without these where they leave some coefficient nothing: then no card is allowed.
        """
        lower, upper = self.coef_min, self.coef_max
        for constraint in self.constraints:
            lower, upper = constraint.tightened(lower, upper)
        return (self.coef_min, self.coef_max) if np.any(lower > upper) else (lower, upper)

    def allows(self, points: IntArray) -> BoolArray:
        """Which rows of points, shape (V, p), some intercept may complete to an allowed card.

        Ranges, sets, terms and constraints are looked at, limits on errors are not.

        Returns
        -------
        ndarray of bool, shape (V,)
        """
        fine = np.asarray(((points >= self.coef_min) & (points <= self.coef_max)).all(axis=1))
        if self.max_terms is not None:
            fine &= np.count_nonzero(points, axis=1) <= self.max_terms
        for j, values in self.coef_sets.items():
            fine &= np.isin(points[:, j], values)
        for constraint in self.constraints:
            if fine.any():
                fine[fine] = constraint.allows(points[fine])
        return fine

    def violations(self, card: Card) -> tuple[str, ...]:
        """Sentences naming each requirement of the statement that the card breaks."""
        names = self.design.names
        w = card.coefficients
        broken = []
        if len(w) != len(names):
            return (f"the card has {len(w)} coefficients, the design {len(names)} columns",)
        outside: list[int] = np.flatnonzero((w < self.coef_min) | (w > self.coef_max)).tolist()
        for j in outside:
            broken.append(
                f"{names[j]}: {w[j]} lies outside [{self.coef_min[j]}, {self.coef_max[j]}]"
            )
        for j, values in self.coef_sets.items():
            if int(w[j]) not in values:
                broken.append(f"{names[j]}: {w[j]} is not one of {list(values)}")
        if self.max_terms is not None and card.nonzeros > self.max_terms:
            broken.append(f"{card.nonzeros} terms where at most {self.max_terms} are allowed")
        if not self.intercept.allows(card.intercept):
            broken.append(
                f"intercept {card.intercept} is not an allowed {self.intercept.kind} value in "
                f"[{self.intercept.lower}, {self.intercept.upper}]"
            )
        broken += [text for each in self.constraints if (text := each.violation(self, card))]
        return tuple(broken)
