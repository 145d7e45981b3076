"""Four programs of one 0-1 statement: equal optima, growing bounds, valid cuts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd

from experiments.strength.comparison import SlimStrength
from milpscore.formulations.strength import STRENGTHS


def tiny(seed: int, n: int = 14, p: int = 2) -> tuple[Any, Any]:
    """Rows with repeats and contradictions."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(n, p))
    y = (X[:, 0] - X[:, -1] + rng.normal(size=n) > 0).astype(int)
    y[:2] = 0, 1
    return X, y


def test_the_comparison_lays_the_programs_side_by_side(tmp_path: Path) -> None:
    X, y = tiny(2, n=40, p=3)
    table = pd.DataFrame(X, columns=list("abc"))
    table.insert(0, "label", y)
    table.to_csv(tmp_path / "haberman.csv", index=False)
    settings: dict[str, Any] = {"seeds": (0, 1), "max_terms": 2, "reach": 2, "time_limit": 300.0}
    experiment = SlimStrength(data=str(tmp_path), most_rows=30, **settings)
    found = experiment.run(out=tmp_path / "runs.sqlite")
    assert len(found.runs) == 2 * len(STRENGTHS) * 4
    assert found.summary["strength"].tolist() == list(STRENGTHS)
    assert (found.summary["gap_on"] <= 1e-6).all()
    assert found.checks[["lp_bounds_grow", "no_bound_above"]].all(axis=None)
    assert (found.profile["ever"] == 1).all()
    assert len(found.integrals) == 2 * len(STRENGTHS)
    assert (found.integrals["gap_integral"] <= 5.0).all()
    assert found.notes["about"].tolist() == [
        "bankruptcy", "breastcancer", "mammo", "mushroom", "adult"
    ]  # fmt: skip
    mpl.use("Agg")
    assert len(experiment.draw(found).get_axes()) >= 2
    mpl.pyplot.close("all")
