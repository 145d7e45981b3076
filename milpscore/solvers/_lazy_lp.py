"""An LP re-solved under changing column bounds, holding only the rows that have mattered so far.

A row left out only relaxes the LP, so every bound stays valid; rows the solution breaks are added
until none is broken. With thousands of data rows a few hundred usually suffice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from scipy import sparse

from milpscore.core.design import FloatArray
from milpscore.solvers._options import Options
from milpscore.solvers._session import Session, configure, set_option

ROW_TOLERANCE = 1e-7
"""A row broken by no more than this is kept out."""

MAX_ADDED = 100
"""Most broken rows added at once."""


@dataclass(frozen=True)
class LPAnswer:
    """One LP solve.

    Attributes
    ----------
    feasible : bool
        False where the solver found no point at all.
    bound : float
        Recomputed from the duals; -inf where the solver stopped early.
    values : ndarray of shape (columns,) or None
    solves : int
        How many LPs it took.
    """

    feasible: bool
    bound: float
    values: FloatArray | None
    solves: int


class LazyLP:
    """The relaxation of a session's program with its rows brought in when they are broken.

    Parameters
    ----------
    session : Session
    options : Options
    """

    def __init__(self, session: Session, options: Options) -> None:
        self.session = session
        self.matrix = sparse.csr_array(session.matrix)
        self.present = np.zeros(self.matrix.shape[0], dtype=bool)
        self.order = np.empty(0, dtype=np.int64)
        self.highs = session.copy(relaxed=True)
        configure(self.highs, options, 0.0)
        self.highs.deleteRows(len(self.present), np.arange(len(self.present), dtype=np.int32))

    def basis(self) -> Any:
        """The final basis of the last solve, to start a later one from."""
        return self.highs.getBasis()

    def solve(
        self, columns: Any, low: FloatArray, high: FloatArray, seconds: float, basis: Any = None
    ) -> LPAnswer:
        """Solve under the given column bounds.

        Parameters
        ----------
        columns : ndarray of int32
            The columns whose bounds may differ from the last solve.
        low, high : ndarray of shape (all columns,)
        seconds : float
            Time limit.
        basis : HighsBasis, optional
            Of a nearby solve; rows added since are basic in it.

        Returns
        -------
        LPAnswer
        """
        self.highs.changeColsBounds(len(columns), columns, low[columns], high[columns])
        if basis is not None and basis.valid:
            missing = len(self.order) - len(basis.row_status)
            basis.row_status = [*basis.row_status, *[highspy.HighsBasisStatus.kBasic] * missing]
            self.highs.setBasis(basis)
        solves, bound, values = 0, -np.inf, None
        deadline = self.highs.getRunTime() + seconds
        while True:
            set_option(self.highs, "time_limit", deadline)
            self.highs.run()
            solves += 1
            if self.highs.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
                return LPAnswer(False, np.inf, None, solves)
            answer = self.highs.getSolution()
            if not answer.value_valid or not answer.dual_valid:
                return LPAnswer(True, bound, values, solves)
            values = np.asarray(answer.col_value, dtype=np.float64)
            row_dual = np.asarray(answer.row_dual, dtype=np.float64) / self.session.scale
            dual = np.zeros(len(self.present))
            dual[self.order] = row_dual
            bound = max(bound, self.session.dual_bound_of(dual, low, high))
            if self.highs.getRunTime() > deadline or not self._add_broken(values):
                return LPAnswer(True, bound, values, solves)

    def _add_broken(self, values: FloatArray) -> bool:
        """Add the rows the point breaks most; whether there were any."""
        activity = self.matrix @ values
        excess = np.maximum(self.session.row_lower - activity, activity - self.session.row_upper)
        excess[self.present] = 0.0
        broken = np.flatnonzero(excess > ROW_TOLERANCE)
        if not len(broken):
            return False
        if len(broken) > MAX_ADDED:
            broken = np.sort(broken[np.argsort(-excess[broken], kind="stable")[:MAX_ADDED]])
        rows = self.matrix[broken]
        self.highs.addRows(
            len(broken),
            self.session.row_lower[broken],
            self.session.row_upper[broken],
            rows.nnz,
            rows.indptr[:-1].astype(np.int32),
            rows.indices.astype(np.int32),
            rows.data,
        )
        self.present[broken] = True
        self.order = np.concatenate([self.order, broken])
        return True
