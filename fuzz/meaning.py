"""What a case means: its best card by enumeration, and any card's figures, from the definitions.

Nothing of the package is imported. Data are read as the decimals they print as; totals, errors and
hinge losses are whole numbers over a common denominator. A smooth loss is minimised over intercept
and slope by bisecting the sign of its derivative, which is monotone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]
Rule: TypeAlias = tuple[str, dict[str, Any]]
ColumnOf: TypeAlias = tuple[str, str, str, float, float]
"""Name, feature, kind ("numeric", "step", "interval"), lower and upper end."""

DEFAULTS: dict[str, dict[str, Any]] = {
    "slim": {"l0_penalty": 1e-3, "intercept": "grid"},
    "hinge": {"intercept": "integer"},
    "convex_rounding": {"weights": "ternary", "intercept": "integer"},
    "sparse_rounding": {"weights": "ternary", "intercept": "integer"},
    "facets_hinge": {"intercept": "real"},
    "fused_lasso": {"intercept": "integer"},
    "risk_score": {"l0_penalty": 1e-6},
    "ordinal": {"l0_penalty": 1e-3},
    "auc": {"l0_penalty": 1e-3, "intercept": "zero"},
}
"""What the builders take where nothing is said, as far as the meaning depends on it."""


@dataclass(frozen=True)
class Case:
    """An instance as plain data: a program, how it is solved, and nothing that was computed.

    ``task`` is what is asked of it: solve, relax, pool, front or verify. ``y`` holds -1 and 1,
    of an ordinal card the levels from 0 on.
    """

    form: str
    X: tuple[tuple[float, ...], ...]
    y: tuple[int, ...]
    weight: tuple[float, ...]
    columns: tuple[ColumnOf, ...]
    arguments: Mapping[str, Any]
    rules: tuple[Rule, ...] = ()
    engine: str = "auto"
    task: str = "solve"
    options: Mapping[str, Any] = field(default_factory=dict)

    def get(self, name: str, default: Any = None) -> Any:
        """An argument, or the builder's default."""
        return self.arguments.get(name, DEFAULTS[self.form].get(name, default))

    @property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """The bins of each binned feature."""
        bins = [j for j, column in enumerate(self.columns) if column[2] == "interval"]
        grouped = itertools.groupby(bins, key=lambda j: self.columns[j][1])
        return tuple(tuple(block) for _, block in grouped)

    @property
    def groups(self) -> dict[str, list[int]]:
        """The columns of every name, features included."""
        found = {column[0]: [j] for j, column in enumerate(self.columns)}
        for name in dict.fromkeys(column[1] for column in self.columns):
            found.setdefault(name, self.feature(name))
        return found

    def feature(self, name: str) -> list[int]:
        """The columns of a feature."""
        return [j for j, column in enumerate(self.columns) if column[1] == name]

    @property
    def loss(self) -> str:
        """zero_one, hinge, or the name of a smooth loss."""
        if self.form in ("slim", "ordinal", "auc"):
            return str(self.get("loss", "zero_one"))
        return str(self.get("loss", "logistic")) if self.form == "risk_score" else "hinge"

    @property
    def free_scale(self) -> bool:
        """Whether each card chooses its scale: "auto", or a range of them."""
        return self.form == "risk_score" and not isinstance(self.get("scale", 1.0), float)

    def slack(self, end: float) -> Fraction:
        """What totals may miss an end by: nothing on a grid of at most 1e9 steps."""
        largest, step = max(abs(exact(v)) for row in self.X for v in row), self.step
        on_grid = largest <= 10**9 * step
        return Fraction(0) if on_grid else max(Fraction(1), abs(exact(end))) / 10**9

    @property
    def step(self) -> Fraction:
        """The greatest common divisor of all values; 1 where all are 0."""
        values = [abs(exact(v)) for row in self.X for v in row]
        unit = math.lcm(*(v.denominator for v in values))
        return Fraction(math.gcd(*(int(v * unit) for v in values)) or unit, unit)

    @property
    def jumps(self) -> bool:
        """Whether jumps along features are charged, and ranges are those of bins."""
        return self.get("penalty") in ("tv", "binarsity")

    @property
    def demanded(self) -> tuple[Rule, ...]:
        """The rules, and those that arguments stand for."""
        cut = dict.fromkeys(column[1] for column in self.columns if column[2] == "step")
        found = list(self.rules)
        if self.jumps:
            most = self.get("coef_max", 5) - self.get("coef_min", -5)
            found += [("Span", {"most": most, "features": name}) for name in cut]
        if (k := self.get("max_cuts")) is not None:
            found += [("AtMost", {"k": k, "columns": name}) for name in cut]
        return tuple(found)

    @property
    def gaps(self) -> int:
        """Thresholds beyond the first one: points that follow those of the columns."""
        return max(self.y) - 1 if self.form == "ordinal" else 0

    @property
    def margin(self) -> Fraction:
        """The margin of the card's own totals under a hinge loss."""
        return exact(self.get("margin", 1.0) / self.get("gamma", 1.0))


def paired(case: Case) -> Case:
    """Every two rows of opposite classes as their differences, both ways round; else itself."""
    if case.form != "auc":
        return case
    rows = [(row, side, exact(s)) for row, side, s in zip(case.X, case.y, case.weight, strict=True)]
    pairs = [(a, b) for a in rows if a[1] > 0 for b in rows if b[1] < 0]
    apart = [tuple(exact(v) - exact(u) for v, u in zip(a[0], b[0], strict=True)) for a, b in pairs]
    both = [tuple(sign * float(v) + 0.0 for v in row) for sign in (1, -1) for row in apart]
    weight = tuple(float(a[2] * b[2]) for a, b in pairs)
    sides = (1,) * len(pairs) + (-1,) * len(pairs)
    return replace(case, X=tuple(both), y=sides, weight=weight * 2)


def exact(value: float | Fraction) -> Fraction:
    """A float as the decimal it prints as."""
    return value if isinstance(value, Fraction) else Fraction(repr(float(value)))


# ------------------------------------------------------------------ which points are allowed


def ranges(case: Case) -> list[Sequence[int]]:
    """The values of every column's points."""
    low, high = case.get("coef_min", -5), case.get("coef_max", 5)
    if case.get("weights") in ("binary", "ternary"):
        low, high = (0 if case.get("weights") == "binary" else -1), 1
    if case.form == "facets_hinge" and "coef_min" not in case.arguments:
        # K points of one column cost at most what the empty card loses, which is at most 2
        reach = math.ceil(math.sqrt(4 / case.get("lam", 0.01))) + 1
        low, high = -reach, reach
    p = len(case.columns)
    if case.jumps:
        return [
            range(low, high + 1) if column[2] == "numeric" else range(low - high, high - low + 1)
            for column in case.columns
        ]
    lows, highs = (list(end) if isinstance(end, list | tuple) else [end] * p for end in (low, high))
    values: list[Sequence[int]] = [range(a, b + 1) for a, b in zip(lows, highs, strict=True)]
    for name, chosen in case.get("coef_sets", {}).items():
        values[[column[0] for column in case.columns].index(name)] = sorted(chosen)
    if case.form == "fused_lasso":
        for block in case.blocks:
            if case.get("reference", "first") == "first":
                values[block[0]] = (0,)
            else:
                for j in block:
                    values[j] = [v for v in values[j] if v >= 0]
    return values


def size_of(case: Case) -> int:
    """How many vectors of points there are, before any rule."""
    return math.prod(map(len, ranges(case)))


def used(w: Sequence[int], group: Sequence[int]) -> bool:
    """Whether any of some columns has points."""
    return any(w[j] != 0 for j in group)


def allows(case: Case, rule: Rule, w: Sequence[int]) -> bool:
    """Whether points meet a rule, errors apart."""
    kind, given = rule
    groups = case.groups

    def columns(key: str) -> list[list[int]]:
        names = given[key]
        return [groups[name] for name in ([names] if isinstance(names, str) else names)]

    if kind in ("Sign", "Range", "Exclude"):
        low, high = given.get("lower", -math.inf), given.get("upper", math.inf)
        if kind == "Sign":
            low, high = (0, math.inf) if given["sign"] == "positive" else (-math.inf, 0)
        elif kind == "Exclude":
            low = high = 0
        return all(low <= w[j] <= high for group in columns("columns") for j in group)
    if kind == "Include":
        return all(used(w, group) for group in columns("columns"))
    if kind in ("AtMost", "AtLeast", "Exactly"):
        single = isinstance(given["columns"], str)
        own = [[j] for j in case.feature(given["columns"])] if single else columns("columns")
        count, k = sum(used(w, group) for group in own), given["k"]
        return bool({"AtMost": count <= k, "AtLeast": count >= k, "Exactly": count == k}[kind])
    if kind == "MaxFeatures":
        names = {column[1] for column in case.columns}
        return sum(used(w, case.feature(name)) for name in names) <= int(given["k"])
    if kind == "MaxPoints":
        every = [[j] for j in range(len(case.columns))]
        counted = {
            j for group in (columns("columns") if "columns" in given else every) for j in group
        }
        return bool(sum(abs(w[j]) for j in counted) <= given["limit"])
    if kind == "Budget":
        spent = sum(
            Fraction(str(price)) for name, price in given["prices"].items()
            if used(w, case.feature(name))
        )  # fmt: skip
        return bool(spent <= Fraction(str(given["limit"])))
    if kind == "EitherOr":
        sides = [any(used(w, g) for g in columns(side)) for side in ("first", "second")]
        none, both = given.get("neither", False), given.get("both", False)
        return bool(sum(sides) == 1 or (none and not any(sides)) or (both and all(sides)))
    if kind == "Implies":
        if not any(used(w, group) for group in columns("first")):
            return True
        combine: Callable[[Any], bool] = all if given.get("need", "all") == "all" else any
        return combine(used(w, group) for group in columns("then"))
    if kind == "Monotone":
        way = 1 if given["direction"] == "increasing" else -1
        own_columns = case.feature(given["features"])
        if case.columns[own_columns[0]][2] == "interval":
            return all(way * (w[b] - w[a]) >= 0 for a, b in itertools.pairwise(own_columns))
        return all(way * w[j] >= 0 for j in own_columns)
    if kind == "Span":
        own_columns = case.feature(given["features"])
        points = [w[j] for j in own_columns]
        if case.columns[own_columns[0]][2] == "step":
            points = list(itertools.accumulate(points, initial=0))
        return bool(max(points) - min(points) <= given["most"])
    if kind == "TotalRange":
        least = most = Fraction(0)
        rows = [row for row, s in zip(case.X, case.weight, strict=True) if s > 0]
        for name in dict.fromkeys(column[1] for column in case.columns):
            own_columns = case.feature(name)
            sums = [sum(exact(row[j]) * w[j] for j in own_columns) for row in rows]
            least, most = least + min(sums), most + max(sums)
        low, high = given.get("lower"), given.get("upper")
        return (low is None or least >= exact(low) - case.slack(low)) and (
            high is None or most <= exact(high) + case.slack(high)
        )
    return True


def limits(case: Case) -> Iterator[tuple[list[Fraction], Fraction]]:
    """For every limit on errors what each wrong row costs, and the most that may be spent."""
    for kind, given in case.rules:
        if kind == "MaxGap":
            yield from _gaps(case, given)
        if kind not in ("MaxFPR", "MinTPR", "MaxErrors"):
            continue
        inside = [s > 0 for s in case.weight]
        where = given.get("where")
        if isinstance(where, str):
            name, cut = where.split(" >= ")
            (j,) = case.groups[name]
            inside = [
                each and row[j] >= float(cut) for each, row in zip(inside, case.X, strict=True)
            ]
        elif where is not None:
            inside = [each and asked for each, asked in zip(inside, where, strict=True)]
        if kind != "MaxErrors":
            label = -1 if kind == "MaxFPR" else 1
            inside = [each and c == label for each, c in zip(inside, case.y, strict=True)]
        if given.get("count") is not None:
            yield [Fraction(each) for each in inside], Fraction(given["count"])
            continue
        share = exact(given["share"] if kind == "MaxErrors" else given["value"])
        share = 1 - share if kind == "MinTPR" else share
        cost = [exact(s) * each for s, each in zip(case.weight, inside, strict=True)]
        whole = sum(cost, Fraction(0))
        yield cost, share * whole + whole / 10**9


def _gaps(case: Case, given: dict[str, Any]) -> Iterator[tuple[list[Fraction], Fraction]]:
    """How much more of one group than of another is answered positive, as errors cost and save."""
    by, classes = given["by"], {"tpr": (1,), "fpr": (-1,), "selection": (1, -1)}[given["rate"]]
    if isinstance(by, str):
        by = [tuple(row[j] for j in case.feature(by)) for row in case.X]
    weight = [exact(s) * (c in classes) for s, c in zip(case.weight, case.y, strict=True)]
    sums = {label: Fraction(0) for label in by}
    for label, each in zip(by, weight, strict=True):
        sums[label] += each
    for one, other in itertools.permutations([label for label in sums if sums[label]], 2):
        share = {label: Fraction(0) for label in sums} | {
            one: 1 / sums[one],
            other: -1 / sums[other],
        }
        taken = [share[label] * each for label, each in zip(by, weight, strict=True)]
        # a positive row that errs is not taken
        cost = [-t if c > 0 else t for t, c in zip(taken, case.y, strict=True)]
        right = sum((t for t, c in zip(taken, case.y, strict=True) if c > 0), Fraction(0))
        yield cost, exact(given["value"]) - right + Fraction(2, 10**9)


def penalty(case: Case, w: Sequence[int]) -> float:
    """Everything but the loss."""
    size = [abs(int(v)) for v in w]
    charge = case.get("l0_penalty", 0.0) * sum(v != 0 for v in size)
    charge += case.get("l1_penalty", 0.0) * sum(size)
    lam = case.get("lam", 0.01 if case.form in ("facets_hinge", "fused_lasso") else 0.0)
    kind = case.get("penalty", "facets" if case.form == "facets_hinge" else "none")
    if case.form == "fused_lasso":
        into = case.get("weights") or [1.0] * len(size)
        jumps = [pair for block in case.blocks for pair in itertools.pairwise(block)]
        return float(lam * math.fsum(into[b] * abs(int(w[b]) - int(w[a])) for a, b in jumps))
    if kind in ("l1", "tv"):
        charge += lam * sum(size)
    elif kind == "binarsity":
        total = math.fsum(case.weight)
        d = len(size) + len({column[1] for column in case.columns})
        for j, v in enumerate(size):
            share = (
                math.fsum(s * row[j] for s, row in zip(case.weight, case.X, strict=True)) / total
            )
            charge += lam * math.sqrt(math.log(d) / total * share) * v
    elif kind == "l2":
        charge += lam * sum(v * v for v in size) / 2
    elif kind == "facets":
        charge += lam * sum(v * v + v for v in size) / 2
    elif kind == "eye":
        known = case.get("expert")
        a = math.fsum((1 - r) * v for r, v in zip(known, size, strict=True))
        charge += lam * (a + math.hypot(a, *(r * v for r, v in zip(known, size, strict=True))))
    return float(charge)


# ------------------------------------------------------------------ smooth losses

Curve: TypeAlias = tuple[Callable[[Array, Array], Array], Callable[[Array, Array], Array]]


def _expit(z: Array) -> Array:
    e = np.exp(-np.abs(z))
    return np.asarray(np.where(z >= 0, 1.0, e) / (1.0 + e))


CURVES: dict[str, Curve] = {
    "logistic": (lambda z, y: np.logaddexp(0.0, -y * z), lambda z, y: -y * _expit(-y * z)),
    "squared": (lambda z, y: 0.5 * (z - y) ** 2, lambda z, y: z - y),
    "squared_hinge": (
        lambda z, y: 0.5 * np.maximum(0.0, 1.0 - y * z) ** 2,
        lambda z, y: -y * np.maximum(0.0, 1.0 - y * z),
    ),
    "poisson": (
        lambda z, y: np.exp(np.minimum(z, 705.0)) - (y + 1) / 2 * z,
        lambda z, y: np.exp(np.minimum(z, 705.0)) - (y + 1) / 2,
    ),
}
"""Value and derivative of each loss at scores z, for classes -1/+1."""

LEAST: dict[str, Callable[[float, float], float]] = {
    "logistic": lambda n, p: sum(v * math.log((n + p) / v) for v in (n, p) if v),
    "squared": lambda n, p: 2 * n * p / (n + p) if n + p else 0.0,
    "squared_hinge": lambda n, p: 2 * n * p / (n + p) if n + p else 0.0,
    "poisson": lambda n, p: p + p * math.log((n + p) / p) if p else 0.0,
}
"""What weights n (class -1) and p (class +1) lose at least at one score for all."""

_HALVINGS = 70
_FAR = 60.0
"""The best constant score's range: the loss is flat, or rises, beyond."""


@dataclass(frozen=True)
class Smooth:
    """The mean loss at slope a and intercept c of many vectors of totals, shape (V, n)."""

    curve: Curve
    totals: Array
    y: Array
    share: Array
    low: Array
    high: Array

    def mean(self, a: Array, c: Array) -> Array:
        """Mean losses, shape (V,)."""
        z = a[:, None] * self.totals + c[:, None]
        return np.asarray(self.curve[0](z, self.y) @ self.share)

    def slopes(self, a: Array, c: Array) -> tuple[Array, Array]:
        """Derivatives in a and in c."""
        u = self.curve[1](a[:, None] * self.totals + c[:, None], self.y) * self.share
        return (u * self.totals).sum(axis=1), u.sum(axis=1)

    def intercepts(self, a: Array) -> Array:
        """The best c in [a low, a high]."""
        low = np.maximum(a * self.low, -_FAR - (a[:, None] * self.totals).max(axis=1))
        high = np.minimum(a * self.high, _FAR - (a[:, None] * self.totals).min(axis=1))
        low = np.minimum(low, a * self.high)
        high = np.maximum(high, low)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            rising = self.slopes(a, middle)[1] > 0
            low, high = np.where(rising, low, middle), np.where(rising, middle, high)
        ends = np.stack([low, high])
        values = np.stack([self.mean(a, end) for end in ends])
        return np.asarray(np.where(values[0] <= values[1], low, high))

    def lines(self, least: float, most: float) -> tuple[Array, Array]:
        """The best a in [least, most], and its c."""
        size = len(self.totals)
        low, high = np.full(size, math.log(least)), np.full(size, math.log(most))
        for _ in range(_HALVINGS if most > least else 0):
            middle = (low + high) / 2
            a = np.exp(middle)
            c = self.intercepts(a)
            by_a, by_c = self.slopes(a, c)
            # where c sits on an end of its range it moves with a
            near = 1e-12 * (1 + np.abs(c))
            at_low, at_high = (np.abs(c - a * end) <= near for end in (self.low, self.high))
            end = np.where(at_low, self.low, np.where(at_high, self.high, 0.0))
            by_a = by_a + end * by_c
            low, high = np.where(by_a > 0, low, middle), np.where(by_a > 0, middle, high)
        tries = [np.full(size, least), np.exp((low + high) / 2), np.full(size, most)]
        found = [(a, self.intercepts(a)) for a in tries]
        at = np.argmin(np.stack([self.mean(a, c) for a, c in found]), axis=0)
        pick = np.arange(size)
        return np.stack([a for a, _ in found])[at, pick], np.stack([c for _, c in found])[at, pick]


# ------------------------------------------------------------------ every card


@dataclass(frozen=True)
class Truth:
    """The least objective of every allowed vector of points, whatever the intercept."""

    points: Array
    objectives: Array
    intercepts: list[Fraction]
    scales: list[float]

    @property
    def best(self) -> float:
        """The least objective; infinite where no card is allowed."""
        return float(self.objectives.min(initial=math.inf))

    @property
    def card(self) -> str:
        """One best card, in words."""
        if not math.isfinite(self.best):
            return "no card"
        k = int(self.objectives.argmin())
        scale = f", scale {self.scales[k]:.9g}" if self.scales[k] != 1.0 else ""
        b = self.intercepts[k]
        return (
            f"w = {self.points[k].tolist()}, b = {b if b.denominator < 10**6 else float(b)}{scale}"
        )


MOST_CARDS = 4000


def enumerate_cards(
    case: Case, scales: tuple[float, float] = (1.0, 1.0), gap: Fraction | None = None
) -> Truth:
    """Every card. ``scales`` is the range a free scale has; ``gap`` the threshold gap, off grid."""
    if size_of(case) > MOST_CARDS:
        raise ValueError("too many cards to enumerate")
    values = ranges(case)
    most = case.get("max_terms")
    points = [
        w
        for w in itertools.product(*values)
        if (most is None or sum(v != 0 for v in w) <= most)
        and all(allows(case, rule, w) for rule in case.demanded)
    ]
    W = np.array(points, dtype=np.int64).reshape(len(points), len(case.columns))
    if not points:
        return Truth(W, np.empty(0), [], [])
    if case.form == "ordinal":
        return _ordered(case, W)
    grid = _Grid(paired(case), W, gap)
    owner, low, high, wrong = grid.intervals()
    if case.loss == "zero_one":
        loss, b, scale = wrong, [Fraction(v, grid.unit) for v in high.tolist()], np.ones(len(low))
    elif case.loss == "hinge":
        loss, b = grid.hinge(owner, low, high)
        scale = np.ones(len(low))
    else:
        loss, b, scale = grid.smooth(owner, low, high, scales)
    charge = np.array([penalty(case, w) for w in points])
    objective = loss + charge[owner] if len(owner) else np.empty(0)
    best, at = np.full(len(W), math.inf), np.full(len(W), -1)
    for k, own in enumerate(owner.tolist()):
        if objective[k] < best[own]:
            best[own], at[own] = objective[k], k
    return Truth(
        W,
        best,
        [b[k] if k >= 0 else Fraction(0) for k in at.tolist()],
        [float(scale[k]) if k >= 0 else 1.0 for k in at.tolist()],
    )


# ------------------------------------------------------------------ several thresholds

COSTS: dict[str, Callable[[int], int]] = {"absolute": abs, "squared": lambda k: k * k}


def _cost(case: Case) -> Callable[[int], int]:
    """What an answer costs that is this number of levels off."""
    return COSTS.get(case.get("cost", "absolute"), lambda k: int(k != 0))


def _sides(case: Case) -> list[list[Fraction]]:
    """What the wrong side of each threshold costs each row: those of an answer add up to its cost.

    Row by row the difference of two neighbouring answers' costs.
    """
    cost = _cost(case)
    return [
        [exact(s) * abs(cost(c - k) - cost(c - k - 1)) for k in range(case.gaps + 1)]
        for c, s in zip(case.y, case.weight, strict=True)
    ]


def _lost(case: Case, totals: Sequence[Fraction], T: Sequence[Fraction]) -> Fraction:
    """The mean loss of rows of some totals: what their answers cost, or their short margins."""
    sides, lost, margin = _sides(case), Fraction(0), case.margin
    for t, c, s, own in zip(totals, case.y, case.weight, sides, strict=True):
        if case.loss == "zero_one":
            lost += exact(s) * _cost(case)(c - sum(t >= each for each in T))
        else:
            short = [margin - (1 if c > k else -1) * (t - each) for k, each in enumerate(T)]
            lost += sum(v * max(Fraction(0), by / margin) for v, by in zip(own, short, strict=True))
    return lost / sum(map(sum, sides))


def _ordered(case: Case, W: Array) -> Truth:
    """The least objective of each points over all ordered thresholds on the grid of the data.

    A run of thresholds that keep each other apart can move until one of them meets a kink of its
    own loss: every threshold stands at a kink, or some spacings from one.
    """
    hinge, step, gaps = case.loss == "hinge", case.step, case.gaps
    margin = case.margin / step if hinge else Fraction(1)
    unit, spacing = margin.denominator, case.get("spacing", 1) * margin.denominator
    reach = int(margin * unit)
    sides = _sides(case)
    common = math.lcm(*(v.denominator for own in sides for v in own))
    charge = np.array([[int(v * common) for v in own] for own in sides], dtype=object).T
    X = np.array([[int(exact(v) / step) * unit for v in row] for row in case.X], dtype=object)
    totals = W.astype(object) @ X.T
    if (abs(totals).max() + reach + len(W) * spacing) * charge.sum() < 2**60:
        totals, charge = totals.astype(np.int64), charge.astype(np.int64)
    levels, whole, least = np.array(case.y), int(charge.sum()), []
    for t in totals:
        kinks = np.concatenate([t - reach, t + reach] if hinge else [t, t + unit])
        kinks = np.concatenate([kinks // unit * unit, -(-kinks // unit) * unit])
        shifts = np.arange(-gaps, gaps + 1) * spacing
        places = np.unique(kinks[:, None] + shifts)
        best = None
        for k in range(gaps + 1):
            sign = np.where(levels > k, 1, -1)
            if hinge:
                short = np.maximum(reach - sign * (t - places[:, None]), 0)
            else:
                short = (t >= places[:, None]) != (sign > 0)
            own = short @ charge[k]
            if best is not None:
                before = np.searchsorted(places, places - spacing, "right")
                own = own[before > 0] + best[before[before > 0] - 1]
                # nothing can stand before the first places
                own = np.concatenate([np.full(int((before == 0).sum()), own.max()), own])
            best = np.minimum.accumulate(own)
        assert best is not None
        least.append(float(Fraction(int(best[-1]), whole * (reach if hinge else 1))))
    extra = [penalty(case, w) + case.get("l0_penalty") * gaps for w in W.tolist()]
    return Truth(W, np.array(least) + extra, [Fraction(0)] * len(W), [1.0] * len(W))


class _Grid:
    """Totals of all points as whole numbers of 1 / ``unit``, and where intercepts may lie."""

    def __init__(self, case: Case, W: Array, gap: Fraction | None) -> None:
        self.case, self.y = case, np.array(case.y)
        X = [[exact(v) for v in row] for row in case.X]
        bounds = [exact(end) for end in case.get("intercept_bounds") or ()]
        numbers = [v for row in X for v in row] + bounds + [case.margin]
        self.unit = math.lcm(*(v.denominator for v in numbers))
        if gap is not None:
            self.unit = math.lcm(self.unit, gap.denominator)
        self.gap = None if gap is None else int(gap * self.unit)
        whole = [[int(v * self.unit) for v in row] for row in X]
        self.step = math.gcd(*(v for row in whole for v in row)) or self.unit
        self.bounds = [int(v * self.unit) for v in bounds]
        table = np.array(whole, dtype=object)
        self.totals = W.astype(object) @ table.T  # (V, n)
        self.far = 4 * (
            abs(self.totals).max() + int(case.margin * self.unit) + self.unit + self.step
        )
        weight = [exact(s) for s in case.weight]
        common = math.lcm(*(s.denominator for s in weight))
        self.weight = np.array([int(s * common) for s in weight], dtype=object)
        # an excluded column counts in the gap, not in the totals
        largest = max(self.far, *map(abs, self.bounds), 4 * (self.gap or 0))
        if largest * max(self.weight.sum(), 1) < 2**60:
            self.totals, self.weight = self.totals.astype(np.int64), self.weight.astype(np.int64)

    def intervals(self) -> tuple[Array, Array, Array, Array]:
        """(whose points, least b, most b, mean errors) of the ranges of intercepts to look at.

        One range a card where only the loss counts, else one for each way to cut the totals. The
        upper end of a real range is not always attained, but approached.
        """
        case, n = self.case, len(self.y)
        limited = any(True for _ in limits(case))
        kind = case.get("intercept", "integer")
        if case.form == "risk_score" and "intercept" not in case.arguments:
            kind = "real" if case.free_scale else "integer"
        # in units; 0 for a real one
        self.every = {"integer": self.unit, "zero": self.unit, "grid": self.step}.get(kind, 0)
        if self.gap is not None:
            return self._with_gap(self.gap)
        low_end, high_end = (0, 0) if kind == "zero" else self.bounds or (-self.far, self.far)
        if not limited and case.loss != "zero_one":
            owner = np.arange(len(self.totals))
            low, high = np.full(len(owner), low_end), np.full(len(owner), high_end)
            return self._inwards(owner, low, high, np.zeros(len(owner)))
        ranked = np.sort(self.totals, axis=1)
        owners, lows, highs, errors = [], [], [], []
        for k in range(n + 1):  # positive from the k-th total on
            low = -ranked[:, k] if k < n else np.full(len(ranked), -self.far, dtype=ranked.dtype)
            high = -ranked[:, k - 1] if k else np.full(len(ranked), self.far, dtype=ranked.dtype)
            answers = self.totals >= -low[:, None] if k < n else np.zeros(self.totals.shape, bool)
            wrong = answers != (self.y > 0)
            low = np.maximum(low, low_end)
            fine = low < high  # the upper end belongs to the next range
            fine &= self.keeps(wrong)
            if k:  # the end itself would take the next row
                high = high - (1 if self.every else 0)
            keep = np.flatnonzero(fine)
            owners.append(keep)
            lows.append(low[keep])
            highs.append(np.minimum(high[keep], high_end))
            errors.append((wrong[keep] @ self.weight).astype(float) / float(self.weight.sum()))
        parts = [np.concatenate(each) for each in (owners, lows, highs, errors)]
        return self._inwards(*parts)

    def keeps(self, wrong: Array) -> Array:
        """Which rows of errors, shape (V, n), keep to every limit."""
        fine = np.ones(len(wrong), dtype=bool)
        for cost, most in limits(self.case):
            common = math.lcm(most.denominator, *(v.denominator for v in cost))
            spent = wrong @ np.array([int(v * common) for v in cost], dtype=object)
            fine &= (spent <= int(most * common)).astype(bool)
        return fine

    def _inwards(
        self, owner: Array, low: Array, high: Array, wrong: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Ends moved to multiples of the intercept's step; ranges without one dropped."""
        if self.every:
            low, high = -(-low // self.every) * self.every, high // self.every * self.every
        fine = np.flatnonzero((low <= high).astype(bool))
        return owner[fine], low[fine], high[fine], wrong[fine]

    def _with_gap(self, gap: int) -> tuple[Array, Array, Array, Array]:
        """Thresholds T at a total or a gap above one; negative rows must stay a gap below."""
        low, high = self.bounds or (-self.far - gap, self.far + gap)
        found = []
        ends = [np.full(len(self.totals), end) for end in (low, high)]
        tries = [*(-self.totals).T, *(-self.totals - gap).T, *ends]
        for b in tries:
            b = np.clip(b, low, high)  # noqa: PLW2901
            scores = self.totals + b[:, None]
            wrong = np.where(self.y > 0, scores < 0, scores > -gap)
            lost = (wrong @ self.weight).astype(float) / float(self.weight.sum())
            fine = np.flatnonzero(self.keeps(wrong))
            found.append((fine, b[fine], b[fine], lost[fine]))
        owner, first, last, lost = (np.concatenate(each) for each in zip(*found, strict=True))
        return owner, first, last, lost

    def hinge(self, owner: Array, low: Array, high: Array) -> tuple[Array, list[Fraction]]:
        """The least mean loss over each range: at a kink, an end, or a whole number beside one."""
        margin = int(self.case.margin * self.unit)
        totals, step = self.totals[owner], self.every
        tries = [low, high, *(self.y * margin - totals).T]
        if step:
            tries = [moved for b in tries for moved in (b // step * step, -(-b // step) * step)]
        best, at = None, low
        for b in tries:
            b = np.minimum(np.maximum(b, low), high)  # noqa: PLW2901
            lost = np.maximum(margin - self.y * (totals + b[:, None]), 0) @ self.weight
            best, at = (
                (lost, b)
                if best is None
                else (np.minimum(best, lost), np.where(lost < best, b, at))
            )
        whole = int(self.weight.sum()) * margin
        assert best is not None
        loss = np.array([float(Fraction(int(v), whole)) for v in best])
        return loss, [Fraction(int(v), self.unit) for v in at]

    def smooth(
        self, owner: Array, low: Array, high: Array, scales: tuple[float, float]
    ) -> tuple[Array, list[Fraction], Array]:
        """The least mean loss over each range of b, and over the scales."""
        case = self.case
        if not case.free_scale:
            scales = (case.get("scale", 1.0),) * 2
        totals = (self.totals[owner] / self.unit).astype(float)
        share = np.array(case.weight) / math.fsum(case.weight)
        far = self.far - self.step - self.unit  # what was moved inwards is still no bound
        ends = [
            np.where(abs(end) >= far, np.inf * sign, (end / self.unit).astype(float))
            for end, sign in ((low, -1), (high, 1))
        ]
        model = Smooth(CURVES[case.loss], totals, self.y.astype(float), share, *ends)
        a, c = model.lines(1 / scales[1], 1 / scales[0])
        if not self.every:
            return model.mean(a, c), [exact(v) for v in (c / a).tolist()], 1 / a
        best, at = np.full(len(a), math.inf), np.zeros(len(a))
        for shift in (-1, 0, 1, 2):
            b = np.clip(np.floor(c / a) + shift, *ends)
            value = model.mean(a, a * b)
            best, at = np.minimum(best, value), np.where(value < best, b, at)
        return best, [exact(v) for v in at.tolist()], 1 / a


# ------------------------------------------------------------------ one card


@dataclass(frozen=True)
class Figures:
    """A card's loss from ``least`` to ``most`` (ties off the grid can be read both ways)."""

    least: float
    most: float
    penalty: float
    broken: tuple[str, ...]


def figures(
    case: Case, w: Sequence[int], b: Fraction, scale: Fraction | None, ties: bool
) -> Figures:
    """A card's figures and what it breaks. ``ties``: near the threshold any answer is accepted."""
    w, gaps = w[: len(case.columns)], w[len(case.columns) :]
    broken = [str(rule) for rule in case.demanded if not allows(case, rule, w)]
    case = paired(case)
    rows = [[exact(v) for v in row] for row in case.X]
    totals = [sum((x * int(v) for x, v in zip(row, w, strict=True)), Fraction(0)) for row in rows]
    weight = [exact(s) for s in case.weight]
    wrong = [(t + b >= 0) != (c > 0) for t, c in zip(totals, case.y, strict=True)]
    for j, values in enumerate(ranges(case)):
        if int(w[j]) not in values:
            broken.append(f"{case.columns[j][0]} has {w[j]} points, not in {values}")
    most = case.get("max_terms")
    if most is not None and sum(v != 0 for v in w) > most:
        broken.append(f"more than {most} terms")
    bounds = case.get("intercept_bounds")
    if bounds is not None and not exact(bounds[0]) <= b <= exact(bounds[1]):
        broken.append(f"intercept {b} outside {bounds}")
    for cost, limit in limits(case):
        if sum((v for v, e in zip(cost, wrong, strict=True) if e), Fraction(0)) > limit:
            broken.append("a limit on errors")
    charge = penalty(case, w)
    if case.form == "ordinal":
        T = [-b + case.step * sum(gaps[:k]) for k in range(case.gaps + 1)]
        if any(gap < case.get("spacing", 1) for gap in gaps):
            broken.append(f"thresholds {T}")
        least = most_lost = float(_lost(case, totals, T))
        charge += case.get("l0_penalty") * case.gaps
    elif case.loss == "zero_one":
        sizes = [sum(abs(x * int(v)) for x, v in zip(row, w, strict=True)) for row in rows]
        near = [
            ties and abs(t + b) <= Fraction(2, 10**9) * max(abs(b) + size, Fraction(1))
            for t, size in zip(totals, sizes, strict=True)
        ]
        sure = sum(s for s, e, n in zip(weight, wrong, near, strict=True) if e and not n)
        open_ = sum(s for s, n in zip(weight, near, strict=True) if n)
        least, most_lost = float(sure / sum(weight)), float((sure + open_) / sum(weight))
    elif case.loss == "hinge":
        m = case.margin
        short = [max(Fraction(0), m - c * (t + b)) for t, c in zip(totals, case.y, strict=True)]
        lost = sum(s * e for s, e in zip(weight, short, strict=True)) / (m * sum(weight))
        least = most_lost = float(lost)
    else:
        sigma = exact(case.get("scale", 1.0)) if scale is None else scale
        z = np.array([float((t + b) / sigma) for t in totals])
        each = CURVES[case.loss][0](z, np.array(case.y, dtype=float))
        total = math.fsum(case.weight)
        least = most_lost = (
            math.fsum(s * v for s, v in zip(case.weight, each.tolist(), strict=True)) / total
        )
    return Figures(least, most_lost, charge, tuple(broken))
