"""The space of cards a certificate speaks of: values, penalties, intercepts, scales, rules."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from operator import mul
from typing import Any, NamedTuple

from milpscore_check.table import Refused, number

GRID, _MOST_VALUES = 64, 2_000_000  # bounds, costs: whole multiples of 2^-GRID, rounded down


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

    def __init__(self, given: Mapping[str, Any], columns: int) -> None:
        self.loss, self.rules = given["loss"], given["rules"]
        if given["other"] or self.loss not in ("logistic", "hinge", "zero_one"):
            raise Refused(f"not decided here: the loss {self.loss!r} with {given['other']}")
        spans = [[(whole(a), whole(b)) for a, b in own] for own in given["values"]]
        ends = [[end for a, b in own for end in (2 * a, 2 * b + 1)] for own in spans]
        if any(own != sorted({*own}) for own in ends):
            raise Refused("a range of values is empty, or not above the one before it")
        if sum(b - a + 1 for own in spans for a, b in own) > _MOST_VALUES:
            raise Refused("there are too many values")
        self.values = tuple(tuple(v for a, b in own for v in range(a, b + 1)) for own in spans)
        self.terms = min(whole(given["max_terms"]), columns)
        self.cost = [number(cost) for cost in given["points"]]
        self.price = [number(cost) for cost in given.get("prices", ["0"] * columns)]
        self.jumps = [(whole(a), whole(b), number(cost)) for a, b, cost in given["jumps"]]
        most = max((abs(v) for own in self.values for v in own), default=0)
        named = {j for a, b, _ in self.jumps for j in (a, b)}
        for rule in self.rules:
            named.update(*rule.get("groups", ()), *(own for own, _ in rule.get("features", ())))
        if min([*self.cost, *self.price, *(c for *_, c in self.jumps)]) < 0 or self.cost[0]:
            raise Refused("a penalty is below 0, or no points cost something")
        same = len(self.values) == len(self.price) == columns
        if not same or most >= len(self.cost) or not named <= {*range(columns)}:
            raise Refused("values, jumps, rules or costs are not those of the columns")
        both = zip(self.values, self.price, strict=True)
        self.charge = [{v: floor(self.cost[abs(v)] + abs(v) * c) for v in own} for own, c in both]
        lower, upper, step = given["intercept"]
        self.b, self.step = (number(lower), number(upper)), None if step is None else number(step)
        self.scale = number(given["scale"][0]), number(given["scale"][1])
        self.free = self.scale[0] < self.scale[1]
        if self.step is not None:
            if self.step <= 0 or self.free:
                raise Refused("an intercept with a step of 0, or with one at free scale")
            self.b = -(-self.b[0] // self.step) * self.step, self.b[1] // self.step * self.step
        if not 0 < self.scale[0] <= self.scale[1] or self.b[0] > self.b[1]:
            raise Refused("no scale or no intercept is left")

    def card(self, given: Mapping[str, Any]) -> Card:
        """The certificate's card."""
        scale = number(given["scale"]) if "scale" in given else self.scale[0]
        return tuple(map(whole, given["coefficients"])), number(given["intercept"]), scale

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
            few = tuple(v for v in box.values[j] if (v == 0 if at is None else v <= at))
            parts = few, tuple(v for v in box.values[j] if v not in few)
            both = [(*box.values[:j], part, *box.values[j + 1 :]) for part in parts]
            return box._replace(values=both[0]), box._replace(values=both[1])
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
            never = all(set(box[j]) == {0} for j in group)
            surely = any(0 not in box[j] for j in group)
            ends = {0} if never else {factor} if surely else {0, factor}
            least, most = least + min(ends), most + max(ends)
    elif rule["kind"] == "totals":
        # each total has to: the largest is nowhere below ``least``, the least not above ``most``
        for columns, rows in rule["features"]:
            sums = []
            for row in rows:
                own = [[v * number(x) for v in box[j]] for j, x in zip(columns, row, strict=True)]
                sums.append((sum(map(min, own)), sum(map(max, own))))
            least += max(low for low, _ in sums)
            most += min(high for _, high in sums)
    elif rule["kind"] != "errors":
        raise Refused(f"{rule['kind']!r} is no kind of rule")
    lower, upper = rule.get("lower"), rule.get("upper")
    below = lower is not None and most < number(lower)
    return below or (upper is not None and least > number(upper))


def _errs(rule: Mapping[str, Any], card: Card, data: Any) -> bool:
    """Whether a card errs on more of a rule's rows than it may."""
    (w, b, _), rows = card, range(len(data.y)) if rule["rows"] is None else rule["rows"]
    mine = [i for i in rows if rule["label"] in (0, data.y[i]) and data.weight[i] > 0]
    wrong = [i for i in mine if (sum(map(mul, w, data.raw[i]), b) >= 0) != (data.y[i] > 0)]
    if rule["count"] is not None:
        return len(wrong) > whole(rule["count"])
    share = number(rule["share"]) + Fraction(1, 10**9)
    return bool(sum(data.weight[i] for i in wrong) > share * sum(data.weight[i] for i in mine))


def whole(value: Any) -> int:
    """A whole number, as JSON holds it."""
    if type(value) is not int or abs(value) > 10**12:
        raise Refused(f"{str(value)[:40]!r} is no whole number, or a very large one")
    return value
