"""The loss of discrete times: the mean log-likelihood of rows at risk, an intercept per interval.

With e_xk the weight of a row x where it is at risk in the interval k (0 where it is not), D_k the
weight of the events there, d_x that of the row's event, N the sum of all e and z the scores,

    loss = ( sum_k min over b of [ sum_x e_xk log(1 + exp(b + z_x)) - D_k b ] - sum_x d_x z_x ) / N.

Lines. For any p in [0, 1] and h(p) = -p log p - (1 - p) log(1 - p)

    log(1 + exp(b + z)) >= h(p) + p (b + z).

Where sum_x e_xk p_xk = D_k, which is kept exactly, b cancels, and the loss is at least

    ( sum_k sum_x e_xk h(p_xk)  +  sum_x ( sum_k e_xk p_xk - d_x ) z_x ) / N.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from operator import mul
from typing import Any

from milpscore_check.cards import GRID, Cards, floor
from milpscore_check.hazards import ONE, Hazards, Pair, enclosed

_STEPS = 200  # halvings of the range of an intercept


def lives_of(data: Any, cards: Cards) -> Hazards:
    """The loss of times that the cards name."""
    discrete = cards.survival is not None and cards.survival["exposure"] == "discrete"
    return (Periods if discrete else Hazards)(data, cards)


class Periods(Hazards):
    """Rows at risk and events of a table's merged rows, in discrete time."""

    def __init__(self, data: Any, cards: Cards) -> None:
        super().__init__(data, cards)
        at_risk = [sum(own) for own in zip(*self.exposed, strict=True)]
        # in whole multiples of an interval's grain
        self.events = [total / grain for total, grain in zip(self.total, self.grain, strict=True)]
        self.whole = sum(map(mul, self.grain, at_risk), Fraction(0))
        self.all_died = [i for i in self.used if self.events[i] == at_risk[i]]
        self.used = [i for i in self.used if i not in self.all_died]

    def _groups(self, scores: Sequence[Fraction]) -> tuple[list[Fraction], list[list[int]]]:
        """The distinct scores, and how much is at risk at each, interval by interval."""
        sums: dict[Fraction, list[int]] = defaultdict(lambda: [0] * len(self.total))
        for z, own in zip(scores, self.exposed, strict=True):
            held = sums[z]
            for i, e in enumerate(own):
                held[i] += e
        return [*sums], [*sums.values()]

    def _intercept(self, i: int, distinct: list[Fraction], at_risk: list[list[int]]) -> float:
        """The best intercept of an interval, nearly."""
        own = [(float(z), float(e[i])) for z, e in zip(distinct, at_risk, strict=True) if e[i]]
        events, everything = float(self.events[i]), sum(e for _, e in own)
        flat = math.log(events / (everything - events)) if events < everything else 700.0
        low, high = flat - max(z for z, _ in own), flat - min(z for z, _ in own)
        for _ in range(_STEPS):
            b = (low + high) / 2
            if not low < b < high:
                break
            if sum(e * _chance(b + z) for z, e in own) < events:
                low = b
            else:
                high = b
        return (low + high) / 2

    def _all(self, scores: Sequence[Fraction]) -> Fraction:
        """What is linear whatever the line is: scores of events, and where all at risk have one."""
        found = -sum(map(mul, self.died, scores), Fraction(0))
        for i in self.all_died:
            found += self.grain[i] * sum(
                (own[i] * z for own, z in zip(self.exposed, scores, strict=True)), Fraction(0)
            )
        return found

    def loss(self, scores: Sequence[Fraction]) -> Pair:
        """The mean loss at exact scores, enclosed."""
        from milpscore_check.proof import softplus

        distinct, at_risk = self._groups(scores)
        least = most = self._all(scores)
        for i in self.used:
            own = [(e[i], z) for z, e in zip(distinct, at_risk, strict=True) if e[i]]
            b = Fraction(self._intercept(i, distinct, at_risk))
            low, high = (
                sum(e * softplus(b + z)[side] for e, z in own) - self.events[i] * b
                for side in (0, 1)
            )
            # in b it is convex, and least no farther away than scores lie apart
            slopes = (
                sum(e * _chances(b + z)[side] for e, z in own) - self.events[i] for side in (0, 1)
            )
            apart = 1 + max(z for _, z in own) - min(z for _, z in own)
            low -= apart * max(map(abs, slopes))
            least, most = least + self.grain[i] * low, most + self.grain[i] * high
        return least / self.whole, most / self.whole

    def line(self, scores: Sequence[Fraction]) -> tuple[int, list[Fraction]]:
        """(constant in 2^-GRID, pull of each row): the loss is >= constant + sum pull z."""
        from milpscore_check.proof import height

        distinct, at_risk = self._groups(scores)
        constant = Fraction(0)
        pulled: dict[Fraction, list[Fraction]] = {
            z: [Fraction(i in self.all_died) * self.grain[i] for i in range(len(self.total))]
            for z in distinct
        }
        for i in self.used:
            b = self._intercept(i, distinct, at_risk)
            p = [Fraction(round(ONE * _chance(b + float(z)))) for z in distinct]
            weight = [own[i] for own in at_risk]
            room = [e * min(own, ONE - own) for e, own in zip(weight, p, strict=True)]
            most = max(range(len(p)), key=room.__getitem__)
            excess = sum(map(mul, weight, p), Fraction(0)) - self.events[i] * ONE
            if excess and abs(excess) <= room[most]:
                p[most] -= excess / weight[most]
            elif excess:  # the same chance for all is a line, too
                p = [self.events[i] * ONE / sum(weight)] * len(p)
            for z, e, own in zip(distinct, weight, p, strict=True):
                if e:
                    found = height("logistic", own.numerator, ONE * own.denominator)
                    constant += self.grain[i] * e * found
                pulled[z][i] = self.grain[i] * own / ONE
        pull = [
            (sum(map(mul, own, pulled[z]), Fraction(0)) - d) / self.whole
            for own, z, d in zip(self.exposed, scores, self.died, strict=True)
        ]
        return floor(constant / self.whole / (1 << GRID)), pull


def _chances(z: Fraction) -> Pair:
    """1 / (1 + exp(-z)), enclosed."""
    from milpscore_check.proof import _CONTEXT

    low, high = enclosed(_CONTEXT.exp, max(-abs(z), Fraction(-100)))  # e^-100 < 1e-28
    ends = low / (1 + low), high / (1 + high)
    return ends if z < 0 else (1 - ends[1], 1 - ends[0])


def _chance(z: float) -> float:
    """1 / (1 + exp(-z))."""
    return 1.0 / (1.0 + math.exp(-z)) if z > -700.0 else 0.0
