"""What a certificate's file says, read by its documented format, and whether it is true.

The judge of forged files: ``docs/howto/certificate.md`` is its only source, and it imports nothing
of the package or its checker. Cards are tried one by one. A bound is false where a card in rational
numbers contradicts it, so that a verdict of false is always certain.
"""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from mpmath.ctx_iv import MPIntervalContext
from mpmath.libmp import to_rational

from fuzz.meaning import CURVES, Array, Smooth

INTERVALS = MPIntervalContext()
INTERVALS.dps = 50

NUMBER = re.compile(
    r"[+-]?(\d{1,400}\.?\d{0,400}|\.\d{1,400})(e[+-]?\d{1,3})?(/[1-9]\d{0,400})?", 258
)
MISSING = {
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
}  # fmt: skip
"""Fields that pandas reads as missing."""

MOST_CARDS = 1500
"""Vectors of points that are tried."""

Points: TypeAlias = tuple[int, ...]
Card: TypeAlias = tuple[Points, Fraction, Fraction]
"""Points, intercept, scale."""


class Unlike(Exception):
    """The file is not of the documented format."""


class Untrue(Exception):
    """What the file says is false."""


def want(holds: Any, otherwise: str) -> None:
    """Raise Unlike if an entry is not of the format."""
    if not holds:
        raise Unlike(otherwise)


def true(holds: Any, otherwise: str) -> None:
    """Raise Untrue if a claim does not hold."""
    if not holds:
        raise Untrue(otherwise)


# --- values ---------------------------------------------------------------------------------------


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object whose keys differ."""
    want(len(dict(pairs)) == len(pairs), "a key is repeated")
    return dict(pairs)


def entries(value: Any, required: str, optional: str = "") -> dict[str, Any]:
    """Return an object with the required entries and no unknown ones."""
    want(type(value) is dict, f"not an object: {value!r:.60}")
    missing, more = (
        {*required.split()} - {*value},
        {*value} - {*required.split(), *optional.split()},
    )
    want(not missing and not more, f"entries missing {missing}, unknown {more}")
    return dict(value)


def typed(value: Any, *kinds: type) -> Any:
    """Return a value whose type is exactly one of some."""
    want(type(value) in kinds, f"{value!r:.60} is not of {[kind.__name__ for kind in kinds]}")
    return value


def rational(value: Any) -> Fraction:
    """Return a whole number, or the number that a text writes out."""
    if type(value) is not int:
        want(NUMBER.fullmatch(typed(value, str).strip()), f"{value!r:.60} is not a number")
    return Fraction(value)


def rough(value: Fraction) -> float:
    """Return a number as a double, cut off at 1e300."""
    return float(max(min(value, Fraction(10**300)), Fraction(-(10**300))))


def double(value: Any) -> Fraction:
    """Return a finite number of JSON."""
    want(math.isfinite(typed(value, int, float)) and float(value) == value, "not a double")
    return Fraction(value)


# --- the table ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """Columns' values row by row, classes -1 and 1, weights."""

    x: list[list[Fraction]]
    y: list[int]
    weight: list[Fraction]


def field_number(text: str, decimal: str) -> Fraction | None:
    """Return the number that a field of the table writes out, None if it is none."""
    text = {"true": "1", "false": "0"}.get(text.strip().lower(), text.strip())
    foreign = "/" in text or (decimal == "," and "." in text)
    text = text.replace(decimal, ".")
    return Fraction(text) if NUMBER.fullmatch(text) and not foreign else None


def meanings(texts: Sequence[str], decimal: str) -> tuple[list[Any], Any]:
    """Return what fields mean as labels (None: missing), and the function that reads a label."""
    known = [text for text in texts if text not in MISSING]
    read: Any = str
    label: Any = lambda v: str(int(v)) if type(v) in (int, float) and v == int(v) else str(v)  # noqa: E731
    if all(text.strip().lower() in ("true", "false") for text in known):
        read = label = lambda v: str(v).strip().lower()
    elif all(field_number(text, decimal) is not None for text in known):
        read = lambda text: field_number(text, decimal)  # noqa: E731

        def label(v: Any) -> Any:
            written = repr(v) if type(v) is float else str(v)
            return Fraction(written) if NUMBER.fullmatch(written) else written

    return [None if text in MISSING else read(text) for text in texts], label


def read_rows(data: Mapping[str, Any], table: bytes) -> Rows:
    """Rebuild the rows from the table."""
    decimal, encoding = (
        typed(data.get("decimal", "."), str),
        typed(data.get("encoding", "utf-8"), str),
    )
    want(decimal in (".", ","), "decimal")
    text = table.decode(encoding).removeprefix("\ufeff")
    separator = max(",;\t", key=text.partition("\n")[0].count)
    header, *lines = [
        line for line in csv.reader(io.StringIO(text, ""), delimiter=separator) if line
    ]
    names = [name.strip() for name in header]
    want(len({*names}) == len(names) and all(len(line) <= len(names) for line in lines), "a table")
    true(typed(data["rows"], int) == len(lines), f"{data['rows']} rows, not {len(lines)}")
    padded = [line + [""] * (len(names) - len(line)) for line in lines]
    fields = {name: [line[k] for line in padded] for k, name in enumerate(names)}
    specs = [
        entries(spec, "feature kind lower upper category others")
        for spec in typed(data["columns"], list)
    ]
    foreseen = {spec["feature"] for spec in specs if spec["kind"] == "missing"}
    columns = []
    for spec in specs:
        texts = fields[typed(spec["feature"], str)]
        want(spec["feature"] in foreseen or not MISSING & {*texts}, "missing values unforeseen")
        columns.append(_column(spec, texts, decimal))
    y = _answers(data, fields, decimal)
    return Rows(
        [list(row) for row in zip(*columns, strict=True)], y, _weights(data, fields, decimal, y)
    )


def _column(spec: Mapping[str, Any], texts: Sequence[str], decimal: str) -> list[Fraction]:
    """Return a column from its cut."""
    kind, category = typed(spec["kind"], str), spec["category"]
    low, high = (None if spec[end] == far else rational(typed(spec[end], str))
                 for end, far in (("lower", "-inf"), ("upper", "inf")))  # fmt: skip
    want(
        all(abs(end or Fraction(0)) <= Fraction(sys.float_info.max) for end in (low, high)),
        "an end beyond doubles",
    )
    want(kind in ("numeric", "step", "interval", "category", "missing"), f"kind {kind!r}")
    want(type(category) is (str if kind == "category" else type(None)), f"category {category!r}")
    want(high is None or kind == "interval", f"upper end of kind {kind}")
    want(low is None or kind in ("step", "interval"), f"lower end of kind {kind}")
    want(low is None or high is None or low < high, "an empty interval")
    if kind == "missing":
        return [Fraction(text in MISSING) for text in texts]
    if kind == "category":
        values, label = meanings(texts, decimal)
        return [Fraction(v is not None and v == label(category)) for v in values]
    found = []
    for text in texts:
        x = field_number(text, decimal)
        want(x is not None or text in MISSING, f"{text!r} is not a number")
        inside = x is not None and (low is None or x >= low) and (high is None or x < high)
        found.append(x or Fraction(0) if kind == "numeric" else Fraction(inside))
    return found


def alike(one: str, other: Any) -> bool:
    """Return whether texts differ in blanks or capitals alone."""
    return isinstance(other, str) and one.casefold().split() == other.casefold().split()


def _answers(data: Mapping[str, Any], fields: Mapping[str, list[str]], decimal: str) -> list[int]:
    """Return the rows' classes."""
    negative, positive = (typed(v, str, int, float, bool) for v in typed(data["classes"], list))
    values, label = meanings(fields[typed(data["target"], str)], decimal)
    want(None not in values, "a label is missing")
    _, name = meanings(["a text"], decimal)
    if not data.get("as_spelled"):
        known = [v for v in (label(positive), label(negative)) if isinstance(v, str) and v]
        values = [v if v in known else next((own for own in known if alike(own, v)), v)
                  for v in values]  # fmt: skip
    y = [1 if v == label(positive) else -1 for v in values]
    others = negative == f"not {name(positive)}" or {
        v for v, c in zip(values, y, strict=True) if c < 0
    } <= {label(negative)}
    want(others, f"labels other than {[negative, positive]}")
    return y


def _weights(
    data: Mapping[str, Any], fields: Mapping[str, list[str]], decimal: str, y: Sequence[int]
) -> list[Fraction]:
    """Return the rows' weights."""
    column, by_class = typed(data.get("weights_column"), str, type(None)), data.get("class_weight")
    texts = ["1"] * len(y) if column is None else fields[column]
    weight = []
    for text in texts:
        s = field_number(text, decimal)
        want(s is not None and s >= 0 and text not in MISSING, f"{text!r} is not a weight")
        weight.append(s or Fraction(0))
    sums = {
        c: sum((s for s, k in zip(weight, y, strict=True) if k == c), Fraction(0)) for c in (-1, 1)
    }
    factor = {-1: Fraction(1), 1: Fraction(1)}
    if by_class == "balanced":
        factor = {c: sum(sums.values()) / (2 * sums[c]) for c in sums}
    elif by_class is not None:
        _, name = meanings(["a text"], decimal)
        place = {name(label): c for c, label in zip((-1, 1), data["classes"], strict=True)}
        given = typed(by_class, dict).items()
        want({*by_class} <= {*place}, "a class weight of another class")
        factor |= {place[k]: Fraction(repr(typed(v, int, float))) for k, v in given}
    want(min(factor.values()) > 0, "a class weight of 0")
    return [s * factor[c] for s, c in zip(weight, y, strict=True)]


# --- the cards ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cards:
    """The cards a claim speaks of."""

    loss: str
    values: list[list[range]]
    terms: int
    points: list[Fraction]
    prices: list[Fraction]
    jumps: list[tuple[int, int, Fraction]]
    b: tuple[Fraction, Fraction]
    step: Fraction | None
    scale: tuple[Fraction, Fraction]
    gap: Fraction
    rules: list[dict[str, Any]]


def read_cards(given: Any, p: int, n: int) -> Cards:
    """Read the entry ``cards`` for p columns and n rows."""
    given = entries(
        given, "loss values max_terms points jumps other intercept scale gap rules", "prices"
    )
    known = "logistic", "hinge", "zero_one", "squared", "squared_hinge"
    want(given["loss"] in known and given["other"] == [], "not decided")
    place = range(p)
    values = [
        [range(typed(a, int), typed(b, int) + 1) for a, b in typed(own, list)]
        for own in typed(given["values"], list)
    ]
    want(
        len(values) == p and all(map(all, values)), "values are not those of the columns, or empty"
    )
    want(
        all(a[-1] < b[0] for own in values for a, b in itertools.pairwise(own)), "unordered values"
    )
    points = [rational(cost) for cost in typed(given["points"], list)]
    most = max((max(abs(r[0]), abs(r[-1])) for own in values for r in own), default=0)
    want(points and points[0] == 0 and most < len(points), "points without a cost")
    prices = [rational(cost) for cost in typed(given.get("prices", [0] * p), list)]
    want(len(prices) == p, "prices are not those of the columns")
    jumps = [
        (place[typed(a, int)], place[typed(b, int)], rational(c)) for a, b, c in given["jumps"]
    ]
    want(all(min(a, b) >= 0 for a, b, _ in given["jumps"]), "a jump at no column")
    low, high, step = typed(given["intercept"], list)
    least, largest = map(rational, typed(given["scale"], list))
    step, gap = None if step is None else rational(step), rational(given["gap"])
    want(0 < least <= largest and gap >= 0 and (step is None or step > 0), "a scale, gap or step")
    rules = [_rule(rule, p, n) for rule in typed(given["rules"], list)]
    terms = typed(given["max_terms"], int)
    ends = rational(low), rational(high)
    return Cards(given["loss"], values, terms, points, prices, jumps, ends, step, (least, largest),
                 gap, rules)  # fmt: skip


def _rule(given: Any, p: int, n: int) -> dict[str, Any]:
    """Read one rule."""
    layout = {"used": "groups factors lower upper", "totals": "features lower upper",
              "errors": "rows label count share", "gap": "rows others share"}  # fmt: skip
    rule = entries(given, "name kind " + layout[given["kind"]])
    typed(rule["name"], str)

    def places(own: Any, size: int) -> list[int]:
        want(all(0 <= typed(j, int) < size for j in typed(own, list)), "a place that is not there")
        return list(own)

    for end in {"lower", "upper", "share"} & {*rule}:
        rule[end] = None if rule[end] is None else rational(rule[end])
    if rule["kind"] == "used":
        groups, factors = typed(rule["groups"], list), typed(rule["factors"], list)
        want(len(groups) == len(factors), "factors are not those of the groups")
        rule["groups"] = [(places(g, p), rational(f)) for g, f in zip(groups, factors, strict=True)]
    elif rule["kind"] == "totals":
        rule["features"] = [
            (places(own, p), [[rational(v) for v in typed(row, list)] for row in typed(rows, list)])
            for own, rows in typed(rule["features"], list)
        ]
        want(
            all(
                rows and all(len(row) == len(own) for row in rows) for own, rows in rule["features"]
            ),
            "values of a rule",
        )
    elif rule["kind"] == "gap":
        for side in ("rows", "others"):
            rule[side] = places(rule[side], n)
            want(len({*rule[side]}) == len(rule[side]), "a row counted twice")
    else:
        rule["rows"] = None if rule["rows"] is None else places(rule["rows"], n)
        want(len({*(rule["rows"] or ())}) == len(rule["rows"] or ()), "a row counted twice")
        want(typed(rule["label"], int) in (-1, 0, 1), "label of a rule")
        want((rule["count"] is None) != (rule["share"] is None), "count or share")
        want(rule["count"] is None or typed(rule["count"], int) >= 0, "count of a rule")
    return rule


def keeps_points(cards: Cards, w: Points) -> bool:
    """Return whether points meet all rules that speak of points."""
    if sum(v != 0 for v in w) > cards.terms:
        return False
    for rule in cards.rules:
        least = most = Fraction(0)
        if rule["kind"] == "used":
            least = most = sum((f for g, f in rule["groups"] if any(w[j] for j in g)), least)
        elif rule["kind"] == "totals":
            for columns, rows in rule["features"]:
                sums = [sum(w[j] * v for j, v in zip(columns, row, strict=True)) for row in rows]
                least, most = least + min(sums), most + max(sums)
        low, high = rule.get("lower"), rule.get("upper")
        if (low is not None and least < low) or (high is not None and most > high):
            return False
    return True


def keeps_errors(cards: Cards, rows: Rows, positive: Sequence[bool], strict: bool) -> bool:
    """Return whether answers meet all limits on errors; strictly, if no reading doubts it."""
    for rule in cards.rules:
        if rule["kind"] == "gap":
            sides = [[(rows.weight[i], positive[i]) for i in rule[k]] for k in ("rows", "others")]
            if not all(any(s for s, _ in own) for own in sides):
                return False  # nothing to compare
            shares = [sum(s for s, yes in own if yes) / sum(s for s, _ in own) for own in sides]
            if shares[0] - shares[1] > rule["share"] + (0 if strict else Fraction(1, 10**9)):
                return False
        if rule["kind"] != "errors":
            continue
        among = range(len(rows.y)) if rule["rows"] is None else rule["rows"]
        mine = [i for i in among if rule["label"] in (0, rows.y[i]) and (strict or rows.weight[i])]
        wrong = [i for i in mine if positive[i] != (rows.y[i] > 0)]
        if rule["count"] is not None:
            if len(wrong) > rule["count"]:
                return False
            continue
        share = rule["share"] + (0 if strict else Fraction(1, 10**9))
        if sum(rows.weight[i] for i in wrong) > share * sum(rows.weight[i] for i in mine):
            return False
    return True


def totals_of(rows: Rows, w: Points) -> list[Fraction]:
    """Return the rows' totals."""
    return [sum((x * v for x, v in zip(row, w, strict=True)), Fraction(0)) for row in rows.x]


def allowed(cards: Cards, rows: Rows, card: Card, strict: bool) -> bool:
    """Return whether a card is one of the cards."""
    w, b, scale = card
    inside = len(w) == len(cards.values) and all(
        any(v in span for span in own) for v, own in zip(w, cards.values, strict=True)
    )
    on_step = cards.step is None or b % cards.step == 0
    if not (inside and on_step and cards.b[0] <= b <= cards.b[1] and keeps_points(cards, w)):
        return False
    scores = [t + b for t in totals_of(rows, w)]
    each = zip(scores, rows.y, rows.weight, strict=True)
    apart = all(s >= 0 or s <= -cards.gap or y > 0 or not weight for s, y, weight in each)
    answers = [s >= 0 for s in scores]
    return (
        apart
        and cards.scale[0] <= scale <= cards.scale[1]
        and keeps_errors(cards, rows, answers, strict)
    )


def penalty(cards: Cards, w: Points) -> Fraction:
    """Return what points cost."""
    own = sum(
        (cards.points[abs(v)] + cost * abs(v) for v, cost in zip(w, cards.prices, strict=True)),
        Fraction(0),
    )
    return own + sum((c * abs(w[i] - w[k]) for i, k, c in cards.jumps), Fraction(0))


def loss(cards: Cards, rows: Rows, card: Card) -> tuple[Fraction, Fraction]:
    """Return the mean loss of a card, from below and from above."""
    (w, b, scale), low, high = card, Fraction(0), Fraction(0)
    for total, y, s in zip(totals_of(rows, w), rows.y, rows.weight, strict=True):
        t = y * (total + b) / scale
        if cards.loss == "logistic":
            size = min(abs(t), Fraction(1000))
            value = INTERVALS.log(
                1 + INTERVALS.exp(-INTERVALS.mpf(size.numerator) / size.denominator)
            )
            ends = [
                Fraction(*map(int, to_rational(end))) + max(-t, Fraction(0)) for end in value._mpi_
            ]
            least: Fraction = ends[0] if abs(t) <= 1000 else max(-t, Fraction(0))
            low, high = low + s * least, high + s * ends[1]
        else:
            own = 1 - t if cards.loss == "squared" else max(1 - t, Fraction(0))
            if cards.loss.startswith("squared"):
                own = own * own / 2
            elif cards.loss == "zero_one":
                own = Fraction((t * y >= 0) != (y > 0))
            low, high = low + s * own, high + s * own
    return low / sum(rows.weight), high / sum(rows.weight)


# --- every card -----------------------------------------------------------------------------------


def ranges_of_intercepts(
    cards: Cards, rows: Rows, totals: Sequence[Fraction]
) -> Iterator[tuple[Fraction, Fraction]]:
    """Yield the intercepts of points, each range with the same answers if these matter."""

    def inwards(low: Fraction, high: Fraction, open_end: bool) -> tuple[Fraction, Fraction]:
        low, high = max(low, cards.b[0]), min(high, cards.b[1] + open_end)
        if cards.step:
            low, last = -(-low // cards.step) * cards.step, high // cards.step * cards.step
            return low, last - cards.step if open_end and last == high else last
        return low, high - (high - low) / 2**40 if open_end else high

    answers = (
        cards.loss == "zero_one" or cards.gap or any(r["kind"] == "errors" for r in cards.rules)
    )
    if not answers:
        yield inwards(*cards.b, False)
        return
    ranked = sorted({*totals})
    for k in range(len(ranked) + 1):  # positive from the k-th total on
        low = -ranked[k] if k < len(ranked) else cards.b[0]
        open_end = k > 0 and not cards.gap and -ranked[k - 1] <= cards.b[1]
        high = -ranked[k - 1] - cards.gap if k else cards.b[1]
        low, high = inwards(low, high, open_end)
        if low <= high and keeps_errors(cards, rows, [t + low >= 0 for t in totals], True):
            yield low, high


def vectors(cards: Cards) -> Iterator[Points]:
    """Yield points that meet the rules, of wide ranges the ends and what is near 0."""
    few = [
        sorted(
            {
                v
                for span in own
                for v in (
                    span
                    if len(span) < 12
                    else (span[0], span[-1], *[u for u in range(-3, 4) if u in span])
                )
            }
        )
        for own in cards.values
    ]
    tried = itertools.islice(itertools.product(*few), MOST_CARDS)
    return (w for w in tried if keeps_points(cards, w))


def cards_tried(cards: Cards, rows: Rows) -> list[tuple[float, Card]]:
    """Return about the best card of all points and ranges of intercepts, best first."""
    owners: list[tuple[Points, list[Fraction], Fraction, Fraction]] = [
        (w, totals, low, high)
        for w in vectors(cards)
        for totals in [totals_of(rows, w)]
        for low, high in ranges_of_intercepts(cards, rows, totals)
        if low <= high
    ]
    if not owners:
        return []
    find = {"hinge": _kinks, "zero_one": _ends}.get(cards.loss, _smooth)
    with np.errstate(all="ignore"):
        found = [
            (value + rough(penalty(cards, w)), (w, b, scale))
            for (w, *_), own in zip(owners, find(cards, rows, owners), strict=True)
            for value, b, scale in own
        ]
    return sorted(found, key=lambda each: each[0])


Owners: TypeAlias = Sequence[tuple[Points, list[Fraction], Fraction, Fraction]]
Found: TypeAlias = Iterator[list[tuple[float, Fraction, Fraction]]]


def _ends(cards: Cards, rows: Rows, owners: Owners) -> Found:
    """Yield the errors over each range."""
    for w, _, low, _ in owners:
        card = (w, low, cards.scale[0])
        yield [(rough(loss(cards, rows, card)[0]), low, cards.scale[0])]


def _rounded(cards: Cards, b: Fraction, low: Fraction, high: Fraction) -> list[Fraction]:
    """Return an intercept's neighbours on the step, within a range."""
    near = [b // cards.step * cards.step, -(-b // cards.step) * cards.step] if cards.step else [b]
    return [min(max(v, low), high) for v in near]


def _kinks(cards: Cards, rows: Rows, owners: Owners) -> Found:
    """Yield the least hinge losses: at kinks, and at ends of ranges."""
    share = np.array([rough(s / sum(rows.weight)) for s in rows.weight])
    y = np.array(rows.y)
    for _, totals, low, high in owners:
        scales = {*cards.scale}
        if cards.scale[0] < cards.scale[1]:
            pairs = zip(totals, rows.y, strict=True)
            scales |= {c * (t + end) for t, c in pairs for end in (low, high)}
            scales |= {abs(s - t) / 2 for s, t in itertools.combinations(totals, 2)}
        scales = {s for s in scales if cards.scale[0] <= s <= cards.scale[1]}
        tries = [
            (b, s)
            for s in scales
            for at in (low, high, *(c * s - t for t, c in zip(totals, rows.y, strict=True)))
            for b in _rounded(cards, at, low, high)
        ]
        z = np.array([[rough((t + b) / s) for t in totals] for b, s in dict.fromkeys(tries)])
        values = np.maximum(1 - y * z, 0) @ share
        yield [(rough(values.min()), *list(dict.fromkeys(tries))[int(values.argmin())])]


def _smooth(cards: Cards, rows: Rows, owners: Owners) -> Found:
    """Yield the least losses over intercepts and scales."""
    share = np.array([rough(s / sum(rows.weight)) for s in rows.weight])
    # totals are counted from the first row's: doubles hold their differences
    origin = [own[0] for _, own, *_ in owners]
    totals: Array = np.array([[rough(t - own[0]) for t in own] for _, own, *_ in owners])
    low = np.array([rough(each[2] + t) for each, t in zip(owners, origin, strict=True)])
    high = np.array([rough(each[3] + t) for each, t in zip(owners, origin, strict=True)])
    curve = CURVES[cards.loss]
    model = Smooth(curve, totals, np.array(rows.y, dtype=float), share, low, high)
    # a scale may lie beyond doubles
    slopes = [min(max(rough(1 / end), 1e-300), 1e300) for end in cards.scale]
    a, c = model.lines(slopes[1], slopes[0])
    for k, (_, _, first, last) in enumerate(owners):
        if not (math.isfinite(a[k]) and a[k] > 0 and math.isfinite(c[k])):
            yield []
            continue
        scale = min(max(1 / Fraction(float(a[k])), cards.scale[0]), cards.scale[1])
        tries = _rounded(cards, Fraction(float(c[k])) * scale - origin[k], first, last)
        z = [np.array([rough((t + b) / scale) for t in owners[k][1]]) for b in tries]
        values = [rough(curve[0](each, model.y) @ share) for each in z]
        yield list(zip(values, tries, [scale] * len(tries), strict=True))


# --- the verdict ----------------------------------------------------------------------------------


@lru_cache(64)
def read(table: bytes, data: str, cards: str) -> tuple[Rows, Cards]:
    """Return rows and cards from the texts of their entries."""
    rows = read_rows(json.loads(data), table)
    p = len(json.loads(data)["columns"])
    return rows, read_cards(json.loads(cards), p, len(rows.y))


@lru_cache(64)
def tried(table: bytes, data: str, cards: str) -> list[tuple[float, Card]]:
    """Return the cards that could contradict a bound, best first."""
    rows, own = read(table, data, cards)
    return cards_tried(own, rows)


def falsehood(text: str, table: bytes) -> str | None:
    """Return why a file must not be accepted beside a table, None if all it claims is true."""
    try:
        content = json.loads(
            text, object_pairs_hook=unique, parse_constant=lambda name: want(False, name)
        )
        _hold(content, table)
    except Untrue as error:
        return f"false: {error}"
    except Unlike as error:
        return f"malformed: {error}"
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        return f"malformed: {error!r:.100}"
    return None


def _hold(content: Any, table: bytes) -> None:
    """Raise Unlike or Untrue for the first entry that is not of the format, or false."""
    content = entries(
        content,
        "kind version fingerprint data statement cards card claim objective loss penalty bound "
        "bound_source engine versions evidence caveat digest",
    )
    want(content["kind"] == "milpscore.certificate" and typed(content["version"], int) == 3, "kind")
    sealed = {k: v for k, v in content.items() if k not in ("kind", "version", "digest")}
    plain = json.dumps(sealed, sort_keys=True, separators=(",", ":"))
    true(hashlib.sha256(plain.encode()).hexdigest() == content["digest"], "another digest")
    notes = "blocks missing drop features encoding levels cost"
    how = f"target weights_column class_weight decimal {notes}"
    entries(content["data"], "rows columns classes", how)
    texts = table, json.dumps(content["data"]), json.dumps(content["cards"])
    rows, cards = read(*texts)
    given = entries(content["card"], "coefficients intercept", "scale")
    w = tuple(typed(v, int) for v in typed(given["coefficients"], list))
    want("scale" in given or cards.scale[0] == cards.scale[1], "a card without its scale")
    card = w, rational(given["intercept"]), rational(given.get("scale", str(cards.scale[0])))
    true(allowed(cards, rows, card, False), "the card is none of the cards")
    (low, high), charge = loss(cards, rows, card), penalty(cards, w)
    for name, ends in {
        "loss": (low, high),
        "penalty": (charge, charge),
        "objective": (low + charge, high + charge),
    }.items():
        room = max(Fraction(1), abs(ends[1])) / 10**12
        true(
            ends[0] - room <= double(content[name]) <= ends[1] + room,
            f"{name} is {rough(high):.12g}" if name == "loss" else f"{name} is another",
        )
    bound = max(Fraction(0) if content["bound"] is None else double(content["bound"]), Fraction(0))
    true(bound <= high + charge, "a bound above the card's own objective")
    for value, other in tried(*texts)[:20]:
        if value < rough(bound) * (1 + 1e-9) + 1e-9 and allowed(cards, rows, other, True):
            most = loss(cards, rows, other)[1] + penalty(cards, other[0])
            true(
                most >= bound,
                f"{other} has the objective {rough(most):.12g}, below {rough(bound):.12g}",
            )
    leaves = content["evidence"]["kind"] == "leaves"
    entries(content["evidence"], "kind points tree" if leaves else "kind reason")
    want(leaves or content["evidence"]["kind"] == "none", "a kind of evidence")
    true(leaves or bound == 0, "a bound without evidence")
    true(
        leaves or bound == 0 or typed(content["bound_source"], str) != "evidence",
        "evidence that is none",
    )
    want(bool(typed(content["caveat"], str)) == bool(cards.gap), "a caveat that is not the cards'")
    near = high + charge - bound <= (high + charge) / 10**6
    strong = {"optimal": near, "gap": near or bound > 0, "feasible": True}
    true(strong.get(typed(content["claim"], str), False), f"the claim {content['claim']!r}")
