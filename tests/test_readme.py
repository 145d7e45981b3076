"""The README: its example prints what it shows, and every command it names exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
COMMANDS = ROOT / "docs" / "howto" / "command_line.md"
DEMO = ROOT / "docs" / "howto" / "demo.md"


def blocks(name: str, page: Path = README) -> list[str]:
    """The fenced blocks between a pair of markers."""
    text = page.read_text(encoding="utf-8")
    part = text.split(f"<!-- {name}:begin")[1].split(f"<!-- {name}:end -->")[0]
    return re.findall(r"```\w+\n(.*?)```", part, flags=re.DOTALL)


def test_the_example_prints_what_the_readme_shows() -> None:
    code, shown = blocks("example")
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == shown.strip()


def test_the_demo_block_is_an_output_of_the_demo() -> None:
    (shown,) = blocks("demo", DEMO)
    for heading in ("A risk score", "What is proved", "exact beside relaxed beside rounded"):
        assert heading in shown
    assert "Claim: optimal" in shown


def test_the_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 170


def test_every_page_the_readme_names_is_there() -> None:
    named = re.findall(r"\]\(([^):]+)\)", README.read_text(encoding="utf-8"))
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_command_named_exists() -> None:
    text = README.read_text(encoding="utf-8") + COMMANDS.read_text(encoding="utf-8")
    listed = subprocess.run(
        [sys.executable, "-m", "milpscore", "--help"], capture_output=True, text=True, check=True
    ).stdout
    named = set(re.findall(r"^milpscore ([a-z]+)", text, flags=re.MULTILINE))
    assert {"fit", "compare", "path", "export", "predict", "list"} <= named
    assert all(name in listed for name in named)
