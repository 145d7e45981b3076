"""The search shared among processes, in rounds whose outcome does not depend on their speed."""

from __future__ import annotations

import heapq
import math
import time
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import numpy as np

from milpscore.core.design import IntArray
from milpscore.core.result import Termination
from milpscore.solvers.tree._node import Node
from milpscore.solvers.tree._problem import TreeProblem
from milpscore.solvers.tree._tree import Tree

_NODES = 200
"""Nodes a process searches in a round."""

_EACH = 8
"""Open nodes handed to each process."""

_trees: dict[str, Tree] = {}
"""In a worker: the arrays of the problem it works on, built once."""


@dataclass(frozen=True, eq=False)
class _Found:
    """What a round of one process brings home."""

    best: tuple[float, IntArray | None, float | None]
    floor: float
    nodes: int
    left: list[Node]


def drain_shared(tree: Tree, jobs: int) -> Termination:
    """Search a tree with ``jobs`` processes; its open nodes live here between the rounds.

    Raises
    ------
    KeyboardInterrupt
        As it comes; what was handed out counts as open.
    """
    from joblib import Parallel, delayed

    token = uuid4().hex
    gaps = tree.gap_abs, tree.gap_rel
    with Parallel(n_jobs=jobs) as pool:
        while True:
            # a tree too narrow to share grows here first
            stopped = tree.drain(_NODES * _EACH, fill=2 * jobs)
            if stopped is not Termination.NODE_LIMIT or tree.nodes >= tree.node_limit:
                return stopped
            handed = [*tree.stack, *(entry[2] for entry in _pop(tree, jobs * _EACH))]
            tree.stack = []
            share = max(1.0, (tree.node_limit - tree.nodes) / jobs)
            parts = [handed[i::jobs] for i in range(jobs)]
            found = pool(
                delayed(_work)(
                    token,
                    tree.problem,
                    gaps,
                    part,
                    tree.cards.best,
                    tree.remaining,
                    min(_NODES, share),
                    tree.most_open,
                )
                for part in parts
            )
            _take_home(tree, found)


def _pop(tree: Tree, count: int) -> list[tuple[float, int, Node]]:
    """The most promising open nodes, named as active before they are taken."""
    chosen = heapq.nsmallest(count, tree.open)
    tree.active = [*tree.stack, *(entry[2] for entry in chosen)]
    taken = {entry[1] for entry in chosen}
    tree.open = [entry for entry in tree.open if entry[1] not in taken]
    heapq.heapify(tree.open)
    return chosen


def _take_home(tree: Tree, found: list[Any]) -> None:
    """Put what the processes left back, and their best card."""
    for part in found:
        tree.nodes += part.nodes
        tree.floor = min(tree.floor, part.floor)
        if part.best[0] < tree.cards.objective:
            tree.cards.best = part.best
    tree.keep([node for part in found for node in part.left])
    tree.active = []
    tree.report()


def _work(
    token: str,
    problem: TreeProblem,
    gaps: tuple[float, float],
    nodes: list[Node],
    best: tuple[float, IntArray | None, float | None],
    seconds: float,
    most: float,
    most_open: int,
) -> _Found:
    """One round in a worker."""
    if token not in _trees:
        _trees.clear()
        _trees[token] = Tree(problem, gaps, None, False, most_open, 0)
    tree = _trees[token]
    tree.started, tree.time_limit = time.perf_counter(), seconds
    tree.open, tree.stack, tree.active, tree.trace = [], [], [], []
    tree.nodes, tree.floor, tree.cards.best = 0, math.inf, best
    # which round a process does is chance: nothing it remembers may matter
    tree.cards.tried, tree.age, tree.expanded = set(), 0, 0
    tree.keep(nodes)
    with np.errstate(over="ignore", invalid="ignore"):
        tree.drain(most)
    left = [*(entry[2] for entry in tree.open), *tree.stack]
    return _Found(tree.cards.best, tree.floor, tree.nodes, left)
