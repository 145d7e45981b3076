"""Who searches parts of a tree: processes of this machine, or the workers of a Dask cluster.

Parts are sent out ahead and their answers taken in the order sent. What is sent next depends on the
answers so far and never on who was faster: with the same number of workers a search always goes
the same way.
"""

from __future__ import annotations

import pickle
import signal
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from milpscore.core.cluster import connected
from milpscore.core.errors import SolverError
from milpscore.solvers.trees.shared.answer import POLICY


class Crew:
    """Does parts of a problem: ``part(make(problem), *given)``, the problem travelling once.

    ``out`` holds what is out, the oldest first: its future, what it was given, what it is kept by.
    """

    def __init__(self, make: Callable[[Any], Any], problem: Any, jobs: int, client: Any) -> None:
        self.jobs = jobs if client is None else max(1, sum(client.nthreads().values()))
        self.out: deque[tuple[Any, tuple[Any, ...], Any]] = deque()
        self._make, self._problem, self._client, self._losses = make, problem, client, 0
        self._where: tuple[str, Any] | None = None  # a name for the problem, and where it is read
        self._folder: Any = None
        self._pool: Any = None

    @property
    def wants(self) -> bool:
        """Whether another part is to be sent before the next answer is taken."""
        return len(self.out) < POLICY.parts_ahead * self.jobs

    def send(self, kept: Any, part: Callable[..., Any], *given: Any) -> None:
        """Send a part, to be known again by what is ``kept``."""
        self._prepare()
        self.out.append((self._submit(part, *given), (part, *given), kept))

    def take(self, seconds: float) -> tuple[Any, Any]:
        """The oldest part's answer and what was kept; TimeoutError where it takes longer."""
        while True:
            future, _, kept = self.out[0]
            try:
                answer = future.result(min(seconds, threading.TIMEOUT_MAX))
            except BrokenExecutor as error:
                self._replace(error)
                continue
            self.out.popleft()
            return answer, kept

    def dismiss(self) -> None:
        """Forget what is out."""
        if self._client is not None:
            self._client.cancel([future for future, *_ in self.out], force=True)
        for future, *_ in self.out:
            future.cancel()
        self.out.clear()

    def close(self) -> None:
        """Leave no process and no file behind."""
        self.dismiss()
        if self._pool is not None:
            self._pool.shutdown(kill_workers=True)
            self._folder.cleanup()

    def _prepare(self) -> None:
        """Lay the problem out and begin processes: most searches end before they need any."""
        if self._client is not None:
            if self._where is None:
                # as the result of a task: should every worker that holds it die, it is made again
                shared = self._client.submit(_itself, self._problem, pure=False)
                self._where = shared.key, shared
        elif self._pool is None:
            from joblib.externals.loky.backend.reduction import dumps
            from joblib.externals.loky.process_executor import ProcessPoolExecutor

            if self._where is None:
                self._folder = tempfile.TemporaryDirectory(prefix="milpscore-")
                file = Path(self._folder.name) / "problem"
                file.write_bytes(dumps(self._problem))
                self._where = str(file), file
            alone = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), 1)
            self._pool = ProcessPoolExecutor(
                self.jobs, env=alone, initializer=signal.signal,
                initargs=(signal.SIGINT, signal.SIG_IGN),
            )  # fmt: skip

    def _submit(self, part: Callable[..., Any], *given: Any) -> Any:
        assert self._where is not None
        to, extra = (self._pool, {}) if self._client is None else (self._client, {"pure": False})
        return to.submit(_do, self._make, *self._where, part, given, **extra)

    def _replace(self, error: BaseException) -> None:
        """Search all that is out again, in new processes."""
        self._losses += 1
        if self._losses > POLICY.most_replacements:
            raise SolverError(
                "processes of the search were killed, perhaps for lack of memory: use fewer "
                "{threads} or a lower {memory_limit}",
                threads=...,
                memory_limit=...,
            ) from error
        self._pool.shutdown(kill_workers=True)
        self._pool = None
        self._prepare()
        self.out = deque((self._submit(*given), given, kept) for _, given, kept in self.out)


@contextmanager
def crew(
    make: Callable[[Any], Any], problem: Any, jobs: int = 1, client: Any = None
) -> Iterator[Crew | None]:
    """Who shares a search; None where it is done here alone."""
    if jobs == 1 and client is None:
        yield None
        return
    with ExitStack() as stack:
        if isinstance(client, str):
            client = stack.enter_context(connected(client, SolverError))
        found = Crew(make, problem, jobs, client)
        stack.callback(found.close)
        yield found


_here = threading.local()
"""In a worker: the problem it works on, made once a thread."""


def _do(
    make: Callable[[Any], Any], name: str, problem: Any, part: Callable[..., Any], given: Any
) -> Any:
    """In a worker: one part. Which one it gets is chance: nothing that matters may be kept."""
    if getattr(_here, "name", None) != name:
        if isinstance(problem, Path):
            problem = pickle.loads(problem.read_bytes())
        _here.name, _here.made = name, make(problem)
    return part(_here.made, *given)


def _itself(problem: Any) -> Any:
    return problem
