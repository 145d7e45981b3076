"""The integer score of the largest AUC: the fewest errors on pairs of rows, threshold at 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from milpscore.core.errors import FormulationError
from milpscore.core.program import Program
from milpscore.data.pairs import PairDesign, make_pair_design
from milpscore.formulations._hinge import _program as _hinge_program, hinge_statement
from milpscore.formulations._slim import errors_program
from milpscore.formulations.building import (
    LEAST,
    MOST,
    Constraints,
    PerColumn,
    allowed,
    applied,
    as_design,
    builder,
    check_non_negative,
    check_positive,
    later,
)
from milpscore.losses import Hinge
from milpscore.penalties import L0, L1

AucLoss = Literal["zero_one", "hinge"]


@builder
def auc(
    X: Any,
    y: Any = None,
    *,
    loss: AucLoss = "zero_one",
    margin: float = 1.0,
    coef_min: PerColumn = LEAST,
    coef_max: PerColumn = MOST,
    coef_sets: Mapping[str, Sequence[int]] | None = None,
    max_terms: int | None = None,
    l0_penalty: float = 1e-3,
    l1_penalty: float = 0.0,
    threshold_gap: float | None = None,
    pair_covers: bool = True,
    constraints: Constraints = (),
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
) -> Program:
    r"""The exact integer score of the largest AUC.

    .. math::

        \min\ & \tfrac{1}{2 S_+ S_-} \sum_{i \in I^+} \sum_{k \in I^-} s_i s_k (z_{ik} + z'_{ik})
            + C_0 \sum_j \alpha_j + C_1 \sum_j |w_j| \\
        & w \cdot (x_i - x_k) \ge - M_{ik} z_{ik} \\
        & w \cdot (x_k - x_i) \le - \delta + M'_{ik} z'_{ik} \\
        & l_j \alpha_j \le w_j \le u_j \alpha_j, \quad \sum_j \alpha_j \le h \\
        & w_j \in \mathbb Z,\ z_{ik}, z'_{ik}, \alpha_j \in \{0, 1\}

    A pair of rows of opposite classes errs twice where the negative row has the larger total, once
    where the totals are equal: the loss is 1 - AUC of the totals, exactly. It is the program of
    :func:`slim` over :func:`milpscore.data.make_pair_design`, its threshold held at 0.

    Under ``loss="hinge"`` a pair costs what the difference of its totals lacks of the margin,

    .. math:: \tfrac{1}{S_+ S_- \gamma} \sum_{i, k} s_i s_k
        \max(0,\ \gamma - w \cdot (x_i - x_k)),

    at least 1 - AUC of the same w, whole or real. Its ``relaxed()`` is the linear program of the
    buffered AUC: the optimum is 1 - bAUC of the best weights, with :math:`w / \gamma` within the
    ranges; where no range binds, of the best of all. It bounds the cards of least hinge loss from
    below. It may lie on either side of the optimum of "zero_one", for no card need order the rows
    as well as real weights do.

    Parameters
    ----------
    X : array, DataFrame of shape (n, p), Design, or PairDesign
    loss : {"zero_one", "hinge"}
    margin : float
        :math:`\gamma` of the hinge loss; the 0-1 loss has none.
    threshold_gap : float, optional
        For data on no usable grid: by how much totals have to differ to count as different.
    pair_covers : bool
        As in :func:`slim`, of pairs of pairs; not under the hinge loss.
    constraints : sequence of :class:`milpscore.constraints.Constraint`
        What else the points must meet; they speak of the rows themselves. Limits on errors need a
        threshold and are refused.
    class_weight : "balanced" or mapping from label to weight, optional
        Moves no AUC; it counts in the threshold that the printed card gets.

    Returns
    -------
    Program
        Over a :class:`milpscore.data.PairDesign`; ``result.loss`` is 1 - AUC. The card of a result
        has the threshold 0, that of the pairs.
        ``certified_card(program.statement.design, result, statement=program.statement)`` of
        :mod:`milpscore.scorecard` is the card for the rows themselves: it answers from the total of
        the fewest errors, or from the one that ``threshold_by`` names.

    Notes
    -----
    References: Mann & Whitney, "On a test of whether one of two random variables is stochastically
    larger than the other", Annals of Mathematical Statistics 18 (1947), for the AUC as a sum over
    pairs; Norton & Uryasev, "Maximization of AUC and buffered AUC in binary classification",
    Mathematical Programming 174 (2019), for both programs over real weights. A tie counts half
    here, as in the area under the curve; whole points and the bound are ours.
    """
    if loss not in get_args(AucLoss):
        raise FormulationError(f"loss must be one of zero_one, hinge, got {loss!r}")
    check_positive(margin=margin)
    if loss == "zero_one" and margin != 1.0:
        raise FormulationError(
            "{margin} is of the hinge loss: add {loss}, or leave it out", margin=..., loss="hinge"
        )
    check_non_negative(l0_penalty=l0_penalty, l1_penalty=l1_penalty)
    given = as_design(X, y, sample_weight, class_weight, positive)
    design = given if isinstance(given, PairDesign) else make_pair_design(given)
    rules = applied(constraints, design.base)
    if any(rule.limits_answers for rule in rules):
        raise FormulationError(
            "limits on errors need a threshold, and an AUC has none: take slim or risk_score, or "
            "choose the threshold of the card by {threshold_by}",
            threshold_by=...,
        )
    ranges = allowed(design, coef_min, coef_max, coef_sets, max_terms)
    penalties = L0(l0_penalty), L1(l1_penalty)
    if loss == "zero_one":
        return errors_program(
            "auc", design, ranges, rules, penalties, intercept_bounds=(0, 0),
            threshold_gap=threshold_gap, big_m="row", pair_covers=pair_covers,
        )  # fmt: skip
    bare, totals = hinge_statement(
        "auc", design, Hinge(margin), penalties, ranges, "zero", None, ()
    )
    statement = replace(bare, constraints=rules)
    return later(statement, lambda: _hinge_program(statement, totals))
