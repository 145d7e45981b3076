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
    most_moves : int
        Rounds of moves of a card to a better neighbour.
    totals_at_once : float
        Totals of moves that are priced between two looks at the clock.
    most_tried : int
        Cards that are remembered as tried.
    most_mended : int
        Cards that break a rule and are mended, at most.
    descents : int
        Descents from a mended card, at most.
    descent_totals : float
        Row totals that a descent from a mended card may compute.
    line_cost : float
        Nanoseconds of the best line, per row and card.
    paired_features : int
        Features of a support up to which steps of two coefficients are tried.
    price_halvings : int
        Halvings of a step towards better prices.
    kink_width : float
        Distance of a score from 0 within which a kink is rounded off in the search for a minimum.
    least_bend : float
        Least second derivative in a step, as a share of a row's weight: lines have none.
    rounds : int
        Rounds of adding undecided columns to a relaxation.
    newton_steps : int
        Newton steps per round.
    least_gain : float
        Share of the room below the cutoff: steps that gain less end a descent.
    backtracks : int
        Halvings of a Newton step.
    columns_added : int
        Undecided columns taken into a relaxation at once.
    good_enough : float
        A node's relaxation is solved well enough once the bound misses it by this share of the
        room.
    price_factor : float
        Factor by which prices of limits on errors change from a node to its parts.
    price_trials : int
        Trials of prices at the root.
    conjugate_slack : float
        Relative rounding of a line: conjugates answer 0 up to 1e-12 outside their domain.
    sided_columns : int
        Times as many columns as a card may use that may be left, for sides to bound a node.
    sided_supports : int
        Supports whose cells are kept.
    most_classes : int
        Distinct columns up to which supports are enumerated: tables of pairs grow with the square.
    most_pairs : int
        Rows counted by two columns and a cell: if a prefix has more, supports are given up.
    most_found : int
        Supports that are kept for the boxes.
    support_bytes : int
        Bytes that a kept support takes beside its columns.
    most_copies : int
        Mean number of units of weight per row up to which rows are counted by bits.
    listed_supports : int
        Supports of other columns up to which limits on errors bound each at once.
    unit_slack : float
        Relative distance from a whole number of units that weights may have.
    cutoff_slack : float
        Relative error of a cutoff by the cells' sums and rounded weights.
    parting_cost : float
        Nanoseconds of a step that parts a pair.
    rows_compared : int
        Rows of a class that are compared for pairs.
    pairs_kept : int
        Pairs that are kept per row.
    trifle : float
        Charges that are a smaller share of the cutoff are left out, and smaller supports with them.
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
    most_moves: int = 60
    totals_at_once: float = 1e6
    most_tried: int = 100_000
    most_mended: int = 500
    descents: int = 8
    descent_totals: float = 1e6
    line_cost: float = 150.0
    paired_features: int = 12
    price_halvings: int = 24
    kink_width: float = 0.01
    least_bend: float = 0.02
    rounds: int = 12
    newton_steps: int = 12
    least_gain: float = 0.02
    backtracks: int = 12
    columns_added: int = 30
    good_enough: float = 0.1
    price_factor: float = 1.25
    price_trials: int = 10
    conjugate_slack: float = 1e-11
    sided_columns: int = 2
    sided_supports: int = 5000
    most_classes: int = 2000
    most_pairs: int = 1 << 26
    most_found: int = 50_000
    support_bytes: int = 128
    most_copies: int = 8
    listed_supports: int = 20_000
    unit_slack: float = 1e-12
    cutoff_slack: float = 1e-10
    parting_cost: float = 1e5
    rows_compared: int = 100
    pairs_kept: int = 4
    trifle: float = 1e-3


POLICY = RiskPolicy()
"""What runs are tuned with; tests set another."""
