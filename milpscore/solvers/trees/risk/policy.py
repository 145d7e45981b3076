"""What the search under smooth losses is tuned with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RiskPolicy:
    """Limits and shares of the search under smooth losses, measured by benchmarks/bench_risk.py."""

    round_all: int = 200  # nodes that are all rounded to cards at first
    round_every: int = 10  # later nodes per node that is rounded
    # work on cards, as a share of that on nodes, once the first card is there
    rounding_share: float = 0.25
    start_share: float = 0.3  # share of the time limit for a first card: the rest goes to the proof
    price_share: float = 0.2  # share of the time limit for prices of limits on errors, at the root
    few_cards: int = 500  # cards of a node that are bounded one by one if errors are limited
    # relative distance above the cutoff at which a search for all cards closes nodes
    cutoff_margin: float = 1e-9
    # distance from a whole number within which a coefficient counts as whole
    whole_tolerance: float = 1e-7
    # factor between the ends of a range of slopes up to which it is not halved
    narrow_slopes: float = 1.2
    # share of a node's room below the cutoff: if its bound misses its value by more, slopes part
    missed_share: float = 0.9
    first_turn: float = 2e8  # nanoseconds of nodes before supports are looked at
    turn_nodes: int = 4  # nodes in a turn from then on
    node_cost: float = 1e7  # nanoseconds per node
    entry_cost: float = 3.0  # nanoseconds per entry of X and active column
    # columns that are active at once, at most, in the estimate of a node's cost
    active_columns: int = 30
    # the same of a node of gradient steps: a few hundred, each reading X two or three times
    wide_columns: int = 150
    # supports are given up if all of them would take this multiple of the time there is
    give_up_factor: float = 10.0
    glance: float = 2e8  # nanoseconds of supports after which their end is guessed
    # nanoseconds of supports after which they may be given up: first guesses are rough
    judged_after: float = 1e9
    # factor on the work of supports whose end is in sight, against boxes that say little
    favour: float = 4.0
    # multiples of weights whose largest is as large as points may be: these are rounded
    multiples: tuple[float, ...] = tuple(np.linspace(0.2, 1.0, 17).tolist())
    # multiples of the largest scale within the ranges at which real coefficients are rounded
    scale_multiples: tuple[float, ...] = tuple(np.linspace(0.2, 1.1, 19).tolist())
    limited_favour: float = 50.0  # the same factor if limits on errors are known to supports alone
    # share of the best card's objective up to which a bound of the boxes says little
    little_bound: float = 0.85
    # nanoseconds of nodes before a search is shared: processes take as long to begin
    alone: float = 1e9
    part_nodes: int = 8  # open nodes in a part of a shared search
    short_parts: int = 8  # factor by which parts are shorter while few nodes are open
    most_moves: int = 60  # rounds of moves of a card to a better neighbour
    totals_at_once: float = 1e6  # totals of moves that are priced between two looks at the clock
    most_tried: int = 100_000  # cards that are remembered as tried
    most_mended: int = 500  # cards that break a rule and are mended, at most
    descents: int = 8  # descents from a mended card, at most
    descent_totals: float = 1e6  # row totals that a descent from a mended card may compute
    line_cost: float = 150.0  # nanoseconds of the best line, per row and card
    # features of a support up to which steps of two coefficients are tried
    paired_features: int = 12
    price_halvings: int = 24  # halvings of a step towards better prices
    # distance of a score from 0 within which a kink is rounded off in the search for a minimum
    kink_width: float = 0.01
    # least second derivative in a step, as a share of a row's weight: lines have none
    least_bend: float = 0.02
    # entries of X up to which its zeros are multiplied as well: SciPy would take longer to load
    dense_entries: int = 1 << 17
    # share of entries that are not 0 from which on zeros are multiplied in larger tables, too
    sparse_share: float = 0.25
    far_score: float = 300.0  # scores are held to it in a line where the loss overflows beyond
    near_slope: float = 1e-6  # relative distance to a slope that a card's rounding does not reach
    # distance to the next intercept, where a total must lie below the threshold
    beside_threshold: float = 2.0**-29
    rounds: int = 12  # rounds of adding undecided columns to a relaxation
    newton_steps: int = 12  # Newton steps per round
    # share of the room below the cutoff: steps that gain less end a descent
    least_gain: float = 0.02
    backtracks: int = 12  # halvings of a Newton step
    # columns up to which steps are Newton's: their matrices grow with the square
    newton_columns: int = 300
    gradient_steps: int = 1000  # accelerated steps of wider relaxations, at most
    gradient_looks: int = 10  # steps between two looks at the bound
    # share of the value by which the first bound of a wide node may miss it
    rough_share: float = 0.9
    first_bend: float = 0.25  # curvature of the first step, per square of the slope
    # least variance of a column in such a step, as a share of the mean one
    least_spread: float = 0.01
    unbend: float = 0.9  # factor on the curvature from one step to the next
    gentler: float = 4.0  # factor between slopes at which the line of a steep node is drawn
    temperings: int = 4  # slopes that are tried, the node's own first
    # undecided columns taken into a relaxation at once; as many as it has, if these are more
    columns_added: int = 30
    # a node's relaxation is solved well enough once the bound misses it by this share of the room
    good_enough: float = 0.1
    # factor by which prices of limits on errors change from a node to its parts
    price_factor: float = 1.25
    price_trials: int = 10  # trials of prices at the root
    # relative rounding of a line: conjugates answer 0 up to 1e-12 outside their domain
    conjugate_slack: float = 1e-11
    # times as many columns as a card may use that may be left, for sides to bound a node
    sided_columns: int = 2
    sided_supports: int = 5000  # supports whose cells are kept
    # cells of a support or node up to which their sides are decided one by one
    most_cells: int = 512
    side_choices: int = 400  # choices of sides that are solved per node, at most
    # distinct columns up to which supports are enumerated: tables of pairs grow with the square
    most_classes: int = 2000
    # rows counted by two columns and a cell: if a prefix has more, supports are given up
    most_pairs: int = 1 << 26
    # columns of a support; more make too many cells for the loss of real weights on them
    most_terms: int = 12
    priced_sample: int = 60  # supports that prices of limits are tried on
    most_found: int = 50_000  # supports that are kept for the boxes
    support_bytes: int = 128  # bytes that a kept support takes beside its columns
    # mean number of units of weight per row up to which rows are counted by bits
    most_copies: int = 8
    # supports of other columns up to which limits on errors bound each at once
    listed_supports: int = 20_000
    # relative distance from a whole number of units that weights may have
    unit_slack: float = 1e-12
    cutoff_slack: float = 1e-10  # relative error of a cutoff by the cells' sums and rounded weights
    parting_cost: float = 1e5  # nanoseconds of a step that parts a pair
    rows_compared: int = 100  # rows of a class that are compared for pairs
    pairs_kept: int = 4  # pairs that are kept per row
    # charges that are a smaller share of the cutoff are left out, and smaller supports with them
    trifle: float = 1e-3


POLICY = RiskPolicy()
"""What runs are tuned with; tests set another."""
