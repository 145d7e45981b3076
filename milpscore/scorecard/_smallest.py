"""The program of the smallest card that gives the same answers, solved row by row."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyomo.environ as pyo
from pyomo.contrib.appsi.base import TerminationCondition
from pyomo.contrib.appsi.solvers.highs import Highs

from milpscore.core.clock import Clock
from milpscore.core.errors import SolverError
from milpscore.solvers.running import release_threads
from milpscore.solvers.session import self_test

if TYPE_CHECKING:
    from milpscore.scorecard._powers import VotingGame


def smallest_vote(game: VotingGame, time_limit: float, at_once: int) -> VotingGame:
    """A vote of least points with the same answers; see :meth:`VotingGame.smallest`.

    sets        V voters, L_v their levels in order, a_v the level that stays 0
    variables   u[v, l] >= 0 whole, l != a_v (points above a_v, minus the points below); T whole
    objective   min sum of lines[v, l] u[v, l]
    rows        sum of x[v, p_v] >= T      for profiles p that the vote answers positive
                sum of x[v, p_v] <= T - 1  for those that it answers negative
                u[v, l] <= u[v, l'] where l lies between a_v and l'
                u of voters with one line each in the order of their weights
    The last two cut off nothing needed: a level that outweighs a higher one can take its points,
    and of two voters the one of more weight can be given the larger points.
    """
    clock = Clock(time_limit)
    levels, _ = game.whole
    if game.constant is not None:
        return _voted(game, {}, 0 if game.constant else 1)
    model: Any = pyo.ConcreteModel()
    anchors = [_anchor(voter.levels) for voter in game.voters]
    keys = [(i, k) for i, own in enumerate(levels) for k in range(len(own)) if k != anchors[i]]
    worth = {(i, k): len(game.voters[i].lines[k]) for i, k in keys}
    most = sum(worth[i, k] * abs(levels[i][k] - levels[i][anchors[i]]) for i, k in keys)
    model.u = pyo.Var(keys, domain=pyo.NonNegativeIntegers, bounds=(0, most))
    model.T = pyo.Var(domain=pyo.Integers, bounds=(-most, most + 1))
    model.least = pyo.Objective(expr=sum(worth[key] * model.u[key] for key in keys))
    model.order, model.answers = pyo.ConstraintList(), pyo.ConstraintList()
    for i, k in keys:
        nearer = k - 1 if k > anchors[i] else k + 1
        if nearer != anchors[i]:
            model.order.add(model.u[i, nearer] <= model.u[i, k])
    simple = [
        (levels[i][1], i, k) for i, k in keys
        if len(levels[i]) == 2 and worth[i, k] == 1
    ]  # fmt: skip
    simple.sort()
    for (_, i, k), (_, j, m) in itertools.pairwise(simple):
        model.order.add(model.u[i, k] <= model.u[j, m])

    def total(profile: Sequence[int]) -> Any:
        used = [(i, k) for i, k in enumerate(profile) if k != anchors[i]]
        return sum((1 if k > anchors[i] else -1) * model.u[i, k] for i, k in used)

    self_test()
    release_threads()
    highs = Highs()
    highs.config.load_solution = False
    highs.highs_options = {"mip_rel_gap": 0.0, "mip_abs_gap": 0.5, "random_seed": 0, "threads": 1}
    ends = [tuple(0 for _ in levels), tuple(len(own) - 1 for own in levels)]
    wrong = ends
    while wrong:
        for profile in wrong[:at_once]:
            if game.answers(profile):
                model.answers.add(total(game.lowered(profile)) >= model.T)
            else:
                model.answers.add(total(game.raised(profile)) <= model.T - 1)
        highs.config.time_limit = clock.left
        found = highs.solve(model)
        release_threads()
        if found.termination_condition != TerminationCondition.optimal:
            raise SolverError(
                f"the smallest card was not proved in {time_limit:g} s: give it more with "
                "time_limit"
            )
        found.solution_loader.load_vars()
        points = {key: round(pyo.value(model.u[key])) for key in keys}
        candidate = _voted(game, points, round(pyo.value(model.T)))
        wrong = game.differences(candidate)
    return candidate


def _anchor(levels: Sequence[Fraction]) -> int:
    """The level that stays 0: 0 itself, else the lowest."""
    return levels.index(Fraction(0)) if 0 in levels else 0


def _voted(game: VotingGame, points: dict[tuple[int, int], int], quota: int) -> VotingGame:
    """The vote with other points, of each level above or below the one that stays 0."""
    voters = []
    for i, voter in enumerate(game.voters):
        at = _anchor(voter.levels)
        levels = [
            Fraction(int(math.copysign(1, k - at)) * points.get((i, k), 0))
            for k in range(len(voter.levels))
        ]
        voters.append(replace(voter, levels=tuple(levels)))
    return replace(game, voters=tuple(voters), quota=Fraction(quota))
