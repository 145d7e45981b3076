"""The tree as evidence."""

from __future__ import annotations

from milpscore.solvers.tree._arrays import Arrays
from milpscore.solvers.tree._node import Node
from milpscore.solvers.tree._problem import Outcome, Step


class Log:
    """What was decided at each node and where its lines were drawn, up to a number of nodes."""

    def __init__(self, arrays: Arrays, most: int) -> None:
        self.arrays, self.most = arrays, most
        self.dropped = False
        self._made: dict[int, tuple[int, int, float, float, bool]] = {}
        self._done: dict[int, Step] = {}
        self._keys = 0

    def add(self, node: Node, parent: Node | None) -> None:
        """Number a new node and keep what sets it apart from its parent."""
        node.key = self._keys
        self._keys += 1
        if len(self._made) >= self.most:
            self.dropped = True
            return
        self._made[node.key] = self._decision(node, parent)

    def close(self, node: Node, outcome: Outcome) -> None:
        """Keep why a node needs no more search."""
        made = self._made.get(node.key)
        if made is not None and node.key not in self._done:
            parent, feature, lower, upper, inside = made
            self._done[node.key] = Step(
                node=node.key,
                parent=parent,
                feature=feature,
                lower=lower,
                upper=upper,
                inside=inside,
                points=tuple(node.points),
                outcome=outcome,
                bound=node.bound,
            )

    def finished(self, left: list[Node]) -> list[Step]:
        """All steps, the nodes ``left`` among them as open ones."""
        for node in left:
            self.close(node, "open")
        return [self._done[key] for key in sorted(self._done)]

    def _decision(self, node: Node, parent: Node | None) -> tuple[int, int, float, float, bool]:
        """(parent, feature, lower, upper, inside) of a node that differs in one thing."""
        if parent is None:
            return -1, -2, 0.0, 0.0, False
        if (node.b_lo, node.b_hi) != (parent.b_lo, parent.b_hi):
            return parent.key, -1, node.b_lo, node.b_hi, False
        moved = (node.status != parent.status) | (node.lo != parent.lo) | (node.hi != parent.hi)
        j = int(moved.argmax())
        points = self.arrays.points[j]
        return (
            parent.key,
            j,
            float(points[node.lo[j]]),
            float(points[node.hi[j]]),
            bool(node.status[j] == 1),
        )
