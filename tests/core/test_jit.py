"""Kernels are compiled once, kept on disk, and announced when they are made."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import milpscore

PROGRAM = """
import numpy as np
from milpscore.penalties import kernels

y, one = np.linspace(-2, 2, 5), np.ones(1)
kernels.soft(y, y, 1.0, one, one)
print(sum(kernels.soft.stats.cache_hits.values()), len(kernels.soft.signatures), y.tolist())
"""


def test_kernels_are_announced_once_and_come_from_the_disk(tmp_path: Path) -> None:
    home = str(Path(milpscore.__file__).parents[1])
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": home}
    for hits, lines in ((0, 1), (1, 0)):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == f"{hits} 1 [-0.5, 0.0, 0.0, 0.0, 0.5]"
        assert done.stderr.count("compiling its kernels") == lines


PARTS = """
import numpy as np
from milpscore.core.jit import compiled, inner

@inner
def scratch(n):
    return np.empty(n) if n < 5 else np.zeros(n)

@compiled
def added(n):
    total = 0.0
    for value in scratch(n) * scratch(n):
        total += value
    return total

try:
    print(added(6), added(-1))
except ValueError as error:
    print(error)
"""


def test_a_kernel_that_kernels_call_is_kept_with_them_and_raises_through_them(
    tmp_path: Path,
) -> None:
    (tmp_path / "parts.py").write_text(PARTS)
    home = str(Path(milpscore.__file__).parents[1])
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": home}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-B", "parts.py"],
            env=env, cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout.strip() == "negative dimensions not allowed"
    kept = [each.name for each in (tmp_path / "kept").rglob("*.nbi")]
    assert len(kept) == 1
    assert "added" in kept[0]


INSIDE = """
from milpscore.core.jit import inner

@inner
def step(x):
    return x + {add}
"""
OUTSIDE = """
from inside import step
from milpscore.core.jit import compiled

@compiled
def twice(x):
    return step(step(x))
"""


def test_kernels_on_the_disk_follow_what_is_written_in_their_folder(tmp_path: Path) -> None:
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": str(tmp_path)}
    env["PYTHONPATH"] += os.pathsep + str(Path(milpscore.__file__).parents[1])
    told = []
    # another file of the same age and size, then the same file written later
    for add, age in ((1, 1e9), (5, 1e9), (5, 2e9)):
        for name, text in (("inside", INSIDE), ("outside", OUTSIDE)):
            file = tmp_path / f"{name}.py"
            file.write_text(text.replace("{add}", str(add)))
            os.utime(file, (age, age))
        program = "from outside import twice; print(twice(0), *twice.stats.cache_hits.values())"
        done = subprocess.run(
            [sys.executable, "-B", "-c", program],
            env=env, cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        told.append(done.stdout.split())
    assert told == [["2"], ["10"], ["10", "1"]]


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", [b"", b"\x80\x05garbage", b"cut"])
def test_damaged_machine_code_is_removed_and_made_again(
    ending: str, damage: bytes, tmp_path: Path
) -> None:
    home = str(Path(milpscore.__file__).parents[1])
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": home}

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=env, cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip

    run()
    for file in tmp_path.rglob(f"*soft*{ending}"):
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2] if damage == b"cut" else damage)
    done = run()
    assert done.stdout.strip() == "0 1 [-0.5, 0.0, 0.0, 0.0, 0.5]"
    assert "is damaged" in done.stderr
    assert str(tmp_path) in done.stderr
    assert run().stdout.startswith("1 1 ")
