"""The studio in a real browser: keyboard, a phone's width, the console, and what axe-core finds."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_desk import at_desk

from milpscore_show.studio import server
from milpscore_show.studio.hub import Hub

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: it is no part of the extra 'tests'"
)
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
COVERED = """() => {
  const [own, bar] = [document.activeElement, document.querySelector(".brief")]
    .map((each) => each.getBoundingClientRect());
  return bar.height > 0 && own.bottom > bar.top + 1 && own.top < bar.bottom;
}"""
AXE = os.environ.get("MILPSCORE_AXE", "")
"""axe.min.js of axe-core, where it is there."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="neither chromium nor google-chrome is installed"),
]


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A studio that is served by a thread."""
    import uvicorn

    hub, told, servers = Hub(at_desk(), time_limit=600), threading.Event(), []
    addresses: list[str] = []
    kind = uvicorn.Server
    monkeypatch.setattr(
        uvicorn, "Server", lambda config: servers.append(kind(config)) or servers[0]
    )
    monkeypatch.setattr(kind, "install_signal_handlers", lambda _: None, raising=False)

    def ready(address: str) -> None:
        addresses.append(address)
        told.set()

    thread = threading.Thread(target=server.serve, args=(hub, 0, ready), daemon=True)
    thread.start()
    assert told.wait(60)
    yield addresses[0]
    servers[0].should_exit = True
    thread.join(60)


@pytest.mark.parametrize("width", [1280, 360])
def test_the_studio_by_keyboard(width: int, address: str, tmp_path: Path) -> None:
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_context(
            viewport={"width": width, "height": 740}, bypass_csp=bool(AXE), accept_downloads=True
        ).new_page()
        said: list[str] = []
        page.on("console", lambda line: said.append(line.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.set_default_timeout(120_000)
        page.goto(address)

        def on(part: str) -> Any:
            return page.locator(f"[data-id={part}]")

        def wait(part: str, text: str) -> None:
            sync_api.expect(on(part)).to_contain_text(text, timeout=120_000)

        for part in ("[data-ask=best]", "[data-id=stop]"):
            box = page.locator(part).bounding_box()
            assert box["y"] + box["height"] < 300
        field = page.locator("[data-column]").first
        name = field.get_attribute("data-column")
        field.focus()
        before = field.input_value()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Tab")  # leaves the field, and goes to its lock
        sync_api.expect(page.locator("[data-act=undo]")).to_be_enabled()
        page.keyboard.press("Enter")
        wait("wishes", f"for {name}")
        assert page.evaluate("document.activeElement.dataset.lock") == name
        lock = page.locator(f"[data-lock='{name}']")
        lock.hover()
        colours = "e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]"
        assert len(set(lock.evaluate(colours))) == 2
        with page.expect_download() as saved:
            on("save").press("Enter")
        assert saved.value.suggested_filename == "scorecard.json"
        page.keyboard.press("Control+z")
        on("file").set_input_files(saved.value.path())
        sync_api.expect(page.locator("[data-id=wishes] li")).to_have_count(1)
        page.keyboard.press("Control+z")
        page.evaluate("document.activeElement.blur()")
        for _ in range(12):  # what has the focus is not below the bar of a phone
            page.keyboard.press("Tab")
            assert page.evaluate(COVERED) is False
        sync_api.expect(page.locator("[data-id=wishes] li")).to_have_count(0)
        page.keyboard.press("Control+z")
        sync_api.expect(page.locator(f"[data-column='{name}']")).to_have_value(before)

        page.locator("[data-wish=forbid]").first.press("Enter")
        sync_api.expect(on("all-prices")).to_be_enabled()
        on("all-prices").press("Enter")
        wait("together", "(proved)")
        wait("status", "Done: price of all wishes")
        page.locator("[data-act=take]").press("Enter")
        wait("held", "0.00000 above")
        with page.expect_download() as loaded:
            page.locator("[data-ask=export]").press("Enter")
        assert loaded.value.suggested_filename.endswith(".zip")

        page.locator("summary").press("Enter")
        sync_api.expect(on("rule")).not_to_have_value("")  # the first rule is offered by then
        on("rule").fill("type = 'sine'")
        on("add-rule").press("Enter")
        wait("error", "did you mean")
        assert said == [
            "Failed to load resource: the server responded with a status of 400 (Bad Request)"
        ]
        assert page.evaluate("document.documentElement.scrollWidth") == width
        if AXE:
            page.evaluate(Path(AXE).read_text(encoding="utf-8"))
            assert page.evaluate("axe.run().then(found => found.violations.map(v => v.id))") == []
        page.screenshot(path=tmp_path / f"studio-{width}.png", full_page=True)
        browser.close()
