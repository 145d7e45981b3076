"""Measures of a linear model in floating point: losses, accuracy, AUC, gap; size, integrity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from importlib.util import find_spec
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from milpscore.core.card import DecisionRule
from milpscore.core.design import BoolArray, FloatArray, as_fraction, common_step
from milpscore.core.errors import DataError, OptionError, optional
from milpscore.core.result import relative_gap
from milpscore.data.checking import row_weights
from milpscore.data.survival import SurvivalDesign
from milpscore.losses import Hinge

Weights = npt.ArrayLike | None


def accuracy(y: npt.ArrayLike, predicted: npt.ArrayLike, weight: Weights = None) -> float:
    """Return the weighted share of rows answered correctly.

    Parameters
    ----------
    y, predicted : arrays of shape (n,)
        Labels of one kind.
    weight : array of shape (n,), optional
        Non-negative row weights; 1 each by default.

    Returns
    -------
    float
        In [0, 1].
    """
    return _mean(np.asarray(y) == np.asarray(predicted), weight)


def auc(y: npt.ArrayLike, scores: npt.ArrayLike, weight: Weights = None) -> float:
    """Return the weighted area under the ROC curve; equal scores count one half.

    Parameters
    ----------
    y : array of shape (n,)
        Classes; positive where > 0 (so -1/+1, 0/1 and booleans all work).
    scores : array of shape (n,)
        Totals or decision values; higher means more positive.
    weight : array of shape (n,), optional

    Returns
    -------
    float

    Raises
    ------
    DataError
        If only one class carries weight: the area is not defined then.
    """
    from sklearn.metrics import roc_auc_score

    positive = np.asarray(y, dtype=np.float64) > 0
    row_weight = row_weights(weight, len(positive))
    if not row_weight[positive].sum() > 0 or not row_weight[~positive].sum() > 0:
        raise DataError("the AUC needs rows of both classes; only one class is present")
    return float(roc_auc_score(positive, np.asarray(scores), sample_weight=row_weight))


CONCORDANCE_NEEDS = "Harrell's C needs scikit-survival: pip install 'milpscore[survival]'"


def concordance(event: Any, time: Any, totals: Any) -> float:
    """Harrell's C, by scikit-survival: how often the higher of two totals has the earlier event.

    Parameters
    ----------
    event, time, totals : arrays of shape (n,)

    Returns
    -------
    float
        Between 0 and 1; 1/2 if all totals are equal.

    Raises
    ------
    DataError
        No event comes before another row's time: no two rows have an order.
    MissingDependencyError
        scikit-survival is not installed.
    """
    measures = optional("sksurv.metrics", CONCORDANCE_NEEDS)
    event, time = np.asarray(event, dtype=bool), np.asarray(time, dtype=np.float64)
    if not _has_order(event, time):
        raise DataError("no event comes before another row's time: Harrell's C is not defined")
    found = measures.concordance_index_censored(event, time, np.asarray(totals, dtype=float))
    return float(found[0])


def concordance_of(design: SurvivalDesign, totals: Any) -> float:
    """:func:`concordance` on a design's rows; NaN without scikit-survival, or if not defined."""
    known = find_spec("sksurv") is not None and _has_order(design.event, design.time)
    return concordance(design.event, design.time, totals) if known else math.nan


def _has_order(event: BoolArray, time: FloatArray) -> bool:
    """Whether some event comes before another row's time."""
    first = time[event].min(initial=np.inf)
    return bool(np.where(event, time > first, time >= first).any())


def auc_variance(y: npt.ArrayLike, scores: npt.ArrayLike) -> float:
    """Return the variance of an AUC over samples of rows, by DeLong's placements.

    Parameters
    ----------
    y, scores : arrays of shape (n,)
        As in :func:`auc`; rows of equal weight.

    Returns
    -------
    float

    Raises
    ------
    DataError
        If a class has fewer than two rows.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson, Biometrics 44 (1988); Sun and Xu, IEEE Signal Processing
    Letters 21 (2014): by ranks.
    """
    from scipy.stats import rankdata

    positive, values = np.asarray(y, dtype=np.float64) > 0, np.asarray(scores, dtype=np.float64)
    sides = values[positive], values[~positive]
    if min(map(len, sides)) < 2:
        raise DataError("the variance of an AUC needs two rows of each class at least")
    ranks = rankdata(values)
    # how many rows of the other class lie below each, of this class above
    above = (ranks[positive] - rankdata(sides[0])) / len(sides[1])
    below = (ranks[~positive] - rankdata(sides[1])) / len(sides[0])
    return float(above.var(ddof=1) / len(above) + below.var(ddof=1) / len(below))


class Rubin(NamedTuple):
    """An estimate over imputed tables.

    Attributes
    ----------
    value : float
    variance : float
        Within the tables and between them.
    lower, upper : float
        The interval, by Student's t.
    missing_information : float
        Share of the variance that is due to the holes.
    """

    value: float
    variance: float
    lower: float
    upper: float
    missing_information: float


def rubin(estimates: npt.ArrayLike, variances: npt.ArrayLike, level: float = 0.95) -> Rubin:
    """Pool an estimate of M imputed tables by Rubin's rules.

    Parameters
    ----------
    estimates, variances : arrays of shape (M,)
        The estimate of each table, say its AUC, and its variance (:func:`auc_variance`); M >= 2.
    level : float in (0, 1)

    Returns
    -------
    Rubin

    Raises
    ------
    DataError
        There are fewer than two tables, the lengths differ, or a number is not finite.
    OptionError
        For a level out of range.

    References
    ----------
    Rubin, Multiple Imputation for Nonresponse in Surveys (1987), section 3.3.
    """
    from scipy.stats import t

    values, within = (np.asarray(each, dtype=np.float64) for each in (estimates, variances))
    fine = values.shape == within.shape and values.ndim == 1 and len(values) > 1
    if not fine or not np.isfinite([values, within]).all() or (within < 0).any():
        raise DataError("Rubin's rules need an estimate and a variance of two tables at least")
    if not 0.0 < level < 1.0:
        raise OptionError(f"level must lie between 0 and 1, got {level!r}")
    count, mean = len(values), float(values.mean())
    inside = float(within.mean())
    between = (1.0 + 1.0 / count) * float(values.var(ddof=1))
    total = inside + between
    if total == 0.0:
        return Rubin(mean, 0.0, mean, mean, 0.0)
    share = between / total
    freedom = np.inf if share == 0.0 else (count - 1) / share**2
    half = float(t.ppf(0.5 + level / 2.0, freedom)) * math.sqrt(total)
    return Rubin(mean, total, mean - half, mean + half, share)


def net_benefit(
    y: npt.ArrayLike, risk: npt.ArrayLike, thresholds: npt.ArrayLike, weight: Weights = None
) -> FloatArray:
    """Return the net benefit of acting on the rows whose risk reaches each threshold.

    Parameters
    ----------
    y : array of shape (n,)
        Classes; positive where > 0.
    risk : array of shape (n,)
        Stated risks; 1 everywhere for acting on everybody.
    thresholds : array of shape (k,), values in [0, 1)
        Risks from which one would act; the odds are what a false alarm costs.
    weight : array of shape (n,), optional

    Returns
    -------
    ndarray of shape (k,)
        Share of true positives minus the odds times the share of false ones.

    References
    ----------
    Vickers & Elkin, "Decision curve analysis", Medical Decision Making 26 (2006).
    """
    stated, at = np.asarray(risk, dtype=np.float64), np.asarray(thresholds, dtype=np.float64)
    share = row_weights(weight, len(stated))
    share = share / share.sum()
    order = np.argsort(stated)
    gain = np.where(np.asarray(y, dtype=np.float64) > 0, share, 0.0)[order]
    first = np.searchsorted(stated[order], at - 1e-9)
    true, every = (np.r_[np.cumsum(part[::-1])[::-1], 0.0][first] for part in (gain, share[order]))
    return np.asarray(true - (every - true) * at / (1 - at))


def zero_one_loss(
    w: npt.ArrayLike,
    intercept: Any,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    weight: Weights = None,
    step: Fraction | None = None,
) -> float:
    """Return the weighted share of rows a card answers wrongly: positive iff w.x >= -intercept.

    Parameters
    ----------
    w : array of shape (p,)
    intercept : int, float or Fraction
        A float is read as the decimal it prints as.
    X : array of shape (n, p)
    y : array of shape (n,), values -1 or +1
    weight : array of shape (n,), optional
    step : Fraction, optional
        The grid of the data; found from X by default.

    Returns
    -------
    float
        In [0, 1].
    """
    values = np.asarray(X, dtype=np.float64)
    rule = DecisionRule(-as_fraction(intercept), common_step(values) if step is None else step)
    answered = np.where(rule.positive(rule.totals(values, w)), 1, -1)
    return _mean(answered != np.asarray(y), weight)


def hinge_loss(
    w: npt.ArrayLike,
    intercept: Any,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    weight: Weights = None,
    margin: float = 1.0,
) -> float:
    """Return the weighted mean of max(0, margin - y (w.x + intercept)) / margin.

    Parameters
    ----------
    w : array of shape (p,)
    intercept : float
    X : array of shape (n, p)
    y : array of shape (n,), values -1 or +1
    weight : array of shape (n,), optional
    margin : float
        Positive; the papers' gamma.

    Returns
    -------
    float

    Raises
    ------
    DataError
        If the margin is not positive.

    References
    ----------
    Chevaleyre, Koriche, Zucker (2013), "Rounding methods for discrete linear classification",
    ICML: the hinge loss with margin gamma.
    """
    if not margin > 0:
        raise DataError(f"the margin of the hinge loss must be positive, not {margin!r}")
    scores = np.asarray(X, dtype=np.float64) @ np.asarray(w, dtype=np.float64) + float(intercept)
    return _mean(Hinge(margin).value(scores, np.asarray(y)), weight)


def gap(objective: float, bound: float) -> float:
    """Return (objective - bound) / max(|objective|, 1e-10), the relative gap; 0 if both are 0.

    Parameters
    ----------
    objective, bound : float

    Returns
    -------
    float
        Infinite where the bound is.
    """
    return float(relative_gap(objective, bound))


def _mean(losses: npt.NDArray[Any], weight: Weights) -> float:
    """Return the weighted mean over rows."""
    return float(np.average(losses, weights=row_weights(weight, len(losses))))


def integrity(w: npt.ArrayLike, tol: float = 1e-6) -> float:
    """Return the share of the coefficients that are integers, zeros included.

    Parameters
    ----------
    w : array of shape (p,)
    tol : float
        Largest distance to the nearest integer that still counts as integer.

    Returns
    -------
    float
        In [0, 1]; 1 for a model without coefficients.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre, Zucker (2020), "Learning interpretable models using soft
    integrity constraints", ACML, section 2.
    """
    values = np.asarray(w, dtype=np.float64)
    return float(np.mean(np.abs(values - np.rint(values)) <= tol)) if values.size else 1.0


def magnitude(w: npt.ArrayLike, ord: float = 1) -> float:
    """Return a norm of the coefficients.

    Parameters
    ----------
    w : array of shape (p,)
    ord : {1, 2, inf}
        Which norm.

    Returns
    -------
    float

    Raises
    ------
    DataError
        If ``ord`` is not 1, 2 or infinity.

    References
    ----------
    Belahcene, Sokolovska, Chevaleyre, Zucker (2020), ACML, section 2.
    """
    if ord not in (1, 2, np.inf):
        raise DataError(f"magnitude knows the norms 1, 2 and inf, not {ord!r}")
    values = np.asarray(w, dtype=np.float64)
    return float(np.linalg.norm(values, ord=ord)) if values.size else 0.0


def nonzeros(w: npt.ArrayLike, tol: float = 1e-6) -> int:
    """Return the number of coefficients further than ``tol`` from zero.

    Parameters
    ----------
    w : array of shape (p,)
    tol : float

    Returns
    -------
    int
    """
    return int(np.count_nonzero(np.abs(np.asarray(w, dtype=np.float64)) > tol))


def total_variation(w: npt.ArrayLike, blocks: Sequence[Sequence[int]]) -> float:
    """Return the sum of the absolute differences of neighbours inside each block.

    Parameters
    ----------
    w : array of shape (p,)
    blocks : sequence of sequences of int
        The ordered bins of each binned feature, as positions in ``w``.

    Returns
    -------
    float
    """
    values = np.asarray(w, dtype=np.float64)
    return float(sum(np.abs(np.diff(values[list(block)])).sum() for block in blocks))


class SelectionStability(NamedTuple):
    """Nogueira's index of stability and its confidence interval; NaN where it is not defined."""

    value: float
    lower: float
    upper: float


def selection_stability(
    selected: npt.ArrayLike, *, candidates: int | None = None, level: float = 0.95
) -> SelectionStability:
    """Measure how alike the choices of features on different samples are (Nogueira et al. 2018).

    Phi = 1 - (mean over features of M/(M-1) p_f (1 - p_f)) / ((k/d) (1 - k/d)), p_f the share of
    the M samples that chose feature f, k the mean number chosen, d the number of features: 1 where
    all samples chose the same, 0 on average where each chose at random (their definition 4). The
    interval is that of their theorem 10, normal and not cut off at 1.

    Parameters
    ----------
    selected : array of shape (M, d)
        Whether each sample chose each feature.
    candidates : int, optional
        Features there were, if some that nobody chose have no column.
    level : float

    Returns
    -------
    SelectionStability
        ``value, lower, upper``; NaN of fewer than two samples, and where all features or none are
        always chosen.

    Raises
    ------
    DataError
        If there are more columns than candidates.
    """
    Z = np.asarray(selected, dtype=np.float64)
    d = Z.shape[1] if candidates is None else candidates
    if Z.ndim != 2 or d < Z.shape[1]:
        raise DataError(f"chosen features of shape {Z.shape} are not samples of {d} features")
    M, shares = len(Z), Z.mean(axis=0) if len(Z) else Z.sum(axis=0)
    sizes = Z.sum(axis=1)
    k = float(shares.sum())
    chance = k / d * (1 - k / d) if d else 0.0
    if M < 2 or chance <= 0:
        return SelectionStability(math.nan, math.nan, math.nan)
    value = 1 - M / (M - 1) * float(shares @ (1 - shares)) / d / chance
    terms = (
        Z @ shares / d - sizes * k / d**2
        - value / 2 * (2 * k * sizes / d**2 - sizes / d - k / d + 1)
    ) / chance  # fmt: skip
    spread = math.sqrt(4 / M**2 * float(((terms - terms.mean()) ** 2).sum()))
    reach = NormalDist().inv_cdf((1 + level) / 2) * spread
    return SelectionStability(value, value - reach, value + reach)
