"""One card for several sites with intercepts of their own, against every card."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from milpscore import Scorecard
from milpscore.certificate import certify, verify_certificate
from milpscore.core.design import Design
from milpscore.core.errors import DataError, NotApplicableError, OptionError
from milpscore.data import make_design, make_survival_design, read_counts, read_sites, write_counts
from milpscore.sites import fit_by_site
from milpscore.solvers import solve


def _rows(seed: int) -> tuple[Design, Any]:
    """Rows of three sites, the first with few positive ones."""
    rng = np.random.default_rng(seed)
    X, site = rng.integers(0, 2, (120, 3)).astype(float), rng.integers(0, 3, 120)
    score = X @ [1.5, -1.0, 0.7] + np.array([-2.0, 0.0, 1.5])[site]
    y = rng.random(120) < 1.0 / (1.0 + np.exp(-score))
    weight = rng.choice([0.5, 1.0, 2.0], 120)
    return make_design(X, y, sample_weight=weight, positive=True), np.array(["a", "b", "c"])[site]


def _least(design: Design, by: Any, points: Any) -> float:
    """The least mean loss of points, one slope and an intercept per site, by another optimiser."""
    total, side = design.X @ np.array(points, dtype=float), -design.y
    number = np.unique(by, return_inverse=True)[1]
    share = design.weight / design.weight.sum()

    def loss(at: Any) -> float:
        return float(share @ np.logaddexp(0.0, side * (at[0] * total + at[1:][number])))

    ends = [(0.0, 40.0), *[(-60.0, 60.0)] * 3]
    return float(minimize(loss, [0.5, 0, 0, 0], bounds=ends, options={"ftol": 1e-14}).fun)


@pytest.mark.parametrize("seed", range(4))
def test_no_card_with_intercepts_of_its_own_loses_less(seed: int) -> None:
    design, by = _rows(seed)
    made = fit_by_site(design, by, max_terms=2, coef_min=-2, coef_max=2, l0_penalty=0.0)
    every = [w for w in itertools.product(range(-2, 3), repeat=3) if np.count_nonzero(w) <= 2]
    least = min(_least(design, by, w) for w in every)
    assert str(made.result.claim) == "optimal"
    assert made.loss == pytest.approx(least, rel=1e-6)
    assert made.loss == pytest.approx(made.result.objective, rel=1e-9)
    assert made.result.dual_bound <= least + 1e-9
    other = solve(made.program, "outer_approximation", time_limit=60)
    assert other.objective == pytest.approx(least, rel=1e-5)
    # each site's card states the risks of that loss
    shown = 0.0
    for site, card in made.cards.items():
        own = by == site
        risk = card.predict_proba(design.X[own])[:, 1]
        lost = -np.log(np.where(design.y[own] > 0, risk, 1.0 - risk))
        shown += float(lost @ design.weight[own])
    assert shown / design.weight.sum() == pytest.approx(made.loss, rel=1e-9)
    assert len({card.points for card in made.cards.values()}) == 1
    assert (made.table["loss"] <= made.table["loss_with_one_intercept"] + 1e-12).all()


def test_its_certificate_is_proved() -> None:
    design, by = _rows(0)
    made = fit_by_site(design, by, max_terms=2, coef_min=-2, coef_max=2)
    assert "Formulation: risk_score." in made.to_text()
    proof = certify(made.program, made.result, progress=False)
    assert proof.evidence["kind"] == "leaves"
    assert verify_certificate(proof, made.program.statement.design).proved


def test_counts_of_sites_give_the_card_of_their_rows(tmp_path: Any) -> None:
    design, by = _rows(1)
    paths = []
    for site in "abc":
        own = by == site
        part = make_design(
            design.X[own], design.y[own] > 0, sample_weight=design.weight[own], positive=True,
            columns=design.columns,
        )  # fmt: skip
        paths.append(write_counts(part, tmp_path / f"{site}.json"))
    counted, named = read_sites(*paths)
    assert counted.fingerprint == read_counts(*paths).fingerprint
    assert counted.counts.sum() == len(design.y)
    whole, pooled = (fit_by_site(*each, max_terms=2) for each in ((design, by), (counted, named)))
    assert pooled.loss == pytest.approx(whole.loss, rel=1e-12)
    assert pooled.table["rows"].tolist() == whole.table["rows"].tolist()
    text = pooled.to_text()
    assert "Risk at each site:\nTotal" in text
    assert "The bound holds for all sites together, each with an intercept of its own." in text
    again = Scorecard.from_json(pooled.cards["b"].to_json())
    assert again.predict_proba(design.X) == pytest.approx(whole.cards["b"].predict_proba(design.X))
    (tmp_path / "more").mkdir()
    with pytest.raises(DataError, match="two files are called 'a'"):
        read_sites(paths[0], write_counts(part, tmp_path / "more" / "a.json"))


def test_what_says_nothing_of_sites_is_refused() -> None:
    design, by = _rows(2)
    with pytest.raises(DataError, match="by names one site alone"):
        fit_by_site(design, ["a"] * len(by))
    with pytest.raises(DataError, match="by has the shape"):
        fit_by_site(design, by[1:])
    with pytest.raises(DataError, match="missing values"):
        fit_by_site(design, np.where(by == "a", None, by))
    with pytest.raises(DataError, match="'a' are of one class"):
        fit_by_site(design, np.where((by == "a") & (design.y > 0), "b", by))
    with pytest.raises(OptionError, match="argument of times"):
        fit_by_site(design, by, times=3)
    with pytest.raises(NotApplicableError, match="two classes"):
        fit_by_site(make_survival_design(design.X, time=np.ones(120), event=design.y > 0), by)
