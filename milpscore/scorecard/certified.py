"""The scorecard of a solved program, with the cards its bound speaks of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from milpscore.core.card import Card
from milpscore.core.design import Design, FloatArray, IntArray
from milpscore.core.errors import NotApplicableError
from milpscore.core.result import Result
from milpscore.core.statement import ScaleRange, Statement
from milpscore.formulations import any_scale, slim
from milpscore.formulations.cuts import JUMPS
from milpscore.losses import RiskLoss, ZeroOne
from milpscore.losses.kinds import link_of
from milpscore.penalties import L0
from milpscore.penalties.points import point_prices
from milpscore.scorecard._card import Scorecard
from milpscore.scorecard.claims import rarer_rows, shares_of_positives
from milpscore.scorecard.policy import POLICY
from milpscore.scorecard.rendering import attainable_totals
from milpscore.verify.cards import mean_loss

if TYPE_CHECKING:
    from milpscore.scorecard.risks import RiskScale


def certified_card(
    design: Design,
    result: Result,
    title: str = "Scorecard",
    *,
    statement: Statement | None = None,
    threshold_by: str | None = None,
) -> Scorecard:
    """The scorecard of a result, training errors counted as the printed card answers.

    Parameters
    ----------
    design : Design
        What the program was stated on; after ``auc`` also the rows that were paired.
    result : Result
        After ``auc`` its card gets the threshold of the fewest errors on the rows themselves.
    title : str
    statement : Statement, optional
        Of the program: its constraints, and which cards it allows, stand in the certificate; a
        risk score's card then knows its risks, and its certificate the name of the loss and what
        the loss would be without points.
    threshold_by : str, optional
        Chooses from which total the answer is positive, on the rows of the design: "youden";
        "prevalence", a risk of at least the share of positives; "cost=10:1", what a positive missed
        costs and what one found in error does; "net-benefit=10%", the risk from which one would
        act ("net-benefit": the share of positives). A card without risks answers from the total
        of least cost. Points, risks and what is proved stay. Default: "prevalence" where the card
        knows risks and has points, else the decision of the fit.

    Returns
    -------
    Scorecard
        Its certificate is the result's summary with ``errors``, ``n_rows`` and ``rarer_rows``, all
        over the rows of positive weight, ``terms`` counted in raw features, and ``lines``, the
        columns with points.

    Raises
    ------
    NotApplicableError
        The result has no card.
    OptionError
        For an unknown ``threshold_by``.
    """
    if result.card is None:
        raise NotApplicableError(f"the result has no card to show: {result.message}")
    design, result = unpaired(design, result)
    assert result.card is not None
    card = Scorecard.from_card(result.card, design, title=title)
    if statement is not None:
        card = _printed(card, statement)
    counted = design.weight > 0
    if statement is not None and isinstance(statement.loss, ZeroOne) and statement.caveat:
        from milpscore.constraints.parts import wrong_rows

        # off the grid a total on the threshold is undecided: an error, as the loss counts it
        wrong = wrong_rows(design.X, design.y, design.step, result.card)
    else:
        wrong = card.rule.positive(card.score_design(design.X)) != (design.y > 0)
    certificate = {
        **result.summary(),
        "terms": card.terms,
        "errors": int(design.rows[wrong & counted].sum()),
        "n_rows": int(design.rows[counted].sum()),
        "equal_rows": design.equal_rows,
        "rarer_rows": rarer_rows(design),
        "positive_shares": shares_of_positives(design),
        "lines": int(np.count_nonzero(card.points)),
    }
    loss: Any = None
    if statement is not None:
        loss = statement.loss_of(result.card)
        certificate["allowed"] = allowed_cards(statement, result.card.scale, result.dual_bound)
        if statement.constraints:
            certificate["constraints"] = [each.as_mapping() for each in statement.constraints]
        if isinstance(statement.loss, RiskLoss):
            certificate["loss_name"] = statement.loss.name
            certificate["loss_without_points"] = mean_loss(statement, statement.empty_card())[0]
    card, limited = replace(card, certificate=certificate), statement and statement.limits_errors
    return _decided(card, design, loss, threshold_by, limited=bool(limited))


def unpaired(design: Design, result: Result) -> tuple[Design, Result]:
    """Return the rows a result's card is for; that of an AUC with their threshold, by errors."""
    if result.formulation != "auc" or result.card is None:
        return design.unpaired, result
    return design.unpaired, replace(result, card=unpaired_card(design, result.card.coefficients))


def unpaired_card(design: Design, points: IntArray) -> Card:
    """Return the card of points (p,) for the rows themselves: its threshold errs least."""
    found = slim(design.unpaired, coef_min=points, coef_max=points)  # type: ignore[arg-type]
    return found.statement.with_best_intercept(points)


def shown_card(
    statement: Statement,
    card: Card,
    title: str = "Scorecard",
    *,
    moved: Fraction | None = None,
    base_points: Mapping[str, int] | None = None,
) -> Scorecard:
    """A card of a statement as every output shows it: points from 0, risks and decision.

    ``moved``: a threshold by hand, of the points as they are in ``card``. ``base_points``: those of
    a card whose lines are to be printed as they were.
    """
    design = statement.design.unpaired
    if design is not statement.design and moved is None:
        card = unpaired_card(design, card.coefficients)
    shown = Scorecard.from_card(card, design, title=title)
    if base_points is None:
        shown = _printed(shown, statement)
    else:
        threshold = shown.threshold + sum(base_points.values())
        shown = replace(shown, base_points=base_points, threshold=threshold)
    loss, limited = statement.loss_of(card), statement.limits_errors
    return _decided(shown, design, loss, None, moved, limited=limited)


def _printed(card: Scorecard, statement: Statement) -> Scorecard:
    """The card by its smallest points, the least of every feature 0 where that is allowed."""
    card = with_coprime_points(with_least_zero(card, statement), statement)
    # bins and points were found together: every value has its line
    return replace(card, in_full=statement.arguments.get("penalty") in JUMPS)


def _decided(
    card: Scorecard,
    design: Design,
    loss: Any,
    threshold_by: str | None,
    moved: Fraction | None = None,
    limited: bool = False,
) -> Scorecard:
    """The card with its risks and its decision, which is an edge of the groups of totals."""
    from milpscore.scorecard.decisions import with_cut, with_decision

    card = replace(card, risk=bare_scale(card, loss))
    if moved is None:
        card = with_decision(card, threshold_by, design, limited)
    else:
        card = with_cut(card, card.printed_total(moved), "hand", design)
    return replace(card, risk=risk_scale(card, design, loss))


def with_least_zero(card: Scorecard, statement: Statement) -> Scorecard:
    """Shift points and threshold until every feature's least points are 0, if that is allowed."""
    # a feature stays as it is if it would be printed with more points than its columns may have,
    # and every feature if rules or sets speak of points
    if statement.coef_sets or not all(map(_ignores_points, statement.constraints)):
        return card
    most, base = statement.ranges[1], {}
    for feature, lines in zip(card.used_features, card.lines, strict=True):
        points = [row.points for row in lines.everything]
        kinds = {row.kind for row in lines.everything}
        # a category beside the only known one has no line that could say what it counts
        alone = "category" in kinds and sum(len(row.categories) for row in lines.everything) == 1
        fits = max(points) - min(points) <= most[list(feature.positions)].max()
        if min(points) and fits and not alone and "numeric" not in kinds and len(lines.groups) == 1:
            base[feature.name] = -min(points)
    return replace(card, base_points=base, threshold=card.threshold + sum(base.values()))


def printed_divisor(statement: Statement, points: IntArray) -> int:
    """Return what points (p,) of a free scale can be divided by within the statement, else 1."""
    divisor = int(np.gcd.reduce(points, initial=0))
    if statement.scales is None or divisor <= 1:
        return 1
    return divisor if statement.allows(points[None, :] // divisor)[0] else 1


def with_coprime_points(card: Scorecard, statement: Statement) -> Scorecard:
    """The same answers and risks by smaller points, where all have a divisor in common."""
    divisor = printed_divisor(statement, np.array(card.points, dtype=np.int64))
    if divisor == 1:
        return card
    return replace(
        card,
        points=tuple(w // divisor for w in card.points),
        base_points={name: base // divisor for name, base in card.base_points.items()},
        threshold=card.threshold / divisor,
        divisor=divisor,
    )


def _ignores_points(constraint: Any) -> bool:
    """Whether a constraint only speaks of differences, of which columns are used, of errors."""
    from milpscore.constraints.parts import Answers, Used

    if getattr(getattr(constraint, "constraint", None), "ignores_shifts", False):
        return True
    parts = getattr(constraint, "parts", None)
    return isinstance(parts, tuple) and all(isinstance(part, Answers | Used) for part in parts)


def allowed_cards(
    statement: Statement, found: float | Fraction | None = None, bound: float = 0.0
) -> dict[str, Any]:
    """Return the cards a bound speaks of, ``found`` being the best card's own scale, if any."""
    lower, upper = statement.ranges
    scale: Any = getattr(statement.loss, "scale", None)
    if isinstance(scale, ScaleRange):
        scale = [scale.lower, scale.upper]
        # a card at the range's lower end stops there only because the range does
        inside = found is None or found > scale[0]
        if statement.arguments.get("scale") == "auto" and inside and any_scale(statement, bound):
            scale = "any"
    alike = bool(np.all(lower == lower[:1]) and np.all(upper == upper[:1]))
    paired = statement.design.unpaired is not statement.design
    name = statement.loss.name
    if paired:
        name = "ranking" if isinstance(statement.loss, ZeroOne) else f"{name} ranking"
    return {
        "loss": name,
        "columns": len(lower),
        "max_terms": statement.max_terms,
        "coef_min": int(lower.min(initial=0)) if not alike else int(lower[0]),
        "coef_max": int(upper.max(initial=0)) if not alike else int(upper[0]),
        "uniform": alike and not statement.coef_sets,
        "cut": len({column.feature for column in statement.design.columns}) < len(lower),
        "jumps": statement.arguments.get("penalty") in JUMPS,
        "rules": [getattr(each, "name", str(each)) for each in statement.constraints],
        "counts_errors": isinstance(statement.loss, ZeroOne) and not paired,
        "scale": scale,
        "most_penalty": most_penalty(statement),
    }


def most_penalty(statement: Statement) -> float | None:
    """The most that penalties on terms and points can charge an allowed card."""
    lower, upper = statement.ranges
    largest = np.maximum(np.abs(lower), np.abs(upper)).astype(np.float64)
    charge = np.zeros(len(largest))
    for term in statement.penalties:
        if isinstance(term, L0):
            charge += term.lam * (largest > 0)
        elif (prices := point_prices(term, len(largest))) is not None:
            charge += prices * largest
        else:
            return None
    terms = len(charge) if statement.max_terms is None else statement.max_terms
    return float(np.sort(charge)[::-1][:terms].sum())


# --- risks ----------------------------------------------------------------------------------------


def risk_scale(card: Scorecard, design: Design, loss: Any) -> RiskScale | None:
    """Return the risks of a card and the totals to print; None for a loss without risks.

    Few totals that a row can have are printed one by one, else those between the ends that occur;
    of many the ends, which say little more than "no" and "yes", are cut off, and if they are still
    many, ranges of equal width are printed, with the threshold as an edge.
    """
    if (bare := bare_scale(card, loss)) is None:
        return None
    possible = attainable_totals(card)
    least, most = (Fraction(possible[0]), Fraction(possible[-1])) if possible else (None, None)
    scale = replace(bare, unit=_unit(card), least=least, most=most)
    counted = design.weight > 0
    totals = card.score_design(design.X)[counted]
    if possible and len(possible) <= POLICY.most_totals:
        scale = replace(scale, edges=tuple(map(Fraction, possible[1:])), whole=True)
    else:
        scale = replace(scale, edges=_edges(card, scale, totals))
    return _observed(
        scale, totals, design.y[counted] > 0, design.weight[counted], design.rows[counted]
    )


def bare_scale(card: Scorecard, loss: Any) -> RiskScale | None:
    """How totals become risks, without what is printed of it; None for a loss without risks."""
    if (link := link_of(loss)) is None or not isinstance(loss, RiskLoss):
        return None
    from milpscore.scorecard.risks import RiskScale

    return RiskScale(link, loss.fixed / card.divisor)


def _unit(card: Scorecard) -> Fraction | None:
    """What totals are multiples of: the grid of the used columns times the points' divisor."""
    step = Fraction(1) if card.counts_whole else card.rule.step
    return (
        None if step is None else step * (math.gcd(*card.points, *card.base_points.values()) or 1)
    )


def _edges(card: Scorecard, scale: RiskScale, totals: FloatArray) -> tuple[Fraction, ...]:
    """Return the edges of the groups of totals that occur."""
    low, high = float(totals.min()), float(totals.max())
    if scale.unit is None:
        return _even_edges(card, *_trimmed(card, scale, low, high))
    unit = scale.unit
    first, last = (round(Fraction(end) / unit) for end in (low, high))
    if last - first >= POLICY.most_groups:
        near, far = _trimmed(card, scale, low, high)
        first = max(first, math.floor(Fraction(near) / unit))
        last = min(last, math.ceil(Fraction(far) / unit))
    last = max(last, first + 1)  # a single group would say nothing
    width = 1
    cut = math.ceil(card.threshold / unit)
    while len(found := _grid_edges(first, last, cut, width)) >= (
        POLICY.most_groups if width == 1 else POLICY.most_ranges
    ):
        width += 1
    return tuple(k * unit for k in found)


def _grid_edges(first: int, last: int, cut: int, width: int) -> list[int]:
    """Multiples of the width from the cut on, above the first total and up to the last."""
    start = first + 1 + (cut - first - 1) % width
    return list(range(start, last + 1, width))


def _trimmed(card: Scorecard, scale: RiskScale, low: float, high: float) -> tuple[float, float]:
    """The range of totals without the ends whose risks are next to certain."""
    reach = scale.scale * math.log((1 - POLICY.tail) / POLICY.tail)
    if scale.link == "probit":
        from scipy.special import ndtri

        reach = scale.scale * float(ndtri(1 - POLICY.tail))
    cut = float(card.fitted_rule.threshold)
    near = min(max(low, cut - reach), high)
    return near, max(min(high, cut + reach), near)


def round_up(width: float) -> Fraction:
    """The next 1, 2 or 5 times a power of ten."""
    power = Fraction(10) ** math.floor(math.log10(width))
    return next(power * k for k in (1, 2, 5, 10) if float(power * k) >= width * (1 - 1e-9))


def _even_edges(card: Scorecard, low: float, high: float) -> tuple[Fraction, ...]:
    """Edges at round distances from the threshold, for totals on no grid."""
    if not high > low:
        return (card.threshold,)
    width = round_up((high - low) / (POLICY.most_ranges - 2))
    cut = round(card.threshold / (width / 10)) * (width / 10)
    start = cut + math.ceil((Fraction(low) - cut) / width) * width
    count = math.floor((Fraction(high) - start) / width) + 1
    return tuple(start + k * width for k in range(count)) or (cut,)


def _observed(
    scale: RiskScale,
    totals: FloatArray,
    positive: npt.NDArray[np.bool_],
    weight: FloatArray,
    count: IntArray,
) -> RiskScale:
    """The scale with the rows and the weighted share of positives of each group."""
    where, groups = scale.group(totals), len(scale.edges) + 1
    rows = np.bincount(where, weights=count, minlength=groups).astype(np.int64)
    mass = np.bincount(where, weights=weight, minlength=groups)
    hits = np.bincount(where, weights=weight * positive, minlength=groups)
    shares = [float(h / m) if m > 0 else None for h, m in zip(hits, mass, strict=True)]
    return replace(scale, rows=tuple(rows.tolist()), shares=tuple(shares))
