"""The one best-first loop: what is open, what is proved, when to stop, who works."""

from __future__ import annotations

import heapq
import math
import pickle
import signal
import tempfile
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sized
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from milpscore.core.card import Card
from milpscore.core.cluster import connected
from milpscore.core.errors import SolverError
from milpscore.core.result import Termination
from milpscore.solvers.trees.shared.answer import POLICY, Answer, SearchClock


class Bounding(Protocol):
    """A part of the search space with a bound on all cards in it."""

    bound: float


Node = TypeVar("Node", bound=Bounding)


class OpenNodes(Generic[Node]):
    """Open nodes: the lowest bound first while memory lasts, the latest first beyond.

    ``active`` holds the nodes that were taken and are not closed yet: an interrupt loses none.
    """

    def __init__(self, most: float = math.inf) -> None:
        self.most = most
        self.active: list[Node] = []
        self._heap: list[tuple[float, int, Node]] = []
        self._stack: list[Node] = []
        self._age = 0

    def __len__(self) -> int:
        return len(self._heap) + len(self._stack)

    def __iter__(self) -> Iterator[Node]:
        return iter([*(node for *_, node in self._heap), *self._stack])

    @property
    def deep(self) -> bool:
        """Whether the search goes depth first, for lack of memory."""
        return bool(self._stack)

    @property
    def first(self) -> float:
        """The lowest bound of the nodes in best-first order, infinite without any."""
        return self._heap[0][0] if self._heap else math.inf

    @property
    def least(self) -> float:
        """The lowest bound of all that is open or active, infinite if nothing is."""
        return min([self.first, *(node.bound for node in (*self._stack, *self.active))])

    def peek(self) -> Node:
        """Return the node that is next."""
        return self._stack[-1] if self._stack else self._heap[0][2]

    def drop(self) -> None:
        """Remove the node that is next."""
        if self._stack:
            self._stack.pop()
        else:
            heapq.heappop(self._heap)

    def take(self) -> Node:
        """Return the node that is next, active from now on."""
        node = self.peek()
        # named before it is removed: an interrupt in between must not lose it
        self.active = [node]
        self.drop()
        return node

    def keep(self, nodes: list[Node]) -> None:
        """Open nodes."""
        if self._stack or len(self._heap) >= self.most:
            self._stack += sorted(nodes, key=lambda node: -node.bound)
            return
        for node in nodes:
            self._age += 1
            heapq.heappush(self._heap, (node.bound, self._age, node))

    def clear(self) -> None:
        """Close every open node; active ones stay."""
        self._heap, self._stack = [], []


class BestFirst(ABC):
    """A search that goes on where the bound is lowest, until that meets the incumbent.

    A tree states its ``pending`` bound, its ``ceiling``, one ``step``, and what a crew gets.
    """

    clock: SearchClock
    crew: Crew | None = None
    proved = -math.inf
    found: Sized = ()  # in a search for all cards: those met, of which these are enough
    most_cards = math.inf

    @property
    @abstractmethod
    def nodes(self) -> int:
        """Nodes so far, as ``node_limit`` counts them."""

    @property
    @abstractmethod
    def pending(self) -> float:
        """The least bound of what was not searched yet; infinite if nothing is left."""

    @property
    @abstractmethod
    def ceiling(self) -> float:
        """What no bound exceeds: the incumbent less the gap asked for, what was closed by cards."""

    @property
    @abstractmethod
    def unfinished(self) -> bool:
        """Whether anything is left to search."""

    @abstractmethod
    def step(self) -> None:
        """Bound, split or close the most promising part."""

    @abstractmethod
    def report(self) -> None:
        """Record and show where the search stands."""

    def share(self, crew: Crew) -> None:
        """Send parts out, and take the oldest one's answer: speed decides nothing."""
        raise NotImplementedError

    @property
    def shares(self) -> bool:
        """Whether enough was done alone for parts to be worth their way."""
        return False

    @property
    def bound(self) -> float:
        """No allowed card is below it; what was proved once stays proved."""
        self.proved = max(self.proved, float(min(self.pending, self.ceiling)))
        return self.proved

    def stopped(self) -> bool:
        """Whether a limit was reached, that on cards among them; sets the termination."""
        if len(self.found) < self.most_cards:
            return self.clock.out(self.nodes)
        self.clock.termination = Termination.CARD_LIMIT
        return True

    def search(self, most: float = math.inf) -> bool:
        """Search on for ``most`` nodes; whether anything is left then, and no limit was reached."""
        until = self.nodes + most
        while self.unfinished and not self.stopped():
            if self.nodes >= until:
                return True
            if self.crew is not None and self.shares:
                self.share(self.crew)
            else:
                self.step()
            self.report()
        return False

    def answer(self, card: Card | None, objective: float, **counts: Any) -> Answer:
        """Return what the search found and proved; without any card, that there is none."""
        termination = self.clock.termination
        if card is None and termination is Termination.COMPLETED:
            termination = Termination.INFEASIBLE
        return Answer(
            card, objective, self.bound, self.nodes, termination, self.clock.trace,
            seconds=self.clock.seconds, **counts,
        )  # fmt: skip


# -- the crew: processes of this machine, or workers of a Dask cluster -----------------------------
#
# Parts are sent out ahead and their answers taken in the order sent. What is sent next depends on
# the answers so far and never on who was faster: with the same number of workers a search always
# goes the same way.


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
