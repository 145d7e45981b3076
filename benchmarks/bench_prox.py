"""Prox steps: elementwise beside a copy of the array, total variation beside prox_tv.

One thread, the least of several runs, in a process of its own. A copy is timed twice: into an array
that is there already (what a prox with ``out=`` does) and into a new one (which the system must
first give and clear).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
for name in THREADS:  # before NumPy is loaded, here and in the children
    os.environ[name] = "1"

import numpy as np  # noqa: E402
from _common import SEED, Report, arguments, in_child  # noqa: E402

N = 1_000_000
BLOCKS, BINS = 1000, 50
TV_LAMS = (0.1, 1.0, 10.0)
METHODS = ("linearizedtautstring", "hybridtautstring", "classictautstring", "condat", "dp")
QUICK = 30_000
"""Entries on which a method shows whether it is quadratic."""


def least(call: Callable[[], object], runs: int) -> float:
    """Seconds of the quickest of ``runs`` calls, after one that does not count."""
    call()
    seconds = []
    for _ in range(runs):
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def signals(n: int) -> dict[str, Any]:
    """What total variation is asked to smooth; Condat's method is quadratic on the ramp."""
    rng = np.random.default_rng(SEED)
    noise = rng.normal(size=n)
    return {
        "noise": noise,
        "steps": np.repeat(3 * rng.normal(size=n // 1000), 1000) + 0.3 * noise,
        "random walk": 0.1 * np.cumsum(rng.normal(size=n)),
        "waves": 5 * np.sin(np.arange(n) / 500) + 0.1 * noise,
        "ramp": np.linspace(0.0, 1e-3 * n, n),
    }


def elementwise(runs: int) -> dict[str, Any]:
    """Nanoseconds per element of copies and of the elementwise prox steps at 1e6, with out=."""
    from milpscore.penalties import L1, AlphaFacets, Facets, StronglyConvexFacets, WeightedL1

    y = np.random.default_rng(SEED).normal(size=N) * 3
    out = np.empty(N)
    penalties = {
        "L1": L1(0.3),
        "Facets": Facets(0.3),
        "Facets, gamma 0.5": Facets(0.3, 0.5),
        "SCF": StronglyConvexFacets(0.3),
        "alpha-Facets": AlphaFacets(0.3, alpha=(1, 2)),
        "weighted L1": WeightedL1(0.3, weights=np.linspace(0.1, 1, N)),
    }
    answer = {
        "copy": least(lambda: np.copyto(out, y), runs),
        "new copy": least(y.copy, runs),
    }
    for label, penalty in penalties.items():
        answer[label] = least(lambda p=penalty: p.prox(y, 1.0, out=out), runs)  # type: ignore[misc]
    return {label: 1e9 * seconds / N for label, seconds in answer.items()}


def sequential(runs: int) -> dict[str, Any]:
    """Nanoseconds per element of total variation, binarsity, OWL and EYE; prox_tv's beside."""
    from milpscore.penalties import EYE, OWL, Binarsity, WeightedTV

    rng = np.random.default_rng(SEED)
    rows, weights = [], rng.random(N - 1) + 0.5
    for label, y in signals(N).items():
        for lam in TV_LAMS:
            for w in (None, weights):
                penalty = WeightedTV(lam, weights=w)
                ours = least(lambda p=penalty, v=y: p.prox(v, 1.0), runs)  # type: ignore[misc]
                theirs = _prox_tv(y, lam, w, runs)
                row = {"signal": label, "lam": lam, "weights": "one" if w is None else "drawn"}
                row |= {"ours": 1e9 * ours / N}
                row |= {"prox_tv": None if theirs is None else 1e9 * theirs / N}
                rows.append({**row, "prox_tv / ours": None if theirs is None else theirs / ours})
    size = BLOCKS * BINS
    y = rng.normal(size=size)
    others = {
        "binarsity 1000 x 50": Binarsity(
            0.5, blocks=np.arange(size).reshape(BLOCKS, BINS).tolist()
        ),
        "OWL 50,000": OWL(0.5, weights=np.linspace(1, 0.1, size)),
        "EYE 50,000, r in {0, 1}": EYE(0.5, expert=rng.integers(0, 2, size)),
        "EYE 50,000, r in [0, 1]": EYE(0.5, expert=rng.random(size)),
    }
    single = {
        label: 1e9 / size * least(lambda p=penalty: p.prox(y, 1.0), runs)  # type: ignore[misc]
        for label, penalty in others.items()
    }
    return {"rows": rows, "single": single}


def _prox_tv(y: Any, lam: float, weights: Any, runs: int) -> float | None:
    """Seconds of prox_tv's quickest method for the signal, None where it is not installed."""
    try:
        import prox_tv
    except ImportError:
        return None
    if weights is not None:
        return least(lambda: prox_tv.tv1w_1d(y, lam * weights), runs)
    seconds = []
    for method in METHODS:
        started = time.perf_counter()
        prox_tv.tv1_1d(y[:QUICK], lam, method=method)
        # some are quadratic on a ramp
        if time.perf_counter() - started < 1e-6 * QUICK:
            seconds.append(least(lambda m=method: prox_tv.tv1_1d(y, lam, method=m), runs))  # type: ignore[misc]
    return min(seconds)


def main() -> None:
    settings = arguments(__doc__ or "")
    limit = settings.time_limit or 300.0
    report = Report("Prox steps: nanoseconds per element", settings)
    runs = 3 if settings.quick else 30
    nanoseconds = in_child(elementwise, runs, patience=limit)
    nanoseconds.pop("peak_mb")
    table = [
        {"prox": label, "ns": ns, "x copy": ns / nanoseconds["copy"],
         "x new copy": ns / nanoseconds["new copy"]}
        for label, ns in nanoseconds.items()
    ]  # fmt: skip
    for label in ("L1", "Facets", "SCF"):
        ratio = nanoseconds[label] / nanoseconds["copy"]
        report.target(f"{label}, out=", "<= 2x a copy", f"{ratio:.1f}x", ratio <= 2)
    answer = in_child(sequential, runs, patience=limit)
    chains = answer["rows"]
    singles = [{"prox": k, "ns": v} for k, v in answer["single"].items()]
    judge(report, answer)
    if not any(row["prox_tv"] for row in chains):
        report.note("skipped: prox_tv is not installed (pip install prox_tv; needs LAPACKE)")
    report.tables = [
        ("Elementwise, 1e6 elements, out=", table),
        ("Weighted total variation, 1e6 elements", chains),
        ("Others", singles),
    ]
    report.finish()


def judge(report: Report, answer: dict[str, Any]) -> None:
    """The targets of the sequential kernels."""
    worst = max(row["ours"] for row in answer["rows"])
    report.target("TV on every signal", "<= 30 ns", f"{worst:.1f} ns", worst <= 30)
    beside = [row["prox_tv / ours"] for row in answer["rows"] if row["prox_tv"]]
    if beside:
        least_ratio = min(beside)
        report.target("prox_tv's best / TV", ">= 1", f"{least_ratio:.2f}", least_ratio >= 1)
    bins = answer["single"]["binarsity 1000 x 50"]
    report.target("binarsity 1000 x 50", "<= 30 ns", f"{bins:.1f} ns", bins <= 30)


if __name__ == "__main__":
    main()
