"""One sweep of local search: the objective of all d moves beside np.maximum(A, 0).sum(0).

One thread, the least of several runs, both on an array of the same size in the same run. The sweep
is timed alone, and with all that a search does around it (which moves are allowed, penalties, the
best one). The sweep is NumPy by blocks that stay in the cache; it has no numba road.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
for name in THREADS:  # before NumPy is loaded, here and in the children
    os.environ[name] = "1"

import numpy as np  # noqa: E402
from _common import SEED, Report, arguments, in_child  # noqa: E402

ROWS, MOVES = 1000, 10_000
WANTED = 3.0


def least(call: Callable[[], object], runs: int) -> float:
    """Seconds of the quickest of ``runs`` calls, after one that does not count."""
    call()
    seconds = []
    for _ in range(runs):
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def stated(weights: str) -> Any:
    """The paper's problem on made data, without a model: zero threshold, margin 1."""
    from milpscore.core.statement import InterceptRule, Statement
    from milpscore.data import make_design
    from milpscore.losses import Hinge

    rng = np.random.default_rng(SEED)
    low, columns = (0, MOVES) if weights == "binary" else (-1, MOVES // 2)
    X = rng.normal(size=(ROWS, columns)) / np.sqrt(columns)
    y = (X @ rng.integers(low, 2, columns) + 0.1 * rng.normal(size=ROWS) > 0).astype(int)
    whole = np.ones(columns, dtype=np.int64)
    zero = InterceptRule("zero", Fraction(0), Fraction(0), Fraction(1))
    return Statement("hinge", make_design(X, y), Hinge(1.0), (), low * whole, whole, zero)


def sweeps(weights: str, runs: int, max_work: float) -> dict[str, Any]:
    """Seconds of the yardstick, of the sweep, of a whole move and of a search."""
    from milpscore.search import local_search
    from milpscore.search.moves import MoveTable, hinge_sweep

    statement = stated(weights)
    A = np.random.default_rng(SEED).normal(size=(ROWS, MOVES))
    yardstick = least(lambda: np.maximum(A, 0).sum(0), runs)
    table = MoveTable(statement, "held", 0.0, np.inf)
    columns = statement.design.shape[1]
    w, totals = np.zeros(columns, dtype=np.int64), np.zeros(len(table.rows.y))
    steps = np.array([1, -1] if weights == "ternary" else [1], dtype=np.int64)
    shifts = np.repeat(steps[:, None], columns, axis=1)
    u = np.full(len(table.rows.y), 1.0 / len(table.rows.y))
    started = time.perf_counter()
    found = local_search(statement, max_work=max_work)
    return {
        "yardstick": yardstick,
        "sweep": least(lambda: hinge_sweep(table.A, u, shifts), runs),
        "move": least(lambda: int(np.argmin(table.moves(w, totals, shifts))), runs),
        "search": time.perf_counter() - started,
        "moves": len(found.moves),
        "start": float(found.trace[0]),
        "end": float(found.trace[-1]),
    }


def main() -> None:
    settings = arguments(__doc__ or "")
    limit = settings.time_limit or 300.0
    report = Report(f"Local search: one sweep over d = {MOVES} moves, n = {ROWS} rows", settings)
    runs = 3 if settings.quick else 30
    work = (10 if settings.quick else 200) * float(ROWS) * MOVES
    rows, searches = [], []
    for weights in ("binary", "ternary"):
        got = in_child(sweeps, weights, runs, work, patience=limit)
        ratio, whole = got["sweep"] / got["yardstick"], got["move"] / got["yardstick"]
        rows.append({"weights": weights, "np.maximum(A, 0).sum(0) ms": 1e3 * got["yardstick"],
                     "sweep ms": 1e3 * got["sweep"], "ratio": ratio,
                     "whole move ms": 1e3 * got["move"], "its ratio": whole})  # fmt: skip
        searches.append({"weights": weights, "moves": got["moves"], "loss at 0": got["start"],
                         "loss": got["end"], "s": got["search"],
                         "peak MB": got["peak_mb"]})  # fmt: skip
        for what, reached in (("sweep", ratio), ("whole move", whole)):
            report.target(f"{weights}, {what}", f"<= {WANTED:g}x", f"{reached:.2f}x",
                          reached <= WANTED)  # fmt: skip
    report.note(
        "binary: d columns, one shift each; ternary: d / 2 columns, +1 and -1 on each, the doubled "
        "features never made.",
        "A search stops after the work of 200 sweeps; it also makes the weighted matrix once.",
    )
    report.tables = [("One sweep", rows), ("A search from no weights", searches)]
    report.finish()


if __name__ == "__main__":
    main()
