"""The pages of the documentation: their Python runs, and prints what stands below it."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest

from milpscore import estimators
from milpscore.constraints import CONSTRAINTS

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"```python\n(.*?)```(?:\s*<!-- prints: (.*?) -->)?", flags=re.DOTALL)
PAGES = sorted(
    page
    for page in DOCS.rglob("*.md")
    if "_generated" not in page.parts and "```python" in page.read_text(encoding="utf-8")
)


def test_there_are_pages() -> None:
    assert len(PAGES) > 3


def test_the_kinds_of_constraints_are_counted() -> None:
    page = (DOCS / "howto" / "coming_from.md").read_text(encoding="utf-8")
    assert f"| {len(CONSTRAINTS)} kinds, and any in Pyomo |" in page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_the_code_of_a_page_runs_and_prints_what_it_shows(
    page: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)  # what a page writes goes nowhere else
    names: dict[str, Any] = {"__name__": "__main__"}
    for code, shown in BLOCK.findall(page.read_text(encoding="utf-8")):
        capsys.readouterr()
        with warnings.catch_warnings():
            warnings.simplefilter("default")  # as a reader's Python has them
            exec(compile(code, page.name, "exec"), names)
        printed = capsys.readouterr().out.strip()
        assert not shown or printed == shown.strip(), code


def test_the_page_about_scikit_learn_names_the_estimators_that_there_are() -> None:
    page = (DOCS / "howto" / "sklearn.md").read_text(encoding="utf-8").split("```")[0]
    named = set(re.findall(r"`(\w+(?:Classifier|Estimator))", page))
    alike = {name for name in estimators.__all__ if name.endswith(("Classifier", "Estimator"))}
    assert named == alike - {"CardClassifier"}
    for name in named:
        if hasattr(getattr(estimators, name)(), "predict_proba") and "Penalised" not in name:
            assert name == "RiskScoreClassifier" or name in page.split("The penalised")[1]
