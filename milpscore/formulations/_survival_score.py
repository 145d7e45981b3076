"""Survival scores: integer points under the likelihood of times, its baseline profiled out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np

from milpscore.core.design import FloatArray
from milpscore.core.errors import DataError, FormulationError, SizeError, is_number
from milpscore.core.program import Program
from milpscore.core.statement import InterceptRule, Statement
from milpscore.data.designs import in_steps
from milpscore.data.survival import (
    SurvivalDesign,
    cuts_of,
    make_survival_design,
)
from milpscore.formulations._risk_score import (
    PenaltyKind,
    penalty_of,
    scale_of,
    tangent_program,
)
from milpscore.formulations.building import (
    LEAST,
    MOST,
    Constraints,
    PerColumn,
    builder,
    check_non_negative,
    later,
    refuse_if_too_large,
)
from milpscore.formulations.cuts import JUMPS, MaxCuts, within
from milpscore.formulations.policy import POLICY
from milpscore.losses.hazards import ExposureKind, Hazards, Intervals, SurvivalLoss
from milpscore.penalties import L0

Times = int | Literal["events"] | Sequence[float]


@builder
def survival_score(
    X: Any,
    y: Any = None,
    *,
    time: Any = None,
    event: Any = None,
    entry: Any = None,
    times: Times = 20,
    exposure: ExposureKind = "time",
    scale: float | Literal["auto"] | Sequence[float] = "auto",
    coef_min: PerColumn = LEAST,
    coef_max: PerColumn = MOST,
    coef_sets: Mapping[str, Sequence[int]] | None = None,
    max_terms: int | None = None,
    max_cuts: MaxCuts = None,
    l0_penalty: float = 1e-6,
    penalty: PenaltyKind = "none",
    lam: float = 0.0,
    expert: Any = None,
    constraints: Constraints = (),
    positive: Any = None,
    sample_weight: Any = None,
) -> Program:
    r"""The integer score of the most likely times to an event, for risks at stated times.

    Time is cut at :math:`t_1 < \dots < t_K`. For a row x and an interval k let :math:`e_{xk}` be
    the exposure times the row's weight, and :math:`d_{xk}` the weight of its event as a share of
    all weight; let :math:`d_x = \sum_k d_{xk}` and :math:`D_k = \sum_x d_{xk}`. With a total
    :math:`T_x = w \cdot x` and a slope :math:`s = 1 / \sigma \ge 0`:

    .. math::

        \min\ & \sum_k D_k \log \Bigl( \sum_x e_{xk}\, e^{s T_x} \Bigr) - s \sum_x d_x T_x
        + C_0 \sum_j \alpha_j + \lambda\, \Omega(w) \\
        & l_j \alpha_j \le w_j \le u_j \alpha_j, \quad \sum_j \alpha_j \le k, \quad
        w_j \in \mathbb Z

    This is minus the log-likelihood of hazards :math:`h_k e^{s T_x}` that are constant within
    intervals, at their best baseline :math:`h_k = D_k / \sum_x e_{xk} e^{s T_x}`, less a constant;
    there is no intercept. It is convex in s w, and rows that agree in x are one row.

    Parameters
    ----------
    X : array, DataFrame of shape (n, p), or SurvivalDesign
    y : structured array of shape (n,), optional
        Events and times as scikit-survival has them; None with a SurvivalDesign.
    time, event, entry : arrays of shape (n,), or names of columns, optional
        In the place of ``y``; see :func:`milpscore.data.make_survival_design`.
    times : int, "events", or increasing sequence of float
        The cuts: at most that many quantiles of the times of events, every one of these, or those
        given. An interval holds its end.
    exposure : {"time", "at_risk", "discrete"}
        The time a row was seen in an interval; or 1 if it was at risk there. "at_risk" with
        ``times="events"`` is the partial likelihood of Cox, ties as Breslow has them. "discrete"
        states time in steps, for data that know only the interval of an event: see Notes.
    scale : float, "auto" or (float, float)
        Points in one unit of the log of the hazard; as in :func:`risk_score`.
    penalty, lam, expert
        As in :func:`risk_score`.
    positive : label, optional
        The value of ``event`` to score, where it names one of several causes.

    Notes
    -----
    *Derivation.* A row that is seen for a time :math:`\tau_{xk}` in interval k has the
    likelihood :math:`\prod_k (h_k e^{z_x})^{d_{xk}} \exp(-h_k e^{z_x} \tau_{xk})`, :math:`z_x =
    s T_x`, be it censored at its end or only under observation from its entry on. Minus its
    log, summed over the rows, is :math:`\sum_k \bigl[ h_k \sum_x \tau_{xk} e^{z_x} - D_k \log
    h_k \bigr] - \sum_x d_x z_x`. It is convex in each :math:`h_k` and least at :math:`h_k = D_k
    / \sum_x \tau_{xk} e^{z_x}`, where the first sum is :math:`D_k` and the second :math:`D_k
    \log \sum_x \tau_{xk} e^{z_x} - D_k \log D_k`. Without the constants this is the objective.
    Exposures are counted in a unit per interval, another constant: its events, times the
    geometric mean of the exposures of their rows. The objective is then what the best baseline
    and a score of its own for each event would leave at 0, and never negative. With 1 for each
    row at risk and no two events at one time it is the partial likelihood of Breslow,
    :math:`\sum_i d_i \bigl[ \log \sum_{j \in R(t_i)} e^{z_j} - z_i \bigr]`, of times rounded to
    the cuts: events to the end of their interval, what is censored within one to its beginning;
    with ties it is less by the constant :math:`\sum_k D_k \log D_k`.

    *Discrete time.* Under "discrete" a row at risk in interval k has the event there with the
    chance :math:`p_{xk} = 1 / (1 + e^{-b_k - s T_x})`. With 1 for each row at risk (times its
    weight), N the sum of all :math:`e_{xk}`, and the best intercept in each interval, the loss is

    .. math::

        \frac1N \Bigl[ \sum_k \min_{b_k} \Bigl( \sum_x e_{xk} \log(1 + e^{b_k + s T_x})
        - D_k b_k \Bigr) - s \sum_x d_x T_x \Bigr],

    minus the mean log-likelihood of rows at risk; :math:`e^{s}` per point is a ratio of odds. It
    is jointly convex in the intercepts and s w, so that its minimum over the former is convex.

    The log of a sum of exponentials is convex, so that every tangent lies below: solvers, bounds
    and certificates are those of :func:`risk_score`. At a total of 0 for all rows the loss is that
    of no card.

    Reference: Breslow, "Covariance analysis of censored survival data", Biometrics 30 (1974); Cox,
    "Regression models and life-tables", JRSS B 34 (1972), section 6, for discrete time; Friedman,
    "Piecewise exponential models for survival data with covariates", Ann. Statist. 10 (1982).
    """
    if isinstance(X, SurvivalDesign):
        if any(part is not None for part in (y, time, event, entry, positive, sample_weight)):
            raise DataError("a SurvivalDesign already holds times, events and weights")
        design = X
    else:
        design = make_survival_design(
            X, y, time=time, event=event, entry=entry, positive=positive,
            sample_weight=sample_weight,
        )  # fmt: skip
    check_non_negative(l0_penalty=l0_penalty, lam=lam)
    if penalty in JUMPS:
        stepped = in_steps(design)
        assert isinstance(stepped, SurvivalDesign)
        design = stepped
    limits = (coef_min, coef_max, coef_sets, max_terms, max_cuts, constraints)
    ranges, rules = within(design, penalty, *limits)
    if limiting := [rule.name for rule in rules if rule.limits_answers]:
        raise FormulationError(
            f"{limiting[0]} limits errors, and a survival score decides nothing: state it of points"
        )
    curved = 2 * sum(ranges.reach) if penalty in ("l2", "facets") else 0
    curved += 0 if is_number(scale) else 8 * int((ranges.coef_max - ranges.coef_min + 1).sum())
    refuse_if_too_large("survival_score", 0, design.shape[1], 8 * design.shape[1] + curved)
    base = Hazards(design, _intervals(design, times, exposure))
    scales = scale_of(scale, design, ranges, ranges.totals(design.merged.X))
    statement = Statement(
        formulation="survival_score",
        design=design,
        loss=SurvivalLoss(base, scales),  # type: ignore[arg-type]
        penalties=(L0(l0_penalty), *penalty_of(design, penalty, lam, expert)),
        intercept=InterceptRule("zero", Fraction(0), Fraction(0), Fraction(1)),
        arguments={"loss": "survival", "scale": scale, "penalty": penalty, "lam": lam},
        constraints=rules,
        **vars(ranges),
    )
    return later(statement, lambda: tangent_program(statement), holds_rows=False)


def _intervals(design: SurvivalDesign, times: Times, exposure: ExposureKind) -> Intervals:
    """Cut the design's times."""
    if exposure not in get_args(ExposureKind):
        raise FormulationError(
            f"{{exposure}} must be 'time', 'at_risk' or 'discrete', got {exposure!r}",
            exposure=...,
        )
    cuts = _cuts(design, times)
    if len(cuts) * len(design.y) > POLICY.most_exposures:
        raise SizeError(
            f"survival_score: {len(design.y)} rows x {len(cuts)} cuts are more than "
            f"{POLICY.most_exposures:.0g} exposures: give fewer {{times}}",
            times=20,
        )
    return Intervals.of(design, cuts, exposure)


def _cuts(design: SurvivalDesign, times: Times) -> FloatArray:
    """Return the ends of the intervals, ascending."""
    if design.cuts is not None:
        if is_number(times):
            return np.array(design.cuts)
        if isinstance(times, str) or not set(times) <= set(design.cuts):  # type: ignore[arg-type]
            raise FormulationError(
                "the rows were merged within the design's own cuts: leave {times} out, or choose "
                "among them",
                times=...,
            )
    counted = design.event & (design.weight > 0)
    order = np.argsort(design.time[counted], kind="stable")
    ends = design.time[counted][order]
    if isinstance(times, str):
        if times != "events":
            raise FormulationError(
                f"{{times}} must be a number, 'events' or cuts, got {times!r}", times=...
            )
        return np.unique(ends)
    return cuts_of(times, ends, design.weight[counted][order])
