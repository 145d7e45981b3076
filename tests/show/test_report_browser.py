"""The report in a real browser: a phone's width, the slider, the console, and the printed card."""

from __future__ import annotations

import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from report_pages import Page

from milpscore.data import make_design
from milpscore.scorecard import Scorecard
from milpscore_show.report import report

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next((path for name in NAMES if (path := shutil.which(name))), None)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

pytestmark = pytest.mark.skipif(
    BROWSER is None, reason=f"no browser is installed ({', '.join(NAMES)} were looked for)"
)


def browse(folder: Path, *arguments: str) -> tuple[str, str]:
    """Run the browser with a profile of its own; its standard output, and its console's lines."""
    command = [str(BROWSER), *FLAGS, f"--user-data-dir={folder / 'profile'}", *arguments]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    console = [line for line in answer.stderr.splitlines() if "CONSOLE" in line]
    return answer.stdout, "\n".join(console)


def pages(pdf: Path) -> int:
    """How many pages a file has."""
    return len(re.findall(rb"/Type\s*/Page(?!s)", pdf.read_bytes()))


def with_last_words(html: str, code: str) -> str:
    """The page with one more script."""
    return html.replace("</body>", f"<script>{code}</script></body>")


@pytest.fixture(scope="module")
def wide() -> Any:
    """A card of sixty columns with long and odd names, and its page."""
    random = np.random.default_rng(0)
    names = [f"measure_{k}_of_something" for k in range(58)] + ["W" * 120, "<i>Ä & b</i>"]
    X = pd.DataFrame(random.integers(0, 3, (80, 60)), columns=names)
    points = tuple(int(w) for w in random.choice([-3, -1, 1, 2], 60))
    y = (X.to_numpy() @ np.array(points) >= 5).astype(int)
    design = make_design(X, y)
    card = Scorecard(design.columns, points, Fraction(5), title="A wide card")
    return report(card, X, y)


def test_nothing_overflows_a_phone_and_the_slider_works(wide: str, tmp_path: Path) -> None:
    told = """
      var input = document.getElementById("cut"), before = input.value;
      var own = ["tp", "fp", "fn", "tn"].map(function (k) {
        return document.getElementById("cell-" + k).textContent; }).join(" ");
      input.value = 0;
      input.dispatchEvent(new Event("input"));
      var none = document.getElementById("cell-fn").textContent;
      var said = document.getElementById("cut-answer").textContent;
      document.getElementById("cut-back").click();
      var yours = document.querySelectorAll(".card td.box input");
      [[0, 2], [1, 3]].forEach(function (pair) {
        yours[pair[0]].value = pair[1];
        yours[pair[0]].dispatchEvent(new Event("input")); });
      var ticked = document.getElementById("tick-answer").textContent;
      parent.postMessage([ticked, document.documentElement.scrollWidth, window.innerWidth,
        document.getElementById("slider").hidden, none, said.slice(0, 9), input.value === before,
        input.getAttribute("aria-valuetext") !== "", own.split(" ").length].join("|"), "*");
    """
    (tmp_path / "page.html").write_text(with_last_words(wide, told), encoding="utf-8")
    (tmp_path / "phone.html").write_text(
        '<!DOCTYPE html><body><iframe src="page.html" width="360" height="740" '
        'style="border:0"></iframe><script>addEventListener("message", function (event) {'
        "document.body.textContent = event.data; });</script></body>",
        encoding="utf-8",
    )
    dom, console = browse(
        tmp_path,
        "--enable-logging=stderr",
        "--v=0",
        "--virtual-time-budget=4000",
        "--dump-dom",
        (tmp_path / "phone.html").as_uri(),
    )
    assert console == ""
    ticked, width, inner, hidden, missed, said, back, value, cells = (
        re.search(r"<body>([^<]*)</body>", dom).group(1).split("|")  # type: ignore[union-attr]
    )
    printed = Page(wide).tables["Add up the points of every line that applies."][1:3]
    first, second = (int(row[2].replace("\u2212", "-")) for row in printed)
    total = 2 * first + 3 * second
    answer = int(total >= 5)
    assert ticked == f"Total {total}: the card says {answer}.".replace("-", "\u2212")
    assert (width, inner) == ("360", "360")
    assert (hidden, missed, back, value, cells) == ("false", "0", "true", "true", "4")
    assert said == "Positive:"


def test_names_are_broken_inside_only_where_no_page_holds_them(wide: str) -> None:
    assert f'<th scope="row" class="endless">{"W" * 120}</th>' in wide
    assert '<th scope="row">measure_7_of_something</th>' in wide
    assert "tbody th:not(.endless) { overflow-wrap: break-word; }" in wide


def test_a_card_of_sixty_lines_prints_on_a_page_of_its_own(wide: str, tmp_path: Path) -> None:
    only = {
        "card": "main > section:not(.card), footer { display: none }",
        "rest": ".card { display: none }",
        "all": "",
    }
    counted = {}
    for name, style in only.items():
        page = wide.replace("</head>", f"<style>{style}</style></head>")
        (tmp_path / f"{name}.html").write_text(page, encoding="utf-8")
        pdf = tmp_path / f"{name}.pdf"
        browse(
            tmp_path,
            "--no-pdf-header-footer",
            f"--print-to-pdf={pdf}",
            (tmp_path / f"{name}.html").as_uri(),
        )
        counted[name] = pages(pdf)
    assert counted["card"] == 1
    assert counted["all"] == 1 + counted["rest"]
