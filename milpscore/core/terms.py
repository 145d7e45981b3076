"""What a loss and a penalty must offer so that any card's objective can be recomputed exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, Protocol, TypeAlias

from milpscore.core.card import FloatTotals, GridTotals, Totals
from milpscore.core.design import FloatArray, IntArray

LAM = 0.01
"""The weight of a penalty where none is given, in builders and estimators alike."""

LossTask: TypeAlias = Literal["classification", "regression", "count", "multinomial"]


class InterceptRange(Protocol):
    """Where an intercept may lie; see :class:`milpscore.core.statement.InterceptRule`."""

    @property
    def lower(self) -> Fraction:
        """The least intercept."""

    @property
    def upper(self) -> Fraction:
        """The largest intercept."""

    @property
    def step(self) -> Fraction | None:
        """Intercepts are multiples of it; None where they are real."""


class Loss(Protocol):
    """A loss of the score s = w.x + b, evaluated row by row."""

    @property
    def name(self) -> str:
        """The loss's name in tables and registries."""

    def exact_rows(
        self, totals: GridTotals, intercept: Fraction, y: IntArray
    ) -> tuple[IntArray, Fraction]:
        """Whole numbers k and a unit u so that row i's loss is exactly ``k[i] * u``."""

    def rows(self, totals: FloatTotals, intercept: Fraction, y: IntArray) -> FloatArray:
        """Row losses in floating point, for data on no grid."""

    def best_intercept(
        self, totals: Totals, y: IntArray, weight: FloatArray, allowed: InterceptRange
    ) -> Fraction:
        """The allowed intercept that minimises the weighted loss of these totals."""

    def best_intercepts(
        self, totals: FloatArray, y: IntArray, weight: FloatArray, allowed: InterceptRange
    ) -> tuple[FloatArray, FloatArray]:
        """The same for V cards at once, in floating point: (intercepts, mean losses).

        ``totals`` has shape (n, V), one card a column; both answers have shape (V,).
        """


class SmoothLoss(Protocol):
    """A convex loss of the score with a derivative, for the proximal algorithms.

    ``z`` holds the scores w.x + b, shape (n,), or (n, K) where ``task`` is "multinomial"; ``y`` the
    answers, shape (n,): -1/+1 for "classification", real for "regression", non-negative for
    "count", 0..K-1 for "multinomial". Every method works row by row and knows no row weights.
    """

    @property
    def name(self) -> str:
        """The loss's name in tables and registries."""

    @property
    def task(self) -> LossTask:
        """What kind of answers it reads."""

    @property
    def curvature(self) -> float:
        """The largest second derivative; infinite where there is none."""

    def value(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Row losses, shape (n,)."""

    def gradient(self, z: FloatArray, y: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Derivative in z, of the shape of z; written to ``out`` where given."""

    def hessian(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Second derivative in z (its diagonal, for "multinomial"), of the shape of z."""

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """sup over z of <u, z> - value(z), shape (n,); infinite outside its domain."""


class Penalty(Protocol):
    """A penalty Omega of the coefficients, its weight included.

    One whose values at whole points lie closer together than ``lam`` says how close in ``step``.
    """

    @property
    def name(self) -> str:
        """The argument that carries its weight (``lam``, ``l0_penalty``, ``l1_penalty``)."""

    @property
    def lam(self) -> float:
        """The weight."""

    def value(self, w: FloatArray | IntArray) -> float:
        """lam * Omega(w)."""


class ProxPenalty(Protocol):
    """A convex penalty lam * Omega for the proximal algorithms, its weight included.

    ``w`` has shape (p,). Separable penalties may also offer ``ramps(p)``, the
    :class:`milpscore.penalties.ramps.Ramps` that coordinate descent reads.
    """

    @property
    def name(self) -> str:
        """The penalty's name in tables."""

    @property
    def lam(self) -> float:
        """The weight."""

    @property
    def separable(self) -> bool:
        """Whether the penalty is a sum over the coefficients."""

    @property
    def is_norm(self) -> bool:
        """Whether Omega is a norm; there is a ``dual_norm`` then."""

    def value(self, w: FloatArray | IntArray) -> float:
        """lam * Omega(w)."""

    def prox(self, w: FloatArray, step: float, out: FloatArray | None = None) -> FloatArray:
        """The x that minimises ||x - w||^2 / 2 + step * lam * Omega(x)."""

    def conjugate(self, z: FloatArray) -> float:
        """sup over w of <z, w> - lam * Omega(w); infinite outside its domain."""

    def dual_scale(self, z: FloatArray) -> float:
        """The largest t in [0, 1] with ``conjugate(t z)`` finite."""

    def subdiff_distance(self, w: FloatArray, grad: FloatArray) -> FloatArray | float:
        """Distance of -grad to the subdifferential at w, by coefficient or as one number."""

    def lambda_max(self, grad0: FloatArray) -> float:
        """The least lam for which w = 0 is optimal, the loss having gradient grad0 there."""
