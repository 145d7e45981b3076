"""The rules of the house hold, and each is seen to fail on a planted breach."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from long_tail import LONG, QUICK, slow_cases

ROOT = Path(__file__).parents[1]
BRANCHES = "\n".join(f"    if x == {k}:\n        return {k}" for k in range(25))
BUDGET = """
branches = []
class_names = []

[lines]
"milpscore/core" = 40
"milpscore_study" = 40
"""


def checked(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "tools" / "house.py"), str(root)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A house in order: one room, one sibling, one page."""
    (tmp_path / "budget.toml").write_text(BUDGET, encoding="utf-8")
    for name in ("milpscore/core/a.py", "milpscore_study/b.py", "docs/page.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text("", encoding="utf-8")
    return tmp_path


def test_this_house_is_in_order() -> None:
    done = checked(ROOT)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("place", "text", "breach"),
    [
        ("milpscore/core/a.py", "x = 1\n" * 41, "milpscore/core: 41 lines"),
        ("milpscore/attic/c.py", "x = 1\n", "milpscore/attic: 1 lines"),
        ("milpscore/core/a.py", f"def f(x):\n{BRANCHES}\n", "a.py:f: too many branches"),
        ("milpscore/core/a.py", "class A:\n    pass\n\n\nclass A:\n    pass\n", "milpscore:A"),
        ("milpscore/core/a.py", "import numpy as np\nnp.seterr = None\n", "np.seterr is another"),
        ("milpscore/core/a.py", "import numpy as np\nnp.x, y = 1, 2\n", "np.x is another"),
        ("milpscore/core/a.py", "import numpy as np\nsetattr(np, 'x', 1)\n", "is another"),
        ("milpscore/core/a.py", "from numba import jit\njit.x.y = 1\n", "jit.x.y is another"),
        ("milpscore/core/a.py", "x = OptionError('{k} is odd')\n", "{k} is not among"),
        ("milpscore/core/a.py", "# at most so many columns\n", "a.py:1: say 'so many'"),
        ("milpscore/core/a.py", '"""Of each row."""\n', "say"),
        ("milpscore_study/b.py", "x = 'give one a row'\n", "b.py:1: say 'one a row'"),
        ("fuzz/c.py", "# end after so many turns\n", "c.py:1: say 'so many'"),
        ("docs/page.md", "A line.\nA constant is no term.\n", "page.md:2: say 'is no'"),
        ("docs/page.md", "It tells how far it is.\n", "say 'tells'"),
    ],
)  # fmt: skip
def test_a_planted_breach_is_found(house: Path, place: str, text: str, breach: str) -> None:
    assert checked(house).returncode == 0
    path = house / place
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    done = checked(house)
    assert done.returncode == 1
    assert breach in done.stdout


@pytest.mark.parametrize(
    "text",
    [
        "There is no term, and they tell the classes apart.\n",
        "x = math.pi\n",
    ],
)
def test_what_is_in_order_passes(house: Path, text: str) -> None:
    (house / "docs" / "page.md").write_text(text, encoding="utf-8")
    assert checked(house).returncode == 0


def test_an_allowance_that_nothing_needs_is_found(house: Path) -> None:
    budget = house / "budget.toml"
    budget.write_text(BUDGET.replace("branches = []", 'branches = ["milpscore/a.py:f"]'))
    assert "remove it from budget.toml" in checked(house).stdout


def test_the_long_tail_names_tests_that_are_there() -> None:
    for name in (*QUICK, *LONG):
        file, _, test = name.partition("::")
        (path,) = (ROOT / "tests").rglob(file)
        assert f"def {test}(" in path.read_text(encoding="utf-8"), name


def test_quick_cases_are_spread_over_all() -> None:
    name = "test_cli.py::test_export_writes_every_formulation"
    slow = slow_cases([*["other"] * 3, *[name] * 16])
    assert [k for k in range(19) if k not in slow] == [0, 1, 2, 3, 7, 11, 15]
