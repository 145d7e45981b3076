"""Prox steps: elementwise beside a copy of the array, total variation beside prox_tv.

One thread. Elementwise: the least of several runs, in a process of its own; a copy is timed twice:
into an array that is there already (what a prox with ``out=`` does) and into a new one (which the
system must first give and clear). Total variation: CPU time, medians of five, ours and every method
of prox_tv (``make bench-rivals``) in turns in one process; the last three signals were looked at
after the kernel was made. Each answer's objective is computed here; a rival's may not be better.
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
from _common import SEED, Report, arguments, in_child, rival_version, with_rivals  # noqa: E402

N = 1_000_000
BLOCKS, BINS = 1000, 50
TV_LAMS = (0.1, 1.0, 10.0)
METHODS = ("linearizedtautstring", "hybridtautstring", "classictautstring", "condat", "dp")
QUICK = 30_000
"""Entries on which a method shows whether it is quadratic."""


def least(call: Callable[[], object], runs: int) -> float:
    """CPU seconds of the quickest of ``runs`` calls, after one that does not count."""
    call()
    seconds = []
    for _ in range(runs):
        started = time.process_time()
        call()
        seconds.append(time.process_time() - started)
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
        "slow walk": 0.01 * np.cumsum(noise),
        "counts": rng.poisson(5 + 4 * np.sin(np.arange(n) / 20_000)).astype(float),
        "heavy tails": rng.standard_t(2, size=n) + np.repeat(rng.normal(size=n // 5000), 5000),
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


def chains(runs: int) -> dict[str, Any]:
    """Nanoseconds per element of total variation, ours and prox_tv's, in turns."""
    from milpscore.penalties import WeightedTV

    rows = []
    weights = np.random.default_rng(SEED).random(N - 1) + 0.5
    for label, y in signals(N).items():
        for lam in TV_LAMS:
            for w in (None, weights):
                penalty = WeightedTV(lam, weights=w)
                jobs: dict[str, Any] = {"ours": lambda p=penalty, v=y: p.prox(v, 1.0)}
                jobs |= _prox_tv(y, lam, w)
                widths = lam * (np.ones(N - 1) if w is None else w)
                values = {by: _value(job(), y, widths) for by, job in jobs.items()}
                excess = values["ours"] / min(values.values()) - 1.0
                seconds = in_turns(jobs, runs)
                row = {"signal": label, "lam": lam, "weights": "one" if w is None else "drawn"}
                row |= {"ours": 1e9 * seconds.pop("ours") / N}
                best = min(seconds, key=lambda by: seconds[by]) if seconds else None
                theirs = None if best is None else 1e9 * seconds[best] / N
                row |= {"prox_tv": theirs, "method": best, "excess": excess}
                ratio = None if theirs is None else theirs / row["ours"]
                rows.append({**row, "prox_tv / ours": ratio})
                print("  ".join(f"{k}={v}" for k, v in rows[-1].items()), flush=True)
    return {"rows": rows}


def in_turns(jobs: dict[str, Callable[[], object]], runs: int) -> dict[str, float]:
    """CPU seconds of each job, the median of all rounds."""
    taken: dict[str, list[float]] = {by: [] for by in jobs}
    for _ in range(runs):
        for by, job in jobs.items():
            started = time.process_time()
            job()
            taken[by].append(time.process_time() - started)
    return {by: float(np.median(each)) for by, each in taken.items()}


def _value(x: Any, y: Any, widths: Any) -> float:
    """What total variation's prox minimises."""
    return float(0.5 * np.square(x - y).sum() + widths @ np.abs(np.diff(x)))


def _prox_tv(y: Any, lam: float, weights: Any) -> dict[str, Callable[[], object]]:
    """prox_tv's ways with the signal; nothing where it is not installed."""
    if rival_version("prox_tv") is None:
        return {}
    with_rivals()
    import prox_tv

    if weights is not None:
        return {"tv1w_1d": lambda: prox_tv.tv1w_1d(y, lam * weights)}
    jobs: dict[str, Callable[[], object]] = {}
    for method in METHODS:
        started = time.process_time()
        prox_tv.tv1_1d(y[:QUICK], lam, method=method)
        # some are quadratic on a ramp
        if time.process_time() - started < 1e-6 * QUICK:
            jobs[method] = lambda m=method: prox_tv.tv1_1d(y, lam, method=m)  # type: ignore[misc]
    return jobs


def others(runs: int) -> dict[str, Any]:
    """Nanoseconds per element of binarsity, OWL and EYE."""
    from milpscore.penalties import EYE, OWL, Binarsity

    rng = np.random.default_rng(SEED)
    size = BLOCKS * BINS
    y = rng.normal(size=size)
    penalties = {
        "binarsity 1000 x 50": Binarsity(
            0.5, blocks=np.arange(size).reshape(BLOCKS, BINS).tolist()
        ),
        "OWL 50,000": OWL(0.5, weights=np.linspace(1, 0.1, size)),
        "EYE 50,000, r in {0, 1}": EYE(0.5, expert=rng.integers(0, 2, size)),
        "EYE 50,000, r in [0, 1]": EYE(0.5, expert=rng.random(size)),
    }
    return {
        label: 1e9 / size * least(lambda p=penalty: p.prox(y, 1.0), runs)  # type: ignore[misc]
        for label, penalty in penalties.items()
    }


def main() -> None:
    settings = arguments(__doc__ or "")
    limit = settings.time_limit or 3600.0
    report = Report("Prox steps: nanoseconds per element", settings, ["prox_tv"])
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
    raced = in_child(chains, 2 if settings.quick else 5, patience=limit)["rows"]
    single = in_child(others, runs, patience=limit)
    single.pop("peak_mb")
    judge(report, raced, single)
    report.tables = [
        ("Elementwise, 1e6 elements, out=", table),
        ("Weighted total variation, 1e6 elements, CPU", raced),
        ("Others", [{"prox": k, "ns": v} for k, v in single.items()]),
    ]
    report.finish()


def judge(report: Report, raced: list[dict[str, Any]], single: dict[str, float]) -> None:
    """The targets of the sequential kernels."""
    worst = max(row["ours"] for row in raced)
    report.target("TV on every signal", "<= 30 ns", f"{worst:.1f} ns", worst <= 30)
    beside = [row["prox_tv / ours"] for row in raced if row["prox_tv"]]
    if beside:
        least_ratio = min(beside)
        report.target("prox_tv's best / TV", ">= 1", f"{least_ratio:.2f}", least_ratio >= 1)
        excess = max(row["excess"] for row in raced)
        report.target("TV's objective over the best", "<= 1e-12", f"{excess:.0e}", excess <= 1e-12)
    bins = single["binarsity 1000 x 50"]
    report.target("binarsity 1000 x 50", "<= 30 ns", f"{bins:.1f} ns", bins <= 30)


if __name__ == "__main__":
    main()
