"""From a design to a verified card: the one way that estimators and the command line share."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from milpscore.core.card import Card
from milpscore.core.clock import Clock
from milpscore.core.design import Design
from milpscore.core.errors import (
    FormulationError,
    OptionError,
    SolverError,
    did_you_mean,
    listing,
)
from milpscore.core.program import Program
from milpscore.core.result import Claim, Result, Termination, claim_of
from milpscore.formulations import FORMULATIONS, gentle_scale, over_gentle_scales
from milpscore.losses import RiskLoss, ZeroOne
from milpscore.search.starts import (
    FAST,
    fast_cards,
    heuristic_result,
    start_beside,
    work_within,
)
from milpscore.search.work import Work
from milpscore.solvers import solve
from milpscore.solvers.engine import progress_line
from milpscore.solvers.options import Options
from milpscore.verify import evaluate

_START = 0.1
"""Share of the time limit that the start may take."""

MAX_TERMS = 5
"""Terms of a card that is fitted for a person, unless asked otherwise: builders set no limit."""


FORMULATION = "risk_score"
"""What is fitted unless another formulation is named."""


def with_few_terms(formulation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A builder's arguments, the terms limited where it takes a limit and none was asked for."""
    takes = "max_terms" in inspect.signature(FORMULATIONS[formulation]).parameters
    return {**({"max_terms": MAX_TERMS} if takes else {}), **arguments}


def require_known(argument: str, known: Sequence[str], refusal: str) -> None:
    """Raise FormulationError for an argument that is not known, naming the nearest."""
    if argument not in known:
        hint = did_you_mean(argument, known)
        raise FormulationError(f"{refusal} {argument!r}; {hint}known are {', '.join(known)}")


def fit_card(
    design: Design,
    formulation: str = FORMULATION,
    *,
    warm_start: bool = True,
    progress: bool | None = None,
    n_draws: int = 100,
    solver: str = "auto",
    time_limit: float = Options.time_limit,
    random_state: int = 0,
    options: dict[str, Any] | None = None,
    heuristic: bool = False,
    polish: bool = False,
    **arguments: Any,
) -> tuple[Program, Result]:
    """Build a formulation, solve it and return the best verified card.

    Exact programs are solved from a heuristic start; relaxed ones (convex and sparse rounding) are
    solved as LPs and rounded, the LP's optimum being the bound.

    Parameters
    ----------
    design : Design
    formulation : str
        A name of :data:`milpscore.formulations.FORMULATIONS`; hyphens count as underscores.
    warm_start : bool
        Start the solver from the card of :func:`milpscore.search.start_card`.
    progress : bool, optional
        Show a progress line; default: in a terminal.
    n_draws : int
        Draws of the randomised rounding.
    solver, time_limit, random_state :
        As in :func:`milpscore.solvers.solve`.
    options : dict, optional
        Further solver options.
    heuristic : bool
        Exact programs only: no solver runs; a verified card found within milliseconds (those of
        :func:`milpscore.search.fast_risk_card`) is the answer, its claim "feasible".
    polish : bool
        With ``heuristic``: improve that card by the searches a solve starts from.
    **arguments :
        The builder's own arguments.

    Returns
    -------
    (Program, Result)

    Raises
    ------
    OptionError
        For ``heuristic`` with a relaxed program, ``polish`` without it, or options that cannot be
        used.
    """
    told = Options.of({"time_limit": time_limit, "random_state": random_state, **(options or {})})
    if polish and not heuristic:
        raise OptionError("polish improves a heuristic card: ask for heuristic as well")
    clock = told.clock
    program = FORMULATIONS[formulation](design, **arguments)
    if heuristic and program.kind == "relaxed":
        raise OptionError(
            f"{program.formulation} is rounded from its LP and has no start to keep: leave "
            "heuristic out"
        )
    if heuristic:
        return _fast_result(program, told, polish)
    within = clock.part(_START)
    program, fast = with_fast_card(program, told)
    chosen = {**vars(told), "time_limit": clock}
    if program.kind == "relaxed":
        from milpscore.rounding import round_program

        return program, round_program(
            program, solver=solver, n_draws=n_draws, progress=progress, **chosen
        )
    start = None
    if warm_start:
        with progress_line(program.formulation, progress, clock, told.verbose) as line:
            line.phase("start")
            if fast is None or not within.is_up:
                held = None if fast is None else fast.card
                start = start_beside(program, held, work_within(clock), within)
            if fast is not None:
                # a proof that a limit cuts short must not answer worse than fast mode
                empty = program.statement.empty_card()
                cards = [card for card in (fast.card, start, empty) if card]
                start = min(cards, key=lambda card: evaluate(program.statement, card).objective)
    result = solve(program, solver, warm_start=start, progress=progress, **chosen)
    if not warm_start or fast is not None:
        return program, result
    if result.claim is Claim.OPTIMAL or result.termination is Termination.INTERRUPTED:
        return program, result
    return program, _no_worse(program, result, _fast_result(program, told)[1])


# ---------------------------------------------------------------- what a sample says of all rows

LEAST_RISK = 0.001
"""The least risk that a card may give a row, for a bound from a sample to speak of it."""

_SCALES = (0.025, 1e6)
"""Its scales. Steeper ones give risks beyond the least, for totals are whole numbers."""


@dataclass(frozen=True)
class SampleBound:
    """What a proof on rows drawn by chance says of all rows: not surely, with a confidence.

    Attributes
    ----------
    bound : float
        With probability ``confidence`` or more over the draw, no card of the kind in ``among`` has
        a smaller objective over all rows.
    confidence : float
    sample_bound : float
        No card has a smaller objective over the rows drawn: proved.
    deviation : float
        Their difference.
    rows, of : int
        Rows drawn, and all.
    largest_loss : float
        The most that a row may lose.
    among : str
        Which cards, beside the statement's own limits.

    Notes
    -----
    Let c be the card that is best over all rows: a fixed one, for the cuts are made on all rows and
    the draw does not move it. Over n rows drawn its objective is at least B, the bound proved there
    for all cards. A row of c loses between 0 and R, on average L over all rows; by Hoeffding's
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
        """What holds, and what it rests on."""
        return (
            f"With {100 * self.confidence:.6g} % confidence, which is no proof, no card of this"
            f" kind{self.among} has an objective below {_down(self.bound)} over all"
            f" {self.of:,} rows. Proved is {_down(self.sample_bound)} over {self.rows:,} rows"
            f" drawn by chance; {self.deviation:.3g} is taken off for the draw (Hoeffding's"
            f" inequality, losses of a row from 0 to {self.largest_loss:.3g}). Assumed: the seed"
            " was not chosen by what came of it."
        )


@dataclass(frozen=True)
class SampleFit:
    """A card for a table with too many patterns for an exact answer, and what is known of it.

    Attributes
    ----------
    design : Design
        All rows, merged in the columns of the features that the sample's card reads.
    program, result : Program, Result
        The card fitted to these; its claim is among cards of these features, as ``caveat`` says.
    sample_result : Result
        The card of the sample, with the bound proved there.
    bound : SampleBound or None
        Of all features and all rows; None where no solver ran.
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

    Rows are drawn by chance, and on them the best card is found and a bound proved. The features it
    reads are then read of all rows, and the card is fitted to these, so that its objective is that
    of all rows. The bound on the sample says with a stated confidence what any card could reach.

    Parameters
    ----------
    source, target
        As for :func:`milpscore.data.read_patterns`.
    formulation : str
        "risk_score" with logistic loss, or "slim".
    rows : int
        About how many are drawn. More make the bound better and its proof harder.
    confidence : float
        Between 0 and 1.
    time_limit : float
        Seconds for both fits, reading left out.
    random_state : int
        Seed of the draw and of the solver.
    reading : mapping, optional
        Further arguments of :func:`milpscore.data.sample_patterns`: positive, drop, features,
        binner, memory_limit, progress, decimal, encoding.
    **fitting :
        Further arguments of :func:`fit_card`; ``max_terms`` is 5 unless given. With ``heuristic``
        no solver runs and nothing is proved.

    Returns
    -------
    SampleFit

    Raises
    ------
    DataError, SizeError, OptionError
        The table cannot be used as given; weights cannot be drawn.
    FormulationError
        What is asked for is not known of all rows from some: another formulation or loss, a limit
        on errors, class weights.
    """
    from milpscore.data import read_patterns, sample_patterns

    if not 0 < confidence < 1:
        raise OptionError(f"confidence={confidence!r}; use a number between 0 and 1, say 0.95")
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
            scales = {"scale": _SCALES}
            among = f" of a scale from {_SCALES[0]:g} to {_SCALES[1]:,g}{among}"
    clock = Clock.of(time_limit)  # reading stands apart
    program, found = fit_card(sample, name, time_limit=clock.part(0.5), **{**common, **scales})
    if any(each.limits_answers for each in program.statement.constraints):
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


def sample_deviation(proved: float, rows: int, confidence: float, largest: float) -> float:
    """What is taken off a bound proved on rows drawn by chance; see :class:`SampleBound`.

    Parameters
    ----------
    proved : float
        The bound, not negative.
    rows : int
        Rows drawn.
    confidence : float
    largest : float
        The most that a row may lose.

    Returns
    -------
    float
    """
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
    """Refuse what a sample says nothing about."""
    loss = fitting.get("loss", "logistic")
    if name not in ("risk_score", "slim") or getattr(loss, "name", loss) != "logistic":
        raise FormulationError(
            "a bound from a sample is there for risk-score with logistic loss, and for slim:"
            f" {name} with {loss} loss has none"
        )
    if fitting.get("penalty") == "binarsity":
        raise FormulationError(
            "penalty='binarsity' weighs cuts by the rows above them, which a sample's are not: take"
            " penalty='tv'"
        )
    for argument in ("class_weight", "sample_weight"):
        if fitting.get(argument) is not None:
            raise FormulationError(
                f"{argument} makes rows weigh differently, and a sample's bound is of equal ones:"
                " leave it out"
            )


def _down(value: float) -> str:
    """A bound in six decimals, not rounded up."""
    return f"{math.floor(1e6 * value) / 1e6:.6f}"


def _columns_used(design: Design, card: Card) -> dict[str, Any]:
    """The columns of the features a card reads, its own alone where these are too many to merge."""
    from milpscore.data.merged_rows import MAX_PATTERNS

    own = np.flatnonzero(card.coefficients)
    features = {design.columns[j].feature for j in own} or {design.columns[0].feature}
    kept = [j for j, column in enumerate(design.columns) if column.feature in features]
    sizes = [1 + sum(c.feature == name for c in design.columns) for name in features]
    if 2 * math.prod(sizes) > MAX_PATTERNS and len(own):
        kept = own.tolist()
    place = {j: k for k, j in enumerate(kept)}
    blocks = [tuple(place[j] for j in block if j in place) for block in design.blocks]
    blocks = [block for block in blocks if block]
    return {"columns": [design.columns[j] for j in kept], "blocks": blocks}


def with_fast_card(program: Program, told: Options) -> tuple[Program, Result | None]:
    """Return the program, at the scales its fast card asks for, and that card before any solve.

    None for losses whose engines do without the compiled search: see `_no_worse`. On scales see
    :func:`milpscore.formulations.over_gentle_scales`.
    """
    if program.kind != "exact" or not isinstance(program.statement.loss, RiskLoss | ZeroOne):
        return program, None
    return _fast_result(program, told)


def _fast_result(program: Program, told: Options, polish: bool = False) -> tuple[Program, Result]:
    """Return the program and its fast card, which depends on no clock, polished if asked."""
    began, statement = time.perf_counter(), program.statement
    work = Work.of(FAST * told.clock)
    least = 0.0 if statement.scales is None else gentle_scale(program)
    held, any_scale = fast_cards(statement, work, least)
    if any_scale is not held:
        program = over_gentle_scales(program, any_scale)
    return program, heuristic_result(
        program, held, began, cut=work.cut, polish=polish, time_limit=told.clock,
        options=told.as_dict(),
    )  # fmt: skip


def _no_worse(program: Program, result: Result, fast: Result) -> Result:
    """Return the solver's result with the fast card in place of its own, if that is better."""
    if not fast.verified or result.objective <= fast.objective:
        if result.card is not None:
            program.fill(result.card)
        return result
    bound, remark = max(result.dual_bound, 0.0), "the fast card is better than the solver's"
    level = math.isclose(bound, fast.objective, rel_tol=1e-9, abs_tol=1e-12)
    if bound > fast.objective and not level:
        result = replace(result, bound_source="trivial", refused=f"{result.solver}'s bound")
        bound, remark = 0.0, f"{remark}, and refutes the bound"
    names = ("verified", "objective", "loss", "penalty", "card", "coefficients", "intercept",
             "terms", "origin")  # fmt: skip
    better = replace(
        result, dual_bound=min(bound, fast.objective),
        claim=claim_of(True, fast.objective, bound, trivial=0.0),
        **{name: getattr(fast, name) for name in names},
    )  # fmt: skip
    return better.with_remark(remark)
