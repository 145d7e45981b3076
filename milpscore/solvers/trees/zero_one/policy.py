"""What the 0-1 search is tuned with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ZeroOnePolicy:
    """Limits and shares of the 0-1 search, measured by bench_slim.py and bench_frontier.py.

    Attributes
    ----------
    clock_interval : int
        Curve entries between two checks of the clock.
    enumerate_always : float
        Visits up to which every support is enumerated.
    enumerate_if_pairs_weak : float
        Visits up to which every support is enumerated if pair bounds are weak.
    give_up_factor : float
        Work, as a multiple of ``enumerate_always``, beyond which the enumeration of unfinished
        supports is given up.
    many_open : int
        Supports left by their cells beyond which they are searched with their signs.
    pairs_share : float
        Share of the work of all supports that pair bounds get before they are judged.
    descent_programs : frozenset[int]
        Programs over pairs after which a descent begins at the last one's solution.
    alone : float
        Entries and visits before a search is shared: processes take as long to begin.
    part_entries : int
        Curve entries in a part of a shared search.
    part_visits : int
        Visits in a part of a shared search.
    part_supports : int
        Supports in a part of a shared search.
    layout_entries : int
        Curve entries that a row and column of a support count as when its walk begins.
    turns_after : float
        Curve entries after which supports with signs are searched in turns.
    turn_entries : float
        Curve entries in a turn.
    turns_below : float
        Share of the best card's objective that is proved below which turns are taken.
    rounding_slack : float
        Relative slack of a bound, against sums that round differently by the order of their
        terms.
    gap_share : float
        Share of the gap at which the search ends, so that rounding never leaves it just beyond.
    trace_rise : float
        Relative rise of the bound that is worth a line of the trace.
    trace_seconds : float
        Seconds between two lines of the trace if nothing rises.
    price_steps : int
        Prices of limits are whole multiples of this part of the weights' step.
    price_rounds : int
        Descents at new prices.
    highest_price : float
        Highest price of a limit, as a share of all weight for all cost.
    cutoff_margin : float
        Distance above the cutoff, as a share of 1, at which a search for all cards closes
        supports.
    fast_share : float
        Share of the time left for a first card by a smooth loss.
    descent_entries : int
        Array entries that the descents may pass together; a count, so that runs repeat.
    restarts : int
        Shaken starts of the descent, at most.
    restart_entries : int
        Entries after which no shaken start is tried any more.
    most_choices : int
        Values of a coefficient's range that a descent tries: the rest is left to the search.
    column_entries : int
        What looking at a column costs beside its entries, in entries.
    unit_parts : int
        Rows' units are shared out in 2^-this parts, larger ones where the sums would be too large.
    most_pairs : int
        Pairs of rows; beyond it rows of least weight are left out, which only loosens the bound.
    root_rounds : int
        Searches for violated pairs at the root.
    node_rounds : int
        Searches for violated pairs at other nodes.
    simplex_iterations : int
        Simplex iterations per program; the duals it stops at bound as well as others.
    violation : float
        Violation from which a pair enters the program.
    least_gain : float
        A round that closes a smaller share of what is left is the last one.
    pairs_per_row : int
        Pairs per row that the program keeps; beyond it those without weight go.
    entry_cost : float
        Nanoseconds per entry of the program in a simplex step: no clock is read.
    pair_cost : float
        Nanoseconds per pair in a search for violated ones.
    most_divided : int
        Points up to which a card is divided by common divisors.
    visits : int
        Pattern visits between two looks at the clock.
    effort_visits : float
        Pattern visits that predict those to come: bounds on prefixes close much or little.
    supports_written : int
        Supports written in one go.
    most_flags : int
        Indicators of columns' values, at most.
    flags_per_column : int
        Indicators of the values of a column; columns that have more cost more than they save.
    table_entries : int
        Entries of a table of offers.
    most_cells : int
        Entries of tables of pairs of columns by cells up to which supports are counted by bits.
    most_copies : int
        Copies of one weight that a row may be, for supports to be counted by bits.
    few_copies : int
        Copies beyond that which all rows together may add.
    columns_per_task : int
        Columns that are chosen in one task, where supports are counted.
    visit_rate : float
        Pattern visits per nanosecond.
    most_asked : int
        Columns that rules ask for some of, at most, for every choice of them to be counted.
    limit_slack : float
        Relative error of sums of penalties beside a limit.
    most_curves : int
        Entries of all curves, at most.
    curve_per_cell : int
        Entries of a curve per cell, at most.
    small_curves : int
        Curves longer than this per cell cost more than sorting the cells' totals.
    """

    clock_interval: int = 30_000_000
    enumerate_always: float = 8e9
    enumerate_if_pairs_weak: float = 1e11
    give_up_factor: float = 1e3
    many_open: int = 3000
    pairs_share: float = 0.3
    descent_programs: frozenset[int] = frozenset((2, 8, 32, 128, 512))
    alone: float = 5e8
    part_entries: int = 300_000_000
    part_visits: int = 120_000_000
    part_supports: int = 64
    layout_entries: int = 50
    turns_after: float = 1.5e9
    turn_entries: float = 1e9
    turns_below: float = 0.5
    rounding_slack: float = 1e-12
    gap_share: float = 0.999
    trace_rise: float = 1e-3
    trace_seconds: float = 1.0
    price_steps: int = 16
    price_rounds: int = 12
    highest_price: float = 1e3
    cutoff_margin: float = 1e-8
    fast_share: float = 0.1
    descent_entries: int = 250_000_000
    restarts: int = 30
    restart_entries: int = 100_000_000
    most_choices: int = 100
    column_entries: int = 2_000
    unit_parts: int = 20
    most_pairs: int = 1 << 24
    root_rounds: int = 25
    node_rounds: int = 2
    simplex_iterations: int = 3000
    violation: float = 1e-3
    least_gain: float = 2e-3
    pairs_per_row: int = 6
    entry_cost: float = 2.0
    pair_cost: float = 20.0
    most_divided: int = 1000
    visits: int = 30_000_000
    effort_visits: float = 2e8
    supports_written: int = 20_000
    most_flags: int = 1 << 25
    flags_per_column: int = 12
    table_entries: int = 1 << 20
    most_cells: int = 1 << 26
    most_copies: int = 8
    few_copies: int = 100_000
    columns_per_task: int = 5
    visit_rate: float = 0.33
    most_asked: int = 12
    limit_slack: float = 1e-9
    most_curves: int = 1 << 23
    curve_per_cell: int = 1000
    small_curves: int = 1 << 16


POLICY = ZeroOnePolicy()
"""What runs are tuned with; tests set another."""
