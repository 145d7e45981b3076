"""What the 0-1 search is tuned with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ZeroOnePolicy:
    """Limits and shares of the 0-1 search, measured by bench_slim.py and bench_frontier.py."""

    clock_interval: int = 30_000_000  # curve entries between two checks of the clock
    enumerate_always: float = 8e9  # visits up to which every support is enumerated
    # visits up to which every support is enumerated if pair bounds are weak
    enumerate_if_pairs_weak: float = 1e11
    # work, as a multiple of ``enumerate_always``, beyond which the enumeration of unfinished
    # supports is given up
    give_up_factor: float = 1e3
    # supports left by their cells beyond which they are searched with their signs
    many_open: int = 3000
    # share of the work of all supports that pair bounds get before they are judged
    pairs_share: float = 0.3
    # programs over pairs after which a descent begins at the last one's solution
    descent_programs: frozenset[int] = frozenset((2, 8, 32, 128, 512))
    # entries and visits before a search is shared: processes take as long to begin
    alone: float = 5e8
    part_entries: int = 300_000_000  # curve entries in a part of a shared search
    part_visits: int = 120_000_000  # visits in a part of a shared search
    part_supports: int = 64  # supports in a part of a shared search
    # curve entries that a row and column of a support count as when its walk begins
    layout_entries: int = 50
    # curve entries after which supports with signs are searched in turns
    turns_after: float = 1.5e9
    turn_entries: float = 1e9  # curve entries in a turn
    # share of the best card's objective that is proved below which turns are taken
    turns_below: float = 0.5
    # relative slack of a bound, against sums that round differently by the order of their terms
    rounding_slack: float = 1e-12
    trace_rise: float = 1e-3  # relative rise of the bound that is worth a line of the trace
    trace_seconds: float = 1.0  # seconds between two lines of the trace if nothing rises
    price_steps: int = 16  # prices of limits are whole multiples of this part of the weights' step
    price_rounds: int = 12  # descents at new prices
    highest_price: float = 1e3  # highest price of a limit, as a share of all weight for all cost
    # distance above the cutoff, as a share of 1, at which a search for all cards closes supports
    cutoff_margin: float = 1e-8
    fast_share: float = 0.1  # share of the time left for a first card by a smooth loss
    # array entries that the descents may pass together; a count, so that runs repeat
    descent_entries: int = 250_000_000
    restarts: int = 30  # shaken starts of the descent, at most
    restart_entries: int = 100_000_000  # entries after which no shaken start is tried any more
    # values of a coefficient's range that a descent tries: the rest is left to the search
    most_choices: int = 100
    column_entries: int = 2_000  # what looking at a column costs beside its entries, in entries
    # rows' units are shared out in 2^-this parts, larger ones where the sums would be too large
    unit_parts: int = 20
    # pairs of rows; beyond it rows of least weight are left out, which only loosens the bound
    most_pairs: int = 1 << 24
    root_rounds: int = 25  # searches for violated pairs at the root
    node_rounds: int = 2  # searches for violated pairs at other nodes
    # simplex iterations per program; the duals it stops at bound as well as others
    simplex_iterations: int = 3000
    violation: float = 1e-3  # violation from which a pair enters the program
    least_gain: float = 2e-3  # a round that closes a smaller share of what is left is the last one
    # pairs per row that the program keeps; beyond it those without weight go
    pairs_per_row: int = 6
    # nanoseconds per entry of the program in a simplex step: no clock is read
    entry_cost: float = 2.0
    pair_looks: int = 1 << 30  # literals of pairs in a search for violated ones, about a second
    pair_cost: float = 20.0  # nanoseconds per pair in a search for violated ones
    most_divided: int = 1000  # points up to which a card is divided by common divisors
    visits: int = 30_000_000  # pattern visits between two looks at the clock
    # pattern visits that predict those to come: bounds on prefixes close much or little
    effort_visits: float = 2e8
    supports_written: int = 20_000  # supports written in one go
    most_flags: int = 1 << 25  # indicators of columns' values, at most
    # indicators of the values of a column; columns that have more cost more than they save
    flags_per_column: int = 12
    table_entries: int = 1 << 20  # entries of a table of offers
    # entries of tables of pairs of columns by cells up to which supports are counted by bits
    most_cells: int = 1 << 26
    # copies of one weight that a row may be, for supports to be counted by bits
    most_copies: int = 8
    few_copies: int = 100_000  # copies beyond that which all rows together may add
    columns_per_task: int = 5  # columns that are chosen in one task, where supports are counted
    visit_rate: float = 0.33  # pattern visits per nanosecond
    # columns that rules ask for some of, at most, for every choice of them to be counted
    most_asked: int = 12
    # weights on no grid are rounded down to this part of their sum: bounds stay below
    weight_units: int = 1 << 44
    most_total: int = 1 << 60  # no total may reach it
    surely: float = 1e-9  # units of weight, or of a limit's cost, that rounding may add
    limit_slack: float = 1e-9  # relative error of sums of penalties beside a limit
    most_curves: int = 1 << 23  # entries of all curves, at most
    curve_per_cell: int = 1000  # entries of a curve per cell, at most
    # curves longer than this per cell cost more than sorting the cells' totals
    small_curves: int = 1 << 16


POLICY = ZeroOnePolicy()
"""What runs are tuned with; tests set another."""
