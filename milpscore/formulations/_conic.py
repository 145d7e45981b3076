"""What conic builders share: checked data, the variables w and b, loss plus penalty."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, cast

import cvxpy as cp
import numpy as np

from milpscore.core.conic import (
    Cone,
    ConicProgram,
    ConicStatement,
    ExactForm,
    WeightedRows,
)
from milpscore.core.design import Column, Design
from milpscore.core.errors import DataError, FormulationError, MilpscoreError, OptionError
from milpscore.core.program import Layout
from milpscore.core.statement import ProxPenalty, RowLoss
from milpscore.formulations.building import (
    as_design,
    builder,
    check_positive,
    entries,
    refuse_if_too_large,
)
from milpscore.losses import Hinge, Logistic, Poisson, Squared

Expression = tuple[Any, list[Any]]
"""A loss as a CVXPY expression, and the rows it needs."""


# ------------------------------------------------------------------ the losses over scores z


def _squared(rows: WeightedRows, z: Any, loss: RowLoss) -> Expression:
    """sum_i s_i (y_i - z_i)^2 / 2."""
    return cp.sum_squares(cp.multiply(np.sqrt(rows.weight / 2), rows.y - z)), []


def _logistic(rows: WeightedRows, z: Any, loss: RowLoss) -> Expression:
    """sum_i s_i log(1 + exp(-y_i z_i))."""
    return rows.weight @ cp.logistic(cp.multiply(-rows.y, z)), []


def _hinge(rows: WeightedRows, z: Any, loss: RowLoss) -> Expression:
    """sum_i s_i xi_i / margin with xi_i >= margin - y_i z_i; the rows' duals give a bound."""
    assert isinstance(loss, Hinge)
    xi = cp.Variable(len(rows.y), nonneg=True, name="xi")
    margin_rows = xi >= loss.margin - cp.multiply(rows.y, z)
    return (rows.weight / loss.margin) @ xi, [margin_rows]


def _poisson(rows: WeightedRows, z: Any, loss: RowLoss) -> Expression:
    """sum_i s_i (exp(z_i) - y_i z_i)."""
    return rows.weight @ (cp.exp(z) - cp.multiply(rows.y, z)), []


CONIC_LOSSES: dict[str, tuple[type[Any], Callable[[WeightedRows, Any, RowLoss], Expression]]] = {
    "hinge": (Hinge, _hinge),
    "logistic": (Logistic, _logistic),
    "poisson": (Poisson, _poisson),
    "squared": (Squared, _squared),
}
"""The loss's class, and its weighted sum over rows with scores z."""


def _loss_of(loss: str | RowLoss, margin: float | None) -> RowLoss:
    """Return the loss of a name or an instance; a margin belongs to the hinge loss."""
    name = str(loss if isinstance(loss, str) else getattr(loss, "name", loss)).replace("-", "_")
    if name not in CONIC_LOSSES:
        raise OptionError(
            f"no conic form of the loss {name!r}; there are {', '.join(sorted(CONIC_LOSSES))}"
        )
    if name != "hinge":
        if margin is not None:
            raise FormulationError(
                f"{{margin}} belongs to the hinge loss, not to {name}", margin=margin
            )
        return CONIC_LOSSES[name][0]() if isinstance(loss, str) else loss
    if isinstance(loss, Hinge):
        if margin is not None and margin != loss.margin:
            raise FormulationError(
                f"{{margin}} contradicts {loss!r}: give one of the two", margin=margin
            )
        margin = loss.margin
    margin = 1.0 if margin is None else margin
    check_positive(margin=margin)
    return Hinge(float(margin))


# ------------------------------------------------------------------ the data


@dataclass(frozen=True, eq=False)
class ConicData:
    """Checked data of a conic program."""

    rows: WeightedRows
    merged: WeightedRows  # equal rows once
    columns: tuple[Column, ...]
    blocks: tuple[tuple[int, ...], ...]
    loss: RowLoss
    design: Design | None

    @property
    def features(self) -> tuple[str, ...]:
        """The raw features in order."""
        return tuple(dict.fromkeys(column.feature for column in self.columns))


def _data(X: Any, y: Any, loss: RowLoss, weights: Any, labels: dict[str, Any]) -> ConicData:
    """Check a table and its answers for a loss; ``labels`` holds class_weight and positive."""
    design = None
    blocks: tuple[tuple[int, ...], ...] = ()
    if loss.task == "classification" or isinstance(X, Design):
        design = as_design(X, y, sample_weight=weights, **labels)
        raw = WeightedRows(design.X, design.y.astype(np.float64), design.weight)
        columns, blocks = design.columns, design.blocks
        if loss.task == "count":
            raise DataError("the Poisson loss needs counts, a Design holds classes: pass X and y")
    else:
        if any(label is not None for label in labels.values()):
            raise OptionError(
                f"{{class_weight}} and positive mean nothing to the {loss.name} loss",
                class_weight=...,
            )
        raw, columns = _numbers(X, y, loss, weights)
    merged = _merged(raw, loss)
    refuse_if_too_large(f"conic {loss.name}", len(merged.y), len(columns))
    return ConicData(raw, merged, columns, blocks, loss, design)


def _numbers(
    X: Any, y: Any, loss: RowLoss, sample_weight: Any
) -> tuple[WeightedRows, tuple[Column, ...]]:
    """Return rows whose answers are numbers, and their columns."""
    from milpscore.data import apply_columns
    from milpscore.data.cells import questioned, with_cells
    from milpscore.data.checking import as_frame, row_weights
    from milpscore.data.columns import raw_columns, refuse_equal_names
    from milpscore.proximal.problem import row_answers

    frame = questioned(as_frame(X))
    columns = with_cells(raw_columns(frame), frame)
    refuse_equal_names(columns)
    if y is None:
        raise DataError("y is missing: pass one number for each row")
    answers, _ = row_answers(y, len(frame), loss.task)
    weight = row_weights(sample_weight, len(frame))
    return WeightedRows(apply_columns(columns, frame), answers, weight), tuple(columns)


def _merged(raw: WeightedRows, loss: RowLoss) -> WeightedRows:
    """Merge equal rows, weights adding to 1, with the checks of the proximal path."""
    from milpscore.proximal.problem import prepare

    # the hinge loss has no gradient; logistic loss reads the same answers
    name = "logistic" if loss.task == "classification" else loss.name
    smooth = prepare(raw.X, raw.y, name, sample_weight=raw.weight, intercept=True)
    X: Any = smooth.X
    return WeightedRows(np.asarray(X.X, dtype=np.float64), smooth.y, smooth.weight)


# ------------------------------------------------------------------ the builders

COMMON = entries(
    """
    X : array, DataFrame of shape (n, q), or Design
    y : array of shape (n,)
        Two labels (logistic, hinge), numbers (squared) or counts (poisson); None with a Design.
    weights : array of shape (p,)
        >= 0, one per design column; a weight of 0 frees its column.
    lam : float
        Weight of the penalty on the mean loss.
    expert : array of shape (p,), names, or mapping of name to number
        r in [0, 1]: 1 marks a feature the expert knows to matter. Names may be those of raw
        features or of design columns.
    gamma : float
        The unit of the coefficient grid, > 0.
    loss : {"logistic", "squared", "hinge", "poisson"}
    margin : float, optional
        For the hinge loss, default 1.
    intercept : bool
        False fixes b at 0.
    sample_weight, class_weight, positive :
        As in :func:`milpscore.data.make_design`; the last two for two classes only.
    """
)
"""What the conic builders' common parameters mean."""


class ConicBuilder(Protocol):
    """A builder: data, the penalty's own arguments, and what all conic programs share."""

    __name__: str

    def __call__(
        self,
        X: Any,
        y: Any = None,
        *,
        loss: str | RowLoss = "logistic",
        margin: float | None = None,
        intercept: bool = True,
        sample_weight: Any = None,
        class_weight: Any = None,
        positive: Any = None,
        **penalty: Any,
    ) -> ConicProgram:
        """State the program."""
        ...


def conic_builder(
    make_cone: Callable[[Any, Any], Cone],
    *,
    exact_form: ExactForm | None = None,
    exact_under: Collection[str] = ("hinge",),
    fixed: Collection[str] = (),
) -> Callable[[Callable[..., ProxPenalty]], ConicBuilder]:
    """Make a builder from a function that makes a penalty, and from the penalty's cone."""

    def decorate(penalty_of: Callable[..., ProxPenalty]) -> ConicBuilder:
        parameters = inspect.signature(penalty_of).parameters

        def build(X: Any, y: Any = None, **keywords: Any) -> ConicProgram:
            # 1) Arguments, defaults filled in; data and loss.
            bound = signature.bind(X, y, **keywords)
            bound.apply_defaults()
            values = bound.arguments
            intercept = values["intercept"]
            if not isinstance(intercept, bool | np.bool_):
                raise FormulationError(
                    "{intercept}: use {True} (free) or {False} (fixed at 0)", intercept=intercept
                )
            row_loss = _loss_of(values["loss"], values["margin"])
            labels = {name: values[name] for name in ("class_weight", "positive")}
            data = _data(X, y, row_loss, values["sample_weight"], labels)

            # 2) The penalty as a cone of w; loss plus penalty.
            arguments = {name: values[name] for name in parameters if name != "data"}
            penalty = penalty_of(data, **arguments)
            w = cp.Variable(len(data.columns), name="w")
            b = cp.Variable(name="b") if intercept else cp.Constant(0.0)
            cone = make_cone(w, penalty)
            cone.fill(penalty)
            loss, rows = CONIC_LOSSES[row_loss.name][1](
                data.merged, data.merged.X @ w + b, row_loss
            )
            objective = cp.Minimize(loss + cone.expression)
            statement = ConicStatement(
                formulation=penalty_of.__name__,
                rows=data.rows,
                merged=data.merged,
                columns=data.columns,
                loss=row_loss,
                penalty=penalty,
                intercept=bool(intercept),
                arguments=arguments,
                design=data.design,
            )
            return ConicProgram(
                statement,
                cp.Problem(objective, [*rows, *cone.constraints]),
                Layout(read=_unused, fill=_unused),
                kind="relaxed",
                parameters={key: key for key in arguments if key not in fixed},
                w=w,
                b=b,
                objective=objective,
                loss=loss,
                cone=cone,
                own=rows,
                exact_form=exact_form if row_loss.name in exact_under else None,
                penalty_of=partial(penalty_of, data),
            )

        common = inspect.signature(ConicBuilder.__call__).parameters
        names = dict.fromkeys(["X", "y", *parameters, "loss", *common])
        every = {**parameters, **common}
        signature = inspect.Signature(
            [every[name] for name in names if name not in ("data", "self", "penalty")],
            return_annotation="ConicProgram",
        )
        build.__signature__ = signature  # type: ignore[attr-defined]
        for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(build, attribute, getattr(penalty_of, attribute))
        settable = ", ".join(f"{name}=" for name in parameters if name not in ("data", *fixed))
        answer = f"ConicProgram\n    ``program.set({settable})`` changes these in place."
        return cast(ConicBuilder, builder(build, {**COMMON, "return": answer}))

    return decorate


def _unused(*_: Any) -> Any:
    """Refuse: a conic program reads its variables itself."""
    raise MilpscoreError("a conic program has no card layout")  # pragma: no cover
