"""The conic formulations: each is its penalty's arguments, its mathematics and one small cone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import cvxpy as cp
import numpy as np
from scipy import sparse

from milpscore.core.conic import Cone, ConicProgram
from milpscore.core.design import FloatArray
from milpscore.core.errors import FormulationError, NotApplicableError, OptionError, SizeError
from milpscore.core.program import Program
from milpscore.core.statement import LAM
from milpscore.data.columns import expert_vector
from milpscore.formulations._conic import ConicData, conic_builder
from milpscore.formulations._fused_lasso import (
    weights_from_rows,
    weights_or_ones,
    whole_points,
)
from milpscore.formulations._hinge import facets_hinge
from milpscore.formulations.building import refuse_if_too_large
from milpscore.formulations.policy import POLICY
from milpscore.losses import Hinge
from milpscore.penalties import (
    EYE,
    OWL,
    Binarsity,
    ElasticNet,
    Facets,
    NaiveCredibility,
    StronglyConvexFacets,
    WeightedL1,
    WeightedL2,
    WeightedTV,
)
from milpscore.penalties.points import neighbours

Weighted = TypeVar("Weighted", WeightedL1, WeightedL2, OWL)

# Every cone keeps its numbers in Parameters, each already multiplied by lam: a product of two
# Parameters would be compiled anew at every change.


def _per_column(penalty: Weighted, data: ConicData) -> Weighted:
    """Return the penalty; OptionError unless it has one weight per design column."""
    if len(penalty.weights) != len(data.columns):
        raise OptionError(
            f"weights has {len(penalty.weights)} entries for {len(data.columns)} design columns: "
            "give one per column, in their order"
        )
    return penalty


# ------------------------------------------------------------------ sums over the coefficients


def _elastic_net_cone(w: Any, penalty: ElasticNet) -> Cone:
    slope = cp.Parameter(nonneg=True, name="lam_l1")
    root = cp.Parameter(nonneg=True, name="root_l2")
    return Cone(
        slope * cp.norm1(w) + cp.sum_squares(root * w),
        data=[
            (slope, lambda e: e.lam * e.l1_ratio),
            (root, lambda e: math.sqrt(e.lam * (1.0 - e.l1_ratio) / 2)),
        ],
    )


@conic_builder(_elastic_net_cone)
def elastic_net(data: ConicData, *, lam: float = LAM, l1_ratio: float) -> ElasticNet:
    r"""A blend of the lasso and ridge.

    .. math::

        \min\ \tfrac1S \sum_i s_i\, \ell(y_i, w \cdot x_i + b)
            + \lambda \bigl( \rho \|w\|_1 + (1 - \rho) \tfrac12 \|w\|_2^2 \bigr)

    with rho the ``l1_ratio``. The data enter through the Parameters ``lam_l1`` and ``root_l2``,
    the root of lam (1 - rho) / 2, which stands inside the square.

    Parameters
    ----------
    l1_ratio : float
        In [0, 1]: 1 is the lasso, 0 ridge.

    Notes
    -----
    Reference: Wang, Oh, Wang & Wiens, "Learning credible models" (2018), Table 1, whose beta is
    ``l1_ratio``.
    """
    return ElasticNet(lam, l1_ratio=l1_ratio)


def _weighted_l1_cone(w: Any, penalty: WeightedL1) -> Cone:
    slopes = cp.Parameter(w.shape[0], nonneg=True, name="lam_weights")
    return Cone(slopes @ cp.abs(w), data=[(slopes, lambda e: e.lam * e.weights)])


@conic_builder(_weighted_l1_cone)
def weighted_l1(data: ConicData, *, weights: Any, lam: float = LAM) -> WeightedL1:
    r"""The lasso with a weight for every column.

    .. math::

        \min\ \tfrac1S \sum_i s_i\, \ell(y_i, w \cdot x_i + b) + \lambda \sum_j v_j |w_j|

    with v the ``weights``; lam v is one Parameter, ``lam_weights``.

    Notes
    -----
    Reference: Wang, Oh, Wang & Wiens, "Learning credible models" (2018), Table 1 (weighted LASSO).
    """
    return _per_column(WeightedL1(lam, weights=weights), data)


def _weighted_l2_cone(w: Any, penalty: WeightedL2) -> Cone:
    roots = cp.Parameter(w.shape[0], nonneg=True, name="root_weights")
    return Cone(
        cp.sum_squares(cp.multiply(roots, w)),
        data=[(roots, lambda e: math.sqrt(e.lam / 2) * e.weights)],
    )


@conic_builder(_weighted_l2_cone)
def weighted_l2(data: ConicData, *, weights: Any, lam: float = LAM) -> WeightedL2:
    r"""Ridge with a weight for every column.

    .. math::

        \min\ \tfrac1S \sum_i s_i\, \ell(y_i, w \cdot x_i + b)
            + \tfrac{\lambda}{2} \sum_j (v_j w_j)^2

    with v the ``weights``, inside the square as in the source: a weight of 2 counts four times.
    The Parameter ``root_weights`` is the root of lam / 2 times v.

    Notes
    -----
    Reference: Wang, Oh, Wang & Wiens, "Learning credible models" (2018), Table 1 (weighted ridge).
    """
    return _per_column(WeightedL2(lam, weights=weights), data)


def _naive_credibility_cone(w: Any, penalty: NaiveCredibility) -> Cone:
    known = cp.Parameter(w.shape[0], nonneg=True, name="root_r")
    unknown = cp.Parameter(w.shape[0], nonneg=True, name="lam_1_r")
    return Cone(
        cp.sum_squares(cp.multiply(known, w)) + unknown @ cp.abs(w),
        data=[
            (known, lambda e: math.sqrt(e.lam * (1.0 - e.beta)) * e.expert),
            (unknown, lambda e: 2.0 * e.lam * e.beta * (1.0 - e.expert)),
        ],
    )


@conic_builder(_naive_credibility_cone)
def naive_credibility(
    data: ConicData, *, expert: Any, beta: float, lam: float = LAM
) -> NaiveCredibility:
    r"""Ridge on what the expert knows, the lasso on the rest.

    .. math::

        \min\ \tfrac1S \sum_i s_i\, \ell(y_i, w \cdot x_i + b)
            + \lambda \bigl( (1 - \beta) \|r \odot w\|_2^2
            + 2 \beta \|(1 - r) \odot w\|_1 \bigr)

    The data enter through the Parameters ``root_r``, the root of lam (1 - beta) times r, inside the
    square, and ``lam_1_r``. The penalty is not homogeneous: which features it favours changes with
    lam, the fault that EYE cures.

    Parameters
    ----------
    beta : float
        In [0, 1].

    Notes
    -----
    Reference: Wang, Oh, Wang & Wiens, "Learning credible models" (2018), sec. 3.2, the penalty q.
    """
    known = expert_vector(expert, data.columns, data.features)
    return NaiveCredibility(lam, expert=known, beta=beta)


# ------------------------------------------------------------------ norms


def _eye_cone(w: Any, penalty: EYE) -> Cone:
    known = cp.Parameter(w.shape[0], nonneg=True, name="lam_r")
    unknown = cp.Parameter(w.shape[0], nonneg=True, name="lam_1_r")
    a = cp.Variable(nonneg=True, name="a")
    z = cp.Variable(nonneg=True, name="z")
    return Cone(
        a + z,
        [unknown @ cp.abs(w) <= a, cp.SOC(z, cp.hstack([a, cp.multiply(known, w)]))],
        data=[
            (known, lambda e: e.lam * e.expert),
            (unknown, lambda e: e.lam * (1.0 - e.expert)),
        ],
    )


@conic_builder(_eye_cone)
def eye(data: ConicData, *, expert: Any, lam: float = LAM) -> EYE:
    r"""A credible linear model: sparse where nothing is known, dense where an expert knows.

    .. math::

        \min\ & \tfrac1S \sum_i s_i\, \ell(y_i, w \cdot x_i + b) + a + z \\
        & \textstyle \sum_j \lambda (1 - r_j) |w_j| \le a \\
        & \| (a,\ \lambda r_1 w_1, \ldots, \lambda r_p w_p) \|_2 \le z

    At the optimum :math:`a + z = \lambda (\|(1-r) \odot w\|_1 + \sqrt{\|(1-r) \odot w\|_1^2 +
    \|r \odot w\|_2^2})`. The norm of a convex expression is not a convex composition by CVXPY's
    rules; with the variable :math:`a \ge 0` it is. The data enter through the Parameters
    ``lam_r`` and ``lam_1_r``.

    Parameters
    ----------
    lam : float
        Weight of the penalty on the mean loss; the paper's n lambda belongs to a sum.

    Notes
    -----
    Reference: Wang, Oh, Wang & Wiens, "Learning credible models" (2018), eq. 2.
    """
    return EYE(lam, expert=expert_vector(expert, data.columns, data.features))


def _drops(weights: FloatArray) -> FloatArray:
    """By how much the weights fall after each position, the last to 0; shape (p,)."""
    return -np.diff(weights, append=0.0)


def _owl_cone(w: Any, penalty: OWL) -> Cone:
    lengths = np.flatnonzero(_drops(penalty.weights)) + 1
    drops = cp.Parameter(len(lengths), nonneg=True, name="lam_drops")
    size = cp.Variable(w.shape[0], name="size")

    def falls(owl: OWL) -> FloatArray:
        fall = _drops(owl.weights)
        for k in np.setdiff1d(np.flatnonzero(fall) + 1, lengths)[:1]:
            raise FormulationError(
                f"these weights drop after the {k} largest, where those the program was built with "
                f"do not (they drop after {', '.join(map(str, lengths))}): build a new program"
            )
        return np.asarray(owl.lam * fall[lengths - 1])

    largest = [cp.sum_largest(size, int(k)) for k in lengths]
    return Cone(drops @ cp.hstack(largest), [cp.abs(w) <= size], data=[(drops, falls)])


@conic_builder(_owl_cone)
def owl(data: ConicData, *, weights: Any, lam: float = LAM) -> OWL:
    r"""The ordered weighted L1 norm: the largest coefficients weigh most.

    .. math::

        \min\ & \tfrac1S \sum_i s_i\, \ell(y_i, w \cdot x_i + b)
            + \sum_k \lambda (v_k - v_{k+1}) \sum_{i \le k} a_{[i]} \\
        & |w_j| \le a_j

    with v the ``weights``, :math:`v_{p+1} = 0`, and :math:`a_{[1]} \ge a_{[2]} \ge \ldots` the
    sorted sizes: summed by parts it is :math:`\lambda \sum_i v_i |w|_{[i]}`. The sum of the k
    largest is the linear program :math:`\min_q k q + \sum_j \max(0, a_j - q)`; there is one for
    every k at which the weights drop, its factor in the Parameter ``lam_drops``.

    Parameters
    ----------
    weights : array of shape (p,)
        Non-increasing, >= 0, the first > 0. All equal: L1; (1, 0, ..., 0): the sup norm.

    Returns
    -------
    ConicProgram
        ``program.set(lam=, weights=)`` changes both in place, to weights that drop nowhere but
        where the first ones do.

    Notes
    -----
    Reference: Wang, Oh, Wang & Wiens, "Learning credible models" (2018), Table 1, after Figueiredo
    & Nowak, "Sparse estimation with strongly correlated variables using ordered weighted l1
    regularization" (2014).
    """
    penalty = _per_column(OWL(lam, weights=weights), data)
    p, drops = len(data.columns), int(np.count_nonzero(_drops(penalty.weights)))
    refuse_if_too_large("owl", len(data.merged.y), p, further=3 * p * drops)
    return penalty


# ------------------------------------------------------------------ soft integrity


def _slope(lam: float, gamma: float) -> float:
    """Return lam / gamma, the first slope of Facets; OptionError if it is not finite."""
    slope = lam / gamma
    if not np.isfinite(slope):
        raise OptionError(f"lam / gamma = {lam!r} / {gamma!r} is beyond floating point")
    return slope


def _ramps(w: Any, gamma: Any, levels: int) -> tuple[Any, list[Any]]:
    """The ramps s_ij, i = 0, ..., levels - 1, shape (levels, p), and their rows."""
    p = w.shape[0]
    size = cp.Variable(p, name="size")
    ramp = cp.Variable((levels - 1, p), nonneg=True, name="ramp")
    steps = np.arange(1.0, levels)[:, None] @ np.ones((1, p))
    above = np.ones((levels - 1, 1)) @ cp.reshape(size, (1, p), order="C")
    return cp.vstack([cp.reshape(size, (1, p), order="C"), ramp]), [
        cp.abs(w) <= size,
        above - gamma * steps <= ramp,
    ]


def _levels_for(w: FloatArray, gamma: float, levels: int) -> int:
    """Return the levels that coefficients w, shape (p,), need; 0 if there are enough."""
    reach = float(np.abs(w).max(initial=0.0)) / gamma
    if reach <= levels * (1 + 1e-9):
        return 0
    wanted = max(2 * levels, int(min(np.ceil(reach), 1e9)) + 1)
    if wanted * len(w) > POLICY.max_ramps:
        raise SizeError(
            f"coefficients reach {reach:.3g} units of {{gamma}} = {gamma:g}: {wanted} kinks for "
            f"each of {len(w)} columns are more than the {POLICY.max_ramps:.0e} ramps a cone "
            "program can hold here; raise {gamma} or {lam}, scale the columns, or use {solver}",
            gamma=...,
            lam=...,
            solver="proximal",
        )
    return wanted


def _ramps_cone(
    w: Any, gamma: Any, cost: Callable[[Any], Any], data: Sequence[Any], levels: int | None = None
) -> Cone:
    """Return the cone of what ramps cost; if an answer lies beyond them, it grows."""
    levels = POLICY.first_levels if levels is None else levels
    ramps, rows = _ramps(w, gamma, levels)

    def outgrown(values: FloatArray, penalty: Any) -> Cone | None:
        wanted = _levels_for(values, penalty.gamma, levels)
        return _ramps_cone(w, gamma, cost, data, wanted) if wanted else None

    growth = f"the grid was extended to {levels} units of gamma"
    return Cone(cost(ramps), rows, data=data, outgrown=outgrown, growth=growth)


def _facets_cone(w: Any, penalty: Facets) -> Cone:
    slope = cp.Parameter(nonneg=True, name="lam_per_gamma")
    gamma = cp.Parameter(pos=True, name="gamma")
    data = [(slope, lambda e: _slope(e.lam, e.gamma)), (gamma, lambda e: e.gamma)]
    return _ramps_cone(w, gamma, lambda ramps: slope * cp.sum(ramps), data)


def _integer_facets(program: ConicProgram) -> Program:
    """State the program over whole multiples of gamma that Facets relaxes (hinge loss)."""
    statement = program.statement
    assert isinstance(statement.loss, Hinge)
    return facets_hinge(
        statement.design,
        lam=statement.arguments["lam"],
        gamma=statement.arguments["gamma"],
        margin=statement.loss.margin,
        intercept="real" if statement.intercept else "zero",
    )


@conic_builder(_facets_cone, exact_form=_integer_facets)
def facets(data: ConicData, *, lam: float = LAM, gamma: float = 1.0) -> Facets:
    r"""Soft integrity: coefficients are drawn to whole multiples of gamma.

    .. math::

        \min\ & \tfrac1S \sum_i s_i\, \ell(y_i, w \cdot x_i + b)
            + \tfrac{\lambda}{\gamma} \sum_j \sum_{i=0}^{K-1} s_{ij} \\
        & s_{0j} \ge |w_j|, \qquad s_{ij} \ge s_{0j} - i \gamma, \qquad s_{ij} \ge 0

    which is :math:`\lambda \sum_j \sum_i \max(0, |w_j| / \gamma - i)` as long as no
    :math:`|w_j|` exceeds :math:`K \gamma`. After a solve that is checked; where it fails, K grows,
    the program is solved again, and the result says so.

    Returns
    -------
    ConicProgram
        ``program.set(lam=, gamma=)`` changes both in place; ``program.exact()`` is the integer
        program it relaxes (hinge loss).

    Notes
    -----
    References: Belahcene, Sokolovska, Chevaleyre & Zucker (2020), eqs 3 and 16. Errata: eq. 3
    holds for \|w\|; Proposition 2 says the envelope of w^2 on the integers, but Facets with
    weights (1, 1, ...) is the envelope of (w^2 + \|w\|) / 2.
    """
    return Facets(lam, gamma=gamma)


def _strongly_convex_cone(w: Any, penalty: StronglyConvexFacets) -> Cone:
    steep = cp.Parameter(nonneg=True, name="lam_ramps")
    flat = cp.Parameter(nonneg=True, name="lam_eps")
    root = cp.Parameter(nonneg=True, name="root_eps")
    gamma = cp.Parameter(pos=True, name="gamma")

    def cost(ramps: Any) -> Any:
        return steep * cp.sum(ramps) + flat * cp.sum(ramps[0]) + cp.sum_squares(root * w)

    data = [
        (steep, lambda e: (1.0 - e.eps) * _slope(e.lam, e.gamma)),
        (flat, lambda e: e.eps * _slope(e.lam, e.gamma)),
        (root, lambda e: math.sqrt(e.lam * e.eps / 2) / e.gamma),
        (gamma, lambda e: e.gamma),
    ]
    return _ramps_cone(w, gamma, cost, data)


@conic_builder(_strongly_convex_cone)
def strongly_convex_facets(
    data: ConicData, *, lam: float = LAM, eps: float = 0.01, gamma: float = 1.0
) -> StronglyConvexFacets:
    r"""Facets with some ridge blended in, so that the minimiser is unique.

    .. math::

        \min\ & \tfrac1S \sum_i s_i\, \ell(y_i, w \cdot x_i + b)
            + \tfrac{\lambda}{\gamma} \sum_j \Bigl( (1 - \epsilon) \sum_{i=0}^{K-1} s_{ij}
            + \epsilon s_{0j} \Bigr) + \tfrac{\lambda \epsilon}{2 \gamma^2} \|w\|_2^2 \\
        & s_{0j} \ge |w_j|, \qquad s_{ij} \ge s_{0j} - i \gamma, \qquad s_{ij} \ge 0

    which is :math:`\lambda \sum_j f(w_j / \gamma)` with f = (1 - eps) Facets + eps (\|w\| +
    w^2 / 2), as long as no :math:`|w_j|` exceeds :math:`K \gamma`; K grows as in
    :func:`milpscore.formulations.facets`.

    Parameters
    ----------
    eps : float
        In (0, 1]; 0 would be Facets.

    Notes
    -----
    Reference: Belahcene, Sokolovska, Chevaleyre & Zucker (2020), eqs 13, 14 and 16.
    """
    return StronglyConvexFacets(lam, eps=eps, gamma=gamma)


# ------------------------------------------------------------------ jumps between neighbours


def _chain_cone(w: Any, penalty: WeightedTV) -> Cone:
    jumps = w.shape[0] - 1
    slopes = cp.Parameter(jumps, nonneg=True, name="lam_weights")
    return Cone(
        slopes @ cp.abs(cp.diff(w)),
        data=[(slopes, lambda e: e.lam * weights_or_ones(e.weights, jumps))],
    )


def _chain_in_blocks(program: ConicProgram) -> Program:
    """State the fused lasso over whole points; refuse jumps from one feature to another."""
    statement = program.statement
    penalty, p = statement.penalty, len(statement.columns)
    assert isinstance(penalty, WeightedTV)
    blocks = () if statement.design is None else statement.design.blocks
    if [column for block in blocks for column in block] != list(range(p)):
        raise NotApplicableError(
            "weighted_fused_lasso has an integer program where its columns are the ordered bins "
            "of features: bin the data first (milpscore.data.Binner)"
        )
    into = np.append(1.0, weights_or_ones(penalty.weights, p - 1))
    for j in [block[0] for block in blocks[1:]]:
        if into[j] > 0:
            raise NotApplicableError(
                f"the jump into {statement.columns[j].name} leaves a feature, and fused_lasso has "
                "jumps inside features only: give it the weight 0, or state binarsity"
            )
    return whole_points(program, blocks, into)


@conic_builder(_chain_cone, exact_form=_chain_in_blocks)
def weighted_fused_lasso(data: ConicData, *, lam: float = LAM, weights: Any = None) -> WeightedTV:
    r"""Neighbouring columns with equal coefficients, all columns being one chain.

    .. math::

        \min\ \tfrac1S \sum_i s_i\, \ell(y_i, w \cdot x_i + b)
            + \sum_{j=1}^{p-1} \lambda v_j |w_{j+1} - w_j|

    lam times the weights v is one Parameter, ``lam_weights``. If features are binned,
    :func:`milpscore.formulations.binarsity` keeps them apart.

    Parameters
    ----------
    weights : array of shape (p - 1,), optional
        >= 0; all 1 by default. A weight of 0 parts the chain.

    Returns
    -------
    ConicProgram
        ``program.set(lam=, weights=)`` changes both in place; ``program.exact()`` is the fused
        lasso over whole points that it relaxes: under the hinge loss, for a Design whose blocks of
        bins follow each other, the weights between blocks being 0.

    Notes
    -----
    References: Alaya, "Binarsity: a penalization for one-hot encoded features" (seminar, 2018), the
    weighted total variation. The whole points are those of Sokolovska, Chevaleyre & Zucker,
    fused-lasso scores, eqs. 1-5.
    """
    jumps = len(data.columns) - 1
    if jumps < 1:
        raise FormulationError("weighted_fused_lasso needs two columns or more: one has no jump")
    penalty = WeightedTV(lam, weights)
    if penalty.weights is not None and len(penalty.weights) != jumps:
        raise OptionError(
            f"weights has {len(penalty.weights)} entries for {jumps} jumps between "
            f"{jumps + 1} columns: give one per jump"
        )
    return penalty


def _binarsity_cone(w: Any, penalty: Binarsity) -> Cone:
    blocks = penalty.blocks
    left, right = neighbours(blocks)
    slopes = cp.Parameter(len(right), nonneg=True, name="lam_jumps")
    data = [(slopes, lambda e: e.lam * weights_or_ones(e.weights, w.shape[0])[right])]
    rows = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
    columns = [column for block in blocks for column in block]
    sums = sparse.csr_array((np.ones(len(columns)), (rows, columns)))
    return Cone(slopes @ cp.abs(w[right] - w[left]), [sums @ w == 0], data=data)


def _whole_bins(program: ConicProgram) -> Program:
    """State the fused lasso over whole points."""
    penalty, design = program.statement.penalty, program.statement.design
    assert isinstance(penalty, Binarsity)
    if design is None or penalty.blocks != design.blocks:
        raise NotApplicableError(
            "binarsity has no integer program over other blocks than the bins of its Design"
        )
    into = weights_or_ones(penalty.weights, len(program.statement.columns))
    return whole_points(program, penalty.blocks, into)


@conic_builder(_binarsity_cone, exact_form=_whole_bins, fixed=("blocks",))
def binarsity(
    data: ConicData,
    *,
    lam: float = LAM,
    weights: Any = None,
    blocks: Sequence[Sequence[int]] | None = None,
) -> Binarsity:
    r"""Coefficients that change at few cuts of each feature: equal neighbours merge into one bin.

    .. math::

        \min\ & \tfrac1S \sum_i s_i\, \ell(y_i, w \cdot x_i + b)
            + \sum_B \sum_{j, j+1 \in B} \lambda v_{j+1} |w_{j+1} - w_j| \\
        & \textstyle \sum_{j \in B} w_j = 0 \quad \text{for every block } B

    over the ordered one-hot bins of every raw feature. lam times the weights of the jumps is one
    Parameter, ``lam_jumps``.

    Parameters
    ----------
    X : Design or table
        A Design with ordered blocks of bins, as :class:`milpscore.data.Binner` makes them, or with
        ``blocks`` a table of one-hot columns.
    weights : array of shape (p,) or "data", optional
        v, the weight of the jump *into* each column (that of a block's first bin is not used), as
        :class:`milpscore.penalties.Binarsity` takes them; None is 1 each. ``"data"`` takes
        :func:`milpscore.penalties.data_driven_weights` of the weighted rows in each bin.
    blocks : sequence of sequences of int, optional
        The columns of each feature, in the order of its bins, if X is not a Design (numbers and
        counts need a table).

    Returns
    -------
    ConicProgram
        ``program.set(lam=, weights=)`` changes both in place; ``program.exact()`` is the fused
        lasso over whole points that it relaxes (hinge loss, a Design).

    Notes
    -----
    References: Alaya, "Binarsity: a penalization for one-hot encoded features" (seminar, 2018);
    erratum: the slide's data-driven weights delete k columns where it should be k - 1. The whole
    points are those of Sokolovska, Chevaleyre & Zucker, fused-lasso scores, eqs. 1-5.
    """
    bins = data.blocks if blocks is None else Binarsity(0.0, blocks=blocks).blocks
    if sum(map(len, bins)) != len(data.columns):
        raise FormulationError(
            "binarsity needs every feature as ordered one-hot bins: bin the data first "
            "({Binner}), or give "
            "blocks that hold every column of the table"
        )
    if len(bins) == len(data.columns):
        raise FormulationError(
            "every feature has a single bin, which binarsity holds at 0: bin the data finer"
        )
    if isinstance(weights, str) and weights == "data":
        weights = weights_from_rows(data.rows.X, data.rows.weight, bins)
    return Binarsity(lam, blocks=bins, weights=weights)
