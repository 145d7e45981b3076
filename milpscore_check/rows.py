"""The rows of a table as exact numbers, by stated cuts; equal ones are merged."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from fractions import Fraction
from operator import mul
from typing import Any

from milpscore_check.cells import folded
from milpscore_check.hazards import Life
from milpscore_check.proof import Data, Named
from milpscore_check.table import Feature, Table, cut, named
from milpscore_check.values import Refused, number

_MOST_COLUMNS = 1000  # or 20 of each feature
_MOST_CELLS = 50_000_000  # of distinct rows: no design is larger

# which row of its columns each feature makes, of times these, and the class
Key = tuple[Any, ...]


class Rows:
    """Labels, weights and columns of a table, read in two passes."""

    def __init__(
        self, table: Table, source: Mapping[str, Any], target: str, weights: str | None
    ) -> None:
        self.table, self.source, self.weighted = table, source, weights is not None
        specs, self.features = [*source["columns"]], dict[str, Feature]()
        for j in reversed(range(len(specs))):
            total = specs[j]["kind"] == "total"
            if len(specs[j].get("points", ())) != (j if total else 0):
                raise Refused("a total has points for each column before it, and no other column")
            if total:
                cut(specs.pop(j))
        if len(specs) > max(_MOST_COLUMNS, 20 * len(table.names)):
            raise Refused(f"{len(specs)} columns are more than are made of such a table")
        for column in specs:
            name, cells = column["feature"], column.get("cells")
            feature = self.features.setdefault(name, Feature(table, name, cells))
            if feature.cells != cells:
                raise Refused(f"the columns of {name!r} read its cells in several ways")
        self.target, self.mass = Feature(table, target), Feature(table, weights or target)
        self.times = [Feature(table, source[name]) for name in ("time", "entry") if name in source]
        read = [*self.features.values(), *self.times, self.target, self.mass]
        self.used = [feature.name for feature in read]
        # 1. what the texts of each feature are
        for block in table.blocks(self.used):
            for feature, texts in zip(read, zip(*block, strict=True), strict=True):
                feature.look(texts)
        for column in specs:
            self.features[column["feature"]].add(column)
        foreseen = {c["feature"] for c in specs if c["kind"] == "missing"}
        for name, feature in self.features.items():
            if feature.holes and name not in foreseen:
                raise Refused(f"{name!r} has missing values, which no column foresees")
        self.sides, self.others, self.weights = dict[str, int](), set[Any](), dict[str, Fraction]()
        self.count = 0  # of the table's rows

    def merged(self, wanted: Collection[int]) -> Data:
        """The distinct rows, and those that go by a number.

        A number is a place in the table, or where the source says "merged" one among the distinct
        rows in order: by their columns, rows of class -1 before those of class +1.
        """
        # 2. equal rows, counted
        merged, rows = dict[Key, tuple[int, Any]](), dict[int, tuple[Key, Any]]()
        places = sorted(wanted)
        for block in self.table.blocks(self.used):
            for row, times in Counter(block).items():
                key, weight = self._read(row)
                if weight > 0:
                    count, total = merged.get(key, (0, 0))
                    merged[key] = count + times, total + times * weight
            end = self.count + len(block)
            for i in places[bisect_left(places, self.count) : bisect_left(places, end)]:
                rows[i] = self._read(block[i - self.count])
            self.count = end
            if len(merged) * len(self.source["columns"]) > _MOST_CELLS:
                raise Refused(f"more than {len(merged)} rows differ, too many for this memory")
        # 3. columns, classes and weights of the distinct rows
        keys, columns = self._ordered([*merged])
        y = [key[-1] for key in keys]
        own = {c: sum((merged[k][1] for k in keys if k[-1] == c), Fraction(0)) for c in (-1, 1)}
        factor = self._factors(own)
        counts = [merged[key][0] for key in keys]
        weight = [merged[key][1] * factor[key[-1]] for key in keys]
        place = {key: k for k, key in enumerate(keys)}
        if self.source.get("merged"):
            each = zip(counts, weight, strict=True)
            by_number: Named = {k: (k, n, own) for k, (n, own) in enumerate(each)}
        else:
            heavy = ((i, key, w) for i, (key, w) in rows.items() if w > 0)
            by_number = {i: (place[key], 1, w * factor[key[-1]]) for i, key, w in heavy}
        if places and places[-1] >= (len(keys) if self.source.get("merged") else self.count):
            raise Refused(f"there is no row {places[-1]}, which is named")
        return Data(columns, y, weight, counts, by_number, self._lives(keys))

    def _lives(self, keys: list[Key]) -> list[Life] | None:
        """When the rows of each key came under observation, and were last seen."""
        if not self.times:
            return None
        lives = [Life(entry, time) for *_, time, entry, _ in keys]
        for life in lives:
            if not 0 <= life.entry < life.time:
                raise Refused(f"a row is seen from {float(life.entry):g} to {float(life.time):g}")
        return lives

    def _time(self, feature: Feature, text: str) -> Fraction:
        """A time as it is written."""
        value = None if text in feature.missing else feature.exact(text)
        if value is None:
            raise Refused(f"{text[:40]!r} in {feature.name!r} is not a time")
        return value

    def _read(self, row: tuple[str, ...]) -> tuple[Key, Any]:
        """The key of a row, and its weight."""
        codes = map(Feature.code, self.features.values(), row)
        side = self.sides.get(row[-2]) or self._side(row[-2])
        weight = self._weight(row[-1]) if self.weighted else 1
        if not self.times:
            return (*codes, side), weight
        time, *entry = map(self._time, self.times, row[len(self.features) :])
        return (*codes, time, *(entry or [Fraction(0)]), side), weight

    def _side(self, text: str) -> int:
        """The class of a label, -1 or +1."""
        (against, label), value = self.source["classes"], self.target.value(text)
        if self.times:  # an event that was seen, or was not
            if (cause := self.source.get("positive")) is not None:  # one of several causes
                if value is None:
                    raise Refused(f"{self.target.name!r} has a missing event")
                return 1 if value == self.target.label(cause) else -1
            if value not in (0, 1):
                raise Refused(f"{text[:40]!r} in {self.target.name!r} is neither 0 nor 1")
            return 1 if value else -1
        if isinstance(value, str) and not self.source.get("as_spelled"):
            known = [*map(self.target.label, (label, against))]
            alike = [own for own in known if own and folded(own) == folded(value)]
            value = value if value in known else next(iter(alike), value)
        side = 1 if value == self.target.label(label) else -1
        if len(self.sides) < 100_000:
            self.sides[text] = side
        if side < 0 and against != f"not {label}":
            self.others.add(value)
        if value is None or not self.others <= {self.target.label(against)}:
            said = sorted(self.target.seen)[:8]
            raise Refused(f"the labels are {said}, not {[against, label]}")
        return side

    def _weight(self, text: str) -> Fraction:
        """The weight of a row."""
        if (known := self.weights.get(text)) is None:
            self.mass.numbers()
            value = self.mass.value(text)
            if value is None or value < 0:
                raise Refused(f"{self.mass.name!r} holds what is not a weight")
            known = Fraction(value)
            if len(self.weights) < 100_000:
                self.weights[text] = known
        return known

    def _ordered(self, keys: list[Key]) -> tuple[list[Key], list[list[Fraction]]]:
        """The distinct rows, in order where they go by it, and their columns."""
        made = [(k, [*feature.made]) for k, feature in enumerate(self.features.values())]
        of_feature = dict(zip(self.features, made, strict=True))
        taken: dict[str, int] = defaultdict(int)  # of each feature's columns
        columns = list[list[Fraction]]()
        for column in self.source["columns"]:
            if column["kind"] == "total":
                each = zip(*columns, strict=True)
                columns.append([sum(map(mul, column["points"], x), Fraction(0)) for x in each])
                continue
            (k, rows), own = of_feature[column["feature"]], taken[column["feature"]]
            taken[column["feature"]] += 1
            columns.append([rows[key[k]][own] for key in keys])
        if self.source.get("merged"):
            ranks = [{v: k for k, v in enumerate(sorted({*column}))} for column in columns]
            ranked = [
                [*map(rank.__getitem__, own)] for rank, own in zip(ranks, columns, strict=True)
            ]
            by = [*zip(*ranked, [key[-1] for key in keys], strict=True)]
            order = sorted(range(len(keys)), key=by.__getitem__)
            keys, columns = [keys[k] for k in order], [[own[k] for k in order] for own in columns]
        return keys, columns

    def _factors(self, each: Mapping[int, Fraction]) -> dict[int, Fraction]:
        """What a class's weights are multiplied by."""
        class_weight, classes = self.source.get("class_weight"), self.source["classes"]
        if not all(each.values()) and not self.times:
            raise Refused("a class has no row that counts")
        factor = {c: Fraction(1) for c in each}
        if class_weight == "balanced":
            factor = {c: sum(each.values(), Fraction(0)) / (2 * each[c]) for c in each}
        elif class_weight is not None:
            place = {named(label): c for c, label in zip(factor, classes, strict=True)}
            factor |= {place[label]: number(repr(own)) for label, own in class_weight.items()}
        if min(factor.values()) <= 0:
            raise Refused("a class weighs nothing, or less")
        return factor
