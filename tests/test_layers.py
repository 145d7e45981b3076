"""Imports run downwards only, and a room is entered by its doors; both checks can fail."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SIBLINGS = ("milpscore_check", "milpscore_sequence", "milpscore_show", "milpscore_study")
LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"


def lint_imports(directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LINT, "--no-cache", "--config", str(ROOT / "pyproject.toml")],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(directory)},
        capture_output=True,
        text=True,
        check=False,
    )


def house(directory: Path, files: dict[str, str]) -> Path:
    """Write a package of the same name with the given files, and the one room it must have."""
    for name, text in {"__init__.py": "", "core.py": "", **files}.items():
        path = directory / "milpscore" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for sibling in SIBLINGS:
        door = directory / sibling / "__init__.py"
        door.parent.mkdir(exist_ok=True)
        if not door.exists():
            door.write_text("", encoding="utf-8")
    return directory


def test_this_package_keeps_its_layers() -> None:
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_downward_import_is_allowed(tmp_path: Path) -> None:
    files = {"solvers.py": "from milpscore import verify\n", "verify.py": "import milpscore.core\n"}
    done = lint_imports(house(tmp_path, files))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(
            {"data.py": "import milpscore.verify\n", "verify.py": ""},
            id="upward",
        ),
        pytest.param(
            {"formulations.py": "def f():\n    import milpscore.solvers\n", "solvers.py": ""},
            id="a formulation that knows a solver",
        ),
        pytest.param(
            {"formulations.py": "", "solvers.py": "from milpscore import formulations\n"},
            id="a solver that knows a formulation",
        ),
        pytest.param({"attic.py": ""}, id="a room with no place in the contract"),
    ],
)
def test_the_contract_refuses(files: dict[str, str], tmp_path: Path) -> None:
    done = lint_imports(house(tmp_path, files))
    assert done.returncode == 1
    assert "Imports run downwards only" in done.stdout


@pytest.mark.parametrize("sibling", SIBLINGS[1:])
def test_the_heart_does_not_import_a_sibling(sibling: str, tmp_path: Path) -> None:
    done = lint_imports(house(tmp_path, {"verify.py": f"def f():\n    import {sibling}\n"}))
    assert done.returncode == 1
    assert "by doors only" in done.stdout


def test_the_checker_shares_nothing_with_what_it_checks(tmp_path: Path) -> None:
    done = lint_imports(house(tmp_path, {"../milpscore_check/__init__.py": "import milpscore\n"}))
    assert done.returncode == 1
    assert "shares nothing" in done.stdout


def _room(package: str, *inside: str) -> tuple[str, ...]:
    """Return the room of a module: a folder of the heart, or a sibling as a whole."""
    if package == "milpscore":
        return (package, *inside[:1])
    return (package,) if package in SIBLINGS else ()


def through_windows(root: Path) -> Iterator[str]:
    """Imports of a room's private modules from outside it, below a folder."""
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        own = _room(*(part.removesuffix(".py") for part in parts))
        if "build" in parts or any(part.startswith(".") for part in parts):  # environments
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module or ''}.{each.name}" for each in node.names]
            elif isinstance(node, ast.Import):
                names = [each.name for each in node.names]
            else:
                continue
            for name in names:
                room = _room(*name.split("."))
                inside = name.split(".")[len(room) : -1]
                private = any(each.startswith("_") and each != "__main__" for each in inside)
                if room and private and room != own:
                    yield f"{path.relative_to(root)}:{node.lineno} {name}"


def test_rooms_are_entered_by_their_doors() -> None:
    assert not list(through_windows(ROOT))


def test_a_window_is_seen(tmp_path: Path) -> None:
    house(
        tmp_path,
        {
            "data/_inner.py": "from milpscore.data._other import f\n",
            "solvers/a.py": "from milpscore.data._inner import g\nimport milpscore.data.open\n",
        },
    )
    assert list(through_windows(tmp_path)) == ["milpscore/solvers/a.py:1 milpscore.data._inner.g"]


def test_files_can_be_read_at_a_sitting() -> None:
    long = [
        str(path.relative_to(ROOT))
        for folder in ("milpscore", *SIBLINGS, "experiments", "tests", "benchmarks")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if len(path.read_text(encoding="utf-8").splitlines()) > 800
    ]
    assert not long
