"""What builders share: ranges, checks, and the decorator that records their arguments."""

from __future__ import annotations

import functools
import inspect
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeAlias, TypeVar

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import Design, FloatArray, IntArray
from milpscore.core.errors import (
    DataError,
    FormulationError,
    SizeError,
    did_you_mean,
    is_number,
    near_matches,
)
from milpscore.core.program import Program
from milpscore.core.statement import InterceptRule, Statement
from milpscore.formulations.policy import POLICY

if TYPE_CHECKING:
    from milpscore.constraints import Constraint

RowTotals = tuple[FloatArray, FloatArray]
"""The smallest and the largest total that each row can reach, shapes (m,)."""

PerColumn = int | Sequence[int] | Mapping[str, int]
IntegerKind = Literal["zero", "integer", "real"]
Constraints: TypeAlias = "Iterable[Constraint]"

LEAST, MOST = -5, 5
"""The default range of points."""


def as_design(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
) -> Design:
    """Return the design itself, or make one from a table and its labels."""
    if isinstance(X, Design):
        if any(part is not None for part in (y, sample_weight, class_weight, positive)):
            raise DataError(
                "a Design already holds classes and weights: pass y, weights and the positive "
                "label to make_design"
            )
        return X
    from milpscore.data import make_design

    return make_design(
        X, y, sample_weight=sample_weight, class_weight=class_weight, positive=positive
    )


def applied(constraints: Constraints, design: Design) -> tuple[Any, ...]:
    """Apply constraints to a design; their room is imported only if there are some."""
    if isinstance(constraints, tuple | list) and not constraints:
        return ()
    from milpscore.constraints import apply_constraints

    return apply_constraints(constraints, design)


def refuse_if_too_large(name: str, rows: int, columns: int, further: int = 0) -> None:
    """Raise SizeError, with an estimate, if rows and ``further`` nonzeros are out of reach."""
    nonzeros = rows * (columns + 2) + further
    if nonzeros > POLICY.max_nonzeros:
        narrow = "narrow coef_min and coef_max, " if 2 * further > nonzeros else ""
        gigabytes = nonzeros * POLICY.bytes_per_nonzero / 1e9
        raise SizeError(
            f"{name}: {rows} distinct rows x {columns} columns make about {nonzeros:.2g} nonzeros "
            f"(building alone about {_building_seconds(rows, nonzeros):.0f} s and "
            f"{gigabytes:.1f} GB; the limit is {POLICY.max_nonzeros:.0g}): "
            f"{narrow}bin the columns so that rows merge, drop columns, or fit on a sample"
        )


def _building_seconds(rows: int, nonzeros: int) -> float:
    """Estimate the seconds for building a model and compiling it."""
    return POLICY.seconds_per_row * rows + POLICY.seconds_per_nonzero * nonzeros


# ------------------------------------------------------------------ numbers


def _is_number(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return is_number(value) and math.isfinite(value)


def check_non_negative(**values: float) -> None:
    """Raise FormulationError for any value that is not a finite number >= 0."""
    for name, value in values.items():
        if not _is_number(value) or value < 0:
            raise FormulationError(
                f"{{argument}} must be a finite number >= 0, got {value!r}", argument=name
            )


def check_positive(**values: float) -> None:
    """Raise FormulationError for any value that is not a finite number > 0."""
    for name, value in values.items():
        if not _is_number(value) or value <= 0:
            raise FormulationError(
                f"{{argument}} must be a finite number > 0, got {value!r}", argument=name
            )


# ------------------------------------------------------------------ which coefficients are allowed


@dataclass(frozen=True)
class Ranges:
    """The coefficients of a :class:`Statement`, which takes them as ``**vars(ranges)``."""

    coef_min: IntArray
    coef_max: IntArray
    coef_sets: Mapping[int, tuple[int, ...]] = field(default_factory=dict)  # by column
    max_terms: int | None = None

    @classmethod
    def of(cls, statement: Statement) -> Ranges:
        """Return the ranges of a statement; explicit sets lie within them."""
        return cls(statement.coef_min, statement.coef_max, {}, statement.max_terms)

    def totals(self, X: FloatArray) -> RowTotals:
        """Return the smallest and the largest total that each row of X can reach."""
        forced = (self.coef_min > 0) | (self.coef_max < 0)
        free_terms = X.shape[1]
        if self.max_terms is not None:
            free_terms = max(self.max_terms - int(forced.sum()), 0)
        ends = {*zip(self.coef_min.tolist(), self.coef_max.tolist(), strict=True)}
        if len(ends) == 1 and not forced.any() and ((X == 0.0) | (X == 1.0)).all():
            # no column is worth more than another: the number of a row's ones is all that counts
            ones = np.minimum(X.sum(axis=1), free_terms)
            (low, high) = ends.pop()
            return low * ones, high * ones
        at_min, at_max = X * self.coef_min, X * self.coef_max

        def extreme(contribution: FloatArray) -> FloatArray:
            optional = np.maximum(contribution[:, ~forced], 0.0)
            if free_terms < optional.shape[1]:
                # only the largest contributions of as many terms as are allowed
                cut = optional.shape[1] - free_terms
                optional = np.partition(optional, max(cut - 1, 0), axis=1)[:, cut:]
            return np.asarray(optional.sum(axis=1) + contribution[:, forced].sum(axis=1))

        return -extreme(np.maximum(-at_min, -at_max)), extreme(np.maximum(at_min, at_max))

    def ahead(self, X: FloatArray, others: FloatArray, sign: int) -> FloatArray:
        """Return how far one of the others' totals can exceed each row's, (m,), for the same w.

        With ``sign`` -1 how far it can fall below.
        """
        most = np.zeros(len(X))
        step = max(POLICY.joint_at_once // max(others.size, 1), 1)
        for start in range(0, len(X), step):
            part = slice(start, start + step)
            apart = sign * (others[None, :, :] - X[part][:, None, :])
            totals = self.totals(apart.reshape(-1, X.shape[1]))[1]
            most[part] = totals.reshape(len(apart), -1).max(axis=1)
        return most

    @property
    def reach(self) -> list[int]:
        """The largest size of each coefficient."""
        sizes: list[int] = np.maximum(np.abs(self.coef_min), np.abs(self.coef_max)).tolist()
        return sizes


def allowed(
    design: Design,
    coef_min: PerColumn,
    coef_max: PerColumn,
    coef_sets: Mapping[str, Sequence[int]] | None = None,
    max_terms: int | None = None,
) -> Ranges:
    """Return the coefficients that a builder's arguments allow."""
    lower = per_column(design, coef_min, "coef_min", LEAST)
    upper = per_column(design, coef_max, "coef_max", MOST)
    refuse_crossed(design, lower, upper)
    sets = _coefficient_sets(design, coef_sets or {})
    for j, values in sets.items():
        lower[j], upper[j] = values[0], values[-1]
    return Ranges(lower, upper, sets, check_max_terms(max_terms, design.shape[1]))


def per_column(design: Design, value: PerColumn, name: str, default: int) -> IntArray:
    """Spread an argument over the columns; those a mapping does not name get ``default``."""
    p = design.shape[1]
    if isinstance(value, Mapping):
        by_column = [default] * p
        for column, number in value.items():
            by_column[column_index(design, column, name)] = number
        value = by_column
    try:
        numbers: FloatArray = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise FormulationError(
            f"{{argument}} must be whole numbers, got {value!r}", argument=name
        ) from error
    except OverflowError:
        numbers = np.array(2.0 * POLICY.max_coefficient)  # a whole number beyond doubles
    if numbers.ndim > 1 or (numbers.ndim == 1 and len(numbers) != p):
        raise FormulationError(
            f"{{argument}} needs one value or one per column ({p}), got shape {numbers.shape}",
            argument=name,
        )
    numbers = np.broadcast_to(numbers, (p,))
    if not np.all(np.isfinite(numbers)) or np.any(numbers != np.rint(numbers)):
        raise FormulationError(
            "{argument} must be finite whole numbers: every range is finite", argument=name
        )
    if np.abs(numbers).max(initial=0) > POLICY.max_coefficient:
        raise FormulationError(
            f"{{argument}} beyond {POLICY.max_coefficient} in absolute value: points are small",
            argument=name,
        )
    return numbers.astype(np.int64)


def column_index(design: Design, column: str | int, name: str) -> int:
    """Return a column's position; FormulationError, naming the argument, if there is none."""
    try:
        return design.index(column)
    except KeyError:
        hint = near_matches(str(column), design.names)
        raise FormulationError(f"{{argument}} names {column!r}; {hint}", argument=name) from None


def refuse_crossed(design: Design, lower: IntArray, upper: IntArray) -> None:
    """Raise FormulationError if some column's least points exceed its most."""
    for j in np.flatnonzero(lower > upper)[:1]:
        raise FormulationError(
            f"{design.names[j]}: {{coef_min}} {lower[j]} is larger than {{coef_max}} {upper[j]}",
            coef_min=...,
            coef_max=...,
        )


def check_max_terms(max_terms: Any, columns: int) -> int | None:
    """Return the limit on terms, or None if it limits nothing."""
    if max_terms is None:
        return None
    if not _is_number(max_terms) or max_terms != int(max_terms) or max_terms < 0:
        raise FormulationError(
            f"{{max_terms}} must be a whole number >= 0 or {{None}}, got {max_terms!r}",
            max_terms=...,
        )
    return int(max_terms) if max_terms < columns else None


def _coefficient_sets(
    design: Design, coef_sets: Mapping[str, Sequence[int]]
) -> dict[int, tuple[int, ...]]:
    """Return the allowed values, sorted, by column index."""
    if not isinstance(coef_sets, Mapping):
        raise FormulationError(
            f"{{coef_sets}} must map columns to lists of whole numbers, got {coef_sets!r}",
            coef_sets=...,
        )
    sets = {}
    for column, values in coef_sets.items():
        if isinstance(values, str) or not isinstance(values, Iterable) or not list(values):
            raise FormulationError(
                f"coef_sets[{column!r}] needs a list of whole numbers, got {values!r}"
            )
        for value in values:
            if not _is_number(value) or value != int(value) or abs(value) > POLICY.max_coefficient:
                raise FormulationError(
                    f"coef_sets[{column!r}] needs whole numbers of at most "
                    f"{POLICY.max_coefficient} in size, got {value!r}"
                )
        whole = tuple(sorted({int(value) for value in values}))
        sets[column_index(design, column, "coef_sets")] = whole
    return sets


# ------------------------------------------------------------------ which intercepts are allowed


def intercept_rule(
    kind: IntegerKind, bounds: Sequence[float] | None, lower: float, upper: float
) -> InterceptRule:
    """Return the intercepts of a kind, within a user's bounds or else those that can matter."""
    if kind == "zero":
        rule = InterceptRule("zero", Fraction(0), Fraction(0), Fraction(1))
        low, high = intercept_range(bounds, rule.lower, rule.upper, None)
        if not low <= 0 <= high:
            raise FormulationError(
                f"{{intercept_bounds}} {bounds!r} leave out 0, where intercept='zero' holds it: "
                "leave them out, or take intercept='integer' or 'real'",
                intercept_bounds=...,
            )
        return rule
    if kind not in ("integer", "real"):
        raise FormulationError(f"intercept must be 'integer', 'zero' or 'real', got {kind!r}")
    step = Fraction(1) if kind == "integer" else None
    # real ones of small numbers in a unit of their size: HiGHS can tell little else apart
    size = max(abs(lower), abs(upper))
    fine = kind == "real" and 0 < size < 1
    unit = Fraction(2) ** (math.frexp(size)[1] - 5) if fine else Fraction(1)
    ends = math.floor(Fraction(lower) / unit) * unit, math.ceil(Fraction(upper) / unit) * unit
    return InterceptRule(kind, *intercept_range(bounds, *ends, step), step)


def intercept_range(
    intercept_bounds: Sequence[float] | None,
    lower: Fraction,
    upper: Fraction,
    step: Fraction | None,
) -> tuple[Fraction, Fraction]:
    """Return the user's range of b, or else the derived one, its ends multiples of the step."""
    if intercept_bounds is not None:
        ends = list(intercept_bounds) if isinstance(intercept_bounds, Iterable) else []
        if len(ends) != 2 or not all(_is_number(v) for v in ends) or ends[0] > ends[1]:
            raise FormulationError(
                "{intercept_bounds} needs two finite numbers [lower, upper], got "
                f"{intercept_bounds!r}",
                intercept_bounds=...,
            )
        lower, upper = (Fraction(repr(float(end))) for end in ends)
    if step is not None:  # HiGHS gives wrong optima if an integer variable has fractional bounds
        lower, upper = math.ceil(lower / step) * step, math.floor(upper / step) * step
    if lower > upper:
        raise FormulationError(
            f"{{intercept_bounds}} {intercept_bounds!r} hold no multiple of the step {step}: "
            "widen them",
            intercept_bounds=...,
        )
    return lower, upper


# ------------------------------------------------------------------ models and cards


def divide_by_gcd(statement: Statement, card: Card) -> Card:
    """Return the card with coprime coefficients that answers every row on the grid alike."""
    step = statement.intercept.step
    divisor = int(np.gcd.reduce(card.coefficients)) if card.nonzeros else 1
    if divisor <= 1 or step is None:
        return card
    # totals are multiples of g * step: T / g, rounded up to the step, leaves every decision
    threshold = math.ceil(card.threshold / (divisor * step)) * step
    return Card(card.coefficients // divisor, -threshold)


# ------------------------------------------------------------------ builders


def entries(text: str) -> dict[str, str]:
    """Return the entries of a numpydoc list of parameters by the names they start with."""
    by_name: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", inspect.cleandoc("\n" + text)):
        names = entry.split("\n", 1)[0].split(" :")[0]
        by_name |= dict.fromkeys(names.split(", "), entry.rstrip())
    return by_name


COMMON = entries(
    """
    X : array, DataFrame of shape (n, p), or Design
    y : array of shape (n,), two labels; None with a Design
    coef_min, coef_max : int, sequence of length p, or mapping from column name
        Inclusive ranges of the coefficients.
    coef_sets : mapping from column name to allowed values, optional
        For example ``{"Age": [0, 1, 2, 5, 10]}``; without a 0 the term is always used.
    max_terms : int, optional
        Limit k on nonzero coefficients.
    max_cuts : int, or mapping from feature to int, optional
        Limit on the cuts of each feature, or of some: columns "feature >= cut" with points.
    l0_penalty, l1_penalty : float
        C_0 and C_1, for each term and each point.
    lam : float
        Weight of the penalty on the mean loss.
    margin : float
        The papers' gamma, > 0.
    intercept : {"integer", "zero", "real"}
        Of the card, whose threshold is minus its intercept.
    intercept_bounds : (float, float), optional
        Range of b; default: every intercept that can matter.
    constraints : sequence of :class:`milpscore.constraints.Constraint`
        What else the card must meet, say ``[Sign("Age", "+"), MaxFPR(0.2)]``.
    sample_weight : array of shape (n,), optional
    class_weight : "balanced" or mapping from label to weight, optional
    positive : label, optional
        The positive label; default 1 / True / yes / the rarer one.
    """
)
"""The parameters that builders of cards share."""


def _documented(doc: str | None, signature: inspect.Signature, common: Mapping[str, str]) -> str:
    """Complete a docstring by every parameter of the signature and the errors raised."""
    if doc is None:  # python -OO
        return ""
    head, *rest = re.split(r"(?m)^(\w[\w ]*)\n-+\n", inspect.cleandoc(doc))
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    known = {**common, **entries(sections.pop("Parameters", ""))}
    listed = dict.fromkeys(known.get(name, "") for name in signature.parameters)
    parameters = "\n".join(filter(None, listed))
    errors = "DataError, FormulationError, OptionError, SizeError"
    ordered = {
        "Parameters": parameters,
        "Returns": sections.pop("Returns", common.get("return", "Program")),
        "Raises": sections.pop("Raises", errors),
        **sections,
    }
    shown = [f"{name}\n{'-' * len(name)}\n{text.strip()}" for name, text in ordered.items()]
    return "\n\n".join([head.rstrip(), *shown]) + "\n"


@functools.cache
def algebra_in(docstring: str | None) -> tuple[str, ...]:
    """Return the displayed formulas of a docstring as LaTeX."""
    blocks: list[list[str]] = []
    inside = False
    for line in inspect.cleandoc(docstring or "").splitlines():
        if line.startswith(".. math::"):
            blocks.append([])
            inside = True
        elif inside and line.strip() and not line.startswith(" "):
            inside = False
        elif inside:
            blocks[-1].append(line.strip())
    return tuple("\n".join(block).strip() for block in blocks)


def later(
    statement: Statement,
    make: Callable[[], Program],
    *,
    counts: bool = False,
    holds_rows: bool = True,
    **fields: Any,
) -> Program:
    """Return a program whose model is made when first needed; refuse what it could not hold.

    ``counts``: it has a binary per row for its error; ``holds_rows``: it has a row per data row.
    """
    rows = statement.design.merged
    if holds_rows:
        fields["effort"] = _building_seconds(len(rows.y), int(np.count_nonzero(rows.X)))
    if not counts and statement.limits_errors:
        from milpscore.formulations._constraint_rows import counting

        counting(statement, rows.X, rows.y)  # refuses limits on errors without a grid
    return Program.later(statement, make, **fields)


P = ParamSpec("P")
Stated = TypeVar("Stated", bound=Program)

DATA = ("X", "y", "sample_weight", "class_weight", "positive", "time", "event", "entry")
"""Arguments of a builder that describe the data; the others describe the program."""


def encoding_for(build: Callable[..., Any]) -> dict[str, Any]:
    """Return the default binner's options for a builder: ordered bins alone if it reads blocks."""
    ordered = {"encoding": "onehot"}
    return ordered if getattr(build, "reads_blocks", False) else {}


def builder(
    build: Callable[P, Stated], common: Mapping[str, str] | None = None
) -> Callable[P, Stated]:
    """Decorate a builder: its program knows its arguments, algebra, components and seconds.

    Parameters in ``common`` (default: those of all builders of cards) complete its docstring.
    """
    signature = inspect.signature(build)
    build.__doc__ = _documented(build.__doc__, signature, common or COMMON)

    @functools.wraps(build)
    def recorded(*args: P.args, **kwargs: P.kwargs) -> Stated:
        started = time.perf_counter()
        for name in kwargs:
            if name not in signature.parameters:
                hint = did_you_mean(name, signature.parameters)
                known = ", ".join(signature.parameters)
                raise TypeError(f"{build.__name__} takes no {name!r}; {hint}it takes {known}")
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        program = build(*args, **kwargs)
        program.arguments = {k: v for k, v in bound.arguments.items() if k not in DATA}
        if not program.conic:
            design, penalty = program.statement.design, bound.arguments.get("penalty")
            given: Any = {"X": design}
            if penalty in ("tv", "binarsity"):  # the bins of a design were stated by their cuts
                given = {k: v for k, v in bound.arguments.items() if k in DATA}

            def restated(arguments: Mapping[str, Any]) -> Program:
                data = {"X": design} if arguments.get("penalty") == penalty else given
                return recorded(**data, **arguments)  # type: ignore[call-arg]

            program.restated = restated
        program.algebra = algebra_in(build.__doc__)
        if not program.conic and program.is_built:
            program.remember()
        program.build_seconds += time.perf_counter() - started
        return program

    return recorded
