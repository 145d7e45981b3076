"""What a search holds is never lost: starts by size, cards no model states, freer statements."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyomo.environ as pyo

import milpscore
from milpscore.core.result import Claim
from milpscore.formulations import slim
from milpscore.verify import evaluate


def measured(n: int = 240, p: int = 6, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Skewed measured columns on no usable grid, some rows in both classes."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=n)
    X = np.exp(hidden[:, None] * rng.uniform(-1, 1.5, p) + rng.normal(size=(n, p)) * 0.7)
    X *= 10.0 ** np.arange(-2, p - 2)
    y = (hidden + rng.logistic(size=n) * 0.3 > 0.2).astype(int)
    X[:20] = X[20:40]
    y[:10] = 1 - y[20:30]
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(p)]), y


def test_off_the_grid_contradicting_rows_refuse_no_start() -> None:
    """A threshold within the gap above a pair's total errs twice in the model, once as printed."""
    X, y = measured()
    program = slim(X, y, max_terms=3)
    assert program.statement.caveat
    assert len(program.statement.design.merged.conflicts)
    start = milpscore.search.start_card(program)
    assert start is not None
    empty = evaluate(program.statement, program.statement.empty_card()).objective
    reached = evaluate(program.statement, start).objective
    assert reached < empty
    result = milpscore.solve(program, "highs", warm_start=start, node_limit=0, progress=False)
    assert result.warm_start == "accepted"
    assert result.objective <= reached


def test_a_card_that_only_the_model_refuses_is_kept_with_the_reason() -> None:
    X, y = measured()
    program = slim(X, y, max_terms=3)
    start = milpscore.search.start_card(program)
    assert start is not None
    # a row of the builder's own that says less than the rule as printed
    model = program.model
    model.del_component(model.contradictions)
    model.contradictions = pyo.Constraint(expr=float(start.threshold) + 1.0 <= model.T)
    result = milpscore.solve(program, "highs", warm_start=start, node_limit=0, progress=False)
    best = evaluate(program.statement, start).objective
    assert result.warm_start.startswith("rejected")
    assert result.verified
    assert result.claim is not Claim.NONE
    assert result.objective <= best
    assert "the rows of the data verify this card" in result.message
    # a row that somebody added is obeyed
    model.mine = pyo.Constraint(expr=float(start.threshold) + 1.0 <= model.T)
    obeyed = milpscore.solve(program, "highs", warm_start=start, node_limit=0, progress=False)
    assert obeyed.card is None or obeyed.card.threshold >= start.threshold + 1
