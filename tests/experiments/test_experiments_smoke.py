"""Every experiment at its smallest size: it runs, is drawn, and goes on from its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from experiments import EXPERIMENTS
from milpscore.core.errors import NotApplicableError, OptionError

mpl.use("Agg")

TINY = {"n_lams": 3, "unknown_weights": [1.0], "l1_ratios": [0.5], "n_bootstrap": 30, "tol": 1e-3}
PATHS = {"n_lams": 3, "ratio": 0.05, "tol": 1e-3}
GRID: dict[str, Any] = {"sets": ["haberman"], "alphas": [0.2, 0.02], "betas": [0.3, 30.0]}
SETTINGS: dict[str, dict[str, Any]] = {
    "binarsity-comparison": {"sets": [], "sizes": [300], "n_bins": 4, "options": PATHS},
    "binarsity-rate": {"sizes": [200, 400], "n_bins": 5, "options": PATHS},
    "binarsity-toys": {"n_samples": 200, "n_bins": 8, "n_points": 40, "options": PATHS},
    "diarem-recovery": {"sizes": [150]},
    "eye-figure2": {"betas": [0.5], "lams": [1.0, 0.1], "n_samples": 60},
    "eye-figure3": {"n_samples": 20, "n_features": 6},
    "eye-figure4a": {"n_samples": 200, "protocol": TINY},
    "eye-figure4b": {"n_samples": 200, "protocol": TINY},
    "eye-table2": {"n_samples": 200, "protocol": TINY},
    "facets-figure3": GRID | {"folds": 2, "data_set": "haberman"},
    "facets-table1": {
        "sets": ["haberman"], "outer": 2, "inner": 2, "grid": [4, 3], "learners": ["ridge"],
    },
    "facets-table2": GRID | {"folds": 2},
    "score-learning": {"sets": ["haberman"], "folds": 2, "n_bins": 3},
    "slim-strength": {"sets": ["haberman"], "seeds": [0], "max_terms": 1, "reach": 2},
    "ternary-figures": {"gammas": [1.0], "n_samples": 12, "n_features": 6, "n_draws": 5},
}  # fmt: skip
"""Only the table of the challenge needs a file of its own: see test_table3_ranks_known_features."""

UNDRAWN = {"binarsity-rate", "facets-table1"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small set under a name that the experiments know."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 3))
    table = pd.DataFrame(X, columns=list("abc"))
    table.insert(0, "label", (X[:, 0] - X[:, 1] + rng.normal(size=60) > 0).astype(int))
    where = tmp_path_factory.mktemp("sets")
    table.to_csv(where / "haberman.csv", index=False)
    return str(where)


def test_every_experiment_has_a_smallest_size() -> None:
    assert {*SETTINGS, "eye-table3"} == {*EXPERIMENTS}


@pytest.mark.parametrize("name", SETTINGS)
def test_it_runs_is_drawn_and_goes_on_from_its_file(
    name: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, settings = EXPERIMENTS[name], SETTINGS[name]
    if "data" in kind.__struct_fields__:
        settings = settings | {"data": folder}
    experiment = kind.of(settings)
    file = tmp_path / "runs.sqlite"
    finding = experiment.run(1, out=file)
    assert len(finding.summary)
    monkeypatch.setattr(kind, "__call__", None)  # no run is made again
    pd.testing.assert_frame_equal(experiment.run(1, out=file).summary, finding.summary)
    with pytest.raises(OptionError, match="random_state="):
        kind.of(settings | {"random_state": 9}).run(1, out=file)
    if name in UNDRAWN:
        with pytest.raises(NotApplicableError, match="no figure"):
            experiment.draw(finding)
    else:
        assert experiment.draw(finding).get_axes()
    plt.close("all")
