"""What a card's errors tell of rows to come: an Occam bound, and Rademacher bounds with margin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from milpscore.core.card import Card
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import NotApplicableError, OptionError
from milpscore.core.program import Program
from milpscore.core.result import Result
from milpscore.core.statement import Statement
from milpscore.scorecard import Scorecard

DELTA = 0.05
"""The share of samples for which a bound may fail."""

_HALVINGS = 60


@dataclass(frozen=True)
class Generalisation:
    """Upper bounds on the share of errors among rows to come, each with confidence 1 - delta.

    Attributes
    ----------
    rows, errors : int
        Of positive weight, each counted once, and those that the card answers wrongly.
    guess : float
        The share of errors here of always giving the commoner answer.
    delta : float
    cards : int
        How many (points, threshold) the statement allows, its rules aside.
    length : float
        Bits that name this card among them: its number of terms, the points of that many
        terms, and of the threshold.
    occam : float
        The largest error rate p for which so few errors have the probability delta 2^-length
        (binomial tail inversion).
    hoeffding : float
        The same by Hoeffding's inequality, which is never sharper.
    complexity_l1, complexity_l2 : float
        Rademacher complexity of the linear scores with points as large as the card's, eqs (6) and
        (7) of Belahcene and others (2020).
    margin_l1, margin_l2 : float
        The error bounds that follow from them.
    """

    rows: int
    errors: int
    guess: float
    delta: float
    cards: int
    length: float
    occam: float
    hoeffding: float
    complexity_l1: float
    complexity_l2: float
    margin_l1: float
    margin_l2: float

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is bounded, by what, and whether it says anything."""
        here = f"{self.errors} errors in {self.rows} rows ({self.errors / self.rows:.2%})"
        bits = f"one of {_large(self.cards)} cards; {self.length:.1f} bits name it"
        return (
            f"From {here}: with confidence {1 - self.delta:g} this card errs on "
            f"{self._said(self.occam)} (Occam bound: {bits}).",
            f"By margins: {self._said(self.margin_l1)} with the complexity "
            f"{self.complexity_l1:.3g} of points by their sum, {self._said(self.margin_l2)} with "
            f"{self.complexity_l2:.3g} of points by their squares (Rademacher bounds).",
        )

    def _said(self, bound: float) -> str:
        """A bound in words that hide nothing."""
        if bound >= 1:
            return "nothing known: the bound is vacuous, not below 100 %"
        said = f"at most {math.ceil(1e4 * bound) / 1e4:.2%} of new rows"
        if bound >= self.guess:
            said += f", no less than always giving one answer does here ({self.guess:.2%})"
        return said

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Without which the bounds say nothing."""
        return (
            "These rows and the new ones were drawn independently of each other from one and the "
            "same population, and every row counts once, whatever its weight.",
            "Columns, cuts of bins, ranges, the limit on terms and the kind of threshold were "
            "chosen without these rows; how the card was found among all those does not matter, "
            "and rules of the statement only make them fewer.",
            "The bounds are on the answers, not on risks, and say nothing of another population.",
        )


def generalisation(
    card: Scorecard | Result, program: Program, *, delta: float = DELTA
) -> Generalisation:
    """Bound a card's error rate on new rows by its errors on the rows it was made from.

    **Occam.** All allowed cards are counted before any row is seen: a card of k terms has the
    prior P = 1 / ((K + 1) N_k M) of K + 1 possible numbers of terms, N_k points with k terms (the
    coefficient of z^k in prod_j (1 + c_j z), c_j nonzero values of column j), and M thresholds
    that give different answers. They add up to at most 1 (Kraft), so with probability 1 - delta
    every allowed card keeps to p = max {p : P(Bin(n, p) <= errors) >= delta P}, the binomial tail
    inversion (Langford 2005, theorem 3.3 with a union over cards weighted by P).

    **Rademacher.** Of n rows (x, 1) of m columns let X_inf and X_2 be the largest absolute value
    and the largest norm of a row, W_1 and W_2 the norms of (w, s/2 - T), s the step of totals. Eqs
    (6) and (7): R_n <= X_inf W_1 sqrt(2 log(2m) / n) and R_n <= X_2 W_2 / sqrt(n). The print of
    (6) has n^(-1/2) under the root, where Kakade and others (2009) have 1/n; and it has W for the
    radius of every ball, where the level k of |w|^2 / 2 has the radius sqrt(2k). With probability
    1 - delta, for every card and every margin g = s/2, 3s/2, ...: error <= mean of
    min(1, max(0, 1 - y f / g)) + 2 R_n / g + 3 sqrt(log(2/d) / (2n)), f the total less T plus s/2
    (Mohri and others 2018, theorem 5.8); delta is shared among whole norms and margins,
    d = delta / (k (k+1) j (j+1)) for W_1 <= k or W_2^2 <= k and the j-th margin.

    Parameters
    ----------
    card : Scorecard or Result
    program : Program
        That the card was found with: it says which cards are allowed, and holds the rows.
    delta : float in (0, 1)
        Each bound fails for at most this share of samples.

    Returns
    -------
    Generalisation

    Raises
    ------
    NotApplicableError
        The result has no card; or totals lie on no grid, and thresholds cannot be counted.
    OptionError
        For another ``delta``.
    """
    if not 0 < delta < 1:
        raise OptionError(f"delta must lie between 0 and 1, got {delta!r}")
    statement = program.statement
    design = statement.design
    if isinstance(card, Result):
        if card.card is None:
            raise NotApplicableError(f"the result has no card to bound: {card.message}")
        card = Scorecard.from_card(card.card, design)
    counted = design.weight > 0
    X, count, hit = design.X[counted], design.rows[counted], design.y[counted] > 0
    totals = card.score_design(X)
    n = int(count.sum())
    errors = int(count[card.rule.positive(totals) != hit].sum())
    bare = card.card if card.fitted_threshold is None else _rethresholded(card)
    size = bare.nonzeros
    numbers = _numbers_of_points(statement)
    if size >= len(numbers) or not numbers[size]:
        raise NotApplicableError("the program does not allow this card")
    step, thresholds, kept = _thresholds(statement, bare, chosen=card.fitted_threshold is not None)
    nats = math.log(len(numbers)) + math.log(numbers[size]) + math.log(kept)
    unlikely = math.log(1 / delta) + nats
    occam = inverted_tail(errors, n, unlikely)
    shift = float(step / 2 - math.ceil(bare.threshold / step) * step)
    scores = bare.totals(X) + shift
    signed = np.where(hit, scores, -scores)
    norms = np.append(np.abs(bare.coefficients).astype(np.float64), abs(shift))
    (first, own_1), (second, own_2) = complexities(X, norms, n)
    positive = int(count[hit].sum())
    return Generalisation(
        rows=n,
        errors=errors,
        guess=min(positive, n - positive) / n,
        delta=delta,
        cards=sum(numbers) * thresholds,
        length=nats / math.log(2),
        occam=occam,
        hoeffding=errors / n + math.sqrt(unlikely / (2 * n)),
        complexity_l1=own_1,
        complexity_l2=own_2,
        margin_l1=_by_margin(signed, count, own_1, first, float(step), delta),
        margin_l2=_by_margin(signed, count, own_2, second, float(step), delta),
    )


def inverted_tail(errors: int, rows: int, unlikely: float) -> float:
    """The largest p with log P(Bin(rows, p) <= errors) >= -unlikely, at least errors / rows.

    Rounded up. By bisection over the logarithm of the tail, which does not underflow.
    """
    if errors >= rows:
        return 1.0
    low, high = errors / rows, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _log_tail(errors, rows, middle) >= -unlikely:
            low = middle
        else:
            high = middle
    return high


def _log_tail(errors: int, rows: int, p: float) -> float:
    """log P(Bin(rows, p) <= errors), for p >= errors / rows; what is left out is added."""
    if p >= 1:
        return -math.inf
    last = (
        math.lgamma(rows + 1) - math.lgamma(errors + 1) - math.lgamma(rows - errors + 1)
        + errors * math.log(p) + (rows - errors) * math.log1p(-p)
    )  # fmt: skip
    total = term = 1.0
    for k in range(errors, 0, -1):  # of k - 1 errors beside k: a ratio that falls with k
        ratio = k * (1 - p) / ((rows - k + 1) * p)
        term *= ratio
        total += term
        if term < 1e-17 * total:
            total += term * ratio / (1 - ratio) if ratio < 1 else 0.0
            break
    return last + math.log(total)


def _numbers_of_points(statement: Statement) -> list[int]:
    """How many points have 0, 1, ... terms within ranges, sets and the limit on terms."""
    lower, upper = statement.ranges
    most = len(lower) if statement.max_terms is None else min(statement.max_terms, len(lower))
    numbers = [1] + [0] * most
    for j, (low, high) in enumerate(zip(lower.tolist(), upper.tolist(), strict=True)):
        own = statement.coef_sets.get(j)
        values = range(low, high + 1) if own is None else [v for v in own if low <= v <= high]
        zero = 0 in values
        others = len(values) - zero
        for k in range(most, -1, -1):
            numbers[k] = zero * numbers[k] + (others * numbers[k - 1] if k else 0)
    return numbers


def _thresholds(statement: Statement, card: Card, *, chosen: bool) -> tuple[Fraction, int, int]:
    """(step of totals, thresholds allowed, those that can answer differently with these points).

    Totals of columns that hold 0 and 1 are whole, from the sum of the negative points to that of
    the positive ones: one threshold for each, and one above them all. Else they are stated apart by
    the step of the thresholds, or of the data.
    """
    rule, design = statement.intercept, statement.design
    whole = all(
        column.is_indicator or np.isin(design.X[:, j], (0.0, 1.0)).all()
        for j, column in enumerate(design.columns)
    )
    step = Fraction(1) if whole else rule.step or design.step
    if step is None or (chosen and not whole):
        raise NotApplicableError(
            "the thresholds of this card cannot be counted, as its totals lie on no grid: bin its "
            "columns"
        )
    allowed = math.floor(rule.upper / step) - math.floor(rule.lower / step) + 1
    if rule.step is not None:
        allowed = min(
            allowed, math.floor(rule.upper / rule.step) - math.ceil(rule.lower / rule.step) + 1
        )
    stated = int(np.abs(card.coefficients).sum()) + 2
    if chosen:
        return step, max(allowed, stated), stated
    return step, allowed, min(allowed, stated) if whole else allowed


def _rethresholded(card: Scorecard) -> Card:
    """The bare card with the threshold that was chosen afterwards."""
    return Card(card.card.coefficients, -card.divisor * card.bare_rule.threshold)


def complexities(
    X: FloatArray, norms: FloatArray, rows: int
) -> tuple[tuple[int, float], tuple[int, float]]:
    """Eqs (6) and (7): which whole norm, and the complexity of its ball."""
    first = max(1, math.ceil(norms.sum() - 1e-9))
    second = max(1, math.ceil(norms @ norms - 1e-9))
    widest = max(1.0, float(np.abs(X).max(initial=0.0)))
    longest = math.sqrt(1.0 + float(np.einsum("ij,ij->i", X, X).max(initial=0.0)))
    return (
        (first, widest * first * math.sqrt(2 * math.log(2 * len(norms)) / rows)),
        (second, longest * math.sqrt(second / rows)),
    )


def _by_margin(
    signed: FloatArray, count: IntArray, complexity: float, k: int, step: float, delta: float
) -> float:
    """The least bound over margins s/2, 3s/2, ... up to the largest of any row."""
    n, best = float(count.sum()), math.inf
    most = max(1, math.ceil(float(np.abs(signed).max(initial=0.0)) / step))
    margins = {j for power in range(most.bit_length() + 1) for j in (2**power, 3 * 2**power // 2)}
    for j in sorted(margins):
        g = (j - 0.5) * step
        lost = float(count @ np.clip(1 - signed / g, 0.0, 1.0)) / n
        share = delta / (k * (k + 1) * j * (j + 1))
        rest = 3 * math.sqrt(math.log(2 / share) / (2 * n))
        best = min(best, lost + 2 * complexity / g + rest)
    return best


def _large(number: int) -> str:
    """A count as people read it."""
    return f"{number:,}" if number < 10**9 else f"10^{math.log10(number):.1f}"
