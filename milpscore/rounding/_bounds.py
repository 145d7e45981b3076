"""What rounding can cost at most under the hinge loss: three guarantees."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from milpscore.core.errors import NotApplicableError
from milpscore.core.statement import Statement
from milpscore.losses import Hinge
from milpscore.rounding._allowed import neighbours, within_ranges


def rounding_bounds(statement: Statement, w: npt.ArrayLike, b: float) -> dict[str, float]:
    r"""Bounds on the mean hinge loss of rounded weights, the intercept held at b.

    With :math:`L` the mean hinge loss (sample weights :math:`s_i` included, no factor n), margin
    :math:`\gamma`, :math:`f_j` the fractional part of :math:`w_j`, c the rounded weights (columns
    whose allowed values lie :math:`d_j` apart count as :math:`d_j x_{ij}`; mostly d = 1):

    .. math::

        \text{sure:} \quad & L(c, b) \le L(w, b) + \frac{X_1}{2\gamma},
            \qquad X_1 = \max_i \|x_i\|_1 \\
        \text{expected:} \quad & \mathbb E\, L(c, b) \le L(w, b) + \frac{X_2}{2\gamma},
            \qquad X_2 = \max_i \|x'_i\|_2 \\
        \text{sharp:} \quad & \mathbb E\, L(c, b) \le L(w, b) + \frac1\gamma
            \sum_i \frac{s_i}{S} \sqrt{\textstyle\sum_j x_{ij}^2 f_j (1 - f_j)}

    The first holds for nearest rounding, without any chance. The other two hold for the
    *expectation* over the draws of randomised rounding: single draws exceed them. Here x' is the
    doubled row where weights are ternary, so that :math:`X_2 = \sqrt2 \max_i \|x_i\|_2`, and the
    row itself otherwise. All three speak of the rounded weights before any term is dropped for
    ``max_terms``. The best real intercept can only lower the loss; the best *whole* intercept may
    lie above it, and such a card above a bound.

    Parameters
    ----------
    statement : Statement
        With the hinge loss.
    w : array of shape (p,)
        Real weights, say those of a relaxed result.
    b : float
        The LP's intercept.

    Returns
    -------
    dict
        ``lp_loss`` L(w, b), and ``sure_bound``, ``expected_bound``, ``sharp_bound``.

    See Also
    --------
    expected_loss : the expectation itself, on data that lie on a grid.
    derandomised : a card that keeps to the sharp bound without any chance.

    Raises
    ------
    NotApplicableError
        For a loss that is not Lipschitz in the score, such as the 0-1 loss.
    FormulationError
        For weights of another shape, or not finite.

    References
    ----------
    Chevaleyre, Koriche & Zucker (2013), Proposition 1. Its print has a factor m (the paper sums
    losses) and X_1 in place of X_2; inequality (5) of the proof gives X_2, and (4) the sharp form.
    The print does not say that the intercept is held.
    """
    loss = statement.loss
    if not isinstance(loss, Hinge):
        raise NotApplicableError(
            f"no rounding bound is known for the {loss.name} loss of {statement.formulation}: "
            "the bounds need the hinge loss (hinge, facets_hinge, convex_rounding, "
            "sparse_rounding, fused_lasso)"
        )
    rows = statement.design.merged
    share = rows.weight / rows.weight.sum()
    values = within_ranges(statement, w)
    low, high, fraction = neighbours(statement, w)
    # where a column takes any whole number a whole weight, too, has neighbours 1 apart
    apart = np.maximum(high - low, 1).astype(np.float64)
    squares = (rows.X * apart) ** 2
    lp_loss = _mean_hinge(rows.X @ values + b, rows.y, share, loss.margin)
    ternary = np.all(statement.coef_min == -1) and np.all(statement.coef_max == 1)
    x1 = (np.abs(rows.X) @ apart).max(initial=0.0)
    x2 = np.sqrt(squares.sum(axis=1).max(initial=0.0) * (2.0 if ternary else 1.0))
    deviation = np.sqrt(squares @ (fraction * (1.0 - fraction)))
    return {
        "lp_loss": lp_loss,
        "sure_bound": float(lp_loss + x1 / (2 * loss.margin)),
        "expected_bound": float(lp_loss + x2 / (2 * loss.margin)),
        "sharp_bound": float(lp_loss + share @ deviation / loss.margin),
    }


def _mean_hinge(
    scores: npt.NDArray[np.float64],
    y: npt.NDArray[np.int64],
    share: npt.NDArray[np.float64],
    margin: float,
) -> float:
    return float(share @ np.maximum(0.0, margin - y * scores) / margin)
