"""What the search under smooth losses is tuned with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RiskPolicy:
    """Limits and shares of the search under smooth losses, measured by benchmarks/bench_risk.py.

    Attributes
    ----------
    round_all : int
        Nodes that are all rounded to cards at first.
    round_every : int
        Later nodes per node that is rounded.
    rounding_share : float
        Work on cards, as a share of that on nodes, once the first card is there.
    start_share : float
        Share of the time limit for a first card: the rest goes to the proof.
    price_share : float
        Share of the time limit for prices of limits on errors, at the root.
    few_cards : int
        Cards of a node that are bounded one by one if errors are limited.
    gap_share : float
        Share of the gap at which nodes are closed, so that rounding never leaves it just
        unproved.
    cutoff_margin : float
        Relative distance above the cutoff at which a search for all cards closes nodes.
    whole_tolerance : float
        Distance from a whole number within which a coefficient counts as whole.
    narrow_slopes : float
        Factor between the ends of a range of slopes up to which it is not halved.
    missed_share : float
        Share of a node's room below the cutoff: if its bound misses its value by more, slopes
        part.
    first_turn : float
        Nanoseconds of nodes before supports are looked at.
    turn_nodes : int
        Nodes in a turn from then on.
    node_cost : float
        Nanoseconds per node.
    entry_cost : float
        Nanoseconds per entry of X and active column.
    active_columns : int
        Columns that are active at once, at most, in the estimate of a node's cost.
    give_up_factor : float
        Supports are given up if all of them would take this multiple of the time there is.
    glance : float
        Nanoseconds of supports after which their end is guessed.
    judged_after : float
        Nanoseconds of supports after which they may be given up: first guesses are rough.
    favour : float
        Factor on the work of supports whose end is in sight, against boxes that say little.
    multiples : tuple[float, ...]
        Multiples of weights whose largest is as large as points may be: these are rounded.
    limited_favour : float
        The same factor if limits on errors are known to supports alone.
    little_bound : float
        Share of the best card's objective up to which a bound of the boxes says little.
    alone : float
        Nanoseconds of nodes before a search is shared: processes take as long to begin.
    part_nodes : int
        Open nodes in a part of a shared search.
    short_parts : int
        Factor by which parts are shorter while few nodes are open.
    """

    round_all: int = 200
    round_every: int = 10
    rounding_share: float = 0.25
    start_share: float = 0.3
    price_share: float = 0.2
    few_cards: int = 500
    gap_share: float = 0.999
    cutoff_margin: float = 1e-9
    whole_tolerance: float = 1e-7
    narrow_slopes: float = 1.2
    missed_share: float = 0.25
    first_turn: float = 2e8
    turn_nodes: int = 4
    node_cost: float = 1e7
    entry_cost: float = 3.0
    active_columns: int = 30
    give_up_factor: float = 10.0
    glance: float = 2e8
    judged_after: float = 1e9
    favour: float = 4.0
    multiples: tuple[float, ...] = tuple(np.linspace(0.2, 1.0, 17).tolist())
    limited_favour: float = 50.0
    little_bound: float = 0.85
    alone: float = 1e9
    part_nodes: int = 8
    short_parts: int = 8
