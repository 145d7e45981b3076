"""The desk over times to an event: edits, wishes and prices, exports, sessions."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from milpscore.certificate import Certificate, verify_certificate
from milpscore.cli.app import app
from milpscore.constraints import Exclude
from milpscore.core.errors import NotApplicableError
from milpscore.formulations import survival_score
from milpscore.scorecard import SurvivalCard
from milpscore.solvers import solve
from milpscore_show.studio import Desk
from milpscore_show.studio.session import open_session, session_text
from milpscore_show.studio.showing import Export, act, view
from tests.survival_cases import small_times

LIMITS = {"max_terms": 2, "coef_min": -3, "coef_max": 3, "times": 5}


def desk() -> Desk:
    return Desk(small_times(1, rows=100, late=True), "survival_score", **LIMITS)


def test_prices_are_those_of_solves_that_know_no_other_card() -> None:
    at = desk()
    best = at.ask().objective
    held = at.bench.scale
    assert held is not None
    for name in at.features:
        at.forbid(name)
        at.ask()
        fresh = survival_score(
            at.design, constraints=[Exclude(name)], **{**LIMITS, "scale": (held.lower, held.upper)}
        )
        other = solve(fresh, "tree", progress=False).objective
        price = at.price(f"forbid {name}")
        assert price.proved
        assert price.most == pytest.approx(other - best, abs=2e-6)
        at.drop(f"forbid {name}")


def test_what_is_shown_is_the_card_of_its_points() -> None:
    at = desk()
    act(at, json.dumps({"do": "points", "column": "x0", "points": -1}))
    act(at, json.dumps({"do": "points", "column": "x2", "points": 2}))
    shown, seen = at.shown, view(at)
    assert isinstance(shown, SurvivalCard)
    assert seen["risks"] == shown.table
    assert seen["roc"] is None
    assert seen["threshold"] is None
    assert seen["figures"]["events"] == int(at.design.event.sum())
    json.dumps(seen, allow_nan=False)
    assert (at.sheet.points[0], at.sheet.points[2]) == (-1, 2)
    plain = at.design.X @ np.array(at.sheet.points) / shown.card.divisor
    base = sum(shown.card.base_points.values())
    assert shown.card.score_design(at.design.X) == pytest.approx(plain + base)
    with pytest.raises(NotApplicableError, match="no threshold"):
        act(at, json.dumps({"do": "threshold", "total": 1.0}))


def test_card_and_proof_leave_and_a_session_comes_back(tmp_path: Path) -> None:
    at = desk()
    at.ask()
    at.take()
    archive = zipfile.ZipFile(io.BytesIO(Export.of(at).run(at.bench)))
    assert "card.html" in archive.namelist()
    assert "--time COL" in archive.read("README.txt").decode()
    card = SurvivalCard.from_json(archive.read("card.json").decode())
    assert card.card.certificate["claim"] == "optimal"
    archive.extract("certificate.json", tmp_path)
    made = Certificate.from_json(tmp_path / "certificate.json")
    assert verify_certificate(made, at.design).proved
    again = desk()
    open_session(again, session_text(at))
    assert again.sheet.points == at.sheet.points
    assert again.is_settled(again.free)


def test_the_command_begins_with_a_card_in_use(tmp_path: Path, monkeypatch) -> None:
    design = small_times(1, rows=100)
    frame = pd.DataFrame(design.X.astype(int), columns=["a", "b", "c"])
    frame = frame.assign(years=design.time, died=design.event.astype(int))
    frame.to_csv(path := tmp_path / "t.csv", index=False)
    given = [str(path), "--time", "years", "--event", "died", "--max-terms", "2"]
    card = tmp_path / "card.json"
    assert CliRunner().invoke(app, ["fit", *given, "--out", str(card)]).exit_code == 0
    hubs: list = []
    pytest.importorskip("starlette", reason="the studio's page is served by starlette")
    monkeypatch.setattr("milpscore_show.studio.server.serve", lambda hub, *_: hubs.append(hub))
    monkeypatch.setattr("milpscore_show.studio.hub.Hub.ask", lambda *_: None)
    done = CliRunner().invoke(app, ["studio", *given, "--card", str(card), "--no-browser"])
    assert done.exit_code == 0, done.output
    points = SurvivalCard.load(card).card.points
    assert np.array_equal(hubs[0].desk.sheet.points, points)
    for wrong in (["studio", *given[:1], "--target", "died"],):
        refused = CliRunner().invoke(app, [*wrong, "--card", str(card), "--no-browser"])
        assert refused.exit_code == 2
        assert "--time" in refused.stderr
