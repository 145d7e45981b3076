"""The calculator in a browser: any row gets the card's total and risk; and it loads nothing."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from test_report_browser import BROWSER, browse, with_last_words
from typer.testing import CliRunner

from milpscore.cli.app import app
from milpscore.core.errors import NotApplicableError
from milpscore.data import Binner
from milpscore.scorecard import OrdinalCard, RiskScale, Scorecard
from milpscore.scorecard.rendering import attainable_totals

ROWS = 40


def table() -> pd.DataFrame:
    random = np.random.default_rng(5)
    frame = pd.DataFrame({
        "age": random.integers(20, 90, ROWS).astype(float),
        "dose": random.normal(0, 2, ROWS).round(2),
        "sex": random.choice(["f", "m <b>"], ROWS),
        "stage": random.choice(["I", "II", "III"], ROWS),
        "ckd": random.integers(0, 2, ROWS),
    })  # fmt: skip
    frame.loc[::7, "age"] = np.nan
    return frame


def made(**more: Any) -> Scorecard:
    """A card of cuts, numbers by the unit, categories and a flag, with random points."""
    frame = table()
    binner = Binner(missing="bin", n_bins=4, useless="keep", **more).fit(frame)
    points = np.random.default_rng(2).integers(-4, 5, len(binner.columns_)).tolist()
    card = Scorecard(binner.columns_, tuple(points), 3, binner.blocks_, ("well", "ill"))
    card = card.with_words({"age": {"name": "Age", "unit": "years"}}, outcome="illness")
    return replace(card, risk=RiskScale("logistic", 2.5, (-2, 2)))


FILL = """
const rows = JSON.parse(document.getElementById("rows").textContent), said = [];
const fields = [...document.querySelectorAll(".field")];
for (const row of rows) {
  document.querySelector("form").reset();
  fields.forEach((field) => {
    const name = field.querySelector("label").firstChild.textContent.trim().toLowerCase();
    const input = field.querySelector("select, input"), value = row[name];
    if (value === null && input.tagName !== "SELECT") {
      field.querySelector("[type=checkbox]").click();
      return;
    }
    const wanted = value === null ? "unknown" : String(value);
    const truth = name === "ckd" && ["no", "yes"][value];
    const named = (each) => [wanted, truth].includes(each.text);
    if (input.tagName === "SELECT") input.selectedIndex = [...input.options].findIndex(named);
    else input.value = value;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
  said.push([...document.querySelectorAll("output > span")].map((e) => e.lastChild.textContent));
}
document.title = JSON.stringify(said);
"""


@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
@pytest.mark.parametrize("encoding", ["onehot", "cumulative"])
def test_every_row_gets_the_total_and_the_risk_of_the_card(encoding: str, tmp_path: Path) -> None:
    card, frame = made(encoding=encoding), table()
    rows = json.dumps(json.loads(frame.to_json(orient="records"))).replace("<", "\\u003c")
    given = f'</main><script type="application/json" id="rows">{rows}</script>'
    page = card.calculator().replace("</main>", given, 1)
    (tmp_path / "page.html").write_text(with_last_words(page, FILL), encoding="utf-8")
    dom, console = browse(tmp_path, "--dump-dom", (tmp_path / "page.html").as_uri())
    assert not console
    said = json.loads(re.search(r"<title>(.*?)</title>", dom)[1].replace("&lt;", "<"))
    totals = card.score(frame)
    risks = card.risks(totals)
    for (total, risk), own, stated in zip(said, totals, risks, strict=True):
        assert float(total.replace("\u2212", "-")) == own
        assert risk.strip("<> %") == f"{min(max(100 * stated, 0.1), 99.9):.1f}"


@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
def test_every_row_gets_its_group_of_an_ordinal_card(tmp_path: Path) -> None:
    card, frame = replace(made(encoding="onehot"), risk=None), table()
    ordered = OrdinalCard(card, ("mild <1", "fair", "grave"), (card.threshold, card.threshold + 4))
    rows = json.dumps(json.loads(frame.to_json(orient="records"))).replace("<", "\\u003c")
    given = f'</main><script type="application/json" id="rows">{rows}</script>'
    page = ordered.calculator(tmp_path / "made.html").replace("</main>", given, 1)
    (tmp_path / "page.html").write_text(with_last_words(page, FILL), encoding="utf-8")
    dom, console = browse(tmp_path, "--dump-dom", (tmp_path / "page.html").as_uri())
    assert not console
    said = json.loads(html.unescape(re.search(r"<title>(.*?)</title>", dom)[1]))
    assert [group for _, group in said] == ordered.predict(frame).tolist()
    assert set(ordered.predict(frame)) == set(ordered.levels)


def test_the_page_asks_for_values_with_units_and_loads_nothing(tmp_path: Path) -> None:
    card = made(encoding="cumulative")
    page = card.calculator(tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == page
    assert "Age <small>years</small>" in page
    assert "m &lt;b&gt;" in page
    assert not re.findall(r"(?:https?:)?//[\w-]+\.\w+|src=|<link", page)
    content = json.loads(re.search(r'id="card">(.*?)</script>', page)[1])
    assert content["outcome"] == "Risk of illness"
    bare = json.loads(
        re.search(r'id="card">(.*?)</script>', replace(card, risk=None).calculator())[1]
    )
    assert (bare["risk"], bare["answers"]) == (None, ["not", "illness"])


def test_the_command_writes_it(tmp_path: Path) -> None:
    path, out = made(encoding="onehot").save(tmp_path / "card.json"), tmp_path / "ward.html"
    refused = CliRunner().invoke(app, ["card", str(path), "--format", "calculator"])
    assert refused.exit_code == 2
    given = ["card", str(path), "--format", "calculator", "--out", str(out), "--title", "Ward"]
    assert CliRunner().invoke(app, given).exit_code == 0
    assert "<title>Ward</title>" in out.read_text(encoding="utf-8")


def test_a_nomogram_places_points_total_and_risk() -> None:
    plots = pytest.importorskip("milpscore_show.plots")
    card = replace(made(encoding="onehot"), title="Ward")
    with pytest.raises(NotApplicableError, match="has no points"):
        plots.nomogram(replace(card, points=(0,) * len(card.points)), Figure().subplots())
    ax = plots.nomogram(card, Figure().subplots())
    scales = [line for line in ax.lines if len(set(line.get_ydata())) == 1]
    used = [lines for lines in card.lines if lines.printed]
    assert len(scales) == len(used) + 3  # points, total, risk
    for scale, lines in zip(scales[1:], used, strict=False):
        worth = [row.points for row in lines.everything if row.points or row.kind != "missing"]
        assert [*scale.get_xdata()] == [min(worth), max(worth)]
    labels = [text.get_text() for text in ax.texts]
    assert {"Points", "Age", "Total", "Risk", "50%"} <= set(labels)
    half = next(text for text in ax.texts if text.get_text() == "50%").xy[0]
    totals, ends = attainable_totals(card), [*scales[0].get_xdata()]
    low, high = (
        min(s.get_xdata()[0] for s in scales[:-2]),
        max(s.get_xdata()[1] for s in scales[:-2]),
    )
    share = (half - low) / (high - low)
    assert ends[0] >= low
    assert totals[0] + share * (totals[-1] - totals[0]) == pytest.approx(3.0, abs=0.02)
