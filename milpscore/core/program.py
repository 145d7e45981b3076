"""A program: the statement, and the model in a modelling language that realises it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeGuard

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import FloatArray
from milpscore.core.errors import (
    FormulationError,
    NotApplicableError,
    is_number,
    require_ending,
)
from milpscore.core.statement import Statement

if TYPE_CHECKING:
    from milpscore.core.conic import ConicProgram
    from milpscore.core.labels import PointsByName

MODEL_FILES = (".lp", ".mps")


def summary_box(caption: str, figures: Mapping[str, str], below: Sequence[str]) -> str:
    """Return a captioned table of names and values with HTML below it; the values are escaped."""
    left, right = (f' style="text-align: {side}"' for side in ("left", "right"))
    body = "\n".join(
        f'<tr><th scope="row"{left}>{escape(name)}</th><td{right}>{escape(value)}</td></tr>'
        for name, value in figures.items()
    )
    return (
        f'<div class="milpscore-summary">\n<table>\n<caption{left}>{escape(caption)}</caption>\n'
        f"<tbody>\n{body}\n</tbody>\n</table>\n{chr(10).join(below)}\n</div>"
    )


Kind = Literal["exact", "relaxed"]


@dataclass(frozen=True)
class Size:
    """Rows, columns, integer columns and nonzeros of a compiled program."""

    rows: int
    columns: int
    integers: int
    nonzeros: int


@dataclass(frozen=True)
class Layout:
    """How a builder's model stores a card: the two directions of one map."""

    # coefficients w (p,) and intercept from the current values of the model's variables
    read: Callable[[Any], tuple[FloatArray, float]]
    # sets every variable of the builder, auxiliaries included, to what the card implies
    fill: Callable[[Any, Statement, Card], None]
    # the variables, or expressions, of the points, in the order of the columns
    points: Callable[[Any], Sequence[Any]] = lambda model: list(model.w.values())


@dataclass(eq=False, repr=False)
class Program:
    """A formulation ready to be inspected, extended, written or solved.

    Attributes
    ----------
    statement : Statement
        What is minimised over which cards.
    model : pyomo.environ.ConcreteModel
        The algebra; add constraints to it before solving.
    layout : Layout
        How coefficients are read from and written to the model.
    kind : {"exact", "relaxed"}
    simplify : (Statement, Card) -> Card
        A card that is as good and easier to read, tried after the solve.
    parameters : mapping from argument name to the model's mutable Param
        What :meth:`set` may change without rebuilding.
    stated : frozenset of str
        Names of the builder's own components in the model.
    least : mapping from argument name to number
        The least value :meth:`set` takes, 0 where none is named: below it the coefficient ranges
        derived from it would cut off better cards.
    arguments : mapping
        What the builder was called with, defaults included, data and weights left out; :meth:`set`
        changes it. Another program of the same kind is built from these.
    algebra : tuple of str
        What is stated, as LaTeX: the displayed formulas of the builder's docstring.
    touched : list of ndarray of shape (p + 1,)
        Points (w, b) at which the tangents that a solver put into ``model.cuts`` touch the loss.
    effort : float
        About how many seconds it takes to make the model and compile it for a solver, where it
        holds the rows of the data.
    """

    conic: ClassVar[bool] = False
    _make: ClassVar[Any] = None
    _filled: ClassVar[Card | None] = None
    _state: ClassVar[ModelState | None] = None  # of the model as it was made
    _edit: ClassVar[str] = ""  # what had been changed in the model this one was copied from

    statement: Statement
    model: Any
    layout: Layout
    kind: Kind = "exact"
    simplify: Callable[[Statement, Card], Card] = field(default=lambda statement, card: card)
    parameters: Mapping[str, str] = field(default_factory=dict)
    least: Mapping[str, float] = field(default_factory=dict)
    build_seconds: float = 0.0
    stated: frozenset[str] = frozenset()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    algebra: tuple[str, ...] = ()
    effort: float = 0.0
    touched: list[FloatArray] = field(default_factory=list)

    @classmethod
    def later(cls, statement: Statement, make: Callable[[], Program], **fields: Any) -> Program:
        """A program of which ``make`` states the rest where somebody first asks for its model.

        A search of the statement alone needs no model, and large ones take long.
        """
        program = cls(statement, None, None, **fields)  # type: ignore[arg-type]
        for name in _MADE:
            del program.__dict__[name]
        program.__dict__["_make"] = make
        return program

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Make the model, and what comes with it."""
            if name not in _MADE or self._make is None:
                raise AttributeError(f"a {type(self).__name__} has no attribute {name!r}")
            self._build()
            return self.__dict__[name]

    @property
    def is_built(self) -> bool:
        """Whether the model is there; until it is, nobody can have changed it."""
        return "model" in self.__dict__

    def _build(self) -> None:
        """Make the model and load the card it was filled from meanwhile."""
        from pyomo.common.gc_manager import PauseGC

        started = time.perf_counter()
        # a model is many small objects that all stay alive: collecting while they are made costs
        # five times the making
        with PauseGC():
            made = self._make()
        self.__dict__.update({name: getattr(made, name) for name in _MADE})
        self.__dict__["_make"] = None
        self.remember()
        if self._filled is not None:
            self.fill(self._filled)
        self.build_seconds += time.perf_counter() - started

    def remember(self, edit: str = "", also: frozenset[str] = frozenset()) -> None:
        """Take the model for what was stated, but for an edit made before and a user's parts.

        ``also`` names parts that are the builder's although they were added later.
        """
        self.stated = (self.stated or part_names(self.model)) | also
        self.__dict__["_state"], self.__dict__["_edit"] = state_of(self.model), edit

    def _repr_html_(self) -> str:
        """Kind, shape, size, and the algebra as a notebook's MathJax reads it."""
        (rows, columns), size = self.statement.shape, self.size
        figures = {
            "data": f"{rows:,} rows, {columns:,} columns",
            "program": f"{size.rows:,} rows, {size.columns:,} columns, {size.integers:,} of them "
            f"integer, {size.nonzeros:,} nonzeros",
            "changed by hand": self.added_by_user() or "nothing",
        }
        formulas = "\n".join(
            f"<div>$$\\begin{{aligned}}\n{escape(formula)}\n\\end{{aligned}}$$</div>"
            for formula in self.algebra
        )
        return summary_box(f"{self.formulation}, {self.kind}", figures, [formulas])

    def __repr__(self) -> str:
        """Name, kind and shape; the data stay out."""
        rows, columns = self.statement.design.shape
        return f"<Program {self.formulation}, {self.kind}, of {rows} rows x {columns} columns>"

    @property
    def formulation(self) -> str:
        """Name of the builder."""
        return self.statement.formulation

    @property
    def takes_tangents(self) -> bool:
        """Whether the model holds a convex term (``eta``) that tangents in ``cuts`` bound."""
        return self.model.component("cuts") is not None

    @property
    def switches_terms(self) -> bool:
        """Whether a binary ``alpha[j]`` of the model says if coefficient ``w[j]`` is used."""
        return self.model.component("alpha") is not None

    def relaxed(self) -> Program:
        """Return a new program without integrality; bounds and a user's additions stay."""
        return self._with_integrality("relaxed")

    def exact(self) -> Program:
        """A new program with the integrality of the statement; a user's additions stay."""
        return self._with_integrality("exact")

    def _with_integrality(self, kind: Kind) -> Program:
        change = restore_integrality if kind == "exact" else relax_integrality
        if not self.is_built:
            make = self._make

            def changed() -> Program:
                made: Program = make()
                change(made.model)
                return made

            return Program.later(
                self.statement, changed, kind=kind, simplify=self.simplify, effort=self.effort,
                arguments=self.arguments, algebra=self.algebra, build_seconds=self.build_seconds,
            )  # fmt: skip
        edit = self.edited()
        model = self.model.clone()
        change(model)
        other = replace(self, model=model, kind=kind)
        other.remember(edit)
        return other

    @property
    def points(self) -> PointsByName:
        """The model's variables for the points, by the names of the design's columns."""
        from milpscore.core.labels import PointsByName

        return PointsByName(self.statement.design.columns, self.layout.points(self.model))

    @property
    def labels(self) -> dict[str, Any]:
        """The model's variables by the labels that :meth:`write` gives them, for reading back."""
        from milpscore.core.labels import Labeller, safe_labels

        return Labeller(self.model, safe_labels(self.statement.design.names)).variables

    def write(self, path: str | Path) -> Path:
        """Write the model as ``.lp`` or ``.mps``; answers the path.

        Variables and rows have the model's names, a column's position replaced by its name made
        safe for the format; the head of the file says which label stands for which column.

        Raises OptionError for any other ending, FormulationError where a smooth loss has no tangent
        yet, and for rows of one's own on a threshold that the model holds next to a row's total.
        """
        from milpscore.core.labels import write_model

        path = Path(path)
        require_ending(path.name, MODEL_FILES)
        if self.takes_tangents and not len(self.model.cuts):
            raise FormulationError(
                f"{path.name} would lack the loss: the model of {self.formulation} holds no "
                f"tangent of it yet; solve it with {{solver}}, which puts "
                "them in, before you write it",
                solver="outer_approximation",
            )
        self.require_apart()
        write_model(self.model, self.statement.design.names, path)
        return path

    @property
    def size(self) -> Size:
        """Rows, columns, integers and nonzeros of the model as it stands now."""
        form = standard_form(self.model)
        integers = sum(not var.is_continuous() for var in form.columns)
        rows, columns = form.A.shape
        return Size(rows, columns, integers, int(form.A.nnz))

    def added_by_user(self) -> str:
        """What was added to the model, or changed in it, in words; empty where nothing was.

        A solver that works from the statement alone must refuse what it cannot see.
        """
        if not self.is_built:
            return ""
        return changes(self.model, self.stated) or self.edited()

    def require_apart(self) -> None:
        """Raise FormulationError where a user's rows speak of what the model holds next to rows."""
        import pyomo.environ as pyo
        from pyomo.core.expr.visitor import identify_variables

        held = self.model.component("beside_rows")
        if held is None or not (change := self.added_by_user()):
            return
        rows = self.model.component_data_objects(pyo.Constraint, active=True)
        own = [row for row in rows if row.parent_component().name not in self.stated]
        spoken = {var.name for row in own for var in identify_variables(row.body)}
        before, now = self._state or {}, state_of(self.model)
        for name in held:
            if name in spoken or before.get(name) != now[name]:
                raise FormulationError(
                    f"the model holds {name} next to a row's total, and {change}: rows of your own "
                    f"may speak of {name} where the program is stated with {{big_m}}",
                    big_m="row",
                )

    def edited(self) -> str:
        """Return what was changed in the builder's own parts, in words; empty if nothing was."""
        if self._edit or self._state is None or not self.is_built:
            return self._edit
        return difference(self._state, state_of(self.model), self.stated)

    def coefficients(self) -> tuple[FloatArray, float]:
        """Coefficients w (shape (p,)) and intercept b from the model's current values.

        Raises NotApplicableError where it has none yet.
        """
        try:
            return self.layout.read(self.model)
        except (TypeError, ValueError) as error:
            raise NotApplicableError(
                "the model holds no values: solve it first, or fill it from a card with `fill`"
            ) from error

    def card(self) -> Card:
        """Return the card nearest to the model's current values."""
        w, b = self.coefficients()
        points = np.rint(w).astype(np.int64)
        if self.statement.scales is not None:
            return self.statement.with_best_intercept(points)
        return Card(points, self.statement.intercept.nearest(b))

    def fill(self, card: Card) -> None:
        """Set every variable of the builder from a card, auxiliaries included."""
        if self.is_built:
            self.layout.fill(self.model, self.statement, card)
        else:
            self.__dict__["_filled"] = card

    def set(self, **values: float) -> None:
        """Change penalty weights in place (``lam``, ``l0_penalty``, ``l1_penalty``).

        Raises FormulationError for a name this program was not built with, or a value below 0 or
        :attr:`least`.
        """
        for name, value in values.items():
            if name not in self.parameters:
                raise FormulationError(
                    f"{self.formulation} cannot change {name!r} in place; it can change "
                    f"{sorted(self.parameters) or 'nothing'}: build a new program instead"
                )
            if not is_number(value) or not 0 <= value < np.inf:
                raise FormulationError(f"{name} must be a finite number >= 0, got {value!r}")
            least = float(self.least.get(name, 0.0))
            if value < least:
                raise FormulationError(
                    f"{name}={value!r} lies below {least!r}, from which the coefficient ranges "
                    "were derived: build a new program, or give coef_min and coef_max"
                )
        for name, value in values.items():
            getattr(self.model, self.parameters[name]).set_value(float(value))
        penalties = tuple(
            replace(term, lam=float(values[term.name])) if term.name in values else term  # type: ignore[type-var]
            for term in self.statement.penalties
        )
        if self._state is not None and values:
            now = state_of(self.model)
            names = [self.parameters[name] for name in values]
            self.__dict__["_state"] = {**self._state, **{name: now[name] for name in names}}
        self.arguments = {**self.arguments, **values}
        arguments = {**self.statement.arguments, **values}
        self.statement = replace(self.statement, penalties=penalties, arguments=arguments)


_MADE = ("model", "layout", "parameters", "least")
"""What a program made later lacks until then."""

_DOMAINS = "_integral_domains"


def is_conic(program: Program) -> TypeGuard[ConicProgram]:
    """Whether the program's model is CVXPY's; asked where CVXPY need not be loaded."""
    return program.conic


def variables(model: Any) -> list[Any]:
    """Return every variable of the model in declaration order, fixed ones included."""
    import pyomo.environ as pyo

    return list(model.component_data_objects(pyo.Var, descend_into=True))


def constraints(model: Any) -> list[Any]:
    """Return every active constraint of the model in declaration order."""
    import pyomo.environ as pyo

    return list(model.component_data_objects(pyo.Constraint, active=True, descend_into=True))


def part_names(model: Any) -> frozenset[str]:
    """Names of the components a builder made, to tell what a user adds later."""
    return frozenset(part.name for part in model.component_objects(descend_into=True))


def changes(model: Any, stated: frozenset[str]) -> str:
    """Return which part a user added to the model or took away; empty if none."""
    import pyomo.environ as pyo

    kinds = (pyo.Suffix, pyo.Set, pyo.Param, pyo.Expression)
    for part in model.component_objects(active=True, descend_into=True):
        if part.name not in stated and part.ctype not in kinds:
            return f"the {part.ctype.__name__} {part.name} was added"
    for name in stated:
        part = model.find_component(name)
        if part is None or not getattr(part, "active", True):
            return f"{name} was taken away"
    return ""


ModelState = dict[str, tuple[Any, ...]]
"""What each component holds by name: expressions as they are, compared by identity."""


def state_of(model: Any) -> ModelState:
    """Return bounds, domains and fixed values of variables, rows, objectives and parameters."""
    import pyomo.environ as pyo

    state: ModelState = {}
    for var in variables(model):
        value = var.value if var.fixed else None
        state[var.name] = ("variable", var.lb, var.ub, str(var.domain), var.fixed, value)
    for kind, called in ((pyo.Constraint, "row"), (pyo.Objective, "objective")):
        for part in model.component_objects(kind, descend_into=True):
            # rows that a solver adds only restate the loss, or a norm of the points
            if part.name not in ("cuts", "norm_cuts"):
                for own in part.values():
                    sense = getattr(own, "sense", None)
                    state[own.name] = (called, own.active, sense, own.expr)
    for own in model.component_data_objects(pyo.Expression, descend_into=True):
        state[own.name] = ("expression", own.expr)
    for part in model.component_objects(pyo.Param, descend_into=True):
        if part.mutable:
            state |= {own.name: ("parameter", pyo.value(own)) for own in part.values()}
    return state


def difference(before: ModelState, now: ModelState, stated: frozenset[str]) -> str:
    """Return what differs between two states of a model's stated parts, in words."""
    for name, was in before.items():
        if (held := now.get(name)) is None:
            return f"{name} was taken away"
        if len(was) != len(held) or any(
            a is not b and (was[0] in ("row", "objective", "expression") or a != b)
            for a, b in zip(was[1:], held[1:], strict=True)
        ):
            return _edit_of(name, was, held)
    for name, held in now.items():
        if name not in before and name.split("[")[0] in stated:
            return f"the {held[0]} {name} was added"
    return ""


def _edit_of(name: str, was: tuple[Any, ...], held: tuple[Any, ...]) -> str:
    """Return how a component was changed, in words."""
    if was[0] == "variable":
        if held[4] and (was[4:] != held[4:]):
            return f"variable {name} is fixed"
        same = was[1:3] == held[1:3]
        return f"the domain of {name} was changed" if same else f"the bounds of {name} were changed"
    if was[0] == "row" and was[1] and not held[1]:
        return f"{name} was taken away"
    return f"the {was[0]} {name} was changed"


def relax_integrality(model: Any) -> None:
    """Make every integer variable real within its bounds, and remember its domain."""
    import pyomo.environ as pyo

    remembered = getattr(model, _DOMAINS, {})
    for var in variables(model):
        if not var.is_continuous():
            lower, upper = var.bounds
            remembered[var.name] = var.domain
            var.domain = pyo.Reals
            var.setlb(lower)
            var.setub(upper)
    setattr(model, _DOMAINS, remembered)


def restore_integrality(model: Any) -> None:
    """Give every relaxed variable its remembered domain back."""
    remembered = getattr(model, _DOMAINS, {})
    for name, domain in remembered.items():
        var = model.find_component(name)
        if var is not None:  # the user may have deleted what they had added
            var.domain = domain
    setattr(model, _DOMAINS, {})


@contextmanager
def integrality_demanded(model: Any) -> Iterator[None]:
    """Within the block, relaxed variables have their integer domains; nothing is copied."""
    import pyomo.environ as pyo

    remembered = dict(getattr(model, _DOMAINS, {}))
    restore_integrality(model)
    try:
        yield
    finally:
        for name in remembered:
            var = model.find_component(name)
            if var is not None:
                var.domain = pyo.Reals
        setattr(model, _DOMAINS, remembered)


def standard_form(model: Any) -> Any:
    """Compile to min c.x with rows A x {<=, =, >=} b; columns in declaration order."""
    from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

    return LinearStandardFormCompiler().write(model, mixed_form=True)


def stated_objective(model: Any) -> Any:
    """Pyomo's linear form of ``loss + penalty``, the expressions a builder gave the model.

    The objective a user left active may be another one.
    """
    from pyomo.repn import generate_standard_repn

    return generate_standard_repn(model.loss.expr + model.penalty.expr, compute_values=True)
