"""The loss of times to an event: minus the log of a likelihood whose baseline is profiled out.

Time is cut at c_1 < ... < c_K; an interval holds its end. With e_xk the exposure of a row x in the
interval k, times its weight, d_x the weight of its event, D_k the sum of d over the events of an
interval, S the sum of the weights, c a constant and z the scores,

    loss = ( sum_k D_k log sum_x e_xk exp(z_x)  -  sum_x d_x z_x  -  c ) / S,
    c = sum_k D_k log D_k + sum over rows with an event of d log (exposure in the event's interval).

By the inequality below, with v of a row d over its exposure if its event lies in the interval, else
0, the loss is >= 0.

Lines. For any v_x >= 0, s_k = sum_x e_xk v_x > 0 and p_xk = e_xk v_x / s_k, by Jensen's inequality

    log sum_x e_xk exp(z_x) = log sum_x p_xk exp(z_x + log (s_k / v_x))
                           >= log s_k + sum_x p_xk (z_x - log v_x).

With q_x = sum_k D_k p_xk / S the loss is so at least

    sum_k D_k log(s_k) / S  -  sum_x q_x log v_x  +  sum_x (q_x - d_x / S) z_x.

The q are rounded: what that can change is taken off, a bound on all scores times all errors.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from operator import mul
from typing import Any, NamedTuple

from milpscore_check.cards import GRID, Cards, floor
from milpscore_check.values import Refused

_GUARD = 40  # binary digits of q beyond those of the bound
ONE = 1 << 48  # exp(z) of the least score
FARTHEST = 5_000  # below the largest score: lines are drawn as if others lay there


Pair = tuple[Fraction, Fraction]  # lower and upper end


class Life(NamedTuple):
    """When a row came under observation, and when it was last seen."""

    entry: Fraction
    time: Fraction


def enclosed(function: Any, q: Fraction) -> Pair:
    """A logarithm or an exponential, enclosed."""
    from milpscore_check.proof import _enclosed

    return _enclosed(function, q)


@lru_cache(1 << 16)
def _log(n: int, d: int) -> Pair:
    """log(n / d), enclosed."""
    from milpscore_check.proof import _CONTEXT

    return enclosed(_CONTEXT.ln, Fraction(n, d))


def _times(weight: Fraction, ends: Pair) -> Pair:
    """A weight, which is not below 0, times an enclosure."""
    return weight * ends[0], weight * ends[1]


def _exposure(life: Life, event: bool, start: Fraction, end: Fraction, kind: str) -> Fraction:
    """The exposure of a row in an interval."""
    if kind == "time":
        return max(Fraction(0), min(life.time, end) - max(life.entry, start))
    through = life.time >= end or (event and start < life.time)
    return Fraction(life.entry < end and through)


def _in_grains(exposed: list[list[Fraction]]) -> tuple[list[list[int]], list[Fraction]]:
    """Exposures as whole multiples of one grain per interval."""
    columns, grain = [], []
    for column in zip(*exposed, strict=True):
        common = math.lcm(*(e.denominator for e in column))
        columns.append([int(e * common) for e in column])
        grain.append(Fraction(1, common))
    return [list(row) for row in zip(*columns, strict=True)], grain


class Hazards:
    """Exposures and events of a table's merged rows."""

    def __init__(self, data: Any, cards: Cards) -> None:
        if cards.survival is None or data.lives is None:
            raise Refused("the loss 'survival' needs cuts, and a table with times")
        self.data, self.cards = data, cards
        cuts, kind = cards.survival["cuts"], cards.survival["exposure"]
        if (
            kind not in ("time", "at_risk", "discrete")
            or not cuts
            or sorted({*cuts}) != cuts
            or cuts[0] <= 0
        ):
            raise Refused("the cuts of time are not ascending, or exposure is of no known kind")
        spans = [*zip([Fraction(0), *cuts[:-1]], cuts, strict=True)]
        rows, count = len(data.classes), len(cuts)
        exposed = [[Fraction(0)] * count for _ in range(rows)]
        self.died, self.total = [Fraction(0)] * rows, [Fraction(0)] * count
        logs = list[Pair]()  # of what c is the sum of
        for k, life, event, weight in data.lives:
            for i, (start, end) in enumerate(spans):
                lived = _exposure(life, event, start, end, kind)
                exposed[k][i] += weight * lived
                if event and start < life.time <= end:
                    self.died[k] += weight
                    self.total[i] += weight
                    logs.append(_times(weight, _log(lived.numerator, lived.denominator)))
        logs += [_times(d, _log(d.numerator, d.denominator)) for d in self.total if d]
        self.least, self.most = (-sum((own[side] for own in logs), Fraction(0)) for side in (1, 0))
        self.whole = sum((weight for *_, weight in data.lives), Fraction(0))
        self.exposed, self.grain = _in_grains(exposed)
        self.used = [i for i in range(count) if self.total[i]]
        most = [max(map(abs, values), default=0) for values in cards.values]
        far = [max(map(abs, column), default=0) for column in data.columns]
        # scores of all cards lie within it
        self.reach = Fraction(sum(a * b for a, b in zip(most, far, strict=True)), data.unit)
        self.reach /= cards.scale[0]

    def loss(self, scores: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
        """The mean loss at exact scores, enclosed."""
        from milpscore_check.proof import _CONTEXT

        exp = lru_cache(None)(lambda z: enclosed(_CONTEXT.exp, max(z, Fraction(-100))))
        least = most = -sum(map(mul, self.died, scores), Fraction(0))
        least, most = least + self.least, most + self.most
        for i in self.used:
            own = [(e[i], z) for e, z in zip(self.exposed, scores, strict=True) if e[i]]
            top = max(z for _, z in own)
            low = self.grain[i] * sum(e * exp(z - top)[0] for e, z in own if z > top - 50)
            high = self.grain[i] * sum(e * exp(z - top)[1] for e, z in own)
            least += self.total[i] * (enclosed(_CONTEXT.ln, low)[0] + top)
            most += self.total[i] * (enclosed(_CONTEXT.ln, high)[1] + top)
        return least / self.whole, most / self.whole

    def line(self, scores: Sequence[Fraction]) -> tuple[int, list[Fraction]]:
        """(constant in 2^-GRID, pull of each row): the loss is >= constant + sum pull z."""
        # whole numbers v near exp(z), up to a factor they share
        least = max(min(scores), max(scores) - FARTHEST)
        powers = [divmod(max(float(z - least), 0.0), math.log(2.0)) for z in scores]
        v = [round(ONE * math.exp(rest)) << int(n) for n, rest in powers]
        sums = [sum(own[i] * x for own, x in zip(self.exposed, v, strict=True)) for i in self.used]
        digits = max(map(int.bit_length, sums), default=0) + GRID + _GUARD
        rates = [self.total[i] / self.whole for i in self.used]
        parts = [
            (rate.numerator << digits) // (rate.denominator * s)
            for rate, s in zip(rates, sums, strict=True)
        ]
        q = [
            x * sum(part * own[i] for part, i in zip(parts, self.used, strict=True))
            for x, own in zip(v, self.exposed, strict=True)
        ]
        constant = self.least / self.whole
        for rate, s, i in zip(rates, sums, self.used, strict=True):
            grain = self.grain[i]
            constant += rate * _log(s * grain.numerator, grain.denominator)[0]
        for x, own in zip(v, q, strict=True):
            constant -= Fraction(own, 1 << digits) * _log(x, 1)[1]
        # q is rounded down, in all by less than one part of each sum
        lost = Fraction(sum(sums), 1 << digits)
        constant -= lost * (_log(max(v), 1)[1] + self.reach)
        pull = [
            Fraction(own, 1 << digits) - d / self.whole for own, d in zip(q, self.died, strict=True)
        ]
        return floor(constant), pull
