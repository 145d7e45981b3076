"""Tables and certificates drawn from the documented format, and ways to forge them.

A base certificate is true, and proved card by card. A forgery changes entries of it, of a claim
that is false, or of the table; it is sealed again and what the checker itself recomputes is copied,
so that neither the digest nor a stale number hides a hole. What the checker accepts is held against
:mod:`fuzz.certificates`.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import itertools
import json
import math
import random
import re
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from fuzz import certificates as judge
from fuzz.cases import Random, pick, random_case
from fuzz.files import Hangs, stopped
from fuzz.running import Counts, Wrong, program_of
from milpscore.certificate import certify
from milpscore.core.errors import MilpscoreError
from milpscore.solvers import solve
from milpscore_check import Refused, check, proved
from milpscore_check.__main__ import main as command

DRAWS = 100
"""Forgeries per base certificate."""

SECONDS = 2.0
"""CPU time that a tiny file may take before its proof begins."""

STEPS = 3000
"""Steps of a proof after which a forgery is given up."""

MARGIN = 1e-7

RAW = (
    "1e400",
    "-1e400",
    "NaN",
    "Infinity",
    "-0.0",
    "1E5",
    "0." + "0" * 400 + "1",
    "9" * 5000,
    "1e-400",
)
"""Numbers as JSON text."""

NASTY: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 7, 2**53 + 1, 2**63, -(2**63), 10**30, 10**400, 0.5, -0.5,
    1.0, 1e16, -1e16, 1e308, 5e-324, *(f"@raw{k}@" for k in range(len(RAW))), "", " ", "x", "0",
    "1", "-1", "+1", "1.0", "1e0", ".5", "5.", " 1", "1_0", "0x1", "1/0", "1/3", "-3/7", "inf",
    "-inf", "+inf", "Inf", "infinity", "nan", "1e400", "-1e400", "9e999", "1e99999999",
    "1e-99999999", "1e-400", "9" * 5000, "\u0663", "\uff11", "\u00b2", "1\u00a0", "\x00", "a\nb",
    "\x1b[2J", "\u202e", "not ill", "balanced", "leaves", "none", "numeric", "step", "interval",
    "category", "missing", "logistic", "hinge", "zero_one", "optimal", "gap", "feasible",
    "evidence", "utf-16", "latin-1", "unicode_escape", ",", ".", [], {}, [[]], [None], [0], [1, 2],
    [1, "a"], ["0", "1"], ["-1", "1", "1/2"], {"a": 1}, {"0": 2.0}, [[[[]]]], ["x"] * 50,
    [[0, 0]] * 3,
)  # fmt: skip
"""What is put in the place of an entry."""

FIELDS = ("", "NA", " NA", "nan", "inf", "-inf", "1e400", "1e99999999", "\u0663", "\uff11", "1_0",
          "0x1", " 1", "1 ", "+1", "-0", "1.0", "1,0", "1e0", "1/2", "true", "False", "x", "f",
          "f ", "9007199254740993", "9007199254740992.0", "\x00", '"1"', "-1")  # fmt: skip
"""What is put into the table."""

CODES = ["9007199254740992", "9007199254740993", "9007199254740994"]
LABELS: tuple[tuple[list[Any], list[str], list[str]], ...] = (
    ([0, 1], ["0"], ["1"]),
    ([-1, 1], ["-1", "-1.0"], ["1", "+1.0"]),
    (["well", "ill"], ["well"], ["ill"]),
    (["not ill", "ill"], ["well", "fine"], ["ill"]),
    ([0.0, 1.0], ["0.0", "0"], ["1.0"]),
    ([1.5, 2.5], ["1.5"], ["2.50"]),
    ([False, True], ["False", "false"], ["TRUE"]),
    ([int(CODES[0]), int(CODES[1])], CODES[:1], CODES[1:2]),
    ([CODES[1], CODES[0]], CODES[1:2], CODES[:1]),
    ([f"not {CODES[1]}", int(CODES[1])], [CODES[0], CODES[2]], CODES[1:2]),
)
"""Labels as a certificate names them, and what stands in the table for them."""


@dataclass(frozen=True)
class File:
    """A table and a certificate's content; ``raised`` is the same content with a false claim."""

    table: bytes
    content: dict[str, Any]
    raised: tuple[dict[str, Any], ...] = ()


# --- true certificates ----------------------------------------------------------------------------


def _feature(
    r: random.Random, name: str, n: int, decimal: str
) -> tuple[list[str], list[dict[str, Any]]]:
    """Draw a feature: its fields and its columns."""
    kind = r.choice(["whole", "whole", "decimal", "text", "codes", "large", "truth"])
    known = {"whole": ["0", "1", "2", "-1"], "decimal": ["0.1", "0.25", "1.50", "-0.4"],
             "text": ["f", "m", "x"], "codes": CODES, "large": [CODES[0], CODES[1], "1"],
             "truth": ["True", "False", "false"]}[kind]  # fmt: skip
    fields = [r.choice(known) for _ in range(n)]
    none = r.random() < 0.3
    if none:
        fields = [r.choice(["", "NA"]) if r.random() < 0.3 else text for text in fields]

    def column(
        kind: str, lower: str = "-inf", upper: str = "inf", category: Any = None
    ) -> dict[str, Any]:
        return {"feature": name, "kind": kind, "lower": lower, "upper": upper,
                "category": category, "others": []}  # fmt: skip

    if kind in ("text", "codes"):
        columns = [column("category", category=text) for text in known[: r.choice([1, 1, 2])]]
    elif kind == "truth" or r.random() < 0.3:
        columns = [column("numeric")]
    else:
        cuts = sorted(known, key=Fraction)[1:]
        if r.random() < 0.5:
            columns = [column("step", lower=cut) for cut in r.sample(cuts, r.choice([1, 1, 2]))]
        else:
            ends = ["-inf", *cuts[: r.choice([1, 2])], "inf"]
            columns = [column("interval", a, b) for a, b in itertools.pairwise(ends)]
            columns = columns if r.random() < 0.6 else columns[1:]
    if none or r.random() < 0.1:
        columns.append(column("missing"))
    return [text.replace(".", decimal) for text in fields], columns


def _table(r: random.Random) -> tuple[bytes, dict[str, Any]]:
    """Draw a table and the entry ``data``."""
    n, decimal = r.randint(5, 9), r.choice([".", ".", ","])
    names = r.sample(["age", "sex", "bp", "x"], r.choice([1, 2, 2, 3]))
    fields, columns = {}, []
    for name in names:
        fields[name], own = _feature(r, name, n, decimal)
        columns += own
    classes, negative, positive = r.choice(LABELS)
    y = [r.random() < 0.5 for _ in range(n)]
    y[:2] = False, True
    fields["y"] = [r.choice(positive if each else negative).replace(".", decimal) for each in y]
    data: dict[str, Any] = {
        "rows": n,
        "classes": classes,
        "columns": columns,
        "blocks": [],
        "target": "y",
    }
    if r.random() < 0.4:
        fields["w"] = [
            r.choice(["1", "2", "0.5", "0", "3"]).replace(".", decimal) for _ in range(n)
        ]
        fields["w"][:2] = ["1", "2"]
        data["weights_column"] = "w"
    if r.random() < 0.3:
        weighed = str(classes[1]) if type(classes[1]) is not float else "1"
        data["class_weight"] = r.choice(
            ["balanced", {weighed: 2.0} if classes[1] != 2.5 else "balanced"]
        )
    if decimal == "," or r.random() < 0.3:
        data["decimal"] = decimal
    if r.random() < 0.2:
        data["encoding"] = "utf-8"
    order = r.sample(list(fields), len(fields))
    lines = [order, *([fields[name][i] for name in order] for i in range(n))]
    separator = ";" if decimal == "," else ","
    return "\n".join(separator.join(line) for line in lines).encode() + b"\n", data


def _rules(r: random.Random, p: int, x: list[list[Fraction]], n: int) -> Iterator[dict[str, Any]]:
    """Draw rules of every kind."""
    every = ["used", "totals", "errors", "gap"]
    for kind in r.choice([[], [], *([each] for each in every), every]):
        low, high = r.choice([None, None, "0", "1", -1]), r.choice([None, "2", "1/2", 1])
        if kind == "used":
            groups = [r.sample(range(p), r.randint(1, p)) for _ in range(r.choice([1, 2, 3, 3]))]
            big = [str(10**16), 1, str(-(10**16))]
            factors = big if len(groups) == 3 and r.random() < 0.7 else [
                r.choice([1, 1, -1, 2, "1/3"]) for _ in groups
            ]  # fmt: skip
            yield {"name": "used", "kind": kind, "groups": groups, "factors": factors,
                   "lower": low, "upper": high}  # fmt: skip
        elif kind == "totals":
            own = r.sample(range(p), r.randint(1, p))
            rows = [[str(row[j]) for j in own] for row in x[:4]]
            yield {"name": "totals", "kind": kind, "features": [[own, rows]],
                   "lower": low, "upper": high}  # fmt: skip
        elif kind == "gap":
            sides = [sorted(r.sample(range(n), r.randint(2, n))) for _ in range(2)]
            yield {"name": "gap", "kind": kind, "rows": sides[0], "others": sides[1],
                   "share": r.choice(["0", "0.2", "1/3", "0.5"])}  # fmt: skip
        else:
            limit: dict[str, Any] = {"count": r.randint(0, 3), "share": None}
            if r.random() < 0.5:
                limit = {"count": None, "share": r.choice(["0.2", "1/3", "0.5"])}
            some = r.choice([None, sorted(r.sample(range(n), r.randint(2, n)))])
            yield {
                "name": "errors",
                "kind": kind,
                "rows": some,
                "label": r.choice([-1, 0, 1]),
                **limit,
            }


def _cards(r: random.Random, p: int, x: list[list[Fraction]]) -> dict[str, Any]:
    """Draw the entry ``cards``."""
    squares = ["squared", "squared_hinge"]
    loss = r.choice(["zero_one", "zero_one", "logistic", "logistic", "hinge", r.choice(squares)])
    most = 60 if loss == "zero_one" else 18
    while True:
        kinds = [[[-1, 1]], [[0, 1]], [[0, 1]], [[0, 2]], [[-2, -2], [0, 1]], [[0, 0]], [[1, 2]]]
        spans = [r.choice(kinds) for _ in range(p)]
        held = math.prod(sum(b - a + 1 for a, b in own) for own in spans)
        if held <= (most if p <= 6 else judge.MOST_CARDS):  # the judge tries no more than these
            break
    cost = r.choice([Fraction(0), Fraction(1, 10**6), Fraction(1, 100), Fraction(1, 30)])
    shape = r.choice([(0, 1, 1), (0, 1, 2), (0, 1, 3)])
    costs = [str(cost * k) for k in shape]
    intercept: list[Any] = r.choice(
        [["-3", "3", "1"], ["-3", "3", None], ["0", "0", None], ["-2", "2", "1/2"]]
    )
    scale, gap = r.choice([["1", "1"], ["2", "2"], ["1/2", "1/2"]]), "0"
    if loss == "zero_one":
        scale = ["1", "1"]
        if intercept[2] is None and r.random() < 0.5:
            gap = r.choice(["0.5", "1/10"])
    elif loss != "hinge" and r.random() < 0.5:
        scale, intercept = (
            ["0.1", "30"],
            r.choice([["-1000", "1000", None], ["0", "0", None], ["-2", "2", None]]),
        )
    jumps: list[Any] = []
    if loss != "zero_one" and p > 1 and r.random() < 0.4:
        jumps = [[j, j + 1, r.choice(["0.01", "1/7"])] for j in range(p - 1)]
    rules = list(_rules(r, p, x, len(x)))
    made = {"loss": loss, "values": spans, "max_terms": r.randint(1, p), "points": costs,
            "jumps": jumps, "other": [], "intercept": intercept, "scale": scale, "gap": gap,
            "rules": rules}  # fmt: skip
    return made | (
        {"prices": [r.choice(["0", "0.02"]) for _ in range(p)]} if r.random() < 0.2 else {}
    )


def draw(r: random.Random) -> File:
    """Draw a true certificate, with the claims of cards that are not the best beside it."""
    while True:
        table, data = _table(r)
        p = len(data["columns"])
        rows = judge.read_rows(data, table)
        if not any(s and c > 0 for s, c in zip(rows.weight, rows.y, strict=True)):
            continue
        given = _cards(r, p, rows.x)
        cards = judge.read_cards(given, p, len(rows.y))
        free = cards.scale[0] < cards.scale[1] and any(cards.b)
        # what proofs leave out: limits on errors, and ranges of these intercepts
        left = ("used",) if cards.loss == "zero_one" else ("used", "totals")
        freer = replace(cards, rules=[u for u in cards.rules if u["kind"] in left], gap=Fraction(0))
        if free or cards.loss == "zero_one":
            freer = replace(freer, b=(Fraction(-(10**17)), Fraction(10**17)), step=None)
        below = judge.cards_tried(freer, rows)
        found = [(value, card) for value, card in judge.cards_tried(cards, rows)
                 if judge.allowed(cards, rows, card, True)]  # fmt: skip
        if found:
            break
    evidence = {"kind": "leaves", "points": [], "tree": []}
    if cards.loss != "zero_one":
        evidence |= _tree(cards, rows, {card[0]: card for _, card in reversed(below)})
    elif r.random() < 0.6:
        evidence |= _paired_tree(cards, rows, Fraction(below[0][0]), r)

    def content(card: judge.Card, least: float) -> dict[str, Any]:
        (low, high), charge = judge.loss(cards, rows, card), judge.penalty(cards, card[0])
        lost = float((low + high) / 2)
        value = lost + float(charge)
        bound = min(least, value) - MARGIN * max(1e-4, value)
        near = value - max(bound, 0.0) <= 9e-7 * value
        claim = "optimal" if near else "gap" if bound > 0 else "feasible"
        scale = {"scale": str(card[2])} if cards.scale[0] < cards.scale[1] else {}
        return {
            "kind": "milpscore.certificate", "version": 3, "fingerprint": "0" * 64, "data": data,
            "statement": {"formulation": "drawn", "arguments": {}}, "cards": given,
            "card": {"coefficients": list(card[0]), "intercept": str(card[1]), **scale},
            "claim": claim, "objective": value, "loss": lost, "penalty": float(charge),
            "bound": bound if bound > 0 else None, "bound_source": "evidence",
            "engine": {"solver": "drawn"}, "versions": {}, "evidence": evidence,
            "caveat": "narrowed" if cards.gap else "", "digest": "@digest@",
        }  # fmt: skip

    others = {card[0]: card for value, card in reversed(found) if value > found[0][0] + 1e-6}
    raised = [content(other, math.inf) for other in list(others.values())[-6:]]
    return File(table, content(found[0][1], below[0][0]), tuple(raised))


def _paired_tree(
    cards: judge.Cards, rows: judge.Rows, goal: Fraction, r: random.Random
) -> dict[str, Any]:
    """Return a tree of a few splits; its leaves are pairs of rows where these prove the goal."""
    whole = sum(rows.weight, Fraction(0))
    one = math.lcm(*((s / whole).denominator for s in rows.weight))
    if one > 10**12:
        return {}
    points, nodes = [], list[Any]()
    for _ in range(r.choice([1, 1, 2])):
        left = [int(s / whole * one) for s in rows.weight]
        counted = r.sample([i for i, s in enumerate(left) if s], sum(s > 0 for s in left))
        pairs: list[list[int]] = [[], [], []]
        for i, k in itertools.product(counted, counted):
            weight = min(left[i], left[k])
            if rows.y[i] > 0 > rows.y[k] and weight and r.random() < 0.8:
                left[i], left[k] = left[i] - weight, left[k] - weight
                for own, part in zip(pairs, (i, k, weight), strict=True):
                    own.append(part)
        points.append([*pairs, one])

    def worth(point: list[Any], j: int, v: int) -> Fraction:
        put = [
            w for i, k, w in zip(*point[:3], strict=True) if v * (rows.x[i][j] - rows.x[k][j]) > 0
        ]
        return cards.points[abs(v)] + abs(v) * cards.prices[j] - Fraction(sum(put), one)

    def proves(point: list[Any], box: list[list[int]]) -> bool:
        each = [(0 in own, min((worth(point, j, v) for v in own), default=Fraction(1)))
                for j, own in enumerate(box)]  # fmt: skip
        must = [value for may, value in each if not may]
        can = sorted(value for may, value in each if may and value < 0)
        level = Fraction(sum(point[2]), one) + sum(must, Fraction(0))
        return level + sum(can[: max(cards.terms - len(must), 0)], Fraction(0)) >= goal

    def grow(box: list[list[int]], depth: int) -> None:
        j = r.randrange(len(box))
        if not depth or len(box[j]) < 2:
            proved = [k for k, point in enumerate(points) if proves(point, box)]
            nodes.append(r.choice(proved) if proved else -2)
            return
        at = r.choice([*box[j][:-1], None])
        nodes.append([j, at])
        inside = [v == 0 if at is None else v <= at for v in box[j]]
        for side in (True, False):
            own = [v for v, k in zip(box[j], inside, strict=True) if k is side]
            grow([*box[:j], own, *box[j + 1 :]], depth - 1)

    grow([[v for span in own for v in span] for own in cards.values], r.choice([0, 1, 2, 3]))
    return {"points": points, "tree": nodes}


def _tree(
    cards: judge.Cards, rows: judge.Rows, best: dict[judge.Points, judge.Card]
) -> dict[str, Any]:
    """Return leaves that prove every vector of points on its own."""
    points: list[Any] = []
    nodes: list[Any] = []
    p = len(cards.values)

    def line(w: judge.Points, b: Fraction, scale: Fraction, share: Fraction | None) -> int:
        points.append([list(range(p)), list(map(float, w)), float(b), float(1 / scale)])
        if cards.loss == "hinge":
            points[-1].append(_multipliers(cards, rows, (w, b, scale), share))
        return len(points) - 1

    def grow(w: judge.Points) -> None:
        if len(w) < p:
            own = [v for span in cards.values[len(w)] for v in span]
            for v in own[:-1]:
                nodes.append([len(w), v])
                grow((*w, v))
            grow((*w, own[-1]))
        elif w not in best:
            nodes.append(-1)
        elif cards.step:
            _, at, scale = best[w]  # the best b on the step: its neighbours bound what lies beyond
            below = at - cards.step
            nodes.extend(
                [
                    [p, float(below)],
                    line(w, below, scale, Fraction(1)) if below >= cards.b[0] else -1,
                ]
            )
            nodes.extend([[p, float(at)], line(w, at, scale, None)])
            above = at + cards.step
            nodes.append(line(w, above, scale, Fraction(0)) if above <= cards.b[1] else -1)
        else:
            nodes.append(line(w, *best[w][1:], None))

    grow(())
    return {"points": points, "tree": nodes}


def _multipliers(
    cards: judge.Cards, rows: judge.Rows, card: judge.Card, share: Fraction | None
) -> list[Any]:
    """Return a hinge's multipliers: of rows at the kink a share for class 1, the rest for -1."""
    w, b, scale = card
    t = [c * (total + b) / scale for total, c in zip(judge.totals_of(rows, w), rows.y, strict=True)]
    counted = [i for i, s in enumerate(rows.weight) if s]
    if share is None:  # that the line is level in b
        pull = sum((rows.y[i] * rows.weight[i] for i in counted if t[i] < 1), Fraction(0))
        at = [(rows.y[i], rows.weight[i]) for i in counted if t[i] == 1]
        pull -= sum((s for c, s in at if c < 0), Fraction(0))
        size = sum((s for _, s in at), Fraction(0))
        share = min(max(-pull / size, Fraction(0)), Fraction(1)) if size else Fraction(0)
    kink = {1: float(share), -1: float(1 - share)}
    return [counted, [1.0 if t[i] < 1 else kink[rows.y[i]] if t[i] == 1 else 0.0 for i in counted]]


def written_by_package(rng: Random) -> File | None:
    """Return a table and the package's own certificate of a card, None if there is none."""
    forms = "slim", "hinge", "facets_hinge", "fused_lasso", "risk_score", "free_scale", "cells"
    case = random_case(pick(rng, *forms), rng, "verify")
    try:
        program = program_of(case)
        result = solve(program, case.engine, **case.options)
        if result.card is None:
            return None
        content = json.loads(certify(program, result).to_text())
    except MilpscoreError:
        return None
    raw: dict[str, list[float]] = {}
    for (_, feature, kind, lower, _), values in zip(
        case.columns, zip(*case.X, strict=True), strict=True
    ):
        if kind == "numeric":
            raw[feature] = list(values)
        else:  # the last cut that a row reaches
            cuts = [lower if v else 0.0 for v in values]
            raw[feature] = list(map(max, raw.get(feature, cuts), cuts))
    raw |= {"weight": list(case.weight), "label": [max(c, 0) for c in case.y]}
    lines = [list(raw), *(map(repr, line) for line in zip(*raw.values(), strict=True))]
    content["data"] |= {"target": "label", "weights_column": "weight"}
    content["digest"] = "@digest@"
    return File("\n".join(map(",".join, lines)).encode() + b"\n", content)


# --- forgeries ------------------------------------------------------------------------------------

Path_ = tuple[Any, ...]


def places(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Yield where the entries of a value of JSON stand."""
    for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*path, key)
        if isinstance(entry, dict | list):
            yield from places(entry, (*path, key))


def at(value: Any, path: Path_) -> Any:
    """Return an entry."""
    for key in path:
        value = value[key]
    return value


def kind_of(path: Path_) -> str:
    """Return the position of an entry, whichever of a list it is in."""
    return ".".join("*" if isinstance(key, int) else key for key in path)


def forge(content: dict[str, Any], r: random.Random, texts: list[str]) -> str:
    """Change one entry in place and return its position."""
    by_kind: dict[str, list[Path_]] = {}
    for path in places(content):
        by_kind.setdefault(kind_of(path), []).append(path)
    by_kind.pop("digest", None)
    kind = r.choice(list(by_kind))
    if r.random() < 0.5:  # what the claim depends on
        kind = r.choice(
            [k for k in by_kind if k.startswith(("data.c", "cards", "card."))] or [kind]
        )
    *way, last = path = r.choice(by_kind[kind])
    parent, old, how = at(content, tuple(way)), at(content, path), r.randrange(20)
    if how < 9:
        parent[last] = copy.deepcopy(r.choice(NASTY))
    elif how < 11:  # an entry from the same place, or anywhere
        other = r.choice(by_kind[kind] if r.random() < 0.6 else list(places(content)))
        parent[last] = copy.deepcopy(at(content, other))
    elif how == 11:
        parent[last] = r.choice(texts)
    elif how == 12:
        del parent[last]
    elif how == 13 and isinstance(parent, dict):
        parent[f"@twice@{last}" if r.random() < 0.5 else f"{last}x"] = copy.deepcopy(
            r.choice(NASTY)
        )
    elif how == 14 and isinstance(old, list):
        r.shuffle(old)
    elif how == 15 and isinstance(old, list) and old:
        old.append(copy.deepcopy(r.choice(old)))
    elif how in (16, 17) and isinstance(old, list | dict):  # all its numbers as doubles
        parent[last] = as_doubles(old)
    else:
        parent[last] = _nudged(old, r)
    return kind


def as_doubles(value: Any) -> Any:
    """Return a value of JSON with all its numbers as doubles, those written as text too."""
    if isinstance(value, dict):
        return {k: as_doubles(v) for k, v in value.items()}
    if isinstance(value, list):
        return [as_doubles(v) for v in value]
    number = type(value) is int or (isinstance(value, str) and judge.NUMBER.fullmatch(value))
    return float(Fraction(value)) if number and abs(Fraction(value)) < 2**200 else value


def _nudged(old: Any, r: random.Random) -> Any:
    """Return a value near another, or written otherwise."""
    if isinstance(old, bool) or not isinstance(old, int | float | str):
        return [copy.deepcopy(old)]
    if isinstance(old, str) and judge.NUMBER.fullmatch(old) and r.random() < 0.7:
        x = Fraction(old)
        return r.choice([str(v) for v in (x + 1, x - 1, -x, 2 * x, x / 2, x * 10**16)])
    if isinstance(old, str):
        return r.choice(
            [
                old + r.choice(["0", "x", " ", "e0", "\n", "/1", ".0"]),
                old.upper(),
                "-" + old,
                old[:-1],
            ]
        )
    return r.choice(
        [old + 1, old - 1, -old, old * 2, float(old) if abs(old) < 2**200 else old, str(old), [old]]
    )


def written(content: dict[str, Any]) -> str:
    """Return a certificate as text, sealed."""
    text = json.dumps(content)
    for k, raw in enumerate(RAW):
        text = text.replace(f'"@raw{k}@"', raw)
    text = text.replace('"@twice@', '"')
    try:
        sealed = {
            k: v for k, v in json.loads(text).items() if k not in ("kind", "version", "digest")
        }
    except ValueError:  # which no reader takes
        return text
    plain = json.dumps(sealed, sort_keys=True, separators=(",", ":"))
    return text.replace("@digest@", hashlib.sha256(plain.encode()).hexdigest())


def forged_table(table: bytes, r: random.Random) -> bytes:
    """Return a table with a field, a row or a column changed."""
    separator = b";" if b";" in table else b","
    lines = [line.split(separator) for line in table.split(b"\n")[:-1]]
    line, how = r.choice(lines), r.randrange(8)
    if how < 5:
        line[r.randrange(len(line))] = r.choice(FIELDS).encode()
    elif how == 5:
        lines.remove(line)
    elif how == 6:
        lines.append(r.choice(lines))
    else:
        r.shuffle(lines[0])
    return b"\n".join(map(separator.join, lines)) + b"\n"


# --- what the checker answers ---------------------------------------------------------------------


class Enough(BaseException):
    """A proof has taken its share of steps."""


@dataclass
class Desk:
    """A folder where files are checked."""

    folder: Path
    counts: Counts

    def answer(self, text: str, table: bytes) -> tuple[str, list[Any]]:
        """Return what becomes of a file, and its parts; Wrong for a crash or a hang."""
        paths = self.folder / "t.csv", self.folder / "c.json"
        paths[0].write_bytes(table)
        paths[1].write_text(text, encoding="utf-8")
        self.counts.solves += 1
        steps = 0

        def progress(done: int, of: int) -> None:
            nonlocal steps
            steps += 1
            if steps > STEPS:
                raise Enough

        try:
            with stopped(SECONDS):
                parts = check(*paths, progress=progress)
            return "accepted" if proved(parts) else "not accepted", parts
        except Refused as error:
            return "refused", [str(error)]
        except Enough:
            return "given up", []
        except Hangs as error:
            if steps:
                return "given up", []
            raise Wrong("hang", f"{error}\n{script(text, table)}") from error
        except Exception as error:
            said = "".join(traceback.format_exception(error)[-3:])
            raise Wrong(
                f"crash {type(error).__name__}", f"{said}\n{script(text, table)}"
            ) from error


def adapted(content: dict[str, Any], parts: list[Any], r: random.Random) -> bool:
    """Copy what the checker recomputed, or claim less; False if nothing is left to change."""
    said = {name: (status, sentence) for name, status, sentence in parts}
    status, sentence = said.get("objective", ("proved", ""))
    if status != "proved":
        wrong = re.search(r"its (\w+) is (\S+), not", sentence)
        if not wrong:
            return False
        content[wrong[1]] = float(wrong[2])
        if wrong[1] == "loss":
            content["objective"] = float(wrong[2]) + content["penalty"]
        return True
    rows = re.match(r"(\d+) of ", said["data"][1])
    if said["data"][0] != "proved" and rows:
        content["data"]["rows"] = int(rows[1])
        return True
    if said["data"][0] != "proved" or said["card"][0] != "proved" or content["claim"] == "feasible":
        return False
    cells = {"kind": "leaves", "points": [], "tree": [-2]}
    if content["evidence"] != cells and content["cards"]["loss"] != "zero_one" and r.random() < 0.5:
        content |= {"evidence": cells, "bound": content["objective"] * 0.3, "claim": "gap"}
    else:
        content |= {"evidence": {"kind": "none", "reason": ""}, "bound": None, "claim": "feasible"}
    return True


def attack(base: File, r: random.Random, desk: Desk, other: bytes) -> None:
    """Forge a certificate once, adapt it to the checker's answers and hold what is accepted."""
    desk.counts.instances += 1
    begun = r.choice(base.raised) if base.raised and r.random() < 0.4 else base.content
    content, table, how = copy.deepcopy(begun), base.table, r.random()
    if how < 0.08:
        table = forged_table(base.table, r)
    elif how < 0.09:
        table = other
    texts = re.split(r"[;,\n]", base.table.decode())
    for _ in range(0 if how < 0.04 else r.choice([1, 1, 1, 2, 3])):
        forge(content, r, texts)
    adapts = 4 if r.random() < 0.6 else 0
    try:
        status, parts = desk.answer(written(content), table)
        while status == "not accepted" and adapts and adapted(content, parts, r):
            adapts -= 1
            status, parts = desk.answer(written(content), table)
    except (TypeError, KeyError, AttributeError):
        status = "not accepted"  # an entry that would be adapted is of another type
    desk.counts.answers[status] += 1
    if status != "given up" and r.random() < 0.05:
        hold_printed(desk, status)
    if status == "accepted" and judge.falsehood(written(content), table) is not None:
        _report(File(base.table, begun), content, table, desk)


def differences(one: Any, other: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Yield the least places where two values differ, of objects with the same entries."""
    alike = type(one) is type(other) and isinstance(one, dict | list) and len(one) == len(other)
    if alike and (isinstance(one, list) or one.keys() == other.keys()):
        for key in one if isinstance(one, dict) else range(len(one)):
            yield from differences(one[key], other[key], (*path, key))
    elif repr(one) != repr(other):
        yield path


def _report(begun: File, content: dict[str, Any], table: bytes, desk: Desk) -> None:
    """Raise Wrong for a forgery, with every change undone that is not needed."""

    def why(content: dict[str, Any], table: bytes) -> str | None:
        text = written(content)
        return judge.falsehood(text, table) if desk.answer(text, table)[0] == "accepted" else None

    kind = str(why(content, table)).partition(":")[0]
    if (why(content, begun.table) or "").startswith(kind):
        table = begun.table
    for path in list(differences(begun.content, content)):
        *way, last = path or (None,)
        smaller = copy.deepcopy(content)
        if not path:
            continue
        at(smaller, tuple(way))[last] = copy.deepcopy(at(begun.content, path))
        if (why(smaller, table) or "").startswith(kind):
            content = smaller
    left = {kind_of(path) for path in differences(begun.content, content)} - {"loss", "objective"}
    changed = sorted(left) + ["table"] * (table != begun.table)
    text = written(content)
    raise Wrong(
        f"accepted, {kind} ({', '.join(changed)})", f"{why(content, table)}\n{script(text, table)}"
    )


def script(text: str, table: bytes) -> str:
    """Return a script that shows what the checker makes of a file."""
    return (
        "from pathlib import Path\nfrom milpscore_check import check\n"
        f"Path('t.csv').write_bytes({table!r})\nPath('c.json').write_text({text!r})\n"
        "print(*check(Path('t.csv'), Path('c.json')), sep='\\n')"
    )


def hold_printed(desk: Desk, status: str) -> None:
    """Raise Wrong if the command prints another verdict, or what moves a cursor."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command([str(desk.folder / "t.csv"), str(desk.folder / "c.json")])
    lines = (out.getvalue() + err.getvalue()).split("\n")[:-1]
    due = {"accepted": (0, 7), "not accepted": (1, None), "refused": (2, 1)}[status]
    plain = all(line.isprintable() for line in lines)
    if code != due[0] or not plain or due[1] not in (None, len(lines)):
        raise Wrong("printed", f"exit code {code} where {status}: {lines}")


def batch(rng: Random, counts: Counts, draws: int = DRAWS) -> Iterator[Wrong]:
    """Draw a true certificate, which is accepted, and forge it; yield what is wrong."""
    r = random.Random(int(rng.integers(2**62)))
    packaged = written_by_package(rng) if rng.random() < 0.1 else None
    base, other = packaged or draw(r), draw(r).table
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder), counts)
        text, leaves = written(base.content), base.content["evidence"]["kind"] == "leaves"
        if (why := judge.falsehood(text, base.table)) is not None and leaves:
            yield Wrong("a base that is false", f"{why}\n{script(text, base.table)}")
            return
        status, parts = desk.answer(text, base.table)
        counts.answers[f"{'package' if packaged else 'base'} {status}"] += 1
        # beside totals of 1e15 a point's doubles are too coarse for a proof, and so are multipliers
        # that have no upper end, or of which one row has to level all others
        coarse = "9007199" in base.table.decode()
        unlevel = any("a multiplier lies outside the range" in part for part in parts)
        squared = base.content["cards"]["loss"].startswith("squared")
        endless = coarse and (unlevel or squared)
        due = packaged is None and not coarse
        if (status == "refused" and leaves and not endless) or (due and status != "accepted"):
            yield Wrong("a true certificate not accepted", f"{parts}\n{script(text, base.table)}")
        for _ in range(draws):
            try:
                attack(base, r, desk, other)
            except Wrong as wrong:
                yield wrong
