"""The studio's page: who may read it, what it refuses, several at once, and searches that end."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import re
import signal
import subprocess
import sys
import time
import urllib.request
import warnings
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from test_desk import at_desk

from milpscore.cli.app import app as command_line
from milpscore.core.errors import MilpscoreError
from milpscore_show.studio.hub import Hub
from milpscore_show.studio.server import MOST_BYTES, application, asset, events

TOKEN = "a token"
HEAD = {"X-Token": TOKEN}


@pytest.fixture
def hub() -> Iterator[Hub]:
    made = Hub(at_desk(), time_limit=600, node_limit=5000)
    yield made
    made.close()


def client(app: Any, host: str = "127.0.0.1", **more: Any) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Using `httpx`")  # which old and new Starlette take
        from starlette.testclient import TestClient

    return TestClient(app, base_url=f"http://{host}", **more)


@pytest.fixture
def page(hub: Hub) -> Any:
    return client(application(hub, TOKEN))


def idle(hub: Hub) -> str:
    """Wait until nothing is searched; what is said then."""
    for _ in range(6000):
        told = hub.state()["search"]
        if told["running"] is None and not told["waiting"]:
            return str(told["said"])
        time.sleep(0.05)
    raise AssertionError("the search does not end")


@pytest.mark.parametrize(
    "path", ["/", "/state", "/session", "/events", "/studio.js", "/studio.css", "/files/card-1.zip"]
)
def test_without_the_token_nothing_is_read(path: str, page: Any) -> None:
    for query in ("", "?token=", "?token=another", "?token=%C3%A9"):
        answer = page.get(path + query)
        assert answer.status_code == 403
        assert set(answer.json()) == {"error"}


@pytest.mark.parametrize("path", ["/act", "/open", "/ask", "/stop"])
def test_without_the_token_in_a_header_nothing_is_done(path: str, page: Any, hub: Hub) -> None:
    undo = '{"do": "undo"}'
    assert page.post(path, content=undo).status_code == 403
    # an address can be followed from another page, a header cannot be sent from there
    assert page.post(f"{path}?token={TOKEN}", content=undo).status_code == 403
    assert page.get(path, headers=HEAD).status_code in (404, 405)
    assert hub.desk.revision == 0


def test_another_host_is_refused(page: Any) -> None:
    """A name that somebody else made lead to this machine is no name of this page."""
    for host in ("evil.example", "127.0.0.1.evil.example", "[::1"):
        assert page.get("/state", headers={**HEAD, "Host": host}).status_code == 400
    assert page.get("/state", headers={**HEAD, "Host": "localhost:1234"}).status_code == 200


def test_the_page_loads_nothing_from_elsewhere(page: Any) -> None:
    answer = page.get(f"/?token={TOKEN}")
    assert answer.status_code == 200
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["referrer-policy"] == "no-referrer"
    whole = answer.text + asset("studio.js") + asset("studio.css")
    assert not re.findall(r"(?:https?:)?//[\w-]+\.[\w.-]+", whole)
    for name in re.findall(r'(?:href|src)="(?!data:)([^"]+)"', answer.text):
        assert page.get(f"/{name}").status_code == 200
    assert page.get(f"/hub.py?token={TOKEN}").status_code == 404
    assert page.get(f"/..%2fhub.py?token={TOKEN}").status_code == 404


def test_every_part_that_the_script_names_is_on_the_page() -> None:
    script, body = asset("studio.js"), asset("desk.html")
    named = set(re.findall(r'\bat\("([\w-]+)"\)', script))
    assert len(named) > 20
    assert named <= set(re.findall(r'data-id="([\w-]+)"', body))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[[[[",
        b'{"do": "points", "column": "age", "points": 99}',
        b'{"do": "rule", "text": "' + b"a.a" * 10000 + b'"}',
        b'{"do": "undo"' + b" " * MOST_BYTES + b"}",
        b"[" * 50000,
    ],
    ids=["none", "no text", "no JSON", "no points", "deep", "long", "nested"],
)
def test_bad_input_is_told_and_changes_nothing(content: bytes, page: Any, hub: Hub) -> None:
    answer = page.post("/act", content=content, headers=HEAD)
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert hub.desk.revision == 0


def test_limits_beyond_64_bits_are_answered(page: Any, hub: Hub) -> None:
    far = 10**26
    for rule in (
        f'type = "range"\ncolumns = ["age"]\nlower = -{far}\nupper = 3',
        f'type = "at_most"\nk = {far}\ncolumns = ["age"]',
        'type = "total_range"\nlower = -1e300',
        f'type = "max_errors"\ncount = {far}',
        f'type = "range"\ncolumns = ["age"]\nupper = {10**400}',
        f'type = "total_range"\nupper = {10**400}',
    ):
        answer = page.post("/act", json={"do": "rule", "text": rule}, headers=HEAD)
        assert answer.status_code in (200, 400), rule
        assert page.get("/state", headers=HEAD).status_code == 200


def test_a_search_that_fails_does_not_end_the_ones_after_it(
    page: Any, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(hub.desk, "best_of", lambda *_, **__: 10**400 / 3)
        assert page.post("/ask", json={"what": "free"}, headers=HEAD).status_code == 202
        assert "OverflowError" in idle(hub)
    assert page.post("/ask", json={"what": "free"}, headers=HEAD).status_code == 202
    assert idle(hub).startswith("Done")


def test_an_edit_that_cannot_be_shown_is_taken_back(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    from milpscore_show.studio import hub as home

    page = client(application(hub, TOKEN), raise_server_exceptions=False)
    before, view = hub.desk.sheet, home.view

    def broken(desk: Any) -> Any:
        if desk.sheet != before:
            raise OverflowError("too large")
        return view(desk)

    monkeypatch.setattr(home, "view", broken)
    edit = {"do": "points", "column": "age", "points": -2}
    answer = page.post("/act", json=edit, headers=HEAD)
    assert answer.status_code == 500
    assert "OverflowError: too large" in answer.json()["error"]
    assert hub.desk.sheet == before
    assert page.get("/state", headers=HEAD).status_code == 200
    for path in ("/none/such", "/act"):
        assert page.get(path, headers=HEAD).json()["error"]


@pytest.mark.parametrize("what", ["everything", "price forbid age", "export"])
def test_a_search_that_makes_no_sense_is_refused(what: str, page: Any) -> None:
    answer = page.post("/ask", json={"what": what}, headers=HEAD)
    assert answer.status_code == 400


def test_two_pages_see_one_desk(page: Any, hub: Hub) -> None:
    other = client(page.app, "localhost")
    told: list[list[Any]] = [[], []]
    leave = [hub.listen(each.append) for each in told]
    done = page.post("/act", json={"do": "points", "column": "age", "points": -2}, headers=HEAD)
    assert done.status_code == 200
    seen = other.get("/state", headers=HEAD).json()
    assert seen["lines"][0]["points"] == -2
    assert told == [[{"kind": "changed"}]] * 2
    leave[0]()
    other.post("/act", json={"do": "undo"}, headers=HEAD)
    assert [len(each) for each in told] == [1, 2]
    assert page.get("/state", headers=HEAD).json()["lines"][0]["points"] != -2


def test_events_are_sent_until_nobody_reads(hub: Hub) -> None:
    async def read() -> list[str]:
        stream, found = events(hub, beat=0.01), []
        found.append(await anext(stream))
        found.append(await anext(stream))  # nothing happens
        await asyncio.to_thread(hub.act, '{"do": "points", "column": "age", "points": 1}')
        while "changed" not in found[-1]:
            found.append(await anext(stream))
        await stream.aclose()
        return found

    found = asyncio.run(read())
    assert found[0] == found[-1] == 'data: {"kind": "changed"}\n\n'
    assert found[1].startswith(":")
    assert not hub._listeners


@pytest.mark.slow
def test_searches_end_by_themselves_by_stop_and_by_a_kill(page: Any, hub: Hub) -> None:
    """One process does all of it, for it takes seconds to start."""
    heard: queue.SimpleQueue[Any] = queue.SimpleQueue()
    hub.listen(heard.put)
    page.post("/act", json={"do": "forbid", "name": "age"}, headers=HEAD)
    page.post("/ask", json={"what": "prices"}, headers=HEAD)
    assert idle(hub).startswith("Done")
    told = page.get("/state", headers=HEAD).json()
    assert told["wishes"][0]["proved"]
    assert told["together"]["price"] == told["wishes"][0]["price"]
    kinds = [heard.get()["kind"] for _ in range(heard.qsize())]
    assert "trace" in kinds
    page.post("/ask", json={"what": "pool"}, headers=HEAD)
    assert "nearly best cards" in idle(hub)

    page.post("/act", json={"do": "take", "wishes": True}, headers=HEAD)
    page.post("/ask", json={"what": "export"}, headers=HEAD)
    assert idle(hub).endswith("is ready.")
    (name,) = hub.files
    made = page.get(f"/files/{name}?token={TOKEN}")
    assert made.headers["content-type"] == "application/zip"
    assert "report.html" in zipfile.ZipFile(BytesIO(made.content)).namelist()

    child = hub.worker._child
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    page.post("/act", json={"do": "terms", "most": 2}, headers=HEAD)
    page.post("/ask", json={"what": "free"}, headers=HEAD)
    assert idle(hub).startswith("Done")  # by a new process


def test_what_is_known_is_not_searched_again(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool answers a price; an open question that is asked again gets twice the limits."""
    desk, asked = hub.desk, []

    def run(task: Any, listen: Any = None) -> Any:
        asked.append((task.question, task.node_limit))
        return task.run(desk.bench, listen)

    monkeypatch.setattr(hub.worker, "run", run)
    hub.limits["node_limit"] = 1  # leaves it open
    for _ in range(3):
        hub.ask("free")
        assert idle(hub).startswith("Not proved within the limit")
    assert asked == [(desk.free, 1), (desk.free, 2), (desk.free, 4)]
    hub.limits["node_limit"] = 5000
    hub.ask("free")
    hub.ask("pool")
    assert "nearly best cards" in idle(hub)
    asked.clear()
    desk.take()
    used = [name for name, w in zip(desk.design.names, desk.sheet.points, strict=True) if w]
    desk.lock(used[0])
    hub.ask("prices")
    assert idle(hub).startswith("Done")
    assert desk.price().proved
    assert not asked
    hub.ask("best")  # of a card to be taken the proof is its own
    assert idle(hub).startswith("Done")
    assert [question for question, _ in asked] == [desk.question]


class Endless:
    """A search without end."""

    def run(self, bench: Any, listen: Any = None) -> None:
        while True:
            time.sleep(0.05)
            listen(json.loads("1"))


@pytest.mark.slow
def test_a_search_can_be_stopped_or_killed_while_it_runs(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
    assert hub.worker.run(Endless(), lambda _: hub.worker.stop()) is None
    with pytest.raises(MilpscoreError, match="ended from outside"):
        hub.worker.run(Endless(), lambda _: hub.worker.kill())


@pytest.mark.slow
@pytest.mark.parametrize("in_use", [False, True])
def test_the_command_serves_a_page_and_ends_with_its_search(tmp_path: Path, in_use: bool) -> None:
    from milpscore import Scorecard

    rows = "".join(f"{int(k % 5 > 1)},{k % 5},{k % 3}\n" for k in range(60))
    (tmp_path / "table.csv").write_text("y,a,b\n" + rows, encoding="utf-8")
    command = [sys.executable, "-m", "milpscore", "studio", "table.csv", "--target", "y"]
    root = str(Path(__file__).parents[2])
    if in_use:
        card = Scorecard.from_points({"a": 7, "b": -1}, classes=(0, 1), title="In use")
        card.write(tmp_path / "card.json")
        command += ["--card", "card.json"]
    with subprocess.Popen(
        [*command, "--max-terms", "2", "--no-browser"], cwd=tmp_path, stderr=subprocess.PIPE,
        text=True, env={**os.environ, "PYTHONPATH": root},
    ) as server:  # fmt: skip
        try:
            address = ""
            while not address:
                line = server.stderr.readline()  # type: ignore[union-attr]
                assert line, "the command ended"
                address = (re.findall(r"http://127\.0\.0\.1:\d+/\?token=[\w-]+", line) or [""])[0]
            with urllib.request.urlopen(address.replace("/?", "/state?"), timeout=60) as answer:
                state = json.load(answer)
            assert state["title"] == "y, scored by risk-score"
            assert bool(state["in_use"]) is in_use
            if in_use:
                assert state["in_use"]["own"]
                assert [line["points"] for line in state["lines"]] == [7, -1]
        finally:
            server.send_signal(signal.SIGINT)
            assert server.wait(60) in (0, 130)


def test_the_command_to_fit_such_a_card() -> None:
    from milpscore_show.studio_command import command_to_fit

    given = ["studio", "a.csv", "--target", "y", "--port", "80", "--bins=4", "-q"]
    given += ["--max-terms=3", "--no-browser"]
    assert command_to_fit(given) == "milpscore fit a.csv --target y --bins=4"
    assert "studio" in command_line.info.cls().commands  # type: ignore[union-attr,misc]


def test_a_widget_answers_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    import milpscore
    from milpscore_show.studio.widget import answered

    monkeypatch.setattr(Hub, "ask", lambda *_: None)  # no process
    shown = milpscore.studio(at_desk().design, max_terms=3)
    try:
        assert 'data-id="lines"' in shown.markup
        sent: list[Any] = []

        def say(**message: Any) -> Any:
            answered(shown.hub, message, lambda *parts: sent.append(parts))
            return sent[-1][0]

        assert say(id=1, what="state")["content"]["rows"] == 120
        points = '{"do": "points", "column": "age", "points": 2}'
        assert say(id=2, what="act", content=points)["content"]["lines"][0]["points"] == 2
        assert shown.desk.sheet.points[0] == 2
        assert "damaged" in say(id=3, what="act", content="{}")["error"]
        saved = say(id=6, what="session")["content"]["text"]
        assert say(id=7, what="open", content=saved)["content"]["lines"][0]["points"] == 2
        assert "does not know" in say(id=4, what="rm")["error"]
        assert "error" in say(id=5, what="file", content='"card-1.zip"')
    finally:
        shown.close()
