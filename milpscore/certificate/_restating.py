"""A statement as plain data, from which the builder makes the same program again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from milpscore.constraints import Constraint, make_constraint
from milpscore.core.design import Design
from milpscore.core.errors import FormulationError
from milpscore.core.program import Program
from milpscore.core.statement import Statement
from milpscore.formulations import builder


def plain_statement(program: Program, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The builder's name and arguments as JSON holds them.

    Parameters
    ----------
    program : Program
    arguments : mapping, optional
        What the builder was called with, data and weights left out; needed for formulations other
        than ``risk_score`` and ``slim``.

    Returns
    -------
    dict
        ``formulation`` and ``arguments``.

    Raises
    ------
    FormulationError
        Where the arguments are missing, are no plain data, or make another program.
    """
    statement = program.statement
    given = _read_off(statement) if arguments is None else dict(arguments)
    given = {name: _plain(name, value) for name, value in given.items()}
    plain = {"formulation": statement.formulation, "arguments": given}
    again = restate(plain, statement.design)
    difference = _difference(statement, again.statement)
    if again.kind != program.kind:
        difference = f"it is {again.kind}"
    if difference:
        raise FormulationError(
            f"these arguments do not make the program that was solved ({difference}): pass the "
            "builder's own as arguments="
        )
    return plain


def restate(plain: Mapping[str, Any], design: Design) -> Program:
    """The program of a plain statement on a design.

    Raises
    ------
    FormulationError, OptionError
        Where the builder refuses it.
    """
    arguments = dict(plain["arguments"])
    try:
        if "constraints" in arguments:
            arguments["constraints"] = [make_constraint(c) for c in arguments["constraints"]]
        return builder(str(plain["formulation"]))(design, **arguments)
    except (TypeError, KeyError, AttributeError) as error:
        raise FormulationError(
            f"{plain['formulation']} does not take these arguments ({error}): make the certificate "
            "again"
        ) from error


def _read_off(statement: Statement) -> dict[str, Any]:
    """The arguments a statement itself tells."""
    if statement.formulation not in ("risk_score", "slim"):
        raise FormulationError(
            f"the statement of {statement.formulation} does not tell all its arguments: pass the "
            "builder's own as arguments="
        )
    names, rule = statement.design.names, statement.intercept
    given: dict[str, Any] = {
        "coef_min": statement.coef_min.tolist(),
        "coef_max": statement.coef_max.tolist(),
        "max_terms": statement.max_terms,
        "intercept_bounds": [float(rule.lower), float(rule.upper)],
        "constraints": list(statement.constraints),
    }
    if statement.coef_sets:
        given["coef_sets"] = {names[j]: list(v) for j, v in statement.coef_sets.items()}
    if statement.formulation == "slim":
        return given | {term.name: term.lam for term in statement.penalties}
    given |= {
        "loss": statement.loss.name,
        "scale": float(statement.loss.scale),  # type: ignore[attr-defined]
        "penalty": statement.arguments["penalty"],
        "l0_penalty": statement.penalties[0].lam,
        "intercept": rule.kind,
    }
    if len(statement.penalties) > 1:
        term: Any = statement.penalties[1]
        given["lam"] = term.lam
        if given["penalty"] == "eye":
            given["expert"] = np.asarray(term.base.expert).tolist()
    return given


def _plain(name: str, value: Any) -> Any:
    """An argument as JSON holds it."""
    if name == "constraints":
        own = [each if isinstance(each, Constraint) else each.constraint for each in value]
        entries = [each.as_mapping() for each in own]
        if [make_constraint(entry) for entry in entries] != own:
            raise FormulationError(
                "a constraint over a mask of rows is no plain data: name its rows by a condition"
            )
        return entries
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise FormulationError(
            f"{name}={value!r} is no plain data ({error}): give it by name or as numbers"
        ) from error


def _difference(one: Statement, other: Statement) -> str:
    """Where two statements on one design differ, in words; empty where they do not."""
    parts = {
        "formulation": (one.formulation, other.formulation),
        "loss": (_shown(one.loss), _shown(other.loss)),
        "coef_min": (one.coef_min.tolist(), other.coef_min.tolist()),
        "coef_max": (one.coef_max.tolist(), other.coef_max.tolist()),
        "coef_sets": (dict(one.coef_sets), dict(other.coef_sets)),
        "max_terms": (one.max_terms, other.max_terms),
        "intercept": (one.intercept, other.intercept),
        "penalties": (_weights(one), _weights(other)),
        "constraints": (_demands(one), _demands(other)),
        "caveat": (one.caveat, other.caveat),
    }
    return next((f"{name} differs" for name, (a, b) in parts.items() if a != b), "")


def _shown(loss: Any) -> Any:
    """What tells one loss from another."""
    return repr(loss)


def _weights(statement: Statement) -> list[Any]:
    """Each penalty's name and weight, and what it charges for two cards."""
    p = statement.design.shape[1]
    steps = np.arange(p) % 3 - 1, np.arange(p) + 1
    return [[t.name, t.lam, *(float(t.value(w)) for w in steps)] for t in statement.penalties]


def _demands(statement: Statement) -> list[Any]:
    """The constraints as entries of a file."""
    return [each.as_mapping() for each in statement.constraints]
