"""The pages of the documentation: their Python runs, and prints what stands below it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"```python\n(.*?)```(?:\s*<!-- prints: (.*?) -->)?", flags=re.DOTALL)
PAGES = sorted(
    page
    for page in DOCS.rglob("*.md")
    if "_generated" not in page.parts and "```python" in page.read_text(encoding="utf-8")
)
MARK = "-- end of block --"


def test_there_are_pages() -> None:
    assert len(PAGES) > 3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_the_code_of_a_page_runs_and_prints_what_it_shows(page: Path) -> None:
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    script = f"\nprint({MARK!r})\n".join(code for code, _ in blocks)
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=240
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    printed = [part.strip() for part in ran.stdout.split(MARK)]
    for (code, shown), real in zip(blocks, printed, strict=True):
        assert not shown or real == shown.strip(), code
