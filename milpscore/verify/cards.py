"""The re-check: what a solver says is recomputed from the raw data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from milpscore.core.card import Card, GridTotals, card_totals
from milpscore.core.design import FloatArray
from milpscore.core.errors import NotApplicableError, OptionError, is_number
from milpscore.core.program import is_conic
from milpscore.core.result import CLAIM_TOLERANCE, Claim, Result, Termination, claim_of
from milpscore.core.statement import Statement
from milpscore.losses import Hinge
from milpscore.proximal.operators import as_operator
from milpscore.proximal.problem import Smooth, duality_gap

if TYPE_CHECKING:
    from milpscore.core.conic import ConicProgram, ConicStatement
    from milpscore.core.program import Program


FEASIBILITY_TOLERANCE = 1e-6
"""Relative slack allowed when a user's constraint is evaluated in floating point."""


@dataclass(frozen=True)
class Evaluation:
    """A card's true figures.

    Attributes
    ----------
    loss, penalty, objective : float
        Correctly rounded sums over the raw rows.
    violations : tuple of str
        One sentence per requirement that the card breaks; empty for an acceptable card.
    exact : bool
        Whether totals were computed in whole numbers.
    """

    loss: float
    penalty: float
    objective: float
    violations: tuple[str, ...]
    exact: bool

    @property
    def feasible(self) -> bool:
        """Whether no requirement is broken."""
        return not self.violations

    def fields(self, statement: Statement, card: Card) -> dict[str, Any]:
        """These figures and their card, as a Result takes them."""
        return {
            "verified": True,
            "objective": self.objective,
            "loss": self.loss,
            "penalty": self.penalty,
            "card": card,
            "coefficients": card.coefficients.astype(np.float64),
            "intercept": float(card.intercept),
            "terms": statement.design.count_terms(card.coefficients),
        }


@dataclass(frozen=True)
class Verdict(Evaluation):
    """The :class:`Evaluation` of a card by :func:`check`, with its program.

    Attributes
    ----------
    program : Program
    card : Card or None
        None for the real coefficients of a conic program.
    """

    program: Program
    card: Card | None

    def result(self, bound: float | None = None, source: str = "another solver") -> Result:
        """Make a Result of an outside solver's answer; its bound is taken on that solver's word.

        Parameters
        ----------
        bound : float, optional
            The solver's proven lower bound of the objective; without one nothing is claimed but
            the card.
        source : str
            Who found the card and vouches for the bound, as ``solver`` and ``bound_source`` say it
            ("outside (gurobi 12)"). ``milpscore.certificate.certify`` can prove a risk score's
            bound from the data.

        Returns
        -------
        Result
            Claim "none", and what is broken in ``message``, if the card is not feasible.

        Raises
        ------
        NotApplicableError
            For a conic program, or one without integrality.
        OptionError
            For a bound that is not finite, or that the card refutes.
        """
        if self.card is None or self.program.kind != "exact":
            raise NotApplicableError(
                "only cards of exact programs become results: take program.exact()"
            )
        if bound is not None and not (is_number(bound) and math.isfinite(bound)):
            raise OptionError(f"bound must be a finite number or None, got {bound!r}")
        known = -math.inf if bound is None else bound
        common: dict[str, Any] = {
            "formulation": self.program.formulation,
            "kind": "exact",
            "termination": Termination.COMPLETED,
            "solver": source,
            "origin": "outside",
            "caveat": self.program.statement.caveat,
        }
        if not self.feasible:
            return Result(
                **common, claim=Claim.NONE, verified=False, message="; ".join(self.violations)
            )
        if known > self.objective + CLAIM_TOLERANCE * max(1.0, abs(self.objective)):
            raise OptionError(
                f"the bound {bound!r} of {source} lies above this card's objective "
                f"{self.objective:.9g}, recomputed from the data: it bounds another program"
            )
        own = self.program.own_objective
        remarks = [
            "" if bound is None else f"the bound is the word of {source}: it was not re-proved",
            "" if own is None else f"what is minimised is the model's {own.name}",
        ]
        trivial = 0.0 if own is None else -math.inf  # losses and penalties are never negative
        return Result(
            **common,
            **self.fields(self.program.statement, self.card),
            claim=claim_of(True, self.objective, known, trivial=trivial),
            dual_bound=min(known, self.objective),
            bound_source=f"outside ({source})",
            message="; ".join(filter(None, remarks)),
        )


def mean_loss(statement: Statement, card: Card) -> tuple[float, bool]:
    """Return the mean weighted loss over the raw, unmerged rows, and whether it is exact."""
    design = statement.design
    loss: Any = statement.loss_of(card)
    totals, weight = card_totals(design.X, design.step, card), design.weight
    if isinstance(totals, GridTotals) and not hasattr(loss, "exact_rows"):
        # a logarithm or an exponential has no exact value: the scores are exact, the loss is not
        totals = totals.floats
    if getattr(loss, "coupled", False):
        return loss.exact_mean(totals.floats, card.intercept, design.y), False
    if not isinstance(totals, GridTotals):
        return _mean(loss.rows(totals, card.intercept, design.y), weight), False
    counts, unit = loss.exact_rows(totals, card.intercept, design.y)
    if not np.array_equal(weight, np.rint(weight)):
        return _mean(counts.astype(np.float64) * float(unit), weight), True
    # whole weights: a rational number, rounded once
    distinct, where = np.unique(counts, return_inverse=True)
    sums = np.bincount(where, weights=weight, minlength=len(distinct))
    total = sum(int(k) * int(s) for k, s in zip(distinct, sums, strict=True))
    return float(Fraction(total, int(weight.sum())) * unit), True


def _mean(rows: FloatArray, weight: FloatArray) -> float:
    """Return the weighted mean of rows, each sum rounded once: a weight of 2 is two rows."""
    counted = weight > 0.0  # what a row of no weight loses may overflow
    rows, weight = rows[counted], weight[counted]
    products = rows * weight
    if (weight != 1.0).any() and np.abs(products).max(initial=0.0) < 1e250:  # nothing overflows
        products = np.concatenate([products, _rounded_off(rows, weight, products)])
    return math.fsum(products.tolist()) / math.fsum(weight.tolist())


def _rounded_off(a: FloatArray, b: FloatArray, products: FloatArray) -> FloatArray:
    """Return what the products of floats lack, exactly (Dekker 1971)."""
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return ((a_high * b_high - products) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Split each float into a sum of two with half its digits (Veltkamp)."""
    shifted = (2.0**27 + 1.0) * values
    high = shifted - (shifted - values)
    return high, values - high


def evaluate(statement: Statement, card: Card) -> Evaluation:
    """Recompute everything the statement says about a card.

    Parameters
    ----------
    statement : Statement
    card : Card
        Whole coefficients of shape (p,) and the intercept.

    Returns
    -------
    Evaluation
    """
    violations = statement.violations(card)
    unscaled = statement.scales is not None and card.scale is None
    if unscaled or len(card.coefficients) != statement.design.shape[1]:
        nan = float("nan")
        return Evaluation(nan, nan, nan, violations, exact=False)
    loss, exact = mean_loss(statement, card)
    penalty = statement.penalty(card.coefficients)
    return Evaluation(loss, penalty, loss + penalty, violations, exact)


def check(program: Program, card: Card | None = None, *, form: Any = None) -> Verdict:
    """Verify a card against a program, or the solution another solver left in ``program.model``.

    The builder's variables are set to what the card implies; then every active constraint and
    variable bound of the model, those a user added included, is evaluated, and the model's
    objective is compared with the one recomputed from the raw data. An objective of the user's own
    is evaluated at the model's values.

    Parameters
    ----------
    program : Program
        An exact program, or a conic one.
    card : Card, optional
        Default: the model's current values, rounded; a conic program's are taken as they are.
    form : optional
        The model's rows where they are compiled already, as Pyomo's standard form holds them.

    Returns
    -------
    Verdict
        ``violations`` names what is broken; ``result(bound, source)`` makes a Result of it.

    Examples
    --------
    >>> pyo.SolverFactory("cbc").solve(program.model)      # doctest: +SKIP
    >>> milpscore.check(program).feasible                  # doctest: +SKIP
    """
    if is_conic(program):
        if card is not None:
            program.card()  # says why there is none
        return check_conic(program)
    card = program.card() if card is None else card
    evaluation = evaluate(program.statement, card)
    if not program.is_built and not evaluation.violations:
        program.fill(card)
    if evaluation.violations or not program.is_built:
        return Verdict(**vars(evaluation), program=program, card=card)
    own = program.own_objective
    with _fixed_values_kept(program.model) as fixed:
        program.fill(card)
        broken = (
            *_moved_though_fixed(fixed),
            *model_violations(program.model, form=form),
            *(() if own is not None else _objective_mismatch(program, evaluation)),
        )
        if own is not None:
            value = own(exception=False)
            evaluation = replace(evaluation, objective=math.nan if value is None else value)
            broken = (*broken, *([f"{own.name} uses a variable without a value"] * (value is None)))
    return Verdict(
        **{**vars(evaluation), "violations": broken},
        program=program,
        card=card,
    )


@contextmanager
def _fixed_values_kept(model: Any) -> Iterator[list[tuple[Any, float]]]:
    """Yield the fixed variables with their values, and put these back for the next solve."""
    from milpscore.core.program import variables

    fixed = [(var, var.value) for var in variables(model) if var.fixed]
    try:
        yield fixed
    finally:
        for var, value in fixed:
            var.set_value(value, skip_validation=True)


def _moved_though_fixed(fixed: list[tuple[Any, float]]) -> list[str]:
    """Name fixed variables that would have to take another value."""
    return [
        f"{var.name} is fixed at {value}, the card implies {var.value}"
        for var, value in fixed
        if value is None or not abs(var.value - value) <= FEASIBILITY_TOLERANCE
    ]


def model_violations(
    model: Any, *, integrality: bool = True, limit: int = 5, form: Any = None
) -> tuple[str, ...]:
    """Name at most ``limit`` rows, bounds and integralities that the model's values break."""
    from milpscore.core.program import variables

    broken: list[str] = []
    for var in variables(model):
        if var.value is None:
            continue  # a constraint that uses it says so
        lower, upper = var.bounds
        broken += _outside(var.name, var.value, lower, upper)
        whole = var.is_continuous() or abs(var.value - round(var.value)) <= FEASIBILITY_TOLERANCE
        if integrality and not whole:
            broken.append(f"{var.name} = {var.value} is not a whole number")
    return tuple([*broken, *_unreadable(model), *_broken_rows(model, form)][:limit])


def _unreadable(model: Any) -> list[str]:
    """Name active components that may restrict the model and cannot be re-checked."""
    import pyomo.environ as pyo

    silent = {pyo.Var, pyo.Constraint, pyo.Objective, pyo.Expression, pyo.Param, pyo.Set}
    silent |= {pyo.RangeSet, pyo.Suffix, pyo.Block, pyo.BooleanVar, pyo.BuildAction}
    return [
        f"{part.name} is a {part.ctype.__name__}, which cannot be re-checked: write it as linear "
        "constraints"
        for part in model.component_objects(active=True, descend_into=True)
        if part.ctype not in silent
    ]


def _broken_rows(model: Any, form: Any = None) -> list[str]:
    """Name the active constraints that the current values break."""
    from pyomo.common.errors import PyomoException

    from milpscore.core.program import constraints, standard_form

    try:
        form = standard_form(model) if form is None else form
    except (ValueError, PyomoException):  # nonlinear or constant rows, other parts: one by one
        return [sentence for row in constraints(model) for sentence in _broken_row(row)]
    values = np.array([np.nan if v.value is None else v.value for v in form.columns])
    rhs = np.asarray(form.rhs, dtype=np.float64)
    ends = np.array([row.bound_type for row in form.rows])
    above = form.A @ values - rhs
    excess = np.where(ends == 0, np.abs(above), np.where(ends > 0, above, -above))
    suspects = np.flatnonzero(~(excess <= FEASIBILITY_TOLERANCE * np.maximum(1.0, np.abs(rhs))))
    return [s for i in suspects for s in _broken_row(form.rows[i].constraint)]


def _broken_row(row: Any) -> list[str]:
    """Say how the current values break one constraint, if they do."""
    body = row.body(exception=False)
    if body is None:
        return [f"constraint {row.name} uses a variable without a value"]
    return _outside(f"constraint {row.name}", body, row.lb, row.ub)


def _outside(name: str, value: float, lower: float | None, upper: float | None) -> list[str]:
    """Say how a value lies outside [lower, upper], if it does."""
    for bound, beyond in ((lower, -1.0), (upper, 1.0)):
        if bound is None or not math.isfinite(bound):
            continue
        # "not <=" rather than ">": a value that is not a number is outside
        if not beyond * (value - bound) <= FEASIBILITY_TOLERANCE * max(1.0, abs(bound)):
            side = "below" if beyond < 0 else "above"
            return [f"{name}: {value:g} is {side} its bound {bound:g}"]
    return []


def _objective_mismatch(program: Program, evaluation: Evaluation) -> tuple[str, ...]:
    """Say how the model's objective differs from the statement's, if it does."""
    import pyomo.environ as pyo

    objectives = list(program.model.component_data_objects(pyo.Objective, active=True))
    if len(objectives) != 1:
        return (f"the model has {len(objectives)} active objectives; keep exactly one",)
    claimed = pyo.value(objectives[0])
    if program.statement.caveat:
        return ()  # the model may charge more than the card's true loss, never less
    if abs(claimed - evaluation.objective) > FEASIBILITY_TOLERANCE * max(1.0, abs(claimed)):
        return (
            f"the model's objective is {claimed:.9g} where the raw data give "
            f"{evaluation.objective:.9g}: it was changed, or states something else",
        )
    return ()


def evaluate_conic(statement: ConicStatement, w: FloatArray, b: float) -> Evaluation:
    """Recompute loss, penalty and objective of real w, shape (p,), and b from the raw rows."""
    loss, penalty = statement.mean_loss(w, b), float(statement.penalty.value(w))
    broken = () if math.isfinite(loss + penalty) else ("the objective is not a finite number",)
    return Evaluation(loss, penalty, loss + penalty, broken, exact=False)


def added_violations(program: ConicProgram, limit: int = 5) -> tuple[str, ...]:
    """Name at most ``limit`` constraints of the user's that the model's values break."""
    broken = []
    for constraint in program.added:
        size = max(
            (float(np.abs(np.asarray(part.value)).max(initial=0.0)) for part in constraint.args
             if part.value is not None),
            default=0.0,
        )  # fmt: skip
        try:
            excess = float(np.max(constraint.violation(), initial=0.0))
        except ValueError:  # CVXPY's error for variables without values
            broken.append(f"constraint {constraint} uses a variable without a value")
            continue
        # "not <=" rather than ">": a value that is not a number is outside
        if not excess <= FEASIBILITY_TOLERANCE * max(1.0, size):
            broken.append(f"constraint {constraint} is broken by {excess:.3g}")
    return tuple(broken[:limit])


def smooth_part(statement: ConicStatement) -> Smooth:
    """Return the statement's loss over its merged rows; the hinge loss has only a dual here."""
    rows = statement.merged
    loss: Any = statement.loss
    return Smooth(as_operator(rows.X), rows.y, rows.weight, loss, statement.intercept)


def fenchel_bound(
    statement: ConicStatement, w: FloatArray, b: float, row_duals: FloatArray | None = None
) -> float:
    """Return a lower bound on the objective by Fenchel duality at (w, b); -inf if there is none."""
    # constraints that were added can only raise the minimum; the hinge loss needs the margin duals
    # of the merged rows, shape (m,), from any solver
    smooth = smooth_part(statement)
    if not isinstance(statement.loss, Hinge):
        point = smooth.settled(w, smooth.X.matvec(w), np.asarray(b, dtype=np.float64))
        return duality_gap(smooth, statement.penalty, point).dual
    if row_duals is None or not np.isfinite(row_duals).all():
        return -math.inf
    return _hinge_bound(smooth, statement, row_duals)


def _hinge_bound(smooth: Smooth, statement: ConicStatement, row_duals: FloatArray) -> float:
    """Return the bound of dual shares in [0, 1], made exactly feasible first."""
    margin = statement.loss.margin  # type: ignore[attr-defined]
    share = np.clip(row_duals * margin / smooth.weight, 0.0, 1.0)
    if statement.intercept:
        # the weighted shares of the two classes must agree, or the intercept is not at its best
        positive = smooth.y > 0
        pull = smooth.weight * share
        up, down = float(pull[positive].sum()), float(pull[~positive].sum())
        if min(up, down) == 0.0:
            share[:] = 0.0
        else:
            share[positive] *= min(1.0, down / up)
            share[~positive] *= min(1.0, up / down)
    u = -smooth.y * share / margin
    gradient = smooth.X.rmatvec(smooth.weight * u)
    scale = float(statement.penalty.dual_scale(-gradient))
    conjugate = float(statement.penalty.conjugate(-scale * gradient))
    if not math.isfinite(conjugate):
        return -math.inf
    return smooth.dual(np.clip(scale, 0.0, 1.0) * u) - conjugate


def null_point(statement: ConicStatement) -> tuple[FloatArray, float]:
    """Return zero coefficients with their best intercept."""
    w = np.zeros(statement.merged.X.shape[1])
    if not statement.intercept:
        return w, 0.0
    if isinstance(statement.loss, Hinge):
        # one of the two margins: the loss is piecewise linear in b with kinks there
        margin = float(statement.loss.margin)
        return w, min((-margin, margin), key=lambda b: statement.mean_loss(w, b))
    return w, float(smooth_part(statement).null.b)


def check_conic(program: ConicProgram) -> Verdict:
    """Verify the values another solver left in a conic ``program.model``."""
    w, b = program.coefficients()
    figures = evaluate_conic(program.statement, w, b)
    broken = [*figures.violations, *added_violations(program)]
    claimed, true = program.model.objective.value, figures.objective
    slack = FEASIBILITY_TOLERANCE * max(1.0, abs(true))
    if claimed is not None and not abs(claimed - true) <= slack:
        broken.append(
            f"the model's objective is {float(claimed):.9g} where the raw data give "
            f"{true:.9g}: it was changed, or the solution is not converged"
        )
    return Verdict(**{**vars(figures), "violations": tuple(broken)}, program=program, card=None)
