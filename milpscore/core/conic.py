"""A conic program: a real-valued statement, its CVXPY problem, and its standard form."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import numpy as np
from scipy import sparse

from milpscore.core.card import Card
from milpscore.core.design import Column, Design, FloatArray
from milpscore.core.errors import FormulationError, NotApplicableError
from milpscore.core.labels import PointsByName
from milpscore.core.program import Program, Size
from milpscore.core.statement import ProxPenalty, RowLoss
from milpscore.core.writing import write_text


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Rows of numbers with their answers and weights."""

    X: FloatArray  # (n, p)
    y: FloatArray  # (n,): -1/+1 for a classification loss, else real numbers or counts
    weight: FloatArray  # (n,), not negative, not all zero


@dataclass(frozen=True, eq=False)
class ConicStatement:
    """min weighted mean loss + penalty over real coefficients."""

    formulation: str  # the builder's name
    rows: WeightedRows  # the data as given
    merged: WeightedRows  # equal rows once, weights adding to 1: what the program states
    columns: tuple[Column, ...]
    loss: RowLoss
    penalty: ProxPenalty
    intercept: bool  # False fixes b at 0; else it is free and not penalised
    arguments: Mapping[str, Any] = field(default_factory=dict)  # the penalty's, as given or set
    design: Design | None = None  # for two classes; None for real answers and counts
    caveat: str = ""

    def __repr__(self) -> str:
        """Name, loss and shape; the data stay out."""
        rows, columns = self.shape
        return (
            f"<Statement {self.formulation}, {self.loss.name} loss, of {rows} rows x {columns} "
            "columns>"
        )

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
    """A penalty written as cones of the variable w."""

    expression: Any  # of CVXPY: the penalty, its weight included; affine in auxiliary variables
    constraints: list[Any] = field(default_factory=list)
    # what each Parameter holds, of a penalty
    data: Sequence[tuple[Any, Callable[[Any], Any]]] = ()
    # a larger cone where the answer w lies beyond what this one states exactly; None: all is well
    outgrown: Callable[[FloatArray, Any], Cone | None] = field(default=lambda w, penalty: None)
    growth: str = ""  # what was enlarged, for the result's message
    filled: list[Any] = field(default_factory=list)  # what every Parameter was set to last

    def fill(self, penalty: ProxPenalty) -> None:
        """Set every Parameter to what a penalty of the cone's class says."""
        values = [value(penalty) for _, value in self.data]  # all of them, or none is set
        for (parameter, _), value in zip(self.data, values, strict=True):
            parameter.value = value
        self.filled[:] = [np.array(parameter.value) for parameter, _ in self.data]

    def moved(self) -> list[str]:
        """Name the Parameters whose values were set by hand since they were filled."""
        pairs = zip(self.data, self.filled, strict=False)
        return [
            parameter.name()
            for (parameter, _), value in pairs
            if parameter.value is None or not np.array_equal(parameter.value, value)
        ]


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

    conic: ClassVar[bool] = True

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
    def points(self) -> PointsByName:
        """The entries of ``w``, by the names of the columns."""
        return PointsByName(self.statement.columns, list(self.w))

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
        """Add constraints on ``w``, ``b`` or variables of your own, in place; answers itself."""
        import cvxpy as cp

        self.model = cp.Problem(self.model.objective, [*self.model.constraints, *constraints])
        return self

    def relaxed(self) -> ConicProgram:
        """A new program with a problem of its own over the same variables: nothing is relaxed."""
        import cvxpy as cp

        model = cp.Problem(self.model.objective, self.model.constraints)
        return replace(self, model=model)

    def exact(self) -> Program:
        """Return the integer program that this one relaxes, in Pyomo.

        Raises NotApplicableError where there is none yet for this loss or penalty, or where
        constraints were added, which CVXPY cannot hand to Pyomo.
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
        """Write the standard conic form as ``.cbf`` (Conic Benchmark Format, version 3)."""
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
        matrix = compiled(self.model).A
        return Size(matrix.shape[0], matrix.shape[1], 0, int(matrix.nnz))

    def coefficients(self) -> tuple[FloatArray, float]:
        """Coefficients w (shape (p,)) and intercept b from the model's current values."""
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
        sets them to what the arguments mean, and names those that were moved by hand.) Raises
        FormulationError for an argument this program was not built with, OptionError for a value
        outside its range.
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
        """Enlarge the cone where the values lie beyond what it states exactly; says what grew."""
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

    def restore_parameters(self) -> str:
        """Set every Parameter to what the arguments mean; say which were moved by hand.

        A copy shares them with its original, and they can be moved by hand: the statement decides.
        """
        moved = self.cone.moved()
        self.cone.fill(self.statement.penalty)
        if not moved:
            return ""
        named = f"{'Parameter' if len(moved) == 1 else 'Parameters'} {', '.join(moved)}"
        return (
            f"{named} had been set by hand: what is solved is what the arguments say "
            f"(program.set changes {', '.join(sorted(self.parameters))})"
        )

    def require_stated(self) -> None:
        """Refuse a model whose objective or constraints make the answer mean something else."""
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


@dataclass(frozen=True, eq=False)
class ConeForm:
    """min c.x + offset with A x + s = b and s in a product of cones, in this order.

    Exponential cones are the closure of {(x, y, z): y > 0, y exp(x / y) <= z}.
    """

    c: FloatArray  # (q,)
    offset: float
    A: Any  # sparse, (m, q)
    b: FloatArray  # (m,)
    zero: int  # rows of the zero cone
    nonneg: int  # rows of the non-negative one
    soc: tuple[int, ...]  # sizes of the second-order cones {(t, v): ||v||_2 <= t}
    exp: int  # number of exponential cones
    chain: Any  # CVXPY's way back from x to the problem's variables, with inverse
    inverse: Any

    @property
    def exp_start(self) -> int:
        """The first row of the exponential cones."""
        return self.zero + self.nonneg + sum(self.soc)

    def residuals(self, x: FloatArray, z: FloatArray) -> dict[str, float]:
        """Relative residuals and both objectives of x, shape (q,), and duals z, shape (m,).

        "primal": how far b - A x lies outside the cones, over 1 + max |b|. "dual": the larger of
        max |c + A'z| over 1 + max |c| and how far z lies outside the dual cones.
        """
        outside = cone_distance(self, self.b - self.A @ x)
        slope = float(np.abs(self.c + self.A.T @ z).max(initial=0.0))
        return {
            "primal": outside / (1.0 + float(np.abs(self.b).max(initial=0.0))),
            "dual": max(
                slope / (1.0 + float(np.abs(self.c).max(initial=0.0))),
                cone_distance(self, z, dual=True) / (1.0 + float(np.abs(z).max(initial=0.0))),
            ),
            "primal_objective": float(self.c @ x) + self.offset,
            "dual_objective": -float(self.b @ z) + self.offset,
        }

    def dual_bound(self, x: FloatArray, z: FloatArray) -> float:
        """Return the dual objective, lowered by what its residual can be worth at the point found.

        For x in the feasible set c.x >= -b.z + (c + A'z).x: exact only up to the size of x.
        """
        slope = np.abs(self.c + self.A.T @ z)
        return -float(self.b @ z) + self.offset - float(slope @ np.abs(x))


def compiled(model: Any) -> ConeForm:
    """The standard form of a cvxpy.Problem; where only Parameters changed it is not recompiled.

    Raises FormulationError where it is not convex by CVXPY's rules, or needs other cones.
    """
    import cvxpy as cp

    # CVXPY compiles for a solver it knows; Clarabel is always installed, and without its quadratic
    # objective the form is the plain one that every conic solver reads
    plain = {"use_quad_obj": False}
    try:
        data, chain, inverse = model.get_problem_data("CLARABEL", solver_opts=plain)
    except (cp.error.DCPError, cp.error.DPPError, cp.error.ParameterError) as error:
        first = " ".join(str(error).split())[:300]
        raise FormulationError(
            f"CVXPY does not accept the problem as it stands: {first}; state what you added by "
            "its rules for convex problems (https://dcp.stanford.edu)"
        ) from error
    dims = data["dims"]
    if dims.psd or dims.p3d or dims.pnd:
        raise FormulationError(
            "a constraint needs semidefinite or power cones, which are not supported: use norms, "
            "squares, exp and log"
        )
    offset = float(np.ravel(inverse[-1]["offset"])[0])
    return ConeForm(
        c=np.asarray(data["c"], dtype=np.float64),
        offset=offset,
        A=sparse.csc_matrix(data["A"]),
        b=np.asarray(data["b"], dtype=np.float64).ravel(),
        zero=int(dims.zero),
        nonneg=int(dims.nonneg),
        soc=tuple(int(size) for size in dims.soc),
        exp=int(dims.exp),
        chain=chain,
        inverse=inverse,
    )


def load_values(model: Any, form: ConeForm, x: FloatArray, z: FloatArray, objective: float) -> None:
    """Put x, shape (q,), and duals z, shape (m,), back into the problem; c.x is ``objective``."""
    from types import SimpleNamespace

    answer = SimpleNamespace(
        status="Solved", x=x, z=z, obj_val=objective, solve_time=0.0, iterations=0
    )
    model.unpack_results(answer, form.chain, form.inverse)


def cone_distance(form: ConeForm, s: FloatArray, *, dual: bool = False) -> float:
    """The largest violation of cone membership in s, shape (m,); of the dual cones for ``dual``."""
    worst = 0.0
    at = form.zero
    if not dual:
        worst = float(np.abs(s[:at]).max(initial=0.0))
    worst = max(worst, float((-s[at : at + form.nonneg]).max(initial=0.0)))
    at += form.nonneg
    for size in form.soc:
        part = s[at : at + size]
        worst = max(worst, float(np.linalg.norm(part[1:]) - part[0]))
        at += size
    triples = s[form.exp_start :].reshape(-1, 3)
    if len(triples):
        worst = max(worst, float(_exp_violation(triples, dual).max()))
    return worst


def _exp_violation(triples: FloatArray, dual: bool) -> FloatArray:
    """How far each row is outside the exponential cone, or outside its dual cone.

    The dual cone is the closure of {(u, v, w): u < 0, -u exp(v / u - 1) <= w}.
    """
    x, y, z = triples.T
    scale, power, shift = (-x, y, -1.0) if dual else (y, x, 0.0)
    curved = scale > 0
    divisor = np.where(curved, -scale if dual else scale, 1.0)
    with np.errstate(over="ignore"):
        above = scale * np.exp(np.minimum(power / divisor + shift, 700.0)) - z
    # on the face where the scale is 0 the power may not lift
    lift = -y if dual else x
    face = np.maximum.reduce([-scale, lift, -z])
    return np.asarray(np.maximum(np.where(curved, above, face), 0.0))


def write_cbf(form: ConeForm, path: Path) -> None:
    """Write the Conic Benchmark Format: rows b - A x in cones, exponential cones reversed.

    CBF's exponential cone is {(t, s, r): t >= s exp(r / s), s >= 0}: the entries of ours backwards.
    """
    order = np.arange(len(form.b))
    tail = order[form.exp_start :].reshape(-1, 3)[:, ::-1].ravel()
    order = np.concatenate([order[: form.exp_start], tail])
    rows = (-form.A).tocsr()[order].tocoo()
    cones = [("L=", form.zero), ("L+", form.nonneg)]
    cones += [("Q", size) for size in form.soc] + [("EXP", 3)] * form.exp
    cones = [(name, size) for name, size in cones if size]
    costs, shifts = np.flatnonzero(form.c), np.flatnonzero(form.b[order])
    lines = ["VER", "3", "", "OBJSENSE", "MIN", ""]
    lines += ["VAR", f"{len(form.c)} 1", f"F {len(form.c)}", ""]
    lines += ["CON", f"{len(order)} {len(cones)}"]
    lines += [f"{name} {size}" for name, size in cones] + [""]
    lines += ["OBJACOORD", str(len(costs))]
    lines += [f"{j} {value!r}" for j, value in zip(costs, form.c[costs].tolist(), strict=True)]
    lines += ["", "OBJBCOORD", repr(form.offset), "", "ACOORD", str(rows.nnz)]
    entries = sorted(zip(rows.row.tolist(), rows.col.tolist(), rows.data.tolist(), strict=True))
    lines += [f"{i} {j} {value!r}" for i, j, value in entries]
    lines += ["", "BCOORD", str(len(shifts))]
    values = form.b[order][shifts].tolist()
    lines += [f"{i} {value!r}" for i, value in zip(shifts, values, strict=True)]
    write_text(path, "\n".join([*lines, ""]))
