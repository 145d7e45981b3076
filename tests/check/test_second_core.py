"""Both cores of the checker on certificates true and false: they agree on every one."""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from second_core import margin

from fuzz import certificates as judge
from fuzz.forging import draw
from milpscore_check import Refused
from milpscore_check.cards import Cards
from milpscore_check.proof import Data, prove

NEAR = 1e-9  # the second core computes entropies in doubles
FORGERIES = 34


def change_point(line: list[Any], r: random.Random) -> None:
    """Move the point at which a line is drawn."""
    place = r.randrange(4)
    if place == 1:
        line[1] = [v + r.choice([-1, 0, 1, 0.3]) for v in line[1]]
    elif place in (2, 3):
        line[place] *= r.choice([0.5, 0.999, 1.001, 2.0, -1.0])


def change_pairs(line: list[Any], r: random.Random) -> None:
    """Change a row of a pair, what it weighs, or the unit."""
    place = r.randrange(4)
    if place == 3 or not line[2]:
        line[3] = r.choice([0, 1, line[3] + 1, max(line[3] - 1, 0), 2 * line[3]])
        return
    at = r.randrange(len(line[2]))
    weight = line[2][at]
    other = r.choice(line[r.randrange(2)])
    line[place][at] = r.choice([0, weight + 1, weight // 2, 2 * weight]) if place == 2 else other


def forged(evidence: dict[str, Any], bound: Fraction, p: int, r: random.Random) -> Fraction:
    """Change leaves, splits, points or the bound, so that the claim may have become false."""
    tree, points = evidence["tree"], evidence["points"]
    splits = [k for k, entry in enumerate(tree) if isinstance(entry, list)]
    leaves = [k for k in range(len(tree)) if k not in splits]
    how = r.choice(["bound", "drop", "repeat", "swap", "leaf", "split", "point", "share", "cells"])
    if not points or not tree or how == "bound":
        return bound * (1 + Fraction(r.choice([-1, 1]) * 10.0 ** r.uniform(-7, 0)))
    k, line = r.randrange(len(tree)), r.choice(points)
    if how == "drop":
        del tree[k]
    elif how == "repeat":
        tree.insert(k, copy.deepcopy(tree[k]))
    elif how == "swap":
        other = r.randrange(len(tree))
        tree[k], tree[other] = tree[other], tree[k]
    elif how == "leaf":
        tree[r.choice(leaves)] = r.randrange(-2, len(points))
    elif how == "split" and splits:
        at = r.choice([None, *range(-2, 3), 0.25])
        tree[r.choice(splits)] = [r.randrange(p + 2), at]
    elif how == "point":
        change = change_pairs if type(line[3]) is int else change_point
        change(line, r)
    elif how == "share" and type(line[3]) is not int and len(line) > 4 and line[4][1]:
        line[4][1][r.randrange(len(line[4][1]))] = r.choice([0.0, 0.3, 1.0, 1.5, -0.1])
    elif how == "cells":
        tree[:] = [-2]
        return bound * Fraction(r.uniform(0.1, 1.2))
    return bound


def agreed(seed: int, forgeries: int) -> Counter[bool]:
    """Hold both cores' answers beside each other; how many certificates hold, and how many not."""
    r, answers = random.Random(seed), Counter[bool]()
    file = draw(r)
    content = file.content
    rows, cards = judge.read(file.table, *(json.dumps(content[k]) for k in ("data", "cards")))
    p = len(content["data"]["columns"])
    data = Data([*map(list, zip(*rows.x, strict=True))], rows.y, rows.weight)
    for k in range(forgeries):
        evidence, bound = copy.deepcopy(content["evidence"]), Fraction(content["bound"] or 0)
        for _ in range(0 if k == 0 else r.choice([1, 1, 2])):
            if evidence["tree"] or cards.loss == "zero_one":
                bound = forged(evidence, bound, p, r)
        if bound <= 0:
            continue
        try:
            held, said = prove(data, Cards(content["cards"], p), evidence, bound)
        except Refused as error:
            if "not decided" in str(error):
                continue
            held, said = False, str(error)
        room, delicate = margin(rows, cards, evidence, bound)
        assert room > -NEAR or not held, (k, said, room)
        if abs(room) > NEAR and not delicate:
            assert held == (room > 0), (k, said, room)
            answers[held] += 1
    return answers


@pytest.mark.parametrize("seed", range(40))
def test_both_cores_agree_on_true_and_false_certificates(seed: int) -> None:
    answers = sum((agreed(10 * seed + k, FORGERIES) for k in range(10)), Counter[bool]())
    assert min(answers[True], answers[False]) > 20, answers
