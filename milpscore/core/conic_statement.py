"""A real-valued statement: rows, a convex loss with its conjugate, and a penalty with its prox."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from milpscore.core.column import Column
from milpscore.core.design import Design, FloatArray
from milpscore.core.terms import LossTask, ProxPenalty


class RowLoss(Protocol):
    """A convex loss of the score z = w.x + b, row by row, with its conjugate.

    Every :class:`milpscore.core.terms.SmoothLoss` is one; the hinge loss, which has no derivative,
    is another.
    """

    @property
    def name(self) -> str:
        """The loss's name in tables and registries."""
        ...

    @property
    def task(self) -> LossTask:
        """What kind of answers it reads."""
        ...

    def value(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Row losses, shape (n,)."""
        ...

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """sup over z of <u, z> - value(z), shape (n,); infinite outside its domain."""
        ...


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Rows of numbers with their answers and weights.

    Attributes
    ----------
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
        -1/+1 for a classification loss, else real numbers or counts.
    weight : ndarray of shape (n,)
        Not negative, not all zero.
    """

    X: FloatArray
    y: FloatArray
    weight: FloatArray


@dataclass(frozen=True, eq=False)
class ConicStatement:
    """min weighted mean loss + penalty over real coefficients.

    Attributes
    ----------
    formulation : str
        Name of the builder.
    rows : WeightedRows
        The data as given.
    merged : WeightedRows
        Equal rows once, weights adding to 1: what the program states.
    columns : tuple of Column, length p
    loss : RowLoss
    penalty : ProxPenalty
    intercept : bool
        False fixes b at 0; else it is free and not penalised.
    arguments : mapping
        The penalty's arguments as they stand now.
    design : Design or None
        For two classes; None for real answers and counts.
    """

    formulation: str
    rows: WeightedRows
    merged: WeightedRows
    columns: tuple[Column, ...]
    loss: RowLoss
    penalty: ProxPenalty
    intercept: bool
    arguments: Mapping[str, Any] = field(default_factory=dict)
    design: Design | None = None
    caveat: str = ""

    @property
    def shape(self) -> tuple[int, int]:
        """Raw rows and columns, (n, p)."""
        return self.rows.X.shape[0], self.rows.X.shape[1]

    def mean_loss(self, w: FloatArray, b: float) -> float:
        """Weighted mean loss over the raw rows, a compensated sum."""
        rows = self.rows
        losses = self.loss.value(rows.X @ w + b, rows.y)
        if not np.isfinite(losses).all():
            return math.inf
        return math.fsum(rows.weight * losses) / math.fsum(rows.weight)
