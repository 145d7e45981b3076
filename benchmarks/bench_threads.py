"""How a shared search scales: every part's work counted, then laid out on 2 to 100 workers.

What parts a search has depends on the number of workers, never on their speed. So it is run here
part by part in one process, as for that many workers; the parts' CPU seconds, their order and what
the sender does between them are then replayed on workers that start a part as soon as they are
free, after stated milliseconds of way in each direction. The makespan says the speed-up against one
process on the same nodes and the share of the workers' time that is idle, whatever else the machine
is doing. ``--wall`` measures seconds of real processes instead, the best of three runs: for an idle
machine.
"""

from __future__ import annotations

import argparse
import heapq
import pickle
import resource
import time
from concurrent.futures import Future
from typing import Any

from _common import Report, arguments, in_child, percent
from bench_frontier import table

WORKERS = (2, 10, 100)
JOBS = (
    ("breastcancer-binned", "risk_score", 8),
    ("planted-500-60", "risk_score", 8),
    ("breastcancer-binned", "slim", 5),
    ("mushroom", "slim", 5),
)
LONG = (("planted-500-60", "risk_score", 8), ("planted-5000-120", "slim", 5))
"""Jobs of half a minute, for the wall."""

FIGURES = ("parts", "s a part", "bytes out", "bytes back", "CPU in parts", "idle", "speed-up")

WAY = 0.005
"""Seconds; a Dask scheduler takes about a millisecond a task, a network less."""


class Replayed:
    """A Dask client of several workers, which does every task at once and takes note of it."""

    def __init__(self, workers: int) -> None:
        self.workers, self.cpu, self.sizes = workers, [], []  # type: ignore[var-annotated]
        self.steps: list[tuple[float, int, bool]] = []
        self.mark = time.process_time()

    def nthreads(self) -> dict[str, int]:
        """As Dask counts them."""
        return {"here": self.workers}

    def cancel(self, futures: Any, force: bool) -> None:
        """Nothing runs."""

    def submit(self, work: Any, *given: Any, pure: bool) -> Any:
        """Do it, and note how long it took and what would have travelled."""
        if len(given) == 1:  # the problem itself
            done: Any = Future()
            done.key = str(id(self))
            done.set_result(given[0])
            return done
        make, name, problem, part, rest = given
        number = self._step(sent=True)
        began = time.process_time()
        answer = work(make, name, problem.result(), part, rest)
        self.mark = time.process_time()
        self.cpu.append(self.mark - began)
        self.sizes.append((len(pickle.dumps((part, rest))), len(pickle.dumps(answer))))
        return _Noted(self, number, answer)

    def _step(self, number: int | None = None, *, sent: bool) -> int:
        number = len(self.cpu) if number is None else number
        self.steps.append((time.process_time() - self.mark, number, sent))
        self.mark = time.process_time()
        return number

    def makespan(self) -> float:
        """Seconds the same parts take on as many workers."""
        now, ends, free = 0.0, {}, [0.0] * self.workers
        for own, number, sent in self.steps:
            now += own
            if sent:
                start = max(heapq.heappop(free), now + WAY)
                ends[number] = start + self.cpu[number]
                heapq.heappush(free, ends[number])
            else:
                now = max(now, ends[number] + WAY)
        return now


class _Noted(Future):  # type: ignore[type-arg]
    """An answer; when it was taken is noted."""

    def __init__(self, client: Replayed, number: int, answer: Any) -> None:
        super().__init__()
        self.client, self.number = client, number
        self.set_result(answer)

    def result(self, timeout: float | None = None) -> Any:
        self.client._step(self.number, sent=False)
        return super().result(timeout)


def measured(
    name: str, formulation: str, terms: int, nodes: int, workers: int, wall: bool
) -> dict[str, Any]:
    """One search on several workers, 1 being alone."""
    from milpscore.formulations import FORMULATIONS
    from milpscore.solvers import solve

    given = {"l0_penalty": 1e-6} if formulation == "risk_score" else {}
    program = FORMULATIONS[formulation](
        table(name), max_terms=terms, coef_min=-5, coef_max=5, **given
    )
    client = Replayed(workers)
    how = {"threads": workers} if wall else {"client": client} if workers > 1 else {}
    solve(program, "tree", node_limit=0, time_limit=600)  # kernels
    now = time.perf_counter if wall else time.process_time
    client.mark = began = now()
    result = solve(program, "tree", node_limit=nodes, time_limit=3600, **how)
    spent = now() - began
    row = {
        "table": name, "formulation": formulation, "terms": terms, "workers": workers,
        "claim": str(result.claim), "objective": result.objective, "bound": result.dual_bound,
        "nodes": result.nodes, "seconds": spent, "user": _user(),
    }  # fmt: skip
    if workers == 1 or wall:
        return row
    client.steps.append((time.process_time() - client.mark, client.steps[-1][1], False))
    out, back = zip(*client.sizes, strict=True)
    span, parts = client.makespan(), len(client.cpu)
    return {
        **row, "seconds": span, "parts": parts, "s a part": sum(client.cpu) / parts,
        "bytes out": sum(out) / parts, "bytes back": sum(back) / parts,
        "CPU in parts": sum(client.cpu), "idle": 1 - sum(client.cpu) / (workers * span),
    }  # fmt: skip


def _user() -> float:
    """CPU seconds of this process and of those it waited for."""
    kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return sum(resource.getrusage(kind).ru_utime for kind in kinds)


def main() -> None:
    settings = arguments(__doc__ or "", _options)
    report = Report("One search on many workers", settings)
    nodes = settings.nodes or (300 if settings.quick else 4_000)
    jobs = LONG if settings.wall else JOBS
    for job in jobs[:1] if settings.quick else jobs:
        alone: dict[str, Any] = {}
        most = nodes if job[1] == "risk_score" else 20_000 * nodes
        for workers in (1, *((2,) if settings.wall else WORKERS)):
            runs = [
                in_child(measured, *job, most, workers, settings.wall, patience=3600)
                for _ in range(3 if settings.wall else 1)
            ]
            row = min(runs, key=lambda run: run["seconds"])
            alone = alone or row
            # a node limit is reached a little later by many; a proof is one
            more = 1.0 if row["claim"] == "optimal" else row["nodes"] / alone["nodes"]
            speed = more * alone["seconds"] / row["seconds"]
            row_of_table = {**dict.fromkeys(FIGURES), **row, "speed-up": speed}
            report.records.append(row_of_table)
            print(
                {
                    k: v if v is None else round(v, 4)
                    for k, v in row_of_table.items()
                    if k in FIGURES
                }
            )
    report.tables = [
        (
            "seconds of real processes" if settings.wall else "replayed",
            [
                {
                    key: percent(value) if key == "idle" else value
                    for key, value in row.items()
                    if key not in ("objective", "bound")
                }
                for row in report.records
            ],
        )
    ]
    report.finish()


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--nodes", type=int, default=0, help="of risk scores; default 4,000")
    parser.add_argument("--wall", action="store_true", help="time real processes")


if __name__ == "__main__":
    main()
