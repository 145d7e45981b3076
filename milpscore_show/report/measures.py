"""How well totals tell the classes apart, and how right the risks are, with 95 % intervals.

Every measure is computed from the weight of both classes at each total, so that a thousand
bootstrap samples of a million rows are a thousand small tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit

from milpscore.core.design import BoolArray, FloatArray, IntArray
from milpscore.metrics import net_benefit
from milpscore.scorecard import Scorecard
from milpscore.scorecard.risks import Z95, wilson

DRAWS = 1000
"""Bootstrap samples of the rows behind an interval of a card that stays as it is."""

SPAN = 0.75
"""Share of the weight that a point of the smooth calibration curve looks at, as loess has it."""

MEASURES = {
    "auc": ("AUC", ".3f"),
    "brier": ("Brier score", ".4f"),
    "slope": ("Calibration slope", ".2f"),
    "intercept": ("Calibration intercept", ".2f"),
    "ratio": ("Observed / expected", ".2f"),
    "ici": ("ICI", ".3f"),
    "error": ("Error", ".1%"),
    "sensitivity": ("Sensitivity", ".1%"),
    "specificity": ("Specificity", ".1%"),
}
"""What is measured, what stands beside it, and the form of its figure."""

OF_ANSWERS = ("error", "sensitivity", "specificity")

GRID = np.linspace(0.0, 1.0, 101)
_CELLS = 4_000_000
_MOST_POINTS = 100
_STEPS = 60


@dataclass(frozen=True)
class Estimate:
    """A figure and its 95 % interval; NaN where there is none."""

    value: float
    lower: float = math.nan
    upper: float = math.nan

    def moved(self, by: float) -> Estimate:
        """The same, figure and interval moved alike."""
        return Estimate(self.value + by, self.lower + by, self.upper + by)


@dataclass(frozen=True, eq=False)
class Gathered:
    """Rows of positive weight by their total; the first axis of two is negative, positive."""

    totals: FloatArray  # (m,), distinct, ascending
    risk: FloatArray | None  # (m,), as the card states it
    answer: BoolArray  # (m,), whether it is positive
    mass: FloatArray  # (2, m), weight
    square: FloatArray  # (2, m), sum of squared weights, of single rows
    rows: IntArray  # (2, m)
    cells: FloatArray  # (3, k): place in (2, m), weight of a row, number of rows

    @classmethod
    def of(
        cls, card: Scorecard, totals: FloatArray, hit: BoolArray, weight: FloatArray, rows: IntArray
    ) -> Gathered:
        """What a card gives rows of these totals, classes, weights and numbers of rows."""
        kept = weight > 0
        totals, hit, weight, rows = totals[kept], hit[kept], weight[kept], rows[kept]
        distinct, where = np.unique(totals, return_inverse=True)
        place, m = where + hit * len(distinct), len(distinct)

        def added(amount: FloatArray | IntArray) -> FloatArray:
            sums = np.bincount(place, weights=amount, minlength=2 * m)
            return sums.astype(np.float64).reshape(2, m)

        pairs, group = np.unique(np.stack([place, weight / rows]), axis=1, return_inverse=True)
        return cls(
            totals=distinct,
            risk=None if card.risk is None else card.risks(distinct),
            answer=np.asarray(card.rule.positive(distinct)),
            mass=added(weight),
            square=added(weight**2 / rows),
            rows=added(rows).astype(np.int64),
            cells=np.vstack([pairs, np.bincount(group.ravel(), weights=rows)]),
        )

    @property
    def by_class(self) -> tuple[BoolArray, FloatArray]:
        """Class and weight of each total, the negative ones first, shape (2 m,)."""
        return np.repeat([False, True], len(self.totals)), self.mass.ravel()

    @property
    def stated(self) -> FloatArray:
        """The risks in that order; 0 and 1 of a card that only decides."""
        own = self.answer if self.risk is None else self.risk
        return np.tile(own.astype(np.float64), 2)

    def worth(self, *part: Any) -> float:
        """How many rows of equal weight a part of (2, m) is worth: a class, some totals, or all."""
        square = float(self.square[part].sum())
        return float(self.mass[part].sum()) ** 2 / square if square > 0 else 0.0

    @property
    def whole(self) -> bool:
        """Whether there are rows of both classes."""
        return bool((self.mass.sum(axis=1) > 0).all())

    def samples(self, draws: int, random_state: int) -> Iterator[FloatArray]:
        """Weights of bootstrap samples of the rows, shape (size, 2, m), some at a time."""
        random = np.random.default_rng(random_state)
        place, weight, number = self.cells
        places, m = place.astype(np.intp), len(self.totals)
        starts = np.flatnonzero(np.r_[True, np.diff(places) > 0])
        step = max(1, _CELLS // max(len(places), 2 * m))
        for first in range(0, draws, step):
            size = min(step, draws - first)
            drawn = random.multinomial(int(number.sum()), number / number.sum(), size=size) * weight
            found = np.zeros((size, 2 * m))
            found[:, places[starts]] = np.add.reduceat(drawn, starts, axis=1)
            yield found.reshape(size, 2, m)


@dataclass(frozen=True)
class Roc:
    """The ROC curve of the totals, from (0, 0) to (1, 1); straight lines halve ties."""

    false: FloatArray  # rates, shape (m + 1,)
    true: FloatArray
    lower: FloatArray  # the pointwise 95 % band of the true rate at GRID
    upper: FloatArray


def measured(given: Gathered, mass: FloatArray, *, smooth: bool = True) -> dict[str, FloatArray]:
    """The measures of samples of weights, shape (d, 2, m); NaN where a sample has none."""
    negative, positive = mass[:, 0], mass[:, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        all_negative, all_positive = mass.sum(axis=2).T
        every = all_negative + all_positive
        below = np.cumsum(negative, axis=1) - negative / 2
        found_true = positive[:, given.answer].sum(axis=1)
        found_false = negative[:, given.answer].sum(axis=1)
        found: dict[str, FloatArray] = {
            "auc": (positive * below).sum(axis=1) / (all_negative * all_positive)
        }
        if given.risk is not None:
            risk, score = given.risk, logit(np.clip(given.risk, 1e-15, 1 - 1e-15))
            found |= {
                "brier": (positive @ (1 - risk) ** 2 + negative @ risk**2) / every,
                "slope": recalibrated(score, mass)[:, 1],
                "intercept": recalibrated(score, mass, slope=False)[:, 0],
                "ratio": all_positive / ((positive + negative) @ risk),
            }
            if smooth:
                found["ici"] = integrated_calibration(risk, mass)
        found |= {
            "error": (found_false + all_positive - found_true) / every,
            "sensitivity": found_true / all_positive,
            "specificity": 1 - found_false / all_negative,
        }
    return found


def recalibrated(score: FloatArray, mass: FloatArray, *, slope: bool = True) -> FloatArray:
    """Intercept and slope of the classes on the score by logistic regression, shape (d, 2)."""
    middle, spread = (score.mean(), score.std() or 1.0) if slope else (0.0, 1.0)
    Z = np.stack([np.ones_like(score), (score - middle) / spread])[: 1 + slope]
    fixed = 0.0 if slope else score
    hits, every = mass[:, 1], mass.sum(axis=1)
    there = mass > 0
    first, last = there.argmax(axis=2), mass.shape[2] - 1 - there[:, :, ::-1].argmax(axis=2)
    fine: BoolArray = np.all(there.any(axis=2), axis=1)
    if slope:
        fine &= (last[:, 0] > first[:, 1]) & (last[:, 1] > first[:, 0])
    beta = np.full((len(mass), 2), np.nan)
    beta[:, 1] = np.where(fine, 1.0, np.nan)
    own = np.zeros((int(fine.sum()), len(Z)))
    hits, every = hits[fine], every[fine]
    for _ in range(_STEPS):
        p = expit(fixed + own @ Z)
        bend = np.einsum("dm,im,jm->dij", every * p * (1 - p), Z, Z)
        step = np.linalg.solve(bend, ((hits - every * p) @ Z.T)[:, :, None])[:, :, 0]
        own += np.clip(step, -2.0, 2.0)  # far from the answer Newton's step can lead away from it
        if np.abs(step).max(initial=0.0) < 1e-10:
            break
    else:
        own[np.abs(step).max(axis=1) > 1e-6] = np.nan
    if slope:
        beta[fine, 1] = own[:, 1] / spread
        beta[fine, 0] = own[:, 0] - middle * beta[fine, 1]
    else:
        beta[fine, 0] = own[:, 0]
    return beta


def smoothed(risk: FloatArray, mass: FloatArray, span: float = SPAN) -> FloatArray:
    """Observed share at each risk (m,) by local lines, shape (d, m), of weights (d, 2, m)."""
    far = np.abs(risk[:, None] - risk[None, :])
    order = np.argsort(far, axis=1, kind="stable")
    near = np.take_along_axis(far, order, axis=1)
    off = risk[None, :] - risk[:, None]
    found = np.empty((len(mass), len(risk)))
    step = max(1, _CELLS // max(len(risk) ** 2, 1))
    for first in range(0, len(mass), step):
        part = slice(first, first + step)
        every = mass[part].sum(axis=1)
        held = np.cumsum(every[:, order], axis=2)
        enough = held >= span * held[:, :, -1:] * (1 - 1e-9)
        reach = near[np.arange(len(risk)), enough.argmax(axis=2)][:, :, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            u = np.where(far > 0, far / reach, 0.0)
            W = np.clip(1 - u**3, 0.0, None) ** 3
            own, hit = W * every[:, None, :], W * mass[part][:, 1, None, :]
            s0, s1, s2 = (np.sum(own * off**k, axis=2) for k in range(3))
            t0, t1 = (np.sum(hit * off**k, axis=2) for k in range(2))
            bend = s0 * s2 - s1**2
            line = (s2 * t0 - s1 * t1) / bend
            found[part] = np.clip(np.where(bend > 1e-12 * s0**2, line, t0 / s0), 0.0, 1.0)
    return found


def condensed(risk: FloatArray, mass: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Risks and weights (d, 2, m) with neighbours put together where risks are very many."""
    if len(risk) <= _MOST_POINTS:
        return risk, mass
    starts = np.unique(np.linspace(0, len(risk), _MOST_POINTS, endpoint=False).astype(np.intp))
    own = mass.sum(axis=(0, 1))
    middle = np.add.reduceat(risk * own, starts) / np.add.reduceat(own, starts)
    return middle, np.add.reduceat(mass, starts, axis=2)


def integrated_calibration(risk: FloatArray, mass: FloatArray) -> FloatArray:
    """Mean distance of the stated risks from the smooth curve, shape (d,): the ICI."""
    risk, mass = condensed(risk, mass)
    every = mass.sum(axis=1)
    distance = np.abs(smoothed(risk, mass) - risk)
    found: FloatArray = np.nansum(every * distance, axis=1) / every.sum(axis=1)
    return found


def performance_of(given: Gathered, random_state: int = 0) -> tuple[dict[str, Estimate], Roc]:
    """Every measure with its interval, and the ROC curve with its band."""
    values = {name: float(v[0]) for name, v in measured(given, given.mass[None]).items()}
    kept: list[dict[str, FloatArray]] = []
    bands: list[FloatArray] = []
    for mass in given.samples(DRAWS, random_state) if given.whole else ():
        kept.append(measured(given, mass, smooth=False))
        pairs = zip(*_rates(mass), strict=True)
        bands.append(np.array([np.interp(GRID, false, true) for false, true in pairs]))
    shares = at_cut(given, given.answer)
    found = {name: Estimate(value) for name, value in values.items()}
    for name in kept[0] if kept else ():
        drawn = np.concatenate([each[name] for each in kept])
        drawn = drawn[np.isfinite(drawn)]
        if math.isfinite(values[name]) and len(drawn) >= DRAWS // 2:
            lower, upper = np.percentile(drawn, [2.5, 97.5]).tolist()
            found[name] = Estimate(values[name], lower, upper)
    found |= {name: shares[name] for name in OF_ANSWERS}
    false, true = _rates(given.mass[None])
    band = np.full((2, len(GRID)), np.nan)
    if bands:
        band = np.nanpercentile(np.concatenate(bands), [2.5, 97.5], axis=0)
    return found, Roc(false[0], true[0], *band)


def _rates(mass: FloatArray) -> FloatArray:
    """False and true rates from the highest total down, from 0 to 1, shape (2, d, m + 1)."""
    summed = np.cumsum(mass[:, :, ::-1], axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = summed / summed[:, :, -1:]
    return np.moveaxis(np.concatenate([np.zeros((len(mass), 2, 1)), shares], axis=2), 1, 0)


def at_cut(given: Gathered, answer: BoolArray) -> dict[str, Estimate]:
    """Shares and likelihood ratios of positive answers at some totals (m,)."""
    inside = [given.mass[:, side].sum(axis=1) for side in (answer, ~answer)]
    (false, true), (rejected, missed) = inside
    every, n_negative, n_positive = given.mass.sum(), given.worth(0), given.worth(1)
    found = {
        "sensitivity": _share(true, true + missed, n_positive),
        "specificity": _share(rejected, false + rejected, n_negative),
        "ppv": _share(true, true + false, given.worth(slice(None), answer)),
        "npv": _share(rejected, rejected + missed, given.worth(slice(None), ~answer)),
        "error": _share(false + missed, every, given.worth()),
    }
    sensitivity, specificity = found["sensitivity"].value, found["specificity"].value
    found["lr_positive"] = _ratio(sensitivity, 1 - specificity, n_positive, n_negative)
    found["lr_negative"] = _ratio(1 - sensitivity, specificity, n_positive, n_negative)
    return found


def in_group(given: Gathered, inside: BoolArray) -> dict[str, Any]:
    """Rows, positive rows, their share and the likelihood ratio of a group of totals (m,)."""
    (negative, positive), (of_negative, of_positive) = (
        mass.sum(axis=1) for mass in (given.mass[:, inside], given.mass)
    )
    n_negative, n_positive = given.worth(0), given.worth(1)
    return {
        "rows": int(given.rows[:, inside].sum()),
        "events": int(given.rows[1, inside].sum()),
        "observed": _share(positive, positive + negative, given.worth(slice(None), inside)),
        "lr": _ratio(positive / of_positive, negative / of_negative, n_positive, n_negative),
    }


def _share(part: float, whole: float, rows: float) -> Estimate:
    """A share with Wilson's interval; NaN of nothing."""
    if not whole > 0:
        return Estimate(math.nan)
    share = float(part / whole)
    lower, upper = wilson(np.array([share]), np.array([rows]))
    return Estimate(share, float(lower[0]), float(upper[0]))


def _ratio(top: float, bottom: float, n_top: float, n_bottom: float) -> Estimate:
    """Return a ratio of two shares, with the interval of its logarithm."""
    if math.isnan(top) or math.isnan(bottom):
        return Estimate(math.nan)
    if not (top > 0 and bottom > 0):
        return Estimate(math.inf if top > 0 else 0.0 if bottom > 0 else math.nan)
    spread = Z95 * math.sqrt((1 - top) / (top * n_top) + (1 - bottom) / (bottom * n_bottom))
    ratio = top / bottom
    return Estimate(ratio, ratio * math.exp(-spread), ratio * math.exp(spread))


def net_benefits(given: Gathered, risks: FloatArray) -> Mapping[str, FloatArray]:
    """Net benefit of acting by the card, on all rows and on none, at each risk to act from (k,)."""
    y, mass = given.by_class
    own = net_benefit(y, given.stated, risks, mass)
    everybody = net_benefit(y, np.ones(len(y)), risks, mass)
    return {"card": own, "all": everybody, "none": np.zeros(len(risks))}
