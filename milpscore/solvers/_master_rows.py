"""How a master of tangents lies in HiGHS: scaled rows, options, the rows that hold ranges."""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np
import numpy.typing as npt
from scipy import sparse

from milpscore.core.design import FloatArray
from milpscore.core.errors import SolverError
from milpscore.solvers._options import Options
from milpscore.solvers._session import Session, configure, set_option

TOLERANCE = 1e-6
"""What HiGHS's tolerances can hide of a bound, in the scaled objective."""

_MIP_OPTIONS: dict[str, Any] = {
    "mip_rel_gap": 0.0,
    "presolve": "off",  # the ranges are tightened here; a round in presolve gains nothing more
    # cards are polished here, and a round ends in a proof or in points: HiGHS's own heuristics,
    # and cuts below the root, cost half of a round and spare no other (measured on mammo)
    "mip_heuristic_effort": 0.0,
    "mip_heuristic_run_feasibility_jump": False,
    "mip_heuristic_run_rins": False,
    "mip_heuristic_run_rens": False,
    "mip_heuristic_run_root_reduced_cost": False,
    "mip_allow_cut_separation_at_nodes": False,
}


def handed_over(
    session: Session, options: Options, unit: FloatArray, cost: FloatArray, factor: float
) -> Any:
    """A session's rows, its columns in units of their own, and a free cutoff row in HiGHS.

    Parameters
    ----------
    session : Session
    options : Options
    unit : ndarray of shape (columns,)
        A column is so many times the one HiGHS sees.
    cost : ndarray of shape (columns,)
        Of the columns HiGHS sees; ``factor`` times the session's.
    factor : float

    Returns
    -------
    highspy.Highs

    Raises
    ------
    SolverError
        Where HiGHS refuses it.
    """
    columns = len(session.columns)
    matrix = sparse.csc_array(sparse.vstack([session.matrix * unit[None, :], cost[None, :]]))
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = matrix.shape[0], columns
    lp.col_cost_, lp.offset_ = cost, session.offset * factor
    lp.col_lower_, lp.col_upper_ = session.col_lower / unit, session.col_upper / unit
    lp.row_lower_ = np.append(session.row_lower, -np.inf)
    lp.row_upper_ = np.append(session.row_upper, np.inf)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = matrix.indptr.astype(np.int32)
    lp.a_matrix_.index_ = matrix.indices.astype(np.int32)
    lp.a_matrix_.value_ = matrix.data
    highs = highspy.Highs()
    set_option(highs, "output_flag", False)
    if highs.passModel(lp) == highspy.HighsStatus.kError:
        raise SolverError("HiGHS refused the master: write it with program.write and look")
    configure(highs, options, 0.1 * TOLERANCE)
    if options.log_file is not None:
        set_option(highs, "output_flag", True)
        set_option(highs, "log_file", options.log_file)
    for name, value in _MIP_OPTIONS.items():
        set_option(highs, name, value)
    return highs


def linking_rows(session: Session, where: npt.NDArray[np.int32]) -> list[tuple[int, int, int, int]]:
    """(row, alpha's column, coefficient's position, side) of the rows l a <= w <= u a.

    Parameters
    ----------
    session : Session
    where : ndarray of shape (p + 1,)
        Columns of (w, b), -1 for those that are fixed.
    """
    model = session.program.model
    if model.component("alpha") is None:
        return []
    row_of = {id(row.constraint): i for i, row in enumerate(session.rows)}
    found = []
    for rows, side in ((model.used_above, 1), (model.used_below, -1)):
        for j in model.J:
            row = row_of.get(id(rows[j]))
            if row is not None and where[j] >= 0 and not model.alpha[j].fixed:
                found.append((row, session.position(model.alpha[j]), j, side))
    return found
