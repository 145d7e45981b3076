"""Make a failing case as small as it goes, and print it as a script."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from fuzz.meaning import Case
from fuzz.running import Counts, Wrong, check

_NEEDED = ("cost", "scale", "lam", "loss", "penalty", "expert", "weights", "coef_min", "coef_max")


def fails(case: Case) -> Wrong | None:
    """What is wrong with a case, if anything."""
    try:
        check(case, Counts())
    except Wrong as found:
        return found
    except (ValueError, IndexError, KeyError):
        return None  # no case any more
    return None


def shrink(case: Case, kind: str, seconds: float = 60.0) -> Case:
    """The smallest case met that is wrong in the same way."""
    deadline = time.monotonic() + seconds
    again = True
    while again:
        again = False
        for smaller in _smaller(case):
            if time.monotonic() > deadline:
                return case
            found = fails(smaller)
            if found is not None and found.kind == kind:
                case, again = smaller, True
                break
    return case


def _without(values: Any, at: int) -> Any:
    return values[:at] + values[at + 1 :]


def _smaller(case: Case) -> Iterator[Case]:
    """Cases with one thing less, the greatest steps first."""
    for k in range(len(case.rules)):
        yield replace(case, rules=_without(case.rules, k))
    for i in range(len(case.y)):
        yield _drop_row(case, i)
    for j in range(len(case.columns)):
        if len(case.columns) > 1:
            yield _drop_column(case, j)
    for name in case.arguments:
        if name not in _NEEDED:
            rest = {k: v for k, v in case.arguments.items() if k != name}
            yield replace(case, arguments=rest)
    for name in case.options:
        if name != "time_limit":
            yield replace(case, options={k: v for k, v in case.options.items() if k != name})
    if set(case.weight) != {1.0}:
        yield replace(case, weight=(1.0,) * len(case.weight))
    yield from _narrower(case)
    for i, row in enumerate(case.X):
        for j, value in enumerate(row):
            for simpler in (0.0, 1.0, float(round(value)), float(f"{value:.2g}")):
                if abs(simpler) < abs(value) and case.columns[j][2] == "numeric":
                    changed = (*row[:j], simpler, *row[j + 1 :])
                    yield replace(case, X=(*case.X[:i], changed, *case.X[i + 1 :]))


def _narrower(case: Case) -> Iterator[Case]:
    """Ranges of the points one closer to 0."""
    for name, way in (("coef_min", 1), ("coef_max", -1)):
        given = case.arguments.get(name)
        if isinstance(given, int) and given * way < 0:
            for moved in (given // 2 if given > 0 else -(-given // 2), given + way):
                if moved != given:
                    yield replace(case, arguments={**case.arguments, name: moved})
        if isinstance(given, list):
            for j, value in enumerate(given):
                if value * way < 0:
                    changed = [*given[:j], value + way, *given[j + 1 :]]
                    yield replace(case, arguments={**case.arguments, name: changed})


def _drop_row(case: Case, i: int) -> Case:
    """The case without a row, masks cut as well."""
    rules = tuple(
        (kind, {**given, "where": _without(given["where"], i)})
        if isinstance(given.get("where"), list)
        else (kind, given)
        for kind, given in case.rules
    )
    return replace(
        case,
        X=_without(case.X, i),
        y=_without(case.y, i),
        weight=_without(case.weight, i),
        rules=rules,
    )


def _drop_column(case: Case, j: int) -> Case:
    """The case without a column; per-column arguments cut as well."""
    p = len(case.columns)
    arguments = {
        name: _without(value, j)
        if isinstance(value, list) and len(value) == p and name in _NEEDED
        else value
        for name, value in case.arguments.items()
    }
    return replace(
        case,
        X=tuple(_without(row, j) for row in case.X),
        columns=_without(case.columns, j),
        arguments=arguments,
    )


_ASKED = {
    "cells": "print(solve(program.exact(), 'tree'))",
    "limits": "print(solve(program.exact(), {engine!r}, **{options!r}))",
    "shared": "print(solve(program.exact(), 'tree', threads=2))",
    "solve": "print(solve(program.exact(), {engine!r}, **{options!r}))",
    "relax": "print(solve(program.relaxed()).dual_bound)",
    "pool": "print(pool(program, epsilon=0.1).table)",
    "front": "print(pareto(program, solver={engine!r}).table)",
    "verify": "result = solve(program.exact(), {engine!r}, **{options!r})\n"
    "print(verify_certificate(certify(program.exact(), result), design).to_text())",
}


def script(case: Case, found: Wrong) -> str:
    """A script that shows a fault with the package alone."""
    columns = ", ".join(f"Column{column!r}" for column in case.columns)
    rules = ", ".join(
        f"c.{kind}({', '.join(f'{k}={v!r}' for k, v in given.items())})"
        for kind, given in case.rules
    )
    asked = _ASKED[case.task].format(engine=case.engine, options=dict(case.options))
    labels, given, levelled = case.y, dict(case.arguments), ""
    if case.form == "ordinal":
        labels = tuple(1 if c > 0 else -1 for c in case.y)
        cost = given.pop("cost", "absolute")
        levelled = "from milpscore.data.ordinal import by_boundaries\n"
        levelled += f"design = by_boundaries(design, np.array({list(case.y)}), "
        levelled += f"range({max(case.y) + 1}), {cost!r})\n"
    return f"""# {str(found)[:600]}
from math import inf
import numpy as np
from milpscore import constraints as c
from milpscore.certificate import certify, verify_certificate
from milpscore.core.design import Column, Design
from milpscore.formulations import {case.form}
from milpscore.pools import pareto, pool
from milpscore.solvers import solve

design = Design(
    np.array({[list(row) for row in case.X]}),
    np.array({list(labels)}),
    np.array({list(case.weight)}),
    ({columns},),
    {case.blocks!r},
)
{levelled}program = {case.form}(design, constraints=[{rules}], **{given!r})
{asked}
# as a case: {case!r}
"""
