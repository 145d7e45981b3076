"""The binarsity penalty: total variation inside blocks that sum to zero."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import cvxpy as cp
import numpy as np
from scipy import sparse

from milpscore.core.conic import Cone, ConicProgram, RowLoss
from milpscore.core.design import FloatArray
from milpscore.core.errors import FormulationError
from milpscore.core.program import Program
from milpscore.formulations._conic import (
    Arguments,
    ConicData,
    conic_data,
    conic_program,
)
from milpscore.formulations._jumps import Blocks, neighbours, whole_points
from milpscore.formulations.building import builder
from milpscore.penalties import Binarsity, data_driven_weights


@builder
def binarsity(
    X: Any,
    y: Any = None,
    *,
    lam: float = 0.1,
    weights: Any = None,
    blocks: Sequence[Sequence[int]] | None = None,
    loss: str | RowLoss = "logistic",
    margin: float | None = None,
    intercept: bool = True,
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
) -> ConicProgram:
    r"""A step function a feature, with few steps: equal neighbours merge into one bin.

    .. math::

        \min\ & \tfrac1S \sum_i s_i\, \ell(y_i, w \cdot x_i + b)
            + \sum_B \sum_{j, j+1 \in B} \lambda v_{j+1} |w_{j+1} - w_j| \\
        & \textstyle \sum_{j \in B} w_j = 0 \quad \text{for every block } B

    over the ordered one-hot bins of every raw feature. lam times the weights of the jumps is one
    Parameter, ``lam_jumps``.

    Parameters
    ----------
    X : Design with ordered blocks of bins, as :class:`milpscore.data.Binner` makes them, or with
        ``blocks`` a table of one-hot columns
    y, loss, margin, intercept, sample_weight, class_weight, positive :
        As in :func:`milpscore.formulations.eye`.
    lam : float
    weights : array of shape (p,) or "data", optional
        v, the weight of the jump *into* each column (that of a block's first bin is not used), as
        :class:`milpscore.penalties.Binarsity` takes them; None is 1 each. ``"data"`` takes
        :func:`milpscore.penalties.data_driven_weights` of the weighted rows in each bin.
    blocks : sequence of sequences of int, optional
        The columns of each feature, in the order of its bins, where X is no Design (numbers and
        counts need a table).

    Returns
    -------
    ConicProgram
        ``program.set(lam=, weights=)`` changes both in place; ``program.exact()`` is the fused
        lasso over whole points that it relaxes (hinge loss, a Design).

    Raises
    ------
    DataError, FormulationError, OptionError, SizeError

    Notes
    -----
    References: Alaya, "Binarsity: a penalization for one-hot encoded features" (seminar, 2018);
    erratum: the slide's data-driven weights delete k columns where it should be k - 1. The whole
    points are those of Sokolovska, Chevaleyre & Zucker, fused-lasso scores, eqs. 1-5.
    """
    data = conic_data(
        X,
        y,
        loss=loss,
        margin=margin,
        sample_weight=sample_weight,
        class_weight=class_weight,
        positive=positive,
    )
    chosen = _blocks(data, blocks)

    def restate(given: Arguments) -> dict[str, Any]:
        if isinstance(given.get("weights"), str) and given["weights"] == "data":
            return {**given, "weights": _data_weights(data, chosen)}
        return dict(given)

    whole = data.loss.name == "hinge" and chosen == data.blocks
    return conic_program(
        "binarsity",
        data,
        partial(_cone, blocks=chosen),
        restate({"lam": lam, "weights": weights}),
        intercept=intercept,
        exact_form=_exact if whole else None,
        restate=restate,
    )


def _blocks(data: ConicData, given: Blocks | None) -> tuple[tuple[int, ...], ...]:
    """The blocks meant: those given, or those of the design.

    Raises
    ------
    FormulationError
        Where there are none, a column belongs to none, or no feature has two bins.
    """
    p = len(data.columns)
    blocks = data.blocks if given is None else Binarsity(0.0, blocks=given).blocks
    if sum(map(len, blocks)) != p:
        raise FormulationError(
            "binarsity needs every feature as ordered one-hot bins: bin the data first "
            "(milpscore.data.Binner, or --bins N / --thresholds FILE on the command line), or give "
            "blocks that hold every column of the table"
        )
    if len(blocks) == p:
        raise FormulationError(
            "every feature has a single bin, which binarsity holds at 0: bin the data finer"
        )
    return tuple(tuple(block) for block in blocks)


def _data_weights(data: ConicData, blocks: Blocks) -> FloatArray:
    """The data-driven weights of the weighted rows in each bin."""
    in_bins = data.rows.weight @ data.rows.X
    return data_driven_weights([in_bins[list(block)] for block in blocks], blocks)


def _cone(w: Any, data: ConicData, blocks: Blocks) -> Cone:
    left, right = neighbours(blocks)
    slopes = cp.Parameter(len(right), nonneg=True, name="lam_jumps")

    def fill(arguments: Arguments) -> Binarsity:
        penalty = Binarsity(arguments["lam"], blocks=blocks, weights=arguments["weights"])
        given = 1.0 if penalty.weights is None else penalty.weights[right]
        slopes.value = penalty.lam * given * np.ones(len(right))
        return penalty

    rows = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
    columns = [column for block in blocks for column in block]
    sums = sparse.csr_array((np.ones(len(columns)), (rows, columns)))
    return Cone(slopes @ cp.abs(w[right] - w[left]), [sums @ w == 0], fill)


def _exact(program: ConicProgram) -> Program:
    """The fused lasso over whole points."""
    penalty = program.statement.penalty
    assert isinstance(penalty, Binarsity)
    p = len(program.statement.columns)
    into = np.ones(p) if penalty.weights is None else np.asarray(penalty.weights)
    return whole_points(program, penalty.blocks, into)
