"""A program: the statement, and the model in a modelling language that realises it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from html import escape
from itertools import chain
from operator import is_
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeGuard

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import (
    FormulationError,
    NotApplicableError,
    is_number,
    require_ending,
)
from milpscore.core.statement import RULES, Statement

if TYPE_CHECKING:
    from milpscore.core.conic import ConicProgram
    from milpscore.core.labels import PointsByName

MODEL_FILES = (".lp", ".mps", ".nl")


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
class Parting:
    """The variables of a model that part rows of opposite classes, if its errors are binaries."""

    errors: list[Any]  # m variables, 0 only if the card is right about a merged row
    above: list[Any]  # p variables, 1 if a column's points are above 0, or None
    below: list[Any]  # the same below 0
    X: FloatArray  # (m, p)
    y: IntArray  # (m,), 1 and -1
    boundary: IntArray  # (m,): the threshold that a row is about
    reach: FloatArray  # (p,): the largest points in absolute value
    gap: float  # how far right rows of opposite classes lie apart at least


@dataclass(frozen=True)
class Layout:
    """How a builder's model stores a card: the two directions of one map."""

    # coefficients w (p,) and intercept from the current values of the model's variables
    read: Callable[[Any], tuple[FloatArray, float]]
    # sets every variable of the builder, auxiliaries included, to what the card implies
    fill: Callable[[Any, Statement, Card], None]
    # the variables, or expressions, of the points, in the order of the columns
    points: Callable[[Any], Sequence[Any]] = lambda model: list(model.w.values())
    # changes a model in place from one statement to another on its design, and names the parts that
    # changed; None, and nothing is changed, where the model is too narrow for it
    narrow: Callable[[Any, Statement, Statement, Mapping[str, Any]], frozenset[str] | None] = (
        lambda model, old, new, arguments: None
    )
    # what parts rows of opposite classes, for rows that a solver adds; None if nothing does
    parting: Callable[[Any], Parting] | None = None


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
    restated : callable, optional
        Makes another program of the same data from changed arguments.
    algebra : tuple of str
        What is stated, as LaTeX: the displayed formulas of the builder's docstring.
    touched : list of ndarray of shape (p + 1,)
        Points (w, b) at which the tangents that a solver put into ``model.cuts`` touch the loss.
    fillers : tuple of (model, Statement, Card) -> None
        Set variables that were added to the model to what a card implies.
    groups : tuple of ndarray of shape (m,)
        Weights of the merged rows in each group whose mean loss ``model.worst`` is not below.
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
    restated: Callable[[Mapping[str, Any]], Program] | None = None
    algebra: tuple[str, ...] = ()
    effort: float = 0.0
    touched: list[FloatArray] = field(default_factory=list)
    fillers: tuple[Callable[[Any, Statement, Card], None], ...] = ()
    groups: tuple[FloatArray, ...] = ()

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
        self.__dict__["_state"], self.__dict__["_edit"] = self.state(), edit

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

    def drop_tangents(self) -> None:
        """Take out the tangents that solvers put into the model."""
        for name in self.stated.intersection(_TANGENTS):
            self.model.component(name).clear()
        self.touched.clear()

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
                restated=self.restated,
            )  # fmt: skip
        self.require_apart()
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
        """Write the model as ``.lp``, ``.mps`` or ``.nl``; answers the path.

        Variables and rows have the model's names, a column's position replaced by its name made
        safe for the format; the head of the file says which label stands for which column. Beside
        ``.nl``, which has no names, ``.col`` and ``.row`` list them in its order.

        Raises OptionError for any other ending, FormulationError where a smooth loss has no tangent
        yet, and for rows of one's own on a threshold that the model holds next to a row's total.
        """
        from milpscore.core.labels import write_model

        path = Path(path)
        require_ending(path.name, MODEL_FILES)
        lists = [self.model.component(name) for name in self.stated.intersection(_TANGENTS)]
        if self.takes_tangents and not any(map(len, lists)):
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

    @property
    def own_objective(self) -> Any:
        """The model's one active objective where it is another than was stated; else None."""
        if not self.is_built:
            return None
        import pyomo.environ as pyo
        from pyomo.repn import generate_standard_repn

        active = list(self.model.component_data_objects(pyo.Objective, active=True))
        if len(active) != 1:
            return None
        (own,) = active
        state = self._state or {}
        held = state.get(id(own), (None,) * 6)
        if held[1] is not own:
            held = _by_identity(state).get(id(own), (None,) * 6)
        if held[4] is own.expr and held[5] is own.sense and "objective" not in self._edit:
            stays = own.parent_component().name in self.stated
            return None if stays else own
        mine, stated = generate_standard_repn(own.expr), stated_objective(self.model)
        costs = [
            dict(zip(map(id, each.linear_vars), each.linear_coefs, strict=True))
            for each in (mine, stated)
        ]
        keys = sorted({key for each in costs for key in each})
        both = [[each.get(key, 0.0) for key in keys] for each in costs]
        same = np.allclose([*both[0], mine.constant], [*both[1], stated.constant], 1e-9, 0.0)
        return None if same and mine.is_linear() and own.is_minimizing() else own

    def own_rows(self) -> list[Any]:
        """Return the active components of rows that were added to the model."""
        if not self.is_built:
            return []
        import pyomo.environ as pyo

        parts = self.model.component_objects(pyo.Constraint, active=True, descend_into=True)
        return [part for part in parts if part.name not in self.stated]

    def charged(self) -> float:
        """Return the model's objective at its current values: the stated one or a user's own."""
        own = self.own_objective
        return float(self.model.loss() + self.model.penalty() if own is None else own())

    def require_apart(self) -> None:
        """Raise FormulationError where a user's rows speak of what the model holds next to rows."""
        import pyomo.environ as pyo
        from pyomo.core.expr.visitor import identify_variables

        held = self.model.component("beside_rows")
        if held is None or not (change := self.added_by_user()):
            return
        rows = self.model.component_data_objects(pyo.Constraint, active=True)
        own = [row for row in rows if row.parent_component().name not in self.stated]
        bodies = [row.body for row in own]
        if self.own_objective is not None:
            bodies.append(self.own_objective.expr)
        spoken = {var.name for body in bodies for var in identify_variables(body)}
        before, now = _by_identity(self._state or {}), self.state()
        for name in held:
            key = id(self.model.find_component(name))
            if name in spoken or key not in before or before[key][2:] != now[key][2:]:
                raise FormulationError(
                    f"the model holds {name} next to a row's total, and {change}: rows of your own "
                    f"may speak of {name} where the program is stated with {{big_m}}",
                    big_m="row",
                )

    def state(self) -> ModelState:
        """Return what the model holds now, the parts of a user's included."""
        from pyomo.common.gc_manager import PauseGC

        with PauseGC():
            return state_of(self.model)

    def edited(self, now: ModelState | None = None) -> str:
        """Return what was changed in the builder's own parts, in words; empty if nothing was.

        ``now`` is the model's :meth:`state` where it is known.
        """
        if self._edit or self._state is None or not self.is_built:
            return self._edit
        return difference(self._state, now or self.state(), self.stated)

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
            for fill in (self.layout.fill, *self.fillers):
                fill(self.model, self.statement, card)
        else:
            self.__dict__["_filled"] = card

    def set(self, **values: Any) -> None:
        """Change arguments of the builder: the model is edited where it is, or made anew.

        Penalty weights (``lam``, ``l0_penalty``, ``l1_penalty``), a smaller ``max_terms``, narrower
        ``coef_min``, ``coef_max`` and ``intercept_bounds``, a hinge loss's ``margin`` and
        ``constraints`` are edited in place, with whatever was added to the model by hand. Any other
        change makes the model anew where it is next needed, and is refused where something had been
        added.

        Raises FormulationError for a name that the builder does not take, a value that it refuses,
        a weight below :attr:`least`, and for a change that would lose rows of your own.
        """
        self.change(values)

    def change(
        self, values: Mapping[str, Any], now: ModelState | None = None
    ) -> frozenset[str] | None:
        """As :meth:`set`; the parts that changed in place, None where the model is another one.

        ``now`` is the model's :meth:`state` where it is known.
        """
        charged = {term.name for term in self.statement.penalties}
        weights = {}
        if self.is_built or {*values} <= charged:
            weights = {name: value for name, value in values.items() if name in self.parameters}
        self._check_weights(weights)
        if len(weights) == len(values):
            self._set_weights(weights)
            return frozenset()
        known = sorted({*weights, *(self.arguments if self.restated else ())})
        for name in values:
            if name not in known:
                raise FormulationError(
                    f"{self.formulation} cannot change {name!r} in place; it can change "
                    f"{known or 'nothing'}: build a new program instead"
                )
        assert self.restated is not None
        other = self.restated({**self.arguments, **values})
        if not self.is_built:
            self._become(other)
            return None
        parts = None
        edit, user_parts, held = self._edits(now or self.state())
        if held and {*values} <= {*weights, *(_DERIVED if self.least else _NARROWED)}:
            self.require_apart()
            stated = self.statement, other.statement
            parts = self.layout.narrow(self.model, *stated, other.arguments)
        if parts is not None:
            self._narrowed(other, weights, edit)
        elif user_parts:
            raise FormulationError(
                "the model is too narrow for this change and has to be made anew, and "
                f"{user_parts}: build a new program, and add it there"
            )
        else:
            self._become(other)
        return parts

    def _edits(self, now: ModelState) -> tuple[str, str, bool]:
        """(Edit of the builder's parts, edit of any, whether the rules stand as they were made)."""
        edit = self.edited(now)
        user_parts = changes(self.model, self.stated) or edit
        # rules are made anew, and what was changed in them by hand would be lost
        rules = frozenset(name for name in self.stated if name.split(".")[0] == RULES)
        held = not difference(self._state or {}, now, rules)
        held &= not re.search(rf"(?:^| ){RULES}[. ]", user_parts)
        return edit, user_parts, held

    def _check_weights(self, weights: Mapping[str, Any]) -> None:
        """Refuse a weight below 0, or below what ranges were derived from."""
        for name, value in weights.items():
            if not is_number(value) or not 0 <= value < np.inf:
                raise FormulationError(f"{name} must be a finite number >= 0, got {value!r}")
            least = float(self.least.get(name, 0.0))
            if value < least:
                raise FormulationError(
                    f"{name}={value!r} lies below {least!r}, from which the coefficient ranges "
                    "were derived: build a new program, or give coef_min and coef_max"
                )

    def _narrowed(self, other: Program, weights: Mapping[str, float], edit: str) -> None:
        """Take over what the model, edited in place, states now."""
        if self.kind == "relaxed":
            relax_integrality(self.model)
        self._set_weights(weights)
        self.statement, self.arguments = other.statement, other.arguments
        rules = {name for name in part_names(self.model) if name.split(".")[0] == RULES}
        kept = {name for name in self.stated if name.split(".")[0] != RULES}
        self.stated = frozenset(kept | rules)
        self.remember(edit)

    def _become(self, other: Program) -> None:
        """Become another program, of this one's kind."""
        if other.kind != self.kind:
            other = other.relaxed() if self.kind == "relaxed" else other.exact()
        seconds = self.build_seconds + other.build_seconds
        self.__dict__.clear()
        self.__dict__.update(other.__dict__, build_seconds=seconds)

    def _set_weights(self, weights: Mapping[str, float]) -> None:
        """Set penalty weights, in the model and in the statement."""
        for name, value in weights.items():
            getattr(self.model, self.parameters[name]).set_value(float(value))
        penalties = tuple(
            replace(term, lam=float(weights[term.name])) if term.name in weights else term  # type: ignore[type-var]
            for term in self.statement.penalties
        )
        if self._state is not None and weights:
            own = [self.model.component(self.parameters[name]) for name in weights]
            moved = {id(each): (each, each, "parameter", each.value) for each in own}
            self.__dict__["_state"] = {**_by_identity(self._state), **moved}
        self.arguments = {**self.arguments, **weights}
        arguments = {**self.statement.arguments, **weights}
        self.statement = replace(self.statement, penalties=penalties, arguments=arguments)


_MADE = ("model", "layout", "parameters", "least")
"""What a program made later lacks until then."""

_TANGENTS = "cuts", "norm_cuts", "worst_cuts"
_DERIVED = frozenset(("max_terms", "constraints", "max_cuts"))
_NARROWED = _DERIVED | {"coef_min", "coef_max", "intercept_bounds", "margin"}
"""Arguments that a model may be narrowed by; the first ones where ranges were derived."""

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


ModelState = dict[int, tuple[Any, ...]]
"""What each component holds, by identity: itself, its kind, and the expressions as they are."""


def state_of(model: Any) -> ModelState:
    """Return bounds, domains and fixed values of variables, rows, objectives and parameters."""
    import pyomo.environ as pyo

    state: ModelState = {}

    def every(kind: Any) -> Iterator[tuple[Any, Any]]:
        for part in model.component_objects(kind, descend_into=True):
            # rows that a solver adds only restate the loss, or a norm of the points
            if part.local_name not in _TANGENTS:
                for own in part.values():
                    yield part, own  # the part as well: without it nothing is left of the name

    for part, var in every(pyo.Var):
        value = var.value if var.fixed else None
        state[id(var)] = (part, var, "variable", *var.bounds, var.domain, var.fixed, value)
    for part, own in every(pyo.Constraint):
        state[id(own)] = (part, own, "row", own.active, own.expr)
    for part, own in every(pyo.Objective):
        state[id(own)] = (part, own, "objective", own.active, own.expr, own.sense)
    for part, own in every(pyo.Expression):
        state[id(own)] = (part, own, "expression", own.expr)
    for part, own in every(pyo.Param):
        if part.mutable:
            state[id(own)] = (part, own, "parameter", pyo.value(own))
    return state


def _by_identity(state: ModelState) -> ModelState:
    """Return a state by the identities of what it holds: in a deep copy they are others."""
    return {id(held[1]): held for held in state.values()}


def difference(before: ModelState, now: ModelState, stated: frozenset[str] | None = None) -> str:
    """Return what differs between two states of a model's stated parts (all), in words."""
    if len(before) == len(now):  # most often nothing differs at all
        both = (chain.from_iterable(state.values()) for state in (before, now))
        if all(map(is_, *both)):
            return ""
    before, plain = _by_identity(before), ("variable", "parameter")
    for part, own, kind, *was in before.values():
        held = now[id(own)][3:] if id(own) in now else None
        # expressions are the same only if they are one: compared, they make another
        if held is not None and (
            [*map(id, was)] == [*map(id, held)] or (kind in plain and tuple(was) == held)
        ):
            continue
        if stated is not None and part.name not in stated:
            continue  # of a user's own, who may change it
        if held is None:
            return f"{own.name} was taken away"
        return _edit_of(own.name, kind, tuple(was), held)
    for key, (part, own, kind, *_) in now.items():
        if key not in before and (stated is None or part.name in stated):
            return f"the {kind} {own.name} was added"
    return ""


def _edit_of(name: str, kind: str, was: tuple[Any, ...], held: tuple[Any, ...]) -> str:
    """Return how a component was changed, in words."""
    if kind == "variable":
        if held[3] and (was[3:] != held[3:]):
            return f"variable {name} is fixed"
        same = was[:2] == held[:2]
        return f"the domain of {name} was changed" if same else f"the bounds of {name} were changed"
    if kind == "row" and was[0] and not held[0]:
        return f"{name} was taken away"
    return f"the {kind} {name} was changed"


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
