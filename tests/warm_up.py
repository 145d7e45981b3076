"""The kernels of a test session, compiled once: each of two workers makes one half of them."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PATIENCE = 300.0
"""Seconds to wait for the other half; without it kernels are compiled where they are needed."""


def risk_half() -> None:
    """The fast search, the tree under smooth losses, and the leaves of its proof."""
    import numpy as np

    from milpscore.certificate import certify
    from milpscore.formulations import risk_score
    from milpscore.solvers import solve

    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (30, 4)).astype(float)
    y = (X[:, 0] + rng.integers(0, 3, 30) > 2).astype(int)
    for values in (X, (X > 1).astype(float)):
        program = risk_score(values, y, max_terms=2, coef_min=-2, coef_max=2)
        certify(program, solve(program, "tree", progress=False))


def other_half() -> None:
    """Penalised paths, penalties on chains, CRFs, and the 0-1 tree."""
    import numpy as np

    from milpscore.formulations import slim
    from milpscore.penalties import L1, OWL, WeightedTV
    from milpscore.proximal import fit_proximal, path
    from milpscore.solvers import solve
    from milpscore_sequence import SparseCRF

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), np.where(rng.random(30) < 0.5, 1.0, -1.0)
    path(X, y, penalty=L1, n_lams=3)
    fit_proximal(X, y, penalty=OWL(0.1, weights=np.arange(4.0, 0.0, -1.0)))
    fit_proximal(X, y, penalty=WeightedTV(0.1))
    SparseCRF(max_iterations=2).fit([["a", "b"], ["b"]], [["A", "B"], ["B"]])
    answers = (X[:, 0] > X[:, 1]).astype(int)
    program = slim((X > 0).astype(float), answers, max_terms=2, coef_min=-2, coef_max=2)
    solve(program, "tree", progress=False)


HALVES: tuple[Callable[[], None], ...] = (risk_half, other_half)


def compiled_together(config: pytest.Config) -> None:
    """Compile this worker's half and wait for the other, unless this source was compiled before."""
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is None or worker["workercount"] < len(HALVES):
        return
    digest = hashlib.sha256(str(ROOT).encode())
    for file in sorted(ROOT.glob("milpscore*/**/*.py")):
        digest.update(file.read_bytes())
    digest.update(os.environ.get("NUMBA_CACHE_DIR", "").encode())
    name = f"milpscore-kernels-{digest.hexdigest()[:16]}"
    folder = ROOT / ".pytest_cache"  # removed by `make clean`, as the kernels are
    folder.mkdir(exist_ok=True)
    done = [folder / f"{name}-{half}" for half in range(len(HALVES))]
    if all(file.exists() for file in done):
        return
    own = int(worker["workerid"].removeprefix("gw"))
    if own < len(HALVES):
        try:
            HALVES[own]()
        finally:
            done[own].touch()  # after an error, too: the other one does not wait
    deadline = time.monotonic() + PATIENCE
    while not all(file.exists() for file in done) and time.monotonic() < deadline:
        time.sleep(0.2)
