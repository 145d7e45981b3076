"""Random tiny instances of every formulation: data, ranges, weights, scales, rules, engines."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from fuzz.meaning import CURVES, Array, Case, ColumnOf, Rule

Random = np.random.Generator

ENGINES: dict[str, tuple[str, ...]] = {
    "slim": ("auto", "highs", "tree", "support_tree"),
    "hinge": ("auto", "highs", "support_tree"),
    "facets_hinge": ("auto", "highs", "support_tree"),
    "risk_score": ("auto", "tree", "outer_approximation"),
    "fused_lasso": ("auto", "highs"),
    "convex_rounding": ("auto", "highs"),
    "sparse_rounding": ("auto", "highs"),
    "ordinal": ("auto", "highs", "tree", "support_tree"),
    "auc": ("auto", "highs", "tree", "support_tree"),
}
"""The engines that take each formulation."""

_MOST = {"risk_score": 130}
"""Vectors of points at most, 700 elsewhere."""


def pick(rng: Random, *choices: Any) -> Any:
    """One of the choices as it is, not as NumPy would make it."""
    return choices[int(rng.integers(len(choices)))]


def random_case(form: str, rng: Random, task: str = "solve") -> Case:
    """An instance of a formulation; "free_scale" is a risk score, its scale left to the card.

    "cells" is one of columns with two values, or its 0-1 twin, which supports prove; "limits" is a
    risk score or a 0-1 score on whole numbers, with limits on errors.
    """
    cells, limited = form == "cells", form == "limits"
    form = pick(rng, "slim", "risk_score", "free_scale") if limited else form
    form = "slim" if cells and rng.random() < 0.25 else form
    free = form == "free_scale" or (form == "cells" and rng.random() < 0.8)
    form = "risk_score" if free or form == "cells" else form
    if limited:
        X, columns, indicators = _whole(rng)
    else:
        X, columns, indicators = _two_valued(rng) if cells else _table(rng, form)
        if form == "ordinal" and rng.random() < 0.6:  # most other tables have no grid
            X, columns, indicators = _whole(rng)
        if form == "auc":
            X, columns, indicators = _whole(rng)
            X = X / pick(rng, 1.0, 1.0, 10.0)
    y = np.where(rng.random(len(X)) < 0.5, 1, -1)
    y[:2] = 1, -1
    if rng.random() < 0.5:  # classes that follow the data, with errors
        score = X / (np.abs(X).max(axis=0) + 1e-300) @ rng.normal(size=X.shape[1])
        score += rng.normal(size=len(X)) * pick(rng, 0.0, 0.3)
        y[2:] = np.where(score > 0, 1, -1)[2:]
        y = _levels(rng, score) if form == "ordinal" else y
    elif form == "ordinal":
        y = _levels(rng, rng.normal(size=len(X)))
    handicap = form == "slim" and columns[-1][2] == "numeric" and rng.random() < 0.15
    if handicap:  # a column that raises negative rows, or but for a row
        X[:, -1] = np.where(y < 0, pick(rng, 1.0, 2.0), 0.0)
        X[-1, -1] = pick(rng, X[-1, -1], 1.0)
    case = Case(
        form,
        tuple(map(tuple, X.tolist())),
        tuple(y.tolist()),
        _weights(rng, len(X)),
        columns,
        {},
        engine=pick(rng, *ENGINES[form]),
        task=task,
    )
    if cells:
        by_label = np.where(np.array(case.y) > 0, pick(rng, 1.0, 3.0, 0.3), 1.0)
        weight = by_label * (np.array(case.weight) if rng.random() < 0.4 else 1.0)
        case = replace(case, weight=tuple(weight.tolist()))
    if cells or task == "shared":
        case = replace(case, engine="tree")
    given = _arguments(rng, case, free)
    if handicap:
        given["coef_sets"] = {columns[-1][0]: [pick(rng, 1, 1, 2)]}
    case = replace(case, arguments=given)
    wanted = pick(rng, 0, 0, 1, 1, 2, 3)
    known = [name for name in RULES if form not in ("ordinal", "auc") or name not in _LIMITS]
    makers = [RULES[pick(rng, *known)] for _ in range(wanted)]
    if limited:
        makers[1:] = [RULES[pick(rng, *_LIMITS)] for _ in range(pick(rng, 1, 1, 2))]
    found = [rule for make in makers if (rule := make(rng, case, indicators)) is not None]
    return replace(case, rules=tuple(found), options=_options(rng))


# ------------------------------------------------------------------ data


def _values(rng: Random, size: int) -> Array:
    """One column of one of the kinds that have broken something."""
    kind = int(rng.integers(9))
    if kind <= 2:
        return rng.integers(-2, 4, size).astype(float)
    if kind == 3:
        return rng.integers(0, 2, size).astype(float)
    if kind == 4:
        return np.asarray(rng.choice([0.1, 0.2, 0.3, 0.5, 0.7, -0.4], size))
    if kind == 5:
        return np.asarray(rng.integers(-2, 3, size) * pick(rng, 0.01, 0.5, 300.0, 1e4))
    if kind == 6:
        return np.asarray(rng.integers(-1, 3, size) * pick(rng, 9e-10, 1e-7, 1e-5))
    if kind == 7:
        return np.asarray(rng.integers(-2, 3, size) * pick(rng, 1e6, 1e9) + pick(rng, 0, 1))
    return np.round(rng.normal(size=size), pick(rng, 2, 6, 15))


def _table(rng: Random, form: str) -> tuple[Array, tuple[ColumnOf, ...], list[str]]:
    """Rows (some of them repeated), their columns, and the names of those that are 0 or 1."""
    n = int(rng.integers(3, 11))
    columns: list[ColumnOf] = []
    parts: list[Array] = []
    if form in ("slim", "risk_score") and rng.random() < 0.15:
        for name, size in (("a", 2), ("c", int(rng.integers(1, 3)))):
            values = rng.integers(0, size + 1, n)
            columns += [(f"{name} >= {k}", name, "step", k, math.inf) for k in range(1, size + 1)]
            parts += [(values >= k).astype(float) for k in range(1, size + 1)]
    elif form == "fused_lasso" or rng.random() < 0.15:
        for f in range(2 if rng.random() < 0.7 else 1):
            size = int(rng.integers(2, 4))
            parts += list(np.eye(size)[rng.integers(0, size, n)].T)
            columns += [(f"f{f}b{k}", f"f{f}", "interval", k, k + 1.0) for k in range(size)]
    else:
        for j in range(int(rng.integers(1, 4))):
            columns.append((f"x{j}", f"x{j}", "numeric", -math.inf, math.inf))
            parts.append(_values(rng, n))
        if rng.random() < 0.3:
            values = rng.integers(0, 3, n)
            columns += [(f"a >= {k}", "a", "step", float(k), math.inf) for k in (1, 2)]
            parts += [(values >= k).astype(float) for k in (1, 2)]
    X = np.stack(parts, axis=1)
    copies = int(rng.integers(0, n // 2 + 1))
    X[n - copies :] = X[:copies]
    return (
        X,
        tuple(columns),
        [c[0] for c, part in zip(columns, X.T, strict=True) if set(part) <= {0.0, 1.0}],
    )


def _two_valued(rng: Random) -> tuple[Array, tuple[ColumnOf, ...], list[str]]:
    """Columns of two values, some of them equal, mirrored, rare, constant or not 0 and 1."""
    n, p = int(rng.integers(4, 40)), int(rng.integers(2, 6))
    X = (rng.random((n, p)) < pick(rng, 0.1, 0.5, 0.5, 0.8)).astype(float)
    for j in range(1, p):
        made = X[:, int(rng.integers(j))]
        X[:, j] = pick(rng, X[:, j], X[:, j], X[:, j], made, 1.0 - made, np.maximum(X[:, j], made))
    if rng.random() < 0.15:
        X[:, 0] = np.where(X[:, 0] > 0, pick(rng, 2.5, 1e4, 0.01), pick(rng, -0.5, 1.0))
    columns = tuple((f"x{j}", f"x{j}", "numeric", -math.inf, math.inf) for j in range(p))
    return X, columns, [c[0] for c, part in zip(columns, X.T, strict=True) if set(part) <= {0, 1}]


def _levels(rng: Random, score: Array) -> Array:
    """Levels that follow a score, each with a row."""
    count = pick(rng, 2, 3, 3, 4) if len(score) > 3 else 3
    y = np.digitize(score, np.sort(rng.choice(score, count - 1)))
    y[:count] = np.arange(count)
    return y


def _whole(rng: Random) -> tuple[Array, tuple[ColumnOf, ...], list[str]]:
    """Columns of few whole numbers."""
    n, p = int(rng.integers(4, 14)), int(rng.integers(1, 4))
    X = rng.integers(pick(rng, 0, -1), pick(rng, 2, 4), (n, p)) * pick(rng, 1.0, 1.0, 1.0, 5.0)
    columns = tuple((f"x{j}", f"x{j}", "numeric", -math.inf, math.inf) for j in range(p))
    return X, columns, [c[0] for c, part in zip(columns, X.T, strict=True) if set(part) <= {0, 1}]


def _weights(rng: Random, n: int) -> tuple[float, ...]:
    kind = int(rng.integers(6))
    weight = np.ones(n)
    if kind == 1:
        weight = rng.integers(1, 4, n).astype(float)
    elif kind == 2:
        weight = rng.choice([0.3, 0.7, 1.1, 2.5], n)
    elif kind == 3:
        weight = np.asarray(rng.choice([1e-4, 1.0, 1e4], n))
    elif kind == 4:
        weight = rng.integers(0, 3, n).astype(float)
    weight[:2] = np.maximum(weight[:2], 0.1)
    return tuple(weight.tolist())


# ------------------------------------------------------------------ arguments


def _span(rng: Random, case: Case, most: int) -> tuple[Any, Any]:
    """Least and most points of every column, few enough to enumerate."""
    p = len(case.columns)
    if p == 1 and rng.random() < 0.3:
        return -pick(rng, 0, 100, 300), pick(rng, 100, 300)
    width = max(1, math.floor(most ** (1 / p)))
    if rng.random() < 0.25:
        ends: list[Any] = [sorted(rng.integers(-2, 3, 2).tolist()) for _ in range(p)]
        while (size := math.prod(b - a + 1 for a, b in ends)) > most and size > 2**p:
            ends = [(a, max(a, b - 1)) for a, b in ends]
        return [a for a, _ in ends], [b for _, b in ends]
    low = -int(rng.integers(0, width))
    return low, low + width - 1


def _arguments(rng: Random, case: Case, free: bool) -> dict[str, Any]:
    """What the builder is called with, beside the data and the rules."""
    form, p = case.form, len(case.columns)
    given: dict[str, Any] = {}
    most = _MOST.get(form, 700) // (8 if case.task in ("pool", "front", "verify") else 1)
    if form in ("convex_rounding", "sparse_rounding"):
        given["weights"] = pick(rng, "binary", "ternary")
    elif form == "facets_hinge" and rng.random() < 0.2 and p <= 2:
        given["lam"] = 0.2
    else:
        given["coef_min"], given["coef_max"] = _span(rng, case, most)
    if (
        form in ("slim", "risk_score", "ordinal", "auc")
        and rng.random() < 0.15
        and isinstance(given["coef_min"], int)
    ):
        given["coef_sets"] = {
            case.columns[0][0]: sorted({*rng.integers(-3, 4, 2).tolist(), pick(rng, 0, 2)})
        }
    if form == "sparse_rounding" or (
        form not in ("convex_rounding", "fused_lasso") and rng.random() < 0.4
    ):
        given["max_terms"] = int(rng.integers(0 if form != "sparse_rounding" else 1, p + 1))
    if form in ("slim", "hinge", "risk_score", "ordinal", "auc") and rng.random() < 0.7:
        given["l0_penalty"] = pick(rng, 0.0, 1e-6, 4e-6, 1e-5, 1e-3, 0.01, 0.2)
    if form in ("slim", "hinge", "auc") and rng.random() < 0.3:
        given["l1_penalty"] = pick(rng, 1e-6, 1e-3, 0.05)
    if form == "facets_hinge" and "lam" not in given:
        given["lam"], given["gamma"] = (
            pick(rng, 1e-12, 1e-4, 0.03, 0.3),
            pick(rng, 1.0, 0.3, 2.0, 1e5),
        )
    if form == "fused_lasso":
        given["lam"] = pick(rng, 0.0, 1e-3, 0.03, 0.3)
        if rng.random() < 0.3:
            given["weights"] = [pick(rng, 0.0, 0.5, 1.0, 2.0) for _ in range(p)]
        if rng.random() < 0.2:
            given["reference"], given["coef_min"] = "lowest", 0
            given["coef_max"] = pick(rng, 1, 2)
    if form in ("ordinal", "auc") and rng.random() < 0.3:
        given["loss"] = "hinge"
    if (case.loss == "hinge" or given.get("loss") == "hinge") and rng.random() < 0.4:
        given["margin"] = pick(rng, 0.5, 0.7, 2.5, 9e-6, 100.0)
    if form == "risk_score":
        given |= _risk(rng, p, free)
    if form == "ordinal":
        given["cost"] = pick(rng, "absolute", "absolute", "squared", "zero_one")
        given["spacing"] = pick(rng, 1, 1, 1, 2, 3)
    if form in ("ordinal", "auc"):
        return given
    if form != "slim" and rng.random() < 0.4:
        given["intercept"] = pick(rng, "zero", "real", *([] if free else ["integer"]))
    if given.get("intercept") != "zero" and rng.random() < 0.2:
        low = int(rng.integers(-6, 3))
        given["intercept_bounds"] = [low, low + int(rng.integers(0, 6)) + 1]
    if form in ("slim", "risk_score") and any(column[2] == "step" for column in case.columns):
        given |= _jumps(rng, case, given, most)
    if form == "slim" and rng.random() < 0.08 and "intercept_bounds" not in given:
        given["threshold_gap"] = pick(rng, 0.05, 0.5, 1.0)
    return given


def _jumps(rng: Random, case: Case, given: dict[str, Any], most: int) -> dict[str, Any]:
    """A limit on cuts, and now and then a penalty on jumps, few enough to enumerate."""
    found: dict[str, Any] = {"max_cuts": pick(rng, 0, 1, 2)} if rng.random() < 0.3 else {}
    cuts, p = sum(column[2] == "step" for column in case.columns), len(case.columns)
    reach = pick(rng, 1, 2, 3)
    if rng.random() < 0.5 or (2 * reach + 1) ** cuts * (reach + 1) ** (p - cuts) > most:
        return found
    for name in ("coef_sets", "expert"):
        given.pop(name, None)
    kind = pick(rng, "tv", "binarsity") if cuts == p else "tv"
    low = -pick(rng, 0, 0, 1)
    return found | {
        "penalty": kind, "lam": pick(rng, 0.0, 1e-4, 0.01, 0.2), "coef_min": low,
        "coef_max": low + reach,
    }  # fmt: skip


def _risk(rng: Random, p: int, free: bool) -> dict[str, Any]:
    """Loss, scale and penalty of a risk score."""
    scales: list[Any] = [1.0, 1.0, 2.0, 0.1, 30.0]
    if free:  # narrow ranges, whose ends bind
        scales = ["auto", "auto", "auto", [0.5, 2.0], [0.1, 0.3], [1.0, 30.0]]
    given: dict[str, Any] = {"loss": pick(rng, "logistic", *CURVES), "scale": pick(rng, *scales)}
    if rng.random() < 0.4:
        given["penalty"] = pick(rng, "l1", "l2", "facets", "eye")
        given["lam"] = pick(rng, 0.0, 1e-4, 0.01, 0.2)
        if given["penalty"] == "eye":
            given["expert"] = [pick(rng, 0.0, 0.4, 1.0) for _ in range(p)]
    return given


def _options(rng: Random) -> dict[str, Any]:
    """How the engine runs; a limit of nodes now and then, so that bounds of open searches count."""
    given: dict[str, Any] = {"time_limit": 20.0}
    if rng.random() < 0.15:
        given["node_limit"] = pick(rng, 0, 1, 3, 10)
    if rng.random() < 0.1:
        given["presolve"] = False
    if rng.random() < 0.1:
        given["random_state"] = int(rng.integers(1, 100))
    if rng.random() < 0.05:
        given["mip_gap"] = 0.1
    return given


# ------------------------------------------------------------------ rules

Maker = Callable[[Random, Case, list[str]], "Rule | None"]


def _some(rng: Random, case: Case, most: int = 2) -> list[str]:
    names = list(case.groups)
    size = int(rng.integers(1, min(most, len(names)) + 1))
    return [str(name) for name in rng.choice(names, size, replace=False)]


def _counting(kind: str) -> Maker:
    def make(rng: Random, case: Case, indicators: list[str]) -> Rule:
        names: Any = _some(rng, case, 3)
        size = len(names)
        if rng.random() < 0.3:
            names = case.columns[0][1]
            size = len(case.feature(names))
        return kind, {"k": int(rng.integers(0, size + 1)), "columns": names}

    return make


def _range(rng: Random, case: Case, indicators: list[str]) -> Rule:
    low = int(rng.integers(-2, 2))
    ends = {"lower": low, "upper": low + int(rng.integers(0, 3))}
    if rng.random() < 0.4:
        del ends[pick(rng, "lower", "upper")]
    return "Range", {"columns": _some(rng, case), **ends}


def _either(rng: Random, case: Case, indicators: list[str]) -> Rule:
    sides = {"first": _some(rng, case), "second": _some(rng, case)}
    return "EitherOr", {**sides, **pick(rng, {}, {"neither": True}, {"both": True})}


def _implies(rng: Random, case: Case, indicators: list[str]) -> Rule:
    need = pick(rng, "all", "any")
    return "Implies", {"first": _some(rng, case), "then": _some(rng, case), "need": need}


def _monotone(rng: Random, case: Case, indicators: list[str]) -> Rule:
    feature = pick(rng, *case.columns)[1]
    return "Monotone", {"features": feature, "direction": pick(rng, "increasing", "decreasing")}


def _apart(rng: Random, case: Case, indicators: list[str]) -> Rule | None:
    binned = sorted({feature for _, feature, kind, *_ in case.columns if kind != "numeric"})
    if not binned:
        return None
    return "Span", {"most": int(rng.integers(0, 4)), "features": pick(rng, *binned)}


def _total(rng: Random, case: Case, indicators: list[str]) -> Rule:
    size = max(abs(v) for row in case.X for v in row) or 1.0
    ends = {"lower": -float(pick(rng, 0, 1, 3)) * size, "upper": float(pick(rng, 0, 1, 4)) * size}
    if rng.random() < 0.4:
        del ends[pick(rng, "lower", "upper")]
    return "TotalRange", ends


def _rate(kind: str, *shares: float) -> Maker:
    def make(rng: Random, case: Case, indicators: list[str]) -> Rule | None:
        label = -1 if kind == "MaxFPR" else 1
        where = _where(rng, case, indicators)
        rule = (kind, {"value": pick(rng, *shares), **where})
        inside = _inside(case, where)
        return rule if any(i and c == label for i, c in zip(inside, case.y, strict=True)) else None

    return make


def _inside(case: Case, where: dict[str, Any]) -> list[bool]:
    asked = where.get("where")
    counted = [s > 0 for s in case.weight]
    if isinstance(asked, str):
        (j,) = case.groups[asked.split(" >= ")[0]]
        return [c and row[j] >= 1 for c, row in zip(counted, case.X, strict=True)]
    return [c and (asked is None or asked[i]) for i, c in enumerate(counted)]


def _where(rng: Random, case: Case, indicators: list[str]) -> dict[str, Any]:
    plain = [name for name in indicators if " " not in name and name.startswith("x")]
    if plain and rng.random() < 0.3:
        return {"where": f"{pick(rng, *plain)} >= 1"}
    if rng.random() < 0.4:
        return {"where": (rng.random(len(case.y)) < 0.6).tolist()}
    return {}


def _errors(rng: Random, case: Case, indicators: list[str]) -> Rule | None:
    where = _where(rng, case, indicators)
    if not any(_inside(case, where)):
        return None
    much = pick(rng, {"count": int(rng.integers(0, 4))}, {"share": pick(rng, 0.0, 0.2, 0.4)})
    return "MaxErrors", {**where, **much}


def _gap(rng: Random, case: Case, indicators: list[str]) -> Rule | None:
    rate = pick(rng, "tpr", "fpr", "selection")
    by: Any = rng.integers(0, pick(rng, 2, 2, 3), len(case.y)).tolist()
    labels = by
    if rng.random() < 0.4:
        by = pick(rng, *(column[1] for column in case.columns))
        labels = [tuple(row[j] for j in case.feature(by)) for row in case.X]
    classes = {"tpr": (1,), "fpr": (-1,), "selection": (1, -1)}[rate]
    rows = zip(labels, case.y, case.weight, strict=True)
    groups = {label for label, c, s in rows if c in classes and s > 0}
    rule = "MaxGap", {"rate": rate, "by": by, "value": pick(rng, 0.0, 0.1, 0.25, 1 / 3, 0.5)}
    return rule if 2 <= len(groups) <= 4 else None


RULES: dict[str, Maker] = {
    "Sign": lambda rng, case, _: (
        "Sign",
        {"columns": _some(rng, case), "sign": pick(rng, "positive", "negative")},
    ),
    "Range": _range,
    "Exclude": lambda rng, case, _: ("Exclude", {"columns": _some(rng, case, 1)}),
    "Include": lambda rng, case, _: ("Include", {"columns": _some(rng, case)}),
    "AtMost": _counting("AtMost"),
    "AtLeast": _counting("AtLeast"),
    "Exactly": _counting("Exactly"),
    "MaxPoints": lambda rng, case, _: (
        "MaxPoints",
        {
            "limit": pick(rng, 0, 1, 3, 6, 10),
            **({} if rng.random() < 0.5 else {"columns": _some(rng, case, 1)}),
        },
    ),
    "Budget": lambda rng, case, _: (
        "Budget",
        {
            "limit": pick(rng, 0, 0.3, 1, 2.5),
            "prices": {column[1]: pick(rng, 0, 0.1, 0.2, 1, 2) for column in case.columns},
        },
    ),
    "MaxFeatures": lambda rng, case, _: ("MaxFeatures", {"k": int(rng.integers(0, 3))}),
    "EitherOr": _either,
    "Implies": _implies,
    "Monotone": _monotone,
    "Span": _apart,
    "TotalRange": _total,
    "MaxFPR": _rate("MaxFPR", 0.0, 0.1, 0.25, 1 / 3, 0.5),
    "MinTPR": _rate("MinTPR", 0.5, 2 / 3, 0.9, 1.0),
    "MaxErrors": _errors,
    "MaxGap": _gap,
}

_LIMITS = ("MaxFPR", "MinTPR", "MaxErrors", "MaxGap")
"""Rules that limit errors."""
