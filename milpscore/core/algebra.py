"""The few things done to any Pyomo model, whichever builder made it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
from pyomo.repn import generate_standard_repn
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

_DOMAINS = "_integral_domains"


def variables(model: Any) -> list[Any]:
    """Every variable of the model in declaration order, fixed ones included."""
    return list(model.component_data_objects(pyo.Var, descend_into=True))


def constraints(model: Any) -> list[Any]:
    """Every active constraint of the model in declaration order."""
    return list(model.component_data_objects(pyo.Constraint, active=True, descend_into=True))


def part_names(model: Any) -> frozenset[str]:
    """Names of the components a builder made, to tell what a user adds later."""
    return frozenset(part.name for part in model.component_objects(descend_into=True))


def changes(model: Any, stated: frozenset[str], expected: dict[str, tuple[float, float]]) -> str:
    """What a user changed in the model beyond penalty weights, in words; empty where nothing."""
    kinds = (pyo.Suffix, pyo.Set, pyo.Param, pyo.Expression)
    for part in model.component_objects(active=True, descend_into=True):
        if part.name not in stated and part.ctype not in kinds:
            return f"the {part.ctype.__name__} {part.name} was added"
    for name in stated:
        part = model.find_component(name)
        if part is None or not getattr(part, "active", True):
            return f"{name} was taken away"
    for var in variables(model):
        if var.fixed:
            return f"variable {var.name} is fixed"
        if var.name in expected and tuple(var.bounds) != expected[var.name]:
            return f"the bounds of {var.name} were changed"
    return ""


def relax_integrality(model: Any) -> None:
    """Make every integer variable real within its bounds, and remember its domain."""
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
    return LinearStandardFormCompiler().write(model, mixed_form=True)


def stated_objective(model: Any) -> Any:
    """Pyomo's linear form of ``loss + penalty``, the expressions a builder gave the model.

    The objective a user left active may be another one.
    """
    return generate_standard_repn(model.loss.expr + model.penalty.expr, compute_values=True)


def model_size(model: Any) -> tuple[int, int, int, int]:
    """Rows, columns, integer columns and nonzeros."""
    form = standard_form(model)
    integers = sum(not var.is_continuous() for var in form.columns)
    return form.A.shape[0], form.A.shape[1], integers, int(form.A.nnz)


def write_model(model: Any, path: Path) -> None:
    """Write LP or MPS text with the model's own variable and constraint names."""
    model.write(str(path), io_options={"symbolic_solver_labels": True})
