"""A conic program: a real-valued statement, and the CVXPY problem that realises it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import Column, Design, FloatArray
from milpscore.core.errors import FormulationError, NotApplicableError
from milpscore.core.program import Program, Size
from milpscore.core.terms import LossTask, ProxPenalty


class RowLoss(Protocol):
    """A convex loss of the score z = w.x + b, row by row, with its conjugate.

    Every :class:`milpscore.core.terms.SmoothLoss` is one; the hinge loss, which has no derivative,
    is another.
    """

    @property
    def name(self) -> str:
        """The loss's name in tables and registries."""

    @property
    def task(self) -> LossTask:
        """What kind of answers it reads."""

    def value(self, z: FloatArray, y: FloatArray) -> FloatArray:
        """Row losses, shape (n,)."""

    def conjugate(self, u: FloatArray, y: FloatArray) -> FloatArray:
        """sup over z of <u, z> - value(z), shape (n,); infinite outside its domain."""


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
        The penalty's arguments as they were given, or set since.
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


@dataclass(eq=False)
class Cone:
    """A penalty written as cones of the variable w.

    Attributes
    ----------
    expression : cvxpy.Expression
        The penalty, its weight included; affine in auxiliary variables.
    constraints : list of cvxpy.Constraint
    data : sequence of (cvxpy.Parameter, penalty -> value)
        What each Parameter holds.
    outgrown : (w of shape (p,), penalty) -> Cone or None
        A larger cone where the answer lies beyond what this one states exactly; None: all is well.
    growth : str
        What was enlarged, for the result's message.
    """

    expression: Any
    constraints: list[Any] = field(default_factory=list)
    data: Sequence[tuple[Any, Callable[[Any], Any]]] = ()
    outgrown: Callable[[FloatArray, Any], Cone | None] = field(default=lambda w, penalty: None)
    growth: str = ""

    def fill(self, penalty: ProxPenalty) -> None:
        """Set every Parameter to what a penalty of the cone's class says."""
        values = [value(penalty) for _, value in self.data]  # all of them, or none is set
        for (parameter, _), value in zip(self.data, values, strict=True):
            parameter.value = value


ExactForm = Callable[["ConicProgram"], Program]


@dataclass(eq=False, repr=False)
class ConicProgram(Program):
    """A :class:`Program` whose ``model`` is a CVXPY problem.

    Add constraints on the variables ``w`` and ``b`` (or on variables of your own) with
    :meth:`subject_to`, or put a problem with more constraints in place of ``model``.

    Attributes
    ----------
    statement : ConicStatement
    model : cvxpy.Problem
        Minimises ``loss + penalty``; its variables and ``Parameter`` objects have names.
    w, b : cvxpy.Variable of shape (p,) and ()
        ``b`` is the constant 0 where the intercept is fixed.
    objective : cvxpy.Minimize
        What was stated, loss + penalty.
    loss : cvxpy.Expression
    cone : Cone
        The penalty as cones.
    own : list of cvxpy.Constraint
        The loss's constraints; under the hinge loss the margin rows.
    exact_form : callable or None
        States the integer program that this one relaxes.
    penalty_of : callable
        The penalty that the builder's own arguments mean, on these data.
    """

    statement: ConicStatement  # type: ignore[assignment]
    w: Any = None
    b: Any = None
    objective: Any = None
    loss: Any = None
    cone: Cone = None  # type: ignore[assignment]
    own: list[Any] = field(default_factory=list)
    exact_form: ExactForm | None = None
    penalty_of: Callable[..., ProxPenalty] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Name, loss and shape; the data stay out."""
        rows, columns = self.statement.shape
        return (
            f"<Program {self.formulation}, {self.statement.loss.name} loss, conic, of {rows} rows "
            f"x {columns} columns>"
        )

    @property
    def penalty(self) -> Any:
        """The penalty's CVXPY expression."""
        return self.cone.expression

    @property
    def added(self) -> list[Any]:
        """The constraints a user added."""
        own = {constraint.id for constraint in [*self.own, *self.cone.constraints]}
        return [constraint for constraint in self.model.constraints if constraint.id not in own]

    def added_by_user(self) -> str:
        """What was added to the problem, in words; empty where nothing was."""
        return ", ".join(str(constraint) for constraint in self.added)

    def subject_to(self, *constraints: Any) -> ConicProgram:
        """Add constraints, in place.

        Parameters
        ----------
        *constraints : cvxpy.Constraint
            On ``program.w``, ``program.b``, or variables of your own.

        Returns
        -------
        ConicProgram
            Itself.
        """
        import cvxpy as cp

        self.model = cp.Problem(self.model.objective, [*self.model.constraints, *constraints])
        return self

    def relaxed(self) -> ConicProgram:
        """A new program with a problem of its own over the same variables.

        A conic program has no integers: nothing is relaxed. Whatever a user added stays.

        Returns
        -------
        ConicProgram
        """
        import cvxpy as cp

        model = cp.Problem(self.model.objective, self.model.constraints)
        return replace(self, model=model)

    def exact(self) -> Program:
        """The integer program that this one relaxes, in Pyomo.

        Raises
        ------
        NotApplicableError
            Where there is none yet for this loss or penalty, or where constraints were added,
            which CVXPY cannot hand to Pyomo.
        """
        if self.exact_form is None:
            raise NotApplicableError(
                f"{self.formulation} under the {self.statement.loss.name} loss has no integer "
                "program here: facets, and binarsity and weighted_fused_lasso of a binned Design, "
                "have one under the hinge loss; risk_score(penalty=...) states those of L1, L2, "
                "Facets and EYE under smooth losses"
            )
        if self.added:
            raise NotApplicableError(
                f"the constraint {self.added[0]} is CVXPY's and cannot be kept: call exact() "
                "first and add it to the Pyomo model"
            )
        return self.exact_form(self)

    def write(self, path: str | Path) -> Path:
        """Write the standard conic form as ``.cbf`` (Conic Benchmark Format, version 3).

        Parameters
        ----------
        path : str or Path
            Ends in ``.cbf``.

        Returns
        -------
        Path

        Raises
        ------
        FormulationError
            For any other ending.
        """
        from milpscore.core.cone_form import compiled, write_cbf

        path = Path(path)
        self.restore_parameters()
        if path.suffix != ".cbf":
            raise FormulationError(
                f"cannot write {path.name}: a conic program is written as .cbf; its integer "
                "program, program.exact(), as .lp or .mps"
            )
        write_cbf(compiled(self.model), path)
        return path

    @property
    def size(self) -> Size:
        """Rows, columns and nonzeros of the standard conic form."""
        from milpscore.core.cone_form import compiled

        matrix = compiled(self.model).A
        return Size(matrix.shape[0], matrix.shape[1], 0, int(matrix.nnz))

    def coefficients(self) -> tuple[FloatArray, float]:
        """Coefficients w (shape (p,)) and intercept b from the model's current values.

        Raises
        ------
        NotApplicableError
            Where the model has no values yet.
        """
        if self.w.value is None or self.b.value is None:
            raise NotApplicableError("the model holds no values: solve it first")
        return np.array(self.w.value, dtype=np.float64), float(self.b.value)

    def load(self, w: FloatArray, b: float) -> None:
        """Set the values of w and b."""
        self.w.value = w
        if self.statement.intercept:
            self.b.value = b

    def card(self) -> NoReturn:
        """Refused: real coefficients are no card."""
        raise NotApplicableError(
            "a conic program has real coefficients and no card: round them (milpscore.rounding), "
            "or solve program.exact()"
        )

    def fill(self, card: Card) -> NoReturn:
        """Refused: real coefficients are no card."""
        raise NotApplicableError("a conic program takes no card: set program.w.value")

    def set(self, **values: Any) -> None:
        """Change the penalty's arguments (``lam``, ``gamma``, ``expert``, ...) in place.

        Only values of ``Parameter`` objects change: the next solve compiles nothing. (Every solve
        sets them to what the arguments mean; a value moved by hand does not last.)

        Raises
        ------
        FormulationError
            For an argument this program was not built with.
        OptionError
            For a value outside its range.
        """
        for name in values:
            if name not in self.parameters:
                raise FormulationError(
                    f"{self.formulation} cannot change {name!r} in place; it can change "
                    f"{sorted(self.parameters)}: build a new program instead"
                )
        arguments = {**self.statement.arguments, **values}
        penalty = self.penalty_of(**arguments)
        self.cone.fill(penalty)
        self.statement = replace(self.statement, penalty=penalty, arguments=arguments)
        self.arguments = {**self.arguments, **values}

    def grow(self) -> str:
        """Enlarge the cone where the values lie beyond what it states exactly.

        Returns
        -------
        str
            What was enlarged; empty where nothing had to be.
        """
        import cvxpy as cp

        w, _ = self.coefficients()
        larger = self.cone.outgrown(w, self.statement.penalty)
        if larger is None:
            return ""
        added = self.added
        larger.fill(self.statement.penalty)
        self.cone = larger
        self.objective = cp.Minimize(self.loss + larger.expression)
        self.model = cp.Problem(self.objective, [*self.own, *larger.constraints, *added])
        return larger.growth

    def restore_parameters(self) -> None:
        """Set every Parameter to what the arguments mean.

        A copy shares them with its original, and they can be moved by hand: the statement decides.
        """
        self.cone.fill(self.statement.penalty)

    def require_stated(self) -> None:
        """Refuse a model whose objective or constraints make the answer mean something else.

        Raises
        ------
        FormulationError
        """
        there = {constraint.id for constraint in self.model.constraints}
        for constraint in [*self.own, *self.cone.constraints]:
            if constraint.id not in there:
                raise FormulationError(
                    f"the model lacks the builder's constraint {constraint}: add to "
                    "program.model.constraints, do not take away"
                )
        if self.model.objective is not self.objective:
            raise FormulationError(
                "the model's objective is not the one that was stated (program.loss + "
                "program.penalty): change arguments with program.set or state a new program"
            )
        inner = {
            var.id
            for part in [self.loss, self.cone.expression, *self.own, *self.cone.constraints]
            for var in part.variables()
        } - {self.w.id, getattr(self.b, "id", None)}
        for constraint in self.added:
            for var in constraint.variables():
                if var.id in inner:
                    raise FormulationError(
                        f"the constraint {constraint} uses the auxiliary variable {var.name()}: "
                        "state it on program.w and program.b"
                    )
                if var.attributes["boolean"] or var.attributes["integer"]:
                    raise FormulationError(
                        f"variable {var.name()} is integer, which no conic solver here takes: add "
                        "it to program.exact() instead"
                    )
