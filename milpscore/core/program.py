"""A program: the statement, and the model in a modelling language that realises it."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any, Literal

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import FloatArray
from milpscore.core.errors import FormulationError, NotApplicableError
from milpscore.core.html import summary_box
from milpscore.core.statement import Statement

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
    """How a builder's model stores a card: the two directions of one map.

    Attributes
    ----------
    read : model -> (w of shape (p,), b)
        Coefficients and intercept from the current values of the model's variables.
    fill : (model, Statement, Card) -> None
        Set every variable of the builder, auxiliaries included, to what the card implies.
    """

    read: Callable[[Any], tuple[FloatArray, float]]
    fill: Callable[[Any, Statement, Card], None]


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
    """

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
        """A new program without integrality; bounds and whatever a user added stay.

        Returns
        -------
        Program
            ``kind == "relaxed"``.
        """
        return self._with_integrality(False)

    def exact(self) -> Program:
        """A new program with the integrality of the statement; whatever a user added stays.

        Returns
        -------
        Program
            ``kind == "exact"``.
        """
        return self._with_integrality(True)

    def _with_integrality(self, integral: bool) -> Program:
        from milpscore.core.algebra import relax_integrality, restore_integrality

        model = self.model.clone()
        (restore_integrality if integral else relax_integrality)(model)
        return replace(self, model=model, kind="exact" if integral else "relaxed")

    def write(self, path: str | Path) -> Path:
        """Write the model as ``.lp`` or ``.mps``, with the model's own names.

        Parameters
        ----------
        path : str or Path
            Ends in ``.lp`` or ``.mps``.

        Returns
        -------
        Path

        Raises
        ------
        FormulationError
            For any other ending.
        """
        from milpscore.core.algebra import write_model

        path = Path(path)
        if path.suffix not in (".lp", ".mps"):
            raise FormulationError(f"cannot write {path.name}: the name must end in .lp or .mps")
        write_model(self.model, path)
        return path

    @property
    def size(self) -> Size:
        """Rows, columns, integers and nonzeros of the model as it stands now."""
        from milpscore.core.algebra import model_size

        return Size(*model_size(self.model))

    def added_by_user(self) -> str:
        """What was added to the model, or changed in it, in words; empty where nothing was.

        A solver that works from the statement alone must refuse what it cannot see.
        """
        from milpscore.core.algebra import changes

        low, high = self.statement.coef_min.tolist(), self.statement.coef_max.tolist()
        points = next((name for name in ("w", "theta") if name in self.stated), "")
        ranges = {f"{points}[{j}]": (low[j], high[j]) for j in range(len(low))}
        return changes(self.model, self.stated, ranges)

    def coefficients(self) -> tuple[FloatArray, float]:
        """Coefficients w (shape (p,)) and intercept b from the model's current values.

        Raises
        ------
        NotApplicableError
            Where the model has no values yet.
        """
        try:
            return self.layout.read(self.model)
        except (TypeError, ValueError) as error:
            raise NotApplicableError(
                "the model holds no values: solve it first, or fill it from a card with `fill`"
            ) from error

    def card(self) -> Card:
        """The card nearest to the model's current values."""
        w, b = self.coefficients()
        return Card(np.rint(w).astype(np.int64), self.statement.intercept.nearest(b))

    def fill(self, card: Card) -> None:
        """Set every variable of the builder from a card, auxiliaries included."""
        self.layout.fill(self.model, self.statement, card)

    def set(self, **values: float) -> None:
        """Change penalty weights in place (``lam``, ``l0_penalty``, ``l1_penalty``).

        Raises
        ------
        FormulationError
            For a name this program was not built with, or a value below 0 or :attr:`least`.
        """
        for name, value in values.items():
            if name not in self.parameters:
                raise FormulationError(
                    f"{self.formulation} cannot change {name!r} in place; it can change "
                    f"{sorted(self.parameters) or 'nothing'}: build a new program instead"
                )
            number = isinstance(value, numbers.Real) and not isinstance(value, bool)
            if not number or not np.isfinite(value) or value < 0:
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
        self.arguments = {**self.arguments, **values}
        arguments = {**self.statement.arguments, **values}
        self.statement = replace(self.statement, penalties=penalties, arguments=arguments)
