"""The space of cards a certificate speaks of: values, penalties, intercepts, scales, rules."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction
from operator import mul
from typing import Any, NamedTuple

from milpscore_check.values import Refused, double, entries, items, number, string, whole

GRID, _MOST_VALUES = 64, 200_000  # bounds, costs: whole multiples of 2^-GRID, rounded down


def floor(q: Fraction) -> int:
    """How many whole 2^-GRID are not above q."""
    return (q.numerator << GRID) // q.denominator


# points, the intercept in points, and how many points make one unit of the score
Card = tuple[tuple[int, ...], Fraction, Fraction]


class Box(NamedTuple):
    """The cards of some values a column, intercepts (in points) and values of 1 / scale."""

    values: tuple[tuple[int, ...], ...]
    b: tuple[Fraction, Fraction]
    slope: tuple[Fraction, Fraction]


class Cards:
    """Every card of a certificate's entry ``cards``."""

    def __init__(self, given: Any, columns: int) -> None:
        required = "loss values max_terms points jumps other intercept scale gap rules"
        given = entries(given, required, "prices")
        self.loss, other = string(given["loss"]), items(given["other"])
        if other or self.loss not in ("logistic", "hinge", "zero_one"):
            raise Refused(f"not decided here: the loss {self.loss!r} with {other[:3]}")
        spans = [[(whole(a), whole(b)) for a, b in map(items, own)] for own in given["values"]]
        ends = [[end for a, b in own for end in (2 * a, 2 * b + 1)] for own in spans]
        if any(own != sorted({*own}) for own in ends):
            raise Refused("a range of values is empty, or not above the one before it")
        if sum(b - a + 1 for own in spans for a, b in own) > _MOST_VALUES:
            raise Refused(f"there are more than {_MOST_VALUES} values")
        self.values = tuple(tuple(v for a, b in own for v in range(a, b + 1)) for own in spans)
        self.terms = min(whole(given["max_terms"], 0), columns)
        self.cost = [number(cost) for cost in items(given["points"])]
        self.price = [number(cost) for cost in items(given.get("prices", ["0"] * columns))]
        last = columns - 1
        jumps = items(given["jumps"])
        self.jumps = [(whole(a, 0, last), whole(b, 0, last), number(c)) for a, b, c in jumps[:last]]
        if len(jumps) > last:
            raise Refused("there are more jumps than neighbours")
        self.rules = [_rule(rule, last) for rule in items(given["rules"])]
        most = max((abs(v) for own in self.values for v in own), default=0)
        if min([*self.cost, *self.price, *(c for *_, c in self.jumps)]) < 0 or self.cost[0]:
            raise Refused("a penalty is below 0, or no points cost something")
        if not len(self.values) == len(self.price) == columns or most >= len(self.cost):
            raise Refused("values, prices or costs are not those of the columns")
        base, both = [floor(c) for c in self.cost], zip(self.values, self.price, strict=True)
        self.charge = [{v: base[abs(v)] + abs(v) * floor(c) for v in own} for own, c in both]
        lower, upper, step = items(given["intercept"])
        self.b, self.step = (number(lower), number(upper)), None if step is None else number(step)
        least, largest = items(given["scale"])
        self.scale, self.gap = (number(least), number(largest)), number(given["gap"])
        self.free = self.scale[0] < self.scale[1]
        if self.step is not None:
            if self.step <= 0 or self.free:
                raise Refused("an intercept with a step of 0, or with one at free scale")
            self.b = -(-self.b[0] // self.step) * self.step, self.b[1] // self.step * self.step
        if not 0 < self.scale[0] <= self.scale[1] or self.b[0] > self.b[1] or self.gap < 0:
            raise Refused("no scale or no intercept is left, or the gap is below 0")

    def card(self, given: Any) -> Card:
        """The certificate's card."""
        given = entries(given, "coefficients intercept", "scale")
        scale = number(given["scale"]) if "scale" in given else self.scale[0]
        return tuple(map(whole, items(given["coefficients"]))), number(given["intercept"]), scale

    def penalty(self, w: Sequence[int]) -> Fraction:
        """The penalty of points."""
        jumps = sum((cost * abs(w[a] - w[b]) for a, b, cost in self.jumps), Fraction(0))
        return sum(map(mul, map(abs, w), self.price), jumps) + sum(self.cost[abs(v)] for v in w)

    def broken(self, card: Card, data: Any) -> str | None:
        """What a card breaks, in words."""
        w, b, scale = card
        on_step, values = self.step is None or b % self.step == 0, [(v,) for v in w]
        kept = {
            "its points are not all allowed": len(w) == len(self.values)
            and all(v in own for v, own in zip(w, self.values, strict=True)),
            f"it has more than {self.terms} terms": sum(v != 0 for v in w) <= self.terms,
            "its intercept is not allowed": on_step and self.b[0] <= b <= self.b[1],
            "its scale is not allowed": self.scale[0] <= scale <= self.scale[1],
        }
        if not all(kept.values()):
            return next(said for said, holds in kept.items() if not holds)
        for rule in self.rules:
            breaks = _errs(rule, card, data) if rule["kind"] == "errors" else forbids(rule, values)
            if breaks:
                return f"it breaks {rule['name']!r}"
        return None

    def halves(self, box: Box, j: int, at: Any) -> tuple[Box, Box]:
        """Values of a column up to ``at`` (None: 0) and all others; or intercepts, or slopes."""
        p = len(box.values)
        if j < p:
            values = box.values[j]
            if at is None:
                parts = tuple(v for v in values if v == 0), tuple(v for v in values if v)
            else:
                few = bisect_right(values, whole(at))
                parts = values[:few], values[few:]
            both = [(*box.values[:j], part, *box.values[j + 1 :]) for part in parts]
            return box._replace(values=both[0]), box._replace(values=both[1])
        name, step = ("b", self.step) if j == p else ("slope", None)
        low, high = getattr(box, name)
        below = Fraction(double(at)) if type(at) is float else number(at)
        below = below // step * step if step else below
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
            never = all(set(box[j]) == {0} for j in group)
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


_LAYOUTS = {
    "used": "name kind groups factors lower upper",
    "totals": "name kind features lower upper",
    "errors": "name kind rows label count share",
}


def _rule(given: Any, last: int) -> Mapping[str, Any]:
    """A rule of columns up to the last, its numbers read."""
    kind = string(given["kind"])
    if kind not in _LAYOUTS:
        raise Refused(f"{kind!r} is not a kind of rule")
    rule = dict(entries(given, _LAYOUTS[kind]))
    for end in {"lower", "upper", "share"} & {*rule}:
        rule[end] = None if rule[end] is None else number(rule[end])
    if kind == "used":
        rule["groups"] = [[whole(j, 0, last) for j in items(group)] for group in rule["groups"]]
        rule["factors"] = [number(factor) for factor in items(rule["factors"])]
    elif kind == "totals":
        rule["features"] = [
            ([whole(j, 0, last) for j in items(own)], [[*map(number, items(row))] for row in rows])
            for own, rows in map(items, rule["features"])
        ]
    else:
        rows, count = rule["rows"], rule["count"]
        rule["rows"] = None if rows is None else [whole(i, 0) for i in items(rows)]
        rule["label"] = whole(rule["label"], -1, 1)
        rule["count"] = None if count is None else whole(count, 0)
        if (count is None) == (rule["share"] is None) or len({*(rows or ())}) < len(rows or ()):
            raise Refused("a rule limits neither count nor share, or both, or repeats a row")
    return rule


def _errs(rule: Mapping[str, Any], card: Card, data: Any) -> bool:
    """Whether a card errs on more of a rule's rows than it may."""
    (w, b, _), rows = card, range(len(data.y)) if rule["rows"] is None else rule["rows"]
    mine = [i for i in rows if rule["label"] in (0, data.y[i]) and data.weight[i] > 0]
    wrong = [i for i in mine if (sum(map(mul, w, data.raw[i]), b) >= 0) != (data.y[i] > 0)]
    if rule["count"] is not None:
        return len(wrong) > int(rule["count"])
    share = rule["share"] + Fraction(1, 10**9)
    return bool(sum(data.weight[i] for i in wrong) > share * sum(data.weight[i] for i in mine))
