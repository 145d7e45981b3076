"""A start-up check that the installed HiGHS gives right answers where one release does not."""

from __future__ import annotations

from functools import cache

import highspy
import numpy as np

from milpscore.core.errors import SelfTestError


@cache
def self_test() -> str:
    """Solve min 2x + 3z, x + z >= 4.5, 0 <= x, z <= 10, z whole: the optimum is 9 at (4.5, 0).

    highspy 1.14.0 answers 15 and calls it optimal (its presolve fixes z at 5).

    Returns
    -------
    str
        The version of HiGHS.

    Raises
    ------
    SelfTestError
        Where the answer is not 9.
    """
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = 2, 1
    lp.col_cost_ = np.array([2.0, 3.0])
    lp.col_lower_, lp.col_upper_ = np.zeros(2), np.full(2, 10.0)
    lp.row_lower_, lp.row_upper_ = np.array([4.5]), np.array([np.inf])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.array([0, 2])
    lp.a_matrix_.index_ = np.array([0, 1])
    lp.a_matrix_.value_ = np.ones(2)
    lp.integrality_ = [highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger]
    solver.passModel(lp)
    solver.run()
    answer = solver.getInfo().objective_function_value
    version = str(solver.version())
    if abs(answer - 9.0) > 1e-6:
        raise SelfTestError(
            f"HiGHS {version} answers {answer:g} on a two-variable program whose optimum is 9: "
            "install highspy 1.15.1 or later"
        )
    return version
