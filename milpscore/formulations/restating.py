"""A program as plain data, from which its builder makes it again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from milpscore.constraints import Constraint, make_constraint
from milpscore.core.design import Design
from milpscore.core.errors import FormulationError, MilpscoreError, NotApplicableError
from milpscore.core.program import Program
from milpscore.core.statement import Statement
from milpscore.formulations._registry import card_builder


def plain_statement(program: Program) -> dict[str, Any]:
    """Return ``formulation``, ``arguments`` and ``kind`` of a program as JSON holds them."""
    if not program.arguments:
        raise NotApplicableError(
            f"this program of {program.formulation} does not know its arguments: state it with a "
            "builder decorated by milpscore.formulations.building.builder"
        )
    design = program.statement.design
    plain = {
        "formulation": program.formulation,
        "arguments": {k: _plain(design, k, value) for k, value in program.arguments.items()},
        "kind": program.kind,
    }
    solved, again = _traits(program.statement), _traits(restate(plain, design).statement)
    for name in [name for name in solved if solved[name] != again[name]][:1]:
        raise FormulationError(
            f"the builder's arguments do not make the program that was solved ({name} differs): "
            "its statement was changed after it was built"
        )
    return plain


def restate(plain: Mapping[str, Any], design: Design) -> Program:
    """State the program of a plain statement on a design."""
    arguments, name = dict(plain["arguments"]), str(plain.get("formulation"))
    try:
        if "constraints" in arguments:
            arguments["constraints"] = [make_constraint(c) for c in arguments["constraints"]]
        program = card_builder(name)(design, **arguments)
    except MilpscoreError:
        raise
    except (TypeError, KeyError, AttributeError, ValueError, IndexError, OverflowError) as error:
        raise FormulationError(
            f"{name} does not take these arguments ({error}): make the certificate again"
        ) from error
    kind = plain.get("kind", program.kind)
    if kind not in ("exact", "relaxed"):
        raise FormulationError(f"a program is exact or relaxed, not {kind!r}")
    if kind == program.kind:
        return program
    return program.exact() if kind == "exact" else program.relaxed()


def _plain(design: Design, name: str, value: Any) -> Any:
    """Return an argument as JSON holds it: columns by name, losses and constraints as entries."""
    if name == "constraints":
        constraints = [value] if isinstance(value, Constraint) else list(value)
        entries = [constraint.as_mapping() for constraint in constraints]
        if [make_constraint(entry) for entry in entries] != constraints:
            raise FormulationError(
                "a constraint over a mask of rows is not plain data: name its rows by a condition"
            )
        return entries
    if isinstance(value, Mapping):
        value = {
            key if isinstance(key, str) else design.names[key]: _number(number)
            for key, number in value.items()
        }
    elif name == "loss" and not isinstance(value, str):
        value = value.name
    try:
        return json.loads(json.dumps(_number(value), allow_nan=False, default=_number))
    except (TypeError, ValueError) as error:
        raise FormulationError(
            f"{name}={value!r} is not plain data ({error}): give it by name or as numbers"
        ) from error


def _number(value: Any) -> Any:
    """Return numbers of NumPy as Python's, everything else as it is."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _traits(statement: Statement) -> dict[str, Any]:
    """Return what distinguishes statements on the same design, comparable by ``==``."""
    p = statement.design.shape[1]
    cards = np.arange(p) % 3 - 1, np.arange(p) + 1  # they tell penalties apart
    return {
        "formulation": statement.formulation,
        "loss": repr(statement.loss),
        "coef_min": statement.coef_min.tolist(),
        "coef_max": statement.coef_max.tolist(),
        "coef_sets": dict(statement.coef_sets),
        "max_terms": statement.max_terms,
        "intercept": statement.intercept,
        "penalties": [
            [term.name, term.lam, *(float(term.value(w)) for w in cards)]
            for term in statement.penalties
        ],
        "constraints": [rule.as_mapping() for rule in statement.constraints],
        "caveat": statement.caveat,
    }
