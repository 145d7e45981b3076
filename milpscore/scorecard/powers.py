"""A card as a vote of its features: who decides, and the card in one sentence."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from milpscore.core.design import Column, as_fraction
from milpscore.core.errors import DataError, NotApplicableError
from milpscore.data.columns import bin_columns
from milpscore.scorecard.policy import POLICY
from milpscore.scorecard.rendering import exact_number, least_positive

if TYPE_CHECKING:
    import pandas as pd

    from milpscore.scorecard._card import Scorecard
    from milpscore.scorecard.rendering import FeatureLines

Profile: TypeAlias = tuple[int, ...]
"""Return per voter the place of one of its levels."""

_Counts: TypeAlias = dict[int, npt.NDArray[np.object_]]
_Chain: TypeAlias = tuple[int, Any]


@dataclass(frozen=True)
class Voter:
    """A feature: what it can count, ascending, and the conditions under which it counts that."""

    name: str
    levels: tuple[Fraction, ...]
    lines: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class VotingGame:
    """A weighted vote: each voter takes one of its levels, and the sum reaches the quota or not.

    A yes/no line of a card is a voter of two levels, a feature with bins one of as many levels as
    its lines have different points. Every combination of levels counts as possible and as one
    case, whatever the data hold; a tie is positive.

    Attributes
    ----------
    voters : tuple of Voter
    quota : Fraction

    Examples
    --------
    >>> game = VotingGame.from_weights((0.49, 0.49, 0.02), intercept=-0.5)
    >>> game.sentence
    'Positive where at least two of three hold: x1; x2; x3.'
    >>> game.differences(VotingGame.from_weights((1, 1, 1), intercept=-2))
    []
    """

    voters: tuple[Voter, ...]
    quota: Fraction

    @classmethod
    def from_weights(
        cls, weights: Sequence[Any], intercept: Any, names: Sequence[str] | None = None
    ) -> VotingGame:
        """The rule ``sum of weights of what holds + intercept >= 0`` for yes/no inputs.

        Parameters
        ----------
        weights : sequence of numbers
            A float is read as the decimal it prints as. A weight of 0 is not a voter.
        intercept : number
        names : sequence of str, optional
            Default: x1, x2, ...

        Returns
        -------
        VotingGame
        """
        names = [f"x{k + 1}" for k in range(len(weights))] if names is None else names
        if len(names) != len(weights):
            raise DataError(f"{len(weights)} weights need as many names, not {len(names)}")
        voters = []
        for name, weight in zip(names, map(as_fraction, weights), strict=True):
            ends = sorted([(Fraction(0), f"not {name}"), (weight, name)])
            if weight:
                voters.append(Voter(name, tuple(e[0] for e in ends), tuple((e[1],) for e in ends)))
        return cls(tuple(voters), -as_fraction(intercept))

    @classmethod
    def of_card(cls, card: Scorecard) -> VotingGame:
        """The vote of a card's features; intervals that overlap are read as what they add up to.

        Raises
        ------
        NotApplicableError
            A feature counts by the unit.
        """
        card = told_once(card)
        voters = [_voter(lines) for lines in card.lines]
        return cls(tuple(each for each in voters if len(each.levels) > 1),
                   least_positive(card) - sum(each.levels[0] for each in voters
                                              if len(each.levels) == 1))  # fmt: skip

    # ---------------------------------------------------------------- what each voter decides

    @cached_property
    def whole(self) -> tuple[tuple[tuple[int, ...], ...], int]:
        """Levels as small whole numbers from 0 up, and the quota that gives the same answers."""
        ends = [voter.levels[0] for voter in self.voters]
        raised = [
            [level - low for level in voter.levels]
            for voter, low in zip(self.voters, ends, strict=True)
        ]
        unit = math.lcm(1, *(level.denominator for levels in raised for level in levels))
        own = [[int(level * unit) for level in levels] for levels in raised]
        divisor = math.gcd(*(level for levels in own for level in levels)) or 1
        quota = math.ceil((self.quota - sum(ends)) * unit / divisor)
        return tuple(tuple(level // divisor for level in levels) for levels in own), quota

    @property
    def constant(self) -> bool | None:
        """The answer that is always given; None where the voters decide."""
        levels, quota = self.whole
        if quota <= 0:
            return True
        return False if sum(each[-1] for each in levels) < quota else None

    @cached_property
    def indices(self) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        """Shapley's and Banzhaf's value of each voter, exact.

        Shapley (and Shubik, 1954): the share of all orders and levels in which the voters, saying
        their levels one after another, settle the answer with this one: for two levels each the
        share of orders in which it turns the coalition into a winning one (Felsenthal and Machover
        1996), for more that of Freixas (2005). They add up to 1 where the answer is not constant.
        Banzhaf: the share of the others' combinations in which this voter's least and most level
        have different answers.

        Of all others the combinations are counted by total and by how many have spoken (those that
        have not stand at their least, or at their most), by dynamic programming; of each one by
        halving the rest, so that n voters take n log n steps.
        """
        levels, quota = self.whole
        if not (n := len(levels)):
            return (), ()
        self._refuse_wide(levels)
        mirrored = [tuple(each[-1] - level for level in reversed(each)) for each in levels]
        rising = dict(_of_others(levels))
        falling = rising if mirrored == list(levels) else dict(_of_others(mirrored))
        order = [Fraction(1, n * math.comb(n - 1, k)) for k in range(n)]
        every, top = math.prod(map(len, levels)), sum(each[-1] for each in levels)
        shapley, banzhaf = [], []
        for i, own in enumerate(levels):
            settled = np.zeros(n, dtype=object)
            for t, counts in rising[i].items():  # the total so far, all to come at their least
                if t < quota:
                    settled += counts * sum(t + level >= quota for level in own)
            for d, counts in falling[i].items():  # what was lost so far, all to come at their most
                if top - d >= quota:
                    settled += counts * sum(top - d - own[-1] + level < quota for level in own)
            shapley.append(sum((order[k] * settled[k] for k in range(n)), Fraction(0)) / every)
            turned = sum(c[n - 1] for t, c in rising[i].items() if t < quota <= t + own[-1])
            banzhaf.append(Fraction(int(turned) * len(own), every))
        return tuple(shapley), tuple(banzhaf)

    @property
    def power(self) -> pd.DataFrame:
        """``shapley`` and ``banzhaf`` of :attr:`indices` by name, in order of Shapley's value."""
        import pandas as pd

        found = {
            name: [float(v) for v in values]
            for name, values in zip(("shapley", "banzhaf"), self.indices, strict=True)
        }
        names = pd.Index([voter.name for voter in self.voters], name="feature")
        table = pd.DataFrame(found, index=names)
        return table.sort_values("shapley", ascending=False, kind="stable")

    def _refuse_wide(self, levels: Sequence[Sequence[int]]) -> None:
        """Refuse voters with more totals than are counted."""
        found = {0}
        for own in levels:
            found = {total + level for total in found for level in own}
            if len(found) > POLICY.most_voting_totals:
                raise NotApplicableError(
                    f"these points have more than {POLICY.most_voting_totals:,} different totals: "
                    "round them, or look at fewer features"
                )

    # ---------------------------------------------------------------- the vote in words

    @property
    def sentence(self) -> str:
        """Who makes the answer positive, as "at least two of three", or its smallest ways."""
        if self.constant is not None:
            return f"{'Always' if self.constant else 'Never'} positive, whatever the voters say."
        ways = self.ways()
        moot = [v.name for v, power in zip(self.voters, self.indices[1], strict=True) if not power]
        aside = f" {', '.join(moot)} never {'matters' if len(moot) == 1 else 'matter'}."
        return f"Positive where {ways}.{aside if moot else ''}"

    def ways(self) -> str:
        """The condition of a positive answer, in words."""
        levels, quota = self.whole
        left = [i for i, power in enumerate(self.indices[1]) if power]
        if all(len(levels[i]) == 2 for i in left):
            return self._simple(left, quota)
        minimal = list(itertools.islice(self._minimal_ways(), POLICY.most_ways + 1))
        if len(minimal) > POLICY.most_ways:
            least = exact_number(self.quota)
            return f"the total reaches {least}, in more than {POLICY.most_ways} smallest ways"
        return " or ".join(_all_of(self._least(way)) for way in minimal)

    def _simple(self, left: list[int], quota: int) -> str:
        """Return the condition on voters of two levels, none moot: those that decide, the rest."""
        levels = self.whole[0]
        weight = {i: levels[i][-1] for i in left}
        names = {i: self._said(i, 1) for i in left}
        everything = sum(weight.values())
        sizes, n = sorted(weight.values()), len(left)
        for k in range(1, n + 1):
            if sum(sizes[:k]) >= quota > sum(sizes[n - k + 1 :]):
                return (
                    f"{_of(k, n)}: {'; '.join(names.values())}"
                    if n > 1
                    else f"{names[left[0]]} holds"
                )
        enough = [i for i in left if weight[i] >= quota]
        needed = [i for i in left if everything - weight[i] < quota]
        if some := enough or needed:
            word, verb = ("or", "holds") if enough or len(some) == 1 else ("and", "hold")
            rest = quota if enough else quota - sum(weight[i] for i in needed)
            others = self._simple([i for i in left if i not in some], rest)
            these = f" {word} ".join(names[i] for i in some)
            return f"{these} {verb}, {'or' if enough else 'and'} {others}"
        return _listed_ways(weight, names, quota)

    def _said(self, i: int, place: int) -> str:
        """The conditions under which a voter has at least a level."""
        return " or ".join(line for lines in self.voters[i].lines[place:] for line in lines)

    def _least(self, way: Profile) -> list[str]:
        """A way to a positive answer: what must at least hold."""
        return [self._said(i, place) for i, place in enumerate(way) if place]

    def _minimal_ways(self) -> Iterator[Profile]:
        """Yield the smallest ways to a positive answer: no voter can do with a lower level."""
        levels, quota = self.whole
        for places in _minimal_places(dict(enumerate(levels)), quota):
            yield tuple(places.get(i, 0) for i in range(len(levels)))

    # ---------------------------------------------------------------- other votes, same answers

    def answers(self, profile: Sequence[int]) -> bool:
        """The answer to one combination of levels, given by their places."""
        chosen = (voter.levels[k] for voter, k in zip(self.voters, profile, strict=True))
        return sum(chosen, Fraction(0)) >= self.quota

    def differences(self, other: VotingGame) -> list[Profile]:
        """Combinations of levels that another vote of the same voters answers otherwise.

        One for each total at which there are any, by dynamic programming over the totals; none is
        a proof that all answers are the same.
        """
        levels, quota = self.whole
        self._refuse_wide(levels)
        least = [voter.levels for voter in other.voters]
        if [len(own) for own in least] != [len(own) for own in levels]:
            raise DataError("only votes of the same voters and levels can be compared")
        found = []
        for sign in (1, -1):
            state: dict[int, tuple[Fraction, _Chain | None]] = {0: (Fraction(0), None)}
            for own, values in zip(levels, least, strict=True):
                reached: dict[int, tuple[Fraction, _Chain | None]] = {}
                for total, (value, chain) in state.items():
                    for k, level in enumerate(own):
                        now = value + sign * values[k]
                        if (known := reached.get(total + level)) is None or now < known[0]:
                            reached[total + level] = (now, (k, chain))
                state = reached
            for total, (value, chain) in state.items():
                # the least of the other's totals must reach its quota, or the most stay below it
                wins = sign * value >= other.quota
                if wins != (total >= quota) and (total >= quota) == (sign == 1):
                    found.append(_profile(chain))
        return found


def _listed_ways(weight: Mapping[int, int], names: Mapping[int, str], quota: int) -> str:
    """Return the minimal sets of voters that reach a quota; the sum itself if they are many."""
    ways = _minimal_places({i: (0, own) for i, own in weight.items()}, quota)
    minimal = list(itertools.islice(ways, POLICY.most_ways + 1))
    if len(minimal) > POLICY.most_ways:
        points = "; ".join(f"{names[i]} ({own})" for i, own in weight.items())
        return f"these add up to {quota} or more: {points}"
    return " or ".join(_all_of([names[i] for i, place in way.items() if place]) for way in minimal)


def _all_of(conditions: Sequence[str]) -> str:
    """Return conditions that hold together, those of several lines in brackets of their own."""
    apart = len(conditions) > 1
    return f"({' and '.join(f'({c})' if apart and ' or ' in c else c for c in conditions)})"


def told_once(card: Scorecard) -> Scorecard:
    """Return the card with overlapping intervals of a feature written as one row of bins."""
    for feature, lines in zip(card.used_features, card.lines, strict=True):
        rows = [row for group in lines.groups for row in group]
        if len(lines.groups) < 2 or {row.kind for row in rows} != {"interval"}:
            continue
        ends = {end for row in rows for end in (row.lower, row.upper) if math.isfinite(end)}
        bins = bin_columns(feature.name, sorted(ends))
        worth = []
        for each in bins:
            held = [[r.points for r in g if r.lower <= each.lower < r.upper] for g in lines.groups]
            worth.append(sum(map(sum, held)) + (0 if held[0] else lines.base))
        gone = [card.columns[j] for j in feature.positions if card.columns[j].kind == "missing"][:1]
        points = [*worth, *(row.points for row in [lines.missing] if row is not None)]
        # the columns of the other features stand elsewhere then
        return told_once(_with_columns(card, feature, [*bins, *gone], points))
    return card


def _with_columns(
    card: Scorecard, feature: Any, columns: Sequence[Column], points: Sequence[int]
) -> Scorecard:
    """Return the card with other columns and points in the place of a feature's."""
    kept = [j for j in range(len(card.columns)) if j not in feature.positions]
    at = sum(j < feature.positions[0] for j in kept)
    place = {j: k if k < at else k + len(columns) for k, j in enumerate(kept)}
    blocks = [tuple(place[j] for j in block if j in place) for block in card.blocks]
    old, worth = [card.columns[j] for j in kept], [card.points[j] for j in kept]
    return replace(
        card, columns=(*old[:at], *columns, *old[at:]), certificate={}, risk=None,
        points=(*worth[:at], *points, *worth[at:]), fitted_threshold=None,
        blocks=(*filter(None, blocks), tuple(range(at, at + len(columns)))),
        flags=tuple(place[j] for j in card.flags if j in place),
        base_points={k: v for k, v in card.base_points.items() if k != feature.name},
    )  # fmt: skip


def _voter(lines: FeatureLines) -> Voter:
    """A feature of a card as a voter."""
    cases: dict[int, dict[str, None]] = {}
    parts = []
    for k, rows in enumerate(lines.groups):
        if any(row.kind == "numeric" and row.points for row in rows):
            raise NotApplicableError(
                f"{lines.name!r} counts by the unit, and a vote is over lines that hold or do not: "
                "bin it"
            )
        own = [(row.points, f"{row.feature} {row.condition}") for row in rows]
        base = lines.base if k == 0 else 0
        if rows and rows[0].kind == "category" and base not in {row.points for row in rows}:
            own.append((base, f"{rows[0].feature} is something else"))
        parts.append(own)
    for chosen in itertools.product(*parts):
        said = " and ".join(text for _, text in chosen)
        cases.setdefault(sum(points for points, _ in chosen), {})[said] = None
    if lines.missing is not None:
        row = lines.missing
        cases.setdefault(row.points, {})[f"{row.feature} {row.condition}"] = None
    levels = sorted(cases)
    return Voter(
        lines.name, tuple(map(Fraction, levels)), tuple(tuple(cases[level]) for level in levels)
    )


def _of_others(levels: Sequence[Sequence[int]]) -> Iterator[tuple[int, _Counts]]:
    """Yield per voter the combinations of all others: {total: number by how many have spoken}."""
    # one who has not spoken stands at 0 and counts as often as it has levels, so that all divide by
    # the same product
    n = len(levels)
    none = np.zeros(n, dtype=object)
    none[0] = 1

    def parted(state: _Counts, some: list[int]) -> Iterator[tuple[int, _Counts]]:
        if len(some) == 1:
            yield some[0], state
            return
        halves = some[: len(some) // 2], some[len(some) // 2 :]
        for inside, outside in (halves, halves[::-1]):
            own = state
            for i in outside:
                own = _with_voter(own, levels[i])
            yield from parted(own, inside)

    yield from parted({0: none}, list(range(n)))


def _with_voter(state: _Counts, own: Sequence[int]) -> _Counts:
    """The counts with one more voter."""
    found: _Counts = {}
    for total, counts in state.items():
        spoken = np.concatenate(([0], counts[:-1]))
        for level, more in ((0, counts * len(own)), *((level, spoken) for level in own)):
            known = found.get(total + level)
            found[total + level] = more if known is None else known + more
    return found


def _minimal_places(levels: Mapping[int, Sequence[int]], quota: int) -> Iterator[dict[int, int]]:
    """Yield the smallest choices of levels whose sum reaches a quota, by place, largest first."""
    # of voters with two levels these are the minimal winning coalitions; they can be very many
    order = sorted(levels, key=lambda i: (-levels[i][-1], i))
    rest = [*itertools.accumulate((levels[i][-1] for i in reversed(order)), initial=0)][::-1]

    def onwards(k: int, total: int, places: dict[int, int]) -> Iterator[dict[int, int]]:
        if total >= quota:
            needed = (total - levels[i][p] + levels[i][p - 1] for i, p in places.items() if p)
            if all(less < quota for less in needed):
                yield places
        elif total + rest[k] >= quota:
            own = levels[order[k]]
            for place in reversed(range(len(own))):
                yield from onwards(k + 1, total + own[place], {**places, order[k]: place})

    yield from onwards(0, 0, {})


def _profile(chain: _Chain | None) -> Profile:
    """The places along a chain, from the first voter to the last."""
    places: list[int] = []
    while chain is not None:
        place, chain = chain
        places.append(place)
    return tuple(reversed(places))


def _of(k: int, n: int) -> str:
    """So many of n voters have to say yes, as a subject and its verb."""
    if k == n:
        return "both hold" if n == 2 else f"all {_count(n)} hold"
    return f"any of {_count(n)} holds" if k == 1 else f"at least {_count(k)} of {_count(n)} hold"


def _count(k: int) -> str:
    """A small number in words."""
    words = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    return words[k] if k < len(words) else str(k)
