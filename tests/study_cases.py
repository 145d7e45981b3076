"""What the tests of studies share: small studies, work that counts its calls, a Dask cluster."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from milpscore_study import read_study
from milpscore_study.store import FIGURES

ROOT = Path(__file__).parents[1]

SMALL = """
seeds = [0, 1]
[folds]
number = 2
[limits]
time_limit = 300
[[data]]
generator = "planted_score"
arguments = {n_samples = 40, n_features = 6}
[[models]]
estimator = "l1"
grid = {lam = [0.01, 0.1]}
[[models]]
estimator = "hinge"
kind = "nearest"
"""
"""12 solves of some milliseconds."""

LAMS = ", ".join(str(k / 1000) for k in range(1, 31))
MANY = f"""
[folds]
number = 2
[[data]]
generator = "planted_score"
arguments = {{n_samples = 40, n_features = 6}}
[[models]]
estimator = "l1"
grid = {{lam = [{LAMS}]}}
"""
"""60 of them."""


def make_credible(n_samples: int, random_state: int) -> SimpleNamespace:
    """Data whose expert knows the first of two features."""
    rng = np.random.default_rng(random_state)
    X = pd.DataFrame(rng.integers(0, 2, (n_samples, 2)), columns=["known", "other"])
    y = np.where(rng.random(n_samples) < 0.2 + 0.6 * X["known"], 1, -1)
    return SimpleNamespace(X=X, y=y, expert=np.array([1.0, 0.0]))


needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None,
    reason="dask.distributed is not installed (pip install 'milpscore[distributed]')",
)


def written(folder: Path, text: str = SMALL, name: str = "small.toml") -> Path:
    """The file of a study."""
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def figures(path: Path) -> Any:
    """What must not depend on who solved it, or when."""
    table = read_study(path).table()
    names = [name for name in FIGURES if not name.endswith("_seconds")]
    return table[["key", "status", "seed", "fold", *names]]


def environment() -> dict[str, str]:
    """That of a child process: this checkout, one thread."""
    tests = [str(ROOT / "tests"), str(ROOT / "tests" / "study"), str(ROOT / "tests" / "solvers")]
    paths = os.pathsep.join([str(ROOT), *tests, os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}


def started(*command: str, **extra: Any) -> subprocess.Popen[str]:
    """A child process of this Python."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, *command], env=environment(), **{**pipes, **extra})


def wait_until(true: Any, patience: float = 300.0) -> None:
    """Wait for something to become true."""
    deadline = time.monotonic() + patience
    while not true():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


@contextmanager
def dask_cluster(folder: Path, count: int = 2) -> Iterator[tuple[str, list[subprocess.Popen[str]]]]:
    """Workers of one thread, then their scheduler: processes of their own, on the loopback."""
    where = folder / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    file = ("--scheduler-file", str(where), "--no-dashboard")
    one = ("--nthreads", "1", "--no-nanny", "--local-directory", str(folder))
    loopback = ("--host", "127.0.0.1", "--port", "0")
    module = "distributed.cli.dask_"
    processes = [started("-m", f"{module}scheduler", *file, *loopback, **quiet)]
    try:
        wait_until(lambda: where.exists() and where.stat().st_size > 0)
        workers = [started("-m", f"{module}worker", *file, *one, **quiet) for _ in range(count)]
        processes += workers
        address = json.loads(where.read_text())["address"]
        yield address, [*workers, processes[0]]
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait()
