"""Linear algebra keeps to one thread within a search, and is as it was afterwards."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
from threading import Barrier, Thread
import numpy as np, scipy.linalg
from threadpoolctl import threadpool_info
from milpscore.core.cluster import one_thread
from milpscore.formulations import risk_score
from milpscore.solvers import solve

def threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

before = threads()
print("before", before)
with one_thread:
    with one_thread:
        assert threads() == {1}
    assert threads() == {1}, "the outer one still holds"
assert threads() == before

both, left = Barrier(2), Barrier(2)
def inside():
    with one_thread:
        both.wait(60)
    left.wait(60)

other = Thread(target=inside)
other.start()
with one_thread:
    both.wait(60)
    left.wait(60)
other.join(60)
assert threads() == before

rng, seen = np.random.default_rng(0), []
X = rng.integers(0, 2, (200, 8))
y = (X[:, :3].sum(axis=1) + rng.normal(0, 1, 200) > 1.5).astype(int)
found = solve(risk_score(X, y, max_terms=3), "tree", callback=lambda _: seen.append(threads()))
assert str(found.claim) == "optimal"
assert seen and all(each == {1} for each in seen), seen
assert threads() == before
"""


def test_one_thread_is_kept_to_and_given_back() -> None:
    """By itself, by uses within one another and in threads that overlap, and by a search."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env={**os.environ, "OPENBLAS_NUM_THREADS": "2"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    if done.stdout.strip() == "before {1}":
        pytest.skip("linear algebra has one thread on this machine")
