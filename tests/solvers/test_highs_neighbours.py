"""Other users of HiGHS in the same process: neither side disturbs the other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

OTHERS = """
import sys
import highspy
import numpy as np
import pandas as pd
import pyomo.environ as pyo
from milpscore.formulations import hinge
from milpscore.solvers import solve

X = pd.DataFrame({"a": [0, 1, 2, 3, 1, 2], "b": [1, 0, 1, 0, 0, 1]})
program = hinge(X, [0, 0, 1, 1, 1, 0], max_terms=1, coef_min=-2, coef_max=2)


def plain(threads):
    highs = highspy.Highs()
    highs.silent()
    highs.setOptionValue("threads", threads)
    highs.addVar(0, 1)
    assert highs.run() == highspy.HighsStatus.kOk, "HiGHS refused to run"


def pyomo():
    model = pyo.ConcreteModel()
    model.x = pyo.Var(within=pyo.Binary)
    model.o = pyo.Objective(expr=-model.x)
    pyo.SolverFactory("appsi_highs").solve(model)
    assert pyo.value(model.x) == 1


def ours(threads):
    result = solve(program, "highs", progress=False, threads=threads, node_limit=500)
    assert str(result.claim) == "optimal", result


USES = {
    "1": lambda: ours(1), "2": lambda: ours(2),
    "h": lambda: plain(0), "i": lambda: plain(1), "j": lambda: plain(2), "p": pyomo,
}
for use in sys.argv[1]:
    USES[use]()
print("done")
"""


@pytest.mark.parametrize("uses", ["h1h", "p1p", "j1j", "i2i", "p2p1p", "1h2h", "2h1h2p"])
def test_other_users_of_highs_in_the_same_thread_and_we_do_not_disturb_each_other(
    uses: str,
) -> None:
    home = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", OTHERS, uses],
        env={**os.environ, "PYTHONPATH": home}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1:] == ["done"], done.stderr
