"""Bounds by the sides of a support's cells against every card of a node."""

from __future__ import annotations

import math

import numpy as np
import pytest
from test_tree_priced import cards, least, limited, part_of

from milpscore.solvers.trees.risk.hulls import Arrays
from milpscore.solvers.trees.risk.limit_prices import ErrorLimits
from milpscore.solvers.trees.risk.relaxation import OUT, Node
from milpscore.solvers.trees.risk.side_bounds import Sides


@pytest.mark.parametrize("block", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_sided_bounds_stay_below_every_card(block: int) -> None:
    seen = exact = 0
    for seed in range(40 * block, 40 * block + 40):
        statement, rng = limited(seed), np.random.default_rng(seed)
        arrays = Arrays(statement)
        sides, root = Sides(arrays, ErrorLimits(arrays)), Node.root(arrays)
        for _ in range(3):
            node = part_of(root, arrays, rng)
            node.w = rng.normal(size=arrays.p)
            points = cards(arrays, node)
            if not sides.applies_to(node) or not len(points):
                continue
            seen += 1
            best = min(least(statement, w) for w in points)
            told = sides.bound(node, math.inf)
            few = np.count_nonzero(node.status != OUT) <= arrays.terms
            # of more columns than a card has terms, a node is closed or left to others
            assert told in ((True, False) if few else (None, False))
            assert node.bound <= best + 1e-12, (seed, node.bound, best)
            if few and len(points) == 1 and arrays.scaled and math.isfinite(best):
                # a box of one card, at every slope: no more than rounding is lost
                assert node.bound >= best - 1e-5, (seed, node.bound, best)
                exact += 1
    assert seen > 20
    assert exact > 3
