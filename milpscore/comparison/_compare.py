"""Exact beside relaxed beside rounded over formulations; the realisations of a conic program."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import chain
from typing import Any

import numpy as np

from milpscore import metrics
from milpscore.comparison.answers import (
    COLUMNS,
    KINDS,
    PROXIMAL_COLUMNS,
    REALISATION_COLUMNS,
    Comparison,
    figures_of,
    no_answer,
    table_of,
)
from milpscore.core.card import Card
from milpscore.core.clock import Clock
from milpscore.core.conic import ConicProgram
from milpscore.core.design import Design
from milpscore.core.errors import (
    FormulationError,
    MissingDependencyError,
    NotApplicableError,
    OptionError,
    SolverError,
)
from milpscore.core.program import Program
from milpscore.core.result import Result, Termination, claim_of, relative_gap
from milpscore.data.binner import Fold, binned_design, binner_of, folds_of, stratified_splits
from milpscore.data.survival import SurvivalDesign
from milpscore.fitting import require_known, with_fast_card, with_few_terms
from milpscore.formulations import FORMULATIONS, card_builder, card_name, pairwise_bound
from milpscore.formulations.building import DATA
from milpscore.penalties import Perspective
from milpscore.rounding import ROUNDINGS
from milpscore.rounding.program import round_by_name, savings_table
from milpscore.scorecard.certified import unpaired
from milpscore.search import start_card
from milpscore.search.starts import work_within
from milpscore.solvers import load, solve
from milpscore.solvers.options import Options
from milpscore.solvers.session import Session
from milpscore.verify import evaluate


@dataclass(frozen=True)
class ComparisonPolicy:
    """How a comparison shares out its seconds.

    Attributes
    ----------
    folds_share : float
        Of a formulation's seconds, for cross-validation.
    relaxed_share : float
        Of the seconds of its solves, at most, for the relaxation.
    start_share : float
        Of what is left then, at most, for a first card.
    """

    folds_share: float = 0.5
    relaxed_share: float = 0.4
    start_share: float = 0.1


POLICY = ComparisonPolicy()
"""What comparisons are tuned with; tests set another."""


def compare(
    X: Any,
    y: Any = None,
    *,
    formulations: Sequence[str] = ("risk_score", "slim", "hinge"),
    arguments: Mapping[str, Mapping[str, Any]] | None = None,
    binner: Any = "auto",
    sample_weight: Any = None,
    class_weight: Any = None,
    positive: Any = None,
    time_limit: float = Options.time_limit,
    n_draws: int = 100,
    cv: Any = 5,
    random_state: int = 0,
    solver: str = "auto",
    progress: bool | None = None,
    proximal: bool = False,
    roundings: Sequence[str] = (),
    savings: Sequence[int] = (),
    options: Mapping[str, Any] | None = None,
    **common: Any,
) -> Comparison:
    """Solve each formulation exactly, relax it, round the relaxation, and lay all side by side.

    The four rows of a formulation concern one statement on one design: ``exact``; ``relaxed``,
    its LP; ``randomised``, the best of N randomised roundings of that LP; ``nearest``, its
    deterministic rounding. The best rounded card, or a better one from coordinate descent, starts
    the exact solve, so that always ``relaxed <= exact <= randomised, nearest`` in the objective.

    Parameters
    ----------
    X : array, DataFrame of shape (n, q), or Design
    y : array of shape (n,), two labels; None with a Design
        Or events with their times, as scikit-survival has them, for "survival_score": the columns
        of AUC then hold Harrell's C, by scikit-survival, and those of accuracy nothing.
    formulations : sequence of str
        Names of :data:`milpscore.formulations.FORMULATIONS`. One that cannot be stated for these
        data (say, fused_lasso without bins) becomes a row with claim ``none`` and the reason.
    arguments : mapping from formulation to its builder's arguments, optional
        For example ``{"hinge": {"margin": 2}}``; they go before the common ones.
    binner : Binner, "auto" or None
        Binarises X, and is fitted again inside every fold; "auto" is ``Binner()``, None leaves
        numbers as they are. A Design has its columns already.
    sample_weight, class_weight, positive :
        As in :func:`milpscore.data.make_design`. Losses, accuracies and AUCs weigh rows alike.
    time_limit : float
        Seconds for the whole table, from the first line to the last, shared equally by the
        formulations; half of each share goes to the solves on all rows, the other half equally to
        the folds. After Ctrl-C the rows so far are returned.
    n_draws : int
        Draws of the randomised rounding.
    cv : int, splitter or None
        Stratified, shuffled folds; None or 0 for none. Every row is fitted again in each fold,
        within the fold's seconds, and its figures are means over the folds. The rows of merged
        patterns are dealt to folds by their counts, and cut as all rows are.
    random_state : int
        Seed of solver, rounding and folds.
    solver, progress :
        As in :func:`milpscore.solvers.solve`.
    proximal : bool
        Add a row ``proximal`` to each formulation: the card rounded from a proximal path
        (:func:`milpscore.search.proximal_start`), judged by the statement's own objective and the
        LP's bound. The columns :data:`PROXIMAL_COLUMNS` hold the smooth model's figures, which
        bound nothing.
    roundings : sequence of str
        Names of :data:`milpscore.rounding.ROUNDINGS`, such as "derandomised" or "local_search".
        Each adds a row, judged as the other roundings are, and one more card that the exact solve
        may start from. One that does not apply becomes a row with claim ``none`` and the reason.
    savings : sequence of int
        Seeds. For each, every exact program is solved twice more, in the seconds of its exact row:
        with and without a proximal start. ``savings`` of the answer then holds what
        :func:`milpscore.rounding.warm_start_savings` says of it.
    options : mapping, optional
        Further solver options.
    **common :
        Builder arguments for every formulation that has them; ``max_terms`` is 5 by default.

    Returns
    -------
    Comparison
        Its table has one row per program, and ``COLUMNS``. ``integrality_gap`` is the exact
        objective above the LP's, relative as ``gap`` is (too large unless the exact row is
        ``optimal``); ``magnitude`` the L1 norm. Under the hinge loss ``rounding_loss`` is
        what the bounds concern, the intercept held at the LP's and no term dropped: the
        mean over the draws, whose expectation obeys ``expected_bound`` and ``sharp_bound``,
        and the loss of nearest rounding, which obeys ``sure_bound``; see
        :func:`milpscore.rounding.rounding_bounds`. :mod:`milpscore_show.plots` reads its
        results.

    Raises
    ------
    DataError, OptionError
    FormulationError
        For an unknown formulation or argument, or if no formulation at all can be stated.
    """
    clock = Clock.of(time_limit)
    for option in {"time_limit", "random_state"} & set(options or {}):
        raise OptionError(f"{option} is an argument of its own: leave it out of options")
    names = [card_name(name) for name in formulations]
    chosen = _arguments(names, arguments or {}, common)
    binner = binner_of(binner, X)
    design = binned_design(
        X, y, binner, sample_weight=sample_weight, class_weight=class_weight, positive=positive
    )
    dealt, splits = stratified_splits(design, cv, random_state)
    run = SharedRun(
        n_draws, random_state, solver, progress, dict(options or {}), proximal,
        _roundings(roundings),
    )  # fmt: skip
    rows: list[dict[str, Any]] = []
    results: dict[tuple[str, str], Result] = {}
    refusals: list[FormulationError] = []
    programs: dict[str, Program] = {}
    for at, name in enumerate(names):
        # an equal share of what is left, from the first line that is spent on this formulation
        share = Clock(clock.left / (len(names) - at))
        whole = share.part(1.0 - POLICY.folds_share if splits else 1.0)
        if run.interrupted:
            rows.append(no_answer("not run: interrupted", formulation=name, kind="exact"))
            continue
        try:
            program = exact_program(name, design, chosen[name])
        except FormulationError as error:
            refusals.append(error)
            rows.append(no_answer(f"not stated: {error}", formulation=name, kind="exact"))
            continue
        programs[name] = program
        family = solve_family(program, run, whole)
        folds = folds_of(dealt, splits, X, binner, sample_weight)
        held_out, failure = _cross_validate(name, chosen[name], folds, run, share, len(splits))
        for kind in run.kinds:
            row = _row(name, kind, family, design) | held_out.get(kind, {})
            row["message"] = "; ".join(filter(None, [row["message"], failure, _unjudged(design)]))
            rows.append(row)
            results[name, kind] = family.results[kind]
    if refusals and not results:
        raise refusals[0]
    table = table_of(rows, [*COLUMNS, *(PROXIMAL_COLUMNS if proximal else ())])
    texts = ("bound_source", "solver", "termination", "origin", "message", "caveat", "surrogate")
    table = table.fillna({name: "" for name in texts if name in table})
    saved = None
    if len(savings) and not run.interrupted:
        saved = savings_table(programs, savings, clock / len(names), solver=solver, **run.options)
    return Comparison(table, results, design.names, saved, programs)


def _roundings(wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the registry's names of roundings; OptionError for unknown or repeated ones."""
    names = tuple(name.replace("-", "_") for name in wanted)
    for name in names:
        ROUNDINGS.name_of(name)
        if names.count(name) > 1:
            raise OptionError(f"the rounding {name} is given twice: each makes one row")
    return names


def _arguments(
    names: Sequence[str], arguments: Mapping[str, Mapping[str, Any]], common: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return each formulation's builder arguments; an error for one that no builder takes."""
    if not names:
        raise FormulationError(f"name at least one formulation of {sorted(FORMULATIONS)}")
    single = {name.replace("-", "_"): dict(values) for name, values in arguments.items()}
    if strange := [name for name in single if name not in names]:
        raise FormulationError(f"arguments for {strange[0]!r}, which is not among {list(names)}")
    known = {
        name: [key for key in inspect.signature(card_builder(name)).parameters if key not in DATA]
        for name in names
    }
    for name, accepted in known.items():  # a weight is of no use without a penalty
        if "penalty" in accepted and "penalty" not in {*common, *single.get(name, {})}:
            accepted.remove("lam")
    every = dict.fromkeys(argument for accepted in known.values() for argument in accepted)
    for argument in common:
        require_known(argument, list(every), f"none of {', '.join(names)} takes")
    chosen = {}
    for name, accepted in known.items():
        for argument in single.get(name, {}):
            require_known(argument, accepted, f"{name} has no argument")
        shared = {k: v for k, v in common.items() if k in accepted}
        chosen[name] = with_few_terms(name, {**shared, **single.get(name, {})})
    return chosen


def _row(name: str, kind: str, family: Family, design: Design) -> dict[str, Any]:
    """Return one row of the table without the figures of cross-validation."""
    result, bound = family.results[kind], family.results["relaxed"].objective
    row = {**figures_of(result, COLUMNS), "formulation": name, "kind": kind}
    row |= {**family.size, **family.rounding.get(kind, {})}
    if kind != "exact":
        row["integers"] = 0
    elif math.isfinite(bound):
        row["integrality_gap"] = relative_gap(result.objective, bound)
    if result.coefficients.size:
        accuracy, area = _judge(family.program, result, design.step, design)
        row |= {"train_accuracy": accuracy, "train_auc": area}
    return row


def _judge(program: Program, result: Result, step: Any, on: Design) -> tuple[float, float]:
    """Return accuracy and AUC, of a card by its exact rule, of a relaxation by w.x + b >= 0.

    Times have no accuracy, and Harrell's C in the place of the AUC. A card of pairs gets the
    threshold of its rows; a relaxation of pairs has none, and no accuracy.
    """
    design, result = unpaired(program.statement.design, result)
    rule = result.rule(step)
    totals = rule.totals(on.X, result.coefficients)
    if isinstance(on, SurvivalDesign):
        return math.nan, metrics.concordance_of(on, totals)
    area = metrics.auc(on.y, totals, on.weight)
    if design is not program.statement.design and result.card is None:
        return math.nan, area
    return metrics.accuracy(on.y > 0, rule.positive(totals), on.weight), area


def _unjudged(design: Design) -> str:
    """Why cards of times have no figure of order; empty if they have."""
    lacks = isinstance(design, SurvivalDesign) and find_spec("sksurv") is None
    return metrics.CONCORDANCE_NEEDS if lacks else ""


def _cross_validate(
    name: str,
    arguments: Mapping[str, Any],
    folds: Iterable[Fold],
    run: SharedRun,
    clock: Clock,
    n_folds: int,
) -> tuple[dict[str, dict[str, float]], str]:
    """Return mean accuracy and AUC over the folds by kind, NaN if one lacks it, or none and why."""
    scores: dict[str, list[tuple[float, float]]] = {kind: [] for kind in run.kinds}
    nothing = (float("nan"), float("nan"))
    for at, fold in enumerate(folds):
        seconds = Clock(clock.left / (n_folds - at))
        if run.interrupted:
            return {}, "not cross-validated: interrupted"
        try:
            program = exact_program(name, fold.train, arguments)
        except FormulationError as error:
            return {}, f"not cross-validated: on the training rows of a fold, {error}"
        for kind, result in solve_family(program, run, seconds).results.items():
            scores[kind].append(
                _judge(program, result, fold.train.step, fold.test)
                if result.coefficients.size
                else nothing
            )
    if run.interrupted:
        return {}, "not cross-validated: interrupted"
    means = {kind: np.mean(pairs, axis=0).tolist() for kind, pairs in scores.items() if pairs}
    return {kind: {"cv_accuracy": m[0], "cv_auc": m[1]} for kind, m in means.items()}, ""


@dataclass
class SharedRun:
    """What every solve of a table shares, and whether one of them was interrupted."""

    n_draws: int
    random_state: int
    solver: str
    progress: bool | None
    options: dict[str, Any]
    proximal: bool = False
    roundings: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of rows per formulation."""
        return (*KINDS, *self.roundings, *(("proximal",) if self.proximal else ()))


@dataclass(frozen=True)
class Family:
    """The four answers to one statement, the size of its program, and the rounding figures."""

    program: Program
    results: dict[str, Result]
    size: dict[str, int]
    rounding: dict[str, dict[str, Any]]


def exact_program(name: str, design: Design, arguments: Mapping[str, Any]) -> Program:
    """State a formulation over whole points."""
    program = card_builder(name)(design, **arguments)
    return program if program.kind == "exact" else program.exact()


def solve_family(program: Program, run: SharedRun, clock: Clock) -> Family:
    """Solve the LP, round it, and solve the exact program from the best card so far."""

    def answer(within: Clock, warm_start: Card | None = None) -> Result:
        result = solve(
            session,
            run.solver,
            warm_start=warm_start,
            progress=run.progress,
            time_limit=0.0 if run.interrupted else within.left,
            random_state=run.random_state,
            **run.options,
        )
        run.interrupted |= result.termination is Termination.INTERRUPTED
        return result

    # 1) The same card as a fit's, and the program at its scales.
    program, fast = with_fast_card(program, Options.of({"time_limit": clock}))
    session = load(program)
    rows, columns = session.matrix.shape
    size = {"rows": rows, "columns": columns, "nonzeros": int(session.matrix.nnz),
            "integers": int(session.integral.sum())}  # fmt: skip

    # 2) The relaxation, and its roundings.
    with _relaxed(session):
        relaxed = answer(clock.part(POLICY.relaxed_share))
    rounded, figures = round_by_name(
        program,
        relaxed,
        run.kinds[2:],
        n_draws=run.n_draws,
        random_state=run.random_state,
        max_work=work_within(clock),
        time_limit=clock,
    )

    # 3) The exact program, from the best card so far.
    seconds = clock.part(POLICY.start_share)
    heuristic = start_card(program, max_work=work_within(clock), time_limit=seconds)
    cards = [fast.card if fast else None, heuristic, *(row.card for row in rounded.values())]
    start = min(
        (card for card in cards if card is not None),
        key=lambda card: evaluate(program.statement, card).objective,
        default=None,
    )
    exact = _with_bound_of(relaxed, answer(clock, start))
    return Family(program, {"exact": exact, "relaxed": relaxed, **rounded}, size, figures)


def _with_bound_of(relaxed: Result, exact: Result) -> Result:
    """Return the exact result with the LP's bound if that is the better one."""
    # a solve that stops before its root relaxation is done knows less than the LP solved before
    if not exact.verified or not exact.dual_bound < relaxed.dual_bound <= exact.objective:
        return exact
    bound = relaxed.dual_bound
    return replace(
        exact,
        dual_bound=bound,
        bound_source=relaxed.bound_source,
        claim=claim_of(True, exact.objective, bound, trivial=0.0),
    )


@contextmanager
def _relaxed(session: Session) -> Iterator[None]:
    """Leave the integrality of a loaded program out for a while."""
    session.relax()
    yield
    session.restore()


def compare_realisations(
    program: ConicProgram,
    *,
    time_limit: float = Options.time_limit,
    node_limit: int | None = Options.node_limit,
    tol: float = 1e-9,
    random_state: int = 0,
    progress: bool | None = None,
) -> Comparison:
    """Solve every realisation of a conic program's statement and lay them side by side.

    Rows, in this order: ``integer``, the program over whole numbers, solved by HiGHS; ``linear``,
    its LP relaxation; ``conic`` by ECOS and by Clarabel; ``proximal``. A realisation that does not
    exist, or cannot hold an added constraint, is a row with claim "none" and the reason. The
    relaxations solve one convex problem: ``difference`` is their objective above the least of them,
    relative to it. The integer optimum lies ``integrality_gap`` above. A last row of
    ``perspective``, ``pairwise``, has the bound of :func:`milpscore.formulations.pairwise_bound`.

    Parameters
    ----------
    program : ConicProgram
    time_limit, node_limit
        For the integer program, as in :class:`milpscore.solvers.options.Options`.
    tol : float
        For the conic and proximal solves.
    random_state : int
        Seed of the integer solve.
    progress : bool, optional
        As in :func:`milpscore.solvers.solve`.

    Returns
    -------
    Comparison
        Its table has ``REALISATION_COLUMNS``. Coefficients of the integer and the linear row are
        card points: times ``gamma`` they are those of the others.

    Raises
    ------
    FormulationError
        If the program was changed into another one.
    """
    if not isinstance(program, ConicProgram):
        raise OptionError(
            f"{program.formulation} is a Pyomo program: milpscore.compare lays its exact, relaxed "
            "and rounded answers side by side"
        )
    rows: list[dict[str, Any]] = []
    results: dict[tuple[str, str], Result] = {}
    limits = {"time_limit": time_limit, "node_limit": node_limit, "random_state": random_state}
    for realisation, solver, answer, solved in chain(
        _integer_and_linear(program, progress, **limits), _convex(program, tol)
    ):
        if isinstance(answer, str):
            rows.append(no_answer(answer, realisation=realisation, solver=solver))
        else:
            results[realisation, solver] = answer
            rows.append(_realisation_row(realisation, solver, answer, solved))
    if isinstance(program.statement.penalty, Perspective):
        rows.append(_pairwise(program))
    table = table_of(_with_differences(rows), REALISATION_COLUMNS)
    design = program.statement.design
    return Comparison(table, results, () if design is None else design.names)


def _integer_and_linear(
    program: ConicProgram, progress: bool | None, **limits: Any
) -> list[tuple[str, str, Any, Any]]:
    """Return the exact program's answer and its LP's, or the reason why there is none."""
    try:
        exact = program.exact()
    except NotApplicableError as error:
        return [("integer", "highs", str(error), None), ("linear", "highs", str(error), None)]
    session = load(exact)
    with _relaxed(session):
        linear = solve(session, progress=progress, **limits)
    integer = solve(session, warm_start=start_card(exact), progress=progress, **limits)
    return [
        ("integer", integer.solver, integer, exact),
        ("linear", linear.solver, replace(linear, build_seconds=0.0), exact.relaxed()),
    ]


def _convex(program: ConicProgram, tol: float) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield every solver's answer to the relaxation, or the reason why there is none."""
    for solver in ("ecos", "clarabel", "proximal"):
        realisation = "proximal" if solver == "proximal" else "conic"
        try:
            yield realisation, solver, solve(program, solver, tol=tol), program
        except (NotApplicableError, MissingDependencyError) as error:
            yield realisation, solver, str(error), None


def _pairwise(program: ConicProgram) -> dict[str, Any]:
    """Return the row of the relaxation that looks at pairs of columns; it has a bound alone."""
    place = {"realisation": "pairwise", "solver": "clarabel"}
    try:
        found = pairwise_bound(program)
    except (NotApplicableError, SolverError) as error:
        return no_answer(str(error), **place)
    shared = {name: getattr(found, name) for name in ("bound", *_SIZES)}
    return {**place, "claim": "none", "verified": False, **shared,
            "message": "a bound, recomputed from the multipliers"}  # fmt: skip


_SIZES = ("rows", "columns", "nonzeros", "build_seconds", "solve_seconds")


def _realisation_row(
    realisation: str, solver: str, result: Result, program: Program
) -> dict[str, Any]:
    """Return the row of one realisation's answer."""
    conic = isinstance(program, ConicProgram)
    unit = float(getattr(program.statement.penalty, "gamma", 1.0)) if conic else 1.0
    row = figures_of(result, REALISATION_COLUMNS, unit)
    row |= {"realisation": realisation, "solver": solver}
    if realisation != "proximal":
        size = program.size
        row |= {"rows": size.rows, "columns": size.columns, "nonzeros": size.nonzeros}
        row |= {} if conic else {"integers": size.integers}
    return row


def _with_differences(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add to verified rows how far they lie above the least relaxation."""
    relaxed = [row for row in rows if row["realisation"] != "integer" and row["verified"]]
    least = min((row["objective"] for row in relaxed), default=math.nan)
    for row in rows:
        if row["verified"]:
            column = "integrality_gap" if row["realisation"] == "integer" else "difference"
            row[column] = relative_gap(row["objective"], least)
    return rows
