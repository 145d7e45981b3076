"""The space of cards a certificate speaks of: values, penalties, intercepts, scales, rules."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from operator import mul
from typing import Any, NamedTuple

from milpscore_check.values import Refused, by_kind, cost, count, maybe, number, read, text, whole

GRID, _MOST_VALUES = 64, 200_000  # bounds, costs: whole multiples of 2^-GRID, rounded down


def floor(q: Fraction) -> int:
    """How many whole 2^-GRID are not above q."""
    return (q.numerator << GRID) // q.denominator


LOSSES = frozenset(["logistic", "hinge", "zero_one", "squared", "squared_hinge", "survival"])

# points, the intercept in points, and how many points make one unit of the score
Card = tuple[tuple[int, ...], Fraction, Fraction]
# of rows (None: of all) and a class (0: of both), the errors, their weight and that of the rows
Errors = Callable[[frozenset[int] | None, int], tuple[int, Fraction, Fraction]]


def _distinct(rows: list[int]) -> frozenset[int]:
    """Rows as a set; one that is named twice would be counted once."""
    if len(found := frozenset(rows)) < len(rows):
        raise Refused("a rule names a row twice")
    return found


_ENDS = {"name": text, "lower": maybe(number), "upper": maybe(number)}
_RULE = by_kind({
    "used": {**_ENDS, "groups": [[count]], "factors": [number]},
    "totals": {**_ENDS, "features": [([count], [[number]])]},
    "errors": {
        "name": text, "rows": maybe(lambda rows: _distinct(read(rows, [count]))),
        "label": lambda y: whole(y, -1, 1), "count": maybe(count), "share": maybe(cost),
    },
    "gap": {
        "name": text, "rows": lambda rows: _distinct(read(rows, [count])),
        "others": lambda rows: _distinct(read(rows, [count])), "share": cost,
    },
})  # fmt: skip
_ANSWERS = frozenset(["errors", "gap"])  # rules that speak of what rows are answered
_CARD = {"coefficients": [whole], "intercept": number, "scale?": number}
_CARDS = {
    "loss": text, "values": [[(whole, whole)]], "max_terms": count, "points": [cost],
    "prices?": [cost], "jumps": [(count, count, cost)], "other": [text], "gap": cost,
    "intercept": (number, number, maybe(number)), "scale": (number, number), "rules": [_RULE],
    "survival?": {"cuts": [number], "exposure": text},
}  # fmt: skip


class Box(NamedTuple):
    """The cards of some values a column, intercepts (in points) and values of 1 / scale."""

    values: tuple[tuple[int, ...], ...]
    b: tuple[Fraction, Fraction]
    slope: tuple[Fraction, Fraction]


def _values(spans: Any) -> tuple[tuple[int, ...], ...]:
    """The values of each column, from ranges that rise and do not touch."""
    ends = [[end for a, b in own for end in (2 * a, 2 * b + 1)] for own in spans]
    if any(own != sorted({*own}) for own in ends):
        raise Refused("a range of values is empty, or not above the one before it")
    if sum(b - a + 1 for own in spans for a, b in own) > _MOST_VALUES:
        raise Refused(f"there are more than {_MOST_VALUES} values")
    return tuple(tuple(v for a, b in own for v in range(a, b + 1)) for own in spans)


class Cards:
    """Every card of a certificate's entry ``cards``."""

    def __init__(self, given: Any, columns: int) -> None:
        known = read(given, _CARDS)
        self.loss, self.rules, self.gap = known["loss"], known["rules"], known["gap"]
        if any((r["count"] is None) == (r["share"] is None) for r in self.rules if "count" in r):
            raise Refused("a rule limits the errors by their count or their share, one of the two")
        if known["other"] or self.loss not in LOSSES:
            raise Refused(f"not decided here: the loss {self.loss!r} with {known['other'][:8]}")
        self.values = _values(known["values"])
        self.terms, self.jumps = min(known["max_terms"], columns), known["jumps"]
        self.cost, self.price = known["points"], known.get("prices", [Fraction(0)] * columns)
        most = max((max(-own[0], own[-1]) for own in self.values if own), default=0)
        named = {j for a, b, _ in self.jumps for j in (a, b)}
        for rule in self.rules:
            named.update(*rule.get("groups", ()), *(own for own, _ in rule.get("features", ())))
        same = len(self.values) == len(self.price) == columns and len(self.jumps) <= columns
        if not same or most >= len(self.cost) or max(named, default=-1) >= columns or self.cost[0]:
            raise Refused("values, jumps, rules or costs are not those of the columns")
        base, each = [floor(c) for c in self.cost], [floor(c) for c in self.price]
        both = zip(self.values, each, strict=True)
        self.charge = [{v: base[abs(v)] + abs(v) * c for v in own} for own, c in both]
        self._read_intercept(known["intercept"], known["scale"])
        self._read_times(known.get("survival"))

    def _read_times(self, survival: Any) -> None:
        """Read how time is cut, where it is."""
        self.survival = survival
        decides = any(self.b) or any(rule["kind"] in _ANSWERS for rule in self.rules)
        if (self.loss == "survival") != (survival is not None) or (survival and decides):
            raise Refused("times have a loss of their own, no intercept and no errors")

    def _read_intercept(self, intercept: Any, scale: Any) -> None:
        """Read the range of intercepts, cut to whole steps, and that of scales."""
        *b, self.step = intercept
        self.b, self.scale = (b[0], b[1]), scale
        self.free = self.scale[0] < self.scale[1]
        if self.step is not None:
            if self.step <= 0 or self.free:
                raise Refused("an intercept with a step of 0, or with one at free scale")
            self.b = -(-self.b[0] // self.step) * self.step, self.b[1] // self.step * self.step
        if not 0 < self.scale[0] <= self.scale[1] or self.b[0] > self.b[1]:
            raise Refused("no scale or no intercept is left")

    def card(self, given: Any) -> Card:
        """The certificate's card."""
        known = read(given, _CARD)
        if self.free and "scale" not in known:
            raise Refused("the cards leave the scale free, and the card names none")
        scale = known.get("scale", self.scale[0])
        return tuple(known["coefficients"]), known["intercept"], scale

    def penalty(self, w: Sequence[int]) -> Fraction:
        """The penalty of points."""
        jumps = sum((cost * abs(w[a] - w[b]) for a, b, cost in self.jumps), Fraction(0))
        fixed = sum((self.cost[abs(v)] for v in w), jumps)
        return Fraction(sum(map(mul, map(abs, w), self.price), fixed))

    def broken(self, card: Card, data: Any) -> str | None:
        """What a card breaks, in words."""
        w, b, scale = card
        on_step, values = self.step is None or b % self.step == 0, [(v,) for v in w]
        kept = {
            "its points are not all allowed": len(w) == len(self.values)
            and all(v in own for v, own in zip(w, self.charge, strict=True)),
            f"it has more than {self.terms} terms": sum(v != 0 for v in w) <= self.terms,
            "its intercept is not allowed": on_step and self.b[0] <= b <= self.b[1],
            "its scale is not allowed": self.scale[0] <= scale <= self.scale[1],
        }
        if not all(kept.values()):
            return next(said for said, holds in kept.items() if not holds)
        totals = [Fraction(t, data.unit) + b for t in data.totals(w)]
        if any(-self.gap < t < 0 > y for t, y in zip(totals, data.classes, strict=True)):
            return f"a row of class -1 lies less than {float(self.gap):g} below the threshold"
        wrong = [(t >= 0) != (y > 0) for t, y in zip(totals, data.classes, strict=True)]
        errors = _errors(wrong, data)
        for rule in self.rules:
            if _errs(rule, errors) if rule["kind"] in _ANSWERS else forbids(rule, values):
                return f"it breaks {rule['name']!r}"
        return None

    def halves(self, box: Box, j: int, at: float | None) -> tuple[Box, Box]:
        """Values of a column up to ``at`` (None: 0) and all others; or intercepts, or slopes."""
        p = len(box.values)
        if j < p:
            own = box.values[j]
            up_to = bisect_right(own, -1 if at is None else at)
            parts = own[:up_to], own[up_to:]
            if at is None:
                zero = parts[1][:1] == (0,)
                parts = own[up_to : up_to + zero], parts[0] + parts[1][zero:]
            both = [(*box.values[:j], part, *box.values[j + 1 :]) for part in parts]
            return box._replace(values=both[0]), box._replace(values=both[1])
        if at is None:
            raise Refused("only a column is split at null")
        name, step = ("b", self.step) if j == p else ("slope", None)
        low, high = getattr(box, name)
        below = Fraction(at) // step * step if step else Fraction(at)
        first, rest = (low, min(high, below)), (max(low, below + (step or 0)), high)
        return box._replace(**{name: first}), box._replace(**{name: rest})

    def empty(self, box: Box) -> bool:
        """Whether a box surely holds no allowed card."""
        if box.b[0] > box.b[1] or box.slope[0] > box.slope[1] or not all(box.values):
            return True
        used = sum(0 not in values for values in box.values)
        return used > self.terms or any(forbids(rule, box.values) for rule in self.rules)


def forbids(rule: Mapping[str, Any], box: Sequence[Sequence[int]]) -> bool:
    """Whether a rule rules out a whole box: something lies between no two ends (but errors may)."""
    least = most = Fraction(0)
    if rule["kind"] == "used":
        for group, factor in zip(rule["groups"], rule["factors"], strict=True):
            never = all(box[j] == (0,) for j in group)
            surely = any(0 not in box[j] for j in group)
            ends = {0} if never else {factor} if surely else {0, factor}
            least, most = least + min(ends), most + max(ends)
    elif rule["kind"] == "totals":
        # each total has to: the largest is nowhere below ``least``, the least not above ``most``
        for columns, rows in rule["features"]:
            sums = []
            for row in rows:
                own = [[v * x for v in box[j]] for j, x in zip(columns, row, strict=True)]
                sums.append((sum(map(min, own)), sum(map(max, own))))
            least += max(low for low, _ in sums)
            most += min(high for _, high in sums)
    lower, upper = rule.get("lower"), rule.get("upper")
    return bool((lower is not None and most < lower) or (upper is not None and least > upper))


def _errors(wrong: Sequence[bool], data: Any) -> Errors:
    """How often a card errs that is wrong on some of the merged rows."""

    @cache
    def errors(rows: frozenset[int] | None, label: int) -> tuple[int, Fraction, Fraction]:
        among = data.parts if rows is None else [data.named[i] for i in rows if i in data.named]
        mine = [part for part in among if label in (0, data.classes[part[0]])]
        errs = [(count, weight) for k, count, weight in mine if wrong[k]]
        found, weight = sum(n for n, _ in errs), sum((own for _, own in errs), Fraction(0))
        return found, weight, sum((own for *_, own in mine), Fraction(0))

    return errors


def _errs(rule: Mapping[str, Any], errors: Errors) -> bool:
    """Whether a card errs on more of a rule's rows than it may, or answers groups too unlike."""
    if rule["kind"] == "gap":
        apart = _taken(rule["rows"], errors) - _taken(rule["others"], errors)
        return bool(apart > rule["share"] + Fraction(1, 10**9))
    found, weight, among = errors(rule["rows"], rule["label"])
    if rule["count"] is not None:
        return bool(found > rule["count"])
    return bool(weight > (rule["share"] + Fraction(1, 10**9)) * among)


def _taken(rows: frozenset[int], errors: Errors) -> Fraction:
    """The share of some rows that a card answers positive."""
    (_, missed, positive), (_, taken, negative) = errors(rows, 1), errors(rows, -1)
    if not positive + negative:
        raise Refused("a rule compares rows that do not count")
    return (positive - missed + taken) / (positive + negative)
