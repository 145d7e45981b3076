"""Cards of all rows where these are too many for an exact search."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from test_data_patterns import noisy
from tree_cases import set_policy
from typer.testing import CliRunner

from milpscore import sampling
from milpscore.cli.app import app
from milpscore.core.errors import TooManyPatternsError
from milpscore.core.result import Termination
from milpscore.data import Binner, merged_rows, read_patterns, sources, stored_rows
from milpscore.estimators import RiskScoreClassifier, SlimClassifier, _cards
from milpscore.fitting import fit_card
from milpscore.formulations import risk_score
from milpscore.sampling import _least_loss, fit_all_rows


def test_a_fit_takes_all_rows_where_an_exact_search_is_out_of_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The card is that of all rows, the bound below every card's objective over all rows."""
    frame, cuts = noisy(), Binner(3, max_distinct=0)
    frame.to_parquet(path := tmp_path / "t.parquet")
    given = {"max_terms": 2, "coef_min": -3, "coef_max": 3}
    whole = read_patterns(path, "y", binner=cuts)
    _, best = fit_card(whole, "risk_score", time_limit=60, **given)
    set_policy(monkeypatch, merged_rows, max_patterns=50)
    monkeypatch.setattr(_cards, "MAX_CELLS", 1000)
    card = RiskScoreClassifier(binner=cuts, **given)
    X, y = frame.drop(columns="y"), frame["y"].map({0: "no", 1: "yes"})
    with pytest.warns(ConvergenceWarning, match="30,000 rows are too many for an exact search"):
        card.fit(X, y)
    assert card.n_features_in_ == 6
    assert card.classes_.tolist() == ["no", "yes"]
    assert card.program_.statement.design.rows.sum() == 30_000
    assert str(card.result_.claim) == "gap"
    free = LogisticRegression(C=1e6).fit(whole.X, whole.y, whole.weight)
    loss = log_loss(whole.y, free.predict_proba(whole.X)[:, 1], sample_weight=whole.weight)
    assert loss - 4e-4 < card.result_.dual_bound <= loss < best.objective
    assert card.result_.objective == pytest.approx(best.objective, rel=1e-3)
    assert (card.predict(X) == y).mean() > 0.65
    fast = RiskScoreClassifier(binner=cuts, heuristic=True, **given).fit(X, y)
    assert str(fast.result_.claim) == "feasible"
    np.testing.assert_array_equal(fast.coef_, card.coef_)
    balanced = RiskScoreClassifier(binner=cuts, class_weight="balanced", heuristic=True, **given)
    assert balanced.fit(X, y).result_.verified
    errors = SlimClassifier(binner=cuts, **given)
    with pytest.warns(ConvergenceWarning, match="nothing is proved"):
        assert errors.fit(X, y).result_.verified
    with pytest.raises(
        TooManyPatternsError, match="at this size: `fit` without a column of weights"
    ):
        card.fit(X, y, np.ones(len(y)))
    set_policy(monkeypatch, sources, merged_cells=1000)
    said = CliRunner().invoke(app, ["fit", str(path), "--target", "y", "--bins", "3", "--json"])
    assert said.exit_code == 0, said.output
    answer = json.loads(said.stdout)
    assert answer["n_rows"] == 30_000
    assert answer["claim"] == "gap"


def test_the_bound_holds_at_the_least_scale_of_both_statements(tmp_path: Path) -> None:
    """The rows drawn may be stated over larger scales than all rows: their bound is higher."""
    noisy(4000).to_parquet(path := tmp_path / "t.parquet")
    with stored_rows(path, "y", binner=Binner(3, max_distinct=0)) as rows:
        sample = rows.drawn(2000, 0)
        given = {"max_terms": 2, "coef_min": -3, "coef_max": 3}
        large, small = (
            risk_score(sample, scale=(least, 100.0), **given).statement for least in (20.0, 0.5)
        )
        bounds = [_least_loss(rows, *both, 0) for both in ((large, large), (large, small))]
        assert bounds[0] > bounds[1] + 0.001
        assert bounds[1] == _least_loss(rows, small, small, 0)


def test_a_ctrl_c_returns_the_card_that_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted in the bound; before there is a card, the interrupt goes on."""
    frame, cuts = noisy().head(4000), Binner(3, max_distinct=0)
    frame.to_parquet(path := tmp_path / "t.parquet")

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    given = {"max_terms": 2, "reading": {"binner": cuts}}
    monkeypatch.setattr(sampling, "_least_loss", interrupted)
    _, result = fit_all_rows(path, "y", **given)
    assert result.verified
    assert result.termination is Termination.INTERRUPTED
    assert str(result.claim) == "feasible"
    assert "interrupted: the card is the best one until then" in result.message
    monkeypatch.setattr(sampling, "fit_card", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fit_all_rows(path, "y", **given)
