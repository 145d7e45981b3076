"""What Facets is the envelope of: its values on whole numbers, in the integer programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from milpscore.penalties._facets import Facets


@dataclass(frozen=True)
class IntegerFacets(Facets):
    """lam * (||k||_2^2 + ||k||_1) / 2 of whole points k; on real ones its convex envelope.

    That envelope is :class:`Facets` on the grid of the whole numbers, lam * sum_j sum_{i >= 0}
    max(0, |k_j| - i), which equals it at every whole k: so this is that penalty, under the name of
    the argument that carries its weight. Values at whole points are exact up to the product with
    lam: every sum of halves of k (k + 1) below 2^53 is.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre & Zucker (2020), Proposition 2. Erratum: it names the
    envelope of w^2 on the integers, but weights (1, 1, ...) give that of (w^2 + |w|) / 2.
    """

    gamma: float = field(default=1.0, init=False)
    name: ClassVar[str] = "lam"
