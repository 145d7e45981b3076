"""Fused-lasso score: hinge loss, whole points per bin, total variation inside each feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from milpscore.core.card import Card
from milpscore.core.conic import ConicProgram
from milpscore.core.design import Design, FloatArray, IntArray
from milpscore.core.errors import FormulationError, NotApplicableError, listing
from milpscore.core.program import Program
from milpscore.core.statement import LAM, Statement
from milpscore.formulations._hinge import hinge_statement
from milpscore.formulations.building import (
    DATA,
    LEAST,
    MOST,
    Constraints,
    IntegerKind,
    PerColumn,
    Ranges,
    RowTotals,
    allowed,
    as_design,
    builder,
    check_non_negative,
    check_positive,
    later,
)
from milpscore.formulations.policy import POLICY
from milpscore.losses import Hinge
from milpscore.penalties import data_driven_weights
from milpscore.penalties.points import BlockTV

Blocks = Sequence[Sequence[int]]


@builder
def fused_lasso(
    X: Any,
    y: Any = None,
    *,
    lam: float = LAM,
    margin: float = 1.0,
    coef_min: PerColumn = LEAST,
    coef_max: PerColumn = MOST,
    reference: Literal["first", "lowest"] = "first",
    features: Sequence[str] | None = None,
    weights: Sequence[float] | FloatArray | Literal["data"] | None = None,
    intercept: IntegerKind = "integer",
    intercept_bounds: Sequence[float] | None = None,
    constraints: Constraints = (),
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
) -> Program:
    r"""Bins and points together: equal neighbours merge into one bin.

    .. math::

        \min\ & \tfrac{1}{S\gamma} \sum_i s_i \xi_i
            + \lambda \sum_B \sum_{j, j+1 \in B} v_{j+1} \eta_j \\
        & \xi_i \ge \gamma - y_i (\theta \cdot \bar x_i + b), \quad \xi_i \ge 0 \\
        & -\eta_j \le \theta_j - \theta_{j+1} \le \eta_j \\
        & \theta_j \in \mathbb Z

    over the ordered one-hot bins :math:`\bar x` of every raw feature, B being one feature's bins;
    v is 1 unless ``weights`` says otherwise.

    Parameters
    ----------
    X : Design with ordered blocks of bins, as :class:`milpscore.data.Binner` makes them
    lam : float
        Weight of the jumps; the paper's lambda / n, because the loss here is a mean.
    coef_min, coef_max : int, sequence of length p, or mapping from column name
        ``coef_min=0`` gives the paper's non-negative points (theta in N).
    reference : {"first", "lowest"}
        Which bin of each block has 0 points: a constant moves freely between block and intercept.
    features : sequence of str, optional
        Use these raw features only, the others keeping 0 points (the paper goes one feature at a
        time: see :func:`fused_lasso_by_feature`).
    weights : array of shape (p,) or "data", optional
        v, the weight of the jump *into* each column (that of a block's first bin is not used), as
        :class:`milpscore.penalties.Binarsity` takes them; None is 1 each. ``"data"`` takes
        :func:`milpscore.penalties.data_driven_weights` of the weighted rows in each bin. Without
        integrality and ranges that bind, the program is binarsity's hinge-loss LP: its blocks sum
        to 0, but total variation and a free intercept do not see a constant.

    Notes
    -----
    Reference: Sokolovska, Chevaleyre & Zucker, fused-lasso scores, eqs. 1-5. Erratum: constraint
    (4) as printed, ``|theta_j - theta_{j+1}| <= lambda eta_j`` with eta in the objective, gives
    (1/lambda) times the total variation; here lambda multiplies eta in the objective. The weights
    are those of Alaya, "Binarsity: a penalization for one-hot encoded features" (seminar, 2018).
    """
    design = as_design(X, y, sample_weight, class_weight, positive)
    check_positive(margin=margin)
    check_non_negative(lam=lam)
    if reference not in ("first", "lowest"):
        raise FormulationError(f"reference must be 'first' or 'lowest', got {reference!r}")
    ranges = _point_ranges(design, coef_min, coef_max, reference, features)
    jumps = BlockTV(lam, design.blocks, _jump_weights(design, weights))
    statement, totals = hinge_statement(
        "fused_lasso", design, Hinge(margin), (jumps,), ranges,
        intercept, intercept_bounds, constraints,
    )  # fmt: skip
    simplify: dict[str, Any] = {"simplify": _lower_blocks} if reference == "lowest" else {}
    return later(statement, lambda: _program(statement, totals), **simplify)


def _program(statement: Statement, totals: RowTotals) -> Program:
    """The algebra over the merged rows; jumps are indexed by the left bin of each pair."""
    import pyomo.environ as pyo

    from milpscore.formulations.card_model import CardModel, linear

    model = CardModel(statement)
    m, tv = model.m, statement.penalties[0]
    assert isinstance(tv, BlockTV)
    following = {a: b for block in tv.blocks for a, b in pairwise(block)}
    reach = (statement.coef_max.max() - statement.coef_min.min()).item()

    def sizes(card: Card) -> dict[int, int]:
        w = card.coefficients.tolist()
        return {a: abs(w[a] - w[b]) for a, b in following.items()}

    model.add_points("theta")
    m.jumps = pyo.Set(initialize=list(following), within=m.J)
    lam = model.weight("lam", tv.lam)
    model.variable("eta", sizes, m.jumps, bounds=(0, reach))
    model.add_hinge_loss(totals)

    m.jump_up = pyo.Constraint(
        m.jumps, rule=lambda m, j: m.theta[j] - m.theta[following[j]] <= m.eta[j]
    )
    m.jump_down = pyo.Constraint(
        m.jumps, rule=lambda m, j: m.theta[following[j]] - m.theta[j] <= m.eta[j]
    )

    eta, right = [m.eta[j] for j in m.jumps], [following[j] for j in m.jumps]
    jumps = sum(eta) if tv.weights is None else linear(eta, np.asarray(tv.weights)[right])
    return model.program(lam * jumps)


fused_lasso.reads_blocks = True  # type: ignore[attr-defined]


def fused_lasso_by_feature(X: Any, y: Any = None, **arguments: Any) -> dict[str, Program]:
    """State one program per raw feature, as the paper's algorithm runs them.

    Parameters
    ----------
    X, y, **arguments :
        As in :func:`fused_lasso`, without ``features``.

    Returns
    -------
    dict from raw feature to Program
        Solve each; the sum of their points is cut by the best separator
        (:func:`milpscore.rounding.combine`).
    """
    data = {k: arguments.pop(k) for k in DATA if k in arguments}
    design = as_design(X, y, **data)
    return {
        feature: fused_lasso(design, features=[feature], **arguments)
        for feature in _block_features(design)
    }


def _block_features(design: Design) -> dict[str, tuple[int, ...]]:
    """Return the ordered bins of each raw feature; FormulationError if some column is in none.

    The column of missing values has no place in the order: its points are free, and no jump.
    """
    inside = {j for block in design.blocks for j in block}
    inside |= {j for j, column in enumerate(design.columns) if column.kind == "missing"}
    if loose := [name for j, name in enumerate(design.names) if j not in inside]:
        raise FormulationError(
            f"fused_lasso needs every feature as ordered one-hot bins, and {listing(loose)} are in "
            "none: bin the data first ({Binner})"
        )
    return {design.columns[block[0]].feature: block for block in design.blocks}


def _jump_weights(design: Design, weights: Any) -> FloatArray | None:
    """Return the weight of the jump into every column, shape (p,); None if all are 1."""
    if weights is None:
        return None
    if isinstance(weights, str) and weights == "data":
        return weights_from_rows(design.merged.X, design.merged.weight, design.blocks)
    try:
        into: FloatArray = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise FormulationError(f"weights must be numbers or 'data', got {weights!r}") from error
    if into.shape != (design.shape[1],):
        raise FormulationError(
            f"weights needs one number per column ({design.shape[1]}) or 'data', got shape "
            f"{into.shape}"
        )
    for j in np.flatnonzero(~(np.isfinite(into) & (into >= 0)))[:1]:
        raise FormulationError(
            f"{design.names[j]}: the weight {into[j]} must be a finite number >= 0"
        )
    into.setflags(write=False)
    return into


def weights_or_ones(weights: Any, count: int) -> FloatArray:
    """Return the weights of jumps, shape (count,), 1 each by default."""
    return np.ones(count) if weights is None else np.asarray(weights)


def weights_from_rows(X: FloatArray, weight: FloatArray, blocks: Blocks) -> FloatArray:
    """Return the data-driven weight of the jump into every column from the weighted rows."""
    in_bins = weight @ X
    return data_driven_weights([in_bins[list(block)] for block in blocks], blocks)


def _point_ranges(
    design: Design,
    coef_min: PerColumn,
    coef_max: PerColumn,
    reference: str,
    features: Sequence[str] | None,
) -> Ranges:
    """Return the range of every bin's points; 0 for reference bins and unused features."""
    blocks = _block_features(design)
    ranges = allowed(design, coef_min, coef_max)
    lower, upper = ranges.coef_min, ranges.coef_max
    if features is not None and (isinstance(features, str) or not isinstance(features, Sequence)):
        raise FormulationError(f"features must be a list of raw features, got {features!r}")
    unknown = [feature for feature in features or () if feature not in list(blocks)]
    if unknown:
        raise FormulationError(
            f"features: no binned feature called {unknown[0]!r}; there are {sorted(blocks)}"
        )
    for feature, block in blocks.items():
        bins = list(block)
        if features is not None and feature not in features:
            own = [j for j, column in enumerate(design.columns) if column.feature == feature]
            lower[own] = upper[own] = 0
        elif reference == "first":
            lower[bins[0]] = upper[bins[0]] = 0
        else:
            lower[bins] = np.maximum(lower[bins], 0)
    if np.any(lower > upper):
        raise FormulationError(
            "with this reference bin no points are left: widen {coef_min} and {coef_max}",
            coef_min=...,
            coef_max=...,
        )
    return ranges


def _lower_blocks(statement: Statement, card: Card) -> Card:
    """Return the card of the same answers with the lowest bin of each block at 0 points."""
    w = card.coefficients.copy()
    shift = 0
    for block in statement.design.blocks:
        bins = list(block)
        least = int(w[bins].min())
        w[bins] -= least
        shift += least
    return Card(w, card.intercept + shift)


# ------------------------------------------------------------------ what conic programs relax


def whole_points(program: ConicProgram, blocks: Blocks, into: FloatArray) -> Program:
    """State the fused lasso over whole points that a program of weighted jumps relaxes."""
    statement = program.statement
    assert isinstance(statement.design, Design)
    assert isinstance(statement.loss, Hinge)
    _require_shifts(program, blocks)
    lam, margin = float(statement.arguments["lam"]), statement.loss.margin
    reaches = _reaches(program, blocks, lam * into)
    # a constant moves freely between a block and the intercept: the first bin of every block is 0
    integer = fused_lasso(
        statement.design,
        lam=lam,
        weights=into,
        margin=margin,
        coef_min=(-reaches).tolist(),
        coef_max=reaches.tolist(),
        intercept="real",
    )
    return replace(integer, least={"lam": lam})


def _require_shifts(program: ConicProgram, blocks: Blocks) -> None:
    """Refuse a program in which a constant cannot move between a block and the intercept."""
    if not program.statement.intercept:
        raise NotApplicableError(
            f"{program.formulation} with the intercept fixed at 0 is not a fused lasso, whose "
            "first bins have 0 points: state it with {intercept}",
            intercept=True,
        )
    starts, order = np.cumsum([0, *map(len, blocks)])[:-1], [j for block in blocks for j in block]
    in_bins = np.add.reduceat(program.statement.merged.X[:, order], starts, axis=1)
    if np.any(in_bins != 1.0):
        raise NotApplicableError(
            "a row lies in no bin of some feature, or in several: fused_lasso's points, 0 in every "
            "first bin, would mean something else; bin the data with milpscore.data.Binner"
        )


def _reaches(program: ConicProgram, blocks: Blocks, costs: FloatArray) -> IntArray:
    """Return the most points, up or down, that every column can be worth, shape (p,)."""
    # The ranges follow from the empty card. A better card's jumps cost less than that one loses, so
    # the points of a bin are at most that loss over lam and the least weight of a jump on the way
    # there; bins that hold no row, up to the end of their block, repeat the points before them.
    statement = program.statement
    margin = statement.loss.margin  # type: ignore[attr-defined]
    nothing = np.zeros(len(statement.columns))
    lost = min(statement.mean_loss(nothing, b) for b in (-margin, margin))
    filled = np.asarray(np.any(statement.merged.X != 0, axis=0))
    reaches = np.zeros(len(statement.columns), dtype=np.int64)
    for block in map(list, blocks):
        matters = np.logical_or.accumulate(filled[block][::-1])[::-1]
        cost = np.where(matters, costs[block], np.inf)
        cost[0] = np.inf
        least = np.minimum.accumulate(cost)
        for k in np.flatnonzero(least == 0)[:1]:
            raise FormulationError(
                f"the jump into {statement.columns[block[k]].name} costs nothing, so nothing "
                "bounds its points: give it a weight > 0, or state fused_lasso with {coef_min} and "
                "{coef_max}",
                coef_min=...,
                coef_max=...,
            )
        reach = lost / least * (1 + 1e-9)
        if reach.max() > POLICY.max_coefficient:
            raise FormulationError(
                f"jumps are so cheap that points reach {reach.max():.2g}: raise {{lam}}, or state "
                "fused_lasso with {coef_min} and {coef_max}",
                lam=...,
                coef_min=...,
                coef_max=...,
            )
        reaches[block] = np.ceil(reach)
    return reaches
