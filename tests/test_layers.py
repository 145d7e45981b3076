"""Imports run downwards only: the contract of pyproject.toml holds, and it can fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
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
