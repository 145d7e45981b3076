"""A conic program: a real-valued statement, and the CVXPY problem that realises it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from milpscore.core.card import Card
from milpscore.core.conic_statement import ConicStatement, RowLoss, WeightedRows
from milpscore.core.design import FloatArray
from milpscore.core.errors import FormulationError, NotApplicableError
from milpscore.core.program import Program, Size
from milpscore.core.terms import ProxPenalty

__all__ = ["Cone", "ConicProgram", "ConicStatement", "ExactForm", "RowLoss", "WeightedRows"]


@dataclass(eq=False)
class Cone:
    """A penalty written as cones of the variable w.

    Attributes
    ----------
    expression : cvxpy.Expression
        The penalty, its weight included; affine in auxiliary variables.
    constraints : list of cvxpy.Constraint
    fill : (mapping of arguments) -> ProxPenalty
        Checks the arguments, sets every ``Parameter``, and returns the penalty they mean.
    outgrown : (w of shape (p,), arguments) -> Cone or None
        A larger cone where the answer lies beyond what this one states exactly; None: all is well.
    growth : str
        What was enlarged, for the result's message.
    """

    expression: Any
    constraints: list[Any]
    fill: Callable[[Mapping[str, Any]], ProxPenalty]
    outgrown: Callable[[FloatArray, Mapping[str, Any]], Cone | None] = field(
        default=lambda w, arguments: None
    )
    growth: str = ""


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
    """

    statement: ConicStatement  # type: ignore[assignment]
    w: Any = None
    b: Any = None
    objective: Any = None
    loss: Any = None
    cone: Cone = None  # type: ignore[assignment]
    own: list[Any] = field(default_factory=list)
    exact_form: ExactForm | None = None
    restate: Callable[[Mapping[str, Any]], dict[str, Any]] = field(default=dict)

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
        arguments = {**self.statement.arguments, **self.restate(values)}
        penalty = self.cone.fill(arguments)
        self.statement = replace(self.statement, penalty=penalty, arguments=arguments)

    def grow(self) -> str:
        """Enlarge the cone where the values lie beyond what it states exactly.

        Returns
        -------
        str
            What was enlarged; empty where nothing had to be.
        """
        import cvxpy as cp

        w, _ = self.coefficients()
        larger = self.cone.outgrown(w, self.statement.arguments)
        if larger is None:
            return ""
        added = self.added
        larger.fill(self.statement.arguments)
        self.cone = larger
        self.objective = cp.Minimize(self.loss + larger.expression)
        self.model = cp.Problem(self.objective, [*self.own, *larger.constraints, *added])
        return larger.growth

    def restore_parameters(self) -> None:
        """Set every Parameter to what the arguments mean.

        A copy shares them with its original, and they can be moved by hand: the statement decides.
        """
        self.cone.fill(self.statement.arguments)

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
