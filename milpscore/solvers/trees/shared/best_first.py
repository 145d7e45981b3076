"""The one best-first loop: what is open, what is proved, when to stop, who works."""

from __future__ import annotations

import heapq
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sized
from typing import Any, Generic, Protocol, TypeVar

from milpscore.core.card import Card
from milpscore.core.result import Termination
from milpscore.solvers.trees.shared.answer import Answer, SearchClock
from milpscore.solvers.trees.shared.crew import Crew


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
