"""Cards to start an exact solve from: by descent, and from the path of a smooth surrogate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from operator import itemgetter
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from milpscore._version import __version__
from milpscore.core.card import Card
from milpscore.core.clock import Clock
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import FormulationError, OptionError
from milpscore.core.program import Program
from milpscore.core.result import Claim, Result, Termination
from milpscore.core.statement import ScaleRange, Statement
from milpscore.losses import Hinge, RiskLoss, ZeroOne, smooth_loss
from milpscore.penalties import L0
from milpscore.penalties.points import IntegerFacets
from milpscore.search.moves import coordinate_descent
from milpscore.search.points import (
    RoundedCard,
    best_objectives,
    limit_terms,
    nearest_points,
    read_only,
    repaired,
    repaired_points,
)
from milpscore.search.policy import POLICY, Work
from milpscore.verify import check, evaluate

Surrogate: TypeAlias = Literal["auto", "logistic", "smoothed_hinge"]
PathPenalty: TypeAlias = Literal["auto", "l1", "facets"]


def work_within(time_limit: float) -> float:
    """Return the work a start may do before a solve of this time limit; alike on every machine."""
    return POLICY.totals_per_second * time_limit


def fast_work(time_limit: float) -> Work:
    """Return the work a fast card may take of this time limit, whoever asks for it."""
    return Work.of(POLICY.fast_share * time_limit)


def start_card(
    program: Program, *, max_work: float = 1e8, time_limit: float = math.inf
) -> Card | None:
    """Return the best card of a search that goes from tight statements to freer ones.

    Size by size up to ``max_terms``, and where the ranges are wide from narrow ones on: integer
    descent from the best card so far, and from roundings of a proximal path, which sees all columns
    at once. Nothing depends on what is still to come, so that a statement with more terms finds
    all that one with fewer does.

    Parameters
    ----------
    program : Program
    max_work : float
        Most row totals to compute; 1e8 take some ten seconds, and few data sets need as many.
    time_limit : float
        Seconds after which the best so far is the answer; ``max_work`` stops earlier as a rule,
        and at the same card on every machine.

    Returns
    -------
    Card or None
        None where no card was found that the statement allows.

    See Also
    --------
    milpscore.search.proximal_start : the second kind of start alone.
    """
    clock, statement = Clock.of(time_limit), program.statement
    steps = [(size, reach) for size in _sizes(statement) for reach in _reaches(statement)]
    tighter = {step: _tightened(statement, *step) for step in steps}
    # 1) Round a path of models to a card per step, from the tightest statement on.
    rough: dict[tuple[int, int], Card | None] = {}
    models = _models_within(statement, "auto", "auto", 12, max_work / 4, clock)
    for step in steps:
        # late, only the statement itself is looked at
        wanted = models if step == steps[-1] or not clock.is_up else None
        found = wanted and _best_rounded(tighter[step], wanted, 1, 0.0, clock)
        rough[step] = found.card if found else None
    # 2) Descend per step from the best card so far and from the rounded one.
    best: Card | None = None
    held: dict[int, Card | None] = {}
    for size, reach in steps:
        here = tighter[size, reach]
        narrower = best if reach != steps[0][1] else None
        starts = [_least(here, [held.get(reach), narrower, rough.get((size, reach))])]
        starts[0] = starts[0] or first_card(here)
        starts += [rough[size, reach]] if rough.get((size, reach)) not in (None, *starts) else []
        shares = POLICY.work_shares if size > POLICY.small_sizes else POLICY.work_shares / 2
        work = max_work / shares / 2
        ends = [
            coordinate_descent(here, start, max_work=work, time_limit=clock)
            for start in starts
            if start is not None and not clock.is_up
        ]
        held[reach] = best = _least(here, [*ends, *starts])
    return best


def _sizes(statement: Statement) -> list[int]:
    """Limits on terms up to the statement's own: each up to ten, then ever fewer."""
    lower, upper = statement.ranges
    most = int(((lower != 0) | (upper != 0)).sum())
    own = most if statement.max_terms is None else min(statement.max_terms, most)
    return [*(size for size in POLICY.start_sizes if size < own), own]


def _reaches(statement: Statement) -> list[int]:
    """Limits on the size of points up to what the statement's ranges allow."""
    own = int(max(np.abs(statement.coef_min).max(), np.abs(statement.coef_max).max(), 0))
    most_forced = int(max(statement.coef_min.max(), -statement.coef_max.min(), 0))
    sets = [min(map(abs, values)) for values in statement.coef_sets.values()]
    least = max([most_forced, *sets])
    return [*(reach for reach in POLICY.start_points if least <= reach < own), own]


def _tightened(statement: Statement, size: int, reach: int) -> Statement:
    """Return the statement with at most ``terms`` terms, and points no larger."""
    sets = {
        j: tuple(v for v in values if -reach <= v <= reach)
        for j, values in statement.coef_sets.items()
    }
    return replace(
        statement, max_terms=size, coef_sets=sets,
        coef_min=np.maximum(statement.coef_min, -reach),
        coef_max=np.minimum(statement.coef_max, reach),
    )  # fmt: skip


def _least(statement: Statement, cards: Iterable[Card | None]) -> Card | None:
    """Return the best of the cards the statement allows; of equal ones the first."""
    judged = [(card, evaluate(statement, card)) for card in cards if card is not None]
    sound = [(card, figures.objective) for card, figures in judged if figures.feasible]
    return min(sound, key=itemgetter(1), default=(None, 0.0))[0]


def first_card(statement: Statement) -> Card | None:
    """The card without points, or one of few points where that is not allowed; None: none known."""
    empty = statement.empty_card()
    if evaluate(statement, empty).feasible:
        return empty
    return repaired(statement, empty.coefficients)


def heuristic_result(
    program: Program,
    fast: Card | None,
    began: Clock,
    *,
    cut: str = "",
    polish: bool = False,
    time_limit: float,
    options: dict[str, Any],
) -> Result:
    """Return the better of a fast card and the empty one, polished if asked; nothing is proved."""
    # ``began`` runs since the search for the fast card did, ``cut`` what a limit kept it from;
    # ``options`` are put down in the result
    clock, statement = Clock.of(time_limit), program.statement
    cards = [fast]
    # the search has held a risk score against no points at all
    if polish or fast is None or not fast.nonzeros or not _is_logistic(statement):
        cards.append(statement.empty_card())
    if polish:
        work, within = work_within(clock), clock.part(0.5)
        cards.append(start_card(program, max_work=work, time_limit=within))
        if (best := _least(statement, cards)) is not None:
            cards.append(coordinate_descent(statement, best, max_work=work, time_limit=clock))
        if within.is_up:
            late = "the time limit ended the polish: raise time_limit"
            cut = "; ".join(filter(None, [cut, late]))
    checked = [(card, check(program, card)) for card in cards if card is not None]
    sound = [(card, figures) for card, figures in checked if figures.feasible]
    if not sound and not polish:
        mended = first_card(statement)
        checked += [(mended, check(program, mended))] if mended is not None else []
        sound = [(card, figures) for card, figures in checked if figures.feasible]
    common: dict[str, Any] = {
        "formulation": program.formulation,
        "kind": "exact",
        "termination": Termination.WORK_LIMIT if cut else Termination.HEURISTIC,
        "build_seconds": program.build_seconds,
        "solve_seconds": began.seconds,
        "solver": "heuristic",
        "solver_version": __version__,
        "random_state": options["random_state"],
        "caveat": statement.caveat,
        "options": options,
    }
    if not sound:
        broken = "; ".join(dict.fromkeys(f.violations[0] for _, f in checked))
        none = f"the heuristic found no card that meets every constraint ({broken}): solve it"
        message = "; ".join(filter(None, [none, cut]))
        return Result(**common, claim=Claim.NONE, verified=False, message=message)
    card, figures = min(sound, key=lambda pair: pair[1].objective)
    program.fill(card)
    return Result(
        **common,
        claim=Claim.FEASIBLE,
        **figures.fields(statement, card),
        origin="heuristic" if card.nonzeros else "empty card",
        message=cut,
    )


def _is_logistic(statement: Statement) -> bool:
    """Whether it is a risk score of the logistic loss, which has a search of its own."""
    return isinstance(statement.loss, RiskLoss) and statement.loss.base.name == "logistic"


def start_beside(program: Program, fast: Card | None, max_work: float, clock: Clock) -> Card | None:
    """Return a warm-start card to use alongside the fast-mode card (``fast`` may be None)."""
    # The fast search of a risk score without constraints has seen all that a start from nothing
    # would: over 37 tables and limits it was never worse, so that a descent from its card is
    # enough. It has exchanged columns as well, by compiled code: of 33 tables and limits an
    # exchange helped its card on one, and took up to three seconds; the penalties of whole cards
    # are left to it.
    statement = program.statement
    if fast is None or statement.constraints or not _is_logistic(statement):
        return start_card(program, max_work=max_work, time_limit=clock)
    whole = not all(isinstance(term, L0) for term in statement.penalties)
    work = max_work / POLICY.work_shares
    return coordinate_descent(statement, fast, max_work=work, time_limit=clock, swaps=whole)


def fast_cards(
    statement: Statement, time_limit: float, least: float = 0.0
) -> tuple[Card | None, Card | None]:
    """Return a fast card whose free scale is at least ``least``, and the best one at any scale."""
    # A fast risk score, or its points under the statement's loss; None if there is none.
    # ``time_limit`` is the `Work` allowed, whose ``cut`` says what was not looked at, or its
    # seconds.
    work = Work.of(time_limit)
    from milpscore.search.risk import fast_points, fast_risk_card, fast_risk_cards  # loads numba

    scales, design = statement.scales, statement.design
    if work == 0.0 or len(np.unique(design.y[design.weight > 0])) < 2:
        return None, None  # without any time the answer is the card without points
    try:
        if _is_logistic(statement) and scales is not None:
            return fast_risk_cards(statement, max(least, scales.lower), work)
        if _is_logistic(statement):
            card = fast_risk_card(statement, time_limit=work).card
            return card, card
        multiples = 1 if isinstance(statement.loss, ZeroOne) else POLICY.judged_starts
        points = fast_points(statement, work, multiples)
        if getattr(statement.loss, "coupled", False):  # and once more, near the best of these
            near = _best_of(statement, points[statement.allows(points)])
            points = np.vstack([points, fast_points(statement, work, multiples, near)])
    except FormulationError:  # no card at all: the empty one is judged by the caller
        return None, None
    if multiples > 1:  # but under the 0-1 loss the size of the points counts too
        times = np.arange(1, multiples + 1)[:, None, None]
        points = np.unique((times * points).reshape(-1, points.shape[1]), axis=0)
    points = points[statement.allows(points)]
    best = _best_of(statement, points)
    if best is not None and getattr(statement.loss, "coupled", False):
        best = coordinate_descent(statement, best, max_work=POLICY.descent_totals)
    if best is None or best.scale is None or scales is None or best.scale >= least:
        return best, best
    loss: Any = statement.loss
    held = replace(statement, loss=replace(loss, scale=ScaleRange(least, scales.upper)))
    return _best_of(held, points), best


def _best_of(statement: Statement, points: IntArray) -> Card | None:
    """Return the best card of some points (V, p), each with its best intercept and scale."""
    if not len(points):
        return None
    order = np.argsort(best_objectives(statement, points)[1], kind="stable")
    return _least(
        statement, (statement.with_best_intercept(points[k]) for k in order[: POLICY.judged_starts])
    )


def proximal_start(
    program: Program,
    *,
    loss: Surrogate = "auto",
    penalty: PathPenalty = "auto",
    n_lams: int = 12,
    n_polished: int = 2,
    max_work: float = 1e8,
) -> Card | None:
    """Return a verified card from a proximal path: scaled, rounded, limited to max_terms, polished.

    Parameters
    ----------
    program : Program
        Exact or relaxed; the statement's integrality is demanded either way.
    loss : {"auto", "logistic", "smoothed_hinge"}
        The smooth loss in place of the statement's; "auto" takes the smoothed hinge for the hinge.
    penalty : {"auto", "l1", "facets"}
        Of the path; the grid unit of Facets is the unit of the points at the path's end. "auto"
        takes Facets where the statement's own penalty is the one that Facets relaxes.
    n_lams : int
        Models on the path.
    n_polished : int
        So many of the best rounded cards are polished by integer coordinate descent.
    max_work : float
        Most row totals to compute, as in :func:`start_card`; the path is counted too.

    Returns
    -------
    Card or None
        It meets every constraint of the model, those a user added included; None where no such
        card was found.

    Raises
    ------
    OptionError
        For an unknown loss or penalty, or a number of models or cards below 1.
    """
    found = find_start(
        program.statement, loss=loss, penalty=penalty, n_lams=n_lams, n_polished=n_polished,
        max_work=max_work,
    )  # fmt: skip
    if found is None or not check(program, found.card).feasible:
        return None
    return found.card


def find_start(
    statement: Statement,
    *,
    loss: Surrogate = "auto",
    penalty: PathPenalty = "auto",
    n_lams: int = 12,
    n_polished: int = 2,
    max_work: float = 1e8,
    time_limit: float = math.inf,
) -> RoundedCard | None:
    """Return the best card of `proximal_start` under the statement alone, with figures."""
    # ``figures`` belong to the model (its columns of unit deviation), another problem than the
    # card's, and bound nothing; None if the work does not reach for the path, or no card is allowed
    if loss not in get_args(Surrogate) or penalty not in get_args(PathPenalty):
        raise OptionError(
            f"{{loss}}, {{penalty}}: use one of {', '.join(get_args(Surrogate))} and "
            f"of {', '.join(get_args(PathPenalty))}",
            loss=loss,
            penalty=penalty,
        )
    if n_lams < 1 or n_polished < 1:
        raise OptionError("n_lams and n_polished must be whole numbers from 1 on")
    clock = Clock.of(time_limit)
    models = _models_within(statement, loss, penalty, n_lams, max_work, clock)
    if models is None:
        return None
    work_left = max_work - n_lams * models.cells * POLICY.cell_totals
    return _best_rounded(statement, models, n_polished, work_left, clock)


def _models_within(
    statement: Statement,
    loss: Surrogate,
    penalty: PathPenalty,
    n_lams: int,
    max_work: float,
    clock: Clock,
) -> _PathModels | None:
    """The models of a path; None for too little work or time, one class, or points all given."""
    rows = statement.design.merged
    # half of the work for the path: on a part of the rows where that does not reach for all
    cells = max_work / (2 * n_lams * POLICY.cell_totals)
    most_rows = int(min(cells / max(rows.X.shape[1], 1), len(rows.y)))
    two_classes = len(np.unique(rows.y)) == 2
    enough = most_rows >= min(len(rows.y), POLICY.fewest_rows) and not clock.is_up
    lower, upper = statement.ranges
    if not enough or not two_classes or not (lower < upper).any():
        return None
    try:
        return _PathModels(statement, loss, penalty, n_lams, most_rows, clock)
    except _LateError:
        return None


def _best_rounded(
    statement: Statement, models: _PathModels, n_polished: int, work_left: float, clock: Clock
) -> RoundedCard | None:
    """Return the best card of the models rounded, the best roundings polished."""
    rows = statement.design.merged
    # every rounded vector of points once, and the first model that gives it
    sources: dict[tuple[int, ...], int] = {}
    for at, w in models.weights():
        for rounded in _scaled(statement, w, models.spread):
            sources.setdefault(tuple(rounded.tolist()), at)
    if not sources:
        return None
    points = np.array(list(sources), dtype=np.int64)
    most = max(int(work_left / 2 / len(rows.y)), n_polished)
    if len(points) > most and work_left > 0:
        points = points[np.linspace(0, len(points) - 1, most).astype(np.int64)]
    work_left -= len(points) * len(rows.y)
    ranked = np.argsort(best_objectives(statement, points)[1], kind="stable")[:n_polished]
    best: RoundedCard | None = None
    for k in ranked.tolist():
        card = statement.with_best_intercept(points[k])
        if statement.violations(card):
            continue
        polished = card
        if work_left > 0:
            polished = coordinate_descent(
                statement, card, max_work=work_left / n_polished, time_limit=clock
            )
        evaluation = evaluate(statement, polished)
        if best is None or evaluation.objective < best.objective:
            best = RoundedCard(
                "proximal", polished, evaluation, read_only([evaluation.objective]), points[k],
                repaired=False, refusal="", figures=models.figures(sources[tuple(points[k])]),
            )  # fmt: skip
    return best


class _LateError(Exception):
    """The time was up before the path was done."""


class _PathModels:
    """The path on columns of unit deviation, its coefficients in the design's own units."""

    def __init__(
        self,
        statement: Statement,
        loss: Surrogate,
        penalty: PathPenalty,
        n_lams: int,
        most_rows: int,
        clock: Clock,
    ) -> None:
        from milpscore.penalties import L1, Facets
        from milpscore.proximal import path

        rows = statement.design.merged
        lower, upper = statement.ranges
        self.free = np.flatnonzero(lower < upper)
        self.columns = len(statement.coef_min)
        self.spread = deviation_of(rows.X, rows.weight)
        X, y, weight = rows.X[:, self.free], rows.y, rows.weight
        if len(y) > most_rows:
            some = np.random.default_rng(0).permutation(len(y))[:most_rows]
            X, y, weight = X[some], y[some], weight[some]
        self.cells = X.size
        self.deviation = deviation_of(X, weight)
        free_intercept = statement.intercept.kind != "zero"
        if free_intercept:  # it takes the means up, and the path is much quicker without them
            X = X - weight @ X / weight.sum()
        X = X / self.deviation
        if loss == "auto":
            loss = "smoothed_hinge" if isinstance(statement.loss, Hinge) else "logistic"
        if penalty == "auto":
            own = any(isinstance(term, IntegerFacets) for term in statement.penalties)
            penalty = "facets" if own else "l1"
        surrogate = smooth_loss(loss)
        self.title = f"{surrogate.name} with {penalty}"

        def stop_if_late(done: int, total: int) -> None:
            if clock.is_up:
                raise _LateError

        common: dict[str, Any] = {
            "loss": surrogate, "sample_weight": weight,
            "tol": POLICY.path_tol, "max_iter": POLICY.path_steps,
            "intercept": free_intercept, "algorithm": "fista", "progress": stop_if_late,
        }  # fmt: skip
        self.path = path(X, y, penalty=L1, n_lams=n_lams, ratio=POLICY.path_ratio, **common)
        # the unit of the points: the largest weight of the lasso's last model at the most points
        largest = float(np.abs(self.path.coefficients[-1]).max())
        if penalty == "facets" and largest > 0:
            unit = largest / _most_points(statement)
            self.path = path(
                X, y, penalty=lambda lam: Facets(lam * unit, unit), lams=self.path.lams,
                **common,
            )  # fmt: skip

    def weights(self) -> Iterator[tuple[int, FloatArray]]:
        """Number of the model and its weights (p,), models without any left out."""
        for at, w in enumerate(self.path.coefficients):
            if w.any():
                whole = np.zeros(self.columns)
                whole[self.free] = w / self.deviation
                yield at, whole

    def figures(self, at: int) -> dict[str, Any]:
        """What the model of this number reached, under the names of a comparison's columns."""
        model = self.path.results[at]
        return {
            "surrogate": self.title,
            "surrogate_lam": float(self.path.lams[at]),
            "surrogate_objective": model.objective,
            "surrogate_loss": model.loss,
            "surrogate_gap": model.gap,
        }


def deviation_of(X: FloatArray, weight: FloatArray) -> FloatArray:
    """Weighted standard deviation of each column, 1 for constant ones; shape (p,)."""
    share = weight / weight.sum()
    centred = X - share @ X
    largest = np.abs(centred).max(axis=0)
    largest[largest == 0] = 1.0
    # squares of very large or small numbers would leave the range of floating point
    spread = largest * np.sqrt(share @ (centred / largest) ** 2)
    return np.where(spread > 0, spread, 1.0)


def _most_points(statement: Statement) -> float:
    """Return the largest absolute value a coefficient may take, at least 1."""
    most = max(np.abs(statement.coef_min).max(), np.abs(statement.coef_max).max())
    return float(max(most, 1))


def _scaled(statement: Statement, w: FloatArray, deviation: FloatArray) -> Iterator[IntArray]:
    """Yield the weights as they are, and with their largest at each of several points, rounded."""
    # under the 0-1 loss only the proportions count; under the hinge the size counts too, and a
    # margin m asks for m times the weights of margin 1
    kept = _leading(statement, w, deviation)
    size = float(np.abs(kept).max())
    if size == 0:
        return
    most = _most_points(statement)
    tops = np.unique(np.rint(np.geomspace(1.0, min(most, 1e4), POLICY.most_scales)))
    margin = statement.loss.margin if isinstance(statement.loss, Hinge) else 1.0
    refused: list[IntArray] = []
    for factor in (margin, *(tops / size).tolist()):
        points, allowed = limit_terms(
            statement, nearest_points(statement, factor * kept)[None, :], kept
        )
        if allowed[0]:
            yield points[0]
        else:
            refused.append(points[0])
    if statement.constraints and refused:
        # of those that break constraints, the one of fewest points is the easiest to mend
        mended = repaired_points(statement, min(refused, key=lambda w: int(np.abs(w).sum())))
        if mended is not None:
            yield mended


def _leading(statement: Statement, w: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return the weights of the columns that matter most, where the terms are limited."""
    limit = statement.max_terms
    if limit is None or np.count_nonzero(w) <= limit:
        return w
    kept = np.zeros_like(w)
    chosen = np.argsort(-np.abs(w) * deviation, kind="stable")[:limit]
    kept[chosen] = w[chosen]
    return kept
