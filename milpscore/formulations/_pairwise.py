"""Two columns at a time: the rank-one strengthening of ridge with terms under the squared loss."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import clarabel
import numpy as np
from scipy import sparse

from milpscore.core.conic import ConicProgram
from milpscore.core.design import FloatArray, IntArray
from milpscore.core.errors import NotApplicableError, SolverError
from milpscore.formulations.policy import POLICY
from milpscore.penalties import Perspective


@dataclass(frozen=True)
class PairwiseBound:
    """What the pairwise relaxation says.

    Attributes
    ----------
    bound : float
        No coefficients that the program allows have a smaller objective: it is recomputed from the
        solver's multipliers, and holds whatever their rounding errors.
    objective : float
        The solver's own value, not re-checked.
    coefficients, used : ndarray of shape (p,)
        Its point: w, and how far each column is used.
    pairs : int
        Pairs of columns that are looked at together.
    rows, columns, nonzeros : int
        The size of the program.
    build_seconds, solve_seconds : float
    """

    bound: float
    objective: float
    coefficients: FloatArray
    used: FloatArray
    pairs: int
    rows: int
    columns: int
    nonzeros: int
    build_seconds: float
    solve_seconds: float


def pairwise_bound(program: ConicProgram, max_pairs: int | None = None) -> PairwiseBound:
    r"""Bound a :func:`perspective` program under the squared loss by pairs of columns.

    With Q half the Hessian, ridge included, and c and g the rest of the objective (the intercept at
    its best),

    .. math::

        \min\ & c - g \cdot w + \langle Q, W \rangle + C_0 \sum_j z_j \\
        & \begin{pmatrix} 1 & w' \\ w & W \end{pmatrix} \succeq 0, \qquad
          \begin{pmatrix} v_{ij} & w_i & w_j \\ w_i & W_{ii} & W_{ij} \\ w_j & W_{ij} & W_{jj}
          \end{pmatrix} \succeq 0, \quad v_{ij} \le \min(1, z_i + z_j), \qquad
          w_j^2 \le W_{jj} z_j

    beside the rows of the program (over whole points its lines, with W_jj in the place of t_j). A
    card has W = w w', and v_ij = 1 unless both its columns are unused: so the bound holds for it.

    Parameters
    ----------
    program : ConicProgram
        A program of :func:`perspective`, with ``loss="squared"``.
    max_pairs : int, optional
        Look at the pairs of largest \|Q_ij\| only.

    Returns
    -------
    PairwiseBound

    Raises
    ------
    NotApplicableError
        For another program, or one of too many columns.
    SolverError
        Clarabel gave no multipliers.

    Notes
    -----
    The perspective bound is that of W_ij = w_i w_j without the blocks of pairs: this one is never
    lower. References: Atamtürk & Gómez, "Rank-one convexification for sparse regression" (2019),
    whose sdp_2 it is; Jansson, "Rigorous lower and upper bounds in linear programming" (2004), for
    the recomputed bound.
    """
    began = time.perf_counter()
    penalty, statement = program.statement.penalty, program.statement
    if not isinstance(penalty, Perspective) or statement.loss.name != "squared":
        raise NotApplicableError(
            "pairs of columns tighten perspective under the squared loss: its Hessian is constant"
        )
    p = statement.merged.X.shape[1]
    if p > POLICY.most_paired_columns:
        raise NotApplicableError(
            f"{p} columns make too many pairs (limit {POLICY.most_paired_columns}): name fewer"
        )
    constant, slope, half = _quadratic(program, penalty.lam)
    pairs = sorted(combinations(range(p), 2), key=lambda ij: -abs(half[ij]))[:max_pairs]
    made = _Blocks(p, np.array(pairs, dtype=np.int64).reshape(-1, 2))
    _rows_of_columns(made, penalty)
    for i, j in pairs:  # clarabel takes one cone per block
        ii, ij, jj = made.at(i, i), made.at(i, j), made.at(j, j)
        made.block([[int(made.v[made.pair[i, j]]), i, j], [i, ii, ij], [j, ij, jj]])
    for j in range(p):
        made.block([[int(made.z[j]), j], [j, made.at(j, j)]])
    whole = [[-1, *range(p)], *([j, *(made.at(j, i) for i in range(p))] for j in range(p))]
    made.block(whole)
    cost = np.zeros(made.columns)
    cost[:p], cost[made.z] = -slope, penalty.l0_penalty
    for i in range(p):
        for j in range(i, p):
            cost[made.at(i, j)] += half[i, j] * (1.0 if i == j else 2.0)
    A, b, cones = made.problem()
    built = time.perf_counter()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    nothing = sparse.csc_array((made.columns, made.columns))
    found = clarabel.DefaultSolver(nothing, cost, A, b, cones, settings).solve()
    x, y = np.asarray(found.x), np.asarray(found.z)
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise SolverError(f"clarabel gave no multipliers: {found.status}")
    bound = _safe_bound(cost, A, b, made.in_cone(y), made.box(float(penalty.bound)))
    return PairwiseBound(
        constant + bound, constant + float(cost @ x), x[:p], x[made.z], len(pairs), A.shape[0],
        made.columns, int(A.nnz), built - began, time.perf_counter() - built,
    )  # fmt: skip


def _quadratic(program: ConicProgram, lam: float) -> tuple[float, FloatArray, FloatArray]:
    """Return c, g and Q of the objective c - g w + w Q w, the intercept at its best."""
    rows = program.statement.merged
    share = rows.weight / rows.weight.sum()
    X, y = rows.X, rows.y
    if program.statement.intercept:
        X, y = X - share @ X, y - share @ y
    half = 0.5 * (X.T * share) @ X + 0.5 * lam * np.eye(X.shape[1])
    return 0.5 * float(share @ (y * y)), np.asarray(X.T @ (share * y)), np.asarray(half)


class _Blocks:
    """The rows of A x + s = b: s is not negative first, then one positive semidefinite block each.

    The variables are w, z, v and the upper triangle of W; -1 stands for the number 1.
    """

    def __init__(self, p: int, pairs: IntArray) -> None:
        self.p, self.z, count = p, np.arange(p, 2 * p), len(pairs)
        self.v = np.arange(2 * p, 2 * p + count)
        self.pair = {(int(i), int(j)): k for k, (i, j) in enumerate(pairs)}
        self.columns = 2 * p + count + p * (p + 1) // 2
        self.linear: list[tuple[dict[int, float], float]] = []  # sum c x + d >= 0
        self.blocks: list[list[list[int]]] = []

    def at(self, i: int, j: int) -> int:
        """Return the place of W_ij."""
        i, j = min(i, j), max(i, j)
        return 2 * self.p + len(self.v) + j * (j + 1) // 2 + i

    def row(self, terms: dict[int, float], constant: float = 0.0) -> None:
        """Add a row: the sum of terms and the constant is not negative."""
        self.linear.append((terms, constant))

    def block(self, entries: list[list[int]]) -> None:
        """Add a matrix of variables that is positive semidefinite."""
        self.blocks.append(entries)

    def problem(self) -> tuple[Any, FloatArray, list[Any]]:
        """Return A, b and the cones."""
        rows, columns, values, b = list[int](), list[int](), list[float](), list[float]()
        for terms, constant in self.linear:
            for column, value in terms.items():
                rows.append(len(b))
                columns.append(column)
                values.append(-value)
            b.append(constant)
        cones = [clarabel.NonnegativeConeT(len(b))]
        for entries in self.blocks:
            for k in range(len(entries)):
                for i in range(k + 1):  # the upper triangle, column by column
                    unit = 1.0 if i == k else np.sqrt(2.0)
                    if (column := entries[i][k]) < 0:
                        b.append(unit)
                        continue
                    rows.append(len(b))
                    columns.append(column)
                    values.append(-unit)
                    b.append(0.0)
            cones.append(clarabel.PSDTriangleConeT(len(entries)))
        A = sparse.csc_array((values, (rows, columns)), shape=(len(b), self.columns))
        return A, np.array(b), cones

    def in_cone(self, y: FloatArray) -> FloatArray:
        """Return multipliers that lie in their cones, the nearest to those given."""
        kept, at = np.maximum(y, 0.0), len(self.linear)
        for entries in self.blocks:
            n = len(entries)
            size = n * (n + 1) // 2
            upper = np.triu_indices(n)
            unit = np.where(upper[0] == upper[1], 1.0, np.sqrt(2.0))
            order = np.lexsort((upper[0], upper[1]))  # column by column
            rows, columns, unit = upper[0][order], upper[1][order], unit[order]
            matrix = np.zeros((n, n))
            matrix[rows, columns] = matrix[columns, rows] = y[at : at + size] / unit
            roots, vectors = np.linalg.eigh(matrix)
            matrix = (vectors * np.maximum(roots, 0.0)) @ vectors.T
            # what rounding leaves of a negative root
            matrix += 1e-14 * max(float(roots[-1]), 0.0) * np.eye(n)
            kept[at : at + size] = matrix[rows, columns] * unit
            at += size
        return kept

    def box(self, bound: float) -> tuple[FloatArray, FloatArray]:
        """Return the least and the largest value of each variable of a card."""
        low, high = np.zeros(self.columns), np.ones(self.columns)
        low[: self.p], high[: self.p] = -bound, bound
        squares = 2 * self.p + len(self.v)
        low[squares:], high[squares:] = -(bound**2), bound**2
        return low, high


def _rows_of_columns(made: _Blocks, penalty: Perspective) -> None:
    """Add the rows that look at one column, the limit of terms, and those of v."""
    p, u = made.p, float(penalty.bound)
    for j, z in enumerate(made.z.tolist()):
        square = made.at(j, j)
        made.row({z: -1.0}, 1.0)
        made.row({z: u * u, square: -1.0})
        for sign in (1.0, -1.0):
            made.row({z: u, j: sign})
        if penalty.whole:
            made.row({square: 1.0, z: -1.0})
            for t in range(2, int(u) + 1):
                for sign in (1.0, -1.0):
                    made.row({square: 1.0, z: t * (t - 1.0), j: sign * (2.0 * t - 1.0)})
    if penalty.max_terms is not None:
        made.row(dict.fromkeys(made.z.tolist(), -1.0), float(penalty.max_terms))
    for (i, j), k in made.pair.items():
        v = int(made.v[k])
        made.row({v: -1.0}, 1.0)
        made.row({p + i: 1.0, p + j: 1.0, v: -1.0})


def _safe_bound(
    cost: FloatArray, A: Any, b: FloatArray, y: FloatArray, box: tuple[FloatArray, FloatArray]
) -> float:
    """Return a lower bound of cost x over A x + s = b within a box, from multipliers y in the cone.

    cost x = cost x + y (A x + s - b) >= (cost + A'y) x - b y, as y s >= 0.
    """
    rest = cost + A.T @ y
    low, high = box
    terms = np.minimum(rest * low, rest * high)
    # sums in floating point: off by a few units of the last place of what is added
    size = float(np.abs(terms).sum() + np.abs(b) @ np.abs(y) + (abs(A).T @ np.abs(y)) @ high)
    lost = 1e-14 * math.sqrt(len(y)) * (1.0 + size)
    return float(terms.sum() - b @ y) - lost
