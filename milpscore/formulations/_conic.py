"""What the conic builders share: checked data, the variables w and b, loss plus penalty."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from milpscore.core.conic import (
    Cone,
    ConicProgram,
    ConicStatement,
    ExactForm,
    RowLoss,
    WeightedRows,
)
from milpscore.core.design import Column, Design
from milpscore.core.errors import DataError, FormulationError, MilpscoreError, OptionError
from milpscore.core.program import Layout
from milpscore.formulations._conic_losses import conic_loss, express
from milpscore.formulations.building import as_design, refuse_if_too_large

Arguments = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class ConicData:
    """Checked data of a conic program.

    Attributes
    ----------
    rows, merged : WeightedRows
        As given, and with equal rows once.
    columns : tuple of Column, length p
    features : tuple of str
        The raw features, in order.
    blocks : tuple of tuples of int
        The ordered bins of each binned feature; empty without a binned design.
    loss : RowLoss
    design : Design or None
    """

    rows: WeightedRows
    merged: WeightedRows
    columns: tuple[Column, ...]
    features: tuple[str, ...]
    blocks: tuple[tuple[int, ...], ...]
    loss: RowLoss
    design: Design | None


def conic_data(
    X: Any,
    y: Any,
    *,
    loss: str | RowLoss,
    margin: float | None = None,
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
) -> ConicData:
    """Check a table with its answers for a loss.

    Labels of two classes become -1/+1 for logistic and hinge loss; for squared and Poisson loss y
    holds numbers.

    Parameters
    ----------
    X : array, DataFrame of shape (n, q), or Design
    y : array of shape (n,); None with a Design
    loss : str or RowLoss
    margin : float, optional
    sample_weight, class_weight, positive :
        As in :func:`milpscore.data.make_design`; the last two for classes only.

    Raises
    ------
    DataError, FormulationError, OptionError, SizeError
    """
    chosen = conic_loss(loss, margin)
    design = None
    if chosen.task == "classification" or isinstance(X, Design):
        design = as_design(
            X, y, sample_weight=sample_weight, class_weight=class_weight, positive=positive
        )
        raw = WeightedRows(design.X, design.y.astype(np.float64), design.weight)
        columns, blocks = design.columns, design.blocks
        if chosen.task == "count":
            raise DataError("the Poisson loss needs counts, a Design holds classes: pass X and y")
    else:
        if class_weight is not None or positive is not None:
            raise OptionError(f"class_weight and positive mean nothing to the {chosen.name} loss")
        raw, columns = _numbers(X, y, sample_weight)
        blocks = ()
    merged = _merged(raw, chosen)
    refuse_if_too_large(f"conic {chosen.name}", len(merged.y), len(columns))
    features = tuple(dict.fromkeys(column.feature for column in columns))
    return ConicData(raw, merged, columns, features, blocks, chosen, design)


def _numbers(X: Any, y: Any, sample_weight: Any) -> tuple[WeightedRows, tuple[Column, ...]]:
    """Rows whose answers are numbers."""
    from milpscore.data import apply_columns
    from milpscore.data.checking import as_frame, row_weights
    from milpscore.data.columns import raw_columns, refuse_equal_names

    frame = as_frame(X)
    columns = raw_columns(frame)
    refuse_equal_names(columns)
    if y is None:
        raise DataError("y is missing: pass one number for each row")
    try:
        answers = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"y holds no numbers ({error}): this loss needs numbers") from error
    if answers.shape != (len(frame),):
        raise DataError(
            f"X has {len(frame)} rows but y has the shape {answers.shape}: one number a row"
        )
    weight = row_weights(sample_weight, len(frame))
    return WeightedRows(apply_columns(columns, frame), answers, weight), tuple(columns)


def _merged(raw: WeightedRows, loss: RowLoss) -> WeightedRows:
    """Equal rows once, weights adding to 1; the checks of the proximal path come with it."""
    from milpscore.proximal._problem import prepare

    # the hinge loss has no gradient; logistic loss reads the same answers
    name = "logistic" if loss.task == "classification" else loss.name
    smooth = prepare(raw.X, raw.y, name, sample_weight=raw.weight, intercept=True)
    X: Any = smooth.X
    return WeightedRows(np.asarray(X.X, dtype=np.float64), smooth.y, smooth.weight)


MakeCone = Callable[[Any, ConicData], Cone]


def conic_program(
    name: str,
    data: ConicData,
    make_cone: MakeCone,
    arguments: Arguments,
    *,
    intercept: bool,
    exact_form: ExactForm | None = None,
    restate: Callable[[Arguments], dict[str, Any]] = dict,
    fixed: Iterable[str] = (),
) -> ConicProgram:
    """Minimise loss + penalty over w and b.

    Parameters
    ----------
    name : str
        Of the formulation.
    data : ConicData
    make_cone : (w, data) -> Cone
    arguments : mapping
        The penalty's arguments, in the form the cone's ``fill`` takes them.
    intercept : bool
        False fixes b at 0.
    exact_form : callable, optional
        States the integer program.
    restate : callable, optional
        Turns what a user passes to ``program.set`` into that form.
    fixed : iterable of str
        Arguments that ``program.set`` cannot change.

    Returns
    -------
    ConicProgram
    """
    if not isinstance(intercept, bool | np.bool_):
        raise FormulationError(f"intercept={intercept!r}: use True (free) or False (fixed at 0)")
    w = cp.Variable(len(data.columns), name="w")
    b = cp.Variable(name="b") if intercept else cp.Constant(0.0)
    cone = make_cone(w, data)
    penalty = cone.fill(arguments)
    loss, own = express(data.merged, data.merged.X @ w + b, data.loss)
    objective = cp.Minimize(loss + cone.expression)
    model = cp.Problem(objective, [*own, *cone.constraints])
    statement = ConicStatement(
        formulation=name,
        rows=data.rows,
        merged=data.merged,
        columns=data.columns,
        loss=data.loss,
        penalty=penalty,
        intercept=bool(intercept),
        arguments=dict(arguments),
        design=data.design,
    )
    changeable = {key: key for key in arguments if key not in set(fixed)}
    return ConicProgram(
        statement,
        model,
        Layout(read=_unused, fill=_unused),
        kind="relaxed",
        parameters=changeable,
        w=w,
        b=b,
        objective=objective,
        loss=loss,
        cone=cone,
        own=own,
        exact_form=exact_form,
        restate=restate,
    )


def _unused(*_: Any) -> Any:
    """A conic program reads its own variables."""
    raise MilpscoreError("a conic program has no card layout")  # pragma: no cover
