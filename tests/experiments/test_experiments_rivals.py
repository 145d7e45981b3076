"""Rivals in processes of their own: what they answer is judged, what goes wrong becomes a row."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.rivals.fitting import recalibrated_loss, rival_rows

STAND_IN = """
import numpy as np
class RiskScoreOptimizer:
    def __init__(self, X, y, k, lb, ub):
        self.given = X.shape, sorted(set(y.tolist())), k, lb, ub
    def optimize(self):
        BODY
    def get_models(self):
        return np.array([2.0]), np.array([1.0]), np.array([[POINTS]])
"""


@pytest.fixture
def rows() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(60, 3))
    return X, (X[:, 0] + rng.normal(size=60) > 1).astype(int)


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put a package called fasterrisk on the path of this interpreter and its children."""

    def install(body: str = "pass", points: str = "1, 0, -2") -> None:
        package = tmp_path / "fasterrisk"
        package.mkdir()
        (package / "__init__.py").touch()
        text = STAND_IN.replace("BODY", body).replace("POINTS", points)
        (package / "fasterrisk.py").write_text(text)
        about = tmp_path / "fasterrisk-9.9.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: fasterrisk\nVersion: 9.9\n")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        monkeypatch.setenv("MILPSCORE_FASTERRISK", sys.executable)

    return install


def test_figures_are_recomputed_from_the_card(rows: tuple[Any, Any], stand_in: Any) -> None:
    X, y = rows
    stand_in("import warnings; warnings.warn('something else was fitted')")
    table = rival_rows(X, y, rivals=["fasterrisk"], max_terms=2, fits=3)
    row = table.iloc[0]
    scores = (X @ [1, 0, -2] + 1.0) / 2.0
    signs = np.where(y > 0, 1, -1)
    assert row["error"] == ""
    assert row["version"] == "9.9"
    assert row["loss"] == pytest.approx(np.log1p(np.exp(-signs * scores)).mean())
    assert row["recalibrated_loss"] == pytest.approx(recalibrated_loss(X @ [1, 0, -2], signs))
    assert row["recalibrated_loss"] <= row["loss"]
    assert row["accuracy"] == pytest.approx(((scores >= 0) == (y > 0)).mean())
    assert (row["terms"], row["magnitude"], row["whole"], row["within"]) == (2, 3, True, True)
    assert row["note"] == "something else was fitted"
    assert len(table.attrs["cards"]["fasterrisk"].times) == 3


@pytest.mark.parametrize(
    ("body", "points", "error"),
    [
        ("raise RuntimeError('no luck')", "1, 0, 0", "no luck"),
        ("import time; time.sleep(600)", "1, 0, 0", "no answer within"),
        ("import os; os._exit(7)", "1, 0, 0", "ended with 7"),
        ("pass", "1, 0", "not a card of 3 columns"),
        ("pass", "1, 0, np.nan", "not a card of 3 columns"),
    ],
)
def test_what_goes_wrong_becomes_a_row(
    rows: tuple[Any, Any], stand_in: Any, body: str, points: str, error: str
) -> None:
    stand_in(body, points)
    patience = 3.0 if "sleep" in body else 300.0
    table = rival_rows(*rows, rivals=["fasterrisk"], time_limit=patience)
    assert error in table.loc[0, "error"]
    assert np.isnan(table.loc[0, "loss"])
    assert not table.loc[0, "whole"]
