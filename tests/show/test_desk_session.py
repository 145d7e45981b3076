"""What a desk knows by hand, what it counts in rows, and what it saves and opens."""

from __future__ import annotations

import json
import math
from typing import Any

import pandas as pd
import pytest
from test_desk import NODES, at_desk, table
from test_desk_web import HEAD, TOKEN, client

from milpscore.core.errors import DataError
from milpscore.data import make_design
from milpscore_show.studio import Desk
from milpscore_show.studio.hub import Hub
from milpscore_show.studio.server import application
from milpscore_show.studio.session import open_session, session_text
from milpscore_show.studio.showing import in_counts, view


@pytest.mark.parametrize("formulation", ["risk_score", "slim"])
def test_a_card_edited_by_hand_that_obeys_is_known(formulation: str) -> None:
    desk = at_desk(formulation)
    desk.forbid("age")
    desk.set_points("smokes", 2)
    desk.set_points("pain", 1)
    shown = view(desk)
    assert shown["held"]["best"] <= shown["figures"]["objective"]
    assert desk.card in desk.ledger.cards
    empty = desk.bench.statement(desk.question).empty_card()
    assert desk.ledger.best(desk.question)[1] < desk.ledger._cards[empty]
    assert desk.price("forbid age").most < math.inf


def test_a_moved_threshold_is_known_but_hides_no_better_one() -> None:
    desk = at_desk("slim")
    own = view(desk)["figures"]["objective"]
    points = desk.sheet.points
    desk.set_threshold(99)
    desk.set_points("fever", 2 if points[-1] != 2 else 1)
    worse = view(desk)["figures"]["objective"]
    desk.set_threshold(None)  # these points were only seen with a poor threshold
    assert view(desk)["figures"]["objective"] < worse
    desk.set_points("fever", points[-1])
    assert view(desk)["figures"]["objective"] == pytest.approx(own)


def test_a_price_is_counted_in_rows() -> None:
    desk = at_desk()
    desk.ask(node_limit=NODES)
    desk.forbid("age")
    desk.ask(node_limit=NODES)
    free, held = desk.measured(desk.free), desk.measured(desk.question)
    assert free
    assert held
    (wish,) = view(desk)["wishes"]
    assert f"AUC {free.auc:.3f} to {held.auc:.3f}" in wish["counted"]
    missed = held.missed - free.missed
    words = f"{abs(missed)} {'more' if missed > 0 else 'fewer'} missed" if missed else "as many"
    assert words in wish["counted"]
    assert f"of {held.rows} rows" in wish["counted"]
    desk.take()
    figures = desk.figures
    assert (figures.missed, figures.alarmed) == (held.missed, held.alarmed)
    assert in_counts(free, None) == ""
    assert in_counts(free, free) == "The best known card obeys as it is."


def edited() -> Desk:
    desk = at_desk()
    desk.ask(node_limit=NODES)
    desk.gather(node_limit=NODES)
    desk.forbid("smokes")
    desk.add_rule({"type": "sign", "columns": "fever", "sign": "-"})
    desk.ask(node_limit=NODES)
    desk.set_points("age", 1)
    desk.lock("age")
    desk.set_threshold(3)
    return desk


def test_a_session_that_is_opened_shows_what_was_saved() -> None:
    desk, other = edited(), at_desk()
    text = session_text(desk)
    before = other.sheet
    open_session(other, text)
    saved, opened = view(desk), view(other)
    for changing in ("revision", "undo", "redo"):
        saved.pop(changing), opened.pop(changing)
    assert opened == saved
    assert other.ledger.bound(other.question) == desk.ledger.bound(desk.question)
    (_, result), *_ = other.ledger.results.values()
    assert result.bound_source == "outside (session)"
    other.undo()
    assert other.sheet == before
    again = at_desk()
    open_session(again, session_text(other))  # pools do not grow on the way
    assert [len(s.cards) for s in again.ledger.shelves] == [
        len(s.cards) for s in desk.ledger.shelves
    ]


def changed(text: str, **parts: Any) -> str:
    return json.dumps({**json.loads(text), **parts})


def test_a_session_of_others_is_refused_and_changes_nothing() -> None:
    desk = edited()
    text = session_text(desk)
    content = json.loads(text)
    first, *rest = content["proved"]
    short = [[card[0][:-1], *card[1:]] for card in content["cards"]]
    free = content["sheet"]
    bad = {
        "not JSON": "[",
        "not a session": changed(text, kind="card"),
        "of other data": changed(text, fingerprint="0" * 64),
        "other options": changed(text, program={**content["program"], "kind": "relaxed"}),
        "other columns": changed(text, cards=short),
        "above a card": changed(text, proved=[{**first, "bound": 9.0}, *rest]),
        "damaged": changed(text, sheet={**free, "more": 1}),
        "does not obey": changed(
            text, proved=[{**first, "rules": [{"type": "include", "columns": "fever"},
                                              {"type": "exclude", "columns": "fever"}]}]
        ),
        "no column": changed(text, sheet={**free, "forbidden": ["height"]}),
    }  # fmt: skip
    for said, each in bad.items():
        other = at_desk()
        shown = view(other)
        with pytest.raises(Exception, match=said.replace("no column", "height")) as caught:
            open_session(other, each)
        assert type(caught.value).__module__.startswith("milpscore"), said
        assert view(other) == shown
    frame = pd.DataFrame(table().X[:100], columns=list(table().names))
    other = Desk(make_design(frame, table().y[:100] > 0), max_terms=3)
    with pytest.raises(DataError, match="other data"):
        open_session(other, text)


def test_the_page_saves_and_opens() -> None:
    hub = Hub(at_desk(), time_limit=600, node_limit=NODES)
    try:
        page = client(application(hub, TOKEN))
        assert page.get("/session").status_code == 403
        hub.desk.forbid("age")
        saved = page.get("/session", headers=HEAD).json()
        assert saved["name"] == "scorecard.json"
        hub.desk.undo()
        answer = page.post("/open", content=saved["text"], headers=HEAD)
        assert answer.status_code == 200
        assert [each["key"] for each in answer.json()["wishes"]] == ["forbid age"]
        answer = page.post("/open", content="{}", headers=HEAD)
        assert (answer.status_code, hub.desk.sheet.forbidden) == (400, ("age",))
    finally:
        hub.close()
