"""A card for a table with too many patterns for an exact answer, from rows drawn by chance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from milpscore.core.card import Card
from milpscore.core.clock import Clock
from milpscore.core.design import Design
from milpscore.core.errors import FormulationError, OptionError, SolverError, listing
from milpscore.core.program import Program
from milpscore.core.result import Result, Termination, claim_of
from milpscore.core.statement import Statement
from milpscore.fitting import FORMULATION, fit_card, with_few_terms
from milpscore.formulations import FORMULATIONS
from milpscore.losses import RiskLoss
from milpscore.solvers.options import Options

LEAST_RISK = 0.001
"""The least risk a card may give a row if a bound from a sample is to cover the card."""


DRAWN = 50_000
"""Rows drawn to choose the features of a card for all rows."""

BOUND_TOLERANCE = 3e-4
"""What a bound over all rows may lose, for the sake of its time."""


@dataclass(frozen=True)
class SampleBound:
    """A bound over all rows from a proof on rows drawn by chance: not certain, with a confidence.

    Attributes
    ----------
    bound : float
        With probability ``confidence`` or more over the draw, no card covered (see ``among``) has a
        smaller objective over all rows.
    confidence : float
    sample_bound : float
        Proved: no card has a smaller objective over the rows drawn.
    deviation : float
        The difference of the two bounds.
    rows, of : int
        Rows drawn, and all rows.
    largest_loss : float
        The largest loss of a row.
    among : str
        The cards covered, beside the statement's limits.

    Notes
    -----
    Let c be the best card over all rows. It is fixed: features are cut on all rows, and the draw
    does not move it. Over n rows drawn its objective is at least B, the bound proved there for all
    cards. A row of c loses between 0 and R, on average L over all rows; by Hoeffding's
    inequality the mean over the rows drawn reaches p R > L with a probability of at most
    exp(-n kl(p, L / R)), kl being the relative entropy of two coins. So with probability 1 - delta

        L >= R q(l / R), with kl(p, q(p)) = log(1 / delta) / n and q(p) < p,

    where l is what c loses over the rows drawn. As B <= l + penalty(c), the objective over all rows
    is at least B - d for the largest d = l - R q(l / R) with l <= B. This d grows with l up to
    R / 2, where dq/dp = q (1 - q) (logit(p) - logit(q)) / (p - q) is at most 1, the derivative of
    logit falling below 1/2; beyond, d <= R sqrt(log(1 / delta) / (2 n)) is taken.

    References
    ----------
    Hoeffding, "Probability inequalities for sums of bounded random variables", JASA 58 (1963),
    Theorem 1, and Theorem 4 for draws without replacement.
    """

    bound: float
    confidence: float
    sample_bound: float
    deviation: float
    rows: int
    of: int
    largest_loss: float
    among: str

    def __str__(self) -> str:
        """The bound, and what it rests on."""
        return (
            f"With {100 * self.confidence:.6g} % confidence, which is not a proof, no card of this"
            f" kind{self.among} has an objective below {_down(self.bound)} over all"
            f" {self.of:,} rows. Proved is {_down(self.sample_bound)} over {self.rows:,} rows"
            f" drawn by chance; {self.deviation:.3g} is taken off for the draw (Hoeffding's"
            f" inequality, losses of a row from 0 to {self.largest_loss:.3g}). Assumed: the seed"
            " was not chosen by what came of it."
        )


@dataclass(frozen=True)
class SampleFit:
    """A card for a table with too many patterns for an exact answer, and its bounds.

    Attributes
    ----------
    design : Design
        All rows, merged in the columns of the features that the sample's card reads.
    program, result : Program, Result
        The card fitted to these; its claim covers cards of these features, as ``caveat`` says.
    sample_result : Result
        The card of the sample, with the bound proved there.
    bound : SampleBound or None
        Over all features and rows; None if no solver ran.
    """

    design: Design
    program: Program
    result: Result
    sample_result: Result
    bound: SampleBound | None


def fit_sample(
    source: Any,
    target: str,
    formulation: str = FORMULATION,
    *,
    rows: int = 100_000,
    confidence: float = 0.95,
    time_limit: float = Options.time_limit,
    random_state: int = 0,
    reading: Mapping[str, Any] | None = None,
    **fitting: Any,
) -> SampleFit:
    """Fit a card to a table with too many patterns for an exact answer.

    Draw rows by chance, find the best card on them and prove a bound. Then read the card's features
    for all rows and fit a card to these, so that its objective is over all rows. The bound on the
    sample says, with a stated confidence, what any card could reach.

    Parameters
    ----------
    source, target
        As for :func:`milpscore.data.read_patterns`.
    formulation : str
        "risk_score" with logistic loss, or "slim".
    rows : int
        Approximate number to draw. More rows make the bound better and its proof harder.
    confidence : float
        Between 0 and 1.
    time_limit : float
        Seconds for both fits, without reading.
    random_state : int
        Seed of the draw and of the solver.
    reading : mapping, optional
        Further arguments of :func:`milpscore.data.sample_patterns`: positive, drop, features,
        binner, memory_limit, progress, decimal, encoding.
    **fitting :
        Further arguments of :func:`fit_card`, by default ``max_terms=5``. With ``heuristic`` no
        solver runs and nothing is proved.

    Returns
    -------
    SampleFit

    Raises
    ------
    DataError, SizeError, OptionError
        If the table cannot be used as it is; weights cannot be drawn.
    FormulationError
        For what a sample cannot bound: another formulation or loss, a limit on errors, class
        weights.
    """
    from milpscore.data import read_patterns, sample_patterns

    if not 0 < confidence < 1:
        raise OptionError(
            "{confidence}; use a number between 0 and 1, say 0.95", confidence=confidence
        )
    name = FORMULATIONS.name_of(formulation)
    common = {"random_state": random_state, **with_few_terms(name, fitting)}
    _check_sampled(name, common)
    read = dict(reading or {})
    sample, of = sample_patterns(source, target, rows, random_state=random_state, **read)
    drawn = int(sample.rows.sum())
    largest, among, scales = 1.0, "", {}
    if name == "risk_score":
        largest = -math.log(LEAST_RISK)
        among = f" that gives each row a risk from {LEAST_RISK:.1%} to {1 - LEAST_RISK:.1%}"
        if common.get("scale", "auto") == "auto":  # which would be the sample's own
            # steeper ones give risks beyond the least, for totals are whole numbers
            low, high = 0.025, 1e6
            scales = {"scale": (low, high)}
            among = f" of a scale from {low:g} to {high:,g}{among}"
    clock = Clock.of(time_limit)  # reading stands apart
    program, found = fit_card(sample, name, time_limit=clock.part(0.5), **{**common, **scales})
    if program.statement.limits_errors:
        raise FormulationError(
            "a limit on errors over all rows says nothing of those over a sample: leave it out"
        )
    if found.card is None:
        raise SolverError(f"no card was found on the sample: {found.message}")
    bound = None
    if not common.get("heuristic"):
        proved = max(found.dual_bound, 0.0)
        off = sample_deviation(proved, drawn, confidence, largest)
        bound = SampleBound(
            max(proved - off, 0.0), confidence, proved, off, drawn, of, largest, among
        )
    left = clock.left
    read = {k: v for k, v in read.items() if k not in ("drop", "features", "binner")}
    design = read_patterns(
        source, target, **_columns_used(program.statement.design, found.card), **read
    )
    whole, result = fit_card(design, name, time_limit=left, **common)
    features = listing(dict.fromkeys(column.feature for column in design.columns))
    said = f"among cards of {features} alone, chosen on {drawn:,} rows of {of:,}"
    return SampleFit(design, whole, replace(result, caveat=said), found, bound)


def fit_all_rows(
    source: Any,
    target: str,
    formulation: str = FORMULATION,
    *,
    class_weight: Any = None,
    time_limit: float = Options.time_limit,
    random_state: int = 0,
    reading: Mapping[str, Any] | None = None,
    **fitting: Any,
) -> tuple[Program, Result]:
    """Fit a card to all rows of a table with too many patterns for an exact search.

    A Ctrl-C returns the best card there is by then. Without one, it is raised.

    The fast mode chooses features on rows drawn by chance, twice, then points and cuts of these
    features on all rows. The bound of a risk score under the logistic loss is over all rows: no
    real weights of the size allowed have a smaller loss.

    Parameters
    ----------
    source, target, formulation, random_state
        As for :func:`fit_sample`.
    class_weight
        As in the builders.
    time_limit : float
        Bounds the work of the fast mode, as in :func:`fit_card`.
    reading : mapping, optional
        Further arguments of :func:`milpscore.data.stored_rows`.
    **fitting :
        Further arguments of :func:`fit_card`, by default ``max_terms=5``. With ``heuristic``
        there is no bound.

    Returns
    -------
    (Program, Result)
        The program is over the distinct rows in the columns of the card's features.

    Raises
    ------
    DataError, SizeError, OptionError
        If the table cannot be used as it is.
    SolverError
        If no card was found.
    """
    from milpscore.data import stored_rows
    from milpscore.data.cut_points import Learned

    name = FORMULATIONS.name_of(formulation)
    bounded = not fitting.pop("heuristic", False)
    common: dict[str, Any] = {**with_few_terms(name, fitting), "random_state": random_state}
    common |= {"time_limit": time_limit, "heuristic": True}
    with stored_rows(source, target, class_weight=class_weight, **(reading or {})) as rows:
        fits: dict[Any, tuple[Program, Result]] = {}
        bound, stopped = 0.0, False

        def best() -> tuple[Program, Result]:
            """Return the fit of least objective so far."""
            return min(fits.values(), key=lambda fit: fit[1].objective)

        try:
            for seed in (random_state, random_state + 1):
                sample = rows.drawn(DRAWN, seed)
                chosen, found = fit_card(sample, name, **common)
                if found.card is None:
                    text = f"no card was found on {len(sample.y):,} rows: {found.message}"
                    raise SolverError(text)
                used = _columns_used(sample, found.card)
                columns, blocks = tuple(used["columns"]), tuple(used["blocks"])
                if columns not in fits:  # both draws may choose the same features
                    design = rows.merge(Learned(columns, blocks, sample.warnings, True, None))
                    fits[columns] = fit_card(design, name, **common)
            if bounded:
                bound = _least_loss(rows, chosen.statement, best()[0].statement, random_state)
        except KeyboardInterrupt:
            if not fits:
                raise
            stopped = True
        program, result = best()
        said = (
            f"{rows.n_rows:,} rows are too many for an exact search: features were chosen by the"
            f" fast mode on {len(sample.y):,} rows drawn by chance, "
            f"{'' if stopped else 'twice, '}points on all rows"
        )
    if stopped:
        said += "; interrupted: the card is the best one until then"
        result = replace(result, termination=Termination.INTERRUPTED)
    elif bound > 0.0 and result.verified:
        said += "; the bound is that of real weights on all columns"
        claim = claim_of(True, result.objective, bound, trivial=0.0)
        result = replace(
            result, dual_bound=min(bound, result.objective), claim=claim,
            termination=Termination.WORK_LIMIT,
        )  # fmt: skip
    return program, result.with_remark(said)


def _least_loss(rows: Any, statement: Statement, last: Statement, random_state: int) -> float:
    """Return a bound on the loss of all cards over all rows; 0 if there is none.

    The real weights of a card are its points over its scale. Duality bounds the loss of all real
    weights, plus lam times the sum of their sizes. That sum is limited by the points of the
    ``statement`` on all columns, at the least scale of it and of the ``last`` one, on the features
    of the card: with more rows, or fewer columns, scales may be smaller.
    """
    from milpscore.penalties import L1
    from milpscore.proximal import path_out_of_core

    loss, (lower, upper) = statement.loss, statement.ranges
    if not isinstance(loss, RiskLoss) or loss.base.name != "logistic":
        return 0.0
    free = [each.scales.lower for each in (statement, last) if each.scales is not None]
    scale: Any = min(free) if free else loss.scale
    sizes = np.sort(np.maximum(np.abs(lower), np.abs(upper)).astype(float))[::-1]
    most = max(float(sizes[: statement.max_terms].sum()) / float(scale), 1e-9)
    lam = BOUND_TOLERANCE / most
    (model,) = path_out_of_core(
        rows, penalty=L1, lams=[lam], tol=1e-6, random_state=random_state
    ).results
    return model.dual_objective - BOUND_TOLERANCE


def sample_deviation(proved: float, rows: int, confidence: float, largest: float) -> float:
    """What the draw of rows takes off a proved bound >= 0; see :class:`SampleBound`."""
    allowed = math.log(1.0 / (1.0 - confidence)) / rows
    p = proved / largest
    if p > 0.5:
        return largest * math.sqrt(allowed / 2.0)
    if p == 0:
        return 0.0
    low, high = 0.0, p  # kl(p, low) is above what is allowed, kl(p, high) is not
    for _ in range(200):
        q = 0.5 * (low + high)
        if not low < q < high:
            break
        entropy = p * math.log(p / q) + (1.0 - p) * math.log1p((q - p) / (1.0 - q))
        low, high = (q, high) if entropy > allowed else (low, q)
    return (p - low) * largest


def _check_sampled(name: str, fitting: Mapping[str, Any]) -> None:
    """Refuse what a sample cannot bound."""
    loss = fitting.get("loss", "logistic")
    if name not in ("risk_score", "slim") or getattr(loss, "name", loss) != "logistic":
        asked = f"{name} with {loss} loss" if name == "risk_score" else name
        raise FormulationError(
            "a bound from a sample is there for risk-score with logistic loss, and for slim:"
            f" {asked} has none"
        )
    if fitting.get("penalty") == "binarsity":
        raise FormulationError(
            "{penalty} weighs cuts by the rows above them, which a sample's are not: take 'tv'",
            penalty="binarsity",
        )
    for argument in ("class_weight", "sample_weight"):
        if fitting.get(argument) is not None:
            raise FormulationError(
                "{argument} makes rows weigh differently, and a sample's bound is of equal ones:"
                " leave it out",
                argument=argument,
            )


def _down(value: float) -> str:
    """A bound with six decimals, rounded down."""
    return f"{math.floor(1e6 * value) / 1e6:.6f}"


def _columns_used(design: Design, card: Card) -> dict[str, Any]:
    """The columns of the features a card reads; only its own if these are too many to merge."""
    from milpscore.data.policy import POLICY

    own = np.flatnonzero(card.coefficients)
    features = {design.columns[j].feature for j in own} or {design.columns[0].feature}
    kept = [j for j, column in enumerate(design.columns) if column.feature in features]
    sizes = [1 + sum(c.feature == name for c in design.columns) for name in features]
    if 2 * math.prod(sizes) > POLICY.max_patterns and len(own):
        kept = own.tolist()
    place = {j: k for k, j in enumerate(kept)}
    blocks = [tuple(place[j] for j in block if j in place) for block in design.blocks]
    blocks = [block for block in blocks if block]
    return {"columns": [design.columns[j] for j in kept], "blocks": blocks}
