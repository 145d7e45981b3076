"""A statement under a smooth loss as arrays: merged rows, choices with their costs, bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from milpscore.core.design import BoolArray, FloatArray, IntArray
from milpscore.core.errors import OptionError
from milpscore.core.statement import Statement
from milpscore.solvers.tree._model import number_keys

_EPS = float(np.finfo(np.float64).eps)

MOST_POINTS = 2_000_000
"""Values that all coefficients together may take: each has a place in the tables."""

_MOST_KEY = 2**62
"""Keys of rows are whole numbers below it; beyond, they are numbered anew."""


def choices_of(statement: Statement) -> list[IntArray]:
    """The values each coefficient may take, ascending.

    Raises
    ------
    OptionError
        Where some coefficient has none, or all together have too many.
    """
    lower, upper = statement.ranges
    most = int((upper - lower + 1).sum())
    if most > MOST_POINTS:
        raise OptionError(
            f"the coefficients take {most} values together, above {MOST_POINTS}: narrow the ranges"
        )
    choices = [np.arange(lower[j], upper[j] + 1, dtype=np.int64) for j in range(len(lower))]
    for j, allowed in statement.coef_sets.items():
        choices[j] = np.array(sorted(allowed), dtype=np.int64)
    for j, values in enumerate(choices):
        if not len(values):
            raise OptionError(f"feature {j} has no value to take: its range or set is empty")
    return choices


class Arrays:
    """What the search reads of a statement.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        Distinct (x, y) rows over the loss's scale, column by column in memory.
    y, share : ndarrays of shape (n,)
        Answers as the loss reads them; weights that sum to 1.
    points, table : ndarrays of shape (p, K)
        Each feature's choices, ascending, and a separable penalty at them; 0 behind the last.
    hi, zero : int arrays of shape (p,)
        The last choice; the position of 0, or -1.
    values, charges : ndarrays of shape (K, p)
        ``points``, and ``table`` with the cost of a term, place by place; ``is_zero`` says where
        the value is 0.
    """

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        risk: Any = statement.loss
        self.loss = risk.base
        weights: dict[str, Any] = {term.name: term for term in statement.penalties}
        lam = weights.get("lam")
        self.penalty = getattr(lam, "base", lam)
        self.separable = self.penalty is None or bool(self.penalty.separable)
        self.l0 = float(weights["l0_penalty"].lam) if "l0_penalty" in weights else 0.0
        self.unit = 1.0 / risk.scale
        rule = statement.intercept
        self.b_step = None if rule.step is None else float(rule.step)
        self.b_lower, self.b_upper = (
            float(rule.nearest(rule.lower)),
            float(rule.nearest(rule.upper)),
        )
        rows = statement.design.merged
        self.y = np.asarray(risk.answers(rows.y), dtype=np.float64)
        self.share = rows.weight / math.fsum(rows.weight)
        self.X = np.asfortranarray(rows.X * self.unit)
        self.n, self.p = self.X.shape
        self.terms = self.p if statement.max_terms is None else min(statement.max_terms, self.p)
        self._tabulate()
        self._number_levels(rows.X)
        self._measure(rows.X)

    def _tabulate(self) -> None:
        """Choices and penalties, padded to the longest; and the nonzeros of X, by columns."""
        choices = choices_of(self.statement)
        width = max((len(values) for values in choices), default=1)
        self.points, self.table = np.zeros((self.p, width)), np.zeros((self.p, width))
        self.hi = np.array([len(values) - 1 for values in choices], dtype=np.int64)
        self.zero = np.full(self.p, -1, np.int64)
        for j, values in enumerate(choices):
            self.points[j, : len(values)] = values
            self.zero[j] = next(iter(np.flatnonzero(values == 0)), -1)
        self.places = np.arange(width)[:, None]
        self.is_zero = self.places == self.zero
        self.values = np.ascontiguousarray(self.points.T)
        if self.penalty is not None and self.separable:
            w = np.zeros(self.p)
            for j, values in enumerate(choices):  # a sum, read one coefficient at a time
                for k, w[j] in enumerate(values):
                    self.table[j, k] = self.penalty.value(w)
                w[j] = 0.0
        self.charges = np.ascontiguousarray(self.table.T) + self.l0
        self._transposed = csr_array(self.X.T)

    def _number_levels(self, raw: FloatArray) -> None:
        """Each column's values by number, for merging the rows alike in some columns."""
        self.codes = np.zeros((self.n, self.p), np.int64, order="F")
        for j in range(self.p):
            self.codes[:, j] = np.unique(raw[:, j], return_inverse=True)[1].ravel()
        self.levels = [int(codes.max(initial=0)) + 1 for codes in self.codes.T]
        values, codes = np.unique(self.y, return_inverse=True)
        self._y_codes, self._y_levels = codes.ravel().astype(np.int64), len(values)
        self._table_of_keys = np.empty((2, 1 << (2 * self.n + 1).bit_length()), np.int64)

    def _measure(self, raw: FloatArray) -> None:
        """Spreads of the columns, and what bounds every rounding error."""
        self.spread = np.sqrt(self.share @ np.square(raw - self.share @ raw))
        self.most = np.abs(self.points).max(axis=1)
        # no allowed card scores any row beyond +-reach: its largest terms and the intercept
        reach = np.sort(np.abs(self.X) * self.most, axis=1)[:, self.p - self.terms :]
        intercept = max(abs(self.b_lower), abs(self.b_upper)) * self.unit
        self.reach = float(reach.sum(axis=1).max()) + intercept
        # a sum of n products, each a few roundings; doubled for the second order
        self.gamma = 2.0 * (self.n + self.p + 64) * _EPS
        charged = float(np.abs(self.table).max(axis=1, initial=0.0).sum()) + self.l0 * self.p
        self.table_slack = 64.0 * _EPS * (self.p + 4) * charged

    def merge(self, columns: IntArray) -> tuple[IntArray, IntArray]:
        """Rows alike in these columns and y: (their number for each row, a row of each)."""
        labels, first = np.empty(self.n, np.int64), np.empty(self.n, np.int64)
        keys, radix = self._y_codes.copy(), self._y_levels
        for j in columns:
            if radix * self.levels[j] > _MOST_KEY:
                radix = number_keys(keys, self._table_of_keys, labels, first)
                keys[:] = labels
            keys += radix * self.codes[:, j]
            radix *= self.levels[j]
        found = number_keys(keys, self._table_of_keys, labels, first)
        return labels, first[:found].copy()

    def part(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """These rows and columns of X."""
        out = np.empty((len(rows), len(columns)))
        for c, j in enumerate(columns):
            np.take(self.X[:, j], rows, out=out[:, c], mode="clip")  # "raise" would copy twice
        return out

    def column_sums(self, u: FloatArray) -> FloatArray:
        """X'u, shape (p,)."""
        return np.asarray(self._transposed @ u)

    def objective(self, w: IntArray, b: float) -> float:
        """A card's objective, summed without rounding error of its own."""
        rows = self.share * self.loss.value(self._scores(w, b), self.y)
        total = math.fsum(rows) if np.isfinite(rows).all() else math.inf
        return total + self.l0 * int(np.count_nonzero(w)) + self.penalised(w)

    def intercept_slack(self, w: IntArray, b: float) -> float:
        """How far below a card's objective any other intercept can be: by its slope in b."""
        z = self._scores(w, b)
        u = self.share * self.loss.gradient(z, self.y)
        error = self.gamma * float(np.abs(u).sum()) * self.unit
        slope = float(math.fsum(u)) * self.unit
        room = (self.b_upper - b) if slope < 0 else (b - self.b_lower)
        rounding = self.gamma * float(self.share @ np.abs(self.loss.value(z, self.y)))
        return float(abs(slope) * room + 2.0 * error * (self.b_upper - self.b_lower) + rounding)

    def _scores(self, w: IntArray, b: float) -> FloatArray:
        """The rows' scores (w.x + b) / scale."""
        return np.asarray(self.X @ w.astype(np.float64) + b * self.unit)

    def penalised(self, w: FloatArray | IntArray) -> float:
        """The penalty of w, 0 without one."""
        return 0.0 if self.penalty is None else float(self.penalty.value(w))

    def snap(self, b: float) -> float:
        """The nearest allowed intercept."""
        if self.b_step is not None:
            b = round(b / self.b_step) * self.b_step
        return min(max(b, self.b_lower), self.b_upper)

    def may_be_allowed(self, status: NDArray[np.int8]) -> bool:
        """Whether the constraints leave a card with these decisions (1 in, 0 undecided, -1 out).

        A feature that is in may still have 0 points: only what is out is certain.
        """
        statement = self.statement
        if not statement.constraints:
            return True
        lower, upper = statement.ranges
        nothing: BoolArray = (lower == 0) & (upper == 0)
        out = np.flatnonzero((status < 0) | nothing).tolist()
        return all(each.allows_support((), out) for each in statement.constraints)
